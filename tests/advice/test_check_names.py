"""Names, classes and files that a check of advice cannot find, and other bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from clearmargin import parse_rules
from clearmargin.advice import check_advice
from clearmargin.exceptions import DataError, InvalidValueError, RuleSyntaxError

from .check_cases import CLASSES, ROWS, only


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
        (("x0 > 1 => a", [[1.0], [2.0]], ["a", None]), DataError, "y, row 2: a class label is"),
        (("x0 > 1 => a", [[1.0], [2.0]], [1.0, np.nan]), DataError, "y, row 2: .* not be nan"),
        (("x0 > 1 => a", np.zeros((0, 1)), []), DataError, "the table is empty"),
        (("x0 > 1 => a", [1.0, 2.0]), DataError, "X must be a table"),
    ],
)
def test_bad_input_is_refused_with_a_reason(arguments, error, said):
    with pytest.raises(error, match=said):
        check_advice(*arguments)
