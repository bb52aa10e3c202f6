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
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from clearmargin.exceptions import SolverError
from clearmargin.optim import Cone, Linear, Program, Solution, Variables, solve
from clearmargin.programs.advice_svm import (
    AdviceProblem,
    FloatArray,
    IntArray,
    plane_blocks,
    premise_blocks,
)
from clearmargin.programs.refine_lp import Iterate, Movable, limits_of_change

__all__ = ["convex_steps", "convexified_program"]


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
    best = start
    while True:
        try:
            solution = solve(convexified_program(problem, movable, best), explain=False)
        except SolverError:
            return  # what has been reached is feasible, however the next step ends
        found = _read(problem, movable, solution)
        if found.objective >= best.objective:
            return
        best = found
        yield best


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
    cones = [
        cone
        for i in np.flatnonzero(shifting)
        for cone in _premise_cones(problem, movable, at, int(i))
    ]
    return Program([*blocks.values(), *linear, *limits_of_change(movable), *cones])


def _rows(block: Variables | Linear, chosen: np.ndarray) -> Linear:
    """Some of the rows of a block."""
    assert isinstance(block, Linear)
    terms = {name: matrix.array[chosen] for name, matrix in block.terms.items()}
    return Linear(block.name, terms, block.lower[chosen], block.upper[chosen])


@dataclass
class _Entries:
    """Coefficients of one cone block, collected variable by variable."""

    rows: int
    found: dict[str, list[tuple[IntArray, IntArray, FloatArray]]] = field(default_factory=dict)

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

    def terms(self, sizes: dict[str, int]) -> dict[str, sparse.csc_array[np.float64]]:
        made = {}
        for name, parts in self.found.items():
            row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
            made[name] = sparse.csc_array((value, (row, column)), shape=(self.rows, sizes[name]))
        return made


def _premise_cones(problem: AdviceProblem, movable: Movable, at: Iterate, i: int) -> Iterator[Cone]:
    premises, n = problem.premises, problem.n_features
    every = np.flatnonzero(premises.rule == i)
    own = every[premises.own[every]]
    sizes = {
        "p": n,
        "q": n,
        "b": 1,
        "u": len(premises.d),
        "eta": len(premises) * n,
        "zeta": len(premises),
        "F_up": movable.row.size,
        "F_down": movable.row.size,
        "f_up": movable.shift.size,
        "f_down": movable.shift.size,
    }
    z = premises.sign[i]
    free = movable.number[own]
    columns = np.flatnonzero((free >= 0).any(axis=0))
    size = len(own) + 2
    # One cone for each free column, first the row 1 + t, then 1 - t, then the vector.
    first = size * np.arange(len(columns))
    for s, name in ((1.0, "above"), (-1.0, "below")):
        if not len(columns):
            break
        cone = _Entries(size * len(columns))
        a = at.F[np.ix_(own, columns)] + s * at.u[own][:, None]
        turn = free[:, columns]
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
        yield Cone(f"{name} {i}", cone.terms(sizes), _offset((a * a).sum(axis=0), size), size)
    cone = _Entries(size)
    a = at.f[own] + at.u[own]
    shift = np.searchsorted(movable.shift, own)
    start, vector = np.zeros(1, dtype=np.intp), 2 + np.arange(len(own))
    for way, unit in (("f_up", 1.0), ("f_down", -1.0)):
        cone.add_both(way, start, shift, unit * a / 2)
        cone.add(way, vector, shift, unit)
    cone.add_both("u", start, own, a / 2)
    cone.add_both("u", start, every, -premises.d[every])
    cone.add("u", vector, own, -1.0)
    one = np.array([i])
    cone.add_both("zeta", start, one, 1.0)
    cone.add_both("b", start, start, z)
    # t has the constant -1 besides -a'a / 4.
    offset = _offset(np.array([a @ a + 4.0]), size)
    yield Cone(f"advice {i}", cone.terms(sizes), offset, size)


def _offset(squares: FloatArray, size: int) -> FloatArray:
    """Constants of cones: 1 + t and 1 - t with t = -squares / 4."""
    offset = np.zeros((len(squares), size))
    offset[:, 0] = 1.0 - squares / 4
    offset[:, 1] = 1.0 + squares / 4
    return offset.ravel()


def _read(problem: AdviceProblem, movable: Movable, solution: Solution) -> Iterate:
    values = solution.values
    F, f = movable.read(values)
    w, b, u = values["p"] - values["q"], float(values["b"][0]), np.maximum(0.0, values["u"])
    return Iterate.at(problem, movable, w, b, u, F, f)
