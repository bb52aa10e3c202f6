"""What commands print: results on standard output, remarks beside it, and both as JSON where programs listen."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
from collections.abc import Collection, Iterable
from typing import Any, TextIO

from clearmargin.cli.option_names import for_command_line

_SURROGATE = re.compile("[\ud800-\udfff]")
_CODES = {"bold": "1", "dim": "2", "green": "32", "yellow": "33", "red": "31"}


class Console:
    """Output of a CLI command."""

    def __init__(
        self, *, as_json: bool = False, quiet: bool = False, options: Collection[str] = ()
    ):
        self.as_json = as_json
        self.quiet = quiet
        self.options = options
        self.notes: list[str] = []
        self._files: list[str] = []

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Console:
        """Read what the user asked for."""
        return cls(as_json=arguments.json, quiet=arguments.quiet, options=list(vars(arguments)))

    def note(self, text: str) -> None:
        """Say on standard error what the user should know about the result."""
        worded = for_command_line(text, self.options)
        self.notes.append(worded)
        if not self.quiet:
            print(self.paint(f"note: {worded}", "yellow", sys.stderr), file=sys.stderr)

    def note_all(self, notes: Iterable[str]) -> None:
        """Say all notes of a result."""
        for text in notes:
            self.note(text)

    def say(self, text: str = "") -> None:
        """Print a remark for people."""
        if not (self.quiet or self.as_json):
            print(text)

    def wrote(self, text: str) -> None:
        """Remember to say, below the result, what is in a file."""
        self._files.append(text)

    def result(self, text: str, data: Any) -> None:
        """Print the result itself: as text, or as data for programs."""
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
    """Write values as JSON knows them."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
