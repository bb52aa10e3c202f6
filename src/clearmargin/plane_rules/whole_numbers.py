"""No whole number left over between two rules: 27 belongs to `x <= 26` or to `x >= 28` wherever the proof allows it.

Boxes end at values that rows have, and bounds are rounded inwards to whole numbers. So a single whole number can be
left over between two boxes that face each other, although one of them could have it. It is given to the one below, if
that one is still proved and meets no other box of its class, else to the one above. Larger distances stay: there the
data say nothing about where the classes part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clearmargin.models.score_error import Guard
from clearmargin.plane_rules.class_rules import ClassBoxes
from clearmargin.plane_rules.members import members_of
from clearmargin.plane_rules.proof import is_inside_all
from clearmargin.rules import Box, FeatureSpace
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["share_whole_numbers"]


@dataclass(slots=True)
class _Owned:
    """A box, its class, and whether it was changed."""

    box: Box
    owner: int
    is_changed: bool = False


def share_whole_numbers(
    found: Sequence[ClassBoxes],
    guards: Sequence[Sequence[Guard]],
    columns: FeatureSpace,
    limits: Box,
    X: FloatArray,
    wanted: Sequence[BoolArray],
    *,
    disjoint: bool,
) -> list[ClassBoxes]:
    """Let boxes grow by single whole numbers that lie between two of them.

    Parameters
    ----------
    found : sequence of ClassBoxes
        The proved boxes of all classes.
    guards : sequence of sequences of Guard
        What proves a box of each class.
    columns : FeatureSpace
        Which columns take whole numbers.
    limits : Box
        Where features are declared to live.
    X : ndarray of shape (m, n)
        All points.
    wanted : sequence of ndarray of bool of shape (m,)
        For each class the points by which its boxes are ordered.
    disjoint : bool
        Whether no two boxes of a class may meet.

    Returns
    -------
    list of ClassBoxes
        The same number of boxes, none smaller than before, all proved.
    """
    boxes = [_Owned(box, k) for k, result in enumerate(found) for box in result.boxes]
    for j in np.flatnonzero(columns.integer).tolist():
        for below, above in _facing(boxes, j):
            left, right = boxes[below], boxes[above]
            # One of the two may have grown since.
            if not _leave_one(left.box, right.box, j):
                continue
            wider = _with_bound(left.box, j, upper=float(left.box.upper[j]) + 1.0)
            if not _take(boxes, below, wider, guards, limits, disjoint=disjoint):
                wider = _with_bound(right.box, j, lower=float(right.box.lower[j]) - 1.0)
                _take(boxes, above, wider, guards, limits, disjoint=disjoint)
    if not any(one.is_changed for one in boxes):
        return list(found)
    return [
        _counted(result, [one for one in boxes if one.owner == k], X, wanted[k])
        for k, result in enumerate(found)
    ]


def _facing(boxes: Sequence[_Owned], j: int) -> list[tuple[int, int]]:
    """Pairs of boxes with one whole number of a feature between them, that overlap in all other features."""
    if not boxes:
        return []
    lower = np.array([one.box.lower[j] for one in boxes])
    upper = np.array([one.box.upper[j] for one in boxes])
    pairs = np.argwhere(upper[:, None] + 2.0 == lower[None, :]).tolist()
    return [(a, b) for a, b in pairs if _leave_one(boxes[a].box, boxes[b].box, j)]


def _leave_one(below: Box, above: Box, j: int) -> bool:
    high, low = float(below.upper[j]), float(above.lower[j])
    whole = below.upper_closed[j] and above.lower_closed[j] and high.is_integer()
    if not whole or high + 2.0 != low or abs(high) >= 2.0**52:
        return False
    free = _with_bound(_with_bound(below, j, lower=-np.inf), j, upper=np.inf)
    other = _with_bound(_with_bound(above, j, lower=-np.inf), j, upper=np.inf)
    return not free.intersect(other).is_empty


def _with_bound(box: Box, j: int, *, lower: float | None = None, upper: float | None = None) -> Box:
    """A box with another closed bound of one feature."""
    lows, highs = box.lower.copy(), box.upper.copy()
    lows_closed, highs_closed = box.lower_closed.copy(), box.upper_closed.copy()
    if lower is not None:
        lows[j], lows_closed[j] = lower, True
    if upper is not None:
        highs[j], highs_closed[j] = upper, True
    return Box(lows, highs, lows_closed, highs_closed, box.sets)


def _take(
    boxes: list[_Owned],
    place: int,
    wider: Box,
    guards: Sequence[Sequence[Guard]],
    limits: Box,
    *,
    disjoint: bool,
) -> bool:
    """Let a box grow if it is still proved, and meets no other box of its class."""
    owner = boxes[place].owner
    if not is_inside_all(wider, guards[owner], limits):
        return False
    others = (one.box for k, one in enumerate(boxes) if k != place and one.owner == owner)
    if disjoint and any(not wider.intersect(other).is_empty for other in others):
        return False
    boxes[place] = _Owned(wider, owner, is_changed=True)
    return True


def _counted(
    result: ClassBoxes, boxes: Sequence[_Owned], X: FloatArray, wanted: BoolArray
) -> ClassBoxes:
    """Count the rows of boxes that grew, and put the box with most wanted rows first again."""
    grown = [k for k, one in enumerate(boxes) if one.is_changed]
    rows: list[IntArray] = list(result.rows)
    for k, inside in zip(grown, members_of([boxes[k].box for k in grown], X), strict=True):
        rows[k] = inside
    sizes = [int(np.count_nonzero(wanted[inside])) for inside in rows]
    order = sorted(range(len(boxes)), key=lambda k: -sizes[k])
    return replace(
        result,
        boxes=tuple(boxes[k].box for k in order),
        rows=tuple(rows[k] for k in order),
        origins=tuple(result.origins[k] for k in order),
    )
