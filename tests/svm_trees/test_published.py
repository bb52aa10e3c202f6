"""r-SVMT as published: one-class machines in leaves of one class, boxes of their vectors, K + 1 centres."""

from __future__ import annotations

import math
import pickle
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from clearmargin import save_model
from clearmargin.exceptions import DataError, InvalidValueError, NotLinearError
from clearmargin.svm_trees import Leaf, SVMTreeClassifier, interval_rules, node_rules
from clearmargin.svm_trees.grow import fit_one_class
from clearmargin.svm_trees.plot import lay_out_svm_tree
from clearmargin.svm_trees.svm_tree import LeafKernel, TrainingRange

from .conftest import imbalanced

SIGMA, NU = 3.5, 0.1  # section V of the paper


def kernel(a, b):
    return math.exp(-sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) / (2 * SIGMA**2))


def one_class_dual(points):
    """Multipliers and threshold of a one-class SVM on scaled points, by a general solver."""
    m = len(points)
    # On the simplex a constant in the kernel changes nothing, and without it the digits suffice.
    K = np.array([[kernel(a, b) - 1.0 for b in points] for a in points]) * 2 * SIGMA**2
    found = minimize(
        lambda a: a @ K @ a / 2,
        np.full(m, NU),
        jac=lambda a: K @ a,
        bounds=[(0.0, 1.0)] * m,
        constraints={"type": "eq", "fun": lambda a: a.sum() - NU * m, "jac": lambda a: np.ones(m)},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return found.x, K


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(1, 14), st.integers(1, 3))
def test_the_machine_of_a_leaf_of_one_class_solves_the_dual_of_the_paper(seed, m, n):
    rng = np.random.default_rng(seed)
    points = rng.uniform(2.0, 12.0, (m, n))
    frame = TrainingRange(np.full(n, 2.0), np.full(n, 10.0))
    fitted = fit_one_class(points, frame)
    scaled = (points - 2.0) / 10.0
    best, K = one_class_dual(scaled)
    ours = np.zeros(m)
    for vector, coef in zip(fitted.vectors, fitted.coefs[:, 0], strict=True):
        ours[np.flatnonzero((points == vector).all(axis=1))[0]] = coef
    assert ours.sum() == pytest.approx(NU * m)
    assert ours.min() >= 0.0
    assert ours.max() <= 1.0
    assert ours @ K @ ours / 2 <= best @ K @ best / 2 + 1e-6 * m**2
    # A point is an outlier exactly when it is farther out than all support vectors between the bounds.
    g = [sum(a * kernel(x, s) for a, s in zip(ours, scaled, strict=True)) for x in scaled]
    free = [k for k in range(m) if 1e-9 < ours[k] < 1 - 1e-9]
    if free:
        rim = min(g[k] for k in free)
        clear = [k for k in range(m) if abs(g[k] - rim) > 1e-8]
        found = fitted.values(points)[:, 0] < 0
        assert [bool(found[k]) for k in clear] == [g[k] < rim for k in clear]
        assert not found[free].any()


def test_without_a_vector_between_the_bounds_the_threshold_lies_between_inside_and_outside():
    # Ten times each, so that a whole multiplier falls on a place: 20 points, sum of multipliers 2.
    points = np.repeat([[0.0], [1.0]], [10, 10], axis=0)
    points[0, 0], points[19, 0] = -5.0, 6.0
    fitted = fit_one_class(points, TrainingRange(np.array([-5.0]), np.array([11.0])))
    assert fitted.coefs.ravel().tolist() == [1.0, 1.0]
    assert (fitted.values(points)[:, 0] < 0).tolist() == [True] + [False] * 18 + [True]


def descend(tree, x):
    """The leaf of a row by the definition: the nearest centre, layer by layer."""
    scaled = [(v - low) / width for v, low, width in zip(x, tree.low, tree.width, strict=True)]
    for layer in tree.layers:
        distances = [
            sum(
                (z - (c - low) / width) ** 2
                for z, c, low, width in zip(scaled, centre, tree.low, tree.width, strict=True)
            )
            for centre in layer.centres
        ]
        leaf = layer.leaves[int(np.argmin(distances))]
        if leaf is not None:
            return leaf, scaled
    raise AssertionError("all cells of the last layer are leaves")


