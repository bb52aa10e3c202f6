"""Planes of the 1-norm SVM along a path of penalties, each solution starting from the one before.

They are scored fold by fold, over all features or over those that a cap leaves. `Doubt` is what is known where
no plane beats a constant prediction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import rankdata

from clearmargin.exceptions import InvalidValueError
from clearmargin.lp_svm.lpsvc import LPSVC
from clearmargin.lp_svm.lpsvm import (
    FloatArray,
    LPSVMData,
    balanced,
    column_reach,
    middles,
    rounded_plane,
)
from clearmargin.lp_svm.lpsvm_sifting import Master, grow, solve_lpsvm, steepest_features
from clearmargin.rules.arithmetic import exact_score, linear_scores

# Up to this many points one master with all of them is kept; beyond it sifting from samples is faster.
_KEPT_POINTS = 8_000
# Below it (with costs of 1) the absolute tolerance of the solver, 1e-9, is no longer small against the rows' limits.
_LEAST_PENALTY = 1e-2


def zero_penalty(data: LPSVMData) -> float:
    """Return a penalty from which on all weights are zero."""
    u = balanced(data.cost, data.y) if data.fit_intercept else data.cost
    # Balanced multipliers add up to zero, whatever is taken off a column; of one far from zero only rounding is left.
    data, _ = centred(data)
    return float(data.steepness(data.slope(u)).max(initial=0.0))


class LPSVMPath:
    """Planes for one data set and many penalties."""

    def __init__(self, data: LPSVMData, *, max_iter: int = 1_000):
        self._data, self._max_iter = data, max_iter
        self._unit = float(data.cost.max())
        self._features = steepest_features(data)
        self._master: Master | None = None

    def solve(self, penalty: float) -> tuple[FloatArray, float]:
        """Solve for one penalty, starting from the last solution."""
        data = replace(self._data, penalty=penalty)
        if len(data) > _KEPT_POINTS or penalty < _LEAST_PENALTY * self._unit:
            solution = solve_lpsvm(data, max_iter=self._max_iter, features=self._features)
            self._features = np.union1d(self._features, np.flatnonzero(solution.w))
            return solution.w, solution.b
        if self._master is None:
            # A column of times in seconds is far from zero, and rows that differ by parts of one would be lost.
            data, self._shift = centred(data)
            self._reach = column_reach(data.X)
            self._master = Master(data, self._features, self._unit)
        else:
            self._master.set_penalty(penalty)
        w, b, *_ = grow(self._master, self._max_iter)
        w, b = rounded_plane(w, b, self._reach)
        return w, b if self._shift is None else exact_score(self._shift, -w, b)


def centred(data: LPSVMData) -> tuple[LPSVMData, FloatArray | None]:
    """Take off the middle of columns that are far from zero; sparse columns and those without an intercept stay."""
    shift = None
    if data.fit_intercept and isinstance(data.X, np.ndarray):
        shift = middles(data.X.min(axis=0), data.X.max(axis=0))
    return (data if shift is None else replace(data, X=data.X - shift)), shift


@dataclass(frozen=True)
class Doubt:
    """No plane within the cap beats a constant one by more than one standard error of the differences in the folds."""

    is_constant: bool
    constant_score: float
    score: float
    folds: int
    cap: float
    more_features: int | None = None
    more_score: float | None = None

    @classmethod
    def about(
        cls, path: Tried, scores: FloatArray, counts: IntArray, place: int, cap: float
    ) -> Doubt | None:
        """Compare all planes with a constant one."""
        constant = scores[counts == 0]
        if not len(constant) or leads(scores, constant).any(axis=0).all():
            return None
        beyond = np.flatnonzero(path.table["n_features"] > cap)
        beyond = beyond[leads(path.scores[beyond], constant).all(axis=1)]
        mean = path.scores.mean(axis=1)
        best = int(beyond[np.argmax(mean[beyond])]) if len(beyond) else None
        return cls(
            bool(counts[place] == 0),
            float(constant.mean(axis=1).max()),
            float(scores[place].mean()),
            scores.shape[1],
            cap,
            None if best is None else int(path.table["n_features"][best]),
            None if best is None else float(mean[best]),
        )

    def in_python(self) -> str:
        """Say it to somebody who called the estimator."""
        return (
            f"{self.finding()}. {self.cause(more='raise max_features')} If one class is rare, try "
            "LPSVCCV(class_weight='balanced', scoring='balanced_accuracy')"
        )

    def finding(self) -> str:
        """Say what was found."""
        few = f" with at most {_features(self.cap)}" if np.isfinite(self.cap) else ""
        found = (
            f"no plane{few} beats a constant one by more than one standard error (mean score of the constant plane "
            f"{self.constant_score:.3f} in {self.folds} folds)"
        )
        if self.is_constant:
            return f"{found}; so the plane is constant, and predicts the same class everywhere"
        return f"{found}; the one chosen has {self.score:.3f}, and is no evidence of a relation"

    def cause(self, *, more: str) -> str:
        """Say what may be the reason, and what to do where more features help."""
        if self.more_features is None:
            return "The features may have no linear relation to the classes."
        return f"One with {_features(self.more_features)} has {self.more_score:.3f}: {more}."


def _features(count: float) -> str:
    return f"{count:.0f} feature{'' if count == 1 else 's'}"


IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Fold:
    """What a fold trains on and is scored by."""

    # Over some columns of the table; a scorer looks at the whole table.
    train: LPSVMData
    columns: IntArray
    # What all columns are divided by in training; the table of the scorer is as the user has it.
    scale: FloatArray
    X_test: Any
    y_test: NDArray[Any]
    score_params: dict[str, Any]


@dataclass(frozen=True)
class Grid:
    """The planes to try: values of `nu`, the maximum number of features, and which columns are one feature."""

    nus: FloatArray
    cap: float
    groups: IntArray


@dataclass(frozen=True)
class Tried:
    """A grid of planes: their scores, and the columns that a cap leaves, of all data and of each fold."""

    columns: IntArray
    table: dict[str, NDArray[Any]]
    scores: FloatArray
    kept: IntArray
    kept_in_folds: list[IntArray]


def score_fold(
    fold: Fold, grid: Grid, scorer: Callable[..., float], classes: NDArray[Any]
) -> tuple[list[float], IntArray]:
    """Score the whole path on one fold, each plane starting from the one before; give what a cap leaves, too."""
    path = LPSVMPath(fold.train)
    planes, scores = [], []
    for nu in grid.nus:
        weights, b = path.solve(1.0 / nu)
        w = np.zeros(fold.X_test.shape[1])
        w[fold.columns] = weights
        model = LPSVC(nu)
        model._set_plane(w / fold.scale, b, classes)
        model.n_features_in_ = len(w)
        scores.append(float(scorer(model, fold.X_test, fold.y_test, **fold.score_params)))
        planes.append(w)
    return scores, features_within(sparse.csr_array(np.array(planes)), grid.cap, grid.groups)


def accuracy(
    model: LPSVC, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None
) -> float:
    """Score a plane by the share of rows that it gets right, as scikit-learn's scorer does."""
    positive = linear_scores(X, model.coef_[0], float(model.intercept_[0])) > 0
    right = model.classes_[positive.astype(np.intp)] == y
    return float(np.average(right, weights=sample_weight))


