"""One case of a model: read from a row of any kind, and given back to the model with some values changed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from clearmargin.exceptions import DataError, InvalidValueError, NotLinearError
from clearmargin.models.surface import Surface, read_surface
from clearmargin.rules import FeatureSpace
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.space import category_name
from clearmargin.rules.value import FloatArray
from clearmargin.tables.table import ModelTable, Table, as_given, is_frame

__all__ = ["Case", "read_case"]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A case with the model that judges it.

    Parameters
    ----------
    model : fitted classifier
        The model.
    surface : Surface
        Its planes in the user's units.
    space : FeatureSpace
        The user's features with what the list X, or the case alone, tells about them.
    values : mapping from name to value
        The case.
    kinds : mapping from name to mapping
        For each feature that names things, the user's value of each category.
    frame : type or None
        The kind of data frame that the model takes; None for an array.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> case = read_case(RidgeClassifier().fit(X, ["no", "no", "yes", "yes"]), [4.5], X)
    >>> case.label(), case.label({"x0": 2})
    ('yes', 'no')
    """

    model: Any
    surface: Surface
    space: FeatureSpace
    values: Mapping[str, Any]
    kinds: Mapping[str, Mapping[str, Any]]
    frame: type | None

    def table(self, changed: Mapping[str, Any] | None = None) -> Any:
        """The case as a table of one row that the model takes, with some values changed."""
        row = {**self.values, **(changed or {})}
        return ModelTable.read(self.model, _as_table(row, self.frame)).table.given

    def point(self, changed: Mapping[str, Any] | None = None) -> FloatArray:
        """The encoded case, with some values changed."""
        point: FloatArray = self.surface.encode(self.table(changed))[0]
        return point

    def label(self, changed: Mapping[str, Any] | None = None) -> Label:
        """What the model says."""
        with _quiet():
            return as_label(np.ravel(self.model.predict(self.table(changed)))[0])

    def score(self, changed: Mapping[str, Any] | None = None) -> float:
        """The score that a model of two classes gives."""
        return float(self.scores(self.table(changed))[0])

    def scores(self, given: Any) -> FloatArray:
        """The scores that a model of two classes gives to rows, by its own decision function if it has one."""
        if not hasattr(self.model, "decision_function"):
            return self.surface.hyperplane.decision(self.surface.encode(given))
        with _quiet():
            return np.ravel(np.asarray(self.model.decision_function(given), dtype=np.float64))

    def others(self, X: Any, listed: bool | None) -> FloatArray:
        """The scores of the rows of a list, without one row that is the case itself."""
        table = ModelTable.read(self.model, X).table
        scores = self.scores(table.given)
        if listed is False:
            return scores
        own = self.surface.read(self.table())
        same = np.flatnonzero((self.surface.read(table) == own).all(axis=1))
        if len(same):
            return np.delete(scores, same[0])
        if listed:
            raise DataError(
                "no row of X is equal to the case; add it to the list, or say Rank(n, listed=False)"
            )
        return scores


def read_case(model: Any, x: Any, X: Any) -> Case:
    """Read a case and the surface of its model.

    Parameters
    ----------
    model : fitted classifier
        Linear, possibly after affine steps.
    x : data frame of one row, mapping from name to value, or array-like of shape (n,)
        The case.
    X : data frame or array-like of shape (m, n), or None
        Rows that tell the ranges of the features.

    Returns
    -------
    Case
        Without gaps.
    """
    check_is_fitted(model)
    names = _table_names(model, X)
    values = _read_row(x, names)
    frame = _frame_type(model, x, X)
    base = _as_table(values, frame) if X is None else X
    if X is None and names is None:
        _check_width(model, values)
    try:
        surface = read_surface(model, base)
    except NotLinearError as error:
        raise InvalidValueError(
            f"{error.problem}; recourse needs a linear model, such as LPSVC or SVC(kernel='linear'), alone or after "
            "steps that scale, select or one-hot encode"
        ) from None
    values = {name: _value(values, name) for name in surface.space.names}
    case = Case(model, surface, surface.space, values, {}, frame)
    _check_known(case)
    space = _space_of(case) if X is None else surface.space
    return Case(model, surface, space, values, _kinds(case, X), frame)


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        # Names that only the table or only the model has change nothing here.
        warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
        yield


