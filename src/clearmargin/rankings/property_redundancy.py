"""Which conjunctions say more than their parts.

A part of a conjunction p is what is left when one item z is dropped, p - z; that of a single item is "everything".
Three questions, from weak to strong: has p another cover than some shorter property (`same_cover`), has it more
leverage than each part (`strict_improvement`), and can that not be chance (`productive`; Webb, Machine Learning 68,
2007, 1-33: a rule is productive when it improves on all its generalisations).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearmargin.exceptions import InvalidValueError
from clearmargin.rankings.significance import Counts, fisher
from clearmargin.rules.boxes import Words, pack_bits
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = [
    "PartCounts",
    "conjunction_covers",
    "part_counts",
    "productive",
    "same_cover",
    "strict_improvement",
]

# A list of items for each conjunction, or all of them as rows of a table with -1 where one has fewer.
Conjunctions = Sequence[Sequence[int]] | NDArray[np.integer]

# Words that are and-ed together: what stays in cache.
_WORDS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class PartCounts:
    """How many examples of Top and Bottom have each conjunction and each of its parts.

    Parameters
    ----------
    tp, fp : ndarray of shape (c,)
        Examples of Top and of Bottom that have the conjunction.
    part_tp, part_fp : ndarray of shape (c, s)
        The same for what is left without the first, second ... item.
    is_part : ndarray of bool, shape (c, s)
        False behind the last item of a shorter conjunction; the counts there mean nothing.
    n_top, n_bottom : int
        Sizes of Top and Bottom.

    Examples
    --------
    >>> counts = part_counts([[0]], np.array([[True, True]]), np.array([[False, False, True]]))
    >>> counts.tp.tolist(), counts.fp.tolist(), counts.part_tp.tolist(), counts.part_fp.tolist()
    ([2], [1], [[2]], [[3]])
    """

    tp: Counts
    fp: Counts
    part_tp: Counts
    part_fp: Counts
    is_part: BoolArray
    n_top: int
    n_bottom: int

    def product(self) -> Counts:
        """N^2 times the leverage of the conjunctions, a whole number."""
        return self.tp * self.n_bottom - self.fp * self.n_top


def part_counts(
    conjunctions: Conjunctions, masks_top: BoolArray, masks_bottom: BoolArray
) -> PartCounts:
    """Count conjunctions and their parts.

    Parameters
    ----------
    conjunctions : sequence of sequences of int, or ndarray of int of shape (c, s)
        The items of each conjunction; in an array -1 fills the rows of shorter ones.
    masks_top : ndarray of bool, shape (p, n_top)
        Which examples of Top have each item.
    masks_bottom : ndarray of bool, shape (p, n_bottom)
        The same for Bottom.

    Returns
    -------
    PartCounts
        What `productive` and `strict_improvement` need.

    Examples
    --------
    >>> top = np.array([[True, True, True, False], [True, True, False, True]])
    >>> bottom = np.array([[True, False], [False, True]])
    >>> counts = part_counts([[0, 1]], top, bottom)
    >>> counts.tp.tolist(), counts.part_tp.tolist(), counts.part_fp.tolist()
    ([2], [[3, 3]], [[1, 1]])
    """
    sides = [_checked_masks(masks_top), _checked_masks(masks_bottom)]
    if len(sides[0]) != len(sides[1]):
        raise InvalidValueError(
            f"masks_top has {len(sides[0])} items and masks_bottom {len(sides[1])}; "
            "give the same items for both"
        )
    table = _item_table(conjunctions, len(sides[0]))
    (tp, part_tp), (fp, part_fp) = (_count_side(table, masks) for masks in sides)
    return PartCounts(tp, fp, part_tp, part_fp, table >= 0, sides[0].shape[1], sides[1].shape[1])


def productive(counts: PartCounts, side: ArrayLike | None = None) -> FloatArray:
    """Test each conjunction against its parts; the largest p-value counts, for all parts have to be improved on.

    For each item z, Fisher's exact test among the examples that have p - z: do those that also have z lie more on the
    side of p than those that do not? A part that lies on one side entirely cannot be improved on (p-value 1). For a
    single item this is the plain `fisher`.

    Parameters
    ----------
    counts : PartCounts
        From `part_counts`.
    side : array-like of {-1, 1}, shape (c,), optional
        +1 for conjunctions of Top, -1 for those of Bottom; the sign of the leverage when not given.

    Returns
    -------
    ndarray of shape (c,)
        p-values.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> masks = rng.random((3, 200)) < 0.5
    >>> in_top = masks[0] & masks[1] | (rng.random(200) < 0.3)
    >>> counts = part_counts([[0, 1], [0, 2]], masks[:, in_top], masks[:, ~in_top])
    >>> (productive(counts) <= 0.05).tolist()
    [True, False]
    """
    within = fisher(
        counts.tp[:, None],
        counts.fp[:, None],
        counts.part_tp,
        counts.part_fp,
        _sides(counts, side)[:, None],
    )
    return np.asarray(np.where(counts.is_part, within, 0.0).max(axis=1, initial=0.0))


def strict_improvement(counts: PartCounts, side: ArrayLike | None = None) -> BoolArray:
    """Tell which conjunctions have more leverage, on their side, than each of their parts.

    Parameters
    ----------
    counts : PartCounts
        From `part_counts`.
    side : array-like of {-1, 1}, shape (c,), optional
        +1 for conjunctions of Top, -1 for those of Bottom; the sign of the leverage when not given.

    Returns
    -------
    ndarray of bool, shape (c,)
        Compared in whole numbers. The part of a single item, everything, has leverage 0.

    Examples
    --------
    >>> top = np.array([[True, True, True], [True, True, True], [True, True, False]])
    >>> bottom = np.array([[True, False, False], [False, True, False], [True, False, False]])
    >>> strict_improvement(part_counts([[0], [0, 1], [0, 2]], top, bottom)).tolist()
    [True, True, False]
    """
    towards = _sides(counts, side)
    product = towards * counts.product()
    parts = counts.part_tp * counts.n_bottom - counts.part_fp * counts.n_top
    above = product[:, None] > towards[:, None] * parts
    return np.asarray((above | ~counts.is_part).all(axis=1))


def conjunction_covers(conjunctions: Conjunctions, masks: BoolArray) -> Words:
    """Give the covers of conjunctions, as words of 64 examples.

    Parameters
    ----------
    conjunctions : sequence of sequences of int, or ndarray of int of shape (c, s)
        The items of each conjunction; in an array -1 fills the rows of shorter ones.
    masks : ndarray of bool, shape (p, n)
        Which examples have each item.

    Returns
    -------
    ndarray of uint64, shape (c, words)
        What `same_cover` compares.

    Examples
    --------
    >>> masks = np.array([[True, True, False], [False, True, True]])
    >>> conjunction_covers([[0], [0, 1]], masks).tolist()
    [[3], [2]]
    """
    masks = _checked_masks(masks)
    return _cover(_item_table(conjunctions, len(masks)), _with_everything(masks))


def same_cover(covers: BoolArray | Words, size: ArrayLike) -> IntArray:
    """Find for each property the one that stands for all with the same cover: the shortest, then the first.

    Parameters
    ----------
    covers : ndarray of bool or of uint64, shape (c, n)
        Which examples of Top and Bottom have each property; packed ones come from `conjunction_covers`.
    size : array-like of int, shape (c,)
        Numbers of items.

    Returns
    -------
    ndarray of int, shape (c,)
        Positions. Properties that stand for themselves have their own: keep those.

    Examples
    --------
    >>> masks = np.array([[True, True, False], [True, False, True], [True, True, False]])
    >>> same_cover(masks, [2, 1, 1]).tolist()
    [2, 1, 2]
    """
    sizes, rows = np.asarray(size), np.asarray(covers)
    if rows.ndim != 2 or rows.dtype not in (np.bool_, np.uint64):
        raise InvalidValueError(
            f"covers has shape {rows.shape} and type {rows.dtype}; "
            "give one row of bool, or of packed uint64, for each property"
        )
    if sizes.shape != rows.shape[:1]:
        raise InvalidValueError(
            f"size has shape {sizes.shape}; give one size for each of the {len(rows)} properties"
        )
    if rows.size == 0:  # without examples all covers are the same
        return np.full(len(rows), np.argmin(sizes) if len(rows) else 0, dtype=np.intp)
    words = pack_bits(rows.astype(np.bool_)) if rows.dtype == np.bool_ else rows
    order = np.argsort(sizes, kind="stable")
    # A row as one value of many bytes: these sort faster than rows do.
    keys = np.ascontiguousarray(words[order]).view(f"V{8 * words.shape[1]}")[:, 0]
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    kept = np.empty(len(rows), dtype=np.intp)
    kept[order] = order[first[group]]
    return kept


def _sides(counts: PartCounts, side: ArrayLike | None) -> Counts:
    if side is None:
        return np.sign(counts.product())
    sides = np.asarray(side)
    if sides.shape != counts.tp.shape or not np.isin(sides, (-1, 1)).all():
        raise InvalidValueError(
            f"side has shape {sides.shape} or other values than 1 (Top) and -1 (Bottom); "
            f"give one for each of the {len(counts.tp)} conjunctions"
        )
    return sides.astype(np.int64)


def _count_side(table: IntArray, masks: BoolArray) -> tuple[Counts, Counts]:
    """Count examples that have each conjunction, and those that have it without one of its items."""
    words = _with_everything(masks)
    whole = np.empty(len(table), dtype=np.int64)
    parts = np.empty(table.shape, dtype=np.int64)
    step = max(1, _WORDS // max(1, words.shape[1]))
    for start in range(0, len(table), step):
        rows = slice(start, start + step)
        whole[rows] = _ones(_cover(table[rows], words))
        for j in range(table.shape[1]):
            without = table[rows].copy()
            without[:, j] = -1
            parts[rows, j] = _ones(_cover(without, words))
    return whole, parts


def _ones(words: Words) -> Counts:
    return np.asarray(np.bitwise_count(words).sum(axis=1, dtype=np.int64))


def _with_everything(masks: BoolArray) -> Words:
    """Pack items; item -1 is one that all examples have, so that a missing item changes nothing."""
    return pack_bits(np.vstack([masks, np.ones((1, masks.shape[1]), dtype=np.bool_)]))


def _cover(table: IntArray, words: Words) -> Words:
    cover = words[table[:, 0]]
    for j in range(1, table.shape[1]):
        cover &= words[table[:, j]]
    return cover


def _item_table(conjunctions: Conjunctions, n_items: int) -> IntArray:
    """Write items as rows of one table, filled up with -1."""
    if isinstance(conjunctions, np.ndarray):
        if conjunctions.ndim != 2 or conjunctions.dtype.kind not in "iu":
            raise InvalidValueError(
                f"conjunctions have shape {conjunctions.shape} and type {conjunctions.dtype}; "
                "an array holds whole numbers in two dimensions"
            )
        table, filled = conjunctions.astype(np.intp), conjunctions != -1
    else:
        length = np.fromiter((len(items) for items in conjunctions), dtype=np.intp)
        filled = np.arange(length.max(initial=1)) < length[:, None]
        table = np.full(filled.shape, -1, dtype=np.intp)
        table[filled] = np.fromiter(chain.from_iterable(conjunctions), dtype=np.intp)
    if not filled.any(axis=1).all():
        raise InvalidValueError("a conjunction has no items; each needs at least one")
    wrong = filled & ((table < 0) | (table >= n_items))
    if wrong.any():
        raise InvalidValueError(
            f"item {table[wrong][0]} does not exist; there are items 0 to {n_items - 1}"
        )
    ordered = np.sort(table, axis=1)
    if np.any((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)):
        raise InvalidValueError("a conjunction has an item twice; name each item once")
    return table


def _checked_masks(masks: BoolArray) -> BoolArray:
    array = np.asarray(masks)
    if array.ndim != 2 or array.dtype != np.bool_:
        raise InvalidValueError(
            f"the masks have shape {array.shape} and type {array.dtype}; "
            "give one row of True and False for each item"
        )
    return array
