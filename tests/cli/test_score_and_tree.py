"""Scorecards and trees: what they give, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from clearmargin import ScoreRules, load_model, parse_rules

pytestmark = pytest.mark.usefixtures("no_folds")

TABLE = ("patients.csv", "--target", "outcome")


def test_a_card_gives_points_to_the_class_of_interest_and_is_written_in_every_format(
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
    balanced = clearmargin("tree", *TABLE, "--drop", "smoker", "--balanced").out
    assert "SVM tree: 1 layer, 1 leaf (1 of what was left)" in balanced  # one machine suffices


def test_a_tree_is_judged_on_unseen_rows_and_its_list_may_be_cut(clearmargin, folder):
    words = ("tree", *TABLE, "--drop", "smoker", "--cv", "2", "--most", "1")
    said = clearmargin(*words).out
    assert "Trained in the same way without the rows it is judged on, it is right on " in said
    assert "  ... and " in said
    assert " more (--most, --out)" in said


BAD = [
    (
        ["score", "three.csv", "--target", "outcome"],
        "a scorecard is for two; choose one with --positive",
    ),
    (["score", *TABLE, "--out", "card.pdf"], "must end in .txt or .md or .html or .csv or .json"),
    (["score", *TABLE, "--max-cuts", "0"], "0 is not a whole number from 1"),
    (["tree", *TABLE, "--tol", "2"], "2 is not a number between 0 and 1"),
    (["tree", *TABLE, "--order", "sideways"], "invalid choice: 'sideways'"),
    (
        ["tree", *TABLE, "--balanced", "--loss", "minority"],
        "--balanced does not go with --loss minority",
    ),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=lambda value: " ".join(value[:1]))
def test_what_cannot_be_done_is_said_with_what_to_do(refused, words, message):
    refused(words, message)
