"""Fuzzy sets, fuzzy accuracy, and rules that name them."""

from __future__ import annotations

import pickle
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_iris, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from clearmargin.datasets import load_ionosphere, load_wbc
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.kernel_rules.baselines import fuzzy
from clearmargin.kernel_rules.baselines.fuzzy import (
    FREE,
    FuzzyEvidence,
    FuzzyPartition,
    FuzzyRules,
    log_memberships,
    needed_rules,
)

finite = st.floats(-1e6, 1e6)


@parametrize_with_checks([FuzzyRules(n_sets=5, conjunction="min")])
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)


def membership(x, low, high, k, n_sets):
    """The triangle written out: 1 at its peak, 0 from the next peaks on."""
    step = Fraction(high - low) / (n_sets - 1)
    peak = low + k * step
    x = min(max(x, low), high)
    return max(Fraction(0), 1 - abs(x - peak) / step)


@pytest.mark.parametrize("n_sets", [3, 5, 7])
def test_memberships_are_those_of_the_triangles(n_sets):
    values = [Fraction(i, 3) for i in range(-5, 40)]
    partition = FuzzyPartition([0.0], [10.0], n_sets)
    found = partition.memberships([[float(v)] for v in values])[0]
    for k in range(n_sets):
        expected = [float(membership(v, 0, 10, k, n_sets)) for v in values]
        np.testing.assert_allclose(found[k], expected, atol=1e-14)


@given(arrays(float, (6, 2), elements=finite), st.sampled_from([3, 5, 7]))
def test_memberships_sum_to_one(points, n_sets):
    partition = FuzzyPartition([-100.0, 5.0], [250.0, 5.0], n_sets)
    found = partition.memberships(points)
    assert ((found >= 0) & (found <= 1)).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    assert ((found > 0).sum(axis=1) <= 2).all()


@given(arrays(float, (6, 2), elements=finite), st.sampled_from([3, 5, 7]))
def test_the_strongest_set_has_the_largest_membership_and_its_core_holds_the_value(points, n_sets):
    partition = FuzzyPartition([-100.0, 0.0], [250.0, 1.0], n_sets)
    strongest = partition.strongest(points)
    found = partition.memberships(points)
    lower, upper = partition.cores()
    for i, j in np.ndindex(points.shape):
        s = strongest[i, j]
        assert found[j, s, i] >= found[j, :, i].max() - 1e-12
        assert lower[j, s] - 1e-9 <= points[i, j] <= upper[j, s] + 1e-9


def test_unknown_values_have_unknown_memberships():
    partition = FuzzyPartition([0.0, 3.0], [1.0, 3.0], 3)
    assert np.isnan(partition.memberships([[np.nan, np.nan]])).all()


# Three points at 0, 4 and 10 of one column of range [0, 10]; sets low, medium, high with peaks 0, 5, 10.
# Memberships in medium: 0, 4/5, 0; in low: 1, 1/5, 0; in high: 0, 0, 1. Classes a, b, b.
THREE = FuzzyPartition([0.0], [10.0], 3).memberships([[0.0], [4.0], [10.0]])


def test_fuzzy_accuracy_and_coverage_by_hand():
    evidence = FuzzyEvidence(log_memberships(THREE), np.array([0, 1, 1]), "product")
    degrees = evidence.degrees(np.array([[0], [0], [1], [2], [FREE]]))
    codes = np.array([0, 1, 1, 1, 0])
    # low => a: 1 / (1 + 1/5); low => b: (1/5) / (6/5); medium => b: 1; high => b: 1; always a: 1/3.
    np.testing.assert_allclose(evidence.accuracy(degrees, codes), [5 / 6, 1 / 6, 1, 1, 1 / 3])
    # low => a: 1 / 1; low => b: (1/5) / 2; medium => b: (4/5) / 2; high => b: 1 / 2; always a: 1.
    np.testing.assert_allclose(evidence.coverage(degrees, codes), [1, 0.1, 0.4, 0.5, 1])


