"""Search for the properties that set two ends apart, and list them with counts, leverage and tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rankings.ends import Ends
from clearmargin.rankings.properties import Listing, PropertyTable
from clearmargin.rankings.significance import (
    LEVEL,
    Items,
    add_to_their_parts,
    auc_of_property,
    benjamini_hochberg,
    cover,
    first_of_its_cover,
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
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.table import Table, name_row
from clearmargin.tables.validation import check_whole

if TYPE_CHECKING:
    import pandas as pd


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
    table = Table.read(items)
    masks = _truths("items", items, (len(table), len(table.names)))
    names = table.names if table.is_frame else [f"p{j}" for j in range(masks.shape[1])]
    top, bottom = (
        _truths(name, rows, (len(masks),))
        for name, rows in (("in_top", in_top), ("in_bottom", in_bottom))
    )
    for name, rows in (("in_top", top), ("in_bottom", bottom)):
        if not rows.any():
            raise DataError(f"{name} has no row")
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
    ends = np.flatnonzero(top), np.flatnonzero(bottom)
    contrast = Contrast.of(np.ascontiguousarray(masks.T), *ends, groups)
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


def _truths(name: str, given: Any, shape: tuple[int, ...]) -> BoolArray:
    """Read an array that is true or false for each row, of each property or by itself."""
    array = np.asarray(given)
    if array.shape != shape:
        raise DataError(f"{name} must have the shape {shape}, not {array.shape}")
    wrong = np.argwhere(~np.isin(array, (0, 1)))
    if len(wrong):
        place = tuple(wrong[0])
        raise DataError(
            f"{name}, {name_row(int(place[0]), given)}: {array[place]!r} is neither true nor false"
        )
    return array.astype(np.bool_)


def item_tuples(found: Found) -> list[Items]:
    """Return the items of each conjunction, without the places that it does not use."""
    return [tuple(i for i in items if i >= 0) for items in found.items.tolist()]


def list_properties(
    table: PropertyTable,
    contrast: Contrast,
    found: Found,
    ends: Ends,
    *,
    tests: int,
    scores: FloatArray,
    held_out: Mapping[tuple[Items, bool], float] | None,
) -> Listing:
    """Put everything that is known about the properties into a table, the largest leverage first."""
    items, n = item_tuples(found), (contrast.n_top, contrast.n_bottom)
    is_top = contrast.product(found.top, found.bottom) > 0
    low, high = leverage_interval(found.top, found.bottom, *n)
    p = fisher(found.top, found.bottom, *n)
    in_top, in_bottom = table.masks[:, ends.top], table.masks[:, ends.bottom]
    size = np.array([len(each) for each in items], dtype=np.intp)
    improves, adds = add_to_their_parts(found, in_top, in_bottom)
    first = first_of_its_cover(found, np.hstack([in_top, in_bottom]))
    # A single property of the bottom whose complement is one of the top describes the other end.
    pairs = list(zip(items, is_top.tolist(), strict=True))
    twin, at_top = table.twin(), {each[0] for each, side in pairs if side and len(each) == 1}
    is_twin = [not side and int(twin[each[0]]) in at_top for each, side in pairs]
    shown = np.where(size == 1, ~np.array(is_twin, dtype=np.bool_), improves & adds & first)
    confirmed_p = np.full(len(items), np.nan)
    if held_out is not None:
        confirmed_p = np.array([held_out.get(pair, np.nan) for pair in pairs], dtype=np.float64)
    auc = np.full(len(items), np.nan)
    if shown.any():
        visible = Found(found.items[shown], found.top[shown], found.bottom[shown], 0)
        auc[shown] = auc_of_property(cover(table, visible, np.arange(len(scores))), scores)
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


def make_histograms(table: PropertyTable, ends: Ends, listed: Listing) -> Listing:
    """Count the single properties of each attribute at both ends, in percent of the end."""
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
