"""Extract rules from the planes of a model: for each class search, simplify and prove boxes, then translate them.

It works on points that are encoded already, and knows no scikit-learn; `RuleExtractor` reads the model and calls it.

**Whole numbers between two rules.** 27 belongs to `x <= 26` or to `x >= 28` wherever the proof allows it. Boxes end at
values that rows have, and bounds are rounded inwards to whole numbers. So a single whole number can be left over
between two boxes that face each other, although one of them could have it. It is given to the one below, if that one
is still proved and meets no other box of its class, else to the one above. A box that grew can face others than before,
so this is repeated until no box grows. Larger distances stay: there the data say nothing about where the classes part.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from clearmargin.exceptions import DensePlaneWarning, InvalidValueError
from clearmargin.models.score_error import Guard, direct_error
from clearmargin.models.surface import Surface
from clearmargin.plane_rules.coverage_corner import coverage_corner, short_corner
from clearmargin.plane_rules.polytope import extract_polytope_boxes
from clearmargin.plane_rules.proof import is_inside_all, needed_ends, prove, retreat
from clearmargin.plane_rules.relation_growth import check_points, grow_boxes
from clearmargin.plane_rules.search import (
    ORDERS,
    Criterion,
    Search,
    cover_with_overlap,
    extract_boxes,
    search_coverage,
)
from clearmargin.plane_rules.side import Region, Side
from clearmargin.plane_rules.volume_corner import volume_corner
from clearmargin.progress import advance, part
from clearmargin.rule_base.budget import (
    MinCoverage,
    RuleBudget,
    choose_rules,
    have_evidence,
    least_rows,
)
from clearmargin.rule_base.feature_ranges import declared_limits, encoded_domain, narrowed_to
from clearmargin.rule_base.labelled_points import LabelledPoints
from clearmargin.rule_base.row_coverage import DroppedBox
from clearmargin.rule_base.simplify import drop_boxes, merge_neighbours, simplify_box, to_user_box
from clearmargin.rules import Box, FeatureSpace, HalfSpace, Polyhedron, Rule, RuleSet, RuleStats
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.rule import Label, Proof
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.row_order import canonical_order

__all__ = [
    "CRITERIA",
    "DEFAULT_CRITERION",
    "DEFAULT_ORDER",
    "ClassBoxes",
    "Extraction",
    "ExtractionOptions",
    "Trace",
    "boxes_of_class",
    "check_surface",
    "expected_coverage",
    "extract_rules",
    "share_whole_numbers",
    "warn_of_dense_plane",
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
DEFAULT_ORDER = ORDERS[0]


# A box of a single row is that row.
_FEWEST = 2
# With more points than this, boxes are searched for on a sample of them, and then counted on all.
_MOST_POINTS = 30_000


@dataclass(frozen=True, slots=True)
class ExtractionOptions:
    """The parameters of a `RuleExtractor` that say how rules are searched.

    A search that is not thorough, for large samples, looks once, and not where too few points are for a rule. With
    `has_class_bounds` a class is searched within the ranges of the points to cover of it, `bounds="class"`. `proof` is
    what a proof of a box says: of a distilled plane, it says nothing of the model. `max_rules` limits the search of
    each class, `budget` the rules of all classes together, after the search.
    """

    criterion: str
    max_depth: int
    min_coverage: MinCoverage
    max_rules: int | None
    disjoint: bool
    max_conditions: int | None
    tighten: bool
    order: str = DEFAULT_ORDER
    has_class_bounds: bool = False
    thorough: bool = True
    proof: Proof = "proved"
    budget: int | None = None

    @classmethod
    def of(cls, extractor: Any) -> ExtractionOptions:
        """Read the parameters of a `RuleExtractor`, which have been checked."""
        return cls(
            extractor.criterion,
            extractor.max_depth,
            extractor.min_coverage,
            None,
            bool(extractor.disjoint),
            extractor.max_conditions,
            bool(extractor.tighten),
            extractor.order,
            isinstance(extractor.bounds, str) and extractor.bounds == "class",
            budget=extractor.max_rules,
        )

    def for_rows(self, n_rows: int) -> ExtractionOptions:
        """Limit the search where there are so many rows that thousands of boxes would be found for a page of rules.

        Regions with the most points are taken first, so that the largest rules are found all the same. What the rest
        would cover is a lower bound then, and `RuleBudget` says so.
        """
        many = _MANY_ROWS if self.criterion == "volume" else _MANY_ROWS_BY_COVERAGE
        if self.budget is None or self.max_rules is not None or n_rows <= many:
            return self
        return replace(self, max_rules=max(_FEWEST_FOUND, 2 * self.budget))


# From so many rows on, a page takes a search of at least so many boxes of each class: 300,000 rows gave all of theirs
# in minutes, and the boxes of a page in less than a second. A box by coverage costs several times as much.
_MANY_ROWS, _MANY_ROWS_BY_COVERAGE, _FEWEST_FOUND = 20_000, 3_000, 100
# In n dimensions the largest box on a plane has n!/n^n of a corner's volume: 4 % at 5, 0.04 % at 10.
_MANY_FEATURES = 8


def check_surface(surface: Surface, options: ExtractionOptions) -> None:
    """Raise if the planes have no weights, or if a binary-only option meets a multiclass model.

    Parameters
    ----------
    surface : Surface
        The planes of the model.
    options : ExtractionOptions
        The parameters.
    """
    weights = np.array([duel.plane.coef for duel in surface.planes])
    if not weights.any():
        raise InvalidValueError(
            "the model's plane is constant: all weights are zero, so it predicts the same everywhere and there are no "
            "rules to extract; train it with less regularisation (a larger nu or C), or, if a search chose that, on "
            "features with a linear relation to the classes"
        )
    n_classes = len(surface.classes)
    if n_classes > 2 and (options.max_conditions is not None or not options.disjoint):
        raise InvalidValueError(
            f"max_conditions and disjoint=False are for models of two classes, and this one has {n_classes}; "
            "leave them at their defaults"
        )


def warn_of_dense_plane(
    surface: Surface, space: FeatureSpace, data: LabelledPoints, options: ExtractionOptions
) -> None:
    """Warn of a plane with many features, before rules are searched: what they will cover, and what covers more.

    Parameters
    ----------
    surface : Surface
        The planes.
    space : FeatureSpace
        The user's features with the ranges to use.
    data : LabelledPoints
        The points to cover.
    options : ExtractionOptions
        How.
    """
    most = surface.count_features()
    if most <= _MANY_FEATURES:
        return
    told = "boxes cover little of what lies below such a plane"
    share = expected_coverage(surface, space, data, options)
    if share is not None:
        rules = "all rules" if options.budget is None else f"{options.budget} rules"
        told = f"{told}: by a trial on some rows, {rules} will cover about {100 * share:.0f} % of other rows"
    warnings.warn(
        f"the plane has {most} features with a weight; {told}. A card may prove what it predicts of more rows: "
        "ScoreRules(certify=True); so may rules of a plane distilled to fewer features: RuleExtractor(max_features=8). "
        "A sparser one gives fewer and better rules: LPSVCCV(max_features=8), which estimator=None trains",
        DensePlaneWarning,
        stacklevel=5,
    )


# Rows of the trial: half of them to search boxes for, half to count on.
_TRIAL = 1_000


def expected_coverage(
    surface: Surface, space: FeatureSpace, data: LabelledPoints, options: ExtractionOptions
) -> float | None:
    """Estimate which share of rows that they were not made from the rules of a plane will cover, by a small search.

    Boxes by volume are searched for on some rows, the largest are kept as by the budget, and they are counted on other
    rows. That takes hundredths of a second. Criteria that look at points cover more.

    Parameters
    ----------
    surface, space, data, options
        As for `extract_rules`.

    Returns
    -------
    float or None
        The share; None for more than two classes, where every box takes longer.
    """
    if len(surface.classes) != 2 or len(data.points) < 4:
        return None
    columns = encoded_domain(surface, space, data.points)
    domain = Box(columns.lower, columns.upper)
    rows = canonical_order(data.points, np.arange(len(data.points)), _TRIAL)
    searched, counted = rows[::2], data.points[rows[1::2]]
    quick = replace(
        options, criterion="volume", min_coverage=1, max_rules=None, disjoint=True, thorough=False
    )
    found: list[tuple[int, Box]] = []
    for k, (halfspace,) in enumerate(surface.regions()):
        right = searched[data.are_right(k)[searched]]
        points = data.points[right]
        pairs, *_ = _search([halfspace], domain, points[halfspace.contains(points)], quick)
        found += [(len(members), box) for box, members in pairs]
    found.sort(key=lambda pair: -pair[0])
    boxes = [box for _, box in found[: options.budget]]
    return float(np.mean(Boxes.of(boxes, counted.shape[1]).masks(counted).any(axis=0)))


@dataclass(frozen=True, slots=True)
class Trace:
    """What the extraction of one class found and cost.

    Parameters
    ----------
    points : int
        Training points of the class that the model classifies correctly, inside the bounds.
    problems : int
        Corners computed.
    found : int
        Boxes that cover at least one of the points; with `criterion="coverage"` those that are left after boxes with
        fewer than `min_coverage` points were dropped and the others grew.
    kept : int
        Rules that remain.
    covered : int
        Points that the rules cover.
    seconds : float
        Time taken.
    unlimited : int, optional
        With `max_conditions`: points that rules of any length would cover, with `max_rules` as many rules as were kept;
        estimated where points were sampled, and before whole numbers between two rules are shared out. The difference
        to `covered` is the price of short rules.
    members : int, default 0
        Training points of the class, whether the model classifies them correctly or not.
    """

    points: int
    problems: int
    found: int
    kept: int
    covered: int
    seconds: float
    unlimited: int | None = None
    members: int = 0

    @property
    def coverage(self) -> float:
        """Share of the points that the rules cover, of those that the model classifies correctly."""
        return self.covered / self.points if self.points else float("nan")

    @property
    def recall(self) -> float:
        """Share of all points of the class that the rules of the class cover.

        Examples
        --------
        >>> trace = Trace(points=311, problems=9, found=5, kept=4, covered=305, seconds=0.1, members=559)
        >>> round(trace.coverage, 3), round(trace.recall, 3)
        (0.981, 0.546)
        """
        return self.covered / self.members if self.members else float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class Extraction:
    """Rules, and what is known of them.

    Parameters
    ----------
    rules : RuleSet
        The rules of all classes, those with the largest coverage first, class by class.
    boxes : tuple of Box
        Their boxes over the encoded columns.
    trace : dict from class to Trace
        What was found and what it cost.
    origins : tuple
        For each class and rule the boxes as they were found, before whole numbers, few digits and merging.
    columns : FeatureSpace
        The encoded columns with the ranges used.
    domains : tuple of Box
        For each class where its boxes were searched: the ranges of all columns, or of its points.
    limits : Box
        Where columns can be taken to live without a condition.
    dropped : tuple of DroppedBox
        Boxes that were found and gave no rule.
    budget : RuleBudget
        What the rules cover, and what all that were found would.
    """

    rules: RuleSet
    boxes: tuple[Box, ...]
    trace: dict[Label, Trace]
    origins: tuple[tuple[tuple[Box, ...], ...], ...]
    columns: FeatureSpace
    domains: tuple[Box, ...]
    limits: Box
    dropped: tuple[DroppedBox, ...]
    budget: RuleBudget


def extract_rules(
    surface: Surface,
    space: FeatureSpace,
    declared: BoolArray,
    data: LabelledPoints,
    options: ExtractionOptions,
    relations: Polyhedron | None = None,
) -> Extraction:
    """Find, simplify and prove the rules of all classes.

    Parameters
    ----------
    surface : Surface
        The planes.
    space : FeatureSpace
        The user's features with the ranges to use.
    declared : ndarray of bool of shape (2, n)
        Which lower and upper ends of these ranges the user declared.
    data : LabelledPoints
        The points to cover.
    options : ExtractionOptions
        How.
    relations : Polyhedron, optional
        What every case satisfies, over the user's features; boxes are proved within it, and grow.

    Returns
    -------
    Extraction
        Rules and what is known of them.

    Examples
    --------
    >>> from clearmargin.rules import Hyperplane
    >>> from clearmargin.models.surface import Duel
    >>> from clearmargin.tables.encoding import Source
    >>> space, age = FeatureSpace(["age"], [20.0], [80.0]), np.array([[20.0], [30.0], [70.0], [80.0]])
    >>> plane = (Duel(1, 0, Hyperplane([1.0], -50.0)),)
    >>> surface = Surface(space, (Source(0, None),), space, ("young", "old"), plane, True)
    >>> data = LabelledPoints(age, np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))
    >>> options = ExtractionOptions("volume", 20, 1, None, True, None, True)
    >>> len(extract_rules(surface, space, np.zeros((2, 1), dtype=bool), data, options).rules)
    2
    """
    columns = encoded_domain(surface, space, data.points)
    limits = declared_limits(surface, columns, declared)
    domain = None if relations is None else surface.domain(columns, declared, relations)
    if domain is not None:
        check_points(domain, data.points)
    options = options.for_rows(len(data.points))
    found = [
        _boxes(surface, k, columns, limits, data, options) for k in range(len(surface.classes))
    ]
    to_cover = [data.are_right(k) for k in range(len(surface.classes))]
    found = share_whole_numbers(
        found,
        surface.guards(),
        columns,
        limits,
        data.points,
        to_cover,
        disjoint=options.disjoint,
    )
    if domain is not None:
        found = grow_boxes(
            found, surface.guards(), domain, data.points, to_cover, disjoint=options.disjoint
        )
    found, budget = _within_budget(surface, found, data, options)
    rules, boxes, trace = _rules(surface, found, data, options)
    return Extraction(
        RuleSet(rules, space, surface.classes),
        tuple(boxes),
        trace,
        tuple(result.origins for result in found),
        columns,
        tuple(result.domain for result in found),
        limits,
        tuple(_dropped(surface, found)),
        budget,
    )


def _within_budget(
    surface: Surface,
    found: Sequence[ClassBoxes],
    data: LabelledPoints,
    options: ExtractionOptions,
) -> tuple[list[ClassBoxes], RuleBudget]:
    """Keep the boxes with enough rows, and of these the ones that cover most, in all classes together."""
    places = [(k, place) for k, result in enumerate(found) for place in range(len(result.boxes))]
    codes = np.array([k for k, _ in places], dtype=np.intp)
    rows = [found[k].rows[place] for k, place in places]
    right = [inside[data.true[inside] == k] for k, inside in zip(codes, rows, strict=True)]
    enough = have_evidence(
        _sizes(rows),
        _sizes(right),
        codes,
        data.class_shares(len(surface.classes)),
        options.min_coverage,
    )
    lengths = [_n_conditions(found[k].boxes[place], surface) for k, place in places]
    usable = [r for r in np.flatnonzero(enough).tolist() if lengths[r] is not None]
    order = choose_rules(
        [right[r] for r in usable],
        codes[usable],
        options.budget,
        lengths=[lengths[r] or 0 for r in usable],
    )
    chosen = [usable[place] for place in order]
    kept = [
        result.take(
            [places[r][1] for r in chosen if codes[r] == k],
            [places[r][1] for r in np.flatnonzero(~enough) if codes[r] == k],
        )
        for k, result in enumerate(found)
    ]
    budget = RuleBudget(
        options.budget,
        len(data.points),
        len(chosen),
        _count_union([rows[r] for r in chosen], len(data.points)),
        len(usable),
        _count_union([rows[r] for r in usable], len(data.points)),
        all(result.is_complete for result in found),
    )
    return kept, budget


def _sizes(sets: Sequence[IntArray]) -> IntArray:
    return np.array([len(members) for members in sets], dtype=np.intp)


def _n_conditions(box: Box, surface: Surface) -> int | None:
    """Count the conditions of a box over the user's features; None where it holds no case."""
    region = to_user_box(box, surface)
    return None if region is None else len(region.bounded)


