"""Explanations of a case: the parts add up, and flips are those that a search over all values finds."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin import FeatureSpace, Polyhedron, Rule, RuleSet, parse_rules
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rule_svm import LinearTerm, WeightedRules
from clearmargin.rule_svm.value_cells import Cell, box_of, cut_into_cells, value_cells
from clearmargin.rules import Box, Interval

SPACE = FeatureSpace(
    ["x", "n", "c"], integer=[False, True, False], categories={"c": ["u", "v", "w"]}
)
# All cells of the rules below have a value in here.
GRID = np.arange(-1.0, 6.01, 0.25)
points = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 1.5])


@st.composite
def weighted_rules(draw, with_linear=False):
    classes = draw(st.sampled_from([["a", "b"], ["a", "b", "c"]]))
    rules = []
    for _ in range(draw(st.integers(1, 5))):
        intervals = {}
        for j in draw(st.sets(st.sampled_from([0, 1]), max_size=2)):
            low, high = sorted(draw(st.tuples(st.integers(0, 4), st.integers(0, 4))))
            ends = draw(st.sampled_from([(low, math.inf), (-math.inf, high), (low, high + 1)]))
            intervals[j] = Interval(*ends, draw(st.sampled_from(["left", "right"])))
        sets = {2: draw(st.sets(st.integers(0, 2), min_size=1, max_size=2))}
        missing = [j for j in (0, 1) if j not in intervals and draw(st.integers(0, 5)) == 0]
        kept = sets if draw(st.booleans()) else {}
        box = Box.from_intervals(intervals, 3, kept, missing=missing)
        rules.append(Rule(box, draw(st.sampled_from(classes))))
    shape = () if len(classes) == 2 else (3,)
    count = len(rules)
    weights = np.array([draw(points) for _ in range(count * (shape[0] if shape else 1))])
    linear = []
    if with_linear:
        coefs = np.array([draw(points) for _ in range(shape[0] if shape else 1)])
        linear = [LinearTerm(0, coefs if shape else coefs[0], 1.0)]
    return WeightedRules(
        RuleSet(rules, SPACE, classes),
        weights.reshape(*shape, count),
        np.array([draw(points) for _ in range(shape[0] if shape else 1)]).reshape(shape),
        linear,
        0.0 if shape else draw(points),
    )


cases = st.tuples(
    st.sampled_from([*GRID.tolist(), math.nan]),
    st.sampled_from([-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
    st.sampled_from([0.0, 1.0, 2.0, -1.0, math.nan]),
).map(np.array)


def search(weighted, case, j, values):
    """All values of a feature that flip the class, by trying each."""
    rows = np.repeat(case[None], len(values), axis=0)
    rows[:, j] = values
    now = weighted.predict(case[None])[0]
    return [
        value for value, said in zip(values, weighted.predict(rows), strict=True) if said != now
    ]


@settings(max_examples=40)
@given(weighted_rules(), cases)
def test_flips_are_those_of_a_search_over_all_values(weighted, case):
    said = weighted.explain(case)
    assert said.label == weighted.predict(case[None])[0]
    for j, name in enumerate(SPACE.names):
        values = (GRID, np.arange(-1.0, 8.0), np.arange(3.0))[j]
        expected = search(weighted, case, j, values[values != case[j]])
        found = [flip for flip in said.flips if flip.feature == name]
        if j == 2:
            assert [flip.after for flip in found] == [SPACE.categories[2][int(v)] for v in expected]
            continue
        for side in (1, -1):
            on_side = [v for v in expected if (v - case[j]) * side > 0]
            nearest = [f for f in found if (f.after - case[j]) * side > 0]
            assert bool(on_side) == bool(nearest)
            for flip in nearest:
                assert abs(flip.after - case[j]) <= min(abs(v - case[j]) for v in on_side)
        if math.isnan(case[j]):
            assert bool(found) == bool(expected)


@settings(max_examples=40)
@given(weighted_rules(with_linear=True), cases)
def test_flips_hold_and_nothing_nearer_flips_where_a_linear_term_counts(weighted, case):
    said = weighted.explain(case)
    for flip in said.flips:
        changed = case.copy()
        j = SPACE.index(flip.feature)
        changed[j] = SPACE.categories[j].index(flip.after) if j == 2 else flip.after
        assert weighted.predict(changed[None])[0] == flip.label != said.label
    now = case[0]
    if not math.isnan(now):
        flips = [f.after for f in said.flips if f.feature == "x"]
        fine = np.arange(-8.0, 12.0, 1 / 64)
        for value in search(weighted, case, 0, fine[fine != now]):
            side = [f for f in flips if (f > now) == (value > now)]
            assert side
            # Where scores tie but for rounding, the nearest float is not looked for.
            assert abs(side[0] - now) <= abs(value - now) + 1e-9


@settings(max_examples=40)
@given(weighted_rules(with_linear=True), cases)
def test_parts_add_up_to_the_score(weighted, case):
    said = weighted.explain(case)
    assert math.isclose(sum(part.points for part in said.parts), said.score, abs_tol=1e-12)
    held = np.flatnonzero(weighted.rules.covers(case[None])[0]) + 1
    assert sorted(part.rule for part in said.parts if part.rule) == held.tolist()
    if weighted.is_binary:
        assert said.score == weighted.decision_function(case[None])[0]
        assert (said.label == "b") == (said.score > said.threshold)
    else:
        scores = np.sort(weighted.decision_function(case[None])[0])
        assert math.isclose(said.score, scores[-1] - scores[-2], abs_tol=1e-12)


def patients():
    text = """
