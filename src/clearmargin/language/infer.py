"""Features and classes of rules that declare none, from how they are used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clearmargin.exceptions import RuleSyntaxError
from clearmargin.language.lexer import NOT_NUMBERS
from clearmargin.language.source import Source, shown
from clearmargin.language.syntax import Bound, Chain, Condition, Membership, Missing, Name, RuleNode
from clearmargin.rules.rule import Label
from clearmargin.rules.space import FeatureSpace

__all__ = ["infer_classes", "infer_space", "refuse_infinity"]


def infer_classes(rules: Sequence[RuleNode]) -> tuple[Label, ...]:
    """Collect the classes in the order in which they appear."""
    return tuple(dict.fromkeys(rule.label.value for rule in rules))


def infer_space(source: Source, rules: Sequence[RuleNode]) -> FeatureSpace:
    r"""Collect the features, and the categories of each, in the order in which they appear.

    A feature with a name after ``=`` or a set after ``in`` has categories, all others are numbers (also those of which
    the rules say no more than whether they are missing). If both sides of
    ``=`` are names, the left one has categories unless it is compared as a number somewhere else.

    Parameters
    ----------
    source : Source
        The text, for errors.
    rules : sequence of RuleNode
        The rules.

    Returns
    -------
    FeatureSpace
        Unbounded features without units.

    Examples
    --------
    >>> from clearmargin.language.parser import parse_tree
    >>> source = Source("colour = red and size > 3 => a\ncolour in {blue} => b")
    >>> space = infer_space(source, parse_tree(source).rules)
    >>> space.names, space.categories
    (('colour', 'size'), (('red', 'blue'), None))
    """
    usage = _Usage(source, set(_compared_as_numbers(rules)))
    for rule in rules:
        for condition in rule.conditions:
            usage.note(condition)
    usage.check_spellings()
    kinds = [None if found is None else list(found) for found in usage.features.values()]
    return FeatureSpace(usage.features, categories=[found or None for found in kinds])


def refuse_infinity(source: Source, name: Name) -> None:
    """Raise if `inf` or `nan` stands where a number is meant; in backquotes it is a name like others."""
    if name.text.lower() in NOT_NUMBERS and source.text[name.start] != "`":
        is_missing = name.text.lower() == "nan"
        advice = (
            "for a missing value write 'is missing'"
            if is_missing
            else "leave the condition out where there is no bound"
        )
        raise source.error(
            f"{shown(name.text)} is no number that a feature can be compared with; {advice} (as a name it is "
            f"written `{name.text}`)",
            name.start,
            name.end,
        )


def _compared_as_numbers(rules: Sequence[RuleNode]) -> Iterator[str]:
    """Names that stand in a comparison which can only be one of numbers."""
    for rule in rules:
        for condition in rule.conditions:
            if isinstance(condition, Bound):
                yield condition.feature.text
            elif isinstance(condition, Chain) and condition.match is None:
                for side in condition.sums:
                    for _, name in side.terms:
                        yield name.text


class _Usage:
    """The features seen so far: None for a number, else its categories in order, none where neither was said."""

    def __init__(self, source: Source, numbers: set[str]):
        self.source = source
        self.numbers = numbers
        self.features: dict[str, dict[str, None] | None] = {}
        self._spelled: list[tuple[str, Name]] = []

    def note(self, condition: Condition) -> None:
        if isinstance(condition, Bound):
            self._note_number(condition.feature)
        elif isinstance(condition, Missing):
            self.features.setdefault(condition.feature.text, {})
        elif isinstance(condition, Membership):
            self._note_categories(condition.feature, condition.members)
        elif (match := condition.match) is None:
            for side in condition.sums:
                for _, name in side.terms:
                    self._note_number(name)
        elif match[0].text not in self.numbers:
            self._note_categories(match[0], [match[1]])
        else:
            self._note_equality(*match)

    def _note_number(self, name: Name) -> None:
        refuse_infinity(self.source, name)
        if self.features.setdefault(name.text, None):
            raise self._both_ways(name)
        self.features[name.text] = None

    def _note_equality(self, left: Name, right: Name) -> None:
        if right.text not in self.numbers:
            raise self.source.error(
                f"{shown(left.text)} is a number elsewhere, and {shown(right.text)} is neither a number nor a feature",
                right.start,
                right.end,
            )
        self._note_number(left)
        self._note_number(right)

    def _note_categories(self, feature: Name, members: list[Name]) -> None:
        found = self.features.setdefault(feature.text, {})
        if found is None:
            raise self._both_ways(feature)
        for member in members:
            refuse_infinity(self.source, member)
            if member.is_number:
                self._spelled.append((feature.text, member))
            else:
                found[member.text] = None

    def check_spellings(self) -> None:
        """A bare number can only stand for a category that is written in backquotes elsewhere."""
        for feature, member in self._spelled:
            if member.text not in (self.features[feature] or {}):
                raise self.source.error(
                    f"a number is no category; as a name it is written `{member.text}`",
                    member.start,
                    member.end,
                )

    def _both_ways(self, name: Name) -> RuleSyntaxError:
        return self.source.error(
            f"{shown(name.text)} is compared as a number and also has categories",
            name.start,
            name.end,
        )
