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
from clearmargin.plane_rules.corners import Region, Side, coverage_corner
from clearmargin.progress import advance, part
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

# Below a dense plane most boxes hold no point at all; then the search ends here instead of at its depth.
_MOST_PROBLEMS = 20_000

Criterion = Callable[[Side, Region, FloatArray], Region | None]
Found = tuple[Region, IntArray]  # a box with the points that it covers


@dataclass(slots=True)
class Search:
    """What a run of the recursion found and what it cost."""

    boxes: list[Found] = field(default_factory=list)
    problems: int = 0
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
    # With a limit the region of the most points comes first, and of equal ones the older one; else the newest one.
    agenda: list[tuple[int, int, Region, IntArray, int]] = [(0, 0, domain, np.arange(len(Z)), 0)]
    by_feature = np.ascontiguousarray(Z.T)  # faces are compared with one feature of many points
    counted = pushed = 0

    while agenda:
        *_, region, points, depth = heapq.heappop(agenda) if max_rules else agenda.pop()
        enough = max_rules is not None and counted >= max_rules
        poor = len(points) < min_points
        too_long = search.problems >= most_problems
        if poor or depth >= max_depth or enough or too_long:
            search.is_complete &= not (enough or too_long)
            advance(len(points) / len(Z))
            continue
        inside = by_feature.take(points, axis=1).T
        if tighten:  # move the far faces in to the outermost points, which then lie on them
            outermost = inside.max(axis=0)
            inner = outermost < region.far
            region = region.up_to(np.where(inner, outermost, region.far), inner | region.far_closed)
        corner = criterion(side, region, Z.take(points, axis=0))
        search.problems += 1
        if corner is None:
            advance(len(points) / len(Z))
            continue
        if in_order:
            cuts = np.arange(len(side.a))
        elif rng is None:
            cuts = np.argsort(-side.a * (region.far - region.near), kind="stable")
        else:
            cuts = rng.permutation(len(side.a))
        holds = corner.below(inside)[:, cuts]
        # For each point the first face, in this order, that it violates; one that violates none is covered.
        first = np.argmin(holds, axis=1)
        covered = holds.all(axis=1)
        if covered.any():
            search.boxes.append((corner, points[covered]))
            size = int(covered.sum())
            counted += size >= min_coverage
            advance(size / len(Z), int(size >= min_coverage))
        # Regions with points, each point in that of the first face it violates.
        points, first = points[~covered], first[~covered]
        for place in np.flatnonzero(np.bincount(first))[::-1]:
            k, before = cuts[place], cuts[:place]
            near, near_closed = region.near.copy(), region.near_closed.copy()
            far, far_closed = region.far.copy(), region.far_closed.copy()
            far[before], far_closed[before] = corner.far[before], corner.far_closed[before]
            near[k], near_closed[k] = corner.far[k], not corner.far_closed[k]
            own, pushed = points[first == place], pushed + 1
            item = -len(own), pushed, Region(near, far, near_closed, far_closed), own, depth + 1
            if max_rules:
                heapq.heappush(agenda, item)
            else:
                agenda.append(item)
    return search


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
    return Search(best, problems, is_complete)


def _worth(boxes: list[Found], Z: FloatArray, min_coverage: int, max_rules: int | None) -> float:
    sizes = sorted(len(points) for _, points in boxes if len(points) >= min_coverage)[::-1]
    kept = sizes[:max_rules]
    return sum(kept) / max(1, len(Z)) - RULE_PRICE * len(kept)


# Comparisons of a point with the hull of a box and another point, as many as some hundred points need. Among thousands
# a rule more or less matters little, and the work would grow with their square.
_MOST_COMPARISONS = 5_000_000


def consolidate(side: Side, Z: FloatArray, boxes: list[Found], min_coverage: int) -> list[Found]:
    """Drop boxes with few points and let the others grow."""
    kept = [(box, points) for box, points in boxes if len(points) >= min_coverage]
    if not kept:
        return kept
    covered = np.zeros(len(Z), dtype=np.bool_)
    for _, points in kept:
        covered[points] = True
    work = _Work(_MOST_COMPARISONS)
    table = Region.stack([box for box, _ in kept])
    table = _grow(side, Z, table, np.flatnonzero(~covered), work)
    table = _dissolve(side, Z, table, work)
    return [(box, np.flatnonzero(box.contains(Z))) for box in (table[r] for r in range(len(table)))]


