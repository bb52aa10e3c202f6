"""Some rows of a user's table: its columns as they are stored, and where the rows stand, for messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import DataError
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.csv_text import Texts
from clearmargin.tables.partitions import is_partitions
from clearmargin.tables.table import Table

Values = NDArray[Any] | Texts
F = TypeVar("F", bound=Callable[..., Any])


class TablePart(NamedTuple):
    """A partition of a user's table."""

    columns: Mapping[str, Values]
    rows: IntArray
    place: str
    first: int = 0
    has_names: bool = True

    def column(self, name: str) -> Values:
        """Return a column; one that is missing is an error."""
        if name not in self.columns:
            raise DataError(
                f"{self.place} has no column {name!r}{nearest_name(name, list(self.columns))}"
            )
        return self.columns[name]

    def name_row(self, position: int) -> str:
        """Name a row in a message: where it stands, counted from 1."""
        return f"{self.place}, row {int(self.rows[position]) - self.first + 1}"

    def take(self, places: Any) -> TablePart:
        """Return some of the rows, by their positions or a mask."""
        columns: dict[str, Values] = {
            name: Texts(values.distinct, values.codes[places])
            if isinstance(values, Texts)
            else values[places]
            for name, values in self.columns.items()
        }
        return self._replace(columns=columns, rows=self.rows[places])

    def select(self, names: Sequence[str]) -> TablePart:
        """Return some of the columns."""
        return self._replace(columns={name: self.column(name) for name in names})

    @property
    def n_bytes(self) -> int:
        """How much memory the values take, about."""
        return sum(
            values.codes.nbytes if isinstance(values, Texts) else values.nbytes
            for values in self.columns.values()
        )

    def is_missing(self, name: str) -> BoolArray:
        """Tell for each row whether it has no value in a column."""
        values = self.column(name)
        if isinstance(values, Texts):
            return np.asarray(values.codes < 0)
        if values.dtype.kind == "f":
            return np.asarray(np.isnan(values))
        return np.zeros(len(values), dtype=np.bool_)

    def numbers(self, names: Sequence[str]) -> FloatArray:
        """Give columns as floats, column after column in memory; one of texts is an error that names row and text."""
        found = np.empty((len(self.rows), len(names)), order="F")
        for j, name in enumerate(names):
            values = self.column(name)
            if not isinstance(values, Texts):
                found[:, j] = values
            elif (values.codes >= 0).any():
                row = int(np.argmax(values.codes >= 0))
                raise DataError(
                    f"{self.name_row(row)}: {values.distinct[values.codes[row]]!r} in column {name!r} is not a number"
                )
            else:
                found[:, j] = np.nan
        return found

    def values(self, name: str) -> NDArray[Any]:
        """Give a column as an array: numbers, or texts in an array of objects with None where missing."""
        values = self.column(name)
        if not isinstance(values, Texts):
            return values
        return np.array([*values.distinct, None], dtype=object)[values.codes]

    def table(self, names: Sequence[str] | None = None) -> Table:
        """Give the rows as a `Table`, whose labels are the numbers of the rows; that of an array has none."""
        chosen = list(self.columns) if names is None else names
        if not self.has_names:
            return Table.read(np.column_stack([self.values(name) for name in chosen]))
        return Table.of_columns({name: self.values(name) for name in chosen}, self.rows)


def join_parts(parts: Sequence[TablePart]) -> TablePart:
    """Put partitions with the same columns together, in memory."""
    first = parts[0]
    columns = {name: _join([part.column(name) for part in parts]) for name in first.columns}
    rows = np.concatenate([part.rows for part in parts])
    return TablePart(columns, rows, first.place, has_names=first.has_names)


def _join(columns: Sequence[Values]) -> Values:
    # Of rows without any value nobody knows what they would be: numbers beside numbers, texts beside texts.
    known = [values for values in columns if not _is_empty(values)]
    if not any(isinstance(values, Texts) for values in known or columns):
        return np.concatenate(
            [np.full(len(v.codes), np.nan) if isinstance(v, Texts) else v for v in columns]
        )
    place: dict[str, int] = {}
    codes = []
    for values in columns:
        if isinstance(values, Texts):
            new = [*(place.setdefault(text, len(place)) for text in values.distinct), -1]
            codes.append(np.array(new, dtype=np.int32)[values.codes])
        elif _is_empty(values):
            codes.append(np.full(len(values), -1, dtype=np.int32))
        else:
            raise DataError("a column holds numbers in some rows and texts in others")
    return Texts(list(place), np.concatenate(codes))


def _is_empty(values: Values) -> bool:
    """Tell whether all values are missing."""
    if isinstance(values, Texts):
        return not (values.codes >= 0).any()
    return values.dtype.kind == "f" and bool(np.isnan(values).all())


def over_parts(method: F) -> F:
    """Decorate a method that gives something for each row of a table, so that it takes partitions, too."""

    @wraps(method)
    def answer(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_partitions(X):
            return method(self, X, *args, **kwargs)
        common = (self, method.__name__, X.names, args, kwargs)
        return np.concatenate(X.map(_answer_part, common=common))

    return cast("F", answer)


def _answer_part(
    part: TablePart,
    owner: Any,
    name: str,
    columns: Sequence[str],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> NDArray[Any]:
    answers: NDArray[Any] = getattr(owner, name)(part.table(columns), *args, **kwargs)
    return answers
