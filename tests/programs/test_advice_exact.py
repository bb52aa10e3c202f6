from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from clearmargin.advice import advice_exact
from clearmargin.advice.advice_dual import advice_dual, read_dual, solve_advice
from clearmargin.advice.advice_exact import exact_advice
from clearmargin.advice.advice_svm import AdviceProblem, Boxes, Premises
from clearmargin.solvers import Session, rational, solve


def in_order(problem: AdviceProblem, order: np.ndarray) -> AdviceProblem:
    return replace(problem, X=problem.X[order], y=problem.y[order], cost=problem.cost[order])


def with_boxes(problem: AdviceProblem, seed: int) -> AdviceProblem:
    rng = np.random.default_rng(seed)
    n = problem.n_features
    center, half = rng.uniform(-0.5, 0.5, size=(2, n)), rng.uniform(0.1, 0.5, size=(2, n))
    sign = np.where(center.sum(axis=1) > 0, 1.0, -1.0)
    cost = np.array([1.0, np.inf if seed % 3 == 0 else 5.0])
    return replace(problem, boxes=Boxes(center, half, sign, cost))


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
    plane = solve_advice(AdviceProblem(*nothing, premises, Boxes.none(2)))
    # x1 + x2 >= 3 and x1 + x2 <= 1 ask for equal weights; both are needed, and b = -2 is the only one.
    assert plane.exact is not None
    assert plane.exact.w == (Fraction(1), Fraction(1))
    assert plane.exact.b == -2
    points = np.array([[0.0, 0.0], [2.0, 2.0]]), np.array([-1.0, 1.0]), np.full(2, 5.0)
    premises = Premises.stack([], [], [], n_features=2)
    twice = solve_advice(AdviceProblem(*points, premises, Boxes.none(2)))
    assert twice.exact is not None
    assert (twice.exact.w, twice.exact.b) == ((Fraction(1), Fraction(0)), Fraction(-1))


def test_advice_that_must_hold_is_solved_exactly_too():
    rows = [(np.array([[-1.0, 0.0]]), np.array([-0.5])), (np.array([[1.0, 0.0]]), np.array([-0.5]))]
    premises = Premises.stack(rows, sign=[1.0, -1.0], cost=[np.inf, np.inf])
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(30, 2))
    problem = AdviceProblem(
        X, np.where(X[:, 1] > 0, 1.0, -1.0), np.ones(30), premises, Boxes.none(2)
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
    monkeypatch.setattr(advice_exact, "exact_optimum", give_up)
    with Session(advice_dual(problem), method="dual", tol=1e-9) as session:
        assert exact_advice(problem, session, session.solve()) is None
    plane = solve_advice(problem)
    assert plane.exact is None
    assert plane.objective == pytest.approx(exact.objective, rel=1e-8)
