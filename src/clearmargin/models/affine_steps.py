"""The steps of a pipeline that are affine, read as affine maps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import singledispatch
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.utils.validation import check_is_fitted

from clearmargin.exceptions import ClearmarginError, InvalidValueError, NotLinearError
from clearmargin.models.fitted import check_fitted
from clearmargin.models.flow import Flow, Sources
from clearmargin.rules import FeatureSpace
from clearmargin.rules.space import category_name
from clearmargin.tables.table import Column, Table
from clearmargin.tables.table_encoder import TableEncoder


def imputed_space(estimator: Any, X: Any) -> FeatureSpace:
    """Give the features of a table, with the fixed values by which a model of any kind replaces missing ones."""
    table = Table.read(X)
    space, sources = table.space(), Sources([column.name for column in table.all_columns()])
    with suppress(ClearmarginError):  # steps that are not affine may follow
        unwrap(estimator, Flow.start(sources, range(len(space))), "a classifier")
    fills = [sources.fill(j) for j in range(len(space))]
    categories = [
        known
        if known is None or fill is None or category_name(fill) in known
        else (*known, category_name(fill))
        for known, fill in zip(space.categories, fills, strict=True)
    ]
    if categories == list(space.categories) and not any(fill is not None for fill in fills):
        return space
    return FeatureSpace(
        space.names, space.lower, space.upper, space.integer, categories, space.units, fills
    )


def unwrap(estimator: Any, flow: Flow, what: str) -> tuple[Any, Flow]:
    """Find what decides within pipelines, searches and frozen estimators, and the columns that reach it."""
    while True:
        check_fitted(estimator)
        if isinstance(estimator, Pipeline):
            *steps, (_, last) = estimator.steps
            if last is None or isinstance(last, str):
                raise InvalidValueError(f"the pipeline ends without {what}")
            estimator, flow = last, pass_steps(steps, flow)
        elif isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        elif isinstance(estimator, GridSearchCV | RandomizedSearchCV):
            if not hasattr(estimator, "best_estimator_"):
                raise InvalidValueError(
                    f"{type(estimator).__name__} was run with refit=False and has no best_estimator_ to read"
                )
            estimator = estimator.best_estimator_
        else:
            return estimator, flow


def pass_steps(steps: list[tuple[str, Any]], flow: Flow, path: str = "") -> Flow:
    """Pass columns through named steps, one after the other."""
    for name, step in steps:
        flow = pass_step(step, flow, _join(path, name))
    return flow


def pass_step(step: Any, flow: Flow, name: str) -> Flow:
    """Pass columns through one step; a step that is not affine is an error that names it."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return flow
    if _pass.dispatch(type(step)) is not _pass.dispatch(object):
        check_is_fitted(step)
    return _pass(step, flow, name)


@singledispatch
def _pass(step: Any, flow: Flow, name: str) -> Flow:
    raise _refusal(step, name, "is not affine")


def _refusal(step: Any, name: str, why: str) -> NotLinearError:
    return NotLinearError(
        f"step {name!r} ({type(step).__name__}) {why}",
        "hyperplanes in the user's units need steps that scale, select, encode categories or map linearly. Leave the "
        "step out, or use SurrogateRules(), which takes any classifier",
    )


def _join(path: str, name: str) -> str:
    # The double underscore is how scikit-learn addresses a step within a step.
    return f"{path}__{name}" if path else name


@_pass.register(StandardScaler)
def _(step: Any, flow: Flow, name: str) -> Flow:
    # The mean is remembered even where with_mean=False keeps it from being used.
    return _standardise(
        flow, step.mean_ if step.with_mean else None, step.scale_ if step.with_std else None
    )


@_pass.register(RobustScaler)
def _(step: Any, flow: Flow, name: str) -> Flow:
    return _standardise(flow, step.center_, step.scale_)


@_pass.register(MaxAbsScaler)
def _(step: Any, flow: Flow, name: str) -> Flow:
    _refuse_clipping(step, name)
    return _standardise(flow, None, step.scale_)


