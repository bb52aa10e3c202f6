"""No box is smaller than it has to be: volumes against water-filling by bisection, over many decades of weights."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_pima
from clearmargin.plane_rules import volume_corner as program
from clearmargin.plane_rules.side import Region, Side
from clearmargin.plane_rules.volume_corner import corner_at, volume_corner
from clearmargin.rules import Box, Hyperplane
from clearmargin.rules.sign import exact_score


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
