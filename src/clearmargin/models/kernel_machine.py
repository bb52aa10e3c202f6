"""A fitted kernel machine: its decision function, its classes and the way from the user's table to it.

`read_svm` finds what a support vector machine of scikit-learn decides by, wherever in a pipeline it stands;
`read_machine` makes a `KernelMachine` of it, in the user's units.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import combinations
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC, OneClassSVM

from clearmargin.exceptions import InvalidValueError
from clearmargin.models.affine_steps import unwrap
from clearmargin.models.fitted import check_fitted
from clearmargin.models.flow import Flow, Sources
from clearmargin.models.kernel_function import KernelFunction, KernelKind
from clearmargin.models.threshold import only_calibrated, score_threshold
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.encoding import Encoding, build_encoding
from clearmargin.tables.table import Column, ModelTable, Table


class FittedSVM(NamedTuple):
    """A support vector machine and the columns that reach it."""

    function: KernelFunction
    classes: NDArray[Any]
    support_codes: IntArray
    flow: Flow
    breaks_ties: bool


def known_columns(estimator: Any) -> tuple[str, ...]:
    """Give the names of the columns that a fitted estimator takes; x0, x1, ... where it knows none."""
    while isinstance(estimator, Pipeline | FrozenEstimator | FixedThresholdClassifier) or hasattr(
        estimator, "best_estimator_"
    ):
        if isinstance(estimator, Pipeline):
            estimator = next(step for _, step in estimator.steps if hasattr(step, "fit"))
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            estimator = getattr(estimator, "estimator_", estimator.estimator)
    check_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        return tuple(str(name) for name in names)
    # A machine with a kernel of one's own, or a search without refit, does not know how many; it is refused later.
    return tuple(f"x{j}" for j in range(getattr(estimator, "n_features_in_", 0)))


def read_svm(estimator: Any, flow: Flow) -> FittedSVM:
    """Read a fitted support vector machine, bare or at the end of affine steps."""
    return _read(*unwrap(estimator, flow, "a support vector machine"))


@singledispatch
def _read(estimator: Any, flow: Flow) -> FittedSVM:
    kind = type(estimator).__name__
    if hasattr(estimator, "coef_"):
        raise InvalidValueError(
            f"{kind} is linear and has no support vectors to read; RuleExtractor gives its exact rules"
        )
    raise InvalidValueError(
        f"{kind} is no support vector machine that can be read; SVC, NuSVC and OneClassSVM can, bare or at the end of "
        "a pipeline. SurrogateRules() takes any classifier"
    )


@_read.register(CalibratedClassifierCV)
def _(estimator: Any, flow: Flow) -> FittedSVM:
    raise InvalidValueError(
        "CalibratedClassifierCV decides by probabilities averaged over several machines, not by one decision function; "
        "pass the support vector machine itself (its predictions may differ where the calibrated probability and the "
        "decision function disagree), or use SurrogateRules() or ScoreRules, which take any "
        "classifier"
    )


@_read.register(FixedThresholdClassifier)
@_read.register(TunedThresholdClassifierCV)
def _(estimator: Any, flow: Flow) -> FittedSVM:
    """Shift the decision function by the operating threshold, so that it is positive for the second class again."""
    inside, flow = unwrap(
        getattr(estimator, "estimator_", estimator.estimator), flow, "a support vector machine"
    )
    if isinstance(inside, CalibratedClassifierCV):
        inside, flow = unwrap(only_calibrated(inside).estimator, flow, "a support vector machine")
    svm = _read(inside, flow)
    threshold = score_threshold(estimator)
    # A class from sign * f on: for the second class f - value, for the first one the function has the other sign.
    towards = 1.0 if threshold.positive == 1 else -1.0
    function = svm.function.take([0], [int(towards) * threshold.sign])
    shifted = function.intercepts - towards * threshold.value
    return svm._replace(function=replace(function, intercepts=shifted))


@_read.register(SVC)
@_read.register(NuSVC)
@_read.register(OneClassSVM)
def _(estimator: Any, flow: Flow) -> FittedSVM:
    name = type(estimator).__name__
    _check_kernel(estimator, name)
    vectors = _dense(estimator.support_vectors_)
    weights = _dense(estimator.dual_coef_)
    if isinstance(estimator, OneClassSVM):
        classes = np.array([-1, 1])
        codes = np.ones(len(vectors), dtype=np.intp)
        coefs = weights.T
    else:
        classes = np.asarray(estimator.classes_)
        codes = np.repeat(np.arange(len(classes)), estimator.n_support_)
        coefs = weights.T if len(classes) == 2 else _pairs(weights, codes, len(classes))
    function = KernelFunction(
        estimator.kernel,
        vectors,
        np.ascontiguousarray(coefs),
        np.ravel(np.asarray(estimator.intercept_, dtype=np.float64)),
        gamma=float(estimator._gamma),
        coef0=float(estimator.coef0),
        degree=int(estimator.degree),
    )
    return FittedSVM(function, classes, codes, flow, bool(getattr(estimator, "break_ties", False)))


def _check_kernel(estimator: Any, name: str) -> None:
    kernel = estimator.kernel
    if kernel in get_args(KernelKind):
        return
    if kernel == "precomputed":
        raise InvalidValueError(
            f"{name} was fitted to a precomputed kernel and does not know the columns of the table, so that no rule "
            "can speak of them; fit it to the table with kernel='linear', 'poly' or 'rbf'"
        )
    raise InvalidValueError(
        f"{name} has the kernel {kernel!r}, for which surface and proof cannot be had; SurrogateRules asks the machine "
        "for predictions only and takes it"
    )


def _dense(matrix: Any) -> FloatArray:
    dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    return np.asarray(dense, dtype=np.float64)


def _pairs(weights: FloatArray, codes: IntArray, n_classes: int) -> FloatArray:
    """Return the weights of each support vector in the machine of each pair of classes, out of libsvm's rows."""
    pairs = list(combinations(range(n_classes), 2))
    coefs = np.zeros((len(codes), len(pairs)))
    for p, (first, second) in enumerate(pairs):
        of_first, of_second = codes == first, codes == second
        coefs[of_first, p] = weights[second - 1, of_first]
        coefs[of_second, p] = weights[first, of_second]
    return coefs


