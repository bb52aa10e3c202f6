"""Properties as bits over the two ends of a ranking, and how many rows have several of them at once.

Rows are bits in words of 64, first those of the top, then those of the bottom. A conjunction is counted by and-ing the
words of its items, so many conjunctions at a time as stay in cache. With few words an item numpy is slow at short rows:
then the words are stored word by word, and conjunctions run along rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoolArray", "Contrast", "Counter", "Counts", "IntArray"]

IntArray = NDArray[np.intp]
Counts = NDArray[np.int64]
Words = NDArray[np.uint64]
BoolArray = NDArray[np.bool_]

# Words that are and-ed together, 1 MB: measured; fewer cost more calls, more leave the cache.
_WORDS = 1 << 17
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
        sides = [_pack(np.take(masks, np.sort(rows), axis=1)) for rows in (top, bottom)]
        return cls(np.hstack(sides), sides[0].shape[1], len(top), len(bottom), attribute)

    def __len__(self) -> int:
        return len(self.bits)

    def singles(self) -> tuple[Counts, Counts]:
        """Numbers of top and of bottom rows that have each item."""
        ones = np.bitwise_count(self.bits)
        return (
            ones[:, : self.split].sum(axis=1, dtype=np.int64),
            ones[:, self.split :].sum(axis=1, dtype=np.int64),
        )

    def product(self, top: Counts, bottom: Counts) -> Counts:
        """L of counts."""
        return top * self.n_bottom - bottom * self.n_top

    def bound(self, top: Counts, bottom: Counts) -> Counts:
        """The most that L or -L of any specialisation can be."""
        return np.maximum(top * self.n_bottom, bottom * self.n_top)


def _pack(masks: BoolArray) -> Words:
    packed = np.packbits(masks, axis=1, bitorder="little")
    words = -(-max(packed.shape[1], 1) // 8)
    padded = np.zeros((len(masks), words * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)


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
        """Numbers of top and of bottom rows that have each of some items and each of others, of few rows."""
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
        """Numbers of top and of bottom rows, in two rows, that have all items in each row of `items`.

        Rows with the same number in `parent` stand together, differ in their last items alone, and these rise.
        """
        counts = np.empty((2, len(items)), dtype=np.int64)
        is_first = np.diff(parent, prepend=-1) != 0
        starts = np.append(np.flatnonzero(is_first), len(items))
        if self._is_narrow and len(items) >= _MANY * self._bits.shape[1] * (len(starts) - 1):
            some = max(1, self._step // self._bits.shape[1])
            for begin, end in zip(
                starts[:-1:some], [*starts[some:-1:some], len(items)], strict=True
            ):
                self._block(items[begin:end], is_first[begin:end], counts[:, begin:end])
            return counts
        if len(items) >= _FEW * (len(starts) - 1):
            for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
                self._partners(items[begin, :-1], items[begin:end, -1], counts[:, begin:end])
            return counts
        for first in range(0, len(items), self._step):
            some, new = items[first : first + self._step], is_first[first : first + self._step]
            new[0] = True
            common = self._all_of(some[new, :-1])
            words = common.take(np.cumsum(new) - 1, axis=self._axis)
            words &= self._bits.take(some[:, -1], axis=self._axis)
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
