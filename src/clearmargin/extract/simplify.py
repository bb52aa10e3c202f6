"""Boxes people can read: whole numbers, few digits, no condition that says nothing.

Every step makes a box smaller or leaves out a bound that cannot matter, so what was on one side of a plane stays there
and what was disjoint stays disjoint. The points that a box covers stay covered.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from clearmargin.core import Box, Interval
from clearmargin.core.rounding import round_down, round_up
from clearmargin.core.space import FeatureSpace
from clearmargin.core.value import FloatArray

__all__ = ["merge_neighbours", "simplify_box"]

# Bounds are rounded to about one hundredth of the range of their feature.
_STEPS = 100.0
_MOST_DIGITS = 17


def simplify_box(
    box: Box, columns: FeatureSpace, points: FloatArray, is_sound: Callable[[Box], bool]
) -> Box:
    """Make a box easier to read without losing a point or its soundness.

    Parameters
    ----------
    box : Box
        The box, with finite bounds where it ends with the domain.
    columns : FeatureSpace
        Range of each column (the domain), and whether it takes whole numbers.
    points : ndarray of shape (p, n)
        The points that the box covers.
    is_sound : callable
        Whether a box lies where it should.

    Returns
    -------
    Box
        A simpler box that covers the same points.
    """
    intervals = {j: box.interval(j) for j in box.bounded}
    for j, interval in intervals.items():
        intervals[j] = (
            _whole(interval) if columns.integer[j] else _rounded(interval, columns, j, points)
        )
    return _without_idle_bounds(intervals, columns, is_sound)


def _whole(interval: Interval) -> Interval:
    """Move bounds inwards to whole numbers, which then belong to the interval."""
    low, high = interval.low, interval.high
    if math.isfinite(low):
        low = math.ceil(low) if interval.low_closed else math.floor(low) + 1.0
    if math.isfinite(high):
        high = math.floor(high) if interval.high_closed else math.ceil(high) - 1.0
    return Interval(low, high, "both")


def _rounded(interval: Interval, columns: FeatureSpace, j: int, points: FloatArray) -> Interval:
    """Round both bounds inwards to a sensible number of decimals, or more where points are in the way."""
    if not len(points):
        return interval
    values = points[:, j]
    reach = float(columns.upper[j] - columns.lower[j])
    decimals = -math.floor(math.log10(reach / _STEPS)) if 0 < reach < math.inf else 3
    low, low_closed = interval.low, interval.low_closed
    high, high_closed = interval.high, interval.high_closed
    if math.isfinite(low) and low != columns.lower[j]:
        moved = _fewest_decimals(low, decimals, round_up, lambda x: x <= values.min())
        low, low_closed = moved, low_closed or moved != low
    if math.isfinite(high) and high != columns.upper[j]:
        moved = _fewest_decimals(high, decimals, round_down, lambda x: x >= values.max())
        high, high_closed = moved, high_closed or moved != high
    return Interval.from_flags(low, high, low_closed, high_closed)


def _fewest_decimals(
    x: float,
    decimals: int,
    rounding: Callable[[float, int], float],
    fits: Callable[[float], bool],
) -> float:
    before_point = math.floor(math.log10(abs(x))) + 1 if x else 1
    for digits in range(max(1, before_point + decimals), _MOST_DIGITS):
        candidate = rounding(x, digits)
        if fits(candidate):
            return candidate
    return x


def _without_idle_bounds(
    intervals: dict[int, Interval], columns: FeatureSpace, is_sound: Callable[[Box], bool]
) -> Box:
    """Leave out bounds at the ends of the domain where the box is sound without them."""
    n = len(columns)
    box = Box.from_intervals(intervals, n)
    idle = [
        (j, shorter)
        for j, interval in intervals.items()
        for shorter in _without_ends(interval, float(columns.lower[j]), float(columns.upper[j]))
    ]
    free = dict(intervals)
    for j, shorter in idle:
        # Of two ways to leave out bounds of a feature the one that leaves out more comes first.
        if free[j] != intervals[j]:
            continue
        candidate = Box.from_intervals({**free, j: shorter}, n)
        if is_sound(candidate):
            free[j], box = shorter, candidate
    return box


def _without_ends(interval: Interval, low: float, high: float) -> list[Interval]:
    """The interval without its bounds at the ends of a range, in all ways that there are."""
    # An open bound at the end excludes the end itself and may keep two boxes apart.
    at_low = -math.inf < interval.low < low or (interval.low == low and interval.low_closed)
    at_high = high < interval.high < math.inf or (interval.high == high and interval.high_closed)
    no_low = Interval.from_flags(-math.inf, interval.high, True, interval.high_closed)
    no_high = Interval.from_flags(interval.low, math.inf, interval.low_closed, True)
    if at_low and at_high:
        return [Interval(-math.inf, math.inf), no_low, no_high]
    return [no_low] if at_low else [no_high] if at_high else []


def _replace(box: Box, j: int, interval: Interval) -> Box:
    lower, upper = box.lower.copy(), box.upper.copy()
    lower_closed, upper_closed = box.lower_closed.copy(), box.upper_closed.copy()
    lower[j], upper[j] = interval.low, interval.high
    lower_closed[j], upper_closed[j] = interval.low_closed, interval.high_closed
    return Box(lower, upper, lower_closed, upper_closed, box.sets)


def merge_neighbours(boxes: list[Box], columns: FeatureSpace) -> list[tuple[Box, list[int]]]:
    """Join boxes that differ in one feature only and are neighbours there.

    Parameters
    ----------
    boxes : list of Box
        Disjoint boxes.
    columns : FeatureSpace
        Which columns take whole numbers: there 3 and 4 are neighbours.

    Returns
    -------
    list of (Box, list of int)
        The joined boxes, and for each the positions of those it was made of.
    """
    merged = [(box, [k]) for k, box in enumerate(boxes)]
    changed = True
    while changed:
        changed = False
        for first in range(len(merged)):
            for second in range(first + 1, len(merged)):
                union = _union(merged[first][0], merged[second][0], columns)
                if union is not None:
                    members = merged[first][1] + merged[second][1]
                    merged[first] = (union, members)
                    del merged[second]
                    changed = True
                    break
            if changed:
                break
    return merged


def _union(a: Box, b: Box, columns: FeatureSpace) -> Box | None:
    """The union of two boxes, if it is a box."""
    differs = (
        (a.lower != b.lower)
        | (a.upper != b.upper)
        | (a.lower_closed != b.lower_closed)
        | (a.upper_closed != b.upper_closed)
    )
    places = np.flatnonzero(differs)
    if len(places) != 1 or a.sets != b.sets:
        return None
    j = int(places[0])
    left, right = sorted((a.interval(j), b.interval(j)), key=lambda i: (i.low, i.high))
    touching = left.high == right.low and left.high_closed != right.low_closed
    consecutive = (
        bool(columns.integer[j])
        and left.closed == "both" == right.closed
        and left.high + 1 == right.low
    )
    if not (touching or consecutive):
        return None
    joined = Interval.from_flags(left.low, right.high, left.low_closed, right.high_closed)
    return _replace(a, j, joined)
