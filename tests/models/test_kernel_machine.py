"""What is read from a fitted machine is what the machine decides by."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, NuSVC, OneClassSVM

from clearmargin.models.fitted import innermost
from clearmargin.models.kernel_machine import (
    KernelMachine,
    known_columns,
    read_machine,
)

KERNELS = {
    "linear": {"kernel": "linear"},
    "square": {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.5},
    "cubic": {"kernel": "poly", "coef0": 0.3},
    "rbf": {"kernel": "rbf", "gamma": 0.7},
    "rbf auto": {"kernel": "rbf", "gamma": "auto"},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.2, "coef0": 0.1},
}


def values(machine: KernelMachine, X) -> np.ndarray:
    return machine.function.values(machine.to_machine(machine.encoding.encode(X)))


def assert_same_function(model, X, given=None) -> KernelMachine:
    """The functions read equal the model's own, and so do the classes."""
    machine = read_machine(model, X)
    decided = np.asarray(model.decision_function(X if given is None else given))
    decided = decided.reshape(len(decided), -1)
    size = np.abs(machine.function.coefs).sum() + np.abs(decided).max()
    np.testing.assert_allclose(values(machine, X), decided, rtol=0, atol=1e-10 * size)
    return machine


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_two_classes_have_the_decision_function_of_the_machine(kernel, two_classes):
    X, y = two_classes
    model = make_pipeline(StandardScaler(), SVC(**kernel)).fit(X, y)
    machine = assert_same_function(model, X)
    assert machine.classes == ("inner", "outer")
    assert (
        machine.support_codes.tolist()
        == [0] * model[-1].n_support_[0] + [1] * model[-1].n_support_[1]
    )


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
@pytest.mark.parametrize("n_classes", [3, 5])
def test_more_classes_have_one_function_for_each_pair(kernel, n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(90, 3))
    y = rng.integers(0, n_classes, 90)
    model = SVC(decision_function_shape="ovo", **kernel).fit(X, y)
    assert_same_function(model, X)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_the_other_machines_are_read_too(kernel, two_classes, three_classes):
    X, y = two_classes
    assert_same_function(make_pipeline(MinMaxScaler(), NuSVC(nu=0.3, **kernel)).fit(X, y), X)
    machine = assert_same_function(
        make_pipeline(MinMaxScaler(), OneClassSVM(nu=0.2, **kernel)).fit(X), X
    )
    assert machine.classes == (-1, 1)
    X, y = three_classes
    model = NuSVC(nu=0.1, decision_function_shape="ovo", **kernel).fit(X, y)
    assert_same_function(model, X)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_machine_fitted_to_a_sparse_matrix_is_read_from_a_table(n_classes):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4)) * (rng.random((60, 4)) < 0.6)
    y = rng.integers(0, n_classes, 60)
    model = SVC(decision_function_shape="ovo", gamma=0.5).fit(sparse.csr_matrix(X), y)
    machine = read_machine(model, X)
    decided = model.decision_function(sparse.csr_matrix(X)).reshape(60, -1)
    np.testing.assert_allclose(values(machine, X), decided, atol=1e-10)


STEPS = {
    "standard": StandardScaler(),
    "standard without mean": StandardScaler(with_mean=False),
    "standard without scale": StandardScaler(with_std=False),
    "minmax": MinMaxScaler((-3, 2)),
    "robust": RobustScaler(),
    "maxabs": MaxAbsScaler(),
    "selection": SelectKBest(f_classif, k=2),
    "variance": VarianceThreshold(),
    "identity": FunctionTransformer(),
    "passthrough": "passthrough",
    "two scalers": make_pipeline(MinMaxScaler((5, 9)), StandardScaler()),
    "nested": make_pipeline(RobustScaler(), make_pipeline(SelectKBest(k=2), MaxAbsScaler())),
    "union": FeatureUnion([("all", StandardScaler())]),
    "columns": make_column_transformer(
        (StandardScaler(), [2, 0]), ("passthrough", [1]), remainder="drop"
    ),
    "weighted columns": ColumnTransformer(
        [("a", MinMaxScaler(), [1]), ("b", StandardScaler(), [0, 2])],
        transformer_weights={"a": -2.0, "b": 0.5},
    ),
    "rest": make_column_transformer((MaxAbsScaler(), [1]), remainder=StandardScaler()),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS.keys())
