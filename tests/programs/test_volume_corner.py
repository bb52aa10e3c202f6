"""The largest box: water-filling against a convex solver, volumes against inclusion and exclusion, rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.plane_rules.clipped_volume import clipped_volume
from clearmargin.plane_rules.side import Corner, Region, Side
from clearmargin.plane_rules.volume_corner import (
    corner_at,
    deepest_corner,
    volume_corner,
    water_fill,
)
from clearmargin.rules import Box, Hyperplane


def side_of(a, g, *, closed=True):
    """The side {a'z <= g} or, open, {a'z < g}."""
    a = np.asarray(a, dtype=float)
    plane = Hyperplane(a, -g) if closed else Hyperplane(-a, g)
    return Side.of(plane.side(-1 if closed else 1))


def region_of(near, far):
    near, far = np.asarray(near, dtype=float), np.asarray(far, dtype=float)
    flags = np.ones(len(near), dtype=bool)
    return Region(near, far, flags, flags)


def exact_slack(side, corner):
    terms = (
        Fraction(a) * Fraction(c) for a, c in zip(side.a.tolist(), corner.far.tolist(), strict=True)
    )
    return Fraction(side.g) - sum(terms, Fraction(0))


def random_problem(seed, most=8):
    """A region that the plane cuts: its near corner is below, its far corner above."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most + 1))
    a = 10.0 ** rng.uniform(-1.0, 1.0, n)
    near = rng.normal(size=n)
    width = 10.0 ** rng.uniform(-1.0, 1.0, n)
    g = float(a @ near + rng.uniform(0.02, 0.98) * (a @ width))
    return side_of(a, g), region_of(near, near + width)


@given(seed=st.integers(0, 24))
def test_the_corner_is_that_of_a_conic_solver(seed):
    side, region = random_problem(seed)
    corner = volume_corner(side, region, region.near[None])
    # In units of the slack, so that the solver sees numbers of size one.
    slack = side.slack(region.near)
    reach = side.a * (region.far - region.near) / slack
    p = cp.Variable(len(side.a))
    problem = cp.Problem(cp.Maximize(cp.sum(cp.log(p))), [cp.sum(p) == 1, p <= reach])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    ours = side.a * (corner.far - region.near) / slack
    assert np.log(ours).sum() == pytest.approx(problem.value, abs=1e-7)
    # Next to an optimum a gap of 1e-10 leaves shares uncertain by its square root.
    np.testing.assert_allclose(ours, p.value, atol=1e-4)


limits = st.lists(
    st.tuples(st.floats(0, 100), st.floats(0, 100)).map(sorted), min_size=1, max_size=8
)


@given(limits, st.floats(0, 1))
def test_water_filling_spends_the_budget_and_shares_it_equally_but_for_limits(pairs, share):
    low, high = (np.array(column) for column in zip(*pairs, strict=True))
    budget = float(low.sum() + share * (high.sum() - low.sum()))
    shares = water_fill(low, high, budget)
    assert (shares >= low).all()
    assert (shares <= high).all()
    assert shares.sum() == pytest.approx(budget, rel=1e-12, abs=1e-12)
    # One water level for all: whoever is at no limit has just that, the others are as near to it as they can.
    free = (shares > low) & (shares < high)
    if free.any():
        np.testing.assert_allclose(shares, np.clip(shares[free][0], low, high), rtol=1e-12)


@given(limits)
def test_water_filling_gives_everything_or_the_least_when_the_budget_is_too_large_or_too_small(
    pairs,
):
    low, high = (np.array(column) for column in zip(*pairs, strict=True))
    np.testing.assert_array_equal(water_fill(low, high, float(high.sum()) + 1.0), high)
    np.testing.assert_array_equal(water_fill(low, high, float(low.sum()) - 1.0), low)


