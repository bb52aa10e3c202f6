r"""The one plane of a 1-norm support vector machine: its exact optimum, rounded once.

The dual in `lpsvm` with its floats taken for rationals, and with limits that are infinitesimally wider::

    maximise    y'alpha
    subject to  |X_j'alpha| <= lambda + eps_j,    |sum_i alpha_i| <= eps_0,    0 <= y_i alpha_i <= c_i

(a monotone feature has one of its two limits), where eps_n > eps_(n-1) > ... > eps_1 > eps_0 > 0 are infinitesimals,
each infinitely small against the one before. That adds eps_j |w_j| and eps_0 |b| to the price of a plane: of several
optimal planes it leaves the one with the lexicographically smallest (|w_n|, ..., |w_1|, |b|), which is unique and knows
nothing of the order of the points. `solvers.exact` solves it, from the basis where a solver in floating point ended.

Columns far from zero are looked at from a value in their middle: with an intercept the plane is the same, and
floating point can tell points apart that lie a few units of rounding of 2^32 from each other.

Violated points that are known by sums only (`ExactFar`) move the limits of the rows, by rationals.

The gap of the plane that is kept, its floats and no others, is evaluated without rounding, too: the losses of the
points inside the margin are a linear function of the plane, so that exact sums over columns give the objective.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clearmargin.lp_svm.lpsvm import (
    Basis,
    FloatArray,
    LPSVMData,
    LPSVMSolution,
    signed_bounds,
)
from clearmargin.lp_svm.lpsvm_blocks import ExactFar
from clearmargin.rules.arithmetic import linear_scores, weighted_sums
from clearmargin.solvers.exact import ExactProgram, ExactVertex, exact_optimum
from clearmargin.solvers.rational import (
    Rationals,
    SingularError,
    UndecidedError,
    exact_dot,
    exact_sum,
    scaled_integers,
)

__all__ = ["Centred", "certified", "exact_lpsvm", "middles"]

Index = NDArray[np.intp]

_EPS = float(np.finfo(np.float64).eps)
# A column farther from zero than so many times its range is looked at from its middle.
_FAR = 4.0


@dataclass(frozen=True, slots=True)
class Centred:
    """Data with columns that are near zero, for floating point.

    Parameters
    ----------
    exact : LPSVMData
        The data as they are.
    data : LPSVMData
        The data with `shift` taken off each column, but for rounding.
    shift : ndarray of shape (n,) or None
        What was taken off; None where nothing was.
    far : ExactFar, optional
        The sums over further points without rounding, where there are any.
    """

    exact: LPSVMData
    data: LPSVMData
    shift: FloatArray | None
    far: ExactFar | None = None

    @classmethod
    def around(cls, data: LPSVMData) -> Centred:
        """Take off the middle of columns that are far from zero; sparse columns and those without an intercept stay."""
        X = data.X
        if not data.fit_intercept or not isinstance(X, np.ndarray):
            return cls(data, data, None)
        return cls.by(data, middles(X.min(axis=0), X.max(axis=0)))

    @classmethod
    def by(cls, data: LPSVMData, shift: FloatArray | None, far: ExactFar | None = None) -> Centred:
        """Take a shift off the columns of points and of sums."""
        if far is not None:
            data = replace(data, far=far.rounded())
        if shift is None:
            return cls(data, data, None, far)
        moved = None if far is None else far.rounded(shift)
        return cls(data, replace(data, X=data.X - shift, far=moved), shift, far)

    def scores(self, w: FloatArray, b: float) -> tuple[FloatArray, float]:
        """Give x'w + b for each point, and a bound on the error of each."""
        X, moved = self.data.X, self.moved(w, b)
        reach = float((_reach(X) * np.abs(w)).sum())
        band = (np.count_nonzero(w) + 6) * _EPS * (reach + abs(moved))
        return linear_scores(X, w) + moved, band

    def moved(self, w: FloatArray, b: float) -> float:
        """Return the intercept that a plane of the points as they are has for the centred ones."""
        if self.shift is None:
            return b
        return float(Fraction(b) + exact_dot(self.shift, w))

    def plane(self, w: FloatArray, b: float) -> tuple[FloatArray, float]:
        """Return a plane of the centred points for the points as they are, rounded once."""
        return w, b if self.shift is None else float(Fraction(b) - exact_dot(self.shift, w))


