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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from clearmargin.exceptions import DensePlaneWarning, InvalidValueError
from clearmargin.models.margin import Margin
from clearmargin.models.surface import Surface
from clearmargin.plane_rules.corners import (
    Region,
    Side,
    coverage_corner,
    point_corner,
    short_corner,
    volume_corner,
)
from clearmargin.plane_rules.polytope import extract_polytope_boxes
from clearmargin.plane_rules.proof import is_inside_all, needed_ends, prove, retreat
from clearmargin.plane_rules.search import (
    Criterion,
    Search,
    cover_with_overlap,
    extract_boxes,
    search_coverage,
)
from clearmargin.progress import advance, part
from clearmargin.rule_base.budget import (
    MinCoverage,
    RuleBudget,
    choose_rules,
    have_evidence,
    least_rows,
)
from clearmargin.rule_base.feature_ranges import checked_domain
from clearmargin.rule_base.simplify import merge_neighbours, simplify_box
from clearmargin.rule_base.training import LabelledPoints
from clearmargin.rules import Box, FeatureSpace, Rule, RuleSet, RuleStats
from clearmargin.rules.rule import Label, Proof
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.row_order import canonical_order

CRITERIA = ("volume", "coverage", "coverage-lp")


# What `RuleExtractor` and the command line do where nobody chooses.
DEFAULT_CRITERION = "volume"


# A box of a single row is that row.
_FEWEST = 2
# With more points than this, boxes are searched for on a sample of them, and then counted on all.
_MOST_POINTS = 30_000


@dataclass(frozen=True, slots=True)
class ExtractionOptions:
    """The parameters of a `RuleExtractor` that say how rules are searched."""

    criterion: str
    max_depth: int
    min_coverage: MinCoverage
    max_rules: int | None
    disjoint: bool
    max_conditions: int | None
    tighten: bool
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
            budget=extractor.max_rules,
        )

    def for_rows(self, n_rows: int) -> ExtractionOptions:
        """Limit the search where there are so many rows that thousands of boxes would be found for a page of rules."""
        many = _MANY_ROWS if self.criterion == "volume" else _MANY_ROWS_BY_COVERAGE
        if self.budget is None or self.max_rules is not None or n_rows <= many:
            return self
        return replace(self, max_rules=max(_FEWEST_FOUND, 2 * self.budget))


# From so many rows on, a page takes a search of at least so many boxes of each class: 300,000 rows gave all of theirs
# in minutes, and the boxes of a page in less than a second. A box by coverage costs several times as much.
_MANY_ROWS, _MANY_ROWS_BY_COVERAGE, _FEWEST_FOUND = 20_000, 3_000, 100
# In n dimensions the largest box on a plane has n!/n^n of a corner's volume: 4 % at 5, 0.04 % at 10.
_MANY_FEATURES = 8
# Of more, boxes cover no row at all, after a search that takes minutes.
_TOO_MANY_FEATURES = 1_000


def check_surface(surface: Surface, options: ExtractionOptions, *, distils: bool = False) -> None:
    """Raise if planes have no weights or far too many, or if a binary-only option meets a multiclass model."""
    n_features = surface.count_features()
    if not n_features:
        raise InvalidValueError(
            "the model's plane is constant: all weights are zero, so it predicts the same everywhere and there are no "
            "rules to extract; train it with less regularisation (a larger nu or C), or, if a search chose that, on "
            "features with a linear relation to the classes"
        )
    n_classes = len(surface.classes)
    if n_features > _TOO_MANY_FEATURES and not distils:
        sparse = "train a sparse plane: RuleExtractor(LPSVC(nu='cv', max_features=8))"
        if n_classes == 2:
            sparse = f"distil the plane to few features: RuleExtractor(estimator, max_features=8), or {sparse}"
        raise InvalidValueError(
            f"the plane has {n_features:,} features with a weight, and boxes cover nothing of what lies below a plane "
            f"of more than {_TOO_MANY_FEATURES:,}; {sparse}"
        )
    if n_classes > 2 and (options.max_conditions is not None or not options.disjoint):
        raise InvalidValueError(
            f"max_conditions and disjoint=False are for models of two classes, and this one has {n_classes}; "
            "leave them at their defaults"
        )


def warn_of_dense_plane(
    surface: Surface, space: FeatureSpace, data: LabelledPoints, options: ExtractionOptions
) -> None:
    """Warn of a plane with many features, before rules are searched: what they will cover, and what covers more."""
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
        "A sparser one gives fewer and better rules: LPSVC(nu='cv', max_features=8), which estimator=None trains",
        DensePlaneWarning,
        stacklevel=5,
    )


# Rows of the trial: half of them to search boxes for, half to count on.
_TRIAL = 1_000


