"""A table in a file, block by block, for tables too large to be held.

`TableBlocks` gives the rows in order, a few thousand at a time: some columns as numbers, one as classes. `read_blocks`
gives all columns, each of one type throughout. What cannot be told without all rows (a column that is numbers in one
block and texts in another one, odd quotes, missing names) raises `WholeTableNeeded`: then `read_file` has to be asked,
which also has the messages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import DataError
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.csv_text import CsvText, Texts, WholeTableNeeded
from clearmargin.tables.files import (
    FEATHER,
    PARQUET,
    FileBytes,
    FileTable,
    ReadOptions,
    columns_of,
    index_columns,
    number_columns,
    open_csv,
    stored_values,
)
from clearmargin.tables.typed_columns import MAX_EXACT_INTEGER, MISSING, is_number

__all__ = ["Block", "TableBlocks", "WholeTableNeeded", "has_more_rows", "read_blocks"]

# Bytes of text that are read at a time; as numbers they take about as much. Rows of other files at a time.
BLOCK_BYTES, BLOCK_ROWS = 2 << 20, 1 << 16


class Block(NamedTuple):
    """Some rows: the features as numbers, column by column in memory, and for each row the place of its class."""

    X: FloatArray
    codes: IntArray
    classes: list[str]


class TableBlocks:
    r"""The rows of a file, block by block: some columns as numbers, one as classes.

    Parameters
    ----------
    path : str or Path
        A CSV, Parquet or Feather file that is not packed.
    features : sequence of str
        The columns that are to be numbers, in the order of the blocks.
    target : str
        The column of the classes, which are texts.
    options : ReadOptions, optional
        How to read the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("age,bmi,y\n40,22.5,well\n61,31,ill\n")
    ...     list(TableBlocks(path, ["bmi"], "y").blocks())
    [Block(X=array([[22.5],
           [31. ]]), codes=array([0, 1]), classes=['well', 'ill'])]
    """

    def __init__(
        self,
        path: str | Path,
        features: Sequence[str],
        target: str,
        options: ReadOptions | None = None,
    ):
        self.name, self.features, self.target = str(path), list(features), target
        chosen = options or ReadOptions()
        self.missing = MISSING | frozenset(chosen.na)
        self._file = _open_blocks(str(path), chosen, texts=[target])
        needed = {target, *self.features}
        if (
            not needed <= set(self._file.names)
            or target in self.features
            or self._file.dropped & needed
            or not all(self._file.is_numeric(name) for name in self.features)
        ):
            raise WholeTableNeeded
        self.has_text_classes = target in self._file.categorical or self._file.has_text_type(target)

    def blocks(self, only: Collection[str] | None = None) -> Iterator[Block]:
        """Read the rows; `WholeTableNeeded` as soon as a feature is no number, missing, or too large.

        Parameters
        ----------
        only : collection of str, optional
            The features to read, where the table was read before and the others do not matter: they are zero.

        Yields
        ------
        Block
            Some rows.
        """
        read = [j for j, name in enumerate(self.features) if only is None or name in only]
        names = [*(self.features[j] for j in read), self.target]
        for columns in self._file.columns(names, only is None):
            classes = columns[self.target]
            X = np.zeros((len(classes.codes), len(self.features)), order="F")
            for j in read:
                X[:, j] = columns[self.features[j]]
            if not np.isfinite(X).all():
                raise WholeTableNeeded
            yield Block(X, classes.codes.astype(np.intp), classes.distinct)


def read_blocks(path: str | Path, options: ReadOptions | None = None) -> Iterator[FileTable]:
    r"""Read a table from a file, some rows at a time, for what is done row by row.

    Parameters
    ----------
    path : str or Path
        A CSV, Parquet or Feather file.
    options : ReadOptions, optional
        How to read the file.

    Yields
    ------
    FileTable
        Some rows, with the values that `read_file` gives.

    Raises
    ------
    WholeTableNeeded
        As soon as something is odd or wrong, or deserves a note.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("age,smoker\n40,no\n?,yes\n")
    ...     [table.columns for table in read_blocks(path)]
    [{'age': array([40., nan]), 'smoker': array(['no', 'yes'], dtype=object)}]
    """
    chosen = options or ReadOptions()
    missing = MISSING | frozenset(chosen.na)
    file = _open_blocks(str(path), chosen)
    names = [name for name in file.names if name not in file.dropped]
    for columns in file.columns(names, all_columns=True):
        values = {name: columns[name] for name in names}
        for name, column in values.items():
            if isinstance(column, Texts):
                known = [None if text in missing else text for text in column.distinct]
                values[name] = np.array(known, dtype=object)[column.codes]
        yield FileTable(str(path), values)


def _open_blocks(
    path: str, options: ReadOptions, texts: Collection[str] = ()
) -> _CsvBlocks | _ArrowBlocks:
    """Open a file; some columns are texts, whatever they hold."""
    source = FileBytes.find(path)
    try:
        if source.head.startswith((PARQUET, *FEATHER)):
            return _ArrowBlocks(path, options, texts, is_parquet=source.head.startswith(PARQUET))
        return _CsvBlocks(open_csv(source, options), options, texts)
    except (DataError, OSError) as error:
        raise WholeTableNeeded from error


class _CsvBlocks:
    """CSV text, whose columns are all looked at in the first pass."""

    def __init__(self, text: CsvText, options: ReadOptions, texts: Collection[str]):
        import pyarrow as pa

        text.check_header()
        code = (options.encoding or "utf-8").lower().replace("_", "-")
        if not all(text.header) or code not in ("utf-8", "utf8"):
            raise WholeTableNeeded
        self.names, self._text = text.header, text
        self.dropped = frozenset(options.dropped(self.names, text.name))
        self.categorical = options.categorical(self.names, text.name)
        self._missing = sorted(MISSING | frozenset(options.na))
        self._decimal = options.decimal or "."
        # A semicolon leaves open which mark is the decimal one.
        self._other_decimal = "," if options.decimal is None and text.separator == ";" else None
        self._aside = {*texts} | self.categorical | self.dropped
        self._coded = pa.dictionary(pa.int32(), pa.string())
        self._types = {
            name: pa.float64() if number and name not in self._aside else self._coded
            for name, number in zip(
                self.names, number_columns(text, self._missing, self._decimal), strict=True
            )
        }

    def is_numeric(self, name: str) -> bool:
        return bool(self._types[name] != self._coded)

    def has_text_type(self, name: str) -> bool:
        return False

    def columns(self, names: Sequence[str], all_columns: bool) -> Iterator[dict[str, Any]]:
        import pyarrow as pa

        read = self.names if all_columns else names
        places = [self.names.index(name) for name in read]
        types = list(self._types.values())
        batches = self._text.blocks(types, self._missing, self._decimal, places, BLOCK_BYTES)
        for batch in batches:
            if not len(batch):
                continue
            found = dict(zip(read, columns_of(pa.Table.from_batches([batch]).columns), strict=True))
            for name, column in found.items():
                if isinstance(column, Texts) and name not in self._aside:
                    self._check(column)
            yield found

    def _check(self, texts: Texts) -> None:
        """Insist that a column of texts holds no number: most of it may be numbers."""
        marks = {self._decimal, self._other_decimal} - {None}
        for text in texts.distinct:
            if any(is_number(text, str(mark)) for mark in marks):
                raise WholeTableNeeded


class _ArrowBlocks:
    """A Parquet or Feather file, of which only the columns that are needed are read."""

    def __init__(
        self, path: str, options: ReadOptions, texts: Collection[str], *, is_parquet: bool
    ):
        import pyarrow as pa
        from pyarrow import ipc, parquet

        try:
            self._file = parquet.ParquetFile(path) if is_parquet else ipc.open_file(path)
        except pa.ArrowException as error:
            raise WholeTableNeeded from error
        self._schema = self._file.schema_arrow if is_parquet else self._file.schema
        self._is_parquet, self._name, self._texts = is_parquet, path, texts
        aside = index_columns(self._schema)
        self.names = [name for name in self._schema.names if name not in aside]
        self.dropped = frozenset(options.dropped(self.names, path))
        self.categorical = options.categorical(self.names, path)
        # What reads all columns refuses dates in any of them.
        if any(pa.types.is_temporal(self._schema.field(name).type) for name in self.names):
            raise WholeTableNeeded

    def is_numeric(self, name: str) -> bool:
        import pyarrow as pa

        kind = self._schema.field(name).type
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        return bool(is_number) and name not in self.categorical

    def has_text_type(self, name: str) -> bool:
        import pyarrow as pa

        kind = self._schema.field(name).type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if not is_text and not pa.types.is_integer(kind):
            raise WholeTableNeeded
        return bool(is_text)

    def columns(self, names: Sequence[str], all_columns: bool) -> Iterator[dict[str, Any]]:
        import pyarrow as pa

        for batch in self._batches(list(names)):
            table = pa.Table.from_batches([batch])
            yield {
                name: self._classes(table.column(name))
                if name in self._texts
                else self._values(name, table.column(name))
                for name in names
            }

    def _classes(self, column: Any) -> Texts:
        import pyarrow as pa

        if column.null_count:
            raise WholeTableNeeded
        coded = column.cast(pa.string()).combine_chunks().dictionary_encode()
        return Texts(coded.dictionary.to_pylist(), coded.indices.to_numpy())

    def _values(self, name: str, column: Any) -> NDArray[Any]:
        import pyarrow as pa

        values = stored_values(self._name, name, column, name in self.categorical)
        if pa.types.is_integer(column.type) and self.is_numeric(name):
            known = values[~np.isnan(values)]
            if not (np.abs(known) < MAX_EXACT_INTEGER).all():
                raise WholeTableNeeded  # the note says which integers are rounded
        return values

    def _batches(self, names: list[str]) -> Iterator[Any]:
        if self._is_parquet:
            yield from self._file.iter_batches(BLOCK_ROWS, columns=names)
            return
        for k in range(self._file.num_record_batches):
            batch = self._file.get_batch(k)
            for start in range(0, len(batch), BLOCK_ROWS):
                yield batch.slice(start, BLOCK_ROWS)


def has_more_rows(path: str | Path, rows: int) -> bool:
    """Tell whether a file has more rows than this, without reading more of it than needed.

    Parameters
    ----------
    path : str or Path
        A CSV, Parquet or Feather file; of one that is packed or no file at all nothing is known, and it has not.
    rows : int
        How many.

    Returns
    -------
    bool
        For a CSV file by its lines.
    """
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
