"""An interval of numbers, and how it is rounded: always inwards, so that it lies inside the exact one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Literal

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.value import Value, number

Closed = Literal["left", "right", "both", "neither"]

_CLOSED: dict[tuple[bool, bool], Closed] = {
    (True, False): "left",
    (False, True): "right",
    (True, True): "both",
    (False, False): "neither",
}
_FLAGS = {name: flags for flags, name in _CLOSED.items()}


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Interval(Value):
    """The numbers between two bounds, each of which belongs to the interval or not.

    An infinite bound stands for no condition on that side and counts as closed: ``x >= 3`` holds for
    infinity, too. An interval may be empty. NaN is in no interval.

    Parameters
    ----------
    low, high : float
        The bounds; ``-inf`` and ``inf`` are allowed.
    closed : {"left", "right", "both", "neither"}, default "left"
        Which bounds belong to the interval.

    Examples
    --------
    >>> age = Interval(18, 65)
    >>> 18 in age, 65 in age
    (True, False)
    >>> age & Interval(40, 80, closed="both")
    Interval(40, 65, closed='left')
    """

    low: float
    high: float
    closed: Closed

    def __init__(self, low: float, high: float, closed: Closed = "left"):
        if not isinstance(closed, str) or closed not in _FLAGS:
            allowed = ", ".join(repr(name) for name in _FLAGS)
            raise InvalidValueError(f"closed must be one of {allowed}, not {closed!r}")
        low = number(low, "the lower bound of an interval")
        high = number(high, "the upper bound of an interval")
        if low == math.inf or high == -math.inf:
            raise InvalidValueError(
                f"an interval cannot start at inf or end at -inf: {low}, {high}"
            )
        low_closed, high_closed = _FLAGS[closed]
        flags = (low_closed or low == -math.inf, high_closed or high == math.inf)
        self._set(low=low, high=high, closed=_CLOSED[flags])

    @classmethod
    def from_flags(cls, low: float, high: float, low_closed: bool, high_closed: bool) -> Interval:
        """Make an interval from one flag for each bound."""
        return cls(low, high, _CLOSED[bool(low_closed), bool(high_closed)])

    @property
    def low_closed(self) -> bool:
        """Whether the lower bound belongs to the interval."""
        return _FLAGS[self.closed][0]

    @property
    def high_closed(self) -> bool:
        """Whether the upper bound belongs to the interval."""
        return _FLAGS[self.closed][1]

    @property
    def is_empty(self) -> bool:
        """Whether no number is in the interval."""
        return self.low > self.high or (self.low == self.high and self.closed != "both")

    @property
    def width(self) -> float:
        """Length of the interval; 0 when it is empty."""
        return max(0.0, self.high - self.low)

    def __contains__(self, x: float) -> bool:
        above = x >= self.low if self.low_closed else x > self.low
        below = x <= self.high if self.high_closed else x < self.high
        return bool(above and below)

    def __and__(self, other: Interval) -> Interval:
        if not isinstance(other, Interval):
            return NotImplemented
        # Of two equal bounds the open one is the narrower.
        low, low_open = max((self.low, not self.low_closed), (other.low, not other.low_closed))
        high, high_closed = min((self.high, self.high_closed), (other.high, other.high_closed))
        return Interval.from_flags(low, high, not low_open, high_closed)

    def __repr__(self) -> str:
        return f"Interval({_short(self.low)}, {_short(self.high)}, closed={self.closed!r})"

    def __str__(self) -> str:
        left, right = "[" if self.low_closed else "(", "]" if self.high_closed else ")"
        return f"{left}{_short(self.low)}, {_short(self.high)}{right}"


def _short(x: float) -> str:
    return repr(int(x)) if x.is_integer() and abs(x) < 1e15 else repr(x)


# A float has at most 17 significant digits that matter: with 17 it reads back as itself.
_ALL_DIGITS = 17


def round_down(x: float, digits: int) -> float:
    """Round to some significant digits, never upwards."""
    return _round(x, digits, ROUND_FLOOR)


def round_up(x: float, digits: int) -> float:
    """Round to some significant digits, never downwards."""
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
    """Round the exact decimal expansion of x, unless x already reads as a decimal of so few digits."""
    if digits < 1:
        raise InvalidValueError(f"digits must be at least 1, not {digits}")
    if not math.isfinite(x) or _shortest_digits(x) <= digits:
        return x
    rounded = float(Context(prec=digits, rounding=rounding).create_decimal(Decimal(x)))
    return rounded if math.isfinite(rounded) else x


def _shortest_digits(x: float) -> int:
    """Count the digits of the shortest decimal that reads back as x, which is what Python prints."""
    return len(Decimal(repr(float(x))).normalize().as_tuple().digits)
