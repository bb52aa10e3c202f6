"""Proofs about kernel machines hold in exact arithmetic, and the model confirms witnesses against a class."""

import contextlib
import time
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, PowerTransformer, StandardScaler
from sklearn.svm import SVC
from tests.oracles.kernel_grid import (
    duels,
    exact_value,
    given_machine,
    lowest_point,
    random_machine,
    values,
)

from clearmargin import Box, FeatureSpace, certify, grow_box
from clearmargin.exceptions import ClearmarginError, DataError, InvalidValueError

KINDS = ("linear", "poly", "rbf")
seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(KINDS)


def some_box(seed, n, widest=1.0):
    """A random box, flat along some axes."""
    rng = np.random.default_rng([seed, 1])
    half = widest * 10.0 ** rng.uniform(-4, 0) * rng.uniform(size=n) * (rng.uniform(size=n) < 0.9)
    centre = rng.normal(size=n)
    return centre - half, centre + half


def lifted(model, much):
    """The same machine with a larger intercept."""
    own = model.support_vectors_, model.dual_coef_[0], model.intercept_[0] + much
    kept = {name: getattr(model, name) for name in ("gamma", "coef0", "degree")}
    return given_machine(model.kernel, *own, **kept)


def least_of(model, lower, upper):
    """The bound over a box, of a machine that is positive by far."""
    answer = certify(model, Box(lower, upper), 1, budget=1)
    assert (answer.status, answer.nodes) == ("proved", 1)
    return answer.bound


def assert_refuted(model, box, label, answer):
    assert answer.status == "refuted"
    assert box.contains(answer.witness[None])[0]
    assert model.predict(answer.witness[None])[0] != label


def assert_honest(model, box, label, answer, rng):
    if answer.status == "refuted":
        assert_refuted(model, box, label, answer)
    elif answer.status == "proved":
        assert answer.bound > 0
        function = lambda Z: duels(model, Z, label)
        lowest = function(lowest_point(function, box.lower, box.upper, rng)[None])[0]
        # The bound holds for the function in real arithmetic; the model's own sum is rounded.
        assert lowest >= answer.bound - 1e-9 * (1 + abs(lowest))


@given(seeds, kinds, st.sampled_from([1, 3, 40]), st.sampled_from([1e-3, 1.0]))
@settings(max_examples=80)
def test_certify_bound_is_below_the_function_in_exact_arithmetic(seed, kind, budget, widest):
    model = random_machine(seed, kind)
    lower, upper = some_box(seed, model.n_features_in_, widest)
    rng = np.random.default_rng(seed)
    for label, sign in ((1, 1), (0, -1)):
        answer = certify(model, Box(lower, upper), label, budget=budget)
        assert answer.nodes <= budget
        if answer.status == "refuted":
            assert ((lower <= answer.witness) & (answer.witness <= upper)).all()
            assert sign * exact_value(model, answer.witness) < 0
        else:
            low = lowest_point(lambda Z, s=sign: s * values(model, Z), lower, upper, rng)
            least = sign * exact_value(model, low)
            assert type(least)(answer.bound) <= least
            assert answer.witness is None
            assert answer.is_proved == (answer.bound > 0)


