r"""The kernels, each in one class: its gradient, its models over boxes, and its changes of sign along axes.

Everything in this room that depends on the kernel is here; `KERNELS` lists the classes by the names that libsvm gives
to the kernels. The values themselves are in `KernelFunction.kernel` (`models/kernel_function.py`), because reading a
fitted machine needs them, too.

**How to add a kernel.** Write its values into `KernelFunction.kernel` and its name into `KernelKind`. The four
kernels that scikit-learn's machines know by name are here already; any other one is a callable there, and such a
machine keeps neither its support vectors nor its parameters where the reader in `models/kernel_machine.py` looks:
teach the reader of SVC to recognise the callable, to take the vectors from the training rows, and to give gamma and
the like. Then write a class here with the four methods of `Kernel`, and put it into `KERNELS`. `gradients` may be
rough: what it leads to is proved afterwards. `expand` must hold for every real point of the box, rounding included:
it is all that a proof rests on. That goes for slopes, too: slope times rate, plus or minus the error of the rate,
must hold every partial derivative in the box (a kink within the box widens the error), since coordinates are fixed by
its sign. A kernel that is no function of one inner product gives its range alone. `sign_changes` may call all lines
doubtful (as that of the sigmoid kernel does); then boxes still start from what it finds, but nothing rests on it. In
`tests/kernel_rules`, `test_kernels.py` holds models beside the kernel itself, `test_bounds.py` bounds beside exact
arithmetic, `test_box_search.py` gradients beside differences, `test_crossings.py` crossings beside a fine grid: add
the kernel to each.

**Models over boxes.** A box is centre + v, abs(v_j) <= h_j. Around its centre each is a function of one number,
u_i = w_i'v::

    growth(v) k(centre + v, s_i) = c0_i + c1_i u_i + c2_i u_i^2 + e_i,    -below_i <= e_i <= above_i,
    abs(u_i) <= r_i = sum_j abs(w_ij) h_j

so that the sum over the support vectors is again a quadratic, in which terms of either sign cancel before anything is
bounded (`bounds.py`). Where r is large the range of the kernel itself is the better model; each support vector takes
the one that errs less.

**Along an axis** l through an anchor z the function is one of a single number t. It is written as polynomials in
Bernstein form with a bound on what they leave out (`bernstein.py`), so that no change of sign is missed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import ceil, comb, factorial, sqrt
from typing import NamedTuple

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.kernel_rules.bernstein import (
    EPS,
    Pieces,
    SignChanges,
    bracketed_roots,
    changes_in_lots,
)
from clearmargin.models.kernel_function import KernelFunction, KernelKind
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = [
    "KERNELS",
    "SAFETY",
    "Expansion",
    "Kernel",
    "LinearKernel",
    "Lines",
    "PolynomialKernel",
    "RBFKernel",
    "SigmoidKernel",
    "count_roundings",
]

# Eight times the relative error of one rounding, half the distance from 1 to the next float; see `bounds`.
SAFETY = 8.0 * 2.0**-53
# Numbers in the largest array of a block.
_BLOCK = 1 << 20


class Lines(NamedTuple):
    """Lines along axes through points: one for each anchor and axis.

    Parameters
    ----------
    anchors : ndarray of shape (m, n)
        Points that the lines pass.
    axes : ndarray of int, shape (a,)
        The directions of the lines.
    lower, upper : ndarray of shape (n,)
        Ends of the lines.
    """

    anchors: FloatArray
    axes: IntArray
    lower: FloatArray
    upper: FloatArray


class Kernel(ABC):
    """What a kernel has to tell of itself; subclasses say how."""

    def growth_rate(self, function: KernelFunction) -> float:
        """Give g of the factor growth(v) = exp(g abs(v)^2) that `expand` takes out; 0 where it takes none."""
        return 0.0

    @abstractmethod
    def gradients(self, function: KernelFunction, k: int, Z: FloatArray) -> FloatArray:
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
        """

    @abstractmethod
    def expand(self, function: KernelFunction, centre: FloatArray, half: FloatArray) -> Expansion:
        """Expand the kernel around the centres of boxes.

        Parameters
        ----------
        function : KernelFunction
            With this kernel.
        centre, half : ndarray of shape (B, n)
            Centres of the boxes, and half their sides.

        Returns
        -------
        Expansion
            The models.
        """

    @abstractmethod
    def sign_changes(self, function: KernelFunction, lines: Lines) -> Iterator[SignChanges]:
        """Find where the functions change sign on lines, lot by lot.

        Parameters
        ----------
        function : KernelFunction
            With this kernel.
        lines : Lines
            Where to look.

        Yields
        ------
        SignChanges
            The owner is (anchor * a + position among the axes) * q + function.
        """


