"""What may come next in a rule text that is being typed.

There is one grammar, and it is asked: the line up to the word that is being typed, one word more and an ending that
would make a whole line of it are given to the parser. Where it reads them, the word may stand there, and the tree tells
what it stands for: a feature, a category, a class, a number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from clearmargin.exceptions import InvalidValueError, RuleSyntaxError
from clearmargin.language.lexer import NAME, NUMBER, Source, quote
from clearmargin.language.parser import parse_tree
from clearmargin.language.printer import format_label, format_number
from clearmargin.language.rule_text import read_rule_text
from clearmargin.language.syntax import Bound, Chain, Condition, Membership, Missing, RuleNode, Tree
from clearmargin.rules.rule import Label
from clearmargin.rules.space import FeatureSpace

CandidateKind = Literal["feature", "category", "class", "number", "sign", "keyword"]

# No name that people give to anything.
_PROBE = "zq_probe_qz"
# Endings that make a whole line of what was typed, whatever was typed last.
_ENDINGS = (
    "",
    " >= 0 => c",
    " => c",
    " c",
    " 0 => c",
    " z >= 0 => c",
    " c} => c",
    "} => c",
    " missing => c",
    " 1]",
    " 0, 1]",
    " c}",
)
_DECLARING = ("integer", "in [", "in {", "unit", "fill")
_WORDS: tuple[tuple[str, CandidateKind], ...] = (
    *((word, "keyword") for word in ("and", "not", "true", "weight")),
    *((sign, "sign") for sign in ("=>", "<=", "<", ">=", ">", "=", "}", ",", "[weight")),
    *((word, "keyword") for word in ("is missing", "is not missing", "missing", "not missing")),
    *((word, "keyword") for word in _DECLARING),
)
_QUOTED = re.compile(r"`(?:[^`\\]|\\.)*(?:`|\Z)")
_LAST_WORD = re.compile(rf"(?:{NAME}|{NUMBER}|[<>=]+)\Z")
_MOST = 200


@dataclass(frozen=True, slots=True)
class Candidate:
    """A word that may stand at a place of a text.

    Parameters
    ----------
    text : str
        The word, in the spelling of the rule language.
    kind : {"feature", "category", "class", "number", "sign", "keyword"}
        What it is.
    start, end : int
        The characters that it would replace.
    detail : str
        For a feature its range or categories, for a number which end of the range it is; else empty.

    Examples
    --------
    >>> complete("age >= 3 => i", 13, classes=["ill", "well"])
    (Candidate(text='ill', kind='class', start=12, end=13, detail=''),)
    """

    text: str
    kind: CandidateKind
    start: int
    end: int
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the candidate as plain data for JSON."""
        return {
            "text": self.text,
            "kind": self.kind,
            "from": self.start,
            "to": self.end,
            "detail": self.detail,
        }


def complete(
    text: str,
    offset: int,
    space: FeatureSpace | None = None,
    classes: Iterable[Label] | None = None,
) -> tuple[Candidate, ...]:
    r"""List the words that may stand at a place of a rule text.

    Parameters
    ----------
    text : str
        Rules in the rule language, perhaps unfinished.
    offset : int
        The place, from 0: where the cursor is.
    space : FeatureSpace, optional
        The features; by default those that the text declares or speaks of.
    classes : iterable of labels, optional
        The classes, likewise.

    Returns
    -------
    tuple of Candidate
        At most 200; those that start as what was typed come first, then those that hold it. A line with a mistake
        before the place has none.

    Examples
    --------
    >>> space = FeatureSpace(["age", "smoker"], [18, 0], [99, 1], categories={"smoker": ["yes", "no"]})
    >>> [found.text for found in complete("a", 1, space)]
    ['age']
    >>> [(found.text, found.detail) for found in complete("smoker = ", 9, space)]
    [('yes', ''), ('no', '')]
    >>> [found.text for found in complete("age >= 30 => ", 13, space, ["ill", "well"])]
    ['ill', 'well', 'not']
    """
    if not 0 <= offset <= len(text):
        raise InvalidValueError(f"offset must be from 0 to {len(text)}, the length, not {offset}")
    written = read_rule_text(text, space, classes)
    known = written.rules.space if space is None else space
    labels = written.rules.classes if classes is None else tuple(classes)
    line_start, line_end = next(
        span for span in reversed(list(Source(text).lines())) if span[0] <= offset
    )
    if "#" in _QUOTED.sub("", text[line_start:offset]):
        return ()
    start, end = _word(text, line_start, line_end, offset)
    typed = text[start:offset].lower().strip("`")
    asked = _Asked(text[line_start:start], known, labels)
    found = [
        Candidate(word, kind, start, end, detail)
        for word, kind, detail in asked.words()
        if typed in word.lower()
    ]
    found.sort(key=lambda c: not c.text.lower().strip("`").startswith(typed))
    return tuple(found[:_MOST])


def _word(text: str, line_start: int, line_end: int, offset: int) -> tuple[int, int]:
    """Find the characters of the word that is being typed at a place."""
    for found in _QUOTED.finditer(text, line_start, line_end):
        if found.start() < offset <= found.end() and not (
            offset == found.end() and found[0].endswith("`") and len(found[0]) > 1
        ):
            is_closed = len(found[0]) > 1 and found[0].endswith("`")
            return found.start(), found.end() if is_closed else offset
    last = _LAST_WORD.search(text, line_start, offset)
    start = offset if last is None else last.start()
    rest = re.compile(r"\w*").match(text, offset, line_end) if start < offset else None
    is_word = start < offset and (text[start].isalnum() or text[start] == "_")
    return start, rest.end() if rest is not None and is_word else offset


