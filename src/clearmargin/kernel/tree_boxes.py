"""The leaves of a decision tree as boxes, brother leaves of one class taken together."""

from __future__ import annotations

from typing import Any

import numpy as np

from clearmargin.core.value import FloatArray, IntArray
from clearmargin.programs.packed_boxes import PackedBoxes

__all__ = ["tree_boxes"]


def tree_boxes(tree: Any, most: int | None = None) -> tuple[PackedBoxes, IntArray]:
    """Read the leaves of a fitted decision tree of scikit-learn as boxes.

    Brothers of one class are one leaf. Then, if there are more leaves than wanted, brothers are joined where that costs
    the fewest of the points the tree was fitted to.

    Parameters
    ----------
    tree : DecisionTreeClassifier
        Fitted to codes 0, 1, ...
    most : int, optional
        Most leaves.

    Returns
    -------
    boxes : PackedBoxes
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
        j, cut = int(inner.feature[node]), float(inner.threshold[node])
        below, above = high.copy(), low.copy()
        below[j] = min(high[j], cut)
        above[j] = max(low[j], np.nextafter(cut, np.inf))
        stack.append((int(right[node]), above, high))
        stack.append((int(left[node]), low, below))
    classes = tree.classes_[np.array(codes, dtype=np.intp)]
    return PackedBoxes(np.array(lower), np.array(upper)), np.asarray(classes, dtype=np.intp)


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
