"""Characters to tokens that know their place."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from clearmargin.language.source import Source, shown

__all__ = [
    "KEYWORDS",
    "NAME",
    "NOT_NUMBERS",
    "NUMBER",
    "Token",
    "escape",
    "is_bare_name",
    "number_value",
    "quote",
    "scan_line",
    "unquote",
]

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

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_SHORT_ESCAPES = {"\\": "\\", "`": "`", "n": "\n", "r": "\r", "t": "\t"}
_TO_ESCAPE = {char: f"\\{short}" for short, char in _SHORT_ESCAPES.items()}
_LARGEST_CODE = 0x10FFFF


class Token(NamedTuple):
    """A piece of text and where it starts.

    Its kind is "name", "quoted", "number" or "end", and for keywords and signs what they say ("and", "<=").
    """

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Offset just after the token."""
        return self.start + len(self.text)


def scan_line(source: Source, start: int, end: int) -> list[Token]:
    """Cut one line into tokens; blanks and the comment are left out.

    Parameters
    ----------
    source : Source
        The text.
    start, end : int
        Where the line starts and ends.

    Returns
    -------
    list of Token
        The last one is of the kind "end", also for an empty line.

    Examples
    --------
    >>> [token.kind for token in scan_line(Source("age >= 30 => `at risk`  # so"), 0, 28)]
    ['name', '>=', 'number', '=>', 'quoted', 'end']
    """
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
        elif kind in {"comment", "end"}:
            break
        else:
            raise source.error(_unreadable(text), place, place + len(text))
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


def number_value(source: Source, token: Token) -> float:
    """Read a number token as the nearest float; one that only infinity or zero comes near is an error."""
    value = float(token.text)
    if value == math.inf:
        raise source.error("this number is too large", token.start, token.end)
    if value == 0 and token.text.lower().partition("e")[0].strip("0."):
        raise source.error("this number is too small to differ from 0", token.start, token.end)
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
    """Tell whether a name can be written without backquotes.

    Examples
    --------
    >>> is_bare_name("petal.width"), is_bare_name("petal width"), is_bare_name("in")
    (True, False, False)
    """
    return _BARE.fullmatch(text) is not None and text.lower() not in KEYWORDS | NOT_NUMBERS


def quote(text: str) -> str:
    r"""Write a name so that it reads back as the same name: bare where possible, else in backquotes.

    Examples
    --------
    >>> print(quote("age"), quote("worst area"), quote("a`b\n"))
    age `worst area` `a\`b\n`
    """
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