def expected_coverage(
    surface: Surface, space: FeatureSpace, data: LabelledPoints, options: ExtractionOptions
) -> float | None:
    """Estimate which share of rows that they were not made from the rules of a plane will cover, by a small search."""
    if len(surface.classes) != 2 or len(data.points) < 4:
        return None
    columns = checked_domain(surface, space, data.points)
    rows = canonical_order(data.points, np.arange(len(data.points)), _TRIAL)
    searched, counted = rows[::2], data.points[rows[1::2]]
    quick = replace(
        options, criterion="volume", min_coverage=1, max_rules=None, disjoint=True, thorough=False
    )
    found: list[tuple[int, Box]] = []
    for k in range(2):
        (margin,) = surface.margins(k)
        points = data.points[searched[data.are_right(k)[searched]]]
        margins = margin.values(points)
        inside = margins >= 0 if margin.takes_ties else margins > 0
        pairs, *_ = _search([margin], columns, points[inside], quick)
        found += [(len(members), box) for box, members in pairs]
    found.sort(key=lambda pair: -pair[0])
    boxes = [box for _, box in found[: options.budget]]
    covered = np.zeros(len(counted), dtype=np.bool_)
    for box in boxes:
        covered |= box.contains(counted)
    return float(np.mean(covered))


@dataclass(frozen=True, slots=True)
class Trace:
    """What the extraction of one class found and cost."""

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
        """Share of all points of the class that the rules of the class cover."""
        return self.covered / self.members if self.members else float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class Extraction:
    """Rules, and what is known of them."""

    rules: RuleSet
    trace: dict[Label, Trace]
    columns: FeatureSpace
    budget: RuleBudget


def extract_rules(
    surface: Surface,
    space: FeatureSpace,
    declared: BoolArray,
    data: LabelledPoints,
    options: ExtractionOptions,
) -> Extraction:
    """Find, simplify and prove the rules of all classes."""
    columns = checked_domain(surface, space, data.points)
    # Where features can be taken to live without saying so.
    limits = Box(
        np.where(declared[0], columns.lower, -np.inf), np.where(declared[1], columns.upper, np.inf)
    )
    options = options.for_rows(len(data.points))
    found = [
        _boxes(surface, k, columns, limits, data, options) for k in range(len(surface.classes))
    ]
    to_cover = [data.are_right(k) for k in range(len(surface.classes))]
    found = share_whole_numbers(
        found,
        [surface.margins(k) for k in range(len(surface.classes))],
        columns,
        limits,
        data.points,
        to_cover,
        disjoint=options.disjoint,
    )
    found, budget = _within_budget(surface, found, data, options)
    rules, trace = _rules(surface, found, data, options)
    return Extraction(RuleSet(rules, space, surface.classes), trace, columns, budget)


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
    covered, correct = (
        np.array([len(members) for members in sets], dtype=np.intp) for sets in (rows, right)
    )
    shares = data.class_shares(len(surface.classes))
    enough = have_evidence(covered, correct, codes, shares, options.min_coverage)
    usable = np.flatnonzero(enough).tolist()
    lengths = [len(found[k].boxes[place].bounded) for k, place in (places[r] for r in usable)]
    order = choose_rules([right[r] for r in usable], codes[usable], options.budget, lengths=lengths)
    chosen = [usable[place] for place in order]
    kept = [
        result.take([places[r][1] for r in chosen if codes[r] == k])
        for k, result in enumerate(found)
    ]
    nothing = np.empty(0, dtype=np.intp)
    budget = RuleBudget(
        options.budget,
        len(data.points),
        len(chosen),
        len(np.unique(np.concatenate([nothing, *(rows[r] for r in chosen)]))),
        len(usable),
        len(np.unique(np.concatenate([nothing, *(rows[r] for r in usable)]))),
        all(result.is_complete for result in found),
    )
    return kept, budget


