"""Proved means that the model's own floating point agrees: on points next to the corners, at offsets up to 1e15."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC

from clearmargin import RuleExtractor
from clearmargin.models.score_error import Guard, PipelinePlane, ScoreError, direct_error
from clearmargin.models.surface import read_surface
from clearmargin.plane_rules.proof import retreat
from clearmargin.rules import Box, FeatureSpace, Hyperplane

OFFSETS = (0.0, 1e6, 1e9, 1e12, 1e13, 1e14, 1e15)


def table(seed, n=None):
    """Columns of sizes 0.1 to 1,000 with an offset each, and classes that a plane through them gives."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6)) if n is None else n
    scale = 10.0 ** rng.uniform(-1.0, 3.0, n)
    X = rng.normal(size=(120, n)) * scale
    y = (X / scale) @ rng.normal(size=n) + 0.3 * rng.normal(size=120) > 0
    X = X + rng.choice(OFFSETS, n)
    return np.round(X) if seed % 3 == 0 else X, y


def corners(box, positive, extractor, rng):
    """Points of floats in a box, 0 to 3 digits from the corner that is nearest to the plane, or from another one."""
    space = extractor.space_
    lower = np.maximum(box.lower, space.lower)
    upper = np.minimum(box.upper, space.upper)
    rising = (extractor.hyperplane_.coef > 0) == positive
    ends = np.where(rising ^ (rng.random((300, len(lower))) < 0.1), lower, upper)
    digits = rng.integers(0, 4, ends.shape) * np.spacing(np.abs(ends))
    found = np.where(ends == lower, ends + digits, ends - digits)
    return found[box.contains(found)]


@pytest.mark.parametrize(
    ("seed", "scaler", "classifier"),
    [
        (7, None, RidgeClassifier()),
        (9, RobustScaler(), LogisticRegression()),
        (6, MinMaxScaler(), LogisticRegression()),
        (17, StandardScaler(), SVC(kernel="linear")),
        (4, StandardScaler(), RidgeClassifier()),
    ],
    ids=["plain", "robust", "min-max", "svc", "standard"],
)
def test_no_point_of_a_proved_rule_is_contradicted_by_the_model_or_by_fractions(
    seed, scaler, classifier
):
    X, y = table(seed)
    if scaler is None:
        # At such offsets a plain model cannot be trained, but its plane can be moved there.
        model = classifier.fit(X - X.mean(axis=0), y)
        model.intercept_ = model.intercept_ - model.coef_ @ X.mean(axis=0)
    else:
        model = make_pipeline(scaler, classifier).fit(X, y)
    extractor = RuleExtractor(model, min_coverage=2, max_rules=None, progress=False).fit(X, y)
    assert min(extractor.coverage_.values()) > 0.3
    rng = np.random.default_rng(seed)
    for rule in extractor.rules_:
        assert rule.proof == "proved"
        P = corners(rule.region, bool(rule.label), extractor, rng)
        assert (model.predict(P) == rule.label).all()
        # Also one by one: a row alone takes another way through a matrix product.
        assert all(model.predict(row[None])[0] == rule.label for row in P[:3])
        for row in P[:20]:
            assert (exact_score_of(scaler, classifier, row) > 0) == rule.label


def exact_score_of(scaler, classifier, row):
    w, b = np.ravel(classifier.coef_).tolist(), float(np.ravel(classifier.intercept_)[0])
    total = Fraction(b)
    for j, (x, weight) in enumerate(zip(row.tolist(), w, strict=True)):
        z = Fraction(x)
        if isinstance(scaler, MinMaxScaler):
            z = z * Fraction(float(scaler.scale_[j])) + Fraction(float(scaler.min_[j]))
        elif scaler is not None:
            mean = scaler.mean_ if hasattr(scaler, "mean_") else scaler.center_
            z = (z - Fraction(float(mean[j]))) / Fraction(float(scaler.scale_[j]))
        total += Fraction(weight) * z
    return total


