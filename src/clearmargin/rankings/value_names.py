"""Values of an attribute as they stand under bars, where its name is said above."""

from __future__ import annotations

import re

from clearmargin.drawing.lettering import short_number
from clearmargin.language.lexer import quote
from clearmargin.language.prose import plain

__all__ = ["value_names"]

_SIGNS = {"<": "<", "<=": "≤", ">": ">", ">=": "≥"}
# Numbers with more letters are cut to three digits.
_LONG = 6
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?")


def value_names(attribute: str, properties: list[str]) -> list[str]:
    """Write the properties of one attribute without its name.

    Parameters
    ----------
    attribute : str
        The name.
    properties : list of str
        Conditions on it in the rule language.

    Returns
    -------
    list of str
        Long numbers have three digits, unless two values would then look the same.

    Examples
    --------
    >>> value_names("age", ["age < 30", "30 <= age < 45.12345", "age >= 45.12345", "age is missing"])
    ['<30', '[30, 45.1)', '≥45.1', 'missing']
    >>> value_names("body mass", ["`body mass` = 1001.25", "`body mass` = 1001.375"])
    ['1001.25', '1001.375']
    """
    short = [_say(quote(attribute), text, digits=True) for text in properties]
    if len(set(short)) == len(short):
        return short
    return [_say(quote(attribute), text, digits=False) for text in properties]


def _say(name: str, text: str, *, digits: bool) -> str:
    between = re.fullmatch(rf"(\S+) (<=?) {re.escape(name)} (<=?) (\S+)", text)
    if between is not None:
        low, above, below, high = between.groups()
        opening, closing = "[" if above == "<=" else "(", "]" if below == "<=" else ")"
        return f"{opening}{_value(low, digits)}, {_value(high, digits)}{closing}"
    if not text.startswith(f"{name} "):
        return plain(text)
    relation, _, value = text[len(name) + 1 :].partition(" ")
    if relation == "is":
        return value
    if relation == "=":
        return _value(value, digits)
    if relation not in _SIGNS:
        return plain(text[len(name) + 1 :])
    # No space: lines may be broken there.
    return f"{_SIGNS[relation]}{_value(value, digits)}"


def _value(text: str, digits: bool) -> str:
    if text.startswith("`"):
        # What cannot be seen stays an escape.
        return re.sub(r"\\([`\\])", r"\1", text[1:-1])
    # A category may be called nan or inf: those are no numbers here.
    if _NUMBER.fullmatch(text) is None:
        return plain(text)
    # A minus: lines may be broken behind a hyphen.
    return (short_number(float(text)) if digits and len(text) > _LONG else text).replace("-", "−")
