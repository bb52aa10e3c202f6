"""A polyhedron: the points that satisfy some linear inequalities, and the exact test whether there are any."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.box import Box
from clearmargin.rules.categories import CategorySets, feature_tuple
from clearmargin.rules.interval import Interval
from clearmargin.rules.value import BoolArray, FloatArray, Value, as_points, bool_array, float_array

__all__ = ["MatrixBudget", "Optimum", "Polyhedron", "exact_minimum", "is_infeasible"]


class MatrixBudget:
    """How many numbers the matrices of all linear conditions that are read together may hold.

    More than 2 GB of them is an accident, and refusing it is better than the machine running out of memory.

    Examples
    --------
    >>> budget = MatrixBudget()
    >>> budget.take(1_000), budget.take(2**28)
    (True, False)
    """

    gigabytes = 2

    def __init__(self) -> None:
        self._left = self.gigabytes * 2**30 // 8

    def take(self, count: int) -> bool:
        """Take so many numbers, if there is room for them."""
        self._left -= count
        return self._left >= 0


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Polyhedron(Value):
    """The set {x : A x <= b}, with < instead of <= in rows marked strict.

    An inequality is false where a feature with a weight in it is missing (NaN); other features may be missing.

    Parameters
    ----------
    A : array-like of shape (k, n)
        Left-hand sides; no row may be all zero.
    b : array-like of shape (k,)
        Right-hand sides, finite.
    strict : array-like of bool of shape (k,) or bool, default False
        Which rows are strict inequalities.
    sets : CategorySets or mapping, optional
        For categorical features, the codes that are allowed; such a feature appears in no row.
    missing : iterable of int, optional
        Features whose value must be missing; such a feature appears in no row and has no set.
    known : iterable of int, optional
        Features whose value must not be missing. Rows and sets say so already, and such features are left out.

    Examples
    --------
    >>> wedge = Polyhedron([[0.5, 1.0], [-1.0, 0.0]], [40.0, 0.0])
    >>> wedge.contains([[20.0, 30.0], [20.0, 31.0]])
    array([ True, False])
    >>> wedge.is_empty()
    False
    """

    A: FloatArray
    b: FloatArray
    strict: BoolArray
    sets: CategorySets
    missing: tuple[int, ...]
    known: tuple[int, ...]

    def __init__(
        self,
        A: ArrayLike,
        b: ArrayLike,
        strict: ArrayLike = False,
        sets: CategorySets | Mapping[int, object] | None = None,
        missing: Iterable[int] = (),
        known: Iterable[int] = (),
    ):
        rows = float_array(A, "the matrix of a polyhedron")
        if rows.ndim != 2:
            raise InvalidValueError(
                f"the matrix of a polyhedron has two dimensions, not shape {rows.shape}"
            )
        limits = float_array(b, "the right-hand side of a polyhedron", shape=rows.shape[:1])
        if not (np.isfinite(rows).all() and np.isfinite(limits).all()):
            raise InvalidValueError("the inequalities of a polyhedron must be finite")
        void = np.flatnonzero(~np.any(rows != 0, axis=1))
        if len(void):
            raise InvalidValueError(f"row {void[0] + 1} of a polyhedron has no variable (all zero)")
        allowed = sets if isinstance(sets, CategorySets) else CategorySets(sets or {})
        for feature in allowed:
            if feature >= rows.shape[1]:
                raise InvalidValueError(
                    f"a set for feature {feature}, but there are {rows.shape[1]} features"
                )
            if rows[:, feature].any():
                raise InvalidValueError(
                    f"feature {feature} has both a set of categories and a weight in an inequality"
                )
        n = rows.shape[1]
        absent = feature_tuple(missing, n, "missing")
        present = feature_tuple(known, n, "known")
        for feature in absent:
            if rows[:, feature].any() or feature in allowed or feature in present:
                raise InvalidValueError(
                    f"feature {feature} must be missing, and another condition needs its value"
                )
        self._set(
            A=rows,
            b=limits,
            strict=bool_array(strict, "strict", shape=limits.shape),
            sets=allowed,
            missing=absent,
            known=tuple(j for j in present if j not in allowed and not rows[:, j].any()),
        )

    @classmethod
    def from_box(cls, box: Box) -> Polyhedron:
        """Write the bounds of a box as inequalities, feature by feature, lower bound first."""
        features, bounds, closed = box.entries
        rows: list[tuple[int, float]] = []
        limits, strict = [], []
        for k, j in enumerate(features.tolist()):
            # A lower bound is written with the weight -1.
            for end, sign in ((0, -1.0), (1, 1.0)):
                if np.isfinite(bounds[end, k]):
                    rows.append((j, sign))
                    limits.append(sign * bounds[end, k])
                    strict.append(not closed[end, k])
        A = np.zeros((len(rows), box.n_features))
        for i, (j, sign) in enumerate(rows):
            A[i, j] = sign
        flags = np.array(strict, dtype=np.bool_)
        return cls(A, np.array(limits), flags, box.sets, box.missing, box.known)

    @property
    def n_features(self) -> int:
        """Dimension of the space."""
        return int(self.A.shape[1])

    @property
    def bounded(self) -> tuple[int, ...]:
        """Indices of the features that the polyhedron has a condition on."""
        used = np.flatnonzero(np.any(self.A != 0, axis=0)).tolist()
        return tuple(sorted({*used, *self.sets, *self.missing, *self.known}))

    def contains(self, X: ArrayLike) -> BoolArray:
        """Tell for each row of X whether it is in the polyhedron, evaluated in floating point.

        A sum is formed from left to right, as Python, SQL and a reader would form it. Where it has no value
        (infinity minus infinity, or a value is missing), the row is not in the polyhedron.
        """
        points = as_points(X, self.n_features)
        inside = np.ones(len(points), dtype=np.bool_)
        for row, limit, strict in zip(self.A, self.b, self.strict, strict=True):
            value = left_side(row, points)
            inside &= value < limit if strict else value <= limit
        for j in self.missing:
            inside &= np.isnan(points[:, j])
        for j in self.known:
            inside &= ~np.isnan(points[:, j])
        return inside & self.sets.contains(points)

    def is_empty(self) -> bool:
        """Decide exactly whether no point satisfies all inequalities."""
        return self.sets.is_empty or is_infeasible(self.A, self.b, self.strict)

    @property
    def has_unit_rows(self) -> bool:
        """Whether each row is a plain bound on one feature (one weight, 1 or -1)."""
        single = np.count_nonzero(self.A, axis=1) == 1
        return bool((single & (np.abs(self.A).max(axis=1, initial=0) == 1)).all())

    def to_box(self) -> Box:
        """Read the inequalities as a box; every row must have exactly one variable.

        A bound b / a that is no float becomes the next float inside. So the box holds exactly the floats that
        satisfy the inequalities in exact arithmetic, where `contains` rounds the product a x.

        Returns
        -------
        Box
            The same floats; between the bounds, the same points.
        """
        wide = np.flatnonzero(np.count_nonzero(self.A, axis=1) != 1)
        if len(wide):
            raise InvalidValueError(
                f"row {wide[0] + 1} has more than one variable: this polyhedron is not a box"
            )
        box = Box.from_intervals({}, self.n_features, self.sets, self.missing, self.known)
        for row, limit, strict in zip(self.A, self.b, self.strict, strict=True):
            box = box.intersect(_half_box(row, float(limit), bool(strict)))
        return box

    def __repr__(self) -> str:
        sets = f", sets={self.sets!r}" if len(self.sets) else ""
        strict = f", strict={self.strict.tolist()}" if self.strict.any() else ""
        missing = f", missing={self.missing}" if self.missing else ""
        known = f", known={self.known}" if self.known else ""
        return f"Polyhedron({self.A.tolist()}, {self.b.tolist()}{strict}{sets}{missing}{known})"


def left_side(row: FloatArray, points: FloatArray) -> FloatArray:
    """Evaluate row.x for each point, from left to right over the weights that are not zero."""
    used = np.flatnonzero(row)
    with np.errstate(over="ignore", invalid="ignore"):  # inf and NaN compare as they should
        total: FloatArray = row[used[0]] * points[:, used[0]]
        for j in used[1:]:
            total = total + row[j] * points[:, j]
    return total


def _half_box(row: FloatArray, limit: float, strict: bool) -> Box:
    """Return the box of one inequality a x_j <= limit."""
    j = int(np.flatnonzero(row)[0])
    a = float(row[j])
    exact = Fraction(limit) / Fraction(a)
    bound, closed = _clamped_float(exact), not strict
    if Fraction(bound) != exact:
        if (Fraction(bound) > exact) == (a > 0):
            inside = math.nextafter(bound, -math.inf if a > 0 else math.inf)
            closed = math.isfinite(inside)  # beyond the largest float there is only infinity
            bound = inside if closed else bound
        else:
            closed = True  # the bound is strictly inside, so it belongs to the set
    interval = (
        Interval.from_flags(-math.inf, bound, True, closed)
        if a > 0
        else Interval.from_flags(bound, math.inf, closed, True)
    )
    return Box.from_intervals({j: interval}, len(row))


def _clamped_float(x: Fraction) -> float:
    """Return the nearest finite float."""
    largest = float(np.finfo(np.float64).max)
    return float(max(Fraction(-largest), min(Fraction(largest), x)))


Row = list[int]
# How far from a strict bound a point may be put, relative to its size: near enough to stand for the bound.
_NEAR = Fraction(1, 1000)


def is_infeasible(A: FloatArray, b: FloatArray, strict: BoolArray) -> bool:
    """Decide whether no x satisfies A x <= b, with < in the rows marked strict.

    The system is written with slacks, s = b - A x >= 0. A strict row gets the right-hand side b - epsilon
    with a symbolic, infinitely small epsilon > 0: each right-hand side is a pair (number, multiple of epsilon)
    and pairs compare like words in a dictionary. The free x are eliminated first; what remains are rows
    s_i = r_i + sum_j t_ij s_j over slacks alone. Then the least-index criss-cross method with a zero
    objective runs: take the first negative s_i, let the first s_j with t_ij > 0 replace it; if there is none, row i
    proves that the system has no solution (Farkas). The least index in both choices makes it finite (Terlaky 1985).

    Parameters
    ----------
    A : ndarray of shape (k, n)
        Left-hand sides.
    b : ndarray of shape (k,)
        Right-hand sides.
    strict : ndarray of bool of shape (k,)
        Which rows are strict.

    Returns
    -------
    bool
        True exactly when the system has no solution over the real numbers.

    Examples
    --------
    >>> A, b = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    >>> is_infeasible(A, b, np.array([False, False])), is_infeasible(A, b, np.array([True, False]))
    (False, True)
    """
    used = A[:, np.any(A != 0, axis=0)]
    table = _Table([_whole(*row) for row in zip(used, b, strict, strict=True)], used.shape[1])
    table.eliminate_variables()
    return not table.reach_nonnegative()


def _whole(row: FloatArray, limit: float, strict: bool) -> Row:
    """Write s = limit - row.x in whole numbers: multiply by a power of two, which keeps the inequality.

    The entries are the coefficients of x, the constant and the multiple of epsilon (any negative one will do).
    """
    exact = [-Fraction(a) for a in row.tolist()] + [Fraction(float(limit))]
    scale = max(value.denominator for value in exact)
    return [int(value * scale) for value in exact] + [-int(strict)]


class Optimum(NamedTuple):
    """The lowest value of a linear function over inequalities, and what proves it.

    Parameters
    ----------
    value : Fraction or float
        The exact infimum; -inf where there is none.
    is_attained : bool
        Whether some point has this value.
    point : tuple of Fraction
        A point that satisfies all inequalities, strict ones strictly: one with this value, or, where it is not
        attained, one near it; where there is no lowest value, any point.
    tilt : tuple of Fraction
        In which direction the point lies from the one with this value, where strict inequalities shut that one out.
    multipliers : tuple of Fraction
        One for each inequality, none negative, with ``function(x) == value + sum(multipliers * (b - A x))`` for all x.
        As no term of the sum is negative, they prove the value. Empty where there is no lowest value.
    """

    value: Fraction | float
    is_attained: bool
    point: tuple[Fraction, ...]
    tilt: tuple[Fraction, ...]
    multipliers: tuple[Fraction, ...]


def exact_minimum(
    A: FloatArray, b: FloatArray, strict: BoolArray, coef: FloatArray
) -> Optimum | None:
    """Find the lowest value of coef.x over A x <= b, with < in the rows marked strict; exactly.

    The table of `is_infeasible` with one more row, the function. The least-index criss-cross method exchanges slacks
    until none is negative and the function grows with each free one. Then the coefficients of the function are the
    multipliers. Strict rows keep an infinitely small distance, which tells whether the value is attained.

    Parameters
    ----------
    A : ndarray of shape (k, n)
        Left-hand sides.
    b : ndarray of shape (k,)
        Right-hand sides.
    strict : ndarray of bool of shape (k,)
        Which rows are strict.
    coef : ndarray of shape (n,)
        The function.

    Returns
    -------
    Optimum or None
        None where no x satisfies the inequalities.

    Examples
    --------
    >>> A, b = np.array([[1.0, -1.0], [-1.0, 0.0]]), np.array([0.0, -60.0])
    >>> lowest = exact_minimum(A, b, np.array([False, True]), np.array([0.0, 1.0]))
    >>> lowest.value, lowest.is_attained, lowest.multipliers
    (Fraction(60, 1), False, (Fraction(1, 1), Fraction(1, 1)))
    """
    n = A.shape[1]
    rows = [_whole(*row) for row in zip(A, b, strict, strict=True)]
    goal = _whole(-coef, 0.0, False)
    table = _Table([*rows, goal], n, has_function=True)
    table.eliminate_variables()
    status = table.reach_optimum()
    if status == "none":
        return None
    if status == "endless":
        return Optimum(-math.inf, False, *table.point(n), ())
    # Rows were multiplied by powers of two, and so was the function.
    scales = [_power(row, limit) for row, limit in zip(A, b, strict=True)]
    weight = Fraction(1, table.divisor * _power(coef, 0.0))
    *prices, value, distance = table.function
    multipliers = [Fraction(0)] * len(b)
    for quantity, price in zip(table.free, prices, strict=True):
        if quantity >= 0:
            multipliers[quantity] = price * scales[quantity] * weight
    return Optimum(value * weight, distance == 0, *table.point(n), tuple(multipliers))


def _power(row: FloatArray, limit: float) -> int:
    """Return the power of two by which `_whole` multiplies a row."""
    return max(Fraction(x).denominator for x in (*row.tolist(), float(limit)))


class _Table:
    """Dependent quantities as linear forms in the free ones: dependent_i = rows[i] . (free, 1, epsilon) / divisor.

    All entries are minors of the first table, so they stay whole numbers of modest size, and the division by
    the last pivot leaves no remainder (Edmonds 1967; Bareiss 1968). With a function, which is the last row, the rows of
    variables are kept, too: they tell the point.
    """

    def __init__(self, rows: list[Row], n_variables: int, *, has_function: bool = False):
        self.rows = rows
        self.divisor = 1
        # Quantities are numbered: slacks from 0, variables from -1 downwards.
        self.dependent = list(range(len(rows)))
        self.free = [-1 - j for j in range(n_variables)]
        self.has_function = has_function
        if has_function:
            self.dependent[-1] = -1 - n_variables

    @property
    def function(self) -> Row:
        """The function in the free quantities."""
        return self.rows[self.dependent.index(min(self.dependent))]

    def eliminate_variables(self) -> None:
        """Solve for one variable after the other; a variable may have any sign, so that its row asks for nothing."""
        for column in range(len(self.free)):
            row = next(
                (
                    i
                    for i, entries in enumerate(self.rows)
                    if entries[column] and self.dependent[i] >= 0
                ),
                None,
            )
            if row is not None:
                self._exchange(row, column)
                if not self.has_function:
                    del self.rows[row], self.dependent[row]

    def reach_nonnegative(self) -> bool:
        """Exchange slacks until all dependent ones are >= 0 (True) or one of them cannot be (False)."""
        while True:
            negative = [
                (s, i) for i, s in enumerate(self.dependent) if s >= 0 and self._is_negative(i)
            ]
            if not negative:
                return True
            row = min(negative)[1]
            raising = [(s, c) for c, s in enumerate(self.free) if self.rows[row][c] > 0]
            if not raising:
                return False
            self._exchange(row, min(raising)[1])

    def reach_optimum(self) -> Literal["found", "none", "endless"]:
        """Exchange slacks until none is negative and the function grows with each free one."""
        while True:
            negative = [
                (s, i) for i, s in enumerate(self.dependent) if s >= 0 and self._is_negative(i)
            ]
            prices = self.function
            falling = [(s, c) for c, s in enumerate(self.free) if s >= 0 and prices[c] < 0]
            loose = any(s < 0 and prices[c] for c, s in enumerate(self.free))
            if loose or not (negative or falling):
                break
            if negative and (not falling or min(negative) < min(falling)):
                row = min(negative)[1]
                raising = [(s, c) for c, s in enumerate(self.free) if self.rows[row][c] > 0]
                if not raising:
                    return "none"
                self._exchange(row, min(raising)[1])
                continue
            column = min(falling)[1]
            stopping = [
                (s, i) for i, s in enumerate(self.dependent) if s >= 0 and self.rows[i][column] < 0
            ]
            if not stopping:
                loose = True
                break
            self._exchange(min(stopping)[1], column)
        if not loose:
            return "found"
        return "endless" if self.reach_nonnegative() else "none"

    def point(self, n_variables: int) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """Return the variables where free quantities are 0, a little way inside of strict rows; and the way."""
        value, tilt = [Fraction(0)] * n_variables, [Fraction(0)] * n_variables
        room = [Fraction(1)]
        for quantity, row in zip(self.dependent, self.rows, strict=True):
            at_zero, with_distance = row[-2:]
            if quantity >= 0 and with_distance < 0:
                room.append(Fraction(at_zero, -2 * with_distance))
            elif -n_variables <= quantity < 0:
                j = -1 - quantity
                value[j] = Fraction(at_zero, self.divisor)
                tilt[j] = Fraction(with_distance, self.divisor)
                if with_distance:
                    room.append(_NEAR * max(Fraction(1), abs(value[j])) / abs(tilt[j]))
        distance = min(room)
        moved = tuple(v + t * distance for v, t in zip(value, tilt, strict=True))
        return moved, tuple(tilt)

    def _is_negative(self, row: int) -> bool:
        return self.rows[row][-2:] < [0, 0]

    def _exchange(self, row: int, column: int) -> None:
        """Make the free quantity of a column dependent, and the dependent quantity of a row free."""
        pivot_row = self.rows[row]
        pivot, sign = pivot_row[column], 1 if pivot_row[column] > 0 else -1
        for i, entries in enumerate(self.rows):
            if i != row:
                factor = sign * entries[column]
                entries[:] = [
                    (abs(pivot) * a - factor * p) // self.divisor
                    for a, p in zip(entries, pivot_row, strict=True)
                ]
                entries[column] = factor
        pivot_row[:] = [-sign * p for p in pivot_row]
        pivot_row[column] = sign * self.divisor
        self.divisor = abs(pivot)
        self.dependent[row], self.free[column] = self.free[column], self.dependent[row]
