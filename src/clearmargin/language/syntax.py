"""The tree that rule text is read into: what was written, and where.

Positions are offsets into the text. Nothing is looked up yet: a name may turn out to be no feature at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from clearmargin.rules.rule import Label


@dataclass(slots=True)
class Name:
    """A name as it is meant, without backquotes and escapes."""

    text: str
    start: int
    end: int
    is_number: bool = False


@dataclass(slots=True)
class Sum:
    """One side of a comparison: weights times features, plus a number."""

    terms: tuple[tuple[float, Name], ...]
    constant: float
    start: int
    end: int
    name: Name | None = None


@dataclass(slots=True)
class Bound:
    """A bare name between numbers, the commonest condition: ``x >= 3``, ``3 <= x < 5``, ``x = 4``."""

    feature: Name
    low: float
    high: float
    low_is_open: bool
    high_is_open: bool
    is_equality: bool
    start: int
    end: int
    low_place: tuple[int, int] | None = None
    """Where the number of the lower bound stands; None where there is none."""
    high_place: tuple[int, int] | None = None

    @property
    def features(self) -> list[str]:
        """The feature that it speaks of."""
        return [self.feature.text]


@dataclass(slots=True)
class Chain:
    """Any other comparison: ``3 <= x + y < 5``, ``x < y``, ``colour = red``."""

    sums: tuple[Sum, ...]
    signs: tuple[str, ...]
    start: int
    end: int

    @property
    def match(self) -> tuple[Name, Name] | None:
        """Both names of ``name = name``, which says a category or that two features are equal."""
        if self.signs[0] != "=":
            return None
        left, right = self.sums[0].name, self.sums[1].name
        return None if left is None or right is None else (left, right)

    @property
    def features(self) -> list[str]:
        """The features that it speaks of."""
        if self.match is not None:
            return [self.match[0].text]
        return list(dict.fromkeys(name.text for side in self.sums for _, name in side.terms))


@dataclass(slots=True)
class Membership:
    """A feature and the categories it may have: ``colour in {red, blue}``."""

    feature: Name
    members: list[Name]
    start: int
    end: int

    @property
    def features(self) -> list[str]:
        """The feature that it speaks of."""
        return [self.feature.text]


@dataclass(slots=True)
class Missing:
    """Whether the value of a feature is missing: ``x is missing``, ``x is not missing``."""

    feature: Name
    is_missing: bool
    start: int
    end: int

    @property
    def features(self) -> list[str]:
        """The feature that it speaks of."""
        return [self.feature.text]


Condition = Bound | Chain | Membership | Missing


@dataclass(slots=True)
class LabelNode:
    """A class as written after ``=>`` or in a declaration."""

    value: Label
    start: int
    end: int
    is_negated: bool = False


@dataclass(slots=True)
class RuleNode:
    """One line of premise and class."""

    name: str | None
    conditions: list[Condition]
    label: LabelNode
    weight: float
    start: int
    end: int
    premise: tuple[int, int]
    """Where the premise stands, also one without conditions."""


@dataclass(slots=True)
class ClassesNode:
    """The declaration of the classes."""

    labels: list[LabelNode]
    start: int
    end: int


@dataclass(slots=True)
class FeatureNode:
    """The declaration of one feature."""

    name: Name
    start: int
    end: int
    lower: float | None = None
    upper: float | None = None
    is_integer: bool = False
    categories: list[Name] | None = None
    unit: str | None = None
    fill: Name | None = None


@dataclass(slots=True)
class Tree:
    """A whole text: its rules in order, and what it declares."""

    rules: list[RuleNode] = field(default_factory=list)
    features: list[FeatureNode] = field(default_factory=list)
    classes: ClassesNode | None = None