def test_strict_leaves_predict_the_other_class_at_outliers_and_simplified_ones_do_not(table, fresh):
    strict = SVMTreeClassifier(one_class_leaves="strict").fit(*table)
    simplified = SVMTreeClassifier(one_class_leaves="simplified").fit(*table)
    plain = SVMTreeClassifier().fit(*table)
    rows = fresh[0][:300]
    assert (simplified.predict(rows) == plain.predict(rows)).all()
    predicted = strict.predict(rows)
    n_outliers = 0
    for x, said in zip(rows, predicted, strict=True):
        leaf, z = descend(strict.tree_, x)
        if leaf.kind != "pure":
            continue
        machine = leaf.kernel
        vectors = (machine.vectors - strict.tree_.low) / strict.tree_.width
        value = sum(
            a * kernel(z, s) for a, s in zip(machine.coefs[:, 0], vectors, strict=True)
        ) + float(machine.intercepts[0])
        if abs(value) > 1e-12:
            assert said == strict.classes_[1 - leaf.label if value < 0 else leaf.label]
            n_outliers += value < 0
    assert n_outliers > 20
    assert (predicted != plain.predict(rows)).sum() == n_outliers


def test_of_several_classes_outliers_are_of_the_largest_other_one(three_classes):
    model = SVMTreeClassifier(one_class_leaves="strict").fit(*three_classes)
    outliers = {(leaf.label, leaf.outlier) for leaf in model.tree_.leaves if leaf.kind == "pure"}
    assert outliers == {(0, 1), (1, 0), (2, 1)}


def published_boxes(model, pairs):
    """Algorithms 2 to 4 by loops: all boxes with their classes, then without those in another of their class."""
    points, _, membership = model._training
    low, high = points.min(axis=0), points.max(axis=0)
    found = []
    for number, leaf in enumerate(model.tree_.leaves):
        own = points[membership == number]
        if leaf.kind == "pure":
            vectors = leaf.kernel.vectors.tolist()
            groups = list(combinations(vectors, 2)) if pairs and len(vectors) > 1 else [vectors]
            found += [(np.min(g, axis=0), np.max(g, axis=0), leaf.label) for g in groups]
        elif leaf.pairs:
            found += [walk(leaf, x, low, high) for x in own]
        else:
            found.append((own.min(axis=0), own.max(axis=0), leaf.label))
    sets = [
        frozenset(np.flatnonzero(((points >= a) & (points <= b)).all(axis=1)).tolist())
        for a, b, _ in found
    ]
    return {
        (sets[k], found[k][2])
        for k in range(len(found))
        if sets[k]
        and not any(sets[k] < sets[j] and found[j][2] == found[k][2] for j in range(len(found)))
    }


def walk(leaf, x, low, high):
    """How far a linear machine of two classes keeps its word along each axis, within the range of the data."""
    (normal,), (offset,) = leaf.normals, leaf.offsets
    score = float(sum(w * v for w, v in zip(normal, x, strict=True))) - offset
    below, above = low.copy(), high.copy()
    for axis, weight in enumerate(normal):
        if weight:
            t = x[axis] - score / weight
            if t <= x[axis]:
                below[axis] = max(below[axis], t)
            else:
                above[axis] = min(above[axis], t)
    return below, above, int(leaf.pairs[0][1] if score > 0 else leaf.pairs[0][0])


@pytest.mark.parametrize("boxes", [None, "pairs"])
@pytest.mark.parametrize("seed", [3, 4])
def test_published_rules_are_the_boxes_of_algorithms_2_and_3_less_those_in_others(boxes, seed):
    X, y = imbalanced(80, seed)
    model = SVMTreeClassifier(
        published=True, boxes=boxes, min_coverage=1, max_rules=None, random_state=seed
    ).fit(X, y)
    machines = [leaf for leaf in model.tree_.leaves if leaf.pairs]
    assert all(leaf.n_support == leaf.size for leaf in machines)  # so that each point has its box
    expected = published_boxes(model, boxes == "pairs")
    covered = model.rules_.covers(X)
    labels = model.classes_.tolist()
    got = {
        (frozenset(np.flatnonzero(covered[:, k]).tolist()), labels.index(rule.label))
        for k, rule in enumerate(model.rules_)
    }
    assert got == expected


def test_published_trees_refine_k_means_by_one_centre_at_a_time(table):
    tree = SVMTreeClassifier(published=True).fit(*table).tree_
    sizes = [len(layer.centres) for layer in tree.layers[:-1]]
    assert any(size in (4, 6, 7, 9, 10, 11) for size in sizes)  # which 2, 3, 5, 8, 12 leaves out
    assert sizes == sorted(sizes)


def test_published_is_short_for_its_parts(table):
    everything = {"published": True, "min_coverage": 1, "max_rules": None}
    published = SVMTreeClassifier(**everything).fit(*table)
    spelled = SVMTreeClassifier(
        **everything, one_class_leaves="simplified", boxes="support", kernel="linear"
    ).fit(*table)
    assert published.tree_ == spelled.tree_
    assert published.rules_ == spelled.rules_
    by_hand = interval_rules(published, simplify=False)
    assert by_hand.rules == published.rules_
    assert len(interval_rules(published, simplify=True).rules) < len(published.rules_)
    assert published.predict_by_rules(table[0]).shape == (184,)


