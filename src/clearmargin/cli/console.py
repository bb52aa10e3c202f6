"""What commands print: results on standard output, remarks beside it, and both as JSON where programs listen."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

__all__ = ["Console", "number_of", "table_lines"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_CODES = {"bold": "1", "dim": "2", "green": "32", "yellow": "33", "red": "31"}


class Console:
    """The way out for one command.

    Parameters
    ----------
    as_json : bool, default False
        Whether the result is printed as JSON; remarks are then part of it.
    quiet : bool, default False
        Whether remarks are left out.

    Examples
    --------
    >>> Console(quiet=True).result("done", {"done": True})
    done
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False):
        self.as_json = as_json
        self.quiet = quiet
        self.notes: list[str] = []
        self._files: list[str] = []

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Console:
        """Read what the user asked for."""
        return cls(as_json=arguments.json, quiet=arguments.quiet)

    def note(self, text: str) -> None:
        """Say on standard error what the user should know about the result."""
        self.notes.append(text)
        if not self.quiet:
            print(self.paint(f"note: {text}", "yellow", sys.stderr), file=sys.stderr)

    def say(self, text: str = "") -> None:
        """Print a remark for people."""
        if not (self.quiet or self.as_json):
            print(text)

    def wrote(self, text: str) -> None:
        """Remember to say, below the result, what is in a file."""
        self._files.append(text)

    def heading(self, text: str) -> None:
        """Print a remark that stands out."""
        self.say(self.paint(text, "bold"))

    def result(self, text: str, data: Any) -> None:
        """Print the result itself: as text, or as data for programs.

        Parameters
        ----------
        text : str
            For people; nothing is printed if it is empty.
        data : mapping
            For programs; numbers that are not finite become null.
        """
        if self.as_json:
            document = {**data, "notes": self.notes}
            written = json.dumps(_plain(document), indent=1, ensure_ascii=False, allow_nan=False)
            # Bytes of file names that are no text become halves of surrogate pairs, which only JSON can write.
            print(_SURROGATE.sub(lambda half: ascii(half[0])[1:-1], written))
        elif text:
            print(text)
        if self._files:
            self.say("\n".join(["", *self._files]))

    def paint(self, text: str, colour: str, stream: TextIO | None = None) -> str:
        """Colour a text, where it is printed on a terminal and nobody has asked for no colours."""
        target = sys.stdout if stream is None else stream
        is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        if is_plain or not target.isatty():
            return text
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


def _plain(value: Any) -> Any:
    """Values as JSON knows them."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def number_of(count: int, word: str) -> str:
    """Count things in words.

    Examples
    --------
    >>> number_of(1, "row"), number_of(2, "class"), number_of(0, "category")
    ('1 row', '2 classes', '0 categories')
    """
    if count == 1:
        return f"1 {word}"
    if word.endswith("y"):
        return f"{count} {word[:-1]}ies"
    return f"{count} {word}{'es' if word.endswith('s') else 's'}"


def table_lines(rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Set cells in columns.

    Parameters
    ----------
    rows : iterable of sequences of str
        The cells, all rows of the same length; the last column may be of any width.
    right : sequence of int, optional
        Columns that are set to the right.

    Returns
    -------
    list of str
        Lines.

    Examples
    --------
    >>> table_lines([("age", "3"), ("weight", "12")], right=[1])
    ['  age      3', '  weight  12']
    """
    cells = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        parts = [
            cell.rjust(width) if j in right else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"  {'  '.join(parts)}".rstrip())
    return lines
