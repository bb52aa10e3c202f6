"""The cheapest change of a case: what is found, and what is refused."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.usefixtures("no_folds")

TABLE = ("patients.csv", "--target", "outcome")
CHANGE = ("recourse", *TABLE, "--nu", "1", "--row", "20")


def test_the_change_that_is_found_changes_the_answer(clearmargin, folder):
    words = (
        *CHANGE,
        "--actionable",
        "age",
        "--actionable",
        "bmi",
        "--save-model",
        "m.json",
        "--json",
    )
    (way,) = json.loads(clearmargin(*words).out)["recourse"]
    assert way["feasible"]
    row = dict(zip(("age", "smoker", "bmi"), (59, "yes", 33.3), strict=True))
    for change in way["changes"]:
        row[change["feature"]] = change["after"]
    (folder / "changed.csv").write_text(
        "age,smoker,bmi\n" + ",".join(map(str, row.values())) + "\n"
    )
    said = clearmargin("predict", "changed.csv", "--model", "m.json", "--json").out
    assert json.loads(said)["predictions"][0]["class"] == "well"


def test_no_other_way_is_asked_for_by_the_default_that_can_be_typed(clearmargin, folder):
    words = (*CHANGE, "--actionable", "age", "--actionable", "bmi", "--json")
    assert clearmargin(*words, "--alternatives", "0").out == clearmargin(*words).out


BAD = [
    ([*CHANGE], "required: --actionable"),
    (
        [*CHANGE, "--actionable", "age", "--alternatives", "-1"],
        "--alternatives: -1 is not a whole number from 0",
    ),
    (
        [*CHANGE, "--actionable", "agee"],
        "--actionable: 'agee' is no feature of the model; did you mean 'age'?",
    ),
    ([*CHANGE, "--actionable", "age=up..down"], "--actionable age=up..down: 'up' is not a number"),
    (
        [*CHANGE, "--actionable", "age", "--cost", "age"],
        "write what it costs behind it, such as age=2.5",
    ),
    (
        [*CHANGE, "--actionable", "age", "--cost", "age=much"],
        "--cost age=much: 'much' is not a number",
    ),
    (
        [*CHANGE, "--actionable", "age", "--goal", "wel"],
        "--goal: 'wel' is no class of the model; did you mean 'well'?",
    ),
    (
        [*CHANGE, "--actionable", "age", "--goal", "rank:x"],
        "write a whole number behind it, such as rank:10",
    ),
    (
        ["recourse", *TABLE, "--row", "99", "--actionable", "age"],
        "--row 99: patients.csv has 24 rows",
    ),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=lambda value: " ".join(value[:1]))
def test_what_cannot_be_done_is_said_with_what_to_do(refused, words, message):
    refused(words, message)
