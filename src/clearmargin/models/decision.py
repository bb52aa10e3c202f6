"""How a fitted linear classifier decides, as hyperplanes over the columns of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_selection import RFE
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.svm import SVC, NuSVC

from clearmargin.exceptions import InvalidValueError, NotLinearError
from clearmargin.models.affine_steps import unwrap
from clearmargin.models.flow import Flow
from clearmargin.models.margin import DOUBLE, Margin
from clearmargin.models.surface import Duel, highest_wins
from clearmargin.models.threshold import only_calibrated, score_threshold
from clearmargin.rules.value import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The decision function of a classifier, and the duels that come to the same."""

    classes: NDArray[Any]
    scores: tuple[Margin, ...]
    duels: tuple[Duel, ...]
    is_vote: bool = False


def read_decision(estimator: Any, flow: Flow) -> Decision:
    """Read how a fitted classifier decides."""
    return _read(*unwrap(estimator, flow, "a classifier; rules need classes"))


Reader = Callable[[Any, Flow], Decision]


def register_reader(*types: type[Any]) -> Callable[[Reader], Reader]:
    """Teach `read_decision`, and with it `RuleExtractor`, to read further classes of classifiers."""

    def register(reader: Reader) -> Reader:
        for type_ in types:
            _read.register(type_, reader)
        return reader

    return register


def read_coefficients(estimator: Any, flow: Flow) -> Decision:
    """Read a classifier by its `coef_` and `intercept_`."""
    kind = type(estimator).__name__
    if not hasattr(estimator, "classes_"):
        raise InvalidValueError(f"{kind} is no classifier (it has no classes_); rules need classes")
    if not (hasattr(estimator, "coef_") and hasattr(estimator, "intercept_")):
        raise NotLinearError(
            f"{kind} is not linear: it has no coef_ and intercept_ to read hyperplanes from",
            "use a linear classifier such as LPSVC, or SurrogateRules(), which takes any classifier",
        )
    classes = np.asarray(estimator.classes_)
    scores = _coefficient_scores(estimator, flow)
    if len(scores) != len(classes) and (len(scores), len(classes)) != (1, 2):
        raise InvalidValueError(
            f"{kind} has {len(scores)} rows of weights for {len(classes)} classes; one row for two classes, or one "
            "for each class is what can be read"
        )
    return Decision(classes, scores, highest_wins(scores))


_read = singledispatch(read_coefficients)


def _coefficient_scores(
    estimator: Any, flow: Flow, sizes: FloatArray | None = None
) -> tuple[Margin, ...]:
    coef: Any = estimator.coef_
    if hasattr(coef, "toarray"):  # sparse after sparsify() or a fit to sparse rows
        coef = coef.toarray()
    weights: FloatArray = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    if weights.shape[1] != flow.n_out:
        raise InvalidValueError(
            f"{type(estimator).__name__} has {weights.shape[1]} weights, but {flow.n_out} columns reach it"
        )
    # Without an intercept some classifiers keep a single zero for all rows.
    given = np.ravel(np.asarray(estimator.intercept_, dtype=np.float64))
    constants = np.broadcast_to(given, (len(weights),))
    return tuple(flow.score(w, float(b), sizes) for w, b in zip(weights, constants, strict=True))


@_read.register(RFE)
def _(estimator: Any, flow: Flow) -> Decision:
    return read_decision(estimator.estimator_, flow.take(np.flatnonzero(estimator.support_)))


@_read.register(SVC)
@_read.register(NuSVC)
def _(estimator: Any, flow: Flow) -> Decision:
    if estimator.kernel != "linear":
        label = f"kernel {estimator.kernel!r}"
        raise NotLinearError(
            f"{type(estimator).__name__} with {label} is not linear",
            "use SupportVectorRules, which reads rules out of kernel machines",
        )
    classes = estimator.classes_
    scores = _coefficient_scores(estimator, flow, _support_sizes(estimator))
    if len(classes) == 2:
        # libsvm asks whether -f > 0, so a tie goes to classes_[1], unlike everywhere else.
        return Decision(classes, scores, (Duel(0, 1, scores[0].reversed()),))
    # Of each pair the first class is the positive one; ties go to the second, unless they are
    # broken by scikit-learn, which looks at the sign anew.
    duels = tuple(
        Duel(second, first, f.reversed()) if estimator.break_ties else Duel(first, second, f)
        for (first, second), f in zip(combinations(range(len(classes)), 2), scores, strict=True)
    )
    return Decision(classes, scores, duels, is_vote=True)


