r"""Weights of given columns by penalised logistic loss, and what scores are worth.

Data: columns A of shape (m, q), targets t_i in [0, 1], weights w_i of rows, penalties lambda_j >= 0 of columns::

    minimise    sum_i w_i (log(1 + exp(z_i)) - t_i z_i) + sum_j (lambda_j / 2) b_j^2,    z = A b

with s_j b_j >= 0 where a sign is bound, by Newton's method with halved steps; a bound sign that a step breaks sets its
weight to zero, and the others are fitted again.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp, softmax
from sklearn.calibration import _SigmoidCalibration

from clearmargin.rules.value import FloatArray, IntArray

# The intercept is free; so small a penalty only keeps the matrix regular where a class is alone.
_FREE = 1e-8
_MOST_STEPS = 50
# Newton's decrement relative to the objective at which steps end.
_TOL = 1e-10
_LEAST_STEP = 2.0**-20
# Factors of scores in the log loss: how far weights were held back must not decide.
_FACTORS = 2.0 ** np.arange(-2, 3)
# The logarithm of the slope of several classes lies between these; beyond, probabilities are 0 and 1 to all digits.
_LOG_SLOPES = (-7.0, 7.0)


def fit_logistic(
    A: FloatArray,
    target: FloatArray,
    weight: FloatArray,
    penalty: FloatArray,
    sign: IntArray,
    start: FloatArray | None = None,
) -> FloatArray:
    """Fit the weights of columns."""
    penalty = penalty + _FREE
    b = np.zeros(len(penalty)) if start is None else start.copy()
    free = np.ones(len(b), dtype=np.bool_)
    while True:
        b[~free] = 0.0
        b[free] = _newton(A[:, free], target, weight, penalty[free], b[free])
        broken = sign * b < 0.0
        if not broken.any():
            return b
        free &= ~broken


def _newton(
    A: FloatArray, target: FloatArray, weight: FloatArray, penalty: FloatArray, b: FloatArray
) -> FloatArray:
    def loss(b: FloatArray, z: FloatArray) -> float:
        return float(weight @ (np.logaddexp(0.0, z) - target * z) + 0.5 * (penalty @ (b * b)))

    z = A @ b
    value = loss(b, z)
    for _ in range(_MOST_STEPS):
        p = expit(z)
        gradient = penalty * b + (weight * (p - target)) @ A
        hessian = (A * (weight * p * (1.0 - p))[:, None]).T @ A
        hessian[np.diag_indices(len(b))] += penalty
        step = np.linalg.solve(hessian, gradient)
        decrement = float(gradient @ step)
        if decrement <= _TOL * max(value, 1.0):
            break
        length = 1.0
        while length >= _LEAST_STEP:
            tried = b - length * step
            z = A @ tried
            lower = loss(tried, z)
            if lower <= value - 0.1 * length * decrement:
                break
            length /= 2.0
        else:
            break
        b, value = tried, lower
    return b


def accuracy(scores: FloatArray, target: FloatArray, weight: FloatArray) -> float:
    """Give the weighted share of rows whose class is predicted, from scores and targets of shape (K, m)."""
    is_right = (
        (scores[0] > 0.0) == (target[0] > 0.5)
        if len(scores) == 1
        else scores.argmax(axis=0) == target.argmax(axis=0)
    )
    return float(weight[is_right].sum() / weight.sum())


def merit(scores: FloatArray, target: FloatArray, weight: FloatArray) -> float:
    """Give accuracy minus log loss, of scores times the factor that suits them best."""
    losses = [
        np.average(
            (np.logaddexp(0.0, f * scores) - target * f * scores).sum(axis=0), weights=weight
        )
        for f in _FACTORS
    ]
    return accuracy(scores, target, weight) - float(min(losses))


def calibrate(scores: FloatArray, target: FloatArray, weight: FloatArray) -> FloatArray:
    """Fit slope and offset (K, 2) from scores of rows not seen, of shape (K, m), to probabilities; NaN is no score."""
    known = ~np.isnan(scores).any(axis=0)
    f, t, w = scores[:, known], target[:, known], weight[known]
    if len(f) > 1:
        own = t.argmax(axis=0)

        def loss(log_slope: float) -> float:
            z = np.exp(log_slope) * f
            return float(w @ (logsumexp(z, axis=0) - z[own, np.arange(len(own))]))

        found = minimize_scalar(loss, bounds=_LOG_SLOPES, method="bounded")
        return np.tile([np.exp(found.x), 0.0], (len(f), 1))
    sigmoid = _SigmoidCalibration().fit(f[0], t[0] > 0.5, w)
    # A falling sigmoid would turn the order of scores around; then they say nothing.
    slope, offset = -float(sigmoid.a_), -float(sigmoid.b_)
    if slope <= 0.0:
        share = np.clip(np.average(t[0], weights=w), 1e-6, 1.0 - 1e-6)
        slope, offset = 0.0, float(np.log(share / (1.0 - share)))
    return np.array([[slope, offset]])


def probabilities(scores: FloatArray, calibration: FloatArray) -> FloatArray:
    """Give the probability of each class for scores of shape (m, K)."""
    z = scores * calibration[:, 0] + calibration[:, 1]
    if z.shape[1] > 1:
        return np.asarray(softmax(z, axis=1))
    upper = expit(z)
    return np.hstack([1.0 - upper, upper])
