"""A program as plain arrays, the form in which backends take it.

minimise    c' x + x' P x / 2 + constant
subject to  row_lower <= A x <= row_upper,  lower <= x <= upper,  offset + G x in cones

Unknowns and rows are in the order of their blocks. The linear part comes in one piece; cones and quadratics
are compiled on their own, for the backends that take them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from clearmargin.solvers.large_value import FloatArray
    from clearmargin.solvers.matrix import Matrix
    from clearmargin.solvers.program import Cone, Linear, Program

__all__ = [
    "Compiled",
    "column_slices",
    "compile_cones",
    "compile_program",
    "compile_quadratics",
    "row_slices",
    "stack_columns",
]


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """The linear part of a program."""

    c: FloatArray
    lower: FloatArray
    upper: FloatArray
    is_integer: NDArray[np.bool_]
    A: sparse.csc_array[np.float64]
    row_lower: FloatArray
    row_upper: FloatArray
    constant: float


def compile_program(program: Program) -> Compiled:
    """Join the variables and linear rows of a program."""
    variables, linear = list(program.variables.values()), list(program.linear.values())
    return Compiled(
        c=_join(block.cost for block in variables),
        lower=_join(block.lower for block in variables),
        upper=_join(block.upper for block in variables),
        is_integer=np.repeat(
            [block.integer for block in variables], [block.size for block in variables]
        ),
        A=_stack(linear, column_slices(program)),
        row_lower=_join(block.lower for block in linear),
        row_upper=_join(block.upper for block in linear),
        constant=program.constant,
    )


def compile_cones(
    program: Program,
) -> tuple[sparse.csc_array[np.float64], FloatArray, list[int]]:
    """Return `G`, the offset, and the size of each cone of a program."""
    cones = list(program.cones.values())
    sizes = [size for block in cones for size in [block.size] * (block.rows // max(block.size, 1))]
    return _stack(cones, column_slices(program)), _join(block.offset for block in cones), sizes


def compile_quadratics(program: Program) -> sparse.csc_array[np.float64]:
    """Return `P` of a program."""
    columns = column_slices(program)
    size = sum(block.size for block in program.variables.values())
    total = sparse.csc_array((size, size))
    for block in program.quadratics.values():
        place = columns[block.variable]
        total = total + stack_columns([(place, place.start, block.matrix)], (size, size))
    return total


def column_slices(program: Program) -> dict[str, slice]:
    """Return where the unknowns of each variable block are."""
    return _slices((name, block.size) for name, block in program.variables.items())


def row_slices(blocks: Mapping[str, Linear] | Mapping[str, Cone]) -> dict[str, slice]:
    """Return where the rows of each constraint block are."""
    return _slices((name, block.rows) for name, block in blocks.items())


def stack_columns(
    pieces: Sequence[tuple[slice, int, Matrix]], shape: tuple[int, int]
) -> sparse.csc_array[np.float64]:
    """Assemble one matrix of given shape from `pieces` (columns, first row, matrix), top to bottom.

    Every entry is written once to its final place: the matrices are walked twice, first to count the
    entries per column and then to scatter them.
    """
    counts = np.zeros(shape[1], dtype=np.int64)
    parts = []
    for columns, top, matrix in pieces:
        part = matrix.entries()
        counts[columns] += part[0]
        parts.append((columns, top, *part))
    indptr = np.concatenate(([0], np.cumsum(counts)))
    indices = np.empty(indptr[-1], dtype=np.int32)
    data = np.empty(indptr[-1], dtype=np.float64)
    free = indptr[:-1].copy()
    for columns, top, per_column, rows, entries in parts:
        before = np.cumsum(per_column) - per_column
        place = np.repeat(free[columns] - before, per_column)
        place += np.arange(place.size)
        indices[place] = rows + np.int32(top)
        data[place] = entries
        free[columns] += per_column
    return sparse.csc_array((data, indices, indptr.astype(np.int32)), shape=shape)


def _stack(
    blocks: Sequence[Linear] | Sequence[Cone], columns: Mapping[str, slice]
) -> sparse.csc_array[np.float64]:
    pieces: list[tuple[slice, int, Matrix]] = []
    top = 0
    for block in blocks:
        pieces.extend((columns[name], top, matrix) for name, matrix in block.terms.items())
        top += block.rows
    return stack_columns(pieces, (top, max((c.stop for c in columns.values()), default=0)))


def _slices(sizes: Iterable[tuple[str, int]]) -> dict[str, slice]:
    found, start = {}, 0
    for name, size in sizes:
        found[name] = slice(start, start + size)
        start += size
    return found


def _join(vectors: Iterable[FloatArray]) -> FloatArray:
    parts = list(vectors)
    return np.concatenate(parts) if parts else np.zeros(0)