class _Asked:
    """The line before a word, asked for what may stand there."""

    def __init__(self, before: str, space: FeatureSpace, classes: tuple[Label, ...]):
        self.before, self.space, self.classes = before, space, classes

    def words(self) -> Iterator[tuple[str, CandidateKind, str]]:
        names = self._reads(_PROBE)
        if names is not None:
            yield from self._names(names)
            if names.features or names.classes is not None:
                return  # a declaration, in which nothing else could stand here
        yield from self._numbers()
        for word, kind in _WORDS:
            is_name = names is not None
            if any(self._is_meant(word, tree, is_name=is_name) for tree in self._trees(word)):
                yield word, kind, ""

    def _is_meant(self, word: str, tree: Tree, *, is_name: bool) -> bool:
        """Check that a word stands for what it is, and not for a name, and that comparisons fit their feature."""
        if word in _DECLARING and (tree.features or word != "in {"):
            return bool(tree.features) and not is_name
        if word == "true":
            return any(not rule.conditions for rule in tree.rules)
        if word == "not":
            return any(rule.label.is_negated for rule in tree.rules)
        is_taken_for_a_name = word in {"weight", "missing"} and is_name
        is_class = "missing" in word and any(r.label.value == "missing" for r in tree.rules)
        fits = all(self._fits(c) for rule in tree.rules for c in rule.conditions)
        return fits and not (is_taken_for_a_name or is_class)

    def _fits(self, condition: Condition) -> bool:
        if isinstance(condition, Membership):
            return self._has_categories(condition.feature.text)
        if isinstance(condition, Bound):
            return condition.is_equality or not self._has_categories(condition.feature.text)
        is_sum = isinstance(condition, Chain) and condition.match is None
        return not is_sum or not any(map(self._has_categories, _spoken_of(condition)))

    def _reads(self, word: str) -> Tree | None:
        """Return the tree of the line with this word and the first ending that fits; None where there is none."""
        return next(self._trees(word), None)

    def _trees(self, word: str) -> Iterator[Tree]:
        """Read the line with this word and each of the endings."""
        glue = "" if not self.before or self.before[-1:].isspace() else " "
        for ending in _ENDINGS:
            try:
                tree = parse_tree(Source(f"{self.before}{glue}{word}{ending}"))
            except RuleSyntaxError:
                continue
            yield tree

    def _names(self, tree: Tree) -> Iterator[tuple[str, CandidateKind, str]]:
        for node in tree.features:
            if node.name.text == _PROBE:
                yield from self._features()
            elif any(name.text == _PROBE for name in [*(node.categories or ()), node.fill] if name):
                yield from self._categories(node.name.text)
        labels = [node.label for node in tree.rules]
        labels += [] if tree.classes is None else tree.classes.labels
        if any(label.value == _PROBE for label in labels):
            yield from ((format_label(label), "class", "") for label in self.classes)
        for rule in tree.rules:
            yield from self._of_rule(rule)

    def _of_rule(self, rule: RuleNode) -> Iterator[tuple[str, CandidateKind, str]]:
        for condition in rule.conditions:
            owner = _category_owner(condition)
            if owner is not None and self._has_categories(owner):
                yield from self._categories(owner)
            elif owner is not None or _PROBE in _spoken_of(condition):
                # What is compared with something that stands before it is a number.
                yield from self._features(numbers_only=condition.start < len(self.before))

    def _has_categories(self, name: str) -> bool:
        if name not in self.space.names:
            return False
        return self.space.categories[self.space.index(name)] is not None

    def _features(self, numbers_only: bool = False) -> Iterator[tuple[str, CandidateKind, str]]:
        for j, name in enumerate(self.space.names):
            categories = self.space.categories[j]
            if categories is None:
                yield quote(name), "feature", self._range(j)
            elif not numbers_only:
                yield quote(name), "feature", ", ".join(categories[:5])

    def _range(self, j: int) -> str:
        low, high = float(self.space.lower[j]), float(self.space.upper[j])
        unit = f" {self.space.units[j]}" if self.space.units[j] else ""
        if not (math.isfinite(low) and math.isfinite(high)):
            return unit.strip()
        return f"{format_number(low)} to {format_number(high)}{unit}"

    def _categories(self, name: str) -> Iterator[tuple[str, CandidateKind, str]]:
        if self._has_categories(name):
            for category in self.space.categories[self.space.index(name)] or ():
                yield quote(category), "category", ""

    def _numbers(self) -> Iterator[tuple[str, CandidateKind, str]]:
        """Give the ends of the range of a feature that is being compared with a number."""
        tree = self._reads("0")
        place = len(self.before)
        for condition in () if tree is None else [c for r in tree.rules for c in r.conditions]:
            if not isinstance(condition, Bound) or condition.feature.text not in self.space.names:
                continue
            sides = [p for p in (condition.low_place, condition.high_place) if p is not None]
            j = self.space.index(condition.feature.text)
            if self.space.categories[j] is None and any(side[0] >= place for side in sides):
                ends = (
                    (float(self.space.lower[j]), "lowest"),
                    (float(self.space.upper[j]), "highest"),
                )
                for value, detail in ends:
                    if math.isfinite(value):
                        yield format_number(value), "number", detail


def _category_owner(condition: Condition) -> str | None:
    """Return the feature of which the probe would be a category (or, of a number, what it is compared with)."""
    if isinstance(condition, Membership):
        is_member = any(member.text == _PROBE for member in condition.members)
        return condition.feature.text if is_member else None
    match = condition.match if isinstance(condition, Chain) else None
    return match[0].text if match is not None and match[1].text == _PROBE else None


def _spoken_of(condition: Condition) -> list[str]:
    if isinstance(condition, Bound | Membership | Missing):
        return [condition.feature.text]
    return [name.text for side in condition.sums for _, name in side.terms]
