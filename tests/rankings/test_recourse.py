"""The cheapest change for a case against brute force, what the answer says, and requests that are refused."""

from __future__ import annotations

import functools
import itertools
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from clearmargin import LPSVC
from clearmargin.datasets import load_cleveland
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rankings import FeatureChange, Rank, Recourse, recourse

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


def test_what_cannot_be_reached_is_said_with_the_best_score():
    X, _, model = fitted()
    row = X.iloc[[int(np.argmax(model.decision_function(X)))]]
    answer = recourse(model, row, actionable={"visits": (0, 5)}, X=X)
    assert not answer.feasible
    assert answer.changes == ()
    assert answer.cost is None
    best = max(model.decision_function(row.assign(visits=v))[0] * -1 for v in range(6)) * -1
    assert answer.best_score == pytest.approx(best)
    assert answer.shortfall == pytest.approx(best)
    text = str(answer)
    assert "No allowed change of visits would change the model's answer from ill to healthy" in text
    assert f"{answer.shortfall:.4g} would still be missing" in text
    json.dumps(answer.to_dict())
    nowhere = recourse(model, row, actionable={"visits": (int(row.visits.iloc[0]),) * 2}, X=X)
    assert nowhere.best_score == nowhere.score_before == pytest.approx(nowhere.shortfall)
    edge = recourse(linear([1.0], -2.0), [3], actionable={"x0": [2]})
    assert not edge.feasible
    assert edge.shortfall == 0
    assert "reaches the boundary, but does not cross it" in str(edge)


def test_the_text_speaks_of_the_model_and_never_of_causes():
    X, _, model = fitted()
    answer = recourse(model, X.iloc[[3]], actionable=list(X), X=X, n_alternatives=2)
    ranked = recourse(
        model,
        X.iloc[[int(np.argmax(model.decision_function(X)))]],
        actionable=list(X),
        X=X,
        target=Rank(5),
    )
    assert "this would change the model's answer from" in str(answer)
    assert "\nOr: If " in str(answer)
    assert (
        f"this would change the rank from 1 to {ranked.rank_after} of {len(X)}, out of the top 5"
        in str(ranked)
    )
    for text in (str(answer), str(ranked)):
        assert "not known from data" in text
        assert not any(
            word in text for word in ("because", "cause", "leads to", "effect", "reduce")
        )


def test_printed_numbers_are_rounded_so_that_they_still_suffice():
    assert str(FeatureChange("bmi", 31.2, 27.12345678, 1.0)) == "bmi were 27.1234 instead of 31.2"
    assert str(FeatureChange("bmi", 21.2, 27.12345678, 1.0)) == "bmi were 27.1235 instead of 21.2"
    assert str(FeatureChange("colour", "red", "blue", 1.0)) == "colour were blue instead of red"


def test_answers_are_values():
    X, _, model = fitted()
    answer = recourse(model, X.iloc[[3]], actionable=list(X), X=X, n_alternatives=3)
    assert isinstance(answer, Recourse)
    assert pickle.loads(pickle.dumps(answer)) == answer
    plain = json.loads(json.dumps(answer.to_dict()))
    assert plain["text"] == str(answer)
    assert plain["cost"] == answer.cost
    assert len(plain["alternatives"]) == len(answer.alternatives) == 2
    ranked = recourse(model, X.iloc[[3]], actionable=list(X), X=X, target=Rank(100))
    assert ranked.to_dict()["target"] == {"rank": 100}
    with pytest.raises(AttributeError):
        answer.cost = 3.0


def test_a_case_that_is_there_already_has_nothing_to_change():
    X, _, model = fitted()
    said = model.predict(X.iloc[[3]])[0]
    answer = recourse(model, X.iloc[[3]], actionable=["age"], X=X, target=said)
    assert (answer.changes, answer.cost, answer.feasible, answer.verified) == ((), 0.0, True, True)
    assert str(answer) == f"Nothing has to change: the model's answer is {said} already."


