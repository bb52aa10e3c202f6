"""What a check of advice finds, by hand and on Pima; names it cannot find; and what a fit warns of in its advice."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd
import pytest

from clearmargin import Box, Domain, FeatureSpace, Polyhedron, Rule, RuleSet, parse_rules
from clearmargin.advice import AdviceSVC, check_advice
from clearmargin.advice.advice_check import advice_warnings, case_evidence, warn_about
from clearmargin.advice.advice_reading import encode_rule, read_case
from clearmargin.advice.train import Frame, FramedAdvice
from clearmargin.datasets import load_pima, load_wbc
from clearmargin.exceptions import ClearmarginWarning, DataError, InvalidValueError, RuleSyntaxError

from .check_cases import CLASSES, ROWS, only

PIMA = """
R1: glucose <= 126 => tested_negative
R2: 126 <= glucose <= 140 and bmi <= 30 => tested_negative
R3: 126 <= glucose <= 140 and bmi >= 30 => tested_positive
R4: glucose >= 140 => tested_positive
R5: diabetes_pedigree <= 0.5 and age <= 31 => tested_negative
R6: diabetes_pedigree >= 0.5 and age >= 31 => tested_positive
"""


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


def test_no_rules_are_nothing_to_report():
    report = check_advice(RuleSet([], FeatureSpace(["x"])), [[1.0]], ["a"])
    assert report.findings == ()
    assert report.vote is None


def test_rules_that_share_rows_contradict_each_other_however_thin_what_they_share():
    X, y = load_wbc(return_X_y=True)
    advice = """
    uniformity_of_cell_size <= 3 and bare_nuclei <= 3 => benign
    uniformity_of_cell_size >= 3 => malignant
    """
    report = check_advice(advice, X, y)
    (found,) = report.errors
    assert not report.ok
    assert found.kind == "overlap"
    assert found.rows == 30
    # Without rows, or with none there, nothing contradicts anything yet.
    assert check_advice(advice).ok
    assert check_advice(advice, X[X["uniformity_of_cell_size"] != 3]).ok


def test_rules_that_overlap_where_no_row_is_get_a_warning():
    X = pd.DataFrame({"age": [20.0, 25.0, 60.0, 70.0]})
    report = check_advice("age >= 30 => b\nage <= 50 => a", X, list("aabb"))
    (found,) = report.warnings
    assert (found.kind, found.rows, report.ok) == ("overlap", 0, True)
    assert found.message.endswith("(no row is there); a case there would get both classes")


def test_rules_do_not_overlap_where_no_case_can_be():
    declared = "feature n: integer in [0, 9]\n"
    assert check_advice(f"{declared}n >= 12 => a\nn >= 11 => b").errors == ()
    assert only(check_advice(f"{declared}n <= 3 => a\nn >= 3 => b"), "overlap").severity == "error"
    parted = check_advice(f"{declared}feature x\nn + x <= 30 and n >= 10 => a\nn + x >= 0 => b")
    assert "overlap" not in {f.kind for f in parted.findings}


# The rules of the literature


def test_the_six_rules_for_pima_are_as_the_design_measured_them():
    X, y = load_pima(return_X_y=True)
    report = check_advice(PIMA, X, y)
    precision = [stats.accuracy for stats in report.stats]
    assert np.round(precision, 2).tolist() == [0.80, 0.85, 0.58, 0.69, 0.82, 0.59]
    # R1 and R4 are apart, as are rules of one class. Four pairs share nothing but a boundary, two of them rows on it.
    overlapping = [f.rules for f in report.findings if f.kind == "overlap"]
    assert overlapping == [(0, 2), (0, 5), (1, 3), (1, 5), (2, 4), (3, 4)]
    covers = report.rules.covers(X)
    assert all(
        f.rows == (covers[:, f.rules[0]] & covers[:, f.rules[1]]).sum() for f in report.errors
    )
    assert [f.rules for f in report.findings if f.kind == "touch"] == [(1, 2), (4, 5)]
    assert len(report.findings) == 8
    assert report.vote.coverage == 1.0
    assert 1 - report.vote.accuracy == pytest.approx(0.2435, abs=5e-5)
    both = (X["glucose"] <= 126) & (X["diabetes_pedigree"] >= 0.5) & (X["age"] >= 31)
    expected = y[both].value_counts()
    clash = report.findings[1]
    assert dict(clash.counts) == expected.to_dict()
    assert clash.region == "glucose <= 126 and diabetes_pedigree >= 0.5 and age >= 31"


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
        (
            (3,),
            InvalidValueError,
            "advice must be a RuleSet, a text or the path of a file, not int",
        ),
        (("none.rules",), InvalidValueError, "there is no file 'none.rules'"),
        (("x0 > 1 => a", None, [1]), DataError, "there are no rows for them; give X, too"),
        (("x0 > 1 => a", [[1.0]], ["a", "b"]), DataError, r"y has shape \(2,\), and X 1 rows"),
        (("x0 > 1 => a", [[1.0], [2.0]], ["a", None]), DataError, "y, row 2: a class label is"),
        (("x0 > 1 => a", [[1.0], [2.0]], [1.0, np.nan]), DataError, "y, row 2: .* not be nan"),
        (("x0 > 1 => a", np.zeros((0, 1)), []), DataError, "the table is empty"),
        (("x0 > 1 => a", [1.0, 2.0]), DataError, "X must be a table"),
    ],
)
def test_bad_input_is_refused_with_a_reason(arguments, error, said):
    with pytest.raises(error, match=said):
        check_advice(*arguments)


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


def test_a_fit_warns_of_rules_that_touch_only_if_they_share_rows():
    X = pd.DataFrame({"x": [0.0, 0.9, 2.0]})
    on_it = X.assign(x=[0.0, 1.0, 2.0])
    with pytest.warns(ClearmarginWarning, match="rule 1 says a and rule 2 says b where x = 1"):
        warn_about(*framed("x <= 1 => a\nx >= 1 => b", on_it, ["a", "a", "b"]))
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


def test_premises_that_contradict_declared_relations_are_empty_and_do_not_clash():
    pressure = Domain(
        FeatureSpace(["diastolic", "systolic", "age"]), relations="diastolic <= systolic"
    )
    rules = parse_rules(
        "diastolic >= 120 and systolic <= 100 => ill\n"
        "diastolic >= 90 => ill\n"
        "systolic <= 80 => well\n"
        "diastolic - systolic >= 5 and diastolic + systolic >= 9 => ill"
    )
    bare = check_advice(rules)
    assert {finding.kind for finding in bare.findings} >= {"overlap"}
    found = check_advice(rules, domain=pressure)
    assert [finding.rules for finding in found.findings if finding.kind == "empty"] == [(0,), (3,)]
    assert "it contradicts the declared relation 'diastolic - systolic <= 0'" in str(found)
    assert "overlap" not in {finding.kind for finding in found.findings}
