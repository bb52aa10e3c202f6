"""The exact sign of a sum that floating point gets wrong."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.rules.arithmetic import exact_sign

INF = math.inf
LARGEST = float(np.finfo(float).max)


def exactly(coef, point, intercept):
    terms = (Fraction(w) * Fraction(x) for w, x in zip(coef, point, strict=True))
    value = sum(terms, Fraction(intercept))
    return (value > 0) - (value < 0)


def hard_sums(n, decades, seed):
    """Sums that nearly vanish: the intercept is the nearest float to minus the rest, or a neighbour."""
    rng = np.random.default_rng(seed)
    coef = rng.normal(size=n) * 10.0 ** rng.uniform(-decades / 2, decades / 2, size=n)
    point = rng.normal(size=n)
    # Large terms that cancel leave the small ones in charge.
    coef[-2:], point[-2:] = (1e3, -1e3), point[-1]
    rest = sum(Fraction(w) * Fraction(x) for w, x in zip(coef, point, strict=True))
    nearest = float(-rest)
    for intercept in (nearest, math.nextafter(nearest, INF), math.nextafter(nearest, -INF)):
        yield coef, point, intercept


@pytest.mark.parametrize("n", [3, 5, 20, 200])
@pytest.mark.parametrize("decades", [0, 12])
def test_sums_that_nearly_vanish_get_the_sign_of_the_exact_sum(n, decades):
    wrong_in_floats = 0
    for seed in range(60):
        for coef, point, intercept in hard_sums(n, decades, seed):
            sign = exactly(coef, point, intercept)
            assert exact_sign(coef, point, intercept) == sign
            wrong_in_floats += int(np.sign((coef * point).sum() + intercept)) == -sign
    # The cases are hard: floats alone would say the opposite in some of them.
    assert wrong_in_floats > 0


@given(
    st.lists(
        st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 2), min_size=1, max_size=6
    ),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_any_floats_get_the_sign_of_the_exact_sum(pairs, intercept):
    coef, point = np.array(pairs).T
    assert exact_sign(coef, point, intercept) == exactly(coef, point, intercept)


HALF = 2.0**-537  # its square is the smallest float
EDGES = {
    "products that lose a part to underflow": ([HALF] * 3, [1.4 * HALF] * 3, -4 * 5e-324, 1),
    "products that vanish by underflow": ([1e-200, -1e-200], [1e-200, 9e-201], 0.0, 1),
    "products that overflow and cancel": ([1e200, -1e200], [1e200, 1e200], 5e-324, 1),
    "a sum that overflows": ([1.0, 1.0, -1.0], [LARGEST, LARGEST, LARGEST], -LARGEST, 0),
    "a small term beside large ones": ([1e16, 1.0], [1.0, 1.0], -1e16, 1),
    "decimals that are not what they seem": ([0.1, 0.2], [1.0, 1.0], -0.3, 1),
    "an intercept that products cannot balance": ([1.0, 1e150], [1.0, 1e149], -LARGEST, -1),
    "nothing": ([], [], 0.0, 0),
    "nothing but the intercept": ([], [], -5e-324, -1),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    coef, point, intercept, sign = EDGES[name]
    assert exactly(coef, point, intercept) == sign
    assert exact_sign(np.array(coef), np.array(point), intercept) == sign
