"""Differences between two methods, fold by fold, and whether they are more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from benchmarks.quality.folds import N_FOLDS

__all__ = ["LEVEL", "Difference", "paired", "width"]

LEVEL = 0.95
# Folds share training rows, so that their differences vary less than those of fresh data would. Nadeau and Bengio
# (2003) add the held-out rows by the training rows to one by the number of folds.
_SHARED = 1.0 / (N_FOLDS - 1)


@dataclass(frozen=True)
class Difference:
    """The mean difference over folds, its corrected standard error, and its sign: 0 where it may be chance."""

    mean: float
    error: float
    sign: int


def width(folds: int) -> float:
    """Half the width of the interval in corrected standard errors, for as many folds as the error counts."""
    return float(student.ppf((1 + LEVEL) / 2, min(folds, N_FOLDS) - 1))


def paired(differences: Sequence[float]) -> Difference:
    """Judge differences by the t distribution; repetitions share rows, and count as one.

    One fold alone has no error, and decides nothing.

    Examples
    --------
    >>> paired([0.02, 0.03, 0.02, 0.03, 0.02]).sign
    1
    >>> paired([0.0, 0.03, -0.01, 0.03, 0.0]).sign
    0
    """
    known = np.asarray(differences, dtype=np.float64)
    mean = float(known.mean())
    if len(known) < 2:
        return Difference(mean, np.nan, 0)
    folds = min(len(known), N_FOLDS)
    error = float(known.std(ddof=1) * np.sqrt(1.0 / folds + _SHARED))
    is_sure = abs(mean) > max(width(folds) * error, 1e-12)
    return Difference(mean, error, int(np.sign(mean)) if is_sure else 0)
