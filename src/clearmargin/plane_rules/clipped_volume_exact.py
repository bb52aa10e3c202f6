r"""The lower tail of a weighted sum of uniform variables, exactly, in integers.

With integers w_1 ... w_n > 0 and 0 < g, U_i independent and uniform on [0, 1]::

    P(sum_i w_i U_i < g) = 1 / (n! prod_i w_i)  sum_{S subset of [n]} (-1)^|S| (g - sum_{i in S} w_i)_+^n

(Pólya 1913; Barrow and Smith, Amer. Math. Monthly 86, 1979). In floating point the terms cancel until nothing is left;
in integers there is nothing to lose. Only subsets with a sum below g count, and equal sums are counted
together: equal weights make few sums. The weights are dealt to two halves (Horowitz and Sahni 1974). With signed
counts p_s of the sums of one half and q_t of those of the other, the sum over subsets is::

    sum_s p_s  sum_{t < g - s} q_t (g - s - t)^n  =  sum_s p_s  sum_k C(n, k) (g - s)^(n-k) P_k,
    P_k = sum_{t < g - s} q_t (-t)^k

and P_k grows as g - s does: 2^(n/2) steps of n operations instead of 2^n. Counting knapsack solutions is
#P-hard (Dyer and Frieze 1988), so a general method without an exponent is not to be expected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, repeat
from operator import mul
from typing import NamedTuple

__all__ = ["Enclosure", "exact_tail"]


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
    """Number of subset sums of both halves together that the work is enough for.

    Each sum costs n + 1 products of a number like g with one of up to n times its length. Measured with CPython 3.11
    for n = 10 to 20 and 60 to 4000 bits, that is 0.13 to 0.5 ns times n * bits * (1 + bits / 400).
    """
    bits = g.bit_length()
    return int(work / ((n + 1) * n * bits * (1 + bits / 400)))


def _subset_sums(
    weights: Sequence[int], g: int, largest: int
) -> tuple[dict[int, int], dict[int, int]] | None:
    """Signed counts of the subset sums below g, in two halves of about equal size; None if they grow too large.

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
