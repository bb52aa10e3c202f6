"""Explanations of single rows: a box around a row in which the machine predicts the same, and how true that is."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.folds import Fold
from clearmargin import Box, FeatureSpace, RuleExtractor, grow_box
from clearmargin.exceptions import DataError

__all__ = [
    "EXPLAINED",
    "N_SAMPLES",
    "Explained",
    "SingleFigures",
    "chosen_rows",
    "measure",
    "ours_single",
]

# Single explanations are measured on these, whatever else is: proofs of kernel machines take long with more columns.
EXPLAINED = ("Bupa", "Mammographic")

N_SAMPLES = 100_000
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Explained:
    """A closed box around a row: who is in it is said to get this class. Infinite ends are no conditions."""

    row: int
    lower: FloatArray
    upper: FloatArray
    label: int
    seconds: float
    is_proved: bool = False


@dataclass(frozen=True)
class SingleFigures:
    """How one explanation does; `held_out` is its precision on the held-out rows in the box."""

    seconds: float
    coverage: float
    precision: float
    held_out: float
    proved: float
    conditions: float


def chosen_rows(fold: Fold, count: int) -> list[int]:
    """Some held-out rows, drawn once for all methods."""
    rng = np.random.default_rng(fold.seed)
    chosen = rng.choice(len(fold.X_test), size=min(count, len(fold.X_test)), replace=False)
    return [int(row) for row in np.sort(chosen)]


def _ends(box: Box) -> tuple[FloatArray, FloatArray]:
    return np.asarray(box.lower), np.asarray(box.upper)


def _linear(fold: Fold, rows: Sequence[int], kind: str) -> list[Explained]:
    """Boxes beside the plane; the time to read the machine is shared by all rows."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the plane has .* features with a weight")
        extractor = RuleExtractor(fold.model, max_rules=2).fit(fold.X_train, fold.predicted_train)
    shared = (time.process_time() - start) / len(rows)
    found = []
    for row in rows:
        start = time.process_time()
        explained = extractor.explain(fold.X_test[row], kind)
        spent = shared + time.process_time() - start
        assert isinstance(explained.rule.region, Box)
        lower, upper = _ends(explained.rule.region)
        found.append(
            Explained(
                row, lower, upper, int(explained.label), spent, explained.rule.proof == "proved"
            )
        )
    return found


def _kernel(fold: Fold, rows: Sequence[int]) -> list[Explained]:
    """Boxes that grow as long as the proof does."""
    space = FeatureSpace.from_data(fold.X_train)
    found = []
    for row in rows:
        start = time.process_time()
        try:
            box = grow_box(fold.model, fold.X_test[row], space=space)
        except DataError:
            # Too near the surface for any proof: nothing is said.
            continue
        spent = time.process_time() - start
        lower, upper = _ends(box)
        found.append(Explained(row, lower, upper, int(fold.predicted_test[row]), spent, True))
    return found


def ours_single(fold: Fold, rows: Sequence[int]) -> dict[str, list[Explained]]:
    """Explanations of rows of the held-out part."""
    if fold.teacher == "linear":
        return {
            "clearmargin, largest box": _linear(fold, rows, "largest"),
            "clearmargin, central box": _linear(fold, rows, "central"),
        }
    return {"clearmargin, grow_box": _kernel(fold, rows)}


def measure(fold: Fold, explained: Explained, n_samples: int = N_SAMPLES) -> SingleFigures:
    """Coverage on held-out rows, and precision on rows drawn evenly in the box within the training range.

    A condition is a feature of which the box leaves out a part of the training range, for everyone alike.
    """
    x = fold.X_test[explained.row]
    # A row outside of the range of the training rows widens it to itself.
    first, last = (
        np.minimum(fold.X_train.min(axis=0), x),
        np.maximum(fold.X_train.max(axis=0), x),
    )
    low, high = np.maximum(explained.lower, first), np.minimum(explained.upper, last)
    rng = np.random.default_rng(fold.seed + explained.row)
    # An anchor need not hold its row to the last digit: an empty side is taken as the row's own value.
    empty = low > high
    low, high = np.where(empty, x, low), np.where(empty, x, high)
    drawn = low + (high - low) * rng.random((n_samples, len(x)))
    predicted: Any = fold.model.predict(drawn)
    inside = ((fold.X_test >= explained.lower) & (fold.X_test <= explained.upper)).all(axis=1)
    return SingleFigures(
        explained.seconds,
        float(inside.mean()),
        float(np.mean(predicted == explained.label)),
        float(np.mean(fold.predicted_test[inside] == explained.label)) if inside.any() else np.nan,
        float(explained.is_proved),
        float(np.count_nonzero((low > first) | (high < last))),
    )
