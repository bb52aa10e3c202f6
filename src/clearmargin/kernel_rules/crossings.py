"""Where lines along the axes cross the surface of a kernel machine (Fu, Ong, Keerthi, Hung and Goh, IJCNN 2004).

Through an anchor z runs one line for each axis l, {z with z_l := t, lower_l <= t <= upper_l}. A crossing is a t where a
function of the machine changes its sign; a t where it only touches zero, or is zero at an end of the line, is none. The
paper looks for crossings by Newton's method from the anchor, which finds one of them at most, and not always the
nearest. Here the function on a line is a polynomial (linear and polynomial kernels), or pieces of polynomials with a
bound on what they leave out (RBF), as `kernels` makes them, and `bernstein` finds all changes of sign of these.

A line is certified when no crossing can have been missed or invented, up to the rounding of f itself: it is not where f
comes so near to zero, without a visible change of sign, that two crossings cannot be told from a touch, or where f is
zero on a stretch. Sigmoid kernels are scanned on a grid and never certified.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import InvalidValueError
from clearmargin.kernel_rules.bernstein import SignChanges
from clearmargin.kernel_rules.kernels import KERNELS, Lines
from clearmargin.models.kernel_function import KernelFunction
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, float_array

__all__ = ["AllCrossings", "Crossings", "all_crossings", "nearest_crossings"]


@dataclass(frozen=True, slots=True, eq=False)
class Crossings:
    """The nearest crossings on both sides of each anchor along each axis.

    Parameters
    ----------
    below, above : ndarray of shape (m, n)
        Where they are; -inf and inf where there is none within the range.
    certified : ndarray of bool, shape (m, n)
        Whether no crossing of the line can have been missed.
    """

    below: FloatArray
    above: FloatArray
    certified: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class AllCrossings:
    """Every crossing of each line, by anchor, axis and position.

    Parameters
    ----------
    anchor, axis : ndarray of int, shape (c,)
        The line of each crossing.
    position : ndarray of shape (c,)
        Where on the line.
    function : ndarray of int, shape (c,)
        Which function changes its sign there.
    certified : ndarray of bool, shape (m, a)
        Whether no crossing of the line can have been missed, for each anchor and each of the axes asked for.
    """

    anchor: IntArray
    axis: IntArray
    position: FloatArray
    function: IntArray
    certified: BoolArray


def nearest_crossings(
    function: KernelFunction, anchors: ArrayLike, lower: ArrayLike, upper: ArrayLike
) -> Crossings:
    """Find how far one can go from each anchor along each axis until any of the functions changes its sign.

    All functions keep their signs on the open segment between `below` and `above`. A crossing at the anchor's own
    coordinate counts on both sides: the segment of an anchor on the surface is the anchor alone.

    Parameters
    ----------
    function : KernelFunction
        The machine.
    anchors : array-like of shape (m, n)
        Points; they may lie outside the range.
    lower, upper : array-like of shape (n,)
        The range of each column, ends included; finite.

    Returns
    -------
    Crossings
        In the units of the machine.

    Examples
    --------
    >>> plane = KernelFunction("linear", np.array([[1.0, 2.0]]), np.ones((1, 1)), np.array([-2.0]))
    >>> found = nearest_crossings(plane, [[0.0, 0.5]], [0.0, 0.0], [0.9, 3.0])
    >>> found.below, found.above
    (array([[-inf, -inf]]), array([[inf,  1.]]))
    """
    Z, low, high = _checked(function, anchors, lower, upper)
    below, above = np.full(Z.size, -np.inf), np.full(Z.size, np.inf)
    certified = np.ones(Z.size, dtype=bool)
    anchor = Z.reshape(-1)
    for found in _changes(function, Lines(Z, np.arange(function.n_features), low, high)):
        line = found.owner // function.n_functions
        is_below, is_above = found.position <= anchor[line], found.position >= anchor[line]
        np.maximum.at(below, line[is_below], found.position[is_below])
        np.minimum.at(above, line[is_above], found.position[is_above])
        certified[found.doubtful // function.n_functions] = False
    return Crossings(
        _read_only(below.reshape(Z.shape)),
        _read_only(above.reshape(Z.shape)),
        _read_only(certified.reshape(Z.shape)),
    )


def all_crossings(
    function: KernelFunction,
    anchors: ArrayLike,
    axes: int | Sequence[int] | None,
    lower: ArrayLike,
    upper: ArrayLike,
) -> AllCrossings:
    """Find every crossing of the lines through each anchor.

    Parameters
    ----------
    function : KernelFunction
        The machine.
    anchors : array-like of shape (m, n)
        Points; they may lie outside the range.
    axes : int or sequence of int, optional
        The directions of the lines; None for all.
    lower, upper : array-like of shape (n,)
        The range of each column, ends included; finite.

    Returns
    -------
    AllCrossings
        Sorted.

    Examples
    --------
    >>> bump = KernelFunction("rbf", np.zeros((1, 2)), np.ones((1, 1)), np.array([-0.5]), gamma=1.0)
    >>> all_crossings(bump, [[0.0, 0.0], [0.0, 0.5]], 0, [-3.0, -3.0], [3.0, 3.0]).position.round(3)
    array([-0.833,  0.833, -0.666,  0.666])
    """
    Z, low, high = _checked(function, anchors, lower, upper)
    chosen = _checked_axes(axes, function.n_features)
    q, a = function.n_functions, len(chosen)
    certified = np.ones(len(Z) * a, dtype=bool)
    owners, positions = [np.zeros(0, dtype=np.intp)], [np.zeros(0)]
    for found in _changes(function, Lines(Z, chosen, low, high)):
        owners.append(found.owner)
        positions.append(found.position)
        certified[found.doubtful // q] = False
    owner, position = np.concatenate(owners), np.concatenate(positions)
    order = np.lexsort((owner, position, owner // max(1, q)))
    owner, position = owner[order], position[order]
    line = owner // max(1, q)
    return AllCrossings(
        _read_only(line // max(1, a)),
        _read_only(chosen[line % max(1, a)]),
        _read_only(position),
        _read_only(owner % max(1, q)),
        _read_only(certified.reshape(len(Z), a)),
    )


def _changes(function: KernelFunction, lines: Lines) -> Iterator[SignChanges]:
    """Yield the changes of sign, lot by lot, with the owners of `Kernel.sign_changes`."""
    if not (len(lines.anchors) and len(lines.axes) and function.n_functions):
        return
    yield from KERNELS[function.kind].sign_changes(function, lines)


def _checked(
    function: KernelFunction, anchors: ArrayLike, lower: ArrayLike, upper: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    n = function.n_features
    Z = float_array(anchors, "the anchors")
    if Z.ndim != 2 or Z.shape[1] != n:
        raise InvalidValueError(
            f"the anchors have shape {Z.shape}, but the machine has {n} columns: (m, {n}) is needed"
        )
    low = float_array(lower, "the lower ends", shape=(n,))
    high = float_array(upper, "the upper ends", shape=(n,))
    for array, what in ((Z, "the anchors"), (low, "the lower ends"), (high, "the upper ends")):
        if not np.isfinite(array).all():
            where = np.argwhere(~np.isfinite(array))[0].tolist()
            raise InvalidValueError(
                f"{what} must be finite (position {where}); take the range of the data for a column without limits"
            )
    wrong = np.flatnonzero(low > high)
    if len(wrong):
        j = int(wrong[0])
        raise InvalidValueError(
            f"column {j} ranges from {low[j]:g} to {high[j]:g}: the lower end must not be above the upper"
        )
    return Z, low, high


def _checked_axes(axes: int | Sequence[int] | None, n: int) -> IntArray:
    if axes is None:
        return np.arange(n)
    chosen = np.atleast_1d(np.asarray(axes))
    if chosen.size == 0:
        return np.zeros(0, dtype=np.intp)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise InvalidValueError(f"axes must be positions of columns, not {axes!r}")
    if chosen.min() < 0 or chosen.max() >= n:
        raise InvalidValueError(f"axes must lie between 0 and {n - 1}, not {chosen.tolist()}")
    if len(np.unique(chosen)) < len(chosen):
        raise InvalidValueError(f"axes must not be named twice: {chosen.tolist()}")
    return chosen.astype(np.intp)


def _read_only(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array
