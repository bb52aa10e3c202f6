"""Why a program has no optimum, in terms of its blocks: which contradict each other, or which way has no end.

What contradicts: first an elastic program, in which every row and cone may be violated at a price, points at the
demands that carry a multiplier: together they prove the contradiction (Farkas). Then a deletion filter (Chinneck and
Dravnieks 1991) leaves out one demand after the other and keeps only those without which the
contradiction disappears.

What has no end: a direction of the recession cone along which the objective falls.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import sparse

from clearmargin.exceptions import InfeasibleError, SolverError, UnboundedError
from clearmargin.solvers.backends import run
from clearmargin.solvers.program import Block, Cone, Linear, Program, Quadratic, Variables
from clearmargin.solvers.solver_options import Options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearmargin.solvers.large_value import FloatArray
    from clearmargin.solvers.matrix import MatrixLike
    from clearmargin.solvers.program import Program
    from clearmargin.solvers.solution import Solution

__all__ = ["Conflict", "Demand", "explain_failure", "find_conflict", "find_ray"]


# Directions are scaled to entries between -1 and 1; below this an entry is rounding.
_ZERO_STEP = 1e-6


def find_ray(program: Program, *, time_limit: float | None = None) -> str | None:
    """Return the unknowns that can run away together, for people; None when none were found."""
    try:
        solution = run(_recession(program), Options(time_limit=time_limit))
    except SolverError:
        return None
    steps = solution.values.items()
    runaways = [_describe(name, step) for name, step in steps if _moves(step).any()]
    return ", ".join(runaways) or None


def _recession(program: Program) -> Program:
    """Return the program whose feasible points are the directions in which one can go on for ever.

    A direction must not leave any finite limit, must stay in the cones, and must have no curvature.
    """
    blocks: list[Block] = []
    for block in program.blocks:
        if isinstance(block, Variables):
            lower, upper = _open(block.lower, 1.0), _open(block.upper, 1.0)
            blocks.append(Variables(block.name, block.size, -lower, upper, block.cost))
        elif isinstance(block, Linear):
            lower, upper = _open(block.lower, np.inf), _open(block.upper, np.inf)
            blocks.append(Linear(block.name, block.terms, -lower, upper))
        elif isinstance(block, Cone):
            blocks.append(Cone(block.name, block.terms, 0.0, block.size))
        else:
            blocks.append(_flat(block))
    return Program(blocks)


def _flat(block: Quadratic) -> Linear:
    return Linear(block.name, {block.variable: block.matrix}, 0.0, 0.0)


def _open(limit: FloatArray, reach: float) -> FloatArray:
    """Return zero where there is a limit and `reach` where there is none."""
    return np.where(np.isfinite(limit), 0.0, reach)


def _moves(step: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.abs(step) > _ZERO_STEP


def _describe(name: str, step: FloatArray) -> str:
    first = int(np.argmax(np.abs(step)))
    more = int(np.count_nonzero(_moves(step))) - 1
    rest = f" and {more} more of its entries" if more else ""
    return f"{name!r}[{first}]{rest}"


def explain_failure(
    program: Program, error: InfeasibleError | UnboundedError, time_limit: float | None
) -> InfeasibleError | UnboundedError:
    """Return the error with the names of the blocks at fault, or as it is when none were found."""
    if isinstance(error, UnboundedError):
        ray = find_ray(program, time_limit=time_limit)
        if ray is None:
            return error
        return UnboundedError(
            f"the objective can be improved without end along {ray}; "
            "bound it or check the signs of the costs"
        )
    conflict = find_conflict(program, time_limit=time_limit)
    if conflict is None:
        return error
    return InfeasibleError(str(conflict), conflict.blocks)


# Multipliers of the elastic program are of the order of its unit prices; below this they are rounding.
_ZERO_MULTIPLIER = 1e-6
# So many rows are named in a message.
_MOST_ROWS = 3


@dataclass(frozen=True, slots=True)
class Demand:
    """Something a program asks for: a constraint block, or the bounds or integrality of variables.

    Attributes
    ----------
    kind : {"constraint", "bounds", "integrality"}
        What is asked.
    block : str
        The block that asks it.
    rows : tuple of int
        The rows or unknowns of the block that matter, the most telling first; empty when there is only
        one or when it is not known.

    Examples
    --------
    >>> demand = Demand("constraint", "budget", rows=(3, 0))
    >>> print(demand)
    the constraint 'budget' (rows 3, 0)
    """

    kind: Literal["constraint", "bounds", "integrality"]
    block: str
    rows: tuple[int, ...] = ()

    def __str__(self) -> str:
        of = " " if self.kind == "constraint" else " of "
        return f"the {self.kind}{of}{self.block!r}{_list_rows(self)}"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Demands that no point satisfies together.

    Attributes
    ----------
    demands : tuple of Demand
        What contradicts each other.
    is_minimal : bool
        Whether any one of them less would leave a feasible program; not proved when time ran out.

    Examples
    --------
    >>> x = Variables("x", 2, lower=0.0, upper=1.0)
    >>> rows = [Linear("much", {"x": 1.0}, lower=3.0), Linear("equal", {"x": [1.0, -1.0]}, 0.0, 0.0)]
    >>> conflict = find_conflict(Program([x, *rows]))
    >>> print(conflict)
    no point satisfies the bounds of 'x' (entries 0, 1) and the constraint 'much' together
    """

    demands: tuple[Demand, ...]
    is_minimal: bool

    @property
    def blocks(self) -> tuple[str, ...]:
        """The names of the blocks in the conflict."""
        return tuple(dict.fromkeys(demand.block for demand in self.demands))

    def __str__(self) -> str:
        *others, last = map(str, self.demands)
        if not others:
            return f"no point satisfies {last}"
        return f"no point satisfies {', '.join(others)} and {last} together"


