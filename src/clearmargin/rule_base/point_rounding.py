"""Small whole numbers as points of indicators, at the least cost in agreement.

With weights a, top = 1, ..., `largest` and r = top / max |a|, the points rint(r a) are tried with every threshold
between two sums that occur; the choice with the least weight of rows on the wrong side wins, of equal ones that with
the smallest points.
"""

from __future__ import annotations

import numpy as np

from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["whole_points"]


def whole_points(
    indicators: FloatArray,
    weights: FloatArray,
    positive: BoolArray,
    row_weights: FloatArray,
    largest: int,
) -> tuple[FloatArray, float]:
    """Round weights to small whole numbers, and find the threshold that suits them.

    Parameters
    ----------
    indicators : ndarray of shape (m, k)
        0 or 1 for each row and weight.
    weights : ndarray of shape (k,)
        The weights, not all of them zero.
    positive : ndarray of bool of shape (m,)
        Where the sum should be above the threshold.
    row_weights : ndarray of shape (m,)
        What each row counts.
    largest : int
        Largest magnitude of a point.

    Returns
    -------
    points : ndarray of shape (k,)
        Whole numbers; some may be zero.
    threshold : float
        Halfway between whole numbers, so that no sum is equal to it.

    Examples
    --------
    >>> h = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    >>> whole_points(h, np.array([0.52, 1.0]), np.array([False, False, True]), np.ones(3), 9)
    (array([1., 1.]), 1.5)
    """
    height = np.abs(weights).max()
    signed = np.where(positive, row_weights, -row_weights)
    best: tuple[float, FloatArray, float] | None = None
    for top in range(1, largest + 1):
        points = np.rint(weights * (top / height))
        agreement, threshold = _best_threshold(indicators @ points, signed)
        # Sums of weights in another order differ by rounding, which must not bring larger points.
        if best is None or agreement > best[0] + 1e-9 * row_weights.sum():
            best = agreement, points, threshold
    assert best is not None
    return best[1], best[2]


def _best_threshold(scores: FloatArray, signed: FloatArray) -> tuple[float, float]:
    """Return the weight above a threshold, what should not be there subtracted, and the best threshold by that."""
    levels, place = np.unique(scores, return_inverse=True)
    above = np.bincount(place, weights=signed)[::-1].cumsum()[::-1]
    # Above all levels there is nothing.
    gains = np.append(above, 0.0)
    best = int(np.argmax(gains))
    return float(gains[best]), float(levels[best] - 0.5 if best < len(levels) else levels[-1] + 0.5)
