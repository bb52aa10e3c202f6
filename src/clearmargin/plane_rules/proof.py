"""The end of every extraction: all boxes are where they should be, and no two meet. Decided exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearmargin.exceptions import NumericalError
from clearmargin.models.score_error import Guard
from clearmargin.rules import Box, FeatureSpace, HalfSpace
from clearmargin.rules.value import BoolArray

__all__ = ["are_disjoint", "is_inside_all", "needed_ends", "prove"]


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
    """Tell which ends of the domain a sound box has to say, because the way to some plane is open beyond them.

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
        Which ends have to be said.

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
