"""How much of a class's part of the domain its rules fill."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearmargin.plane_rules.clipped_volume import Volume, clipped_share
from clearmargin.plane_rules.side import Side
from clearmargin.rules import Box, HalfSpace
from clearmargin.rules.value import FloatArray

__all__ = ["volume_curve"]


def volume_curve(
    halfspace: HalfSpace, domain: Box, groups: Sequence[Sequence[Box]]
) -> tuple[FloatArray, Volume]:
    """Share of a half-space in the domain that rules fill, rule by rule, and in all as an interval.

    Parameters
    ----------
    halfspace : HalfSpace
        The region of the class.
    domain : Box
        Bounded.
    groups : sequence of sequences of Box
        For each rule the boxes it was made of; all of them are disjoint and in the half-space.

    Returns
    -------
    curve : ndarray of shape (r,)
        Share after one rule, two rules, ...
    total : Volume
        The share after all of them, certified.
    """
    side = Side.of(halfspace)
    region = side.region(domain)
    whole = clipped_share(side.a, side.g, region.near, region.far)
    shares = np.zeros(len(groups))
    boxes = [box for group in groups for box in group]
    if boxes:
        # Which rule each box belongs to.
        rule = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        low, high = domain.lower[side.features], domain.upper[side.features]
        lower = np.maximum(np.stack([box.lower[side.features] for box in boxes]), low)
        upper = np.minimum(np.stack([box.upper[side.features] for box in boxes]), high)
        reach = np.where(high > low, high - low, 1.0)
        widths = np.where(high > low, upper - lower, 1.0)
        np.add.at(shares, rule, np.prod(np.maximum(widths, 0.0) / reach, axis=1))
    curve = np.cumsum(shares)
    filled = float(curve[-1]) if len(curve) else 0.0
    # The sum of r products of k factors is off by a few units in the last place each.
    error = 4.0 * (len(side.a) + sum(map(len, groups))) * np.finfo(np.float64).eps * filled
    total = Volume(
        _share(filled - error, whole.high),
        min(1.0, _share(filled + error, whole.low)),
        whole.method,
    )
    return np.asarray(curve / whole.value if whole.value else curve), total


def _share(part: float, whole: float) -> float:
    return float(max(0.0, part) / whole) if whole else 0.0
