"""Large tables, chunk by chunk: numbers as pandas reads them, where nothing needs a careful reader's message."""

from __future__ import annotations

import argparse
import inspect
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO, FileIO
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearmargin.cli.csv_text import SEPARATORS, find_separator, read_header
from clearmargin.cli.read_ahead import read_ahead
from clearmargin.cli.table import names_in
from clearmargin.cli.typed_columns import LAST_SURE_WHOLE
from clearmargin.exceptions import DataError
from clearmargin.rules.value import FloatArray, IntArray

__all__ = ["Chunk", "NotPlain", "PlainCsv", "Span", "find_plain_csv", "read_span", "spans_of_lines"]

# Bytes of text that are read at a time; as numbers they take about as much.
_SPAN = 8 << 20
# Bytes in which a line is likely to end.
_WINDOW = 1 << 12
_HEAD = 1 << 20
_STARTS_OF_OTHERS = (b"\x1f\x8b", b"PAR1", b"PK\x03\x04", b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")


class NotPlain(Exception):  # noqa: N818 - not an error: the careful reader takes over
    """The table has something in it that only the careful reader can tell about."""


class Span(NamedTuple):
    """A part of a file, from one byte to another."""

    start: int
    end: int


class Chunk(NamedTuple):
    """Some rows: the features as numbers, and the classes as texts with the place of each row's."""

    X: FloatArray
    codes: IntArray
    texts: list[str]


@dataclass(frozen=True, slots=True)
class PlainCsv:
    """A CSV file of which some columns are numbers throughout.

    Parameters
    ----------
    name : str
        The file.
    header : list of str
        All its columns.
    separator : str
        What stands between values.
    decimal : str or None
        The decimal mark that the user gives.
    features : list of str
        The columns that must be numbers, in the order of the chunks.
    target : str
        The column of the classes.
    is_spaced : bool
        Whether there are spaces after separators.
    """

    name: str
    header: list[str]
    separator: str
    decimal: str | None
    features: list[str]
    target: str
    is_spaced: bool

    def chunks(self, pandas: ModuleType, only: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Read the rows; `NotPlain` as soon as a value is no number, missing, or too large.

        Parameters
        ----------
        pandas : module
            Reads the file.
        only : sequence of str, optional
            The features to read, where the table was read before and the others do not matter: they are zero.

        Returns
        -------
        iterator of Chunk
            Some rows each. Reading begins at once, in threads.
        """
        frames = read_ahead(
            partial(self._read, pandas, only), spans_of_lines(Path(self.name), _SPAN)
        )
        return self._checked(frames, all_columns=only is None)

    def _read(self, pandas: ModuleType, only: Sequence[str] | None, span: Span) -> Any:
        exact = {"float_precision": "round_trip"} if _rounds_by_default(pandas) else {}
        try:
            return pandas.read_csv(
                BytesIO(read_span(Path(self.name), span)),
                sep=self.separator,
                header=None,
                names=self.header,
                decimal=self.decimal or ".",
                skipinitialspace=self.is_spaced,
                na_filter=False,
                dtype={self.target: "category"},
                encoding="utf-8",
                low_memory=False,
                usecols=None if only is None else [*only, self.target],
                **exact,
            )
        except (ValueError, OverflowError) as error:
            # Lines of another length, bytes that are not UTF-8: errors of pandas are values out of place.
            raise NotPlain from error

    def _checked(self, frames: Iterator[Any], *, all_columns: bool) -> Iterator[Chunk]:
        # A text column may be mixed with numbers in some chunks only; then most of it may be numbers.
        kinds = [""] * len(self.header)
        for frame in frames:
            if all_columns:
                self._check(frame, kinds)
            yield self._chunk(frame)

    def _check(self, frame: Any, kinds: list[str]) -> None:
        """Look at the kinds of all columns, which must be the same in all chunks."""
        if frame.index.nlevels > 1 or frame.index.dtype.kind != "i" or frame.shape[1] != len(kinds):
            raise NotPlain
        for j, name in enumerate(self.header):
            if name == self.target:
                continue
            kind = "number" if frame[name].dtype.kind in "iuf" else "text"
            if kinds[j] not in ("", kind) or (kind == "text" and name in self.features):
                raise NotPlain
            # Without the user's word, a semicolon leaves open which mark is the decimal one; and a line that is too
            # short ends in an empty text.
            if kind == "text" and (self.separator == ";" or name == self.header[-1]):
                raise NotPlain
            kinds[j] = kind
            if name in self.features and _has_large_integers(frame[name].to_numpy()):
                raise NotPlain  # the careful reader says that they are rounded

    def _chunk(self, frame: Any) -> Chunk:
        X = np.zeros((len(frame), len(self.features)))
        for j, name in enumerate(self.features):
            if name in frame.columns:
                X[:, j] = frame[name].to_numpy()
        if not np.isfinite(X).all():
            raise NotPlain
        column: NDArray[Any] = frame[self.target].cat
        texts = [str(text).strip() for text in column.categories]  # type: ignore[attr-defined]
        codes = np.asarray(column.codes, dtype=np.intp)  # type: ignore[attr-defined]
        if (codes < 0).any():
            raise NotPlain
        return Chunk(X, codes, texts)


def _has_large_integers(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "iu" and bool(
        values.max(initial=0) > LAST_SURE_WHOLE or values.min(initial=0) < -LAST_SURE_WHOLE
    )


def spans_of_lines(path: Path, size: int) -> Iterator[Span]:
    """Cut a file into spans of whole lines, without its first one, by looking only at where they end.

    Parameters
    ----------
    path : Path
        The file; its first line is the header.
    size : int
        About so many bytes a span. `NotPlain` where a line is longer.

    Yields
    ------
    Span
        From where to where.
    """
    with path.open("rb", buffering=0) as file:
        total = file.seek(0, os.SEEK_END)
        start = _line_end(file, 0, min(size, total), first=True)
        while start < total:
            end = total if start + size >= total else _line_end(file, start, start + size)
            yield Span(start, end)
            start = end


def _line_end(file: FileIO, start: int, end: int, *, first: bool = False) -> int:
    """Where the last line that ends between two places ends, or the first one."""
    window = min(_WINDOW, end - start)
    while True:
        file.seek(start if first else end - window)
        text = file.read(window)
        place = text.find(b"\n") if first else text.rfind(b"\n")
        if place >= 0:
            return place + 1 + (start if first else end - window)
        if window == end - start:
            raise NotPlain
        window = min(2 * window, end - start)


def read_span(path: Path, span: Span) -> bytes:
    """Read whole lines; `NotPlain` where they hold a zero byte, or begin or end within quotes.

    All spans hold an even number of quotes only if none is cut within quotes, since the first one begins outside.
    """
    with path.open("rb", buffering=0) as file:
        file.seek(span.start)
        text = file.read(span.end - span.start)
    if b"\0" in text or (b'"' in text and text.count(b'"') % 2):
        raise NotPlain
    return text


def _rounds_by_default(pandas: ModuleType) -> bool:
    """Whether this pandas reads numbers only nearly: up to 3.0; later ones always read the nearest float."""
    major, minor = (int(part) for part in pandas.__version__.split(".")[:2])
    known = "float_precision" in inspect.signature(pandas.read_csv).parameters
    return known and (major, minor) < (3, 1)


def find_plain_csv(
    arguments: argparse.Namespace, features: list[str], rows: int
) -> PlainCsv | None:
    """Look whether a file is a CSV table that can be read in chunks, and worth it.

    Parameters
    ----------
    arguments : Namespace
        With what `add_task_arguments` adds.
    features : list of str
        The columns that must be numbers.
    rows : int
        Tables with no more lines than this are not worth it.

    Returns
    -------
    PlainCsv or None
        None where the careful reader is to be asked.
    """
    path = None if arguments.data == "-" or arguments.na else Path(arguments.data)
    code = (arguments.encoding or "utf-8").lower().replace("_", "-")
    if path is None or not path.is_file() or code not in ("utf-8", "utf8"):
        return None
    head = _text_of_many_lines(path, rows)
    if head is None:
        return None
    try:
        mark = SEPARATORS.get(arguments.separator, arguments.separator)
        mark = mark or find_separator(head, arguments.data)
        header = read_header(head, arguments.data, mark)
    except (DataError, TypeError):  # a separator of several letters
        return None
    target = arguments.target
    dropped = set(names_in(arguments.drop, header))
    named = set(names_in(arguments.categories, header))
    is_plain = (
        all(header)
        and {target, *features} | dropped | named <= set(header)
        and not (dropped & {target, *features} or named & set(features) or target in features)
    )
    if not is_plain:
        return None
    # Looking for spaces takes a third of the time, and a space that only comes later is left to the careful reader.
    is_spaced = f"{mark} " in head
    return PlainCsv(arguments.data, header, mark, arguments.decimal, features, target, is_spaced)


def _text_of_many_lines(path: Path, rows: int) -> str | None:
    """The first lines of a text, if it has more lines than that and is no other kind of file."""
    lines = 0
    with path.open("rb") as file:
        first = block = file.read(_HEAD)
        if first.startswith(_STARTS_OF_OTHERS):
            return None
        while block and lines <= rows + 1:
            if b"\0" in block:
                return None
            lines += block.count(b"\n")
            block = file.read(_HEAD)
    whole_lines = first[: first.rfind(b"\n") + 1]
    if lines <= rows + 1 or not whole_lines:
        return None
    try:
        return whole_lines.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
