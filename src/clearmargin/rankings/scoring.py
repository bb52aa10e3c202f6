"""Scores to rank by: from the default linear SVM, or from any classifier."""

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
from clearmargin.rankings.properties import PropertyTable
from clearmargin.rule_base.retraining import find_trained_part
from clearmargin.tables.table import Table
from clearmargin.tables.validation import naming_columns

__all__ = ["default_ranker", "fit_ranker", "rank_scores", "refuse_scores"]

FloatArray = NDArray[np.float64]


def default_ranker(X: Any, positive_weight: float) -> Pipeline:
    """Make the linear SVM of the paper: the losses of the positive class count n- / n+ times.

    Parameters
    ----------
    X : data frame or array-like of shape (m, n)
        The table, to see which columns are numbers. Those are standardised, the others one-hot encoded; missing
        numbers become the median, missing categories one of their own.
    positive_weight : float
        Weight of the positive class, called 1.

    Returns
    -------
    Pipeline
        Not fitted; its C is 1 / n, which is SVMlight's 1 / mean(x'x) for n standardised columns.
    """
    table = Table.read(X)
    numbers = [key for name, key in table.keys.items() if table.column(name).is_numeric]
    others = [key for name, key in table.keys.items() if not table.column(name).is_numeric]
    encode = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
            ("categories", OneHotEncoder(handle_unknown="ignore"), others),
        ]
    )
    svm = LinearSVC(C=1.0 / max(1, len(table.keys)), class_weight={0: 1.0, 1: positive_weight})
    return make_pipeline(encode, svm)


def fit_ranker(estimator: Any, X: Any, is_positive: NDArray[np.bool_]) -> Any:
    """Fit the estimator, or the default one, to tell positive rows from others.

    Parameters
    ----------
    estimator : classifier or None
        Cloned before it is fitted; one that stays trained, such as a model read from a file, ranks as it is.
    X : data frame or array-like of shape (m, n)
        The table.
    is_positive : ndarray of bool of shape (m,)
        Which rows are positive; both kinds occur.

    Returns
    -------
    classifier
        Fitted to the labels 0 and 1.
    """
    weight = float((~is_positive).sum() / is_positive.sum())
    if estimator is not None and find_trained_part(estimator) and is_fitted(estimator):
        return estimator
    model = default_ranker(X, weight) if estimator is None else clone(estimator)
    with naming_columns(X, model if estimator is None else estimator):
        return model.fit(Table.read(X).taken_by(model), is_positive.astype(np.intp))


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


def refuse_scores(table: PropertyTable, X: Any, scores: FloatArray) -> None:
    """Refuse attributes whose values are the scores: they would explain any ranking."""
    same = (table.space.read(X) == scores[:, None]).all(axis=0) if scores.ndim == 1 else ()
    for j in np.flatnonzero(same):
        if j in table.attribute:
            name = table.space.names[j]
            raise DataError(
                f"column {name!r} is the ranking itself: its values are the scores; leave it out with "
                f"exclude=[{name!r}]"
            )
