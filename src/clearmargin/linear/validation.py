"""Tables and labels as classifiers of two classes need them; errors name row and column."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, validate_data

from clearmargin.core.space import nearest_name
from clearmargin.exceptions import DataError, InvalidValueError

__all__ = [
    "TwoClasses",
    "check_choice",
    "check_positive",
    "check_whole",
    "point_costs",
    "read_points",
    "read_training",
]

FloatArray = NDArray[np.float64]


class TwoClasses:
    """Labels of exactly two classes, and the sign of each: 1.0 for the second class in their order.

    Parameters
    ----------
    y : array-like of shape (m,)
        The labels.
    """

    def __init__(self, y: Any):
        check_classification_targets(y)
        self.classes, codes = np.unique(y, return_inverse=True)
        if len(self.classes) == 1:
            raise DataError(
                f"y holds only one class, {self.classes[0]!r}; a classifier needs two classes to tell apart"
            )
        if len(self.classes) > 2:
            shown = ", ".join(repr(c) for c in self.classes[:5].tolist())
            more = ", ..." if len(self.classes) > 5 else ""
            raise DataError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}. "
                f"It has {len(self.classes)} classes ({shown}{more}); for more than two wrap the classifier in "
                "sklearn.multiclass.OneVsRestClassifier or OneVsOneClassifier"
            )
        self.codes = codes.ravel()
        self.signs: FloatArray = np.where(self.codes == 1, 1.0, -1.0)


def read_training(
    estimator: Any, X: Any, y: Any, *, accept_sparse: bool = False
) -> tuple[Any, TwoClasses]:
    """Read a training table and its labels, and note the features on the estimator.

    Parameters
    ----------
    estimator : estimator
        Gets `n_features_in_` and `feature_names_in_`.
    X : data frame, array-like or sparse matrix of shape (m, n)
        The table.
    y : array-like of shape (m,)
        The labels.
    accept_sparse : bool, default False
        Whether sparse tables are taken (as CSR).

    Returns
    -------
    X : ndarray or CSR matrix of float64
        The points.
    labels : TwoClasses
        The classes and signs.
    """
    _check_lengths(X, y)
    points, labels = _locating_text(
        X,
        lambda: validate_data(estimator, X, y, **_options(accept_sparse)),
    )
    _check_finite(points, estimator)
    return points, TwoClasses(labels)


def read_points(estimator: Any, X: Any, *, accept_sparse: bool = False) -> Any:
    """Read a table with the features the estimator was fitted with."""
    points = _locating_text(
        X, lambda: validate_data(estimator, X, reset=False, **_options(accept_sparse))
    )
    _check_finite(points, estimator)
    return points


def _options(accept_sparse: bool) -> dict[str, Any]:
    # Finiteness is checked by `_check_finite`, which can say where.
    return {
        "dtype": np.float64,
        "accept_sparse": "csr" if accept_sparse else False,
        "accept_large_sparse": False,
        "ensure_all_finite": False,
    }


def _check_lengths(X: Any, y: Any) -> None:
    if y is None or not hasattr(y, "__len__"):
        return  # scikit-learn has the right words for these
    rows = X.shape[0] if hasattr(X, "shape") and len(X.shape) else len(X)
    if rows == 0:
        raise DataError("the table is empty: X has no rows, nothing can be learned from it")
    if len(y) != rows:
        raise DataError(
            f"X has {rows} rows but y has {len(y)} labels (inconsistent numbers of samples); each row needs one label"
        )


def _locating_text(X: Any, read: Any) -> Any:
    try:
        return read()
    except ValueError as error:
        if "could not convert" not in str(error) and "Unable to convert" not in str(error):
            raise
        place = _find_text(X)
        if place is None:
            raise
        row, column, value = place
        raise DataError(
            f"row {row}, column {column}: {value!r} is not a number; encode text as numbers first, "
            "for example with sklearn.preprocessing.OneHotEncoder"
        ) from None


def _find_text(X: Any) -> tuple[int, str, object] | None:
    """The first cell that is no number: its row, its column by name or number, and what it holds."""
    table = np.asarray(X, dtype=object)
    names = list(X.columns) if hasattr(X, "columns") else range(table.shape[1])
    for j, name in enumerate(names):
        for row, value in enumerate(table[:, j]):
            try:
                float(value)
            except (TypeError, ValueError):
                return row, repr(name), value
    return None


def _check_finite(points: Any, estimator: Any) -> None:
    is_sparse = sparse.issparse(points)
    values: FloatArray = points.data if is_sparse else points
    # One pass without a temporary array: a sum is finite exactly when all terms are, but for overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    wrong = np.flatnonzero(~np.isfinite(values.ravel()))
    if not len(wrong):
        return
    if is_sparse:
        row, column = _sparse_place(points, int(wrong[0]))
    else:
        row, column = (int(i) for i in np.unravel_index(wrong[0], points.shape))
    value = values.ravel()[wrong[0]]
    kind = "NaN" if np.isnan(value) else "an infinity (inf)"
    names = getattr(estimator, "feature_names_in_", None)
    place = repr(str(names[column])) if names is not None else str(column)
    advice = "fill or drop missing values first" if np.isnan(value) else "replace it by a number"
    more = f"; {len(wrong)} such values in all" if len(wrong) > 1 else ""
    raise DataError(f"X contains {kind} in row {row}, column {place}{more}; {advice}")


def _sparse_place(points: Any, entry: int) -> tuple[int, int]:
    """Row and column of a stored entry of a CSR matrix."""
    row = np.searchsorted(points.indptr, entry, side="right") - 1
    return int(row), int(points.indices[entry])


def check_positive(name: str, value: Any) -> float:
    """Take a parameter that must be a finite positive number."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < np.inf:
        raise InvalidValueError(f"{name} must be a positive number, not {value!r}")
    return float(value)


