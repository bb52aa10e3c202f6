r"""The hunt for a point of a box where a function of a kernel machine is negative.

Descent within the box from several starts: from z towards the corner that the gradient points away from, by the best
of a few step lengths (the conditional gradient method of Frank and Wolfe, 1956, for a function that need not be
convex). Starts are the centre of the box and the support vectors that count negatively, clipped to the box. Whatever is
found is a witness only if `kernel_bounds` proves the sign at that point.
"""

from __future__ import annotations

import numpy as np

from clearmargin.kernel_rules.kernel_bounds import lower_bounds
from clearmargin.models.kernel_function import KernelFunction
from clearmargin.rules.value import FloatArray

__all__ = ["confirm", "descend", "gradients", "hunt"]

# Shares of the way to the corner, tried at once.
_STEPS = np.array([1.0, 0.5, 0.25, 0.1, 0.03, 0.01])
_ROUNDS = 30
_STARTS = 16
# A descent that gains less, relative to what is left to go, has arrived.
_GAIN = 1e-3


def gradients(function: KernelFunction, k: int, Z: FloatArray) -> FloatArray:
    """Give the gradients of one function at some points.

    Parameters
    ----------
    function : KernelFunction
        The functions.
    k : int
        Which one.
    Z : ndarray of shape (m, n)
        Points.

    Returns
    -------
    ndarray of shape (m, n)
        Gradients.

    Examples
    --------
    >>> bump = KernelFunction("rbf", np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
    >>> gradients(bump, 0, np.array([[0.5]])).round(3)
    array([[-0.779]])
    """
    a = function.coefs[:, k]
    gamma, degree = function.gamma, function.degree
    if function.kind == "linear":
        return np.asarray(np.tile(a @ function.vectors, (len(Z), 1)))
    values = function.kernel(Z)
    if function.kind == "rbf":
        weights = values * a
        pulls = weights @ function.vectors - weights.sum(axis=1)[:, None] * Z
        return np.asarray(2.0 * gamma * pulls)
    if function.kind == "sigmoid":
        rates = 1.0 - values**2
    else:
        inner = gamma * (Z @ function.vectors.T) + function.coef0
        rates = degree * inner ** max(degree - 1, 0)
    return np.asarray((gamma * rates * a) @ function.vectors)


def descend(
    function: KernelFunction,
    k: int,
    starts: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    rounds: int = _ROUNDS,
) -> tuple[FloatArray, FloatArray]:
    """Go down from all starts at once; stop when one is below 0, or nothing moves.

    Parameters
    ----------
    function : KernelFunction
        The functions.
    k : int
        Which one.
    starts : ndarray of shape (m, n)
        Points of the box.
    lower, upper : ndarray of shape (n,)
        The box.
    rounds : int, default 30
        Largest number of steps.

    Returns
    -------
    tuple of ndarray
        Points (m, n) and their values (m,), no higher than those of the starts.

    Examples
    --------
    >>> bump = KernelFunction("rbf", np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
    >>> descend(bump, 0, np.array([[0.5]]), np.array([-1.0]), np.array([2.0]))[0]
    array([[2.]])
    """
    points, values = starts, function.values(starts)[:, k]
    for _ in range(rounds):
        if bool((values < 0.0).any()):
            break
        corners = np.where(gradients(function, k, points) > 0.0, lower, upper)
        tried = points + _STEPS[:, None, None] * (corners - points)
        # Rounding may step over a side.
        tried = np.clip(tried, lower, upper)
        found = function.values(tried.reshape(-1, tried.shape[2]))[:, k].reshape(len(_STEPS), -1)
        best = found.argmin(axis=0)
        places = np.arange(len(points))
        reached = found[best, places]
        better = reached < values
        gained = values - reached > _GAIN * np.abs(values)
        points = np.where(better[:, None], tried[best, places], points)
        values = np.where(better, reached, values)
        if not bool(gained.any()):
            break
    return points, values


def confirm(function: KernelFunction, points: FloatArray) -> FloatArray | None:
    """Give the first point where a function is negative beyond all errors of rounding.

    Parameters
    ----------
    function : KernelFunction
        The functions.
    points : ndarray of shape (m, n)
        Points that may be witnesses.

    Returns
    -------
    ndarray of shape (n,) or None
        The point, if there is one.

    Examples
    --------
    >>> plane = KernelFunction("linear", np.ones((1, 1)), np.ones((1, 1)), np.zeros(1))
    >>> confirm(plane, np.array([[0.0], [-1.0]]))
    array([-1.])
    """
    if not len(points):
        return None
    q = range(function.n_functions)
    negated = function.take(q, [-1 for _ in q])
    proved = np.flatnonzero((lower_bounds(negated, points, points).value > 0.0).any(axis=1))
    return points[proved[0]] if len(proved) else None


def hunt(function: KernelFunction, lower: FloatArray, upper: FloatArray) -> FloatArray | None:
    """Look for a point of a box where a function is negative.

    Parameters
    ----------
    function : KernelFunction
        The functions.
    lower, upper : ndarray of shape (n,)
        The box.

    Returns
    -------
    ndarray of shape (n,) or None
        A proved one, or None if none was found.

    Examples
    --------
    >>> bump = KernelFunction("rbf", np.zeros((1, 1)), np.ones((1, 1)), np.array([-0.1]))
    >>> hunt(bump, np.array([-1.0]), np.array([2.0]))
    array([2.])
    """
    middle = np.clip(lower / 2.0 + upper / 2.0, lower, upper)
    for k in range(function.n_functions):
        against = function.coefs[:, k] < 0.0
        starts = np.vstack([middle, np.clip(function.vectors[against], lower, upper)])
        order = np.argsort(function.values(starts)[:, k], kind="stable")[:_STARTS]
        starts = starts[np.union1d(order, [0])]
        points, values = descend(function, k, starts, lower, upper)
        witness = confirm(function, points[values < 0.0])
        if witness is not None:
            return witness
    return None
