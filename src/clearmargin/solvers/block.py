"""The named blocks a program is made of: variables, linear rows, second-order cones, quadratics."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.solvers.large_value import (
    FloatArray,
    LargeValue,
    first_index,
    read_interval,
    read_name,
    read_size,
    read_vector,
)
from clearmargin.solvers.matrix import Matrix

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from clearmargin.solvers.matrix import MatrixLike

__all__ = ["Block", "Cone", "Linear", "Quadratic", "Variables", "fit_terms"]

# Up to this size a Cholesky factorisation (10 ms at 1,000) proves that a matrix is not indefinite;
# beyond it the backend finds out.
_LARGEST_CONVEXITY_CHECK = 1_000


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Variables(LargeValue):
    """A vector of unknowns with bounds and a linear cost.

    Parameters
    ----------
    name : str
        What the vector is called; unique within a program.
    size : int
        How many unknowns it has.
    lower, upper : float or vector
        Bounds; infinite where there is none.
    cost : float or vector
        Coefficients in the objective, which is minimised.
    integer : bool
        Whether the unknowns are whole numbers.

    Examples
    --------
    >>> x = Variables("x", 3, lower=0.0, cost=[1.0, 2.0, 3.0])
    >>> x.upper.tolist()
    [inf, inf, inf]
    """

    name: str
    size: int
    lower: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)
    cost: FloatArray = field(repr=False)
    integer: bool

    def __init__(
        self,
        name: str,
        size: int,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        cost: ArrayLike = 0.0,
        integer: bool = False,
    ):
        what = f"variables {read_name(name, 'a variable block')!r}"
        size = read_size(size, f"{what}: size")
        lower, upper = read_interval(lower, upper, size, what)
        cost = read_vector(cost, size, f"{what}: cost")
        if not np.isfinite(cost).all():
            index = first_index(~np.isfinite(cost))
            raise InvalidValueError(
                f"{what}: cost[{index}] is {cost[index]}; to keep a variable at a value, set its bounds"
            )
        self._fill(name=name, size=size, lower=lower, upper=upper, cost=cost, integer=bool(integer))


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Linear(LargeValue):
    """Rows ``lower <= sum_k M_k x_k <= upper``; equal limits make an equation.

    Parameters
    ----------
    name : str
        What the rows are called; unique within a program.
    terms : mapping of str to matrix
        For each variable block its matrix, dense or scipy sparse, with one row per row and one column
        per unknown. A vector is one row, repeated in every row; a scalar stands for all entries.
    lower, upper : float or vector
        Limits of each row; infinite where there is none.

    Attributes
    ----------
    rows : int
        How many rows there are.

    Examples
    --------
    >>> budget = Linear("budget", {"x": [2.0, 3.0, 1.0]}, upper=10.0)
    >>> budget.rows, budget.terms["x"]
    (1, Matrix(3, dense))
    """

    name: str
    terms: Mapping[str, Matrix]
    lower: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)
    rows: int = field(init=False)

    def __init__(
        self,
        name: str,
        terms: Mapping[str, MatrixLike],
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
    ):
        what = f"constraint {read_name(name, 'a constraint block')!r}"
        checked = _read_terms(terms, what)
        rows = _count_rows(checked, (lower, upper), what)
        lower, upper = read_interval(lower, upper, rows, what)
        self._fill(name=name, terms=checked, lower=lower, upper=upper, rows=rows)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Cone(LargeValue):
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
        Length of one cone when the rows hold several of equal length, one after the other. By default
        all rows form one cone.

    Attributes
    ----------
    rows : int
        How many rows there are, over all cones of the block.

    Examples
    --------
    The norm of `x` is at most 2:

    >>> Cone("disc", {"x": [[0, 0], [1, 0], [0, 1]]}, offset=[2.0, 0.0, 0.0]).size
    3
    """

    name: str
    terms: Mapping[str, Matrix]
    offset: FloatArray = field(repr=False)
    size: int
    rows: int = field(init=False)

    def __init__(
        self,
        name: str,
        terms: Mapping[str, MatrixLike],
        offset: ArrayLike = 0.0,
        size: int | None = None,
    ):
        what = f"cone {read_name(name, 'a constraint block')!r}"
        checked = _read_terms(terms, what)
        rows = _count_rows(checked, (offset,), what)
        offset = read_vector(offset, rows, f"{what}: offset")
        if not np.isfinite(offset).all():
            index = first_index(~np.isfinite(offset))
            raise InvalidValueError(
                f"{what}: offset[{index}] is {offset[index]}; it must be finite"
            )
        size = rows if size is None else read_size(size, f"{what}: size")
        if rows and (size == 0 or rows % size):
            raise InvalidValueError(
                f"{what}: {rows} rows cannot be split into cones of {size} rows"
            )
        self._fill(name=name, terms=checked, offset=offset, size=size, rows=rows)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Quadratic(LargeValue):
    """A convex part ``x' P x / 2`` of the objective, over one variable block.

    Parameters
    ----------
    name : str
        What the part is called; unique within a program.
    variable : str
        The variable block `x`.
    matrix : matrix or vector
        The symmetric, positive semidefinite `P`; a vector is its diagonal.

    Examples
    --------
    >>> Quadratic("energy", "x", [1.0, 4.0]).matrix
    Matrix(2 x 2, sparse)
    """

    name: str
    variable: str
    matrix: Matrix

    def __init__(self, name: str, variable: str, matrix: MatrixLike):
        what = f"quadratic {read_name(name, 'a quadratic block')!r}"
        read_name(variable, f"the variable of {what}")
        P = Matrix(matrix, f"{what}: matrix")
        if len(P.shape) == 1:
            P = Matrix.diagonal(P.to_dense(), f"{what}: matrix")
        if len(P.shape) != 2 or P.shape[0] != P.shape[1]:
            raise InvalidValueError(
                f"{what}: matrix has shape {P.shape}; give a square matrix or its diagonal as a vector"
            )
        _check_convex(P, what)
        self._fill(name=name, variable=variable, matrix=P)


