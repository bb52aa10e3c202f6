"""The boxes of one class: choose the way, run it, simplify, prove."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from clearmargin.models.score_error import Guard, direct_error
from clearmargin.plane_rules.coverage_corner import coverage_corner
from clearmargin.plane_rules.members import members_of
from clearmargin.plane_rules.polytope import extract_polytope_boxes
from clearmargin.plane_rules.portfolio import search_coverage
from clearmargin.plane_rules.proof import is_inside_all, needed_ends, prove
from clearmargin.plane_rules.recursion import Criterion, Search, extract_boxes
from clearmargin.plane_rules.retreat import retreat
from clearmargin.plane_rules.short_corner import short_corner
from clearmargin.plane_rules.side import Index, Region, Side
from clearmargin.plane_rules.volume_corner import volume_corner
from clearmargin.progress import Watch, part
from clearmargin.rule_base.simplify import merge_neighbours, simplify_box
from clearmargin.rules import Box, FeatureSpace, HalfSpace
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.row_order import canonical_order

__all__ = [
    "CRITERIA",
    "DEFAULT_CRITERION",
    "DEFAULT_MIN_COVERAGE",
    "ClassBoxes",
    "ExtractionOptions",
    "boxes_of_class",
]

CRITERIA = (
    "volume",
    "coverage",
    "coverage-lp",
    "coverage-lp-feature",
    "coverage-lp-separable",
    "coverage-exact",
)


# What `RuleExtractor` and the command line do where nobody chooses.
DEFAULT_CRITERION = "volume"
DEFAULT_MIN_COVERAGE = 2

# With more points than this, boxes are searched for on a sample of them, and then counted on all.
_MOST_POINTS = 30_000


@dataclass(frozen=True, slots=True)
class ExtractionOptions:
    """How rules are to be found; see `RuleExtractor`.

    A search that is not thorough, for large samples, looks once, and not where too few points are for a rule.
    """

    criterion: str
    max_depth: int
    min_coverage: int
    max_rules: int | None
    disjoint: bool
    max_conditions: int | None
    tighten: bool
    watch: Watch | None = None
    thorough: bool = True


@dataclass(frozen=True, slots=True)
class ClassBoxes:
    """The boxes of a class over the encoded columns, with the rows in them, and what finding them cost."""

    boxes: tuple[Box, ...]
    rows: tuple[IntArray, ...]
    origins: tuple[tuple[Box, ...], ...]
    wanted: int
    problems: int
    found: int
    unlimited: int | None
    seconds: float


def boxes_of_class(
    halfspaces: Sequence[HalfSpace],
    columns: FeatureSpace,
    limits: Box,
    X: FloatArray,
    held: BoolArray,
    wanted: BoolArray,
    options: ExtractionOptions,
    guards: Sequence[Guard] | None = None,
) -> ClassBoxes:
    """Find, simplify and prove the boxes of one class.

    Points are taken in an order of their values, so that rules do not depend on how the table was sorted. With very
    many points boxes are searched for on some of them; which of all points they cover is counted in the end.

    Parameters
    ----------
    halfspaces : sequence of HalfSpace
        The region of the class.
    columns : FeatureSpace
        The encoded columns; their ranges are the domain.
    limits : Box
        The ranges that the user declared, so that bounds at their ends need not be said.
    X : ndarray of shape (m, n)
        All points, in the domain.
    held : ndarray of bool of shape (m,)
        Which points are in all half-spaces. By its proof a box holds no others.
    wanted : ndarray of bool of shape (m,)
        Which points are to be covered; those of them that are held can be.
    options : ExtractionOptions
        How.
    guards : sequence of Guard, optional
        What proves a box; by default planes that are computed as they stand.

    Returns
    -------
    ClassBoxes
        Boxes ordered by the number of wanted points they cover, the fullest first.
    """
    start = time.perf_counter()
    domain = Box(columns.lower, columns.upper)
    own = np.flatnonzero(held & wanted)
    step = max(1, -(-len(own) // _MOST_POINTS))
    some = X[canonical_order(X, own, -(-len(own) // step))]
    # With short rules there is a second search, for what they cost.
    searches = 1 if options.max_conditions is None else 2
    scaled = replace(
        options,
        min_coverage=-(-options.min_coverage // step),
        watch=part(options.watch, 1 / searches),
    )
    pairs, problems = _search(halfspaces, domain, some, scaled)
    found = len(pairs)
    kept = [(box, points) for box, points in pairs if len(points) >= scaled.min_coverage]
    kept.sort(key=lambda pair: -len(pair[1]))
    kept = kept[: options.max_rules]
    needed = needed_ends(halfspaces, columns, limits)
    simple = [simplify_box(box, columns, some[points], needed) for box, points in kept]
    members = [[k] for k in range(len(simple))]
    if options.disjoint:
        merged = merge_neighbours(simple, columns)
        simple, members = [box for box, _ in merged], [group for _, group in merged]
    if guards is None:
        guards = [Guard(h, direct_error(h.hyperplane)) for h in halfspaces]
    simple, members = _proved(simple, members, guards, limits, columns, some)
    prove(simple, guards, limits, disjoint=options.disjoint)
    inside = members_of(simple, X, np.flatnonzero(held))
    sizes = [int(np.count_nonzero(wanted[group])) for group in inside]
    order = [k for k in range(len(simple)) if sizes[k] >= options.min_coverage]
    order.sort(key=lambda k: -sizes[k])
    return ClassBoxes(
        tuple(simple[k] for k in order),
        tuple(inside[k] for k in order),
        tuple(tuple(kept[j][0] for j in members[k]) for k in order),
        # Points on the plane, or within rounding of it, are to be covered as well, although no proof can.
        int(np.count_nonzero(wanted)),
        problems,
        found,
        _covered_without_limit(halfspaces, domain, some, scaled, step),
        time.perf_counter() - start,
    )


def _proved(
    boxes: Sequence[Box],
    members: Sequence[list[int]],
    guards: Sequence[Guard],
    limits: Box,
    columns: FeatureSpace,
    points: FloatArray,
) -> tuple[list[Box], list[list[int]]]:
    """Boxes on which rounding cannot change what the model says, most of them as they are."""
    kept = []
    for box, group in zip(boxes, members, strict=True):
        sound: Box | None = box
        if not is_inside_all(box, guards, limits):
            sound = retreat(box, guards, limits, columns, points[box.contains(points)])
        if sound is not None:
            kept.append((sound, group))
    return [box for box, _ in kept], [group for _, group in kept]


def _covered_without_limit(
    halfspaces: Sequence[HalfSpace],
    domain: Box,
    X: FloatArray,
    options: ExtractionOptions,
    step: int,
) -> int | None:
    """How many points rules of any length would cover: what a limit on their length costs."""
    if options.max_conditions is None:
        return None
    watch = part(options.watch, 1.0, counts=False)
    pairs, _ = _search(halfspaces, domain, X, replace(options, max_conditions=None, watch=watch))
    sizes = sorted((len(points) for _, points in pairs), reverse=True)[: options.max_rules]
    return step * sum(size for size in sizes if size >= options.min_coverage)


def _search(
    halfspaces: Sequence[HalfSpace], domain: Box, X: FloatArray, options: ExtractionOptions
) -> tuple[list[tuple[Box, Index]], int]:
    if not len(X):
        if options.watch is not None:
            options.watch(1.0, 0)
        return [], 0
    if len(halfspaces) > 1:
        return extract_polytope_boxes(
            halfspaces,
            domain,
            X,
            max_depth=options.max_depth,
            min_coverage=options.min_coverage,
            max_rules=options.max_rules,
            watch=options.watch,
        )
    side = Side.of(halfspaces[0])
    Z = side.orient(X)
    search = _search_side(side, side.region(domain), Z, options)
    return [(side.box(box), box.points) for box in search.boxes], search.problems


def _search_side(side: Side, domain: Region, Z: FloatArray, options: ExtractionOptions) -> Search:
    criterion = _criterion(options.criterion)
    if options.max_conditions is not None:
        kind = "volume" if options.criterion == "volume" else "coverage"
        criterion = partial(
            short_corner, domain=domain, max_conditions=options.max_conditions, criterion=kind
        )
    if options.disjoint:
        return _search_disjoint(side, domain, Z, criterion, options)
    half = part(options.watch, 0.5)
    search = _search_disjoint(side, domain, Z, criterion, replace(options, watch=half))
    from clearmargin.plane_rules.covering import cover_with_overlap

    return cover_with_overlap(
        side,
        domain,
        Z,
        search,
        min_coverage=options.min_coverage,
        max_rules=options.max_rules,
        criterion=criterion,
        watch=half,
    )


def _criterion(name: str) -> Criterion:
    if name == "volume":
        return volume_corner
    if name == "coverage":
        return coverage_corner
    # Solvers are loaded by those who use them.
    from clearmargin.plane_rules.coverage_exact import exact_corner
    from clearmargin.plane_rules.coverage_lp import feature_corner, point_corner, separable_corner

    return {
        "coverage-lp": point_corner,
        "coverage-lp-feature": feature_corner,
        "coverage-lp-separable": separable_corner,
        "coverage-exact": exact_corner,
    }[name]


def _search_disjoint(
    side: Side, domain: Region, Z: FloatArray, criterion: Criterion, options: ExtractionOptions
) -> Search:
    find: Callable[..., Search] = partial(
        extract_boxes,
        criterion=criterion,
        min_points=1 if options.thorough else options.min_coverage,
    )
    if criterion is coverage_corner:
        quick = partial(find, criterion=partial(coverage_corner, thorough=False))
        find = search_coverage if options.thorough else quick
    return find(
        side,
        domain,
        Z,
        max_depth=options.max_depth,
        min_coverage=options.min_coverage,
        max_rules=options.max_rules,
        # A face moved in to the points would count as a condition.
        tighten=options.tighten and options.max_conditions is None,
        watch=options.watch,
    )