@_pass.register(MinMaxScaler)
def _(step: Any, flow: Flow, name: str) -> Flow:
    _refuse_clipping(step, name)
    scale, low = (np.asarray(part, dtype=np.float64) for part in (step.scale_, step.min_))
    return flow.scaled(scale, low)


def _standardise(flow: Flow, center: Any, scale: Any) -> Flow:
    n = flow.n_out
    factor = np.ones(n) if scale is None else 1.0 / np.asarray(scale, dtype=np.float64)
    shift = np.zeros(n) if center is None else -np.asarray(center, dtype=np.float64) * factor
    return flow.scaled(factor, shift)


def _refuse_clipping(step: Any, name: str) -> None:
    if getattr(step, "clip", False):
        raise _refusal(step, name, "has clip=True, which is not affine")


@_pass.register(SelectorMixin)
def _(step: Any, flow: Flow, name: str) -> Flow:
    return flow.take(np.flatnonzero(step.get_support()))


@_pass.register(PCA)
@_pass.register(IncrementalPCA)
def _(step: Any, flow: Flow, name: str) -> Flow:
    components = np.asarray(step.components_, dtype=np.float64)
    if step.whiten:
        # The floor is scikit-learn's own: components without variance would be divided by zero.
        spread = np.sqrt(step.explained_variance_)
        components = components / np.maximum(spread, np.finfo(spread.dtype).eps)[:, None]
    means = components * step.mean_
    terms = np.abs(means).sum(axis=1)
    return flow.mapped(components, -means.sum(axis=1), terms)


@_pass.register(TruncatedSVD)
@_pass.register(GaussianRandomProjection)
@_pass.register(SparseRandomProjection)
def _(step: Any, flow: Flow, name: str) -> Flow:
    return flow.mapped(step.components_)


@_pass.register(SimpleImputer)
@_pass.register(KNNImputer)
def _(step: Any, flow: Flow, name: str) -> Flow:
    """Leave the columns alone, but remember fixed values that take the place of missing ones."""
    marker = step.missing_values
    if not np.isnan(Column(name, np.array([marker], dtype=object)).codes(())).all():
        why = f"replaces the value {marker!r}, which is not affine; mark missing values by NaN"
        raise _refusal(step, name, why)
    if step.add_indicator:
        raise _refusal(
            step, name, "has add_indicator=True, which makes columns out of missing values"
        )
    if len(step.get_feature_names_out()) != flow.n_out:
        raise _refusal(step, name, "has dropped columns in which all values were missing")
    # Neighbours put another value into each row: then what is missing stays missing for the rules.
    is_fixed = isinstance(step, SimpleImputer)
    values = step.statistics_.tolist() if is_fixed else [None] * flow.n_out
    for k, value in enumerate(values):
        _note_fill(flow, k, value)
    return flow


def _note_fill(flow: Flow, k: int, value: Any) -> None:
    """Carry the value that an imputer puts into a column back to the column of the table it was made of."""
    origin = flow.origin[k]
    if origin is not None:
        flow.sources.note_fill(origin, category_name(value) if isinstance(value, str) else value)
        return
    source = flow.source_of(k)
    if source is not None and source[0] < len(flow.sources.names):
        column, factor, shift = source
        flow.sources.note_fill(column, None if value is None else (float(value) - shift) / factor)


@_pass.register(FunctionTransformer)
def _(step: Any, flow: Flow, name: str) -> Flow:
    if step.func is not None:
        label = getattr(step.func, "__name__", repr(step.func))
        raise _refusal(step, name, f"calls {label}, which may not be affine")
    return flow


@_pass.register(FrozenEstimator)
def _(step: Any, flow: Flow, name: str) -> Flow:
    return pass_step(step.estimator, flow, name)


@_pass.register(Pipeline)
def _(step: Any, flow: Flow, name: str) -> Flow:
    return pass_steps(step.steps, flow, name)


