"""A box: one interval, or one set of categories, for each feature that it has a condition on; or a stack of boxes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.arithmetic import exact_sign
from clearmargin.rules.hyperplane import HalfSpace
from clearmargin.rules.interval import Interval
from clearmargin.rules.value import (
    BoolArray,
    FloatArray,
    IntArray,
    Value,
    as_points,
    bool_array,
    float_array,
)

CategorySets = Mapping[int, frozenset[int]]

# Rows handled at a time by a stack: large enough to drown the overhead of numpy, small enough to stay in cache.
_ROWS = 16_384


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Box(Value):
    """A product of intervals, with a flag for each bound that says whether it belongs to the box.

    Half-open boxes are what makes rules disjoint. An infinite bound stands for no condition and counts as
    closed. A condition is false where the value is missing (NaN); a feature without condition may be missing.

    Bounds of two dimensions make a stack of boxes, which has a length, is taken apart by an index, and answers
    `contains` with one row for each box. Only a single box has sets of categories and conditions on missing values.

    Parameters
    ----------
    lower, upper : array-like of shape (n,) or (r, n)
        Bounds of each feature; ``-inf`` and ``inf`` where there is none.
    lower_closed, upper_closed : array-like of bool or bool, default True
        Whether each bound belongs to the box.
    sets : mapping from int to iterable of int, optional
        For categorical features, the codes that are allowed; such a feature has no bounds. A code is the position of
        a category in the list of categories of its feature, as `FeatureSpace.read` gives it.
    missing : iterable of int, optional
        Features whose value must be missing.
    known : iterable of int, optional
        Features whose value must not be missing. Bounds and sets say so already, and such features are left out.

    Examples
    --------
    >>> box = Box([0, 0], [2, 1], upper_closed=[False, True])
    >>> box.contains([[1, 1], [2, 1]])
    array([ True, False])
    >>> box.volume()
    2.0
    >>> box.is_disjoint(Box([2, 0], [3, 1]))
    True
    >>> Box([0, -np.inf], [2, np.inf], missing=[1])
    Box({0: [0, 2], 1: missing}, n_features=2)
    >>> stack = Box([[0, 0], [1, 1]], [[2, 1], [3, 3]])
    >>> len(stack), stack[1], stack.contains([[1, 1], [2, 2], [3, 3]]).sum(axis=1)
    (2, Box({0: [1, 3], 1: [1, 3]}, n_features=2), array([1, 3]))
    """

    lower: FloatArray
    upper: FloatArray
    lower_closed: BoolArray
    upper_closed: BoolArray
    sets: CategorySets
    missing: tuple[int, ...]
    known: tuple[int, ...]

    def __init__(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        lower_closed: ArrayLike = True,
        upper_closed: ArrayLike = True,
        sets: Mapping[int, Iterable[int]] | None = None,
        missing: Iterable[int] = (),
        known: Iterable[int] = (),
    ):
        low = float_array(lower, "the lower bounds of a box")
        if low.ndim not in (1, 2):
            raise InvalidValueError(f"a box has one row of bounds, not shape {low.shape}")
        high = float_array(upper, "the upper bounds of a box", shape=low.shape)
        if (low == math.inf).any() or (high == -math.inf).any():
            raise InvalidValueError("a box cannot start at inf or end at -inf")
        low_closed = bool_array(lower_closed, "lower_closed", shape=low.shape) | (low == -math.inf)
        high_closed = bool_array(upper_closed, "upper_closed", shape=low.shape) | (high == math.inf)
        for flags in (low_closed, high_closed):
            flags.setflags(write=False)
        self._set(lower=low, upper=high, lower_closed=low_closed, upper_closed=high_closed)
        n = low.shape[-1]
        allowed = category_sets(sets, n)
        absent, present = feature_tuple(missing, n, "missing"), feature_tuple(known, n, "known")
        if low.ndim == 2 and (allowed or absent or present):
            raise InvalidValueError("a stack of boxes has bounds alone; keep other boxes in a list")
        for j in allowed:
            if self.has_bounds(j):
                raise InvalidValueError(f"feature {j} has both a set of categories and bounds")
        present = tuple(j for j in present if j not in allowed and not self.has_bounds(j))
        self._set(sets=allowed, missing=absent, known=present)

    @classmethod
    def unbounded(cls, n_features: int) -> Box:
        """Make the box of no condition: the whole space."""
        return cls(np.full(n_features, -math.inf), np.full(n_features, math.inf))

    @classmethod
    def from_intervals(
        cls,
        intervals: Mapping[int, Interval],
        n_features: int,
        sets: Mapping[int, Iterable[int]] | None = None,
        missing: Iterable[int] = (),
        known: Iterable[int] = (),
    ) -> Box:
        """Make a box from the intervals of some features; the others are free."""
        lower, upper = np.full(n_features, -math.inf), np.full(n_features, math.inf)
        lower_closed, upper_closed = np.ones((2, n_features), dtype=np.bool_)
        for j, interval in intervals.items():
            lower[j], upper[j] = interval.low, interval.high
            lower_closed[j], upper_closed[j] = interval.low_closed, interval.high_closed
        return cls(lower, upper, lower_closed, upper_closed, sets, missing, known)

    @classmethod
    def stack(cls, boxes: Sequence[Box], n_features: int) -> Box:
        """Put boxes of bounds alone into one stack."""
        if not all(box.has_bounds_alone for box in boxes):
            raise InvalidValueError("a stack of boxes has bounds alone; keep other boxes in a list")
        parts = [(box.lower, box.upper, box.lower_closed, box.upper_closed) for box in boxes]
        if not parts:
            return cls(np.empty((0, n_features)), np.empty((0, n_features)))
        low, high, low_closed, high_closed = map(np.stack, zip(*parts, strict=True))
        return cls(low, high, low_closed, high_closed)

    @property
    def n_features(self) -> int:
        """Dimension of the space."""
        return int(self.lower.shape[-1])

    def __len__(self) -> int:
        if self.lower.ndim == 1:
            raise TypeError("a single box has no length")
        return len(self.lower)

    def __getitem__(self, index: Any) -> Box:
        if self.lower.ndim == 1:
            raise TypeError("a single box has no parts")
        arrays = self.lower, self.upper, self.lower_closed, self.upper_closed
        return Box(*(array[index] for array in arrays))

    def __iter__(self) -> Iterator[Box]:
        return (self[b] for b in range(len(self)))

    @property
    def n_conditions(self) -> IntArray:
        """The number of bounds of each box of a stack; a feature bounded on both sides counts twice."""
        ends = np.isfinite(self.lower).sum(axis=-1) + np.isfinite(self.upper).sum(axis=-1)
        return np.asarray(ends, dtype=np.intp)

    @property
    def bounded(self) -> tuple[int, ...]:
        """Indices of the features that the box has a condition on."""
        found = np.flatnonzero(np.isfinite(self.lower) | np.isfinite(self.upper)).tolist()
        if self.has_bounds_alone:
            return tuple(found)
        return tuple(sorted({*found, *self.sets, *self.missing, *self.known}))

    @property
    def has_bounds_alone(self) -> bool:
        """Whether there are neither sets of categories nor conditions on missing values."""
        return not (self.sets or self.missing or self.known)

    def has_bounds(self, feature: int) -> bool:
        """Check whether a feature has a finite bound."""
        return bool(self.lower[feature] > -math.inf or self.upper[feature] < math.inf)

    def interval(self, feature: int) -> Interval:
        """Return the interval of one feature."""
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
        if narrow.any():  # as in hardly any box
            points = (self.lower == self.upper) & self.lower_closed & self.upper_closed
            if (narrow & ~points).any():
                return True
        return any(not codes for codes in self.sets.values()) or any(
            j in self.known or j in self.sets or self.has_bounds(j) for j in self.missing
        )

    def contains(self, X: ArrayLike) -> BoolArray:
        """Tell for each row of X whether it is in the box; a condition on a missing value is false."""
        points = as_points(X, self.n_features)
        low, high = self.lower, self.upper
        with np.errstate(over="ignore"):  # after the largest float comes inf
            # Over floats, x > a is x >= the next float after a.
            low = np.where(self.lower_closed, low, np.nextafter(low, math.inf))
            high = np.where(self.upper_closed, high, np.nextafter(high, -math.inf))
        if self.lower.ndim == 2:
            return _stack_contains(low, high, points)
        inside = np.ones(len(points), dtype=np.bool_)
        for j in np.flatnonzero(np.isfinite(self.lower) | np.isfinite(self.upper)):
            inside &= points[:, j] >= low[j]
            inside &= points[:, j] <= high[j]
        return inside & contains_codes(self, points)

    def intersect(self, other: Box) -> Box:
        """Return the points in both boxes; the result may be empty."""
        if other.n_features != self.n_features:
            raise InvalidValueError(
                f"one box has {self.n_features} features, the other {other.n_features}"
            )
        # Of two equal bounds the open one is the narrower.
        low_is_mine = (self.lower > other.lower) | (
            (self.lower == other.lower) & ~self.lower_closed
        )
        high_is_mine = (self.upper < other.upper) | (
            (self.upper == other.upper) & ~self.upper_closed
        )
        sets = {**self.sets, **other.sets}
        sets |= {j: self.sets[j] & other.sets[j] for j in self.sets.keys() & other.sets.keys()}
        return Box(
            np.where(low_is_mine, self.lower, other.lower),
            np.where(high_is_mine, self.upper, other.upper),
            np.where(low_is_mine, self.lower_closed, other.lower_closed),
            np.where(high_is_mine, self.upper_closed, other.upper_closed),
            sets,
            {*self.missing, *other.missing},
            {*self.known, *other.known},
        )

    def __and__(self, other: Box) -> Box:
        if not isinstance(other, Box):
            return NotImplemented
        return self.intersect(other)

    def is_disjoint(self, other: Box) -> bool:
        """Check whether the boxes have no point in common; exact, since floats compare exactly."""
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
            True exactly when every real point of the box is in the half-space. Where a feature with a weight must be
            missing, the plane has no value, and the answer is False.

        Examples
        --------
        >>> from clearmargin.rules.hyperplane import Hyperplane
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
        if any(plane.coef[feature] for feature in self.missing):
            return False
        coef, intercept = plane.coef * halfspace.sign, plane.intercept * halfspace.sign
        active = np.flatnonzero(coef)
        # Where a weight is positive, the lowest value is at the lower bound.
        rising = coef[active] > 0
        corner = np.where(rising, self.lower[active], self.upper[active])
        closed = np.where(rising, self.lower_closed[active], self.upper_closed[active])
        if not np.isfinite(corner).all():
            return False
        sign = exact_sign(coef[active], corner, intercept)
        return sign > 0 or (sign == 0 and (halfspace.is_closed or not closed.all()))

    def volume(self) -> float:
        """Compute the product of the widths; a set of categories counts as its number of categories.

        The volume is 0 as soon as one width is or a value must be missing, and ``inf`` if it is larger than any float.
        """
        if self.is_empty or self.missing or (self.lower == self.upper).any():
            return 0.0
        with np.errstate(over="ignore", under="ignore"):
            widths = np.delete(self.upper - self.lower, list(self.sets))
            if np.isinf(widths).any():
                return math.inf
            # Powers of two are added up apart: no order of the factors overflows on the way.
            factors = [*widths, *(len(codes) for codes in self.sets.values())]
            fractions, exponents = np.frexp(factors)
            return float(np.ldexp(np.prod(fractions), int(exponents.sum())))

    def __repr__(self) -> str:
        if self.lower.ndim == 2:
            return f"<{len(self)} boxes over {self.n_features} features>"
        parts = [f"{j}: {self._describe(j)}" for j in self.bounded]
        return f"Box({{{', '.join(parts)}}}, n_features={self.n_features})"

    def _describe(self, j: int) -> str:
        phrases = [f"{set(self.sets[j])}"] if j in self.sets else []
        phrases += [str(self.interval(j))] if self.has_bounds(j) else []
        phrases += ["missing"] if j in self.missing else []
        phrases += ["not missing"] if j in self.known else []
        return " and ".join(phrases)


def _stack_contains(low: FloatArray, high: FloatArray, points: FloatArray) -> BoolArray:
    """Tell for each box and row whether the row is in it, chunk by chunk of the rows and feature by feature."""
    inside = np.ones((len(low), len(points)), dtype=np.bool_)
    has_bounds = (low > -math.inf) | (high < math.inf)
    features = [
        (j, np.flatnonzero(has_bounds[:, j])) for j in np.flatnonzero(has_bounds.any(axis=0))
    ]
    for start in range(0, len(points), _ROWS):
        chunk = inside[:, start : start + _ROWS]
        for j, boxes in features:
            x = np.ascontiguousarray(points[start : start + _ROWS, j])
            chunk[boxes] &= (x >= low[boxes, j, None]) & (x <= high[boxes, j, None])
    return inside


def contains_codes(region: Any, points: FloatArray) -> BoolArray:
    """Tell which rows meet the conditions of a region that are no inequalities."""
    inside = np.ones(len(points), dtype=np.bool_)
    for j, codes in region.sets.items():
        inside &= np.isin(points[:, j], list(codes))
    for j in region.missing:
        inside &= np.isnan(points[:, j])
    for j in region.known:
        inside &= ~np.isnan(points[:, j])
    return inside


def category_sets(sets: Mapping[int, Iterable[int]] | None, n_features: int) -> CategorySets:
    """Take sets of codes as a mapping that does not change, in the order of the features."""
    allowed = {}
    for feature, codes in (sets or {}).items():
        if isinstance(codes, str) or not isinstance(codes, Iterable):
            raise InvalidValueError(
                f"feature {feature!r} needs a set of codes, not {codes!r} ({type(codes).__name__})"
            )
        allowed[_position(feature)] = frozenset(map(_position, codes))
    if allowed and max(allowed) >= n_features:
        raise InvalidValueError(
            f"a set for feature {max(allowed)}, but there are {n_features} features"
        )
    return MappingProxyType(dict(sorted(allowed.items())))


def feature_tuple(features: Iterable[int], n_features: int, what: str) -> tuple[int, ...]:
    """Take indices of features as a sorted tuple without repetition."""
    chosen = tuple(sorted({_position(feature) for feature in features}))
    if chosen and chosen[-1] >= n_features:
        raise InvalidValueError(
            f"feature {chosen[-1]} among those listed as {what}, but there are {n_features} features"
        )
    return chosen


def _position(value: Any) -> int:
    # Codes read from a table are floats.
    plain = isinstance(value, int | float | np.integer)
    if not plain or value < 0 or not float(value).is_integer():
        raise InvalidValueError(
            f"features and codes of categories are whole numbers from 0, not {value!r}"
        )
    return int(value)
