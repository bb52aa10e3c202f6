"""The cheapest change for a case of a linear model, against trying all changes and linear programs."""

import functools
import itertools
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from tests.oracles.recourse import cheapest_amounts, cheapest_choice, leaves_something_alone

from clearmargin import Domain, FeatureSpace
from clearmargin.cases import FeatureChange, Recourse, recourse
from clearmargin.exceptions import DataError, InvalidValueError, TimeLimitError, UncertifiedWarning

COLOURS = ["blue", "green", "red"]
seeds = st.integers(0, 10**9)


def linear(coef, intercept, names=None):
    """A classifier with these weights."""
    n = len(coef)
    model = RidgeClassifier().fit(np.vstack([np.eye(n), -np.eye(n)]), [0, 1] * n)
    model.coef_, model.intercept_ = np.array([coef], dtype=float), np.array([float(intercept)])
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    return model


@functools.cache
def people(seed=0, m=120):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "age": rng.integers(20, 70, m), "bmi": rng.normal(27, 4, m).round(3),
        "colour": rng.choice(COLOURS, m), "visits": rng.integers(0, 6, m),
    })  # fmt: skip
    score = 0.05 * X.age + 0.2 * X.bmi - 0.5 * X.visits
    score = score + X.colour.map({"blue": 0, "green": 1, "red": 2})
    y = np.where(score + rng.normal(size=m) > score.median(), "ill", "healthy")
    encode = make_column_transformer(
        (OneHotEncoder(drop="first"), ["colour"]), (StandardScaler(), ["age", "bmi", "visits"])
    )
    return X, y, make_pipeline(encode, LogisticRegression()).fit(X, y)


def after(row, changes):
    """The changed row, made without the code under test."""
    row = row.copy()
    for change in changes:
        assert row[change.feature].iloc[0] == change.before
        row[change.feature] = [change.after]
    return row


@given(seeds)
@settings(max_examples=30)
def test_recourse_whole_numbers_and_categories_as_all_changes_tried(seed):
    rng = np.random.default_rng(seed)
    X, _, model = people(seed % 3)
    row = X.iloc[[int(rng.integers(len(X)))]]
    now = row.iloc[0]
    actionable = {
        "age": (int(now.age) - 6, int(now.age) + 4),
        "visits": ["any", [0, 2, 5], "increase"][seed % 3],
        "colour": ["any", ["blue", "red"]][seed % 2],
    }
    costs = {name: float(rng.uniform(0.1, 2)) for name in actionable}
    answer = recourse(model, row, actionable=actionable, X=X, costs=costs)
    visits = {0: range(6), 1: [0, 2, 5], 2: range(now.visits, 6)}[seed % 3]
    colours = {now.colour, *(["blue", "red"] if seed % 2 else COLOURS)}
    options = [
        [(v, costs["age"] * abs(v - now.age)) for v in range(now.age - 6, now.age + 5)],
        [(v, costs["visits"] * abs(v - now.visits)) for v in {*visits, now.visits}],
        [(v, costs["colour"] * (v != now.colour)) for v in colours],
    ]
    every = pd.DataFrame(
        [[v for v, _ in each] for each in itertools.product(*options)],
        columns=["age", "visits", "colour"],
    ).assign(bmi=now.bmi)[list(X)]
    prices = np.array([sum(p for _, p in each) for each in itertools.product(*options)])
    crossed = model.predict(every) != model.predict(row)[0]
    assert answer.verified
    assert answer.feasible == crossed.any()
    if not crossed.any():
        scores = model.decision_function(every)
        best = scores.min() if answer.label_before == "ill" else scores.max()
        assert answer.best_score == pytest.approx(best)
        assert answer.shortfall == pytest.approx(abs(best))
        return
    assert answer.cost == pytest.approx(prices[crossed].min(), rel=1e-6)
    changed = after(row, answer.changes)
    assert model.predict(changed)[0] == answer.label_after != answer.label_before
    assert model.decision_function(changed)[0] == pytest.approx(answer.score_after)
    assert sum(change.cost for change in answer.changes) == pytest.approx(answer.cost)


