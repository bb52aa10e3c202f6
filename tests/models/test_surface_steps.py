"""The surface behind every kind of affine step, and the way back to the user's features."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import (
    RFE,
    GenericUnivariateSelect,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.svm import LinearSVC

from clearmargin.models.flow import AffineMap
from clearmargin.models.surface import read_surface

# Rounding inside scikit-learn and inside the planes, against the sum of the magnitudes of their terms.
CLOSE = 1e-9


NUMBERS = ["age", "bmi", "dose", "visits"]


def numbers():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 4)) * [10.0, 1.0, 0.01, 5.0] + [50.0, 25.0, 0.1, 0.0]
    y = np.where((X - X.mean(axis=0)) / X.std(axis=0) @ [1.0, -1.0, 0.5, 0.2] > 0, "ill", "well")
    return pd.DataFrame(X, columns=NUMBERS), y


def patients():
    """Numbers beside texts, declared categories, truth values and numbers that name things."""
    rng = np.random.default_rng(7)
    m = 150
    X = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], m),
            "age": rng.normal(50, 10, m),
            "smoker": pd.Categorical(rng.choice(["yes", "ex", "no"], m), ["no", "ex", "yes"]),
            "ward": rng.choice([10, 20, 30], m),
            "insured": rng.choice([True, False], m),
            "bmi": rng.normal(25, 3, m),
            "note": rng.choice(["a", "b"], m),
        }
    )
    score = (X["age"] - 50) / 10 + (X["colour"] == "red") - (X["ward"] == 20) + (X["bmi"] - 25) / 5
    return X, np.where(score > 0.1, 1, 0)


def assert_same_function(surface, model, X):
    points, plane = surface.encode(X), surface.hyperplane
    size = np.abs(points) @ np.abs(plane.coef) + abs(plane.intercept)
    error = np.abs(plane.decision(points) - model.decision_function(X))
    assert (error <= CLOSE * size).all()


STEPS = {
    "nothing": ["passthrough"],
    "StandardScaler": [StandardScaler()],
    "StandardScaler without mean": [StandardScaler(with_mean=False)],
    "StandardScaler without spread": [StandardScaler(with_std=False)],
    "StandardScaler with neither": [StandardScaler(with_mean=False, with_std=False)],
    "MinMaxScaler": [MinMaxScaler((-1, 2))],
    "MaxAbsScaler": [MaxAbsScaler()],
    "RobustScaler": [RobustScaler()],
    "RobustScaler without centre": [RobustScaler(with_centering=False, unit_variance=True)],
    "RobustScaler without scale": [RobustScaler(with_scaling=False)],
    "SelectFromModel": [SelectFromModel(RidgeClassifier())],
    "SelectKBest": [SelectKBest(k=2)],
    "SelectPercentile": [SelectPercentile(percentile=75)],
    "GenericUnivariateSelect": [GenericUnivariateSelect(mode="k_best", param=3)],
    "VarianceThreshold": [VarianceThreshold(0.01)],
    "RFE": [RFE(RidgeClassifier(), n_features_to_select=2)],
    "PCA": [PCA(2)],
    "PCA that whitens": [PCA(3, whiten=True)],
    "IncrementalPCA": [IncrementalPCA(2)],
    "TruncatedSVD": [TruncatedSVD(2, random_state=0)],
    "GaussianRandomProjection": [GaussianRandomProjection(3, random_state=0)],
    "SparseRandomProjection": [SparseRandomProjection(3, random_state=0)],
    "SimpleImputer": [SimpleImputer()],
    "KNNImputer": [KNNImputer()],
    "FunctionTransformer": [FunctionTransformer()],
    "frozen scaler": [FrozenEstimator(StandardScaler().fit(numbers()[0]))],
    "scaled, chosen and turned": [StandardScaler(), SelectKBest(k=3), PCA(2), MinMaxScaler()],
    "pipeline in a pipeline": [
        make_pipeline(SimpleImputer(), None, RobustScaler()),
        SelectKBest(k=2),
    ],
    "FeatureUnion": [
        FeatureUnion(
            [
                ("turned", PCA(2)),
                ("scaled", make_pipeline(StandardScaler())),
                ("gone", "drop"),
                ("same", "passthrough"),
            ],
            transformer_weights={"turned": 0.5},
        )
    ],
    "ColumnTransformer by name": [
        ColumnTransformer(
            [("a", StandardScaler(), ["dose", "age"]), ("b", "passthrough", ["visits"])],
            transformer_weights={"a": 3.0},
        )
    ],
    "ColumnTransformer by position": [
        ColumnTransformer(
            [("a", MinMaxScaler(), [3, 0]), ("b", "drop", slice(1, 2)), ("none", PCA(), [])],
            remainder=RobustScaler(),
        )
    ],
    "ColumnTransformer by mask and question": [
        ColumnTransformer(
            [
                ("a", "passthrough", [False, True, False, False]),
                ("b", StandardScaler(), make_column_selector("^age|visits")),
            ]
        )
    ],
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS.keys())
def test_the_plane_behind_affine_steps_is_the_decision_function_in_the_users_units(steps):
    X, y = numbers()
    model = make_pipeline(*steps, RidgeClassifier()).fit(X, y)
    surface = read_surface(model, X)
    assert surface.space.names == surface.columns.names == tuple(NUMBERS)
    assert surface.sources == ((0, None), (1, None), (2, None), (3, None))
    assert_same_function(surface, model, X)


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS.keys())
def test_turning_the_columns_of_the_table_turns_the_weights(steps):
    X, y = numbers()
    model = make_pipeline(*steps, RidgeClassifier()).fit(X, y)
    straight = read_surface(model, X)
    turned = read_surface(model, X[["visits", "bmi", "age", "dose"]])
    assert turned.space.names == ("visits", "bmi", "age", "dose")
    assert turned.hyperplane.coef.tolist() == straight.hyperplane.coef[[3, 1, 0, 2]].tolist()
    assert turned.hyperplane.intercept == straight.hyperplane.intercept


def test_columns_that_are_not_selected_have_weight_zero():
    X, y = numbers()
    model = make_pipeline(StandardScaler(), SelectKBest(k=2), RidgeClassifier()).fit(X, y)
    assert read_surface(model, X).hyperplane.active == (0, 1)


def test_steps_may_hand_on_data_frames():
    X, y = numbers()
    inner = ColumnTransformer(
        [("s", StandardScaler(), ["dose", "bmi"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    outer = ColumnTransformer([("m", MinMaxScaler(), ["age", "bmi"])], remainder="drop")
    model = make_pipeline(inner, outer, RidgeClassifier()).set_output(transform="pandas").fit(X, y)
    surface = read_surface(model, X)
    assert surface.hyperplane.active == (0, 1)
    assert_same_function(surface, model, X)


def test_the_weights_are_those_of_pulling_back_the_scaled_plane():
    X, y = numbers()
    scaler, final = StandardScaler(), RidgeClassifier()
    model = make_pipeline(scaler, final).fit(X, y)
    plane = read_surface(model[-1:], scaler.transform(X)).hyperplane
    back = plane.pull_back(1 / scaler.scale_, -scaler.mean_ / scaler.scale_)
    surface = read_surface(model, X)
    np.testing.assert_allclose(surface.hyperplane.coef, back.coef, rtol=1e-14)
    np.testing.assert_allclose(surface.hyperplane.intercept, back.intercept, rtol=1e-13)


def encoder_pipeline(encoder, columns=("colour", "smoker", "ward", "insured")):
    return make_pipeline(
        make_column_transformer(
            (encoder, list(columns)), (StandardScaler(), ["bmi", "age"]), remainder="drop"
        ),
        LogisticRegression(),
    )


ENCODERS = {
    "all categories": OneHotEncoder(),
    "dense": OneHotEncoder(sparse_output=False),
    "without the first": OneHotEncoder(drop="first"),
    "one column for two": OneHotEncoder(drop="if_binary"),
    "without some": OneHotEncoder(drop=["green", "no", 20, True]),
    "unknown ignored": OneHotEncoder(handle_unknown="ignore"),
    "infrequent, but none is": OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2),
    "ordinal": OrdinalEncoder(),
    "after an imputer": make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()),
    "then scaled": make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler()),
    "then selected": make_pipeline(OneHotEncoder(), SelectKBest(k=4)),
}


@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS.keys())
def test_encoded_categories_come_back_as_features_with_categories(encoder):
    X, y = patients()
    model = encoder_pipeline(encoder).fit(X, y)
    surface = read_surface(model, X)
    assert_same_function(surface, model, X)
    space = surface.space
    assert space.names == tuple(X.columns)
    kinds = {name: set(space.categories[j] or ()) for j, name in enumerate(space.names)}
    assert kinds["colour"] == {"red", "green", "blue"}
    assert kinds["smoker"] == {"no", "ex", "yes"}
    assert kinds["ward"] == {"10", "20", "30"}
    assert kinds["insured"] == {"True", "False"}
    assert kinds["age"] == kinds["bmi"] == set()


def test_each_category_is_a_column_of_zeros_and_ones():
    X, y = patients()
    surface = read_surface(encoder_pipeline(OneHotEncoder(drop="first")).fit(X, y), X)
    colours = [k for k, source in enumerate(surface.sources) if source.feature == 0]
    assert [surface.columns.names[k] for k in colours] == [
        "colour=blue",
        "colour=green",
        "colour=red",
    ]
    assert [surface.sources[k].code for k in colours] == [0, 1, 2]
    assert surface.columns.lower[colours].tolist() == [0.0, 0.0, 0.0]
    assert surface.columns.upper[colours].tolist() == [1.0, 1.0, 1.0]
    assert surface.columns.integer[colours].all()
    # The category that the encoder drops is the one that weighs nothing.
    assert surface.hyperplane.coef[colours[0]] == 0.0
    encoded = surface.encode(X)[:, colours]
    np.testing.assert_array_equal(encoded[:, 2], X["colour"] == "red")
    np.testing.assert_array_equal(encoded.sum(axis=1), 1.0)


def test_a_dropped_column_of_texts_is_a_feature_without_columns():
    X, y = patients()
    surface = read_surface(encoder_pipeline(OneHotEncoder()).fit(X, y), X)
    note = surface.space.index("note")
    assert surface.space.categories[note] == ("a", "b")
    assert note not in {source.feature for source in surface.sources}


def test_a_dropped_column_of_numbers_is_a_column_without_weight():
    X, y = patients()
    surface = read_surface(encoder_pipeline(OneHotEncoder(), ["colour"]).fit(X, y), X)
    ward = surface.columns.names.index("ward")
    assert surface.hyperplane.coef[ward] == 0.0
    assert surface.columns.upper[ward] == 30.0


def test_numbers_in_an_array_that_name_things_are_read_by_what_they_are():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice([10.0, 20.0, 30.0], 60), rng.normal(size=60)])
    y = (X[:, 1] + (X[:, 0] == 20) > 0.5).astype(int)
    encode = ColumnTransformer([("ward", OneHotEncoder(), [0])], remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression()).fit(X, y)
    surface = read_surface(model, X)
    assert surface.space.categories == (("10", "20", "30"), None)
    assert surface.read(X)[:, 0].tolist() == (X[:, 0] / 10 - 1).tolist()
    assert_same_function(surface, model, X)


def test_an_encoder_may_stand_alone_before_the_classifier():
    X = np.array([["a", "x"], ["b", "x"], ["a", "y"], ["b", "y"]], dtype=object)
    model = make_pipeline(OneHotEncoder(), LinearSVC()).fit(X, [0, 1, 0, 1])
    surface = read_surface(model, X)
    assert surface.columns.names == ("x0=a", "x0=b", "x1=x", "x1=y")
    assert_same_function(surface, model, X)
    assert_same_function(surface, model, X.tolist())


def imputing():
    """Categories and numbers, each with an imputer before its encoder or scaler."""
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["colour"]),
            (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "bmi"]),
        ),
        LogisticRegression(),
    )


def test_none_that_an_imputer_of_nan_passes_over_is_not_taken_for_imputed():
    X, y = patients()
    X["colour"] = X["colour"].astype(object)
    X.loc[:5, "colour"] = None
    model = imputing().fit(X, y)
    assert None in model[0].transformers_[0][1][-1].categories_[0]
    surface = read_surface(model, X)
    assert surface.space.fill[0] is None
    assert_same_function(surface, model, X.iloc[6:])
    assert np.isnan(surface.encode(X.iloc[:6])).any(axis=1).all()


def test_missing_values_are_those_that_the_pipeline_imputes():
    X, y = patients()
    X.loc[0, "colour"] = np.nan
    X.loc[1, "age"] = np.nan
    model = imputing().fit(X, y)
    surface = read_surface(model, X)
    encoded = surface.encode(X)
    assert not np.isnan(encoded).any()
    assert surface.space.fill[0] == X["colour"].mode()[0]
    assert surface.space.fill[surface.space.index("age")] == pytest.approx(X["age"].mean())
    assert surface.space.categories[0] == ("blue", "green", "red")
    assert_same_function(surface, model, X)


def test_without_an_imputer_missing_values_are_nan_in_all_columns_of_their_feature():
    X, y = patients()
    model = encoder_pipeline(OneHotEncoder(), ["colour", "ward"]).fit(X, y)
    surface = read_surface(model, X)
    X.loc[0, "colour"] = None
    colours = [k for k, source in enumerate(surface.sources) if source.feature == 0]
    encoded = surface.encode(X)
    assert np.isnan(encoded[0, colours]).all()
    assert np.isnan(encoded).sum() == len(colours)


def test_missing_as_a_category_of_the_encoder_is_no_category_of_the_feature():
    X, y = patients()
    X.loc[:20, "colour"] = None
    model = encoder_pipeline(OneHotEncoder(), ["colour", "ward"]).fit(X, y)
    surface = read_surface(model, X)
    assert surface.space.categories[0] == ("blue", "green", "red")
    assert_same_function(surface, model, X.iloc[21:])


def test_an_unknown_category_is_none_of_the_known_ones():
    X, y = patients()
    model = encoder_pipeline(OneHotEncoder(handle_unknown="ignore"), ["colour"]).fit(X, y)
    surface = read_surface(model, X)
    strange = X.head(3).assign(colour="purple")
    assert surface.read(strange)[:, 0].tolist() == [-1.0, -1.0, -1.0]
    assert surface.encode(strange)[:, :3].tolist() == [[0.0, 0.0, 0.0]] * 3
    assert_same_function(surface, model, strange)


def test_rows_that_the_model_does_not_know_do_not_hinder_reading():
    X, y = patients()
    model = encoder_pipeline(OneHotEncoder(), ["colour"]).fit(X, y)
    strange = pd.concat([X.head(2).assign(colour="purple"), X])
    assert read_surface(model, strange).hyperplane == read_surface(model, X).hyperplane


def test_a_table_without_a_single_known_row_is_read_on_trust():
    X, y = patients()
    model = encoder_pipeline(OneHotEncoder(), ["colour"]).fit(X, y)
    strange = X.assign(colour="purple")
    assert read_surface(model, strange).hyperplane == read_surface(model, X).hyperplane


def test_declared_categories_that_the_model_takes_as_numbers_are_numbers():
    X = pd.DataFrame({"grade": pd.Categorical([1, 2, 3, 2]), "age": [40.0, 50.0, 60.0, 45.0]})
    model = make_pipeline(StandardScaler(), RidgeClassifier()).fit(X, [0, 1, 1, 0])
    surface = read_surface(model, X)
    assert surface.space.categories == (None, None)
    assert surface.columns.upper.tolist() == [3.0, 60.0]
    assert_same_function(surface, model, X)


def test_each_part_of_a_reduction_may_have_an_encoder_of_its_own():
    X, _ = patients()
    y = X["smoker"].astype(str)
    model = OneVsRestClassifier(encoder_pipeline(OneHotEncoder(), ["colour", "ward"])).fit(X, y)
    surface = read_surface(model, X)
    scores, points = model.decision_function(X), surface.encode(X)
    for positive, negative, plane in surface.planes:
        difference = scores[:, positive] - scores[:, negative]
        np.testing.assert_allclose(plane.decision(points), difference, rtol=1e-9, atol=1e-9)


def test_pairs_of_classes_may_know_different_categories():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=90), np.repeat([0.0, 1.0, 2.0], 30)])
    X[:30, 1] = rng.integers(0, 2, 30)  # only the last class has the last category
    y = np.repeat(["a", "b", "c"], 30)
    coded = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), [1]), (StandardScaler(), [0])
    )
    model = OneVsOneClassifier(make_pipeline(coded, LogisticRegression())).fit(X, y)
    surface = read_surface(model, X)
    points, predicted = surface.encode(X), model.predict(X)
    for label, region in zip("abc", surface.regions(), strict=True):
        inside = np.all([s.sign * s.hyperplane.decision(points) > 0 for s in region], axis=0)
        assert inside.sum() > 9
        assert set(predicted[inside]) == {label}


def test_an_imputer_behind_a_mixture_of_columns_fills_none_of_them():
    X, y = patients()
    numbers = X[["age", "bmi"]]
    model = make_pipeline(PCA(), SimpleImputer(), LogisticRegression()).fit(numbers, y)
    surface = read_surface(model, numbers)
    assert surface.space.fill == (None,) * numbers.shape[1]
    assert_same_function(surface, model, numbers)


def test_a_pipeline_may_begin_with_nothing():
    X, y = numbers()
    model = Pipeline([("none", None), ("same", "passthrough"), ("svm", LinearSVC(C=1e-3))]).fit(
        X, y
    )
    surface = read_surface(model, X[["visits", "bmi", "age", "dose"]])
    assert_same_function(surface, model, X)


def test_single_precision_is_no_reason_to_refuse_a_model():
    X, y = numbers()
    X = X.astype(np.float32)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    surface = read_surface(model, X)
    np.testing.assert_allclose(
        surface.hyperplane.decision(surface.encode(X)), model.decision_function(X), atol=1e-4
    )


def test_a_union_may_have_a_part_that_drops_everything():
    X, y = numbers()
    nothing = ColumnTransformer([("gone", "drop", NUMBERS)])
    union = FeatureUnion([("nothing", nothing), ("scaled", StandardScaler())])
    model = make_pipeline(union, RidgeClassifier()).fit(X, y)
    assert_same_function(read_surface(model, X), model, X)


def test_an_affine_map_of_maps_is_the_map_of_the_mapped():
    rng = np.random.default_rng(1)
    first = AffineMap.linear(rng.normal(size=(3, 4)), rng.normal(size=3))
    second = AffineMap.stack([AffineMap.diagonal([1.0, 2.0], 1.0), AffineMap.selection([2, 0], 3)])
    X = rng.normal(size=(5, 4))
    both = second.after(first)
    assert (both.n_in, both.n_out) == (4, 4)
    np.testing.assert_allclose(both.apply(X), second.apply(first.apply(X)), rtol=1e-12)
    weights = rng.normal(size=4)
    np.testing.assert_allclose(
        both.pull_back(weights, 0.5).decision(X), both.apply(X) @ weights + 0.5, rtol=1e-12
    )
