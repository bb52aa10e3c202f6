"""The knowledge-based SVM beside CVXPY, its dual and its exact optimum, and where something is missing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from clearmargin.advice import advice_svm
from clearmargin.advice.advice_svm import (
    AdviceProblem,
    BoxPremises,
    Premises,
    advice_dual,
    advice_program,
    exact_advice,
    read_dual,
    read_plane,
    solve_advice,
)
from clearmargin.exceptions import InfeasibleError
from clearmargin.lp_svm import lpsvm_sifting
from clearmargin.lp_svm.lpsvm import LPSVMData
from clearmargin.lp_svm.lpsvm_sifting import Sifting
from clearmargin.lp_svm.lpsvm_solve import solve_lpsvm
from clearmargin.solvers import Session, rational, solve
from clearmargin.tables.partitions import ArrayBlocks

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
    return AdviceProblem(
        X, y, np.full(m, 10.0 ** rng.uniform(-3, 0)), premises, BoxPremises.none(n)
    )


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
    problem = AdviceProblem(X, y, np.full(m, 0.3), premises, BoxPremises.none(n))
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
    boxes = BoxPremises((low + high) / 2, (high - low) / 2, sign, cost)
    none = Premises.stack([], [], [], n_features=n)
    general = AdviceProblem(X, y, losses, Premises.stack(rows, sign, cost), BoxPremises.none(n))
    compact = AdviceProblem(X, y, losses, none, boxes)
    expected = solved(general).objective
    assert solved(compact).objective == pytest.approx(expected, rel=REL, abs=1e-9)
    # And half of them in one form, half in the other.
    some = np.arange(r) % 2 == 0
    rest = BoxPremises(*(part[~some] for part in (boxes.center, boxes.half, sign, cost)))
    mixed = AdviceProblem(X, y, losses, general.premises.only(some), rest)
    assert solved(mixed).objective == pytest.approx(expected, rel=REL, abs=1e-9)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_hard_box_holds_at_all_its_corners(sign):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(40, 2))
    y = np.where(X.sum(axis=1) > 0, 1.0, -1.0)
    boxes = BoxPremises(
        np.array([[0.1, 0.2]]), np.array([[0.2, 0.1]]), np.array([sign]), np.array([np.inf])
    )
    none = Premises.stack([], [], [], n_features=2)
    plane = solved(AdviceProblem(X, y, np.ones(40), none, boxes))
    corners = np.array([[-0.1, 0.1], [-0.1, 0.3], [0.3, 0.1], [0.3, 0.3]])
    assert (sign * (corners @ plane.w + plane.b) >= 1 - TOL).all()


AT_LEAST_3 = np.array([[-1.0]]), np.array([-3.0])
AT_MOST_1 = np.array([[1.0]]), np.array([1.0])


def points(m, n, seed=0):
    X = np.random.default_rng(seed).normal(size=(m, n))
    return X, np.where(X[:, 0] > 0.2, 1.0, -1.0)


def alone(rows, sign, cost):
    """Advice without any point."""
    n = rows[0][0].shape[1]
    premises = Premises.stack(rows, sign, cost)
    return AdviceProblem(np.zeros((0, n)), np.zeros(0), np.zeros(0), premises, BoxPremises.none(n))


def test_without_premises_it_is_the_1_norm_svm():
    X, y = points(50, 3)
    none = Premises.stack([], [], [], n_features=3)
    plane = solved(AdviceProblem(X, y, np.full(50, 0.3), none, BoxPremises.none(3)))
    expected = solve_lpsvm(LPSVMData(X, y, np.full(50, 0.3))).objective
    assert plane.objective == pytest.approx(expected, rel=REL)
    assert plane.u.shape == (0,)


def test_no_premises_have_a_shape_of_their_own():
    none = Premises.stack([], [], [], n_features=3)
    assert len(none) == 0
    assert none.D.shape == (0, 3)
    assert none.totals(np.zeros((0, 3))).shape == (0, 3)


def test_no_premises_may_come_with_an_empty_list_of_rows_that_move():
    none = Premises.stack([], [], [], numeric_rows=[], n_features=3)
    assert none.numeric_rows.shape == (0,)
    assert none.numeric_rows.dtype == np.bool_


def test_with_nothing_to_go_by_the_plane_is_nothing():
    none = Premises.stack([], [], [], n_features=2)
    problem = AdviceProblem(np.zeros((0, 2)), np.zeros(0), np.zeros(0), none, BoxPremises.none(2))
    plane = solved(problem)
    assert plane.objective == 0.0
    assert (plane.w == 0).all()


@pytest.mark.parametrize(("sign", "w"), [(1.0, 1.0), (-1.0, -1.0)])
def test_advice_alone_puts_the_plane_between_its_premises(sign, w):
    plane = solved(alone([AT_LEAST_3, AT_MOST_1], [sign, -sign], [10.0, 10.0]))
    assert plane.w == pytest.approx([w], abs=REL)
    assert plane.b == pytest.approx(-2.0 * w, abs=REL)
    assert plane.objective == pytest.approx(1.0, rel=REL)


@pytest.mark.parametrize("cost", [0.5, 1.0, 3.0])
def test_premises_of_both_classes_that_touch_pay_at_least_two_costs(cost):
    # They share x = 0, where no plane has margin 1 for both; the weights are worth nothing then.
    touching = [(np.array([[-1.0]]), np.zeros(1)), (np.array([[1.0]]), np.zeros(1))]
    plane = solved(alone(touching, [1.0, -1.0], [cost, cost]))
    assert plane.objective == pytest.approx(2 * cost, rel=REL)
    assert plane.w == pytest.approx([0.0], abs=REL)


def test_hard_advice_that_touches_the_other_class_is_impossible():
    touching = [(np.array([[-1.0]]), np.zeros(1)), (np.array([[1.0]]), np.zeros(1))]
    with pytest.raises(InfeasibleError):
        solve(advice_program(alone(touching, [1.0, -1.0], [np.inf, np.inf])))


def test_soft_advice_gives_way_to_hard_advice_that_contradicts_it():
    # Inside |x| <= 1, where an error in zeta is worth as much as one in eta.
    same = [(np.array([[-1.0], [1.0]]), np.array([-0.5, 1.0]))] * 2
    plane = solved(alone(same, [1.0, -1.0], [np.inf, 1.0]))
    assert plane.b >= 1 - REL
    assert plane.objective == pytest.approx(2.0, rel=REL)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_premise_without_rows_asks_for_a_plane_that_is_constant(sign):
    X, y = points(30, 2)
    everywhere = np.zeros((0, 2)), np.zeros(0)
    premises = Premises.stack([everywhere], [sign], [1e4])
    problem = AdviceProblem(X, y, np.ones(30), premises, BoxPremises.none(2))
    plane = solved(problem)
    assert plane.u.shape == (0,)
    assert plane.w == pytest.approx([0.0, 0.0], abs=REL)
    assert sign * plane.b >= 1 - REL
    assert plane.objective == pytest.approx(2 * (y != sign).sum(), rel=REL)


def test_a_premise_without_rows_takes_its_place_among_others(stated_optimum):
    X, y = points(30, 2)
    rows = [
        (-np.eye(2), np.array([0.5, 0.5])),
        (np.zeros((0, 2)), np.zeros(0)),
        (np.eye(2), np.zeros(2)),
    ]
    premises = Premises.stack(rows, [1.0, 1.0, -1.0], [1.0, 0.2, 3.0])
    problem = AdviceProblem(X, y, np.full(30, 0.4), premises, BoxPremises.none(2))
    assert solved(problem).objective == pytest.approx(stated_optimum(problem), rel=REL)
    kept = premises.only(np.array([False, True, True]))
    assert kept.rule.tolist() == [1, 1]
    assert kept.cost.tolist() == [0.2, 3.0]


@pytest.mark.parametrize("seed", range(8))
def test_rows_said_twice_change_nothing(seed, advice):
    problem = advice(seed, rules=(2, 4), decades=1.0)
    P = problem.premises
    rows = [(P.D[P.rule == i], P.d[P.rule == i]) for i in range(len(P))]
    twice = [(np.vstack([D, D]), np.r_[d, d]) for D, d in rows]
    doubled = Premises.stack(twice, P.sign, P.cost)
    again = AdviceProblem(problem.X, problem.y, problem.cost, doubled, problem.boxes)
    assert solved(again).objective == pytest.approx(solved(problem).objective, rel=REL, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_a_premise_said_twice_is_a_premise_of_twice_the_cost(seed, advice):
    problem = advice(seed, rules=(1, 3), decades=1.0)
    P = problem.premises
    rows = [(P.D[P.rule == i], P.d[P.rule == i]) for i in range(len(P))]
    said_twice = Premises.stack(rows * 2, np.tile(P.sign, 2), np.tile(P.cost, 2))
    dearer = Premises.stack(rows, P.sign, 2 * P.cost)
    one, two = (
        AdviceProblem(problem.X, problem.y, problem.cost, premises, problem.boxes)
        for premises in (said_twice, dearer)
    )
    assert solved(one).objective == pytest.approx(solved(two).objective, rel=REL, abs=1e-9)


def test_dropping_premises_keeps_rows_signs_and_costs_together():
    rows = [AT_LEAST_3, (np.ones((3, 1)), np.arange(3.0)), AT_MOST_1]
    numeric_rows = [np.array([True]), np.array([False, True, False]), np.array([True])]
    premises = Premises.stack(rows, [1.0, -1.0, 1.0], [1.0, 2.0, 3.0], numeric_rows)
    kept = premises.only(np.array([False, True, True]))
    assert kept.rule.tolist() == [0, 0, 0, 1]
    assert kept.d.tolist() == [0.0, 1.0, 2.0, 1.0]
    assert kept.sign.tolist() == [-1.0, 1.0]
    assert kept.cost.tolist() == [2.0, 3.0]
    assert kept.numeric_rows.tolist() == [False, True, False, True]
    moved = premises.moved(np.full((5, 1), 0.5), np.full(5, 0.25))
    assert moved.D.ravel().tolist() == [-1.5, 0.5, 0.5, 0.5, 0.5]
    assert moved.d.tolist() == [-3.25, -0.25, 0.75, 1.75, 0.75]
    assert len(premises.only(np.zeros(3, dtype=bool))) == 0


def in_order(problem: AdviceProblem, order: np.ndarray) -> AdviceProblem:
    return replace(problem, X=problem.X[order], y=problem.y[order], cost=problem.cost[order])


def with_boxes(problem: AdviceProblem, seed: int) -> AdviceProblem:
    rng = np.random.default_rng(seed)
    n = problem.n_features
    center, half = rng.uniform(-0.5, 0.5, size=(2, n)), rng.uniform(0.1, 0.5, size=(2, n))
    sign = np.where(center.sum(axis=1) > 0, 1.0, -1.0)
    cost = np.array([1.0, np.inf if seed % 3 == 0 else 5.0])
    return replace(problem, boxes=BoxPremises(center, half, sign, cost))


def test_the_plane_is_the_same_to_the_bit_in_any_order_of_points(advice):
    for seed in range(20):
        problem = advice(seed)
        problem = with_boxes(problem, seed) if seed % 2 else problem
        if not len(problem.y) + len(problem.premises) + len(problem.boxes):
            continue
        plane = solve_advice(problem)
        order = np.random.default_rng(seed).permutation(len(problem.y))
        again = solve_advice(in_order(problem, order))
        assert plane.exact is not None
        assert again.exact == plane.exact
        np.testing.assert_array_equal(again.w, plane.w)
        np.testing.assert_array_equal(again.u, plane.u)
        assert (again.b, again.objective) == (plane.b, plane.objective)


def test_the_exact_plane_has_the_value_that_the_solver_found(advice):
    for seed in range(20):
        problem = with_boxes(advice(seed), seed)
        near = read_dual(problem, solve(advice_dual(problem), tol=1e-9))
        assert solve_advice(problem).objective == pytest.approx(near.objective, rel=1e-7, abs=1e-7)


def test_of_equal_columns_the_first_has_the_weight_and_nothing_more_than_it_needs():
    rows = [(np.array([[-1.0, -1.0]]), np.array([-3.0])), (np.array([[1.0, 1.0]]), np.array([1.0]))]
    premises = Premises.stack(rows, sign=[1.0, -1.0], cost=[10.0, 10.0])
    nothing = np.zeros((0, 2)), np.zeros(0), np.zeros(0)
    plane = solve_advice(AdviceProblem(*nothing, premises, BoxPremises.none(2)))
    # x1 + x2 >= 3 and x1 + x2 <= 1 ask for equal weights; both are needed, and b = -2 is the only one.
    assert plane.exact is not None
    assert plane.exact.w == (Fraction(1), Fraction(1))
    assert plane.exact.b == -2
    points = np.array([[0.0, 0.0], [2.0, 2.0]]), np.array([-1.0, 1.0]), np.full(2, 5.0)
    premises = Premises.stack([], [], [], n_features=2)
    twice = solve_advice(AdviceProblem(*points, premises, BoxPremises.none(2)))
    assert twice.exact is not None
    assert (twice.exact.w, twice.exact.b) == ((Fraction(1), Fraction(0)), Fraction(-1))


def test_advice_that_must_hold_is_solved_exactly_too():
    rows = [(np.array([[-1.0, 0.0]]), np.array([-0.5])), (np.array([[1.0, 0.0]]), np.array([-0.5]))]
    premises = Premises.stack(rows, sign=[1.0, -1.0], cost=[np.inf, np.inf])
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(30, 2))
    problem = AdviceProblem(
        X, np.where(X[:, 1] > 0, 1.0, -1.0), np.ones(30), premises, BoxPremises.none(2)
    )
    plane = solve_advice(problem)
    again = solve_advice(in_order(problem, rng.permutation(30)))
    assert plane.exact is not None
    assert plane.exact == again.exact
    # Without bounds a premise on x1 alone leaves no weight to x2.
    assert plane.exact.w[1] == 0


def test_where_an_exact_answer_takes_too_long_that_of_the_solver_stays(advice, monkeypatch):
    def give_up(*args, **kwargs):
        raise rational.UndecidedError

    problem = advice(3)
    exact = solve_advice(problem)
    monkeypatch.setattr(advice_svm, "exact_optimum", give_up)
    with Session(advice_dual(problem), method="dual", tol=1e-9) as session:
        assert exact_advice(problem, session, session.solve()) is None
    plane = solve_advice(problem)
    assert plane.exact is None
    assert plane.objective == pytest.approx(exact.objective, rel=1e-8)


def many_points(kind: str, m: int = 600) -> AdviceProblem:
    """Points of two classes in |x| <= 1 with advice that moves their plane."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-1.0, 1.0, size=(m, 4))
    y = np.where(X @ [1.0, -1.0, 0.3, 0.0] + 0.3 * rng.normal(size=m) > 0.1, 1.0, -1.0)
    if kind == "whole":
        X = np.rint(4.0 * X) / 4.0
    elif kind == "one class":
        y = np.ones(m)
    cost = np.full(m, 60.0 / m)
    eye = np.eye(4)
    # x0 >= 0.5 => -1, against the points, and x3 <= -0.5 => +1.
    rows = [(np.array([-eye[0]]), np.array([-0.5])), (np.array([eye[3]]), np.array([-0.5]))]
    boxed = [(np.vstack([D, eye, -eye]), np.append(d, np.ones(8))) for D, d in rows]
    premises = Premises.stack(boxed, sign=[-1.0, 1.0], cost=[3.0, 2.0])
    boxes = BoxPremises.none(4)
    if kind == "boxes":
        center, half = np.zeros((1, 4)), np.ones((1, 4))
        center[0, 1], half[0, 1] = 0.75, 0.25
        boxes = BoxPremises(center, half, np.array([1.0]), np.array([4.0]))
    elif kind == "hard":
        premises = replace(premises, cost=np.array([3.0, np.inf]))
    elif kind == "contradiction":
        sides = [boxed[0], (np.vstack([eye, -eye]), np.ones(8))]
        premises = Premises.stack(sides, sign=[-1.0, 1.0], cost=[np.inf, np.inf])
    return AdviceProblem(X, y, cost, premises, boxes)


