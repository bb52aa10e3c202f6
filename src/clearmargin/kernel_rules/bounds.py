"""Proved lower bounds of the functions of a kernel machine over boxes, many boxes at once.

For f(z) = sum_i a_i k(z, s_i) + b each kernel is replaced by its quadratic model (`Kernel.expand`); with
u_i = w_i'v around the centre of the box,

    growth(v) f(centre + v) >= sum_i a_i (c0_i + c1_i w_i'v + c2_i (w_i'v)^2) + b growth(v)
                               - sum_{a_i > 0} a_i below_i - sum_{a_i < 0} abs(a_i) above_i,

a quadratic in v whose matrix sum_i a_i c2_i w_i w_i' has the terms of either sign already cancelled; `bound_quadratics`
bounds it. The factor growth(v) = exp(g abs(v)^2) >= 1 belongs to the kernel "rbf" alone and is convex in abs(v)^2: b
growth(v) is bounded by a tangent for b > 0, by the secant for b < 0. The larger of this bound and the sum of the ranges
of all kernels counts. Where the bound fails by less than what cubic terms would save, it is computed with them
(`reduce_cubics`).

The same models bound the derivatives of growth f. Where one has a single sign over the box, growth f is lowest at an
end of that coordinate: f > 0 on the box exactly if f > 0 on that side of it, which has one dimension less.

**Rounding.** A term of size t that passes through N roundings is off by at most N u t / (1 - N u), u = 2^-53 (Higham,
Accuracy and Stability of Numerical Algorithms, section 3.1). Sizes and counts are followed through the expansion;
eight times their sum is taken off each bound, which covers coefficients, their use in the quadratic, and terms of
order u^2. So a bound above 0 is a proof about the real numbers that the stored floats stand for.

**Quadratics** b'v + v'Qv over abs(v_j) <= h_j, many at once (`bound_quadratics`). The minimum is hard to find when Q is
indefinite; a bound is not. Where abs(b_j) of the current problem is at least 2 sum_k abs(Q_jk) h_k, the derivative by
v_j has one sign everywhere, and v_j goes to the end it points away from: this loses nothing, and makes the others
linear terms exact, so that more of them may follow. Of what remains the separable part b_j v_j + Q_jj v_j^2 is
minimised in closed form, and products of two coordinates are counted as -abs(Q_jk) h_j h_k: that is the gap.

What is computed is the bound of a quadratic whose coefficients are off by a few roundings, relative to the terms they
were summed from; these are accounted for as above.

**Cubes** of linear forms, sum_i a_i (w_i'v)^3 over abs(v_j) <= h_j, reduced to linear forms (`reduce_cubics`). The
tensor T_jkl = sum_i a_i w_ij w_ik w_il h_j h_k h_l of y = v / h is made first, so that terms of either sign cancel, and
then each product of three coordinates is replaced by the nearest linear form (abs(y_j) <= 1):

    y_j^3  by  3/4 y_j, up to 1/4;     y_j^2 y_k  by  1/2 y_k, up to 1/2;     y_j y_k y_l  by  0, up to 1.

It takes n^3 s / 3 products a box: worth it only where a bound fails for little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clearmargin.kernel_rules.kernels import KERNELS, SAFETY, Expansion, count_roundings
from clearmargin.models.kernel_function import KernelFunction
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

# What may be lost where a kernel underflows, for each unit of coefficient: exp(20) times the smallest normal number.
_UNDERFLOW = 1e-290
# exp of more makes models worthless long before it overflows.
_LARGEST_GROWTH = 50.0
# With more columns, all products of three of them cost more than cutting the box.
_MAX_CUBED = 64
# The secant of exp over a slightly longer range, where the range is empty.
_MIN_GROWTH = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class KernelBounds:
    """Lower bounds of q functions over B boxes, and where they come from."""

    value: FloatArray
    minoriser: FloatArray
    gap: FloatArray
    direction: NDArray[np.int8]


def lower_bounds(
    function: KernelFunction,
    low: FloatArray,
    high: FloatArray,
    *,
    requested: BoolArray | None = None,
) -> KernelBounds:
    """Bound each function over each box from below; what is above 0 is proved."""
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
        expansion = KERNELS[function.kind].expand(function, centre, half)
        size = np.abs(expansion.slopes)
        for k in range(q):
            rows = np.ones(n_boxes, dtype=np.bool_) if requested is None else requested[:, k]
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
        gamma = KERNELS[function.kind].growth_rate(function)
        up = np.minimum(ex.growth, _LARGEST_GROWTH)
        swell = np.exp(up)
        noise = SAFETY * (ex.noise @ weight) + _UNDERFLOW * float(weight.sum())
        rounding = SAFETY * (count_roundings(function) + function.n_features) * (1.0 + up) * abs(b)
        loss = np.where(a > 0.0, ex.below, ex.above) * weight
        # sum_i a_i c2_i w_i w_i', and the part of it that the intercept adds on the diagonal.
        Q = np.swapaxes(ex.slopes * (a * ex.second)[:, :, None], 1, 2) @ ex.slopes
        doubt = _combine(weight * ex.rate_error, size)
        doubt += 2.0 * (np.abs(Q) @ half[:, :, None])[:, :, 0]
        doubt += 2.0 * gamma * (abs(b) + rounding)[:, None] * half * swell[:, None]
        constant, curve = _intercept(b, up)
        diagonal = np.arange(function.n_features)
        Q[:, diagonal, diagonal] += gamma * curve[:, None]
        constant += ex.constant @ a - noise - rounding * swell
        model, v, gap = bound_quadratics(_combine(a * ex.first, ex.slopes), Q, half)
        model += constant - loss.sum(axis=1)
        gap += _combine(loss / np.maximum(ex.reach, SAFETY), size) * half
        # Where cubes are all that is missing, they are summed before they are bounded.
        rows = np.flatnonzero((model <= 0.0) & (model + ex.saved @ weight > 0.0))
        if len(rows) and function.n_features <= _MAX_CUBED:
            cubed, v[rows], gap[rows] = _with_cubes(a, ex, loss, Q, half, rows)
            model[rows] = np.maximum(model[rows], constant[rows] + cubed)
        # Back from growth f to f, whichever way that moves the bound down.
        shrink = (1.0 - SAFETY * (function.n_features + 16.0) * (1.0 + up)) / swell
        model = np.where(model > 0.0, model * shrink, model)
        model[~np.isfinite(model) | (ex.growth > _LARGEST_GROWTH)] = -np.inf
        plain = np.where(a > 0.0, ex.low, ex.high) @ a + b - noise - rounding
        plain[~np.isfinite(plain)] = -np.inf
        # Derivatives of what overflowed say nothing.
        usable = np.isfinite(gap.sum(axis=1)) & (ex.growth <= _LARGEST_GROWTH)
        doubt[~usable] = np.inf
        gap[~usable] = half[~usable]
        return cls(np.maximum(model, plain), v, gap, _combine(a * ex.rate, ex.slopes), doubt)


def _with_cubes(
    a: FloatArray, ex: Expansion, loss: FloatArray, Q: FloatArray, half: FloatArray, rows: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute bounds, points and gaps of boxes with the cubic terms of the models, but for the constants."""
    slopes = ex.slopes[rows] if len(ex.slopes) > 1 else ex.slopes
    linear, error = reduce_cubics(a * ex.third[rows], slopes, half[rows])
    linear += _combine(a * ex.third_first[rows], slopes)
    bound, v, gap = bound_quadratics(linear, Q[rows], half[rows])
    left = loss[rows] - np.abs(a) * ex.saved[rows]
    reach = np.maximum(ex.reach[rows], SAFETY)
    gap += error + _combine(left / reach, np.abs(slopes)) * half[rows]
    return bound - left.sum(axis=1) - error.sum(axis=1), v, gap


