"""The scorecard of a fitted model, bare or behind an operating threshold of scikit-learn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from clearmargin.models.fitted import wrapped_layers
from clearmargin.models.threshold import find_threshold, register_link, score_threshold
from clearmargin.points.logistic import probabilities
from clearmargin.points.rule_svc import RuleSVC
from clearmargin.points.scorecard import Scorecard
from clearmargin.rules.value import FloatArray


def scorecard_of(estimator: Any) -> Scorecard | None:
    """Read the scorecard that a fitted model predicts by.

    Parameters
    ----------
    estimator : fitted classifier or Scorecard
        A `RuleSVC` or `ScoreRules`; or a search, a frozen estimator or an operating threshold
        (`FixedThresholdClassifier`, `TunedThresholdClassifierCV`) around one.

    Returns
    -------
    Scorecard or None
        The scorecard, with the score above which the second class is predicted; None where the model has none, or has
        steps before it that change the table.

    Examples
    --------
    >>> from sklearn.model_selection import FixedThresholdClassifier
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> careful = FixedThresholdClassifier(RuleSVC(max_rules=3), threshold=0.2).fit(X, y)
    >>> rules = scorecard_of(careful)
    >>> bool((rules.predict(X) == careful.predict(X)).all()), rules.threshold < 0
    (True, True)
    """
    if isinstance(estimator, Scorecard):
        return estimator
    layers = list(wrapped_layers(estimator))
    weighted = getattr(layers[-1], "scorecard_", None)
    changes = any(isinstance(layer, Pipeline) and len(layer.steps) > 1 for layer in layers)
    if not isinstance(weighted, Scorecard) or changes:
        return None
    if find_threshold(estimator) is None:
        return weighted
    limit = score_threshold(estimator)
    if limit.positive == 1:
        # A score at the threshold gets the second class; a scorecard gives it above its own.
        return weighted.with_threshold(math.nextafter(limit.value, -math.inf))
    return weighted.with_threshold(-limit.value)


@register_link(RuleSVC)
def _(estimator: Any, scores: FloatArray) -> FloatArray:
    """Give the probabilities that scores stand for."""
    return probabilities(np.asarray(scores)[:, None], estimator.calibration_)
