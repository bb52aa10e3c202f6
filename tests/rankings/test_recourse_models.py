"""The cheapest change for models and tables of all kinds, confirmed by the model, and over columns with an offset."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from clearmargin import LPSVC, FeatureSpace
from clearmargin.exceptions import InvalidValueError, TimeLimitError, UncertifiedWarning
from clearmargin.rankings import FeatureChange, Rank, recourse, recourse_milp

from .recourse_cases import fitted, linear, people, with_changes


def test_all_ways_to_give_a_case_come_to_the_same():
    X, y, model = fitted()
    row = X.iloc[[3]]
    kind = {"actionable": ["age", "bmi", "colour"], "X": X}
    answer = recourse(model, row, **kind)
    for given_case in (row.iloc[0], row.iloc[0].to_dict(), list(row.iloc[0]), row.assign(more=1)):
        assert recourse(model, given_case, **kind) == answer
    shuffled = recourse(
        model,
        row[["visits", "colour", "bmi", "age"]],
        **{**kind, "X": X[["bmi", "visits", "age", "colour"]]},
    )
    assert shuffled.cost == pytest.approx(answer.cost)
    categorical = X.assign(colour=X.colour.astype("category"))
    assert recourse(model, row, **{**kind, "X": categorical}) == answer
    few = pl.DataFrame({name: X[name].tolist() for name in ("age", "bmi")})
    bare = LogisticRegression().fit(few, y)
    pandas = recourse(bare, X[["age", "bmi"]].iloc[[3]], actionable=["bmi"], X=X[["age", "bmi"]])
    polars = recourse(bare, few[3], actionable=["bmi"], X=few)
    assert polars == pandas


def test_without_a_list_the_case_alone_tells_what_is_whole():
    X, _, model = fitted()
    case = X.iloc[3].to_dict()
    answer = recourse(
        model, case, actionable={"age": (18, 90), "bmi": (15.0, 50.0)}, n_alternatives=3
    )
    ages = [
        c.after for w in (answer, *answer.alternatives) for c in w.changes if c.feature == "age"
    ]
    assert all(isinstance(age, int) for age in ages)
    bare = linear([1.0], -2.5)
    assert recourse(bare, [4.0], actionable=["x0"], costs={"x0": 1.0}).changes[
        0
    ].after == pytest.approx(2.5)
    assert recourse(bare, [4], actionable=["x0"], costs={"x0": 1.0}).changes[0].after == 2
    space = FeatureSpace(["x0"], [0.0], [9.0], integer=[True])
    assert recourse(bare, [4.0], actionable=["x0"], bounds=space).changes[0].after == 2.0
    free = FeatureSpace(["x0"], [0.0], [9.0])
    X = [[0.0], [4.0], [6.0]]
    assert recourse(bare, [4.0], actionable=["x0"], X=X, bounds=free).changes[
        0
    ].after == pytest.approx(2.5)


def test_categories_that_are_numbers_or_truths_keep_their_kind():
    X = pd.DataFrame({"ward": [1, 2, 3] * 8, "old": [True, False] * 12, "size": np.arange(24.0)})
    y = (X.ward == 3) | (X["size"] > 20)
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough"),
        LogisticRegression(C=100),
    ).fit(X, y)
    row = X.iloc[[2]]
    answer = recourse(model, row, actionable=["ward"], X=X)
    assert answer.changes[0].before == 3
    assert answer.changes[0].after in (1, 2)
    assert isinstance(answer.changes[0].after, int)
    only = recourse(model, row, actionable={"ward": [1.0]})
    assert only.changes == (FeatureChange("ward", 3, 1, 1.0),)
    truth = linear([4.0, 0.0], -2.0, ["old", "more"])
    flipped = recourse(truth, {"old": True, "more": 0.5}, actionable={"old": (0, 1)})
    assert flipped.changes[0].after is False


def test_three_classes_are_reached_by_their_planes():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    for k, label in itertools.product((0, 60, 120), (0, 1, 2)):
        row = X.iloc[[k]]
        answer = recourse(model, row, actionable=list(X), X=X, target=label)
        assert answer.verified
        if answer.changes:
            scores = model.decision_function(with_changes(row, answer.changes))[0]
            lead = scores[label] - np.delete(scores, label).max()
            assert answer.score_after == pytest.approx(lead, abs=1e-6)
            assert answer.score_before < 0 < answer.score_after
            assert lead == pytest.approx(0, abs=1e-4)  # no further than needed
        else:
            assert answer.label_before == label
    stuck = recourse(model, X.iloc[[0]], actionable={"sepal width (cm)": "decrease"}, X=X, target=2)
    assert not stuck.feasible
    assert stuck.verified
    assert stuck.shortfall == pytest.approx(-stuck.best_score)
    with pytest.raises(
        InvalidValueError, match="3 classes has more than one boundary; name a class"
    ):
        recourse(model, X.iloc[[0]], actionable=list(X), X=X)
    with pytest.raises(InvalidValueError, match="no one score to rank by"):
        recourse(model, X.iloc[[0]], actionable=list(X), X=X, target=Rank(3))
    plain = RidgeClassifier().fit(X.to_numpy(), y)
    with pytest.raises(InvalidValueError, match="needs bounds, and 'x0' has none"):
        recourse(plain, X.iloc[0].tolist(), actionable=["x0"], costs={"x0": 1}, target=2)
    vote = SVC(kernel="linear").fit(X, y)
    with pytest.raises(InvalidValueError, match="by a vote of pairs"):
        recourse(vote, X.iloc[[0]], actionable=list(X), X=X, target=2)


@pytest.mark.parametrize("kind", [SVC(kernel="linear"), Perceptron(), LPSVC()])
def test_every_linear_classifier_will_do(kind):
    X, y = people()
    X = X.drop(columns="colour")
    model = make_pipeline(StandardScaler(), kind).fit(X, y)
    for k in range(5):
        answer = recourse(model, X.iloc[[k]], actionable=list(X), X=X)
        assert answer.verified
        assert model.predict(with_changes(X.iloc[[k]], answer.changes))[0] == answer.target


def test_single_precision_inside_the_model_is_answered_by_a_larger_margin():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3)) * 100 + 5000
    y = X[:, 0] + X[:, 1] > 10000
    model = make_pipeline(_Single(), StandardScaler(), LogisticRegression(C=100)).fit(X, y)
    for k in range(20):
        answer = recourse(model, X[k], actionable=["x0", "x1"], X=X)
        assert answer.verified


class _Single(FunctionTransformer):
    """Leaves all columns as they are, but for their digits."""

    def transform(self, X):
        return np.asarray(X, dtype=np.float32)


class _Stubborn(RidgeClassifier):
    """Says what it always said, except far away from the boundary."""

    def predict(self, X):
        return np.where(self.decision_function(X) > -0.2, 1, 0)


def test_a_change_that_the_model_does_not_confirm_says_so():
    X = np.array([[0.0], [0.5], [2.0], [3.0]])
    model = _Stubborn().fit(X, [0, 0, 1, 1])
    with pytest.warns(UncertifiedWarning, match="did not confirm"):
        answer = recourse(model, [3.0], actionable=["x0"], X=X)
    assert not answer.verified
    assert "did NOT confirm" in str(answer)


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
