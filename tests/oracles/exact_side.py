"""An oracle for rules in plain fractions, and a linear classifier whose weights are given."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import validate_data


class GivenPlane(ClassifierMixin, BaseEstimator):
    """The classifier f = coef.x + intercept, as it was given; f > 0 is the second class."""

    def __init__(self, coef=(1.0,), intercept=0.0, classes=("below", "above")):
        self.coef = coef
        self.intercept = intercept
        self.classes = classes

    def fit(self, X, y=None):
        validate_data(self, X)
        self.coef_ = np.array([self.coef], dtype=float)
        self.intercept_ = np.array([self.intercept], dtype=float)
        self.classes_ = np.array(self.classes)
        return self

    def decision_function(self, X):
        return np.asarray(X, dtype=float) @ self.coef_[0] + self.intercept_[0]

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


@dataclass(frozen=True)
class Span:
    """An interval as four plain values."""

    low: float
    high: float
    low_closed: bool
    high_closed: bool

    def __and__(self, other):
        low = max((self.low, not self.low_closed), (other.low, not other.low_closed))
        high = min((self.high, self.high_closed), (other.high, other.high_closed))
        return Span(low[0], high[0], not low[1], high[1])

    @property
    def is_empty(self):
        both = self.low_closed and self.high_closed
        return self.low > self.high or (self.low == self.high and not both)

    def holds(self, x):
        above = x > self.low or (self.low_closed and x == self.low)
        return above and (x < self.high or (self.high_closed and x == self.high))


def spans(box, bounds=None):
    """A box as intervals, within bounds if there are any."""
    found = [
        Span(float(a), float(b), bool(c) or math.isinf(a), bool(d) or math.isinf(b))
        for a, b, c, d in zip(box.lower, box.upper, box.lower_closed, box.upper_closed, strict=True)
    ]
    if bounds is None:
        return found
    limits = [Span(float(a), float(b), True, True) for a, b in zip(*bounds, strict=True)]
    return [mine & limit for mine, limit in zip(found, limits, strict=True)]


def value(coef, intercept, point):
    """f at a point, as a fraction."""
    terms = (Fraction(float(w)) * Fraction(float(x)) for w, x in zip(coef, point, strict=True))
    return sum(terms, Fraction(float(intercept)))


def lies_on_side(box, coef, intercept, sign, bounds=None):
    """Whether all real points of a box have f > 0 (sign 1) or f <= 0 (sign -1)."""
    intervals = spans(box, bounds)
    if any(interval.is_empty for interval in intervals):
        return True
    worst, attained = Fraction(float(intercept)) * sign, True
    for w, interval in zip(coef, intervals, strict=True):
        if float(w) == 0.0:
            continue
        slope = Fraction(float(w)) * sign
        end, closed = (
            (interval.low, interval.low_closed)
            if slope > 0
            else (interval.high, interval.high_closed)
        )
        if math.isinf(end):
            return False
        worst += slope * Fraction(end)
        attained = attained and closed
    # The negative side holds its plane, the positive one does not; an open face never touches it.
    return worst > 0 or (worst == 0 and (sign < 0 or not attained))


def meet(first, second):
    """Whether two boxes have a real point in common."""
    pairs = zip(spans(first), spans(second), strict=True)
    return not any((a & b).is_empty for a, b in pairs)


def meeting_pairs(boxes):
    return [(i, j) for (i, a), (j, b) in combinations(enumerate(boxes), 2) if meet(a, b)]


def holds(box, point):
    return all(span.holds(float(x)) for span, x in zip(spans(box), point, strict=True))


def given(X, coef, intercept, classes=("below", "above")):
    """A fitted classifier with these weights."""
    return GivenPlane(tuple(coef), float(intercept), tuple(classes)).fit(X)


def sides(X, coef, intercept, classes=("below", "above")):
    """What each row is in exact arithmetic."""
    return np.array([classes[value(coef, intercept, row) > 0] for row in X])
