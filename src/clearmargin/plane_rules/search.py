"""Search for the boxes of a class on one side of a plane: find a box, cut the rest into regions, recurse.

**Recursion** (`extract_boxes`). Algorithm 4.1 of Fung, Sandilya and Rao (KDD 2005). A rule with far faces c leaves the
regions (eq. 18)::

    I_k = {z : z_j < c_j for j before k,  z_k >= c_k,  z_j free for j after k},

disjoint from the rule and from each other, of which only those that hold uncovered points are opened. A point
belongs to the region of the first face that it violates, so every region gets its points from its parent and no
region ever looks at all points again. The feature with the largest weight times width in the region cuts first; the
paper takes features in the order in which they stand, as `tighten=False` does.

**Several searches** (`search_coverage`). The recursion is greedy: the box that covers most now may leave more rules to
write than a slightly smaller one. Searches that draw their starts and the order of their cuts lead to different sets
of boxes, of which the best is kept. A set is worth the share of points it covers less one hundredth for each box: a
rule has to cover one percent of its class to earn its place.

**Consolidation** (`consolidate`). The recursion cuts space before it knows what it will need, so points end up alone
behind a face. Once boxes with too few points are dropped, their space is free. A box may then grow to its hull with a
point as long as the hull lies on its side and meets no other box; a small box whose points others can take over is
dissolved. Every step keeps the boxes sound and disjoint, and never covers fewer points.

**Overlapping boxes** (`cover_with_overlap`). Without the demand that boxes be disjoint, every box can start at the
deep end of the domain, and only its far faces are conditions. Boxes are found one after the other, each for the points
that are still uncovered. A pool of such boxes and of those of a disjoint search, freed of their near faces, is then
reduced: of all choices of at most as many boxes as the disjoint search needs, the one that covers most points with the
fewest boxes, by integer programming where that is small, else greedily.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from clearmargin.exceptions import SolverError
from clearmargin.plane_rules.coverage_corner import coverage_corner
from clearmargin.plane_rules.side import Corner, FoundBox, Region, Side
from clearmargin.progress import advance, part
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

# Below a dense plane most boxes hold no point at all; then the search ends here instead of at its depth.
_MOST_PROBLEMS = 20_000

Criterion = Callable[[Side, Region, FloatArray], Corner | None]


@dataclass(slots=True)
class Search:
    """What a run of the recursion found and what it cost."""

    boxes: list[FoundBox] = field(default_factory=list)
    problems: int = 0
    uncovered: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    is_complete: bool = True


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
    in_order: bool = False,
    rng: np.random.Generator | None = None,
    min_points: int = 1,
) -> Search:
    """Cover points on one side of a plane by disjoint boxes."""
    search = Search()
    most_problems = _MOST_PROBLEMS if max_rules is None else 200 + 20 * max_rules
    agenda = _Agenda(best_first=max_rules is not None)
    agenda.push(domain, np.arange(len(Z)), depth=0)
    by_feature = np.ascontiguousarray(Z.T)  # faces are compared with one feature of many points
    left_over: list[IntArray] = []
    counted = 0

    while agenda:
        region, points, depth = agenda.pop()
        enough = max_rules is not None and counted >= max_rules
        poor = len(points) < min_points
        too_long = search.problems >= most_problems
        if poor or depth >= max_depth or enough or too_long:
            search.is_complete &= not (enough or too_long)
            left_over.append(points)
            advance(len(points) / len(Z))
            continue
        inside = by_feature.take(points, axis=1).T
        if tighten:
            region = tightened(region, inside)
        corner = criterion(side, region, Z.take(points, axis=0))
        search.problems += 1
        if corner is None:
            left_over.append(points)
            advance(len(points) / len(Z))
            continue
        if in_order:
            cuts = np.arange(len(side.a))
        elif rng is None:
            cuts = np.argsort(-side.a * (region.far - region.near), kind="stable")
        else:
            cuts = rng.permutation(len(side.a))
        holds = corner.holds(inside)[:, cuts]
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
            advance(size / len(Z), int(size >= min_coverage))
        _open_regions(agenda, region, corner, cuts, points[~covered], first[~covered], depth + 1)
    search.uncovered = np.sort(np.concatenate([*left_over, np.empty(0, dtype=np.intp)]))
    return search


class _Agenda:
    """Regions still to be searched: a stack, or a queue with the region of the most points first."""

    def __init__(self, *, best_first: bool):
        self._best_first = best_first
        self._items: list[tuple[int, int, Region, IntArray, int]] = []
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._items)

    def push(self, region: Region, points: IntArray, depth: int) -> None:
        self._count += 1
        # The running number breaks ties, the older region first.
        item = (-len(points), self._count, region, points, depth)
        if self._best_first:
            heapq.heappush(self._items, item)
        else:
            self._items.append(item)

    def pop(self) -> tuple[Region, IntArray, int]:
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


def _open_regions(
    agenda: _Agenda,
    region: Region,
    corner: Corner,
    cuts: IntArray,
    points: IntArray,
    first: IntArray,
    depth: int,
) -> None:
    """Put the regions with points on the agenda, each point in that of the first face it violates."""
    for place in np.flatnonzero(np.bincount(first))[::-1]:
        k, before = cuts[place], cuts[:place]
        near, near_closed = region.near.copy(), region.near_closed.copy()
        far, far_closed = region.far.copy(), region.far_closed.copy()
        far[before], far_closed[before] = corner.far[before], corner.closed[before]
        near[k], near_closed[k] = corner.far[k], not corner.closed[k]
        child = Region(near, far, near_closed, far_closed)
        agenda.push(child, points[first == place], depth)


# The share of the points that a rule has to cover to earn its place.
RULE_PRICE = 0.01
# More searches were not seen to find better sets on data of some hundred points; with many features or points one
# costs more and matters less.
_MOST_SEARCHES, _POINTS_IN_ALL, _PAIRS_IN_ALL = 40, 20_000, 280
_CONSOLIDATED = 4


def search_coverage(
    side: Side,
    domain: Region,
    Z: FloatArray,
    *,
    max_depth: int,
    min_coverage: int,
    max_rules: int | None,
    tighten: bool,
    in_order: bool,
) -> Search:
    """Run the recursion for point coverage several times and keep the best set of boxes."""
    run = partial(
        extract_boxes,
        side,
        domain,
        Z,
        max_depth=max_depth,
        min_coverage=min_coverage,
        max_rules=max_rules,
        tighten=tighten,
        in_order=in_order,
        # A box with fewer points would be dropped below.
        min_points=min_coverage,
    )
    pairs = len(side.a) * (len(side.a) - 1) // 2
    affordable = min(_POINTS_IN_ALL // max(1, len(Z)), _PAIRS_IN_ALL // max(1, pairs))
    more = min(_MOST_SEARCHES, affordable)
    with part(1 / (1 + more)):
        found = [run(coverage_corner)]
    # The first search shows about how many rules there will be; the others look for better ones.
    with part(1 / (1 + more), counts=False):
        for seed in range(more):
            rng = np.random.default_rng(seed)
            found.append(run(partial(coverage_corner, rng=rng), rng=rng))
    problems = sum(search.problems for search in found)
    found.sort(key=lambda search: -_worth(search.boxes, Z, min_coverage, max_rules))
    sets = [consolidate(side, Z, s.boxes, min_coverage) for s in found[:_CONSOLIDATED]]
    best = max(sets, key=lambda boxes: _worth(boxes, Z, min_coverage, max_rules))
    is_complete = all(search.is_complete for search in found)
    return Search(best, problems, _left_over(best, len(Z)), is_complete)


def _worth(boxes: list[FoundBox], Z: FloatArray, min_coverage: int, max_rules: int | None) -> float:
    sizes = sorted(len(box.points) for box in boxes if len(box.points) >= min_coverage)[::-1]
    kept = sizes[:max_rules]
    return sum(kept) / max(1, len(Z)) - RULE_PRICE * len(kept)


def _left_over(boxes: list[FoundBox], m: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    covered = np.zeros(m, dtype=np.bool_)
    for box in boxes:
        covered[box.points] = True
    return np.flatnonzero(~covered)


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
        """Return each box together with a point, which lies on the faces that had to move."""
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
        """Check whether a single box has a point in common with any of the others."""
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
    """Drop boxes with few points and let the others grow."""
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

    def affords(self, boxes: _Boxes, points: IntArray) -> bool:
        """Pay for comparing all points with the hulls of all boxes and points, if enough is left."""
        price = len(boxes) * len(points) ** 2
        if price > self.left:
            return False
        self.left -= price
        return True


def _grow(side: Side, Z: FloatArray, boxes: _Boxes, points: IntArray, work: _Work) -> _Boxes:
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
    side: Side, Z: FloatArray, boxes: _Boxes, points: IntArray, p: int
) -> tuple[int, int, _Boxes | None]:
    """Return how many open points the best hull with a point gains, by which box, and the hull."""
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
        taken = [rest.row(s).contains(Z[points]) for s in range(len(rest))]
        if np.any(taken, axis=0).all():
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


# Cells of the cover table up to which the choice is made by integer programming.
_EXACT_CELLS = 40_000
_MOST_NODES = 1_000


def cover_with_overlap(
    side: Side,
    domain: Region,
    Z: FloatArray,
    disjoint: Search,
    *,
    min_coverage: int,
    max_rules: int | None,
    criterion: Criterion = coverage_corner,
) -> Search:
    """Cover points by boxes that may overlap."""
    kept = [box for box in disjoint.boxes if len(box.points) >= min_coverage][:max_rules]
    pool = [Corner(box.far, box.far_closed) for box in kept]
    greedy, problems = _greedy_corners(side, domain, Z, min_coverage, criterion)
    pool += greedy
    problems += disjoint.problems
    if not pool:
        return Search([], problems, np.arange(len(Z)), disjoint.is_complete)
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
    uncovered = np.flatnonzero(~table[chosen].any(axis=0))
    return Search(boxes, problems, uncovered, disjoint.is_complete)


def _greedy_corners(
    side: Side,
    domain: Region,
    Z: FloatArray,
    min_coverage: int,
    criterion: Criterion,
) -> tuple[list[Corner], int]:
    """Find corners one after the other, each for the points that are left."""
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
        advance(int(holds.sum()) / len(Z))
        left = left[~holds]
    if len(left):
        advance(len(left) / len(Z))
    return corners, problems


def _choose(table: BoolArray, most: int) -> IntArray:
    """Return the rows, at most so many, that cover most columns with the fewest rows."""
    # Columns with the same pattern count together.
    patterns, counts = np.unique(table.T, axis=0, return_counts=True)
    if patterns.size <= _EXACT_CELLS:
        try:
            return _choose_exactly(patterns, counts.astype(np.float64), most)
        except SolverError:  # out of nodes: the greedy choice is nearly as good
            pass
    return _choose_greedily(patterns, counts.astype(np.float64), most)


def _choose_exactly(patterns: BoolArray, counts: FloatArray, most: int) -> IntArray:
    # Solvers are loaded by those who use them.
    from clearmargin.solvers import Linear, Program, Variables, solve

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
    answer = solve(program, time_limit=np.inf, max_nodes=_MOST_NODES)
    return np.flatnonzero(answer.values["box"] > 0.5)


def _choose_greedily(patterns: BoolArray, counts: FloatArray, most: int) -> IntArray:
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
