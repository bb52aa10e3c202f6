"""Programs with known answers, and random programs stated a second time in cvxpy."""

import cvxpy as cp
import numpy as np
from scipy import sparse

from clearmargin.solvers import Cone, Linear, Program, Variables


def wyndor():
    """Hillier and Lieberman, the Wyndor Glass Company."""
    x = Variables("x", 2, lower=0.0, cost=[-3.0, -5.0])
    rows = Linear("plants", {"x": [[1, 0], [0, 2], [3, 2]]}, upper=[4.0, 12.0, 18.0])
    return Program([x, rows])


def disc():
    x = Variables("x", 2, cost=[-3.0, -4.0])
    return Program([x, Cone("disc", {"x": [[0, 0], [1, 0], [0, 1]]}, offset=[2.0, 0.0, 0.0])])


def knapsack():
    x = Variables("x", 3, lower=0.0, upper=1.0, cost=[-6.0, -5.0, -4.0], integer=True)
    return Program([x, Linear("weight", {"x": [5.0, 4.0, 3.0]}, upper=7.0)], 1.0)


def _two_distances():
    # t_1 >= |x - 2|, t_2 >= |x + 4|: x = -4 costs -4 + 6 + 0.
    terms = {"t": [[1, 0], [0, 0], [0, 1], [0, 0]], "x": [[0], [1], [0], [1]]}
    pairs = Cone("distance", terms, offset=[0.0, -2.0, 0.0, 4.0], size=2)
    return Program([Variables("x", 1, cost=1.0), Variables("t", 2, cost=1.0, lower=0.0), pairs])


def _nothing_binds():
    blocks = [Linear("idle", {"x": [1.0, 1.0, 1.0]}), Linear("none", {"x": np.zeros((0, 3))})]
    x = Variables("x", 3, lower=-1.0, upper=1.0, cost=[1.0, 0.0, -1.0])
    return Program([x, *blocks, Variables("nobody", 0)])


# Each with its objective, and the values and duals that are unique.
SAMPLES = [
    (wyndor(), -36.0, {"x": [2, 6]}, {"plants": [0, -1.5, -1]}),
    (disc(), -10.0, {"x": [1.2, 1.6]}, {"disc": [5, -3, -4]}),
    (_two_distances(), 2.0, {}, {}),
    (_nothing_binds(), -2.0, {}, {"idle": [0]}),
    (knapsack(), -8.0, {"x": [0, 1, 1]}, {}),
]


def random_program(seed, kind):
    """A feasible, bounded program ("linear" or "cone") with its statement in cvxpy."""
    rng = np.random.default_rng(seed)
    n, k, m = rng.integers(2, 7), rng.integers(1, 4), rng.integers(1, 8)
    x0, t0 = rng.normal(size=n), rng.normal(size=k)
    A, B = rng.normal(size=(m, n)), rng.normal(size=(m, k)) * (rng.random((m, k)) < 0.5)
    middle = A @ x0 + B @ t0
    lower = np.where(rng.random(m) < 0.6, middle - rng.random(m), -np.inf)
    upper = np.where(rng.random(m) < 0.6, middle + rng.random(m), np.inf)
    is_equal = rng.random(m) < 0.15
    lower[is_equal] = upper[is_equal] = middle[is_equal]
    c, d = rng.normal(size=n), rng.normal(size=k)
    x, t = cp.Variable(n), cp.Variable(k)
    blocks = [
        Variables("x", n, x0 - 1, x0 + 2, cost=c),
        Linear("rows", {"x": A, "t": sparse.csr_array(B)}, lower, upper),
        Variables("t", k, t0 - 1, t0 + 1, cost=d),
    ]
    constraints = [x >= x0 - 1, x <= x0 + 2, t >= t0 - 1, t <= t0 + 1]
    rows = A @ x + B @ t
    for limit, sign in ((lower, 1), (upper, -1)):
        there = np.isfinite(limit)
        if there.any():
            constraints.append(sign * (rows[there] - limit[there]) >= 0)
    if kind == "cone":
        G, H = rng.normal(size=(2, 3, n)), rng.normal(size=(2, 3, k))
        offset = rng.normal(size=(2, 3))
        for j in range(2):
            inside = offset[j] + G[j] @ x0 + H[j] @ t0
            offset[j, 0] += np.linalg.norm(inside[1:]) - inside[0] + rng.random()
            v = offset[j] + G[j] @ x + H[j] @ t
            constraints.append(cp.norm(v[1:]) <= v[0])
        terms = {"x": G.reshape(6, n), "t": H.reshape(6, k)}
        blocks.append(Cone("cones", terms, offset.ravel(), size=3))
    objective = cp.Minimize(c @ x + d @ t + 1.5)
    return Program(blocks, constant=1.5), cp.Problem(objective, constraints)
