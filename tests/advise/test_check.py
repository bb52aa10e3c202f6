"""What is wrong with advice: cases with hand-computed answers, properties, the Pima rules, bad input."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin import Box, FeatureSpace, Polyhedron, Rule, RuleSet, parse_rules
from clearmargin.advise import AdviceSVC, check_advice
from clearmargin.advise.case import read_case
from clearmargin.advise.check import advice_warnings, warn_about
from clearmargin.advise.clash import PremiseGeometry, has_no_point, intersection, is_inside
from clearmargin.advise.encoding import encode_rule
from clearmargin.advise.evidence import case_evidence
from clearmargin.advise.frame import Frame
from clearmargin.advise.problem import FramedAdvice
from clearmargin.core.feasibility import is_infeasible
from clearmargin.datasets import load_pima
from clearmargin.exceptions import (
    ClearmarginWarning,
    DataError,
    InvalidValueError,
    RuleSyntaxError,
)
from clearmargin.programs.premise_margin import inner_radius

PIMA = """
R1: glucose <= 126 => tested_negative
R2: 126 <= glucose <= 140 and bmi <= 30 => tested_negative
R3: 126 <= glucose <= 140 and bmi >= 30 => tested_positive
R4: glucose >= 140 => tested_positive
R5: diabetes_pedigree <= 0.5 and age <= 31 => tested_negative
R6: diabetes_pedigree >= 0.5 and age >= 31 => tested_positive
"""
ROWS = pd.DataFrame({"age": [20, 30, 40, 50], "colour": ["red", "blue", "red", "green"]})
CLASSES = ["a", "a", "b", "b"]


def kinds(report):
    return [(finding.kind, finding.rules) for finding in report.findings]


def only(report, kind):
    (finding,) = [finding for finding in report.findings if finding.kind == kind]
    return finding


# Pairs of premises, by hand


@pytest.mark.parametrize(
    ("a", "b", "relation", "region"),
    [
        ("x <= 126", "x >= 126", "touch", "x = 126"),
        ("x < 126", "x >= 126", "apart", None),
        ("x <= 126", "x > 120", "overlap", "120 < x <= 126"),
        ("x <= 1", "x >= 2", "apart", None),
        ("x <= 1", "y >= 2", "overlap", "x <= 1 and y >= 2"),
        ("x <= 1 and y <= 1", "x >= 1 and y >= 1", "touch", "x = 1 and y = 1"),
        ("x <= 1 and y <= 1", "x >= 0 and y >= 1", "touch", "0 <= x <= 1 and y = 1"),
        ("x = 2", "x <= 3", "overlap", "x = 2"),  # without any inside in space
        ("x = 3", "x <= 3", "overlap", "x = 3"),  # on the boundary, but wholly
        ("x = 3 and y <= 4", "x <= 3 and y <= 3", "touch", "x = 3 and y <= 3"),
        ("x = 3", "x = 3", "overlap", "x = 3"),
        ("x = 3", "x < 3", "apart", None),
        ("x = 3", "y = 4", "overlap", "x = 3 and y = 4"),
        ("c in {r, g}", "c in {g, b}", "overlap", "c = g"),
        ("c = r", "c = g", "apart", None),
        ("c = r and x <= 1", "c in {r, g} and x >= 1", "touch", "x = 1 and c = r"),
        ("x + y <= 1", "x + y >= 1", "touch", "x + y <= 1 and x + y >= 1"),
        ("x + y < 1", "x + y >= 1", "apart", None),
        ("x + y <= 1", "x >= 0 and y >= 0", "overlap", "x >= 0 and y >= 0 and x + y <= 1"),
        ("x + y <= 1", "x >= 0 and y >= 1", "touch", "x >= 0 and y >= 1 and x + y <= 1"),
        ("x + y <= 1", "x >= 1 and y >= 1", "apart", None),
        ("x + y = 1", "x <= 3", "overlap", "x <= 3 and x + y = 1"),
        ("x + y = 1", "x + y <= 1", "overlap", "x + y = 1 and x + y <= 1"),
        ("3*x <= 1", "3*x >= 1", "touch", "3*x <= 1 and 3*x >= 1"),
        ("x + y <= 1 and c = r", "x >= 0 and c = g", "apart", None),
        ("true", "x >= 5", "overlap", "x >= 5"),
    ],
)
def test_two_premises_lie_as_computed_by_hand(a, b, relation, region):
    for first, second in ((a, b), (b, a)):
        report = check_advice(f"{first} => p\n{second} => q")
        found = [f for f in report.findings if f.kind in ("touch", "overlap")]
        assert [f.kind for f in found] == ([] if relation == "apart" else [relation])
        assert report.ok == (relation != "overlap")
    report = check_advice(f"{a} => p\n{b} => q")
    if region is not None:
        (found,) = (f for f in report.findings if f.kind == relation)
        same = parse_rules(f"{region} => p", space=report.rules.space)
        given = parse_rules(f"{found.region} => p", space=report.rules.space)
        X = np.random.default_rng(0).integers(0, 7, (200, len(report.rules.space))) / 2.0
        assert found.region == region or (same.covers(X) == given.covers(X)).all()


def test_rules_of_one_class_never_clash():
    assert check_advice("x <= 3 => a\nx >= 3 => a\nx >= 2 => a").ok


@pytest.mark.parametrize(
    ("rules", "relation"),
    [("n < 4 => a\nn > 3 => b", None), ("n <= 3 => a\n3 <= n < 4 => b", "overlap")],
)
def test_features_that_count_are_looked_at_in_whole_numbers(rules, relation):
    report = check_advice(f"feature n: integer\n{rules}")
    assert [finding.kind for finding in report.findings] == ([relation] if relation else [])


# Empty premises


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x + y <= 1 and y <= 9 and x + y >= 2 => a", "'x + y <= 1' and 'x + y >= 2' contradict"),
        ("x + y < 1 and x + y >= 1 => a", "'x + y < 1' and 'x + y >= 1' contradict"),
        (
            "x + y <= 3 and x >= 2 and y >= 2 => a",
            "'x + y <= 3', 'x >= 2' and 'y >= 2' contradict each other",
        ),
        ("feature n: integer\n3 < n < 4 => a", "no whole number is left for n"),
        ("2*x <= 1 and 3*x >= 7 => a", "'2*x <= 1' and '3*x >= 7' contradict"),
    ],
)
def test_an_empty_premise_says_which_conditions_contradict_each_other(text, said):
    report = check_advice(text)
    assert not report.ok
    assert kinds(report) == [("empty", (0,))]
    assert f"no case can satisfy rule 1: {said}" in report.findings[0].message


def test_an_empty_premise_takes_part_in_nothing_else():
    report = check_advice("x + y <= 1 and x + y >= 2 => a\nx >= 0 => b\ntrue => a")
    assert kinds(report) == [("empty", (0,)), ("overlap", (1, 2))]


def test_a_point_alone_is_not_empty():
    assert check_advice("x + y <= 1 and x + y >= 1 and x - y = 0 => a").findings == ()


# Redundant rules


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x >= 3 => a\nx >= 3 => a", [("duplicate", (1, 0))]),
        ("x >= 3 => a\nx >= 4 => a", [("redundant", (1, 0))]),
        ("x > 3 => a\nx >= 3 => a", [("redundant", (0, 1))]),
        ("x >= 3 => a\nx >= 3 and y <= 1 => a", [("redundant", (1, 0))]),
        ("x >= 3 => a\nx <= 4 => a", []),
        ("c in {r, g} => a\nc = r => a", [("redundant", (1, 0))]),
        ("c in {r, g} => a\nx <= 3 => a", []),  # other categories may come
        ("x + y <= 3 => a\nx + y <= 2 => a", [("redundant", (1, 0))]),
        ("x + y <= 3 => a\nx <= 1 and y <= 2 => a", [("redundant", (1, 0))]),
        ("x + y < 3 => a\nx <= 1 and y <= 2 => a", []),
        ("x + y <= 3 and c = r => a\nx + y <= 2 => a", []),
        ("x + y <= 3 and c in {r, g} => a\nx + y <= 2 and c = g => a", [("redundant", (1, 0))]),
        ("x + y <= 3 => a\n2*x + 2*y <= 6 => a", [("duplicate", (1, 0))]),
    ],
)
def test_a_rule_inside_another_of_its_class_is_noted(text, found):
    report = check_advice(text)
    assert kinds(report) == found
    assert report.ok


# Rules and rows


def test_rules_are_counted_on_the_data():
    report = check_advice(
        "age >= 30 => b\nage <= 25 => a [weight 2]\nage >= 20 => a", ROWS, CLASSES
    )
    counts = [(s.rows, s.covered, s.correct) for s in report.stats]
    assert counts == [(4, 3, 2), (4, 1, 1), (4, 4, 2)]
    # 20: a (3 to 0). 30, 40, 50: one vote each; a tie goes to the more frequent class, here to the first.
    vote = report.vote
    assert (vote.stats.covered, vote.stats.correct) == (4, 2)
    assert (vote.overlaps, vote.clashes, vote.ties) == (4, 3, 3)


def test_weights_decide_the_vote():
    report = check_advice("age >= 30 => b [weight 1.5]\nage >= 20 => a", ROWS, CLASSES)
    assert (report.vote.stats.correct, report.vote.ties) == (3, 0)


def test_the_rows_in_a_clash_are_counted_by_class():
    report = check_advice("age >= 30 => b\nage <= 40 => a", ROWS, CLASSES)
    found = only(report, "overlap")
    assert found.counts == (("a", 1), ("b", 1))
    assert found.rows == 2
    assert "(2 rows; a: 1, b: 1)" in found.message
    without = only(check_advice("age >= 30 => b\nage <= 40 => a", ROWS), "overlap")
    assert without.counts == ((None, 2),)


@pytest.mark.parametrize("X", [ROWS, pd.get_dummies(ROWS), pd.get_dummies(ROWS).astype(float)])
def test_categories_are_found_as_a_column_or_as_several(X):
    report = check_advice("colour = red => b\ncolour in {blue, green} => a", X, CLASSES)
    assert report.findings == ()
    assert [(s.covered, s.correct) for s in report.stats] == [(2, 1), (2, 1)]


def test_categories_are_found_behind_a_column_transformer():
    X = pd.get_dummies(ROWS).rename(columns=lambda name: f"step__{name}")
    report = check_advice("colour = red => b", X, CLASSES)
    assert report.stats[0].covered == 2


def test_a_category_that_does_not_occur_is_reported_with_the_nearest_one():
    found = only(check_advice("colour in {red, grren} => b", ROWS, CLASSES), "unknown-category")
    assert found.severity == "warning"
    assert found.message == (
        "no row has colour = grren, which rule 1 asks for; did you mean 'green'?"
    )
    encoded = check_advice("colour in {red, grren} => b", pd.get_dummies(ROWS), CLASSES)
    assert only(encoded, "unknown-category").severity == "error"
    assert encoded.stats[0].covered == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("age >= 100 => b", "it asks for age >= 100, and there is age from 20 to 50"),
        ("age < 20 => b", "it asks for age < 20, and there is age from 20 to 50"),
        ("age = 3 => b", "it asks for age = 3, and there is age from 20 to 50"),
        ("colour = black => b", "no row has colour = black"),
        ("2*age <= 39 => b", "it asks for 2*age <= 39, and there is age from 20 to 50"),
        ("2*age <= 70 and 3*age >= 120 => b", None),
    ],
)
def test_a_premise_outside_the_data_is_a_warning(text, said):
    report = check_advice(text, ROWS, CLASSES)
    if said is None:
        assert [f.kind for f in report.findings] == ["empty"]
    else:
        assert f"rule 1 is outside the range of the data: {said}" == only(report, "outside").message
        assert report.ok
        assert not [f for f in report.findings if f.kind == "uncovered"]


def test_a_premise_may_be_outside_through_several_conditions_together():
    X = [[0.0, 0.0], [4.0, 2.0]]
    report = check_advice("x0 + x1 >= 5 and x0 <= 2.5 => a", X, ["a", "b"])
    assert only(report, "outside").message.endswith("no point of it satisfies all conditions")


def test_without_data_declared_ranges_count():
    report = check_advice("feature n: in [0, 5]\nn > 5 => c")
    assert only(report, "outside").message == (
        "rule 1 is outside the declared range: it asks for n > 5, and there is n from 0 to 5"
    )


def test_a_rule_between_the_rows_is_noted():
    found = only(check_advice("31 <= age <= 39 => b", ROWS, CLASSES), "uncovered")
    assert found.severity == "note"


@pytest.mark.parametrize(
    ("right", "covered", "of_class", "kind", "severity"),
    [
        (4, 10, 30, "mostly-wrong", "warning"),
        (4, 9, 30, "mostly-wrong", "note"),  # few rows
        (6, 10, 70, "below-base-rate", "warning"),
        (5, 10, 30, None, None),
        (7, 10, 70, None, None),
    ],
)
def test_a_rule_that_is_often_wrong_is_reported(right, covered, of_class, kind, severity):
    # 100 rows; the first are covered.
    is_class = np.zeros(100, dtype=bool)
    is_class[:right] = True
    is_class[covered : covered + of_class - right] = True
    X = pd.DataFrame({"x": np.arange(100)})
    report = check_advice(f"x < {covered} => p", X, np.where(is_class, "p", "q"))
    found = [(f.kind, f.severity) for f in report.findings]
    assert found == ([] if kind is None else [(kind, severity)])
    if kind is not None:
        assert f"right on {right} of the {covered} rows" in report.findings[0].message
        below = right / covered < of_class / 100
        assert below == ("less often than without its premise" in report.findings[0].message)


def test_more_than_two_classes_are_allowed():
    report = check_advice("age <= 25 => a\nage >= 45 => c", ROWS, ["a", "b", "b", "c"])
    assert report.findings == ()
    assert report.vote.accuracy == 1.0


def test_missing_values_are_covered_by_no_rule():
    report = check_advice("x0 >= 1 => a", [[np.nan], [np.inf], [3.0]], ["a", "a", "a"])
    assert report.stats[0].covered == 2


# Names


def test_a_rule_set_with_unknown_names_is_read_as_far_as_it_goes():
    rules = parse_rules("agee >= 30 => b\nage >= 40 => c\nage <= 30 => a")
    report = check_advice(rules, ROWS, CLASSES)
    unknown = only(report, "unknown-feature")
    assert unknown.rules == (0,)
    assert "no such column; did you mean 'age'?" in unknown.message
    assert only(report, "unknown-class").message == (
        "rule 2 is for class 'c', which is no class of the data; known are 'a', 'b'"
    )
    assert report.stats[0] is None
    assert (report.stats[2].covered, report.stats[2].correct) == (2, 2)
    assert not report.ok


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "agee >= 30 => b",
            r"(?s)line 1, column 1: unknown feature 'agee'; did you mean 'age'.*\^\^\^\^",
        ),
        (
            "colour = red => a\ncolur = red => b",
            "line 2, column 1: unknown feature 'colur'",
        ),
        ("colour = red and agee <= 3 => a", "line 1, column 18: unknown feature 'agee'"),
        ("age >= 30 => c", "line 1, column 14: unknown class 'c'"),
        ("age >= 30 =>", "line 1, column 13"),
        ("age >= 30 and age <= 20 => a", "no value of 'age' is left"),
    ],
)
@pytest.mark.parametrize("X", [ROWS, pd.get_dummies(ROWS)])
def test_a_text_with_unknown_names_is_refused_with_the_place(text, said, X):
    with pytest.raises(RuleSyntaxError, match=said):
        check_advice(text, X, CLASSES)


def test_a_feature_of_another_kind_is_an_error():
    for X, said in ((ROWS, "have categories there"), (pd.get_dummies(ROWS), "as 0/1 columns")):
        report = check_advice("colour >= 3 => a\nage >= 45 => b", X, CLASSES)
        assert said in only(report, "unknown-feature").message
        assert report.stats[1].correct == 1


def test_classes_of_another_type_are_named():
    report = check_advice(parse_rules("x0 >= 1 => `1`"), [[1.0], [2.0]], [0, 1])
    assert only(report, "unknown-class").message.endswith("; they have 1 (int)")


def test_advice_may_know_a_class_that_data_of_one_class_do_not():
    for rules in ("age >= 45 => b", parse_rules("age >= 45 => b")):
        report = check_advice(rules, ROWS, ["a"] * 4)
        assert only(report, "unknown-class").severity == "warning"
        assert report.ok


def test_rules_read_an_array_by_position_and_a_text_by_x0():
    X = np.array([[30.0, 1.0], [40.0, 2.0]])
    assert check_advice(parse_rules("age >= 35 => a\nsize >= 0 => a"), X).stats[0].covered == 1
    assert check_advice("x1 >= 2 => a", X).stats[0].covered == 1
    found = check_advice(parse_rules("age >= 35 => a"), X)
    assert "known are 'x0', 'x1'" in only(found, "unknown-feature").message
    with pytest.raises(RuleSyntaxError, match="unknown feature 'age'"):
        check_advice("age >= 35 => a", X)


def test_advice_comes_from_files(tmp_path):
    rules = parse_rules("age >= 30 => b\nage <= 40 => zzz")
    for suffix in ("json", "rules"):
        rules.save(tmp_path / f"advice.{suffix}")
    report = check_advice(tmp_path / "advice.json", ROWS, CLASSES)
    assert only(report, "unknown-class").rules == (1,)
    with pytest.raises(RuleSyntaxError, match=r"advice\.rules, line 2, column 14: unknown class"):
        check_advice(str(tmp_path / "advice.rules"), ROWS, CLASSES)


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ((3,), InvalidValueError, "advice is a RuleSet, a text or the path of a file, not int"),
        (("none.rules",), InvalidValueError, "there is no file 'none.rules'"),
        (("x0 > 1 => a", None, [1]), DataError, "there are no rows for them; give X, too"),
        (("x0 > 1 => a", [[1.0]], ["a", "b"]), DataError, r"y has shape \(2,\), and X 1 rows"),
        (("x0 > 1 => a", [[1.0], [2.0]], ["a", None]), DataError, "y, row 1: a class label is"),
        (("x0 > 1 => a", [[1.0], [2.0]], [1.0, np.nan]), DataError, "y, row 1: .* not be nan"),
        (("x0 > 1 => a", np.zeros((0, 1)), []), DataError, "the table is empty"),
        (("x0 > 1 => a", [1.0, 2.0]), DataError, "X must be a table"),
    ],
)
def test_bad_input_is_refused_with_a_reason(arguments, error, said):
    with pytest.raises(error, match=said):
        check_advice(*arguments)


def test_no_rules_are_nothing_to_report():
    report = check_advice(RuleSet([], FeatureSpace(["x"])), [[1.0]], ["a"])
    assert report.findings == ()
    assert report.vote is None


# The rules of the literature


def test_the_six_rules_for_pima_are_as_the_design_measured_them():
    X, y = load_pima(return_X_y=True)
    report = check_advice(PIMA, X, y)
    precision = [stats.accuracy for stats in report.stats]
    assert np.round(precision, 2).tolist() == [0.80, 0.85, 0.58, 0.69, 0.82, 0.59]
    assert [f.rules for f in report.findings if f.kind == "overlap"] == [
        (0, 5),
        (1, 5),
        (2, 4),
        (3, 4),
    ]
    # R1 and R4 are apart, as are rules of one class.
    touching = [f.rules for f in report.findings if f.kind == "touch"]
    assert touching == [(0, 2), (1, 2), (1, 3), (4, 5)]
    assert len(report.findings) == 8
    assert report.vote.coverage == 1.0
    assert 1 - report.vote.accuracy == pytest.approx(0.2435, abs=5e-5)
    both = (X["glucose"] <= 126) & (X["diabetes_pedigree"] >= 0.5) & (X["age"] >= 31)
    expected = y[both].value_counts()
    clash = report.findings[0]
    assert dict(clash.counts) == expected.to_dict()
    assert clash.region == "glucose <= 126 and diabetes_pedigree >= 0.5 and age >= 31"


# Properties

BOUND = st.integers(-3, 3).map(float)


@st.composite
def regions(draw):
    """Boxes and polyhedra over two features, with many ties among their bounds."""
    if draw(st.booleans()):
        sides = [
            sorted(draw(st.tuples(BOUND, BOUND))) if draw(st.booleans()) else (-np.inf, draw(BOUND))
            for _ in range(2)
        ]
        flags = draw(st.lists(st.booleans(), min_size=4, max_size=4))
        box = Box([s[0] for s in sides], [s[1] for s in sides], flags[:2], flags[2:])
        return Box(box.lower, box.upper) if box.is_empty else box
    k = draw(st.integers(1, 3))
    weight = st.integers(-2, 2).map(float)
    rows = [draw(st.tuples(weight, weight).filter(any).map(list)) for _ in range(k)]
    strict = draw(st.lists(st.booleans(), min_size=k, max_size=k))
    limits = draw(st.lists(BOUND, min_size=k, max_size=k))
    region = Polyhedron(rows, limits, strict)
    return Box([0.0, 0.0], [1.0, 1.0]) if region.is_empty() else region


GRID = np.stack(np.meshgrid(np.arange(-4, 4.25, 0.25), np.arange(-4, 4.25, 0.25)), -1).reshape(
    -1, 2
)
SPACE = FeatureSpace(["x", "y"])


def rows_of(region):
    flat = Polyhedron.from_box(region) if isinstance(region, Box) else region
    return flat.A, flat.b, flat.strict


def stacked(a, b):
    return [np.concatenate(parts) for parts in zip(rows_of(a), rows_of(b), strict=True)]


def has_inside(region):
    A, b, _ = rows_of(region)
    return inner_radius(A, b)[0] > 1e-6


@given(regions(), regions())
def test_a_clash_lies_in_both_premises_and_what_is_apart_has_no_common_point(a, b):
    rules = RuleSet([Rule(a, "p"), Rule(b, "q")], SPACE)
    report = check_advice(rules, GRID, np.where(GRID[:, 0] > 0, "p", "q"))
    clashes = [f for f in report.findings if f.kind in ("touch", "overlap")]
    inside = a.contains(GRID) & b.contains(GRID)
    A, limits, strict = stacked(a, b)
    if not clashes:
        assert not inside.any()
        assert is_infeasible(A, limits, strict)
        assert inner_radius(A, limits)[0] <= 1e-7
        return
    (clash,) = clashes
    region = parse_rules(f"{clash.region} => p", space=SPACE)[0].region
    assert (region.contains(GRID) == inside).all()
    assert clash.rows == inside.sum()
    if has_inside(a) and has_inside(b):
        assert (clash.kind == "overlap") == (inner_radius(A, limits)[0] > 1e-7)


@given(regions(), regions())
def test_what_is_inside_has_no_point_outside(a, b):
    rules = RuleSet([Rule(a, "p"), Rule(b, "p")], SPACE)
    inside = is_inside(a, b)
    assert PremiseGeometry(rules).insides(0, np.array([1]))[0] == inside
    outside = a.contains(GRID) & ~b.contains(GRID)
    assert not (inside and outside.any())
    found = check_advice(rules, GRID).findings
    repeated = {f.rules for f in found if f.kind in ("redundant", "duplicate")}
    assert ((0, 1) in repeated or (1, 0) in repeated) == (inside or is_inside(b, a))


@given(regions(), regions())
def test_an_intersection_is_the_points_in_both(a, b):
    both = a.contains(GRID) & b.contains(GRID)
    assert (intersection(a, b).contains(GRID) == both).all()
    assert (intersection(b, a).contains(GRID) == both).all()


@given(st.integers(0, 10_000))
def test_large_systems_are_decided_as_small_ones_are(seed):
    rng = np.random.default_rng(seed)
    A = rng.integers(-3, 4, (14, 8)).astype(float)  # more than arithmetic takes at once
    A[~A.any(axis=1), 0] = 1.0
    b = rng.integers(-3, 12, 14).astype(float)
    strict = rng.random(14) < 0.3
    if seed % 2:  # two rows that touch
        A[1], b[1] = -A[0], -b[0]
    assert has_no_point(A, b, strict) == is_infeasible(A, b, strict)


# Warnings of a fit


def framed(text, X=None, y=None):
    case = read_case(AdviceSVC(text), X, y)
    frame = Frame.around(case.columns, case.premises, case.X, scale="range", bounds="data")
    return case, FramedAdvice.within(frame, case.premises)


def test_a_fit_warns_once_about_serious_findings_at_the_line_of_the_caller():
    X = pd.DataFrame({"x": [0.0, 1.0, 2.0], "z": [0.0, 1.0, 1.0]})
    text = """
        x <= 1 => a
        x >= 0.5 => b
        x + z <= 0 and x + z >= 1 => a
        2*x >= 90 => b
        z >= 7 => b
        z >= 8 => a
    """
    case, advice = framed(text, X, ["a", "a", "b"])
    with pytest.warns(ClearmarginWarning, match="the advice deserves a look") as caught:
        warn_about(case, advice, stacklevel=1)
    (warning,) = caught
    assert warning.filename == __file__
    message = str(warning.message)
    assert "rule 1 says a and rule 2 says b where 0.5 <= x <= 1 (1 row; a: 1)" in message
    assert "no case can satisfy rule 3" in message
    assert "rule 4 is outside" in message
    assert message.count("\n- ") == 6
    assert "\n- and 4 more\n" in message  # rules 1/5, 2/6, 4/6, 5/6
    assert message.endswith("check_advice(advice, X, y) tells all")


def test_a_fit_does_not_warn_of_rules_that_touch():
    X = pd.DataFrame({"x": [0.0, 1.0, 2.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about(*framed("x <= 1 => a\nx >= 1 => b", X, ["a", "a", "b"]))
        warn_about(*framed("x <= 1 => a\nx >= 1 => b"))
        warn_about(*framed(None, X, ["a", "a", "b"]))


def test_the_rows_of_a_case_are_those_of_the_table():
    text = "colour = red and age >= 30 => b\ncolour in {blue, green} => a"
    X = pd.get_dummies(ROWS).astype(float)
    case, _ = framed(text, X, CLASSES)
    report = check_advice(text, X, CLASSES)
    covered = case_evidence(case).covers(case.rules)
    assert covered.sum(axis=0).tolist() == [stats.covered for stats in report.stats]
    columns = [encode_rule(rule, case.columns).covers(case.points) for rule in case.rules]
    assert (covered == np.stack(columns, axis=1)).all()


def test_the_serious_findings_of_a_report_are_those_that_a_fit_warns_of():
    text = "x <= 1 => a\nx >= 1 => b\nx >= 0.5 => b\nx >= 90 => a"
    report = check_advice(text, pd.DataFrame({"x": [0.0, 2.0]}), ["a", "b"])
    assert {f.kind for f in advice_warnings(report)} == {"overlap", "outside"}
    assert "touch" in {f.kind for f in report.findings}


def test_a_thousand_boxes_take_no_time_to_warn_about():
    rng = np.random.default_rng(0)
    low = rng.random((1000, 5))
    rules = [Rule(Box(a, a + 0.001), "pq"[k % 2]) for k, a in enumerate(low)]
    # Linear conditions would be a hundred thousand programs, and are passed over.
    rules += [Rule(Polyhedron([[1.0, 1, 1, 1, 1]], [k / 100]), "pq"[k % 2]) for k in range(9)]
    advice = RuleSet(rules, FeatureSpace([f"x{j}" for j in range(5)]))
    X = rng.random((50, 5)) * 1.001
    X[0], X[1] = 0.0, 1.001
    case = read_case(AdviceSVC(advice), X, np.where(rng.random(50) < 0.5, "p", "q"))
    n = len(rules)
    empty = FramedAdvice(None, (), (), np.zeros(n, dtype=bool), np.zeros(n, dtype=bool))
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about(case, empty)
    assert time.process_time() - start < 5.0


def test_rules_about_nothing_are_looked_at_like_others():
    assert not check_advice(parse_rules("true => a")).findings
    (clash,) = check_advice(parse_rules("true => a\ntrue => b")).findings
    assert "where true" in str(clash)
