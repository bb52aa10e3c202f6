"""Crossings of axis-parallel lines with the surface of a kernel machine, beside a dense scan with bisection."""

from __future__ import annotations

import os
import tracemalloc
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, NuSVC, OneClassSVM

from clearmargin.kernel_rules import bernstein, kernels
from clearmargin.kernel_rules.crossings import all_crossings, nearest_crossings
from clearmargin.models.kernel_function import KernelFunction

FULL = os.environ.get("HYPOTHESIS_PROFILE") == "full"
SCAN = 4_001
# Values below this share of sum_i |c_i| k_i + |b|, or of sum_i |c_i|, have no sign that the scan could vouch for.
NOISE, FAR = 2e-12, 1e-20


def machine(seed):
    """A fitted machine of a random kind with its points; features between 0 and 1."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 9)), int(rng.integers(12, 40))
    X = rng.random((m, n))
    if rng.random() < 0.2:
        X = X.round(1)  # ties, and crossings in special places
    y = (np.sin(rng.uniform(3, 9) * X[:, 0]) + X.sum(axis=1) * rng.normal() > 0.3) ^ (
        rng.random(m) < 0.1
    )
    y[:4] = [True, False, True, False]
    kernel = str(rng.choice(["rbf", "rbf", "rbf", "poly", "poly", "linear", "sigmoid"]))
    options = {
        "kernel": kernel,
        "gamma": 10.0 ** rng.uniform(-2, 3 if kernel == "rbf" else 0.7),
        "degree": int(rng.integers(1, 8)),
        "coef0": float(rng.choice([0.0, 1.0, -0.5])),
        "max_iter": 20_000,
    }
    kind = rng.choice(["svc", "svc", "nu", "one"])
    if kind == "svc":
        model = SVC(C=10.0 ** rng.uniform(-1, 3), **options)
    elif kind == "nu":
        model = NuSVC(nu=rng.uniform(0.1, 0.5) * min(y.mean(), 1 - y.mean()), **options)
    else:
        model = OneClassSVM(nu=rng.uniform(0.05, 0.6), **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # any machine will do
        try:
            model.fit(X) if kind == "one" else model.fit(X, y)
        except ValueError:  # a nu that libsvm fails with
            model = SVC(**options).fit(X, y)
        if (
            np.abs(model.dual_coef_).max() > 1e9
        ):  # so does a nu at its limit: what is left is rounding
            model = SVC(**options).fit(X, y)
    function = KernelFunction(
        kernel,
        model.support_vectors_,
        model.dual_coef_.T,
        model.intercept_,
        model._gamma,
        model.coef0,
        model.degree,
    )
    return function, X


@dataclass
class Line:
    """The functions on one line, summed up support vector by support vector."""

    function: KernelFunction
    anchor: np.ndarray
    axis: int

    def __call__(self, t):
        """Values and the sizes of what is added up, over t and functions."""
        f, (z, axis) = self.function, (self.anchor, self.axis)
        others = np.arange(len(z)) != axis
        S, s = f.vectors[:, others], f.vectors[:, axis]
        if f.kind == "rbf":
            rest = ((z[others] - S) ** 2).sum(axis=1)
            K = np.exp(-f.gamma * (rest + np.subtract.outer(t, s) ** 2))
        else:
            K = (z[others] * S).sum(axis=1) + np.multiply.outer(t, s)
            if f.kind != "linear":
                K = f.gamma * K + f.coef0
                K = np.tanh(K) if f.kind == "sigmoid" else K**f.degree
        size = np.maximum(np.abs(K), 1.0) if f.kind != "rbf" else K
        return K @ f.coefs + f.intercepts, size @ np.abs(f.coefs) + np.abs(f.intercepts)

    def signs(self, t):
        values, sizes = self(t)
        noise = NOISE * sizes + FAR * np.abs(self.function.coefs).sum(axis=0)
        return np.where(np.abs(values) > noise, np.sign(values), 0.0)


def scanned(line, low, high, column):
    """Points of a dense scan with a sign, these signs, and the roots that bisection finds where they change."""
    t = np.linspace(low, high, SCAN)
    signs = line.signs(t)[:, column]
    t, signs = t[signs != 0], signs[signs != 0]
    k = np.flatnonzero(signs[1:] != signs[:-1])
    a, b, left = t[k], t[k + 1], signs[k]
    for _ in range(60 if len(a) else 0):
        middle = 0.5 * (a + b)
        is_left = np.sign(line(middle)[0][:, column]) == left
        a, b = np.where(is_left, middle, a), np.where(is_left, b, middle)
    return t, signs, 0.5 * (a + b)


def check_line(line, low, high, found, column=0):
    """None of the scan's crossings is missing, and the signs between ours alternate."""
    t, signs, roots = scanned(line, low, high, column)
    assert ((found >= low) & (found <= high)).all()
    for root in roots:
        assert len(found), "a crossing is missing"
        assert np.abs(found - root).min() < 1e-6 * (high - low), "a crossing is missing"
    # The number of crossings below tells the sign of each point, but for those next to a crossing.
    below = np.searchsorted(found, t)
    ends = np.r_[-np.inf, found, np.inf]
    away = np.minimum(t - ends[below], ends[below + 1] - t) > 1e-9 * (high - low)
    turned = (signs * (-1.0) ** below)[away]
    assert (turned == turned[:1]).all(), "an odd number of crossings is missing"
    middles = 0.5 * (np.r_[low, found] + np.r_[found, high])
    between = line.signs(middles)[:, column] * (-1.0) ** np.arange(len(middles))
    between = between[between != 0]
    assert (between == between[:1]).all(), "a crossing is invented"
    return len(found), len(roots)


