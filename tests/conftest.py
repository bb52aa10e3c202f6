"""How hard hypothesis looks (HYPOTHESIS_PROFILE=quick or full), and small tables that several rooms use."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

# Machines differ in speed, so no example has a deadline. In CI the examples are the same in each run:
# a failure must be the change's own.
settings.register_profile(
    "quick", max_examples=20, deadline=None, derandomize=bool(os.environ.get("CI"))
)
settings.register_profile(
    "full", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def ring(m: int, seed: int, n: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """An inner and an outer class; each feature has its own unit."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(m, n))
    y = np.where((Z**2).sum(axis=1) < n - 0.6, "inner", "outer")
    units = 10.0 ** np.arange(n)
    return Z * units + 5.0 * units, y


@pytest.fixture(scope="session")
def two_classes():
    return ring(120, seed=0)


@pytest.fixture(scope="session")
def three_classes():
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (150, 2))
    y = np.array(["a", "b", "c"])[(X[:, 0] > X[:, 1] ** 2 - 1).astype(int) + (X[:, 0] > 0.8)]
    return X, y


@pytest.fixture(scope="session")
def mixed():
    """A frame of two numbers, of which one is whole, and two features of categories."""
    rng = np.random.default_rng(2)
    m = 140
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 80, m),
            "colour": rng.choice(["red", "green", "blue"], m),
            "dose": rng.uniform(0, 1, m).round(3),
            "smoker": rng.choice(["yes", "no"], m),
        }
    )
    score = (
        (frame["age"] - 50) / 20
        + 1.5 * (frame["colour"] == "red")
        - 1.2 * (frame["smoker"] == "no")
        + 2 * (frame["dose"] - 0.5)
    )
    return frame, np.where(score > 0, "ill", "well")
