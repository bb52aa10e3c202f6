"""Compute a card with proof from the plane of a linear machine.

1. Each feature with a weight becomes a `_Term`: the places where it may be cut, and the exact range of what it adds to
   the score in a cell. A cell of numbers ends at its cuts and at the ends of the domain, whole numbers end at whole
   numbers, a category alone has no width, and neither has a missing value that the machine imputes. What rounding can
   do to the sum that the machine computes (`models.score_error`) is taken off the thresholds.
2. `cut_selection` chooses the cuts by which most training rows, and rows drawn around them, are decided.
3. All ranges are fractions, and points are their quotients by a unit, rounded outwards. The unit is the coarsest that
   loses at most one in a hundred of the rows that exact numbers prove.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.models.score_error import ScoreError, direct_error
from clearmargin.models.surface import Surface
from clearmargin.points.certified_card import CertifiedFeature, CertifiedScorecard
from clearmargin.points.cut_selection import CutSearch
from clearmargin.rule_base.bins import candidate_cuts
from clearmargin.rule_base.feature_ranges import read_bounds
from clearmargin.rules import Domain, FeatureSpace
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
    """The cases that a card speaks of."""

    space: FeatureSpace
    declared: BoolArray
    has_missing: BoolArray

    @classmethod
    def read(cls, surface: Surface, X: Any, bounds: Any) -> CardDomain:
        """Read the parameter `bounds` of `ScoreRules`, with the ranges seen in a table."""
        plain = surface.space.with_fill(None)
        table = Table.read(X).points(plain) if any(plain.categories) else plain.read(X)
        seen = _seen_space(surface.space, table)
        space, declared = read_bounds(bounds, seen)
        box = Domain(space, declared[0], declared[1]).box(seen=True)
        numeric = np.array([known is None for known in space.categories], dtype=np.bool_)
        ranges = FeatureSpace(
            space.names,
            np.where(numeric, box.lower, -np.inf),
            np.where(numeric, box.upper, np.inf),
            space.integer,
            space.categories,
            space.units,
            space.fill,
        )
        is_declared, has_missing = declared.any(axis=0), np.isnan(table).any(axis=0)
        return cls(ranges, np.asarray(is_declared), np.asarray(has_missing))


def _seen_space(space: FeatureSpace, table: FloatArray) -> FeatureSpace:
    """Return the features with the ranges of known values alone: a missing value is no value of its range."""
    lower, upper, integer = space.lower.copy(), space.upper.copy(), space.integer.copy()
    for j, value in enumerate(space.fill):
        if space.categories[j] is not None:
            continue
        known = table[:, j][np.isfinite(table[:, j])]
        if value is not None:
            known = known if len(known) else np.array([float(value)])
            lower[j], upper[j] = known.min(), known.max()
            integer[j] = bool((known == np.rint(known)).all())
    whole = np.maximum(np.abs(lower), np.abs(upper)) < _LARGEST_WHOLE
    return FeatureSpace(
        space.names, lower, upper, integer & whole, space.categories, space.units, space.fill
    )


Range = tuple[Fraction, Fraction]


class _NumberTerm:
    """What a feature of numbers adds to the score; its cells end at cuts, at whole numbers where it takes only these.

    `below` and `above` are what it adds on both sides of each place where it may be cut, `low` and `high` the ends.
    """

    def __init__(
        self, feature: int, column: int, error: ScoreError, space: FeatureSpace, values: FloatArray
    ):
        self.feature, self._column, self._error, self._space = feature, column, error, space
        low, high = float(space.lower[feature]), float(space.upper[feature])
        if not (math.isfinite(low) and math.isfinite(high)):
            raise DataError(
                f"no value of column {space.names[feature]!r} is known, so that the card has no range to speak of; "
                "declare it with bounds={name: (low, high)}"
            )
        self._is_whole = bool(space.integer[feature])
        self._cuts = self._places(values, low, high)
        self._is_rising = bool(error.coef[column] >= 0)
        ends = self.score(np.array([low, high]))
        self.low, self.high = float(ends.min()), float(ends.max())
        before, after = self.score(self._cuts - self._is_whole), self.score(self._cuts)
        self.below, self.above = (before, after) if self._is_rising else (after[::-1], before[::-1])

    def _places(self, values: FloatArray, low: float, high: float) -> FloatArray:
        """Return where the feature may be cut: between its values, and at both ends of them."""
        if not len(values):
            return np.empty(0)
        cuts = candidate_cuts(values, _MOST_PLACES)
        beyond = math.nextafter(float(values.max()), math.inf)
        places = np.array([float(values.min()), *cuts, beyond])
        places = np.ceil(places) if self._is_whole else places
        return np.unique(places[(places > low) & (places <= high)])

    def score(self, values: FloatArray) -> FloatArray:
        """Return what each value adds to the score, in floating point."""
        return np.asarray(self._error.coef[self._column] * values)

    def positions(self, values: FloatArray) -> IntArray:
        """Return for each value the number of places below its term."""
        found = np.searchsorted(self._cuts, values, side="right")
        return np.asarray(found if self._is_rising else len(self._cuts) - found, dtype=np.intp)

    def exact(self, value: float) -> tuple[Fraction, Fraction]:
        """Return exactly what one value adds, and a bound on what rounding does to it in the machine."""
        return self._error.exact_term(self._column, value)

    def shell(self, chosen: IntArray) -> dict[str, Any]:
        """Return the cuts or sets of a `CertifiedFeature` for some of the places."""
        at = chosen if self._is_rising else len(self._cuts) - 1 - chosen[::-1]
        return {"cuts": self._cuts[at]}

    def corners(self, shell: dict[str, Any]) -> list[list[float]]:
        """Return for each cell the values at which what it adds is lowest or highest."""
        zeros = np.zeros(len(shell["cuts"]) + 1)
        cells = CertifiedFeature(self.feature, zeros, zeros, **shell).ends(self._space)
        return [[low, high] for low, high, _ in cells]

    def column_values(self, corners: list[list[float]]) -> list[list[float]]:
        """Return the values that each encoded column with a weight has at the corners of all cells."""
        return [sorted({value for cell in corners for value in cell})]


class _CategoryTerm:
    """What a categorical feature adds to the score; its cells are sets of categories with neighbouring terms."""

    def __init__(
        self,
        feature: int,
        columns: list[int],
        codes: list[int],
        error: ScoreError,
        space: FeatureSpace,
    ):
        self.feature, self._columns, self._codes, self._error = feature, columns, codes, error
        n_categories = len(space.categories[feature] or ())
        exact = [self.exact(float(code))[0] for code in range(n_categories)]
        self._order = sorted(range(n_categories), key=lambda code: (exact[code], code))
        self._worth = np.array([float(value) for value in exact])
        ordered = self._worth[self._order]
        self._steps = np.flatnonzero(np.diff(ordered) > 0)
        self.below, self.above = ordered[self._steps], ordered[self._steps + 1]
        self.low, self.high = float(ordered[0]), float(ordered[-1])

    def score(self, values: FloatArray) -> FloatArray:
        """Return what each value adds to the score, in floating point."""
        return self._worth[values.astype(np.intp)]

    def positions(self, values: FloatArray) -> IntArray:
        """Return for each value the number of places below its term."""
        return np.searchsorted(self.below, self.score(values), side="left").astype(np.intp)

    def exact(self, value: float) -> tuple[Fraction, Fraction]:
        """Return exactly what one value adds, and a bound on what rounding does to it in the machine."""
        parts = [
            self._error.exact_term(k, float(code == value))
            for k, code in zip(self._columns, self._codes, strict=True)
        ]
        terms, errors = zip(*parts, strict=True)
        return sum(terms, Fraction(0)), sum(errors, Fraction(0))

    def shell(self, chosen: IntArray) -> dict[str, Any]:
        """Return the cuts or sets of a `CertifiedFeature` for some of the places."""
        sets = np.split(np.array(self._order), self._steps[chosen] + 1)
        return {"sets": [sorted(cell.tolist()) for cell in sets]}

    def corners(self, shell: dict[str, Any]) -> list[list[float]]:
        """Return for each cell the values at which what it adds is lowest or highest."""
        return [[float(code) for code in cell] for cell in shell["sets"]]

    def column_values(self, corners: list[list[float]]) -> list[list[float]]:
        """Return the values that each encoded column with a weight has at the corners of all cells."""
        weights = self._error.coef[self._columns]
        return [[0.0, 1.0] for weight in weights if weight]


_Term = _NumberTerm | _CategoryTerm


def _terms(
    surface: Surface, domain: CardDomain, error: ScoreError, table: FloatArray
) -> list[_Term]:
    """Make the terms of all features that the score depends on."""
    columns: dict[int, list[int]] = {}
    for k, source in enumerate(surface.sources):
        columns.setdefault(source.feature, []).append(k)
    terms: list[_Term] = []
    for j, places in sorted(columns.items()):
        if not (error.coef[places].any() or error.slope[places].any()):
            continue
        codes = [surface.sources[k].code for k in places]
        if codes[0] is None:
            known = table[:, j][np.isfinite(table[:, j])]
            terms.append(_NumberTerm(j, places[0], error, domain.space, known))
        else:
            named = [code for code in codes if code is not None]
            terms.append(_CategoryTerm(j, places, named, error, domain.space))
    return terms


@dataclass(frozen=True, slots=True, eq=False)
class _CutTerm:
    """The cells of a term: a feature of the card without points, and where each cell adds least or most."""

    term: _Term
    part: CertifiedFeature
    corners: list[list[float]]

    @classmethod
    def of(cls, term: _Term, chosen: IntArray, domain: CardDomain) -> _CutTerm:
        """Cut a term at some of its places."""
        shell = term.shell(chosen)
        corners = term.corners(shell)
        missing = _place_missing(term.feature, shell, corners, domain)
        zeros = np.zeros(len(corners))
        part = CertifiedFeature(term.feature, zeros, zeros, **shell, missing=missing)
        return cls(term, part, corners)

    def ranges(self) -> tuple[list[Range], Fraction]:
        """Return exactly what each cell adds to the score at least and at most, and what rounding does to it."""
        found, error = [], Fraction(0)
        for cell in self.corners:
            terms, errors = zip(*(self.term.exact(value) for value in cell), strict=True)
            found.append((min(terms), max(terms)))
            # The bound on rounding is a convex function of a value, so that it is largest at a corner, too.
            error = max(error, *errors)
        return found, error


def _place_missing(
    j: int, shell: dict[str, Any], corners: list[list[float]], domain: CardDomain
) -> int | None:
    """Find the cell of a missing value; add one where such values were seen, or no cell holds the imputed value."""
    fill = domain.space.fill_code(j)
    if fill is None:
        return None
    if (
        len(corners) == 1
    ):  # a feature without lines: its only cell is made to hold the imputed value
        corners[0].append(fill)
        return 0
    zeros = np.zeros(len(corners))
    place = int(CertifiedFeature(j, zeros, zeros, **shell).place(np.array([fill]), domain.space)[0])
    if place < 0 or (domain.has_missing[j] and len(set(corners[place])) > 1):
        corners.append([fill])
        return len(corners) - 1
    return place


@dataclass(frozen=True, slots=True, eq=False)
class _Sheet:
    """The exact ranges of all cells, from which points of any unit are made."""

    parts: list[CertifiedFeature]
    ranges: list[list[Range]]
    constant: Range
    ties_to_second: bool

    @classmethod
    def of(
        cls, cut_terms: Sequence[_CutTerm], error: ScoreError, *, ties_to_second: bool
    ) -> _Sheet:
        """Compute the ranges, and put all that rounding can do into the constant: a cell of no width keeps none."""
        values = [column for cut in cut_terms for column in cut.term.column_values(cut.corners)]
        constant, bound = error.exact_constant()
        ranges = []
        for cut in cut_terms:
            cells, lost = cut.ranges()
            ranges.append(cells)
            bound += lost
        if error.adds_exactly(values):
            bound = Fraction(0)
        parts = [cut.part for cut in cut_terms]
        return cls(parts, ranges, (constant - bound, constant + bound), ties_to_second)

    @property
    def span(self) -> float:
        """How far apart the lowest and the highest score are."""
        widths = [max(h for _, h in cells) - min(low for low, _ in cells) for cells in self.ranges]
        return float(sum(widths, Fraction(0)))

    def points(self, unit: float) -> tuple[list[CertifiedFeature], tuple[int, int]]:
        """Round all ranges outwards to points, and give the thresholds; the points at least of a feature begin at 0."""
        step = Fraction(unit)
        low, high = self.constant
        parts = []
        for part, cells in zip(self.parts, self.ranges, strict=True):
            least, most = [0], [0]
            if part.has_lines:
                start = min(value for value, _ in cells)
                low, high = low + start, high + start
                least = [math.floor((value - start) / step) for value, _ in cells]
                most = [math.ceil((value - start) / step) for _, value in cells]
            else:
                low, high = low + cells[0][0], high + cells[0][1]
            parts.append(
                CertifiedFeature(part.feature, least, most, part.cuts, part.sets, part.missing)
            )
        # Where ties belong to the second class, a sum of zero proves it, and does not prove the first.
        tie = int(self.ties_to_second)
        return parts, (-math.ceil(high / step) - tie, 1 - math.floor(low / step) - tie)


def certify_card(
    surface: Surface,
    domain: CardDomain,
    table: FloatArray,
    *,
    max_cuts: int,
    n_generated: int,
    random: Any,
    about: str = "",
) -> tuple[CertifiedScorecard, float]:
    """Make a card with proof."""
    (duel,) = surface.planes
    error = surface.errors[0] if surface.errors else direct_error(duel.plane)
    error = error if duel.positive == 1 else error.negative()
    terms = _terms(surface, domain, error, table)
    rows, weights = _rows(table, terms, domain, surface.asked, n_generated, random)
    cut_terms = _cut(terms, domain, rows, weights, error.constant, max_cuts)
    sheet = _Sheet.of(cut_terms, error, ties_to_second=duel.positive == 0)
    unit, loss = _choose_unit(sheet, domain.space, rows, weights)
    parts, thresholds = sheet.points(unit)
    others = _without_weight(domain, terms, surface.asked)
    used = sorted([*parts, *others], key=lambda part: part.feature)
    card = CertifiedScorecard(used, thresholds, domain.space, surface.classes, unit, about)
    return card, loss


def _rows(
    table: FloatArray,
    terms: Sequence[_Term],
    domain: CardDomain,
    asked: Sequence[int],
    n_generated: int,
    random: Any,
) -> tuple[FloatArray, FloatArray]:
    """Return training rows without missing values and unknown categories, rows drawn around them, and their weights."""
    used = [term.feature for term in terms]
    named = [j for j in used if domain.space.categories[j] is not None]
    known = [*used, *asked]
    usable = np.isfinite(table[:, known]).all(axis=1) & (table[:, named] >= 0).all(axis=1)
    # Other features have no part in the score; a number in them keeps the order of the rows well defined.
    others = np.setdiff1d(np.arange(table.shape[1]), used)
    rows = table[usable]
    rows[:, others] = 0.0
    if not len(rows):
        raise DataError(
            "every row of X has a missing value that the model does not impute; a scorecard is made of rows without any"
        )
    rows = rows[canonical_order(rows, np.arange(len(rows)))]
    drawn, _ = draw_rows(rows, domain.space, n_generated, random)
    weight = _DRAWN_WEIGHT * len(rows) / len(drawn)
    weights = np.concatenate([np.ones(len(rows)), np.full(len(drawn), weight)])
    return np.concatenate([rows, drawn]), weights


def _cut(
    terms: Sequence[_Term],
    domain: CardDomain,
    rows: FloatArray,
    weights: FloatArray,
    constant: float,
    max_cuts: int,
) -> list[_CutTerm]:
    """Choose the cuts of all terms."""
    if not terms:
        return []
    places = np.stack([term.positions(rows[:, term.feature]) for term in terms], axis=1)
    # Added up one after the other, so that no processor adds in another order.
    score = np.full(len(rows), constant)
    for term in terms:
        score += term.score(rows[:, term.feature])
    chosen = CutSearch(terms, places, score > 0, weights, constant).select(max_cuts)
    return [_CutTerm.of(term, cuts, domain) for term, cuts in zip(terms, chosen, strict=True)]


def _without_weight(
    domain: CardDomain, terms: Sequence[_Term], asked: Sequence[int]
) -> list[CertifiedFeature]:
    """Return the features without a weight that count all the same, in a single cell."""
    used = {term.feature for term in terms}
    found = []
    for j in sorted({*np.flatnonzero(domain.declared).tolist(), *asked} - used):
        categories = domain.space.categories[j]
        whole: dict[str, Any] = (
            {"cuts": []} if categories is None else {"sets": [range(len(categories))]}
        )
        missing = None if domain.space.fill[j] is None else 0
        found.append(CertifiedFeature(j, [0], [0], **whole, missing=missing))
    return found


def _choose_unit(
    sheet: _Sheet, space: FeatureSpace, rows: FloatArray, weights: FloatArray
) -> tuple[float, float]:
    """Return the coarsest unit whose points prove nearly all rows that exact numbers do, and the share they lose."""
    span = sheet.span or 1.0
    lines = [k for k, part in enumerate(sheet.parts) if part.has_lines]
    places = [sheet.parts[k].place(rows[:, sheet.parts[k].feature], space) for k in lines]
    # A row beyond the range is proved in no unit.
    inside = (
        np.all([place >= 0 for place in places], axis=0) if places else np.ones(len(rows), bool)
    )

    def proved(unit: float) -> float:
        parts, (few, many) = sheet.points(unit)
        low, high = np.zeros((2, len(rows)), dtype=np.intp)
        for k, place in zip(lines, places, strict=True):
            low += parts[k].at_least[place]
            high += parts[k].at_most[place]
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