def find_conflict(program: Program, *, time_limit: float | None = None) -> Conflict | None:
    """Return demands of an infeasible program that contradict each other.

    Parameters
    ----------
    program : Program
        The program.
    time_limit : float, optional
        Seconds for the search; when they are over, the conflict found so far is returned.

    Returns
    -------
    Conflict or None
        The conflict; None if the program is feasible or if there was no time to prove that it is not.

    Examples
    --------
    >>> x = Variables("x", 1, lower=0.0)
    >>> find_conflict(Program([x, Linear("little", {"x": 1.0}, upper=-1.0)])).blocks
    ('x', 'little')
    """
    return _Search(program, Options(time_limit=time_limit)).run()


class _Search:
    """The search for a conflict within a time limit."""

    def __init__(self, program: Program, options: Options):
        self._program = program
        self._options = options
        self._start = time.monotonic()
        self._is_minimal = True

    def run(self) -> Conflict | None:
        every = _all_demands(self._program)
        start = self._carriers(every)
        # Multipliers prove a contradiction up to rounding only, and integrality has none: make sure.
        if not (start and self._is_infeasible(start)):
            start = every
            if not self._is_infeasible(start):
                return None
        kept = self._filter(start)
        weights = self._weigh(kept)
        named = tuple(
            replace(demand, rows=_telling_rows(weights[demand])) if demand in weights else demand
            for demand in every
            if demand in kept
        )
        return Conflict(named, self._is_minimal)

    def _carriers(self, demands: list[Demand]) -> list[Demand]:
        """Return the demands that carry a multiplier, the most dispensable first."""
        weights = self._weigh(demands)
        largest = {
            demand: float(np.max(np.abs(weights[demand]), initial=0.0)) for demand in weights
        }
        carrying = [demand for demand in weights if largest[demand] > _ZERO_MULTIPLIER]
        return sorted(carrying, key=lambda demand: largest[demand])

    def _filter(self, demands: list[Demand]) -> list[Demand]:
        """Return a part of contradictory demands that cannot be made smaller."""
        kept = list(demands)
        for demand in demands:
            fewer = [other for other in kept if other != demand]
            if self._is_infeasible(fewer):
                kept = fewer
        return kept

    def _is_infeasible(self, demands: list[Demand]) -> bool:
        try:
            self._solve(_restrict(self._program, demands))
        except InfeasibleError:
            return True
        except SolverError:
            self._is_minimal = False
        return False

    def _weigh(self, demands: list[Demand]) -> dict[Demand, FloatArray]:
        """Return the multipliers of the demands in the elastic program; none if it is not solved."""
        program = _restrict(self._program, demands, integrality=False)
        try:
            solution = self._solve(_make_elastic(program))
        except SolverError:
            return {}
        return {
            demand: _multipliers(solution, demand)
            for demand in demands
            if demand.kind != "integrality"
        }

    def _solve(self, program: Program) -> Solution:
        # A nanosecond is never enough, so that a search out of time stops at once.
        left = self._options.seconds - (time.monotonic() - self._start)
        return run(program, replace(self._options, time_limit=max(left, 1e-9)))


