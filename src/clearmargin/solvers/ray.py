"""In which direction the objective of a program can be improved without end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearmargin.exceptions import SolverError
from clearmargin.solvers.backends import run
from clearmargin.solvers.block import Block, Cone, Linear, Quadratic, Variables
from clearmargin.solvers.options import Options
from clearmargin.solvers.program import Program

if TYPE_CHECKING:
    from clearmargin.solvers.large_value import FloatArray

__all__ = ["find_ray"]

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
