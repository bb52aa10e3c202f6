"""Sums of Gaussians along axes as polynomials, with a bound on the error.

Along axis l through an anchor z an RBF kernel separates: f(t) = sum_i c_i exp(-gamma (t - s_il)^2) + b with
c_i = a_i exp(-gamma (|z - s_i|^2 - (z_l - s_il)^2)). The second factor does not know the anchor. On a cell of t of
half-width r it is, in u = (t - middle) / r, a Taylor series whose terms follow from two before them,

    (k + 1) tau_(k+1) = 2 gamma r x tau_k - 2 gamma r^2 tau_(k-1),    x = s_il - middle, tau_0 = exp(-gamma x^2),

cut off at a degree where the rest is below rounding and brought down to a lower one by dropping Chebyshev terms, whose
sizes are known. So the pieces of all lines of an axis are one matrix product, there is one exponential for each
anchor, support vector and axis, and no other however often a cell is halved or a root improved.

The usual way, a grid of step h with the certificate min(|f_a|, |f_b|) > gamma sum|c| h^2 / 4, needs an exponential for
each support vector again wherever a cell is halved and at each step of Newton's method.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import ceil, comb, factorial, sqrt

import numpy as np

from clearmargin.kernel_rules.bernstein_crossings import EPS, Pieces
from clearmargin.models.kernel_function import KernelFunction
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["rbf_pieces"]

# Kernel values of a block: 16 MB, enough rows that the tables of the cells cost little beside them.
_BLOCK = 1 << 21
# Coefficients of a block.
_PIECES = 1 << 21
# Half-width of the widest cell, in units of 1 / sqrt(gamma): about 12 coefficients for each such unit.
_HALF_WIDTH = 1.0
# Beyond this distance (in the same units) a Gaussian is below exp(-60), less than _REST.
_REACH = sqrt(60.0)
# What the terms beyond the Taylor polynomial add, for each unit of sum|c|; the degree is chosen by it.
_REST = 1e-21
# Smaller exponents would make denormal numbers, which are slow.
_LEAST_EXPONENT = -600.0


def rbf_pieces(
    function: KernelFunction,
    anchors: FloatArray,
    axes: IntArray,
    lower: FloatArray,
    upper: FloatArray,
) -> Iterator[Pieces]:
    """Give the functions along all lines, some anchors and one axis at a time.

    Parameters
    ----------
    function : KernelFunction
        With an RBF kernel.
    anchors : ndarray of shape (m, n)
        Points that the lines pass.
    axes : ndarray of int, shape (a,)
        The directions of the lines.
    lower, upper : ndarray of shape (n,)
        Ends of the lines.

    Yields
    ------
    Pieces
        All of one degree; the owner is (anchor * a + position among the axes) * q + function.
    """
    # In units of 1 / sqrt(gamma), and centred, so that the squares that cancel are small.
    root = sqrt(function.gamma)
    s, q = len(function.vectors), function.n_functions
    centre = function.vectors.mean(axis=0) if s else np.zeros(function.n_features)
    S, Z = root * (function.vectors - centre), root * (anchors - centre)
    cells = [
        _Cells.of(function.vectors[:, k], lower[k], upper[k], root, centre[k])
        for k in axes.tolist()
    ]
    basis = _basis(*_degrees(max(one.widest for one in cells)))
    most = max(len(one.middles) for one in cells) * q * basis.shape[1]
    rows = max(1, min(_BLOCK // max(1, s), _PIECES // max(1, most)))
    squares = (S**2).sum(axis=1)
    for first in range(0, len(Z), rows):
        block = Z[first : first + rows]
        own = (block**2).sum(axis=1)
        minus_distance = 2.0 * (block @ S.T) - own[:, None] - squares
        # The exponents are differences of numbers as large as the squares.
        unit = EPS * (16.0 + 2.0 * sqrt(s) + own + squares.max(initial=0.0))
        E = np.empty_like(minus_distance)
        for k, axis in enumerate(axes.tolist()):
            _fill(E, minus_distance, block[:, axis], S[:, axis])
            coefs, error = _products(function, E, S[:, axis], cells[k], basis, unit)
            owner = ((first + np.arange(len(block))) * len(axes) + k)[:, None] * q + np.arange(q)
            edges = cells[k].edges[:, None, None]
            yield Pieces(
                coefs.reshape(-1, basis.shape[1]),
                error.reshape(-1),
                np.broadcast_to(edges[:-1], error.shape).reshape(-1),
                np.broadcast_to(edges[1:], error.shape).reshape(-1),
                np.broadcast_to(owner, error.shape).reshape(-1),
            )


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """The cells of an axis: their edges, and in units of 1 / sqrt(gamma) from the centre their middles and half-widths.

    A stretch that no Gaussian reaches is one cell, however wide it is.
    """

    edges: FloatArray
    middles: FloatArray
    halves: FloatArray
    # How far the edges are from zero: a middle was rounded there, before the centre was taken from it.
    outer: FloatArray

    @classmethod
    def of(
        cls, sides: FloatArray, lower: float, upper: float, root: float, centre: float
    ) -> _Cells:
        """Divide the range of an axis, given the coordinates of the support vectors."""
        reach = _REACH / root if root else np.inf
        sides = np.sort(sides)
        gaps = np.flatnonzero(np.diff(sides) > 2.0 * reach)
        ends = [sides[:1] - reach, sides[gaps] + reach, sides[gaps + 1] - reach, sides[-1:] + reach]
        knots = np.unique(np.clip(np.concatenate([*ends, [lower, upper]]), lower, upper)).tolist()
        parts = [np.array([lower])]
        for start, end in pairwise(knots):
            middle = 0.5 * (start + end)
            near = np.searchsorted(sides, [middle - reach, middle + reach])
            count = ceil((end - start) * root / (2.0 * _HALF_WIDTH)) if near[0] < near[1] else 1
            parts.append(np.linspace(start, end, max(1, count) + 1)[1:])
        edges = np.concatenate(parts if len(knots) > 1 else [[lower, upper]])
        middles = root * (0.5 * (edges[:-1] + edges[1:]) - centre)
        outer = root * np.maximum(np.abs(edges[:-1]), np.abs(edges[1:]))
        return cls(edges, middles, 0.5 * root * np.diff(edges), outer)

    @property
    def is_empty(self) -> BoolArray:
        """Which cells no Gaussian reaches, among those that are too wide for a table."""
        return np.asarray(self.halves > 1.001 * _HALF_WIDTH)

    @property
    def widest(self) -> float:
        """The largest half-width of a cell that has a table."""
        return float(self.halves[~self.is_empty].max(initial=0.0))


def _fill(E: FloatArray, minus_distance: FloatArray, own: FloatArray, sides: FloatArray) -> None:
    """Put the factors of an axis, which do not know t, in place."""
    np.subtract(own[:, None], sides, out=E)
    E *= E
    E += minus_distance
    np.clip(E, _LEAST_EXPONENT, 0.0, out=E)
    np.exp(E, out=E)


def _products(
    function: KernelFunction,
    E: FloatArray,
    sides: FloatArray,
    cells: _Cells,
    basis: FloatArray,
    unit: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Coefficients and errors of some lines of one axis, over cells, anchors and functions."""
    weights, q, width = function.coefs, function.n_functions, basis.shape[1]
    coefs = np.empty((len(cells.middles), len(E), q, width))
    error = np.empty((len(cells.middles), len(E), q))
    sizes = np.abs(weights)
    floor = _REST * (E @ sizes) + np.exp(_LEAST_EXPONENT) * sizes.sum(axis=0)
    floor += 4.0 * EPS * np.abs(function.intercepts)
    for j, (middle, half) in enumerate(zip(cells.middles, cells.halves, strict=True)):
        x = sides - middle
        near = np.flatnonzero(np.abs(x) < (0.0 if cells.is_empty[j] else _REACH + half))
        few = len(near) < 0.7 * len(x)
        factors, weight, x = (E[:, near], weights[near], x[near]) if few else (E, weights, x)
        columns = _table(x, float(half), basis)
        # x is a difference, too, and a Gaussian changes by 2 |x| of what x does.
        far = min(np.abs(x).max(initial=0.0), _REACH + half)
        units = unit + EPS * 4.0 * far * (far + abs(middle) + cells.outer[j])
        for h in range(q):
            # The last two bound the error, so they take the weights without their signs.
            signed = columns * weight[:, h : h + 1]
            np.abs(signed[:, -2:], out=signed[:, -2:])
            product = factors @ signed
            coefs[j, :, h] = product[:, :-2]
            error[j, :, h] = product[:, -2] * units + product[:, -1]
    coefs += function.intercepts[:, None]
    error += floor
    return coefs, error


