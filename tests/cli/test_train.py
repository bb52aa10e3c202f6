"""Training by the name of a machine: what it gives, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from clearmargin import load_model

pytestmark = pytest.mark.usefixtures("no_folds")

TABLE = ("patients.csv", "--target", "outcome")


@pytest.mark.parametrize(
    ("words", "machine"),
    [
        (["--nu", "1"], "LPSVC"),
        (["--machine", "proximal"], "ProximalSVC"),
        (["--machine", "advice", "--advice", "advice.rules"], "AdviceSVCCV"),
        (["--machine", "advice", "--advice", "advice.rules", "--mu", "inf"], "AdviceSVC"),
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
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=lambda value: " ".join(value[:1]))
def test_what_cannot_be_done_is_said_with_what_to_do(refused, words, message):
    refused(words, message)
