"""Sentences, the form in which rules are printed for people, read as rules: ``if age is at least 30, then ill``.

A sentence is cut into the tokens of the rule that it states, each with its place in the text, and the parser of the
rule language reads these. Names that are known, from the caller or from declarations, may stand as they are printed,
with blanks and without backquotes, and units may follow numbers; all other names are written as in the rule language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from clearmargin.language.lexer import NAME, NUMBER, Source, Token, quote, scan_line, shown
from clearmargin.language.printer import format_label
from clearmargin.language.prose import plain
from clearmargin.language.syntax import FeatureNode
from clearmargin.rules.rule import Label
from clearmargin.rules.space import FeatureSpace

__all__ = ["KnownNames", "is_sentence", "sentence_comment", "sentence_tokens"]

_QUOTED = r"`(?:[^`\\\r\n]++|\\[^\r\n])*+`"
_START = re.compile(
    rf"\s*+(?:[0-9]++\.\s++)?+(?:(?P<name>{_QUOTED}\s*+|[^`#:\r\n]++):\s++)?(?P<word>if|always)(?=\s)",
    re.IGNORECASE,
)
_HAS_ARROW = re.compile(rf"(?:{_QUOTED}|[^`=\r\n]|=(?!>))*+=>")
_IS = re.compile(r"\s++is\s++", re.IGNORECASE)
_WRITTEN_NAME = re.compile(rf"{_QUOTED}|{NAME}")
_A_NUMBER = rf"-?{NUMBER}"
_BETWEEN = re.compile(rf"between\s++({_A_NUMBER})\s++and\s++({_A_NUMBER})", re.IGNORECASE)
_SIDE = re.compile(
    rf"(at\s++least|more\s++than|at\s++most|less\s++than)\s++({_A_NUMBER})", re.IGNORECASE
)
_JUST_A_NUMBER = re.compile(_A_NUMBER)
_MISSING = re.compile(r"(?:not\s++)?+missing(?![\w.])", re.IGNORECASE)
_MEMBER = re.compile(rf"{_QUOTED}|{NAME}|[+-]?{NUMBER}")
_AND = re.compile(r"\s++and\s++", re.IGNORECASE)
_THEN = re.compile(r"\s*+,?\s*+then(?:\s++|\Z)", re.IGNORECASE)
_JOINT = re.compile(rf"{_QUOTED}|(?<![\w.])(and|then)(?=\s|\Z)", re.IGNORECASE)
_NEXT_MEMBER = re.compile(r"\s*+,\s*+(?!then\b)|\s++or\s++", re.IGNORECASE)
_LABEL = re.compile(
    rf"{_QUOTED}|[+-]?(?:[0-9]++(?:\.[0-9]++)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+|{NAME}"
)
_NOT = re.compile(r"not\s++", re.IGNORECASE)
_WEIGHT = re.compile(rf"\s*+\[\s*+weight\s++({NUMBER})\s*+\]", re.IGNORECASE)
_REMARKS = re.compile(r"\s*+\(([^()\r\n]*+)\)")
_WEIGHT_REMARK = re.compile(rf"\s*+weight\s++({NUMBER})\s*+(?:;|\Z)", re.IGNORECASE)
_STOP = re.compile(r"\.")
_REST = re.compile(r"\s*+(?:#[^\r\n]*+)?\Z")
_SIGNS = {"at least": ">=", "more than": ">", "at most": "<=", "less than": "<"}


@dataclass(frozen=True, slots=True)
class KnownNames:
    """What may be named in a sentence as it is printed: features with their categories and units, and classes.

    Parameters
    ----------
    features : dict of str to (tuple of str or None, str or None)
        The categories and the unit of each feature; longer names first.
    labels : tuple of labels
        The classes.
    """

    features: dict[str, tuple[tuple[str, ...] | None, str | None]]
    labels: tuple[Label, ...]

    @classmethod
    def gather(
        cls, space: FeatureSpace | None, declared: Sequence[FeatureNode], labels: Iterable[Label]
    ) -> KnownNames:
        """Take the names from the caller's space or, without one, from the declarations in the text."""
        if space is not None:
            rows = list(zip(space.names, space.categories, space.units, strict=True))
        else:
            rows = [
                (
                    node.name.text,
                    None if node.categories is None else tuple(c.text for c in node.categories),
                    node.unit,
                )
                for node in declared
            ]
        rows.sort(key=lambda row: -len(row[0]))
        return cls({name: (categories, unit) for name, categories, unit in rows}, tuple(labels))


def is_sentence(source: Source, start: int, end: int) -> bool:
    """Tell whether a line is a sentence: *if ... then ...* or *always ...*, without an arrow.

    Examples
    --------
    >>> is_sentence(Source("1. If age is at least 30, then ill."), 0, 35)
    True
    >>> is_sentence(Source("if > 3 => ill"), 0, 13)
    False
    """
    return (
        _START.match(source.text, start, end) is not None
        and _HAS_ARROW.match(source.text, start, end) is None
    )


