"""The sign of w.x + c, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from clearmargin.core.value import FloatArray

__all__ = ["exact_sign"]

_EPS = float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)


def exact_sign(coef: FloatArray, point: FloatArray, intercept: float) -> int:
    """Give the sign of coef.point + intercept of the real numbers that the floats stand for.

    A floating-point sum of n products is off by at most about n eps times the sum of their magnitudes
    (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1; (n + 2) covers the products,
    the additions and the evaluation of the bound itself). Outside that band its sign is right, inside it
    fractions decide. Underflow and overflow void the bound and go to fractions as well.

    Parameters
    ----------
    coef, point : ndarray of shape (n,)
        Finite numbers.
    intercept : float
        Constant term.

    Returns
    -------
    {-1, 0, 1}
        The sign.

    Examples
    --------
    >>> exact_sign(np.array([1e16, 1.0]), np.array([1.0, 1.0]), -1e16)
    1
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        terms = coef * point
        value = float(terms.sum()) + intercept
        size = float(np.abs(terms).sum()) + abs(intercept)
        error = (len(coef) + 2) * _EPS * size
    # A product that underflowed lost at most the smallest normal number.
    if np.isfinite(size) and abs(value) > error + len(coef) * _TINY:
        return 1 if value > 0 else -1
    exact = Fraction(intercept)
    for w, x in zip(coef.tolist(), point.tolist(), strict=True):
        exact += Fraction(w) * Fraction(x)
    return (exact > 0) - (exact < 0)
