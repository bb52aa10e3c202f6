"""What an estimator wraps, down to the classifier that decides in the end, and whether it is fitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

# The classifiers of scikit-learn that set an operating threshold.
THRESHOLDED = (FixedThresholdClassifier, TunedThresholdClassifierCV)


def wrapped_layers(estimator: Any) -> Iterator[Any]:
    """Give an estimator and what it wraps, layer by layer, down to the classifier that decides in the end."""
    while True:
        yield estimator
        if isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        elif isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        elif isinstance(estimator, GridSearchCV | RandomizedSearchCV):
            estimator = getattr(estimator, "best_estimator_", estimator.estimator)
        elif isinstance(estimator, THRESHOLDED):
            estimator = getattr(estimator, "estimator_", estimator.estimator)
        else:
            return


def innermost(estimator: Any) -> Any:
    """Give the classifier at the end of pipelines and inside searches."""
    *_, last = wrapped_layers(estimator)
    return last


def check_fitted(estimator: Any) -> None:
    """Raise scikit-learn's `NotFittedError` if an estimator cannot be used as it is."""
    if isinstance(estimator, FixedThresholdClassifier) and not hasattr(estimator, "estimator_"):
        check_fitted(estimator.estimator)
    else:
        check_is_fitted(estimator)


def is_fitted(estimator: Any) -> bool:
    """Check whether an estimator can be used as it is; see `check_fitted`."""
    try:
        check_fitted(estimator)
    except NotFittedError:
        return False
    return True
