"""Columns cut into bins: whatever a condition can say of a value is a range of bins.

A numeric column has a bin for each interval between its thresholds; a categorical one has a bin for each frequent
category and one for all others. The last bin of every column is for missing values. A condition (x <= t, x > t,
category = v, value missing) holds for a range of bins of one feature, so that sums over rows are differences of
running sums over bins, and arithmetic knows no sorts of conditions. Every search over a binned table stands on this.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Self

import numpy as np

from clearmargin.rules.box import Box
from clearmargin.rules.interval import Interval, round_up
from clearmargin.rules.space import FeatureSpace
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

# A float needs no more digits than this to be written exactly.
_DIGITS = 17


class Bins:
    """The bins of all columns of a table, and all single conditions over them.

    `cuts` holds the ascending thresholds of each numeric feature (a value equal to one lies below it), and the
    ascending codes of the categories with a bin of their own; `has_missing` tells for which features "is missing" is a
    condition. Condition c holds where the bin of feature `feature[c]` is from `first[c]` to `last[c]`. The conditions
    of a feature stand together: x <= t with t ascending, x > t, categories in their order, missing.
    """

    def __init__(self, space: FeatureSpace, cuts: Sequence[FloatArray], has_missing: BoolArray):
        self.space, self.cuts = space, [*cuts]
        rows: list[tuple[int, int, int]] = []
        for j, own in enumerate(self.cuts):
            k = len(own)
            if space.categories[j] is None:
                rows += [(j, 0, i) for i in range(k)] + [(j, i + 1, k) for i in range(k)]
            else:
                rows += [(j, i, i) for i in range(k)]
            rows += [(j, k + 1, k + 1)] if has_missing[j] else []
        self.width = max((len(own) for own in self.cuts), default=0) + 2
        self._set(np.array(rows, dtype=np.intp).reshape(-1, 3).T)

    @classmethod
    def of_table(cls, space: FeatureSpace, table: FloatArray, max_bins: int = 32) -> Self:
        """Cut the columns of a table of numbers and codes, NaN where missing, into at most so many bins each."""
        cuts, gaps = list[FloatArray](), np.isnan(table)
        for j, column in enumerate(table.T):
            known = column[~gaps[:, j]]
            if space.categories[j] is None:
                cuts.append(thresholds(known, max_bins - 1, integer=bool(space.integer[j])))
                continue
            codes, counts = np.unique(known[known >= 0], return_counts=True)
            is_constant = len(codes) and counts[0] == len(column)
            frequent = np.sort(np.argsort(-counts, kind="stable")[:max_bins])
            cuts.append(codes[frequent[: 0 if is_constant else None]])
        return cls(space, cuts, np.asarray(gaps.any(axis=0) & ~gaps.all(axis=0)))

    def _set(self, conditions: IntArray) -> None:
        self.feature, self.first, self.last = conditions
        self._used, self._place = np.unique(self.feature, return_inverse=True)

    def part(self, conditions: IntArray) -> Bins:
        """Give the same bins with some of the conditions."""
        part = copy(self)
        part._set(np.array([self.feature, self.first, self.last])[:, conditions])
        return part

    def __len__(self) -> int:
        return len(self.feature)

    def codes(self, table: FloatArray) -> IntArray:
        """Give the bin of each value, of shape (n, m)."""
        found: IntArray = np.empty((len(self.cuts), len(table)), dtype=np.int32)
        for j, (column, cuts) in enumerate(zip(table.T, self.cuts, strict=True)):
            found[j] = np.searchsorted(cuts, column)
            if self.space.categories[j] is not None:
                found[j, np.append(cuts, np.nan)[found[j]] != column] = len(cuts)
            found[j, np.isnan(column)] = len(cuts) + 1
        return found

    def mask(self, items: Iterable[int], codes: IntArray) -> BoolArray:
        """Tell for which rows all conditions of a rule hold, from the bins of the rows."""
        mask = np.ones(codes.shape[1], dtype=np.bool_)
        for c in items:
            row = codes[self.feature[c]]
            mask &= (row >= self.first[c]) & (row <= self.last[c])
        return mask

    def sums(self, codes: IntArray, values: FloatArray) -> FloatArray:
        """Add up values over the rows where each condition holds; whole numbers are added without rounding."""
        # As many features at a time as keep memory small.
        n, step = len(self._used), 1_000
        running = np.zeros((n, self.width + 1))
        for start in range(0, n, step):
            part = codes[self._used[start : start + step]]
            flat = (part + self.width * np.arange(len(part), dtype=np.int32)[:, None]).ravel()
            cells = np.bincount(flat, np.tile(values, len(part)), len(part) * self.width)
            running[start : start + step, 1:] = cells.reshape(-1, self.width).cumsum(axis=1)
        return np.asarray(running[self._place, self.last + 1] - running[self._place, self.first])

    def box(self, items: Iterable[int]) -> Box:
        """Give the region where all conditions of a rule hold, in the user's units."""
        ranges: dict[int, tuple[int, int]] = {}
        for c in items:
            j, first, last = int(self.feature[c]), int(self.first[c]), int(self.last[c])
            low, high = ranges.get(j, (first, last))
            ranges[j] = max(low, first), min(high, last)
        return self.box_of(ranges)

    def box_of(self, ranges: dict[int, tuple[int, int]]) -> Box:
        """Give the region where the bin of each of some features is from a first to a last one."""
        intervals: dict[int, Interval] = {}
        sets: dict[int, list[int]] = {}
        missing = []
        for j, (first, last) in ranges.items():
            cuts = self.cuts[j]
            if first == len(cuts) + 1:
                missing.append(j)
            elif self.space.categories[j] is not None:
                sets[j] = [int(code) for code in cuts[first : last + 1]]
            else:
                low = float(cuts[first - 1]) if first else -math.inf
                high = float(cuts[last]) if last < len(cuts) else math.inf
                intervals[j] = Interval(low, high, "right" if last < len(cuts) else "neither")
        return Box.from_intervals(intervals, len(self.space), sets, missing)


