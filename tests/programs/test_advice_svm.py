"""The knowledge-based SVM against eq. (1) as printed, and what its errors promise all over a premise."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from clearmargin.advice.advice_svm import (
    AdviceProblem,
    Boxes,
    Premises,
    advice_program,
    read_plane,
)
from clearmargin.solvers import solve

# Objectives agree to this share; solvers keep rows to 1e-7.
REL = 1e-6
TOL = 1e-6


def solved(problem):
    return read_plane(problem, solve(advice_program(problem)))


def errors_of(premises, i, plane):
    """eta and zeta of one premise, from its own rows alone."""
    mine, z = premises.rule == i, premises.sign[i]
    D, d, u = premises.D[mine], premises.d[mine], plane.u[mine]
    eta = np.abs(sum((u[r] * D[r] for r in range(len(d))), z * plane.w))
    return eta, max(0.0, 1.0 + float(d @ u) - z * plane.b)


def worst(D, d, w, b, z):
    result = linprog(z * w, A_ub=D, b_ub=d, bounds=(None, None), method="highs")
    assert result.status == 0, result.message
    return result.fun + z * b


def consistent(seed, polyhedron, *, hard):
    """Premises that one plane respects, shifted along it until it does, and points of any kind."""
    rng = np.random.default_rng(seed)
    n, m, r = int(rng.integers(1, 6)), int(rng.integers(0, 40)), int(rng.integers(1, 4))
    w = rng.normal(size=n)
    w /= w @ w
    rows, sign = [], rng.choice([-1.0, 1.0], size=r)
    for z in sign:
        kind = rng.choice(["box", "polytope", "combination", "unbounded"])
        if kind == "unbounded":  # directions v of which -z w is a mixture: z w'x is bounded below
            V = rng.normal(size=(int(rng.integers(1, n + 1)), n))
            share = rng.dirichlet(np.ones(len(V)))
            V[-1] = (-z * w - share[:-1] @ V[:-1]) / share[-1]
            D, d = V, rng.normal(size=len(V))
        else:
            D, d = polyhedron(rng, n, str(kind), rng.normal(size=n))
            if kind == "combination":  # cut off where the plane would fall without end
                D, d = np.vstack([D, -z * w]), np.r_[d, -z * rng.normal()]
        scale = np.linalg.norm(D, axis=1)
        D, d = D / scale[:, None], d / scale
        low = linprog(z * w, A_ub=D, b_ub=d, bounds=(None, None))
        if low.status != 0:  # unbounded or empty: the half-space of the plane itself
            D, d, low_value = -z * w[None, :], np.array([-1.0]), 1.0
        else:
            low_value = low.fun
        move = z * max(0.0, 1.0 + rng.uniform(0, 0.5) - low_value) * w / (w @ w)
        rows.append((D, d + D @ move))
    cost = np.where(rng.uniform(size=r) < hard, np.inf, 1e3)
    X = rng.normal(size=(m, n))
    y = rng.choice([-1.0, 1.0], size=m)
    premises = Premises.stack(rows, sign, cost)
    return AdviceProblem(X, y, np.full(m, 10.0 ** rng.uniform(-3, 0)), premises, Boxes.none(n))


# What the errors mean.


@given(seed=st.integers(0, 39))
def test_advice_without_error_holds_all_over_its_premise(seed, polyhedron):
    problem = consistent(seed, polyhedron, hard=0.5)
    premises, plane = problem.premises, solved(problem)
    for i, z in enumerate(premises.sign):
        eta, zeta = errors_of(premises, i, plane)
        if np.isinf(premises.cost[i]):
            assert max(eta.max(), zeta) <= TOL
        if max(eta.max(), zeta) <= 1e-8:
            mine = premises.rule == i
            D, d = premises.D[mine], premises.d[mine]
            assert worst(D, d, plane.w, plane.b, z) >= 1 - TOL


@pytest.mark.parametrize("hard", [0.0, 1.0])
def test_advice_that_one_plane_respects_is_respected_in_both_classes(hard, polyhedron):
    respected = {-1.0: 0, 1.0: 0}
    for seed in range(1000, 1025):
        problem = consistent(seed, polyhedron, hard=hard)
        problem = replace(problem, cost=problem.cost * 1e-3)
        premises, plane = problem.premises, solved(problem)
        for i, z in enumerate(premises.sign):
            eta, zeta = errors_of(premises, i, plane)
            assert max(eta.max(), zeta) <= TOL
            respected[z] += 1
    assert min(respected.values()) >= 15


@given(seed=st.integers(0, 24))
def test_advice_with_errors_holds_as_far_as_they_say(seed, advice):
    problem = advice(seed, rules=(1, 4), decades=1.0)
    premises, plane = problem.premises, solved(problem)
    rng = np.random.default_rng(seed)
    n = problem.n_features
    for i, z in enumerate(premises.sign):
        mine = premises.rule == i
        eta, zeta = errors_of(premises, i, plane)
        # Corners of the premise inside a large cube, the worst one among them, and mixtures.
        aims = np.vstack([z * plane.w, z * plane.w + eta, rng.normal(size=(4, n))])
        D, d = premises.D[mine], premises.d[mine]
        corners = np.array([linprog(a, A_ub=D, b_ub=d, bounds=(-9, 9)).x for a in aims])
        points = np.vstack([corners, rng.dirichlet(np.ones(len(corners)), size=30) @ corners])
        promised = 1 - zeta - np.abs(points) @ eta
        assert (z * (points @ plane.w + plane.b) >= promised - TOL).all()


@given(st.integers(0, 10**6))
def test_exchanging_the_classes_turns_the_plane_round(advice, seed):
    problem = advice(seed, n=(1, 4), m=(0, 20), decades=1.0)
    other = replace(
        problem, y=-problem.y, premises=replace(problem.premises, sign=-problem.premises.sign)
    )
    plane, opposite = solved(problem), solved(other)
    assert opposite.objective == pytest.approx(plane.objective, rel=REL, abs=TOL)
    assert other.objective(-plane.w, -plane.b, plane.u) == pytest.approx(plane.objective, rel=1e-12)


@given(st.integers(0, 10**6))
def test_mirroring_the_space_mirrors_the_plane(advice, seed):
    problem = advice(seed, n=(1, 4), m=(0, 20), decades=1.0)
    other = replace(
        problem, X=-problem.X, premises=replace(problem.premises, D=-problem.premises.D)
    )
    plane = solved(problem)
    assert other.objective(-plane.w, plane.b, plane.u) == pytest.approx(plane.objective, rel=1e-12)
    assert solved(other).objective == pytest.approx(plane.objective, rel=REL, abs=TOL)


# The program.


@given(seed=st.integers(0, 99))
def test_the_optimum_is_that_of_the_printed_program(seed, advice, stated_optimum):
    problem = advice(seed)
    solution = solve(advice_program(problem))
    best = stated_optimum(problem)
    assert solution.objective == pytest.approx(best, rel=REL, abs=1e-9)
    plane = read_plane(problem, solution)
    assert (plane.u >= 0).all()
    assert plane.objective == pytest.approx(best, rel=REL, abs=1e-9)


@given(seed=st.integers(0, 29))
def test_hard_advice_is_met_at_the_cost_that_the_printed_program_has(
    seed, polyhedron, stated_optimum
):
    problem = consistent(seed, polyhedron, hard=0.7)
    solution = solve(advice_program(problem))
    assert solution.objective == pytest.approx(stated_optimum(problem), rel=REL)
    assert read_plane(problem, solution).objective == pytest.approx(solution.objective, rel=REL)
    hard = np.isinf(problem.premises.cost)
    assert (solution.values["zeta"][hard] == 0).all()
    assert (solution.values["eta"].reshape(len(hard), -1)[hard] == 0).all()


@given(seed=st.integers(0, 23))
def test_advice_on_a_polytope_is_advice_on_its_corners(seed, polyhedron, corners):
    # Inside |x| <= 1, eta is of no use, so that the error is the worst hinge loss over the corners.
    rng = np.random.default_rng(seed)
    n, m, r = int(rng.integers(2, 4)), int(rng.integers(0, 30)), int(rng.integers(1, 4))
    kind = "box" if seed % 3 == 0 else "polytope"
    rows = [polyhedron(rng, n, kind, rng.uniform(-0.4, 0.4, size=n)) for _ in range(r)]
    sign, cost = rng.choice([-1.0, 1.0], size=r), 10.0 ** rng.uniform(-2, 2, size=r)
    X, y = rng.uniform(-1, 1, size=(m, n)), rng.choice([-1.0, 1.0], size=m)
    premises = Premises.stack(rows, sign, cost)
    problem = AdviceProblem(X, y, np.full(m, 0.3), premises, Boxes.none(n))
    w, b, zeta = cp.Variable(n), cp.Variable(), cp.Variable(r, nonneg=True)
    constraints = [
        (sign[i] * corners(D, d)) @ w + sign[i] * b + zeta[i] >= 1 for i, (D, d) in enumerate(rows)
    ]
    objective = cp.norm1(w) + cost @ zeta
    if m:
        xi = cp.Variable(m, nonneg=True)
        objective += 0.3 * cp.sum(xi)
        constraints.append(cp.multiply(y, X @ w + b) + xi >= 1)
    statement = cp.Problem(cp.Minimize(objective), constraints)
    best = statement.solve(solver=cp.HIGHS)
    assert solved(problem).objective == pytest.approx(best, rel=REL, abs=1e-9)


@given(seed=st.integers(0, 99))
def test_boxes_in_compact_form_say_what_they_say_in_general_form(seed):
    rng = np.random.default_rng(seed)
    n, m, r = int(rng.integers(1, 7)), int(rng.integers(0, 60)), int(rng.integers(1, 5))
    X, y = rng.uniform(-1, 1, size=(m, n)), rng.choice([-1.0, 1.0], size=m)
    low, high = np.sort(rng.uniform(-1, 1, size=(2, r, n)), axis=0)
    if seed % 4 == 0:  # boxes with no width, and as wide as can be
        low[:, 0] = high[:, 0]
        low[:, -1], high[:, -1] = -1.0, 1.0
    sign, cost = rng.choice([-1.0, 1.0], size=r), 10.0 ** rng.uniform(-3, 3, size=r)
    eye = np.vstack([np.eye(n), -np.eye(n)])
    rows = [(eye, np.r_[h, -lo]) for lo, h in zip(low, high, strict=True)]
    losses = np.full(m, 10.0 ** rng.uniform(-3, 2))
    boxes = Boxes((low + high) / 2, (high - low) / 2, sign, cost)
    none = Premises.stack([], [], [], n_features=n)
    general = AdviceProblem(X, y, losses, Premises.stack(rows, sign, cost), Boxes.none(n))
    compact = AdviceProblem(X, y, losses, none, boxes)
    expected = solved(general).objective
    assert solved(compact).objective == pytest.approx(expected, rel=REL, abs=1e-9)
    # And half of them in one form, half in the other.
    some = np.arange(r) % 2 == 0
    rest = Boxes(*(part[~some] for part in (boxes.center, boxes.half, sign, cost)))
    mixed = AdviceProblem(X, y, losses, general.premises.only(some), rest)
    assert solved(mixed).objective == pytest.approx(expected, rel=REL, abs=1e-9)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_hard_box_holds_at_all_its_corners(sign):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(40, 2))
    y = np.where(X.sum(axis=1) > 0, 1.0, -1.0)
    boxes = Boxes(
        np.array([[0.1, 0.2]]), np.array([[0.2, 0.1]]), np.array([sign]), np.array([np.inf])
    )
    none = Premises.stack([], [], [], n_features=2)
    plane = solved(AdviceProblem(X, y, np.ones(40), none, boxes))
    corners = np.array([[-0.1, 0.1], [-0.1, 0.3], [0.3, 0.1], [0.3, 0.3]])
    assert (sign * (corners @ plane.w + plane.b) >= 1 - TOL).all()
