"""A table in a file, CSV, Parquet or Feather, read whole: each column as numbers or categories.

`read_file` is what people call; tables too large to be held are read by `clearmargin.tables.scanned`. A CSV file is cut
by pyarrow, with those columns as numbers that look like it in the first lines. Only where that turns out to be wrong,
or a number is too large, are all columns read as texts, and understood by the rules of `typed_columns`.
"""

from __future__ import annotations

import gzip
import io
import math
import sys
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import DataError
from clearmargin.rules.space import category_name, nearest_name
from clearmargin.tables.csv_text import (
    SEPARATORS,
    CsvText,
    Texts,
    WholeTableNeeded,
    as_texts,
    as_utf8,
    find_encoding,
)
from clearmargin.tables.table import Table
from clearmargin.tables.typed_columns import (
    MAX_EXACT_INTEGER,
    MISSING,
    TypingRules,
    as_whole,
    column_values,
    find_decimal_mark,
    has_other_decimal_mark,
    is_number,
    large_integer_note,
    likely_decimal_mark,
)

_GZIP, PARQUET, _ZIP = b"\x1f\x8b", b"PAR1", b"PK\x03\x04"
FEATHER = (b"ARROW1", b"FEA1")
# Many more than the lines that are looked at to find separators, quotes and numbers.
HEAD_BYTES = 1 << 20
# Rows that show which columns are numbers.
_ROWS_TRIED = 200


