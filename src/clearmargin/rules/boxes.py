"""Many boxes as one value, and the one kernel that tells which rows lie in which of them.

A box is a conjunction of conditions, and only conditions that exist are stored: one *entry* a condition, sorted by box
and then by feature. So 8,000 boxes with one condition each are 8,000 entries, however many features there are. An entry
says of the value x of its feature:

    low <= x <= high      (< where an end is open), and x is one of the codes where the entry has a set of categories;
    or x is missing (NaN), where the entry allows that.

So a condition is false on a missing value unless the entry allows it, and a feature without an entry may be missing.
A value that must not be missing is the entry (-inf, inf); one that must be missing is the empty interval (inf, -inf)
with missing values allowed. `Box` is one of the boxes with names for these cases.

Over floats every interval is closed: x > a is x >= the next float after a (`closed_ends`). Closed ones are compared.

The kernel. Boxes are taken in blocks and rows in chunks, so that a table of flags stays in the cache. Each feature is
compared with all ends that the boxes of a block have on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.box import Box, Entries, closed_ends
from clearmargin.rules.categories import CategorySets
from clearmargin.rules.value import (
    BoolArray,
    FloatArray,
    IntArray,
    Value,
    as_points,
    bool_array,
    float_array,
)

Words = NDArray[np.uint64]

# Rows handled at a time: large enough to drown the overhead of numpy, small enough to stay in cache.
_ROWS = 16_384
# Numbers of a table copied at a time, so that many columns mean fewer rows: at most 32 MB.
_MAX_COPIED = 2**22
# Boxes handled together.
_BLOCK = 128
# The fields with one number an entry.
_ENTRIES = ("box", "feature", "low", "high", "low_closed", "high_closed", "missing", "allowed")


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Boxes(Value):
    """Boxes over the same features, as arrays with one entry for each condition.

    Parameters
    ----------
    n_boxes, n_features : int
        How many there are; a box without entries is the whole space.
    box, feature : array-like of int of shape (e,)
        The box and the feature of each entry. Several entries of a box on one feature hold together.
    low, high : array-like of shape (e,)
        The interval; infinite where there is no end.
    low_closed, high_closed : array-like of bool of shape (e,) or bool, default True
        Whether each end belongs to the interval.
    missing : array-like of bool of shape (e,) or bool, default False
        Whether the entry holds for a missing value.
    allowed : array-like of int of shape (e,) or int, default -1
        The position in `sets` of the categories that are allowed, -1 for an entry without.
    sets : tuple of tuple of int, optional
        Sets of codes of categories, ascending.

    Examples
    --------
    >>> boxes = Boxes.from_bounds([[0.0, 0.0], [1.0, -np.inf]], [[2.0, 1.0], [3.0, np.inf]])
    >>> boxes.contains([[1.0, 1.0], [3.0, np.nan]])
    array([[ True,  True],
           [False,  True]])
    >>> boxes[1]
    Box({0: [1, 3]}, n_features=2)
    >>> boxes == Boxes.of([boxes[0], boxes[1]]), boxes.n_conditions.tolist()
    (True, [4, 2])
    """

    n_boxes: int
    n_features: int
    box: IntArray
    feature: IntArray
    low: FloatArray
    high: FloatArray
    low_closed: BoolArray
    high_closed: BoolArray
    missing: BoolArray
    allowed: IntArray
    sets: tuple[tuple[int, ...], ...]
    # Where the entries of each box start, the features with entries, and the kernel once it was asked for.
    _starts: IntArray = field(init=False, compare=False)
    _used: IntArray = field(init=False, compare=False)
    _blocks: tuple[_Block, ...] | None = field(init=False, compare=False)

    def __init__(
        self,
        n_boxes: int,
        n_features: int,
        box: ArrayLike,
        feature: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        low_closed: ArrayLike = True,
        high_closed: ArrayLike = True,
        missing: ArrayLike = False,
        allowed: ArrayLike = -1,
        sets: tuple[tuple[int, ...], ...] = (),
    ):
        owner = _positions(box, "boxes", n_boxes)
        column = _positions(feature, "features", n_features)
        shape = owner.shape
        if column.shape != shape:
            raise InvalidValueError(f"{len(owner)} boxes of entries, but {len(column)} features")
        starts = float_array(low, "lower ends of boxes", shape=shape)
        ends = float_array(high, "upper ends of boxes", shape=shape)
        order = np.lexsort((column, owner))
        parts: dict[str, NDArray[Any]] = {
            "box": owner,
            "feature": column,
            "low": starts,
            "high": ends,
            # An infinite end stands for no condition and counts as closed.
            "low_closed": bool_array(low_closed, "low_closed", shape=shape) | np.isinf(starts),
            "high_closed": bool_array(high_closed, "high_closed", shape=shape) | np.isinf(ends),
            "missing": bool_array(missing, "missing", shape=shape),
            "allowed": np.broadcast_to(np.asarray(allowed, dtype=np.intp), shape),
        }
        sorted_parts = {name: part[order] for name, part in parts.items()}
        sets, sorted_parts["allowed"] = _canonical(sets, sorted_parts["allowed"])
        first = np.searchsorted(sorted_parts["box"], np.arange(n_boxes + 1))
        for part in (*sorted_parts.values(), first):
            part.setflags(write=False)
        self._set(n_boxes=n_boxes, n_features=n_features, sets=sets, **sorted_parts)
        is_used = np.zeros(n_features, dtype=np.bool_)
        is_used[column] = True
        self._set(_starts=first, _used=np.flatnonzero(is_used), _blocks=None)

    @classmethod
    def of(cls, boxes: Sequence[Box], n_features: int | None = None) -> Boxes:
        """Make one value of many boxes.

        Parameters
        ----------
        boxes : sequence of Box
            The boxes, all over the same features.
        n_features : int, optional
            Number of features; needed where there is no box.

        Returns
        -------
        Boxes
            The same boxes in the same order.
        """
        widths = {box.n_features for box in boxes}
        if n_features is not None:
            widths.add(n_features)
        if len(widths) != 1:
            raise InvalidValueError(
                f"boxes over one number of features are needed, not over {sorted(widths)}"
            )
        size = len(boxes), widths.pop()
        entries = [box.entries for box in boxes]
        owner = np.repeat(np.arange(len(boxes)), [len(e.features) for e in entries])
        feature = np.concatenate([np.empty(0, dtype=np.intp), *(e.features for e in entries)])
        low, high = np.concatenate([np.empty((2, 0)), *(e.bounds for e in entries)], axis=1)
        flags = np.concatenate([np.empty((2, 0), bool), *(e.closed for e in entries)], axis=1)
        bounds = cls(*size, owner, feature, low, high, flags[0], flags[1])
        more = [extra for b, box in enumerate(boxes) for extra in _other_entries(b, box)]
        if not more:
            return bounds
        owners, features, lows, highs, missing, codes = zip(*more, strict=True)
        has_set = np.array([c is not None for c in codes])
        others = cls(
            *size,
            owners,
            features,
            lows,
            highs,
            missing=missing,
            allowed=np.where(has_set, np.cumsum(has_set) - 1, -1),
            sets=tuple(c for c in codes if c is not None),
        )
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(bounds, name), getattr(others, name)])
            for name in _ENTRIES
        }
        return cls(*size, **joined, sets=others.sets)

    @classmethod
    def from_bounds(cls, lower: ArrayLike, upper: ArrayLike) -> Boxes:
        """Make closed boxes of two tables of bounds.

        Parameters
        ----------
        lower, upper : array-like of shape (r, n)
            Bounds of each box; ``-inf`` and ``inf`` where there is none.

        Returns
        -------
        Boxes
            One box a row. A box without a point is refused.
        """
        low = float_array(lower, "lower bounds of boxes")
        if low.ndim != 2:
            raise InvalidValueError(
                f"bounds of boxes must form a table (boxes, features), not of shape {low.shape}"
            )
        high = float_array(upper, "upper bounds of boxes", shape=low.shape)
        empty = (low > high) | (low == math.inf) | (high == -math.inf)
        if empty.any():
            b, j = (int(i) for i in np.argwhere(empty)[0])
            raise InvalidValueError(
                f"box {b} is empty in feature {j}: no number lies between "
                f"{low[b, j]} and {high[b, j]}; drop such boxes first"
            )
        box, feature = at = np.nonzero((low > -math.inf) | (high < math.inf))
        return cls(len(low), low.shape[1], box, feature, low[at], high[at])

    @classmethod
    def unbounded(cls, n_boxes: int, n_features: int) -> Boxes:
        """Make boxes without any condition."""
        none = np.empty(0, dtype=np.intp)
        return cls(n_boxes, n_features, none, none, np.empty(0), np.empty(0))

    @classmethod
    def concatenate(cls, parts: Sequence[Boxes]) -> Boxes:
        """Put all boxes of several values one after the other."""
        if not parts:
            raise InvalidValueError("nothing to concatenate: at least one Boxes is needed")
        widths = {part.n_features for part in parts}
        if len(widths) > 1:
            raise InvalidValueError(
                f"boxes over different numbers of features do not go together: {sorted(widths)}"
            )
        first = np.cumsum([0, *(len(part) for part in parts)]).tolist()
        first_set = np.cumsum([0, *(len(part.sets) for part in parts)]).tolist()
        entries: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in _ENTRIES
        }
        sizes = [len(part.box) for part in parts]
        entries["box"] += np.repeat(first[:-1], sizes)
        has_set = entries["allowed"] >= 0
        entries["allowed"] += np.where(has_set, np.repeat(first_set[:-1], sizes), 0)
        sets = tuple(codes for part in parts for codes in part.sets)
        return cls(first[-1], widths.pop(), **entries, sets=sets)

    def __len__(self) -> int:
        return self.n_boxes

    def __getitem__(self, index: int) -> Box:
        b = range(self.n_boxes)[index]
        at = np.arange(self._starts[b], self._starts[b + 1])
        has_set, missing = self.allowed[at] >= 0, self.missing[at]
        has_end = np.isfinite(self.low[at]) | np.isfinite(self.high[at])
        if (missing & (has_end | has_set | (self.low[at] < self.high[at]))).any():
            raise InvalidValueError(
                f"box {b} allows missing values beside others, which a single Box cannot say"
            )
        plain = at[has_end]
        bounds, closed = np.empty((2, len(plain))), np.empty((2, len(plain)), dtype=np.bool_)
        bounds[0], bounds[1] = self.low[plain], self.high[plain]
        closed[0], closed[1] = self.low_closed[plain], self.high_closed[plain]
        sets = {int(self.feature[e]): self.sets[self.allowed[e]] for e in at[has_set]}
        return Box._trusted(
            self.n_features,
            Entries(self.feature[plain], bounds, closed),
            None,
            CategorySets(sets) if sets else None,
            self.feature[at[missing]].tolist(),
            self.feature[at[~(has_end | has_set | missing)]].tolist(),
        )

    def __iter__(self) -> Iterator[Box]:
        return (self[b] for b in range(len(self)))

    def __repr__(self) -> str:
        return f"Boxes({len(self)} boxes, {self.n_features} features, {len(self.box)} conditions)"

    @property
    def lower(self) -> FloatArray:
        """Lower bounds of all boxes and features, ``-inf`` where there is none: a table of shape (r, n)."""
        return self._dense(self.low, -math.inf, np.maximum)

    @property
    def upper(self) -> FloatArray:
        """Upper bounds of all boxes and features, ``inf`` where there is none: a table of shape (r, n)."""
        return self._dense(self.high, math.inf, np.minimum)

    def _dense(self, ends: FloatArray, free: float, narrower: np.ufunc) -> FloatArray:
        table = np.full((self.n_boxes, self.n_features), free)
        narrower.at(table, (self.box, self.feature), ends)
        return table

    @property
    def n_conditions(self) -> IntArray:
        """The number of conditions of each box; a feature bounded on both sides counts twice."""
        ends = np.isfinite(self.low).astype(np.intp) + np.isfinite(self.high)
        return np.bincount(self.box, np.maximum(ends, 1), self.n_boxes).astype(np.intp)

    def take(self, index: ArrayLike) -> Boxes:
        """Give the boxes of an index: positions or a mask."""
        chosen = np.asarray(index)
        chosen = np.flatnonzero(chosen) if chosen.dtype.kind == "b" else chosen.astype(np.intp)
        chosen = np.arange(self.n_boxes)[chosen]
        sizes = np.diff(self._starts)[chosen]
        skipped = self._starts[chosen] - np.cumsum(sizes) + sizes
        at = np.arange(sizes.sum()) + np.repeat(skipped, sizes)
        entries: dict[str, Any] = {name: getattr(self, name)[at] for name in _ENTRIES}
        entries["box"] = np.repeat(np.arange(len(chosen)), sizes)
        return Boxes(len(chosen), self.n_features, **entries, sets=self.sets)

    # Which rows lie in which boxes

    def contains(self, X: ArrayLike) -> BoolArray:
        """Tell for each row of X and each box whether the row is in the box.

        Parameters
        ----------
        X : array-like of shape (m, n)
            The rows; a missing value is NaN.

        Returns
        -------
        ndarray of bool of shape (m, r)
            One column a box.
        """
        points = as_points(X, self.n_features)
        inside = np.empty((len(points), self.n_boxes), dtype=np.bool_)
        self._look_up(points, inside)
        return inside

    def masks(self, X: ArrayLike) -> BoolArray:
        """Give for each box the mask of the rows in it: `contains` with one row a box, (r, m)."""
        points = as_points(X, self.n_features)
        inside = np.empty((self.n_boxes, len(points)), dtype=np.bool_)
        self._look_up(points, inside.T)
        return inside

    def _look_up(self, points: FloatArray, inside: BoolArray) -> None:
        for rows, columns in self._chunks(points):
            for block in self._tables():
                inside[rows, block.boxes] = block.inside(columns).T

    def first(self, X: ArrayLike) -> IntArray:
        """Give for each row of X the first box that it is in, -1 where there is none."""
        points = as_points(X, self.n_features)
        first = np.full(len(points), -1, dtype=np.intp)
        for rows, columns in self._chunks(points):
            first[rows] = self._first_of(columns)
        return first

    def _first_of(self, columns: FloatArray) -> IntArray:
        """Return the first box of all blocks; rows that an earlier block has are not asked again."""
        first = np.full(columns.shape[1], -1, dtype=np.intp)
        left = np.arange(columns.shape[1])
        for block in self._tables():
            inside = block.inside(columns if len(left) == len(first) else columns[:, left])
            found = inside.any(axis=0)
            first[left[found]] = block.boxes.start + inside[:, found].argmax(axis=0)
            if not len(left := left[~found]):
                break
        return first

    def members(self, X: FloatArray, rows: IntArray | None = None) -> list[IntArray]:
        """Give for each box the rows in it.

        Parameters
        ----------
        X : ndarray of shape (m, n)
            The table.
        rows : ndarray of int, optional
            The rows to look at, in order; by default all.

        Returns
        -------
        list of ndarray of int
            Rows of X, in order.

        Examples
        --------
        >>> Boxes.from_bounds([[0.0]], [[1.0]]).members(np.array([[0.5], [2.0]]))
        [array([0])]
        """
        if not self.n_boxes:
            return []
        found, owners = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
        for part, columns in self._chunks(X, rows):
            for block in self._tables():
                boxes, lines = np.nonzero(block.inside(columns))
                places = part.start + lines
                found.append(places if rows is None else rows[places])
                owners.append(block.boxes.start + boxes)
        owner = np.concatenate(owners)
        # Stable: the rows of a box stay in order.
        in_order = np.concatenate(found)[np.argsort(owner, kind="stable")]
        ends = np.cumsum(np.bincount(owner, minlength=self.n_boxes))
        return np.split(in_order, ends[:-1])

    def _chunks(
        self, points: FloatArray, rows: IntArray | None = None
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Yield, chunk of rows by chunk, the columns that boxes have conditions on, each contiguous in memory."""
        n_used, n_rows = len(self._used), len(points if rows is None else rows)
        size = max(64, min(_ROWS, _MAX_COPIED // max(1, n_used)))
        for start in range(0, n_rows, size):
            part = slice(start, start + size)
            columns = (points[part] if rows is None else points.take(rows[part], axis=0)).T
            yield (
                part,
                np.ascontiguousarray(columns if n_used == points.shape[1] else columns[self._used]),
            )

    def _tables(self) -> tuple[_Block, ...]:
        if self._blocks is None:
            starts = range(0, self.n_boxes, _BLOCK)
            self._set(_blocks=tuple(_Block(self, s, self._used) for s in starts))
        assert self._blocks is not None
        return self._blocks


def _positions(values: ArrayLike, what: str, n: int) -> IntArray:
    positions = np.asarray(values)
    if positions.ndim != 1 or (len(positions) and positions.dtype.kind not in "iu"):
        raise InvalidValueError(f"{what} of entries are a row of positions, not {values!r}")
    if len(positions) and not (positions.min() >= 0 and positions.max() < n):
        raise InvalidValueError(
            f"{what} of entries are numbered from 0 to {n - 1}, "
            f"but there are {positions.min()} to {positions.max()}"
        )
    return positions.astype(np.intp)


def _canonical(
    sets: tuple[tuple[int, ...], ...], allowed: IntArray
) -> tuple[tuple[tuple[int, ...], ...], IntArray]:
    """Keep the sets that entries use, each once and in order, so that equal boxes have equal entries."""
    if not sets:
        return (), allowed
    used = tuple(sorted({sets[k] for k in np.unique(allowed[allowed >= 0])}))
    place = {codes: k for k, codes in enumerate(used)}
    moved = np.array([*(place.get(codes, -1) for codes in sets), -1], dtype=np.intp)
    return used, moved[allowed]


def _other_entries(
    b: int, box: Box
) -> Iterator[tuple[int, int, float, float, bool, tuple[int, ...] | None]]:
    """Yield the conditions of a box that are no intervals: sets, and values that must or must not be missing."""
    for j, codes in box.sets.allowed:
        yield b, j, -math.inf, math.inf, False, codes
    for j in box.missing:
        yield b, j, math.inf, -math.inf, True, None
    for j in box.known:
        yield b, j, -math.inf, math.inf, False, None


class _Block:
    """Some boxes one after the other; columns are counted among those that any box has a condition on."""

    def __init__(self, boxes: Boxes, start: int, used: IntArray):
        stop = min(start + _BLOCK, len(boxes))
        self.boxes = slice(start, stop)
        self.n_boxes = stop - start
        at = np.arange(boxes._starts[start], boxes._starts[stop])
        box, feature = boxes.box[at], boxes.feature[at]
        # Entries of one box on one feature go to different groups, so that each group has a box once.
        number = np.arange(len(at))
        is_new = np.ones(len(at), dtype=np.bool_)
        is_new[1:] = (box[1:] != box[:-1]) | (feature[1:] != feature[:-1])
        repeat = number - np.maximum.accumulate(np.where(is_new, number, 0))
        group = repeat * boxes.n_features + feature
        order = np.argsort(group, kind="stable")
        firsts = np.flatnonzero(np.diff(group[order], prepend=-1))
        at = at[order]
        bounds = np.stack([boxes.low[at], boxes.high[at]])
        ends = closed_ends(bounds, np.stack([boxes.low_closed[at], boxes.high_closed[at]]))
        columns = np.searchsorted(used, boxes.feature[at[firsts]])
        edges = [*firsts.tolist(), len(at)]
        self._conditions = [
            _Conditions(boxes, at[first:last], ends[:, first:last], start, column)
            for column, (first, last) in zip(columns.tolist(), pairwise(edges), strict=True)
        ]

    def inside(self, columns: FloatArray) -> BoolArray:
        """Tell for each box and row whether the row is in the box."""
        inside = np.ones((self.n_boxes, columns.shape[1]), dtype=np.bool_)
        for part in self._conditions:
            holds = part.holds(columns[part.column])
            if len(part.boxes) == self.n_boxes:
                inside &= holds
            else:
                inside[part.boxes] &= holds
        return inside


class _Conditions:
    """The entries of a block on one feature, at most one a box."""

    def __init__(self, boxes: Boxes, entries: IntArray, ends: FloatArray, start: int, column: int):
        self.column = column
        self.boxes = boxes.box[entries] - start
        self._low, self._high = ends
        self._missing = boxes.missing[entries]
        with_set = np.flatnonzero(boxes.allowed[entries] >= 0) if boxes.sets else ()
        self._sets = [
            (k, np.array(boxes.sets[boxes.allowed[entries[k]]], dtype=np.float64)) for k in with_set
        ]

    def holds(self, values: FloatArray) -> BoolArray:
        """Tell for each entry and value whether it holds."""
        inside: BoolArray = values >= self._low[:, None]
        inside &= values <= self._high[:, None]
        for k, codes in self._sets:
            inside[k] &= np.isin(values, codes)
        if self._missing.any():
            inside |= self._missing[:, None] & np.isnan(values)
        return inside


def _n_words(n_bits: int) -> int:
    return -(-n_bits // 64)


def pack_bits(table: BoolArray) -> Words:
    """Pack the columns of a boolean table into 64-bit words."""
    packed = np.packbits(table, axis=1, bitorder="little")
    padded = np.zeros((len(table), 8 * _n_words(table.shape[1])), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)
