"""Touches, ends, constants, wide ranges and bad input of the crossings along axes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from clearmargin.exceptions import InvalidValueError
from clearmargin.kernel_rules.crossings import all_crossings, nearest_crossings
from clearmargin.models.kernel_function import KernelFunction


def on_a_line(kind, centres, weights, intercept, **constants):
    """A function of one variable."""
    return KernelFunction(
        kind,
        np.asarray(centres, dtype=float)[:, None],
        np.asarray(weights, dtype=float)[:, None],
        np.array([intercept]),
        **constants,
    )


def parabola(*coefs):
    """c + b t + a t^2 as a polynomial kernel of degree 2 with gamma = coef0 = 1: three support vectors span them."""
    a, b, c = coefs
    # Over 1, t, t^2 the kernel (1 + s t)^2 has 1, 2 s, s^2.
    weights = np.linalg.solve([[1, 1, 1], [0, 2, -2], [0, 1, 1]], [c, b, a])
    return on_a_line("poly", [0, 1, -1], weights, 0.0, coef0=1.0, degree=2)


@pytest.mark.parametrize("gap", [1e-2, 1e-6, 1e-10, 1e-12])
def test_two_crossings_close_together_are_both_found(gap):
    # exp(-t^2) = 1 - gap has the roots -+ sqrt(-log(1 - gap)).
    bump = on_a_line("rbf", [0.3], [1.0], gap - 1.0)
    found = all_crossings(bump, [[0.9]], 0, [-2.0], [3.0])
    root = np.sqrt(-np.log1p(-gap))
    np.testing.assert_allclose(found.position, [0.3 - root, 0.3 + root], atol=1e-14 / root)
    assert found.certified.all()


@pytest.mark.parametrize("gap", [-1e-10, -1e-12])
def test_a_function_that_does_not_quite_reach_zero_does_not_cross(gap):
    bump = on_a_line("rbf", [0.3], [1.0], gap - 1.0)
    found = all_crossings(bump, [[0.9]], 0, [-2.0], [3.0])
    assert not len(found.position)
    assert found.certified.all()


@pytest.mark.parametrize(
    "touching",
    [on_a_line("rbf", [0.3], [1.0], -1.0), parabola(1.0, -1.0, 0.25), parabola(-1.0, 0.6, -0.09)],
)
def test_a_touch_is_no_crossing_but_leaves_a_doubt(touching):
    found = nearest_crossings(touching, [[0.0], [0.7]], [-1.0], [1.0])
    assert np.isneginf(found.below).all()
    assert np.isposinf(found.above).all()
    assert not found.certified.any()


def test_a_threefold_root_is_a_crossing():
    # (t - 1/2)^3 from four support vectors.
    s = np.array([0.0, 1.0, -1.0, 2.0])
    binomials = np.array([1.0, 3.0, 3.0, 1.0])
    weights = np.linalg.solve(
        binomials[:, None] * s ** np.arange(4)[:, None], [-1 / 8, 3 / 4, -3 / 2, 1]
    )
    cube = on_a_line("poly", s, weights, 0.0, coef0=1.0, degree=3)
    found = all_crossings(cube, [[0.0]], 0, [-1.0], [1.5])
    np.testing.assert_allclose(found.position, [0.5], atol=1e-4)
    assert not found.certified.any()


def test_a_crossing_where_cells_meet_is_found_once():
    # Odd about 0, which is the common end of two cells and of all halves of the range.
    odd = on_a_line("rbf", [-1.0, 1.0], [-1.0, 1.0], 0.0, gamma=9.0)
    for low, high in ((-2.0, 2.0), (-1.0, 1.0), (-3.0, 1.0), (-1.0, 0.7)):
        found = all_crossings(odd, [[1.0]], 0, [low], [high])
        np.testing.assert_allclose(found.position, [0.0], atol=1e-15)
        assert found.certified.all()


@pytest.mark.parametrize("kind", ["linear", "sigmoid", "poly"])
def test_a_crossing_in_the_middle_of_the_range_is_found_once(kind):
    odd = on_a_line(kind, [1.0], [2.0], 0.0, degree=1)
    for reach in (1.0, 0.5, 3.0):
        found = all_crossings(odd, [[0.7]], 0, [-reach], [reach])
        np.testing.assert_allclose(found.position, [0.0], atol=1e-15)


def test_a_zero_at_an_end_of_the_range_is_no_crossing():
    line = on_a_line("linear", [1.0], [1.0], -1.0)
    assert not len(all_crossings(line, [[0.0]], 0, [0.0], [1.0]).position)
    assert not len(all_crossings(line, [[2.0]], 0, [1.0], [3.0]).position)
    np.testing.assert_array_equal(all_crossings(line, [[0.0]], 0, [0.0], [1.1]).position, [1.0])


def test_the_segment_of_an_anchor_on_the_surface_is_the_anchor():
    line = on_a_line("linear", [1.0], [1.0], -1.0)
    found = nearest_crossings(line, [[1.0]], [0.0], [2.0])
    assert found.below[0, 0] == found.above[0, 0] == 1.0
    # Along an axis where the function does not change there is no crossing, and nothing to be sure of.
    plane = KernelFunction("linear", np.array([[1.0, 0.0]]), np.ones((1, 1)), np.array([-1.0]))
    found = nearest_crossings(plane, [[1.0, 5.0]], [0.0, 0.0], [2.0, 2.0])
    np.testing.assert_array_equal(found.below, [[1.0, -np.inf]])
    np.testing.assert_array_equal(found.above, [[1.0, np.inf]])
    np.testing.assert_array_equal(found.certified, [[True, False]])


@pytest.mark.parametrize(
    "constant",
    [
        on_a_line("poly", [1.0, 2.0], [1.0, 1.0], -1.0, degree=0),
        on_a_line("rbf", [1.0], [1.0], -0.5, gamma=0.0),
        on_a_line("rbf", [], [], 2.0),
        on_a_line("linear", [], [], 2.0),
        on_a_line("linear", [0.0], [1.0], -2.0),
        on_a_line("poly", [], [], 2.0),
    ],
)
def test_a_constant_function_has_no_crossing(constant):
    found = nearest_crossings(constant, [[0.2], [3.0]], [0.0], [1.0])
    assert np.isinf(found.below).all()
    assert np.isinf(found.above).all()
    assert found.certified.all()


def test_a_range_of_one_point_has_no_crossing():
    for kind in ("linear", "poly", "rbf"):
        line = on_a_line(kind, [1.0], [1.0], -0.3)
        found = nearest_crossings(line, [[0.0], [1.0]], [0.5], [0.5])
        assert np.isinf(found.below).all()
        assert found.certified.all()


def test_anchors_outside_the_range_look_into_it():
    wave = on_a_line("rbf", [0.0], [1.0], -0.5)
    root = np.sqrt(np.log(2.0))
    found = nearest_crossings(wave, [[-5.0], [5.0]], [-2.0], [2.0])
    np.testing.assert_allclose(found.above, [[-root], [np.inf]])
    np.testing.assert_allclose(found.below, [[-np.inf], [root]])


def test_no_anchors_no_axes_no_crossings():
    line = on_a_line("linear", [1.0], [1.0], -1.0)
    assert nearest_crossings(line, np.zeros((0, 1)), [0.0], [2.0]).below.shape == (0, 1)
    assert all_crossings(line, [[0.0]], [], [0.0], [2.0]).certified.shape == (1, 0)


def test_results_do_not_change():
    line = on_a_line("linear", [1.0], [1.0], -1.0)
    with pytest.raises(ValueError, match="read-only"):
        nearest_crossings(line, [[0.0]], [0.0], [2.0]).above[0, 0] = 3.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"anchors": [[1.0, 2.0, 3.0]]}, r"anchors have shape \(1, 3\).*has 2 columns"),
        ({"anchors": [1.0, 2.0]}, r"anchors have shape \(2,\)"),
        ({"anchors": [[1.0, np.nan]]}, r"anchors must not be NaN \(at position \(0, 1\)\)"),
        ({"anchors": [[1.0, np.inf]]}, r"anchors must be finite \(position \[0, 1\]\)"),
        ({"anchors": [["a", "b"]]}, "anchors must be numbers"),
        ({"lower": [0.0]}, r"lower ends has shape \(1,\), but \(2,\) is needed"),
        ({"upper": [[1.0, 1.0]]}, r"upper ends has shape \(1, 2\)"),
        ({"lower": [0.0, np.nan]}, "lower ends must not be NaN"),
        ({"upper": [1.0, np.inf]}, r"upper ends must be finite \(position \[1\]\); take the range"),
        ({"lower": [0.0, 2.0]}, "column 1 ranges from 2 to 1"),
    ],
)
def test_bad_arrays_are_refused(change, message):
    plane = KernelFunction("linear", np.array([[1.0, 2.0]]), np.ones((1, 1)), np.array([-2.0]))
    good = {"anchors": [[0.5, 0.5]], "lower": [0.0, 0.0], "upper": [1.0, 1.0]}
    with pytest.raises(InvalidValueError, match=message):
        nearest_crossings(plane, **(good | change))
    with pytest.raises(InvalidValueError, match=message):
        all_crossings(plane, axes=None, **(good | change))


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (2, "between 0 and 1, not"),
        ([-1], "between 0 and 1, not"),
        ([0, 0], "named twice"),
        (["x"], "positions of columns"),
        ([[0, 1]], "positions of columns"),
        (0.5, "positions of columns"),
    ],
)
def test_bad_axes_are_refused(axes, message):
    plane = KernelFunction("linear", np.array([[1.0, 2.0]]), np.ones((1, 1)), np.array([-2.0]))
    with pytest.raises(InvalidValueError, match=message):
        all_crossings(plane, [[0.5, 0.5]], axes, [0.0, 0.0], [1.0, 1.0])


def test_values_too_large_for_floats_are_refused():
    huge = on_a_line("poly", [1e200, 1.0], [1.0, -1.0], 0.0, degree=3)
    with pytest.raises(InvalidValueError, match="too large for floats; scale the columns"):
        nearest_crossings(huge, [[1.0]], [0.0], [2.0])


def test_a_range_much_wider_than_the_kernel_costs_nothing_where_nothing_is():
    # Two bumps ten thousand widths apart; the range would have a hundred thousand cells.
    bumps = on_a_line("rbf", [0.0, 100.0], [1.0, -2.0], -0.5, gamma=1e4)
    root = np.sqrt(np.log(2.0)) * 1e-2
    tracemalloc.start()
    found = all_crossings(bumps, [[0.0], [100.0]], 0, [-1e3], [1e3])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(found.position, [-root, root, -root, root], atol=1e-9)
    assert found.certified.all()
    assert peak < 1e6


def test_a_range_too_wide_for_floats_is_not_certified():
    # The squares that cancel are so large that nothing is left of the distances.
    bumps = on_a_line("rbf", [0.0, 1e4], [1.0, -2.0], -0.5, gamma=1e8)
    assert not all_crossings(bumps, [[0.0], [1e4]], 0, [-2e4], [3e4]).certified.any()
