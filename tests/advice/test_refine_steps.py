"""Each step of refinement beside the printed program, and windows of points and unknowns, whatever the first guess."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin.advice import refine_lp, refine_sqp
from clearmargin.advice.advice_svm import AdviceProblem, BoxPremises, advice_program
from clearmargin.advice.premise_geometry import inner_radius
from clearmargin.advice.refine_lp import (
    Iterate,
    JointProgram,
    Movable,
    PointWindow,
    WindowedLP,
    read_weights,
    thinned,
)
from clearmargin.advice.refine_sqp import ConvexProgram, convex_steps, convexified_program
from clearmargin.exceptions import NumericalError
from clearmargin.solvers import solve

# Objectives agree to this share.
REL = 1e-6


def pattern_of(kind, premises, rng):
    """Which entries of F are free: all, none, the same columns in all rows, or any."""
    k, n = premises.D.shape
    if kind == "full":
        return np.ones((k, n), dtype=bool)
    if kind == "none":
        return np.zeros((k, n), dtype=bool)
    if kind == "columns":  # of each premise
        return (rng.uniform(size=(len(premises), n)) < 0.6)[premises.rule]
    if kind == "conditions":  # only what a row says something about
        return premises.D != 0
    return rng.uniform(size=(k, n)) < 0.6


def setting(seed, advice, kind, *, context=True, published=False):
    """Small random advice, what may move of it, and points of the refinement."""
    problem = advice(seed, n=(2, 4), m=(0, 15), rules=(1, 2), decades=1.0, context=context)
    rng = np.random.default_rng(seed)
    premises = problem.premises
    nu, pattern = float(rng.choice([0.05, 0.3])), pattern_of(kind, premises, rng)
    movable = Movable(premises, nu, pattern, turn_only=not published)
    free = movable.pattern & premises.numeric_rows[:, None]
    points = [random_point(problem, movable, free, rng) for _ in range(6)]
    return problem, movable, free, points


def random_point(problem, movable, free, rng):
    premises = problem.premises
    k, n = premises.D.shape
    F = np.where(free, rng.normal(size=(k, n)), 0.0)
    for r in range(k):  # what is free of the row, at right angles to it
        along = np.where(free[r], premises.D[r], 0.0)
        if along.any():
            F[r] -= (F[r] @ along) / (along @ along) * along
    F *= rng.choice([0.0, 0.3, 1.0])
    f = np.where(premises.numeric_rows, rng.normal(size=k), 0.0) * rng.choice([0.0, 0.5])
    u = rng.uniform(0.0, 2.0, size=k) * (rng.uniform(size=k) < 0.8)
    return Iterate.at(problem, movable, rng.normal(size=n), float(rng.normal()), u, F, f)


class Statement:
    """The refinement in CVXPY but for its products: weights, points, changes and prices."""

    def __init__(self, problem, movable, free):
        (m, n), premises = problem.X.shape, problem.premises
        r, k = len(premises), len(premises.d)
        self.w, self.b, self.u = cp.Variable((1, n)), cp.Variable(), cp.Variable((k, 1))
        self.F, self.f = cp.Variable((k, n)), cp.Variable((k, 1))
        self.eta, self.zeta = cp.Variable((r, n)), cp.Variable((r, 1))
        # Sums over the rows of each premise, and u beside itself for each feature.
        self.sums = np.equal.outer(np.arange(r), premises.rule).astype(float)
        self.U = self.u @ np.ones((1, n))
        z = premises.sign[:, None]
        self.zw, self.zb = z @ self.w, z * self.b
        dear = (movable.nu * premises.cost)[premises.rule]
        self.objective = (
            cp.sum(cp.abs(self.w))
            + premises.cost @ (cp.sum(self.eta, axis=1) + self.zeta[:, 0])
            + dear @ (cp.sum(cp.abs(self.F), axis=1) + cp.abs(self.f[:, 0]))
        )
        self.constraints = [
            self.u >= 0,
            self.eta >= 0,
            self.zeta >= 0,
            cp.multiply(1.0 - free, self.F) == 0,
            cp.multiply(1.0 - premises.numeric_rows[:, None], self.f) == 0,
        ]
        if movable.turn_only:  # not in the published program
            self.constraints.append(cp.sum(cp.multiply(premises.D, self.F), axis=1) == 0)
        for i, a in enumerate([] if movable.anchors is None else movable.anchors):
            rows = (premises.rule == i) & premises.numeric_rows
            if rows.any() and np.isfinite(a).all():  # nor is this
                left = (premises.D[rows] - self.F[rows]) @ a
                self.constraints.append(left <= premises.d[rows] - self.f[rows, 0])
        if m:
            xi = cp.Variable(m, nonneg=True)
            self.objective += problem.cost @ xi
            margins = cp.multiply(problem.y, problem.X @ self.w[0] + self.b)
            self.constraints.append(margins + xi >= 1)

    def value(self, solver, *constraints):
        everything = [*self.constraints, *constraints]
        return float(cp.Problem(cp.Minimize(self.objective), everything).solve(solver=solver))


def convexified_by_cvxpy(problem, movable, free, at):
    """(10) to (12); rows of the domain, and columns in which no row may turn, are in no product."""
    s, premises = Statement(problem, movable, free), problem.premises
    numeric_rows, d = premises.numeric_rows[:, None].astype(float), premises.d[:, None]
    turning = numeric_rows * ((s.sums @ free) > 0)[premises.rule]
    F0, f0, u0 = at.F, at.f[:, None], at.u[:, None]
    pull = s.sums @ cp.multiply(premises.D, s.U) + s.zw
    restricted = []
    for way in (1.0, -1.0):
        a = F0 + way * u0
        tangent = a * a / 4 + cp.multiply(a / 2, s.F - F0 + way * (s.U - u0))
        products = cp.square(s.F - way * s.U) / 4 - tangent
        restricted.append(way * pull - s.eta + s.sums @ cp.multiply(turning, products) <= 0)
    a = f0 + u0
    tangent = a * a / 4 + cp.multiply(a / 2, s.f - f0 + s.u - u0)
    products = cp.multiply(numeric_rows, cp.square(s.f - s.u) / 4 - tangent)
    advice = s.sums @ (cp.multiply(d, s.u) + products) - s.zb + 1 - s.zeta <= 0
    return s.value(cp.CLARABEL, *restricted, advice)


def linearised_by_cvxpy(problem, movable, free, at, u_radius, row_radius):
    """Products of two changes left out, and no change larger than allowed."""
    s, premises = Statement(problem, movable, free), problem.premises
    D, d, F0, f0, u0 = premises.D, premises.d[:, None], at.F, at.f[:, None], at.u[:, None]
    turned = cp.multiply(D - F0, s.U) - cp.multiply(u0 @ np.ones((1, D.shape[1])), s.F - F0)
    shifted = cp.multiply(d - f0, s.u) - cp.multiply(u0, s.f - f0)
    pull = s.sums @ turned + s.zw
    return s.value(
        cp.HIGHS,
        -s.eta <= pull,
        pull <= s.eta,
        -(s.sums @ shifted) + s.zb + s.zeta >= 1,
        cp.abs(s.u - u0) <= u_radius,
        cp.abs(s.F - F0) <= row_radius,
        cp.abs(s.f - f0) <= row_radius,
    )


def refined_by_cvxpy(problem, movable, free, u):
    """Eq. (2) with u given, a linear program in the rest."""
    s, premises = Statement(problem, movable, free), problem.premises
    weighted = s.sums * u
    pull = weighted @ (premises.D - s.F) + s.zw
    advice = -(weighted @ (premises.d[:, None] - s.f)) + s.zb + s.zeta
    return s.value(cp.HIGHS, s.u == u[:, None], -s.eta <= pull, pull <= s.eta, advice >= 1)


def step(problem, movable, at, **radii):
    program = JointProgram(problem, movable)
    try:
        return program.step(at, **radii)
    finally:
        program.close()


# The convex-concave procedure.


@pytest.mark.parametrize(
    ("seed", "kind"),
    [(seed, ("full", "columns", "full", "none")[seed % 4]) for seed in range(60)]
    + [(seed, ("entries", "conditions")[seed % 2]) for seed in range(60, 100)],
)
def test_a_convexified_step_is_the_stated_one(seed, kind, advice):
    problem, movable, free, (at, *_) = setting(seed, advice, kind, context=bool(seed % 3))
    value = solve(convexified_program(problem, movable, at)).objective
    expected = convexified_by_cvxpy(problem, movable, free, at)
    assert value == pytest.approx(expected, rel=REL, abs=1e-7)
    # The point itself satisfies the restriction, so that the step cannot be worse.
    assert value <= at.objective * (1 + 1e-7) + 1e-7


@pytest.mark.parametrize("seed", range(12))
def test_what_a_convexified_step_promises_is_kept_by_the_true_objective(seed, advice):
    problem, movable, _, (at, *_) = setting(seed, advice, "full")
    value = solve(convexified_program(problem, movable, at)).objective
    found = next(convex_steps(problem, movable, at), at)
    assert found.objective <= value * (1 + 1e-6) + 1e-6


def test_without_the_limits_of_ours_steps_are_those_of_the_published_program(advice):
    drifts = []
    for seed in range(12):
        problem, movable, free, (at, *_) = setting(seed, advice, "full", published=True)
        promised = solve(convexified_program(problem, movable, at)).objective
        expected = convexified_by_cvxpy(problem, movable, free, at)
        assert promised == pytest.approx(expected, rel=REL, abs=1e-7)
        found = next(convex_steps(problem, movable, at), at)
        assert found.objective <= promised * (1 + 1e-6) + 1e-6
        refined, value = step(problem, movable, at, u_radius=0.0)
        assert value == pytest.approx(
            refined_by_cvxpy(problem, movable, free, at.u), rel=REL, abs=1e-9
        )
        drifts.append(float(np.abs((refined.F * problem.premises.D).sum(axis=1)).max(initial=0.0)))
    assert max(drifts) > 1e-3  # rows change by a factor, which ours may not


def anchors_of(premises):
    """The middle of each premise, where it has one; every second premise has no anchor."""
    anchors = np.full((len(premises), premises.D.shape[1]), np.nan)
    for i in range(0, len(premises), 2):
        rows = premises.rule == i
        radius, middle = inner_radius(premises.D[rows], premises.d[rows])
        if radius > 0:
            anchors[i] = middle
    return anchors


def test_each_limit_of_ours_is_in_a_step_where_its_switch_is_on_and_costs_are_those_of_each_rule(
    advice,
):
    """All four settings of the two switches beside the statement with them, each rule with a cost of its own."""
    apart = np.zeros(4)
    for seed in range(4):
        problem, _, free, (at, *_) = setting(seed, advice, "full")
        premises = problem.premises
        nu = np.random.default_rng(seed).uniform(0.02, 0.3, len(premises))
        values = []
        for anchors in (anchors_of(premises), None):
            for turn_only in (True, False):
                movable = Movable(premises, nu, np.ones_like(free), anchors, turn_only)
                here = Iterate.at(problem, movable, at.w, at.b, at.u, 0 * at.F, 0 * at.f)
                _, value = step(problem, movable, here, u_radius=0.0)
                stated = refined_by_cvxpy(problem, movable, free, at.u)
                assert value == pytest.approx(stated, rel=REL, abs=1e-9)
                promised = solve(convexified_program(problem, movable, here)).objective
                expected = convexified_by_cvxpy(problem, movable, free, here)
                assert promised == pytest.approx(expected, rel=REL, abs=1e-7)
                values.append(value)
        apart = np.maximum(apart, values[0] - np.array(values))
    assert (apart[1:] > 1e-3).all()  # either limit costs something, and both together more than one


# The joint linear program.

KINDS = ("full", "columns", "entries", "conditions", "none")


@pytest.mark.parametrize("seed", range(20))
def test_with_rows_fixed_a_step_is_the_knowledge_based_svm(seed, advice, stated_optimum):
    problem, movable, _, (at, *_) = setting(seed, advice, KINDS[seed % 5])
    found, predicted = step(problem, movable, at, row_radius=0.0)
    premises = problem.premises
    moved = premises.moved(at.F, at.f)
    fixed = AdviceProblem(problem.X, problem.y, problem.cost, moved, problem.boxes)
    changes = np.abs(at.F).sum(axis=1) + np.abs(at.f)
    price = movable.nu * float(premises.cost[premises.rule] @ changes)
    expected = stated_optimum(fixed) + price
    assert predicted == pytest.approx(expected, rel=REL, abs=1e-9)
    assert found.objective == pytest.approx(expected, rel=REL, abs=1e-9)
    np.testing.assert_allclose(found.F, at.F, atol=1e-9)
    np.testing.assert_allclose(found.f, at.f, atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_with_multipliers_fixed_a_step_is_the_refinement_of_the_rows(seed, advice):
    problem, movable, free, (at, *_) = setting(seed, advice, KINDS[seed % 5])
    found, predicted = step(problem, movable, at, u_radius=0.0)
    expected = refined_by_cvxpy(problem, movable, free, at.u)
    assert predicted == pytest.approx(expected, rel=REL, abs=1e-9)
    assert found.objective == pytest.approx(expected, rel=REL, abs=1e-9)
    np.testing.assert_allclose(found.u, at.u, atol=1e-9)
    assert (found.F[~free] == 0).all()
    assert (found.f[~problem.premises.numeric_rows] == 0).all()


@pytest.mark.parametrize("seed", range(10))
def test_within_a_trust_region_a_step_is_the_stated_linearisation(seed, advice):
    problem, movable, free, (at, *_) = setting(seed, advice, KINDS[seed % 5])
    for u_radius, row_radius in ((0.5, 0.2), (2.0, 1.0)):
        found, predicted = step(problem, movable, at, u_radius=u_radius, row_radius=row_radius)
        expected = linearised_by_cvxpy(problem, movable, free, at, u_radius, row_radius)
        assert predicted == pytest.approx(expected, rel=REL, abs=1e-9)
        assert np.abs(found.u - at.u).max() <= u_radius + 1e-6
        assert np.abs(found.F - at.F).max() <= row_radius + 1e-6
        assert np.abs(found.f - at.f).max() <= row_radius + 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_after_many_steps_in_place_the_answer_is_that_of_a_new_program(seed, advice):
    problem, movable, _, points = setting(seed, advice, KINDS[seed % 5])
    rng = np.random.default_rng(seed)
    lasting = JointProgram(problem, movable)
    for at in points * 2:
        radii = [{"u_radius": 0.0}, {"row_radius": 0.0}, {"u_radius": 1.0, "row_radius": 0.3}]
        chosen = radii[rng.integers(3)]
        _, predicted = lasting.step(at, **chosen)
        _, expected = step(problem, movable, at, **chosen)
        assert predicted == pytest.approx(expected, rel=REL, abs=1e-9)
    lasting.close()


@pytest.mark.parametrize("seed", range(20))
def test_a_point_is_valued_by_the_least_errors_it_allows(seed, advice):
    problem, movable, _, (at, *_) = setting(seed, advice, "full")
    premises, value = problem.premises, float(np.abs(at.w).sum())
    for x, y, c in zip(problem.X, problem.y, problem.cost, strict=True):
        value += c * max(0.0, 1.0 - y * (at.w @ x + at.b))
    for i, (z, mu) in enumerate(zip(premises.sign, premises.cost, strict=True)):
        pull, zeta = z * at.w, 1.0 - z * at.b
        for r in np.flatnonzero(premises.rule == i):
            pull = pull + at.u[r] * (premises.D[r] - at.F[r])
            zeta += at.u[r] * (premises.d[r] - at.f[r])
            value += movable.nu * mu * (np.abs(at.F[r]).sum() + abs(at.f[r]))
        value += mu * (np.abs(pull).sum() + max(0.0, zeta))
    assert at.objective == pytest.approx(value, rel=1e-12)


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
    none = BoxPremises.none(n)
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
    problem = AdviceProblem(X, y, np.ones(13), None, BoxPremises.none(1))
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
        free = movable.pattern & problem.premises.numeric_rows[:, None]
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
    monkeypatch.setattr(refine_lp, "PointWindow", Narrow)
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
    box = BoxPremises(np.full((1, n), 0.2), np.full((1, n), 0.1), np.ones(1), np.ones(1))
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
