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

**One plane.** Where several planes are optimal, as on tables of whole numbers, the one that a solver meets depends on
the processor and on the order of the rows. So the limits of the dual's rows are wider by a few 1e-7 of the penalty,
each a little more than the one before: ``|w_j|`` costs so much more, and ``|b|`` a little more than nothing
(`tie_prices`). That leaves one plane, whose numbers are rounded to twelve digits; of equal columns the first has the
weight.

**The gap** is that of the plane as it is stored. Objective and bound are computed in floating point together with
bounds on what their sums may be off by, so that the gap is never too small. Columns that are far from zero are looked
at from a value in their middle: with an intercept the plane is the same, and floating point can tell points apart that
lie a few units of rounding of 2^32 from each other.

Of points that are known to be violated (``y_i (x_i'w + b) < 1``) only sums matter: their losses add up to a linear
function of the plane, and their multipliers are at their costs. `Far` has these sums, n + 2 numbers for any number of
points, and stands for them in every formula here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from clearmargin.rules.arithmetic import linear_scores, weighted_sums

FloatArray: TypeAlias = NDArray[np.float64]
Points: TypeAlias = Any  # a dense array or a scipy sparse matrix of shape (m, n)

_EPS = float(np.finfo(np.float64).eps)
# Far above what a solver may leave (1e-10), far below what a table can tell; what it leaves of numbers is rounded away.
_TIE_BREAK, _DIGITS = 4e-7, 12
# A column farther from zero than so many times its range is looked at from its middle.
_FAR = 4.0
# Rows that are looked at at a time, so that two scores and a block of columns stay in the cache.
CHUNK = 1 << 14


class Far(NamedTuple):
    """Violated points of which a program knows only sums; each has its multiplier at its cost."""

    slope: FloatArray
    balance: float
    cost: float


@dataclass(frozen=True, slots=True)
class LPSVMSolution:
    """A plane, the multipliers that certify it, and what they are worth."""

    w: FloatArray
    b: float
    u: FloatArray
    objective: float
    bound: float
    gap: float
    n_iter: int = 0


@dataclass(frozen=True, slots=True)
class LPSVMData:
    """What the program is about."""

    X: Points
    y: FloatArray
    cost: FloatArray
    penalty: float = 1.0
    fit_intercept: bool = True
    sign: NDArray[np.intp] | None = None
    far: Far | None = None

    def __len__(self) -> int:
        return len(self.y)

    def limits(self, widening: FloatArray | float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Give the limits of X'alpha in the dual, of the points that are held; a monotone feature has one."""
        high = np.full(self.X.shape[1], self.penalty) + self.penalty * widening
        low = -high
        if self.sign is not None:
            low[self.sign > 0], high[self.sign < 0] = -np.inf, np.inf
        taken = 0.0 if self.far is None else self.far.slope
        return low - taken, high - taken

    def steepness(self, slope: FloatArray) -> FloatArray:
        """Give the part of X'alpha, without its sign, that counts against the penalty of each feature."""
        if self.sign is None:
            return np.abs(slope)
        return np.where(self.sign == 0, np.abs(slope), np.maximum(self.sign * slope, 0.0))

    def slope(self, u: FloatArray) -> FloatArray:
        """Return X'alpha of all points, for multipliers of those that are held."""
        sums = weighted_sums(self.X, self.y * u)
        return sums if self.far is None else sums + self.far.slope

    def certify(
        self,
        w: FloatArray,
        b: float,
        u: FloatArray,
        reach: FloatArray | None = None,
        n_iter: int = 0,
    ) -> LPSVMSolution:
        """Compute objective and gap of a plane, by the bound that some multipliers give."""
        reach = column_reach(self.X) if reach is None else reach
        value, error = _objective(self, w, b, reach)
        bound = dual_bound(self, u, reach)
        most = value + error
        gap = max(0.0, most - bound) / most * (1.0 + 4.0 * _EPS) if most > 0.0 else 0.0
        return LPSVMSolution(w, b, u, value, bound, float(gap), n_iter)


def _sum_error(X: Points) -> float:
    """Return what `weighted_sums` is off by at most, relative to the sum of magnitudes."""
    return (96 if isinstance(X, np.ndarray) else max(CHUNK, X.shape[0])) * _EPS


def _objective(data: LPSVMData, w: FloatArray, b: float, reach: FloatArray) -> tuple[float, float]:
    """Evaluate the hinge losses plus the penalty at a plane that violates all far points, and a bound on the error."""
    size = float((reach * np.abs(w)).sum()) + abs(b)
    band = (np.count_nonzero(w) + 6) * _EPS * size
    margin = data.y * linear_scores(data.X, w, b)
    value = math.fsum((data.cost * np.maximum(0.0, 1.0 - margin)).tolist())
    value += data.penalty * math.fsum(np.abs(w).tolist())
    error = band * float(data.cost[margin < 1.0 + band].sum()) + 4.0 * _EPS * value
    if data.far is not None:
        value += data.far.cost - float((data.far.slope * w).sum()) - b * data.far.balance
        size += len(w) * _EPS * size + 1.0
        error += _sum_error(data.X) * (data.far.cost + float(data.cost.sum())) * size
    return value, error


def dual_bound(data: LPSVMData, u: FloatArray, reach: FloatArray | None = None) -> float:
    """Bound the optimum from below by any multipliers; see the head of this file."""
    reach = column_reach(data.X) if reach is None else reach
    u = np.clip(u, 0.0, data.cost)
    far = Far(np.zeros(len(reach)), 0.0, 0.0) if data.far is None else data.far
    excess = 0.0
    if data.fit_intercept:
        excess = math.fsum((data.y * u).tolist()) + far.balance
        heavy = (data.y > 0) == (excess > 0)
        held = math.fsum(u[heavy].tolist())
        if abs(excess) > held:
            return 0.0
        if held > 0.0:
            u = np.where(heavy, u * ((held - abs(excess)) / held), u)
        # What is left of it is smaller than the last digit of some multiplier, and may be taken off that.
        excess = math.fsum((data.y * u).tolist()) + far.balance
    total = math.fsum(u.tolist()) + far.cost
    error = abs(excess)
    if data.far is not None:
        error += _sum_error(data.X) * (total + float(data.cost.sum()))
    slope = data.slope(u)
    # Sums that may be beyond the limit, but for rounding, are made anew.
    size = _sum_error(data.X) * total * reach
    for j in np.flatnonzero(data.steepness(slope) + size > data.penalty).tolist():
        slope[j] = _exact_dot(data.X[:, j], data.y * u) + far.slope[j]
        size[j] = 2.0 * _EPS * abs(slope[j])
    steepest = float(
        ((data.steepness(slope) + size + error * reach) / data.penalty).max(initial=0.0)
    )
    return max(0.0, total - error) * (1.0 - 4.0 * _EPS) / max(1.0, steepest)


def _exact_dot(column: Any, v: FloatArray) -> float:
    """Add up products, each with what its rounding lost (Dekker 1971), rounded once."""
    x = column.toarray().ravel() if hasattr(column, "toarray") else column.astype(np.float64)
    x, v = x[v != 0.0], v[v != 0.0]
    (x1, x2), (v1, v2) = (((c := 134217729.0 * a) - (c - a), a - (c - (c - a))) for a in (x, v))
    product = x * v
    rest = x2 * v2 - (((product - x1 * v1) - x2 * v1) - x1 * v2)
    return math.fsum([*product.tolist(), *rest.tolist()])


def column_reach(X: Points) -> FloatArray:
    """Return the largest magnitude in each column."""
    if isinstance(X, np.ndarray):
        return np.asarray(np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0)))
    return np.asarray(abs(X).max(axis=0).toarray(), dtype=np.float64).ravel()


def middles(low: FloatArray, high: FloatArray) -> FloatArray | None:
    """Return what to take off columns with these ranges: the middle of those that are far from zero."""
    far = np.maximum(np.abs(low), np.abs(high)) > _FAR * (high - low)
    far &= (low != 0.0) | (high != 0.0)
    if not far.any():
        return None
    # A value of the column itself where it is constant, so that nothing is left of it.
    return np.where(far, np.where(low == high, low, low + (high - low) / 2.0), 0.0)


def tie_prices(n: int) -> FloatArray:
    """Give small prices of the intercept and, after it, of the weights: rising, and equal for no two sets of them."""
    prices = _TIE_BREAK * (1.0 + np.sqrt((np.arange(n + 1) + 0.618) / (n + 0.618)))
    prices[0] = _TIE_BREAK / 100
    return np.asarray(prices)


def rounded_plane(w: FloatArray, b: float, reach: FloatArray) -> tuple[FloatArray, float]:
    """Round a plane to twelve digits of its largest term, so that nothing is left that a solver may leave."""
    terms = np.append(reach * np.abs(w), abs(b))
    unit = max(1.0, float(terms.max()))
    sizes = np.log10(unit / np.append(np.where(reach > 0.0, reach, 1.0), 1.0))
    digits = (_DIGITS - np.ceil(sizes)).astype(np.intp).tolist()
    *weights, b = (round(v, d) + 0.0 for v, d in zip([*w.tolist(), b], digits, strict=True))
    return np.array(weights), b


def balanced(u: FloatArray, y: FloatArray) -> FloatArray:
    """Shrink the multipliers of the heavier class until both classes have the same sum."""
    positive, negative = float(u[y > 0].sum()), float(u[y < 0].sum())
    lighter = min(positive, negative)
    if lighter == 0.0:
        return np.zeros_like(u)
    return u * np.where(y > 0, lighter / positive, lighter / negative)


def signed_bounds(y: FloatArray, cost: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give the bounds of alpha = y u for 0 <= u <= cost."""
    return np.where(y > 0, 0.0, -cost), np.where(y > 0, cost, 0.0)
