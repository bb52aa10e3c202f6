"""The best box with a corner on a plane: fractions and enumeration.

A side is {sign (coef'x + intercept) > 0} within a box of ranges; all boxes have its deepest corner.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
from tests.oracles.printed_rule_search import largest_corner


def _oriented(coef, intercept, sign, lower, upper):
    """Costs of the whole width of each feature, and the slack at the deepest corner."""
    costs, slack = [], Fraction(float(intercept)) * sign
    for w, low, high in zip(
        *(np.asarray(v, float).tolist() for v in (coef, lower, upper)), strict=True
    ):
        slope = Fraction(w) * sign
        costs.append(abs(slope) * (Fraction(high) - Fraction(low)))
        slack += slope * Fraction(high if slope > 0 else low)
    return costs, slack


def largest_share(coef, intercept, sign, lower, upper, most=None):
    """The share of the ranges that the largest box has, at most so many features bounded; None without one."""
    costs, slack = _oriented(coef, intercept, sign, lower, upper)
    n, best = len(costs), None
    for bounded in itertools.combinations(range(n), min(most or n, n)):
        left = slack - sum(cost for i, cost in enumerate(costs) if i not in bounded)
        if left <= 0:
            continue
        share = math.prod(largest_corner([costs[i] / left for i in bounded]))
        best = share if best is None else max(best, share)
    return best


def most_points(coef, intercept, sign, X, free=0):
    """The most points on the side that one box holds, by trying all corners through values of the points."""
    turn = np.where(np.asarray(coef) * sign > 0, -1.0, 1.0)
    Z, a = X * turn, [Fraction(abs(w)) for w in np.asarray(coef).tolist()]
    g = Fraction(float(intercept)) * sign
    ends, best = Z.max(axis=0), 0
    for loose in itertools.combinations(range(len(a)), free):
        values = [[ends[j]] if j in loose else sorted(set(Z[:, j])) for j in range(len(a))]
        for corner in itertools.product(*values):
            if sum(w * Fraction(float(c)) for w, c in zip(a, corner, strict=True)) < g:
                best = max(best, int((np.array(corner) >= Z).all(axis=1).sum()))
    return best
