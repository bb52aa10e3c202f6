"""What is called proved has no counter-example, and what is called refuted has one that the model confirms."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, NuSVC, OneClassSVM

from clearmargin.datasets import load_pima, load_wbc
from clearmargin.exceptions import DataError
from clearmargin.kernel_rules.certificate import Certificate, certify
from clearmargin.rules import Box, FeatureSpace

KERNELS = {
    "linear": {"kernel": "linear"},
    "square": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "cubic": {"kernel": "poly", "degree": 3, "coef0": 0.5},
    "rbf": {"kernel": "rbf", "gamma": 0.8},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.3},
}


def duels(model, points: np.ndarray, label) -> np.ndarray:
    """The lowest of the decision functions that the class has to win, by the model itself."""
    values = np.asarray(model.decision_function(points))
    classes = [-1, 1] if isinstance(model, OneClassSVM) else list(model.classes_)
    k = classes.index(label)
    if values.ndim == 1:
        return values if k == 1 else -values
    pairs = [(i, j) for i in range(len(classes)) for j in range(i + 1, len(classes))]
    won = [v if i == k else -v for v, (i, j) in zip(values.T, pairs, strict=True) if k in (i, j)]
    return np.min(won, axis=0)


def hunted(model, box: Box, label, rng) -> np.ndarray:
    """The lowest point of a box that chance, its corners and a descent of scipy find."""
    n = box.n_features
    width = box.upper - box.lower
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * n)).reshape(n, -1).T
    points = box.lower + np.vstack([rng.random((200, n)), corners]) * width
    start = points[np.argmin(duels(model, points, label))]
    found = minimize(
        lambda x: duels(model, x[None], label)[0],
        start,
        method="L-BFGS-B",
        bounds=list(zip(box.lower, box.upper, strict=True)),
        options={"maxiter": 15},
    ).x
    points = np.vstack([points, np.clip(found, box.lower, box.upper)])
    return points[np.argmin(duels(model, points, label))]


def assert_honest(model, box: Box, label, certificate: Certificate, rng) -> None:
    if certificate.status == "proved":
        assert certificate.bound > 0
        lowest = duels(model, hunted(model, box, label, rng)[None], label)[0]
        # The bound holds for the function in real arithmetic; the model's own sum is rounded.
        assert lowest >= certificate.bound - 1e-9 * (1 + abs(lowest))
    elif certificate.status == "refuted":
        assert box.contains(certificate.witness[None])[0]
        assert model.predict(certificate.witness[None])[0] != label
    else:
        assert certificate.witness is None


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_verdicts_on_random_machines_stand_up_to_a_hunt(kernel):
    met = {"proved": 0, "refuted": 0, "unknown": 0}
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 4))
        X = rng.normal(size=(24, n))
        y = np.where(np.sin(2 * X[:, 0]) + X.sum(axis=1) > rng.normal(0, 0.5, 24), 1, 0)
        y[:2] = 0, 1
        model = SVC(C=10.0 ** rng.integers(-1, 3), **kernel).fit(X, y)
        for half in (0.1, 0.4):
            middle = rng.normal(size=n)
            box = Box(middle - half * rng.random(n), middle + half * rng.random(n))
            label = int(model.predict(middle[None])[0])
            answer = certify(model, box, label, budget=400)
            met[answer.status] += 1
            assert_honest(model, box, label, answer, rng)
            other = certify(model, box, 1 - label, budget=400)
            assert other.status != "proved"
            assert_honest(model, box, 1 - label, other, rng)
    assert met["proved"] > 15
    assert met["refuted"] > 3
    assert met["unknown"] < 10


@given(st.integers(0, 10**6), st.integers(3, 5), st.booleans())
@settings(max_examples=30)
def test_more_classes_are_proved_by_their_duels_and_refuted_by_the_vote(seed, n_classes, breaks):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % n_classes
    duelling = SVC(gamma=2.0, C=5.0, decision_function_shape="ovo").fit(X, y)
    model = SVC(gamma=2.0, C=5.0, break_ties=breaks).fit(X, y)
    for _ in range(3):
        low = rng.uniform(-2, 2, 2)
        box = Box(low, low + rng.uniform(0.02, 0.5, 2))
        label = int(model.predict([(box.lower + box.upper) / 2])[0])
        answer = certify(model, box, label, budget=300)
        if answer.status == "refuted":
            assert box.contains(answer.witness[None])[0]
            assert model.predict(answer.witness[None])[0] != label
        else:
            assert_honest(duelling, box, label, answer, rng)


def test_a_tie_of_votes_that_the_model_breaks_refutes_nothing():
    # On these data votes tie within many boxes; without looking at break_ties some witnesses were of the class.
    ties = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(30, 2)), np.arange(30) % 4
        model = SVC(gamma=2.0, C=5.0, break_ties=True).fit(X, y)
        for _ in range(4):
            low = rng.uniform(-2, 2, 2)
            box = Box(low, low + rng.uniform(0.05, 0.5, 2))
            label = int(model.predict([(box.lower + box.upper) / 2])[0])
            answer = certify(model, box, label, budget=60)
            if answer.status == "refuted":
                ties += 1
                assert model.predict(answer.witness[None])[0] != label
    assert ties > 30


@pytest.mark.parametrize("load", [load_wbc, load_pima])
def test_boxes_around_patients_are_decided_honestly(load):
    X, y = load(return_X_y=True, as_frame=False)
    known = ~np.isnan(np.asarray(X, dtype=float)).any(axis=1)
    X, y = np.asarray(X, dtype=float)[known], np.asarray(y)[known]
    model = make_pipeline(MinMaxScaler(), SVC(gamma=1 / X.shape[1])).fit(X, y)
    rng = np.random.default_rng(0)
    reach = X.max(axis=0) - X.min(axis=0)
    statuses = []
    for row in rng.integers(0, len(X), 6):
        for half in (0.03, 0.3):
            box = Box(X[row] - half * reach, X[row] + half * reach)
            label = model.predict(X[[row]])[0]
            answer = certify(model, box, label, budget=60)
            statuses.append(answer.status)
            assert_honest(model, box, label, answer, rng)
    assert "proved" in statuses
    assert "refuted" in statuses


def test_one_class_machines_are_certified():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 2))
    model = OneClassSVM(nu=0.1, gamma=0.1).fit(X)
    inside, outside = Box([-0.3, -0.3], [0.3, 0.3]), Box([4.0, 4.0], [5.0, 5.0])
    for box, label, status in [
        (inside, 1, "proved"),
        (inside, -1, "refuted"),
        (outside, -1, "proved"),
        (outside, 1, "refuted"),
    ]:
        answer = certify(model, box, label)
        assert answer.status == status
        assert_honest(model, box, label, answer, rng)
        assert answer.is_proved == (status == "proved")


def test_another_parametrisation_of_the_machine_is_certified_too():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "mixed")
    model = make_pipeline(StandardScaler(), NuSVC(nu=0.2, gamma=1.0)).fit(X, y)
    answer = certify(model, Box([0.7, 0.7], [1.0, 1.0]), "same")
    assert answer.status == "proved"
    assert certify(model, Box([-1.0, 0.7], [1.0, 1.0]), "same").status == "refuted"


# --- open sides


@pytest.fixture(scope="module")
def near_and_far():
    return SVC(gamma=1.0, C=10.0).fit([[0.0], [1.0], [3.0], [4.0]], ["near", "near", "far", "far"])


def test_the_witness_lies_in_a_box_without_its_ends(near_and_far):
    for lower_closed in (True, False):
        box = Box([0.0], [3.0], lower_closed=lower_closed, upper_closed=False)
        for label in ("near", "far"):
            answer = certify(near_and_far, box, label)
            assert answer.status == "refuted"
            assert box.contains(answer.witness[None])[0]
            assert near_and_far.predict(answer.witness[None])[0] != label


@pytest.mark.parametrize("open_side", ["lower_closed", "upper_closed"])
def test_a_box_without_points_is_an_error(near_and_far, open_side):
    with pytest.raises(ValueError, match="the box is empty in 'x0': no number lies between"):
        certify(near_and_far, Box([1.0], [1.0], **{open_side: False}), "near")


def test_a_single_point_is_certified(near_and_far):
    assert certify(near_and_far, Box([1.0], [1.0]), "near").status == "proved"
    assert certify(near_and_far, Box([1.0], [1.0]), "far").status == "refuted"


# --- categories


@pytest.fixture(scope="module")
def mixed_model(mixed):
    frame, y = mixed
    columns = make_column_transformer(
        (StandardScaler(), ["age", "dose"]), (OneHotEncoder(), ["smoker", "colour"])
    )
    return make_pipeline(columns, SVC(gamma=0.3, C=3.0)).fit(frame, y)


COLOURS, SMOKERS = ["blue", "green", "red"], ["no", "yes"]


def brute_force(model, box: Box, names: tuple[str, ...]) -> set[str]:
    """Every class that the model gives to a grid of the box, in the order age, colour, dose, smoker."""
    ages, doses = (np.linspace(box.lower[j], box.upper[j], 9) for j in (0, 2))
    colours = [COLOURS[c] for c in box.sets[1]] if 1 in box.sets else COLOURS
    smokers = [SMOKERS[c] for c in box.sets[3]] if 3 in box.sets else SMOKERS
    rows = [(a, c, d, s) for a in ages for c in colours for d in doses for s in smokers]
    return set(model.predict(pd.DataFrame(rows, columns=names)))


@pytest.mark.parametrize("seed", range(12))
def test_sets_of_categories_are_looked_at_one_by_one(mixed_model, mixed, seed):
    frame, _ = mixed
    rng = np.random.default_rng(seed)
    sets = {1: rng.choice(3, int(rng.integers(1, 4)), replace=False).tolist(), 3: [seed % 2]}
    age, dose = rng.uniform(25, 70), rng.uniform(0.1, 0.8)
    box = Box([age, -np.inf, dose, -np.inf], [age + 4, np.inf, dose + 0.1, np.inf], sets=sets)
    said = brute_force(mixed_model, box, tuple(frame.columns))
    for label in ("ill", "well"):
        answer = certify(mixed_model, box, label)
        if answer.status == "proved":
            assert said == {label}
        else:
            assert answer.status == "refuted"
            assert box.contains(answer.witness[None])[0]
            a, c, d, s = answer.witness
            row = pd.DataFrame([[a, COLOURS[int(c)], d, SMOKERS[int(s)]]], columns=frame.columns)
            assert mixed_model.predict(row)[0] != label
    if said == {"ill", "well"}:
        assert certify(mixed_model, box, "ill").status == "refuted"


def test_features_and_categories_are_found_by_the_names_of_the_space(mixed_model):
    turned = ["smoker", "dose", "colour", "age"]
    space = FeatureSpace(
        turned,
        [-np.inf, 0.0, -np.inf, 20.0],
        [np.inf, 1.0, np.inf, 80.0],
        categories=[["yes", "no"], None, ["red", "green", "blue"], None],
    )
    # Old smokers in red; by the order and the codes of the model this would be another box.
    box = Box([-np.inf, 0.8, -np.inf, 70.0], [np.inf, 0.9, np.inf, 75.0], sets={0: [0], 2: [0]})
    assert certify(mixed_model, box, "ill", space=space).status == "proved"
    answer = certify(mixed_model, box, "well", space=space)
    assert answer.status == "refuted"
    assert box.contains(answer.witness[None])[0]
    young = Box(
        [-np.inf, 0.1, -np.inf, 22.0], [np.inf, 0.2, np.inf, 25.0], sets={0: [1], 2: [1, 2]}
    )
    assert certify(mixed_model, young, "well", space=space).status == "proved"
    answer = certify(mixed_model, young, "ill", space=space)
    assert young.contains(answer.witness[None])[0]


def test_a_witness_has_an_allowed_category_where_the_model_looks_away(mixed):
    frame, y = mixed
    columns = make_column_transformer((StandardScaler(), ["age"]), remainder="drop")
    model = make_pipeline(columns, SVC()).fit(frame, y)
    box = Box([20.0, -np.inf, 0.5, -np.inf], [80.0, np.inf, 0.6, np.inf], False, sets={1: [2]})
    answer = certify(model, box, "ill")
    assert answer.status == "refuted"
    assert box.contains(answer.witness[None])[0]


def test_many_combinations_of_categories_are_proved_over_their_hull():
    rng = np.random.default_rng(6)
    letters = np.array(list("abcde"))
    X = letters[rng.integers(0, 5, (120, 3))]
    y = np.where((X == "a").sum(axis=1) >= 1, "some", "none")
    model = make_pipeline(OneHotEncoder(), SVC(gamma=0.1, C=10.0)).fit(X, y)
    everything = Box.unbounded(3)  # 125 combinations
    # Both classes are met; a witness of the hull is between categories, and one beside it is a case.
    answer = certify(model, everything, "some")
    assert answer.status == "refuted"
    assert model.predict(letters[answer.witness.astype(int)][None]).tolist() == ["none"]
    without = Box([-np.inf] * 3, [np.inf] * 3, sets={0: [0, 1, 2, 4]})
    answer = certify(model, without, "some")
    assert answer.status == "refuted"
    assert without.contains(answer.witness[None])[0]
    with_a = Box([-np.inf] * 3, [np.inf] * 3, sets={0: [0], 1: [1, 2, 3, 4], 2: [1, 2, 3, 4]})
    assert certify(model, with_a, "some").status == "proved"
    calm = make_pipeline(OneHotEncoder(), SVC(gamma=0.01, C=0.001, class_weight={"some": 9})).fit(
        X, y
    )
    assert set(calm.predict(X)) == {"some"}
    assert certify(calm, everything, "some").status == "proved"


def test_a_set_without_a_known_category_is_an_error(mixed_model):
    box = Box([30.0, -np.inf, 0.1, -np.inf], [40.0, np.inf, 0.2, np.inf], sets={1: [7]})
    with pytest.raises(ValueError, match="the box is empty in 'colour': it allows no category"):
        certify(mixed_model, box, "ill")


# --- ends, budgets and time


def test_infinite_sides_end_with_the_space(near_and_far):
    with pytest.raises(ValueError, match=r"no end in 'x0'.*pass space=FeatureSpace.from_data\(X\)"):
        certify(near_and_far, Box([-np.inf], [1.5]), "near")
    space = FeatureSpace.from_data(np.array([[0.0], [4.0]]))
    assert certify(near_and_far, Box([-np.inf], [1.5]), "near", space=space).status == "proved"
    answer = certify(near_and_far, Box([-np.inf], [np.inf]), "near", space=space)
    assert answer.status == "refuted"
    assert 0.0 <= answer.witness[0] <= 4.0
    with pytest.raises(ValueError, match="the box is empty in 'x0'"):
        certify(near_and_far, Box([5.0], [6.0]), "near", space=space)


def test_a_feature_that_the_machine_does_not_see_needs_no_end(two_classes):
    X, y = two_classes
    columns = make_column_transformer((StandardScaler(), [0, 2]), remainder="drop")
    model = make_pipeline(columns, SVC()).fit(X, y)
    box = Box([4.9, -np.inf, 490.0], [5.1, np.inf, 510.0])
    answer = certify(model, box, "inner")
    assert answer.status == "proved"
    assert certify(model, box, "outer").witness.shape == (3,)


@pytest.fixture(scope="module")
def hard():
    """A box that is of one class, but only just: its proof needs many parts."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = (X**2).sum(axis=1) > 6
    model = SVC(gamma=0.3, C=100.0).fit(X, y)
    return model, Box(np.full(6, -0.75), np.full(6, 0.75))


