"""Comparisons of old and new rules: what they say, and what they refuse."""

from __future__ import annotations

import json

import pytest

from clearmargin import RuleSet
from clearmargin.compare import check_drift, compare_rules

pytestmark = pytest.mark.usefixtures("no_folds")

TABLE = ("patients.csv", "--target", "outcome")


def test_a_comparison_is_that_of_the_library(clearmargin, folder):
    clearmargin("rules", *TABLE, "--nu", "1", "--out", "old.json", "--quiet")
    (folder / "new.rules").write_text("bmi >= 29 => ill\nbmi < 28 => well\n")
    rows = (folder / "patients.csv").read_text().splitlines()
    (folder / "later.csv").write_text("\n".join([*rows[:1], *rows[5:15]]))
    words = ("compare", "old.json", "new.rules", "--data", "later.csv", "--target", "outcome")
    said = json.loads(clearmargin(*words, "--json").out)
    old, new = RuleSet.load("old.json"), RuleSet.load("new.rules")
    assert said["difference"]["decisions"] == compare_rules(old, new).decisions
    cells = [line.split(",") for line in rows[5:15]]
    table = {
        "age": [int(c[1]) for c in cells],
        "smoker": [c[2] for c in cells],
        "bmi": [float(c[3]) for c in cells],
    }
    drift = check_drift(old, {name: table[name] for name in old.space.names}, [c[4] for c in cells])
    assert [rule["coverage"]["count"] for rule in said["drift"]["rules"]] == [
        rule.coverage.count for rule in drift.rules
    ]
    assert said["answers"]["rows"] == 10


BAD = [
    (["compare", "advice.rules"], "a new table by --data FILE"),
    (["compare", "advice.rules", "missing.rules"], "missing.rules: no such file"),
    (
        ["compare", "advice.rules", "advice.rules", "--target", "y"],
        "name the table, too: --data FILE",
    ),
    (["compare", "advice.rules", "--data", "patients.csv", "--target", "y"], "has no column 'y'"),
    (
        ["compare", "advice.rules", "--data", "three.csv", "--confidence", "1"],
        "not a number between 0 and 1",
    ),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=lambda value: " ".join(value[:1]))
def test_what_cannot_be_done_is_said_with_what_to_do(refused, words, message):
    refused(words, message)
