"""The largest box: water-filling against a convex solver, volumes against inclusion and exclusion, rounding."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_pima
from clearmargin.plane_rules import volume_corner as program
from clearmargin.plane_rules.side import Corner, Region, Side
from clearmargin.plane_rules.volume import clipped_volume
from clearmargin.plane_rules.volume_corner import (
    _below,
    corner_at,
    deepest_corner,
    volume_corner,
    water_fill,
)
from clearmargin.rules import Box, Hyperplane
from clearmargin.rules.arithmetic import exact_score


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


@given(
    st.floats(-1e308, 1e308), st.floats(0.0, 1.7e308), st.floats(1e-10, 1e10, allow_subnormal=False)
)
def test_a_face_is_the_largest_float_so_far_below_another_one(face, excess, weight):
    found = _below(face, excess, weight)
    exact = Fraction(face) - Fraction(math.nextafter(excess, math.inf)) / Fraction(weight)
    exact = Fraction(face) if not excess else exact
    assert found <= exact
    assert math.nextafter(found, math.inf) > exact


def test_a_face_beyond_all_floats_is_infinite():
    assert _below(0.0, sys.float_info.max, 1.0) == -math.inf
    assert _below(-1e308, 1e308, 0.1) == -math.inf


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


def filled(low, high, budget):
    """Water-filling by bisection on the logarithm of its level."""
    if high.sum() <= budget:
        return high
    bottom, top = -745.0, math.log(max(budget, 5e-324)) + 1.0
    for _ in range(100):
        level = (bottom + top) / 2.0
        if np.clip(math.exp(level), low, high).sum() <= budget:
            bottom = level
        else:
            top = level
    return np.clip(math.exp(bottom), low, high)


def shortfall(side, region, corner, spent):
    """By how much the logarithm of the volume of a corner misses that of the shares."""
    width = corner.far - region.near
    best = np.minimum(spent / side.a, region.far - region.near)
    counted = best > 0
    if (width[counted] <= 0).any():
        return math.inf
    return float(np.log(best[counted] / width[counted]).sum())


def true_slack(side, z):
    pairs = zip(side.a.tolist(), z.tolist(), strict=True)
    return Fraction(side.g) - sum((Fraction(a) * Fraction(v) for a, v in pairs), Fraction(0))


def random_side(rng, *, offset):
    """A plane with weights over eight decades through a box of sides over four, somewhere."""
    n = int(rng.integers(2, 13))
    coef = 10.0 ** rng.uniform(-4.0, 4.0, n) * rng.choice([-1.0, 1.0], n)
    lower = rng.normal(size=n) * 10.0 ** rng.uniform(0.0, offset, n)
    upper = lower + 10.0 ** rng.uniform(-2.0, 2.0, n)
    between = lower + rng.random(n) * (upper - lower)
    sign = int(rng.choice([1, -1]))
    side = Side.of(Hyperplane(coef, -float(coef @ between)).side(sign))
    return side, side.region(Box(lower, upper))


@given(st.integers(0, 2**32), st.sampled_from([1.0, 4.0, 6.0]))
def test_the_logarithm_of_the_largest_volume_is_that_of_water_filling(seed, offset):
    side, region = random_side(np.random.default_rng(seed), offset=offset)
    slack = float(true_slack(side, region.near))
    ends = side.a * (region.far - region.near)
    # Below some digits of the faces there is nothing to be placed exactly.
    if slack <= 1e-4 * float(ends.max()):
        return
    corner = volume_corner(side, region, region.near[None])
    assert side.admits(corner)
    best = filled(np.zeros(len(ends)), ends, slack)
    if (best >= 1e7 * side.a * np.spacing(np.abs(region.far))).all():
        assert shortfall(side, region, corner, best) <= 1e-6


def test_first_boxes_below_planes_with_weights_over_eight_decades_are_the_largest():
    for seed in range(120):
        side, region = random_side(np.random.default_rng(seed), offset=4.0)
        slack = float(true_slack(side, region.near))
        if slack <= 0:
            continue
        corner = volume_corner(side, region, region.near[None])
        best = filled(np.zeros(len(side.a)), side.a * (region.far - region.near), slack)
        assert shortfall(side, region, corner, best) <= math.log(2.0)


def test_no_box_on_the_unscaled_pima_table_ends_at_one_point_for_a_rounding_error(monkeypatch):
    found = []

    def watched(side, region, spent, at_end):
        corner = corner_at(side, region, spent, at_end)
        found.append(math.inf if corner is None else shortfall(side, region, corner, spent))
        return corner

    monkeypatch.setattr(program, "corner_at", watched)
    RuleExtractor(LPSVC(nu=100.0)).fit(*load_pima(return_X_y=True))
    assert len(found) > 250
    assert max(found) <= 1e-6


def test_shares_that_point_coverage_polished_on_the_pima_table_become_a_corner():
    # Two corners of an extraction by coverage; the floating-point excess of the first is exactly zero.
    a = [0.07646852697465795, 0.029229224251011404, 0.009084429302183741, 0.0005834923038115225]
    a += [0.0006052555825154353, 0.062018354599010395, 0.008245712770487645]
    side = Side.of(Hyperplane(-np.array(a), -6.056489088560147).side(1))
    far = [-0.0, -155.0, 88.0, 49.0, 846.0, -30.1, -21.0]
    near = [-17.0, -199.0, 0.0, 0.0, 392.0, -67.1, -81.0]
    spent = [1.1528499361857847, 0.7657818620922119, 0.7689140929493496, 0.028591122886764603]
    spent += [0.14903041631517333, 2.294679120163384, 0.49231908502468646]
    first = (near, far, spent, [3, 5])
    far = [-0.0, -134.0, 88.0, 49.0, 846.0, -30.1, -21.0]
    near = [-17.0, -199.0, 0.0, 0.0, 321.97736221277273, -67.1, -81.0]
    spent = [1.2533185094156387, 0.6403159534863279, 0.6657321289739734, 0.028591122886764603]
    spent += [0.3171676268851832, 2.294679120163384, 0.49474276622925867]
    second = (near, far, spent, [3, 4, 5, 6])
    flags = np.ones(7, dtype=bool)
    for near, far, spent, ends in (first, second):
        region = Region(np.array(near), np.array(far), flags, flags)
        corner = corner_at(side, region, np.array(spent), np.isin(np.arange(7), ends))
        assert corner is not None
        assert side.admits(corner)
        assert shortfall(side, region, corner, np.array(spent)) <= 1e-6


def test_where_one_face_has_too_little_width_for_the_excess_all_are_rounded_inwards():
    # Faces 3 to 5 digits from their near ones, where halves of a digit add up to more than one.
    near = np.full(6, 2.0**52)
    a = np.array([1.0, 1.1, 1.3, 1.7, 1.9, 2.3])
    spent = a * 2.6
    g = float(
        true_slack(Side.of(Hyperplane(a, 0.0).side(-1)), -near) + Fraction(float(spent.sum()))
    )
    side = Side.of(Hyperplane(a, -g).side(-1))
    flags = np.ones(6, dtype=bool)
    region = Region(near, near + 9.0, flags, flags)
    corner = corner_at(side, region, np.full(6, spent.sum() / 6), np.zeros(6, dtype=bool))
    assert corner is not None
    assert side.admits(corner)
    assert (corner.far > near).all()


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(numbers, numbers), max_size=6), numbers)
def test_an_exact_score_is_the_float_nearest_to_the_sum_of_fractions(pairs, constant):
    coef, point = (np.array([pair[k] for pair in pairs], dtype=float) for k in (0, 1))
    exact = sum((Fraction(w) * Fraction(x) for w, x in pairs), Fraction(constant))
    score = exact_score(coef, point, constant)
    assert (score > 0) - (score < 0) == (exact > 0) - (exact < 0)
    if math.isinf(score):
        assert abs(exact) > Fraction(np.finfo(float).max)
    elif abs(exact) >= Fraction(np.finfo(float).tiny):
        assert score == float(exact)


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=1, max_size=8))
def test_an_exact_score_knows_no_order(pairs):
    coef, point = (np.array([pair[k] for pair in pairs], dtype=float) for k in (0, 1))
    near_plane = -float(np.dot(coef, point))
    assert exact_score(coef, point, near_plane) == exact_score(coef[::-1], point[::-1], near_plane)
