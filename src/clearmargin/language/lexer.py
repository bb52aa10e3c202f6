"""Characters to tokens that know their place; `Source` is the text, and makes errors that point into it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from clearmargin.exceptions import RuleSyntaxError
from clearmargin.rules.space import closest_name, nearest_name

# Nothing else ends a line: str.splitlines also cuts at form feeds and at U+2028.
_LINE_END = re.compile(r"\r\n|\r|\n")
_BYTE_ORDER_MARK = "\ufeff"
# A message quotes no more than this of a name, and compares names only where that is quick.
_LONGEST_SHOWN = 60
_MOST_COMPARED = 10_000


class Recovery:
    """What becomes of a mistake: it is raised at once, or kept while reading goes on behind it."""

    __slots__ = ("keep", "mistakes")

    def __init__(self, keep: bool = False):
        self.keep = keep
        self.mistakes: list[RuleSyntaxError] = []

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if not (self.keep and isinstance(error, RuleSyntaxError)):
            return False
        self.mistakes.append(error)
        return True


class Placed(Protocol):
    """What stands somewhere in a text."""

    @property
    def start(self) -> int:
        """Offset of the first character."""

    @property
    def end(self) -> int:
        """Offset behind the last character."""


@dataclass(frozen=True, slots=True)
class Source:
    r"""Rule text; places in it are offsets, which become line and column when an error needs them."""

    text: str
    recovery: Recovery = field(default_factory=Recovery, compare=False, repr=False)

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

    def error(
        self, problem: str, start: int, end: int | None = None, fix: str | None = None
    ) -> RuleSyntaxError:
        """Make an error that underlines the characters from start to end (one by default), with a fix if any."""
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
            offset=start,
            fix=fix,
        )

    def at(self, part: Placed, problem: str, fix: str | None = None) -> RuleSyntaxError:
        """Make an error that underlines a part of the text."""
        return self.error(problem, part.start, part.end, fix)

    def unknown(
        self,
        part: Placed,
        name: str,
        problem: str,
        known: Iterable[object],
        spell: Callable[[str], str] | None = None,
    ) -> RuleSyntaxError:
        """Make an error about an unknown name that suggests the nearest one, where the search for it is quick."""
        names = [text for text in map(str, known) if len(text) <= _LONGEST_SHOWN]
        if len(name) > _LONGEST_SHOWN or len(names) > _MOST_COMPARED:
            return self.at(part, problem)
        nearest = closest_name(name, names)
        fix = None if nearest is None else (spell or quote)(nearest)
        return self.at(part, f"{problem}{nearest_name(name, names)}", fix)


def shown(name: object) -> str:
    """Quote a name in a message, cut to a length that people read."""
    if isinstance(name, str):
        return repr(_cut(name))
    return _cut(repr(name))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


KEYWORDS = frozenset({"and", "or", "not", "in", "true", "false"})
# What Python and databases print for numbers that no condition can be made of; as names they go into backquotes.
NOT_NUMBERS = frozenset({"inf", "infinity", "nan"})

# Quantifiers are possessive (++): what was read is never given back, so reading takes linear time.
NAME = r"[^\W\d]\w*+(?:\.\w++)*+"
NUMBER = r"(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+(?![\w.])"
_TOKEN = re.compile(
    rf"""[^\S\r\n]*+(?:
      (?P<name>{NAME})
    | (?P<number>{NUMBER})
    | (?P<wrong>->|=<|==>|\*\*|&&|\|\|)
    | (?P<sign><=|>=|=>|==|!=|<>|[<>=≤≥≠+\-*:,\[\]{{}}])
    | (?P<quoted>`(?:[^`\\\r\n]++|\\[^\r\n])*+`)
    | (?P<comment>\#[^\r\n]*+)
    | (?P<end>\Z)
    | (?P<word>[\d.][\w.]*)
    | (?P<stray>.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_BARE = re.compile(NAME)
_SAME_SIGN = {"==": "=", "≤": "<=", "≥": ">=", "<>": "!=", "≠": "!="}

_ARROW = "write '=>' before the class"
_AND = "write 'and' between conditions"
_NO_OR = "a premise has no 'or'; write two rules"
_LINEAR = "only sums of features times numbers can be compared"
_TO_QUOTE = "a name that is not a plain word goes into backquotes"
_ADVICE = {
    "->": _ARROW,
    "==>": _ARROW,
    "→": _ARROW,
    "⇒": _ARROW,
    "=<": "write '<='",
    "**": _LINEAR,
    "^": _LINEAR,
    "/": "write 0.5*x for half of x",
    "(": "there are no parentheses; write the sum out",
    ")": "there are no parentheses; write the sum out",
    "×": "write '*'",
    "·": "write '*'",
    "−": "write '-'",
    "–": "write '-'",
    "∈": "write 'in'",
    "&&": _AND,
    "&": _AND,
    "∧": _AND,
    ";": "write one rule a line",
    "||": _NO_OR,
    "|": _NO_OR,
    "∨": _NO_OR,
    "'": _TO_QUOTE,
    '"': _TO_QUOTE,
}
# What can be put in the place of something unreadable without a second thought.
_REPLACED = {
    **dict.fromkeys(("->", "==>", "→", "⇒"), "=>"),
    **dict.fromkeys(("&&", "&", "∧"), "and"),
    **dict.fromkeys(("×", "·"), "*"),
    **dict.fromkeys(("−", "–"), "-"),
    "=<": "<=",
    "∈": "in",
}

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_SHORT_ESCAPES = {"\\": "\\", "`": "`", "n": "\n", "r": "\r", "t": "\t"}
_TO_ESCAPE = {char: f"\\{short}" for short, char in _SHORT_ESCAPES.items()}
_LARGEST_CODE = 0x10FFFF


class Token(NamedTuple):
    """A piece of text and where it starts."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Offset just after the token."""
        return self.start + len(self.text)


def scan_line(source: Source, start: int, end: int) -> list[Token]:
    """Cut one line into tokens; blanks and the comment are left out."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(source.text, start, end):
        kind = match.lastgroup
        text = match[kind]  # type: ignore[index]
        place = match.end() - len(text)
        if kind == "name":
            word = text.lower()
            tokens.append(Token(word if word in KEYWORDS else "name", text, place))
        elif kind == "sign":
            tokens.append(Token(_SAME_SIGN.get(text, text), text, place))
        elif kind in {"number", "quoted"}:
            tokens.append(Token(kind, text, place))
        elif kind not in {"comment", "end"}:
            with source.recovery:
                fix = _replacement(source.text, place, text)
                raise source.error(_unreadable(text), place, place + len(text), fix)
    tokens.append(Token("end", "", tokens[-1].end if tokens else start))
    return tokens


def _unreadable(text: str) -> str:
    if text == "`":
        return "this backquote is not closed on the same line"
    if text in _ADVICE:
        return f"unexpected {shown(text)}; {_ADVICE[text]}"
    if len(text) > 1:
        return f"{shown(text)} is neither a number nor a name; {_TO_QUOTE}"
    return f"unexpected character {shown(text)}"


