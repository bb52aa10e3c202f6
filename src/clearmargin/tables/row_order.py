"""Order rows by a hash of their values, so that results do not depend on how a table was sorted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clearmargin.rules.value import FloatArray, IntArray

__all__ = ["canonical_order", "hashed_rows", "mixed_words", "sample_classes"]

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
    hashes = hashed_rows(X, rows)
    if n_rows is not None and n_rows < len(rows):
        chosen = np.argpartition(hashes, n_rows - 1)[:n_rows]
        return rows[chosen[np.argsort(hashes[chosen], kind="stable")]]
    return rows[np.argsort(hashes, kind="stable")]


def hashed_rows(X: FloatArray, rows: IntArray | None = None) -> Words:
    """Give each row a word that depends on its values alone; equal rows have equal ones."""
    hashes = np.zeros(len(X) if rows is None else len(rows), dtype=np.uint64)
    for column in X.T:
        # Zero has two signs, and adding zero leaves the positive one.
        hashes ^= ((column if rows is None else column[rows]) + 0.0).view(np.uint64)
        hashes += _GOLDEN
        hashes *= _FIRST
        hashes ^= hashes >> _SHIFTS[0]
    return mixed_words(hashes)


# Of a class with fewer rows than this all are taken into a sample.
_FEWEST = 100


def sample_classes(X: FloatArray, codes: IntArray, n_rows: int) -> IntArray:
    """Draw rows by their values, class by class, so that a rare class is there, too.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        Finite numbers.
    codes : ndarray of int of shape (m,)
        The class of each row.
    n_rows : int
        How many to draw, about: of each class its share, rounded up, and at least 100 where it has them.

    Returns
    -------
    ndarray of int
        Rows of X in ascending order; all of them where there are no more.

    Examples
    --------
    >>> X = np.arange(1000.0)[:, None]
    >>> rows = sample_classes(X, (X[:, 0] >= 950).astype(int), 200)
    >>> len(rows), int((rows >= 950).sum())
    (240, 50)
    """
    if len(codes) <= n_rows:
        return np.arange(len(codes))
    parts = []
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        share = -(-len(members) * n_rows // len(codes))
        parts.append(canonical_order(X, members, max(share, _FEWEST)))
    return np.sort(np.concatenate(parts))


def mixed_words(words: Words) -> Words:
    """Spread words over all others, as SplitMix64 ends."""
    words = (words ^ (words >> _SHIFTS[0])) * _FIRST
    words = (words ^ (words >> _SHIFTS[1])) * _SECOND
    return np.asarray(words ^ (words >> _SHIFTS[2]))
