"""What displays read: the rules of a fitted estimator, and the ranges to draw them over."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rules import Box, RuleSet
from clearmargin.rules.value import FloatArray

__all__ = ["check_rules", "drawn_range", "fitted_rules", "read_classes"]

# Of the width of a range that has to be made up around the bounds that are known.
_MADE_UP_MARGIN = 0.25


def fitted_rules(estimator: Any) -> RuleSet:
    """Return the rules of a fitted estimator; an error says what else was given."""
    from sklearn.utils.validation import check_is_fitted

    if isinstance(estimator, RuleSet) or not hasattr(estimator, "fit"):
        raise InvalidValueError(
            f"from_estimator takes a fitted estimator with rules, not {type(estimator).__name__}; "
            "for a RuleSet there is from_rules"
        )
    check_is_fitted(estimator)
    rules = getattr(estimator, "rules_", None)
    if not isinstance(rules, RuleSet):
        raise InvalidValueError(f"{type(estimator).__name__} has no rules_ to draw")
    return rules


def check_rules(rules: object) -> RuleSet:
    """Take a set of at least one rule."""
    if not isinstance(rules, RuleSet):
        raise InvalidValueError(f"rules must be a RuleSet, not {type(rules).__name__}")
    if not len(rules):
        raise InvalidValueError("there are no rules to draw: the set is empty")
    return rules


def read_classes(y: Any, rows: int) -> list[Any]:
    """Return the class of each row, as plain values."""
    values = np.asarray(y, dtype=object)
    if values.shape != (rows,):
        raise DataError(f"y has shape {values.shape}; one class for each of {rows} rows is needed")
    return list(values)


def drawn_range(
    rules: RuleSet, feature: int, values: FloatArray | None = None
) -> tuple[float, float]:
    """Return the finite range over which to draw a feature: where it lives, and all bounds of rules and values given.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    feature : int
        Position of the feature.
    values : ndarray, optional
        More values to be seen.

    Returns
    -------
    low, high : float
        With low < high. Where a feature has no range of its own, some space is left around the bounds.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> drawn_range(parse_rules("2 <= x < 6 => a"), 0)
    (1.0, 7.0)
    """
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
