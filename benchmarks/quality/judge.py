"""What a set of rules is worth on held-out rows, all methods measured alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks.quality.folds import N_FOLDS, Fold

__all__ = ["Answer", "Figures", "judge", "mean_and_error"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method says on held-out rows, and how much it takes to say it.

    `predicted` is by the rules alone, with the default where none fires. `overlap` is the share of rows that
    rules of different classes cover (of a weighted sum, on which several terms fire). `proved` tells for which rows the
    prediction carries a proof that the machine predicts the same.
    """

    predicted: Array
    fires: Array
    rules: float
    conditions: float
    seconds: float
    score: Array | None = None
    overlap: float | None = None
    proved: Array | None = None
    is_weighted: bool = False
    linear_terms: int = 0


@dataclass(frozen=True)
class Figures:
    """The measures of one method in one fold; NaN where a measure is not defined."""

    accuracy: float
    auc: float
    fired_fidelity: float
    fidelity: float
    coverage: float
    rules: float
    conditions: float
    overlap: float
    proved: float
    seconds: float
    size: float
    one_class: float

    # `size` counts the default as a rule where some row needs it, for everyone alike. `one_class` is the share of rows
    # that get the class which is said most often: 1 for who says the same of everybody.


def judge(fold: Fold, answer: Answer) -> Figures:
    """Compare an answer with the machine and with the truth."""
    same = answer.predicted == fold.predicted_test
    fires = np.asarray(answer.fires, dtype=np.bool_)
    proved = np.zeros(len(same), dtype=np.bool_) if answer.proved is None else answer.proved
    if not same[proved].all():
        raise AssertionError(
            f"{fold.data}, fold {fold.number}: a rule with a proof contradicts the machine on a held-out row"
        )
    both = len(np.unique(fold.y_test)) == 2
    ranks = answer.score is not None and bool(np.isfinite(answer.score).all())
    return Figures(
        accuracy=float(np.mean(answer.predicted == fold.y_test)),
        auc=float(roc_auc_score(fold.y_test, answer.score)) if ranks and both else np.nan,
        fired_fidelity=float(np.mean(same[fires])) if fires.any() else np.nan,
        fidelity=float(np.mean(same)),
        coverage=float(np.mean(fires)),
        rules=float(answer.rules),
        conditions=float(answer.conditions),
        overlap=np.nan if answer.overlap is None else float(answer.overlap),
        proved=float(np.mean(proved)),
        seconds=float(answer.seconds),
        size=float(answer.rules) + float(not fires.all()),
        one_class=float(np.bincount(answer.predicted.astype(np.intp)).max() / len(same)),
    )


def mean_and_error(values: Sequence[float] | Array) -> tuple[float, float]:
    """Mean over folds, and its standard error by the folds of one repetition, since repetitions share rows."""
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    if not len(known):
        return np.nan, np.nan
    error = known.std(ddof=1) / np.sqrt(min(len(known), N_FOLDS)) if len(known) > 1 else np.nan
    return float(known.mean()), float(error)
