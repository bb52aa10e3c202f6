"""How the values of each attribute are spread over the top and over the bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearmargin.rankings.ends import Ends
from clearmargin.rankings.properties import PropertyTable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["make_histograms"]


def make_histograms(table: PropertyTable, ends: Ends, listed: pd.DataFrame) -> pd.DataFrame:
    """Count the single properties of each attribute at both ends, in percent of the end.

    Parameters
    ----------
    table : PropertyTable
        The properties.
    ends : Ends
        Top and bottom rows.
    listed : DataFrame
        The properties that were found.

    Returns
    -------
    DataFrame
        One row a single property, those of an attribute in the order of their values; attributes with the largest
        difference first. `found` says whether the property reached the least leverage.
    """
    import pandas as pd

    top = table.masks[:, ends.top].sum(axis=1)
    bottom = table.masks[:, ends.bottom].sum(axis=1)
    share = top / len(ends.top), bottom / len(ends.bottom)
    found = {items[0] for items in listed["items"] if len(items) == 1}
    frame = pd.DataFrame(
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
    order = np.lexsort((np.arange(len(frame)), [-best[j] for j in table.attribute]))
    return frame.iloc[order].reset_index(drop=True)