@given(limits, st.floats(0, 1), st.floats(0, 1))
def test_more_budget_never_gives_anybody_less(pairs, first, second):
    low, high = (np.array(column) for column in zip(*pairs, strict=True))
    smaller, larger = sorted((first, second))
    reach = high.sum() - low.sum()
    before = water_fill(low, high, float(low.sum() + smaller * reach))
    after = water_fill(low, high, float(low.sum() + larger * reach))
    assert (after >= before - 1e-10).all()


def test_the_printed_iteration_is_reproduced_when_clamps_stay():
    # Eqs. 14 and 15 with an accumulating set of clamped features; unit cube, w'x = 1.
    rng = np.random.default_rng(5)
    for _ in range(200):
        n = int(rng.integers(2, 9))
        w = 10.0 ** rng.uniform(-1.5, 0.5, n)
        w *= rng.uniform(1.05, 4.0) / w.sum()
        clamped = np.zeros(n, dtype=bool)
        while True:
            level = (1.0 - w[clamped].sum()) / (n - clamped.sum())
            x = np.where(clamped, 1.0, level / w)
            if not (x[~clamped] > 1.0).any():
                break
            clamped |= x > 1.0
        corner = volume_corner(
            side_of(w, 1.0), region_of(np.zeros(n), np.ones(n)), np.zeros((1, n))
        )
        np.testing.assert_allclose(corner.far, x, rtol=1e-12)


def children(side, region, corner):
    """The regions that a rule leaves, straight from eq. 18."""
    for k in range(len(side.a)):
        near, far = region.near.copy(), region.far.copy()
        far[:k] = corner.far[:k]
        near[k] = corner.far[k]
        yield near, far


@given(seed=st.integers(0, 39))
def test_a_rule_and_the_regions_it_leaves_fill_the_region(seed):
    side, region = random_problem(seed, most=6)
    corner = volume_corner(side, region, region.near[None])
    whole = clipped_volume(side.a, side.g, region.near, region.far).value
    rule = math.prod((corner.far - region.near).tolist())
    rest = [
        clipped_volume(side.a, side.g, near, far).value
        for near, far in children(side, region, corner)
    ]
    assert rule + sum(rest) == pytest.approx(whole, rel=1e-12)
    # The rule lies below the plane, so cutting it changes nothing.
    assert clipped_volume(side.a, side.g, region.near, corner.far).value == pytest.approx(
        rule, rel=1e-12
    )
    n = len(side.a)
    assert rule / whole >= math.factorial(n) / n**n * (1 - 1e-9)


@given(seed=st.integers(0, 39))
def test_every_region_left_is_closer_to_the_plane_by_the_factor_of_the_lemma(seed):
    side, region = random_problem(seed)
    corner = volume_corner(side, region, region.near[None])
    slack, n = side.slack(region.near), len(side.a)
    for near, far in children(side, region, corner):
        if (near < far).all():
            assert side.slack(near) <= (1.0 - 1.0 / n) * slack * (1 + 1e-9)


@pytest.mark.parametrize("closed", [True, False])
def test_a_region_below_the_plane_is_the_rule_itself(closed):
    side, region = side_of([1.0, 2.0], 9.0, closed=closed), region_of([0.0, 0.0], [2.0, 3.0])
    corner = volume_corner(side, region, np.zeros((1, 2)))
    np.testing.assert_array_equal(corner.far, region.far)
    assert corner.closed.all()


def test_a_region_whose_far_corner_is_on_an_open_plane_gives_up_a_face():
    side, region = side_of([1.0, 2.0], 8.0, closed=False), region_of([0.0, 0.0], [2.0, 3.0])
    corner = volume_corner(side, region, np.zeros((1, 2)))
    assert side.admits(corner)
    np.testing.assert_allclose(corner.far, region.far)
    assert not corner.closed.all()


