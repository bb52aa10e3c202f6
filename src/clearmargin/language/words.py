"""Numbers, shares, conditions and rules in words, for reports and pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from clearmargin.language.printer import format_number
from clearmargin.language.prose import percent, plain, ratio_text
from clearmargin.rules import Box, CategorySets, FeatureSpace, Rule, RuleSet
from clearmargin.rules.rule import Region

__all__ = [
    "condition_texts",
    "counted",
    "finite",
    "listed",
    "number_text",
    "plain",
    "ratio_text",
    "sentences",
    "share_text",
    "single_condition",
]

_LABEL = "x"


def finite(value: Any) -> float | None:
    """Give a number as JSON can hold it: None where it is infinite or not a number.

    Examples
    --------
    >>> finite(0.5), finite(float("nan"))
    (0.5, None)
    """
    number = float(value)
    return number if math.isfinite(number) else None


def counted(count: int, word: str, plural: str | None = None) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> counted(1, "rule"), counted(1200, "rule"), counted(0, "class", "classes")
    ('1 rule', '1,200 rules', '0 classes')
    """
    return f"{count:,} {word if count == 1 else plural or word + 's'}"


def listed(words: Sequence[str], most: int | None = 8) -> str:
    """Join words as a sentence does; of more than `most` only the first.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=2)
    ('a, b and c', 'a, b and 1 more')
    """
    shown = list(words[:most])
    if most is not None and len(words) > most:
        return f"{', '.join(shown)} and {len(words) - most} more"
    *first, last = shown or ["none"]
    return f"{', '.join(first)} and {last}" if first else last


def share_text(part: int | None, whole: int) -> str:
    """Write a share in percent, rounded down; a dash where there is nothing to share.

    Examples
    --------
    >>> share_text(382, 383), share_text(0, 0), share_text(None, 5)
    ('99.7 %', '–', '–')
    """
    return percent(part, whole) if part is not None and whole else "–"


def number_text(value: float | None, digits: int = 4) -> str:
    """Write a measured number with few digits, in the form that numbers have in rules and sentences.

    Examples
    --------
    >>> number_text(3.0), number_text(-0.123456), number_text(1234567.0), number_text(54321.6), number_text(None)
    ('3', '-0.1235', '1234567', '54320', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    is_whole = float(value).is_integer() and abs(value) < 1e15
    return format_number(value if is_whole else float(f"{value:.{digits}g}"))


def sentences(rules: Sequence[Rule], space: FeatureSpace) -> list[str]:
    """Write rules as sentences, without statistics or names.

    Examples
    --------
    >>> sentences([Rule(Box([29.9876], [40.0]), "ill")], FeatureSpace(["bmi"]))
    ['If bmi is between 30 and 40, then ill.']
    """
    if not rules:
        return []
    bare = RuleSet([Rule(rule.region, rule.label) for rule in rules], space)
    # A last line may say what missing values count as.
    lines = bare.describe().split("\n")[: len(rules)]
    return [line.removeprefix(f"{k}. ") for k, line in enumerate(lines, 1)]


def condition_texts(regions: Sequence[Region], space: FeatureSpace) -> list[str]:
    """Write premises as text, with bounds rounded inwards.

    Parameters
    ----------
    regions : sequence of Box or Polyhedron
        The premises, none of them without conditions.
    space : FeatureSpace
        The features.

    Returns
    -------
    list of str
        One text a premise.

    Examples
    --------
    >>> condition_texts([Box([29.9876], [math.inf])], FeatureSpace(["bmi"], units=["kg/m2"]))
    ['bmi is at least 30 kg/m2']
    """
    if not regions:
        return []
    # All at once: the names of the space are spelled once. No name has a line feed that is not escaped.
    lines = RuleSet([Rule(region, _LABEL) for region in regions], space).describe().split("\n")
    lines = lines[: len(regions)]
    return [
        line.removeprefix(f"{k}. If ").removesuffix(f", then {_LABEL}.")
        for k, line in enumerate(lines, 1)
    ]


def single_condition(box: Box, feature: int) -> Box:
    """Keep of a box the condition on one feature alone.

    Examples
    --------
    >>> single_condition(Box([1.0, 2.0], [3.0, 4.0]), 1)
    Box({1: [2, 4]}, n_features=2)
    """
    n = box.n_features
    if feature in box.missing or feature in box.known:
        missing, known = ({feature} & {*listed} for listed in (box.missing, box.known))
        return Box.from_intervals({}, n, missing=missing, known=known)
    if feature in box.sets:
        return Box.from_intervals({}, n, CategorySets({feature: box.sets[feature]}))
    return Box.from_intervals({feature: box.interval(feature)}, n)