def _all_demands(program: Program) -> list[Demand]:
    demands: list[Demand] = []
    for block in program.blocks:
        if isinstance(block, Variables):
            if np.isfinite(block.lower).any() or np.isfinite(block.upper).any():
                demands.append(Demand("bounds", block.name))
            if block.integer:
                demands.append(Demand("integrality", block.name))
        elif isinstance(block, Linear | Cone):
            demands.append(Demand("constraint", block.name))
    return demands


def _restrict(program: Program, demands: Iterable[Demand], *, integrality: bool = True) -> Program:
    """Return the program with these demands only and without an objective."""
    requested = {(demand.kind, demand.block) for demand in demands}
    blocks: list[Block] = []
    for block in program.without_objective().blocks:
        if isinstance(block, Variables):
            is_bounded = ("bounds", block.name) in requested
            blocks.append(
                Variables(
                    block.name,
                    block.size,
                    block.lower if is_bounded else -np.inf,
                    block.upper if is_bounded else np.inf,
                    integer=integrality and ("integrality", block.name) in requested,
                )
            )
        elif ("constraint", block.name) in requested:
            blocks.append(block)
    return Program(blocks)


def _make_elastic(program: Program) -> Program:
    """Return the program in which rows and cones may be violated at a price of one per unit."""
    # Longer than any name of the program, so that no new name is one of them.
    mark = "~" * (1 + max(len(block.name) for block in program.blocks))
    blocks: list[Block] = []
    for block in program.blocks:
        if not isinstance(block, Linear | Cone):
            blocks.append(block)
            continue
        less, more = f"{mark}-{block.name}", f"{mark}+{block.name}"
        if isinstance(block, Linear):
            unit = sparse.eye_array(block.rows, format="csc")
            terms: dict[str, MatrixLike] = {**block.terms, less: -unit, more: unit}
            blocks += [Variables(name, block.rows, lower=0.0, cost=1.0) for name in (less, more)]
            blocks.append(Linear(block.name, terms, block.lower, block.upper))
        else:
            heads = sparse.eye_array(block.rows, format="csc")[:, :: max(block.size, 1)]
            blocks.append(Variables(more, heads.shape[1], lower=0.0, cost=1.0))
            blocks.append(Cone(block.name, {**block.terms, more: heads}, block.offset, block.size))
    return Program(blocks)


def _multipliers(solution: Solution, demand: Demand) -> FloatArray:
    if demand.kind == "bounds":
        return solution.reduced_costs[demand.block]
    return solution.duals[demand.block]


def _telling_rows(weights: FloatArray) -> tuple[int, ...]:
    if weights.size == 1:
        return ()
    size = np.abs(weights)
    order = np.argsort(-size, kind="stable")
    return tuple(int(row) for row in order if size[row] > _ZERO_MULTIPLIER)


def _list_rows(demand: Demand) -> str:
    if not demand.rows:
        return ""
    noun = ("row", "rows") if demand.kind == "constraint" else ("entry", "entries")
    shown = ", ".join(map(str, demand.rows[:_MOST_ROWS]))
    more = len(demand.rows) - _MOST_ROWS
    rest = f" and {more} more" if more > 0 else ""
    return f" ({noun[len(demand.rows) > 1]} {shown}{rest})"
