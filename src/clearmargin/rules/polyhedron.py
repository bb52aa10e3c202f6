"""A polyhedron: the points that satisfy some linear inequalities, and the exact test whether there are any."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.box import Box, CategorySets, category_sets, contains_codes, feature_tuple
from clearmargin.rules.interval import Interval
from clearmargin.rules.value import BoolArray, FloatArray, Value, as_points, bool_array, float_array


class MatrixBudget:
    """How many numbers the matrices of all linear conditions that are read together may hold."""

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
    sets : mapping from int to iterable of int, optional
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
        sets: Mapping[int, Iterable[int]] | None = None,
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
        allowed = category_sets(sets, rows.shape[1])
        for feature in allowed:
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
        # A lower bound is written with the weight -1.
        limits = np.column_stack([-box.lower, box.upper]).ravel()
        used = np.flatnonzero(np.isfinite(limits))
        A = np.zeros((len(used), box.n_features))
        A[np.arange(len(used)), used // 2] = np.where(used % 2, 1.0, -1.0)
        strict = ~np.column_stack([box.lower_closed, box.upper_closed]).ravel()
        return cls(A, limits[used], strict[used], box.sets, box.missing, box.known)

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
        return inside & contains_codes(self, points)

    def is_empty(self) -> bool:
        """Decide exactly whether no point satisfies all inequalities."""
        no_category = any(not codes for codes in self.sets.values())
        return no_category or is_infeasible(self.A, self.b, self.strict)

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
        sets = f", sets={dict(self.sets)}" if self.sets else ""
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


def is_infeasible(A: FloatArray, b: FloatArray, strict: BoolArray) -> bool:
    """Decide whether no x satisfies A x <= b, with < in the rows marked strict."""
    used = A[:, np.any(A != 0, axis=0)]
    table = _Table([_whole(*row) for row in zip(used, b, strict, strict=True)], used.shape[1])
    table.eliminate_variables()
    return not table.reach_nonnegative()


def _whole(row: FloatArray, limit: float, strict: bool) -> Row:
    """Write s = limit - row.x in whole numbers: multiply by a power of two, which keeps the inequality."""
    exact = [-Fraction(a) for a in row.tolist()] + [Fraction(float(limit))]
    scale = max(value.denominator for value in exact)
    return [int(value * scale) for value in exact] + [-int(strict)]


class _Table:
    """Dependent quantities as linear forms in the free ones: dependent_i = rows[i] . (free, 1, epsilon) / divisor."""

    def __init__(self, rows: list[Row], n_variables: int):
        self.rows = rows
        self.divisor = 1
        # Quantities are numbered: slacks from 0, variables from -1 downwards.
        self.dependent = list(range(len(rows)))
        self.free = [-1 - j for j in range(n_variables)]

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
