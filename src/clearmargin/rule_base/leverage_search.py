"""All conjunctions of properties that set the top of a ranking apart from its bottom, exactly.

Data: T top rows and B bottom rows, N = T + B; p items (properties), each with an attribute. A conjunction that t top
rows and b bottom rows have has the leverage (Salleb-Aouissi, Huang and Waltz 2009), also known as weighted relative
accuracy::

    lev  =  t / N - (t + b) / N * T / N  =  L / N^2,      L = t B - b T

positive for the top, negative for the bottom. L is a whole number: thresholds are compared in whole numbers,
``|L| >= ceil(min_leverage N^2)``, never in floats. No two items of one attribute are joined.

Leverage is not monotone, but a bound on it is: whatever is added to a conjunction can at best keep all of one side and
lose all of the other, so that no specialisation has more than ``max(t B, b T)``. Conjunctions are built level by level
from two that differ in their last item, and most are discarded before anything is counted:

* if the pair of their last items is itself below the bound;
* by the bound at the smaller counts of the two parents;
* on the last level, where nothing is to follow, by ``L <= B min(t_i, t_j) - T max(0, b_i + b_j - b_P)`` for parents
  P + i and P + j, and its mirror image.

Weak items come first, so that few conjunctions share all but their last items and few pairs are formed at all.

Rows are bits. Only indices and counts are kept from level to level, never bits, so that memory is
bounded by the number of conjunctions, which `limit` bounds, and a table of pairs of fixed size.

**Counting** (`Counter`). Rows are bits in words of 64, first those of the top, then those of the bottom. A conjunction
is counted by and-ing the words of its items, so many conjunctions at a time as stay in cache. With few words an item
numpy is slow at short rows: then the words are stored word by word, and conjunctions run along rows.

"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.value import BoolArray, IntArray, Words, pack_bits

Counts = NDArray[np.int64]

# Pairs that are looked at together before anything is counted: measured; larger arrays cost more to get than to fill.
_PAIRS = 1 << 13
# Items up to which a table of all their pairs is kept: 64 MB.
_TABLE = 8_000


@dataclass(frozen=True, slots=True)
class Found:
    """Conjunctions with their counts, the largest leverage first."""

    items: IntArray
    top: Counts
    bottom: Counts
    evaluated: int

    def __len__(self) -> int:
        return len(self.top)


def least_product(min_leverage: float, n_top: int, n_bottom: int) -> int:
    """Return the least ``|L|`` of conjunctions that reach a leverage, taking it as the decimal that it reads as."""
    exact = Fraction(repr(float(min_leverage))) * (n_top + n_bottom) ** 2
    return -(-exact.numerator // exact.denominator)


def search_above(
    contrast: Contrast, threshold: int, max_size: int, *, limit: int = 1_000_000
) -> Found:
    """Find all conjunctions with ``|L|`` of at least a threshold."""
    return _Search(contrast, max_size, limit, threshold).run()


def sibling_pairs(items: IntArray, most: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield pairs of conjunctions that have all but their last items in common, in blocks."""
    n = len(items)
    same = (items[1:, :-1] == items[:-1, :-1]).all(axis=1)
    ends = np.append(np.flatnonzero(~same) + 1, n)
    partners = ends[np.searchsorted(ends, np.arange(n), side="right")] - np.arange(n) - 1
    total = np.cumsum(partners)
    first = 0
    while first < n:
        before = total[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(total, before + most, side="right")))
        count = partners[first:last]
        left = np.repeat(np.arange(first, last), count)
        starts = np.cumsum(count) - count
        yield left, left + 1 + np.arange(len(left)) - np.repeat(starts, count)
        first = last


@dataclass(frozen=True, slots=True)
class _Level:
    """Conjunctions of one size that may have specialisations; those with the same first items stand together."""

    items: IntArray
    top: Counts
    bottom: Counts
    parent_top: Counts
    parent_bottom: Counts


Counted = tuple[IntArray, IntArray, Counts, Counts]  # parents, items, top and bottom counts


