"""Advice and data that several tests look at."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

DIABETES = """
R1: glucose <= 126 => tested_negative
R2: 126 <= glucose <= 140 and bmi <= 30 => tested_negative
R3: 126 <= glucose <= 140 and bmi >= 30 => tested_positive
R4: glucose >= 140 => tested_positive
R5: diabetes_pedigree <= 0.5 and age <= 31 => tested_negative
R6: diabetes_pedigree >= 0.5 and age >= 31 => tested_positive
"""


@pytest.fixture
def diabetes() -> str:
    """The six rules of the poster."""
    return DIABETES


@pytest.fixture
def pima():
    """A hundred patients to learn from, and the others."""
    from clearmargin.datasets import load_pima

    X, y = load_pima(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    first, rest = order[:100], order[356:]
    return X.iloc[first], y.iloc[first], X.iloc[rest], y.iloc[rest]


@pytest.fixture
def toy():
    """The poster's toy: 200 points on both sides of x1 + x2 = 2."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-4, 6, (200, 2)), columns=["x1", "x2"])
    return X, np.where(X.sum(axis=1) > 2, "plus", "minus")


def toy_advice(shift: float) -> str:
    """The poster's advice, the first rule shifted towards the other class."""
    return f"S1: x1 >= {-shift} and x2 >= {-shift} => plus\nS2: x1 <= 0 and x2 <= 0 => minus"
