"""Clusters by the smallest sphere in feature space."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.distance import pdist
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.svm import OneClassSVM

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.kernel_rules.baselines import hyper_rectangles
from clearmargin.kernel_rules.baselines.hyper_rectangles import support_clusters


def brute_force(points, q, outliers, samples=12):
    """Every pair of points, every sample of its segment, R itself from the dual of the smallest sphere."""
    m = len(points)
    K = np.exp(-q * ((points[:, None] - points) ** 2).sum(axis=2))
    top = 1.0 / (outliers * m)
    found = minimize(
        lambda b: b @ K @ b,
        np.full(m, 1.0 / m),
        jac=lambda b: 2 * K @ b,
        bounds=[(0.0, top)] * m,
        constraints={"type": "eq", "fun": lambda b: b.sum() - 1.0, "jac": lambda b: np.ones(m)},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    b = found.x

    def radius(x):
        return 1.0 - 2.0 * b @ np.exp(-q * ((points - x) ** 2).sum(axis=1)) + b @ K @ b

    free = [i for i in range(m) if 1e-6 < b[i] < top - 1e-6]
    limit = np.mean([radius(points[i]) for i in free])
    parent = list(range(m))
    for i in range(m):
        for j in range(i):
            ts = np.arange(1, samples + 1) / (samples + 1)
            inside = all(
                radius(points[i] + t * (points[j] - points[i])) <= limit + 1e-4 for t in ts
            )
            if inside and max(radius(points[i]), radius(points[j])) <= limit + 1e-4:
                old, new = parent[i], parent[j]
                parent = [new if p == old else p for p in parent]
    return parent, [radius(p) > limit + 1e-4 for p in points]


@pytest.mark.parametrize(("seed", "q", "outliers"), [(0, 1.0, 0.04), (1, 3.0, 0.04), (2, 6.0, 0.2)])
def test_clusters_are_those_of_the_dual_written_out(seed, q, outliers):
    rng = np.random.default_rng(seed)
    points = np.vstack([rng.normal(c, 0.3, size=(9, 2)) for c in ((0, 0), (3, 0), (0, 3))])
    parent, outside = brute_force(points, q, outliers)
    found = support_clusters(points, q, outliers=outliers)
    assert found.outliers.tolist() == outside
    inside = ~np.array(outside)
    assert adjusted_rand_score(np.array(parent)[inside], found.labels[inside]) == 1.0


@pytest.mark.parametrize("n", [120, 400])
@pytest.mark.parametrize("make", ["moons", "rings"])
def test_moons_and_rings_are_found(make, n):
    if make == "moons":
        X, y = make_moons(n, noise=0.05, random_state=0)
    else:
        X, y = make_circles(n, noise=0.05, factor=0.3, random_state=0)
    found = support_clusters(X, q=10.0, outliers=0.02)
    assert found.n_clusters == 2
    assert adjusted_rand_score(y, found.labels) == 1.0


def test_the_scale_is_refined_until_support_vectors_are_too_many():
    X, y = make_moons(400, noise=0.05, random_state=0)
    found = support_clusters(X, max_support=0.12)
    assert found.support_share <= 0.12
    assert adjusted_rand_score(y, found.labels) == 1.0
    machine = OneClassSVM(gamma=2 * found.q, nu=0.05, tol=1e-4).fit(X)
    assert len(machine.support_) > 0.12 * len(X)


def test_of_very_many_points_the_widest_distance_is_bounded_from_above():
    X, _ = make_moons(300, noise=0.05, random_state=1)
    widest = pdist(X).max()
    assert hyper_rectangles._widest(X) == widest
    assert widest <= hyper_rectangles._widest(np.vstack([X] * 7)) <= np.sqrt(2) * widest


def test_doubling_ends_where_it_would_never_end(monkeypatch):
    X, _ = make_moons(60, noise=0.05, random_state=0)
    monkeypatch.setattr(hyper_rectangles, "_DOUBLINGS", 1)
    assert support_clusters(X, max_support=0.99).q == 2 / hyper_rectangles._widest(X) ** 2


def test_neighbours_tell_the_same_as_all_pairs(monkeypatch):
    X, _ = make_moons(150, noise=0.05, random_state=3)
    all_pairs = support_clusters(X, q=12.0).labels
    monkeypatch.setattr(hyper_rectangles, "_ALL_PAIRS", 10)
    np.testing.assert_array_equal(support_clusters(X, q=12.0).labels, all_pairs)


def test_a_copied_point_counts_as_often_as_it_is_there():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 2))
    copied = np.repeat(X, np.where(np.arange(30) < 8, 9, 1), axis=0)
    machine = OneClassSVM(gamma=2.0, nu=0.3, tol=1e-6).fit(copied)
    outside = machine.decision_function(copied) < -2e-4
    found = support_clusters(copied, q=2.0, outliers=0.3)
    np.testing.assert_array_equal(found.outliers, outside)
    assert outside.sum() != support_clusters(X, q=2.0, outliers=0.3).outliers.sum()


def test_equal_points_are_one_cluster():
    found = support_clusters(np.ones((4, 3)))
    assert found.labels.tolist() == [0, 0, 0, 0]
    assert not found.outliers.any()


@settings(max_examples=15)
@given(st.integers(0, 1000), st.integers(1, 25), st.floats(0.01, 0.9))
def test_every_point_has_a_cluster_and_the_largest_come_first(seed, m, outliers):
    X = np.random.default_rng(seed).normal(size=(m, 2)).round(1)
    found = support_clusters(X, q=20.0, outliers=outliers)
    sizes = np.bincount(found.labels)
    assert found.labels.min() == 0
    assert (sizes > 0).all()
    assert (np.diff(sizes) <= 0).all()


@pytest.mark.parametrize(
    ("points", "options", "error", "message"),
    [
        ([1.0, 2.0], {}, DataError, r"at least one row, not of shape \(2,\)"),
        (np.empty((0, 2)), {}, DataError, "at least one row"),
        ([[0.0], [np.nan]], {}, DataError, "row 2, column 'x0' is nan"),
        ([[0.0], [1.0]], {"outliers": 0.0}, InvalidValueError, "outliers must be a share"),
        ([[0.0], [1.0]], {"max_support": 1.5}, InvalidValueError, "max_support must be a share"),
        ([[0.0], [1.0]], {"q": -1.0}, InvalidValueError, "q must be a positive number"),
        ([[0.0], [1.0]], {"samples": 0}, InvalidValueError, "samples must be a whole number"),
    ],
)
def test_what_cannot_be_clustered_is_refused(points, options, error, message):
    with pytest.raises(error, match=message):
        support_clusters(points, **options)
