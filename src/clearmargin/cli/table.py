"""The user's table: read from CSV or Parquet, as a data frame of numbers and texts."""

from __future__ import annotations

import argparse
import io
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.cli.console import Console
from clearmargin.cli.csv_text import SEPARATORS, read_text_table
from clearmargin.cli.source import Source, read_source, read_text
from clearmargin.cli.typed_columns import (
    GAPS,
    LAST_SURE_WHOLE,
    Reading,
    find_decimal_mark,
    large_integer_note,
    large_integer_notes,
    read_columns,
)
from clearmargin.exceptions import DataError, MissingDependencyError
from clearmargin.rules.space import category_name, nearest_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Table", "find_column", "names_in", "need_pandas", "read_table"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table, with the name of where it comes from.

    Parameters
    ----------
    name : str
        For messages.
    frame : DataFrame
        Numbers, and texts as objects; its index counts the rows from 0.
    """

    name: str
    frame: pd.DataFrame


def names_in(given: list[str], known: Any = ()) -> list[str]:
    """Take names apart that have commas between; a known name may have commas itself.

    Examples
    --------
    >>> names_in(["age,bmi", "a, b"], ["age", "bmi", "a, b"])
    ['age', 'bmi', 'a, b']
    """
    names: list[str] = []
    for text in given:
        names += [text] if text in known else [name.strip() for name in text.split(",")]
    return [name for name in names if name]


def find_column(name: str, table: Table) -> str:
    """Insist that a table has a column."""
    if name not in table.frame.columns:
        hint = nearest_name(name, table.frame.columns)
        raise DataError(f"{table.name} has no column {name!r}{hint}")
    return name


def need_pandas() -> ModuleType:
    """Import pandas, or say how to get it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError(
            "tables are read with pandas, which is not installed: pip install clearmargin[frames]"
        ) from error
    return pd


def read_table(arguments: argparse.Namespace, console: Console) -> Table:
    """Read the table that the user names.

    Parameters
    ----------
    arguments : Namespace
        With the options of `clearmargin.cli.options.TABLE`.
    console : Console
        Where to say what was left out.

    Returns
    -------
    Table
        Without the columns that the user drops.
    """
    pandas = need_pandas()
    source = read_source(arguments.data)
    columns = (
        _read_parquet(source, arguments, pandas, console)
        if source.is_parquet
        else _read_csv(source, arguments, console)
    )
    table = Table(source.name, pandas.DataFrame(columns))
    dropped = names_in(arguments.drop, table.frame.columns)
    for name in dropped:
        find_column(name, table)
    return Table(source.name, table.frame.drop(columns=dropped))


def _read_csv(source: Source, arguments: argparse.Namespace, console: Console) -> dict[str, Any]:
    given = arguments.separator
    mark = SEPARATORS.get(given, given)
    if mark is not None and (len(mark) != 1 or mark in '\r\n"'):
        known = ", ".join(SEPARATORS)
        raise DataError(f"--separator {given!r} is neither a single letter nor one of {known}")
    texts = read_text_table(read_text(source, arguments.encoding), source.name, mark)
    for position in texts.unnamed:
        console.note(f"column {position} of {source.name} has no name and is left out")
    wanted = _categories(arguments, source, texts.columns)
    decimal = find_decimal_mark(texts, arguments.decimal)
    gaps = GAPS | frozenset(arguments.na)
    dropped = names_in(arguments.drop, texts.columns)
    # What is dropped afterwards may hold anything, which texts can.
    as_texts = wanted | frozenset(dropped)
    columns = dict(read_columns(texts, Reading(gaps, as_texts, decimal)))
    kept = {name: values for name, values in columns.items() if name not in dropped}
    for note in large_integer_notes(texts, kept):
        console.note(note)
    return columns


def _categories(arguments: argparse.Namespace, source: Source, known: Any) -> frozenset[str]:
    wanted = names_in(arguments.categories, known)
    for name in wanted:
        if name not in known:
            hint = nearest_name(name, known)
            raise DataError(f"--categories: {source.name} has no column {name!r}{hint}")
    return frozenset(wanted)


def _read_parquet(
    source: Source, arguments: argparse.Namespace, pandas: ModuleType, console: Console
) -> dict[str, Any]:
    try:
        stored = pandas.read_parquet(io.BytesIO(source.content), engine="pyarrow")
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files are read with pyarrow, which is not installed: pip install pyarrow"
        ) from error
    except (OSError, ValueError) as error:
        raise DataError(f"{source.name} is a damaged Parquet file: {error}") from error
    if not len(stored):
        raise DataError(f"{source.name} has column names and no rows")
    wanted = _categories(arguments, source, [str(name) for name in stored.columns])
    dropped = names_in(arguments.drop, [str(name) for name in stored.columns])
    for name in stored.columns:
        if str(name) not in wanted and str(name) not in dropped:
            _note_large_integers(source, str(name), stored[name], console)
    columns = {}
    for name in map(str, stored.columns):
        if name in dropped:  # it may hold anything
            columns[name] = np.zeros(len(stored))
        elif name == getattr(arguments, "time", None) and stored[name].dtype.kind == "M":
            columns[name] = stored[name]  # says how rows are split, and is no feature
        else:
            columns[name] = _plain(source, name, stored[name], name in wanted)
    return columns


def _note_large_integers(source: Source, name: str, column: Any, console: Console) -> None:
    if getattr(column.dtype, "kind", "O") not in "iu":
        return
    known = column.dropna().to_numpy()
    large = np.flatnonzero(
        (known > LAST_SURE_WHOLE) | (known < -LAST_SURE_WHOLE if known.dtype.kind == "i" else False)
    )
    if len(large):
        rounded = sum(int(known[k]) != int(float(known[k])) for k in large)
        console.note(
            large_integer_note(f"{name!r} of {source.name}", f"{known[large[0]]}", rounded, name)
        )


def _plain(source: Source, name: str, column: Any, is_category: bool) -> Any:
    """A column as numbers or texts."""
    kind = column.dtype.kind if hasattr(column.dtype, "kind") else "O"
    if kind in "iuf" and not is_category:
        numbers = column.to_numpy(dtype="float64", na_value=np.nan)
        whole = kind != "f" and not np.isnan(numbers).any()
        return numbers.astype("int64") if whole else numbers
    if kind in "Mm":
        raise DataError(
            f"column {name!r} of {source.name} holds dates or times; turn them into numbers, or leave the column out: "
            f"--drop {name!r}"
        )
    missing = column.isna().to_numpy()
    values = column.astype(object).to_numpy()
    texts = [
        None if gap else category_name(value) for gap, value in zip(missing, values, strict=True)
    ]
    return np.array(texts, dtype=object)