def features_within(planes: sparse.csr_array, cap: float, groups: IntArray) -> IntArray:
    """Select the columns of at most `cap` features along a path of planes."""
    counts = count_features(planes, groups)
    fits = np.flatnonzero(counts <= cap)
    place = fits[counts[fits] == counts[fits].max()][-1] if len(fits) else int(np.argmin(counts))
    kept: list[int] = []
    # Planes before it come last: they have features that it lost again.
    for k in (*range(place, planes.shape[0]), *range(place)):
        room = int(min(cap, len(groups))) - len(kept)
        if room <= 0:
            break
        kept += [group for group in _by_weight(planes, k, groups) if group not in kept][:room]
    return np.flatnonzero(np.isin(groups, kept))


def _by_weight(planes: sparse.csr_array, k: int, groups: IntArray) -> list[int]:
    """Return the features of a plane, that with the largest weights first."""
    entries = slice(planes.indptr[k], planes.indptr[k + 1])
    owners = groups[planes.indices[entries]]
    used, places = np.unique(owners, return_inverse=True)
    weights = np.bincount(places, np.abs(planes.data[entries]), minlength=len(used))
    order: list[int] = used[np.argsort(-weights, kind="stable")].tolist()
    return order


def count_features(planes: sparse.csr_array, groups: IntArray) -> IntArray:
    """Count the features of each plane that have a weight; columns of one group are one feature."""
    entries = zip(planes.indptr[:-1], planes.indptr[1:], strict=True)
    return np.array(
        [len(np.unique(groups[planes.indices[a:b]])) for a, b in entries], dtype=np.intp
    )


def choose_plane(
    scores: FloatArray, counts: IntArray, rule: str, *, allow_constant: bool = True
) -> int:
    """Choose among planes by their scores in the same folds and their numbers of features."""
    mean = scores.mean(axis=1)
    others = np.flatnonzero(counts > 0)
    if not len(others) or (allow_constant and _constant_wins(scores, counts, rule)):
        others = np.flatnonzero(counts == 0)
    elif rule == "1se":
        # Where all scores vary much, a useless plane is within one standard error, too.
        better = leads(scores[others], scores[counts == 0]).all(axis=1)
        others = others[better] if better.any() else others
    best = others[np.argmax(mean[others])]
    least = mean[best] - (_standard_error(scores[best]) if rule == "1se" else 0.0)
    good = others[mean[others] >= least]
    order = np.lexsort((good, -mean[good], counts[good]))
    return int(good[order[0]])


def _standard_error(scores: FloatArray) -> float:
    folds = len(scores)
    return float(scores.std(ddof=1) / np.sqrt(folds)) if folds > 1 else 0.0


def _constant_wins(scores: FloatArray, counts: IntArray, rule: str) -> bool:
    constant, others = scores[counts == 0], scores[counts > 0]
    if rule == "best":
        return bool(constant.mean(axis=1).max(initial=-np.inf) > others.mean(axis=1).max())
    return bool((~leads(others, constant).any(axis=0)).any())


def leads(planes: FloatArray, others: FloatArray) -> BoolArray:
    """Tell which planes are better than others by more than one standard error of the differences in the folds."""
    ahead = planes[:, None, :] - others[None, :, :]
    folds = ahead.shape[2]
    error = ahead.std(axis=2, ddof=1) / np.sqrt(folds) if folds > 1 else 0.0
    # A lead in a single fold is exactly one standard error, and must not be decided by rounding.
    return np.asarray(ahead.mean(axis=2) > error * (1 + 1e-9) + 1e-15)


def results(
    nus: FloatArray, scores: FloatArray, n_features: NDArray[np.intp]
) -> dict[str, NDArray[Any]]:
    """Return the table of all values tried, in the manner of scikit-learn's searches."""
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
