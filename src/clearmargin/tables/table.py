"""The user's table, read once: its columns as numbers or categories, its missing values, its rows by name.

`Table.read` takes what people hold in memory (a data frame of pandas, polars or pyarrow, an array, a list of rows, a
dict of columns) and keeps it beside what was read: a model gets the table as it was given, everybody else asks the
`Table`. `Table.of_columns` takes the columns of a file. A column is looked at when it is first asked for, and never
again. Missing values (None, NaN, NaT, pandas.NA,
nulls) are NaN in numbers and in codes of categories alike; a category that is not known has the code -1.
"""

from __future__ import annotations

import datetime as dt
import numbers
import warnings
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import (
    ClearmarginWarning,
    DataError,
    DataTypeError,
    MissingDependencyError,
)
from clearmargin.rules.space import (
    FeatureSpace,
    PerFeature,
    category_name,
    nearest_name,
    seen_ranges,
)
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.partitions import is_partitions
from clearmargin.tables.typed_columns import MAX_EXACT_INTEGER, is_number

if TYPE_CHECKING:
    import pandas as pd

# numpy's letters for truth values, whole numbers and floats.
_NUMBERS = "biuf"
# Floats of less than 64 bits, in the words of numpy, pandas, polars and pyarrow.
_SINGLE = frozenset({"float32", "float16", "float", "halffloat"})
# A Decimal is no numbers.Real, but float() reads it.
_PLAIN = (str, bytes, numbers.Real, np.bool_, Decimal)


class _Factors(NamedTuple):
    """The distinct values of a column, and for each row the position of its value, -1 where it is missing."""

    distinct: list[Any]
    codes: IntArray


