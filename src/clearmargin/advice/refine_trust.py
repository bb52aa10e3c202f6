"""Joint steps in multipliers and rows, each a linear program within a trust region.

The linearisation of `refine_lp` is exact to first order, so that a step which is short enough and promises a decrease
brings one. Unlike successive linear programming, which puts all change on the row with the largest multiplier, a joint
step weighs rows against each other. It is not in the paper; it reaches the objectives of the convex-concave procedure
by linear programs alone. The first step moves the rows only: a joint step from rows that are far from right may find
it cheaper to let go of the multipliers, and advice that has been let go never comes back.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clearmargin.advice.advice_svm import AdviceProblem
from clearmargin.advice.refine_lp import Iterate, JointProgram, Movable

__all__ = ["joint_steps"]

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
