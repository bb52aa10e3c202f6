"""Rules that are more cautious than the model, widened as far as the model agrees by its full margin.

Refinement never rewards a wider premise, so that this is a step of its own, after training. For a premise D x <= d with
``min z (w'x + b) >= 1`` over it, the dual of that minimum has multipliers u >= 0 with D'u = -z w and the slack
``s = -d'u + z b - 1 >= 0``. A row with u_r = 0 plays no part and is dropped; any other row may be loosened by as much
as its share of s pays for, s / (k u_r), and the minimum stays at least 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clearmargin.advice.advice_svm import AdvicePlane
from clearmargin.advice.premise_geometry import worst_margin
from clearmargin.advice.problem import FramedAdvice
from clearmargin.solvers import Linear, Program, Variables, solve

__all__ = ["widen"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Solvers are right to 1e-9 or so; rows loosened by less than this, or multipliers smaller than it, are none.
_NOTHING = 1e-7


def widen(
    framed: FramedAdvice, i: int, F: FloatArray, f: FloatArray, plane: AdvicePlane, sign: float
) -> tuple[FloatArray, BoolArray] | None:
    """Loosen the rows of a premise that the model satisfies with room to spare.

    Parameters
    ----------
    framed : FramedAdvice
        The premises.
    i : int
        Which one.
    F, f : ndarray
        The refinement of its numeric rows so far.
    plane : AdvicePlane
        The model, in the scale of the frame.
    sign : float
        The class of the rule.

    Returns
    -------
    f : ndarray
        The change of its right-hand sides, now with the extension.
    dropped : ndarray of bool
        Which numeric rows are superfluous.
    None instead of both where there is nothing to gain.
    """
    own = framed.own(i)
    D, d = framed.rows[i][0].copy(), framed.rows[i][1].copy()
    D[own] -= F
    d[own] -= f
    if not own.any() or worst_margin(D, d, plane.w, plane.b, sign)[0] < 1.0 + _NOTHING:
        return None
    u, slack = _certificate(D, d, plane, sign)
    active = own & (u > _NOTHING)
    if slack <= _NOTHING and (active == own).all():
        return None
    loosened = d.copy()
    loosened[active] += slack / (active.sum() * u[active])
    dropped = own & ~active
    for r in np.flatnonzero(active):  # a bound beyond the domain says nothing
        highest = -worst_margin(D[~own], d[~own], D[r], 0.0, -1.0)[0]
        dropped[r] = highest <= loosened[r]
    kept = ~dropped
    if worst_margin(D[kept], loosened[kept], plane.w, plane.b, sign)[0] < 1.0 - _NOTHING:
        return None
    return f - (loosened - d)[own], dropped[own]


def _certificate(
    D: FloatArray, d: FloatArray, plane: AdvicePlane, sign: float
) -> tuple[FloatArray, float]:
    """Multipliers of the worst margin over a premise, and what is left beyond a margin of 1.

    Of all optimal multipliers one with few rows of the rule itself is as good as any: a vertex, as simplex gives it.
    """
    program = Program(
        [
            Variables("u", len(d), 0.0, cost=d),
            Linear("certificate", {"u": D.T}, -sign * plane.w, -sign * plane.w),
        ]
    )
    solution = solve(program, method="simplex")
    return solution.values["u"], sign * plane.b - 1.0 - solution.objective
