"""Which of many points lie in each of some boxes.

The range of each feature is cut into equal cells, and one bit for each box says whether it meets a cell. A point is
looked up feature by feature, the bits are and-ed, and what is left are the few boxes that are compared with the point
itself. `core.packing` cuts at the bounds themselves and is exact at once, but has to search for the cell; here that
is a multiplication, which pays when points are many and most are in no box.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearmargin.rules import Box
from clearmargin.rules.boxes import half_open, pack_bits, unpack_bits
from clearmargin.rules.value import FloatArray, IntArray

__all__ = ["members_of"]

# A table of this many words stays in the fastest cache, and cells so narrow let few boxes through in vain.
_CELLS = 1_024
# Points handled at a time: enough to drown the overhead of numpy, few enough to stay in cache.
_CHUNK = 8_192


def members_of(boxes: Sequence[Box], X: FloatArray, rows: IntArray | None = None) -> list[IntArray]:
    """Give for each box the points in it.

    Parameters
    ----------
    boxes : sequence of Box
        Over the columns of X, without categories.
    X : ndarray of shape (m, n)
        Rows of finite numbers.
    rows : ndarray of int, optional
        The points to look at, in order; by default all.

    Returns
    -------
    list of ndarray of int
        Rows of X, in order.

    Examples
    --------
    >>> members_of([Box([0.0], [1.0])], np.array([[0.5], [2.0]]))
    [array([0])]
    """
    if not boxes:
        return []
    rows = np.arange(len(X)) if rows is None else rows
    grid = _Grid(boxes)
    found = [grid.members(X, rows[first : first + _CHUNK]) for first in range(0, len(rows), _CHUNK)]
    empty = np.empty(0, dtype=np.intp)
    points = np.concatenate([empty, *(points for points, _ in found)])
    owners = np.concatenate([empty, *(owners for _, owners in found)])
    # Stable: the points of a box stay in order.
    points = points[np.argsort(owners, kind="stable")]
    ends = np.cumsum(np.bincount(owners, minlength=len(boxes)))
    return np.split(points, ends[:-1])


class _Grid:
    """Cells for each feature that some box bounds, with the boxes that meet them."""

    def __init__(self, boxes: Sequence[Box]):
        start, stop = half_open(boxes)
        self._features = np.flatnonzero((np.isfinite(start) | np.isfinite(stop)).any(axis=0))
        self._start, self._stop = start[:, self._features], stop[:, self._features]
        bounds = np.concatenate([self._start, self._stop])
        low = np.where(np.isfinite(bounds), bounds, np.inf).min(axis=0)
        high = np.where(np.isfinite(bounds), bounds, -np.inf).max(axis=0)
        with np.errstate(over="ignore", divide="ignore"):
            self._scale = (_CELLS - 1) / (high - low)
        # Bounds too close to be divided by, or too far apart, have one cell.
        lost = ~np.isfinite(self._scale) | (self._scale == 0)
        self._scale[lost], low[lost] = 0.0, 0.0
        self._low = low
        # No point lies beyond the largest float.
        ends = np.nan_to_num(bounds)
        cells = np.arange(_CELLS)[:, None]
        self._tables = []
        for places in self._cells(ends.T):
            first, last = np.split(places, 2)
            bits = pack_bits((cells >= first) & (cells <= last))
            self._tables.append(np.ascontiguousarray(bits.T))

    def _cells(self, values: FloatArray) -> IntArray:
        """The cells of values, one row a feature. Rounding never turns the order of two values round."""
        with np.errstate(over="ignore"):
            cells: FloatArray = values - self._low[:, None]
            cells *= self._scale[:, None]
        np.clip(cells, 0.0, _CELLS - 1.0, out=cells)
        return cells.astype(np.intp)

    def members(self, X: FloatArray, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Points among some rows and boxes that they are in, as pairs."""
        block = X.take(rows, axis=0).T[self._features]
        words = np.full((-(-len(self._start) // 64), len(rows)), ~np.uint64(0))
        for cells, tables in zip(self._cells(block), self._tables, strict=True):
            for word, table in zip(words, tables, strict=True):
                np.bitwise_and(word, table.take(cells), out=word)
        places = np.flatnonzero(words.any(axis=0))
        bits = unpack_bits(np.ascontiguousarray(words[:, places].T), len(self._start))
        lines, owners = np.nonzero(bits)
        places = places[lines]
        near = block[:, places].T
        inside = ((near >= self._start[owners]) & (near < self._stop[owners])).all(axis=1)
        return rows[places[inside]], owners[inside]
