"""Where the features live: the ranges seen in the data, or those the user declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.models.surface import Surface
from clearmargin.rules import Domain, FeatureSpace
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray, FloatArray


def read_bounds(bounds: Any, space: FeatureSpace) -> tuple[FeatureSpace, BoolArray]:
    """Read a parameter `bounds`, such as that of `RuleExtractor`."""
    if isinstance(bounds, str):
        if bounds != "data":
            raise InvalidValueError(
                f"bounds must be 'data', a FeatureSpace, a Domain, a mapping or a pair (low, high), not {bounds!r}"
            )
        return space, np.zeros((2, len(space)), dtype=np.bool_)
    lower, upper = space.lower.copy(), space.upper.copy()
    units = list(space.units)
    declared = np.ones((2, len(space)), dtype=np.bool_)
    if isinstance(bounds, Domain):
        declared[:] = False
        for k, name in enumerate(bounds.space.names):
            j = _index(name, space)
            lower[j], upper[j] = bounds.space.lower[k], bounds.space.upper[k]
            declared[:, j] = bounds.lower_declared[k], bounds.upper_declared[k]
    elif isinstance(bounds, FeatureSpace):
        for j, name in enumerate(space.names):
            k = bounds.index(name)
            lower[j], upper[j], units[j] = bounds.lower[k], bounds.upper[k], bounds.units[k]
    elif isinstance(bounds, Mapping):
        declared[:] = [name in bounds for name in space.names]
        for name, pair in bounds.items():
            j = _index(name, space)
            lower[j], upper[j] = _pair(pair, name)
    else:
        low, high = _pair(bounds, None)
        lower[:], upper[:] = low, high
    declared &= np.isfinite([lower, upper])
    lower = np.where(np.isfinite(lower), lower, space.lower)
    upper = np.where(np.isfinite(upper), upper, space.upper)
    numeric = [categories is None for categories in space.categories]
    lower, upper = np.where(numeric, lower, -np.inf), np.where(numeric, upper, np.inf)
    declared &= numeric
    ranges = FeatureSpace(
        space.names, lower, upper, space.integer, space.categories, units, space.fill
    )
    return ranges, declared


def _index(name: str, space: FeatureSpace) -> int:
    if name not in space.names:
        hint = nearest_name(str(name), space.names)
        raise InvalidValueError(f"bounds for unknown feature {name!r}{hint}")
    return space.index(name)


def _pair(pair: Any, name: object) -> tuple[Any, Any]:
    try:
        low, high = pair
    except (TypeError, ValueError):
        place = "bounds" if name is None else f"the bounds of {name!r}"
        raise InvalidValueError(f"{place} must be a pair (low, high), not {pair!r}") from None
    return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)


def checked_domain(surface: Surface, space: FeatureSpace, points: FloatArray) -> FeatureSpace:
    """Return the features with the ranges to use, after checking that they hold the training points."""
    lower, upper = space.lower.copy(), space.upper.copy()
    # A column of which no value is known, and on which nothing depends, holds what was put there.
    is_number = np.array([known is None for known in space.categories], dtype=np.bool_)
    unseen = np.isinf(lower) & np.isinf(upper) & is_number
    lower[unseen] = upper[unseen] = points[0, unseen]
    # Ranges seen in the data hold the data; only others have to be compared with them.
    seen = surface.space
    changed = ~unseen & ((lower != seen.lower) | (upper != seen.upper))
    for j in np.flatnonzero(changed).tolist():
        values = points[(points[:, j] < lower[j]) | (points[:, j] > upper[j]), j]
        if len(values):
            raise InvalidValueError(
                f"bounds cut off training points: {len(values)} rows have {space.names[j]!r} outside of "
                f"[{lower[j]:g}, {upper[j]:g}], for example {values[0]:g}; widen the bounds or leave the rows out"
            )
    return FeatureSpace(space.names, lower, upper, space.integer, space.categories)