def _count_union(members: Sequence[IntArray], m: int) -> int:
    """Count the rows that are in at least one of some sets."""
    covered = np.zeros(m, dtype=np.bool_)
    for rows in members:
        covered[rows] = True
    return int(np.count_nonzero(covered))


def _dropped(surface: Surface, found: Sequence[ClassBoxes]) -> Iterator[DroppedBox]:
    """Yield the boxes that gave no rule, over the user's features."""
    for label, result in zip(surface.classes, found, strict=True):
        yield from drop_boxes(result.few, surface, label, "min_coverage")
        yield from drop_boxes(result.beyond, surface, label, "max_rules")


def _boxes(
    surface: Surface,
    k: int,
    columns: FeatureSpace,
    limits: Box,
    data: LabelledPoints,
    options: ExtractionOptions,
) -> ClassBoxes:
    """Return the boxes of a class, and the rows in them."""
    halfspaces, guards = surface.regions()[k], surface.guards()[k]
    is_inside = np.ones(len(data.points), dtype=np.bool_)
    reach = np.maximum(np.abs(columns.lower), np.abs(columns.upper))
    for halfspace in halfspaces:
        is_inside &= halfspace.contains_exactly(data.points, reach)
    domain = Box(columns.lower, columns.upper)
    for guard in guards:
        rows = np.flatnonzero(is_inside)
        is_inside[rows] = guard.holds(data.points[rows], domain)
    to_cover = data.are_right(k)
    if options.has_class_bounds:
        columns = narrowed_to(data.points[is_inside & to_cover], columns, surface)
    search = partial(
        boxes_of_class, halfspaces, columns, limits, data.points, is_inside, to_cover, guards=guards
    )
    if options.min_coverage != "auto":
        return search(options)
    least = max(_FEWEST, least_rows(float(data.class_shares(len(surface.classes))[k])))
    found = search(replace(options, min_coverage=least))
    if found.boxes or least == _FEWEST:
        return found
    # Better one rule with little evidence, which its counts show, than a class of which nothing is said.
    one = search(replace(options, min_coverage=_FEWEST, max_rules=1))
    return replace(one, is_complete=found.is_complete)


