"""The frame in which advice is learned: the range of each column, and its scale.

A rule such as ``glucose >= 140 => ill``, taken for the whole of space, would demand that no other feature has any
weight: somewhere far out each of them would outweigh glucose. Within the range in which patients live it says what the
expert means. So premises count within a *domain*, the smallest box that holds the data, the ranges that the advice
declares and the bounds that it names; without data, within the ranges that it declares. Columns are scaled to [-1, 1]
over that box, so that one unit of weight, error or refinement means the same for each of them.

`FramedAdvice` puts rules, data and frame together as the problem that the programs solve.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from clearmargin.advice.advice_columns import Columns, Premise
from clearmargin.advice.advice_svm import AdviceProblem, BoxPremises, Premises
from clearmargin.advice.premise_geometry import is_void
from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.arithmetic import linear_scores
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.solvers.rational import exact_dot

__all__ = ["Frame", "FramedAdvice", "declared_ranges"]


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
        """Return a plane of scaled points in the user's units."""
        outer = w / self.unit
        return outer, float(Fraction(b) - exact_dot(outer, self.center))

    def scaled_plane(self, w: FloatArray, b: float) -> tuple[FloatArray, float]:
        """Return a plane in the user's units for scaled points."""
        return w * self.unit, float(Fraction(b) + exact_dot(w, self.center))

    def domain_rows(self) -> tuple[FloatArray, FloatArray]:
        """Return the domain as rows over the columns, in the user's units; none where there are no bounds."""
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
    """Return the range of each column as the advice declares it, infinite where it does not.

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
        for row, limit in zip(
            premise.D[premise.numeric_rows], premise.d[premise.numeric_rows], strict=True
        ):
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


Rows = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class FramedAdvice:
    """Premises in the scale of a frame, with the domain around each.

    Parameters
    ----------
    frame : Frame
        Domain and scale.
    premises : tuple of Premise
        The premises in the user's units.
    rows : tuple of (ndarray, ndarray)
        For each premise, its rows in the scale of the frame, of unit norm: first its own, then those of the domain.
    outside : ndarray of bool of shape (r,)
        Which premises have no point of the domain; they count without it.
    empty : ndarray of bool of shape (r,)
        Which premises have no point at all; they count for nothing.
    """

    frame: Frame
    premises: tuple[Premise, ...]
    rows: tuple[Rows, ...]
    outside: BoolArray
    empty: BoolArray

    @classmethod
    def within(cls, frame: Frame, premises: Sequence[Premise]) -> FramedAdvice:
        """Scale premises and put the domain around them."""
        around = frame.scaled_rows(*frame.domain_rows())
        rows: list[Rows] = []
        outside, empty = np.zeros((2, len(premises)), dtype=np.bool_)
        for i, premise in enumerate(premises):
            alone = frame.scaled_rows(premise.D, premise.d)
            bounded = np.concatenate([alone[0], around[0]]), np.concatenate([alone[1], around[1]])
            if is_void(*bounded):
                empty[i] = is_void(*alone)
                outside[i] = not empty[i]
            rows.append(alone if outside[i] else bounded)
        return cls(frame, tuple(premises), tuple(rows), outside, empty)

    def __len__(self) -> int:
        return len(self.premises)

    def numeric_rows(self, i: int) -> BoolArray:
        """Return which rows of a premise may be refined."""
        mine = self.premises[i].numeric_rows
        rest = len(self.rows[i][1]) - len(mine)
        return np.concatenate([mine, np.zeros(rest, dtype=np.bool_)])

    def problem(
        self,
        X: FloatArray,
        y: FloatArray,
        cost: FloatArray,
        sign: FloatArray,
        advice_cost: FloatArray,
        *,
        compact: bool,
    ) -> tuple[AdviceProblem, BoolArray]:
        """Make the problem of all premises that are not empty.

        Parameters
        ----------
        X : ndarray of shape (m, n)
            Scaled points; there may be none.
        y, cost : ndarray of shape (m,)
            Their signs and costs.
        sign, advice_cost : ndarray of shape (r,)
            Signs and costs of the premises.
        compact : bool
            Whether premises that are boxes may take their compact form, which cannot be refined.

        Returns
        -------
        problem : AdviceProblem
            General premises and boxes, each in their order.
        is_box : ndarray of bool of shape (r,)
            Which premises are boxes.
        """
        boxes = [self._box(i) if compact and not self.empty[i] else None for i in range(len(self))]
        is_box = np.array([box is not None for box in boxes], dtype=np.bool_)
        general = np.flatnonzero(~is_box & ~self.empty)
        n = self.frame.n_columns
        sides = np.array([box for box in boxes if box is not None]).reshape(-1, 2, n)
        low, high = sides[:, 0], sides[:, 1]
        problem = AdviceProblem(
            X,
            y,
            cost,
            Premises.stack(
                [self.rows[i] for i in general],
                sign[general],
                advice_cost[general],
                [self.numeric_rows(int(i)) for i in general] or None,
                n_features=n,
            ),
            BoxPremises((low + high) / 2, (high - low) / 2, sign[is_box], advice_cost[is_box]),
        )
        return problem, is_box

    def only(self, chosen: Sequence[int]) -> FramedAdvice:
        """Keep some of the premises."""
        index = list(chosen)
        return FramedAdvice(
            self.frame,
            tuple(self.premises[i] for i in index),
            tuple(self.rows[i] for i in index),
            self.outside[index],
            self.empty[index],
        )

    def _box(self, i: int) -> tuple[FloatArray, FloatArray] | None:
        """Return the bounds of a premise that is a box within [-1, 1], else None."""
        D, d = self.rows[i]
        if (np.count_nonzero(D, axis=1) != 1).any():
            return None
        n = D.shape[1]
        low, high = np.full(n, -np.inf), np.full(n, np.inf)
        column = np.abs(D).argmax(axis=1)
        is_upper = D[np.arange(len(d)), column] > 0
        np.minimum.at(high, column[is_upper], d[is_upper])
        np.maximum.at(low, column[~is_upper], -d[~is_upper])
        # Beyond [-1, 1] errors in the weights would be cheaper than those of the margin (see `advice_svm`).
        if max(float(np.abs(low).max()), float(np.abs(high).max())) > 1.0 + 1e-9:
            return None
        return np.minimum(low, high), high