def _combine(weights: FloatArray, slopes: FloatArray) -> FloatArray:
    """Compute sum_i weights_bi slopes_bij, where slopes may be the same for all boxes."""
    if len(slopes) == 1:
        return np.asarray(weights @ slopes[0])
    return np.asarray((weights[:, None, :] @ slopes)[:, 0])


def _intercept(b: float, up: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give constant and slope of a line in x that is below b exp(x) for 0 <= x <= up."""
    if b > 0.0:
        middle = b * np.exp(up / 2.0)
        return middle * (1.0 - up / 2.0), middle
    up = np.maximum(up, _MIN_GROWTH)
    return np.full(len(up), b), b * np.expm1(up) / up


# Each round may make further coordinates monotone; few gain from more.
_ROUNDS = 4


def bound_quadratics(
    linear: FloatArray, quadratic: FloatArray, half: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bound b'v + v'Qv over boxes from below."""
    size = np.abs(quadratic)
    curve = np.einsum("bjj->bj", quadratic)
    v = np.zeros_like(half)
    room = half.copy()
    pull = linear
    for _ in range(_ROUNDS):
        settled = (room > 0.0) & (np.abs(pull) >= 2.0 * _times(size, room))
        if not bool(settled.any()):
            break
        v = np.where(settled, -np.copysign(half, pull), v)
        room = np.where(settled, 0.0, room)
        pull = linear + 2.0 * _times(quadratic, v)
    fixed = ((linear + pull) / 2.0 * v).sum(axis=1)
    gap = np.maximum(room * (_times(size, room) - np.abs(curve) * room), 0.0)
    lowest = np.where(
        curve > 0.0,
        np.clip(-pull / np.where(curve > 0.0, 2.0 * curve, 1.0), -room, room),
        -np.copysign(room, pull),
    )
    bound = fixed + (lowest * (pull + curve * lowest) - gap).sum(axis=1)
    return bound, v + lowest, gap


def _times(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def reduce_cubics(
    weights: FloatArray, slopes: FloatArray, half: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Replace sums of cubes by linear forms with an error."""
    scaled = slopes * half[:, None, :]
    linear, error = np.zeros((2, *half.shape))
    for k in range(half.shape[1]):
        part = scaled[:, :, : k + 1]
        # T_ijk for all i, j <= k; those with a larger index come later.
        block = np.swapaxes(part * (weights * scaled[:, :, k])[:, :, None], 1, 2) @ part
        size = np.abs(block)
        edge, square = block[:, :k, k], np.einsum("bjj->bj", block)[:, :k]
        corner = block[:, k, k]
        linear[:, k] += 1.5 * square.sum(axis=1) + 0.75 * corner
        linear[:, :k] += 1.5 * edge
        # Three orders of y_j^2 y_k and of y_j y_k^2, half of each lost.
        error[:, k] += 1.5 * (np.abs(square) + np.abs(edge)).sum(axis=1) + np.abs(corner) / 4.0
        # Six orders of three different coordinates, two for each of them.
        diagonal = np.arange(k)
        size[:, diagonal, diagonal] = 0.0
        others = size[:, :k, :k].sum(axis=2)
        error[:, :k] += 2.0 * others
        error[:, k] += others.sum(axis=1)
    return linear / np.where(half > 0.0, half, 1.0), error
