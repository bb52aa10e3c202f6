"""Where the columns of a table are cut: between neighbouring values, at numbers of few digits."""

from __future__ import annotations

import math

import numpy as np

from clearmargin.rules.interval import round_up
from clearmargin.rules.value import FloatArray

# A float needs no more digits than this to be written exactly.
_DIGITS = 17


def candidate_cuts(values: FloatArray, most: int) -> FloatArray:
    """Give cuts between the values of a column, each with few digits."""
    return np.array([_short_cut(*pair) for pair in _neighbours(values, most)], dtype=np.float64)


def middle_thresholds(values: FloatArray, most: int, *, integer: bool = False) -> FloatArray:
    """Give thresholds near the middle between neighbouring values of a column, each with few digits."""
    middle = _whole_middle if integer else _short_middle
    return np.array([middle(*pair) for pair in _neighbours(values, most)], dtype=np.float64)


def _neighbours(values: FloatArray, most: int) -> list[tuple[float, float]]:
    """Find the pairs of neighbouring values to cut between: all, or those nearest to equally spaced quantiles."""
    ordered = np.sort(values)
    known = np.concatenate([ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]]])
    places = np.arange(len(known) - 1)
    if len(places) > most:
        shares = np.linspace(0.0, 1.0, most + 2)[1:-1]
        quantiles = ordered[np.ceil(len(ordered) * shares - 1.0).astype(np.intp)]
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
