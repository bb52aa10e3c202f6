"""Weighted sums of steps, where to cut, and points that are small whole numbers.

Rounding: with a = weights, top = 1, ..., `largest` and r = top / max |a|, the points rint(r a) are tried with every
threshold between two sums that occur; the choice with the least weight of rows on the wrong side wins, of equal ones
that with the smallest points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clearmargin.rules.interval import round_up
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["Stumps", "candidate_cuts", "round_points"]

# A float needs no more digits than this to be written exactly.
_DIGITS = 17


@dataclass(frozen=True, slots=True, eq=False)
class Stumps:
    """A weighted sum of steps: intercept + sum of weights[s] where x[column[s]] >= cut[s].

    Parameters
    ----------
    column : ndarray of int of shape (k,)
        The column of each step.
    cut : ndarray of shape (k,)
        Where each step is.
    weights : ndarray of shape (k,)
        How high each step is.
    intercept : float
        The sum below all cuts.

    Examples
    --------
    >>> steps = Stumps(np.array([0]), np.array([3.0]), np.array([2.0]), -1.0)
    >>> steps.score(np.array([[2.9], [3.0]]))
    array([-1.,  1.])
    """

    column: IntArray
    cut: FloatArray
    weights: FloatArray
    intercept: float

    def __len__(self) -> int:
        return len(self.column)

    def indicators(self, rows: FloatArray) -> FloatArray:
        """Give 1 where a row is on the upper side of a step, 0 elsewhere; one column for each step."""
        return (rows[:, self.column] >= self.cut).astype(np.float64)

    def score(self, rows: FloatArray) -> FloatArray:
        """Give the sum for each row."""
        return np.asarray(self.indicators(rows) @ self.weights + self.intercept)


def candidate_cuts(values: FloatArray, most: int) -> FloatArray:
    """Give cuts between the values of a column, each with few digits.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The column.
    most : int
        Most cuts; with more gaps than that, those nearest to equally spaced quantiles are taken.

    Returns
    -------
    ndarray
        Cuts in ascending order; some value is at or above each, and some below.

    Examples
    --------
    >>> candidate_cuts(np.array([1.0, 2.0, 2.7183, 3.1416]), 9)
    array([2. , 2.4, 3. ])
    """
    known = np.unique(values)
    gaps = np.arange(len(known) - 1)
    if len(gaps) > most:
        shares = np.linspace(0.0, 1.0, most + 2)[1:-1]
        quantiles = np.quantile(values, shares, method="inverted_cdf")
        gaps = np.unique(np.searchsorted(known, quantiles))
        gaps = gaps[gaps < len(known) - 1]
    return np.array([_short_cut(known[g], known[g + 1]) for g in gaps], dtype=np.float64)


def _short_cut(below: float, above: float) -> float:
    """A number of few digits in (below, above] near its middle; between neighbouring whole numbers, a whole one."""
    if above.is_integer() and above - below == 1.0:
        return above
    middle = below / 2.0 + above / 2.0
    for digits in range(1, _DIGITS):
        cut = round_up(middle, digits)
        if below < cut <= above:
            return cut
    return above


def round_points(
    stumps: Stumps, rows: FloatArray, positive: BoolArray, weights: FloatArray, largest: int
) -> Stumps:
    """Make the heights of steps small whole numbers, at the least cost in agreement.

    Parameters
    ----------
    stumps : Stumps
        The steps.
    rows : ndarray of shape (m, n)
        Points.
    positive : ndarray of bool of shape (m,)
        Where the sum should be positive.
    weights : ndarray of shape (m,)
        What each point counts.
    largest : int
        Largest height, up or down.

    Returns
    -------
    Stumps
        Steps of whole heights without those that became zero. The intercept lies halfway between whole numbers, so
        that no sum is zero.

    Examples
    --------
    >>> steps = Stumps(np.array([0, 0]), np.array([1.0, 2.0]), np.array([0.52, 1.0]), -0.9)
    >>> rows = np.array([[0.0], [1.0], [2.0]])
    >>> rounded = round_points(steps, rows, np.array([False, False, True]), np.ones(3), 9)
    >>> rounded.weights, rounded.intercept
    (array([1., 1.]), -1.5)
    """
    height = np.abs(stumps.weights).max(initial=0.0)
    if height == 0.0:
        none = np.empty(0, dtype=np.intp)
        return Stumps(none, np.empty(0), np.empty(0), 0.5 if stumps.intercept > 0 else -0.5)
    h = stumps.indicators(rows)
    signed = np.where(positive, weights, -weights)
    best: tuple[float, FloatArray, float] | None = None
    for top in range(1, largest + 1):
        points = np.rint(stumps.weights * (top / height))
        agreement, threshold = _best_threshold(h @ points, signed)
        # Sums of weights in another order differ by rounding, which must not bring larger points.
        if best is None or agreement > best[0] + 1e-9 * weights.sum():
            best = agreement, points, threshold
    assert best is not None
    _, points, threshold = best
    kept = points != 0.0
    return Stumps(stumps.column[kept], stumps.cut[kept], points[kept], -threshold)


def _best_threshold(scores: FloatArray, signed: FloatArray) -> tuple[float, float]:
    """The weight above a threshold, what should not be there subtracted, and the best threshold by that."""
    levels, place = np.unique(scores, return_inverse=True)
    above = np.bincount(place, weights=signed)[::-1].cumsum()[::-1]
    # Above all levels there is nothing.
    gains = np.append(above, 0.0)
    best = int(np.argmax(gains))
    return float(gains[best]), float(levels[best] - 0.5 if best < len(levels) else levels[-1] + 0.5)