@_read.register(CalibratedClassifierCV)
def _(estimator: Any, flow: Flow) -> Decision:
    raise NotLinearError(
        "CalibratedClassifierCV decides by calibrated probabilities, not by a hyperplane",
        "pass the linear classifier itself (its predictions may differ where the two disagree), or use "
        "SurrogateRules() or ScoreRules, which take any classifier",
    )


@_read.register(FixedThresholdClassifier)
@_read.register(TunedThresholdClassifierCV)
def _(estimator: Any, flow: Flow) -> Decision:
    what = "a classifier; rules need classes"
    inside, reached = unwrap(getattr(estimator, "estimator_", estimator.estimator), flow, what)
    if isinstance(inside, CalibratedClassifierCV):
        inside, reached = unwrap(only_calibrated(inside).estimator, reached, what)
    decision = _of_two(inside, reached)
    threshold = score_threshold(estimator)
    # A class is predicted where sign * f >= value: the other one is on the positive side of value - sign * f.
    score = decision.scores[0]
    lead = score.reversed() if threshold.sign == 1 else score
    constant = lead.constant + threshold.value
    shifted = replace(
        lead,
        constant=constant,
        base=lead.base + threshold.slack + DOUBLE * abs(constant),
        is_direct=lead.is_direct and threshold.value == 0.0 and not threshold.slack,
    )
    positive = threshold.positive
    duel = Duel(1 - positive, positive, shifted)
    return Decision(np.asarray(estimator.classes_), decision.scores, (duel,))


@_read.register(OneVsRestClassifier)
def _(estimator: Any, flow: Flow) -> Decision:
    if estimator.multilabel_:
        raise InvalidValueError(
            "OneVsRestClassifier was fitted to several labels at once; rules need one class a row"
        )
    # Here the parts speak by their decision functions, so that their own way with ties is not asked.
    scores = tuple(_of_two(part, flow).scores[0] for part in estimator.estimators_)
    return Decision(np.asarray(estimator.classes_), scores, highest_wins(scores))


@_read.register(OneVsOneClassifier)
def _(estimator: Any, flow: Flow) -> Decision:
    classes = estimator.classes_
    pairs = combinations(range(len(classes)), 2)
    scores, duels = [], []
    for pair, part in zip(pairs, estimator.estimators_, strict=True):
        decision = _of_two(part, flow)
        scores.append(decision.scores[0])
        duels += [Duel(pair[d.positive], pair[d.negative], d.margin) for d in decision.duels]
    return Decision(classes, tuple(scores), tuple(duels), is_vote=len(classes) > 2)


def _support_sizes(estimator: Any) -> FloatArray:
    """Bound what libsvm rounds: it multiplies by all support vectors, one by one, not by the weights they add up to."""
    vectors, duals = estimator.support_vectors_, estimator.dual_coef_
    vectors, duals = (v.toarray() if hasattr(v, "toarray") else v for v in (vectors, duals))
    sizes = np.abs(np.asarray(duals, dtype=np.float64)).sum(axis=0)[:, None] * np.abs(vectors)
    return np.asarray(sizes.sum(axis=0) * (sum(vectors.shape) + 4.0))


def _of_two(part: Any, flow: Flow) -> Decision:
    decision = read_decision(part, flow)
    if len(decision.scores) != 1:
        raise InvalidValueError(
            f"{type(part).__name__} inside a reduction to two classes has {len(decision.scores)} decision functions"
        )
    return decision
