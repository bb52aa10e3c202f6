"""The tree of scikit-learn beside our rules, and the peers that are named with their versions."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.peers.run import METHODS
from benchmarks.quality.others import SURROGATES, peer_versions
from benchmarks.quality.plan import FULL, QUICK
from benchmarks.quality.tree_peer import TREES, leaves, rules_of, tree_answers
from sklearn.tree import DecisionTreeClassifier


def fold_of(said=None):
    """Rows whose class is noisy, as a fold has them."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    if said is None:
        said = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=300) > 0.5).astype(np.int64)
    return SimpleNamespace(X_train=X[:200], predicted_train=said[:200], X_test=X[200:], seed=1)


def grown(fold, name):
    tree = DecisionTreeClassifier(random_state=fold.seed, **TREES[name])
    return tree.fit(fold.X_train, fold.predicted_train)


@pytest.mark.parametrize("name", TREES)
def test_each_leaf_belongs_to_a_rule_and_a_split_to_none(name):
    tree = grown(fold_of(), name)
    sizes, rule_of = rules_of(tree)
    is_leaf = tree.tree_.children_left < 0
    np.testing.assert_array_equal(rule_of >= 0, is_leaf)
    assert set(rule_of[is_leaf]) == set(range(len(sizes)))
    assert leaves(tree) == sizes


@pytest.mark.parametrize("name", TREES)
def test_leaves_of_a_rule_are_of_one_class(name):
    tree = grown(fold_of(), name)
    sizes, rule_of = rules_of(tree)
    says = tree.tree_.value[:, 0, :].argmax(axis=1)
    assert all(len(set(says[rule_of == k])) == 1 for k in range(len(sizes)))


def test_leaves_that_count_as_one_rule_have_one_score():
    # One class is so rare that most leaves of a small tree are of the other.
    fold = fold_of(np.random.default_rng(0).binomial(1, 0.2, size=300))
    name = "scikit-learn tree, depth 3"
    tree = grown(fold, name)
    sizes, rule_of = rules_of(tree)
    assert len(sizes) < tree.get_n_leaves()
    answer = tree_answers(fold)[name]
    held = rule_of[tree.apply(fold.X_test)]
    assert all(len(set(answer.score[held == rule])) == 1 for rule in set(held))
    # The tree's own shares differ from leaf to leaf within a rule.
    own = tree.predict_proba(fold.X_test)[:, 1]
    assert any(len(set(own[held == rule])) > 1 for rule in set(held))


@pytest.mark.parametrize("name", TREES)
def test_the_score_is_the_share_in_the_rule_with_a_row_of_each_class_added(name):
    fold = fold_of()
    tree = grown(fold, name)
    _, rule_of = rules_of(tree)
    trained, held = rule_of[tree.apply(fold.X_train)], rule_of[tree.apply(fold.X_test)]
    expected = [
        (fold.predicted_train[trained == rule].sum() + 1) / (np.sum(trained == rule) + 2)
        for rule in held
    ]
    answer = tree_answers(fold)[name]
    np.testing.assert_allclose(answer.score, expected)
    # A rule has the class of most of its rows, so that score and class agree.
    assert (answer.predicted[answer.score > 0.5] == 1).all()
    assert (answer.predicted[answer.score < 0.5] == 0).all()


@pytest.mark.parametrize("label", [0, 1])
def test_a_machine_that_says_one_class_gets_one_rule_and_one_score(label):
    for answer in tree_answers(fold_of(np.full(300, label))).values():
        assert (answer.rules, answer.conditions) == (1, 0)
        assert set(answer.predicted) == {label}
        np.testing.assert_allclose(answer.score, 201 / 202 if label else 1 / 202)


def test_a_tree_of_seven_leaves_has_at_most_seven_rules():
    answer = tree_answers(fold_of())["scikit-learn tree, 7 leaves"]
    assert 2 <= answer.rules <= 7


@pytest.mark.parametrize("plan", [QUICK, FULL])
@pytest.mark.parametrize(
    "method", ["BoostedRules, 5 stumps", "BoostedRules, 30 stumps", "FIGS, 6 splits"]
)
def test_small_and_large_sizes_of_peers_are_asked_on_all_folds(plan, method):
    assert method in METHODS["imodels"]
    assert all(plan.most_folds(method, data) is None for data in plan.names)


def test_versions_of_all_peers_of_the_comparison_are_said():
    said = dict(each.split(" ") for each in peer_versions())
    assert set(said) == {*SURROGATES, "alibi"}
    assert set(SURROGATES) <= set(METHODS)
    assert all(version[0].isdigit() for version in said.values())
