from __future__ import annotations

import itertools
import math
import pickle
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import InvalidValueError
from clearmargin.plane_rules.volume import (
    Enclosure,
    Volume,
    clipped_share,
    clipped_volume,
    exact_tail,
    fourier_tail,
    grid_tail,
)

NO_LIMIT = 1e15


def vertex_sum(a, g, lower, upper) -> Fraction:
    """The volume as a signed sum over the corners of the box; all weights and widths other than zero.

    No flipping of coordinates, no halves, no integers: nothing in common with the code but the mathematics.
    """
    n = len(a)
    total = Fraction(0)
    for corner in itertools.product((0, 1), repeat=n):
        vertex = [(lower, upper)[up][i] for i, up in enumerate(corner)]
        height = Fraction(g) - sum(
            Fraction(w) * Fraction(x) for w, x in zip(a, vertex, strict=True)
        )
        total += (-1) ** sum(corner) * max(Fraction(0), height) ** n
    return total / (math.factorial(n) * math.prod(Fraction(w) for w in a))


def polygon_area(a, g, lower, upper) -> Fraction:
    """The area for n = 2, by walking round the rectangle and cutting it (Sutherland and Hodgman)."""
    (x0, y0), (x1, y1) = (map(Fraction, bound) for bound in (lower, upper))
    height = lambda p: Fraction(a[0]) * p[0] + Fraction(a[1]) * p[1] - Fraction(g)
    corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    kept = []
    for p, q in zip(corners, corners[1:] + corners[:1], strict=True):
        hp, hq = height(p), height(q)
        if hp < 0:
            kept.append(p)
        if (hp < 0) != (hq < 0):
            t = hp / (hp - hq)
            kept.append((p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])))
    pairs = zip(kept, kept[1:] + kept[:1], strict=True)
    return abs(sum((p[0] * q[1] - p[1] * q[0] for p, q in pairs), Fraction(0))) / 2


def holds(volume: Volume | Enclosure, truth: Fraction) -> bool:
    return volume.low <= truth <= volume.high


# Small multiples of 1/16: shifts and flips of them are exact in floating point.
sixteenths = st.integers(-64, 64).map(lambda k: k / 16)


widths = st.integers(1, 64).map(lambda k: k / 16)


nonzero = st.integers(1, 64).flatmap(lambda k: st.sampled_from([k / 16, -k / 16]))


@st.composite
def problems(draw, largest=6):
    n = draw(st.integers(1, largest))
    rows = lambda values: draw(st.lists(values, min_size=n, max_size=n))
    a, lower, side = rows(nonzero), rows(sixteenths), rows(widths)
    upper = [x + d for x, d in zip(lower, side, strict=True)]
    inside = [x + draw(st.integers(0, 8)) / 8 * d for x, d in zip(lower, side, strict=True)]
    return a, sum(w * x for w, x in zip(a, inside, strict=True)), lower, upper


@st.composite
def rough_problems(draw):
    """Any floats: weights over six decades, widths over sixteen, offsets up to 1e9."""
    n = draw(st.integers(1, 6))
    rows = lambda values: np.array(draw(st.lists(values, min_size=n, max_size=n)))
    mantissa = st.floats(1.0, 10.0)
    a = rows(mantissa) * 10.0 ** rows(st.integers(-3, 2)) * rows(st.sampled_from([-1.0, 1.0]))
    lower = rows(st.floats(-1e9, 1e9) | st.floats(-1.0, 1.0))
    upper = lower + rows(mantissa) * 10.0 ** rows(st.integers(-8, 7))
    upper = np.where(upper > lower, upper, np.nextafter(lower, np.inf))
    inside = lower + rows(st.floats(0.0, 1.0)) * (upper - lower)
    return a.tolist(), float(a @ inside), lower.tolist(), upper.tolist()


def skewed(n: int, seed: int, decades: float = 6.0) -> tuple[list[int], int]:
    """Positive integer weights over some decades, and a threshold in the lower half."""
    rng = np.random.default_rng(seed)
    weights = [int(1e12 * 10 ** (-decades * x)) for x in rng.random(n)]
    return weights, int(rng.uniform(0.02, 0.5) * sum(weights))


