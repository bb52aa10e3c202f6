"""The lowest value of a linear function over the possible cases of a box, and a case that has it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from clearmargin.rules.box import Box
from clearmargin.rules.one_hot import OneHot
from clearmargin.rules.rounding import round_down, round_up
from clearmargin.rules.space import FeatureSpace
from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["Corner", "Extreme"]

# How far from an open bound a witness may lie, as a share of the range: near enough to stand for the bound.
_NEAR = 1e-3
# Beyond this, neighbouring floats are more than 1 apart and all of them are whole numbers.
_ALL_WHOLE = 2.0**53
_ALL_DIGITS = 17


@dataclass(frozen=True, slots=True)
class Extreme:
    """The lowest or the highest value of a linear function over what can be.

    Parameters
    ----------
    value : Fraction or float
        The exact infimum or supremum; -inf or inf where the function has no bound.
    is_attained : bool
        Whether some possible case has this value.
    point : ndarray of shape (n,) or None
        A possible case with this value. Where the value is not attained (an open bound, or none), a possible case near
        the bound whose value has the same sign. None where no float lies there.

    Examples
    --------
    >>> from clearmargin.rules.domain import Domain
    >>> domain = Domain(FeatureSpace(["children"], [0.0], [9.0], integer=True))
    >>> domain.minimum([1.0], within=Box([2.5], [9.0])).point
    array([3.])
    """

    value: Fraction | float
    is_attained: bool
    point: FloatArray | None


@dataclass(frozen=True, slots=True)
class Corner:
    """The corner of a box, tight around possible cases, at which a linear function is lowest.

    Parameters
    ----------
    space : FeatureSpace
        The columns.
    groups : tuple of OneHot
        The columns of which exactly one is 1.
    box : Box
        Not empty, with ends at values that a feature can have.
    weights : ndarray of shape (n,)
        The weights of the function.
    intercept : float
        Its constant term.
    """

    space: FeatureSpace
    groups: tuple[OneHot, ...]
    box: Box
    weights: FloatArray
    intercept: float

    def lowest(self, near: FloatArray) -> Extreme:
        """The lowest value and a possible case there, whose columns without weight are near the given values."""
        box, w = self.box, self.weights
        space = self.space
        x = np.clip(np.clip(near, space.lower, space.upper), box.lower, box.upper)
        grouped = self._choose_categories(x, near)
        rising = w > 0
        corner = np.where(rising, box.lower, box.upper)
        closed = np.where(rising, box.lower_closed, box.upper_closed)
        active = (w != 0) & ~grouped
        endless, is_open = active & ~np.isfinite(corner), active & np.isfinite(corner) & ~closed
        attained = active & closed & np.isfinite(corner)
        x[attained] = corner[attained]
        exact = Fraction(self.intercept)
        for j in np.flatnonzero(attained | is_open | grouped).tolist():
            exact += Fraction(w[j]) * Fraction(float(corner[j] if not grouped[j] else x[j]))
        is_attained = not (endless.any() or is_open.any())
        value: Fraction | float = -math.inf if endless.any() else exact
        slack = abs(float(exact)) / 2 / max(int(is_open.sum()), 1)
        for j in np.flatnonzero(is_open).tolist():
            x[j] = self._beside(j, bool(rising[j]), slack / abs(float(w[j])))
        for j in np.flatnonzero(~active & ~grouped).tolist():
            x[j] = self._free_value(j, float(x[j]))
        if endless.any():
            self._go_far(x, endless)
        return Extreme(value, is_attained, self._checked(x, value))

    def _choose_categories(self, x: FloatArray, near: FloatArray) -> BoolArray:
        """Set each group to its allowed category with the lowest weight; of equals, the nearest."""
        grouped = np.zeros(len(x), dtype=np.bool_)
        for group in self.groups:
            columns = np.array(group.columns)
            grouped[columns] = True
            allowed = columns[self.box.upper[columns] == 1.0]
            cheapest = allowed[self.weights[allowed] == self.weights[allowed].min()]
            x[columns] = 0.0
            x[cheapest[np.argmax(near[cheapest])]] = 1.0
        return grouped

    def _beside(self, j: int, above: bool, step: float) -> float:
        """A number of few digits strictly inside an open bound, at most a step away from it where floats allow."""
        low, high = float(self.box.lower[j]), float(self.box.upper[j])
        end = low if above else high
        width = high - low if math.isfinite(high - low) else max(abs(end), 1.0)
        reach = min(_NEAR * width, step if step > 0 else math.inf)
        # Downwards is upwards of the negative.
        return _short_above(end, reach) if above else -_short_above(-end, reach)

    def _free_value(self, j: int, wanted: float) -> float:
        """A possible value of a column that has no weight."""
        box, kinds = self.box, self.space.categories[j]
        if kinds is not None:
            return float(min(box.sets[j], key=lambda code: (code != wanted, code)))
        if self.space.integer[j]:
            return min(max(float(np.rint(wanted)), float(box.lower[j])), float(box.upper[j]))
        if wanted == box.lower[j] and not box.lower_closed[j]:
            return self._beside(j, True, math.inf)
        if wanted == box.upper[j] and not box.upper_closed[j]:
            return self._beside(j, False, math.inf)
        return wanted

    def _go_far(self, x: FloatArray, endless: BoolArray) -> None:
        """Move the column without an end that has the largest weight until the value is below -1."""
        for j in np.flatnonzero(endless).tolist():
            x[j] = self._free_value(j, float(np.clip(0.0, self.box.lower[j], self.box.upper[j])))
        rest = self.intercept + math.fsum((self.weights * x).tolist())
        far = int(np.argmax(np.where(endless, np.abs(self.weights), -1.0)))
        step = (abs(rest) + 1.0) / abs(float(self.weights[far])) + 1.0
        step = float(math.ceil(step)) if step < _ALL_WHOLE else step * 2.0
        x[far] += -step if self.weights[far] > 0 else step

    def _checked(self, x: FloatArray, value: Fraction | float) -> FloatArray | None:
        """The point, if it is in the box and on the same side of zero as the bound."""
        if not np.isfinite(x).all() or not self.box.contains(x[None])[0]:
            return None
        if value < 0:
            active = np.flatnonzero(self.weights).tolist()
            exact = Fraction(self.intercept) + sum(
                Fraction(float(self.weights[j])) * Fraction(float(x[j])) for j in active
            )
            if exact >= 0:
                return None
        return x


def _short_above(end: float, reach: float) -> float:
    """The number of fewest digits above a bound and at most so far from it."""
    for digits in range(1, _ALL_DIGITS + 1):
        found = round_down(end + reach, digits)
        if found > end:
            return found
    for digits in range(1, _ALL_DIGITS + 1):  # a bound at zero, or one whose digits leave no room
        found = round_up(end, digits)
        if end < found <= end + reach:
            return found
    return math.nextafter(end, math.inf)