def _boxes(
    surface: Surface,
    k: int,
    columns: FeatureSpace,
    limits: Box,
    data: LabelledPoints,
    options: ExtractionOptions,
) -> ClassBoxes:
    """Return the boxes of a class, and the rows in them."""
    margins = surface.margins(k)
    is_inside = np.ones(len(data.points), dtype=np.bool_)
    domain = Box(columns.lower, columns.upper)
    for margin in margins:
        rows = np.flatnonzero(is_inside)
        is_inside[rows] = margin.holds(data.points[rows], domain)
    to_cover = data.are_right(k)
    search = partial(boxes_of_class, margins, columns, limits, data.points, is_inside, to_cover)
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
) -> tuple[list[Rule], dict[Label, Trace]]:
    """Turn boxes into rules and count what they cover."""
    rules: list[Rule] = []
    trace: dict[Label, Trace] = {}
    for k, result in enumerate(found):
        label, kept = surface.classes[k], len(result.boxes)
        covered = np.zeros(len(data.points), dtype=np.bool_)
        for box, rows in zip(result.boxes, result.rows, strict=True):
            # Where the model treats a missing value as a category, rules do not speak of it.
            ends = box.lower, box.upper, box.lower_closed, box.upper_closed
            region = Box(*ends, box.sets, known=surface.asked) if surface.asked else box
            stats = RuleStats(
                rows=len(data.points),
                covered=len(rows),
                correct=int(np.count_nonzero(data.true[rows] == k)),
                agreed=int(np.count_nonzero(data.predicted[rows] == k)),
            )
            rules.append(Rule(region, label, origin="extracted", proof=options.proof, stats=stats))
            covered[rows] = True
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
    return rules, trace


@dataclass(frozen=True, slots=True)
class ClassBoxes:
    """The boxes of a class, with the rows in them, and what finding them cost."""

    boxes: tuple[Box, ...]
    rows: tuple[IntArray, ...]
    n_to_cover: int
    problems: int
    found: int
    unlimited: tuple[int, ...] | None
    seconds: float
    is_complete: bool = True

    def take(self, kept: Sequence[int]) -> ClassBoxes:
        """Keep some boxes."""
        return replace(
            self,
            boxes=tuple(self.boxes[r] for r in kept),
            rows=tuple(self.rows[r] for r in kept),
        )


