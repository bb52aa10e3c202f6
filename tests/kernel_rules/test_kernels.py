"""Models of kernels around a point: off by no more than they say, everywhere they are used."""

from __future__ import annotations

from itertools import product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.kernel_rules.bounds import reduce_cubics
from clearmargin.kernel_rules.kernels import KERNELS, Expansion
from clearmargin.models.kernel_function import KernelFunction, KernelKind

seeds = st.integers(0, 2**32 - 1)


def test_every_kernel_that_can_be_read_has_a_class():
    assert set(KERNELS) == set(get_args(KernelKind))


def along_a_line(kind: str, gamma: float, coef0: float, degree: int, x: float, half: float):
    """One support vector at 1 in one dimension, a box around x: kernel, model and both derivatives over the box."""
    function = KernelFunction(
        kind, np.ones((1, 1)), np.ones((1, 1)), np.zeros(1), gamma, coef0, degree
    )
    model = KERNELS[kind].expand(function, np.array([[x]]), np.array([[half]]))
    v = np.linspace(-half, half, 2001)
    kernel = function.kernel(x + v[:, None])[:, 0]
    u = v * model.slopes[0, 0, 0]
    return kernel, np.exp(gamma * v**2 * (kind == "rbf")), u, v, model


def only(part: np.ndarray) -> float:
    (value,) = part.ravel()
    return float(value)


def assert_is_model(kernel, growth, u, v, model: Expansion, size: float):
    first, second, third = only(model.first), only(model.second), only(model.third)
    error = growth * kernel - (only(model.constant) + first * u + second * u**2)
    tolerance = 1e-13 * size
    assert -only(model.below) - tolerance <= error.min()
    assert error.max() <= only(model.above) + tolerance
    cubed = error + (first - only(model.third_first)) * u - third * u**3
    saved = only(model.saved)
    assert saved >= -tolerance
    assert -(only(model.below) - saved) - tolerance <= cubed.min()
    assert cubed.max() <= only(model.above) - saved + tolerance
    assert (only(model.low) - tolerance <= kernel).all()
    assert (kernel <= only(model.high) + tolerance).all()
    if np.ptp(u) > 1e-3:
        rate = np.diff(growth * kernel) / np.diff(u)
        middle = (u[1:] + u[:-1]) / 2
        off = np.abs(rate - only(model.rate) - 2 * second * middle)
        # A difference quotient is a derivative somewhere between; 2000 steps allow for the curvature on the way.
        assert (
            off.max()
            <= only(model.rate_error) * 1.01 + 1e-2 * abs(second * np.ptp(u)) + 1e-9 * size
        )


@given(st.floats(-3, 3), st.floats(-4, 0.7), st.floats(-2, 1))
def test_the_model_of_a_bump_is_off_by_no_more_than_it_says(x, width, decade):
    gamma, half = 10.0**decade, 10.0**width
    if gamma * half**2 > 50:
        half = (50 / gamma) ** 0.5
    kernel, growth, u, v, model = along_a_line("rbf", gamma, 0.0, 1, x, half)
    assert_is_model(kernel, growth, u, v, model, 1.0 + growth.max())


@pytest.mark.parametrize("reach", [1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 19.0, 25.0])
def test_the_exponential_is_followed_at_every_reach(reach):
    """gamma 1/2 and a support vector at distance d: u = d v."""
    for d in (0.5, 2.0, 6.0):
        half = min(reach / d, 5.0)
        kernel, growth, u, v, model = along_a_line("rbf", 0.5, 0.0, 1, 1.0 + d, half)
        assert_is_model(kernel, growth, u, v, model, float((growth * kernel).max()))


@given(st.floats(-2, 2), st.floats(-3, 0.5), st.floats(-1, 1), st.integers(0, 9))
def test_the_model_of_a_power_is_off_by_no_more_than_it_says(x, width, coef0, degree):
    kernel, growth, u, v, model = along_a_line("poly", 0.8, coef0, degree, x, 10.0**width)
    assert_is_model(kernel, growth, u, v, model, 1.0 + np.abs(kernel).max() * 2.0**degree)


@given(st.floats(-3, 3), st.floats(-3, 1), st.floats(-1, 1))
def test_the_model_of_a_sigmoid_is_off_by_no_more_than_it_says(x, width, coef0):
    kernel, growth, u, v, model = along_a_line("sigmoid", 0.8, coef0, 1, x, 10.0**width)
    assert_is_model(kernel, growth, u, v, model, 1.0 + 10.0 ** (3 * width))


def test_errors_of_the_models_fall_as_their_orders_say():
    """Half the box: an eighth of the error; with cubes a sixteenth, from cosh, or a thirty-second, from sinh."""
    models = [along_a_line("rbf", 0.5, 0.0, 1, 2.0, half)[4] for half in (0.2, 0.1)]
    above = [only(model.above) for model in models]
    assert above[0] / above[1] == pytest.approx(8, rel=0.02)
    assert above[1] == pytest.approx(only(models[1].constant) * 0.1**3 / 24, rel=0.01)
    cubed = [only(model.above) - only(model.saved) for model in models]
    assert cubed[0] / cubed[1] == pytest.approx(32, rel=0.02)
    under = [only(model.below) - only(model.above) for model in models]
    assert under[0] / under[1] == pytest.approx(16, rel=0.02)


@given(seeds)
def test_cubes_are_no_farther_from_their_linear_form_than_said(seed):
    rng = np.random.default_rng(seed)
    n, s = int(rng.integers(1, 6)), int(rng.integers(1, 9))
    a, w = rng.normal(size=(2, s)), rng.normal(size=(2, s, n))
    h = rng.uniform(size=(2, n)) * (rng.uniform(size=(2, n)) < 0.9)
    linear, error = reduce_cubics(a, w, h)
    for k in range(2):
        corners = np.array(list(product(*zip(-h[k], h[k], strict=True))))
        v = np.vstack([corners, rng.uniform(-h[k], h[k], size=(500, n))])
        off = ((v @ w[k].T) ** 3) @ a[k] - v @ linear[k]
        assert np.abs(off).max() <= error[k].sum() + 1e-12
    # One set of slopes for all boxes gives the same.
    shared = reduce_cubics(a, w[:1], h)
    alone = reduce_cubics(a[1:], w[:1], h[1:])
    np.testing.assert_allclose(shared[0][1], alone[0][0], atol=1e-12)
    np.testing.assert_allclose(shared[1][1], alone[1][0], atol=1e-12)


def test_one_cube_alone_is_lost_exactly_as_far_as_chebyshev_says():
    linear, error = reduce_cubics(np.array([[-2.0]]), np.array([[[3.0]]]), np.array([[0.5]]))
    u = 3.0 * np.linspace(-0.5, 0.5, 1001)
    off = -2.0 * u**3 - linear[0, 0] * u / 3.0
    assert np.abs(off).max() == pytest.approx(error[0, 0])
