"""Products of a table with a vector whose bits depend on the numbers alone.

A BLAS library adds the terms of a product in an order that depends on the processor, on the number of threads and on
the shape of the table, so that a row alone gets other last bits than the same row in a table. What rules, choices and
messages depend on is added column by column instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["linear_scores", "weighted_sums"]

FloatArray = NDArray[np.float64]

# Rows that are turned at a time, so that they stay in the cache of the processor.
_BLOCK = 512


# As a product of matrices, a score beyond all floats is infinite without a warning.
@np.errstate(over="ignore", invalid="ignore")
def linear_scores(points: Any, coef: FloatArray, intercept: float = 0.0) -> FloatArray:
    """Give coef.x + intercept for each row x, added up column by column.

    Every row is added up from the first column to the last, each product and each sum rounded once: the same bits
    everywhere, alone and among others.

    Parameters
    ----------
    points : ndarray or sparse matrix of shape (m, n)
        The rows.
    coef : ndarray of shape (n,)
        Weights; columns without weight are not looked at.
    intercept : float, default 0.0
        Added last.

    Returns
    -------
    ndarray of shape (m,)
        The scores.

    Examples
    --------
    >>> linear_scores(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([10.0, 1.0]), 0.5)
    array([12.5, 34.5])
    """
    if not isinstance(points, np.ndarray):
        return np.asarray(points @ coef, dtype=np.float64).ravel() + intercept
    active = np.flatnonzero(coef)
    if not len(active):
        return np.full(len(points), float(intercept))
    weights = coef[active]
    columns = slice(None) if len(active) == len(coef) else active
    if len(points) < len(active):
        # Few rows of many columns: running sums along the rows make the same additions in one call.
        terms = points[:, columns] * weights
        return np.asarray(np.add.accumulate(terms, axis=1)[:, -1] + intercept)
    scores = np.zeros(len(points))
    for first in range(0, len(points), _BLOCK):
        rows = slice(first, first + _BLOCK)
        total = scores[rows]
        # One after the other: numpy's own sum of a single row would add in pairs.
        for column in np.ascontiguousarray(points[rows, columns].T) * weights[:, None]:
            total += column
    scores += intercept
    return scores


def weighted_sums(X: Any, v: FloatArray) -> FloatArray:
    """Give ``X.T @ v``, the sum of the rows with weights, from the first row to the last.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (m, n)
        The table.
    v : ndarray of shape (m,)
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n,)
        The sum for each column.

    Examples
    --------
    >>> weighted_sums(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0]))
    array([-2., -2.])
    """
    if not isinstance(X, np.ndarray):
        return np.asarray(X.T @ v, dtype=np.float64).ravel()
    sums = np.zeros(X.shape[1])
    used = np.flatnonzero(v)
    # Where most weights are zero their rows need not be read.
    if 2 * len(used) < len(v):
        X, v = X[used], v[used]
    for start in range(0, len(X), _BLOCK):
        block = X[start : start + _BLOCK] * v[start : start + _BLOCK, None]
        sums += np.add.reduce(block, axis=0)
    return sums