@given(seeds, kinds, st.integers(0, 12))
@settings(max_examples=60)
def test_certify_bound_at_a_point_is_the_value_but_for_rounding(seed, kind, decades):
    """Coefficients of either sign on nearly equal vectors: all digits cancel, what remains is error."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    half = rng.normal(size=(4, n))
    vectors = np.vstack([half, half + 10.0**-decades * rng.normal(size=half.shape)])
    a = rng.normal(size=4) * 1e6
    coefs = np.concatenate([a, -a])
    model = given_machine(kind, vectors, coefs, rng.normal() * 1e-9, gamma=0.7, coef0=0.3)
    z = rng.normal(size=n)
    value = exact_value(model, z)
    size = float(np.abs(coefs) @ (1 + np.abs(vectors) @ np.abs(z)) ** 3)
    for label, sign in ((1, 1), (0, -1)):
        answer = certify(model, Box(z, z), label)
        assert answer.nodes < 20
        if answer.status == "refuted":
            assert sign * value < 0
        else:
            off = sign * value - type(value)(answer.bound)
            assert 0 <= off <= type(value)(2e-12 * size)


def test_certify_bound_is_exact_where_it_is_known():
    # Far from its minimum along both axes a quadratic is lowest at a corner, products and all.
    square = given_machine("poly", [[1.0, 2.0], [1.0, -1.0]], [1.0, -0.2], 0.0, degree=2)
    corners = np.array(list(product((3.0, 3.5), (4.0, 4.5))))
    assert least_of(square, corners[0], corners[-1]) == pytest.approx(values(square, corners).min())
    # A narrow kernel on a wide box keeps the bound by ranges.
    dip = given_machine("rbf", [[0.0]], [-2.0], 5.0, gamma=1e4)
    assert least_of(dip, [-1.0], [1.0]) == pytest.approx(3.0, abs=1e-9)
    assert least_of(dip, [0.5], [1.0]) == pytest.approx(5.0, abs=1e-9)
    # A single bump is lowest where it is farthest.
    bump = given_machine("rbf", [[0.0, 0.0]], [1.0], 1.0, gamma=0.5)
    assert least_of(bump, [0.1, 0.2], [0.3, 0.4]) == pytest.approx(1 + np.exp(-0.125), abs=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_certify_of_what_overflows_proves_at_most_one_side(kind):
    model = random_machine(4, kind, 2)
    for size in (1e3, 1e160, 1.7e308):
        ends = np.full(2, size)
        for box in (Box(ends, ends), Box(-ends, ends)):
            both = [certify(model, box, label, budget=200) for label in (0, 1)]
            assert [each.status for each in both].count("proved") <= 1
            assert all(each.bound > 0 for each in both if each.is_proved)
            assert not np.isnan([each.bound for each in both]).any()


def drawn_svc(seed, kind, n):
    """A machine trained on random points, and a point that it gives class 1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(int(rng.integers(8, 40)), n))
    y = np.sin(5 * X).sum(axis=1) + 0.3 * rng.normal(size=len(X)) > np.sin(5 * X[0]).sum() - 0.5
    y[0], y[1] = True, False
    gamma = float(10.0 ** rng.uniform(-0.5, 1.5)) / (n if kind == "rbf" else 3 * n)
    degree, coef0 = int(rng.integers(1, 6)), float(rng.uniform(-0.5, 1))
    C = float(10.0 ** rng.uniform(-1, 2))
    model = SVC(C=C, kernel=kind, gamma=gamma, degree=degree, coef0=coef0).fit(X, y)
    return model, X[0], bool(model.predict(X[:1])[0])


@given(seeds, kinds, st.integers(1, 2))
@settings(max_examples=60)
def test_certify_in_few_dimensions_agrees_with_a_dense_grid(seed, kind, n):
    model, x, label = drawn_svc(seed, kind, n)
    half = np.random.default_rng(seed).choice([0.05, 0.15, 0.4])
    ticks = [np.linspace(v - half, v + half, 1501 if n == 1 else 91) for v in x]
    grid = np.stack(np.meshgrid(*ticks), axis=-1).reshape(-1, n)
    least = duels(model, grid, label).min()
    answer = certify(model, Box(x - half, x + half), label)
    if abs(least) > 1e-3:
        assert answer.status == ("proved" if least > 0 else "refuted")
        assert answer.bound <= least
    if answer.status == "refuted":
        assert_refuted(model, Box(x - half, x + half), label, answer)
    # A part of a proved box is proved, and more work changes no answer.
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.uniform(x - half, x + half, size=(2, n)), axis=0)
    if answer.is_proved:
        assert certify(model, Box(*ends), label).is_proved
    few = certify(model, Box(x - half, x + half), label, budget=5)
    assert few.status in {answer.status, "unknown"}


def test_certify_decides_nearly_all_boxes_around_points():
    met, nodes = [], 0
    for seed in range(60):
        model, x, label = drawn_svc(seed, KINDS[seed % 3], 1 + seed % 5)
        rng = np.random.default_rng(seed)
        half = rng.choice([0.1, 0.3, 0.6, 1.0])
        box = Box(x - half, x + half)
        answer = certify(model, box, label, budget=2000)
        assert_honest(model, box, label, answer, rng)
        met.append(answer.status)
        nodes += answer.nodes
    assert min(met.count("proved"), met.count("refuted")) > 15
    assert met.count("unknown") <= 2
    assert nodes < 550  # 418 were measured: bounds are tight enough


