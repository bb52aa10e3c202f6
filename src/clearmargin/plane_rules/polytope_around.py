"""A box around a case that lies in several half-spaces at once, in closed form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearmargin.rules import Box, HalfSpace
from clearmargin.rules.value import FloatArray

__all__ = ["central_in_polytope"]

_SHY = 1.0 - 1e-9


def central_in_polytope(
    halfspaces: Sequence[HalfSpace], domain: Box, cases: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bounds of boxes with each case in the middle, inside the domain.

    Plane h leaves the slack s_h. If feature i moves by at most e_i = min_h s_h / (n_h |v_hi|), where n_h is the number
    of weights of plane h, then sum_i |v_hi| e_i <= s_h for every h, so all planes are kept.

    Parameters
    ----------
    halfspaces : sequence of HalfSpace
        What the boxes have to lie in.
    domain : Box
        Where features live.
    cases : ndarray of shape (p, n)
        The cases.

    Returns
    -------
    lower, upper : ndarray of shape (p, n)
        Bounds.
    """
    reach = np.full(cases.shape, np.inf)
    for h in halfspaces:
        weights = np.abs(h.hyperplane.coef)
        slack = np.maximum(h.sign * h.hyperplane.decision(cases), 0.0) * _SHY
        active = weights > 0
        if active.any():
            share = slack[:, None] / (active.sum() * weights[active])
            reach[:, active] = np.minimum(reach[:, active], share)
    return (
        np.minimum(np.maximum(cases - reach, domain.lower), cases),
        np.maximum(np.minimum(cases + reach, domain.upper), cases),
    )
