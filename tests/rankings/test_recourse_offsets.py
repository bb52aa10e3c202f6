"""Recourse over columns with an offset, such as a time in seconds: against a grid of all values, and the clock."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clearmargin.exceptions import InvalidValueError, TimeLimitError
from clearmargin.rankings import Rank, recourse, recourse_milp

from .recourse_cases import linear

COSTS = {"x0": 1.0, "x2": 0.03}


def problem(seed, offset):
    """A table with two columns at an offset, whole numbers in every other one, and a model of it."""
    rng = np.random.default_rng(seed)
    scale = np.array([1.0, 5.0, 30.0])
    X = rng.normal(size=(80, 3)) * scale
    y = (X / scale).sum(axis=1) + 0.3 * rng.normal(size=80) > 0
    X = X + offset * np.array([1.0, 0.0, 1.0])
    X = np.round(X) if seed % 2 else X
    if seed % 4 == 3:
        model = RidgeClassifier().fit(X - X.mean(axis=0), y)
        model.intercept_ = model.intercept_ - model.coef_ @ X.mean(axis=0)
        return X, model, X[int(rng.integers(80))]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    return X, model, X[int(rng.integers(80))]


def cheapest_of_grid(X, model, x):
    """The cost of the cheapest point of a grid over the first and the last column with another class."""

    def axis(j):
        low, high = X[:, j].min(), X[:, j].max()
        is_whole = (X[:, j] == np.round(X[:, j])).all()
        return (
            np.arange(low, high + 1) if is_whole else np.append(np.linspace(low, high, 301), x[j])
        )

    first, last = (values.ravel() for values in np.meshgrid(axis(0), axis(2)))
    P = np.tile(x, (len(first), 1))
    P[:, 0], P[:, 2] = first, last
    other = model.predict(P) != model.predict(x[None])[0]
    cost = COSTS["x0"] * np.abs(first - x[0]) + COSTS["x2"] * np.abs(last - x[2])
    return cost[other].min() if other.any() else None


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9, 1.7e9])
def test_the_cheapest_change_is_that_of_a_grid_at_any_offset(offset):
    for seed in range(6):
        X, model, x = problem(seed, offset)
        answer = recourse(model, x, actionable=["x0", "x2"], X=X, costs=COSTS)
        best = cheapest_of_grid(X, model, x)
        assert answer.feasible == (best is not None)
        assert answer.verified
        if best is not None:
            assert answer.cost <= best * (1 + 1e-6) + 1e-9
            # A grid has steps: about 0.02 of the one, and 0.6 of the other column, and none for whole numbers.
            assert answer.cost >= best - (1e-9 if seed % 2 else 0.05)


def test_what_is_impossible_at_an_offset_is_said_without_contradiction():
    model = linear([1.0, 0.0], -1.7e9 - 10.0)
    answer = recourse(model, [1.7e9, 0.0], actionable={"x0": (1.7e9, 1.7e9 + 4)}, costs={"x0": 1})
    assert not answer.feasible
    assert answer.verified
    assert answer.shortfall == pytest.approx(6.0)
    assert answer.best_score == pytest.approx(-6.0)
    possible = recourse(model, [1.7e9, 0.0], actionable={"x0": (1.7e9, 2e9)}, costs={"x0": 1})
    assert possible.cost == pytest.approx(10.0, rel=1e-6)


def test_a_rank_at_an_offset_is_left_by_as_little_as_it_takes():
    X = 1.7e9 + np.arange(10.0)[:, None]
    model = linear([1.0], -1.7e9 - 4.5)
    answer = recourse(
        model, X[9], actionable={"x0": "decrease"}, X=X, target=Rank(3), costs={"x0": 1}
    )
    # The third of the others is at 6, and whole numbers stay whole.
    assert answer.feasible
    assert answer.changes[0].after == 1.7e9 + 5
    assert answer.rank_after == 4


def test_a_search_that_takes_too_long_ends_in_words(monkeypatch):
    def slow(*args, **kwargs):
        raise TimeLimitError("HiGHS stopped at the time limit")

    monkeypatch.setattr(recourse_milp, "solve", slow)
    with pytest.raises(
        TimeLimitError, match=r"stopped after 2 s, before it had an answer; allow fewer features"
    ):
        recourse(linear([1.0], -2.0), [0.0], actionable={"x0": (0, 9)}, time_limit=2)


@pytest.mark.parametrize("wrong", [0, -1.0, "soon"])
def test_a_time_limit_is_a_positive_number(wrong):
    with pytest.raises(InvalidValueError, match="time_limit"):
        recourse(linear([1.0], -2.0), [0.0], actionable={"x0": (0, 9)}, time_limit=wrong)
