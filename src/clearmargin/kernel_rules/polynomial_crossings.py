"""Kernel functions along axes as polynomials: linear kernels and powers of them.

Along axis l through an anchor z a polynomial kernel of degree p is, with v = t - z_l and U_i = gamma z's_i + coef0,

    f(t) = sum_k C(p, k) v^k sum_i c_i U_i^(p-k) (gamma s_il)^k + b,

a polynomial in v whose coefficients for all anchors and axes are p + 1 matrix products. The linear kernel is p = 1.
Its Bernstein coefficients on [lower, upper] are values of its polar form, at j arguments v_upper and p - j arguments
v_lower: sums of terms no larger than those of f itself, unlike a shift to one end followed by a change of base.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import numpy as np

from clearmargin.kernel_rules.bernstein_crossings import EPS, Pieces
from clearmargin.models.kernel_function import KernelFunction
from clearmargin.rules.value import FloatArray, IntArray

__all__ = ["polynomial_pieces"]

# Numbers in the largest array of a block.
_BLOCK = 1 << 20


def polynomial_pieces(
    function: KernelFunction,
    anchors: FloatArray,
    axes: IntArray,
    lower: FloatArray,
    upper: FloatArray,
) -> Iterator[Pieces]:
    """Give the functions along all lines, some anchors at a time.

    Parameters
    ----------
    function : KernelFunction
        With a linear or a polynomial kernel.
    anchors : ndarray of shape (m, n)
        Points that the lines pass.
    axes : ndarray of int, shape (a,)
        The directions of the lines.
    lower, upper : ndarray of shape (n,)
        Ends of the lines.

    Yields
    ------
    Pieces
        One for each function on each line; the owner is (anchor * a + position among the axes) * q + function.
    """
    if function.kind == "linear":
        gamma, coef0, p = 1.0, 0.0, 1
    else:
        gamma, coef0, p = function.gamma, function.coef0, function.degree
    q, a = function.n_functions, len(axes)
    rows = max(1, _BLOCK // max(1, len(function.vectors), a * q * (p + 1)))
    for first in range(0, len(anchors), rows):
        Z = anchors[first : first + rows]
        coefs, error = _lines(function, Z, axes, (lower[axes], upper[axes]), (gamma, coef0, p))
        yield Pieces(
            coefs.reshape(-1, p + 1),
            error.reshape(-1),
            np.broadcast_to(lower[axes][:, None], error.shape).reshape(-1),
            np.broadcast_to(upper[axes][:, None], error.shape).reshape(-1),
            first * a * q + np.arange(error.size),
        )


@np.errstate(
    over="ignore", invalid="ignore"
)  # what is too large is seen by whoever uses the pieces
def _lines(
    function: KernelFunction,
    Z: FloatArray,
    axes: IntArray,
    ends: tuple[FloatArray, FloatArray],
    constants: tuple[float, float, int],
) -> tuple[FloatArray, FloatArray]:
    """Bernstein coefficients and their errors, over anchors, axes and functions."""
    low, high = ends[0] - Z[:, axes], ends[1] - Z[:, axes]
    reach = np.maximum(np.abs(low), np.abs(high)) + np.abs(Z[:, axes])
    taylor = _taylor(function, Z, axes, constants)
    coefs = _bernstein(taylor, low[..., None, None], high[..., None, None])
    return coefs, _error(function, Z, axes, reach, constants)


def _taylor(
    function: KernelFunction, Z: FloatArray, axes: IntArray, constants: tuple[float, float, int]
) -> FloatArray:
    """Coefficients of C(p, k) v^k, over anchors, axes, functions and k."""
    gamma, coef0, p = constants
    U = gamma * (Z @ function.vectors.T) + coef0
    S = gamma * function.vectors[:, axes]
    found = np.empty((len(Z), len(axes), function.n_functions, p + 1))
    power = np.ones_like(U)
    for k in range(p, -1, -1):
        sides = S**k
        for j, column in enumerate(function.coefs.T):
            found[:, :, j, k] = power @ (sides * column[:, None])
        power = power * U if k else power
    found[..., 0] += function.intercepts
    return found


def _bernstein(taylor: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The polar form at j arguments `high` and p - j arguments `low`; each argument shortens the row by one."""
    p = taylor.shape[-1] - 1
    found = np.empty_like(taylor)
    for j in range(p + 1):
        row = taylor
        for _ in range(p - j):
            row = row[..., :-1] + low * row[..., 1:]
        found[..., j] = row[..., 0]
        taylor = taylor[..., :-1] + high * taylor[..., 1:]
    return found


def _error(
    function: KernelFunction,
    Z: FloatArray,
    axes: IntArray,
    reach: FloatArray,
    constants: tuple[float, float, int],
) -> FloatArray:
    """What rounding may do: the unit of it times sum_i |c_i| (gamma |z| |s_i| + |coef0|)^p, |z| the largest on a line.

    The sums have as many terms as there are support vectors; their errors grow like the square root of that.
    """
    gamma, coef0, p = constants
    norms = np.sqrt((Z**2).sum(axis=1)[:, None] - Z[:, axes] ** 2 + reach**2)
    lengths = np.sqrt((function.vectors**2).sum(axis=1))
    size = np.broadcast_to(np.abs(function.intercepts), (*norms.shape, function.n_functions)).copy()
    for k in range(p + 1):
        moment = (np.abs(function.coefs) * (lengths**k)[:, None]).sum(axis=0)
        size += (comb(p, k) * (abs(gamma) * norms) ** k * abs(coef0) ** (p - k))[..., None] * moment
    terms = len(function.vectors) + function.n_features
    return np.asarray(EPS * (8.0 + 4.0 * p + 4.0 * np.sqrt(terms)) * size)
