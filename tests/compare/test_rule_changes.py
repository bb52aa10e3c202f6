"""The difference of two rule sets, against brute force over every piece that bounds can cut."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from clearmargin import Box, CategorySets, FeatureSpace, Interval, Rule, RuleSet, parse_rules
from clearmargin.compare import compare_rules
from clearmargin.exceptions import InvalidValueError

NAMES = ["a", "b", "c"]
CLOSED = ["left", "right", "both", "neither"]


def random_rules(rng, space, most=3):
    rules = []
    for _ in range(rng.integers(1, most + 1)):
        intervals, sets, missing = {}, {}, []
        for j in (0, 1):
            kind = rng.integers(0, 5)
            low, high = sorted(rng.integers(0, 4, 2).tolist())
            if kind in (0, 1):
                ends = [(low, high), (low, math.inf), (-math.inf, high)][rng.integers(0, 3)]
                intervals[j] = Interval(*ends, closed=CLOSED[rng.integers(0, 4)])
            elif kind == 2 and rng.random() < 0.3:
                missing.append(j)
        if rng.random() < 0.4:
            sets[2] = [int(rng.integers(0, 2))]
        box = Box.from_intervals(intervals, 3, CategorySets(sets), missing=missing)
        if not box.is_empty:
            rules.append(Rule(box, ["yes", "no"][rng.integers(0, 2)]))
    return RuleSet(rules, space, ["yes", "no"])


def grid(whole):
    numbers = [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, math.nan]
    numbers += [] if whole else [0.5, 1.5, 2.5]
    rows = itertools.product(numbers, numbers, ["x", "y", None])
    return pd.DataFrame(list(rows), columns=NAMES).astype({"c": object})


def answers(rules, frame):
    if not len(rules):
        return np.full(len(frame), "none", dtype=object)
    which = rules.which(frame[list(rules.space.names)])
    return np.array(["none" if k < 0 else rules[k].label for k in which], dtype=object)


@pytest.mark.parametrize("whole", [False, True])
def test_decisions_differ_exactly_where_brute_force_finds_a_case(whole):
    rng = np.random.default_rng(0)
    space = FeatureSpace(NAMES, integer=[whole, whole, False], categories={"c": ["x", "y"]})
    frame = grid(whole)
    seen = set()
    for _ in range(120):
        old = random_rules(rng, space)
        # Often close to the old ones, so that equal decisions occur, too.
        new = (
            random_rules(rng, space)
            if rng.random() < 0.4
            else RuleSet(old[::-1], space, old.classes)
        )
        found = compare_rules(old, new)
        differs = answers(old, frame) != answers(new, frame)
        assert found.decisions == ("different" if differs.any() else "same")
        seen.add(found.decisions)
        if found.witness is not None:
            case = pd.DataFrame([{"a": 0.0, "b": 0.0, "c": "x", **found.witness}])[NAMES]
            case = case.astype({"a": float, "b": float, "c": object})
            given = [answers(rules, case)[0] for rules in (old, new)]
            assert ["none" if label is None else label for label in found.labels] == given
            assert given[0] != given[1]
    assert seen == {"same", "different"}


def test_rules_in_common_cover_the_same_cases():
    rng = np.random.default_rng(1)
    space = FeatureSpace(NAMES, integer=[True, True, False], categories={"c": ["x", "y"]})
    frame = grid(True)
    met = 0
    for _ in range(80):
        old, new = random_rules(rng, space, 5), random_rules(rng, space, 5)
        covers = [
            rules.covers(frame) if len(rules) else np.zeros((len(frame), 0)) for rules in (old, new)
        ]
        same = {
            (i, j)
            for i, j in itertools.product(range(len(old)), range(len(new)))
            if old[i].label == new[j].label and (covers[0][:, i] == covers[1][:, j]).all()
        }
        found = compare_rules(old, new)
        assert set(found.common) <= same
        # Nothing that is left over has a twin that is left over.
        left = set(
            itertools.product(
                {*range(len(old))} - {i for i, _ in found.common},
                {*range(len(new))} - {j for _, j in found.common},
            )
        )
        assert not left & same
        met += len(found.common)
        places = sorted(
            [i for i, _ in found.common] + [c.old for c in found.changed] + list(found.gone)
        )
        assert places == list(range(len(old)))
        places = sorted(
            [j for _, j in found.common] + [c.new for c in found.changed] + list(found.added)
        )
        assert places == list(range(len(new)))
        for change in found.changed:
            before, after = covers[0][:, change.old], covers[1][:, change.new]
            assert (change.relation == "wider") == bool((before <= after).all())
            if change.relation == "narrower":
                assert (after <= before).all()
    assert met > 10


def test_features_are_matched_by_name_and_whole_numbers_by_meaning():
    old = RuleSet.from_text(
        "age > 3 and bmi < 25 => ill", FeatureSpace(["age", "bmi"], integer=[True, False])
    )
    new = RuleSet.from_text(
        "bmi < 25 and age >= 4 => ill", FeatureSpace(["bmi", "age"], integer=[False, True])
    )
    found = compare_rules(old, new)
    assert (found.common, found.decisions) == (((0, 0),), "same")
    as_numbers = compare_rules(parse_rules("age > 3 => ill"), parse_rules("age >= 4 => ill"))
    assert (as_numbers.common, as_numbers.decisions) == ((), "different")
    assert 3 < as_numbers.witness["age"] < 4
    known = FeatureSpace(["age"], [0], [120], integer=True)
    assert (
        compare_rules(
            parse_rules("age > 3 => ill"), parse_rules("age >= 4 => ill"), known
        ).decisions
        == "same"
    )


def test_a_range_that_cases_are_known_to_have_makes_rules_equal():
    old, new = parse_rules("age >= 0 and bmi < 25 => ill"), parse_rules("bmi < 25 => ill")
    assert compare_rules(old, new).witness["age"] is not None
    space = FeatureSpace(["age", "bmi"], [0, 10], [120, 60])
    found = compare_rules(old, new, space)
    assert found.decisions == "different"  # a missing age is possible
    assert found.witness == {"age": None, "bmi": pytest.approx(17.5, abs=8)}


def test_what_a_missing_value_counts_as_is_part_of_a_rule():
    plain = FeatureSpace(["age"])
    filled = FeatureSpace(["age"], fill={"age": 70})
    old, new = (RuleSet.from_text("age >= 60 => ill", space) for space in (plain, filled))
    found = compare_rules(old, new)
    assert found.witness == {"age": None}
    assert found.labels == (None, "ill")


def test_a_rule_keeps_its_name_through_a_change():
    old = parse_rules("heavy: bmi >= 30 => ill\nbmi >= 40 => ill")
    new = parse_rules("bmi >= 31 => ill\nheavy: bmi >= 45 => ill")
    found = compare_rules(old, new)
    assert [(c.old, c.new, c.relation) for c in found.changed] == [
        (0, 1, "narrower"),
        (1, 0, "wider"),
    ]


def test_the_difference_reads_as_sentences_and_as_data():
    old = parse_rules("age >= 60 => ill\nbmi < 25 => well\nsmoker = yes and age < 30 => ill")
    new = parse_rules("age >= 55 => ill\nbmi < 25 => well\nage < 20 => well")
    found = compare_rules(old, new)
    text = str(found)
    assert "3 old and 3 new rules: 1 in common, 1 changed, 1 gone, 1 new." in text
    assert "changed  age >= 60 => ill\n      now  age >= 55 => ill  (is wider)" in text
    assert (
        "gone     age < 30 and smoker = yes => ill" in text
        or "smoker = yes and age < 30 => ill" in text
    )
    assert "They differ, for example, on" in text
    data = found.to_dict()
    assert data["changed"][0]["conditions"] == [
        {"feature": "age", "before": "age >= 60", "after": "age >= 55"}
    ]
    assert data["decisions"] == "different"


def test_linear_conditions_are_compared_as_they_are_written():
    old = parse_rules("0.5*age + bmi <= 40 => well\nage > 60 => ill")
    assert compare_rules(old, old).common == ((0, 0), (1, 1))
    found = compare_rules(old, parse_rules("0.5*age + bmi <= 41 => well\nage > 60 => ill"))
    assert (found.gone, found.added, found.decisions) == ((0,), (0,), "unknown")
    assert "is not known" in found.verdict


def test_a_search_that_is_cut_short_claims_nothing():
    rules = parse_rules("a < 3 and b < 3 => yes\na >= 3 and b < 3 => yes")
    assert compare_rules(rules, rules[::-1], max_cells=1).decisions == "unknown"
    assert compare_rules(rules, rules[::-1]).decisions == "same"


def test_a_feature_cannot_be_categories_here_and_numbers_there():
    with pytest.raises(InvalidValueError, match="feature 'smoker' has categories in one set"):
        compare_rules(parse_rules("smoker = yes => ill"), parse_rules("smoker >= 1 => ill"))
