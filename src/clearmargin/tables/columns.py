"""The columns of a table, read as numbers or as codes of categories."""

from __future__ import annotations

import datetime as dt
import numbers
from collections.abc import Hashable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import DataError, DataTypeError
from clearmargin.rules.value import FloatArray

__all__ = [
    "Column",
    "case_table",
    "category_name",
    "column_keys",
    "name_row",
    "number_table",
    "table_array",
]

# numpy's letters for truth values, whole numbers and floats.
_NUMBERS = "biuf"


class Column:
    """One column of a table: its name, its values, and the categories it declares, if any.

    Parameters
    ----------
    name : str
        What the column is called, for messages.
    source : series or array-like of shape (m,)
        The values. Dates and things that are neither numbers nor texts are refused.

    Examples
    --------
    >>> column = Column("smoker", ["no", None, "yes", "no"])
    >>> column.is_numeric, column.categories
    (False, ('no', 'yes'))
    >>> column.codes(("no", "yes"))
    array([ 0., nan,  1.,  0.])
    """

    def __init__(self, name: str, source: Any):
        self.name = name
        self.declared = _declared_categories(source)
        self._labelled = source
        # pandas turns whole numbers that are categories into floats where one is missing.
        as_objects = self.declared is not None and hasattr(source, "astype")
        self.values = np.asarray(source.astype(object) if as_objects else source)
        if self.values.dtype.kind in "Mm":
            raise self._dates(str(self.values.dtype))
        if self.values.dtype.kind not in "biufUSO":
            raise DataError(f"column {name!r} holds {self.values.dtype} values, no numbers")
        if self.values.dtype == object:
            self._check_distinct()

    def _check_distinct(self) -> None:
        for value, row in self._first_rows.items():
            if isinstance(value, dt.date | dt.timedelta):
                raise self._dates(f"{self._row(row)}: {value}")
            if not isinstance(value, _PLAIN):
                raise self._neither(row, value)

    def _dates(self, what: str) -> DataError:
        return DataError(
            f"column {self.name!r} holds dates or times ({what}); turn them into numbers first, "
            "for example into days since a start, or leave the column out"
        )

    def _neither(self, row: int, value: object) -> DataTypeError:
        return DataTypeError(
            f"column {self.name!r}, {self._row(row)}: {value!r} is neither a number nor a text, and this argument must "
            "be a table of strings or numbers"
        )

    def _row(self, row: int) -> str:
        return name_row(row, self._labelled)

    @cached_property
    def _first_rows(self) -> dict[Hashable, int]:
        """The different values that are not missing, each with the row where it comes first."""
        first: dict[Hashable, int] = {}
        for row, value in enumerate(self.values.tolist()):
            try:
                first.setdefault(value, row)
            except TypeError:  # lists and arrays cannot be told apart by a dictionary
                raise self._neither(row, value) from None
        return {value: row for value, row in first.items() if not _is_missing(value)}

    @cached_property
    def _first_text(self) -> int | None:
        """The first row that holds a text."""
        if self.values.dtype.kind in "US":
            return 0 if len(self.values) else None
        if self.values.dtype != object:
            return None
        rows = (row for value, row in self._first_rows.items() if isinstance(value, str | bytes))
        return min(rows, default=None)

    @property
    def is_numeric(self) -> bool:
        """Whether the column measures something; a column of texts names things, even if they read "3"."""
        return self.declared is None and self._first_text is None

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories in the order in which they are declared, else those that occur, in alphabetical order."""
        if self.declared is not None:
            return self.declared
        return tuple(sorted({category_name(value) for value in self._first_rows}))

    def numbers(self) -> FloatArray:
        """The values as floats, NaN where missing, not copied if they are; a text is an error that says where it is."""
        if self._first_text is not None:
            row = self._first_text
            raise DataError(
                f"column {self.name!r}, {self._row(row)}: {self.values.item(row)!r} is not a number"
            )
        if self.values.dtype != object:
            return self.values.astype(np.float64, copy=False)
        known = (np.nan if _is_missing(value) else float(value) for value in self.values)
        return np.fromiter(known, dtype=np.float64, count=len(self.values))

    def read_as_numbers(self, key: object) -> FloatArray:
        """The values as floats, for an estimator that knows numbers alone: texts are taken where they are numerals.

        Parameters
        ----------
        key : object
            How the caller's table calls the column, for the message.

        Returns
        -------
        ndarray of shape (m,)
            NaN where a value is missing. Categories and texts are an error that says how to encode them.
        """
        row = self._first_word
        if row is None:
            as_they_are = self._first_text is None
            return (
                self.numbers()
                if as_they_are
                else self._looked_up({value: float(value) for value in self._first_rows})  # type: ignore[arg-type]
            )
        what = "texts" if self.declared is None else "categories"
        raise DataError(
            f"column {self.name!r} holds {what} ({self._row(row)}: {self.values.item(row)!r}), and this estimator "
            "takes numbers. Encode them before it in a pipeline, make_pipeline(make_column_transformer("
            f"(OneHotEncoder(), [{key!r}]), remainder='passthrough'), ...), or leave the column out"
        )

    @property
    def _first_word(self) -> int | None:
        """The first row that holds a text which is no numeral, or a category."""
        if self.declared is not None:
            return min(self._first_rows.values(), default=None)
        if self._first_text is None:
            return None
        words = (row for value, row in self._first_rows.items() if not _is_numeral(value))
        return min(words, default=None)

    def _looked_up(self, found: dict[Hashable, float]) -> FloatArray:
        values = (found.get(value, np.nan) for value in self.values.tolist())
        return np.fromiter(values, dtype=np.float64, count=len(self.values))

    def codes(self, kinds: tuple[str, ...]) -> FloatArray:
        """The position of each value among the categories: -1 if it is none of them, NaN where missing."""
        position = {kind: float(code) for code, kind in enumerate(kinds)}
        # Each distinct value is named once, however long the column is; the missing ones are not among them.
        code: dict[Hashable, float] = {
            v: position.get(category_name(v), -1.0) for v in self._first_rows
        }
        return self._looked_up(code)


def _declared_categories(source: Any) -> tuple[str, ...] | None:
    """The categories of a pandas.Categorical or a polars.Enum, in their order."""
    declared = getattr(getattr(source, "dtype", None), "categories", None)
    # A polars.Categorical has categories, too, but they stand in no order and cannot be counted.
    if declared is None or not hasattr(declared, "__len__"):
        return None
    return tuple(category_name(kind) for kind in declared)


def _is_numeral(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


# A Decimal is no numbers.Real, but float() reads it.
_PLAIN = (str, bytes, numbers.Real, np.bool_, Decimal)


def category_name(value: object) -> str:
    """The text that stands for a category; 3 and 3.0 are the same one.

    Examples
    --------
    >>> category_name(3.0), category_name("ex")
    ('3', 'ex')
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def column_keys(X: Any) -> dict[str, Hashable] | None:
    """Under the name of each column of a data frame as text, its key; None if X is not a data frame."""
    keys = getattr(X, "column_names", getattr(X, "columns", None))  # pyarrow has both
    if keys is None:
        return None
    found: dict[str, Hashable] = {}
    for key in keys:
        if str(key) in found:
            raise DataError(f"two columns of the table are called {str(key)!r}; rename one of them")
        found[str(key)] = key
    return found


