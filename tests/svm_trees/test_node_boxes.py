from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin.svm_trees import Leaf, SVMTreeClassifier
from clearmargin.svm_trees.grow import fit_duels
from clearmargin.svm_trees.node_rules import crossing_boxes, node_boxes


def boxes_of(model):
    points, codes, membership = model._training
    return node_boxes(model.tree_, points, codes, membership, model._svm)


def wins(leaf, code, x):
    """Whether a class wins all its duels at a point, one by one."""
    for (first, second), normal, offset in zip(leaf.pairs, leaf.normals, leaf.offsets, strict=True):
        total = 0.0
        for weight, value in zip(normal, x, strict=True):
            total += weight * value
        winner = second if total > offset else first
        if code in (first, second) and winner != code:
            return False
    return True


def walk(leaf, code, x, axis, step):
    """Where the class stops winning along an axis, by bisection; the region of a class is convex."""

    def at(t):
        y = x.copy()
        y[axis] += step * t
        return y

    inside, outside = 0.0, 1e6
    if wins(leaf, code, at(outside)):
        return step * np.inf
    for _ in range(80):
        middle = (inside + outside) / 2
        if wins(leaf, code, at(middle)):
            inside = middle
        else:
            outside = middle
    return at(inside)[axis]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(2, 4))
def test_walks_end_where_the_class_loses_its_first_duel(seed, n, n_classes):
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    normals = rng.integers(-2, 3, (len(pairs), n)) / 2
    leaf = Leaf("svm", 0, [1] * n_classes, pairs, normals, rng.normal(0, 1, len(pairs)))
    anchors = rng.normal(0, 2, (6, n))
    below, above, codes = crossing_boxes(leaf, anchors)
    expected = [(code, x) for x in anchors for code in range(n_classes) if wins(leaf, code, x)]
    assert [code for code, _ in expected] == codes.tolist()
    for k, (code, x) in enumerate(expected):
        for axis in range(n):
            assert below[k, axis] == pytest.approx(walk(leaf, code, x, axis, -1.0), abs=1e-9)
            assert above[k, axis] == pytest.approx(walk(leaf, code, x, axis, 1.0), abs=1e-9)
        assert (below[k] <= x).all()
        assert (above[k] >= x).all()


def test_a_machine_that_always_says_the_same_gives_no_bound():
    leaf = Leaf("svm", 1, [1, 3], [(0, 1)], [[0.0, 0.0]], [-1.0])
    below, above, codes = crossing_boxes(leaf, np.zeros((1, 2)))
    assert np.isinf(below).all()
    assert np.isinf(above).all()
    assert codes.tolist() == [1]


def test_a_start_where_no_class_wins_all_its_duels_has_no_box():
    cyclic = Leaf("svm", 0, [1, 1, 1], [(0, 1), (0, 2), (1, 2)], np.zeros((3, 1)), [1.0, -1.0, 1.0])
    assert not wins(cyclic, 0, [0.0])
    assert [len(part) for part in crossing_boxes(cyclic, np.zeros((2, 1)))] == [0, 0, 0]


def test_the_support_vectors_are_as_many_as_the_tree_counts(model):
    points, codes, membership = model._training
    for number, leaf in enumerate(model.tree_.leaves):
        rows = membership == number
        if leaf.pairs:
            found = fit_duels(points[rows], codes[rows], model.tree_.frame, model._svm)
            assert len(found.support) == leaf.n_support


def test_boxes_lie_in_the_data_of_their_leaf_and_hold_a_point_of_it(model):
    points, _, membership = model._training
    found, leaves = boxes_of(model), model.tree_.leaves
    for lower, upper, code, (number,), from_machine in zip(
        found.boxes.lower,
        found.boxes.upper,
        found.codes,
        found.leaves,
        found.from_machine,
        strict=True,
    ):
        own = points[membership == number]
        assert (lower >= own.min(axis=0)).all()
        assert (upper <= own.max(axis=0)).all()
        inside = ((own >= lower) & (own <= upper)).all(axis=1)
        assert (leaves[number].decide(own[inside]) == code).any()
        assert from_machine == bool(leaves[number].pairs)
        if not from_machine:
            assert inside.all()


def test_each_leaf_has_boxes_and_none_twice(model):
    found = boxes_of(model)
    assert {leaf for (leaf,) in found.leaves} == set(range(model.n_leaves_))
    table = np.column_stack([found.boxes.lower, found.boxes.upper, found.codes, found.leaves])
    assert len(np.unique(table, axis=0)) == len(table)


def test_leaves_with_several_classes_have_boxes_of_several(three_classes):
    model = SVMTreeClassifier(C=100.0, tol=0.2, scale=1, random_state=0).fit(*three_classes)
    assert len(model.tree_.leaves[0].pairs) == 3
    found = boxes_of(model)
    assert set(found.codes[np.ravel(found.leaves) == 0]) == {0, 1, 2}
