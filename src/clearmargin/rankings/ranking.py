"""Rank rows by the linear SVM of the paper or by any classifier, and take the rows at both ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.models.fitted import is_fitted
from clearmargin.rule_base.training import find_trained_part
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.table import Table
from clearmargin.tables.table_encoder import too_large
from clearmargin.tables.validation import naming_columns

# With fewer rows the ends of a ranking are a few cases, from which nothing can be concluded about others.
FEWEST_ROWS = 20


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


def fit_ranker(estimator: Any, X: Any, is_positive: BoolArray) -> Any:
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


@dataclass(frozen=True, slots=True)
class Ends:
    """The first and the last rows of a ranking."""

    top: IntArray
    bottom: IntArray
    top_ties: int
    bottom_ties: int

    def among(self, rows: IntArray) -> Ends:
        """Give the ends of some rows of a table as rows of the whole table."""
        return replace(self, top=rows[self.top], bottom=rows[self.bottom])


def end_size(size: object, rows: int, name: str) -> int:
    """Return the number of rows of an end: a count, or a share rounded down as its decimal."""
    if isinstance(size, Integral) and not isinstance(size, bool) and int(size) >= 1:
        count = int(size)
    elif isinstance(size, Real) and not isinstance(size, Integral) and 0 < float(size) < 1:
        count = int(Fraction(repr(float(size))) * rows)
        if rows < FEWEST_ROWS:  # of which nothing is concluded anyway
            count = max(1, count)
    else:
        raise InvalidValueError(
            f"{name} must be a share between 0 and 1, a number of rows from 1, 'auto' or 'cv', not {size!r}"
        )
    if count < 1:
        raise InvalidValueError(
            f"{name}={size!r} of {rows} rows is not even one row; give a larger share or a number of rows"
        )
    return count


def find_ends(values: FloatArray, top: object, bottom: object) -> Ends:
    """Find the rows at both ends of a ranking, the highest score first."""
    if values.ndim != 1:
        raise DataError(f"scores are one number a row, not an array of shape {values.shape}")
    if len(values) < 2:
        raise DataError(
            f"a ranking of n_samples = {len(values)} has no two ends; give at least 2 rows"
        )
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise DataError(
            f"the score of row {wrong[0] + 1} is {values[wrong[0]]}; rows without a score cannot be ranked, drop them"
        )
    if values.min() == values.max():
        raise DataError("all rows have the same score: there is no ranking to contrast")
    n_top, n_bottom = end_size(top, len(values), "top"), end_size(bottom, len(values), "bottom")
    if n_top + n_bottom > len(values):
        raise InvalidValueError(
            f"top={top!r} and bottom={bottom!r} are {n_top} and {n_bottom} of {len(values)} rows: they overlap; "
            "make one of them smaller"
        )
    order = np.argsort(-values, kind="stable")
    first, last = order[:n_top], order[::-1][:n_bottom]
    ties = (
        int((values[order[n_top:]] == values[first[-1]]).sum()),
        int((values[order[: len(values) - n_bottom]] == values[last[-1]]).sum()),
    )
    return Ends(first, last, *ties)
