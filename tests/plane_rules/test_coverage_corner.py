"""The box with most points: pair exchange, its starts and the polish, against brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.plane_rules import coverage_corner as coverage_module
from clearmargin.plane_rules.coverage_corner import (
    coverage_corner,
    covered,
    exchange_pairs,
    peel,
    polished_corner,
    prices,
    quantile_budget,
    short_corner,
)
from clearmargin.plane_rules.side import Region, Side
from clearmargin.plane_rules.volume_corner import volume_corner, water_fill
from clearmargin.rules import Hyperplane


def most_points(a, g, Z):
    """Try every corner through data values; a box may end at any of them as long as it stays below the plane."""
    best = 0
    for corner in product(*(sorted(set(column)) for column in Z.T.tolist())):
        height = sum(
            (Fraction(w) * Fraction(c) for w, c in zip(a, corner, strict=True)), Fraction(0)
        )
        if height < Fraction(g):
            best = max(best, int((np.array(corner) >= Z).all(axis=1).sum()))
    return best


def problem(seed, n=None, most=12):
    """Points below a plane in a region that the plane cuts, and the whole as arguments of a criterion."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 4)) if n is None else n
    a = 10.0 ** rng.uniform(-1, 1, n)
    Z = rng.normal(size=(200, n)) * 10.0 ** rng.uniform(-1, 1, n)
    if seed % 3 == 1:  # ties
        Z = np.round(Z)
    if seed % 5 == 2:  # an offset
        Z += 1e3
    near, far = Z.min(axis=0) - 0.25, Z.max(axis=0) + 0.25
    g = float(np.quantile(Z @ a, rng.uniform(0.2, 0.8))) + 1e-3
    below = Z[g - 1e-6 > Z @ a][: int(rng.integers(1, most + 1))]
    if seed % 4 == 3:  # points occur twice
        below = np.repeat(below, 2, axis=0)[:most]
    flags = np.ones(n, dtype=bool)
    side = Side.of(Hyperplane(a, -g).side(-1))
    return side, Region(near, far, flags, flags), below


def count(corner, Z):
    return int(corner.holds(Z).all(axis=1).sum())


@given(seed=st.integers(0, 59))
def test_two_features_are_solved_exactly(seed):
    side, region, Z = problem(seed, n=2)
    corner = coverage_corner(side, region, Z)
    assert side.admits(corner)
    assert count(corner, Z) == most_points(side.a, side.g, Z)


def test_three_features_are_solved_exactly_nearly_always_and_never_beyond_what_is_possible():
    hits = 0
    for seed in range(60):
        side, region, Z = problem(seed, n=3)
        corner = coverage_corner(side, region, Z)
        assert side.admits(corner)
        possible = most_points(side.a, side.g, Z)
        assert 1 <= count(corner, Z) <= possible
        assert count(corner, Z) >= possible - 1
        hits += count(corner, Z) == possible
    assert hits >= 57


@given(st.integers(0, 10**6))
def test_a_drawn_start_is_sound_and_covers_a_point(seed):
    side, region, Z = problem(seed)
    corner = coverage_corner(side, region, Z, np.random.default_rng(seed))
    assert side.admits(corner)
    assert 1 <= count(corner, Z) <= most_points(side.a, side.g, Z)


prices_of_points = st.integers(1, 5).flatmap(
    lambda n: st.lists(
        st.lists(st.floats(0, 10), min_size=n, max_size=n), min_size=1, max_size=30
    ).map(np.array)
)


@given(prices_of_points, st.floats(0.1, 30), st.integers(0, 100))
def test_exchanging_never_loses_a_point_and_keeps_the_sum(P, slack, seed):
    start = np.random.default_rng(seed).dirichlet(np.ones(P.shape[1])) * slack
    before = start.copy()
    budget = exchange_pairs(P, start)
    assert covered(P, budget).sum() >= covered(P, start).sum()
    assert budget.sum() == pytest.approx(slack)
    np.testing.assert_array_equal(start, before)