DATA, LABELS, MODEL = fitted()
ROW = DATA.iloc[[3]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"actionable": ["bmy"]}, r"unknown feature 'bmy'; did you mean 'bmi'\?"),
        ({"actionable": {"colur": "any"}}, r"unknown feature 'colur'; did you mean 'colour'\?"),
        ({"actionable": []}, "nothing is actionable; name at least one feature"),
        ({"actionable": "bmi"}, "must be a list of names or a mapping .* not 'bmi'"),
        ({"actionable": None}, "must be a list of names or a mapping"),
        ({"actionable": {"bmi": "incraese"}}, r"'incraese'; did you mean 'increase'\?"),
        ({"actionable": {"bmi": 3}}, r"a pair \(low, high\) or a list of values, not 3"),
        ({"actionable": {"bmi": (1, 2, 3)}}, r"a pair \(low, high\)"),
        ({"actionable": {"bmi": (30, 20)}}, "limits of 'bmi' leave nothing: from 30 to 20"),
        ({"actionable": {"bmi": (20, np.nan)}}, "limits of 'bmi' must not be NaN"),
        ({"actionable": {"bmi": ["low"]}}, "an allowed value of 'bmi' must be a number, not 'low'"),
        ({"actionable": {"bmi": [np.inf]}}, "an allowed value of 'bmi' must be finite"),
        ({"actionable": {"age": [30, 40.5]}}, "value of 'age' must be a whole number, not 40.5"),
        (
            {"actionable": {"colour": "increase"}},
            "'colour' is categorical, and categories have no order",
        ),
        ({"actionable": {"colour": 3}}, "allow 'any' or a list of them, not 3"),
        (
            {"actionable": {"colour": ["grean"]}},
            r"no category of 'colour' .*did you mean 'green'\?",
        ),
        (
            {"costs": {"bmi": 0}},
            "cost of 'bmi' must be positive and finite, not 0; to keep a feature",
        ),
        ({"costs": {"bmi": -1}}, "must be positive and finite, not -1"),
        ({"costs": {"bmi": "much"}}, "cost of 'bmi' must be a number, not 'much'"),
        ({"costs": {"bmy": 1}}, r"costs name unknown feature 'bmy'; did you mean 'bmi'\?"),
        ({"costs": [1, 2]}, "costs must map names to costs, not be list"),
        ({"bounds": {"bmy": (1, 2)}}, r"bounds name unknown feature 'bmy'; did you mean 'bmi'\?"),
        ({"bounds": {"colour": (1, 2)}}, "'colour' is categorical and has no bounds; list what"),
        ({"bounds": {"bmi": (50, 20)}}, "feature 'bmi' has no range"),
        ({"X": None}, "how much a change of 'bmi' costs: give X, .* or bounds, or costs="),
        ({"target": "hea"}, r"target must be 'boundary', a class, .* not 'hea'"),
        ({"target": "helthy"}, r"did you mean 'healthy'\?"),
        ({"target": ("top", 3)}, r"target must be 'boundary', a class, \('rank', n\) or Rank\(n\)"),
        ({"target": ("rank", 0)}, "the rank must be a whole number from 1, not 0"),
        (
            {"target": ("rank", 120)},
            "there are 119 others, so that a case is always in the top 120",
        ),
        (
            {"target": Rank(2), "X": None, "costs": {"bmi": 1}},
            "a rank needs the list .* pass it as X",
        ),
        ({"n_alternatives": 0}, "n_alternatives must be at least 1, not 0"),
        ({"n_alternatives": 1.5}, "n_alternatives must be a whole number, not 1.5"),
    ],
)
def test_bad_requests_are_refused_with_what_to_do(change, message):
    request = {"actionable": ["bmi"], "X": DATA, **change}
    with pytest.raises(InvalidValueError, match=message):
        recourse(MODEL, ROW, **request)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (DATA.iloc[:2], "x must be one case, not a table of 2 rows"),
        (DATA.iloc[:0], "x must be one case, not a table of 0 rows"),
        (DATA.iloc[:2].to_numpy(), r"x must be one case .* not of shape \(2, 4\)"),
        (ROW.assign(bmi=np.nan), "the value of 'bmi' is nan, .*missing or infinite"),
        (ROW.assign(bmi=np.inf), "the value of 'bmi' is inf"),
        (ROW.assign(colour=None), "the value of 'colour' is .*missing"),
        (ROW.assign(bmi="high"), "column 'bmi', row 1: 'high' is not a number"),
        (ROW.drop(columns="bmi"), "the case has no value for 'bmi'"),
        ({"age": 30}, "the case has no value for 'bmi'"),
        ({"age": [30, 40], "bmi": 3.0}, "the value of 'age' must be a single one"),
        ([1.0, 2.0], "x has 2 values, but the table has 4 columns"),
    ],
)
def test_bad_cases_are_refused_with_the_reason(x, message):
    with pytest.raises(DataError, match=message):
        recourse(MODEL, x, actionable=["bmi"], X=DATA)


def test_models_that_are_not_linear_or_not_fitted_are_refused():
    X = DATA[["age", "bmi"]]
    forest = RandomForestClassifier(n_estimators=2).fit(X, LABELS)
    with pytest.raises(InvalidValueError, match="RandomForestClassifier is not linear"):
        recourse(forest, X.iloc[[0]], actionable=["bmi"], X=X)
    with pytest.raises(InvalidValueError, match="kernel 'rbf' is not linear"):
        recourse(SVC().fit(X, LABELS), X.iloc[[0]], actionable=["bmi"], X=X)
    with pytest.raises(NotFittedError):
        recourse(LogisticRegression(), X.iloc[[0]], actionable=["bmi"], X=X)
    with pytest.raises(DataError, match="x has 1 values, but the model was fitted to 2 columns"):
        recourse(linear([1.0, 1.0], 0.0), [3.0], actionable=["x0"])


@pytest.mark.parametrize("wrong", [0, 2.5, True, "3"])
def test_a_rank_is_a_whole_number(wrong):
    with pytest.raises(InvalidValueError, match="the rank must be a whole number from 1"):
        Rank(wrong)
    with pytest.raises(InvalidValueError, match="listed must be True, False or None, not 'yes'"):
        Rank(3, listed="yes")


def test_a_feature_that_may_stay_only_where_it_is_needs_no_cost():
    model = linear([1.0, 1.0], -10.0)
    found = recourse(model, [3.0, 4.0], actionable={"x0": (3.0, 3.0)})
    assert not found.feasible
    assert found.best_score == -3.0