class Column:
    """One column of a table: its name, its values, and whether it declares categories."""

    def __init__(self, name: str, source: Any, labels: Any = None, *, typed: bool = True):
        self.name = name
        self._typed = typed
        self.is_declared = _declares_categories(source)
        self._source = source
        self._labels = _row_labels(source) if labels is None else labels
        texts = _arrow_texts(source)
        if texts is not None:
            self._factors, self._kind = _arrow_factors(texts), "O"
            return
        self._kind = self.values.dtype.kind
        if self._kind in "Mm":
            raise self._dates(str(self.values.dtype))
        if self._kind not in "biufUSO":
            raise DataError(f"column {name!r} holds {self.values.dtype} values, no numbers")
        if self._kind == "O":
            self._check_distinct()

    @cached_property
    def values(self) -> NDArray[Any]:
        """The values as they are stored."""
        if self._source is None:  # part of a column
            distinct, codes = self._factors
            return np.array([*distinct, None], dtype=object)[codes]
        # pandas turns whole numbers that are categories into floats where one is missing.
        as_objects = self.is_declared and hasattr(self._source, "astype")
        return np.asarray(self._source.astype(object) if as_objects else self._source)

    def __len__(self) -> int:
        return len(self._factors.codes) if "_factors" in self.__dict__ else len(self.values)

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
        return _named_row(row, self._labels)

    @cached_property
    def _factors(self) -> _Factors:
        if self.values.dtype != object:
            distinct, codes = _numbered(self.values)
            return _Factors(distinct.tolist(), codes)
        place: dict[Hashable, int] = {}
        codes = np.empty(len(self.values), dtype=np.intp)
        for row, value in enumerate(self.values.tolist()):
            try:
                codes[row] = place.setdefault(value, len(place))
            except TypeError:  # lists and arrays cannot be told apart by a dictionary
                raise self._neither(row, value) from None
        distinct_values = list(place)
        missing = np.array([is_missing_value(value) for value in distinct_values], dtype=np.bool_)
        if missing.any():
            codes[missing[codes]] = -1
        return _Factors(distinct_values, codes)

    @cached_property
    def _first_rows(self) -> dict[Hashable, int]:
        """The distinct values that are not missing, each with the first row that has it."""
        distinct, codes = self._factors
        first = np.full(len(distinct) + 1, -1, dtype=np.intp)
        # Of several assignments to one place the last one counts: that of the first row.
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        met = np.flatnonzero(first[:-1] >= 0)
        return {distinct[k]: int(first[k]) for k in met[np.argsort(first[met])].tolist()}

    @cached_property
    def _first_text(self) -> int | None:
        """Find the first row that holds a text."""
        if self._kind in "US":
            return 0 if len(self) else None
        if self._kind != "O":
            return None
        rows = (row for value, row in self._first_rows.items() if isinstance(value, str | bytes))
        return min(rows, default=None)

    @cached_property
    def _holds_numerals(self) -> bool:
        """Whether texts stand for numbers in all rows; of a part of a column as of the whole."""
        if self._typed or self.is_declared or self._kind not in "OUS":
            return False
        texts = [value for value in self._factors.distinct if isinstance(value, str | bytes)]
        return bool(texts) and all(map(_is_numeral, texts))

    @property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers, which may be written as texts where nobody has typed the column."""
        if self.is_declared:  # without a value nobody knows what they would be
            return not self._first_rows
        return self._first_text is None or self._holds_numerals

    @property
    def has_number_type(self) -> bool:
        """Whether the values are stored as numbers; of objects that are all missing nobody knows what they would be."""
        return self._kind in _NUMBERS

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Which values are missing."""
        return find_missing(self.values) if self.has_number_type else self._factors.codes < 0

    @property
    def n_distinct(self) -> int:
        """How many different values there are, missing ones not counted."""
        return len(self._first_rows)

    @property
    def most_frequent(self) -> Any:
        """The most frequent value, the smallest one of several; None where all are missing."""
        distinct, codes = self._factors
        counts = np.bincount(codes[codes >= 0], minlength=len(distinct))
        best = np.flatnonzero(counts == counts.max()) if counts.any() else ()
        return min((distinct[k] for k in best), default=None)

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories that occur, in alphabetical order, so that nothing depends on how a type declares them."""
        return tuple(sorted({category_name(value) for value in self._first_rows}))

    def numbers(self) -> FloatArray:
        """Give the values as floats, NaN where missing; not copied if they are. A text is an error that names it."""
        if self._first_text is not None and not self._holds_numerals:
            row = self._first_text
            raise DataError(
                f"column {self.name!r}, {self._row(row)}: {self.values.item(row)!r} is not a number"
            )
        if self._first_text is not None:
            row = self._first_text
            warnings.warn(
                f"column {self.name!r} holds numbers written as texts ({self._row(row)}: {self.values.item(row)!r}), "
                "which are read as numbers; where they are names, make them a pandas.Categorical",
                ClearmarginWarning,
                stacklevel=2,
            )
        if self._kind in "iuO":
            values: Iterable[Any] = self.values if self._kind != "O" else self._first_rows
            _warn_if_rounded(self.name, values)
        return (
            self._looked_up(float)
            if self._kind in "OUS"
            else self.values.astype(np.float64, copy=False)
        )

    def read_as_numbers(self, key: object) -> FloatArray:
        """Give the values as floats, for an estimator that takes numbers only."""
        words = (
            row
            for value, row in self._first_rows.items()
            if self.is_declared or (isinstance(value, str | bytes) and not _is_numeral(value))
        )
        if self.is_numeric or (row := min(words, default=self._first_text)) is None:
            return self.numbers()
        what = "categories" if self.is_declared else "texts"
        raise DataError(
            f"column {self.name!r} holds {what} ({self._row(row)}: {self.values.item(row)!r}), and this estimator "
            "takes numbers. Encode them before it in a pipeline, make_pipeline(make_column_transformer("
            f"(OneHotEncoder(), [{key!r}]), remainder='passthrough'), ...), or leave the column out"
        )

    def _looked_up(self, number: Any) -> FloatArray:
        """Convert each value by a function, called once for each distinct value; NaN where a value is missing."""
        distinct, codes = self._factors
        known = self._first_rows
        found = [number(value) if value in known else np.nan for value in distinct]
        return np.array([*found, np.nan])[codes]

    def distinct_codes(self) -> IntArray:
        """Number the values such that equal ones have the same number, -1 where missing."""
        if self._kind != "O" and "_factors" not in self.__dict__:
            # Without a list of the distinct values, which may be as many as there are rows.
            return _numbered(self.values)[1]
        return self._factors.codes

    def codes(self, categories: tuple[str, ...]) -> FloatArray:
        """Encode each value as its position among the categories: -1 if it is none of them, NaN where missing."""
        position = {category: float(code) for code, category in enumerate(categories)}
        return self._looked_up(lambda value: position.get(category_name(value), -1.0))

    @property
    def written(self) -> dict[str, Any]:
        """The categories that occur, each with the first value of the column that has this name."""
        found: dict[str, Any] = {}
        for value in self._first_rows:
            found.setdefault(category_name(value), value)
        return found

    def take(self, rows: IntArray) -> Column:
        """Select rows, without reading the values again."""
        _ = self._holds_numerals  # what the column holds, whatever these rows do
        part = copy(self)
        for name in ("_first_rows", "_first_text", "values", "_factors"):
            part.__dict__.pop(name, None)
        part._labels = None if self._labels is None else self._labels[rows]
        part._source = None
        if self._kind == "O":
            part._factors = _Factors(self._factors.distinct, self._factors.codes[rows])
        if self._kind != "O" or "values" in self.__dict__:
            part.values = self.values[rows]
        return part

    def renamed(self, name: str) -> Column:
        """Rename the column, for messages."""
        if name == self.name:
            return self
        other = copy(self)
        other.name = name
        return other


def _warn_if_rounded(name: str, values: Iterable[Any]) -> None:
    """Say that floats cannot hold all whole numbers of a column."""
    if isinstance(values, np.ndarray):
        if not len(values) or max(-int(values.min()), int(values.max())) <= MAX_EXACT_INTEGER:
            return
        values = values.tolist()
    rounded = next((v for v in values if isinstance(v, int) and int(float(v)) != v), None)
    if rounded is not None:
        warnings.warn(
            f"column {name!r} holds whole numbers beyond 2^53, and some are rounded ({rounded} to "
            f"{int(float(rounded))}), since numbers are kept as floats; where they are names, make them a "
            "pandas.Categorical, or leave the column out",
            ClearmarginWarning,
            stacklevel=3,
        )


def _numbered(values: NDArray[Any]) -> tuple[NDArray[Any], IntArray]:
    """Return the distinct values of an array in order, and the position of each value among them, -1 for NaN."""
    distinct, codes = np.unique(values, return_inverse=True)
    codes = codes.ravel()
    return distinct, np.where(np.isnan(values), -1, codes) if distinct.dtype.kind == "f" else codes


def _declares_categories(source: Any) -> bool:
    """Tell whether a column is a pandas.Categorical or a polars.Enum."""
    # A polars.Categorical has categories, too, but they cannot be counted.
    declared = getattr(getattr(source, "dtype", None), "categories", None)
    return hasattr(declared, "__len__")


def _arrow_texts(source: Any) -> Any:
    """Give a column of texts as an array of pyarrow, where it costs little; None for any other column."""
    library = type(source).__module__.partition(".")[0]
    if library == "pyarrow":
        dictionary = str(source.type).startswith("dictionary<")
        texts = source.type.value_type if dictionary else source.type
        return source if str(texts) in ("string", "large_string") else None
    if library == "polars" and str(source.dtype) == "String":
        return source.to_arrow()
    if library == "pandas" and type(source.dtype).__name__ == "StringDtype":
        import pyarrow as pa

        return pa.array(source, from_pandas=True)
    return None


def _arrow_factors(source: Any) -> _Factors:
    """Return the different texts as pyarrow finds them, without a Python object for each row."""
    import pyarrow as pa

    chunked = source if isinstance(source, pa.ChunkedArray) else pa.chunked_array([source])
    if not len(chunked):  # older versions of pyarrow cannot combine no chunks of large texts
        return _Factors([], np.empty(0, dtype=np.intp))
    is_coded = pa.types.is_dictionary(chunked.type)
    coded = (
        chunked.unify_dictionaries() if is_coded else chunked.dictionary_encode()
    ).combine_chunks()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
    return _Factors(coded.dictionary.to_pylist(), codes)


def _is_numeral(value: str | bytes) -> bool:
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    return is_number(text.strip(), ".")


def is_missing_value(value: object) -> bool:
    """Tell whether a value stands for a missing one: None, NaN, NaT, pandas.NA."""
    # NaN and NaT are the values that differ from themselves; pandas.NA answers neither yes nor no.
    if value is None or type(value).__name__ == "NAType":
        return True
    return isinstance(value, numbers.Real | dt.date | dt.timedelta) and bool(
        value != value  # noqa: PLR0124
    )


def find_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell for each value of an array of one dimension whether it is missing."""
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind in "mM":
        return np.asarray(np.isnat(values))
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=np.bool_)
    return np.array([is_missing_value(value) for value in values.tolist()], dtype=np.bool_)


