"""The 1-norm support vector classifier with its sparsity chosen by cross-validation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, _safe_indexing
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)

from clearmargin.core.progress import Progress, progress_bar
from clearmargin.exceptions import InvalidValueError
from clearmargin.linear.lpsvc import LPSVC
from clearmargin.linear.path_scores import (
    Fold,
    Tried,
    count_features,
    features_within,
    results,
    score_fold,
)
from clearmargin.linear.plane import PlaneClassifier
from clearmargin.linear.splitting import Folds, Splitting
from clearmargin.linear.validation import (
    TwoClasses,
    check_choice,
    check_positive,
    point_costs,
    read_training,
)
from clearmargin.programs.lpsvm import LPSVMData
from clearmargin.programs.lpsvm_path import LPSVMPath, zero_penalty

__all__ = ["LPSVCCV"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# From the first feature to a plane that fits the training data closely: three decades.
_STEP, _GRID_STEPS = math.sqrt(2.0), 20
# Nine decades without any feature: no plane is better than a constant.
_SEARCH_STEPS = 60
# Enough to tell apart two features that enter within a millionth of each other.
_BISECTIONS = 20
_RULES = ("best", "1se")
# A loss of so many standard errors of the best score is called much; it is a rule of thumb, as folds share rows.
_MUCH = 2.0


@dataclass(frozen=True)
class _Task:
    """What `fit` was given, read."""

    points: Any
    labels: TwoClasses
    weight: FloatArray
    routed: Any
    splits: list[Any]


class LPSVCCV(PlaneClassifier):
    """1-norm support vector classifier that chooses `nu` by cross-validation, with an eye on sparsity.

    Boxes, and people, need planes with few features. The plain maximum of the cross-validated score keeps many;
    the rule of one standard error and the cap `max_features` give sparser planes of about the same quality.

    Parameters
    ----------
    nus : array-like of float, optional
        Values of `nu` to try. By default a grid of 20 values by factors of the square root of 2, upwards from
        where the first feature enters, so that it fits the number of rows and the scale of the data.
    cv : int, splitter or iterable, default 10
        Folds by which `nu` is chosen; an int means stratified folds, at most as many as the rarer class has rows. For
        groups and times, see `fit`.
    rule : {"best", "1se"}, default "best"
        "best" takes the highest mean score (of equal ones the sparsest plane); "1se" the sparsest plane whose mean
        score is within one standard error of it.
    max_features : int, optional
        Only planes with at most so many features, fitted to all data, are considered. Early planes of a path are
        shrunken ones; where the cap costs more than two standard errors of the best score (with a single split:
        anything), the features of the fullest plane of the grid within it are kept, in each fold its own, and `nu` is
        chosen anew among planes over these alone, if these score better. Where no plane is within the cap, the
        heaviest features of the sparsest one are kept.
    scoring : str or callable, optional
        How to score a fold; accuracy by default.
    class_weight, fit_intercept, tol
        As for `LPSVC`.
    n_jobs : int, optional
        Number of folds to work on at the same time.
    progress : bool or "auto", default "auto"
        Whether to show a progress bar on stderr; "auto" does so on a terminal when the work is slow.

    Attributes
    ----------
    nu_ : float
        The value chosen.
    features_ : ndarray of int
        Columns over which the plane was trained: all of them, or those that the cap left. The plane is that of
        `LPSVC(nu_)` on these columns.
    folds_ : Folds
        Training and test rows of the search, how they were made, and how many rows occur in both parts of a fold.
    cv_results_ : dict of ndarrays
        Scores by which the value was chosen. They are no estimate for other rows: the highest of many is too high.
        For each value: `nu`, `n_features` (of the plane fitted to all data), `mean_test_score`, `std_test_score`,
        `se_test_score`, `rank_test_score` and `split<k>_test_score`. Where `features_` are not all columns, these are
        planes over them.
    coef_, intercept_, hyperplane_, objective_, gap_, classes_, n_features_in_, feature_names_in_
        As for `LPSVC`, fitted to all rows and the columns `features_` with `nu_`: the optimum that `gap_` certifies is
        that over these columns.
    n_iter_ : int
        Number of linear programs solved for the final plane.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> svm = LPSVCCV(rule="1se", max_features=5, cv=5).fit(X, y)
    >>> int((svm.coef_ != 0).sum()) <= 5
    True
    """

    _accepts_sparse = True

    def __init__(
        self,
        nus: Any = None,
        *,
        cv: Any = 10,
        rule: str = "best",
        max_features: int | None = None,
        scoring: Any = None,
        class_weight: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        progress: Progress = "auto",
    ):
        self.nus = nus
        self.cv = cv
        self.rule = rule
        self.max_features = max_features
        self.scoring = scoring
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        times: Any = None,
        **params: Any,
    ) -> Self:
        """Choose `nu` and find the plane.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (m, n)
            The points.
        y : array-like of shape (m,)
            Labels of two classes.
        sample_weight : array-like of shape (m,), optional
            Weights of the points, in the fits and (if the scorer asks for them) in the scores.
        groups : array-like of shape (m,), optional
            Rows with the same value are never in both parts of a fold.
        times : array-like of shape (m,), optional
            Numbers, dates or ISO texts; folds are tested on rows later than those they were trained on.
        **params : dict
            More metadata for the splitter and the scorer, with metadata routing enabled.

        Returns
        -------
        LPSVCCV
            The fitted classifier.
        """
        check_choice("rule", self.rule, _RULES)
        check_positive("tol", self.tol)
        self._check_max_features()
        points, labels = read_training(self, X, y, accept_sparse=True)
        weight = point_costs(labels, sample_weight, None, points)
        routed = self._route(None if sample_weight is None else weight, groups, params)
        self.folds_ = self._folds(points, labels, routed, groups, times)
        task = _Task(points, labels, weight, routed, list(self.folds_.pairs))
        self.features_ = np.arange(points.shape[1])
        tried = self._try(task, self.features_, [self.features_] * len(task.splits))
        if self._cap_costs(tried.table):
            # A fold that used the features of all data would have seen the rows that it is scored by.
            again = self._try(task, tried.kept, tried.kept_in_folds)
            if self._best_within(again.table) > self._best_within(tried.table):
                self.features_, tried = tried.kept, again
        self.cv_results_ = tried.table
        self.nu_ = float(self.cv_results_["nu"][self._choose()])
        self._fit_chosen(task)
        return self

    def _try(self, task: _Task, columns: IntArray, in_folds: Sequence[IntArray]) -> Tried:
        """Score a grid of planes over some columns, which each fold has of its own."""
        data = self._data(_take(task.points, columns), task.labels, task.weight)
        path = LPSVMPath(data, tol=self.tol)
        nus = self._grid(path, zero_penalty(data) or float(data.cost.sum()))
        solved = [sparse.csr_array(path.solve(1.0 / nu).w[None, :]) for nu in nus]
        planes = sparse.vstack(solved, format="csr")
        scored = self._score_folds(task, in_folds, nus)
        scores = np.array([scores for scores, _ in scored]).T
        return Tried(
            results(nus, scores, np.diff(planes.indptr).astype(np.intp)),
            features_within(planes, self._cap()),
            [kept for _, kept in scored],
        )

    def _fit_chosen(self, task: _Task) -> None:
        points, labels = task.points, task.labels
        final = LPSVC(
            self.nu_,
            class_weight=self.class_weight,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
        ).fit(
            _take(points, self.features_), labels.classes[labels.codes], sample_weight=task.weight
        )
        w = np.zeros(points.shape[1])
        w[self.features_] = final.coef_[0]
        self._set_plane(w, float(final.intercept_[0]), labels.classes)
        self.objective_, self.gap_, self.n_iter_ = final.objective_, final.gap_, final.n_iter_

    def _cap(self) -> float:
        return math.inf if self.max_features is None else self.max_features

    def _check_max_features(self) -> None:
        cap = self.max_features
        if cap is not None and (not isinstance(cap, Integral) or isinstance(cap, bool) or cap < 1):
            raise InvalidValueError(
                f"max_features must be a whole number from 1 or None, not {cap!r}"
            )

    def _grid(self, path: LPSVMPath, end: float) -> FloatArray:
        """The values to try; `end` is the penalty up to which all weights are known to be zero."""
        if self.nus is not None:
            nus = np.unique(np.asarray(self.nus, dtype=np.float64).ravel())
            if not len(nus) or not (np.isfinite(nus).all() and nus[0] > 0):
                raise InvalidValueError(f"nus must be positive numbers, not {self.nus!r}")
            return nus
        steps = (_STEP ** np.arange(1, _SEARCH_STEPS + 1) / end).tolist()
        first = float(next((nu for nu in steps if count_features(path, nu)), steps[0]))
        first = self._within_cap(path, first)
        return np.asarray(first * _STEP ** np.arange(_GRID_STEPS))

    def _within_cap(self, path: LPSVMPath, first: float) -> float:
        """Go back from a value with too many features to one within the cap, or with none."""
        cap = self._cap()
        low, high = first / _STEP, first
        for _ in range(_BISECTIONS):
            if count_features(path, high) <= cap:
                return high
            middle = math.sqrt(low * high)
            low, high = (middle, high) if not count_features(path, middle) else (low, middle)
        # At the end of the path itself, planes with and without features tie.
        return low * (1.0 - 1e-6)

    def _data(self, points: Any, labels: TwoClasses, weight: FloatArray) -> LPSVMData:
        """The program with nu = 1 / penalty; points of weight zero are left out."""
        present = weight > 0
        here = TwoClasses(labels.classes[labels.codes[present]])
        cost = point_costs(here, weight[present], self.class_weight, points[present])
        return LPSVMData(points[present], here.signs, cost, fit_intercept=self.fit_intercept)

    def _scorer(self) -> Any:
        return check_scoring(self, scoring=self.scoring or "accuracy")

    def _route(self, sample_weight: Any, groups: Any, params: dict[str, Any]) -> Any:
        """Say which metadata go to the splitter and the scorer."""
        _raise_for_params(params, self, "fit")
        if _routing_enabled():
            return process_routing(
                self, "fit", sample_weight=sample_weight, groups=groups, **params
            )
        score = {} if sample_weight is None else {"sample_weight": sample_weight}
        return Bunch(splitter=Bunch(split={}), scorer=Bunch(score=score))

    def _folds(
        self, points: Any, labels: TwoClasses, routed: Any, groups: Any, times: Any
    ) -> Folds:
        """Split the rows; what was routed to the splitter besides groups goes to it as it is."""
        more = {name: own for name, own in routed.splitter.split.items() if name != "groups"}
        return Splitting(self.cv, groups, times, params=more).folds(points, labels.codes)

    def _fold(self, task: _Task, split: Any, columns: IntArray) -> Fold:
        (train, test), points, labels = split, task.points, task.labels
        given = task.routed.scorer.score.items()
        return Fold(
            self._data(_take(points[train], columns), _part(labels, train), task.weight[train]),
            columns,
            points[test],
            labels.classes[labels.codes[test]],
            {k: _safe_indexing(v, test) for k, v in given if v is not None},
        )

    def _score_folds(
        self, task: _Task, in_folds: Sequence[IntArray], nus: FloatArray
    ) -> list[tuple[list[float], IntArray]]:
        scorer, cap, classes = self._scorer(), self._cap(), task.labels.classes
        jobs = (
            delayed(score_fold)(
                self._fold(task, split, columns), nus, cap, self.tol, scorer, classes
            )
            for split, columns in zip(task.splits, in_folds, strict=True)
        )
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
        scored = []
        with progress_bar("cross-validation", len(task.splits), self.progress) as advance:
            for one in parallel(jobs):
                scored.append(one)
                advance()
        return scored

    def _allowed(self, table: dict[str, NDArray[Any]]) -> IntArray:
        """The places of planes within the cap."""
        allowed = np.flatnonzero(table["n_features"] <= self._cap())
        # A plane without features says the same of everybody; it is taken only where there is no other.
        with_features = allowed[table["n_features"][allowed] > 0]
        return with_features if len(with_features) else allowed

    def _best_within(self, table: dict[str, NDArray[Any]]) -> float:
        return float(table["mean_test_score"][self._allowed(table)].max(initial=-np.inf))

    def _cap_costs(self, table: dict[str, NDArray[Any]]) -> bool:
        """Whether the best plane within the cap, if there is one, is much worse than the best of all."""
        best = int(np.argmax(table["mean_test_score"]))
        least = float(table["mean_test_score"][best] - _MUCH * table["se_test_score"][best])
        return self._best_within(table) < least

    def _choose(self) -> int:
        """The place of the value to take among those tried."""
        table = self.cv_results_
        allowed = self._allowed(table)
        mean, count = table["mean_test_score"][allowed], table["n_features"][allowed]
        best = int(np.argmax(mean))
        least = mean[best]
        if self.rule == "1se":
            least -= table["se_test_score"][allowed][best]
        good = np.flatnonzero(mean >= least)
        # The sparsest of the good ones; of equally sparse ones the best, then the one with the smallest nu.
        order = np.lexsort((good, -mean[good], count[good]))
        return int(allowed[good[order[0]]])

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata `fit` passes on to the splitter and the scorer."""
        splitter = check_cv(self.cv, classifier=True)
        return (
            MetadataRouter(owner=self.__class__.__name__)
            .add_self_request(self)
            .add(
                splitter=splitter,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
            .add(
                scorer=self._scorer(),
                method_mapping=MethodMapping().add(caller="fit", callee="score"),
            )
        )


def _part(labels: TwoClasses, rows: Any) -> TwoClasses:
    return TwoClasses(labels.classes[labels.codes[rows]])


def _take(points: Any, columns: IntArray) -> Any:
    # All columns are the rule, and worth no copy.
    return points if len(columns) == points.shape[1] else points[:, columns]