# The map of a pipeline of scalers is stored as one product and one sum: each of its few roundings costs half an ulp of
# the largest term that was ever added, and so does each of scikit-learn's own. Boxes are widened by this many.
_ULPS = 16


@dataclass(frozen=True, slots=True, eq=False)
class KernelMachine:
    """A kernel machine over encoded columns: its columns are z = scale * x[source] + shift."""

    encoding: Encoding
    function: KernelFunction
    source: IntArray
    scale: FloatArray
    shift: FloatArray
    classes: tuple[Label, ...]
    support_codes: IntArray
    terms: FloatArray
    breaks_ties: bool

    def to_machine(self, points: FloatArray) -> FloatArray:
        """Carry encoded rows over into the units of the machine."""
        return np.asarray(points[:, self.source] * self.scale + self.shift)

    def from_machine(self, rows: FloatArray, filled: FloatArray) -> FloatArray:
        """Carry rows of the machine back to encoded columns."""
        points = np.tile(filled, (len(rows), 1))
        points[:, self.source] = (rows - self.shift) / self.scale
        return points

    def box_to_machine(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Carry boxes over encoded columns into the units of the machine, widened by what rounding may have cost."""
        ends = np.stack([lower[:, self.source], upper[:, self.source]])
        moved = ends * self.scale
        slack = _ULPS * np.finfo(np.float64).eps * (np.abs(moved) + self.terms)
        exact = (self.scale == 1.0) & (self.terms == 0.0)
        slack = np.where(exact, 0.0, slack)
        moved = moved + self.shift
        low = np.min(moved - slack, axis=0)
        high = np.max(moved + slack, axis=0)
        return low, high

    def region(self, k: int) -> KernelFunction:
        """Give functions that are all positive only where the machine predicts class k."""
        if len(self.classes) == 2:
            return self.function.take([0], [1 if k == 1 else -1])
        pairs = list(combinations(range(len(self.classes)), 2))
        chosen = [(p, 1 if pair[0] == k else -1) for p, pair in enumerate(pairs) if k in pair]
        return self.function.take([p for p, _ in chosen], [sign for _, sign in chosen])

    def support_points(self, filled: FloatArray) -> FloatArray:
        """Return the support vectors as encoded rows; `filled` gives the columns that the machine does not look at."""
        return self.from_machine(self.function.vectors, filled)


def read_machine(estimator: Any, X: Any = None) -> KernelMachine:
    """Read the decision function of a fitted kernel machine."""
    table = (
        ModelTable.blank(known_columns(estimator)) if X is None else ModelTable.read(estimator, X)
    )
    sources = Sources([column.name for column in table.columns])
    svm = read_svm(estimator, Flow.start(sources, table.order))
    machine = _assemble(svm, sources, table.columns)
    if X is not None:
        _compare(estimator, svm.classes, machine, table.table)
    return machine


def _assemble(svm: FittedSVM, sources: Sources, columns: Sequence[Column]) -> KernelMachine:
    matrix = svm.flow.matrix
    entries = np.diff(matrix.indptr)
    origin = np.full(len(entries), -1, dtype=np.intp)
    origin[entries == 1] = matrix.indices[matrix.indptr[:-1][entries == 1]]
    taken, times = np.unique(origin[origin >= 0], return_counts=True)
    if (entries != 1).any():
        mixed = int(np.argmax(entries != 1))
        raise InvalidValueError(
            f"column {mixed} that reaches the kernel machine is not one column of the table scaled by itself; rules "
            "about the table need steps that scale, select or one-hot encode. SurrogateRules() takes any "
            "model"
        )
    if (times > 1).any():
        first, second = np.flatnonzero(origin == taken[times > 1][0])[:2]
        raise InvalidValueError(
            f"columns {first} and {second} that reach the kernel machine are the same column of the table; leave one "
            "of them out. SurrogateRules() takes any model"
        )
    counted = np.zeros(len(sources), dtype=np.bool_)
    counted[origin] = True
    encoding, kept = build_encoding(sources, columns, counted)
    place = np.full(len(sources), -1, dtype=np.intp)
    place[kept] = np.arange(len(kept))
    return KernelMachine(
        encoding,
        svm.function,
        place[origin],
        np.asarray(matrix.data, dtype=np.float64),
        np.asarray(svm.flow.shift, dtype=np.float64),
        tuple(as_label(label) for label in svm.classes),
        svm.support_codes,
        np.asarray(svm.flow.terms, dtype=np.float64),
        svm.breaks_ties,
    )


# As many as the planes of a linear model are tried on.
_ROWS_TRIED = 1_000
# Single precision inside a pipeline, or a kernel cache of libsvm, costs about 1e-7 of the terms of a sum.
_CLEAR = 1e-5


def _compare(estimator: Any, classes: NDArray[Any], machine: KernelMachine, table: Table) -> None:
    """Refuse a model that predicts otherwise than the function read from it, on rows that are clearly in a class."""
    sample = table.take(np.arange(0, len(table), max(1, len(table) // _ROWS_TRIED)))
    points = machine.encoding.encode(sample)
    usable = np.flatnonzero(~np.isnan(points).any(axis=1))
    if not len(usable):
        return
    with warnings.catch_warnings():
        # Names that only the table or only the model has change nothing here.
        warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
        predicted = np.asarray(estimator.predict(sample.take(usable).taken_by(estimator)))
    Z = machine.to_machine(points[usable])
    for k, label in enumerate(classes.tolist()):
        function = machine.region(k)
        size = np.abs(function.coefs).sum(axis=0) + np.abs(function.intercepts)
        clear = (function.values(Z) > _CLEAR * size).all(axis=1)
        wrong = np.flatnonzero(clear & (predicted != label))
        if len(wrong):
            row = int(usable[wrong[0]])
            raise InvalidValueError(
                f"{type(estimator).__name__} does not decide as its support vectors do: on row {row + 1} of those "
                f"tried they say {label!s}, the model {predicted[wrong[0]]!s}. Some part of it is not what its class "
                "promises"
            )
