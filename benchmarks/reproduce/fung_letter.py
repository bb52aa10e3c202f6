"""Algorithm 4.1 of Fung, Sandilya and Rao (KDD 2005) by volume, as it is printed, in readings that the package lacks.

The package keeps a component that was clamped to the end of its range, where eqs. 14 and 15 read literally recompute
the set A from the last point, and so forget it; it cuts by weight or in natural order, and joins neighbouring boxes.
Which of this the authors did is not said. Here it can be chosen; points are floats, and nothing is proved.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ORDERS", "Letter", "extract_by_the_book"]

ORDERS = ("natural", "reversed", "weight", "least weight")
MAX_DEPTH = 20
# The literal iteration may go round in circles; then its last point is clamped, which leaves it below the plane.
_ROUNDS = 50

Floats = NDArray[np.float64]


@dataclass
class Letter:
    """What a run found: problems solved, and the number of points in each box that is not empty."""

    problems: int = 0
    sizes: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class _Side:
    """The side a'z < g, a > 0, with the points to cover and the reading."""

    a: Floats
    g: float
    Z: Floats
    order: str
    forgetful: bool

    def corner(self, weights: Floats) -> Floats:
        """Eqs. 13-15: the y of the largest product with weights'y = 1 in the unit cube."""
        if weights.sum() <= 1.0:
            return np.ones_like(weights)
        safe = np.where(weights > 0, weights, 1e-300)
        clamped = weights == 0
        y = np.ones_like(weights)
        for _ in range(_ROUNDS):
            slope = (len(y) - clamped.sum()) / (1.0 - weights[clamped].sum())
            y = np.where(clamped, 1.0, 1.0 / (slope * safe))
            beyond = y > 1.0
            if not beyond.any():
                return y
            clamped = (weights == 0) | beyond if self.forgetful else clamped | beyond
            if clamped.all() or weights[clamped].sum() >= 1.0:
                break
        return np.minimum(y, 1.0)

    def cuts(self, weights: Floats) -> list[int]:
        """The features in the order in which they cut (eq. 18)."""
        keys = {
            "natural": np.arange(len(weights)),
            "reversed": -np.arange(len(weights)),
            "weight": -weights,
            "least weight": weights,
        }
        return [int(k) for k in np.argsort(keys[self.order], kind="stable")]


def _open(
    side: _Side, region: tuple[Floats, Floats, Any], rows: Any, depth: int, found: Letter
) -> None:
    """Find the box of a region, and open what is left around it."""
    near, far, is_closed = region
    if depth == MAX_DEPTH or not len(rows):
        return
    found.problems += 1
    # Above zero, since the region has points below the plane.
    weights = side.a * (far - near) / (side.g - side.a @ near)
    y = side.corner(weights)
    face = np.where(y >= 1.0, far, near + y * (far - near))
    ends = (y >= 1.0) & is_closed
    points = side.Z[rows]
    below = np.where(ends, points <= face, points < face)
    covered = below.all(axis=1)
    if covered.any():
        found.sizes.append(int(covered.sum()))
    rest, below = rows[~covered], below[~covered]
    far, is_closed = far.copy(), is_closed.copy()
    for k in side.cuts(weights):
        beyond = ~below[:, k]
        child_near = near.copy()
        child_near[k] = face[k]
        _open(side, (child_near, far.copy(), is_closed.copy()), rest[beyond], depth + 1, found)
        rest, below = rest[~beyond], below[~beyond]
        far[k], is_closed[k] = face[k], ends[k]


def extract_by_the_book(
    plane: Any, X: Any, signs: Any, sign: int, *, order: str, bounds: str, forgetful: bool
) -> Letter:
    """Extract the boxes of a class of a plane.

    Parameters
    ----------
    plane : LPSVC
        Fitted; positive for the class 1.
    X, signs : ndarray
        The rows, and their classes, 1 and -1.
    sign : int
        The class.
    order : str
        One of `ORDERS`.
    bounds : {"data", "class"}
        Ranges of all rows, or of those to cover.
    forgetful : bool
        Whether eqs. 14 and 15 are read literally.

    Returns
    -------
    Letter
        What was found.
    """
    coef, intercept = plane.coef_.ravel(), float(plane.intercept_.ravel()[0])
    features = np.flatnonzero(coef)
    outward = -sign * coef[features]
    everything = X[:, features] * np.sign(outward)
    Z = everything[(plane.predict(X) == sign) & (signs == sign)]
    seen = Z if bounds == "class" else everything
    side = _Side(np.abs(outward), sign * intercept, Z, order, forgetful)
    found = Letter()
    region = (seen.min(axis=0), seen.max(axis=0), np.ones(len(features), dtype=np.bool_))
    _open(side, region, np.arange(len(Z)), 0, found)
    return found