def middles(low: FloatArray, high: FloatArray) -> FloatArray | None:
    """Return what to take off columns with these ranges: the middle of those that are far from zero.

    Parameters
    ----------
    low, high : ndarray of shape (n,)
        Ranges.

    Returns
    -------
    ndarray of shape (n,) or None
        None where all columns can stay.

    Examples
    --------
    >>> middles(np.array([-1.0, 1e9]), np.array([1.0, 1e9 + 2.0]))
    array([0.e+00, 1.e+09])
    """
    far = np.maximum(np.abs(low), np.abs(high)) > _FAR * (high - low)
    far &= (low != 0.0) | (high != 0.0)
    if not far.any():
        return None
    # A value of the column itself where it is constant, so that nothing is left of it.
    return np.where(far, np.where(low == high, low, low + (high - low) / 2.0), 0.0)


def _reach(X: Any) -> FloatArray:
    """Return the largest magnitude in each column."""
    if isinstance(X, np.ndarray):
        return np.asarray(np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0)))
    return np.asarray(abs(X).max(axis=0).toarray(), dtype=np.float64).ravel()


def exact_lpsvm(centred: Centred, start: LPSVMSolution) -> LPSVMSolution | None:
    """Find the one plane, from where a solver in floating point ended.

    Parameters
    ----------
    centred : Centred
        The data.
    start : LPSVMSolution
        A solution with a basis.

    Returns
    -------
    LPSVMSolution or None
        The plane, rounded once, with its exact gap; None where that would take too long.

    Examples
    --------
    Of two equal columns the first has the weight:

    >>> data = LPSVMData(np.array([[0.0, 0.0], [3.0, 3.0]]), np.array([-1.0, 1.0]), cost=np.ones(2))
    >>> basis = Basis(np.array([0, 1]), np.array([1]), with_intercept=True)
    >>> start = replace(data.certify(np.array([0.0, 2 / 3]), -1.0, np.full(2, 1 / 3)), basis=basis)
    >>> found = exact_lpsvm(Centred.around(data), start)
    >>> found.w.tolist(), found.b, found.gap < 1e-15
    ([0.6666666666666666, 0.0], -1.0, True)
    """
    data, basis = centred.exact, start.basis
    if basis is None:
        return None
    program = _program(centred)
    n = data.X.shape[1]
    is_violated = start.u > 0.5 * data.cost
    at_upper = is_violated == (data.y > 0)
    # Where a weight is zero, although its feature is at a limit, the solver knew which.
    slope = weighted_sums(centred.data.X, data.y * start.u)
    if centred.data.far is not None:
        slope += centred.data.far.slope
    rows = [*_first_equals(data, basis.features, slope), *([n] if basis.with_intercept else [])]
    above = slope > 0.0 if data.sign is None else np.where(data.sign == 0, slope, data.sign) > 0.0
    row_at_upper = np.append(above, False)[: len(program.row_lower)]
    try:
        vertex = exact_optimum(program, basis.points.tolist(), rows, at_upper, row_at_upper)
        plane = _rounded(vertex)
    except (SingularError, UndecidedError):
        return None
    return _solution(centred, vertex, plane, start.n_iter)


def _first_equals(data: LPSVMData, features: Index, slope: FloatArray) -> list[int]:
    """Find for each feature the first one with the same column, or the opposite one: a short cut to where ties end."""
    if not isinstance(data.X, np.ndarray):
        return [int(j) for j in features]
    found = []
    for j in features.tolist():
        column = data.X[:, j]
        # Equal columns have equal slopes, to the bit.
        alike = np.flatnonzero(np.abs(slope[:j]) == abs(slope[j])).tolist()
        same = (
            i
            for i in alike
            if np.array_equal(data.X[:, i], column * _sign(slope[i], slope[j]))
            and (data.sign is None or data.sign[i] == data.sign[j] * _sign(slope[i], slope[j]))
        )
        found.append(next(same, j))
    return found


def _sign(a: float, b: float) -> float:
    return 1.0 if a == b else -1.0


def _program(centred: Centred) -> ExactProgram:
    data, n = centred.exact, centred.exact.X.shape[1]
    near, shift = None, None
    if centred.shift is not None:
        near, shift = _columns(centred.data), np.append(centred.shift, 0.0)
    rows = n + int(data.fit_intercept)
    row_low, row_high = (np.append(limit, 0.0)[:rows] for limit in data.limits())
    low, high = signed_bounds(data.y, data.cost)
    rank = np.append(np.arange(n)[::-1], n)[:rows]
    return ExactProgram(
        _columns(data),
        -data.y,
        low,
        high,
        row_low,
        row_high,
        rank,
        near,
        shift,
        balance=-1 if near is None else n,
        known_reach=np.append(_reach(centred.data.X), 1.0)[:rows],
        outside=None if centred.far is None else centred.far.exact,
        outside_near=_near_sums(centred.data, rows),
    )


