"""The leaves of a decision tree as boxes, brother leaves of one class taken together, and as rules without gaps."""

from __future__ import annotations

from typing import Any

import numpy as np

from clearmargin.rule_base.translate import to_user_box
from clearmargin.rules import Box, Rule, RuleSet
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.encoding import Encoding

__all__ = ["close_gaps", "tree_boxes"]

# Cuts are rounded to about one hundredth of the range of their column, as bounds of other rules are.
_STEPS = 100.0
_MOST_DECIMALS = 17


def tree_boxes(
    tree: Any, most: int | None = None, *, points: FloatArray | None = None
) -> tuple[Boxes, IntArray]:
    """Read the leaves of a fitted decision tree of scikit-learn as boxes.

    Brothers of one class are one leaf. Then, if there are more leaves than wanted, brothers are joined where that costs
    the fewest of the points the tree was fitted to.

    Parameters
    ----------
    tree : DecisionTreeClassifier
        Fitted to codes 0, 1, ...
    most : int, optional
        Most leaves.
    points : ndarray of shape (m, n), optional
        If given, cuts are moved to numbers of few digits where that leaves all these points on their sides.

    Returns
    -------
    boxes : Boxes
        They do not meet and cover everything.
    codes : ndarray of int of shape (r,)
        Their classes.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> boxes, codes = tree_boxes(DecisionTreeClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]))
    >>> boxes.upper[:, 0].tolist(), codes.tolist()
    ([1.5, inf], [0, 1])
    """
    inner = tree.tree_
    # Weights of the classes in each node; scikit-learn stores shares.
    weights = inner.value[:, 0, :] * inner.weighted_n_node_samples[:, None]
    left, right = inner.children_left.copy(), inner.children_right.copy()
    _join_brothers(left, right, weights, most)
    cuts = inner.threshold if points is None else _short_cuts(inner, points)
    n = int(tree.n_features_in_)
    lower, upper, codes = [], [], []
    stack = [(0, np.full(n, -np.inf), np.full(n, np.inf))]
    while stack:
        node, low, high = stack.pop()
        if left[node] < 0:
            lower.append(low)
            upper.append(high)
            codes.append(int(np.argmax(weights[node])))
            continue
        j, cut = int(inner.feature[node]), float(cuts[node])
        below, above = high.copy(), low.copy()
        below[j] = min(high[j], cut)
        above[j] = max(low[j], np.nextafter(cut, np.inf))
        # Two cuts between the same points may have become the same short number; then nothing lies between them.
        if above[j] <= high[j]:
            stack.append((int(right[node]), above, high))
        if low[j] <= below[j]:
            stack.append((int(left[node]), low, below))
    classes = tree.classes_[np.array(codes, dtype=np.intp)]
    return Boxes.from_bounds(np.array(lower), np.array(upper)), np.asarray(classes, dtype=np.intp)


def _join_brothers(left: IntArray, right: IntArray, weights: FloatArray, most: int | None) -> None:
    """Turn nodes into leaves, in place, until no brothers agree and there are few enough leaves."""
    lost = weights.sum(axis=1) - weights.max(axis=1)
    while True:
        # Children of a node come after it, so that the whole of a sweep sees joined children.
        tests = np.flatnonzero(left >= 0)
        ends = tests[(left[left[tests]] < 0) & (left[right[tests]] < 0)]
        if not len(ends):
            return
        price = lost[ends] - lost[left[ends]] - lost[right[ends]]
        same = weights[left[ends]].argmax(axis=1) == weights[right[ends]].argmax(axis=1)
        if same.any():
            chosen = ends[same]
        elif most is not None and len(tests) + 1 > most:
            chosen = ends[[int(np.argmin(price))]]
        else:
            return
        left[chosen] = right[chosen] = -1


def _short_cuts(inner: Any, points: FloatArray) -> FloatArray:
    """The cuts of the nodes, each at the shortest number between the two points next to it."""
    cuts = inner.threshold.copy()
    order = np.sort(points, axis=0)
    for node in np.flatnonzero(inner.feature >= 0).tolist():
        column, cut = order[:, inner.feature[node]], float(cuts[node])
        place = int(np.searchsorted(column, cut, side="right"))
        low = column[place - 1] if place else -np.inf
        high = column[place] if place < len(column) else np.inf
        reach = float(column[-1] - column[0])
        if not 0.0 < reach < np.inf:
            continue
        coarsest = -int(np.floor(np.log10(reach / _STEPS)))
        for decimals in range(coarsest, coarsest + _MOST_DECIMALS):
            short = round(cut, decimals)
            if low <= short < high:
                cuts[node] = short
                break
    return np.asarray(cuts)


def close_gaps(
    rules: RuleSet, boxes: Boxes, leaves: Boxes, encoding: Encoding
) -> tuple[RuleSet, Boxes]:
    """Let rules that were made of leaves end where their leaves end.

    Bounds of rules are rounded inwards. Between boxes by themselves that costs nothing, but between two leaves it opens
    a gap on both sides of a cut, in which no rule fires. A leaf begins just after its cut and so does the rule here.

    Parameters
    ----------
    rules : RuleSet
        Rules, each inside of a leaf.
    boxes : Boxes
        Their boxes over the encoded columns.
    leaves : Boxes
        The leaves, which do not meet.
    encoding : Encoding
        The table as columns of numbers.

    Returns
    -------
    rules : RuleSet
        The same rules with the bounds of the leaves; columns of whole numbers keep their whole bounds.
    boxes : Boxes
        Their boxes.
    """
    low, high = leaves.lower, leaves.upper
    inside = (low[None] <= boxes.lower[:, None]).all(axis=2)
    inside &= (boxes.upper[:, None] <= high[None]).all(axis=2)
    home = inside.argmax(axis=1)
    whole = encoding.columns.integer
    lower = np.where(whole, boxes.lower, low[home])
    upper = np.where(whole, boxes.upper, high[home])
    after_cut = np.isfinite(lower) & ~whole
    starts = np.where(after_cut, np.nextafter(lower, -np.inf), lower)
    closed = []
    for r, rule in enumerate(rules):
        region = to_user_box(Box(starts[r], upper[r], ~after_cut[r]), encoding)
        assert region is not None  # it holds that of the rule
        closed.append(
            Rule(region, rule.label, origin=rule.origin, proof=rule.proof, stats=rule.stats)
        )
    return RuleSet(closed, rules.space, rules.classes), Boxes.from_bounds(lower, upper)
