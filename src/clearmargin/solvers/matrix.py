"""A read-only matrix, dense or sparse, whose numbers were checked once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from scipy import sparse

from clearmargin.exceptions import InvalidValueError
from clearmargin.solvers.large_value import FloatArray, read_numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    MatrixLike: TypeAlias = "Matrix | ArrayLike | sparse.sparray | sparse.spmatrix"
    Sparse: TypeAlias = "sparse.csc_array[np.float64] | sparse.csr_array[np.float64]"

__all__ = ["Matrix"]


class Matrix:
    """A read-only matrix of finite numbers, kept in the form it came in.

    Dense arrays and compressed sparse matrices are viewed, not copied: leave them alone afterwards. A scalar
    or a single row is a matrix whose missing dimensions are filled by `spread`. A `Matrix` made from a
    `Matrix` is free, so that changing one block of a program never checks the numbers of another again.

    Parameters
    ----------
    value : scalar, array of at most two dimensions, scipy sparse matrix or Matrix
        The numbers.
    where : str
        What the matrix is called in error messages.

    Attributes
    ----------
    array : numpy array or scipy sparse array
        The numbers; read-only.

    Examples
    --------
    >>> M = Matrix([[1.0, 0.0], [2.0, 3.0]])
    >>> M.shape, M.nonzeros
    ((2, 2), 3)
    >>> M.apply([1.0, 1.0]).tolist()
    [1.0, 5.0]
    """

    __slots__ = ("array",)
    __hash__ = None  # type: ignore[assignment]

    array: FloatArray | Sparse

    def __init__(self, value: MatrixLike, where: str = "matrix"):
        if isinstance(value, Matrix):
            self.array = value.array
        elif sparse.issparse(value):
            self.array = _read_sparse(value, where)
        else:
            self.array = _read_dense(cast("ArrayLike", value), where)

    @classmethod
    def diagonal(cls, entries: ArrayLike, where: str = "matrix") -> Matrix:
        """Return the square matrix with these entries on its diagonal.

        Parameters
        ----------
        entries : vector
            The diagonal.
        where : str
            What the matrix is called in error messages.

        Returns
        -------
        Matrix
            Sparse, with one stored entry per column.
        """
        vector = read_numbers(entries, where)
        size = vector.size
        index = np.arange(size + 1, dtype=np.int32)
        return cls(sparse.csc_array((vector, index[:-1], index), shape=(size, size)), where)

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions that are known: none for a scalar, one for a row, two for a matrix."""
        return self.array.shape

    @property
    def nonzeros(self) -> int:
        """How many entries differ from zero."""
        return int(np.count_nonzero(self._stored))

    @property
    def largest(self) -> float:
        """The greatest absolute value of an entry."""
        return float(np.max(np.abs(self._stored), initial=0.0))

    @property
    def _stored(self) -> FloatArray:
        return self.array if isinstance(self.array, np.ndarray) else self.array.data

    def spread(self, rows: int, columns: int) -> Matrix:
        """Return this matrix with `rows` x `columns`; a scalar or a row is repeated without copying."""
        if self.shape == (rows, columns):
            return self
        if len(self.shape) == 2 or self.shape not in {(), (columns,)}:
            raise InvalidValueError(f"shape {self.shape} does not fit {rows} x {columns}")
        wide = object.__new__(Matrix)
        wide.array = np.broadcast_to(cast("FloatArray", self.array), (rows, columns))
        return wide

    def apply(self, x: ArrayLike) -> FloatArray:
        """Return the product of the matrix and the vector `x`."""
        return cast("FloatArray", self.array @ np.asarray(x))

    def apply_transpose(self, y: ArrayLike) -> FloatArray:
        """Return the product of the transposed matrix and the vector `y`."""
        return cast("FloatArray", self.array.T @ np.asarray(y))

    def magnitude(self) -> Matrix:
        """Return the matrix of absolute values."""
        absolute = object.__new__(Matrix)
        absolute.array = cast("FloatArray | Sparse", abs(self.array))
        return absolute

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int32], FloatArray]:
        """Return entries per column, row of each entry, and the entries, column by column.

        Zeros are left out.
        """
        if isinstance(self.array, np.ndarray):
            return _dense_entries(self.array)
        return _sparse_entries(self.array)

    def stored(self) -> tuple[NDArray[np.int64], NDArray[np.int32], FloatArray]:
        """Return what `entries` does, with the zeros that a sparse matrix by columns has places for."""
        if isinstance(self.array, sparse.csc_array):
            return np.diff(self.array.indptr), self.array.indices, self.array.data
        return self.entries()

    def shares_memory(self, other: Matrix) -> bool:
        """Return whether a change of one matrix by the owner of its array may change the other."""
        return np.may_share_memory(self._stored, other._stored)

    def to_dense(self) -> FloatArray:
        """Return the numbers as a numpy array."""
        if isinstance(self.array, np.ndarray):
            return self.array
        return cast("FloatArray", self.array.toarray())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Matrix):
            return NotImplemented
        if self.shape != other.shape:
            return False
        if len(self.shape) < 2:
            return np.array_equal(self.to_dense(), other.to_dense())
        mine, theirs = self.entries(), other.entries()
        return all(np.array_equal(mine[part], theirs[part]) for part in range(3))

    def __reduce__(self) -> tuple[Any, ...]:
        return Matrix, (self.array,)

    def __repr__(self) -> str:
        form = "dense" if isinstance(self.array, np.ndarray) else "sparse"
        return f"Matrix({' x '.join(map(str, self.shape)) or 'scalar'}, {form})"