class _PiecewiseKernel(Kernel):
    """A kernel that is polynomials in Bernstein form along an axis, so that no change of sign is missed."""

    @abstractmethod
    def pieces(self, function: KernelFunction, lines: Lines) -> Iterator[Pieces]:
        """Write the functions along all lines as polynomials, lot by lot; owners as for `sign_changes`."""

    def sign_changes(self, function: KernelFunction, lines: Lines) -> Iterator[SignChanges]:
        """Find all changes of sign."""
        return changes_in_lots(self.pieces(function, lines))


@dataclass(frozen=True, slots=True, eq=False)
class Expansion:
    """Quadratic models of all kernels (s) over some boxes (B), and the range of the kernels.

    Parameters
    ----------
    slopes : ndarray of shape (B or 1, s, n)
        The vectors w_i.
    constant, first, second : ndarray of shape (B, s)
        c0, c1 and c2.
    below, above : ndarray of shape (B, s)
        How far the kernel can be under and over its model.
    third, third_first, saved : ndarray of shape (B, s)
        With a term c3 u^3 in the model, its coefficient, that of u, and how much less the kernel is then off by.
    rate, rate_error : ndarray of shape (B, s)
        The derivative by u_i is rate_i + 2 c2_i u_i, up to rate_error_i, which covers the errors of rounding.
    reach : ndarray of shape (B, s)
        r, the largest abs(u_i).
    low, high : ndarray of shape (B, s)
        Range of the kernel itself.
    noise : ndarray of shape (B, s)
        Size of the terms times the number of roundings that they meet, up to the final sum.
    growth : ndarray of shape (B,)
        The largest g abs(v)^2; 0 where no factor was taken out.
    """

    slopes: FloatArray
    constant: FloatArray
    first: FloatArray
    second: FloatArray
    below: FloatArray
    above: FloatArray
    third: FloatArray
    third_first: FloatArray
    saved: FloatArray
    rate: FloatArray
    rate_error: FloatArray
    reach: FloatArray
    low: FloatArray
    high: FloatArray
    noise: FloatArray
    growth: FloatArray


def count_roundings(function: KernelFunction) -> float:
    """Count the roundings that a term meets in sums over support vectors and over coordinates, and some of each kernel.

    Parameters
    ----------
    function : KernelFunction
        Tells how many there are.

    Returns
    -------
    float
        An upper bound.

    Examples
    --------
    >>> count_roundings(KernelFunction("rbf", np.zeros((5, 2)), np.ones((5, 1)), np.zeros(1)))
    25.0
    """
    return len(function.vectors) + 2.0 * function.n_features + 16.0


