r"""The 1-norm support vector machine, its dual, and the proof that a solution is good.

Variables: weights w (n), intercept b, hinge losses xi (m). Data: points X (m x n), signs y in {-1, 1}, costs c > 0 of
the points' losses, penalty lambda > 0 of the weights::

    minimise    sum_i c_i xi_i + lambda ||w||_1
    subject to  y_i (x_i'w + b) + xi_i >= 1,    xi >= 0

This is the linear program of Fung, Sandilya and Rao (KDD 2005, section 3) and of Bradley and Mangasarian (1998), who
have lambda = 1, one cost nu for all points, and gamma for -b. Only the ratio of costs and penalty matters. With
w = p - q, p, q >= 0, the program has one block of rows less than the printed form with -t <= w <= t, and the
same optimum.

Its dual, with one signed multiplier alpha_i = y_i u_i for each point::

    maximise    y'alpha
    subject to  -lambda <= X'alpha <= lambda,    sum_i alpha_i = 0,    0 <= y_i alpha_i <= c_i

has n + 1 rows instead of m and X itself, unsigned, as its matrix. Simplex methods handle the bounds on alpha
without rows, and the multipliers of the rows are w and b. The equation goes away when there is no intercept.

A weight that may have one sign only, w_j >= 0 or w_j <= 0 (a *monotone* feature), leaves one of p_j and q_j, and so one
side of the row: X_j'alpha <= lambda or X_j'alpha >= -lambda.

Any multipliers at all give a bound: clip u to [0, c], shrink the heavier class until the classes balance,
divide by ``s = max(1, max_j |X'alpha|_j / lambda)``, and sum_i u_i is a lower bound of the optimum. Of a monotone
feature X_j'alpha counts towards its one limit only. The relative gap between the objective at (w, b) and that bound
certifies a solution without trusting the solver.

Of points that are known to be violated (``y_i (x_i'w + b) < 1``) only sums matter: their losses add up to a linear
function of the plane, and their multipliers are at their costs. `Far` has these sums, n + 2 numbers for any number of
points, and stands for them in every formula here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clearmargin.rules.arithmetic import linear_scores, weighted_sums
from clearmargin.solvers import Linear, Program, Variables

__all__ = [
    "Basis",
    "Far",
    "LPSVMData",
    "LPSVMSolution",
    "Points",
    "balanced",
    "best_intercept",
    "dual_bound",
    "dual_program",
    "objective",
    "priced_bound",
    "primal_program",
    "signed_bounds",
]

FloatArray: TypeAlias = NDArray[np.float64]
Points: TypeAlias = Any  # a dense array or a scipy sparse matrix of shape (m, n)


@dataclass(frozen=True, slots=True)
class Basis:
    """A vertex of the program: points on the margin that fix the weights of some features, and the intercept.

    Parameters
    ----------
    points : ndarray of int
        Points with a multiplier between its bounds, as many as there are unknowns.
    features : ndarray of int
        Features with a weight.
    with_intercept : bool
        Whether the intercept is one of the unknowns.
    """

    points: NDArray[np.intp]
    features: NDArray[np.intp]
    with_intercept: bool


class Far(NamedTuple):
    """Violated points of which a program knows only sums; each has its multiplier at its cost.

    Parameters
    ----------
    slope : ndarray of shape (n,)
        ``sum y_i c_i x_i``.
    balance : float
        ``sum y_i c_i``.
    cost : float
        ``sum c_i``.
    """

    slope: FloatArray
    balance: float
    cost: float

    def loss(self, w: FloatArray, b: float) -> float:
        """Return the losses of the points together, at a plane that violates all of them."""
        return float(self.cost - (self.slope * w).sum() - b * self.balance)

    def divided(self, unit: float) -> Far:
        """Return the sums with costs in another unit."""
        return Far(self.slope / unit, self.balance / unit, self.cost / unit)


@dataclass(frozen=True, slots=True)
class LPSVMSolution:
    """A plane, the multipliers that certify it, and what they are worth.

    Parameters
    ----------
    w : ndarray of shape (n,)
        Weights.
    b : float
        Intercept.
    u : ndarray of shape (m,)
        Multipliers of the points.
    objective : float
        Value of the program at (w, b).
    bound : float
        A value that no plane can get below, by duality.
    n_iter : int
        Number of linear programs solved.
    basis : Basis, optional
        Where the solver ended.
    exact_gap : float, optional
        The gap, where it was evaluated without rounding.
    is_exact : bool, default False
        Whether (w, b) is the exact optimum, rounded once.
    """

    w: FloatArray
    b: float
    u: FloatArray
    objective: float
    bound: float
    n_iter: int
    basis: Basis | None = None
    exact_gap: float | None = None
    is_exact: bool = False

    @property
    def gap(self) -> float:
        """How far the objective may be above the optimum, relative to itself."""
        if self.exact_gap is not None:
            return self.exact_gap
        return max(0.0, self.objective - self.bound) / self.objective


@dataclass(frozen=True, slots=True)
class LPSVMData:
    """What the program is about.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (m, n)
        The points.
    y : ndarray of shape (m,)
        Their signs, -1.0 or 1.0; both occur.
    cost : ndarray of shape (m,)
        Positive costs of their losses.
    penalty : float, default 1.0
        Positive cost of the 1-norm of the weights.
    fit_intercept : bool, default True
        Whether the plane has an intercept.
    sign : ndarray of int of shape (n,), optional
        1 for weights that may not be negative, -1 for those that may not be positive, 0 for the others.
    far : Far, optional
        Further points, which are violated.
    """

    X: Points
    y: FloatArray
    cost: FloatArray
    penalty: float = 1.0
    fit_intercept: bool = True
    sign: NDArray[np.intp] | None = None
    far: Far | None = None

    def __len__(self) -> int:
        return len(self.y)

    def normalised(self) -> tuple[LPSVMData, float]:
        """Divide costs and penalty by a unit, so that the smaller of penalty and largest cost is 1.

        Then no bound of the dual is small, and the absolute tolerances of solvers are relative ones. The plane stays
        the same; objective and multipliers are those of the original divided by the unit.
        """
        unit = min(self.penalty, float(self.cost.max()))
        return self.divided(unit), unit

    def divided(self, unit: float) -> LPSVMData:
        """Divide costs and penalty by a unit."""
        far = None if self.far is None else self.far.divided(unit)
        return replace(self, cost=self.cost / unit, penalty=self.penalty / unit, far=far)

    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Give the limits of X'alpha in the dual; a monotone feature has one."""
        high = np.full(self.X.shape[1], self.penalty)
        low = -high
        if self.sign is not None:
            low[self.sign > 0], high[self.sign < 0] = -np.inf, np.inf
        return low, high

    def steepness(self, slope: FloatArray) -> FloatArray:
        """Give the part of X'alpha, without its sign, that counts against the penalty of each feature."""
        if self.sign is None:
            return np.abs(slope)
        return np.where(self.sign == 0, np.abs(slope), np.maximum(self.sign * slope, 0.0))

    def with_signs(self, w: FloatArray) -> FloatArray:
        """Set weights to zero that rounding has left with a sign that they may not have."""
        return w if self.sign is None else np.where(self.sign * w < 0, 0.0, w)

    def certify(self, w: FloatArray, b: float, u: FloatArray, n_iter: int = 0) -> LPSVMSolution:
        """Judge a plane by the bound that some multipliers give."""
        return LPSVMSolution(w, b, u, objective(self, w, b), dual_bound(self, u), n_iter)


