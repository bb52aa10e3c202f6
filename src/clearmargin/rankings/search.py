"""The exact miner by itself: from a table of true and false to the properties that set two ends apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rankings.listing import item_tuples
from clearmargin.rankings.significance import leverage
from clearmargin.rule_base.leverage_search import (
    Contrast,
    least_product,
    search_above,
    search_best,
)
from clearmargin.tables.table import Table, name_row
from clearmargin.tables.validation import check_whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["search_properties"]

BoolArray = NDArray[np.bool_]


def search_properties(
    items: Any,
    in_top: Any,
    in_bottom: Any,
    *,
    attributes: Any = None,
    min_leverage: float | None = None,
    k: int | None = None,
    max_size: int = 2,
    limit: int = 1_000_000,
) -> pd.DataFrame:
    """Find all conjunctions of properties above a leverage, or those with the largest.

    Parameters
    ----------
    items : data frame or array-like of bool of shape (m, p)
        Which rows have which properties, one column each.
    in_top, in_bottom : array-like of bool of shape (m,)
        Which rows are at the top and at the bottom; no row is both.
    attributes : array-like of shape (p,), optional
        The attribute of each property; two of the same attribute are never joined. By default all differ.
    min_leverage : float, optional
        Least absolute leverage, above 0 and at most 0.25; compared exactly, as the decimal that it reads as.
    k : int, optional
        Only the k with the largest absolute leverage; give either `k` or `min_leverage`.
    max_size : int, default 2
        Most properties in a conjunction.
    limit : int, default 1,000,000
        Most conjunctions to find; more are an error.

    Returns
    -------
    DataFrame
        Columns `items` (column numbers), `names` (column names joined by " and "), `size`, `side`, `top_count`,
        `bottom_count` and `leverage`, the largest first.

    Examples
    --------
    >>> items = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], dtype=bool)
    >>> search_properties(items, [1, 1, 0, 0], [0, 0, 1, 1], min_leverage=0.2)["leverage"].tolist()
    [0.25]
    """
    import pandas as pd

    names, table = _read_items(items)
    top, bottom = (
        _read_rows(rows, len(table), name)
        for rows, name in ((in_top, "in_top"), (in_bottom, "in_bottom"))
    )
    if (top & bottom).any():
        row = int(np.flatnonzero(top & bottom)[0])
        raise DataError(
            f"{name_row(row, items)} is at the top and at the bottom; it can only be at one end"
        )
    check_whole("max_size", max_size, 1)
    check_whole("limit", limit, 1)
    groups = (
        np.arange(len(names))
        if attributes is None
        else np.unique(attributes, return_inverse=True)[1]
    )
    if len(groups) != len(names):
        raise DataError(f"there are {len(names)} properties and {len(groups)} attributes")
    contrast = Contrast.of(
        np.ascontiguousarray(table.T), np.flatnonzero(top), np.flatnonzero(bottom), groups
    )
    if (k is None) == (min_leverage is None):
        raise InvalidValueError("give either min_leverage or k")
    if k is not None:
        found = search_best(contrast, check_whole("k", k, 1), max_size, limit=limit)
    else:
        assert min_leverage is not None
        if not 0 < min_leverage <= 0.25:
            raise InvalidValueError(
                f"min_leverage must be a number above 0 and at most 0.25, not {min_leverage!r}"
            )
        threshold = least_product(min_leverage, contrast.n_top, contrast.n_bottom)
        found = search_above(contrast, threshold, max_size, limit=limit)
    parts = item_tuples(found)
    value = leverage(found.top, found.bottom, contrast.n_top, contrast.n_bottom)
    return pd.DataFrame(
        {
            "items": parts,
            "names": [" and ".join(names[i] for i in each) for each in parts],
            "size": [len(each) for each in parts],
            "side": np.where(value > 0, "top", "bottom").astype(object),
            "top_count": found.top,
            "bottom_count": found.bottom,
            "leverage": value,
        }
    )


def _read_items(items: Any) -> tuple[list[str], BoolArray]:
    array = np.asarray(items)
    if array.ndim != 2:
        raise DataError(
            f"items are a table of rows and properties, not an array of shape {array.shape}"
        )
    if array.dtype != np.bool_:
        wrong = ~np.isin(array, (0, 1))
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise DataError(
                f"{name_row(int(row), items)}, property {column + 1}: {array[row, column]!r} is neither true nor false"
            )
    table = Table.read(items)
    names = table.names if table.is_frame else [f"p{j}" for j in range(array.shape[1])]
    return list(names), array.astype(np.bool_)


def _read_rows(rows: Any, count: int, name: str) -> BoolArray:
    array = np.asarray(rows)
    if array.shape != (count,) or not np.isin(array, (0, 1)).all():
        raise DataError(f"{name} must be true or false for each of the {count} rows")
    if not array.any():
        raise DataError(f"{name} has no row")
    return array.astype(np.bool_)
