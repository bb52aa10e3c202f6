"""Where the columns of a table are cut: between neighbouring values, at numbers of few digits."""

from __future__ import annotations

import math

import numpy as np

from clearmargin.rules.interval import round_up
from clearmargin.rules.value import FloatArray

__all__ = ["candidate_cuts", "middle_thresholds"]

# A float needs no more digits than this to be written exactly.
_DIGITS = 17


def candidate_cuts(values: FloatArray, most: int) -> FloatArray:
    """Give cuts between the values of a column, each with few digits.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The column.
    most : int
        Most cuts; with more places to cut than that, those nearest to equally spaced quantiles are taken.

    Returns
    -------
    ndarray
        Cuts in ascending order; some value is at or above each, and some below.

    Examples
    --------
    >>> candidate_cuts(np.array([1.0, 2.0, 2.7183, 3.1416]), 9)
    array([2. , 2.4, 3. ])
    """
    return np.array([_short_cut(*pair) for pair in _neighbours(values, most)], dtype=np.float64)


def middle_thresholds(values: FloatArray, most: int, *, integer: bool = False) -> FloatArray:
    """Give thresholds near the middle between neighbouring values of a column, each with few digits.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The column.
    most : int
        Most thresholds, as for `candidate_cuts`.
    integer : bool, default False
        Whether the column holds whole numbers only; then thresholds are whole, too.

    Returns
    -------
    ndarray
        Thresholds t in ascending order, for x <= t and x > t: some value is at or below each, and some above.

    Examples
    --------
    >>> middle_thresholds(np.array([1.0, 2.0, 2.7183, 3.1416]), 9)
    array([1.5, 2.4, 3. ])
    >>> middle_thresholds(np.array([1.0, 2.0, 5.0]), 9, integer=True)
    array([1., 3.])
    """
    middle = _whole_middle if integer else _short_middle
    return np.array([middle(*pair) for pair in _neighbours(values, most)], dtype=np.float64)


def _neighbours(values: FloatArray, most: int) -> list[tuple[float, float]]:
    """Find the pairs of neighbouring values to cut between: all, or those nearest to equally spaced quantiles."""
    known = np.unique(values)
    places = np.arange(len(known) - 1)
    if len(places) > most:
        shares = np.linspace(0.0, 1.0, most + 2)[1:-1]
        quantiles = np.quantile(values, shares, method="inverted_cdf")
        places = np.unique(np.searchsorted(known, quantiles))
        places = places[places < len(known) - 1]
    return list(zip(known[places].tolist(), known[places + 1].tolist(), strict=True))


def _short_cut(below: float, above: float) -> float:
    """Give a number of few digits in (below, above] near its middle; between whole numbers, a whole one."""
    if above.is_integer() and above - below == 1.0:
        return above
    middle = below / 2.0 + above / 2.0
    for digits in range(1, _DIGITS):
        cut = round_up(middle, digits)
        if below < cut <= above:
            return cut
    return above


def _short_middle(below: float, above: float) -> float:
    """Give a number of few digits in the middle half of [below, above)."""
    middle = below / 2.0 + above / 2.0
    reach = (above / 2.0 - below / 2.0) / 2.0
    for digits in range(1, _DIGITS):
        threshold = float(f"{middle:.{digits}g}")
        if below <= threshold < above and abs(threshold - middle) <= reach:
            return threshold
    return middle if below <= middle < above else below


def _whole_middle(below: float, above: float) -> float:
    return math.floor(below / 2.0 + above / 2.0)
