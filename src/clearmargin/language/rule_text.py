"""Rule text with its mistakes: what could be read, where it stands, and all that could not.

`parse_rules` raises at the first mistake; `read_rule_text` reads on behind each of them, by the same grammar, and keeps
the places of rules, conditions and numbers. Editors need that: text that is being typed is wrong most of the time.
"""

from __future__ import annotations

import bisect
import contextlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from clearmargin.exceptions import RuleSyntaxError
from clearmargin.language.lexer import Recovery, Source
from clearmargin.language.resolve import Limits, Vocabulary, compared, resolve
from clearmargin.language.syntax import (
    Bound,
    Chain,
    ClassesNode,
    Condition,
    FeatureNode,
    Membership,
    Missing,
    RuleNode,
)
from clearmargin.rules.rule import Label
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.space import FeatureSpace

Side = Literal["low", "high"]


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something in a text that cannot be understood.

    Parameters
    ----------
    start, end : int
        The characters concerned, as offsets in the text; both the end of a line that ends too early.
    line, column : int
        The same place, counted from 1.
    message : str
        What is wrong, in one sentence.
    fix : str or None
        What the characters would better be, where that is known.

    Examples
    --------
    >>> mistake = read_rule_text("x -> a").mistakes[0]
    >>> mistake.start, mistake.end, mistake.message, mistake.fix
    (2, 4, "unexpected '->'; write '=>' before the class", '=>')
    """

    start: int
    end: int
    line: int
    column: int
    message: str
    fix: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the mistake as plain data for JSON."""
        return {
            "from": self.start,
            "to": self.end,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "fix": self.fix,
        }


@dataclass(frozen=True, slots=True)
class WrittenBound:
    """A bound of one feature, as a condition states it.

    Parameters
    ----------
    feature : str
        The feature.
    side : {"low", "high"}
        Whether it is a lower or an upper bound.
    value : float
        The bound.
    is_open : bool
        Whether the value itself is left out (``<`` and ``>``).
    start, end : int or None
        Where its number stands; None where the bound follows from a sum, as in ``x - 3 <= 5``.

    Examples
    --------
    >>> read_rule_text("age > 3 => ill").statements[0].conditions[0].bounds[0]
    WrittenBound(feature='age', side='low', value=3.0, is_open=True, start=6, end=7)
    """

    feature: str
    side: Side
    value: float
    is_open: bool
    start: int | None
    end: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the bound as plain data for JSON."""
        return {
            "feature": self.feature,
            "side": self.side,
            "value": self.value,
            "open": self.is_open,
            "from": self.start,
            "to": self.end,
        }


@dataclass(frozen=True, slots=True)
class WrittenCondition:
    """A condition of a rule, and where it stands.

    Parameters
    ----------
    start, end : int
        Its place in the text.
    features : tuple of str
        The features it speaks of.
    bounds : tuple of WrittenBound
        The plain bounds that it states.

    Examples
    --------
    >>> read_rule_text("age + 2*bmi > 3 => ill").statements[0].conditions[0]
    WrittenCondition(start=0, end=15, features=('age', 'bmi'), bounds=())
    """

    start: int
    end: int
    features: tuple[str, ...]
    bounds: tuple[WrittenBound, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the condition as plain data for JSON."""
        return {
            "from": self.start,
            "to": self.end,
            "features": list(self.features),
            "bounds": [bound.to_dict() for bound in self.bounds],
        }


