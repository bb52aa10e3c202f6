"""Which of many points lie in each of some boxes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearmargin.core import Box
from clearmargin.core.value import FloatArray, IntArray

__all__ = ["members_of"]


def members_of(boxes: Sequence[Box], X: FloatArray) -> list[IntArray]:
    """Give for each box the points in it.

    The bound that most points fail is tried first, and every further one only on the points that are left.

    Parameters
    ----------
    boxes : sequence of Box
        Over the columns of X.
    X : ndarray of shape (m, n)
        Points without gaps.

    Returns
    -------
    list of ndarray of int
        Rows of X, in order.

    Examples
    --------
    >>> members_of([Box([0.0], [1.0])], np.array([[0.5], [2.0]]))
    [array([0])]
    """
    used = sorted({j for box in boxes for j in box.bounded})
    columns = {j: np.ascontiguousarray(X[:, j]) for j in used}
    # A few points tell which bounds are the hardest.
    few = X[:: max(1, len(X) // 1_000)]
    return [_members(box, columns, few, len(X)) for box in boxes]


def _members(box: Box, columns: dict[int, FloatArray], few: FloatArray, m: int) -> IntArray:
    if box.is_empty:
        return np.empty(0, dtype=np.intp)
    hardest_first = sorted(box.bounded, key=lambda j: int(_holds(box, j, few[:, j]).sum()))
    rows: IntArray | None = None
    for j in hardest_first:
        values = columns[j] if rows is None else columns[j][rows]
        kept = np.flatnonzero(_holds(box, j, values))
        rows = kept if rows is None else rows[kept]
    return np.arange(m) if rows is None else rows


def _holds(box: Box, j: int, values: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    low, high = box.lower[j], box.upper[j]
    above = values >= low if box.lower_closed[j] else values > low
    below = values <= high if box.upper_closed[j] else values < high
    return np.asarray(above & below)
