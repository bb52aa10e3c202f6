"""Many rules on many rows: the cover kernel.

Each feature is cut at all bounds that any rule has on it. Between two cuts every rule either holds or not, so one
row of bits a segment says which rules a value satisfies. A value is looked up once for each feature
(binary search), the rows of bits are and-ed, and the cost does not grow with the number of conditions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clearmargin.core.box import Box
from clearmargin.core.points import is_point
from clearmargin.core.polyhedron import Polyhedron, left_side
from clearmargin.core.rule import Rule
from clearmargin.core.value import BoolArray, FloatArray, IntArray

__all__ = ["PackedRules", "Words", "half_open", "pack_bits", "unpack_bits"]

Words = NDArray[np.uint64]

# Rows handled at a time: large enough to drown the overhead of numpy, small enough to stay in cache.
_CHUNK = 16_384


@dataclass(frozen=True, slots=True)
class _Cuts:
    """One numeric feature: sorted cuts, and for each segment between them the rules that hold there."""

    feature: int
    cuts: FloatArray
    table: Words

    def look_up(self, points: FloatArray) -> Words:
        segment = np.searchsorted(self.cuts, points[:, self.feature], side="right")
        return self.table.take(segment, axis=0)


@dataclass(frozen=True, slots=True)
class _Codes:
    """One categorical feature: for each code the rules that allow it; the last row is any other code."""

    feature: int
    table: Words

    def look_up(self, points: FloatArray) -> Words:
        other = len(self.table) - 1
        column = points[:, self.feature]
        known = (column >= 0) & (column < other) & (column == np.floor(column))
        return self.table.take(np.where(known, column, other).astype(np.intp), axis=0)


@dataclass(frozen=True, slots=True)
class _Inequality:
    """One row of a polyhedral premise."""

    rule: int
    row: FloatArray
    limit: float
    strict: bool

    def holds(self, points: FloatArray) -> BoolArray:
        value = left_side(self.row, points)
        held: BoolArray = value < self.limit if self.strict else value <= self.limit
        return held


class PackedRules:
    """Rules in the form in which a computer likes them; made once, used for any number of rows.

    Parameters
    ----------
    rules : sequence of Rule
        The rules, all over the same features.
    """

    def __init__(self, rules: Sequence[Rule]):
        self.n_rules = len(rules)
        self._tables: list[_Cuts | _Codes] = [*_cut_tables(rules), *_code_tables(rules)]
        self._inequalities = list(_inequalities(rules))

    def covers(self, points: FloatArray) -> BoolArray:
        """Tell for each row and rule whether the rule covers the row."""
        covered = np.empty((len(points), self.n_rules), dtype=np.bool_)
        for rows in _chunks(len(points)):
            covered[rows] = self._covers_chunk(points[rows])
        return covered

    def which(self, points: FloatArray) -> IntArray:
        """Give for each row the first rule that covers it, -1 where none does."""
        first = np.full(len(points), -1, dtype=np.intp)
        if not self.n_rules:
            return first
        for rows in _chunks(len(points)):
            covered = self._covers_chunk(points[rows])
            first[rows] = np.where(covered.any(axis=1), covered.argmax(axis=1), -1)
        return first

    def _covers_chunk(self, points: FloatArray) -> BoolArray:
        points = np.asfortranarray(points)  # features are read one after the other
        words = np.empty((len(points), _n_words(self.n_rules)), dtype=np.uint64)
        words[:] = np.where(is_point(points), ~np.uint64(0), np.uint64(0))[:, None]
        for table in self._tables:
            words &= table.look_up(points)
        covered = unpack_bits(words, self.n_rules)
        for inequality in self._inequalities:
            covered[:, inequality.rule] &= inequality.holds(points)
        return covered


def _chunks(n: int) -> Iterator[slice]:
    return (slice(start, start + _CHUNK) for start in range(0, n, _CHUNK))


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


def _cut_tables(rules: Sequence[Rule]) -> Iterator[_Cuts]:
    boxes = [(r, rule.region) for r, rule in enumerate(rules) if isinstance(rule.region, Box)]
    if not boxes:
        return
    index = np.array([r for r, _ in boxes])
    lower, upper = (np.stack([getattr(box, end) for _, box in boxes]) for end in ("lower", "upper"))
    start, stop = half_open([box for _, box in boxes])
    for j in np.flatnonzero((lower > -math.inf).any(axis=0) | (upper < math.inf).any(axis=0)):
        below, above = lower[:, j] > -math.inf, upper[:, j] < math.inf
        cuts = np.unique(np.concatenate([start[below, j], stop[above, j]]))
        # Segment k holds the values with exactly k cuts at or below them.
        segment = np.arange(len(cuts) + 1)[:, None]
        first = np.where(below, np.searchsorted(cuts, start[:, j]) + 1, 0)
        last = np.where(above, np.searchsorted(cuts, stop[:, j]), len(cuts))
        table = np.ones((len(cuts) + 1, len(rules)), dtype=np.bool_)
        table[:, index] = (segment >= first) & (segment <= last)
        yield _Cuts(int(j), cuts, pack_bits(table))


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


def _code_tables(rules: Sequence[Rule]) -> Iterator[_Codes]:
    for feature in sorted({f for rule in rules for f in rule.region.sets}):
        naming = [
            (r, rule.region.sets[feature])
            for r, rule in enumerate(rules)
            if feature in rule.region.sets
        ]
        n_codes = 1 + max(max(codes) for _, codes in naming)
        table = np.ones((n_codes + 1, len(rules)), dtype=np.bool_)
        for r, codes in naming:
            table[:, r] = np.isin(np.arange(n_codes + 1), list(codes))
        yield _Codes(feature, pack_bits(table))


def _inequalities(rules: Sequence[Rule]) -> Iterator[_Inequality]:
    for r, rule in enumerate(rules):
        if isinstance(rule.region, Polyhedron):
            region = rule.region
            for row, limit, strict in zip(region.A, region.b, region.strict, strict=True):
                yield _Inequality(r, row, float(limit), bool(strict))