class TestAgainstFormulas:
    @given(problems())
    def test_the_volume_is_the_signed_sum_over_the_corners(self, problem):
        volume = clipped_volume(*problem)
        assert holds(volume, vertex_sum(*problem))
        assert volume.is_exact

    @given(rough_problems())
    def test_rough_floats_lose_nothing(self, problem):
        volume = clipped_volume(*problem)
        assert holds(volume, vertex_sum(*problem))
        assert volume.is_exact
        assert volume.method == "exact"

    @given(rough_problems())
    def test_the_share_is_the_volume_divided_by_that_of_the_box(self, problem):
        _, _, lower, upper = problem
        box = math.prod(Fraction(u) - Fraction(x) for x, u in zip(lower, upper, strict=True))
        share = clipped_share(*problem)
        assert holds(share, vertex_sum(*problem) / box)
        assert 0.0 <= share.low <= share.value <= share.high <= 1.0

    @given(nonzero, sixteenths, sixteenths, widths)
    def test_one_feature_is_an_interval(self, a, g, lower, width):
        upper = lower + width
        cut = Fraction(g) / Fraction(a)
        low, high = (Fraction(lower), cut) if a > 0 else (cut, Fraction(upper))
        truth = max(Fraction(0), min(high, Fraction(upper)) - max(low, Fraction(lower)))
        assert holds(clipped_volume([a], g, [lower], [upper]), truth)

    @given(problems(largest=2).filter(lambda p: len(p[0]) == 2))
    def test_two_features_are_a_polygon(self, problem):
        assert holds(clipped_volume(*problem), polygon_area(*problem))

    @pytest.mark.parametrize(
        ("g", "truth"),
        [
            (0.5, Fraction(1, 48)),
            (1.0, Fraction(1, 6)),
            (1.5, Fraction(1, 2)),
            (2.0, Fraction(5, 6)),
        ],
    )
    def test_a_cube_is_cut_across_its_diagonal(self, g, truth):
        volume = clipped_volume([1.0, 1.0, 1.0], g, 0.0, 1.0)
        assert holds(volume, truth)
        assert volume.is_exact

    @pytest.mark.parametrize("n", [1, 2, 5, 9, 24, 60])
    def test_a_corner_that_is_cut_off_is_a_simplex(self, n):
        a = np.linspace(0.5, 2.0, n)
        g = 0.25
        truth = Fraction(g) ** n / (math.factorial(n) * math.prod(map(Fraction, a.tolist())))
        share = clipped_share(a, g, 0.0, 1.0)
        assert holds(share, truth)
        assert share.is_exact

    @pytest.mark.parametrize("n", [4, 12, 40])
    def test_slices_of_a_cube_are_counted_by_eulerian_numbers(self, n):
        row = [1]
        for m in range(2, n + 1):
            last = [0, *row, 0]
            row = [(k + 1) * last[k + 1] + (m - k) * last[k] for k in range(m)]
        for k in range(1, n):
            share = clipped_share(np.ones(n), float(k), 0.0, 1.0)
            assert holds(share, Fraction(sum(row[:k]), math.factorial(n)))
            assert share.is_exact

    def test_drawing_points_gives_the_same_share(self):
        rng = np.random.default_rng(7)
        a, lower, draws = rng.normal(size=7), rng.normal(size=7), 200_000
        upper = lower + rng.uniform(0.2, 2.0, size=7)
        g = float(a @ (lower + upper)) / 2 - 0.4
        hits = (rng.uniform(lower, upper, size=(draws, 7)) @ a < g).mean()
        share = clipped_share(a, g, lower, upper).value
        # Five standard deviations of a share of so many draws.
        assert abs(hits - share) < 5 * math.sqrt(share * (1 - share) / draws)


