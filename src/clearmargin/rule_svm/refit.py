r"""Weights of given columns: a few rules, refitted together under one of three losses.

Data: columns A of shape (m, q), signs y_i, weights w_i of rows, penalties lambda_j >= 0 of columns. Smooth losses::

    minimise    sum_i w_i loss(y_i A_i b) + sum_j (lambda_j / 2) b_j^2,    s_j b_j >= 0 where a sign is bound

with loss(z) = log(1 + exp(-z)) (*logistic*) or max(0, 1 - z)^2 / 2 (*squared hinge*), by Newton's method with halved
steps; a bound sign that a step breaks sets its weight to zero, and the others are fitted again. The *hinge* loss is the
linear program of `rule_lp` over the given columns alone::

    minimise    sum_j lambda_j |b_j| + sum_i w_i xi_i,    y_i A_i b + xi_i >= 1,    xi >= 0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit

from clearmargin.rule_svm.work import Budget
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.solvers import Linear, Program, Session, Variables

__all__ = ["LOSSES", "Columns", "fit_weights", "hinge_weights"]

LOSSES = ("logistic", "squared_hinge", "hinge")

# The intercept is free; so small a penalty only keeps the matrix regular where a class is alone.
FREE = 1e-8
_MOST_STEPS = 50
# Newton's decrement relative to the objective at which steps end.
_TOL = 1e-10
_LEAST_STEP = 2.0**-20


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns to be weighted, the first of them all ones.

    Parameters
    ----------
    values : ndarray of shape (m, q)
        The columns.
    penalty : ndarray of shape (q,)
        How much the weight of each is held back, relative to the others.
    sign : ndarray of int of shape (q,)
        The sign that each weight must have; 0 for any.
    """

    values: FloatArray
    penalty: FloatArray
    sign: IntArray

    def first(self, q: int) -> Columns:
        """Give the first columns alone."""
        return Columns(self.values[:, :q], self.penalty[:q], self.sign[:q])


def fit_weights(
    columns: Columns,
    y: FloatArray,
    weight: FloatArray,
    loss: str,
    C: float,
    start: FloatArray | None = None,
) -> FloatArray:
    """Fit the weights of columns.

    Parameters
    ----------
    columns : Columns
        The columns.
    y : ndarray of shape (m,)
        -1 or 1 for each row.
    weight : ndarray of shape (m,)
        Positive weights of the rows.
    loss : {"logistic", "squared_hinge", "hinge"}
        The loss.
    C : float
        What a unit of loss costs; penalties are divided by it.
    start : ndarray of shape (q,), optional
        Where to start, for the smooth losses.

    Returns
    -------
    ndarray of shape (q,)
        The weights.

    Examples
    --------
    >>> values = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    >>> columns = Columns(values, np.array([0.0, 1.0]), np.array([0, 0]))
    >>> y = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> fit_weights(columns, y, np.ones(4), "hinge", 10.0)
    array([-1.,  2.])
    >>> fit_weights(columns, y, np.ones(4), "squared_hinge", 1e6).round(3)
    array([-1.,  2.])
    """
    if loss == "hinge":
        return hinge_weights(columns, y, weight * C)[0]
    penalty = columns.penalty / C + FREE
    b = np.zeros(len(penalty)) if start is None else start.copy()
    free = np.ones(len(b), dtype=np.bool_)
    while True:
        b[~free] = 0.0
        b[free] = _newton(columns.values[:, free], y, weight, loss, penalty[free], b[free])
        broken = columns.sign * b < 0.0
        if not broken.any():
            return b
        free &= ~broken


def _newton(
    A: FloatArray, y: FloatArray, weight: FloatArray, loss: str, penalty: FloatArray, b: FloatArray
) -> FloatArray:
    z = y * (A @ b)
    value = _value(z, weight, loss) + 0.5 * float(penalty @ (b * b))
    for _ in range(_MOST_STEPS):
        slope, curvature = _derivatives(z, weight, loss)
        gradient = (y * slope) @ A + penalty * b
        hessian = (A * curvature[:, None]).T @ A
        hessian[np.diag_indices(len(b))] += penalty
        step = np.linalg.solve(hessian, gradient)
        decrement = float(gradient @ step)
        if decrement <= _TOL * max(value, 1.0):
            break
        length = 1.0
        while length >= _LEAST_STEP:
            tried = b - length * step
            z = y * (A @ tried)
            lower = _value(z, weight, loss) + 0.5 * float(penalty @ (tried * tried))
            if lower <= value - 0.1 * length * decrement:
                break
            length /= 2.0
        else:
            break
        b, value = tried, lower
    return b


def _value(z: FloatArray, weight: FloatArray, loss: str) -> float:
    if loss == "logistic":
        return float(weight @ np.logaddexp(0.0, -z))
    return 0.5 * float(weight @ np.maximum(0.0, 1.0 - z) ** 2)


def _derivatives(z: FloatArray, weight: FloatArray, loss: str) -> tuple[FloatArray, FloatArray]:
    """Give the first and second derivative of the loss of each row by its margin z."""
    if loss == "logistic":
        wrong = expit(-z)
        return -weight * wrong, weight * wrong * (1.0 - wrong)
    lacking = np.maximum(0.0, 1.0 - z)
    return -weight * lacking, np.where(lacking > 0.0, weight, 0.0)


def hinge_weights(
    columns: Columns, y: FloatArray, cost: FloatArray, budget: Budget | None = None
) -> tuple[FloatArray, float]:
    """Solve the linear program of the hinge loss; give the weights and the objective.

    Rows that no column tells apart are one row: a few rules leave few of them, however many rows there are.
    """
    signed, inverse = np.unique(columns.values * y[:, None], axis=0, return_inverse=True)
    costs = np.bincount(inverse.ravel(), weights=cost)
    m, q = signed.shape
    upper = np.where(columns.sign < 0, 0.0, np.inf)
    lower = np.where(columns.sign > 0, 0.0, np.inf)
    lacking = sparse.eye_array(m)
    program = Program(
        [
            Variables("up", q, lower=0.0, upper=upper, cost=columns.penalty),
            Variables("down", q, lower=0.0, upper=lower, cost=columns.penalty),
            Variables("lacking", m, lower=0.0, cost=costs),
            Linear("margin", {"up": signed, "down": -signed, "lacking": lacking}, lower=1.0),
        ]
    )
    budget = Budget() if budget is None else budget
    with Session(program, time_limit=budget.seconds) as session:
        solution = session.solve(max_iterations=budget.iterations(m, q, q))
    weights = solution.values["up"] - solution.values["down"]
    return np.asarray(weights), float(solution.objective)
