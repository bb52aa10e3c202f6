r"""The volume of the part of a box that lies on one side of a plane, as a number with a guarantee.

Given a plane a'z = g and a box [l, u], the question is the volume of { z in [l, u] : a'z < g }. A feature with a
negative weight is measured from its upper bound downwards, one with a positive weight from its lower bound upwards,
and each in units of its width. With w_i = |a_i| (u_i - l_i) and gamma = g - sum_i min(a_i l_i, a_i u_i)::

    vol{ z in [l, u] : a'z < g } = prod_i (u_i - l_i) * P(sum_i w_i U_i < gamma),    U_i uniform on [0, 1]

Features with w_i = 0 drop out of the probability. Floats are fractions with a power of two below, so w and gamma become
integers without any rounding, and offsets of 1e9 or weights over many decades do no harm. The smaller tail is found::

    P(sum_i w_i U_i < gamma) = 1 - P(sum_i w_i U_i < sum_i w_i - gamma),

by the first of these routes that is good enough:

1. "exact" (`clipped_volume_exact`): inclusion and exclusion in integers, meeting in the middle, where it takes no
   more than about 50 ms: up to about 20 features, any number when few subsets of the weights stay below gamma;
2. "fourier" (`clipped_volume_bounds`): a Fourier series with a bound of its error, about 1e-13 in absolute terms;
   accepted when it gives six digits of the result;
3. "exact" again with a patience of about two seconds, for volumes so small that an absolute error is not enough;
4. "bracket" (`clipped_volume_bounds`): rounding to a grid, unless the Fourier series is the narrower of the two.

Plain floating-point inclusion and exclusion is not among them: dividing by prod w_i after the terms have cancelled
leaves no correct digit when weights differ by some decades, and up to ten features the integers take well below 1 ms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import InvalidValueError
from clearmargin.plane_rules.clipped_volume_bounds import fourier_tail, grid_tail
from clearmargin.plane_rules.clipped_volume_exact import Enclosure, exact_tail
from clearmargin.rules.value import FloatArray, float_array, number

__all__ = ["Volume", "clipped_share", "clipped_volume"]

# About 50 ms and 2 s, at the 0.2 ns per unit that `exact_tail` was measured at.
_QUICK_WORK, _PATIENT_WORK = 2.5e8, 1e10
# Six digits are more than a report prints of a share.
_ENOUGH_DIGITS = Fraction(1, 10**6)


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume, or a share of one, that is known to lie between two numbers.

    Parameters
    ----------
    low, high : float
        The true value is at least `low` and at most `high`.
    method : {"exact", "fourier", "bracket"}
        How it was found.

    Examples
    --------
    >>> volume = Volume(0.25, 0.75, "bracket")
    >>> volume.value, volume.is_exact
    (0.5, False)
    """

    low: float
    high: float
    method: str

    @property
    def value(self) -> float:
        """The middle of the interval."""
        # The difference of two infinities is not a number.
        return self.low if self.low == self.high else self.low + (self.high - self.low) / 2

    @property
    def is_exact(self) -> bool:
        """Whether no float lies strictly between the bounds: only the rounding to a float is left."""
        return self.high <= math.nextafter(self.low, math.inf)


def clipped_volume(a: ArrayLike, g: float, lower: ArrayLike, upper: ArrayLike) -> Volume:
    """Measure the part of a box where a'z < g.

    Parameters
    ----------
    a : array-like of shape (n,)
        Weights of any sign.
    g : float
        Threshold.
    lower, upper : array-like of shape (n,) or float
        Bounds of the box, finite where the weight is not zero. The volume is 0 if one side has no width or the box
        is empty, and infinite if a side without weight is.

    Returns
    -------
    Volume
        An interval that holds the true volume.

    Raises
    ------
    InvalidValueError
        If a feature with a weight has no finite bounds, or the arrays do not fit.

    Examples
    --------
    >>> clipped_volume([1.0, -2.0], 0.0, lower=[0.0, 0.0], upper=[2.0, 1.0])
    Volume(low=1.0, high=1.0, method='exact')
    >>> triangle = clipped_volume([0.1, 0.2], 0.3, lower=0.0, upper=9.0)
    >>> triangle.is_exact, round(triangle.value, 12)
    (True, 2.25)
    """
    weights, threshold, low, high = _checked(a, g, lower, upper)
    if (low >= high).any():
        return Volume(0.0, 0.0, "exact")
    share = _share(weights, threshold, low, high)
    if not (np.isfinite(low) & np.isfinite(high)).all():
        least, most = (math.inf if bound > 0 else 0.0 for bound in (share.low, share.high))
        return Volume(least, most, share.method)
    box = math.prod(
        Fraction(u) - Fraction(v) for v, u in zip(low.tolist(), high.tolist(), strict=True)
    )
    return _rounded(share, box)