class TestInvariance:
    @given(problems())
    def test_both_sides_of_the_plane_make_up_the_box(self, problem):
        a, g, lower, upper = problem
        below = clipped_share(a, g, lower, upper)
        above = clipped_share([-w for w in a], -g, lower, upper)
        assert Fraction(below.low) + Fraction(above.low) <= 1
        assert Fraction(below.high) + Fraction(above.high) >= 1

    @given(problems(), st.randoms())
    def test_the_order_of_the_features_does_not_matter(self, problem, random):
        a, g, lower, upper = problem
        order = random.sample(range(len(a)), len(a))
        shuffled = ([x[i] for i in order] for x in (lower, upper))
        assert clipped_volume([a[i] for i in order], g, *shuffled) == clipped_volume(*problem)

    @given(problems(), st.integers(-40, 40))
    def test_the_length_of_the_normal_does_not_matter(self, problem, power):
        a, g, lower, upper = problem
        c = 2.0**power
        assert clipped_volume([c * w for w in a], c * g, lower, upper) == clipped_volume(*problem)

    @given(problems(), st.integers(-1000, 1000))
    def test_moving_plane_and_box_together_changes_nothing(self, problem, shift):
        a, g, lower, upper = problem
        moved = ([x + shift for x in bound] for bound in (lower, upper))
        assert clipped_volume(a, g + shift * sum(a), *moved) == clipped_volume(*problem)

    @given(problems())
    def test_mirroring_a_feature_changes_nothing(self, problem):
        a, g, lower, upper = problem
        mirrored = ([-a[0], *a[1:]], g, [-upper[0], *lower[1:]], [-lower[0], *upper[1:]])
        assert clipped_volume(*mirrored) == clipped_volume(*problem)

    @given(problems(), st.integers(-20, 20))
    def test_the_unit_of_a_feature_scales_the_volume_and_not_the_share(self, problem, power):
        a, g, lower, upper = problem
        c = 2.0**power
        scaled = ([a[0] / c, *a[1:]], g, [c * lower[0], *lower[1:]], [c * upper[0], *upper[1:]])
        volume = clipped_volume(*problem)
        assert clipped_share(*scaled) == clipped_share(*problem)
        assert clipped_volume(*scaled) == Volume(c * volume.low, c * volume.high, "exact")

    @given(problems(), widths)
    def test_the_volume_grows_with_the_threshold(self, problem, more):
        a, g, lower, upper = problem
        smaller, larger = clipped_volume(*problem), clipped_volume(a, g + more, lower, upper)
        assert smaller.low <= larger.low
        assert smaller.high <= larger.high

    @given(problems(), st.data())
    def test_cutting_the_box_in_two_keeps_the_volume(self, problem, data):
        a, g, lower, upper = problem
        j = data.draw(st.integers(0, len(a) - 1))
        cut = lower[j] + data.draw(st.integers(0, 8)) / 8 * (upper[j] - lower[j])
        left = clipped_volume(a, g, lower, [*upper[:j], cut, *upper[j + 1 :]])
        right = clipped_volume(a, g, [*lower[:j], cut, *lower[j + 1 :]], upper)
        whole = clipped_volume(*problem)
        assert Fraction(left.low) + Fraction(right.low) <= Fraction(whole.high)
        assert Fraction(left.high) + Fraction(right.high) >= Fraction(whole.low)


