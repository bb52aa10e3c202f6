"""Corners that bound few features."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.plane_rules.short_corner import short_corner
from clearmargin.plane_rules.side import Region, Side
from clearmargin.plane_rules.volume_corner import volume_corner, water_fill
from clearmargin.rules import Hyperplane


def problem(seed, *, share=None):
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
    side, region, Z = problem(seed)
    corner = short_corner(side, region, Z, domain=region, max_conditions=most, criterion=criterion)
    if corner is None:
        return
    assert side.admits(corner)
    assert (corner.far != region.far).sum() <= most
    if criterion == "coverage":
        assert corner.holds(Z).all(axis=1).any()


@given(st.integers(0, 10**6))
def test_one_feature_less_is_the_best_choice_of_one_feature(seed):
    side, region, Z = problem(seed)
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
    side, region, Z = problem(3, share=0.6)
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
        "clearmargin.plane_rules.short_corner.prices", lambda *_: (np.zeros((1, 9)), slack, ends)
    )
    side = Side.of(Hyperplane(ends, -slack).side(-1))
    flags = np.ones(9, dtype=bool)
    domain = Region(np.zeros(9), np.ones(9), flags, flags)
    region = Region(np.zeros(9) + 0.1 * ~free, np.ones(9), flags, flags)
    corner = short_corner(
        side, region, np.zeros((1, 9)), domain=domain, max_conditions=1, criterion="volume"
    )
    assert corner is None or side.admits(corner)
