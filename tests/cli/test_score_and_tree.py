"""Scorecards and trees: what they give, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clearmargin import CertifiedScorecard, ScoreRules, load_model, parse_rules

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


def test_a_card_with_proof_says_what_it_proves_and_is_written_in_every_format(clearmargin, folder):
    words = ("score", *TABLE, "--positive", "ill", "--certify", "--max-cuts", "6", "--cv", "2")
    shown = clearmargin(*words).out
    assert "The card proves the class of " in shown
    assert " of rows not seen in training. Else its machine (LPSVCCV) decides" in shown
    assert 'ill is proved if the points "at least" sum to ' in shown
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.integers(0, 99, size=(60, 3)), columns=["a", "b", "c"])
    wide.assign(y=wide["a"] + wide["b"] - wide["c"] > 49).to_csv("wide.csv", index=False)
    clearmargin("train", *TABLE, "--nu", "1", "--out", "m.json", "--quiet")
    model = load_model("m.json")
    with_model = ("score", *TABLE, "--model", "m.json", "--certify", "--max-cuts", "6")
    for ending in ("txt", "md", "html", "csv", "json", "sql", "py", "pmml"):
        clearmargin(*with_model, "--quiet", "--out", f"card.{ending}")
        assert "age" in Path(f"card.{ending}").read_text()
    clearmargin(*with_model, "--quiet", "--out", "card.xlsx")
    said = json.loads(clearmargin(*with_model, "--json").out)
    X = pd.read_csv("patients.csv")[list(model.space.names)]
    by_hand = ScoreRules(model, max_rules=6, certify=True).fit(X, ["well"] * 12 + ["ill"] * 12)
    assert said["card"] == by_hand.scorecard_.to_dict()
    assert CertifiedScorecard.from_dict(said["card"]) == by_hand.scorecard_
    assert said["proved"] == by_hand.proved_
    assert {"feature", "condition", "at_least", "at_most"} == set(said["lines"][0])
    clearmargin("train", "wide.csv", "--target", "y", "--nu", "9", "--out", "w.json", "--quiet")
    words = ("score", "wide.csv", "--target", "y", "--model", "w.json", "--certify")
    distilled = clearmargin(*words, "--distil", "1").out
    assert "The card is that of a plane distilled to 1 feature, which agrees with the" in distilled


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
    (["score", *TABLE, "--out", "card.sql"], "must end in .txt or .md or .html or .csv or .json"),
    (["score", *TABLE, "--distil", "2"], "--distil is for cards with proof; add --certify"),
    (["score", *TABLE, "--certify", "--max-points", "2"], "--max-points does not go with"),
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
