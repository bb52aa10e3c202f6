"""What the columns of a table have become after some steps of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clearmargin.models.affine import AffineMap
from clearmargin.models.centred import CentredMap
from clearmargin.models.score_error import DOUBLE, PipelinePlane
from clearmargin.rules.value import FloatArray, IntArray

__all__ = ["Flow", "Sources"]


class Sources:
    """The columns that all maps start from: the columns of the table, then a 0/1 column for each category met.

    Which columns name things is known only when a step encodes them; so categories are entered on the way.

    Parameters
    ----------
    names : sequence of str
        Names of the columns of the table.
    unit : float
        Half the distance between 1 and the next number, in the precision of the table.

    Examples
    --------
    >>> sources = Sources(["age", "colour"])
    >>> sources.indicator(1, "red"), sources.indicator(1, "blue"), sources.indicator(1, "red")
    (2, 3, 2)
    >>> sources.categories(1)
    ['red', 'blue']
    """

    def __init__(self, names: Sequence[str], unit: float = DOUBLE):
        self.names = tuple(names)
        self.unit = unit
        self._indicators: dict[int, dict[str, int]] = {}
        self._fill: dict[int, set[float | str | None]] = {}
        self._encoded_missing: set[int] = set()
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

    def note_fill(self, column: int, value: float | str | None) -> None:
        """Remember that a step puts this value in the place of missing ones of a column; None for no fixed value."""
        self._fill.setdefault(column, set()).add(value)

    def fill(self, column: int) -> float | str | None:
        """The value that missing ones of a column count as; None if there is none, or if steps disagree about it.

        An encoder that learned a category for missing values met some that no step before it replaced: an imputer looks
        for NaN, and a column of objects may hold None.
        """
        values = self._fill.get(column, set())
        is_fixed = len(values) == 1 and column not in self._encoded_missing
        return next(iter(values)) if is_fixed else None

    def note_encoded_missing(self, column: int) -> None:
        """Remember that a step gives the missing values of a column a 0/1 column of their own."""
        self._encoded_missing.add(column)

    def has_encoded_missing(self, column: int) -> bool:
        """Whether the model treats a missing value of a column as one more category, of which rules do not speak."""
        return column in self._encoded_missing

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
    centred : CentredMap
        The same map around a centre, with the errors of rounding.

    Examples
    --------
    >>> flow = Flow.start(Sources(["age", "bmi"]), [1, 0])
    >>> flow.take([0]).origin
    (1,)
    """

    affine: AffineMap
    origin: tuple[int | None, ...]
    sources: Sources
    centred: CentredMap

    @classmethod
    def start(cls, sources: Sources, order: Sequence[int]) -> Flow:
        """Columns of the table in the order in which the model knows them."""
        n = len(sources.names)
        centred = CentredMap.start(order, n, sources.unit)
        return cls(AffineMap.selection(order, n), tuple(order), sources, centred)

    @classmethod
    def join(cls, parts: Sequence[Flow], sources: Sources) -> Flow:
        """Put columns side by side."""
        return cls(
            AffineMap.stack([part.affine for part in parts]),
            tuple(origin for part in parts for origin in part.origin),
            sources,
            CentredMap.stack([part.centred for part in parts], sources.unit),
        )

    def take(self, indices: Sequence[int] | IntArray) -> Flow:
        """Some of the columns, as they are."""
        chosen = np.asarray(indices, dtype=np.intp)
        chosen_map = AffineMap.selection(chosen, self.affine.n_out).after(self.affine)
        origin = tuple(self.origin[j] for j in chosen)
        return Flow(chosen_map, origin, self.sources, self.centred.take(chosen))

    def source_of(self, k: int) -> tuple[int, float, float] | None:
        """The one source of a column with its factor and the number added; None if it has several or none."""
        matrix = self.affine.matrix
        first, last = matrix.indptr[k : k + 2].tolist()
        if last - first != 1:
            return None
        return int(matrix.indices[first]), float(matrix.data[first]), float(self.affine.shift[k])

    def through(self, step: AffineMap, centred: CentredMap | None = None) -> Flow:
        """Columns that a map makes of these; they are no copies any more.

        Parameters
        ----------
        step : AffineMap
            The map.
        centred : CentredMap, optional
            The columns after it with the errors of rounding, where it does something else than multiply and add.

        Returns
        -------
        Flow
            The columns after the map.
        """
        if centred is None:
            centred = self.centred.mapped(step.matrix, step.shift)
        return Flow(step.after(self.affine), (None,) * step.n_out, self.sources, centred)

    def plane(
        self, coef: FloatArray, intercept: float, sizes: FloatArray | None = None
    ) -> PipelinePlane:
        """Carry coef.z + intercept back to the sources, with the error of computing it.

        Parameters
        ----------
        coef : ndarray of shape (n,)
            The weights of the columns.
        intercept : float
            What is added.
        sizes : ndarray of shape (n,), optional
            As for `CentredMap.score`.

        Returns
        -------
        PipelinePlane
            Over the sources.
        """
        return PipelinePlane(self.centred.score(coef, intercept, sizes))
