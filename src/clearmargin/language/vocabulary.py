"""What the names in a text stand for: features, categories and classes.

They come from the caller, else from the declarations in the text, else from how the rules use them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from clearmargin.exceptions import RuleSyntaxError
from clearmargin.language.infer import infer_classes, infer_space, refuse_infinity
from clearmargin.language.source import Source, shown, suggestion
from clearmargin.language.syntax import (
    Bound,
    Chain,
    FeatureNode,
    LabelNode,
    Membership,
    Name,
    Tree,
)
from clearmargin.rules.polyhedron import MatrixBudget
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.space import FeatureSpace

__all__ = ["Vocabulary", "make_vocabulary"]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Features, categories and classes by name, with an error that suggests the nearest where one is unknown.

    Parameters
    ----------
    source : Source
        The text, for errors.
    space : FeatureSpace
        The features.
    classes : tuple of labels
        The classes.
    """

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
            None if kinds is None else {kind: code for code, kind in enumerate(kinds)}
            for kinds in space.categories
        )
        labels = {label: label for label in classes}
        return cls(source, space, classes, index, codes, labels, MatrixBudget())

    def feature(self, name: Name) -> int:
        """Index of a feature."""
        index = self._index.get(name.text)
        if index is None:
            refuse_infinity(self.source, name)
            raise self.source.error(
                f"unknown feature {shown(name.text)}{suggestion(name.text, self._index)}",
                name.start,
                name.end,
            )
        return index

    def numeric_feature(self, name: Name) -> int:
        """Index of a feature that must not have categories."""
        index = self.feature(name)
        if self._codes[index] is not None:
            raise self.source.error(
                f"{shown(name.text)} has categories; compare it with '=' or 'in {{...}}'",
                name.start,
                name.end,
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
            raise self.source.error(
                f"{shown(feature.text)} is a number and has no categories",
                feature.start,
                feature.end,
            )
        return index, [self._code(member, codes, feature.text) for member in members]

    def _named_category(self, condition: Bound | Chain) -> tuple[Name, Name] | None:
        """The feature and the category of ``feature = category``, if that is what was written."""
        if isinstance(condition, Bound):
            feature = condition.feature
            if not condition.is_equality or self._codes[self.feature(feature)] is None:
                return None
            return feature, self._spelled_number(condition)
        match = condition.match
        return None if match is None or self._codes[self.feature(match[0])] is None else match

    def _spelled_number(self, condition: Bound) -> Name:
        """The number after '=' as it is spelled: a category may be called like that."""
        spelling = (
            self.source.text[condition.feature.end : condition.end].lstrip().lstrip("=").lstrip()
        )
        return Name(spelling, condition.end - len(spelling), condition.end, is_number=True)

    def _code(self, member: Name, codes: dict[str, int], feature: str) -> int:
        code = codes.get(member.text)
        if code is None:
            raise self.source.error(
                f"unknown category {shown(member.text)} of {shown(feature)}"
                f"{suggestion(member.text, codes)}",
                member.start,
                member.end,
            )
        return code

    def label(self, node: LabelNode) -> Label:
        """The class that is said; with ``not``, the other one of two."""
        said = self._labels.get(node.value)
        if said is None:
            raise _unknown_class(self.source, node, self.classes)
        if not node.is_negated:
            return said
        if len(self.classes) != 2:
            raise self.source.error(
                f"'not' needs exactly two classes, but {_count(self.classes)}",
                node.start,
                node.end,
            )
        first, second = self.classes
        return second if said == first else first


def _count(classes: tuple[Label, ...]) -> str:
    listed = ", ".join(shown(label) for label in classes[:5])
    if len(classes) == 1:
        return f"only {listed} is known; declare them with 'classes: ...'"
    return f"{len(classes)} are known: {listed}{', ...' if len(classes) > 5 else ''}"


def _unknown_class(source: Source, node: LabelNode, classes: tuple[Label, ...]) -> RuleSyntaxError:
    text = str(node.value)
    hint = suggestion(text, classes)
    for label in classes:
        if str(label) == text:  # the text '1' and the number 1 are different classes
            way = f"`{text}`" if isinstance(label, str) else text
            hint = f"; as a {'text' if isinstance(label, str) else 'number'} it is written {way}"
    return source.error(f"unknown class {shown(node.value)}{hint}", node.start, node.end)


def make_vocabulary(
    source: Source,
    tree: Tree,
    space: FeatureSpace | None = None,
    classes: Iterable[Label] | None = None,
) -> Vocabulary:
    """Find out what the names in a text stand for.

    Parameters
    ----------
    source : Source
        The text.
    tree : Tree
        What was written in it.
    space : FeatureSpace, optional
        The features, if the caller knows them; declarations may then name no others.
    classes : iterable of labels, optional
        The classes, if the caller knows them; declarations may then name no others.

    Returns
    -------
    Vocabulary
        Every name that may occur.

    Examples
    --------
    >>> from clearmargin.language.parser import parse_tree
    >>> source = Source("smoker = yes and age > 40 => ill")
    >>> words = make_vocabulary(source, parse_tree(source))
    >>> words.space.names, words.space.categories, words.classes
    (('smoker', 'age'), (('yes',), None), ('ill',))
    """
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
        vocabulary.feature(feature.name)
    for node in tree.classes.labels if tree.classes is not None else ():
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
    """What a missing value counts as: a category of a feature that has some, and else a number."""
    said = node.fill
    if said is None:
        return None
    if node.categories is None:
        value = float(said.text) if said.is_number else math.nan
        if not math.isfinite(value):
            raise source.error(
                f"a missing {shown(node.name.text)} counts as a number, not as {shown(said.text)}",
                said.start,
                said.end,
            )
        return value
    known = [name.text for name in node.categories]
    if said.text not in known:
        hint = suggestion(said.text, known)
        raise source.error(
            f"unknown category {shown(said.text)} of {shown(node.name.text)}{hint}",
            said.start,
            said.end,
        )
    return said.text
