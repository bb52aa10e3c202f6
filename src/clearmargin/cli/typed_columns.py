"""Which columns of a table of texts are numbers, and which name things."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.cli.csv_text import TextTable
from clearmargin.exceptions import DataError
from clearmargin.rules.value import FloatArray

__all__ = [
    "GAPS",
    "LAST_SURE_WHOLE",
    "Reading",
    "find_decimal_mark",
    "is_number",
    "large_integer_note",
    "large_integer_notes",
    "read_columns",
]

# What stands for a missing value in most tables. "None" does not: it may be an answer.
GAPS = frozenset({"", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL"})

_POINT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?\d{1,3},\d{3}")
# Beyond it not every whole number is a float.
LAST_SURE_WHOLE = 2**53
_INTEGER = re.compile(r"[+-]?\d+")
# A column with more numbers than this has a stray text in it; one with fewer names things.
_MOSTLY = 0.5


@dataclass(frozen=True, slots=True)
class Reading:
    """How texts are to be understood.

    Parameters
    ----------
    gaps : frozenset of str
        What stands for a missing value.
    categories : frozenset of str
        Columns that name things, even where they hold numbers.
    decimal : str
        The decimal mark.
    """

    gaps: frozenset[str] = GAPS
    categories: frozenset[str] = frozenset()
    decimal: str = "."


def find_decimal_mark(table: TextTable, given: str | None = None) -> str:
    r"""Find out whether numbers have a decimal comma.

    Parameters
    ----------
    table : TextTable
        The texts.
    given : str, optional
        What the user says.

    Returns
    -------
    str
        A comma only where the separator is a semicolon and the numbers leave no doubt.

    Examples
    --------
    >>> from clearmargin.cli.csv_text import read_text_table
    >>> find_decimal_mark(read_text_table("a;b\n1,5;2\n", "a.csv"))
    ','
    """
    if given is not None:
        return given
    if table.separator != ";":
        return "."
    distinct = {value for values in table.columns.values() for value in values}
    commas = sorted(v for v in distinct if "," in v and _COMMA.fullmatch(v))
    points = sorted(v for v in distinct if "." in v and _POINT.fullmatch(v))
    if commas and points:
        raise DataError(
            f"{table.name} has numbers with a comma ({commas[0]}) and with a point ({points[0]}); say which one is the "
            "decimal mark: --decimal , or --decimal ."
        )
    if commas and all(_GROUPED.fullmatch(value) for value in commas):
        raise DataError(
            f"{table.name}: {commas[0]!r} may be a decimal number, or thousands; say --decimal , if the comma is the "
            "decimal mark, else write the numbers without it"
        )
    return "," if commas else "."


def read_columns(table: TextTable, reading: Reading) -> dict[str, NDArray[Any]]:
    """Read texts as numbers where they are some.

    Parameters
    ----------
    table : TextTable
        The texts.
    reading : Reading
        How to understand them.

    Returns
    -------
    dict from str to ndarray
        Whole numbers as int64 where none is missing; other numbers as float64, with NaN for gaps; everything else as
        texts in an array of objects, with None for gaps.
    """
    return {
        name: _read_column(name, values, table, reading) for name, values in table.columns.items()
    }


def _read_column(name: str, values: list[str], table: TextTable, reading: Reading) -> NDArray[Any]:
    distinct = set(values) - reading.gaps
    texts = {v for v in distinct if not is_number(v, reading.decimal)}
    if name in reading.categories or (distinct and texts == distinct):
        return _as_texts(values, reading.gaps)
    if texts:
        known = [value for value in values if value not in reading.gaps]
        share = sum(value not in texts for value in known) / len(known)
        if share <= _MOSTLY:
            return _as_texts(values, reading.gaps)
        raise _stray_text(name, values, texts, table)
    numbers = _as_numbers(values, reading)
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise DataError(
            f"{table.name}, line {table.lines[row]}: {values[row]!r} in column {name!r} is too large a number"
        )
    return _whole(numbers)


def large_integer_notes(table: TextTable, columns: dict[str, NDArray[Any]]) -> list[str]:
    r"""Find columns of numbers with integers above 2^53, which floats cannot all tell apart.

    Parameters
    ----------
    table : TextTable
        The texts.
    columns : dict from str to ndarray
        What `read_columns` made of them.

    Returns
    -------
    list of str
        A note for each such column.

    Examples
    --------
    >>> from clearmargin.cli.csv_text import read_text_table
    >>> table = read_text_table("id,x\n9007199254740993,1\n7,2\n", "a.csv")
    >>> large_integer_notes(table, read_columns(table, Reading()))[0][:81]
    "column 'id' of a.csv holds integers above 2^53 (line 2: 9007199254740993), and 1 "
    """
    notes = []
    for name, numbers in columns.items():
        if numbers.dtype.kind not in "if" or not (np.abs(numbers) >= LAST_SURE_WHOLE).any():
            continue
        values = table.columns[name]
        wholes = [k for k, text in enumerate(values) if _is_large_integer(text)]
        if wholes:
            rounded = sum(int(values[k]) != int(numbers[k]) for k in wholes)
            where = f"line {table.lines[wholes[0]]}: {values[wholes[0]]}"
            notes.append(large_integer_note(f"{name!r} of {table.name}", where, rounded, name))
    return notes


def large_integer_note(what: str, where: str, rounded: int, name: str) -> str:
    """Say that a column holds integers that floats cannot all tell apart."""
    count = f"{rounded or 'none'} of them {'is' if rounded < 2 else 'are'}"
    return (
        f"column {what} holds integers above 2^53 ({where}), and {count} rounded, since numbers are kept as floats; if "
        f"the column names things, add --categories {name!r}, or leave it out: --drop {name!r}"
    )


def _is_large_integer(text: str) -> bool:
    # A limit of Python is a few thousand digits; what has more is no float anyway.
    return (
        15 < len(text) < 400
        and _INTEGER.fullmatch(text) is not None
        and abs(int(text)) > LAST_SURE_WHOLE
    )


def is_number(text: str, decimal: str) -> bool:
    """Tell whether a text is a number.

    Parameters
    ----------
    text : str
        Without blanks around it.
    decimal : str
        The decimal mark.

    Returns
    -------
    bool
        False for words such as inf.

    Examples
    --------
    >>> is_number("1e5", "."), is_number("1,5", "."), is_number("inf", ".")
    (True, False, False)
    """
    return (_POINT if decimal == "." else _COMMA).fullmatch(text) is not None


def _as_texts(values: Iterable[str], gaps: frozenset[str]) -> NDArray[Any]:
    return np.array([None if value in gaps else value for value in values], dtype=object)


def _as_numbers(values: list[str], reading: Reading) -> FloatArray:
    number = {value: float(value.replace(",", ".")) for value in set(values) - reading.gaps}
    found = (number.get(value, np.nan) for value in values)
    return np.fromiter(found, dtype=np.float64, count=len(values))


def _whole(numbers: FloatArray) -> NDArray[Any]:
    # Beyond 2**53 the text would not be what is printed.
    if np.isnan(numbers).any() or (np.abs(numbers) > LAST_SURE_WHOLE).any():
        return numbers
    whole = numbers.astype(np.int64)
    return whole if np.array_equal(whole, numbers) else numbers


def _stray_text(name: str, values: list[str], texts: set[str], table: TextTable) -> DataError:
    row = next(k for k, value in enumerate(values) if value in texts)
    met, place = repr(values[row]), f"{table.name}, line {table.lines[row]}"
    return DataError(
        f"{place}: {met} in column {name!r} is not a number, and most values of the column are. If it stands for a "
        f"missing value, add --na {met}; if the column names things, add --categories {name!r}; else correct it"
    )
