"""The area under the ROC curve of rules: against a count of all pairs, and at chance on noise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from clearmargin import SurrogateRules, SVMTreeClassifier
from clearmargin.language import parse_rules
from clearmargin.rule_base.rule_auc import class_shares, mean_auc
from clearmargin.rules import RuleSet
from clearmargin.rules.rule import RuleStats

IRIS = load_iris()


def area_by_pairs(scores, is_member):
    """How often a member has the larger score, ties counting half, pair by pair."""
    pairs = [(a, b) for a in scores[is_member] for b in scores[~is_member]]
    return float(sum(int(a > b) + Fraction(int(a == b), 2) for a, b in pairs) / len(pairs))


def shares_by_hand(model, X):
    """The definition, row by row: Laplace's estimate of the first rule that covers a row."""
    classes = model.classes_.tolist()
    rows = []
    for x in X:
        rule = next((r for r in model.rules_ if r.region.contains(x[None])[0]), None)
        if rule is None:
            rows.append([1 / len(classes)] * len(classes))
            continue
        own = (rule.stats.correct + 1) / (rule.stats.covered + len(classes))
        rest = (1 - own) / (len(classes) - 1)
        rows.append([own if label == rule.label else rest for label in classes])
    return np.array(rows)


@pytest.mark.parametrize("model", [SurrogateRules(SVC(), method="train"), SVMTreeClassifier()])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_and_area_are_those_of_a_count_by_hand(model, n_classes):
    kept = IRIS.target < n_classes + (n_classes == 2)
    kept &= (IRIS.target > 0) | (n_classes == 3)
    X, y = IRIS.data[kept][:, 1:3], IRIS.target_names[IRIS.target[kept]]
    fitted = model.fit(X[::2], y[::2])
    shares = fitted.class_shares(X[1::2])
    np.testing.assert_allclose(shares, shares_by_hand(fitted, X[1::2]))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    codes = np.searchsorted(fitted.classes_, y[1::2])
    by_class = [area_by_pairs(shares[:, k], codes == k) for k in range(n_classes)]
    assert mean_auc(shares, codes) == pytest.approx(np.mean(by_class))
    assert mean_auc(shares, codes) > 0.8


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 2)), min_size=2, max_size=12),
)
def test_the_area_is_that_of_all_pairs_whatever_is_tied(rows):
    level, codes = np.array(rows, dtype=np.intp).T
    scores = np.stack([level, -level, level % 2], axis=1).astype(float)
    usable = [k for k in range(3) if 0 < (codes == k).sum() < len(codes)]
    area = mean_auc(scores, codes)
    if usable:
        by_pairs = [area_by_pairs(scores[:, k], codes == k) for k in usable]
        assert area == pytest.approx(np.mean(by_pairs))
    else:
        assert np.isnan(area)


def test_a_rule_without_counts_is_taken_at_its_word():
    said = parse_rules("x > 3 => yes\nx < 1 => no")
    counted = replace(said[0], stats=RuleStats(100, 8, 7, 8))
    unlabelled = replace(said[1], stats=RuleStats(100, 8))
    rules = RuleSet([counted, unlabelled], said.space, said.classes)
    shares = class_shares(rules, np.array([0, 1, -1]), ["no", "yes"])
    np.testing.assert_allclose(shares, [[0.2, 0.8], [1.0, 0.0], [0.5, 0.5]])
    one_class = class_shares(parse_rules("x > 3 => yes"), np.array([0, -1]), ["yes"])
    assert one_class.tolist() == [[1.0], [1.0]]


def test_rules_of_noise_have_an_area_of_chance_on_rows_not_seen():
    areas, seen = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(200, 3)), rng.permutation(np.arange(200) % 2)
        rules = SurrogateRules(SVC(gamma=5.0), method="train").fit(X[:100], y[:100])
        seen.append(mean_auc(rules.class_shares(X[:100]), y[:100]))
        areas.append(mean_auc(rules.class_shares(X[100:]), y[100:]))
    assert np.mean(seen) > 0.7  # they remember what they were made of
    error = np.std(areas, ddof=1) / np.sqrt(len(areas))
    assert abs(np.mean(areas) - 0.5) < 3 * error < 0.1
