"""Few short boxes out of many: cut, merge, shorten, prune, cover.

1. *Cut* each box until it holds no training point of another class (`box_tuning`). Points of a leaf that are cut off
   with others get a box of their own, the least that holds them, which is cut in turn; until each point that does not
   coincide with one of another class is in a box of its class.
2. *Merge* boxes of a class while their hull stays free of other classes, across leaves and layers (`box_pruning`).
3. *Shorten*: drop bounds that exclude nothing and let the others out (`box_shortening`).
4. *Prune* boxes whose points another box of the class covers, and take as few of the rest as cover the same points
   (`box_cover`).

No step brings a point of another class into a box, and none leaves a point behind. So the rules are right about every
training point that does not coincide with one of another class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clearmargin.rule_base.box_selection import greedy_cover, prune_subsets
from clearmargin.rule_base.shaping import limits_of, merge_boxes, shorten, tune
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.svm_trees.node_boxes import NodeBoxes

__all__ = ["SourcedBoxes", "clean_boxes", "simplified_boxes"]


@dataclass(frozen=True, slots=True)
class SourcedBoxes:
    """Boxes with their classes and all the leaves that they stand for.

    Parameters
    ----------
    boxes : Boxes
        The boxes, r of them.
    codes : ndarray of int of shape (r,)
        Positions of their classes.
    leaves : list of tuple of int
        For each box the positions of its leaves.
    from_machine : ndarray of bool of shape (r,)
        Whether the box comes from support vectors alone.
    """

    boxes: Boxes
    codes: IntArray
    leaves: list[tuple[int, ...]]
    from_machine: BoolArray

    @classmethod
    def of(cls, found: NodeBoxes) -> SourcedBoxes:
        """Boxes of one leaf each."""
        leaves: list[tuple[int, ...]] = [(leaf,) for leaf in found.leaves.tolist()]
        return cls(found.boxes, found.codes, leaves, found.from_machine)

    def take(self, index: IntArray) -> SourcedBoxes:
        """Some of them."""
        leaves = [self.leaves[k] for k in index]
        return SourcedBoxes(
            self.boxes.take(index), self.codes[index], leaves, self.from_machine[index]
        )


def simplified_boxes(
    found: NodeBoxes, points: FloatArray, codes: IntArray, membership: IntArray
) -> SourcedBoxes:
    """Make few short boxes that hold no training point of another class.

    Parameters
    ----------
    found : NodeBoxes
        The boxes of the leaves.
    points : ndarray of shape (m, n)
        Training points.
    codes : ndarray of int of shape (m,)
        The class that rules should give each.
    membership : ndarray of int of shape (m,)
        The leaf of each.

    Returns
    -------
    SourcedBoxes
        The boxes; each point that does not coincide with one of another class is in a box of its class.

    Examples
    --------
    >>> boxes = Boxes.from_bounds([[0.0], [3.0]], [[1.0], [5.0]])
    >>> start = NodeBoxes(boxes, np.array([0, 1]), np.array([0, 1]), np.zeros(2, dtype=bool))
    >>> X, codes = np.array([[0.0], [1.0], [3.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> simplified_boxes(start, X, codes, codes).boxes.upper.tolist()
    [[2.0], [inf]]
    """
    clean = clean_boxes(found, points, codes, membership)
    boxes, box_codes = merge_boxes(clean.boxes, clean.codes, points, codes)
    merged = _sourced(clean, boxes, box_codes.astype(np.intp))
    boxes = shorten(merged.boxes, points, codes, merged.codes)
    covers, sizes = boxes.masks(points), boxes.n_conditions
    kept = prune_subsets(covers, merged.codes, sizes)
    kept = kept[greedy_cover(covers[kept], merged.codes[kept], codes, sizes=sizes[kept])]
    return SourcedBoxes(boxes, merged.codes, merged.leaves, merged.from_machine).take(kept)


def clean_boxes(
    found: NodeBoxes, points: FloatArray, codes: IntArray, membership: IntArray
) -> NodeBoxes:
    """Cut boxes free of points of other classes, and box what is cut off anew.

    Parameters
    ----------
    found, points, codes, membership
        As for `simplified_boxes`.

    Returns
    -------
    NodeBoxes
        The boxes, those for points cut off after the others.

    Examples
    --------
    >>> start = NodeBoxes(Boxes.from_bounds([[0.0]], [[6.0]]), np.array([0]), np.array([0]), np.zeros(1, bool))
    >>> X, codes = np.array([[0.0], [1.0], [4.0], [6.0]]), np.array([0, 0, 1, 0])
    >>> clean = clean_boxes(start, X, codes, np.array([0, 0, 1, 0]))
    >>> clean.codes.tolist(), clean.boxes.lower.ravel().tolist()
    ([0, 0, 1], [0.0, 6.0, 4.0])
    """
    with_machine = np.zeros(int(membership.max()) + 1, dtype=np.bool_)
    with_machine[found.leaves] = found.from_machine
    # What coincides with a point of another class is in no clean box.
    bare = ~_is_contradicted(points, codes)
    parts: list[NodeBoxes] = []
    pending, anchors = found, None
    while True:
        boxes, kept = tune(pending.boxes, anchors, points, codes, pending.codes)
        part = pending.take(kept).with_boxes(boxes)
        parts.append(part)
        bare &= ~(boxes.masks(points) & (part.codes[:, None] == codes)).any(axis=0)
        if not bare.any():
            return _joined(parts)
        # The anchors stay in their boxes, so that each turn covers more points.
        groups = np.column_stack([membership[bare], codes[bare]])
        lower, upper, anchors, groups = _least_boxes(points[bare], groups)
        pending = NodeBoxes(
            Boxes.from_bounds(lower, upper), groups[:, 1], groups[:, 0], with_machine[groups[:, 0]]
        )


def _is_contradicted(points: FloatArray, codes: IntArray) -> BoolArray:
    """Which points coincide with a point of another class."""
    _, inverse = np.unique(points + 0.0, axis=0, return_inverse=True)  # -0.0 becomes 0.0
    place = inverse.ravel()
    some = np.empty(int(place.max()) + 1, dtype=np.intp)
    some[place] = codes  # the class of some point at each place
    mixed = np.zeros(len(some), dtype=np.bool_)
    mixed[place[some[place] != codes]] = True
    return np.asarray(mixed[place])


def _least_boxes(
    points: FloatArray, groups: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """For each group of points the least box that holds them, a point in the middle of them, and the group."""
    distinct, number = np.unique(groups, axis=0, return_inverse=True)
    number = number.ravel()
    lower = np.full((len(distinct), points.shape[1]), np.inf)
    upper = np.full_like(lower, -np.inf)
    np.minimum.at(lower, number, points)
    np.maximum.at(upper, number, points)
    half = upper / 2 - lower / 2  # the difference itself may overflow
    away = np.abs(points / 2 - lower[number] / 4 - upper[number] / 4) * 2
    away /= np.where(half > 0, half, 1.0)[number]
    order = np.lexsort(((away**2).sum(axis=1), number))
    first = np.searchsorted(number[order], np.arange(len(distinct)))
    return lower, upper, points[order[first]], distinct


def _joined(parts: list[NodeBoxes]) -> NodeBoxes:
    return NodeBoxes(
        Boxes.concatenate([part.boxes for part in parts]),
        np.concatenate([part.codes for part in parts]),
        np.concatenate([part.leaves for part in parts]),
        np.concatenate([part.from_machine for part in parts]),
    )


def _sourced(parts: NodeBoxes, boxes: Boxes, codes: IntArray) -> SourcedBoxes:
    """The leaves of hulls: those of all boxes in them."""
    leaves, from_machine = [], []
    limits, hulls = limits_of(parts.boxes), limits_of(boxes)
    for hull, code in zip(hulls, codes, strict=True):
        inside = (parts.codes == code) & (limits <= hull).all(axis=1)
        leaves.append(tuple(np.unique(parts.leaves[inside]).tolist()))
        from_machine.append(bool(parts.from_machine[inside].all()))
    return SourcedBoxes(boxes, codes, leaves, np.array(from_machine, dtype=np.bool_))
