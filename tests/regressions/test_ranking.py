"""What contrasts of rankings, explanations and rules of planes once got wrong."""

from time import process_time

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import clearmargin as cm
from clearmargin.exceptions import InvalidValueError
from clearmargin.points import LinearTerm, Scorecard


def _rows(seed, shape=(100, 8), copies=1):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=shape), copies, axis=0)
    noise = np.repeat(rng.normal(size=shape[0]), copies)
    order = rng.permutation(len(X))
    return X[order], noise[order]


def test_nothing_is_confirmed_of_noise_whose_rows_occur_three_times():
    for seed in range(6):
        X, noise = _rows(seed, copies=3)
        contrast = cm.RankContrast(top=0.1, bottom=0.1).fit(X, noise > 0)
        assert not contrast.properties_["confirmed"].any()


def test_what_rows_that_occur_three_times_tell_is_still_confirmed():
    X, noise = _rows(0, (300, 8), copies=3)
    contrast = cm.RankContrast(max_size=1).fit(X, 3 * X[:, 0] + noise > 0)
    assert contrast.properties_["confirmed"].any()


def test_a_measured_explanation_counts_equal_rows_once():
    X, _ = _rows(0, (300, 3))

    class Sign:
        def predict(self, X):
            return np.where(np.asarray(X)[:, 0] + np.asarray(X)[:, 1] > 0, "plus", "minus")

    once, thrice = (cm.explain(Sign(), X[0], np.repeat(X, k, axis=0)) for k in (1, 3))
    assert thrice.rule.stats.rows <= once.rule.stats.rows


def test_little_work_is_done_for_the_proof_of_an_explanation_unless_one_is_asked_for():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.choice([*"abcdefghijkl"], (1000, 13)), columns=[*"abcdefghijklm"])
    model = make_pipeline(OneHotEncoder(), SVC()).fit(X, (X["a"] < "e") ^ (rng.random(1000) < 0.2))
    cm.explain(model, X.iloc[0], X, guarantee="measured")
    start = process_time()
    cm.explain(model, X.iloc[0], X)
    assert process_time() - start < 2.5


def test_a_plane_of_thousands_of_features_is_distilled_or_refused_at_once():
    X, noise = _rows(0, (80, 3000))
    model = RidgeClassifier().fit(X, X[:, 0] + noise > 0)
    with pytest.raises(InvalidValueError, match="max_features"):
        cm.RuleExtractor(model).fit(X, X[:, 0] > 0)
    assert len(cm.RuleExtractor(model, max_features=3).fit(X, X[:, 0] > 0).rules_)


@pytest.mark.parametrize(
    "make",
    [
        lambda: cm.LPSVC().set_fit_request(sample_weight=True),
        lambda: cm.LPSVC("cv", cv=3).set_fit_request(sample_weight=True),
        lambda: cm.RuleExtractor(cm.LPSVC().set_fit_request(sample_weight=True)),
        cm.RuleExtractor,
    ],
)
def test_weights_of_rows_are_routed_to_a_step_of_a_pipeline_in_a_search(make):
    X, noise = _rows(0, (60, 3))
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        model = make_pipeline(scaler, make().set_score_request(sample_weight=True))
        search = GridSearchCV(model, {}, cv=2, error_score="raise")
        search.fit(X, X[:, 0] + noise / 5 > 0, sample_weight=np.arange(60.0) + 1)
    assert search.score(X, X[:, 0] > 0) > 0.5


def test_the_fidelity_of_rules_is_not_that_of_the_model_that_decides_where_they_are_silent():
    X, noise = _rows(0, (200, 4))
    rules = {"few": cm.RuleExtractor(max_rules=1, fallback="estimator")}
    found = cm.compare_extractors(cm.LPSVC(), X, X.sum(axis=1) + noise > 0, cv=2, extractors=rules)
    assert found["few"].mean("coverage") < found["few"].mean("fidelity") < 0.99


def test_a_change_that_just_misses_does_not_hide_a_cheaper_one_the_other_way():
    # One step down leaves the rule; one step up only reaches the threshold, and it takes two to pass it.
    space = cm.FeatureSpace(["b"], [0], [4], [True])
    rules = cm.parse_rules("b > 1 => no", space, classes=["no", "yes"])
    weighted = Scorecard(rules, [-2.0], -1.5, [LinearTerm(0, 0.5, 2.0)], -2.0)
    found = cm.recourse(weighted, {"b": 2}, actionable=["b"], costs={"b": 0.5}, target="yes")
    assert (found.cost, found.changes[0].after) == (0.5, 1)