def _row_labels(source: Any) -> Any:
    """Return the labels that the rows of a data frame or series have, None where there are none."""
    labels = getattr(source, "index", None)
    return None if callable(labels) else labels  # a list has a method of that name


def _named_row(row: int, labels: Any) -> str:
    if labels is None:
        return f"row {row + 1}"
    label = labels[row]
    if isinstance(label, numbers.Integral) and int(label) == row:
        return f"row {row + 1}"
    shown = label.item() if isinstance(label, np.generic) else label
    return f"row {row + 1} (index {shown!r})"


def name_row(row: int, source: Any = None) -> str:
    """Name a row in a message: counted from 1, with its label where the table has labels of its own."""
    return _named_row(row, source.labels if isinstance(source, Table) else _row_labels(source))


class Table:
    """A table of the user's, with its columns as they were read."""

    def __init__(
        self,
        given: Any,
        keys: Mapping[str, Hashable],
        array: NDArray[Any] | None = None,
        columns: dict[str, Column] | None = None,
    ):
        self._given = given
        # For rows of another table, that one and their positions in it.
        self._whole: tuple[Table, IntArray] | None = None
        # Of a table of columns, which are arrays in a dict, the numbers of the rows.
        self._labels: IntArray | None = None
        self.keys = keys
        self.array = array
        self._columns: dict[str, Column] = {} if columns is None else columns

    @classmethod
    def read(cls, X: Any) -> Table:
        """Read a table."""
        if isinstance(X, Table):
            return X
        refuse_collection(X)
        if is_partitions(X):
            raise DataError(
                "X is a table in partitions, and what reads it here takes a table in memory: one of the files, or rows "
                "that were drawn"
            )
        if is_dict_of_columns(X):
            X = _frame_of_columns(X)
        keys = _column_keys(X)
        if keys is not None:
            return cls(X, keys)
        array = _table_array(X)
        return cls(X, {f"x{j}": j for j in range(array.shape[1])}, array)

    @classmethod
    def of_columns(
        cls, columns: Mapping[str, NDArray[Any]], labels: IntArray | None = None
    ) -> Table:
        """Make a table of columns that are arrays, such as those of a file; nothing is copied."""
        table = cls(dict(columns), {name: name for name in columns})
        first = next(iter(columns.values()), ())
        table._labels = np.arange(len(first)) if labels is None else labels
        return table

    @property
    def _is_of_columns(self) -> bool:
        return (self if self._whole is None else self._whole[0])._labels is not None

    @cached_property
    def given(self) -> Any:
        """The table as it was given, for a model of another library."""
        if self._whole is not None:
            whole, rows = self._whole
            return _take_rows(whole.given, rows)
        return self._given if self._labels is None else _arrow_table(self._given)

    @property
    def header(self) -> Any:
        """A table of another library with the same columns, whatever its rows."""
        if self._whole is not None:
            return self._whole[0].header
        if self._labels is None:
            return self._given
        return _arrow_table({name: np.empty(0) for name in self.keys})

    @property
    def labels(self) -> Any:
        """What the rows are called: the index of a data frame, row numbers from 0 of a file; None if there are none."""
        if self._whole is not None:
            whole, rows = self._whole
            return None if whole.labels is None else whole.labels[rows]
        return _row_labels(self._given) if self._labels is None else self._labels

    @property
    def is_frame(self) -> bool:
        """Whether the columns have names of their own."""
        return self.array is None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.keys)

    def __len__(self) -> int:
        if self._whole is not None:
            return len(self._whole[1])
        if self._labels is not None:
            return len(self._labels)
        return len(self._given) if self.array is None else len(self.array)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self), len(self.keys)

    def column(self, name: str, called: str | None = None) -> Column:
        """Give one column, for messages called otherwise; an unknown name is an error that suggests the nearest one."""
        if name not in self.keys:
            raise DataError(f"the table has no column {name!r}{nearest_name(name, self.keys)}")
        if name not in self._columns:
            self._columns[name] = self._read_column(name, called or name).renamed(name)
        return self._columns[name].renamed(called or name)

    def _read_column(self, name: str, called: str) -> Column:
        if self._whole is None:
            return Column(called, self._source(name), self._labels, typed=self._is_of_columns)
        whole, rows = self._whole
        return whole.column(name, called).take(rows)

    def _source(self, name: str) -> Any:
        key: Any = self.keys[name]
        if self.array is not None:
            return self.array[:, key]
        if not self._is_of_columns:
            return self.given[key]
        values = self._given[key] if self._whole is None else self._given[key][self._whole[1]]
        # pyarrow finds the different texts without a Python object for each row.
        return _arrow_array(values) if values.dtype == object else values

    @property
    def is_single_precision(self) -> bool:
        """Whether a column is stored in less than double precision, in which pipelines then compute."""
        if self.array is not None:
            types: Iterable[Any] = [self.array.dtype]
        elif self._is_of_columns:
            types = [values.dtype for values in self._given.values()]
        elif hasattr(self._given, "dtypes"):
            types = self._given.dtypes
        else:
            types = self._given.schema.types
        return any(str(each).lower().removesuffix("[pyarrow]") in _SINGLE for each in types)

    def values(self, name: str) -> NDArray[Any]:
        """Give the values of one column as they are stored, whatever they are; dates, too."""
        return (
            self._columns[name].values if name in self._columns else np.asarray(self._source(name))
        )

    def all_columns(self) -> list[Column]:
        """Give all columns, in the order of the table."""
        return [self.column(name) for name in self.keys]

    def columns_of(self, names: Sequence[str]) -> list[Column]:
        """Find the columns of features: by name in a data frame, by position in an array."""
        if self.is_frame:
            return [self.column(name) for name in names]
        _check_width(len(self.keys), len(names))
        return [self.column(*pair) for pair in zip(self.names, names, strict=True)]

    def take(self, which: IntArray | NDArray[np.bool_]) -> Table:
        """Select rows by position or by a mask; a column is read once for all selections."""
        chosen: NDArray[Any] = np.asarray(which)
        rows: IntArray = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen
        part = Table(self._given, self.keys, None if self.array is None else self.array[rows])
        whole, within = (self, rows) if self._whole is None else self._whole
        part._whole = whole, rows if whole is self else within[rows]
        return part

    def select(self, names: Sequence[str]) -> Table:
        """Select columns by name, in the order given; those of an array are numbered anew."""
        keys = {name: self.keys[name] for name in names}
        if tuple(keys) == self.names:
            return self
        if self.array is not None:
            positions: list[Any] = list(keys.values())
            return Table.read(self.array[:, positions])
        if self._whole is not None:
            whole, rows = self._whole
            return whole.select(names).take(rows)
        chosen: list[Any] = list(keys.values())
        if self._labels is not None:
            given: Any = {key: self._given[key] for key in chosen}
        else:  # polars and pyarrow select columns, pandas indexes them
            given = (
                self._given.select(chosen)
                if hasattr(self._given, "select")
                else self._given[chosen]
            )
        # What is read of a column here is known there.
        part = Table(given, keys, None, self._columns)
        part._labels = self._labels
        return part

    def filled(self, values: Mapping[str, Any]) -> Table:
        """Put values in the place of missing ones; the numbers of the rows stay."""
        columns, known = {}, {}
        for name, column in zip(self.names, self.all_columns(), strict=True):
            columns[name], gaps, value = column.values, column.is_missing, values.get(name)
            if value is None or not gaps.any():
                known[name] = column
            else:
                # Where no row has a value, what is put there tells whether it is a number.
                is_number = isinstance(value, numbers.Real) and column.is_numeric
                columns[name] = np.array(column.numbers() if is_number else column.values)
                columns[name][gaps] = value
        whole = Table.of_columns(columns, np.asarray(self.labels))
        whole._columns = known
        return whole

    def space(self, units: PerFeature = None) -> FeatureSpace:
        """Infer the features: their ranges, which are whole numbers, their categories."""
        columns = self.all_columns()
        categories = [None if column.is_numeric else column.categories for column in columns]
        low, high, integer = column_ranges(columns, categories)
        return FeatureSpace(self.names, low, high, integer, categories, units)

    def points(self, space: FeatureSpace, names: Sequence[str] | None = None) -> FloatArray:
        """Encode the features of a space as numbers and codes of categories, one column each."""
        if names is None:
            columns = self.columns_of(space.names)
        else:
            columns = [self.column(*pair) for pair in zip(names, space.names, strict=True)]
        if not columns:
            return np.empty((len(self), 0))
        return np.stack(
            [
                column.numbers() if categories is None else column.codes(categories)
                for column, categories in zip(columns, space.categories, strict=True)
            ],
            axis=1,
        )

    def numbers(self) -> NDArray[Any]:
        """Convert all columns to one array of numbers, for estimators that take nothing else."""
        if self.array is not None and self.array.dtype.kind in _NUMBERS:
            return self.array
        # Column after column in memory, as numpy has the values of a data frame.
        whole = np.empty((len(self.keys), len(self)))
        for row, (name, key) in zip(whole, self.keys.items(), strict=True):
            row[:] = self.column(name).read_as_numbers(key)
        return whole.T

    def make_like(self, columns: Sequence[NDArray[Any]]) -> Any:
        """Make a table of the same type as the one given, with other rows."""
        if self.array is not None:
            values = np.stack(columns, axis=1)
            return values.astype(self.array.dtype) if self.array.dtype.kind in "US" else values
        return self.make_named(dict(zip(self.keys.values(), columns, strict=True)))

    def make_named(self, columns: Mapping[Any, Any]) -> Any:
        """Make a table of the same type as the one given, which has names, with other columns."""
        if self._is_of_columns:
            return Table.of_columns({str(key): np.asarray(each) for key, each in columns.items()})
        if hasattr(self.given, "column_names"):
            return type(self.given).from_pydict(columns)
        return type(self.given)(columns)

    def mixed(self, rows: IntArray) -> Table:
        """Make rows that have the value of each column from a row of their own."""
        if self.array is not None:
            return Table.read(self.array[rows, np.arange(rows.shape[1])])
        if self._is_of_columns:
            arrays = {name: self.values(name)[rows[:, j]] for j, name in enumerate(self.keys)}
            return Table.of_columns(arrays)
        columns = {
            key: _take_rows(self._source(name), rows[:, j])
            for j, (name, key) in enumerate(self.keys.items())
        }
        if hasattr(self.given, "iloc"):
            columns = {key: part.reset_index(drop=True) for key, part in columns.items()}
        return Table.read(self.make_named(columns))

    def taken_by(self, estimator: Any) -> Any:
        """Give an estimator the table in the form it takes: this one if it is ours, else as the user gave it."""
        # A pipeline hands the table to its first step.
        steps = getattr(estimator, "steps", None)
        first = steps[0][1] if steps else estimator
        return self if getattr(first, "_reads_tables", False) else self.given

    def name_row(self, row: int) -> str:
        """Name a row in a message."""
        return name_row(row, self)


