"""Where to cut the values of one attribute into bins: equally full, equally wide, or where a class changes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from clearmargin.rules.interval import round_down, round_up
from clearmargin.rules.value import FloatArray, IntArray

__all__ = ["entropy_cuts", "quantile_cuts", "round_cut", "width_cuts"]

# With so many significant digits every float reads back as itself.
_ALL_DIGITS = 17


def quantile_cuts(values: FloatArray, n_bins: int, *, integer: bool = False) -> FloatArray:
    """Cut into bins that hold about the same number of values.

    Equal values stay together: each cut lies between the two neighbours that bring it nearest to its share, and cuts
    that come to lie between the same neighbours are one.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The values, finite.
    n_bins : int
        The number of bins, if there are values enough.
    integer : bool, default False
        Whether only whole numbers may be cuts; for whole values.

    Returns
    -------
    ndarray of shape (at most n_bins - 1,)
        The cuts, increasing. Bin k holds the values with exactly k cuts at or below them.

    Examples
    --------
    >>> quantile_cuts(np.array([1.0, 2.0, 2.0, 2.0, 7.32, 7.39]), 3)
    array([2., 5.])
    >>> quantile_cuts(np.array([0.0, 0.0, 0.0, 4.0]), 4, integer=True)
    array([2.])
    """
    distinct, counts = np.unique(values, return_counts=True)
    below = np.cumsum(counts)[:-1]  # values below the gap between a distinct value and the next
    if not len(below):
        return np.empty(0)
    # In whole numbers, so that no rounding decides: the gap nearest to each share of all values.
    shares = np.arange(1, n_bins) * len(values)
    after = np.minimum(np.searchsorted(below * n_bins, shares), len(below) - 1)
    before = np.maximum(after - 1, 0)
    is_before = shares - below[before] * n_bins <= below[after] * n_bins - shares
    gaps = np.unique(np.where(is_before, before, after))
    return _cut_in_gaps(distinct, gaps, integer=integer)


def width_cuts(values: FloatArray, n_bins: int, *, integer: bool = False) -> FloatArray:
    """Cut the range of the values into bins of equal width; bins without a value are joined to the next one.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The values, finite.
    n_bins : int
        The number of bins.
    integer : bool, default False
        Whether only whole numbers may be cuts; for whole values.

    Returns
    -------
    ndarray of shape (at most n_bins - 1,)
        The cuts, increasing.

    Examples
    --------
    >>> width_cuts(np.array([0.0, 1.0, 2.9, 9.0]), 3)
    array([3.])
    """
    distinct = np.unique(values)
    if len(distinct) < 2:
        return np.empty(0)
    # In the decimals that people see: from 0.1 to 0.5 the third of four cuts is 0.4, not 0.4000000000000001.
    low, high = (Fraction(repr(float(end))) for end in distinct[[0, -1]])
    exact = [_least_float(low + (high - low) * i / n_bins) for i in range(1, n_bins)]
    # In the gap before the first value that is not below the cut.
    gaps = np.clip(np.searchsorted(distinct, exact) - 1, 0, len(distinct) - 2)
    gaps, first = np.unique(gaps, return_index=True)
    return _cut_in_gaps(distinct, gaps, np.array(exact)[first], integer=integer)


def _least_float(x: Fraction) -> float:
    """The least float whose shortest decimal is not below x."""
    nearest = float(x)
    return nearest if Fraction(repr(nearest)) >= x else math.nextafter(nearest, math.inf)


def entropy_cuts(values: FloatArray, classes: IntArray, *, integer: bool = False) -> FloatArray:
    """Cut where the classes change, as often as the shorter description pays for the cuts.

    The criterion of Fayyad and Irani (IJCAI 1993): the cut of a set S of N rows that leaves the least class entropy is
    accepted if its gain exceeds ``(log2(N - 1) + log2(3^k - 2) - k Ent(S) + k1 Ent(S1) + k2 Ent(S2)) / N``, where k, k1
    and k2 count the classes in S and in its two parts; then the parts are cut in the same way.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The values, finite.
    classes : ndarray of int of shape (m,)
        The class of each value, counted from 0.
    integer : bool, default False
        Whether only whole numbers may be cuts; for whole values.

    Returns
    -------
    ndarray
        The cuts, increasing; none where no cut pays.

    Examples
    --------
    >>> entropy_cuts(np.arange(20.0), np.repeat([0, 1], 10))
    array([10.])
    >>> entropy_cuts(np.arange(20.0), np.tile([0, 1], 10))
    array([], dtype=float64)
    """
    distinct, place = np.unique(values, return_inverse=True)
    k = int(classes.max(initial=-1)) + 1
    table = np.bincount(place * k + classes, minlength=len(distinct) * k).reshape(-1, k)
    below = np.vstack([np.zeros((1, k), dtype=np.int64), np.cumsum(table, axis=0)])
    gaps, parts = [], [(0, len(distinct))]
    while parts:
        start, stop = parts.pop()
        cut = _best_cut(below[start : stop + 1] - below[start])
        if cut is not None:
            gaps.append(start + cut - 1)
            parts += [(start, start + cut), (start + cut, stop)]
    return _cut_in_gaps(distinct, np.array(sorted(gaps), dtype=np.intp), integer=integer)


def _best_cut(below: IntArray) -> int | None:
    """How many distinct values the first part of the best cut has; None if no cut pays.

    Row i of `below` counts the classes among the first i distinct values.
    """
    if len(below) < 3:
        return None
    total, left = below[-1], below[1:-1]
    right = total - left
    cost = _bits(left) + _bits(right)
    best = int(np.argmin(cost))
    n, whole = int(total.sum()), float(_bits(total))
    sides = [total, left[best], right[best]]
    k, k1, k2 = (int(np.count_nonzero(side)) for side in sides)
    ent, ent1, ent2 = (float(_bits(side)) / int(side.sum()) for side in sides)
    price = math.log2(n - 1) + math.log2(3**k - 2) - (k * ent - k1 * ent1 - k2 * ent2)
    return best + 1 if whole - float(cost[best]) > price else None


def _bits(counts: IntArray) -> FloatArray:
    """Number of rows times the entropy of their classes, in bits; the classes are the last axis."""
    bits: FloatArray = _x_log_x(counts.sum(axis=-1)) - _x_log_x(counts).sum(axis=-1)
    return bits


def _x_log_x(x: IntArray) -> FloatArray:
    product: FloatArray = np.multiply(x, np.log2(np.maximum(x, 1.0)))
    return product


def _cut_in_gaps(
    distinct: FloatArray, gaps: IntArray, near: FloatArray | None = None, *, integer: bool
) -> FloatArray:
    """A round number in each gap between a distinct value and the next, near the middle if nothing else is said."""
    low, high = distinct[gaps], distinct[gaps + 1]
    wanted = low / 2 + high / 2 if near is None else near
    cuts = [round_cut(*each) for each in zip(low.tolist(), high.tolist(), wanted, strict=True)]
    # Between whole numbers only (0, 1] has a shorter decimal that is not whole: 0.5.
    return np.ceil(cuts) if integer else np.array(cuts, dtype=np.float64)


def round_cut(low: float, high: float, near: float) -> float:
    """Give the number of fewest digits above one value and not above the next; of several, the nearest to a wish.

    A cut anywhere in ``(low, high]`` divides the same values, so it may as well be one that people can remember.

    Parameters
    ----------
    low, high : float
        Two values, the first one smaller.
    near : float
        The cut that would be best; taken as `high` if it is not between them.

    Returns
    -------
    float
        The cut c, with ``low < c <= high``.

    Examples
    --------
    >>> round_cut(29.2, 31.7, 30.45), round_cut(7.32, 7.39, 7.353), round_cut(44, 45, 44.5)
    (30.0, 7.35, 45.0)
    >>> round_cut(-3, 12, 4.5)
    0.0
    """
    if low < 0 <= high:
        return 0.0
    target = float(near) if low < near <= high else float(high)
    # If some number of so many digits is in the gap, then one of the two around the target is.
    for digits in range(1, _ALL_DIGITS + 1):
        down, up = round_down(target, digits), round_up(target, digits)
        # Where rounding would overflow, it gives back the target with all its digits.
        around = {down, up} - ({target} if down != up else set())
        fitting = [cut for cut in sorted(around) if low < cut <= high]
        if fitting:
            return min(fitting, key=lambda cut: abs(cut - target)) + 0.0
    return float(high)
