"""Boxes around given cases on one side of a plane, many at once.

In oriented coordinates (`side`), with a case z and the slack s = g - a'z that it has left:

largest
    near faces at the end of the domain, far corner c on the plane with z <= c <= far, of maximal volume: every feature
    spends a_i (c_i - near_i) = clip(t, a_i (z_i - near_i), a_i (far_i - near_i)), which is water-filling with lower
    bounds. The case lies on a face as often as not, which is why this box explains little (Fung, Sandilya and Rao,
    KDD 2005, section 7).
central
    far faces beyond the case by shares of s that make the volume beyond it maximal,
    a_i (c_i - z_i) = min(t, a_i (far_i - z_i)); near faces at the end of the domain, since nothing is gained by moving
    them in.
normal
    the corner at the foot of the normal from the case to the plane, z + s a / a'a, and the opposite one, as the paper
    has it. It depends on the units of the features and is narrowest where a feature matters least.

All spend a billionth less than they could, so that exact arithmetic finds the boxes inside.
"""

from __future__ import annotations

import numpy as np

from clearmargin.plane_rules.side import BoolArray, FloatArray, Region, Side
from clearmargin.plane_rules.volume_corner import deepest_corner, volume_corner
from clearmargin.rules.hyperplane import linear_scores

__all__ = ["Batch", "central_boxes", "largest_boxes", "normal_boxes", "on_demand_box"]

_SHY = 1.0 - 1e-9
# The distance to the plane shrinks by at least 1 - 1/k with each cut; this is far beyond where digits end.
_DEEPEST = 500

Batch = tuple[FloatArray, FloatArray]


def largest_boxes(side: Side, domain: Region, Z: FloatArray) -> Batch:
    """Near and far faces of the largest box that contains each case."""
    # A case beyond the ends of the domain moves them out.
    start, end = np.minimum(domain.near, Z), np.maximum(domain.far, Z)
    low, high = side.a * (Z - start), side.a * (end - start)
    spent = _fill(low, high, np.maximum(side.g - linear_scores(start, side.a), 0.0) * _SHY)
    far = np.maximum(np.minimum(start + spent / side.a, end), Z)
    return start, far


def central_boxes(side: Side, domain: Region, Z: FloatArray) -> Batch:
    """Near and far faces of a box that has each case well inside."""
    high = np.maximum(side.a * (domain.far - Z), 0.0)
    slack = np.maximum(side.g - linear_scores(Z, side.a), 0.0) * _SHY
    far = Z + _fill(np.zeros_like(Z), high, slack) / side.a
    return np.minimum(domain.near, Z), far


def normal_boxes(side: Side, domain: Region, Z: FloatArray) -> Batch:
    """Near and far faces of the box whose corner is the foot of the normal from each case."""
    slack = np.maximum(side.g - linear_scores(Z, side.a), 0.0) * _SHY
    reach = slack[:, None] * side.a / np.square(side.a).sum()
    return Z - reach, Z + reach


def _fill(low: FloatArray, high: FloatArray, budget: FloatArray | float) -> FloatArray:
    """Water-filling for each row: clip(t, low, high) with t such that the row spends its budget."""
    kinks = np.sort(np.concatenate([low, high], axis=1), axis=1)
    totals = np.clip(kinks[:, :, None], low[:, None, :], high[:, None, :]).sum(axis=2)
    budgets = np.broadcast_to(np.asarray(budget, dtype=np.float64), (len(low),))
    k = np.maximum((totals <= budgets[:, None]).sum(axis=1) - 1, 0)
    rows = np.arange(len(low))
    level, spent = kinks[rows, k], totals[rows, k]
    free = (low <= level[:, None]) & (high > level[:, None])
    t = level + np.maximum(budgets - spent, 0.0) / np.maximum(free.sum(axis=1), 1)
    shares: FloatArray = np.clip(t[:, None], low, high)
    return shares


def on_demand_box(side: Side, domain: Region, z: FloatArray, boxes: list[Region]) -> Batch:
    """Go on with the recursion only in the region that holds a case, until a box covers it.

    Parameters
    ----------
    side, domain
        The half-space and its domain.
    z : ndarray of shape (k,)
        The case.
    boxes : list of Region
        Boxes that do not cover it; the new one will meet none of them, but for faces.

    Returns
    -------
    near, far : ndarray of shape (k,)
        Faces of a box that contains the case; far faces are a billionth short of the corner found.
    """
    # A case beyond the ends of the domain moves them out.
    region = Region(
        np.minimum(domain.near, z),
        np.maximum(domain.far, z),
        domain.near_closed | (z <= domain.near),
        domain.far_closed | (z >= domain.far),
    )
    for box in boxes:
        region = _beside(side, region, box, z)
    for _ in range(_DEEPEST):
        corner = volume_corner(side, region, z[None])
        holds: BoolArray = corner.holds(z[None])[0]
        if holds.all():
            break
        k = _dearest(side, region, ~holds)
        near, near_closed = region.near.copy(), region.near_closed.copy()
        near[k], near_closed[k] = corner.far[k], not corner.closed[k]
        region = Region(near, region.far, near_closed, region.far_closed)
    else:
        corner = deepest_corner(side, z[None])
    far = np.where(corner.closed, corner.far, z + (corner.far - z) * _SHY)
    return region.near, far


def _beside(side: Side, region: Region, box: Region, z: FloatArray) -> Region:
    """The part of a region beyond one face of a box that the case is beyond."""
    beyond_far = (z > box.far) | (~box.far_closed & np.equal(z, box.far))
    beyond_near = (z < box.near) | (~box.near_closed & np.equal(z, box.near))
    near, near_closed = region.near.copy(), region.near_closed.copy()
    far, far_closed = region.far.copy(), region.far_closed.copy()
    if beyond_far.any():
        k = _dearest(side, region, beyond_far)
        if box.far[k] >= near[k]:
            near[k], near_closed[k] = box.far[k], not box.far_closed[k]
    else:
        k = _dearest(side, region, beyond_near)
        if box.near[k] <= far[k]:
            far[k], far_closed[k] = box.near[k], not box.near_closed[k]
    return Region(near, far, near_closed, far_closed)


def _dearest(side: Side, region: Region, among: BoolArray) -> int:
    dear = side.a * (region.far - region.near)
    return int(np.argmax(np.where(among, dear, -np.inf)))
