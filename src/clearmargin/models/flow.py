"""What the columns of a table have become after some steps of a pipeline: affine maps, and what rounding does to them.

An `AffineMap` is what a step does to numbers. A `CentredMap` describes columns around a centre; column j is known as ::

    |computed z_j(x) - (matrix_j.(x - centre) + middle_j)| <= base_j + slope_j.|x - centre|

Every step maps all five parts; the bound takes in the roundings of the step itself and those of this description.
A column that is first of all centred by a scaler is described around the scaler's own mean, where its middle is zero
and nothing is rounded. A `Flow` is the columns with the features that they come from (`Sources`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from clearmargin.models.score_error import DOUBLE, PipelinePlane, ScoreError
from clearmargin.rules import Hyperplane
from clearmargin.rules.arithmetic import exact_score
from clearmargin.rules.value import FloatArray, IntArray

if TYPE_CHECKING:
    Rows: TypeAlias = "sparse.csr_array[np.float64, tuple[int, int]]"

__all__ = ["AffineMap", "CentredMap", "Flow", "Sources"]


@dataclass(frozen=True, slots=True, eq=False)
class AffineMap:
    """The map z = matrix x + shift of rows of numbers; scalings and selections stay sparse.

    Parameters
    ----------
    matrix : sparse array of shape (n_out, n_in)
        What each output takes of each input.
    shift : ndarray of shape (n_out,)
        What is added.
    terms : ndarray of shape (n_out,)
        The sum of the sizes of all terms that `shift` was added up from: it is known up to some roundings of these,
        however small it has become itself.

    Examples
    --------
    >>> scale = AffineMap.diagonal(np.array([2.0, 3.0]), np.array([0.0, -1.0]))
    >>> second = AffineMap.selection([1], 2).after(scale)
    >>> second.apply([[5.0, 1.0]])
    array([[2.]])
    >>> second.pull_back(np.array([10.0]), 0.5)
    Hyperplane([0.0, 30.0], -9.5)
    """

    matrix: Rows
    shift: FloatArray
    terms: FloatArray

    @classmethod
    def linear(
        cls, matrix: Any, shift: ArrayLike = 0.0, terms: ArrayLike | None = None
    ) -> AffineMap:
        """Make a map from any matrix, dense or sparse."""
        rows = sparse.csr_array(matrix, dtype=np.float64)
        added = np.broadcast_to(np.asarray(shift, dtype=np.float64), (rows.shape[0],))
        return cls(rows, added, np.abs(added) if terms is None else np.asarray(terms))

    @classmethod
    def diagonal(cls, scale: ArrayLike, shift: ArrayLike = 0.0) -> AffineMap:
        """Make z = scale * x + shift, column by column."""
        return cls.linear(sparse.diags_array(np.asarray(scale, dtype=np.float64)), shift)

    @classmethod
    def selection(cls, indices: Sequence[int] | IntArray, n_in: int) -> AffineMap:
        """Take some columns, in this order; a column may be taken twice."""
        chosen = np.asarray(indices, dtype=np.intp)
        ones, rows = np.ones(len(chosen)), np.arange(len(chosen))
        return cls.linear(sparse.coo_array((ones, (rows, chosen)), shape=(len(chosen), n_in)))

    @classmethod
    def stack(cls, maps: Sequence[AffineMap]) -> AffineMap:
        """Put the outputs of several maps side by side; a map that has fewer inputs ignores the later ones."""
        if not maps:
            return cls.linear(np.empty((0, 0)))
        width = max(m.n_in for m in maps)
        padded = [
            sparse.csr_array(
                (m.matrix.data, m.matrix.indices, m.matrix.indptr), shape=(m.n_out, width)
            )
            for m in maps
        ]
        shift, terms = (
            np.concatenate([getattr(m, part) for m in maps]) for part in ("shift", "terms")
        )
        return cls.linear(sparse.vstack(padded), shift, terms)

    @property
    def n_in(self) -> int:
        """Number of inputs."""
        return int(self.matrix.shape[1])

    @property
    def n_out(self) -> int:
        """Number of outputs."""
        return int(self.matrix.shape[0])

    def after(self, first: AffineMap) -> AffineMap:
        """Give the map that does `first`, and then this one."""
        return AffineMap.linear(
            self.matrix @ first.matrix,
            self.matrix @ first.shift + self.shift,
            abs(self.matrix) @ first.terms + self.terms,
        )

    def apply(self, X: ArrayLike) -> FloatArray:
        """Map each row of X."""
        points = np.asarray(X, dtype=np.float64)
        return np.asarray((self.matrix @ points.T).T + self.shift)

    def pull_back(self, coef: FloatArray, intercept: float) -> Hyperplane:
        """Carry coef.z + intercept back to the inputs: the plane g with g(x) = coef.(matrix x + shift) + intercept."""
        return Hyperplane(np.asarray(self.matrix.T @ coef), intercept + float(coef @ self.shift))


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
        """Take some of the sources as they are."""
        chosen = np.asarray(order, dtype=np.intp)
        ones, rows = np.ones(len(chosen)), np.arange(len(chosen))
        matrix = sparse.csr_array((ones, (rows, chosen)), shape=(len(chosen), n_in))
        return cls.combined(matrix, unit)

    @classmethod
    def combined(cls, matrix: Any, unit: float) -> CentredMap:
        """Make exact sums of sources, such as a category by its number."""
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
        """Take some of the columns."""
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
        """Return the score coef.z + intercept.

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
        """Check whether the columns are different sources as they are."""
        alone = np.diff(self.matrix.indptr) <= 1
        return bool(
            alone.all()
            and (self.matrix.data == 1.0).all()
            and len(np.unique(self.matrix.indices)) == len(self.matrix.indices) == len(alone)
            and not (self.centre.any() or self.middle.any() or self.base.any() or self.slope.nnz)
        )

    def padded(self, n_in: int) -> CentredMap:
        """Return the same over more sources, which are not used."""
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
        """Give the value that missing ones of a column count as; None if there is none, or if steps disagree about it.

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
        """Check whether the model treats a missing value of a column as a category, of which rules do not speak."""
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
        """Take the columns of the table in the order in which the model knows them."""
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
        """Take some of the columns, as they are."""
        chosen = np.asarray(indices, dtype=np.intp)
        chosen_map = AffineMap.selection(chosen, self.affine.n_out).after(self.affine)
        origin = tuple(self.origin[j] for j in chosen)
        return Flow(chosen_map, origin, self.sources, self.centred.take(chosen))

    def source_of(self, k: int) -> tuple[int, float, float] | None:
        """Return the one source of a column with its factor and the number added; None if it has several or none."""
        matrix = self.affine.matrix
        first, last = matrix.indptr[k : k + 2].tolist()
        if last - first != 1:
            return None
        return int(matrix.indices[first]), float(matrix.data[first]), float(self.affine.shift[k])

    def through(self, step: AffineMap, centred: CentredMap | None = None) -> Flow:
        """Make the columns that a map makes of these; they are no copies any more.

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
