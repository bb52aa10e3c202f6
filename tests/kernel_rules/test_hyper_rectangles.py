"""Boxes that grow around prototypes until a foreign point stops them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from clearmargin.datasets import load_wbc
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.kernel_rules.baselines.hyper_rectangles import (
    HyperRectangleRules,
    grow_hyper_rectangle,
)
from clearmargin.language import parse_rules


@parametrize_with_checks([HyperRectangleRules()])
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)


def grown_step_by_step(prototype, vectors, foreign, reach):
    """The growth as published: one support vector at a time, every foreign point looked at each time."""
    lower, upper = list(prototype), list(prototype)
    left = [list(v) for v in vectors]
    while left:
        left.sort(
            key=lambda v: sum(
                ((a - p) / s) ** 2 for a, p, s in zip(v, prototype, reach, strict=True)
            )
        )
        nearest = left.pop(0)
        low = [min(a, b) for a, b in zip(lower, nearest, strict=True)]
        high = [max(a, b) for a, b in zip(upper, nearest, strict=True)]
        if any(all(lo <= x <= hi for lo, x, hi in zip(low, p, high, strict=True)) for p in foreign):
            break
        lower, upper = low, high
    return lower, upper


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(0, 8), st.integers(0, 8), st.integers(1, 3))
def test_growth_is_that_of_the_loop(seed, s, f, n):
    rng = np.random.default_rng(seed)
    prototype = rng.integers(-3, 4, n) + 0.1 * rng.random(n)
    vectors, foreign = rng.integers(-4, 5, (s, n)) * 1.0, rng.integers(-4, 5, (f, n)) * 1.0
    vectors += 0.01 * rng.random((s, n))  # no two equally near
    reach = rng.uniform(0.5, 2.0, n)
    lower, upper = grow_hyper_rectangle(prototype, vectors, foreign, reach)
    expected = grown_step_by_step(prototype, vectors, foreign, reach)
    assert (lower.tolist(), upper.tolist()) == expected


def test_a_foreign_point_on_the_border_stops_growth():
    vectors, foreign = np.array([[1.0, 1.0], [3.0, 0.5]]), np.array([[3.0, 1.0]])
    lower, upper = grow_hyper_rectangle(np.zeros(2), vectors, foreign, np.ones(2))
    assert (lower.tolist(), upper.tolist()) == ([0.0, 0.0], [1.0, 1.0])


@pytest.mark.parametrize("by", ["model", "labels"])
@pytest.mark.parametrize("shorten", [True, False])
def test_no_foreign_training_point_is_in_a_rule(by, shorten):
    X, y = make_moons(200, noise=0.3, random_state=0)
    rules = HyperRectangleRules(by=by, shorten=shorten).fit(X, y)
    wanted = rules.estimator_.predict(X) if by == "model" else y
    covers = rules.rules_.covers(X)
    for r, rule in enumerate(rules.rules_):
        inside = covers[:, r]
        assert inside.any()
        assert (wanted[inside] == rule.label).all()


def test_prototypes_are_taken_until_the_class_is_covered():
    X, y = make_moons(150, noise=0.2, random_state=1)
    rules = HyperRectangleRules().fit(X, y)
    assert (rules.which(X) >= 0).all()
    assert (rules.predict(X) == rules.estimator_.predict(X)).all()


def test_one_prototype_a_cluster_gives_at_most_one_rule_a_cluster():
    X, y = make_moons(150, noise=0.2, random_state=1)
    rules = HyperRectangleRules(n_prototypes=1, q=20.0, shorten=False).fit(X, y)
    assert len(rules.rules_) <= sum(rules.n_clusters_.values())
    assert set(rules.n_clusters_) == {0, 1}


def test_a_larger_least_support_leaves_fewer_rules():
    X, y = load_wbc(return_X_y=True)
    many, few = (HyperRectangleRules(min_coverage=m).fit(X, y).rules_ for m in (1, 20))
    assert len(few) < len(many)
    assert all(rule.stats.covered >= 20 for rule in few)


def test_three_classes_have_rules_each():
    X, y = load_iris(return_X_y=True)
    rules = HyperRectangleRules().fit(X, y)
    assert {rule.label for rule in rules.rules_} == {0, 1, 2}
    assert (rules.predict(X) == rules.estimator_.predict(X)).mean() == 1.0


def test_names_of_a_frame_reach_the_text():
    X, y = load_wbc(return_X_y=True)
    rules = HyperRectangleRules(max_rules=2).fit(X, y).rules_
    text = str(rules)
    assert "bare_nuclei" in text
    assert "=> benign" in text
    assert parse_rules(text) == rules


def test_categories_come_back_as_categories():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"colour": rng.choice(["red", "blue", "green"], 60)})
    y = np.where(X["colour"] == "red", "stop", "go")
    model = make_pipeline(OneHotEncoder(), SVC(kernel="linear"))
    rules = HyperRectangleRules(model).fit(X, y)
    assert (rules.predict(X) == y).all()
    assert "red" in str(rules.rules_)


def test_a_kernel_of_ones_own_is_enough():
    X, y = make_moons(120, noise=0.1, random_state=0)
    rules = HyperRectangleRules(SVC(kernel=laplacian_kernel)).fit(X, y)
    assert (rules.predict(X) == rules.estimator_.predict(X)).all()


def test_a_fitted_model_is_read_as_if_trained_here():
    X, y = make_moons(120, noise=0.2, random_state=0)
    model = make_pipeline(StandardScaler(), SVC())
    here = HyperRectangleRules(model).fit(X, y)
    fitted = HyperRectangleRules(model.fit(X, y)).fit(X, y)
    assert (here.predict(X) == fitted.predict(X)).all()


def test_a_model_that_knows_one_answer_gives_one_rule():
    X = np.arange(20.0)[:, None]
    y = np.array([0] * 18 + [1] * 2)
    model = SVC(C=1e-6).fit(X, y)
    assert set(model.predict(X)) == {0}
    rules = HyperRectangleRules(model).fit(X, y)
    assert len(rules.rules_) == 1
    assert rules.rules_[0].stats.covered == 20


def test_points_that_are_of_two_classes_at_once_are_in_no_rule():
    X = np.array([[0.0], [0.0], [1.0], [2.0], [3.0], [4.0]])
    y = np.array([0, 1, 0, 0, 1, 1])
    rules = HyperRectangleRules(by="labels").fit(X, y)
    assert rules.which([[0.0]]).tolist() == [-1]
    only = np.array([[0.0], [0.0], [1.0], [1.0]])
    with pytest.raises(DataError, match="every point coincides with a point of another class"):
        HyperRectangleRules(by="labels").fit(only, [0, 1, 0, 1])


def test_a_precomputed_kernel_is_refused():
    X, y = make_moons(30, random_state=0)
    with pytest.raises(InvalidValueError, match="precomputed"):
        HyperRectangleRules(SVC(kernel="precomputed")).fit(X @ X.T, y)


def test_a_model_without_support_vectors_is_refused():
    X, y = make_moons(30, random_state=0)
    with pytest.raises(
        InvalidValueError, match=r"LogisticRegression has no support vectors; SurrogateRules"
    ):
        HyperRectangleRules(LogisticRegression()).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"q": 0.0}, "q must be a positive number"),
        ({"outliers": 1.0}, "outliers must be a share between 0 and 1, not 1.0"),
        ({"outliers": "few"}, "outliers must be a share between 0 and 1, not 'few'"),
        ({"n_prototypes": 0}, "n_prototypes must be a whole number from 1"),
        ({"by": "hand"}, "by must be one of"),
        ({"min_coverage": 0}, "min_coverage must be a whole number from 1"),
    ],
)
def test_parameters_without_sense_are_refused(options, message):
    X, y = make_moons(30, random_state=0)
    with pytest.raises(InvalidValueError, match=message):
        HyperRectangleRules(**options).fit(X, y)


def test_a_gap_in_a_case_needs_a_fallback_that_can_abstain():
    X, y = make_moons(40, random_state=0)
    rules = HyperRectangleRules().fit(X, y)
    for bad in (np.nan, np.inf):
        with pytest.raises(
            DataError, match=r"row 1 has a missing value \(NaN\) or infinity in column 'x1'"
        ):
            rules.predict([[0.0, bad]])
    silent = HyperRectangleRules(fallback="abstain").fit(X, y)
    assert silent.predict([[np.nan, np.nan], [0.0, np.inf]]).tolist() == [None, None]
    # A rule that has no condition on the missing value decides.
    assert (
        silent.predict([[0.0, np.nan]]).tolist() == silent.rules_.predict([[0.0, np.nan]]).tolist()
    )
