"""Successive linear programming: refine with the multipliers fixed, estimate with the rows fixed, and again.

Each half-step is an exact linear program in half of the unknowns (see `refine_lp`), so that the objective never rises,
and the end is a partial minimum. With no entry of F free this is the translation of Maclin et al. (2007), which moves
the right-hand sides alone; otherwise it is the arkSVM-SLP of Kunapuli, Maclin and Shavlik.
"""

from __future__ import annotations

from collections.abc import Iterator

from clearmargin.advice.advice_svm import AdviceProblem
from clearmargin.advice.refine_lp import Iterate, JointProgram, Movable

__all__ = ["alternate"]


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
