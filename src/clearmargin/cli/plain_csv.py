"""Large tables, chunk by chunk: numbers as pandas reads them, where nothing needs a careful reader's message."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearmargin.cli.csv_text import SEPARATORS, find_separator, read_header
from clearmargin.cli.table import names_in
from clearmargin.core.value import FloatArray, IntArray
from clearmargin.exceptions import DataError

__all__ = ["Chunk", "NotPlain", "PlainCsv", "find_plain_csv"]

# Values held at a time: 16 MB.
_CHUNK_VALUES = 2_000_000
_BLOCK = 1 << 20
_STARTS_OF_OTHERS = (b"\x1f\x8b", b"PAR1", b"PK\x03\x04", b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")


class NotPlain(Exception):  # noqa: N818 - not an error: the careful reader takes over
    """The table has something in it that only the careful reader can tell about."""


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

        Yields
        ------
        Chunk
            Some rows.
        """
        exact = {"float_precision": "round_trip"} if _rounds_by_default(pandas) else {}
        # A text column may be mixed with numbers in some chunks only; then most of it may be numbers.
        kinds = [""] * len(self.header)
        try:
            reader = pandas.read_csv(
                self.name,
                sep=self.separator,
                header=0,
                names=self.header,
                decimal=self.decimal or ".",
                skipinitialspace=self.is_spaced,
                na_filter=False,
                dtype={self.target: "category"},
                encoding="utf-8",
                low_memory=False,
                chunksize=max(1, _CHUNK_VALUES // len(self.header)),
                usecols=None if only is None else [*only, self.target],
                **exact,
            )
            with reader:
                for frame in reader:
                    if only is None:
                        self._check(frame, kinds)
                    yield self._chunk(frame)
        except (ValueError, OverflowError) as error:
            # Lines of another length, bytes that are not UTF-8: errors of pandas are values out of place.
            raise NotPlain from error

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
        first = block = file.read(_BLOCK)
        if first.startswith(_STARTS_OF_OTHERS):
            return None
        while block:
            if b"\0" in block:
                return None
            lines += block.count(b"\n")
            block = file.read(_BLOCK)
    whole_lines = first[: first.rfind(b"\n") + 1]
    if lines <= rows + 1 or not whole_lines:
        return None
    try:
        return whole_lines.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
