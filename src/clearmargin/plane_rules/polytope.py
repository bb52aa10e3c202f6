"""Search for the boxes of a class among three or more, whose region is bounded by several planes.

The region of a class among three or more is an intersection {x : v_h'x <= g_h for all h}. A box lower <= x <= upper
lies in it when, for each h, sum_i max(v_hi lower_i, v_hi upper_i) <= g_h. Starting from the hull of the points, the
plane that is violated most picks the face to move: the one that gains most for each point lost. When the hull fits,
all faces move out by the same share of the way to the ends of the region, as far as the planes allow. What is left
around a box is cut into regions, which are searched in turn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearmargin.progress import advance
from clearmargin.rules import Box, HalfSpace
from clearmargin.rules.arithmetic import exact_score
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

Found = tuple[Box, IntArray]


def extract_polytope_boxes(
    halfspaces: Sequence[HalfSpace],
    domain: Box,
    X: FloatArray,
    *,
    max_depth: int,
    min_coverage: int,
    max_rules: int | None,
) -> tuple[list[Found], int]:
    """Cover points in an intersection of half-spaces by disjoint boxes."""
    found: list[Found] = []
    agenda: list[tuple[Box, IntArray, int]] = [(domain, np.arange(len(X)), 0)]
    problems = counted = 0
    free = ~np.any([halfspace.hyperplane.coef != 0 for halfspace in halfspaces], axis=0)
    while agenda and (max_rules is None or counted < max_rules):
        # The region with the most points first: with a limit, the first boxes should cover most.
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
        advance(size / len(X), int(size >= min_coverage))
        if depth + 1 < max_depth:
            agenda += _leftover(region, box, X, points[~covered], depth + 1)
    advance(1.0 - sum(len(points) for _, points in found) / len(X))
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
    region: Box, box: Box, X: FloatArray, points: IntArray, depth: int
) -> list[tuple[Box, IntArray, int]]:
    """Return the parts of a region around a box that hold points, disjoint from it and from each other."""
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
    """Give everything beyond one face."""
    n = box.n_features
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    lower_closed, upper_closed = np.ones((2, n), dtype=np.bool_)
    if upwards:
        lower[j], lower_closed[j] = box.upper[j], not box.upper_closed[j]
    else:
        upper[j], upper_closed[j] = box.lower[j], not box.lower_closed[j]
    return Box(lower, upper, lower_closed, upper_closed)


_EPS = float(np.finfo(np.float64).eps)


# With many points this share of those left is peeled at a time, as in `coverage_corner`.
_PEEL_SHARE = 200


# How much of the way out is given up when exact arithmetic finds a corner beyond a plane. Rounding errors ask for next
# to nothing, and only the hull itself is left in the end.
_RETREATS = (0.0, *(2.0**-k for k in range(48, 0, -3)), 1.0)


def peeled_box(halfspaces: Sequence[HalfSpace], region: Box, X: FloatArray) -> Box | None:
    """Find a box in all half-spaces that covers many points."""
    V = np.stack([-h.sign * h.hyperplane.coef for h in halfspaces])
    g = np.array([h.sign * h.hyperplane.intercept for h in halfspaces])
    rest = _peel(V, g, X)
    lower, upper = rest.min(axis=0), rest.max(axis=0)
    reach = _let_out(V, g, lower, upper, region)
    for retreat in _RETREATS:
        box = _grown(lower, upper, region, reach * (1.0 - retreat))
        if all(box.is_inside(h) for h in halfspaces):
            return box
    return _single_point(halfspaces, rest)


def _excess(V: FloatArray, g: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return how far a box is beyond each plane; negative where it is clear of it. Sums near zero are made exact."""
    corners = np.where(V > 0, upper, lower)
    terms = V * corners
    excess = np.asarray(terms.sum(axis=1) - g)
    error = (V.shape[1] + 2) * _EPS * (np.abs(terms).sum(axis=1) + np.abs(g))
    for h in np.flatnonzero(np.abs(excess) <= error):
        excess[h] = exact_score(V[h], corners[h], -float(g[h]))
    return excess


def _peel(V: FloatArray, g: FloatArray, X: FloatArray) -> FloatArray:
    rest = X
    while len(rest) > 1:
        lower, upper = rest.min(axis=0), rest.max(axis=0)
        excess = _excess(V, g, lower, upper)
        h = int(np.argmax(excess))
        if excess[h] < 0:
            break
        inner = _cheapest_cut(V[h], rest)
        if inner is None:
            break
        rest = rest[inner]
    return rest


def _cheapest_cut(v: FloatArray, rest: FloatArray) -> BoolArray | None:
    """Return the points that stay when the face that gains most for each point lost is moved in."""
    step = max(1, len(rest) // _PEEL_SHARE)
    # Along -sign(v) every face is an upper one.
    turned = rest * np.sign(v)
    outer = turned.max(axis=0)
    inner = np.partition(turned, -1 - step, axis=0)[-1 - step]
    below = np.where(np.less(turned, outer), turned, -np.inf).max(axis=0)
    inner = np.where(inner < outer, inner, below)
    lost = np.greater(turned, inner).sum(axis=0)
    usable = np.isfinite(inner) & (v != 0)
    gain = np.where(usable, np.abs(v) * (outer - np.where(usable, inner, 0.0)) / lost, -np.inf)
    i = int(np.argmax(gain))
    return None if not np.isfinite(gain[i]) else np.asarray(turned[:, i] <= inner[i])


def _let_out(
    V: FloatArray, g: FloatArray, lower: FloatArray, upper: FloatArray, region: Box
) -> float:
    """Return the share of the way to the ends of the region that all faces can go."""
    room_up = np.where(np.isfinite(region.upper), region.upper - upper, 0.0)
    room_down = np.where(np.isfinite(region.lower), lower - region.lower, 0.0)
    dear = np.where(V > 0, V * room_up, -V * room_down).sum(axis=1)
    slack = -_excess(V, g, lower, upper)
    shares = np.divide(slack, dear, out=np.ones_like(slack), where=dear > slack)
    return float(np.clip(shares.min(), 0.0, 1.0))


def _grown(lower: FloatArray, upper: FloatArray, region: Box, reach: float) -> Box:
    up = np.where(np.isfinite(region.upper), upper + reach * (region.upper - upper), upper)
    down = np.where(np.isfinite(region.lower), lower - reach * (lower - region.lower), lower)
    return Box(down, up).intersect(region)


def _single_point(halfspaces: Sequence[HalfSpace], rest: FloatArray) -> Box | None:
    depth: IntArray = np.argsort([-_depth(halfspaces, x) for x in rest])
    for k in depth:
        box = Box(rest[k], rest[k])
        if all(box.is_inside(h) for h in halfspaces):
            return box
    return None


def _depth(halfspaces: Sequence[HalfSpace], x: FloatArray) -> float:
    return min(h.sign * float(h.hyperplane.decision(x[None])[0]) for h in halfspaces)