feature bmi: in [15, 60]
feature age: integer in [0, 120]
feature smoker: in {no, yes, ex}
bmi >= 30 and smoker = yes => ill
age <= 40 => well
age is missing => ill
"""
    rules = parse_rules(text, classes=["well", "ill"])
    return WeightedRules(rules, [2.0, -1.5, 0.5], -0.25, threshold=0.25)


def test_an_explanation_reads_as_text():
    case = {"smoker": "yes", "bmi": 32.5, "age": 50}
    assert str(patients().explain(case)) == (
        "ill: the score is 1.75, more than 0.25; 1 of 3 rules hold\n"
        "  +2     bmi >= 30 and smoker = yes\n"
        "  -0.25  at the start\n"
        "One change that would make it another class:\n"
        "  bmi < 30 (now 32.5): well, score -0.25\n"
        "  age <= 40 (now 50): well, score 0.25\n"
        "  smoker = no (now yes): well, score -0.25\n"
        "  smoker = ex (now yes): well, score -0.25"
    )


def test_a_value_that_is_missing_may_become_known():
    text = str(patients().explain({"smoker": "no", "bmi": 22.0, "age": None}))
    assert "well: the score is 0.25, not more than 0.25; 1 of 3 rules hold" in text
    assert "+0.5   age is missing" in text


def test_an_explanation_is_plain_data():
    frame = pd.DataFrame({"bmi": [32.5], "age": [50], "smoker": ["yes"]})
    data = patients().explain(frame).to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["class"] == "ill"
    assert data["parts"][0] == {"text": "bmi >= 30 and smoker = yes", "points": 2.0, "rule": 1}
    assert data["flips"][0]["after"] == math.nextafter(30.0, 0.0)


def test_many_flips_are_counted_not_listed():
    rules = RuleSet(
        [Rule(Box.from_intervals({}, 1, {0: [k]}), "a") for k in range(12)],
        FeatureSpace(["c"], categories={"c": [f"k{k}" for k in range(12)]}),
        ["a", "b"],
    )
    weighted = WeightedRules(rules, [-1.0, *[1.0] * 11], 0.0)
    said = weighted.explain(["k0"])
    assert len(said.flips) == 11
    assert str(said).endswith("  and 3 more")


def test_weighted_sums_of_experts_flip_too():
    rules = parse_rules("0.5*x + y <= 3 => a", classes=["a", "b"])
    weighted = WeightedRules(rules, [-1.0], 0.5)
    said = weighted.explain([2.0, 1.0])
    assert said.label == "a"
    assert [(f.feature, round(f.after, 9)) for f in said.flips] == [("x", 4.0), ("y", 2.0)]
    for flip in said.flips:
        changed = np.array([[2.0, 1.0]])
        changed[0, "xy".index(flip.feature)] = flip.after
        assert weighted.predict(changed) == ["b"]


def test_a_case_that_is_no_case_is_refused():
    with pytest.raises(DataError):
        patients().explain([[1.0, 2.0, 0.0], [1.0, 2.0, 0.0]])


# Cells


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.booleans(), st.booleans())),
    st.booleans(),
)
def test_no_rule_tells_values_of_a_cell_apart(ends, is_whole):
    space = FeatureSpace(["x"], integer=[is_whole])
    boxes = [Box([min(a, b) / 2], [max(a, b) / 2 + 1], [low], [high]) for a, b, low, high in ends]
    rules = RuleSet([Rule(box, "a") for box in boxes], space)
    cells = value_cells(rules, 0)
    assert cells[0].low == -math.inf
    assert cells[-1].high == math.inf
    for cell, above in itertools.pairwise(cells):
        step = cell.high + 1 if is_whole else math.nextafter(cell.high, math.inf)
        assert above.low == step
        if not is_whole:
            beside = rules.covers([[cell.high], [above.low]])
            assert (beside[0] != beside[1]).any()
    values = np.arange(-1.0, 5.0, 1.0 if is_whole else 0.125)
    for cell in cells:
        inside = values[(cell.low <= values) & (values <= cell.high)]
        if len(inside):
            covers = rules.covers(inside[:, None])
            assert (covers == covers[0]).all()


def test_cells_end_where_they_are_cut():
    assert cut_into_cells([1.5, 9.0], 0.0, 4.0, is_whole=True) == [Cell(0.0, 1.0), Cell(2.0, 4.0)]
    assert Cell(2.0, 4.0).nearest(7.0) == 4.0


def test_a_weighted_sum_has_no_cells():
    with pytest.raises(InvalidValueError, match="a weighted sum of features"):
        box_of(Polyhedron([[1.0, 2.0]], [3.0]))