class _Search:
    def __init__(self, contrast: Contrast, max_size: int, limit: int, threshold: int):
        top, bottom = contrast.singles()
        bound = contrast.bound(top, bottom)
        self._order = np.argsort(bound, kind="stable")
        self._contrast, self._counter = contrast, contrast.counter(self._order)
        self._joint: BoolArray | None = None
        self._attribute = contrast.attribute[self._order]
        self._singles = top[self._order], bottom[self._order]
        self._max_size, self._limit = max_size, limit
        self._threshold = max(1, threshold)
        self._kept: list[tuple[IntArray, Counts, Counts]] = []
        self._count_kept = 0
        self._evaluated = len(contrast)

    def run(self) -> Found:
        top, bottom = self._singles
        p, contrast = len(top), self._contrast
        items = np.arange(p)[:, None]
        self._keep(items, top, bottom)
        whole = np.full(p, contrast.n_top), np.full(p, contrast.n_bottom)
        level = self._alive(_Level(items, top, bottom, *whole))
        for size in range(2, self._max_size + 1):
            if len(level.top) < 2:
                break
            level = self._specialise(level, is_last=size == self._max_size)
            if size == 2 < self._max_size and p <= _TABLE:
                self._joint = np.zeros((p, p), dtype=bool)
                self._joint[level.items[:, 0], level.items[:, 1]] = True
        return self._collect()

    def _alive(self, level: _Level) -> _Level:
        """Return those with a specialisation that may reach the threshold."""
        alive = self._contrast.bound(level.top, level.bottom) >= self._threshold
        return _Level(*(getattr(level, name)[alive] for name in _Level.__slots__))

    def _specialise(self, level: _Level, *, is_last: bool) -> _Level:
        """Count the conjunctions of pairs that have all but their last items in common."""
        parts: list[_Level] = []
        size = 0
        is_first = level.items.shape[1] == 1
        steps = self._counted_pairs if is_first and self._counter.is_narrow else self._counted
        for left, items, top, bottom in steps(level, is_last=is_last):
            self._keep(items, top, bottom)
            if is_last:
                continue
            found = _Level(items, top, bottom, level.top[left], level.bottom[left])
            parts.append(self._alive(found))
            size += len(parts[-1].top)
            if size > 20 * self._limit:
                self._too_many(20 * self._limit, "may have a part that reaches")
        if not parts:
            nothing = np.zeros((0, level.items.shape[1] + 1), dtype=np.intp)
            return _Level(nothing, *(np.zeros(0, dtype=np.int64),) * 4)
        merged = [
            np.concatenate([getattr(part, name) for part in parts]) for name in _Level.__slots__
        ]
        return self._alive(_Level(*merged))

    def _counted(self, level: _Level, *, is_last: bool) -> Iterator[Counted]:
        """Count pairs that may reach the threshold, in blocks."""
        for left, right in self._pairs(level, is_last=is_last):
            items = np.column_stack([level.items[left], level.items[right, -1]])
            self._evaluated += len(left)
            yield left, items, *self._counter.count(items, left)

    def _counted_pairs(self, level: _Level, *, is_last: bool) -> Iterator[Counted]:
        """Count all pairs of single items, in blocks; give those that reach the threshold, or may with others."""
        single, attribute = level.items[:, 0], self._attribute[level.items[:, 0]]
        place = np.arange(len(single))
        step = max(1, _PAIRS // len(single))
        for first in range(0, len(single) - 1, step):
            rows = slice(first, first + step)
            # Partners stand after their parent, and those of the first parent are the most.
            top, bottom = self._counter.count_all(single[rows], single[first + 1 :])
            size = self._contrast.bound if not is_last else self._contrast.product
            good = np.abs(size(top, bottom)) >= self._threshold
            good &= attribute[rows, None] != attribute[first + 1 :]
            good &= place[first + 1 :] > place[rows, None]
            left, right = np.nonzero(good)
            self._evaluated += int((len(single) - 1 - place[rows]).sum())
            if len(left):
                items = np.column_stack([single[left + first], single[right + first + 1]])
                counts = (side[left, right].astype(np.int64) for side in (top, bottom))
                yield left + first, items, *counts

    def _pairs(self, level: _Level, *, is_last: bool) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield pairs of the same parent that may reach the threshold, in blocks."""
        for first, second in sibling_pairs(level.items, _PAIRS):
            last_left, last_right = level.items[first, -1], level.items[second, -1]
            if self._joint is not None:
                other = self._joint[last_left, last_right]
            else:
                other = self._attribute[last_left] != self._attribute[last_right]
            left, right = first[other], second[other]
            good = self._may_reach(level, left, right, is_last=is_last)
            if good.any():
                yield left[good], right[good]

    def _may_reach(
        self, level: _Level, left: IntArray, right: IntArray, *, is_last: bool
    ) -> BoolArray:
        contrast = self._contrast
        top = np.minimum(level.top[left], level.top[right])
        bottom = np.minimum(level.bottom[left], level.bottom[right])
        if not is_last:
            return np.asarray(contrast.bound(top, bottom) >= self._threshold)
        # Of two sets within a third at least so many are in both.
        least_top = level.top[left] + level.top[right] - level.parent_top[left]
        least_bottom = level.bottom[left] + level.bottom[right] - level.parent_bottom[left]
        for_top = contrast.product(top, np.maximum(0, least_bottom))
        for_bottom = -contrast.product(np.maximum(0, least_top), bottom)
        return np.asarray(np.maximum(for_top, for_bottom) >= self._threshold)

    def _keep(self, items: IntArray, top: Counts, bottom: Counts) -> None:
        size = np.abs(self._contrast.product(top, bottom))
        good = size >= self._threshold
        if good.any():
            wide = np.full((int(good.sum()), self._max_size), -1)
            wide[:, : items.shape[1]] = items[good]
            self._kept.append((wide, top[good], bottom[good]))
            self._count_kept += len(wide)
        if self._count_kept > self._limit:
            self._too_many(self._limit, "reach")

    def _too_many(self, limit: int, what: str) -> None:
        raise InvalidValueError(
            f"more than {limit:,} properties {what} the threshold; raise min_leverage or lower max_size"
        )

    def _collect(self) -> Found:
        if not self._kept:
            nothing = np.zeros(0, dtype=np.int64)
            return Found(
                np.zeros((0, self._max_size), dtype=np.intp), nothing, nothing, self._evaluated
            )
        items, top, bottom = (np.concatenate(part) for part in zip(*self._kept, strict=True))
        named = np.where(items >= 0, self._order[items], len(self._order))
        named.sort(axis=1)  # those that are not there go last
        count = (named < len(self._order)).sum(axis=1)
        keys = (*named.T[::-1], count, -np.abs(self._contrast.product(top, bottom)))
        order = np.lexsort(keys)
        named = np.where(named < len(self._order), named, -1)[order]
        return Found(named, top[order], bottom[order], self._evaluated)


# Words that are and-ed together, 512 kB: measured; fewer cost more calls, and with 1 MB it depends on what else was
# allocated whether memory is given back and fetched again page by page, which takes up to a quarter longer.
_WORDS = 1 << 16
# Up to so many words an item, words are stored word by word and not item by item.
_NARROW = 64
# With fewer partners for a parent on average, those of several parents are counted together.
_FEW = 48
# With so large a part of all items as partners, narrow parents are counted with all items, some parents at a time.
_MANY = 0.2
# A range of items is counted whole if so many times longer than what is asked for: picking costs a quarter of counting.
_DENSE = 1.25


@dataclass(frozen=True, slots=True)
class Contrast:
    """Items as bits over the top and the bottom rows."""

    bits: Words
    split: int
    n_top: int
    n_bottom: int
    attribute: IntArray

    @classmethod
    def of(cls, masks: BoolArray, top: IntArray, bottom: IntArray, attribute: IntArray) -> Contrast:
        """Pack items, one row of `masks` each, over some top and bottom rows."""
        # Sorted for the sake of the cache; `take` keeps the cells of an item together, which indexing does not.
        sides = [pack_bits(np.take(masks, np.sort(rows), axis=1)) for rows in (top, bottom)]
        return cls(np.hstack(sides), sides[0].shape[1], len(top), len(bottom), attribute)

    def __len__(self) -> int:
        return len(self.bits)

    def singles(self) -> tuple[Counts, Counts]:
        """Count the top and the bottom rows that have each item."""
        ones = np.bitwise_count(self.bits)
        return (
            ones[:, : self.split].sum(axis=1, dtype=np.int64),
            ones[:, self.split :].sum(axis=1, dtype=np.int64),
        )

    def product(self, top: Counts, bottom: Counts) -> Counts:
        """Compute L of counts."""
        return top * self.n_bottom - bottom * self.n_top

    def bound(self, top: Counts, bottom: Counts) -> Counts:
        """Return the most that L or -L of any specialisation can be."""
        return np.maximum(top * self.n_bottom, bottom * self.n_top)

    def counter(self, order: IntArray) -> Counter:
        """Count conjunctions of the items in an order."""
        return Counter(self, order)


class Counter:
    """Counts conjunctions of items in a given order."""

    def __init__(self, contrast: Contrast, order: IntArray):
        bits = contrast.bits[order]
        self._split = contrast.split
        self._is_narrow = bits.shape[1] <= _NARROW
        self._bits = np.ascontiguousarray(bits.T) if self._is_narrow else bits
        self._axis = 1 if self._is_narrow else 0
        self._step = max(1, _WORDS // bits.shape[1])

    @property
    def is_narrow(self) -> bool:
        """Whether rows are so few that all pairs of some items are counted sooner than one chooses among them."""
        return bool(self._is_narrow)

    def count_all(self, items: IntArray, others: IntArray) -> NDArray[np.int32]:
        """Count the top and the bottom rows that have each of some items and each of others, of few rows."""
        left, right = self._bits.take(items, axis=1), self._bits.take(others, axis=1)
        counts = np.empty((2, len(items), len(others)), dtype=np.int32)
        for first in range(0, len(others), self._step):
            at = slice(first, first + self._step)
            ones = np.bitwise_count(left[:, :, None] & right[:, None, at])
            # 64 words of 64 bits at most: 16 bits hold their number.
            counts[0, :, at] = np.add.reduce(ones[: self._split], axis=0, dtype=np.uint16)
            counts[1, :, at] = np.add.reduce(ones[self._split :], axis=0, dtype=np.uint16)
        return counts

    def count(self, items: IntArray, parent: IntArray) -> Counts:
        """Count the top and the bottom rows, in two rows, that have all items in each row of `items`."""
        counts = np.empty((2, len(items)), dtype=np.int64)
        is_first = np.diff(parent, prepend=-1) != 0
        starts = np.append(np.flatnonzero(is_first), len(items))
        if self._is_narrow and len(items) >= _MANY * self._bits.shape[1] * (len(starts) - 1):
            step = max(1, self._step // self._bits.shape[1])
            for begin, end in zip(
                starts[:-1:step], [*starts[step:-1:step], len(items)], strict=True
            ):
                self._block(items[begin:end], is_first[begin:end], counts[:, begin:end])
            return counts
        if len(items) >= _FEW * (len(starts) - 1):
            for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
                self._partners(items[begin, :-1], items[begin:end, -1], counts[:, begin:end])
            return counts
        for first in range(0, len(items), self._step):
            chunk, new = items[first : first + self._step], is_first[first : first + self._step]
            new[0] = True
            common = self._all_of(chunk[new, :-1])
            words = common.take(np.cumsum(new) - 1, axis=self._axis)
            words &= self._bits.take(chunk[:, -1], axis=self._axis)
            self._ones(words, counts[:, first : first + self._step])
        return counts

    def _block(self, items: IntArray, is_first: BoolArray, counts: Counts) -> None:
        """Count all parents together with all items in the range of their partners, and pick."""
        common, last = self._all_of(items[is_first, :-1]), items[:, -1]
        begin, end = int(last.min()), int(last.max()) + 1
        dense = np.empty((2, common.shape[1], end - begin), dtype=np.uint16)
        for first in range(begin, end, self._step):
            at = slice(first, min(first + self._step, end))
            ones = np.bitwise_count(common[:, :, None] & self._bits[:, None, at])
            to = dense[:, :, at.start - begin : at.stop - begin]
            np.add.reduce(ones[: self._split], axis=0, dtype=np.uint16, out=to[0])
            np.add.reduce(ones[self._split :], axis=0, dtype=np.uint16, out=to[1])
        where = (np.cumsum(is_first) - 1) * (end - begin) + (last - begin)
        counts[:] = dense.reshape(2, -1).take(where, axis=1)

    def _partners(self, parent: IntArray, partners: IntArray, counts: Counts) -> None:
        """Count one conjunction together with each of some items in rising order."""
        common = self._all_of(parent[None, :])
        begin, end = int(partners[0]), int(partners[-1]) + 1
        if end - begin > _DENSE * len(partners):
            for first in range(0, len(partners), self._step):
                words = self._bits.take(partners[first : first + self._step], axis=self._axis)
                words &= common
                self._ones(words, counts[:, first : first + self._step])
            return
        whole = counts if end - begin == len(partners) else np.empty((2, end - begin), np.int64)
        for first in range(begin, end, self._step):
            at = slice(first, min(first + self._step, end))
            words = common & (self._bits[:, at] if self._is_narrow else self._bits[at])
            self._ones(words, whole[:, at.start - begin : at.stop - begin])
        if whole is not counts:
            counts[:] = whole[:, partners - begin]

    def _all_of(self, items: IntArray) -> Words:
        words = self._bits.take(items[:, 0], axis=self._axis)
        for column in items.T[1:]:
            words &= self._bits.take(column, axis=self._axis)
        return words

    def _ones(self, words: Words, counts: Counts) -> None:
        ones, split = np.bitwise_count(words), self._split
        if self._is_narrow:  # 64 words of 64 bits at most: 16 bits hold their number
            counts[0] = np.add.reduce(ones[:split], axis=0, dtype=np.uint16)
            counts[1] = np.add.reduce(ones[split:], axis=0, dtype=np.uint16)
        else:
            counts[0] = np.add.reduce(ones[:, :split], axis=1, dtype=np.uint32)
            counts[1] = np.add.reduce(ones[:, split:], axis=1, dtype=np.uint32)