@given(prices_of_points, st.floats(0.1, 30))
def test_no_pair_has_anything_left_to_gain(P, slack):
    n = P.shape[1]
    budget = exchange_pairs(P, np.full(n, slack / n))
    best = covered(P, budget).sum()
    for i in range(n):
        for k in range(i):
            total = budget[i] + budget[k]
            # Between the prices of points, where what is covered changes.
            kinks = np.unique(np.r_[0.0, P[:, i], total - P[:, k], total])
            for share in (kinks[1:] + kinks[:-1]) / 2:
                tried = budget.copy()
                tried[i], tried[k] = share, total - share
                assert covered(P, tried).sum() <= best


@given(prices_of_points, st.floats(0.1, 30), st.integers(0, 100))
def test_pairs_that_are_passed_over_would_have_changed_nothing(P, slack, seed):
    start = np.random.default_rng(seed).dirichlet(np.ones(P.shape[1])) * slack
    budget = exchange_pairs(P, start)
    with pytest.MonkeyPatch.context() as patch:
        everything = np.ones((P.shape[1], P.shape[1]), dtype=bool)
        patch.setattr(coverage_module, "_can_gain", lambda *_: everything)
        np.testing.assert_array_equal(budget, exchange_pairs(P, start))


def test_nothing_is_sorted_where_no_pair_can_gain(monkeypatch):
    P = np.random.default_rng(0).random((500, 6))
    calls = []
    monkeypatch.setattr(coverage_module, "_best_share", lambda *_: calls.append(1) or (0.0, 0))
    # All points are covered, or all lack more than two features.
    exchange_pairs(P, np.full(6, 2.0))
    exchange_pairs(P + 1.0, np.full(6, 0.5))
    assert not calls


@given(prices_of_points, st.floats(0.1, 60))
def test_starts_spend_the_whole_slack(P, slack):
    P = P[P.sum(axis=1) < slack * (1 - 1e-9)]  # points on the side, as the region has them
    if not len(P):
        return
    for start in (quantile_budget(P, slack), peel(P, slack)):
        assert (start >= 0).all()
        assert start.sum() == pytest.approx(slack)


@given(prices_of_points, st.floats(0.1, 60))
def test_peeling_ends_with_a_join_that_fits(P, slack):
    P = P[P.sum(axis=1) < slack * (1 - 1e-9)]
    if len(P):
        # A single point is always left, and half of what is over lies beyond each of its prices.
        assert covered(P, peel(P, slack) * (1 + 1e-12)).any()


def test_peeling_takes_the_outlier_and_leaves_the_crowd():
    P = np.array([[0.1, 0.1], [0.2, 0.1], [0.1, 0.2], [0.9, 0.05]])
    budget = peel(P, 1.0)
    np.testing.assert_array_equal(covered(P, budget), [True, True, True, False])


def test_peeling_many_points_takes_several_at_a_time():
    rng = np.random.default_rng(0)
    P = rng.exponential(size=(2_000, 4))
    P = P[P.sum(axis=1) < 3.0]
    budget = peel(P, 3.0)
    assert budget.sum() == pytest.approx(3.0)
    assert covered(P, budget).sum() > 0.1 * len(P)


def test_equal_points_are_peeled_together_or_not_at_all():
    P = np.tile([[0.6, 0.6]], (5, 1))
    assert peel(P, 1.0).sum() == pytest.approx(1.2)  # nothing to take away: the join itself


