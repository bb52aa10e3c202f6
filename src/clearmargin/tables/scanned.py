"""Tables in files as partitions: Parquet, Feather and CSV, one file or a folder of them, larger than memory.

`scan` looks at the first rows only. A pass reads one file after the other, some rows at a time, and of Parquet and
Feather only the columns that are asked for. A table that is small enough is held after the first pass. A CSV file with
something in it that only all rows can tell (odd quotes, other encodings, gzip, columns whose first values mislead) is
read whole by `read_file`, which has the messages as well.
"""

from __future__ import annotations

import glob
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import DataError
from clearmargin.progress import Progress, advance, task
from clearmargin.rules.space import nearest_name
from clearmargin.tables.csv_text import CsvText, Texts, WholeTableNeeded, as_texts
from clearmargin.tables.files import (
    FEATHER,
    PARQUET,
    FileBytes,
    ReadOptions,
    columns_of,
    first_rows,
    index_columns,
    note_large_integers,
    number_columns,
    open_csv,
    read_file,
    stored_texts,
    stored_values,
)
from clearmargin.tables.part_survey import TableParts
from clearmargin.tables.table_part import TablePart, Values
from clearmargin.tables.typed_columns import MISSING, is_number, likely_decimal_mark

R = TypeVar("R")

# Values of a partition: 32 MB as floats, and its rows at most.
_PART_VALUES, _PART_ROWS = 1 << 22, 1 << 17
# Bytes of CSV text that are read at a time; as numbers they take about as much.
TEXT_BYTES = 4 << 20
# A table with at most so many bytes is held after the first pass, instead of being read in every pass.
HELD_BYTES = 1 << 28
_ENDINGS = (".parquet", ".pq", ".feather", ".arrow", ".csv", ".csv.gz", ".tsv", ".txt")


def find_files(path: str | Path | Sequence[str | Path]) -> list[str]:
    """List the files of a table: one file, the files of a folder, what a pattern matches, or several of these."""
    if not isinstance(path, str | Path):
        return [file for each in path for file in find_files(each)]
    place = Path(path)
    if place.is_dir():
        found = sorted(str(file) for file in place.iterdir() if file.name.endswith(_ENDINGS))
        if not found:
            raise DataError(
                f"the folder {path} holds no table; files with one of these endings are read: {', '.join(_ENDINGS)}"
            )
        return found
    if not place.exists() and glob.has_magic(str(path)):
        found = sorted(glob.glob(str(path)))  # noqa: PTH207 - any pattern, absolute ones too
        if not found:
            raise DataError(f"no file matches {path}")
        return found
    if not place.exists():
        raise DataError(f"there is no file {path}")
    return [str(path)]


def in_files(path: str) -> bool:
    """Tell whether a path names a file, a folder or a pattern, and neither standard input nor nothing at all."""
    return path != "-" and (Path(path).exists() or glob.has_magic(path))


def scan(
    path: str | Path | Sequence[str | Path],
    target: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    na: Sequence[str] = (),
    categories: Sequence[str] = (),
    drop: Sequence[str] = (),
    progress: Progress = "auto",
) -> ScannedTable:
    r"""Open a table in files that may be larger than memory, for estimators that read it in passes.

    Parameters
    ----------
    path : str or Path, or sequence of them
        A Parquet, Feather or CSV file, a folder of them, or a pattern such as ``"folder/*.parquet"``. All files have
        the same columns; their rows follow each other in the order of the names.
    target : str, optional
        The column of the classes; needed by `fit`.
    columns : sequence of str, optional
        The features, in this order; by default all other columns.
    separator, decimal, encoding : str, optional
        How CSV files are written, where they do not tell: a character or comma, semicolon, tab, bar; the decimal mark;
        the encoding.
    na : sequence of str, default ()
        Texts that stand for a missing value, beside the usual ones.
    categories, drop : sequence of str, default ()
        Columns of numbers that are categorical, and columns to leave out.
    progress : bool or "auto", default "auto"
        Whether a bar is shown for every pass over the rows; "auto" shows it on a terminal, if a pass takes long.

    Returns
    -------
    ScannedTable
        What `fit` of `LPSVC` and `RuleExtractor` takes in the place of X and y. The rows are not read yet.

    Examples
    --------
    >>> import tempfile
    >>> from clearmargin import LPSVC, scan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k in range(2):
    ...         _ = Path(folder, f"{k}.csv").write_text(f"age,bmi,y\n40,{22 + k},well\n61,{31 + k},ill\n")
    ...     table = scan(f"{folder}/*.csv", target="y")
    ...     LPSVC().fit(table).predict({"age": [61], "bmi": [31]})
    array(['ill'], dtype='<U4')
    """
    options = ReadOptions(separator, decimal, encoding, na, categories, drop)
    table = ScannedTable(find_files(path), target, columns, options)
    table.progress = progress
    return table