@given(st.integers(0, 10**6))
def test_corners_are_sound_and_within_the_region_whatever_the_scales(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    a = 10.0 ** rng.uniform(-3, 3, n)
    near = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 3) + rng.choice([0.0, 1e9])
    width = 10.0 ** rng.uniform(-6, 6, n) * rng.choice([0.0, 1.0], n, p=[0.1, 0.9])
    g = float(a @ near + 10.0 ** rng.uniform(-13, 0) * (a @ width))
    side, region = side_of(a, g, closed=bool(seed % 2)), region_of(near, near + width)
    if not side.admits(Corner(near, np.ones(n, dtype=bool))):
        return  # there is no point to cover
    corner = volume_corner(side, region, near[None])
    assert exact_slack(side, corner) >= 0
    assert side.admits(corner)
    assert (corner.far <= region.far).all()
    assert (corner.far >= region.near).all()
    # The near corner, which is the point here, is covered.
    assert corner.holds(near[None]).all()


def test_without_digits_the_deepest_point_sets_the_faces():
    # At 1e16 neighbours are 2 apart: there is no float strictly between the point and the plane.
    z = np.array([1e16, 1e16])
    side, region = side_of([1.0, 1.0], 2e16 + 1.0), region_of(z, z + 4.0)
    points = np.vstack([z, z])
    corner = volume_corner(side, region, points)
    assert side.admits(corner)
    assert corner.holds(points).all(axis=1).any()


def test_no_slack_at_all_means_the_point_itself():
    side, region = side_of([1.0, 1.0], 2.0), region_of([1.0, 1.0], [3.0, 3.0])
    corner = volume_corner(side, region, np.array([[1.0, 1.0]]))
    np.testing.assert_array_equal(corner.far, [1.0, 1.0])
    assert corner.closed.all()


def test_the_deepest_point_is_the_one_farthest_from_the_plane():
    side = side_of([1.0, 2.0], 10.0)
    corner = deepest_corner(side, np.array([[4.0, 2.0], [3.0, 0.5], [0.0, 3.0]]))
    np.testing.assert_array_equal(corner.far, [3.0, 0.5])


def test_a_corner_that_rounding_put_beyond_the_plane_is_moved_back():
    side, region = side_of([1.0, 1.0], 1.0), region_of([0.0, 0.0], [1.0, 1.0])
    spent = np.array([0.5, np.nextafter(0.5, 1.0)])
    assert not side.admits(Corner(spent, np.zeros(2, dtype=bool)))
    corner = corner_at(side, region, spent, np.zeros(2, dtype=bool))
    assert side.admits(corner)
    assert 0 <= exact_slack(side, corner) <= 1e-15


def test_a_corner_without_room_is_none():
    side, region = side_of([1.0, 1.0], 1.0), region_of([0.5, 0.5], [1.0, 1.0])
    assert corner_at(side, region, np.zeros(2), np.zeros(2, dtype=bool)) is None
    beyond = region_of([2.0, 2.0], [3.0, 3.0])
    assert corner_at(side, beyond, np.zeros(2), np.zeros(2, dtype=bool)) is None


def test_a_face_does_not_pass_that_of_the_region():
    side, region = side_of([1.0, 1.0], 5.0), region_of([0.0, 0.0], [1.0, 9.0])
    corner = corner_at(side, region, np.array([2.0, 3.0]), np.zeros(2, dtype=bool))
    assert corner.far[0] == 1.0
    assert corner.closed[0]


def test_a_box_of_the_users_is_found_in_their_coordinates():
    plane = Hyperplane([2.0, -1.0], 0.0)
    side = Side.of(plane.side(1))  # 2 x0 > x1
    domain = side.region(Box([0.0, 0.0], [1.0, 1.0]))
    corner = volume_corner(side, domain, side.orient(np.array([[1.0, 0.0]])))
    found = Region(domain.near, corner.far, domain.near_closed, corner.closed)
    box = side.box(found)
    assert box.is_inside(plane.side(1))
    # Of the region below the plane (area 3/4) the largest box, on the corner (1/2, 1), is one half.
    assert box.volume() == pytest.approx(0.5)
