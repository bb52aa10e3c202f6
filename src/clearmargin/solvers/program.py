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
from typing import TYPE_CHECKING, TypeVar

from clearmargin.exceptions import InvalidValueError
from clearmargin.solvers.block import Block, Cone, Linear, Quadratic, Variables, fit_terms
from clearmargin.solvers.large_value import LargeValue, suggest
from clearmargin.solvers.matrix import Matrix

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike

    from clearmargin.solvers.matrix import MatrixLike

__all__ = ["Program"]

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
