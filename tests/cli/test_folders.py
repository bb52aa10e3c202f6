"""Commands on folders of files, and on files too large to be held: planes of all rows, and counts of all rows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.cli.test_large_tables import table_of

from clearmargin import LPSVC, RuleSet, progress
from clearmargin.models import load_model
from clearmargin.recipes import large_tables
from clearmargin.tables import scanned


@pytest.fixture
def table(folder, monkeypatch):
    """A folder of three files; what is drawn is a part of the rows."""
    frame = table_of(900)
    Path("parts").mkdir()
    for k in range(3):
        frame[300 * k : 300 * (k + 1)].to_parquet(f"parts/{k}.parquet")
    monkeypatch.setattr(large_tables, "_FEWEST", 200)
    monkeypatch.setattr(large_tables, "SAMPLE_ROWS", 300)
    monkeypatch.setattr(large_tables, "PAGE_ROWS", 150)
    monkeypatch.setattr(scanned, "_PART_ROWS", 128)
    monkeypatch.setattr(scanned, "HELD_BYTES", 0)
    return frame


def saved(name):
    model = load_model(name)
    return model.coef_.tolist(), model.intercept_.tolist(), model.facts


def test_a_plane_with_a_given_cost_is_that_of_all_rows(table, clearmargin, monkeypatch):
    words = ["train", "parts", "--target", "y", "--nu", "0.05", "--out", "m.json"]
    said = clearmargin(*words)
    assert "900 rows, 4 features" in said.out
    assert "trained on all 900 rows" in said.err
    document = json.loads(clearmargin(*words, "--force", "--json").out)
    coef, _, facts = saved("m.json")
    X, y = table.drop(columns="y"), table["y"]
    model = load_model("m.json")
    assert document["model"]["accuracy"] == (model.predict(X) == y).mean()
    assert facts["rows"] == 900
    used = [name for name, w in zip(X, coef[0], strict=True) if w]
    # The scale is that of the sample, so that the plane is nearly that of memory.
    whole = make_pipeline(StandardScaler(), LPSVC(0.05)).fit(X[used], y)
    assert (model.predict(X) == whole.predict(X[used])).mean() > 0.99


def test_the_cost_is_chosen_on_a_sample_and_judged_on_the_other_rows(table, clearmargin):
    said = clearmargin("train", "parts/*.parquet", "--target", "y", "--out", "m.json", "--json")
    document = json.loads(said.out)
    judged = document["model"]["cross_validation"]
    n_drawn = int(judged.split()[0])
    assert judged == f"{n_drawn} rows to train on, {900 - n_drawn} others to judge"
    assert 0.8 < document["model"]["cross_validated_accuracy"] <= 1
    assert document["rows"] == 900


def test_files_and_blocks_do_not_change_the_plane(table, clearmargin, monkeypatch):
    words = ["train", "parts", "--target", "y", "--out", "m.json", "--force"]
    clearmargin(*words)
    first = saved("m.json")
    monkeypatch.setattr(scanned, "_PART_ROWS", 41)
    Path("one").mkdir()
    table.to_csv("one/t.csv", index=False)
    monkeypatch.setattr(large_tables, "SMALL_ROWS", 0)
    clearmargin(words[0], "one", *words[2:])
    assert saved("m.json") == first


@pytest.mark.parametrize("more", [[], ["--model", "m.json"], ["--criterion", "volume"]])
def test_rules_are_counted_on_all_rows(table, more, clearmargin):
    clearmargin("train", "parts", "--target", "y", "--out", "m.json")
    said = clearmargin("rules", "parts", "--target", "y", *more, "--out", "r.json")
    rules, X = RuleSet.load("r.json"), table.drop(columns="y")
    assert len(rules)
    scores = rules.score(X, table["y"])
    found = [(rule.stats.rows, rule.stats.covered, rule.stats.correct) for rule in rules]
    assert found == [(each.rows, each.covered, each.correct) for each in scores.rules]
    assert "900 rows" in said.out


def test_predictions_of_a_folder_are_those_of_its_rows(table, clearmargin):
    clearmargin("train", "parts", "--target", "y", "--out", "m.json")
    clearmargin("predict", "parts", "--model", "m.json", "--out", "p.csv")
    predicted = pd.read_csv("p.csv")
    assert (
        predicted["class"].tolist()
        == load_model("m.json").predict(table.drop(columns="y")).tolist()
    )
    assert predicted["row"].tolist() == list(range(1, 901))


def test_a_ranking_of_a_sample_names_the_rows_of_the_table(table, clearmargin):
    said = clearmargin("rank", "parts", "--target", "y", "--cv", "none", "--json")
    rows = json.loads(said.out)["top_rows"]
    assert max(rows) > 350
    assert "drawn from 900" in said.err


def test_a_report_on_a_folder_is_that_of_a_sample(table, clearmargin):
    words = ["--target", "y", "--method", "plane", "--nu", "0.1", "--out", "r.html"]
    said = clearmargin("report", "parts", *words, "--cv", "none")
    assert "drawn from 900" in said.err
    assert Path("r.html").exists()


def test_three_classes_and_categories_and_missing_values(folder, clearmargin, monkeypatch):
    monkeypatch.setattr(large_tables, "_FEWEST", 150)
    frame = table_of(600)
    frame["kind"] = np.where(frame["n"] % 3 == 0, "red", "blue")
    frame["y"] = np.where(frame["c"] > 0.8, "other", frame["y"])
    frame.loc[::20, "a"] = np.nan
    Path("parts").mkdir()
    frame[:350].to_feather("parts/0.feather")
    frame[350:].reset_index(drop=True).to_feather("parts/1.feather")
    words = ["train", "parts", "--target", "y", "--out", "m.json", "--force", "--nu", "0.1"]
    for missing in ("drop", "impute"):
        clearmargin(*words, "--missing", missing)
        model = load_model("m.json")
        known = frame.dropna() if missing == "drop" else frame
        assert (model.predict(known.drop(columns="y")) == known["y"]).mean() > 0.8
        rules = ["rules", "parts", "--target", "y", "--model", "m.json", "--missing", missing]
        clearmargin(*rules, "--out", "r.json", "--force")
        stats = [rule.stats for rule in RuleSet.load("r.json")]
        assert {each.rows for each in stats} == {len(known)}


def test_a_missing_value_is_refused_with_a_word_on_what_to_do(table, run):
    table.loc[17, "a"] = np.nan
    table.to_parquet("parts/3.parquet")
    said = run("train", "parts", "--target", "y", "--out", "m.json")
    assert said.code == 2
    assert "lack a value" in said.err
    assert "--missing drop" in said.err


def test_every_pass_is_told_to_observers(table, clearmargin):
    steps = []
    with progress.observe(lambda step: steps.append(str(step))):
        clearmargin("train", "parts", "--target", "y", "--nu", "0.05", "--out", "m.json")
    passes = [step for step in steps if re.match(r"reading parts \(3 files\), pass \d+ 1/", step)]
    assert len(passes) > 4
