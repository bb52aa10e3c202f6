"""Cells around centres: which centre is nearest, decided by the same inequalities that rules print.

Distances are Euclidean after each feature is divided by its width, the range of the training data. A point x is
nearer to centre j than to centre k exactly when it lies on j's side of their bisector,

    a'x <= b,   a_l = (u_kl - u_jl) / width_l^2,   b = a'(u_j + u_k) / 2,                                (row j, k)

here divided by the largest weight, so that one weight is 1 or -1. On the bisector itself the first centre wins: row
(j, k) is strict where k < j. The cell of j is the set of points that satisfy all its rows *as evaluated in floating
point, from left to right*, which is how a `Polyhedron` evaluates them. Row (k, j) is row (j, k) with all signs
changed, to the last bit, so no point is in two cells. A point within rounding of several bisectors may be in none;
callers have to say where such points go.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["Frame", "bisectors", "left_sides", "nearest_cells"]

# Entries of a table of distances that are held at a time.
_TABLE = 2_000_000


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the training data lie: least value and width of each feature.

    Parameters
    ----------
    low, width : ndarray of shape (n,)
        Least value and range; the width is infinite for a feature that does not vary, which so counts nothing.

    Examples
    --------
    >>> frame = Frame.from_points(np.array([[0.0, 5.0], [4.0, 5.0]]))
    >>> frame.scale(np.array([[1.0, 7.0]]))
    array([[0.25, 0.  ]])
    """

    low: FloatArray
    width: FloatArray

    @classmethod
    def from_points(cls, points: FloatArray) -> Frame:
        """Measure some points."""
        low, high = points.min(axis=0), points.max(axis=0)
        with np.errstate(
            over="ignore"
        ):  # a range beyond the floats is infinite, and so counts nothing
            width = high - low
        # The inverse of a width below this one is no float.
        return cls(low, np.where(width > 1e-300, width, np.inf))

    def scale(self, points: FloatArray) -> FloatArray:
        """Bring points to [0, 1] by the training range."""
        with np.errstate(over="ignore"):
            return np.asarray((points - self.low) / self.width)

    def restore(self, scaled: FloatArray) -> FloatArray:
        """Bring scaled points back to the user's units; a feature that does not vary has its one value."""
        varying = np.isfinite(self.width)
        return np.asarray(self.low + scaled * np.where(varying, self.width, 0.0))


