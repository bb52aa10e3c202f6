"""The table of properties: counts, leverage, and what speaks for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clearmargin.rankings.ends import Ends
from clearmargin.rankings.evidence import auc_of_property
from clearmargin.rankings.held_out import Items, cover
from clearmargin.rankings.properties import PropertyTable
from clearmargin.rankings.redundancy import (
    conjunction_covers,
    part_counts,
    productive,
    same_cover,
    strict_improvement,
)
from clearmargin.rankings.significance import (
    benjamini_hochberg,
    count_candidates,
    fisher,
    holm,
    leverage,
    leverage_interval,
)
from clearmargin.rule_base.leverage_search import Contrast, Found

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LEVEL", "item_tuples", "list_properties", "n_tests"]

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]

# What counts as unlikely.
LEVEL = 0.05


def item_tuples(found: Found) -> list[Items]:
    """The items of each conjunction, without the places that it does not use."""
    return [tuple(i for i in items if i >= 0) for items in found.items.tolist()]


def n_tests(table: PropertyTable, max_size: int, looks: int = 1) -> int:
    """How many properties could have been found, for either end, times how often one looked."""
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
) -> pd.DataFrame:
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

    Returns
    -------
    DataFrame
        One row a property; `items` holds its parts.
    """
    import pandas as pd

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
        auc[shown] = auc_of_property(cover(table, visible, np.arange(len(scores))), scores)
    return pd.DataFrame(
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
    """Of conjunctions that the same top and bottom rows have, the shortest one."""
    if not len(size):
        return np.zeros(0, dtype=np.bool_)
    rows = np.concatenate([ends.top, ends.bottom])
    covers = conjunction_covers(found.items, table.masks[:, rows])
    return np.asarray(same_cover(covers, size) == np.arange(len(size)))


def _hidden_twins(table: PropertyTable, items: list[Items], is_top: BoolArray) -> BoolArray:
    """Single properties of the bottom whose complement is one of the top: they say the same of the other end."""
    twin = table.twin()
    at_top = {each[0] for each, top in zip(items, is_top, strict=True) if top and len(each) == 1}
    return np.array(
        [
            len(each) == 1 and not top and int(twin[each[0]]) in at_top
            for each, top in zip(items, is_top, strict=True)
        ],
        dtype=np.bool_,
    )
