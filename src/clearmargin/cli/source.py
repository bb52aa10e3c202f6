"""Where a table comes from: the bytes of a file or of standard input, and the text in them."""

from __future__ import annotations

import codecs
import gzip
import re
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

from clearmargin.exceptions import DataError

__all__ = ["Source", "read_source", "read_text"]

_GZIP, _PARQUET, _ZIP = b"\x1f\x8b", b"PAR1", b"PK\x03\x04"
_SURROGATE = re.compile("[\ud800-\udfff]")
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True, slots=True)
class Source:
    """The content of a file, unpacked.

    Parameters
    ----------
    name : str
        What to call it in messages.
    content : bytes
        What is in it.

    Examples
    --------
    >>> Source("a.csv", b"x,y").is_parquet
    False
    """

    name: str
    content: bytes

    @property
    def is_parquet(self) -> bool:
        """Whether this is a Parquet file, by its first bytes."""
        return self.content.startswith(_PARQUET)


def read_source(path: str) -> Source:
    """Read a file, or standard input for "-"; gzip is undone.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    Source
        Its content; an empty one is an error.
    """
    name = "standard input" if path == "-" else path
    content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    if content.startswith(_GZIP):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{name} is packed by gzip and damaged: {error}") from error
    if not content.strip():
        raise DataError(f"{name} is empty; a table with a line of column names is needed")
    if content.startswith(_ZIP):
        raise DataError(
            f"{name} is a zip archive or a spreadsheet; save the sheet as CSV (UTF-8) and use that"
        )
    return Source(name, content)


def read_text(source: Source, encoding: str | None) -> str:
    r"""Read the text of a source.

    Parameters
    ----------
    source : Source
        The content.
    encoding : str or None
        How letters are written; by default UTF-8, or what a mark at the start says.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> read_text(Source("a.csv", b"\xef\xbb\xbfx;y"), None)
    'x;y'
    >>> read_text(Source("a.csv", b"gr\xf6sse"), "latin-1")
    'grösse'
    """
    marked = [name for mark, name in _MARKS.items() if source.content.startswith(mark)]
    if not marked and encoding is None and b"\0" in source.content:
        raise DataError(f"{source.name} is no text; a table in CSV or Parquet is needed")
    chosen = encoding or (marked[0] if marked else "utf-8")
    if encoding is not None and encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        chosen = "utf-8-sig"
    try:
        text = source.content.decode(chosen)
    except LookupError:
        raise DataError(
            f"unknown encoding {encoding!r}; some that exist are utf-8, latin-1, cp1252 and utf-16"
        ) from None
    except UnicodeDecodeError as error:
        line = source.content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{source.name} is not {chosen} text: line {line} has the byte 0x{source.content[error.start]:02x}. Say "
            "how its letters are written, for example --encoding cp1252 (Western Windows) or --encoding latin-1"
        ) from error
    half = _SURROGATE.search(text)
    if half is not None:
        line = text.count("\n", 0, half.start()) + 1
        raise DataError(
            f"{source.name} is not {chosen} text: line {line} has {ascii(half[0])[1:-1]}, one half of a surrogate pair "
            "without the other; say another --encoding, or correct the file"
        )
    return text
