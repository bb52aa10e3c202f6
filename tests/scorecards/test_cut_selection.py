from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.scorecards.cut_selection import CutGrid, _Search, select_cuts


def _task(seed: int, m: int = 60, d: int = 3, g: int = 4):
    """Terms in [0, 1], cut at g places each; continuous for even features, with gaps for odd ones."""
    rng = np.random.default_rng(seed)
    below = [np.sort(rng.uniform(0.1, 0.9, size=g)) for _ in range(d)]
    above = [places + (j % 2) * 0.01 for j, places in enumerate(below)]
    grid = CutGrid.of(below, above, [0.0] * d, [1.0] * d)
    terms = rng.uniform(size=(m, d))
    places = np.stack([np.searchsorted(below[j], terms[:, j]) for j in range(d)], axis=1)
    return grid, places, terms.sum(axis=1) > d / 2, rng.uniform(0.5, 2.0, size=m), -d / 2


def _slack(grid, places, positive, constant, chosen) -> np.ndarray:
    """The definition, row by row."""
    slack = np.empty(len(places))
    for i, row in enumerate(places.tolist()):
        low, high = constant, constant
        for j, place in enumerate(row):
            before = [k for k in chosen[j] if k < place]
            after = [k for k in chosen[j] if k >= place]
            low += grid.above[j, before[-1]] if before else grid.low[j]
            high += grid.below[j, after[0]] if after else grid.high[j]
        slack[i] = low if positive[i] else -high
    return slack


@given(seed=st.integers(0, 10_000), n=st.integers(1, 8))
def test_the_slack_kept_by_the_search_is_that_of_its_definition(seed, n):
    grid, places, positive, weights, constant = _task(seed)
    search = _Search(grid, places, positive, weights, constant)
    for _ in range(n):
        found = search.best()
        if found is None:
            break
        search.add(found)
    search.exchange()
    chosen = [np.flatnonzero(row).tolist() for row in search.chosen]
    expected = _slack(grid, places, positive, constant, chosen)
    np.testing.assert_allclose(search.slack, expected, atol=1e-12)
    np.testing.assert_allclose(search._all_slack(), expected, atol=1e-12)


@given(seed=st.integers(0, 10_000))
def test_prices_are_derivatives_of_the_count_along_each_cut(seed):
    grid, places, positive, weights, constant = _task(seed)
    search = _Search(grid, places, positive, weights, constant)
    search.add(search.best())
    search._set_width()
    prices = search._prices()
    count, step = search._count(search.slack), 1e-7
    for j in range(grid.n_features):
        for place in range(int(grid.sizes[j])):
            if search.chosen[j, place]:
                assert prices[j, place] == -1.0
                continue
            moves = search._moves(np.array([j]), np.array([place]))[:, 0]
            grown = search._count(search.slack + step * moves) - count
            assert prices[j, place] == pytest.approx(grown / step, rel=1e-3, abs=1e-4)


def test_the_chosen_cuts_decide_nearly_as_much_as_the_best_of_all_sets():
    shares = []
    for seed in range(6):
        grid, places, positive, weights, constant = _task(seed, d=2, g=5)
        all_cuts = [(j, k) for j in range(2) for k in range(5)]

        def decided(cuts, task=(grid, places, positive, weights, constant)):
            grid, places, positive, weights, constant = task
            chosen = [sorted(k for j, k in cuts if j == f) for f in range(2)]
            return weights[_slack(grid, places, positive, constant, chosen) > 0].sum()

        best = max(decided(cuts) for cuts in combinations(all_cuts, 3))
        found = select_cuts(grid, places, positive, weights, constant, 3)
        shares.append(decided([(j, k) for j in range(2) for k in found[j]]) / best)
    assert np.mean(shares) > 0.85


def test_the_order_of_features_without_places_and_more_cuts_than_places_are_no_problem():
    grid = CutGrid.of(
        [np.empty(0), np.array([0.5])], [np.empty(0), np.array([0.5])], [0, 0], [1, 1]
    )
    places = np.array([[0, 0], [0, 1], [0, 1]])
    found = select_cuts(grid, places, np.array([False, True, True]), np.ones(3), -0.7, 9)
    assert [cuts.tolist() for cuts in found] == [[], [0]]
