"""Many rules on many rows: the cover kernel.

Rules are taken in blocks. Within a block each feature is cut at all bounds that any of its rules has on it. Between
two cuts every rule either holds or not, so one row of bits a segment says which rules a value satisfies; one more row
is for missing values. A value is looked up once for each feature (binary search), the rows of bits are and-ed, and the
cost does not grow with the number of conditions. Of a row of bits only the words are kept in which the feature matters,
so that the tables grow in proportion to the number of conditions, however many rules and features there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import DataError
from clearmargin.rules.box import Box
from clearmargin.rules.polyhedron import Polyhedron, left_side
from clearmargin.rules.rule import Region, Rule
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["PackedRules", "Words", "half_open", "pack_bits", "unpack_bits"]

Words = NDArray[np.uint64]

# Rows handled at a time: large enough to drown the overhead of numpy, small enough to stay in cache.
_CHUNK = 16_384
# Numbers of a table copied at a time, so that many columns mean fewer rows: at most 32 MB.
_MOST_COPIED = 2**22
# Rules packed together: many enough that a lookup pays, few enough that the cuts of one feature times the words of all
# its rules stay small.
_BLOCK = 1_024


@dataclass(frozen=True, slots=True)
class _Cuts:
    """One numeric feature: sorted cuts, and for each segment between them the rules that hold there.

    The last cut is NaN, which is sorted behind all numbers: the last segment is that of missing values.
    """

    column: int
    cuts: FloatArray
    table: Words
    words: IntArray | None
    """The words of the bits that the table is about, None for all."""

    def look_up(self, values: FloatArray) -> Words:
        return self.table.take(np.searchsorted(self.cuts, values, side="right"), axis=0)


@dataclass(frozen=True, slots=True)
class _Codes:
    """One categorical feature: for each code the rules that allow it; the last row is any other code, or none."""

    column: int
    table: Words
    words: IntArray | None

    def look_up(self, values: FloatArray) -> Words:
        other = len(self.table) - 1
        known = (values >= 0) & (values < other) & (values == np.floor(values))
        return self.table.take(np.where(known, values, other).astype(np.intp), axis=0)


@dataclass(frozen=True, slots=True)
class _Inequality:
    """One row of a polyhedral premise, over the columns with a weight."""

    rule: int
    columns: IntArray
    weights: FloatArray
    limit: float
    strict: bool

    def holds(self, columns: FloatArray) -> BoolArray:
        value = left_side(self.weights, columns[self.columns].T)
        held: BoolArray = value < self.limit if self.strict else value <= self.limit
        return held


class _Block:
    """Some rules one after the other; all columns are counted among those that any of them needs."""

    def __init__(self, rules: Sequence[Rule], start: int, place: dict[int, int]):
        self.rules = slice(start, start + len(rules))
        self.n_rules = len(rules)
        self.tables: list[_Cuts | _Codes] = list(_tables(rules, place))
        self.inequalities = list(_inequalities(rules, place))

    def covers(self, columns: FloatArray) -> BoolArray:
        words = np.full((columns.shape[1], _n_words(self.n_rules)), ~np.uint64(0))
        for table in self.tables:
            found = table.look_up(columns[table.column])
            if table.words is None:
                words &= found
            else:
                words[:, table.words] &= found
        covered = unpack_bits(words, self.n_rules)
        for inequality in self.inequalities:
            covered[:, inequality.rule] &= inequality.holds(columns)
        return covered


class PackedRules:
    """Rules in the form in which a computer likes them; made once, used for any number of rows.

    Parameters
    ----------
    rules : sequence of Rule
        The rules, all over the same features.
    """

    def __init__(self, rules: Sequence[Rule]):
        self.n_rules = len(rules)
        used = sorted({j for rule in rules for j in rule.region.bounded})
        self._used = np.array(used, dtype=np.intp)
        place = {j: k for k, j in enumerate(used)}
        self._blocks = [
            _Block(rules[start : start + _BLOCK], start, place)
            for start in range(0, len(rules), _BLOCK)
        ]

    def covers(self, points: FloatArray) -> BoolArray:
        """Tell for each row and rule whether the rule covers the row."""
        try:
            covered = np.empty((len(points), self.n_rules), dtype=np.bool_)
        except MemoryError:
            raise DataError(
                f"the answers of {self.n_rules:,} rules for {len(points):,} rows do not fit into memory; "
                "ask for fewer rows at a time, or for the first rule that covers each row (which, predict)"
            ) from None
        for rows, columns in self._chunks(points):
            for block in self._blocks:
                covered[rows, block.rules] = block.covers(columns)
        return covered

    def which(self, points: FloatArray) -> IntArray:
        """Give for each row the first rule that covers it, -1 where none does."""
        first = np.full(len(points), -1, dtype=np.intp)
        for rows, columns in self._chunks(points):
            first[rows] = self._which_of(columns)
        return first

    def _which_of(self, columns: FloatArray) -> IntArray:
        """The first rule of all blocks; rows that an earlier block covers are not asked again."""
        first = np.full(columns.shape[1], -1, dtype=np.intp)
        left = np.arange(columns.shape[1])
        for block in self._blocks:
            covered = block.covers(columns if len(left) == len(first) else columns[:, left])
            found = covered.any(axis=1)
            first[left[found]] = block.rules.start + covered[found].argmax(axis=1)
            if not len(left := left[~found]):
                break
        return first

    def _chunks(self, points: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Rows by rows, the columns that the rules need; each column lies in one piece of memory."""
        n_used, n = len(self._used), points.shape[1]
        size = max(64, min(_CHUNK, _MOST_COPIED // max(1, n_used)))
        for start in range(0, len(points), size):
            rows = slice(start, start + size)
            columns = points[rows].T
            yield rows, np.ascontiguousarray(columns if n_used == n else columns[self._used])


def _n_words(n_rules: int) -> int:
    return -(-n_rules // 64)


def pack_bits(table: BoolArray) -> Words:
    """Pack the columns of a boolean table into 64-bit words."""
    padded = np.zeros((len(table), 64 * _n_words(table.shape[1])), dtype=np.bool_)
    padded[:, : table.shape[1]] = table
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def unpack_bits(words: Words, n_columns: int) -> BoolArray:
    """Undo `pack_bits`.

    Examples
    --------
    >>> unpack_bits(pack_bits(np.array([[True, False, True]])), 3)
    array([[ True, False,  True]])
    """
    bits = np.unpackbits(words.view(np.uint8), axis=1, count=n_columns, bitorder="little")
    return bits.view(np.bool_)


class _Conditions(NamedTuple):
    """The bounds that the boxes of a block have on one feature, and the rules whose boxes these are."""

    rules: IntArray
    start: FloatArray
    stop: FloatArray
    has_low: BoolArray
    has_high: BoolArray


class _Bits:
    """For each segment of a feature the rules that hold there, over the words in which the feature matters.

    Parameters
    ----------
    n_segments : int
        Number of segments.
    rules : sequence of int
        The rules with a condition on the feature.
    """

    def __init__(self, n_segments: int, rules: Sequence[int] | IntArray):
        self._words = np.unique(np.asarray(rules, dtype=np.intp) // 64)
        self._table = np.ones((n_segments, 64 * len(self._words)), dtype=np.bool_)

    def put(self, rules: Sequence[int] | IntArray, holds: BoolArray | bool) -> None:
        """Say in which segments some rules hold, a column a rule."""
        self._table[:, self._places(rules)] = holds

    def put_missing(self, missing: Sequence[int], known: Sequence[int]) -> None:
        """Say which rules hold exactly in the last segment, that of missing values, and which in all others."""
        if missing or known:
            is_last = np.arange(len(self._table))[:, None] == len(self._table) - 1
            self.put(missing, is_last)
            self.put(known, ~is_last)

    def pack(self, n_rules: int) -> tuple[Words, IntArray | None]:
        """The bits, and the words that they are about; None for all words."""
        is_all = len(self._words) == _n_words(n_rules)
        return pack_bits(self._table), None if is_all else self._words

    def _places(self, rules: Sequence[int] | IntArray) -> IntArray:
        chosen = np.asarray(rules, dtype=np.intp)
        places: IntArray = 64 * np.searchsorted(self._words, chosen // 64) + chosen % 64
        return places


_NO_BOUNDS = _Conditions(*(np.empty(0, dtype=t) for t in (np.intp, float, float, bool, bool)))


def _tables(rules: Sequence[Rule], place: dict[int, int]) -> Iterator[_Cuts | _Codes]:
    """One table a feature with sets of categories, and one a feature with bounds or a word on missing values."""
    bounds = _bounds_by_feature(rules)
    sets = _by_feature(rules, lambda region: region.sets)
    missing = _by_feature(rules, lambda region: region.missing)
    known = _by_feature(rules, lambda region: region.known)
    for j in sorted(sets):
        allowed = {r: rules[r].region.sets[j] for r in sets[j]}
        n_codes = 1 + max(max(codes) for codes in allowed.values())
        bits = _Bits(n_codes + 1, list(allowed))
        for r, codes in allowed.items():
            bits.put([r], np.isin(np.arange(n_codes + 1), list(codes))[:, None])
        yield _Codes(place[j], *bits.pack(len(rules)))
    for j in sorted({*bounds, *missing, *known}):
        asked = missing.get(j, []), known.get(j, [])
        yield _cut_table(place[j], bounds.get(j, _NO_BOUNDS), *asked, len(rules))


def _by_feature(
    rules: Sequence[Rule], listed: Callable[[Region], Iterable[int]]
) -> dict[int, list[int]]:
    """For each feature that a region lists, the rules whose region does."""
    found: dict[int, list[int]] = {}
    for r, rule in enumerate(rules):
        for j in listed(rule.region):
            found.setdefault(j, []).append(r)
    return found


def _bounds_by_feature(rules: Sequence[Rule]) -> dict[int, _Conditions]:
    boxes = [
        (r, rule.region.entries) for r, rule in enumerate(rules) if isinstance(rule.region, Box)
    ]
    if not any(len(entries.features) for _, entries in boxes):
        return {}
    features = np.concatenate([entries.features for _, entries in boxes])
    owner = np.repeat([r for r, _ in boxes], [len(entries.features) for _, entries in boxes])
    low, high = np.concatenate([entries.bounds for _, entries in boxes], axis=1)
    low_closed, high_closed = np.concatenate([entries.closed for _, entries in boxes], axis=1)
    start = np.where(low_closed, low, _next_float(low))
    stop = np.where(high_closed, _next_float(high), high)
    order = np.argsort(features, kind="stable")
    found, first = np.unique(features[order], return_index=True)
    return {
        int(j): _Conditions(
            owner[at], start[at], stop[at], low[at] > -math.inf, high[at] < math.inf
        )
        for j, at in zip(found, np.split(order, first[1:]), strict=True)
    }


def _cut_table(
    column: int, bounds: _Conditions, missing: list[int], known: list[int], n_rules: int
) -> _Cuts:
    owner, start, stop, has_low, has_high = bounds
    cuts = np.unique(np.concatenate([start[has_low], stop[has_high]]))
    # Segment k holds the values with exactly k cuts at or below them.
    segment = np.arange(len(cuts) + 2)[:, None]
    first = np.where(has_low, np.searchsorted(cuts, start) + 1, 0)
    last = np.where(has_high, np.searchsorted(cuts, stop), len(cuts))
    bits = _Bits(len(cuts) + 2, [*owner.tolist(), *missing, *known])
    bits.put(owner, (segment >= first) & (segment <= last))
    bits.put_missing(missing, known)
    return _Cuts(column, np.append(cuts, np.nan), *bits.pack(n_rules))


def half_open(boxes: Sequence[Box]) -> tuple[FloatArray, FloatArray]:
    """Bounds of boxes as start <= x < stop: x > bound is x >= the next float, which may be inf, and so on.

    Parameters
    ----------
    boxes : sequence of Box
        At least one, all over the same features.

    Returns
    -------
    start, stop : ndarray of shape (r, n)
        One row a box; infinite where it has no bound.

    Examples
    --------
    >>> start, stop = half_open([Box([1.0], [2.0], upper_closed=False)])
    >>> start.item(), stop.item()
    (1.0, 2.0)
    """
    lower, upper = np.stack([b.lower for b in boxes]), np.stack([b.upper for b in boxes])
    lower_closed = np.stack([b.lower_closed for b in boxes])
    upper_closed = np.stack([b.upper_closed for b in boxes])
    return (
        np.where(lower_closed, lower, _next_float(lower)),
        np.where(upper_closed, _next_float(upper), upper),
    )


def _next_float(x: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):  # after the largest float comes inf
        return np.nextafter(x, math.inf)


def _inequalities(rules: Sequence[Rule], place: dict[int, int]) -> Iterator[_Inequality]:
    for r, rule in enumerate(rules):
        if isinstance(rule.region, Polyhedron):
            region = rule.region
            for row, limit, strict in zip(region.A, region.b, region.strict, strict=True):
                used = np.flatnonzero(row)
                columns = np.array([place[j] for j in used.tolist()], dtype=np.intp)
                yield _Inequality(r, columns, row[used], float(limit), bool(strict))
