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

from clearmargin.exceptions import InvalidValueError, SolverError
from clearmargin.lp_svm.lpsvc import LPSVC
from clearmargin.lp_svm.lpsvm import LPSVMData, LPSVMSolution, balanced
from clearmargin.lp_svm.lpsvm_exact import Centred
from clearmargin.lp_svm.lpsvm_sifting import Master, grow, sift_lpsvm, steepest_features
from clearmargin.lp_svm.lpsvm_solve import solve_lpsvm
from clearmargin.rules.arithmetic import linear_scores, weighted_sums

__all__ = [
    "Doubt",
    "Fold",
    "Grid",
    "LPSVMPath",
    "Tried",
    "accuracy",
    "choose_plane",
    "count_features",
    "features_within",
    "leads",
    "results",
    "score_fold",
    "zero_penalty",
]


# Up to this many points one master with all of them is kept; beyond it sifting from samples is faster.
_KEPT_POINTS = 8_000
# Below it (with costs of 1) the absolute tolerance of the solver, 1e-9, is no longer small against the rows' limits.
_LEAST_PENALTY = 1e-2


def zero_penalty(data: LPSVMData) -> float:
    """Return a penalty from which on all weights are zero.

    With w = 0 the multipliers of the lighter class are at their costs, and any multipliers of the other one that
    balance them and keep X'alpha within the penalty prove that w = 0 is optimal. Equal shares are one choice,
    so the value is the exact end of the path for balanced classes and above it otherwise.

    Parameters
    ----------
    data : LPSVMData
        The data; its own penalty plays no role.

    Returns
    -------
    float
        The penalty; 0 when no feature tells the classes apart in the mean.

    Examples
    --------
    >>> data = LPSVMData(np.array([[0.0], [2.0]]), np.array([-1.0, 1.0]), cost=np.ones(2))
    >>> zero_penalty(data)
    2.0
    """
    u = balanced(data.cost, data.y) if data.fit_intercept else data.cost
    # Balanced multipliers add up to zero, whatever is taken off a column; of one far from zero only rounding is left.
    X = Centred.around(data).data.X
    return float(data.steepness(weighted_sums(X, data.y * u)).max(initial=0.0))


class LPSVMPath:
    """Solutions for one data set and many penalties.

    Going from large penalties to small ones, features enter one by one and the basis of one solution is a good
    start for the next.

    Parameters
    ----------
    data : LPSVMData
        The data; its own penalty plays no role.
    tol : float, default 1e-6
        Relative gap to reach.
    max_iter : int, default 1000
        Most linear programs to solve for one penalty.

    Examples
    --------
    >>> data = LPSVMData(np.array([[0.0], [2.0]]), np.array([-1.0, 1.0]), cost=np.ones(2))
    >>> path = LPSVMPath(data)
    >>> [path.solve(penalty).w.tolist() for penalty in (3.0, 1.0)]
    [[0.0], [1.0]]
    """

    def __init__(self, data: LPSVMData, *, tol: float = 1e-6, max_iter: int = 1_000):
        self._unit = float(data.cost.max())
        self._data = replace(data, cost=data.cost / self._unit)
        self._tol = tol
        self._max_iter = max_iter
        self._features = steepest_features(data)
        self._master: Master | None = None

    def solve(self, penalty: float) -> LPSVMSolution:
        """Solve for one penalty, starting from the last solution."""
        data = replace(self._data, penalty=penalty / self._unit)
        try:
            solution = self._from_the_last(data)
        except SolverError:
            # As `LPSVC` does: there are other ways to the same plane.
            solution = solve_lpsvm(data, tol=self._tol, max_iter=self._max_iter)
            self._master = None
        return replace(
            solution,
            u=solution.u * self._unit,
            objective=solution.objective * self._unit,
            bound=solution.bound * self._unit,
        )

    def _from_the_last(self, data: LPSVMData) -> LPSVMSolution:
        if len(data) > _KEPT_POINTS or data.penalty < _LEAST_PENALTY:
            solution = sift_lpsvm(
                data, tol=self._tol, max_iter=self._max_iter, features=self._features
            )
            self._features = np.union1d(self._features, np.flatnonzero(solution.w))
            return solution
        if self._master is None:
            # A column of times in seconds is far from zero, and rows that differ by parts of one would be lost.
            self._centred = Centred.around(data)
            self._master = Master(self._centred.data, self._features)
        else:
            self._master.set_penalty(data.penalty)
        solution = grow(self._master, self._tol, self._max_iter)
        w, b = self._centred.plane(solution.w, solution.b)
        return replace(solution, w=w, b=b)


@dataclass(frozen=True)
class Doubt:
    """No plane within the cap beats a constant one by more than one standard error of the differences in the folds.

    Parameters
    ----------
    is_constant : bool
        Whether the chosen plane is constant.
    constant_score, score : float
        Mean scores of the constant plane and of the chosen one.
    folds : int
        Number of folds.
    cap : float
        Maximum number of features; infinite without a cap.
    more_features, more_score : int or None, float or None
        Number of features and mean score of the best plane beyond the cap, where that one beats a constant one.
    """

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
        """Compare all planes with a constant one.

        Parameters
        ----------
        path : Tried
            The planes over all columns, within the cap and beyond it.
        scores, counts
            Scores in the folds and numbers of features of the planes within the cap.
        place : int
            The chosen one.
        cap : float
            Maximum number of features.

        Returns
        -------
        Doubt or None
            None if some plane beats the constant one, or there is none to compare with.
        """
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
        """Say it to somebody who called the estimator.

        Examples
        --------
        >>> print(Doubt(True, 0.7, 0.7, 10, 8.0).in_python().split(".  ")[0][:60])
        no plane with at most 8 features beats a constant one by mor
        """
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