def read_frame(X: Any, estimator: Any = None) -> Any:
    """Read a data frame or a dict of columns as a `Table`, and leave anything else as it is."""
    refuse_collection(X, estimator)
    return Table.read(X) if is_frame(X) or is_dict_of_columns(X) else X


def refuse_collection(X: Any, estimator: Any = None, called: str = "X") -> None:
    """Raise if a table is a Dask collection, which numpy would pull into memory whole."""
    if type(X).__module__.partition(".")[0] != "dask":
        return
    reader = "this" if estimator is None else type(estimator).__name__
    hint = (
        "clearmargin.dask.LPSVC is trained on collections, other estimators take clearmargin.dask.scan(X, y), and a "
        "fitted model is applied to each partition, X.map_partitions(model.predict)"
    )
    raise DataError(
        f"{called} is a collection of Dask ({type(X).__module__}.{type(X).__name__}), and {reader} reads tables in "
        f"memory; {hint}. What fits into memory is a table after {called}.compute()"
    )


def as_given(X: Any) -> Any:
    """Give the user's table to scikit-learn: what a `Table` was read from, anything else as it is."""
    return X.given if isinstance(X, Table) else X


def as_header(X: Any) -> Any:
    """Give scikit-learn what it needs to check names and number of columns; the rows of a `Table` may be others."""
    return X.header if isinstance(X, Table) else X


