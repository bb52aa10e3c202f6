"""The tree as interval rules (r-SVMT, algorithm 4 of Pang and Kasabov, IJCNN 2008), and how to predict by them.

Every condition is a bound on one feature; the price is that rules and tree may differ. Not simplified: the boxes of all
leaves (`node_boxes`), less those whose training points another box *of the same class* covers, too. (Step 5 of the
algorithm does not say of the same class; but a box of one class that holds all points of a box of another one is no
reason to forget the other.) Simplified, as is the default, the boxes are made into few rules that are right about every
training point (`simplified_boxes`).

Either way the rules are one list, ordered by Laplace precision on the training points. The first rule that covers a row
decides; where none does, the nearest box. (A default class would be the frequent one, which is wrong for just the
rows for whose sake the tree was grown.) If the tree was grown by its errors on the rarest class, points count in
inverse proportion to the size of their class, so that simplified rules of a small class come before those of a large
one.

**The boxes of leaves** (`node_boxes`; algorithms 2 and 3 of Pang and Kasabov, IJCNN 2008). A leaf of one class gives
the least box that holds its training points ("points"); as published, the least one that holds the support vectors of
its one-class SVM ("support": algorithm 3, equations 24 and 25) with the RBF kernel and the constants of the paper's
experiments, sigma = 3.5 and penalty 0.1, which we take for nu; it is part of the former and holds about half of the
points. (One for each pair of
these vectors, equations 22 and 23, is what the paper calls a rule disaster.)

A leaf with machines gives a box for each support vector s. Its class is the one that the leaf predicts at s, whatever
its label: a support vector beyond the surface is no example of its own class. Along axis l a duel with the plane f(x) =
a'x - t, in which that class wins at s, is lost at s_l - f(s) / a_l, below s or above it by the signs of f and a_l. With
several duels the nearest such crossing counts, without any there
is no bound. As only the lines through s are looked at, what is found may reach far beyond the cell; so it is cut to the
least box that holds the training points of the leaf. As published it is not: a box without a crossing ends where the
training data end, algorithm 2's 0 and 1.

**Few short boxes out of many** (`simplified_boxes`): cut, merge, shorten, prune, cover.

1. *Cut* each box until it holds no training point of another class (`tune`). Points of a leaf that are cut off
   with others get a box of their own, the least that holds them, which is cut in turn; until each point that does not
   coincide with one of another class is in a box of its class.
2. *Merge* boxes of a class while their hull stays free of other classes, across leaves and layers (`merge_boxes`).
3. *Shorten*: drop bounds that exclude nothing and let the others out (`shorten`).
4. *Prune* boxes whose points another box of the class covers, and take as few of the rest as cover the same points
   (`prune_subsets`, `greedy_cover`).

No step brings a point of another class into a box, and none leaves a point behind. So the rules are right about every
training point that does not coincide with one of another class.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from sklearn.svm import OneClassSVM

from clearmargin.rule_base.box_choice import greedy_cover, prune_subsets
from clearmargin.rule_base.box_rules import ExtractionTask, FoundBoxes, RuleBoxes, make_rules
from clearmargin.rule_base.shaping import contradicted, merge_boxes, shorten, tune
from clearmargin.rules import Box
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.svm_trees.grow import fit_duels
from clearmargin.svm_trees.svm_tree import Leaf, TrainingRange, left_sides
from clearmargin.tables.encoding import Decoding, column_encoding
from clearmargin.tables.row_order import sample_classes

if TYPE_CHECKING:
    from clearmargin.svm_trees.classifier import SVMTreeClassifier

# Simplified boxes are made around this many points and against them, drawn by their values; what rules cover is counted
# on all. The time grows with the square of this number.
_MOST_POINTS = 2_000
# The one-class SVM of the paper's experiments: RBF with sigma 3.5, "the same penalty coefficient of 0.1".
_ONE_CLASS_GAMMA, _ONE_CLASS_NU = 1.0 / (2.0 * 3.5**2), 0.1


def read_rules(model: SVMTreeClassifier) -> RuleBoxes:
    """Read a fitted tree as rules of intervals, counted on all training points."""
    points, true, membership = model._training
    if model.simplify:
        rows = sample_classes(points, true, _MOST_POINTS)
        points, true, membership = points[rows], true[rows], membership[rows]
    codes = model.tree_.decide(points)
    found = node_boxes(model, points, true, membership)
    if model.simplify:
        found = simplified_boxes(found, points, codes, membership)
    else:
        kept = prune_subsets(found.boxes.contains(points), found.codes, found.boxes.n_conditions)
        found = FoundBoxes.observed(found.boxes[kept], found.codes[kept])
    counted, truth = model._counted
    encoding, said = column_encoding(model.space_), model.tree_.decide(counted)
    task = ExtractionTask(
        counted,
        truth,
        said,
        model,
        encoding,
        Decoding.of(counted, encoding),
        model.tree_.classes,
        said,
        np.random.RandomState(0),
    )
    weights = None
    if model.simplify and model.loss == "minority":
        sizes = np.bincount(truth)
        weights = (sizes.max() / sizes)[truth]
    elif model.simplify and model._svm.weights is not None:
        weights = model._svm.costs(truth)
    return make_rules(task, found, model.min_coverage, model.max_rules, weights=weights)


def node_boxes(
    model: SVMTreeClassifier, points: FloatArray, codes: IntArray, membership: IntArray
) -> FoundBoxes:
    """Give the boxes of all leaves, each box of a leaf once."""
    tree = model.tree_
    order = np.argsort(membership, kind="stable")
    bounds = np.searchsorted(membership[order], np.arange(tree.n_leaves + 1))
    tables = []
    for leaf, (start, stop) in zip(tree.leaves, pairwise(bounds), strict=True):
        rows = order[start:stop]
        if not len(rows):
            continue
        own = points[rows]
        if leaf.pairs:
            support = fit_duels(own, codes[rows], tree.frame, model._svm).support
            below, above, label = crossing_boxes(leaf, own[support])
            within = own if model.simplify else points
            lower = np.maximum(below, within.min(axis=0))
            upper = np.minimum(above, within.max(axis=0))
        else:
            # What is left over and of several classes has no one-class SVM.
            has_own = leaf.kind == "pure" and leaf.counts[leaf.label] > 0
            held = own if model.simplify or not has_own else one_class_support(own, tree.frame)
            lower, upper = held.min(axis=0, keepdims=True), held.max(axis=0, keepdims=True)
            label = np.full(1, leaf.label)
        tables.append(np.unique(np.hstack([lower, upper, label[:, None]]), axis=0))
    table, n = np.vstack(tables), points.shape[1]
    boxes = Box(table[:, :n], table[:, n : 2 * n])
    return FoundBoxes.observed(boxes, table[:, -1].astype(np.intp))


def crossing_boxes(leaf: Leaf, anchors: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Walk from points along the axes until the class that a leaf predicts there loses a duel."""
    predicted = leaf.decide(anchors)
    below, above = np.full_like(anchors, -np.inf), np.full_like(anchors, np.inf)
    wins = np.ones(len(anchors), dtype=np.bool_)
    for (first, second), normal, offset in zip(leaf.pairs, leaf.normals, leaf.offsets, strict=True):
        rows = np.flatnonzero((predicted == first) | (predicted == second))
        # The same sum as in `decide`: its sign says who wins.
        excess = left_sides(normal, anchors[rows]) - offset
        is_second = predicted[rows] == second
        wins[rows] &= is_second == (excess > 0)
        axes = np.flatnonzero(normal)
        reached = anchors[np.ix_(rows, axes)] - excess[:, None] / normal[axes]
        # The first class loses where f grows, the second where it falls.
        upwards = (normal[axes] > 0) != is_second[:, None]
        block = np.ix_(rows, axes)
        above[block] = np.minimum(above[block], np.where(upwards, reached, np.inf))
        below[block] = np.maximum(below[block], np.where(upwards, -np.inf, reached))
    return below[wins], above[wins], predicted[wins]


