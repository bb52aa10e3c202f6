"""The frame in which advice is learned: the range of each column, and its scale.

A rule such as ``glucose >= 140 => ill``, taken for the whole of space, would demand that no other feature has any
weight: somewhere far out each of them would outweigh glucose. Within the range in which patients live it says what the
expert means. So premises count within a *domain*, the smallest box that holds the data, the ranges that the advice
declares and the bounds that it names; without data, within the ranges that it declares. Columns are scaled to [-1, 1]
over that box, so that one unit of weight, error or refinement means the same for each of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from clearmargin.advice.encoding import Columns, Premise
from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.arithmetic import linear_scores
from clearmargin.solvers.rational import exact_dot

__all__ = ["Frame", "declared_ranges"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Frame:
    """Domain and scale of the columns.

    Parameters
    ----------
    lower, upper : ndarray of shape (n,)
        The domain; infinite where premises count without bounds.
    center, unit : ndarray of shape (n,)
        x is scaled to (x - center) / unit.
    groups : tuple of tuple of int
        Columns of which exactly one is 1, the others 0.
    """

    lower: FloatArray
    upper: FloatArray
    center: FloatArray
    unit: FloatArray
    groups: tuple[tuple[int, ...], ...]

    @classmethod
    def around(
        cls,
        columns: Columns,
        premises: Sequence[Premise],
        X: FloatArray | None,
        *,
        scale: str | None,
        bounds: str | None,
    ) -> Frame:
        """Find the domain of data and advice, and the scale.

        Parameters
        ----------
        columns : Columns
            The columns of each feature.
        premises : sequence of Premise
            The premises.
        X : ndarray of shape (m, n) or None
            The data.
        scale : {"range", "standard"} or None
            To [-1, 1] over the domain; to zero mean and unit deviation; or not at all.
        bounds : {"data"} or None
            Whether premises count within the domain, or without bounds, as they are written.

        Returns
        -------
        Frame
            The frame.
        """
        declared = declared_ranges(columns)
        lower, upper = _hull(declared, premises, X)
        n = len(lower)
        center, unit = np.zeros(n), np.ones(n)
        if scale == "range":
            known = np.isfinite(lower) & np.isfinite(upper)
            center[known] = lower[known] / 2 + upper[known] / 2
            unit[known] = upper[known] / 2 - lower[known] / 2
        elif scale == "standard":
            if X is None:
                raise InvalidValueError("scale='standard' needs data; use 'range' or None")
            center, unit = _standard(X)
        unit[unit == 0] = 1.0  # a column that never varies
        if bounds is None:
            lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
        elif X is None:
            # Bounds that rules name are no ranges: between them there would be nothing left to say.
            lower, upper = declared
        groups = tuple(group.columns for group in columns.one_hot)
        return cls(lower, upper, center, unit, groups)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.unit)

    def scaled(self, X: FloatArray) -> FloatArray:
        """Points in the scale of the frame."""
        return np.asarray((X - self.center) / self.unit)

    def scaled_rows(self, D: FloatArray, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Rows in the scale of the frame, of unit norm."""
        inner, limit = D * self.unit, d - linear_scores(D, self.center)
        norm = np.linalg.norm(inner, axis=1)
        return inner / norm[:, None], limit / norm

    def user_rows(self, D: FloatArray, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scaled rows in the user's units."""
        outer = D / self.unit
        return outer, d + outer @ self.center

    def user_plane(self, w: FloatArray, b: float) -> tuple[FloatArray, float]:
        """A plane of scaled points in the user's units."""
        outer = w / self.unit
        return outer, float(Fraction(b) - exact_dot(outer, self.center))

    def scaled_plane(self, w: FloatArray, b: float) -> tuple[FloatArray, float]:
        """A plane in the user's units for scaled points."""
        return w * self.unit, float(Fraction(b) + exact_dot(w, self.center))

    def domain_rows(self) -> tuple[FloatArray, FloatArray]:
        """The domain as rows over the columns, in the user's units; none where there are no bounds."""
        eye = np.eye(self.n_columns)
        low, high = np.isfinite(self.lower), np.isfinite(self.upper)
        rows, limits = [-eye[low], eye[high]], [-self.lower[low], self.upper[high]]
        for group in self.groups:
            one = np.zeros((1, self.n_columns))
            one[0, list(group)] = 1.0
            rows += [one, -one]
            limits += [np.ones(1), -np.ones(1)]
        return np.concatenate(rows), np.concatenate(limits)


def _standard(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation of each column, the same to the bit for any order of the rows."""
    center = np.array([math.fsum(column) for column in X.T]) / len(X)
    squares = (X - center) ** 2
    return center, np.sqrt(np.array([math.fsum(column) for column in squares.T]) / len(X))


def declared_ranges(columns: Columns) -> tuple[FloatArray, FloatArray]:
    """The range of each column as the advice declares it, infinite where it does not.

    Parameters
    ----------
    columns : Columns
        The columns of each feature.

    Returns
    -------
    lower, upper : ndarray of shape (n,)
        The ranges; 0 to 1 for columns of categories.
    """
    n = len(columns.names)
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    for feature, column in columns.numbers.items():
        lower[column] = columns.space.lower[feature]
        upper[column] = columns.space.upper[feature]
    for group in columns.one_hot:
        lower[list(group.columns)], upper[list(group.columns)] = 0.0, 1.0
    return lower, upper


def _hull(
    declared: tuple[FloatArray, FloatArray], premises: Sequence[Premise], X: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """The range of each column over data, declarations and bounds of the advice; infinite where nothing is known."""
    values = [] if X is None or not len(X) else [X.min(axis=0), X.max(axis=0)]
    values += [np.where(np.isfinite(side), side, np.nan) for side in declared]
    for premise in premises:
        for row, limit in zip(premise.D[premise.own], premise.d[premise.own], strict=True):
            used = np.flatnonzero(row)
            if len(used) == 1:
                bound = np.full(len(row), np.nan)
                bound[used] = limit / row[used]
                values.append(bound)
    table = np.array(values)
    unknown = np.isnan(table).all(axis=0)
    table[:, unknown] = 0.0
    lower, upper = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
    lower[unknown], upper[unknown] = -np.inf, np.inf
    return lower, upper
