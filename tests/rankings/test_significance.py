"""Tests of properties against enumeration, SciPy and simulation: counts, shuffled ends, held-out labels."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, false_discovery_control, fisher_exact, mannwhitneyu

from clearmargin.exceptions import InvalidValueError
from clearmargin.rankings.significance import (
    auc_of_property,
    benjamini_hochberg,
    count_candidates,
    fisher,
    held_out_test,
    holm,
    leverage,
    leverage_interval,
    shuffled_threshold,
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


seeds = st.integers(0, 10**6)


def brute_force(masks, attribute, max_size):
    """The largest |leverage| of all conjunctions, each looked at."""
    covers = np.array(
        [
            masks[list(items)].all(axis=0)
            for size in range(1, max_size + 1)
            for items in itertools.combinations(range(len(masks)), size)
            if len({attribute[i] for i in items}) == size
        ]
    )

    def best(in_top):
        tp, fp = covers[:, in_top].sum(axis=1), covers[:, ~in_top].sum(axis=1)
        return float(np.abs(leverage(tp, fp, in_top.sum(), (~in_top).sum())).max())

    return best


# Shuffles


def test_the_threshold_is_the_order_statistic_that_keeps_the_level():
    masks = np.random.default_rng(0).random((6, 30)) < 0.5
    found = shuffled_threshold(brute_force(masks, range(6), 2), 12, 18, random_state=1)
    assert found.maxima.shape == (199,)
    assert (np.diff(found.maxima) >= 0).all()
    assert found.quantile == found.maxima[189]
    # At most 9 of 199 reach it: with the ranking itself, 10 of 200.
    assert (found.maxima >= found.value).sum() <= 9
    # Between two neighbouring leverages: L = tp |B| - fp |T| is a multiple of gcd(12, 18) = 6.
    assert found.value * 30**2 == pytest.approx(found.quantile * 30**2 + 3, rel=1e-12)


def test_each_shuffle_divides_all_examples_into_groups_of_the_right_size():
    seen = []

    def best(in_top):
        seen.append(in_top.copy())
        return 0.1

    shuffled_threshold(best, 3, 5, n_shuffles=40, level=0.9, random_state=0)
    assert {(division.dtype, division.shape) for division in seen} == {(np.dtype(bool), (8,))}
    assert {int(division.sum()) for division in seen} == {3}
    assert len({division.tobytes() for division in seen}) > 20


def test_chance_is_the_same_with_the_same_seed():
    best = brute_force(np.random.default_rng(2).random((4, 20)) < 0.4, range(4), 1)
    one, same, other = (
        shuffled_threshold(best, 10, 10, n_shuffles=39, random_state=seed)
        for seed in (7, np.random.default_rng(7), 8)
    )
    np.testing.assert_array_equal(one.maxima, same.maxima)
    assert (one.maxima != other.maxima).any()


def test_random_ends_pass_in_one_of_twenty_rankings_and_ties_are_why_the_quantile_itself_will_not_do():
    rng = np.random.default_rng(3)
    n, rankings = 40, 400
    by_value = by_quantile = 0
    for _ in range(rankings):
        masks = rng.random((10, n)) < 0.5
        ones = masks.sum(axis=1)

        def best(in_top, masks=masks, ones=ones):
            tp = np.count_nonzero(masks & in_top, axis=1)
            return float(np.abs(2 * tp - ones).max()) / (2 * n)  # |T| = |B|

        found = shuffled_threshold(best, n // 2, n // 2, n_shuffles=99, random_state=rng)
        own = best(rng.permutation(np.arange(n) < n // 2))
        by_value += own >= found.value
        by_quantile += own >= found.quantile
    limit = rankings * (0.05 + 3 * math.sqrt(0.05 * 0.95 / rankings))
    assert by_value <= limit < by_quantile


def test_fifty_fair_coins_and_ends_of_fifty_need_the_leverage_of_the_paper():
    # The trial implementation measured 0.080, the threshold that the paper uses, by the quantile.
    masks = np.random.default_rng(4).random((50, 100)) < 0.5
    best = brute_force(masks, range(50), 1)
    found = shuffled_threshold(best, 50, 50, random_state=0)
    assert found.quantile == pytest.approx(0.08, abs=0.0051)
    assert found.value == pytest.approx(found.quantile + 0.0025)


# Held-out labels


@given(seeds)
def test_the_held_out_test_is_fishers(seed):
    rng = np.random.default_rng(seed)
    m, p = int(rng.integers(1, 40)), 5
    covered, y, side = rng.random((p, m)) < 0.4, rng.random(m) < 0.5, rng.random(p) < 0.5
    expected = [
        fisher_exact(
            [[(c & y).sum(), (c & ~y).sum()], [(~c & y).sum(), (~c & ~y).sum()]],
            alternative="greater" if s else "less",
        ).pvalue
        for c, s in zip(covered, side, strict=True)
    ]
    np.testing.assert_allclose(held_out_test(side, covered, y), expected, rtol=1e-10)


def test_noise_is_not_confirmed_and_what_was_planted_is():
    rng = np.random.default_rng(5)
    y = rng.random((300, 100)) < 0.5
    noise = [held_out_test([True] * 8, rng.random((8, 100)) < 0.5, labels) for labels in y]
    assert np.mean([(holm(p) <= 0.05).any() for p in noise]) <= 0.05
    planted = y[0] ^ (rng.random((8, 100)) < 0.2)
    assert (holm(held_out_test([True] * 8, planted, y[0])) <= 0.05).all()
    assert (held_out_test([False] * 8, planted, y[0]) > 0.5).all()


def test_labels_that_are_all_the_same_confirm_nothing():
    covered = np.array([[True, False, True], [False, False, False]])
    np.testing.assert_array_equal(held_out_test([True, False], covered, np.ones(3, bool)), 1.0)
    assert held_out_test([], np.zeros((0, 3), bool), np.ones(3, bool)).shape == (0,)


# Area under the curve


@given(seeds)
def test_the_area_counts_pairs_and_agrees_with_mann_and_whitney(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    masks, score = rng.random((4, n)) < 0.5, rng.integers(0, 6, n).astype(float)
    for has, auc in zip(masks, auc_of_property(masks, score), strict=True):
        if has.all() or not has.any():
            assert math.isnan(auc)
            continue
        above = score[has][:, None] - score[~has]
        assert auc == pytest.approx(((above > 0) + 0.5 * (above == 0)).mean(), rel=1e-14)
        statistic = mannwhitneyu(score[has], score[~has], method="asymptotic").statistic
        assert auc == pytest.approx(statistic / above.size, rel=1e-12)


def test_the_area_of_the_opposite_is_the_rest_and_only_the_order_counts():
    rng = np.random.default_rng(6)
    masks, score = rng.random((20, 50)) < 0.3, rng.normal(size=50)
    auc = auc_of_property(masks, score)
    np.testing.assert_allclose(auc_of_property(~masks, score), 1 - auc)
    np.testing.assert_array_equal(auc_of_property(masks, np.exp(score)), auc)
    np.testing.assert_allclose(auc_of_property(masks, -score), 1 - auc)


# Bad input

ONE = np.ones((2, 3), bool)
BAD_EVIDENCE = [
    (lambda: shuffled_threshold(lambda t: 0.1, 0, 5), "Top has 0 and Bottom 5 examples"),
    (lambda: shuffled_threshold(lambda t: 0.1, 5, 5, level=1.0), "level is 1.0; it is a prob"),
    (
        lambda: shuffled_threshold(lambda t: 0.1, 5, 5, n_shuffles=18),
        "18 shuffles cannot say what happens in 0.95 of all cases; take at least 19",
    ),
    (lambda: shuffled_threshold(lambda t: math.nan, 5, 5), "best.* gave a value that is negative"),
    (lambda: shuffled_threshold(lambda t: -0.1, 5, 5), "has to be the largest .leverage."),
    (lambda: held_out_test([True], ONE, ONE[0]), r"side_is_top has shape \(1,\); give one side"),
    (lambda: held_out_test([True, True], ONE, [1, 0, 1]), "y_positive .* type int64; give True"),
    (lambda: held_out_test([True, True], ONE, ONE[0, :2]), r"y_positive has shape \(2,\)"),
    (lambda: held_out_test([True], ONE[0], ONE[0]), r"covered has shape \(3,\) and type bool"),
    (lambda: auc_of_property(ONE.astype(int), [1, 2, 3]), "masks has .* type int64; give one row"),
    (lambda: auc_of_property(ONE, [1, 2]), r"score has shape \(2,\) or holds nan"),
    (lambda: auc_of_property(ONE, [1, 2, math.nan]), "for each of the 3 examples"),
]


@pytest.mark.parametrize(("call", "message"), BAD_EVIDENCE)
def test_an_error_about_evidence_says_what_is_wrong(call, message):
    with pytest.raises(InvalidValueError, match=message):
        call()


def test_as_many_shuffles_as_the_error_asks_for_are_enough():
    assert shuffled_threshold(lambda t: 0.1, 5, 5, n_shuffles=19).quantile == 0.1
    assert shuffled_threshold(lambda t: 0.1, 5, 5, n_shuffles=99, level=0.99).quantile == 0.1
