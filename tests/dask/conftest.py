"""Tables for the tests of Dask's door: whole numbers, halves and noise, with two classes that overlap."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

FEATURES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.normal(size=(600, 4)).round(3), columns=FEATURES)
    made["y"] = np.where(made["a"] + made["b"] + 0.4 * rng.normal(size=600) > 0, "yes", "no")
    made["w"] = rng.integers(0, 4, 600) / 2.0
    return made
