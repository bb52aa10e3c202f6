"""What the columns of a table have become after some steps of a pipeline: affine functions of what it holds.

A `Flow` holds z = matrix x + shift, and the same sum with absolute values everywhere, before anything cancels.
Whoever computes z step by step in floating point, in any order of additions, errs by at most ::

    roundings * unit * (size |x| + terms),

since every step rounds each of its terms when it is multiplied and with each addition, the pipeline as well as this
description. The x are the columns of the table, and a 0/1 column for each category (`Sources`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from clearmargin.models.margin import DOUBLE, Margin
from clearmargin.rules.value import FloatArray, IntArray

if TYPE_CHECKING:
    Rows: TypeAlias = "sparse.csr_array[np.float64, tuple[int, int]]"


class Sources:
    """The columns that all maps start from: the columns of the table, then a 0/1 column for each category met."""

    def __init__(self, names: Sequence[str], unit: float = DOUBLE):
        self.names = tuple(names)
        self.unit = unit
        self._indicators: dict[int, dict[str, int]] = {}
        self._fill: dict[int, set[float | str | None]] = {}
        self._encoded_missing: set[int] = set()
        self._size = len(self.names)

    def indicator(self, column: int, category: str) -> int:
        """Find the position of the 0/1 column that says whether `column` holds this category."""
        known = self._indicators.setdefault(column, {})
        if category not in known:
            known[category] = self._size
            self._size += 1
        return known[category]

    def categories(self, column: int) -> list[str]:
        """Give the categories of a column of the table in the order in which they were met; none for numbers."""
        return list(self._indicators.get(column, ()))

    def note_fill(self, column: int, value: float | str | None) -> None:
        """Remember that a step puts this value in the place of missing ones of a column; None for no fixed value."""
        self._fill.setdefault(column, set()).add(value)

    def fill(self, column: int) -> float | str | None:
        """Give the value that missing ones of a column count as; None if steps disagree about it."""
        values = self._fill.get(column, set())
        is_fixed = len(values) == 1 and column not in self._encoded_missing
        return next(iter(values)) if is_fixed else None

    def note_encoded_missing(self, column: int) -> None:
        """Remember that a step gives the missing values of a column a 0/1 column of their own."""
        self._encoded_missing.add(column)

    def has_encoded_missing(self, column: int) -> bool:
        """Check whether the model treats a missing value of a column as a category, of which rules do not speak."""
        return column in self._encoded_missing

    def __len__(self) -> int:
        return self._size


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """Columns z = matrix x + shift of the sources x on their way through a pipeline, and what bounds their rounding.

    `origin` has the column of the table that a column still is, unchanged; None for the others.
    """

    sources: Sources
    matrix: Rows
    shift: FloatArray
    size: Rows
    terms: FloatArray
    origin: tuple[int | None, ...]
    roundings: int = 0

    @classmethod
    def start(cls, sources: Sources, order: Sequence[int]) -> Flow:
        """Take the columns of the table in the order in which the model knows them."""
        columns = cls.combined(sources, sparse.eye_array(len(sources.names)))
        return replace(columns, origin=tuple(range(len(sources.names)))).take(order)

    @classmethod
    def combined(cls, sources: Sources, matrix: Any) -> Flow:
        """Make exact sums of sources, such as a category by its number."""
        rows = sparse.csr_array(matrix, dtype=np.float64)
        n = rows.shape[0]
        return cls(sources, rows, np.zeros(n), abs(rows), np.zeros(n), (None,) * n)

    @property
    def n_out(self) -> int:
        """Number of columns."""
        return len(self.origin)

    def mapped(self, matrix: Any, shift: ArrayLike = 0.0, terms: FloatArray | None = None) -> Flow:
        """Multiply by a matrix and add a shift, whose own terms may be larger."""
        A = sparse.csr_array(matrix, dtype=np.float64)
        added = np.broadcast_to(np.asarray(shift, dtype=np.float64), (A.shape[0],))
        width = int(np.diff(A.indptr).max(initial=1))
        return Flow(
            self.sources,
            sparse.csr_array(A @ self.matrix),
            A @ self.shift + added,
            sparse.csr_array(abs(A) @ self.size),
            abs(A) @ self.terms + (np.abs(added) if terms is None else terms),
            (None,) * A.shape[0],
            self.roundings + 2 * (width + 3),
        )

    def scaled(self, factor: ArrayLike, shift: ArrayLike = 0.0) -> Flow:
        """Multiply by a factor and add a shift, column by column."""
        return self.mapped(sparse.diags_array(np.asarray(factor, dtype=np.float64)), shift)

    def take(self, indices: Sequence[int] | IntArray) -> Flow:
        """Take some of the columns as they are, in this order; a column may be taken twice."""
        chosen = np.asarray(indices, dtype=np.intp)
        return Flow(
            self.sources,
            sparse.csr_array(self.matrix[chosen]),
            self.shift[chosen],
            sparse.csr_array(self.size[chosen]),
            self.terms[chosen],
            tuple(self.origin[j] for j in chosen),
            self.roundings,
        )

    @classmethod
    def join(cls, parts: Sequence[Flow], sources: Sources) -> Flow:
        """Put columns side by side; a part that knows fewer sources ignores the later ones."""
        if not parts:
            return cls.combined(sources, np.empty((0, 0)))
        width = max(int(part.matrix.shape[1]) for part in parts)

        def stacked(rows: Sequence[Rows]) -> Rows:
            wide = [
                sparse.csr_array((m.data, m.indices, m.indptr), shape=(m.shape[0], width))
                for m in rows
            ]
            return sparse.csr_array(sparse.vstack(wide))

        return cls(
            sources,
            stacked([part.matrix for part in parts]),
            np.concatenate([part.shift for part in parts]),
            stacked([part.size for part in parts]),
            np.concatenate([part.terms for part in parts]),
            tuple(origin for part in parts for origin in part.origin),
            max(part.roundings for part in parts),
        )

    def source_of(self, k: int) -> tuple[int, float, float] | None:
        """Return the one source of a column with its factor and the number added; None if it has several or none."""
        first, last = self.matrix.indptr[k : k + 2].tolist()
        if last - first != 1:
            return None
        return int(self.matrix.indices[first]), float(self.matrix.data[first]), float(self.shift[k])

    def score(self, coef: FloatArray, intercept: float, sizes: FloatArray | None = None) -> Margin:
        """Return the score coef.z + intercept; `sizes` bound what it rounds where it adds up more than coef."""
        unit, row = self.sources.unit, self.mapped(coef[None], intercept)
        weights, constant = row.matrix.toarray()[0], float(row.shift[0])
        is_untouched = (
            not self.roundings
            and (np.diff(self.matrix.indptr) <= 1).all()
            and (self.matrix.data == 1.0).all()
            and len(np.unique(self.matrix.indices)) == len(self.matrix.indices) == self.n_out
        )
        if sizes is None and is_untouched:
            # What the parameters lose when a pipeline rounds them to its own precision counts as well.
            lost = (np.count_nonzero(coef) + 2) * (unit if unit == DOUBLE else 2.0 * unit)
            slope, base = lost * np.abs(weights), float(lost * abs(constant))
            return Margin(weights, constant, slope, base, is_direct=unit == DOUBLE)
        slope = row.roundings * unit * row.size.toarray()[0]
        base = row.roundings * unit * float(row.terms[0])
        if sizes is not None:
            slope = slope + (unit + DOUBLE) * np.asarray(self.size.T @ sizes)
            base += (unit + DOUBLE) * float(sizes @ self.terms)
        return Margin(weights, constant, slope, base)
