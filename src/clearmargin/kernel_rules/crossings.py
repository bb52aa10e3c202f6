"""Where lines along the axes cross the surface of a kernel machine (Fu, Ong, Keerthi, Hung and Goh, IJCNN 2004).

Through an anchor z runs one line for each axis l, {z with z_l := t, lower_l <= t <= upper_l}. A crossing is a t where a
function of the machine changes its sign. The paper looks for crossings by Newton's method from the anchor, which finds
one of them at most, and not always the nearest. Here the functions are evaluated on a grid, and the first place on
either side where one has another sign than at the anchor is found by bisection. Two crossings between neighbours of
the grid are missed; the boxes are only where searches start, and nothing rests on them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import InvalidValueError
from clearmargin.kernel_rules.kernels import KERNELS, PolynomialLines, RBFLines
from clearmargin.models.kernel_function import KernelFunction
from clearmargin.rules.value import BoolArray, FloatArray

# Numbers in the largest array of a block.
_BLOCK = 1 << 20
# A crossing is found to this share of a step of the grid.
_HALVINGS = 20


def nearest_crossings(
    function: KernelFunction, anchors: ArrayLike, lower: ArrayLike, upper: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Find how far one can go from each anchor along each axis, down and up, until a function changes its sign."""
    Z, low, high = (np.asarray(array, dtype=np.float64) for array in (anchors, lower, upper))
    below, above = np.full(Z.shape, -np.inf), np.full(Z.shape, np.inf)
    if not Z.size or not function.n_functions or not len(function.vectors):
        return below, above
    kernel = KERNELS[function.kind]
    steps = [kernel.steps(function, width) for width in (high - low).tolist()]
    rows = max(1, _BLOCK // max(len(function.vectors), max(steps) * function.n_functions))
    for first in range(0, len(Z), rows):
        block = slice(first, first + rows)
        with np.errstate(over="ignore", invalid="ignore"):
            signs = np.where(function.values(Z[block]) > 0.0, 1.0, -1.0)
            lines = kernel.lines(function, Z[block])
            for axis, count in enumerate(steps):
                lines.turn_to(axis)
                grid = np.linspace(low[axis], high[axis], count + 1)
                values = lines.on_grid(grid)
                if not np.isfinite(values).all():
                    raise InvalidValueError(
                        "the values of the kernel function along a line are too large for floats; scale the columns"
                    )
                lost = (values * signs[:, None] < 0.0).any(axis=2)
                start = Z[block, axis]
                is_above = grid > start[:, None]
                above[block, axis] = _first_lost(lines, signs, start, grid, lost & is_above, np.inf)
                below[block, axis] = _first_lost(
                    lines, signs, start, grid[::-1], (lost & ~is_above)[:, ::-1], -np.inf
                )
    return below, above


def _first_lost(
    lines: PolynomialLines | RBFLines,
    signs: FloatArray,
    start: FloatArray,
    grid: FloatArray,
    lost: BoolArray,
    never: float,
) -> FloatArray:
    """Give for each line the place where a sign is lost first on the way along the grid, `never` where none is."""
    found = np.full(len(start), never)
    rows = np.flatnonzero(lost.any(axis=1))
    place = lost[rows].argmax(axis=1)
    outside, inside = grid[place], grid[np.maximum(place - 1, 0)]
    # The line begins at its anchor, which may be nearer than the last place of the grid.
    limit = np.maximum if never > 0.0 else np.minimum
    inside = limit(inside, start[rows])
    for _ in range(_HALVINGS):
        middle = 0.5 * (inside + outside)
        beyond = (lines.at(rows, middle) * signs[rows] < 0.0).any(axis=1)
        outside, inside = np.where(beyond, middle, outside), np.where(beyond, inside, middle)
    found[rows] = inside
    return found
