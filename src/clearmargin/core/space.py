"""What each column of a table is: its name, range, unit, and whether it counts or names things."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.core.points import as_points
from clearmargin.core.value import BoolArray, FloatArray, Value, bool_array, float_array
from clearmargin.exceptions import DataError, InvalidValueError

__all__ = ["FeatureSpace", "nearest_name"]

Categories = tuple[str, ...] | None
PerFeature = Mapping[str, Any] | Sequence[Any] | None


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
        The categories of a feature that names things instead of measuring them; None for the others.
    units : mapping from name, or sequence of length n, optional
        The unit of each feature, for people.

    Examples
    --------
    >>> space = FeatureSpace(["age", "smoker"], categories={"smoker": ["no", "ex", "yes"]}, units={"age": "years"})
    >>> space.index("smoker"), space.categories[1]
    (1, ('no', 'ex', 'yes'))
    >>> space.read([[40, 2]])
    array([[40.,  2.]])
    """

    names: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    categories: tuple[Categories, ...]
    units: tuple[str | None, ...]

    def __init__(
        self,
        names: Iterable[str],
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        integer: ArrayLike = False,
        categories: PerFeature = None,
        units: PerFeature = None,
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
        kinds = tuple(
            None if values is None else _check_categories(name, values)
            for name, values in zip(labels, _spread(categories, labels, "categories"), strict=True)
        )
        self._set(
            names=labels,
            lower=low,
            upper=high,
            integer=bool_array(integer, "integer", shape=shape),
            categories=kinds,
            units=tuple(
                None if unit is None else str(unit) for unit in _spread(units, labels, "units")
            ),
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
        names, columns = _columns(X)
        n = len(names)
        low, high = np.full(n, -np.inf), np.full(n, np.inf)
        integer = np.zeros(n, dtype=np.bool_)
        categories: list[Categories] = [None] * n
        for j, column in enumerate(columns):
            values = _numbers(column)
            if values is None:
                categories[j] = _found_categories(column)
                continue
            known = values[np.isfinite(values)]
            if len(known):
                low[j], high[j] = known.min(), known.max()
                integer[j] = bool((known == np.floor(known)).all())
        return cls(names, low, high, integer, categories, units)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Position of a feature; an unknown name is an error that suggests the nearest one."""
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
            become codes (-1 for a category that the space does not know, NaN where missing). In an array a
            categorical column already holds codes.

        Returns
        -------
        ndarray of shape (m, n)
            One row a point.
        """
        if not hasattr(X, "columns"):
            return as_points(X, self.n_features)
        present = {str(name): name for name in X.columns}
        for name in self.names:
            if name not in present:
                hint = nearest_name(name, present)
                raise DataError(f"the table has no column {name!r}{hint}")
        columns = [
            self._read_column(j, np.asarray(X[present[name]])) for j, name in enumerate(self.names)
        ]
        return np.stack(columns, axis=1) if columns else np.empty((len(X), 0))

    def _read_column(self, j: int, column: np.ndarray[Any, Any]) -> FloatArray:
        kinds = self.categories[j]
        if kinds is not None:
            return _codes(column, kinds)
        values = _numbers(column)
        if values is None:
            row, value = _first_non_number(column)
            raise DataError(f"column {self.names[j]!r}, row {row}: {value!r} is not a number")
        return values

    def __repr__(self) -> str:
        shown = [self._describe(j) for j in range(min(len(self), 8))]
        more = [f"... {len(self) - 8} more"] if len(self) > 8 else []
        return f"FeatureSpace({', '.join(shown + more)})"

    def _describe(self, j: int) -> str:
        words = [f"{self.names[j]}:"]
        if (kinds := self.categories[j]) is not None:
            words.append(f"one of {len(kinds)} categories")
        else:
            words += ["integer"] if self.integer[j] else []
            words.append(f"in [{self.lower[j]:g}, {self.upper[j]:g}]")
        if (unit := self.units[j]) is not None:
            words.append(unit)
        return " ".join(words)


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Suggest the nearest known name, as the tail of an error message.

    Examples
    --------
    >>> nearest_name("glucos", ["age", "glucose"])
    "; did you mean 'glucose'?"
    """
    names = [str(k) for k in known]
    lowered: dict[str, str] = {}
    for k in names:
        lowered.setdefault(k.lower(), k)
    close = difflib.get_close_matches(name.lower(), lowered, n=1)
    if close:
        return f"; did you mean {lowered[close[0]]!r}?"
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
                f"the name of feature {j} must be a non-empty text, not {name!r}"
            )
    if len(set(labels)) < len(labels):
        twice = next(name for name in labels if labels.count(name) > 1)
        raise InvalidValueError(f"two features are called {twice!r}; names must differ")
    return labels


def _check_categories(name: str, values: Iterable[Any]) -> tuple[str, ...]:
    kinds = tuple(str(value) for value in values)
    if not kinds or len(set(kinds)) < len(kinds):
        raise InvalidValueError(
            f"the categories of {name!r} must be some, and all different: {kinds}"
        )
    return kinds


def _spread(given: PerFeature, names: tuple[str, ...], what: str) -> list[Any]:
    """One entry a feature, from a mapping by name or a sequence."""
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


def _columns(X: Any) -> tuple[list[str], list[Any]]:
    if hasattr(X, "columns"):
        names = [str(name) for name in X.columns]
        return names, [X[name] for name in X.columns]
    array = np.asarray(X)
    if array.ndim != 2:
        raise DataError(f"X must be a table (two dimensions), not of shape {array.shape}")
    return [f"x{j}" for j in range(array.shape[1])], list(array.T)


def _numbers(column: Any) -> FloatArray | None:
    """The column as floats, or None when it does not hold numbers."""
    values = np.asarray(column)
    if values.dtype.kind in "USMm" or (values.dtype == object and _has_text(values)):
        return None
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _has_text(values: np.ndarray[Any, Any]) -> bool:
    # "3" converts to 3.0, yet a column of texts names things and does not measure them.
    return any(isinstance(value, str) for value in values)


def _found_categories(column: Any) -> tuple[str, ...]:
    declared = getattr(getattr(column, "cat", None), "categories", None)
    if declared is not None and not callable(declared):
        return tuple(str(value) for value in declared)
    values = np.asarray(column, dtype=object)
    return tuple(sorted({str(value) for value in values if not _is_missing(value)})) or ("?",)


def _is_missing(value: object) -> bool:
    # NaN and NaT are the values that differ from themselves; pandas.NA answers neither yes nor no.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)  # noqa: PLR0124


def _codes(column: np.ndarray[Any, Any], kinds: tuple[str, ...]) -> FloatArray:
    position = {kind: float(code) for code, kind in enumerate(kinds)}
    # Each distinct value is looked up once, however long the column is.
    distinct, inverse = _unique(column)
    table: FloatArray = np.array(
        [np.nan if _is_missing(v) else position.get(str(v), -1.0) for v in distinct],
        dtype=np.float64,
    )
    codes: FloatArray = table[inverse]
    return codes


def _unique(column: np.ndarray[Any, Any]) -> tuple[list[object], np.ndarray[Any, Any]]:
    seen: dict[object, int] = {}
    inverse = np.fromiter(
        (seen.setdefault(_key(v), len(seen)) for v in column.tolist()),
        dtype=np.intp,
        count=len(column),
    )
    return list(seen), inverse


def _key(value: object) -> object:
    return None if _is_missing(value) else value


def _first_non_number(column: np.ndarray[Any, Any]) -> tuple[int, object]:
    for row, value in enumerate(column.tolist()):
        try:
            float(value)
        except (TypeError, ValueError):
            return row, value
    return 0, column.tolist()[0]
