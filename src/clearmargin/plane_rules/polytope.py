"""The recursion for a class whose region is bounded by several planes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearmargin.plane_rules.peeled_box import peeled_box
from clearmargin.plane_rules.side import BoolArray, FloatArray, Index
from clearmargin.progress import Watch
from clearmargin.rules import Box, HalfSpace

__all__ = ["extract_polytope_boxes"]

Found = tuple[Box, Index]


def extract_polytope_boxes(
    halfspaces: Sequence[HalfSpace],
    domain: Box,
    X: FloatArray,
    *,
    max_depth: int,
    min_coverage: int,
    max_rules: int | None,
    watch: Watch | None = None,
) -> tuple[list[Found], int]:
    """Cover points in an intersection of half-spaces by disjoint boxes.

    Parameters
    ----------
    halfspaces : sequence of HalfSpace
        The region of the class.
    domain : Box
        Where all boxes have to lie.
    X : ndarray of shape (m, n)
        The points to cover.
    max_depth, min_coverage, max_rules, watch
        As for `extract_boxes`.

    Returns
    -------
    boxes : list of (Box, ndarray of int)
        Boxes and the points they cover.
    problems : int
        Number of boxes that were computed.
    """
    found: list[Found] = []
    agenda: list[tuple[Box, Index, int]] = [(domain, np.arange(len(X)), 0)]
    problems = counted = 0
    free = ~np.any([halfspace.hyperplane.coef != 0 for halfspace in halfspaces], axis=0)
    while agenda and (max_rules is None or counted < max_rules):
        # The fullest region first: with a limit, the first boxes should cover most.
        agenda.sort(key=lambda item: len(item[1]))
        region, points, depth = agenda.pop()
        box = peeled_box(halfspaces, region, X[points])
        problems += 1
        if box is None:
            continue
        box = _widened(box, region, free)
        covered = box.contains(X[points])
        found.append((box, points[covered]))
        size = int(covered.sum())
        counted += size >= min_coverage
        if watch is not None:
            watch(size / len(X), int(size >= min_coverage))
        if depth + 1 < max_depth:
            agenda += _leftover(region, box, X, points[~covered], depth + 1)
    if watch is not None:
        watch(1.0 - sum(len(points) for _, points in found) / len(X), 0)
    return found, problems


def _widened(box: Box, region: Box, free: BoolArray) -> Box:
    """Let a box reach over all of its region in features that no plane gives a weight: nothing there is decided."""
    return Box(
        np.where(free, region.lower, box.lower),
        np.where(free, region.upper, box.upper),
        np.where(free, region.lower_closed, box.lower_closed),
        np.where(free, region.upper_closed, box.upper_closed),
    )


def _leftover(
    region: Box, box: Box, X: FloatArray, points: Index, depth: int
) -> list[tuple[Box, Index, int]]:
    """The parts of a region around a box that hold points, disjoint from it and from each other."""
    parts = []
    rest, inner = points, region
    for j in range(box.n_features):
        values = X[rest, j]
        for upwards in (True, False):
            outside = _beyond(box, j, values, upwards=upwards)
            if outside.any():
                parts.append(
                    (inner.intersect(_slab(box, j, upwards=upwards)), rest[outside], depth)
                )
                rest, values = rest[~outside], values[~outside]
        inner = inner.intersect(Box.from_intervals({j: box.interval(j)}, box.n_features))
    return parts


def _beyond(box: Box, j: int, values: FloatArray, *, upwards: bool) -> BoolArray:
    limit = box.upper[j] if upwards else box.lower[j]
    closed = box.upper_closed[j] if upwards else box.lower_closed[j]
    outside = values > limit if upwards else values < limit
    return np.asarray(outside | (~closed & np.equal(values, limit)))


def _slab(box: Box, j: int, *, upwards: bool) -> Box:
    """Everything beyond one face."""
    n = box.n_features
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    lower_closed, upper_closed = np.ones((2, n), dtype=np.bool_)
    if upwards:
        lower[j], lower_closed[j] = box.upper[j], not box.upper_closed[j]
    else:
        upper[j], upper_closed[j] = box.lower[j], not box.lower_closed[j]
    return Box(lower, upper, lower_closed, upper_closed)
