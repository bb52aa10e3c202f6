"""Machines of leaves with kernels and with class weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from clearmargin.exceptions import InvalidValueError
from clearmargin.svm_trees import SVMTreeClassifier
from clearmargin.svm_trees.grow import LocalSVM, fit_duels, fit_kernel_pair, fit_pair
from clearmargin.svm_trees.node_rules import crossing_boxes
from clearmargin.svm_trees.svm_tree import TrainingRange

from .test_grow import Unfiltered

KERNELS: list[dict[str, Any]] = [
    {"kind": "rbf", "gamma": 2.0},
    {"kind": "poly", "gamma": 1.0, "coef0": 1.0, "degree": 2},
    {"kind": "sigmoid", "gamma": 0.5, "coef0": -0.2},
]


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("weight", [None, "balanced", {"rare": 3.0}])
def test_a_tree_of_one_leaf_is_the_machine_of_scikit_learn(table, fresh, kernel, weight):
    X, y = table
    options = {"C": 5.0, "kernel": kernel, "class_weight": weight, "coef0": 0.5, "degree": 3}
    tree = SVMTreeClassifier(max_layers=1, **options).fit(X, y)
    scaler = MinMaxScaler().fit(X)
    machine = SVC(**options).fit(scaler.transform(X), y)
    scores = machine.decision_function(scaler.transform(fresh[0]))
    clear = np.abs(scores) > 1e-3
    assert clear.mean() > 0.9
    answers = machine.predict(scaler.transform(fresh[0]))
    if (answers == "common").all():  # then the leaf is a constant one
        clear[:] = True
    assert (tree.predict(fresh[0])[clear] == answers[clear]).all()


def test_a_cell_of_many_points_is_the_machine_of_scikit_learn_too(fresh):
    X, y = fresh[0][:600], fresh[1][:600]
    tree = SVMTreeClassifier(max_layers=1, kernel="rbf", C=5.0).fit(X, y)
    scaler = MinMaxScaler().fit(X)
    machine = SVC(C=5.0).fit(scaler.transform(X), y)
    rows = scaler.transform(fresh[0][600:])
    clear = np.abs(machine.decision_function(rows)) > 1e-3
    assert (tree.predict(fresh[0][600:])[clear] == machine.predict(rows)[clear]).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 4))
def test_a_weight_of_three_counts_like_three_points(seed, few, many):
    rng = np.random.default_rng(seed)
    points = rng.random((few + many, 2))
    positive = np.arange(few + many) < few
    repeated = np.where(positive, 3, 1)
    mean = np.average(points, axis=0, weights=repeated)
    costs = np.where(positive, 3.0, 1.0)
    w, intercept, _ = fit_pair(points - mean, positive, costs)
    again = np.repeat(points - mean, repeated, axis=0)
    w2, intercept2, _ = fit_pair(again, np.repeat(positive, repeated), np.ones(len(again)))
    np.testing.assert_allclose(w, w2, atol=2e-2)
    scores, scores2 = (points - mean) @ w + intercept, (points - mean) @ w2 + intercept2
    hinge = [
        (costs * np.maximum(0.0, 1.0 - np.where(positive, s, -s))).sum() for s in (scores, scores2)
    ]
    objective = [w @ w / 2 + hinge[0], w2 @ w2 / 2 + hinge[1]]
    assert objective[0] == pytest.approx(objective[1], abs=2e-2)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from(KERNELS))
def test_where_weights_are_equal_in_a_small_cell_the_closed_form_is_the_machine(seed, n, kernel):
    rng = np.random.default_rng(seed)
    points = 0.3 + 0.2 * rng.random((3 * n, 2))
    positive = rng.permutation(np.arange(3 * n) < n)
    # n points of weight 2 against 2 n of weight 1.
    costs = np.where(positive, 0.1, 0.05)
    svm = LocalSVM(0.05, (1.0, 2.0), **kernel)
    machine = SVC(
        C=0.05,
        class_weight={True: 2.0},
        kernel=svm.kind,
        gamma=svm.gamma,
        coef0=svm.coef0,
        degree=svm.degree,
        tol=1e-6,
    ).fit(points, positive)
    assume(len(machine.support_) == 3 * n)
    coefs, intercept = fit_kernel_pair(points, positive, costs, svm)
    np.testing.assert_allclose(
        coefs, machine.dual_coef_[0][np.argsort(machine.support_)], atol=1e-6
    )
    assert intercept == pytest.approx(float(machine.intercept_[0]), abs=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "rbf"},
        {"kernel": "rbf", "C": 10.0, "gamma": 3.0},
        {"kernel": "poly"},
        {"class_weight": "balanced"},
        {"class_weight": {"rare": 10.0}, "C": 1.0, "tol": 0.1},
        {"class_weight": {"rare": 168 / 16}, "kernel": "rbf", "tol": 0.2},
    ],
)
def test_refusing_cells_without_fitting_gives_the_same_tree_with_kernels_and_weights(
    table, fresh, options
):
    fast, full = SVMTreeClassifier(**options).fit(*table), Unfiltered(**options).fit(*table)
    assert fast.tree_ == full.tree_
    assert (fast.predict(fresh[0]) == full.predict(fresh[0])).all()


def test_the_loss_of_a_cell_is_the_weight_of_its_errors(table):
    X, y = table
    model = SVMTreeClassifier(class_weight="balanced", tol=0.25, C=10.0).fit(X, y)
    weight = np.where(
        y == "rare", len(y) / (2 * (y == "rare").sum()), len(y) / (2 * (y != "rare").sum())
    )
    leaves, predicted = model.apply(X), model.predict(X)
    machines = [k for k, leaf in enumerate(model.tree_.leaves) if leaf.kind == "svm"]
    assert machines
    for k in machines:
        own = leaves == k
        assert weight[own & (predicted != y)].sum() / weight[own].sum() <= 0.25 + 1e-9


def test_balanced_weights_find_more_of_the_rare_class_in_one_machine_and_in_a_tree(table, fresh):
    X, y = fresh
    for options in ({"max_layers": 1, "C": 10.0}, {"tol": 0.25, "C": 10.0}):
        plain, balanced = (
            balanced_accuracy_score(
                y, SVMTreeClassifier(class_weight=w, **options).fit(*table).predict(X)
            )
            for w in (None, "balanced")
        )
        assert balanced > plain + 0.05


def test_a_class_of_next_to_no_weight_has_no_cell(table):
    X, y = table
    heavy = SVMTreeClassifier(class_weight={"rare": 1e-6}).fit(X, y)
    assert set(heavy.predict(X)) == {"common"}
    three = SVMTreeClassifier(class_weight={"a": 1e6}, C=10.0).fit(
        np.arange(12.0)[:, None] // 2, np.repeat(["a", "b", "c"], 4)
    )
    assert set(three.predict(np.arange(6.0)[:, None])) == {"a"}


@pytest.mark.parametrize("kernel", KERNELS)
def test_walks_end_where_a_kernel_function_changes_its_sign(kernel):
    rng = np.random.default_rng(2)
    points = rng.random((40, 2)) * [10.0, 1.0]
    codes = ((points[:, 0] - 5) ** 2 / 10 + points[:, 1] ** 2 > 1).astype(int) + (points[:, 0] > 8)
    X = np.column_stack([points, np.full(40, 7.0)])  # a column that does not vary
    frame = TrainingRange.from_points(X)
    model = SVMTreeClassifier(max_layers=1, C=20.0, **_parameters(kernel)).fit(X, codes)
    (leaf,) = model.tree_.leaves
    anchors = X[:8]
    below, above, found = crossing_boxes(leaf, anchors)
    starts = anchors[np.argsort(leaf.decide(anchors), kind="stable")]
    wins = [
        k
        for k in range(len(starts))
        if _wins(leaf, starts[k], int(leaf.decide(starts[k : k + 1])[0]))
    ]
    assert found.tolist() == leaf.decide(starts[wins]).tolist()
    assert np.isinf(below[:, 2]).all()
    assert np.isinf(above[:, 2]).all()
    n_ends = 0
    for k, x in enumerate(starts[wins]):
        for axis in range(2):
            for end, sign in ((below[k, axis], -1.0), (above[k, axis], 1.0)):
                last = frame.low[axis] + (frame.width[axis] if sign > 0 else 0.0)
                stop = last if np.isinf(end) else end
                line = np.repeat(x[None, :], 41, axis=0)
                line[:, axis] = x[axis] + (stop - x[axis]) * np.linspace(0.0, 1 - 1e-6, 41)
                assert all(_wins(leaf, row, int(found[k])) for row in line)
                if not np.isinf(end):
                    beyond = x.copy()
                    beyond[axis] = end + sign * 1e-6 * frame.width[axis]
                    assert not _wins(leaf, beyond, int(found[k]))
                    n_ends += 1
    assert n_ends > 5


def _parameters(kernel):
    return {"kernel" if key == "kind" else key: value for key, value in kernel.items()}


def _wins(leaf, x, code):
    """Whether a class wins all its duels, by the sum over support vectors."""
    machine = leaf.kernel
    z, S = ((v - machine.low) / machine.width for v in (x, machine.vectors))
    inner = np.array([sum(a * b for a, b in zip(z, s, strict=True)) for s in S])
    if machine.kind == "rbf":
        values = np.exp(-machine.gamma * np.array([((z - s) ** 2).sum() for s in S]))
    elif machine.kind == "poly":
        values = (machine.gamma * inner + machine.coef0) ** machine.degree
    else:
        values = np.tanh(machine.gamma * inner + machine.coef0)
    scores = values @ machine.coefs + machine.intercepts
    return all(
        (score > 0) == (pair[1] == code)
        for pair, score in zip(leaf.pairs, scores, strict=True)
        if code in pair
    )


def test_every_pair_of_classes_has_a_kernel_function_of_its_own(three_classes):
    X, y = three_classes
    model = SVMTreeClassifier(kernel="rbf", C=100.0, tol=0.2, scale=1).fit(X, y)
    leaf = model.tree_.leaves[0]
    assert leaf.kernel.coefs.shape[1] == len(leaf.pairs) == 3
    codes = np.unique(y, return_inverse=True)[1]
    duels = fit_duels(X, codes, model.tree_.frame, model._svm)
    assert duels.kernel == leaf.kernel
    assert leaf.n_support == len(duels.support)
    rules = model.rules_
    assert (model.predict_by_rules(X) == model.predict(X)).all()
    assert {rule.label for rule in rules} == {"a", "b", "c"}


def test_gamma_is_what_scikit_learn_makes_of_it_on_scaled_data(table):
    X, y = table
    scaled = MinMaxScaler().fit_transform(X)
    for gamma in ("scale", "auto", 0.7):
        ours = SVMTreeClassifier(kernel="rbf", gamma=gamma).fit(X, y)._svm.gamma
        assert ours == pytest.approx(SVC(gamma=gamma).fit(scaled, y)._gamma)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"kernel": "cubic"},
            "kernel must be one of 'linear', 'poly', 'rbf', 'sigmoid', not 'cubic'",
        ),
        ({"gamma": "wide"}, "gamma, unless it is 'scale' or 'auto', must be a positive number"),
        ({"gamma": -1.0}, "gamma, .*, must be a positive number, not -1.0"),
        ({"coef0": "one"}, "coef0 must be a number, not 'one'"),
        ({"degree": 0}, "degree must be a whole number from 1, not 0"),
        ({"class_weight": "even"}, "class_weight must be None, 'balanced' or a mapping"),
        ({"class_weight": {2: 1.0}}, "class_weight names 2, which is no class"),
        ({"class_weight": {1: 0.0}}, "the weight of class 1 must be a positive number, not 0.0"),
        (
            {"class_weight": "balanced", "loss": "minority"},
            "loss='minority' does not go with class_weight.*take loss='all'",
        ),
    ],
)
def test_options_of_machines_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InvalidValueError, match=message):
        SVMTreeClassifier(**options).fit([[0.0], [1.0]], [0, 1])
