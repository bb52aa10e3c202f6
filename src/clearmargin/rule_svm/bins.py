"""Columns cut into bins: whatever a condition can say of a value is a range of bins.

A numeric column has a bin for each interval between its thresholds; a categorical one has a bin for each frequent
category and one for all others. The last bin of every column is for missing values. A condition (x <= t, x > t,
category = v, value missing) holds for a range of bins of one feature, so that sums over rows are differences of
running sums over bins. The conditions of a feature stand together: first x <= t with t ascending, then x > t, then
categories in their order, then "missing". This order decides between rules that hold for the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.rule_base.cuts import middle_thresholds
from clearmargin.rules.box import Box
from clearmargin.rules.interval import Interval
from clearmargin.rules.rule import Rule, as_label
from clearmargin.rules.space import FeatureSpace
from clearmargin.rules.value import BoolArray, FloatArray, IntArray


class Bins:
    """The bins of all columns of a table, and all conditions over them.

    Condition c holds where the bin of `feature[c]` is from `first[c]` to `last[c]`; `cuts` holds the thresholds of each
    numeric feature, and the codes of the frequent categories of each categorical one.
    """

    def __init__(self, space: FeatureSpace, table: FloatArray, max_bins: int = 32):
        self.space, self.cuts = space, list[FloatArray]()
        rows: list[tuple[int, int, int]] = []
        for j, column in enumerate(table.T):
            gaps = np.isnan(column)
            known = column[~gaps]
            if space.categories[j] is None:
                cuts = middle_thresholds(known, max_bins - 1, integer=bool(space.integer[j]))
                k = len(cuts)
                rows += [(j, 0, i) for i in range(k)] + [(j, i + 1, k) for i in range(k)]
            else:
                codes, counts = np.unique(known[known >= 0], return_counts=True)
                is_constant = len(codes) and counts[0] == len(column)
                most = np.sort(np.argsort(-counts, kind="stable")[:max_bins])
                cuts = codes[most[: 0 if is_constant else None]]
                k = len(cuts)
                rows += [(j, i, i) for i in range(k)]
            if gaps.any() and not gaps.all():
                rows.append((j, k + 1, k + 1))
            self.cuts.append(cuts)
        self.width = max((len(cuts) for cuts in self.cuts), default=0) + 2
        self._set(np.array(rows, dtype=np.intp).reshape(-1, 3).T)

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

    def rule(self, items: Iterable[int], classes: NDArray[Any]) -> Rule:
        """Give a rule in the user's units; its class is yet to be said."""
        box, n = Box.unbounded(len(self.space)), len(self.space)
        for c in items:
            j, cuts = int(self.feature[c]), self.cuts[int(self.feature[c])]
            first, last = int(self.first[c]), int(self.last[c])
            if first == len(cuts) + 1:
                own = Box.from_intervals({}, n, missing=[j])
            elif self.space.categories[j] is not None:
                own = Box.from_intervals({}, n, sets={j: [int(cuts[first])]})
            elif first:
                own = Box.from_intervals(
                    {j: Interval(float(cuts[first - 1]), np.inf, "neither")}, n
                )
            else:
                own = Box.from_intervals({j: Interval(-np.inf, float(cuts[last]), "both")}, n)
            box = box.intersect(own)
        return Rule(box, as_label(classes.tolist()[0]), origin="extracted")

    def signs(self, monotone: IntArray | None) -> IntArray:
        """Give the sign that the weight of a rule with each condition must have; 0 for any."""
        if monotone is None:
            return np.zeros(len(self), dtype=np.intp)
        is_number = np.array([known is None for known in self.space.categories])[self.feature]
        ends = np.array([len(cuts) for cuts in self.cuts], dtype=np.intp)[self.feature]
        side = np.where(self.first == 0, -1, np.where(self.last == ends, 1, 0))
        return np.where(is_number, side * monotone[self.feature], 0)
