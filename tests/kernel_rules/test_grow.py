"""A box around a case: proved, around the case, within the space."""

from __future__ import annotations

import contextlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, OneClassSVM

from clearmargin.exceptions import DataError
from clearmargin.kernel_rules.certificate import certify
from clearmargin.kernel_rules.growth import grow_box
from clearmargin.rules import FeatureSpace


@given(st.integers(0, 10**6), st.integers(2, 3), st.sampled_from(["rbf", "poly", "linear"]))
@settings(max_examples=15)
def test_a_grown_box_is_proved_again_by_itself(seed, n_classes, kernel):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2)) * [1.0, 50.0]
    y = np.arange(30) % n_classes
    y[X[:, 0] > 0] = 0
    model = make_pipeline(StandardScaler(), SVC(kernel=kernel, C=10.0)).fit(X, y)
    space = FeatureSpace.from_data(X)
    x, box = X[0], None
    with contextlib.suppress(DataError):
        box = grow_box(model, x, space=space, budget=100)
    duels = np.abs(model.decision_function(x[None]))
    if box is None:  # the case is on the surface, or no class wins all its duels
        assert n_classes > 2 or duels.min() < 1e-9
        return
    assert box.contains(x[None])[0]
    assert (box.lower >= space.lower).all()
    assert (box.upper <= space.upper).all()
    label = model.predict(x[None])[0]
    assert certify(model, box, label, budget=5_000).status == "proved"
    points = rng.uniform(box.lower, box.upper, (500, 2))
    assert (model.predict(points) == label).all()


def test_without_a_space_the_box_ends_where_the_support_vectors_do(two_classes):
    X, y = two_classes
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    vectors = X[model[-1].support_]
    x = X[y == "inner"][0]
    box = grow_box(model, x)
    assert (box.lower >= np.minimum(vectors.min(axis=0), x) - 1e-9).all()
    assert (box.upper <= np.maximum(vectors.max(axis=0), x) + 1e-9).all()
    assert (box.upper > box.lower).all()


def test_a_case_outside_the_space_is_still_in_its_box(two_classes):
    X, y = two_classes
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    far = X.max(axis=0) * 1.5
    box = grow_box(model, far, space=FeatureSpace.from_data(X))
    assert box.contains(far[None])[0]
    assert certify(model, box, model.predict(far[None])[0]).status == "proved"


def test_infinite_ends_of_a_space_are_those_of_the_support_vectors():
    X, y = [[0.0], [1.0], [3.0], [4.0]], ["near", "near", "far", "far"]
    model = SVC(gamma=1.0, C=10.0).fit(X, y)
    box = grow_box(model, [1.0], space=FeatureSpace(["x0"]))
    assert box.lower[0] == 0.0
    assert 1.9 < box.upper[0] < 2.0


@pytest.fixture(scope="module")
def mixed_model(mixed):
    frame, y = mixed
    columns = make_column_transformer(
        (StandardScaler(), ["age", "dose"]), (OneHotEncoder(), ["smoker", "colour"])
    )
    return make_pipeline(columns, SVC(gamma=0.3, C=3.0)).fit(frame, y)


@pytest.mark.parametrize("turned", [False, True])
def test_a_row_of_a_frame_keeps_its_categories(mixed_model, mixed, turned):
    frame, _ = mixed
    if turned:
        frame = frame[["colour", "smoker", "dose", "age"]]
    space = FeatureSpace.from_data(frame)
    for row in (0, 5, 9):
        case = frame.iloc[[row]]
        box = grow_box(mixed_model, case, space=space)
        colour, smoker = space.index("colour"), space.index("smoker")
        kinds = {colour: ["blue", "green", "red"], smoker: ["no", "yes"]}
        for j, names in kinds.items():
            assert [names[c] for c in box.sets[j]] == [case.iloc[0, j]]
        numbers = [space.index("age"), space.index("dose")]
        values = case.iloc[0, numbers].to_numpy(dtype=float)
        assert (box.lower[numbers] <= values).all()
        assert (box.upper[numbers] >= values).all()
        sorted_space = FeatureSpace(
            space.names, space.lower, space.upper, categories=[kinds.get(j) for j in range(4)]
        )
        label = mixed_model.predict(case)[0]
        assert certify(mixed_model, box, label, space=sorted_space).status == "proved"


def test_a_feature_that_the_machine_does_not_see_stays_free(two_classes):
    X, y = two_classes
    columns = make_column_transformer((StandardScaler(), [0, 2]), remainder="drop")
    box = grow_box(make_pipeline(columns, SVC()).fit(X, y), X[0])
    assert (box.lower[1], box.upper[1]) == (-np.inf, np.inf)


def test_one_class_machines_have_boxes_too():
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = OneClassSVM(nu=0.1, gamma=0.1).fit(X)
    box = grow_box(model, [[0.0, 0.0]])
    assert certify(model, box, 1).status == "proved"
    assert box.volume() > 0.1


def test_a_case_too_near_the_surface_has_no_box():
    # By symmetry the surface is at 0, where rounding decides on which side the sum falls.
    model = SVC(gamma=0.5, C=1.0).fit([[-1.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"lies (on|so near) the decision surface"):
        grow_box(model, [0.0], budget=10)
    with pytest.raises(ValueError, match="lies so near the decision surface"):
        grow_box(model, [1e-16], budget=10)


def test_a_case_must_be_one_known_row(mixed_model, mixed, two_classes):
    frame, _ = mixed
    with pytest.raises(ValueError, match="one case is needed, such as"):
        grow_box(mixed_model, frame.iloc[:2])
    X, y = two_classes
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    with pytest.raises(ValueError, match=r"one case is needed.* of shape \(120, "):
        grow_box(model, X)
    with pytest.raises(ValueError, match="the case has no value in 'x1'"):
        grow_box(model, [1.0, np.nan, 3.0])
    with pytest.raises(ValueError, match="X has 2 columns, but the model was fitted to 3"):
        grow_box(model, [1.0, 2.0])
    with pytest.raises(ValueError, match="space has 1 features, but the model takes 3"):
        grow_box(model, X[0], space=FeatureSpace(["x0"]))
    with pytest.raises(ValueError, match="budget must be"):
        grow_box(model, X[0], budget=0)


def test_an_unknown_category_of_the_case_is_an_error(mixed_model, mixed):
    frame, _ = mixed
    case = frame.iloc[[0]].assign(colour="mauve")
    with pytest.raises(ValueError, match="mauve"):
        grow_box(mixed_model, case)


def test_a_case_may_come_without_the_names_of_the_frame(two_classes):
    X, y = two_classes
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = make_pipeline(StandardScaler(), SVC()).fit(frame, y)
    assert (
        grow_box(model, frame.iloc[[3]]) == grow_box(model, X[3]) == grow_box(model, frame.iloc[3])
    )