FloatArray = NDArray[np.float64]
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
    fold: Fold, grid: Grid, tol: float, scorer: Callable[..., float], classes: NDArray[Any]
) -> tuple[list[float], IntArray]:
    """Score the whole path on one fold, each plane starting from the one before; give what a cap leaves, too."""
    path = LPSVMPath(fold.train, tol=tol)
    planes, scores = [], []
    for nu in grid.nus:
        solution = path.solve(1.0 / nu)
        w = np.zeros(fold.X_test.shape[1])
        w[fold.columns] = solution.w
        model = LPSVC(nu)
        model._set_plane(w / fold.scale, solution.b, classes)
        model.n_features_in_ = len(w)
        scores.append(float(scorer(model, fold.X_test, fold.y_test, **fold.score_params)))
        planes.append(w)
    return scores, features_within(sparse.csr_array(np.array(planes)), grid.cap, grid.groups)


def accuracy(
    model: LPSVC, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None
) -> float:
    """Score a plane by the share of rows that it gets right, as scikit-learn's scorer does.

    A search asks this hundreds of times of tables that were validated once, and validation took longer than training.

    Examples
    --------
    >>> model = LPSVC().fit([[0.0], [3.0]], ["no", "yes"])
    >>> accuracy(model, np.array([[-1.0], [4.0], [5.0]]), np.array(["no", "yes", "no"]))
    0.6666666666666666
    """
    positive = linear_scores(X, model.coef_[0], float(model.intercept_[0])) > 0
    right = model.classes_[positive.astype(np.intp)] == y
    return float(np.average(right, weights=sample_weight))


def features_within(planes: sparse.csr_array, cap: float, groups: IntArray) -> IntArray:
    """Select the columns of at most `cap` features along a path of planes.

    These are the features of the plane with most of them among those within the cap, and then, as long as there is
    room, those that enter with the planes after it, the one with the largest weights of a plane first.

    Parameters
    ----------
    planes : sparse array of shape (k, n)
        Weights of the planes of the grid, for growing `nu`.
    cap : float
        Maximum number of features.
    groups : ndarray of int of shape (n,)
        The feature that each column belongs to; columns of a category share one.

    Returns
    -------
    ndarray of int
        Columns, all of each feature; of planes with equally many features the last counts. None where all planes
        are constant.

    Examples
    --------
    >>> planes = sparse.csr_array([[0.0, 1.0, 0.0], [0.0, 2.0, 0.5], [0.1, 2.0, 1.0]])
    >>> features_within(planes, 2, np.arange(3))
    array([1, 2])
    >>> features_within(planes, 1, np.array([0, 1, 1]))
    array([1, 2])
    """
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
    """Count the features of each plane that have a weight; columns of one group are one feature.

    Examples
    --------
    >>> planes = sparse.csr_array([[0.0, 0.0, 0.0], [1.0, 0.5, 2.0]])
    >>> count_features(planes, np.arange(3)), count_features(planes, np.array([0, 1, 1]))
    (array([0, 3]), array([0, 2]))
    """
    entries = zip(planes.indptr[:-1], planes.indptr[1:], strict=True)
    return np.array(
        [len(np.unique(groups[planes.indices[a:b]])) for a, b in entries], dtype=np.intp
    )


def choose_plane(
    scores: FloatArray, counts: IntArray, rule: str, *, allow_constant: bool = True
) -> int:
    """Choose among planes by their scores in the same folds and their numbers of features.

    Parameters
    ----------
    scores : ndarray of shape (k, folds)
        Of each plane in each fold.
    counts : ndarray of int of shape (k,)
        Number of features of each plane; 0 for a constant one.
    rule : {"best", "1se"}
        "best": the highest mean score; of equal ones the plane with the fewest features. "1se": the plane with the
        fewest features whose mean score is within one standard error of the highest; where some planes beat a
        constant one by more than one standard error of the differences, one of these.
    allow_constant : bool, default True
        Whether a constant plane may be chosen where there is another: by "best" if it is better than all others, by
        "1se" if no other plane beats it by more than one standard error of the differences, fold by fold.

    Returns
    -------
    int
        The position of the plane; of equally good and sparse ones the first.

    Examples
    --------
    The second plane is better than the constant one in every fold, and nearly as good as the third:

    >>> scores = np.array([[0.6, 0.7, 0.6], [0.7, 0.8, 0.7], [0.7, 0.8, 0.8]])
    >>> choose_plane(scores, np.array([0, 1, 5]), "1se"), choose_plane(scores, np.array([0, 1, 5]), "best")
    (1, 2)
    """
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
    """Tell which planes are better than others by more than one standard error of the differences in the folds.

    Parameters
    ----------
    planes, others : ndarray of shape (k, folds) and (l, folds)
        Scores.

    Returns
    -------
    ndarray of bool of shape (k, l)
        Whether one beats the other; with a single fold, whether its score is higher.

    Examples
    --------
    >>> leads(np.array([[0.8, 0.9, 0.8]]), np.array([[0.6, 0.8, 0.7], [0.8, 0.8, 0.8]]))
    array([[ True, False]])
    """
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
