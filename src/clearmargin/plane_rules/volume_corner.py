"""The largest box with its corner on the plane: volume maximisation.

In a region near <= z <= far below the plane a'z = g, with slack s = g - a'near > 0 (Fung, Sandilya and Rao, KDD 2005,
eq. 8, in oriented coordinates)::

    maximise    prod_i (c_i - near_i)
    subject to  a'c = g,    near <= c <= far

Every feature spends p_i = a_i (c_i - near_i) of the slack, up to a_i (far_i - near_i). The product is largest when all
that are not at their end spend the same: p_i = min(t, a_i (far_i - near_i)) with t such that the slack is
spent. This is water-filling. The printed iteration (eqs. 14, 15) forgets earlier clamps when it is read
literally; with clamps that stay it converges to the same point. If the slack pays for the whole region, the region
is the rule.

A corner computed in floating point may lie beyond the plane by a rounding error. The excess is computed exactly, and
the face that loses the least of its width is moved back by it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from clearmargin.plane_rules.side import Corner, Region, Side
from clearmargin.rules.hyperplane import linear_scores
from clearmargin.rules.value import BoolArray, FloatArray

# As computed, and one and two digits nearer: no face is rounded by more than one digit of the last place.
_ROUNDINGS = 3
_LARGEST = float(np.finfo(np.float64).max)


def volume_corner(side: Side, region: Region, Z: FloatArray) -> Corner:
    """Find the corner of the largest box."""
    dear = side.a * (region.far - region.near)
    slack = side.slack(region.near)
    if slack > 0:
        spent = water_fill(np.zeros_like(dear), dear, slack)
        corner = corner_at(side, region, spent, spent >= dear)
        if corner is not None:
            return corner
    return deepest_corner(side, Z)


def water_fill(low: FloatArray, high: FloatArray, budget: float) -> FloatArray:
    """Share a budget equally, but for limits: p_i = clip(t, low_i, high_i) with sum p = budget."""
    if high.sum() <= budget:
        return high.copy()
    if low.sum() >= budget:
        return low.copy()
    # The total is piecewise linear and rising in t, with kinks at the limits.
    kinks = np.sort(np.concatenate([low, high]))
    totals = np.clip(kinks[:, None], low, high).sum(axis=1)
    k = int(np.searchsorted(totals, budget, side="right")) - 1
    free = (low <= kinks[k]) & (high > kinks[k])
    t = kinks[k] + (budget - totals[k]) / max(1, int(free.sum()))
    shares: FloatArray = np.clip(t, low, high)
    return shares


def corner_at(side: Side, region: Region, spent: FloatArray, at_end: BoolArray) -> Corner | None:
    """Turn shares of the slack into far faces that are proved to be sound."""
    # A face may not pass the region's own, nor touch it from inside with another flag.
    rounded = region.near + spent / side.a
    at_end = at_end | (rounded >= region.far)
    far = np.where(at_end, region.far, rounded)
    closed = at_end & region.far_closed
    for _ in range(_ROUNDINGS):
        corner = Corner(far, closed)
        if not side.admits(corner):
            corner = _pull_back(side, region, corner, at_end)
        if _has_room(region, corner) and side.admits(corner):
            return corner
        # The excess of many roundings may be more than the width of any one face: round all the other way.
        far = np.where(at_end, far, np.nextafter(far, -np.inf))
    return None


def _has_room(region: Region, corner: Corner) -> bool:
    """Check whether each open face lies strictly beyond its near face."""
    return bool((corner.far > region.near)[~corner.closed].all())


def _pull_back(side: Side, region: Region, corner: Corner, at_end: BoolArray) -> Corner:
    """Move back, by just the excess, the face that loses the smallest share of its width."""
    far = corner.far
    excess = max(-side.slack(far), 0.0)
    width = far - region.near
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        # A face moves by steps of its own digits, which may be coarser than the excess.
        loss = np.maximum(excess / side.a, np.spacing(np.abs(far))) / width
    loss = np.where(width > 0, loss, np.inf)
    # Faces on the region's end stay there as long as others can give.
    others = np.where(at_end, np.inf, loss)
    i = int(np.argmin(loss if at_end.all() else others))
    moved, closed = far.copy(), corner.closed.copy()
    moved[i] = _below(float(far[i]), excess, float(side.a[i]))
    closed[i] = False
    return Corner(moved, closed)


def _below(face: float, excess: float, weight: float) -> float:
    """Return the largest float that is below a face by at least an excess, which has been rounded once."""
    rounded_up = math.nextafter(excess, math.inf) if excess else 0.0
    if not math.isfinite(rounded_up):
        return -math.inf
    exact = Fraction(face) - Fraction(rounded_up) / Fraction(weight)
    if exact < -_LARGEST:
        return -math.inf
    nearest = float(exact)
    return nearest if nearest <= exact else math.nextafter(nearest, -math.inf)


def deepest_corner(side: Side, Z: FloatArray) -> Corner:
    """Close the faces at the point farthest from the plane: covers it, whatever rounding does."""
    deepest = Z[int(np.argmin(linear_scores(Z, side.a)))]
    return Corner(deepest, np.ones(len(deepest), dtype=np.bool_))
