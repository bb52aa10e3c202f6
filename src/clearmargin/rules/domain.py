"""The feasible domain: ranges of features, whole numbers, exactly one category of each categorical feature.

A proof, a worst case or a witness is about cases that can exist. A box alone holds others as well: a customer with
three purposes at once, 2.5 children, an age of 25 where the rule says ``age < 25``. A `Domain` holds the possible
cases, and finds the lowest value of a linear function over those of them that lie in a box. Columns are
independent of each other but for the groups of 0/1 columns, and groups of each other, so that both are closed forms;
they are evaluated in fractions. `OneHot` is a group: a categorical feature as 0/1 columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.box import Box
from clearmargin.rules.hyperplane import HalfSpace
from clearmargin.rules.interval import round_down
from clearmargin.rules.space import FeatureSpace, nearest_name
from clearmargin.rules.value import (
    BoolArray,
    FloatArray,
    Value,
    as_points,
    bool_array,
    float_array,
    is_point,
)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class OneHot(Value):
    """A categorical feature as 0/1 columns, of which exactly one is 1.

    Parameters
    ----------
    feature : str
        The feature.
    columns : iterable of int
        Positions of its columns.
    categories : iterable of str
        The category of each column.

    Examples
    --------
    >>> OneHot("colour", [1, 2], ["red", "blue"])
    OneHot(feature='colour', columns=(1, 2), categories=('red', 'blue'))
    """

    feature: str
    columns: tuple[int, ...]
    categories: tuple[str, ...]

    def __init__(self, feature: str, columns: Iterable[int], categories: Iterable[str]):
        places, names = tuple(int(j) for j in columns), tuple(str(c) for c in categories)
        if not places or len(places) != len(names):
            raise InvalidValueError(
                f"feature {feature!r} needs one column for each category, not {len(places)} columns for "
                f"{len(names)} categories"
            )
        if len(set(places)) < len(places) or len(set(names)) < len(names):
            raise InvalidValueError(
                f"the columns and the categories of {feature!r} must differ: {places}, {names}"
            )
        self._set(feature=str(feature), columns=places, categories=names)


Groups = Iterable[OneHot] | Mapping[str, Mapping[str, int | str]]


def read_groups(groups: Groups, space: FeatureSpace) -> Iterable[OneHot]:
    """Read groups of 0/1 columns, given as they are or as mappings from category to column."""
    if not isinstance(groups, Mapping):
        for group in groups:
            if not isinstance(group, OneHot):
                raise InvalidValueError(
                    f"a group of columns is a OneHot or a mapping, not {type(group).__name__}"
                )
            yield group
        return
    for feature, columns in groups.items():
        if not isinstance(columns, Mapping):
            raise InvalidValueError(
                f"the group of {feature!r} must map each category to its column, not be {columns!r}"
            )
        places = [_place(column, space) for column in columns.values()]
        yield OneHot(feature, places, [str(category) for category in columns])


def _place(column: int | str, space: FeatureSpace) -> int:
    if not isinstance(column, str):
        return int(column)
    if column not in space.names:
        hint = nearest_name(column, space.names)
        raise InvalidValueError(f"a group names unknown column {column!r}{hint}")
    return space.index(column)


def check_members(members: Sequence[int], space: FeatureSpace) -> None:
    """Raise if a column is in two groups, or cannot be one of 0 and 1."""
    if len(set(members)) < len(members):
        twice = next(j for j in members if list(members).count(j) > 1)
        raise InvalidValueError(f"column {space.names[twice]!r} is in two groups; it may be in one")
    for j in members:
        if not 0 <= j < len(space):
            raise InvalidValueError(f"a group names column {j}, but there are {len(space)} columns")
        low, high = float(space.lower[j]), float(space.upper[j])
        outside = any(math.isfinite(end) and not 0.0 <= end <= 1.0 for end in (low, high))
        if space.categories[j] is not None or outside:
            what = "has categories" if space.categories[j] else f"ranges from {low:g} to {high:g}"
            raise InvalidValueError(
                f"column {space.names[j]!r} {what}; a group has 0/1 columns, of which exactly one is 1"
            )


# How far from an open bound a witness may lie, as a share of the range: near enough to stand for the bound.
_NEAR = 1e-3
# Beyond this, neighbouring floats are more than 1 apart and all of them are whole numbers.
_ALL_WHOLE = 2.0**53
_ALL_DIGITS = 17


@dataclass(frozen=True, slots=True)
class Extreme:
    """The lowest value of a linear function over what can be.

    Parameters
    ----------
    value : Fraction or float
        The exact infimum; -inf where the function has no bound.
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


