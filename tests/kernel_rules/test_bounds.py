"""Bounds of kernel machines over boxes: below everything that can be found, and below it in exact arithmetic."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin.exceptions import InvalidValueError
from clearmargin.kernel_rules.bounds import bound_quadratics, lower_bounds
from clearmargin.kernel_rules.box_search import descend
from clearmargin.kernel_rules.kernels import KERNELS
from clearmargin.models.kernel_function import KernelFunction

KINDS = ("linear", "poly", "rbf", "sigmoid")
seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(KINDS)


def make(seed: int, kind: str, n: int | None = None, q: int | None = None) -> KernelFunction:
    """A random machine: few or many vectors, narrow or wide kernels, large or small coefficients."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(1, 6))
    q = q or int(rng.integers(1, 4))
    s = int(rng.integers(1, 20))
    coefs = rng.normal(size=(s, q)) * 10.0 ** rng.uniform(-2, 2)
    return KernelFunction(
        kind,
        rng.normal(size=(s, n)),
        coefs,
        rng.normal(size=q),
        gamma=float(10.0 ** rng.uniform(-2, 1)),
        coef0=float(rng.normal()),
        degree=int(rng.integers(0, 8)),
    )


def box(seed: int, n: int, widest: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """A random box, flat along some axes."""
    rng = np.random.default_rng([seed, 1])
    half = widest * 10.0 ** rng.uniform(-4, 0) * rng.uniform(size=n) * (rng.uniform(size=n) < 0.9)
    centre = rng.normal(size=n)
    return centre - half, centre + half


def lowest(function: KernelFunction, k: int, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Many points of the box, among them the lowest that descent finds."""
    rng = np.random.default_rng(7)
    n = len(lower)
    corners = np.array(list(product(*zip(lower, upper, strict=True))))
    points = np.vstack([rng.uniform(lower, upper, size=(100, n)), corners, (lower + upper) / 2])
    deeper, _ = descend(function, k, points, lower, upper)
    return np.clip(np.vstack([points, deeper]), lower, upper)


def exact(function: KernelFunction, k: int, z: np.ndarray) -> Decimal | Fraction:
    """The function of the stored floats: with fractions, or to 50 digits where it is not rational."""
    if function.kind in {"linear", "poly"}:
        return _sum(function, k, z, Fraction)
    with localcontext() as context:
        context.prec = 50
        return _sum(function, k, z, Decimal)


def _sum(function, k, z, number):
    gamma, coef0 = number(function.gamma), number(function.coef0)
    total = number(float(function.intercepts[k]))
    z = [number(v) for v in z.tolist()]
    for vector, a in zip(function.vectors.tolist(), function.coefs[:, k].tolist(), strict=True):
        row = [number(v) for v in vector]
        inner = sum((u * v for u, v in zip(row, z, strict=True)), number(0))
        if function.kind == "linear":
            value = inner
        elif function.kind == "poly":
            value = (gamma * inner + coef0) ** function.degree
        elif function.kind == "rbf":
            squares = sum(((u - v) * (u - v) for u, v in zip(row, z, strict=True)), number(0))
            value = (-gamma * squares).exp()
        else:
            grown = (2 * (gamma * inner + coef0)).exp()
            value = (grown - 1) / (grown + 1)
        total += number(a) * value
    return total


def as_exact(value: float, like: Decimal | Fraction) -> Decimal | Fraction:
    return type(like)(value)


# Oracles


@given(seeds, kinds)
def test_no_point_of_the_box_is_below_the_bound(seed, kind):
    function = make(seed, kind)
    lower, upper = box(seed, function.n_features)
    bounds = lower_bounds(function, lower[None], upper[None])
    for k in range(function.n_functions):
        points = lowest(function, k, lower, upper)
        values = function.values(points)[:, k]
        scale = np.abs(function.coefs[:, k]) @ np.abs(function.kernel(points)).max(axis=0) + 1
        assert bounds.value[0, k] <= values.min() + 1e-12 * scale


@given(seeds, kinds)
@settings(max_examples=30)
def test_the_bound_is_below_the_function_in_exact_arithmetic(seed, kind):
    function = make(seed, kind)
    lower, upper = box(seed, function.n_features, widest=1e-3)
    bounds = lower_bounds(function, lower[None], upper[None])
    for k in range(function.n_functions):
        points = lowest(function, k, lower, upper)
        point = points[function.values(points)[:, k].argmin()]
        value = exact(function, k, point)
        assert as_exact(float(bounds.value[0, k]), value) <= value


@given(seeds, kinds, st.integers(0, 12))
@settings(max_examples=60)
def test_at_a_point_the_bound_is_the_value_but_for_rounding(seed, kind, decades):
    """Coefficients of either sign on nearly equal vectors: all digits cancel, what remains is error."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    half = rng.normal(size=(4, n))
    vectors = np.vstack([half, half + 10.0**-decades * rng.normal(size=half.shape)])
    a = rng.normal(size=(4, 1)) * 1e6
    function = KernelFunction(
        kind, vectors, np.vstack([a, -a]), rng.normal(size=1) * 1e-9, gamma=0.7, coef0=0.3, degree=3
    )
    z = rng.normal(size=n)
    value = exact(function, 0, z)
    bound = as_exact(float(lower_bounds(function, z[None], z[None]).value[0, 0]), value)
    size = float(np.abs(function.coefs[:, 0]) @ (1 + np.abs(vectors) @ np.abs(z)) ** 3)
    assert 0 <= value - bound <= as_exact(2e-12 * size, value)


@given(seeds)
def test_a_plane_is_bounded_by_its_minimum(seed):
    function = make(seed, "linear")
    lower, upper = box(seed, function.n_features)
    bounds = lower_bounds(function, lower[None], upper[None])
    weights = function.coefs.T @ function.vectors
    least = np.minimum(weights * lower, weights * upper).sum(axis=1) + function.intercepts
    size = (1 + np.abs(function.coefs).sum()) * (1 + np.abs(function.vectors).sum()) + 10
    np.testing.assert_allclose(bounds.value[0], least, rtol=0, atol=1e-12 * size)
    worst = int(bounds.value[0].argmin())
    at = function.values(bounds.minoriser)[0, worst]
    assert at == pytest.approx(least[worst], abs=1e-12 * size)


@pytest.mark.parametrize("degree", range(9))
def test_powers_are_bounded_over_intervals(degree):
    """One support vector in one dimension: the range is known."""
    for low, high in [(-1.0, 2.0), (0.5, 0.75), (-0.3, 0.3), (-2.0, -1.9)]:
        for sign in (1.0, -1.0):
            function = KernelFunction(
                "poly", np.ones((1, 1)), np.full((1, 1), sign), np.zeros(1), degree=degree
            )
            least = (sign * np.linspace(low, high, 4001) ** degree).min()
            bound = lower_bounds(function, [[low]], [[high]]).value[0, 0]
            assert (
                least - 1e-9 - (high - low) ** 3 * degree**2 * 2.0**degree <= bound <= least + 1e-9
            )


def test_a_quadratic_kernel_with_monotone_sides_is_exact():
    """Far from its minimum along both axes the quadratic is lowest at a corner, products and all."""
    function = KernelFunction(
        "poly",
        np.array([[1.0, 2.0], [1.0, -1.0]]),
        np.array([[1.0], [-0.2]]),
        np.zeros(1),
        degree=2,
    )
    lower, upper = np.array([3.0, 4.0]), np.array([3.5, 4.5])
    corners = np.array(list(product(*zip(lower, upper, strict=True))))
    bound = lower_bounds(function, lower[None], upper[None])
    least = function.values(corners)[:, 0]
    assert bound.value[0, 0] == pytest.approx(least.min(), abs=1e-10)
    np.testing.assert_array_equal(bound.minoriser[0], corners[least.argmin()])
    assert bound.gap[0] == pytest.approx(0.0, abs=1e-10)


@given(seeds)
def test_a_bounded_quadratic_is_nowhere_below_its_bound(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    Q = rng.normal(size=(n, n))
    Q, b, h = (Q + Q.T) / 2, rng.normal(size=n) * 10.0 ** rng.uniform(-1, 1), rng.uniform(size=n)
    (bound,), (v,), (gap,) = bound_quadratics(b[None], Q[None], h[None])
    points = np.vstack([rng.uniform(-h, h, size=(500, n)), list(product(*zip(-h, h, strict=True)))])
    values = points @ b + np.einsum("mj,jk,mk->m", points, Q, points)
    assert bound <= values.min() + 1e-12
    assert (np.abs(v) <= h).all()
    # The gap is what the bound can be off by: twice, once for the loss and once for the point it leads to.
    assert v @ b + v @ Q @ v <= bound + 2 * gap.sum() + 1e-12


# Properties


@given(seeds, kinds)
def test_the_bound_closes_as_the_box_shrinks(seed, kind):
    function = make(seed, kind, q=1)
    rng = np.random.default_rng([seed, 2])
    centre = rng.normal(size=function.n_features)
    half = 1e-2 * rng.uniform(size=(1, function.n_features)) / (1 + function.gamma)
    widths = 2.0 ** -np.arange(0, 12, 2)[:, None]
    bounds = lower_bounds(function, centre - widths * half, centre + widths * half)
    value = function.values(centre[None])[0, 0]
    off = value - bounds.value[:, 0]
    size = np.abs(function.coefs).sum() * (2 + np.abs(function.vectors).sum() ** 8)
    assert (np.diff(off) <= 1e-11 * size).all()
    assert off[-1] <= off[0] / 100 + 1e-11 * size


@given(seeds, kinds)
def test_a_direction_is_that_of_every_open_function(seed, kind):
    function = make(seed, kind)
    lower, upper = box(seed, function.n_features, widest=0.3)
    bounds = lower_bounds(function, lower[None], upper[None])
    points = np.random.default_rng(seed).uniform(lower, upper, size=(200, function.n_features))
    grown = 0.0
    for k in np.flatnonzero(bounds.value[0] <= 0):
        slopes = KERNELS[function.kind].gradients(function, int(k), points)
        if kind == "rbf":
            # What is monotone is f exp(gamma |v|^2), around the centre of the box.
            v = points - (lower + upper) / 2
            slopes = slopes + 2 * function.gamma * v * function.values(points)[:, [k]]
        grown = np.maximum(grown, np.abs(slopes).max())
        assert (slopes * bounds.direction[0] >= -1e-12 * grown).all()
    if (bounds.value > 0).all():
        assert not bounds.direction.any()


@given(seeds, kinds)
def test_boxes_do_not_influence_each_other(seed, kind):
    function = make(seed, kind)
    ends = [box(seed + k, function.n_features, widest=0.1) for k in range(4)]
    lower, upper = (np.array(side) for side in zip(*ends, strict=True))
    together = lower_bounds(function, lower, upper)
    for k in range(4):
        alone = lower_bounds(function, lower[[k]], upper[[k]])
        scale = 1 + np.abs(alone.value)
        np.testing.assert_allclose(together.value[[k]] / scale, alone.value / scale, atol=1e-10)
        assert (lower[k] <= alone.minoriser[0]).all()
        assert (alone.minoriser[0] <= upper[k]).all()
        assert (alone.gap >= 0).all()


def test_what_was_not_asked_is_left_out():
    function = make(3, "rbf", n=2, q=3)
    lower, upper = np.zeros((2, 2)), np.full((2, 2), 0.1)
    everything = lower_bounds(function, lower, upper)
    requested = np.array([[True, False, False], [False, True, True]])
    some = lower_bounds(function, lower, upper, requested=requested)
    np.testing.assert_array_equal(some.value[requested], everything.value[requested])
    assert np.isposinf(some.value[~requested]).all()


def test_without_support_vectors_the_intercept_is_the_bound():
    function = KernelFunction("rbf", np.empty((0, 2)), np.empty((0, 1)), np.array([0.25]))
    bounds = lower_bounds(function, [[0.0, 0.0]], [[0.0, 1e-3]])
    assert bounds.value[0, 0] == pytest.approx(0.25, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1e3, 1e100, 1e300])
def test_boxes_of_any_size_have_a_bound(kind, width):
    """Whatever overflows leaves a bound that is true, if of no use."""
    function = make(5, kind, n=2, q=2)
    bounds = lower_bounds(function, np.full((1, 2), -width), np.full((1, 2), width))
    assert not np.isnan(bounds.value).any()
    assert np.isfinite(bounds.minoriser).all()
    assert not np.isnan(bounds.gap).any()
    assert (bounds.value <= function.values(np.zeros((1, 2)))).all()
    assert (bounds.value <= function.values(function.vectors).min(axis=0)).all()


def test_a_narrow_kernel_on_a_wide_box_keeps_the_bound_by_ranges():
    function = KernelFunction("rbf", np.zeros((1, 1)), np.full((1, 1), -2.0), np.ones(1), gamma=1e4)
    assert lower_bounds(function, [[-1.0]], [[1.0]]).value[0, 0] == pytest.approx(-1.0, abs=1e-9)
    assert lower_bounds(function, [[0.5]], [[1.0]]).value[0, 0] == pytest.approx(1.0, abs=1e-9)


# Bad input


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([[0.0, 2.0]], [[1.0, 1.0]], r"coordinate 1 of a box has lower 2.0 > upper 1.0; swap"),
        ([[0.0, np.nan]], [[1.0, 1.0]], r"lower of coordinate 1 is nan; .* finite"),
        ([[0.0, 0.0]], [[np.inf, 1.0]], r"upper of coordinate 0 is inf; .* clip it"),
        ([[0.0]], [[1.0]], r"lower has shape \(1, 1\); give \(B, n\) with n = 2"),
        ([0.0, 0.0], [1.0, 1.0], r"lower has shape \(2,\); give \(B, n\) with n = 2"),
        ([[0.0, 0.0]], [[1.0, 1.0]] * 2, r"lower has 1 boxes and upper 2"),
    ],
)
def test_a_bad_box_is_named(lower, upper, message):
    with pytest.raises(InvalidValueError, match=message):
        lower_bounds(make(1, "rbf", n=2), lower, upper)