def test_a_rule_that_holds_nowhere_has_no_accuracy():
    evidence = FuzzyEvidence(log_memberships(THREE[:, :, :1]), np.array([0]), "product")
    degrees = evidence.degrees(np.array([[2]]))
    assert degrees.tolist() == [[-np.inf]]
    assert evidence.accuracy(degrees, np.array([0])).tolist() == [0.0]


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from(["product", "min"]))
def test_degrees_are_products_or_least_memberships(seed, conjunction):
    rng = np.random.default_rng(seed)
    mu = FuzzyPartition(np.zeros(3), np.ones(3), 3).memberships(rng.random((5, 3)).round(1))
    antecedents = rng.integers(-1, 3, (4, 3))
    evidence = FuzzyEvidence(log_memberships(mu), np.zeros(5, dtype=int), conjunction)
    found = np.exp(evidence.degrees(antecedents))
    join = prod if conjunction == "product" else (lambda values: min([1.0, *values]))
    for r, i in np.ndindex(found.shape):
        values = [mu[j, s, i] for j, s in enumerate(antecedents[r]) if s != FREE]
        assert found[r, i] == pytest.approx(join(values), abs=1e-12)


def test_a_product_over_many_columns_does_not_vanish():
    n = 2000
    mu = np.full((n, 3, 2), 0.5)
    evidence = FuzzyEvidence(log_memberships(mu), np.array([0, 1]), "product")
    degrees = evidence.degrees(np.zeros((1, n), dtype=int))
    assert np.isfinite(degrees).all()
    assert evidence.accuracy(degrees, np.array([0])).tolist() == [0.5]


def shortened_step_by_step(evidence, antecedent, code, most):
    def accuracy(a):
        return evidence.accuracy(evidence.degrees(a[None]), np.array([code]))[0]

    a = antecedent.copy()
    while (a != FREE).any():
        tries = []
        for j in np.flatnonzero(a != FREE):
            b = a.copy()
            b[j] = FREE
            tries.append((accuracy(b), -j, b))
        best = max(tries, key=lambda t: (round(t[0], 10), t[1]))
        full = most is not None and (a != FREE).sum() > most
        if best[0] < accuracy(a) - 1e-11 and not full:
            break
        a = best[2]
    return a


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from(["product", "min"]), st.sampled_from([None, 1, 2]))
def test_conditions_go_one_by_one_as_the_loop_says(seed, conjunction, most):
    rng = np.random.default_rng(seed)
    points = rng.random((12, 4))
    partition = FuzzyPartition(np.zeros(4), np.ones(4), 3)
    codes = rng.integers(0, 2, 12)
    evidence = FuzzyEvidence(log_memberships(partition.memberships(points)), codes, conjunction)
    antecedent = partition.strongest(points[:1])[0]
    found = evidence.shortened(antecedent, int(codes[0]), most)
    expected = shortened_step_by_step(evidence, antecedent, int(codes[0]), most)

    def accuracy(a):
        return evidence.accuracy(evidence.degrees(a[None]), codes[:1])[0]

    assert accuracy(found) == pytest.approx(accuracy(expected))
    assert (found != FREE).sum() == (expected != FREE).sum()
    if most is None:
        assert accuracy(found) >= accuracy(antecedent) - 1e-9


def test_conditions_that_cost_nothing_stay_when_only_a_number_was_asked_for():
    mu = np.ones((3, 3, 2))
    evidence = FuzzyEvidence(log_memberships(mu), np.array([0, 1]), "product")
    whole = np.zeros(3, dtype=int)
    assert evidence.shortened(whole, 0, None, free=False).tolist() == [0, 0, 0]
    assert (evidence.shortened(whole, 0, 2, free=False) != FREE).sum() == 2
    assert (evidence.shortened(whole, 0, 2) != FREE).sum() == 0


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_fewer_rules_decide_no_fewer_points_rightly(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(8, 15))
    scores[rng.random(scores.shape) < 0.4] = -np.inf
    rule_codes, codes = rng.integers(0, 3, 8), rng.integers(0, 3, 15)

    def right(chosen):
        best = scores[chosen].argmax(axis=0)
        holds = scores[chosen][best, np.arange(15)] > -np.inf
        return np.sum(holds & (rule_codes[chosen][best] == codes))

    chosen = needed_rules(scores, rule_codes, codes)
    assert right(chosen) >= right(np.arange(8))
    assert len(chosen) >= 1
    # The first rule is looked at last, so if it stays it is needed beside those that stayed.
    if len(chosen) > 1 and chosen[0] == 0:
        assert right(chosen[1:]) < right(chosen)