def test_certify_of_a_hard_box_takes_a_budget():
    # Sixteen bumps up and down that nearly cancel, and a function that stays just above 0.
    rng, unit = np.random.default_rng(0), (np.zeros(4), np.ones(4))
    vectors, coefs = rng.uniform(size=(16, 4)), np.where(np.arange(16) % 2, 5.0, -5.0)
    bumps = given_machine("rbf", vectors, coefs, 0.0, gamma=6.0)
    rng = np.random.default_rng(1)
    low = [lowest_point(lambda Z: values(bumps, Z), *unit, rng) for _ in range(4)]
    hard = lifted(bumps, 0.3 - values(bumps, np.array(low)).min())
    budgets = (1, 30, 300)
    answers = [certify(hard, Box(*unit), 1, budget=budget) for budget in (*budgets, 100_000)]
    for budget, answer in zip(budgets, answers, strict=False):
        assert (answer.status, answer.nodes, answer.witness) == ("unknown", budget, None)
    last, bounds = answers[-1], [answer.bound for answer in answers]
    assert (last.status, bounds) == ("proved", sorted(bounds))
    assert bounds[-2] < 0 < last.bound <= 0.3 + 1e-6
    assert last.nodes < 550  # 421 were measured
    start = time.perf_counter()
    short = certify(hard, Box(np.full(4, -1.0), np.full(4, 2.0)), 1, time_limit=1e-6)
    assert short.status == "unknown"
    assert time.perf_counter() - start < 5.0


def test_certify_of_what_touches_zero_is_unknown():
    square = given_machine("poly", [[1.0]], [1.0], 0.0, coef0=-0.5, degree=2)  # (z - 1/2)^2
    bump = given_machine("rbf", [[0.0]], [1.0], -np.exp(-1.0))
    # Terms of 3e14 cancel and are rounded to digits of 1/16: which sign is left over, the processor decides.
    cancelled = given_machine("linear", [[1.0], [-1.0]], [1e15, 1e15], -1e-3)
    for model, low, high, label in ((square, 0.0, 1.0, 1), (square, 0.5, 0.5, 1), (bump, 0.0, 1.0, 1),
            (cancelled, 0.2, 0.4, 0), (cancelled, 0.2, 0.4, 1)):  # fmt: skip
        answer = certify(model, Box([low], [high]), label, budget=5000)
        assert (answer.status, answer.witness) == ("unknown", None)
        assert answer.nodes < 20 or model is not bump
        assert -1e-6 < answer.bound <= 0 or model is cancelled


@given(st.integers(0, 10**6), st.integers(3, 5), st.booleans())
@settings(max_examples=30)
def test_certify_of_more_classes_proves_duels_and_refutes_votes(seed, n_classes, breaks):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % n_classes
    duelling = SVC(gamma=2.0, C=5.0, decision_function_shape="ovo").fit(X, y)
    model = SVC(gamma=2.0, C=5.0, break_ties=breaks).fit(X, y)
    for _ in range(3):
        low = rng.uniform(-2, 2, 2)
        box = Box(low, low + rng.uniform(0.02, 0.5, 2))
        label = int(model.predict([(box.lower + box.upper) / 2])[0])
        answer = certify(model, box, label, budget=300)
        assert_honest(model if answer.status == "refuted" else duelling, box, label, answer, rng)


def test_certify_bound_against_several_classes_is_below_all_their_duels():
    for draw in (15, 46, 71, 84):  # one class is beaten at once, another after some cuts
        rng = np.random.default_rng(draw)
        X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
        model = SVC(gamma=2.0, C=5.0, decision_function_shape="ovo").fit(X, y)
        for k in range(3):
            low = rng.uniform(-2, 2, 2)
            box = Box(low, low + rng.uniform(0.02, 1.0, 2))
            label = int(model.predict([(box.lower + box.upper) / 2])[0])
            answer = certify(model, box, label, budget=300)
            assert_honest(model, box, label, answer, np.random.default_rng(k))


def test_certify_of_a_machine_that_is_zero_everywhere_proves_neither_class():
    for kind in KINDS:
        zero = given_machine(kind, [[0.0, 1.0], [1.0, 0.5]], [0.0, 0.0], 0.0, gamma=0.7)
        assert {certify(zero, Box([0, 0], [1, 1]), k).status for k in (0, 1)} == {"unknown"}


