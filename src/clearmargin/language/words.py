"""Numbers, shares, conditions and rules in words, for reports and pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from clearmargin.language.printer import format_number
from clearmargin.language.prose import percent, plain, ratio_text
from clearmargin.rules import Box, FeatureSpace, Rule, RuleSet
from clearmargin.rules.rule import Region

__all__ = [
    "condition_texts",
    "counted",
    "error_text",
    "finite",
    "listed",
    "number_text",
    "plain",
    "rare_text",
    "ratio_text",
    "sentences",
    "share_text",
    "single_condition",
]

_LABEL = "x"


def finite(value: Any) -> float | None:
    """Give a number as JSON can hold it: None where it is infinite or not a number."""
    number = float(value)
    return number if math.isfinite(number) else None


def counted(count: int, word: str, plural: str | None = None) -> str:
    """Write a count with its noun."""
    return f"{count:,} {word if count == 1 else plural or word + 's'}"


def listed(words: Sequence[str], most: int | None = 8) -> str:
    """Join words as a sentence does; of more than `most` only the first."""
    shown = list(words[:most])
    if most is not None and len(words) > most:
        return f"{', '.join(shown)} and {len(words) - most} more"
    *first, last = shown or ["none"]
    return f"{', '.join(first)} and {last}" if first else last


def share_text(part: int | None, whole: int) -> str:
    """Write a share in percent, rounded down; a dash where there is nothing to share."""
    return percent(part, whole) if part is not None and whole else "–"


def number_text(value: float | None, digits: int = 4) -> str:
    """Write a measured number with few digits, in the form that numbers have in rules and sentences."""
    if value is None or math.isnan(value):
        return "–"
    is_whole = float(value).is_integer() and abs(value) < 1e15
    return format_number(value if is_whole else float(f"{value:.{digits}g}"))


def sentences(rules: Sequence[Rule], space: FeatureSpace) -> list[str]:
    """Write rules as sentences, without statistics or names."""
    if not rules:
        return []
    bare = RuleSet([Rule(rule.region, rule.label) for rule in rules], space)
    # A last line may say what missing values count as.
    lines = bare.describe().split("\n")[: len(rules)]
    return [line.removeprefix(f"{k}. ") for k, line in enumerate(lines, 1)]


def condition_texts(regions: Sequence[Region], space: FeatureSpace) -> list[str]:
    """Write premises as text, with bounds rounded inwards."""
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
    """Keep of a box the condition on one feature alone."""
    n = box.n_features
    if feature in box.missing or feature in box.known:
        missing, known = ({feature} & {*listed} for listed in (box.missing, box.known))
        return Box.from_intervals({}, n, missing=missing, known=known)
    if feature in box.sets:
        return Box.from_intervals({}, n, {feature: box.sets[feature]})
    return Box.from_intervals({feature: box.interval(feature)}, n)


def error_text(text: str, error: float | None, digits: int = 1) -> str:
    """Add a standard error to a figure that is written already; shares are in percent."""
    if error is None or not math.isfinite(error):
        return text
    return f"{text} (standard error {error if digits > 1 else 100 * error:.{digits}f})"


def rare_text(facts: Mapping[str, Any], rows: str = "rows") -> str:
    """Say how well a rare class is told from the others, from what `Evaluation.to_dict` gives."""
    label = facts["rare_class"]

    def share(name: str) -> str:
        return error_text(ratio_text(facts[name]["value"]), facts[name]["standard_error"])

    balanced, found = share("balanced_accuracy"), share("recall")
    area = facts["auc"]["value"]
    ranked = ""
    if area is not None:
        ranked = f" and an AUC of {error_text(f'{area:.3f}', facts['auc']['standard_error'], 3)}"
    named = f"no {rows} are named {label}"
    if facts["precision"]["value"] is not None:
        named = f"of those named {label} {share('precision')} are right"
    return (
        f"a balanced accuracy of {balanced}{ranked}; of the {rows} of {label}, the rare class, {found} are found, and "
        f"{named} ({label} has {ratio_text(facts['rare_class_share'])} of all {rows})"
    )
