"""The inner radius of a premise and the worst margin over it, against brute force and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from clearmargin.advice.premise_margin import inner_radius, is_void, worst_margin

# HiGHS keeps rows to 1e-7; values here are of order one.
TOL = 1e-6

seeds = st.integers(0, 10**6)


def margin_by_scipy(D, d, w, b, sign):
    result = linprog(sign * w, A_ub=D, b_ub=d, bounds=(None, None), method="highs")
    if result.status == 2:
        return np.inf
    if result.status == 3:
        return -np.inf
    assert result.status == 0, result.message
    return result.fun + sign * b


def premise(seed, polyhedron, kinds=("box", "polytope", "axis", "cone", "combination")):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    D, d = polyhedron(rng, n, str(rng.choice(kinds)), rng.normal(size=n))
    w, b, sign = rng.normal(size=n), float(rng.normal()), float(rng.choice([-1.0, 1.0]))
    return rng, D, d, w, b, sign


@given(seeds)
def test_the_worst_margin_is_that_of_another_solver(polyhedron, seed):
    rng, D, d, w, b, sign = premise(seed, polyhedron)
    if seed % 3 == 0:  # weights that point into an unbounded premise, so that there is a minimum
        w = -sign * D.T @ rng.uniform(0.0, 2.0, size=len(d))
    margin, x = worst_margin(D, d, w, b, sign)
    assert margin == pytest.approx(margin_by_scipy(D, d, w, b, sign), abs=TOL)
    assert (x is None) == np.isinf(margin)
    if x is not None:
        assert (d + TOL >= D @ x).all()
        assert sign * (w @ x + b) == pytest.approx(margin, abs=TOL)


@given(seeds)
def test_the_worst_margin_over_a_bounded_premise_is_at_a_corner(polyhedron, corners, seed):
    _, D, d, w, b, sign = premise(seed, polyhedron, ("box", "polytope"))
    margin, _ = worst_margin(D, d, w, b, sign)
    assert margin == pytest.approx((sign * (corners(D, d) @ w + b)).min(), abs=TOL)


@given(seeds)
def test_the_other_class_sees_the_margin_of_the_opposite_plane(polyhedron, seed):
    _, D, d, w, b, sign = premise(seed, polyhedron)
    margin, _ = worst_margin(D, d, w, b, sign)
    opposite, _ = worst_margin(D, d, -w, -b, -sign)
    assert margin == pytest.approx(opposite, abs=TOL)


@given(seeds)
def test_the_inner_ball_fits_and_no_larger_one_does(polyhedron, seed):
    rng, D, d, *_ = premise(seed, polyhedron)
    d = d - rng.uniform(-0.5, 1.0)  # some are empty now
    radius, center = inner_radius(D, d)
    assert radius <= 1.0
    assert (D @ center + radius * np.linalg.norm(D, axis=1) <= d + TOL).all()
    # A ball that is larger by TOL has no place: its centre would be a point of the smaller premise.
    if radius < 1.0:
        tighter = d - (radius + 2 * TOL) * np.linalg.norm(D, axis=1)
        assert linprog(np.zeros(D.shape[1]), D, tighter, bounds=(None, None)).status == 2


@given(seeds)
def test_a_premise_is_void_where_another_solver_finds_no_point(polyhedron, seed):
    rng, D, d, *_ = premise(seed, polyhedron)
    d = d - rng.uniform(-0.5, 1.0)
    if abs(inner_radius(D, d)[0]) > TOL:
        status = linprog(np.zeros(D.shape[1]), D, d, bounds=(None, None)).status
        assert is_void(D, d) == (status == 2)


def test_a_premise_of_one_point_is_not_void():
    D = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    assert not is_void(D, np.array([1.0, -1.0, 2.0, -2.0]))
    assert is_void(D, np.array([1.0, -1.0 - 1e-5, 2.0, -2.0]))


def test_rows_that_say_the_same_twice_change_nothing():
    D, d = np.array([[1.0], [-1.0]]), np.array([3.0, -2.0])
    twice = np.vstack([D, D]), np.r_[d, d]
    assert inner_radius(*twice)[0] == pytest.approx(0.5, abs=TOL)
    assert worst_margin(*twice, np.array([2.0]), 1.0, 1.0)[0] == pytest.approx(5.0, abs=TOL)
    assert worst_margin(*twice, np.array([2.0]), 1.0, -1.0)[0] == pytest.approx(-7.0, abs=TOL)


def test_a_premise_without_rows_is_the_whole_space():
    D, d = np.zeros((0, 2)), np.zeros(0)
    assert inner_radius(D, d)[0] == 1.0
    assert not is_void(D, d)
    assert worst_margin(D, d, np.ones(2), 0.0, 1.0) == (-np.inf, None)
    assert worst_margin(D, d, np.zeros(2), 3.0, -1.0)[0] == -3.0


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("w", [np.ones(2), np.array([0.0, 1.0]), np.zeros(2)])
def test_an_empty_premise_has_no_margin_even_where_the_plane_falls_without_end(w, sign):
    D, d = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([0.0, -1.0])
    assert worst_margin(D, d, w, 0.0, sign) == (np.inf, None)


def test_a_row_of_zeros_that_nothing_satisfies_makes_a_premise_void():
    D, d = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([-1.0, 1.0])
    assert inner_radius(D, d)[0] < 0
    assert is_void(D, d)


def test_a_row_of_zeros_that_everything_satisfies_is_no_condition():
    D, d = np.array([[0.0], [1.0], [-1.0]]), np.array([0.0, 3.0, -2.0])
    assert inner_radius(D, d)[0] == pytest.approx(0.5, abs=TOL)
    assert worst_margin(D, d, np.ones(1), 0.0, 1.0)[0] == pytest.approx(2.0, abs=TOL)
