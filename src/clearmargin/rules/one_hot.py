"""A categorical feature as 0/1 columns, of which exactly one is 1."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.space import FeatureSpace, nearest_name
from clearmargin.rules.value import Value

__all__ = ["Groups", "OneHot", "check_members", "read_groups"]


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