@pytest.fixture
def sifted(monkeypatch):
    """Let windows over samples be used for some hundred points."""

    def use():
        monkeypatch.setattr(advice_svm, "_MANY", 100)
        monkeypatch.setattr(lpsvm_sifting, "_FIRST_SAMPLE", 60)
        monkeypatch.setattr(lpsvm_sifting, "_GROWTH", 3)

    return use


@pytest.mark.parametrize("kind", ["general", "whole", "boxes", "hard", "one class"])
def test_many_points_are_sifted_to_the_same_plane_to_the_bit(kind, sifted):
    problem = many_points(kind)
    best = solve_advice(problem)
    sifted()
    order = np.random.default_rng(0).permutation(len(problem.y))
    turned = replace(problem, X=problem.X[order], y=problem.y[order], cost=problem.cost[order])
    for one in (problem, turned):
        found = solve_advice(one)
        np.testing.assert_array_equal(found.w, best.w)
        np.testing.assert_array_equal(found.u, best.u)
        assert (found.b, found.exact) == (best.b, best.exact)
        assert found.objective == pytest.approx(best.objective, rel=1e-12)


def test_a_window_of_points_that_is_too_narrow_for_advice_is_widened(sifted, monkeypatch):
    problem = many_points("general")
    best = solve_advice(problem)
    sifted()
    monkeypatch.setattr(lpsvm_sifting.Sifting, "width", lambda sifting, w, n_rows: 1e-6)
    np.testing.assert_array_equal(solve_advice(problem).w, best.w)


