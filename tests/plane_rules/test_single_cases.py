"""A case may be written as a row of a frame, a series, a mapping, an array: the answer is the same."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from clearmargin import LPSVC, RuleExtractor, ScoreRules, grow_box, recourse
from clearmargin.exceptions import DataError
from clearmargin.tables.columns import case_table

RNG = np.random.default_rng(1)
X = pd.DataFrame(
    {
        "age": RNG.integers(20, 80, 80),
        "bmi": RNG.normal(26, 4, 80),
        "job": RNG.choice(["a", "b"], 80),
    }
)
Y = np.where(X["age"] + 2 * X["bmi"] + 9 * (X["job"] == "a") > 105, "ill", "well")


def forms(table, k):
    """The same case, in all forms; by name also in another order."""
    row = table.iloc[k]
    yield table.iloc[[k]]
    yield row
    yield row[::-1]
    yield row.to_dict()
    yield dict(reversed(row.to_dict().items()))
    yield {**row.to_dict(), "more": 3}
    yield pl.from_pandas(table)[k]
    yield pl.from_pandas(table).row(k, named=True)
    yield row.to_numpy()
    yield row.tolist()
    yield table.to_numpy()[[k]]


@pytest.fixture(scope="module")
def askers():
    encode = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age", "bmi"]))
    linear = make_pipeline(encode, LPSVC(nu=1.0)).fit(X, Y)
    extractor = RuleExtractor(linear).fit(X, Y)
    card = ScoreRules(make_pipeline(encode, SVC()), max_rules=3, n_generated=50).fit(X, Y)
    kernel = make_pipeline(encode, SVC()).fit(X, Y)
    return {
        "RuleExtractor": lambda case: str(extractor.explain(case)),
        "central": lambda case: str(extractor.explain(case, "central")),
        "ScoreRules": lambda case: str(card.explain(case)),
        "Scorecard": lambda case: str(card.scorecard_.explain(case)),
        "recourse": lambda case: str(recourse(linear, case, actionable=["bmi"], X=X)),
        "grow_box": lambda case: str(grow_box(kernel, case, budget=50)),
    }


@pytest.mark.parametrize(
    "name", ["RuleExtractor", "central", "ScoreRules", "Scorecard", "recourse", "grow_box"]
)
def test_a_case_is_a_case_however_it_is_written(askers, name):
    # A transformer of columns by name takes no arrays, and scikit-learn warns of them where a model knows names.
    takes_arrays = name in ("ScoreRules", "Scorecard", "recourse")
    answers = {
        askers[name](case)
        for case in forms(X, 3)
        if takes_arrays or not isinstance(case, np.ndarray | list)
    }
    assert len(answers) == 1, answers


def test_a_model_of_numbers_takes_a_series_without_names():
    values = X[["age", "bmi"]].to_numpy(dtype=float)
    extractor = RuleExtractor(LPSVC(nu=1.0)).fit(values, Y)
    expected = str(extractor.explain(values[3]))
    assert str(extractor.explain(pd.DataFrame(values).iloc[3])) == expected
    assert str(extractor.explain(pd.Series(values[3]))) == expected


def test_a_case_without_a_feature_says_which(askers):
    for name in ("RuleExtractor", "ScoreRules", "recourse"):
        with pytest.raises(DataError, match="the case has no value for 'bmi'"):
            askers[name](X.iloc[3].drop("bmi"))
    with pytest.raises(DataError, match="no value for 'bmi'; it has age, bmj, job"):
        askers["RuleExtractor"](X.iloc[3].rename({"bmi": "bmj"}))


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (
            X,
            r"one case is needed, such as X.iloc.0. or X.0., not an array or table of shape \(80, 3\)",
        ),
        (X[:0], r"of shape \(0, 3\)"),
        (np.zeros((2, 3, 4)), r"of shape \(2, 3, 4\)"),
        (pd.Series([1, 2], index=["age", "age"]), "two values for 'age'"),
        ({"age": [1, 2]}, "the value of 'age' must be a single one"),
    ],
)
def test_what_is_no_single_case_is_refused(case, message):
    with pytest.raises(DataError, match=message):
        case_table(case)


def test_names_count_where_no_library_of_frames_is_installed(monkeypatch):
    for library in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, library, None)
    assert case_table({"b": 2, "a": 1}, ["a", "b"]).tolist() == [[1, 2]]
    with pytest.raises(DataError, match="the case has no value for 'c'"):
        case_table({"b": 2, "a": 1}, ["a", "b", "c"])