def thresholds(values: FloatArray, most: int, *, integer: bool = False) -> FloatArray:
    """Give thresholds near the middle between neighbouring values of a column, each with few digits."""
    middle = _whole_middle if integer else _short_middle
    return np.array([middle(*pair) for pair in _neighbours(values, most)], dtype=np.float64)


def candidate_cuts(values: FloatArray, most: int) -> FloatArray:
    """Give places between the values of a column at which a new cell begins, each with few digits."""
    return np.array([_short_cut(*pair) for pair in _neighbours(values, most)], dtype=np.float64)


def _neighbours(values: FloatArray, most: int) -> list[tuple[float, float]]:
    """Find the pairs of neighbouring values to cut between: all, or those nearest to equally spaced quantiles."""
    ordered = np.sort(values)
    known = np.concatenate([ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]]])
    places = np.arange(len(known) - 1)
    if len(places) > most:
        shares = np.linspace(0.0, 1.0, most + 2)[1:-1]
        quantiles = ordered[np.ceil(len(ordered) * shares - 1.0).astype(np.intp)]
        places = np.unique(np.searchsorted(known, quantiles))
        places = places[places < len(known) - 1]
    return list(zip(known[places].tolist(), known[places + 1].tolist(), strict=True))


def _short_cut(below: float, above: float) -> float:
    """Give a number of few digits in (below, above] near its middle; between whole numbers, a whole one."""
    if above.is_integer() and above - below == 1.0:
        return above
    middle = below / 2.0 + above / 2.0
    for digits in range(1, _DIGITS):
        cut = round_up(middle, digits)
        if below < cut <= above:
            return cut
    return above


def _short_middle(below: float, above: float) -> float:
    """Give a number of few digits in the middle half of [below, above)."""
    middle = below / 2.0 + above / 2.0
    reach = (above / 2.0 - below / 2.0) / 2.0
    for digits in range(1, _DIGITS):
        threshold = float(f"{middle:.{digits}g}")
        if below <= threshold < above and abs(threshold - middle) <= reach:
            return threshold
    return middle if below <= middle < above else below


def _whole_middle(below: float, above: float) -> float:
    return math.floor(below / 2.0 + above / 2.0)
