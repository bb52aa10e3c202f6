"""Categorical features that the data have as 0/1 columns, as the user declares them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.advice.reading import one_hot_columns
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rules import FeatureSpace, OneHot
from clearmargin.rules.domain import check_members
from clearmargin.rules.domain import read_groups as read_mapping
from clearmargin.rules.space import nearest_name

__all__ = ["check_groups", "read_groups"]

BoolArray = NDArray[np.bool_]


def read_groups(
    groups: Any, names: Sequence[str], binary: BoolArray | None = None
) -> tuple[OneHot, ...]:
    """Read the parameter `groups`: which columns are the categories of one feature.

    Parameters
    ----------
    groups : iterable of str, mapping from feature to mapping from category to column, or None
        Names of features whose columns are called ``feature_category``; or the columns, by name or position.
    names : sequence of str
        The columns.
    binary : ndarray of bool of shape (n,), optional
        Which columns hold nothing but 0 and 1; a name stands for those alone.

    Returns
    -------
    tuple of OneHot
        The groups; none where nothing is declared. They are never guessed from the values of columns.

    Examples
    --------
    >>> read_groups(["colour"], ["age", "colour_red", "colour_blue"])
    (OneHot(feature='colour', columns=(1, 2), categories=('red', 'blue')),)
    """
    if groups is None:
        return ()
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise InvalidValueError(
            f"groups must be names of features, or a mapping from feature to its columns, not {groups!r}"
        )
    space = FeatureSpace(names)
    if isinstance(groups, Mapping):
        found = tuple(read_mapping(groups, space))
    else:
        found = tuple(_named(feature, names, binary) for feature in groups)
    check_members([j for group in found for j in group.columns], space)
    return found


def _named(feature: Any, names: Sequence[str], binary: BoolArray | None) -> OneHot:
    columns = one_hot_columns(feature, names) if isinstance(feature, str) else {}
    columns = {kind: j for kind, j in columns.items() if binary is None or binary[j]}
    if not columns:
        raise DataError(
            f"groups names {feature!r}, and the data have no 0/1 columns '{feature}_...'"
            f"{nearest_name(str(feature), names)}"
        )
    return OneHot(feature, columns.values(), columns)


def check_groups(groups: Sequence[OneHot], points: NDArray[np.float64]) -> None:
    """Raise if some row has not exactly one category of a declared feature.

    Parameters
    ----------
    groups : sequence of OneHot
        The groups.
    points : ndarray of shape (m, n)
        The rows.

    Examples
    --------
    >>> check_groups([OneHot("colour", [0, 1], ["red", "blue"])], np.array([[0.0, 1.0]]))
    """
    for group in groups:
        values = points[:, list(group.columns)]
        ones, zeros = (values == 1.0).sum(axis=1), (values == 0.0).sum(axis=1)
        wrong = np.flatnonzero((ones != 1) | (zeros != len(group.columns) - 1))
        if len(wrong):
            row = int(wrong[0])
            raise DataError(
                f"exactly one column of {group.feature!r} must be 1 and the others 0, and row {row + 1} has "
                f"{values[row].tolist()}; encode every category (OneHotEncoder without drop), or leave "
                f"{group.feature!r} out of groups"
            )
