"""What a fitted support vector machine of scikit-learn decides by, wherever in a pipeline it stands."""

from __future__ import annotations

from functools import singledispatch
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC, OneClassSVM
from sklearn.utils.validation import check_is_fitted

from clearmargin.exceptions import InvalidValueError
from clearmargin.models.affine_steps import pass_steps
from clearmargin.models.flow import Flow
from clearmargin.models.kernel_function import KernelFunction
from clearmargin.rules.value import FloatArray, IntArray

__all__ = ["FittedSVM", "innermost", "known_columns", "read_svm"]

_KERNELS = ("linear", "poly", "rbf", "sigmoid")


class FittedSVM(NamedTuple):
    """A support vector machine and the columns that reach it.

    Parameters
    ----------
    function : KernelFunction
        Its decision functions: for two classes positive for the second, for more one for each pair, positive for the
        first of the pair.
    classes : ndarray
        Its classes.
    support_codes : ndarray of int of shape (s,)
        The class of each support vector, as trained.
    flow : Flow
        The columns as functions of those of the table.
    breaks_ties : bool
        Whether equal votes of three or more classes are decided by the values of the functions.
    """

    function: KernelFunction
    classes: NDArray[Any]
    support_codes: IntArray
    flow: Flow
    breaks_ties: bool


def innermost(estimator: Any) -> Any:
    """Give the classifier at the end of pipelines and inside searches.

    Parameters
    ----------
    estimator : estimator
        Anything.

    Returns
    -------
    estimator
        What decides in the end.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> innermost(make_pipeline(StandardScaler(), SVC(C=2.0)))
    SVC(C=2.0)
    """
    while True:
        if isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        elif isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        elif isinstance(estimator, GridSearchCV | RandomizedSearchCV):
            estimator = getattr(estimator, "best_estimator_", estimator.estimator)
        else:
            return estimator


def known_columns(estimator: Any) -> tuple[str, ...]:
    """Give the names of the columns that a fitted estimator takes; x0, x1, ... where it knows none.

    Parameters
    ----------
    estimator : fitted estimator
        The model.

    Returns
    -------
    tuple of str
        Names.
    """
    while isinstance(estimator, Pipeline | FrozenEstimator):
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        else:
            estimator = next(step for _, step in estimator.steps if hasattr(step, "fit"))
    check_is_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        return tuple(str(name) for name in names)
    # A machine with a kernel of one's own, or a search without refit, does not know how many; it is refused later.
    return tuple(f"x{j}" for j in range(getattr(estimator, "n_features_in_", 0)))


def read_svm(estimator: Any, flow: Flow) -> FittedSVM:
    """Read a fitted support vector machine, bare or at the end of affine steps.

    Parameters
    ----------
    estimator : fitted estimator
        The machine, or a pipeline or search around it.
    flow : Flow
        The columns it is given.

    Returns
    -------
    FittedSVM
        What it decides by.
    """
    check_is_fitted(estimator)
    return _read(estimator, flow)


@singledispatch
def _read(estimator: Any, flow: Flow) -> FittedSVM:
    kind = type(estimator).__name__
    if hasattr(estimator, "coef_"):
        raise InvalidValueError(
            f"{kind} is linear and has no support vectors to read; RuleExtractor gives its exact rules"
        )
    raise InvalidValueError(
        f"{kind} is no support vector machine that can be read; SVC, NuSVC and OneClassSVM can, bare or at the end of "
        "a pipeline. SurrogateRules(method='train') takes any classifier"
    )


@_read.register(Pipeline)
def _(estimator: Any, flow: Flow) -> FittedSVM:
    *steps, (_, last) = estimator.steps
    if last is None or isinstance(last, str):
        raise InvalidValueError("the pipeline ends without a support vector machine")
    return read_svm(last, pass_steps(steps, flow))


@_read.register(FrozenEstimator)
def _(estimator: Any, flow: Flow) -> FittedSVM:
    return read_svm(estimator.estimator, flow)


@_read.register(GridSearchCV)
@_read.register(RandomizedSearchCV)
def _(estimator: Any, flow: Flow) -> FittedSVM:
    if not hasattr(estimator, "best_estimator_"):
        raise InvalidValueError(
            f"{type(estimator).__name__} was run with refit=False and has no best_estimator_ to read"
        )
    return read_svm(estimator.best_estimator_, flow)


@_read.register(CalibratedClassifierCV)
def _(estimator: Any, flow: Flow) -> FittedSVM:
    raise InvalidValueError(
        "CalibratedClassifierCV decides by probabilities averaged over several machines, not by one decision function; "
        "pass the support vector machine itself (its predictions may differ where the calibrated probability and the "
        "decision function disagree), or use SurrogateRules(method='train') or ScoreRules, which take any "
        "classifier"
    )


@_read.register(SVC)
@_read.register(NuSVC)
@_read.register(OneClassSVM)
def _(estimator: Any, flow: Flow) -> FittedSVM:
    name = type(estimator).__name__
    _check_kernel(estimator, name)
    vectors = _dense(estimator.support_vectors_)
    if vectors.shape[1] != flow.affine.n_out:
        raise InvalidValueError(
            f"{name} has support vectors of {vectors.shape[1]} columns, but {flow.affine.n_out} columns reach it"
        )
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
    if kernel in _KERNELS:
        return
    if kernel == "precomputed":
        raise InvalidValueError(
            f"{name} was fitted to a precomputed kernel and does not know the columns of the table, so that no rule "
            "can speak of them; fit it to the table with kernel='linear', 'poly', 'rbf' or 'sigmoid'"
        )
    raise InvalidValueError(
        f"{name} has a kernel of your own ({kernel!r}), about which nothing is known but its values, so that surface "
        "and proof cannot be had; SurrogateRules, PrototypeRules, HyperRectangleRules and FuzzyRules ask the machine "
        "for predictions only and take it"
    )


def _dense(matrix: Any) -> FloatArray:
    dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    return np.asarray(dense, dtype=np.float64)


def _pairs(weights: FloatArray, codes: IntArray, n_classes: int) -> FloatArray:
    """The weights of each support vector in the machine of each pair of classes, out of libsvm's rows.

    Row r of a support vector of class k is its weight against class r for r < k, and against class r + 1 else.
    """
    pairs = list(combinations(range(n_classes), 2))
    coefs = np.zeros((len(codes), len(pairs)))
    for p, (first, second) in enumerate(pairs):
        of_first, of_second = codes == first, codes == second
        coefs[of_first, p] = weights[second - 1, of_first]
        coefs[of_second, p] = weights[first, of_second]
    return coefs