def objective(
    data: LPSVMData, w: FloatArray, b: float, *, scores: FloatArray | None = None
) -> float:
    """Evaluate the hinge losses plus the penalty at a plane; `scores` are x_i'w where they are known."""
    f = linear_scores(data.X, w) if scores is None else scores
    hinge = np.maximum(0.0, 1.0 - data.y * (f + b))
    value = float((data.cost * hinge).sum() + data.penalty * np.abs(w).sum())
    return value if data.far is None else value + data.far.loss(w, b)


def dual_bound(data: LPSVMData, u: FloatArray) -> float:
    """Bound the optimum from below by any multipliers; see the head of this file.

    Parameters
    ----------
    data : LPSVMData
        The data.
    u : ndarray of shape (m,)
        Multipliers; they need not be feasible.

    Returns
    -------
    float
        A lower bound of the optimum, at least 0.

    Examples
    --------
    >>> data = LPSVMData(np.array([[0.0], [2.0]]), np.array([-1.0, 1.0]), cost=np.ones(2))
    >>> dual_bound(data, np.array([0.5, 0.5]))     # the optimum is w = 1, b = -1
    1.0
    """
    return priced_bound(data, u)[0]


def priced_bound(data: LPSVMData, u: FloatArray) -> tuple[float, FloatArray]:
    """Return the dual bound, and the slope |X'alpha|_j / lambda of each feature that it was made from.

    Of a monotone feature the slope in its one direction is given, zero where it is in the other.
    """
    u = np.clip(u, 0.0, data.cost)
    if data.far is not None:
        return _bound_with_far(data, data.far, u)
    if data.fit_intercept:
        u = balanced(u, data.y)
    slope = data.steepness(weighted_sums(data.X, data.y * u)) / data.penalty
    return float(u.sum()) / max(1.0, float(slope.max(initial=0.0))), slope


