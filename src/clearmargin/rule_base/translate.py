"""Boxes over encoded columns as boxes over the user's features: 0/1 columns become categories again."""

from __future__ import annotations

import numpy as np

from clearmargin.rules import Box, CategorySets, Interval
from clearmargin.tables.encoding import Encoding

__all__ = ["to_user_box"]


def to_user_box(box: Box, encoding: Encoding) -> Box | None:
    """Read a box over encoded columns in the user's features.

    A category is allowed when the point with 1 in its column and 0 in those of the other categories is in the box.

    Parameters
    ----------
    box : Box
        Over the encoded columns.
    encoding : Encoding
        The encoding.

    Returns
    -------
    Box or None
        Over the user's features; None when no category of some feature is left.
    """
    n = len(encoding.space)
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    lower_closed, upper_closed = np.ones((2, n), dtype=np.bool_)
    columns = [k for k, (_, code) in enumerate(encoding.sources) if code is None]
    features = [encoding.sources[k].feature for k in columns]
    lower[features], upper[features] = box.lower[columns], box.upper[columns]
    lower_closed[features] = box.lower_closed[columns]
    upper_closed[features] = box.upper_closed[columns]
    groups: dict[int, list[tuple[int, Interval]]] = {}
    for k, (feature, code) in enumerate(encoding.sources):
        if code is not None:
            groups.setdefault(feature, []).append((code, box.interval(k)))
    sets: dict[int, list[int]] = {}
    for feature, members in groups.items():
        codes = [c for c, _ in members if all(float(c == d) in interval for d, interval in members)]
        if not codes:
            return None
        if len(codes) < len(members):
            sets[feature] = codes
    return Box(lower, upper, lower_closed, upper_closed, CategorySets(sets), known=encoding.asked)
