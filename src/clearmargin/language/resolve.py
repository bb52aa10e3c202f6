"""Tree to rules: look the names up, make the regions.

What the names stand for (`Vocabulary`) comes from the caller, else from the declarations in the text, else from how the
rules use them (`infer_space`). Plain bounds make a box, anything else linear a polyhedron (`make_region`).
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clearmargin.exceptions import InvalidValueError, RuleSyntaxError
from clearmargin.language.lexer import NOT_NUMBERS, Source, shown
from clearmargin.language.parser import parse_tree
from clearmargin.language.printer import format_label
from clearmargin.language.syntax import (
    Bound,
    Chain,
    Condition,
    FeatureNode,
    LabelNode,
    Membership,
    Missing,
    Name,
    RuleNode,
    Sum,
    Tree,
)
from clearmargin.rules.box import Box
from clearmargin.rules.polyhedron import MatrixBudget, Polyhedron
from clearmargin.rules.rule import Label, Region, Rule, as_label
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.space import FeatureSpace
from clearmargin.rules.value import BoolArray, FloatArray


def parse_rules(
    text: str, space: FeatureSpace | None = None, classes: Iterable[Label] | None = None
) -> RuleSet:
    """Read rules written in the rule language.

    Parameters
    ----------
    text : str
        One rule a line, ``name: premise => class [weight 2]``; see the reference of the rule language.
    space : FeatureSpace, optional
        The features that may occur. Without it they are what the text declares or, if it declares none, what
        the rules speak about, in the order in which they appear.
    classes : iterable of labels, optional
        The classes that may occur; without it as declared or as they appear.

    Returns
    -------
    RuleSet
        The rules, in the order written.

    Raises
    ------
    RuleSyntaxError
        If the text cannot be understood; it says where and, if possible, what was meant.

    Examples
    --------
    >>> rules = parse_rules("obese: bmi >= 30 and glucose >= 126 => ill")
    >>> rules.space.names, rules.classes
    (('bmi', 'glucose'), ('ill',))
    >>> rules.covers([[31, 130], [31, 120]])[:, 0]
    array([ True, False])
    """
    if not isinstance(text, str):
        raise TypeError(f"rules are read from a text (str), not from {type(text).__name__}")
    if space is not None and not isinstance(space, FeatureSpace):
        raise TypeError(f"space must be a FeatureSpace or None, not {type(space).__name__}")
    if isinstance(classes, str):
        raise TypeError(f"classes must be a list of labels, not the single text {classes!r}")
    resolved = resolve(Source(text), space, classes)
    rules = [rule for rule in resolved.rules if rule is not None]
    return RuleSet(rules, resolved.words.space, resolved.words.classes)


class Resolved(NamedTuple):
    """A text with what its names stand for, and what became of each of its rules."""

    tree: Tree
    words: Vocabulary
    rules: list[Rule | None]
    """One for each rule of the tree; None for one with a mistake that was kept for later."""


def resolve(
    source: Source, space: FeatureSpace | None, classes: Iterable[Label] | None
) -> Resolved:
    r"""Read a text as a tree, and make rules of it."""
    labels = None if classes is None else tuple(as_label(label) for label in classes)
    tree = parse_tree(source)
    mistakes = source.recovery.mistakes
    n_parsed = len(mistakes)
    words = make_vocabulary(source, tree, space, labels)
    if not mistakes:
        return Resolved(tree, words, [_make_rule(node, words) for node in tree.rules])
    starts = [start for start, _ in source.lines()]
    lines = [bisect.bisect_right(starts, node.start) for node in tree.rules]
    # A feature that is used in two ways is a mistake that would come again.
    passed_over = {mistake.line for mistake in mistakes[n_parsed:]}
    rules = [
        None if line in passed_over else _make_rule(node, words)
        for line, node in zip(lines, tree.rules, strict=True)
    ]
    wrong = {mistake.line for mistake in mistakes}
    for k, line in enumerate(lines):
        if line in wrong:
            rules[k] = None
    return Resolved(tree, words, rules)


def _make_rule(node: RuleNode, words: Vocabulary) -> Rule | None:
    recovery = words.source.recovery
    n_mistakes = len(recovery.mistakes)
    label: Label | None = None
    region: Region | None = None
    with recovery:
        label = words.label(node.label)
    with recovery:
        region = make_region(node, words)
    if label is None or region is None or len(recovery.mistakes) > n_mistakes:
        return None
    with recovery:
        try:
            return Rule(region, label, name=node.name, weight=node.weight)
        except InvalidValueError as error:
            raise words.source.at(node, str(error)) from error
    return None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Features, categories and classes by name, with an error that suggests the nearest where one is unknown."""

    source: Source
    space: FeatureSpace
    classes: tuple[Label, ...]
    _index: dict[str, int]
    _codes: tuple[dict[str, int] | None, ...]
    _labels: dict[Label, Label]
    budget: MatrixBudget
    """What the linear conditions of all rules together may take."""

    @classmethod
    def over(cls, source: Source, space: FeatureSpace, classes: tuple[Label, ...]) -> Vocabulary:
        """Make the vocabulary of a space and classes."""
        index = {name: j for j, name in enumerate(space.names)}
        codes = tuple(
            None
            if categories is None
            else {category: code for code, category in enumerate(categories)}
            for categories in space.categories
        )
        labels = {label: label for label in classes}
        return cls(source, space, classes, index, codes, labels, MatrixBudget())

    def feature(self, name: Name) -> int:
        """Find the index of a feature."""
        index = self._index.get(name.text)
        if index is None:
            refuse_infinity(self.source, name)
            problem = f"unknown feature {shown(name.text)}"
            raise self.source.unknown(name, name.text, problem, self._index)
        return index

    def numeric_feature(self, name: Name) -> int:
        """Find the index of a feature that must not have categories."""
        index = self.feature(name)
        if self._codes[index] is not None:
            raise self.source.at(
                name, f"{shown(name.text)} has categories; compare it with '=' or 'in {{...}}'"
            )
        return index

    def categories(self, condition: Bound | Chain | Membership) -> tuple[int, list[int]] | None:
        """Read a condition on categories as a feature and codes; None if it is about numbers."""
        if isinstance(condition, Membership):
            feature, members = condition.feature, condition.members
        elif (named := self._named_category(condition)) is not None:
            feature, members = named[0], [named[1]]
        else:
            return None
        index = self.feature(feature)
        codes = self._codes[index]
        if codes is None:
            raise self.source.at(
                feature, f"{shown(feature.text)} is a number and has no categories"
            )
        return index, [self._code(member, codes, feature.text) for member in members]

    def _named_category(self, condition: Bound | Chain) -> tuple[Name, Name] | None:
        """Return the feature and the category of ``feature = category``, if that is what was written."""
        if isinstance(condition, Bound):
            feature = condition.feature
            if not condition.is_equality or self._codes[self.feature(feature)] is None:
                return None
            return feature, self._spelled_number(condition)
        match = condition.match
        return None if match is None or self._codes[self.feature(match[0])] is None else match

    def _spelled_number(self, condition: Bound) -> Name:
        """Return the number after '=' as it is spelled: a category may be called like that."""
        spelling = (
            self.source.text[condition.feature.end : condition.end].lstrip().lstrip("=").lstrip()
        )
        return Name(spelling, condition.end - len(spelling), condition.end, is_number=True)

    def _code(self, member: Name, codes: dict[str, int], feature: str) -> int:
        code = codes.get(member.text)
        if code is None:
            problem = f"unknown category {shown(member.text)} of {shown(feature)}"
            raise self.source.unknown(member, member.text, problem, codes)
        return code

    def label(self, node: LabelNode) -> Label:
        """Return the class that is said; with ``not``, the other one of two."""
        label = self._labels.get(node.value)
        if label is None:
            raise _unknown_class(self.source, node, self.classes)
        if not node.is_negated:
            return label
        if len(self.classes) != 2:
            raise self.source.at(
                node, f"'not' needs exactly two classes, but {_count(self.classes)}"
            )
        first, second = self.classes
        return second if label == first else first


