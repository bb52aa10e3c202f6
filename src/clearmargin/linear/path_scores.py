"""Planes along a path of `nu`, scored fold by fold, over all features or over those that a cap leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import rankdata

from clearmargin.exceptions import InvalidValueError
from clearmargin.linear.lpsvc import LPSVC
from clearmargin.programs.lpsvm import LPSVMData
from clearmargin.programs.lpsvm_path import LPSVMPath

__all__ = ["Fold", "Tried", "count_features", "features_within", "results", "score_fold"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


@dataclass(frozen=True)
class Fold:
    """What a fold trains on and is scored by."""

    # Over some columns of the table; a scorer looks at the whole table.
    train: LPSVMData
    columns: IntArray
    X_test: Any
    y_test: NDArray[Any]
    score_params: dict[str, Any]


@dataclass(frozen=True)
class Tried:
    """A grid of planes: their scores, and the features that a cap leaves, of all data and of each fold."""

    table: dict[str, NDArray[Any]]
    kept: IntArray
    kept_in_folds: list[IntArray]


def score_fold(
    fold: Fold,
    nus: FloatArray,
    cap: float,
    tol: float,
    scorer: Callable[..., float],
    classes: NDArray[Any],
) -> tuple[list[float], IntArray]:
    """Score the whole path on one fold, each plane starting from the one before; give what a cap leaves, too."""
    path = LPSVMPath(fold.train, tol=tol)
    planes, scores = [], []
    for nu in nus:
        solution = path.solve(1.0 / nu)
        w = np.zeros(fold.X_test.shape[1])
        w[fold.columns] = solution.w
        model = LPSVC(nu)
        model._set_plane(w, solution.b, classes)
        model.n_features_in_ = len(w)
        scores.append(float(scorer(model, fold.X_test, fold.y_test, **fold.score_params)))
        planes.append(sparse.csr_array(w[None, :]))
    return scores, features_within(sparse.vstack(planes, format="csr"), cap)


def features_within(planes: sparse.csr_array, cap: float) -> IntArray:
    """The features of the fullest plane of a grid that has at most `cap` of them.

    Parameters
    ----------
    planes : sparse array of shape (k, n)
        Weights of the planes of the grid, for growing `nu`.
    cap : float
        Most features.

    Returns
    -------
    ndarray of int
        Columns; of equally full planes those of the last. Where even the sparsest plane has more, its `cap` heaviest;
        none where all planes are constant.

    Examples
    --------
    >>> planes = sparse.csr_array([[0.0, 1.0, 0.0], [0.0, 2.0, 0.5], [0.1, 2.0, 1.0]])
    >>> features_within(planes, 2)
    array([1, 2])
    """
    counts = np.diff(planes.indptr)
    fits = np.flatnonzero((counts > 0) & (counts <= cap))
    if len(fits):
        place = fits[counts[fits] == counts[fits].max()][-1]
    else:
        place = np.argmin(np.where(counts > 0, counts, np.inf))
    own = slice(planes.indptr[place], planes.indptr[place + 1])
    columns, weights = planes.indices[own].astype(np.intp), np.abs(planes.data[own])
    most = int(min(cap, len(columns)))
    return np.sort(columns[np.argsort(-weights, kind="stable")[:most]])


def count_features(path: LPSVMPath, nu: float) -> int:
    """How many features the plane for `nu` has."""
    return int(np.count_nonzero(path.solve(1.0 / nu).w))


def results(
    nus: FloatArray, scores: FloatArray, n_features: NDArray[np.intp]
) -> dict[str, NDArray[Any]]:
    """The table of all values tried, in the manner of scikit-learn's searches."""
    if np.isnan(scores).any():
        place, fold = np.argwhere(np.isnan(scores))[0]
        raise InvalidValueError(
            f"the score of fold {fold} for nu={nus[place]:.6g} is not a number; choose a scoring that is defined on "
            "every fold, or folds with members of both classes"
        )
    mean = scores.mean(axis=1)
    std = scores.std(axis=1, ddof=1) if scores.shape[1] > 1 else np.zeros(len(nus))
    # As in scikit-learn, equal scores share the better rank.
    rank = rankdata(-mean, method="min").astype(np.int32)
    table = {
        "nu": nus,
        "n_features": n_features,
        "mean_test_score": mean,
        "std_test_score": std,
        "se_test_score": std / np.sqrt(scores.shape[1]),
        "rank_test_score": rank,
    }
    return table | {f"split{k}_test_score": column for k, column in enumerate(scores.T)}
