"""Short rules: the best corner that bounds at most so many features.

The outlook of Fung, Sandilya and Rao (KDD 2005, section 7): rules that depend on different features instead of all on
the same. A feature that is left free goes to its end whatever that costs, and the others share what is left of the
slack. Features are freed one after the other, each time the one whose bound is missed least, until few enough are
left. Features that the region bounds already count, and may be bounded further at no price.
"""

from __future__ import annotations

import math

import numpy as np

from clearmargin.plane_rules.coverage_corner import (
    covered,
    exchange_pairs,
    polished_corner,
    prices,
    quantile_budget,
)
from clearmargin.plane_rules.side import BoolArray, Corner, FloatArray, Region, Side
from clearmargin.plane_rules.volume_corner import corner_at, water_fill

__all__ = ["short_corner"]


def short_corner(
    side: Side,
    region: Region,
    Z: FloatArray,
    *,
    domain: Region,
    max_conditions: int,
    criterion: str,
) -> Corner | None:
    """Find a corner that bounds at most so many features.

    Parameters
    ----------
    side, region, Z
        The half-space, the region and the points in it.
    domain : Region
        Where features live; a face at its end is no condition.
    max_conditions : int
        Most features with a condition.
    criterion : {"volume", "coverage"}
        What makes a corner good.

    Returns
    -------
    Corner or None
        None when the region alone has too many conditions, or when the slack does not pay for the features left free.
    """
    # A face at the end of the domain that excludes the end itself says something, too.
    bounded = (region.near != domain.near) | (region.near_closed != domain.near_closed)
    bounded |= (region.far != domain.far) | (region.far_closed != domain.far_closed)
    P, slack, ends = prices(side, region, Z)
    free = np.zeros(len(ends), dtype=np.bool_)
    while (~free & ~bounded).sum() + bounded.sum() > max_conditions:
        best = _cheapest_to_free(P, slack, ends, free, bounded, criterion)
        if best is None:
            return None
        free[best] = True
    budget = _budget(P, slack, ends, free, criterion)
    if budget is None:
        return None
    if criterion == "coverage":
        if not covered(P, budget).any():
            return None
        corner = polished_corner(side, region, Z, budget, free)
    else:
        shares = corner_at(side, region, budget, free | (budget >= ends))
        if shares is None:
            return None
        corner = shares
    # Moving a face back to be sound may have bounded a free feature.
    bounded_after = bounded | (corner.far != domain.far) | (corner.closed != domain.far_closed)
    return corner if bounded_after.sum() <= max_conditions else None


def _cheapest_to_free(
    P: FloatArray,
    slack: float,
    ends: FloatArray,
    free: BoolArray,
    bounded: BoolArray,
    criterion: str,
) -> int | None:
    best, worth = None, -np.inf
    for i in np.flatnonzero(~free & ~bounded):
        tried = free.copy()
        tried[i] = True
        budget = _budget(P, slack, ends, tried, criterion)
        if budget is None:
            continue
        value = _worth(P, budget, ends, criterion)
        if value > worth:
            best, worth = int(i), value
    return best


def _worth(P: FloatArray, budget: FloatArray, ends: FloatArray, criterion: str) -> float:
    if criterion == "coverage":
        # Of budgets that cover the same, the roomier one.
        roominess = float(np.minimum(budget, ends).sum() / max(ends.sum(), 1e-300))
        return float(covered(P, budget).sum()) + 0.5 * roominess
    shares = np.minimum(budget, ends) / np.where(ends > 0, ends, 1.0)
    # A share so small that it is gone would end all comparison.
    shares = np.maximum(shares, np.finfo(np.float64).tiny)
    return _order_of_product(np.where(ends > 0, shares, 1.0).tolist())


def _order_of_product(factors: list[float]) -> float:
    """A number that grows with a product of positive factors, however small that is.

    The exponent of the product plus its digits. A logarithm would do as well, but its last digits, which break ties,
    depend on the processor.
    """
    digits, exponent = 1.0, 0
    for factor in factors:
        digits, more = math.frexp(digits * factor)
        exponent += more
    return exponent + digits


def _budget(
    P: FloatArray, slack: float, ends: FloatArray, free: BoolArray, criterion: str
) -> FloatArray | None:
    """What each feature spends when some are free; None when that is too dear."""
    left = slack - float(ends[free].sum())
    if left <= 0:
        return None
    if criterion == "volume" or free.all():
        return water_fill(np.where(free, ends, 0.0), ends, slack)
    budget = np.where(free, np.inf, 0.0)
    tied = P[:, ~free]
    start = quantile_budget(tied, left)
    budget[~free] = exchange_pairs(tied, start)
    return budget