def _near_sums(data: LPSVMData, rows: int) -> FloatArray | None:
    return None if data.far is None else np.append(data.far.slope, data.far.balance)[:rows]


def _columns(data: LPSVMData) -> sparse.csc_array[np.float64]:
    """Return the matrix of the dual: a column for each point, with a 1 for the intercept."""
    X: Any = data.X
    m, n = X.shape
    size = n + int(data.fit_intercept)
    if isinstance(X, np.ndarray):
        entries = np.ones((m, size))
        entries[:, :n] = X
        at = np.tile(np.arange(size, dtype=np.int32), m), np.arange(0, m * size + 1, size)
        return sparse.csc_array((entries.ravel(), *at), shape=(size, m))
    blocks: list[Any] = [sparse.csr_array(X.T)]
    if data.fit_intercept:
        blocks.append(sparse.csr_array(np.ones((1, m))))
    return sparse.csc_array(sparse.vstack(blocks))


def _rounded(vertex: ExactVertex) -> dict[int, float]:
    """Return the plane as floats: minus the multipliers of the rows."""
    return {
        r: 0.0 - value for r, value in zip(vertex.rows, vertex.y.to_floats().tolist(), strict=True)
    }


def _solution(
    centred: Centred, vertex: ExactVertex, plane: dict[int, float], n_iter: int
) -> LPSVMSolution:
    data, n = centred.exact, centred.exact.X.shape[1]
    w = np.zeros(n)
    for r, weight in plane.items():
        if r < n:
            w[r] = weight
    b = plane.get(n, 0.0)
    alpha = np.where(vertex.at_upper, *signed_bounds(data.y, data.cost)[::-1])
    alpha[vertex.columns] = 0.0
    optimum = exact_dot(data.y, alpha) + _dot(vertex.x, data.y[vertex.columns])
    if centred.far is not None:
        optimum += centred.far.exact(n + 1)
    alpha[vertex.columns] = vertex.x.to_floats()
    value = _exact_objective(centred, w, b)
    basis = Basis(
        np.array(vertex.columns, dtype=np.intp),
        np.array([r for r in vertex.rows if r < n], dtype=np.intp),
        n in vertex.rows,
    )
    return LPSVMSolution(
        w,
        b,
        data.y * alpha,
        float(value),
        _round_down(optimum),
        n_iter,
        basis,
        _relative(value - optimum, value),
        is_exact=True,
    )


def _dot(values: Rationals, signs: FloatArray) -> Fraction:
    """Return the least that a combination with signs can be."""
    total = sum(int(n) * int(s) for n, s in zip(values.numerators, signs.tolist(), strict=True))
    return Fraction(total - len(values) * values.error, values.denominator)


def _exact_objective(centred: Centred, w: FloatArray, b: float) -> Fraction:
    """Return the objective at a plane of floats, without rounding."""
    data = centred.exact
    scores, band = centred.scores(w, b)
    margin = data.y * scores
    violated = margin < 1.0 - band
    doubtful = np.flatnonzero(np.abs(margin - 1.0) <= band + _EPS)
    violated[doubtful] = _are_violated(data, doubtful, w, b)
    rows = np.flatnonzero(violated)
    weight = data.y[rows] * data.cost[rows]
    total = exact_sum(data.cost[rows]) - Fraction(b) * exact_sum(weight)
    used = np.flatnonzero(w)
    part = _block(data, rows, used)
    for k, j in enumerate(used.tolist()):
        one = Fraction(float(w[j]))
        total += abs(one) * Fraction(data.penalty) - one * exact_dot(part[:, k], weight)
    if centred.far is not None:
        total += _far_losses(centred.far, w, b)
    return total


def _far_losses(far: ExactFar, w: FloatArray, b: float) -> Fraction:
    """Return the losses of points that are known by sums, all of which the plane violates."""
    n = len(w)
    total = far.exact(n + 1) - Fraction(b) * far.exact(n)
    for j in np.flatnonzero(w).tolist():
        total -= Fraction(float(w[j])) * far.exact(j)
    return total