def _count(classes: tuple[Label, ...]) -> str:
    listed = ", ".join(shown(label) for label in classes[:5])
    if len(classes) == 1:
        return f"only {listed} is known; declare them with 'classes: ...'"
    return f"{len(classes)} are known: {listed}{', ...' if len(classes) > 5 else ''}"


def _unknown_class(source: Source, node: LabelNode, classes: tuple[Label, ...]) -> RuleSyntaxError:
    text, problem = str(node.value), f"unknown class {shown(node.value)}"
    written = {str(label): format_label(label) for label in classes}
    for label in classes:
        if str(label) == text:  # the text '1' and the number 1 are different classes
            kind, way = ("text", f"`{text}`") if isinstance(label, str) else ("number", text)
            problem = f"{problem}; as a {kind} it is written {way}"
            return source.at(node, problem, format_label(label))
    return source.unknown(node, text, problem, classes, written.__getitem__)


def make_vocabulary(
    source: Source,
    tree: Tree,
    space: FeatureSpace | None = None,
    classes: Iterable[Label] | None = None,
) -> Vocabulary:
    """Find out what the names in a text stand for."""
    if space is None:
        space = _declared_space(source, tree) if tree.features else infer_space(source, tree.rules)
    if classes is not None:
        labels = tuple(as_label(label) for label in classes)
    elif tree.classes is not None:
        labels = tuple(node.value for node in tree.classes.labels)
    else:
        labels = infer_classes(tree.rules)
    vocabulary = Vocabulary.over(source, space, labels)
    for feature in tree.features:
        with source.recovery:
            vocabulary.feature(feature.name)
    for node in tree.classes.labels if tree.classes is not None else ():
        with source.recovery:
            vocabulary.label(node)
    return vocabulary