@pytest.fixture(scope="module")
def wbc():
    return load_wbc(return_X_y=True)


def test_every_rule_of_the_paper_is_that_of_a_support_vector(wbc):
    X, y = (np.asarray(part) for part in wbc)
    X = X.astype(float)
    rules = FuzzyRules(SVC(), shorten=False, min_coverage=1, max_rules=None).fit(X, y)
    vectors = X[rules.estimator_.support_]
    partition = FuzzyPartition(X.min(axis=0), X.max(axis=0), 3)
    expected = set(map(tuple, partition.strongest(vectors).tolist()))
    names = {name: k for k, name in enumerate(("low", "medium", "high"))}
    found = [tuple(names[c.name] for c in rule.conditions) for rule in rules.fuzzy_rules_]
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_of_conflicting_rules_the_more_accurate_stays():
    # Around 0 there are three of class 0 and one of class 1, all support vectors by a tiny C.
    X = np.array([[0.0], [0.1], [0.2], [0.3], [9.0], [10.0]])
    y = np.array([0, 0, 0, 1, 1, 1])
    rules = FuzzyRules(SVC(C=1e-3), by="labels", shorten=False).fit(X, y)
    assert len(rules.estimator_.support_) == 6
    labels = {rule.conditions[0].name: rule.label for rule in rules.fuzzy_rules_}
    assert labels == {"low": 0, "high": 1}


def test_prediction_is_by_degree_times_accuracy(wbc):
    X, y = wbc
    for conjunction in ("product", "min"):
        rules = FuzzyRules(conjunction=conjunction, max_conditions=3).fit(X, y)
        sample = X.iloc[:40]
        for case, said in zip(sample.to_dict("records"), rules.predict(sample), strict=True):
            best = {}
            for rule in rules.fuzzy_rules_:
                values = [1.0]
                for c in rule.conditions:
                    x = case[c.feature]
                    side = (x - c.left) / (c.peak - c.left) if x < c.peak else None
                    if side is None:
                        side = 1.0 if x == c.peak else (c.right - x) / (c.right - c.peak)
                    values.append(max(0.0, side))
                degree = prod(values) if conjunction == "product" else min(values)
                best[rule.label] = max(best.get(rule.label, 0.0), degree * rule.accuracy)
            assert best[said] == pytest.approx(max(best.values()), abs=1e-12)


def test_predicting_piece_by_piece_changes_nothing(wbc, monkeypatch):
    X, y = wbc
    rules = FuzzyRules().fit(X, y)
    whole = rules.predict(X)
    monkeypatch.setattr(fuzzy, "_CHUNK", 1000)
    np.testing.assert_array_equal(rules.predict(X), whole)


def test_agreement_is_the_share_of_equal_decisions(wbc):
    X, y = wbc
    rules = FuzzyRules(max_conditions=2).fit(X, y)
    crisp = rules.rules_.predict(X)
    fuzzy_said = rules.predict(X)
    covered = rules.which(X) >= 0
    alike = crisp[covered] == fuzzy_said[covered]
    assert rules.agreement_ >= alike.sum() / len(X)
    assert rules.agreement_ <= (alike.sum() + (~covered).sum()) / len(X)
    assert 0.9 < rules.agreement_ < 1.0


def test_shorter_rules_are_fewer_and_no_worse_on_the_training_points():
    X, y = load_ionosphere(return_X_y=True)
    everything = {"min_coverage": 1, "max_rules": None}
    plain, short, shortest = (
        FuzzyRules(**options).fit(X, y)
        for options in ({"shorten": False, **everything}, everything, {"max_conditions": 3})
    )
    said = plain.estimator_.predict(X)
    assert len(short.fuzzy_rules_) < len(plain.fuzzy_rules_)
    assert (short.predict(X) == said).mean() >= (plain.predict(X) == said).mean()
    assert max(len(rule.conditions) for rule in shortest.fuzzy_rules_) <= 3


