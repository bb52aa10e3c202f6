"""What the editor of rule text asks for: the words that may come next, and a text with another bound."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from clearmargin.exceptions import InvalidValueError, RuleSyntaxError
from clearmargin.language import read_rule_text
from clearmargin.language.lexer import Source, Token, quote, scan_line, unquote
from clearmargin.language.printer import Phrases, format_label, format_number
from clearmargin.rules import Box, FeatureSpace
from clearmargin.rules.rule import Label

# A word, its kind, and what is known of it.
Word = tuple[str, str, str]

_MOST = 200
_SIGNS = ("<=", "<", ">=", ">", "=")
_DECLARING = ("integer", "in [", "in {", "unit", "fill")
# A word or a number, or the beginning of a sign.
_TYPED = r"(?:[\w.]+|[<>=]+)?\Z"


def complete(
    text: str, offset: int, space: FeatureSpace, classes: tuple[Label, ...]
) -> list[dict[str, Any]]:
    """List the words that may stand at a place of a text, those first that start as what was typed."""
    line_start = max(text.rfind(end, 0, offset) for end in "\r\n") + 1
    line = re.sub(r"\\.", "__", text[line_start:offset])  # what is escaped closes no quotation
    pieces = line.split("`")
    if any("#" in piece for piece in pieces[::2]):
        return []
    typed = f"`{pieces[-1]}" if len(pieces) % 2 == 0 else re.findall(_TYPED, line)[0]
    start = offset - len(typed)
    try:
        tokens = scan_line(Source(text), line_start, start)[:-1]
    except RuleSyntaxError:
        return []
    rest = re.compile(r"\w*").match(text, offset)
    end = offset if start == offset or rest is None else rest.end()
    typed = text[start:offset].lower().strip("`")
    found = [
        {"text": word, "kind": kind, "from": start, "to": end, "detail": detail}
        for word, kind, detail in _Line(text, tokens, space, classes).words()
        if typed in word.lower()
    ]
    found.sort(key=lambda entry: not str(entry["text"]).lower().strip("`").startswith(typed))
    return found[:_MOST]


class _Line:
    """The tokens of a line before a word."""

    def __init__(
        self, text: str, tokens: list[Token], space: FeatureSpace, classes: tuple[Label, ...]
    ):
        self.source, self.tokens = Source(text), tokens
        self.space, self.classes = space, classes
        self.kinds = [token.kind for token in tokens]

    def words(self) -> Iterator[Word]:
        """Give what may come next."""
        first = self.tokens[0].text.lower() if self.tokens else ""
        last = self.kinds[-1] if self.kinds else ""
        if "=>" in self.kinds or (first == "classes" and ":" in self.kinds):
            if last in {"=>", "not", ":", ","}:
                yield from ((format_label(label), "class", "") for label in self.classes)
            if last == "=>":
                yield "not", "keyword", ""
            elif self.kinds[-2:-1] in (["=>"], ["not"]) and last != "not":
                yield "[weight", "sign", ""
        elif first == "feature" and len(self.kinds) == 1:
            yield from self._features()
        elif first == "feature" and last == ":":
            yield from ((word, "keyword", "") for word in _DECLARING)
        elif first == "feature" and self.tokens[-1].text.lower() == "fill":
            yield from self._categories(self._feature(1))
        elif last in {"", "and", ":"}:
            yield from self._features()
            if last != "and":
                yield "true", "keyword", ""
        else:
            yield from self._of_condition(last)

    def _of_condition(self, last: str) -> Iterator[Word]:
        before = self._feature(-2)
        if last in _SIGNS:
            if last == "=" and self._has_categories(before):
                yield from self._categories(before)
            elif not self._has_categories(before):
                yield from self._features(numbers_only=True)
                yield from self._ends_of_range(before)
        elif last in {"+", "-", "*"}:
            yield from self._features(numbers_only=True)
        elif last in {"{", ","} and "in" in self.kinds:
            place = len(self.kinds) - 1 - self.kinds[::-1].index("in")
            yield from self._categories(self._feature(place - 1))
        elif self.tokens[-1].text.lower() == "is" or last == "not":
            yield from ((word, "keyword", "") for word in ("missing", "not missing"))
        elif last == "number":
            yield from (
                (word, "keyword" if word == "and" else "sign", "") for word in ("and", "=>")
            )
            yield from ((sign, "sign", "") for sign in _SIGNS)
        elif last == "}" or (len(self.kinds) > 1 and self.kinds[-2] in {*_SIGNS, "is", "not"}):
            yield "and", "keyword", ""
            yield "=>", "sign", ""
        else:
            has_categories = self._has_categories(self._feature(-1))
            yield from ((sign, "sign", "") for sign in (("=",) if has_categories else _SIGNS))
            yield from ((word, "keyword", "") for word in ("is missing", "is not missing"))
            if has_categories:
                yield "in {", "keyword", ""

    def _feature(self, place: int) -> int | None:
        """Return the feature that a token names."""
        if not -len(self.tokens) <= place < len(self.tokens):
            return None
        token = self.tokens[place]
        name = unquote(self.source, token) if token.kind == "quoted" else token.text
        return self.space.names.index(name) if name in self.space.names else None

    def _has_categories(self, j: int | None) -> bool:
        return j is not None and self.space.categories[j] is not None

    def _categories(self, j: int | None) -> Iterator[Word]:
        categories = None if j is None else self.space.categories[j]
        yield from ((quote(category), "category", "") for category in categories or ())

    def _features(self, numbers_only: bool = False) -> Iterator[Word]:
        for j, name in enumerate(self.space.names):
            categories, unit = self.space.categories[j], self.space.units[j]
            if categories is not None:
                if not numbers_only:
                    yield quote(name), "feature", ", ".join(categories[:5])
                continue
            ends = [word for word, _, _ in self._ends_of_range(j)]
            detail = [" to ".join(ends)] if len(ends) == 2 else []
            yield quote(name), "feature", " ".join([*detail, *([unit] if unit else [])])

    def _ends_of_range(self, j: int | None) -> Iterator[Word]:
        if j is not None:
            for value, detail in (
                (self.space.lower[j], "lowest"),
                (self.space.upper[j], "highest"),
            ):
                if math.isfinite(value):
                    yield format_number(float(value)), "number", detail


def edit_bound(
    text: str,
    rule: int,
    feature: str,
    side: str,
    value: float | None,
    space: FeatureSpace,
    classes: tuple[Label, ...],
) -> str:
    """Change one bound of a rule, counted from 0 among all rules of a text; None drops it, and the comment stays."""
    if side not in ("low", "high"):
        raise InvalidValueError(f"side must be 'low' or 'high', not {side!r}")
    found = read_rule_text(text, space, classes)
    if not 0 <= rule < len(found.written):
        raise InvalidValueError(
            f"there is no rule {rule}; the text has {len(found.written)}, from 0"
        )
    position, (start, end) = found.written[rule].position, found.written[rule].node.premise
    if position is None:
        raise InvalidValueError(f"rule {rule + 1} has a mistake; correct it first")
    box, j = found.rules[position].region, space.index(feature)
    if not isinstance(box, Box):
        raise InvalidValueError(f"rule {rule + 1} has linear conditions; edit its text")
    if space.categories[j] is not None:
        raise InvalidValueError(f"{feature!r} has categories, and no bounds")
    lower, upper = box.lower.copy(), box.upper.copy()
    if side == "low":
        lower[j] = -math.inf if value is None else value
    else:
        upper[j] = math.inf if value is None else value
    edited = Box(lower, upper, box.lower_closed, box.upper_closed, box.sets, box.missing, box.known)
    if edited == box:
        return text
    if edited.is_empty:
        raise InvalidValueError(f"no value of {feature!r} would be left between its bounds")
    return text[:start] + (" and ".join(Phrases(space).conditions(edited)) or "true") + text[end:]
