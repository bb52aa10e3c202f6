"""Rows that people ask about: which of them rules and explanations can speak of."""

from __future__ import annotations

from typing import Any

import numpy as np

from clearmargin.exceptions import DataError
from clearmargin.models.surface import Surface
from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["check_cases", "check_table", "has_unknown_category"]


def check_table(X: Any) -> None:
    """Insist on a table, and say what to do with a single row."""
    if not hasattr(X, "columns") and np.asarray(X).ndim == 1:
        raise DataError(
            "X is a single row, and a table (two dimensions) is needed. Reshape your data: pass [row]"
        )


def has_unknown_category(surface: Surface, table: FloatArray) -> BoolArray:
    """Tell which rows have a category that the model does not know, in a column that it uses.

    Parameters
    ----------
    surface : Surface
        The encoding.
    table : ndarray of shape (m, n)
        The user's table, as `Surface.read` gives it.

    Returns
    -------
    ndarray of bool of shape (m,)
        Such a row is encoded as none of the categories, where no rule was proved.
    """
    named = sorted({feature for feature, code in surface.sources if code is not None})
    return np.asarray((table[:, named] < 0).any(axis=1))


def check_cases(surface: Surface, table: FloatArray, cases: FloatArray) -> None:
    """Insist that all cases are points of the space.

    Parameters
    ----------
    surface : Surface
        The encoding.
    table, cases : ndarray of shape (m, n) and (m, n_encoded)
        The cases as they were given and encoded.
    """
    for problem, rows in (
        ("a value that is missing or infinite", ~np.isfinite(cases).all(axis=1)),
        ("a category that the model does not know", has_unknown_category(surface, table)),
    ):
        if rows.any():
            raise DataError(
                f"row {int(np.argmax(rows)) + 1} has {problem}; correct it before asking for an explanation"
            )
