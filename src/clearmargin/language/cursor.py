"""A place in the tokens of one line, and the small pieces that every statement is made of."""

from __future__ import annotations

from typing import NoReturn

from clearmargin.language.lexer import KEYWORDS, Token, number_value, unquote
from clearmargin.language.source import Source, shown
from clearmargin.language.syntax import LabelNode, Name
from clearmargin.rules.rule import Label, as_label

__all__ = ["Cursor"]


class Cursor:
    """Walks over the tokens of a line; `token` is the next one, not yet taken.

    Parameters
    ----------
    source : Source
        The text.
    tokens : list of Token
        One line of it; the last token is of the kind "end".

    Examples
    --------
    >>> from clearmargin.language.lexer import scan_line
    >>> source = Source("age >= 30")
    >>> cursor = Cursor(source, scan_line(source, 0, 9))
    >>> cursor.take_name("a feature").text, cursor.take().kind, cursor.take_number()
    ('age', '>=', 30.0)
    """

    __slots__ = ("_at", "source", "token", "tokens")

    def __init__(self, source: Source, tokens: list[Token]):
        self.source = source
        self.tokens = tokens
        self.token = tokens[0]
        self._at = 0

    def take(self) -> Token:
        """Take the next token, which must not be the end of the line."""
        token = self.token
        self._at += 1
        self.token = self.tokens[self._at]
        return token

    @property
    def following(self) -> Token:
        """The token after the next one."""
        return self.tokens[min(self._at + 1, len(self.tokens) - 1)]

    @property
    def before(self) -> Token:
        """The token taken last."""
        return self.tokens[max(self._at - 1, 0)]

    @property
    def last_end(self) -> int:
        """Offset just after the token taken last."""
        return self.before.end

    def expect(self, kind: str, purpose: str) -> Token:
        """Take a token of this kind, or say what it is missing for."""
        if self.token.kind != kind:
            self.fail(f"expected '{kind}' {purpose}, not {self.what_is_here()}")
        return self.take()

    def expect_end(self, advice: str) -> None:
        """Make sure that the line ends here."""
        if self.token.kind != "end":
            self.fail(f"unexpected {shown(self.token.text)}; {advice}")

    def fail(self, problem: str) -> NoReturn:
        """Raise an error that points at the next token."""
        raise self.source.error(problem, self.token.start, self.token.end)

    def what_is_here(self) -> str:
        """Name the next token for a message."""
        return "the end of the line" if self.token.kind == "end" else shown(self.token.text)

    def is_word(self, word: str) -> bool:
        """Tell whether the next token is this word, which is no keyword elsewhere."""
        return self.token.kind == "name" and self.token.text.lower() == word

    def take_name(self, role: str) -> Name:
        """Take a name, bare or in backquotes, that must not be empty."""
        name = self.take_text(role)
        if not name.text:
            raise self.source.error(f"{role} must not be empty", name.start, name.end)
        return name

    def take_text(self, role: str) -> Name:
        """Take a name, bare or in backquotes, that may be empty."""
        token = self.token
        if token.kind == "quoted":
            text = unquote(self.source, token)
        elif token.kind == "name":
            text = token.text
        elif token.kind in KEYWORDS:
            self.fail(
                f"expected {role}, not the keyword {shown(token.text)}; "
                f"as a name it is written `{token.text}`"
            )
        else:
            self.fail(f"expected {role}, not {self.what_is_here()}")
        self.take()
        return Name(text, token.start, token.end)

    def take_category(self) -> Name:
        """Take a category: a text, or a number or truth value that is kept as it is spelled."""
        token = self.token
        if token.kind in {"true", "false"}:
            self.take()
            return Name(token.text, token.start, token.end)
        if token.kind not in {"number", "+", "-"}:
            return self.take_text("a category")
        sign = "" if token.kind == "number" else self.take().text
        if self.token.kind != "number":
            self.fail(f"expected a number after the sign, not {self.what_is_here()}")
        digits = self.take()
        return Name(sign + digits.text, token.start, digits.end, is_number=True)

    def take_number(self) -> float:
        """Take a number with or without a sign."""
        sign = -1.0 if self.token.kind == "-" else 1.0
        if self.token.kind in {"+", "-"}:
            self.take()
        if self.token.kind != "number":
            self.fail(f"expected a number, not {self.what_is_here()}")
        return sign * number_value(self.source, self.take())

    def take_label(self) -> LabelNode:
        """Take a class: a text, a number or a truth value."""
        start = self.token.start
        value: Label
        if self.token.kind in {"true", "false"}:
            value = self.take().kind == "true"
        elif self.token.kind in {"number", "+", "-"}:
            value = self._take_numeric_label()
        else:
            value = self.take_name("a class").text
        return LabelNode(value, start, self.last_end)

    def _take_numeric_label(self) -> Label:
        number = self.following if self.token.kind in {"+", "-"} else self.token
        if number.kind != "number" or not number.text.isdigit():
            return self.take_number()
        sign = -1 if self.token.kind == "-" else 1
        while self.token.kind in {"+", "-"}:
            self.take()
        try:
            return as_label(sign * int(self.take().text))
        except ValueError:  # Python reads no more than some thousand digits, and a label has fewer
            raise self.source.error(
                "this class has too many digits", number.start, number.end
            ) from None
