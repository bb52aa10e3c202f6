"""The user's table as columns of numbers and back again, whatever the model does with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.rules import FeatureSpace
from clearmargin.rules.value import FloatArray
from clearmargin.tables.columns import Column, column_keys, table_array
from clearmargin.tables.encoding import Encoding, Source
from clearmargin.tables.model_table import read_columns

__all__ = ["TableMaker", "plain_encoding"]


def plain_encoding(X: Any) -> Encoding:
    """Read a table by itself: numbers stay as they are, categories become 0/1 columns.

    Parameters
    ----------
    X : data frame or array-like of shape (m, n)
        The table.

    Returns
    -------
    Encoding
        The encoding.

    Examples
    --------
    >>> plain_encoding(np.array([[1, "a"], [2, "b"]], dtype=object)).columns.names
    ('x0', 'x1=a', 'x1=b')
    """
    space = FeatureSpace.from_data(X)
    names: list[str] = []
    sources: list[Source] = []
    for j, (name, kinds) in enumerate(zip(space.names, space.categories, strict=True)):
        names += [name] if kinds is None else [f"{name}={kind}" for kind in kinds]
        sources += [Source(j, None)] if kinds is None else [Source(j, c) for c in range(len(kinds))]
    feature = [source.feature for source in sources]
    indicator = np.array([source.code is not None for source in sources], dtype=np.bool_)
    columns = FeatureSpace(
        names,
        np.where(indicator, 0.0, space.lower[feature]),
        np.where(indicator, 1.0, space.upper[feature]),
        indicator | space.integer[feature],
    )
    return Encoding(columns, tuple(sources), space)


@dataclass(frozen=True, slots=True, eq=False)
class TableMaker:
    """Makes tables out of encoded rows, of the kind and with the values that the model was fitted to.

    Parameters
    ----------
    encoding : Encoding
        The way there.
    keys : dict or None
        For a data frame its names and keys, None for an array.
    frame : type
        The class of the table.
    kinds : dict from int to ndarray
        For each feature of categories their values, as the table spells them.

    Examples
    --------
    >>> X = np.array([[1, "a"], [2, "b"]], dtype=object)
    >>> encoding = plain_encoding(X)
    >>> TableMaker.of(X, encoding).make(encoding.encode(X))
    array([[1.0, 'a'],
           [2.0, 'b']], dtype=object)
    """

    encoding: Encoding
    keys: dict[str, Any] | None
    frame: Any
    kinds: dict[int, NDArray[Any]]

    @classmethod
    def of(cls, X: Any, encoding: Encoding) -> TableMaker:
        """Remember what a table looks like."""
        space = encoding.space
        kinds: dict[int, NDArray[Any]] = {}
        for j, column in enumerate(read_columns(X, space.names)):
            names = space.categories[j]
            if names is not None:
                kinds[j] = _spelled(column, names)
        keys = column_keys(X)
        frame = np.ndarray if keys is None else type(X)
        return cls(encoding, None if keys is None else dict(keys), frame, kinds)

    def make(self, points: FloatArray) -> Any:
        """Give the table of some encoded rows; a feature has the category whose column is largest.

        Parameters
        ----------
        points : ndarray of shape (m, n_encoded)
            Encoded rows.

        Returns
        -------
        data frame or ndarray of shape (m, n)
            As the model takes it.
        """
        groups: dict[int, list[int]] = {}
        for k, (feature, _) in enumerate(self.encoding.sources):
            groups.setdefault(feature, []).append(k)
        columns: list[NDArray[Any]] = []
        for j in range(len(self.encoding.space)):
            if j not in self.kinds:
                columns.append(points[:, groups[j][0]])
            elif j in groups:
                columns.append(self.kinds[j][np.argmax(points[:, groups[j]], axis=1)])
            else:  # a feature that the model drops: any value will do
                columns.append(np.full(len(points), self.kinds[j][0], dtype=object))
        if self.keys is None:
            return np.stack(columns, axis=1) if self.kinds else table_array(np.stack(columns, 1))
        named = zip(self.encoding.space.names, columns, strict=True)
        return self.frame({self.keys[name]: values for name, values in named})


def _spelled(column: Column, names: tuple[str, ...]) -> NDArray[Any]:
    """The categories as the table spells them; one that is declared but not met, by its name."""
    values, codes = column.values.astype(object), column.codes(names)
    met = [codes == c for c in range(len(names))]
    spelled = [
        values[np.argmax(m)] if m.any() else name for m, name in zip(met, names, strict=True)
    ]
    return np.array(spelled, dtype=object)
