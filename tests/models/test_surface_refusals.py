"""What has no hyperplanes to read is refused with the reason."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC, OneClassSVM

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.models.surface import read_surface

RNG = np.random.default_rng(2)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
GAPS = np.where(np.arange(3) == 2, np.nan, X)
TEXTS = pd.DataFrame(
    {"colour": ["red"] * 30 + ["blue"] * 28 + ["pink", "grey"], "ward": [1, 2] * 30, "age": X[:, 0]}
)


STEPS = {
    r"step 'poly' \(PolynomialFeatures\) is not affine; .*use SurrogateRules": (
        ("poly", PolynomialFeatures()),
        X,
    ),
    r"step 'scale' \(MinMaxScaler\) has clip=True, which is not affine": (
        ("scale", MinMaxScaler(clip=True)),
        X,
    ),
    r"step 'outer__poly' \(PolynomialFeatures\) is not affine": (
        ("outer", Pipeline([("poly", PolynomialFeatures())])),
        X,
    ),
    r"step 'both__log' \(FunctionTransformer\) calls exp, which may not be affine": (
        ("both", FeatureUnion([("log", FunctionTransformer(np.exp)), ("same", "passthrough")])),
        X,
    ),
    r"step 'some__poly' \(PolynomialFeatures\) is not affine": (
        ("some", ColumnTransformer([("poly", PolynomialFeatures(), [0])], remainder="passthrough")),
        X,
    ),
    r"step 'fill' \(SimpleImputer\) has add_indicator=True": (
        ("fill", SimpleImputer(add_indicator=True)),
        X,
    ),
    r"step 'fill' \(SimpleImputer\) replaces the value -1, .*mark missing values by NaN": (
        ("fill", SimpleImputer(missing_values=-1)),
        X,
    ),
    r"step 'rare' \(OneHotEncoder\) groups infrequent categories of 'colour' \(grey, pink\)": (
        ("rare", OneHotEncoder(min_frequency=5)),
        TEXTS[["colour", "ward"]],
    ),
    r"step 'order' \(OrdinalEncoder\) gives unknown categories a number of their own": (
        ("order", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)),
        TEXTS[["colour", "ward"]],
    ),
    r"step 'late__hot' \(OneHotEncoder\) encodes a column that an earlier step has changed": (
        ("late", Pipeline([("scale", MaxAbsScaler()), ("hot", OneHotEncoder())])),
        TEXTS[["ward"]],
    ),
}


@pytest.mark.parametrize(("message", "case"), STEPS.items(), ids=[c[0][0] for c in STEPS.values()])
def test_a_step_that_is_not_affine_is_named(message, case):
    step, data = case
    model = Pipeline([step, ("ridge", RidgeClassifier())]).fit(data, Y)
    with pytest.raises(InvalidValueError, match=message):
        read_surface(model, data)


def test_columns_that_an_imputer_dropped_are_missed():
    with pytest.warns(UserWarning, match="Skipping features without any observed values"):
        model = make_pipeline(SimpleImputer(), RidgeClassifier()).fit(GAPS, Y)
    with pytest.raises(InvalidValueError, match=r"'simpleimputer'.*dropped columns in which all"):
        read_surface(model, GAPS)


MODELS = {
    "SVC with kernel 'rbf' is not linear; use SupportVectorRules": SVC(),
    "RandomForestClassifier is not linear: it has no coef_": RandomForestClassifier(n_estimators=2),
    r"LinearRegression is no classifier \(it has no classes_\)": LinearRegression(),
    r"OneClassSVM is no classifier \(it has no classes_\)": OneClassSVM(kernel="linear"),
    "GridSearchCV was run with refit=False": GridSearchCV(
        LinearSVC(), {"C": [1.0]}, cv=2, refit=False
    ),
    "the pipeline ends without a classifier": make_pipeline(StandardScaler(), "passthrough"),
}


@pytest.mark.parametrize(("message", "model"), MODELS.items(), ids=lambda v: type(v).__name__)
def test_a_model_without_planes_is_refused(message, model):
    model.fit(X, Y)
    with pytest.raises(InvalidValueError, match=message):
        read_surface(model, X)


@pytest.mark.parametrize(
    "model",
    [LinearSVC(), make_pipeline(StandardScaler(), LinearSVC()), OneVsRestClassifier(LinearSVC())],
    ids=lambda m: type(m).__name__,
)
def test_a_model_that_is_not_fitted_is_said_to_be_so(model):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        read_surface(model, X)


def test_a_step_that_is_not_fitted_is_said_to_be_so():
    model = Pipeline([("scale", StandardScaler()), ("svm", LinearSVC().fit(X, Y))])
    with pytest.raises(NotFittedError, match="StandardScaler instance is not fitted yet"):
        read_surface(model, X)


@pytest.mark.parametrize("model", [RidgeClassifier(), OneVsRestClassifier(LinearSVC())])
def test_several_labels_at_once_are_refused(model):
    several = np.column_stack([Y, X[:, 2] > 0, X[:, 1] > 0]).astype(int)
    with pytest.raises(InvalidValueError, match="several labels at once"):
        read_surface(model.fit(X, several), X)


def test_a_column_cannot_be_a_number_and_a_category():
    both = make_column_transformer((OneHotEncoder(), ["ward"]), ("passthrough", ["ward", "age"]))
    model = make_pipeline(both, LogisticRegression()).fit(TEXTS, Y)
    with pytest.raises(InvalidValueError, match="'ward' both as a number and as a category"):
        read_surface(model, TEXTS)


class Stubborn(LogisticRegression):
    """A classifier that has weights and does not follow them."""

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class Squaring(StandardScaler):
    """A scaler that does more than it should."""

    def transform(self, X):
        return super().transform(X) ** 2


def test_a_model_that_does_not_decide_by_its_planes_is_found_out():
    with pytest.raises(InvalidValueError, match="Stubborn does not decide as its planes do"):
        read_surface(Stubborn().fit(X, Y), X)
    model = make_pipeline(Squaring(), LogisticRegression()).fit(X, Y)
    with pytest.raises(InvalidValueError, match="Pipeline does not decide as its planes do"):
        read_surface(model, X)


class Lopsided(LogisticRegression):
    """A classifier with more rows of weights than classes."""

    def fit(self, X, y):
        super().fit(X, y)
        self.coef_ = np.repeat(self.coef_, 3, axis=0)
        return self


def test_rows_of_weights_that_fit_no_classes_are_refused():
    with pytest.raises(InvalidValueError, match="Lopsided has 3 rows of weights for 2 classes"):
        read_surface(Lopsided().fit(X, Y), X)


def test_a_reduction_within_a_reduction_must_be_of_two_classes():
    model = OneVsRestClassifier(LinearSVC()).fit(X, Y)
    model.estimators_ = [SVC(kernel="linear").fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))]
    with pytest.raises(
        InvalidValueError, match=r"SVC inside a reduction .* has 3 decision functions"
    ):
        read_surface(model, X)


def test_weights_that_do_not_fit_the_columns_are_refused():
    model = Pipeline([("same", "passthrough"), ("svm", LinearSVC().fit(X, Y))])
    model.steps[1][1].coef_ = np.ones((1, 2))
    with pytest.raises(InvalidValueError, match="LinearSVC has 2 weights, but 3 columns reach it"):
        read_surface(model, X)


def test_a_table_that_does_not_fit_the_model_is_refused():
    model = LinearSVC().fit(X, Y)
    with pytest.raises(DataError, match="X has 2 columns, but the model was fitted to 3"):
        read_surface(model, X[:, :2])
    with pytest.raises(DataError, match="X has 2 columns, but the model was fitted to 3"):
        read_surface(model, pd.DataFrame(X[:, :2]))
    with pytest.raises(DataError, match="sparse matrix, and rules need tables"):
        read_surface(model, sparse.csr_array(X))
    frame = pd.DataFrame(X, columns=["age", "bmi", "dose"])
    named = LinearSVC().fit(frame, Y)
    with pytest.raises(DataError, match="no column 'dose'; did you mean 'doses'"):
        read_surface(named, frame.rename(columns={"dose": "doses"}))


def test_a_table_to_encode_must_have_the_columns_of_the_surface():
    encode = make_column_transformer((OneHotEncoder(), ["colour"]), ("passthrough", ["age"]))
    surface = read_surface(make_pipeline(encode, LogisticRegression()).fit(TEXTS, Y), TEXTS)
    with pytest.raises(DataError, match="the table has no column 'ward'"):
        surface.encode(TEXTS.drop(columns="ward"))
    with pytest.raises(DataError, match="X has 2 columns, but the model was fitted to 3"):
        surface.encode([["red", 1.0]])
    with pytest.raises(DataError, match="column 'age', row 1: 'old' is not a number"):
        surface.encode([["red", 1, "old"]])
