"""Boxes that grow because relations between features leave out some of their corners.

A box is proved by its corner nearest to the plane. Where the user declared relations (``diastolic <= systolic``), that
corner may be no possible case, and a larger box is still on its side of the plane as far as cases go. So each box that
was found without relations is tried with one end after the other farther out: without it, else at the farthest value
of the data for which the proof over the `Domain` holds. Boxes of one class that must be disjoint stay so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.models.score_error import Guard
from clearmargin.rules import Box, Domain
from clearmargin.rules.value import BoolArray, FloatArray

if TYPE_CHECKING:
    from clearmargin.plane_rules.extraction import ClassBoxes

__all__ = ["check_points", "grow_boxes", "proves_over"]

# The bound on rounding is computed in floats itself; see `ScoreError.bound`.
_SAFETY = Fraction(9, 8)


def check_points(domain: Domain, points: FloatArray) -> None:
    """Raise if training points violate the relations.

    Parameters
    ----------
    domain : Domain
        Over the encoded columns, with relations.
    points : ndarray of shape (m, n_encoded)
        The training points.
    """
    assert domain.relations is not None
    outside = np.flatnonzero(~domain.relations.contains(points))
    if not len(outside):
        return
    row = points[outside[0]]
    used = np.flatnonzero(domain.relations.A.any(axis=0)).tolist()
    listed = ", ".join(f"{domain.space.names[j]} = {row[j]:g}" for j in used)
    raise InvalidValueError(
        f"relations cut off training points: {len(outside)} of {len(points)} rows violate them, for example one with "
        f"{listed}; correct the relations or leave the rows out"
    )


def proves_over(guard: Guard, box: Box, domain: Domain) -> bool:
    """Decide whether the model is certain to give the class to all possible cases of a box, rounding included.

    Parameters
    ----------
    guard : Guard
        The class, and the score that the model computes.
    box : Box
        Over the encoded columns.
    domain : Domain
        The possible cases.

    Returns
    -------
    bool
        Exact arithmetic; what rounding does to the score is bounded from above by a linear function.

    Examples
    --------
    >>> from clearmargin.models.score_error import direct_error
    >>> from clearmargin.rules import FeatureSpace, Hyperplane
    >>> plane = Hyperplane([0.0, 1.0], -85.0)
    >>> guard = Guard(plane.side(1), direct_error(plane))
    >>> domain = Domain(FeatureSpace(["diastolic", "systolic"]), relations="diastolic <= systolic")
    >>> box = Box([90.0, -np.inf], [np.inf, np.inf])
    >>> guard.proves(box), proves_over(guard, box, domain)
    (False, True)
    """
    part = domain.tighten(box)
    if part.is_empty or guard.proves(part):
        return True
    error, sign = guard.error, guard.halfspace.sign
    weights = sign * error.coef
    constant = Fraction(sign * error.constant) - _SAFETY * Fraction(float(error.base))
    for j in np.flatnonzero((error.coef != 0) | (error.slope > 0)).tolist():
        centre, slope = Fraction(float(error.centre[j])), Fraction(float(error.slope[j]))
        constant -= Fraction(float(sign * error.coef[j])) * centre
        low, high = float(part.lower[j]), float(part.upper[j])
        if math.isfinite(low) and math.isfinite(high):
            reach = max(abs(Fraction(low) - centre), abs(Fraction(high) - centre))
            constant -= _SAFETY * slope * reach
        elif slope and not (math.isfinite(low) or math.isfinite(high)):
            return False
        elif slope:
            # |t| <= t + 2 max(0, -lowest t), and the same the other way round. Twice the slope: more than rounding of
            # the weight takes away.
            way = 1 if math.isfinite(low) else -1
            leaned = float(weights[j] - way * 2.25 * error.slope[j])
            steep = abs(Fraction(float(weights[j])) - Fraction(leaned))
            beyond = way * (centre - Fraction(low if way > 0 else high))
            constant += steep * (way * centre - 2 * max(Fraction(0), beyond))
            weights[j] = leaned
    lowest = domain.minimum(weights, within=box)
    return lowest is None or lowest.value + constant > 0


def grow_boxes(
    found: Sequence[ClassBoxes],
    guards: Sequence[Sequence[Guard]],
    domain: Domain,
    X: FloatArray,
    to_cover: Sequence[BoolArray],
    *,
    disjoint: bool,
) -> list[ClassBoxes]:
    """Move ends of boxes outwards, as far as the proof over a domain with relations allows.

    Parameters
    ----------
    found : sequence of ClassBoxes
        The proved boxes of all classes.
    guards : sequence of sequences of Guard
        What proves a box of each class.
    domain : Domain
        The possible cases, with relations.
    X : ndarray of shape (m, n)
        All points.
    to_cover : sequence of ndarray of bool of shape (m,)
        For each class the points by which its boxes are ordered.
    disjoint : bool
        Whether no two boxes of a class may meet.

    Returns
    -------
    list of ClassBoxes
        The same number of boxes, none smaller than before, all proved over the domain.
    """
    grown = []
    for k, result in enumerate(found):
        boxes = list(result.boxes)
        for place in range(len(boxes)):
            others = [box for i, box in enumerate(boxes) if i != place] if disjoint else []
            boxes[place] = _grown(boxes[place], others, guards[k], domain, X)
        rows = [np.flatnonzero(box.contains(X)) for box in boxes]
        sizes = [int(np.count_nonzero(to_cover[k][inside])) for inside in rows]
        order = sorted(range(len(boxes)), key=lambda i, sizes=sizes: -sizes[i])  # type: ignore[misc]
        grown.append(
            replace(
                result,
                boxes=tuple(boxes[i] for i in order),
                rows=tuple(rows[i] for i in order),
                origins=tuple(result.origins[i] for i in order),
            )
        )
    return grown


def _grown(
    box: Box, others: Sequence[Box], guards: Sequence[Guard], domain: Domain, X: FloatArray
) -> Box:
    """Grow one box with each end as far out as it goes, one after the other."""

    def is_allowed(larger: Box) -> bool:
        if any(not larger.intersect(other).is_empty for other in others):
            return False
        return all(proves_over(guard, larger, domain) for guard in guards)

    for j in box.entries.features.tolist():
        for is_upper in (False, True):
            end = float(box.upper[j] if is_upper else box.lower[j])
            if math.isinf(end):
                continue
            free = _moved(box, j, is_upper, math.inf if is_upper else -math.inf)
            if is_allowed(free):
                box = free
                continue
            values = np.unique(X[free.contains(X) & ~box.contains(X), j])
            # The nearest first; where that one is not allowed, none is.
            values = values if is_upper else values[::-1]
            low, high = 0, len(values)
            while low < high:
                middle = 0 if low == 0 and high == len(values) else (low + high) // 2
                if is_allowed(_moved(box, j, is_upper, float(values[middle]))):
                    low = middle + 1
                else:
                    high = middle
            if low:
                box = _moved(box, j, is_upper, float(values[low - 1]))
    return box


def _moved(box: Box, j: int, is_upper: bool, end: float) -> Box:
    """Return the box with another end of one column, which belongs to it."""
    lower, upper = box.lower.copy(), box.upper.copy()
    lower_closed, upper_closed = box.lower_closed.copy(), box.upper_closed.copy()
    if is_upper:
        upper[j], upper_closed[j] = end, True
    else:
        lower[j], lower_closed[j] = end, True
    return Box(lower, upper, lower_closed, upper_closed, box.sets, box.missing, box.known)