def _declared_space(source: Source, tree: Tree) -> FeatureSpace:
    nodes = tree.features
    return FeatureSpace(
        [node.name.text for node in nodes],
        [-np.inf if node.lower is None else node.lower for node in nodes],
        [np.inf if node.upper is None else node.upper for node in nodes],
        np.array([node.is_integer for node in nodes], dtype=np.bool_),
        [
            None if node.categories is None else [name.text for name in node.categories]
            for node in nodes
        ],
        [node.unit for node in nodes],
        [_read_fill(source, node) for node in nodes],
    )


def _read_fill(source: Source, node: FeatureNode) -> float | str | None:
    """Return what a missing value counts as: a category of a feature that has some, and else a number."""
    with source.recovery:
        return None if node.fill is None else _fill_value(source, node, node.fill)
    return None


def _fill_value(source: Source, node: FeatureNode, fill: Name) -> float | str:
    if node.categories is None:
        value = float(fill.text) if fill.is_number else math.nan
        if not math.isfinite(value):
            raise source.at(
                fill,
                f"a missing {shown(node.name.text)} counts as a number, not as {shown(fill.text)}",
            )
        return value
    known = [name.text for name in node.categories]
    if fill.text not in known:
        problem = f"unknown category {shown(fill.text)} of {shown(node.name.text)}"
        raise source.unknown(fill, fill.text, problem, known)
    return fill.text


def infer_classes(rules: Sequence[RuleNode]) -> tuple[Label, ...]:
    """Collect the classes in the order in which they appear."""
    return tuple(dict.fromkeys(rule.label.value for rule in rules))


def infer_space(source: Source, rules: Sequence[RuleNode]) -> FeatureSpace:
    r"""Collect the features, and the categories of each, in the order in which they appear."""
    usage = _Usage(source, set(_compared_as_numbers(rules)))
    for rule in rules:
        for condition in rule.conditions:
            with source.recovery:
                usage.note(condition)
    usage.check_spellings()
    categories = [None if found is None else list(found) for found in usage.features.values()]
    return FeatureSpace(usage.features, categories=[found or None for found in categories])


def refuse_infinity(source: Source, name: Name) -> None:
    """Raise if `inf` or `nan` stands where a number is meant; in backquotes it is a name like others."""
    if name.text.lower() in NOT_NUMBERS and source.text[name.start] != "`":
        is_missing = name.text.lower() == "nan"
        advice = (
            "for a missing value write 'is missing'"
            if is_missing
            else "leave the condition out where there is no bound"
        )
        raise source.at(
            name,
            f"{shown(name.text)} is no number that a feature can be compared with; {advice} (as a name it is "
            f"written `{name.text}`)",
        )


