"""How far the score that a model computes can be from the score that its numbers stand for.

A model computes f(x) step by step in floating point, and every step rounds. The bound has the form ::

    |computed f(x) - (coef.x + constant)| <= base + slope.|x|

A box is *proved* for a class when its score at the corner that is nearest to the plane, in exact arithmetic, exceeds
the bound there. Both sides of the inequality grow linearly on the way into the box, the score faster than the bound,
so that the corner speaks for the whole box, also where it has no end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from clearmargin.rules import Box, HalfSpace, Hyperplane
from clearmargin.rules.arithmetic import exact_score
from clearmargin.rules.hyperplane import linear_scores
from clearmargin.rules.value import BoolArray, FloatArray, Value

# Half the distance between 1 and the next number, in double and in single precision.
DOUBLE, SINGLE = 2.0**-53, 2.0**-24
# Bounds are computed in floating point themselves, from far fewer than 1e12 terms; an eighth more covers that.
_SAFETY = 1.125


@dataclass(frozen=True, slots=True, eq=False)
class ScoreError(Value):
    """A score, and a bound on what rounding does to it."""

    coef: FloatArray
    constant: float
    slope: FloatArray
    base: float
    is_direct: bool = False

    def bound(self, reach: FloatArray) -> float:
        """Give the bound where features have such absolute values; infinite where one that counts is."""
        counts = self.slope > 0
        with np.errstate(over="ignore"):
            grown = float((self.slope[counts] * reach[counts]).sum())
        return _SAFETY * (self.base + grown)

    def score(self, point: FloatArray) -> float:
        """Return the score at a point, rounded once; features without weight are not looked at."""
        active = np.flatnonzero(self.coef)
        return exact_score(self.coef[active], point[active], self.constant)

    def exact_term(self, k: int, x: float) -> tuple[Fraction, Fraction]:
        """Give what a column adds to the score, coef * x, and its part of the bound, both exactly."""
        bound = Fraction(_SAFETY) * Fraction(float(self.slope[k])) * abs(Fraction(x))
        return Fraction(float(self.coef[k])) * Fraction(x), bound

    def exact_constant(self) -> tuple[Fraction, Fraction]:
        """Give the score at zero and the bound there, both exactly."""
        return Fraction(self.constant), Fraction(_SAFETY) * Fraction(self.base)

    def adds_exactly(self, values: Sequence[Sequence[float]]) -> bool:
        """Check whether the score comes out exactly at all points with certain values, however it is added up."""
        if not self.is_direct:
            return False
        weights = self.coef[np.flatnonzero(self.coef)].tolist()
        size, terms = abs(self.constant), [self.constant]
        for weight, column in zip(weights, values, strict=True):
            products = [weight * x for x in column]
            if not all(map(math.isfinite, products)):
                return False
            pairs = zip(column, products, strict=True)
            if any(exact_score(np.array([weight]), np.array([x]), -p) != 0 for x, p in pairs):
                return False
            size += max(map(abs, products), default=0.0)
            terms += products
        if not math.isfinite(size):
            return False
        lowest = min((_lowest_digit(term) for term in terms if term), default=0)
        return size <= math.ldexp(1.0, min(lowest + 53, 1023))

    def negative(self) -> ScoreError:
        """Return the same of the score with the other sign."""
        return ScoreError(-self.coef, -self.constant, self.slope, self.base, self.is_direct)

    def minus(self, other: ScoreError) -> ScoreError:
        """Return the same of the lead of this score over another one, each computed by itself."""
        n = max(len(self.coef), len(other.coef))
        ours, theirs = self.padded(n), other.padded(n)
        coef, constant = ours.coef - theirs.coef, ours.constant - theirs.constant
        return ScoreError(
            coef,
            constant,
            ours.slope + theirs.slope + DOUBLE * np.abs(coef),
            ours.base + theirs.base + DOUBLE * abs(constant),
        )

    def padded(self, n: int) -> ScoreError:
        """Return the same over more features, which have no weight."""
        if n == len(self.coef):
            return self
        more = (0, n - len(self.coef))
        return ScoreError(
            np.pad(self.coef, more),
            self.constant,
            np.pad(self.slope, more),
            self.base,
            self.is_direct,
        )

    def take(self, kept: list[int]) -> ScoreError:
        """Return the same over some of the features; the others have no weight."""
        full = self.padded(max(len(self.coef), max(kept, default=-1) + 1))
        return ScoreError(
            full.coef[kept],
            full.constant,
            full.slope[kept],
            full.base,
            full.is_direct,
        )


def direct_error(plane: Hyperplane, unit: float = DOUBLE) -> ScoreError:
    """Return the error of a plane that is added up as it stands, in any order."""
    rounding = (len(plane.active) + 2) * unit
    return ScoreError(
        plane.coef,
        plane.intercept,
        rounding * np.abs(plane.coef),
        rounding * abs(plane.intercept),
        unit == DOUBLE,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """The proof that a model gives a class all over a box, rounding included."""

    halfspace: HalfSpace
    error: ScoreError

    def proves(self, box: Box) -> bool:
        """Decide whether the model is certain to give the class at each point of floats in a box."""
        if box.is_empty:
            return True
        found = self.excess(box)
        return found is not None and (found > 0 or (found == 0 and self._touches_rightly(box)))

    def excess(self, box: Box) -> float | None:
        """Compute by how much the score at the corner nearest to the plane exceeds the bound; None without a corner."""
        error, sign = self.error, self.halfspace.sign
        corner = self.corner(box)
        active = error.coef != 0
        if not np.isfinite(corner[active]).all():
            return None
        score = sign * error.score(corner)
        if error.is_direct and error.adds_exactly(corner[active, None].tolist()):
            return score
        # A bound that grows faster than the score is largest at the far end instead.
        steep = error.slope * 2.0 > np.abs(error.coef)
        with np.errstate(invalid="ignore"):
            ends = np.maximum(np.abs(box.lower), np.abs(box.upper))
            reach = np.where(steep, ends, np.abs(corner))
        bound = error.bound(reach)
        return score - bound if math.isfinite(bound) else None

    def corner(self, box: Box) -> FloatArray:
        """Return the corner of a box that is nearest to the plane."""
        rising = self.halfspace.sign * self.error.coef > 0
        return np.asarray(np.where(rising, box.lower, box.upper))

    def _touches_rightly(self, box: Box) -> bool:
        """Check whether a corner on the plane, or at the bound, belongs to the class or not to the box."""
        if self.halfspace.sign < 0 or self.error.score(self.corner(box)) > 0:
            return True  # the bound is larger than any error
        rising = self.error.coef > 0
        closed = np.where(rising, box.lower_closed, box.upper_closed)
        return not closed[self.error.coef != 0].all()

    def holds(self, points: FloatArray, domain: Box) -> BoolArray:
        """Tell of each point of a domain whether the model is certain to give it the class."""
        error, sign = self.error, self.halfspace.sign
        active = np.flatnonzero(error.coef)
        scores = sign * linear_scores(points[:, active], error.coef[active], error.constant)
        reach = np.maximum(np.abs(domain.lower), np.abs(domain.upper))
        size = float((np.abs(error.coef[active]) * reach[active]).sum()) + abs(error.constant)
        band = error.bound(reach) + (len(active) + 4) * 2.0 * DOUBLE * size
        inside = scores > band
        for k in np.flatnonzero(np.abs(scores) <= band):
            inside[k] = self.proves(Box(points[k], points[k]))
        return inside


def _lowest_digit(x: float) -> int:
    """Return the exponent of the last binary digit of a number other than zero."""
    digits, exponent = math.frexp(x)
    whole = int(math.ldexp(digits, 53))
    return exponent - 53 + (whole & -whole).bit_length() - 1
