"""Reading files of text and of JSON, and saying what is wrong with those that are neither."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from clearmargin.exceptions import FileDamagedError

__all__ = ["read_json", "read_text"]

# How files begin that people take for text: compressed ones, archives (also .xlsx), pickles, pictures.
_KINDS = {
    b"\x1f\x8b": "is compressed (gzip); unpack it first",
    b"BZh": "is compressed (bzip2); unpack it first",
    b"\xfd7zXZ": "is compressed (xz); unpack it first",
    b"PK\x03\x04": "is a zip archive or a spreadsheet; unpack it, or save the table as text",
    b"\x80\x04": "is a Python pickle, which is never opened here; save the model with save_model",
    b"\x80\x05": "is a Python pickle, which is never opened here; save the model with save_model",
    b"\x89PNG": "is a picture",
    b"%PDF": "is a PDF",
}
_ADVICE = "take another copy of the file, or save it again"


def read_text(path: str | os.PathLike[str]) -> str:
    r"""Read a file of UTF-8 text; a byte-order mark, which some editors put at its start, is left out.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    str
        Its text.

    Raises
    ------
    FileDamagedError
        If it is no such text; the message says what it looks like.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.rules").write_bytes(b"\xef\xbb\xbfage > 3 => old")
    ...     read_text(f"{folder}/a.rules")
    'age > 3 => old'
    """
    content = Path(path).read_bytes()
    for start, problem in _KINDS.items():
        if content.startswith(start):
            raise FileDamagedError(f"{path} is not UTF-8 text: it {problem}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileDamagedError(f"{path} is not UTF-8 text: {error}; {_ADVICE}") from error
    # As files opened for text do it.
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file, and say which one it is if that fails.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    object
        Plain data. A name that stands twice in one object is an error: nobody knows which one counts.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.json").write_text('{"age": 3}')
    ...     read_json(f"{folder}/a.json")
    {'age': 3}
    """
    text = read_text(path)
    if not text.strip("\0 \n\t"):
        raise FileDamagedError(f"{path} is not valid JSON: it is empty; {_ADVICE}")
    try:
        data = json.loads(text, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:  # also numbers too long and nests too deep
        raise FileDamagedError(f"{path} is not valid JSON: {error}; {_ADVICE}") from error
    if "\\ud" in text or "\\uD" in text:
        _refuse_half_characters(path, data)
    return data


def _refuse_half_characters(path: str | os.PathLike[str], data: Any) -> None:
    """Raise if a text has half of a surrogate pair, which JSON can write and nothing else can."""
    try:
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start]).strip("'")
        raise FileDamagedError(
            f"{path} is not valid JSON: a text in it has {half}, one half of a surrogate pair without the other; "
            f"{_ADVICE}"
        ) from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for name, value in pairs:
        if name in entry:
            raise ValueError(f"the name {name!r} stands twice in one object")
        entry[name] = value
    return entry
