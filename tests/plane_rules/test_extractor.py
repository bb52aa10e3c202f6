"""RuleExtractor as a classifier: what it takes, what it remembers, what it predicts."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from clearmargin import (
    LPSVC,
    LPSVCCV,
    FeatureSpace,
    RuleExtractor,
    load_model,
    parse_rules,
    save_model,
)
from clearmargin.datasets import load_wbc
from clearmargin.exceptions import ClearmarginWarning, DataError
from clearmargin.rule_base.training import class_codes


@pytest.fixture(scope="module")
def wbc():
    return load_wbc(return_X_y=True)


@pytest.fixture(scope="module")
def svm(wbc):
    return LPSVC(nu=0.0025).fit(*wbc)


@pytest.fixture(scope="module")
def fitted(wbc, svm):
    return RuleExtractor(svm, criterion="coverage-lp").fit(*wbc)


def test_a_fitted_model_is_used_as_it_is(wbc, svm):
    before = svm.coef_.copy()
    extractor = RuleExtractor(svm).fit(*wbc)
    assert extractor.estimator_ is svm
    np.testing.assert_array_equal(svm.coef_, before)


def test_a_frozen_model_is_used_as_it_is(wbc, svm):
    frozen = FrozenEstimator(svm)
    extractor = RuleExtractor(frozen).fit(*wbc)
    assert extractor.estimator_ is frozen
    assert extractor.rules_ == RuleExtractor(svm).fit(*wbc).rules_


def test_a_model_that_is_not_fitted_is_cloned_and_left_alone(wbc, svm):
    blank = LPSVC(nu=0.0025)
    extractor = RuleExtractor(blank).fit(*wbc)
    assert extractor.estimator_ is not blank
    assert not hasattr(blank, "coef_")
    np.testing.assert_array_equal(extractor.estimator_.coef_, svm.coef_)


def test_a_model_with_classes_in_any_order_is_understood(oracle):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    coef, intercept = [1.0, -2.0], 0.1
    rules = {}
    for classes in (("a", "b"), ("b", "a")):
        y = oracle.sides(X, coef, intercept, classes)
        extractor = RuleExtractor(oracle.given(X, coef, intercept, classes)).fit(X, y)
        assert list(extractor.classes_) == list(classes)
        assert min(extractor.coverage_.values()) > 0.5
        assert (extractor.predict(X) == y).all()
        assert [extractor.explain(x).label for x in X[:5]] == y[:5].tolist()
        rules[classes[0]] = [(rule.region, rule.label == classes[0]) for rule in extractor.rules_]
    assert rules["a"] == rules["b"]


def test_positions_of_labels_do_not_depend_on_the_order_of_classes():
    assert class_codes([3, 1, 3], [3, 2, 1]).tolist() == [0, 2, 0]
    with pytest.raises(DataError, match=r"y holds 'malign', which is no class .* 'malignant'"):
        class_codes(["benign", "malign"], ["benign", "malignant"])


def test_without_a_model_a_sparse_one_is_trained(wbc):
    extractor = RuleExtractor(criterion="coverage-lp", min_coverage=2, max_rules=None).fit(*wbc)
    assert isinstance(extractor.estimator_, LPSVCCV)
    assert 1 <= len(extractor.hyperplane_.active) <= 8
    assert min(extractor.coverage_.values()) > 0.9


def test_without_a_model_three_classes_are_set_against_the_rest_and_small_ones_do_not_matter():
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(c, 0.3, size=(m, 2)) for c, m in ((0, 12), (3, 12), (6, 3))])
    y = np.repeat(["low", "middle", "high"], [12, 12, 3])
    extractor = RuleExtractor().fit(X, y)
    assert isinstance(extractor.estimator_, OneVsRestClassifier)
    assert (extractor.predict(X) == extractor.estimator_.predict(X)).all()
    single = RuleExtractor(min_coverage=1).fit(X[11:13], y[11:13])  # one row of each class
    assert isinstance(single.estimator_, LPSVC)


def test_two_fits_are_equal(wbc, svm):
    X, y = wbc
    for parameters in ({"criterion": "coverage"}, {"criterion": "volume"}, {"disjoint": False}):
        first, second = (RuleExtractor(svm, **parameters).fit(X, y) for _ in range(2))
        assert first.rules_ == second.rules_
        assert [r.stats for r in first.rules_] == [r.stats for r in second.rules_]
        assert first.coverage_ == second.coverage_


@pytest.mark.parametrize("criterion", ["volume", "coverage-lp", "coverage-lp-feature"])
def test_where_a_rule_fires_the_model_says_the_same(wbc, svm, criterion):
    X, y = wbc
    extractor = RuleExtractor(svm, criterion=criterion).fit(X, y)
    scores = extractor.rules_.score(X, y, model=svm)
    assert scores.fidelity == 1.0
    assert all(stats.fidelity == 1.0 for stats in scores.rules)
    # Everywhere else in the domain, too.
    rng = np.random.default_rng(0)
    others = pd.DataFrame(rng.uniform(1, 10, size=(20_000, 9)), columns=X.columns)
    which = extractor.which(others)
    labels = np.array([rule.label for rule in extractor.rules_])
    assert (which >= 0).mean() > 0.02
    assert (labels[which[which >= 0]] == svm.predict(others)[which >= 0]).all()


def test_the_model_speaks_where_no_rule_does(wbc, svm, fitted):
    X, y = wbc
    assert (fitted.predict(X) == svm.predict(X)).all()
    assert fitted.score(X, y) == svm.score(X, y)
    np.testing.assert_array_equal(fitted.decision_function(X), svm.decision_function(X))


def test_an_abstaining_extractor_answers_none(wbc, svm):
    X, y = wbc
    extractor = RuleExtractor(svm, fallback="abstain", max_rules=1).fit(X, y)
    answers = extractor.predict(X)
    silent = extractor.which(X) < 0
    assert answers.dtype == object
    assert silent.any()
    assert all(answer is None for answer in answers[silent])
    assert (answers[~silent] == svm.predict(X)[~silent]).all()
    assert not hasattr(extractor, "decision_function")


def test_a_class_may_be_the_fallback(wbc, svm):
    X, y = wbc
    extractor = RuleExtractor(svm, fallback="malignant", max_rules=1).fit(X, y)
    silent = extractor.which(X) < 0
    assert (extractor.predict(X)[silent] == "malignant").all()
    assert not hasattr(extractor, "decision_function")


def test_numbers_may_be_classes_and_fallbacks(wbc):
    X, y = wbc
    codes = np.where(y == "malignant", 1, -1)
    extractor = RuleExtractor(LPSVC(nu=0.0025), fallback=-1, max_rules=2).fit(X, codes)
    assert set(extractor.predict(X).tolist()) == {-1, 1}
    assert (extractor.predict(X)[extractor.which(X) < 0] == -1).all()
    assert [type(rule.label) for rule in extractor.rules_] == [int, int]


def test_trace_coverage_and_statistics_tell_the_same_story(wbc, svm, fitted):
    X, y = wbc
    covered = fitted.rules_.covers(X)
    for label, trace in fitted.trace_.items():
        own = [k for k, rule in enumerate(fitted.rules_) if rule.label == label]
        assert trace.kept == len(own) <= trace.found <= trace.problems
        assert trace.seconds > 0
        wanted = (y == label) & (svm.predict(X) == label)
        assert trace.points == wanted.sum()
        assert trace.covered == (covered[:, own].any(axis=1) & wanted).sum()
        assert fitted.coverage_[label] == trace.coverage == trace.covered / trace.points
        sizes = [fitted.rules_[k].stats.correct for k in own]
        assert sizes == sorted(sizes, reverse=True)
        assert sum(sizes) == trace.covered
    assert fitted.coverage_.keys() == fitted.trace_.keys() == {"benign", "malignant"}


def test_the_share_of_volume_is_what_sampling_finds(oracle):
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 1, size=(60, 3))
    coef, intercept = np.array([1.0, 2.0, -0.7]), -0.9
    model = oracle.given(X, coef, intercept)
    extractor = RuleExtractor(model, tighten=False, min_coverage=1).fit(
        X, oracle.sides(X, coef, intercept)
    )
    space = extractor.space_
    sample = rng.uniform(space.lower, space.upper, size=(100_000, 3))
    for label, volume in extractor.volume_coverage_.items():
        side = model.predict(sample) == label
        held = np.zeros(len(sample), dtype=bool)
        for rule in extractor.rules_:
            held |= rule.region.contains(sample) if rule.label == label else False
        assert volume.value == pytest.approx((held & side).sum() / side.sum(), abs=0.01)
        assert volume.low <= volume.value <= volume.high
        curve = extractor.volume_curve_[label]
        assert len(curve) == extractor.trace_[label].kept
        assert (np.diff(curve) >= 0).all()
        assert curve[-1] == pytest.approx(volume.value)


def test_without_disjoint_rules_volume_is_not_measured(wbc, svm):
    extractor = RuleExtractor(svm, disjoint=False, criterion="coverage-lp").fit(*wbc)
    assert extractor.volume_coverage_ == {}
    assert extractor.volume_curve_ == {}


def test_a_class_without_points_has_no_rules_and_no_share(oracle):
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.2]])
    model = oracle.given(X, [1.0, 1.0], -100.0)
    extractor = RuleExtractor(model).fit(X, ["below"] * 3)
    assert extractor.trace_["above"].points == 0
    assert np.isnan(extractor.coverage_["above"])
    assert extractor.coverage_["below"] == 1.0
    assert {rule.label for rule in extractor.rules_} == {"below"}
    assert extractor.volume_coverage_["below"].value == pytest.approx(1.0)


def test_rules_are_read_back_from_their_text(fitted):
    again = parse_rules(
        fitted.rules_.to_text(), space=fitted.space_, classes=fitted.surface_.classes
    )
    assert again == fitted.rules_


@pytest.mark.parametrize("parameters", [{}, {"bounds": (0, 10)}, {"disjoint": False}])
def test_pickled_it_is_the_same(wbc, svm, parameters):
    X, y = wbc
    extractor = RuleExtractor(svm, criterion="coverage-lp", **parameters).fit(X, y)
    again = pickle.loads(pickle.dumps(extractor))
    assert again.rules_ == extractor.rules_
    assert (again.predict(X) == extractor.predict(X)).all()
    assert str(again.explain(X.iloc[[5]], "central")) == str(
        extractor.explain(X.iloc[[5]], "central")
    )


def test_cloned_it_is_blank_with_the_same_parameters(fitted):
    copy = clone(fitted)
    assert not hasattr(copy, "rules_")
    assert copy.criterion == "coverage-lp"
    with pytest.raises(NotFittedError, match="not fitted"):
        copy.predict([[0.0] * 9])


def test_weights_of_rows_reach_the_model(wbc):
    X, y = wbc
    weight = np.where(y == "malignant", 20.0, 1.0)
    extractor = RuleExtractor(LogisticRegression(max_iter=500), max_rules=1)
    with pytest.warns(ClearmarginWarning, match="the plane has 9 features"):
        extractor.fit(X, y, sample_weight=weight)
    expected = LogisticRegression(max_iter=500).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(extractor.hyperplane_.coef, expected.coef_[0])
    assert not np.allclose(expected.coef_, LogisticRegression(max_iter=500).fit(X, y).coef_)


def test_declared_ranges_are_kept_and_limit_what_rules_claim(wbc, svm, oracle):
    X, y = wbc
    plane_rules = {}
    for name, bounds in {
        "pair": (0, 10),
        "arrays": (np.zeros(9), np.full(9, 10.0)),
        "mapping": dict.fromkeys(X.columns, (0, 10)),
        "space": FeatureSpace(list(X.columns)[::-1], np.zeros(9), np.full(9, 10.0)),
    }.items():
        extractor = RuleExtractor(svm, bounds=bounds).fit(X, y)
        assert (extractor.space_.lower == 0).all()
        assert (extractor.space_.upper == 10).all()
        plane_rules[name] = extractor.rules_
    assert len({rules.to_text() for rules in plane_rules.values()}) == 1
    beyond = X.iloc[[0]].assign(mitoses=11)
    assert extractor.which(beyond).tolist() == [-1]
    for rule in extractor.rules_:
        sign = 1 if rule.label == "malignant" else -1
        assert oracle.lies_on_side(
            rule.region, svm.coef_[0], svm.intercept_[0], sign, (np.zeros(9), np.full(9, 10.0))
        )


def test_ranges_may_be_declared_for_some_features_and_open_ends_are_those_of_the_data(wbc, svm):
    X, y = wbc
    extractor = RuleExtractor(svm, bounds={"bare_nuclei": (-5, np.inf)}).fit(X, y)
    j = extractor.space_.index("bare_nuclei")
    assert extractor.space_.lower[j] == -5
    assert extractor.space_.upper[j] == 10
    assert extractor.space_.lower[0] == 1


def test_short_rules_have_few_conditions(wbc, svm, oracle):
    X, y = wbc
    for criterion in ("volume", "coverage"):
        extractor = RuleExtractor(
            svm, criterion=criterion, bounds=(0, 10), max_conditions=2, disjoint=False
        ).fit(X, y)
        assert len(extractor.rules_) >= 2
        assert all(rule.n_conditions <= 2 for rule in extractor.rules_)
        assert extractor.rules_.score(X, y, model=svm).fidelity == 1.0


def test_a_larger_demand_on_rules_leaves_fewer_of_them(wbc, svm):
    X, y = wbc
    counts = [len(RuleExtractor(svm, min_coverage=k).fit(X, y).rules_) for k in (1, 2, 10, 1_000)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 0
    nothing = RuleExtractor(svm, min_coverage=1_000).fit(X, y)
    assert (nothing.predict(X) == svm.predict(X)).all()
    assert nothing.which(X).max() == -1


def test_it_takes_part_in_cross_validation(wbc):
    X, y = wbc
    extractor = RuleExtractor(LinearSVC(C=0.01), max_rules=2)
    with pytest.warns(ClearmarginWarning, match="the plane has 9 features"):
        scores = cross_val_score(extractor, X.to_numpy()[:200], y[:200], cv=2)
    assert is_classifier(extractor)
    assert (scores > 0.8).all()


def test_rows_of_any_kind_are_read_alike(wbc, svm, fitted):
    X, _ = wbc
    which = fitted.which(X)
    assert (fitted.which(X[X.columns]) == which).all()
    assert (which >= 0).any()
    reordered = X.assign(extra="text")[["extra", *X.columns[::-1]]]
    assert (fitted.rules_.which(reordered) == which).all()
    assert fitted.which(X.iloc[:0]).shape == (0,)


def test_of_very_many_points_some_are_searched_and_all_are_counted(wbc, svm, oracle, monkeypatch):
    X, y = wbc
    monkeypatch.setattr("clearmargin.plane_rules.extraction._MOST_POINTS", 60)
    extractor = RuleExtractor(svm, criterion="coverage-lp").fit(X, y)
    covered = extractor.rules_.covers(X)
    said = svm.predict(X)
    for k, rule in enumerate(extractor.rules_):
        held = covered[:, k]
        assert rule.stats.covered == held.sum()
        assert rule.stats.correct == (held & (y == rule.label)).sum() >= 2
        sign = 1 if rule.label == "malignant" else -1
        assert oracle.lies_on_side(rule.region, svm.coef_[0], svm.intercept_[0], sign)
    for label, trace in extractor.trace_.items():
        own = [k for k, rule in enumerate(extractor.rules_) if rule.label == label]
        wanted = (y == label) & (said == label)
        assert trace.points == wanted.sum()
        assert trace.covered == (covered[:, own].any(axis=1) & wanted).sum()
        assert trace.coverage > 0.7
        assert not oracle.meeting_pairs([extractor.rules_[k].region for k in own])


def test_recall_is_the_share_of_all_cases_of_a_class_and_coverage_of_those_that_the_model_gets_right():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] + rng.normal(size=200) > 0, "failure", "success")
    extractor = RuleExtractor(LPSVC(nu=1.0)).fit(X, y)
    which, right = extractor.which(X), extractor.estimator_.predict(X) == y
    for label in ("failure", "success"):
        own = [k for k, rule in enumerate(extractor.rules_) if rule.label == label]
        covered = np.isin(which, own) & (y == label)
        assert extractor.recall_[label] == covered.sum() / (y == label).sum()
        assert extractor.coverage_[label] == covered.sum() / (right & (y == label)).sum()
        assert extractor.recall_[label] < extractor.coverage_[label]


def test_a_condition_that_one_declared_end_implies_is_not_said(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"credits": rng.integers(1, 5, 300).astype(float), "amount": rng.uniform(0, 10, 300)}
    )
    y = np.where(X["credits"] + X["amount"] + rng.normal(size=300) > 7, "bad", "good")
    svm = LPSVC().fit(X, y)
    seen = RuleExtractor(svm).fit(X, y)
    declared = RuleExtractor(svm, bounds={"credits": (1, np.inf)}).fit(X, y)
    # Without a declaration the proof needs the lowest value that was seen; the highest is needed by both.
    assert "credits >= 1 and" in seen.rules_.to_text()
    assert "credits >= 1 and" not in declared.rules_.to_text()
    assert "credits <= 4 and" in declared.rules_.to_text()
    assert (declared.rules_.predict(X) == seen.rules_.predict(X)).all()
    # A file remembers which end it was.
    save_model(declared, tmp_path / "model.json")
    assert {rule.proof for rule in load_model(tmp_path / "model.json").rules} == {"proved"}


@pytest.mark.parametrize(
    ("criterion", "limit"), [("volume", "_MANY_ROWS"), ("coverage", "_MANY_ROWS_BY_COVERAGE")]
)
def test_a_page_of_very_many_rows_is_searched_for_in_part_and_says_at_least(
    criterion, limit, monkeypatch
):
    # All boxes of 300,000 rows took minutes, for a page of them.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = np.where(X @ [1.0, -2.0, 0.5, 1.5, -1.0, 0.7] > 0, "yes", "no")
    svm = LPSVC(nu=100.0).fit(X, y)
    whole = RuleExtractor(svm, max_rules=4, min_coverage=2, criterion=criterion).fit(X, y)
    monkeypatch.setattr(f"clearmargin.plane_rules.extraction.{limit}", 100)
    monkeypatch.setattr("clearmargin.plane_rules.extraction._FEWEST_FOUND", 8)
    part = RuleExtractor(svm, max_rules=4, min_coverage=2, criterion=criterion).fit(X, y)
    assert len(part.rules_) == len(whole.rules_) == 4
    assert sum(part.trace_[c].problems for c in ("no", "yes")) < sum(
        whole.trace_[c].problems for c in ("no", "yes")
    )
    assert "at least" in str(part.budget_)
    assert "at least" not in str(whole.budget_)
    # Regions with the most points come first, so that little is lost.
    assert part.budget_.covered >= 0.8 * whole.budget_.covered
    everything = RuleExtractor(svm, max_rules=None, min_coverage=2, criterion=criterion).fit(X, y)
    assert len(everything.rules_) > 16
