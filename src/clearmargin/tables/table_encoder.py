"""The step of a pipeline that makes numbers of a `Table`: numbers as they are or scaled, categories as 0/1 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from clearmargin.exceptions import DataError
from clearmargin.progress import all_or_nothing
from clearmargin.rules.value import FloatArray
from clearmargin.tables.part_survey import MappedTable, TableParts
from clearmargin.tables.partitions import is_partitions
from clearmargin.tables.table import Table
from clearmargin.tables.table_part import TablePart, Values


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode a table for a machine that takes numbers, without a data frame in between."""

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

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the scale of the numbers."""
        in_parts = is_partitions(X)
        table = _header(X) if in_parts else Table.read(X)
        self.feature_names_in_ = np.array(table.names, dtype=object)
        self.n_features_in_ = len(table.names)
        self.scaler_: Any = None
        if self.scale and len(self.numeric):
            self.scaler_ = StandardScaler()
            with np.errstate(over="ignore", invalid="ignore"):
                if in_parts:
                    self._scale_in_parts(X)
                else:
                    self.scaler_.fit(self._numbers(table))
            if not np.isfinite(self.scaler_.var_).all():
                raise too_large(self.numeric[int(np.argmin(np.isfinite(self.scaler_.var_)))])
        return self

    def _scale_in_parts(self, parts: TableParts) -> None:
        """Learn the scale in two passes; the same as in memory, up to rounding."""
        names, m = list(self.numeric), sum(parts.lengths)
        mean = np.sum(parts.map(_sums, common=(names, np.zeros(len(names)), 1)), axis=0) / m
        variance = np.sum(parts.map(_sums, common=(names, mean, 2)), axis=0) / m
        self.scaler_.mean_, self.scaler_.var_, self.scaler_.n_samples_seen_ = mean, variance, m
        self.scaler_.scale_ = np.where(variance > 0, np.sqrt(variance), 1.0)
        self.scaler_.n_features_in_ = len(names)

    def transform(self, X: Any) -> Any:
        """Encode rows; one with a category that is not listed has zeros in all of its columns."""
        check_is_fitted(self)
        if is_partitions(X):
            encoded = MappedTable(X, _encode_part, (self, X.target), self.get_names_out())
            encoded.has_names = self.as_table  # an array has none
            return encoded
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

    def get_names_out(self) -> list[str]:
        """Name the columns of the encoded table."""
        categories = [f"{name}_{c}" for name in self.categories for c in self.categories[name]]
        return [*self.numeric, *categories]

    def _numbers(self, table: Table) -> FloatArray:
        # Column after column in memory, as numpy has the values of a data frame.
        numbers = np.empty((len(self.numeric), len(table)))
        for row, name in zip(numbers, self.numeric, strict=True):
            row[:] = table.column(name).numbers()
        return numbers.T


def _header(parts: TableParts) -> Table:
    return Table.of_columns({name: np.empty(0) for name in parts.names})


def _sums(part: TablePart, names: list[str], centre: FloatArray, power: int) -> FloatArray:
    return np.asarray(((part.numbers(names) - centre) ** power).sum(axis=0))


def _encode_part(part: TablePart, encoder: TableEncoder, target: str | None) -> TablePart:
    """Encode the features of a partition, and keep its target."""
    found = encoder.transform(part.table(encoder.feature_names_in_.tolist()))
    points = np.asfortranarray(found.numbers() if isinstance(found, Table) else found)
    columns: dict[str, Values] = dict(zip(encoder.get_names_out(), points.T, strict=True))
    if target is not None:
        columns[target] = part.column(target)
    return part._replace(columns=columns)


def too_large(name: str) -> DataError:
    """Make the error of a column that cannot be scaled."""
    return DataError(
        f"column {name!r} holds numbers whose squares are too large for floats; write it in a larger unit"
    )
