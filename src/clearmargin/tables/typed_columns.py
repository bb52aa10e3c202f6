"""Which columns of a table of texts are numbers, which are categorical, and what stands for a missing value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import DataError
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.csv_text import CsvText, Texts, WholeTableNeeded

# What stands for a missing value in most tables. "None" does not: it may be an answer.
MISSING = frozenset({"", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL"})

_POINT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?\d{1,3},\d{3}")
_INTEGER = re.compile(r"[+-]?\d+")
# Beyond it not every integer is a float.
MAX_EXACT_INTEGER = 2**53
# A column with more numbers than this has a stray text in it; one with fewer is categorical.
_MOSTLY = 0.5


@dataclass(frozen=True, slots=True)
class TypingRules:
    """How texts are to be understood."""

    missing: frozenset[str] = MISSING
    categorical: frozenset[str] = frozenset()
    decimal: str = "."


def find_decimal_mark(text: CsvText, columns: Iterable[Texts]) -> str:
    r"""Find out whether numbers have a decimal comma."""
    if text.separator != ";":
        return "."
    distinct = {value for column in columns for value in column.distinct}
    commas = sorted(v for v in distinct if "," in v and _COMMA.fullmatch(v))
    points = sorted(v for v in distinct if "." in v and _POINT.fullmatch(v))
    if commas and points:
        raise DataError(
            f"{text.name} has numbers with a comma ({commas[0]}) and with a point ({points[0]}); say which one is the "
            "decimal mark: decimal=',' or decimal='.'"
        )
    if commas and all(_GROUPED.fullmatch(value) for value in commas):
        raise DataError(
            f"{text.name}: {commas[0]!r} may be a decimal number, or thousands; say decimal=',' if the comma is the "
            "decimal mark, else write the numbers without it"
        )
    return "," if commas else "."


def likely_decimal_mark(text: CsvText, rows: Iterable[Sequence[str]]) -> str:
    """Return the decimal mark by some rows; `WholeTableNeeded` where they leave open whether commas mean thousands."""
    if text.separator != ";":
        return "."
    commas = {v for row in rows for v in row if "," in v and _COMMA.fullmatch(v)}
    if commas and all(_GROUPED.fullmatch(value) for value in commas):
        raise WholeTableNeeded
    return "," if commas else "."


def has_other_decimal_mark(text: CsvText, decimal: str, columns: Iterable[Any]) -> bool:
    """Check whether a text is a number with the other decimal mark than the one by which all numbers were read."""
    if text.separator != ";":
        return False
    other = "." if decimal == "," else ","
    texts = (column.distinct for column in columns if isinstance(column, Texts))
    return any(
        other in value and is_number(value, other) for distinct in texts for value in distinct
    )


def is_number(text: str, decimal: str) -> bool:
    """Tell whether a text is a number."""
    return (_POINT if decimal == "." else _COMMA).fullmatch(text) is not None


def column_values(
    name: str, texts: Texts, rules: TypingRules, text: CsvText
) -> tuple[NDArray[Any], str | None]:
    r"""Read the texts of a column as numbers where they are some."""
    is_missing = np.array([value in rules.missing for value in texts.distinct])
    is_numeric = np.array([is_number(value, rules.decimal) for value in texts.distinct])
    stray = ~is_missing & ~is_numeric
    counts = np.bincount(texts.codes, minlength=len(is_missing))
    n_known, n_stray = int(counts[~is_missing].sum()), int(counts[stray].sum())
    if name in rules.categorical or (n_stray and (n_known - n_stray) / n_known <= _MOSTLY):
        values = np.array([*texts.distinct, None], dtype=object)
        return values[np.where(is_missing[texts.codes], len(values) - 1, texts.codes)], None
    if n_stray:
        row = int(np.argmax(stray[texts.codes]))
        raise _stray_text(name, texts.distinct[texts.codes[row]], text, text.line_of(row))
    known = np.array(
        [
            np.nan if missing else float(value.replace(",", "."))
            for value, missing in zip(texts.distinct, is_missing.tolist(), strict=True)
        ]
    )
    numbers = known[texts.codes]
    if np.isinf(known).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise DataError(
            f"{text.name}, line {text.line_of(row)}: {texts.distinct[texts.codes[row]]!r} in column {name!r} is too "
            "large a number"
        )
    return as_whole(numbers), _large_integers(name, texts, known, counts, text)


def _stray_text(name: str, value: str, text: CsvText, line: int) -> DataError:
    return DataError(
        f"{text.name}, line {line}: {value!r} in column {name!r} is not a number, and most values of the column are. "
        f"If it stands for a missing value, add na={value!r}; if the column is categorical, add categories={name!r}; "
        "else correct it"
    )


def _large_integers(
    name: str, texts: Texts, known: FloatArray, counts: IntArray, text: CsvText
) -> str | None:
    """Say which integers floats cannot all tell apart."""
    if not (np.abs(known) >= MAX_EXACT_INTEGER).any():
        return None
    large = np.array([_is_large_integer(value) for value in texts.distinct])
    if not large.any():
        return None
    rounded = sum(
        int(counts[k])
        for k in np.flatnonzero(large).tolist()
        if int(texts.distinct[k]) != int(known[k])
    )
    row = int(np.argmax(large[texts.codes]))
    where = f"line {text.line_of(row)}: {texts.distinct[texts.codes[row]]}"
    return large_integer_note(name, text.name, where, rounded)


def _is_large_integer(text: str) -> bool:
    # A limit of Python is a few thousand digits; what has more is no float anyway.
    return (
        15 < len(text) < 400
        and _INTEGER.fullmatch(text) is not None
        and abs(int(text)) > MAX_EXACT_INTEGER
    )


def large_integer_note(name: str, file: str, where: str, rounded: int) -> str:
    """Say that a column holds integers that floats cannot all tell apart."""
    count = f"{rounded or 'none'} of them {'is' if rounded < 2 else 'are'}"
    return (
        f"column {name!r} of {file} holds integers above 2^53 ({where}), and {count} rounded, since numbers are kept "
        f"as floats; if the column is categorical, add categories={name!r}, or leave it out: drop={name!r}"
    )


def as_whole(numbers: FloatArray) -> NDArray[Any]:
    """Give numbers as integers, if all are some that floats can tell apart and none is missing."""
    if np.isnan(numbers).any() or (np.abs(numbers) > MAX_EXACT_INTEGER).any():
        return numbers
    whole = numbers.astype(np.int64)
    return whole if np.array_equal(whole, numbers) else numbers
