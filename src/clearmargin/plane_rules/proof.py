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

__all__ = ["are_disjoint", "is_inside_all", "needed_ends", "prove", "retreat"]


def is_inside_all(box: Box, halfspaces: Sequence[HalfSpace | Guard], limits: Box) -> bool:
    """Decide whether the part of a box within declared limits lies in all of some half-spaces.

    A half-space is what the numbers of a plane stand for; a guard asks for what the model computes, too.

    Parameters
    ----------
    box : Box
        The box.
    halfspaces : sequence of HalfSpace or Guard
        Where it should be.
    limits : Box
        Where features are declared to live; unbounded where nothing is declared.

    Returns
    -------
    bool
        Exact.
    """
    # Mostly nothing is declared, and then there is nothing to cut off.
    part = box.intersect(limits) if limits.bounded else box
    return all(
        where.proves(part) if isinstance(where, Guard) else part.is_inside(where)
        for where in halfspaces
    )


def needed_ends(
    halfspaces: Sequence[HalfSpace], columns: FeatureSpace, limits: Box
) -> tuple[BoolArray, BoolArray]:
    """Tell which ends of the domain have to be conditions of a sound box, since beyond them a plane can be reached.

    The plane is nearest to the lower bound of a feature where its function grows with the feature, else to the upper
    one. The opposite bound never matters, nor does one at an end that is declared.

    Parameters
    ----------
    halfspaces : sequence of HalfSpace
        Where boxes should be.
    columns : FeatureSpace
        Their ranges are the domain.
    limits : Box
        As for `is_inside_all`.

    Returns
    -------
    lower, upper : ndarray of bool of shape (n,)
        Which ends have to be conditions.

    Examples
    --------
    >>> from clearmargin.rules import Hyperplane
    >>> domain = FeatureSpace(["age", "bmi"], [0.0, 10.0], [120.0, 60.0])
    >>> needed_ends([Hyperplane([1.0, 0.0], -40.0).side(1)], domain, Box.unbounded(2))
    (array([ True, False]), array([False, False]))
    """
    rising = np.stack([h.sign * h.hyperplane.coef for h in halfspaces])
    lower = (rising > 0).any(axis=0) & (limits.lower < columns.lower)
    upper = (rising < 0).any(axis=0) & (limits.upper > columns.upper)
    return lower, upper


def are_disjoint(boxes: Sequence[Box]) -> bool:
    """Decide whether no two boxes have a point in common; floats compare exactly.

    Examples
    --------
    >>> are_disjoint([Box([0.0], [1.0], upper_closed=False), Box([1.0], [2.0])])
    True
    """
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


def prove(
    boxes: Sequence[Box],
    halfspaces: Sequence[HalfSpace | Guard],
    limits: Box,
    *,
    disjoint: bool,
) -> None:
    """Insist that boxes are sound, and disjoint if they should be.

    Parameters
    ----------
    boxes : sequence of Box
        The boxes of one class.
    halfspaces : sequence of HalfSpace or Guard
        The region of the class.
    limits : Box
        As for `is_inside_all`.
    disjoint : bool
        Whether no two boxes may meet.
    """
    for box in boxes:
        if not is_inside_all(box, halfspaces, limits):
            raise NumericalError(f"the box {box!r} is not proved to lie on its side of the plane")
    if disjoint and not are_disjoint(boxes):
        raise NumericalError("two boxes of one class are not proved to be disjoint")


def retreat(
    box: Box, guards: Sequence[Guard], limits: Box, columns: FeatureSpace, points: FloatArray
) -> Box | None:
    """Move faces of a box inwards until the model is certain to give the class all over it.

    Each time the face is moved that loses the fewest points, and among those the smallest share of its range.

    Parameters
    ----------
    box : Box
        A box on its side of the planes, over the encoded columns.
    guards : sequence of Guard
        What has to be proved.
    limits : Box
        Where features are declared to live.
    columns : FeatureSpace
        Ranges of the columns, and which take whole numbers.
    points : ndarray of shape (p, n)
        The points in the box that should stay in it.

    Returns
    -------
    Box or None
        A part of the box; None when nothing of it can be proved, or none of the points is left.

    Examples
    --------
    >>> from clearmargin.rules import Hyperplane
    >>> from clearmargin.models.score_error import direct_error
    >>> plane, columns = Hyperplane([0.1], -0.7), FeatureSpace(["age"], [0.0], [90.0])
    >>> guard = Guard(plane.side(-1), direct_error(plane))
    >>> print(retreat(Box([0.0], [7.0]), [guard], Box.unbounded(1), columns, np.array([[3.0]])).interval(0))
    [0, 6.9]
    """
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
    """Return the box with an end at the range seen, where its declared part has none and a guard needs one.

    The difference of two equal weights is zero, and sets no end; but scores are computed with both, and err with both.
    None where nothing is open that has to be closed.
    """
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
