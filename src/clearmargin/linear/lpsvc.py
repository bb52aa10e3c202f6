"""The 1-norm support vector classifier."""

from __future__ import annotations

import warnings
from typing import Any, Self

from clearmargin.exceptions import UncertifiedWarning
from clearmargin.linear.plane import PlaneClassifier
from clearmargin.linear.validation import check_choice, check_positive, point_costs, read_training
from clearmargin.programs.lpsvm import LPSVMData
from clearmargin.programs.lpsvm_solve import SOLVERS, solve_lpsvm

__all__ = ["LPSVC"]


class LPSVC(PlaneClassifier):
    """Support vector classifier with the 1-norm of the weights: sparse planes, found exactly.

    It minimises ``nu * sum(hinge losses) + ||w||_1``, a linear program. Small values of `nu` leave most weights at
    exactly zero, which is what makes a plane readable. The solution is certified: `gap_` bounds how far the
    objective can be above the optimum, by a dual bound computed apart from the solver.

    Parameters
    ----------
    nu : float, default 1.0
        Cost of a unit of hinge loss against the 1-norm of the weights. Features count as they come: scale them, or
        choose `nu`, with that in mind.
    class_weight : mapping from class to weight, "balanced" or None, default None
        Factors of `nu` for each class.
    fit_intercept : bool, default True
        Whether the plane may miss the origin.
    tol : float, default 1e-6
        Relative gap to reach.
    solver : {"auto", "sifting", "simplex", "ipm"}, default "auto"
        "sifting" solves growing parts of the dual, fast for many points or many features; "simplex" and "ipm"
        solve the whole dual by the dual simplex or an interior point method. "auto" sifts and turns to the others
        should the gap stay open.
    max_iter : int, default 1000
        Most linear programs to solve in one level of sifting.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights.
    intercept_ : ndarray of shape (1,)
        Intercept; the middle one where several are optimal.
    objective_ : float
        Value of the objective.
    gap_ : float
        Certified relative gap: ``objective_`` is at most ``1 / (1 - gap_)`` times the optimum.
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
    Where several planes are optimal, as with duplicated columns, one of them is returned; the objective is the same.

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
        fit_intercept: bool = True,
        tol: float = 1e-6,
        solver: str = "auto",
        max_iter: int = 1_000,
    ):
        self.nu = nu
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.solver = solver
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the plane.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (m, n)
            The points.
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
        points, labels = read_training(self, X, y, accept_sparse=True)
        cost = nu * point_costs(labels, sample_weight, self.class_weight, points)
        present = cost > 0
        data = LPSVMData(
            points if present.all() else points[present],
            labels.signs[present],
            cost[present],
            fit_intercept=self.fit_intercept,
        )
        solution = solve_lpsvm(data, solver=self.solver, tol=tol, max_iter=self.max_iter)
        self._set_plane(solution.w, solution.b, labels.classes)
        self.objective_ = solution.objective
        self.gap_ = solution.gap
        self.n_iter_ = solution.n_iter
        if self.gap_ > tol:
            warnings.warn(
                f"the certified gap is {self.gap_:.1e}, more than tol={tol:g}: the plane may be that far from "
                "optimal. Scale the features, or raise max_iter",
                UncertifiedWarning,
                stacklevel=2,
            )
        return self
