"""Refinement of advice: premises D_i x <= d^i become (D_i - F_i) x <= d^i - f^i where that pays.

Eq. (2) of Kunapuli, Maclin and Shavlik::

    minimise    ||w||_1 + sum_j c_j xi_j + sum_i mu_i (e'eta^i + zeta_i + nu (||F_i||_1 + ||f^i||_1))
    subject to  y_j (x_j'w + b) + xi_j >= 1
                -eta^i <= (D_i - F_i)'u^i + z_i w <= eta^i
                -(d^i - f^i)'u^i + z_i b + zeta_i >= 1
                xi, u, eta, zeta >= 0

nu is relative to mu: a rule moves at all only where max(u^i) > nu, whatever mu is. Only rows of the rule itself move,
not those of the domain around it, and never those of categories.

**Steps.** The products F'u and f'u are linear when either factor is fixed. "slp" fixes u and refines, fixes F and f and
estimates u, and again: two exact linear programs, so that the objective never rises (arkSVM-SLP). "translate" is the
same without F (Maclin et al. 2007). "sqp" writes each product as a difference of squares,
``r's = |r + s|^2 / 4 - |r - s|^2 / 4``, and replaces the concave part by its tangent at the point before (eqs. 10 to 12
of the paper): a program with one cone for each constraint that has products, whose solution satisfies (2).

**Starts.** The published start is the knowledge-based SVM with the advice as it is given. Where advice is wrong by more
than a unit it is given up there, u = 0, and no product with u can ever move a row. So refinement also starts from the
plane of the points alone and its certificate in each premise::

    minimise    M |D_i'u + z_i w|_1 + d^i'u    subject to  u >= 0,     M = 1000

which says by how much each row has to move for the premise to fit that plane; the lower end wins. As published
(`published=True`) there is the first start only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from clearmargin.advice.advice_svm import AdvicePlane, AdviceProblem, Premises, solve_advice
from clearmargin.exceptions import SolverError
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.solvers import Cone, Linear, Program, Variables, solve

METHODS = ("translate", "slp", "sqp")
# The price of being off a certificate: large against weights and against points of about [-1, 1].
_OFF_CERTIFICATE = 1e3


@dataclass(frozen=True, slots=True)
class Refined:
    """Where refinement ended: the plane with its multipliers, the change of each row, the objective after each step."""

    plane: AdvicePlane
    F: FloatArray
    f: FloatArray
    objectives: FloatArray
    converged: bool

    def after(self, plane: AdvicePlane, F: FloatArray, f: FloatArray, value: float) -> Refined:
        """Return the point after a step."""
        plane = replace(plane, objective=value)
        return Refined(plane, F, f, np.append(self.objectives, value), self.converged)


@dataclass(frozen=True)
class Refinement:
    """A problem whose premises may change: in the entries `turns` of D (row, column), and in the rows `shifts` of d."""

    problem: AdviceProblem
    nu: float
    turning: BoolArray
    turns: tuple[IntArray, IntArray] = field(init=False)
    shifts: IntArray = field(init=False)

    def __post_init__(self) -> None:
        own = self.problem.premises.numeric_rows
        object.__setattr__(self, "turns", np.nonzero(self.turning & own[:, None]))
        object.__setattr__(self, "shifts", np.flatnonzero(own))

    def value(self, plane: AdvicePlane, F: FloatArray, f: FloatArray) -> float:
        """Evaluate (2) at a point, every error as small as it can be."""
        premises = self.problem.premises
        moved = replace(self.problem, premises=premises.moved(F, f))
        price = self.nu * premises.cost[premises.rule] @ (np.abs(F).sum(axis=1) + np.abs(f))
        return moved.objective(plane.w, plane.b, plane.u) + float(price)

    def blocks(self) -> list[Variables | Linear]:
        """Build the unknowns of a step, and the rows of the points."""
        problem, premises = self.problem, self.problem.premises
        m, n = problem.X.shape
        signed = problem.X * problem.y[:, None]
        price = self.nu * premises.cost[premises.rule]
        sizes: dict[str, tuple[int, Any]] = {
            "p": (n, 1.0),
            "q": (n, 1.0),
            "xi": (m, problem.cost),
            "eta": (len(premises) * n, np.repeat(premises.cost, n)),
            "zeta": (len(premises), premises.cost),
            **{name: (len(self.turns[0]), price[self.turns[0]]) for name in ("F_up", "F_down")},
            **{name: (len(self.shifts), price[self.shifts]) for name in ("f_up", "f_down")},
        }
        unknowns = [Variables(name, k, 0.0, cost=cost) for name, (k, cost) in sizes.items()]
        terms: dict[str, Any] = {
            "p": signed,
            "q": -signed,
            "b": problem.y[:, None],
            "xi": sparse.eye_array(m),
        }
        return [*unknowns, Variables("b", 1), Linear("margins", terms, lower=1.0)]

    def read(self, values: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Read F and f out of a solution."""
        premises = self.problem.premises
        F, f = np.zeros_like(premises.D), np.zeros_like(premises.d)
        F[self.turns] = values["F_up"] - values["F_down"]
        f[self.shifts] = values["f_up"] - values["f_down"]
        return F, f


