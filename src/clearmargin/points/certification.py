"""Compute the proof columns of the scorecard of a linear model.

A linear model of two classes is a sum of one term a feature, f(x) = c + sum_j t_j(x_j). In a cell of feature j its term
lies between a lowest and a highest value. Where the lowest values of the cells of a case add up to more than zero, the
second class is certain; where the highest ones do not, the first.

1. Each feature with a weight becomes a `Term`: bins between the places where it may be cut, in ascending order of what
   they add. A bin of numbers ends at its places and at the ends of the domain, whole numbers end at whole numbers, a
   category alone has no width, and neither has a missing value that the model imputes.
2. `cut_selection` chooses the cuts by which most training rows, and rows drawn around them, are decided.
3. The ranges of all cells are fractions; what rounding can do to the sum that the model computes
   (`models.margin`) is taken off the limits. Points are quotients by a unit, rounded outwards: what is printed is
   what is proved. The unit is the coarsest that loses at most one in a hundred of the rows that exact numbers prove.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.models.margin import Margin
from clearmargin.models.surface import Surface
from clearmargin.points.cut_selection import CutSearch
from clearmargin.points.scorecard import Proof, Scorecard
from clearmargin.rule_base.bins import candidate_cuts
from clearmargin.rule_base.feature_ranges import read_bounds
from clearmargin.rules import Box, Domain, FeatureSpace, Rule, RuleSet
from clearmargin.rules.interval import Interval
from clearmargin.rules.rule import as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.row_order import canonical_order
from clearmargin.tables.table import Table

# Places that a column offers; twice as many brought nothing on held-out rows.
_MOST_PLACES = 40
# What all drawn rows weigh together, as a share of the training rows: as much as these, they cost 2 points of held-out
# rows at 10 cuts.
_DRAWN_WEIGHT = 0.3
# Around a training row points are drawn with this share of each column's standard deviation.
_SPREAD = 0.5
# The share of the rows proved by exact numbers that whole points may lose.
_LOSS = 0.01
# Units are steps of ten a decade, in two digits each.
_STEPS = (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.4, 8.0)
# Points of this share of the range of the score are as good as exact numbers.
_EXACT = 1e-9
# Where exact numbers prove nothing, the range of the score has about so many points.
_FEW_POINTS = 100.0
# Beyond, a whole number less one is the same float.
_LARGEST_WHOLE = 2.0**53


def draw_rows(
    table: FloatArray, space: FeatureSpace, n_rows: int, random: Any
) -> tuple[FloatArray, IntArray]:
    """Draw rows around training rows; categories and missing values stay as they are."""
    start = random.randint(len(table), size=n_rows)
    is_number = np.array([categories is None for categories in space.categories], dtype=np.bool_)
    has_gaps = np.isnan(table).any()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns without any value
        spread = np.nanstd(table, axis=0) if has_gaps else table.std(axis=0)
    moves = random.normal(size=(n_rows, table.shape[1])) * spread * _SPREAD
    low, high = np.fmin.reduce(table), np.fmax.reduce(table)
    rows = np.clip(table[start] + moves, low, high)
    rows = np.where(space.integer, np.rint(rows), rows)
    return np.where(is_number, rows, table[start]), start


@dataclass(frozen=True, slots=True, eq=False)
class CardDomain:
    """The cases that a card speaks of: features with their ranges, which of these are declared, and what is missing."""

    space: FeatureSpace
    declared: BoolArray
    has_missing: BoolArray

    @classmethod
    def read(cls, surface: Surface, X: Table, bounds: Any) -> CardDomain:
        """Read the parameter `bounds` of `ScoreRules`, with the ranges seen in a table."""
        space = surface.space
        plain = space.with_fill(None)
        table = X.points(plain) if any(plain.categories) else plain.read(X)
        lower, upper, integer = space.lower.copy(), space.upper.copy(), space.integer.copy()
        for j, value in enumerate(space.fill):
            # A missing value is no value of the range.
            if space.categories[j] is None and value is not None:
                known = table[:, j][np.isfinite(table[:, j])]
                known = known if len(known) else np.array([float(value)])
                lower[j], upper[j] = known.min(), known.max()
                integer[j] = bool((known == np.rint(known)).all())
        integer &= np.maximum(np.abs(lower), np.abs(upper)) < _LARGEST_WHOLE
        seen = FeatureSpace(
            space.names, lower, upper, integer, space.categories, space.units, space.fill
        )
        known_space, declared = read_bounds(bounds, seen)
        box = Domain(known_space, declared[0], declared[1]).box(seen=True)
        numeric = np.array([known is None for known in space.categories], dtype=np.bool_)
        ranges = FeatureSpace(
            space.names,
            np.where(numeric, box.lower, -np.inf),
            np.where(numeric, box.upper, np.inf),
            known_space.integer,
            known_space.categories,
            space.units,
            known_space.fill,
        )
        is_declared, has_missing = declared.any(axis=0), np.isnan(table).any(axis=0)
        return cls(ranges, np.asarray(is_declared), np.asarray(has_missing))


Exact = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """What one feature adds to the score.

    `bins` are its smallest cells, in ascending order of what they add, each by its corners: the values at which it adds
    least and most. `below` and `above` are what it adds on both sides of each place between two bins, `low` and `high`
    what it adds at least and at most, `bin_of` finds the bin of values, `exact` gives what one value adds as a fraction
    and a bound on what rounding does to it.
    """

    feature: int
    bins: list[list[float]]
    below: FloatArray
    above: FloatArray
    low: float
    high: float
    score: Callable[[FloatArray], FloatArray]
    bin_of: Callable[[FloatArray], IntArray]
    exact: Callable[[float], Exact]

    @classmethod
    def of_number(cls, j: int, margin: Margin, space: FeatureSpace, values: FloatArray) -> Term:
        """Make the term of a feature of numbers, which may be cut between its values and at both ends of them."""
        low, high, whole = float(space.lower[j]), float(space.upper[j]), bool(space.integer[j])
        if not (math.isfinite(low) and math.isfinite(high)):
            raise DataError(
                f"no value of column {space.names[j]!r} is known, so that the card has no range to speak of; "
                "declare it with bounds={name: (low, high)}"
            )
        cuts = np.empty(0)
        if len(values):
            beyond = math.nextafter(float(values.max()), math.inf)
            cuts = np.array([values.min(), *candidate_cuts(values, _MOST_PLACES), beyond])
            cuts = np.ceil(cuts) if whole else cuts
            cuts = np.unique(cuts[(cuts > low) & (cuts <= high)])
        weight = margin.coef[j]
        is_rising = bool(weight >= 0)
        edges, count = [low, *cuts.tolist(), high], len(cuts)
        bins = [[edges[k], edges[k + 1] - (whole and k < count)] for k in range(count + 1)]
        before, after = weight * (cuts - whole), weight * cuts
        if not is_rising:
            bins, before, after = bins[::-1], after[::-1], before[::-1]

        def bin_of(given: FloatArray) -> IntArray:
            found = np.searchsorted(cuts, given, side="right")
            return np.asarray(found if is_rising else count - found, dtype=np.intp)

        return cls(
            j,
            bins,
            np.asarray(before),
            np.asarray(after),
            float(min(weight * low, weight * high)),
            float(max(weight * low, weight * high)),
            lambda given: np.asarray(weight * given),
            bin_of,
            lambda value: margin.exact_term(j, value),
        )

    @classmethod
    def of_categories(cls, j: int, margin: Margin, space: FeatureSpace) -> Term:
        """Make the term of a categorical feature."""

        def exact(value: float) -> Exact:
            return margin.exact_term(j, value)

        codes = [float(code) for code in range(len(space.categories[j] or ()))]
        order = sorted(codes, key=lambda code: (exact(code)[0], code))
        added = np.array([float(exact(code)[0]) for code in codes])
        ordered = added[np.array(order, dtype=np.intp)]
        steps = np.flatnonzero(np.diff(ordered) > 0)
        bins = [cell.tolist() for cell in np.split(np.array(order), steps + 1)]
        below, above = ordered[steps], ordered[steps + 1]
        return cls(
            j,
            bins,
            below,
            above,
            float(ordered[0]),
            float(ordered[-1]),
            lambda given: added[given.astype(np.intp)],
            lambda given: np.searchsorted(below, added[given.astype(np.intp)]).astype(np.intp),
            exact,
        )


@dataclass(frozen=True, slots=True, eq=False)
class CutTerm:
    """The cells of a term: the region and corners of each, and which cell holds a missing value, if one does."""

    feature: int
    boxes: list[Box]
    corners: list[list[float]]
    missing: int | None

    @classmethod
    def of(cls, term: Term, chosen: IntArray, domain: CardDomain) -> CutTerm:
        """Cut a term at some of its places."""
        j, space, n = term.feature, domain.space, len(domain.space)
        ends = [0, *(chosen + 1).tolist(), len(term.bins)]
        top = max(start for start, *_ in term.bins)
        boxes, corners = [], []
        for group in (term.bins[a:b] for a, b in pairwise(ends)):
            own = sorted(value for cell in group for value in cell)
            if space.categories[j] is not None:
                boxes.append(Box.from_intervals({}, n, {j: [int(code) for code in own]}))
                corners.append(own)
                continue
            corners.append([own[0], own[-1]])
            # A cell of numbers ends before the next one; whole numbers and the range end at their last number.
            is_closed = space.integer[j] or any(start == top for start, *_ in group)
            interval = Interval(own[0], own[-1], "both" if is_closed else "left")
            boxes.append(Box.from_intervals({j: interval}, n))
        fill = space.fill_code(j)
        missing = None
        if fill is not None:
            row = np.zeros((1, n))
            row[0, j] = fill
            place = next((k for k, box in enumerate(boxes) if box.contains(row)[0]), -1)
            if len(boxes) == 1:  # its only cell is made to hold the imputed value
                corners[0].append(fill)
                place = 0
            elif place < 0 or (domain.has_missing[j] and len(set(corners[place])) > 1):
                corners.append([fill])
                place = len(corners) - 1
            missing = place
        return cls(j, boxes, corners, missing)

    def rows(self, n: int) -> tuple[list[Box], list[int]]:
        """Give the regions of the rows of the card, and the cell of each."""
        boxes, places = [*self.boxes], [*range(len(self.boxes))]
        if self.missing is not None:
            boxes.append(Box.from_intervals({}, n, missing=[self.feature]))
            places.append(self.missing)
        return boxes, places


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """The exact ranges of all cells, from which points of any unit are made."""

    ranges: list[list[Exact]]
    constant: Exact
    ties_to_second: bool

    @classmethod
    def of(cls, terms: Sequence[Term], cut: Sequence[CutTerm], margin: Margin) -> Sheet:
        """Compute the ranges, and put all that rounding can do into the constant: a cell of no width keeps none."""
        constant, bound = margin.exact_constant()
        ranges, seen = [], {}
        for term, cells in zip(terms, cut, strict=True):
            exact = [[term.exact(value) for value in corners] for corners in cells.corners]
            ranges.append([(min(t for t, _ in own), max(t for t, _ in own)) for own in exact])
            # The bound on rounding is a convex function of a value, so that it is largest at a corner, too.
            bound += max(e for own in exact for _, e in own)
            seen[term.feature] = [value for corners in cells.corners for value in corners]
        if margin.adds_exactly(seen):
            bound = Fraction(0)
        return cls(ranges, (constant - bound, constant + bound), margin.takes_ties)

    @property
    def span(self) -> float:
        """How far apart the lowest and the highest score are."""
        widths = [max(h for _, h in cells) - min(low for low, _ in cells) for cells in self.ranges]
        return float(sum(widths, Fraction(0)))

    def points(self, unit: float) -> tuple[list[IntArray], list[IntArray], tuple[int, int]]:
        """Round all ranges outwards to points, and give the limits; the points at least of a feature begin at 0."""
        step = Fraction(unit)
        low, high = self.constant
        least, most = [], []
        for cells in self.ranges:
            if len(cells) == 1:  # what one cell alone adds goes into the limits without rounding
                low, high = low + cells[0][0], high + cells[0][1]
                least.append(np.zeros(1, dtype=np.int64))
                most.append(np.zeros(1, dtype=np.int64))
                continue
            start = min(value for value, _ in cells)
            low, high = low + start, high + start
            least.append(np.array([math.floor((a - start) / step) for a, _ in cells]))
            most.append(np.array([math.ceil((b - start) / step) for _, b in cells]))
        # Where ties belong to the second class, a sum of zero proves it, and does not prove the first.
        tie = int(self.ties_to_second)
        return least, most, (-math.ceil(high / step) - tie, 1 - math.floor(low / step) - tie)


def certify_card(
    surface: Surface,
    domain: CardDomain,
    table: FloatArray,
    *,
    max_cuts: int,
    n_generated: int,
    random: Any,
    about: str = "",
) -> tuple[Scorecard, float]:
    """Make a card with proof, and give the share of rows that whole points do not prove."""
    (margin,) = surface.margins(1)
    terms = _terms(domain.space, margin, table)
    rows, weights = _rows(table, terms, domain.space, surface.asked, n_generated, random)
    bins = [term.bin_of(rows[:, term.feature]) for term in terms]
    chosen = []
    if terms:
        # Added up one after the other, so that no processor adds in another order.
        score = np.full(len(rows), margin.constant)
        for term in terms:
            score += term.score(rows[:, term.feature])
        search = CutSearch(terms, np.stack(bins, axis=1), score > 0, weights, margin.constant)
        chosen = search.select(max_cuts)
    cut = [CutTerm.of(term, own, domain) for term, own in zip(terms, chosen, strict=True)]
    sheet = Sheet.of(terms, cut, margin)
    # Where the rows are: the cell of each, and whether it is within all ranges.
    places = [np.searchsorted(own, found) for own, found in zip(chosen, bins, strict=True)]
    inside = np.ones(len(rows), dtype=np.bool_)
    for cells, place in zip(cut, places, strict=True):
        for k, box in enumerate(cells.boxes):
            own = place == k
            inside[own] &= len(cells.corners) == 1 or box.contains(rows[own])
    unit, loss = _choose_unit(sheet, places, inside, weights)
    least, most, limits = sheet.points(unit)

    n, labels = len(domain.space), [as_label(label) for label in surface.classes]
    regions: list[tuple[int, Box, int, int]] = []
    for cells, low, high in zip(cut, least, most, strict=True):
        for box, k in zip(*cells.rows(n), strict=True):
            regions.append((cells.feature, box, int(low[k]), int(high[k])))
    for j in sorted(
        {*np.flatnonzero(domain.declared), *surface.asked} - {t.feature for t in terms}
    ):
        regions += [(j, box, 0, 0) for box in _whole_feature(j, domain.space)]
    regions.sort(key=lambda row: row[0])
    middle = {j: max(row[2] + row[3] for row in regions if row[0] == j) / 2 for j, *_ in regions}
    members = [Rule(box, labels[low + high > middle[j]]) for j, box, low, high in regions]
    proof = Proof([r[2] for r in regions], [r[3] for r in regions], limits, unit, about)
    space = domain.space.with_fill(None)
    return Scorecard.of_proof(RuleSet(members, space, labels), proof), loss


def _terms(space: FeatureSpace, margin: Margin, table: FloatArray) -> list[Term]:
    """Make the terms of all features that the score depends on."""
    terms = []
    for j in range(len(space)):
        if j in margin.tables:
            terms.append(Term.of_categories(j, margin, space))
        elif margin.coef[j] or margin.slope[j]:
            known = table[:, j][np.isfinite(table[:, j])]
            terms.append(Term.of_number(j, margin, space, known))
    return terms


def _whole_feature(j: int, space: FeatureSpace) -> list[Box]:
    """Give the rows of a feature without a weight that has to be within its range, or known, all the same."""
    n, categories = len(space), space.categories[j]
    if categories is None:
        ends = Interval(float(space.lower[j]), float(space.upper[j]), "both")
        boxes = [Box.from_intervals({j: ends}, n)]
    else:
        boxes = [Box.from_intervals({}, n, {j: range(len(categories))})]
    return boxes if space.fill[j] is None else [*boxes, Box.from_intervals({}, n, missing=[j])]


def _rows(
    table: FloatArray,
    terms: Sequence[Term],
    space: FeatureSpace,
    asked: Sequence[int],
    n_generated: int,
    random: Any,
) -> tuple[FloatArray, FloatArray]:
    """Return training rows without missing values and unknown categories, rows drawn around them, and their weights."""
    used = [term.feature for term in terms]
    named = [j for j in used if space.categories[j] is not None]
    usable = np.isfinite(table[:, [*used, *asked]]).all(axis=1)
    usable &= (table[:, named] >= 0).all(axis=1)
    # Other features have no part in the score; a number in them keeps the order of the rows well defined.
    rows = table[usable]
    rows[:, np.setdiff1d(np.arange(table.shape[1]), used)] = 0.0
    if not len(rows):
        raise DataError(
            "every row of X has a missing value that the model does not impute; a scorecard is made of rows without any"
        )
    rows = rows[canonical_order(rows, np.arange(len(rows)))]
    drawn, _ = draw_rows(rows, space, n_generated, random)
    weight = _DRAWN_WEIGHT * len(rows) / len(drawn)
    weights = np.concatenate([np.ones(len(rows)), np.full(len(drawn), weight)])
    return np.concatenate([rows, drawn]), weights


def _choose_unit(
    sheet: Sheet, places: Sequence[IntArray], inside: BoolArray, weights: FloatArray
) -> tuple[float, float]:
    """Return the coarsest unit whose points prove nearly all rows that exact numbers do, and the share they lose."""
    span = sheet.span or 1.0

    def proved(unit: float) -> float:
        least, most, (few, many) = sheet.points(unit)
        low, high = np.zeros((2, len(weights)), dtype=np.int64)
        for own_least, own_most, place in zip(least, most, places, strict=True):
            low += own_least[place]
            high += own_most[place]
        return float(weights[inside & ((low >= many) | (high <= few))].sum())

    exact = proved(_EXACT * span)
    if not exact:
        return _unit_below(span / _FEW_POINTS), 0.0
    unit = _unit_below(span)
    while unit > _EXACT * span and proved(unit) < (1.0 - _LOSS) * exact:
        unit = _unit_below(math.nextafter(unit, 0.0))
    return unit, (exact - proved(unit)) / float(weights.sum())


def _unit_below(size: float) -> float:
    """Return the largest unit that is not larger than a number."""
    decade = math.floor(math.log10(size))
    for exponent in (decade + 1, decade, decade - 1):
        for step in reversed(_STEPS):
            unit = float(f"{step}e{exponent}")
            if unit <= size:
                return unit
    raise InvalidValueError(f"there is no unit of points below {size}")
