"""Leverage, Fisher's test, intervals and corrections for many tests, against exact arithmetic."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, false_discovery_control, fisher_exact

from clearmargin.exceptions import InvalidValueError
from clearmargin.rankings.significance import (
    benjamini_hochberg,
    count_candidates,
    fisher,
    holm,
    leverage,
    leverage_interval,
)


@st.composite
def tables(draw, largest=60):
    n_top, n_bottom = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    return draw(st.integers(0, n_top)), draw(st.integers(0, n_bottom)), n_top, n_bottom


def exact_tail(tp, fp, n_top, n_bottom):
    """P(X >= tp) in whole numbers."""
    n = tp + fp
    ways = sum(math.comb(n_top, i) * math.comb(n_bottom, n - i) for i in range(tp, n + 1))
    return Fraction(ways, math.comb(n_top + n_bottom, n))


def exact_fisher(tp, fp, n_top, n_bottom):
    product = tp * n_bottom - fp * n_top
    if product == 0:
        return Fraction(1)
    if product > 0:
        return exact_tail(tp, fp, n_top, n_bottom)
    return exact_tail(fp, tp, n_bottom, n_top)


# Leverage


@given(tables())
def test_leverage_is_the_definition_of_the_paper(table):
    tp, fp, n_top, n_bottom = table
    n = n_top + n_bottom
    defined = Fraction(tp, n) - Fraction(tp + fp, n) * Fraction(n_top, n)
    assert float(leverage(*table)) == pytest.approx(float(defined), abs=1e-16)
    assert abs(leverage(*table)) <= 0.25


def test_leverage_gives_the_figures_of_the_atherosclerosis_study():
    # 67 of 70 against 1 of 70 is printed as 0.24 in figure 2 of Salleb-Aouissi, Huang and Waltz.
    assert float(leverage(67, 1, 70, 70)) == pytest.approx(66 / 280, rel=1e-15)


def test_leverage_of_large_groups_does_not_overflow():
    assert float(leverage(2**30, 0, 2**30, 2**30)) == 0.25
    assert float(leverage(np.int32(10**5), np.int32(0), np.int32(10**5), np.int32(10**5))) == 0.25


# Fisher


@given(tables())
def test_fisher_is_exact(table):
    assert float(fisher(*table)) == pytest.approx(float(exact_fisher(*table)), rel=1e-12)


@given(tables(), st.sampled_from([1, -1]))
def test_fisher_agrees_with_scipy_on_either_side(table, side):
    tp, fp, n_top, n_bottom = table
    alternative = "greater" if side > 0 else "less"
    theirs = fisher_exact([[tp, n_top - tp], [fp, n_bottom - fp]], alternative=alternative)
    assert float(fisher(*table, side)) == pytest.approx(float(theirs.pvalue), rel=1e-10)


@pytest.mark.parametrize(
    "table",
    [
        (67, 1, 70, 70),
        (100, 0, 100, 100),
        (499, 1, 500, 500),
        (500, 100, 500, 500),
        (300, 600, 1000, 1000),
        (3, 900, 50, 1500),
        (1500, 1200, 5000, 15000),
    ],
)
def test_fisher_is_exact_in_the_far_tail(table):
    expected = float(exact_fisher(*table))
    assert 0 < expected < 1e-9
    assert float(fisher(*table)) == pytest.approx(expected, rel=1e-12)


def test_fisher_below_the_smallest_float_is_zero():
    assert exact_fisher(1000, 0, 1000, 1000) > 0
    assert float(fisher(1000, 0, 1000, 1000)) == 0.0


@given(tables())
def test_top_and_bottom_may_change_places(table):
    tp, fp, n_top, n_bottom = table
    assert leverage(fp, tp, n_bottom, n_top) == -leverage(*table)
    assert fisher(fp, tp, n_bottom, n_top) == fisher(*table)
    lower, upper = leverage_interval(*table)
    mirrored = leverage_interval(fp, tp, n_bottom, n_top)
    np.testing.assert_allclose(mirrored, (-upper, -lower), atol=1e-15)


@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_p_falls_as_leverage_grows_when_margins_stay(n_top, n_bottom, data):
    n = data.draw(st.integers(0, n_top + n_bottom))
    tp = np.arange(max(0, n - n_bottom), min(n, n_top) + 1)
    lev, p = leverage(tp, n - tp, n_top, n_bottom), fisher(tp, n - tp, n_top, n_bottom)
    assert (np.diff(lev) > 0).all()
    assert (np.diff(p[lev > 0]) < 0).all()
    assert (np.diff(p[lev < 0]) > 0).all()
    assert ((p > 0) & (p <= 1)).all()


def test_fisher_works_on_arrays_of_any_shape():
    tp, fp = np.arange(6).reshape(2, 3), np.array([0, 2, 5])
    p = fisher(tp, fp, 5, 5)
    assert p.shape == (2, 3)
    single = [[float(fisher(tp[i, j], fp[j], 5, 5)) for j in range(3)] for i in range(2)]
    np.testing.assert_array_equal(p, single)
    assert fisher([], [], 5, 5).shape == (0,)


def test_without_direction_or_without_a_group_there_is_nothing_to_test():
    np.testing.assert_array_equal(fisher([3, 3], [3, 0], 6, 6, side=[1, 0])[1], 1.0)
    np.testing.assert_array_equal(fisher([3, 0, 0], [3, 2, 0], [6, 0, 0], [6, 4, 0]), 1.0)


def test_one_direction_chosen_by_the_data_passes_at_most_twice_as_often_as_announced():
    n_top, n_bottom, n = 30, 20, 25
    tp = np.arange(5, 26)
    weight = [math.comb(n_top, t) * math.comb(n_bottom, n - t) / math.comb(50, n) for t in tp]
    for side, allowed in ((None, 0.10), (1, 0.05), (-1, 0.05)):
        passes = fisher(tp, n - tp, n_top, n_bottom, side) <= 0.05
        assert np.dot(weight, passes) <= allowed


# Interval

# Newcombe, Statistics in Medicine 17 (1998) 873-890, table II, contrasts (a) to (h), method 10.
NEWCOMBE = [
    (56, 70, 48, 80, 0.0524, 0.3339),
    (9, 10, 3, 10, 0.1705, 0.8090),
    (6, 7, 2, 7, 0.0582, 0.8062),
    (5, 56, 0, 29, -0.0381, 0.1926),
    (0, 10, 0, 20, -0.1611, 0.2775),
    (0, 10, 0, 10, -0.2775, 0.2775),
    (10, 10, 0, 20, 0.6791, 1.0),
    (10, 10, 0, 10, 0.6075, 1.0),
    # Fagerland, Lydersen and Laake, Statistical Analysis of Contingency Tables (2017), chapter 4: Perondi et al.
    (7, 34, 1, 34, 0.0189, 0.3404),
]


@pytest.mark.parametrize(("tp", "n_top", "fp", "n_bottom", "low", "high"), NEWCOMBE)
def test_the_interval_is_the_published_one(tp, n_top, fp, n_bottom, low, high):
    scale = n_top * n_bottom / (n_top + n_bottom) ** 2
    lower, upper = leverage_interval(tp, fp, n_top, n_bottom)
    assert float(lower) / scale == pytest.approx(low, abs=5.1e-5)
    assert float(upper) / scale == pytest.approx(high, abs=5.1e-5)


@given(tables(), st.sampled_from([0.5, 0.9, 0.99]))
def test_the_interval_holds_the_leverage_and_grows_with_the_level(table, level):
    _, _, n_top, n_bottom = table
    lower, upper = leverage_interval(*table, level)
    wider = leverage_interval(*table, (1 + level) / 2)
    largest = n_top * n_bottom / (n_top + n_bottom) ** 2
    assert -largest <= wider[0] <= lower + 1e-15
    assert lower - 1e-15 <= leverage(*table) <= upper + 1e-15
    assert upper - 1e-15 <= wider[1] <= largest


@pytest.mark.parametrize("shares", [(0.7, 0.4), (0.5, 0.5), (0.9, 0.2), (0.15, 0.3)])
def test_the_interval_holds_the_truth_as_often_as_it_says(shares):
    # Exact, not simulated: all outcomes with their probabilities.
    n_top, n_bottom = 27, 40
    tp, fp = np.arange(n_top + 1)[:, None], np.arange(n_bottom + 1)
    weight = binom.pmf(tp, n_top, shares[0]) * binom.pmf(fp, n_bottom, shares[1])
    truth = n_top * n_bottom / (n_top + n_bottom) ** 2 * (shares[0] - shares[1])
    lower, upper = leverage_interval(tp, fp, n_top, n_bottom)
    assert 0.935 < weight[(lower <= truth) & (truth <= upper)].sum() < 0.975


def test_the_interval_covers_simulated_groups():
    rng = np.random.default_rng(0)
    tp, fp = rng.binomial(70, 0.6, 4000), rng.binomial(70, 0.3, 4000)
    lower, upper = leverage_interval(tp, fp, 70, 70, level=0.9)
    held = np.mean((lower <= 0.075) & (upper >= 0.075))
    assert abs(held - 0.9) < 0.02


# Many tests

# By hand. Holm: 4 * .005, 3 * .01, 2 * .03, then 1 * .04 raised to .06. BH: .02, .02, then 4/3 * .03 and .04.
TABLE = ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02], [0.02, 0.04, 0.04, 0.02])
p_values = st.lists(st.floats(0, 1), min_size=0, max_size=30)


def test_holm_and_benjamini_hochberg_by_hand():
    p, by_holm, by_bh = TABLE
    np.testing.assert_allclose(holm(p), by_holm, rtol=1e-14)
    np.testing.assert_allclose(benjamini_hochberg(p), by_bh, rtol=1e-14)


def test_unlisted_tests_count_by_hand():
    np.testing.assert_allclose(holm([0.001, 0.02, 0.002], n_tests=10), [0.01, 0.16, 0.018])
    np.testing.assert_allclose(
        benjamini_hochberg([0.001, 0.02, 0.002], n_tests=10), [0.01, 0.2 / 3, 0.01]
    )
    assert holm([1e-30], n_tests=10**25).tolist() == pytest.approx([1e-5])
    assert holm([], n_tests=3).shape == benjamini_hochberg([]).shape == (0,)


@given(p_values)
def test_holm_rejects_what_the_step_down_procedure_rejects(p):
    adjusted = holm(p)
    for level in (0.01, 0.05, 0.3):
        rejected, m = set(), len(p)
        for step, i in enumerate(sorted(range(m), key=lambda i: p[i])):
            if p[i] * (m - step) > level:
                break
            rejected.add(i)
        assert set(np.flatnonzero(adjusted <= level).tolist()) == rejected


@given(p_values.filter(bool))
def test_benjamini_hochberg_agrees_with_scipy(p):
    np.testing.assert_allclose(benjamini_hochberg(p), false_discovery_control(p), rtol=1e-12)


@given(p_values, st.integers(0, 100))
def test_p_is_at_most_its_q_and_q_at_most_holm(p, unlisted):
    n_tests = len(p) + unlisted
    q, adjusted = benjamini_hochberg(p, n_tests), holm(p, n_tests)
    assert (np.array(p) <= q).all()
    assert (q <= adjusted).all()
    assert (adjusted <= 1).all()
    order = np.argsort(p)
    assert (np.diff(q[order]) >= 0).all()
    assert (np.diff(adjusted[order]) >= 0).all()


@given(p_values.filter(bool), st.data())
def test_a_part_of_the_list_is_never_adjusted_less_than_in_the_full_list(p, data):
    kept = data.draw(st.lists(st.sampled_from(range(len(p))), unique=True))
    some = [p[i] for i in kept]
    assert (holm(some, len(p)) >= holm(p)[kept]).all()
    assert (benjamini_hochberg(some, len(p)) >= benjamini_hochberg(p)[kept]).all()


# Candidates


@given(st.lists(st.integers(0, 4), max_size=9), st.integers(1, 5))
def test_candidates_are_counted_as_they_are_listed(attribute, max_size):
    listed = [
        sum(
            len({attribute[i] for i in items}) == size
            for items in itertools.combinations(range(len(attribute)), size)
        )
        for size in range(1, max_size + 1)
    ]
    assert count_candidates(attribute, max_size) == listed


def test_the_number_of_candidates_is_exact_however_large():
    # 1000 attributes with 2 values each: 2^k C(1000, k).
    counted = count_candidates(np.repeat(np.arange(1000), 2), 12)
    assert counted == [2**k * math.comb(1000, k) for k in range(1, 13)]
    assert counted[-1] > 2**64
    assert all(type(number) is int for number in counted)


# Bad input

BAD = [
    (lambda: leverage(5, 0, 4, 4), "tp is 5 where n_top is 4; it counts examples"),
    (lambda: fisher([1, 2], [0, -1], 4, 4), "fp is -1 where n_bottom is 4"),
    (lambda: fisher([0.5], [1], 4, 4), r"tp has values of type float64; counts are whole"),
    (lambda: fisher([1, 2], [1, 2, 3], 4, 4), r"shapes do not fit together: tp \(2,\), fp \(3,\)"),
    (lambda: fisher(1, 2, 4, 4, side=2), "side holds .*2.*; it is 1 for Top, -1 for Bottom"),
    (lambda: leverage(0, 2, 0, 4), "Top or Bottom is empty; take at least one example each"),
    (lambda: leverage_interval(1, 2, 4, 4, level=95), "level is 95; it is a probability"),
    (lambda: leverage_interval(0, 2, 0, 4), "Top or Bottom is empty"),
    (lambda: holm([0.1, 1.5]), "p holds 1.5; p-values lie between 0 and 1"),
    (lambda: benjamini_hochberg([0.1, math.nan]), "p holds nan; p-values lie between"),
    (lambda: holm([[0.1]]), r"p has shape \(1, 1\); give p-values in one dimension"),
    (lambda: holm([0.1, 0.2], n_tests=1), "n_tests is 1, but 2 p-values are given"),
    (lambda: count_candidates([0, 1], 0), "max_size is 0; a conjunction has at least 1 item"),
    (lambda: count_candidates([[0, 1]], 1), r"attribute has shape \(1, 2\); give one attribute"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_an_error_says_what_is_wrong(call, message):
    with pytest.raises(InvalidValueError, match=message):
        call()
