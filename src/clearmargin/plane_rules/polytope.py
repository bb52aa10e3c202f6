"""Search for the boxes of a class among three or more, where several margins have to be positive.

Each margin is a side {z : a'z <= g} in coordinates of its own (`corners.Side`). A box lies in all of them when its far
corners do. Starting from the hull of the points (of categories: those that points have), the side that is exceeded most
picks the face to move: the one that gains most for each point lost. When the hull fits, it takes in the categories that
cost nothing, all faces move out by the same share of the way to the ends of the region, as far as the sides allow, and
the rest is spent on further categories. What is left around a box is cut into regions, which are searched in turn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearmargin.plane_rules.corners import Side
from clearmargin.progress import advance
from clearmargin.rules import Box, FeatureSpace
from clearmargin.rules.arithmetic import exact_score
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

Found = tuple[Box, IntArray]


def extract_polytope_boxes(
    sides: Sequence[Side],
    columns: FeatureSpace,
    X: FloatArray,
    *,
    max_depth: int,
    min_coverage: int,
    max_rules: int | None,
) -> tuple[list[Found], int]:
    """Cover points on all of several sides by disjoint boxes."""
    found: list[Found] = []
    domain = Box(columns.lower, columns.upper)
    agenda: list[tuple[Box, IntArray, int]] = [(domain, np.arange(len(X)), 0)]
    problems = counted = 0
    used = np.unique(np.concatenate([side.features for side in sides])).tolist()
    while agenda and (max_rules is None or counted < max_rules):
        # The region with the most points first: with a limit, the first boxes should cover most.
        agenda.sort(key=lambda item: len(item[1]))
        region, points, depth = agenda.pop()
        box = _peeled_box(sides, columns, used, region, X[points])
        problems += 1
        if box is None:
            continue
        covered = box.contains(X[points])
        found.append((box, points[covered]))
        size = int(covered.sum())
        counted += size >= min_coverage
        advance(size / len(X), int(size >= min_coverage))
        if depth + 1 < max_depth:
            rest = points[~covered]
            agenda += [
                (*each, depth + 1) for each in _leftover(columns, used, region, box, X, rest)
            ]
    advance(1.0 - sum(len(points) for _, points in found) / len(X))
    return found, problems


def _leftover(
    columns: FeatureSpace, used: list[int], region: Box, box: Box, X: FloatArray, points: IntArray
) -> list[Found]:
    """Return the parts of a region around a box that hold points, disjoint from it and from each other."""
    parts: list[Found] = []
    n, rest, inner = box.n_features, points, region
    for j in used:
        values, known = X[rest, j], columns.categories[j]
        if known is not None:
            if j in box.sets:
                outside = ~np.isin(values, sorted(box.sets[j]))
                if outside.any():
                    others = Box.from_intervals({}, n, {j: set(range(len(known))) - box.sets[j]})
                    parts.append((inner.intersect(others), rest[outside]))
                    rest = rest[~outside]
                inner = inner.intersect(Box.from_intervals({}, n, {j: box.sets[j]}))
            continue
        for end, closed, upwards in (
            (box.upper[j], box.upper_closed[j], True),
            (box.lower[j], box.lower_closed[j], False),
        ):
            outside = values > end if upwards else values < end
            outside |= ~closed & np.equal(values, end)
            if outside.any():
                lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
                (lower if upwards else upper)[j] = end
                beyond = Box(lower, upper, not (closed and upwards), upwards or not closed)
                parts.append((inner.intersect(beyond), rest[outside]))
                rest, values = rest[~outside], values[~outside]
        inner = inner.intersect(Box.from_intervals({j: box.interval(j)}, n))
    return parts


_EPS = float(np.finfo(np.float64).eps)
# With many points this share of those left is peeled at a time, as in `corners.peel`.
_PEEL_SHARE = 200
# How much of the way out is given up when exact arithmetic finds a corner beyond a plane. Rounding errors ask for next
# to nothing, and only the hull itself is left in the end.
_RETREATS = (0.0, *(2.0**-k for k in range(48, 0, -3)), 1.0)


def _peeled_box(
    sides: Sequence[Side], columns: FeatureSpace, used: list[int], region: Box, X: FloatArray
) -> Box | None:
    """Find a box on all sides that covers many points."""
    rest = X[_peel(sides, [side.orient(X) for side in sides])]
    lower, upper = rest.min(axis=0), rest.max(axis=0)
    named = {j: len(known) for j in used if (known := columns.categories[j]) is not None}
    is_number = np.isin(np.arange(X.shape[1]), [j for j in used if j not in named])
    sets = {j: set(np.unique(rest[:, j]).astype(np.intp).tolist()) for j in named}
    others = {
        j: sorted((set(region.sets[j]) if j in region.sets else set(range(n))) - sets[j])
        for j, n in named.items()
    }
    # Categories that cost no side more than those that points have.
    for j, codes in others.items():
        costs = [side.costs[j] for side in sides if j in side.costs]
        most = [cost[sorted(sets[j])].max() for cost in costs]
        sets[j] |= {
            c for c in codes if all(cost[c] <= top for cost, top in zip(costs, most, strict=True))
        }

    def within(low: FloatArray, high: FloatArray, allowed: dict[int, set[int]]) -> Box | None:
        """Return a box of the region with such ends, if it lies on all sides; features without weight are free."""
        low, high = np.where(is_number, low, -np.inf), np.where(is_number, high, np.inf)
        conditions = {j: codes for j, codes in allowed.items() if len(codes) < named[j]}
        box = Box(low, high, sets=conditions).intersect(region)
        return box if all(side.admits(side.region(box)) for side in sides) else None

    reach = _let_out(
        sides,
        Box(np.where(is_number, lower, -np.inf), np.where(is_number, upper, np.inf), sets=sets),
        region,
    )
    for retreat in _RETREATS:
        share = reach * (1.0 - retreat)
        with np.errstate(invalid="ignore"):
            up = np.where(np.isfinite(region.upper), upper + share * (region.upper - upper), upper)
            down = np.where(
                np.isfinite(region.lower), lower - share * (lower - region.lower), lower
            )
        box = within(down, up, sets)
        if box is not None:
            break
    else:
        depths = np.min([side.g - side.orient(rest) @ side.a for side in sides], axis=0)
        points = rest[np.argsort(-depths, kind="stable")]
        alone = (within(x, x, {j: {int(x[j])} for j in named}) for x in points)
        return next((box for box in alone if box is not None), None)
    # What is left may be enough for further categories.
    for j, codes in others.items():
        for code in codes:
            wider = {**sets, j: sets[j] | {code}}
            if code not in sets[j] and (more := within(down, up, wider)) is not None:
                box, sets = more, wider
    return box


def _excess(side: Side, far: FloatArray) -> float:
    """Return how far a box is beyond a plane; negative where it is clear of it. Sums near zero are made exact."""
    terms = side.a * far
    excess = float(terms.sum()) - side.g
    error = (len(terms) + 2) * _EPS * (float(np.abs(terms).sum()) + abs(side.g))
    return excess if abs(excess) > error else exact_score(side.a, far, -side.g)


def _peel(sides: Sequence[Side], coordinates: Sequence[FloatArray]) -> IntArray:
    """Take outer points away until the hull of the rest lies on all sides, as far as floating point can tell."""
    left = np.arange(len(coordinates[0]))
    while len(left) > 1:
        excess = [_excess(side, Z.max(axis=0)) for side, Z in zip(sides, coordinates, strict=True)]
        h = int(np.argmax(excess))
        if excess[h] < 0:
            break
        inner = _cheapest_cut(sides[h].a, coordinates[h])
        if inner is None:
            break
        left, coordinates = left[inner], [Z[inner] for Z in coordinates]
    return left


def _cheapest_cut(a: FloatArray, Z: FloatArray) -> BoolArray | None:
    """Return the points that stay when the face that gains most for each point lost is moved in."""
    step = max(1, len(Z) // _PEEL_SHARE)
    outer = Z.max(axis=0)
    inner = np.partition(Z, -1 - step, axis=0)[-1 - step]
    below = np.where(np.less(Z, outer), Z, -np.inf).max(axis=0)
    inner = np.where(inner < outer, inner, below)
    lost = np.greater(Z, inner).sum(axis=0)
    usable = np.isfinite(inner)
    gain = np.where(usable, a * (outer - np.where(usable, inner, 0.0)) / lost, -np.inf)
    i = int(np.argmax(gain))
    return np.asarray(Z[:, i] <= inner[i]) if np.isfinite(gain[i]) else None


def _let_out(sides: Sequence[Side], hull: Box, region: Box) -> float:
    """Return the share of the way to the ends of the region that the faces of all numbers can go."""
    shares = [1.0]
    for side in sides:
        far, end = side.region(hull).far, side.region(region).far
        room = np.where(np.isfinite(end) & (side.signs != 0), end - far, 0.0)
        dear, slack = float((side.a * room).sum()), -_excess(side, far)
        if dear > slack:
            shares.append(slack / dear)
    return max(0.0, min(shares))