def one_class_support(points: FloatArray, frame: TrainingRange) -> FloatArray:
    """Give the support vectors of the one-class SVM of a leaf of one class (equation 4)."""
    distinct = np.unique(points, axis=0)
    machine = OneClassSVM(kernel="rbf", gamma=_ONE_CLASS_GAMMA, nu=_ONE_CLASS_NU, tol=1e-6)
    machine.fit(frame.scale(distinct))
    # What subtraction left over of a multiplier of zero makes no support vector.
    return np.asarray(distinct[machine.support_[machine.dual_coef_[0] > 1e-9]])


def simplified_boxes(
    found: FoundBoxes, points: FloatArray, codes: IntArray, membership: IntArray
) -> FoundBoxes:
    """Make few short boxes that hold no training point of another class."""
    clean, clean_codes = clean_boxes(found, points, codes, membership)
    boxes, box_codes = merge_boxes(clean, clean_codes, points, codes)
    boxes = shorten(boxes, points, codes, box_codes)
    covers, sizes = boxes.contains(points), boxes.n_conditions
    kept = prune_subsets(covers, box_codes, sizes)
    kept = kept[greedy_cover(covers[kept], box_codes[kept], codes, sizes=sizes[kept])]
    return FoundBoxes.observed(boxes[kept], box_codes[kept])


def clean_boxes(
    found: FoundBoxes, points: FloatArray, codes: IntArray, membership: IntArray
) -> tuple[Box, IntArray]:
    """Cut boxes free of points of other classes, and box what is cut off anew."""
    # What coincides with a point of another class is in no clean box.
    bare = ~contradicted(points, codes)
    parts: list[Box] = []
    classes: list[IntArray] = []
    pending, of_pending, anchors = found.boxes, found.codes, None
    while True:
        boxes, kept = tune(pending, anchors, points, codes, of_pending)
        parts.append(boxes)
        classes.append(of_pending[kept])
        bare &= ~(boxes.contains(points) & (classes[-1][:, None] == codes)).any(axis=0)
        if not bare.any():
            lower = np.vstack([part.lower for part in parts])
            upper = np.vstack([part.upper for part in parts])
            return Box(lower, upper), np.concatenate(classes)
        # The anchors stay in their boxes, so that each turn covers more points.
        groups = np.column_stack([membership[bare], codes[bare]])
        lower, upper, anchors, groups = _least_boxes(points[bare], groups)
        pending, of_pending = Box(lower, upper), groups[:, 1]


def _least_boxes(
    points: FloatArray, groups: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Return for each group of points the least box that holds them, a point in the middle of them, and the group."""
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
