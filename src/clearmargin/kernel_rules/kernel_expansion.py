r"""Expansions of a kernel around the centres of boxes: quadratic models that carry their own error.

A box is centre + v, abs(v_j) <= h_j. Around its centre each kernel is a function of one number, u_i = w_i'v::

    growth(v) k(centre + v, s_i) = c0_i + c1_i u_i + c2_i u_i^2 + e_i,    -below_i <= e_i <= above_i,
    abs(u_i) <= r_i = sum_j abs(w_ij) h_j

so that the sum over the support vectors is again a quadratic, in which terms of either sign cancel before anything is
bounded. For the kernel exp(-g abs(z - s)^2), with d_i = centre - s_i,

    exp(-g abs(z - s_i)^2) = exp(-g abs(v)^2) exp(-g abs(d_i)^2) exp(u_i),    w_i = -2 g d_i,

the first factor is the same for all of them and positive; growth(v) = exp(g abs(v)^2) takes it away. What is left is
exp(u) = cosh(u) + sinh(u) on [-r, r]:

* cosh(u) is convex in u^2: it lies below its secant 1 + c2 u^2, c2 = (cosh(r) - 1) / r^2, by no more than the secant
  leaves at any place, plus what its slope there could add (the difference is concave);
* sinh(u) is near c1 u, c1 = 2 I_1(r) / r as in its Chebyshev series: the difference is convex on [0, r], so a
  tangent bounds it below and its end above. It is about r^3 / 24, a quarter of what Taylor's term is.

Kept to the third power, sinh(u) is near b1 u + c3 u^3 with an error of about r^5 / 1920: u^5 and u^7 of its series are
replaced by their Chebyshev cubics, the rest is at most what it is at r. `box_cubic` handles sums of cubes.

Where r is large the range of the kernel itself is the better model; each support vector takes the one that errs less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clearmargin.models.kernel_function import KernelFunction
from clearmargin.rules.value import FloatArray

__all__ = ["SAFETY", "Expansion", "count_roundings", "expand_rbf"]

# Eight times the relative error of one rounding, half the distance from 1 to the next float; see `kernel_bounds`.
SAFETY = 8.0 * 2.0**-53
# Below this reach the model is that of a slightly larger box; its error r^3 / 24 is less than one rounding.
_LEAST_REACH = 1e-5
# exp(20) times the smallest normal number is still nothing; beyond, the range of the kernel is the model.
_LARGEST_REACH = 20.0
# From here on boxes are so large that the exact range of distances is worth its price.
_FAR = 2.0


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
    """Roundings that a term meets in sums over support vectors and over coordinates, and some of each kernel.

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


def expand_rbf(function: KernelFunction, centre: FloatArray, half: FloatArray) -> Expansion:
    """Expand exp(-gamma abs(z - s)^2) around the centres of boxes.

    Parameters
    ----------
    function : KernelFunction
        With the kernel "rbf".
    centre, half : ndarray of shape (B, n)
        Centres of the boxes, and half their sides.

    Returns
    -------
    Expansion
        The models.

    Examples
    --------
    >>> bump = KernelFunction("rbf", np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
    >>> model = expand_rbf(bump, np.array([[1.0]]), np.array([[0.1]]))
    >>> model.constant.round(3), model.below.round(4)
    (array([[0.368]]), array([[0.0001]]))
    """
    gamma = function.gamma
    away = centre[:, None, :] - function.vectors
    squares = np.einsum("bsn,bsn->bs", away, away)
    slopes = -2.0 * gamma * away
    size = np.abs(away)
    radius = (size @ half[:, :, None])[:, :, 0]
    reach = np.clip(2.0 * gamma * radius, _LEAST_REACH, _LARGEST_REACH)
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


def _exponential(r: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Coefficients of u and u^2 in the model 1 + c1 u + c2 u^2 of exp(u), and how far below and above exp lies."""
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
    """Coefficients of u and u^3 in a model of sinh(u), and its error."""
    # With x = u / r: x^5 = 5/4 x^3 - 5/16 x up to 1/16, and x^7 = 21/16 x^3 - 7/16 x up to 1/8.
    r2 = r * r
    c1 = 1.0 - r2**2 / 384.0 - r2**3 / 11520.0
    c3 = 1.0 / 6.0 + r2 / 96.0 + r2**2 / 3840.0
    # The terms from u^9 on grow with u.
    series = r * (1.0 + r2 / 6.0 * (1.0 + r2 / 20.0 * (1.0 + r2 / 42.0)))
    rest = np.maximum(np.sinh(r) - series, 0.0)
    return c1, c3, r * r2**2 / 1920.0 + r * r2**3 / 40320.0 + rest


def _exponential_rate(r: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The middle of exp(u) - slope u on [-r, r], and how far it goes from there; the difference is convex."""
    most = np.maximum(np.exp(r) - slope * r, np.exp(-r) + slope * r)
    # c2 >= 1/2, so the lowest place log(slope) >= 0; if beyond r, lower still is lower.
    least = slope * (1.0 - np.log(slope))
    return (most + least) / 2.0, (most - least) / 2.0
