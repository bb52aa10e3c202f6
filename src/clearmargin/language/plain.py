"""Rules of plain conditions, which most texts consist of, read in one go.

A shortcut for speed and no second grammar: what it reads, it reads exactly as the parser would, and whatever else it
meets it leaves to the parser.
"""

from __future__ import annotations

import math
import re

from clearmargin.language.lexer import NAME, NUMBER
from clearmargin.language.source import Source
from clearmargin.language.syntax import Bound, Chain, Condition, LabelNode, Name, RuleNode, Sum
from clearmargin.rules.rule import Label

__all__ = ["read_plain_rule"]

# What differs from a keyword at its first or last letter, or goes on, is a name.
_WORD = rf"(?!(?i:and|or|not|in|true|false)(?![\w.])){NAME}"
_RULE_NAME = re.compile(rf"\s*+({_WORD})\s*+:")
_CONDITION = re.compile(
    rf"""\s*+(?:(-?{NUMBER})\s*+(<=?)\s*+)?+
    ({_WORD})\s*+([<>]=?|=(?![=><]))\s*+
    (?:(-?{NUMBER})|({_WORD}))\s*+
    (and(?=\s)|=>)""",
    re.VERBOSE,
)
_CLASS = re.compile(rf"\s*+(?:({_WORD})|([0-9]{{1,15}}+))\s*+\Z")


def read_plain_rule(source: Source, start: int, end: int) -> RuleNode | None:
    """Read a line like ``name: 3 <= x < 5 and colour = red => class``; None if it is anything else.

    Parameters
    ----------
    source : Source
        The text.
    start, end : int
        Where the line starts and ends.

    Returns
    -------
    RuleNode or None
        The same node that the parser would make.

    Examples
    --------
    >>> read_plain_rule(Source("3 <= x < 5 => a"), 0, 15).conditions[0].high
    5.0
    >>> read_plain_rule(Source("x + y < 5 => a"), 0, 14) is None
    True
    """
    text = source.text
    at = start
    if (named := _RULE_NAME.match(text, start, end)) is not None:
        at = named.end()
    conditions: list[Condition] = []
    after = "and"
    while after == "and":
        match = _CONDITION.match(text, at, end)
        condition = None if match is None else _read_condition(match)
        if match is None or condition is None:
            return None
        conditions.append(condition)
        after, at = match[7], match.end()
    found = _CLASS.match(text, at, end)
    if found is None:
        return None
    label = _read_class(found)
    if named is None:
        return RuleNode(None, conditions, label, 1.0, conditions[0].start, label.end)
    return RuleNode(named[1], conditions, label, 1.0, named.start(1), label.end)


def _read_condition(match: re.Match[str]) -> Condition | None:
    low, low_sign, word, sign, number, other, _ = match.groups()
    feature = Name(word, match.start(3), match.end(3))
    if other is not None:
        return _read_names(match, feature) if low is None and sign == "=" else None
    value = _read_number(number)
    if low is None:
        return None if value is None else _read_bound(feature, sign, value, match.end(5))
    least = _read_number(low)
    if least is None or value is None or sign[0] != "<":
        return None
    start, end = match.start(1), match.end(5)
    return Bound(feature, least, value, low_sign == "<", sign == "<", False, start, end)


def _read_number(text: str) -> float | None:
    """The number, unless a float may be unable to hold it: then the parser looks at it more closely."""
    value = float(text)
    return None if abs(value) == math.inf or (value == 0 and text != "0") else value


def _read_bound(feature: Name, sign: str, value: float, end: int) -> Bound:
    is_equality = sign == "="
    low = -math.inf if sign[0] == "<" else value
    high = math.inf if sign[0] == ">" else value
    return Bound(feature, low, high, sign == ">", sign == "<", is_equality, feature.start, end)


def _read_names(match: re.Match[str], left: Name) -> Chain:
    right = Name(match[6], match.start(6), match.end(6))
    sums = tuple(Sum(((1.0, name),), 0.0, name.start, name.end, name) for name in (left, right))
    return Chain(sums, ("=",), left.start, right.end)


def _read_class(match: re.Match[str]) -> LabelNode:
    value: Label = match[1] or int(match[2])
    return LabelNode(value, *match.span(match.lastindex or 0))
