"""The premise of a rule as a list of plain conditions, the form from which every language is written.

`common_kind` and `label_text` say how classes are written where all answers of one expression have one type.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.printer import check_rules
from clearmargin.rules.box import Box
from clearmargin.rules.polyhedron import Polyhedron
from clearmargin.rules.rule import Label, Region, as_label
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.space import nearest_name

Kind = Literal["boolean", "integer", "number", "text"]

# The largest integer of SQL's BIGINT and of Java's long.
_LARGEST_INTEGER = 2**63 - 1


def as_class(rules: RuleSet, default: Label | None) -> Label | None:
    """Return the class that is predicted where no rule fires, as the rules spell it; None for no answer."""
    if default is None:
        return None
    asked = as_label(default)
    for label in rules.classes:
        if label == asked:
            return label
    hint = nearest_name(str(asked), [str(label) for label in rules.classes])
    raise InvalidValueError(
        f"default={asked!r} is no class of the rules{hint}; if it should be one, declare it: "
        f"RuleSet(rules, rules.space, classes=[*rules.classes, {asked!r}])"
    )


def common_kind(labels: Sequence[Label]) -> Kind:
    """Return the type that keeps all labels as they are; text if there is no other."""
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
    """Return a label as bare text."""
    if isinstance(label, str):
        return str.__str__(label)  # members of an enumeration have a str of their own, too
    if isinstance(label, bool):
        return "true" if label else "false"
    # Members of an IntEnum have a repr of their own.
    return float.__repr__(label) if isinstance(label, float) else int.__repr__(label)


def _is_plain(label: Label, kind: type) -> bool:
    return isinstance(label, kind) and not isinstance(label, bool)


def _is_exact(label: Label) -> bool:
    """Check whether a float holds the label exactly."""
    if _is_plain(label, float):
        return True
    return _is_plain(label, int) and abs(int(label)) <= 2**53


@dataclass(frozen=True, slots=True)
class Between:
    """Bounds on one feature, each with its sign; None where there is none."""

    feature: int
    low: tuple[str, float] | None
    high: tuple[str, float] | None

    @property
    def is_point(self) -> bool:
        """Whether only one number is left, so that the condition is an equality."""
        return self.low is not None and self.high is not None and self.low[1] == self.high[1]


@dataclass(frozen=True, slots=True)
class Member:
    """The categories that one feature may take, in the order of its space."""

    feature: int
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Weighted:
    """A weighted sum of features, added up from left to right, compared with a limit by ``<=`` or ``<``."""

    terms: tuple[tuple[int, float], ...]
    sign: str
    limit: float


@dataclass(frozen=True, slots=True)
class Missing:
    """Whether the value of one feature is missing, or must not be."""

    feature: int
    is_missing: bool


Condition = Between | Member | Weighted | Missing


def conditions(region: Region, categories: tuple[tuple[str, ...] | None, ...]) -> list[Condition]:
    """Read a region as conditions that all have to hold; none stands for the whole space."""
    if isinstance(region, Box):
        return [_of_feature(region, j, categories) for j in region.bounded]
    rows = [_weighted(region, i) for i in range(len(region.b))]
    others = (*region.sets, *region.missing, *region.known)
    return [*rows, *(_of_feature(region, j, categories) for j in others)]


def _of_feature(
    region: Region, j: int, categories: tuple[tuple[str, ...] | None, ...]
) -> Between | Member | Missing:
    if j in region.missing or j in region.known:
        return Missing(j, j in region.missing)
    if j in region.sets:
        return _member(region, j, categories)
    assert isinstance(region, Box)
    return _between(region, j)


def _between(box: Box, j: int) -> Between:
    interval = box.interval(j)
    low = (">=" if interval.low_closed else ">", interval.low)
    high = ("<=" if interval.high_closed else "<", interval.high)
    return Between(
        j,
        low if math.isfinite(interval.low) else None,
        high if math.isfinite(interval.high) else None,
    )


def _member(region: Region, j: int, categories: tuple[tuple[str, ...] | None, ...]) -> Member:
    known = categories[j]
    assert known is not None
    return Member(j, tuple(known[code] for code in sorted(region.sets[j])))


def _weighted(region: Polyhedron, i: int) -> Weighted:
    row = region.A[i]
    terms = tuple((j, float(row[j])) for j in np.flatnonzero(row).tolist())
    return Weighted(terms, "<" if region.strict[i] else "<=", float(region.b[i]))


def check_has_rules(rules: object) -> None:
    """Make sure that there are rules to be written as a program."""
    check_rules(rules)
    assert isinstance(rules, RuleSet)
    if not len(rules):
        raise InvalidValueError(
            "there is nothing to export: the rule set has no rules, so every row would get the default"
        )