def test_a_budget_of_one_leaves_a_hard_box_open(hard):
    model, box = hard
    label = model.predict(np.zeros((1, 6)))[0]
    answer = certify(model, box, label, budget=1)
    assert answer.status == "unknown"
    assert answer.nodes == 1
    assert answer.witness is None
    assert not answer.is_proved


def test_no_more_boxes_than_the_budget_are_looked_at(mixed_model, hard):
    model, box = hard
    label = model.predict(np.zeros((1, 6)))[0]
    for budget in (1, 7, 50):
        assert certify(model, box, label, budget=budget).nodes <= budget
    every = Box([20.0, -np.inf, 0.0, -np.inf], [21.0, np.inf, 0.1, np.inf])
    # Six combinations of categories share the budget.
    assert certify(mixed_model, every, "well", budget=3).nodes <= 3


def test_time_is_limited_for_all_combinations_together(hard):
    model, box = hard
    label = model.predict(np.zeros((1, 6)))[0]
    start = time.perf_counter()
    answer = certify(model, box, label, time_limit=0.2, budget=10**9)
    assert answer.status != "refuted"
    assert time.perf_counter() - start < 5.0
    with pytest.raises(ValueError, match="time_limit"):
        certify(model, box, label, time_limit=0.0)


def test_over_whole_numbers_the_answer_is_that_of_all_cases():
    met = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 7, (25, 2)).astype(float)
        y = np.where(X[:, 0] + rng.normal(0, 1.5, 25) > 3, "p", "n")
        model = SVC(gamma=float(rng.choice([0.05, 0.3, 2.0])), C=10.0).fit(X, y)
        low, high = np.sort(rng.uniform(-0.5, 6.5, (2, 2)), axis=0)
        box = Box(low, high, rng.random(2) < 0.5, rng.random(2) < 0.5)
        grid = np.stack(np.meshgrid(np.arange(7.0), np.arange(7.0)), axis=-1).reshape(-1, 2)
        cases = grid[box.contains(grid)]
        if not len(cases):
            continue
        space = FeatureSpace(["x0", "x1"], [0.0, 0.0], [6.0, 6.0], integer=True)
        for label in ("n", "p"):
            answer = certify(model, box, label, space=space)
            right = model.predict(cases) == label
            assert answer.status == ("proved" if right.all() else "refuted")
            over_reals = certify(model, box, label).status
            met.add((over_reals, answer.status))
            if answer.status == "refuted":
                assert (cases[~right] == answer.witness).all(axis=1).any()
    # Some boxes hold a point of the other class between whole numbers alone.
    assert {("refuted", "proved"), ("refuted", "refuted"), ("proved", "proved")} <= met


