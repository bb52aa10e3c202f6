"""What each column of a table is: its name, range, unit, and whether it counts or is categorical."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rules.value import (
    BoolArray,
    FloatArray,
    Value,
    as_points,
    bool_array,
    float_array,
    holds_numbers,
    number,
)

Categories = tuple[str, ...] | None
PerFeature = Mapping[str, Any] | Sequence[Any] | None

# Rows of a table looked at together, as many as stay in cache.
_BLOCK = 16_384


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class FeatureSpace(Value):
    """The features that rules speak about.

    Parameters
    ----------
    names : iterable of str
        Names of the features, all different.
    lower, upper : array-like of shape (n,), optional
        The range in which each feature lives; unbounded by default.
    integer : array-like of bool of shape (n,) or bool, default False
        Whether a feature takes whole numbers only.
    categories : mapping from name, or sequence of length n, optional
        The categories of a categorical feature; None for the others.
    units : mapping from name, or sequence of length n, optional
        The unit of each feature, for people.
    fill : mapping from name, or sequence of length n, optional
        The value that a missing one counts as: a number, or a category of a feature that has categories. Where there
        is none, what is missing stays missing. A pipeline that imputes fixed values has its rules over such a space.

    Examples
    --------
    >>> space = FeatureSpace(["age", "smoker"], categories={"smoker": ["no", "ex", "yes"]}, units={"age": "years"})
    >>> space.index("smoker"), space.categories[1]
    (1, ('no', 'ex', 'yes'))
    >>> space.read([[40, 2]])
    array([[40.,  2.]])
    >>> FeatureSpace(["age"], fill={"age": 35}).read([[np.nan]])
    array([[35.]])
    """

    names: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    categories: tuple[Categories, ...]
    units: tuple[str | None, ...]
    fill: tuple[float | str | None, ...]

    def __init__(
        self,
        names: Iterable[str],
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        integer: ArrayLike = False,
        categories: PerFeature = None,
        units: PerFeature = None,
        fill: PerFeature = None,
    ):
        labels = _check_names(names)
        shape = (len(labels),)
        low = float_array(-np.inf if lower is None else lower, "lower", shape=shape)
        high = float_array(np.inf if upper is None else upper, "upper", shape=shape)
        wrong = np.flatnonzero((low > high) | np.isposinf(low) | np.isneginf(high))
        if len(wrong):
            j = wrong[0]
            raise InvalidValueError(
                f"feature {labels[j]!r} has no range: from {low[j]} to {high[j]}"
            )
        checked = tuple(
            None if values is None else _check_categories(name, values)
            for name, values in zip(labels, _spread(categories, labels, "categories"), strict=True)
        )
        self._set(
            names=labels,
            lower=low,
            upper=high,
            integer=bool_array(integer, "integer", shape=shape),
            categories=checked,
            units=tuple(
                None if unit in (None, "") else str(unit)
                for unit in _spread(units, labels, "units")
            ),
            fill=tuple(map(_check_fill, labels, checked, _spread(fill, labels, "fill"))),
        )

    @classmethod
    def from_data(cls, X: Any, *, units: PerFeature = None) -> FeatureSpace:
        """Guess the space from a table: range, whole numbers, categories; names of a data frame are kept.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The table. Columns that hold no numbers become categories in their own order if they have one,
            else in alphabetical order. Missing values are passed over.
        units : mapping or sequence, optional
            Units of the features, which no table knows.

        Returns
        -------
        FeatureSpace
            Columns of an array are called x0, x1, ...

        Examples
        --------
        >>> FeatureSpace.from_data([[1, 0.5], [3, 2.5]])
        FeatureSpace(x0: integer in [1, 3], x1: in [0.5, 2.5])
        """
        from clearmargin.tables.table import Table

        return Table.read(X).space(units)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Find the position of a feature; an unknown name is an error that suggests the nearest one."""
        try:
            return self.names.index(name)
        except ValueError:
            hint = nearest_name(name, self.names)
            raise DataError(f"unknown feature {name!r}{hint}") from None

    def read(self, X: Any) -> FloatArray:
        """Read a table as numbers: columns by name from a data frame, by position from an array.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            A data frame may have its columns in any order and more of them than needed; its categories
            become codes (-1 for a category that the space does not know, NaN where missing). In an array of
            numbers a categorical column already holds codes; in an array with texts it holds names.

        Returns
        -------
        ndarray of shape (m, n)
            One row a point. Missing values are NaN, or `fill` where there is one.
        """
        return self.filled(self._read(X))

    def _read(self, X: Any) -> FloatArray:
        if isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and X.ndim == 2:
            return as_points(X, self.n_features)
        from clearmargin.tables.table import Table

        table = Table.read(X)
        array = table.array
        if array is not None:
            # Objects are looked at one by one: pandas.NA is a missing value, and numpy does not know it.
            is_plain = array.dtype != object and holds_numbers(array)
            if is_plain or array.shape[1] != self.n_features:
                return as_points(array, self.n_features)
            if self.n_features and holds_numbers(array):  # also codes of categories
                return np.stack([column.numbers() for column in table.all_columns()], axis=1)
        return table.points(self)

    def filled(self, table: FloatArray) -> FloatArray:
        """Put the value that a missing one counts as in its place, in a table of numbers and codes.

        Parameters
        ----------
        table : ndarray of shape (m, n)
            Numbers and codes of categories, NaN where a value is missing.

        Returns
        -------
        ndarray of shape (m, n)
            The same array where nothing is to be filled, else a copy.
        """
        whole = table
        for j, value in enumerate(self.fill):
            if value is None:
                continue
            holes = np.isnan(table[:, j])
            if holes.any():
                whole = table.copy() if whole is table else whole
                whole[holes, j] = self.fill_code(j)
        return whole

    def fill_code(self, j: int) -> float | None:
        """Return the number, or the code of the category, that a missing value of a feature counts as."""
        value, categories = self.fill[j], self.categories[j]
        if value is None or categories is None:
            return None if value is None else float(value)
        return float(categories.index(str(value)))

    def with_fill(self, fill: PerFeature) -> FeatureSpace:
        """Give the same features with other values that missing ones count as.

        Parameters
        ----------
        fill : mapping from name, or sequence of length n
            The values; None where what is missing stays missing.

        Returns
        -------
        FeatureSpace
            Where a range would not hold its value it is made wider, and features whose value is broken are not whole.

        Examples
        --------
        >>> FeatureSpace(["age"], [0], [9], True).with_fill({"age": 9.5})
        FeatureSpace(age: in [0, 9.5], 9.5 where missing)
        """
        values = [
            None if value is None or categories is not None else number(value, f"fill of {name!r}")
            for name, categories, value in zip(
                self.names, self.categories, _spread(fill, self.names, "fill"), strict=True
            )
        ]
        low, high, whole = self.lower.copy(), self.upper.copy(), self.integer.copy()
        for j, value in enumerate(values):
            if value is not None:
                low[j], high[j] = min(low[j], value), max(high[j], value)
                whole[j] &= value.is_integer()
        return FeatureSpace(self.names, low, high, whole, self.categories, self.units, fill)

    def __repr__(self) -> str:
        shown = [self._describe(j) for j in range(min(len(self), 8))]
        more = [f"... {len(self) - 8} more"] if len(self) > 8 else []
        return f"FeatureSpace({', '.join(shown + more)})"

    def _describe(self, j: int) -> str:
        words = [f"{self.names[j]}:"]
        if (categories := self.categories[j]) is not None:
            words.append(f"one of {len(categories)} categories")
        else:
            words += ["integer"] if self.integer[j] else []
            words.append(f"in [{self.lower[j]:g}, {self.upper[j]:g}]")
        if (unit := self.units[j]) is not None:
            words.append(unit)
        if (value := self.fill[j]) is not None:
            shown = value if isinstance(value, str) else f"{value:g}"
            words[-1] += f", {shown} where missing"
        return " ".join(words)


