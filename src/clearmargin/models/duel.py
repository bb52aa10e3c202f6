"""Planes between two classes, and how several of them decide among more."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from clearmargin.models.score_error import PipelinePlane, direct_error
from clearmargin.rules import Hyperplane

__all__ = ["Duel", "highest_wins"]


class Duel(NamedTuple):
    """A plane between two classes: f > 0 speaks for the one, f <= 0 for the other, which also wins ties.

    Parameters
    ----------
    positive, negative : int
        Positions of the two classes among all classes.
    plane : Hyperplane
        The plane f = 0.

    Examples
    --------
    >>> Duel(1, 0, Hyperplane([2.0], -1.0)).plane.side(1).contains([[0.5], [0.75]])
    array([False,  True])
    """

    positive: int
    negative: int
    plane: Hyperplane


def highest_wins(scores: tuple[Hyperplane, ...]) -> tuple[Duel, ...]:
    """Give the duels that come to the same as the highest of several scores.

    Parameters
    ----------
    scores : tuple of Hyperplane
        The score of each class.

    Returns
    -------
    tuple of Duel
        One for each pair. Of equal scores the first wins, as in `numpy.argmax`: the later class must be strictly
        better.

    Examples
    --------
    >>> highest_wins((Hyperplane([2.0], 0.0), Hyperplane([3.0], -1.0)))
    (Duel(positive=1, negative=0, plane=Hyperplane([1.0], -1.0)),)
    """
    return tuple(
        Duel(later, first, _difference(scores[later], scores[first]))
        for first, later in combinations(range(len(scores)), 2)
    )


def _difference(f: Hyperplane, g: Hyperplane) -> Hyperplane:
    # Parts with encoders of their own may know different numbers of sources.
    return PipelinePlane(direct_error(f).minus(direct_error(g)))