class ScannedTable(TableParts):
    """The rows of files in partitions; made by `scan`."""

    def __init__(
        self,
        files: Sequence[str],
        target: str | None = None,
        columns: Sequence[str] | None = None,
        options: ReadOptions | None = None,
    ):
        self.files, self.target, self.options = tuple(files), target, options or ReadOptions()
        self._readers: list[_Reader] = []
        first = self._reader(0)
        for name in () if target is None else (target,):
            first.require(name)
        for name in columns or ():
            first.require(name)
        if target is not None and columns is not None and target in columns:
            raise DataError(f"the target {target!r} cannot be a feature; leave it out of columns")
        chosen = first.names if columns is None else columns
        self._names = tuple(name for name in chosen if name != target)
        if not self._names:
            raise DataError(f"{files[0]} has no column beside {target!r}; is the separator right?")
        self.progress: Progress = False
        # Passes so far, counted together with tables of fewer columns.
        self._passes = [0]
        self._lengths: tuple[int, ...] | None = None
        self._held: tuple[TablePart, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The features."""
        return self._names

    @property
    def name(self) -> str:
        """What the table is called in messages: its file, or the folder of its files."""
        if len(self.files) == 1:
            return self.files[0]
        return f"{Path(self.files[0]).parent} ({len(self.files)} files)"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the files, as far as they were read."""
        return tuple(dict.fromkeys(note for reader in self._readers for note in reader.notes))

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of rows of each partition; they are counted in a pass, where no pass was made yet."""
        if self._lengths is None:
            self.map(_length)
        assert self._lengths is not None
        return self._lengths

    def select(self, names: Sequence[str]) -> ScannedTable:
        """Return the table with some of its features, of which alone Parquet and Feather files are read."""
        for name in names:
            if name not in self.names:
                raise DataError(
                    f"{self.name} has no column {name!r}{nearest_name(name, self.names)}"
                )
        part = copy(self)
        part._names = tuple(names)
        return part

    def map(
        self,
        f: Callable[..., R],
        own: Sequence[tuple[Any, ...]] | None = None,
        common: tuple[Any, ...] = (),
    ) -> list[R]:
        """Read the rows, and call a function on every partition of them, a `TablePart`; see `Partitions`."""
        self._passes[0] += 1
        label = f"reading {self.name}, pass {self._passes[0]}"
        while True:
            answers: list[R] = []
            try:
                with task(label, self._n_parts(), show=self.progress):
                    for part in self.parts():
                        arguments = () if own is None else own[len(answers)]
                        answers.append(f(part, *arguments, *common))
                        advance()
            except _StartAgain:
                continue
            return answers

    def _n_parts(self) -> int:
        """Return the number of partitions, about, as long as they were not counted."""
        if self._lengths is not None:
            return len(self._lengths)
        return sum(self._reader(k).n_batches() for k in range(len(self.files)))

    def parts(self) -> Iterator[TablePart]:
        """Read the rows, partition by partition."""
        if self._held is not None:
            yield from (part.select(self._columns()) for part in self._held)
            return
        lengths: list[int] = []
        # Files with more bytes than may be held will hardly have fewer as numbers.
        size = sum(Path(file).stat().st_size for file in self.files)
        held: list[TablePart] | None = [] if size <= HELD_BYTES else None
        size = 0
        for part in self._read():
            if self._lengths is not None and part.rows.shape != (self._lengths[len(lengths)],):
                raise DataError(f"{part.place} changed while it was read; try again")
            lengths.append(len(part.rows))
            size += part.n_bytes
            held = [*held, part] if held is not None and size <= HELD_BYTES else None
            yield part
        if not sum(lengths):
            raise DataError(f"{self.name} has no rows")
        if self._lengths not in (None, tuple(lengths)):
            raise DataError(f"{self.name} changed while it was read; try again")
        self._lengths = tuple(lengths)
        self._held = None if held is None else tuple(held)

    def _columns(self) -> list[str]:
        return [*self.names, *([] if self.target is None else [self.target])]

    def _read(self) -> Iterator[TablePart]:
        start = 0
        for k, file in enumerate(self.files):
            first = start
            reader = self._reader(k)
            for name in self._columns():
                reader.require(name)
            try:
                for columns in reader.batches(self._columns()):
                    m = _n_rows(columns)
                    yield TablePart(columns, np.arange(start, start + m), file, first)
                    start += m
            except WholeTableNeeded:
                if self._lengths is not None:
                    raise DataError(f"{file} changed while it was read; try again") from None
                self._readers[k] = _WholeReader(file, self.options)
                raise _StartAgain from None

    def _reader(self, k: int) -> _Reader:
        """Open a file, once."""
        while len(self._readers) <= k:
            self._readers.append(_open(self.files[len(self._readers)], self.options))
        return self._readers[k]


class _StartAgain(Exception):  # noqa: N818 - not an error
    """A file has to be read in another way, and what was read of it does not count."""


def _length(part: TablePart) -> int:
    return len(part.rows)


def _n_rows(columns: dict[str, Values]) -> int:
    first = next(iter(columns.values()))
    return len(first.codes if isinstance(first, Texts) else first)


class _Reader(ABC):
    """One file: its columns, and its rows some at a time."""

    def __init__(self, file: str, names: Sequence[str], options: ReadOptions):
        self.file = file
        dropped = options.dropped(names, file)
        self.names = [name for name in names if name not in dropped]
        self.categorical = options.categorical(names, file)
        self.notes: list[str] = []

    def require(self, name: str) -> None:
        """Raise if the file lacks a column."""
        if name not in self.names:
            raise DataError(f"{self.file} has no column {name!r}{nearest_name(name, self.names)}")

    def n_batches(self) -> int:
        """Tell about how many batches there will be."""
        return max(1, Path(self.file).stat().st_size // TEXT_BYTES)

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[dict[str, Values]]:
        """Read some rows at a time; in every pass the same ones."""


def _open(file: str, options: ReadOptions) -> _Reader:
    source = FileBytes.find(file)
    if source.head.startswith((PARQUET, *FEATHER)):
        return _ArrowReader(file, options, is_parquet=source.head.startswith(PARQUET))
    try:
        return _CsvReader(open_csv(source, options), options)
    except WholeTableNeeded:
        return _WholeReader(file, options)


class _ArrowReader(_Reader):
    """A Parquet or Feather file."""

    def __init__(self, file: str, options: ReadOptions, *, is_parquet: bool):
        import pyarrow as pa
        from pyarrow import ipc, parquet

        try:
            # Bytes that are read ahead would be kept as long as the file is open.
            self._stored = (
                parquet.ParquetFile(file, pre_buffer=False) if is_parquet else ipc.open_file(file)
            )
        except (pa.ArrowException, OSError) as error:
            kind = "Parquet" if is_parquet else "Feather"
            raise DataError(f"{file} is a damaged {kind} file: {error}") from error
        schema = self._stored.schema_arrow if is_parquet else self._stored.schema
        self._is_parquet = is_parquet
        aside = index_columns(schema)
        super().__init__(file, [name for name in schema.names if name not in aside], options)
        self._rows = min(_PART_ROWS, max(256, _PART_VALUES // max(1, len(self.names))))

    def batches(self, names: Sequence[str]) -> Iterator[dict[str, Values]]:
        """Read some rows at a time; in every pass the same ones."""
        import pyarrow as pa

        try:
            for batch in self._stored_batches(list(names)):
                if len(batch):
                    table = pa.Table.from_batches([batch])
                    yield {name: self._values(name, table.column(name)) for name in names}
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.file} is damaged: {error}") from error

    def n_batches(self) -> int:
        """Tell about how many batches there will be."""
        if not self._is_parquet:
            return int(self._stored.num_record_batches)
        return max(1, int(self._stored.metadata.num_rows) // self._rows)

    def _stored_batches(self, names: list[str]) -> Iterator[Any]:
        if self._is_parquet:
            yield from self._stored.iter_batches(self._rows, columns=names, use_threads=False)
            return
        for k in range(self._stored.num_record_batches):
            batch = self._stored.get_batch(k)
            for start in range(0, len(batch), self._rows):
                yield batch.slice(start, self._rows)

    def _values(self, name: str, column: Any) -> Values:
        import pyarrow as pa

        kind = column.type
        is_plain = (
            pa.types.is_float32(kind) or pa.types.is_float64(kind) or pa.types.is_integer(kind)
        )
        if pa.types.is_integer(kind) and name not in self.categorical:
            self.notes += note_large_integers(self.file, name, column)
        if is_plain and name not in self.categorical and not column.null_count:
            return np.asarray(column.to_numpy())
        is_number = (
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        )
        if (is_number and name not in self.categorical) or pa.types.is_temporal(kind):
            return stored_values(self.file, name, column, is_categorical=False)
        if pa.types.is_nested(kind):
            return stored_values(self.file, name, column, is_categorical=True)
        return stored_texts(column)


class _CsvReader(_Reader):
    """A CSV file, whose columns are all looked at in the first pass."""

    def __init__(self, text: CsvText, options: ReadOptions):
        import pyarrow as pa

        text.check_header()
        if not all(text.header):
            raise WholeTableNeeded
        super().__init__(text.name, text.header, options)
        self._text = text
        self._missing = sorted(MISSING | frozenset(options.na))
        self._decimal = options.decimal or likely_decimal_mark(text, first_rows(text))
        # A semicolon leaves open which mark is the decimal one.
        is_open = options.decimal is None and text.separator == ";"
        self._other_mark = {",": ".", ".": ","}[self._decimal] if is_open else None
        self._coded = pa.dictionary(pa.int32(), pa.string())
        numeric = number_columns(text, self._missing, self._decimal)
        self._types = [
            pa.float64() if number and name not in self.categorical else self._coded
            for name, number in zip(text.header, numeric, strict=True)
        ]
        self._is_known = False

    def batches(self, names: Sequence[str]) -> Iterator[dict[str, Values]]:
        """Read some rows at a time; in every pass the same ones."""
        import pyarrow as pa

        read = list(names) if self._is_known else self.names
        places = [self._text.header.index(name) for name in read]
        batches = self._text.blocks(self._types, self._missing, self._decimal, places, TEXT_BYTES)
        for batch in batches:
            if not len(batch):
                continue
            columns = pa.Table.from_batches([batch]).columns
            # Lines of separators alone are found in all columns of the first pass only.
            values = _known_columns(columns) if self._is_known else columns_of(columns)
            found = dict(zip(read, values, strict=True))
            if not self._is_known:
                self._check(found)
            yield {name: self._without_missing(found[name]) for name in names}
        self._is_known = True

    def _check(self, columns: dict[str, Values]) -> None:
        """Insist that columns of texts hold no number: most of it may be numbers."""
        marks = [mark for mark in (self._decimal, self._other_mark) if mark is not None]
        for name, values in columns.items():
            if not isinstance(values, Texts) or name in self.categorical:
                continue
            if any(is_number(text, mark) for text in values.distinct for mark in marks):
                raise WholeTableNeeded

    def _without_missing(self, values: Values) -> Values:
        if not isinstance(values, Texts):
            return values
        missing = [k for k, text in enumerate(values.distinct) if text in self._missing]
        if not missing:
            return values
        return Texts(values.distinct, np.where(np.isin(values.codes, missing), -1, values.codes))


def _known_columns(columns: Sequence[Any]) -> list[Values]:
    import pyarrow as pa

    return [
        as_texts(column) if pa.types.is_dictionary(column.type) else column.to_numpy()
        for column in columns
    ]


class _WholeReader(_Reader):
    """A file that has to be read whole."""

    def __init__(self, file: str, options: ReadOptions):
        table = read_file(file, options)
        self._columns: dict[str, Values] = {
            name: _coded(values) if values.dtype == object else values
            for name, values in table.columns.items()
        }
        super().__init__(file, list(self._columns), replace(options, drop=()))
        self.notes += table.notes

    def batches(self, names: Sequence[str]) -> Iterator[dict[str, Values]]:
        """Give some rows at a time."""
        whole = TablePart(self._columns, np.arange(_n_rows(self._columns)), self.file).select(names)
        for start in range(0, len(whole.rows), _PART_ROWS):
            yield dict(whole.take(slice(start, start + _PART_ROWS)).columns)


def _coded(values: NDArray[Any]) -> Texts:
    """Number the texts of an array of objects, None as -1."""
    place: dict[str, int] = {}
    codes = [-1 if text is None else place.setdefault(text, len(place)) for text in values.tolist()]
    return Texts(list(place), np.array(codes, dtype=np.int32))


def has_more_rows(path: str | Path, rows: int) -> bool:
    """Tell whether a file has more rows than this, without reading more of it than needed."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as stream:
        start = stream.read(1 << 16)
        if start.startswith(PARQUET):
            return _n_stored_rows(path) > rows
        if start.startswith((b"\x1f\x8b", b"PK\x03\x04", *FEATHER)):
            return start.startswith(FEATHER) and _n_stored_rows(path) > rows
        lines, block = start.count(b"\n"), start
        while block and lines <= rows + 1:
            block = stream.read(1 << 20)
            lines += block.count(b"\n")
    return lines > rows + 1


def _n_stored_rows(path: str | Path) -> int:
    import pyarrow as pa
    from pyarrow import ipc, parquet

    try:
        with Path(path).open("rb") as stream:
            if stream.read(4) == PARQUET:
                return int(parquet.ParquetFile(path).metadata.num_rows)
        with ipc.open_file(str(path)) as file:
            return sum(len(file.get_batch(k)) for k in range(file.num_record_batches))
    except (pa.ArrowException, OSError):
        return 0
