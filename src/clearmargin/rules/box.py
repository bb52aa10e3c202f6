"""A box: one interval, or one set of categories, for each feature that it has a condition on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.arithmetic import exact_sign
from clearmargin.rules.categories import CategorySets, feature_tuple
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

# Up to here the arrays of all features are kept once they were asked for: at most 2.3 kB a box.
_MOST_KEPT = 128


class Entries(NamedTuple):
    """The bounds of the features that have some, in the order of the features."""

    features: IntArray
    bounds: FloatArray
    closed: BoolArray

    def spread(self, features: IntArray) -> tuple[FloatArray, BoolArray]:
        """Give the bounds of these features, which include all that have some; infinite where there are none."""
        bounds, closed = _free(len(features))
        places = np.searchsorted(features, self.features)
        bounds[:, places], closed[:, places] = self.bounds, self.closed
        return bounds, closed


def closed_ends(bounds: FloatArray, closed: BoolArray) -> FloatArray:
    """Write intervals as low <= x <= high: over floats, x > a is x >= the next float after a."""
    if closed.all():
        return bounds
    inwards = np.array([math.inf, -math.inf]).reshape(2, *[1] * (bounds.ndim - 1))
    with np.errstate(over="ignore"):  # after the largest float comes inf
        return np.where(closed, bounds, np.nextafter(bounds, inwards))


def _free(n: int) -> tuple[FloatArray, BoolArray]:
    bounds, closed = np.empty((2, n)), np.ones((2, n), dtype=np.bool_)
    bounds[0], bounds[1] = -math.inf, math.inf
    return bounds, closed


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Box(Value):
    """A product of intervals, with a flag for each bound that says whether it belongs to the box.

    Half-open boxes are what makes rules disjoint. An infinite bound stands for no condition and counts as
    closed. Only conditions that exist are stored, so that a box with one bound is small in a space of thousands of
    features. A condition is false where the value is missing (NaN); a feature without condition may be missing.

    Parameters
    ----------
    lower, upper : array-like of shape (n,)
        Bounds of each feature; ``-inf`` and ``inf`` where there is none.
    lower_closed, upper_closed : array-like of bool or bool, default True
        Whether each bound belongs to the box.
    sets : CategorySets or mapping, optional
        For categorical features, the codes that are allowed; such a feature has no bounds.
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
    """

    # These four are read from what is stored; see the end of this file.
    lower: FloatArray
    upper: FloatArray
    lower_closed: BoolArray
    upper_closed: BoolArray
    sets: CategorySets
    missing: tuple[int, ...]
    known: tuple[int, ...]
    n_features: int = field(init=False, compare=False)
    # At least one of these two is there; the other one is made when it is asked for.
    _entries: Entries | None = field(init=False, compare=False)
    _arrays: tuple[FloatArray, BoolArray] | None = field(init=False, compare=False)

    def __init__(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        lower_closed: ArrayLike = True,
        upper_closed: ArrayLike = True,
        sets: CategorySets | Mapping[int, object] | None = None,
        missing: Iterable[int] = (),
        known: Iterable[int] = (),
    ):
        low = float_array(lower, "the lower bounds of a box")
        if low.ndim != 1:
            raise InvalidValueError(f"a box has one row of bounds, not shape {low.shape}")
        high = float_array(upper, "the upper bounds of a box", shape=low.shape)
        if np.count_nonzero(low == math.inf) or np.count_nonzero(high == -math.inf):
            raise InvalidValueError("a box cannot start at inf or end at -inf")
        low_closed = bool_array(lower_closed, "lower_closed", shape=low.shape) | (low == -math.inf)
        high_closed = bool_array(upper_closed, "upper_closed", shape=low.shape) | (high == math.inf)
        bounds, closed = np.empty((2, len(low))), np.empty((2, len(low)), dtype=np.bool_)
        bounds[0], bounds[1], closed[0], closed[1] = low, high, low_closed, high_closed
        self._fill(len(low), None, (bounds, closed), _as_sets(sets), missing, known)

    def _fill(
        self,
        n_features: int,
        entries: Entries | None,
        arrays: tuple[FloatArray, BoolArray] | None,
        sets: CategorySets,
        missing: Iterable[int],
        known: Iterable[int],
    ) -> None:
        for array in (*(entries or ()), *(arrays or ())):
            array.setflags(write=False)
        self._set(
            n_features=n_features,
            sets=sets,
            missing=(),
            known=(),
            _entries=entries,
            _arrays=arrays,
        )
        for feature in sets:
            if feature >= n_features:
                raise InvalidValueError(
                    f"a set for feature {feature}, but there are {n_features} features"
                )
            if self.has_bounds(feature):
                raise InvalidValueError(
                    f"feature {feature} has both a set of categories and bounds"
                )
        if missing or known:
            present = feature_tuple(known, n_features, "known")
            self._set(
                missing=feature_tuple(missing, n_features, "missing"),
                known=tuple(j for j in present if j not in sets and not self.has_bounds(j)),
            )

    @classmethod
    def _trusted(
        cls,
        n_features: int,
        entries: Entries | None = None,
        arrays: tuple[FloatArray, BoolArray] | None = None,
        sets: CategorySets | None = None,
        missing: Iterable[int] = (),
        known: Iterable[int] = (),
    ) -> Box:
        """Make a box of arrays that are in order already, and become its own."""
        box = object.__new__(cls)
        box._fill(n_features, entries, arrays, _NO_SETS if sets is None else sets, missing, known)
        return box

    @classmethod
    def unbounded(cls, n_features: int) -> Box:
        """Make the box of no condition: the whole space."""
        return cls.from_intervals({}, n_features)

    @classmethod
    def from_intervals(
        cls,
        intervals: Mapping[int, Interval],
        n_features: int,
        sets: CategorySets | Mapping[int, object] | None = None,
        missing: Iterable[int] = (),
        known: Iterable[int] = (),
    ) -> Box:
        """Make a box from the intervals of some features; the others are free."""
        numbered = {_as_index(j, n_features): interval for j, interval in intervals.items()}
        bounded = sorted(j for j, i in numbered.items() if i.low > -math.inf or i.high < math.inf)
        chosen = [numbered[j] for j in bounded]
        entries = make_entries(
            bounded,
            [[i.low for i in chosen], [i.high for i in chosen]],
            [[i.low_closed for i in chosen], [i.high_closed for i in chosen]],
        )
        return cls._trusted(n_features, entries, None, _as_sets(sets), missing, known)

    def _key(self) -> tuple[object, ...]:
        features, bounds, closed = self.entries
        same = features.tobytes(), bounds.tobytes(), closed.tobytes()
        return (self.n_features, *same, self.sets, self.missing, self.known)

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrays that travel by themselves would come back writeable.
        return _rebuild, (
            self.n_features,
            *(part.tolist() for part in self.entries),
            self.sets,
            self.missing,
            self.known,
        )

    @property
    def entries(self) -> Entries:
        """The bounds of the features that have some."""
        if self._entries is None:
            bounds, closed = self._dense()
            used = np.flatnonzero(np.isfinite(bounds[0]) | np.isfinite(bounds[1]))
            entries = Entries(used, bounds[:, used], closed[:, used])
            for array in entries:
                array.setflags(write=False)
            self._set(_entries=entries)
        assert self._entries is not None
        return self._entries

    def _dense(self) -> tuple[FloatArray, BoolArray]:
        """Return the bounds of all features, and whether each belongs to the box."""
        if self._arrays is not None:
            return self._arrays
        features, bounds, closed = self.entries
        arrays = _free(self.n_features)
        arrays[0][:, features], arrays[1][:, features] = bounds, closed
        for array in arrays:
            array.setflags(write=False)
        if self.n_features <= _MOST_KEPT:
            self._set(_arrays=arrays)
        return arrays

    @property
    def bounded(self) -> tuple[int, ...]:
        """Indices of the features that the box has a condition on."""
        found = self.entries.features.tolist()
        if not (self.sets or self.missing or self.known):
            return tuple(found)
        return tuple(sorted({*found, *self.sets, *self.missing, *self.known}))

    def has_bounds(self, feature: int) -> bool:
        """Check whether a feature has a finite bound."""
        if self._arrays is not None:
            low, high = self._arrays[0][:, feature].tolist()
            return bool(low > -math.inf or high < math.inf)
        features = self.entries.features
        place = int(np.searchsorted(features, feature))
        return place < len(features) and int(features[place]) == feature

    def interval(self, feature: int) -> Interval:
        """Return the interval of one feature."""
        place = feature
        if self._arrays is not None:
            bounds, closed = self._arrays
        else:
            features, bounds, closed = self.entries
            index = _as_index(feature, self.n_features)
            if not self.has_bounds(index):
                return Interval(-math.inf, math.inf)
            place = int(np.searchsorted(features, index))
        return Interval.from_flags(*bounds[:, place].tolist(), *closed[:, place].tolist())

    @property
    def is_empty(self) -> bool:
        """Whether no point is in the box."""
        (low, high), closed = self._arrays or self.entries[1:]
        narrow = low >= high
        if np.count_nonzero(narrow):  # as in hardly any box
            points = (low == high) & closed[0] & closed[1]
            if (narrow & ~points).any():
                return True
        return self.sets.is_empty or any(
            j in self.known or j in self.sets or self.has_bounds(j) for j in self.missing
        )

    def contains(self, X: ArrayLike) -> BoolArray:
        """Tell for each row of X whether it is in the box; a condition on a missing value is false."""
        points = as_points(X, self.n_features)
        inside = np.ones(len(points), dtype=np.bool_)
        features, bounds, closed = self.entries
        ends = closed_ends(bounds, closed)
        for j, low, high in zip(features.tolist(), *ends.tolist(), strict=True):
            inside &= points[:, j] >= low
            inside &= points[:, j] <= high
        for j in self.missing:
            inside &= np.isnan(points[:, j])
        for j in self.known:
            inside &= ~np.isnan(points[:, j])
        return inside & self.sets.contains(points)

    def intersect(self, other: Box) -> Box:
        """Return the points in both boxes; the result may be empty."""
        if other.n_features != self.n_features:
            raise InvalidValueError(
                f"one box has {self.n_features} features, the other {other.n_features}"
            )
        sets = self.sets.intersect(other.sets) if self.sets or other.sets else _NO_SETS
        missing, known = {*self.missing, *other.missing}, {*self.known, *other.known}
        if self._arrays is not None and other._arrays is not None:
            arrays = _narrower(self._arrays, other._arrays)
            return Box._trusted(self.n_features, None, arrays, sets, missing, known)
        mine, theirs = self.entries, other.entries
        union = np.union1d(mine.features, theirs.features)
        both = Entries(union, *_narrower(mine.spread(union), theirs.spread(union)))
        return Box._trusted(self.n_features, both, None, sets, missing, known)

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
        bounds, closed = self._dense()
        # Where a weight is positive, the lowest value is at the lower bound.
        rising = coef[active] > 0
        corner = np.where(rising, bounds[0, active], bounds[1, active])
        attained = np.where(rising, closed[0, active], closed[1, active]).all()
        if not np.isfinite(corner).all():
            return False
        sign = exact_sign(coef[active], corner, intercept)
        return sign > 0 or (sign == 0 and (halfspace.is_closed or not attained))

    def volume(self) -> float:
        """Compute the product of the widths; a set of categories counts as its number of categories.

        The volume is 0 as soon as one width is or a value must be missing, and ``inf`` if it is larger than any float.
        """
        lower, upper = self._dense()[0]
        if self.is_empty or self.missing or (lower == upper).any():
            return 0.0
        with np.errstate(over="ignore", under="ignore"):
            widths = np.delete(upper - lower, list(self.sets))
            if np.isinf(widths).any():
                return math.inf
            # Powers of two are added up apart: no order of the factors overflows on the way.
            fractions, exponents = np.frexp([*widths, *(len(self.sets[j]) for j in self.sets)])
            return float(np.ldexp(np.prod(fractions), int(exponents.sum())))

    def __repr__(self) -> str:
        parts = [f"{j}: {self._describe(j)}" for j in self.bounded]
        return f"Box({{{', '.join(parts)}}}, n_features={self.n_features})"

    def _describe(self, j: int) -> str:
        phrases = [f"{set(self.sets[j])}"] if j in self.sets else []
        phrases += [str(self.interval(j))] if self.has_bounds(j) else []
        phrases += ["missing"] if j in self.missing else []
        phrases += ["not missing"] if j in self.known else []
        return " and ".join(phrases)


_NO_SETS = CategorySets()


def make_entries(
    features: list[int], bounds: list[list[float]], closed: list[list[bool]]
) -> Entries:
    """Make entries of lists that are in order already: sorted features, no NaN, no -0.0, infinite bounds closed."""
    return Entries(
        np.array(features, dtype=np.intp),
        np.array(bounds, dtype=np.float64),
        np.array(closed, dtype=np.bool_),
    )


def _rebuild(
    n_features: int,
    features: list[int],
    bounds: list[list[float]],
    closed: list[list[bool]],
    sets: CategorySets,
    missing: tuple[int, ...],
    known: tuple[int, ...],
) -> Box:
    entries = make_entries(features, bounds, closed)
    return Box._trusted(n_features, entries, None, sets, missing, known)


def _as_sets(sets: CategorySets | Mapping[int, object] | None) -> CategorySets:
    return sets if isinstance(sets, CategorySets) else CategorySets(sets) if sets else _NO_SETS


def _as_index(feature: int, n_features: int) -> int:
    """Return the position of a feature, from the end where it is negative, as arrays count."""
    return range(n_features)[feature]


def _narrower(
    one: tuple[FloatArray, BoolArray], other: tuple[FloatArray, BoolArray]
) -> tuple[FloatArray, BoolArray]:
    """Return the bounds that hold where both do; of two equal ones the open one is the narrower."""
    (low, high), (low_closed, high_closed) = one
    low_mine = (low > other[0][0]) | ((low == other[0][0]) & ~low_closed)
    high_mine = (high < other[0][1]) | ((high == other[0][1]) & ~high_closed)
    mine = np.stack([low_mine, high_mine])
    return np.where(mine, one[0], other[0]), np.where(mine, one[1], other[1])


def _read_arrays(part: int, end: int, text: str) -> property:
    def read(box: Box) -> Any:
        return box._dense()[part][end]

    return property(read, doc=text)


# The fields that the constructor takes, without the arrays of all features that they would be if they were stored.
for _name, _part, _end, _text in (
    ("lower", 0, 0, "Lower bounds of all features, ``-inf`` where there is none."),
    ("upper", 0, 1, "Upper bounds of all features, ``inf`` where there is none."),
    ("lower_closed", 1, 0, "Whether each lower bound belongs to the box."),
    ("upper_closed", 1, 1, "Whether each upper bound belongs to the box."),
):
    setattr(Box, _name, _read_arrays(_part, _end, _text))
