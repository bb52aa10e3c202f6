"""What a missing value counts as, rules that speak of missing values, and many rules in little memory."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from clearmargin import parse_rules
from clearmargin.exceptions import DataError, FileDamagedError, InvalidValueError, RuleSyntaxError
from clearmargin.rules import Box, FeatureSpace, Interval, Polyhedron, Rule, RuleSet
from clearmargin.rules.polyhedron import MatrixBudget

from .document_cases import VALIDATOR

NAN = math.nan


def test_what_is_missing_counts_as_its_fill_wherever_a_table_is_read():
    space = FeatureSpace(
        ["age", "job", "bmi"],
        categories={"job": ["sits", "walks"]},
        fill={"age": 35, "job": "walks"},
    )
    assert space.fill == (35.0, "walks", None)
    assert [space.fill_code(j) for j in range(3)] == [35.0, 1.0, None]
    frame = pd.DataFrame({"bmi": [NAN, 20.0], "age": [NAN, 50.0], "job": [None, "sits"]})
    expected = [[35.0, 1.0, NAN], [50.0, 0.0, 20.0]]
    np.testing.assert_array_equal(space.read(frame), expected)
    array = np.array([[NAN, NAN, NAN], [50.0, 0.0, 20.0]])
    np.testing.assert_array_equal(space.read(array), expected)
    assert np.isnan(array[0]).all(), "the table of the caller stays as it is"


def test_a_range_holds_what_a_missing_value_counts_as():
    space = FeatureSpace(["n"], [0], [9], integer=True)
    wider = space.with_fill({"n": 12.5})
    assert (wider.lower[0], wider.upper[0], wider.integer[0]) == (0.0, 12.5, False)
    assert space.with_fill({"n": 3}).integer[0]
    assert wider.with_fill(None).fill == (None,)
    assert repr(wider) == "FeatureSpace(n: in [0, 12.5], 12.5 where missing)"


@pytest.mark.parametrize(
    ("fill", "message"),
    [
        ({"job": "sit"}, "counts as 'sit', which is none of its categories; did you mean 'sits'"),
        ({"age": math.inf}, "a missing 'age' cannot count as inf"),
        ({"age": "old"}, "the value that a missing 'age' counts as must be a number, not 'old'"),
        ({"agee": 1}, "fill for unknown feature 'agee'; did you mean 'age'"),
        ([1], "fill has 1 entries for 2 features"),
    ],
)
def test_a_fill_that_cannot_be_is_refused(fill, message):
    with pytest.raises(InvalidValueError, match=message):
        FeatureSpace(["age", "job"], categories={"job": ["sits", "walks"]}, fill=fill)


def test_a_rule_that_asks_for_what_is_filled_would_never_hold():
    space = FeatureSpace(["age"], fill={"age": 35})
    free = [-math.inf], [math.inf]
    with pytest.raises(
        InvalidValueError, match=r"rule 1 asks whether 'age' is missing, but .* counts as 35\.0"
    ):
        RuleSet([Rule(Box(*free, missing=[0]), "a")], space)
    assert RuleSet([Rule(Box(*free, known=[0]), "a")], space).covers([[NAN]]).all()


def test_an_empty_premise_of_missing_values_is_no_rule():
    with pytest.raises(InvalidValueError, match=r"a region that is not empty: .*and missing"):
        Rule(Box([3.0], [4.0], missing=[0]), "a")


def test_version_two_is_written_only_where_it_is_needed():
    plain = parse_rules("x > 3 => a")
    assert plain.to_dict()["version"] == 1
    for text in ("x is missing => a", "x is not missing => a", "feature x: fill 3\nx > 3 => a"):
        document = parse_rules(text).to_dict()
        assert document["version"] == 2
        assert VALIDATOR.is_valid(document)
        assert RuleSet.from_dict(document) == parse_rules(text)


@pytest.mark.parametrize(
    ("when", "message"),
    [
        ([{"feature": "x", "missing": 1}], "'missing' must be true or false, not 1"),
        ([{"feature": "x", "missing": True, "above": 3}], "unknown key 'above'"),
        ([{"feature": "x", "missing": True}] * 2, "a second condition on 'x'"),
        (
            [{"linear": {"x": 1.0, "y": 1.0}, "below": 3}, {"feature": "x", "missing": True}],
            "feature 0 must be missing, and another condition needs its value",
        ),
    ],
)
def test_damaged_conditions_on_missing_values_are_named(when, message):
    document = parse_rules("x > 3 and y is missing => a").to_dict()
    document["rules"][0]["when"] = when
    with pytest.raises(FileDamagedError, match=message):
        RuleSet.from_dict(document)


def test_a_damaged_fill_is_named():
    document = parse_rules("feature c: in {u, v} fill u\nc = v => a").to_dict()
    for wrong, message in ((3, "counts as '3'"), ("w", "counts as 'w'")):
        document["features"][0]["fill"] = wrong
        with pytest.raises(FileDamagedError, match=message):
            RuleSet.from_dict(document)


def test_blocks_of_rules_answer_as_rules_one_by_one():
    """More rules than one block holds, bounds and words on missing values in all of them."""
    rng = np.random.default_rng(0)
    n, count = 12, 2_100
    rules = []
    for k in range(count):
        first, second, third = rng.choice(n, 3, replace=False).tolist()
        low = float(rng.integers(0, 40))
        box = Box.from_intervals(
            {first: Interval(low, low + 1)},
            n,
            None,
            [second] if k % 3 == 0 else [],
            [third] if k % 5 == 0 else [],
        )
        rules.append(Rule(box, "a"))
    A = np.zeros((1, n))
    A[0, :2] = 1.0, -1.0
    rules[2_050] = Rule(Box.from_intervals({0: Interval(500, 501)}, n), "a")
    rules[1_500] = Rule(Polyhedron(A, [-38.0], missing=[5]), "a")
    X = rng.integers(0, 42, size=(60, n)).astype(float)
    X[rng.random(X.shape) < 0.3] = NAN
    X[0], X[1] = 500.0, 600.0
    expected = np.array([rule.region.contains(X) for rule in rules]).T
    packed = RuleSet(rules, FeatureSpace([f"x{j}" for j in range(n)]))
    np.testing.assert_array_equal(packed.covers(X), expected)
    first = np.where(expected.any(axis=1), expected.argmax(axis=1), -1)
    np.testing.assert_array_equal(packed.which(X), first)
    assert first[:2].tolist() == [2_050, -1]


def peak_megabytes(count: int) -> float:
    text = "\n".join(f"x{k} <= {k}.5 => a" for k in range(count))
    X = np.full((2, count), 1e9)
    X[:, -1] = 0.0
    tracemalloc.start()
    try:
        rules = parse_rules(text)
        assert rules.which(X).tolist() == [count - 1] * 2
        assert rules.covers(X).sum() == 2
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def test_memory_grows_with_the_conditions_and_not_with_rules_times_features():
    few, many = peak_megabytes(200), peak_megabytes(800)
    assert many < 6 * few, "four times the rules; with dense bounds it would be sixteen times"
    assert many < 6


def test_answers_that_no_machine_can_hold_are_refused_in_words():
    rules = RuleSet([Rule(Box([0.0], [1.0]), "a")], FeatureSpace(["x"]))
    with pytest.raises(DataError, match=r"1 rules for 1,000,000,000,000,000 rows do not fit into"):
        rules.covers(np.broadcast_to(0.0, (10**15, 1)))


def test_sums_that_take_too_much_memory_together_are_refused_in_words(monkeypatch):
    document = parse_rules("x + y <= 3 => a").to_dict()
    monkeypatch.setattr(MatrixBudget, "gigabytes", 1e-8)
    with pytest.raises(
        RuleSyntaxError, match="this premise is too large: 1 linear conditions over"
    ):
        parse_rules("x + y <= 3 => a")
    with pytest.raises(FileDamagedError, match="the linear conditions take more than"):
        RuleSet.from_dict(document)
