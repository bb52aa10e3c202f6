"""Rules in the user's words: raw units behind scalers, categories by name, classes among three or more."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from clearmargin import LPSVC, RuleExtractor, parse_rules
from clearmargin.datasets import load_wbc
from clearmargin.export import export
from clearmargin.models.surface import read_surface
from clearmargin.rule_base.simplify import to_user_box
from clearmargin.rules import Box, Interval


def drawn_from(region, space, rng, m=400):
    """Points of a box, within the range of the features; corners of that part are among them."""
    lower, upper = np.maximum(region.lower, space.lower), np.minimum(region.upper, space.upper)
    shares = rng.random((m, len(lower)))
    shares[: m // 4] = np.round(shares[: m // 4])
    X = lower + shares * (upper - lower)
    return X[region.contains(X)]


def test_behind_a_scaler_rules_are_in_raw_units(oracle):
    X, y = load_wbc(return_X_y=True)
    model = make_pipeline(
        StandardScaler(), SelectKBest(k=4), LinearSVC(C=0.01, random_state=0)
    ).fit(X, y)
    extractor = RuleExtractor(model, criterion="coverage").fit(X, y)
    assert extractor.estimator_ is model
    values = X.to_numpy(dtype=float)
    np.testing.assert_allclose(
        extractor.hyperplane_.decision(values), model.decision_function(X), atol=1e-9
    )
    assert extractor.space_.names == tuple(X.columns)
    for rule in extractor.rules_:
        ends = np.r_[rule.region.lower, rule.region.upper]
        ends = ends[np.isfinite(ends)]
        assert (ends == np.round(ends)).all()
        assert (ends >= 1).all()
        assert (ends <= 10).all()
        sign = 1 if rule.label == "malignant" else -1
        plane = extractor.hyperplane_
        assert oracle.lies_on_side(rule.region, plane.coef, plane.intercept, sign)
    assert min(extractor.coverage_.values()) > 0.9
    assert (extractor.predict(X) == model.predict(X)).all()


def test_a_scaler_changes_the_numbers_inside_and_not_the_rules():
    X, y = load_wbc(return_X_y=True)
    bare = LPSVC(nu=0.0025).fit(X, y)
    scaler = MinMaxScaler(feature_range=(0, 3)).set_output(transform="pandas").fit(X)
    scaled = LPSVC(nu=0.01).fit(scaler.transform(X), y)
    scaled.coef_ = bare.coef_ / scaler.scale_
    scaled.intercept_ = bare.intercept_ - (bare.coef_ / scaler.scale_) @ scaler.min_
    direct = RuleExtractor(bare, bounds=(0, 10)).fit(X, y)
    behind = RuleExtractor(make_pipeline(scaler, scaled), bounds=(0, 10)).fit(X, y)
    assert behind.rules_ == direct.rules_


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 120),
            "smoker": rng.choice(["never", "ex", "daily"], 120, p=[0.5, 0.3, 0.2]),
            "bmi": np.round(rng.normal(26, 4, 120), 1),
        }
    )
    risk = 0.05 * X["age"] + 0.1 * X["bmi"] + 2.0 * (X["smoker"] == "daily")
    return X, np.where(risk > 5.6, "ill", "well")


def encoder(**kwargs):
    return make_column_transformer(
        (OneHotEncoder(**kwargs), ["smoker"]), (StandardScaler(), ["age", "bmi"])
    )


@pytest.mark.parametrize("criterion", ["volume", "coverage", "coverage-lp"])
def test_categories_come_back_by_name(people, criterion):
    X, y = people
    model = make_pipeline(encoder(), LogisticRegression(C=10.0)).fit(X, y)
    extractor = RuleExtractor(model, criterion=criterion, min_coverage=2, max_rules=None).fit(X, y)
    text = extractor.rules_.to_text()
    assert "smoker" in text
    assert any(name in text for name in ("never", "daily", "ex"))
    which = extractor.which(X)
    assert (which >= 0).mean() > 0.5
    said = model.predict(X)
    for k, rule in enumerate(extractor.rules_):
        assert (said[which == k] == rule.label).all()
        own = extractor.rules_[k : k + 1].covers(X)[:, 0]
        assert (said[own] == rule.label).all()
        assert rule.stats.covered == own.sum()


def test_every_person_that_a_rule_could_speak_of_gets_its_class(people):
    X, y = people
    model = make_pipeline(encoder(), LogisticRegression(C=10.0)).fit(X, y)
    extractor = RuleExtractor(model, criterion="coverage").fit(X, y)
    rng = np.random.default_rng(1)
    others = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 3_000),
            "smoker": rng.choice(["never", "ex", "daily"], 3_000),
            "bmi": rng.uniform(X["bmi"].min(), X["bmi"].max(), 3_000),
        }
    )
    which = extractor.which(others)
    labels = np.array([rule.label for rule in extractor.rules_])
    covered = which >= 0
    assert covered.mean() > 0.5
    assert (labels[which[covered]] == model.predict(others)[covered]).all()


def test_a_category_that_the_model_does_not_know_is_left_to_the_model(people):
    X, y = people
    model = make_pipeline(encoder(handle_unknown="ignore"), LogisticRegression(C=10.0)).fit(X, y)
    extractor = RuleExtractor(model, criterion="coverage").fit(X, y)
    stranger = pd.DataFrame({"age": [85], "smoker": ["sometimes"], "bmi": [40.0]})
    assert extractor.which(stranger).tolist() == [-1]
    assert extractor.predict(stranger).tolist() == model.predict(stranger).tolist()


def test_rows_of_a_category_that_the_model_does_not_know_make_no_rule(people):
    X, y = people
    model = make_pipeline(encoder(handle_unknown="ignore"), LogisticRegression(C=10.0)).fit(X, y)
    strangers = X.assign(smoker="sometimes")
    table = pd.concat([X.iloc[:20], strangers], ignore_index=True)
    extractor = RuleExtractor(model, criterion="coverage-lp").fit(table, model.predict(table))
    assert (extractor.which(strangers) == -1).all()
    for label, trace in extractor.trace_.items():
        assert trace.kept == sum(rule.label == label for rule in extractor.rules_)
    assert (extractor.predict(table) == model.predict(table)).all()


def test_a_box_that_leaves_no_category_says_nothing(people):
    X, y = people
    surface = read_surface(make_pipeline(encoder(), LogisticRegression()).fit(X, y), X)
    named = [k for k, source in enumerate(surface.sources) if source.code is not None]
    none_of_them = Box.from_intervals(
        {k: Interval(0, 0, "both") for k in named}, len(surface.sources)
    )
    assert to_user_box(none_of_them, surface) is None
    not_the_first = Box.from_intervals({named[0]: Interval(0, 0, "both")}, len(surface.sources))
    region = to_user_box(not_the_first, surface)
    assert [list(codes) for _, codes in region.sets.allowed] == [[1, 2]]


def test_values_that_the_model_imputes_count_as_imputed_everywhere():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    y = (X["a"] + X["b"] > 0).to_numpy()
    X.iloc[::10, 0] = np.nan
    for steps in (
        [SimpleImputer(), StandardScaler()],
        [StandardScaler(), SimpleImputer(strategy="median")],
    ):
        model = make_pipeline(*steps, LogisticRegression()).fit(X, y)
        extractor = RuleExtractor(model, min_coverage=1).fit(X, y)
        expected = X["a"].mean() if isinstance(steps[0], SimpleImputer) else X["a"].median()
        assert extractor.space_.fill[0] == pytest.approx(expected)
        imputed = X.fillna({"a": extractor.space_.fill[0]})
        which = extractor.which(X)
        assert (which[::10] >= 0).sum() >= 7
        np.testing.assert_array_equal(which, extractor.which(imputed))
        # The rules by themselves, in text and in SQL, know what the pipeline puts there.
        again = parse_rules(extractor.rules_.to_text())
        assert again == extractor.rules_
        np.testing.assert_array_equal(again.which(X), which)
        np.testing.assert_array_equal(extractor.covers(X), again.covers(imputed))
        assert "COALESCE(" in export(again, to="sql")
        assert (extractor.predict(X) == model.predict(X)).all()
        right = model.predict(X) == y
        assert sum(trace.points for trace in extractor.trace_.values()) == right.sum()
        told, same = extractor.explain(X.iloc[[0]]), extractor.explain(imputed.iloc[[0]])
        assert (told.rule, told.margin, told.parts) == (same.rule, same.margin, same.parts)
        assert told.imputed == (("a", extractor.space_.fill[0]),)
        assert f"Missing values were taken as: a {imputed.iloc[0, 0]:.4g}." in str(told)
        assert "taken as" not in str(same)
        assert (extractor.rules_.predict(X)[which >= 0] == model.predict(X)[which >= 0]).all()


def test_neighbours_that_fill_a_value_leave_it_missing_for_the_rules():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 2))
    y = X.sum(axis=1) > 0
    X[::10, 0] = np.nan
    extractor = RuleExtractor(make_pipeline(KNNImputer(), LogisticRegression())).fit(X, y)
    assert extractor.space_.fill == (None, None)
    # A second imputer never sees what the first one has filled, and of two values neither is taken.
    for steps in (
        [KNNImputer(), SimpleImputer()],
        [SimpleImputer(), SimpleImputer(strategy="constant", fill_value=9.0)],
    ):
        model = make_pipeline(*steps, LogisticRegression()).fit(X, y)
        assert RuleExtractor(model).fit(X, y).space_.fill[0] is None
    asks = extractor.covers(X)[::10]
    assert not asks[:, [0 in rule.region.bounded for rule in extractor.rules_]].any()
    assert (extractor.predict(X) == extractor.estimator_.predict(X)).all()


def test_a_rule_asks_for_a_value_where_the_model_has_learned_from_missing_ones():
    X = pd.DataFrame({"colour": ["red", "blue", None] * 20, "size": np.arange(60.0)})
    y = np.where(X["colour"].isna(), X["size"] > 50, X["size"] > 20)
    encode = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(C=100, max_iter=10_000)).fit(X, y)
    extractor = RuleExtractor(model).fit(X, y)
    assert len(extractor.rules_)
    # Both known colours are alike, and only a missing one differs: no rule may speak of it.
    assert all(0 in rule.region.bounded for rule in extractor.rules_)
    assert "colour is not missing" in extractor.rules_.to_text()
    covered = extractor.which(X) >= 0
    assert not covered[X["colour"].isna()].any()
    assert covered.any()
    assert (extractor.predict(X) == model.predict(X)).all()


IRIS = load_iris()
MULTI = {
    "multinomial": LogisticRegression(max_iter=1_000),
    "one against the rest": OneVsRestClassifier(LogisticRegression()),
    "discriminant": LinearDiscriminantAnalysis(),
    "ridge": RidgeClassifier(),
    "behind a scaler": make_pipeline(StandardScaler(), LogisticRegression()),
    "one against one": OneVsOneClassifier(LogisticRegression()),
    "votes": SVC(kernel="linear"),
}


@pytest.mark.parametrize("name", sorted(MULTI))
def test_rules_among_three_classes_are_sound(oracle, name):
    X, y = IRIS.data, IRIS.target_names[IRIS.target]
    extractor = RuleExtractor(MULTI[name], min_coverage=2).fit(X, y)
    model = extractor.estimator_
    rng = np.random.default_rng(0)
    assert {rule.label for rule in extractor.rules_} == set(IRIS.target_names)
    for rule in extractor.rules_:
        k = list(extractor.classes_).index(rule.label)
        for side in extractor.surface_.regions()[k]:
            plane = side.hyperplane
            assert oracle.lies_on_side(rule.region, plane.coef, plane.intercept, side.sign)
        inside = drawn_from(rule.region, extractor.space_, rng)
        assert len(inside) > 50
        assert (model.predict(inside) == rule.label).all()
    assert not oracle.meeting_pairs([rule.region for rule in extractor.rules_])
    assert (extractor.predict(X) == model.predict(X)).all()
    assert min(extractor.coverage_.values()) > 0.5


def test_with_three_classes_there_is_no_single_plane_and_no_volume():
    X, y = IRIS.data, IRIS.target
    extractor = RuleExtractor(LogisticRegression(max_iter=1_000)).fit(X, y)
    assert extractor.volume_coverage_ == {}
    with pytest.raises(ValueError, match="3 classes has more than one hyperplane"):
        _ = extractor.hyperplane_


def test_the_limits_hold_for_three_classes_too():
    X, y = IRIS.data, IRIS.target
    extractor = RuleExtractor(LogisticRegression(max_iter=1_000), max_rules=3, max_depth=3).fit(
        X, y
    )
    assert [rule.label for rule in extractor.rules_] == [0, 1, 2]


def test_a_data_frame_of_integers_and_booleans_is_read():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"count": rng.integers(0, 9, 120), "flag": rng.random(120) < 0.5})
    y = np.where(X["count"] + 3 * X["flag"] > 5, "yes", "no")
    extractor = RuleExtractor(LPSVC(nu=1.0), criterion="coverage").fit(X, y)
    assert extractor.space_.integer.tolist() == [True, True]
    assert min(extractor.coverage_.values()) == 1.0
    assert (extractor.predict(X) == extractor.estimator_.predict(X)).all()
