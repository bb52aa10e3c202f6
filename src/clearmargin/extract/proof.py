"""The end of every extraction: all boxes are where they should be, and no two meet. Decided exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearmargin.core import Box, HalfSpace
from clearmargin.exceptions import NumericalError

__all__ = ["are_disjoint", "is_inside_all", "prove"]


def is_inside_all(box: Box, halfspaces: Sequence[HalfSpace], limits: Box) -> bool:
    """Decide whether the part of a box within declared limits lies in all of some half-spaces.

    Parameters
    ----------
    box : Box
        The box.
    halfspaces : sequence of HalfSpace
        Where it should be.
    limits : Box
        Where features are declared to live; unbounded where nothing is declared.

    Returns
    -------
    bool
        Exact.
    """
    part = box.intersect(limits)
    return all(part.is_inside(halfspace) for halfspace in halfspaces)


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
    halfspaces: Sequence[HalfSpace],
    limits: Box,
    *,
    disjoint: bool,
) -> None:
    """Insist that boxes are sound, and disjoint if they should be.

    Parameters
    ----------
    boxes : sequence of Box
        The boxes of one class.
    halfspaces : sequence of HalfSpace
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
