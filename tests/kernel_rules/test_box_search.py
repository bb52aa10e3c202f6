"""Proved, refuted or unknown: against grids, heavy hunts and the budget."""

from __future__ import annotations

import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from clearmargin.exceptions import InvalidValueError
from clearmargin.kernel_rules.bounds import lower_bounds
from clearmargin.kernel_rules.box_search import confirm, decide, descend, hunt
from clearmargin.kernel_rules.kernels import KERNELS
from clearmargin.models.kernel_function import KernelFunction

KINDS = ("linear", "poly", "rbf", "sigmoid")
seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(KINDS)


def machine(seed: int, kind: str, n: int) -> tuple[KernelFunction, np.ndarray]:
    """A support vector machine on random points, turned so that the first point is on the positive side."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(int(rng.integers(8, 40)), n))
    y = np.sin(5 * X).sum(axis=1) + 0.3 * rng.normal(size=len(X)) > np.sin(5 * X[0]).sum() - 0.5
    y[0], y[1] = True, False
    degree, coef0 = int(rng.integers(1, 6)), float(rng.uniform(-0.5, 1))
    gamma = float(10.0 ** rng.uniform(-0.5, 1.5)) / (n if kind == "rbf" else 3 * n)
    svm = SVC(
        C=float(10.0 ** rng.uniform(-1, 2)), kernel=kind, gamma=gamma, degree=degree, coef0=coef0
    )
    svm.fit(X, y)
    function = KernelFunction(
        kind, svm.support_vectors_, svm.dual_coef_.T, svm.intercept_, gamma, coef0, degree
    )
    side = 1 if function.values(X[:1])[0, 0] > 0 else -1
    return function.take([0], [side]), X[0]


def heavy_hunt(function: KernelFunction, lower: np.ndarray, upper: np.ndarray) -> float:
    """The lowest value that random points, corners and descent from all of them reach."""
    rng = np.random.default_rng(11)
    corners = np.array(list(product(*zip(lower, upper, strict=True))))
    points = np.vstack([rng.uniform(lower, upper, size=(200, len(lower))), corners])
    least = np.inf
    for k in range(function.n_functions):
        _, values = descend(function, k, points, lower, upper, rounds=60)
        least = min(least, float(values.min()))
    return least


def assert_is_witness(verdict, function, lower, upper):
    assert (lower <= verdict.witness).all()
    assert (verdict.witness <= upper).all()
    assert function.values(verdict.witness[None]).min() < 0


# Oracles


def test_what_is_proved_has_no_counterexample_and_what_is_refuted_has_a_witness():
    counts = {"proved": 0, "refuted": 0, "unknown": 0}
    for seed in range(240):
        n = 1 + seed % 4
        function, x = machine(seed, KINDS[(seed // 4) % 4], n)
        half = np.random.default_rng(seed).choice([0.05, 0.1, 0.2, 0.4])
        verdict = decide(function, x - half, x + half, max_nodes=2000)
        counts[verdict.status] += 1
        if verdict.status == "refuted":
            assert_is_witness(verdict, function, x - half, x + half)
        else:
            assert verdict.witness is None
            assert verdict.bound <= heavy_hunt(function, x - half, x + half) + 1e-9
            assert (verdict.bound > 0) == (verdict.status == "proved")
    assert counts["proved"] > 60
    assert counts["refuted"] > 60
    assert counts["unknown"] <= 5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2])
def test_small_dimensions_agree_with_a_dense_grid(kind, n):
    decided = 0
    for seed in range(12):
        function, x = machine(1000 + seed, kind, n)
        lower, upper = x - 0.15, x + 0.15
        axes = [
            np.linspace(lo, hi, 2001 if n == 1 else 121)
            for lo, hi in zip(lower, upper, strict=True)
        ]
        grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, n)
        least = function.values(grid).min()
        verdict = decide(function, lower, upper)
        if abs(least) > 1e-3:
            decided += 1
            assert verdict.status == ("proved" if least > 0 else "refuted")
            assert verdict.bound <= least
    assert decided > 8


@given(seeds, kinds)
@settings(max_examples=25)
def test_several_functions_are_decided_together_as_they_are_one_by_one(seed, kind):
    rng = np.random.default_rng(seed)
    n, s = int(rng.integers(1, 4)), int(rng.integers(1, 12))
    function = KernelFunction(
        kind, rng.normal(size=(s, n)), rng.normal(size=(s, 3)), rng.normal(size=3) + 1.5, gamma=0.5
    )
    centre, half = rng.normal(size=n), rng.uniform(0.05, 0.6)
    lower, upper = centre - half, centre + half
    joint = decide(function, lower, upper, max_nodes=4000)
    single = [
        decide(function.take([k], [1]), lower, upper, max_nodes=4000).status for k in range(3)
    ]
    if "unknown" not in [joint.status, *single]:
        assert joint.status == ("refuted" if "refuted" in single else "proved")
    if joint.status == "refuted":
        assert_is_witness(joint, function, lower, upper)


# Properties


@given(seeds, kinds)
@settings(max_examples=25)
def test_a_part_of_a_proved_box_is_proved(seed, kind):
    function, x = machine(seed, kind, 1 + seed % 3)
    rng = np.random.default_rng(seed)
    half = rng.uniform(0.01, 0.2)
    whole = decide(function, x - half, x + half, max_nodes=5000)
    if whole.status == "proved":
        ends = np.sort(rng.uniform(x - half, x + half, size=(2, len(x))), axis=0)
        part = decide(function, ends[0], ends[1], max_nodes=20_000)
        assert part.status == "proved"


@given(seeds, kinds)
def test_a_point_is_decided_at_once(seed, kind):
    function, x = machine(seed, kind, 2)
    value = float(function.values(x[None])[0, 0])
    verdict = decide(function, x, x)
    assert verdict.nodes == 1
    assert verdict.status == "proved"
    assert verdict.bound == pytest.approx(value, abs=1e-8 * (1 + np.abs(function.coefs).sum()))
    negative = decide(function.take([0], [-1]), x, x)
    assert negative.status == "refuted"
    np.testing.assert_array_equal(negative.witness, x)


def test_flat_sides_are_no_obstacle():
    function, x = machine(2, "rbf", 3)
    half = np.array([0.05, 0.0, 0.02])
    assert decide(function, x - half, x + half).status == "proved"


@given(seeds)
@settings(max_examples=20)
def test_a_side_where_all_is_lowest_decides_for_the_box(seed):
    """A bump up on the right and one down on the left: everything rises to the right, so the left side decides."""
    rng = np.random.default_rng(seed)
    function = KernelFunction(
        "rbf",
        np.array([[-2.0, 0.0], [2.0, 0.0]]) + 0.2 * rng.normal(size=(2, 2)),
        np.array([[-1.0], [1.0]]),
        np.array([rng.uniform(-0.1, 0.5)]),
        gamma=0.1,
    )
    lower, upper = np.full(2, -0.5), np.full(2, 0.5)
    bounds = lower_bounds(function, lower[None], upper[None])
    left = decide(function, lower, np.array([lower[0], upper[1]]))
    assert bounds.direction[0, 0] == (bounds.value[0, 0] <= 0)
    assert decide(function, lower, upper).status == left.status != "unknown"


# Budgets


def hard_box():
    """Sixteen bumps up and down that nearly cancel, and a function that stays just above 0."""
    rng = np.random.default_rng(0)
    vectors = rng.uniform(size=(16, 4))
    coefs = np.where(np.arange(16) % 2, 5.0, -5.0)[:, None]
    bumps = KernelFunction("rbf", vectors, coefs, np.zeros(1), gamma=6.0)
    least = heavy_hunt_value(bumps)
    return KernelFunction("rbf", vectors, coefs, np.array([0.3 - least]), gamma=6.0)


def heavy_hunt_value(function):
    starts = np.random.default_rng(1).uniform(size=(400, 4))
    lifted = KernelFunction(
        "rbf", function.vectors, function.coefs, np.array([100.0]), function.gamma
    )
    _, values = descend(lifted, 0, starts, np.zeros(4), np.ones(4), rounds=300)
    return float(values.min()) - 100.0


def test_with_one_node_a_hard_box_is_unknown_and_with_enough_it_is_proved():
    function = hard_box()
    first = decide(function, np.zeros(4), np.ones(4), max_nodes=1)
    assert (first.status, first.nodes, first.witness) == ("unknown", 1, None)
    assert first.bound < 0
    more = decide(function, np.zeros(4), np.ones(4), max_nodes=300)
    assert more.status == "unknown"
    assert more.nodes == 300
    assert first.bound <= more.bound < 0
    last = decide(function, np.zeros(4), np.ones(4))
    assert last.status == "proved"
    assert 0 < last.bound <= 0.3 + 1e-6


def test_time_runs_out():
    start = time.perf_counter()
    verdict = decide(hard_box(), np.full(4, -1.0), np.full(4, 2.0), time_limit=1e-6)
    assert verdict.status == "unknown"
    assert verdict.nodes >= 1
    assert time.perf_counter() - start < 5.0


def test_what_touches_zero_is_unknown():
    """(z - 1/2)^2 is neither positive nor negative at 1/2; cutting ends when nothing is left to cut."""
    square = KernelFunction(
        "poly", np.array([[1.0]]), np.ones((1, 1)), np.zeros(1), coef0=-0.5, degree=2
    )
    verdict = decide(square, [0.0], [1.0], max_nodes=5000)
    assert verdict.status == "unknown"
    assert -1e-6 < verdict.bound <= 0
    point = decide(square, [0.5], [0.5])
    assert point.status == "unknown"
    assert point.witness is None


@pytest.mark.parametrize("kind", KINDS)
def test_the_largest_boxes_end_in_a_verdict(kind):
    function, _ = machine(4, kind, 2)
    lower, upper = np.full(2, -1.7e308), np.full(2, 1.7e308)
    verdict = decide(function, lower, upper, max_nodes=200)
    assert verdict.status in {"refuted", "unknown"}
    if verdict.status == "refuted":
        assert_is_witness(verdict, function, lower, upper)


# The hunt


@given(seeds, kinds)
def test_gradients_are_those_of_differences(seed, kind):
    function, x = machine(seed, kind, 3)
    step = 1e-6
    ends = function.values(x + step * np.vstack([np.eye(3), -np.eye(3)]))[:, 0]
    slope = KERNELS[function.kind].gradients(function, 0, x[None])[0]
    size = 1 + np.abs(slope).max() + np.abs(function.coefs).sum() * (1 + function.gamma) ** 2
    np.testing.assert_allclose((ends[:3] - ends[3:]) / (2 * step), slope, rtol=0, atol=1e-6 * size)


@given(seeds, kinds)
def test_a_descent_stays_inside_and_never_climbs(seed, kind):
    function, x = machine(seed, kind, 2)
    lower, upper = x - 0.2, x + 0.1
    starts = np.random.default_rng(seed).uniform(lower, upper, size=(5, 2))
    points, values = descend(function, 0, starts, lower, upper)
    assert ((lower <= points) & (points <= upper)).all()
    assert (values <= function.values(starts)[:, 0]).all()


def test_a_value_within_rounding_is_no_witness():
    function = KernelFunction(
        "linear", np.array([[1.0], [-1.0]]), np.full((2, 1), 1e15), np.array([-1e-3])
    )
    # Terms of 3e14 cancel, and are rounded to digits of 1/16: which sign is left over, the processor decides.
    assert abs(function.values(np.array([[0.3]]))[0, 0]) < 1.0
    assert confirm(function, np.array([[0.3]])) is None
    assert hunt(function, np.array([0.2]), np.array([0.4])) is None


# Bad input


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([0.0, 2.0], [1.0, 1.0], r"coordinate 1 of a box has lower 2.0 > upper 1.0"),
        ([0.0, np.nan], [1.0, 1.0], r"lower of coordinate 1 is nan"),
        ([0.0, 0.0], [1.0, np.inf], r"upper of coordinate 1 is inf; .* clip it"),
        ([0.0], [1.0], r"lower has shape \(1,\); give \(n,\) with n = 2"),
        ([[0.0, 0.0]], [[1.0, 1.0]], r"lower has shape \(1, 2\); give \(n,\)"),
    ],
)
def test_a_bad_box_is_named(lower, upper, message):
    with pytest.raises(InvalidValueError, match=message):
        decide(machine(1, "rbf", 2)[0], lower, upper)


def test_a_kernel_that_grows_is_refused():
    function = KernelFunction("rbf", np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1), gamma=-1.0)
    with pytest.raises(
        InvalidValueError, match=r"gamma of the kernel rbf is -1.0; it must not be negative"
    ):
        decide(function, [0.0], [1.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_nodes": 0}, "max_nodes is 0; at least 1"),
        ({"time_limit": 0.0}, "time_limit is 0.0; give"),
    ],
)
def test_a_budget_that_allows_nothing_is_refused(options, message):
    function, x = machine(1, "rbf", 2)
    with pytest.raises(InvalidValueError, match=message):
        decide(function, x, x, **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1e160, 1.7e308])
def test_what_overflows_is_not_proved_for_both_signs(kind, size):
    function, _ = machine(4, kind, 2)
    ends = np.full(2, size)
    verdicts = [decide(function.take([0], [sign]), ends, ends, max_nodes=50) for sign in (1, -1)]
    assert all(v.bound > 0 for v in verdicts if v.status == "proved")
    assert [v.status for v in verdicts].count("proved") <= 1


def test_a_point_that_cannot_be_decided_is_looked_at_once():
    bump = KernelFunction("rbf", np.zeros((1, 1)), np.ones((1, 1)), np.array([-np.exp(-1.0)]))
    verdict = decide(bump, [0.0], [1.0], max_nodes=1000)
    assert verdict.status == "unknown"
    assert verdict.nodes < 20