def pipelines():
    columns = ColumnTransformer(
        [("a", StandardScaler(), [0, 2]), ("b", "passthrough", [1])],
        transformer_weights={"a": 0.3},
    )
    union = FeatureUnion([("one", StandardScaler()), ("two", MinMaxScaler())])
    return [
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(RobustScaler(), LinearSVC()),
        make_pipeline(MinMaxScaler(), StandardScaler(), RidgeClassifier()),
        make_pipeline(MaxAbsScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(), PCA(2, whiten=True), LogisticRegression()),
        make_pipeline(PCA(2), RidgeClassifier()),
        make_pipeline(columns, RidgeClassifier()),
        make_pipeline(union, LogisticRegression()),
        make_pipeline(StandardScaler(), SVC(kernel="linear")),
    ]


@pytest.mark.parametrize("kind", range(9))
@pytest.mark.parametrize("single", [False, True])
def test_the_score_that_a_pipeline_computes_is_within_the_bound(kind, single):
    rng = np.random.default_rng(kind)
    for offset in (0.0, 1e5) if single else OFFSETS:
        X, y = table(kind, 3)
        X = X - X.mean(axis=0) + offset
        X = X.astype(np.float32) if single else X
        model = pipelines()[kind].fit(X, y)
        surface = read_surface(model, X)
        (guard,) = surface.guards()[1]
        P = X[rng.integers(0, 120, 200)] + rng.normal(size=(200, 3)) * X.std(axis=0)
        P = P.astype(X.dtype)
        # A duel of libsvm is turned round: ties go to the second class.
        turned = -1.0 if surface.planes[0].positive == 0 else 1.0
        computed = turned * np.asarray(model.decision_function(P), dtype=float)
        for row, score in zip(P.astype(float), computed.tolist(), strict=True):
            bound = guard.error.bound(np.abs(row - guard.error.centre))
            assert abs(score - guard.error.score(row)) <= bound
            # A bound that is no use would be no lie either: behind a scaler it is tiny at any offset.
            if kind in (0, 1) and not single:
                assert bound <= 1e-13 * (1.0 + np.abs(computed).max())


def test_categories_and_numbers_together_are_within_the_bound():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"time": 1.7e9 + rng.normal(size=90), "kind": rng.choice(["a", "b"], 90)})
    y = (frame["time"] - 1.7e9 + (frame["kind"] == "a") > 0.4).to_numpy()
    steps = ColumnTransformer([("n", StandardScaler(), ["time"]), ("c", OneHotEncoder(), ["kind"])])
    model = make_pipeline(steps, LogisticRegression()).fit(frame, y)
    surface = read_surface(model, frame)
    (guard,) = surface.guards()[1]
    computed = model.decision_function(frame)
    for row, score in zip(surface.encode(frame), computed, strict=True):
        bound = guard.error.bound(np.abs(row - guard.error.centre))
        assert abs(score - guard.error.score(row)) <= bound <= 1e-12


@given(st.integers(0, 2**32))
def test_a_guard_admits_no_box_whose_worst_corner_any_order_of_additions_gets_wrong(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    coef = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 3, n)
    far = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 6, n)
    intercept = -float(coef @ far) * (1.0 + rng.choice([0.0, 1e-16, -1e-16, 1e-15, 1e-13]))
    plane = Hyperplane(coef, intercept)
    sign = int(rng.choice([1, -1]))
    lower = np.where(sign * coef > 0, far, -np.inf)
    upper = np.where(sign * coef > 0, np.inf, far)
    guard = Guard(plane.side(sign), direct_error(plane))
    if guard.proves(Box(lower, upper)):
        assert Box(lower, upper).is_inside(plane.side(sign))
        for _ in range(5):
            order = rng.permutation(n)
            total = intercept if rng.random() < 0.5 else 0.0
            start = total
            for j in order:
                total += coef[j] * far[j]
            total += intercept if start == 0.0 else 0.0
            assert (total > 0) == (sign > 0)


def test_sums_that_need_no_rounding_are_proved_up_to_the_plane():
    plane = Hyperplane([1.0, 0.5], -50.0)
    below = Guard(plane.side(-1), direct_error(plane))
    assert below.proves(Box([-np.inf, -np.inf], [49.0, 2.0]))
    above = Guard(plane.side(1), direct_error(plane))
    assert not above.proves(Box([49.0, 2.0], [np.inf, np.inf]))
    assert above.proves(Box([49.0, 2.0], [np.inf, np.inf], lower_closed=[True, False]))
    # A tenth is no binary fraction: the same corner is out of reach.
    tenth = Hyperplane([0.1, 0.05], -5.0)
    assert not Guard(tenth.side(-1), direct_error(tenth)).proves(
        Box([-np.inf, -np.inf], [49.0, 2.0])
    )


