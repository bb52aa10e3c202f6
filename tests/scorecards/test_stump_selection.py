from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from clearmargin.rule_base.cuts import candidate_cuts
from clearmargin.scorecards import stump_selection
from clearmargin.scorecards.stump_selection import (
    Stumps,
    _Candidates,
    fit_weights,
    round_points,
    select_stumps,
)


def _table(seed: int, m: int = 40, n: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 5, size=(m, n)).astype(float)


def _cuts(rows: np.ndarray, most: int = 20) -> list[np.ndarray]:
    return [candidate_cuts(column, most) for column in rows.T]


def _indicators(rows: np.ndarray, candidates: _Candidates) -> np.ndarray:
    return (rows[:, candidates.column] >= candidates.cut).astype(float)


@given(seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_sums_over_cells_are_the_products_of_indicators(seed):
    rows = _table(seed)
    v = np.random.default_rng(seed).uniform(size=len(rows))
    candidates = _Candidates(rows, _cuts(rows))
    h = _indicators(rows, candidates)
    np.testing.assert_allclose(candidates.gram(v), h.T @ (h * v[:, None]), atol=1e-9)
    np.testing.assert_allclose(candidates.sums(v), h.T @ v, atol=1e-9)


@given(seed=st.integers(0, 1000), ridge=st.sampled_from([0.1, 1.0, 5.0]))
@settings(max_examples=15, deadline=None)
def test_weights_are_those_of_logistic_regression(seed, ridge):
    rng = np.random.default_rng(seed)
    h = rng.normal(size=(30, 2))
    target = np.arange(30) % 2
    weights = rng.uniform(0.5, 2.0, size=30)
    fitted, _ = fit_weights(h, target.astype(float), weights, ridge)
    second = LogisticRegression(C=1.0 / ridge, tol=1e-10, max_iter=1000)
    second.fit(h, target, sample_weight=weights)
    np.testing.assert_allclose(fitted[1:], second.coef_[0], atol=1e-3)
    np.testing.assert_allclose(fitted[0], second.intercept_[0], atol=1e-3)


def _squares_left(h: np.ndarray, v: np.ndarray, t: np.ndarray, ridge: float) -> float:
    """Least squares with an intercept and a ridge, as one system that is solved anew."""
    root = np.sqrt(v)
    A = np.column_stack([np.ones(len(h)), h]) * root[:, None]
    price = np.diag([0.0] + [ridge] * h.shape[1])
    x = np.linalg.solve(A.T @ A + price, A.T @ (root * t))
    return float(((A @ x - root * t) ** 2).sum() + x @ price @ x)


@given(seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_the_gain_of_a_stump_is_what_it_takes_off_the_squares(seed):
    rows = _table(seed)
    rng = np.random.default_rng(seed)
    v, t = rng.uniform(0.5, 1.0, size=len(rows)), rng.normal(size=len(rows))
    candidates = _Candidates(rows, _cuts(rows))
    h = _indicators(rows, candidates)
    gram, rhs = stump_selection._normal_equations(candidates, v, t)
    gains = stump_selection._gains(gram, rhs, 1.0, [0, 5])
    before = _squares_left(h[:, [0, 5]], v, t, 1.0)
    for k in (1, 4, 9):
        assert before - _squares_left(h[:, [0, 5, k]], v, t, 1.0) == pytest.approx(gains[k])


@given(seed=st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_no_single_exchange_improves_the_squares(seed):
    rows = _table(seed)
    rng = np.random.default_rng(seed)
    v, t = rng.uniform(0.5, 1.0, size=len(rows)), rows.sum(axis=1) + rng.normal(size=len(rows))
    candidates = _Candidates(rows, _cuts(rows))
    h = _indicators(rows, candidates)
    gram, rhs = stump_selection._normal_equations(candidates, v, t)
    chosen = stump_selection._exchange(gram, rhs, 1.0, 3, [])
    left = _squares_left(h[:, chosen], v, t, 1.0)
    for place in range(3):
        rest = chosen[:place] + chosen[place + 1 :]
        others = set(range(h.shape[1])) - set(chosen)
        assert all(_squares_left(h[:, [*rest, k]], v, t, 1.0) >= left - 1e-6 for k in others)


def test_two_stumps_that_decide_everything_are_found():
    rows = np.array([[a, b, c] for a in range(6) for b in range(6) for c in range(3)], dtype=float)
    decision = 2.0 * (rows[:, 0] >= 4) + 2.0 * (rows[:, 1] >= 2) - 3.0
    found = select_stumps(rows, decision, np.ones(len(rows)), _cuts(rows), 2)
    assert sorted(zip(found.column.tolist(), found.cut.tolist(), strict=True)) == [(0, 4), (1, 2)]
    assert ((found.score(rows) > 0) == (decision > 0)).all()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_two_stumps_are_about_as_good_as_the_best_pair(seed):
    rows = np.random.default_rng(seed).normal(size=(150, 2))
    decision = rows @ np.array([1.0, 0.7])
    cuts = _cuts(rows, 6)
    found = select_stumps(rows, decision, np.ones(150), cuts, 2)
    target = (decision > 0).astype(float)
    h = _indicators(rows, _Candidates(rows, cuts))
    pairs = combinations(range(h.shape[1]), 2)
    best = min(fit_weights(h[:, list(pair)], target, np.ones(150), 1.0)[1] for pair in pairs)
    assert fit_weights(found.indicators(rows), target, np.ones(150), 1.0)[1] <= 1.05 * best


def test_more_stumps_than_there_are_cuts_is_no_error():
    rows = np.array([[0.0], [1.0], [2.0]])
    found = select_stumps(rows, np.array([-1.0, 1.0, 1.0]), np.ones(3), _cuts(rows), 9)
    assert len(found) <= 2


def test_without_cuts_the_heavier_side_wins():
    rows = np.zeros((3, 1))
    found = select_stumps(rows, np.array([-1.0, 1.0, 1.0]), np.ones(3), _cuts(rows), 4)
    assert len(found) == 0
    assert found.intercept > 0


def test_a_decision_of_one_class_needs_no_stumps_to_be_imitated():
    rows = _table(0)
    found = select_stumps(rows, np.full(40, 2.0), np.ones(40), _cuts(rows), 4)
    assert (found.score(rows) > 0).all()


def test_of_very_many_columns_those_that_matter_stay(monkeypatch):
    monkeypatch.setattr(stump_selection, "_MOST_CANDIDATES", 12)
    rows = _table(3, m=200, n=9)
    found = select_stumps(rows, rows[:, 7] - 1.5, np.ones(200), _cuts(rows), 1)
    assert found.column.tolist() == [7]
    assert found.cut.tolist() == [2.0]


def test_whole_points_are_the_best_of_all_scales():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(80, 3))
    steps = Stumps(np.arange(3), np.zeros(3), np.array([1.0, 0.62, -0.3]), -0.4)
    positive, weights = rows @ np.array([1.0, 0.5, -0.2]) > 0.1, rng.uniform(size=80)
    rounded = round_points(steps, rows, positive, weights, 7)
    best = max(
        weights @ ((steps.indicators(rows) @ np.rint(steps.weights * top) > limit) == positive)
        for top in range(1, 8)
        for limit in np.arange(-8.5, 20.0)
    )
    assert weights @ ((rounded.score(rows) > 0) == positive) == pytest.approx(best)
    assert np.abs(rounded.weights).max() <= 7
    assert (rounded.weights == np.rint(rounded.weights)).all()
    assert not (rounded.score(rows) == 0).any()


def test_a_step_whose_points_round_to_zero_is_dropped():
    steps = Stumps(np.array([0, 1]), np.zeros(2), np.array([1.0, 0.01]), -0.5)
    rows = np.array([[-1.0, 1.0], [1.0, -1.0]])
    rounded = round_points(steps, rows, rows[:, 0] > 0, np.ones(2), 5)
    assert rounded.column.tolist() == [0]
    assert (rounded.weights.tolist(), rounded.intercept) == ([1.0], -0.5)


@pytest.mark.parametrize("intercept", [-0.2, 0.3])
def test_no_steps_stay_no_steps(intercept):
    empty = Stumps(np.empty(0, dtype=np.intp), np.empty(0), np.empty(0), intercept)
    rounded = round_points(empty, np.zeros((2, 1)), np.ones(2, dtype=bool), np.ones(2), 5)
    assert rounded.score(np.zeros((1, 1)))[0] == np.copysign(0.5, intercept)
