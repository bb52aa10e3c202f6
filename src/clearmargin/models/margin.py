"""By how much one class wins over another one, and how far rounding can take what a model computes from it.

A model computes f(x) step by step in floating point, and every step rounds. The bound has the form ::

    |computed f(x) - f(x)| <= base + slope.|x|

A box is *proved* for a class when its margin at the corner that is nearest to the plane, in exact arithmetic, exceeds
the bound there. Both sides of the inequality grow linearly on the way into the box, the margin faster than the bound,
so that the corner speaks for the whole box, also where it has no end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from clearmargin.rules import Box, FeatureSpace, Hyperplane
from clearmargin.rules.arithmetic import exact_score
from clearmargin.rules.hyperplane import linear_scores
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.encoding import Source

# Half the distance between 1 and the next number, in double and in single precision.
DOUBLE, SINGLE = 2.0**-53, 2.0**-24
# Bounds are computed in floating point themselves, from far fewer than 1e12 terms; an eighth more covers that.
_SAFETY = 1.125


@dataclass(frozen=True, slots=True, eq=False)
class Margin:
    """By how much a model prefers a class to another one, as a function of the user's features.

    A category is one coordinate, what it adds ::

        m(x) = coef.x + sum_j tables[j][code of x_j] + constant

    The model computes it in floating point, and errs by at most ``base + slope.|x| + sum_j slopes[j][code of x_j]``.
    Where m is larger than that, the model is certain to prefer the class; where m is zero and nothing is rounded, it
    does if `takes_ties`.
    """

    coef: FloatArray
    constant: float
    slope: FloatArray
    base: float
    tables: Mapping[int, FloatArray] = field(default_factory=dict)
    slopes: Mapping[int, FloatArray] = field(default_factory=dict)
    is_direct: bool = False
    takes_ties: bool = False

    @classmethod
    def of_plane(cls, plane: Hyperplane, unit: float = DOUBLE) -> Margin:
        """Return the margin of a plane that is added up as it stands, in any order."""
        rounding = (len(plane.active) + 2) * unit
        slope, base = rounding * np.abs(plane.coef), rounding * abs(plane.intercept)
        return cls(plane.coef, plane.intercept, slope, base, is_direct=unit == DOUBLE)

    def gathered(self, sources: Sequence[Source], space: FeatureSpace) -> Margin:
        """Gather what the columns of a feature add: a weight for numbers, a table for categories."""
        n = len(space)
        coef, slope = np.zeros(n), np.zeros(n)
        tables, slopes = (
            {j: np.zeros(len(known)) for j, known in enumerate(space.categories) if known}
            for _ in range(2)
        )
        for k, (j, code) in enumerate(sources):
            if code is None:
                coef[j], slope[j] = self.coef[k], self.slope[k]
            else:
                tables[j][code], slopes[j][code] = self.coef[k], self.slope[k]
        used = [j for j in tables if tables[j].any() or slopes[j].any()]
        return replace(
            self,
            coef=coef,
            slope=slope,
            tables={j: tables[j] for j in used},
            slopes={j: slopes[j] for j in used},
            takes_ties=False,
        )

    def padded(self, n: int) -> Margin:
        """Return the same over more columns, which have no weight."""
        more = (0, n - len(self.coef))
        return replace(self, coef=np.pad(self.coef, more), slope=np.pad(self.slope, more))

    def take(self, columns: list[int]) -> Margin:
        """Return the same over some of the columns; the others have no weight."""
        return replace(self, coef=self.coef[columns], slope=self.slope[columns])

    def minus(self, other: Margin) -> Margin:
        """Return the lead of a score over columns over another one, each computed by itself."""
        n = max(len(self.coef), len(other.coef))
        ours, theirs = self.padded(n), other.padded(n)
        coef, constant = ours.coef - theirs.coef, ours.constant - theirs.constant
        slope = ours.slope + theirs.slope + DOUBLE * np.abs(coef)
        return Margin(coef, constant, slope, ours.base + theirs.base + DOUBLE * abs(constant))

    def reversed(self) -> Margin:
        """Return the margin of the other class."""
        tables = {j: -table for j, table in self.tables.items()}
        return replace(
            self,
            coef=-self.coef,
            constant=-self.constant,
            tables=tables,
            takes_ties=not self.takes_ties,
        )

    def weights(self, sources: Sequence[Source]) -> FloatArray:
        """Give the weights of columns of numbers and 0/1 columns of categories."""
        return np.array(
            [
                self.coef[j] if code is None else self.tables[j][code] if j in self.tables else 0.0
                for j, code in sources
            ]
        )

    @property
    def features(self) -> IntArray:
        """The features that the margin depends on."""
        used = self.coef != 0
        used[[j for j, table in self.tables.items() if table.any()]] = True
        return np.flatnonzero(used)

    def values(self, points: FloatArray) -> FloatArray:
        """Compute the margin of rows of numbers and codes."""
        active = np.flatnonzero(self.coef)
        found = linear_scores(points[:, active], self.coef[active], self.constant)
        for j, table in self.tables.items():
            found = found + table[points[:, j].astype(np.intp)]
        return found

    def bound(self, reach: FloatArray, box: Box | None = None) -> float:
        """Bound the rounding where numbers have such absolute values, over all categories or those of a box."""
        counts = self.slope > 0
        with np.errstate(over="ignore"):
            grown = float((self.slope[counts] * reach[counts]).sum())
        for j, slopes in self.slopes.items():
            grown += float(slopes[_allowed(box, j, len(slopes))].max(initial=0.0))
        return _SAFETY * (self.base + grown)

    def corner(self, box: Box) -> FloatArray:
        """Return the corner of the numbers of a box where the margin is least."""
        return np.asarray(np.where(self.coef > 0, box.lower, box.upper))

    def least(self, box: Box) -> float:
        """Give the least margin in a box, rounded once."""
        active = np.flatnonzero(self.coef)
        worst = [
            float(table[_allowed(box, j, len(table))].min()) for j, table in self.tables.items()
        ]
        weights = np.concatenate([self.coef[active], np.ones(len(worst))])
        return exact_score(
            weights, np.concatenate([self.corner(box)[active], worst]), self.constant
        )

    def is_positive(self, box: Box) -> bool:
        """Decide exactly whether the class wins all over a box, but for what rounding does."""
        corner = self.corner(box)[self.coef != 0]
        if box.is_empty or not np.isfinite(corner).all():
            return box.is_empty
        least = self.least(box)
        if least or self.takes_ties:
            return least >= 0
        # A corner on the plane may not belong to the box.
        closed = np.where(self.coef > 0, box.lower_closed, box.upper_closed)
        return not closed[self.coef != 0].all()

    def exact_term(self, j: int, value: float) -> tuple[Fraction, Fraction]:
        """Give what a number or a code of a category adds, and its part of the bound on rounding, both exactly."""
        if j in self.tables:
            term = Fraction(float(self.tables[j][int(value)]))
            return term, Fraction(_SAFETY) * Fraction(float(self.slopes[j][int(value)]))
        bound = Fraction(_SAFETY) * Fraction(float(self.slope[j])) * abs(Fraction(value))
        return Fraction(float(self.coef[j])) * Fraction(value), bound

    def exact_constant(self) -> tuple[Fraction, Fraction]:
        """Give the margin at zero and the bound there, both exactly."""
        return Fraction(self.constant), Fraction(_SAFETY) * Fraction(self.base)

    def excess(self, box: Box) -> float | None:
        """Compute by how much the least margin in a box exceeds the bound on rounding; None without a corner."""
        corner = self.corner(box)
        active = np.flatnonzero(self.coef)
        if not np.isfinite(corner[active]).all():
            return None
        margin = self.least(box)
        ends = {j: [float(corner[j])] for j in active.tolist()}
        if self.adds_exactly(ends, box):
            return margin
        # A bound that grows faster than the margin is largest at the far end instead.
        steep = self.slope * 2.0 > np.abs(self.coef)
        with np.errstate(invalid="ignore"):
            farther = np.maximum(np.abs(box.lower), np.abs(box.upper))
            reach = np.where(steep, farther, np.abs(corner))
        bound = self.bound(reach, box)
        return margin - bound if math.isfinite(bound) else None

    def adds_exactly(self, values: Mapping[int, Sequence[float]], box: Box | None = None) -> bool:
        """Check whether nothing is rounded at certain values of the numbers, and categories of a box."""
        if not self.is_direct:
            return False
        used = np.flatnonzero(self.coef)
        codes = {j: _allowed(box, j, len(table)) for j, table in self.tables.items()}
        weights = np.concatenate([self.coef[used], np.ones(len(codes))])
        columns = [values[j] for j in used.tolist()]
        columns += [self.tables[j][allowed].tolist() for j, allowed in codes.items()]
        return _adds_exactly(weights, self.constant, columns)

    def proves(self, box: Box) -> bool:
        """Decide whether the model is certain to prefer the class at each point of floats in a box."""
        if box.is_empty:
            return True
        found = self.excess(box)
        if found is None or found < 0:
            return False
        # At the bound itself the bound is larger than any error.
        return found > 0 or self.is_positive(box)

    def holds(self, points: FloatArray, domain: Box) -> BoolArray:
        """Tell of each point of a domain whether the model is certain to prefer the class."""
        used = np.flatnonzero(self.coef)
        margins = self.values(points)
        reach = np.maximum(np.abs(domain.lower), np.abs(domain.upper))
        size = float((np.abs(self.coef[used]) * reach[used]).sum()) + abs(self.constant)
        size += sum(float(np.abs(table).max()) for table in self.tables.values())
        n_terms = len(used) + len(self.tables)
        band = self.bound(reach) + (n_terms + 4) * 2.0 * DOUBLE * size
        inside = margins > band
        for k in np.flatnonzero(np.abs(margins) <= band):
            inside[k] = self.proves(_point_box(points[k], self.tables))
        return inside


def _allowed(box: Box | None, j: int, n: int) -> IntArray:
    """Return the codes of a feature that a box allows."""
    if box is None or j not in box.sets:
        return np.arange(n)
    return np.array(sorted(box.sets[j]), dtype=np.intp)


def _point_box(point: FloatArray, named: Iterable[int]) -> Box:
    sets = {j: [int(point[j])] for j in named}
    low, high = point.copy(), point.copy()
    low[list(sets)], high[list(sets)] = -np.inf, np.inf
    return Box(low, high, sets=sets)


def _adds_exactly(weights: FloatArray, constant: float, values: Sequence[Sequence[float]]) -> bool:
    """Check whether weights.x + constant is exact for all x of certain values, however it is added up."""
    size, terms = abs(constant), [constant]
    for weight, column in zip(weights.tolist(), values, strict=True):
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


def _lowest_digit(x: float) -> int:
    """Return the exponent of the last binary digit of a number other than zero."""
    digits, exponent = math.frexp(x)
    whole = int(math.ldexp(digits, 53))
    return exponent - 53 + (whole & -whole).bit_length() - 1
