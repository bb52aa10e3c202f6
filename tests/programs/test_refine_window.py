"""Windows of points and of unknowns: whatever the first guess was, the answer is that of the printed program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin.advice import refine_sqp, refine_window
from clearmargin.advice.advice_svm import AdviceProblem, Boxes, advice_program
from clearmargin.advice.refine_lp import Iterate, JointProgram, Movable
from clearmargin.advice.refine_sqp import ConvexProgram, convexified_program
from clearmargin.advice.refine_window import PointWindow, WindowedLP, read_weights, thinned
from clearmargin.exceptions import NumericalError
from clearmargin.solvers import solve

REL = 1e-6


def many_points(seed, advice, *, m=(80, 140), rules=(1, 2)):
    return advice(seed, n=(2, 4), m=m, rules=rules, decades=1.0, context=bool(seed % 2))


def tied(seed, advice):
    """Points of a small grid, each many times, so that at an optimum many are on the margin exactly."""
    problem = many_points(seed, advice)
    X = np.round(problem.X).clip(-1, 1)
    return replace(problem, X=X, cost=np.full(len(X), 0.125))


def guesses(problem):
    """Planes by which sides are guessed: none, one of no use, and the best one with all sides changed."""
    n = problem.n_features
    solution = solve(advice_program(problem))
    w, b = read_weights(solution)
    return {
        "flat": (np.zeros(n), 0.0),
        "far": (np.full(n, 50.0), -7.0),
        "right": (w, b),
        "opposite": (-10 * w, -10 * b),
    }


def everything_low(problem, w, b):
    """Losses of all points at a plane, one by one."""
    margins = [y * (x @ w + b) for x, y in zip(problem.X, problem.y, strict=True)]
    return sum(c * max(0.0, 1.0 - m) for c, m in zip(problem.cost, margins, strict=True))


# The window itself.


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_the_rows_of_the_rest_never_exceed_its_losses_and_meet_them_where_they_were_guessed(seed):
    rng = np.random.default_rng(seed)
    m, n = 40, 3
    X, y = rng.normal(size=(m, n)), rng.choice([-1.0, 1.0], size=m)
    none = Boxes.none(n)
    problem = AdviceProblem(X, y, rng.uniform(0.1, 2.0, size=m), None, none)
    window = PointWindow(problem, rng.normal(size=n), 0.3, size=5, guesses=3)
    for _ in range(4):
        w, b = rng.normal(size=n), float(rng.normal())
        window.widen(window.nearest(w, b), w, b)
        outside = np.setdiff1d(np.arange(m), window.kept)
        for at, intercept in ((w, b), (rng.normal(size=n), 0.0)):
            loss = everything_low(window.points(outside), at, intercept)
            rows = window.total - window.slope @ at - window.level * intercept
            assert (rows <= loss + 1e-9).all()
            assert window.gap(at, intercept, rest=0.0) == pytest.approx(loss)
        newest = window.total[0] - window.slope[0] @ w - window.level[0] * b
        assert newest == pytest.approx(everything_low(window.points(outside), w, b))


def test_points_that_contradict_their_guess_come_nearest_first():
    X = np.arange(-6.0, 7.0)[:, None]
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    problem = AdviceProblem(X, y, np.ones(13), None, Boxes.none(1))
    window = PointWindow(problem, np.ones(1), 0.0, size=2)
    assert X[window.kept, 0].tolist() == [-1.0, 1.0]
    # With the plane at 3 instead of 0 the points 2 and 3 come to the wrong side of their margin, 0 to the right one.
    found = window.contradicting(np.ones(1), -3.0, rest=0.0, objective=0.0)
    assert X[found, 0].tolist() == [3.0, 0.0, 2.0]


def test_few_points_are_all_in_the_window(advice):
    problem = many_points(3, advice, m=(8, 8))
    window = PointWindow(problem, np.zeros(problem.n_features), 0.0)
    assert window.is_whole
    assert window.kept.tolist() == list(range(8))
    assert not window.contradicting(np.ones(problem.n_features), 9.0, 0.0, 1.0).size


def test_a_sample_has_a_quarter_of_the_points_at_the_same_cost_in_all(advice):
    problem = replace(many_points(1, advice, m=(120, 120)), cost=np.full(120, 0.5))
    sample = thinned(problem)
    assert len(sample.y) == 30
    assert sample.cost.sum() == pytest.approx(problem.cost.sum())


# Linear programs.


@pytest.mark.parametrize("make", [many_points, tied])
@pytest.mark.parametrize("guess", ["flat", "far", "right", "opposite"])
@pytest.mark.parametrize("seed", range(5))
def test_a_windowed_linear_program_is_the_printed_one(seed, guess, make, advice):
    problem = make(seed, advice)
    expected = solve(advice_program(problem)).objective
    model = WindowedLP(advice_program, problem, *guesses(problem)[guess], size=3)
    solution = model.solve()
    model.close()
    assert solution.objective == pytest.approx(expected, rel=REL)
    w, b = read_weights(solution)
    u = np.maximum(0.0, solution.values["u"])
    assert problem.objective(w, b, u) == pytest.approx(expected, rel=REL)


@pytest.mark.parametrize("seed", range(4))
def test_steps_of_all_kinds_over_a_window_have_the_optimum_over_all_points(
    seed, advice, monkeypatch
):
    problem = (many_points, tied)[seed % 2](seed, advice)
    rng = np.random.default_rng(seed)
    k, n = problem.premises.D.shape
    movable = Movable(problem.premises, 0.1, np.ones((k, n), dtype=bool))

    def point():
        free = movable.pattern & problem.premises.own[:, None]
        F = np.zeros((k, n))
        if rng.uniform() < 0.5:  # at right angles to the rows
            F[:, 0], F[:, 1] = problem.premises.D[:, 1], -problem.premises.D[:, 0]
            F = 0.2 * np.where(free, F, 0.0)
        u = rng.uniform(0.0, 2.0, size=k)
        return Iterate.at(problem, movable, rng.normal(size=n), 0.0, u, F, np.zeros(k))

    radii = [{"u_radius": 0.0}, {"row_radius": 0.0}, {"u_radius": 1.0, "row_radius": 0.3}]
    steps = [(point(), radii[i % 3]) for i in range(12)]
    whole = JointProgram(problem, movable)
    expected = [whole.step(at, **radius)[1] for at, radius in steps]
    whole.close()
    monkeypatch.setattr(refine_window, "PointWindow", Narrow)
    narrow = JointProgram(problem, movable)
    found = [narrow.step(at, **radius) for at, radius in steps]
    narrow.close()
    np.testing.assert_allclose([value for _, value in found], expected, rtol=REL)


class Narrow(PointWindow):
    """A window of three points around the margin of a plane that is as wrong as can be."""

    def __init__(self, problem, w, b, size=None, guesses=4):
        super().__init__(problem, -5 * w, -5 * b, 3, guesses)


# Cone programs.


def cone_setting(seed, advice, kind):
    problem = (many_points, tied)[seed % 2](seed, advice, **({} if seed % 2 else {"m": (40, 90)}))
    rng = np.random.default_rng(seed)
    premises = problem.premises
    k, n = premises.D.shape
    pattern = {
        "full": np.ones((k, n), dtype=bool),
        "entries": rng.uniform(size=(k, n)) < 0.6,
        "none": np.zeros((k, n), dtype=bool),
    }[kind]
    anchors = np.full((len(premises), n), np.nan)
    if seed % 3 == 0 and len(problem.y):
        inside = problem.X[0]
        margin = premises.d - premises.D @ inside
        kept = [i for i in range(len(premises)) if (margin[premises.rule == i] > 0).all()]
        anchors[kept] = inside
    movable = Movable(premises, 0.1, pattern, anchors)
    u = rng.uniform(0.0, 2.0, size=k) * (rng.uniform(size=k) < 0.8)
    zero = np.zeros((k, n)), np.zeros(k)
    return problem, movable, Iterate.at(problem, movable, rng.normal(size=n), 0.2, u, *zero)


@pytest.mark.parametrize("windows", [PointWindow, Narrow])
@pytest.mark.parametrize("kind", ["full", "entries", "none"])
@pytest.mark.parametrize("seed", range(6))
def test_steps_over_windows_are_those_of_the_printed_cone_program(
    seed, kind, windows, advice, monkeypatch
):
    monkeypatch.setattr(refine_sqp, "PointWindow", windows)
    problem, movable, at = cone_setting(seed, advice, kind)
    program = ConvexProgram(problem, movable)
    monkeypatch.setattr(refine_sqp, "solve", None)  # nothing may fall back on the printed program
    for _ in range(4):
        found, value = program.step(at)
        expected = solve(convexified_program(problem, movable, at)).objective
        assert value == pytest.approx(expected, rel=REL, abs=1e-7)
        assert found.objective <= value * (1 + REL) + 1e-6
        at = found


def test_unknowns_that_a_guess_leaves_out_come_in_where_they_are_wanted(advice, monkeypatch):
    problem, movable, at = cone_setting(2, advice, "full")
    expected = solve(convexified_program(problem, movable, at)).objective
    rounds = []
    solve_reduced = refine_sqp.ReducedCones.solve

    def counted(cones, point):
        rounds.append(int(cones.used.sum()))
        return solve_reduced(cones, point)

    monkeypatch.setattr(refine_sqp.ReducedCones, "solve", counted)
    _, value = ConvexProgram(problem, movable).step(at)
    assert value == pytest.approx(expected, rel=REL)
    # Nothing is moved at the start, so that every change has to come in later.
    assert len(rounds) > 1
    assert rounds == sorted(rounds)


def test_boxes_are_left_to_the_printed_program(advice):
    problem, movable, at = cone_setting(4, advice, "full")
    n = problem.n_features
    box = Boxes(np.full((1, n), 0.2), np.full((1, n), 0.1), np.ones(1), np.ones(1))
    boxed = replace(problem, boxes=box)
    at = Iterate.at(boxed, movable, at.w, at.b, at.u, at.F, at.f)
    _, value = ConvexProgram(boxed, movable).step(at)
    expected = solve(convexified_program(boxed, movable, at)).objective
    assert value == pytest.approx(expected, rel=REL)


def test_windows_that_do_not_come_to_rest_are_left_to_the_printed_program(advice, monkeypatch):
    problem, movable, at = cone_setting(2, advice, "full")
    expected = solve(convexified_program(problem, movable, at)).objective
    monkeypatch.setattr(refine_sqp, "_ROUNDS", 1)
    program = ConvexProgram(problem, movable)
    with pytest.raises(NumericalError, match="did not come to rest"):
        program._solve(at)
    assert program.step(at)[1] == pytest.approx(expected, rel=REL)
