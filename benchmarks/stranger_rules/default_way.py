"""The default way, from the command line: what a table of applicants gives with no option set."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.stranger_rules.folds import Part
from benchmarks.stranger_rules.learners import score
from benchmarks.stranger_rules.proofs import dense_machine
from benchmarks.stranger_rules.records import Record

__all__ = ["CURVED", "DENSE", "OURS", "PAGE", "TOPIC", "take_default_way"]

TOPIC = "default way"
OURS, DENSE, CURVED = "clearmargin rules", "LinearSVC, all columns", "SVC, all columns"
# Lines of a printed page of A4.
PAGE = 66
LIMIT = 300.0
TARGET = "class"


def _run(*words: str) -> tuple[str, float, float]:
    """Run the command line with one thread; what it prints, and the seconds that the processor and the clock take."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    start, used = time.perf_counter(), _children_seconds()
    done = subprocess.run(
        [sys.executable, "-m", "clearmargin", *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=os.environ | threads,
    )
    if done.returncode != 0:
        raise RuntimeError(f"clearmargin {words[0]}: {done.stderr.strip()}")
    return done.stdout, _children_seconds() - used, time.perf_counter() - start


def _children_seconds() -> float:
    """Processor time of the processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def take_default_way(part: Part, folder: Path) -> list[Record]:
    """Make rules of a fold's training rows by the command line, and have them predict its held-out rows.

    Parameters
    ----------
    part : Part
        The fold.
    folder : Path
        Where tables and the model are kept meanwhile.

    Returns
    -------
    list of Record
        The default way, and the dense machine on the same rows.
    """
    names = np.array(part.classes)
    place = folder / f"default-{part.number}"
    place.mkdir()
    train, test, model, said = (
        place / name for name in ("train.csv", "test.csv", "m.json", "s.csv")
    )
    part.X_train.assign(**{TARGET: names[part.y_train]}).to_csv(train, index=False)
    part.X_test.to_csv(test, index=False)
    missing = ["--missing", "impute"] if bool(part.X_train.isna().any(axis=None)) else []
    printed, seconds, clock = _run(
        "rules", str(train), "--target", TARGET, "--save-model", str(model), *missing
    )
    _run("predict", str(test), "--model", str(model), "--out", str(said))
    answers = pd.read_csv(said, dtype=str, keep_default_na=False)["class"].to_numpy(dtype=str)
    figures = {
        "accuracy": float(accuracy_score(names[part.y_test], answers)),
        "answered": float(np.isin(answers, names).mean()),
        "lines": float(len(printed.rstrip().splitlines())),
        "seconds": seconds,
        "clock": clock,
    }
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dense = dense_machine(part)
        curved = dense_machine(part, SVC())
    return [
        Record(TOPIC, part.table, part.number, OURS, figures),
        *(
            Record(
                TOPIC,
                part.table,
                part.number,
                name,
                score(part.y_test, machine.predict(part.X_test), None),
            )
            for name, machine in ((DENSE, dense), (CURVED, curved))
        ),
    ]
