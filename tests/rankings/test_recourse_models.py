"""The cheapest change for models and tables of all kinds, confirmed by the model itself."""

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
from clearmargin.exceptions import InvalidValueError, UncertifiedWarning
from clearmargin.rankings.recourse_answer import FeatureChange, Rank, recourse

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
