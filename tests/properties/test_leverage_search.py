"""search_properties: all conjunctions above a leverage or the best of them, against counting each of them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.conjunctions import every_conjunction
from tests.oracles.leverage import conjunctions

from clearmargin import search_properties
from clearmargin.exceptions import InvalidValueError


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
    return masks, rows[:n_top], rows[n_top : n_top + n_bottom], attribute, draw(st.integers(1, 4))


def search(masks, top, bottom, attribute, max_size, **options):
    """What is found, in its order: items, top and bottom counts."""
    ends = [np.isin(np.arange(masks.shape[1]), rows) for rows in (top, bottom)]
    found = search_properties(masks.T, *ends, attributes=attribute, max_size=max_size, **options)
    n = len(top) + len(bottom)
    for row in found.itertuples():
        product = row.top_count * len(bottom) - row.bottom_count * len(top)
        assert row.leverage == pytest.approx(product / n**2, rel=1e-12)
        assert (row.size, row.side) == (len(row.items), "top" if product > 0 else "bottom")
    return {
        tuple(int(i) for i in row.items): (row.top_count, row.bottom_count)
        for row in found.itertuples()
    }


def above(counts, table, least):
    """The conjunctions with at least so large a product, the largest first, as search_properties sorts them."""
    size = lambda t, b: abs(t * len(table[2]) - b * len(table[1]))
    kept = [(-size(*c), len(i), i) for i, c in counts.items() if size(*c) >= max(least, 1)]
    return [items for _, _, items in sorted(kept)]


@settings(max_examples=150)
@given(tables(), st.sampled_from([0.01, 0.05, 0.07, 0.1, 0.2, 0.25]), st.integers(1, 12))
def test_search_properties_of_small_tables_finds_all_and_the_best(table, leverage, k):
    masks, top, bottom, attribute, max_size = table
    held = {items: masks[list(items)].all(axis=0) for items in conjunctions(attribute, max_size)}
    counts = {items: (int(has[top].sum()), int(has[bottom].sum())) for items, has in held.items()}
    assert counts == every_conjunction(*table)
    # The threshold is the decimal that it reads as: 0.07 * 10000 > 700 in floats.
    exact = Fraction(repr(leverage)) * (len(table[1]) + len(table[2])) ** 2
    found = search(*table, min_leverage=leverage)
    expected = above(counts, table, -(-exact.numerator // exact.denominator))
    assert list(found) == expected
    assert found == {items: counts[items] for items in expected}
    assert list(search(*table, k=k)) == above(counts, table, 1)[:k]


# Layouts of the bits differ by the numbers of rows, of items and of partners: some 3 s.
@pytest.mark.parametrize(("p", "m", "size", "share"), [
    (130, 400, 3, 0.25), (40, 300, 4, 0.6), (24, 9_000, 3, 0.6), (60, 9_000, 2, 0.25), (100, 70, 3, 0.6),
])  # fmt: skip
def test_search_properties_of_larger_tables_finds_all_and_the_best(p, m, size, share):
    rng = np.random.default_rng(p + m)
    chance = np.full((p, m), share)
    chance[: p // 6, : m // 3] += 0.3
    masks = rng.random((p, m)) < chance
    rows = rng.permutation(m)
    masks = masks[:, np.argsort(rows)]
    top, bottom = rows[: m // 3], rows[m // 3 : m - 7]
    table = masks, top, bottom, np.arange(p) // 2, size
    counts = every_conjunction(*table)
    sizes = np.sort([abs(t * len(bottom) - b * len(top)) for t, b in counts.values()])
    n = len(top) + len(bottom)
    for place in (300, 30):
        least = int(sizes[-place])
        expected = above(counts, table, least)
        # The middle between two whole numbers, so that no rounding matters.
        found = search(*table, min_leverage=(least - 0.5) / n**2)
        assert list(found) == expected
        assert all(found[items] == counts[items] for items in expected)
    assert list(search(*table, k=50)) == above(counts, table, int(sizes[-80]))[:50]


def test_search_properties_limits_what_it_keeps():
    rng = np.random.default_rng(1)
    masks = rng.random((40, 60)) < 0.5
    table = masks, np.arange(30), np.arange(30, 60), np.arange(40), 3
    with pytest.raises(InvalidValueError, match="100"):
        search(*table, min_leverage=1e-9, limit=100)
    # The best are kept apart from the others in time, so that these need not fit into the limit.
    assert len(search(*table, k=5, limit=60)) == 5
    # Neither may those that only lead to others be too many.
    assert len(search(*table, min_leverage=380 / 3600)) == 0
    with pytest.raises(InvalidValueError, match="40"):
        search(*table, min_leverage=380 / 3600, limit=2)
    # Large counts do not overflow.
    m = 200_000
    wide = np.zeros((2, m), dtype=bool)
    wide[0, : m // 2] = True
    halves = np.arange(m // 2), np.arange(m // 2, m)
    assert search(wide, *halves, [0, 1], 2, min_leverage=0.25) == {(0,): (m // 2, 0)}