@given(seeds)
@settings(max_examples=60)
def test_recourse_mixed_options_as_all_of_them_with_linprog(seed):
    """Continuous, whole and listed numbers, some of them outside of the limits that they may move into."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    coef, prices = rng.normal(size=n).round(3), rng.uniform(0.1, 3, n).round(3)
    x = rng.integers(-4, 5, n).astype(float)
    actionable, options = {}, []
    for j in range(n):
        low, high = np.sort(rng.choice(np.arange(-6, 7), 2, replace=False)).tolist()
        kind = rng.integers(3)
        if kind == 0:  # an interval, on each side of where the feature is
            actionable[f"x{j}"] = (float(low), float(high))
            sides = [(low, min(high, x[j])), (max(low, x[j]), high)]
            mine = [float(x[j]), *((a, b) for a, b in sides if a < b)]
        elif kind == 1:
            chosen = rng.choice(np.arange(-6, 7), 3, replace=False).astype(float).tolist()
            actionable[f"x{j}"] = chosen
            mine = sorted({float(x[j]), *chosen})
        else:
            actionable[f"x{j}"] = (low, high)
            mine = sorted({float(x[j]), *map(float, range(low, high + 1))})
        options.append((kind, mine))
    space = FeatureSpace(
        [f"x{j}" for j in range(n)],
        np.full(n, -9.0),
        np.full(n, 9.0),
        integer=[kind == 2 for kind, _ in options],
    )
    # No whole number lies on the boundary, which is not across.
    model = linear(coef, round(float(rng.normal()), 3) + 0.0005)
    f = float(coef @ x + model.intercept_[0])
    costs = dict(zip(actionable, prices.tolist(), strict=True))
    answer = recourse(model, x, actionable=actionable, costs=costs, bounds=space)
    side = -np.sign(f)
    rows, offsets = side * coef[None], np.array([side * model.intercept_[0]])
    found = cheapest_amounts(rows, offsets, x, prices, [mine for _, mine in options])
    assert answer.verified
    assert answer.feasible == (found is not None)
    if found is not None:
        assert answer.cost == pytest.approx(found, rel=1e-5, abs=1e-6)
    else:
        ends = [[v for each in mine for v in np.atleast_1d(each)] for _, mine in options]
        reached = sum(max(side * c * v for v in vs) for c, vs in zip(coef, ends, strict=True))
        assert answer.shortfall == pytest.approx(-(reached + offsets[0]), abs=1e-7)
        assert answer.best_score == pytest.approx(side * (reached + offsets[0]), abs=1e-7)


@given(seeds, st.sampled_from([1e-7, 3e-8, 1e-4]))
def test_recourse_whole_gains_at_a_tie_are_not_enough(seed, beyond):
    """All gains are whole numbers: a little more than the need is the need plus one, a little less the need."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    gain, most = rng.integers(1, 5, n), rng.integers(1, 5, n)
    cost = rng.uniform(0.5, 1.5, n)
    need = int(rng.integers(1, gain @ most + 1))
    names = [f"x{j}" for j in range(n)]
    space = FeatureSpace(names, np.zeros(n), most.astype(float), integer=True)
    grid = np.array(list(itertools.product(*(np.arange(top + 1) for top in most))))
    for enough, asked in ((need, need * (1 - beyond)), (need + 1, need), (need + 1, need + beyond)):
        costs = (grid @ cost)[grid @ gain >= enough]
        answer = recourse(
            linear(gain, -asked),
            np.zeros(n, dtype=int).tolist(),
            actionable=names,
            bounds=space,
            costs=dict(zip(names, cost, strict=True)),
        )
        assert answer.feasible == (len(costs) > 0)
        if answer.feasible:
            assert answer.cost == pytest.approx(costs.min())
            assert answer.score_after > 0


