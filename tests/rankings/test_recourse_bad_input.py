"""Requests, cases and models for which recourse has no answer are refused with what to do."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rankings.recourse_answer import Rank, recourse

from .recourse_cases import fitted, linear

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
        ({"actionable": {"colour": "increase"}}, "'colour' names categories, which have no order"),
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
        ({"bounds": {"colour": (1, 2)}}, "'colour' names categories and has no bounds; list what"),
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
