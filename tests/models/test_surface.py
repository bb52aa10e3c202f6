"""The surface of every kind of linear classifier, bare and behind scalers."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import RFE
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    PassiveAggressiveClassifier,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from clearmargin.exceptions import InvalidValueError
from clearmargin.lp_svm import LPSVC, LPSVCCV, ProximalSVC
from clearmargin.models.surface import Surface, read_surface

# Rounding inside scikit-learn and inside the planes, against the sum of the magnitudes of their terms.
CLOSE = 1e-9

TWO = {
    "LPSVC": LPSVC(nu=1.0),
    "LPSVCCV": LPSVCCV(nus=[0.1, 1.0], cv=3),
    "ProximalSVC": ProximalSVC(),
    "LinearSVC": LinearSVC(),
    "LinearSVC without intercept": LinearSVC(fit_intercept=False),
    "SVC": SVC(kernel="linear"),
    "NuSVC": NuSVC(kernel="linear", nu=0.2),
    "LogisticRegression": LogisticRegression(),
    "LogisticRegressionCV": LogisticRegressionCV(
        Cs=2, cv=3, l1_ratios=(0.0,), use_legacy_attributes=False, scoring="accuracy"
    ),
    "RidgeClassifier": RidgeClassifier(),
    "RidgeClassifier without intercept": RidgeClassifier(fit_intercept=False),
    "RidgeClassifierCV": RidgeClassifierCV(),
    "Perceptron": Perceptron(),
    "SGDClassifier": SGDClassifier(random_state=0),
    "SGDClassifier, logistic": SGDClassifier(loss="log_loss", average=True, random_state=0),
    "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis(),
    "OneVsRestClassifier": OneVsRestClassifier(LinearSVC()),
    "OneVsOneClassifier": OneVsOneClassifier(LinearSVC()),
    "OneVsOneClassifier of SVC": OneVsOneClassifier(SVC(kernel="linear")),
    "GridSearchCV": GridSearchCV(LinearSVC(), {"C": [0.1, 1.0]}, cv=2),
    "RandomizedSearchCV": RandomizedSearchCV(
        LinearSVC(), {"C": [0.1, 1.0]}, n_iter=1, cv=2, random_state=0
    ),
    "RFE": RFE(LinearSVC(), n_features_to_select=2),
}

SCORED = {
    "LinearSVC": LinearSVC(),
    "LinearSVC of Crammer and Singer": LinearSVC(
        multi_class="crammer_singer", tol=0.01, max_iter=100_000, random_state=0
    ),
    "LogisticRegression": LogisticRegression(),
    "RidgeClassifier": RidgeClassifier(),
    "RidgeClassifierCV": RidgeClassifierCV(),
    "Perceptron": Perceptron(),
    "SGDClassifier": SGDClassifier(random_state=0),
    "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis(),
    "OneVsRestClassifier": OneVsRestClassifier(LPSVC()),
    "OneVsRestClassifier of SVC": OneVsRestClassifier(SVC(kernel="linear")),
    "OneVsRestClassifier of pipelines": OneVsRestClassifier(
        make_pipeline(MinMaxScaler(), LinearSVC())
    ),
}

VOTED = {
    "SVC": SVC(kernel="linear", decision_function_shape="ovo"),
    "SVC that breaks ties": SVC(kernel="linear", break_ties=True),
    "NuSVC": NuSVC(kernel="linear", nu=0.1),
    "OneVsOneClassifier": OneVsOneClassifier(LinearSVC()),
    "OneVsOneClassifier of SVC": OneVsOneClassifier(SVC(kernel="linear")),
}


def each(models):
    return pytest.mark.parametrize("model", models.values(), ids=models.keys())


def table(n_classes, n_rows=200):
    X, y = make_classification(
        n_rows, 5, n_informative=4, n_redundant=1, n_classes=n_classes, random_state=3
    )
    X = X * [1.0, 10.0, 0.1, 3.0, 100.0] + [0.0, 50.0, 1.0, -3.0, 1000.0]
    return X, np.array(["low", "mid", "high", "top"])[y]


def fitted(model, n_classes, names=None):
    X, y = table(n_classes)
    data = X if names is None else pd.DataFrame(X, columns=names)
    return make_pipeline(StandardScaler(), model).fit(data, y), data


def size(plane, points):
    return np.abs(points) @ np.abs(plane.coef) + abs(plane.intercept)


def assert_plane_is(plane, points, values):
    assert np.all(np.abs(plane.decision(points) - values) <= CLOSE * size(plane, points))


def inside(sides, points):
    """Rows that are in the region by more than rounding."""
    clear = [
        s.sign * s.hyperplane.decision(points) > CLOSE * size(s.hyperplane, points) for s in sides
    ]
    return np.all(clear, axis=0)


def assert_regions_are_predictions(surface, model, X):
    points, predicted = surface.encode(X), model.predict(X)
    found = np.array([inside(sides, points) for sides in surface.regions()])
    assert (found.sum(axis=0) <= 1).all()
    for k, label in enumerate(surface.classes):
        assert (predicted[found[k]] == label).all()
    return found


def assert_predictions_are_in_their_regions(surface, model, X):
    points, predicted = surface.encode(X), model.predict(X)
    for label, sides in zip(surface.classes, surface.regions(), strict=True):
        mine = points[predicted == label]
        for side in sides:
            value, scale = side.hyperplane.decision(mine), size(side.hyperplane, mine)
            assert (side.sign * value >= -CLOSE * scale).all()


@each(TWO)
def test_the_plane_of_two_classes_is_the_decision_function_in_the_users_units(model):
    model, X = fitted(model, 2)
    surface = read_surface(model, X)
    final = model[-1]
    if isinstance(final, OneVsOneClassifier):  # its decision function counts votes
        final = final.estimators_[0]
    values = final.decision_function(model[:-1].transform(X))
    points = surface.encode(X)
    np.testing.assert_array_equal(points, X)
    assert_plane_is(surface.hyperplane, points, values)
    assert surface.classes == ("low", "mid")
    assert surface.is_partition
    assert len(surface.planes) == 1


@each(TWO)
def test_each_row_is_in_the_region_of_its_predicted_class(model):
    model, X = fitted(model, 2)
    surface = read_surface(model, X)
    assert_regions_are_predictions(surface, model, X)
    assert_predictions_are_in_their_regions(surface, model, X)


def test_a_classifier_that_changes_with_each_step_is_read_as_well():
    # scikit-learn is about to replace this class by SGDClassifier and says so.
    with pytest.warns(FutureWarning, match="deprecated"):
        model, X = fitted(PassiveAggressiveClassifier(random_state=0), 2)
    surface = read_surface(model, X)
    assert_plane_is(surface.hyperplane, X, model.decision_function(X))


@each(SCORED)
def test_differences_of_scores_make_the_regions_of_many_classes(model):
    model, X = fitted(model, 4)
    surface = read_surface(model, X)
    scores = model.decision_function(X)
    assert len(surface.planes) == 6
    for positive, negative, plane in surface.planes:
        difference = scores[:, positive] - scores[:, negative]
        error = np.abs(plane.decision(X) - difference)
        # Both scores are rounded before they are subtracted.
        assert (error <= CLOSE * (size(plane, X) + np.abs(scores).max())).all()
    assert surface.is_partition
    assert_regions_are_predictions(surface, model, X)
    assert_predictions_are_in_their_regions(surface, model, X)


@each(VOTED)
def test_a_vote_gives_the_inner_region_where_a_class_wins_all_its_duels(model):
    model, X = fitted(model, 4)
    surface = read_surface(model, X)
    assert not surface.is_partition
    assert [len(sides) for sides in surface.regions()] == [3, 3, 3, 3]
    found = assert_regions_are_predictions(surface, model, X)
    assert found.any(axis=0).mean() > 0.5


def test_the_duels_of_a_vote_are_the_pairwise_decision_functions():
    model, X = fitted(SVC(kernel="linear", decision_function_shape="ovo"), 4)
    surface = read_surface(model, X)
    values = model.decision_function(X)
    for k, duel in enumerate(surface.planes):
        assert duel.positive < duel.negative
        assert_plane_is(duel.plane, X, values[:, k])


ON_THE_PLANE = {
    "LPSVC": LPSVC(),
    "ProximalSVC": ProximalSVC(),
    "LinearSVC": LinearSVC(fit_intercept=False),
    "SVC": SVC(kernel="linear"),
    "NuSVC": NuSVC(kernel="linear"),
    "LogisticRegression": LogisticRegression(fit_intercept=False),
    "RidgeClassifier": RidgeClassifier(),
    "Perceptron": Perceptron(),
    "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5),
    "OneVsRestClassifier of SVC": OneVsRestClassifier(SVC(kernel="linear")),
    "OneVsOneClassifier": OneVsOneClassifier(LinearSVC(fit_intercept=False)),
    "OneVsOneClassifier of SVC": OneVsOneClassifier(SVC(kernel="linear")),
}


@each(ON_THE_PLANE)
def test_a_point_on_the_plane_is_in_the_region_of_the_class_that_is_predicted_there(model):
    X = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    model = model.fit(X, ["a", "a", "b", "b"])
    surface = read_surface(model, X)
    assert surface.hyperplane.intercept == 0.0
    owners = [
        label
        for label, sides in zip(surface.classes, surface.regions(), strict=True)
        if all(side.contains([[0.0]])[0] for side in sides)
    ]
    assert owners == model.predict([[0.0]]).tolist()


TIED = {
    "LinearSVC": LinearSVC(fit_intercept=False),
    "OneVsRestClassifier": OneVsRestClassifier(LinearSVC(fit_intercept=False)),
    "SVC that breaks ties": SVC(kernel="linear", C=100.0, break_ties=True),
}


@each(TIED)
def test_of_equal_scores_the_first_class_wins(model):
    X = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 5.0]])
    model = model.fit(X, [0, 1, 2])
    surface = read_surface(model, X)
    point = np.array([[0.0, -3.0]])
    owners = [k for k in range(3) if all(s.contains(point)[0] for s in surface.regions()[k])]
    assert owners == model.predict(point).tolist() == [0]


def test_a_vote_that_ties_goes_to_the_second_class_of_the_pair():
    X = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 5.0]])
    model = SVC(kernel="linear", C=100.0).fit(X, [0, 1, 2])
    point = np.array([[0.0, -3.0]])
    regions = read_surface(model, X).regions()
    owners = [k for k in range(3) if all(s.contains(point)[0] for s in regions[k])]
    assert owners == model.predict(point).tolist() == [1]


def test_a_fitted_search_over_a_pipeline_is_read_like_its_best_pipeline():
    X, y = table(2)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LinearSVC()), {"linearsvc__C": [0.1, 1.0]}, cv=2
    ).fit(X, y)
    assert read_surface(search, X) == read_surface(search.best_estimator_, X)


def test_a_frozen_model_is_read_like_the_model():
    model, X = fitted(LinearSVC(), 2)
    assert read_surface(FrozenEstimator(model), X) == read_surface(model, X)


def test_weights_may_be_sparse():
    X, y = table(2)
    dense = SGDClassifier(penalty="l1", alpha=0.1, random_state=0).fit(X, y)
    expected = read_surface(dense, X)
    assert read_surface(dense.sparsify(), X) == expected
    X = StandardScaler().fit_transform(X)
    machine = SVC(kernel="linear").fit(sparse.csr_array(X), y)
    assert_plane_is(read_surface(machine, X).hyperplane, X, machine.decision_function(X))


def test_a_plane_without_weights_is_no_error():
    X, y = table(2)
    surface = read_surface(LPSVC(nu=1e-9).fit(X, y), X)
    assert surface.hyperplane.active == ()


def test_names_come_from_the_data_frame():
    names = ["age", "bmi", "glucose", "insulin", "skin fold"]
    model, X = fitted(LinearSVC(), 2, names)
    surface = read_surface(model, X)
    assert surface.space.names == surface.columns.names == tuple(names)
    assert read_surface(model, X.to_numpy()) == surface
    unnamed = make_pipeline(StandardScaler(), LinearSVC()).fit(X.to_numpy(), table(2)[1])
    assert read_surface(unnamed, X) == surface
    assert read_surface(unnamed, X.to_numpy()).space.names == ("x0", "x1", "x2", "x3", "x4")


def test_columns_of_a_data_frame_are_found_by_name_in_any_order():
    names = ["age", "bmi", "glucose", "insulin", "skin"]
    model, X = fitted(LinearSVC(), 2, names)
    turned = X[["skin", "age", "insulin", "bmi", "glucose"]].assign(extra="unused")
    surface = read_surface(model, turned)
    assert surface.space.names == ("skin", "age", "insulin", "bmi", "glucose")
    assert_plane_is(surface.hyperplane, surface.encode(X), model.decision_function(X))
    straight = read_surface(model, X).hyperplane
    assert surface.hyperplane.coef.tolist() == straight.coef[[4, 0, 3, 1, 2]].tolist()


def test_polars_frames_are_tables_too():
    X, y = table(2)
    frame = pl.DataFrame(X, schema=["a", "b", "c", "d", "e"])
    model = make_pipeline(StandardScaler(), LinearSVC()).fit(frame, y)
    surface = read_surface(model, frame.select("e", "d", "c", "b", "a"))
    assert_plane_is(surface.hyperplane, surface.encode(frame), model.decision_function(frame))


def test_ranges_and_whole_numbers_are_those_of_the_table():
    X = pd.DataFrame({"visits": [1, 4, 2, 3], "dose": [0.5, 1.5, 1.0, 0.0]})
    model = make_pipeline(StandardScaler(), LinearSVC()).fit(X, [0, 1, 1, 0])
    columns = read_surface(model, X).columns
    assert columns.lower.tolist() == [1.0, 0.0]
    assert columns.upper.tolist() == [4.0, 1.5]
    assert columns.integer.tolist() == [True, False]


def test_classes_are_plain_values():
    X = np.array([[1.0], [2.0]])
    surface = read_surface(RidgeClassifier().fit(X, np.array([True, False])), X)
    assert surface.classes == (False, True)
    assert all(type(label) is bool for label in surface.classes)


def test_a_surface_of_many_classes_has_no_single_hyperplane():
    model, X = fitted(LinearSVC(), 4)
    with pytest.raises(InvalidValueError, match="4 classes has more than one hyperplane"):
        _ = read_surface(model, X).hyperplane


def test_a_surface_is_a_value():
    model, X = fitted(LinearSVC(), 2)
    surface = read_surface(model, X)
    twin = pickle.loads(pickle.dumps(surface))
    assert isinstance(twin, Surface)
    assert twin == surface
    assert hash(twin) == hash(surface)
