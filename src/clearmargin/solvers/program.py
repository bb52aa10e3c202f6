"""Programs as values: named blocks of unknowns, of linear rows and of second-order cones, checked once.

minimise    sum_k cost_k' x_k + constant
subject to  lower_k <= x_k <= upper_k,    lower <= sum_k M_k x_k <= upper,    offset + sum_k M_k x_k in cones
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.value import BoolArray, FloatArray


class Variables:
    """A block of unknowns with their bounds and costs.

    Parameters
    ----------
    name : str
        What the unknowns are called; unique within a program.
    size : int
        How many unknowns there are.
    lower, upper : float or vector
        Bounds; infinite where there is none.
    cost : float or vector
        Coefficients of the objective.
    integer : bool
        Whether the unknowns are whole numbers.

    Examples
    --------
    >>> Variables("x", 3, lower=0.0, cost=[1.0, 2.0, 3.0]).upper.tolist()
    [inf, inf, inf]
    """

    def __init__(
        self,
        name: str,
        size: int,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        cost: ArrayLike = 0.0,
        integer: bool = False,
    ):
        what = f"variables {name!r}"
        self.name, self.size, self.integer = _name(name), _size(size, what), bool(integer)
        self.lower, self.upper = _interval(lower, upper, self.size, what)
        self.cost = _vector(cost, self.size, f"{what}: cost")
        if np.isinf(self.cost).any():
            raise InvalidValueError(
                f"{what}: costs must be finite; bounds keep an unknown in place"
            )


class Linear:
    """Rows ``lower <= sum_k M_k x_k <= upper``; equal limits make an equation.

    Parameters
    ----------
    name : str
        What the rows are called; unique within a program.
    terms : mapping of str to matrix
        For each variable block its matrix, dense or scipy sparse, with one row per row and one column per unknown. A
        vector is one row, repeated in every row; a scalar stands for all entries. Dense arrays are viewed, not copied.
    lower, upper : float or vector
        Limits of each row; infinite where there is none.

    Examples
    --------
    >>> Linear("budget", {"x": [2.0, 3.0, 1.0]}, upper=10.0).rows
    1
    """

    def __init__(
        self,
        name: str,
        terms: Mapping[str, Any],
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
    ):
        what = f"constraint {name!r}"
        self.name = _name(name)
        self.terms, self.rows = _terms(terms, (lower, upper), what)
        self.lower, self.upper = _interval(lower, upper, self.rows, what)


class Cone:
    """Second-order cones: in ``v = offset + sum_k M_k x_k``, ``v[0] >= ||v[1:]||``.

    Parameters
    ----------
    name : str
        What the cone is called; unique within a program.
    terms : mapping of str to matrix
        For each variable block its matrix, as in `Linear`.
    offset : float or vector
        The constant part of `v`.
    size : int, optional
        Length of one cone when the rows hold several of equal length, one after the other. By default all rows form one
        cone.

    Examples
    --------
    The norm of `x` is at most 2:

    >>> Cone("disc", {"x": [[0, 0], [1, 0], [0, 1]]}, offset=[2.0, 0.0, 0.0]).size
    3
    """

    def __init__(
        self,
        name: str,
        terms: Mapping[str, Any],
        offset: ArrayLike = 0.0,
        size: int | None = None,
    ):
        what = f"cone {name!r}"
        self.name = _name(name)
        self.terms, self.rows = _terms(terms, (offset,), what)
        self.offset = _vector(offset, self.rows, f"{what}: offset")
        self.size = self.rows if size is None else _size(size, what)
        if np.isinf(self.offset).any():
            raise InvalidValueError(f"{what}: the offset must be finite")
        if self.rows and (self.size == 0 or self.rows % self.size):
            raise InvalidValueError(
                f"{what}: {self.rows} rows cannot be split into cones of {self.size} rows"
            )


Block: TypeAlias = Variables | Linear | Cone
_Rows = TypeVar("_Rows", Linear, Cone)


class Compiled(NamedTuple):
    """A program as plain arrays."""

    c: FloatArray
    lower: FloatArray
    upper: FloatArray
    is_integer: BoolArray
    A: sparse.csc_array[np.float64]
    row_lower: FloatArray
    row_upper: FloatArray
    G: sparse.csc_array[np.float64]
    offset: FloatArray
    sizes: list[int]


class Program:
    """A linear program, possibly with integers or second-order cones, made of named blocks; it never changes.

    Parameters
    ----------
    blocks : iterable of Variables, Linear or Cone
        The parts, in any order. Unknowns and rows are numbered in the order of their blocks.
    constant : float
        Added to the objective.

    Attributes
    ----------
    variables, linear, cones : dict of str to block
        The blocks of each kind by name.

    Examples
    --------
    >>> x = Variables("x", 2, lower=0.0, cost=[-1.0, -2.0])
    >>> list(Program([x, Linear("budget", {"x": [1.0, 1.0]}, upper=4.0)]).linear)
    ['budget']
    """

    def __init__(self, blocks: Iterable[Block], constant: float = 0.0):
        self.blocks, self.constant = tuple(blocks), float(constant)
        self.variables: dict[str, Variables] = {}
        self.linear: dict[str, Linear] = {}
        self.cones: dict[str, Cone] = {}
        for block in self.blocks:
            if any(block.name in known for known in (self.variables, self.linear, self.cones)):
                raise InvalidValueError(f"two blocks are called {block.name!r}; rename one")
            if isinstance(block, Variables):
                self.variables[block.name] = block
            elif isinstance(block, Linear):
                self.linear[block.name] = block
            else:
                self.cones[block.name] = block
        if not any(block.size for block in self.variables.values()):
            raise InvalidValueError("a program needs at least one unknown; add a Variables block")
        if not np.isfinite(self.constant):
            raise InvalidValueError(f"the constant of the objective is {constant}, not finite")
        constraints: list[Linear | Cone] = [*self.linear.values(), *self.cones.values()]
        for rows in constraints:
            for name, matrix in rows.terms.items():
                size = find(self.variables, name, f"constraint {rows.name!r}: variables").size
                if matrix.shape not in {(), (size,), (rows.rows, size)}:
                    raise InvalidValueError(
                        f"constraint {rows.name!r}: the matrix of {name!r} has shape {matrix.shape}, "
                        f"but there are {rows.rows} rows and {name!r} has {size} unknowns"
                    )

    @property
    def is_integer(self) -> bool:
        """Whether some unknowns are whole numbers."""
        return any(block.integer for block in self.variables.values())

    @cached_property
    def columns(self) -> dict[str, slice]:
        """Where the unknowns of each block are."""
        return _slices({name: block.size for name, block in self.variables.items()})

    @cached_property
    def rows(self) -> dict[str, slice]:
        """Where the linear rows of each block are."""
        return _slices({name: block.rows for name, block in self.linear.items()})

    @cached_property
    def cone_rows(self) -> dict[str, slice]:
        """Where the rows of each block of cones are."""
        return _slices({name: block.rows for name, block in self.cones.items()})

    def without_objective(self) -> Program:
        """Return the program that asks for any point that satisfies the constraints."""
        return Program(
            Variables(b.name, b.size, b.lower, b.upper, 0.0, b.integer)
            if isinstance(b, Variables)
            else b
            for b in self.blocks
        )

    def compiled(self) -> Compiled:
        """Join all blocks."""
        variables, linear = list(self.variables.values()), list(self.linear.values())
        cones = list(self.cones.values())
        c, lower, upper = (
            np.concatenate([getattr(block, side) for block in variables])
            for side in ("cost", "lower", "upper")
        )
        row_lower, row_upper = (
            np.concatenate([np.zeros(0), *(getattr(rows, side) for rows in linear)])
            for side in ("lower", "upper")
        )
        is_integer = np.repeat([b.integer for b in variables], [b.size for b in variables])
        offset = np.concatenate([np.zeros(0), *(cone.offset for cone in cones)])
        sizes = [cone.size for cone in cones for _ in range(cone.rows // max(cone.size, 1))]
        A, G = self._matrix(linear, self.rows), self._matrix(cones, self.cone_rows)
        return Compiled(c, lower, upper, is_integer, A, row_lower, row_upper, G, offset, sizes)

    def _matrix(
        self, blocks: Iterable[_Rows], places: Mapping[str, slice]
    ) -> sparse.csc_array[np.float64]:
        pieces = [
            (self.columns[name], places[block.name].start, block.rows, matrix)
            for block in blocks
            for name, matrix in block.terms.items()
        ]
        return stacked(pieces, (end(places), end(self.columns)))


def stacked(
    pieces: Iterable[tuple[slice, int, int, Any]], shape: tuple[int, int]
) -> sparse.csc_array[np.float64]:
    """Assemble a matrix from pieces (columns, first row, number of rows, matrix), top to bottom; zeros are left out."""
    counts = np.zeros(shape[1], dtype=np.int64)
    parts = []
    for columns, top, rows, matrix in pieces:
        part = entries(matrix, rows, columns.stop - columns.start)
        counts[columns] += part[0]
        parts.append((columns, top, *part))
    indptr = np.concatenate(([0], np.cumsum(counts)))
    indices, data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    free = indptr[:-1].copy()
    for columns, top, per_column, rows_of, values in parts:
        before = np.cumsum(per_column) - per_column
        place = np.repeat(free[columns] - before, per_column) + np.arange(len(values))
        indices[place], data[place] = rows_of + np.int32(top), values
        free[columns] += per_column
    return sparse.csc_array((data, indices, indptr.astype(np.int32)), shape=shape)


def entries(
    matrix: Any, rows: int, columns: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], FloatArray]:
    """Return entries per column, row of each entry, and the entries, column by column, without zeros."""
    if is_sparse(matrix):
        kept = sparse.csc_array(matrix)
        if not np.all(kept.data):
            kept = kept.copy()
            kept.eliminate_zeros()
        return np.diff(kept.indptr).astype(np.int64), kept.indices.astype(np.int32), kept.data
    dense = np.broadcast_to(matrix, (rows, columns))
    if np.count_nonzero(dense) == dense.size:
        of_column = np.arange(rows, dtype=np.int32)
        return np.full(columns, rows), np.tile(of_column, columns), dense.ravel(order="F")
    mask = dense.T != 0.0
    return np.count_nonzero(mask, axis=1), np.nonzero(mask)[1].astype(np.int32), dense.T[mask]


def _slices(sizes: Mapping[str, int]) -> dict[str, slice]:
    ends = np.cumsum([0, *sizes.values()]).tolist()
    return {name: slice(*ends[k : k + 2]) for k, name in enumerate(sizes)}


def end(places: Mapping[str, slice]) -> int:
    """Return how many places there are."""
    return max((place.stop for place in places.values()), default=0)


def find(known: Mapping[str, Any], name: str, what: str) -> Any:
    """Return a block by its name, or say which there are."""
    if name not in known:
        listed = ", ".join(map(repr, known)) or "none"
        raise InvalidValueError(f"there are no {what} called {name!r}; there are: {listed}")
    return known[name]


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidValueError(f"the name of a block must be a non-empty string, not {name!r}")
    return name


def _size(size: Any, what: str) -> int:
    try:
        number = operator.index(size)
    except TypeError:
        number = -1
    if number < 0:
        raise InvalidValueError(f"{what}: size must be a whole number from 0 on, not {size!r}")
    return number


def _numbers(value: Any, where: str) -> FloatArray:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidValueError(f"{where} must hold real numbers: {error}") from error


def _vector(value: ArrayLike, size: int, where: str) -> FloatArray:
    """Return a vector of `size` entries without NaN; a scalar stands for all of them."""
    array = _numbers(value, where)
    if array.shape not in {(), (size,)}:
        raise InvalidValueError(
            f"{where} has shape {array.shape}; give a scalar or a vector of {size} entries"
        )
    if np.isnan(array).any():
        raise InvalidValueError(f"{where}[{int(np.argmax(np.isnan(array)))}] is not a number")
    return np.array(np.broadcast_to(array, (size,)))


def _interval(
    lower: ArrayLike, upper: ArrayLike, size: int, what: str
) -> tuple[FloatArray, FloatArray]:
    """Return both limits as vectors, having checked that something lies between them."""
    low, high = _vector(lower, size, f"{what}: lower"), _vector(upper, size, f"{what}: upper")
    for name, wrong in (
        ("lower", (low > high) | (low == np.inf)),
        ("upper", high == -np.inf),
    ):
        if wrong.any():
            raise InvalidValueError(
                f"{what}: nothing lies between {name}[{int(np.argmax(wrong))}] and the other limit"
            )
    return low, high


def _terms(
    terms: Mapping[str, Any], vectors: tuple[ArrayLike, ...], what: str
) -> tuple[dict[str, Any], int]:
    """Check matrices, and return them with the number of rows on which they agree, or else that of the vectors."""
    if not isinstance(terms, Mapping) or not terms:
        raise InvalidValueError(f"{what}: terms must map names of variables to matrices")
    checked = {
        variable: _matrix(matrix, f"{what}: the matrix of {variable!r}")
        for variable, matrix in terms.items()
    }
    counts = {M.shape[0] for M in checked.values() if M.ndim == 2}
    if len(counts) > 1:
        names = ", ".join(map(repr, checked))
        raise InvalidValueError(f"{what}: the matrices of {names} must have equally many rows")
    return checked, counts.pop() if counts else max(int(np.size(vector)) for vector in vectors)


def is_sparse(matrix: Any) -> bool:
    """Return whether a matrix is one of scipy."""
    return bool(sparse.issparse(matrix))


def _matrix(value: Any, where: str) -> Any:
    """Return a dense array of at most two dimensions, or a compressed sparse matrix, of finite numbers."""
    if is_sparse(value):
        if value.ndim != 2 or value.dtype.kind not in "fiub":
            raise InvalidValueError(f"{where} must be a matrix of real numbers")
        kind = sparse.csr_array if value.format == "csr" else sparse.csc_array
        array = kind(value.astype(np.float64, copy=False))
        if not array.has_canonical_format:
            array = array.copy()
            array.sum_duplicates()
        if not np.isfinite(array.data).all():
            raise InvalidValueError(f"{where}: entries must be finite")
        return array
    dense = _numbers(value, where)
    if dense.ndim > 2:
        raise InvalidValueError(f"{where} has {dense.ndim} dimensions; at most two are possible")
    if not np.isfinite(dense).all():
        place = np.argwhere(~np.isfinite(dense))[0].tolist()
        raise InvalidValueError(f"{where}: entry {place} is not a finite number")
    return dense