def _bound_with_far(data: LPSVMData, far: Far, u: FloatArray) -> tuple[float, FloatArray]:
    """Return what `priced_bound` does; the points that are known by sums keep their multipliers."""
    is_enough = True
    if data.fit_intercept:
        is_positive = data.y > 0
        held = float(u[is_positive].sum()), float(u[~is_positive].sum())
        excess = held[0] - held[1] + far.balance
        heavy, total = (is_positive, held[0]) if excess > 0 else (~is_positive, held[1])
        is_enough = abs(excess) <= total
        if is_enough and total > 0.0:
            u = np.where(heavy, u * ((total - abs(excess)) / total), u)
    sums = weighted_sums(data.X, data.y * u) + far.slope
    slope = data.steepness(sums) / data.penalty
    bound = (float(u.sum()) + far.cost) / max(1.0, float(slope.max(initial=0.0)))
    return bound if is_enough else 0.0, slope


def balanced(u: FloatArray, y: FloatArray) -> FloatArray:
    """Shrink the multipliers of the heavier class until both classes have the same sum."""
    positive, negative = float(u[y > 0].sum()), float(u[y < 0].sum())
    lighter = min(positive, negative)
    if lighter == 0.0:
        return np.zeros_like(u)
    return u * np.where(y > 0, lighter / positive, lighter / negative)


def best_intercept(f: FloatArray, y: FloatArray, cost: FloatArray) -> float:
    """Minimise the hinge losses over the intercept alone, exactly.

    As a function of b the losses are convex and piecewise linear with a kink at y_i - f_i for each point, where
    the slope rises by c_i. Where the minimum is an interval the intercept nearest to zero is taken, so that the answer
    does not depend on which end a solver happened to stop at.

    Parameters
    ----------
    f : ndarray of shape (m,)
        x_i'w for each point.
    y, cost : ndarray of shape (m,)
        Signs (both must occur) and costs.

    Returns
    -------
    float
        The best intercept.

    Examples
    --------
    >>> best_intercept(np.array([0.0, 3.0]), np.array([-1.0, 1.0]), np.ones(2))    # -2 to -1
    -1.0
    """
    kinks = y - f
    order = np.argsort(kinks, kind="stable")
    # Left of all kinks every positive point is violated and no negative one.
    slope = np.cumsum(cost[order]) - cost[y > 0].sum()
    # Costs that cancel in exact arithmetic may leave a few units of rounding.
    level = 1e-12 * cost.sum()
    last = len(order) - 1
    low = min(int(np.searchsorted(slope, -level)), last)
    high = min(int(np.searchsorted(slope, level, side="right")), last)
    return float(np.clip(0.0, kinks[order[low]], kinks[order[high]]))


def dual_program(data: LPSVMData) -> Program:
    """Build the dual in its n + 1 rows; the duals of rows "features" and "balance" are -w and -b."""
    low, high = signed_bounds(data.y, data.cost)
    blocks: list[Variables | Linear] = [
        Variables("alpha", len(data), low, high, cost=-data.y),
        Linear("features", {"alpha": data.X.T}, *data.limits()),
    ]
    if data.fit_intercept:
        blocks.append(Linear("balance", {"alpha": 1.0}, 0.0, 0.0))
    return Program(blocks)


def signed_bounds(y: FloatArray, cost: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give the bounds of alpha = y u for 0 <= u <= cost."""
    return np.where(y > 0, 0.0, -cost), np.where(y > 0, cost, 0.0)


def primal_program(data: LPSVMData) -> Program:
    """Build the program as it is printed, with w = p - q; for second opinions and comparisons."""
    m, n = data.X.shape
    signed = data.X * data.y[:, None]
    sign = np.zeros(n) if data.sign is None else data.sign
    blocks: list[Variables | Linear] = [
        Variables("p", n, lower=0.0, upper=np.where(sign < 0, 0.0, np.inf), cost=data.penalty),
        Variables("q", n, lower=0.0, upper=np.where(sign > 0, 0.0, np.inf), cost=data.penalty),
        Variables("xi", m, lower=0.0, cost=data.cost),
    ]
    terms: dict[str, Any] = {"p": signed, "q": -signed, "xi": sparse.eye_array(m, format="csc")}
    if data.fit_intercept:
        blocks.append(Variables("b", 1))
        terms["b"] = data.y[:, None]
    return Program([*blocks, Linear("margins", terms, lower=1.0)])
