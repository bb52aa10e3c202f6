"""Choose `nu` by cross-validation along a path of planes, each solution starting from the one before.

Planes are scored fold by fold, over all features or over those that a cap leaves: a fold that used the features of all
data would have seen the rows that it is scored by. The sparsest plane is chosen whose mean score is within one standard
error of the best, among those that beat a constant plane where there are any.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from scipy.stats import rankdata

from clearmargin.exceptions import InvalidValueError
from clearmargin.lp_svm.program import (
    FloatArray,
    LPSVMData,
    balanced,
    column_reach,
    middles,
    rounded_plane,
)
from clearmargin.lp_svm.sifting import Master, grow, solve_lpsvm, steepest_features
from clearmargin.progress import collect
from clearmargin.rules.arithmetic import exact_score
from clearmargin.rules.value import BoolArray, IntArray
from clearmargin.tables.row_order import sample_classes
from clearmargin.tables.validation import TwoClasses, point_costs

# From the first feature to a plane that fits the training data closely: three decades.
_STEP, _GRID_STEPS = math.sqrt(2.0), 20
# Nine decades without any feature: no plane is better than a constant.
_SEARCH_STEPS = 60
# So far below the end of the path a plane is constant in the folds, too, where the end lies a little elsewhere.
_CONSTANT_SHARE = 1.0 / 8.0
# With more rows planes are tried on so many of them, in place of all; the plane that is chosen is that of all rows.
_MOST_ROWS = 5_000
# Up to this many points one master with all of them is kept; beyond it sifting from samples is faster.
_KEPT_POINTS = 8_000
# Below it (with costs of 1) the absolute tolerance of the solver, 1e-9, is no longer small against the rows' limits.
_LEAST_PENALTY = 1e-2
_SMALLEST_SPREAD = 1e-290


class LPSVMPath:
    """Planes for one data set and many penalties."""

    def __init__(self, data: LPSVMData):
        self._data = data
        self._unit = float(data.cost.max())
        self._features = steepest_features(data)
        self._master: Master | None = None

    def solve(self, penalty: float) -> tuple[FloatArray, float]:
        """Solve for one penalty, starting from the last solution."""
        data = replace(self._data, penalty=penalty)
        if len(data) > _KEPT_POINTS or penalty < _LEAST_PENALTY * self._unit:
            solution = solve_lpsvm(data, features=self._features)
            self._features = np.union1d(self._features, np.flatnonzero(solution.w))
            return solution.w, solution.b
        if self._master is None:
            # A column of times in seconds is far from zero, and rows that differ by parts of one would be lost.
            data, self._shift = _centred(data)
            self._reach = column_reach(data.X)
            self._master = Master(data, self._features, self._unit)
        else:
            self._master.set_penalty(penalty)
        w, b, *_ = grow(self._master)
        w, b = rounded_plane(w, b, self._reach)
        return w, b if self._shift is None else exact_score(self._shift, -w, b)


def _centred(data: LPSVMData) -> tuple[LPSVMData, FloatArray | None]:
    """Take off the middle of columns that are far from zero; sparse columns and those without an intercept stay."""
    shift = None
    if data.fit_intercept and isinstance(data.X, np.ndarray):
        shift = middles(data.X.min(axis=0), data.X.max(axis=0))
    return (data if shift is None else replace(data, X=data.X - shift)), shift


def _grid(path: LPSVMPath, data: LPSVMData) -> FloatArray:
    """Return the values of nu to try: one of a constant plane, and 20 from where the first feature enters."""
    u = balanced(data.cost, data.y) if data.fit_intercept else data.cost
    # Balanced multipliers add up to zero, whatever is taken off a column; of one far from zero only rounding is left.
    near, _ = _centred(data)
    # From this penalty on all weights are zero.
    end = float(near.steepness(near.slope(u)).max(initial=0.0))
    total = float(data.cost.sum())
    if end <= _SMALLEST_SPREAD * total:
        end = total
    steps = (_STEP ** np.arange(1, _SEARCH_STEPS + 1) / end).tolist()
    first = float(next((nu for nu in steps if path.solve(1.0 / nu)[0].any()), steps[0]))
    return np.concatenate([[_CONSTANT_SHARE / end], first * _STEP ** np.arange(_GRID_STEPS)])


class Choice(NamedTuple):
    """The cost and the columns that were chosen, the table of all values tried, and what speaks for a constant."""

    nu: float
    columns: IntArray
    results: dict[str, Any]
    note: str


class _Tried(NamedTuple):
    """A grid of planes over some columns, and the columns that the cap leaves, of all data and of each fold."""

    columns: IntArray
    results: dict[str, Any]
    scores: FloatArray
    kept: IntArray
    kept_in_folds: list[IntArray]


@dataclass(frozen=True)
class PathSearch:
    """What planes are tried on: rows and folds, what a plane is scored by, and how many features it may have."""

    points: Any
    labels: TwoClasses
    weight: FloatArray
    folds: Sequence[tuple[IntArray, IntArray]]
    score: Callable[[FloatArray, float, IntArray], float]
    class_weight: Any
    fit_intercept: bool
    sign: IntArray | None
    # The feature of each column: columns of one feature count as one for the cap.
    groups: IntArray
    cap: float

    def choose(self) -> Choice:
        """Choose a plane within the cap among all that were tried."""
        everything = np.arange(self.points.shape[1])
        weight = _trial_weight(self.points, self.labels.codes, self.weight, self.folds)
        tries = [self._try(weight, everything, [everything] * len(self.folds))]
        if len(tries[0].kept) and (tries[0].results["n_features"] > self.cap).any():
            tries.append(self._try(weight, tries[0].kept, tries[0].kept_in_folds))
        # Planes over the features that the cap left are within it; so there is always one.
        within = [np.flatnonzero(tried.results["n_features"] <= self.cap) for tried in tries]
        pairs = list(zip(tries, within, strict=True))
        scores = np.vstack([tried.scores[rows] for tried, rows in pairs])
        counts = np.concatenate([tried.results["n_features"][rows] for tried, rows in pairs])
        place = _choose_plane(scores, counts)
        second = int(place >= len(within[0]))
        columns, results = tries[second].columns, tries[second].results
        nu = float(results["nu"][within[second][place - second * len(within[0])]])
        return Choice(nu, columns, results, _compare(tries[0], scores, counts, place, self.cap))

    def _try(self, weight: FloatArray, columns: IntArray, in_folds: Sequence[IntArray]) -> _Tried:
        """Score a grid of planes over some columns, which each fold has of its own."""
        data = self._program(slice(None), weight, columns)
        path = LPSVMPath(data)
        nus = _grid(path, data)
        planes = sparse.csr_array(np.array([path.solve(1.0 / nu)[0] for nu in nus]))
        jobs = (
            delayed(self._score_fold)(weight, fold, of_fold, nus)
            for fold, of_fold in zip(self.folds, in_folds, strict=True)
        )
        parallel = Parallel(return_as="generator")
        scored = collect(parallel(jobs), "cross-validation", len(self.folds))
        scores = np.array([scores for scores, _ in scored]).T
        groups = self.groups[columns]
        kept = columns[features_within(planes, self.cap, groups)]
        results = _results(nus, scores, count_features(planes, groups))
        return _Tried(columns, results, scores, kept, [kept for _, kept in scored])

    def _score_fold(
        self,
        weight: FloatArray,
        fold: tuple[IntArray, IntArray],
        columns: IntArray,
        nus: FloatArray,
    ) -> tuple[list[float], IntArray]:
        """Score the whole path on one fold; give the columns that the cap leaves, too."""
        train, test = fold
        path = LPSVMPath(self._program(train, weight, columns))
        planes, scores = [], []
        for nu in nus:
            weights, b = path.solve(1.0 / nu)
            w = np.zeros(self.points.shape[1])
            w[columns] = weights
            scores.append(self.score(w, b, test))
            planes.append(w)
        return scores, features_within(sparse.csr_array(np.array(planes)), self.cap, self.groups)

    def _program(self, rows: Any, weight: FloatArray, columns: IntArray) -> LPSVMData:
        """Return the program of some rows with nu = 1 / penalty; points of weight zero are left out."""
        points, codes, weight = self.points[rows], self.labels.codes[rows], weight[rows]
        # All columns are the rule, and no reason for a copy.
        points = points if len(columns) == points.shape[1] else points[:, columns]
        present = weight > 0
        labels = TwoClasses(self.labels.classes[codes[present]])
        cost = point_costs(labels, weight[present], self.class_weight, points[present])
        sign = None if self.sign is None else self.sign[columns]
        return LPSVMData(
            points[present], labels.signs, cost, fit_intercept=self.fit_intercept, sign=sign
        )


def _trial_weight(
    points: Any,
    codes: IntArray,
    weight: FloatArray,
    folds: Sequence[tuple[IntArray, IntArray]],
) -> FloatArray:
    """Give the rows of a sample the weight of all rows of their class, and the others none."""
    present = np.flatnonzero(weight > 0)
    if sparse.issparse(points) or len(present) <= _MOST_ROWS:
        return weight
    rows = present[sample_classes(points[present], codes[present], _MOST_ROWS)]
    trial = np.zeros_like(weight)
    for code in np.unique(codes[rows]):
        drawn = rows[codes[rows] == code]
        trial[drawn] = weight[drawn] * (weight[codes == code].sum() / weight[drawn].sum())
    for train, _ in folds:
        there, drawn = (np.unique(codes[train][w[train] > 0]) for w in (weight, trial))
        # Folds of the user may hold a class in so few rows that none was drawn.
        if len(drawn) < len(there):
            return weight
    return trial


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


def _choose_plane(scores: FloatArray, counts: IntArray) -> int:
    """Choose among planes by their scores in the same folds and their numbers of features."""
    mean = scores.mean(axis=1)
    others = np.flatnonzero(counts > 0)
    if not len(others):
        others = np.flatnonzero(counts == 0)
    else:
        # Where all scores vary much, a useless plane is within one standard error, too.
        better = _leads(scores[others], scores[counts == 0]).all(axis=1)
        others = others[better] if better.any() else others
    best = others[np.argmax(mean[others])]
    folds = scores.shape[1]
    error = float(scores[best].std(ddof=1) / np.sqrt(folds)) if folds > 1 else 0.0
    good = others[mean[others] >= mean[best] - error]
    order = np.lexsort((good, -mean[good], counts[good]))
    return int(good[order[0]])


def _compare(tried: _Tried, scores: FloatArray, counts: IntArray, place: int, cap: float) -> str:
    """Compare all planes with a constant one; return what is known where none within the cap is better."""
    constant = scores[counts == 0]
    if not len(constant) or _leads(scores, constant).any(axis=0).all():
        return ""
    few = f" with at most {_features(cap)}" if np.isfinite(cap) else ""
    text = (
        f"no plane{few} beats a constant one by more than one standard error (mean score of the constant plane "
        f"{constant.mean(axis=1).max():.3f} in {scores.shape[1]} folds)"
    )
    if counts[place] == 0:
        text += "; so the plane is constant, and predicts the same class everywhere. "
    else:
        text += (
            f"; the one chosen has {scores[place].mean():.3f}, and is no evidence of a relation. "
        )
    beyond = np.flatnonzero(tried.results["n_features"] > cap)
    beyond = beyond[_leads(tried.scores[beyond], constant).all(axis=1)]
    if not len(beyond):
        return text + "The features may have no linear relation to the classes."
    mean = tried.scores.mean(axis=1)
    best = int(beyond[np.argmax(mean[beyond])])
    count = int(tried.results["n_features"][best])
    return text + f"One with {_features(count)} has {mean[best]:.3f}: try max_features={count}."


def _features(count: float) -> str:
    return f"{count:.0f} feature{'' if count == 1 else 's'}"


def _leads(planes: FloatArray, others: FloatArray) -> BoolArray:
    """Tell which planes are better than others by more than one standard error of the differences in the folds."""
    ahead = planes[:, None, :] - others[None, :, :]
    folds = ahead.shape[2]
    error = ahead.std(axis=2, ddof=1) / np.sqrt(folds) if folds > 1 else 0.0
    # A lead in a single fold is exactly one standard error, and must not be decided by rounding.
    return np.asarray(ahead.mean(axis=2) > error * (1 + 1e-9) + 1e-15)


def _results(nus: FloatArray, scores: FloatArray, n_features: IntArray) -> dict[str, Any]:
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
