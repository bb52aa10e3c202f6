"""What the tests of recourse share: people, models of them, and changed rows."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

COLOURS = ["blue", "green", "red"]


def linear(coef, intercept, names=None):
    """A classifier with these weights."""
    model = RidgeClassifier().fit(
        np.vstack([np.eye(len(coef)), -np.eye(len(coef))]), [0, 1] * len(coef)
    )
    model.coef_, model.intercept_ = np.array([coef], dtype=float), np.array([float(intercept)])
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    return model


def people(seed=0, m=120):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 70, m),
            "bmi": rng.normal(27, 4, m).round(3),
            "colour": rng.choice(COLOURS, m),
            "visits": rng.integers(0, 6, m),
        }
    )
    score = (
        0.05 * X.age
        + 0.2 * X.bmi
        - 0.5 * X.visits
        + X.colour.map({"blue": 0, "green": 1, "red": 2})
    )
    y = np.where(score + rng.normal(size=m) > score.median(), "ill", "healthy")
    return X, y


@functools.cache
def fitted(seed=0):
    """People, and a pipeline of all kinds of columns that was fitted to them."""
    X, y = people(seed)
    encode = make_column_transformer(
        (OneHotEncoder(drop="first"), ["colour"]), (StandardScaler(), ["age", "bmi", "visits"])
    )
    return X, y, make_pipeline(encode, LogisticRegression()).fit(X, y)


def with_changes(row, changes):
    """The changed row, made without the code under test."""
    row = row.copy()
    for change in changes:
        assert row[change.feature].iloc[0] == change.before
        row[change.feature] = [change.after]
    return row