def test_hard_advice_that_contradicts_itself_is_refused_with_many_points_too(sifted):
    sifted()
    with pytest.raises(InfeasibleError, match="contradicts itself"):
        solve_advice(many_points("contradiction"))


@pytest.mark.parametrize("share", [0.5, 0.2])
@pytest.mark.parametrize("mu", [0.001, 0.4])
def test_a_plane_without_weights_is_proved_by_sums_and_is_that_of_the_program(
    share, mu, monkeypatch
):
    rng = np.random.default_rng(0)
    m, n = 9_000, 4
    X = rng.uniform(-1.0, 1.0, size=(m, n))
    y = np.where(0.5 * X[:, 0] + rng.normal(size=m) > np.quantile(rng.normal(size=m), share), 1, -1)
    half = np.array([[0.2, 1.0, 1.0, 1.0], [0.3, 0.1, 1.0, 1.0]])
    center = np.array([[0.8, 0.0, 0.0, 0.0], [-0.7, 0.2, 0.0, 0.0]])
    boxes = BoxPremises(center, half, np.array([1.0, -1.0]), np.array([mu, mu]))
    none = Premises.stack([], [], [], n_features=n)
    problem = AdviceProblem(X, y.astype(float), np.full(m, 2.0 / m), none, boxes)
    held = []
    solved = advice_svm._solve_held

    def counted(problem, *arguments, **options):
        held.append(len(problem.y))
        return solved(problem, *arguments, **options)

    monkeypatch.setattr(advice_svm, "_solve_held", counted)
    by_sums = solve_advice(problem)
    assert max(held) < m / 2
    monkeypatch.setattr(advice_svm, "_constant_plane", lambda *_: None)
    by_program = solve_advice(problem)
    assert max(held) == m
    assert not by_sums.w.any()
    assert (by_sums.b, by_sums.objective) == (by_program.b, by_program.objective)
    assert by_sums.exact == by_program.exact


