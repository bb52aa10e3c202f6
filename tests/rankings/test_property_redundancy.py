"""Parts of conjunctions, against loops over examples."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from clearmargin.exceptions import InvalidValueError
from clearmargin.rankings import property_redundancy as redundancy
from clearmargin.rankings.property_redundancy import (
    conjunction_covers,
    part_counts,
    productive,
    same_cover,
    strict_improvement,
)
from clearmargin.rankings.significance import fisher
from clearmargin.rules.boxes import pack_bits

seeds = st.integers(0, 10**6)


def problem(seed):
    """Items with some structure, and all conjunctions of up to three of them."""
    rng = np.random.default_rng(seed)
    p, n_top, n_bottom = (int(rng.integers(low, high)) for low, high in ((3, 6), (1, 90), (1, 30)))
    top = rng.random((p, n_top)) < rng.choice([0.3, 0.6, 0.9, 1.0], (p, 1))
    bottom = rng.random((p, n_bottom)) < rng.choice([0.0, 0.3, 0.6, 0.9], (p, 1))
    conjunctions = [c for k in (1, 2, 3) for c in itertools.combinations(range(p), k)]
    return [list(conjunctions[i]) for i in rng.permutation(len(conjunctions))], top, bottom


def having(items, masks):
    return np.array([all(masks[i, e] for i in items) for e in range(masks.shape[1])], dtype=bool)


def parts(items):
    return [[i for i in items if i != dropped] for dropped in items]


def lev(items, top, bottom):
    share_top = Fraction(int(having(items, top).sum()), top.shape[1])
    return share_top - Fraction(int(having(items, bottom).sum()), bottom.shape[1])


@given(seeds)
def test_parts_are_counted_as_a_loop_counts_them(seed):
    conjunctions, top, bottom = problem(seed)
    counts = part_counts(conjunctions, top, bottom)
    assert (counts.n_top, counts.n_bottom) == (top.shape[1], bottom.shape[1])
    for c, items in enumerate(conjunctions):
        assert counts.tp[c] == having(items, top).sum()
        assert counts.fp[c] == having(items, bottom).sum()
        assert counts.is_part[c].sum() == len(items)
        for j, part in enumerate(parts(items)):
            assert counts.part_tp[c, j] == having(part, top).sum()
            assert counts.part_fp[c, j] == having(part, bottom).sum()


@given(seeds)
def test_productive_is_the_worst_of_fishers_tests_within_the_parts(seed):
    conjunctions, top, bottom = problem(seed)
    side = np.random.default_rng(seed).choice([1, -1], len(conjunctions))
    found = productive(part_counts(conjunctions, top, bottom), side)
    for items, towards, p in zip(conjunctions, side, found, strict=True):
        worst = 0.0
        for dropped, part in zip(items, parts(items), strict=True):
            table = [
                [(having(part, m) & having([dropped], m)).sum() for m in (top, bottom)],
                [(having(part, m) & ~having([dropped], m)).sum() for m in (top, bottom)],
            ]
            alternative = "greater" if towards > 0 else "less"
            worst = max(worst, float(fisher_exact(table, alternative=alternative).pvalue))
        assert p == pytest.approx(worst, rel=1e-10)


@given(seeds)
def test_strict_improvement_compares_exact_leverages(seed):
    conjunctions, top, bottom = problem(seed)
    found = strict_improvement(part_counts(conjunctions, top, bottom))
    for items, improves in zip(conjunctions, found, strict=True):
        own = lev(items, top, bottom)
        sign = (own > 0) - (own < 0)
        assert improves == all(sign * own > sign * lev(part, top, bottom) for part in parts(items))


@given(seeds)
def test_top_and_bottom_may_change_places(seed):
    conjunctions, top, bottom = problem(seed)
    one, other = part_counts(conjunctions, top, bottom), part_counts(conjunctions, bottom, top)
    np.testing.assert_array_equal(productive(one), productive(other))
    np.testing.assert_array_equal(strict_improvement(one), strict_improvement(other))


@given(seeds)
def test_a_filled_table_and_chunks_change_nothing(seed):
    conjunctions, top, bottom = problem(seed)
    table = np.array([items + [-1] * (3 - len(items)) for items in conjunctions])
    whole = part_counts(conjunctions, top, bottom)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redundancy, "_WORDS", 3)
        chunked = part_counts(table, top, bottom)
    for name in ("tp", "fp", "part_tp", "part_fp", "is_part"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(chunked, name))


@given(seeds)
def test_a_single_item_is_tested_plainly(seed):
    conjunctions, top, bottom = problem(seed)
    counts = part_counts(conjunctions, top, bottom)
    single = np.array([len(items) == 1 for items in conjunctions])
    plain = fisher(counts.tp, counts.fp, counts.n_top, counts.n_bottom)
    np.testing.assert_array_equal(productive(counts)[single], plain[single])


def test_a_pure_part_cannot_be_improved_on():
    top = np.array([[True] * 9 + [False], [True] * 5 + [False] * 5])
    bottom = np.array([[False] * 10, [True] * 5 + [False] * 5])
    counts = part_counts([[0], [0, 1]], top, bottom)
    assert productive(counts)[0] < 0.001
    assert productive(counts)[1] == 1.0
    assert strict_improvement(counts).tolist() == [True, False]


def test_an_item_of_the_opposite_side_and_no_leverage_are_no_improvement():
    half = np.array([[True, False]])
    counts = part_counts([[0]], half, half)
    assert productive(counts).tolist() == [1.0]
    assert strict_improvement(counts).tolist() == [False]
    counts = part_counts([[0]], half, ~(half | ~half))
    assert strict_improvement(counts, [1]).tolist() == [True]
    assert strict_improvement(counts, [-1]).tolist() == [False]


def test_no_conjunctions_give_empty_answers():
    masks = np.ones((2, 3), dtype=bool)
    for none in ([], np.zeros((0, 2), dtype=int)):
        counts = part_counts(none, masks, masks)
        assert productive(counts).shape == strict_improvement(counts).shape == (0,)
    assert same_cover(masks[:0], []).shape == (0,)


# Covers


@given(seeds)
def test_covers_are_those_of_a_loop(seed):
    conjunctions, top, _ = problem(seed)
    expected = np.array([having(items, top) for items in conjunctions])
    np.testing.assert_array_equal(conjunction_covers(conjunctions, top), pack_bits(expected))


@given(seeds)
def test_the_shortest_and_then_the_first_stands_for_a_cover(seed):
    conjunctions, top, bottom = problem(seed)
    masks = np.hstack([top, bottom])
    covers, sizes = [having(c, masks) for c in conjunctions], [len(c) for c in conjunctions]
    expected = [
        min(
            (j for j, other in enumerate(covers) if (other == cover).all()),
            key=lambda j: (sizes[j], j),
        )
        for cover in covers
    ]
    assert same_cover(np.array(covers), sizes).tolist() == expected
    assert same_cover(conjunction_covers(conjunctions, masks), sizes).tolist() == expected
    assert same_cover(np.array(covers)[:, :0], sizes).tolist() == [
        min(range(len(sizes)), key=lambda j: (sizes[j], j))
    ] * len(sizes)


# Bad input

MASKS = np.ones((2, 3), dtype=bool)
COUNTS = part_counts([[0]], MASKS, MASKS)
BAD = [
    (lambda: part_counts([[0, 2]], MASKS, MASKS), "item 2 does not exist; there are items 0 to 1"),
    (lambda: part_counts([[0, -1]], MASKS, MASKS), "item -1 does not exist"),
    (lambda: part_counts(np.array([[0, -2]]), MASKS, MASKS), "item -2 does not exist"),
    (lambda: part_counts([[0], []], MASKS, MASKS), "a conjunction has no items"),
    (lambda: part_counts([[1, 1]], MASKS, MASKS), "a conjunction has an item twice"),
    (
        lambda: part_counts(np.array([0.5]), MASKS, MASKS),
        r"shape \(1,\) and type float64; an array",
    ),
    (lambda: part_counts([[0]], MASKS, MASKS[:1]), "masks_top has 2 items and masks_bottom 1"),
    (lambda: part_counts([[0]], MASKS[0], MASKS), r"the masks have shape \(3,\) and type bool"),
    (lambda: conjunction_covers([[0]], MASKS.astype(int)), "type int64; give one row of True"),
    (lambda: productive(COUNTS, [0]), "other values than 1 .Top. and -1 .Bottom."),
    (lambda: strict_improvement(COUNTS, [1, 1]), r"side has shape \(2,\)"),
    (lambda: same_cover(MASKS, [1]), r"size has shape \(1,\); give one size for each of the 2"),
    (lambda: same_cover(MASKS.astype(float), [1, 1]), "type float64; give one row of bool"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_an_error_says_what_is_wrong(call, message):
    with pytest.raises(InvalidValueError, match=message):
        call()
