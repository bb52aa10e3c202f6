"""The fewest features that force a class, against trying all sets of features in fractions."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from clearmargin import FeatureSpace, RuleSet
from clearmargin.models import PlaneModel
from clearmargin.models.surface import read_surface
from clearmargin.plane_rules.sufficient_reasons import ReasonSearch, fill_by_levels


def plane_model(weights, intercept, names=None, categories=None, classes=("no", "yes")):
    space = FeatureSpace(names or [f"x{j}" for j in range(len(weights))], categories=categories)
    return PlaneModel(RuleSet([], space, list(classes)), [weights], [intercept])


def fewest_by_enumeration(weights, intercept, low, high, case, label):
    """The smallest number of features that force the class, in fractions; f = 0 belongs to the first class."""
    w, b = [Fraction(v) for v in weights], Fraction(intercept)
    sign = 1 if label == 1 else -1
    for size in range(len(w) + 1):
        for kept in combinations(range(len(w)), size):
            worst = sign * b
            for j, a in enumerate(w):
                ends = [Fraction(case[j])] if j in kept else [Fraction(low[j]), Fraction(high[j])]
                worst += min(sign * a * end for end in ends)
            if worst > 0 or (worst == 0 and label == 0):
                return size
    return None


@st.composite
def whole_planes(draw):
    n = draw(st.integers(1, 6))
    numbers = st.integers(-4, 4)
    weights = draw(st.lists(numbers, min_size=n, max_size=n).filter(any))
    case = draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n))
    return weights, draw(st.integers(-12, 12)), case


@settings(max_examples=80, deadline=None)
@given(whole_planes())
def test_no_fewer_features_force_the_class_also_on_the_plane_itself(problem):
    weights, intercept, case = problem
    model = plane_model(np.array(weights, float), float(intercept))
    X = np.array([[-3.0] * len(case), [3.0] * len(case), case])
    surface = read_surface(model, X)
    (label,) = model.predict(X[2:])
    code = ["no", "yes"].index(label)
    found = ReasonSearch(surface, surface.columns).find(X[2:], np.array([code]))
    fewest = fewest_by_enumeration(weights, intercept, X[0], X[1], case, code)
    assert found.is_proved[0]
    assert found.n_conditions[0] == fewest
    assert_sound(found.box(0), weights, intercept, X, code)


def assert_sound(box, weights, intercept, X, code):
    """The worst corner of a box within the ranges, in fractions."""
    assert box.contains(X[2:])[0]
    sign = 1 if code == 1 else -1
    worst = sign * Fraction(intercept)
    for j, a in enumerate(weights):
        low, high = max(box.lower[j], X[:, j].min()), min(box.upper[j], X[:, j].max())
        worst += min(sign * Fraction(a) * Fraction(end) for end in (low, high))
    assert worst > 0 or (worst == 0 and code == 0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_random_planes_have_the_fewest_features_and_sound_boxes(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    weights, X = rng.normal(size=n), rng.normal(size=(30, n)) * rng.choice([1e-3, 1, 1e3], n)
    model = plane_model(weights, float(rng.normal()))
    surface = read_surface(model, X)
    codes = np.array([["no", "yes"].index(label) for label in model.predict(X)])
    found = ReasonSearch(surface, surface.columns).find(X, codes)
    assert found.is_proved.all()
    for k in range(3):
        low, high = X.min(axis=0), X.max(axis=0)
        fewest = fewest_by_enumeration(
            weights, float(model.intercept_[0]), low, high, X[k], codes[k]
        )
        assert found.n_conditions[k] == fewest
        rows = np.array([low, high, X[k]])
        assert_sound(found.box(k), weights, float(model.intercept_[0]), rows, codes[k])


def credit(m=300):
    rng = np.random.default_rng(7)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 80, m),
            "purpose": rng.choice(["car", "home", "trip", "other"], m),
            "pay": rng.normal(size=m) * 1000,
            "since": 1.7e9 + rng.random(m) * 1e7,
        }
    )
    y = np.where(X.age + 20 * (X.purpose == "car") + X.pay / 100 > 55, "good", "bad")
    encode = make_column_transformer((OneHotEncoder(), ["purpose"]), remainder=StandardScaler())
    return X, make_pipeline(encode, LinearSVC(random_state=0)).fit(X, y)


def reasons_of(model, X, cases=None):
    cases = X if cases is None else cases
    surface = read_surface(model, X)
    place = {label: k for k, label in enumerate(surface.classes)}
    codes = np.array([place[label] for label in model.predict(cases)])
    return surface, ReasonSearch(surface, surface.columns).find(surface.encode(cases), codes)


def test_categories_whole_numbers_and_offsets_are_forced_with_one_category_of_each():
    X, model = credit()
    surface, found = reasons_of(model, X)
    assert found.is_proved.all()
    rng = np.random.default_rng(0)
    predicted = model.predict(X)
    for k in range(0, 300, 20):
        box = found.box(k)
        assert box.contains(surface.read(X.iloc[[k]]))[0]
        # Ends of the box and of the ranges, and every category that is allowed.
        rows = pd.DataFrame(
            {
                name: rng.choice(
                    [max(box.lower[j], X[name].min()), min(box.upper[j], X[name].max())], 200
                )
                for j, name in enumerate(X.columns)
                if name != "purpose"
            }
        )
        allowed = box.sets[1] if 1 in box.sets else range(4)
        kinds = surface.space.categories[1]
        rows.insert(1, "purpose", rng.choice([kinds[c] for c in allowed], 200))
        assert (model.predict(rows) == predicted[k]).all()
        ends = np.array([box.lower[0], box.upper[0]])
        assert all(end == int(end) for end in ends[np.isfinite(ends)])


def test_ends_of_a_column_of_seconds_since_1970_have_few_digits():
    X, model = credit()
    _, found = reasons_of(model, X)
    with_time = np.flatnonzero(found.kept[:, 3])
    ends = np.concatenate([found.lower[with_time, 3], found.upper[with_time, 3]])
    ends = ends[np.isfinite(ends)]
    assert len(ends)
    assert np.mean(ends % 1000 == 0) > 0.5


def test_a_case_outside_of_the_ranges_widens_them_to_itself():
    X, model = credit()
    far = X.iloc[[0]].assign(age=200, pay=-9e4)
    surface, found = reasons_of(model, X, far)
    assert found.is_proved[0]
    assert found.box(0).contains(surface.read(far))[0]


def test_many_cases_get_what_each_gets_alone():
    X, model = credit(100)
    _, many = reasons_of(model, X)
    for k in (0, 17, 63):
        _, alone = reasons_of(model, X, X.iloc[[k]])
        assert alone.box(0) == many.box(k)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_three_classes_have_the_fewest_features_too(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 5))
    y = np.argmax(X[:, :3] + 0.3 * rng.normal(size=(150, 3)), axis=1)
    model = LogisticRegression().fit(X, y)
    surface, found = reasons_of(model, X)
    low, high = X.min(axis=0), X.max(axis=0)
    for k in range(0, 150, 10):
        code = int(model.predict(X[[k]])[0])
        duels = [h.sign * h.hyperplane.coef for h in surface.regions()[code]]
        slacks = [h.sign * h.hyperplane.decision(X[[k]])[0] for h in surface.regions()[code]]
        losses = [a * X[k] - np.minimum(a * low, a * high) for a in duels]
        sizes = [
            5 - size
            for size in range(6)
            for free in combinations(range(5), size)
            if all(
                loss[list(free)].sum() < slack for loss, slack in zip(losses, slacks, strict=True)
            )
        ]
        assert found.is_proved[k]
        assert found.is_fewest[k]
        assert found.n_conditions[k] == min(sizes)
        box = found.box(k)
        ends = np.where(
            rng.random((500, 5)) < 0.5, np.maximum(box.lower, low), np.minimum(box.upper, high)
        )
        assert (model.predict(ends) == code).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_levels_spend_the_budget_and_respect_their_limits(seed):
    rng = np.random.default_rng(seed)
    low = rng.random((4, 5))
    high = low + rng.random((4, 5))
    budget = low.sum(axis=1) + rng.random(4) * (high - low).sum(axis=1) * 1.2
    shares = fill_by_levels(low, high, budget)
    assert ((shares >= low) & (shares <= high)).all()
    assert shares.sum(axis=1) == pytest.approx(np.minimum(budget, high.sum(axis=1)))
    for row, (first, last) in zip(shares, zip(low, high, strict=True), strict=True):
        inner = row[(row > first + 1e-12) & (row < last - 1e-12)]
        assert np.ptp(inner) < 1e-9 if len(inner) else True


def test_ten_thousand_cases_a_second():
    from time import process_time

    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 20))
    model = make_pipeline(StandardScaler(), LinearSVC(dual=False)).fit(X[:500], X[:500, 0] > 0)
    surface = read_surface(model, X[:500])
    cases, codes = surface.encode(X), model.predict(X).astype(np.intp)
    start = process_time()
    found = ReasonSearch(surface, surface.columns).find(cases, codes)
    boxes = [found.box(k) for k in range(len(found))]
    assert process_time() - start < 1.0
    assert len(boxes) == 10_000