def bisectors(
    centres: FloatArray, width: FloatArray, j: IntArray, k: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Write "nearer to centre j than to centre k" as rows a'x <= b, for pairs of centres that differ.

    Parameters
    ----------
    centres : ndarray of shape (K, n)
        Centres in the user's units.
    width : ndarray of shape (n,)
        Width of each feature.
    j, k : ndarray of int of shape (p,)
        The pairs.

    Returns
    -------
    A : ndarray of shape (p, n)
        Left-hand sides; the largest weight of each is 1 or -1 (all are 0 where the centres do not differ).
    b : ndarray of shape (p,)
        Right-hand sides.

    Examples
    --------
    >>> centres = np.array([[0.0, 0.0], [4.0, 2.0]])
    >>> bisectors(centres, np.ones(2), np.array([0]), np.array([1]))
    (array([[1. , 0.5]]), array([2.5]))
    """
    A = (centres[k] - centres[j]) / width / width
    largest = np.abs(A).max(axis=1, initial=0.0)
    A /= np.where(largest > 0, largest, 1.0)[:, None]
    # Sums over features are formed one after the other everywhere: the order must not depend on the number of rows.
    return A, left_sides(A, (centres[j] + centres[k]) / 2)


def left_sides(A: FloatArray, points: FloatArray) -> FloatArray:
    """Evaluate a'x for pairs of a row and a point, from left to right as `Polyhedron.contains` does.

    Examples
    --------
    >>> left_sides(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [5.0, 6.0]]))
    array([11., 17.])
    """
    total: FloatArray = A[..., 0] * points[..., 0]
    for feature in range(1, points.shape[-1]):
        total = total + A[..., feature] * points[..., feature]
    return total


def nearest_cells(points: FloatArray, centres: FloatArray, frame: Frame) -> IntArray:
    """Give for each point the centre in whose cell it is, -1 where rounding leaves it in none.

    Distances from one matrix product settle nearly all points. Those that are within rounding of a bisector are
    decided by its row.

    Parameters
    ----------
    points : ndarray of shape (m, n)
        Points in the user's units.
    centres : ndarray of shape (K, n)
        Centres in the user's units.
    frame : Frame
        Where the training data lie.

    Returns
    -------
    ndarray of int of shape (m,)
        Indices of centres.

    Examples
    --------
    >>> frame = Frame(np.zeros(1), np.ones(1))
    >>> nearest_cells(np.array([[0.1], [0.5], [0.6]]), np.array([[0.0], [1.0]]), frame)
    array([0, 0, 1])
    """
    if len(centres) == 1:
        return np.zeros(len(points), dtype=np.intp)
    cells = np.empty(len(points), dtype=np.intp)
    step = max(1, _TABLE // len(centres))
    for start in range(0, len(points), step):
        rows = slice(start, start + step)
        cells[rows] = _nearest_block(points[rows], centres, frame)
    return cells


def _nearest_block(points: FloatArray, centres: FloatArray, frame: Frame) -> IntArray:
    scaled, scaled_centres = frame.scale(points), frame.scale(centres)
    # Half the squared distance, but for a term that all centres share.
    halves = (scaled_centres**2).sum(axis=1) / 2
    with np.errstate(over="ignore", invalid="ignore"):
        table = halves - scaled @ scaled_centres.T
        near = table <= (table.min(axis=1) + _doubt(points, centres, frame))[:, None]
    cells: IntArray = near.argmax(axis=1)
    # A point so far away that its distances are no numbers is near to none; its rows decide, too.
    unsure = np.flatnonzero(np.count_nonzero(near, axis=1) != 1)
    if len(unsure):
        candidates = near[unsure] | ~near[unsure].any(axis=1, keepdims=True)
        cells[unsure] = _duels(points[unsure], candidates, centres, frame.width)
    return cells


def _doubt(points: FloatArray, centres: FloatArray, frame: Frame) -> FloatArray:
    """How far a difference of two entries of the table may be from what rows say, for each point.

    Both are sums of n products with |scaled centre| <= 1. Standard bounds give (n + 4) eps times the sum of the
    magnitudes for each; 16 is more than all constants together.
    """
    n = points.shape[1]
    reach = np.abs(centres).max(axis=0) + np.abs(frame.low)
    magnitude = ((np.abs(points) + reach) / frame.width).sum(axis=1)
    return np.asarray(16 * (n + 4) * np.finfo(np.float64).eps * magnitude)


def _duels(
    points: FloatArray, candidates: BoolArray, centres: FloatArray, width: FloatArray
) -> IntArray:
    """Find the candidate on whose side of all bisectors a point is, -1 where there is none."""
    champion: IntArray = candidates.argmax(axis=1)
    # If some candidate beats all others, it beats whoever is champion when its turn comes, and stays.
    for k in np.flatnonzero(candidates.any(axis=0)):
        rows = np.flatnonzero(candidates[:, k] & (champion != k))
        lost = rows[~_wins(points[rows], champion[rows], int(k), centres, width)]
        champion[lost] = k
    held = np.ones(len(points), dtype=np.bool_)
    for k in np.flatnonzero(candidates.any(axis=0)):
        rows = np.flatnonzero(candidates[:, k] & (champion != k))
        held[rows] &= _wins(points[rows], champion[rows], int(k), centres, width)
    return np.where(held, champion, -1)


def _wins(
    points: FloatArray, j: IntArray, k: int, centres: FloatArray, width: FloatArray
) -> BoolArray:
    A, b = bisectors(centres, width, j, np.full(len(j), k, dtype=np.intp))
    with np.errstate(over="ignore", invalid="ignore"):
        value = left_sides(A, points)
    return np.where(k < j, value < b, value <= b)
