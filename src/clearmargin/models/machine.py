"""A fitted kernel machine: its decision function, its classes and the way from the user's table to it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from clearmargin.exceptions import InvalidValueError
from clearmargin.models.fitted_svm import FittedSVM, known_columns, read_svm
from clearmargin.models.flow import Flow, Sources
from clearmargin.models.kernel_function import KernelFunction
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.columns import Column
from clearmargin.tables.encoding import Encoding, build_encoding
from clearmargin.tables.model_table import ModelTable

__all__ = ["KernelMachine", "read_machine"]

# The map of a pipeline of scalers is stored as one product and one sum: each of its few roundings costs half an ulp of
# the largest term that was ever added, and so does each of scikit-learn's own. Boxes are widened by this many.
_ULPS = 16


@dataclass(frozen=True, slots=True, eq=False)
class KernelMachine:
    """A kernel machine over encoded columns: its columns are z = scale * x[source] + shift.

    Parameters
    ----------
    encoding : Encoding
        From the user's table to encoded columns.
    function : KernelFunction
        The decision functions, over the columns of the machine.
    source : ndarray of int of shape (n,)
        The encoded column of each column of the machine.
    scale, shift : ndarray of shape (n,)
        The map between them.
    classes : tuple of labels
        The classes; -1 and 1 for a one-class machine.
    support_codes : ndarray of int of shape (s,)
        The class of each support vector.
    terms : ndarray of shape (n,)
        The sum of the sizes of the terms of each shift, of which it has lost some ulps.
    breaks_ties : bool
        Whether equal votes of three or more classes are decided by the values of the functions.

    See Also
    --------
    read_machine : Reads it from a fitted estimator.
    """

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
        """Carry encoded rows over into the units of the machine.

        Parameters
        ----------
        points : ndarray of shape (m, n_encoded)
            Encoded rows.

        Returns
        -------
        ndarray of shape (m, n)
            What the machine is given.
        """
        return np.asarray(points[:, self.source] * self.scale + self.shift)

    def from_machine(self, rows: FloatArray, filled: FloatArray) -> FloatArray:
        """Carry rows of the machine back to encoded columns.

        Parameters
        ----------
        rows : ndarray of shape (m, n)
            Rows in the units of the machine.
        filled : ndarray of shape (n_encoded,)
            What columns get that the machine does not look at.

        Returns
        -------
        ndarray of shape (m, n_encoded)
            Encoded rows.
        """
        points = np.tile(filled, (len(rows), 1))
        points[:, self.source] = (rows - self.shift) / self.scale
        return points

    def box_to_machine(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Carry boxes over encoded columns into the units of the machine, widened by what rounding may have cost.

        Parameters
        ----------
        lower, upper : ndarray of shape (r, n_encoded)
            Ends of the boxes.

        Returns
        -------
        lower, upper : ndarray of shape (r, n)
            Boxes that hold the image of every point of the ones given.
        """
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
        """Functions that are all positive only where the machine says class k.

        A vote of three or more classes may be won without winning all duels; there the machine says k on more than
        that.

        Parameters
        ----------
        k : int
            Position of the class.

        Returns
        -------
        KernelFunction
            One function for two classes, one for each other class for more.
        """
        if len(self.classes) == 2:
            return self.function.take([0], [1 if k == 1 else -1])
        pairs = list(combinations(range(len(self.classes)), 2))
        chosen = [(p, 1 if pair[0] == k else -1) for p, pair in enumerate(pairs) if k in pair]
        return self.function.take([p for p, _ in chosen], [sign for _, sign in chosen])

    def support_points(self, filled: FloatArray) -> FloatArray:
        """The support vectors as encoded rows; `filled` gives the columns that the machine does not look at."""
        return self.from_machine(self.function.vectors, filled)


def read_machine(estimator: Any, X: Any = None) -> KernelMachine:
    """Read the decision function of a fitted kernel machine.

    The machine is an `SVC`, `NuSVC` or `OneClassSVM` with a linear, polynomial, RBF or sigmoid kernel, bare or at the
    end of pipelines of steps that treat each column by itself: scalers, selections, one-hot encoders.

    Parameters
    ----------
    estimator : fitted estimator
        The machine.
    X : data frame or array-like of shape (m, n), optional
        A table as the model takes it, from which the ranges of the features are seen, and on whose rows what was
        read is compared with what the model predicts.

    Returns
    -------
    KernelMachine
        The machine.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from sklearn.svm import SVC
    >>> X, y = [[20.0], [30.0], [50.0], [60.0]], ["no", "yes", "yes", "no"]
    >>> model = make_pipeline(MinMaxScaler(), SVC(gamma=9.0)).fit(X, y)
    >>> machine = read_machine(model, X)
    >>> bool(np.allclose(machine.function.values(machine.to_machine(np.array(X)))[:, 0], model.decision_function(X)))
    True
    """
    table = _blank_table(estimator) if X is None else ModelTable.read(estimator, X)
    sources = Sources([column.name for column in table.columns])
    svm = read_svm(estimator, Flow.start(sources, table.order))
    machine = _assemble(svm, sources, table.columns)
    if X is not None:
        _compare(estimator, svm.classes, machine, table.given)
    return machine


def _blank_table(estimator: Any) -> ModelTable:
    """Columns of which only the names are known."""
    names = known_columns(estimator)
    empty = np.empty(0)
    return ModelTable(tuple(Column(name, empty) for name in names), tuple(range(len(names))), None)


def _assemble(svm: FittedSVM, sources: Sources, columns: Sequence[Column]) -> KernelMachine:
    matrix = svm.flow.affine.matrix
    entries = np.diff(matrix.indptr)
    origin = np.full(len(entries), -1, dtype=np.intp)
    origin[entries == 1] = matrix.indices[matrix.indptr[:-1][entries == 1]]
    taken, times = np.unique(origin[origin >= 0], return_counts=True)
    if (entries != 1).any():
        mixed = int(np.argmax(entries != 1))
        raise InvalidValueError(
            f"column {mixed} that reaches the kernel machine is not one column of the table scaled by itself; rules "
            "about the table need steps that scale, select or one-hot encode. SurrogateRules(method='train') takes any "
            "model"
        )
    if (times > 1).any():
        first, second = np.flatnonzero(origin == taken[times > 1][0])[:2]
        raise InvalidValueError(
            f"columns {first} and {second} that reach the kernel machine are the same column of the table; leave one "
            "of them out. SurrogateRules(method='train') takes any model"
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
        np.asarray(svm.flow.affine.shift, dtype=np.float64),
        tuple(as_label(label) for label in svm.classes),
        svm.support_codes,
        np.asarray(svm.flow.affine.terms, dtype=np.float64),
        svm.breaks_ties,
    )


# As many as the planes of a linear model are tried on.
_ROWS_TRIED = 1_000
# Single precision inside a pipeline, or a kernel cache of libsvm, costs about 1e-7 of the terms of a sum.
_CLEAR = 1e-5


def _compare(estimator: Any, classes: NDArray[Any], machine: KernelMachine, X: Any) -> None:
    """Refuse a model that predicts otherwise than the function read from it, on rows that are clearly in a class."""
    if not len(X):
        return
    some = _safe_indexing(X, np.arange(0, len(X), max(1, len(X) // _ROWS_TRIED)))
    points = machine.encoding.encode(some)
    usable = np.flatnonzero(~np.isnan(points).any(axis=1))
    if not len(usable):
        return
    with warnings.catch_warnings():
        # Names that only the table or only the model has change nothing here.
        warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
        predicted = np.asarray(estimator.predict(_safe_indexing(some, usable)))
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
