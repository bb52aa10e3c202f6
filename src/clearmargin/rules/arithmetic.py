"""Sums of products whose result depends on the numbers alone: exact signs and scores, and scores of whole tables.

A BLAS library adds the terms of a product in an order that depends on the processor, on the number of threads and on
the shape of the table, so that a row alone gets other last bits than the same row in a table. What rules, choices and
messages depend on is added exactly (`exact_sign`, `exact_score`) or column by column (`linear_scores`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from clearmargin.rules.value import FloatArray

_EPS = float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)
# Veltkamp's constant: a factor times this splits into halves of 26 digits each, whose products are exact.
_SPLIT = 2.0**27 + 1.0
# Beyond these sizes a half overflows, or the rounding error of a product is no float any more.
_LARGEST_FACTOR, _LARGEST_PRODUCT, _SMALLEST_PRODUCT = 2.0**990, 2.0**1000, 2.0**-960


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
    """Give coef.point + intercept, rounded once: the float nearest to the sum of the real numbers."""
    pairs = list(zip(coef.tolist(), point.tolist(), strict=True))
    parts = [intercept]
    for w, x in pairs:
        if w and x:
            product = w * x
            moderate = _SMALLEST_PRODUCT < abs(product) < _LARGEST_PRODUCT
            if not (moderate and abs(w) < _LARGEST_FACTOR and abs(x) < _LARGEST_FACTOR):
                return _nearest(_fraction(pairs, intercept))
            parts += product, _error(w, x, product)
    if abs(intercept) >= _LARGEST_PRODUCT:
        return _nearest(_fraction(pairs, intercept))
    return math.fsum(parts)


def _error(w: float, x: float, product: float) -> float:
    """Return what the rounding of a product lost."""
    spread = _SPLIT * w
    high = spread - (spread - w)
    spread = _SPLIT * x
    top = spread - (spread - x)
    low, rest = w - high, x - top
    return low * rest - (((product - high * top) - low * top) - high * rest)


def _fraction(pairs: list[tuple[float, float]], intercept: float) -> Fraction:
    return sum((Fraction(w) * Fraction(x) for w, x in pairs), Fraction(intercept))


def _nearest(exact: Fraction) -> float:
    """Return the nearest float, but never zero for a number that is not."""
    try:
        value = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    return value if value or not exact else math.copysign(5e-324, exact)


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