@_pass.register(FeatureUnion)
def _(step: Any, flow: Flow, name: str) -> Flow:
    weights = step.transformer_weights or {}
    parts = [
        _weighted(pass_step(part, flow, _join(name, key)), weights.get(key))
        for key, part in step.transformer_list
        if not _is_dropped(part)
    ]
    return Flow.join(parts, flow.sources)


@_pass.register(ColumnTransformer)
def _(step: Any, flow: Flow, name: str) -> Flow:
    weights = step.transformer_weights or {}
    # Names, masks, slices and callables, resolved to positions as the transformer itself does it.
    positions = step._transformer_to_input_indices
    parts = [
        _weighted(pass_step(part, flow.take(positions[key]), _join(name, key)), weights.get(key))
        for key, part, _ in step.transformers_
        if not _is_dropped(part) and len(positions[key])
    ]
    return Flow.join(parts, flow.sources)


def _is_dropped(part: Any) -> bool:
    return isinstance(part, str) and part == "drop"


def _weighted(flow: Flow, weight: float | None) -> Flow:
    if weight is None:
        return flow
    return flow.scaled(np.full(flow.n_out, weight))


@_pass.register(OneHotEncoder)
def _(step: Any, flow: Flow, name: str) -> Flow:
    dropped = [None] * flow.n_out if step.drop_idx_ is None else step.drop_idx_
    rows: list[list[tuple[int, float]]] = []
    for indicators, without in zip(_indicators(step, flow, name), dropped, strict=True):
        rows += [
            [] if indicator is None else [(indicator, 1.0)]
            for code, indicator in enumerate(indicators)
            if code != without
        ]
    return _combine(rows, flow)


@_pass.register(TableEncoder)
def _(step: Any, flow: Flow, name: str) -> Flow:
    place = {title: k for k, title in enumerate(step.feature_names_in_.tolist())}
    numbers = pass_step(step.scaler_, flow.take([place[title] for title in step.numeric]), name)
    # It takes tables, so that no step before it has changed a column.
    origin: Any = flow.origin
    indicators = [
        flow.sources.indicator(origin[place[title]], category)
        for title, categories in step.categories.items()
        for category in categories
    ]
    parts = [numbers, _combine([[(indicator, 1.0)] for indicator in indicators], flow)]
    return Flow.join([part for part in parts if part.origin], flow.sources)


@_pass.register(OrdinalEncoder)
def _(step: Any, flow: Flow, name: str) -> Flow:
    if step.handle_unknown != "error":
        raise _refusal(step, name, "gives unknown categories a number of their own")
    rows = [
        [
            (indicator, float(code))
            for code, indicator in enumerate(indicators)
            if indicator is not None
        ]
        for indicators in _indicators(step, flow, name)
    ]
    return _combine(rows, flow)


def _indicators(step: Any, flow: Flow, name: str) -> Iterator[list[int | None]]:
    """Yield for each encoded column the 0/1 sources of its categories; None for "missing", which no point has."""
    grouped = getattr(step, "infrequent_categories_", None) or [None] * flow.n_out
    for origin, categories, rare in zip(flow.origin, step.categories_, grouped, strict=True):
        if origin is None:
            raise _refusal(step, name, "encodes a column that an earlier step has changed")
        label = flow.sources.names[origin]
        if rare is not None:
            listed = ", ".join(category_name(c) for c in rare.tolist())
            why = f"groups infrequent categories of {label!r} ({listed}), which rules cannot name"
            raise _refusal(step, name, f"{why}; set neither min_frequency nor max_categories")
        missing = np.isnan(Column(label, categories).codes(()))
        if missing.any():
            flow.sources.note_encoded_missing(origin)
        yield [
            None if is_missing else flow.sources.indicator(origin, category_name(category))
            for category, is_missing in zip(categories.tolist(), missing, strict=True)
        ]


def _combine(rows: list[list[tuple[int, float]]], flow: Flow) -> Flow:
    """Make columns that are weighted sums of sources."""
    matrix = sparse.lil_array((len(rows), len(flow.sources)))
    for i, row in enumerate(rows):
        for source, weight in row:
            matrix[i, source] = weight
    return Flow.combined(flow.sources, matrix)