def _are_violated(data: LPSVMData, rows: Index, w: FloatArray, b: float) -> Any:
    """Return which points have a margin below 1, in whole numbers."""
    used = np.flatnonzero(w)
    entries, exponent = scaled_integers(_block(data, rows, used))
    weights, weight_exponent = scaled_integers(w[used])
    exponent += weight_exponent
    (constant, one), least = scaled_integers(np.array([b, 1.0]))
    low = min(exponent, least)
    score = entries.dot(weights) * (1 << (exponent - low)) + constant * (1 << (least - low))
    signs = np.where(data.y[rows] > 0, 1, -1).astype(object)
    return (score * signs < one * (1 << (least - low))).astype(np.bool_)


def _block(data: LPSVMData, rows: Index, columns: Index) -> FloatArray:
    part = data.X[rows][:, columns]
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part)


def certified(centred: Centred, solution: LPSVMSolution) -> LPSVMSolution:
    """Evaluate the gap of a solution in floating point so that it is never too small.

    Parameters
    ----------
    centred : Centred
        The data.
    solution : LPSVMSolution
        A plane of the data as they are, and multipliers.

    Returns
    -------
    LPSVMSolution
        The same, with a gap that covers all rounding.

    Examples
    --------
    >>> data = LPSVMData(np.array([[0.0], [2.0]]), np.array([-1.0, 1.0]), cost=np.ones(2))
    >>> solution = data.certify(np.array([1.0]), -1.0, np.full(2, 0.5))
    >>> certified(Centred.around(data), solution).gap < 1e-12
    True
    """
    data = centred.exact
    value = _exact_objective(centred, solution.w, solution.b)
    bound = _exact_bound(centred, np.clip(solution.u, 0.0, data.cost))
    return replace(
        solution,
        objective=float(value),
        bound=_round_down(bound),
        exact_gap=_relative(value - bound, value),
    )


def _exact_bound(centred: Centred, u: FloatArray) -> Fraction:
    """Return the dual bound of `lpsvm` from multipliers within their bounds, rounded down."""
    data, rest, n = centred.data, Fraction(0), centred.data.X.shape[1]
    if data.fit_intercept:
        # Take what is too much off the heavier class, largest multipliers first; the last of them need not be a float.
        found = _balance(u, data.y, Fraction(0) if centred.far is None else centred.far.exact(n))
        if found is None:
            return Fraction(0)
        u, rest = found
    sums = weighted_sums(data.X, data.y * u)
    reach = _reach(data.X)
    error = (len(u) + 8) * _EPS * reach * float(u.sum()) + reach * float(rest)
    if data.far is not None:
        sums += data.far.slope
        error += 4.0 * _EPS * (np.abs(data.far.slope) + reach * float(u.sum()))
    slope = data.steepness(sums)
    steepest = float(np.max((slope + error) / data.penalty, initial=0.0)) * (1.0 + 4.0 * _EPS)
    # Both fewer and scaled multipliers are feasible; the rest may have been taken off.
    total = exact_sum(u) - rest + (0 if centred.far is None else centred.far.exact(n + 1))
    return max(Fraction(0), total / Fraction(max(1.0, steepest)))


def _balance(
    u: FloatArray, y: FloatArray, outside: Fraction = Fraction(0)
) -> tuple[FloatArray, Fraction] | None:
    """Lower multipliers of the heavier class until the classes are as near as floats allow; give what is left, too.

    None if they cannot outweigh the points that are known by sums.
    """
    u = u.copy()
    excess = exact_dot(u, y) + outside
    heavy = np.flatnonzero((y > 0) == (excess > 0))
    largest_first = iter(heavy[np.argsort(-u[heavy], kind="stable")].tolist())
    excess = abs(excess)
    while excess > 0:
        i = next(largest_first, None)
        if i is None:
            return None
        lowered = max(Fraction(0), Fraction(float(u[i])) - excess)
        before, u[i] = Fraction(float(u[i])), _round_down(lowered)
        excess -= before - Fraction(float(u[i]))
    return u, -excess


def _round_down(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def _relative(part: Fraction, whole: Fraction) -> float:
    """Return a ratio, rounded up; 0 of 0 is 0."""
    if part <= 0 or whole <= 0:
        return 0.0
    ratio = part / whole
    nearest = float(ratio)
    return nearest if Fraction(nearest) >= ratio else math.nextafter(nearest, math.inf)