def _rules(
    surface: Surface, found: Sequence[ClassBoxes], data: LabelledPoints, options: ExtractionOptions
) -> tuple[list[Rule], list[Box], dict[Label, Trace]]:
    """Turn boxes into rules and count what they cover."""
    rules: list[Rule] = []
    boxes: list[Box] = []
    trace: dict[Label, Trace] = {}
    for k, result in enumerate(found):
        label, kept = surface.classes[k], 0
        covered = np.zeros(len(data.points), dtype=np.bool_)
        for box, rows in zip(result.boxes, result.rows, strict=True):
            user_box = to_user_box(box, surface)
            assert user_box is not None  # others were left out before rules were chosen
            stats = RuleStats(
                rows=len(data.points),
                covered=len(rows),
                correct=int(np.count_nonzero(data.true[rows] == k)),
                agreed=int(np.count_nonzero(data.predicted[rows] == k)),
            )
            rules.append(
                Rule(user_box, label, origin="extracted", proof=options.proof, stats=stats)
            )
            boxes.append(box)
            covered[rows] = True
            kept += 1
        trace[label] = Trace(
            result.n_to_cover,
            result.problems,
            result.found,
            kept,
            int(np.count_nonzero(covered & data.are_right(k))),
            result.seconds,
            None
            if result.unlimited is None
            else sum(result.unlimited[: kept if options.budget else None]),
            int(np.count_nonzero(data.true == k)),
        )
    return rules, boxes, trace


