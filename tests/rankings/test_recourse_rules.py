"""Recourse for rules with weights: as cheap as the cheapest of all changes, tried one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin import Domain, FeatureSpace, Rule, RuleSet, parse_rules, recourse
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rankings import Rank
from clearmargin.rule_svm import LinearTerm, WeightedRules
from clearmargin.rules import Box, Interval

MOST = 4
SPACE = FeatureSpace(
    ["a", "b", "x", "c"],
    [0, 0, 0, -math.inf],
    [MOST, MOST, MOST, math.inf],
    [True, True, False, False],
    {"c": ["u", "v", "w"]},
)
points = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 0.1, 0.3])


@st.composite
def weighted_rules(draw, n_classes=2):
    classes = ["no", "yes", "other"][:n_classes]
    rules = []
    for _ in range(draw(st.integers(1, 5))):
        intervals = {}
        for j in draw(st.sets(st.sampled_from([0, 1, 2]), max_size=2)):
            low, high = sorted(draw(st.tuples(st.integers(0, MOST), st.integers(0, MOST))))
            ends = draw(st.sampled_from([(low, math.inf), (-math.inf, high), (low, high + 1)]))
            intervals[j] = Interval(*ends, draw(st.sampled_from(["left", "right"])))
        sets = {3: draw(st.sets(st.integers(0, 2), min_size=1, max_size=2))}
        kept = sets if draw(st.booleans()) else {}
        missing = [0] if 0 not in intervals and draw(st.integers(0, 4)) == 0 else []
        box = Box.from_intervals(intervals, 4, kept, missing=missing)
        rules.append(Rule(box, draw(st.sampled_from(classes))))
    shape = () if n_classes == 2 else (n_classes,)

    def drawn(*size):
        count = int(np.prod(size, dtype=int))
        return np.array([draw(points) for _ in range(count)]).reshape(size)

    linear = []
    if draw(st.booleans()):
        linear.append(LinearTerm(1, drawn(*shape), 2.0))
    if draw(st.booleans()):
        linear.append(LinearTerm(3, drawn(*shape, 3)))
    rule_set = RuleSet(rules, SPACE, classes)
    threshold = draw(points) if n_classes == 2 else 0.0
    return WeightedRules(rule_set, drawn(*shape, len(rules)), drawn(*shape), linear, threshold)


cases = st.fixed_dictionaries(
    {
        "a": st.integers(0, MOST),
        "b": st.integers(0, MOST),
        "x": st.sampled_from([0.0, 0.5, 1.0, 2.25, 4.0]),
        "c": st.sampled_from(["u", "v", "w"]),
    }
)
features = st.sets(st.sampled_from(SPACE.names), min_size=1)
costs = st.fixed_dictionaries({name: st.sampled_from([0.5, 1.0, 3.0]) for name in SPACE.names})


def every_value(name, before):
    """All values that rules with bounds at whole numbers tell apart, those next to bounds included."""
    if name == "c":
        return ["u", "v", "w"]
    if name in "ab":
        return list(range(MOST + 1))
    beside = [math.nextafter(k, side) for k in range(MOST + 1) for side in (-9e999, 9e999)]
    return [before, *map(float, range(MOST + 1)), *(v for v in beside if 0 <= v <= MOST)]


def cheapest(weighted, case, names, prices, is_there):
    """The least cost of all changes that arrive; None if none does."""
    options = [every_value(n, case[n]) if n in names else [case[n]] for n in SPACE.names]
    rows = list(itertools.product(*options))
    coded = np.array([[*row[:3], "uvw".index(row[3])] for row in rows], dtype=float)
    total = np.zeros(len(rows))
    for j, name in enumerate(SPACE.names):
        if name == "c":
            total += prices["c"] * (coded[:, j] != "uvw".index(case["c"]))
        else:
            total += prices[name] * np.abs(coded[:, j] - case[name])
    arrived = is_there(weighted, coded)
    return float(total[arrived].min()) if arrived.any() else None


def assert_cheapest(weighted, case, names, prices, target, is_there):
    found = recourse(weighted, case, actionable=sorted(names), costs=prices, target=target)
    expected = cheapest(weighted, case, names, prices, is_there)
    assert found.feasible == (expected is not None)
    assert found.verified
    if expected is not None:
        assert found.cost == pytest.approx(expected, rel=1e-6, abs=1e-9)
        changed = {**case, **{change.feature: change.after for change in found.changes}}
        assert {change.feature for change in found.changes} <= names
        row = np.array([[changed["a"], changed["b"], changed["x"], "uvw".index(changed["c"])]])
        assert is_there(weighted, row.astype(float)).all()
        assert all(type(changed[name]) is type(case[name]) for name in "abc")
    return found


@settings(max_examples=60)
@given(weighted_rules(), cases, features, costs)
def test_the_cheapest_of_all_changes_across_the_boundary(weighted, case, names, prices):
    now = weighted.predict(pd.DataFrame([case]))[0]
    assert_cheapest(weighted, case, names, prices, "boundary", lambda w, X: w.predict(X) != now)


@settings(max_examples=40)
@given(weighted_rules(3), cases, features, costs, st.sampled_from(["no", "yes", "other"]))
def test_the_cheapest_of_all_changes_to_a_class(weighted, case, names, prices, label):
    assert_cheapest(weighted, case, names, prices, label, lambda w, X: w.predict(X) == label)


def two_rules():
    text = """
