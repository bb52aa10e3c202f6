"""The search of RankContrast: all conjunctions above a leverage, against counting each of them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.conjunctions import every_conjunction

from clearmargin import RankContrast
from clearmargin.exceptions import InvalidValueError

pytestmark = pytest.mark.filterwarnings("ignore:the ends of a ranking of")


@st.composite
def tables(draw):
    """A small table of values, and two ends."""
    m, n = draw(st.integers(2, 24)), draw(st.integers(1, 5))
    cells = draw(st.lists(st.integers(0, 2), min_size=m * n, max_size=m * n))
    X = np.array(cells, dtype=float).reshape(m, n)
    X[0, 0], X[1, 0] = 0.0, 1.0  # an attribute that varies
    n_top = draw(st.integers(1, m - 1))
    n_bottom = draw(st.integers(1, m - n_top))
    rows = np.array(draw(st.permutations(range(m))))
    return X, rows[:n_top], rows[m - n_bottom :][::-1], rows


def search(X, top, bottom, rows, max_size, least):
    """What is found, in its order: items, top and bottom counts."""
    scores = np.empty(len(X))
    scores[rows] = -np.arange(len(X))
    contrast = RankContrast(
        top=len(top), bottom=len(bottom), max_size=max_size, min_leverage=least
    ).fit_ranking(X, scores)
    return {
        tuple(row.items): (row.top_count, row.bottom_count)
        for row in contrast.properties_.itertuples()
    }


def counts_of(X, top, bottom, max_size):
    """The counts of every conjunction of attribute = value."""
    values = [(j, v) for j in range(X.shape[1]) for v in np.unique(X[:, j])]
    values = [(j, v) for j, v in values if len(np.unique(X[:, j])) > 1]
    masks = np.array([X[:, j] == v for j, v in values])
    return every_conjunction(masks, top, bottom, np.array([j for j, _ in values]), max_size)


def above(counts, n_top, n_bottom, least):
    """The conjunctions with at least so large a product, the largest first."""
    size = lambda t, b: abs(t * n_bottom - b * n_top)
    kept = [(-size(*c), len(i), i) for i, c in counts.items() if size(*c) >= max(least, 1)]
    return [items for _, _, items in sorted(kept)]


@settings(max_examples=100)
@given(tables(), st.sampled_from([0.01, 0.05, 0.07, 0.1, 0.2, 0.25]), st.integers(1, 4))
def test_search_of_small_tables_finds_all(table, leverage, max_size):
    X, top, bottom, _ = table
    counts = counts_of(X, top, bottom, max_size)
    # The threshold is the decimal that it reads as: 0.07 * 10000 > 700 in floats.
    exact = Fraction(repr(leverage)) * (len(top) + len(bottom)) ** 2
    expected = above(counts, len(top), len(bottom), -(-exact.numerator // exact.denominator))
    found = search(*table, max_size, leverage)
    assert list(found) == expected
    assert found == {items: counts[items] for items in expected}


# Layouts of the bits differ by the numbers of rows, of items and of partners: some 3 s.
@pytest.mark.parametrize(("n", "m", "size"), [
    (43, 400, 3), (13, 300, 4), (8, 9_000, 3), (20, 9_000, 2), (33, 70, 3),
])  # fmt: skip
def test_search_of_larger_tables_finds_all(n, m, size):
    rng = np.random.default_rng(n + m)
    rows = rng.permutation(m)
    top, bottom = rows[: m // 3], rows[m // 3 + 7 :][::-1]
    X = rng.choice(3, (m, n), p=[0.5, 0.3, 0.2]).astype(float)
    X[top, : n // 6] = rng.choice(3, (len(top), n // 6), p=[0.2, 0.3, 0.5])
    counts = counts_of(X, top, bottom, size)
    sizes = np.sort([abs(t * len(bottom) - b * len(top)) for t, b in counts.values()])
    for place in (300, 30):
        least = int(sizes[-place])
        expected = above(counts, len(top), len(bottom), least)
        # The middle between two whole numbers, so that no rounding matters.
        found = search(X, top, bottom, rows, size, (least - 0.5) / (len(top) + len(bottom)) ** 2)
        assert list(found) == expected
        assert all(found[items] == counts[items] for items in expected)


def test_search_limits_what_it_keeps_and_counts_large_tables():
    rng = np.random.default_rng(1)
    X = rng.choice(2, (60, 44)).astype(float)
    with pytest.raises(InvalidValueError, match="1,000,000"):
        search(X, np.arange(30), np.arange(30, 60), np.arange(60), 4, 1e-9)
    # Large counts do not overflow.
    m = 200_000
    X = np.column_stack([np.arange(m) < m // 2, np.zeros(m)]).astype(float)
    found = search(X, np.arange(m // 2), np.arange(m // 2, m), np.arange(m), 2, 0.25)
    assert found == {(0,): (0, m // 2), (1,): (m // 2, 0)}
