"""A polyhedron: the points that satisfy some linear inequalities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.core.box import Box
from clearmargin.core.categories import CategorySets
from clearmargin.core.feasibility import is_infeasible
from clearmargin.core.interval import Interval
from clearmargin.core.points import as_points, is_point
from clearmargin.core.value import BoolArray, FloatArray, Value, bool_array, float_array
from clearmargin.exceptions import InvalidValueError

__all__ = ["Polyhedron"]


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Polyhedron(Value):
    """The set {x : A x <= b}, with < instead of <= in rows marked strict.

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

    def __init__(
        self,
        A: ArrayLike,
        b: ArrayLike,
        strict: ArrayLike = False,
        sets: CategorySets | Mapping[int, object] | None = None,
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
        self._set(
            A=rows, b=limits, strict=bool_array(strict, "strict", shape=limits.shape), sets=allowed
        )

    @classmethod
    def from_box(cls, box: Box) -> Polyhedron:
        """Write the bounds of a box as inequalities, feature by feature, lower bound first."""
        rows, limits, strict = [], [], []
        for j in range(box.n_features):
            unit = np.zeros(box.n_features)
            unit[j] = 1.0
            if np.isfinite(box.lower[j]):
                rows.append(-unit)
                limits.append(-box.lower[j])
                strict.append(not box.lower_closed[j])
            if np.isfinite(box.upper[j]):
                rows.append(unit)
                limits.append(box.upper[j])
                strict.append(not box.upper_closed[j])
        A = np.array(rows).reshape(len(rows), box.n_features)
        return cls(A, np.array(limits), np.array(strict, dtype=np.bool_), box.sets)

    @property
    def n_features(self) -> int:
        """Dimension of the space."""
        return int(self.A.shape[1])

    @property
    def bounded(self) -> tuple[int, ...]:
        """Indices of the features that occur in a row or have a set of categories."""
        used = np.flatnonzero(np.any(self.A != 0, axis=0))
        return tuple(sorted({int(j) for j in used} | set(self.sets)))

    def contains(self, X: ArrayLike) -> BoolArray:
        """Tell for each row of X whether it is in the polyhedron, evaluated in floating point.

        A sum is formed from left to right, as Python, SQL and a reader would form it. Where it has no value
        (infinity minus infinity), the row is not in the polyhedron.
        """
        points = as_points(X, self.n_features)
        inside = is_point(points)
        for row, limit, strict in zip(self.A, self.b, self.strict, strict=True):
            value = left_side(row, points)
            inside &= value < limit if strict else value <= limit
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
        box = Box.from_intervals({}, self.n_features, self.sets)
        for row, limit, strict in zip(self.A, self.b, self.strict, strict=True):
            box = box.intersect(_half_box(row, float(limit), bool(strict)))
        return box

    def __repr__(self) -> str:
        sets = f", sets={self.sets!r}" if len(self.sets) else ""
        strict = f", strict={self.strict.tolist()}" if self.strict.any() else ""
        return f"Polyhedron({self.A.tolist()}, {self.b.tolist()}{strict}{sets})"


def left_side(row: FloatArray, points: FloatArray) -> FloatArray:
    """Evaluate row.x for each point, from left to right over the weights that are not zero."""
    used = np.flatnonzero(row)
    with np.errstate(over="ignore", invalid="ignore"):  # inf and NaN compare as they should
        total: FloatArray = row[used[0]] * points[:, used[0]]
        for j in used[1:]:
            total = total + row[j] * points[:, j]
    return total


def _half_box(row: FloatArray, limit: float, strict: bool) -> Box:
    """The box of one inequality a x_j <= limit."""
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
    """The nearest finite float."""
    largest = float(np.finfo(np.float64).max)
    return float(max(Fraction(-largest), min(Fraction(largest), x)))