class PolynomialKernel(_PiecewiseKernel):
    r"""(gamma s'z + coef0)^degree.

    **Models.** With y = gamma s_i'z + coef0, a box centre + v has y = y_i + u_i, u_i = w_i'v and w_i = gamma s_i, and
    (y + u)^d = sum_k (d over k) y^(d-k) u^k. Up to degree 2 the quadratic model is exact. Higher powers of u are
    replaced by the nearest of lower degree: u^3 by 3/4 r^2 u up to r^3 / 4 and u^4 by r^2 u^2 - r^4 / 8 up to r^4 / 8
    (Chebyshev), further odd powers by 0 up to r^k, even ones by r^k / 2 up to r^k / 2. The third power is also offered
    as it is, for sums of cubes.

    **Along an axis**, with v = t - z_l and U_i = gamma z's_i + coef0,

        f(t) = sum_k C(p, k) v^k sum_i c_i U_i^(p-k) (gamma s_il)^k + b,

    a polynomial in v whose coefficients for all anchors and axes are p + 1 matrix products. Its Bernstein coefficients
    on [lower, upper] are values of its polar form, at j arguments v_upper and p - j arguments v_lower: sums of terms no
    larger than those of f itself, unlike a shift to one end followed by a change of base.

    Examples
    --------
    >>> square = KernelFunction("poly", np.ones((1, 1)), np.ones((1, 1)), np.zeros(1), degree=2)
    >>> model = PolynomialKernel().expand(square, np.array([[3.0]]), np.array([[1.0]]))
    >>> [float(part[0, 0]) for part in (model.constant, model.first, model.second, model.below)]
    [9.0, 6.0, 1.0, 0.0]
    """

    def constants(self, function: KernelFunction) -> tuple[float, float, int]:
        """Give gamma, coef0 and the degree."""
        return function.gamma, function.coef0, function.degree

    def gradients(self, function: KernelFunction, k: int, Z: FloatArray) -> FloatArray:
        """Give the gradients of one function at some points."""
        gamma, coef0, degree = self.constants(function)
        inner = gamma * (Z @ function.vectors.T) + coef0
        rates = degree * inner ** max(degree - 1, 0)
        return np.asarray((gamma * rates * function.coefs[:, k]) @ function.vectors)

    def expand(self, function: KernelFunction, centre: FloatArray, half: FloatArray) -> Expansion:
        """Expand the kernel around the centres of boxes."""
        gamma, coef0, degree = self.constants(function)
        inner = _Inner.of(function.vectors * gamma, coef0, centre, half)
        often = count_roundings(function) + (function.n_features + 16.0) * (degree + 1.0)
        size = inner.size + inner.reach
        rate_noise = often * degree * size ** max(degree - 1, 0)
        return inner.model(
            _expand_power(inner.y, inner.reach, degree), often * size**degree, rate_noise
        )

    def pieces(self, function: KernelFunction, lines: Lines) -> Iterator[Pieces]:
        """Make one piece for each function on each line, some anchors at a time."""
        anchors, axes, lower, upper = lines
        gamma, coef0, p = self.constants(function)
        q, a = function.n_functions, len(axes)
        rows = max(1, _BLOCK // max(1, len(function.vectors), a * q * (p + 1)))
        for first in range(0, len(anchors), rows):
            Z = anchors[first : first + rows]
            coefs, error = _polynomial_lines(
                function, Z, axes, (lower[axes], upper[axes]), (gamma, coef0, p)
            )
            yield Pieces(
                coefs.reshape(-1, p + 1),
                error.reshape(-1),
                np.broadcast_to(lower[axes][:, None], error.shape).reshape(-1),
                np.broadcast_to(upper[axes][:, None], error.shape).reshape(-1),
                first * a * q + np.arange(error.size),
            )


class LinearKernel(PolynomialKernel):
    """s'z: the polynomial kernel of degree 1 with gamma = 1 and coef0 = 0."""

    def constants(self, function: KernelFunction) -> tuple[float, float, int]:
        """Give gamma, coef0 and the degree."""
        return 1.0, 0.0, 1

    def gradients(self, function: KernelFunction, k: int, Z: FloatArray) -> FloatArray:
        """Give the gradients of one function at some points."""
        return np.asarray(np.tile(function.coefs[:, k] @ function.vectors, (len(Z), 1)))


@dataclass(frozen=True, slots=True, eq=False)
class _Inner:
    """The argument y_i + u_i of kernels of an inner product, over boxes (B) and support vectors (s)."""

    slopes: FloatArray
    y: FloatArray
    reach: FloatArray
    # What y was summed from: its rounding errors are relative to this.
    size: FloatArray

    @classmethod
    def of(cls, slopes: FloatArray, shift: float, centre: FloatArray, half: FloatArray) -> _Inner:
        y = centre @ slopes.T + shift
        reach = half @ np.abs(slopes).T
        return cls(slopes, y, reach, np.abs(centre) @ np.abs(slopes).T + abs(shift))

    def model(
        self, parts: tuple[FloatArray, ...], noise: FloatArray, rate_noise: FloatArray
    ) -> Expansion:
        """Return the expansion; where it errs more than the range of the kernel is wide, the middle of the range."""
        reach = self.reach
        constant, first, second, third, error, rate, rate_error, low, high = parts
        rate_error += SAFETY * rate_noise
        flat = 2.0 * error > high - low
        spread = np.where(flat, (high - low) / 2.0, error)
        return Expansion(
            self.slopes[None],
            np.where(flat, (low + high) / 2.0, constant),
            np.where(flat, 0.0, first),
            np.where(flat, 0.0, second),
            spread,
            spread,
            np.where(flat, 0.0, third),
            np.where(flat, 0.0, first - 0.75 * third * reach**2),
            np.where(flat, 0.0, np.abs(third) * reach**3 / 4.0),
            rate,
            # The derivative's model has the same term in u; where that is dropped, it is an error.
            np.where(flat, rate_error + 2.0 * np.abs(second) * reach, rate_error),
            reach,
            low,
            high,
            noise,
            np.zeros(len(reach)),
        )


def _expand_power(y: FloatArray, r: FloatArray, degree: int) -> tuple[FloatArray, ...]:
    """Return the model of (y + u)^degree, its error, that of the derivative, and the range."""
    constant, first, second, third, error, rate, rate_error = np.zeros((7, *y.shape))
    for k in range(degree + 1):
        term = comb(degree, k) * y ** (degree - k)
        size = np.abs(term) * r**k
        if k == 0:
            constant += term
        elif k == 1:
            first += term
            rate += term
        elif k == 2:
            second += term
        elif k == 3:
            third += term
            first += 0.75 * term * r**2
            error += size / 4.0
            # The derivative 3 u^2 lies in [0, 3 r^2].
            rate += 1.5 * term * r**2
            rate_error += 1.5 * np.abs(term) * r**2
        elif k == 4:
            second += term * r**2
            constant -= term * r**4 / 8.0
            error += size / 8.0
            # 4 u^3 - 2 r^2 u, whose largest value on [-r, r] is at the end.
            rate_error += 2.0 * np.abs(term) * r**3
        else:
            constant += 0.0 if k % 2 else term * r**k / 2.0
            error += size / (1.0 if k % 2 else 2.0)
            rate_error += k * np.abs(term) * r ** (k - 1)
    ends = np.stack([(y - r) ** degree, (y + r) ** degree])
    straddles = (np.abs(y) <= r) & (degree > 0 and degree % 2 == 0)
    low = np.where(straddles, 0.0, ends.min(axis=0))
    return constant, first, second, third, error, rate, rate_error, low, ends.max(axis=0)


# What is too large is seen by whoever uses the pieces.
@np.errstate(over="ignore", invalid="ignore")
def _polynomial_lines(
    function: KernelFunction,
    Z: FloatArray,
    axes: IntArray,
    ends: tuple[FloatArray, FloatArray],
    constants: tuple[float, float, int],
) -> tuple[FloatArray, FloatArray]:
    """Compute Bernstein coefficients and their errors, over anchors, axes and functions."""
    low, high = ends[0] - Z[:, axes], ends[1] - Z[:, axes]
    reach = np.maximum(np.abs(low), np.abs(high)) + np.abs(Z[:, axes])
    taylor = _taylor(function, Z, axes, constants)
    coefs = _bernstein(taylor, low[..., None, None], high[..., None, None])
    return coefs, _polynomial_error(function, Z, axes, reach, constants)


def _taylor(
    function: KernelFunction, Z: FloatArray, axes: IntArray, constants: tuple[float, float, int]
) -> FloatArray:
    """Compute the coefficients of C(p, k) v^k, over anchors, axes, functions and k."""
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
    """Return the polar form at j arguments `high` and p - j arguments `low`; each argument shortens the row by one."""
    p = taylor.shape[-1] - 1
    found = np.empty_like(taylor)
    for j in range(p + 1):
        row = taylor
        for _ in range(p - j):
            row = row[..., :-1] + low * row[..., 1:]
        found[..., j] = row[..., 0]
        taylor = taylor[..., :-1] + high * taylor[..., 1:]
    return found


def _polynomial_error(
    function: KernelFunction,
    Z: FloatArray,
    axes: IntArray,
    reach: FloatArray,
    constants: tuple[float, float, int],
) -> FloatArray:
    """Bound rounding errors: the unit times sum_i |c_i| (gamma |z| |s_i| + |coef0|)^p, |z| the largest on a line.

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


# Points of the grid of a line, and how many there are for each unit of the largest slope.
_MIN_POINTS, _MAX_POINTS = 64, 512
_POINTS_PER_UNIT = 8.0


class SigmoidKernel(Kernel):
    r"""tanh(gamma s'z + coef0).

    **Models.** tanh(y + u) = t + (1 - t^2) u - t (1 - t^2) u^2 up to L r^3 / 6, t = tanh(y), where L bounds the third
    derivative -2 (1 - tanh^2) (1 - 3 tanh^2) between y - r and y + r.

    **Along an axis**, f(t) = sum_i c_i tanh(U_i + gamma s_il (t - z_l)) + b with U_i = gamma z's_i + coef0. A grid with
    several points for each unit of the largest slope is scanned, and each change of sign improved by Newton's method in
    its bracket. Two crossings between neighbours on the grid are not seen: all lines are doubtful.
    """

    def gradients(self, function: KernelFunction, k: int, Z: FloatArray) -> FloatArray:
        """Give the gradients of one function at some points."""
        rates = 1.0 - function.kernel(Z) ** 2
        return np.asarray((function.gamma * rates * function.coefs[:, k]) @ function.vectors)

    def expand(self, function: KernelFunction, centre: FloatArray, half: FloatArray) -> Expansion:
        """Expand the kernel around the centres of boxes."""
        inner = _Inner.of(function.vectors * function.gamma, function.coef0, centre, half)
        # tanh and its derivatives move by at most a few times what their argument moves by.
        often = count_roundings(function) + (function.n_features + 16.0) * (1.0 + inner.size)
        noise = often * (1.0 + inner.reach) ** 3
        return inner.model(_expand_tanh(inner.y, inner.reach), noise, noise)

    def sign_changes(self, function: KernelFunction, lines: Lines) -> Iterator[SignChanges]:
        """Find the changes of sign that a grid shows."""
        anchors, axes, lower, upper = lines
        s, q = len(function.vectors), function.n_functions
        for k, axis in enumerate(axes.tolist()):
            slopes = function.gamma * function.vectors[:, axis]
            units = float(np.abs(slopes).max(initial=0.0) * (upper[axis] - lower[axis]))
            grid = np.linspace(
                lower[axis],
                upper[axis],
                1 + int(np.clip(ceil(_POINTS_PER_UNIT * units), _MIN_POINTS, _MAX_POINTS)),
            )
            rows = max(1, _BLOCK // (len(grid) * max(1, s)))
            for first in range(0, len(anchors), rows):
                Z = anchors[first : first + rows]
                U = function.gamma * (Z @ function.vectors.T) + function.coef0
                # U without the axis, so that t itself is the argument.
                U -= Z[:, axis, None] * slopes
                row, column, position = _grid_changes(function, U, slopes, grid)
                owners = (((first + np.arange(len(Z))) * len(axes) + k)[:, None] * q) + np.arange(q)
                yield SignChanges(owners[row, column], position, owners.reshape(-1))


def _expand_tanh(y: FloatArray, r: FloatArray) -> tuple[FloatArray, ...]:
    """Return the model of tanh(y + u), its error, that of the derivative, and the range."""
    low, t, high = np.tanh(y - r), np.tanh(y), np.tanh(y + r)
    steep = 1.0 - t * t
    # Squares of tanh between the ends; 0 where it changes sign.
    ends = np.stack([low, high]) ** 2
    least = np.where(np.abs(y) <= r, 0.0, ends.min(axis=0))
    bend = np.maximum(np.abs(1.0 - 3.0 * least), np.abs(1.0 - 3.0 * ends.max(axis=0)))
    jerk = 2.0 * (1.0 - least) * bend
    none = np.zeros_like(t)
    return t, steep, -t * steep, none, jerk * r**3 / 6.0, steep, jerk * r**2 / 2.0, low, high


def _grid_changes(
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


# Below this reach the model is that of a slightly larger box; its error r^3 / 24 is less than one rounding.
_MIN_REACH = 1e-5
# exp(20) times the smallest normal number is still nothing; beyond, the range of the kernel is the model.
_LARGEST_REACH = 20.0
# From here on boxes are so large that the exact range of distances is worth its price.
_FAR = 2.0
# Kernel values of a block: 16 MB, enough rows that the tables of the cells cost little beside them.
_RBF_BLOCK = 1 << 21
# Coefficients of a block.
_PIECES = 1 << 21
# Half-width of the widest cell, in units of 1 / sqrt(gamma): about 12 coefficients for each such unit.
_HALF_WIDTH = 1.0
# Beyond this distance (in the same units) a Gaussian is below exp(-60), less than _REST.
_REACH = sqrt(60.0)
# What the terms beyond the Taylor polynomial add, for each unit of sum|c|; the degree is chosen by it.
_REST = 1e-21
# Smaller exponents would make denormal numbers, which are slow.
_MIN_EXPONENT = -600.0


class RBFKernel(_PiecewiseKernel):
    r"""exp(-gamma abs(z - s)^2).

    **Models.** With d_i = centre - s_i and g = gamma,

        exp(-g abs(z - s_i)^2) = exp(-g abs(v)^2) exp(-g abs(d_i)^2) exp(u_i),    w_i = -2 g d_i,

    the first factor is the same for all of them and positive; growth(v) = exp(g abs(v)^2) takes it away. What is left
    is exp(u) = cosh(u) + sinh(u) on [-r, r]:

    * cosh(u) is convex in u^2: it lies below its secant 1 + c2 u^2, c2 = (cosh(r) - 1) / r^2, by no more than the
      secant leaves at any place, plus what its slope there could add (the difference is concave);
    * sinh(u) is near c1 u, c1 = 2 I_1(r) / r as in its Chebyshev series: the difference is convex on [0, r], so a
      tangent bounds it below and its end above. It is about r^3 / 24, a quarter of what Taylor's term is.

    Kept to the third power, sinh(u) is near b1 u + c3 u^3 with an error of about r^5 / 1920: u^5 and u^7 of its series
    are replaced by their Chebyshev cubics, the rest is at most what it is at r.

    **Along an axis** the kernel separates: f(t) = sum_i c_i exp(-gamma (t - s_il)^2) + b with
    c_i = a_i exp(-gamma (|z - s_i|^2 - (z_l - s_il)^2)). The second factor does not know the anchor. On a cell of t of
    half-width r it is, in u = (t - middle) / r, a Taylor series whose terms follow from two before them,

        (k + 1) tau_(k+1) = 2 gamma r x tau_k - 2 gamma r^2 tau_(k-1),    x = s_il - middle, tau_0 = exp(-gamma x^2),

    cut off at a degree where the rest is below rounding and brought down to a lower one by dropping Chebyshev terms,
    whose sizes are known. So the pieces of all lines of an axis are one matrix product, there is one exponential for
    each anchor, support vector and axis, and no other however often a cell is halved or a root improved. The usual way,
    a grid of step h with the certificate min(|f_a|, |f_b|) > gamma sum|c| h^2 / 4, needs an exponential for each
    support vector again wherever a cell is halved and at each step of Newton's method.

    Examples
    --------
    >>> bump = KernelFunction("rbf", np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
    >>> model = RBFKernel().expand(bump, np.array([[1.0]]), np.array([[0.1]]))
    >>> model.constant.round(3), model.below.round(4)
    (array([[0.368]]), array([[0.0001]]))
    >>> RBFKernel().gradients(bump, 0, np.array([[0.5]])).round(3)
    array([[-0.779]])
    """

    def growth_rate(self, function: KernelFunction) -> float:
        """Give gamma."""
        if not function.gamma >= 0.0:
            raise InvalidValueError(
                f"gamma of the kernel rbf is {function.gamma}; it must not be negative"
            )
        return function.gamma

    def gradients(self, function: KernelFunction, k: int, Z: FloatArray) -> FloatArray:
        """Give the gradients of one function at some points."""
        weights = function.kernel(Z) * function.coefs[:, k]
        pulls = weights @ function.vectors - weights.sum(axis=1)[:, None] * Z
        return np.asarray(2.0 * function.gamma * pulls)

    def expand(self, function: KernelFunction, centre: FloatArray, half: FloatArray) -> Expansion:
        """Expand the kernel around the centres of boxes."""
        gamma = function.gamma
        away = centre[:, None, :] - function.vectors
        squares = np.einsum("bsn,bsn->bs", away, away)
        slopes = -2.0 * gamma * away
        size = np.abs(away)
        radius = (size @ half[:, :, None])[:, :, 0]
        reach = np.clip(2.0 * gamma * radius, _MIN_REACH, _LARGEST_REACH)
        growth = gamma * (half * half).sum(axis=1)
        # Leaves out abs(v)^2 >= 0 only.
        nearest = np.maximum(squares - 2.0 * radius, 0.0)
        far = (reach > _FAR).any(axis=1)
        if bool(far.any()):
            short = np.maximum(size[far] - half[far, None, :], 0.0)
            nearest[far] = np.einsum("bsn,bsn->bs", short, short)
        farthest = squares + 2.0 * radius + (half * half).sum(axis=1)[:, None]
        low, high = np.exp(-gamma * farthest), np.exp(-gamma * nearest)
        scale = np.exp(-gamma * squares)
        first, second, under, over = _exponential(reach)
        third_first, third, odd = _sinh_cubic(reach)
        rate, rate_error = _exponential_rate(reach, 2.0 * second)
        # The other model: a constant in the middle of the range.
        top = high * np.exp(growth)[:, None]
        flat = scale * (under + over) > top - low
        flat |= 2.0 * gamma * radius >= _LARGEST_REACH
        # Far from 0 the series of the cubic model is no better.
        cubed = ~flat & (odd < over)
        spread = (top - low) / 2.0
        largest = np.where(flat, top, scale * (1.0 + first * reach + second * reach**2))
        # The exponent x has n + 4 roundings, each of which moves exp(-x) by x units.
        exponent = gamma * np.where(flat, nearest, squares)
        noise = count_roundings(function) + (function.n_features + 16.0) * (1.0 + exponent)
        noise *= np.maximum(largest, high)
        return Expansion(
            slopes,
            np.where(flat, (top + low) / 2.0, scale),
            np.where(flat, 0.0, scale * first),
            np.where(flat, 0.0, scale * second),
            np.where(flat, spread, scale * under),
            np.where(flat, spread, scale * over),
            np.where(cubed, scale * third, 0.0),
            np.where(flat, 0.0, scale * np.where(cubed, third_first, first)),
            np.where(cubed, scale * (over - odd), 0.0),
            # exp is its own derivative.
            np.where(flat, (top + low) / 2.0, scale * rate),
            np.where(flat, spread, scale * rate_error) + SAFETY * noise,
            reach,
            low,
            high,
            noise,
            growth,
        )

    def pieces(self, function: KernelFunction, lines: Lines) -> Iterator[Pieces]:
        """Make pieces of some anchors and one axis at a time, all of one degree."""
        anchors, axes, lower, upper = lines
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
        rows = max(1, min(_RBF_BLOCK // max(1, s), _PIECES // max(1, most)))
        squares = (S**2).sum(axis=1)
        for first in range(0, len(Z), rows):
            block = Z[first : first + rows]
            block_squares = (block**2).sum(axis=1)
            minus_distance = 2.0 * (block @ S.T) - block_squares[:, None] - squares
            # The exponents are differences of numbers as large as the squares.
            unit = EPS * (16.0 + 2.0 * sqrt(s) + block_squares + squares.max(initial=0.0))
            E = np.empty_like(minus_distance)
            for k, axis in enumerate(axes.tolist()):
                _fill(E, minus_distance, block[:, axis], S[:, axis])
                coefs, error = _products(function, E, S[:, axis], cells[k], basis, unit)
                owner = ((first + np.arange(len(block))) * len(axes) + k)[:, None] * q + np.arange(
                    q
                )
                edges = cells[k].edges[:, None, None]
                yield Pieces(
                    coefs.reshape(-1, basis.shape[1]),
                    error.reshape(-1),
                    np.broadcast_to(edges[:-1], error.shape).reshape(-1),
                    np.broadcast_to(edges[1:], error.shape).reshape(-1),
                    np.broadcast_to(owner, error.shape).reshape(-1),
                )


def _exponential(r: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Give c1 and c2 of the model 1 + c1 u + c2 u^2 of exp(u), and how far below and above exp lies."""
    q = r * r / 4.0
    # 2 I_1(r) / r by its series; any value near it will do.
    c1 = 1.0 + q / 2.0 * (1.0 + q / 6.0 * (1.0 + q / 12.0 * (1.0 + q / 20.0 * (1.0 + q / 30.0))))
    # sinh(u) - c1 u is lowest where cosh(u) = c1.
    u = np.minimum(np.arccosh(c1), r)
    odd = c1 * u - np.sinh(u) + np.abs(np.cosh(u) - c1) * r
    odd = np.maximum(odd, np.sinh(r) - c1 * r)
    c2 = 2.0 * (np.sinh(r / 2.0) / r) ** 2
    # The secant and the curve are parallel near w = r^2 / 2 + r^4 / 240, by the series of both.
    w = np.minimum(r * r * (0.5 + r * r / 240.0), r * r)
    root = np.sqrt(w)
    even = 1.0 + c2 * w - np.cosh(root) + np.abs(c2 - np.sinh(root) / (2.0 * root)) * r * r
    return c1, c2, odd + np.maximum(even, 0.0), odd


def _sinh_cubic(r: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Give the coefficients of u and u^3 in a model of sinh(u), and its error."""
    # With x = u / r: x^5 = 5/4 x^3 - 5/16 x up to 1/16, and x^7 = 21/16 x^3 - 7/16 x up to 1/8.
    r2 = r * r
    c1 = 1.0 - r2**2 / 384.0 - r2**3 / 11520.0
    c3 = 1.0 / 6.0 + r2 / 96.0 + r2**2 / 3840.0
    # The terms from u^9 on grow with u.
    series = r * (1.0 + r2 / 6.0 * (1.0 + r2 / 20.0 * (1.0 + r2 / 42.0)))
    rest = np.maximum(np.sinh(r) - series, 0.0)
    return c1, c3, r * r2**2 / 1920.0 + r * r2**3 / 40320.0 + rest


def _exponential_rate(r: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the middle of exp(u) - slope u on [-r, r], and how far it goes from there; the difference is convex."""
    most = np.maximum(np.exp(r) - slope * r, np.exp(-r) + slope * r)
    # c2 >= 1/2, so the lowest place log(slope) >= 0; if beyond r, lower still is lower.
    least = slope * (1.0 - np.log(slope))
    return (most + least) / 2.0, (most - least) / 2.0


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
        far_apart = np.flatnonzero(np.diff(sides) > 2.0 * reach)
        ends = [
            sides[:1] - reach,
            sides[far_apart] + reach,
            sides[far_apart + 1] - reach,
            sides[-1:] + reach,
        ]
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


def _fill(
    E: FloatArray, minus_distance: FloatArray, coordinates: FloatArray, sides: FloatArray
) -> None:
    """Put the factors of an axis, which do not know t, in place."""
    np.subtract(coordinates[:, None], sides, out=E)
    E *= E
    E += minus_distance
    np.clip(E, _MIN_EXPONENT, 0.0, out=E)
    np.exp(E, out=E)


def _products(
    function: KernelFunction,
    E: FloatArray,
    sides: FloatArray,
    cells: _Cells,
    basis: FloatArray,
    unit: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Compute coefficients and errors of lines of one axis, over cells, anchors and functions."""
    weights, q, width = function.coefs, function.n_functions, basis.shape[1]
    coefs = np.empty((len(cells.middles), len(E), q, width))
    error = np.empty((len(cells.middles), len(E), q))
    sizes = np.abs(weights)
    floor = _REST * (E @ sizes) + np.exp(_MIN_EXPONENT) * sizes.sum(axis=0)
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
    """Give Bernstein coefficients of exp(-(half u - x)^2), |u| <= 1, for each x; the sum of terms; what is dropped."""
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
    """Choose the degrees of the Taylor polynomial and of what is kept of it.

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
    """Give as row k Bernstein coefficients on [-1, 1] of u^k, for k > kept of its Chebyshev expansion up to T_kept."""
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
    """Return how far u^k is from the row of the basis for it."""
    return np.array([_chebyshev(k)[kept + 1 :].sum() for k in range(taylor + 1)])


def _monomial(k: int, p: int) -> list[float]:
    """Give Bernstein coefficients of u^k on [-1, 1] in degree p: the polar form at j times 1 and p - j times -1."""
    return [
        sum(comb(j, i) * comb(p - j, k - i) * (-1) ** (k - i) for i in range(k + 1)) / comb(p, k)
        for j in range(p + 1)
    ]


def _chebyshev(k: int) -> FloatArray:
    """Give the coefficients of u^k in T_0, ..., T_k."""
    return np.asarray(np.polynomial.chebyshev.poly2cheb(np.eye(k + 1)[k]))


KERNELS: dict[KernelKind, Kernel] = {
    "linear": LinearKernel(),
    "poly": PolynomialKernel(),
    "rbf": RBFKernel(),
    "sigmoid": SigmoidKernel(),
}