@pytest.mark.parametrize("n_classes", [2, 3])
def test_steps_before_the_machine_are_passed(step, n_classes, two_classes):
    X, _ = two_classes
    X = X + np.array([3.0, 4.0, -7.0])
    y = (X[:, 0] > 8).astype(int) + (X[:, 2] > np.median(X[:, 2])) * (n_classes == 3)
    svm = SVC(decision_function_shape="ovo", gamma="scale")
    assert_same_function(make_pipeline(step, svm).fit(X, y), X)


def test_searches_and_frozen_models_are_looked_into(two_classes):
    X, y = two_classes
    pipe = make_pipeline(StandardScaler(), SVC())
    search = GridSearchCV(pipe, {"svc__C": [0.1, 1.0]}, cv=2).fit(X, y)
    assert_same_function(search, X)
    assert_same_function(FrozenEstimator(search), X)
    inside = RandomizedSearchCV(SVC(), {"C": [0.1, 1.0]}, n_iter=1, cv=2, random_state=0)
    assert_same_function(make_pipeline(MinMaxScaler(), inside).fit(X, y), X)
    frozen_step = make_pipeline(FrozenEstimator(StandardScaler().fit(X)), SVC()).fit(X, y)
    assert_same_function(frozen_step, X)
    frozen = FrozenEstimator(make_pipeline(frozen_step))
    assert innermost(frozen) is frozen_step[-1]
    assert known_columns(frozen) == tuple(f"x{j}" for j in range(X.shape[1]))
    blank = read_machine(search)
    np.testing.assert_allclose(values(blank, X)[:, 0], search.decision_function(X), atol=1e-9)


def mixed_model(encoder: OneHotEncoder | None = None, svm=None):
    return make_pipeline(
        make_column_transformer(
            (StandardScaler(), ["age"]),
            (encoder or OneHotEncoder(), ["colour", "smoker"]),
            remainder="passthrough",
        ),
        svm or SVC(gamma=0.4),
    )


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(drop="first", sparse_output=False),
        OneHotEncoder(drop="if_binary"),
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(categories=[["red", "blue", "green"], ["yes", "no"]]),
    ],
)
def test_categories_become_columns_of_the_machine(encoder, mixed):
    frame, y = mixed
    model = mixed_model(encoder).fit(frame, y)
    machine = assert_same_function(model, frame)
    assert machine.encoding.space.names == ("age", "colour", "dose", "smoker")
    blank = read_machine(model)
    np.testing.assert_allclose(
        values(blank, frame)[:, 0], model.decision_function(frame), atol=1e-9
    )


def test_columns_of_a_frame_are_found_by_name_in_any_order(mixed):
    frame, y = mixed
    model = mixed_model().fit(frame, y)
    shuffled = frame[["smoker", "dose", "age", "colour"]]
    machine = assert_same_function(model, shuffled)
    assert machine.encoding.space.names == ("smoker", "dose", "age", "colour")
    numbers = frame[["age", "dose"]]
    plain = make_pipeline(StandardScaler(), SVC()).fit(numbers, y)
    turned = assert_same_function(plain, numbers[["dose", "age"]], given=numbers)
    assert turned.encoding.space.names == ("dose", "age")


def test_more_columns_than_the_model_knows_do_no_harm(mixed):
    frame, y = mixed
    numbers = frame[["age", "dose"]]
    model = SVC().fit(numbers, y)
    machine = read_machine(model, frame.assign(more=1.0))
    assert machine.encoding.space.names == ("age", "dose")


@pytest.mark.parametrize("labels", [["a", "b"], [3, 7], [True, False]])
def test_labels_of_any_kind_are_the_classes(labels, two_classes):
    X, y = two_classes
    named = np.array(labels)[(y == "outer").astype(int)]
    model = make_pipeline(StandardScaler(), SVC()).fit(X, named)
    assert read_machine(model, X).classes == tuple(sorted(labels))


def test_a_column_of_strings_that_the_model_drops_is_no_matter(mixed):
    frame, y = mixed
    drops = make_column_transformer((StandardScaler(), ["age", "dose"]), remainder="drop")
    assert_same_function(make_pipeline(drops, SVC()).fit(frame, y), frame)


# --- boxes


def exact_images(model, points: np.ndarray) -> list[list[Fraction]]:
    """The rows that reach the machine in exact arithmetic, from what the scalers remember."""
    rows = [[Fraction(float(v)) for v in row] for row in points]
    for step in model[:-1]:
        if isinstance(step, MinMaxScaler):
            a, b = step.scale_, step.min_
            rows = [
                [v * Fraction(s) + Fraction(t) for v, s, t in zip(row, a, b, strict=True)]
                for row in rows
            ]
        else:
            middle = step.mean_ if isinstance(step, StandardScaler) else step.center_
            rows = [
                [
                    (v - Fraction(c)) / Fraction(s)
                    for v, c, s in zip(row, middle, step.scale_, strict=True)
                ]
                for row in rows
            ]
    return rows


