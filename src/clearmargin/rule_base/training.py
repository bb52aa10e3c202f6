"""The model behind the rules: taken as it is when fitted, trained otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _num_samples,
    assert_all_finite,
    column_or_1d,
)

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.models.fitted import is_fitted
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import IntArray
from clearmargin.tables.table import Table
from clearmargin.tables.validation import naming_columns

__all__ = ["class_codes", "read_labels", "taken_by", "train"]


def train(estimator: Any, X: Any, y: Any, params: dict[str, Any]) -> Any:
    """Give a fitted model: the one given, a fitted clone of it, or the default.

    Parameters
    ----------
    estimator : classifier or None
        None stands for the default machine, a sparse support vector machine.
    X, y
        Training data.
    params : dict
        More arguments of `fit`.

    Returns
    -------
    classifier
        Fitted.
    """
    if estimator is None:
        return _train_default(X, y, params)
    if not is_classifier(estimator):
        raise InvalidValueError(
            f"estimator must be a classifier, not {type(estimator).__name__}; rules say classes"
        )
    if is_fitted(estimator):
        return estimator
    with naming_columns(X, estimator):
        return clone(estimator).fit(taken_by(estimator, X), y, **params)


def taken_by(estimator: Any, X: Any) -> Any:
    """Give an estimator the table in the form it takes; see `Table.taken_by`."""
    return X.taken_by(estimator) if isinstance(X, Table) else X


def _train_default(X: Any, y: Any, params: dict[str, Any]) -> Any:
    from clearmargin.lp_svm.lpsvccv import default_machine

    _, counts = np.unique(np.asarray(y), return_counts=True)
    if not len(counts):
        raise DataError("the table is empty: X has no rows, nothing can be learned from it")
    svm = default_machine(int(counts.min()))
    model = svm if len(counts) <= 2 else OneVsRestClassifier(svm)
    model.fit(taken_by(model, X), y, **params)
    parts = getattr(model, "estimators_", [model])
    if not any(part.coef_.any() for part in parts):
        more = [d.more_features for d in (getattr(part, "doubt_", None) for part in parts) if d]
        if any(more):
            most = max(count for count in more if count)
            raise DataError(
                f"all planes with at most {parts[0].max_features} features are constant, so there are no rules to "
                f"extract; with more features there are better ones: RuleExtractor(LPSVCCV(max_features={most}, "
                "scale=True))"
            )
        raise DataError(
            "all planes that were tried are constant: no linear combination of the features tells the classes apart "
            "better than predicting the same class everywhere, so there are no rules of a plane to extract. "
            "SurrogateRules(method='train') takes any classifier, also those that are not linear; if one class is "
            "rare, try RuleExtractor(LPSVCCV(class_weight='balanced', scoring='balanced_accuracy'))"
        )
    return model


def class_codes(labels: Any, classes: Any) -> IntArray:
    """Give the position of each label among the classes, in whatever order these are.

    Parameters
    ----------
    labels : array-like of shape (m,)
        Labels.
    classes : array-like of shape (c,)
        The classes of the model.

    Returns
    -------
    ndarray of int of shape (m,)
        Positions; a label that is no class is an error.

    Examples
    --------
    >>> class_codes(["low", "high"], ["low", "high"])
    array([0, 1])
    """
    known = np.asarray(classes).tolist()
    given = np.asarray(labels)
    codes = np.full(len(given), -1, dtype=np.intp)
    # One comparison a class, whatever their number of rows; classes are few.
    for k, label in enumerate(known):
        codes[given == label] = k
    if (codes < 0).any():
        stray = given.tolist()[int(np.argmax(codes < 0))]
        hint = nearest_name(str(stray), map(str, known))
        raise DataError(f"y holds {stray!r}, which is no class of the model{hint}")
    return codes


def read_labels(X: Any, y: Any) -> np.ndarray[tuple[int], np.dtype[Any]]:
    """Read the labels of a training table, and insist on a table that rules can speak of."""
    if sparse.issparse(X):
        raise TypeError(
            "sparse data is not supported: a rule speaks of every feature; pass X.toarray()"
        )
    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None")
    labels: np.ndarray[tuple[int], np.dtype[Any]] = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    rows = _num_samples(X)
    if len(labels) != rows:
        raise DataError(
            f"X has {rows} rows but y has {len(labels)} labels (inconsistent numbers of samples)"
        )
    return labels
