"""How evenly a classifier treats the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from clearmargin.exceptions import DataError

__all__ = ["class_bias_ratio"]


def class_bias_ratio(y_true: Any, y_pred: Any) -> float:
    """Measure how much better one class is recognised than another: 1 - min / max of the classes' accuracies.

    The accuracy of a class is the share of its rows that get the right label. The ratio is 0 when all classes are
    recognised equally well and 1 when some class is never recognised while another one is (Pang and Kasabov, 2008).
    Where *no* row gets the right label all classes are treated alike, and it is 0.

    Parameters
    ----------
    y_true : array-like of shape (m,)
        The true classes, at least two different ones. Only they count: a predicted label that is none of them is an
        error like any other.
    y_pred : array-like of shape (m,)
        The predicted classes.

    Returns
    -------
    float
        Between 0 (even) and 1 (one-sided).

    Examples
    --------
    >>> class_bias_ratio(["ill", "ill", "well", "well"], ["ill", "well", "well", "well"])
    0.5
    """
    truth, said = _labels(y_true, "y_true"), _labels(y_pred, "y_pred")
    if len(truth) != len(said):
        raise DataError(
            f"y_true has {len(truth)} labels but y_pred has {len(said)}; each row needs one of both"
        )
    if not len(truth):
        raise DataError("y_true is empty: there is nothing to measure")
    classes, codes = np.unique(truth, return_inverse=True)
    if len(classes) == 1:
        raise DataError(
            f"y_true holds only one class, {classes.tolist()[0]!r}; the class bias ratio compares classes"
        )
    right = np.array(truth.tolist(), dtype=object) == np.array(said.tolist(), dtype=object)
    accuracy = np.bincount(codes, weights=right) / np.bincount(codes)
    best = float(accuracy.max())
    return 1.0 - float(accuracy.min()) / best if best else 0.0


def _labels(y: Any, what: str) -> np.ndarray[tuple[int], np.dtype[Any]]:
    try:
        labels: np.ndarray[tuple[int], np.dtype[Any]] = column_or_1d(y)
        if len(labels):
            check_classification_targets(labels)
    except ValueError as error:
        raise DataError(f"{what} must hold one class a row: {error}") from None
    return labels
