"""Rules as an indented outline, in the look of scikit-learn's `export_text`."""

from __future__ import annotations

from clearmargin.export.labels import as_class
from clearmargin.language.lexer import quote
from clearmargin.language.printer import Phrases, check_rules, format_label, format_number
from clearmargin.language.prose import filled_features
from clearmargin.rules.rule import Label
from clearmargin.rules.ruleset import RuleSet

__all__ = ["to_text"]


def to_text(rules: RuleSet, *, default: Label | None = None) -> str:
    """Write rules as an outline in which conditions that neighbours share stand once.

    Read it from the top: the first class whose conditions all hold is the answer. Numbers are exact.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    default : label, optional
        The class of rows that no rule covers; without it, nothing is said of them.

    Returns
    -------
    str
        One condition or class a line; below, what missing values count as, where they count as something.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("bmi >= 30 and age > 50 => ill; bmi >= 30 and age <= 20 => well".replace("; ", chr(10)))
    >>> print(to_text(rules), end="")
    |--- bmi >= 30
    |   |--- age > 50
    |   |   |--- class: ill
    |   |--- age <= 20
    |   |   |--- class: well
    """
    check_rules(rules)
    otherwise = as_class(rules, default)
    phrases = Phrases(rules.space)
    lines: list[str] = []
    before: list[str] = []
    for rule in rules:
        path = phrases.conditions(rule.region)
        shared = _shared(before, path)
        lines += [_line(depth, path[depth]) for depth in range(shared, len(path))]
        lines.append(_line(len(path), f"class: {format_label(rule.label)}"))
        before = path
    if otherwise is not None:
        lines += [_line(0, "otherwise"), _line(1, f"class: {format_label(otherwise)}")]
    lines += [
        f"missing {quote(name)} counts as {quote(value) if isinstance(value, str) else format_number(value)}"
        for name, value in filled_features(rules)
    ]
    return "".join(f"{line}\n" for line in lines)


def _shared(one: list[str], other: list[str]) -> int:
    """How many first conditions are the same."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


def _line(depth: int, text: str) -> str:
    return f"{'|   ' * depth}|--- {text}"