def test_a_box_that_rounding_could_contradict_gives_up_the_face_that_costs_least():
    plane = Hyperplane([0.1, 0.05], -5.0)
    guard = Guard(plane.side(-1), direct_error(plane))
    columns = FeatureSpace(["n", "x"], [0.0, 0.0], [90.0, 9.0], [True, False])
    box, anywhere = Box([0.0, 0.0], [49.0, 2.0]), Box.unbounded(2)
    points = np.array([[49.0, 1.5], [3.0, 0.1]])
    smaller = retreat(box, [guard], anywhere, columns, points)
    assert guard.proves(smaller)
    assert smaller.contains(points).all()
    assert smaller.upper.tolist() == [49.0, 1.99]
    # Where every face has a point on it, one is lost.
    tight = np.array([[49.0, 0.0], [0.0, 2.0], [1.0, 2.0]])
    smaller = retreat(box, [guard], anywhere, columns, tight)
    assert smaller.contains(tight).tolist() == [False, True, True]
    assert retreat(box, [guard], anywhere, columns, np.array([[49.0, 2.0]])) is None


def test_a_plane_of_a_pipeline_travels_with_its_error():
    import pickle

    plane = PipelinePlane(direct_error(Hyperplane([2.0, 0.0], -1.0)))
    again = pickle.loads(pickle.dumps(plane))
    assert again.coef.tolist() == [2.0, 0.0]
    assert again.intercept == -1.0
    assert again.error.bound(np.ones(2)) == plane.error.bound(np.ones(2))


@given(st.integers(0, 10**6))
def test_what_is_left_of_a_box_is_proved_by_every_guard(seed):
    """Scores whose error is small, and such whose error grows faster than they do."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    columns = FeatureSpace([f"x{j}" for j in range(n)], [-4.0] * n, [4.0] * n, rng.random(n) < 0.3)
    guards = []
    for _ in range(int(rng.integers(1, 4))):
        plane = Hyperplane(rng.integers(-3, 4, n) + np.eye(n)[0] * 5, float(rng.integers(-3, 4)))
        slope = np.abs(plane.coef) * rng.choice([1e-16, 1e-3, 0.4, 1.0], n)
        base = float(rng.choice([0.0, 1e-9, 50.0], p=[0.5, 0.4, 0.1]))
        error = ScoreError(plane.coef, np.zeros(n), plane.intercept, slope, base)
        guards.append(Guard(plane.side(int(rng.choice([-1, 1]))), error))
    points = rng.integers(-4, 5, (6, n)).astype(float)
    box, limits = Box([-4.0] * n, [4.0] * n), Box.unbounded(n)
    left = retreat(box, guards, limits, columns, points)
    if left is not None:
        assert all(guard.proves(left) for guard in guards)
        assert (left.lower >= box.lower).all()
        assert (left.upper <= box.upper).all()
        assert left.contains(points).any()


def test_where_rounding_may_change_every_answer_nothing_is_left():
    columns, box = FeatureSpace(["x"], [0.0], [4.0]), Box([1.0], [4.0])
    points = np.array([[2.0], [3.0]])
    plane = Hyperplane([1.0], 0.0)
    for slope, base in [(1.0, 0.0), (1e-16, 9.0)]:
        error = ScoreError(plane.coef, np.zeros(1), 0.0, np.array([slope]), base)
        guard = Guard(plane.side(1), error)
        assert retreat(box, [guard], Box.unbounded(1), columns, points) is None
    huge = Hyperplane([1e308], 0.0)
    error = ScoreError(huge.coef, np.zeros(1), 0.0, np.array([1e307]), 0.0)
    far = Box([1e3], [1e300])
    assert (
        retreat(far, [Guard(huge.side(1), error)], Box.unbounded(1), columns, points * 1e290)
        is None
    )
