r"""Expansions of the kernels of an inner product: linear, polynomial, sigmoid.

With y = gamma s_i'z + coef0, a box centre + v has y = y_i + u_i, u_i = w_i'v and w_i = gamma s_i, and the kernel is a
function of u_i on [-r_i, r_i] as in `kernel_expansion`. The linear kernel is the polynomial of degree 1 with gamma = 1
and coef0 = 0.

**Polynomial.** (y + u)^d = sum_k (d over k) y^(d-k) u^k. Up to degree 2 the quadratic model is exact. Higher powers
of u are replaced by the nearest of lower degree: u^3 by 3/4 r^2 u up to r^3 / 4 and u^4 by r^2 u^2 - r^4 / 8 up to
r^4 / 8 (Chebyshev), further odd powers by 0 up to r^k, even ones by r^k / 2 up to r^k / 2.
The third power is also offered as it is, for `box_cubic`.

**Sigmoid.** tanh(y + u) = t + (1 - t^2) u - t (1 - t^2) u^2 up to L r^3 / 6, t = tanh(y), where L bounds the third
derivative -2 (1 - tanh^2) (1 - 3 tanh^2) between y - r and y + r.

Where that errs more than the range of the kernel is wide, the middle of the range is the model.
"""

from __future__ import annotations

from math import comb

import numpy as np

from clearmargin.kernel_rules.kernel_expansion import SAFETY, Expansion, count_roundings
from clearmargin.models.kernel_function import KernelFunction
from clearmargin.rules.value import FloatArray

__all__ = ["expand_product"]


def expand_product(function: KernelFunction, centre: FloatArray, half: FloatArray) -> Expansion:
    """Expand a linear, polynomial or sigmoid kernel around the centres of boxes.

    Parameters
    ----------
    function : KernelFunction
        With one of these kernels.
    centre, half : ndarray of shape (B, n)
        Centres of the boxes, and half their sides.

    Returns
    -------
    Expansion
        The models.

    Examples
    --------
    >>> square = KernelFunction("poly", np.ones((1, 1)), np.ones((1, 1)), np.zeros(1), degree=2)
    >>> model = expand_product(square, np.array([[3.0]]), np.array([[1.0]]))
    >>> [float(part[0, 0]) for part in (model.constant, model.first, model.second, model.below)]
    [9.0, 6.0, 1.0, 0.0]
    """
    is_linear = function.kind == "linear"
    slopes = function.vectors * (1.0 if is_linear else function.gamma)
    shift = 0.0 if is_linear else function.coef0
    y = centre @ slopes.T + shift
    reach = half @ np.abs(slopes).T
    # What y was summed from: its rounding errors are relative to this.
    size = np.abs(centre) @ np.abs(slopes).T + abs(shift)
    roundings = count_roundings(function)
    inner = function.n_features + 16.0
    if function.kind == "sigmoid":
        parts = _sigmoid(y, reach)
        # tanh and its derivatives move by at most a few times what their argument moves by.
        noise = (roundings + inner * (1.0 + size)) * (1.0 + reach) ** 3
        rate_noise = noise
    else:
        degree = 1 if is_linear else function.degree
        parts = _power(y, reach, degree)
        often = roundings + inner * (degree + 1.0)
        noise = often * (size + reach) ** degree
        rate_noise = often * degree * (size + reach) ** max(degree - 1, 0)
    constant, first, second, third, error, rate, rate_error, low, high = parts
    rate_error += SAFETY * rate_noise
    flat = 2.0 * error > high - low
    spread = np.where(flat, (high - low) / 2.0, error)
    return Expansion(
        slopes[None],
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
        np.zeros(len(centre)),
    )


def _power(y: FloatArray, r: FloatArray, degree: int) -> tuple[FloatArray, ...]:
    """The model of (y + u)^degree, its error, that of the derivative, and the range."""
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


def _sigmoid(y: FloatArray, r: FloatArray) -> tuple[FloatArray, ...]:
    """The model of tanh(y + u), its error, that of the derivative, and the range."""
    low, t, high = np.tanh(y - r), np.tanh(y), np.tanh(y + r)
    steep = 1.0 - t * t
    # Squares of tanh between the ends; 0 where it changes sign.
    ends = np.stack([low, high]) ** 2
    least = np.where(np.abs(y) <= r, 0.0, ends.min(axis=0))
    bend = np.maximum(np.abs(1.0 - 3.0 * least), np.abs(1.0 - 3.0 * ends.max(axis=0)))
    jerk = 2.0 * (1.0 - least) * bend
    none = np.zeros_like(t)
    return t, steep, -t * steep, none, jerk * r**3 / 6.0, steep, jerk * r**2 / 2.0, low, high