def test_rules_are_said_in_words(wbc):
    X, y = wbc
    rules = FuzzyRules(n_sets=5, max_conditions=2).fit(X, y)
    text = "\n".join(map(str, rules.fuzzy_rules_))
    assert "is very high" in text
    assert "then malignant (fuzzy accuracy " in text
    assert str(rules.rules_[0])
    assert pickle.loads(pickle.dumps(rules)).fuzzy_rules_ == rules.fuzzy_rules_


def test_at_most_so_many_rules_stay_and_the_crisp_ones_are_theirs():
    X, y = load_iris(return_X_y=True)
    rules = FuzzyRules(max_rules=3, min_coverage=3).fit(X, y)
    assert sorted(rule.label for rule in rules.fuzzy_rules_) == [0, 1, 2]
    assert sorted(rule.label for rule in rules.rules_) == [0, 1, 2]
    assert all(rule.stats.covered >= 3 for rule in rules.rules_)


def test_a_constant_column_is_not_spoken_of():
    X, y = make_moons(80, noise=0.1, random_state=0)
    X = np.column_stack([X, np.full(80, 7.0)])
    rules = FuzzyRules(shorten=False).fit(X, y)
    assert {c.feature for rule in rules.fuzzy_rules_ for c in rule.conditions} == {"x0", "x1"}


def test_where_no_rule_holds_the_fallback_decides():
    X = np.array([[0.0], [1.0], [9.0], [10.0], [50.0], [99.0], [100.0]])
    y = np.array([0, 0, 0, 0, 1, 1, 1])
    options = {"estimator": SVC(C=100.0, gamma=0.01), "max_rules": 1, "shorten": False, "n_sets": 7}
    silent = FuzzyRules(fallback="abstain", **options).fit(X, y)
    near = FuzzyRules(**options).fit(X, y)
    x = np.linspace(0.0, 100.0, 50)[:, None]
    bare = np.array([said is None for said in silent.predict(x)])
    assert bare.any()
    assert not bare.all()
    assert set(near.predict(x[bare])) <= {0, 1}
    np.testing.assert_array_equal(near.predict(x[~bare]), silent.predict(x[~bare]).astype(int))


def test_a_kernel_of_ones_own_is_enough():
    X, y = make_moons(120, noise=0.1, random_state=0)
    rules = FuzzyRules(SVC(kernel=laplacian_kernel), n_sets=7).fit(X, y)
    assert (rules.predict(X) == rules.estimator_.predict(X)).mean() > 0.9


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_sets": 4}, InvalidValueError, "n_sets must be one of 3, 5, 7, not 4"),
        ({"conjunction": "or"}, InvalidValueError, "conjunction must be one of 'product', 'min'"),
        ({"max_conditions": 0}, InvalidValueError, "max_conditions must be a whole number from 1"),
        ({"min_coverage": 500}, DataError, "no fuzzy rule covers 500 training points"),
        (
            {"estimator": LogisticRegression()},
            InvalidValueError,
            "no support vectors; SurrogateRules",
        ),
    ],
)
def test_parameters_without_sense_are_refused(options, error, message):
    X, y = make_moons(30, random_state=0)
    with pytest.raises(error, match=message):
        FuzzyRules(**options).fit(X, y)


def test_a_precomputed_kernel_is_refused():
    X, y = make_moons(30, random_state=0)
    with pytest.raises(InvalidValueError, match="precomputed"):
        FuzzyRules(SVC(kernel="precomputed")).fit(X @ X.T, y)


@pytest.mark.parametrize(
    ("lower", "upper", "n_sets", "message"),
    [
        ([1.0], [0.0], 3, "finite ends, the lower one first"),
        ([0.0], [np.inf], 3, "finite ends"),
        ([0.0], [1.0], 2, r"n_sets must be one of \(3, 5, 7\), not 2"),
    ],
)
def test_what_is_no_partition_is_refused(lower, upper, n_sets, message):
    with pytest.raises(InvalidValueError, match=message):
        FuzzyPartition(lower, upper, n_sets)
