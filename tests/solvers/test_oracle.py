"""A second opinion: random programs stated again in cvxpy."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from clearmargin.solvers import Cone, Linear, Program, Quadratic, Variables, solve


def random_program(seed, kind):
    """Return a feasible, bounded program with its statement in cvxpy."""
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
    objective = c @ x + d @ t + 1.5
    constraints = [x >= x0 - 1, x <= x0 + 2, t >= t0 - 1, t <= t0 + 1]
    rows = A @ x + B @ t
    for limit, sign in ((lower, 1), (upper, -1)):
        there = np.isfinite(limit)
        if there.any():
            constraints.append(sign * (rows[there] - limit[there]) >= 0)
    if kind == "quadratic":
        F = rng.normal(size=(rng.integers(1, n + 1), n))
        blocks.append(Quadratic("form", "x", F.T @ F))
        objective += 0.5 * cp.sum_squares(F @ x)
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
    return Program(blocks, constant=1.5), cp.Problem(cp.Minimize(objective), constraints)


@pytest.mark.parametrize("kind", ["linear", "quadratic", "cone"])
def test_random_programs_have_the_optimum_that_cvxpy_finds(kind):
    backends = ["highs", "clarabel"] if kind == "linear" else ["clarabel"]
    for seed in range(40):
        program, oracle = random_program(seed, kind)
        expected = oracle.solve(solver="CLARABEL")
        for backend in backends:
            solution = solve(program, backend=backend).certify()
            assert solution.objective == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_both_backends_agree_on_the_duals_of_linear_programs():
    for seed in range(40):
        program, _ = random_program(seed, "linear")
        one, two = solve(program, backend="highs"), solve(program, backend="clarabel")
        # Random programs have unique multipliers.
        assert one.duals["rows"] == pytest.approx(two.duals["rows"], abs=1e-4)
        for name in ("x", "t"):
            assert one.reduced_costs[name] == pytest.approx(two.reduced_costs[name], abs=1e-4)


def test_random_integer_programs_have_the_optimum_of_brute_force():
    rng = np.random.default_rng(5)
    points = np.array(np.meshgrid(*[range(4)] * 4)).reshape(4, -1).T
    for _ in range(20):
        cost, M = rng.normal(size=4), rng.normal(size=(2, 4))
        x = Variables("x", 4, 0, 3, cost=cost, integer=True)
        program = Program([x, Linear("rows", {"x": M}, upper=2.0)])
        best = min(cost @ p for p in points if (M @ p <= 2.0 + 1e-9).all())
        assert solve(program).certify().objective == pytest.approx(best, abs=1e-6)
