"""All conjunctions of properties that set the top of a ranking apart from its bottom, or the best of them, exactly.

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

Weak items come first, so that few conjunctions share all but their last items and few pairs are formed at all; in a
search for the best strong items come first, because their conjunctions raise the threshold.

Rows are bits. Only indices and counts are kept from level to level, never bits, so that memory is
bounded by the number of conjunctions, which `limit` bounds, and a table of pairs of fixed size.

**Counting** (`Counter`). Rows are bits in words of 64, first those of the top, then those of the bottom. A conjunction
is counted by and-ing the words of its items, so many conjunctions at a time as stay in cache. With few words an item
numpy is slow at short rows: then the words are stored word by word, and conjunctions run along rows.

**Weights** (`WeightedContrast`). L is a weighted sum over the rows of a conjunction, with the weight B for each row of
the top and -T for each of the bottom. With any other whole numbers g_i in their place, t is the positive and b the
negative part of the weight covered, L = t - b, and bounds and search are the same. Rows are then truth values
and not bits, and sums of whole numbers below 2^53 are exact in floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import InvalidValueError, TimeLimitError
from clearmargin.rules.boxes import Words, pack_bits
from clearmargin.rules.value import BoolArray, IntArray

__all__ = [
    "Contrast",
    "Counter",
    "Counts",
    "Found",
    "WeightedContrast",
    "least_product",
    "search_above",
    "search_best",
    "sibling_pairs",
]

Counts = NDArray[np.int64]

# Pairs that are looked at together before anything is counted: measured; larger arrays cost more to get than to fill.
_PAIRS = 1 << 13
# Items up to which a table of all their pairs is kept: 64 MB.
_TABLE = 8_000


@dataclass(frozen=True, slots=True)
class Found:
    """Conjunctions with their counts, the largest leverage first.

    Parameters
    ----------
    items : ndarray of int of shape (r, max_size)
        Items of each conjunction in rising order, -1 where it has fewer.
    top, bottom : ndarray of int of shape (r,)
        Numbers of top and bottom rows that have it.
    evaluated : int
        How many conjunctions were counted to find them.
    """

    items: IntArray
    top: Counts
    bottom: Counts
    evaluated: int

    def __len__(self) -> int:
        return len(self.top)


def least_product(min_leverage: float, n_top: int, n_bottom: int) -> int:
    """Return the least ``|L|`` of conjunctions that reach a leverage, taking it as the decimal that it reads as.

    Examples
    --------
    >>> least_product(0.1, 5, 5), least_product(0.08, 50, 50)
    (10, 800)
    """
    exact = Fraction(repr(float(min_leverage))) * (n_top + n_bottom) ** 2
    return -(-exact.numerator // exact.denominator)


def search_above(
    contrast: Contrast, threshold: int, max_size: int, *, limit: int = 1_000_000
) -> Found:
    """Find all conjunctions with ``|L|`` of at least a threshold.

    Parameters
    ----------
    contrast : Contrast
        The items.
    threshold : int
        At least 1; see `least_product`.
    max_size : int
        Most items in a conjunction.
    limit : int, default 1,000,000
        Most conjunctions to keep; more are an error.

    Returns
    -------
    Found
        All of them.

    Examples
    --------
    >>> masks = np.array([[1, 1, 0, 0], [1, 1, 1, 0]], dtype=bool)
    >>> contrast = Contrast.of(masks, np.array([0, 1]), np.array([2, 3]), np.array([0, 1]))
    >>> search_above(contrast, 4, 2).items.tolist()
    [[0, -1], [0, 1]]
    """
    return _Search(contrast, max_size, limit, threshold=threshold).run()


def search_best(
    contrast: Contrast | WeightedContrast,
    k: int,
    max_size: int,
    *,
    threshold: int = 1,
    limit: int = 1_000_000,
    is_over: Callable[[int], bool] | None = None,
) -> Found:
    """Find the k conjunctions with the largest ``|L|``.

    Parameters
    ----------
    contrast : Contrast or WeightedContrast
        The items.
    k : int
        How many; fewer come back if there are fewer with L other than zero. Of equal ones those with fewer items come
        first, then those with the first items.
    max_size : int
        Most items in a conjunction.
    threshold : int, default 1
        The least ``|L|`` that is of interest.
    limit : int, default 1,000,000
        Most conjunctions to keep on the way; more are an error.
    is_over : callable, optional
        Told how many conjunctions were counted since it was asked last, it says whether to give up with a
        `TimeLimitError`.

    Returns
    -------
    Found
        The best.

    Examples
    --------
    >>> masks = np.array([[1, 1, 0, 0], [1, 1, 1, 0]], dtype=bool)
    >>> contrast = Contrast.of(masks, np.array([0, 1]), np.array([2, 3]), np.array([0, 1]))
    >>> search_best(contrast, 1, 2).items.tolist()
    [[0, -1]]
    """
    return _Search(contrast, max_size, limit, threshold, k=k, is_over=is_over).run()


def sibling_pairs(items: IntArray, most: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield pairs of conjunctions that have all but their last items in common, in blocks.

    Parameters
    ----------
    items : ndarray of int of shape (r, size)
        The items of each conjunction; those with the same first items stand together.
    most : int
        About how many pairs a block has.

    Yields
    ------
    left, right : ndarray of int
        Positions of the two, the earlier one first.

    Examples
    --------
    >>> [(left.tolist(), right.tolist()) for left, right in sibling_pairs(np.array([[0, 1], [0, 2], [1, 2]]), 10)]
    [([0], [1])]
    """
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
    def __init__(
        self,
        contrast: Contrast | WeightedContrast,
        max_size: int,
        limit: int,
        threshold: int = 1,
        k: int | None = None,
        is_over: Callable[[int], bool] | None = None,
    ):
        top, bottom = contrast.singles()
        bound = contrast.bound(top, bottom)
        self._order = np.argsort(bound if k is None else -bound, kind="stable")
        self._contrast, self._counter = contrast, contrast.counter(self._order)
        signs = None if isinstance(contrast, Contrast) else contrast.sign
        self._signs = None if signs is None else signs[self._order]
        self._is_over, self._told = is_over, 0
        self._joint: BoolArray | None = None
        self._attribute = contrast.attribute[self._order]
        self._singles = top[self._order], bottom[self._order]
        self._max_size, self._limit, self._k = max_size, limit, k
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
            counted, self._told = self._evaluated - self._told, self._evaluated
            if self._is_over is not None and self._is_over(counted):
                raise TimeLimitError("the search for conjunctions ran out of time")
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

    def _sizes(self, items: IntArray, top: Counts, bottom: Counts) -> Counts:
        """Compute ``|L|``; 0 where its sign is not the one that all items allow."""
        product = self._contrast.product(top, bottom)
        if self._signs is None:
            return np.abs(product)
        signs = np.where(items >= 0, self._signs[items], 0)
        wrong = ((signs < 0) & (product[:, None] > 0)) | ((signs > 0) & (product[:, None] < 0))
        return np.where(wrong.any(axis=1), 0, np.abs(product))

    def _keep(self, items: IntArray, top: Counts, bottom: Counts) -> None:
        size = self._sizes(items, top, bottom)
        good = size >= self._threshold
        if good.any():
            wide = np.full((int(good.sum()), self._max_size), -1)
            wide[:, : items.shape[1]] = items[good]
            self._kept.append((wide, top[good], bottom[good]))
            self._count_kept += len(wide)
        if self._count_kept > self._limit:
            self._raise_threshold()
            if self._count_kept > self._limit:
                self._too_many(self._limit, "reach")
        elif self._k is not None:
            self._raise_threshold()

    def _raise_threshold(self) -> None:
        """Raise the minimum leverage to that of the k-th best, and forget what is below it."""
        if self._k is None or self._count_kept <= self._k:
            return
        items, top, bottom = (np.concatenate(part) for part in zip(*self._kept, strict=True))
        size = self._sizes(items, top, bottom)
        at = len(size) - self._k
        self._threshold = max(self._threshold, int(np.partition(size, at)[at]))
        good = size >= self._threshold
        self._kept = [(items[good], top[good], bottom[good])]
        self._count_kept = int(good.sum())

    def _too_many(self, limit: int, what: str) -> None:
        raise InvalidValueError(
            f"more than {limit:,} properties {what} the threshold; raise min_leverage, lower max_size, "
            "or ask for the best k"
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
        order = np.lexsort(keys)[: self._k]
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
    """Items as bits over the top and the bottom rows.

    Parameters
    ----------
    bits : ndarray of uint64 of shape (p, w)
        For each item, words of top rows and after them words of bottom rows.
    split : int
        Number of words of top rows.
    n_top, n_bottom : int
        Numbers of rows.
    attribute : ndarray of int of shape (p,)
        The attribute of each item.

    Examples
    --------
    >>> masks = np.array([[True, True, False], [False, True, True]])
    >>> contrast = Contrast.of(masks, np.array([0, 1]), np.array([2]), np.array([0, 1]))
    >>> contrast.n_top, contrast.n_bottom, contrast.bits.tolist()
    (2, 1, [[3, 0], [2, 1]])
    """

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
    """Counts conjunctions of items in a given order.

    Parameters
    ----------
    contrast : Contrast
        The items.
    order : ndarray of int of shape (p,)
        Item k of the counter is item ``order[k]`` of the contrast.

    Examples
    --------
    >>> masks = np.array([[True, True, False], [False, True, True]])
    >>> contrast = Contrast.of(masks, np.array([0, 1]), np.array([2]), np.array([0, 1]))
    >>> Counter(contrast, np.array([1, 0])).count(np.array([[0, 1]]), np.array([0])).tolist()
    [[1], [0]]
    """

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
        """Count the top and the bottom rows, in two rows, that have all items in each row of `items`.

        Rows with the same number in `parent` stand together, differ in their last items alone, and these rise.
        """
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


@dataclass(frozen=True, slots=True)
class WeightedContrast:
    """Items over rows with weights.

    Parameters
    ----------
    masks : ndarray of bool of shape (p, m)
        The rows that have each item.
    weights : ndarray of shape (m,)
        Whole numbers with signs; their magnitudes add up to less than 2^53.
    attribute : ndarray of int of shape (p,)
        The attribute of each item.
    sign : ndarray of int of shape (p,), optional
        The sign that L of a conjunction with an item must have; 0 for any.

    Examples
    --------
    >>> masks = np.array([[True, True, False], [False, True, True]])
    >>> contrast = WeightedContrast(masks, np.array([3.0, 2.0, -4.0]), np.array([0, 1]))
    >>> found = search_best(contrast, 2, 2)
    >>> found.items.tolist(), (found.top - found.bottom).tolist()
    ([[0, -1], [1, -1]], [5, -2])
    """

    masks: BoolArray
    weights: NDArray[np.float64]
    attribute: IntArray
    sign: IntArray | None = None

    def __len__(self) -> int:
        return len(self.masks)

    @property
    def parts(self) -> NDArray[np.float64]:
        """The weights above zero, and those below it without their sign, in two columns."""
        return np.column_stack([np.maximum(self.weights, 0.0), np.maximum(-self.weights, 0.0)])

    @property
    def n_top(self) -> int:
        """The sum of the weights above zero."""
        return int(self.parts[:, 0].sum())

    @property
    def n_bottom(self) -> int:
        """The sum of the weights below zero, without their sign."""
        return int(self.parts[:, 1].sum())

    def singles(self) -> tuple[Counts, Counts]:
        """Add up the weights above and below zero of the rows that have each item."""
        sums = self.masks.astype(np.float64) @ self.parts
        return sums[:, 0].astype(np.int64), sums[:, 1].astype(np.int64)

    def product(self, top: Counts, bottom: Counts) -> Counts:
        """Compute L."""
        return top - bottom

    def bound(self, top: Counts, bottom: Counts) -> Counts:
        """Return the most that L or -L of any specialisation can be."""
        return np.maximum(top, bottom)

    def counter(self, order: IntArray) -> WeightCounter:
        """Add up weights of conjunctions of the items in an order."""
        return WeightCounter(self, order)


class WeightCounter:
    """Adds up weights of conjunctions of items in a given order; as `Counter` counts rows.

    Parameters
    ----------
    contrast : WeightedContrast
        The items.
    order : ndarray of int of shape (p,)
        Item k of the counter is item ``order[k]`` of the contrast.
    """

    # All pairs are one product of matrices.
    is_narrow = True

    def __init__(self, contrast: WeightedContrast, order: IntArray):
        self._masks, self._parts = contrast.masks[order], contrast.parts

    def count(self, items: IntArray, parent: IntArray) -> Counts:
        """Add up, in two rows, the weights above and below zero of the rows that have all items in a row of `items`.

        Rows with the same number in `parent` stand together and differ in their last items alone.
        """
        counts = np.empty((2, len(items)), dtype=np.int64)
        starts = np.append(np.flatnonzero(np.diff(parent, prepend=-1)), len(items)).tolist()
        for begin, end in pairwise(starts):
            rows = np.flatnonzero(self._masks[items[begin, :-1]].all(axis=0))
            block = self._masks[items[begin:end, -1]][:, rows]
            counts[:, begin:end] = (block.astype(np.float64) @ self._parts[rows]).T
        return counts

    def count_all(self, items: IntArray, others: IntArray) -> Counts:
        """Add up weights of each of some items together with each of others: an array of shape (2, items, others)."""
        left, right = (self._masks[each].astype(np.float64) for each in (items, others))
        return np.stack([(left * part) @ right.T for part in self._parts.T]).astype(np.int64)
