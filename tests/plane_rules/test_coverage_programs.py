"""The linear program of eq. 17 in its three readings, against the printed program in SciPy."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from clearmargin.exceptions import UncertifiedWarning
from clearmargin.plane_rules import coverage_programs
from clearmargin.plane_rules.coverage_corner import coverage_corner
from clearmargin.plane_rules.coverage_programs import (
    exact_corner,
    feature_corner,
    point_corner,
    separable_corner,
)
from clearmargin.plane_rules.side import Corner, Region, Side
from clearmargin.rules import Hyperplane

READINGS = {"feature": feature_corner, "point": point_corner, "separable": separable_corner}


def problem(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 6)), int(rng.integers(2, 30))
    a = 10.0 ** rng.uniform(-1, 1, n)
    Z = rng.normal(size=(400, n)) * 10.0 ** rng.uniform(-1, 1, n)
    g = float(np.quantile(Z @ a, rng.uniform(0.3, 0.8)))
    below = Z[g - 1e-6 > Z @ a][:m]
    if seed % 3 == 0:
        below = np.repeat(below, 2, axis=0)
    flags = np.ones(n, dtype=bool)
    near, far = Z.min(axis=0), Z.max(axis=0)
    return Side.of(Hyperplane(a, -g).side(-1)), Region(near, far, flags, flags), below


def cube(side, region, Z):
    """Points and costs in the coordinates in which the program is printed."""
    width = region.far - region.near
    return (Z - region.near) / width, side.a * width / (side.g - side.a @ region.near)


def optimum(Y, w, reading):
    """Minimise the sum of slacks; to which of them row (j, i) belongs is the reading."""
    m, n = Y.shape
    count = {"feature": n, "point": m, "separable": m * n}[reading]
    rows, right = [], []
    for j in range(m):
        for i in range(n):
            row = np.zeros(n + count)
            row[i] = -1.0
            row[n + {"feature": i, "point": j, "separable": j * n + i}[reading]] = -1.0
            rows.append(row)
            right.append(-Y[j, i])
    result = linprog(
        np.r_[np.zeros(n), np.ones(count)],
        A_ub=np.array(rows),
        b_ub=right,
        A_eq=np.r_[w, np.zeros(count)][None],
        b_eq=[1.0],
        bounds=[(0, 1)] * n + [(0, None)] * count,
        method="highs",
    )
    assert result.status == 0, result.message
    return result.fun


def loss(Y, x, reading):
    beyond = np.maximum(Y - x, 0.0)
    if reading == "feature":
        return beyond.max(axis=0).sum()
    return beyond.max(axis=1).sum() if reading == "point" else beyond.sum()


@pytest.fixture
def raw_corner(monkeypatch):
    """The solution of the program before it is polished, in units of the cube."""

    def solve(reading, side, region, Z):
        seen = []
        keep = lambda side, region, Z, budget: seen.append(budget)
        with monkeypatch.context() as patch:
            patch.setattr(coverage_programs, "polished_corner", keep)
            READINGS[reading](side, region, Z)
        (budget,) = seen
        return budget / (side.a * (region.far - region.near))

    return solve


@pytest.mark.parametrize("reading", ["feature", "point"])
@pytest.mark.parametrize("seed", range(20))
def test_a_reading_is_the_optimum_of_the_printed_program(reading, seed, raw_corner):
    side, region, Z = problem(seed)
    Y, w = cube(side, region, Z)
    x = raw_corner(reading, side, region, Z)
    assert (x >= 0).all()
    assert w @ x <= 1 + 1e-7
    assert loss(Y, x, reading) == pytest.approx(optimum(Y, w, reading), abs=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_the_separable_reading_is_the_optimum_but_for_the_last_point_of_each_feature(
    seed, raw_corner
):
    side, region, Z = problem(seed)
    Y, w = cube(side, region, Z)
    x = raw_corner("separable", side, region, Z)
    best = optimum(Y, w, "separable")
    assert w @ x <= 1 + 1e-7
    # Faces lie at data values; what is over could move each of them on to the next one at most.
    ordered = np.sort(Y, axis=0)
    steps = [np.diff(column).max(initial=column[0]) for column in ordered.T]
    assert best - 1e-6 <= loss(Y, x, "separable") <= best + len(Y) * sum(steps)


@pytest.mark.parametrize("reading", sorted(READINGS))
@pytest.mark.parametrize("seed", range(8))
def test_polished_corners_are_sound_and_cover_a_point(reading, seed):
    side, region, Z = problem(seed)
    corner = READINGS[reading](side, region, Z)
    assert isinstance(corner, Corner)
    assert side.admits(corner)
    assert corner.holds(Z).all(axis=1).any()
    assert (corner.far <= region.far).all()


@pytest.mark.parametrize("reading", sorted(READINGS))
def test_a_region_below_the_plane_is_covered_whole(reading):
    side, region, Z = problem(1)
    wide = Side.of(Hyperplane(side.a, -1e6).side(-1))
    assert READINGS[reading](wide, region, Z).holds(Z).all()


@pytest.mark.parametrize("reading", sorted(READINGS))
def test_a_feature_without_width_costs_nothing(reading):
    side, region, Z = problem(4)
    flat = Z.copy()
    flat[:, 0] = region.near[0]
    far = region.far.copy()
    far[0] = region.near[0]
    thin = Region(region.near, far, region.near_closed, region.far_closed)
    corner = READINGS[reading](side, thin, flat)
    assert side.admits(corner)
    assert corner.holds(flat).all(axis=1).any()
    assert corner.far[0] == region.near[0]


@pytest.mark.parametrize("reading", sorted(READINGS))
def test_without_slack_the_deepest_point_is_its_own_box(reading):
    # The near corner of the region is on the plane, which belongs to the side.
    side = Side.of(Hyperplane([1.0, 1.0], -2.0).side(-1))
    flags = np.ones(2, dtype=bool)
    region = Region(np.array([1.0, 1.0]), np.array([3.0, 3.0]), flags, flags)
    corner = READINGS[reading](side, region, np.array([[1.0, 1.0], [1.0, 1.0]]))
    np.testing.assert_array_equal(corner.far, [1.0, 1.0])
    assert corner.closed.all()


def test_costs_over_many_decades_do_not_overflow():
    side = Side.of(Hyperplane([1e-300, 1.0, 1e10], -1.0).side(-1))
    flags = np.ones(3, dtype=bool)
    region = Region(np.zeros(3), np.ones(3), flags, flags)
    Z = np.array([[0.5, 0.5, 1e-11], [0.2, 0.1, 2e-11]])
    corner = separable_corner(side, region, Z)
    assert side.admits(corner)
    assert corner.holds(Z).all(axis=1).any()


def most_points(a, g, Z):
    best = 0
    for corner in product(*(sorted(set(column)) for column in Z.T.tolist())):
        height = sum(
            (Fraction(w) * Fraction(c) for w, c in zip(a, corner, strict=True)), Fraction(0)
        )
        if height < Fraction(g):
            best = max(best, int((np.array(corner) >= Z).all(axis=1).sum()))
    return best


def small_problem(seed, n, m):
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
    side, region, Z = small_problem(seed, n, 12)
    corner = exact_corner(side, region, Z)
    assert side.admits(corner)
    assert int(corner.holds(Z).all(axis=1).sum()) == most_points(side.a, side.g, Z)


@pytest.mark.parametrize("seed", range(6))
def test_pair_exchange_never_covers_more(seed):
    side, region, Z = small_problem(seed, 4, 25)
    exact = int(exact_corner(side, region, Z).holds(Z).all(axis=1).sum())
    quick = int(coverage_corner(side, region, Z).holds(Z).all(axis=1).sum())
    assert quick <= exact


def test_a_region_below_the_plane_needs_no_search():
    side, region, Z = small_problem(0, 3, 10)
    wide = Side.of(Hyperplane(side.a, -1e6).side(-1))
    assert exact_corner(wide, region, Z).holds(Z).all()


def test_a_search_that_runs_out_of_time_says_so_and_uses_pair_exchange(monkeypatch):
    from clearmargin.exceptions import TimeLimitError

    def late(*_, **__):
        raise TimeLimitError("too late")

    monkeypatch.setattr("clearmargin.plane_rules.coverage_programs.solve", late)
    side, region, Z = small_problem(2, 3, 12)
    with pytest.warns(UncertifiedWarning, match=r"box of 12 points stopped after 0\.5 s"):
        corner = exact_corner(side, region, Z, time_limit=0.5)
    np.testing.assert_array_equal(corner.far, coverage_corner(side, region, Z).far)


def test_without_slack_the_exact_corner_is_that_of_the_deepest_point():
    # The near corner of the region is on the plane, which belongs to the side.
    side = Side.of(Hyperplane([1.0, 1.0], -2.0).side(-1))
    flags = np.ones(2, dtype=bool)
    region = Region(np.array([1.0, 1.0]), np.array([3.0, 3.0]), flags, flags)
    corner = exact_corner(side, region, np.array([[1.0, 1.0], [1.0, 1.0]]))
    np.testing.assert_array_equal(corner.far, [1.0, 1.0])
    assert corner.closed.all()
