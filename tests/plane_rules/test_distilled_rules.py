"""Rules of a plane that was distilled to few features: proved of that plane, and of nothing else."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clearmargin import RuleExtractor, load_model, save_model
from clearmargin.compare import compare_extractors
from clearmargin.datasets import load_wbc
from clearmargin.exceptions import ClearmarginWarning, InvalidValueError
from clearmargin.report import report
from clearmargin.rule_base.distillation import _Task
from clearmargin.rules import Hyperplane, RuleSet

X, Y = load_wbc(return_X_y=True)


@pytest.fixture(scope="module")
def machine():
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)


@pytest.fixture(scope="module")
def extractor(machine):
    return RuleExtractor(machine, max_features=3).fit(X, Y)


def test_rules_ask_for_chosen_features_alone_and_lie_on_their_side_of_the_distilled_plane(
    extractor,
):
    chosen = {extractor.space_.index(name) for name in extractor.distillation_.features}
    assert len(chosen) == 3
    coef, intercept = extractor.hyperplane_.exact()
    for rule, box in zip(extractor.rules_, extractor._explainer.boxes, strict=True):
        assert set(rule.region.bounded) <= chosen
        assert rule.proof == "distilled"
        sign = 1 if rule.label == extractor.classes_[1] else -1
        # The corner that is worst for the class, in fractions; ends that no rule asks for are those of no weight.
        worst = np.where(sign * extractor.hyperplane_.coef > 0, box.lower, box.upper)
        terms = [w * type(w)(float(x)) for w, x in zip(coef, worst, strict=True) if w]
        assert sign * (sum(terms) + intercept) >= 0


def test_where_no_rule_covers_the_given_machine_is_asked(extractor, machine):
    which, answers = extractor.which(X), extractor.predict(X)
    bare = which < 0
    assert bare.any()
    np.testing.assert_array_equal(answers[bare], machine.predict(X)[bare])


def test_the_figures_of_a_rule_are_about_the_given_machine(extractor, machine):
    covers, predicted = extractor.covers(X), machine.predict(X)
    for column, rule in zip(covers.T, extractor.rules_, strict=True):
        assert rule.stats.agreed == np.count_nonzero(predicted[column] == rule.label)


def test_no_proof_is_claimed_for_the_given_machine(extractor):
    for text in (extractor.rules_.describe(), extractor.rules_._repr_html_()):
        assert "proved of the distilled plane, not of the model" in text
    told = extractor.explain_many(X)
    for k in range(0, len(X), 50):
        assert "the model says the same" not in told[k].text
        assert "for the distilled plane, which agrees with the model on" in told[k].text


def test_an_explanation_says_where_the_machine_itself_predicts_otherwise(machine):
    extractor = RuleExtractor(machine, max_features=1).fit(X, Y)
    other = np.flatnonzero(
        (extractor.hyperplane_.decision(X.to_numpy()) > 0)
        != (machine.predict(X) == machine.classes_[1])
    )
    assert len(other)
    told = extractor.explain(X.iloc[[other[0]]])
    predicted = machine.predict(X.iloc[[other[0]]])[0]
    assert told.label != predicted
    assert f"here the model itself predicts {predicted}" in told.text


def test_a_report_says_the_fidelity_first(extractor):
    made = report(extractor, X, Y, cv=None)
    first = made.to_dict()["learned"][0]
    assert first == f"The rules are those of {extractor.distillation_}."
    text = made.to_markdown()
    assert "Every rule is proved of the distilled plane, and none of the model" in text
    assert "the model gives its class to all cases that meet its conditions" not in text


def test_a_saved_model_is_the_given_one_and_its_rules_are_observed(extractor, machine, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = load_model(save_model(extractor, tmp_path / "model.json"))
    np.testing.assert_array_equal(loaded.predict(X), machine.predict(X))
    assert {rule.proof for rule in loaded.rules} == {"observed"}
    again = RuleSet.load(extractor.rules_.save(tmp_path / "rules.json"))
    assert {rule.proof for rule in again} == {"observed"}


def test_a_comparison_counts_no_such_rule_as_proved(machine):
    distilled = {"distilled": RuleExtractor(max_features=3)}
    found = compare_extractors(machine, X, Y, cv=2, extractors=distilled)
    assert found["distilled"].mean("proved") == 0.0


def test_a_machine_with_few_features_is_taken_as_it_is(machine):
    with pytest.warns(ClearmarginWarning, match="the plane has 9 features"):
        extractor = RuleExtractor(machine, max_features=9, max_rules=2).fit(X, Y)
    assert extractor.distillation_ is None
    assert {rule.proof for rule in extractor.rules_} == {"proved"}


def test_scores_are_those_of_the_machine_and_so_not_given(extractor):
    assert not hasattr(extractor, "decision_function")
    assert not hasattr(clone(extractor), "decision_function")


def test_bad_input_is_refused(machine):
    with pytest.raises(InvalidValueError, match="max_features must be a whole number from 1"):
        RuleExtractor(machine, max_features=0).fit(X, Y)
    labels = np.arange(len(X)) % 3
    ridge = make_pipeline(StandardScaler(), RidgeClassifier())
    with pytest.raises(
        InvalidValueError, match="Only binary classification is supported with max_features"
    ):
        RuleExtractor(ridge, max_features=3).fit(X, labels)
    with pytest.raises(InvalidValueError, match="Only binary classification is supported"):
        RuleExtractor(ridge, max_features=99).fit(X, labels)


def test_where_no_margin_is_worth_a_weight_the_strongest_column_is_taken():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(30, 3))
    is_positive = table @ [1.0, 1.0, 0.1] > 1.0
    for column in range(3):
        weights = np.where(np.arange(3) == column, -9.0, 1.0)
        task = _Task(table, is_positive, Hyperplane(weights, 0.0), np.arange(3), 1)
        coef, intercept = task._single_column(table, is_positive)
        assert np.flatnonzero(coef).tolist() == [column]
        score = coef[column] * table[:, column]
        # By trying every cut that has rows on both sides.
        cuts = [(a + b) / 2 for a, b in pairwise(np.sort(score))]
        best = max(((score > cut) == is_positive).sum() for cut in cuts)
        assert ((score + intercept > 0) == is_positive).sum() == best
        assert 0 < (score + intercept > 0).sum() < len(table)


def test_a_plane_that_would_be_constant_gives_rules_all_the_same():
    rng = np.random.RandomState(0)
    table, labels = rng.normal(size=(30, 3)), (np.arange(30) % 3 == 0).astype(int)
    for model in (RidgeClassifier(alpha=0.1), RidgeClassifier()):
        distilled = RuleExtractor(model, max_features=1).fit(table, labels).distillation_
        assert len(distilled.features) == 1
        assert 0 <= distilled.training_fidelity <= 1