def test_a_point_of_the_other_class_between_whole_numbers_is_no_case():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.5, 0.0], [1.5, 0.0], [0.5, 9.0]])
    model = SVC(gamma=20.0, C=100.0).fit(X, ["a", "a", "a", "b", "b", "a"])
    space = FeatureSpace(["x0", "x1"], [0.0, 0.0], [2.0, 9.0], integer=[True, False])
    box = Box([0.0, 0.0], [2.0, 0.0])
    assert certify(model, box, "a").status == "refuted"
    assert certify(model, box, "a", space=space).status == "proved"
    # A witness is looked for on both sides of it.
    other = SVC(gamma=20.0, C=100.0).fit(X, ["a", "a", "b", "b", "b", "a"])
    assert certify(other, box, "a", space=space).witness.tolist() == [2.0, 0.0]


def test_a_box_without_any_whole_number_is_refused():
    model = SVC().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    space = FeatureSpace(["x0"], [0.0], [4.0], integer=True)
    with pytest.raises(
        DataError, match="the box is empty in 'x0': no number lies between its ends"
    ):
        certify(model, Box([1.2], [1.8]), 0, space=space)


def test_time_that_is_up_before_the_search_begins_leaves_the_answer_open():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [4.0, 4.0], [5.0, 5.0]])
    model = SVC(gamma=0.5).fit(X, ["low", "low", "high", "high"])
    answer = certify(model, Box([4.0, 4.0], [5.0, 5.0]), "high", time_limit=1e-12)
    assert (answer.status, answer.witness) == ("unknown", None)
