"""Many closed boxes as two tables of bounds, and the same boxes as limits along 2n directions.

A box {x : lower <= x <= upper} over n features is also {x : u <= limit in every direction}, where the directions of a
point x are u = (x, -x) and the limits of a box are (upper, -lower). In that form every bound is an upper one, so what
shapes boxes (cutting, dropping and moving bounds) is written once and not twice. Negation is exact, so nothing is lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rules.packing import Words, pack_bits, unpack_bits
from clearmargin.rules.value import (
    BoolArray,
    FloatArray,
    IntArray,
    Value,
    as_points,
    float_array,
    is_point,
)

__all__ = [
    "BoolArray",
    "Codes",
    "FloatArray",
    "IntArray",
    "PackedBoxes",
    "as_codes",
    "as_finite_points",
    "directions",
    "halfway",
]

Codes = NDArray[np.int64]

# Rows and boxes handled at a time: the table of an axis has 2 * 1024 segments of 1024 bits while it is built (2 MB),
# and the bits of a chunk of rows stay in cache.
_ROWS, _BOXES = 16_384, 1_024


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class PackedBoxes(Value):
    """Boxes over the same features, closed on both sides, as two tables of bounds.

    Parameters
    ----------
    lower, upper : array-like of shape (r, n)
        Bounds of each box; ``-inf`` and ``inf`` where there is none.

    Examples
    --------
    >>> boxes = PackedBoxes([[0.0, 0.0], [1.0, -np.inf]], [[2.0, 1.0], [3.0, np.inf]])
    >>> boxes.contains([[1.0, 1.0], [3.0, 9.0]])
    array([[ True, False],
           [ True,  True]])
    >>> boxes.n_conditions.tolist()
    [4, 2]
    """

    lower: FloatArray
    upper: FloatArray

    def __init__(self, lower: ArrayLike, upper: ArrayLike):
        low = float_array(lower, "lower bounds of boxes")
        if low.ndim != 2:
            raise InvalidValueError(
                f"bounds of boxes must form a table (boxes, features), not of shape {low.shape}"
            )
        high = float_array(upper, "upper bounds of boxes", shape=low.shape)
        empty = (low > high) | (low == math.inf) | (high == -math.inf)
        if empty.any():
            box, feature = (int(i) for i in np.argwhere(empty)[0])
            raise InvalidValueError(
                f"box {box} is empty in feature {feature}: no number lies between "
                f"{low[box, feature]} and {high[box, feature]}; drop such boxes first"
            )
        self._set(lower=low, upper=high)

    @classmethod
    def from_limits(cls, limits: FloatArray) -> PackedBoxes:
        """Undo `limits`.

        Parameters
        ----------
        limits : ndarray of shape (r, 2n)
            Upper bounds of x, then of -x.

        Returns
        -------
        PackedBoxes
            The boxes with these limits.
        """
        n = limits.shape[1] // 2
        return cls(-limits[:, n:], limits[:, :n])

    @classmethod
    def everywhere(cls, n_boxes: int, n_features: int) -> PackedBoxes:
        """Boxes without any bound."""
        bound = np.full((n_boxes, n_features), math.inf)
        return cls(-bound, bound)

    @classmethod
    def concatenate(cls, parts: Sequence[PackedBoxes]) -> PackedBoxes:
        """All boxes of several, one after the other."""
        if not parts:
            raise InvalidValueError("nothing to concatenate: at least one PackedBoxes is needed")
        widths = {part.n_features for part in parts}
        if len(widths) > 1:
            raise InvalidValueError(
                f"boxes over different numbers of features do not go together: {sorted(widths)}"
            )
        return cls(np.vstack([p.lower for p in parts]), np.vstack([p.upper for p in parts]))

    def __len__(self) -> int:
        return len(self.lower)

    def __repr__(self) -> str:
        return f"PackedBoxes({len(self)} boxes, {self.n_features} features)"

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.lower.shape[1])

    @property
    def limits(self) -> FloatArray:
        """The boxes as upper bounds of x and of -x, an array of shape (r, 2n)."""
        return np.hstack([self.upper, -self.lower])

    @property
    def n_conditions(self) -> IntArray:
        """The number of finite bounds of each box; a feature bounded on both sides counts twice."""
        return np.asarray(np.isfinite(self.limits).sum(axis=1, dtype=np.intp))

    def take(self, index: ArrayLike) -> PackedBoxes:
        """The boxes of an index: positions, a mask or a slice of positions."""
        chosen = np.asarray(index)
        if chosen.dtype.kind != "b":
            chosen = chosen.astype(np.intp)  # an empty list has no integers in it
        return PackedBoxes(self.lower[chosen], self.upper[chosen])

    def contains(self, points: ArrayLike) -> BoolArray:
        """Tell for each box and point whether the point is in the box.

        Parameters
        ----------
        points : array-like of shape (m, n)
            The points; one with a NaN is in no box.

        Returns
        -------
        ndarray of bool of shape (r, m)
            Whether each box holds each point.
        """
        P = np.asfortranarray(as_points(points, self.n_features))  # axes are read one by one
        inside = np.empty((len(self), len(P)), dtype=np.bool_)
        for start in range(0, len(self), _BOXES):
            some = slice(start, start + _BOXES)
            inside[some] = _contains(self.lower[some], self.upper[some], P)
        return inside

    def log_share(self, lower_range: ArrayLike, upper_range: ArrayLike) -> FloatArray:
        """Logarithm of the share of a range that each box takes, the volume in units of the range.

        Parameters
        ----------
        lower_range, upper_range : array-like of shape (n,)
            Finite ends of each feature. A feature whose ends are equal takes no part.

        Returns
        -------
        ndarray of shape (r,)
            At most 0; ``-inf`` for a box that is flat in the range or outside it.
        """
        low = float_array(lower_range, "lower_range", shape=(self.n_features,))
        high = float_array(upper_range, "upper_range", shape=(self.n_features,))
        if not (np.isfinite(low) & np.isfinite(high) & (low <= high)).all():
            raise InvalidValueError("a range needs finite ends, the lower one below the upper one")
        wide = high > low
        # Halves cannot overflow.
        width = np.minimum(self.upper, high)[:, wide] / 2 - np.maximum(self.lower, low)[:, wide] / 2
        share = np.maximum(width, 0.0) / (high[wide] / 2 - low[wide] / 2)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(share).sum(axis=1))


def _contains(lower: FloatArray, upper: FloatArray, P: FloatArray) -> BoolArray:
    r, n = lower.shape
    bounded = [
        j for j in range(n) if np.isfinite(lower[:, j]).any() or np.isfinite(upper[:, j]).any()
    ]
    if len(P) <= 2 * r:  # a table of 2r segments would cost more than comparing
        inside: BoolArray = np.repeat(is_point(P)[None], r, axis=0)
        for j in bounded:
            inside &= P[:, j] >= lower[:, j, None]
            inside &= P[:, j] <= upper[:, j, None]
        return inside
    tables = [(j, *_segments(lower[:, j], upper[:, j])) for j in bounded]
    inside = np.empty((r, len(P)), dtype=np.bool_)
    for start in range(0, len(P), _ROWS):
        chunk = P[start : start + _ROWS]
        words = np.empty((len(chunk), -(-r // 64)), dtype=np.uint64)
        words[:] = np.where(is_point(chunk), ~np.uint64(0), np.uint64(0))[:, None]
        for j, cuts, table in tables:
            words &= table.take(np.searchsorted(cuts, chunk[:, j], side="right"), axis=0)
        inside[:, start : start + _ROWS] = unpack_bits(words, r).T
    return inside


def _segments(lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, Words]:
    """An axis cut at all bounds, and for each segment the boxes that hold there (see `core.packing`)."""
    with np.errstate(over="ignore"):  # after the largest float comes inf
        stop = np.nextafter(upper, math.inf)
    below, above = lower > -math.inf, upper < math.inf
    cuts = np.unique(np.concatenate([lower[below], stop[above]]))
    segment = np.arange(len(cuts) + 1)[:, None]
    first = np.where(below, np.searchsorted(cuts, lower) + 1, 0)
    last = np.where(above, np.searchsorted(cuts, stop), len(cuts))
    return cuts, pack_bits((segment >= first) & (segment <= last))


def directions(points: FloatArray) -> FloatArray:
    """Points along 2n directions: x, then -x.

    Parameters
    ----------
    points : ndarray of shape (m, n)
        The points.

    Returns
    -------
    ndarray of shape (2n, m)
        One row a direction; a point is in a box when it exceeds no limit of it.

    Examples
    --------
    >>> directions(np.array([[1.0, 2.0]])).T
    array([[ 1.,  2., -1., -2.]])
    """
    columns = np.ascontiguousarray(points.T)
    return np.vstack([columns, -columns])


def halfway(inner: float, outer: float) -> float:
    """A bound half-way from one number to a larger one that keeps the first and excludes the second.

    Parameters
    ----------
    inner, outer : float
        Finite, the first smaller.

    Returns
    -------
    float
        At least `inner` and less than `outer`; `inner` itself when no float lies between.

    Examples
    --------
    >>> halfway(1.0, 2.0), halfway(1.0, float(np.nextafter(1.0, 2.0)))
    (1.5, 1.0)
    """
    middle = inner / 2 + outer / 2  # the sum of two large numbers would overflow
    return middle if inner <= middle < outer else inner


def as_finite_points(points: ArrayLike, n_features: int) -> FloatArray:
    """Read points that must all be known and finite.

    Examples
    --------
    >>> as_finite_points([[1, 2]], 2)
    array([[1., 2.]])
    """
    P = as_points(points, n_features)
    bad = ~np.isfinite(P)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise DataError(
            f"points must be finite, but row {row + 1}, column 'x{column}' is {P[row, column]}; "
            "drop or impute such rows"
        )
    return P


def as_codes(codes: ArrayLike, n: int, what: str) -> Codes:
    """Read codes of classes, one whole number for each of n things.

    Examples
    --------
    >>> as_codes([0, 1], 2, "codes of points")
    array([0, 1])
    """
    array = np.asarray(codes)
    if array.shape != (n,):
        raise DataError(f"{what} must have shape ({n},), not {array.shape}")
    if n and array.dtype.kind not in "biu":
        raise DataError(f"{what} must be whole numbers (one for each class), not {array.dtype}")
    return array.astype(np.int64)
