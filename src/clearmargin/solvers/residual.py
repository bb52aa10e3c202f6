"""How far a point and its multipliers are from an optimum, measured on the data of the program.

With the Lagrangian

    L = c'x + x'Px/2 + constant - y'(Ax - b) - z'(offset + Gx),    z in the (self-dual) cones,

the reduced costs are r = c + Px - A'y - G'z, and the dual objective is

    -x'Px/2 + constant + sum_{y>0} y lower - sum_{y<0} |y| upper + the same for r - z'offset.

A multiplier that pushes against a side without a limit proves nothing: it is left out of the dual
objective and counts as a dual residual. A residual becomes relative when divided by one plus the sizes of
the numbers that were added up to get it, so that it is the relative change of the data that would make it
vanish (Oettli and Prager 1964).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from clearmargin.solvers.compiled import column_slices, row_slices

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clearmargin.solvers.large_value import FloatArray
    from clearmargin.solvers.matrix import Matrix
    from clearmargin.solvers.program import Cone, Linear, Program

__all__ = [
    "Residual",
    "Residuals",
    "measure",
    "measure_gap",
    "objective_at",
    "price",
    "primal_residual",
]


@dataclass(frozen=True, slots=True)
class Residual:
    """The largest violation of one kind.

    Attributes
    ----------
    absolute : float
        The largest violation.
    relative : float
        The largest violation in relation to the numbers it comes from.
    block : str or None
        The block of the largest relative violation; None when nothing is violated, or for the gap.
    index : int or None
        Its row, unknown or cone within the block.

    Examples
    --------
    >>> from clearmargin.solvers import Program, Variables
    >>> primal_residual(Program([Variables("x", 2, upper=3.0)]), np.array([1.0, 4.0]))
    Residual(absolute=1.0, relative=0.2, block='x', index=1)
    """

    absolute: float
    relative: float
    block: str | None = None
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Residuals:
    """Primal, dual and gap residual of a solution; `dual` is None for integer programs.

    Examples
    --------
    >>> exact = Residual(0.0, 0.0)
    >>> Residuals(exact, exact, exact).worst
    0.0
    """

    primal: Residual
    dual: Residual | None
    gap: Residual

    @property
    def worst(self) -> float:
        """The largest of the relative residuals."""
        parts = (self.primal, self.dual, self.gap)
        return max(part.relative for part in parts if part is not None)


def objective_at(program: Program, x: FloatArray) -> float:
    """Return the objective at the point `x`."""
    columns = column_slices(program)
    linear = sum(float(b.cost @ x[columns[name]]) for name, b in program.variables.items())
    return linear + quadratic_at(program, x) + program.constant


def quadratic_at(program: Program, x: FloatArray) -> float:
    """Return the quadratic part of the objective at the point `x`."""
    columns = column_slices(program)
    total = 0.0
    for block in program.quadratics.values():
        part = x[columns[block.variable]]
        total += 0.5 * float(part @ block.matrix.apply(part))
    return total


def primal_residual(program: Program, x: FloatArray) -> Residual:
    """Return how far the point is from satisfying bounds, rows, cones and integrality."""
    columns = column_slices(program)
    parts = {name: x[place] for name, place in columns.items()}
    found = []
    for name, block in program.variables.items():
        value = parts[name]
        found.append(_largest(name, _outside(value, block.lower, block.upper), 1 + np.abs(value)))
        if block.integer:
            # In no relation to its size: half a unit is half a unit, also of a million.
            found.append(_largest(name, np.abs(value - np.rint(value)), np.ones(value.size)))
    for name, rows in program.linear.items():
        scale = 1 + _apply(rows.terms, parts, absolute=True)
        gap = _outside(_apply(rows.terms, parts), rows.lower, rows.upper)
        found.append(_largest(name, gap, scale))
    for name, cone in program.cones.items():
        scale = 1 + np.abs(cone.offset) + _apply(cone.terms, parts, absolute=True)
        vector = cone.offset + _apply(cone.terms, parts)
        found.append(_largest(name, _cone_gap(vector, cone.size), _cone_max(scale, cone.size)))
    return _worst(found)


def price(program: Program, x: FloatArray, y: FloatArray, z: FloatArray) -> FloatArray:
    """Return the reduced costs ``c + Px - A'y - G'z``."""
    return _price(program, x, y, z, absolute=False)


def dual_residual(
    program: Program, y: FloatArray, z: FloatArray, r: FloatArray, scale: FloatArray
) -> Residual:
    """Return how far multipliers and reduced costs are from proving anything."""
    found = []
    columns, rows, cones = _places(program)
    for name, variables in program.variables.items():
        place = columns[name]
        wrong = _unsupported(r[place], variables.lower, variables.upper)
        found.append(_largest(name, wrong, scale[place]))
    for name, block in program.linear.items():
        part = y[rows[name]]
        wrong = _unsupported(part, block.lower, block.upper)
        found.append(
            _largest(name, wrong, np.full(part.size, 1 + np.max(np.abs(part), initial=0.0)))
        )
    for name, cone in program.cones.items():
        part = z[cones[name]]
        gap = _cone_gap(part, cone.size)
        found.append(_largest(name, gap, 1 + _cone_max(np.abs(part), cone.size)))
    return _worst(found)


def dual_objective_at(
    program: Program, x: FloatArray, y: FloatArray, z: FloatArray, r: FloatArray
) -> float:
    """Return the value of the Lagrange dual; a bound when the dual residual is zero."""
    columns, rows, cones = _places(program)
    total = program.constant - quadratic_at(program, x)
    for name, variables in program.variables.items():
        total += _supported(r[columns[name]], variables.lower, variables.upper)
    for name, block in program.linear.items():
        total += _supported(y[rows[name]], block.lower, block.upper)
    for name, cone in program.cones.items():
        total -= float(z[cones[name]] @ cone.offset)
    return total


def measure(
    program: Program, x: FloatArray, y: FloatArray, z: FloatArray
) -> tuple[Residuals, float]:
    """Return all residuals of a solution with multipliers, and its dual objective."""
    r = price(program, x, y, z)
    scale = 1 + _price(program, x, y, z, absolute=True)
    bound = dual_objective_at(program, x, y, z, r)
    gap = measure_gap(objective_at(program, x), bound)
    dual = dual_residual(program, y, z, r, scale)
    return Residuals(primal_residual(program, x), dual, gap), bound


def measure_gap(objective: float, bound: float) -> Residual:
    """Return the distance between an objective and its bound."""
    gap = abs(objective - bound)
    return Residual(gap, gap / (1 + abs(objective)))


def _places(program: Program) -> tuple[dict[str, slice], dict[str, slice], dict[str, slice]]:
    return column_slices(program), row_slices(program.linear), row_slices(program.cones)


def _price(
    program: Program, x: FloatArray, y: FloatArray, z: FloatArray, *, absolute: bool
) -> FloatArray:
    """Return reduced costs, or the sum of the absolute values of their summands."""
    columns, rows, cones = _places(program)
    total = np.concatenate([block.cost for block in program.variables.values()])
    sign = 1.0 if absolute else -1.0
    if absolute:
        total, x, y, z = np.abs(total), np.abs(x), np.abs(y), np.abs(z)
    for quadratic in program.quadratics.values():
        place = columns[quadratic.variable]
        total[place] += _form(quadratic.matrix, absolute).apply(x[place])
    for blocks, places, multiplier in ((program.linear, rows, y), (program.cones, cones, z)):
        for name, block in _constraints(blocks):
            part = multiplier[places[name]]
            for variable, matrix in block.terms.items():
                total[columns[variable]] += sign * _form(matrix, absolute).apply_transpose(part)
    return total


def _constraints(
    blocks: Mapping[str, Linear] | Mapping[str, Cone],
) -> Iterable[tuple[str, Linear | Cone]]:
    return blocks.items()


def _form(matrix: Matrix, absolute: bool) -> Matrix:
    return matrix.magnitude() if absolute else matrix


def _apply(
    terms: Mapping[str, Matrix], parts: Mapping[str, FloatArray], *, absolute: bool = False
) -> FloatArray:
    """Return the sum of all terms, or of the absolute values of all their summands."""
    values = (
        _form(matrix, absolute).apply(np.abs(parts[name]) if absolute else parts[name])
        for name, matrix in terms.items()
    )
    return cast("FloatArray", sum(values))


def _outside(value: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    return np.maximum(np.maximum(lower - value, value - upper), 0.0)


def _unsupported(multiplier: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the part of the multipliers that pushes against a limit that is not there."""
    up = np.where(np.isinf(lower), np.maximum(multiplier, 0.0), 0.0)
    return np.where(np.isinf(upper), np.maximum(-multiplier, up), up)


