"""Choose boxes: drop those whose points another box has too, and take few that cover what all of them cover.

Subset pruning (Fu et al., IJCNN 2004; Pang and Kasabov, IJCNN 2008, algorithm 4): within a class, a box whose covered
set is contained in that of another box goes. What stays are the maximal elements of a partial order, so a single
pass is the fixpoint. Taken from the largest set to the smallest, a set needs to be compared with kept ones only.

Greedy set cover with weights: of all boxes the one that adds most is taken, again and again: the weight of points of
its own class that no chosen box of that class covers yet, minus `penalty` times the weight of points of other classes
that no chosen box covers wrongly yet. Without a penalty every point of a class that some box of the class covers stays
covered; with equal weights the number of boxes is at most 1 + ln(m) times the least possible.

Weights that let a small class count more act through the penalty: they make a box dear that swallows its points.
What one class gains never depends on the boxes of another, so without a penalty they only change the order.

Boxes made fit to read: no bound that excludes nothing, no box whose points another box has.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rule_base.box_rules import ExtractionTask, FoundBoxes
from clearmargin.rule_base.shaping import as_codes
from clearmargin.rule_base.shaping import shorten as shorten_boxes
from clearmargin.rules.boxes import Boxes, Words, pack_bits
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["greedy_cover", "prune_subsets", "tidy_boxes"]


# Gains are updated and not summed anew, so what is left of them may be rounding.
_ROUNDING = 1e-12


def prune_subsets(covers: BoolArray, codes: ArrayLike, sizes: ArrayLike | None = None) -> IntArray:
    """Choose the boxes whose covered points no other kept box of their class covers, too.

    Parameters
    ----------
    covers : ndarray of bool of shape (r, m)
        Which points each box covers, `Boxes.masks`.
    codes : array-like of int of shape (r,)
        The class of each box.
    sizes : array-like of shape (r,), optional
        The number of conditions of each box. Of boxes that cover the same points the shortest stays, then the first.

    Returns
    -------
    ndarray of int
        The boxes that stay, in ascending order. Boxes that cover nothing go.

    Examples
    --------
    >>> covers = np.array([[True, False, False], [True, True, False], [True, True, False]])
    >>> prune_subsets(covers, [0, 0, 0]).tolist(), prune_subsets(covers, [1, 0, 0], [2, 4, 3]).tolist()
    ([1], [0, 2])
    """
    table = np.asarray(covers, dtype=np.bool_)
    if table.ndim != 2:
        raise DataError(f"covers must have two dimensions (boxes, points), not {table.ndim}")
    box_codes = as_codes(codes, len(table), "codes of boxes")
    lengths = np.zeros(len(table)) if sizes is None else np.asarray(sizes, dtype=np.float64)
    if lengths.shape != (len(table),):
        raise DataError(f"sizes must have shape ({len(table)},), not {lengths.shape}")
    words, counts = pack_bits(table), table.sum(axis=1)
    order = np.lexsort((np.arange(len(table)), lengths, -counts))
    order = order[counts[order] > 0]
    kept = [_maximal(words, order[box_codes[order] == code]) for code in np.unique(box_codes)]
    return np.sort(np.concatenate([np.zeros(0, dtype=np.intp), *kept]))


def _maximal(words: Words, order: IntArray) -> IntArray:
    """Select, of sets sorted from large to small, those contained in none before them."""
    kept: list[int] = []
    outside = np.empty((len(order), words.shape[1]), dtype=np.uint64)
    for b in order:
        # Nothing of the set lies outside a kept one: it is contained there.
        if (outside[: len(kept)] & words[b]).any(axis=1).all():
            outside[len(kept)] = ~words[b]
            kept.append(int(b))
    return np.array(kept, dtype=np.intp)


def greedy_cover(
    covers: BoolArray,
    box_codes: ArrayLike,
    codes: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    penalty: float = 0.0,
    min_gain: int = 1,
    sizes: ArrayLike | None = None,
) -> IntArray:
    """Choose boxes until no other box adds to what is covered.

    Parameters
    ----------
    covers : ndarray of bool of shape (r, m)
        Which points each box covers, `Boxes.masks`.
    box_codes : array-like of int of shape (r,)
        The class of each box.
    codes : array-like of int of shape (m,)
        The class of each point.
    weights : array-like of shape (m,), optional
        What each point counts, not negative; 1 when not given. A point of weight 0 need not be covered.
    penalty : float, default 0.0
        What a point of another class costs, in units of its weight. A box that costs what it brings is not chosen.
    min_gain : int, default 1
        Minimum number of points of its own class that a box has to add. Larger, boxes for a few odd points go.
    sizes : array-like of shape (r,), optional
        The number of conditions of each box: of boxes that add the same the shortest is taken, then the first.

    Returns
    -------
    ndarray of int
        The chosen boxes, in the order in which they were chosen.

    Examples
    --------
    >>> covers = np.array([[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 1, 1]], dtype=bool)
    >>> greedy_cover(covers, [0, 0, 0], [0, 0, 0, 0]).tolist()
    [1, 0]
    >>> greedy_cover(covers, [0, 0, 0], [0, 0, 1, 0], penalty=3.0).tolist()
    [0]
    """
    table = np.asarray(covers, dtype=np.bool_)
    if table.ndim != 2:
        raise DataError(f"covers must have two dimensions (boxes, points), not {table.ndim}")
    r, m = table.shape
    same_class = as_codes(box_codes, r, "codes of boxes")[:, None] == as_codes(
        codes, m, "codes of points"
    )
    w = _numbers(weights, m, "weights", 1.0)
    lengths = _numbers(sizes, r, "sizes", 0.0)
    if not penalty >= 0:
        raise InvalidValueError(f"penalty must not be negative, but is {penalty}")
    right, wrong = table & same_class, table & ~same_class
    count = right.sum(axis=1)
    gain = right @ w - penalty * (wrong @ w) if penalty else right @ w
    least = _ROUNDING * max(1.0, penalty) * float(w.sum())
    order: list[int] = []
    while True:
        usable = (count >= max(1, min_gain)) & (gain > least)
        if not usable.any():
            return np.array(order, dtype=np.intp)
        b = _best(gain, usable, lengths, least)
        order.append(b)
        new = np.flatnonzero(right[b])
        right_new = right[:, new]
        count -= right_new.sum(axis=1)
        gain -= right_new @ w[new]
        right[:, new] = False
        if penalty:
            spoilt = np.flatnonzero(wrong[b])
            gain += penalty * (wrong[:, spoilt] @ w[spoilt])
            wrong[:, spoilt] = False


def _best(gain: FloatArray, usable: BoolArray, lengths: FloatArray, tolerance: float) -> int:
    top = gain[usable].max()
    best = np.flatnonzero(usable & (gain >= top - tolerance))
    return int(best[np.argmin(lengths[best])])


def _numbers(values: ArrayLike | None, n: int, what: str, default: float) -> FloatArray:
    if values is None:
        return np.full(n, default)
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n,):
        raise DataError(f"{what} must have shape ({n},), not {array.shape}")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise InvalidValueError(f"{what} must be finite and not negative")
    return array


def tidy_boxes(task: ExtractionTask, boxes: Boxes, codes: IntArray, *, shorten: bool) -> FoundBoxes:
    """Drop bounds that exclude no training point of another class, then boxes that add nothing.

    Parameters
    ----------
    task : ExtractionTask
        The training points and their classes.
    boxes : Boxes
        The boxes.
    codes : ndarray of int of shape (r,)
        Positions of their classes.
    shorten : bool
        Whether to do so. Without, only boxes whose points another box of their class has go.

    Returns
    -------
    FoundBoxes
        Boxes that cover no other training points of foreign classes than before.
    """
    if shorten:
        boxes = shorten_boxes(boxes, task.points, task.codes, codes)
    covers, sizes = boxes.masks(task.points), boxes.n_conditions
    kept = prune_subsets(covers, codes, sizes)
    if shorten:
        kept = kept[greedy_cover(covers[kept], codes[kept], task.codes, sizes=sizes[kept])]
    return FoundBoxes.observed(boxes.take(kept), codes[kept])
