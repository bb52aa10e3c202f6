"""Explanations of single cases on strangers' tables: measured ones beside anchors, and proved ones."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.quality.folds import Fold
from benchmarks.quality.others import anchor_explanations
from benchmarks.quality.single import Explained, chosen_rows
from benchmarks.stranger_rules.askers import machine_of
from benchmarks.stranger_rules.folds import Part
from benchmarks.stranger_rules.records import Record
from clearmargin import Box, explain_many
from clearmargin.rules.box import closed_ends

__all__ = [
    "ANCHORS",
    "MEASURED",
    "PROVED",
    "SPEED",
    "TOPIC",
    "anchor_cases",
    "explain_cases",
    "fewest_by_sorting",
    "fold_of",
    "prove_cases",
    "proved_seconds",
]

TOPIC, PROVED, SPEED = "explain", "explain, proved", "explain, speed"
ANCHORS, MEASURED = "alibi anchors", "explain, measured"
FloatArray = NDArray[np.float64]


def fold_of(part: Part, kind: str) -> Fold:
    """Give a part the form that anchors are asked with, with a machine of a kind trained on it."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = machine_of(part, kind)
    return Fold(
        part.table,
        kind,
        part.number,
        machine,
        part.numbers_train,
        machine.predict(part.numbers_train),
        part.numbers_test,
        machine.predict(part.numbers_test),
        part.y_test,
        part.names,
    )


def _figures(fold: Fold, explained: Sequence[Explained]) -> dict[str, float]:
    """Means over cases; what is covered, and what of it is right, on held-out rows other than the case."""
    conditions, coverage, right, covered, seconds = [], [], 0, 0, []
    for one in explained:
        held = (fold.X_test >= one.lower) & (fold.X_test <= one.upper)
        inside: NDArray[np.bool_] = np.asarray(held.all(axis=1))
        inside[one.row] = False
        right += int((fold.predicted_test[inside] == one.label).sum())
        covered += int(inside.sum())
        coverage.append(inside.sum() / (len(inside) - 1))
        conditions.append(np.count_nonzero(np.isfinite(one.lower) | np.isfinite(one.upper)))
        seconds.append(one.seconds)
    return {
        "conditions": float(np.mean(conditions)),
        "coverage": float(np.mean(coverage)),
        "precision": right / covered if covered else float("nan"),
        "covered": float(covered),
        "seconds": float(np.mean(seconds)),
        "cases": float(len(explained)),
    }


def _record(fold: Fold, method: str, explained: Sequence[Explained] | str) -> Record:
    key = (TOPIC, fold.data, fold.number, f"{method} ({fold.teacher})")
    if isinstance(explained, str) or not explained:
        return Record(*key, reason=str(explained) or "no case")
    return Record(*key, _figures(fold, explained))


def explain_cases(fold: Fold, count: int) -> list[Record]:
    """Explain held-out rows of a fold by the fewest conditions of the requested precision.

    Parameters
    ----------
    fold : Fold
        The machine and its rows.
    count : int
        How many rows.

    Returns
    -------
    list of Record
        One.
    """
    found, rows = [], chosen_rows(fold, count)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # What all cases have in common is shared by them; of anchors it is not counted at all.
        start = time.process_time()
        many = list(explain_many(fold.model, fold.X_test[rows], fold.X_train, guarantee="measured"))
        seconds = (time.process_time() - start) / len(rows)
    for row, said in zip(rows, many, strict=True):
        region = said.rule.region
        assert isinstance(region, Box)
        # An open end does not belong to the box, as with anchors.
        lower, upper = closed_ends(
            np.stack([region.lower, region.upper]),
            np.stack([region.lower_closed, region.upper_closed]),
        )
        found.append(Explained(row, lower, upper, int(said.label), seconds))
    return [_record(fold, MEASURED, found)]


def anchor_cases(folds: Sequence[Fold], count: int, folder: Path, seconds: float) -> list[Record]:
    """Explain the same rows by anchors of alibi.

    Parameters
    ----------
    folds : sequence of Fold
        Machines and their rows.
    count : int
        How many rows of each.
    folder : Path
        Where problems and answers are kept meanwhile.
    seconds : float
        The longest for a fold, in processor time; what was found until then counts.

    Returns
    -------
    list of Record
        One a fold.
    """
    asked = [(fold, chosen_rows(fold, count)) for fold in folds]
    answers = anchor_explanations(asked, folder, seconds)
    return [_record(fold, ANCHORS, said) for fold, said in zip(folds, answers, strict=True)]


def fewest_by_sorting(
    w: FloatArray, b: float, lower: FloatArray, upper: FloatArray, X: FloatArray
) -> NDArray[np.int64]:
    """Count the features that must be fixed to force the class of each row over a box of ranges.

    Freed first are those whose worst value loses least; a class of no score needs all.

    Parameters
    ----------
    w, b : ndarray, float
        The plane.
    lower, upper : ndarray
        The ranges.
    X : ndarray
        Rows.

    Returns
    -------
    ndarray of int
        How many each row needs.
    """
    scores = X @ w + b
    side = np.where(scores > 0, 1.0, -1.0)[:, None]
    worst = np.where(side * w > 0, lower, upper)
    losses = np.sort(np.maximum(side * w * (X - worst), 0.0), axis=1)
    kept = (np.cumsum(losses, axis=1) < np.abs(scores)[:, None]).sum(axis=1)
    return np.asarray(X.shape[1] - kept, dtype=np.int64)


def prove_cases(part: Part, count: int) -> list[Record]:
    """Explain held-out rows with a proof, and compare the number of conditions with what sorting needs.

    Parameters
    ----------
    part : Part
        The fold; its linear machine is explained.
    count : int
        How many rows at most.

    Returns
    -------
    list of Record
        One.
    """
    fold = fold_of(part, "linear")
    lower, upper = fold.X_train.min(axis=0), fold.X_train.max(axis=0)
    inside = ((fold.X_test >= lower) & (fold.X_test <= upper)).all(axis=1)
    rows = fold.X_test[inside][:count]
    scaler, machine = fold.model[0], fold.model[-1]
    w = machine.coef_[0] / scaler.scale_
    b = float(machine.intercept_[0] - w @ scaler.mean_)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = explain_many(fold.model, rows, fold.X_train, guarantee="proved")
    conditions = np.array([one.rule.n_conditions for one in said])
    needed = fewest_by_sorting(w, b, lower, upper, rows)
    figures = {
        "conditions": float(conditions.mean()),
        "sorting": float(needed.mean()),
        "more than sorting": float((conditions > needed).sum()),
        "features": float(np.count_nonzero(w)),
        "cases": float(len(rows)),
    }
    return [Record(PROVED, part.table, part.number, "explain, proved", figures)]


def proved_seconds(cases: int = 10_000) -> list[Record]:
    """Time proved explanations of many cases of a dense plane."""
    X, y = make_classification(cases, 20, n_informative=10, random_state=0)
    model: Any = make_pipeline(StandardScaler(), LinearSVC(random_state=0)).fit(X[:1000], y[:1000])
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        said = explain_many(model, X, X, guarantee="proved")
        # Each is made when it is looked at.
        conditions = [one.rule.n_conditions for one in said]
        seconds = time.process_time() - start
    figures = {
        "seconds": seconds,
        "cases a second": cases / seconds,
        "conditions": float(np.mean(conditions)),
    }
    return [Record(SPEED, f"{cases:,} x 20", 0, "explain, proved", figures)]
