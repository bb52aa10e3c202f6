"""Refinement of advice: where to start, how to go on, when to stop, and what is left of each premise.

The multipliers of the knowledge-based SVM are no place to start from. Where advice is wrong by more than a unit it is
given up there, u = 0, and no product with u can ever move a row. So refinement starts from the plane that the data
alone suggest and its certificate in each premise::

    minimise    M |D_i'u + z_i w|_1 + d^i'u    subject to  u >= 0,     M = 1000

which says by how much each row has to move for the premise to fit that plane. Where the data speak for a premise, in
that points of its class are in it, the one farthest on its side of that plane is its anchor, which refinement must not
lose. Without an anchor, a premise that a step leaves without any point has been rejected: it is taken out, and the
others go on without it. In the end the rows stay as they are and the plane is estimated once more; if the advice as it
was given has a lower objective with no change at all, that is the answer.

None of this is in the papers. *As published*, refinement starts from the knowledge-based SVM with the advice as it is
given and its multipliers (`start="advice"`), has no anchors (`anchors=False`), may change a row by a factor as well as
turn it (`orthogonal=False`, see `refine_lp`), and where a step leaves a premise without any point it stops at the point
before (`rejects=False`).

A premise whose cost of change is infinite stays as it is: its rows count like those of the domain.

**Successive linear programming** (`alternate`): refine with the multipliers fixed, estimate with the rows fixed, and
again. Each half-step is an exact linear program in half of the unknowns (see `refine_lp`), so that the objective never
rises, and the end is a partial minimum. With no entry of F free this is the translation of Maclin et al. (2007), which
moves the right-hand sides alone; otherwise it is the arkSVM-SLP of Kunapuli, Maclin and Shavlik.

**Joint steps** (`joint_steps`) in multipliers and rows, each a linear program within a trust region. The linearisation
of `refine_lp` is exact to first order, so that a step which is short enough and promises a decrease brings one. Unlike
successive linear programming, which puts all change on the row with the largest multiplier, a joint step weighs rows
against each other. It is not in the paper; it reaches the objectives of the convex-concave procedure by linear programs
alone. The first step moves the rows only: a joint step from rows that are far from right may find it cheaper to let go
of the multipliers, and advice that has been let go never comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from clearmargin.advice.advice_svm import AdvicePlane, AdviceProblem, solve_advice
from clearmargin.advice.premise_geometry import inner_radius, is_void, worst_margin
from clearmargin.advice.refine_lp import Iterate, JointProgram, Movable
from clearmargin.advice.refine_sqp import convex_steps
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.solvers import Linear, Program, Variables, solve

__all__ = [
    "METHODS",
    "Refined",
    "alternate",
    "find_anchors",
    "joint_steps",
    "refine_advice",
    "support_multipliers",
]


Steps = Callable[[AdviceProblem, Movable, Iterate], Iterator[Iterate]]


# Large against weights and against points of about [-1, 1].
_OFF_CERTIFICATE = 1e3


@dataclass(frozen=True, slots=True)
class Refined:
    """The result of refinement.

    Parameters
    ----------
    plane : AdvicePlane
        The plane and the multipliers; those of rejected premises are zero.
    F, f : ndarray of shape (k, n) and (k,)
        The change of each row; for a rejected premise the last one that left it some points.
    rejected : ndarray of bool of shape (r,)
        Which premises were left without any point.
    objectives : ndarray
        The objective at the start, after each step and in the end, never rising.
    n_iter : int
        Number of steps.
    converged : bool
        Whether the steps came to rest before they ran out.
    emptied : ndarray of bool of shape (r,)
        Which premises the next step would have left without any point, where that ended refinement.
    """

    plane: AdvicePlane
    F: FloatArray
    f: FloatArray
    rejected: BoolArray
    objectives: FloatArray
    n_iter: int
    converged: bool
    emptied: BoolArray


def support_multipliers(problem: AdviceProblem, w: FloatArray) -> FloatArray:
    """Find the multipliers that certify each premise, moved as far as it takes, for given weights.

    Parameters
    ----------
    problem : AdviceProblem
        The premises.
    w : ndarray of shape (n,)
        Weights.

    Returns
    -------
    ndarray of shape (k,)
        u, not negative.
    """
    premises = problem.premises
    target = -(premises.sign[:, None] * w).ravel()
    # By duality, premises count within |x| <= M here; none may be farther out than that.
    off = _OFF_CERTIFICATE * max(1.0, float(np.abs(premises.d).max(initial=0.0)))
    eye = sparse.eye_array(target.size, format="csc")
    program = Program(
        [
            Variables("u", len(premises.d), 0.0, cost=premises.d),
            Variables("over", target.size, 0.0, cost=off),
            Variables("under", target.size, 0.0, cost=off),
            Linear(
                "certificate",
                {"u": premises.spread(premises.D), "over": -eye, "under": eye},
                target,
                target,
            ),
        ]
    )
    return np.maximum(0.0, solve(program).values["u"])


def find_anchors(problem: AdviceProblem, w: FloatArray, b: float) -> FloatArray:
    """Find for each premise the point of its class that is farthest on its side of a plane.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises.
    w : ndarray of shape (n,)
        Weights.
    b : float
        Intercept.

    Returns
    -------
    ndarray of shape (r, n)
        NaN where the premise has points, but none of its class. Where it has no point of any class, what speaks for it
        is the plane: then the anchor lies halfway between its centre and its farthest corner, if that is on its side.
    """
    premises = problem.premises
    anchors = np.full((len(premises), problem.n_features), np.nan)
    scores = problem.X @ w + b
    for i, z in enumerate(premises.sign):
        D, d = premises.D[premises.rule == i], premises.d[premises.rule == i]
        left = problem.X @ D.T
        inside = np.all(left <= d + 1e-9, axis=1)
        speaks = inside & (problem.y == z)
        if speaks.any():
            anchors[i] = problem.X[np.argmax(np.where(speaks, z * scores, -np.inf))]
        elif not inside.any():
            _, corner = worst_margin(D, d, w, b, -z)
            center = inner_radius(D, d)[1]
            between = center if corner is None else (center + corner) / 2
            if z * (between @ w + b) > 0:
                anchors[i] = between
    return anchors


def refine_advice(
    problem: AdviceProblem,
    method: str,
    given: AdvicePlane,
    data_only: tuple[FloatArray, float],
    *,
    nu: float | FloatArray,
    pattern: BoolArray,
    max_iter: int,
    tol: float,
    start: str = "data",
    anchors: bool = True,
    orthogonal: bool = True,
    rejects: bool = True,
) -> Refined:
    """Refine premises until nothing moves any more.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises, all in general form with finite costs; no premise is empty.
    method : {"translate", "slp", "sqp", "trust"}
        How to go on from step to step.
    given : AdvicePlane
        The solution with the advice as it is.
    data_only : tuple of ndarray and float
        The plane of the data alone.
    nu : float or ndarray of shape (r,)
        Cost of a change of each premise relative to that of its errors; a premise for which it is infinite stays.
    pattern : ndarray of bool of shape (k, n)
        Which entries of the left-hand sides may change.
    max_iter : int
        Most steps.
    tol : float
        Stop when the objective fell by less than this share of itself over two steps.
    start : {"data", "advice"}, default "data"
        Where to begin: at the plane of the data and its certificates, or at `given`, as the papers do.
    anchors : bool, default True
        Whether a premise keeps a point that speaks for it.
    orthogonal : bool, default True
        Whether a row turns at right angles to itself; otherwise it may change by a factor, too.
    rejects : bool, default True
        Whether a premise that a step leaves without any point is taken out, and the others go on; otherwise
        refinement ends before that step.

    Returns
    -------
    Refined
        Plane, change and trace.
    """
    free = pattern & (method != "translate")
    active = np.ones(len(problem.premises), dtype=np.bool_)
    k, n = problem.premises.D.shape
    if not active.any():
        nothing = np.zeros((k, n)), np.zeros(k), active
        return Refined(given, *nothing, np.array([given.objective]), 1, True, active)
    problem, nu = _without_fixed(problem, np.broadcast_to(nu, active.shape))
    F, f = np.zeros((k, n)), np.zeros(k)
    w, b, u = given.w, given.b, given.u.copy()
    if start == "data":
        (w, b), u = data_only, support_multipliers(problem, data_only[0])
    kept = find_anchors(problem, *data_only) if anchors else np.full((len(active), n), np.nan)
    objectives: list[float] = []
    emptied = np.zeros_like(active)
    while True:
        rows = active[problem.premises.rule]
        part = replace(problem, premises=problem.premises.only(active))
        movable = Movable(part.premises, nu[active], free[rows], kept[active], orthogonal)
        begin = Iterate.at(part, movable, w, b, u[rows], F[rows], f[rows])
        last, voided, converged = _run(
            METHODS[method], part, movable, begin, max_iter, tol, objectives
        )
        w, b = last.w, last.b
        F[rows], f[rows], u[rows] = last.F, last.f, last.u
        if not rejects:
            emptied = voided
            break
        if not voided.any():
            break
        active[np.flatnonzero(active)[voided]] = False
        u[~active[problem.premises.rule]] = 0.0
        if not active.any():
            break
    ends = Movable(problem.premises, nu, free, None, orthogonal)
    refined = _close(problem, given, active, (w, b, u, F, f), ends, objectives)
    return replace(refined, converged=converged, emptied=emptied)


def _without_fixed(problem: AdviceProblem, nu: FloatArray) -> tuple[AdviceProblem, FloatArray]:
    """Fix the rows of premises that must not change, and leave finite costs."""
    premises = problem.premises
    moves = np.isfinite(nu)
    numeric_rows = premises.numeric_rows & moves[premises.rule]
    fixed = replace(problem, premises=replace(premises, numeric_rows=numeric_rows))
    return fixed, np.where(moves, nu, 0.0)


def _run(
    steps: Steps,
    problem: AdviceProblem,
    movable: Movable,
    start: Iterate,
    max_iter: int,
    tol: float,
    objectives: list[float],
) -> tuple[Iterate, BoolArray, bool]:
    """Go on until nothing moves, or until a premise has lost its last point.

    Returns the last iterate in which every premise has points, which of them would have none in the next, and whether
    the steps came to rest.
    """
    best, nothing = start, np.zeros(len(problem.premises), dtype=np.bool_)
    if not objectives:
        objectives.append(start.objective)
    values = [start.objective]
    for found in steps(problem, movable, start):
        voided = _voided(problem, found, best, movable.anchors)
        if voided.any():
            return best, voided, True
        best = found
        values.append(found.objective)
        objectives.append(min(objectives[-1], found.objective))
        if len(values) > 2 and values[-3] - values[-1] <= tol * values[-1]:
            return best, nothing, True
        if len(objectives) > max_iter:
            return best, nothing, False
    return best, nothing, True


def _voided(
    problem: AdviceProblem, found: Iterate, before: Iterate, anchors: FloatArray | None
) -> BoolArray:
    """Return which premises have no point any more; only those that changed and have no anchor are asked."""
    premises = problem.premises
    changed = (found.F != before.F).any(axis=1) | (found.f != before.f)
    if anchors is not None:
        changed &= np.isnan(anchors[premises.rule]).any(axis=1)
    voided = np.zeros(len(premises), dtype=np.bool_)
    moved = premises.moved(found.F, found.f)
    for i in np.unique(premises.rule[changed]):
        rows = premises.rule == i
        voided[i] = is_void(moved.D[rows], moved.d[rows])
    return voided


def _close(
    problem: AdviceProblem,
    given: AdvicePlane,
    active: BoolArray,
    last: tuple[FloatArray, float, FloatArray, FloatArray, FloatArray],
    ends: Movable,
    objectives: list[float],
) -> Refined:
    """Estimate the plane once more with the rows as they are now, and compare with no change at all."""
    w, b, u, F, f = last
    rows, none = active[problem.premises.rule], np.zeros_like(active)
    part = replace(problem, premises=problem.premises.only(active))
    if active.any():
        nu = np.asarray(ends.nu)[active]
        movable = Movable(part.premises, nu, ends.pattern[rows], None, ends.turn_only)
        program = JointProgram(part, movable)
        best = Iterate.at(part, movable, w, b, u[rows], F[rows], f[rows])
        found, _ = program.step(best, row_radius=0.0)
        program.close()
        if found.objective < best.objective:
            best = found
            w, b, u[rows] = found.w, found.b, found.u
        value = best.objective
    else:
        alone = solve_advice(part)
        w, b, value = alone.w, alone.b, alone.objective
    n_iter = max(1, len(objectives) - 1)
    objectives.append(min(objectives[-1], value))
    if active.all() and given.objective <= value:
        objectives[-1] = given.objective
        nothing = np.zeros_like(F), np.zeros_like(f)
        return Refined(given, *nothing, ~active, np.array(objectives), n_iter, True, none)
    plane = AdvicePlane(w, b, u, value)
    return Refined(plane, F, f, ~active, np.array(objectives), n_iter, True, none)


def alternate(problem: AdviceProblem, movable: Movable, start: Iterate) -> Iterator[Iterate]:
    """Give the iterates, one for each linear program, as long as the objective falls.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises.
    movable : Movable
        What may change.
    start : Iterate
        Where to begin; its multipliers decide which rows can move at all.

    Yields
    ------
    Iterate
        Each no worse than the one before; the last ones differ by less than rounding.
    """
    program = JointProgram(problem, movable)
    try:
        best, refining, stalled = start, True, 0
        while stalled < 2:  # neither half-step finds anything
            radii = {"u_radius": 0.0} if refining else {"row_radius": 0.0}
            found, _ = program.step(best, **radii)
            if found.objective < best.objective:
                is_small = best.objective - found.objective <= 1e-10 * best.objective
                best, stalled = found, stalled + 1 if is_small else 0
            else:
                stalled += 1
            yield best
            refining = not refining
    finally:
        program.close()


# The usual constants of a trust region: what counts as success, and how the region follows.
_ENOUGH, _GOOD = 0.1, 0.7


_SHRINK, _GROW = 0.25, 2.0


# Features are scaled to about [-1, 1] and rows to unit norm, so that 1 is as far as any row has to go.
_FIRST_RADIUS, _LEAST_RADIUS = 1.0, 1e-6


def joint_steps(problem: AdviceProblem, movable: Movable, start: Iterate) -> Iterator[Iterate]:
    """Give the iterates, one for each linear program, until the trust region has shrunk to nothing.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises.
    movable : Movable
        What may change.
    start : Iterate
        Where to begin.

    Yields
    ------
    Iterate
        Each no worse than the one before.
    """
    program = JointProgram(problem, movable)
    try:
        best, radius = start, _FIRST_RADIUS
        found, _ = program.step(best, u_radius=0.0)
        if found.objective < best.objective:
            best = found
            yield best
        while radius >= _LEAST_RADIUS:
            scale = max(1.0, float(best.u.max(initial=0.0)))
            found, predicted = program.step(best, u_radius=radius * scale, row_radius=radius)
            promise = best.objective - predicted
            gain = best.objective - found.objective
            if promise <= 1e-9 * best.objective:
                return
            if gain >= _ENOUGH * promise:
                best = found
                radius *= _GROW if gain >= _GOOD * promise else 1.0
                yield best
            else:
                size = max(
                    float(np.abs(found.u - best.u).max(initial=0.0)) / scale,
                    float(np.abs(found.F - best.F).max(initial=0.0)),
                    float(np.abs(found.f - best.f).max(initial=0.0)),
                )
                radius = _SHRINK * min(radius, size)
    finally:
        program.close()


METHODS: dict[str, Steps] = {
    "translate": alternate,
    "slp": alternate,
    "sqp": convex_steps,
    "trust": joint_steps,
}
