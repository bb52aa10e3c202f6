"""A mathematical program as a value: named blocks of variables, constraints and objective.

minimise    sum_k cost_k' x_k + sum x' P x / 2 + constant
subject to  lower_k <= x_k <= upper_k                      (variables)
            lower <= sum_k M_k x_k <= upper                (linear rows)
            offset + sum_k M_k x_k in a second-order cone  (cones)
            some x_k whole numbers
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

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
    suggest,
)
from clearmargin.solvers.matrix import Matrix

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike

    from clearmargin.solvers.matrix import MatrixLike


__all__ = ["Block", "Cone", "Linear", "Program", "Quadratic", "Variables", "fit_terms"]


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


_Kind = TypeVar("_Kind", Variables, Linear, Cone, Quadratic)


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Program(LargeValue):
    """A convex (or mixed-integer linear) program made of named blocks.

    A program never changes. The methods `with_...` return another program that shares all unchanged
    blocks and checks only what is new.

    Parameters
    ----------
    blocks : iterable of Variables, Linear, Cone or Quadratic
        The parts, in any order. Unknowns and rows are numbered in the order of their blocks.
    constant : float
        Added to the objective.

    Attributes
    ----------
    variables, linear, cones, quadratics : mapping of str to block
        The blocks of each kind by name.

    Examples
    --------
    >>> program = Program([
    ...     Variables("x", 2, lower=0.0, cost=[-1.0, -2.0]),
    ...     Linear("budget", {"x": [1.0, 1.0]}, upper=4.0),
    ... ])
    >>> program
    Program(2 unknowns in 'x'; 1 row in 'budget')
    """

    blocks: tuple[Block, ...]
    constant: float
    variables: Mapping[str, Variables] = field(init=False)
    linear: Mapping[str, Linear] = field(init=False)
    cones: Mapping[str, Cone] = field(init=False)
    quadratics: Mapping[str, Quadratic] = field(init=False)

    def __init__(self, blocks: Iterable[Block], constant: float = 0.0):
        given = tuple(blocks)
        _check_names(given)
        variables = _of_kind(given, Variables)
        if not any(block.size for block in variables.values()):
            raise InvalidValueError("a program needs at least one unknown; add a Variables block")
        if not math.isfinite(constant):
            raise InvalidValueError(f"the constant of the objective is {constant}, not finite")
        fitted = tuple(_fit(block, variables) for block in given)
        self._fill(
            blocks=fitted,
            constant=float(constant),
            variables=MappingProxyType(variables),
            linear=MappingProxyType(_of_kind(fitted, Linear)),
            cones=MappingProxyType(_of_kind(fitted, Cone)),
            quadratics=MappingProxyType(_of_kind(fitted, Quadratic)),
        )

    @property
    def needs(self) -> frozenset[str]:
        """What a backend must be able to do: any of 'integer', 'quadratic' and 'cone'."""
        found = {
            "integer": any(block.integer for block in self.variables.values()),
            "quadratic": bool(self.quadratics),
            "cone": bool(self.cones),
        }
        return frozenset(need for need, is_there in found.items() if is_there)

    def with_cost(self, name: str, cost: ArrayLike) -> Program:
        """Return the program with another cost of the variables `name`."""
        old = self._find(self.variables, name, "variables")
        new = Variables(name, old.size, old.lower, old.upper, cost, old.integer)
        return self._replace(new)

    def with_bounds(
        self, name: str, lower: ArrayLike | None = None, upper: ArrayLike | None = None
    ) -> Program:
        """Return the program with other bounds of the variables `name`; None keeps a side."""
        old = self._find(self.variables, name, "variables")
        lower = old.lower if lower is None else lower
        upper = old.upper if upper is None else upper
        return self._replace(Variables(name, old.size, lower, upper, old.cost, old.integer))

    def with_limits(
        self, name: str, lower: ArrayLike | None = None, upper: ArrayLike | None = None
    ) -> Program:
        """Return the program with other limits of the rows `name`; None keeps a side."""
        old = self._find(self.linear, name, "linear rows")
        lower = old.lower if lower is None else lower
        upper = old.upper if upper is None else upper
        return self._replace(Linear(name, old.terms, lower, upper))

    def with_coefficients(self, name: str, variable: str, matrix: MatrixLike) -> Program:
        """Return the program with another matrix of `variable` in the rows `name`."""
        old = self._find(self.linear, name, "linear rows")
        self._find(self.variables, variable, "variables")
        checked = Matrix(matrix, f"constraint {name!r}: matrix of {variable!r}")
        return self._replace(Linear(name, {**old.terms, variable: checked}, old.lower, old.upper))

    def with_changes(
        self,
        bounds: Mapping[str, tuple[ArrayLike, ArrayLike]],
        limits: Mapping[str, tuple[ArrayLike, ArrayLike]],
        coefficients: Mapping[str, Mapping[str, MatrixLike]],
    ) -> Program:
        """Return the program with other bounds of variables, and other limits and matrices of rows."""
        new: dict[str, Block] = {}
        for name, (lower, upper) in bounds.items():
            old = self._find(self.variables, name, "variables")
            new[name] = Variables(name, old.size, lower, upper, old.cost, old.integer)
        for name in {**limits, **coefficients}:
            rows = self._find(self.linear, name, "linear rows")
            lower, upper = limits.get(name, (rows.lower, rows.upper))
            for variable in coefficients.get(name, {}):
                self._find(self.variables, variable, "variables")
            terms = {**rows.terms, **coefficients.get(name, {})}
            new[name] = Linear(name, terms, lower, upper)
        return Program((new.get(block.name, block) for block in self.blocks), self.constant)

    def with_columns(self, variables: Variables, terms: Mapping[str, MatrixLike]) -> Program:
        """Return the program with one more variable block and its matrices in existing rows."""
        changed: dict[str, Block] = {}
        for name, matrix in terms.items():
            old = self._find(self.linear, name, "linear rows")
            checked = Matrix(matrix, f"constraint {name!r}: matrix of {variables.name!r}")
            merged = {**old.terms, variables.name: checked}
            changed[name] = Linear(name, merged, old.lower, old.upper)
        kept = tuple(changed.get(block.name, block) for block in self.blocks)
        return Program((*kept, variables), self.constant)

    def with_rows(self, rows: Linear | Cone) -> Program:
        """Return the program with one more constraint block."""
        return Program((*self.blocks, rows), self.constant)

    def without_objective(self) -> Program:
        """Return the program that asks for any point that satisfies the constraints."""
        blocks: list[Block] = []
        for block in self.blocks:
            if isinstance(block, Variables):
                free = Variables(
                    block.name, block.size, block.lower, block.upper, 0.0, block.integer
                )
                blocks.append(free)
            elif not isinstance(block, Quadratic):
                blocks.append(block)
        return Program(blocks)

    def _replace(self, new: Block) -> Program:
        blocks = (new if block.name == new.name else block for block in self.blocks)
        return Program(blocks, self.constant)

    def _find(self, known: Mapping[str, _Kind], name: str, what: str) -> _Kind:
        if name not in known:
            raise InvalidValueError(
                f"there are no {what} called {name!r} in the program{suggest(name, known)}"
            )
        return known[name]

    def __repr__(self) -> str:
        parts = [_summary("unknown", {name: b.size for name, b in self.variables.items()})]
        if self.linear:
            parts.append(_summary("row", {name: b.rows for name, b in self.linear.items()}))
        if self.cones:
            parts.append(_summary("cone row", {name: b.rows for name, b in self.cones.items()}))
        if self.quadratics:
            parts.append(f"quadratic in {', '.join(map(repr, self.quadratics))}")
        return f"Program({'; '.join(parts)})"


def _of_kind(blocks: Iterable[Block], kind: type[_Kind]) -> dict[str, _Kind]:
    return {block.name: block for block in blocks if isinstance(block, kind)}


def _check_names(blocks: tuple[Block, ...]) -> None:
    seen: set[str] = set()
    for block in blocks:
        if not isinstance(block, Variables | Linear | Cone | Quadratic):
            raise InvalidValueError(
                "a program is made of Variables, Linear, Cone and Quadratic blocks, "
                f"not of {type(block).__name__}"
            )
        if block.name in seen:
            raise InvalidValueError(
                f"two blocks are called {block.name!r}; every block needs a name of its own"
            )
        seen.add(block.name)


def _fit(block: Block, variables: Mapping[str, Variables]) -> Block:
    """Return the block with its matrices in full shape, having checked them against the variables."""
    if isinstance(block, Variables):
        return block
    if isinstance(block, Quadratic):
        _check_known([block.variable], variables, f"quadratic {block.name!r}")
        size = variables[block.variable].size
        if block.matrix.shape[0] != size:
            raise InvalidValueError(
                f"quadratic {block.name!r}: the matrix has {block.matrix.shape[0]} columns, "
                f"but {block.variable!r} has {size} unknowns"
            )
        return block
    _check_known(block.terms, variables, f"constraint {block.name!r}")
    return fit_terms(block, variables)


def _check_known(names: Iterable[str], variables: Mapping[str, Variables], what: str) -> None:
    for name in names:
        if name not in variables:
            raise InvalidValueError(
                f"{what} uses {name!r}, which is no variable block of the program"
                f"{suggest(name, variables)}"
            )


def _summary(noun: str, counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    return f"{total} {noun}{'' if total == 1 else 's'} in {', '.join(map(repr, counts))}"
