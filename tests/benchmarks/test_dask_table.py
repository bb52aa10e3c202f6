"""The section about Dask clusters: its data, its objective, and what it writes of learners that are not there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.peers.environment import Absent
from benchmarks.speed import dask_table

from clearmargin import LPSVC


def test_the_files_hold_the_rows_in_their_order(tmp_path):
    X, y = dask_table.write_table(tmp_path, 95, 12)
    files = sorted(tmp_path.glob("rows-*.parquet"))
    assert len(files) == dask_table.N_FILES
    table = pd.concat([pd.read_parquet(path) for path in files])
    assert np.array_equal(table["y"], y)
    assert np.array_equal(table.drop(columns="y").astype(float), X)
    assert table["f0"].dtype == np.float32


def test_the_objective_is_that_of_the_plane():
    X, y = dask_table.correlated(500, 12)
    model = LPSVC(0.1).fit(X, y)
    found = dask_table.objective(
        X.astype(float), y, 0.1, model.coef_[0], float(model.intercept_[0])
    )
    assert found == pytest.approx(model.objective_, rel=1e-9)


def test_the_section_says_why_a_peer_is_not_there(monkeypatch):
    answer = {
        "seconds": 1.0,
        "cpu": 2.0,
        "megabytes": 300.0,
        "accuracy": 0.9,
        "w": [1.0] * 20,
        "b": 0.0,
    }

    def fit(name, folder, nu):
        return Absent(name, "no wheel") if name in dask_table.PEERS else dict(answer)

    monkeypatch.setattr(dask_table, "fit", fit)
    monkeypatch.setattr(dask_table, "FULL", [(200, 20)])
    text = dask_table.section(True).to_markdown()
    assert text.count("no wheel") == len(dask_table.PEERS)
    assert "to the bit" in dask_table.section(True).finding
    monkeypatch.setattr(dask_table, "fit", lambda *_: Absent("x", "no memory"))
    with pytest.raises(RuntimeError, match="no memory"):
        dask_table.section(True)