def test_certify_of_a_plane_proves_nothing_of_the_largest_boxes():
    plane = given_machine("linear", [[1.0, 2.0], [-1.0, 0.5]], [1.0, 0.5], 0.25)
    ends = np.full(2, 1.7e308)
    for label in (0, 1):
        assert certify(plane, Box(-ends, ends), label, budget=200).status != "proved"


def test_certify_open_and_infinite_sides():
    model = SVC(gamma=1.0, C=10.0).fit([[0.0], [1.0], [3.0], [4.0]], ["near", "near", "far", "far"])
    for lower_closed, label in product((True, False), ("near", "far")):
        box = Box([0.0], [3.0], lower_closed=lower_closed, upper_closed=False)
        assert_refuted(model, box, label, certify(model, box, label))
    assert certify(model, Box([1.0], [1.0]), "near").status == "proved"
    assert certify(model, Box([1.0], [1.0]), "far").status == "refuted"
    space = FeatureSpace.from_data(np.array([[0.0], [4.0]]))
    assert certify(model, Box([-np.inf], [1.5]), "near", space=space).status == "proved"
    answer = certify(model, Box([-np.inf], [np.inf]), "near", space=space)
    assert answer.status == "refuted"
    assert 0.0 <= answer.witness[0] <= 4.0


COLOURS, SMOKERS = ["blue", "green", "red"], ["no", "yes"]


@pytest.fixture(scope="module")
def mixed_model(mixed):
    frame, y = mixed
    columns = make_column_transformer(
        (StandardScaler(), ["age", "dose"]), (OneHotEncoder(), ["smoker", "colour"])
    )
    return make_pipeline(columns, SVC(gamma=0.3, C=3.0)).fit(frame, y)


@given(seed=st.integers(0, 10**6))
def test_certify_sets_of_categories_as_every_case_tried(mixed_model, mixed, seed):
    names = tuple(mixed[0].columns)
    rng = np.random.default_rng(seed)
    sets = {1: rng.choice(3, int(rng.integers(1, 4)), replace=False).tolist()}
    if seed % 3:
        sets[3] = [seed % 2]
    age, dose = rng.uniform(25, 70), rng.uniform(0.1, 0.8)
    box = Box([age, -np.inf, dose, -np.inf], [age + 4, np.inf, dose + 0.1, np.inf], sets=sets)
    ages, doses = np.linspace(age, age + 4, 9), np.linspace(dose, dose + 0.1, 9)
    colours = [COLOURS[c] for c in box.sets[1]]
    smokers = [SMOKERS[c] for c in box.sets[3]] if 3 in box.sets else SMOKERS
    rows = pd.DataFrame(list(product(ages, colours, doses, smokers)), columns=names)
    said = set(mixed_model.predict(rows))
    for label in ("ill", "well"):
        answer = certify(mixed_model, box, label)
        if answer.status == "proved":
            assert said == {label}
        else:
            assert answer.status == "refuted"
            assert box.contains(answer.witness[None])[0]
            a, c, d, s = answer.witness
            row = pd.DataFrame([[a, COLOURS[int(c)], d, SMOKERS[int(s)]]], columns=names)
            assert mixed_model.predict(row)[0] != label
    # Combinations of categories share the budget.
    assert certify(mixed_model, box, "well", budget=3).nodes <= 3


def test_certify_features_that_the_machine_does_not_see_need_no_end(mixed, two_classes):
    X, y = two_classes
    columns = make_column_transformer((StandardScaler(), [0, 2]), remainder="drop")
    model = make_pipeline(columns, SVC()).fit(X, y)
    box = Box([4.9, -np.inf, 490.0], [5.1, np.inf, 510.0])
    assert certify(model, box, "inner").status == "proved"
    assert certify(model, box, "outer").witness.shape == (3,)
    grown = grow_box(model, X[0])
    assert (grown.lower[1], grown.upper[1]) == (-np.inf, np.inf)


