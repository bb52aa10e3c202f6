"""Random instances of the 1-norm SVM, easy and nasty, and an independent solution of each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import linprog

from clearmargin.lp_svm.lpsvm import LPSVMData

Instance = Callable[[int], LPSVMData]
Oracle = Callable[[LPSVMData], float]


def _make(seed: int) -> LPSVMData:
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(4, 120)), int(rng.integers(1, 60))
    X = rng.normal(size=(m, n))
    noise = rng.choice([0.0, 0.5, 2.0])  # 0.0 is separable
    y = np.where(X[:, 0] + noise * rng.normal(size=m) > 0, 1.0, -1.0)
    kind = seed % 8
    if kind == 1:  # duplicated rows
        X, y = np.vstack([X, X[: m // 2]]), np.r_[y, y[: m // 2]]
    elif kind == 2:  # duplicated columns
        X = np.hstack([X, X])
    elif kind == 3:  # a constant column
        X[:, rng.integers(n)] = 3.0
    elif kind == 4:  # a class of one point
        y[:] = -1.0
        y[0] = 1.0
    elif kind == 5:  # wildly different scales
        X = X * 10.0 ** rng.integers(-6, 7, size=n)
    elif kind == 6:  # many ties
        X = rng.integers(0, 3, size=X.shape).astype(float)
    elif kind == 7:  # fewer points than features
        X = rng.normal(size=(int(rng.integers(4, 15)), 200))
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
    if (y == y[0]).all():
        y[0] = -y[0]
    weight = np.ones(len(y)) if seed % 3 else rng.uniform(0.1, 5.0, size=len(y))
    return LPSVMData(X, y, 10.0 ** rng.uniform(-4, 3) * weight, fit_intercept=bool(seed % 5))


def _optimum(data: LPSVMData) -> float:
    """The printed program, -t <= w <= t and all, through SciPy and nothing of ours."""
    m, n = data.X.shape
    k = int(data.fit_intercept)
    signed = data.X * data.y[:, None]
    zeros, eye = np.zeros, np.eye
    # Variables w, t, xi, b.
    margins = np.hstack([-signed, zeros((m, n)), -eye(m), -data.y[:, None][:, :k]])
    above = np.hstack([eye(n), -eye(n), zeros((n, m + k))])
    below = np.hstack([-eye(n), -eye(n), zeros((n, m + k))])
    result = linprog(
        np.r_[zeros(n), np.full(n, data.penalty), data.cost, zeros(k)],
        A_ub=np.vstack([margins, above, below]),
        b_ub=np.r_[-np.ones(m), zeros(2 * n)],
        bounds=[(None, None)] * n + [(0, None)] * (n + m) + [(None, None)] * k,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    assert result.status == 0, result.message
    return float(result.fun)


@pytest.fixture(scope="session")
def instance() -> Instance:
    return _make


@pytest.fixture(scope="session")
def optimum() -> Oracle:
    return _optimum
