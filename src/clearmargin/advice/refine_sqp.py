"""The convex-concave procedure: each step a second-order cone program that is safe to accept.

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
(see `refine_lp`) and of unknowns that go from step to step, in a fraction of the time.

**Compact form** (`ConeFrame`, `ReducedCones`). With the changes ``dF = F - F^``, ``df = f - f^`` and ``du = u - u^`` of
a step, the constraints above are, for each premise i and feature j::

    eta_j >=  s + ||dF_j - du||^2 / 4        s = D_j'u + z w_j - F^_j'u - F_j'u^ + F^_j'u^
    eta_j >= -s + ||dF_j + du||^2 / 4
    zeta  >= 1 - z b + d'u - f^'u - f'u^ + f^'u^ + ||df - du||^2 / 4

Most entries of F and f are zero and stay so. One that is left out of the program, at zero, leaves du_r^2 / 4 in each of
the squares it belongs to. So there is one unknown T_r >= du_r^2 / 4 for each row, which stands in wherever an entry of
that row is left out; one number stands for the losses of all points outside the window. Since every constraint only
gets tighter with T_r, that changes nothing. What is left of the squares has one or two entries, where it has any, and
otherwise the constraint is linear. Weights of one sign and multipliers may be left out as well, each of them at zero.

A solution of the program without them is one of the whole if no unknown that was left out has a negative reduced cost:
then the multipliers of the small program satisfy the optimality conditions of the whole one, which are sufficient
because it is convex. For an entry of F they are those of a function with the slope ``nu mu -+ (l+ - l-) (u^ + u) / 2``
at zero, where l+ and l- are the multipliers of its two constraints. Rows that say which changes are allowed are left
out where all their entries are, with a multiplier of zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from clearmargin.advice.advice_svm import AdviceProblem, plane_blocks, premise_blocks
from clearmargin.advice.refine_lp import Iterate, Movable, PointWindow, limits_of_change
from clearmargin.exceptions import NumericalError, SolverError
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.solvers import Cone, Linear, Program, Variables, solve
from clearmargin.solvers.cone_session import ConePoint, ConeSession, Pattern

__all__ = ["ConeFrame", "ConvexProgram", "ReducedCones", "convex_steps", "convexified_program"]


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
            lacking = frame.entering(np.where(reduced.used, 0.0, price), _TOLERANCE)
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
        """Return the program of the last step, if it has everything that is not zero now and not too many points."""
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
        size = int(premises.numeric_rows[premises.rule == i].sum()) + 2
        _add_cones(groups.setdefault(size, _Entries(size)), problem, movable, at, int(i))
    sizes = {name: block.size for name, block in blocks.items() if isinstance(block, Variables)}
    cones = [group.cone(sizes) for group in groups.values()]
    return Program([*blocks.values(), *linear, *limits_of_change(movable), *cones])


def _rows(block: Variables | Linear, chosen: np.ndarray) -> Linear:
    """Take rows of a block."""
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
        """Add a coefficient of t: in 1 + t, and with the other sign in 1 - t, which is the next row."""
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
    numeric_rows = every[premises.numeric_rows[every]]
    z = premises.sign[i]
    free = movable.number[numeric_rows]
    columns = np.flatnonzero((free >= 0).any(axis=0))
    turn = free[:, columns]
    for s in (1.0, -1.0) if len(columns) else ():
        a = at.F[np.ix_(numeric_rows, columns)] + s * at.u[numeric_rows][:, None]
        first = cone.new((a * a).sum(axis=0))
        vector = first + 2 + np.arange(len(numeric_rows))[:, None]
        for way, unit in (("F_up", 1.0), ("F_down", -1.0)):
            cone.add_both(way, first, turn, unit * a / 2)
            cone.add(way, vector, turn, unit)
        cone.add_both("u", first, numeric_rows[:, None], s * a / 2)
        cone.add_both("u", first, every[:, None], -s * premises.D[np.ix_(every, columns)])
        cone.add("u", vector, numeric_rows[:, None], -s)
        cone.add_both("p", first, columns, -s * z)
        cone.add_both("q", first, columns, s * z)
        cone.add_both("eta", first, i * n + columns, 1.0)
    a = at.f[numeric_rows] + at.u[numeric_rows]
    shift = np.searchsorted(movable.shift, numeric_rows)
    # t has the constant -1 besides -a'a / 4.
    start = cone.new(np.array([a @ a + 4.0]))
    vector = start + 2 + np.arange(len(numeric_rows))
    for way, unit in (("f_up", 1.0), ("f_down", -1.0)):
        cone.add_both(way, start, shift, unit * a / 2)
        cone.add(way, vector, shift, unit)
    cone.add_both("u", start, numeric_rows, a / 2)
    cone.add_both("u", start, every, -premises.d[every])
    cone.add("u", vector, numeric_rows, -1.0)
    cone.add_both("zeta", start, np.array([i]), 1.0)
    cone.add_both("b", start, np.zeros(1, dtype=np.intp), z)


def _read(problem: AdviceProblem, movable: Movable, values: Mapping[str, FloatArray]) -> Iterate:
    F, f = movable.read(values)
    w, b, u = values["p"] - values["q"], float(values["b"][0]), np.maximum(0.0, values["u"])
    # An interior point method leaves traces where there is nothing.
    F, f, u = (np.where(np.abs(part) > _TRACE, part, 0.0) for part in (F, f, u))
    return Iterate.at(problem, movable, w, b, u, F, f)


# A number this large keeps its sign in a step, as a rule.
_CLEAR = 1e-3


class ConeFrame:
    """Places and costs of all unknowns but those of the points, and what does not change from step to step.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises; no boxes.
    movable : Movable
        What may change.
    """

    def __init__(self, problem: AdviceProblem, movable: Movable):
        self.problem, self.movable, self.premises = problem, movable, problem.premises
        premises, n = problem.premises, problem.n_features
        r, k = len(premises), len(premises.d)
        self.n, self.r = n, r
        turn, shift = movable.turn_cost(), movable.shift_cost()
        costs = {
            "p": np.ones(n),
            "q": np.ones(n),
            "b": np.zeros(1),
            "u": np.zeros(k),
            "eta": np.repeat(premises.cost, n),
            "zeta": premises.cost,
            "T": np.zeros(shift.size),
            "F_up": turn,
            "F_down": turn,
            "f_up": shift,
            "f_down": shift,
            "rest": np.ones(1),
        }
        ends = np.cumsum([cost.size for cost in costs.values()])
        starts = [0, *ends[:-1].tolist()]
        self.at = {
            name: slice(*place)
            for name, place in zip(costs, zip(starts, ends.tolist(), strict=True), strict=True)
        }
        self.cost = np.concatenate(list(costs.values()))
        self.size = int(ends[-1])
        # eta and T are not negative by the other constraints.
        self.signed = np.ones(self.size, dtype=np.bool_)
        for name in ("b", "eta", "T"):
            self.signed[self.at[name]] = False
        # Unknowns that may be left out.
        self.optional = np.zeros(self.size, dtype=np.bool_)
        for name in ("p", "q", "F_up", "F_down", "f_up", "f_down"):
            self.optional[self.at[name]] = True
        self.optional[self.at["u"]] = ~premises.numeric_rows
        self._set_places()

    def _set_places(self) -> None:
        """Note the constraint of each entry of F, f and D; two for each premise and feature, then the advice."""
        premises, move, n = self.premises, self.movable, self.n
        self.shift_rule = premises.rule[move.shift]
        self.turn_pair = premises.rule[move.row] * n + move.column
        self.turn_shift = np.searchsorted(move.shift, move.row)
        turning = np.zeros(self.r * n, dtype=np.bool_)
        turning[self.turn_pair] = True
        self.turning = turning.reshape(self.r, n)
        is_there = (premises.D != 0) | (move.number >= 0)
        self.pull_row, self.pull_column = np.nonzero(is_there)
        self.pull_pair = premises.rule[self.pull_row] * n + self.pull_column

    def guess(self, at: Iterate) -> BoolArray:
        """Leave out what is zero at a point."""
        used = ~self.optional
        used[self.at["p"]] = at.w >= -_CLEAR
        used[self.at["q"]] = at.w <= _CLEAR
        used[self.at["u"]] |= at.u > 0
        F, f = at.F[self.movable.row, self.movable.column], at.f[self.movable.shift]
        for name, value in (("F", F), ("f", f)):
            used[self.at[f"{name}_up"]] = value > 0
            used[self.at[f"{name}_down"]] = value < 0
        return used

    def entering(self, price: FloatArray, tolerance: float) -> BoolArray:
        """Find the unknowns with a negative reduced cost; of a column of F the most negative entry only."""
        negative = price < -tolerance
        turns = price[self.at["F_up"]], price[self.at["F_down"]]
        least = np.full(self.r * self.n, -tolerance)
        np.minimum.at(least, self.turn_pair, np.minimum(*turns))
        for name, value in zip(("F_up", "F_down"), turns, strict=True):
            negative[self.at[name]] &= value <= least[self.turn_pair]
        return np.asarray(negative)

    def opposites(self, x: FloatArray) -> BoolArray:
        """Return which unknowns are zero because the other part of the same number clearly is not."""
        found = np.zeros(self.size, dtype=np.bool_)
        for one, other in (("p", "q"), ("F_up", "F_down"), ("f_up", "f_down")):
            for this, that in ((one, other), (other, one)):
                found[self.at[this]] = x[self.at[that]] > _CLEAR
        return found

    def plane(self, x: FloatArray) -> tuple[FloatArray, float, float]:
        """Give weights, intercept and the losses of points outside the window."""
        w = x[self.at["p"]] - x[self.at["q"]]
        return w, float(x[self.at["b"]][0]), float(x[self.at["rest"]][0])

    @cached_property
    def limits(self) -> list[tuple[bool, IntArray, IntArray, FloatArray, FloatArray]]:
        """The limits of change as (whether equations, rows, columns, entries, right-hand sides)."""
        found = []
        for block in limits_of_change(self.movable):
            rows, columns, entries = [], [], []
            for name, matrix in block.terms.items():
                part = matrix.array.tocoo()  # type: ignore[union-attr]
                rows.append(part.row.astype(np.intp))
                columns.append(part.col.astype(np.intp) + self.at[name].start)
                entries.append(part.data)
            joined = np.concatenate(rows), np.concatenate(columns), np.concatenate(entries)
            found.append((block.name == "turn_only", *joined, block.upper))
        return found


_SIDES = np.array([1.0, -1.0])


class ReducedCones:
    """The program over some of the unknowns and points, inside Clarabel.

    Parameters
    ----------
    frame : ConeFrame
        All unknowns.
    used : ndarray of bool
        Which of them take part.
    window : PointWindow
        Which points have rows.
    """

    def __init__(self, frame: ConeFrame, used: BoolArray, window: PointWindow):
        self.frame, self.window = frame, window
        self.used = used.copy()
        self._has_rest = not window.is_whole
        self.used[frame.at["rest"]] = self._has_rest
        self._points = window.part()
        m = len(self._points.y)
        self.column = np.append(self.used, np.ones(m, dtype=np.bool_))
        self.cost = np.append(frame.cost, self._points.cost)
        at = frame.at
        self._turns = np.flatnonzero(self.used[at["F_up"]] | self.used[at["F_down"]])
        self._shifts = np.flatnonzero(self.used[at["f_up"]] | self.used[at["f_down"]])
        self._set_rows()
        self._set_entries()
        self._session: ConeSession | None = None

    def solve(self, at: Iterate) -> ConePoint:
        """Solve the program around a point; x has all unknowns, and z the multipliers of the rows there are."""
        values, k = self._numbers(at)
        K = values[self._order]
        if self._session is None:
            self._session = ConeSession(self._pattern, self.cost[self.column], K, k)
        else:
            self._session.update(K, k)
        found = self._session.solve()
        x = np.zeros(self.column.size)
        x[self.column] = found.x
        self._values = values
        return ConePoint(x, found.z, found.objective, found.is_sure)

    def reduced_costs(self, at: Iterate, found: ConePoint) -> FloatArray:
        """Return what each unknown of the frame would add to the objective, per unit, if it came in."""
        frame, move, z = self.frame, self.frame.movable, found.z
        pull = self._values * z[self._all_rows]
        total: FloatArray = self.cost + np.bincount(self._all_columns, pull, self.cost.size)
        # The bounds of unknowns that are in have rows too, which are not to be counted.
        total[self._bounded] += z[self._bound_at : self._bound_at + self._bounded.size]
        # The multiplier of each constraint, of which a cone has two rows.
        force = z[self._first]
        force[self._is_cone] -= z[self._first[self._is_cone] + 1]
        mean = (at.u + found.x[frame.at["u"]]) / 2
        pairs = force[: 2 * frame.r * frame.n].reshape(-1, 2)
        out = np.ones(move.row.size, dtype=np.bool_)
        out[self._turns] = False
        slope = np.where(out, (pairs[:, 0] - pairs[:, 1])[frame.turn_pair] * mean[move.row], 0.0)
        total[frame.at["F_up"]] -= slope
        total[frame.at["F_down"]] += slope
        out = np.ones(move.shift.size, dtype=np.bool_)
        out[self._shifts] = False
        advice = force[2 * frame.r * frame.n :]
        slope = np.where(out, advice[frame.shift_rule] * mean[move.shift], 0.0)
        total[frame.at["f_up"]] -= slope
        total[frame.at["f_down"]] += slope
        return np.asarray(total[: frame.size])

    def _set_rows(self) -> None:
        """Decide where each constraint is: equations, inequalities, cones."""
        frame, m = self.frame, len(self._points.y)
        pair, rule = frame.turn_pair[self._turns], frame.shift_rule[self._shifts]
        inside = np.concatenate(
            [
                np.repeat(np.bincount(pair, minlength=frame.r * frame.n), 2),
                np.bincount(rule, minlength=frame.r),
            ]
        )
        self._is_cone = inside > 0
        self._limits, self._zero, top = [], 0, 0
        for is_equation, row, column, entry, right in frame.limits:
            kept = np.unique(row[self.used[column]])
            number = np.full(right.size, -1)
            number[kept] = top + np.arange(kept.size)
            there = number[row] >= 0
            self._limits.append((number[row[there]], column[there], entry[there], right[kept]))
            top += kept.size
            self._zero += kept.size if is_equation else 0
        self._margin_at, self._rest_at = top, top + m
        top += m + (len(self.window.total) if self._has_rest else 0)
        self._first = np.zeros(inside.size, dtype=np.intp)
        lines, cones = np.flatnonzero(~self._is_cone), np.flatnonzero(self._is_cone)
        self._first[lines] = top + np.arange(lines.size)
        self._bound_at = top + lines.size
        bounded = np.append(self.used & frame.signed, np.ones(m, dtype=np.bool_))
        self._bounded = np.flatnonzero(bounded)
        top = self._bound_at + self._bounded.size
        self._nonnegative = top - self._zero
        sizes, n_numeric = inside[cones] + 2, frame.movable.shift.size
        self._first[cones] = top + np.cumsum(sizes) - sizes
        top += int(sizes.sum())
        self._squares, self._rows = top + 3 * np.arange(n_numeric), top + 3 * n_numeric
        self._sizes = [*sizes.tolist(), *[3] * n_numeric]
        # Where the entries of F and f are in their cones.
        order = np.argsort(pair, kind="stable")
        rank = np.empty(pair.size, dtype=np.intp)
        rank[order] = np.arange(pair.size) - np.searchsorted(pair[order], pair[order])
        self._turned = self._first[2 * pair[:, None] + np.arange(2)] + 2 + rank[:, None]
        rank = np.arange(rule.size) - np.searchsorted(rule, rule)
        self._shifted = self._first[2 * frame.r * frame.n + rule] + 2 + rank

    def _set_entries(self) -> None:
        """Note where the entries of K are, in the order in which `_numbers` has their values."""
        tied, column = self._ties()
        self._again = np.flatnonzero(self._is_cone[tied])
        places = _Places()
        places.put(self._first[tied], column)
        places.put(self._first[tied[self._again]] + 1, column[self._again])
        for row, which, _, _ in self._limits:
            places.put(row, which)
        self._put_squares(places)
        self._put_points(places)
        places.put(self._bound_at + np.arange(self._bounded.size), self._bounded)
        self._all_rows, self._all_columns = places.joined()
        there = np.flatnonzero(self.column[self._all_columns])
        number = np.cumsum(self.column) - 1
        column = number[self._all_columns[there]]
        self._order = there[np.lexsort((self._all_rows[there], column))]
        counts = np.bincount(column, minlength=int(self.column.sum()))
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        rows = self._all_rows[self._order].astype(np.int32)
        self._pattern = Pattern(indptr, rows, self._zero, self._nonnegative, self._sizes)

    def _ties(self) -> tuple[IntArray, IntArray]:
        """List which unknowns are in which constraint, two for each premise and feature, then one for each premise."""
        frame, move, n, r = self.frame, self.frame.movable, self.frame.n, self.frame.r
        at = {name: place.start for name, place in frame.at.items()}
        every, advice, both = np.arange(r * n), 2 * r * n, np.arange(2)
        ties = _Places()

        def pairs(which: IntArray, column: IntArray) -> None:
            ties.put(2 * which[:, None] + both, column[:, None])

        pairs(frame.pull_pair, at["u"] + frame.pull_row)
        pairs(every, at["p"] + every % n)
        pairs(every, at["q"] + every % n)
        pairs(every, at["eta"] + every)
        ties.put(advice + frame.premises.rule, at["u"] + np.arange(len(frame.premises.d)))
        ties.put(advice + np.arange(r), np.full(r, at["b"]))
        ties.put(advice + np.arange(r), at["zeta"] + np.arange(r))
        # T stands in for entries that are left out.
        on = np.zeros((move.shift.size, n), dtype=np.bool_)
        on[frame.turn_shift[self._turns], move.column[self._turns]] = True
        row, column = np.nonzero(frame.turning[frame.shift_rule] & ~on)
        pairs(frame.shift_rule[row] * n + column, at["T"] + row)
        still = np.setdiff1d(np.arange(move.shift.size), self._shifts)
        ties.put(advice + frame.shift_rule[still], at["T"] + still)
        self._stand_ins = 2 * row.size + still.size
        for name in ("F_up", "F_down"):
            pairs(frame.turn_pair[self._turns], at[name] + self._turns)
        for name in ("f_up", "f_down"):
            ties.put(advice + frame.shift_rule[self._shifts], at[name] + self._shifts)
        return ties.joined()

    def _put_squares(self, places: _Places) -> None:
        """Put in what is squared in each cone."""
        frame, move = self.frame, self.frame.movable
        at = {name: place.start for name, place in frame.at.items()}
        for name in ("F_up", "F_down"):
            places.put(self._turned, (at[name] + self._turns)[:, None])
        places.put(self._turned, (at["u"] + move.row[self._turns])[:, None])
        for name in ("f_up", "f_down"):
            places.put(self._shifted, at[name] + self._shifts)
        places.put(self._shifted, at["u"] + move.shift[self._shifts])
        rows = np.arange(move.shift.size)
        places.put(self._squares, at["T"] + rows)
        places.put(self._squares + 1, at["T"] + rows)
        places.put(self._squares + 2, at["u"] + move.shift)

    def _put_points(self, places: _Places) -> None:
        """Put in the rows of the points in the window, and of all others."""
        n, m, at = self.frame.n, len(self._points.y), self.frame.at
        margin = self._margin_at + np.arange(m)
        # p, q and b come first.
        places.put(margin[:, None], np.arange(2 * n + 1))
        places.put(margin, self.frame.size + np.arange(m))
        if self._has_rest:
            rest = self._rest_at + np.arange(len(self.window.total))
            places.put(rest[:, None], np.arange(2 * n + 1))
            places.put(rest, np.full(rest.size, at["rest"].start))

    def _numbers(self, at: Iterate) -> tuple[FloatArray, FloatArray]:
        """Return the entries of K and the right-hand sides around a point."""
        frame, move = self.frame, self.frame.movable
        premises, points = frame.premises, self._points
        n, r, m = frame.n, frame.r, len(points.y)
        D, d = premises.D - at.F, premises.d - at.f
        sign = np.repeat(premises.sign, n)

        def both(value: FloatArray) -> FloatArray:
            return np.asarray((value[:, None] * _SIDES).ravel())

        u_turn, u_shift = at.u[move.row[self._turns]], at.u[move.shift[self._shifts]]
        # Coefficients in what has to be at least a square: eta -+ s, and zeta less the rest.
        ties = np.concatenate(
            [
                both(-D[frame.pull_row, frame.pull_column]),
                both(-sign),
                both(sign),
                np.ones(2 * r * n),
                -d,
                premises.sign,
                np.ones(r),
                -np.ones(self._stand_ins),
                both(u_turn),
                both(-u_turn),
                u_shift,
                -u_shift,
            ]
        )
        t, s, n_numeric = self._turns.size, self._shifts.size, move.shift.size
        signed, sides = points.X * points.y[:, None], points.y[:, None]
        parts = [
            -ties,
            ties[self._again],
            *(entry for _, _, entry, _ in self._limits),
            np.repeat([-1.0, 1.0], 2 * t),
            both(np.ones(t)),
            np.repeat([-1.0, 1.0, 1.0], s),
            np.repeat([-1.0, 1.0, -1.0], n_numeric),
            np.hstack([-signed, signed, -sides]).ravel(),
            -np.ones(m),
        ]
        if self._has_rest:
            slope, level = self.window.slope, self.window.level[:, None]
            parts += [np.hstack([-slope, slope, -level]).ravel(), -np.ones(len(level))]
        parts.append(-np.ones(self._bounded.size))
        return np.concatenate(parts), self._right_sides(at)

    def _right_sides(self, at: Iterate) -> FloatArray:
        frame, move = self.frame, self.frame.movable
        premises = frame.premises
        k = np.zeros(self._rows)
        top = 0
        for _, _, _, right in self._limits:
            k[top : top + right.size] = right
            top += right.size
        k[self._margin_at : self._rest_at] = -1.0
        if self._has_rest:
            k[self._rest_at : self._rest_at + len(self.window.total)] = -self.window.total
        twice = premises.totals(at.u[:, None] * at.F).ravel()
        constant = np.concatenate(
            [(-twice[:, None] * _SIDES).ravel(), -1.0 - premises.totals(at.u * at.f)]
        )
        cones = self._is_cone
        k[self._first] = np.where(cones, 1.0 + constant, constant)
        k[self._first[cones] + 1] = 1.0 - constant[cones]
        row, column = move.row[self._turns], move.column[self._turns]
        k[self._turned] = -at.F[row, column][:, None] + at.u[row][:, None] * _SIDES
        row = move.shift[self._shifts]
        k[self._shifted] = at.u[row] - at.f[row]
        k[self._squares] = k[self._squares + 1] = 1.0
        k[self._squares + 2] = -at.u[move.shift]
        return k


class _Places:
    """Places of entries, collected."""

    def __init__(self) -> None:
        self._rows: list[IntArray] = []
        self._columns: list[IntArray] = []

    def put(self, row: IntArray, column: IntArray) -> None:
        row, column = np.broadcast_arrays(row, column)
        self._rows.append(row.ravel())
        self._columns.append(column.ravel())

    def joined(self) -> tuple[IntArray, IntArray]:
        return np.concatenate(self._rows), np.concatenate(self._columns)
