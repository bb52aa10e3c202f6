"""What can be: ranges of features, whole numbers, exactly one category of each categorical feature, and relations.

A proof, a worst case or a witness is about cases that can exist. A box alone holds others as well: a customer with
three purposes at once, 2.5 children, an age of 25 where the rule says ``age < 25``. A `Domain` holds the possible
cases, and finds the lowest and the highest value of a linear function over those of them that lie in a box. Columns are
independent of each other but for the groups of 0/1 columns, and groups of each other, so that both are closed forms;
they are evaluated in fractions (`Corner`). `OneHot` is a group: a categorical feature as 0/1 columns. Relations that
are declared (``diastolic <= systolic``) tie columns to each other; what they leave is found in `relations.py`, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.box import Box
from clearmargin.rules.hyperplane import HalfSpace
from clearmargin.rules.interval import round_down
from clearmargin.rules.polyhedron import Polyhedron
from clearmargin.rules.relations import TiedColumns, narrow
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

__all__ = ["Corner", "Domain", "Extreme", "Groups", "OneHot", "check_members", "read_groups"]


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
    """Read groups of 0/1 columns, given as they are or as mappings from category to column.

    Parameters
    ----------
    groups : iterable of OneHot, or mapping from feature to mapping from category to column
        A column is given by name or position.
    space : FeatureSpace
        The columns.

    Returns
    -------
    iterable of OneHot
        The groups.

    Examples
    --------
    >>> list(read_groups({"colour": {"red": "c1", "blue": "c2"}}, FeatureSpace(["c1", "c2"])))
    [OneHot(feature='colour', columns=(0, 1), categories=('red', 'blue'))]
    """
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
    """Raise if a column is in two groups, or cannot be one of 0 and 1.

    Parameters
    ----------
    members : sequence of int
        The columns of all groups.
    space : FeatureSpace
        The columns and their ranges.
    """
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
    multipliers : tuple of Fraction or None
        One for each relation of the domain, none negative, which prove the value: `Domain.proved_minimum` checks them.
        None without relations, where there is no lowest value, and where whole numbers needed several proofs.

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
    multipliers: tuple[Fraction, ...] | None = None


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
    intercept : float or Fraction
        Its constant term.
    """

    space: FeatureSpace
    groups: tuple[OneHot, ...]
    box: Box
    weights: FloatArray
    intercept: float | Fraction

    def lowest(self, near: FloatArray) -> Extreme:
        """Return the lowest value and a possible case there, whose columns without weight are near the given values."""
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
        """Give a number of few digits strictly inside an open bound, at most a step away from it where floats allow."""
        low, high = float(self.box.lower[j]), float(self.box.upper[j])
        end = low if above else high
        width = high - low if math.isfinite(high - low) else max(abs(end), 1.0)
        reach = min(_NEAR * width, step if step > 0 else math.inf)
        # Downwards is upwards of the negative.
        return _short_above(end, reach) if above else -_short_above(-end, reach)

    def _free_value(self, j: int, value: float) -> float:
        """Return a possible value of a column that has no weight."""
        box, categories = self.box, self.space.categories[j]
        if categories is not None:
            return float(min(box.sets[j], key=lambda code: (code != value, code)))
        if self.space.integer[j]:
            return min(max(float(np.rint(value)), float(box.lower[j])), float(box.upper[j]))
        if value == box.lower[j] and not box.lower_closed[j]:
            return self._beside(j, True, math.inf)
        if value == box.upper[j] and not box.upper_closed[j]:
            return self._beside(j, False, math.inf)
        return value

    def _go_far(self, x: FloatArray, endless: BoolArray) -> None:
        """Move the column without an end that has the largest weight until the value is below -1."""
        for j in np.flatnonzero(endless).tolist():
            x[j] = self._free_value(j, float(np.clip(0.0, self.box.lower[j], self.box.upper[j])))
        rest = float(self.intercept) + math.fsum((self.weights * x).tolist())
        far = int(np.argmax(np.where(endless, np.abs(self.weights), -1.0)))
        step = (abs(rest) + 1.0) / abs(float(self.weights[far])) + 1.0
        step = float(math.ceil(step)) if step < _ALL_WHOLE else step * 2.0
        x[far] += -step if self.weights[far] > 0 else step

    def _checked(self, x: FloatArray, value: Fraction | float) -> FloatArray | None:
        """Return the point, if it is in the box and on the same side of zero as the bound."""
        if not np.isfinite(x).all() or not self.box.contains(x[None])[0]:
            return None
        if value < 0 and _exact_value(self.weights, x, self.intercept) >= 0:
            return None
        return x


