"""Order statistics of columns in partitions, exactly: by counting between cuts, in a few passes.

A pass counts the values between some hundred cuts and keeps the interval that the asked rank lies in; once few values
are left they are brought here and sorted. The first cuts are guesses, such as the values of a sample, and make the
interval small at once. Further ones divide the floats of the interval evenly, so that whatever the values are there are
at most eight more passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.partitions import Partitions

__all__ = ["Around", "Values", "find_around", "order_statistics"]

# The finite values of some columns of a partition.
Values = Callable[..., Sequence[FloatArray]]

# Cuts of a pass, and values that are brought here of all intervals together.
_CUTS = 256
_FEW = 50_000
_SIGN = 0x7FFFFFFFFFFFFFFF


class _Interval(NamedTuple):
    """Floats from `low` to `high`, both included, of a column; so many of its values are smaller, so many inside."""

    column: int
    low: float
    high: float
    below: int
    inside: int


def order_statistics(
    parts: Partitions[Any],
    values: Values,
    arguments: tuple[Any, ...],
    ranks: Sequence[IntArray],
    guesses: Sequence[FloatArray],
) -> list[FloatArray]:
    """Find values by their places in the order of a column.

    Parameters
    ----------
    parts : Partitions
        The rows.
    values : callable
        ``values(part, *arguments)`` gives the finite values of each column in a partition, in any order.
    arguments : tuple
        Of `values`.
    ranks : sequence of ndarray of int
        For each column the places that are asked for, counted from 0 at the smallest value.
    guesses : sequence of ndarray
        For each column some values that divide it well; none is needed.

    Returns
    -------
    list of ndarray
        For each column the values at these places.

    Examples
    --------
    >>> from clearmargin.tables.partitions import ArrayBlocks
    >>> parts = ArrayBlocks(np.array([[5.0], [1.0], [4.0], [1.0]]), np.ones(4), block_rows=2)
    >>> order_statistics(parts, lambda block: [block.X[:, 0]], (), [np.array([0, 2])], [np.zeros(0)])
    [array([1., 4.])]
    """
    found: dict[tuple[int, int], float] = {}
    wanted = {(j, int(r)) for j, each in enumerate(ranks) for r in each}
    whole = _Interval(-1, -np.inf, np.inf, 0, np.iinfo(np.int64).max)
    places = {key: whole._replace(column=key[0]) for key in wanted}
    cuts = {j: _first_cuts(each) for j, each in enumerate(guesses)}
    while len(found) < len(wanted):
        intervals = sorted({places[key] for key in wanted - found.keys()})
        if sum(each.inside for each in intervals) <= _FEW:
            _take_values(parts, values, arguments, intervals, places, found)
            break
        asked = [(each, cuts.get(each.column, _even_cuts(each))) for each in intervals]
        cuts = {}
        counts = np.sum(parts.map(_count_cells, common=(values, arguments, asked)), axis=0)
        for key in wanted - found.keys():
            places[key] = _narrowed(places[key], key[1], asked, intervals, counts)
            if places[key].low == places[key].high:
                found[key] = places[key].low
    return [np.array([found[j, int(r)] for r in each]) for j, each in enumerate(ranks)]


def _first_cuts(guesses: FloatArray) -> FloatArray:
    known = np.unique(guesses[np.isfinite(guesses)])
    if len(known) < 2:
        return np.linspace(-1.0, 1.0, 3)
    return np.unique(known[np.linspace(0, len(known) - 1, _CUTS).astype(np.intp)])


def _even_cuts(interval: _Interval) -> FloatArray:
    """Divide the floats of an interval evenly."""
    low, high = _to_int(interval.low), _to_int(interval.high)
    step = max(1, (high - low) // _CUTS)
    return np.array([_to_float(k) for k in range(low + step, high + 1, step)][: 2 * _CUTS])


def _to_int(x: float) -> int:
    """Number the floats in their order."""
    word = int(np.float64(x).view(np.int64))
    return word if word >= 0 else word ^ _SIGN


def _to_float(k: int) -> float:
    return float(np.int64(k if k >= 0 else k ^ _SIGN).view(np.float64))


def _count_cells(
    part: Any,
    values: Values,
    arguments: tuple[Any, ...],
    asked: Sequence[tuple[_Interval, FloatArray]],
) -> IntArray:
    """Count the values in each cell between the cuts of each interval, one interval after the other."""
    columns = values(part, *arguments)
    counts = []
    for (j, low, high, _, _), cuts in asked:
        inside = columns[j][(columns[j] >= low) & (columns[j] <= high)]
        cells = np.searchsorted(cuts, inside, side="right")
        counts.append(np.bincount(cells, minlength=len(cuts) + 1))
    return np.concatenate(counts)


def _narrowed(
    interval: _Interval,
    rank: int,
    asked: Sequence[tuple[_Interval, FloatArray]],
    intervals: Sequence[_Interval],
    counts: IntArray,
) -> _Interval:
    """Return the cell of an interval that a rank is in."""
    k = intervals.index(interval)
    start = sum(len(cuts) + 1 for _, cuts in asked[:k])
    cuts = asked[k][1]
    mine = counts[start : start + len(cuts) + 1]
    ends = interval.below + np.cumsum(mine)
    cell = int(np.searchsorted(ends, rank, side="right"))
    low = interval.low if cell == 0 else float(cuts[cell - 1])
    high = interval.high if cell == len(cuts) else float(np.nextafter(cuts[cell], -np.inf))
    below = interval.below if cell == 0 else int(ends[cell - 1])
    return _Interval(interval.column, low, high, below, int(mine[cell]))


def _take_values(
    parts: Partitions[Any],
    values: Values,
    arguments: tuple[Any, ...],
    intervals: Sequence[_Interval],
    places: dict[tuple[int, int], _Interval],
    found: dict[tuple[int, int], float],
) -> None:
    """Bring the values of the intervals here, and find the ranks among them."""
    taken = parts.map(_values_inside, common=(values, arguments, tuple(intervals)))
    ordered = {
        interval: np.sort(np.concatenate(each))
        for interval, each in zip(intervals, zip(*taken, strict=True), strict=True)
    }
    for key, interval in places.items():
        if key not in found:
            found[key] = float(ordered[interval][key[1] - interval.below])


def _values_inside(
    part: Any, values: Values, arguments: tuple[Any, ...], intervals: Sequence[_Interval]
) -> list[FloatArray]:
    columns = values(part, *arguments)
    return [
        columns[j][(columns[j] >= low) & (columns[j] <= high)] for j, low, high, _, _ in intervals
    ]


class Around(NamedTuple):
    """What stands around some values of a column.

    Parameters
    ----------
    below, at_most : ndarray of int
        How many values are smaller, and how many are not larger.
    before, after : ndarray
        The largest of the smaller values and the smallest of the larger ones; infinite where there is none.
    """

    below: IntArray
    at_most: IntArray
    before: FloatArray
    after: FloatArray


def find_around(
    parts: Partitions[Any],
    values: Values,
    arguments: tuple[Any, ...],
    points: Sequence[FloatArray],
) -> list[Around]:
    """Count the values around points, and find the nearest ones, in one pass.

    Parameters
    ----------
    parts, values, arguments
        As for `order_statistics`.
    points : sequence of ndarray
        Points of each column.

    Returns
    -------
    list of Around
        For each column what stands around its points.

    Examples
    --------
    >>> from clearmargin.tables.partitions import ArrayBlocks
    >>> parts = ArrayBlocks(np.array([[5.0], [1.0], [4.0], [1.0]]), np.ones(4), block_rows=2)
    >>> find_around(parts, lambda block: [block.X[:, 0]], (), [np.array([4.0])])
    [Around(below=array([2]), at_most=array([3]), before=array([1.]), after=array([5.]))]
    """
    found = parts.map(_around, common=(values, arguments, tuple(points)))
    return [
        Around(
            np.sum([each.below for each in column], axis=0),
            np.sum([each.at_most for each in column], axis=0),
            np.max([each.before for each in column], axis=0),
            np.min([each.after for each in column], axis=0),
        )
        for column in zip(*found, strict=True)
    ]


def _around(
    part: Any, values: Values, arguments: tuple[Any, ...], points: Sequence[FloatArray]
) -> list[Around]:
    answers = []
    for column, asked in zip(values(part, *arguments), points, strict=True):
        ordered = np.sort(column) if len(asked) else column[:0]
        ends = np.concatenate([[-np.inf], ordered, [np.inf]])
        below = np.searchsorted(ordered, asked, side="left")
        at_most = np.searchsorted(ordered, asked, side="right")
        answers.append(Around(below, at_most, ends[below], ends[at_most + 1]))
    return answers
