"""The 1-norm support vector machine stated again: SciPy's linear programs, and its objective in fractions.

It minimises ``sum cost_i (1 - y_i (w'x_i + b))_+ + |w|_1`` with y of -1 and 1.
"""

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog


def optimum(X, y, cost, *, fit_intercept=True, sign=None, prices=None):
    """The least objective, weights as differences of two parts of which one may have to be zero.

    Prices of the intercept and of the weights are added to their costs of 0 and 1.
    """
    m, n = X.shape
    sign = np.zeros(n) if sign is None else np.asarray(sign)
    b_price, *w_prices = np.zeros(n + 1) if prices is None else prices
    # Units of each column, so that the tolerances of the solver mean the same for all.
    unit = np.maximum(np.abs(X).max(axis=0), 1e-300)
    signed = y[:, None] * X / unit
    weight = (1 + np.array(w_prices)) / unit
    b = y[:, None] * fit_intercept
    found = linprog(
        np.r_[weight, weight, b_price, b_price, cost],
        A_ub=-np.hstack([signed, -signed, b, -b, np.eye(m)]),
        b_ub=-np.ones(m),
        bounds=[
            *((0, 0) if s < 0 else (0, None) for s in sign),
            *((0, 0) if s > 0 else (0, None) for s in sign),
            *[(0, None)] * (m + 2),
        ],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    assert found.status == 0, found.message
    return float(found.fun)


def dual_optimum(X, y, cost, *, fit_intercept=True, sign=None):
    """The same for many rows, by the dual: one bounded multiplier for each row."""
    m, n = X.shape
    sign = np.zeros(n) if sign is None else np.asarray(sign)
    found = linprog(
        -y,
        A_ub=np.vstack([X.T[sign >= 0], -X.T[sign <= 0]]),
        b_ub=np.ones(2 * n - np.count_nonzero(sign)),
        A_eq=np.ones((1, m)) if fit_intercept else None,
        b_eq=[0.0] if fit_intercept else None,
        bounds=np.column_stack([np.where(y > 0, 0.0, -cost), np.where(y > 0, cost, 0.0)]),
        method="highs",
    )
    assert found.status == 0, found.message
    return -float(found.fun)


def exact_objective(X, y, cost, w, b):
    """The objective of a plane as a fraction, point by point."""
    weights = [(j, Fraction(v)) for j, v in enumerate(np.asarray(w, dtype=float).tolist()) if v]
    total = sum((abs(v) for _, v in weights), Fraction(0))
    for row, label, price in zip(X.tolist(), y.tolist(), cost.tolist(), strict=True):
        f = sum((Fraction(row[j]) * v for j, v in weights), Fraction(b))
        total += Fraction(price) * max(Fraction(0), 1 - (f if label > 0 else -f))
    return total