def case_table(x: Any, names: Sequence[str] | None = None, *, many: str | None = None) -> Any:
    """Read one case, in whatever form it is written, as a table of one row.

    Parameters
    ----------
    x : data frame of one row, series or mapping with the names of features, or array-like of shape (n,) or (1, n)
        The case. With names, the order does not matter, and there may be more of them than needed.
    names : sequence of str, optional
        The features of the model, in the order of its table; the values of a series or a mapping are put in it.
    many : str, optional
        What takes several cases, for the message.

    Returns
    -------
    data frame or ndarray of shape (1, n)
        A data frame where the case has names.

    Examples
    --------
    >>> case_table({"smoker": "no", "age": 40}, ["age", "smoker"]).columns.tolist()
    ['age', 'smoker']
    >>> case_table([40.0, 1.0])
    array([[40.,  1.]])
    """
    if column_keys(x) is None:
        values = _named_values(x)
        if values is not None:
            return _row_frame(values if names is None else _chosen(values, names))
        # numpy turns numbers beside texts into texts.
        x = np.asarray(x, dtype=None if isinstance(x, np.ndarray) else _case_type(x))
        x = x[None] if x.ndim == 1 else x
    if len(x) != 1 or (isinstance(x, np.ndarray) and x.ndim != 2):
        hint = "" if many is None else f"; {many} takes several"
        raise DataError(
            f"one case is needed, such as X.iloc[0] or X[0], not an array or table of shape {np.shape(x)}{hint}"
        )
    return x


