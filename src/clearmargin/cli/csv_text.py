"""Tables as text: which separator they have, their lines, and what is wrong with them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from clearmargin.exceptions import DataError

__all__ = ["SEPARATORS", "TextTable", "find_separator", "read_header", "read_text_table"]

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}

# Enough lines to tell separators from letters.
_LINES_TRIED = 50


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of texts, column by column.

    Parameters
    ----------
    name : str
        Where it comes from, for messages.
    separator : str
        What stands between values.
    columns : dict from str to list of str
        The values under each name, without blanks around them.
    lines : list of int
        The line of each row in the file, for messages.
    unnamed : tuple of int
        Positions, from 1, of columns without a name, which are left out.
    """

    name: str
    separator: str
    columns: dict[str, list[str]]
    lines: list[int]
    unnamed: tuple[int, ...] = ()


def read_text_table(text: str, name: str, separator: str | None = None) -> TextTable:
    r"""Cut a text into columns.

    Parameters
    ----------
    text : str
        The content of a CSV file, in any of its dialects.
    name : str
        The file, for messages.
    separator : str, optional
        What stands between values; by default the one that cuts the first lines into equally many parts.

    Returns
    -------
    TextTable
        The columns. Lines without any value are passed over.

    Examples
    --------
    >>> read_text_table("age;bmi\n40;22,5\n", "a.csv").columns
    {'age': ['40'], 'bmi': ['22,5']}
    """
    mark = separator or find_separator(text, name)
    records = _records(text, name, mark)
    try:
        _, header = next(records)
    except StopIteration:
        raise DataError(f"{name} is empty; a line of column names is needed") from None
    rows, lines = [], []
    for line, row in records:
        if len(row) != len(header):
            raise DataError(
                f"{name}, line {line}: {len(row)} values, but there are {len(header)} column names; a separator too "
                f"many or too few, or a text with {_called(mark)} in it that is not in quotes?"
            )
        rows.append(row)
        lines.append(line)
    if not rows:
        raise DataError(f"{name} has column names and no rows")
    _check_header(header, name)
    columns = dict(zip(header, map(list, zip(*rows, strict=True)), strict=False))
    unnamed = tuple(j for j, title in enumerate(header, 1) if not title)
    columns.pop("", None)
    return TextTable(name, mark, columns, lines, unnamed)


def _records(text: str, name: str, mark: str) -> Iterator[tuple[int, list[str]]]:
    """The lines that hold something, each with its number."""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=mark, strict=True, skipinitialspace=True
    )
    try:
        for row in reader:
            values = [value.strip() for value in row]
            if any(values):
                yield reader.line_num, values
    except csv.Error as error:
        raise DataError(
            f"{name}, line {reader.line_num}: {error}; is a quotation mark missing or left over?"
        ) from None


def read_header(text: str, name: str, mark: str) -> list[str]:
    r"""Read the names of the columns, and check them.

    Parameters
    ----------
    text : str
        The first lines of a table, or all of it.
    name : str
        The file, for messages.
    mark : str
        What stands between values.

    Returns
    -------
    list of str
        The names; empty where a column has none.

    Examples
    --------
    >>> read_header("age;bmi\n40;22,5\n", "a.csv", ";")
    ['age', 'bmi']
    """
    try:
        _, header = next(_records(text, name, mark))
    except StopIteration:
        raise DataError(f"{name} is empty; a line of column names is needed") from None
    _check_header(header, name)
    return header


def find_separator(text: str, name: str) -> str:
    r"""Find the separator that cuts the first lines of a text into equally many parts.

    Parameters
    ----------
    text : str
        The first lines of a table, or all of it.
    name : str
        The file, for messages.

    Returns
    -------
    str
        A comma where no separator does.

    Examples
    --------
    >>> find_separator("age;bmi\n40;22,5\n", "a.csv")
    ';'
    """
    best: tuple[float, int, str] | None = None
    for mark in SEPARATORS.values():
        try:
            rows = [row for _, row in islice(_records(text, name, mark), _LINES_TRIED)]
        except DataError:
            continue
        if rows and len(rows[0]) > 1:
            same = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
            if best is None or (same, len(rows[0])) > best[:2]:
                best = (same, len(rows[0]), mark)
    # A single column, or a file whose quotes are wrong for every separator: the comma finds out which.
    return "," if best is None else best[2]


def _called(mark: str) -> str:
    names = [f"a {name}" for name, known in SEPARATORS.items() if known == mark]
    return names[0] if names else repr(mark)


def _check_header(header: list[str], name: str) -> None:
    seen: dict[str, int] = {}
    for j, title in enumerate(header, 1):
        if title and title in seen:
            raise DataError(
                f"{name}: columns {seen[title]} and {j} are both called {title!r}; rename one of them"
            )
        seen[title] = j
    if not any(header):
        raise DataError(f"{name}: no column has a name; the first line must name the columns")
    if all(_is_number(title) for title in header):
        raise DataError(
            f"{name}: the first line holds numbers ({', '.join(header[:3])} ...); it must name the columns"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