@dataclass(frozen=True, slots=True)
class Statement:
    """A line of rule text that says something.

    Parameters
    ----------
    kind : {"rule", "feature", "classes", "unreadable"}
        What it is.
    start, end : int
        Its place in the text, without blanks around it and comment.
    name : str or None
        The name of the rule, or of the feature that is declared.
    rule : int or None
        The place of the rule in `RuleText.rules`, from 0; None for a rule with a mistake, and for what is no rule.
    conditions : tuple of WrittenCondition
        The conditions of a rule that could be read.
    premise : (int, int) or None
        Where the premise of a rule stands.
    label : (int, int) or None
        Where the class of a rule stands.

    Examples
    --------
    >>> statement = read_rule_text("old: age >= 60 => ill  # so").statements[0]
    >>> statement.kind, statement.name, statement.start, statement.end, statement.label
    ('rule', 'old', 0, 21, (18, 21))
    """

    kind: Literal["rule", "feature", "classes", "unreadable"]
    start: int
    end: int
    name: str | None = None
    rule: int | None = None
    conditions: tuple[WrittenCondition, ...] = ()
    premise: tuple[int, int] | None = None
    label: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as plain data for JSON."""
        return {
            "kind": self.kind,
            "from": self.start,
            "to": self.end,
            "name": self.name,
            "rule": self.rule,
            "conditions": [condition.to_dict() for condition in self.conditions],
            "premise": None if self.premise is None else list(self.premise),
            "class": None if self.label is None else list(self.label),
        }


@dataclass(frozen=True, slots=True, eq=False)
class RuleText:
    r"""A text of rules, read to its end.

    Parameters
    ----------
    text : str
        The text.
    statements : tuple of Statement
        What it says, line by line.
    mistakes : tuple of Mistake
        All that cannot be understood, in the order of the text.
    rules : RuleSet
        The rules without a mistake.

    Examples
    --------
    >>> written = read_rule_text("age >= 30 => ill\nage >> 3 => ill\nage < 30 => well")
    >>> len(written.rules), [mistake.line for mistake in written.mistakes]
    (2, [2])
    """

    text: str
    statements: tuple[Statement, ...]
    mistakes: tuple[Mistake, ...]
    rules: RuleSet

    @property
    def errors(self) -> tuple[RuleSyntaxError, ...]:
        """The mistakes as the errors that `parse_rules` raises, of which the first is the one."""
        source = Source(self.text)
        return tuple(source.error(m.message, m.start, m.end, m.fix) for m in self.mistakes)

    def to_dict(self) -> dict[str, Any]:
        """Return statements and mistakes as plain data for JSON."""
        return {
            "statements": [statement.to_dict() for statement in self.statements],
            "mistakes": [mistake.to_dict() for mistake in self.mistakes],
            "rules": self.rules.to_dict(),
        }


def read_rule_text(
    text: str, space: FeatureSpace | None = None, classes: Iterable[Label] | None = None
) -> RuleText:
    r"""Read rules to the end of the text, whatever mistakes there are.

    Parameters
    ----------
    text : str
        Rules in the rule language, perhaps unfinished.
    space : FeatureSpace, optional
        The features that may occur, as for `parse_rules`.
    classes : iterable of labels, optional
        The classes that may occur, likewise.

    Returns
    -------
    RuleText
        Rules that could be read, all mistakes, and the places of both. Where there is no mistake, `rules` is what
        `parse_rules` gives; where there are some, `parse_rules` raises one of them.

    See Also
    --------
    parse_rules : Reads rules that must be right.
    edit_bound : Changes one number in a text.
    complete : What may come next in a text.

    Examples
    --------
    >>> space = FeatureSpace(["age", "glucose"])
    >>> written = read_rule_text("age >= 30 and glucos > 7 and agee < 9 => ill\nage < 30 => well", space)
    >>> [(mistake.message, mistake.fix) for mistake in written.mistakes]
    [("unknown feature 'glucos'; did you mean 'glucose'?", 'glucose'),
     ("unknown feature 'agee'; did you mean 'age'?", 'age')]
    >>> rule = written.statements[1]
    >>> rule.start, rule.conditions[0].bounds[0].value, rule.conditions[0].bounds[0].start
    (45, 30.0, 51)
    """
    if not isinstance(text, str):
        raise TypeError(f"rules are read from a text (str), not from {type(text).__name__}")
    source = Source(text, Recovery(keep=True))
    tree, words, made = resolve(source, space, classes)
    number = 0
    statements: list[Statement] = []
    for node, rule in zip(tree.rules, made, strict=True):
        statements.append(_rule_statement(node, None if rule is None else number, words))
        number += rule is not None
    statements += [_declaration(node) for node in tree.features]
    statements += [] if tree.classes is None else [_declaration(tree.classes)]
    mistakes = _mistakes(source)
    statements += _unreadable(source, statements, mistakes)
    statements.sort(key=lambda statement: statement.start)
    rules = [rule for rule in made if rule is not None]
    labels = tuple(dict.fromkeys([*words.classes, *(rule.label for rule in rules)]))
    return RuleText(text, tuple(statements), mistakes, RuleSet(rules, words.space, labels))


def _mistakes(source: Source) -> tuple[Mistake, ...]:
    """Put mistakes in the order of the text; of two at one place the one that was met first."""
    first: dict[int, RuleSyntaxError] = {}
    for error in source.recovery.mistakes:
        assert error.offset is not None
        first.setdefault(error.offset, error)
    found = []
    for start, error in sorted(first.items()):
        line_end = start - error.column + 1 + len(error.source)
        end = min(start + error.length, line_end)
        found.append(Mistake(start, end, error.line, error.column, error.problem, error.fix))
    return tuple(found)


def _declaration(node: FeatureNode | ClassesNode) -> Statement:
    if isinstance(node, ClassesNode):
        return Statement("classes", node.start, node.end)
    return Statement("feature", node.start, node.end, node.name.text)


def _unreadable(
    source: Source, known: Iterable[Statement], mistakes: Iterable[Mistake]
) -> Iterator[Statement]:
    """Find the lines that hold a mistake, and no statement that could be read."""
    lines = list(source.lines())
    starts = [start for start, _ in lines]
    read = {bisect.bisect_right(starts, statement.start) for statement in known}
    for number in sorted({mistake.line for mistake in mistakes} - read):
        start, end = lines[number - 1]
        line = source.text[start:end]
        yield Statement(
            "unreadable", start + len(line) - len(line.lstrip()), start + len(line.rstrip())
        )


def _rule_statement(node: RuleNode, number: int | None, words: Vocabulary) -> Statement:
    conditions = tuple(_condition(condition, words) for condition in node.conditions)
    label = node.label.start, node.label.end
    return Statement(
        "rule", node.start, node.end, node.name, number, conditions, node.premise, label
    )


def _condition(condition: Condition, words: Vocabulary) -> WrittenCondition:
    bounds: tuple[WrittenBound, ...] = ()
    if isinstance(condition, Bound | Chain):
        # A condition that is a mistake has no bounds; it was noted before.
        with contextlib.suppress(RuleSyntaxError):
            bounds = _bounds(condition, words)
    return WrittenCondition(condition.start, condition.end, _features(condition), bounds)


def _bounds(condition: Bound | Chain, words: Vocabulary) -> tuple[WrittenBound, ...]:
    if words.categories(condition) is not None:
        return ()
    low_place = high_place = None
    if isinstance(condition, Bound):
        low_place, high_place = condition.low_place, condition.high_place
    found = []
    for limits in compared(condition, words):
        if isinstance(limits, Limits):
            name = words.space.names[limits.feature]
            ends: tuple[tuple[Side, float, bool, tuple[int, int] | None], ...] = (
                ("low", limits.low, limits.low_is_open, low_place),
                ("high", limits.high, limits.high_is_open, high_place),
            )
            for side, value, is_open, place in ends:
                if math.isfinite(value):
                    found.append(WrittenBound(name, side, value, is_open, *(place or (None, None))))
    return tuple(found)


def _features(condition: Condition) -> tuple[str, ...]:
    if isinstance(condition, Bound | Membership | Missing):
        return (condition.feature.text,)
    if condition.match is not None:
        return (condition.match[0].text,)
    return tuple(dict.fromkeys(name.text for side in condition.sums for _, name in side.terms))
