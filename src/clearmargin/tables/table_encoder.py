"""The step of a pipeline that makes numbers of a `Table`: numbers as they are or scaled, categories as 0/1 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from clearmargin.rules.value import FloatArray
from clearmargin.tables.table import Table

__all__ = ["TableEncoder"]


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode a table for a machine that takes numbers, without a data frame in between.

    What scikit-learn's `ColumnTransformer` does with a scaler for the numbers and a `OneHotEncoder` for the rest, for a
    table whose columns are read already. Numbers come first, then the categories of one feature after the other.

    Parameters
    ----------
    numeric : sequence of str
        The features that are numbers.
    categories : mapping from str to sequence of str
        The categories of the others.
    scale : bool, default False
        Whether numbers are standardised.
    as_table : bool, default False
        Whether the output is a `Table`, in which a 0/1 column is called feature_category; by default it is an array.

    Examples
    --------
    >>> table = Table.of_columns({"age": np.array([40, 60]), "smoker": np.array(["no", "yes"], dtype=object)})
    >>> TableEncoder(["age"], {"smoker": ["no", "yes"]}, scale=True).fit_transform(table)
    array([[-1.,  1.,  0.],
           [ 1.,  0.,  1.]])
    """

    _reads_tables = True  # see `Table.taken_by`

    def __init__(
        self,
        numeric: Sequence[str],
        categories: Mapping[str, Sequence[str]],
        *,
        scale: bool = False,
        as_table: bool = False,
    ):
        self.numeric = numeric
        self.categories = categories
        self.scale = scale
        self.as_table = as_table

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the scale of the numbers.

        Parameters
        ----------
        X : Table or data frame of shape (m, n)
            The rows.
        y : object
            Is not looked at.

        Returns
        -------
        TableEncoder
            Fitted.
        """
        table = Table.read(X)
        self.feature_names_in_ = np.array(table.names, dtype=object)
        self.n_features_in_ = len(table.names)
        self.scaler_ = None
        if self.scale and len(self.numeric):
            self.scaler_ = StandardScaler().fit(self._numbers(table))
        return self

    def transform(self, X: Any) -> Any:
        """Encode rows; one with a category that is not listed has zeros in all of its columns.

        Parameters
        ----------
        X : Table or data frame of shape (m, n)
            The rows.

        Returns
        -------
        ndarray or Table of shape (m, n_encoded)
            Of floats; in a `Table`, numbers are stored as they were.
        """
        check_is_fitted(self)
        table = Table.read(X)
        codes = {
            name: table.column(name).codes(tuple(self.categories[name])) for name in self.categories
        }
        if self.as_table:
            columns = {name: table.column(name).values for name in self.numeric}
            for name, values in codes.items():
                for code, category in enumerate(self.categories[name]):
                    columns[f"{name}_{category}"] = (values == code).astype(np.float64)
            return Table.of_columns(columns)
        numbers = self._numbers(table)
        parts = [numbers if self.scaler_ is None else self.scaler_.transform(numbers)]
        if codes:
            indicators = [
                values[:, None] == np.arange(len(self.categories[name]))
                for name, values in codes.items()
            ]
            parts.append(np.ascontiguousarray(np.hstack(indicators), dtype=np.float64))
        return np.hstack([part for part in parts if part.shape[1]])

    def _numbers(self, table: Table) -> FloatArray:
        # Column after column in memory, as numpy has the values of a data frame.
        numbers = np.empty((len(self.numeric), len(table)))
        for row, name in zip(numbers, self.numeric, strict=True):
            row[:] = table.column(name).numbers()
        return numbers.T
