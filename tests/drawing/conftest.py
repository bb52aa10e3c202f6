"""Figures drawn without a screen and closed after each test, and extractors that many tests look at."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_wbc


@pytest.fixture(autouse=True)
def _drawn_without_a_screen(no_screen):
    """Every test here draws."""


@pytest.fixture(scope="session")
def plane():
    """An extractor over two features, with its data."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        (rng.normal(size=(200, 2)) * [8, 3] + [50, 25]).round(1), columns=["dose", "bmi"]
    )
    score = X["dose"] / 8 + X["bmi"] / 3
    y = np.where(score > score.median(), "ill", "well")
    model = make_pipeline(StandardScaler(), LogisticRegression())
    return RuleExtractor(model).fit(X, y), X, y


@pytest.fixture(scope="session")
def wbc():
    """An extractor over nine features, with its data."""
    X, y = load_wbc(return_X_y=True)
    return RuleExtractor(LPSVC(nu=0.0025), criterion="coverage").fit(X, y), X, y


@pytest.fixture(scope="session")
def mixed():
    """An extractor through a column transformer with categories, with its data."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 200),
            "smoker": rng.choice(["no", "ex", "yes"], 200),
            "bmi": rng.normal(27, 4, 200).round(1),
        }
    )
    score = X["age"] / 15 + X["bmi"] / 4 + X["smoker"].map({"no": 0, "ex": 1.5, "yes": 3})
    y = np.where(score > score.median(), "at risk", "healthy")
    columns = make_column_transformer(
        (StandardScaler(), ["age", "bmi"]), (OneHotEncoder(), ["smoker"])
    )
    model = make_pipeline(columns, LogisticRegression())
    return RuleExtractor(model, criterion="coverage").fit(X, y), X, y