def _table(x: FloatArray, half: float, basis: FloatArray) -> FloatArray:
    """Bernstein coefficients of exp(-(half u - x)^2), |u| <= 1, for each x; the sum of all terms; what is dropped."""
    terms, width = basis.shape
    series = np.empty((terms, len(x)))
    # What is far away is in _REST; it would make denormal numbers, too.
    series[0] = np.where(np.abs(x) < _REACH + half, np.exp(-(x**2)), 0.0)
    previous = np.zeros(len(x))
    for k in range(terms - 1):
        series[k + 1] = ((2.0 * half) * x * series[k] - (2.0 * half**2) * previous) / (k + 1)
        previous = series[k]
    sizes = np.abs(series)
    found = np.empty((len(x), width + 2))
    np.matmul(series.T, basis, out=found[:, :width])
    found[:, width] = sizes.sum(axis=0)
    found[:, width + 1] = _dropped(terms - 1, width - 1) @ sizes
    return found


def _degrees(half: float) -> tuple[int, int]:
    """Degrees of the Taylor polynomial and of what is kept of it.

    By Cramer's inequality |d^n exp(-x^2)| <= 1.09 2^(n/2) sqrt(n!), so the terms from n on are at most
    1.09 (sqrt(2) half)^n / sqrt(n!) and less than half of the one before; interpolation at Chebyshev's nodes
    gains 2^(n-1).
    """
    taylor = kept = 1
    while 2.2 * (sqrt(2.0) * half) ** (taylor + 1) / sqrt(factorial(taylor + 1)) > _REST:
        taylor += 1
    while 2.2 * (sqrt(0.5) * half) ** (kept + 1) / sqrt(factorial(kept + 1)) > EPS:
        kept += 1
    return max(taylor, kept), kept