def _entries(rows: IntArray, values: FloatArray, n_rows: int) -> Any:
    """Make a matrix with one entry in each column."""
    return sparse.csc_array((values, (rows, np.arange(len(values)))), (n_rows, len(values)))


def refine_advice(
    task: Refinement, method: str, max_iter: int, tol: float, *, published: bool
) -> Refined:
    """Refine premises until nothing moves any more, from one start or two; the lower end wins."""
    problem = task.problem
    given = solve_advice(problem)
    nothing = np.zeros_like(problem.premises.D), np.zeros_like(problem.premises.d)
    best = Refined(given, *nothing, np.array([given.objective]), converged=True)
    starts = [best]
    if not published:
        none = Premises.stack([], np.zeros(0), np.zeros(0), problem.X.shape[1])
        alone = solve_advice(replace(problem, premises=none))
        alone = replace(alone, u=_certificates(problem.premises, alone.w))
        value = task.value(alone, *nothing)
        alone = replace(alone, objective=value)
        starts.append(Refined(alone, *nothing, np.array([value]), converged=True))
    for start in starts:
        found = _run(task, method, start, max_iter, tol)
        if found.plane.objective < best.plane.objective:
            best = found
    return best


def _run(task: Refinement, method: str, start: Refined, max_iter: int, tol: float) -> Refined:
    """Take steps as long as the objective falls."""
    best = start
    steps = _convex_steps if method == "sqp" else _linear_steps
    for n_steps, found in enumerate(steps(task, start), start=1):
        falls = found.plane.objective < best.plane.objective
        best = found if falls else best
        values = best.objectives
        if not falls and (method == "sqp" or n_steps > 1):
            break
        if len(values) > 2 and values[-3] - values[-1] <= tol * values[-1]:
            break
        if n_steps == max_iter:
            return replace(best, converged=False)
    return best


def _certificates(premises: Premises, w: FloatArray) -> FloatArray:
    """Find the multipliers that certify each premise, moved as far as it takes, for given weights."""
    target = -(premises.sign[:, None] * w).ravel()
    # By duality, premises count within |x| <= M here; none may be farther out than that.
    off = _OFF_CERTIFICATE * max(1.0, float(np.abs(premises.d).max(initial=0.0)))
    eye = sparse.eye_array(target.size, format="csc")
    blocks: list[Variables | Linear] = [
        Variables("u", len(premises.d), 0.0, cost=premises.d),
        Variables("over", target.size, 0.0, cost=off),
        Variables("under", target.size, 0.0, cost=off),
        Linear("all", {"u": premises.spread, "over": -eye, "under": eye}, target, target),
    ]
    return np.maximum(0.0, solve(Program(blocks)).values["u"])


def _linear_steps(task: Refinement, at: Refined) -> Iterator[Refined]:
    """Refine with the multipliers fixed, estimate with the rows fixed, and again."""
    premises = task.problem.premises
    n, r = premises.D.shape[1], len(premises)
    blocks = task.blocks()
    weights = sparse.kron(premises.sign[:, None], sparse.eye_array(n), format="csc")
    while True:
        u = at.plane.u
        row, column = task.turns
        turn = _entries(premises.rule[row] * n + column, u[row], r * n)
        shift = _entries(premises.rule[task.shifts], u[task.shifts], r)
        eye, target = sparse.eye_array(r * n, format="csc"), -np.asarray(premises.spread @ u)
        pull = {"p": weights, "q": -weights, "F_up": -turn, "F_down": turn}
        price = {
            "b": premises.sign[:, None],
            "zeta": sparse.eye_array(r, format="csc"),
            "f_up": shift,
            "f_down": -shift,
        }
        rows = [
            Linear("over", {**pull, "eta": -eye}, upper=target),
            Linear("under", {**pull, "eta": eye}, lower=target),
            Linear("advice", price, lower=1.0 + premises.totals(premises.d * u)),
        ]
        try:
            values = solve(Program([*blocks, *rows])).values
        except SolverError:
            return
        F, f = task.read(values)
        plane = replace(at.plane, w=values["p"] - values["q"], b=float(values["b"][0]))
        found = at.after(plane, F, f, task.value(plane, F, f))
        at = found if found.plane.objective < at.plane.objective else at
        yield found
        moved = replace(task.problem, premises=premises.moved(at.F, at.f))
        plane = solve_advice(moved)
        found = at.after(plane, at.F, at.f, task.value(plane, at.F, at.f))
        at = found if found.plane.objective < at.plane.objective else at
        yield found