feature bmi: in [15, 60]
feature age: integer in [0, 120]
feature smoker: in {no, yes, ex}
bmi >= 30 and smoker = yes => ill
age > 40 => ill
"""
    rules = parse_rules(text, classes=["well", "ill"])
    return WeightedRules(rules, [2.0, 1.5], -0.25, threshold=0.25)


def test_further_ways_leave_something_alone():
    case = {"smoker": "yes", "bmi": 32.5, "age": 44}
    way = recourse(two_rules(), case, actionable=["bmi", "age", "smoker"], n_alternatives=3)
    changed = [{c.feature for c in other.changes} for other in (way, *way.alternatives)]
    assert changed == [{"bmi", "age"}, {"age", "smoker"}]
    assert way.changes[0].after == math.nextafter(30.0, 0.0)
    assert "age were 40 instead of 44" in str(way)


def test_a_case_leaves_the_top_of_a_list():
    weighted = two_rules()
    X = pd.DataFrame(
        {
            "bmi": [32.0, 31.0, 22.0, 20.0],
            "age": [50, 30, 60, 20],
            "smoker": ["yes", "yes", "no", "no"],
        }
    )
    scores = weighted.decision_function(X)
    assert scores.argmax() == 0
    out = recourse(weighted, X.iloc[[0]], actionable=["bmi", "age"], X=X, target=("rank", 1))
    assert (out.rank_before, out.rank_after) == (1, 2)
    # A tie with the next one is not below it.
    assert out.score_after < scores[1] - weighted.threshold
    assert {change.feature for change in out.changes} == {"bmi"}
    everyone = recourse(weighted, X.iloc[[3]], actionable=["age"], X=X, target=Rank(3))
    assert not everyone.changes
    far = {"bmi": 50.0, "age": 90, "smoker": "ex"}
    with pytest.raises(DataError, match="no row of X is equal to the case"):
        recourse(weighted, far, actionable=["age"], X=X, target=Rank(1, listed=True))


def test_ranges_of_a_list_are_limits():
    X = pd.DataFrame({"bmi": [31.0, 45.0], "age": [42, 80], "smoker": ["yes", "no"]})
    case = {"smoker": "yes", "bmi": 32.5, "age": 44}
    refused = recourse(two_rules(), case, actionable=["bmi", "age"], X=X)
    assert not refused.feasible
    assert refused.verified
    assert refused.shortfall == pytest.approx(3.0)
    assert recourse(two_rules(), case, actionable=["bmi", "age"]).feasible


def test_what_stays_may_be_missing_and_what_changes_may_not():
    case = {"smoker": None, "bmi": 32.5, "age": 44}
    way = recourse(two_rules(), case, actionable=["age"])
    assert [change.after for change in way.changes] == [40]
    with pytest.raises(DataError, match="the value of 'bmi' is missing"):
        recourse(two_rules(), {**case, "bmi": None}, actionable=["bmi"])
    ill = {"smoker": None, "bmi": 32.5, "age": 20}
    taken = recourse(two_rules(), ill, actionable=["smoker"])
    assert [(change.before, change.after) for change in taken.changes] == [(None, "yes")]


def test_relations_hold_after_the_change():
    rules = parse_rules(
        "feature low: in [0, 200]\nfeature high: in [0, 200]\nlow >= 90 => ill\nhigh >= 140 => ill",
        classes=["well", "ill"],
    )
    weighted = WeightedRules(rules, [1.0, 1.0], -0.5)
    domain = Domain.from_space(rules.space).with_relations(["low + 20 <= high"])
    case = {"low": 85.0, "high": 106.0}
    way = recourse(
        weighted, case, actionable=["low", "high"], bounds=domain, costs={"low": 1.0, "high": 1.0}
    )
    after = {**case, **{change.feature: change.after for change in way.changes}}
    assert way.verified
    assert after["low"] + 20 <= after["high"]
    assert way.cost == pytest.approx(9.0)


def test_a_linear_term_without_bounds_is_refused():
    rules = parse_rules("x > 3 => b", classes=["a", "b"])
    weighted = WeightedRules(rules, [0.5], -1.0, [LinearTerm(0, 1.0, 0.0)])
    with pytest.raises(
        InvalidValueError, match="'x' has a linear term or a relation, and so needs"
    ):
        recourse(weighted, [0.0], actionable=["x"], costs={"x": 1.0})
    way = recourse(weighted, [0.0], actionable={"x": (0.0, 10.0)}, costs={"x": 1.0})
    assert way.changes[0].after == pytest.approx(1.0, abs=1e-6)
    assert way.verified


def test_a_weighted_sum_of_an_expert_is_refused():
    rules = parse_rules("x + 2*y > 3 => b", classes=["a", "b"])
    with pytest.raises(InvalidValueError, match="a weighted sum of features"):
        recourse(WeightedRules(rules, [1.0], -0.5), [0.0, 0.0], actionable={"x": (0.0, 9.0)})


def test_columns_that_a_list_lacks_are_named():
    X = pd.DataFrame({"bmi": [31.0, 45.0], "age": [42, 80]})
    case = {"smoker": "yes", "bmi": 32.5, "age": 44}
    with pytest.raises(DataError, match="X lacks the columns 'smoker'"):
        recourse(two_rules(), case, actionable=["age"], X=X)
