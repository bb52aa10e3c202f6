"""Contrasts that many tests of displays look at."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from clearmargin import RankContrast
from clearmargin.datasets import load_pima


@pytest.fixture(scope="session")
def pima():
    X, y = load_pima(return_X_y=True)
    return RankContrast().fit(X, y)


@pytest.fixture(scope="session")
def long():
    """Names that are long, look like formulas, and values that are many or missing."""
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame(
        {
            f"a rather long name, number {k}, with $x_{k}$ and more words": rng.normal(size=n)
            for k in range(3)
        }
    )
    X["city"] = rng.choice(["Santiago de Compostela", "Llanfairpwllgwyngyll", "Paris"], n)
    X["kind"] = rng.choice([f"kind {k}" for k in range(25)], n)
    X["gone"] = np.where(rng.random(n) < 0.3, np.nan, rng.integers(0, 4, n))
    score = X.iloc[:, 0] + X.iloc[:, 1] + 2 * (X["city"] == "Paris") + 2 * X["gone"].isna()
    return RankContrast().fit_ranking(X, score)


@pytest.fixture(scope="session")
def single():
    return RankContrast(top=10, bottom=10).fit_ranking([[k >= 20] for k in range(40)], range(40))


@pytest.fixture(scope="session")
def empty():
    rng = np.random.default_rng(0)
    contrast = RankContrast(max_size=1, min_leverage=0.2)
    return contrast.fit_ranking(rng.normal(size=(400, 3)), rng.normal(size=400))


@pytest.fixture(scope="session")
def many():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 50))
    return RankContrast(max_size=1).fit(X, X[:, :20].sum(axis=1) + 2 * rng.normal(size=600) > 0)
