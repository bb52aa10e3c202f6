"""What was found, as columns of equal length: rows for texts and reports, a data frame for who has pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from clearmargin.tables.table import make_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Listing"]


class Listing:
    """A list of things with what is known of each.

    Parameters
    ----------
    columns : mapping from str to list or ndarray of shape (k,)
        A value for each thing.

    Examples
    --------
    >>> import numpy as np
    >>> listing = Listing({"name": ["a", "b"], "size": np.array([2, 1])})
    >>> listing.take(np.array([1])).rows()
    [{'name': 'b', 'size': 1}]
    """

    def __init__(self, columns: Mapping[str, Any]):
        self.columns = dict(columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> list[Any]:
        """Give one column, as plain values."""
        values = self.columns[name]
        return list(values) if isinstance(values, list) else list(values.tolist())

    def take(self, positions: NDArray[Any]) -> Listing:
        """Select things by position."""
        return Listing(
            {
                name: [values[k] for k in positions.tolist()]
                if isinstance(values, list)
                else values[positions]
                for name, values in self.columns.items()
            }
        )

    def rows(self) -> list[dict[str, Any]]:
        """Give what is known of each thing, by name."""
        values = zip(*(self[name] for name in self.columns), strict=True)
        return [dict(zip(self.columns, row, strict=True)) for row in values]

    def to_frame(self) -> pd.DataFrame:
        """Put it into a data frame of pandas, one row a thing."""
        return make_frame(self.columns)
