"""Rule text with its mistakes: what could be read, where it stands, and all that could not.

`parse_rules` raises at the first mistake; `read_rule_text` reads on behind each of them, by the same grammar, and keeps
the places of rules, conditions and numbers. Editors need that: text that is being typed is wrong most of the time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clearmargin.exceptions import RuleSyntaxError
from clearmargin.language.lexer import Recovery, Source
from clearmargin.language.resolve import resolve
from clearmargin.language.syntax import RuleNode
from clearmargin.rules.rule import Label
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.space import FeatureSpace


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """A rule as it is written: its parts with their places, and its position in the rules without a mistake."""

    node: RuleNode
    position: int | None


@dataclass(frozen=True, slots=True, eq=False)
class RuleText:
    """What was read of a text: its rules as they are written, those without a mistake, and all mistakes in order."""

    written: tuple[WrittenRule, ...]
    rules: RuleSet
    mistakes: tuple[RuleSyntaxError, ...]


def read_rule_text(
    text: str, space: FeatureSpace | None = None, classes: Iterable[Label] | None = None
) -> RuleText:
    r"""Read rules to the end of the text, whatever mistakes there are.

    Parameters
    ----------
    text : str
        Rules in the rule language.
    space, classes : optional
        Features and classes that may occur, as for `parse_rules`.

    Returns
    -------
    RuleText
        `rules` without a mistake, all `mistakes` as the errors that `parse_rules` raises, and the rules as they are
        `written`, with the place of each part.

    Examples
    --------
    >>> space = FeatureSpace(["age", "glucose"])
    >>> found = read_rule_text("age >= 30 and glucos > 7 and agee < 9 => ill\nage < 30 => well", space)
    >>> [(mistake.problem, mistake.fix) for mistake in found.mistakes]
    [("unknown feature 'glucos'; did you mean 'glucose'?", 'glucose'),
     ("unknown feature 'agee'; did you mean 'age'?", 'age')]
    >>> [written.position for written in found.written], len(found.rules)
    ([None, 0], 1)
    """
    if not isinstance(text, str):
        raise TypeError(f"rules are read from a text (str), not from {type(text).__name__}")
    source = Source(text, Recovery(keep=True))
    tree, words, made = resolve(source, space, classes)
    rules = [rule for rule in made if rule is not None]
    numbers = iter(range(len(rules)))
    written = [
        WrittenRule(node, None if rule is None else next(numbers))
        for node, rule in zip(tree.rules, made, strict=True)
    ]
    # Of two mistakes at one place the one that was met first.
    first: dict[int, RuleSyntaxError] = {}
    for error in source.recovery.mistakes:
        first.setdefault(error.offset or 0, error)
    labels = tuple(dict.fromkeys([*words.classes, *(rule.label for rule in rules)]))
    return RuleText(
        tuple(written),
        RuleSet(rules, words.space, labels),
        tuple(error for _, error in sorted(first.items())),
    )
