"""Order rows by a hash of their values, so that results do not depend on how a table was sorted."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from clearmargin.rules import FeatureSpace
from clearmargin.rules.value import FloatArray, IntArray

Words = NDArray[np.uint64]

# The constants of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), which spreads similar words over all others.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


def canonical_order(X: FloatArray, rows: IntArray, n_rows: int | None = None) -> IntArray:
    """Put rows into an order that depends on their values alone, and take the first of them."""
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
    """Draw rows by their values, class by class, so that a rare class is there, too."""
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


def value_keys(space: FeatureSpace, points: FloatArray) -> Words:
    """Give each row a number that depends on its values alone, the same everywhere."""
    keys = np.zeros(len(points), dtype=np.uint64)
    for j, categories in enumerate(space.categories):
        column = points[:, j]
        missing = np.isnan(column)
        if categories is None:
            # Minus zero is zero, and all missing values are one.
            bits = np.where(missing, np.nan, column + 0.0).view(np.uint64)
        else:
            names = np.array([_digest(name) for name in ("", *categories)], dtype=np.uint64)
            bits = names[np.where(missing, -1.0, column).astype(np.intp) + 1]
        keys = mixed_words((keys ^ bits) + _GOLDEN)
    return keys


def _digest(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def first_of_equal(keys: Words) -> IntArray:
    """Give for each row the position of the first one with the same key: its own where no earlier row is equal."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[group.ravel()])


def must_repeat(points: FloatArray, n_rows: int) -> bool:
    """Tell whether rows are more than the combinations of their values: then equal ones are no copies."""
    return float(np.prod([float(len(np.unique(column))) for column in points.T])) <= n_rows
