"""Order rows by a hash of their values, so that results do not depend on how a table was sorted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clearmargin.rules.value import FloatArray, IntArray

__all__ = ["canonical_order"]

Words = NDArray[np.uint64]

# The constants of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), which spreads similar words over all others.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


def canonical_order(X: FloatArray, rows: IntArray, n_rows: int | None = None) -> IntArray:
    """Put rows into an order that depends on their values alone, and take the first of them.

    Rows are ordered by a hash of their values. Which of equal rows comes first makes no difference to anybody, and
    the first rows are a sample without a pattern.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        Finite numbers.
    rows : ndarray of int
        The rows to be ordered.
    n_rows : int, optional
        How many to take.

    Returns
    -------
    ndarray of int
        Rows of X.

    Examples
    --------
    >>> X = np.array([[3.0], [1.0], [2.0]])
    >>> first = X[canonical_order(X, np.arange(3))]
    >>> bool((first == X[::-1][canonical_order(X[::-1], np.arange(3))]).all())
    True
    """
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for column in X.T:
        # Zero has two signs, and adding zero leaves the positive one.
        hashes ^= (column[rows] + 0.0).view(np.uint64)
        hashes += _GOLDEN
        hashes *= _FIRST
        hashes ^= hashes >> _SHIFTS[0]
    hashes = _mixed(hashes)
    if n_rows is not None and n_rows < len(rows):
        chosen = np.argpartition(hashes, n_rows - 1)[:n_rows]
        return rows[chosen[np.argsort(hashes[chosen], kind="stable")]]
    return rows[np.argsort(hashes, kind="stable")]


def _mixed(words: Words) -> Words:
    words = (words ^ (words >> _SHIFTS[0])) * _FIRST
    words = (words ^ (words >> _SHIFTS[1])) * _SECOND
    return np.asarray(words ^ (words >> _SHIFTS[2]))
