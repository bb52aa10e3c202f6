"""The frame of advice: in which ranges a premise counts, and the scale of the columns.

A rule such as ``glucose >= 140 => ill``, taken for the whole of space, would demand that no other feature has any
weight: somewhere far out each of them would outweigh glucose. Within the range in which patients live it says what the
expert means. So premises count within a *domain*, the smallest box that holds the data, the ranges that the advice
declares and the bounds that it names. Columns are scaled over that box, or by their deviation, so that one unit of
weight, error or refinement means the same for each of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clearmargin.advice.cases import Cases, Premise
from clearmargin.advice.premise_geometry import is_void
from clearmargin.rules.arithmetic import exact_score, linear_scores
from clearmargin.rules.value import BoolArray, FloatArray

Rows = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class Frame:
    """Domain and scale of the columns."""

    lower: FloatArray
    upper: FloatArray
    center: FloatArray
    unit: FloatArray
    groups: tuple[tuple[int, ...], ...]

    @classmethod
    def around(cls, case: Cases, *, standard: bool, bounded: bool) -> Frame:
        """Find the domain of data and advice, and the scale: of unit deviation, or [-1, 1] over the domain."""
        groups = tuple(group.columns for group in case.encoding.domain().groups)
        lower, upper = _hull(
            case.declared,
            case.premises,
            [case.points.min(axis=0), case.points.max(axis=0)],
        )
        if standard:
            center, unit = _standard(case)
            indicators = [j for group in groups for j in group]
            center[indicators], unit[indicators] = 0.0, 1.0
        else:
            center, unit = lower / 2 + upper / 2, upper / 2 - lower / 2
        unit[unit == 0] = 1.0  # a column that never varies
        if not bounded:
            lower, upper = np.full_like(lower, -np.inf), np.full_like(upper, np.inf)
        return cls(lower, upper, center, unit, groups)

    def scaled(self, X: FloatArray) -> FloatArray:
        """Scale points to the frame."""
        return np.asarray((X - self.center) / self.unit)

    def scaled_rows(self, D: FloatArray, d: FloatArray) -> Rows:
        """Scale rows to the frame, of unit norm."""
        inner, limit = D * self.unit, d - linear_scores(D, self.center)
        norm = np.linalg.norm(inner, axis=1)
        return inner / norm[:, None], limit / norm

    def user_rows(self, D: FloatArray, d: FloatArray) -> Rows:
        """Return scaled rows in the user's units."""
        outer = D / self.unit
        return outer, d + outer @ self.center

    def user_plane(self, w: FloatArray, b: float) -> tuple[FloatArray, float]:
        """Return a plane of scaled points in the user's units."""
        outer = w / self.unit
        return outer, exact_score(outer, -self.center, b)

    def scaled_plane(self, w: FloatArray, b: float) -> tuple[FloatArray, float]:
        """Return a plane in the user's units for scaled points."""
        return w * self.unit, exact_score(w, self.center, b)

    def within(self, premise: Premise, *, beyond: bool) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Put a scaled premise into the domain, or only the features it does not name; say which rows are its own.

        A premise that lies outside of the domain counts as far as it reaches.
        """
        eye, alone = np.eye(len(self.unit)), self.scaled_rows(premise.D, premise.d)
        low, high = np.isfinite(self.lower), np.isfinite(self.upper)
        if beyond:
            named = (premise.D[premise.numeric_rows] != 0).any(axis=0)
            low, high = low & ~named, high & ~named
        rows, limits = [-eye[low], eye[high]], [-self.lower[low], self.upper[high]]
        for group in self.groups:
            one = np.zeros((1, len(self.unit)))
            one[0, list(group)] = 1.0
            rows += [one, -one]
            limits += [np.ones(1), -np.ones(1)]
        around = self.scaled_rows(np.concatenate(rows), np.concatenate(limits))
        D, d = np.concatenate([alone[0], around[0]]), np.concatenate([alone[1], around[1]])
        if is_void(D, d):
            return *alone, premise.numeric_rows
        rest = np.zeros(len(around[1]), dtype=np.bool_)
        return D, d, np.concatenate([premise.numeric_rows, rest])


def is_outside(premise: Premise, case: Cases) -> bool:
    """Check whether a premise lies outside of the ranges of the data."""
    low, high = case.points.min(axis=0), case.points.max(axis=0)
    eye = np.eye(len(low))
    norm = np.linalg.norm(premise.D, axis=1)
    rows = np.concatenate([premise.D / norm[:, None], -eye, eye])
    return is_void(rows, np.concatenate([premise.d / norm, -low, high]))


def _standard(case: Cases) -> Rows:
    """Compute mean and deviation of each column, the same for any order of the rows, weights as repetitions."""
    total = math.fsum(case.weight)
    center = np.array([math.fsum(case.weight * column) for column in case.points.T]) / total
    squares = (case.points - center) ** 2
    unit = np.array([math.fsum(case.weight * column) for column in squares.T]) / total
    return center, np.sqrt(unit)


def _hull(declared: Rows, premises: Sequence[Premise], ends: list[FloatArray]) -> Rows:
    """Find the range of each column over data, declarations and bounds of the advice."""
    values = ends + [np.where(np.isfinite(side), side, np.nan) for side in declared]
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
    return np.nanmin(table, axis=0), np.nanmax(table, axis=0)
