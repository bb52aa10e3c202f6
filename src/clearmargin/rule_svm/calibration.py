"""Probabilities from scores, fitted to the scores of rows not seen."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp, softmax
from sklearn.calibration import _SigmoidCalibration

from clearmargin.rules.value import FloatArray

__all__ = ["calibrate", "probabilities"]


# The logarithm of the slope of several classes lies between these; beyond, probabilities are 0 and 1 to all digits.
_LOG_SLOPES = (-7.0, 7.0)


def calibrate(scores: FloatArray, signs: FloatArray, weight: FloatArray) -> FloatArray:
    """Fit the way from scores to probabilities.

    With one score f the probability of the second class is 1 / (1 + exp(-(slope f + offset))), Platt's method as
    scikit-learn has it. With a score for each class the probabilities are those of the softmax of slope f, with one
    slope (temperature scaling), so that the class of the highest score is the most probable one.

    Parameters
    ----------
    scores : ndarray of shape (m, K)
        Scores of rows that had no part in training; NaN where there is none.
    signs : ndarray of shape (K, m)
        -1 or 1.
    weight : ndarray of shape (m,)
        Weights of the rows.

    Returns
    -------
    ndarray of shape (K, 2)
        Slope, which is not negative, and offset of each score.

    Examples
    --------
    >>> scores = np.array([[-2.0], [-1.0], [1.0], [2.0], [-1.0], [1.0]])
    >>> slope, offset = calibrate(scores, np.array([[-1.0, -1, 1, 1, 1, -1]]), np.ones(6))[0]
    >>> bool(slope > 0), round(float(offset), 3)
    (True, 0.0)
    """
    known = ~np.isnan(scores).any(axis=1)
    f, w = scores[known], weight[known]
    if f.shape[1] > 1:
        own = signs[:, known].argmax(axis=0)

        def loss(log_slope: float) -> float:
            z = np.exp(log_slope) * f
            return float(w @ (logsumexp(z, axis=1) - z[np.arange(len(z)), own]))

        found = minimize_scalar(loss, bounds=_LOG_SLOPES, method="bounded")
        return np.tile([np.exp(found.x), 0.0], (f.shape[1], 1))
    y = signs[0, known] > 0
    sigmoid = _SigmoidCalibration().fit(f[:, 0], y, w)
    # A falling sigmoid would turn the order of scores around; then they say nothing.
    slope, offset = -float(sigmoid.a_), -float(sigmoid.b_)
    if slope <= 0.0:
        share = np.clip(np.average(y, weights=w), 1e-6, 1.0 - 1e-6)
        slope, offset = 0.0, float(np.log(share / (1.0 - share)))
    return np.array([[slope, offset]])


def probabilities(scores: FloatArray, calibration: FloatArray) -> FloatArray:
    """Give the probability of each class for scores of shape (m, K).

    Examples
    --------
    >>> probabilities(np.array([[0.0]]), np.array([[1.0, 0.0]]))
    array([[0.5, 0.5]])
    """
    z = scores * calibration[:, 0] + calibration[:, 1]
    if z.shape[1] > 1:
        return np.asarray(softmax(z, axis=1))
    upper = expit(z)
    return np.hstack([1.0 - upper, upper])
