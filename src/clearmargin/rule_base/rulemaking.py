"""Boxes that were found, as rules that people read: the surest first, each with its counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearmargin.exceptions import DataError
from clearmargin.rule_base.simplify import shorten_bounds
from clearmargin.rule_base.task import ExtractionTask, FoundBoxes
from clearmargin.rule_base.translate import to_user_box
from clearmargin.rules import Rule, RuleSet, RuleStats
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["RuleBoxes", "make_rules"]


class RuleBoxes(NamedTuple):
    """Rules, and the boxes over encoded columns that they stand for.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    boxes : Boxes
        Their boxes over the encoded columns, in the same order.
    codes : ndarray of int of shape (r,)
        Positions of their classes.
    places : ndarray of int of shape (r,)
        Their positions among the boxes that were found.
    """

    rules: RuleSet
    boxes: Boxes
    codes: IntArray
    places: IntArray


def make_rules(
    task: ExtractionTask,
    found: FoundBoxes,
    min_coverage: int,
    max_rules: int | None,
    *,
    weights: FloatArray | None = None,
) -> RuleBoxes:
    """Make rules of boxes: bounds of few digits, the surest rule first.

    Rules of different classes may overlap, and the first rule that covers a case decides. So they stand in the order
    of their Laplace precision, (right + 1) / (covered + classes), on the training points, and of equal ones
    the fuller first.

    Parameters
    ----------
    task : ExtractionTask
        The training points and their classes.
    found : FoundBoxes
        The boxes.
    min_coverage : int
        Boxes that cover fewer training points are left out.
    max_rules : int or None
        Most rules of each class; then those with the most points of their class stay.
    weights : ndarray of shape (m,), optional
        What each training point counts where rules are put in order; 1 when not given.

    Returns
    -------
    RuleBoxes
        Rules and boxes.
    """
    covers = found.boxes.masks(task.points)
    rightly = covers & (task.codes == found.codes[:, None])
    right, covered = rightly.sum(axis=1), covers.sum(axis=1)
    stay = _fullest(found.codes, right, covered >= min_coverage, max_rules)
    if not stay.any():
        most = int(covered.max()) if len(covered) else 0
        raise DataError(
            f"no rule covers {min_coverage} training points (the fullest box covers {most}); lower min_coverage"
        )
    order = _surest(right, covered, len(task.classes))
    if weights is not None:
        order = _surest(rightly @ weights, covers @ weights, len(task.classes))
    rules, boxes, codes, places = [], [], [], []
    for r in order[stay[order]]:
        box = shorten_bounds(found.boxes[r], task.encoding.columns, task.points[covers[r]])
        region = to_user_box(box, task.encoding)
        if region is None:
            continue
        code = int(found.codes[r])
        rows = covers[r]
        stats = RuleStats(
            rows=len(task.points),
            covered=int(covered[r]),
            correct=int(np.count_nonzero(task.true[rows] == code)),
            agreed=int(np.count_nonzero(task.predicted[rows] == code)),
        )
        proof = "proved" if found.proved[r] else "observed"
        rules.append(
            Rule(region, task.classes[code], origin="extracted", proof=proof, stats=stats)  # type: ignore[arg-type]
        )
        boxes.append(box)
        codes.append(code)
        places.append(r)
    return RuleBoxes(
        RuleSet(rules, task.encoding.space, task.classes),
        Boxes.of(boxes, len(task.encoding.columns)),
        np.array(codes, dtype=np.intp),
        np.array(places, dtype=np.intp),
    )


def _surest(right: FloatArray | IntArray, covered: FloatArray | IntArray, classes: int) -> IntArray:
    """The order of rules: by Laplace precision, of equal ones the fuller first."""
    return np.lexsort((-covered, -(right + 1.0) / (covered + classes)))


def _fullest(
    codes: IntArray, right: IntArray, allowed: BoolArray, max_rules: int | None
) -> BoolArray:
    """Which boxes stay: those allowed, of each class at most so many, the fullest."""
    if max_rules is None:
        return allowed
    stay = np.zeros_like(allowed)
    for k in np.unique(codes):
        members = np.flatnonzero(allowed & (codes == k))
        stay[members[np.argsort(-right[members], kind="stable")][:max_rules]] = True
    return stay
