"""The end of every extraction: all boxes are where they should be, and no two meet. Decided exactly.

Boxes that rounding could contradict, made a little smaller until it cannot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from clearmargin.exceptions import NumericalError
from clearmargin.models.margin import Margin
from clearmargin.rule_base.simplify import shorten_bounds
from clearmargin.rules import Box, FeatureSpace
from clearmargin.rules.value import BoolArray, FloatArray


def is_inside_all(box: Box, margins: Sequence[Margin], limits: Box) -> bool:
    """Decide whether all margins prove the part of a box within declared limits."""
    # Mostly nothing is declared, and then there is nothing to cut off.
    part = box.intersect(limits) if limits.bounded else box
    return all(margin.proves(part) for margin in margins)


def needed_ends(
    margins: Sequence[Margin], columns: FeatureSpace, limits: Box
) -> tuple[BoolArray, BoolArray]:
    """Tell which ends of the domain have to be conditions of a sound box, since beyond them a plane can be reached."""
    coefs = np.stack([margin.coef for margin in margins])
    lower = (coefs > 0).any(axis=0) & (limits.lower < columns.lower)
    upper = (coefs < 0).any(axis=0) & (limits.upper > columns.upper)
    return lower, upper


def are_disjoint(boxes: Sequence[Box]) -> bool:
    """Decide whether no two boxes have a point in common; floats compare exactly."""
    if len(boxes) < 2:
        return True
    lower, upper = (np.stack([getattr(box, end) for box in boxes]) for end in ("lower", "upper"))
    for k in range(1, len(boxes)):
        near = ((lower[:k] <= upper[k]) & (upper[:k] >= lower[k])).all(axis=1)
        if not all(boxes[k].is_disjoint(boxes[other]) for other in np.flatnonzero(near).tolist()):
            return False
    return True


def prove(boxes: Sequence[Box], margins: Sequence[Margin], limits: Box, *, disjoint: bool) -> None:
    """Insist that boxes are sound, and disjoint if they should be."""
    for box in boxes:
        if not is_inside_all(box, margins, limits):
            raise NumericalError(f"the box {box!r} is not proved to lie on its side of the plane")
    if disjoint and not are_disjoint(boxes):
        raise NumericalError("two boxes of one class are not proved to be disjoint")


def retreat(
    box: Box, margins: Sequence[Margin], limits: Box, columns: FeatureSpace, points: FloatArray
) -> Box | None:
    """Move faces of a box inwards until the model is certain to give the class all over it."""
    had_points = bool(len(points))
    # Each step settles one margin, and only moves inwards; a few rounds are more than rounding asks for.
    for _ in range(5 * len(margins) + 4):
        part = box.intersect(limits) if limits.bounded else box
        uncertain = next((margin for margin in margins if not margin.proves(part)), None)
        if uncertain is None:
            return box
        smaller = _closed(box, part, uncertain, columns)
        if smaller is None:
            smaller = _moved(box, part, uncertain, columns, points)
        if smaller is None:
            return None
        points = points[smaller.contains(points)]
        if had_points and not len(points):
            return None
        # Fewer digits only move bounds further in.
        box = shorten_bounds(smaller, columns, points)
    return None


def _closed(box: Box, part: Box, margin: Margin, columns: FeatureSpace) -> Box | None:
    """Return the box with an end at the range seen, where its declared part has none and a margin needs one."""
    # Where the error grows faster than the margin, it is largest at the far end, which has to be finite, too.
    either = 2.0 * margin.slope > np.abs(margin.coef)
    below = np.isinf(part.lower) & ((margin.coef > 0) | either)
    above = np.isinf(part.upper) & ((margin.coef < 0) | either)
    if not (below | above).any():
        return None
    lower, upper = (
        np.where(below, columns.lower, box.lower),
        np.where(above, columns.upper, box.upper),
    )
    return Box(lower, upper, box.lower_closed, box.upper_closed, box.sets)


def _moved(
    box: Box, part: Box, margin: Margin, columns: FeatureSpace, points: FloatArray
) -> Box | None:
    """Return the box with the face moved, or the category left out, that costs fewest points."""
    excess = margin.excess(part)
    if excess is None:
        return None
    corner = margin.corner(part)
    found: list[tuple[int, float, Box]] = []
    for i in np.flatnonzero(margin.coef).tolist():
        rising = margin.coef[i] > 0
        # What is gained by moving a face is its weight less the growth of the bound.
        gain = abs(margin.coef[i]) - 1.25 * margin.slope[i]
        if gain <= 0:
            continue
        face = _inwards(float(corner[i]), -excess / gain, rising, whole=bool(columns.integer[i]))
        if not (part.lower[i] <= face <= part.upper[i]):
            continue
        values = points[:, i]
        lost = int(np.count_nonzero(values < face if rising else values > face))
        reach = float(columns.upper[i] - columns.lower[i])
        share = abs(face - corner[i]) / reach if 0 < reach < math.inf else abs(face - corner[i])
        lower, upper = box.lower.copy(), box.upper.copy()
        lower_closed, upper_closed = box.lower_closed.copy(), box.upper_closed.copy()
        if rising:
            lower[i], lower_closed[i] = face, True
        else:
            upper[i], upper_closed[i] = face, True
        found.append((lost, share, Box(lower, upper, lower_closed, upper_closed, box.sets)))
    for j, table in margin.tables.items():
        codes = sorted(box.sets[j]) if j in box.sets else range(len(table))
        kept = [code for code in codes if table[code] > table[codes].min()]
        if kept:
            lost = int(np.count_nonzero(~np.isin(points[:, j], kept)))
            sets = {**box.sets, j: kept}
            smaller = Box(box.lower, box.upper, box.lower_closed, box.upper_closed, sets)
            found.append((lost, 1.0 - len(kept) / len(table), smaller))
    return min(found, key=lambda each: each[:2])[2] if found else None


def _inwards(face: float, step: float, rising: bool, *, whole: bool) -> float:
    """Return a face moved by at least a step, and by one digit at least."""
    direction = math.inf if rising else -math.inf
    wide = step * (1.0 + 2.0**-40)
    moved = math.nextafter(face + wide if rising else face - wide, direction)
    if whole:
        return math.ceil(moved) if rising else math.floor(moved)
    return moved
