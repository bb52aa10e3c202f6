"""Fewer digits, always inwards: a rounded interval lies inside the exact one."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.interval import Interval

__all__ = ["round_down", "round_inwards", "round_up"]

# A float has at most 17 significant digits that matter: with 17 it reads back as itself.
_ALL_DIGITS = 17


def round_down(x: float, digits: int) -> float:
    """Round to some significant digits, never upwards.

    Examples
    --------
    >>> round_down(2.71828, 3), round_down(-2.71828, 3), round_down(7.3, 2)
    (2.71, -2.72, 7.3)
    """
    return _round(x, digits, ROUND_FLOOR)


def round_up(x: float, digits: int) -> float:
    """Round to some significant digits, never downwards.

    Examples
    --------
    >>> round_up(2.71828, 3)
    2.72
    """
    return _round(x, digits, ROUND_CEILING)


def round_inwards(interval: Interval, digits: int) -> Interval:
    """Round the bounds of an interval so that the result lies inside it.

    Where few digits would leave nothing, more are used, up to the exact bounds.

    Parameters
    ----------
    interval : Interval
        Not empty.
    digits : int
        Significant digits to keep.

    Returns
    -------
    Interval
        A part of the interval that is not empty. A bound that moved is closed: it lies strictly inside.

    Examples
    --------
    >>> print(round_inwards(Interval(0.12345, 7.7777), 2))
    [0.13, 7.7]
    >>> print(round_inwards(Interval(1.2341, 1.2349), 2))
    [1.2341, 1.2349)
    """
    if interval.is_empty:
        raise InvalidValueError(f"an empty interval cannot be rounded inwards: {interval}")
    for d in range(digits, _ALL_DIGITS):
        low, high = round_up(interval.low, d), round_down(interval.high, d)
        rounded = Interval.from_flags(
            low,
            high,
            interval.low_closed or low != interval.low,
            interval.high_closed or high != interval.high,
        )
        if not rounded.is_empty:
            return rounded
    return interval


def _round(x: float, digits: int, rounding: str) -> float:
    """Round the exact decimal expansion of x, unless x already reads as a decimal of so few digits.

    The float 7.3 is a little less than the number 7.3, yet it needs no rounding: "7.3" reads back as itself. The
    float nearest to a rounded decimal is still on the right side of x: rounding to floats is monotone and x is a float.
    """
    if digits < 1:
        raise InvalidValueError(f"digits must be at least 1, not {digits}")
    if not math.isfinite(x) or _shortest_digits(x) <= digits:
        return x
    rounded = float(Context(prec=digits, rounding=rounding).create_decimal(Decimal(x)))
    return rounded if math.isfinite(rounded) else x


def _shortest_digits(x: float) -> int:
    """Number of digits of the shortest decimal that reads back as x, which is what Python prints."""
    return len(Decimal(repr(float(x))).normalize().as_tuple().digits)
