"""Rules one after the other: take the best box, cut the rest into regions, go on where points are left.

Algorithm 4.1 of Fung, Sandilya and Rao (KDD 2005). A rule with far faces c leaves the regions (eq. 18)::

    I_k = {z : z_j < c_j for j before k,  z_k >= c_k,  z_j free for j after k},

disjoint from the rule and from each other, of which only those that hold uncovered points are opened. A point
belongs to the region of the first face that it violates, so every region gets its points from its parent and no
region ever looks at all points again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from clearmargin.plane_rules.side import Corner, FloatArray, FoundBox, Index, Region, Side
from clearmargin.progress import Watch

__all__ = ["Criterion", "Search", "extract_boxes", "tightened"]

# Below a dense plane most boxes hold no point at all; then the search ends here instead of at its depth.
_MOST_PROBLEMS = 20_000

Criterion = Callable[[Side, Region, FloatArray], Corner | None]


@dataclass(slots=True)
class Search:
    """What a run of the recursion found and what it cost.

    Parameters
    ----------
    boxes : list of FoundBox
        The boxes that cover at least one point, in the order in which they were found.
    problems : int
        Number of corners that were computed.
    uncovered : ndarray of int
        Points that no box covers.
    """

    boxes: list[FoundBox] = field(default_factory=list)
    problems: int = 0
    uncovered: Index = field(default_factory=lambda: np.empty(0, dtype=np.intp))


def extract_boxes(
    side: Side,
    domain: Region,
    Z: FloatArray,
    criterion: Criterion,
    *,
    max_depth: int = 20,
    min_coverage: int = 2,
    max_rules: int | None = None,
    tighten: bool = True,
    rng: np.random.Generator | None = None,
    watch: Watch | None = None,
    min_points: int = 1,
) -> Search:
    """Cover points on one side of a plane by disjoint boxes.

    Parameters
    ----------
    side : Side
        The half-space.
    domain : Region
        Where all boxes have to lie.
    Z : ndarray of shape (m, k)
        Points in the domain and on the side, in oriented coordinates.
    criterion : callable
        Gives the corner of the best box in a region, or None where there is none to be had.
    max_depth : int, default 20
        How often regions are cut at most.
    min_coverage : int, default 2
        Boxes with fewer points do not count towards `max_rules`.
    max_rules : int, optional
        Stop after so many boxes that count. Regions with the most points are taken first; without a limit the order
        does not matter and the search goes depth first.
    tighten : bool, default True
        Whether the far faces of a region are moved in to its outermost points before it is searched.
    rng : Generator, optional
        With it the faces cut in random order, else the dearest first.
    watch : callable, optional
        Told of each share of the points that is done with, and of boxes.
    min_points : int, default 1
        Regions with fewer points are not searched.

    Returns
    -------
    Search
        Boxes, counts and the points left over.
    """
    search = Search()
    most_problems = _MOST_PROBLEMS if max_rules is None else 200 + 20 * max_rules
    agenda = _Agenda(best_first=max_rules is not None)
    agenda.push(domain, np.arange(len(Z)), depth=0)
    by_feature = np.ascontiguousarray(Z.T)  # faces are compared with one feature of many points
    left_over: list[Index] = []
    counted = 0

    def settle(count: int, found: int = 0) -> None:
        if watch is not None:
            watch(count / len(Z), found)

    while agenda:
        region, points, depth = agenda.pop()
        enough = max_rules is not None and counted >= max_rules
        poor = len(points) < min_points
        if poor or depth >= max_depth or enough or search.problems >= most_problems:
            left_over.append(points)
            settle(len(points))
            continue
        inside = by_feature.take(points, axis=1).T
        if tighten:
            region = tightened(region, inside)
        corner = criterion(side, region, Z.take(points, axis=0))
        search.problems += 1
        if corner is None:
            left_over.append(points)
            settle(len(points))
            continue
        order = _cutting_order(side, region, rng)
        holds = corner.holds(inside)[:, order]
        # For each point the first face, in this order, that it violates; one that violates none is covered.
        first = np.argmin(holds, axis=1)
        covered = holds.all(axis=1)
        if covered.any():
            search.boxes.append(
                FoundBox(
                    region.near, corner.far, region.near_closed, corner.closed, points[covered]
                )
            )
            size = int(covered.sum())
            counted += size >= min_coverage
            settle(size, int(size >= min_coverage))
        _open_regions(agenda, region, corner, order, points[~covered], first[~covered], depth + 1)
    search.uncovered = np.sort(np.concatenate([*left_over, np.empty(0, dtype=np.intp)]))
    return search


class _Agenda:
    """Regions still to be searched: a stack, or a queue with the fullest region first."""

    def __init__(self, *, best_first: bool):
        self._best_first = best_first
        self._items: list[tuple[int, int, Region, Index, int]] = []
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._items)

    def push(self, region: Region, points: Index, depth: int) -> None:
        self._count += 1
        # The running number breaks ties, the older region first.
        item = (-len(points), self._count, region, points, depth)
        if self._best_first:
            heapq.heappush(self._items, item)
        else:
            self._items.append(item)

    def pop(self) -> tuple[Region, Index, int]:
        item = heapq.heappop(self._items) if self._best_first else self._items.pop()
        return item[2], item[3], item[4]


def tightened(region: Region, Z: FloatArray) -> Region:
    """Move the far faces in to the outermost points, which then lie on them."""
    outermost = Z.max(axis=0)
    inner = outermost < region.far
    return Region(
        region.near,
        np.where(inner, outermost, region.far),
        region.near_closed,
        inner | region.far_closed,
    )


def _cutting_order(side: Side, region: Region, rng: np.random.Generator | None) -> Index:
    if rng is not None:
        return rng.permutation(len(side.a))
    return np.argsort(-side.a * (region.far - region.near), kind="stable")


def _open_regions(
    agenda: _Agenda,
    region: Region,
    corner: Corner,
    order: Index,
    points: Index,
    first: Index,
    depth: int,
) -> None:
    """Put the regions with points on the agenda, each point in that of the first face it violates."""
    for place in np.flatnonzero(np.bincount(first))[::-1]:
        k, before = order[place], order[:place]
        near, near_closed = region.near.copy(), region.near_closed.copy()
        far, far_closed = region.far.copy(), region.far_closed.copy()
        far[before], far_closed[before] = corner.far[before], corner.closed[before]
        near[k], near_closed[k] = corner.far[k], not corner.closed[k]
        child = Region(near, far, near_closed, far_closed)
        agenda.push(child, points[first == place], depth)
