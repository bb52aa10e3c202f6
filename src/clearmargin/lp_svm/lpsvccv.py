"""The 1-norm support vector classifier with its sparsity chosen by cross-validation.

`default_machine` is what is trained where nobody chooses a machine, in Python and on the command line.
"""

from __future__ import annotations

import math
import warnings
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
from sklearn.utils.sparsefuncs import inplace_column_scale, mean_variance_axis

from clearmargin.exceptions import ClearmarginWarning, InvalidValueError
from clearmargin.lp_svm.lpsvc import LPSVC, monotone_signs
from clearmargin.lp_svm.lpsvm import LPSVMData
from clearmargin.lp_svm.lpsvm_path import (
    Doubt,
    Fold,
    Grid,
    LPSVMPath,
    Tried,
    accuracy,
    choose_plane,
    count_features,
    features_within,
    results,
    score_fold,
    zero_penalty,
)
from clearmargin.models.plane import PlaneClassifier
from clearmargin.progress import Progress, all_or_nothing, collect
from clearmargin.tables.row_order import sample_classes
from clearmargin.tables.sampled_fit import fits_a_sample
from clearmargin.tables.splitting import Folds, Splitting
from clearmargin.tables.validation import (
    TwoClasses,
    check_choice,
    check_positive,
    point_costs,
    read_training,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# From the first feature to a plane that fits the training data closely: three decades.
_STEP, _GRID_STEPS = math.sqrt(2.0), 20
# Nine decades without any feature: no plane is better than a constant.
_SEARCH_STEPS = 60
# So far below the end of the path a plane is constant in the folds, too, where the end lies a little elsewhere.
_CONSTANT_SHARE = 1.0 / 8.0
_RULES = ("best", "1se")
# Of more columns so many folds take half a minute for 500 rows, and twice as many a minute.
_MANY_COLUMNS, _FEW_FOLDS = 5_000, 5
# With more rows planes are tried on so many of them, in place of all; the plane that is chosen is that of all rows.
_MOST_ROWS = 5_000


@dataclass(frozen=True)
class _Task:
    """What `fit` was given, read."""

    points: Any
    labels: TwoClasses
    weight: FloatArray
    routed: Any
    splits: list[Any]
    groups: IntArray
    # Not scaled: scorers look at the table as it is.
    table: Any
    sign: IntArray | None
    # By these planes are tried: zero for the rows that a sample leaves out, and more than `weight` for the others.
    trial_weight: FloatArray

    def signs(self, columns: IntArray) -> IntArray | None:
        """Return which weights of some columns may have one sign only."""
        return None if self.sign is None else self.sign[columns]


class LPSVCCV(PlaneClassifier):
    """1-norm support vector classifier that chooses `nu` by cross-validation, with an eye on sparsity.

    Boxes, and people, need planes with few features. The plain maximum of the cross-validated score keeps many;
    the rule of one standard error and the cap `max_features` give sparser planes.

    Of more than 5,000 rows (of a table that is not sparse) about as many are drawn by their values, class by class,
    for the planes that are tried; each class counts as much as all its rows. They are scored on all rows of their test
    parts, and the chosen plane is trained on all rows.

    Parameters
    ----------
    nus : array-like of float, optional
        Values of `nu` to try. By default a constant plane, and a grid of 20 values by factors of the square root of
        2, upwards from where the first feature enters, so that it fits the number of rows and the scale of the data.
    cv : int, splitter or iterable, default 10
        Folds by which `nu` is chosen; an int means stratified folds, at most as many as the rarer class has rows, and
        of more than 5,000 columns at most 5. For groups and times, see `fit`.
    rule : {"best", "1se"}, default "best"
        "best" takes the highest mean score, of equal ones the sparsest plane; "1se" the sparsest plane whose mean score
        is within one standard error of it, and which beats a constant plane by more than one standard error of the
        differences in the same folds, if any plane does.
    max_features : int, optional
        Maximum number of features of the plane. Early planes of a path are shrunken ones. So where planes of the grid
        have more features, the first ones that enter are selected, in each fold its own, and planes are trained anew
        over these alone, with another grid of `nu`; the choice is among these and the planes of the path within the
        cap.
    feature_groups : array-like of shape (n,), optional
        For each column the feature that it belongs to, a number or a name. Columns of the same feature, such as the
        0/1 columns of a category, count as one for `max_features` and are selected together. By default each column
        is a feature.
    allow_constant : bool, default True
        Whether the plane may be constant where there is another one: with the rule "best" if it is better than all
        others, with "1se" if nothing beats it by more than one such standard error. A warning says so. If not, there
        is a warning where nothing beats a constant plane.
    scale : bool, default False
        Whether columns count in units of their standard deviations, rounded to powers of two, so that features of
        very different units have the same chance. The 0/1 columns of a feature of several columns stay as they are.
        Weights are in the units of the table in any case.
    scoring : str or callable, optional
        How to score a fold; accuracy by default.
    class_weight, monotone, fit_intercept, tol
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
        For each value: `nu`, `n_features` (of the plane fitted to all data; 0 if it is constant),
        `mean_test_score`, `std_test_score`, `se_test_score`, `rank_test_score` and `split<k>_test_score`. Where
        `features_` are not all columns, these are planes over them.
    scale_ : ndarray of float
        What columns are divided by in training; all 1 unless `scale`. The plane is that of `LPSVC(nu_)` on the scaled
        columns `features_`, with its weights divided by their `scale_`, which is exact. `objective_` and `gap_` are
        those of the scaled columns.
    doubt_ : Doubt or None
        What is known where no plane within the cap beats a constant one by more than one standard error; None where one
        does, or where `nus` give no constant plane to compare with.
    coef_, intercept_, hyperplane_, objective_, gap_, classes_, n_features_in_, feature_names_in_
        As for `LPSVC`, fitted to all rows and the columns `features_` with `nu_`: the optimum that `gap_` certifies is
        that over these columns.
    n_iter_ : int
        Number of linear programs solved for the final plane.
    n_rows_, n_sampled_rows_ : int
        How many rows the table has, and how many of them were taken: all, or of a table in files a sample, in which a
        row weighs as much as the rows of its class that it stands for. Trained on all rows, the plane for `nu_` is
        that of `LPSVC`.

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
        feature_groups: Any = None,
        allow_constant: bool = True,
        scale: bool = False,
        scoring: Any = None,
        class_weight: Any = None,
        monotone: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        progress: Progress = "auto",
    ):
        self.nus = nus
        self.cv = cv
        self.rule = rule
        self.max_features = max_features
        self.feature_groups = feature_groups
        self.allow_constant = allow_constant
        self.scale = scale
        self.scoring = scoring
        self.class_weight = class_weight
        self.monotone = monotone
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.n_jobs = n_jobs
        self.progress = progress

    @all_or_nothing
    @fits_a_sample
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        times: Any = None,
        **params: Any,
    ) -> Self:
        """Choose `nu` and find the plane.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (m, n), or what `clearmargin.scan` gives
            The points; a table in files has its labels with it, and of more than 100,000 rows a sample is taken.
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
        sign = monotone_signs(self.monotone, X)
        points, labels = read_training(self, X, y, accept_sparse=True)
        weight = point_costs(labels, sample_weight, None, points)
        routed = self._route(None if sample_weight is None else weight, groups, params)
        self.folds_ = self._folds(points, labels, routed, groups, times)
        features = self._features(points.shape[1])
        self.scale_ = self._scales(points[weight > 0], features)
        scaled = _divided(points, self.scale_)
        pairs = list(self.folds_.pairs)
        trial = trial_weight(scaled, labels.codes, weight, [train for train, _ in pairs])
        task = _Task(scaled, labels, weight, routed, pairs, features, points, sign, trial)
        self._choose_and_fit(task)
        return self

    def _choose_and_fit(self, task: _Task) -> None:
        everything = np.arange(task.points.shape[1])
        looks = [self._try(task, everything, [everything] * len(task.splits))]
        if len(looks[0].kept) and (looks[0].table["n_features"] > self._cap()).any():
            # A fold that used the features of all data would have seen the rows that it is scored by.
            looks.append(self._try(task, looks[0].kept, looks[0].kept_in_folds))
        self._choose(looks)
        self._fit_chosen(task)

    def _try(self, task: _Task, columns: IntArray, in_folds: Sequence[IntArray]) -> Tried:
        """Score a grid of planes over some columns, which each fold has of its own."""
        part = _take(task.points, columns)
        data = self._data(part, task.labels, task.trial_weight, task.signs(columns))
        path = LPSVMPath(data)
        groups = task.groups[columns]
        grid = Grid(self._grid(path, data), self._cap(), task.groups)
        planes = sparse.csr_array(np.array([path.solve(1.0 / nu)[0] for nu in grid.nus]))
        scored = self._score_folds(task, in_folds, grid)
        scores = np.array([scores for scores, _ in scored]).T
        return Tried(
            columns,
            results(grid.nus, scores, count_features(planes, groups)),
            scores,
            columns[features_within(planes, self._cap(), groups)],
            [kept for _, kept in scored],
        )

    def _fit_chosen(self, task: _Task) -> None:
        final = self._fit_plane(task, self.features_)
        w = np.zeros((1, task.points.shape[1]))
        w[0, self.features_] = final.coef_[0]
        plane = sparse.csr_array(w)
        if count_features(plane, task.groups)[0] > self._cap():
            # Where optimal planes are many, the path may have met another one, with fewer features.
            self.features_: IntArray = features_within(plane, self._cap(), task.groups)
            final = self._fit_plane(task, self.features_)
            w[:] = 0.0
            w[0, self.features_] = final.coef_[0]
        self._set_plane(w[0] / self.scale_, float(final.intercept_[0]), task.labels.classes)
        self.objective_, self.gap_, self.n_iter_ = final.objective_, final.gap_, final.n_iter_

    def _fit_plane(self, task: _Task, columns: IntArray) -> LPSVC:
        """Train the plane for the chosen `nu` over the chosen columns."""
        signs = task.signs(columns)
        svm = LPSVC(
            self.nu_,
            class_weight=self.class_weight,
            monotone=None if signs is None else dict(enumerate(signs.tolist())),
            fit_intercept=self.fit_intercept,
            tol=self.tol,
        )
        points, labels = _take(task.points, columns), task.labels
        return svm.fit(points, labels.classes[labels.codes], sample_weight=task.weight)

    def _scales(self, points: Any, groups: IntArray) -> FloatArray:
        """Return what to divide columns by: powers of two, so that no value and no weight is rounded."""
        scales = np.ones(points.shape[1])
        if self.scale:
            spread = _standard_deviations(points)
            alone = np.bincount(groups)[groups] == 1
            # A weight of a column that is smaller still would be no float.
            usable = alone & (spread > _SMALLEST_SPREAD) & np.isfinite(spread)
            scales[usable] = np.exp2(np.round(np.log2(spread[usable])))
        return scales

    def _cap(self) -> float:
        return math.inf if self.max_features is None else self.max_features

    def _check_max_features(self) -> None:
        cap = self.max_features
        if cap is not None and (not isinstance(cap, Integral) or isinstance(cap, bool) or cap < 1):
            raise InvalidValueError(
                f"max_features must be a whole number from 1 or None, not {cap!r}"
            )

    def _features(self, n: int) -> IntArray:
        """Return the feature of each column, as numbers."""
        if self.feature_groups is None:
            return np.arange(n)
        given = np.asarray(self.feature_groups)
        if given.shape != (n,):
            raise InvalidValueError(
                f"feature_groups must name the feature of each of the {n} columns, not be of shape {given.shape}"
            )
        return np.unique(given, return_inverse=True)[1].astype(np.intp)

    def _grid(self, path: LPSVMPath, data: LPSVMData) -> FloatArray:
        """Return the values to try; the first default one gives a constant plane."""
        if self.nus is not None:
            nus = np.unique(np.asarray(self.nus, dtype=np.float64).ravel())
            if not len(nus) or not (np.isfinite(nus).all() and nus[0] > 0):
                raise InvalidValueError(f"nus must be positive numbers, not {self.nus!r}")
            return nus
        # Up to this penalty all weights are known to be zero.
        total = float(data.cost.sum())
        end = zero_penalty(data)
        if end <= _SMALLEST_SPREAD * total:
            end = total
        steps = (_STEP ** np.arange(1, _SEARCH_STEPS + 1) / end).tolist()
        first = float(next((nu for nu in steps if path.solve(1.0 / nu)[0].any()), steps[0]))
        grid = first * _STEP ** np.arange(_GRID_STEPS)
        return np.concatenate([[_CONSTANT_SHARE / end], grid])

    def _data(
        self, points: Any, labels: TwoClasses, weight: FloatArray, sign: IntArray | None
    ) -> LPSVMData:
        """Return the program with nu = 1 / penalty; points of weight zero are left out."""
        present = weight > 0
        here = TwoClasses(labels.classes[labels.codes[present]])
        cost = point_costs(here, weight[present], self.class_weight, points[present])
        return LPSVMData(
            points[present], here.signs, cost, fit_intercept=self.fit_intercept, sign=sign
        )

    def _scorer(self) -> Any:
        scorer = check_scoring(self, scoring=self.scoring or "accuracy")
        if self.scoring is None and _routing_enabled():
            # Weights count in the default score, as they do without routing.
            scorer.set_score_request(sample_weight=True)
        return scorer

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
        more = {name: value for name, value in routed.splitter.split.items() if name != "groups"}
        cv = self.cv
        if isinstance(cv, Integral) and points.shape[1] > _MANY_COLUMNS:
            cv = min(cv, _FEW_FOLDS)
        return Splitting(cv, groups, times, params=more).folds(points, labels.codes)

    def _fold(self, task: _Task, split: Any, columns: IntArray) -> Fold:
        (train, test), points, labels = split, task.points, task.labels
        given = task.routed.scorer.score.items()
        return Fold(
            self._data(
                _take(points[train], columns),
                _part(labels, train),
                task.trial_weight[train],
                task.signs(columns),
            ),
            columns,
            self.scale_,
            task.table[test],
            labels.classes[labels.codes[test]],
            {k: _safe_indexing(v, test) for k, v in given if v is not None},
        )

    def _score_folds(
        self, task: _Task, in_folds: Sequence[IntArray], grid: Grid
    ) -> list[tuple[list[float], IntArray]]:
        scorer = accuracy if self.scoring in (None, "accuracy") else self._scorer()
        classes = task.labels.classes
        jobs = (
            delayed(score_fold)(self._fold(task, split, columns), grid, scorer, classes)
            for split, columns in zip(task.splits, in_folds, strict=True)
        )
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
        return collect(parallel(jobs), "cross-validation", len(task.splits), show=self.progress)

    def _choose(self, looks: Sequence[Tried]) -> None:
        """Choose a plane within the cap among all that were tried."""
        counts = [tried.table["n_features"] for tried in looks]
        within = [np.flatnonzero(count <= self._cap()) for count in counts]
        # Planes over the features that the cap left are within it; so there is always one.
        scores = np.vstack([t.scores[rows] for t, rows in zip(looks, within, strict=True)])
        count = np.concatenate([c[rows] for c, rows in zip(counts, within, strict=True)])
        place = choose_plane(scores, count, self.rule, allow_constant=self.allow_constant)
        look = int(place >= len(within[0]))
        self.features_, self.cv_results_ = looks[look].columns, looks[look].table
        self.nu_ = float(self.cv_results_["nu"][within[look][place - look * len(within[0])]])
        self.doubt_ = Doubt.about(looks[0], scores, count, place, self._cap())
        if self.doubt_ is not None and (self.doubt_.is_constant or not self.allow_constant):
            warnings.warn(self.doubt_.in_python(), ClearmarginWarning, stacklevel=3)

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


def _standard_deviations(points: Any) -> FloatArray:
    if sparse.issparse(points):
        _, variance = mean_variance_axis(points, axis=0)
        return np.sqrt(np.asarray(variance, dtype=np.float64))
    reach = np.abs(points).max(axis=0, initial=0.0)
    if _is_safe_to_square(reach):
        return np.asarray(points.std(axis=0), dtype=np.float64)
    # In units near 1, powers of two so that nothing is rounded, and back.
    unit = np.exp2(np.floor(np.log2(np.where(reach > 0, reach, 1.0))))
    return np.asarray((points / unit).std(axis=0) * unit, dtype=np.float64)


def _is_safe_to_square(reach: FloatArray) -> bool:
    """Check that squares of numbers of these magnitudes neither overflow nor vanish."""
    used = reach[reach > 0]
    return bool(((used > 1e-140) & (used < 1e140)).all())


def _divided(points: Any, scales: FloatArray) -> Any:
    if (scales == 1.0).all():
        return points
    if isinstance(points, np.ndarray):
        return points / scales
    scaled = points.copy()
    inplace_column_scale(scaled, 1.0 / scales)
    return scaled


_SMALLEST_SPREAD = 1e-290
FOLDS = 10
# In n dimensions the largest box on a plane has n!/n^n of a corner's volume: 4 % at 5, 0.2 % at 8, 0.04 % at 10.
MAX_FEATURES = 8


def default_machine(
    smallest_class: int, *, max_features: int | None = None, cv: Any = None, **options: Any
) -> LPSVC | LPSVCCV:
    """Make the default support vector machine, not yet trained."""
    folds = min(FOLDS, smallest_class)
    if folds < 2:
        return LPSVC(class_weight=options.get("class_weight"))
    return LPSVCCV(
        cv=folds if cv is None else cv,
        rule="1se",
        max_features=MAX_FEATURES if max_features is None else max_features,
        # Where nothing beats a constant plane, there is still a plane to look at, and a warning.
        allow_constant=False,
        scale=True,
        **options,
    )


def trial_weight(
    points: Any, codes: IntArray, weight: FloatArray, parts: Sequence[IntArray]
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
    for train in parts:
        there, drawn = (np.unique(codes[train][w[train] > 0]) for w in (weight, trial))
        # Folds of the user may hold a class in so few rows that none was drawn.
        if len(drawn) < len(there):
            return weight
    return trial