def check_machine(seed):
    """Compare some lines of a random machine; give lines, crossings, crossings of the scan and lines in doubt."""
    function, X = machine(seed)
    rng = np.random.default_rng(seed + 1)
    n = function.n_features
    low, high = -0.1 * rng.integers(0, 3, n), 1.0 + 0.1 * rng.integers(0, 3, n)
    anchors = X[rng.permutation(len(X))[:3]]
    axes = rng.permutation(n)[:3].tolist()
    found = all_crossings(function, anchors, axes, low, high)
    counts = np.array([found.certified.size, 0, 0, (~found.certified).sum()])
    for i, anchor in enumerate(anchors):
        for axis in axes:
            here = found.position[(found.anchor == i) & (found.axis == axis)]
            counts[1:3] += check_line(Line(function, anchor, axis), low[axis], high[axis], here)
    return counts


def test_no_crossing_of_a_random_machine_is_missed_or_invented():
    lines, ours, scan, doubtful = sum(check_machine(seed) for seed in range(3_000 if FULL else 160))
    assert lines > 1_000
    assert ours >= scan > 200
    assert doubtful < 0.25 * lines  # sigmoids are, nearly nothing else is


def several(seed, kind, degree=3):
    """Random functions over common support vectors, such as the duels of several classes."""
    rng = np.random.default_rng(seed)
    s, n, q = int(rng.integers(1, 30)), int(rng.integers(1, 5)), int(rng.integers(1, 5))
    S = rng.normal(size=(s, n))
    coefs = rng.normal(size=(s, q)) * (rng.random((s, q)) < 0.7)
    gamma = 10.0 ** rng.uniform(-1.5, 1.5 if kind == "rbf" else 0.0)
    return KernelFunction(kind, S, coefs, 0.3 * rng.normal(size=q), gamma, 0.5, degree), rng


KINDS = st.sampled_from(["linear", "poly", "rbf", "sigmoid"])


