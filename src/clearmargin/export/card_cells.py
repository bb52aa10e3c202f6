"""A card with proof as cells, the form from which every language writes it.

A value is in at most one cell of its feature. Points are whole numbers, so that every language adds them up to the same
sums. Where a value is in no cell, nothing is proved.
"""

from __future__ import annotations

from typing import NamedTuple

from clearmargin.exceptions import InvalidValueError
from clearmargin.export.conditions import Condition, conditions
from clearmargin.points.scorecard import Scorecard
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.space import nearest_name


class Cell(NamedTuple):
    """What has to hold for a cell, and the points in it."""

    condition: Condition
    at_least: int
    at_most: int

    def points(self, column: str) -> int:
        """Return the points of a column, "at least" or "at most"."""
        return self.at_least if column == "at least" else self.at_most


def card_cells(card: Scorecard) -> list[list[Cell]]:
    """Read the rows of a card with proof as conditions with points, feature by feature."""
    assert card.proof is not None
    features: dict[int, list[Cell]] = {}
    points = zip(card.proof.at_least.tolist(), card.proof.at_most.tolist(), strict=True)
    for rule, (low, high) in zip(card.rules, points, strict=True):
        (condition,) = conditions(rule.region, card.space.categories)
        features.setdefault(rule.region.bounded[0], []).append(Cell(condition, low, high))
    return [*features.values()]


def class_between(card: Scorecard, default: Label | None) -> Label | None:
    """Return the class of rows of which nothing is proved, as the card spells it; None for no answer."""
    if default is None:
        return None
    asked = as_label(default)
    for label in card.classes:
        if label == asked:
            return label
    hint = nearest_name(str(asked), [str(label) for label in card.classes])
    raise InvalidValueError(f"default={asked!r} is no class of the card{hint}")