def _chosen(values: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    for name in names:
        if name not in values:
            raise DataError(
                f"the case has no value for {name!r}; it has {', '.join(values) or 'none'}"
            )
    return {name: values[name] for name in names}


def _named_values(x: Any) -> dict[str, Any] | None:
    """The values of a series or a mapping by the names of features; None where there are none."""
    # The keys of a series are its labels, but it runs over its values.
    labels = list(x.keys()) if hasattr(x, "keys") else []
    if not labels or not all(isinstance(label, str) for label in labels) or len(labels) != len(x):
        return None
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise DataError(f"the case has two values for {twice!r}; leave one of them out")
    return {label: x[label] for label in labels}


def _row_frame(values: dict[str, Any]) -> Any:
    for name, value in values.items():
        if np.ndim(value):
            raise DataError(f"the value of {name!r} must be a single one, not {value!r}")
    for library in ("pandas", "polars"):
        try:
            return import_module(library).DataFrame({name: [v] for name, v in values.items()})
        except ImportError:
            continue
    return table_array([list(values.values())])


def _case_type(x: Any) -> type | None:
    array = np.asarray(x)
    return object if array.dtype.kind in "US" else None


def name_row(row: int, source: Any = None) -> str:
    """Name a row in a message: counted from 1, with its label where the table has labels of its own.

    Parameters
    ----------
    row : int
        Its position, from 0.
    source : data frame, series or anything else, optional
        Where it stands.

    Returns
    -------
    str
        A few words.

    Examples
    --------
    >>> import pandas as pd
    >>> name_row(1), name_row(1, pd.DataFrame({"a": [1, 2]}, index=["ann", "bob"]))
    ('row 2', "row 2 (index 'bob')")
    """
    labels = getattr(source, "index", None)
    if labels is None or callable(labels):  # a list has a method of that name
        return f"row {row + 1}"
    label = labels[row]
    if isinstance(label, numbers.Integral) and int(label) == row:
        return f"row {row + 1}"
    shown = label.item() if isinstance(label, np.generic) else label
    return f"row {row + 1} (index {shown!r})"


def number_table(X: Any) -> Any:
    """Check that all columns of a table are numbers, for estimators that know nothing else.

    Parameters
    ----------
    X : data frame, array-like or sparse matrix of shape (m, n)
        The table.

    Returns
    -------
    data frame, array-like or sparse matrix
        X itself where its columns are stored as numbers, or where it is no table at all; else an array of floats, with
        NaN where a value is missing. A column of texts, categories, dates or other things is an error that names it.

    Examples
    --------
    >>> number_table(np.array([[1, "2.5"], [None, 3]], dtype=object))
    array([[1. , 2.5],
           [nan, 3. ]])
    """
    if hasattr(X, "tocsr"):
        return X
    keys = column_keys(X)
    if keys is not None:
        kinds = getattr(X, "dtypes", None)
        if kinds is not None and all(getattr(kind, "kind", "O") in _NUMBERS for kind in kinds):
            return X
        columns = [(key, Column(name, X[key])) for name, key in keys.items()]
    else:
        array = np.asarray(X)
        if array.ndim != 2 or array.dtype.kind not in "OUSMm":
            return X  # scikit-learn has the right words for what is no table
        if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
            array = np.asarray(X, dtype=object)
        columns = [(j, Column(f"x{j}", values)) for j, values in enumerate(array.T)]
    plain = all(c.values.dtype.kind in _NUMBERS and c.declared is None for _, c in columns)
    numbers = [column.read_as_numbers(key) for key, column in columns]
    return X if plain else np.stack(numbers, axis=1)


def table_array(X: Any) -> NDArray[Any]:
    """Read X as an array of two dimensions in which numbers beside texts stay numbers."""
    if hasattr(X, "tocsr"):
        raise DataError("X is a sparse matrix, and rules need tables; pass X.toarray()")
    array = np.asarray(X)
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
        array = np.asarray(X, dtype=object)
    if array.ndim != 2:
        raise DataError(
            f"X must be a table (two dimensions), not of shape {array.shape}; "
            "for a single row use [row]"
        )
    return array


def _is_missing(value: object) -> bool:
    # NaN and NaT are the values that differ from themselves; pandas.NA answers neither yes nor no.
    if value is None or type(value).__name__ == "NAType":
        return True
    return isinstance(value, numbers.Real | dt.date | dt.timedelta) and bool(
        value != value  # noqa: PLR0124
    )
