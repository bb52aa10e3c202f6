"""Training by name, scorecards, trees, recourse, comparisons: what they give, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clearmargin import ScoreRules, load_model, parse_rules
from clearmargin.compare import check_drift, compare_rules

pytestmark = pytest.mark.usefixtures("no_folds")

TABLE = ("patients.csv", "--target", "outcome")
CHANGE = ("recourse", *TABLE, "--nu", "1", "--row", "20")


@pytest.mark.parametrize(
    ("words", "machine"),
    [
        (["--nu", "1"], "LPSVC"),
        (["--machine", "proximal"], "ProximalSVC"),
        (["--machine", "advice", "--advice", "advice.rules"], "AdviceSVC"),
        (["--machine", "advice-blend", "--advice", "advice.rules"], "AdviceBlendSVC"),
    ],
)
def test_a_machine_is_trained_by_its_name_and_saved(clearmargin, folder, words, machine):
    said = json.loads(clearmargin("train", *TABLE, *words, "--out", "m.json", "--json").out)
    assert said["model"]["trained_by"] == machine
    model = load_model("m.json")
    assert model.facts["trained_by"] == machine
    predicted = clearmargin("predict", "patients.csv", "--model", "m.json", "--json").out
    right = [row["class"] for row in json.loads(predicted)["predictions"]]
    assert np.mean(np.array(right) == ["well"] * 12 + ["ill"] * 12) == said["model"]["accuracy"]


def test_a_card_gives_points_to_the_class_of_interest_and_is_written_in_every_form(
    clearmargin, folder
):
    shown = clearmargin("score", *TABLE, "--positive", "ill", "--max-cuts", "3", "--quiet").out
    assert shown.startswith("ill if the points sum to ")
    for ending in ("txt", "md", "html", "csv", "json"):
        clearmargin("score", *TABLE, "--max-cuts", "3", "--quiet", "--out", f"card.{ending}")
        assert "age" in Path(f"card.{ending}").read_text()
    clearmargin("train", *TABLE, "--nu", "1", "--out", "m.json", "--quiet")
    model = load_model("m.json")
    said = json.loads(clearmargin("score", *TABLE, "--model", "m.json", "--json").out)
    assert said["machine"] == "LPSVC"
    assert said["fidelity"] > 0.9
    X = pd.read_csv("patients.csv")[list(model.space.names)]
    by_hand = ScoreRules(model).fit(X, ["well"] * 12 + ["ill"] * 12)
    assert said["card"] == by_hand.scorecard_.to_dict()


def test_a_tree_is_drawn_with_its_rules(clearmargin, folder):
    said = clearmargin("tree", *TABLE, "--drop", "smoker", "--out", "t.rules").out
    assert "SVM tree: " in said
    assert "rules that predict what the tree predicts on" in said
    assert len(parse_rules(Path("t.rules").read_text())) >= 2


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


def test_rules_and_report_are_written_in_one_go(clearmargin, folder):
    said = clearmargin("rules", *TABLE, "--nu", "1", "--out", "r.rules", "--report", "r.html").out
    assert "The report is in r.html" in said
    assert "r.rules" in said
    assert "clearmargin rules patients.csv" in Path("r.html").read_text(encoding="utf-8")


def test_a_comparison_is_that_of_the_library(clearmargin, folder):
    clearmargin("rules", *TABLE, "--nu", "1", "--out", "old.json", "--quiet")
    (folder / "new.rules").write_text("bmi >= 29 => ill\nbmi < 28 => well\n")
    rows = (folder / "patients.csv").read_text().splitlines()
    (folder / "later.csv").write_text("\n".join([*rows[:1], *rows[5:15]]))
    words = ("compare", "old.json", "new.rules", "--data", "later.csv", "--target", "outcome")
    said = json.loads(clearmargin(*words, "--json").out)
    from clearmargin import RuleSet

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
    (["train", *TABLE], "required: --out"),
    (["train", *TABLE, "--out", "m.txt"], "must end in .json"),
    (["train", *TABLE, "--machine", "forest", "--out", "m.json"], "invalid choice: 'forest'"),
    (
        ["train", *TABLE, "--machine", "advice", "--out", "m.json"],
        "needs rules, too: --advice expert.rules",
    ),
    (
        ["train", *TABLE, "--advice", "advice.rules", "--out", "m.json"],
        "--advice is for --machine advice",
    ),
    (["train", *TABLE, "--mu", "2", "--out", "m.json"], "leave out --mu"),
    (
        ["train", *TABLE, "--machine", "proximal", "--max-features", "2", "--out", "m.json"],
        "leave out --max-features",
    ),
    (
        ["score", "three.csv", "--target", "outcome"],
        "a scorecard is for two; choose one with --positive",
    ),
    (["score", *TABLE, "--out", "card.pdf"], "must end in .txt or .md or .html or .csv or .json"),
    (["score", *TABLE, "--max-cuts", "0"], "0 is not a whole number from 1"),
    (["tree", *TABLE, "--tol", "2"], "2 is not a number between 0 and 1"),
    (["tree", *TABLE, "--order", "sideways"], "invalid choice: 'sideways'"),
    ([*CHANGE], "required: --actionable"),
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
    (["completion", "tcsh"], "invalid choice: 'tcsh'"),
    (["export", "advice.rules", "--to", "sql", "--dialect", "mysq"], "did you mean 'mysql'?"),
    (["rules", *TABLE, "--report", "r.pdf"], "must end in .html"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=lambda value: " ".join(value[:1]))
def test_what_cannot_be_done_is_said_with_what_to_do(run, folder, words, message):
    three = "".join(f"{k},{'abc'[k % 3]}\n" for k in range(12))
    (folder / "three.csv").write_text("age,outcome\n" + three)
    said = run(*words)
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err
    assert not (folder / "m.json").exists()