def check_whole(name: str, value: Any, least: int) -> int:
    """Take a parameter that must be a whole number from some least one."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidValueError(f"{name} must be a whole number from {least}, not {value!r}")
    return int(value)


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Insist on one of some words."""
    if value not in allowed:
        listed = ", ".join(repr(a) for a in allowed)
        raise InvalidValueError(f"{name} must be one of {listed}, not {value!r}")


def point_costs(labels: TwoClasses, sample_weight: Any, class_weight: Any, X: Any) -> FloatArray:
    """The weight of each point: its own times that of its class.

    Parameters
    ----------
    labels : TwoClasses
        The labels.
    sample_weight : array-like of shape (m,) or None
        Weights of the points, not negative; a weight of zero is like leaving the point out.
    class_weight : mapping, "balanced" or None
        Weights of the classes. "balanced" gives both classes the same weight in all.
    X : ndarray or sparse matrix
        The points, for their number.

    Returns
    -------
    ndarray of shape (m,)
        Weights, positive for points of both classes.
    """
    weight: FloatArray = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True
    )
    sums: FloatArray = np.bincount(labels.codes, weights=weight, minlength=2).astype(np.float64)
    if not sums.all():
        gone = labels.classes[int(np.argmin(sums))]
        raise DataError(
            f"sample_weight is zero for all points of class {gone!r}; a classifier needs two classes"
        )
    factors = _class_factors(class_weight, labels, sums)
    return np.asarray(weight * factors[labels.codes])


def _class_factors(class_weight: Any, labels: TwoClasses, sums: FloatArray) -> FloatArray:
    if class_weight is None:
        return np.ones(2)
    if isinstance(class_weight, str) and class_weight == "balanced":
        # As if both classes had half of the whole weight; sample weights count as repetitions.
        return np.asarray(sums.sum() / (2.0 * sums))
    if not isinstance(class_weight, Mapping):
        raise InvalidValueError(
            f"class_weight must be None, 'balanced' or a mapping from class to weight, not {class_weight!r}"
        )
    known = labels.classes.tolist()
    for label in class_weight:
        if label not in known:
            hint = nearest_name(str(label), [str(c) for c in known])
            raise InvalidValueError(f"class_weight names {label!r}, which is no class{hint}")
    return np.array(
        [check_positive(f"the weight of class {c!r}", class_weight.get(c, 1.0)) for c in known]
    )
