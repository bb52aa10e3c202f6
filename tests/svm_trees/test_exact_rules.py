from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from clearmargin import parse_rules
from clearmargin.exceptions import InvalidValueError
from clearmargin.rules import Box, FeatureSpace
from clearmargin.svm_trees import Layer, Leaf, SVMTree, SVMTreeClassifier, exact_rules


def around(X, rows, seed=0):
    """Points in and around the range of a table, a third of them far away."""
    rng = np.random.default_rng(seed)
    low, reach = X.min(axis=0), np.ptp(X, axis=0)
    near = rng.uniform(low - 0.2 * reach, low + 1.2 * reach, (rows, X.shape[1]))
    return np.vstack([near, low + reach * rng.normal(0, 100, (rows // 2, X.shape[1]))])


def on_bisectors(tree):
    """Midpoints of pairs of centres, which are as near to one as to the other."""
    return np.vstack(
        [
            ((c[:, None] + c[None, :]) / 2).reshape(-1, c.shape[1])
            for c in (layer.centres for layer in tree.layers)
        ]
    )


def on_planes(tree):
    """Points on the planes of machines, as near as floats allow."""
    points = []
    for leaf in tree.leaves:
        for normal, offset in zip(leaf.normals, leaf.offsets, strict=True):
            if normal.any():
                points.append(normal * offset / (normal @ normal))
    return np.array(points).reshape(-1, len(tree.names))


def test_the_list_of_rules_is_the_tree(model, table, fresh):
    rules = model.exact_rules_
    assert model.exact_rules_ is rules
    for X in (table[0], fresh[0], around(table[0], 4000)):
        assert (rules.predict(X) == model.predict(X)).all()


def test_rules_and_tree_agree_on_the_boundaries_too(model):
    tree = model.tree_
    X = np.vstack([on_bisectors(tree), on_planes(tree)])
    X = np.vstack([X, np.nextafter(X, np.inf), np.nextafter(X, -np.inf)])
    assert (model.exact_rules_.predict(X) == model.predict(X)).all()


@settings(max_examples=15)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.integers(2, 4),
    st.sampled_from(["kmeans", "ecm"]),
    st.sampled_from([(0.0, 1.0), (1e5, 0.1), (0.0, 1e-9)]),
)
def test_rules_and_tree_agree_on_lattices_where_ties_abound(seed, n, n_classes, partition, units):
    rng = np.random.default_rng(seed)
    shift, unit = units
    X = rng.integers(0, 6, (40, n)) * unit + shift
    y = rng.integers(0, n_classes, 40)
    y[:2] = [0, 1]
    model = SVMTreeClassifier(partition=partition, C=10.0, tol=0.25, random_state=0).fit(X, y)
    Z = rng.integers(-4, 20, (500, n)) / 2 * unit + shift
    for points in (X, Z, on_bisectors(model.tree_)):
        assert (model.exact_rules_.predict(points) == model.predict(points)).all()


def test_several_classes_and_features_in_different_units(three_classes):
    X, y = three_classes
    for C, tol in ((0.1, 0.02), (100.0, 0.2)):
        model = SVMTreeClassifier(C=C, tol=tol, scale=1, random_state=0).fit(X, y)
        Z = around(X, 3000)
        assert (model.exact_rules_.predict(Z) == model.predict(Z)).all()
        assert (model.exact_rules_.predict(X) == model.predict(X)).all()
        assert all(3 not in rule.region.bounded for rule in model.exact_rules_)  # it does not vary
    assert any(len(leaf.pairs) == 3 for leaf in model.tree_.leaves)


def test_iris_is_learned_and_told():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = SVMTreeClassifier(random_state=0).fit(X, y)
    assert (model.exact_rules_.predict(X) == model.predict(X)).all()
    assert (model.predict(X) == y).mean() > 0.98
    assert model.exact_rules_.space.names == tuple(X.columns)


def test_every_row_is_covered_and_no_row_by_two_leaves_of_a_layer(model, fresh):
    rules, X = model.exact_rules_, around(fresh[0], 1000)
    covered = rules.covers(X)
    assert covered.any(axis=1).all()
    layer_of, numbers = {}, iter(range(model.n_leaves_))
    for t, layer in enumerate(model.tree_.layers):
        layer_of |= {f"leaf_{next(numbers)}": t for leaf in layer.leaves if leaf is not None}
    last = f"leaf_{model.n_leaves_ - 1}"
    for t in range(len(model.tree_.layers)):
        chosen = [layer_of[rule.name] == t and rule.name != last for rule in rules]
        assert covered[:, chosen].sum(axis=1).max(initial=0) <= 1


def test_rules_survive_the_rule_language(model):
    rules = model.exact_rules_
    assert parse_rules(rules.to_text()) == rules


def test_only_rules_that_hold_by_themselves_are_called_proved(model, fresh):
    rules, X = model.exact_rules_, around(fresh[0], 2000)
    covered, said = rules.covers(X), model.predict(X)
    proved = [k for k, rule in enumerate(rules) if rule.proof == "proved"]
    for k in proved:
        assert (said[covered[:, k]] == rules[k].label).all()
    in_first = {f"leaf_{j}" for j in range(model.tree_.layers[0].n_leaves)}
    assert {rules[k].name for k in proved} == in_first - {f"leaf_{model.n_leaves_ - 1}"}


def test_rules_count_what_they_cover_in_the_training_data(model, table):
    X, y = table
    rules = model.exact_rules_
    covered = rules.covers(X)
    for k, rule in enumerate(rules):
        assert rule.stats.rows == len(X)
        assert rule.stats.covered == covered[:, k].sum()
        assert rule.stats.correct == (covered[:, k] & (y == rule.label)).sum()


def test_premises_hold_no_bisector_that_says_nothing_new():
    grid = np.array([[x, y] for x in range(5) for y in range(5)], dtype=float)
    leaves = [Leaf("pure", i % 2, [1, 1]) for i in range(25)]
    tree = SVMTree([Layer(grid, [(1, 1)] * 25, leaves)], [0, 0], [4, 4], "ab", [0, 1])
    rules = exact_rules(tree)
    # The inner cells have four sides; diagonals that touch a corner stay for the sake of ties.
    assert max(rule.n_conditions for rule in rules) <= 8
    assert (rules.predict(grid) == tree.decide(grid)).all()
    corners = np.array([[x, y] for x in range(-1, 11) for y in range(-1, 11)]) / 2
    assert (rules.predict(corners) == tree.decide(corners)).all()


def test_one_feature_gives_intervals():
    X = np.array([[1.0], [2.0], [3.0], [10.0], [11.0], [20.0]])
    model = SVMTreeClassifier(random_state=0).fit(X, [0, 0, 0, 1, 1, 0])
    assert all(isinstance(rule.region, Box) for rule in model.exact_rules_)
    Z = np.linspace(-5, 30, 2000)[:, None]
    assert (model.exact_rules_.predict(Z) == model.predict(Z)).all()


def test_a_class_that_a_machine_cannot_say_within_its_cell_has_no_rule():
    leaf = Leaf("svm", 0, [3, 1], [(0, 1)], [[1.0]], [50.0], n_support=2)  # 1 where x > 50
    other = Leaf("pure", 1, [0, 1])
    layer = Layer([[0.0], [4.0]], [(3, 1), (0, 1)], [leaf, other])
    tree = SVMTree([layer], [0.0], [4.0], ["x"], ["no", "yes"])
    rules = exact_rules(tree)
    assert [(rule.name, rule.label) for rule in rules] == [("leaf_0", "no"), ("leaf_1", "yes")]
    assert rules[0].n_conditions == 1


def test_a_machine_without_a_direction_says_one_class():
    for offset, label in ((-1.0, "yes"), (1.0, "no")):
        leaf = Leaf("residual", 0, [2, 2], [(0, 1)], [[0.0]], [offset])
        tree = SVMTree([Layer([[0.0]], [(2, 2)], [leaf])], [0.0], [1.0], ["x"], ["no", "yes"])
        assert [rule.label for rule in exact_rules(tree)] == [label]
        assert tree.classes[tree.decide([[5.0]])[0]] == label


def test_three_classes_that_beat_each_other_in_a_circle_leave_it_to_the_most_frequent():
    duels = [(0, 1), (0, 2), (1, 2)]
    # At the origin 0 beats 1, 1 beats 2 and 2 beats 0.
    leaf = Leaf("svm", 1, [1, 2, 1], duels, [[1.0, 0], [0, 1.0], [1.0, 1.0]], [1.0, -1.0, 1.0])
    tree = SVMTree([Layer([[0.0, 0.0]], [(1, 2, 1)], [leaf])], [0, 0], [1, 1], "xy", "abc")
    rules = exact_rules(tree)
    assert rules.predict([[0.0, 0.0]]).tolist() == ["b"]
    Z = np.random.default_rng(0).uniform(-3, 3, (3000, 2))
    assert (rules.predict(Z) == np.array(tree.classes)[tree.decide(Z)]).all()
    assert set(rules.predict(Z)) == {"a", "b", "c"}


def test_features_and_classes_can_be_given_other_names(table):
    tree = SVMTreeClassifier(random_state=0).fit(*table).tree_
    rules = exact_rules(tree, FeatureSpace(["east", "north"]), [0, 1])
    assert rules.classes == (0, 1)
    assert rules.space.names == ("east", "north")
    with pytest.raises(InvalidValueError, match="2 classes, but 1 labels"):
        exact_rules(tree, classes=["only"])


def test_intervals_that_no_point_satisfies_give_no_rule():
    # Where x <= 1 class 0 beats 1, where x > 1 it beats 2: there is no x for class 0 but one on the edge for neither.
    duels = [(0, 1), (0, 2), (1, 2)]
    leaf = Leaf("svm", 1, [1, 2, 1], duels, [[1.0], [-1.0], [1.0]], [1.0, -1.0, 3.0])
    tree = SVMTree([Layer([[0.0]], [(1, 2, 1)], [leaf])], [0], [1], "x", "abc")
    rules = exact_rules(tree)
    Z = np.array([[0.0], [1.0], [np.nextafter(1.0, 2)], [2.0], [3.0], [4.0]])
    assert (rules.predict(Z) == np.array(tree.classes)[tree.decide(Z)]).all()


@pytest.mark.parametrize("shift", [0.0, 1e6, 1e9, 1e12])
def test_rules_and_tree_agree_however_far_from_zero_the_data_are(shift, table):
    X, y = np.round(table[0], 3) + shift, table[1]
    model = SVMTreeClassifier(random_state=0).fit(X, y)
    Z = np.vstack([X, around(X, 2000), on_bisectors(model.tree_)])
    Z = np.vstack([Z, np.nextafter(Z, np.inf)])
    assert (model.exact_rules_.predict(Z) == model.predict(Z)).all()
