"""Choose boxes: drop those whose points another box has too, take few that cover what all cover, find the nearest one.

Subset pruning (Fu et al., IJCNN 2004; Pang and Kasabov, IJCNN 2008, algorithm 4): within a class, a box whose covered
set is contained in that of another box goes. What stays are the maximal elements of a partial order, so a single
pass is the fixpoint. Taken from the largest set to the smallest, a set needs to be compared with kept ones only.

Greedy set cover: of all boxes the one that adds most is taken, again and again: points of its own class that no chosen
box of that class covers yet, of equal ones the shorter. The number of boxes is at most 1 + ln(m) times the least
possible.

The distance of x to a box is sqrt(sum_j (e_j / s_j)^2), where s_j is the scale of feature j and e_j = max(lower_j -
x_j, x_j - upper_j, 0) the excess. A feature of scale 0 (constant where the scale was measured) has no unit in which to
measure, so it takes no part.
"""

from __future__ import annotations

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.rule_base.shaping import as_finite_points
from clearmargin.rules import Box
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, Words, pack_bits

# Distances computed at a time, 2 MB: they stay in cache while the axes pass.
_CHUNK = 1 << 18


def prune_subsets(covers: BoolArray, codes: IntArray, sizes: IntArray) -> IntArray:
    """Choose the boxes whose covered points no other kept box of their class covers, too."""
    words, counts = pack_bits(covers), covers.sum(axis=1)
    order = np.lexsort((np.arange(len(covers)), sizes, -counts))
    order = order[counts[order] > 0]
    kept = [_maximal(words, order[codes[order] == code]) for code in np.unique(codes)]
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
    covers: BoolArray, box_codes: IntArray, codes: IntArray, sizes: IntArray
) -> IntArray:
    """Choose boxes until no other box adds to what is covered."""
    right = covers & (box_codes[:, None] == codes)
    gain = right.sum(axis=1)
    order: list[int] = []
    while (most := gain.max(initial=0)) > 0:
        best = np.flatnonzero(gain == most)
        order.append(int(best[np.argmin(sizes[best])]))
        new = np.flatnonzero(right[order[-1]])
        gain -= right[:, new].sum(axis=1)
        right[:, new] = False
    return np.array(order, dtype=np.intp)


def nearest_box(points: FloatArray, boxes: Box, scale: FloatArray) -> IntArray:
    """Return the nearest box of each point, the first of several that are equally near."""
    P = as_finite_points(points, boxes.n_features)
    if not len(boxes):
        raise InvalidValueError("there is no box, so none is nearest; give at least one")
    lower, upper = boxes.lower, boxes.upper
    used = np.flatnonzero((np.isfinite(lower) | np.isfinite(upper)).any(axis=0) & (scale > 0))
    nearest = np.empty(len(P), dtype=np.intp)
    step = max(1, _CHUNK // len(boxes))
    with np.errstate(over="ignore", under="ignore"):
        for start in range(0, len(P), step):
            rows = slice(start, start + step)
            squares = np.zeros((len(P[rows]), len(boxes)))
            for j in used:
                x = P[rows, j, None]
                excess = np.maximum(np.maximum(lower[:, j] - x, x - upper[:, j]), 0.0)
                squares += (excess / scale[j]) ** 2
            nearest[rows] = squares.argmin(axis=1)
    return nearest