def clipped_share(a: ArrayLike, g: float, lower: ArrayLike, upper: ArrayLike) -> Volume:
    """Give the share of a box where a'z < g: the probability for a point drawn evenly from the box.

    Parameters
    ----------
    a : array-like of shape (n,)
        Weights of any sign.
    g : float
        Threshold.
    lower, upper : array-like of shape (n,) or float
        Bounds of the box, finite where the weight is not zero. A side without width is a fixed coordinate.

    Returns
    -------
    Volume
        An interval within [0, 1] that holds the true share.

    Raises
    ------
    InvalidValueError
        If the box is empty, if a feature with a weight has no finite bounds, or the arrays do not fit.

    Examples
    --------
    >>> clipped_share([1.0, 1.0, 0.0], 1.0, lower=0.0, upper=[1.0, 1.0, np.inf])
    Volume(low=0.5, high=0.5, method='exact')
    """
    weights, threshold, low, high = _checked(a, g, lower, upper)
    if (low > high).any():
        j = int(np.argmax(low > high))
        raise InvalidValueError(
            f"an empty box has no shares: feature {j} starts at {low[j]} and ends at {high[j]}"
        )
    return _rounded(_share(weights, threshold, low, high))


def _checked(
    a: ArrayLike, g: float, lower: ArrayLike, upper: ArrayLike
) -> tuple[FloatArray, float, FloatArray, FloatArray]:
    weights = float_array(a, "the weights of the plane")
    if weights.ndim != 1:
        raise InvalidValueError(
            f"the weights of the plane are one row of numbers, not shape {weights.shape}"
        )
    threshold = number(g, "the threshold g")
    if not (np.isfinite(weights).all() and math.isfinite(threshold)):
        raise InvalidValueError("the weights of the plane and its threshold g must be finite")
    low = float_array(lower, "the lower bounds of the box", shape=weights.shape)
    high = float_array(upper, "the upper bounds of the box", shape=weights.shape)
    if np.isposinf(low).any() or np.isneginf(high).any():
        raise InvalidValueError("a box cannot start at inf or end at -inf")
    unbounded = (weights != 0.0) & ~(np.isfinite(low) & np.isfinite(high))
    if unbounded.any():
        j = int(np.argmax(unbounded))
        raise InvalidValueError(
            f"feature {j} has weight {weights[j]} but goes from {low[j]} to {high[j]}: the volume needs finite "
            "bounds wherever there is a weight"
        )
    return weights, threshold, low, high


def _share(a: FloatArray, g: float, lower: FloatArray, upper: FloatArray) -> Enclosure:
    """Enclose P(a'z < g) for z uniform in a box that is not empty."""
    weights, threshold = _integers(a, g, lower, upper)
    total = sum(weights)
    if threshold <= 0 or threshold >= total:
        certain = Fraction(threshold > 0)
        return Enclosure(certain, certain, "exact")
    if 2 * threshold <= total:
        return _tail(weights, threshold)
    return _tail(weights, total - threshold, opposite=True).complement()


def _integers(
    a: FloatArray, g: float, lower: FloatArray, upper: FloatArray
) -> tuple[list[int], int]:
    """Reduce to positive weights w and a threshold gamma, all multiplied by the same number; w_i = 0 are left out."""
    active = a != 0.0
    weights, fine = _dyadic(a[active].tolist())
    low_high, finer = _dyadic([*lower[active].tolist(), *upper[active].tolist()])
    n = len(weights)
    (threshold,), finest = _dyadic([g])
    surplus = fine + finer - finest
    # Everything in units of 2^-(fine + finer), or of 2^-finest if that is smaller.
    gamma, extra = threshold << max(0, surplus), max(0, -surplus)
    w = []
    for weight, low, high in zip(weights, low_high[:n], low_high[n:], strict=True):
        gamma -= (weight * (low if weight > 0 else high)) << extra
        w.append((abs(weight) * (high - low)) << extra)
    divisor = math.gcd(gamma, *w) or 1
    return [x // divisor for x in w if x], gamma // divisor


def _dyadic(values: Sequence[float]) -> tuple[list[int], int]:
    """Write floats as integers divided by one power of two, and give its exponent."""
    ratios = [value.as_integer_ratio() for value in values]
    exponent = max((q.bit_length() - 1 for _, q in ratios), default=0)
    return [p << (exponent + 1 - q.bit_length()) for p, q in ratios], exponent


def _tail(w: list[int], gamma: int, *, opposite: bool = False) -> Enclosure:
    """Enclose P(sum w_i U_i < gamma) closely enough for its own digits, or for those of the opposite."""
    if (exact := exact_tail(w, gamma, _QUICK_WORK)) is not None:
        return Enclosure(exact, exact, "exact")
    series = fourier_tail(w, gamma)
    asked = series.complement() if opposite else series
    if asked.width <= _ENOUGH_DIGITS * asked.low:
        return series
    if (exact := exact_tail(w, gamma, _PATIENT_WORK)) is not None:
        return Enclosure(exact, exact, "exact")
    return min(series, grid_tail(w, gamma), key=lambda tail: tail.width)


def _rounded(share: Enclosure, unit: Fraction | int = 1) -> Volume:
    """Multiply by a unit and round the bounds outwards to floats."""
    below, above = share.low * unit, share.high * unit
    low, high = _nearest(below), _nearest(above)
    # Python compares floats, infinite ones included, with fractions exactly.
    if low > below:
        low = math.nextafter(low, 0.0)
    if high < above:
        high = math.nextafter(high, math.inf)
    return Volume(low, high, share.method)


def _nearest(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf
