"""Check training data of binary classifiers (numbers, finite, two classes, weights); errors name row and column."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_X_y,
    validate_data,
)

from clearmargin.exceptions import (
    ClearmarginError,
    ClearmarginWarning,
    DataError,
    InvalidValueError,
)
from clearmargin.rules.space import nearest_name
from clearmargin.tables.part_survey import TableParts, TableSurvey
from clearmargin.tables.partitions import Block, Partitions
from clearmargin.tables.table import (
    Table,
    as_header,
    find_missing,
    is_dict_of_columns,
    name_row,
    number_table,
    refuse_collection,
)

FloatArray = NDArray[np.float64]

# By how much the largest number of a column may exceed the usual ones, as far as some rows tell.
_EXTREME, _LARGEST, _SOME_ROWS = 1e6, 1e150, 1000

_WRAP = (
    "for more than two wrap the classifier in sklearn.multiclass.OneVsRestClassifier or "
    "OneVsOneClassifier"
)


class TwoClasses:
    """Labels of exactly two classes, and the sign of each: 1.0 for the second class in their order."""

    def __init__(self, y: Any, several: str | None = None):
        check_classification_targets(y)
        self.classes, codes = np.unique(y, return_inverse=True)
        if len(self.classes) == 1:
            raise DataError(
                f"y holds only one class, {self.classes.tolist()[0]!r}; a classifier needs two classes to tell apart"
            )
        if len(self.classes) > 2:
            shown = ", ".join(repr(c) for c in self.classes[:5].tolist())
            more = ", ..." if len(self.classes) > 5 else ""
            raise DataError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}. "
                f"It has {len(self.classes)} classes ({shown}{more}); {several or _WRAP}"
            )
        self.codes = codes.ravel()
        self.signs: FloatArray = np.where(self.codes == 1, 1.0, -1.0)


def plain_labels(y: Any, X: Any = None) -> Any:
    """Give labels that stand as Python objects in an array or a series the type that all of them have."""
    labels = None if y is None or sparse.issparse(y) else np.asarray(y)
    if labels is None or labels.ndim != 1 or labels.dtype.kind not in "Ofb":
        return y
    if labels.dtype.kind == "b":
        return labels  # scikit-learn makes floats of a nullable column of booleans
    if (missing := find_missing(labels)).any():
        row = name_row(int(np.argmax(missing)), y if X is None else X)
        raise DataError(
            f"Input y contains NaN or None: {row} has no label; leave out the rows without one"
        )
    if labels.dtype.kind == "f":
        return y
    examples = {_kind(label): label for label in reversed(labels.tolist())}
    if len(examples) > 1:
        shown = " and ".join(f"{label!r} ({kind})" for kind, label in sorted(examples.items()))
        raise DataError(
            f"y holds labels of several types, such as {shown}; give all of them one, for example text: "
            "y.astype(str)"
        )
    is_plain = set(examples) <= {"boolean", "number"}
    return np.array(labels.tolist()) if is_plain else y


def _kind(label: object) -> str:
    """Name the type of a label; whole numbers and others are one."""
    if isinstance(label, bool | np.bool_):
        return "boolean"
    return "number" if isinstance(label, Real) else type(label).__name__


def read_training(
    estimator: Any, X: Any, y: Any, *, accept_sparse: bool = False, several: str | None = None
) -> tuple[Any, TwoClasses]:
    """Read a training table and its labels, and note the features on the estimator."""
    refuse_collection(X, estimator)
    refuse_collection(y, estimator, "y")
    X = Table.read(X) if is_dict_of_columns(X) else X
    _check_lengths(X, y)
    table, y = number_table(X), plain_labels(y, X)
    if table is X:
        points, labels = validate_data(estimator, X, y, **_options(accept_sparse))
    else:  # scikit-learn takes the names from X, and the numbers from what was read
        validate_data(estimator, as_header(X), skip_check_array=True)
        points, labels = check_X_y(table, y, estimator=estimator, **_options(accept_sparse))
    check_finite(points, estimator, X)
    check_extremes(points, estimator, X)
    return points, TwoClasses(labels, several)


class TrainingParts(NamedTuple):
    """A training table in partitions."""

    blocks: Partitions[Block]
    classes: NDArray[Any]
    unit: float
    survey: TableSurvey
    costs: tuple[float, ...]


def read_training_parts(
    estimator: Any,
    parts: TableParts,
    y: Any = None,
    class_weight: Any = None,
    sample_weight: Any = None,
) -> TrainingParts:
    """Check a training table in partitions, in one pass, and note the features on the estimator."""
    if y is not None:
        raise DataError(
            "y must be left out where the table is given in partitions: the classes are in its column target, "
            "scan(path, target='y')"
        )
    if sample_weight is not None:
        raise DataError(
            "sample_weight must be left out where the table is given in partitions: read the table into memory, or "
            "give weights to an estimator of clearmargin.dask"
        )
    survey = parts.survey()
    classes = survey.two_classes()
    for name in parts.names:
        survey.columns[name].check_finite_numbers()
    survey.check_weights()
    validate_data(estimator, parts.header, skip_check_array=True)
    sums = survey.class_weights
    if isinstance(class_weight, str) and class_weight == "balanced":
        unit = 2.0 * float(sums[0]) * float(sums[1]) / float(sums.sum())
        costs = sums[::-1].tolist()
    else:
        unit, costs = 1.0, class_factors(class_weight, classes, sums).tolist()
    return TrainingParts(parts.blocks(classes, costs), classes, unit, survey, tuple(costs))


def read_points(estimator: Any, X: Any, *, accept_sparse: bool = False) -> Any:
    """Read a table with the features the estimator was fitted with."""
    X = Table.read(X) if is_dict_of_columns(X) else X
    table = number_table(X)
    if table is X:
        points = validate_data(estimator, X, reset=False, **_options(accept_sparse))
    else:
        validate_data(estimator, as_header(X), reset=False, skip_check_array=True)
        points = check_array(table, estimator=estimator, **_options(accept_sparse))
    check_finite(points, estimator, X)
    return points


# How estimators say that they cannot read a table as numbers.
_UNREADABLE = re.compile(
    r"could not convert|unable to convert|cannot cast|could not be promoted|argument must be a|contains (NaN|infinity)"
    r"|setting an array element|complex data|cannot convert|invalid (literal|type)",
    re.IGNORECASE,
)


@contextmanager
def naming_columns(X: Any, estimator: Any) -> Iterator[None]:
    """Name the column where another library's estimator refuses a table without saying which one it is."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if isinstance(error, ClearmarginError) or not _UNREADABLE.search(str(error)):
            raise
        is_value = "contains" in str(error)
        problem = _value_problem(X) if is_value else _table_problem(X)
        if problem is None:
            raise
        raise type(problem)(
            f"{type(estimator).__name__} cannot read the table: {problem}"
        ) from error


def _table_problem(X: Any) -> DataError | None:
    """Find what keeps a table from being read as finite numbers; None if nothing does."""
    try:
        points = check_array(number_table(X), **_options(False))
        check_finite(points, None, X)
    except DataError as problem:
        return problem
    except (TypeError, ValueError):  # no table at all: the estimator's words are the better ones
        return None
    return None


def _value_problem(X: Any) -> DataError | None:
    """Find the number that is not finite; None if there is none. What an estimator encodes itself is not to blame."""
    if sparse.issparse(X):
        return _table_problem(X)
    table = X if isinstance(X, Table) else Table.read(X)
    columns = [
        column.numbers() if column.is_numeric else np.zeros(len(table))
        for column in table.columns_of(table.names)
    ]
    points = np.stack(columns, axis=1)
    try:
        check_finite(points, None, X)
        check_extremes(points, None, X)
    except DataError as problem:
        return problem
    return None


def _options(accept_sparse: bool) -> dict[str, Any]:
    # Finiteness is checked by `check_finite`, which can say where.
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


def check_finite(points: Any, estimator: Any, X: Any) -> None:
    """Raise if a table holds a value that is missing or infinite, and say where."""
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
    found = "NaN" if np.isnan(value) else "an infinity (inf)"
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(points.shape[1])] if is_sparse else Table.read(X).names
    place = repr(str(names[column]))
    advice = "fill or drop missing values first" if np.isnan(value) else "replace it by a number"
    more = f"; {len(wrong)} such values in all" if len(wrong) > 1 else ""
    raise DataError(f"X contains {found} in {name_row(row, X)}, column {place}{more}; {advice}")


def check_extremes(points: Any, estimator: Any, X: Any, *, is_squared: bool = True) -> None:
    """Warn of a number beside which all others of its column look the same; refuse one whose square is infinite."""
    if sparse.issparse(points):
        return
    largest = np.fmax(np.fmax.reduce(points), -np.fmin.reduce(points))
    some = np.abs(points[:: max(1, len(points) // _SOME_ROWS)])
    usual = (some > 0) & (some < largest / _EXTREME)
    is_most = 2 * usual.sum(axis=0) > (some > 0).sum(axis=0)
    is_refused = is_squared & (largest > _LARGEST)
    for j in np.flatnonzero(
        is_refused | is_most & (largest > _EXTREME) & (largest < np.inf)
    ).tolist():
        row = int(np.argmax(np.abs(points[:, j]) == largest[j]))
        names = getattr(estimator, "feature_names_in_", Table.read(X).names)
        found = f"column {str(names[j])!r} holds {points[row, j]:g} in {name_row(row, X)}"
        if is_refused[j]:
            raise DataError(f"{found}, whose square is infinite; replace it by a number")
        warnings.warn(
            f"{found}, more than a million times its usual "
            "values, which may look the same beside it; replace it if it stands for a missing value",
            ClearmarginWarning,
            stacklevel=3,
        )


def _sparse_place(points: Any, entry: int) -> tuple[int, int]:
    """Find row and column of a stored entry of a CSR matrix."""
    return int(np.searchsorted(points.indptr, entry, side="right")) - 1, int(points.indices[entry])


def check_positive(name: str, value: Any) -> float:
    """Check that a parameter is a finite positive number."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < np.inf:
        raise InvalidValueError(f"{name} must be a positive number, not {value!r}")
    return float(value)


def check_whole(name: str, value: Any, least: int) -> int:
    """Check that a parameter is a whole number and not below a minimum."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidValueError(f"{name} must be a whole number from {least}, not {value!r}")
    return int(value)


def check_choice(name: str, value: object, allowed: tuple[str | None, ...]) -> None:
    """Check that a parameter is one of the allowed words."""
    if value not in allowed:
        listed = ", ".join(repr(a) for a in allowed)
        raise InvalidValueError(f"{name} must be one of {listed}, not {value!r}")


def read_monotone(
    monotone: Any, names: Sequence[str], categorical: Collection[str] = ()
) -> NDArray[np.intp] | None:
    """Read the parameter `monotone`: which features may count in one direction only."""
    if monotone is None:
        return None
    if not isinstance(monotone, Mapping):
        raise InvalidValueError(
            f"monotone must be a mapping from feature to 1 or -1, such as {{'income': 1}}, not {monotone!r}"
        )
    signs = np.zeros(len(names), dtype=np.intp)
    for key, sign in monotone.items():
        is_position = isinstance(key, Integral) and not isinstance(key, bool)
        if is_position and not 0 <= key < len(names):
            raise InvalidValueError(
                f"monotone names feature {key}, and there are {len(names)}, counted from 0"
            )
        if not is_position and key not in names:
            raise InvalidValueError(
                f"monotone names {key!r}, which is no feature{nearest_name(str(key), names)}"
            )
        name = names[int(key)] if is_position else key
        if name in categorical:
            raise InvalidValueError(
                f"monotone names {name!r}, which is categorical, and categories have no direction; leave it out, or "
                "turn it into numbers whose order has a meaning"
            )
        if isinstance(sign, bool) or not isinstance(sign, Real) or sign not in (-1, 0, 1):
            raise InvalidValueError(f"monotone of {name!r} must be 1 or -1, not {sign!r}")
        signs[list(names).index(name)] = np.sign(float(sign))
    return signs if signs.any() else None


def point_costs(labels: TwoClasses, sample_weight: Any, class_weight: Any, X: Any) -> FloatArray:
    """Give the weight of each point: its sample weight times the weight of its class."""
    weight, sums = _weights(labels, sample_weight, X)
    factors = class_factors(class_weight, labels.classes, sums)
    return np.asarray(weight * factors[labels.codes])


def whole_costs(
    labels: TwoClasses, sample_weight: Any, class_weight: Any, X: Any
) -> tuple[FloatArray, float]:
    """Give the weights of `point_costs` times a unit, with less rounding: whole numbers where the given weights are."""
    if not (isinstance(class_weight, str) and class_weight == "balanced"):
        return point_costs(labels, sample_weight, class_weight, X), 1.0
    weight, sums = _weights(labels, sample_weight, X)
    unit = 2.0 * float(sums[0]) * float(sums[1]) / float(sums.sum())
    return np.asarray(weight * sums[1 - labels.codes]), unit


def _weights(labels: TwoClasses, sample_weight: Any, X: Any) -> tuple[FloatArray, FloatArray]:
    """Check the sample weights, and sum them for each class, whatever the order of the points."""
    weight: FloatArray = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True
    )
    sums = np.array([math.fsum(weight[labels.codes == k]) for k in range(2)])
    if not sums.all():
        gone = labels.classes[int(np.argmin(sums))]
        raise DataError(
            f"sample_weight is zero for all points of class {gone!r}; a classifier needs two classes"
        )
    return weight, sums


def class_factors(class_weight: Any, classes: NDArray[Any], sums: FloatArray) -> FloatArray:
    """Give the weight of each class."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        # As if all classes had the same share of the whole weight; sample weights count as repetitions.
        return np.asarray(sums.sum() / (len(classes) * sums))
    if not isinstance(class_weight, Mapping):
        raise InvalidValueError(
            f"class_weight must be None, 'balanced' or a mapping from class to weight, not {class_weight!r}"
        )
    known = classes.tolist()
    for label in class_weight:
        if label not in known:
            hint = nearest_name(str(label), [str(c) for c in known])
            raise InvalidValueError(f"class_weight names {label!r}, which is no class{hint}")
    return np.array(
        [check_positive(f"the weight of class {c!r}", class_weight.get(c, 1.0)) for c in known]
    )
