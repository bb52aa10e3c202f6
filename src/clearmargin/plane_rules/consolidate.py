"""Fewer and fuller boxes: let disjoint boxes grow over points that were left, and absorb small neighbours.

The recursion cuts space before it knows what it will need, so points end up alone behind a face. Once boxes with too
few points are dropped, their space is free. A box may then grow to its hull with a point as long as the hull lies on
its side and meets no other box; a small box whose points others can take over is dissolved. Every step keeps
the boxes sound and disjoint, and never covers fewer points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clearmargin.plane_rules.side import BoolArray, Corner, FloatArray, FoundBox, Index, Side

__all__ = ["consolidate"]

# Comparisons of a point with the hull of a box and another point, as many as some hundred points need. Among thousands
# a rule more or less matters little, and the work would grow with their square.
_MOST_COMPARISONS = 5_000_000


@dataclass(slots=True)
class _Boxes:
    """All boxes as arrays, one row a box."""

    near: FloatArray
    far: FloatArray
    near_closed: BoolArray
    far_closed: BoolArray

    @classmethod
    def of(cls, boxes: list[FoundBox]) -> _Boxes:
        return cls(
            np.stack([box.near for box in boxes]),
            np.stack([box.far for box in boxes]),
            np.stack([box.near_closed for box in boxes]),
            np.stack([box.far_closed for box in boxes]),
        )

    def __len__(self) -> int:
        return len(self.near)

    def row(self, r: int) -> _Boxes:
        return _Boxes(
            self.near[r : r + 1],
            self.far[r : r + 1],
            self.near_closed[r : r + 1],
            self.far_closed[r : r + 1],
        )

    def without(self, r: int) -> _Boxes:
        keep = np.arange(len(self)) != r
        return _Boxes(
            self.near[keep], self.far[keep], self.near_closed[keep], self.far_closed[keep]
        )

    def replaced(self, r: int, row: _Boxes) -> _Boxes:
        copy = _Boxes(
            self.near.copy(), self.far.copy(), self.near_closed.copy(), self.far_closed.copy()
        )
        copy.near[r], copy.far[r] = row.near[0], row.far[0]
        copy.near_closed[r], copy.far_closed[r] = row.near_closed[0], row.far_closed[0]
        return copy

    def hulls(self, z: FloatArray) -> _Boxes:
        """Each box together with a point, which lies on the faces that had to move."""
        return _Boxes(
            np.minimum(self.near, z),
            np.maximum(self.far, z),
            self.near_closed | (z <= self.near),
            self.far_closed | (z >= self.far),
        )

    def contains(self, Z: FloatArray) -> BoolArray:
        """Tell for a single box which points it holds."""
        above = (self.near < Z) | (self.near_closed & np.equal(Z, self.near))
        below = (self.far > Z) | (self.far_closed & np.equal(Z, self.far))
        return np.asarray((above & below).all(axis=1))

    def meets(self, others: _Boxes) -> bool:
        """Whether a single box has a point in common with any of the others."""
        below = (self.near < others.far) | (
            np.equal(self.near, others.far) & self.near_closed & others.far_closed
        )
        above = (others.near < self.far) | (
            np.equal(others.near, self.far) & others.near_closed & self.far_closed
        )
        return bool((below & above).all(axis=1).any())


def consolidate(
    side: Side, Z: FloatArray, boxes: list[FoundBox], min_coverage: int
) -> list[FoundBox]:
    """Drop boxes with few points and let the others grow.

    Parameters
    ----------
    side : Side
        The half-space.
    Z : ndarray of shape (m, k)
        All points to cover, in oriented coordinates.
    boxes : list of FoundBox
        Disjoint boxes.
    min_coverage : int
        Fewest points of a box that is kept.

    Returns
    -------
    list of FoundBox
        Disjoint boxes; together they cover at least the points that those kept covered before.
    """
    kept = [box for box in boxes if len(box.points) >= min_coverage]
    covered = np.zeros(len(Z), dtype=np.bool_)
    for box in kept:
        covered[box.points] = True
    if not kept:
        return kept
    work = _Work(_MOST_COMPARISONS)
    table = _grow(side, Z, _Boxes.of(kept), np.flatnonzero(~covered), work)
    table = _dissolve(side, Z, table, work)
    return [_found(table.row(r), Z) for r in range(len(table))]


@dataclass(slots=True)
class _Work:
    """How many comparisons are left to be spent."""

    left: int

    def affords(self, boxes: _Boxes, points: Index) -> bool:
        """Pay for comparing all points with the hulls of all boxes and points, if enough is left."""
        price = len(boxes) * len(points) ** 2
        if price > self.left:
            return False
        self.left -= price
        return True


def _grow(side: Side, Z: FloatArray, boxes: _Boxes, points: Index, work: _Work) -> _Boxes:
    """Take in points one after the other, each by the box whose hull gains most."""
    while len(points) and work.affords(boxes, points):
        gains = [_best_hull(side, Z, boxes, points, int(p)) for p in points]
        best = max(gains, key=lambda gain: gain[0])
        if best[0] == 0:
            return boxes
        _, r, hull = best
        assert hull is not None
        boxes = boxes.replaced(r, hull)
        points = points[~hull.contains(Z[points])]
    return boxes


def _best_hull(
    side: Side, Z: FloatArray, boxes: _Boxes, points: Index, p: int
) -> tuple[int, int, _Boxes | None]:
    """How many open points the best hull with a point gains, by which box, and the hull."""
    hulls = boxes.hulls(Z[p])
    best: tuple[int, int, _Boxes | None] = (0, -1, None)
    # Floating point sorts out the clear cases; `admits` decides exactly.
    terms = hulls.far * side.a
    band = 1e-12 * (np.abs(terms).sum(axis=1) + abs(side.g))
    for r in np.flatnonzero(terms.sum(axis=1) - side.g <= band):
        hull = hulls.row(int(r))
        gain = int(hull.contains(Z[points]).sum())
        if gain <= best[0] or not side.admits(Corner(hull.far[0], hull.far_closed[0])):
            continue
        if not hull.meets(boxes.without(int(r))):
            best = (gain, int(r), hull)
    return best


def _dissolve(side: Side, Z: FloatArray, boxes: _Boxes, work: _Work) -> _Boxes:
    """Drop boxes, the emptiest first, whose points the others can take in one by one."""
    sizes = [int(boxes.row(r).contains(Z).sum()) for r in range(len(boxes))]
    order = [r for _, r in sorted(zip(sizes, range(len(boxes)), strict=True))]
    gone: list[int] = []
    for r in order:
        place = r - sum(g < r for g in gone)
        if len(boxes) == 1:
            break
        points = np.flatnonzero(boxes.row(place).contains(Z))
        rest = _grow(side, Z, boxes.without(place), points, work)
        held = [rest.row(s).contains(Z[points]) for s in range(len(rest))]
        if np.any(held, axis=0).all():
            boxes = rest
            gone.append(r)
    return boxes


def _found(box: _Boxes, Z: FloatArray) -> FoundBox:
    return FoundBox(
        box.near[0],
        box.far[0],
        box.near_closed[0],
        box.far_closed[0],
        np.flatnonzero(box.contains(Z)),
    )