@given(st.integers(0, 10**6), KINDS, st.integers(1, 9))
@settings(max_examples=200 if FULL else 25)
def test_each_function_of_several_has_its_own_crossings(seed, kind, degree):
    function, rng = several(seed, kind, degree)
    n = function.n_features
    anchors = rng.normal(size=(2, n))
    found = all_crossings(function, anchors, None, np.full(n, -3.0), np.full(n, 2.0))
    order = np.lexsort((found.position, found.axis, found.anchor))
    assert (order == np.arange(len(order))).all()
    for i, anchor in enumerate(anchors):
        for axis in range(n):
            for column in range(function.n_functions):
                here = (found.anchor == i) & (found.axis == axis) & (found.function == column)
                line = Line(function, anchor, axis)
                check_line(line, -3.0, 2.0, found.position[here], column)


@given(st.integers(0, 10**6), KINDS)
def test_the_nearest_crossings_are_those_of_all(seed, kind):
    function, rng = several(seed, kind)
    n = function.n_features
    low, high = np.full(n, -2.0), np.full(n, 2.0)
    anchors = rng.normal(size=(4, n)) * 1.5  # some outside the range
    found = all_crossings(function, anchors, None, low, high)
    nearest = nearest_crossings(function, anchors, low, high)
    np.testing.assert_array_equal(nearest.certified, found.certified)
    for i in range(len(anchors)):
        for axis in range(n):
            here = found.position[(found.anchor == i) & (found.axis == axis)]
            own = anchors[i, axis]
            assert nearest.below[i, axis] == max(here[here <= own], default=-np.inf)
            assert nearest.above[i, axis] == min(here[here >= own], default=np.inf)


@given(st.integers(0, 10**6), KINDS)
def test_every_function_has_one_sign_between_the_nearest_crossings(seed, kind):
    function, rng = several(seed, kind)
    n = function.n_features
    anchors = rng.uniform(-2.0, 2.0, size=(4, n))
    nearest = nearest_crossings(function, anchors, np.full(n, -2.0), np.full(n, 2.0))
    for i, anchor in enumerate(anchors):
        for axis in range(n):
            low = max(nearest.below[i, axis], -2.0)
            high = min(nearest.above[i, axis], 2.0)
            t = low + (high - low) * rng.uniform(1e-9, 1.0 - 1e-9, size=300)
            points = np.repeat(anchor[None], len(t), axis=0)
            points[:, axis] = t
            values = function.values(points)
            sizes = np.abs(function.kernel(points)) @ np.abs(function.coefs) + 1.0
            for column in range(function.n_functions):
                f, size = values[:, column], sizes[:, column]
                seen = np.sign(f[np.abs(f) > 1e-12 * size])
                assert (seen == seen[:1]).all()


@pytest.mark.parametrize("kind", ["linear", "poly", "rbf", "sigmoid"])
def test_the_size_of_the_blocks_does_not_matter(kind, monkeypatch):
    function, rng = several(7, kind)
    n = function.n_features
    anchors = rng.normal(size=(9, n))
    ends = np.full(n, -2.0), np.full(n, 2.0)
    whole = all_crossings(function, anchors, None, *ends)
    assert len(whole.position) > 5
    monkeypatch.setattr(kernels, "_BLOCK", 1)
    monkeypatch.setattr(kernels, "_RBF_BLOCK", 1)
    monkeypatch.setattr(bernstein, "_LOT", 1)
    parts = all_crossings(function, anchors, None, *ends)
    np.testing.assert_array_equal(whole.anchor, parts.anchor)
    np.testing.assert_array_equal(whole.function, parts.function)
    np.testing.assert_allclose(whole.position, parts.position, atol=1e-11)


@pytest.mark.parametrize("kind", ["rbf", "poly", "sigmoid"])
def test_memory_stays_small_with_many_support_vectors(kind):
    rng = np.random.default_rng(0)
    S = rng.random((5_000, 100))
    coefs = rng.normal(size=(5_000, 1))
    function = KernelFunction(kind, S, coefs, np.zeros(1), 0.1, 1.0, 3)
    anchors = S[: 4 if kind == "sigmoid" else 900]
    tracemalloc.start()
    all_crossings(function, anchors, [0, 1], np.zeros(100), np.ones(100))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6