def seen_ranges(columns: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return the range of the known values of each column of a table, and whether all of them are whole numbers."""
    m = len(columns[0]) if columns else 0
    lowest, highest = np.empty((2, len(columns), -(-m // _BLOCK)))
    # The columns of an array share lines of memory: in blocks these are fetched once for all columns.
    for k in range(lowest.shape[1]):
        for j, column in enumerate(columns):
            block = np.ascontiguousarray(column[k * _BLOCK : (k + 1) * _BLOCK])
            lowest[j, k], highest[j, k] = block.min(), block.max()
    low, high = lowest.min(axis=1, initial=np.inf), highest.max(axis=1, initial=-np.inf)
    integer = np.zeros(len(columns), dtype=np.bool_)
    for j, column in enumerate(columns):
        known = column
        if not (np.isfinite(low[j]) and np.isfinite(high[j])):
            known = column[np.isfinite(column)]
            low[j] = known.min() if len(known) else -np.inf
            high[j] = known.max() if len(known) else np.inf
        integer[j] = _is_whole(known)
    return low, high, integer


def _is_whole(values: FloatArray) -> bool:
    # Most columns show in their first values that they are not whole.
    first = values[:256]
    whole = (first == np.floor(first)).all() and (values == np.floor(values)).all()
    return bool(whole and len(values))


def category_name(value: object) -> str:
    """Return the text that stands for a category; 3 and 3.0 are the same one."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def closest_name(name: str, known: Iterable[str]) -> str | None:
    """Find the known name that is spelled most like a name; None where none is like it."""
    lowered: dict[str, str] = {}
    for k in known:
        lowered.setdefault(k.lower(), k)
    close = difflib.get_close_matches(name.lower(), lowered, n=1)
    return lowered[close[0]] if close else None


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Suggest the nearest known name, as the tail of an error message."""
    names = [str(k) for k in known]
    close = closest_name(name, names)
    if close is not None:
        return f"; did you mean {close!r}?"
    if not names:
        return ""
    listed = ", ".join(repr(k) for k in names[:8]) + (", ..." if len(names) > 8 else "")
    return f"; known are {listed}"


def _check_names(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise InvalidValueError(f"names must be a list of names, not the single text {names!r}")
    labels = tuple(names)
    for j, name in enumerate(labels):
        if not isinstance(name, str) or not name:
            raise InvalidValueError(
                f"the name of feature {j + 1} must be a non-empty text, not {name!r}"
            )
    if len(set(labels)) < len(labels):
        twice = next(name for name in labels if labels.count(name) > 1)
        raise InvalidValueError(f"two features are called {twice!r}; names must differ")
    return labels


def _check_categories(name: str, values: Iterable[Any]) -> tuple[str, ...]:
    categories = tuple(category_name(value) for value in values)
    if not categories or len(set(categories)) < len(categories):
        raise InvalidValueError(
            f"the categories of {name!r} must be some, and all different: {categories}"
        )
    return categories


def _check_fill(name: str, categories: Categories, value: Any) -> float | str | None:
    """Return what a missing value of a feature counts as, if it can."""
    if value is None:
        return None
    if categories is None:
        filled = number(value, f"the value that a missing {name!r} counts as")
        if np.isinf(filled):
            raise InvalidValueError(f"a missing {name!r} cannot count as {filled}")
        return filled
    category = category_name(value)
    if category not in categories:
        raise InvalidValueError(
            f"a missing {name!r} counts as {category!r}, which is none of its categories"
            f"{nearest_name(category, categories)}"
        )
    return category


def _spread(given: PerFeature, names: tuple[str, ...], what: str) -> list[Any]:
    """Give one entry a feature, from a mapping by name or a sequence."""
    if given is None:
        return [None] * len(names)
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise InvalidValueError(
                    f"{what} for unknown feature {name!r}{nearest_name(name, names)}"
                )
        return [given.get(name) for name in names]
    if len(given) != len(names):
        raise InvalidValueError(f"{what} has {len(given)} entries for {len(names)} features")
    return list(given)
