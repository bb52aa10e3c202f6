"""What figures read: the rules of a set or of a fitted estimator, and the ranges to draw them over."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rules import Box, RuleSet
from clearmargin.rules.value import FloatArray

# Of the width of a range that has to be made up around the bounds that are known.
_MADE_UP_MARGIN = 0.25


def rules_to_draw(source: Any) -> RuleSet:
    """Take a set of at least one rule, or that of a fitted estimator; an error says what else was given."""
    from sklearn.utils.validation import check_is_fitted

    rules: Any = source
    if not isinstance(source, RuleSet):
        if not hasattr(source, "fit"):
            raise InvalidValueError(
                f"rules are drawn of a RuleSet or a fitted estimator, not {type(source).__name__}"
            )
        check_is_fitted(source)
        rules = getattr(source, "rules_", None)
        if not isinstance(rules, RuleSet):
            raise InvalidValueError(f"{type(source).__name__} has no rules_ to draw")
    chosen: RuleSet = rules
    if not len(chosen):
        raise InvalidValueError("there are no rules to draw: the set is empty")
    return chosen


def read_classes(y: Any, rows: int) -> list[Any]:
    """Return the class of each row, as plain values."""
    values = np.asarray(y, dtype=object)
    if values.shape != (rows,):
        raise DataError(f"y has shape {values.shape}; one class for each of {rows} rows is needed")
    return list(values)


def drawn_range(
    rules: RuleSet, feature: int, values: FloatArray | None = None
) -> tuple[float, float]:
    """Return the finite range over which to draw a feature: its range, and all bounds and values given."""
    space = rules.space
    known = [space.lower[feature], space.upper[feature]]
    for rule in rules:
        if isinstance(rule.region, Box):
            known += [rule.region.lower[feature], rule.region.upper[feature]]
    known += [] if values is None else values.tolist()
    finite = [float(x) for x in known if math.isfinite(x)] or [0.0]
    low, high = min(finite), max(finite)
    margin = _MADE_UP_MARGIN * (high - low or max(1.0, abs(low)))
    is_point = low == high
    if is_point or not math.isfinite(space.lower[feature]):
        low -= margin
    if is_point or not math.isfinite(space.upper[feature]):
        high += margin
    return low, high
