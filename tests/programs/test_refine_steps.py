"""Single steps of refinement, linear and convexified, against their statements in CVXPY."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from clearmargin.advice.advice_svm import AdviceProblem
from clearmargin.advice.refine_lp import Iterate, JointProgram, Movable
from clearmargin.advice.refine_sqp import convex_steps, convexified_program
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
    free = movable.pattern & premises.own[:, None]
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
    f = np.where(premises.own, rng.normal(size=k), 0.0) * rng.choice([0.0, 0.5])
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
        dear = movable.nu * premises.cost[premises.rule]
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
            cp.multiply(1.0 - premises.own[:, None], self.f) == 0,
        ]
        if movable.turn_only:  # not in the published program
            self.constraints.append(cp.sum(cp.multiply(premises.D, self.F), axis=1) == 0)
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
    own, d = premises.own[:, None].astype(float), premises.d[:, None]
    turning = own * ((s.sums @ free) > 0)[premises.rule]
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
    products = cp.multiply(own, cp.square(s.f - s.u) / 4 - tangent)
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
    assert (found.f[~problem.premises.own] == 0).all()


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
