"""Operating thresholds: from which score on a model of two classes predicts a class.

scikit-learn's `FixedThresholdClassifier` and `TunedThresholdClassifierCV` compare the decision function of another
classifier, or its probability of a class, with a threshold; a row at the threshold itself gets the class. A threshold
of the decision function f is a shift of f. One of a probability is, too, where the probability is a monotone function
of f alone: that of a logistic regression, or of a calibrator on top of one machine. The least score whose probability
reaches the threshold is then found among the floating-point numbers by bisection, asking the model's own code, so that
the two thresholds come to the same on every score that the model can compute.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.svm import SVC, NuSVC

from clearmargin.exceptions import NotLinearError
from clearmargin.models.fitted import THRESHOLDED, innermost, wrapped_layers
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class OperatingThreshold:
    """A threshold as it was set: on a decision function or on a probability."""

    label: Label
    positive: int
    response: str
    value: float
    origin: str

    def __str__(self) -> str:
        what = "probability" if self.response == "predict_proba" else "score"
        return f"{self.label!r} is predicted where its {what} is at least {self.value:.6g} ({self.origin})"


def find_threshold(estimator: Any) -> OperatingThreshold | None:
    """Find the operating threshold that a fitted classifier predicts by."""
    wrapper = next(
        (layer for layer in wrapped_layers(estimator) if isinstance(layer, THRESHOLDED)), None
    )
    if wrapper is None or not hasattr(wrapper, "classes_"):
        return None
    classes = np.asarray(wrapper.classes_)
    inside = getattr(wrapper, "estimator_", wrapper.estimator)
    response = wrapper.response_method
    if response == "auto":
        response = "predict_proba" if hasattr(inside, "predict_proba") else "decision_function"
    if isinstance(wrapper, TunedThresholdClassifierCV):
        label, value = wrapper._curve_scorer._get_pos_label(), wrapper.best_threshold_
        scoring = wrapper.scoring if isinstance(wrapper.scoring, str) else "a scorer"
        origin = f"chosen by TunedThresholdClassifierCV for {scoring}"
    else:
        label, value = wrapper.pos_label, wrapper.threshold
        if value == "auto":
            value = 0.5 if response == "predict_proba" else 0.0
        origin = "set by FixedThresholdClassifier"
    positive = 1 if label is None else int(np.flatnonzero(classes == label)[0])
    return OperatingThreshold(as_label(classes[positive]), positive, response, float(value), origin)


def operating_scores(estimator: Any, X: Any) -> FloatArray | None:
    """Give the decision function of a fitted classifier, counted from its operating threshold."""
    threshold = find_threshold(estimator)
    if threshold is None:
        if not hasattr(estimator, "decision_function"):
            return None
        return np.asarray(estimator.decision_function(X), dtype=np.float64)
    values = np.asarray(getattr(estimator, threshold.response)(X), dtype=np.float64)
    sign = 1.0 if threshold.positive == 1 else -1.0
    if threshold.response == "predict_proba":
        return np.asarray(sign * (values[:, threshold.positive] - threshold.value))
    return np.asarray(sign * (sign * values - threshold.value))


@dataclass(frozen=True, slots=True)
class ScoreThreshold:
    """An operating threshold in terms of the decision function: a class is predicted where sign * f >= value."""

    positive: int
    sign: int
    value: float
    slack: float = 0.0


def score_threshold(estimator: Any) -> ScoreThreshold:
    """Carry the operating threshold of a classifier over to the decision function of the machine inside."""
    threshold = find_threshold(estimator)
    assert threshold is not None
    if threshold.response == "decision_function":
        return ScoreThreshold(
            threshold.positive, 1 if threshold.positive == 1 else -1, threshold.value
        )
    link = _link(estimator)

    def reaches(scores: FloatArray) -> BoolArray:
        return np.asarray(link(scores)[:, threshold.positive] >= threshold.value)

    low, high = reaches(np.array([-_FAR, _FAR]))
    if low == high:
        always = "every" if low else "no"
        raise NotLinearError(
            f"the probability of {threshold.label!r} is at least {threshold.value:g} for {always} score, so that "
            f"{type(estimator).__name__} predicts the same class everywhere",
            "choose another threshold",
        )
    sign = 1 if high else -1
    value, slack = _least(lambda scores: reaches(sign * scores))
    return ScoreThreshold(threshold.positive, sign, value, slack)


# Far beyond what an exponential function tells from infinity.
_FAR = 1e6
# Numbers on either side of a threshold on which rounding might have turned a probability round.
_NEIGHBOURS = 512


def _least(reaches: Callable[[FloatArray], BoolArray]) -> tuple[float, float]:
    """Find the least float from which on a monotone test is true, and how far above it some test is false."""
    low, high = _ordinal(-_FAR), _ordinal(_FAR)
    while high - low > 1:
        middle = (low + high) // 2
        if reaches(np.array([_float(middle)]))[0]:
            high = middle
        else:
            low = middle
    near = np.array([_float(k) for k in range(high - _NEIGHBOURS, high + _NEIGHBOURS)])
    true = reaches(near)
    least, last = near[int(np.argmax(true))], near[len(near) - 1 - int(np.argmin(true[::-1]))]
    return float(least), max(0.0, float(last - least))


def _ordinal(x: float) -> int:
    """Number the floats in their order."""
    (bits,) = struct.unpack("<q", struct.pack("<d", x))
    return int(bits) if bits >= 0 else -(int(bits) & 0x7FFF_FFFF_FFFF_FFFF)


def _float(ordinal: int) -> float:
    bits = ordinal if ordinal >= 0 else -ordinal | -0x8000_0000_0000_0000
    (x,) = struct.unpack("<d", struct.pack("<q", bits))
    return float(x)


def only_calibrated(estimator: CalibratedClassifierCV) -> Any:
    """Give the one calibrated machine of a `CalibratedClassifierCV`; several are an error."""
    parts = estimator.calibrated_classifiers_
    if len(parts) > 1:
        raise NotLinearError(
            f"CalibratedClassifierCV averages the probabilities of {len(parts)} machines, which no single decision "
            "function decides",
            "train it with ensemble=False, so that it has one machine; or use ScoreRules or "
            "SurrogateRules(), which take any classifier",
        )
    return parts[0]


Link = Callable[[Any, FloatArray], FloatArray]
_LINKS: dict[type[Any], Link] = {}


def register_link(kind: type[Any]) -> Callable[[Link], Link]:
    """Say of a class of classifiers what probabilities of both classes the scores of two classes stand for."""

    def register(link: Link) -> Link:
        _LINKS[kind] = link
        return link

    return register


def _link(estimator: Any) -> Callable[[FloatArray], FloatArray]:
    """Give the probabilities of both classes as a function of the score of the machine, by the model's own code."""
    inside = innermost(estimator)
    for kind, link in _LINKS.items():
        if isinstance(inside, kind):
            return partial(link, inside)
    if isinstance(inside, CalibratedClassifierCV):
        calibrated = copy(only_calibrated(inside))
        calibrated.estimator = _Scores(calibrated.estimator.classes_)
        return lambda scores: np.asarray(calibrated.predict_proba(scores[:, None]))
    if isinstance(inside, SVC | NuSVC):
        raise NotLinearError(
            f"the probabilities of {type(inside).__name__} come from machines of their own and are no function of its "
            "decision function",
            "give the threshold response_method='decision_function', or calibrate the machine by "
            "CalibratedClassifierCV(..., ensemble=False)",
        )
    if not hasattr(inside, "coef_") or len(np.atleast_2d(inside.coef_)) != 1:
        raise NotLinearError(
            f"the threshold is one of a probability of {type(inside).__name__}, which is not known as a function of "
            "one score",
            "use ScoreRules or SurrogateRules(), which take any classifier",
        )
    # The same classifier with a single feature, whose value is the score.
    unit = copy(inside)
    unit.coef_, unit.intercept_, unit.n_features_in_ = np.ones((1, 1)), np.zeros(1), 1
    vars(unit).pop("feature_names_in_", None)
    return lambda scores: np.asarray(unit.predict_proba(scores[:, None]))


class _Scores(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose decision function is its only feature."""

    def __init__(self, classes: Any):
        self.classes = classes

    @property
    def classes_(self) -> Any:
        """The classes."""
        return self.classes

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn nothing."""
        return self

    def decision_function(self, X: FloatArray) -> FloatArray:
        """Give the feature."""
        return X[:, 0]

    def __sklearn_is_fitted__(self) -> bool:
        return True
