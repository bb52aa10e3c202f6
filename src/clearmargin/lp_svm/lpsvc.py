"""The 1-norm support vector classifier."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import UncertifiedWarning
from clearmargin.lp_svm.lpsvm_blocks import Census
from clearmargin.lp_svm.lpsvm_sifting import Sifting
from clearmargin.models.plane import PlaneClassifier
from clearmargin.progress import all_or_nothing
from clearmargin.tables.partitions import ArrayBlocks, Block, Partitions, is_partitions
from clearmargin.tables.table import Table
from clearmargin.tables.validation import (
    TrainingParts,
    check_positive,
    check_whole,
    read_monotone,
    read_training,
    read_training_parts,
    whole_costs,
)


def monotone_signs(monotone: Any, X: Any) -> NDArray[np.intp] | None:
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


class LPSVC(PlaneClassifier):
    """Support vector classifier with the 1-norm of the weights: sparse planes, found exactly.

    It minimises ``nu * sum(hinge losses) + ||w||_1``, a linear program. Small values of `nu` leave most weights at
    exactly zero, which is what makes a plane readable. The same table gives the same plane, to some nine digits,
    whatever the processor, the number of threads and the order of the rows; `gap_` says how far it may be from optimal.

    Parameters
    ----------
    nu : float, default 1.0
        Cost of a unit of hinge loss against the 1-norm of the weights. Features count as they come: scale them, or
        choose `nu`, with that in mind.
    class_weight : mapping from class to weight, "balanced" or None, default None
        Factors of `nu` for each class.
    monotone : mapping from feature to 1 or -1, optional
        Features, by name or position, that may count in one direction only: with 1 larger values speak for
        `classes_[1]` or have no weight, with -1 for `classes_[0]`. The optimum is that among the planes that are left.
    fit_intercept : bool, default True
        Whether the plane may miss the origin.
    tol : float, default 1e-6
        Relative gap above which a warning is given.
    max_iter : int, default 1000
        Most linear programs to solve in one level of sifting.

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
        Number of linear programs solved.
    hyperplane_ : Hyperplane
        The plane as a value.
    classes_ : ndarray of shape (2,)
        The classes; `classes_[1]` is the positive side.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had any.

    See Also
    --------
    LPSVCCV : Chooses `nu` by cross-validation, with a cap on the number of features.

    Notes
    -----
    Where several planes are optimal, as on tables of whole numbers or with duplicated columns, one is chosen by small
    prices: 4e-7 to 8e-7 of the penalty more for each weight, a little more for each feature than for the one before,
    and a hundredth for the intercept. So of equal columns the first has the weight. Numbers are rounded to twelve
    digits of the largest term of the score. Costs are taken as they are given: `sample_weight` and `class_weight`
    against a penalty of 1 / `nu`.

    A column far from zero, such as a time in seconds since 1970, leaves few digits to its weight. Where the rounding of
    the weights alone makes the gap larger than `tol`, the plane is the best there is, and a warning says so.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> svm = LPSVC(nu=0.0025).fit(X, y)
    >>> int((svm.coef_ != 0).sum()), round(svm.objective_, 5), svm.gap_ <= 1e-6
    (5, 0.59806, True)
    """

    _accepts_sparse = True

    def __init__(
        self,
        nu: float = 1.0,
        *,
        class_weight: Any = None,
        monotone: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 1_000,
    ):
        self.nu = nu
        self.class_weight = class_weight
        self.monotone = monotone
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the plane.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (m, n), or what `clearmargin.scan` gives
            The points; a table in files has its labels with it, and is read in a few passes. Its plane is the same.
        y : array-like of shape (m,)
            Labels of two classes.
        sample_weight : array-like of shape (m,), optional
            Weights of the points, as factors of `nu`.

        Returns
        -------
        LPSVC
            The fitted classifier.
        """
        nu, tol = check_positive("nu", self.nu), check_positive("tol", self.tol)
        blocks: Partitions[Block]
        known = None
        if is_partitions(X):
            training = read_training_parts(self, X, y, self.class_weight, sample_weight)
            blocks, classes, unit = training.blocks, training.classes, training.unit
            known = _known(training, X.names)
            sign = None if self.monotone is None else read_monotone(self.monotone, X.names)
        else:
            sign = monotone_signs(self.monotone, X)
            points, labels = read_training(self, X, y, accept_sparse=True)
            cost, unit = whole_costs(labels, sample_weight, self.class_weight, points)
            blocks, classes = ArrayBlocks(points, labels.signs, cost), labels.classes
        sifting = Sifting(blocks, fit_intercept=bool(self.fit_intercept), sign=sign, known=known)
        solution = sifting.solve(unit / nu, max_iter=check_whole("max_iter", self.max_iter, 1))
        self._set_plane(solution.w, solution.b, classes)
        self.objective_ = solution.objective * (nu / unit)
        self.gap_ = solution.gap
        self.n_iter_ = solution.n_iter
        if self.gap_ > tol:
            message = (
                f"the certified gap is {self.gap_:.1e}, more than tol={tol:g}: the plane may be that far from optimal. "
                "Scale the features, subtract a constant from columns that are far from zero, or raise max_iter"
            )
            warnings.warn(message, UncertifiedWarning, stacklevel=2)
        return self


def _known(training: TrainingParts, names: Sequence[str]) -> Census | None:
    """Return what the survey told of all rows; None where rows have weights, which it did not look at one by one."""
    survey = training.survey
    if survey.weight is not None:
        return None
    columns = [survey.columns[name] for name in names]
    low, high = (np.array([getattr(c, side) for c in columns]) for side in ("low", "high"))
    return Census.known(survey.class_counts, training.costs, low, high)
