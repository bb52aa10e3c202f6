"""Boxes people can read: whole numbers, few digits, no condition that says nothing.

Every step makes a box smaller or leaves out a bound that cannot matter, so what was on one side of a plane stays there
and what was disjoint stays disjoint. The points that a box covers stay covered.

Boxes over encoded columns as boxes over the user's features: 0/1 columns become categories again.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from clearmargin.rules import Box, Interval
from clearmargin.rules.interval import round_down, round_up
from clearmargin.rules.space import FeatureSpace
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.encoding import Encoding

# Bounds are rounded to about one hundredth of the range of their feature.
_STEPS = 100.0
_MOST_DIGITS = 17

Ends = tuple[BoolArray, BoolArray]


def simplify_box(box: Box, columns: FeatureSpace, points: FloatArray, needed: Ends) -> Box:
    """Make a box easier to read without losing a point or its soundness: few digits, no bound that no proof needs."""
    box = shorten_bounds(box, columns, points)
    # An open bound at the end excludes the end itself and may keep two boxes apart.
    at_low = (box.lower < columns.lower) | ((box.lower == columns.lower) & box.lower_closed)
    at_high = (box.upper > columns.upper) | ((box.upper == columns.upper) & box.upper_closed)
    return Box(
        np.where(at_low & ~needed[0], -math.inf, box.lower),
        np.where(at_high & ~needed[1], math.inf, box.upper),
        box.lower_closed,
        box.upper_closed,
        box.sets,
    )


def shorten_bounds(box: Box, columns: FeatureSpace, points: FloatArray) -> Box:
    """Move bounds inwards to whole numbers, which then belong to the box, or to numbers of few digits."""
    whole = columns.integer
    up = np.where(box.lower_closed, np.ceil(box.lower), np.floor(box.lower) + 1.0)
    down = np.where(box.upper_closed, np.floor(box.upper), np.ceil(box.upper) - 1.0)
    lower, upper = np.where(whole, up, box.lower), np.where(whole, down, box.upper)
    if len(points):
        innermost, outermost = points.min(axis=0).tolist(), points.max(axis=0).tolist()
        decimals = _decimals(columns)
        for j in np.flatnonzero(~whole & np.isfinite(lower) & (lower != columns.lower)).tolist():
            fits = partial(operator.ge, innermost[j])
            lower[j] = _fewest_decimals(float(lower[j]), decimals[j], round_up, fits)
        for j in np.flatnonzero(~whole & np.isfinite(upper) & (upper != columns.upper)).tolist():
            fits = partial(operator.le, outermost[j])
            upper[j] = _fewest_decimals(float(upper[j]), decimals[j], round_down, fits)
    # A bound that moved lies strictly inside.
    return Box(
        lower,
        upper,
        box.lower_closed | whole | (lower != box.lower),
        box.upper_closed | whole | (upper != box.upper),
        box.sets,
    )


def _decimals(columns: FeatureSpace) -> list[int]:
    """Return a sensible number of decimals for each column."""
    with np.errstate(over="ignore"):  # ends so far apart that no decimals matter
        reaches = (columns.upper - columns.lower).tolist()
    return [
        -math.floor(math.log10(reach / _STEPS)) if 0 < reach < math.inf else 3 for reach in reaches
    ]


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


def merge_neighbours(boxes: Sequence[Box], columns: FeatureSpace) -> list[Box]:
    """Join boxes that differ in one feature only and are neighbours there."""
    merged = list(boxes)
    marks: dict[frozenset[int], int] = {}  # a number for each set of categories that occurs

    def faces_of(box: Box) -> FloatArray:
        sets = np.zeros(box.n_features)
        for j, codes in box.sets.items():
            sets[j] = marks.setdefault(codes, len(marks) + 1)
        return np.array([box.lower, box.upper, box.lower_closed, box.upper_closed, sets])

    faces = np.array([faces_of(box) for box in boxes])
    at = 0
    while at < len(merged):
        # Earlier boxes have met all others, so that one of them is found only by a box that grew. Most boxes differ in
        # more than one feature, which is seen for all of them at once.
        differing = (faces != faces[at]).any(axis=1)
        for other in np.flatnonzero(differing.sum(axis=1) == 1).tolist():
            union = _union(merged[at], merged[other], int(np.argmax(differing[other])), columns)
            if union is not None:
                at, gone = min(at, other), max(at, other)
                merged[at], faces[at] = union, faces_of(union)
                del merged[gone]
                faces = np.delete(faces, gone, axis=0)
                break
        else:
            at += 1
    return merged


def _union(a: Box, b: Box, j: int, columns: FeatureSpace) -> Box | None:
    """Return the union of two boxes that differ in one feature, if it is a box."""
    known = columns.categories[j]
    if known is not None:
        sets = dict(a.sets)
        if j in a.sets and j in b.sets and len(a.sets[j] | b.sets[j]) < len(known):
            sets[j] = a.sets[j] | b.sets[j]
        else:
            sets.pop(j, None)
        return Box(a.lower, a.upper, a.lower_closed, a.upper_closed, sets)
    left, right = sorted((a.interval(j), b.interval(j)), key=lambda i: (i.low, i.high))
    touching = left.high == right.low and left.high_closed != right.low_closed
    consecutive = (
        bool(columns.integer[j])
        and left.closed == "both" == right.closed
        and left.high + 1 == right.low
    )
    if not (touching or consecutive):
        return None
    lower, upper = a.lower.copy(), a.upper.copy()
    lower_closed, upper_closed = a.lower_closed.copy(), a.upper_closed.copy()
    lower[j], upper[j] = left.low, right.high
    lower_closed[j], upper_closed[j] = left.low_closed, right.high_closed
    return Box(lower, upper, lower_closed, upper_closed, a.sets)


def to_user_box(box: Box, encoding: Encoding) -> Box | None:
    """Read a box over encoded columns in the user's features."""
    n = len(encoding.space)
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    lower_closed, upper_closed = np.ones((2, n), dtype=np.bool_)
    columns = [k for k, (_, code) in enumerate(encoding.sources) if code is None]
    features = [encoding.sources[k].feature for k in columns]
    lower[features], upper[features] = box.lower[columns], box.upper[columns]
    lower_closed[features] = box.lower_closed[columns]
    upper_closed[features] = box.upper_closed[columns]
    groups: dict[int, list[tuple[int, Interval]]] = {}
    for k, (feature, code) in enumerate(encoding.sources):
        if code is not None:
            groups.setdefault(feature, []).append((code, box.interval(k)))
    sets: dict[int, list[int]] = {}
    for feature, members in groups.items():
        codes = [c for c, _ in members if all(float(c == d) in interval for d, interval in members)]
        if not codes:
            return None
        if len(codes) < len(members):
            sets[feature] = codes
    return Box(lower, upper, lower_closed, upper_closed, sets, known=encoding.asked)