def _beside(box: Box, j: int, above: bool, step: float) -> float:
    """Give a number of few digits strictly inside an open bound, at most a step away from it where floats allow."""
    low, high = float(box.lower[j]), float(box.upper[j])
    end = low if above else high
    width = high - low if math.isfinite(high - low) else max(abs(end), 1.0)
    reach = min(_NEAR * width, step if step > 0 else math.inf)
    # Downwards is upwards of the negative.
    return _short_above(end, reach) if above else -_short_above(-end, reach)


def _go_far(x: FloatArray, endless: BoolArray, weights: FloatArray, intercept: float) -> None:
    """Move the column without an end that has the largest weight until the value is below -1."""
    rest = intercept + math.fsum((weights * x).tolist())
    far = int(np.argmax(np.where(endless, np.abs(weights), -1.0)))
    step = (abs(rest) + 1.0) / abs(float(weights[far])) + 1.0
    step = float(math.ceil(step)) if step < _ALL_WHOLE else step * 2.0
    x[far] += -step if weights[far] > 0 else step


def _short_above(end: float, reach: float) -> float:
    """Return the number of fewest digits above a bound and at most so far from it."""
    for digits in range(1, _ALL_DIGITS + 1):
        found = round_down(end + reach, digits)
        if found > end:
            return found
    return math.nextafter(end, math.inf)  # neighbours, between which no digits fit


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Domain(Value):
    """The cases that can exist: ranges, whole numbers, exactly one category of each categorical feature.

    Parameters
    ----------
    space : FeatureSpace
        The columns, with their ranges and which of them hold whole numbers. A column with categories holds their codes.
    lower_declared, upper_declared : array-like of bool of shape (n,) or bool, default False
        Which ends of the ranges somebody declared; the others were only seen in data, and a case beyond them can exist.
    groups : iterable of OneHot, or mapping from feature to mapping from category to column, default ()
        Columns of which exactly one is 1 and the others 0, as an encoder makes them or as they are declared. They are
        never guessed: two 0/1 columns may well be two independent facts. A column is given by name or position.

    Attributes
    ----------
    space : FeatureSpace
        The columns; those of groups are whole numbers from 0 to 1, which counts as declared.
    lower_declared, upper_declared : ndarray of bool of shape (n,)
        Which ends are declared; an infinite end is none.
    groups : tuple of OneHot
        The groups.

    Examples
    --------
    A loan for one of three purposes. Over a box, the lowest value of 5 * car + 6 * tv + 7 * other is 0. One of the
    purposes is always there, so that the true minimum is 5:

    >>> space = FeatureSpace(["age", "car", "tv", "other"], [18, 0, 0, 0], [80, 1, 1, 1], integer=True)
    >>> purpose = {"car": "car", "tv": "tv", "other": "other"}
    >>> domain = Domain(space, groups={"purpose": purpose})
    >>> lowest = domain.minimum([0, 5, 6, 7])
    >>> lowest.value, domain.name_values(lowest.point)
    (Fraction(5, 1), {'age': 18.0, 'purpose': 'car'})
    >>> domain.contains([[30, 1, 0, 0], [30, 1, 1, 0], [30.5, 1, 0, 0]])
    array([ True, False, False])
    """

    space: FeatureSpace
    lower_declared: BoolArray
    upper_declared: BoolArray
    groups: tuple[OneHot, ...]

    def __init__(
        self,
        space: FeatureSpace,
        lower_declared: ArrayLike = False,
        upper_declared: ArrayLike = False,
        groups: Groups = (),
    ):
        shape = (len(space),)
        found = tuple(read_groups(groups, space))
        members = [j for group in found for j in group.columns]
        lower, upper, integer = space.lower.copy(), space.upper.copy(), space.integer.copy()
        check_members(members, space)
        lower[members], upper[members], integer[members] = 0.0, 1.0, True
        low = bool_array(lower_declared, "lower_declared", shape=shape) & np.isfinite(lower)
        high = bool_array(upper_declared, "upper_declared", shape=shape) & np.isfinite(upper)
        low[members] = high[members] = True
        for flags in (low, high):
            flags.setflags(write=False)
        self._set(
            space=FeatureSpace(space.names, lower, upper, integer, space.categories, space.units),
            lower_declared=low,
            upper_declared=high,
            groups=found,
        )

    @classmethod
    def from_space(cls, space: FeatureSpace, *, declared: bool = True) -> Domain:
        """Take the ranges of a space, all of them declared or all of them only seen.

        Examples
        --------
        >>> Domain.from_space(FeatureSpace(["age"], [0.0], [120.0])).box()
        Box({0: [0, 120]}, n_features=1)
        """
        return cls(space, declared, declared)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.space)

    def box(self, *, seen: bool = False) -> Box:
        """Return the smallest box that holds all possible cases.

        Parameters
        ----------
        seen : bool, default False
            Whether ranges that were only seen count as limits, too.

        Returns
        -------
        Box
            Infinite where nothing is declared.

        Examples
        --------
        >>> space = FeatureSpace(["age", "bmi"], [18.0, 17.2], [80.0, 44.9], integer=[True, False])
        >>> Domain(space, lower_declared=[True, False]).box()
        Box({0: [18, inf]}, n_features=2)
        """
        return self.tighten(Box.unbounded(self.n_features), seen=seen)

    def tighten(self, box: Box, *, seen: bool = False) -> Box:
        """Find the smallest box that holds the possible cases of a box: ends at values that a feature can have.

        Parameters
        ----------
        box : Box
            Over the same columns.
        seen : bool, default False
            Whether ranges that were only seen count as limits, too.

        Returns
        -------
        Box
            Empty where no case of the box is possible.

        Examples
        --------
        >>> domain = Domain(FeatureSpace(["size"], [1.0], [10.0], integer=True))
        >>> domain.tighten(Box([-np.inf], [2.5])), domain.tighten(Box([-np.inf], [2.5]), seen=True)
        (Box({0: [-inf, 2]}, n_features=1), Box({0: [1, 2]}, n_features=1))
        """
        return self.round_to_values(box.intersect(self._limits(seen)))

    def round_to_values(self, box: Box) -> Box:
        """Move the ends of a box to values that a feature can have, without limits of their own.

        Parameters
        ----------
        box : Box
            Over the same columns.

        Returns
        -------
        Box
            The same possible cases: ``<= 2.5`` and ``< 3`` become ``<= 2`` for whole numbers, and a 0/1 column of a
            group is fixed where the others leave it no choice.

        Examples
        --------
        >>> domain = Domain(FeatureSpace(["size"], integer=True))
        >>> domain.round_to_values(Box([0.5], [3.0], upper_closed=False))
        Box({0: [1, 2]}, n_features=1)
        """
        self._check_width(box.n_features)
        lower, upper = box.lower.copy(), box.upper.copy()
        lower_closed, upper_closed = box.lower_closed.copy(), box.upper_closed.copy()
        whole = np.flatnonzero(self.space.integer)
        lower[whole] = _first_whole(lower[whole], lower_closed[whole])
        upper[whole] = -_first_whole(-upper[whole], upper_closed[whole])
        lower_closed[whole] = upper_closed[whole] = True
        for group in self.groups:
            columns = list(group.columns)
            allowed = _allowed(lower[columns], upper[columns])
            lower[columns] = allowed & (allowed.sum() == 1)
            upper[columns] = allowed
            if not allowed.any():
                lower[columns] = 1.0  # no category is left: the box is empty
        return Box(lower, upper, lower_closed, upper_closed, box.sets, box.missing, box.known)

    def is_possible(self, box: Box, *, seen: bool = False) -> bool:
        """Check whether a box holds any possible case.

        Examples
        --------
        >>> Domain(FeatureSpace(["children"], integer=True)).is_possible(Box([1.2], [1.8]))
        False
        """
        return not self.tighten(box, seen=seen).is_empty

    def contains(self, X: ArrayLike, *, seen: bool = False) -> BoolArray:
        """Tell for each row of X whether it is a possible case; a row with a missing value is none.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Rows of numbers; a column with categories holds their codes.
        seen : bool, default False
            Whether ranges that were only seen count as limits, too.

        Returns
        -------
        ndarray of bool of shape (m,)
            One answer for each row.
        """
        points = as_points(X, self.n_features)
        inside = is_point(points) & self._limits(seen).contains(points)
        with np.errstate(invalid="ignore"):
            for j in np.flatnonzero(self.space.integer):
                inside &= points[:, j] == np.floor(points[:, j])
            for group in self.groups:
                inside &= points[:, list(group.columns)].sum(axis=1) == 1.0
        return inside

    def minimum(
        self,
        coef: ArrayLike,
        intercept: float = 0.0,
        *,
        within: Box | None = None,
        seen: bool = False,
        near: ArrayLike = 0.0,
    ) -> Extreme | None:
        """Find the lowest value of coef.x + intercept over the possible cases of a box, exactly.

        Parameters
        ----------
        coef : array-like of shape (n,)
            Weights; 0 on a column of category codes.
        intercept : float, default 0.0
            Constant term.
        within : Box, optional
            The box; by default all possible cases.
        seen : bool, default False
            Whether ranges that were only seen count as limits, too.
        near : array-like of shape (n,) or float, default 0.0
            Values for the columns without weight, as near as ranges and box allow: the medians, or those of a case.

        Returns
        -------
        Extreme or None
            None where no case is possible.

        Examples
        --------
        An open bound is not attained, and the witness lies strictly inside:

        >>> domain = Domain(FeatureSpace(["x"], [0.0], [40.0]), True, True)
        >>> lowest = domain.minimum([-1.0], 20.0, within=Box([0.0], [25.0], upper_closed=False))
        >>> lowest.value, lowest.is_attained, lowest.point
        (Fraction(-5, 1), False, array([24.98]))
        """
        w = float_array(coef, "the weights", shape=(self.n_features,))
        if any(w[j] for j, known in enumerate(self.space.categories) if known is not None):
            raise InvalidValueError(
                "a weight on a category code has no meaning; encode categories as 0/1 columns first"
            )
        asked = Box.unbounded(self.n_features) if within is None else within
        if asked.missing:
            name = self.space.names[asked.missing[0]]
            raise InvalidValueError(
                f"the box asks for cases in which {name!r} is missing, and a linear function has no value there; ask "
                "about a box of values"
            )
        box = self.tighten(asked, seen=seen)
        if box.is_empty:
            return None
        wished = float_array(near, "near", shape=(self.n_features,))
        # The lowest value is at the corner where each weight pulls; x becomes a possible case there.
        x = np.clip(np.clip(wished, self.space.lower, self.space.upper), box.lower, box.upper)
        grouped = self._choose_categories(x, wished, w, box)
        rising, active = w > 0, (w != 0) & ~grouped
        corner = np.where(rising, box.lower, box.upper)
        endless = active & ~np.isfinite(corner)
        is_open = active & ~endless & ~np.where(rising, box.lower_closed, box.upper_closed)
        at_corner = np.where(grouped, x, np.where(endless, 0.0, corner))
        exact = _exact_value(w, at_corner, intercept)
        x[active] = np.where(endless, np.clip(0.0, box.lower, box.upper), at_corner)[active]
        slack = abs(float(exact)) / 2 / max(int(is_open.sum()), 1)
        for j in np.flatnonzero(is_open).tolist():
            x[j] = _beside(box, j, bool(rising[j]), slack / abs(float(w[j])))
        for j in np.flatnonzero((~active | endless) & ~grouped).tolist():
            x[j] = self._free_value(box, j, float(x[j]))
        if endless.any():
            _go_far(x, endless, w, intercept)
        value: Fraction | float = -math.inf if endless.any() else exact
        is_case = bool(np.isfinite(x).all()) and bool(box.contains(x[None])[0])
        # A float beyond an open bound may lie on the other side of zero.
        is_case = is_case and not (value < 0 <= _exact_value(w, x, intercept))
        return Extreme(value, not (endless | is_open).any(), x if is_case else None)

    def _choose_categories(
        self, x: FloatArray, near: FloatArray, weights: FloatArray, box: Box
    ) -> BoolArray:
        """Set each group to its allowed category with the lowest weight; of equals, the nearest."""
        grouped = np.zeros(len(x), dtype=np.bool_)
        for group in self.groups:
            columns = np.array(group.columns)
            grouped[columns] = True
            allowed = columns[box.upper[columns] == 1.0]
            cheapest = allowed[weights[allowed] == weights[allowed].min()]
            x[columns] = 0.0
            x[cheapest[np.argmax(near[cheapest])]] = 1.0
        return grouped

    def _free_value(self, box: Box, j: int, value: float) -> float:
        """Return a possible value, near another one, of a column that has no weight."""
        if self.space.categories[j] is not None:
            return float(min(box.sets[j], key=lambda code: (code != value, code)))
        if self.space.integer[j]:
            return min(max(float(np.rint(value)), float(box.lower[j])), float(box.upper[j]))
        if value == box.lower[j] and not box.lower_closed[j]:
            return _beside(box, j, True, math.inf)
        if value == box.upper[j] and not box.upper_closed[j]:
            return _beside(box, j, False, math.inf)
        return value

    def is_inside(self, box: Box, halfspace: HalfSpace, *, seen: bool = False) -> bool:
        """Decide exactly whether all possible cases of a box lie in a half-space.

        Parameters
        ----------
        box : Box
            Over the same columns.
        halfspace : HalfSpace
            One side of a hyperplane over the same columns.
        seen : bool, default False
            Whether ranges that were only seen count as limits, too.

        Returns
        -------
        bool
            True also where no case of the box is possible.

        Examples
        --------
        >>> from clearmargin.rules.hyperplane import Hyperplane
        >>> domain = Domain(FeatureSpace(["red", "blue"]), groups={"colour": {"red": 0, "blue": 1}})
        >>> side = Hyperplane([1.0, 2.0], -0.5).side(1)
        >>> Box([0.0, 0.0], [1.0, 1.0]).is_inside(side), domain.is_inside(Box.unbounded(2), side)
        (False, True)
        """
        plane, sign = halfspace.hyperplane, halfspace.sign
        self._check_width(plane.n_features)
        lowest = self.minimum(plane.coef * sign, plane.intercept * sign, within=box, seen=seen)
        if lowest is None:
            return True
        is_on_plane = lowest.value == 0 and (halfspace.is_closed or not lowest.is_attained)
        return lowest.value > 0 or is_on_plane

    def name_values(
        self, point: ArrayLike, columns: Iterable[int] | None = None
    ) -> dict[str, float | str]:
        """Give the values of a case by name, those of 0/1 columns as the category of their feature.

        Parameters
        ----------
        point : array-like of shape (n,)
            A possible case.
        columns : iterable of int, optional
            The columns to name; all by default. A group is named where any of its columns is.

        Returns
        -------
        dict from str to float or str
            In the order of the columns.

        Examples
        --------
        >>> domain = Domain(FeatureSpace(["age", "a", "b"]), groups={"kind": {"x": "a", "y": "b"}})
        >>> domain.name_values([30.0, 0.0, 1.0], [1])
        {'kind': 'y'}
        """
        values = float_array(point, "the case", shape=(self.n_features,))
        named: dict[int, tuple[str, float | str]] = {
            j: (name, float(values[j]) if categories is None else categories[int(values[j])])
            for j, (name, categories) in enumerate(
                zip(self.space.names, self.space.categories, strict=True)
            )
        }
        for group in self.groups:
            category = group.categories[int(np.argmax(values[list(group.columns)]))]
            named |= dict.fromkeys(group.columns, (group.feature, category))
        chosen = range(self.n_features) if columns is None else sorted(set(columns))
        return dict(named[j] for j in chosen)

    def _limits(self, seen: bool) -> Box:
        """Give the ranges as a box: the declared ends, or all of them."""
        low, high = (
            (np.ones(self.n_features, dtype=np.bool_),) * 2
            if seen
            else (self.lower_declared, self.upper_declared)
        )
        sets = {
            j: range(len(categories))
            for j, categories in enumerate(self.space.categories)
            if categories is not None
        }
        free = np.array([j not in sets for j in range(self.n_features)], dtype=np.bool_)
        return Box(
            np.where(low & free, self.space.lower, -np.inf),
            np.where(high & free, self.space.upper, np.inf),
            sets=sets,
        )

    def _check_width(self, n_features: int) -> None:
        if n_features != self.n_features:
            raise InvalidValueError(
                f"the domain has {self.n_features} columns, not {n_features}; use the columns it was made for"
            )

    def __repr__(self) -> str:
        declared = int((self.lower_declared | self.upper_declared).sum())
        groups = "".join(f", {g.feature}: one of {len(g.columns)} columns" for g in self.groups)
        return f"Domain({self.n_features} columns, {declared} with a declared range{groups})"


def _exact_value(weights: FloatArray, point: FloatArray, intercept: float | Fraction) -> Fraction:
    return Fraction(intercept) + sum(
        Fraction(float(weights[j])) * Fraction(float(point[j])) for j in np.flatnonzero(weights)
    )


def _first_whole(low: FloatArray, closed: BoolArray) -> FloatArray:
    """Return the first whole number from each bound on."""
    first = np.where(closed, np.ceil(low), np.floor(low) + 1.0)
    # Where 1 is less than the distance of two floats, the next float is the next number there is.
    return np.asarray(np.where((first == low) & ~closed, np.nextafter(low, np.inf), first)) + 0.0


def _allowed(lower: FloatArray, upper: FloatArray) -> BoolArray:
    """Return which columns of a group may be the one that is 1: it may, and all others may be 0."""
    may_be_one, may_be_zero = (lower <= 1.0) & (upper >= 1.0), (lower <= 0.0) & (upper >= 0.0)
    others = may_be_zero.sum() - may_be_zero == len(lower) - 1
    return np.asarray(may_be_one & others)
