"""What cannot be extracted or explained is refused with the reason and what to do."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.impute import KNNImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from clearmargin import LPSVC, LPSVCCV, Domain, FeatureSpace, RuleExtractor
from clearmargin.exceptions import (
    ClearmarginWarning,
    DataError,
    DensePlaneWarning,
    InvalidValueError,
)

RNG = np.random.default_rng(7)
X = RNG.normal(size=(40, 3))
Y = np.where(X[:, 0] - X[:, 1] > 0, "yes", "no")
MODEL = LogisticRegression().fit(X, Y)

PARAMETERS = {
    "not 'volum'; did you mean 'volume'?": {"criterion": "volum"},
    "'coverage-exact', not 'coverage_lp'; did you mean 'coverage-lp'?": {
        "criterion": "coverage_lp"
    },
    "criterion must be one of 'volume', 'coverage', 'coverage-lp', ": {"criterion": 3},
    "max_depth must be a whole number from 1, not 0; with no cut there is no rule": {
        "max_depth": 0
    },
    "max_depth must be a whole number from 1, not 2.5": {"max_depth": 2.5},
    "max_rules must be a whole number from 1 or None, not 0": {"max_rules": 0},
    "max_rules must be a whole number from 1 or None, not True": {"max_rules": True},
    "min_coverage must be a whole number from 1, not 0": {"min_coverage": 0},
    "min_coverage must be a whole number from 1, not None": {"min_coverage": None},
    "max_conditions must be a whole number from 1 or None, not -1": {"max_conditions": -1},
    "bounds must be 'data', 'class', a FeatureSpace, a Domain, a mapping or a pair (low, high), not 'wide'": {
        "bounds": "wide"
    },
    "order must be one of 'weight', 'natural', not 'naturl'; did you mean 'natural'?": {
        "order": "naturl"
    },
    "order must be one of 'weight', 'natural', not None": {"order": None},
    "bounds must be a pair (low, high), not 3": {"bounds": 3},
    "the bounds of 'x1' must be a pair (low, high), not 5": {"bounds": {"x1": 5}},
    "bounds for unknown feature 'x9'": {"bounds": {"x9": (0, 1)}},
    "bounds cut off training points: ": {"bounds": (-0.5, 0.5)},
    "fallback must be 'estimator', 'abstain' or a class, not 'yess'; did you mean 'yes'?": {
        "fallback": "yess"
    },
    "fallback must be 'estimator', 'abstain' or a class, not None": {"fallback": None},
    "unknown feature 'x0'": {"bounds": FeatureSpace(["a", "b", "c"])},
}


@pytest.mark.parametrize("message", PARAMETERS)
def test_a_parameter_that_makes_no_sense_is_refused(message):
    with pytest.raises(ValueError, match=re.escape(message)):
        RuleExtractor(MODEL, **PARAMETERS[message]).fit(X, Y)


def test_bounds_that_cut_off_points_name_the_feature_and_an_example():
    with pytest.raises(
        InvalidValueError, match=r"\d+ rows have 'x\d' outside of \[-1, 1\], for example -?\d"
    ) as caught:
        RuleExtractor(MODEL, bounds=(-1, 1)).fit(X, Y)
    assert "widen the bounds or leave the rows out" in str(caught.value)


MODELS = {
    "RandomForestClassifier is not linear: .*SurrogateRules.method='train'": RandomForestClassifier(
        n_estimators=2
    ),
    "KNeighborsClassifier is not linear: .*SurrogateRules.method='train'": KNeighborsClassifier(),
    "SVC with kernel 'rbf' is not linear; use SupportVectorRules": SVC(),
    r"step 'polynomialfeatures' \(PolynomialFeatures\) is not affine": make_pipeline(
        PolynomialFeatures(), LogisticRegression()
    ),
}


@pytest.mark.parametrize("message", MODELS)
@pytest.mark.parametrize("is_fitted", [False, True])
def test_a_model_that_is_not_linear_is_refused(message, is_fitted):
    model = MODELS[message].fit(X, Y) if is_fitted else MODELS[message]
    with pytest.raises(InvalidValueError, match=message):
        RuleExtractor(model).fit(X, Y)


def test_a_regressor_is_refused():
    with pytest.raises(
        InvalidValueError, match="must be a classifier, not LinearRegression; rules predict classes"
    ):
        RuleExtractor(LinearRegression()).fit(X, Y)


def test_a_constant_plane_has_no_rules():
    with pytest.raises(
        InvalidValueError, match=r"plane is constant: all weights are zero, .*less regularisation"
    ):
        RuleExtractor(LPSVC(nu=1e-9)).fit(X, Y)


def test_relations_of_categories_and_rows_without_values_are_refused():
    table = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "kind": [*"uvuv"]})
    steps = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    model = make_pipeline(steps, LPSVC())
    domain = Domain(FeatureSpace(["age", "kind"]), relations="age <= kind")
    with pytest.raises(InvalidValueError, match="'kind' has categories in the table; a relation"):
        RuleExtractor(model, bounds=domain).fit(table, [0, 0, 1, 1])
    gaps = pd.DataFrame({"a": [1.0, np.nan, 3.0, np.nan], "b": [np.nan, 2.0, np.nan, 4.0]})
    model = make_pipeline(KNNImputer(), LogisticRegression())
    with pytest.raises(
        DataError, match="every row of X has a missing value that the model does not"
    ):
        RuleExtractor(model).fit(gaps, [0, 0, 1, 1])


def test_an_empty_table_is_refused_in_words():
    with pytest.raises(DataError, match="the table is empty: X has no rows"):
        RuleExtractor().fit(X[:0], Y[:0])


def test_a_single_class_is_named_as_people_write_it():
    with pytest.raises(DataError, match="y holds only one class, 7; a classifier needs two"):
        RuleExtractor().fit(X, np.full(len(X), 7))


def test_a_constant_plane_of_a_search_is_not_blamed_on_a_nu_that_nobody_set():
    rng = np.random.default_rng(1)
    noise, labels = rng.normal(size=(80, 4)), np.arange(80) % 2
    with (
        pytest.warns(ClearmarginWarning, match="no plane with at most 1 feature beats a constant"),
        pytest.raises(InvalidValueError, match="or, if a search chose that, on features with a"),
    ):
        RuleExtractor(LPSVCCV(max_features=1, rule="1se")).fit(noise, labels)


def test_many_features_are_warned_of(oracle):
    wide = RNG.normal(size=(30, 10))
    coef = np.ones(10)
    with pytest.warns(
        ClearmarginWarning, match=r"10 features with a weight; .*LPSVCCV\(max_features=8\)"
    ):
        RuleExtractor(oracle.given(wide, coef, 0.0)).fit(wide, oracle.sides(wide, coef, 0.0))


def test_what_boxes_of_a_dense_plane_cover_is_said_before_and_about_right(oracle):
    rng = np.random.default_rng(4)
    wide = rng.normal(size=(600, 10))
    # One feature decides nearly everything, so that boxes cover much for such a plane.
    coef = np.array([3.0, *np.full(9, 0.05)])
    extractor = RuleExtractor(oracle.given(wide, coef, 0.0))
    with pytest.warns(DensePlaneWarning, match="15 rules will cover about") as met:
        extractor.fit(wide, oracle.sides(wide, coef, 0.0))
    told = int(re.search(r"about (\d+) %", str(met[0].message)).group(1))
    others = extractor.which(rng.normal(size=(2_000, 10))) >= 0
    assert told == pytest.approx(100 * others.mean(), abs=15)


def test_labels_that_the_model_does_not_know_are_refused():
    with pytest.raises(
        DataError, match="y holds 'maybe', which is no class of the model; known are 'no', 'yes'"
    ):
        RuleExtractor(MODEL).fit(X, np.r_[Y[:-1], ["maybe"]])


TABLES = {
    "X has 40 rows but y has 39 labels": (X, Y[:-1]),
    "requires y to be passed": (X, None),
    "sparse data is not supported: .*toarray": (sparse.csr_array(X), Y),
    "Unknown label type": (X, X[:, 0]),
    "contains NaN": (X, np.r_[np.nan, np.zeros(39)]),
    "X has 2 columns, but the model was fitted to 3": (X[:, :2], Y),
}


@pytest.mark.parametrize("message", TABLES)
def test_a_table_that_does_not_fit_is_refused(message):
    with pytest.raises((ValueError, TypeError), match=message):
        RuleExtractor(MODEL).fit(*TABLES[message])


FITTED = RuleExtractor(MODEL).fit(X, Y)


@pytest.mark.parametrize("method", ["predict", "which", "explain_many", "decision_function"])
def test_other_columns_than_at_fit_are_refused(method):
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3"):
        getattr(FITTED, method)(X[:, :2])


def test_other_names_than_at_fit_are_refused():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    extractor = RuleExtractor(LogisticRegression()).fit(frame, Y)
    with pytest.raises(ValueError, match="feature names should match"):
        extractor.predict(frame.rename(columns={"b": "B"}))


@pytest.mark.parametrize("method", ["predict", "which", "explain_many"])
def test_a_single_row_is_no_table(method):
    with pytest.raises(
        DataError, match=r"a table \(two dimensions\) is needed. Reshape your data: pass \[row\]"
    ):
        getattr(FITTED, method)(X[0])


def test_before_the_fit_there_is_nothing_to_ask():
    blank = RuleExtractor(MODEL)
    for ask in (
        blank.predict,
        blank.which,
        blank.explain,
        blank.explain_many,
        blank.decision_function,
    ):
        with pytest.raises(NotFittedError, match="RuleExtractor instance is not fitted"):
            ask(X[:1])
    with pytest.raises(NotFittedError, match="is not fitted"):
        _ = blank.hyperplane_


def test_explain_takes_one_case():
    with pytest.raises(
        DataError, match=r"one case is needed.* of shape \(2, \d+\); explain_many takes several"
    ):
        FITTED.explain(X[:2])


def test_an_unknown_kind_lists_the_known_ones():
    with pytest.raises(
        InvalidValueError,
        match="kind must be one of 'rule', 'on_demand', 'largest', 'central', 'sufficient', not 'box'",
    ):
        FITTED.explain(X[0], "box")


def test_an_unknown_metric_lists_the_known_ones():
    with pytest.raises(InvalidValueError, match="metric must be 'volume' or 'normal', not 'l2'"):
        FITTED.explain(X[0], "central", metric="l2")


@pytest.mark.parametrize("gap", [np.nan, np.inf])
def test_a_missing_value_of_a_case_is_named_with_its_row_and_column(gap):
    cases = X[:4].copy()
    cases[2, 1] = gap
    with pytest.raises(
        DataError,
        match=r"row 3 has a missing value .* in column 'x1', which the model does not impute",
    ):
        FITTED.explain_many(cases)


def test_a_category_that_the_model_does_not_know_cannot_be_explained():
    table = pd.DataFrame({"colour": ["red", "blue"] * 20, "size": X[:, 0]})
    y = np.where((table["colour"] == "red") ^ (table["size"] > 1), "yes", "no")
    steps = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["colour"]), (StandardScaler(), ["size"])
    )
    extractor = RuleExtractor(make_pipeline(steps, LogisticRegression())).fit(table, y)
    with pytest.raises(
        DataError, match="row 1 has a category in column 'colour' that the model does not know"
    ):
        extractor.explain(pd.DataFrame({"colour": ["pink"], "size": [0.0]}))


def test_scores_need_the_model_as_fallback():
    extractor = RuleExtractor(MODEL, fallback="abstain").fit(X, Y)
    with pytest.raises(AttributeError, match="has no attribute 'decision_function'"):
        extractor.decision_function(X)


@pytest.mark.parametrize("parameter", [{"disjoint": False}, {"max_conditions": 2}])
def test_what_needs_a_single_plane_is_refused_among_three_classes(parameter):
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    with pytest.raises(InvalidValueError, match="for models of two classes, and this one has 3"):
        RuleExtractor(LogisticRegression(), **parameter).fit(X, y)
