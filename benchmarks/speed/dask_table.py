"""Tables on a Dask cluster: time, objective and memory of ours, dask_ml, xgboost.dask and scikit-learn's SGD.

The table is that of the design: normal columns, each correlated with its neighbour, ten of which matter, 5 % of the
labels flipped; costs add up to 100. It lies in Parquet files of float32, ten of them. Each learner is a process of its
own, with a cluster of two processes beside it where it is one for clusters.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.page import Ratio, Section, Table
from benchmarks.peers.environment import Absent, python_of
from benchmarks.speed.dask_learners import LEARNERS

Array = NDArray[np.float64]

QUICK, FULL = [(100_000, 20)], [(100_000, 20), (1_000_000, 20)]
PEERS = ("dask_ml LogisticRegression", "dask_ml Incremental(SGDClassifier)", "xgboost.dask")
N_FILES, N_JUDGED, SUM_OF_COSTS = 10, 20_000, 100.0
# Seconds on the clock that a learner may take.
LIMIT = 600.0
ROOT = Path(__file__).resolve().parents[2]


def correlated(m: int, n: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Normal columns, each correlated with its neighbour; ten of them matter; 5 % of the labels are flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    X[:, 1:] += 0.5 * X[:, :-1]
    w = np.zeros(n)
    w[:10] = np.random.default_rng(1).normal(size=10)
    y = (X @ w > 0) ^ (rng.random(m) < 0.05)
    return X.astype(np.float32), y.astype(np.int8)


def write_table(folder: Path, m: int, n: int) -> tuple[Array, NDArray[np.int8]]:
    """Write the files; give the rows for training, as they are read."""
    X, y = correlated(m, n)
    names = [f"f{j}" for j in range(n)]
    table = pd.DataFrame(X, columns=names).assign(y=y.astype(np.int64))
    for k, rows in enumerate(np.array_split(np.arange(m), N_FILES)):
        table.iloc[rows].to_parquet(folder / f"rows-{k:02}.parquet", index=False)
    others, labels = correlated(N_JUDGED, n, seed=2)
    judged = pd.DataFrame(others, columns=names).assign(y=labels.astype(np.int64))
    judged.to_parquet(folder / "judged.parquet", index=False)
    return X.astype(np.float64), y


def objective(X: Array, y: NDArray[np.int8], nu: float, w: Array, b: float) -> float:
    """The objective of the 1-norm SVM."""
    losses = np.maximum(0.0, 1.0 - np.where(y == 1, 1.0, -1.0) * (X @ w + b))
    return float(nu * losses.sum() + np.abs(w).sum())


def fit(name: str, folder: Path, nu: float) -> dict[str, Any] | Absent:
    """Fit a learner in a process of its own."""
    python: Path | Absent = Path(sys.executable)
    module = "benchmarks.speed.dask_learners"
    if name in PEERS:
        python, module = python_of("dask_ml"), "benchmarks.peers.work.dask_ml"
    if isinstance(python, Absent):
        return python
    command = [str(python), "-m", module, name, str(folder), str(nu)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **threads},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Absent(name, f"stopped after {LIMIT:g} s")
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it ended without a word"]
        return Absent(name, lines[-1][:120])
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measure(m: int, n: int, full: bool) -> dict[str, dict[str, Any] | Absent]:
    """Fit all learners to a table of a size, each with the objective that it reached."""
    nu = SUM_OF_COSTS / m
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        X, y = write_table(folder, m, n)
        found = {name: fit(name, folder, nu) for name in (*LEARNERS, *(PEERS if full else ()))}
    for answer in found.values():
        if isinstance(answer, dict) and "w" in answer:
            answer["objective"] = objective(X, y, nu, np.array(answer["w"]), answer["b"])
    return found


def cells(size: str, name: str, answer: dict[str, Any] | Absent, best: float) -> list[str]:
    """Write a row of the table."""
    if isinstance(answer, Absent):
        return [size, name, "-", "-", "-", "-", answer.reason]
    reached = "no plane"
    if "objective" in answer:
        excess = answer["objective"] / best - 1.0
        reached = f"{answer['objective']:.6g} ({excess:+.0e})"
    return [
        size,
        name,
        f"{answer['seconds']:.2f}",
        f"{answer['cpu']:.2f}",
        f"{answer['megabytes']:,.0f}",
        reached,
        f"{100 * answer['accuracy']:.2f} %",
    ]


def section(full: bool = True) -> Section:
    """The table over all sizes and learners."""
    header = ["rows x columns", "learner", "s", "CPU s", "MB", "objective (excess)", "right"]
    rows, ratios, told = [], {}, ""
    for m, n in FULL if full else QUICK:
        found, size = measure(m, n, full), f"{m:,} x {n}"
        ours, here = found["clearmargin.dask.LPSVC"], found["LPSVC, in memory"]
        if isinstance(ours, Absent) or isinstance(here, Absent):
            raise RuntimeError(f"LPSVC was not measured: {ours}, {here}")
        same = (ours["w"], ours["b"]) == (here["w"], here["b"])
        rows += [cells(size, name, answer, here["objective"]) for name, answer in found.items()]
        ratios[f"CPU of LPSVC on Dask / in memory at {size}"] = Ratio(
            ours["cpu"] / here["cpu"], larger_is_better=False
        )
        told = (
            f"At {size}, `clearmargin.dask.LPSVC` finds the plane of `LPSVC` in memory"
            f"{', to the bit,' if same else ', up to rounding,'} in {ours['seconds']:.1f} s on two processes."
        )
    return Section(
        "Training on a Dask cluster",
        "What does a cluster cost, and what does it find? A table in ten Parquet files of float32: normal columns, "
        "each correlated with its neighbour, ten of which matter, 5 % of the labels flipped; `nu` is 100 over the "
        "number of rows. Ours, dask_ml and xgboost.dask get a lazy `dd.read_parquet` and a cluster of two processes of "
        "one thread; seconds on the clock and of all processors together include reading. MB is the sum of the peaks "
        "of all processes, imports included. The objective is that of the 1-norm SVM, which `LPSVC` and SGD minimise, "
        "with its relative excess over that of `LPSVC` in memory; logistic regression and the proximal SVM minimise "
        "others. *Right* is on 20,000 rows not seen.",
        Table(header, rows),
        "Peers are as they come: dask_ml's `LogisticRegression` by ADMM, `Incremental(SGDClassifier)` in one pass, a "
        "hundred trees of XGBoost. One run each.",
        told,
        ratios,
    )
