"""Fewer boxes: drop those whose points another box has too, and merge those whose hull stays clean.

Subset pruning (Fu et al., IJCNN 2004; Pang and Kasabov, IJCNN 2008, algorithm 4): within a class, a box whose covered
set is contained in that of another box goes. What stays are the maximal elements of a partial order, so a single
pass is the fixpoint. Taken from the largest set to the smallest, a set needs to be compared with kept ones only.

Merging: two boxes of a class are replaced by their hull while the hull holds no foreign point that neither of the two
held. A point is in the hull when in each direction it exceeds not both limits. With one word of bits for 64 foreign
points, a pair costs 2n words a piece. The pair whose hull grows least is merged first: large hulls taken early
block others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import DataError
from clearmargin.rule_base.packed_boxes import (
    BoolArray,
    Codes,
    FloatArray,
    IntArray,
    PackedBoxes,
    as_codes,
    as_finite_points,
    directions,
)
from clearmargin.rules.packing import Words, pack_bits

__all__ = ["merge_boxes", "prune_subsets"]


def prune_subsets(covers: BoolArray, codes: ArrayLike, sizes: ArrayLike | None = None) -> IntArray:
    """Choose the boxes whose covered points no other kept box of their class covers, too.

    Parameters
    ----------
    covers : ndarray of bool of shape (r, m)
        Which points each box covers, `PackedBoxes.contains`.
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
    """Of sets sorted from large to small, those contained in none before them."""
    kept: list[int] = []
    outside = np.empty((len(order), words.shape[1]), dtype=np.uint64)
    for b in order:
        # Nothing of the set lies outside a kept one: it is contained there.
        if (outside[: len(kept)] & words[b]).any(axis=1).all():
            outside[len(kept)] = ~words[b]
            kept.append(int(b))
    return np.array(kept, dtype=np.intp)


def merge_boxes(
    boxes: PackedBoxes, box_codes: ArrayLike, points: ArrayLike, codes: ArrayLike
) -> tuple[PackedBoxes, Codes]:
    """Replace boxes of a class by their hull as long as it brings in no foreign point.

    Parameters
    ----------
    boxes : PackedBoxes
        The boxes, r of them.
    box_codes : array-like of int of shape (r,)
        The class of each box.
    points : array-like of shape (m, n)
        Finite points.
    codes : array-like of int of shape (m,)
        Their classes.

    Returns
    -------
    merged : PackedBoxes
        Fewer boxes, or as many; every old box is in one of its class. A hull takes the place of the first box in it.
    merged_codes : ndarray of int
        Their classes.

    Examples
    --------
    >>> boxes = PackedBoxes([[0.0], [2.0], [6.0]], [[1.0], [3.0], [7.0]])
    >>> merged, codes = merge_boxes(boxes, [0, 0, 0], [[0.5], [2.5], [5.0], [6.5]], [0, 0, 1, 0])
    >>> merged.lower.ravel().tolist(), merged.upper.ravel().tolist()
    ([0.0, 6.0], [3.0, 7.0])
    """
    P = as_finite_points(points, boxes.n_features)
    point_codes = as_codes(codes, len(P), "codes of points")
    own_codes = as_codes(box_codes, len(boxes), "codes of boxes")
    limits, U = boxes.limits, directions(P)
    far = U.max(axis=1) if len(P) else np.ones(len(U))
    kept = np.ones(len(boxes), dtype=np.bool_)
    for code in np.unique(own_codes):
        index = np.flatnonzero(own_codes == code)
        merger = _Merger.of(limits[index], U[:, point_codes != code], far)
        alive = merger.run()
        limits[index], kept[index] = merger.limits, alive
    return PackedBoxes.from_limits(limits[kept]), own_codes[kept]


@dataclass(slots=True)
class _Merger:
    """Boxes of one class while they are merged.

    `below` says for each direction, box and foreign point whether the point keeps to the limit; `held` is the
    conjunction over directions; `growth` of a pair is inf where it may not be merged.
    """

    limits: FloatArray
    below: Words
    held: Words
    reach: FloatArray
    growth: FloatArray

    @classmethod
    def of(cls, limits: FloatArray, foreign: FloatArray, far: FloatArray) -> _Merger:
        k = len(limits)
        below = np.stack(
            [pack_bits(u <= limit[:, None]) for u, limit in zip(foreign, limits.T, strict=True)]
        )
        held = np.bitwise_and.reduce(below, axis=0)
        # Bounds in units of the range of the points, and no further out than it: all features weigh the same.
        near = -np.roll(far, len(far) // 2)
        width = np.where(far > near, far / 2 - near / 2, 1.0)
        reach = np.clip((np.clip(limits, near, far) / 2 - near / 2) / width, 0.0, 1.0)
        return cls(limits.copy(), below, held, reach, np.full((k, k), math.inf))

    def run(self) -> BoolArray:
        """Merge until no pair is left, and tell which boxes are."""
        alive = np.ones(len(self.limits), dtype=np.bool_)
        for i in range(len(alive)):
            self._compare(i, np.arange(i + 1, len(alive)))
        while len(alive):
            # The table is symmetric, so the first of the least entries has i < j.
            i, j = divmod(int(np.argmin(self.growth)), len(alive))
            if self.growth[i, j] == math.inf:
                break
            for table in (self.limits, self.reach):
                np.maximum(table[i], table[j], out=table[i])
            self.below[:, i] |= self.below[:, j]
            self.held[i] = np.bitwise_and.reduce(self.below[:, i], axis=0)
            alive[j] = False
            self.growth[j] = self.growth[:, j] = math.inf
            self._compare(i, np.flatnonzero(alive & (np.arange(len(alive)) != i)))
        return alive

    def _compare(self, i: int, others: IntArray) -> None:
        """Find how much the hulls of one box with others grow."""
        if not len(others):
            return
        allowed = self._clean(i, others)
        hull = np.maximum(self.reach[i], self.reach[others])
        grown = 2 * hull.sum(axis=1) - self.reach[i].sum() - self.reach[others].sum(axis=1)
        self.growth[others, i] = self.growth[i, others] = np.where(allowed, grown, math.inf)

    def _clean(self, i: int, others: IntArray) -> BoolArray:
        """Whether each hull holds no foreign point that neither of its two boxes held."""
        inside = ~(self.held[i] | self.held[others])
        for below in self.below:
            inside &= below[i] | below[others]
        clean: BoolArray = np.logical_not(inside.any(axis=1))
        return clean