Block: TypeAlias = Variables | Linear | Cone | Quadratic


def fit_terms(block: Linear | Cone, variables: Mapping[str, Variables]) -> Linear | Cone:
    """Return the constraint with every matrix spread to its rows and the size of its variables."""
    fitted = {}
    for name, matrix in block.terms.items():
        size = variables[name].size
        try:
            fitted[name] = matrix.spread(block.rows, size)
        except InvalidValueError:
            hint = "; write a column as a matrix with one column" if len(matrix.shape) == 1 else ""
            raise InvalidValueError(
                f"constraint {block.name!r}: the matrix of {name!r} has shape {matrix.shape}, "
                f"but there are {block.rows} rows and {name!r} has {size} unknowns{hint}"
            ) from None
    if all(fitted[name] is matrix for name, matrix in block.terms.items()):
        return block
    if isinstance(block, Cone):
        return Cone(block.name, fitted, block.offset, block.size)
    return Linear(block.name, fitted, block.lower, block.upper)


def _read_terms(terms: Mapping[str, MatrixLike], what: str) -> Mapping[str, Matrix]:
    try:
        items = list(terms.items())
    except AttributeError:
        raise InvalidValueError(
            f"{what}: terms must map names of variables to matrices, not be {type(terms).__name__}"
        ) from None
    if not items:
        raise InvalidValueError(f"{what} has no terms; name at least one variable block")
    return MappingProxyType(
        {
            read_name(name, f"a variable in {what}"): Matrix(matrix, f"{what}: matrix of {name!r}")
            for name, matrix in items
        }
    )


def _count_rows(terms: Mapping[str, Matrix], vectors: tuple[ArrayLike, ...], what: str) -> int:
    """Return the number of rows on which all matrices agree, or else that of the vectors, or else 1."""
    rows = {name: matrix.shape[0] for name, matrix in terms.items() if len(matrix.shape) == 2}
    if len(set(rows.values())) > 1:
        found = ", ".join(f"{count} for {name!r}" for name, count in rows.items())
        raise InvalidValueError(f"{what}: the matrices must have equally many rows, not {found}")
    if rows:
        return next(iter(rows.values()))
    lengths = [np.shape(vector)[0] for vector in vectors if np.ndim(vector) == 1]
    return int(max(lengths, default=1))


def _check_convex(P: Matrix, what: str) -> None:
    """Refuse a matrix that is not symmetric or, as far as it is cheap to know, not semidefinite."""
    size = P.shape[0]
    scale = P.largest
    # Rounding of P = B'B leaves differences of this order; they have no effect on x'Px.
    if Matrix(cast("MatrixLike", P.array - P.array.T)).largest > 1e-12 * scale:
        raise InvalidValueError(f"{what}: matrix is not symmetric; use (P + P.T) / 2")
    diagonal = P.array.diagonal()
    if (diagonal < 0).any():
        index = first_index(diagonal < 0)
        raise InvalidValueError(
            f"{what}: diagonal entry {index} is {diagonal[index]}; the matrix must be positive semidefinite"
        )
    if 0 < size <= _LARGEST_CONVEXITY_CHECK and P.nonzeros > np.count_nonzero(diagonal):
        try:
            np.linalg.cholesky(P.to_dense() + 1e-10 * scale * np.eye(size))
        except np.linalg.LinAlgError:
            raise InvalidValueError(
                f"{what}: matrix is not positive semidefinite, so the program is not convex"
            ) from None
