"""Recourse for rules with weights: as cheap as the cheapest of all changes, tried one by one."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin import FeatureSpace, Rule, RuleSet, parse_rules, recourse
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.points import LinearTerm, Scorecard
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
    return Scorecard(rule_set, drawn(*shape, len(rules)), drawn(*shape), linear, threshold)


cases = st.fixed_dictionaries({
    "a": st.integers(0, MOST), "b": st.integers(0, MOST),
    "x": st.sampled_from([0.0, 0.5, 1.0, 2.25, 4.0]), "c": st.sampled_from(["u", "v", "w"]),
})  # fmt: skip
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


@settings(max_examples=40)
@given(weighted_rules(), cases, features, costs)
def test_recourse_rules_across_the_boundary_as_all_changes_tried(weighted, case, names, prices):
    now = weighted.predict(pd.DataFrame([case]))[0]
    assert_cheapest(weighted, case, names, prices, "boundary", lambda w, X: w.predict(X) != now)


@settings(max_examples=25)
@given(weighted_rules(3), cases, features, costs, st.sampled_from(["no", "yes", "other"]))
def test_recourse_rules_to_a_class_as_all_changes_tried(weighted, case, names, prices, label):
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
    return Scorecard(rules, [2.0, 1.5], -0.25, threshold=0.25)


def test_recourse_rules_alternatives_leave_something_alone():
    case = {"smoker": "yes", "bmi": 32.5, "age": 44}
    way = recourse(two_rules(), case, actionable=["bmi", "age", "smoker"], n_alternatives=3)
    changed = [{c.feature for c in other.changes} for other in (way, *way.alternatives)]
    assert changed == [{"bmi", "age"}, {"age", "smoker"}]
    assert way.changes[0].after == math.nextafter(30.0, 0.0)
    assert "40" in str(way)


def test_recourse_rules_rank_counts_the_others():
    weighted = two_rules()
    X = pd.DataFrame({
        "bmi": [32.0, 31.0, 22.0, 20.0], "age": [50, 30, 60, 20],
        "smoker": ["yes", "yes", "no", "no"],
    })  # fmt: skip
    scores = weighted.decision_function(X)
    assert scores.argmax() == 0
    out = recourse(weighted, X.iloc[[0]], actionable=["bmi", "age"], X=X, rank=1)
    assert (out.rank_before, out.rank_after) == (1, 2)
    # A tie with the next one is not below it.
    assert out.score_after < scores[1] - weighted.threshold
    assert {change.feature for change in out.changes} == {"bmi"}
    everyone = recourse(weighted, X.iloc[[3]], actionable=["age"], X=X, rank=3)
    assert not everyone.changes


def test_recourse_rules_missing_value_may_stay_and_be_taken():
    case = {"smoker": None, "bmi": 32.5, "age": 44}
    way = recourse(two_rules(), case, actionable=["age"])
    assert [change.after for change in way.changes] == [40]
    ill = {"smoker": None, "bmi": 32.5, "age": 20}
    taken = recourse(two_rules(), ill, actionable=["smoker"])
    assert [(change.before, change.after) for change in taken.changes] == [(None, "yes")]


def test_recourse_rules_bad_request_is_refused_by_name():
    rules = parse_rules("x > 3 => b", classes=["a", "b"])
    endless = Scorecard(rules, [0.5], -1.0, [LinearTerm(0, 1.0, 0.0)])
    sums = Scorecard(parse_rules("x + 2*y > 3 => b", classes=["a", "b"]), [1.0], -0.5)
    ill = {"smoker": "yes", "bmi": 32.5, "age": 44}
    for weighted, case, request, error, name in [
        (endless, [0.0], {"actionable": ["x"], "costs": {"x": 1.0}}, InvalidValueError, "'x'"),
        (sums, [0.0, 0.0], {"actionable": {"x": (0.0, 9.0)}}, InvalidValueError, "sum"),
        (two_rules(), ill | {"bmi": None}, {"actionable": ["bmi"]}, DataError, "bmi"),
    ]:
        with pytest.raises(error, match=name):
            recourse(weighted, case, **request)
