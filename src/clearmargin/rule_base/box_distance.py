"""How far points are from boxes, and which box is nearest: what decides for points that no box covers.

The distance of x to a box is sqrt(sum_j (e_j / s_j)^2), where s_j is the scale of feature j and
e_j = max(lower_j - x_j, x_j - upper_j, 0) the excess. A feature of scale 0 (constant where the scale was measured)
has no unit in which to measure, so it takes no part. With all scales positive the distance is 0 exactly inside the box.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import InvalidValueError
from clearmargin.rule_base.shaping import as_finite_points
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.value import FloatArray, IntArray, float_array

__all__ = ["distance_to_boxes", "nearest_box"]

# Distances computed at a time, 2 MB: they stay in cache while the axes pass.
_CHUNK = 1 << 18
# Squares smaller or larger than these have lost digits to underflow, or all to overflow.
_TINY, _HUGE = 1e-280, 1e300


def distance_to_boxes(points: ArrayLike, boxes: Boxes, scale: ArrayLike) -> FloatArray:
    """Compute the Euclidean distance of each point to each box, every axis in units of its scale.

    Parameters
    ----------
    points : array-like of shape (m, n)
        Finite points.
    boxes : Boxes
        The boxes, r of them.
    scale : array-like of shape (n,)
        The unit of each feature, not negative; features with scale 0 are left out.

    Returns
    -------
    ndarray of shape (m, r)
        Distances, 0 inside.

    Examples
    --------
    >>> boxes = Boxes.from_bounds([[0.0, 0.0], [5.0, -np.inf]], [[1.0, 1.0], [6.0, np.inf]])
    >>> distance_to_boxes([[4.0, 5.0], [5.5, 9.0]], boxes, [1.0, 1.0])[0].tolist()
    [5.0, 1.0]
    """
    P, units = _checked(points, boxes, scale)
    out = np.empty((len(P), len(boxes)))
    for rows in _chunks(len(P), len(boxes)):
        out[rows] = _distances(P[rows], boxes, units)
    return out


def nearest_box(points: ArrayLike, boxes: Boxes, scale: ArrayLike) -> IntArray:
    """Return the nearest box of each point, the first of several that are equally near.

    Parameters
    ----------
    points : array-like of shape (m, n)
        Finite points.
    boxes : Boxes
        The boxes, at least one.
    scale : array-like of shape (n,)
        The unit of each feature, not negative; features with scale 0 are left out.

    Returns
    -------
    ndarray of int of shape (m,)
        Positions of boxes.

    Examples
    --------
    >>> nearest_box([[0.0], [4.0]], Boxes.from_bounds([[1.0], [3.0]], [[2.0], [3.5]]), [1.0]).tolist()
    [0, 1]
    """
    P, units = _checked(points, boxes, scale)
    if not len(boxes):
        raise InvalidValueError("there is no box, so none is nearest; give at least one")
    nearest = np.empty(len(P), dtype=np.intp)
    for rows in _chunks(len(P), len(boxes)):
        nearest[rows] = _distances(P[rows], boxes, units).argmin(axis=1)
    return nearest


def _checked(points: ArrayLike, boxes: Boxes, scale: ArrayLike) -> tuple[FloatArray, FloatArray]:
    P = as_finite_points(points, boxes.n_features)
    units = float_array(scale, "scale", shape=(boxes.n_features,))
    if not (np.isfinite(units) & (units >= 0)).all():
        raise InvalidValueError("scale must be finite and not negative")
    return P, units


def _chunks(m: int, r: int) -> Iterator[slice]:
    step = max(1, _CHUNK // max(r, 1))
    return (slice(start, start + step) for start in range(0, m, step))


def _distances(P: FloatArray, boxes: Boxes, units: FloatArray) -> FloatArray:
    lower, upper = boxes.lower, boxes.upper
    bounded = np.isfinite(lower) | np.isfinite(upper)
    squares = np.zeros((len(P), len(boxes)))
    with np.errstate(over="ignore", under="ignore"):
        for j in np.flatnonzero(bounded.any(axis=0) & (units > 0)):
            # Short rules leave most features free.
            constrained = slice(None) if bounded[:, j].all() else np.flatnonzero(bounded[:, j])
            x = P[:, j, None]
            excess = np.maximum(lower[constrained, j] - x, x - upper[constrained, j])
            np.maximum(excess, 0.0, out=excess)
            excess /= units[j]
            excess *= excess
            squares[:, constrained] += excess
        distances = np.sqrt(squares)
        doubtful = (squares > _HUGE) | ((squares < _TINY) & ~boxes.contains(P))
        i, b = np.nonzero(doubtful)
        if len(i):
            distances[i, b] = _careful(P[i], lower[b], upper[b], units)
    return distances


def _careful(P: FloatArray, lower: FloatArray, upper: FloatArray, units: FloatArray) -> FloatArray:
    """Compute distances of pairs of a point and a box, divided by the largest excess before anything is squared."""
    excess = np.maximum(np.maximum(lower - P, P - upper), 0.0)
    used = units > 0
    scaled = excess[:, used] / units[used]
    largest = scaled.max(axis=1, initial=0.0)
    safe = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
    return np.where(
        np.isfinite(largest), safe * np.sqrt(((scaled / safe[:, None]) ** 2).sum(axis=1)), np.inf
    )