def boxes_of_class(
    margins: Sequence[Margin],
    columns: FeatureSpace,
    limits: Box,
    X: FloatArray,
    is_inside: BoolArray,
    to_cover: BoolArray,
    options: ExtractionOptions,
) -> ClassBoxes:
    """Find, simplify and prove the boxes of one class."""
    start = time.perf_counter()
    least = _number(options.min_coverage)
    coverable = np.flatnonzero(is_inside & to_cover)
    step = max(1, -(-len(coverable) // _MOST_POINTS))
    sample = X[canonical_order(X, coverable, -(-len(coverable) // step))]
    # With short rules there is a second search, for what they cost.
    searches = 1 if options.max_conditions is None else 2
    fewest = -(-least // step)
    scaled = replace(options, min_coverage=fewest)
    with part(1 / searches):
        pairs, problems, is_complete = _search(margins, columns, sample, scaled)
    found = len(pairs)
    kept = [(box, points) for box, points in pairs if len(points) >= fewest]
    kept.sort(key=lambda pair: -len(pair[1]))
    kept = kept[: options.max_rules]
    needed = needed_ends(margins, columns, limits)
    simple = [simplify_box(box, columns, sample[points], needed) for box, points in kept]
    if options.disjoint:
        simple = merge_neighbours(simple, columns)
    # Rounding must not change what the model predicts in a box; most are as they should be.
    sound = [
        box
        if is_inside_all(box, margins, limits)
        else retreat(box, margins, limits, columns, sample[box.contains(sample)])
        for box in simple
    ]
    simple = [box for box in sound if box is not None]
    prove(simple, margins, limits, disjoint=options.disjoint)
    rows = np.flatnonzero(is_inside)
    points = np.asfortranarray(X[rows])  # boxes ask for single features of all rows
    inside = [rows[box.contains(points)] for box in simple]
    sizes = [int(np.count_nonzero(to_cover[group])) for group in inside]
    order = [k for k in range(len(simple)) if sizes[k] >= least]
    order.sort(key=lambda k: -sizes[k])
    return ClassBoxes(
        tuple(simple[k] for k in order),
        tuple(inside[k] for k in order),
        # Points on the plane, or within rounding of it, are to be covered as well, although no proof can.
        int(np.count_nonzero(to_cover)),
        problems,
        found,
        _covered_without_limit(margins, columns, sample, scaled, step),
        time.perf_counter() - start,
        is_complete and step == 1,
    )


def _covered_without_limit(
    margins: Sequence[Margin],
    columns: FeatureSpace,
    X: FloatArray,
    options: ExtractionOptions,
    step: int,
) -> tuple[int, ...] | None:
    """Return how many points each rule would cover if rules had any length: what a limit on their length costs."""
    if options.max_conditions is None:
        return None
    with part(0.5, counts=False):
        pairs, *_ = _search(margins, columns, X, replace(options, max_conditions=None))
    sizes = sorted((len(points) for _, points in pairs), reverse=True)[: options.max_rules]
    return tuple(step * size for size in sizes if size >= _number(options.min_coverage))


def _search(
    margins: Sequence[Margin], columns: FeatureSpace, X: FloatArray, options: ExtractionOptions
) -> tuple[list[tuple[Box, IntArray]], int, bool]:
    """Return boxes with their points, how many corners were computed, and whether the search came to its end."""
    if not len(X):
        advance()
        return [], 0, True
    sides = [Side.of(margin) for margin in margins]
    if len(sides) > 1:
        pairs, problems = extract_polytope_boxes(
            sides,
            columns,
            X,
            max_depth=options.max_depth,
            min_coverage=_number(options.min_coverage),
            max_rules=options.max_rules,
        )
        return pairs, problems, options.max_rules is None
    (side,) = sides
    domain = side.region(Box(columns.lower, columns.upper))
    search = _search_side(side, domain, side.orient(X), options)
    pairs = [(side.box(box), points) for box, points in search.boxes]
    return pairs, search.problems, search.is_complete


def _number(min_coverage: MinCoverage) -> int:
    assert min_coverage != "auto"  # a search of one class has its number
    return min_coverage


def _search_side(side: Side, domain: Region, Z: FloatArray, options: ExtractionOptions) -> Search:
    corners = {"volume": volume_corner, "coverage": coverage_corner, "coverage-lp": point_corner}
    criterion: Criterion = corners[options.criterion]
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
        in_order=not options.tighten,
    )


def share_whole_numbers(
    found: Sequence[ClassBoxes],
    margins: Sequence[Sequence[Margin]],
    columns: FeatureSpace,
    limits: Box,
    X: FloatArray,
    to_cover: Sequence[BoolArray],
    *,
    disjoint: bool,
) -> list[ClassBoxes]:
    """Let boxes grow by single whole numbers that lie between two of them."""
    boxes = [box for result in found for box in result.boxes]
    owners = [k for k, result in enumerate(found) for _ in result.boxes]
    grown: set[int] = set()

    def leave_one(below: Box, above: Box, j: int) -> bool:
        """Tell whether one whole number of a feature lies between two boxes that overlap in all others."""
        high = float(below.upper[j])
        if not (below.upper_closed[j] and above.lower_closed[j] and high.is_integer()):
            return False
        if high + 2.0 != float(above.lower[j]) or abs(high) >= 2.0**52:
            return False
        free, other = (_with_bounds(box, j, -np.inf, np.inf) for box in (below, above))
        return not free.intersect(other).is_empty

    def takes(place: int, wider: Box) -> bool:
        """Let a box grow if it is still proved, and meets no other box of its class."""
        owner = owners[place]
        others = (boxes[k] for k, o in enumerate(owners) if k != place and o == owner)
        if not is_inside_all(wider, margins[owner], limits) or (
            disjoint and any(not wider.intersect(other).is_empty for other in others)
        ):
            return False
        boxes[place] = wider
        grown.add(place)
        return True

    # A box that grew along one feature can face others along the next one. No box outgrows the others, so it ends.
    is_growing = bool(boxes)
    while is_growing:
        is_growing = False
        for j in np.flatnonzero(columns.integer).tolist():
            lower, upper = (
                np.array([getattr(box, end)[j] for box in boxes]) for end in ("lower", "upper")
            )
            for a, b in np.argwhere(upper[:, None] + 2.0 == lower).tolist():
                below, above = boxes[a], boxes[b]  # one of the two may have grown since
                if leave_one(below, above, j):
                    is_growing |= takes(
                        a, _with_bounds(below, j, upper=float(below.upper[j]) + 1.0)
                    ) or takes(b, _with_bounds(above, j, lower=float(above.lower[j]) - 1.0))
    if not grown:
        return list(found)
    # Count the rows of boxes that grew, and put the box with most rows to cover first again.
    changed = sorted(grown)
    rows = [inside for result in found for inside in result.rows]
    for place in changed:
        rows[place] = np.flatnonzero(boxes[place].contains(X))
    shared = []
    for k, result in enumerate(found):
        own = [place for place, owner in enumerate(owners) if owner == k]
        own.sort(key=lambda place: -int(np.count_nonzero(to_cover[owners[place]][rows[place]])))
        shared.append(
            replace(result, boxes=tuple(boxes[p] for p in own), rows=tuple(rows[p] for p in own))
        )
    return shared


def _with_bounds(box: Box, j: int, lower: float | None = None, upper: float | None = None) -> Box:
    """Return a box with other closed bounds of one feature."""
    lows, highs = box.lower.copy(), box.upper.copy()
    lows_closed, highs_closed = box.lower_closed.copy(), box.upper_closed.copy()
    if lower is not None:
        lows[j], lows_closed[j] = lower, True
    if upper is not None:
        highs[j], highs_closed[j] = upper, True
    return Box(lows, highs, lows_closed, highs_closed, box.sets)
