"""The 1-norm support vector classifier."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import UncertifiedWarning
from clearmargin.lp_svm.lpsvm import LPSVMSolution
from clearmargin.lp_svm.lpsvm_blocks import Census
from clearmargin.lp_svm.lpsvm_solve import SOLVERS, solve_partitions
from clearmargin.models.plane import PlaneClassifier
from clearmargin.tables.partitions import ArrayBlocks, Block, Partitions, is_partitions
from clearmargin.tables.table import Table
from clearmargin.tables.validation import (
    TrainingParts,
    check_choice,
    check_positive,
    read_monotone,
    read_training,
    read_training_parts,
    whole_costs,
)

__all__ = ["LPSVC", "monotone_signs"]


def monotone_signs(monotone: Any, X: Any) -> NDArray[np.intp] | None:
    """Read the parameter `monotone` of classifiers whose table holds numbers.

    Parameters
    ----------
    monotone : mapping from feature to 1 or -1, or None
        See `read_monotone`.
    X : data frame, array-like or sparse matrix of shape (m, n)
        The table.

    Returns
    -------
    ndarray of int of shape (n,) or None
        The sign of each column, None where none is asked for.
    """
    if monotone is None:
        return None
    if hasattr(X, "tocsr"):  # a sparse matrix
        return read_monotone(monotone, [f"x{j}" for j in range(X.shape[1])])
    table = Table.read(X)
    asked = [name for j, name in enumerate(table.names) if name in monotone or j in monotone]
    categorical = [name for name in asked if not table.column(name).is_numeric]
    return read_monotone(monotone, table.names, categorical)


class LPSVC(PlaneClassifier):
    """Support vector classifier with the 1-norm of the weights: sparse planes, found exactly.

    It minimises ``nu * sum(hinge losses) + ||w||_1``, a linear program. Small values of `nu` leave most weights at
    exactly zero, which is what makes a plane readable. The optimum is found in exact arithmetic and rounded once, so
    that the same table gives the same plane to the bit, whatever the processor, the number of threads and the order
    of the rows; `gap_` says what the rounding cost.

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
    solver : {"auto", "sifting", "simplex", "ipm"}, default "auto"
        Where the exact steps start: "sifting" solves growing parts of the dual, fast for many points or many features;
        "simplex" and "ipm" solve the whole dual by the dual simplex or an interior point method. "auto" sifts and
        turns to the others should that fail. The plane is the same.
    max_iter : int, default 1000
        Most linear programs to solve in one level of sifting.
    checkpoint : path, optional
        A file in which the state of the search is kept after each pass over the rows, for tables that take long. A
        `fit` that was stopped goes on from there and finds the same plane; the file is removed at the end.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights.
    intercept_ : ndarray of shape (1,)
        Intercept; the one nearest to zero where several are optimal with the same weights.
    objective_ : float
        Value of the objective.
    gap_ : float
        Certified relative gap of the plane as it is stored: its objective is at most ``1 / (1 - gap_)`` times the
        optimum. It is evaluated without rounding, and never too small.
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
    ProximalSVC : Dense weights in closed form.

    Notes
    -----
    Where several planes are optimal, as with duplicated columns, the one with the lexicographically smallest
    ``(|w_n|, ..., |w_1|, |b|)`` is returned: of equal columns the first has the weight. Costs are taken as they are
    given: `sample_weight` and `class_weight` against a penalty of 1 / `nu`.

    Exact means that the active rows, those on the margin, are solved in rationals, and that every other row and feature
    was checked, in floating point where a bound on its error allows, else in rationals. Systems of some twenty active
    rows and more are solved to 60 digits instead, and what agrees to that many counts as equal. Where even that takes
    too long (ties among hundreds of active rows), the plane of the solver is kept, within `tol` of the optimum, and
    `gap_` is certified all the same.

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
    _takes_partitions = True

    def __init__(
        self,
        nu: float = 1.0,
        *,
        class_weight: Any = None,
        monotone: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        solver: str = "auto",
        max_iter: int = 1_000,
        checkpoint: Any = None,
    ):
        self.nu = nu
        self.class_weight = class_weight
        self.monotone = monotone
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.solver = solver
        self.max_iter = max_iter
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the plane.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (m, n), or what `clearmargin.scan` gives
            The points; a table in files has its labels with it, and is read in a few passes. Its plane is the same to
            the bit.
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
        check_choice("solver", self.solver, SOLVERS)
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
        solution = solve_partitions(
            blocks,
            unit / nu,
            fit_intercept=self.fit_intercept,
            sign=sign,
            solver=self.solver,
            tol=tol,
            max_iter=self.max_iter,
            known=known,
            checkpoint=None if self.checkpoint is None else Path(self.checkpoint),
        )
        self._set_plane(solution.w, solution.b, classes)
        self.objective_ = solution.objective * (nu / unit)
        self.gap_ = solution.gap
        self.n_iter_ = solution.n_iter
        if self.gap_ > tol:
            warnings.warn(_open_gap(self.gap_, tol, solution), UncertifiedWarning, stacklevel=2)
        return self


def _known(training: TrainingParts, names: Sequence[str]) -> Census | None:
    """Return what the survey told of all rows; None where rows have weights, which it did not look at one by one."""
    survey = training.survey
    if survey.weight is not None:
        return None
    columns = [survey.columns[name] for name in names]
    low, high = (np.array([getattr(c, side) for c in columns]) for side in ("low", "high"))
    return Census.known(survey.class_counts, training.costs, low, high)


def _open_gap(gap: float, tol: float, solution: LPSVMSolution) -> str:
    if solution.is_exact:
        return (
            f"the optimum was found, but its weights rounded to floats have a gap of {gap:.1e}, more than "
            f"tol={tol:g}: some columns are so far from zero that the last digit of a weight matters. Subtract a "
            "constant from these columns"
        )
    return (
        f"the certified gap is {gap:.1e}, more than tol={tol:g}: the plane may be that far from optimal. Scale "
        "the features, or raise max_iter"
    )
