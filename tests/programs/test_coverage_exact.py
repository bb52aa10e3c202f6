"""The integer program finds the box with most points."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from clearmargin.exceptions import UncertifiedWarning
from clearmargin.plane_rules.coverage_corner import coverage_corner
from clearmargin.plane_rules.coverage_exact import exact_corner
from clearmargin.plane_rules.side import Region, Side
from clearmargin.rules import Hyperplane


def most_points(a, g, Z):
    best = 0
    for corner in product(*(sorted(set(column)) for column in Z.T.tolist())):
        height = sum(
            (Fraction(w) * Fraction(c) for w, c in zip(a, corner, strict=True)), Fraction(0)
        )
        if height < Fraction(g):
            best = max(best, int((np.array(corner) >= Z).all(axis=1).sum()))
    return best


def problem(seed, n, m):
    rng = np.random.default_rng(seed)
    a = 10.0 ** rng.uniform(-1, 1, n)
    Z = rng.normal(size=(300, n))
    if seed % 2:
        # Small whole numbers: many ties, and many copies of a point.
        Z, a = rng.integers(0, 4, size=(300, n)).astype(float), np.ceil(a)
    g = float(np.floor(np.quantile(Z @ a, 0.6))) + 0.5
    below = Z[g > Z @ a][:m]
    flags = np.ones(n, dtype=bool)
    region = Region(Z.min(axis=0), Z.max(axis=0), flags, flags)
    return Side.of(Hyperplane(a, -g).side(-1)), region, below


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_it_covers_as_many_points_as_any_corner_through_data_values(seed, n):
    side, region, Z = problem(seed, n, 12)
    corner = exact_corner(side, region, Z)
    assert side.admits(corner)
    assert int(corner.holds(Z).all(axis=1).sum()) == most_points(side.a, side.g, Z)


@pytest.mark.parametrize("seed", range(6))
def test_pair_exchange_never_covers_more(seed):
    side, region, Z = problem(seed, 4, 25)
    exact = int(exact_corner(side, region, Z).holds(Z).all(axis=1).sum())
    quick = int(coverage_corner(side, region, Z).holds(Z).all(axis=1).sum())
    assert quick <= exact


def test_a_region_below_the_plane_needs_no_search():
    side, region, Z = problem(0, 3, 10)
    wide = Side.of(Hyperplane(side.a, -1e6).side(-1))
    assert exact_corner(wide, region, Z).holds(Z).all()


def test_a_search_that_runs_out_of_time_says_so_and_uses_pair_exchange(monkeypatch):
    from clearmargin.exceptions import TimeLimitError

    def late(*_, **__):
        raise TimeLimitError("too late")

    monkeypatch.setattr("clearmargin.plane_rules.coverage_exact.solve", late)
    side, region, Z = problem(2, 3, 12)
    with pytest.warns(UncertifiedWarning, match=r"box of 12 points stopped after 0\.5 s"):
        corner = exact_corner(side, region, Z, time_limit=0.5)
    np.testing.assert_array_equal(corner.far, coverage_corner(side, region, Z).far)


def test_without_slack_the_deepest_point_is_its_own_box():
    # The near corner of the region is on the plane, which belongs to the side.
    side = Side.of(Hyperplane([1.0, 1.0], -2.0).side(-1))
    flags = np.ones(2, dtype=bool)
    region = Region(np.array([1.0, 1.0]), np.array([3.0, 3.0]), flags, flags)
    corner = exact_corner(side, region, np.array([[1.0, 1.0], [1.0, 1.0]]))
    np.testing.assert_array_equal(corner.far, [1.0, 1.0])
    assert corner.closed.all()
