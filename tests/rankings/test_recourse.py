"""The cheapest change for a case, its alternatives and ranks: against brute force, within what is allowed."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from clearmargin import LPSVC
from clearmargin.datasets import load_cleveland
from clearmargin.exceptions import DataError
from clearmargin.rankings.recourse_answer import Rank, recourse

from .recourse_cases import COLOURS, fitted, linear, people, with_changes


@functools.cache
def fitted_whole(seed):
    """The same without the column of broken numbers."""
    X, y = people(seed)
    X = X.drop(columns="bmi")
    encode = make_column_transformer((OneHotEncoder(), ["colour"]), remainder=StandardScaler())
    return X, make_pipeline(encode, LogisticRegression()).fit(X, y)


def brute_force(score, options, crosses):
    """All combinations of options (value, cost): the least cost of one that crosses, None if none does."""
    best = None
    for combination in itertools.product(*options):
        cost = sum(price for _, price in combination)
        if (best is None or cost < best) and crosses(score([value for value, _ in combination])):
            best = cost
    return best


# The optimum for a case


@given(seed=st.integers(0, 149))
def test_whole_numbers_and_categories_are_changed_as_brute_force_would(seed):
    rng = np.random.default_rng(seed)
    X, model = fitted_whole(seed % 5)
    row = X.iloc[[int(rng.integers(len(X)))]]
    actionable = {
        "age": (int(row.age.iloc[0]) - 6, int(row.age.iloc[0]) + 4),
        "visits": ["any", [0, 2, 5], "increase"][seed % 3],
        "colour": ["any", ["blue", "red"]][seed % 2],
    }
    costs = {name: float(rng.uniform(0.1, 2)) for name in actionable}
    answer = recourse(model, row, actionable=actionable, X=X, costs=costs)

    now = row.iloc[0]
    visits = {"any": range(6), "increase": range(now.visits, 6)}.get(
        str(actionable["visits"]), [0, 2, 5]
    )
    grids = [
        ("age", range(now.age - 6, now.age + 5), costs["age"]),
        ("visits", {*visits, now.visits}, costs["visits"]),
    ]
    options = [[(v, price * abs(v - now[name])) for v in values] for name, values, price in grids]
    colours = {now.colour, *(COLOURS if actionable["colour"] == "any" else actionable["colour"])}
    options.append([(v, costs["colour"] * (v != now.colour)) for v in colours])
    every = pd.DataFrame(
        [[v for v, _ in combination] for combination in itertools.product(*options)],
        columns=["age", "visits", "colour"],
    )[["age", "colour", "visits"]]
    prices = np.array(
        [sum(p for _, p in combination) for combination in itertools.product(*options)]
    )
    crossed = model.predict(every) != model.predict(row)[0]
    if not crossed.any():
        assert not answer.feasible
        scores = model.decision_function(every)
        best = scores.min() if answer.label_before == "ill" else scores.max()
        assert answer.best_score == pytest.approx(best)
        assert answer.shortfall == pytest.approx(abs(best))
        assert answer.verified
        return
    assert answer.feasible
    assert answer.verified
    assert answer.cost == pytest.approx(prices[crossed].min(), rel=1e-6)
    changed = with_changes(row, answer.changes)
    assert model.predict(changed)[0] == answer.label_after != answer.label_before
    assert model.decision_function(changed)[0] == pytest.approx(answer.score_after)
    assert sum(change.cost for change in answer.changes) == pytest.approx(answer.cost)


@given(st.integers(0, 10**9))
def test_numbers_are_moved_as_linprog_would(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    X = rng.normal(size=(30, n)) * 10.0 ** rng.uniform(-2, 3, n)
    coef = rng.normal(size=n) / X.std(axis=0)
    model = linear(coef, rng.normal())
    x = X[0]
    answer = recourse(model, x, actionable=[f"x{j}" for j in range(n)], X=X)
    f = float(coef @ x + model.intercept_[0])
    toward = -np.sign(f) * np.concatenate([coef, -coef])
    low, high = X.min(axis=0), X.max(axis=0)
    cost = np.tile(1 / (high - low), 2)
    room = np.concatenate([high - x, x - low])
    other = linprog(cost, A_ub=-toward[None], b_ub=[-abs(f)], bounds=[(0, r) for r in room])
    assert answer.feasible == other.success
    assert answer.verified
    if answer.feasible:
        assert answer.cost == pytest.approx(other.fun, rel=1e-4, abs=1e-6)
        assert np.sign(answer.score_after) == -np.sign(f)
        for change in answer.changes:
            j = int(change.feature[1:])
            assert low[j] <= change.after <= high[j]
    else:
        assert answer.shortfall == pytest.approx(
            abs(f) - np.maximum(toward * room, 0).sum(), rel=1e-6
        )


@given(st.integers(0, 10**9), st.sampled_from(["any", "increase", "decrease"]))
def test_directions_and_bounds_are_kept(seed, direction):
    rng = np.random.default_rng(seed)
    X, _, model = fitted(seed % 3)
    row = X.iloc[[int(rng.integers(len(X)))]]
    reach = (float(rng.uniform(15, 25)), float(rng.uniform(28, 45)))
    answer = recourse(
        model,
        row,
        actionable={"bmi": direction, "age": direction},
        X=X,
        bounds={"bmi": reach},
        n_alternatives=3,
    )
    for way in (answer, *answer.alternatives):
        assert way.verified
        for change in way.changes:
            step = change.after - change.before
            assert direction == "any" or (step > 0) == (direction == "increase")
            if change.feature == "bmi":
                assert reach[0] - 1e-9 <= change.after <= reach[1] + 1e-9
            else:
                assert isinstance(change.after, int)
                assert X.age.min() <= change.after <= X.age.max()


def test_a_case_outside_of_its_limits_may_stay_or_move_into_them():
    model = linear([1.0, 1.0], -10.0)
    stay = recourse(
        model,
        [12.0, 0.5],
        actionable={"x0": (0.0, 5.0), "x1": (-9.0, 9.0)},
        costs={"x0": 1, "x1": 1},
    )
    assert [change.feature for change in stay.changes] == ["x1"]
    move = recourse(model, [12.0, 0.5], actionable={"x0": (0.0, 5.0)})
    assert move.changes[0].after == 5.0
    assert move.score_after == pytest.approx(-4.5)
    low = recourse(model, [-3.0, 12.5], actionable={"x0": (-1.0, 4.0)}, target=1)
    assert low.changes[0].after == -1.0
    down = recourse(model, [12.0, 0.5], actionable=["x0"], X=[[1.0, 1.0], [8.5, 2.0]])
    assert down.changes[0].after == pytest.approx(9.5)


def test_further_ways_leave_something_alone_that_each_earlier_one_changes():
    rng = np.random.default_rng(4)
    X, _, model = fitted()
    for row in (X.iloc[[k]] for k in rng.choice(len(X), 12, replace=False)):
        answer = recourse(model, row, actionable=list(X), X=X, n_alternatives=4)
        ways = [answer, *answer.alternatives]
        assert len(ways) <= 4
        sets = [{change.feature for change in way.changes} for way in ways]
        assert all(not a <= b for a, b in itertools.combinations(sets, 2))
        assert [way.cost for way in ways] == sorted(way.cost for way in ways)
        for way in ways:
            assert way.alternatives == () or way is answer
            assert model.predict(with_changes(row, way.changes))[0] == way.label_after == way.target


@given(seed=st.integers(0, 39))
def test_alternatives_are_the_cheapest_that_are_left(seed):
    rng = np.random.default_rng(seed)
    n = 4
    X = rng.integers(0, 4, (40, n)).astype(float)
    X[:2] = [[0.0] * n, [3.0] * n]
    coef, x = rng.normal(size=n), X[5]
    model = linear(coef, -float(coef @ x) - rng.uniform(0.3, 3))
    costs = {f"x{j}": float(rng.uniform(0.5, 2)) for j in range(n)}
    answer = recourse(model, x, actionable=list(costs), X=X, costs=costs, n_alternatives=4)
    ways = [answer, *answer.alternatives] if answer.feasible else []
    seen = []
    for k in range(4):
        best = None
        for point in itertools.product(range(4), repeat=n):
            moved = {j for j in range(n) if point[j] != x[j]}
            price = sum(costs[f"x{j}"] * abs(point[j] - x[j]) for j in moved)
            is_new = all(not old <= moved for old in seen)
            if is_new and coef @ point + model.intercept_[0] > 0 and (best is None or price < best):
                best = price
        if best is None:
            assert len(ways) == k
            return
        assert ways[k].cost == pytest.approx(best)
        seen.append({int(change.feature[1:]) for change in ways[k].changes})


# Ranks


@given(st.integers(0, 10**9))
def test_a_case_leaves_the_top_where_brute_force_says(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (12, 3)).astype(float)
    coef = rng.normal(size=3)
    model, k, n = linear(coef, 0.3), int(rng.integers(12)), int(rng.integers(1, 9))
    x, others = X[k], np.delete(X, k, axis=0) @ coef + 0.3
    costs = {f"x{j}": float(rng.uniform(0.5, 2)) for j in range(3)}
    answer = recourse(model, x, actionable=["x0", "x2"], X=X, costs=costs, target=("rank", n))
    limit = np.sort(others)[::-1][n - 1]
    low, high = X.min(axis=0), X.max(axis=0)
    options = [
        [(v, costs[f"x{j}"] * abs(v - x[j])) for v in np.arange(low[j], high[j] + 1)]
        for j in (0, 2)
    ]
    best = brute_force(
        lambda v: coef @ [v[0], x[1], v[1]] + 0.3, options, lambda s: s < limit - 1e-6
    )
    assert answer.n_others == 11
    if answer.rank_before > n:
        assert answer.changes == ()
        assert "not in the top" in str(answer)
    elif best is None:
        assert not answer.feasible
    else:
        assert answer.verified
        assert answer.cost == pytest.approx(best)
        assert answer.rank_after == 1 + (others > answer.score_after).sum() > n
        assert answer.score_after < limit


def test_the_rank_counts_the_others_only():
    """In a full list the case falls below what is at place n + 1, not n; a tie is not below."""
    X = [[5.0], [4.0], [3.0], [2.0], [1.5]]
    model = linear([1.0], 0.0)
    listed = recourse(model, [5.0], actionable=["x0"], X=X, target=Rank(2))
    assert listed.changes[0].after == pytest.approx(3.0)
    assert listed.changes[0].after < 3.0
    assert (listed.rank_before, listed.rank_after, listed.n_others) == (1, 3, 4)
    apart = recourse(model, [5.0], actionable=["x0"], X=X, target=Rank(2, listed=False))
    assert apart.changes[0].after == pytest.approx(4.0)
    assert apart.n_others == 5
    tied = recourse(model, [4.0], actionable={"x0": [3, 2]}, X=X[1:], target=("rank", 1))
    assert tied.changes[0].after == 2
    assert recourse(model, [4.5], actionable=["x0"], X=X, target=Rank(1)).changes == ()
    with pytest.raises(DataError, match=r"no row of X is equal .* listed=False"):
        recourse(model, [4.5], actionable=["x0"], X=X, target=Rank(1, listed=True))


def test_the_heart_patients_of_the_top_are_moved_out_of_it_and_confirmed():
    X, y = load_cleveland(return_X_y=True)
    model = make_pipeline(StandardScaler(), LPSVC()).fit(X, y)
    scores = model.decision_function(X)
    top = np.argsort(-scores)[:8]
    names = [name for name in X if name in {"trestbps", "chol", "thalach", "oldpeak"}] or list(X)[
        :4
    ]
    for k in top:
        answer = recourse(model, X.iloc[[k]], actionable=names, X=X, target=Rank(27))
        assert answer.verified
        if answer.feasible:
            moved = model.decision_function(with_changes(X.iloc[[k]], answer.changes))[0]
            assert (np.delete(scores, k) > moved).sum() >= 27
