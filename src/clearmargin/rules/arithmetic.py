"""Sums of products whose result depends on the numbers alone: exact signs and scores, and scores of whole tables.

A BLAS library adds the terms of a product in an order that depends on the processor, on the number of threads and on
the shape of the table, so that a row alone gets other last bits than the same row in a table. What rules, choices and
messages depend on is added exactly (`exact_sign`, `exact_score`) or column by column (`linear_scores`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clearmargin.rules.value import FloatArray

_EPS = float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)


def exact_sign(coef: FloatArray, point: FloatArray, intercept: float) -> int:
    """Give the sign of coef.point + intercept of the real numbers that the floats stand for."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        terms = coef * point
        value = float(terms.sum()) + intercept
        size = float(np.abs(terms).sum()) + abs(intercept)
        error = (len(coef) + 2) * _EPS * size
    # A product that underflowed lost at most the smallest normal number.
    if np.isfinite(size) and abs(value) > error + len(coef) * _TINY:
        return 1 if value > 0 else -1
    exact = exact_score(coef, point, intercept)
    return (exact > 0) - (exact < 0)


def exact_score(coef: FloatArray, point: FloatArray, intercept: float) -> float:
    """Give coef.point + intercept, rounded once to the nearest float; zero only for zero."""
    terms = [float(intercept).as_integer_ratio()]
    for w, x in zip(coef.tolist(), point.tolist(), strict=True):
        if w and x:
            (p, q), (r, s) = w.as_integer_ratio(), x.as_integer_ratio()
            terms.append((p * r, q * s))
    # All denominators are powers of two: the largest is common, and no greatest common divisor has to be found.
    common = max(q for _, q in terms)
    total = sum(p * (common // q) for p, q in terms)
    try:
        value = total / common
    except OverflowError:
        return math.inf if total > 0 else -math.inf
    return value if value or not total else 5e-324 * (1 if total > 0 else -1)


# Rows that are turned at a time, so that they stay in the cache of the processor.
_BLOCK = 512


# As a product of matrices, a score beyond all floats is infinite without a warning.
@np.errstate(over="ignore", invalid="ignore")
def linear_scores(points: Any, coef: FloatArray, intercept: float = 0.0) -> FloatArray:
    """Give coef.x + intercept for each row x, added up column by column."""
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
    """Give ``X.T @ v``, the sum of the rows with weights: sums of 32 rows, then of 32 such sums, and so on."""
    if not isinstance(X, np.ndarray):
        return np.asarray(X.T @ v, dtype=np.float64).ravel()
    used = np.flatnonzero(v)
    # Where most weights are zero their rows need not be read.
    if 2 * len(used) < len(v):
        X, v = X[used], v[used]
    blocks = [
        _by_32(X[start : start + 4096] * v[start : start + 4096, None])
        for start in range(0, len(X), 4096)
    ]
    sums = np.concatenate([np.zeros((1, X.shape[1])), *blocks])
    while len(sums) > 1:
        sums = _by_32(sums)
    return np.asarray(sums[0])


def _by_32(rows: FloatArray) -> FloatArray:
    return np.asarray(np.add.reduceat(rows, np.arange(0, len(rows), 32), axis=0))