def _compared_as_numbers(rules: Sequence[RuleNode]) -> Iterator[str]:
    """Find names that stand in a comparison which can only be one of numbers."""
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
            raise self.source.at(
                right,
                f"{shown(left.text)} is a number elsewhere, and {shown(right.text)} is neither a number nor a feature",
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
        """Raise if a bare number stands for a category that is not written in backquotes elsewhere."""
        for feature, member in self._spelled:
            if member.text not in (self.features[feature] or {}):
                with self.source.recovery:
                    raise self.source.at(
                        member,
                        f"a number is no category; as a name it is written `{member.text}`",
                        f"`{member.text}`",
                    )

    def _both_ways(self, name: Name) -> RuleSyntaxError:
        return self.source.at(
            name, f"{shown(name.text)} is compared as a number and also has categories"
        )


class Row(NamedTuple):
    """One inequality, and where it is written: weights of some features, times their values, are <= (or <) a limit."""

    weights: dict[int, float]
    limit: float
    is_strict: bool
    written: Bound | Chain

    @property
    def is_bound(self) -> bool:
        """Whether it is a plain bound of one feature."""
        return len(self.weights) == 1 and abs(next(iter(self.weights.values()))) == 1


def make_region(rule: RuleNode, words: Vocabulary) -> Region:
    """Make the region of a premise."""
    rows: list[Row] = []
    sets: dict[int, set[int]] = {}
    missing: dict[int, Missing] = {}
    for condition in rule.conditions:
        with words.source.recovery:
            if isinstance(condition, Missing):
                _note_missing(missing, condition, words)
                continue
            choice = words.categories(condition)
            if choice is not None:
                _narrow_set(sets, choice, condition, words)
            else:
                assert isinstance(condition, Bound | Chain)
                rows.extend(_compare(condition, words))
    needed = {*sets, *(j for row in rows for j in row.weights)}
    for j, condition in missing.items():
        if condition.is_missing and j in needed:
            raise _contradiction(j, condition, words)
    absent = [j for j, node in missing.items() if node.is_missing]
    known = [j for j, node in missing.items() if not node.is_missing]
    n, is_box = len(words.space), all(row.is_bound for row in rows)
    if not words.budget.take(3 * n if is_box else len(rows) * n):
        raise words.source.at(
            rule,
            f"with this premise the rules take more than {words.budget.gigabytes} GB over {n} features; read the "
            "rules in parts, each over the features it needs",
        )
    if is_box:
        return Box(*_narrowed(rows, words), sets, absent, known)
    A = np.zeros((len(rows), n))
    for i, row in enumerate(rows):
        A[i, list(row.weights)] = list(row.weights.values())
    limits = [row.limit for row in rows]
    strict = np.array([row.is_strict for row in rows], dtype=np.bool_)
    return Polyhedron(A, limits, strict, sets, absent, known)


def _narrowed(
    rows: Sequence[Row], words: Vocabulary
) -> tuple[FloatArray, FloatArray, BoolArray, BoolArray]:
    """Return the bounds that hold together, and whether each belongs to the box; of equal ones the open one."""
    n = len(words.space)
    lower, upper = np.full(n, -math.inf), np.full(n, math.inf)
    lower_closed, upper_closed = np.ones((2, n), dtype=np.bool_)
    for row in rows:
        ((j, weight),) = row.weights.items()
        value = weight * row.limit
        ends, closed = (upper, upper_closed) if weight > 0 else (lower, lower_closed)
        if value == ends[j]:
            closed[j] &= not row.is_strict
        elif weight * value < weight * ends[j]:
            ends[j], closed[j] = value, not row.is_strict
        both_closed = lower_closed[j] and upper_closed[j]
        if lower[j] > upper[j] or (lower[j] == upper[j] and not both_closed):
            raise _contradiction(j, row.written, words)
    return lower, upper, lower_closed, upper_closed


def _note_missing(missing: dict[int, Missing], condition: Missing, words: Vocabulary) -> None:
    feature = words.feature(condition.feature)
    if missing.setdefault(feature, condition).is_missing != condition.is_missing:
        raise _contradiction(feature, condition, words)
    if condition.is_missing and (value := words.space.fill[feature]) is not None:
        raise words.source.at(
            condition,
            f"a missing {shown(words.space.names[feature])} counts as {shown(value)} here, so that it never is "
            "missing; leave out this rule, or the 'fill' in the declaration",
        )


def _contradiction(feature: int, condition: Condition, words: Vocabulary) -> RuleSyntaxError:
    return words.source.at(
        condition,
        f"no value of {shown(words.space.names[feature])} is left: the conditions contradict each other",
    )


def _narrow_set(
    sets: dict[int, set[int]],
    choice: tuple[int, list[int]],
    condition: Condition,
    words: Vocabulary,
) -> None:
    feature, codes = choice
    sets[feature] = sets[feature] & set(codes) if feature in sets else set(codes)
    if not sets[feature]:
        raise words.source.at(
            condition,
            f"no category of {shown(words.space.names[feature])} is left: "
            "this contradicts an earlier condition",
        )


def _compare(condition: Bound | Chain, words: Vocabulary) -> Iterator[Row]:
    """Read a comparison of numbers as inequalities; ``=`` says >= and <=, in this order."""
    if isinstance(condition, Bound):
        j = words.numeric_feature(condition.feature)
        if condition.low > -math.inf:
            yield Row({j: -1.0}, -condition.low, condition.low_is_open, condition)
        if condition.high < math.inf:
            yield Row({j: 1.0}, condition.high, condition.high_is_open, condition)
        return
    for k, sign in enumerate(condition.signs):
        weights, limit = _move_left(condition.sums[k], condition.sums[k + 1], words)
        if sign == "=":
            yield Row({j: -weight for j, weight in weights.items()}, -limit, False, condition)
        yield Row(weights, limit, sign == "<", condition)


def _move_left(left: Sum, right: Sum, words: Vocabulary) -> tuple[dict[int, float], float]:
    """Bring all features to the left and all numbers to the right."""
    weights: dict[int, float] = {}
    for side, sign in ((left, 1.0), (right, -1.0)):
        for weight, name in side.terms:
            j = words.numeric_feature(name)
            weights[j] = weights.get(j, 0.0) + sign * weight
    limit = right.constant - left.constant
    if not all(map(math.isfinite, (limit, *weights.values()))):
        raise words.source.error(
            "the numbers of this comparison are too large", left.start, right.end
        )
    kept = {j: w for j, w in weights.items() if w}
    if not kept:
        raise words.source.error(
            "no feature is left in this comparison: the weights cancel out", left.start, right.end
        )
    return kept, limit