def _read_dense(value: ArrayLike, where: str) -> FloatArray:
    array = read_numbers(value, where)
    if array.ndim > 2:
        raise InvalidValueError(f"{where} has {array.ndim} dimensions; a matrix has at most two")
    finite = np.isfinite(array)
    if not finite.all():
        index = np.argwhere(~finite)[0].tolist()
        raise InvalidValueError(
            f"{where}: entry {index} is {array[tuple(index)]}; coefficients must be finite numbers"
        )
    return array


def _read_sparse(value: Any, where: str) -> Sparse:
    if value.ndim != 2:
        raise InvalidValueError(
            f"{where} is a sparse vector; write it as a sparse matrix with one row"
        )
    if value.dtype.kind not in "fiub":
        raise InvalidValueError(f"{where} must hold real numbers, not {value.dtype}")
    kind = sparse.csr_array if value.format == "csr" else sparse.csc_array
    # The constructor shares data and indices of a compressed matrix of floats and copies all else.
    array = kind(value, dtype=np.float64)
    if not array.has_canonical_format:
        array = array.copy()
        array.sum_duplicates()
    finite = np.isfinite(array.data)
    if not finite.all():
        place = np.flatnonzero(~finite)[0]
        lines = array.tocoo()
        index = [int(lines.coords[0][place]), int(lines.coords[1][place])]
        raise InvalidValueError(
            f"{where}: entry {index} is {lines.data[place]}; coefficients must be finite numbers"
        )
    for name in ("data", "indices", "indptr"):
        frozen = getattr(array, name).view()
        frozen.flags.writeable = False
        setattr(array, name, frozen)
    return cast("Sparse", array)


def _dense_entries(
    array: FloatArray,
) -> tuple[NDArray[np.int64], NDArray[np.int32], FloatArray]:
    rows, columns = array.shape
    if np.count_nonzero(array) == array.size:
        counts = np.full(columns, rows, dtype=np.int64)
        return counts, np.tile(np.arange(rows, dtype=np.int32), columns), array.ravel(order="F")
    mask = array.T != 0.0
    return (
        np.count_nonzero(mask, axis=1).astype(np.int64),
        np.nonzero(mask)[1].astype(np.int32),
        array.T[mask],
    )


def _sparse_entries(
    array: Sparse,
) -> tuple[NDArray[np.int64], NDArray[np.int32], FloatArray]:
    columns = sparse.csc_array(array)
    if np.count_nonzero(columns.data) < columns.data.size:
        columns = columns.copy()
        columns.eliminate_zeros()
    counts = np.diff(columns.indptr).astype(np.int64)
    return counts, columns.indices.astype(np.int32), columns.data