def _supported(multiplier: FloatArray, lower: FloatArray, upper: FloatArray) -> float:
    """Return what the multipliers prove with the limits that are there."""
    limit = np.where(multiplier > 0, lower, upper)
    return float(np.sum(multiplier * np.where(np.isinf(limit), 0.0, limit)))


def _cone_gap(vector: FloatArray, size: int) -> FloatArray:
    cones = vector.reshape(-1, max(size, 1))
    gap: FloatArray = np.maximum(np.linalg.norm(cones[:, 1:], axis=1) - cones[:, 0], 0.0)
    return gap


def _cone_max(vector: FloatArray, size: int) -> FloatArray:
    largest: FloatArray = np.max(vector.reshape(-1, max(size, 1)), axis=1, initial=0.0)
    return largest


def _largest(block: str, violation: FloatArray, scale: FloatArray) -> Residual:
    if not violation.size:
        return Residual(0.0, 0.0)
    relative = violation / scale
    index = int(np.argmax(relative))
    return Residual(float(violation.max()), float(relative[index]), block, index)


def _worst(found: list[Residual]) -> Residual:
    worst = max(found, key=lambda residual: residual.relative)
    absolute = max(residual.absolute for residual in found)
    if worst.relative == 0.0:
        return Residual(0.0, 0.0)
    return Residual(absolute, worst.relative, worst.block, worst.index)
