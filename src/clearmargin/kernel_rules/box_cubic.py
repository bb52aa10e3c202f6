r"""Sums of cubes of linear forms over boxes, reduced to linear forms: sum_i a_i (w_i'v)^3 over abs(v_j) <= h_j.

The tensor T_jkl = sum_i a_i w_ij w_ik w_il h_j h_k h_l of y = v / h is made first, so that terms of either sign cancel,
and then each product of three coordinates is replaced by the nearest linear form (abs(y_j) <= 1):

    y_j^3  by  3/4 y_j, up to 1/4;     y_j^2 y_k  by  1/2 y_k, up to 1/2;     y_j y_k y_l  by  0, up to 1.

It takes n^3 s / 3 products a box: worth it only where a bound fails for little.
"""

from __future__ import annotations

import numpy as np

from clearmargin.rules.value import FloatArray

__all__ = ["reduce_cubics"]


def reduce_cubics(
    weights: FloatArray, slopes: FloatArray, half: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Replace sums of cubes by linear forms with an error.

    Parameters
    ----------
    weights : ndarray of shape (B, s)
        a.
    slopes : ndarray of shape (B or 1, s, n)
        w.
    half : ndarray of shape (B, n)
        h, not negative.

    Returns
    -------
    tuple of ndarray
        Coefficients of the linear forms in v, and the error that each coordinate stands for; their sum bounds the
        distance of the cubes from the form. Both are of shape (B, n).

    Examples
    --------
    >>> reduce_cubics(np.ones((1, 1)), np.ones((1, 1, 1)), np.array([[2.0]]))
    (array([[3.]]), array([[2.]]))
    """
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
