"""The report of a check: its text, tables and plain data."""

from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest

from clearmargin import Interval, RuleSet, RuleStats, parse_rules
from clearmargin.advice import AdviceReport, check_advice
from clearmargin.advice.advice_check import Finding, RuleVote
from clearmargin.rules import Box, FeatureSpace, Rule

X = pd.DataFrame({"bmi": [22, 24, 31, 36], "glucose": [90, 130, 100, 150]})
Y = ["well", "well", "well", "ill"]
ADVICE = "obese: bmi >= 30 => ill\nglucose <= 110 => well\nbmi >= 99 => ill"


@pytest.fixture
def report():
    return check_advice(ADVICE, X, Y)


def test_the_text_has_rules_vote_and_findings(report):
    assert str(report).splitlines() == [
        "3 rules: 1 error, 2 warnings, 1 note",
        "  rule    covers  right",
        "  obese   2 of 4   50 %  bmi >= 30 => ill",
        "  rule 2  2 of 4  100 %  glucose <= 110 => well",
        "  rule 3  0 of 4         bmi >= 99 => ill",
        "The rules alone speak of 3 of 4 rows, and their vote is right on 100 % of them. "
        "More than one rule: 1 row; rules of different classes: 1; ties: 1.",
        "error: rule 1 (obese) says ill and rule 2 says well where bmi >= 30 and glucose <= 110 (1 row; well: 1)",
        "warning: rule 2 says well and rule 3 says ill where bmi >= 99 and glucose <= 110 (no row is there); "
        "a case there would get both classes",
        "warning: rule 3 is outside the range of the data: it asks for bmi >= 99, and there is bmi from 22 to 36",
        "note: rule 3 says nothing that rule 1 (obese) does not say: its premise is inside",
    ]
    assert repr(report) == "<AdviceReport of 3 rules: 1 error, 2 warnings, 1 note>"


def test_without_data_there_is_no_table():
    text = str(check_advice(ADVICE))
    assert "covers" not in text
    assert "alone" not in text
    assert str(check_advice("x >= 3 => a")) == "1 rule: nothing to report"


def test_findings_are_sorted_by_severity(report):
    assert [f.severity for f in report.findings] == ["error", "warning", "warning", "note"]
    assert (len(report.errors), len(report.warnings), len(report.notes)) == (1, 2, 1)
    assert not report.ok


def test_the_frame_has_one_row_a_finding(report):
    frame = report.to_frame()
    assert frame["kind"].tolist() == ["overlap", "overlap", "outside", "redundant"]
    assert frame["rules"].tolist() == [[0, 1], [1, 2], [2], [2, 0]]
    assert frame["names"][0] == ["obese", None]
    assert frame["rows"].tolist() == [1, 0, pd.NA, pd.NA]
    assert len(check_advice("x >= 3 => a").to_frame()) == 0
    assert report.rules.to_frame()["correct"].tolist() == [1, 2, 0]


def test_the_plain_data_are_json(report):
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert data["ok"] is False
    assert data["rules"][0] == {
        "name": "obese",
        "premise": "bmi >= 30",
        "class": "ill",
        "weight": 1.0,
        "rows": 4,
        "covered": 2,
        "correct": 1,
        "coverage": 0.5,
        "accuracy": 0.5,
    }
    assert data["rules"][2]["accuracy"] is None
    first = data["findings"][0]
    assert first["region"] == "bmi >= 30 and glucose <= 110"
    assert first["counts"] == [{"class": "ill", "rows": 0}, {"class": "well", "rows": 1}]
    assert data["vote"]["ties"] == 1
    assert json.loads(json.dumps(check_advice(ADVICE).to_dict()))["vote"] is None


def test_labels_of_numpy_are_plain_in_json():
    plain = check_advice("x0 >= 1 => 1\nx0 >= 0 => 0", [[1.0], [0.0]], np.array([1, 0]))
    assert '"class": 1' in json.dumps(plain.to_dict())


def test_names_cannot_become_markup():
    evil = "<script>alert('x')</script>"
    space = FeatureSpace([evil, "colour"], categories={"colour": [evil, "b"]})
    rules = RuleSet(
        [
            Rule(Box.from_intervals({0: Interval(0, 1)}, 2, {1: [0]}), evil, name=evil),
            Rule(Box.from_intervals({0: Interval(0, 2)}, 2), "q", name="a\u202eb"),
            Rule(Box.from_intervals({0: Interval(50, 60)}, 2), "r"),
        ],
        space,
    )
    table = pd.DataFrame({evil: [0.0, 1.5], "colour": [evil, "b"]})
    for given in (check_advice(rules, table, ["q", evil]), check_advice(rules, X, Y)):
        html = given._repr_html_()
        assert "<script" not in html
        assert "&lt;script" in html
        assert html.count("<table") == html.count("</table>") == 2
        assert "\u202e" not in str(given.findings)
        assert "\u202e" not in html
    assert check_advice("x >= 3 => a")._repr_html_().count("<table") == 1


def test_a_report_never_changes(report):
    with pytest.raises(FrozenInstanceError):
        report.findings = ()
    assert pickle.loads(pickle.dumps(report)) == report
    assert check_advice(ADVICE, X, Y) == report
    assert hash(report) == hash(check_advice(ADVICE, X, Y))


def test_a_long_report_is_cut_for_the_screen():
    rules = parse_rules("\n".join(f"x >= {k} => {'ab'[k % 2]}" for k in range(20)))
    report = check_advice(rules)
    assert len(report.errors) == 100
    assert str(report).endswith(f"... and {len(report.findings) - 40} more; see to_frame()")
    assert len(report.to_frame()) == len(report.findings)


def test_a_vote_and_a_finding_stand_for_themselves():
    vote = RuleVote(RuleStats(5, 4), overlaps=1, clashes=0, ties=0)
    assert str(vote) == (
        "The rules alone speak of 4 of 5 rows. "
        "More than one rule: 1 row; rules of different classes: 0; ties: 0."
    )
    assert vote.to_dict()["accuracy"] is None
    finding = Finding("empty", "error", (0,), (None,), "nothing is left")
    assert str(finding) == "error: nothing is left"
    assert finding.rows is None
    assert AdviceReport(parse_rules("x >= 3 => a"), (finding,)).ok is False
