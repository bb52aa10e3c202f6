"""The user's table, seen by the model that was fitted to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clearmargin.exceptions import DataError
from clearmargin.rules.space import nearest_name
from clearmargin.tables.columns import Column, column_keys, table_array

__all__ = ["ModelTable", "read_columns"]


@dataclass(frozen=True, slots=True, eq=False)
class ModelTable:
    """The columns of a table that a model takes.

    Parameters
    ----------
    columns : tuple of Column
        In the order of the table, without those that the model does not know.
    order : tuple of int
        For each column of the model, its position among `columns`.
    given : data frame or ndarray
        The table as the model takes it.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = [[1.0, 2.0], [3.0, 5.0]]
    >>> table = ModelTable.read(StandardScaler().fit(X), X)
    >>> [column.name for column in table.columns], table.order
    (['x0', 'x1'], (0, 1))
    """

    columns: tuple[Column, ...]
    order: tuple[int, ...]
    given: Any

    @classmethod
    def read(cls, estimator: Any, X: Any) -> ModelTable:
        """Match a table to a fitted estimator: by names where both have them, else by position."""
        from scipy import sparse

        if sparse.issparse(X):
            raise DataError("X is a sparse matrix, and rules need tables; pass X.toarray()")
        names, n_features = _known_columns(estimator)
        keys = column_keys(X)
        if keys is not None and names is not None:
            for name in names:
                _check_name(name, keys)
            wanted = set(names)
            columns = tuple(read_columns(X, [name for name in keys if name in wanted]))
            position = {column.name: j for j, column in enumerate(columns)}
            given = X if tuple(keys) == names else X[[keys[name] for name in names]]
            return cls(columns, tuple(position[name] for name in names), given)
        if keys is not None:
            _check_width(len(keys), n_features)
            return cls(tuple(read_columns(X, tuple(keys))), tuple(range(len(keys))), X)
        array = table_array(X)
        _check_width(array.shape[1], n_features)
        labels = names or tuple(f"x{j}" for j in range(array.shape[1]))
        return cls(tuple(read_columns(array, labels)), tuple(range(len(labels))), array)


def read_columns(X: Any, names: tuple[str, ...] | list[str]) -> list[Column]:
    """Read columns by name from a data frame, by position from an array.

    Parameters
    ----------
    X : data frame or array-like of shape (m, n)
        The table.
    names : sequence of str
        Names of the columns to read; for an array, of all its columns.

    Returns
    -------
    list of Column
        In the order of `names`.

    Examples
    --------
    >>> [column.values.tolist() for column in read_columns([[1, "red"], [2, "blue"]], ["size", "colour"])]
    [[1, 2], ['red', 'blue']]
    """
    keys = column_keys(X)
    if keys is None:
        array = table_array(X)
        _check_width(array.shape[1], len(names))
        return [Column(name, values) for name, values in zip(names, array.T, strict=True)]
    for name in names:
        _check_name(name, keys)
    return [Column(name, X[keys[name]]) for name in names]


def _check_name(name: str, known: Mapping[str, object]) -> None:
    if name not in known:
        raise DataError(f"the table has no column {name!r}{nearest_name(name, known)}")


def _check_width(met: int, expected: int | None) -> None:
    if expected is not None and met != expected:
        raise DataError(f"X has {met} columns, but the model was fitted to {expected}")


def _known_columns(estimator: Any) -> tuple[tuple[str, ...] | None, int | None]:
    """Names and number of the columns that the estimator was fitted to, as far as it knows them."""
    from sklearn.pipeline import Pipeline

    if isinstance(estimator, Pipeline):
        # A pipeline asks its first step, which may be a text that knows nothing.
        steps = (step for _, step in estimator.steps if hasattr(step, "fit"))
        estimator = next(steps, estimator)
        if isinstance(estimator, Pipeline):
            return _known_columns(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    return (
        None if names is None else tuple(str(name) for name in names),
        getattr(estimator, "n_features_in_", None),
    )
