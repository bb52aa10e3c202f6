"""One number of a rule text, changed where it stands: what an editor does when a bound is pulled."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.lexer import quote, shown
from clearmargin.language.printer import format_number
from clearmargin.language.rule_text import (
    RuleText,
    Side,
    Statement,
    WrittenBound,
    WrittenCondition,
    read_rule_text,
)
from clearmargin.rules.rule import Label
from clearmargin.rules.space import FeatureSpace, nearest_name

_SIDES: tuple[Side, Side] = ("low", "high")


class _Change(NamedTuple):
    """Characters that become others."""

    start: int
    end: int
    text: str


def edit_bound(
    text: str,
    rule: int | str,
    feature: str,
    side: Side,
    value: float | None,
    *,
    space: FeatureSpace | None = None,
    classes: Iterable[Label] | None = None,
) -> str:
    r"""Change one bound of one rule in a text, and nothing else.

    Where the rule has such a bound, its number is replaced; comments, blanks and all other rules stay as they are. A
    bound that the rule does not have is added, as ``<=`` or ``>=``, and None drops one.

    Parameters
    ----------
    text : str
        Rules in the rule language; other rules may have mistakes.
    rule : int or str
        The rule: its place among the rules of the text, from 0 and counting those with mistakes, or its name.
    feature : str
        The feature, a number.
    side : {"low", "high"}
        Which bound.
    value : float or None
        The new bound; None for no bound on this side. Whether the bound itself belongs to the rule stays as it is.
    space, classes : optional
        Features and classes that may occur, as for `parse_rules`.

    Returns
    -------
    str
        The text with this bound.

    Raises
    ------
    InvalidValueError
        Where there is no such rule or feature, where the bound stands in a linear condition of several features, or
        where no value would be left.

    Examples
    --------
    >>> text = "large: size >= 5  and nuclei < 4 => malignant  # from the ward round"
    >>> print(edit_bound(text, "large", "size", "low", 6))
    large: size >= 6  and nuclei < 4 => malignant  # from the ward round
    >>> print(edit_bound(text, 0, "nuclei", "low", 1))
    large: size >= 5  and 1 <= nuclei < 4 => malignant  # from the ward round
    >>> print(edit_bound(text, 0, "size", "low", None))
    large: nuclei < 4 => malignant  # from the ward round
    """
    if side not in _SIDES:
        raise InvalidValueError(f"side must be 'low' or 'high', not {side!r}")
    if value is not None and not math.isfinite(value):
        raise InvalidValueError(
            f"a bound must be a finite number, or None to drop it, not {value!r}"
        )
    written = read_rule_text(text, space, classes)
    statement = _find(written, rule)
    _check_feature(written, feature, is_known=space is not None)
    number = None if value is None else float(value) + 0.0  # no -0.0
    edit = _Edit(text, statement, feature, side, number)
    changes = edit.of_number()
    if changes is None:
        changes = edit.of_conditions()
    for change in sorted(changes, reverse=True):
        text = text[: change.start] + change.text + text[change.end :]
    return text


def _find(written: RuleText, rule: int | str) -> Statement:
    rules = [statement for statement in written.statements if statement.kind == "rule"]
    if isinstance(rule, str):
        named = [statement for statement in rules if statement.name == rule]
        if len(named) == 1:
            return named[0]
        names = [statement.name for statement in rules if statement.name is not None]
        problem = f"several rules are called {shown(rule)}; give the place of one, from 0"
        if not named:
            problem = f"no rule is called {shown(rule)}{nearest_name(rule, names)}"
        raise InvalidValueError(problem)
    if not 0 <= rule < len(rules):
        raise InvalidValueError(f"there is no rule {rule}; the text has {len(rules)}, from 0")
    return rules[rule]


def _check_feature(written: RuleText, feature: str, *, is_known: bool) -> None:
    space = written.rules.space
    is_declared = any(statement.kind == "feature" for statement in written.statements)
    if feature not in space.names:
        if is_known or is_declared:
            raise InvalidValueError(
                f"unknown feature {shown(feature)}{nearest_name(feature, space.names)}"
            )
    elif space.categories[space.index(feature)] is not None:
        raise InvalidValueError(f"{shown(feature)} has categories, and no bounds")


class _Edit:
    """The new bound of a rule, and how the text has to change for it."""

    def __init__(self, text: str, rule: Statement, feature: str, side: Side, value: float | None):
        self.text, self.rule, self.feature, self.side, self.value = text, rule, feature, side, value
        self.stated = [c for c in rule.conditions if any(b.feature == feature for b in c.bounds)]

    def _bounds(self, side: Side) -> list[WrittenBound]:
        """Return all bounds of the feature on one side, the narrowest, which counts, first."""
        sign = 1.0 if side == "low" else -1.0
        found = [
            b for c in self.stated for b in c.bounds if (b.feature, b.side) == (self.feature, side)
        ]
        return sorted(found, key=lambda bound: (sign * bound.value, bound.is_open), reverse=True)

    def of_number(self) -> list[_Change] | None:
        """Change a single number, or nothing; None where a condition has to come, go or be stated anew."""
        bounds = self._bounds(self.side)
        if self.value is None:
            return None if bounds else []
        self._check_room(bounds)
        if not bounds:
            return None
        if bounds[0].value == self.value:
            return []
        sign = 1.0 if self.side == "low" else -1.0
        others_bind = any(sign * bound.value >= sign * self.value for bound in bounds[1:])
        # The number of ``x = 4`` is both bounds.
        same = [b for c in self.stated for b in c.bounds if b.start == bounds[0].start]
        start, end = bounds[0].start, bounds[0].end
        if others_bind or len(same) > 1 or start is None or end is None:
            return None
        return [_Change(start, end, format_number(self.value))]

    def _check_room(self, bounds: list[WrittenBound]) -> None:
        """Raise if no value of the feature would be left between the new bound and those of the other side."""
        assert self.value is not None
        for bound in self._bounds("high" if self.side == "low" else "low"):
            room = (bound.value - self.value) * (1.0 if self.side == "low" else -1.0)
            is_open = bound.is_open or any(mine.is_open for mine in bounds[:1])
            if room < 0 or (room == 0 and is_open):
                raise InvalidValueError(
                    f"no value of {shown(self.feature)} would be left: its other bound is {format_number(bound.value)}"
                )

    def of_conditions(self) -> list[_Change]:
        """State all bounds of the feature anew, as one condition in the place of the first one."""
        for condition in self.stated:
            if len(condition.features) > 1:
                raise InvalidValueError(
                    f"the bound of {shown(self.feature)} is part of {self.text[condition.start : condition.end]!r}, "
                    "which speaks of other features, too; edit the text"
                )
        signs: dict[Side, str] = {}
        numbers: dict[Side, str] = {}
        for side in _SIDES:
            for bound in self._bounds(side)[:1]:
                signs[side] = "<" if bound.is_open else "<="
                written = None if bound.start is None else self.text[bound.start : bound.end]
                numbers[side] = format_number(bound.value) if written is None else written
        if self.value is None:
            del numbers[self.side]
        else:
            signs.setdefault(self.side, "<=")
            numbers[self.side] = format_number(self.value)
        condition_text = _condition_text(quote(self.feature), signs, numbers)
        return list(_replaced(self.rule, self.stated, condition_text))


def _condition_text(name: str, signs: dict[Side, str], numbers: dict[Side, str]) -> str:
    """Write one or two bounds of a feature as a condition; nothing where there is none."""
    if len(numbers) == 2:
        return f"{numbers['low']} {signs['low']} {name} {signs['high']} {numbers['high']}"
    if "low" in numbers:
        return f"{name} {signs['low'].replace('<', '>')} {numbers['low']}"
    return f"{name} {signs['high']} {numbers['high']}" if numbers else ""


def _replaced(rule: Statement, stated: list[WrittenCondition], condition: str) -> Iterator[_Change]:
    kept = [c for c in rule.conditions if c not in stated]
    if not kept:
        assert rule.premise is not None
        yield _Change(*rule.premise, condition or "true")
    elif not stated:
        end = rule.conditions[-1].end
        yield _Change(end, end, f" and {condition}")
    else:
        if condition:
            yield _Change(stated[0].start, stated[0].end, condition)
        for gone in stated[1:] if condition else stated:
            yield _without(rule.conditions, gone)


def _without(conditions: tuple[WrittenCondition, ...], gone: WrittenCondition) -> _Change:
    """Take out a condition with the ``and`` that joins it to the one before or, at the start, to the next one."""
    k = conditions.index(gone)
    if k:
        return _Change(conditions[k - 1].end, gone.end, "")
    return _Change(gone.start, conditions[1].start, "")
