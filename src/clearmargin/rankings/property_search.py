"""Search for the properties that set two ends apart, and list them with counts, leverage and tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rankings.ends import Ends
from clearmargin.rankings.properties import PropertyTable
from clearmargin.rankings.property_listing import Listing
from clearmargin.rankings.property_redundancy import (
    conjunction_covers,
    part_counts,
    productive,
    same_cover,
    strict_improvement,
)
from clearmargin.rankings.significance import (
    Items,
    auc_of_property,
    benjamini_hochberg,
    count_candidates,
    cover,
    fisher,
    holm,
    leverage,
    leverage_interval,
)
from clearmargin.rule_base.leverage_search import (
    Contrast,
    Found,
    least_product,
    search_above,
    search_best,
)
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.table import Table, name_row
from clearmargin.tables.validation import check_whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "LEVEL",
    "item_tuples",
    "list_properties",
    "make_histograms",
    "n_tests",
    "search_properties",
]


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
    return Listing(
        {
            "items": parts,
            "names": [" and ".join(names[i] for i in each) for each in parts],
            "size": [len(each) for each in parts],
            "side": np.where(value > 0, "top", "bottom").astype(object),
            "top_count": found.top,
            "bottom_count": found.bottom,
            "leverage": value,
        }
    ).to_frame()


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


# What counts as unlikely.
LEVEL = 0.05


def item_tuples(found: Found) -> list[Items]:
    """Return the items of each conjunction, without the places that it does not use."""
    return [tuple(i for i in items if i >= 0) for items in found.items.tolist()]


def n_tests(table: PropertyTable, max_size: int, looks: int = 1) -> int:
    """Return how many properties could have been found, for either end, times how often one looked."""
    return 2 * looks * sum(count_candidates(table.attribute, max_size))


def list_properties(
    table: PropertyTable,
    contrast: Contrast,
    found: Found,
    ends: Ends,
    *,
    tests: int,
    scores: FloatArray,
    held_out: Mapping[tuple[Items, bool], float] | None,
    ranked: IntArray | None = None,
) -> Listing:
    """Put everything that is known about the properties into a table, the largest leverage first.

    Parameters
    ----------
    table : PropertyTable
        The properties of all rows.
    contrast : Contrast
        Those of top and bottom rows.
    found : Found
        Conjunctions that reach the threshold.
    ends : Ends
        Top and bottom rows.
    tests : int
        How many properties might have been found, for Holm's and Benjamini and Hochberg's corrections.
    scores : ndarray of shape (m,)
        The ranking.
    held_out : mapping or None
        Corrected p-values of candidates on held-out labels; None where there are no labels.
    ranked : ndarray of int, optional
        The rows of the table that have these scores, by default all of them.

    Returns
    -------
    Listing
        One row a property; `items` holds its parts.
    """
    items, n = item_tuples(found), (contrast.n_top, contrast.n_bottom)
    is_top = contrast.product(found.top, found.bottom) > 0
    low, high = leverage_interval(found.top, found.bottom, *n)
    p = fisher(found.top, found.bottom, *n)
    parts = part_counts(found.items, table.masks[:, ends.top], table.masks[:, ends.bottom])
    size = np.array([len(each) for each in items], dtype=np.intp)
    improves, adds = strict_improvement(parts), productive(parts) <= LEVEL
    first = _is_first_of_its_cover(table, found, ends, size)
    shown = np.where(size == 1, ~_hidden_twins(table, items, is_top), improves & adds & first)
    confirmed_p = np.full(len(items), np.nan)
    if held_out is not None:
        pairs = zip(items, is_top.tolist(), strict=True)
        confirmed_p = np.array([held_out.get(pair, np.nan) for pair in pairs], dtype=np.float64)
    auc = np.full(len(items), np.nan)
    if shown.any():
        visible = Found(found.items[shown], found.top[shown], found.bottom[shown], 0)
        rows = np.arange(len(scores)) if ranked is None else ranked
        auc[shown] = auc_of_property(cover(table, visible, rows), scores)
    return Listing(
        {
            "property": [table.text(each) for each in items],
            "size": size,
            "side": np.where(is_top, "top", "bottom").astype(object),
            "top_count": found.top,
            "bottom_count": found.bottom,
            "leverage": leverage(found.top, found.bottom, *n),
            "low": low,
            "high": high,
            "support": (found.top + found.bottom) / sum(n),
            "p_value": p,
            "holm": holm(p, tests),
            "q_value": benjamini_hochberg(p, tests),
            "improves": improves,
            "productive": adds,
            "held_out_p": confirmed_p,
            "confirmed": confirmed_p <= LEVEL,
            "auc": auc,
            "shown": shown,
            "items": items,
        }
    )


def _is_first_of_its_cover(
    table: PropertyTable, found: Found, ends: Ends, size: NDArray[np.intp]
) -> BoolArray:
    """Select the shortest one of the conjunctions that the same top and bottom rows have."""
    if not len(size):
        return np.zeros(0, dtype=np.bool_)
    rows = np.concatenate([ends.top, ends.bottom])
    covers = conjunction_covers(found.items, table.masks[:, rows])
    return np.asarray(same_cover(covers, size) == np.arange(len(size)))


def _hidden_twins(table: PropertyTable, items: list[Items], is_top: BoolArray) -> BoolArray:
    """Select single properties of the bottom whose complement is one of the top: they describe the other end."""
    twin = table.twin()
    at_top = {each[0] for each, top in zip(items, is_top, strict=True) if top and len(each) == 1}
    return np.array(
        [
            len(each) == 1 and not top and int(twin[each[0]]) in at_top
            for each, top in zip(items, is_top, strict=True)
        ],
        dtype=np.bool_,
    )


def make_histograms(table: PropertyTable, ends: Ends, listed: Listing) -> Listing:
    """Count the single properties of each attribute at both ends, in percent of the end.

    Parameters
    ----------
    table : PropertyTable
        The properties.
    ends : Ends
        Top and bottom rows.
    listed : Listing
        The properties that were found.

    Returns
    -------
    Listing
        One row a single property, those of an attribute in the order of their values; attributes with the largest
        difference first. `found` says whether the property reached the least leverage.
    """
    top = table.masks[:, ends.top].sum(axis=1)
    bottom = table.masks[:, ends.bottom].sum(axis=1)
    share = top / len(ends.top), bottom / len(ends.bottom)
    found = {items[0] for items in listed["items"] if len(items) == 1}
    every = Listing(
        {
            "attribute": [table.space.names[j] for j in table.attribute],
            "property": [each.text for each in table.properties],
            "top_count": top,
            "bottom_count": bottom,
            "top_percent": 100.0 * share[0],
            "bottom_percent": 100.0 * share[1],
            "found": [k in found for k in range(len(table))],
        }
    )
    strength = np.abs(share[0] - share[1])
    best = {j: strength[table.attribute == j].max() for j in np.unique(table.attribute)}
    return every.take(np.lexsort((np.arange(len(every)), [-best[j] for j in table.attribute])))
