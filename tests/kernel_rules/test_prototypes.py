"""Prototypes, the figures that support vectors span around them, and the test that cuts them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from clearmargin.datasets import load_wbc
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.kernel_rules.baselines.prototypes import (
    Ellipsoid,
    PrototypeRegion,
    PrototypeRules,
    axes_to_vectors,
    need_partition,
    span_region,
)
from clearmargin.kernel_rules.baselines.support_rows import RangeScale
from clearmargin.rule_base.box_rules import SupportVectors


@parametrize_with_checks([PrototypeRules(max_iter=2)])
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)


def axes_step_by_step(centre, vectors):
    """As published: the farthest vector, then the farthest of what is orthogonal to the axes before."""
    rest = [v - centre for v in vectors]
    axes = []
    while rest and len(axes) < len(centre):
        longest = max(rest, key=np.linalg.norm)
        length = np.linalg.norm(longest)
        if length < 1e-8:
            break
        axes.append(longest)
        direction = longest / length
        rest = [r - (r @ direction) * direction for r in rest]
    return axes


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 4))
def test_axes_are_those_of_the_loop(seed, s, n):
    rng = np.random.default_rng(seed)
    centre, vectors = rng.normal(size=n), rng.normal(size=(s, n))
    axes = axes_to_vectors(centre, vectors)
    expected = axes_step_by_step(centre, vectors)
    np.testing.assert_allclose(axes[: len(expected)], expected, atol=1e-9)
    gram = axes @ axes.T
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-9)
    shortest = min(np.linalg.norm(a) for a in expected)
    np.testing.assert_allclose(np.linalg.norm(axes[len(expected) :], axis=1), shortest)


def test_a_prototype_by_itself_has_a_thin_ellipsoid():
    for vectors in (np.empty((0, 2)), np.zeros((3, 2))):
        axes = axes_to_vectors(np.zeros(2), vectors)
        assert (np.linalg.norm(axes, axis=1) == 1e-6).all()


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_an_ellipsoid_is_where_the_quadratic_form_is_at_most_one(seed, n):
    rng = np.random.default_rng(seed)
    centre, axes = rng.normal(size=n), axes_to_vectors(np.zeros(n), rng.normal(size=(n + 1, n)))
    axes = axes * rng.uniform(0.1, 10.0, n)  # columns in other units
    ellipsoid = Ellipsoid(centre, axes, "a")
    M = np.linalg.inv(axes.T @ axes)
    points = centre + rng.normal(size=(20, n)) @ axes
    form = np.einsum("ij,jk,ik->i", points - centre, M, points - centre)
    np.testing.assert_allclose(ellipsoid.distance(points) ** 2, form, rtol=1e-6)
    assert ellipsoid.contains(ellipsoid.vertices).all()
    assert not ellipsoid.contains(centre + 1.001 * axes).any()
    assert not ellipsoid.contains(np.full((1, n), np.nan)).any()


def test_an_ellipsoid_is_a_value():
    one, same = (Ellipsoid([0.0], [[2.0]], "a") for _ in range(2))
    assert one == same == pickle.loads(pickle.dumps(one))
    assert one != Ellipsoid([0.0], [[2.0]], "b")
    with pytest.raises(ValueError, match="read-only"):
        one.centre[0] = 1.0


@pytest.mark.parametrize(
    ("centre", "axes", "message"),
    [
        ([[0.0]], [[1.0]], "one point, not of shape"),
        ([0.0], [[1.0, 0.0]], "needed"),
        ([0.0, 0.0], [[1.0, 0.0], [2.0, 0.0]], "independent; one is flat"),
        ([0.0], [[np.inf]], "must be finite"),
    ],
)
def test_what_is_no_ellipsoid_is_refused(centre, axes, message):
    with pytest.raises(InvalidValueError, match=message):
        Ellipsoid(centre, axes, "a")


class Line:
    """A model that says 1 to the right of a place."""

    classes = ("left", "right")

    def __init__(self, place):
        self.place = place

    def ask(self, points):
        return (points[:, 0] > self.place).astype(int)


def literal_test(task, region, support, shape):
    """(a) the prototype, (b) a vertex, (c) a foreign support vector, one after the other."""
    centre = region.ellipsoid.centre
    ends = []
    if shape == "ellipsoid":
        ends = [centre + s * a for a in region.ellipsoid.axes for s in (-1, 1)]
    else:
        for j in range(len(centre)):
            for bound in (region.lower[j], region.upper[j]):
                end = centre.copy()
                end[j] = bound
                ends.append(end)
    for point in [centre, *ends]:
        if task.ask(point[None])[0] != region.code:
            return True
    for vector, code in zip(support.points, support.codes, strict=True):
        if shape == "ellipsoid":
            t = np.linalg.solve(region.ellipsoid.axes.T, vector - centre)
            inside = t @ t <= 1
        else:
            inside = all(region.lower <= vector) and all(vector <= region.upper)
        if inside and code != region.code:
            return True
    return False


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from(["interval", "ellipsoid"]))
def test_regions_are_cut_as_the_literal_test_says(seed, shape):
    rng = np.random.default_rng(seed)
    task = Line(rng.normal())
    support = SupportVectors(rng.normal(size=(5, 2)), rng.integers(0, 2, 5))
    regions = []
    for _ in range(4):
        centre = rng.normal(size=2)
        around = centre + 0.7 * rng.normal(size=(3, 2))
        every = np.vstack([centre, around])
        ellipsoid = Ellipsoid(centre, axes_to_vectors(centre, around), "a")
        code = int(rng.integers(0, 2))
        regions.append(PrototypeRegion(ellipsoid, every.min(axis=0), every.max(axis=0), code))
    cut = need_partition(task, regions, support, shape)
    assert cut.tolist() == [literal_test(task, region, support, shape) for region in regions]


def test_a_class_that_nothing_disturbs_has_one_prototype():
    X, y = make_blobs([60, 60], centers=[(0, 0), (20, 20)], random_state=0)
    rules = PrototypeRules(random_state=0).fit(X, y)
    assert rules.n_iter_ == 1
    assert len(rules.rules_) == len(rules.ellipsoids_) == 2
    for ellipsoid in rules.ellipsoids_:
        np.testing.assert_allclose(ellipsoid.centre, X[y == ellipsoid.label].mean(axis=0))


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(0, 5), st.integers(1, 3))
def test_a_region_holds_its_prototype_and_the_vectors_of_its_axes(seed, s, n):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(10, n)) * rng.uniform(0.1, 100.0, n)
    scale = RangeScale.of(points)
    centre = scale.shares(points).mean(axis=0)
    region = span_region(Line(0.0), centre, points[:s], scale, 1)
    prototype = region.ellipsoid.centre
    np.testing.assert_allclose(prototype, points.mean(axis=0))
    for shape in ("interval", "ellipsoid"):
        assert region.contains(prototype[None], shape).all()
        assert region.vertices(shape).shape == (2 * n, n)
    assert region.contains(points[:s], "interval").all()
    if s:
        # The first axis ends in the vector farthest out, in shares of the ranges.
        far = np.argmax(np.linalg.norm(scale.shares(points[:s]) - centre, axis=1))
        assert region.ellipsoid.contains(points[far][None]).all()
        assert region.ellipsoid.distance(points[far][None]) == pytest.approx(1.0)


def test_a_class_is_cut_until_its_regions_are_clean():
    X, y = make_moons(200, noise=0.1, random_state=1)
    once = PrototypeRules(max_iter=1, random_state=0).fit(X, y)
    more = PrototypeRules(random_state=0).fit(X, y)
    said = more.estimator_.predict(X)
    assert once.n_iter_ == 1 < more.n_iter_
    assert (more.predict(X) == said).mean() > max(0.98, (once.predict(X) == said).mean())


@pytest.mark.parametrize("shape", ["interval", "ellipsoid"])
def test_the_shape_that_was_asked_for_decides(shape):
    X, y = make_moons(150, noise=0.2, random_state=0)
    rules = PrototypeRules(shape=shape, random_state=0, fallback="abstain").fit(X, y)
    expected = np.full(len(X), None, dtype=object)
    if shape == "interval":
        for i, r in enumerate(rules.rules_.which(X)):
            if r >= 0:
                expected[i] = rules.rules_[r].label
    else:
        for ellipsoid in reversed(rules.ellipsoids_):
            expected[ellipsoid.contains(X)] = ellipsoid.label
    assert rules.predict(X).tolist() == expected.tolist()


def test_far_from_all_ellipsoids_the_one_with_the_nearest_surface_decides():
    X, y = make_moons(150, noise=0.2, random_state=0)
    X *= [1000.0, 1.0]
    rules = PrototypeRules(shape="ellipsoid", random_state=0).fit(X, y)
    angles = np.linspace(0.0, 6.0, 24)
    far = np.column_stack([500.0 + 6000.0 * np.cos(angles), 6.0 * np.sin(angles)])
    expected = []
    for point in far:
        gaps = []
        for e in rules.ellipsoids_:
            assert not e.contains(point[None]).any()
            # Walk from the centre to the point; the last step inside is at the surface.
            steps = e.centre + np.linspace(0.0, 1.0, 20_001)[:, None] * (point - e.centre)
            surface = steps[np.flatnonzero(e.contains(steps))[-1]]
            gaps.append(np.linalg.norm((point - surface) / np.ptp(X, axis=0)))
        expected.append(rules.ellipsoids_[int(np.argmin(gaps))].label)
    assert rules.predict(far).tolist() == expected


def test_ellipsoids_come_by_how_sure_they_are():
    X, y = load_iris(return_X_y=True)
    rules = PrototypeRules(random_state=0, max_rules=6).fit(X, y)
    said = rules.estimator_.predict(X)
    held = [said[e.contains(X)] == e.label for e in rules.ellipsoids_]
    sure = [(h.sum() + 1) / (len(h) + 3) for h in held]
    assert sure == sorted(sure, reverse=True)
    labels = [e.label for e in rules.ellipsoids_]
    assert set(labels) == {0, 1, 2}
    assert len(labels) <= 6
    assert {rule.label for rule in rules.rules_} == {0, 1, 2}


def test_the_seed_decides_and_the_names_reach_the_text():
    X, y = load_wbc(return_X_y=True)
    one, same = (PrototypeRules(random_state=3).fit(X, y) for _ in range(2))
    assert one.rules_ == same.rules_
    assert one.ellipsoids_ == same.ellipsoids_
    assert "bare_nuclei" in str(one.rules_)


def test_units_of_the_columns_do_not_matter():
    X, y = make_moons(120, noise=0.2, random_state=0)
    factor = np.array([2.0**10, 2.0**-10])
    one = PrototypeRules(random_state=0).fit(X, y)
    other = PrototypeRules(random_state=0).fit(X * factor, y)
    assert (one.predict(X) == other.predict(X * factor)).mean() > 0.99


def test_a_kernel_of_ones_own_is_enough():
    X, y = make_moons(120, noise=0.1, random_state=0)
    rules = PrototypeRules(SVC(kernel=laplacian_kernel), random_state=0).fit(X, y)
    assert (rules.predict(X) == rules.estimator_.predict(X)).mean() > 0.95


def test_too_much_to_ask_of_ellipsoids_is_said():
    X, y = make_moons(60, noise=0.1, random_state=0)
    with pytest.raises(
        DataError, match=r"no ellipsoid covers 1000 training points .* lower min_coverage"
    ):
        PrototypeRules(shape="ellipsoid", min_coverage=1000).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shape": "ball"}, "shape must be one of 'interval', 'ellipsoid', not 'ball'"),
        ({"k_max": 0}, "k_max must be a whole number from 1"),
        ({"max_iter": 0}, "max_iter must be a whole number from 1"),
        ({"estimator": LogisticRegression()}, "no support vectors; SurrogateRules"),
    ],
)
def test_parameters_without_sense_are_refused(options, message):
    X, y = make_moons(30, random_state=0)
    with pytest.raises(InvalidValueError, match=message):
        PrototypeRules(**options).fit(X, y)


def test_a_precomputed_kernel_is_refused():
    X, y = make_moons(30, random_state=0)
    with pytest.raises(InvalidValueError, match="precomputed"):
        PrototypeRules(SVC(kernel="precomputed")).fit(X @ X.T, y)
