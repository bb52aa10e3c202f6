"""Affine maps between tables of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from clearmargin.rules import Hyperplane
from clearmargin.rules.value import FloatArray, IntArray

if TYPE_CHECKING:
    Rows: TypeAlias = "sparse.csr_array[np.float64, tuple[int, int]]"

__all__ = ["AffineMap"]


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
