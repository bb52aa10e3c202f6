"""Tables too large to be held: a sample is worked on in memory, and what is found is counted on all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.recipes.task import Task, as_text
from clearmargin.rules.rule import Label
from clearmargin.rules.value import IntArray
from clearmargin.tables.files import FileTable, ReadOptions
from clearmargin.tables.scanned import ScannedTable, find_files, has_more_rows, in_files

if TYPE_CHECKING:
    from clearmargin.tables.table_part import TablePart

# Tables up to here are read whole.
SMALL_ROWS = 100_000
# Rows drawn for a ranking and for a plane with its rules, and for a page, for which several methods are tried in folds.
SAMPLE_ROWS, PAGE_ROWS = 20_000, 5_000


@dataclass(frozen=True, kw_only=True)
class DrawnTask(Task):
    """The task of rows that were drawn from a large table, of which nothing else is known."""

    drawn: IntArray

    @classmethod
    def of(cls, task: Task, drawn: IntArray) -> DrawnTask:
        """Make it of a task and the numbers of all rows of its table."""
        return cls(**{each.name: getattr(task, each.name) for each in fields(Task)}, drawn=drawn)

    def row_number(self, position: int) -> int:
        """Return the number of a row in the whole table, counted from 1, by its position among the rows drawn."""
        return int(self.drawn[self.X.labels[position]]) + 1


def open_large(
    path: str, target: str | None = None, options: ReadOptions | None = None
) -> ScannedTable | None:
    """Open a table that is too large to be held, or that is in several files."""
    if not in_files(path):
        return None
    files = find_files(path)
    if len(files) == 1 and not has_more_rows(files[0], SMALL_ROWS):
        return None
    return ScannedTable(files, target, None, options)


@dataclass(frozen=True)
class SampledFile(FileTable):
    """Rows that were drawn from a large table."""

    rows: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))


def sample_file(source: ScannedTable, n_rows: int) -> SampledFile:
    """Draw rows of a large table, with the ends of all ranges, as a table that is read whole."""
    survey = source.survey()
    sample = source.sample_with_ends(n_rows, rare=0.0)
    notes = list(source.notes)
    if len(sample.rows) < survey.n_rows:
        notes.append(_drawn(len(sample.rows), survey.n_rows))
    return SampledFile(source.name, _columns(sample, source), tuple(notes), sample.rows)


def _drawn(n_drawn: int, n_rows: int) -> str:
    return f"{n_drawn} rows are drawn from {n_rows}, with the ends of all ranges"


def _columns(sample: TablePart, source: ScannedTable) -> dict[str, Any]:
    """Return the columns of a sample as `read_file` gives them."""
    survey = source.survey()
    columns = {}
    for name in sample.columns:
        known = survey.target if name == source.target else survey.columns[name]
        values = sample.values(name)
        if values.dtype != object:
            is_whole = known is not None and known.is_whole and not known.n_missing
            values = values.astype(np.int64 if is_whole else np.float64)
        columns[name] = values
    return columns


def labels_of_part(
    part: TablePart, target: str, classes: Sequence[Label], positive: Label | None
) -> NDArray[Any]:
    """Read the classes of the rows of a partition; where one class was set against all others, all others are one."""
    label_of = {str(label): label for label in classes}
    other = next((label for label in classes if label != positive), None)
    found = [label_of.get(as_text(v), other) for v in part.values(target).tolist()]
    return np.array(found, dtype=object)
