"""Settings, algorithms and printed numbers of Pang and Kasabov (IJCNN 2008)."""

import math

import numpy as np
from scipy.optimize import minimize
from tests.oracles.svm_tree_walk import duel_values, walk, winner

from clearmargin import SVMTreeClassifier
from clearmargin.datasets import make_imbalanced

SIGMA, NU = 3.5, 0.1  # section V
PUBLISHED = {"simplify": False, "C": 0.1, "max_layers": None}
ALL = {**PUBLISHED, "min_coverage": 1, "max_rules": None}


def kernel(a, b):
    return math.exp(-sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) / (2 * SIGMA**2))


def one_class_dual(points):
    """The multipliers of a one-class SVM by a general solver, and the matrix of its dual."""
    m = len(points)
    # On the simplex a constant in the kernel changes nothing, and without it the digits suffice.
    K = np.array([[kernel(a, b) - 1.0 for b in points] for a in points]) * 2 * SIGMA**2
    found = minimize(
        lambda a: a @ K @ a / 2, np.full(m, NU), jac=lambda a: K @ a, bounds=[(0.0, 1.0)] * m,
        constraints={"type": "eq", "fun": lambda a: a.sum() - NU * m, "jac": lambda a: np.ones(m)},
        method="SLSQP", options={"maxiter": 500, "ftol": 1e-14},
    )  # fmt: skip
    return found.x, K


def last_inside(holds, inside, outside):
    for _ in range(40):
        middle = (inside + outside) / 2
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside


def axis_walk(leaf, x, low, high):
    """How far a machine keeps its class along each axis, within the range of the data: by steps, then by halves."""
    code = winner(leaf, duel_values(leaf, x))
    below, above = low.copy(), high.copy()
    for axis in range(len(x)):

        def holds(value, axis=axis):
            row = np.where(np.arange(len(x)) == axis, value, x)
            return winner(leaf, duel_values(leaf, row)) == code

        for ends, to in ((below, low[axis]), (above, high[axis])):
            steps = np.linspace(x[axis], to, 400)
            lost = next((k for k, value in enumerate(steps) if k and not holds(value)), 0)
            if lost:
                ends[axis] = last_inside(holds, steps[lost - 1], steps[lost])
    return below, above, code


def test_svmtree_published_rules_are_the_boxes_of_algorithms_2_and_3_less_those_in_others():
    X, y = make_imbalanced(60, random_state=3)
    model = SVMTreeClassifier(**ALL).fit(X, y)
    tree, leaves = model.tree_, model.apply(X)
    low, high = X.min(axis=0), X.max(axis=0)
    found = []
    for number, leaf in enumerate(tree.leaves):
        own = X[leaves == number]
        if leaf.kind == "pure":
            # Support vectors of the one-class SVM of equation 4, by a general solver.
            multipliers, _ = one_class_dual((own - tree.low) / tree.width)
            held = own[multipliers > 1e-6]
            found.append((held.min(axis=0), held.max(axis=0), leaf.label))
        elif leaf.pairs:
            assert leaf.n_support == leaf.size  # so that each point has its box
            found += [axis_walk(leaf, x, low, high) for x in own]
        else:
            found.append((own.min(axis=0), own.max(axis=0), leaf.label))
    sets = [
        (frozenset(np.flatnonzero(((a <= X) & (b >= X)).all(axis=1)).tolist()), code)
        for a, b, code in found
        if code is not None
    ]
    expected = {(rows, code) for rows, code in sets if rows
                and not any(rows < more and code == other for more, other in sets)}  # fmt: skip
    labels = model.classes_.tolist()
    got = {
        (frozenset(np.flatnonzero(column).tolist()), labels.index(rule.label))
        for rule, column in zip(model.rules_, model.rules_.covers(X).T, strict=True)
    }
    assert got == expected


def test_svmtree_published_has_the_settings_of_section_v():
    X, y = make_imbalanced(random_state=0)
    model = SVMTreeClassifier(**PUBLISHED).fit(X, y)
    assert model.best_params_ == {"C": 0.1, "max_layers": None}
    counted = sum(leaf.n_support for leaf in model.tree_.leaves if leaf.pairs)
    assert model.n_support_vectors_ == counted
    # The simplified reading of equation 4: a leaf of one class gives it everywhere.
    for x in X[::7].tolist():
        number, code = walk(model.tree_, x)
        if tree_is_pure := model.tree_.leaves[number].kind == "pure":
            assert code == model.tree_.leaves[number].label
        assert tree_is_pure or code is not None