def _convex_steps(task: Refinement, at: Refined) -> Iterator[Refined]:
    """Solve the convex restriction around the point before, and again."""
    blocks = [*task.blocks(), Variables("u", len(task.problem.premises.d), 0.0)]
    while True:
        try:
            values = solve(Program([*blocks, _cones(task, at)])).values
        except SolverError:
            return
        plane = AdvicePlane(
            values["p"] - values["q"], float(values["b"][0]), np.maximum(0.0, values["u"]), 0.0
        )
        F, f = task.read(values)
        at = at.after(plane, F, f, task.value(plane, F, f))
        yield at


def _cones(task: Refinement, at: Refined) -> Cone:
    """Build the constraints with products: what is left of each is at least the squares of its sums, over four.

    A bound ``v >= |s|^2 / 4`` is the cone ``v + 1 >= |(v - 1, s)|``; all have as many rows as the longest one.
    """
    premises, n = task.problem.premises, task.problem.X.shape[1]
    row, column = task.turns
    longest = int(np.bincount(premises.rule[task.shifts], minlength=1).max(initial=0))
    size = 2 + longest
    entries: dict[str, list[tuple[int, int, float]]] = {}
    offset: list[float] = []

    def put(name: str, line: int, places: Any, values: Any) -> None:
        places, values = np.broadcast_arrays(np.atleast_1d(places), values)
        found = entries.setdefault(name, [])
        found += [(line, int(k), float(v)) for k, v in zip(places, values, strict=True) if v]

    def bound(value: list[tuple[str, Any, Any]], constant: float, squares: list[Any]) -> None:
        """Add one cone, of what is left and of the sums ``up - down + by * u`` that are squared."""
        line = len(offset)
        offset.extend([constant + 1.0, constant - 1.0, *[0.0] * longest])
        for name, places, values in value:
            put(name, line, places, values)
            put(name, line + 1, places, values)
        for k, (name, place, u, by) in enumerate(squares):
            put(f"{name}_up", line + 2 + k, place, 1.0)
            put(f"{name}_down", line + 2 + k, place, -1.0)
            put("u", line + 2 + k, u, by)

    for i, z in enumerate(premises.sign.tolist()):
        mine = np.flatnonzero(premises.rule == i)
        for j in range(n):
            free = np.flatnonzero((premises.rule[row] == i) & (column == j))
            turned = row[free]
            for sign in (1.0, -1.0):
                tangent = 0.5 * (at.F[turned, j] + sign * at.plane.u[turned])
                left = [
                    ("eta", i * n + j, 1.0),
                    ("p", j, -sign * z),
                    ("q", j, sign * z),
                    ("u", mine, -sign * premises.D[mine, j]),
                    ("F_up", free, tangent),
                    ("F_down", free, -tangent),
                    ("u", turned, sign * tangent),
                ]
                squares = [("F", k, r, -sign) for k, r in zip(free, turned, strict=True)]
                bound(left, -float(tangent @ tangent), squares)
        shifts = np.flatnonzero(premises.rule[task.shifts] == i)
        moved = task.shifts[shifts]
        tangent = 0.5 * (at.f[moved] + at.plane.u[moved])
        left = [
            ("zeta", i, 1.0),
            ("b", 0, z),
            ("u", mine, -premises.d[mine]),
            ("f_up", shifts, tangent),
            ("f_down", shifts, -tangent),
            ("u", moved, tangent),
        ]
        squares = [("f", k, r, -1.0) for k, r in zip(shifts, moved, strict=True)]
        bound(left, -1.0 - float(tangent @ tangent), squares)
    sizes = {block.name: block.size for block in task.blocks() if isinstance(block, Variables)}
    sizes["u"] = len(premises.d)
    terms = {}
    for name, found in entries.items():
        lines, places, values = zip(*found, strict=True)
        terms[name] = sparse.csc_array((values, (lines, places)), (len(offset), sizes[name]))
    return Cone("products", terms, np.array(offset), size)
