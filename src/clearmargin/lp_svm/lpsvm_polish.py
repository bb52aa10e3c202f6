"""The last digits of a 1-norm SVM: weights that are zero but for rounding, and multipliers that prove the plane.

At a degenerate vertex a solver may leave weights of 1e-14 where exact arithmetic has zeros. They would count as
features, so they are swept away where that does not change the objective.

At a vertex of the dual each multiplier is 0, at its cost, or *free* between them, and the free ones solve the
equations of the features with a weight and of the balance::

    X_FJ'alpha_F = lambda sign(w_J) - X_OJ'alpha_O,      sum alpha_F = -sum alpha_O

A solver works on the whole, to an absolute tolerance. Where features differ by many powers of ten its multipliers miss
these equations by more than a certificate can afford, although the plane is right. Solved once more by themselves,
with equilibrated rows and residuals in extended precision, they hold to the last digits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from clearmargin.lp_svm.lpsvm import (
    FloatArray,
    LPSVMData,
    LPSVMSolution,
    best_intercept,
    dual_bound,
    objective,
)
from clearmargin.rules.arithmetic import linear_scores

__all__ = ["polish", "sweep"]

Index = NDArray[np.intp]

# Margins are of order 1 and carry rounding of about 1e-15 for each of up to thousands of terms.
_DUST = 1e-12
# Three digits below the tightest gap anyone asks for.
_UNNOTICED = 1e-10
# Each step of refinement gains the digits that the system's condition leaves; three reach the end or never will.
_REFINEMENTS = 3
# Free multipliers lie this far (relative to their cost) from both bounds; nearer is rounding.
_AT_BOUND = 1e-9


def sweep(data: LPSVMData, solution: LPSVMSolution) -> LPSVMSolution:
    """Set weights to zero that move no margin by more than rounding does.

    Parameters
    ----------
    data : LPSVMData
        The data.
    solution : LPSVMSolution
        A solution, possibly with dust among its weights.

    Returns
    -------
    LPSVMSolution
        The same solution without the dust, unless the objective would notice.
    """
    used = np.flatnonzero(solution.w)
    reach = np.abs(_dense_columns(data, used)).max(axis=0, initial=0.0)
    dust = used[np.abs(solution.w[used]) * reach <= _DUST]
    if not len(dust):
        return solution
    w = solution.w.copy()
    w[dust] = 0.0
    scores = linear_scores(data.X, w)
    b = solution.b
    # With points that are known by sums the best intercept is that of all of them together.
    if data.far is None and data.fit_intercept:
        b = best_intercept(scores, data.y, data.cost)
    value = objective(data, w, b, scores=scores)
    if value > solution.objective * (1.0 + _UNNOTICED):
        return solution
    return replace(solution, w=w, b=b, objective=value)


def polish(data: LPSVMData, solution: LPSVMSolution) -> LPSVMSolution:
    """Prove a plane by sharper multipliers, if they are sharper.

    Parameters
    ----------
    data : LPSVMData
        The data.
    solution : LPSVMSolution
        A solution whose plane is right and whose bound is not.

    Returns
    -------
    LPSVMSolution
        The same plane with the better bound.
    """
    u = _solve_face(data, solution.w, solution.u)
    bound = dual_bound(data, u)
    return replace(solution, u=u, bound=bound) if bound > solution.bound else solution


def _solve_face(data: LPSVMData, w: FloatArray, u: FloatArray) -> FloatArray:
    free = np.flatnonzero((u > _AT_BOUND * data.cost) & (u < (1.0 - _AT_BOUND) * data.cost))
    if not len(free):
        return u
    features = np.flatnonzero(w)
    alpha = data.y * np.where(u > 0.5 * data.cost, data.cost, 0.0)
    alpha[free] = data.y[free] * u[free]
    A, b = _equations(data, features, np.sign(w[features]))
    scale = np.abs(A).max(axis=1, initial=0.0)
    kept = scale > 0
    A, b = A[kept] / scale[kept, None], b[kept] / scale[kept]
    free_part = A[:, free].astype(np.float64)
    exact = alpha.astype(np.longdouble)
    for _ in range(_REFINEMENTS):
        residual = (b - A @ exact).astype(np.float64)
        step, *_ = np.linalg.lstsq(free_part, residual)
        exact[free] += step
    return np.asarray(data.y * exact, dtype=np.float64)


def _equations(
    data: LPSVMData, features: Index, signs: FloatArray
) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.longdouble]], FloatArray]:
    rows = _dense_columns(data, features).T.astype(np.longdouble)
    right = data.penalty * signs
    if data.far is not None:
        right = right - data.far.slope[features]
    if data.fit_intercept:
        rows = np.vstack([rows, np.ones((1, len(data)), dtype=np.longdouble)])
        right = np.append(right, 0.0 if data.far is None else -data.far.balance)
    return rows, right


def _dense_columns(data: LPSVMData, features: Index) -> FloatArray:
    columns = data.X[:, features]
    return np.asarray(columns.toarray() if hasattr(columns, "toarray") else columns)
