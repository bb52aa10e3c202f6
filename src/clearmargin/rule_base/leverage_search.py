r"""All conjunctions of properties that set the top of a ranking apart from its bottom, or the best of them, exactly.

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

Rows are bits (`leverage_bits`). Only indices and counts are kept from level to level, never bits, so that memory is
bounded by the number of conjunctions, which `limit` bounds, and a table of pairs of fixed size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.rule_base.leverage_bits import BoolArray, Contrast, Counter, Counts, IntArray

__all__ = ["Contrast", "Found", "least_product", "search_above", "search_best"]

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
    """The least ``|L|`` of conjunctions that reach a leverage, taking it as the decimal that it reads as.

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


def search_best(contrast: Contrast, k: int, max_size: int, *, limit: int = 1_000_000) -> Found:
    """Find the k conjunctions with the largest ``|L|``.

    Parameters
    ----------
    contrast : Contrast
        The items.
    k : int
        How many; fewer come back if there are fewer with L other than zero. Of equal ones those with fewer items come
        first, then those with the first items.
    max_size : int
        Most items in a conjunction.
    limit : int, default 1,000,000
        Most conjunctions to keep on the way; more are an error.

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
    return _Search(contrast, max_size, limit, k=k).run()


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
        contrast: Contrast,
        max_size: int,
        limit: int,
        threshold: int = 1,
        k: int | None = None,
    ):
        top, bottom = contrast.singles()
        bound = contrast.bound(top, bottom)
        self._order = np.argsort(bound if k is None else -bound, kind="stable")
        self._contrast, self._counter = contrast, Counter(contrast, self._order)
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
        """Those with a specialisation that may reach the threshold."""
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
                self._too_many()
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
        """Pairs of the same parent that may reach the threshold, in blocks."""
        same = (level.items[1:, :-1] == level.items[:-1, :-1]).all(axis=1)
        ends = np.append(np.flatnonzero(~same) + 1, len(level.items))
        end = ends[np.searchsorted(ends, np.arange(len(level.items)), side="right")]
        partners = end - np.arange(len(level.items)) - 1
        total = np.cumsum(partners)
        first = 0
        while first < len(partners):
            before = total[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(total, before + _PAIRS, side="right")))
            count = partners[first:last]
            left = np.repeat(np.arange(first, last), count)
            starts = np.cumsum(count) - count
            right = left + 1 + np.arange(len(left)) - np.repeat(starts, count)
            first = last
            last_left, last_right = level.items[left, -1], level.items[right, -1]
            if self._joint is not None:
                other = self._joint[last_left, last_right]
            else:
                other = self._attribute[last_left] != self._attribute[last_right]
            left, right = left[other], right[other]
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
            self._raise_threshold()
            if self._count_kept > self._limit:
                self._too_many()
        elif self._k is not None:
            self._raise_threshold()

    def _raise_threshold(self) -> None:
        """In a search for the best k, forget what is below the k-th, and never look at its like again."""
        if self._k is None or self._count_kept <= self._k:
            return
        items, top, bottom = (np.concatenate(part) for part in zip(*self._kept, strict=True))
        size = np.abs(self._contrast.product(top, bottom))
        at = len(size) - self._k
        self._threshold = max(self._threshold, int(np.partition(size, at)[at]))
        good = size >= self._threshold
        self._kept = [(items[good], top[good], bottom[good])]
        self._count_kept = int(good.sum())

    def _too_many(self) -> None:
        raise InvalidValueError(
            f"more than {self._limit:,} properties reach the threshold; raise min_leverage, lower max_size, "
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
