"""The end of every extraction: all boxes are where they should be, and no two meet. Decided exactly.

Boxes that rounding could contradict, made a little smaller until it cannot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from clearmargin.exceptions import NumericalError
from clearmargin.models.score_error import Guard
from clearmargin.rule_base.simplify import shorten_bounds
from clearmargin.rules import Box, FeatureSpace, HalfSpace
from clearmargin.rules.value import BoolArray, FloatArray


def is_inside_all(box: Box, guards: Sequence[Guard], limits: Box) -> bool:
    """Decide whether all guards prove the part of a box within declared limits."""
    # Mostly nothing is declared, and then there is nothing to cut off.
    part = box.intersect(limits) if limits.bounded else box
    return all(guard.proves(part) for guard in guards)


def needed_ends(
    halfspaces: Sequence[HalfSpace], columns: FeatureSpace, limits: Box
) -> tuple[BoolArray, BoolArray]:
    """Tell which ends of the domain have to be conditions of a sound box, since beyond them a plane can be reached."""
    rising = np.stack([h.sign * h.hyperplane.coef for h in halfspaces])
    lower = (rising > 0).any(axis=0) & (limits.lower < columns.lower)
    upper = (rising < 0).any(axis=0) & (limits.upper > columns.upper)
    return lower, upper


def are_disjoint(boxes: Sequence[Box]) -> bool:
    """Decide whether no two boxes have a point in common; floats compare exactly."""
    if len(boxes) < 2:
        return True
    lower = np.stack([box.lower for box in boxes])
    upper = np.stack([box.upper for box in boxes])
    lower_closed = np.stack([box.lower_closed for box in boxes])
    upper_closed = np.stack([box.upper_closed for box in boxes])
    for k in range(1, len(boxes)):
        below = (lower[:k] < upper[k]) | (
            np.equal(lower[:k], upper[k]) & lower_closed[:k] & upper_closed[k]
        )
        above = (upper[:k] > lower[k]) | (
            np.equal(upper[:k], lower[k]) & upper_closed[:k] & lower_closed[k]
        )
        if (below & above).all(axis=1).any():
            return False
    return True


def prove(boxes: Sequence[Box], guards: Sequence[Guard], limits: Box, *, disjoint: bool) -> None:
    """Insist that boxes are sound, and disjoint if they should be."""
    for box in boxes:
        if not is_inside_all(box, guards, limits):
            raise NumericalError(f"the box {box!r} is not proved to lie on its side of the plane")
    if disjoint and not are_disjoint(boxes):
        raise NumericalError("two boxes of one class are not proved to be disjoint")


def retreat(
    box: Box, guards: Sequence[Guard], limits: Box, columns: FeatureSpace, points: FloatArray
) -> Box | None:
    """Move faces of a box inwards until the model is certain to give the class all over it."""
    had_points = bool(len(points))
    # Each step settles one guard, and only moves inwards; a few rounds are more than rounding asks for.
    for _ in range(5 * len(guards) + 4):
        part = box.intersect(limits) if limits.bounded else box
        open_guard = next((guard for guard in guards if not guard.proves(part)), None)
        if open_guard is None:
            return box
        smaller = _closed(box, part, open_guard, columns)
        if smaller is None:
            smaller = _moved(box, part, open_guard, columns, points)
        if smaller is None:
            return None
        points = points[smaller.contains(points)]
        if had_points and not len(points):
            return None
        # Fewer digits only move bounds further in.
        box = shorten_bounds(smaller, columns, points)
    return None


def _closed(box: Box, part: Box, guard: Guard, columns: FeatureSpace) -> Box | None:
    """Return the box with an end at the range seen, where its declared part has none and a guard needs one."""
    weights, slopes, sign = guard.error.coef, guard.error.slope, guard.halfspace.sign
    # Where the error grows faster than the score, it is largest at the far end, which has to be finite, too.
    either = 2.0 * slopes > np.abs(weights)
    below = np.isinf(part.lower) & ((sign * weights > 0) | either)
    above = np.isinf(part.upper) & ((sign * weights < 0) | either)
    if not (below | above).any():
        return None
    return Box(
        np.where(below, columns.lower, box.lower),
        np.where(above, columns.upper, box.upper),
        box.lower_closed,
        box.upper_closed,
    )


def _moved(
    box: Box, part: Box, guard: Guard, columns: FeatureSpace, points: FloatArray
) -> Box | None:
    """Return the box with the face moved that costs least."""
    excess = guard.excess(part)
    if excess is None:
        return None
    corner, error = guard.corner(part), guard.error
    best: tuple[float, float] | None = None
    choice = (0, 0.0)
    for i in np.flatnonzero(error.coef).tolist():
        rising = guard.halfspace.sign * error.coef[i] > 0
        # What is gained by moving a face is its weight less the growth of the bound.
        gain = abs(error.coef[i]) - 1.25 * error.slope[i]
        if gain <= 0:
            continue
        face = _inwards(float(corner[i]), -excess / gain, rising, whole=bool(columns.integer[i]))
        if not (part.lower[i] <= face <= part.upper[i]):
            continue
        values = points[:, i]
        lost = int(np.count_nonzero(values < face if rising else values > face))
        reach = float(columns.upper[i] - columns.lower[i])
        share = abs(face - corner[i]) / reach if 0 < reach < math.inf else abs(face - corner[i])
        if best is None or (lost, share) < best:
            best, choice = (lost, share), (i, face)
    if best is None:
        return None
    i, face = choice
    rising = guard.halfspace.sign * error.coef[i] > 0
    lower, upper = box.lower.copy(), box.upper.copy()
    lower_closed, upper_closed = box.lower_closed.copy(), box.upper_closed.copy()
    if rising:
        lower[i], lower_closed[i] = face, True
    else:
        upper[i], upper_closed[i] = face, True
    return Box(lower, upper, lower_closed, upper_closed)


def _inwards(face: float, step: float, rising: bool, *, whole: bool) -> float:
    """Return a face moved by at least a step, and by one digit at least."""
    direction = math.inf if rising else -math.inf
    wide = step * (1.0 + 2.0**-40)
    moved = face + wide if rising else face - wide
    moved = math.nextafter(moved, direction)
    if whole:
        return math.ceil(moved) if rising else math.floor(moved)
    return moved
