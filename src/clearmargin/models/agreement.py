"""The test that a model decides as its planes do."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules import HalfSpace
from clearmargin.rules.hyperplane import linear_scores
from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["check_agreement"]

# Single precision inside a pipeline costs about 1e-7 of the terms of a sum, a few steps several times that.
_CLEAR = 1e-5


def check_agreement(
    estimator: Any,
    X: Any,
    points: FloatArray,
    regions: Sequence[Sequence[HalfSpace]],
    classes: Sequence[object],
) -> None:
    """Refuse a model that says something else than its planes on rows that are clearly in a region.

    A subclass may transform otherwise than its class promises, and a classifier with weights need not
    decide by them alone. No list of classes protects against that, a trial does.

    Parameters
    ----------
    estimator : fitted classifier
        The model.
    X : data frame or ndarray of shape (m, n)
        Rows as the model takes them.
    points : ndarray of shape (m, n_encoded)
        The same rows as the planes take them.
    regions : sequence of sequences of HalfSpace
        For each class the half-spaces whose intersection should get it.
    classes : sequence
        The classes as the model predicts them.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from clearmargin.rules import Hyperplane
    >>> X, plane = np.array([[-1.0], [2.0]]), Hyperplane([1.0], 0.0)
    >>> never = DummyClassifier(strategy="constant", constant="no").fit(X, ["no", "yes"])
    >>> check_agreement(never, X, X, [[plane.side(-1)], [plane.side(1)]], ["no", "yes"])
    Traceback (most recent call last):
    clearmargin.exceptions.InvalidValueError: DummyClassifier does not decide as its planes do: on row 2 ...
    """
    if not len(points):
        return
    with warnings.catch_warnings():
        # Names that only the table or only the model has change nothing here.
        warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
        predicted = np.asarray(estimator.predict(X))
    kind = type(estimator).__name__
    if predicted.ndim != 1:
        raise InvalidValueError(
            f"{kind} predicts several labels at once; rules need one class a row"
        )
    for label, sides in zip(classes, regions, strict=True):
        wrong = np.flatnonzero(_clearly_inside(points, sides) & (predicted != label))
        if len(wrong):
            row = int(wrong[0])
            raise InvalidValueError(
                f"{kind} does not decide as its planes do: on row {row + 1} of the rows tried they say {label!s}, the "
                f"model {predicted[row]!s}. Some part of it is not what its class promises; a linear classifier "
                "after affine steps is what can be read"
            )


def _clearly_inside(points: FloatArray, sides: Sequence[HalfSpace]) -> BoolArray:
    inside = np.ones(len(points), dtype=np.bool_)
    for side in sides:
        plane = side.hyperplane
        size = linear_scores(np.abs(points), np.abs(plane.coef), abs(plane.intercept))
        inside &= side.sign * plane.decision(points) > _CLEAR * size
    return inside