@given(seeds)
@settings(max_examples=15)
def test_recourse_alternatives_are_the_cheapest_that_are_left(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (40, 4)).astype(float)
    X[:2] = [[0.0] * 4, [3.0] * 4]
    coef, x = rng.normal(size=4), X[5]
    model = linear(coef, -float(coef @ x) - rng.uniform(0.3, 3))
    costs = {f"x{j}": float(rng.uniform(0.5, 2)) for j in range(4)}
    answer = recourse(model, x, actionable=list(costs), X=X, costs=costs, n_alternatives=4)
    ways = [answer, *answer.alternatives] if answer.feasible else []
    seen = []
    for k in range(4):
        best = None
        for point in itertools.product(range(4), repeat=4):
            moved = {f"x{j}" for j in range(4) if point[j] != x[j]}
            price = sum(costs[name] * abs(point[int(name[1])] - x[int(name[1])]) for name in moved)
            is_new = leaves_something_alone(seen, moved)
            if is_new and coef @ point + model.intercept_[0] > 0 and (best is None or price < best):
                best = price
        if best is None:
            assert len(ways) == k
            return
        assert ways[k].cost == pytest.approx(best)
        seen.append({change.feature for change in ways[k].changes})


@given(seeds)
@example(965)  # a tie with another that rounding takes for more
def test_recourse_rank_as_all_changes_tried(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (12, 3)).astype(float)
    coef = rng.normal(size=3)
    model, k, n = linear(coef, 0.3), int(rng.integers(12)), int(rng.integers(1, 9))
    x, others = X[k], np.delete(X, k, axis=0) @ coef + 0.3
    costs = {f"x{j}": float(rng.uniform(0.5, 2)) for j in range(3)}
    answer = recourse(model, x, actionable=["x0", "x2"], X=X, costs=costs, rank=n)
    limit = np.sort(others)[::-1][n - 1]
    low, high = X.min(axis=0), X.max(axis=0)
    options = [
        [(v, costs[f"x{j}"] * abs(v - x[j])) for v in np.arange(low[j], high[j] + 1)]
        for j in (0, 2)
    ]
    best = cheapest_choice(options, lambda v: coef @ [v[0], x[1], v[1]] + 0.3 < limit - 1e-6)
    assert answer.n_others == 11
    if answer.rank_before > n:
        assert answer.changes == ()
    elif best is None:
        assert not answer.feasible
    else:
        assert answer.verified
        assert answer.cost == pytest.approx(best[0])
        assert answer.rank_after == 1 + (others > answer.score_after).sum() > n
        assert answer.score_after < limit


def test_recourse_rank_counts_the_others_only():
    X = [[5.0], [4.0], [3.0], [2.0], [1.5]]
    model = linear([1.0], 0.0)
    listed = recourse(model, [5.0], actionable=["x0"], X=X, rank=2)
    assert listed.changes[0].after == pytest.approx(3.0)
    assert listed.changes[0].after < 3.0
    assert (listed.rank_before, listed.rank_after, listed.n_others) == (1, 3, 4)
    apart = recourse(model, [5.0], actionable=["x0"], X=X[1:], rank=1)
    assert apart.changes[0].after == pytest.approx(4.0)
    assert apart.n_others == 4
    tied = recourse(model, [4.0], actionable={"x0": [3, 2]}, X=X[1:], rank=1)
    assert tied.changes[0].after == 2
    assert recourse(model, [4.5], actionable=["x0"], X=X, rank=1).changes == ()


def test_recourse_answer_is_a_value_with_json():
    X, _, model = people()
    row = X.iloc[[3]]
    answer = recourse(model, row, actionable=list(X), X=X, n_alternatives=3)
    assert isinstance(answer, Recourse)
    assert pickle.loads(pickle.dumps(answer)) == answer
    plain = json.loads(json.dumps(answer.to_dict()))
    assert plain["text"] == str(answer)
    assert plain["cost"] == answer.cost
    assert len(plain["alternatives"]) == len(answer.alternatives) == 2
    ranked = recourse(model, row, actionable=list(X), X=X, rank=100)
    assert ranked.to_dict()["target"] == {"rank": 100}
    assert "100" in str(ranked)
    stuck = recourse(model, row, actionable={"visits": (int(row.visits.iloc[0]),) * 2}, X=X)
    assert json.loads(json.dumps(stuck.to_dict()))["feasible"] is False
    assert "visits" in str(stuck)
    with pytest.raises(AttributeError):
        answer.cost = 3.0
    said = model.predict(row)[0]
    there = recourse(model, row, actionable=["age"], X=X, target=said)
    assert (there.changes, there.cost, there.feasible, there.verified) == ((), 0.0, True, True)
    assert str(there).count(said) == 1


