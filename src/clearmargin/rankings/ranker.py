"""Rank rows: the linear SVM of the paper, or any classifier, and the scores that it gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.models.fitted import is_fitted
from clearmargin.rule_base.training import find_trained_part
from clearmargin.rules.value import FloatArray
from clearmargin.tables.table import Table
from clearmargin.tables.table_encoder import too_large
from clearmargin.tables.validation import naming_columns


def is_trained(estimator: Any) -> bool:
    """Tell whether an estimator ranks as it is, because it stays trained, and has seen what labels it has seen."""
    return estimator is not None and bool(find_trained_part(estimator)) and is_fitted(estimator)


def default_ranker(X: Any, positive_weight: float) -> Pipeline:
    """Make the linear SVM of the paper: the losses of the positive class count n- / n+ times."""
    table = Table.read(X)
    numbers = [key for name, key in table.keys.items() if table.column(name).is_numeric]
    others = [key for name, key in table.keys.items() if not table.column(name).is_numeric]
    encode = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
            ("categories", OneHotEncoder(handle_unknown="ignore"), others),
        ]
    )
    svm = LinearSVC(
        C=1.0 / max(1, len(table.keys)),
        class_weight={0: 1.0, 1: positive_weight},
        random_state=0,
    )
    return make_pipeline(encode, svm)


def fit_ranker(estimator: Any, X: Any, is_positive: NDArray[np.bool_]) -> Any:
    """Fit the estimator, or the default one, to tell positive rows from others."""
    weight = float((~is_positive).sum() / is_positive.sum())
    if estimator is not None and not hasattr(estimator, "fit"):
        raise InvalidValueError(f"estimator must be a classifier, not {type(estimator).__name__}")
    if is_trained(estimator):
        return estimator
    if estimator is None:
        _check_squares(Table.read(X))
    model = default_ranker(X, weight) if estimator is None else clone(estimator)
    with naming_columns(X, model if estimator is None else estimator):
        return model.fit(Table.read(X).taken_by(model), is_positive.astype(np.intp))


def _check_squares(table: Table) -> None:
    """Raise if a column of numbers cannot be standardised."""
    for column in table.all_columns():
        if column.has_number_type:
            numbers = column.numbers()
            with np.errstate(over="ignore"):
                if not np.isfinite(np.var(np.append(numbers[np.isfinite(numbers)], 0.0))):
                    raise too_large(column.name)


def rank_scores(model: Any, X: Any) -> FloatArray:
    """Score rows by the decision function of a classifier of two classes or, without one, by its probabilities."""
    given = Table.read(X).taken_by(model)
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(given), dtype=np.float64)
    elif hasattr(model, "predict_proba"):
        scores = np.asarray(model.predict_proba(given), dtype=np.float64)[:, -1]
    else:
        raise InvalidValueError(
            f"{type(model).__name__} has neither decision_function nor predict_proba; "
            "rank the rows yourself and use fit_ranking(X, scores)"
        )
    if scores.ndim != 1:
        raise DataError(
            f"{type(model).__name__} gives {scores.shape[1]} scores a row; ranking needs one"
        )
    return scores
