"""Rules around support vectors and of surrogate trees: what each phase promises, and what the rules predict."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

from clearmargin import RuleSet, SupportVectorRules, SurrogateRules, certify
from clearmargin.exceptions import DataError, InvalidValueError

ALL = {"min_coverage": 1, "max_rules": None}
seeds = st.integers(0, 10**6)


def scaled(svm):
    return make_pipeline(StandardScaler(), svm)


def mixed_machine(**svm):
    columns = make_column_transformer(
        (StandardScaler(), ["age", "dose"]), (OneHotEncoder(), ["smoker", "colour"])
    )
    return make_pipeline(columns, SVC(gamma=0.3, C=3.0, **svm))


def inside(rules, X):
    """Which rules hold which rows, one by one."""
    return np.array([rule.region.contains(X) for rule in rules])


@given(seeds, st.integers(2, 4), st.sampled_from(["rbf", "poly", "linear"]))
@settings(max_examples=16)
def test_tuned_rules_hold_no_training_point_of_another_class(seed, n_classes, kernel):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)).round(1)
    y = np.arange(40) % n_classes
    y[X[:, 0] > 0.3] = 0
    machine = scaled(SVC(kernel=kernel, C=10.0))
    rules = SupportVectorRules(machine, **ALL).fit(X, y)
    said = rules.estimator_.predict(X)
    which = rules.which(X)
    assert (rules.predict(X)[which >= 0] == said[which >= 0]).all()
    if n_classes == 2:  # of more, none may win all its duels
        assert (which >= 0).all()
    for rule, held in zip(rules.rules_, inside(rules.rules_, X), strict=True):
        assert held.any()
        assert (said[held] == rule.label).all()
        assert (rule.stats.rows, rule.stats.covered) == (len(X), held.sum())
        assert rule.stats.correct == (y[held] == rule.label).sum()
        assert rule.stats.agreed == (said[held] == rule.label).sum()


def test_rules_are_short_and_none_covers_what_another_of_its_class_covers(two_classes):
    X, y = two_classes
    rules = SupportVectorRules(scaled(SVC()), **ALL).fit(X, y).rules_
    covers = inside(rules, X)
    for i, j in np.argwhere(~np.eye(len(covers), dtype=bool)):
        assert rules[i].label != rules[j].label or (covers[i] & ~covers[j]).any()
    assert np.mean([rule.n_conditions for rule in rules]) < 2 * X.shape[1]
    sure = [(r.stats.agreed + 1) / (r.stats.covered + 2) for r in rules]
    assert sure == sorted(sure, reverse=True)


def test_uncovered_rows_go_to_the_nearest_rule_or_the_fallback(three_classes):
    X, y = three_classes
    low, high = X.min(axis=0), X.max(axis=0)
    fresh = np.random.default_rng(1).uniform(low - 1, high + 1, (300, X.shape[1]))
    model = scaled(SVC()).fit(X, y)
    nearest = SupportVectorRules(model, max_rules=3).fit(X, y)
    bare = nearest.which(fresh) < 0
    assert bare.sum() > 10
    excess = [np.maximum(0, np.maximum(r.region.lower - fresh, fresh - r.region.upper))
              for r in nearest.rules_]  # fmt: skip
    best = np.argmin(((np.array(excess) / (high - low)) ** 2).sum(axis=2), axis=0)
    labels = np.array([rule.label for rule in nearest.rules_])
    assert (nearest.predict(fresh)[bare] == labels[best[bare]]).all()
    for fallback, said in (("estimator", model.predict(fresh)), ("abstain", np.full(300, None)),
                           (y[0], np.full(300, y[0]))):  # fmt: skip
        rules = clone(nearest).set_params(fallback=fallback).fit(X, y)
        assert (rules.predict(fresh)[bare] == said[bare]).all()
        assert (rules.predict(fresh)[~bare] == nearest.predict(fresh)[~bare]).all()


def test_missing_values_are_imputed_by_the_pipeline_or_have_no_nearest_rule():
    X = np.random.default_rng(0).normal(size=(120, 3))
    y = X[:, 0] ** 2 + X[:, 1] > 0.5
    gap = np.where([[False, True, False]], np.nan, X[:3])
    with pytest.raises(DataError, match="'x1'"):
        SupportVectorRules(scaled(SVC())).fit(X, y).predict(gap)
    assert None in SupportVectorRules(scaled(SVC()), fallback="abstain").fit(X, y).predict(gap)
    X[::6, 1] = np.nan
    rules = SupportVectorRules(make_pipeline(SimpleImputer(), StandardScaler(), SVC())).fit(X, y)
    which = rules.which(X)
    assert (which == rules.which(np.where(np.isnan(X), np.nanmean(X, axis=0), X))).all()
    assert (rules.rules_.which(X) == which).all()
    assert (which[::6] >= 0).any()


@pytest.mark.parametrize("kind", ["rbf", "poly", "linear", "three", "one"])
def test_certified_rules_are_proved_in_the_numbers_printed(kind, two_classes, three_classes):
    X, y = three_classes if kind == "three" else (part[:60] for part in two_classes)
    machine = SVC(C=10.0) if kind == "three" else scaled(SVC(kernel=kind, coef0=1.0))
    if kind == "one":
        machine, y = scaled(OneClassSVM(nu=0.2, gamma=0.3)), None
    rules = SupportVectorRules(machine, certify=True, budget=150).fit(X, y)
    text, given_classes = rules.rules_.to_text(), rules.rules_.classes
    rng = np.random.default_rng(2)
    for rule in RuleSet.from_text(text, space=rules.space_, classes=given_classes):
        assert certify(rules.estimator_, rule.region, rule.label, budget=3000).status == "proved"
        low = np.maximum(rule.region.lower, X.min(axis=0))
        points = rng.uniform(low, np.minimum(rule.region.upper, X.max(axis=0)), (300, X.shape[1]))
        assert (rules.estimator_.predict(points) == rule.label).all()
    assert {rule.proof for rule in rules.rules_} == {"proved"}
    labels = {rule.label for rule in rules.rules_}
    assert 1 in labels if kind == "one" else labels == set(y)


def test_certified_rules_leave_out_what_cannot_be_proved_or_is_not_seen():
    # At 1e-16 the sum of both bumps is positive by one rounding, which proves nothing.
    model = SVC(gamma=0.5).fit([[-1.0], [1.0]], [0, 1])
    X = np.array([[-1.0], [1.0], [1e-16], [-1e-16]])
    proved = SupportVectorRules(model, certify=True, budget=10).fit(X, model.predict(X))
    assert len(proved.rules_) == 2
    X = np.random.default_rng(0).uniform(size=(80, 3))
    y = np.where(X[:, 1] > 0.5, "up", "down")
    model = make_pipeline(ColumnTransformer([("keep", "passthrough", [1])]), SVC()).fit(X, y)
    rules = SupportVectorRules(model, certify=True, budget=30).fit(X, y).rules_
    assert {(rule.proof, rule.region.bounded) for rule in rules} == {("proved", (1,))}
    flat, y = np.column_stack([X, np.full(80, 3.0)]), np.array(["a"] * 79 + ["b"])
    for extractor in (SupportVectorRules(SVC(C=1e-3)), SurrogateRules(SVC(C=1e-3))):
        rules = extractor.fit(flat, y)  # a constant model, and a constant column
        assert [rule.label for rule in rules.rules_] == ["a"]
        assert (rules.predict(flat) == "a").all()


def test_names_categories_and_whole_numbers_of_a_frame_are_in_the_rules(mixed):
    frame, y = mixed
    search = GridSearchCV(mixed_machine(), {"svc__C": [1.0, 3.0]}, cv=2)
    rules = SupportVectorRules(search, fallback="well").fit(frame, y)
    assert not hasattr(search, "best_estimator_")
    assert rules.space_.names == tuple(rules.feature_names_in_) == tuple(frame.columns)
    text, classes = rules.rules_.to_text(), rules.rules_.classes
    again = RuleSet.from_text(text, space=rules.space_, classes=classes)
    assert [rule.region for rule in again] == [rule.region for rule in rules.rules_]
    assert again.predict(frame, default="well").tolist() == rules.predict(frame).tolist()
    assert rules.score(frame, rules.estimator_.predict(frame)) > 0.97
    ages = np.ravel([(rule.region.lower[0], rule.region.upper[0]) for rule in rules.rules_])
    assert all(b == int(b) for b in ages[np.isfinite(ages)])


@settings(max_examples=10)
@given(seeds, st.sampled_from([None, 3, 9]), st.sampled_from([1.0, 1e-3, 1e6]))
def test_surrogate_rules_share_out_the_space_and_follow_the_model(seed, most, unit):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3)) * unit
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0.5 * unit)
    model = make_pipeline(StandardScaler(), SVC(C=10.0)).fit(X, y)
    rules = SurrogateRules(model, max_rules=most, n_generated=300, random_state=0).fit(X, y)
    fresh = rng.uniform(1.5 * X.min(axis=0), 1.5 * X.max(axis=0), (500, 3))
    # A leaf that covers no training row is left out; the others leave no gap between them.
    assert rules.rules_.covers(fresh).sum(axis=1).max() == 1
    assert (rules.rules_.covers(X).sum(axis=1) == 1).all()
    assert most is None or len(rules.rules_) <= most
    if most is None:  # joined brothers decide as the tree does
        assert (rules.learner_.predict(X) == rules.predict(X)).all()
        assert np.mean(rules.predict(X) == model.predict(X)) > 0.7
    again = SurrogateRules(model, max_rules=most, n_generated=300, random_state=0).fit(X, y)
    assert again.rules_ == rules.rules_


def test_surrogate_rules_keep_whole_bounds_and_names_and_leave_out_unseen_columns(mixed):
    frame, y = mixed
    for model in (mixed_machine(),
        make_pipeline(mixed_machine()[0], RandomForestClassifier(10, random_state=0))):  # fmt: skip
        named = SurrogateRules(model.fit(frame, y), n_generated=500, random_state=0).fit(frame, y)
        assert "colour" in named.rules_.to_text()
        assert np.mean(named.predict(frame) == model.predict(frame)) > 0.9
    X = np.random.default_rng(0).integers(0, 10, (150, 6)).astype(float)
    y = X[:, 1] + X[:, 4] > 9
    X[:, 0], X[:, 5] = X[:, 1], X[:, 4]  # copies, which would serve a tree as well
    keep = SelectKBest(lambda X, y: np.array([0.0, 1.0, 0.0, 0.0, 1.0, 0.0]), k=2)
    model = make_pipeline(keep, StandardScaler(), SVC(C=10.0)).fit(X, y)
    few = SurrogateRules(model, n_generated=200, random_state=0).fit(X, y).rules_
    assert {j for rule in few for j in rule.region.bounded} == {1, 4}
    ends = np.ravel([[rule.region.lower, rule.region.upper] for rule in few])
    assert (ends[np.isfinite(ends)] == np.round(ends[np.isfinite(ends)])).all()


class Contrary(SVC):
    """A machine that says the opposite of what it has learnt."""

    def predict(self, X):
        said = super().predict(X)
        return np.where(said == self.classes_[0], self.classes_[1], self.classes_[0])


def test_support_vector_rules_refuse_by_name():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, "high", "low")
    fitted, wide = SVC().fit(X, y), np.random.default_rng(0).normal(size=(40, 1001))
    for model, table, labels, name in [
        (LogisticRegression().fit(X, y), X, y, "LogisticRegression"),
        (Contrary().fit(X, y), X, y, "Contrary"), (SVR(), X, y, "SVR"), (fitted, X[:, :2], y, "2 columns"),
        (fitted, X, np.where(y == "high", "hig", y), "'high'"), (SVC(), wide, y, "1,001"),
    ]:  # fmt: skip
        with pytest.raises((DataError, InvalidValueError), match=name):
            SupportVectorRules(model).fit(table, labels)
    with pytest.raises(DataError, match="min_coverage"):
        SupportVectorRules(fitted, min_coverage=1000).fit(X, y)
