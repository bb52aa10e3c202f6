"""The tables that judge have no part in tuning, and what is said of them follows from the figures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.reproduce import strangers
from benchmarks.reproduce.strangers import (
    BEGIN,
    DEFAULT,
    END,
    MACHINES,
    difference,
    measure,
    passage,
    put,
)
from benchmarks.strangers import JUDGING, MOST_ROWS, TUNING, Stranger, clean

from clearmargin.lp_svm import lpsvccv as default_machine


def test_no_table_is_in_both_lists():
    assert not {stranger.name for stranger in JUDGING} & set(TUNING)
    assert len({stranger.name for stranger in JUDGING}) == len(JUDGING) >= 10


def test_columns_that_give_the_class_away_are_dropped_and_large_tables_are_sampled():
    rng = np.random.default_rng(0)
    rows = 2 * MOST_ROWS
    frame = pd.DataFrame({"a": rng.normal(size=rows), "code": rng.integers(0, 3, size=rows)})
    frame["flag"] = rng.random(rows) < 0.5
    frame["time"], frame["class"] = 1.0, np.where(np.arange(rows) < rows // 10, "rare", "usual")
    frame.loc[0, "code"] = np.nan
    X, y = clean(frame, "class", ["time"], ["code"])
    assert X.columns.tolist() == ["a", "code", "flag"]
    assert X["code"].dtype == object
    assert set(X["flag"]) == {"True", "False"}
    assert (len(X), (y == "rare").sum()) == (MOST_ROWS, MOST_ROWS // 10)


def small():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=60), "b": np.where(rng.random(60) < 0.5, "x", "y")})
    X.loc[3, "a"], X.loc[5, "b"] = np.nan, np.nan
    return X, np.where(rng.normal(size=60) + X["a"].fillna(0) > 0, "yes", "no")


def test_machines_are_measured_on_the_same_folds(monkeypatch):
    monkeypatch.setattr(strangers, "FOLDS", 2)
    monkeypatch.setattr(default_machine, "FOLDS", 2)
    monkeypatch.delitem(MACHINES, "plane without a cap")
    found = measure(Stranger("small", "here", "missing values", small))
    assert list(found) == list(MACHINES)
    for scores in found.values():
        assert {len(values) for values in scores.values()} == {2}
        assert all(0 <= score <= 100 for score in scores["accuracy"])
    assert max(found[DEFAULT]["features"]) <= 8


def test_differences_are_means_over_tables_with_their_standard_error():
    def one(default, other):
        parts = {"balanced accuracy": [50.0], "features": [1.0], "doubts": [0.0]}
        scores = {name: {"accuracy": [other], **parts} for name in MACHINES}
        return scores | {DEFAULT: {"accuracy": [default], **parts}}

    names = [stranger.name for stranger in JUDGING[:3]]
    measured = dict(zip(names, [one(80.0, 81.0), one(70.0, 72.0), one(90.0, 93.0)], strict=True))
    mean, error, count = difference(measured, "`LinearSVC`", "accuracy")
    assert (mean, count) == (pytest.approx(-2.0), 3)
    assert error == pytest.approx(1.0 / np.sqrt(3))
    text = passage(measured)
    assert "-2.0 ± 0.6 in accuracy, +0.0 ± 0.0 in balanced accuracy (3 tables)" in text
    page = f"before\n{BEGIN}old\n{END}after\n"
    assert put(text, page) == f"before\n{BEGIN}\n{text}\n{END}after\n"
