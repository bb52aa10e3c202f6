"""The fewest conditions around a case under which a model predicts its class often enough.

Rows are cut into bins, feature by feature (`BinnedRows`). A *condition* holds on some of the bins of one feature: those
between two edges, one category, or a missing value, always with the bin of the case among them. Under a conjunction of
conditions lie t rows of the class that the model predicts for the case, and b rows of other classes. It is *enough* for
a precision p when::

    t / (t + b + 1)  >=  p

which is a share of at least p of the rows and one row of another class more, so that few rows are not enough: without
rows of another class 19 are needed for p = 0.95. Of all conjunctions that are enough, the search returns one with the
fewest conditions, among these one with the most rows, t + b, then with the largest t. Everything is decided in whole
numbers.

The search goes through conjunctions of 0, 1, 2, ... conditions and stops at the first number that is enough. It is a
branch and bound:

* adding conditions never adds rows, so what is enough with at most t rows of the class has at most
  ``t + cap(t)`` rows, where cap(t) is the largest b that t allows;
* of two conditions on one feature, the wider one with the same rows of other classes is at least as good in every
  conjunction, and the narrower one is never looked at;
* of two conjunctions P + i and P + j that are to be joined, at most min(t_i, t_j) rows of the class are left, and at
  least b_i + b_j - b_P others.

Rows are bits, counted by the `Counter` of the leverage search. Once `_MOST_COUNTED` conjunctions were counted for one
case, only the most promising ones are extended, those with the largest ``(1 - p) t - p b``; `is_exact` is then False.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearmargin.rankings.properties import quantile_cuts, round_cut
from clearmargin.rule_base.leverage_search import Contrast, Counter, sibling_pairs
from clearmargin.rules import Box, Domain, FeatureSpace, Interval
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, Words, pack_bits

Counts = NDArray[np.int64]

# Bins of a numeric feature. Chosen on the tables for tuning among 4 to 12: more bins give a lower precision.
_MAX_BINS = 6
# Conjunctions that are counted for one case before the search gives up to be exact.
_MOST_COUNTED = 200_000
# Conjunctions that are extended first, so that there is something to prune by.
_BEAM = 16
# Pairs of conjunctions that are looked at together.
_PAIRS = 1 << 17


@dataclass(frozen=True, slots=True)
class Conjunction:
    """What a search found."""

    # Feature, first and last of its bins that hold the bin of the case.
    conditions: tuple[tuple[int, int, int], ...]
    agreed: int
    others: int
    is_enough: bool
    is_exact: bool


@dataclass(frozen=True, slots=True, eq=False)
class BinnedRows:
    """The rows of a search: the bin of each value, and the class that the model predicts."""

    space: FeatureSpace
    cuts: tuple[FloatArray | None, ...]
    bins: IntArray
    codes: IntArray
    _bits: dict[int, _ClassBits] = field(default_factory=dict)

    @classmethod
    def of(cls, space: FeatureSpace, points: FloatArray, codes: IntArray) -> BinnedRows:
        """Cut rows into bins that hold about the same number of them."""
        cuts: list[FloatArray | None] = []
        for j, categories in enumerate(space.categories):
            known = points[~np.isnan(points[:, j]), j]
            cuts.append(None if categories else _cuts(known, bool(space.integer[j])))
        rows = cls(space, tuple(cuts), np.empty((0, len(space)), dtype=np.intp), codes)
        return cls(space, rows.cuts, rows.bins_of(points), codes)

    @property
    def n_bins(self) -> IntArray:
        """The number of bins of each feature, without that of missing values."""
        return np.array(
            [
                len(self.space.categories[j] or ()) if cuts is None else len(cuts) + 1
                for j, cuts in enumerate(self.cuts)
            ],
            dtype=np.intp,
        )

    def bins_of(self, points: FloatArray) -> IntArray:
        """Give the bin of each value of a table; -1 for a category that is not known."""
        bins = np.empty(points.shape, dtype=np.intp)
        for j, (cuts, count) in enumerate(zip(self.cuts, self.n_bins.tolist(), strict=True)):
            column = points[:, j]
            missing = np.isnan(column)
            if cuts is None:
                found = np.where(missing, 0.0, column).astype(np.intp)
            else:
                found = np.searchsorted(cuts, column, side="right")
            bins[:, j] = np.where(missing, count, found)
        return bins

    def bits(self, code: int) -> _ClassBits:
        """Give the rows as bits, those of one class first; made once for each class."""
        if code not in self._bits:
            is_top = self.codes == code
            sides = np.flatnonzero(is_top), np.flatnonzero(~is_top)
            below: list[Words] = []
            above: list[Words] = []
            for j, count in enumerate(self.n_bins.tolist()):
                edges, column = np.arange(count + 1)[:, None], self.bins[:, j]
                # Missing values lie neither below nor above another bin.
                low = (column <= edges) & ((column < count) | (edges == count) & (column == count))
                low[count] = column == count
                high = (column >= edges) & ((column < count) | (edges == count))
                for masks, found in ((low, below), (high, above)):
                    found.append(np.hstack([pack_bits(masks[:, side]) for side in sides]))
            split = pack_bits(np.zeros((1, len(sides[0])), dtype=np.bool_)).shape[1]
            self._bits[code] = _ClassBits(split, len(sides[0]), len(sides[1]), below, above)
        return self._bits[code]

    def box(self, conjunction: Conjunction, case: FloatArray) -> Box:
        """Give the region of conditions, which ends at whole numbers where feature and case have them."""
        intervals: dict[int, Interval] = {}
        sets: dict[int, list[int]] = {}
        missing, known = [], []
        for j, first, last in conjunction.conditions:
            cuts = self.cuts[j]
            if first == self.n_bins[j]:
                missing.append(j)
            elif last - first == self.n_bins[j] - 1:
                known.append(j)  # all bins: only a missing value is left out
            elif cuts is None:
                sets[j] = list(range(first, last + 1))
            else:
                low = float(cuts[first - 1]) if first else -np.inf
                high = float(cuts[last]) if last < len(cuts) else np.inf
                intervals[j] = Interval.from_flags(low, high, True, False)
        box = Box.from_intervals(intervals, len(self.space), sets, missing, known)
        with np.errstate(invalid="ignore"):
            whole = self.space.integer & (case == np.floor(case))
        return Domain(FeatureSpace(self.space.names, integer=whole)).round_to_values(box)


def _cuts(values: FloatArray, integer: bool) -> FloatArray:
    """Cut between values, not at them, except of whole numbers: few other rows then have a value at the very end."""
    cuts = quantile_cuts(values, _MAX_BINS, integer=integer)
    if integer or not len(cuts):
        return cuts
    distinct = np.unique(values)
    at = np.searchsorted(distinct, cuts)
    for k in np.flatnonzero(distinct[at] == cuts).tolist():
        low, high = float(distinct[at[k] - 1]), float(np.nextafter(cuts[k], -np.inf))
        if low < high:
            cuts[k] = round_cut(low, high, low / 2 + high / 2)
    return cuts


class _ClassBits(NamedTuple):
    """For each feature and each bin the rows at or below it, and the rows at or above it, as bits, split by class."""

    split: int
    n_top: int
    n_bottom: int
    below: list[Words]
    above: list[Words]


def find_conditions(
    rows: BinnedRows,
    case: IntArray,
    code: int,
    precision: float,
    max_conditions: int | None = None,
) -> Conjunction:
    """Find the fewest conditions around a case that are enough for a precision, the decimal that it reads as."""
    return _Search(rows, case, code, Fraction(repr(float(precision))), max_conditions).run()


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """Conjunctions of one size with their counts, those that differ in the last item together."""

    items: IntArray
    t: Counts
    b: Counts
    parent_b: Counts

    def take(self, which: IntArray | BoolArray) -> _Level:
        return _Level(self.items[which], self.t[which], self.b[which], self.parent_b[which])


class _Search:
    """The search around one case."""

    def __init__(
        self,
        rows: BinnedRows,
        case: IntArray,
        code: int,
        precision: Fraction,
        max_conditions: int | None,
    ):
        self._bits = rows.bits(code)
        self._precision = precision
        self._base = self._bits.n_top + self._bits.n_bottom + 1
        self._conditions, words, attribute = _candidates(rows, case, self._bits)
        contrast = Contrast(
            words, self._bits.split, self._bits.n_top, self._bits.n_bottom, attribute
        )
        self._attribute = attribute
        self._t, self._b = contrast.singles()
        self._counter = Counter(contrast, np.arange(len(attribute)))
        n = len(set(attribute.tolist()))
        self._most = n if max_conditions is None else min(n, max_conditions)
        self._left, self._is_exact = _MOST_COUNTED, True
        # The best that is enough at the present size, and the best that is not: key and items.
        self._best: tuple[int, tuple[int, ...]] = (-1, ())
        self._nearest: tuple[Fraction, tuple[int, ...], int, int] | None = None

    def run(self) -> Conjunction:
        bits = self._bits
        self._keep(
            np.empty((1, 0), dtype=np.intp), np.array([bits.n_top]), np.array([bits.n_bottom])
        )
        singles = np.arange(len(self._t))[:, None]
        level = _Level(singles, self._t, self._b, np.full(len(self._t), bits.n_bottom))
        if self._best[0] < 0 and self._most:
            self._keep(level.items, level.t, level.b)
        for size in range(2, self._most + 1):
            if self._best[0] >= 0 or not len(level.t):
                break
            level = self._grow(level, is_last=size == self._most)
        return self._answer()

    def _answer(self) -> Conjunction:
        key, items = self._best
        if key >= 0:
            agreed = key % self._base
            others = key // self._base - agreed
        else:
            assert self._nearest is not None
            _, items, agreed, others = self._nearest
        chosen = sorted(self._conditions[i] for i in items)
        return Conjunction(tuple(chosen), agreed, others, key >= 0, self._is_exact)

    def _cap(self, t: Counts) -> Counts:
        """Give the most rows of other classes that so many rows of the class allow; -1 where not even none."""
        least = self._precision
        return np.asarray(np.maximum(t * least.denominator // least.numerator - t - 1, -1))

    def _key(self, t: Counts, b: Counts) -> Counts:
        return (t + b) * self._base + t

    def _may(self, t: Counts) -> BoolArray:
        """Tell for which t a conjunction can still become the best."""
        cap = self._cap(t)
        return np.asarray((cap >= 0) & (self._key(t, cap) > self._best[0]))

    def _keep(self, items: IntArray, t: Counts, b: Counts) -> None:
        if not len(t):
            return
        enough = b <= self._cap(t)
        if enough.any():
            keys = np.where(enough, self._key(t, b), -1)
            k = int(np.argmax(keys))
            if keys[k] > self._best[0]:
                self._best = int(keys[k]), tuple(items[k].tolist())
        elif self._best[0] < 0:
            shares = t / (t + b + 1)
            k = int(np.argmax(shares))
            share = Fraction(int(t[k]), int(t[k] + b[k]) + 1)
            if self._nearest is None or share > self._nearest[0]:
                self._nearest = share, tuple(items[k].tolist()), int(t[k]), int(b[k])

    def _grow(self, level: _Level, *, is_last: bool) -> _Level:
        """Look for conjunctions of one condition more that are enough; give all of them where none is."""
        beam = self._extended(level)
        self._keep(beam.items, beam.t, beam.b)
        if self._is_exact:
            level = level.take(self._may(level.t))
            for _ in self._joined(level, now=True):
                pass
        if self._best[0] >= 0 or is_last:
            return level.take(np.zeros(0, dtype=np.intp))
        if self._is_exact:
            parts = list(self._joined(level, now=False))
            if self._is_exact and parts:
                names = ("items", "t", "b", "parent_b")
                return _Level(*(np.concatenate([getattr(p, n) for p in parts]) for n in names))
        return beam.take(np.argsort(-self._lead(beam), kind="stable")[:_BEAM])

    def _joined(self, level: _Level, *, now: bool) -> Iterator[_Level]:
        """Count pairs of conjunctions: those that may be enough now, or all that may be with more conditions."""
        items = level.items
        for first, second in sibling_pairs(items, _PAIRS) if len(items) > 1 else ():
            # On different features.
            other = self._attribute[items[first, -1]] != self._attribute[items[second, -1]]
            left, right = first[other], second[other]
            if not len(left):
                continue
            t = np.minimum(level.t[left], level.t[right])
            good = self._may(t)
            if now:
                b = np.maximum(level.b[left] + level.b[right] - level.parent_b[left], 0)
                good &= b <= self._cap(t)
            parent, last = left[good], items[right[good], -1]
            self._left -= len(parent)
            if self._left <= 0:
                self._is_exact = False
                return
            if len(parent):
                longer = np.column_stack([items[parent], last])
                counts = self._counter.count(longer, parent)
                self._keep(longer, counts[0], counts[1])
                found = _Level(longer, counts[0], counts[1], level.b[parent])
                yield found.take(self._may(found.t))

    def _lead(self, level: _Level) -> Counts:
        """Tell how near conjunctions are to being enough: p rows of the class outweigh 1 - p others."""
        least = self._precision
        return level.t * (least.denominator - least.numerator) - level.b * least.numerator

    def _extended(self, level: _Level) -> _Level:
        """Join the conjunctions that tell the classes apart best with every condition on another feature."""
        parts, parents = [], []
        for k in np.argsort(-self._lead(level), kind="stable")[:_BEAM].tolist():
            used = self._attribute[level.items[k]]
            others = np.flatnonzero(~(self._attribute[:, None] == used).any(axis=1))
            parts.append(np.column_stack([np.tile(level.items[k], (len(others), 1)), others]))
            parents.append(np.full(len(others), k))
        items, parent = np.concatenate(parts), np.concatenate(parents)
        counts = self._counter.count(items, parent)
        return _Level(items, counts[0], counts[1], level.b[parent])


def _candidates(
    rows: BinnedRows, case: IntArray, bits: _ClassBits
) -> tuple[list[tuple[int, int, int]], Words, IntArray]:
    """List the conditions around a case that no other one makes superfluous, with the rows under them as bits."""
    conditions: list[tuple[int, int, int]] = []
    words: list[Words] = []
    for j, count in enumerate(rows.n_bins.tolist()):
        at = int(case[j])
        if at < 0 or count + bool((rows.bins[:, j] == count).any()) < 2:
            continue
        if at == count or rows.cuts[j] is None:
            runs = [(at, at)]
        else:
            runs = [(a, z) for a in range(at + 1) for z in range(at, count)]
            runs.sort(key=lambda run: run[0] - run[1])
        first, last = np.array(runs).T
        found = bits.below[j][last] & bits.above[j][first]
        kept = _widest(first, last, found[:, bits.split :])
        if last[0] - first[0] == count - 1 and not (rows.bins[:, j] == count).any():
            kept = kept[1:]  # all bins, and no value is missing: no condition at all
        conditions += [(j, *runs[k]) for k in kept]
        words.append(found[kept])
    if not words:
        none = np.zeros((0, bits.below[0].shape[1] if bits.below else 1), dtype=np.uint64)
        return [], none, np.empty(0, dtype=np.intp)
    attribute = np.array([j for j, _, _ in conditions], dtype=np.intp)
    return conditions, np.concatenate(words), attribute


def _widest(first: IntArray, last: IntArray, others: Words) -> list[int]:
    """Choose the runs of bins that lie in no wider one with the same rows of other classes."""
    within = (first[:, None] >= first) & (last[:, None] <= last)
    np.fill_diagonal(within, False)
    same = (others[:, None] == others).all(axis=2)
    return np.flatnonzero(~(within & same).any(axis=1)).tolist()
