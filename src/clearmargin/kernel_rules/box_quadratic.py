r"""Lower bounds of quadratics over boxes around 0: of b'v + v'Qv over abs(v_j) <= h_j, many at once.

The minimum is hard to find when Q is indefinite; a bound is not. Where abs(b_j) of the current problem is at least
2 sum_k abs(Q_jk) h_k, the derivative by v_j has one sign everywhere, and v_j goes to the end it points away from: this
loses nothing, and makes the others linear terms exact, so that more of them may follow. Of what remains the
separable part b_j v_j + Q_jj v_j^2 is minimised in closed form, and products of two coordinates are counted as
-abs(Q_jk) h_j h_k: that is the gap.

Rounding: what is computed is the bound of a quadratic whose coefficients are off by a few roundings, relative to the
terms they were summed from; whoever made the coefficients accounts for them (`kernel_bounds`).
"""

from __future__ import annotations

import numpy as np

from clearmargin.rules.value import FloatArray

__all__ = ["bound_quadratics"]

# Each round may make further coordinates monotone; few gain from more.
_ROUNDS = 4


def bound_quadratics(
    linear: FloatArray, quadratic: FloatArray, half: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bound b'v + v'Qv over boxes from below.

    Parameters
    ----------
    linear : ndarray of shape (B, n)
        b.
    quadratic : ndarray of shape (B, n, n)
        Q, symmetric.
    half : ndarray of shape (B, n)
        h, not negative.

    Returns
    -------
    tuple of ndarray
        The bounds (B,), points of the boxes where the bounding functions are lowest (B, n), and what each coordinate
        adds to the distance between bound and minimum, at most (B, n).

    Examples
    --------
    >>> bound_quadratics(np.array([[3.0, 0.0]]), np.eye(2)[None], np.ones((1, 2)))
    (array([-2.]), array([[-1.,  0.]]), array([[0., 0.]]))
    """
    size = np.abs(quadratic)
    curve = np.einsum("bjj->bj", quadratic)
    v = np.zeros_like(half)
    room = half.copy()
    pull = linear
    for _ in range(_ROUNDS):
        settled = (room > 0.0) & (np.abs(pull) >= 2.0 * _times(size, room))
        if not bool(settled.any()):
            break
        v = np.where(settled, -np.copysign(half, pull), v)
        room = np.where(settled, 0.0, room)
        pull = linear + 2.0 * _times(quadratic, v)
    fixed = ((linear + pull) / 2.0 * v).sum(axis=1)
    gap = np.maximum(room * (_times(size, room) - np.abs(curve) * room), 0.0)
    lowest = np.where(
        curve > 0.0,
        np.clip(-pull / np.where(curve > 0.0, 2.0 * curve, 1.0), -room, room),
        -np.copysign(room, pull),
    )
    bound = fixed + (lowest * (pull + curve * lowest) - gap).sum(axis=1)
    return bound, v + lowest, gap


def _times(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])
