"""Refinement where premises empty, agree, touch, say nothing, or are not there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clearmargin.advice import refine_sqp
from clearmargin.advice.advice_svm import (
    AdviceProblem,
    Boxes,
    Premises,
    advice_program,
    read_plane,
)
from clearmargin.advice.refine import METHODS, refine_advice
from clearmargin.exceptions import NumericalError
from clearmargin.solvers import solve

REL = 1e-6
# What a cone program may leave of a change of zero.
ATOL = 1e-5

every_method = pytest.mark.parametrize("method", METHODS)

# The class changes at x = 1, with a margin from 0 to 2.
X = np.array([[-2.0], [-1.0], [0.0], [2.0], [3.0]])
Y = np.array([-1.0, -1.0, -1.0, 1.0, 1.0])


def interval(low, high):
    return np.array([[1.0], [-1.0]]), np.array([high, -low])


def solved(problem):
    return read_plane(problem, solve(advice_program(problem)))


def refine(method, X, y, rows, sign, *, cost=None, loss=1.0, nu=0.1, pattern=None, max_iter=12):
    n = X.shape[1]
    cost = np.ones(len(rows)) if cost is None else cost
    premises = Premises.stack(rows, sign, cost, n_features=n)
    problem = AdviceProblem(X, y, np.broadcast_to(loss, len(y)).copy(), premises, Boxes.none(n))
    none = premises.only(np.zeros(len(rows), dtype=bool))
    data_only = solved(replace(problem, premises=none))
    answer = refine_advice(
        problem,
        method,
        solved(problem),
        (data_only.w, data_only.b),
        nu=nu,
        pattern=np.ones(premises.D.shape, dtype=bool) if pattern is None else pattern,
        max_iter=max_iter,
        tol=1e-6,
    )
    return problem, data_only, answer


@every_method
def test_a_premise_amid_the_other_class_is_rejected_and_the_rest_goes_on(method):
    rows = [interval(-1.0, 0.0), interval(3.0, 4.0), (np.array([[-1.0]]), np.array([-1.5]))]
    problem, data_only, answer = refine(method, X, Y, rows, [1.0, 1.0, 1.0])
    assert answer.rejected.tolist() == [True, False, False]
    assert (answer.plane.u[:2] == 0).all()
    # x >= 1.5 has to be about x >= 2; the interval from 3 to 4 is right.
    np.testing.assert_allclose(answer.f[2:4], 0.0, atol=ATOL)
    assert answer.plane.w == pytest.approx(data_only.w, abs=1e-3)
    edge = -(problem.premises.d[4] - answer.f[4])
    assert answer.plane.w[0] * edge + answer.plane.b >= 1 - 1e-3


@every_method
def test_when_all_premises_are_rejected_the_data_alone_decide(method):
    _, data_only, answer = refine(method, X, Y, [interval(-1.0, 0.0)], [1.0])
    assert answer.rejected.tolist() == [True]
    assert answer.plane.w == pytest.approx(data_only.w, abs=REL)
    assert answer.plane.objective == pytest.approx(data_only.objective, rel=REL)


def test_when_the_last_premise_is_rejected_late_the_data_alone_decide():
    # Two points of one class cost nothing with w = 0. The premise, right as it is, is emptied by the third step.
    two = np.array([[2.0], [2.0]])
    _, data_only, answer = refine(
        "translate", two, -np.ones(2), [interval(-2.0, -1.0)], [1.0], cost=[0.5], loss=0.5
    )
    assert data_only.objective == pytest.approx(0.0, abs=REL)
    assert answer.rejected.tolist() == [True]
    assert answer.plane.objective == pytest.approx(data_only.objective, abs=REL)


@every_method
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_premise_that_is_right_stays_where_it_is(method, sign):
    rng = np.random.default_rng(0)
    points = rng.uniform(-2, 2, size=(60, 2))
    y = np.where(points.sum(axis=1) > 0, 1.0, -1.0)
    rows = [(-sign * np.eye(2), np.full(2, -1.5)), (sign * np.eye(2), np.full(2, -1.5))]
    _, data_only, answer = refine(method, points, y, rows, [sign, -sign])
    assert not answer.rejected.any()
    np.testing.assert_allclose(answer.F, 0.0, atol=ATOL)
    np.testing.assert_allclose(answer.f, 0.0, atol=ATOL)
    assert answer.plane.objective == pytest.approx(data_only.objective, rel=1e-5)


@every_method
def test_without_premises_the_answer_is_the_plane_of_the_data(method):
    _, data_only, answer = refine(method, X, Y, [], [])
    assert answer.plane.objective == pytest.approx(data_only.objective, rel=REL)
    assert answer.F.shape == (0, 1)
    assert answer.rejected.shape == (0,)


@every_method
def test_without_points_advice_is_kept(method):
    rows = [interval(2.0, 3.0), interval(-1.0, 0.0)]
    _, _, answer = refine(method, np.zeros((0, 1)), np.zeros(0), rows, [1.0, -1.0], nu=10.0)
    assert not answer.rejected.any()
    np.testing.assert_allclose(answer.f, 0.0, atol=ATOL)
    assert answer.plane.objective == pytest.approx(1.0, rel=REL)


@every_method
def test_a_premise_without_rows_has_nothing_to_refine(method):
    everywhere = np.zeros((0, 1)), np.zeros(0)
    problem, _, answer = refine(method, X, Y, [everywhere, interval(3.0, 4.0)], [1.0, 1.0])
    assert not answer.rejected.any()
    assert answer.F.shape == (2, 1)
    assert answer.plane.objective <= solved(problem).objective * (1 + REL)
    problem, _, answer = refine(method, X, Y, [everywhere], [1.0])
    assert answer.plane.objective == pytest.approx(solved(problem).objective, rel=REL)


@every_method
def test_rows_said_twice_are_refined_all_the_same(method):
    rows = [(np.array([[-1.0], [-1.0]]), np.array([1.0, 1.0]))]  # x >= -1, twice
    _, data_only, answer = refine(method, X, Y, rows, [1.0])
    low = max(-(1.0 - answer.f))
    assert answer.plane.w[0] * low + answer.plane.b >= 1 - 1e-3
    assert answer.plane.objective <= data_only.objective + 0.1 * 3.0 + 1e-3


@every_method
def test_premises_of_both_classes_that_touch_are_moved_apart(method):
    rows = [(np.array([[-1.0]]), np.array([-1.0])), (np.array([[1.0]]), np.array([1.0]))]
    problem, _, answer = refine(method, X, Y, rows, [1.0, -1.0])
    assert not answer.rejected.any()
    assert answer.plane.objective < solved(problem).objective
    high, low = 1.0 - answer.f[1], 1.0 + answer.f[0]
    assert low - high >= 2.0 / abs(answer.plane.w[0]) - 1e-3


@every_method
def test_only_conditions_that_a_row_has_are_turned_where_the_pattern_says_so(method):
    rng = np.random.default_rng(1)
    points = rng.uniform(-4, 6, size=(60, 3))
    y = np.where(points.sum(axis=1) > 3, 1.0, -1.0)
    D = np.array([[-1.0, 0.0, 0.0], [0.0, -0.6, -0.8], [-0.8, -0.6, 0.0]])
    _, _, answer = refine(method, points, y, [(D, np.ones(3))], [1.0], pattern=D != 0)
    assert (answer.F[D == 0] == 0).all()
    assert np.abs((answer.F * D).sum(axis=1)).max() <= REL
    assert np.abs(answer.f).max() > 1e-3


@every_method
def test_advice_far_from_the_origin_is_refined_like_any_other(method):
    # The same five points a few thousand units away, as dollars or days are.
    _, near, _ = refine(method, X, Y, [(np.array([[-1.0]]), np.array([1.0]))], [1.0])
    rows = [(np.array([[-1.0]]), np.array([1.0 - 5000.0]))]
    _, _, answer = refine(method, X + 5000.0, Y, rows, [1.0])
    assert not answer.rejected.any()
    assert answer.plane.objective <= near.objective + 0.1 * 3.0 + 1e-3


@every_method
def test_steps_stop_when_they_run_out(method):
    rng = np.random.default_rng(0)
    points = rng.uniform(-4, 6, size=(60, 2))
    y = np.where(points.sum(axis=1) > 2, 1.0, -1.0)
    rows = [(-np.eye(2), np.zeros(2)), (np.eye(2), np.zeros(2))]
    _, _, answer = refine(method, points, y, rows, [1.0, -1.0], max_iter=1)
    assert not answer.converged
    # The start, one step, and the plane for the rows that are left.
    assert len(answer.objectives) == 3


def test_a_cone_program_that_breaks_down_ends_the_steps_and_not_the_refinement(monkeypatch):
    calls = []
    step = refine_sqp.ConvexProgram.step

    def tired(program, at):
        calls.append(at)
        if len(calls) > 2:
            raise NumericalError("Clarabel broke down")
        return step(program, at)

    monkeypatch.setattr(refine_sqp.ConvexProgram, "step", tired)
    rows = [(np.array([[-1.0]]), np.array([1.0]))]
    problem, _, answer = refine("sqp", X, Y, rows, [1.0])
    assert len(calls) == 3
    assert not answer.rejected.any()
    assert answer.plane.objective < solved(problem).objective


def test_where_the_compact_cone_program_breaks_down_the_printed_one_takes_the_step(monkeypatch):
    rows = [(np.array([[-1.0]]), np.array([1.0]))]
    _, _, expected = refine("sqp", X, Y, rows, [1.0])

    def broken(cones, at):
        raise NumericalError("Clarabel broke down")

    monkeypatch.setattr(refine_sqp.ReducedCones, "solve", broken)
    _, _, answer = refine("sqp", X, Y, rows, [1.0])
    assert answer.plane.objective == pytest.approx(expected.plane.objective, rel=REL)


@pytest.mark.parametrize(("seed", "decades", "nu"), [(5034, 0.7, 1.0), (5012, 3.0, 0.001)])
def test_costs_that_a_cone_solver_finds_hard_are_no_reason_to_fail(seed, decades, nu, advice):
    random = advice(seed, n=(1, 6), m=(0, 50), rules=(1, 4), decades=decades)
    P = random.premises
    rows = [(P.D[P.rule == i], P.d[P.rule == i]) for i in range(len(P))]
    problem, _, answer = refine(
        "sqp", random.X, random.y, rows, P.sign, cost=P.cost, loss=random.cost, nu=nu
    )
    assert (np.diff(answer.objectives) <= 0).all()
    if not answer.rejected.any():
        assert answer.plane.objective <= solved(problem).objective * (1 + REL)