class TestRoutes:
    @pytest.mark.parametrize("n", range(2, 13))
    @pytest.mark.parametrize("decades", [0.5, 2.0, 6.0])
    def test_all_routes_agree_within_their_bounds(self, n, decades):
        for seed in range(4):
            weights, g = skewed(n, seed, decades)
            truth = exact_tail(weights, g, NO_LIMIT)
            if n <= 8:
                assert truth == vertex_sum(weights, g, [0] * n, [1] * n)
            assert holds(fourier_tail(weights, g), truth)
            assert holds(grid_tail(weights, g), truth)

    @pytest.mark.parametrize("n", [30, 60])
    @pytest.mark.parametrize("part", [0.04, 0.15, 0.3, 0.5])
    def test_many_small_whole_weights_are_an_exact_check_of_the_bounds(self, n, part):
        weights = [1 + i % 7 for i in range(n)]
        g = int(part * sum(weights))
        truth = exact_tail(weights, g, NO_LIMIT)
        series, grid = fourier_tail(weights, g), grid_tail(weights, g)
        assert holds(series, truth)
        assert holds(grid, truth)
        assert series.width < 1e-12
        assert grid.width < 0.2 * truth

    @given(st.integers(2, 9), st.integers(0, 10_000), st.sampled_from([1, 3, 50, 2**12]))
    def test_a_coarse_grid_is_honest_too(self, n, seed, points):
        weights, g = skewed(n, seed, 3.0)
        assert holds(grid_tail(weights, g, points), exact_tail(weights, g, NO_LIMIT))

    def test_a_finer_grid_is_narrower(self):
        weights, g = skewed(9, 1, 2.0)
        sizes = [grid_tail(weights, g, points).width for points in (2**8, 2**11, 2**14)]
        assert sizes == sorted(sizes, reverse=True)

    def test_the_series_holds_where_one_weight_outdoes_all_others(self):
        weights = [10**12, *range(1, 40)]
        g = 10**11  # the others never reach g, so that only their mean matters
        truth = (g - Fraction(sum(range(1, 40)), 2)) / 10**12
        series = fourier_tail(weights, g)
        assert holds(series, truth)
        assert series.width < 1e-5

    def test_weights_below_the_range_of_floats_do_not_disturb_the_series(self):
        weights = [3 * 2**1200, 5 * 2**1200, 7 * 2**1200, 1]
        g = 2**1202
        assert holds(fourier_tail(weights, g), exact_tail(weights, g, NO_LIMIT))
        assert holds(grid_tail(weights, g), exact_tail(weights, g, NO_LIMIT))

    def test_the_grid_is_honest_where_floats_underflow(self):
        weights = [10**9 + i for i in range(400)]
        g = 5 * 10**8  # a simplex: no weight fits below g
        truth = Fraction(g**400, math.factorial(400) * math.prod(weights))
        assert holds(grid_tail(weights, g), truth)

    def test_exact_sums_are_given_up_when_they_are_too_much_work(self):
        weights, _ = skewed(30, 0, 1.0)
        assert exact_tail(weights, sum(weights) // 2, work=1e6) is None
        assert exact_tail(weights, min(weights) // 2, work=1e7) is not None

    @pytest.mark.parametrize("n", [1, 5, 10, 14, 18])
    def test_up_to_eighteen_features_are_exact(self, n):
        rng = np.random.default_rng(n)
        share = clipped_share(rng.normal(size=n), 0.1, rng.normal(size=n) - 3.0, 4.0)
        assert share.method == "exact"
        assert share.is_exact

    @pytest.mark.parametrize("n", [30, 60, 200])
    def test_many_features_have_a_share_to_twelve_digits(self, n):
        a = np.random.default_rng(n).lognormal(0.0, 0.7, size=n)
        start = time.process_time()
        share = clipped_share(a, 0.48 * a.sum(), 0.0, 1.0)
        assert time.process_time() - start < 5.0
        assert share.method == "fourier"
        assert 0.0 < share.high - share.low < 1e-11

    def test_nearly_all_of_a_box_needs_no_patience(self):
        a = np.random.default_rng(3).lognormal(0.0, 0.7, size=60)
        share = clipped_share(a, 0.9 * a.sum(), 0.0, 1.0)
        assert share.method == "fourier"
        assert 1.0 - 1e-12 < share.low < share.high == 1.0

    def test_a_tiny_share_of_many_features_is_worth_some_patience(self):
        a = np.geomspace(1.0, 30.0, 30)
        share = clipped_share(a, 0.12 * a.sum(), 0.0, 1.0)
        assert share.method == "exact"
        assert share.is_exact
        assert 1e-12 < share.low < 1e-10  # the series would leave less than six digits

    def test_a_tiny_share_of_very_many_features_is_bracketed(self):
        a = np.random.default_rng(2).lognormal(0.0, 0.7, size=60)
        share = clipped_share(a, 0.1 * a.sum(), 0.0, 1.0)
        assert share.method == "bracket"
        assert 0.0 < share.low < share.high < 1.2 * share.low < 1e-20

    def test_bounds_of_the_opposite_are_turned_round(self):
        enclosure = Enclosure(Fraction(1, 8), Fraction(1, 4), "bracket")
        assert enclosure.complement() == (Fraction(3, 4), Fraction(7, 8), "bracket")


class TestScales:
    @pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
    @pytest.mark.parametrize("offset", [0.0, -1e9, 1e9])
    def test_units_and_offsets_do_no_harm(self, scale, offset):
        a = [0.3, -0.7, 1.1]
        lower = [offset, offset + 1.0, offset]
        upper = [x + d for x, d in zip(lower, (scale, 2.0, 1.0 / scale), strict=True)]
        upper = [max(u, math.nextafter(x, math.inf)) for x, u in zip(lower, upper, strict=True)]
        g = sum(w * (x + u) / 2 for w, x, u in zip(a, lower, upper, strict=True))
        volume = clipped_volume(a, g, lower, upper)
        assert holds(volume, vertex_sum(a, g, lower, upper))
        assert volume.is_exact

    def test_a_volume_beyond_all_floats_has_an_infinite_bound(self):
        volume = clipped_volume([1.0, 1.0], 0.0, -1e300, 1e300)
        assert volume == Volume(math.nextafter(math.inf, 0.0), math.inf, "exact")
        assert volume.value == math.inf

    def test_a_volume_below_all_floats_has_the_bound_zero(self):
        volume = clipped_volume([1.0, 1.0], 1e-200, 0.0, 1.0)
        assert volume == Volume(0.0, 5e-324, "exact")

    def test_widths_that_overflow_are_no_problem(self):
        assert clipped_share([1.0], 0.0, [-1.7e308], [1.7e308]).value == 0.5

    def test_widths_of_one_unit_in_the_last_place_count(self):
        lower = 1e9
        upper = math.nextafter(lower, math.inf)
        assert clipped_share([1.0, -1.0], 0.0, lower, upper) == Volume(0.5, 0.5, "exact")


class TestDegenerate:
    def test_a_feature_without_weight_only_widens_the_box(self):
        assert clipped_volume([1.0, 0.0], 0.5, 0.0, [1.0, 6.0]).value == 3.0
        assert clipped_share([1.0, 0.0], 0.5, 0.0, [1.0, 6.0]).value == 0.5

    def test_a_feature_without_width_is_a_constant_of_the_share(self):
        assert clipped_volume([1.0, 2.0], 1.5, [0.0, 0.5], [1.0, 0.5]).value == 0.0
        assert clipped_share([1.0, 2.0], 1.5, [0.0, 0.5], [1.0, 0.5]).value == 0.5

    @pytest.mark.parametrize(("g", "share"), [(0.0, 0.0), (1e-300, 1.0), (-1.0, 0.0)])
    def test_a_plane_without_weights_takes_all_or_nothing(self, g, share):
        assert clipped_share([0.0, 0.0], g, 0.0, 1.0) == Volume(share, share, "exact")
        assert clipped_volume([0.0, 0.0], g, 0.0, 2.0).value == 4.0 * share

    def test_a_single_point_is_on_one_side_or_not(self):
        assert clipped_share([1.0], 2.0, [1.0], [1.0]).value == 1.0
        assert clipped_share([1.0], 1.0, [1.0], [1.0]).value == 0.0

    def test_a_plane_that_misses_the_box_takes_all_or_nothing(self):
        assert clipped_volume([1.0, -1.0], -1.0, 0.0, 1.0) == Volume(0.0, 0.0, "exact")
        assert clipped_volume([1.0, -1.0], 1.0, 0.0, 1.0) == Volume(1.0, 1.0, "exact")

    def test_no_features_at_all_are_one_point(self):
        assert clipped_volume([], 1.0, [], []).value == 1.0

    def test_an_empty_box_has_no_volume(self):
        assert clipped_volume([1.0, 1.0], 9.0, [0.0, 2.0], [1.0, 1.0]) == Volume(0.0, 0.0, "exact")

    def test_a_free_side_without_weight_makes_the_volume_infinite(self):
        free = [0.0, -math.inf], [1.0, math.inf]
        assert clipped_volume([1.0, 0.0], 0.5, *free) == Volume(math.inf, math.inf, "exact")
        assert clipped_volume([1.0, 0.0], 0.5, *free).value == math.inf
        assert clipped_volume([1.0, 0.0], -1.0, *free) == Volume(0.0, 0.0, "exact")
        assert clipped_share([1.0, 0.0], 0.5, *free).value == 0.5

    def test_a_volume_is_a_value(self):
        volume = clipped_share([1.0, 2.0, 3.0], 1.0, 0.0, 1.0)
        assert pickle.loads(pickle.dumps(volume)) == volume
        assert volume.low < volume.high  # 1/36 is no float
        assert volume.is_exact
        assert not Volume(0.1, 0.2, "bracket").is_exact


BAD = [
    (([[1.0]], 1.0, 0.0, 1.0), "one row of numbers, not shape"),
    ((["a"], 1.0, 0.0, 1.0), "the weights of the plane must be numbers"),
    (([1.0, math.nan], 1.0, 0.0, 1.0), "must not be NaN"),
    (([1.0, math.inf], 1.0, 0.0, 1.0), "must be finite"),
    (([1.0], math.inf, 0.0, 1.0), "its threshold g must be finite"),
    (([1.0], "1", 0.0, 1.0), "the threshold g must be a number"),
    (([1.0, 1.0], 1.0, [0.0], 1.0), "the lower bounds of the box has shape"),
    (([1.0, 1.0], 1.0, 0.0, [1.0] * 3), "the upper bounds of the box has shape"),
    (([0.0], 1.0, math.inf, math.inf), "cannot start at inf"),
    (
        ([1.0, -2.0], 1.0, 0.0, [1.0, math.inf]),
        "feature 1 has weight -2.0 but goes from 0.0 to inf",
    ),
    (([3.0, 0.0], 1.0, -math.inf, 1.0), "feature 0 has weight 3.0 but goes from -inf to 1.0"),
]


@pytest.mark.parametrize(("problem", "message"), BAD)
@pytest.mark.parametrize("measure", [clipped_volume, clipped_share])
def test_what_cannot_be_measured_is_refused(measure, problem, message):
    with pytest.raises(InvalidValueError, match=message):
        measure(*problem)


def test_an_empty_box_has_no_shares():
    with pytest.raises(InvalidValueError, match=r"feature 1 starts at 2\.0 and ends at 1\.0"):
        clipped_share([1.0, 1.0], 9.0, [0.0, 2.0], [1.0, 1.0])