def test_support_vectors_of_one_class_machines_are_not_counted(table):
    plain, published = (
        SVMTreeClassifier(one_class_leaves=o).fit(*table) for o in (None, "simplified")
    )
    assert plain.n_support_vectors_ == published.n_support_vectors_
    assert all(len(leaf.kernel.vectors) for leaf in published.tree_.leaves if leaf.kind == "pure")


def test_pickle_keeps_the_machines_of_leaves_and_a_model_file_refuses_them(table, tmp_path):
    model = SVMTreeClassifier(one_class_leaves="strict", kernel="rbf", C=10.0, tol=0.1).fit(*table)
    twin = pickle.loads(pickle.dumps(model))
    assert twin.tree_ == model.tree_
    assert hash(twin.tree_) == hash(model.tree_)
    assert (twin.predict(table[0]) == model.predict(table[0])).all()
    kernels = [leaf.kernel for leaf in twin.tree_.leaves if leaf.kernel is not None]
    assert not kernels[0].vectors.flags.writeable
    with pytest.raises(InvalidValueError, match=r"only linear models can be saved. joblib.dump"):
        save_model(model, tmp_path / "tree.json", X=table[0])
    model.rules_.save(tmp_path / "tree.rules")
    assert "rare" in (tmp_path / "tree.rules").read_text()


def test_a_tree_without_planes_has_no_exact_rules_and_explains_by_boxes(table, fresh):
    model = SVMTreeClassifier(one_class_leaves="strict").fit(*table)
    with pytest.raises(NotLinearError, match=r"leaf 0 decides by a kernel function.*rules_, are"):
        _ = model.exact_rules_
    rows = fresh[0][:40]
    for kind in ("rule", "leaf"):
        told = model.explain_many(rows, kind=kind)
        assert [e.label for e in told] == model.predict(rows).tolist()
        assert all(e.rule.region.contains(x[None, :])[0] for e, x in zip(told, rows, strict=True))
    assert {e.kind for e in model.explain_many(rows)} == {"rule", "leaf"}


def test_too_many_pairs_are_refused_with_what_to_do_instead(table, monkeypatch):
    model = SVMTreeClassifier(published=True, boxes="pairs").fit(*table)
    monkeypatch.setattr(node_rules, "_MOST_BOXES", 3)
    with pytest.raises(DataError, match=r"more than the 3 that can be compared.*boxes='support'"):
        _ = model.rules_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"one_class_leaves": "svm"},
            "one_class_leaves must be one of 'simplified', 'strict', None",
        ),
        ({"boxes": "pair"}, "boxes must be one of 'points', 'support', 'pairs', None, not 'pair'"),
        (
            {"boxes": "pairs"},
            "boxes='pairs' are those of one-class SVMs, and leaves have none; add",
        ),
    ],
)
def test_options_of_leaves_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InvalidValueError, match=message):
        SVMTreeClassifier(**options).fit([[0.0], [1.0]], [0, 1])


BUMP = LeafKernel("rbf", [[0.0]], [[1.0]], [-0.5], low=[0.0], width=[1.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Leaf("svm", 0, [1, 1, 1], [(0, 1), (0, 2), (1, 2)], kernel=BUMP),
            "3 pairs of classes, but 1 kernel functions",
        ),
        (lambda: Leaf("pure", 0, [1, 0], outlier=1), "only a one-class machine has outliers"),
        (
            lambda: LeafKernel("rbf", [[0.0]], [[1.0], [2.0]], [0.0], low=[0.0], width=[1.0]),
            r"coefficients has shape \(2, 1\), but \(1, 1\) is needed",
        ),
    ],
)
def test_what_is_no_leaf_is_refused(make, message):
    with pytest.raises(InvalidValueError, match=message):
        make()


def test_a_strict_leaf_has_the_colours_of_both_classes(table):
    model = SVMTreeClassifier(one_class_leaves="strict").fit(*table)
    layout = lay_out_svm_tree(model.tree_, 60, 30)
    assert {cell.says for cell in layout.cells if cell.kind == "pure"} == {(0, 1)}
    assert any(line.swatch == "svm" for line in layout.texts)


def test_leaves_with_functions_are_drawn_in_words(table):
    text = str(SVMTreeClassifier(one_class_leaves="strict").fit(*table).tree_)
    assert "=> common, outliers rare" in text
    text = str(SVMTreeClassifier(kernel="rbf").fit(*table).tree_)
    assert "=> common or rare by a machine with kernel 'rbf' and 2 support vectors" in text
