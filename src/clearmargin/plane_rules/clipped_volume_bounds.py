r"""Certified bounds for the lower tail of a weighted sum of uniform variables, where exact sums are too long.

Both routes enclose P(X < g) for X = sum_i w_i U_i, integers w_i > 0, s = sum_i w_i, 0 < g < s.

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
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from clearmargin.plane_rules.clipped_volume_exact import Enclosure

__all__ = ["fourier_tail", "grid_tail"]

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
    """Number of terms to take and a bound of those left out, from the ratios in descending order."""
    m = np.arange(1, len(ratios) + 1)
    logs = -np.cumsum(np.log(np.pi * ratios)) - np.log(np.pi * m)
    # Less than half a rounding of the result is as good as nothing; exp must not overflow.
    wanted = float(((logs - math.log(_U / 2)) / m).min())
    terms = math.ceil(math.exp(min(wanted, math.log(_MOST_TERMS))))
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
    """Distribution of the sum of the K_i on 0 ... size - 1, times prod w_i / h / 2^exponent, and its relative error.

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
