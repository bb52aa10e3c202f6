"""The fewest features that force a linear model's class within ranges, by trying all sets of features in fractions."""

from fractions import Fraction
from itertools import combinations


def fewest_features(planes, low, high, case):
    """The size of the smallest set; planes are (coef, intercept, whether 0 is enough), all to be kept positive."""
    exact = lambda values: [Fraction(float(v)) for v in values]
    low, high, case = exact(low), exact(high), exact(case)
    sides = [(exact(coef), Fraction(float(b)), closed) for coef, b, closed in planes]
    for size in range(len(case) + 1):
        for kept in combinations(range(len(case)), size):
            if all(_holds(side, low, high, case, kept) for side in sides):
                return size
    return None


def _holds(side, low, high, case, kept):
    coef, worst, closed = side
    for j, w in enumerate(coef):
        worst += w * case[j] if j in kept else min(w * low[j], w * high[j])
    return worst > 0 or (closed and worst == 0)
