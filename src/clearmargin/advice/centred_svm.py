r"""The 1-norm SVM whose weights are drawn towards those of another plane instead of towards zero.

Variables: weights w (n), intercept b, hinge losses xi (m). Data: points X, signs y, costs c; a centre (w0, b0)::

    minimise    ||w - w0||_1 + [ |b - b0| ] + sum_j c_j xi_j
    subject to  y_j (x_j'w + b) + xi_j >= 1,    xi >= 0

The term in brackets is there where the intercept is held like a weight; it is not in the plain SVM, whose centre is
zero. With small costs the answer is the centre, with large ones the SVM of the data. The dual, with f0 = X w0 + b0 and
signed multipliers alpha_j = y_j a_j::

    maximise    (y - f0)'alpha + constant
    subject to  -1 <= X'alpha <= 1,    -1 <= sum_j alpha_j <= 1  (or = 0),    0 <= y_j alpha_j <= c_j

has the same rows for all costs, so that one model serves a whole path of costs, each solution starting from the one
before.

Tables of whole numbers have many optimal planes, and which of them a solver meets depends on the processor. So the
terms |w_j - w0_j| cost slightly different prices, 1 to 1 + 2e-6, and a free intercept costs a little, too: that leaves
one plane, whose objective is at most 2e-6 of its 1-norm above the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearmargin.lp_svm.lpsvm import signed_bounds
from clearmargin.rules.value import FloatArray
from clearmargin.solvers import Linear, Program, Session, Variables

__all__ = ["centred_path", "centred_program"]


# Far above what a solver may leave (1e-9), far below what a table can tell.
_TIE_BREAK = 1e-6
_GOLDEN_RATIO = (1.0 + 5.0**0.5) / 2.0


def _prices(n: int) -> FloatArray:
    """Prices of the weights and, last, of the intercept, that no two sets of features have in common."""
    steps = np.arange(1, n + 2, dtype=np.float64)
    return np.asarray(_TIE_BREAK * (1.0 + steps * _GOLDEN_RATIO % 1.0))


def centred_program(
    X: FloatArray, y: FloatArray, cost: FloatArray, center: FloatArray, *, hold_intercept: bool
) -> Program:
    """Build the dual at the head of this file, as a minimisation; the duals of its rows are minus w - w0 and b - b0.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        Points.
    y, cost : ndarray of shape (m,)
        Signs and costs.
    center : ndarray of shape (n + 1,)
        w0, and last b0.
    hold_intercept : bool
        Whether the intercept is held like a weight.

    Returns
    -------
    Program
        A linear program.
    """
    missing = y - (X @ center[:-1] + center[-1])
    prices = _prices(X.shape[1])
    weights, intercept = 1.0 + prices[:-1], float(hold_intercept) + prices[-1]
    return Program(
        [
            Variables("alpha", len(y), *signed_bounds(y, cost), cost=-missing),
            Linear("weights", {"alpha": X.T}, -weights, weights),
            Linear("balance", {"alpha": 1.0}, -intercept, intercept),
        ]
    )


def centred_path(
    X: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    lams: Sequence[float],
    center: FloatArray | None = None,
) -> FloatArray:
    """Find the planes for some costs.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        Points.
    y : ndarray of shape (m,)
        Their signs; both occur, unless there is a centre.
    weight : ndarray of shape (m,)
        Their weights, positive.
    lams : sequence of float
        Costs of a point of weight 1.
    center : ndarray of shape (n + 1,), optional
        w0 and b0. Without it the plain SVM: the weights are drawn to zero, and the intercept is free.

    Returns
    -------
    ndarray of shape (len(lams), n + 1)
        w and, last, b of each plane.

    Examples
    --------
    >>> X, y = np.array([[0.0], [2.0]]), np.array([-1.0, 1.0])
    >>> centred_path(X, y, np.ones(2), [10.0]).tolist()
    [[1.0, -1.0]]
    >>> centred_path(X, y, np.ones(2), [0.1], center=np.array([0.5, 0.0])).tolist()
    [[0.5, 0.0]]
    """
    start = np.zeros(X.shape[1] + 1) if center is None else center
    program = centred_program(X, y, lams[0] * weight, start, hold_intercept=center is not None)
    planes = np.empty((len(lams), len(start)))
    with Session(program, method="dual", tol=1e-9) as session:
        for k, lam in enumerate(lams):
            session.set_bounds("alpha", *signed_bounds(y, lam * weight))
            duals = session.solve(explain=False).duals
            planes[k] = start - np.concatenate([duals["weights"], duals["balance"]])
    return planes
