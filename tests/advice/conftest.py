"""Advice and data that several tests look at, random problems of the knowledge-based SVM, and their stated optimum."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

from clearmargin.advice.advice_svm import AdviceProblem, BoxPremises, Premises

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


# Advice: premises of every shape, and the knowledge-based SVM stated once more, as it is printed.

KINDS = ("box", "polytope", "axis", "cone", "combination")
Rows = tuple[np.ndarray, np.ndarray]


def _polyhedron(rng: np.random.Generator, n: int, kind: str, center: np.ndarray) -> Rows:
    """A premise around a centre, rows of unit norm: bounded, unbounded, along axes or not."""
    half = rng.uniform(0.05, 0.6, size=n)
    box = np.vstack([np.eye(n), -np.eye(n)]), np.r_[center + half, half - center]
    if kind == "box":
        return box
    if kind == "axis":
        chosen = rng.permutation(n)[: rng.integers(1, n + 1)]
        D = np.eye(n)[chosen] * rng.choice([-1.0, 1.0], size=(len(chosen), 1))
    elif kind == "combination":
        D = rng.choice([-2.0, -1.0, 0.0, 1.0, 3.0], size=(int(rng.integers(1, 4)), n))
        D[(D == 0).all(axis=1), 0] = 1.0
    else:
        D = rng.normal(size=(int(rng.integers(1, n + 2)), n))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    d = D @ center + rng.uniform(0.0, 0.5, size=len(D))
    if kind == "polytope":
        return np.vstack([box[0], D]), np.r_[box[1], d]
    return D, d


def _corners(D: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Every point where n rows meet and none is violated."""
    found = []
    for rows in map(list, combinations(range(len(d)), D.shape[1])):
        if abs(np.linalg.det(D[rows])) > 1e-9:
            x = np.linalg.solve(D[rows], d[rows])
            if (d + 1e-9 >= D @ x).all():
                found.append(x)
    return np.array(found)


def _advice(
    seed: int,
    *,
    n: tuple[int, int] = (1, 6),
    m: tuple[int, int] = (0, 60),
    rules: tuple[int, int] = (0, 4),
    decades: float = 3.0,
    context: bool = False,
    kinds: tuple[str, ...] = KINDS,
) -> AdviceProblem:
    """Random points and premises, right, wrong and contradicting; sizes between the limits given."""
    rng = np.random.default_rng(seed)
    n_features, count, r = (int(rng.integers(low, high + 1)) for low, high in (n, m, rules))
    X = rng.normal(size=(count, n_features))
    slope = rng.normal(size=n_features)
    y = np.where(X @ slope + rng.choice([0.0, 0.7]) * rng.normal(size=count) > 0, 1.0, -1.0)
    centers = rng.normal(size=(r, n_features))
    sign = np.where((centers @ slope > 0) == (rng.uniform(size=r) < 0.7), 1.0, -1.0)
    rows = [_polyhedron(rng, n_features, str(rng.choice(kinds)), c) for c in centers]
    numeric_rows = [rng.uniform(size=len(d)) < (0.6 if context else 1.0) for _, d in rows]
    cost = 10.0 ** rng.uniform(-decades, decades, size=r)
    premises = Premises.stack(rows, sign, cost, numeric_rows if r else None, n_features)
    losses = 10.0 ** rng.uniform(-decades, decades) * rng.uniform(0.5, 2.0, size=count)
    return AdviceProblem(X, y, losses, premises, BoxPremises.none(n_features))


def _stated_optimum(problem: AdviceProblem) -> float:
    """Eq. (1) of Kunapuli, Maclin and Shavlik with b for -b, all premises at once, through CVXPY."""
    m, n = problem.X.shape
    premises = problem.premises
    r, k, z = len(premises), len(premises.d), premises.sign[:, None]
    w, b = cp.Variable((1, n)), cp.Variable()
    objective, constraints = cp.sum(cp.abs(w)), []
    if m:
        xi = cp.Variable(m, nonneg=True)
        constraints.append(cp.multiply(problem.y, problem.X @ w[0] + b) + xi >= 1)
        objective += problem.cost @ xi
    if r:
        eta, zeta = cp.Variable((r, n), nonneg=True), cp.Variable(r, nonneg=True)
        pull, advice = z @ w, z[:, 0] * b + zeta
        if k:
            belongs = np.equal.outer(np.arange(r), premises.rule).astype(float)
            u = cp.Variable((k, 1), nonneg=True)
            pull += belongs @ cp.multiply(premises.D, u @ np.ones((1, n)))
            advice -= (belongs * premises.d) @ u[:, 0]
        constraints += [-eta <= pull, pull <= eta, advice >= 1]
        hard = np.isinf(premises.cost)
        objective += np.where(hard, 0.0, premises.cost) @ (cp.sum(eta, axis=1) + zeta)
        if hard.any():
            constraints.append(hard.astype(float) @ (cp.sum(eta, axis=1) + zeta) <= 0)
    statement = cp.Problem(cp.Minimize(objective), constraints)
    return float(statement.solve(solver=cp.HIGHS))


@pytest.fixture(scope="session")
def polyhedron() -> Callable[..., Rows]:
    return _polyhedron


@pytest.fixture(scope="session")
def corners() -> Callable[..., np.ndarray]:
    return _corners


@pytest.fixture(scope="session")
def advice() -> Callable[..., AdviceProblem]:
    return _advice


@pytest.fixture(scope="session")
def stated_optimum() -> Callable[[AdviceProblem], float]:
    return _stated_optimum