def column_ranges(
    columns: Sequence[Column], categories: Sequence[Sequence[str] | None]
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Find the range of each numeric column, and whether it holds whole numbers; see `seen_ranges`."""
    low, high = np.full(len(columns), -np.inf), np.full(len(columns), np.inf)
    integer = np.zeros(len(columns), dtype=np.bool_)
    numeric = [j for j, known in enumerate(categories) if known is None]
    low[numeric], high[numeric], integer[numeric] = seen_ranges(
        [columns[j].numbers() for j in numeric]
    )
    return low, high, integer


def is_frame(X: Any) -> bool:
    """Tell whether a table has columns with names of their own."""
    return X.is_frame if isinstance(X, Table) else hasattr(X, "columns")


def is_dict_of_columns(X: Any) -> bool:
    """Tell whether a table is a dict of columns; some sparse matrices are dicts, too, of entries."""
    return isinstance(X, Mapping) and not hasattr(X, "tocsr")


def _column_keys(X: Any) -> dict[str, Hashable] | None:
    """Map the name of each column of a data frame, as text, to its key; None if X is not a data frame."""
    keys = getattr(X, "column_names", getattr(X, "columns", None))  # pyarrow has both
    if keys is None:
        return None
    found: dict[str, Hashable] = {}
    for key in keys:
        if str(key) in found:
            raise DataError(f"two columns of the table are called {str(key)!r}; rename one of them")
        found[str(key)] = key
    return found


def _table_array(X: Any) -> NDArray[Any]:
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


def _frame_of_columns(columns: Mapping[Any, Any]) -> Any:
    """Return a data frame of a dict of columns, for models; of pandas where it is there, else of pyarrow."""
    lengths = {}
    for name, values in columns.items():
        if np.ndim(values) != 1:
            raise DataError(
                f"column {str(name)!r} of the dict must be a list of values, one a row, not {values!r}"
            )
        lengths[len(values)] = name
    if len(lengths) > 1:
        (m, first), (k, second) = list(lengths.items())[:2]
        raise DataError(
            f"columns {str(first)!r} and {str(second)!r} of the dict have {m} and {k} values; each row needs one"
        )
    try:
        return import_module("pandas").DataFrame(dict(columns))
    except ImportError:
        return import_module("pyarrow").table({str(n): v for n, v in columns.items()})


def make_frame(data: Any, **options: Any) -> pd.DataFrame:
    """Make a data frame of pandas, or say how to get it."""
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise MissingDependencyError(
            "a data frame needs pandas: pip install clearmargin[frames]"
        ) from error
    frame: pd.DataFrame = pandas.DataFrame(data, **options)
    return frame


def _arrow_table(columns: Mapping[str, NDArray[Any]]) -> Any:
    import pyarrow as pa

    return pa.table(
        {
            name: _arrow_array(values) if values.dtype == object else values
            for name, values in columns.items()
        }
    )


def _arrow_array(texts: NDArray[Any]) -> Any:
    import pyarrow as pa

    return pa.array(texts, pa.string())


def _take_rows(X: Any, rows: IntArray) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "column_names"):
        return X.take(rows)
    if isinstance(X, list | tuple):
        return [X[row] for row in rows.tolist()]
    # What only turns into an array need not have rows to ask for.
    return (X if hasattr(X, "columns") else np.asarray(X))[rows]


def check_has_columns(shape: tuple[int, ...]) -> None:
    """Raise if a table of this shape has no columns; scikit-learn's words, and what to do."""
    if len(shape) == 2 and not shape[1]:
        raise DataError(
            f"X has 0 feature(s) (shape={shape}) while a minimum of 1 is required: no column to learn from"
        )


def number_table(X: Any) -> Any:
    """Check that all columns of a table are numbers, for estimators that take nothing else."""
    if isinstance(X, Table):
        return X.numbers()
    refuse_collection(X)
    if hasattr(X, "tocsr"):
        return X
    if (keys := _column_keys(X)) is not None:
        check_has_columns(X.shape)
        types = getattr(X, "dtypes", None) if keys else None
        kinds = [getattr(kind, "kind", "O") for kind in types] if types is not None else ["O"]
        if all(kind in _NUMBERS for kind in kinds):
            for (name, key), kind in zip(keys.items(), kinds, strict=True):
                if kind in "iu":
                    Column(name, X[key]).numbers()  # says what is rounded
            return X
    else:
        array = np.asarray(X)
        if array.ndim != 2 or array.dtype.kind not in "OUSMm":
            if array.ndim == 2 and array.dtype.kind in "iu":
                for j, values in enumerate(array.T):
                    _warn_if_rounded(f"x{j}", values)
            return X  # scikit-learn has the right words for what is no table
    return Table.read(X).numbers()


@dataclass(frozen=True, slots=True, eq=False)
class ModelTable:
    """The columns of a table that a model takes."""

    columns: tuple[Column, ...]
    order: tuple[int, ...]
    table: Table

    @classmethod
    def read(cls, estimator: Any, X: Any) -> ModelTable:
        """Match a table to a fitted estimator: by names where both have them, else by position."""
        table = Table.read(X)
        names, n_features = _known_columns(estimator)
        if table.is_frame and names is not None:
            for name in names:
                table.column(name)
            known = set(names)
            columns = tuple(table.column(name) for name in table.names if name in known)
            position = {column.name: j for j, column in enumerate(columns)}
            return cls(columns, tuple(position[name] for name in names), table.select(names))
        _check_width(len(table.keys), n_features)
        labels = table.names if table.is_frame or names is None else names
        return cls(tuple(table.columns_of(labels)), tuple(range(len(labels))), table)

    @classmethod
    def blank(cls, names: Sequence[str]) -> ModelTable:
        """Make columns of which only the names are known."""
        table = Table.read(np.empty((0, len(names))))
        return cls(tuple(table.columns_of(names)), tuple(range(len(names))), table)


def _check_width(met: int, expected: int | None) -> None:
    if expected is not None and met != expected:
        raise DataError(f"X has {met} columns, but the model was fitted to {expected}")


def _known_columns(estimator: Any) -> tuple[tuple[str, ...] | None, int | None]:
    """Give names and number of the columns that the estimator was fitted to, as far as it knows them."""
    from sklearn.pipeline import Pipeline

    if isinstance(estimator, Pipeline):
        # A pipeline asks its first step, which may be a text that knows nothing.
        steps = (step for _, step in estimator.steps if hasattr(step, "fit"))
        estimator = next(steps, estimator)
        if isinstance(estimator, Pipeline):
            return _known_columns(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    return (
        None if names is None else tuple(str(name) for name in names),
        getattr(estimator, "n_features_in_", None),
    )


def case_table(
    x: Any,
    names: Sequence[str] | None = None,
    *,
    many: str | None = None,
    categorical: Collection[str] = (),
) -> Any:
    """Read one case, in whatever form it is written, as a table of one row."""
    if _column_keys(x) is None:
        values = _named_values(x)
        if values is not None:
            row = _row_frame(values if names is None else _chosen(values, names))
            return _with_objects(row, categorical)
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
    """Return the values of a series or a mapping by the names of features; None where there are none."""
    # The keys of a series are its labels, but it runs over its values.
    labels = list(x.keys()) if hasattr(x, "keys") else []
    if not labels or not all(isinstance(label, str) for label in labels) or len(labels) != len(x):
        return None
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise DataError(f"the case has two values for {twice!r}; leave one of them out")
    return {label: x[label] for label in labels}


def _with_objects(row: Any, categorical: Collection[str]) -> Any:
    named = [name for name in getattr(row, "columns", ()) if name in categorical]
    return row.astype(dict.fromkeys(named, object)) if named and hasattr(row, "astype") else row


def _row_frame(values: dict[str, Any]) -> Any:
    for name, value in values.items():
        if np.ndim(value):
            raise DataError(f"the value of {name!r} must be a single one, not {value!r}")
    for library in ("pandas", "polars"):
        try:
            return import_module(library).DataFrame({name: [v] for name, v in values.items()})
        except ImportError:
            continue
    return _table_array([list(values.values())])


def _case_type(x: Any) -> type | None:
    array = np.asarray(x)
    return object if array.dtype.kind in "US" else None
