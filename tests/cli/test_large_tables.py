"""Large tables are read in blocks; what is said about them is what is said of a table that is read whole."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.multiclass import OneVsRestClassifier

from clearmargin import LPSVC, RuleSet
from clearmargin.models import PlaneModel, load_model, save_model
from clearmargin.plane_rules import sampled_rules
from clearmargin.recipes import large_tables
from clearmargin.tables import files, scanned

pytestmark = pytest.mark.usefixtures("no_folds")


def table_of(rows, labels=("well", "ill"), seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["a", "b", "c"])
    frame["n"] = rng.integers(0, 50, rows)
    score = frame["a"] - 2 * frame["b"] + 0.02 * frame["n"] + 0.3 * rng.normal(size=rows)
    frame["y"] = np.where(score > 0.5, labels[1], labels[0])
    return frame


@pytest.fixture
def write(folder):
    """Write a table and a model of it."""

    def write_table(frame, text=None):
        X = frame.drop(columns="y")
        machine = LPSVC(nu=0.01).fit(X[:400], frame["y"][:400])
        save_model(PlaneModel.from_estimator(machine, X), "m.json", overwrite=True)
        (folder / "t.csv").write_text(frame.to_csv(index=False) if text is None else text)

    return write_table


@pytest.fixture
def in_blocks(monkeypatch):
    """Take every table for a large one, and count the rows of the blocks that are read."""
    seen = []
    read = scanned.ScannedTable._read

    def remember(self):
        for part in read(self):
            seen.append(len(part.rows))
            yield part

    def switch(sample=100_000):
        monkeypatch.setattr(large_tables, "SMALL_ROWS", 0)
        monkeypatch.setattr(sampled_rules, "SAMPLE_VALUES", 3 * sample)
        monkeypatch.setattr(scanned, "TEXT_BYTES", 6_000)
        monkeypatch.setattr(scanned, "_PART_ROWS", 100)
        monkeypatch.setattr(scanned, "HELD_BYTES", 0)
        monkeypatch.setattr(scanned.ScannedTable, "_read", remember)
        return seen

    return switch


# The criterion that is found fastest.
WORDS = ("rules", "t.csv", "--target", "y", "--model", "m.json", "--criterion", "volume")


@pytest.mark.parametrize("labels", [("well", "ill"), (0, 1)])
@pytest.mark.parametrize(
    "more",
    [
        [],
        ["--quiet"],
        ["--json"],
        ["--assume-ranges", "--json"],
        ["--min-coverage", "9", "--json"],
        ["--min-coverage", "600"],
        ["--max-conditions", "2", "--max-rules", "3"],
        ["--bounds", "class", "--cut-order", "natural"],
    ],
)
def test_a_table_that_is_its_own_sample_gives_the_same_output(
    labels, more, write, in_blocks, clearmargin
):
    write(table_of(600, labels))
    whole = clearmargin(*WORDS, *more)
    seen = in_blocks()
    assert clearmargin(*WORDS, *more).out.splitlines() == whole.out.splitlines()
    # Once to look at all rows, once to draw the sample, and once to count.
    assert sum(seen) == 3 * 600
    assert len(seen) > 4


def test_the_criterion_of_every_day_gives_the_same_output(write, in_blocks, clearmargin):
    write(table_of(300))
    words = [*WORDS[:-1], "coverage", "--json"]
    whole = clearmargin(*words)
    assert in_blocks() == []
    assert clearmargin(*words) == whole


def test_classes_taken_together_give_the_same_output(folder, in_blocks, clearmargin):
    frame = table_of(600)
    frame.loc[frame["c"] > 1, "y"] = "other"
    X, y = frame.drop(columns="y"), np.where(frame["y"] == "ill", "ill", "not ill")
    model = PlaneModel.from_estimator(LPSVC(nu=0.01).fit(X, y), X, positive="ill")
    save_model(model, "m.json")
    frame.to_csv("t.csv", index=False)
    whole = clearmargin(*WORDS)
    seen = in_blocks()
    assert clearmargin(*WORDS) == whole
    assert "taken together" in whole.err
    assert seen


def test_three_classes_give_the_same_output(folder, in_blocks, clearmargin):
    frame = table_of(500)
    frame["y"] = frame["c"].gt(0.5).astype(int) + frame["a"].gt(0).astype(int)
    X = frame.drop(columns="y")
    machine = OneVsRestClassifier(LPSVC(nu=0.05)).fit(X, frame["y"])
    save_model(PlaneModel.from_estimator(machine, X), "m.json")
    frame.to_csv("t.csv", index=False)
    whole = clearmargin(*WORDS, "--json")
    seen = in_blocks()
    assert clearmargin(*WORDS, "--json") == whole
    assert seen


def test_a_report_on_a_large_table_is_refused(write, in_blocks, run):
    write(table_of(600))
    in_blocks()
    said = run(*WORDS, "--report", "r.html")
    assert said.code == 2
    assert (
        "--report: t.csv is too large for a report on all rows, which needs them in memory"
        in said.err
    )
    assert not Path("r.html").exists()


def test_saved_rules_and_models_have_the_counts_of_all_rows(write, in_blocks, clearmargin):
    write(table_of(2_000))
    in_blocks(sample=400)
    clearmargin(*WORDS, "--out", "o.json", "--save-model", "s.json")
    saved, kept = RuleSet.load("o.json"), load_model("s.json").rules
    assert [rule.stats for rule in saved] == [rule.stats for rule in kept]
    assert {rule.stats.rows for rule in saved} == {2_000}


@pytest.mark.parametrize(
    "change_text",
    [lambda text: change(text, 500, "1,2,3,4,dead"), lambda text: text + text.splitlines()[-1]],
    ids=["another class", "another row"],
)
def test_a_table_that_changes_between_the_passes_is_an_error(
    write, in_blocks, run, monkeypatch, change_text
):
    frame = table_of(600)
    write(frame)
    in_blocks()
    # Of a file that is not larger than its head only the head is looked at.
    monkeypatch.setattr(files, "HEAD_BYTES", 1_000)
    survey_first = scanned.ScannedTable.survey

    def spoil(self):
        found = survey_first(self)
        Path("t.csv").write_text(change_text(frame.to_csv(index=False)))
        return found

    monkeypatch.setattr(scanned.ScannedTable, "survey", spoil)
    said = run(*WORDS)
    assert said.code == 2
    assert "t.csv changed while it was read; try again" in said.err


def test_other_separators_and_marks_give_the_same_output(write, in_blocks, clearmargin):
    frame = table_of(700)
    write(frame, frame.to_csv(index=False, sep=";", decimal=","))
    words = [*WORDS, "--decimal", ",", "--json"]
    whole = clearmargin(*words)
    seen = in_blocks()
    assert clearmargin(*words) == whole
    assert seen


@pytest.mark.parametrize("form", ["parquet", "feather"])
@pytest.mark.parametrize("labels", [("well", "ill"), (0, 1)])
def test_stored_tables_give_the_same_output(form, labels, write, in_blocks, clearmargin):
    frame = table_of(600, labels)
    write(frame)
    getattr(frame, f"to_{form}")(f"t.{form}")
    words = ["rules", f"t.{form}", *WORDS[2:], "--json"]
    whole = clearmargin(*words)
    seen = in_blocks()
    assert clearmargin(*words) == whole
    assert seen


def test_rules_of_a_sample_are_counted_on_all_rows(write, in_blocks, clearmargin):
    frame = table_of(4_000)
    write(frame)
    in_blocks(sample=500)
    said = clearmargin(*WORDS, "--json")
    document = json.loads(said.out)
    X, y = frame.drop(columns="y"), frame["y"].to_numpy()
    rules = RuleSet.from_dict(document["rules"])
    assert (document["rows"], len(rules) > 2) == (4_000, True)
    covered = rules.covers(X)
    for k, rule in enumerate(rules):
        right = covered[:, k] & (y == rule.label)
        assert (rule.stats.rows, rule.stats.covered) == (4_000, covered[:, k].sum())
        assert (rule.stats.correct, rule.stats.agreed) == (right.sum(), rule.stats.covered)
        assert rule.stats.covered >= 4
        assert document["rules"]["rules"][k]["proof"] == "proved"
    assert "drawn from 4000" in document["notes"][0]


def test_ranges_are_those_of_all_rows(write, in_blocks, clearmargin):
    frame = table_of(4_000)
    frame.loc[1_234, "a"], frame.loc[77, "b"] = 99.5, -88.25
    write(frame)
    in_blocks(sample=200)
    said = clearmargin(*WORDS, "--assume-ranges", "--json")
    space = RuleSet.from_dict(json.loads(said.out)["rules"]).space
    assert space.upper[0] == 99.5
    assert space.lower[1] == -88.25


def change(text, row, line):
    lines = text.splitlines()
    lines[row] = line
    return "\n".join(lines) + "\n"


ODD = {
    "a missing value": "1,,2,3,ill",
    "a stray text": "1,two,2,3,ill",
    "too few values": "1,2,3",
    "too few values by one": "1,2,3,4",
    "too many values": "1,2,3,4,ill,5",
    "a number too large": "1e999,2,3,4,ill",
    "a word that pandas takes for a number": "inf,2,3,4,ill",
    "no class": "1,2,3,4,",
    "a class that stands for none": "1,2,3,4,NA",
    "a class that the model does not know": "1,2,3,4,dead",
    "a quotation mark": '1,2,3,4,"ill',
    "a zero byte": "1\0,2,3,4,ill",
    "nothing": "",
    "only separators": ",,,,",
    "blanks": " 1 , 2 ,3, 4 , ill ",
    "quotes": '"1","2","3","4","ill"',
}


@pytest.mark.parametrize("line", ODD.values(), ids=ODD)
def test_odd_lines_are_said_as_of_a_table_that_is_read_whole(line, write, in_blocks, run):
    frame = table_of(400)
    write(frame, change(frame.to_csv(index=False), 350, line))
    whole = run(*WORDS, "--json", "--max-rules", "2")
    in_blocks()
    assert run(*WORDS, "--json", "--max-rules", "2") == whole


@pytest.mark.parametrize(
    "more",
    [
        ["--drop", "a"],
        ["--drop", "zz"],
        ["--categories", "n"],
        ["--na", "7"],
        ["--nu", "1"],
        ["--separator", "xx"],
        ["--encoding", "nonsense"],
        ["--missing", "drop"],
    ],
)
def test_odd_options_are_answered_as_for_small_tables(more, write, in_blocks, run):
    write(table_of(400))
    whole = run(*WORDS, "--max-rules", "2", *more)
    in_blocks()
    assert run(*WORDS, "--max-rules", "2", *more) == whole


def test_more_than_a_hundred_thousand_rows_take_a_bounded_multiple_of_reading_them(
    write, clearmargin
):
    write(table_of(110_000))
    start = time.process_time()
    pd.read_csv("t.csv")
    reading = time.process_time() - start
    start = time.process_time()
    said = clearmargin(*WORDS, "--max-rules", "5")
    assert time.process_time() - start < 40 * reading
    assert "110000 rows" in said.out
    assert "drawn from 110000" in said.err


def test_integers_above_2_to_53_are_noted_in_large_tables_too(
    write, in_blocks, clearmargin, folder
):
    frame = table_of(600)
    write(frame)
    frame.assign(n=frame["n"] + 2**53).to_csv(folder / "t.csv", index=False)
    in_blocks()
    said = clearmargin("rules", "t.csv", "--target", "y", "--model", "m.json")
    assert "column 'n' of t.csv holds integers above 2^53" in said.err


@pytest.fixture
def predicted_in_blocks(monkeypatch):
    """Take every file for a large one, and count the rows of the blocks that are predicted."""
    seen = []
    read = scanned.ScannedTable._read

    def remember(self):
        for part in read(self):
            seen.append(len(part.rows))
            yield part

    def switch():
        monkeypatch.setattr(scanned, "TEXT_BYTES", 6_000)
        monkeypatch.setattr(scanned, "_PART_ROWS", 100)
        monkeypatch.setattr(scanned.ScannedTable, "_read", remember)
        return seen

    return switch


@pytest.mark.parametrize("file", ["t.csv", "t.parquet", "t.feather"])
def test_predictions_in_blocks_are_those_of_the_whole_table(
    file, write, predicted_in_blocks, clearmargin
):
    frame = table_of(600)
    frame["word"] = np.where(frame["n"] % 2, "odd", "even")
    write(frame.drop(columns="word"))
    frame.loc[::9, "a"], frame.loc[::13, "word"] = np.nan, None
    frame.to_csv("t.csv", index=False)
    frame.to_parquet("t.parquet")
    frame.to_feather("t.feather")
    Path("r.rules").write_text("high: a > 0.5 => ill\nword = odd and b > 0 => well\n")
    commands = [
        ["predict", file, "--model", "m.json"],
        ["predict", file, "--rules", "r.rules", "--default", "well", "--json"],
        ["predict", file, "--rules", "r.rules", "--out", "p.csv", "--force"],
    ]
    whole = [(clearmargin(*words), words) for words in commands]
    text = Path("p.csv").read_text()
    seen = predicted_in_blocks()
    for said, words in whole:
        seen.clear()
        assert clearmargin(*words) == said
        assert sum(seen) == 600
        assert len(seen) > 4
    assert Path("p.csv").read_text() == text


def test_what_is_wrong_far_below_is_said_as_of_the_whole_table(write, predicted_in_blocks, run):
    frame = table_of(600)
    write(frame)
    frame["b"] = frame["b"].astype(object)
    frame.loc[500, "b"] = "high"
    frame.to_csv("t.csv", index=False)
    Path("r.rules").write_text("b > 0 => ill")
    Path("words.rules").write_text("y > 0 => ill")
    commands = [
        ["predict", "t.csv", "--rules", "r.rules"],
        ["predict", "t.csv", "--rules", "words.rules", "--categories", "b"],
    ]
    whole = [run(*words) for words in commands]
    assert "line 502: 'high' in column 'b' is not a number" in whole[0].err
    assert "column 'y', row 1: " in whole[1].err
    predicted_in_blocks()
    assert [run(*words) for words in commands] == whole
