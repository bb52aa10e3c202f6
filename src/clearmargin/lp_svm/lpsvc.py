"""The 1-norm support vector classifier, and the one that is trained where nobody chooses a model."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing
from sklearn.utils.sparsefuncs import inplace_column_scale, mean_variance_axis

from clearmargin.exceptions import ClearmarginWarning, InvalidValueError, UncertifiedWarning
from clearmargin.lp_svm.path import PathSearch, count_features, features_within
from clearmargin.lp_svm.program import FloatArray, LPSVMSolution
from clearmargin.lp_svm.sifting import Sifting, Summary
from clearmargin.models.plane import PlaneClassifier
from clearmargin.progress import all_or_nothing
from clearmargin.rules.arithmetic import linear_scores
from clearmargin.rules.value import IntArray
from clearmargin.tables.partitions import ArrayBlocks, Block, Partitions, is_partitions
from clearmargin.tables.sampled_fit import fits_a_sample
from clearmargin.tables.splitting import Splitting
from clearmargin.tables.table import Table
from clearmargin.tables.validation import (
    TrainingParts,
    TwoClasses,
    check_positive,
    check_whole,
    point_costs,
    read_monotone,
    read_training,
    read_training_parts,
    whole_costs,
)

# Of more columns so many folds take half a minute for 500 rows, and twice as many a minute.
_MANY_COLUMNS, _FEW_FOLDS = 5_000, 5
# A weight of a column that is smaller still would be no float.
_SMALLEST_SPREAD = 1e-290
# Of the default classifier. In n dimensions the largest box on a plane has n!/n^n of a corner's volume: 4 % at 5,
# 0.2 % at 8, 0.04 % at 10.
FOLDS, MAX_FEATURES = 10, 8


class LPSVC(PlaneClassifier):
    """Support vector classifier with the 1-norm of the weights: sparse planes, found exactly.

    It minimises ``nu * sum(hinge losses) + ||w||_1``, a linear program. Small values of `nu` leave most weights at
    exactly zero, which is what makes a plane readable. The same table gives the same plane, to some nine digits,
    whatever the processor, the number of threads and the order of the rows; `gap_` says how far it may be from optimal.

    Parameters
    ----------
    nu : float or "cv", default 1.0
        Cost of a unit of hinge loss against the 1-norm of the weights. Features count as they come: scale them, or
        choose `nu`, with that in mind. "cv" chooses it by cross-validation: the sparsest plane whose mean score is
        within one standard error of the best, and which beats a constant plane by more than one standard error of the
        differences in the same folds, if any plane does. Tried are a constant plane, and 20 values by factors of the
        square root of 2, upwards from where the first feature enters.
    cv : int, splitter or iterable, default 5
        With nu="cv", the folds; an int means stratified folds, at most as many as the rarer class has rows, and of
        more than 5,000 columns at most 5. For groups and times, see `fit`.
    max_features : int, optional
        With nu="cv", the maximum number of features of the plane. Early planes of a path are shrunken ones. So where
        planes of the grid have more features, the first ones that enter are selected, in each fold its own, and planes
        are trained anew over these alone, with another grid of `nu`; the choice is among these and the planes of the
        path within the cap.
    feature_groups : array-like of shape (n,), optional
        With nu="cv", for each column the feature that it belongs to, a number or a name. Columns of the same feature,
        such as the 0/1 columns of a category, count as one for `max_features` and are selected together.
    scale : bool, default False
        With nu="cv", whether columns count in units of their standard deviations, rounded to powers of two, so that
        features of very different units have the same chance. The 0/1 columns of a feature of several columns stay as
        they are. Weights are in the units of the table in any case.
    scoring : str or callable, optional
        With nu="cv", how to score a fold; accuracy by default.
    class_weight : mapping from class to weight, "balanced" or None, default None
        Factors of `nu` for each class.
    monotone : mapping from feature to 1 or -1, optional
        Features, by name or position, that may count in one direction only: with 1 larger values speak for
        `classes_[1]` or have no weight, with -1 for `classes_[0]`. The optimum is that among the planes that are left.
    fit_intercept : bool, default True
        Whether the plane may miss the origin.
    tol : float, default 1e-6
        Relative gap above which a warning is given.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights.
    intercept_ : ndarray of shape (1,)
        Intercept.
    objective_ : float
        Value of the objective.
    gap_ : float
        Certified relative gap of the plane as it is stored: its objective is at most ``1 / (1 - gap_)`` times the
        optimum. What rounding may add to its sums is in it, so that it is never too small.
    n_iter_ : int
        Number of linear programs solved for the plane.
    nu_ : float
        The cost: `nu`, or the one that was chosen.
    features_ : ndarray of int
        With nu="cv", the columns over which the plane was trained: all of them, or those that the cap left.
        `objective_` and `gap_` are those of the program over these columns, divided by `scale_`.
    scale_ : ndarray of float
        With nu="cv", what columns are divided by in training; all 1 unless `scale`.
    cv_results_ : dict of ndarrays
        With nu="cv", scores by which the value was chosen. They are no estimate for other rows: the highest of many is
        too high. For each value: `nu`, `n_features` (of the plane fitted to all data; 0 if it is constant),
        `mean_test_score`, `std_test_score`, `se_test_score`, `rank_test_score` and `split<k>_test_score`. Where
        `features_` are not all columns, these are planes over them.
    folds_ : Folds
        With nu="cv", training and test rows of the search, how they were made, and how many rows occur in both parts of
        a fold.
    n_rows_, n_sampled_rows_ : int
        With nu="cv", how many rows the table has, and how many of them were taken: all, or of a table in files a
        sample, in which a row weighs as much as the rows of its class that it stands for.
    note_ : str
        With nu="cv", what is known where no plane within the cap beats a constant one by more than one standard error;
        a warning says so, too. Empty where one does.
    hyperplane_ : Hyperplane
        The plane as a value.
    classes_ : ndarray of shape (2,)
        The classes; `classes_[1]` is the positive side.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had any.

    Notes
    -----
    Where several planes are optimal, as on tables of whole numbers or with duplicated columns, one is chosen by small
    prices: 4e-7 to 8e-7 of the penalty more for each weight, a little more for each feature than for the one before,
    and a hundredth for the intercept. So of equal columns the first has the weight. Numbers are rounded to twelve
    digits of the largest term of the score. Costs are taken as they are given: `sample_weight` and `class_weight`
    against a penalty of 1 / `nu`.

    A column far from zero, such as a time in seconds since 1970, leaves few digits to its weight. Where the rounding of
    the weights alone makes the gap larger than `tol`, the plane is the best there is, and a warning says so.

    With nu="cv", of more than 5,000 rows (of a table that is not sparse) about as many are drawn by their values, class
    by class, for the planes that are tried; each class counts as much as all its rows. They are scored on all rows of
    their test parts, and the chosen plane is trained on all rows. Of a table in files or a Dask collection with more
    than 100,000 rows a sample is taken for all of that; the plane of all rows for the value chosen is that of
    `LPSVC(nu_)`. Folds are worked on at the same time inside ``joblib.parallel_config(n_jobs=...)``.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> svm = LPSVC(nu=0.0025).fit(X, y)
    >>> int((svm.coef_ != 0).sum()), round(svm.objective_, 5), svm.gap_ <= 1e-6
    (5, 0.59806, True)
    >>> chosen = LPSVC(nu="cv", max_features=5).fit(X, y)
    >>> int((chosen.coef_ != 0).sum()) <= 5
    True
    """

    _accepts_sparse = True

    def __init__(
        self,
        nu: float | Literal["cv"] = 1.0,
        *,
        cv: Any = 5,
        max_features: int | None = None,
        feature_groups: Any = None,
        scale: bool = False,
        scoring: Any = None,
        class_weight: Any = None,
        monotone: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
    ):
        self.nu = nu
        self.cv = cv
        self.max_features = max_features
        self.feature_groups = feature_groups
        self.scale = scale
        self.scoring = scoring
        self.class_weight = class_weight
        self.monotone = monotone
        self.fit_intercept = fit_intercept
        self.tol = tol

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        times: Any = None,
    ) -> Self:
        """Find the plane.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (m, n), or what `clearmargin.scan` gives
            The points; a table in files has its labels with it, and is read in a few passes. Its plane is the same.
        y : array-like of shape (m,)
            Labels of two classes.
        sample_weight : array-like of shape (m,), optional
            Weights of the points, as factors of `nu`; with nu="cv" in the scores, too.
        groups : array-like of shape (m,), optional
            With nu="cv": rows with the same value are never in both parts of a fold.
        times : array-like of shape (m,), optional
            With nu="cv": numbers, dates or ISO texts; folds are tested on rows later than those they were trained on.

        Returns
        -------
        LPSVC
            The fitted classifier.
        """
        check_positive("tol", self.tol)
        Splitting(self.cv).checked(0)
        if isinstance(self.nu, str):
            if self.nu != "cv":
                raise InvalidValueError(f"nu must be a positive number or 'cv', not {self.nu!r}")
            if self.max_features is not None:
                check_whole("max_features", self.max_features, 1)
            self._fit_chosen(X, y, sample_weight=sample_weight, groups=groups, times=times)
            return self
        self.nu_ = check_positive("nu", self.nu)
        for name in ("max_features", "feature_groups", "scoring"):
            if getattr(self, name) is not None:
                raise InvalidValueError(f"{name} is for nu='cv'; leave it out, or set nu='cv'")
        if self.scale:
            raise InvalidValueError("scale=True is for nu='cv'; scale the columns, or set nu='cv'")
        if is_partitions(X):
            training = read_training_parts(self, X, y, self.class_weight, sample_weight)
            sign = None if self.monotone is None else read_monotone(self.monotone, X.names)
            known = _known(training, X.names)
            solution = self._solve(training.blocks, training.unit, sign, known)
            classes = training.classes
        else:
            sign = _monotone_signs(self.monotone, X)
            points, labels = read_training(self, X, y, accept_sparse=True)
            solution = self._solve_points(points, labels, sample_weight, sign)
            classes = labels.classes
        self._set_plane(solution.w, solution.b, classes)
        return self

    def _solve_points(
        self, points: Any, labels: TwoClasses, sample_weight: Any, sign: IntArray | None
    ) -> LPSVMSolution:
        cost, unit = whole_costs(labels, sample_weight, self.class_weight, points)
        return self._solve(ArrayBlocks(points, labels.signs, cost), unit, sign)

    def _solve(
        self,
        blocks: Partitions[Block],
        unit: float,
        sign: IntArray | None,
        known: Summary | None = None,
    ) -> LPSVMSolution:
        sifting = Sifting(blocks, fit_intercept=bool(self.fit_intercept), sign=sign, known=known)
        solution = sifting.solve(unit / self.nu_)
        self.objective_ = solution.objective * (self.nu_ / unit)
        self.gap_ = solution.gap
        self.n_iter_ = solution.n_iter
        if self.gap_ > self.tol:
            message = (
                f"the certified gap is {self.gap_:.1e}, more than tol={self.tol:g}: the plane may be that far from "
                "optimal. Scale the features, or subtract a constant from columns that are far from zero"
            )
            warnings.warn(message, UncertifiedWarning, stacklevel=5)
        return solution

    @fits_a_sample
    def _fit_chosen(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, times: Any = None
    ) -> None:
        """Choose nu and, under a cap, features by cross-validation, and train the plane on all rows."""
        sign = _monotone_signs(self.monotone, X)
        points, labels = read_training(self, X, y, accept_sparse=True)
        weight = point_costs(labels, sample_weight, None, points)
        cv = self.cv
        if isinstance(cv, Integral) and points.shape[1] > _MANY_COLUMNS:
            cv = min(cv, _FEW_FOLDS)
        self.folds_ = Splitting(cv, groups, times).folds(points, labels.codes)
        of_column = _feature_numbers(self.feature_groups, points.shape[1])
        self.scale_ = np.ones(points.shape[1])
        if self.scale:
            self.scale_ = _scales(points[weight > 0], of_column)
        scaled = _divided(points, self.scale_)
        cap = math.inf if self.max_features is None else self.max_features
        weights = None if sample_weight is None else weight
        search = PathSearch(
            scaled, labels, weight, list(self.folds_.pairs), self._score_plane(points, labels, weights),
            self.class_weight, bool(self.fit_intercept), sign, of_column, cap,
        )  # fmt: skip
        self.nu_, columns, self.cv_results_, self.note_ = search.choose()
        if self.note_:
            advice = (
                " If one class is rare, try class_weight='balanced', scoring='balanced_accuracy'"
            )
            warnings.warn(self.note_ + advice, ClearmarginWarning, stacklevel=5)
        w = np.zeros((1, points.shape[1]))
        while True:
            part = scaled if len(columns) == points.shape[1] else scaled[:, columns]
            signs = None if sign is None else sign[columns]
            solution = self._solve_points(part, labels, weight, signs)
            w[:] = 0.0
            w[0, columns] = solution.w
            plane = sparse.csr_array(w)
            if count_features(plane, of_column)[0] <= cap:
                break
            # Where optimal planes are many, the path may have met another one, with fewer features.
            columns = features_within(plane, cap, of_column)
        self.features_: IntArray = columns
        self._set_plane(w[0] / self.scale_, solution.b, labels.classes)

    def _score_plane(self, points: Any, labels: TwoClasses, weight: FloatArray | None) -> Any:
        """Return a function that scores a plane of the scaled columns on test rows of the table as it is."""
        scorer = check_scoring(self, scoring=self.scoring or "accuracy")
        is_accuracy = self.scoring in (None, "accuracy")
        scale = self.scale_

        def score(w: FloatArray, b: float, test: IntArray) -> float:
            y = labels.classes[labels.codes[test]]
            weights = None if weight is None else _safe_indexing(weight, test)
            if is_accuracy:
                positive = linear_scores(points[test], w / scale, b) > 0
                right = labels.classes[positive.astype(np.intp)] == y
                return float(np.average(right, weights=weights))
            model = LPSVC()
            model._set_plane(w / scale, b, labels.classes)
            model.n_features_in_ = len(w)
            params = {} if weights is None else {"sample_weight": weights}
            return float(scorer(model, points[test], y, **params))

        return score


def _known(training: TrainingParts, names: Sequence[str]) -> Summary | None:
    """Return what the survey told of all rows; None where rows have weights, which it did not look at one by one."""
    survey = training.survey
    if survey.weight is not None:
        return None
    columns = [survey.columns[name] for name in names]
    low, high = (np.array([getattr(c, side) for c in columns]) for side in ("low", "high"))
    return Summary.known(survey.class_counts, training.costs, low, high)


def _monotone_signs(monotone: Any, X: Any) -> IntArray | None:
    """Read the parameter `monotone` of classifiers whose table holds numbers."""
    if monotone is None:
        return None
    if hasattr(X, "tocsr"):  # a sparse matrix
        return read_monotone(monotone, [f"x{j}" for j in range(X.shape[1])])
    table = Table.read(X)
    known = monotone if isinstance(monotone, Mapping) else {}  # anything else is refused below
    asked = [name for j, name in enumerate(table.names) if name in known or j in known]
    categorical = [name for name in asked if not table.column(name).is_numeric]
    return read_monotone(monotone, table.names, categorical)


def _feature_numbers(groups: Any, n: int) -> IntArray:
    """Return the feature of each column, as numbers."""
    if groups is None:
        return np.arange(n)
    given = np.asarray(groups)
    if given.shape != (n,):
        raise InvalidValueError(
            f"feature_groups must name the feature of each of the {n} columns, not be of shape {given.shape}"
        )
    return np.unique(given, return_inverse=True)[1].astype(np.intp)


def _scales(points: Any, of_column: IntArray) -> FloatArray:
    """Return the standard deviations as powers of two, so that no value and no weight is rounded."""
    if sparse.issparse(points):
        _, variance = mean_variance_axis(points, axis=0)
        spread = np.sqrt(np.asarray(variance, dtype=np.float64))
    else:
        # In units near 1, powers of two so that nothing is rounded, and back: squares may overflow or vanish.
        reach = np.abs(points).max(axis=0, initial=0.0)
        used = reach[reach > 0]
        unit = np.ones(len(reach))
        if not ((used > 1e-140) & (used < 1e140)).all():
            unit = np.exp2(np.floor(np.log2(np.where(reach > 0, reach, 1.0))))
        spread = np.asarray((points / unit).std(axis=0) * unit, dtype=np.float64)
    alone = np.bincount(of_column)[of_column] == 1
    usable = alone & (spread > _SMALLEST_SPREAD) & np.isfinite(spread)
    scales = np.ones(len(spread))
    scales[usable] = np.exp2(np.round(np.log2(spread[usable])))
    return scales


def _divided(points: Any, scales: FloatArray) -> Any:
    if (scales == 1.0).all():
        return points
    if isinstance(points, np.ndarray):
        return points / scales
    scaled = points.copy()
    inplace_column_scale(scaled, 1.0 / scales)
    return scaled


def default_machine(
    smallest_class: int, *, max_features: int | None = None, cv: Any = None, **options: Any
) -> LPSVC:
    """Make the classifier, not yet trained, that stands in where no estimator is given."""
    folds = min(FOLDS, smallest_class)
    if folds < 2:
        return LPSVC(class_weight=options.get("class_weight"))
    most = MAX_FEATURES if max_features is None else max_features
    return LPSVC("cv", cv=folds if cv is None else cv, max_features=most, scale=True, **options)
