"""The volume of the part of a box that lies on one side of a plane, as a number with a guarantee.

Given a plane a'z = g and a box [l, u], the question is the volume of { z in [l, u] : a'z < g }. A feature with a
negative weight is measured from its upper bound downwards, one with a positive weight from its lower bound upwards,
and each in units of its width. With w_i = |a_i| (u_i - l_i) and gamma = g - sum_i min(a_i l_i, a_i u_i)::

    vol{ z in [l, u] : a'z < g } = prod_i (u_i - l_i) * P(sum_i w_i U_i < gamma),    U_i uniform on [0, 1]

Features with w_i = 0 drop out of the probability. Floats are fractions with a power of two below, so w and gamma become
integers without any rounding, and offsets of 1e9 or weights over many decades do no harm. The smaller tail is found::

    P(sum_i w_i U_i < gamma) = 1 - P(sum_i w_i U_i < sum_i w_i - gamma),

by the first of these routes that is good enough:

1. "exact" (`exact_tail`): inclusion and exclusion in integers, meeting in the middle, where it takes no
   more than about 50 ms: up to about 20 features, any number when few subsets of the weights stay below gamma;
2. "fourier" (`fourier_tail`): a Fourier series with a bound of its error, about 1e-13 in absolute terms;
   accepted when it gives six digits of the result;
3. "exact" again with a patience of about two seconds, for volumes so small that an absolute error is not enough;
4. "bracket" (`grid_tail`): rounding to a grid, unless the Fourier series is the narrower of the two.

Plain floating-point inclusion and exclusion is not among them: dividing by prod w_i after the terms have cancelled
leaves no correct digit when weights differ by some decades, and up to ten features the integers take well below 1 ms.

**Exact.** With integers w_1 ... w_n > 0 and 0 < g, U_i independent and uniform on [0, 1]::

    P(sum_i w_i U_i < g) = 1 / (n! prod_i w_i)  sum_{S subset of [n]} (-1)^|S| (g - sum_{i in S} w_i)_+^n

(Pólya 1913; Barrow and Smith, Amer. Math. Monthly 86, 1979). In floating point the terms cancel until nothing is left;
in integers there is nothing to lose. Only subsets with a sum below g count, and equal sums are counted
together: equal weights make few sums. The weights are dealt to two halves (Horowitz and Sahni 1974). With signed
counts p_s of the sums of one half and q_t of those of the other, the sum over subsets is::

    sum_s p_s  sum_{t < g - s} q_t (g - s - t)^n  =  sum_s p_s  sum_k C(n, k) (g - s)^(n-k) P_k,
    P_k = sum_{t < g - s} q_t (-t)^k

and P_k grows as g - s does: 2^(n/2) steps of n operations instead of 2^n. Counting knapsack solutions is
#P-hard (Dyer and Frieze 1988), so a general method without an exponent is not to be expected.

**Bounds**, where exact sums are too long. Both routes enclose P(X < g) for X = sum_i w_i U_i, integers w_i > 0, s =
sum_i w_i, 0 < g < s.

**Fourier series.** X has its density on [0, s], so the series of its distribution function with period s is exact;
there is no quadrature and no error of quadrature::

    P(X < g) = 1/2 + rho/2 + sum_{k >= 1} phi_k sin(pi k rho) / (pi k),    rho = (2g - s) / s,
    phi_k = prod_i sinc(k r_i),    sinc(x) = sin(pi x) / (pi x),    r_i = w_i / s

Since abs(sinc(x)) <= 1 / (pi x), the terms beyond K are, for any m weights, together at most
K^-m / (pi m) prod_{i <= m} 1 / (pi r_i); the m largest weights with the best m are taken. The rounding errors of the K
terms are followed through the products (a running error analysis: Higham, Accuracy and Stability of Numerical
Algorithms, section 3.3). The bound is absolute, about 1e-15 n: of little use for a tail that is itself so small.

**Grid.** With a step h, replace w_i U_i by h K_i, K_i = floor(w_i U_i / h). What is lost lies between 0 and
e = sum_i min(h, w_i), so that::

    P(h sum K_i <= g - e)  <=  P(X < g)  <=  P(h sum K_i < g)

With w_i = (m + rho) h, K_i is uniform on 0 ... m - 1 but for a last cell of share rho; its sums have the distribution
C'_j = (C_j + ... + C_{j-m+1} + rho C_{j-m}) h / w_i, made by running sums. Nothing here is negative, so that the
error of rounding is relative: the grid also tells something about the smallest tails, for any n. Its width falls
with h only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, repeat
from operator import mul
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearmargin.exceptions import InvalidValueError
from clearmargin.plane_rules.side import Side
from clearmargin.rules import Box, HalfSpace
from clearmargin.rules.value import FloatArray, float_array, number

__all__ = [
    "Enclosure",
    "Volume",
    "clipped_share",
    "clipped_volume",
    "exact_tail",
    "fourier_tail",
    "grid_tail",
    "volume_curve",
]


class Enclosure(NamedTuple):
    """Two fractions with a probability between them, and how they were found.

    Examples
    --------
    >>> Enclosure(Fraction(1, 4), Fraction(1, 2), "bracket").complement().low
    Fraction(1, 2)
    """

    low: Fraction
    high: Fraction
    method: str

    @property
    def width(self) -> Fraction:
        """How much is left open."""
        return self.high - self.low

    def complement(self) -> Enclosure:
        """Enclose the probability of the opposite."""
        return Enclosure(1 - self.high, 1 - self.low, self.method)


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


def volume_curve(
    halfspace: HalfSpace, domain: Box, groups: Sequence[Sequence[Box]]
) -> tuple[FloatArray, Volume]:
    """Measure the share of a half-space in the domain that rules fill, rule by rule, and in all as an interval.

    Parameters
    ----------
    halfspace : HalfSpace
        The region of the class.
    domain : Box
        Bounded.
    groups : sequence of sequences of Box
        For each rule the boxes it was made of; all of them are disjoint and in the half-space.

    Returns
    -------
    curve : ndarray of shape (r,)
        Share after one rule, two rules, ...
    total : Volume
        The share after all of them, certified.
    """
    side = Side.of(halfspace)
    region = side.region(domain)
    whole = clipped_share(side.a, side.g, region.near, region.far)
    shares = np.zeros(len(groups))
    boxes = [box for group in groups for box in group]
    if boxes:
        # Which rule each box belongs to.
        rule = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        low, high = domain.lower[side.features], domain.upper[side.features]
        lower = np.maximum(np.stack([box.lower[side.features] for box in boxes]), low)
        upper = np.minimum(np.stack([box.upper[side.features] for box in boxes]), high)
        reach = np.where(high > low, high - low, 1.0)
        widths = np.where(high > low, upper - lower, 1.0)
        np.add.at(shares, rule, np.prod(np.maximum(widths, 0.0) / reach, axis=1))
    curve = np.cumsum(shares)
    filled = float(curve[-1]) if len(curve) else 0.0
    # The sum of r products of k factors is off by a few units in the last place each.
    error = 4.0 * (len(side.a) + sum(map(len, groups))) * np.finfo(np.float64).eps * filled
    total = Volume(
        _ratio(filled - error, whole.high),
        min(1.0, _ratio(filled + error, whole.low)),
        whole.method,
    )
    return np.asarray(curve / whole.value if whole.value else curve), total


def _ratio(part: float, whole: float) -> float:
    return float(max(0.0, part) / whole) if whole else 0.0


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


# About 50 ms and 2 s, at the 0.2 ns per unit that `exact_tail` was measured at.
_QUICK_WORK, _PATIENT_WORK = 2.5e8, 1e10


# Six digits are more than a report prints of a share.
_ENOUGH_DIGITS = Fraction(1, 10**6)


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


def exact_tail(weights: Sequence[int], g: int, work: float) -> Fraction | None:
    """Give P(sum w_i U_i < g) exactly, unless that takes too much work.

    Parameters
    ----------
    weights : sequence of int
        Positive weights.
    g : int
        Positive threshold, at most the sum of the weights.
    work : float
        How much may be done: about 0.2 nanoseconds for each unit (see `_largest_halves`).

    Returns
    -------
    Fraction or None
        The probability; None where it would be more work.

    Examples
    --------
    >>> exact_tail([1, 1, 1], 1, work=1e6)
    Fraction(1, 6)
    """
    n = len(weights)
    halves = _subset_sums(weights, g, _largest_halves(n, g, work))
    if halves is None:
        return None
    return Fraction(_signed_powers(*halves, g, n), math.factorial(n) * math.prod(weights))


def _largest_halves(n: int, g: int, work: float) -> int:
    """Count the subset sums of both halves together that the work is enough for.

    Each sum costs n + 1 products of a number like g with one of up to n times its length. Measured with CPython 3.11
    for n = 10 to 20 and 60 to 4000 bits, that is 0.13 to 0.5 ns times n * bits * (1 + bits / 400).
    """
    bits = g.bit_length()
    return int(work / ((n + 1) * n * bits * (1 + bits / 400)))


def _subset_sums(
    weights: Sequence[int], g: int, largest: int
) -> tuple[dict[int, int], dict[int, int]] | None:
    """Count, with signs, the subset sums below g, in two halves of about equal size; None if they grow too large.

    Large weights come first: they meet g early and leave few sums behind.
    """
    small, large = {0: 1}, {0: 1}
    for w in sorted(weights, reverse=True):
        grown = dict(small)
        for s, count in small.items():
            if s + w < g:
                grown[s + w] = grown.get(s + w, 0) - count
        small, large = sorted((grown, large), key=len)
        if len(small) + len(large) > largest:
            return None
    return small, large


def _signed_powers(left: dict[int, int], right: dict[int, int], g: int, n: int) -> int:
    """Sum p_s q_t (g - s - t)_+^n over the sums s of one half and t of the other."""
    binomials = [math.comb(n, k) for k in range(n + 1)]
    moments = [0] * (n + 1)
    waiting = sorted(right.items(), reverse=True)
    total = 0
    for c, count in sorted((g - s, count) for s, count in left.items()):
        while waiting and waiting[-1][0] < c:
            t, weight = waiting.pop()
            powers = accumulate(repeat(-t, n), mul, initial=weight)
            moments = [p + b * x for p, b, x in zip(moments, binomials, powers, strict=True)]
        value = 0
        for moment in moments:
            value = value * c + moment
        total += count * value
    return total


# Half the distance from 1 to the next float: the relative error of one rounding.
_U = 2.0**-53


# Error of a computed sinc. Its argument pi * (k * r) has four roundings (r, pi and two products); as
# x |d sinc / dx| < 1.25, they move sinc by 5 u. numpy tests its sine to 1 unit in the last place; 4 units, 8 u, are
# allowed for. The quotient adds 1 u; two more cover the product that sinc goes into and terms of order u^2.
_SINC_ERROR = 16 * _U


# Summing, inflating and adding up error bounds in floats moves them by less than this, relatively.
_BOUND_ERROR = 1e-9


# Terms of the series: 65536 take about 1 ms for each weight. Usually some dozens are enough.
_MOST_TERMS = 2**16


# Points of the grid; the error of its running sums, 3 u 2^32 for each weight, stays below its width.
_GRID = 2**16


def fourier_tail(weights: Sequence[int], g: int) -> Enclosure:
    """Enclose P(sum w_i U_i < g) by a truncated Fourier series with an error bound.

    Parameters
    ----------
    weights : sequence of int
        Positive weights.
    g : int
        Threshold between 0 and their sum.

    Returns
    -------
    Enclosure
        Bounds that are close in absolute terms, usually to 1e-13.

    Examples
    --------
    >>> tail = fourier_tail([1] * 30, 15)
    >>> tail.low < Fraction(1, 2) < tail.high, float(tail.width) < 1e-12
    (True, True)
    """
    s = sum(weights)
    ratios = np.array([r for w in sorted(weights, reverse=True) if (r := w / s) > 0.0])
    rho = (2 * g - s) / s
    terms, tail = _truncation(ratios)
    k = np.arange(1.0, terms + 1.0)
    phi, error = _characteristic(k, ratios)
    with np.errstate(under="ignore"):
        summands = phi * np.sin(np.pi * (k * rho)) / (np.pi * k)
        # The sine errs as in sinc, by 8 u, and by its argument's 4 u pi k rho.
        errors = (error + np.abs(phi) * (1.0 + k * abs(rho)) * _SINC_ERROR) / (np.pi * k)
    value = math.fsum([0.5, rho / 2, *summands.tolist()])
    # Four roundings: of rho, of the sum, and of each bound below.
    slack = (tail + float(errors.sum())) * (1.0 + _BOUND_ERROR) + 4 * _U
    low, high = max(0.0, value - slack), min(1.0, value + slack)
    return Enclosure(Fraction(low), Fraction(high), "fourier")


def _truncation(ratios: NDArray[np.float64]) -> tuple[int, float]:
    """Find the number of terms to take and a bound of those left out, from the ratios in descending order."""
    m = np.arange(1, len(ratios) + 1)
    logs = -np.cumsum(np.log(np.pi * ratios)) - np.log(np.pi * m)
    # Less than half a rounding of the result is as good as nothing; exp must not overflow.
    log_terms = float(((logs - math.log(_U / 2)) / m).min())
    terms = math.ceil(math.exp(min(log_terms, math.log(_MOST_TERMS))))
    tail = math.exp(float((logs - m * math.log(terms)).min()))
    return terms, tail


def _characteristic(
    k: NDArray[np.float64], ratios: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give prod_i sinc(k r_i) for each k, and a bound of its error."""
    phi, error = np.ones_like(k), np.zeros_like(k)
    with np.errstate(under="ignore"):
        for r in ratios.tolist():
            angle = np.pi * (k * r)
            factor = np.sin(angle) / angle
            error = error * (np.abs(factor) + _SINC_ERROR) + np.abs(phi) * _SINC_ERROR
            phi = phi * factor
    # A product that underflows loses less than the smallest normal number.
    return phi, error + len(ratios) * float(np.finfo(np.float64).tiny)


