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
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.models.score_error import ScoreError, direct_error
from clearmargin.models.surface import Surface
from clearmargin.rule_base.cuts import candidate_cuts
from clearmargin.rule_base.feature_ranges import read_bounds, read_relations
from clearmargin.rules import Domain, FeatureSpace, Polyhedron
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.scorecards.certified_card import CertifiedFeature, CertifiedScorecard
from clearmargin.scorecards.cut_selection import CutGrid, select_cuts
from clearmargin.tables.row_order import canonical_order
from clearmargin.tables.table import Table

__all__ = ["CardDomain", "certify_card", "draw_rows"]

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
    """Draw rows around training rows; categories stay as they are.

    Parameters
    ----------
    table : ndarray of shape (m, n)
        Training rows: numbers and codes of categories.
    space : FeatureSpace
        The features.
    n_rows : int
        How many rows to draw.
    random : RandomState
        Where they come from.

    Returns
    -------
    rows : ndarray of shape (n_rows, n)
        Within the ranges of the training rows, whole where the feature is.
    start : ndarray of int of shape (n_rows,)
        The training row that each one was drawn around.

    Examples
    --------
    >>> from sklearn.utils import check_random_state
    >>> table = np.array([[1.0, 0.0], [5.0, 1.0]])
    >>> space = FeatureSpace(["age", "job"], integer=[True, False], categories=[None, ["a", "b"]])
    >>> rows, start = draw_rows(table, space, 3, check_random_state(0))
    >>> bool((rows[:, 1] == table[start, 1]).all())
    True
    """
    start = random.randint(len(table), size=n_rows)
    is_number = np.array([categories is None for categories in space.categories], dtype=np.bool_)
    moves = random.normal(size=(n_rows, table.shape[1])) * table.std(axis=0) * _SPREAD
    rows = np.clip(table[start] + moves, table.min(axis=0), table.max(axis=0))
    rows = np.where(space.integer, np.rint(rows), rows)
    return np.where(is_number, rows, table[start]), start


@dataclass(frozen=True, slots=True, eq=False)
class CardDomain:
    """The cases that a card speaks of.

    Parameters
    ----------
    space : FeatureSpace
        The features of the machine, with the ranges to use; what it imputes is their `fill`.
    declared : ndarray of bool of shape (n,)
        Which features have a declared range, so that it counts even where the machine has no weight.
    relations : Polyhedron or None
        What every case satisfies, also that one column of a declared group is 1.
    has_missing : ndarray of bool of shape (n,)
        Which features lack values in the training rows.
    """

    space: FeatureSpace
    declared: BoolArray
    relations: Polyhedron | None
    has_missing: BoolArray

    @classmethod
    def read(cls, surface: Surface, X: Any, bounds: Any) -> CardDomain:
        """Read the parameter `bounds` of `ScoreRules`, with the ranges seen in a table.

        Parameters
        ----------
        surface : Surface
            The plane.
        X : data frame or array-like of shape (m, n)
            The training table.
        bounds : Any
            As for `read_bounds`.
        """
        plain = surface.space.with_fill(None)
        table = Table.read(X).points(plain) if any(plain.categories) else plain.read(X)
        seen = _seen_space(surface.space, table)
        space, declared = read_bounds(bounds, seen)
        relations = _with_groups(read_relations(bounds, seen), bounds, seen)
        box = Domain(space, declared[0], declared[1], relations=relations).box(seen=True)
        if box.is_empty:
            raise DataError(
                "no case satisfies the relations within the ranges of the table; correct the relations, or declare "
                "wider ranges"
            )
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
        return cls(ranges, np.asarray(is_declared), relations, np.asarray(has_missing))


def _with_groups(
    relations: Polyhedron | None, bounds: Any, space: FeatureSpace
) -> Polyhedron | None:
    """Add to relations that exactly one of the 0/1 columns of each declared group is 1."""
    groups = bounds.groups if isinstance(bounds, Domain) else ()
    if not groups:
        return relations
    sums = np.zeros((len(groups), len(space)))
    for row, group in zip(sums, groups, strict=True):
        row[[space.index(bounds.space.names[k]) for k in group.columns]] = 1.0
    A, b = np.concatenate([sums, -sums]), np.repeat([1.0, -1.0], len(groups))
    strict = np.zeros(len(b), dtype=np.bool_)
    if relations is not None:
        A, b = np.concatenate([relations.A, A]), np.concatenate([relations.b, b])
        strict = np.concatenate([relations.strict, strict])
    return Polyhedron(A, b, strict)


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


class _Term(ABC):
    """What one feature adds to the score, and where it may be cut.

    `below` and `above` are the terms on both sides of each place, in ascending order, between `low` and `high`.
    """

    feature: int
    below: FloatArray
    above: FloatArray
    low: float
    high: float

    @abstractmethod
    def score(self, values: FloatArray) -> FloatArray:
        """Return what each value adds to the score, in floating point."""

    @abstractmethod
    def positions(self, values: FloatArray) -> IntArray:
        """Return for each value the number of places below its term."""

    @abstractmethod
    def exact(self, value: float) -> tuple[Fraction, Fraction]:
        """Return exactly what one value adds to the score, and a bound on what rounding does to it in the machine."""

    @abstractmethod
    def shell(self, chosen: IntArray) -> dict[str, Any]:
        """Return the cuts or sets of a `CertifiedFeature` for some of the places."""

    @abstractmethod
    def corners(self, shell: dict[str, Any]) -> list[list[float]]:
        """Return for each cell the values at which what it adds is lowest or highest."""

    @abstractmethod
    def column_values(self, corners: list[list[float]]) -> list[list[float]]:
        """Return the values that each encoded column with a weight has at the corners of all cells."""


class _NumberTerm(_Term):
    """A feature of numbers; its cells end at cuts, at whole numbers where it takes only these."""

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
        return np.asarray(
            self._error.coef[self._column] * (values - self._error.centre[self._column])
        )

    def positions(self, values: FloatArray) -> IntArray:
        found = np.searchsorted(self._cuts, values, side="right")
        return np.asarray(found if self._is_rising else len(self._cuts) - found, dtype=np.intp)

    def exact(self, value: float) -> tuple[Fraction, Fraction]:
        return self._error.exact_term(self._column, value)

    def shell(self, chosen: IntArray) -> dict[str, Any]:
        at = chosen if self._is_rising else len(self._cuts) - 1 - chosen[::-1]
        return {"cuts": self._cuts[at]}

    def corners(self, shell: dict[str, Any]) -> list[list[float]]:
        zeros = np.zeros(len(shell["cuts"]) + 1)
        cells = CertifiedFeature(self.feature, zeros, zeros, **shell).ends(self._space)
        return [[low, high] for low, high, _ in cells]

    def column_values(self, corners: list[list[float]]) -> list[list[float]]:
        return [sorted({value for cell in corners for value in cell})]


class _CategoryTerm(_Term):
    """A categorical feature; its cells are sets of categories with neighbouring terms."""

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
        return self._worth[values.astype(np.intp)]

    def positions(self, values: FloatArray) -> IntArray:
        return np.searchsorted(self.below, self.score(values), side="left").astype(np.intp)

    def exact(self, value: float) -> tuple[Fraction, Fraction]:
        parts = [
            self._error.exact_term(k, float(code == value))
            for k, code in zip(self._columns, self._codes, strict=True)
        ]
        terms, errors = zip(*parts, strict=True)
        return sum(terms, Fraction(0)), sum(errors, Fraction(0))

    def shell(self, chosen: IntArray) -> dict[str, Any]:
        sets = np.split(np.array(self._order), self._steps[chosen] + 1)
        return {"sets": [sorted(cell.tolist()) for cell in sets]}

    def corners(self, shell: dict[str, Any]) -> list[list[float]]:
        return [[float(code) for code in cell] for cell in shell["sets"]]

    def column_values(self, corners: list[list[float]]) -> list[list[float]]:
        weights = self._error.coef[self._columns]
        return [[0.0, 1.0] for weight in weights if weight]


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
    """The cells of a term: as a feature of the card without points, and where what each cell adds is lowest or highest.

    A missing value that the machine imputes is the last cell where it has one of its own.
    """

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
    """Make a card with proof.

    Parameters
    ----------
    surface : Surface
        The plane of a linear machine of two classes.
    domain : CardDomain
        The cases that the card speaks of.
    table : ndarray of shape (m, n)
        Training rows as `Surface.read` gives them.
    max_cuts : int
        Maximum number of cuts.
    n_generated : int
        How many rows are drawn around the training rows.
    random : RandomState
        Where drawn rows come from.
    about : str, default ""
        What the card says first.

    Returns
    -------
    card : CertifiedScorecard
        The card. Rows decide how much it proves, not whether that is right.
    rounding_loss : float
        The share of the rows, drawn ones included, that whole points do not prove and exact numbers would.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> from sklearn.utils import check_random_state
    >>> from clearmargin.models.surface import read_surface
    >>> X = np.arange(20.0)[:, None]
    >>> surface = read_surface(LinearSVC().fit(X, X[:, 0] > 9), X)
    >>> domain = CardDomain.read(surface, X, "data")
    >>> card, _ = certify_card(surface, domain, X, max_cuts=2, n_generated=10, random=check_random_state(0))
    >>> card.prove([[2.0], [15.0], [-5.0]]).tolist()
    [False, True, None]
    """
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
    card = CertifiedScorecard(
        used, thresholds, domain.space, surface.classes, domain.relations, unit, about
    )
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
    grid = CutGrid.of(
        [term.below for term in terms],
        [term.above for term in terms],
        [term.low for term in terms],
        [term.high for term in terms],
    )
    places = np.stack([term.positions(rows[:, term.feature]) for term in terms], axis=1)
    # Added up one after the other, so that no processor adds in another order.
    score = np.full(len(rows), constant)
    for term in terms:
        score += term.score(rows[:, term.feature])
    chosen = select_cuts(grid, places, score > 0, weights, constant, max_cuts)
    return [_CutTerm.of(term, cuts, domain) for term, cuts in zip(terms, chosen, strict=True)]


def _without_weight(
    domain: CardDomain, terms: Sequence[_Term], asked: Sequence[int]
) -> list[CertifiedFeature]:
    """Return the features without a weight that count all the same, in a single cell.

    A case must be in a declared range, for it is no case otherwise. Where the machine has a category for missing
    values, that may have a weight although no other has one, so that nothing is proved without the value.
    """
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
