"""Changes of sign of sums of sigmoids along axes, as far as a grid shows them.

Along axis l through an anchor z, f(t) = sum_i c_i tanh(U_i + gamma s_il (t - z_l)) + b with U_i = gamma z's_i + coef0.
A grid with several points for each unit of the largest slope is scanned, and each change of sign improved by Newton's
method in its bracket. Two crossings between neighbours on the grid are not seen: nothing here is certified.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import numpy as np

from clearmargin.kernel_rules.bernstein_crossings import SignChanges, bracketed_roots
from clearmargin.models.kernel_function import KernelFunction
from clearmargin.rules.value import FloatArray, IntArray

__all__ = ["sigmoid_changes"]

_BLOCK = 1 << 20
_FEWEST, _MOST = 64, 512
_POINTS_PER_UNIT = 8.0


def sigmoid_changes(
    function: KernelFunction,
    anchors: FloatArray,
    axes: IntArray,
    lower: FloatArray,
    upper: FloatArray,
) -> Iterator[SignChanges]:
    """Give the changes of sign that a grid shows, some anchors and one axis at a time.

    Parameters
    ----------
    function : KernelFunction
        With a sigmoid kernel.
    anchors : ndarray of shape (m, n)
        Points that the lines pass.
    axes : ndarray of int, shape (a,)
        The directions of the lines.
    lower, upper : ndarray of shape (n,)
        Ends of the lines.

    Yields
    ------
    SignChanges
        All lines are doubtful; the owner is (anchor * a + position among the axes) * q + function.
    """
    s, q = len(function.vectors), function.n_functions
    for k, axis in enumerate(axes.tolist()):
        slopes = function.gamma * function.vectors[:, axis]
        units = float(np.abs(slopes).max(initial=0.0) * (upper[axis] - lower[axis]))
        grid = np.linspace(
            lower[axis],
            upper[axis],
            1 + int(np.clip(ceil(_POINTS_PER_UNIT * units), _FEWEST, _MOST)),
        )
        rows = max(1, _BLOCK // (len(grid) * max(1, s)))
        for first in range(0, len(anchors), rows):
            Z = anchors[first : first + rows]
            U = function.gamma * (Z @ function.vectors.T) + function.coef0
            # U without the axis, so that t itself is the argument.
            U -= Z[:, axis, None] * slopes
            row, column, position = _changes(function, U, slopes, grid)
            owners = (((first + np.arange(len(Z))) * len(axes) + k)[:, None] * q) + np.arange(q)
            yield SignChanges(owners[row, column], position, owners.reshape(-1))


def _changes(
    function: KernelFunction, U: FloatArray, slopes: FloatArray, grid: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    values = np.tanh(U[:, None] + grid[:, None] * slopes) @ function.coefs + function.intercepts
    signs = np.moveaxis(np.sign(values), 1, 2)
    # A zero on the grid has the sign before it, so that it counts once or, when only touched, not at all.
    last = np.maximum.accumulate(np.where(signs != 0, np.arange(len(grid)), 0), axis=2)
    filled = np.take_along_axis(signs, last, axis=2)
    row, column, place = np.nonzero(filled[..., :-1] * filled[..., 1:] < 0)

    def evaluate(k: IntArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        found = np.tanh(U[row[k]] + t[:, None] * slopes)
        weights = function.coefs[:, column[k]].T
        value = (found * weights).sum(axis=1) + function.intercepts[column[k]]
        return value, ((1.0 - found**2) * weights * slopes).sum(axis=1)

    start = grid[last[row, column, place]]
    rising = filled[row, column, place] < 0
    return row, column, bracketed_roots(evaluate, start, grid[place + 1], rising)