def _table_names(model: Any, X: Any) -> tuple[str, ...] | None:
    if X is not None and is_frame(X):
        return Table.read(X).names
    known = getattr(model, "feature_names_in_", None)
    if known is not None:
        return tuple(str(name) for name in known)
    if X is None:
        return None
    return tuple(f"x{j}" for j in range(np.shape(X)[1] if np.ndim(X) == 2 else 0))


def _read_row(x: Any, names: tuple[str, ...] | None) -> dict[str, Any]:
    if is_frame(x):
        if len(x) != 1:
            raise DataError(f"x must be one case, not a table of {len(x)} rows; pass X.iloc[[k]]")
        return {column.name: _plain(column.values[0]) for column in Table.read(x).all_columns()}
    # The keys of a series are its labels, but it runs over its values.
    keys_of = getattr(x, "keys", list)
    labels = [label for label in keys_of() if isinstance(label, str)]
    if labels and len(labels) == len(x):
        return {label: _scalar(label, x[label]) for label in labels}
    array = np.asarray(x)
    if array.dtype.kind in "US" and not isinstance(x, np.ndarray):
        array = np.asarray(x, dtype=object)
    if array.ndim == 2 and len(array) == 1:
        array = array[0]
    if array.ndim != 1:
        raise DataError(
            f"x must be one case (a data frame of one row, a mapping or one row of values), not of shape {array.shape}"
        )
    known = names or tuple(f"x{j}" for j in range(len(array)))
    if len(known) != len(array):
        raise DataError(f"x has {len(array)} values, but the table has {len(known)} columns")
    return dict(zip(known, map(_plain, array), strict=True))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _scalar(name: str, value: Any) -> Any:
    if np.ndim(value):
        raise DataError(f"the value of {name!r} must be a single one, not {value!r}")
    return _plain(value)


def _value(values: Mapping[str, Any], name: str) -> Any:
    if name not in values:
        raise DataError(f"the case has no value for {name!r}")
    return values[name]


def _check_width(model: Any, values: Mapping[str, Any]) -> None:
    expected = getattr(model, "n_features_in_", len(values))
    if len(values) != expected:
        raise DataError(
            f"x has {len(values)} values, but the model was fitted to {expected} columns"
        )


def _frame_type(model: Any, x: Any, X: Any) -> type | None:
    for table in (X, x):
        if table is not None and is_frame(table):
            return type(as_given(table))
    if getattr(model, "feature_names_in_", None) is None:
        return None
    try:
        import pandas as pd
    except ImportError:
        return None
    return pd.DataFrame


def _as_table(row: Mapping[str, Any], frame: type | None) -> Any:
    if frame is not None:
        return frame({name: [value] for name, value in row.items()})
    values = list(row.values())
    are_numbers = all(isinstance(value, int | float) for value in values)
    return np.array([values], dtype=np.float64 if are_numbers else object)


def _check_known(case: Case) -> None:
    wrong = np.flatnonzero(~np.isfinite(case.point()))
    if len(wrong):
        name = case.surface.space.names[case.surface.sources[wrong[0]].feature]
        raise DataError(
            f"the value of {name!r} is {case.values[name]}, and a case with missing or infinite values has no place "
            "beside the plane; fill it in first"
        )


def _space_of(case: Case) -> FeatureSpace:
    """A single row tells no ranges, and that a number is whole only if it was given as an integer."""
    known = case.surface.space
    integer = [isinstance(value, int) for value in case.values.values()]
    return FeatureSpace(known.names, integer=integer, categories=known.categories)


def _kinds(case: Case, X: Any) -> dict[str, dict[str, Any]]:
    """For each feature that names things, how the user writes each category."""
    space = case.surface.space
    columns = {} if X is None else {c.name: c for c in Table.read(X).columns_of(space.names)}
    found: dict[str, dict[str, Any]] = {}
    for name, kinds in zip(space.names, space.categories, strict=True):
        if kinds is None:
            continue
        own = case.values[name]
        written = columns[name].written if name in columns else {}
        written = {**written, category_name(own): own}
        found[name] = {kind: written.get(kind, _alike(kind, own)) for kind in kinds}
    return found


def _alike(kind: str, own: Any) -> Any:
    """A category that does not occur, written like one that does."""
    if isinstance(own, bool):
        return kind == "True"
    if isinstance(own, int | float):
        return type(own)(float(kind))
    return kind
