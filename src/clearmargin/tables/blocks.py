"""A table in a file, block by block, for tables too large to be held.

`TableBlocks` gives the rows in order, a few thousand at a time, with each column of one type throughout. What it cannot
tell without all rows (a column that is numbers in one block and texts in another one, odd quotes, missing names) raises
`WholeTableNeeded`: then `read_file` has to be asked, which also has the messages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from clearmargin.exceptions import DataError
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.csv_text import CsvText, Texts, WholeTableNeeded
from clearmargin.tables.files import (
    FEATHER,
    PARQUET,
    ReadOptions,
    columns_of,
    first_bytes,
    index_columns,
    number_columns,
)
from clearmargin.tables.typed_columns import MAX_EXACT_INTEGER, MISSING, is_number

__all__ = ["Block", "TableBlocks", "WholeTableNeeded", "has_more_rows"]

# Bytes of text that are read at a time; as numbers they take about as much. Rows of other files at a time.
BLOCK_BYTES, BLOCK_ROWS = 8 << 20, 1 << 16


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
        self._options = options or ReadOptions()
        self.missing = MISSING | frozenset(self._options.na)
        self._file: _CsvBlocks | _ArrowBlocks

        def open_bytes() -> BinaryIO:
            return Path(path).open("rb")

        start = first_bytes(open_bytes)
        try:
            if start.startswith((PARQUET, *FEATHER)):
                self._file = _ArrowBlocks(path, self, is_parquet=start.startswith(PARQUET))
            else:
                self._file = _CsvBlocks(CsvText(self.name, open_bytes, self._options.mark), self)
        except (DataError, OSError) as error:
            raise WholeTableNeeded from error
        self.has_text_classes = target in self.categorical or self._file.has_text_classes

    def take_names(self, names: Sequence[str]) -> None:
        """Take the names of all columns, and insist that those that are needed are among them."""
        self.names = list(names)
        self.dropped = frozenset(self._options.dropped(names, self.name))
        self.categorical = self._options.categorical(names, self.name)
        needed = {self.target, *self.features}
        is_fit = needed <= set(names) and self.target not in self.features
        if not is_fit or self.dropped & needed or self.categorical & set(self.features):
            raise WholeTableNeeded

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
        for columns, classes in self._file.columns([self.features[j] for j in read], only is None):
            X = np.zeros((len(classes.codes), len(self.features)), order="F")
            for j, column in zip(read, columns, strict=True):
                X[:, j] = column
            if not np.isfinite(X).all():
                raise WholeTableNeeded
            yield Block(X, classes.codes.astype(np.intp), classes.distinct)


class _CsvBlocks:
    """CSV text, whose columns are all looked at in the first pass."""

    has_text_classes = False

    def __init__(self, text: CsvText, table: TableBlocks):
        import pyarrow as pa

        text.check_header()
        options = table._options
        code = (options.encoding or "utf-8").lower().replace("_", "-")
        if not all(text.header) or code not in ("utf-8", "utf8"):
            raise WholeTableNeeded
        table.take_names(text.header)
        self._text, self._table = text, table
        self._missing = sorted(table.missing)
        self._decimal = options.decimal or "."
        # A semicolon leaves open which mark is the decimal one.
        self._other_decimal = "," if options.decimal is None and text.separator == ";" else None
        self._aside = {table.target} | table.categorical | table.dropped
        coded = pa.dictionary(pa.int32(), pa.string())
        self._types = [
            pa.float64() if number and name not in self._aside else coded
            for name, number in zip(
                table.names, number_columns(text, self._missing, self._decimal), strict=True
            )
        ]
        if any(self._types[table.names.index(name)] == coded for name in table.features):
            raise WholeTableNeeded

    def columns(
        self, features: Sequence[str], all_columns: bool
    ) -> Iterator[tuple[list[FloatArray], Texts]]:
        names = self._table.names if all_columns else [*features, self._table.target]
        places = [self._table.names.index(name) for name in names]
        read = self._text.blocks(self._types, self._missing, self._decimal, places, BLOCK_BYTES)
        for batch in read:
            if not len(batch):
                continue
            import pyarrow as pa

            found = dict(
                zip(names, columns_of(pa.Table.from_batches([batch]).columns), strict=True)
            )
            for name, column in found.items():
                if isinstance(column, Texts) and name not in self._aside:
                    self._check(column)
            yield [found[name] for name in features], found[self._table.target]

    def _check(self, texts: Texts) -> None:
        """Insist that a column of texts holds no number: most of it may be numbers."""
        marks = {self._decimal, self._other_decimal} - {None}
        for text in texts.distinct:
            if any(is_number(text, str(mark)) for mark in marks):
                raise WholeTableNeeded


class _ArrowBlocks:
    """A Parquet or Feather file, of which only the columns that are needed are read."""

    def __init__(self, path: str | Path, table: TableBlocks, *, is_parquet: bool):
        import pyarrow as pa
        from pyarrow import ipc, parquet

        try:
            self._file = parquet.ParquetFile(path) if is_parquet else ipc.open_file(str(path))
        except pa.ArrowException as error:
            raise WholeTableNeeded from error
        schema = self._file.schema_arrow if is_parquet else self._file.schema
        self._is_parquet, self._table = is_parquet, table
        aside = index_columns(schema)
        table.take_names([name for name in schema.names if name not in aside])
        kind = schema.field(table.target).type
        self.has_text_classes = not pa.types.is_integer(kind)
        is_numeric = {
            field.name: pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
            for field in schema
        }
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if not (is_text or pa.types.is_integer(kind)) or not all(
            is_numeric.get(name, False) for name in table.features
        ):
            raise WholeTableNeeded
        # What reads all columns refuses dates in any of them.
        if any(pa.types.is_temporal(schema.field(name).type) for name in table.names):
            raise WholeTableNeeded

    def columns(
        self, features: Sequence[str], all_columns: bool
    ) -> Iterator[tuple[list[FloatArray], Texts]]:
        import pyarrow as pa

        for batch in self._batches([*features, self._table.target]):
            read = []
            for name in features:
                column = batch.column(name)
                numbers = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(False))
                if (
                    pa.types.is_integer(column.type)
                    and not (np.abs(numbers) < MAX_EXACT_INTEGER).all()
                ):
                    raise WholeTableNeeded  # the note says which integers are rounded
                read.append(numbers)
            classes = batch.column(self._table.target)
            if classes.null_count:
                raise WholeTableNeeded
            coded = classes.cast(pa.string()).dictionary_encode()
            yield read, Texts(coded.dictionary.to_pylist(), coded.indices.to_numpy())

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