def grid_tail(weights: Sequence[int], g: int, points: int = _GRID) -> Enclosure:
    """Enclose P(sum w_i U_i < g) by rounding each variable down to a grid.

    Parameters
    ----------
    weights : sequence of int
        Positive weights.
    g : int
        Threshold between 0 and their sum.
    points : int
        Number of grid points below g, at most 2^16.

    Returns
    -------
    Enclosure
        Bounds about n / points apart, relative to the density times g; they hold for the smallest tails, too.

    Examples
    --------
    >>> tail = grid_tail([3, 5, 7], 4)
    >>> tail.low < Fraction(4**3 - 1, 6 * 3 * 5 * 7) < tail.high, float(tail.width) < 1e-4
    (True, True)
    """
    # On a finer scale the step can be an integer.
    scale = points
    g, weights = g * scale, [w * scale for w in weights]
    h = -(-g // points)
    lost = sum(min(h, w) for w in weights)
    wide = [w for w in weights if w >= h]  # K_i = 0 for the others
    last = -(-g // h) - 1
    cumulative, exponent, error = _lattice(wide, h, last + 1)
    share = Fraction(h ** len(wide), math.prod(wide)) * Fraction(2) ** exponent
    # Where values underflow in the running sums, the smallest floats are lost, a constant that averaging keeps.
    underflow = Fraction(len(weights), 10**300)
    high = share * Fraction(cumulative[last] * math.exp(error)) + underflow
    first = (g - lost) // h
    reached = cumulative[first] * math.exp(-error) if first >= 0 else 0.0
    return Enclosure(
        max(Fraction(0), share * Fraction(reached) - underflow), min(Fraction(1), high), "bracket"
    )


def _lattice(wide: Sequence[int], h: int, size: int) -> tuple[list[float], int, float]:
    """Distribute the sum of the K_i over 0 ... size - 1, times prod w_i / h / 2^exponent, and its relative error.

    C does not fall, so the last m of j values hold at least m / j of their sum. A difference of two running sums with
    relative errors j u thus has at most 2 j^2 u / m. The third unit covers the other roundings, all of order u, and
    that (1 - x) > exp(-1.1 x) is used for small x.
    """
    C = np.ones(size)
    exponent, error = 0, 2.0**-40
    for w in wide:
        m, rest = divmod(w, h)
        m = min(m, size)
        with np.errstate(under="ignore"):
            running = np.cumsum(C)
            step = running.copy()
            step[m:] -= running[: size - m]
            step[m:] += (rest / h) * C[: size - m]
            power = math.frexp(float(step[-1]))[1]
            C = np.ldexp(step, -power)
        exponent += power
        error += 3 * size * size * _U / m + 8 * _U
    return C.tolist(), exponent, error
