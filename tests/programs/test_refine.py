"""Refinement of right, wrong, overlapping and redundant advice, everything it returns computed again."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
from scipy.optimize import linprog

from clearmargin.advice.advice_svm import AdviceProblem, Premises, advice_program, read_plane
from clearmargin.advice.refine import METHODS, refine_advice, support_multipliers
from clearmargin.solvers import solve

REL = 1e-6
NU = 0.1
CASES = [(seed, method) for seed in range(16) for method in METHODS]
every_case = pytest.mark.parametrize(("seed", "method"), CASES)


def solved(problem):
    return read_plane(problem, solve(advice_program(problem)))


def without_advice(problem):
    nothing = np.zeros(len(problem.premises), dtype=bool)
    return replace(problem, premises=problem.premises.only(nothing))


def worth(problem, w, b, u, F, f, nu=NU):
    """The objective of eq. (2), point by point and row by row."""
    premises, value = problem.premises, float(np.abs(w).sum())
    for x, y, c in zip(problem.X, problem.y, problem.cost, strict=True):
        value += c * max(0.0, 1.0 - y * (w @ x + b))
    for i, (z, mu) in enumerate(zip(premises.sign, premises.cost, strict=True)):
        eta, zeta = z * w, 1.0 - z * b
        for r in np.flatnonzero(premises.rule == i):
            eta = eta + u[r] * (premises.D[r] - F[r])
            zeta += u[r] * (premises.d[r] - f[r])
            value += mu * nu * (np.abs(F[r]).sum() + abs(f[r]))
        value += mu * (np.abs(eta).sum() + max(0.0, zeta))
    return value


def variant(problem, kind):
    """Turn random advice into advice that overlaps, that is wrong, or that says the same twice."""
    P = problem.premises
    parts = [P.rule == i for i in range(len(P))]
    rows, own = [(P.D[part], P.d[part]) for part in parts], [P.own[part] for part in parts]
    sign, cost = P.sign, P.cost
    if kind == 1:  # the first premise also for the other class
        rows, own = [*rows, rows[0]], [*own, own[0]]
        sign, cost = np.r_[sign, -sign[0]], np.r_[cost, cost[0]]
    elif kind == 2:
        sign = -sign
    elif kind == 3:  # each premise and a larger one
        rows, own = rows + [(D, d + 0.3) for D, d in rows], own * 2
        sign, cost = np.tile(sign, 2), np.tile(cost, 2)
    return replace(problem, premises=Premises.stack(rows, sign, cost, own))


@cache
def run(advice, seed, method):
    """Refine, and keep every point that the steps gave, start by start."""
    rules = (1, 1) if seed % 4 == 3 else (1, 2)
    problem = advice(
        seed, n=(1, 3), m=(6, 18), rules=rules, decades=0.7, context=bool(seed % 8 > 3)
    )
    problem = variant(problem, seed % 4)
    rng = np.random.default_rng(seed)
    premises = problem.premises
    pattern = np.ones(premises.D.shape, dtype=bool)
    if seed % 3 == 0:  # some columns of some premises stay
        pattern = (rng.uniform(size=(len(premises), problem.n_features)) < 0.6)[premises.rule]
    runs = []

    def recorded(part, movable, start):
        runs.append((part, [start]))
        for found in METHODS_AS_THEY_ARE[method](part, movable, start):
            runs[-1][1].append(found)
            yield found

    data_only, given = solved(without_advice(problem)), solved(problem)
    with patch.dict(METHODS, {method: recorded}):
        refined = refine_advice(
            problem,
            method,
            given,
            (data_only.w, data_only.b),
            nu=NU,
            pattern=pattern,
            max_iter=4,
            tol=1e-6,
        )
    return problem, pattern, given, refined, runs


METHODS_AS_THEY_ARE = dict(METHODS)


@every_case
def test_no_step_raises_the_objective(seed, method, advice):
    *_, refined, runs = run(advice, seed, method)
    for part, points in runs:
        values = [worth(part, p.w, p.b, p.u, p.F, p.f) for p in points]
        assert values == pytest.approx([p.objective for p in points], rel=1e-9)
        # SQP solves to 1e-8, and its points are valued exactly; LP steps have rounding alone.
        assert (np.diff(values) <= 1e-9 * values[0]).all()
    first = runs[0][1][0].objective
    assert refined.objectives[0] == pytest.approx(first, rel=1e-12)
    assert (np.diff(refined.objectives) <= 0).all()


@every_case
def test_the_answer_is_a_point_of_the_printed_program_with_the_value_it_says(seed, method, advice):
    problem, _, given, refined, _ = run(advice, seed, method)
    plane, kept = refined.plane, ~refined.rejected
    rows = kept[problem.premises.rule]
    assert (plane.u >= 0).all()
    assert (plane.u[~rows] == 0).all()
    part = replace(problem, premises=problem.premises.only(kept))
    value = worth(part, plane.w, plane.b, plane.u[rows], refined.F[rows], refined.f[rows])
    assert plane.objective == pytest.approx(value, rel=1e-9)
    assert refined.objectives[-1] == pytest.approx(value, rel=1e-9)
    if kept.all():
        assert value <= given.objective * (1 + 1e-9)


@every_case
def test_only_what_may_move_moves_and_rows_turn_without_growing(seed, method, advice):
    problem, pattern, _, refined, _ = run(advice, seed, method)
    premises, F, f = problem.premises, refined.F, refined.f
    assert (F[~pattern] == 0).all()
    assert (F[~premises.own] == 0).all()
    assert (f[~premises.own] == 0).all()
    assert np.abs((F * premises.D).sum(axis=1)).max() <= 1e-6 * (1 + np.abs(F).max())
    if method == "translate":
        assert (F == 0).all()


@every_case
def test_what_is_left_of_a_premise_has_points(seed, method, advice):
    problem, _, _, refined, _ = run(advice, seed, method)
    moved = problem.premises.moved(refined.F, refined.f)
    for i in range(len(moved)):
        mine = moved.rule == i
        # Rejected premises too: they have what last left them some points.
        room = moved.d[mine] + 1e-6
        assert linprog(np.zeros(moved.D.shape[1]), moved.D[mine], room, bounds=(None, None)).success


@pytest.mark.parametrize(("seed", "method"), [case for case in CASES if case[0] % 2])
def test_the_plane_is_the_best_one_for_the_rows_that_are_left(seed, method, advice, stated_optimum):
    problem, _, _, refined, _ = run(advice, seed, method)
    premises, kept = problem.premises, ~refined.rejected
    moved = premises.moved(refined.F, refined.f).only(kept)
    fixed = AdviceProblem(problem.X, problem.y, problem.cost, moved, problem.boxes)
    rows = kept[premises.rule]
    changes = np.abs(refined.F).sum(axis=1) + np.abs(refined.f)
    price = NU * float(premises.cost[premises.rule][rows] @ changes[rows])
    assert refined.plane.objective == pytest.approx(stated_optimum(fixed) + price, rel=REL)


def test_the_cases_are_of_all_kinds(advice):
    # Without this the tests above could be true of nothing at all.
    answers = [run(advice, seed, method)[3] for seed, method in CASES]
    assert sum(answer.rejected.any() for answer in answers) >= 5
    assert sum(np.abs(answer.F).max() > 1e-3 for answer in answers) >= 10
    assert sum(np.abs(answer.f).max() > 1e-3 for answer in answers) >= 10
    assert sum(not answer.rejected.any() for answer in answers) >= 10
    assert sum(answer.converged for answer in answers) >= 5


@pytest.mark.parametrize("seed", range(12))
def test_multipliers_of_support_certify_the_least_value_over_a_premise(seed, advice):
    problem = advice(seed, n=(1, 4), m=(0, 0), rules=(1, 3), kinds=("box", "polytope"))
    w = np.random.default_rng(seed).normal(size=problem.n_features)
    premises, u = problem.premises, support_multipliers(problem, w)
    assert (u >= 0).all()
    for i, z in enumerate(premises.sign):
        mine = premises.rule == i
        D, d = premises.D[mine], premises.d[mine]
        np.testing.assert_allclose(D.T @ u[mine], -z * w, atol=1e-7)
        least = linprog(z * w, D, d, bounds=(None, None)).fun
        assert -d @ u[mine] == pytest.approx(least, rel=REL, abs=REL)