def sentence_comment(text: str, label_end: int, end: int) -> int:
    """Find where the comment behind the class of a sentence starts; the end of the line where there is none.

    Examples
    --------
    >>> sentence_comment("If age is 3, then ill. (seen: 4)  # so", 21, 38)
    32
    """
    at = label_end
    for pattern in (_WEIGHT, _STOP, _REMARKS):
        found = pattern.match(text, at, end)
        at = at if found is None else found.end()
    return at


def sentence_tokens(source: Source, start: int, end: int, known: KnownNames) -> list[Token]:
    """Cut a sentence into the tokens of the rule that it states.

    Parameters
    ----------
    source : Source
        The text.
    start, end : int
        Where the line starts and ends.
    known : KnownNames
        What may be named without backquotes.

    Returns
    -------
    list of Token
        As `scan_line` gives them for the rule.

    Examples
    --------
    >>> nothing = KnownNames({}, ())
    >>> tokens = sentence_tokens(Source("If age is at least 30, then ill."), 0, 32, nothing)
    >>> [token.text for token in tokens]
    ['age', '>=', '30', '=>', 'ill', '']
    """
    return _Reader(source, start, end, known).read()


class _Reader:
    """Walks over one sentence and collects tokens."""

    def __init__(self, source: Source, start: int, end: int, known: KnownNames):
        self.source = source
        self.text = source.text
        self.at = start
        self.end = end
        self.known = known
        self.tokens: list[Token] = []
        self._feature_end = start  # of the feature of the condition being read

    def read(self) -> list[Token]:
        found = self._take(_START)
        assert found is not None  # is_sentence has matched it
        if found["name"] is not None:
            name, place = found["name"].strip(), found.start("name")
            written = name if name.startswith("`") else quote(name)
            self._add_text(written, place, place + len(name))
            self._add(":", found.end("name"))
        self.at = self._after_blanks(self.at)
        if found["word"].lower() == "always":
            self._add("true", found.start("word"))
        else:
            self._read_premise()
        self._add("=>", self.at)
        self._read_class()
        return [*self.tokens, Token("end", "", self.at)]

    def _read_premise(self) -> None:
        while True:
            self._read_condition()
            if (joined := self._take(_AND)) is not None:
                self._add("and", joined.start())
            elif self._take(_THEN) is not None:
                return
            elif self.at >= self.end or _REST.match(self.text, self.at, self.end):
                self._fail("no 'then' in this sentence; it reads 'if premise then class'")
            else:
                self._fail("expected 'and' or 'then' here")

    def _read_condition(self) -> None:
        feature = self._find_feature()
        if feature is None:
            self._read_written_condition()
            return
        name, place, categories, unit = feature
        if categories is None and self._read_bounds(name, place):
            if unit is not None:
                self._skip_unit(unit)
        elif "missing" not in (categories or ()) and (found := self._take(_MISSING)) is not None:
            self._add_text(name, place, self._feature_end)
            self._add_text("is", self._feature_end)
            self._add_text(found[0], found.start())
        else:
            self._read_members(name, place, categories)

    def _find_feature(
        self,
    ) -> tuple[str, int, tuple[str, ...] | None, str | None] | None:
        """Return the feature of a condition with *is*, in the spelling of the language."""
        place = self.at
        for name, (categories, unit) in self.known.features.items():
            printed = plain(name)
            if self.text.startswith(printed, place):
                verb = _IS.match(self.text, place + len(printed), self.end)
                if verb is not None:
                    self.at, self._feature_end = verb.end(), verb.start()
                    return quote(name), place, categories, unit
        written = _WRITTEN_NAME.match(self.text, place, self.end)
        verb = None if written is None else _IS.match(self.text, written.end(), self.end)
        if written is None or verb is None:
            return None
        self.at, self._feature_end = verb.end(), verb.start()
        categories, unit = self._known_by(written[0])
        return written[0], place, categories, unit

    def _known_by(self, written: str) -> tuple[tuple[str, ...] | None, str | None]:
        for name, about in self.known.features.items():
            if quote(name) == written or f"`{name}`" == written:
                return about
        return None, None

    def _read_bounds(self, name: str, place: int) -> bool:
        """Read *between 3 and 5*, *at least 3 and less than 5*, *3*; False if it is none of these."""
        if (found := self._take(_BETWEEN)) is not None:
            self._compare(name, place, ">=", found[1], found.start(1))
            self._add("and", found.start(1))
            self._compare(name, place, "<=", found[2], found.start(2))
            return True
        if (found := self._take(_SIDE)) is not None:
            self._compare_side(name, place, found)
            joined = _AND.match(self.text, self.at, self.end)
            if joined is not None and (other := _SIDE.match(self.text, joined.end(), self.end)):
                self.at = other.end()
                self._add("and", joined.start())
                self._compare_side(name, place, other)
            return True
        alone = _JUST_A_NUMBER.match(self.text, self.at, self.end)
        if alone is None or _NEXT_MEMBER.match(self.text, alone.end(), self.end) is not None:
            return False
        self.at = alone.end()
        self._compare(name, place, "=", alone[0], alone.start())
        return True

    def _compare_side(self, name: str, place: int, found: re.Match[str]) -> None:
        sign = _SIGNS[" ".join(found[1].lower().split())]
        self._compare(name, place, sign, found[2], found.start(2))

    def _compare(self, name: str, place: int, sign: str, number: str, number_place: int) -> None:
        self._add_text(name, place, self._feature_end)
        self._add(sign, number_place)
        self._add_text(number, number_place)

    def _skip_unit(self, unit: str) -> None:
        place = self._after_blanks(self.at)
        if self.text.startswith(plain(unit), place):
            self.at = place + len(plain(unit))

    def _read_members(self, name: str, place: int, categories: tuple[str, ...] | None) -> None:
        self._add_text(name, place, self._feature_end)
        self._add("in", self.at)
        self._add("{", self.at)
        while True:
            self._read_member(categories)
            if (joined := self._take(_NEXT_MEMBER)) is None:
                break
            self._add(",", joined.start())
        self._add("}", self.at)

    def _read_member(self, categories: tuple[str, ...] | None) -> None:
        if categories is not None and (found := self._longest(categories)) is not None:
            self._add_text(quote(found), self.at, self.at + len(plain(found)))
            self.at += len(plain(found))
            return
        written = self._take(_MEMBER)
        if written is None:
            self._fail("expected a number or a category after 'is'")
        self._add_text(written[0], written.start())

    def _read_written_condition(self) -> None:
        """Take over a condition that stands as in the rule language, up to *and* or *then*."""
        stop = next(
            (m.start(1) for m in _JOINT.finditer(self.text, self.at, self.end) if m[1]), self.end
        )
        tokens = scan_line(self.source, self.at, stop)[:-1]
        if tokens and tokens[-1].kind == ",":
            tokens = tokens[:-1]
        if not tokens:
            self._fail("expected a condition, such as 'age is at least 30' or 'age >= 30'")
        self.tokens += tokens
        self.at = tokens[-1].end

    def _read_class(self) -> None:
        if (negated := self._take(_NOT)) is not None:
            self._add("not", negated.start())
        printed = {plain(label): label for label in self.known.labels}
        if len(printed) == len(self.known.labels) and (found := self._longest(printed)) is not None:
            self._add_text(format_label(printed[found]), self.at, self.at + len(found))
            self.at += len(found)
        else:
            written = self._take(_LABEL)
            if written is None:
                self._fail("no class after 'then'")
            self._add_text(written[0], written.start())
        self._read_rest()

    def _read_rest(self) -> None:
        """Read the weight, the full stop, remarks in parentheses, a comment."""
        weight = self._take(_WEIGHT)
        if self.text.startswith(".", self.at) and self.at < self.end:
            self.at += 1
        remarks = self._take(_REMARKS)
        if weight is None and remarks is not None:
            weight = _WEIGHT_REMARK.match(self.text, remarks.start(1), remarks.end(1))
        if weight is not None:
            self._add_text(f"[weight {weight[1]}]", weight.start(), weight.end())
        if _REST.match(self.text, self.at, self.end) is None:
            left = self.text[self.at : self.end].strip()
            self._fail(
                f"unexpected {shown(left)} after the class; a class with blanks goes into backquotes"
            )

    def _longest(self, names: Iterable[str]) -> str | None:
        """Return the longest of the names that stands here as it is printed, and ends here."""
        fitting = [
            name
            for name in names
            if self.text.startswith(plain(name), self.at)
            and not re.match(r"\w", self.text[self.at + len(plain(name)) : self.end][:1])
        ]
        return max(fitting, key=len, default=None)

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.at, self.end)
        if found is not None:
            self.at = found.end()
        return found

    def _after_blanks(self, at: int) -> int:
        while at < self.end and self.text[at].isspace():
            at += 1
        return at

    def _add(self, sign: str, place: int) -> None:
        self.tokens.append(Token(sign, sign, place, place))

    def _add_text(self, written: str, place: int, end: int | None = None) -> None:
        """Add the tokens of a piece in the spelling of the rule language, as if it stood at this place, up to `end`."""
        piece = scan_line(Source(written), 0, len(written))[:-1]
        if end is None:
            self.tokens += [Token(t.kind, t.text, place + t.start) for t in piece]
        else:
            self.tokens += [Token(t.kind, t.text, min(place + t.start, end), end) for t in piece]

    def _fail(self, problem: str) -> NoReturn:
        raise self.source.error(problem, min(self.at, max(self.end - 1, 0)))