def test_the_quantile_budget_cuts_off_the_same_number_of_points_in_each_feature():
    rng = np.random.default_rng(3)
    P = rng.uniform(size=(100, 3))
    slack = 1.5
    budget = quantile_budget(P, slack)
    beyond = (budget <= P).sum(axis=0)
    assert beyond.max() - beyond.min() <= 1 + (len(P) // 50)
    # It minimises sum_ji (P_ji - b_i)_+ over budgets with this sum, the separable reading of eq. 17.
    loss = lambda b: np.maximum(P - b, 0.0).sum()
    for _ in range(300):
        other = rng.dirichlet(np.ones(3)) * slack
        assert loss(budget) <= loss(other) + 1e-2 * len(P)


def test_where_not_even_the_innermost_points_fit_the_quantiles_give_equal_shares():
    np.testing.assert_allclose(quantile_budget(np.array([[5.0, 5.0]]), 2.0), [1.0, 1.0])


@given(st.integers(0, 10**6))
def test_prices_are_what_points_spend(seed):
    side, region, Z = problem(seed)
    P, slack, ends = prices(side, region, Z)
    np.testing.assert_allclose(
        P.sum(axis=1), slack - (side.g - Z @ side.a), atol=1e-9 * (1 + abs(side.g))
    )
    np.testing.assert_allclose(ends, side.a * (region.far - region.near))


@given(st.integers(0, 10**6))
def test_the_polish_keeps_the_points_that_the_budget_covers_and_leaves_them_a_margin(seed):
    side, region, Z = problem(seed)
    P, slack, _ = prices(side, region, Z)
    budget = exchange_pairs(P, peel(P, slack))
    inside = covered(P, budget)
    corner = polished_corner(side, region, Z, budget)
    assert side.admits(corner)
    if not inside.any():
        assert count(corner, Z) >= 1
        return
    assert corner.holds(Z[inside]).all()
    gaps = (corner.far - Z[inside].max(axis=0))[corner.far < region.far]
    assert (gaps > 0).all()


def test_a_region_below_the_plane_is_covered_whole():
    side, region, Z = problem(0, n=2)
    wide = Side.of(Hyperplane(side.a, -1e6).side(-1))
    corner = coverage_corner(wide, region, Z)
    np.testing.assert_array_equal(corner.far, region.far)


def test_without_slack_the_deepest_point_is_covered():
    # The only point is on the plane, which belongs to the side.
    side = Side.of(Hyperplane([1.0, 1.0], -2.0).side(-1))
    flags = np.ones(2, dtype=bool)
    region = Region(np.array([1.0, 1.0]), np.array([3.0, 3.0]), flags, flags)
    corner = coverage_corner(side, region, np.array([[1.0, 1.0]]))
    np.testing.assert_array_equal(corner.far, [1.0, 1.0])
    assert corner.closed.all()


def short_problem(seed, *, share=None):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    a = 10.0 ** rng.uniform(-1, 1, n)
    Z = rng.uniform(size=(60, n))
    share = rng.uniform(0.2, 0.95) if share is None else share
    g = float(share * a.sum())
    flags = np.ones(n, dtype=bool)
    below = Z[g - 1e-6 > Z @ a]
    region = Region(np.zeros(n), np.ones(n), flags, flags)
    return Side.of(Hyperplane(a, -g).side(-1)), region, below if len(below) else np.zeros((1, n))


@given(st.integers(0, 10**6), st.sampled_from(["volume", "coverage"]), st.integers(1, 5))
def test_a_short_corner_is_sound_and_bounds_at_most_so_many_features(seed, criterion, most):
    side, region, Z = short_problem(seed)
    corner = short_corner(side, region, Z, domain=region, max_conditions=most, criterion=criterion)
    if corner is None:
        return
    assert side.admits(corner)
    assert (corner.far != region.far).sum() <= most
    if criterion == "coverage":
        assert corner.holds(Z).all(axis=1).any()


@given(st.integers(0, 10**6))
def test_one_feature_less_is_the_best_choice_of_one_feature(seed):
    side, region, Z = short_problem(seed)
    n = len(side.a)
    corner = short_corner(side, region, Z, domain=region, max_conditions=n - 1, criterion="volume")
    volumes = []
    for (free,) in combinations(range(n), 1):
        low = np.where(np.arange(n) == free, side.a, 0.0)
        if side.g > side.a[free]:
            volumes.append(np.prod(water_fill(low, side.a, side.g) / side.a))
    if corner is None:
        assert not volumes or max(volumes) < 1e-9
    else:
        assert np.prod(corner.far) == pytest.approx(max(volumes), rel=1e-9)


def test_with_all_features_allowed_it_is_the_largest_box():
    side, region, Z = short_problem(3, share=0.6)
    n = len(side.a)
    corner = short_corner(side, region, Z, domain=region, max_conditions=n, criterion="volume")
    np.testing.assert_allclose(corner.far, volume_corner(side, region, Z).far)


def test_features_that_the_region_bounds_already_count():
    side = Side.of(Hyperplane([1.0, 1.0, 1.0], -2.5).side(-1))
    flags = np.ones(3, dtype=bool)
    domain = Region(np.zeros(3), np.ones(3), flags, flags)
    region = Region(np.array([0.3, 0.3, 0.0]), np.ones(3), flags, flags)
    Z = np.array([[0.4, 0.4, 0.1]])
    arguments = {"domain": domain, "criterion": "volume"}
    assert short_corner(side, region, Z, max_conditions=1, **arguments) is None
    corner = short_corner(side, region, Z, max_conditions=2, **arguments)
    assert corner.far[2] == 1.0
    assert side.admits(corner)


def test_a_face_at_the_end_of_the_domain_that_excludes_the_end_is_a_condition():
    side = Side.of(Hyperplane([1.0, 1.0, 1.0], -2.5).side(-1))
    flags = np.ones(3, dtype=bool)
    domain = Region(np.zeros(3), np.ones(3), flags, flags)
    far_open = Region(domain.near, domain.far, flags, np.array([False, False, True]))
    near_open = Region(domain.near, domain.far, np.array([False, False, True]), flags)
    Z = np.array([[0.4, 0.4, 0.1]])
    for region in (far_open, near_open):
        for criterion in ("volume", "coverage"):
            arguments = {"domain": domain, "criterion": criterion}
            assert short_corner(side, region, Z, max_conditions=1, **arguments) is None
            corner = short_corner(side, region, Z, max_conditions=2, **arguments)
            assert corner.far[2] == 1.0
            assert corner.closed[2]


def test_there_is_no_short_corner_when_free_features_cost_more_than_the_slack():
    side = Side.of(Hyperplane([1.0, 1.0], -0.5).side(-1))
    flags = np.ones(2, dtype=bool)
    domain = Region(np.zeros(2), np.ones(2), flags, flags)
    Z = np.array([[0.1, 0.1]])
    for criterion in ("volume", "coverage"):
        assert (
            short_corner(side, domain, Z, domain=domain, max_conditions=1, criterion=criterion)
            is None
        )


def test_a_corner_that_covers_nothing_is_none_for_coverage():
    side = Side.of(Hyperplane([1.0, 10.0], -1.5).side(-1))
    flags = np.ones(2, dtype=bool)
    domain = Region(np.zeros(2), np.ones(2), flags, flags)
    # With the first feature free 0.5 is left for the second one, and the point needs 1.
    Z = np.array([[0.0, 0.1]])
    corner = short_corner(side, domain, Z, domain=domain, max_conditions=1, criterion="coverage")
    assert corner is None


def test_a_share_that_rounds_to_nothing_is_no_reason_to_fail(monkeypatch):
    # Added up in another order the eight features to be freed cost a rounding error more than the slack.
    ends = np.array([8.5, 4.7, 8.8, 0.8, 5.5, 3.5, 7.2, 1.7, 7.9])
    free = np.arange(9) != 4
    slack = float(np.where(free, ends, 0.0).sum())
    assert slack > ends[free].sum()
    monkeypatch.setattr(
        "clearmargin.plane_rules.coverage_corner.prices", lambda *_: (np.zeros((1, 9)), slack, ends)
    )
    side = Side.of(Hyperplane(ends, -slack).side(-1))
    flags = np.ones(9, dtype=bool)
    domain = Region(np.zeros(9), np.ones(9), flags, flags)
    region = Region(np.zeros(9) + 0.1 * ~free, np.ones(9), flags, flags)
    corner = short_corner(
        side, region, np.zeros((1, 9)), domain=domain, max_conditions=1, criterion="volume"
    )
    assert corner is None or side.admits(corner)