@dataclass(frozen=True, slots=True)
class ReadOptions:
    r"""How a table is to be read, where the file itself does not tell."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    na: Sequence[str] = ()
    categories: Sequence[str] = ()
    drop: Sequence[str] = ()
    time: str | None = None

    @property
    def mark(self) -> str | None:
        """The separator as it stands in the file."""
        mark = SEPARATORS.get(self.separator or "", self.separator)
        if mark is not None and (len(mark) != 1 or mark in '\r\n"'):
            known = ", ".join(SEPARATORS)
            raise DataError(
                f"separator={self.separator!r} is neither a single letter nor one of {known}"
            )
        return mark

    def dropped(self, known: Collection[str], file: str) -> list[str]:
        """Give the columns to leave out; one that the table lacks is an error."""
        names = names_in(self.drop, known)
        for name in names:
            if name not in known:
                raise DataError(f"{file} has no column {name!r}{nearest_name(name, known)}")
        return names

    def categorical(self, known: Collection[str], file: str) -> frozenset[str]:
        """Give the columns that are categorical whatever they hold; one that the table lacks is an error."""
        names = names_in(self.categories, known)
        for name in names:
            if name not in known:
                hint = nearest_name(name, known)
                raise DataError(f"categories: {file} has no column {name!r}{hint}")
        return frozenset(names)


def names_in(given: Iterable[str], known: Collection[str] = ()) -> list[str]:
    """Take names apart that have commas between; a known name may have commas itself."""
    names: list[str] = []
    for text in given:
        names += [text] if text in known else [name.strip() for name in text.split(",")]
    return [name for name in names if name]


@dataclass(frozen=True)
class FileTable:
    """A table that was read from a file."""

    name: str
    columns: dict[str, NDArray[Any]]
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def table(self) -> Table:
        """The columns as estimators take them, each looked at once; rows are counted from 0."""
        return Table.of_columns(self.columns)

    def __len__(self) -> int:
        return len(self.table)


def read_file(path: str | Path, options: ReadOptions | None = None) -> FileTable:
    r"""Read a table from a file."""
    chosen = options or ReadOptions()
    source = FileBytes.find(str(path))
    if source.head.startswith((PARQUET, *FEATHER)):
        return _read_arrow(source, chosen)
    return _read_csv(open_csv(source, chosen), chosen)


class FileBytes:
    """The bytes of a file, opened as often as needed: the first ones, by which all is found out, are read once."""

    def __init__(self, name: str, head: bytes, path: str | None = None):
        self.name, self.head, self.path = name, head, path

    @classmethod
    def find(cls, path: str) -> FileBytes:
        """Read the first bytes of a file, "-" for standard input; gzip is undone."""
        name = "standard input" if path == "-" else path
        if path == "-":
            content = sys.stdin.buffer.read()
        else:
            with Path(path).open("rb") as stream:
                content = stream.read(HEAD_BYTES)
                if not content.startswith(_GZIP):
                    return cls(name, content, path if len(content) == HEAD_BYTES else None)
                content += stream.read()
        if content.startswith(_GZIP):
            try:
                content = gzip.decompress(content)
            except (OSError, EOFError, zlib.error) as error:
                raise DataError(f"{name} is packed by gzip and damaged: {error}") from error
        return cls(name, content)

    def open(self) -> BinaryIO:
        """Open the file at its start; where that is enough, the bytes that were read already are given again."""
        if self.path is None:
            return io.BytesIO(self.head)
        return io.BufferedReader(_HeadAndRest(self.head, self.path))

    def open_seekable(self) -> BinaryIO:
        """Open the file such that one can go to any place in it."""
        return io.BytesIO(self.head) if self.path is None else Path(self.path).open("rb")

    def refusing_zeros(self) -> Callable[[], BinaryIO]:
        """Give `open` for text, in which no byte is zero; one that is there is an error."""
        if b"\0" in self.head:
            raise self._no_text()
        if self.path is None:
            return self.open
        return lambda: io.BufferedReader(_HeadAndRest(self.head, str(self.path), self._no_text()))

    def _no_text(self) -> DataError:
        return DataError(f"{self.name} is no text; a table in CSV or Parquet is needed")


class _HeadAndRest(io.RawIOBase):
    """Bytes of which the first ones are known: the file is opened as soon as others are needed."""

    def __init__(self, head: bytes, path: str, zero: DataError | None = None):
        self._head, self._place = head, 0
        self._path, self._zero = path, zero
        self._rest: BinaryIO | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        part = self._head[self._place : self._place + len(buffer)]
        if not part:
            if self._rest is None:
                self._rest = Path(self._path).open("rb")  # noqa: SIM115 - closed with this
                self._rest.seek(len(self._head))
            part = self._rest.read(len(buffer))
            if self._zero is not None and b"\0" in part:
                raise self._zero
        self._place += len(part)
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        if self._rest is not None:
            self._rest.close()
        super().close()


def open_csv(source: FileBytes, options: ReadOptions) -> CsvText:
    """Open a CSV file as text."""
    if source.head.startswith(_ZIP):
        raise DataError(
            f"{source.name} is a zip archive or a spreadsheet; save the sheet as CSV (UTF-8) and use that"
        )
    mark = options.mark
    with source.open() as stream:
        if not any(block.strip() for block in iter(lambda: stream.read(HEAD_BYTES), b"")):
            raise DataError(
                f"{source.name} is empty; a table with a line of column names is needed"
            )
    encoding = find_encoding(source.head, options.encoding)
    if options.encoding is None and encoding == "utf-8":
        return CsvText(source.name, source.refusing_zeros(), mark)
    if encoding in ("utf-8", "utf-8-sig"):
        return CsvText(source.name, source.open, mark, encoding)
    with source.open() as stream:
        text = as_utf8(stream.read(), source.name, encoding)
    return CsvText(source.name, lambda: io.BytesIO(text), mark)


def _read_csv(text: CsvText, options: ReadOptions) -> FileTable:
    columns, decimal = _numbers_and_texts(text, options) or (text.read_texts(), options.decimal)
    text.check_header()
    notes = [
        f"column {j} of {text.name} has no name and is left out"
        for j, title in enumerate(text.header, 1)
        if not title
    ]
    names = [title for title in text.header if title]
    categorical = options.categorical(names, text.name)
    named = [column for title, column in zip(text.header, columns, strict=True) if title]
    texts = [column for column in named if isinstance(column, Texts)]
    decimal = decimal or find_decimal_mark(text, texts)
    dropped = options.dropped(names, text.name)
    rules = TypingRules(MISSING | frozenset(options.na), categorical, decimal)
    read: dict[str, NDArray[Any]] = {}
    for title, column in zip(text.header, columns, strict=True):
        if not title or title in dropped:
            continue
        if isinstance(column, Texts):
            read[title], note = column_values(title, column, rules, text)
            notes += [] if note is None else [note]
        else:
            read[title] = as_whole(column)
    return FileTable(text.name, read, tuple(notes))


def number_columns(text: CsvText, missing: Collection[str], decimal: str) -> list[bool]:
    """Return which columns look like numbers, by the first rows; True only if nothing speaks against it."""
    rows = first_rows(text)
    known = [{row[j] for row in rows} - set(missing) for j in range(len(text.header))]
    return [
        bool(distinct) and all(is_number(value, decimal) for value in distinct)
        for distinct in known
    ]


def first_rows(text: CsvText) -> list[list[str]]:
    """Return the values of the first rows, which show what columns hold."""
    return [row for _, row in islice(text.rows(), _ROWS_TRIED)]


def _numbers_and_texts(text: CsvText, options: ReadOptions) -> tuple[list[Any], str] | None:
    """Read columns as numbers or texts, and the decimal mark, by the first rows; None where only all texts can tell."""
    import pyarrow as pa

    missing = sorted(MISSING | frozenset(options.na))
    aside = {*names_in(options.categories, text.header), *names_in(options.drop, text.header), ""}
    coded = pa.dictionary(pa.int32(), pa.string())
    try:
        decimal = options.decimal or likely_decimal_mark(text, first_rows(text))
        is_number = number_columns(text, missing, decimal)
        types = [
            pa.float64() if number and title not in aside else coded
            for number, title in zip(is_number, text.header, strict=True)
        ]
        table = text.read(types, missing, decimal)
        columns = columns_of(table.columns) if len(table) else None
        if columns is None or (
            options.decimal is None and has_other_decimal_mark(text, decimal, columns)
        ):
            return None
        return columns, decimal
    except (DataError, WholeTableNeeded, pa.ArrowInvalid):
        return None


def columns_of(chunked: Sequence[Any]) -> list[Any]:
    """Read columns of pyarrow as floats or texts; `WholeTableNeeded` where only texts can tell what they hold."""
    import pyarrow as pa

    limit = MAX_EXACT_INTEGER
    columns: list[Any] = []
    # Rows in which nothing was met so far.
    blank: NDArray[np.bool_] | None = np.array(True)
    for column in chunked:
        if pa.types.is_dictionary(column.type):
            columns.append(as_texts(column))
            blank = None if blank is None else blank & columns[-1].is_empty
        else:
            columns.append(column.to_numpy())
            known = columns[-1] if not column.null_count else column.drop_null().to_numpy()
            # Words such as inf are no numbers, and large integers deserve a word.
            if len(known) and not (-limit < known.min() and known.max() < limit):
                raise WholeTableNeeded
            is_full = blank is None or not column.null_count
            blank = None if is_full else blank & column.is_null().to_numpy()
        blank = None if blank is None or not blank.any() else blank
    if blank is not None:
        raise WholeTableNeeded  # rows that hold nothing, or missing values alone
    return columns


def _read_arrow(source: FileBytes, options: ReadOptions) -> FileTable:
    import pyarrow as pa
    from pyarrow import feather, parquet

    name, is_parquet = source.name, source.head.startswith(PARQUET)
    try:
        with source.open_seekable() as stream:
            stored = parquet.read_table(stream) if is_parquet else feather.read_table(stream)
    except (OSError, ValueError, pa.ArrowException) as error:
        kind = "Parquet" if is_parquet else "Feather"
        raise DataError(f"{name} is a damaged {kind} file: {error}") from error
    if not len(stored):
        raise DataError(f"{name} has column names and no rows")
    kept = [title for title in stored.column_names if title not in index_columns(stored.schema)]
    categorical = options.categorical(kept, name)
    dropped = options.dropped(kept, name)
    read: dict[str, NDArray[Any]] = {}
    notes: list[str] = []
    for title in kept:
        if title in dropped:
            continue
        column = stored.column(title)
        if title not in categorical and pa.types.is_integer(column.type):
            notes += note_large_integers(name, title, column)
        is_time = title == options.time and pa.types.is_temporal(column.type)
        read[title] = (
            column.to_numpy()
            if is_time
            else stored_values(name, title, column, title in categorical)
        )
    return FileTable(name, read, tuple(notes))


def index_columns(schema: Any) -> list[str]:
    """Find the columns that hold the index of a data frame of pandas."""
    stored = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in stored if isinstance(name, str)]


def note_large_integers(file: str, name: str, column: Any) -> list[str]:
    """Say, where it is so, that a column holds integers that floats cannot all tell apart."""
    known = column.drop_null().to_pylist() if _has_large(column) else []
    large = [value for value in known if abs(value) > MAX_EXACT_INTEGER]
    if not large:
        return []
    rounded = sum(value != int(float(value)) for value in large)
    return [large_integer_note(name, file, str(large[0]), rounded)]


def _has_large(column: Any) -> bool:
    from pyarrow import compute

    ends = compute.min_max(column).as_py()
    return any(end is not None and abs(end) > MAX_EXACT_INTEGER for end in ends.values())


def stored_values(file: str, name: str, column: Any, is_categorical: bool) -> NDArray[Any]:
    """Return a column of a Parquet or Feather file as numbers or texts."""
    import pyarrow as pa

    kind = column.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if is_number and not is_categorical:
        numbers = np.asarray(column.cast(pa.float64(), safe=False).to_numpy())
        is_whole = pa.types.is_integer(kind) and not column.null_count
        return numbers.astype(np.int64) if is_whole else numbers
    if pa.types.is_temporal(kind) or pa.types.is_nested(kind):
        what = "dates or times" if pa.types.is_temporal(kind) else f"several values a row ({kind})"
        raise DataError(
            f"column {name!r} of {file} holds {what}; turn them into numbers, or leave the column out: drop={name!r}"
        )
    texts = stored_texts(column)
    return np.asarray(np.array([*texts.distinct, None], dtype=object)[texts.codes])


def stored_texts(column: Any) -> Texts:
    """Return a column of a Parquet or Feather file as texts, code -1 where missing; numbers are categories, too."""
    import pyarrow as pa

    is_coded = pa.types.is_dictionary(column.type)
    coded = column.unify_dictionaries() if is_coded else column.dictionary_encode()
    whole = coded.combine_chunks()
    names = [_text(value) for value in whole.dictionary.to_pylist()]
    codes = whole.indices.cast(pa.int32()).fill_null(-1).to_numpy()
    # One text may stand twice, and so may what is missing.
    place = {name: k for k, name in enumerate(dict.fromkeys(n for n in names if n is not None))}
    new = [*(-1 if name is None else place[name] for name in names), -1]
    return Texts(list(place), np.array(new, dtype=np.int32)[codes])


def _text(value: object) -> str | None:
    is_missing = value is None or (isinstance(value, float) and math.isnan(value))
    return None if is_missing else category_name(value)
