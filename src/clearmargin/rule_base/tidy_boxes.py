"""Boxes made fit to read: no bound that excludes nothing, no box whose points another box has."""

from __future__ import annotations

from clearmargin.rule_base.box_cover import greedy_cover
from clearmargin.rule_base.box_pruning import prune_subsets
from clearmargin.rule_base.box_shortening import shorten as shorten_boxes
from clearmargin.rule_base.packed_boxes import PackedBoxes
from clearmargin.rule_base.task import ExtractionTask, FoundBoxes
from clearmargin.rules.value import IntArray

__all__ = ["tidy_boxes"]


def tidy_boxes(
    task: ExtractionTask, boxes: PackedBoxes, codes: IntArray, *, shorten: bool
) -> FoundBoxes:
    """Drop bounds that exclude no training point of another class, then boxes that add nothing.

    Parameters
    ----------
    task : ExtractionTask
        The training points and their classes.
    boxes : PackedBoxes
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
    covers, sizes = boxes.contains(task.points), boxes.n_conditions
    kept = prune_subsets(covers, codes, sizes)
    if shorten:
        kept = kept[greedy_cover(covers[kept], codes[kept], task.codes, sizes=sizes[kept])]
    return FoundBoxes.observed(boxes.take(kept), codes[kept])