def _replacement(text: str, place: int, unreadable: str) -> str | None:
    """Return what can stand in the place of something unreadable, with blanks where a word needs them."""
    word = _REPLACED.get(unreadable)
    if word is None or not word.isalpha():
        return word
    end = place + len(unreadable)
    before = "" if text[place - 1 : place].isspace() else " "
    return f"{before}{word}{'' if text[end : end + 1].isspace() else ' '}"


def number_value(source: Source, token: Token) -> float:
    """Read a number token as the nearest float; one that only infinity or zero comes near is an error."""
    value = float(token.text)
    if value == math.inf:
        raise source.at(token, "this number is too large")
    if value == 0 and token.text.lower().partition("e")[0].strip("0."):
        raise source.at(token, "this number is too small to differ from 0")
    return value


def unquote(source: Source, token: Token) -> str:
    """Read a token of the kind "quoted": take off the backquotes and resolve the escapes."""
    inside = token.text[1:-1]
    if "\\" not in inside:
        return inside

    def resolve(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        char = chr(int(code, 16)) if code and int(code, 16) <= _LARGEST_CODE else None
        char = _SHORT_ESCAPES.get(match[3]) if code is None else char
        if char is None:
            start = token.start + 1 + match.start()
            known = r"\\, \`, \n, \r, \t, \uXXXX and \UXXXXXXXX"
            raise source.error(
                f"unknown escape \\{escape(match[3] or match[0][1:])}; known are {known}",
                start,
                start + len(match[0]),
            )
        return char

    return _ESCAPE.sub(resolve, inside)


def is_bare_name(text: str) -> bool:
    """Tell whether a name can be written without backquotes."""
    return _BARE.fullmatch(text) is not None and text.lower() not in KEYWORDS | NOT_NUMBERS


def quote(text: str) -> str:
    r"""Write a name so that it reads back as the same name: bare where possible, else in backquotes."""
    return text if is_bare_name(text) else f"`{escape(text)}`"


def escape(text: str) -> str:
    """Replace what cannot stand in backquotes, or would not be seen there, by escapes."""
    return "".join(map(_escape_char, text))


def _escape_char(char: str) -> str:
    if char in _TO_ESCAPE:
        return _TO_ESCAPE[char]
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