@lru_cache(maxsize=64)
def _basis(taylor: int, kept: int) -> FloatArray:
    """Row k: Bernstein coefficients on [-1, 1] of u^k, for k > kept of its Chebyshev expansion up to T_kept."""
    bernstein = np.array([_monomial(k, kept) for k in range(kept + 1)])
    to_power = np.zeros((kept + 1, kept + 1))
    for k in range(kept + 1):
        to_power[k, : k + 1] = np.polynomial.chebyshev.cheb2poly(np.eye(kept + 1)[k, : k + 1])
    lowered = [
        _chebyshev(k)[: kept + 1] @ to_power @ bernstein for k in range(kept + 1, taylor + 1)
    ]
    return np.vstack([bernstein, *lowered])


@lru_cache(maxsize=64)
def _dropped(taylor: int, kept: int) -> FloatArray:
    """How far u^k is from the row of the basis for it."""
    return np.array([_chebyshev(k)[kept + 1 :].sum() for k in range(taylor + 1)])


def _monomial(k: int, p: int) -> list[float]:
    """Bernstein coefficients of u^k on [-1, 1] in degree p: the polar form at j arguments 1 and p - j arguments -1."""
    return [
        sum(comb(j, i) * comb(p - j, k - i) * (-1) ** (k - i) for i in range(k + 1)) / comb(p, k)
        for j in range(p + 1)
    ]


def _chebyshev(k: int) -> FloatArray:
    """Coefficients of u^k in T_0, ..., T_k."""
    return np.asarray(np.polynomial.chebyshev.poly2cheb(np.eye(k + 1)[k]))