def _short_above(end: float, reach: float) -> float:
    """Return the number of fewest digits above a bound and at most so far from it."""
    for digits in range(1, _ALL_DIGITS + 1):
        found = round_down(end + reach, digits)
        if found > end:
            return found
    return math.nextafter(end, math.inf)  # neighbours, between which no digits fit


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Domain(Value):
    """The cases that can exist: ranges, whole numbers, exactly one category of each categorical feature, relations.

    Parameters
    ----------
    space : FeatureSpace
        The columns, with their ranges and which of them hold whole numbers. A column with categories holds their codes.
    lower_declared, upper_declared : array-like of bool of shape (n,) or bool, default False
        Which ends of the ranges somebody declared; the others were only seen in data, and a case beyond them can exist.
    groups : iterable of OneHot, or mapping from feature to mapping from category to column, default ()
        Columns of which exactly one is 1 and the others 0, as an encoder makes them or as they are declared. They are
        never guessed: two 0/1 columns may well be two independent facts. A column is given by name or position.
    relations : str, iterable of str or Polyhedron, optional
        What holds between the numbers of every case, in the rule language: ``"diastolic <= systolic"``,
        ``"0.5*age + bmi <= 90"``, ``"a + b + c = 100"``. Several are joined by *and*, or stand in several lines or
        texts. A relation is declared, and never guessed from data.

    Attributes
    ----------
    space : FeatureSpace
        The columns; those of groups are whole numbers from 0 to 1, which counts as declared.
    lower_declared, upper_declared : ndarray of bool of shape (n,)
        Which ends are declared; an infinite end is none.
    groups : tuple of OneHot
        The groups.
    relations : Polyhedron or None
        The relations as rows A x <= b.

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

    Two readings of blood pressure, of which one is never above the other. Nobody with a diastolic pressure of 90 has a
    systolic one below that:

    >>> pressure = FeatureSpace(["diastolic", "systolic"], [40, 60], [150, 250])
    >>> domain = Domain(pressure, True, True, relations="diastolic <= systolic")
    >>> domain.minimum([0, 1], within=Box([90, -np.inf], [np.inf, np.inf])).point
    array([90., 90.])
    """

    space: FeatureSpace
    lower_declared: BoolArray
    upper_declared: BoolArray
    groups: tuple[OneHot, ...]
    relations: Polyhedron | None

    def __init__(
        self,
        space: FeatureSpace,
        lower_declared: ArrayLike = False,
        upper_declared: ArrayLike = False,
        groups: Groups = (),
        relations: str | Iterable[str] | Polyhedron | None = None,
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
            relations=_read_relations(relations, space),
        )
        if self.relations is not None and self.minimum(np.zeros(len(space))) is None:
            raise InvalidValueError(
                f"no case satisfies the relations {self._relations_text()} within the declared ranges; correct one of "
                "them"
            )

    @classmethod
    def from_space(cls, space: FeatureSpace, *, declared: bool = True) -> Domain:
        """Take the ranges of a space, all of them declared or all of them only seen.

        Examples
        --------
        >>> Domain.from_space(FeatureSpace(["age"], [0.0], [120.0])).implies(Box([-1.0], [130.0]))
        True
        """
        return cls(space, declared, declared)

    @classmethod
    def from_data(cls, X: Any) -> Domain:
        """Take the ranges seen in a table, which declare nothing.

        Examples
        --------
        >>> domain = Domain.from_data([[20.0], [64.0]])
        >>> domain.implies(Box([18.0], [65.0])), domain.implies(Box([18.0], [65.0]), seen=True)
        (False, True)
        """
        return cls.from_space(FeatureSpace.from_data(X), declared=False)

    def with_relations(self, relations: str | Iterable[str] | Polyhedron | None) -> Domain:
        """Give the same domain with other relations.

        Examples
        --------
        >>> Domain(FeatureSpace(["a", "b"])).with_relations("a <= b")
        Domain(2 columns, 0 with a declared range, a - b <= 0)
        """
        return Domain(self.space, self.lower_declared, self.upper_declared, self.groups, relations)

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
            Empty where no case of the box is possible. With relations, ends are drawn in as far as each relation by
            itself tells, so that the box may be larger than the smallest one.

        Examples
        --------
        >>> domain = Domain(FeatureSpace(["size"], [1.0], [10.0], integer=True))
        >>> domain.tighten(Box([-np.inf], [2.5])), domain.tighten(Box([-np.inf], [2.5]), seen=True)
        (Box({0: [-inf, 2]}, n_features=1), Box({0: [1, 2]}, n_features=1))
        """
        tight = self._tighten_apart(box, seen)
        if self.relations is None or tight.is_empty:
            return tight
        return self.round_to_values(narrow(self.relations, tight, self.space.integer))

    def _tighten_apart(self, box: Box, seen: bool) -> Box:
        """Return the same by each column and group for itself, without relations."""
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
        tight = self.tighten(box, seen=seen)
        if self.relations is None or tight.is_empty:
            return not tight.is_empty
        return self.minimum(np.zeros(self.n_features), within=tight, seen=seen) is not None

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
        return inside if self.relations is None else inside & self.relations.contains(points)

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
        weights = float_array(coef, "the weights", shape=(self.n_features,))
        if any(
            weights[j]
            for j, categories in enumerate(self.space.categories)
            if categories is not None
        ):
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
        box = self._tighten_apart(asked, seen)
        if box.is_empty:
            return None
        places = float_array(near, "near", shape=(self.n_features,))
        if self.relations is not None:
            return self._tied_minimum(self.relations, box, weights, float(intercept), places)
        return Corner(self.space, self.groups, box, weights, float(intercept)).lowest(places)

    def _tied_minimum(
        self,
        relations: Polyhedron,
        box: Box,
        weights: FloatArray,
        intercept: float,
        near: FloatArray,
    ) -> Extreme | None:
        """Return the minimum over columns that relations tie, plus that over the others, which are independent."""
        columns = TiedColumns(relations, self.groups, self.space.integer, box)
        is_tied = np.zeros(self.n_features, dtype=np.bool_)
        is_tied[columns.columns] = True
        alone = np.where(is_tied, 0.0, weights)
        groups = tuple(g for g in self.groups if not is_tied[list(g.columns)].any())
        # What the others can make up for, where the tied columns have no lowest value.
        rest = Corner(self.space, groups, box, alone, intercept).lowest(near).value
        below = Fraction(-1) - abs(rest) if isinstance(rest, Fraction) else None
        tied = columns.minimum(weights, near, below)
        if tied is None:
            return None
        constant = Fraction(intercept)
        if tied.value != -math.inf:
            constant += Fraction(tied.value)
        other = Corner(self.space, groups, box, alone, constant).lowest(near)
        value = tied.value if tied.value == -math.inf else other.value
        point = None
        if other.point is not None and tied.point is not None:
            point = other.point.copy()
            point[columns.columns] = tied.point
            wrong = value < 0 and _exact_value(weights, point, intercept) >= 0
            point = None if wrong else point
        is_attained = tied.is_attained and other.is_attained
        return Extreme(value, is_attained, point, tied.multipliers)

    def proved_minimum(
        self,
        multipliers: Sequence[Fraction],
        coef: ArrayLike,
        intercept: float = 0.0,
        *,
        within: Box | None = None,
        seen: bool = False,
    ) -> Fraction | float:
        """Give the lower bound that multipliers of the relations prove, in exact arithmetic and closed form.

        A multiple of A x - b, which is not positive for any possible case, is added to the function, and the sum is
        minimised over ranges, whole numbers and categories alone.

        Parameters
        ----------
        multipliers : sequence of Fraction
            One for each relation, none negative.
        coef, intercept, within, seen
            As for `minimum`.

        Returns
        -------
        Fraction or float
            No possible case of the box has a lower value; -inf where the multipliers prove nothing, inf where the box
            holds no case.

        Examples
        --------
        >>> space = FeatureSpace(["diastolic", "systolic"])
        >>> domain = Domain(space, relations="diastolic <= systolic")
        >>> box = Box([90, -np.inf], [np.inf, np.inf])
        >>> domain.proved_minimum([Fraction(0)], [0, 1], within=box)
        -inf
        >>> domain.proved_minimum([Fraction(1)], [0, 1], within=box)
        Fraction(90, 1)
        """
        if any(factor < 0 for factor in multipliers):
            raise InvalidValueError("multipliers of relations must not be negative")
        weights = [Fraction(float(w)) for w in np.asarray(coef, dtype=np.float64)]
        total = Fraction(float(intercept))
        if self.relations is not None:
            for factor, row, limit in zip(
                multipliers, self.relations.A, self.relations.b, strict=True
            ):
                total -= factor * Fraction(float(limit))
                for j in np.flatnonzero(row).tolist():
                    weights[j] += factor * Fraction(float(row[j]))
        asked = Box.unbounded(self.n_features) if within is None else within
        box = self._tighten_apart(asked, seen)
        if box.is_empty:
            return math.inf
        grouped = {j for group in self.groups for j in group.columns}
        for group in self.groups:
            total += min(weights[j] for j in group.columns if box.upper[j] == 1.0)
        for j, weight in enumerate(weights):
            if weight and j not in grouped:
                end = float(box.lower[j] if weight > 0 else box.upper[j])
                if math.isinf(end):
                    return -math.inf
                total += weight * Fraction(end)
        return total

    def maximum(
        self,
        coef: ArrayLike,
        intercept: float = 0.0,
        *,
        within: Box | None = None,
        seen: bool = False,
        near: ArrayLike = 0.0,
    ) -> Extreme | None:
        """Find the highest value of coef.x + intercept over the possible cases of a box, exactly.

        Parameters
        ----------
        coef, intercept, within, seen, near
            As for `minimum`.

        Returns
        -------
        Extreme or None
            None where no case is possible.

        Examples
        --------
        >>> Domain(FeatureSpace(["x"], integer=True)).maximum([2.0], within=Box([0.0], [3.5])).value
        Fraction(6, 1)
        """
        weights = -float_array(coef, "the weights", shape=(self.n_features,))
        found = self.minimum(weights, -float(intercept), within=within, seen=seen, near=near)
        if found is None:
            return None
        return Extreme(-found.value, found.is_attained, found.point, found.multipliers)

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

    def implies(self, region: Box | Polyhedron, *, seen: bool = False) -> bool:
        """Decide exactly whether every possible case lies in a region, so that asking for it says nothing.

        Parameters
        ----------
        region : Box or Polyhedron
            Over the same columns.
        seen : bool, default False
            Whether ranges that were only seen count as limits, too: then it is about the cases that were seen.

        Returns
        -------
        bool
            Whether the region holds all possible cases.

        Examples
        --------
        >>> domain = Domain(FeatureSpace(["credits"], [1.0], [4.0], integer=True), lower_declared=True)
        >>> domain.implies(Box([0.5], [np.inf])), domain.implies(Box([-np.inf], [4.0]))
        (True, False)
        """
        if (
            region.missing or region.known
        ):  # whether values are missing is nothing that ranges could tell
            return False
        for feature, codes in region.sets.allowed:
            categories = self.space.categories[feature]
            if categories is None or not set(range(len(categories))) <= set(codes):
                return False
        if isinstance(region, Box):
            lower, upper = self._implied_sides(region, self.box(seen=seen), seen=seen)
            return bool((lower & upper).all())
        for row, limit, strict in zip(region.A, region.b, region.strict, strict=True):
            highest = self.maximum(row, seen=seen)
            if highest is None:
                return True
            is_short = highest.value < limit or not (strict and highest.is_attained)
            if highest.value > limit or not is_short:
                return False
        return True

    def without_implied(self, box: Box, *, seen: bool = False) -> Box:
        """Drop the bounds of a box, and its sets of categories, that every possible case satisfies.

        Parameters
        ----------
        box : Box
            Over the same columns.
        seen : bool, default False
            Whether ranges that were only seen count as limits, too.

        Returns
        -------
        Box
            The same possible cases, in fewer conditions. A bound that is dropped no longer turns away rows in which the
            value is missing; such rows are no cases of the domain.

        Examples
        --------
        >>> domain = Domain(FeatureSpace(["credits"], [1.0], [4.0], integer=True), lower_declared=True)
        >>> domain.without_implied(Box([1.0], [4.0]))
        Box({0: [-inf, 4]}, n_features=1)
        """
        lower, upper = self._implied_sides(box, self.box(seen=seen), seen=seen)
        categories = self.space.categories
        kept = {
            feature: codes
            for feature, codes in box.sets.allowed
            if not set(range(len(categories[feature] or ()))) <= set(codes)
            or categories[feature] is None
        }
        return Box(
            np.where(lower, -np.inf, box.lower),
            np.where(upper, np.inf, box.upper),
            box.lower_closed,
            box.upper_closed,
            kept,
            box.missing,
            box.known,
        )

    def rows(self, *, seen: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return the domain as rows A x <= b of a linear program: ranges, a sum of 1 for each group, and relations.

        Parameters
        ----------
        seen : bool, default False
            Whether ranges that were only seen count as limits, too.

        Returns
        -------
        A : ndarray of shape (k, n)
            Left-hand sides.
        b : ndarray of shape (k,)
            Right-hand sides. With ``space.integer`` they describe the possible cases, without it their convex hull.

        Examples
        --------
        >>> Domain(FeatureSpace(["a", "b"]), groups={"c": {"a": 0, "b": 1}}).rows()[1]
        array([ 0.,  0.,  1.,  1.,  1., -1.])
        """
        limits = self._limits(seen)
        eye = np.eye(self.n_features)
        low, high = np.isfinite(limits.lower), np.isfinite(limits.upper)
        A, b = [-eye[low], eye[high]], [0.0 - limits.lower[low], limits.upper[high]]
        for group in self.groups:
            one = np.zeros((1, self.n_features))
            one[0, list(group.columns)] = 1.0
            A += [one, -one]
            b += [np.ones(1), -np.ones(1)]
        if self.relations is not None:
            A.append(self.relations.A)
            b.append(self.relations.b)
        return np.concatenate(A), np.concatenate(b)

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

    def _implied_sides(self, box: Box, possible: Box, *, seen: bool) -> tuple[BoolArray, BoolArray]:
        """Return for each column whether all possible cases satisfy the lower bound of a box, and the upper one."""
        self._check_width(box.n_features)
        if possible.is_empty:
            return (np.ones(self.n_features, dtype=np.bool_),) * 2
        lower = (box.lower < possible.lower) | (
            (box.lower == possible.lower) & (box.lower_closed | ~possible.lower_closed)
        )
        upper = (box.upper > possible.upper) | (
            (box.upper == possible.upper) & (box.upper_closed | ~possible.upper_closed)
        )
        if self.relations is not None:
            for j in np.flatnonzero(self.relations.A.any(axis=0)).tolist():
                lower[j] = lower[j] or self._implies_bound(box, j, 1.0, seen=seen)
                upper[j] = upper[j] or self._implies_bound(box, j, -1.0, seen=seen)
        return lower, upper

    def _implies_bound(self, box: Box, j: int, sign: float, *, seen: bool) -> bool:
        """Check whether all relations together imply one bound of a box: the lower (sign 1) or the upper one (-1)."""
        unit = np.zeros(self.n_features)
        unit[j] = sign
        lowest = self.minimum(unit, seen=seen)
        if lowest is None:
            return True
        end, is_closed = (
            (box.lower[j], box.lower_closed[j])
            if sign > 0
            else (-box.upper[j], box.upper_closed[j])
        )
        is_at_end = lowest.value == end and (is_closed or not lowest.is_attained)
        return bool(lowest.value > end or is_at_end)

    def _check_width(self, n_features: int) -> None:
        if n_features != self.n_features:
            raise InvalidValueError(
                f"the domain has {self.n_features} columns, not {n_features}; use the columns it was made for"
            )

    def __repr__(self) -> str:
        declared = int((self.lower_declared | self.upper_declared).sum())
        groups = "".join(f", {g.feature}: one of {len(g.columns)} columns" for g in self.groups)
        relations = "" if self.relations is None else f", {self._relations_text()}"
        return f"Domain({self.n_features} columns, {declared} with a declared range{groups}{relations})"

    def _relations_text(self) -> str:
        from clearmargin.language.printer import Phrases

        assert self.relations is not None
        return " and ".join(Phrases(self.space).conditions(self.relations))


def _read_relations(
    relations: str | Iterable[str] | Polyhedron | None, space: FeatureSpace
) -> Polyhedron | None:
    """Read relations, from text or rows; None where there are none."""
    if relations is None:
        return None
    if not isinstance(relations, Polyhedron):
        from clearmargin.language import parse_relations

        found: Polyhedron | None = parse_relations(relations, space)
        return found
    if relations.n_features != len(space):
        raise InvalidValueError(
            f"the relations are over {relations.n_features} columns, and the domain has {len(space)}"
        )
    if relations.sets or relations.missing or relations.known:
        raise InvalidValueError(
            "relations compare numbers; they have no categories and ask for no missing values"
        )
    coded = [
        j
        for j in np.flatnonzero(relations.A.any(axis=0)).tolist()
        if space.categories[j] is not None
    ]
    if coded:
        raise InvalidValueError(
            f"{space.names[coded[0]]!r} has categories; a relation compares numbers"
        )
    return relations if len(relations.b) else None


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
