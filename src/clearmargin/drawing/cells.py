"""What stands in the cells of a table of rules, as plain data: intervals, sets of categories, words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clearmargin.drawing.fitted import drawn_range
from clearmargin.drawing.lettering import title_of
from clearmargin.language.printer import Phrases, format_number
from clearmargin.language.prose import percent, plain
from clearmargin.rules import Box, Interval, Rule, RuleSet, RuleStats, round_inwards

__all__ = [
    "Column",
    "columns_of",
    "interval_text",
    "linear_texts",
    "missing_text",
    "shown_interval",
    "stats_text",
]

# Beyond it, not every whole number is a float.
_LAST_SURE_WHOLE = 2.0**53


@dataclass(frozen=True, slots=True)
class Column:
    """A feature that occurs in some rule.

    Parameters
    ----------
    feature : int
        Its position in the space.
    title : str
        Name and unit.
    low, high : float
        The range to draw; without meaning for categories.
    kinds : tuple of str
        Its categories; none for a feature of numbers.
    """

    feature: int
    title: str
    low: float
    high: float
    kinds: tuple[str, ...]


def columns_of(rules: RuleSet) -> list[Column]:
    """Give a column for each feature of which some rule says more than that it is part of a sum.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> [column.title for column in columns_of(parse_rules("age >= 50 and smoker = yes => ill"))]
    ['age', 'smoker']
    """
    occurring: set[int] = set()
    for rule in rules:
        region = rule.region
        others = (*region.sets, *region.missing, *region.known)
        occurring |= {*(region.bounded if isinstance(region, Box) else others)}
    return [
        Column(
            j,
            title_of(rules.space, j),
            *drawn_range(rules, j),
            tuple(plain(kind) for kind in rules.space.categories[j] or ()),
        )
        for j in sorted(occurring)
    ]


def shown_interval(rule: Rule, feature: int, *, integer: bool) -> Interval | None:
    """The interval of a feature in a rule, from whole number to whole number where it counts things.

    Parameters
    ----------
    rule : Rule
        The rule.
    feature : int
        Position of the feature.
    integer : bool
        Whether the feature takes whole numbers only.

    Returns
    -------
    Interval or None
        None where the rule has no bound on the feature.
    """
    region = rule.region
    if not isinstance(region, Box) or feature in region.sets:
        return None
    interval = region.interval(feature)
    if math.isinf(interval.low) and math.isinf(interval.high):
        return None
    return (_whole(interval) if integer else None) or interval


def missing_text(rule: Rule, feature: int) -> str:
    """Say whether the value of a feature must be missing, or must not; nothing where a rule says neither.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> missing_text(parse_rules("age is not missing => a")[0], 0)
    'not missing'
    """
    if feature in rule.region.missing:
        return "missing"
    return "not missing" if feature in rule.region.known else ""


def _whole(interval: Interval) -> Interval | None:
    """The same whole numbers with closed ends; None if there are none or floats cannot tell them apart."""
    low, high = interval.low, interval.high
    if any(math.isfinite(x) and abs(x) >= _LAST_SURE_WHOLE for x in (low, high)):
        return None
    if math.isfinite(low):
        low = float(math.ceil(low) if interval.low_closed else math.floor(low) + 1)
    if math.isfinite(high):
        high = float(math.floor(high) if interval.high_closed else math.ceil(high) - 1)
    return Interval(low, high, closed="both") if low <= high else None


def interval_text(interval: Interval, digits: int | None) -> str:
    """Say an interval in a few signs; bounds are rounded inwards, or not at all without a number of digits.

    Examples
    --------
    >>> interval_text(Interval(-math.inf, 7.7777), 3), interval_text(Interval(1.5, 2, "both"), 3)
    ('≤ 7.77', '1.5 to 2')
    >>> interval_text(Interval(3, 5), 3), interval_text(Interval(3, math.inf, "neither"), 3)
    ('[3, 5)', '> 3')
    """
    said = interval if digits is None else round_inwards(interval, digits)
    low, high = format_number(said.low), format_number(said.high)
    if said.low == said.high:
        return f"= {low}"
    if math.isinf(said.low):
        return f"{'≤' if said.high_closed else '<'} {high}"
    if math.isinf(said.high):
        return f"{'≥' if said.low_closed else '>'} {low}"
    if said.closed == "both":
        return f"{low} to {high}"
    return f"{'[' if said.low_closed else '('}{low}, {high}{']' if said.high_closed else ')'}"


def linear_texts(rules: RuleSet, rule: Rule) -> list[str]:
    """The linear conditions of a rule in the rule language; none where it has plain bounds alone."""
    if isinstance(rule.region, Box):
        return []
    return list(Phrases(rules.space).rows(rule.region))


def stats_text(stats: RuleStats | None) -> str:
    """How many rows a rule covers and how often it is right.

    Examples
    --------
    >>> stats_text(RuleStats(rows=683, covered=427, correct=420))
    '427 of 683, 98.3 % right'
    """
    if stats is None:
        return ""
    text = f"{stats.covered} of {stats.rows}"
    if stats.covered and stats.correct is not None:
        text += f", {percent(stats.correct, stats.covered)} right"
    return text