def test_feature_change_text_rounds_so_that_it_still_suffices():
    assert "27.1234 " in str(FeatureChange("bmi", 31.2, 27.12345678, 1.0))
    assert "27.1235 " in str(FeatureChange("bmi", 21.2, 27.12345678, 1.0))
    assert "blue" in str(FeatureChange("colour", "red", "blue", 1.0))


def test_recourse_ways_to_give_a_case_come_to_the_same():
    X, y, model = people()
    row = X.iloc[[3]]
    kind = {"actionable": ["age", "bmi", "colour"], "X": X}
    answer = recourse(model, row, **kind)
    for given_case in (row.iloc[0], row.iloc[0].to_dict(), list(row.iloc[0]), row.assign(more=1)):
        assert recourse(model, given_case, **kind) == answer
    turned = {**kind, "X": X[["bmi", "visits", "age", "colour"]]}
    shuffled = recourse(model, row[["visits", "colour", "bmi", "age"]], **turned)
    assert shuffled.cost == pytest.approx(answer.cost)
    categorical = X.assign(colour=X.colour.astype("category"))
    assert recourse(model, row, **{**kind, "X": categorical}) == answer
    few = pl.DataFrame({name: X[name].tolist() for name in ("age", "bmi")})
    bare = LogisticRegression().fit(few, y)
    table = X[["age", "bmi"]]
    by_pandas = recourse(bare, table.iloc[[3]], actionable=["bmi"], X=table)
    assert recourse(bare, few[3], actionable=["bmi"], X=few) == by_pandas


def test_recourse_whole_numbers_are_told_by_the_case_the_table_or_the_space():
    bare, price = linear([1.0], -2.5), {"x0": 1.0}

    def moved(x, **options):
        return recourse(bare, x, actionable=["x0"], **options).changes[0].after

    assert moved([4.0], costs=price) == pytest.approx(2.5)
    assert moved([4], costs=price) == 2
    whole = FeatureSpace(["x0"], [0.0], [9.0], integer=[True])
    assert moved([4.0], bounds=whole) == 2.0
    free, X = FeatureSpace(["x0"], [0.0], [9.0]), [[0.0], [4.0], [6.0]]
    assert moved([4.0], X=X, bounds=free) == pytest.approx(2.5)
    assert moved([4.0], X=X) == 2.0
    assert moved([4.0], costs=price, bounds=(0.0, 9.0)) == pytest.approx(2.5)


def test_recourse_categories_that_are_numbers_or_truths_keep_their_kind():
    X = pd.DataFrame({"ward": [1, 2, 3] * 8, "old": [True, False] * 12, "size": np.arange(24.0)})
    columns = make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough")
    model = make_pipeline(columns, LogisticRegression(C=100))
    model.fit(X, (X.ward == 3) | (X["size"] > 20))
    change = recourse(model, X.iloc[[2]], actionable=["ward"], X=X).changes[0]
    assert change.before == 3
    assert change.after in (1, 2)
    assert isinstance(change.after, int)
    only = recourse(model, X.iloc[[2]], actionable={"ward": [1.0]})
    assert only.changes == (FeatureChange("ward", 3, 1, 1.0),)
    # A category that is missing in a column that the model drops.
    bare = make_pipeline(make_column_transformer(("passthrough", ["size"])), LogisticRegression())
    row = X.assign(kind=["u", "v"] * 12).iloc[[20]].assign(kind=None)
    table = X.assign(kind=["u", "v"] * 12)
    bare.fit(table, table["size"] > 12)
    (moved,) = recourse(bare, row, actionable=["size", "kind"], X=table).changes
    assert moved.feature == "size"
    truth = linear([4.0, 0.0], -2.0, ["old", "more"])
    flipped = recourse(truth, {"old": True, "more": 0.5}, actionable={"old": (0, 1)})
    assert flipped.changes[0].after is False


