"""The knowledge-based SVM where something is missing, doubled, touching or impossible."""

from __future__ import annotations

import numpy as np
import pytest

from clearmargin.advice.advice_svm import (
    AdviceProblem,
    Boxes,
    Premises,
    advice_program,
    read_plane,
)
from clearmargin.exceptions import InfeasibleError
from clearmargin.lp_svm.lpsvm import LPSVMData
from clearmargin.lp_svm.lpsvm_solve import solve_lpsvm
from clearmargin.solvers import solve

REL = 1e-6

AT_LEAST_3 = np.array([[-1.0]]), np.array([-3.0])
AT_MOST_1 = np.array([[1.0]]), np.array([1.0])


def points(m, n, seed=0):
    X = np.random.default_rng(seed).normal(size=(m, n))
    return X, np.where(X[:, 0] > 0.2, 1.0, -1.0)


def solved(problem):
    return read_plane(problem, solve(advice_program(problem)))


def alone(rows, sign, cost):
    """Advice without any point."""
    n = rows[0][0].shape[1]
    premises = Premises.stack(rows, sign, cost)
    return AdviceProblem(np.zeros((0, n)), np.zeros(0), np.zeros(0), premises, Boxes.none(n))


def test_without_premises_it_is_the_1_norm_svm():
    X, y = points(50, 3)
    none = Premises.stack([], [], [], n_features=3)
    plane = solved(AdviceProblem(X, y, np.full(50, 0.3), none, Boxes.none(3)))
    expected = solve_lpsvm(LPSVMData(X, y, np.full(50, 0.3))).objective
    assert plane.objective == pytest.approx(expected, rel=REL)
    assert plane.u.shape == (0,)


def test_no_premises_have_a_shape_of_their_own():
    none = Premises.stack([], [], [], n_features=3)
    assert len(none) == 0
    assert none.D.shape == (0, 3)
    assert none.totals(np.zeros((0, 3))).shape == (0, 3)


def test_no_premises_may_come_with_an_empty_list_of_rows_that_move():
    none = Premises.stack([], [], [], own=[], n_features=3)
    assert none.own.shape == (0,)
    assert none.own.dtype == np.bool_


def test_with_nothing_to_go_by_the_plane_is_nothing():
    none = Premises.stack([], [], [], n_features=2)
    problem = AdviceProblem(np.zeros((0, 2)), np.zeros(0), np.zeros(0), none, Boxes.none(2))
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
    problem = AdviceProblem(X, y, np.ones(30), premises, Boxes.none(2))
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
    problem = AdviceProblem(X, y, np.full(30, 0.4), premises, Boxes.none(2))
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
    own = [np.array([True]), np.array([False, True, False]), np.array([True])]
    premises = Premises.stack(rows, [1.0, -1.0, 1.0], [1.0, 2.0, 3.0], own)
    kept = premises.only(np.array([False, True, True]))
    assert kept.rule.tolist() == [0, 0, 0, 1]
    assert kept.d.tolist() == [0.0, 1.0, 2.0, 1.0]
    assert kept.sign.tolist() == [-1.0, 1.0]
    assert kept.cost.tolist() == [2.0, 3.0]
    assert kept.own.tolist() == [False, True, False, True]
    moved = premises.moved(np.full((5, 1), 0.5), np.full(5, 0.25))
    assert moved.D.ravel().tolist() == [-1.5, 0.5, 0.5, 0.5, 0.5]
    assert moved.d.tolist() == [-3.25, -0.25, 0.75, 1.75, 0.75]
    assert len(premises.only(np.zeros(3, dtype=bool))) == 0
