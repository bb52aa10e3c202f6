"""Whether an estimator is fitted."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

__all__ = ["is_fitted"]


def is_fitted(estimator: Any) -> bool:
    """Check whether an estimator can be used as it is.

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
