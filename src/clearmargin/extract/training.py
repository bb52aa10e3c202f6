"""The model behind the rules: taken as it is when fitted, trained otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _num_samples,
    assert_all_finite,
    check_is_fitted,
    column_or_1d,
)

from clearmargin.core.space import nearest_name
from clearmargin.core.value import IntArray
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.linear.validation import naming_columns

__all__ = ["class_codes", "is_fitted", "read_labels", "train"]

_FOLDS = 10


def is_fitted(estimator: Any) -> bool:
    """Whether an estimator can be used as it is.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> is_fitted(RidgeClassifier()), is_fitted(RidgeClassifier().fit([[0.0], [1.0]], [0, 1]))
    (False, True)
    """
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def train(estimator: Any, X: Any, y: Any, params: dict[str, Any]) -> Any:
    """Give a fitted model: the one given, a fitted clone of it, or the default.

    Parameters
    ----------
    estimator : classifier or None
        None stands for a sparse support vector machine.
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
        return clone(estimator).fit(X, y, **params)


def _train_default(X: Any, y: Any, params: dict[str, Any]) -> Any:
    model = _default(y).fit(X, y, **params)
    if any(part.coef_.any() for part in getattr(model, "estimators_", [model])):
        return model
    # Planes with few features are no better than none here; then with more.
    caps = {name: None for name in model.get_params() if name.endswith("max_features")}
    return model.set_params(**caps).fit(X, y, **params)


def _default(y: Any) -> Any:
    from clearmargin.linear import LPSVC, LPSVCCV

    _, counts = np.unique(np.asarray(y), return_counts=True)
    # Every fold needs a member of every class.
    folds = int(min(_FOLDS, counts.min()))
    svm = LPSVCCV(cv=folds, rule="1se", max_features=8) if folds >= 2 else LPSVC()
    return svm if len(counts) <= 2 else OneVsRestClassifier(svm)


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
