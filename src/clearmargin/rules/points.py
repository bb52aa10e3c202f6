"""Rows of numbers as points of the space."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import DataError
from clearmargin.rules.value import BoolArray, FloatArray, holds_numbers

__all__ = ["as_points", "is_point"]


def as_points(X: ArrayLike, n_features: int) -> FloatArray:
    """Read X as an array of n_features columns of floats, or say what is wrong with it.

    Examples
    --------
    >>> as_points([[1, 2]], 2)
    array([[1., 2.]])
    """
    try:
        table = np.asarray(X)
        points = np.asarray(table, dtype=np.float64) if holds_numbers(table) else None
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"X must hold numbers: {error}") from None
    if points is None:
        raise DataError(f"X must hold numbers, not {table.dtype} values")
    if points.ndim != 2:
        raise DataError(
            f"X must be a table (two dimensions), not of shape {points.shape}; "
            "for a single row use [row]"
        )
    if points.shape[1] != n_features:
        raise DataError(f"X has {points.shape[1]} columns, but {n_features} features are expected")
    return points


def is_point(points: FloatArray) -> BoolArray:
    """Tell for each row whether all its values are known, so that a plane or a kernel machine has a score for it."""
    # A sum is NaN when a term is (or when infinities cancel): mostly one number tells that nothing is missing.
    with np.errstate(invalid="ignore", over="ignore"):
        if not np.isnan(points.sum()):
            return np.ones(len(points), dtype=np.bool_)
    known: BoolArray = np.logical_not(np.isnan(points).any(axis=1))
    return known