@given(seeds)
@settings(max_examples=30)
def test_recourse_three_classes_as_all_changes_tried(seed):
    rng = np.random.default_rng(seed)
    model = LogisticRegression().fit(rng.normal(size=(9, 3)), [0, 1, 2] * 3)
    model.coef_, model.intercept_ = rng.normal(size=(3, 3)).round(2), rng.normal(size=3)
    names, prices = ["x0", "x1", "x2"], rng.uniform(0.5, 2, 3)
    x, label = rng.integers(0, 5, 3), int(rng.integers(3))
    space = FeatureSpace(names, np.zeros(3), np.full(3, 4.0), integer=[True, True, False])
    costs = dict(zip(names, prices, strict=True))
    answer = recourse(
        model, x.astype(float), actionable=names, bounds=space, costs=costs, target=label
    )
    rest = [k for k in range(3) if k != label]
    rows = model.coef_[label] - model.coef_[rest]
    offsets = model.intercept_[label] - model.intercept_[rest]
    options = [list(np.arange(5.0))] * 2 + [[float(x[2]), (0.0, x[2]), (x[2], 4.0)]]
    best = cheapest_amounts(rows, offsets, x, prices, options)
    assert answer.verified
    assert answer.feasible == (best is not None)
    if best is not None:
        assert answer.cost == pytest.approx(best, rel=1e-5, abs=1e-6)
    else:
        points = itertools.product(range(5), range(5), (0.0, 4.0))
        grid = np.array([*points, *itertools.product(range(5), range(5), np.linspace(0, 4, 401))])
        lead = (grid @ rows.T + offsets).min(axis=1).max()
        assert 0 <= answer.shortfall <= -lead + 1e-9
        assert answer.shortfall == pytest.approx(-lead, abs=0.05)


class Single(FunctionTransformer):
    """Leaves all columns as they are, but for their digits."""

    def transform(self, X):
        return np.asarray(X, dtype=np.float32)


class Stubborn(RidgeClassifier):
    """Says what it always said, except far away from the boundary."""

    def predict(self, X):
        return np.where(self.decision_function(X) > -0.2, 1, 0)


def test_recourse_single_precision_is_answered_by_a_larger_margin():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3)) * 100 + 5000
    y = X[:, 0] + X[:, 1] > 10000
    model = make_pipeline(Single(), StandardScaler(), LogisticRegression(C=100)).fit(X, y)
    assert all(recourse(model, X[k], actionable=["x0", "x1"], X=X).verified for k in range(20))


def test_recourse_that_the_model_does_not_confirm_is_not_verified():
    X = np.array([[0.0], [0.5], [2.0], [3.0]])
    model = Stubborn().fit(X, [0, 0, 1, 1])
    with pytest.warns(UncertifiedWarning):
        answer = recourse(model, [3.0], actionable=["x0"], X=X)
    assert not answer.verified
    assert answer.to_dict()["verified"] is False


@given(st.sampled_from([0.0, 1e6, 1e9, 1.7e9]), st.integers(0, 7))
def test_recourse_at_any_offset_is_that_of_a_grid(offset, seed):
    rng = np.random.default_rng(seed)
    scale = np.array([1.0, 5.0, 30.0])
    X = rng.normal(size=(80, 3)) * scale
    y = (X / scale).sum(axis=1) + 0.3 * rng.normal(size=80) > 0
    X = X + offset * np.array([1.0, 0.0, 1.0])
    X = np.round(X) if seed % 2 else X
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    x, costs = X[int(rng.integers(80))], {"x0": 1.0, "x2": 0.03}

    def axis(j):
        low, high = X[:, j].min(), X[:, j].max()
        return (
            np.arange(low, high + 1) if seed % 2 else np.append(np.linspace(low, high, 301), x[j])
        )

    first, last = (values.ravel() for values in np.meshgrid(axis(0), axis(2)))
    P = np.tile(x, (len(first), 1))
    P[:, 0], P[:, 2] = first, last
    other = model.predict(P) != model.predict(x[None])[0]
    cost = costs["x0"] * np.abs(first - x[0]) + costs["x2"] * np.abs(last - x[2])
    answer = recourse(model, x, actionable=["x0", "x2"], X=X, costs=costs)
    assert answer.feasible == other.any()
    assert answer.verified
    if answer.feasible:
        best = cost[other].min()
        assert answer.cost <= best * (1 + 1e-6) + 1e-9
        # A grid has steps: about 0.02 of the one and 0.6 of the other column, and none for whole numbers.
        assert answer.cost >= best - (1e-9 if seed % 2 else 0.05)