SCALERS = {
    "standard": [StandardScaler()],
    "minmax": [MinMaxScaler((-1, 1))],
    "robust": [RobustScaler()],
    "turned": [MinMaxScaler((0, 1)), RobustScaler(), StandardScaler()],
    # The second scaler takes away what the first has added: the sum of both is small, its rounding is not.
    "back and forth": [MinMaxScaler((1e9, 1e9 + 1)), StandardScaler()],
    "there and back": [StandardScaler(), MinMaxScaler((-1e7, -1e7 + 3)), RobustScaler()],
}


@pytest.mark.parametrize("scalers", SCALERS.values(), ids=SCALERS.keys())
@pytest.mark.parametrize("offset", [0.0, 1e6, -1e8])
def test_a_box_of_the_machine_holds_the_exact_image_of_every_point(scalers, offset):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 3)) * [1.0, 100.0, 0.01] + offset
    y = X[:, 0] > offset
    model = make_pipeline(*scalers, SVC()).fit(X, y)
    machine = read_machine(model)
    ends = np.sort(X[rng.integers(0, 40, (2, 30))], axis=0)[:, :, :]
    lower, upper = ends.min(axis=0), ends.max(axis=0)
    low, high = machine.box_to_machine(lower, upper)
    between = lower + rng.random(lower.shape) * (upper - lower)
    for points in (lower, upper, np.clip(between, lower, upper)):
        for row, below, above in zip(exact_images(model, points), low, high, strict=True):
            for value, least, most in zip(row, below.tolist(), above.tolist(), strict=True):
                assert Fraction(least) <= value <= Fraction(most)


def test_a_bare_machine_is_given_boxes_as_they_are(three_classes):
    X, y = three_classes
    machine = read_machine(SVC().fit(X, y), X)
    low, high = machine.box_to_machine(X[:5] - 1, X[:5])
    assert np.array_equal(low, X[:5] - 1)
    assert np.array_equal(high, X[:5])


@given(st.integers(0, 10_000), st.sampled_from([2, 3, 4]), st.sampled_from(list(KERNELS)))
@settings(max_examples=25)
def test_where_the_region_of_a_class_is_positive_the_machine_says_it(seed, n_classes, kernel):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    y = np.arange(40) % n_classes
    model = make_pipeline(MaxAbsScaler(), SVC(**KERNELS[kernel])).fit(X, y)
    machine = read_machine(model, X)
    points = rng.uniform(-3, 3, (300, 2))
    Z = machine.to_machine(points)
    predicted = model.predict(points)
    won = [(machine.region(k).values(Z) > 1e-9).all(axis=1) for k in range(n_classes)]
    for k, inside in enumerate(won):
        assert (predicted[inside] == k).all()
    assert (np.sum(won, axis=0) <= 1).all()


def test_rows_of_the_machine_go_back_to_the_table(two_classes):
    X, y = two_classes
    scale = ColumnTransformer(
        [("a", MinMaxScaler(), [2]), ("b", RobustScaler(), [0])], transformer_weights={"a": -3.0}
    )
    model = make_pipeline(scale, SVC()).fit(X, y)
    machine = read_machine(model, X)
    assert (machine.scale < 0).any()
    filled = np.array([0.0, 77.0, 0.0])
    back = machine.from_machine(machine.to_machine(X), filled)
    np.testing.assert_allclose(back[:, [0, 2]], X[:, [0, 2]], rtol=1e-12)
    assert (back[:, 1] == 77.0).all()
    low, high = machine.box_to_machine(X.min(axis=0)[None], X.max(axis=0)[None])
    Z = machine.to_machine(X)
    assert ((low <= Z) & (high >= Z)).all()
    support = machine.support_points(filled)
    np.testing.assert_allclose(
        support[:, [0, 2]], X[model[-1].support_][:, [0, 2]], rtol=1e-9, atol=1e-9
    )


def test_a_frame_with_numbers_for_names_is_read():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 2)))
    y = frame[0] > 0
    machine = assert_same_function(SVC().fit(frame, y), frame)
    assert machine.encoding.space.names == ("0", "1")