def test_a_rule_that_is_worth_a_weight_is_not_given_up_for_a_constant(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, size=(9_000, 2))
    y = np.where(rng.random(9_000) < 0.5, 1.0, -1.0)
    half, center = np.array([[0.1, 1.0], [0.1, 1.0]]), np.array([[0.9, 0.0], [-0.9, 0.0]])
    boxes = BoxPremises(center, half, np.array([1.0, -1.0]), np.array([5.0, 5.0]))
    none = Premises.stack([], [], [], n_features=2)
    problem = AdviceProblem(X, y, np.full(9_000, 1e-6), none, boxes)
    sifting = Sifting(ArrayBlocks(problem.X, problem.y, problem.cost), centre=False)
    assert advice_svm._constant_plane(problem, sifting) is None
    assert solve_advice(problem).w[0] > 0.5


@pytest.mark.parametrize("width", [1e-6, 0.02])
def test_a_window_that_is_too_narrow_is_widened(width, monkeypatch):
    rng = np.random.default_rng(3)
    m, n = 12_000, 5
    X = rng.uniform(-1.0, 1.0, size=(m, n))
    y = np.where(X @ [2.0, -1.0, 0.5, 0.0, 0.0] + 0.4 * rng.normal(size=m) > 0, 1.0, -1.0)
    rows = [(np.array([[-1.0, 0.5, 0.0, 0.0, 0.0]]), np.array([-0.6]))]
    premises = Premises.stack(rows, [1.0], [0.5])
    problem = AdviceProblem(X, y, np.full(m, 50.0 / m), premises, BoxPremises.none(n))
    monkeypatch.setattr(advice_svm, "_MANY", 10**9)
    whole = solve_advice(problem)
    monkeypatch.setattr(advice_svm, "_MANY", 8_000)
    monkeypatch.setattr(Sifting, "width", lambda *_: width)
    sifted = solve_advice(problem)
    assert sifted.exact == whole.exact
    assert sifted.objective == whole.objective
    np.testing.assert_array_equal(sifted.u, whole.u)