@dataclass(slots=True)
class _Work:
    """How many comparisons are left to be spent."""

    left: int

    def affords(self, boxes: Region, points: IntArray) -> bool:
        """Pay for comparing all points with the hulls of all boxes and points, if enough is left."""
        price = len(boxes) * len(points) ** 2
        if price > self.left:
            return False
        self.left -= price
        return True


def _grow(side: Side, Z: FloatArray, boxes: Region, points: IntArray, work: _Work) -> Region:
    """Take in points one after the other, each by the box whose hull gains most."""
    while len(points) and work.affords(boxes, points):
        gains = [_best_hull(side, Z, boxes, points, int(p)) for p in points]
        best = max(gains, key=lambda gain: gain[0])
        if best[0] == 0:
            return boxes
        _, r, hull = best
        assert hull is not None
        boxes = Region.stack([hull if k == r else boxes[k] for k in range(len(boxes))])
        points = points[~hull.contains(Z[points])]
    return boxes


def _best_hull(
    side: Side, Z: FloatArray, boxes: Region, points: IntArray, p: int
) -> tuple[int, int, Region | None]:
    """Return how many open points the best hull with a point gains, by which box, and the hull."""
    hulls = boxes.hulls(Z[p])
    best: tuple[int, int, Region | None] = (0, -1, None)
    # Floating point sorts out the clear cases; `admits` decides exactly.
    terms = hulls.far * side.a
    band = 1e-12 * (np.abs(terms).sum(axis=1) + abs(side.g))
    for r in np.flatnonzero(terms.sum(axis=1) - side.g <= band):
        hull = hulls[r]
        gain = int(hull.contains(Z[points]).sum())
        if gain <= best[0] or not side.admits(hull):
            continue
        if not hull.meets(_without(boxes, int(r))).any():
            best = (gain, int(r), hull)
    return best


def _without(boxes: Region, r: int) -> Region:
    return boxes[np.arange(len(boxes)) != r]


def _dissolve(side: Side, Z: FloatArray, boxes: Region, work: _Work) -> Region:
    """Drop boxes, the emptiest first, whose points the others can take in one by one."""
    sizes = [int(boxes[r].contains(Z).sum()) for r in range(len(boxes))]
    order = [r for _, r in sorted(zip(sizes, range(len(boxes)), strict=True))]
    gone: list[int] = []
    for r in order:
        place = r - sum(g < r for g in gone)
        if len(boxes) == 1:
            break
        points = np.flatnonzero(boxes[place].contains(Z))
        rest = _grow(side, Z, _without(boxes, place), points, work)
        taken = [rest[s].contains(Z[points]) for s in range(len(rest))]
        if np.any(taken, axis=0).all():
            boxes = rest
            gone.append(r)
    return boxes


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
    kept = [box for box, points in disjoint.boxes if len(points) >= min_coverage][:max_rules]
    pool = [domain.up_to(box.far, box.far_closed) for box in kept]
    greedy, problems = _greedy_corners(side, domain, Z, min_coverage, criterion)
    pool += greedy
    problems += disjoint.problems
    if not pool:
        return Search([], problems, disjoint.is_complete)
    table = np.stack([box.below(Z).all(axis=1) for box in pool])
    chosen = _choose(table, min(len(kept) or len(pool), max_rules or len(pool)))
    boxes = [(pool[r], np.flatnonzero(table[r])) for r in chosen]
    return Search(boxes, problems, disjoint.is_complete)


def _greedy_corners(
    side: Side,
    domain: Region,
    Z: FloatArray,
    min_coverage: int,
    criterion: Criterion,
) -> tuple[list[Region], int]:
    """Find corners one after the other, each for the points that are left."""
    left = np.arange(len(Z))
    corners: list[Region] = []
    problems = 0
    while len(left):
        corner = criterion(side, domain, Z[left])
        problems += 1
        holds = None if corner is None else corner.below(Z[left]).all(axis=1)
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
