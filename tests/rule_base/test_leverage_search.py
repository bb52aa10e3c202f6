"""The exact miner against brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin.exceptions import InvalidValueError, TimeLimitError
from clearmargin.rule_base import leverage_search
from clearmargin.rule_base.leverage_search import (
    Contrast,
    WeightedContrast,
    least_product,
    search_above,
    search_best,
)


@st.composite
def tables(draw):
    """A small table with attributes, two ends, and a size of conjunctions."""
    p, m = draw(st.integers(1, 8)), draw(st.integers(2, 24))
    cells = draw(st.lists(st.booleans(), min_size=p * m, max_size=p * m))
    masks = np.array(cells).reshape(p, m)
    attribute = np.array(draw(st.lists(st.integers(0, 4), min_size=p, max_size=p)))
    n_top = draw(st.integers(1, m - 1))
    n_bottom = draw(st.integers(1, m - n_top))
    rows = np.array(draw(st.permutations(range(m))))
    ends = rows[:n_top], rows[n_top : n_top + n_bottom]
    return masks, *ends, attribute, draw(st.integers(1, 4))


def every_conjunction(masks, top, bottom, attribute, max_size):
    """Counts of all conjunctions, one after the other."""
    found = {}
    for size in range(1, max_size + 1):
        for items in combinations(range(len(masks)), size):
            if len({int(attribute[i]) for i in items}) == size:
                has = masks[list(items)].all(axis=0)
                found[items] = int(has[top].sum()), int(has[bottom].sum())
    return found


def as_dict(found):
    return {
        tuple(int(i) for i in items if i >= 0): (int(t), int(b))
        for items, t, b in zip(found.items, found.top, found.bottom, strict=True)
    }


@settings(max_examples=300)
@given(tables(), st.integers(1, 150))
def test_all_conjunctions_above_a_threshold_are_found_and_no_others(table, threshold):
    masks, top, bottom, attribute, max_size = table
    found = search_above(Contrast.of(masks, top, bottom, attribute), threshold, max_size)
    expected = {
        items: (t, b)
        for items, (t, b) in every_conjunction(*table).items()
        if abs(t * len(bottom) - b * len(top)) >= threshold
    }
    assert as_dict(found) == expected


@settings(max_examples=300)
@given(tables(), st.integers(1, 12))
def test_the_best_are_the_best_in_their_order(table, k):
    masks, top, bottom, attribute, max_size = table
    found = search_best(Contrast.of(masks, top, bottom, attribute), k, max_size)
    ranked = sorted(
        (-abs(t * len(bottom) - b * len(top)), len(items), items)
        for items, (t, b) in every_conjunction(*table).items()
        if t * len(bottom) != b * len(top)
    )
    assert list(as_dict(found)) == [items for _, _, items in ranked[:k]]


@pytest.mark.parametrize("narrow", [0, 64])
@pytest.mark.parametrize("pairs", [1, 1 << 20])
@pytest.mark.parametrize("few", [0, 48])
@pytest.mark.parametrize("table_size", [0, 8_000])
def test_blocks_and_layouts_do_not_matter(narrow, pairs, few, table_size, monkeypatch):
    rng = np.random.default_rng(0)
    masks = rng.random((12, 400)) < 0.6
    rows = rng.permutation(400)
    table = masks, rows[:150], rows[150:350], np.arange(12) // 2, 3
    expected = as_dict(search_above(Contrast.of(*table[:4]), 2_000, 3))
    monkeypatch.setattr(leverage_search, "_NARROW", narrow)
    monkeypatch.setattr(leverage_search, "_WORDS", 8)
    monkeypatch.setattr(leverage_search, "_FEW", few)
    monkeypatch.setattr(leverage_search, "_PAIRS", pairs)
    monkeypatch.setattr(leverage_search, "_TABLE", table_size)
    assert as_dict(search_above(Contrast.of(*table[:4]), 2_000, 3)) == expected
    assert len(expected) > 20


def test_thresholds_are_whole_numbers_of_the_decimal_as_it_reads():
    # 0.3 - 0.4 * 0.5 is below 0.1 in floats; in whole numbers 3 * 5 - 1 * 5 = 10 reaches it.
    assert least_product(0.1, 5, 5) == 10
    assert least_product(0.07, 50, 50) == 700  # 0.07 * 10000 > 700 in floats
    assert least_product(1e-9, 3, 4) == 1
    for lev in (0.013, 0.08, 0.2499):
        exact = Fraction(repr(lev)) * 137**2
        assert least_product(lev, 100, 37) == -(-exact.numerator // exact.denominator)


def test_two_values_of_one_attribute_are_never_joined():
    masks = np.ones((3, 10), dtype=bool)
    masks[:, 5:] = False
    contrast = Contrast.of(masks, np.arange(5), np.arange(5, 10), np.array([0, 0, 1]))
    assert set(as_dict(search_above(contrast, 1, 3))) == {(0,), (1,), (2,), (0, 2), (1, 2)}


def test_more_results_than_the_limit_are_an_error_and_the_best_are_not():
    rng = np.random.default_rng(1)
    masks = rng.random((40, 60)) < 0.5
    contrast = Contrast.of(masks, np.arange(30), np.arange(30, 60), np.arange(40))
    with pytest.raises(InvalidValueError, match=r"more than 100 properties.*ask for the best k"):
        search_above(contrast, 1, 3, limit=100)
    assert len(search_best(contrast, 50, 3, limit=100_000)) == 50
    # The best are kept apart from the others in time, so that these need not fit into the limit.
    assert len(search_best(contrast, 5, 3, limit=60)) == 5
    # Neither may those that only lead to others be too many.
    assert len(search_above(contrast, 380, 3)) == 0
    with pytest.raises(InvalidValueError, match="more than 40 properties may have a part that re"):
        search_above(contrast, 380, 3, limit=2)


def test_large_counts_do_not_overflow():
    m = 200_000
    masks = np.zeros((2, m), dtype=bool)
    masks[0, : m // 2] = True
    contrast = Contrast.of(masks, np.arange(m // 2), np.arange(m // 2, m), np.array([0, 1]))
    found = search_above(contrast, least_product(0.25, m // 2, m // 2), 2)
    assert as_dict(found) == {(0,): (m // 2, 0)}


def test_far_fewer_are_counted_than_there_are():
    rng = np.random.default_rng(2)
    masks = rng.random((100, 400)) < 0.4
    contrast = Contrast.of(masks, np.arange(200), np.arange(200, 400), np.arange(100))
    found = search_above(contrast, least_product(0.08, 200, 200), 3)
    assert found.evaluated < 0.05 * 166_750


def coins(attributes, informative, rows):
    """Both values of attributes that are fair coins but for some, which the top has more often."""
    rng = np.random.default_rng(3)
    chance = np.full((attributes, rows), 0.5)
    chance[:informative, : rows // 2], chance[:informative, rows // 2 :] = 0.8, 0.2
    has = rng.random((attributes, rows)) < chance
    masks = np.stack([has, ~has], axis=1).reshape(2 * attributes, rows)
    return masks, np.arange(rows // 2), np.arange(rows // 2, rows), np.arange(len(masks)) // 2


def test_items_that_are_too_rare_together_are_not_joined_to_a_third():
    # Two fair coins are together in a quarter of the rows, too few for 0.08; each with an informative one is in 40 %.
    table = coins(60, 5, 1_000)
    contrast = Contrast.of(*table)
    least = least_product(0.08, 500, 500)
    pairs = search_above(contrast, least, 2).evaluated
    triples = search_above(contrast, least, 3).evaluated
    assert triples - pairs < 3_000  # without that, some 60,000
    assert len(search_best(contrast, 20, 3)) == 20


def test_a_level_without_pairs_ends_the_search():
    masks = np.ones((3, 8), dtype=bool)
    masks[:, 4:] = False
    contrast = Contrast.of(masks, np.arange(4), np.arange(4, 8), np.zeros(3, dtype=int))
    assert set(as_dict(search_above(contrast, 1, 4))) == {(0,), (1,), (2,)}
    assert len(search_best(contrast, 2, 4)) == 2


def test_the_order_of_rows_and_the_layout_of_the_table_do_not_matter():
    masks, top, bottom, attribute = coins(6, 2, 300)
    expected = Contrast.of(masks, top, bottom, attribute)
    for other in (
        Contrast.of(masks, top[::-1], np.roll(bottom, 7), attribute),
        Contrast.of(np.asfortranarray(masks), top, bottom, attribute),
    ):
        assert (other.bits == expected.bits).all()


@pytest.mark.parametrize("rows", [130, 9_000])  # below and above the limit of the narrow layout
@pytest.mark.parametrize("few", [0, 1_000])
@pytest.mark.parametrize("keep", [1.0, 0.9, 0.3])  # of the partners: a range, nearly one, and few
def test_conjunctions_are_counted_as_they_are(rows, few, keep, monkeypatch):
    monkeypatch.setattr(leverage_search, "_FEW", few)
    monkeypatch.setattr(leverage_search, "_WORDS", 1 << 10)
    rng = np.random.default_rng(4)
    masks = rng.random((40, rows)) < 0.7
    top, bottom = np.arange(rows // 3), np.arange(rows // 3, rows)
    order = rng.permutation(40)
    parents = [(a, b) for a in range(4) for b in range(a + 1, 20)]
    chosen = [
        (k, (a, b, c))
        for k, (a, b) in enumerate(parents)
        for c in range(b + 1, 40)
        if rng.random() < keep
    ]
    parent, items = np.array([k for k, _ in chosen]), np.array([i for _, i in chosen])
    contrast = Contrast.of(masks, top, bottom, np.arange(40))
    counts = leverage_search.Counter(contrast, order).count(items, parent)
    has = masks[order][items].all(axis=1)
    assert counts.tolist() == [
        has[:, top].sum(axis=1).tolist(),
        has[:, bottom].sum(axis=1).tolist(),
    ]


@settings(max_examples=60)
@given(tables(), st.integers(1, 8), st.integers(0, 10_000), st.booleans(), st.integers(1, 30))
def test_with_weights_the_best_are_the_best_of_all(table, k, seed, is_signed, threshold):
    masks, _, _, attribute, max_size = table
    rng = np.random.default_rng(seed)
    weights = rng.integers(-20, 21, masks.shape[1]).astype(float)
    sign = rng.integers(-1, 2, len(masks)) if is_signed else None
    found = search_best(
        WeightedContrast(masks, weights, attribute, sign), k, max_size, threshold=threshold
    )
    ranked = []
    for size in range(1, max_size + 1):
        for items in combinations(range(len(masks)), size):
            total = weights[masks[list(items)].all(axis=0)].sum()
            signs = set() if sign is None else set(sign[list(items)].tolist()) - {0}
            is_new = len({int(attribute[i]) for i in items}) == size
            if is_new and abs(total) >= threshold and signs <= {np.sign(total)}:
                ranked.append((-abs(total), size, items))
    assert list(as_dict(found)) == [items for _, _, items in sorted(ranked)[:k]]


def test_leverage_is_the_weighted_sum_of_weights_of_the_two_ends():
    rng = np.random.default_rng(0)
    masks, top = rng.random((12, 90)) < 0.5, np.arange(90) < 30
    attribute = np.arange(12) // 2
    counted = Contrast.of(masks, np.flatnonzero(top), np.flatnonzero(~top), attribute)
    weighted = WeightedContrast(masks, np.where(top, 60.0, -30.0), attribute)
    one, two = search_best(counted, 25, 3), search_best(weighted, 25, 3)
    assert np.array_equal(one.items, two.items)
    assert np.array_equal(
        counted.product(one.top, one.bottom), weighted.product(two.top, two.bottom)
    )


def test_a_search_without_time_says_so():
    rng = np.random.default_rng(0)
    weights = rng.integers(-9, 10, 90).astype(float)
    contrast = WeightedContrast(rng.random((12, 90)) < 0.5, weights, np.arange(12))
    with pytest.raises(TimeLimitError, match="ran out of time"):
        search_best(contrast, 50, 3, is_over=lambda _: True)


def test_a_search_tells_how_many_conjunctions_it_has_counted():
    rng = np.random.default_rng(0)
    weights = rng.integers(-9, 10, 90).astype(float)
    contrast = WeightedContrast(rng.random((12, 90)) < 0.5, weights, np.arange(12))
    told = []

    def is_over(counted):
        told.append(counted)
        return False

    found = search_best(contrast, 50, 3, is_over=is_over)
    assert sum(told) == found.evaluated
