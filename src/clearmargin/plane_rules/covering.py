"""Boxes that may overlap: fewer rules for the same points.

Without the demand that boxes be disjoint, every box can start at the deep end of the domain, and only its far
faces are conditions. Boxes are found one after the other, each for the points that are still uncovered. A pool of such
boxes and of those of a disjoint search, freed of their near faces, is then reduced: of all choices of at most as many
boxes as the disjoint search needs, the one that covers most points with the fewest boxes, by integer programming
where that is small, else greedily.
"""

from __future__ import annotations

import numpy as np

from clearmargin.exceptions import SolverError
from clearmargin.plane_rules.coverage_corner import coverage_corner
from clearmargin.plane_rules.recursion import Criterion, Search
from clearmargin.plane_rules.side import (
    BoolArray,
    Corner,
    FloatArray,
    FoundBox,
    Index,
    Region,
    Side,
)
from clearmargin.progress import Watch
from clearmargin.solvers import Linear, Program, Variables, solve

__all__ = ["cover_with_overlap"]

# Cells of the cover table up to which the choice is made by integer programming.
_EXACT_CELLS = 40_000
_TIME_LIMIT = 10.0


def cover_with_overlap(
    side: Side,
    domain: Region,
    Z: FloatArray,
    disjoint: Search,
    *,
    min_coverage: int,
    max_rules: int | None,
    criterion: Criterion = coverage_corner,
    watch: Watch | None = None,
) -> Search:
    """Cover points by boxes that may overlap.

    Parameters
    ----------
    side, domain, Z
        The half-space, its domain and the points.
    disjoint : Search
        The boxes of a disjoint search over the same points; without any, there is nothing to be compared with.
    min_coverage : int
        Fewest points of a box.
    max_rules : int, optional
        Most boxes.
    criterion : callable
        Gives the corner of the best box for the points that are left.
    watch : callable, optional
        Told of each share of the points that is done with.

    Returns
    -------
    Search
        At most as many boxes as the disjoint search kept, if it kept any, covering at least as many points.
    """
    kept = [box for box in disjoint.boxes if len(box.points) >= min_coverage][:max_rules]
    pool = [Corner(box.far, box.far_closed) for box in kept]
    greedy, problems = _greedy_corners(side, domain, Z, min_coverage, criterion, watch)
    pool += greedy
    problems += disjoint.problems
    if not pool:
        return Search([], problems, np.arange(len(Z)))
    table = np.stack([corner.holds(Z).all(axis=1) for corner in pool])
    chosen = _choose(table, min(len(kept) or len(pool), max_rules or len(pool)))
    boxes = [
        FoundBox(
            domain.near,
            pool[r].far,
            domain.near_closed,
            pool[r].closed,
            np.flatnonzero(table[r]),
        )
        for r in chosen
    ]
    return Search(boxes, problems, np.flatnonzero(~table[chosen].any(axis=0)))


def _greedy_corners(
    side: Side,
    domain: Region,
    Z: FloatArray,
    min_coverage: int,
    criterion: Criterion,
    watch: Watch | None,
) -> tuple[list[Corner], int]:
    """Corners one after the other, each for the points that are left."""
    left = np.arange(len(Z))
    corners: list[Corner] = []
    problems = 0
    while len(left):
        corner = criterion(side, domain, Z[left])
        problems += 1
        holds = None if corner is None else corner.holds(Z[left]).all(axis=1)
        if corner is None or holds is None or holds.sum() < min_coverage:
            break
        corners.append(corner)
        if watch is not None:
            watch(int(holds.sum()) / len(Z), 0)
        left = left[~holds]
    if watch is not None and len(left):
        watch(len(left) / len(Z), 0)
    return corners, problems


def _choose(table: BoolArray, most: int) -> Index:
    """The rows, at most so many, that cover most columns with the fewest rows."""
    # Columns with the same pattern count together.
    patterns, counts = np.unique(table.T, axis=0, return_counts=True)
    if patterns.size <= _EXACT_CELLS:
        try:
            return _choose_exactly(patterns, counts.astype(np.float64), most)
        except SolverError:  # out of time: the greedy choice is nearly as good
            pass
    return _choose_greedily(patterns, counts.astype(np.float64), most)


def _choose_exactly(patterns: BoolArray, counts: FloatArray, most: int) -> Index:
    r = patterns.shape[1]
    program = Program(
        [
            # A box costs less than any point brings, so that points come first and boxes second.
            Variables("box", r, lower=0.0, upper=1.0, cost=0.5 / r, integer=True),
            Variables("point", len(patterns), lower=0.0, upper=1.0, cost=-counts),
            Linear(
                "cover",
                {"box": patterns.astype(np.float64), "point": -np.eye(len(patterns))},
                lower=0.0,
            ),
            Linear("number", {"box": 1.0}, upper=float(most)),
        ]
    )
    answer = solve(program, time_limit=_TIME_LIMIT)
    return np.flatnonzero(answer.values["box"] > 0.5)


def _choose_greedily(patterns: BoolArray, counts: FloatArray, most: int) -> Index:
    left = counts.copy()
    chosen: list[int] = []
    while len(chosen) < most:
        gains = left @ patterns
        r = int(np.argmax(gains))
        if not gains[r]:
            break
        chosen.append(r)
        left = np.where(patterns[:, r], 0.0, left)
    return np.array(chosen, dtype=np.intp)
