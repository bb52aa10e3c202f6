"""A box: one interval, or one set of categories, for each feature."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.core.categories import CategorySets
from clearmargin.core.hyperplane import HalfSpace
from clearmargin.core.interval import Interval
from clearmargin.core.points import as_points, is_point
from clearmargin.core.sign import exact_sign
from clearmargin.core.value import BoolArray, FloatArray, Value, bool_array, float_array
from clearmargin.exceptions import InvalidValueError

__all__ = ["Box"]


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Box(Value):
    """A product of intervals, with a flag for each bound that says whether it belongs to the box.

    Half-open boxes are what makes rules disjoint. An infinite bound stands for no condition and counts as
    closed. A row with a NaN anywhere is not a point of the space and in no box.

    Parameters
    ----------
    lower, upper : array-like of shape (n,)
        Bounds of each feature; ``-inf`` and ``inf`` where there is none.
    lower_closed, upper_closed : array-like of bool or bool, default True
        Whether each bound belongs to the box.
    sets : CategorySets or mapping, optional
        For categorical features, the codes that are allowed; such a feature has no bounds.

    Examples
    --------
    >>> box = Box([0, 0], [2, 1], upper_closed=[False, True])
    >>> box.contains([[1, 1], [2, 1]])
    array([ True, False])
    >>> box.volume()
    2.0
    >>> box.is_disjoint(Box([2, 0], [3, 1]))
    True
    """

    lower: FloatArray
    upper: FloatArray
    lower_closed: BoolArray
    upper_closed: BoolArray
    sets: CategorySets

    def __init__(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        lower_closed: ArrayLike = True,
        upper_closed: ArrayLike = True,
        sets: CategorySets | Mapping[int, object] | None = None,
    ):
        low = float_array(lower, "the lower bounds of a box")
        if low.ndim != 1:
            raise InvalidValueError(f"a box has one row of bounds, not shape {low.shape}")
        high = float_array(upper, "the upper bounds of a box", shape=low.shape)
        if np.count_nonzero(low == math.inf) or np.count_nonzero(high == -math.inf):
            raise InvalidValueError("a box cannot start at inf or end at -inf")
        low_closed = bool_array(lower_closed, "lower_closed", shape=low.shape) | (low == -math.inf)
        high_closed = bool_array(upper_closed, "upper_closed", shape=low.shape) | (high == math.inf)
        low_closed.setflags(write=False)
        high_closed.setflags(write=False)
        allowed = sets if isinstance(sets, CategorySets) else CategorySets(sets or {})
        for feature in allowed:
            if feature >= len(low):
                raise InvalidValueError(
                    f"a set for feature {feature}, but there are {len(low)} features"
                )
            if low[feature] > -math.inf or high[feature] < math.inf:
                raise InvalidValueError(
                    f"feature {feature} has both a set of categories and bounds"
                )
        self._set(
            lower=low, upper=high, lower_closed=low_closed, upper_closed=high_closed, sets=allowed
        )

    @classmethod
    def _trusted(cls, bounds: FloatArray, closed: BoolArray, sets: CategorySets) -> Box:
        """Make a box of arrays that are in order already, and become its own.

        Checking a box takes several times as long as making one. Rule text has checked its bounds with the place of
        each at hand, and there are a hundred thousand boxes in ten megabytes.
        """
        bounds.setflags(write=False)
        closed.setflags(write=False)
        box = object.__new__(cls)
        box._set(
            lower=bounds[0],
            upper=bounds[1],
            lower_closed=closed[0],
            upper_closed=closed[1],
            sets=sets,
        )
        return box

    @classmethod
    def unbounded(cls, n_features: int) -> Box:
        """Make the box of no condition: the whole space."""
        return cls(np.full(n_features, -math.inf), np.full(n_features, math.inf))

    @classmethod
    def from_intervals(
        cls,
        intervals: Mapping[int, Interval],
        n_features: int,
        sets: CategorySets | Mapping[int, object] | None = None,
    ) -> Box:
        """Make a box from the intervals of some features; the others are free."""
        low, high = np.full(n_features, -math.inf), np.full(n_features, math.inf)
        flags = np.ones((2, n_features), dtype=np.bool_)
        for feature, interval in intervals.items():
            low[feature], high[feature] = interval.low, interval.high
            flags[:, feature] = interval.low_closed, interval.high_closed
        return cls(low, high, flags[0], flags[1], sets)

    @property
    def n_features(self) -> int:
        """Dimension of the space."""
        return len(self.lower)

    @property
    def bounded(self) -> tuple[int, ...]:
        """Indices of the features with a finite bound or a set of categories."""
        finite = np.isfinite(self.lower) | np.isfinite(self.upper)
        return tuple(sorted({*finite.nonzero()[0].tolist(), *self.sets}))

    def interval(self, feature: int) -> Interval:
        """The interval of one feature."""
        return Interval.from_flags(
            float(self.lower[feature]),
            float(self.upper[feature]),
            bool(self.lower_closed[feature]),
            bool(self.upper_closed[feature]),
        )

    @property
    def is_empty(self) -> bool:
        """Whether no point is in the box."""
        narrow = self.lower >= self.upper
        if not np.count_nonzero(narrow):  # as in nearly every box
            return self.sets.is_empty
        points = (self.lower == self.upper) & self.lower_closed & self.upper_closed
        return bool((narrow & ~points).any()) or self.sets.is_empty

    def contains(self, X: ArrayLike) -> BoolArray:
        """Tell for each row of X whether it is in the box."""
        points = as_points(X, self.n_features)
        inside = is_point(points)
        for j in np.flatnonzero(np.isfinite(self.lower)):
            column = points[:, j]
            inside &= column >= self.lower[j] if self.lower_closed[j] else column > self.lower[j]
        for j in np.flatnonzero(np.isfinite(self.upper)):
            column = points[:, j]
            inside &= column <= self.upper[j] if self.upper_closed[j] else column < self.upper[j]
        return inside & self.sets.contains(points)

    def intersect(self, other: Box) -> Box:
        """The points in both boxes; the result may be empty."""
        self._check_same_space(other)
        # Of two equal bounds the open one is the narrower.
        low_mine = (self.lower > other.lower) | ((self.lower == other.lower) & ~self.lower_closed)
        high_mine = (self.upper < other.upper) | ((self.upper == other.upper) & ~self.upper_closed)
        return Box(
            np.where(low_mine, self.lower, other.lower),
            np.where(high_mine, self.upper, other.upper),
            np.where(low_mine, self.lower_closed, other.lower_closed),
            np.where(high_mine, self.upper_closed, other.upper_closed),
            self.sets.intersect(other.sets),
        )

    def __and__(self, other: Box) -> Box:
        if not isinstance(other, Box):
            return NotImplemented
        return self.intersect(other)

    def is_disjoint(self, other: Box) -> bool:
        """Whether the boxes have no point in common; exact, since floats compare exactly."""
        return self.intersect(other).is_empty

    def is_inside(self, halfspace: HalfSpace) -> bool:
        """Decide exactly whether the whole box lies in a half-space.

        The lowest value of ``sign * f`` over the box is found feature by feature. Its sign is decided in
        rational arithmetic whenever rounding could change it, never with a tolerance.

        Parameters
        ----------
        halfspace : HalfSpace
            One side of a hyperplane over the same features.

        Returns
        -------
        bool
            True exactly when every real point of the box is in the half-space.

        Examples
        --------
        >>> from clearmargin.core.hyperplane import Hyperplane
        >>> plane = Hyperplane([0.1, 0.2], -0.3)      # as floats, 0.1 + 0.2 > 0.3
        >>> corner = Box([1.0, 1.0], [2.0, 2.0])
        >>> corner.is_inside(plane.side(1)), corner.is_inside(plane.side(-1))
        (True, False)
        """
        plane = halfspace.hyperplane
        if plane.n_features != self.n_features:
            raise InvalidValueError(
                f"the box has {self.n_features} features, the hyperplane {plane.n_features}"
            )
        if any(plane.coef[feature] for feature in self.sets):
            raise InvalidValueError(
                "a hyperplane with a weight on a category code has no meaning; encode categories first"
            )
        if self.is_empty:
            return True
        coef, intercept = plane.coef * halfspace.sign, plane.intercept * halfspace.sign
        active = np.flatnonzero(coef)
        # Where a weight is positive, the lowest value is at the lower bound.
        rising = coef[active] > 0
        corner = np.where(rising, self.lower[active], self.upper[active])
        attained = np.where(rising, self.lower_closed[active], self.upper_closed[active]).all()
        if not np.isfinite(corner).all():
            return False
        sign = exact_sign(coef[active], corner, intercept)
        return sign > 0 or (sign == 0 and (halfspace.is_closed or not attained))

    def volume(self) -> float:
        """Product of the widths; a set of categories counts as its number of categories.

        The volume is 0 as soon as one width is, and ``inf`` if it is larger than any float.
        """
        if self.is_empty or (self.lower == self.upper).any():
            return 0.0
        with np.errstate(over="ignore", under="ignore"):
            widths = np.delete(self.upper - self.lower, list(self.sets))
            if np.isinf(widths).any():
                return math.inf
            # Powers of two are added up apart: no order of the factors overflows on the way.
            fractions, exponents = np.frexp([*widths, *(len(self.sets[j]) for j in self.sets)])
            return float(np.ldexp(np.prod(fractions), int(exponents.sum())))

    def _check_same_space(self, other: Box) -> None:
        if other.n_features != self.n_features:
            raise InvalidValueError(
                f"one box has {self.n_features} features, the other {other.n_features}"
            )

    def __repr__(self) -> str:
        parts = [
            f"{j}: {set(self.sets[j])}" if j in self.sets else f"{j}: {self.interval(j)}"
            for j in self.bounded
        ]
        return f"Box({{{', '.join(parts)}}}, n_features={self.n_features})"
