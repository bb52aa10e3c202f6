"""Columns on their way through a pipeline as affine functions around a centre, with what rounding does to them.

Column j is known as ::

    |computed z_j(x) - (matrix_j.(x - centre) + middle_j)| <= base_j + slope_j.|x - centre|

Every step maps all five parts; the bound takes in the roundings of the step itself and those of this description.
A column that is first of all centred by a scaler is described around the scaler's own mean, where its middle is zero
and nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from clearmargin.models.score_error import DOUBLE, ScoreError
from clearmargin.rules.sign import exact_score
from clearmargin.rules.value import FloatArray, IntArray

if TYPE_CHECKING:
    Rows: TypeAlias = "sparse.csr_array[np.float64, tuple[int, int]]"

__all__ = ["CentredMap"]


@dataclass(frozen=True, slots=True, eq=False)
class CentredMap:
    """Affine functions of the sources around a centre.

    Parameters
    ----------
    matrix, slope : sparse array of shape (n_out, n_in)
        What each column takes of each source, and how fast its error grows.
    centre : ndarray of shape (n_in,)
        Where the sources are.
    middle, base : ndarray of shape (n_out,)
        Values at the centre, and their errors.
    unit : float
        Half the distance between 1 and the next number, in the precision that the pipeline computes in.

    Examples
    --------
    >>> start = CentredMap.start([0], 1, DOUBLE)
    >>> scaled = start.standardised(np.array([1e12]), np.array([2.0]))
    >>> scaled.centre, scaled.middle, bool(scaled.base[0] < 1e-300)
    (array([1.e+12]), array([0.]), True)
    """

    matrix: Rows
    slope: Rows
    centre: FloatArray
    middle: FloatArray
    base: FloatArray
    unit: float

    @classmethod
    def start(cls, order: Sequence[int] | IntArray, n_in: int, unit: float) -> CentredMap:
        """Some of the sources as they are."""
        chosen = np.asarray(order, dtype=np.intp)
        ones, rows = np.ones(len(chosen)), np.arange(len(chosen))
        matrix = sparse.csr_array((ones, (rows, chosen)), shape=(len(chosen), n_in))
        return cls.combined(matrix, unit)

    @classmethod
    def combined(cls, matrix: Any, unit: float) -> CentredMap:
        """Exact sums of sources, such as a category by its number."""
        rows = sparse.csr_array(matrix, dtype=np.float64)
        n_out, n_in = rows.shape
        nothing = sparse.csr_array((n_out, n_in))
        return cls(rows, nothing, np.zeros(n_in), np.zeros(n_out), np.zeros(n_out), unit)

    @property
    def n_in(self) -> int:
        """Number of sources."""
        return int(self.matrix.shape[1])

    @property
    def _parameter_unit(self) -> float:
        """What the parameters of a step lose when a pipeline rounds them to its own precision."""
        return 0.0 if self.unit == DOUBLE else self.unit

    def take(self, indices: Sequence[int] | IntArray) -> CentredMap:
        """Some of the columns."""
        chosen = np.asarray(indices, dtype=np.intp)
        return replace(
            self,
            matrix=sparse.csr_array(self.matrix[chosen]),
            slope=sparse.csr_array(self.slope[chosen]),
            middle=self.middle[chosen],
            base=self.base[chosen],
        )

    def standardised(self, mean: FloatArray | None, scale: FloatArray | None) -> CentredMap:
        """Subtract a mean and divide by a scale, column by column, as scalers do: two roundings of the result."""
        start = self if mean is None else self._centred_at(mean)
        mean = np.zeros(len(start.middle)) if mean is None else mean
        scale = np.ones(len(start.middle)) if scale is None else scale
        inverse = sparse.diags_array(1.0 / np.abs(scale))
        matrix = sparse.csr_array(sparse.diags_array(1.0 / scale) @ start.matrix)
        middle = (start.middle - mean) / scale
        slope, base = inverse @ start.slope, start.base / np.abs(scale)
        # Two roundings by the pipeline, two of this description, and as many for the product with the inverse.
        lost = 2.0 * start.unit + start._parameter_unit + 4.0 * DOUBLE
        slope = slope + lost * (abs(matrix) + slope)
        base = base + lost * (np.abs(middle) + base) + start._parameter_unit * np.abs(mean / scale)
        return replace(
            start, matrix=matrix, slope=sparse.csr_array(slope), middle=middle, base=base
        )

    def scaled(self, factor: FloatArray, shift: FloatArray) -> CentredMap:
        """Multiply by a factor and add a shift, column by column: the product is rounded, and the sum.

        The product is as large as the offset of a column, however small the sum.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            zero = np.where(factor != 0, -shift / factor, 0.0)
        start = self._centred_at(zero)
        sizes = np.abs(factor)
        matrix = sparse.csr_array(sparse.diags_array(factor) @ start.matrix)
        pairs = zip(factor, start.middle, shift.tolist(), strict=True)
        middle = np.array([exact_score(np.array([f]), np.array([z]), s) for f, z, s in pairs])
        slope, base = sparse.diags_array(sizes) @ start.slope, sizes * start.base
        product = start.unit + start._parameter_unit
        lost = product + start.unit + 2.0 * DOUBLE
        slope = slope + lost * (abs(matrix) + slope)
        base = base + product * (sizes * np.abs(start.middle) + base)
        base = base + (start.unit + DOUBLE) * (np.abs(middle) + base)
        base = base + start._parameter_unit * np.abs(shift)
        return replace(
            start, matrix=matrix, slope=sparse.csr_array(slope), middle=middle, base=base
        )

    def _centred_at(self, mean: FloatArray) -> CentredMap:
        """Move the centre of sources that come through untouched to the mean that is subtracted from them."""
        centre = self.centre.copy()
        matrix = self.matrix
        for j in range(matrix.shape[0]):
            first, last = matrix.indptr[j], matrix.indptr[j + 1]
            if last - first == 1 and matrix.data[first] == 1.0 and not self.base[j]:
                i = int(matrix.indices[first])
                if not centre[i] and not self.middle[j]:
                    centre[i] = mean[j]
        return self.recentred(centre)

    def recentred(self, centre: FloatArray) -> CentredMap:
        """Describe the same columns around another centre."""
        moved = centre - self.centre
        if not moved.any():
            return self
        added = np.asarray(self.matrix @ moved)
        size = np.asarray(abs(self.matrix) @ (np.abs(centre) + np.abs(self.centre)))
        terms = np.diff(self.matrix.indptr) + 3.0
        # A source that is taken as it is has its new centre as its middle, without any rounding.
        exact = (np.diff(self.matrix.indptr) == 1) & (self.middle == 0) & (self.centre == 0).all()
        exact &= np.asarray(abs(self.matrix).max(axis=1).toarray()).ravel() == 1.0
        lost = np.where(exact, 0.0, terms * DOUBLE * (size + np.abs(self.middle)))
        base = self.base + np.asarray(self.slope @ np.abs(moved)) + lost
        return replace(self, centre=centre, middle=self.middle + added, base=base)

    def mapped(self, matrix: Any, shift: FloatArray, sizes: FloatArray | None = None) -> CentredMap:
        """Multiply by a matrix and add a shift, in any order of additions.

        Parameters
        ----------
        matrix : array or sparse array of shape (n_new, n_out)
            What is multiplied by.
        shift : ndarray of shape (n_new,)
            What is added.
        sizes : ndarray of shape (n_new,), optional
            The sizes of the terms that the shift is added up from, where it is a sum itself.

        Returns
        -------
        CentredMap
            The columns after the step.
        """
        A = sparse.csr_array(matrix, dtype=np.float64)
        absolute = abs(A)
        size = np.abs(shift) if sizes is None else sizes
        reach = np.asarray(absolute @ (np.abs(self.middle) + self.base)) + size
        # Each term is rounded when it is multiplied and with each addition, by the pipeline and by this description.
        terms = np.diff(A.indptr) + 3.0
        lost = terms * (self.unit + self._parameter_unit + DOUBLE)
        taken = absolute @ (abs(self.matrix) + self.slope)
        return replace(
            self,
            matrix=sparse.csr_array(A @ self.matrix),
            slope=sparse.csr_array(absolute @ self.slope + sparse.diags_array(lost) @ taken),
            middle=np.asarray(A @ self.middle) + shift,
            base=np.asarray(absolute @ self.base) + lost * reach,
        )

    def score(
        self, coef: FloatArray, intercept: float, sizes: FloatArray | None = None
    ) -> ScoreError:
        """The score coef.z + intercept.

        Parameters
        ----------
        coef : ndarray of shape (n_out,)
            Weights.
        intercept : float
            What is added.
        sizes : ndarray of shape (n_out,), optional
            Sums of the sizes of what the weights are added up from, where the model does not add up products with the
            weights themselves but with their parts, such as support vectors; times the number of roundings.

        Returns
        -------
        ScoreError
            Over the sources.
        """
        if sizes is None and self._is_untouched():
            weights = np.zeros(self.n_in)
            weights[self.matrix.indices] = coef
            rounding = (np.count_nonzero(coef) + 2) * (self.unit + self._parameter_unit)
            return ScoreError(
                weights,
                np.zeros(self.n_in),
                intercept,
                rounding * np.abs(weights),
                rounding * abs(intercept),
                self.unit == DOUBLE,
            )
        row = self.mapped(coef[None], np.array([intercept]))
        slope, base = row.slope.toarray()[0], float(row.base[0])
        if sizes is not None:
            parts = self.unit + DOUBLE
            slope = slope + parts * np.asarray((abs(self.matrix) + self.slope).T @ sizes)
            base += parts * float((sizes * (np.abs(self.middle) + self.base)).sum())
        return ScoreError(row.matrix.toarray()[0], self.centre, float(row.middle[0]), slope, base)

    def _is_untouched(self) -> bool:
        """Whether the columns are different sources as they are."""
        alone = np.diff(self.matrix.indptr) <= 1
        return bool(
            alone.all()
            and (self.matrix.data == 1.0).all()
            and len(np.unique(self.matrix.indices)) == len(self.matrix.indices) == len(alone)
            and not (self.centre.any() or self.middle.any() or self.base.any() or self.slope.nnz)
        )

    def padded(self, n_in: int) -> CentredMap:
        """The same over more sources, which are not used."""
        if n_in == self.n_in:
            return self
        wide = [
            sparse.csr_array((m.data, m.indices, m.indptr), shape=(m.shape[0], n_in))
            for m in (self.matrix, self.slope)
        ]
        centre = np.pad(self.centre, (0, n_in - self.n_in))
        return replace(self, matrix=wide[0], slope=wide[1], centre=centre)

    @classmethod
    def stack(cls, maps: Sequence[CentredMap], unit: float) -> CentredMap:
        """Put the columns of several maps side by side, around one centre."""
        if not maps:
            return cls.combined(np.empty((0, 0)), unit)
        width = max(m.n_in for m in maps)
        parts = [m.padded(width) for m in maps]
        centre = np.zeros(width)
        for part in parts:
            centre = np.where(centre == 0, part.centre, centre)
        parts = [part.recentred(centre) for part in parts]
        return cls(
            sparse.csr_array(sparse.vstack([part.matrix for part in parts])),
            sparse.csr_array(sparse.vstack([part.slope for part in parts])),
            centre,
            np.concatenate([part.middle for part in parts]),
            np.concatenate([part.base for part in parts]),
            unit,
        )