@dataclass(frozen=True, slots=True)
class ClassBoxes:
    """The boxes of a class over the encoded columns, with the rows in them, and what finding them cost."""

    boxes: tuple[Box, ...]
    rows: tuple[IntArray, ...]
    origins: tuple[tuple[Box, ...], ...]
    domain: Box
    n_to_cover: int
    problems: int
    found: int
    unlimited: tuple[int, ...] | None
    seconds: float
    # Boxes that gave no rule: those with fewer points than `min_coverage`, and those beyond `max_rules`.
    few: tuple[Box, ...] = ()
    beyond: tuple[Box, ...] = ()
    is_complete: bool = True

    def take(self, kept: Sequence[int], few: Sequence[int]) -> ClassBoxes:
        """Keep some boxes; of the others, some have too few points, and for the rest there was no room."""
        rest = sorted({*range(len(self.boxes))} - {*kept, *few})
        return replace(
            self,
            boxes=tuple(self.boxes[r] for r in kept),
            rows=tuple(self.rows[r] for r in kept),
            origins=tuple(self.origins[r] for r in kept),
            few=(*self.few, *(self.boxes[r] for r in few)),
            beyond=(*self.beyond, *(self.boxes[r] for r in rest)),
        )


def boxes_of_class(
    halfspaces: Sequence[HalfSpace],
    columns: FeatureSpace,
    limits: Box,
    X: FloatArray,
    is_inside: BoolArray,
    to_cover: BoolArray,
    options: ExtractionOptions,
    guards: Sequence[Guard] | None = None,
) -> ClassBoxes:
    """Find, simplify and prove the boxes of one class.

    Points are taken in an order of their values, so that rules do not depend on how the table was sorted. With very
    many points boxes are searched for on a sample of them; which of all points they cover is counted in the end.

    Parameters
    ----------
    halfspaces : sequence of HalfSpace
        The region of the class.
    columns : FeatureSpace
        The encoded columns; their ranges are the domain of the search.
    limits : Box
        The ranges that the user declared, so that bounds at their ends need not be conditions.
    X : ndarray of shape (m, n)
        All points; those that can be covered lie in the domain.
    is_inside : ndarray of bool of shape (m,)
        Which points are in all half-spaces. By its proof a box contains no others.
    to_cover : ndarray of bool of shape (m,)
        Which points are to be covered; those of them that are in all half-spaces can be.
    options : ExtractionOptions
        How; `min_coverage` is a number here.
    guards : sequence of Guard, optional
        What proves a box; by default planes that are computed as they stand.

    Returns
    -------
    ClassBoxes
        Boxes ordered by the number of points to cover in them, those with the largest coverage first.
    """
    start = time.perf_counter()
    least = _number(options.min_coverage)
    domain = Box(columns.lower, columns.upper)
    coverable = np.flatnonzero(is_inside & to_cover)
    step = max(1, -(-len(coverable) // _MOST_POINTS))
    sample = X[canonical_order(X, coverable, -(-len(coverable) // step))]
    # With short rules there is a second search, for what they cost.
    searches = 1 if options.max_conditions is None else 2
    fewest = -(-least // step)
    scaled = replace(options, min_coverage=fewest)
    with part(1 / searches):
        pairs, problems, is_complete = _search(halfspaces, domain, sample, scaled)
    found = len(pairs)
    kept = [(box, points) for box, points in pairs if len(points) >= fewest]
    few = [box for box, points in pairs if len(points) < fewest]
    kept.sort(key=lambda pair: -len(pair[1]))
    most = len(kept) if options.max_rules is None else options.max_rules
    kept, beyond = kept[:most], kept[most:]
    needed = needed_ends(halfspaces, columns, limits)
    simple = [simplify_box(box, columns, sample[points], needed) for box, points in kept]
    members = [[k] for k in range(len(simple))]
    if options.disjoint:
        merged = merge_neighbours(simple, columns)
        simple, members = [box for box, _ in merged], [group for _, group in merged]
    if guards is None:
        guards = [Guard(h, direct_error(h.hyperplane)) for h in halfspaces]
    simple, members = _proved(simple, members, guards, limits, columns, sample)
    prove(simple, guards, limits, disjoint=options.disjoint)
    inside = Boxes.of(simple, X.shape[1]).members(X, np.flatnonzero(is_inside))
    sizes = [int(np.count_nonzero(to_cover[group])) for group in inside]
    order = [k for k in range(len(simple)) if sizes[k] >= least]
    order.sort(key=lambda k: -sizes[k])
    return ClassBoxes(
        tuple(simple[k] for k in order),
        tuple(inside[k] for k in order),
        tuple(tuple(kept[j][0] for j in members[k]) for k in order),
        domain,
        # Points on the plane, or within rounding of it, are to be covered as well, although no proof can.
        int(np.count_nonzero(to_cover)),
        problems,
        found,
        _covered_without_limit(halfspaces, domain, sample, scaled, step),
        time.perf_counter() - start,
        (*few, *(simple[k] for k in range(len(simple)) if sizes[k] < least)),
        tuple(box for box, _ in beyond),
        is_complete and step == 1,
    )


def _proved(
    boxes: Sequence[Box],
    members: Sequence[list[int]],
    guards: Sequence[Guard],
    limits: Box,
    columns: FeatureSpace,
    points: FloatArray,
) -> tuple[list[Box], list[list[int]]]:
    """Return boxes on which rounding cannot change what the model predicts, most of them as they are."""
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
) -> tuple[int, ...] | None:
    """Return how many points each rule would cover if rules had any length: what a limit on their length costs."""
    if options.max_conditions is None:
        return None
    with part(0.5, counts=False):
        pairs, *_ = _search(halfspaces, domain, X, replace(options, max_conditions=None))
    sizes = sorted((len(points) for _, points in pairs), reverse=True)[: options.max_rules]
    return tuple(step * size for size in sizes if size >= _number(options.min_coverage))


def _search(
    halfspaces: Sequence[HalfSpace], domain: Box, X: FloatArray, options: ExtractionOptions
) -> tuple[list[tuple[Box, IntArray]], int, bool]:
    """Return boxes with their points, how many corners were computed, and whether the search came to its end."""
    if not len(X):
        advance()
        return [], 0, True
    if len(halfspaces) > 1:
        pairs, problems = extract_polytope_boxes(
            halfspaces,
            domain,
            X,
            max_depth=options.max_depth,
            min_coverage=_number(options.min_coverage),
            max_rules=options.max_rules,
        )
        return pairs, problems, options.max_rules is None
    side = Side.of(halfspaces[0])
    Z = side.orient(X)
    search = _search_side(side, side.region(domain), Z, options)
    pairs = [(side.box(box), box.points) for box in search.boxes]
    return pairs, search.problems, search.is_complete


def _number(min_coverage: MinCoverage) -> int:
    assert min_coverage != "auto"  # a search of one class has its number
    return min_coverage


def _search_side(side: Side, domain: Region, Z: FloatArray, options: ExtractionOptions) -> Search:
    criterion = _criterion(options.criterion)
    if options.max_conditions is not None:
        kind = "volume" if options.criterion == "volume" else "coverage"
        criterion = partial(
            short_corner, domain=domain, max_conditions=options.max_conditions, criterion=kind
        )
    if options.disjoint:
        return _search_disjoint(side, domain, Z, criterion, options)
    with part(0.5):
        search = _search_disjoint(side, domain, Z, criterion, options)
        return cover_with_overlap(
            side,
            domain,
            Z,
            search,
            min_coverage=_number(options.min_coverage),
            max_rules=options.max_rules,
            criterion=criterion,
        )


def _criterion(name: str) -> Criterion:
    if name == "volume":
        return volume_corner
    if name == "coverage":
        return coverage_corner
    # Solvers are loaded by those who use them.
    from clearmargin.plane_rules.coverage_programs import (
        exact_corner,
        feature_corner,
        point_corner,
        separable_corner,
    )

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
        min_points=1 if options.thorough else _number(options.min_coverage),
    )
    if criterion is coverage_corner:
        quick = partial(find, criterion=partial(coverage_corner, thorough=False))
        find = search_coverage if options.thorough else quick
    return find(
        side,
        domain,
        Z,
        max_depth=options.max_depth,
        min_coverage=_number(options.min_coverage),
        max_rules=options.max_rules,
        # A face moved in to the points would count as a condition.
        tighten=options.tighten and options.max_conditions is None,
        order=options.order,
    )


@dataclass(slots=True)
class _Owned:
    """A box, its class, and whether it was changed."""

    box: Box
    owner: int
    is_changed: bool = False


def share_whole_numbers(
    found: Sequence[ClassBoxes],
    guards: Sequence[Sequence[Guard]],
    columns: FeatureSpace,
    limits: Box,
    X: FloatArray,
    to_cover: Sequence[BoolArray],
    *,
    disjoint: bool,
) -> list[ClassBoxes]:
    """Let boxes grow by single whole numbers that lie between two of them.

    Parameters
    ----------
    found : sequence of ClassBoxes
        The proved boxes of all classes.
    guards : sequence of sequences of Guard
        What proves a box of each class.
    columns : FeatureSpace
        Which columns take whole numbers.
    limits : Box
        Where features are declared to live.
    X : ndarray of shape (m, n)
        All points.
    to_cover : sequence of ndarray of bool of shape (m,)
        For each class the points by which its boxes are ordered.
    disjoint : bool
        Whether no two boxes of a class may meet.

    Returns
    -------
    list of ClassBoxes
        The same number of boxes, none smaller than before, all proved.
    """
    boxes = [_Owned(box, k) for k, result in enumerate(found) for box in result.boxes]
    features = np.flatnonzero(columns.integer).tolist()
    # A box that grew along one feature can face others along the next one. No box outgrows the others, so it ends.
    is_growing = True
    while is_growing:
        is_growing = False
        for j in features:
            is_growing |= _share_feature(boxes, j, guards, limits, disjoint=disjoint)
    if not any(one.is_changed for one in boxes):
        return list(found)
    return [
        _counted(result, [one for one in boxes if one.owner == k], X, to_cover[k])
        for k, result in enumerate(found)
    ]


def _share_feature(
    boxes: list[_Owned],
    j: int,
    guards: Sequence[Sequence[Guard]],
    limits: Box,
    *,
    disjoint: bool,
) -> bool:
    """Share out the numbers of one feature that lie between two boxes; tell whether a box grew."""
    grew = False
    for below, above in _facing(boxes, j):
        left, right = boxes[below], boxes[above]
        # One of the two may have grown since.
        if not _leave_one(left.box, right.box, j):
            continue
        higher = _with_bound(left.box, j, upper=float(left.box.upper[j]) + 1.0)
        lower = _with_bound(right.box, j, lower=float(right.box.lower[j]) - 1.0)
        grew |= any(
            _take(boxes, place, wider, guards, limits, disjoint=disjoint)
            for place, wider in ((below, higher), (above, lower))
        )
    return grew


def _facing(boxes: Sequence[_Owned], j: int) -> list[tuple[int, int]]:
    """Yield pairs of boxes with one whole number of a feature between them, that overlap in all other features."""
    if not boxes:
        return []
    lower = np.array([one.box.lower[j] for one in boxes])
    upper = np.array([one.box.upper[j] for one in boxes])
    pairs = np.argwhere(upper[:, None] + 2.0 == lower[None, :]).tolist()
    return [(a, b) for a, b in pairs if _leave_one(boxes[a].box, boxes[b].box, j)]


def _leave_one(below: Box, above: Box, j: int) -> bool:
    high, low = float(below.upper[j]), float(above.lower[j])
    whole = below.upper_closed[j] and above.lower_closed[j] and high.is_integer()
    if not whole or high + 2.0 != low or abs(high) >= 2.0**52:
        return False
    free = _with_bound(_with_bound(below, j, lower=-np.inf), j, upper=np.inf)
    other = _with_bound(_with_bound(above, j, lower=-np.inf), j, upper=np.inf)
    return not free.intersect(other).is_empty


def _with_bound(box: Box, j: int, *, lower: float | None = None, upper: float | None = None) -> Box:
    """Return a box with another closed bound of one feature."""
    lows, highs = box.lower.copy(), box.upper.copy()
    lows_closed, highs_closed = box.lower_closed.copy(), box.upper_closed.copy()
    if lower is not None:
        lows[j], lows_closed[j] = lower, True
    if upper is not None:
        highs[j], highs_closed[j] = upper, True
    return Box(lows, highs, lows_closed, highs_closed, box.sets)


def _take(
    boxes: list[_Owned],
    place: int,
    wider: Box,
    guards: Sequence[Sequence[Guard]],
    limits: Box,
    *,
    disjoint: bool,
) -> bool:
    """Let a box grow if it is still proved, and meets no other box of its class."""
    owner = boxes[place].owner
    if not is_inside_all(wider, guards[owner], limits):
        return False
    others = (one.box for k, one in enumerate(boxes) if k != place and one.owner == owner)
    if disjoint and any(not wider.intersect(other).is_empty for other in others):
        return False
    boxes[place] = _Owned(wider, owner, is_changed=True)
    return True


def _counted(
    result: ClassBoxes, boxes: Sequence[_Owned], X: FloatArray, to_cover: BoolArray
) -> ClassBoxes:
    """Count the rows of boxes that grew, and put the box with most rows to cover first again."""
    grown = [k for k, one in enumerate(boxes) if one.is_changed]
    rows: list[IntArray] = list(result.rows)
    members = Boxes.of([boxes[k].box for k in grown], X.shape[1]).members(X)
    for k, inside in zip(grown, members, strict=True):
        rows[k] = inside
    sizes = [int(np.count_nonzero(to_cover[inside])) for inside in rows]
    order = sorted(range(len(boxes)), key=lambda k: -sizes[k])
    return replace(
        result,
        boxes=tuple(boxes[k].box for k in order),
        rows=tuple(rows[k] for k in order),
        origins=tuple(result.origins[k] for k in order),
    )