def test_certify_many_combinations_of_categories_over_their_hull():
    letters, free = np.array(list("abcde")), ([-np.inf] * 3, [np.inf] * 3)
    X = letters[np.random.default_rng(6).integers(0, 5, (120, 3))]
    y = np.where((X == "a").any(axis=1), "some", "none")
    model = make_pipeline(OneHotEncoder(), SVC(gamma=0.1, C=10.0)).fit(X, y)
    everything = Box.unbounded(3)  # 125 combinations
    for box in (everything, Box(*free, sets={0: [0, 1, 2, 4]})):
        answer = certify(model, box, "some")
        assert answer.status == "refuted"
        assert box.contains(answer.witness[None])[0]
        assert model.predict(letters[answer.witness.astype(int)][None]).tolist() == ["none"]
    with_a = Box(*free, sets={0: [0], 1: [1, 2, 3, 4], 2: [1, 2, 3, 4]})
    assert certify(model, with_a, "some").status == "proved"
    calm = make_pipeline(OneHotEncoder(), SVC(gamma=0.01, C=1e-3, class_weight={"some": 9}))
    assert set(calm.fit(X, y).predict(X)) == {"some"}
    assert certify(calm, everything, "some").status == "proved"


def test_certify_over_whole_numbers_is_the_answer_of_all_cases():
    met, grid = set(), np.array(list(product(np.arange(7.0), repeat=2)))
    space = FeatureSpace(["x0", "x1"], [0.0, 0.0], [6.0, 6.0], integer=True)
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 7, (25, 2)).astype(float)
        y = np.where(X[:, 0] + rng.normal(0, 1.5, 25) > 3, "p", "n")
        model = SVC(gamma=float(rng.choice([0.05, 0.3, 2.0])), C=10.0).fit(X, y)
        low, high = np.sort(rng.uniform(-0.5, 6.5, (2, 2)), axis=0)
        box = Box(low, high, rng.random(2) < 0.5, rng.random(2) < 0.5)
        cases = grid[box.contains(grid)]
        for label in ("n", "p") if len(cases) else ():
            answer = certify(model, box, label, space=space)
            right = model.predict(cases) == label
            assert answer.status == ("proved" if right.all() else "refuted")
            met.add((certify(model, box, label).status, answer.status))
            if answer.status == "refuted":
                assert (cases[~right] == answer.witness).all(axis=1).any()
    # Some boxes hold a point of the other class between whole numbers alone.
    assert {("refuted", "proved"), ("refuted", "refuted"), ("proved", "proved")} <= met


@given(st.integers(0, 10**6), st.integers(2, 3), st.sampled_from(["rbf", "poly", "linear"]))
@settings(max_examples=15)
def test_grow_box_is_proved_and_around_its_case(seed, n_classes, kernel):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2)) * [1.0, 50.0]
    y = np.arange(30) % n_classes
    y[X[:, 0] > 0] = 0
    model = make_pipeline(StandardScaler(), SVC(kernel=kernel, C=10.0)).fit(X, y)
    space = FeatureSpace.from_data(X)
    box = None
    with contextlib.suppress(DataError):
        box = grow_box(model, X[0], space=space, budget=100)
    if box is None:  # the case is on the surface, or no class wins all its duels
        assert n_classes > 2 or np.abs(model.decision_function(X[:1])).min() < 1e-9
        return
    assert box.contains(X[:1])[0]
    assert ((box.lower >= space.lower) & (box.upper <= space.upper)).all()
    label = model.predict(X[:1])[0]
    assert certify(model, box, label, budget=5_000).status == "proved"
    assert (model.predict(rng.uniform(box.lower, box.upper, (500, 2))) == label).all()


def test_grow_box_ends_with_the_support_vectors_or_at_the_case(two_classes):
    X, y = two_classes
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = make_pipeline(StandardScaler(), SVC()).fit(frame, y)
    x, vectors = X[3], X[model[-1].support_]
    box = grow_box(model, x)
    assert (box.lower >= np.minimum(vectors.min(axis=0), x) - 1e-9).all()
    assert (box.upper <= np.maximum(vectors.max(axis=0), x) + 1e-9).all()
    assert all(grow_box(model, each) == box for each in (frame.iloc[[3]], dict(frame.iloc[3])))
    far = X.max(axis=0) * 1.5
    assert grow_box(model, far, space=FeatureSpace.from_data(frame)).contains(far[None])[0]


def test_grow_box_keeps_the_categories_of_a_case_whatever_their_order(mixed_model, mixed):
    for frame in (mixed[0], mixed[0][["colour", "smoker", "dose", "age"]]):
        space = FeatureSpace.from_data(frame)
        numbers = [space.index("age"), space.index("dose")]
        for row in (0, 5, 9):
            case = frame.iloc[[row]]
            box, label = grow_box(mixed_model, case, space=space), mixed_model.predict(case)[0]
            for j, names in ((space.index("colour"), COLOURS), (space.index("smoker"), SMOKERS)):
                assert [names[c] for c in box.sets[j]] == [case.iloc[0, j]]
            inside = case.iloc[0, numbers].to_numpy(dtype=float)
            assert ((box.lower[numbers] <= inside) & (inside <= box.upper[numbers])).all()
            for said, status in ((label, "proved"), ({"ill": "well"}.get(label, "ill"), "refuted")):
                answer = certify(mixed_model, box, said, space=space)
                assert answer.status == status
            assert box.contains(answer.witness[None])[0]


