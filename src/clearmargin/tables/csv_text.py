"""CSV as text: how it is cut into values, and what is wrong with a line that cannot be.

pyarrow cuts the text. Where it is stricter or more lenient than the dialects that people write (quotes within values,
blanks before quotes, lines of blanks), the text is rewritten first by Python's own reader, which also finds the line
that a message is about. So a line is read a second time only if something is odd or wrong.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import DataError

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}

# Enough lines to tell separators from letters.
_LINES_TRIED = 50
_QUOTE = ord('"')
# Bytes that pyarrow works on at a time; a line must not be longer.
_BLOCK, _MAX_BLOCK = 1 << 20, (1 << 31) - 1
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class WholeTableNeeded(Exception):  # noqa: N818 - not an error: the table is read in another way
    """Something in the table can be told only by reading it whole, as texts."""


class _OddQuotes(WholeTableNeeded):
    """Quotes where readers of CSV do not agree on what they mean."""


class _LateQuotes(WholeTableNeeded):
    """The first quotes come late, and pyarrow was not told that values may go over several lines."""


class Texts(NamedTuple):
    """A column of texts: the different ones, without blanks around them, and for each row the place of its own."""

    distinct: list[str]
    codes: NDArray[np.int32]

    @property
    def is_empty(self) -> NDArray[np.bool_]:
        """For each row whether it holds nothing."""
        return np.array([not text for text in self.distinct], dtype=np.bool_)[self.codes]


def find_encoding(start: bytes, encoding: str | None) -> str:
    r"""Find out how letters are written."""
    marked = [code for mark, code in _BYTE_ORDER_MARKS.items() if start.startswith(mark)]
    is_utf8 = (encoding or "").lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig")
    if encoding is None or is_utf8:
        return marked[0] if marked and (encoding is None or "8" in marked[0]) else "utf-8"
    return encoding


def as_utf8(content: bytes, name: str, encoding: str) -> bytes:
    r"""Turn a text into UTF-8."""
    try:
        text = content.decode(encoding)
    except LookupError:
        raise DataError(
            f"unknown encoding {encoding!r}; some that exist are utf-8, latin-1, cp1252 and utf-16"
        ) from None
    except UnicodeDecodeError as error:
        raise _wrong_byte(content, name, encoding, error) from error
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise DataError(
            f"{name} is not {encoding} text: line {line} has {ascii(text[error.start])[1:-1]}, one half of a surrogate "
            "pair without the other; set another encoding, or correct the file"
        ) from None


def _wrong_byte(content: bytes, name: str, encoding: str, error: UnicodeDecodeError) -> DataError:
    """Say which byte of a file is none of its encoding."""
    line = content.count(b"\n", 0, error.start) + 1
    return DataError(
        f"{name} is not {encoding} text: line {line} has the byte 0x{content[error.start]:02x}. Say how its letters "
        "are written, for example encoding='cp1252' (Western Windows) or encoding='latin-1'"
    )


class CsvText:
    r"""A table as text in UTF-8."""

    def __init__(
        self,
        name: str,
        open_bytes: Callable[[], BinaryIO],
        separator: str | None = None,
        encoding: str = "utf-8",
    ):
        self.name, self._open, self._encoding = name, open_bytes, encoding
        self.separator = separator or self._find_separator()
        found = next(self.records(), None)
        if found is None:
            raise DataError(f"{name} is empty; a line of column names is needed")
        self._header_lines, self.header = found
        with open_bytes() as stream:
            self.has_quotes = b'"' in stream.read(_BLOCK)
        self._block = _BLOCK

    def records(self, separator: str | None = None) -> Iterator[tuple[int, list[str]]]:
        """Yield the lines that hold something, each with its number and its values without blanks around them."""
        with io.TextIOWrapper(self._open(), encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(
                text, delimiter=separator or self.separator, strict=True, skipinitialspace=True
            )
            try:
                for row in reader:
                    values = [value.strip() for value in row]
                    if any(values):
                        yield reader.line_num, values
            except csv.Error as error:
                raise DataError(
                    f"{self.name}, line {reader.line_num}: {error}; is a quotation mark missing or left over?"
                ) from None
            except UnicodeDecodeError:
                raise self._wrong_byte() from None

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the records below the header; one with another number of values is an error."""
        for line, values in islice(self.records(), 1, None):
            if len(values) != len(self.header):
                called = {mark: f"a {word}" for word, mark in SEPARATORS.items()}
                raise DataError(
                    f"{self.name}, line {line}: {len(values)} values, but there are {len(self.header)} column names; a "
                    f"separator too many or too few, or a text with {called.get(self.separator, repr(self.separator))} "
                    "in it that is not in quotes?"
                )
            yield line, values

    def line_of(self, row: int) -> int:
        """Return the line in the file of a row, counted from 0, below the header."""
        return next(islice(self.rows(), row, None))[0]

    def check_header(self) -> None:
        """Raise where names of columns are missing, or one stands twice."""
        seen: dict[str, int] = {}
        for j, title in enumerate(self.header, 1):
            if title and title in seen:
                raise DataError(
                    f"{self.name}: columns {seen[title]} and {j} are both called {title!r}; rename one of them"
                )
            seen[title] = j
        if all(_is_float(title) for title in self.header):
            raise DataError(
                f"{self.name}: the first line holds numbers ({', '.join(self.header[:3])} ...); it must name the "
                "columns"
            )

    def read_texts(self) -> list[Texts]:
        """Cut the text into columns of texts; a broken line is an error that names it."""
        import pyarrow as pa

        types = [pa.dictionary(pa.int32(), pa.string())] * len(self.header)
        try:
            table = self.read(types)
        except (_OddQuotes, pa.ArrowInvalid):
            table = self._rewritten().read(types)
        if not len(table):
            raise DataError(f"{self.name} has column names and no rows")
        columns = [as_texts(column) for column in table.columns]
        # A line of separators alone holds nothing, as an empty line does.
        blank = np.ones(len(table), dtype=np.bool_)
        for column in columns:
            if not blank.any():
                return columns
            blank &= column.is_empty
        if blank.all():
            raise DataError(f"{self.name} has column names and no rows")
        return [_occurring(Texts(distinct, codes[~blank])) for distinct, codes in columns]

    def _rewritten(self) -> CsvText:
        """Return the same rows as all readers of CSV understand them."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows(values for _, values in self.rows())
        content = text.getvalue().encode()
        plain = CsvText(self.name, lambda: io.BytesIO(content), ",")
        plain._block = min(max(_BLOCK, len(content)), _MAX_BLOCK)
        return plain

    def read(self, types: Sequence[Any], missing: Sequence[str] = (), decimal: str = ".") -> Any:
        """Cut the text by pyarrow, into columns that are called by their positions."""
        from pyarrow import csv as arrow_csv

        options = self._options(types, missing, decimal)
        try:
            with _Checked(self._open(), self) as stream:
                return arrow_csv.read_csv(stream, **options)
        except _LateQuotes:
            self.has_quotes = True
            return self.read(types, missing, decimal)
        except UnicodeDecodeError:
            raise self._wrong_byte() from None

    def blocks(
        self,
        types: Sequence[Any],
        missing: Sequence[str] = (),
        decimal: str = ".",
        only: Sequence[int] | None = None,
        size: int = _BLOCK,
    ) -> Iterator[Any]:
        """Cut the text block by block; `WholeTableNeeded` where something is odd or wrong."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        try:
            options = self._options(types, missing, decimal, only, size)
            with _Checked(self._open(), self) as stream:
                yield from arrow_csv.open_csv(stream, **options)
        except (DataError, _OddQuotes, pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise WholeTableNeeded from error

    def _options(
        self,
        types: Sequence[Any],
        missing: Sequence[str],
        decimal: str,
        only: Sequence[int] | None = None,
        size: int | None = None,
    ) -> dict[str, Any]:
        from pyarrow import csv as arrow_csv

        if not self.separator.isascii() or self.separator == " ":
            raise _OddQuotes
        names = [str(j) for j in range(len(self.header))]
        return {
            "read_options": arrow_csv.ReadOptions(
                column_names=names,
                skip_rows=self._header_lines,
                block_size=size or self._block,
            ),
            "parse_options": arrow_csv.ParseOptions(
                delimiter=self.separator,
                newlines_in_values=self.has_quotes,
                invalid_row_handler=self._judge,
            ),
            "convert_options": arrow_csv.ConvertOptions(
                column_types=dict(zip(names, types, strict=True)),
                null_values=[*missing, *(f" {text}" for text in missing)],
                decimal_point=decimal,
                include_columns=None if only is None else [str(j) for j in only],
            ),
        }

    def _judge(self, row: Any) -> str:
        """Skip a line of another length if it holds nothing."""
        values = next(csv.reader([row.text], delimiter=self.separator, skipinitialspace=True), [])
        return "error" if any(value.strip() for value in values) else "skip"

    def _wrong_byte(self) -> DataError:
        with self._open() as stream:
            content = stream.read()
        try:
            content.decode(self._encoding)
        except UnicodeDecodeError as error:
            return _wrong_byte(content, self.name, self._encoding, error)
        return DataError(f"{self.name} changed while it was read; try again")

    def _find_separator(self) -> str:
        """Find the separator that cuts the first lines into equally many parts; a comma where none does."""
        best: tuple[float, int, str] | None = None
        for mark in SEPARATORS.values():
            try:
                rows = [row for _, row in islice(self.records(mark), _LINES_TRIED)]
            except DataError:
                continue
            if rows and len(rows[0]) > 1:
                same = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
                if best is None or (same, len(rows[0])) > best[:2]:
                    best = (same, len(rows[0]), mark)
        # A single column, or a file whose quotes are wrong for every separator: the comma finds out which.
        return "," if best is None else best[2]


class _Checked(io.RawIOBase):
    """Bytes on their way to pyarrow, with an eye on what it would take in silence."""

    def __init__(self, stream: BinaryIO, text: CsvText):
        self._stream, self._text = stream, text
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_stop = np.zeros(256, dtype=np.bool_)
        self._is_stop[[ord(text.separator), ord("\n"), ord("\r"), _QUOTE]] = True
        # The last byte whose quotes were looked at, and the one behind it; how many quotes there were.
        self._context, self._quotes = b"\n", 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        block = self._stream.read(size)
        if not block.isascii() or not block:
            self._decoder.decode(block, final=not block)
        if not block:
            self._look_at_quotes(b"\n")
            if self._quotes % 2:
                raise _OddQuotes
        elif b'"' in block or b'"' in self._context:
            self._look_at_quotes(block)
        else:
            self._context = (self._context + block)[-2:]
        return block

    def _look_at_quotes(self, block: bytes) -> None:
        """Insist that a quote is at an end of a value, or doubled within quotes."""
        data = np.frombuffer(self._context + block, dtype=np.uint8)
        places = np.flatnonzero(data[1:-1] == _QUOTE) + 1
        self._context = bytes(data[-2:])
        if not len(places):
            return
        opens = (self._quotes + np.arange(len(places))) % 2 == 0
        beside = data[np.where(opens, places - 1, places + 1)]
        if not self._is_stop[beside].all():
            raise _OddQuotes
        self._quotes += len(places)
        if not self._text.has_quotes:
            raise _LateQuotes

    def close(self) -> None:
        self._stream.close()
        super().close()


def as_texts(column: Any) -> Texts:
    """Turn a column of pyarrow's codes into texts without blanks around them."""
    coded = column.unify_dictionaries().combine_chunks()
    return _occurring(Texts(coded.dictionary.to_pylist(), coded.indices.to_numpy()))


def _occurring(texts: Texts) -> Texts:
    """Return the texts that occur, each once."""
    place: dict[str, int] = {}
    met = np.bincount(texts.codes, minlength=len(texts.distinct)) > 0
    new = np.array(
        [
            place.setdefault(text.strip(), len(place)) if is_met else -1
            for text, is_met in zip(texts.distinct, met.tolist(), strict=True)
        ],
        dtype=np.int32,
    )
    return Texts(list(place), new[texts.codes])


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
