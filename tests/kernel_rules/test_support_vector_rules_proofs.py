"""Rules around support vectors that are certified are proved as they are printed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from clearmargin.kernel_rules.certificate import certify
from clearmargin.kernel_rules.support_vector_rules import SupportVectorRules
from clearmargin.rules import RuleSet

from .support_vector_cases import mixed_model, scaled


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_certified_rules_are_proved_in_the_numbers_that_are_printed(kernel, two_classes):
    X, y = (part[:60] for part in two_classes)
    rules = SupportVectorRules(scaled(SVC(kernel=kernel, coef0=1.0)), certify=True, budget=150).fit(
        X, y
    )
    assert len(rules.rules_) >= 2
    reread = RuleSet.from_text(
        rules.rules_.to_text(), space=rules.space_, classes=rules.rules_.classes
    )
    rng = np.random.default_rng(2)
    for rule in reread:
        assert certify(rules.estimator_, rule.region, rule.label, budget=3000).status == "proved"
        points = rng.uniform(rule.region.lower, rule.region.upper, (300, X.shape[1]))
        assert (rules.estimator_.predict(points) == rule.label).all()
    assert all(rule.proof == "proved" for rule in rules.rules_)
    assert {rule.label for rule in rules.rules_} == {"inner", "outer"}


def test_three_classes_are_certified(three_classes):
    X, y = three_classes
    rules = SupportVectorRules(SVC(C=10.0), certify=True, budget=150).fit(X, y)
    for rule in rules.rules_:
        assert rule.proof == "proved"
        assert certify(rules.estimator_, rule.region, rule.label, budget=3000).status == "proved"
    assert {rule.label for rule in rules.rules_} == {"a", "b", "c"}


@pytest.mark.parametrize("turned", [False, True])
def test_rules_about_categories_are_certified_by_name(mixed, turned):
    frame, y = mixed
    model = mixed_model().fit(frame, y)
    table = frame[["colour", "dose", "smoker", "age"]] if turned else frame
    rules = SupportVectorRules(model, certify=True, budget=25).fit(table, y)
    assert any(rule.region.sets for rule in rules.rules_)
    for rule in rules.rules_[:6]:
        proof = certify(model, rule.region, rule.label, space=rules.space_, budget=3000)
        assert proof.status == "proved"
    said = model.predict(table)
    for rule, held in zip(rules.rules_, rules.rules_.covers(table).T, strict=True):
        assert held.any()
        assert (said[held] == rule.label).all()


def test_a_point_at_the_surface_is_no_proved_rule():
    # At 1e-16 the sum of both bumps is positive by one rounding, which proves nothing.
    model = SVC(gamma=0.5).fit([[-1.0], [1.0]], [0, 1])
    X = np.array([[-1.0], [1.0], [1e-16], [-1e-16]])
    rules = SupportVectorRules(model, certify=True, budget=10).fit(X, model.predict(X))
    assert len(rules.rules_) == 2
    for rule in rules.rules_:
        assert certify(model, rule.region, rule.label, budget=10).status == "proved"


def test_a_proved_rule_says_nothing_of_what_the_machine_does_not_look_at():
    random = np.random.default_rng(0)
    X = random.uniform(size=(80, 3))
    y = np.where(X[:, 1] > 0.5, "up", "down")
    model = make_pipeline(ColumnTransformer([("keep", "passthrough", [1])]), SVC()).fit(X, y)
    rules = SupportVectorRules(model, certify=True, budget=30).fit(X, y).rules_
    assert {rule.proof for rule in rules} == {"proved"}
    assert {rule.region.bounded for rule in rules} == {(1,)}