X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, "high", "low")
WHOLE = FeatureSpace(["x0", "x1", "x2"], integer=True)
MODEL, BOX = SVC().fit(X, Y), Box(np.zeros(3), np.ones(3))
UNION = FeatureUnion([("a", MinMaxScaler()), ("b", StandardScaler())])
UNREADABLE = [
    (LogisticRegression().fit(X, Y), "LogisticRegression"), (SVC(kernel="sigmoid").fit(X, Y), "sigmoid"),
    (SVC(kernel="precomputed").fit(X @ X.T, Y), "precomputed"),
    (SVC(kernel=lambda A, B: A @ B.T).fit(X, Y), "kernel"),
    (make_pipeline(PCA(2), SVC()).fit(X, Y), "column 0"),
    (make_pipeline(UNION, SVC()).fit(X, Y), "columns 0 and 3"),
    (make_pipeline(PowerTransformer(), SVC()).fit(X, Y), "powertransformer"),
    (make_pipeline(MinMaxScaler(clip=True), SVC()).fit(X, Y), "clip"),
    (GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2, refit=False).fit(X, Y), "refit"),
]  # fmt: skip
QUESTIONS = [
    (Box([0.0], [1.0]), {}, "1 features"), ([[0, 1]], {}, "box"), (Box.unbounded(3), {}, "'x0'"),
    (BOX, {"space": FeatureSpace(["x0"])}, "space"), (Box([0, 2, 0], [1, 1, 1]), {}, "'x1'"),
    (Box(X[0], X[0], upper_closed=False), {}, "'x0'"),
    (Box([1.2, 0, 0], [1.8, 1, 1]), {"space": WHOLE}, "'x0'"),
    (Box([-np.inf] * 3, [np.inf] * 3, missing=[1]), {}, "feature 1"),
    (BOX, {"budget": 0}, "budget"), (BOX, {"time_limit": -1.0}, "time_limit"),
]  # fmt: skip
CASES = [
    (X, {}, "40, 3"), ([1.0, np.nan, 3.0], {}, "'x1'"), ([1.0, 2.0], {}, "2 columns"),
    (X[0], {"space": FeatureSpace(["x0"])}, "space"), (X[0], {"budget": 0}, "budget"),
    (X[0], {"max_conditions": 0}, "max_conditions"),
]  # fmt: skip


def test_certify_and_grow_box_refuse_by_name(mixed_model, mixed):
    for model, name in UNREADABLE:
        with pytest.raises(InvalidValueError, match=name):
            certify(model, BOX, "high")
        with pytest.raises(ClearmarginError):
            grow_box(model, X[0])
    for box, options, name in QUESTIONS:
        with pytest.raises(ClearmarginError, match=name):
            certify(MODEL, box, "high", **options)
    for x, options, name in CASES:
        with pytest.raises(ValueError, match=name):
            grow_box(MODEL, x, **options)
    with pytest.raises(ClearmarginError, match="'high'"):
        certify(MODEL, BOX, "hgih")
    with pytest.raises(NotFittedError):
        certify(make_pipeline(StandardScaler(), SVC()), BOX, "high")
    unknown = Box([30.0, -np.inf, 0.1, -np.inf], [40.0, np.inf, 0.2, np.inf], sets={1: [7]})
    with pytest.raises(DataError, match="'colour'"):
        certify(mixed_model, unknown, "ill")
    with pytest.raises(ValueError, match="mauve"):
        grow_box(mixed_model, mixed[0].iloc[[0]].assign(colour="mauve"))
    with pytest.raises(DataError, match="one case"):
        grow_box(mixed_model, mixed[0].iloc[:2])
    even = SVC(gamma=0.5).fit([[-1.0], [1.0]], [0, 1])  # by symmetry the surface is at 0
    for x in (0.0, 1e-16):
        with pytest.raises(DataError, match="surface"):
            grow_box(even, [x], budget=10)
