"""What once went wrong with trees, rules of kernel machines, and scorecards."""

import itertools
import time

import numpy as np
import pytest
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

import clearmargin


def table(m=60, n=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(m, n))
    return X, (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)


def test_a_tree_can_be_calibrated_with_weights():
    X, y = table(80)
    weights = np.where(y == 1, 3, 1)
    tree = clearmargin.SVMTreeClassifier()
    calibrated = CalibratedClassifierCV(tree, cv=3).fit(X, y, sample_weight=weights)
    plain = CalibratedClassifierCV(tree, cv=3).fit(X, y)
    assert calibrated.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()
    repeated = clearmargin.SVMTreeClassifier().fit(np.repeat(X, weights, 0), np.repeat(y, weights))
    assert (tree.fit(X, y, sample_weight=weights).predict(X) == repeated.predict(X)).all()


@pytest.mark.parametrize("name", ["SupportVectorRules", "ScoreRules", "SurrogateRules"])
def test_weights_are_routed_to_the_model_behind_rules(name):
    X, y = table(120)
    weights = np.where(X[:, 2] > 0, 1.0, 0.001)
    with config_context(enable_metadata_routing=True):
        rules = getattr(clearmargin, name)(SVC()).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, rules).fit(X, y, sample_weight=weights)
    weighted = SVC().fit(StandardScaler().fit_transform(X), y, sample_weight=weights)
    assert (routed[-1].estimator_.dual_coef_ == weighted.dual_coef_).all()


@pytest.mark.parametrize("name", ["SupportVectorRules", "ScoreRules", "SurrogateRules"])
def test_the_default_kernel_machine_takes_weights_of_rows(name):
    X, y = table()
    weights = np.where(X[:, 2] > 0, 1.0, 0.001)
    weighted = SVC().fit(StandardScaler().fit_transform(X), y, sample_weight=weights)
    for is_routed in (False, True):
        with config_context(enable_metadata_routing=is_routed):
            rules = getattr(clearmargin, name)().fit(X, y, sample_weight=weights)
        assert (rules.estimator_[-1].dual_coef_ == weighted.dual_coef_).all()


@pytest.mark.parametrize("name", ["SupportVectorRules", "ScoreRules", "SurrogateRules"])
def test_what_a_pipeline_imputes_counts_as_imputed(name):
    X, y = table(150)
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    rules = getattr(clearmargin, name)(make_pipeline(SimpleImputer(), SVC())).fit(holes, y)
    assert (rules.predict(holes) == rules.predict(rules.estimator_[0].transform(holes))).all()
    assert (rules.predict(holes) == rules.estimator_.predict(holes)).mean() > 0.85


def test_the_default_tree_finds_a_rare_class_as_a_balanced_machine_does():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = X @ [1.0, 1.0, 1.0, 0.0, 0.0, 0.0] + rng.normal(size=600) > 3.2
    X_test, y_test = X[300:], y[300:]
    tree = clearmargin.SVMTreeClassifier(class_weight="balanced").fit(X[:300], y[:300])
    svm = LinearSVC(class_weight="balanced", random_state=0).fit(X[:300], y[:300])
    scores = [balanced_accuracy_score(y_test, model.predict(X_test)) for model in (tree, svm)]
    assert scores[0] > scores[1] - 0.05


def test_boxes_over_very_many_columns_are_refused_at_once():
    X, y = table(60, 1100)
    with pytest.raises(clearmargin.exceptions.DataError, match="SurrogateRules"):
        clearmargin.SupportVectorRules().fit(X, y)


@pytest.mark.parametrize("name", ["SVMTreeClassifier", "ScoreRules", "SurrogateRules"])
def test_a_table_with_very_many_columns_takes_seconds(name):
    X, y = table(60, 2000)
    start = time.process_time()
    getattr(clearmargin, name)().fit(X, y)
    assert time.process_time() - start < 10


@pytest.mark.parametrize("name", ["SupportVectorRules", "ScoreRules", "SurrogateRules"])
def test_weights_that_leave_one_class_are_named(name):
    X, y = table()
    with pytest.raises(ValueError, match="sample_weight"):
        getattr(clearmargin, name)(SVC()).fit(X, y, sample_weight=y)


def test_a_proof_whose_time_is_up_before_it_begins_is_unknown():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = SVC().fit(X, np.where((X**2).sum(axis=1) < 1, "in", "out"))
    box = clearmargin.Box([-0.1, -0.1], [0.1, 0.1])
    assert clearmargin.certify(model, box, "in", time_limit=1e-12).status == "unknown"


def test_a_proof_ends_by_processor_time_and_not_by_the_clock(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = SVC().fit(X, np.where((X**2).sum(axis=1) < 1, "in", "out"))
    hours = itertools.count(0.0, 3600.0)
    monkeypatch.setattr(time, "perf_counter", lambda: next(hours))
    box = clearmargin.Box([-0.5, -0.5], [0.5, 0.5])
    assert clearmargin.certify(model, box, "in", time_limit=60.0).status == "proved"


def test_imputers_that_disagree_leave_no_value_that_missing_ones_count_as():
    X, y = table()
    X[::7, 0] = np.nan
    for near in (KNNImputer(), make_pipeline(StandardScaler(), KNNImputer())):
        both = ColumnTransformer([("mean", SimpleImputer(), [0]), ("near", near, [0, 1])])
        model = make_pipeline(both, LinearSVC()).fit(X, y)
        rules = clearmargin.RuleExtractor(model).fit(X, y).rules_
        assert rules.space.fill[0] is None


def test_what_shifts_that_cancel_round_away_is_not_proved():
    X = np.random.default_rng(0).uniform(size=(60, 1))
    steps = MinMaxScaler((1e8, 1e8 + 1)), StandardScaler(), SVC()
    model = make_pipeline(*steps).fit(X, X[:, 0] > 0.5)
    low, high = 0.4, 0.6
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (low, middle) if model.predict([[middle]])[0] else (middle, high)
    for x in low + np.linspace(-1e-7, 1e-7, 41):
        is_above = model.predict([[x]])[0]
        assert (
            clearmargin.certify(model, clearmargin.Box([x], [x]), not is_above).status != "proved"
        )


def test_a_model_that_refuses_a_row_where_no_rule_holds_names_it():
    X, y = table()
    rules = clearmargin.SurrogateRules(SVC(), fallback="estimator", max_rules=1).fit(X, y)
    X[7, 1] = np.nan
    with pytest.raises(clearmargin.exceptions.DataError, match="row 8"):
        rules.predict(X)
