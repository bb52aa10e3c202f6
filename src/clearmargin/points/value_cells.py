"""Cells of a feature: intervals of values that no rule tells apart.

The conditions of rules cut the numbers of a feature into cells. Within a cell, all else being equal, the same rules
hold, and a score changes by its linear terms alone. Cells are closed intervals of floats: behind ``x <= 3`` one begins
at the float next to 3. So what is true of the ends of a cell is true without any tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules import Box, RuleSet
from clearmargin.rules.rule import Region


@dataclass(frozen=True, slots=True)
class Cell:
    """All floats (or whole numbers) from `low` to `high`, both included."""

    low: float
    high: float

    def nearest(self, value: float) -> float:
        """Return the number of the cell that is nearest to a value."""
        return min(max(value, self.low), self.high)


def box_of(region: Region) -> Box:
    """Return a premise as a box; raise for a weighted sum of features, which is none."""
    if isinstance(region, Box):
        return region
    if not region.has_unit_rows:
        raise InvalidValueError(
            "a rule has a condition on a weighted sum of features; only rules with a condition on one feature at a "
            "time have cells"
        )
    return region.to_box()


def cell_starts(rules: RuleSet, feature: int) -> list[float]:
    """List where the cells of a numeric feature begin, but for the lowest: the first float of each."""
    starts = set()
    for rule in rules:
        box = box_of(rule.region)
        if feature not in box.bounded or not box.has_bounds(feature):
            continue
        interval = box.interval(feature)
        if math.isfinite(interval.low):
            low = interval.low
            starts.add(low if interval.low_closed else math.nextafter(low, math.inf))
        if math.isfinite(interval.high):
            high = interval.high
            starts.add(math.nextafter(high, math.inf) if interval.high_closed else high)
    return sorted(starts)


def value_cells(rules: RuleSet, feature: int) -> list[Cell]:
    """List the cells of a numeric feature, from the lowest to the highest."""
    starts = cell_starts(rules, feature)
    return cut_into_cells(starts, -math.inf, math.inf, bool(rules.space.integer[feature]))


def cut_into_cells(
    starts: Iterable[float], low: float, high: float, is_whole: bool = False
) -> list[Cell]:
    """Cut the numbers from `low` to `high` where new cells begin."""
    inner = [start for start in starts if low < start <= high]
    edges = [low, *inner]
    ends = [*(math.nextafter(start, -math.inf) for start in inner), high]
    cells = [Cell(*pair) for pair in zip(edges, ends, strict=True)]
    if is_whole:
        cells = [Cell(_up(cell.low), _down(cell.high)) for cell in cells]
    return [cell for cell in cells if cell.low <= cell.high]


def _up(value: float) -> float:
    return float(math.ceil(value)) if math.isfinite(value) else value


def _down(value: float) -> float:
    return float(math.floor(value)) if math.isfinite(value) else value
