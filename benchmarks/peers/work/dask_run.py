"""Fit a learner to a table in Parquet files, on a cluster of two processes or in memory, and note what it took.

Shared by our own learners and those of other packages, which run in an environment of their own: nothing here but Dask,
pandas and the standard library. The table has columns f0, f1, ... and y with the classes 0 and 1; rows to be judged are
in a file of their own.
"""

from __future__ import annotations

import json
import logging
import resource
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

__all__ = ["Learner", "main"]

# Of maximum resident set sizes: kilobytes on Linux, bytes on macOS.
UNIT = 2**20 if sys.platform == "darwin" else 2**10


class Learner(NamedTuple):
    """How to fit to a Dask data frame, with the module that its workers load first; or to one of pandas, without."""

    fit: Callable[[Any, list[str], float], Any]
    module: str | None


def peak() -> float:
    """The largest memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / UNIT


def _on_cluster(learner: Learner, folder: Path, nu: float) -> tuple[Any, dict[str, float]]:
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(warnings.simplefilter, "ignore")
        client.run(import_module, learner.module)
        table = dd.read_parquet(str(folder / "rows-*.parquet"))
        names = [name for name in table.columns if name != "y"]
        before = time.process_time() + sum(client.run(time.process_time).values())
        start = time.perf_counter()
        model = learner.fit(table, names, nu)
        seconds = time.perf_counter() - start
        after = time.process_time() + sum(client.run(time.process_time).values())
        return model, {
            "seconds": seconds,
            "cpu": after - before,
            "megabytes": peak() + sum(client.run(peak).values()),
        }


def _in_memory(learner: Learner, folder: Path, nu: float) -> tuple[Any, dict[str, float]]:
    start, before = time.perf_counter(), time.process_time()
    table = pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("rows-*.parquet"))])
    names = [name for name in table.columns if name != "y"]
    model = learner.fit(table, names, nu)
    return model, {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - before,
        "megabytes": peak(),
    }


def _judged(model: Any, folder: Path) -> dict[str, Any]:
    """Predict the rows to be judged, in memory; give the plane, if the model has one."""
    rows = pd.read_parquet(folder / "judged.parquet")
    X = rows.drop(columns="y")
    local = model.to_local() if hasattr(model, "to_local") else model
    predicted = np.asarray(
        local.predict(X if hasattr(local, "feature_names_in_") else X.to_numpy())
    )
    found = {"accuracy": float((predicted.astype(int) == rows["y"].to_numpy()).mean())}
    if not hasattr(local, "coef_") or not hasattr(local, "intercept_"):
        return found
    plane = {"w": np.ravel(local.coef_).tolist(), "b": float(np.ravel(local.intercept_)[0])}
    return {**found, **plane, "gap": getattr(local, "gap_", None)}


def main(learners: dict[str, Learner]) -> None:
    """Fit the learner that is named first to the table in the folder that is named second; print what it took."""
    name, folder, nu = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    warnings.simplefilter("ignore")
    learner = learners[name]
    run = _in_memory if learner.module is None else _on_cluster
    model, took = run(learner, folder, nu)
    print(json.dumps({**took, **_judged(model, folder)}))
