"""Shorter boxes: keep only the bounds that foreign points make necessary, and move those outwards.

A foreign point outside a box has to violate at least one bound that is kept: a set cover over the 2n bounds. It is
solved greedily, the bound that excludes most points not yet excluded first. Among equals a bound on a feature that
has one already is taken, so that rules speak of few features, and then the one with the widest gap to the foreign
points behind it, measured in units of the range of the feature. Then bounds that turn out needless are dropped (the
last taken is looked at first), the others move half-way to the nearest foreign point that they alone exclude.

The new box contains the old one and excludes the same foreign points. Foreign points inside the old box stay inside.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import InvalidValueError
from clearmargin.rule_base.packed_boxes import (
    BoolArray,
    FloatArray,
    PackedBoxes,
    as_codes,
    as_finite_points,
    directions,
    halfway,
)
from clearmargin.rules.packing import Words, pack_bits
from clearmargin.rules.value import float_array

__all__ = ["shorten"]


def shorten(
    boxes: PackedBoxes,
    points: ArrayLike,
    codes: ArrayLike,
    box_codes: ArrayLike,
    lower_range: ArrayLike | None = None,
    upper_range: ArrayLike | None = None,
) -> PackedBoxes:
    """Drop the bounds that are not needed against foreign points, and let the others out.

    Parameters
    ----------
    boxes : PackedBoxes
        The boxes, r of them.
    points : array-like of shape (m, n)
        Finite points.
    codes : array-like of int of shape (m,)
        Their classes.
    box_codes : array-like of int of shape (r,)
        The class of each box.
    lower_range, upper_range : array-like of shape (n,), optional
        The range of each feature, the unit in which gaps are compared; that of the points when not given.

    Returns
    -------
    PackedBoxes
        Boxes that contain the old ones, in their order; a box that needs no bound at all is the whole space.

    Examples
    --------
    >>> points, codes = [[1.0, 1.0], [5.0, 1.0], [6.0, 9.0]], [0, 1, 1]
    >>> short = shorten(PackedBoxes([[0.0, 0.0]], [[2.0, 3.0]]), points, codes, [0])
    >>> short.upper.tolist(), short.n_conditions.tolist()
    ([[3.5, inf]], [1])
    """
    P = as_finite_points(points, boxes.n_features)
    point_codes = as_codes(codes, len(P), "codes of points")
    own_codes = as_codes(box_codes, len(boxes), "codes of boxes")
    unit = _units(P, lower_range, upper_range)
    U, limits = directions(P), boxes.limits
    for code in np.unique(own_codes):
        foreign = U[:, point_codes != code]
        for b in np.flatnonzero(own_codes == code):
            limits[b] = _shortened(limits[b], foreign, unit)
    return PackedBoxes.from_limits(limits)


def _units(P: FloatArray, lower: ArrayLike | None, upper: ArrayLike | None) -> FloatArray:
    n = P.shape[1]
    if (lower is None) != (upper is None):
        raise InvalidValueError("lower_range and upper_range go together: give both or none")
    if lower is None or upper is None:
        low, high = (P.min(axis=0), P.max(axis=0)) if len(P) else (np.zeros(n), np.ones(n))
    else:
        low = float_array(lower, "lower_range", shape=(n,))
        high = float_array(upper, "upper_range", shape=(n,))
    half = high / 2 - low / 2  # the difference itself may overflow
    return np.tile(np.where((half > 0) & np.isfinite(half), half, 1.0), 2)


def _shortened(limits: FloatArray, foreign: FloatArray, unit: FloatArray) -> FloatArray:
    """The limits of one box after shortening; `foreign` has shape (2n, f)."""
    out = foreign > limits[:, None]
    to_exclude = out.any(axis=0)
    out, behind = out[:, to_exclude], foreign[:, to_exclude]
    short = np.full(len(limits), math.inf)
    kept = _without_needless(_greedy(out, _gaps(limits, behind, out, unit)), out)
    if not kept:
        return short
    out, behind = out[kept], behind[kept]
    for k, d in enumerate(kept):
        # Never empty: no kept bound is needless, and others that move out only leave more to this one.
        only = behind[k, out[k] & (out.sum(axis=0) == 1)]
        short[d] = halfway(float(limits[d]), float(only.min()))
        out[k] = behind[k] > short[d]
    return short


def _gaps(limits: FloatArray, behind: FloatArray, out: BoolArray, unit: FloatArray) -> FloatArray:
    """From each bound to the nearest foreign point behind it."""
    nearest = np.where(out, behind, math.inf).min(axis=1, initial=math.inf)
    gaps = np.zeros(len(limits))
    used = np.isfinite(nearest)
    gaps[used] = (nearest[used] / 2 - limits[used] / 2) / unit[used]
    return gaps


def _greedy(out: BoolArray, gaps: FloatArray) -> list[int]:
    """Bounds that together exclude all columns of `out`, in the order in which they are taken."""
    words: Words = pack_bits(out)
    left = np.bitwise_or.reduce(words, axis=0)
    n = len(out) // 2
    taken: list[int] = []
    has_bound = np.zeros(2 * n, dtype=np.bool_)
    while left.any():
        gain = np.bitwise_count(words & left).sum(axis=1)
        best = np.flatnonzero(gain == gain.max())
        same = best[has_bound[best]]
        best = same if len(same) else best
        d = int(best[np.argmax(gaps[best])])
        taken.append(d)
        has_bound[[d % n, d % n + n]] = True
        left &= ~words[d]
    return taken


def _without_needless(taken: list[int], out: BoolArray) -> list[int]:
    """Drop bounds, the last first, whose points are all excluded by others that are kept."""
    times = out[taken].sum(axis=0)
    kept = list(taken)
    for d in reversed(taken):
        if (times[out[d]] > 1).all():
            times -= out[d]
            kept.remove(d)
    return kept
