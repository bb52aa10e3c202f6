"""Text that knows its lines, and errors that point into it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clearmargin.exceptions import RuleSyntaxError
from clearmargin.rules.space import nearest_name

__all__ = ["Source", "shown", "suggestion"]

# Nothing else ends a line: str.splitlines also cuts at form feeds and at U+2028.
_LINE_END = re.compile(r"\r\n|\r|\n")
_BYTE_ORDER_MARK = "\ufeff"
# A message quotes no more than this of a name, and compares names only where that is quick.
_LONGEST_SHOWN = 60
_MOST_COMPARED = 10_000


@dataclass(frozen=True, slots=True)
class Source:
    r"""Rule text; places in it are offsets, which become line and column when an error needs them.

    Parameters
    ----------
    text : str
        The whole text. A byte order mark at its start is passed over.

    Examples
    --------
    >>> source = Source("x > 3 => a\r\ny > => b")
    >>> [source.text[start:end] for start, end in source.lines()]
    ['x > 3 => a', 'y > => b']
    >>> print(source.error("a number is missing", 16))
    line 2, column 5: a number is missing
      y > => b
          ^
    """

    text: str

    @property
    def start(self) -> int:
        """Offset of the first character of the first line."""
        return int(self.text.startswith(_BYTE_ORDER_MARK))

    def lines(self) -> Iterator[tuple[int, int]]:
        """Give the offsets where each line starts and ends, without its line end."""
        start = self.start
        for end in _LINE_END.finditer(self.text):
            yield start, end.start()
            start = end.end()
        yield start, len(self.text)

    def error(self, problem: str, start: int, end: int | None = None) -> RuleSyntaxError:
        """Make an error that underlines the characters from start to end (one, by default)."""
        line, line_start = 1, self.start
        for found in _LINE_END.finditer(self.text, 0, start):
            line, line_start = line + 1, found.end()
        after = _LINE_END.search(self.text, start)
        line_end = after.start() if after else len(self.text)
        return RuleSyntaxError(
            problem,
            line=line,
            column=start - line_start + 1,
            source=self.text[line_start:line_end],
            length=1 if end is None else max(1, end - start),
        )


def shown(name: object) -> str:
    """Quote a name in a message, cut to a length that people read.

    Examples
    --------
    >>> shown("bmi"), len(shown("x" * 1000))
    ("'bmi'", 62)
    """
    if isinstance(name, str):
        return repr(_cut(name))
    return _cut(repr(name))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def suggestion(name: str, known: Iterable[object]) -> str:
    """Suggest the nearest known name, as the tail of a message; nothing where the search would take long.

    Examples
    --------
    >>> suggestion("glucos", ["age", "glucose"])
    "; did you mean 'glucose'?"
    """
    names = [text for text in map(str, known) if len(text) <= _LONGEST_SHOWN]
    if len(name) > _LONGEST_SHOWN or len(names) > _MOST_COMPARED:
        return ""
    return nearest_name(name, names)
