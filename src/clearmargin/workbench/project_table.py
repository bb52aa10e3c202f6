"""The table of a project: read once, its sealed rows put aside before anybody looks, and the task made of the rest.

Which rows are sealed depends on the number of a row and the seed of the project alone, so that a smaller share is a
part of a larger one, and a project that is opened again has the same rows aside.
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.advice import AdviceChecker
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.language.words import counted, listed
from clearmargin.recipes.task import Task, make_task
from clearmargin.rules import FeatureSpace
from clearmargin.rules.file_writing import writing_to
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.files import (
    FEATHER,
    PARQUET,
    FileTable,
    ReadOptions,
    index_columns,
    read_file,
)
from clearmargin.tables.partitions import row_keys
from clearmargin.tables.splitting import Folds
from clearmargin.tables.table import Table, find_missing
from clearmargin.workbench.settings import TaskSettings

MAX_CELLS = 5_000_000
# Rows of different projects are sealed by different keys.
_SEED_STEP = 2**40
_FOLDS = 5


class NotThereError(DataError):
    """What somebody names, a project, a version or a row, and is not there."""


def columns_not_read(content: bytes) -> list[str]:
    r"""Name the columns of a Parquet or Feather file that are neither numbers nor texts, such as dates."""
    if not content.startswith((PARQUET, *FEATHER)):
        return []
    import pyarrow as pa
    from pyarrow import feather, parquet

    try:
        if content.startswith(PARQUET):
            schema = parquet.read_schema(pa.BufferReader(content))
        else:
            schema = feather.read_table(pa.BufferReader(content)).schema
    except (OSError, ValueError, pa.ArrowException):
        return []  # `read_source` says what is wrong with it
    index = index_columns(schema)  # not read anyway
    return [
        entry.name
        for entry in schema
        if (pa.types.is_temporal(entry.type) or pa.types.is_nested(entry.type))
        and entry.name not in index
    ]


def read_source(content: bytes, name: str, reading: dict[str, Any] | None = None) -> FileTable:
    r"""Read the table that was uploaded."""
    with writing_to(name), tempfile.TemporaryDirectory() as folder:
        # The name of an upload is never a path.
        path = Path(folder, "upload")
        path.write_bytes(content)
        try:
            table = read_file(path, ReadOptions(**(reading or {})))
        except DataError as error:
            raise type(error)(str(error).replace(str(path), name)) from None
    cells = len(table) * len(table.columns)
    if cells > MAX_CELLS:
        raise DataError(
            f"{name} has {len(table):,} rows and {len(table.columns)} columns, {cells:,} values; the workbench takes "
            f"{MAX_CELLS:,}. Take a sample of the rows, or use the command line (clearmargin rules)"
        )
    if not len(table):
        raise DataError(f"{name} has no rows")
    return replace(table, name=name)


class ProjectTable:
    """All rows of a project, those that are sealed apart from the others."""

    def __init__(self, table: FileTable, sealed_share: float, seed: int):
        if not 0 <= sealed_share <= 0.5:
            raise InvalidValueError(
                f"the sealed share is at least 0 and at most 0.5 of the rows, not {sealed_share}"
            )
        self.table = table
        keys = row_keys(np.arange(len(table)) + seed * _SEED_STEP)
        self.sealed_rows: IntArray = np.flatnonzero(keys < sealed_share)
        self.open_rows: IntArray = np.flatnonzero(keys >= sealed_share)

    @cached_property
    def open(self) -> FileTable:
        """The rows that may be looked at."""
        return self._take(self.open_rows)

    @cached_property
    def sealed(self) -> FileTable:
        """The rows of the sealed sample."""
        return self._take(self.sealed_rows)

    @cached_property
    def counters(self) -> tuple[str, ...]:
        """Columns that count the rows, which the open rows alone would not show."""
        return tuple(
            name
            for name, values in self.table.columns.items()
            if values.dtype.kind == "i" and len(values) >= 20 and bool((np.diff(values) == 1).all())
        )

    def _take(self, rows: IntArray) -> FileTable:
        columns = {name: values[rows] for name, values in self.table.columns.items()}
        return replace(self.table, columns=columns)

    def task(self, settings: TaskSettings) -> OpenTask:
        """Make the task of the open rows."""
        settings.check_names(self.table.columns)
        self._check_whole(settings)
        task = self._make(settings, "keep")
        lacking = _rows_with_gaps(task.X)
        if settings.missing == "error":
            self._refuse_gaps(settings, task.X, lacking)
        elif lacking.any():
            if settings.missing == "drop" and lacking.all():
                raise DataError(
                    "every row lacks a value; leave out columns that are hardly filled, or have gaps filled"
                )
            task = self._make(settings, settings.missing)
        _check_counts(task, settings)
        return OpenTask(self, settings, task)

    def _make(self, settings: TaskSettings, missing: str) -> Task:
        aside = {*settings.drop, *self.counters} - {settings.target}
        columns = {
            name: _as_categories(values) if name in settings.categories else values
            for name, values in self.open.columns.items()
            if name not in aside
        }
        if list(columns) == [settings.target]:
            raise DataError(
                f"no column is left to learn {settings.target!r} from; row numbers and columns that are not used "
                "do not count"
            )
        return make_task(
            replace(self.table, columns=columns),
            settings.target,
            positive=settings.positive,
            missing=missing,
            categories=[name for name in settings.categories if name in columns],
            cv=_FOLDS,
        )

    def _check_whole(self, settings: TaskSettings) -> None:
        """Raise if a feature is said to take whole numbers and has others: proofs would not be about its cases."""
        for name in settings.whole:
            values = self.open.columns[name]
            is_number = values.dtype != object
            known = ~find_missing(values)
            broken = np.flatnonzero(known & (values != np.rint(values))) if is_number else [0]
            if len(broken):
                raise DataError(
                    f"{name!r} is said to take whole numbers, and row {self.open_rows[broken[0]] + 1} holds "
                    f"{values[broken[0]]}"
                )

    def _refuse_gaps(self, settings: TaskSettings, X: Table, lacking: BoolArray) -> None:
        """Raise if a value is missing; rows are named as in the file, where sealed ones are between them."""
        unknown = np.flatnonzero(find_missing(self.open.columns[settings.target]))
        if len(unknown):
            raise DataError(
                f"{settings.target!r} is missing in {counted(len(unknown), 'open row')}, the first of them row "
                f"{self.open_rows[unknown[0]] + 1}; say that rows with a missing value are left out"
            )
        if lacking.any():
            gaps = {column.name: int(column.is_missing.sum()) for column in X.all_columns()}
            worst = sorted((name for name in gaps if gaps[name]), key=lambda name: -gaps[name])
            where = listed([f"{name!r} in {gaps[name]}" for name in worst], 3)
            first = self.open_rows[int(X.labels[int(np.argmax(lacking))])] + 1
            raise DataError(
                f"{int(lacking.sum()):,} of {counted(len(X), 'open row')} lack a value ({where}), the first of them "
                f"row {first}; say whether such rows are left out, or filled with what is typical"
            )

    def sealed_table(self, opened: OpenTask, *, filled: bool) -> tuple[Table, NDArray[Any]]:
        """Give the sealed rows as a machine takes them, with their classes."""
        table, settings = self.sealed, opened.settings
        known = table.columns[settings.target]
        has_class = ~find_missing(known)
        columns = {
            name: (
                _as_categories(table.columns[name])
                if name in settings.categories
                else table.columns[name]
            )[has_class]
            for name in opened.task.X.names
        }
        X = Table.of_columns(columns)
        lacking = _rows_with_gaps(X)
        if opened.task.fill is not None:
            lacking[:] = False
            X = X.filled(opened.task.fill) if filled else X
        labels = np.array([opened.class_of(value) for value in known[has_class]], dtype=object)
        usable = ~lacking & np.array([label is not None for label in labels], dtype=np.bool_)
        return X.take(usable), labels[usable]


def _rows_with_gaps(X: Table) -> BoolArray:
    lacking: BoolArray = np.zeros(len(X), dtype=np.bool_)
    for column in X.all_columns():
        lacking |= column.is_missing
    return lacking


def _check_counts(task: Task, settings: TaskSettings) -> None:
    """Raise unless there are two classes, each of rows enough to be judged without one of them."""
    counts = task.counts
    if len(counts) > 2:
        named = ", ".join(str(label) for label in counts)
        raise DataError(
            f"{settings.target!r} has {len(counts)} classes ({named}); choose the class of interest, which "
            "is then told from all others"
        )
    rarest, rows = min(counts.items(), key=lambda pair: pair[1])
    if rows < 2:
        raise DataError(
            f"the class {rarest} of {settings.target!r} has a single open row that can be used, and two are needed "
            "at least; a project with a smaller sealed sample has more"
        )


def _as_categories(values: NDArray[Any]) -> NDArray[Any]:
    """Give numbers as texts, as the reader of files writes categories."""
    if values.dtype == object:
        return values
    texts = [
        None if math.isnan(value) else str(int(value)) if float(value).is_integer() else repr(value)
        for value in values.tolist()
    ]
    return np.array(texts, dtype=object)


@dataclass(frozen=True, eq=False)
class OpenTask:
    """What is learned from the open rows of a project."""

    table: ProjectTable
    settings: TaskSettings
    task: Task

    @cached_property
    def classes(self) -> tuple[Label, ...]:
        """The two classes, the positive one last."""
        labels = [as_label(label) for label in np.unique(self.task.y).tolist()]
        positive = self.task.positive
        return tuple(sorted(labels, key=lambda label: (label == positive, str(label))))

    @cached_property
    def codes(self) -> IntArray:
        """The class of each row, as a place in `classes`."""
        return self.encode(self.task.y)

    def encode(self, labels: NDArray[Any]) -> IntArray:
        """Give labels as places in `classes`."""
        codes: IntArray = (np.asarray(labels) == self.classes[1]).astype(np.intp)
        return codes

    def class_of(self, value: object) -> Label | None:
        """Give the class that a value of the target column stands for; None for one that is no class here."""
        positive = self.settings.positive
        text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        for label in self.classes:
            if str(label) == text:
                return label
        if positive is not None:
            return next((c for c in self.classes if str(c) == f"not {positive}"), None)
        return None

    @cached_property
    def rows(self) -> IntArray:
        """The numbers of the rows in the table, counted from 1."""
        return np.asarray(self.table.open_rows[np.asarray(self.task.X.labels)] + 1)

    def position(self, row: int) -> int:
        """Find a row of the table, counted from 1, among the rows of the task."""
        place = int(np.searchsorted(self.rows, row))
        if place == len(self.rows) or self.rows[place] != row:
            if row - 1 in set(self.table.sealed_rows.tolist()):
                raise NotThereError(f"row {row} is in the sealed sample, which nobody looks at")
            raise NotThereError(f"there is no row {row} in the task; it may lack a value")
        return place

    @cached_property
    def space(self) -> FeatureSpace:
        """The features with their ranges: seen in the open rows, or declared."""
        seen, chosen = self.task.X.space(), self.settings
        lower, upper = seen.lower.copy(), seen.upper.copy()
        integer = seen.integer.copy()
        for j, name in enumerate(seen.names):
            if seen.categories[j] is None:
                low, high = chosen.ranges.get(name, (np.inf, -np.inf))
                lower[j], upper[j] = min(low, lower[j]), max(high, upper[j])
                integer[j] |= name in chosen.whole and self._is_whole(name)
        units = {name: unit for name, unit in chosen.units.items() if name in seen.names}
        return FeatureSpace(seen.names, lower, upper, integer, seen.categories, units, seen.fill)

    def _is_whole(self, name: str) -> bool:
        """Tell whether all values of a feature are whole numbers; the middle of two may fill its gaps."""
        values = self.task.X.column(name).numbers()
        return bool((values == np.rint(values)).all())

    @cached_property
    def points(self) -> FloatArray:
        """The rows as numbers: values, and codes of categories."""
        return self.task.X.points(self.space)

    @cached_property
    def checker(self) -> AdviceChecker:
        """Checks rules on the open rows, again and again."""
        return AdviceChecker(self.task.X, self.task.y)

    @cached_property
    def folds(self) -> Folds:
        """How rows are split for figures on rows not trained on."""
        return self.task.folds()

    @cached_property
    def fold_tables(self) -> tuple[tuple[Task, Table, IntArray], ...]:
        """Of each fold the task of its training rows, and the rows to predict, filled from these, with positions."""
        parts = ((self.task.part(train), test) for train, test in self.folds.pairs)
        return tuple((part, self.rows_beside(part, test), test) for part, test in parts)

    def rows_beside(self, part: Task, rows: IntArray) -> Table:
        """Give rows without gaps, filled with what is typical of another part of the task."""
        if self.task.given is None or part.fill is None:
            return self.task.X.take(rows)
        return self.task.given.take(rows).filled(part.fill)

    def gaps(self, position: int) -> list[str]:
        """Name the features whose value is missing in a row of the table, and filled in the task."""
        given = self.task.given
        if given is None:
            return []
        row = given.take(np.array([position]))
        return [column.name for column in row.all_columns() if column.is_missing[0]]

    def case(self, position: int) -> dict[str, Any]:
        """Give the values of a row by feature."""
        values = {}
        for column in self.task.X.take(np.array([position])).all_columns():
            value = column.values[0]
            values[column.name] = value.item() if hasattr(value, "item") else value
        return values