def test_recourse_out_of_time_says_so():
    rng = np.random.default_rng(0)
    n = 40
    names = [f"x{j}" for j in range(n)]
    gain = rng.integers(10**6, 10**7, n).astype(float)
    model = linear(gain, -float(gain.sum() / 2) - 0.5)
    allowed = {name: [0, 1] for name in names}
    costs = dict(zip(names, gain + 1.0, strict=True))
    with pytest.raises(TimeLimitError):
        recourse(model, [0] * n, actionable=allowed, costs=costs, time_limit=1e-3)


X, Y, MODEL = people()
ROW = X.iloc[[3]]
IRIS = load_iris(return_X_y=True, as_frame=True)
THREE, VOTES = LogisticRegression(max_iter=999).fit(*IRIS), SVC(kernel="linear").fit(*IRIS)
TOTAL = linear([1.0] * 6, -2.5)
WARD = Domain(FeatureSpace(["ward"], [0.0], [9.0]))
PEOPLE = {"actionable": ["bmi"], "X": X}
FLOWERS = {"actionable": list(IRIS[0])[:1], "X": IRIS[0]}
BAD_REQUESTS = [
    ({"actionable": "bmi"}, "actionable"), ({"actionable": {"bmi": "incraese"}}, "'increase'"),
    ({"actionable": {"bmi": 3}}, "bmi"), ({"actionable": {"bmi": (30, 20)}}, "bmi"),
    ({"actionable": {"bmi": [np.inf]}}, "bmi"), ({"actionable": {"colour": "increase"}}, "colour"),
    ({"actionable": {"colour": ["grean"]}}, "'green'"), ({"costs": [1, 2]}, "costs"),
    ({"bounds": {"bmy": (1, 2)}}, "'bmi'"), ({"bounds": WARD}, "Domain"), ({"X": None}, "bmi"),
    ({"rank": 120}, "119"),
    ({"rank": 2, "X": None, "costs": {"bmi": 1}}, "X"),
    ({"rank": 2.5}, "rank"), ({"rank": True}, "rank"),
    ({"time_limit": 0}, "time_limit"),
]  # fmt: skip
BAD_CASES = [
    (MODEL, X.iloc[:2], PEOPLE, DataError, "shape"),
    (MODEL, ROW.assign(bmi=np.nan), PEOPLE, DataError, "bmi"),
    (MODEL, ROW.assign(colour=None), PEOPLE, DataError, "colour"),
    (MODEL, ROW.drop(columns="bmi"), PEOPLE, DataError, "bmi"),
    (TOTAL, [3.0], {"actionable": ["x0"]}, DataError, "6 columns"),
    (RandomForestClassifier(2).fit(X[["bmi"]], Y), ROW, PEOPLE, InvalidValueError, "RandomForest"),
    (LogisticRegression(), ROW, PEOPLE, NotFittedError, "LogisticRegression"),
    (THREE, IRIS[0].iloc[[0]], FLOWERS, InvalidValueError, "target"),
    (THREE, IRIS[0].iloc[[0]], FLOWERS | {"rank": 3}, InvalidValueError, "rank"),
    (VOTES, IRIS[0].iloc[[0]], FLOWERS | {"target": 2}, InvalidValueError, "3 classes"),
    (
        THREE,
        IRIS[0].iloc[[0]],
        {"actionable": FLOWERS["actionable"], "costs": {"sepal length (cm)": 1}, "target": 2},
        InvalidValueError,
        "sepal length",
    ),
]


def test_recourse_bad_request_case_or_model_is_refused_by_name():
    for request_, name in BAD_REQUESTS:
        with pytest.raises(InvalidValueError, match=name):
            recourse(MODEL, ROW, **PEOPLE | request_)
    for model, x, request_, error, name in BAD_CASES:
        with pytest.raises(error, match=name):
            recourse(model, x, **request_)
