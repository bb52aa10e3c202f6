"""Bins of a table in partitions: the cuts that the same rows have in memory, found by counting.

Quantiles are order statistics, and a cut lies between two neighbouring values: `tables/order_statistics.py` finds both
in a few passes. A column of few different numbers has no cuts; its values are its properties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from clearmargin.rankings.discretise import cuts_between, even_cuts
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.order_statistics import Around
from clearmargin.tables.part_survey import ColumnFacts
from clearmargin.tables.table_part import TablePart

__all__ = ["Cutting", "few_values", "known_numbers", "witnesses"]

# Values that tell most columns of more than few.
_FIRST = 1_000


def known_numbers(part: TablePart, name: str) -> FloatArray:
    """Give the numbers of a column of a partition that are not missing."""
    values = part.numbers([name])[:, 0]
    missing = np.isnan(values)
    return values[~missing] if missing.any() else values


def few_values(part: TablePart, names: Sequence[str], most: int) -> list[FloatArray | None]:
    """Give the different numbers of columns of a partition, None for one that has more than so many."""
    found: list[FloatArray | None] = []
    for name in names:
        values = known_numbers(part, name)
        some = np.unique(values[:_FIRST])
        every = some if len(some) > most else np.unique(values)
        found.append(None if len(every) > most else every)
    return found


class Cutting(NamedTuple):
    """How a column of numbers in partitions is cut.

    Parameters
    ----------
    name : str
        The column.
    method : {"quantile", "width"}
        Equally full or equally wide bins.
    n_bins : int
        How many, at most.
    n_known : int
        How many rows have a number.
    facts : ColumnFacts
        What is known of the column.
    """

    name: str
    method: str
    n_bins: int
    n_known: int
    facts: ColumnFacts

    @property
    def ranks(self) -> IntArray:
        """The places, in the order of the column, of the values beside which it is cut."""
        if self.method == "width":
            return np.zeros(0, dtype=np.intp)
        shares = np.arange(1, self.n_bins) * self.n_known
        return np.unique(-(-shares // self.n_bins) - 1)

    def points(self, values: FloatArray) -> FloatArray:
        """Return the points whose neighbours decide, given the values at the ranks."""
        if self.method == "width":
            return np.unique(even_cuts(self.facts.low, self.facts.high, self.n_bins))
        return np.unique(values)

    def cuts(self, points: FloatArray, around: Around) -> FloatArray:
        """Return the cuts, given what stands around the points."""
        integer = self.facts.is_whole
        if self.method == "width":
            # In the gap before the first value that is not below the point.
            high = np.where(around.at_most > around.below, points, around.after)
            high, first = np.unique(high, return_index=True)
            return cuts_between(around.before[first], high, points[first], integer=integer)
        gap = dict(sorted(self._gap(k, points, around) for k in range(1, self.n_bins)))
        return cuts_between(np.array(list(gap)), np.array(list(gap.values())), integer=integer)

    def _gap(self, k: int, points: FloatArray, around: Around) -> tuple[float, float]:
        """Return the two neighbouring values between which the k-th cut leaves the nearest share of rows below it."""
        share = k * self.n_known
        i = int(np.searchsorted(around.at_most * self.n_bins, share))
        value, before, after = (float(a[i]) for a in (points, around.before, around.after))
        is_first, is_last = np.isinf(before), np.isinf(after)
        near = (
            share - int(around.below[i]) * self.n_bins
            <= int(around.at_most[i]) * self.n_bins - share
        )
        return (before, value) if is_last or (near and not is_first) else (value, after)


def witnesses(
    part: TablePart, few: Sequence[str], edges: Mapping[str, FloatArray]
) -> tuple[TablePart, list[tuple[str, float]]]:
    """Take a row for each value of columns of few values and for each bin of the others, with what it shows."""
    places, shown = [], []
    for name in (*few, *edges):
        values = part.numbers([name])[:, 0]
        known = np.flatnonzero(~np.isnan(values))
        keys = values[known]
        if name in edges:
            keys = np.searchsorted(edges[name], keys, side="right").astype(np.float64)
        distinct, first = np.unique(keys, return_index=True)
        places += known[first].tolist()
        shown += [(name, float(key)) for key in distinct]
    return part.take(np.array(places, dtype=np.intp)), shown
