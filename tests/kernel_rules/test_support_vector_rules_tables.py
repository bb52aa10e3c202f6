"""Rules around support vectors of tables and models of all kinds and sizes."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, OneClassSVM

from clearmargin.datasets import load_pima, load_wbc
from clearmargin.exceptions import InvalidValueError
from clearmargin.kernel_rules.certificate import certify
from clearmargin.kernel_rules.crossings import nearest_crossings
from clearmargin.kernel_rules.support_vector_rules import SupportVectorRules
from clearmargin.models.kernel_function import KernelFunction
from clearmargin.rules import Box, RuleSet

from .support_vector_cases import mixed_model, scaled

# --- tables


def test_categories_of_a_frame_are_in_the_rules(mixed):
    frame, y = mixed
    rules = SupportVectorRules(mixed_model(), fallback="well").fit(frame, y)
    text = rules.rules_.to_text()
    assert "colour" in text or "smoker" in text
    again = RuleSet.from_text(text, space=rules.space_, classes=rules.rules_.classes)
    assert [rule.region for rule in again] == [rule.region for rule in rules.rules_]
    assert again.predict(frame, default="well").tolist() == rules.predict(frame).tolist()
    assert rules.score(frame, rules.estimator_.predict(frame)) > 0.97
    # Ages are whole numbers, and so are their bounds.
    ages = [b for rule in rules.rules_ for b in (rule.region.lower[0], rule.region.upper[0])]
    assert all(not np.isfinite(b) or b == int(b) for b in ages)


def test_names_of_a_frame_are_in_the_rules(two_classes):
    X, y = two_classes
    frame = pd.DataFrame(X, columns=["height", "body weight", "age"])
    rules = SupportVectorRules(scaled(SVC())).fit(frame, y)
    assert rules.feature_names_in_.tolist() == list(frame.columns)
    assert rules.space_.names == tuple(frame.columns)
    text = rules.rules_.to_text()
    assert "`body weight`" in text
    again = RuleSet.from_text(text, space=rules.space_, classes=rules.rules_.classes)
    assert [r.region for r in again] == [r.region for r in rules.rules_]
    bare = SupportVectorRules(scaled(SVC())).fit(X, y)
    assert bare.predict(X).tolist() == rules.predict(frame).tolist()


def test_rules_of_wbc_are_few_and_good():
    X, y = load_wbc(return_X_y=True)
    rules = SupportVectorRules().fit(X, y)
    assert len(rules.rules_) <= 20
    assert cross_val_score(SupportVectorRules(), X, y, cv=3).mean() > 0.94


def test_contradictory_rows_are_no_obstacle():
    X = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [2.0, 2.0], [0.5, 0.5]])
    y = np.array([0, 1, 0, 1, 1, 0])
    for by in ("model", "labels"):
        rules = SupportVectorRules(SVC(), by=by).fit(X, y)
        assert len(rules.predict(X)) == 6


def test_a_constant_feature_is_no_obstacle(two_classes):
    X, y = two_classes
    flat = np.column_stack([X, np.full(len(X), 3.0)])
    rules = SupportVectorRules(scaled(SVC())).fit(flat, y)
    assert rules.score(flat, rules.estimator_.predict(flat)) == 1.0
    few = SupportVectorRules(scaled(SVC()), certify=True, budget=20, max_rules=2)
    proved = few.fit(flat[:50], y[:50])
    for rule in proved.rules_:
        assert certify(proved.estimator_, rule.region, rule.label).status == "proved"


def test_pima_is_extracted_with_every_anchor():
    X, y = load_pima(return_X_y=True)
    rules = SupportVectorRules(min_coverage=1, max_rules=None).fit(X, y)
    assert rules.score(X, rules.estimator_.predict(X)) > 0.97
    page = SupportVectorRules(rules.estimator_).fit(X, y)
    assert page.score(X, rules.estimator_.predict(X)) > 0.94


# --- models


def test_one_class_machines_have_rules():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(80, 2))
    for model in (
        OneClassSVM(nu=0.2, gamma=0.3),
        make_pipeline(MinMaxScaler(), OneClassSVM(nu=0.2)),
    ):
        rules = SupportVectorRules(model).fit(X)
        assert rules.classes_.tolist() == [-1, 1]
        assert (rules.predict(X) == rules.estimator_.predict(X)).mean() > 0.95
        fitted = SupportVectorRules(clone(model).fit(X), certify=True, budget=30).fit(X)
        assert all(r.proof == "proved" for r in fitted.rules_)
        inner = [r for r in fitted.rules_ if r.label == 1]
        assert all(certify(fitted.estimator_, r.region, 1).status == "proved" for r in inner)


def test_a_search_may_be_the_model(two_classes):
    X, y = two_classes
    search = GridSearchCV(scaled(SVC()), {"svc__C": [1.0, 10.0]}, cv=2)
    rules = SupportVectorRules(search, min_coverage=1, max_rules=None).fit(X, y)
    assert rules.score(X, rules.estimator_.predict(X)) == 1.0
    tuned = GridSearchCV(SupportVectorRules(scaled(SVC())), {"estimator__svc__C": [1.0, 9.0]}, cv=2)
    assert tuned.fit(X, y).best_score_ > 0.7


def test_a_fitted_model_is_used_as_it_is_and_another_is_not_touched(two_classes):
    X, y = two_classes
    fitted = scaled(SVC()).fit(X, y)
    assert SupportVectorRules(fitted).fit(X[:50], y[:50]).estimator_ is fitted
    fresh = scaled(SVC())
    rules = SupportVectorRules(fresh).fit(X, y)
    assert rules.estimator_ is not fresh
    assert not hasattr(fresh[-1], "support_")


def test_weights_go_to_the_model(two_classes):
    X, y = two_classes
    weights = np.where(y == "inner", 50.0, 1.0)
    heavy = SupportVectorRules(SVC(gamma=1e-4)).fit(X, y, sample_weight=weights)
    plain = SupportVectorRules(SVC(gamma=1e-4)).fit(X, y)
    assert not np.array_equal(heavy.estimator_.dual_coef_, plain.estimator_.dual_coef_)


def test_the_extractor_survives_pickling_and_cloning(mixed):
    frame, y = mixed
    rules = SupportVectorRules(mixed_model(), max_rules=4).fit(frame, y)
    back = pickle.loads(pickle.dumps(rules))
    assert back.rules_ == rules.rules_
    assert back.predict(frame).tolist() == rules.predict(frame).tolist()
    copied = clone(rules)
    assert not hasattr(copied, "rules_")
    assert copied.fit(frame, y).rules_ == rules.rules_


def test_the_same_data_give_the_same_rules(two_classes):
    X, y = two_classes
    assert SupportVectorRules().fit(X, y).rules_ == SupportVectorRules().fit(X, y).rules_


# --- size


def test_many_support_vectors_are_handled_in_blocks():
    # All kernel values of 500 rows at once would take 80 MB, and those along one line as much for 500 places of it.
    rng = np.random.default_rng(9)
    vectors = rng.normal(size=(20_000, 20))
    coefs = rng.normal(size=(20_000, 1)) / 100
    machine = KernelFunction("rbf", vectors, coefs, np.array([0.1]), gamma=0.02)
    rows = rng.normal(size=(500, 20))
    tracemalloc.start()
    found = machine.values(rows)
    _, predicting = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    crossed = nearest_crossings(machine, rows[:1], rows.min(axis=0), rows.max(axis=0))
    _, crossing = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert predicting < 40e6
    assert crossing < 40e6
    assert found.shape == (500, 1)
    some = np.exp(-0.02 * ((rows[7] - vectors) ** 2).sum(axis=1)) @ coefs[:, 0] + 0.1
    assert found[7, 0] == pytest.approx(some, abs=1e-9)
    assert (crossed.below <= rows[0]).all()
    assert (crossed.above >= rows[0]).all()


def test_values_that_the_pipeline_imputes_count_as_imputed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] ** 2 + X[:, 1] > 0.5
    X[::6, 1] = np.nan
    model = make_pipeline(SimpleImputer(), StandardScaler(), SVC())
    rules = SupportVectorRules(model).fit(X, y)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    which = rules.which(X)
    np.testing.assert_array_equal(which, rules.which(filled))
    np.testing.assert_array_equal(rules.rules_.which(X), which)
    assert (which[::6] >= 0).any()


def test_a_region_of_missing_values_cannot_be_certified():
    X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), [0, 0, 1, 1]
    machine = SVC().fit(X, y)
    with pytest.raises(
        InvalidValueError, match="feature 0 is missing, and a kernel machine has no"
    ):
        certify(machine, Box([-np.inf], [np.inf], missing=[0]), 1)
