"""How classes are written in languages where all answers of one expression have one type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.space import nearest_name

__all__ = ["Kind", "as_class", "common_kind", "label_text"]

Kind = Literal["boolean", "integer", "number", "text"]

# The largest integer of SQL's BIGINT and of Java's long.
_LARGEST_INTEGER = 2**63 - 1


def as_class(rules: RuleSet, default: Label | None) -> Label | None:
    """The class that is said where no rule fires, as the rules spell it; None for no answer.

    Examples
    --------
    >>> from clearmargin.language import parse_rules
    >>> as_class(parse_rules("x > 3 => 1"), 1.0)
    1
    """
    if default is None:
        return None
    said = as_label(default)
    for label in rules.classes:
        if label == said:
            return label
    hint = nearest_name(str(said), [str(label) for label in rules.classes])
    raise InvalidValueError(
        f"default={said!r} is none of the classes{hint}; if it should be one, declare it: "
        f"RuleSet(rules, rules.space, classes=[*rules.classes, {said!r}])"
    )


def common_kind(labels: Sequence[Label]) -> Kind:
    """The type that keeps all labels as they are; text if there is no other.

    Labels that differ only in their type, such as 1 and "1", read the same as text, and that is an error.

    Examples
    --------
    >>> common_kind([0, 1]), common_kind([0, 0.5]), common_kind([0, "ill"])
    ('integer', 'number', 'text')
    """
    if all(isinstance(label, bool) for label in labels):
        return "boolean"
    if all(_is_plain(label, int) and abs(int(label)) <= _LARGEST_INTEGER for label in labels):
        return "integer"
    if all(_is_exact(label) for label in labels):
        return "number"
    seen: dict[str, Label] = {}
    for label in labels:
        other = seen.setdefault(label_text(label), label)
        if other is not label:
            raise InvalidValueError(
                f"the classes {other!r} and {label!r} cannot be told apart once both are written as text; "
                "rename one of them"
            )
    return "text"


def label_text(label: Label) -> str:
    """A label as bare text.

    Examples
    --------
    >>> [label_text(label) for label in ("ill", 1, 0.5, True)]
    ['ill', '1', '0.5', 'true']
    """
    if isinstance(label, str):
        return str.__str__(label)  # members of an enumeration have a str of their own, too
    if isinstance(label, bool):
        return "true" if label else "false"
    # Members of an IntEnum have a repr of their own.
    return float.__repr__(label) if isinstance(label, float) else int.__repr__(label)


def _is_plain(label: Label, kind: type) -> bool:
    return isinstance(label, kind) and not isinstance(label, bool)


def _is_exact(label: Label) -> bool:
    """Whether a float holds the label exactly."""
    if _is_plain(label, float):
        return True
    return _is_plain(label, int) and abs(int(label)) <= 2**53
