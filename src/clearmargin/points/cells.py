"""Cells of a feature: values that no rule tells apart; and the lines of a card, which has one for each cell.

The conditions of rules cut the numbers of a feature into cells. Within a cell, all else being equal, the same rules
hold, and a score changes by its linear terms alone. Cells are closed intervals of floats: behind ``x <= 3`` one begins
at the float next to 3. So what is true of the ends of a cell is true without any tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.printer import format_number
from clearmargin.language.words import number_text
from clearmargin.rules import Box, Rule, RuleSet
from clearmargin.rules.interval import round_down, round_up
from clearmargin.rules.rule import Region
from clearmargin.rules.value import FloatArray, IntArray

# Up to so many categories of equal points are named in a line; more of them are the other ones.
_MOST_NAMED = 3
# Ends of ranges are written with so many digits, if that cuts off no more than this share of the cell.
_DIGITS, _SHARE = 4, 0.01


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


def cell_starts(rules: Iterable[Rule], feature: int) -> list[float]:
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


def value_cells(rules: Iterable[Rule], feature: int, is_whole: bool) -> list[Cell]:
    """List the cells of a numeric feature, from the lowest to the highest."""
    return cut_into_cells(cell_starts(rules, feature), -math.inf, math.inf, is_whole)


def cut_into_cells(
    starts: Iterable[float], low: float, high: float, is_whole: bool = False
) -> list[Cell]:
    """Cut the numbers from `low` to `high` where new cells begin."""
    inner = [start for start in starts if low < start <= high]
    edges = [low, *inner]
    ends = [*(math.nextafter(start, -math.inf) for start in inner), high]
    cells = [Cell(*pair) for pair in zip(edges, ends, strict=True)]
    if is_whole:
        cells = [Cell(float(np.ceil(cell.low)), float(np.floor(cell.high))) for cell in cells]
    return [cell for cell in cells if cell.low <= cell.high]


# The lines of a card


@dataclass(frozen=True, slots=True)
class CardLine:
    """A cell of a feature, with its points; with proof columns, what it adds at least and at most.

    Parameters
    ----------
    name : str
        The feature.
    text : str
        Where the cell is, without the name of the feature.
    points : float
        What it adds.
    proof : pair of int, optional
        What it adds at least and at most.

    Examples
    --------
    >>> CardLine("age", "<= 40", 3.0).values()
    (3.0,)
    """

    name: str
    text: str
    points: float
    proof: tuple[int, int] | None = None

    def values(self) -> tuple[float, ...]:
        """Give the numbers of the line: its points, or those at least and at most."""
        return (self.points,) if self.proof is None else self.proof

    def numbers(self, digits: int | None = 4) -> list[str]:
        """Write the numbers of the line."""
        return [
            format_number(x) if digits is None else number_text(x, digits) for x in self.values()
        ]


def single_feature(rule: Rule) -> int | None:
    """Give the feature of a rule that speaks of one feature alone, as a box; None for other rules."""
    bounded = rule.region.bounded if isinstance(rule.region, Box) else ()
    return int(bounded[0]) if len(bounded) == 1 else None


def card_lines(
    rules: RuleSet, weights: FloatArray, proof: tuple[IntArray, IntArray] | None = None
) -> list[CardLine]:
    """Give the lines of rules on one feature each; without proof columns the least points of a feature count as 0."""
    lines = []
    for j, places in _by_feature(rules).items():
        cells = _feature_cells(rules, j, places, is_proof=proof is not None)
        sums = [float(weights[held].sum()) for _, held in cells]
        least = min(sums) if proof is None and sums else 0.0
        for (text, held), points in zip(cells, sums, strict=True):
            both = None if proof is None else (int(proof[0][held].sum()), int(proof[1][held].sum()))
            lines.append(CardLine(rules.space.names[j], text, points - least, both))
    return lines


def least_points(rules: RuleSet, weights: FloatArray, *, is_proof: bool) -> dict[int, float]:
    """Give for each feature the least sum of weights of a cell of a card; 0 with proof columns."""
    found = {}
    for j, places in _by_feature(rules).items():
        cells = [] if is_proof else _feature_cells(rules, j, places, is_proof=False)
        found[j] = min((float(weights[held].sum()) for _, held in cells), default=0.0)
    return found


def _by_feature(rules: RuleSet) -> dict[int, list[int]]:
    own: dict[int, list[int]] = {}
    for r, rule in enumerate(rules):
        j = single_feature(rule)
        assert j is not None
        own.setdefault(j, []).append(r)
    return own


def _feature_cells(
    rules: RuleSet, j: int, places: Sequence[int], *, is_proof: bool
) -> list[tuple[str, list[int]]]:
    """Give the cells of a feature as texts, each with the rules that hold in it; in a proof only where one does."""
    space, members = rules.space, [rules[r] for r in places]

    def held(values: Sequence[float]) -> list[list[int]]:
        rows = np.full((len(values), len(space)), np.nan)
        rows[:, j] = values
        masks = RuleSet(members, space, rules.classes).covers(rows)
        return [[r for r, holds in zip(places, mask, strict=True) if holds] for mask in masks]

    known = space.categories[j]
    if known is not None:
        groups: dict[tuple[int, ...], list[str]] = {}
        for name, found in zip(known, held([*range(len(known))]), strict=True):
            if found or not is_proof:
                groups.setdefault(tuple(found), []).append(name)
        ordered = sorted(groups, key=lambda group: group[0] if group else len(rules))
        texts = category_texts([groups[group] for group in ordered])
        cells = [(text, [*ordered[k]]) for text, k in texts]
    else:
        is_whole = bool(space.integer[j])
        ranges = value_cells(members, j, is_whole)
        inside = held([cell.nearest(0.0) for cell in ranges])
        pairs = [(c, h) for c, h in zip(ranges, inside, strict=True) if h or not is_proof]
        ends = pairs[0][0].low if pairs else 0.0, pairs[-1][0].high if pairs else 0.0
        cells = [
            (
                cell_text(
                    short_end(c.low, c.high) if is_proof and c.low == ends[0] else c.low,
                    short_end(c.high, c.low) if is_proof and c.high == ends[1] else c.high,
                    is_whole=is_whole,
                ),
                h,
            )
            for c, h in pairs
        ]
        if len(ranges) == 1 and not is_proof:  # only whether the value is missing matters
            cells = [("not missing", inside[0])]
    if any(rule.region.missing or rule.region.known for rule in members):
        cells.append(("missing", held([math.nan])[0]))
    return cells


def category_texts(groups: Sequence[Sequence[str]]) -> list[tuple[str, int]]:
    """Write groups of categories as the lines of a card, each with the position of its group."""
    sizes = [len(names) for names in groups]
    most = sizes.index(max(sizes))
    has_others = len(groups) > 1 and sizes[most] > _MOST_NAMED
    lines = [
        (", ".join(names), k) for k, names in enumerate(groups) if not (has_others and k == most)
    ]
    return [*lines, ("other categories", most)] if has_others else lines


def cell_text(low: float, high: float, *, is_whole: bool = False) -> str:
    """Write a closed interval of floats: '> 3 to 5' rather than '3.0000000000000004 to 5'."""
    (least, opens), (most, closes) = (_end(low, -1, is_whole), _end(high, 1, is_whole))
    if low == high:
        return least
    if math.isinf(low):
        return "any number" if math.isinf(high) else f"{'<' if closes else '<='} {most}"
    if math.isinf(high):
        return f"{'>' if opens else '>='} {least}"
    return f"{'> ' if opens else ''}{least} to {'< ' if closes else ''}{most}"


def _end(value: float, side: int, is_whole: bool) -> tuple[str, bool]:
    """Write an end of a cell; where the float beyond it has fewer digits, that one, which is outside."""
    here, beyond = format_number(value), format_number(math.nextafter(value, side * math.inf))
    is_open = not is_whole and math.isfinite(value) and len(beyond) < len(here)
    return (beyond, True) if is_open else (here, False)


def card_range(rules: Iterable[Rule], j: int) -> tuple[float, float]:
    """Give the ends of all cells of a number of a card with proof."""
    boxes = [box_of(rule.region) for rule in rules]
    ends = [box.interval(j) for box in boxes if j in box.bounded and box.has_bounds(j)]
    return min(end.low for end in ends), max(end.high for end in ends)


def range_text(low: float, high: float) -> str:
    """Write the range of a feature, its ends short and inside of it."""
    return cell_text(short_end(low, high), short_end(high, low))


def short_end(end: float, other: float) -> float:
    """Round an end of a cell towards its other end, to few digits."""
    round_inwards = round_up if other > end else round_down
    for digits in range(_DIGITS, 17):
        found = round_inwards(end, digits) if math.isfinite(end) and end != other else end
        if found == end or abs(found - end) <= _SHARE * abs(other - end):
            return found
    return end
