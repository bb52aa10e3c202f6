"""What the columns of a table have become after some steps of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clearmargin.core.value import IntArray
from clearmargin.extract.affine import AffineMap

__all__ = ["Flow", "Sources"]


class Sources:
    """The columns that all maps start from: the columns of the table, then a 0/1 column for each category met.

    Which columns name things is known only when a step encodes them; so categories are entered on the way.

    Parameters
    ----------
    names : sequence of str
        Names of the columns of the table.

    Examples
    --------
    >>> sources = Sources(["age", "colour"])
    >>> sources.indicator(1, "red"), sources.indicator(1, "blue"), sources.indicator(1, "red")
    (2, 3, 2)
    >>> sources.categories(1)
    ['red', 'blue']
    """

    def __init__(self, names: Sequence[str]):
        self.names = tuple(names)
        self._indicators: dict[int, dict[str, int]] = {}
        self._size = len(self.names)

    def indicator(self, column: int, category: str) -> int:
        """Position of the 0/1 column that says whether `column` holds this category."""
        known = self._indicators.setdefault(column, {})
        if category not in known:
            known[category] = self._size
            self._size += 1
        return known[category]

    def categories(self, column: int) -> list[str]:
        """Categories of a column of the table in the order in which they were met; none for numbers."""
        return list(self._indicators.get(column, ()))

    def __len__(self) -> int:
        return self._size


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """Columns on their way through a pipeline, as affine functions of the sources.

    Parameters
    ----------
    affine : AffineMap
        From the sources to the columns.
    origin : tuple of int or None
        For each column, the column of the table of which it is an untouched copy; only those can be encoded.
    sources : Sources
        Where the map starts.

    Examples
    --------
    >>> flow = Flow.start(Sources(["age", "bmi"]), [1, 0])
    >>> flow.take([0]).origin
    (1,)
    """

    affine: AffineMap
    origin: tuple[int | None, ...]
    sources: Sources

    @classmethod
    def start(cls, sources: Sources, order: Sequence[int]) -> Flow:
        """Columns of the table in the order in which the model knows them."""
        return cls(AffineMap.selection(order, len(sources.names)), tuple(order), sources)

    @classmethod
    def join(cls, parts: Sequence[Flow], sources: Sources) -> Flow:
        """Put columns side by side."""
        return cls(
            AffineMap.stack([part.affine for part in parts]),
            tuple(origin for part in parts for origin in part.origin),
            sources,
        )

    def take(self, indices: Sequence[int] | IntArray) -> Flow:
        """Some of the columns, as they are."""
        chosen = np.asarray(indices, dtype=np.intp)
        chosen_map = AffineMap.selection(chosen, self.affine.n_out).after(self.affine)
        return Flow(chosen_map, tuple(self.origin[j] for j in chosen), self.sources)

    def through(self, step: AffineMap) -> Flow:
        """Columns that a map makes of these; they are no copies any more."""
        return Flow(step.after(self.affine), (None,) * step.n_out, self.sources)
