r"""The convex-concave procedure: each step a second-order cone program that is safe to accept.

A product is a difference of convex functions, ``r's = ||r + s||^2 / 4 - ||r - s||^2 / 4``. Replacing the concave part
by its tangent at (F^, f^, u^) turns the constraints of the refinement (see `refine_lp`) into, for each premise i and
feature j, with F_ij the column j of F_i::

     D_ij'u + z w_j - eta_j + ||F_ij - u||^2 / 4  <=  a'(F_ij + u) / 2 - a'a / 4,     a = F^_ij + u^
    -D_ij'u - z w_j - eta_j + ||F_ij + u||^2 / 4  <=  a'(F_ij - u) / 2 - a'a / 4,     a = F^_ij - u^
     d'u - z b + 1 - zeta   + ||f - u||^2 / 4     <=  a'(f + u) / 2 - a'a / 4,        a = f^ + u^

These are restrictions of the true constraints that hold at the point itself, so that every step is feasible and the
objective never rises (Kunapuli, Maclin and Shavlik, whose third line has the old f where the new one is meant). Only
rows of the rule itself are in the products. ``||v||^2 / 4 <= t`` is the cone ``||(1 - t, v)|| <= 1 + t``.

`convexified_program` builds this program as it is printed. `ConvexProgram` solves the same one over windows of points
(see `refine_window`) and of unknowns (see `refine_cones`) that go from step to step, in a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from clearmargin.advice.advice_svm import (
    AdviceProblem,
    FloatArray,
    IntArray,
    plane_blocks,
    premise_blocks,
)
from clearmargin.advice.refine_cones import ReducedCones
from clearmargin.advice.refine_frame import ConeFrame
from clearmargin.advice.refine_lp import Iterate, Movable, limits_of_change
from clearmargin.advice.refine_window import PointWindow
from clearmargin.exceptions import NumericalError, SolverError
from clearmargin.solvers import Cone, Linear, Program, Variables, solve

__all__ = ["ConvexProgram", "convex_steps", "convexified_program"]

# Reduced costs and entries that are nothing for an interior point method, and those it may not have settled.
_TOLERANCE, _TRACE, _SMALL = 1e-6, 1e-8, 1e-5
# Windows come to rest after a few rounds.
_ROUNDS = 30
# After the first step the plane moves little, and a window of points that is wider than this is made anew.
_WIDE = 1.5


def convex_steps(problem: AdviceProblem, movable: Movable, start: Iterate) -> Iterator[Iterate]:
    """Give the iterates, one for each cone program, as long as the objective falls.

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
        Each better than the one before.
    """
    program = ConvexProgram(problem, movable)
    best = start
    while True:
        try:
            found, _ = program.step(best)
        except SolverError:
            return  # what has been reached is feasible, however the next step ends
        if found.objective >= best.objective:
            return
        best = found
        yield best


class ConvexProgram:
    """The cone program inside Clarabel, over windows of unknowns and points that go from step to step.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises; all costs finite.
    movable : Movable
        What may change.
    """

    def __init__(self, problem: AdviceProblem, movable: Movable):
        self._problem, self._movable = problem, movable
        self._frame = ConeFrame(problem, movable)
        self._reduced: ReducedCones | None = None

    def step(self, at: Iterate) -> tuple[Iterate, float]:
        """Minimise the convexified program around a point.

        Parameters
        ----------
        at : Iterate
            The point.

        Returns
        -------
        iterate : Iterate
            The optimum of the cone program, valued by the true objective.
        predicted : float
            Its value in the cone program.

        Raises
        ------
        SolverError
            If Clarabel breaks down.
        """
        try:
            return self._solve(at)
        except SolverError:
            # Without windows it is another program for the solver, which may do better there.
            self._reduced = None
            solution = solve(convexified_program(self._problem, self._movable, at), explain=False)
            return _read(self._problem, self._movable, solution.values), solution.objective

    def _solve(self, at: Iterate) -> tuple[Iterate, float]:
        """Solve over windows, and widen them until nothing is missing."""
        if len(self._problem.boxes):
            raise NumericalError("boxes have no place in the compact form")
        frame, reduced = self._frame, self._begin(at)
        for _ in range(_ROUNDS):
            found = reduced.solve(at)
            price = reduced.reduced_costs(at, found)
            lacking = frame.most_wanted(np.where(reduced.used, 0.0, price), _TOLERANCE)
            w, b, rest = frame.plane(found.x)
            window = reduced.window
            joining = window.contradicting(w, b, rest, found.objective)
            if not lacking.any() and not joining.size:
                break
            if joining.size:
                window.widen(joining[: window.size], w, b)
            reduced = ReducedCones(frame, reduced.used | lacking, window)
        else:
            raise NumericalError("the windows of the cone program did not come to rest")
        # Of what an interior point method leaves over and what is merely small, the reduced cost tells.
        x = found.x[: frame.size]
        x[frame.optional & (x < np.minimum(_SMALL, price))] = 0.0
        self._reduced, self._idle = reduced, frame.opposites(x)
        values = {name: x[place] for name, place in frame.at.items()}
        return _read(self._problem, self._movable, values), found.objective

    def _begin(self, at: Iterate) -> ReducedCones:
        """The program of the last step, if it has everything that is not zero now and not too many points."""
        frame, reduced = self._frame, self._reduced
        used = frame.guess(at)
        if reduced is None:
            return ReducedCones(frame, used, PointWindow(self._problem, at.w, at.b))
        m, n = self._problem.X.shape
        size, window = 2 * (n + 1) + int(np.sqrt(m)), reduced.window
        is_wide = window.kept.size > _WIDE * size
        if is_wide:
            window = PointWindow(self._problem, at.w, at.b, size)
        used |= reduced.used & ~self._idle
        if is_wide or not np.array_equal(used, reduced.used):
            return ReducedCones(frame, used, window)
        return reduced


def convexified_program(problem: AdviceProblem, movable: Movable, at: Iterate) -> Program:
    """Build the cone program at the head of this file around a point.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises.
    movable : Movable
        What may change.
    at : Iterate
        The point.

    Returns
    -------
    Program
        A convex program, linear but for its cones.
    """
    premises = problem.premises
    blocks = {block.name: block for block in plane_blocks(problem)}
    rows = {block.name: block for block in premise_blocks(premises, premises.D, premises.d)}
    blocks |= {name: rows.pop(name) for name in ("u", "eta", "zeta")}
    for name, cost in (("F", movable.turn_cost()), ("f", movable.shift_cost())):
        if cost.size:
            for way in ("up", "down"):
                blocks[f"{name}_{way}"] = Variables(f"{name}_{way}", cost.size, 0.0, cost=cost)
    turning = np.zeros(len(premises) * problem.n_features, dtype=np.bool_)
    turning[premises.rule[movable.row] * problem.n_features + movable.column] = True
    shifting = np.zeros(len(premises), dtype=np.bool_)
    shifting[premises.rule[movable.shift]] = True
    linear = [
        *(_rows(rows[name], ~turning) for name in ("above", "below") if not turning.all()),
        *([] if shifting.all() else [_rows(rows["advice"], ~shifting)]),
    ]
    # Premises with equally many rows share one block, because making many small matrices is what takes time.
    groups: dict[int, _Entries] = {}
    for i in np.flatnonzero(shifting):
        size = int(premises.own[premises.rule == i].sum()) + 2
        _add_cones(groups.setdefault(size, _Entries(size)), problem, movable, at, int(i))
    sizes = {name: block.size for name, block in blocks.items() if isinstance(block, Variables)}
    cones = [group.cone(sizes) for group in groups.values()]
    return Program([*blocks.values(), *linear, *limits_of_change(movable), *cones])


def _rows(block: Variables | Linear, chosen: np.ndarray) -> Linear:
    """Some of the rows of a block."""
    assert isinstance(block, Linear)
    terms = {name: matrix.array[chosen] for name, matrix in block.terms.items()}
    return Linear(block.name, terms, block.lower[chosen], block.upper[chosen])


@dataclass
class _Entries:
    """Coefficients of cones of one size, collected variable by variable."""

    size: int
    offsets: list[FloatArray] = field(default_factory=list)
    found: dict[str, list[tuple[IntArray, IntArray, FloatArray]]] = field(default_factory=dict)

    def new(self, squares: FloatArray) -> IntArray:
        """Begin a cone for each t with the constant -squares / 4; where its row 1 + t is. Then come 1 - t and v."""
        first = self.size * (sum(map(len, self.offsets)) + np.arange(len(squares)))
        offset = np.zeros((len(squares), self.size))
        offset[:, 0] = 1.0 - squares / 4
        offset[:, 1] = 1.0 + squares / 4
        self.offsets.append(offset)
        return first

    def add(self, name: str, row: IntArray, column: IntArray, value: FloatArray | float) -> None:
        row, column, values = np.broadcast_arrays(row, column, np.asarray(value, dtype=np.float64))
        there = column >= 0  # an entry of F that is not free has no column
        self.found.setdefault(name, []).append((row[there], column[there], values[there]))

    def add_both(
        self, name: str, row: IntArray, column: IntArray, value: FloatArray | float
    ) -> None:
        """A coefficient of t: in 1 + t, and with the other sign in 1 - t, which is the next row."""
        self.add(name, row, column, value)
        self.add(name, row + 1, column, -np.asarray(value, dtype=np.float64))

    def cone(self, sizes: dict[str, int]) -> Cone:
        offset = np.concatenate(self.offsets).ravel()
        terms: dict[str, Any] = {}
        for name, parts in self.found.items():
            row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
            shape = offset.size, sizes[name]
            terms[name] = sparse.csc_array((value, (row, column)), shape=shape)
        return Cone(f"cones of {self.size}", terms, offset, self.size)


def _add_cones(
    cone: _Entries, problem: AdviceProblem, movable: Movable, at: Iterate, i: int
) -> None:
    """Add the cones of one premise, one for each free column and side, and one for its shifts."""
    premises, n = problem.premises, problem.n_features
    every = np.flatnonzero(premises.rule == i)
    own = every[premises.own[every]]
    z = premises.sign[i]
    free = movable.number[own]
    columns = np.flatnonzero((free >= 0).any(axis=0))
    turn = free[:, columns]
    for s in (1.0, -1.0) if len(columns) else ():
        a = at.F[np.ix_(own, columns)] + s * at.u[own][:, None]
        first = cone.new((a * a).sum(axis=0))
        vector = first + 2 + np.arange(len(own))[:, None]
        for way, unit in (("F_up", 1.0), ("F_down", -1.0)):
            cone.add_both(way, first, turn, unit * a / 2)
            cone.add(way, vector, turn, unit)
        cone.add_both("u", first, own[:, None], s * a / 2)
        cone.add_both("u", first, every[:, None], -s * premises.D[np.ix_(every, columns)])
        cone.add("u", vector, own[:, None], -s)
        cone.add_both("p", first, columns, -s * z)
        cone.add_both("q", first, columns, s * z)
        cone.add_both("eta", first, i * n + columns, 1.0)
    a = at.f[own] + at.u[own]
    shift = np.searchsorted(movable.shift, own)
    # t has the constant -1 besides -a'a / 4.
    start = cone.new(np.array([a @ a + 4.0]))
    vector = start + 2 + np.arange(len(own))
    for way, unit in (("f_up", 1.0), ("f_down", -1.0)):
        cone.add_both(way, start, shift, unit * a / 2)
        cone.add(way, vector, shift, unit)
    cone.add_both("u", start, own, a / 2)
    cone.add_both("u", start, every, -premises.d[every])
    cone.add("u", vector, own, -1.0)
    cone.add_both("zeta", start, np.array([i]), 1.0)
    cone.add_both("b", start, np.zeros(1, dtype=np.intp), z)


def _read(problem: AdviceProblem, movable: Movable, values: Mapping[str, FloatArray]) -> Iterate:
    F, f = movable.read(values)
    w, b, u = values["p"] - values["q"], float(values["b"][0]), np.maximum(0.0, values["u"])
    # An interior point method leaves traces where there is nothing.
    F, f, u = (np.where(np.abs(part) > _TRACE, part, 0.0) for part in (F, f, u))
    return Iterate.at(problem, movable, w, b, u, F, f)
