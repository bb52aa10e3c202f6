"""A card with proof as cells, the form from which every language writes it.

A value is in at most one cell of its feature. Points are whole numbers, so that every language adds them up to the same
sums. Where a value is in no cell, nothing is proved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from clearmargin.exceptions import InvalidValueError
from clearmargin.export.conditions import Between, Condition, Member, Missing
from clearmargin.points.certified_card import CertifiedFeature, CertifiedScorecard
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.space import FeatureSpace, nearest_name


class Cell(NamedTuple):
    """What has to hold for a cell, and the points in it."""

    condition: Condition
    at_least: int
    at_most: int

    def points(self, column: str) -> int:
        """Return the points of a column, "at least" or "at most"."""
        return self.at_least if column == "at least" else self.at_most


@dataclass(frozen=True, slots=True)
class CardCells:
    """The cells of each feature, and the features without values for missing ones."""

    features: tuple[tuple[Cell, ...], ...]
    space: FeatureSpace


def card_cells(card: CertifiedScorecard) -> CardCells:
    """Read a card as conditions with points."""
    return CardCells(
        tuple(tuple(_cells(part, card.space)) for part in card.features),
        card.space.with_fill(None),
    )


def _cells(part: CertifiedFeature, space: FeatureSpace) -> list[Cell]:
    j = part.feature
    points = list(zip(part.at_least.tolist(), part.at_most.tolist(), strict=True))
    tests: list[Condition] = []
    if part.cuts is None:
        names = space.categories[j] or ()
        tests += [Member(j, tuple(names[code] for code in cell)) for cell in part.sets or ()]
    else:
        tests += [
            Between(j, (">=", low), ("<=" if is_closed else "<", high))
            for low, high, is_closed in part.ends(space)
        ]
    cells = [Cell(test, *points[k]) for k, test in enumerate(tests)]
    return (
        cells if part.missing is None else [*cells, Cell(Missing(j, True), *points[part.missing])]
    )


def class_between(card: CertifiedScorecard, default: Label | None) -> Label | None:
    """Return the class of rows of which nothing is proved, as the card spells it; None for no answer."""
    if default is None:
        return None
    asked = as_label(default)
    for label in card.classes:
        if label == asked:
            return label
    hint = nearest_name(str(asked), [str(label) for label in card.classes])
    raise InvalidValueError(f"default={asked!r} is no class of the card{hint}")
