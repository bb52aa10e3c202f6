r"""Proved lower bounds of the functions of a kernel machine over boxes, many boxes at once.

For f(z) = sum_i a_i k(z, s_i) + b each kernel is replaced by the quadratic model of `kernel_expansion` (or of
`polynomial_bounds`); with u_i = w_i'v around the centre of the box,

    growth(v) f(centre + v) >= sum_i a_i (c0_i + c1_i w_i'v + c2_i (w_i'v)^2) + b growth(v)
                               - sum_{a_i > 0} a_i below_i - sum_{a_i < 0} abs(a_i) above_i,

a quadratic in v whose matrix sum_i a_i c2_i w_i w_i' has the terms of either sign already cancelled; `box_quadratic`
bounds it. The factor growth(v) = exp(g abs(v)^2) >= 1 belongs to the kernel "rbf" alone and is convex in abs(v)^2:
b growth(v) is bounded by a tangent for b > 0, by the secant for b < 0. The larger of this bound and the sum of the
ranges of all kernels counts. Where the bound fails by less than what cubic terms would save, it is computed with them
(`box_cubic`).

The same models bound the derivatives of growth f. Where one has a single sign over the box, growth f is lowest at an
end of that coordinate: f > 0 on the box exactly if f > 0 on that side of it, which has one dimension less.

**Rounding.** A term of size t that passes through N roundings is off by at most N u t / (1 - N u), u = 2^-53 (Higham,
Accuracy and Stability of Numerical Algorithms, section 3.1). Sizes and counts are followed through the expansion;
eight times their sum is taken off each bound, which covers coefficients, their use in the quadratic, and terms of
order u^2. So a bound above 0 is a proof about the real numbers that the stored floats stand for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearmargin.exceptions import InvalidValueError
from clearmargin.kernel_rules.box_cubic import reduce_cubics
from clearmargin.kernel_rules.box_quadratic import bound_quadratics
from clearmargin.kernel_rules.kernel_expansion import SAFETY, Expansion, count_roundings, expand_rbf
from clearmargin.kernel_rules.polynomial_bounds import expand_product
from clearmargin.models.kernel_function import KernelFunction
from clearmargin.rules.value import FloatArray

__all__ = ["KernelBounds", "check_boxes", "lower_bounds"]

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

# What may be lost where a kernel underflows, for each unit of coefficient: exp(20) times the smallest normal number.
_UNDERFLOW = 1e-290
# exp of more makes models worthless long before it overflows.
_LARGEST_GROWTH = 50.0
# With more columns, all products of three of them cost more than cutting the box.
_MOST_CUBED = 64
# The secant of exp over a slightly longer range, where the range is empty.
_LEAST_GROWTH = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class KernelBounds:
    """Lower bounds of q functions over B boxes, and where they come from.

    Parameters
    ----------
    value : ndarray of shape (B, q)
        No function is below its value anywhere in the box; infinite where nothing was asked.
    minoriser : ndarray of shape (B, n)
        Point of the box where the bound of the function with the lowest value is lowest.
    gap : ndarray of shape (B, n)
        What each coordinate adds to the distance between that bound and the minimum, at most.
    direction : ndarray of shape (B, n)
        1 where all functions that are not proved positive are lowest at the lower end of the coordinate, as far as
        their sign goes, -1 at the upper end, 0 where neither is known.
    """

    value: FloatArray
    minoriser: FloatArray
    gap: FloatArray
    direction: NDArray[np.int8]


def check_boxes(
    function: KernelFunction, lower: ArrayLike, upper: ArrayLike, n_axes: int = 2
) -> tuple[FloatArray, FloatArray]:
    """Read the ends of boxes, or say what is wrong with them.

    Parameters
    ----------
    function : KernelFunction
        Tells how many columns there are.
    lower, upper : array-like of shape (B, n) or (n,)
        Ends of closed boxes.
    n_axes : {1, 2}
        1 for a single box.

    Returns
    -------
    tuple of ndarray
        The ends as floats.

    Examples
    --------
    >>> bump = KernelFunction("rbf", np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
    >>> check_boxes(bump, [2.0], [1.0], n_axes=1)
    Traceback (most recent call last):
        ...
    clearmargin.exceptions.InvalidValueError: coordinate 0 of a box has lower 2.0 > upper 1.0; ...
    """
    if function.kind == "rbf" and not function.gamma >= 0.0:
        raise InvalidValueError(
            f"gamma of the kernel rbf is {function.gamma}; it must not be negative"
        )
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    wanted = ("n",) if n_axes == 1 else ("B", "n")
    for name, ends in (("lower", low), ("upper", high)):
        if ends.ndim != n_axes or ends.shape[-1] != function.n_features:
            raise InvalidValueError(
                f"{name} has shape {ends.shape}; give ({', '.join(wanted)}{',' * (n_axes == 1)}) with "
                f"n = {function.n_features}, one number for each column of the machine"
            )
    if low.shape != high.shape:
        raise InvalidValueError(f"lower has {len(low)} boxes and upper {len(high)}; give as many")
    for name, ends in (("lower", low), ("upper", high)):
        bad = np.argwhere(~np.isfinite(ends))
        if len(bad):
            value = ends[tuple(bad[0])]
            raise InvalidValueError(
                f"{name} of coordinate {bad[0][-1]} is {value}; the sides of a box must be finite numbers, "
                "so clip it to the range that matters"
            )
    bad = np.argwhere(low > high)
    if len(bad):
        place = tuple(bad[0])
        raise InvalidValueError(
            f"coordinate {place[-1]} of a box has lower {low[place]} > upper {high[place]}; swap them, "
            "or drop the box, which is empty"
        )
    return low, high


def lower_bounds(
    function: KernelFunction,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    wanted: BoolArray | None = None,
) -> KernelBounds:
    """Bound each function over each box from below; what is above 0 is proved.

    Parameters
    ----------
    function : KernelFunction
        The functions.
    lower, upper : array-like of shape (B, n)
        Finite ends of closed boxes, in the units of the machine. Memory grows with B times s times n.
    wanted : ndarray of shape (B, q), optional
        Which functions are asked about in which box; all by default.

    Returns
    -------
    KernelBounds
        The bounds, and what a search needs to improve them.

    Examples
    --------
    >>> bump = KernelFunction("rbf", np.zeros((1, 2)), np.ones((1, 1)), np.array([-0.5]))
    >>> lower_bounds(bump, [[0.0, 0.0], [0.5, 0.5]], [[0.1, 0.1], [0.6, 0.6]]).value.round(3)
    array([[ 0.48 ],
           [-0.013]])
    """
    low, high = check_boxes(function, lower, upper)
    n_boxes, q = len(low), function.n_functions
    value = np.full((n_boxes, q), np.inf)
    # Halves first: a difference may overflow.
    centre, gap = low / 2.0 + high / 2.0, high / 2.0 - low / 2.0
    minoriser = centre.copy()
    falls, rises = np.ones((2, *low.shape), dtype=np.bool_)
    worst = np.full(n_boxes, np.inf)
    # Numbers that overflow end as a bound of minus infinity, which is true of every function.
    with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
        half = np.maximum(centre - low, high - centre)
        # The centre is rounded: reach out to both ends.
        half = np.where(half > 0.0, np.nextafter(half, np.inf), 0.0)
        expand = expand_rbf if function.kind == "rbf" else expand_product
        expansion = expand(function, centre, half)
        size = np.abs(expansion.slopes)
        for k in range(q):
            rows = np.ones(n_boxes, dtype=np.bool_) if wanted is None else wanted[:, k]
            if not bool(rows.any()):
                continue
            part = _Bound.of(function, k, expansion, size, half)
            value[rows, k] = part.value[rows]
            is_open = rows & (part.value <= 0.0)
            rises &= (part.slope > part.slope_error) | ~is_open[:, None]
            falls &= (part.slope < -part.slope_error) | ~is_open[:, None]
            lead = rows & (part.value < worst) & np.isfinite(part.value)
            worst[lead] = part.value[lead]
            minoriser[lead] = np.clip((centre + part.v)[lead], low[lead], high[lead])
            gap[lead] = part.gap[lead]
    direction = rises.astype(np.int8) - falls.astype(np.int8)
    return KernelBounds(value, minoriser, gap, direction)


@dataclass(frozen=True, slots=True, eq=False)
class _Bound:
    """One function over all boxes: bounds (B,), minorisers, gaps and derivatives (B, n)."""

    value: FloatArray
    v: FloatArray
    gap: FloatArray
    slope: FloatArray
    slope_error: FloatArray

    @classmethod
    def of(
        cls, function: KernelFunction, k: int, ex: Expansion, size: FloatArray, half: FloatArray
    ) -> _Bound:
        a, b = function.coefs[:, k], float(function.intercepts[k])
        weight = np.abs(a)
        gamma = function.gamma if function.kind == "rbf" else 0.0
        up = np.minimum(ex.growth, _LARGEST_GROWTH)
        swell = np.exp(up)
        noise = SAFETY * (ex.noise @ weight) + _UNDERFLOW * float(weight.sum())
        own = SAFETY * (count_roundings(function) + function.n_features) * (1.0 + up) * abs(b)
        loss = np.where(a > 0.0, ex.below, ex.above) * weight
        # sum_i a_i c2_i w_i w_i', and the part of it that the intercept adds on the diagonal.
        Q = np.swapaxes(ex.slopes * (a * ex.second)[:, :, None], 1, 2) @ ex.slopes
        doubt = _combine(weight * ex.rate_error, size)
        doubt += 2.0 * (np.abs(Q) @ half[:, :, None])[:, :, 0]
        doubt += 2.0 * gamma * (abs(b) + own)[:, None] * half * swell[:, None]
        constant, curve = _intercept(b, up)
        diagonal = np.arange(function.n_features)
        Q[:, diagonal, diagonal] += gamma * curve[:, None]
        constant += ex.constant @ a - noise - own * swell
        model, v, gap = bound_quadratics(_combine(a * ex.first, ex.slopes), Q, half)
        model += constant - loss.sum(axis=1)
        gap += _combine(loss / np.maximum(ex.reach, SAFETY), size) * half
        # Where cubes are all that is missing, they are summed before they are bounded.
        rows = np.flatnonzero((model <= 0.0) & (model + ex.saved @ weight > 0.0))
        if len(rows) and function.n_features <= _MOST_CUBED:
            cubed, v[rows], gap[rows] = _with_cubes(a, ex, loss, Q, half, rows)
            model[rows] = np.maximum(model[rows], constant[rows] + cubed)
        # Back from growth f to f, whichever way that moves the bound down.
        shrink = (1.0 - SAFETY * (function.n_features + 16.0) * (1.0 + up)) / swell
        model = np.where(model > 0.0, model * shrink, model)
        model[~np.isfinite(model) | (ex.growth > _LARGEST_GROWTH)] = -np.inf
        plain = np.where(a > 0.0, ex.low, ex.high) @ a + b - noise - own
        plain[~np.isfinite(plain)] = -np.inf
        # Derivatives of what overflowed say nothing.
        usable = np.isfinite(gap.sum(axis=1)) & (ex.growth <= _LARGEST_GROWTH)
        doubt[~usable] = np.inf
        gap[~usable] = half[~usable]
        return cls(np.maximum(model, plain), v, gap, _combine(a * ex.rate, ex.slopes), doubt)


def _with_cubes(
    a: FloatArray, ex: Expansion, loss: FloatArray, Q: FloatArray, half: FloatArray, rows: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bounds, points and gaps of some boxes with the cubic terms of the models, but for the constants."""
    slopes = ex.slopes[rows] if len(ex.slopes) > 1 else ex.slopes
    linear, error = reduce_cubics(a * ex.third[rows], slopes, half[rows])
    linear += _combine(a * ex.third_first[rows], slopes)
    bound, v, gap = bound_quadratics(linear, Q[rows], half[rows])
    left = loss[rows] - np.abs(a) * ex.saved[rows]
    reach = np.maximum(ex.reach[rows], SAFETY)
    gap += error + _combine(left / reach, np.abs(slopes)) * half[rows]
    return bound - left.sum(axis=1) - error.sum(axis=1), v, gap


def _combine(weights: FloatArray, slopes: FloatArray) -> FloatArray:
    """sum_i weights_bi slopes_bij, where slopes may be the same for all boxes."""
    if len(slopes) == 1:
        return np.asarray(weights @ slopes[0])
    return np.asarray((weights[:, None, :] @ slopes)[:, 0])


def _intercept(b: float, up: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Constant and slope of a line in x that is below b exp(x) for 0 <= x <= up."""
    if b > 0.0:
        middle = b * np.exp(up / 2.0)
        return middle * (1.0 - up / 2.0), middle
    up = np.maximum(up, _LEAST_GROWTH)
    return np.full(len(up), b), b * np.expm1(up) / up
