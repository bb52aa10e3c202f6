"""Train the model behind the rules, or take it as it is when fitted; find what stays trained when it is cloned.

Cross-validation clones a model and trains the clone on part of the rows. A `FrozenEstimator` and a model read from a
file keep what they learned, from rows that they are then judged on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, assert_all_finite, column_or_1d

from clearmargin.exceptions import ClearmarginError, DataError, InvalidValueError
from clearmargin.models.fitted import is_fitted
from clearmargin.models.threshold import operating_scores
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, is_point
from clearmargin.tables.row_order import sample_classes
from clearmargin.tables.table import Table, check_has_columns, refuse_collection
from clearmargin.tables.validation import check_extremes, naming_columns, plain_labels


def train(estimator: Any, X: Any, y: Any, params: dict[str, Any]) -> Any:
    """Give a fitted model: the one given, a fitted clone of it, or the default."""
    _check_weights(y, params.get("sample_weight"))
    if estimator is None:
        return _train_default(X, y, params)
    if not hasattr(estimator, "fit") or not is_classifier(estimator):
        raise InvalidValueError(
            f"estimator must be a classifier, not {type(estimator).__name__}; rules predict classes"
        )
    if is_fitted(estimator):
        return estimator
    with naming_columns(X, estimator):
        check_extremes(Table.read(X).space().read(X), None, X, is_squared=False)
        return clone(estimator).fit(taken_by(estimator, X), y, **params)


# A kernel machine of n rows takes n^2 to n^3 steps, and more of them for each row that it predicts.
MOST_KERNEL_ROWS = 3_000


def default_kernel_machine() -> Pipeline:
    """Give the kernel machine that is trained where none is given, whose last step takes weights of rows."""
    scaler, machine = StandardScaler(), SVC(random_state=0)
    if get_config()["enable_metadata_routing"]:
        scaler.set_fit_request(sample_weight=False)
        machine.set_fit_request(sample_weight=True)
    return make_pipeline(scaler, machine)


def train_kernel_machine(
    estimator: Pipeline, X: Any, y: Any, params: dict[str, Any]
) -> tuple[Any, bool]:
    """Train a default kernel machine, of very many rows on about 3,000 of them, drawn by their values."""
    _check_weights(y, params.get("sample_weight"))
    table, labels = Table.read(X), np.asarray(y)
    points = table.space().read(table)
    is_whole = len(table) <= MOST_KERNEL_ROWS or not is_point(points).all()
    if not is_whole:
        codes = np.unique(labels, return_inverse=True)[1]
        rows = sample_classes(points, codes, MOST_KERNEL_ROWS)
        X, y = table.take(rows), labels[rows]
        params = {name: np.asarray(value)[rows] for name, value in params.items()}
    if not get_config()["enable_metadata_routing"]:
        params = {f"{estimator.steps[-1][0]}__{name}": value for name, value in params.items()}
    return train(estimator, X, y, params), is_whole


def taken_by(estimator: Any, X: Any) -> Any:
    """Give a table as an estimator takes it: a `Table` as it was given, unless the estimator reads tables."""
    return X.taken_by(estimator) if isinstance(X, Table) else X


def _check_weights(y: Any, sample_weight: Any) -> None:
    """Raise if weights leave rows of one class alone."""
    labels, weights = np.asarray(y), np.asarray(sample_weight)
    if weights.shape != labels.shape or weights.dtype.kind not in "biuf":
        return
    if len(np.unique(labels[weights > 0])) < len(np.unique(labels)) == 2:
        raise DataError(
            "sample_weight is zero for all rows of a class; a classifier needs two classes to tell apart"
        )


def decision_margins(estimator: Any, X: Any) -> FloatArray:
    """Give the score of each row, its lead over the next class where there are more than two, NaN without scores."""
    scores = operating_scores(estimator, taken_by(estimator, X))
    if scores is None:
        return np.full(len(X), np.nan)
    if scores.ndim == 1:
        return scores
    ordered = np.sort(scores, axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2])


def _train_default(X: Any, y: Any, params: dict[str, Any]) -> Any:
    from clearmargin.lp_svm.lpsvc import default_machine

    _, counts = np.unique(np.asarray(y), return_counts=True)
    svm = default_machine(int(counts.min()))
    if "sample_weight" in params and get_config()["enable_metadata_routing"]:
        svm.set_fit_request(sample_weight=True)
    model = svm if len(counts) <= 2 else OneVsRestClassifier(svm)
    model.fit(taken_by(model, X), y, **params)
    return _not_constant(model, getattr(model, "estimators_", [model]))


def _not_constant(model: Any, parts: Sequence[Any]) -> Any:
    """Return a model of planes; raise if all of them are constant."""
    if not any(part.coef_.any() for part in parts):
        raise DataError(
            "all planes that were tried are constant: no linear combination of the features tells the classes apart "
            "better than predicting the same class everywhere, so there are no rules of a plane to extract. "
            "SurrogateRules() takes any classifier, also those that are not linear; if one class is "
            "rare, try RuleExtractor(LPSVC(nu='cv', class_weight='balanced', scoring='balanced_accuracy'))"
        )
    return model


def class_codes(labels: Any, classes: Any) -> IntArray:
    """Give the position of each label among the classes, in whatever order these are."""
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
    """Read the labels of a training table; raise if the table is sparse or empty, or labels are missing."""
    if sparse.issparse(X):
        raise TypeError(
            "sparse data is not supported: a rule speaks of every feature; pass X.toarray()"
        )
    refuse_collection(y, called="y")
    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None")
    rows = check_not_empty(X)
    count = len(column_or_1d(y, warn=True))
    if count != rows:
        raise DataError(
            f"X has {rows} rows but y has {count} labels (inconsistent numbers of samples)"
        )
    labels: np.ndarray[tuple[int], np.dtype[Any]] = column_or_1d(plain_labels(y, X))
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return labels


def check_not_empty(X: Any) -> int:
    """Raise if a training table has no rows or no columns; give the number of rows."""
    rows = int(_num_samples(X))
    if not rows:
        raise DataError("the table is empty: X has no rows, nothing can be learned from it")
    check_has_columns(tuple(getattr(X, "shape", ())))
    return rows


def find_trained_part(model: Any) -> str:
    """Name the part of an estimator that stays trained when the estimator is cloned."""
    parts = {"": model, **model.get_params(deep=True)}
    # The innermost one first: a pipeline counts as trained where its last step does. What is inside a part that stays
    # trained is its own affair.
    found = [name for name, part in parts.items() if _stays_trained(part)]
    inside = {
        name: [o for o in found if o != name and o.startswith(name and f"{name}__")]
        for name in found
    }
    leaves = [name for name in found if not inside[name]]
    if not leaves:
        return ""
    kind = type(parts[leaves[0]]).__name__
    return f"{leaves[0]}={kind}" if leaves[0] else kind


def _stays_trained(part: Any) -> bool:
    if isinstance(part, type) or not hasattr(part, "fit") or not hasattr(part, "get_params"):
        return False
    try:
        copy = clone(part)
    except ClearmarginError:  # of a model that refuses to be copied untrained
        return True
    # What never needs to be trained learns nothing from rows.
    return bool(get_tags(copy).requires_fit) and is_fitted(copy)


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPoints:
    """Rows without missing values, with their classes and those that a model predicts."""

    points: FloatArray
    true: IntArray
    predicted: IntArray

    def are_right(self, k: int) -> BoolArray:
        """Tell which points belong to a class and are predicted to."""
        return np.asarray((self.predicted == k) & (self.true == k))

    def class_shares(self, n_classes: int) -> FloatArray:
        """Give the share of each class among the labels."""
        counts = np.bincount(self.true, minlength=n_classes)
        return np.asarray(counts / max(1, len(self.true)), dtype=np.float64)
