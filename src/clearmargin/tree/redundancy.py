"""Which inequalities of a cell say nothing new.

The cell of a centre is {z : v_k'z <= 1 for all k} once its centre is the origin and each row is divided by its
right-hand side. A row r'z <= 1 follows from these, with room to spare, exactly when

    r = sum lambda_k v_k,   lambda >= 0,   sum lambda_k <= 1 - margin

(Farkas). A nonnegative least-squares problem looks for the multipliers. They are the certificate: because they sum
to less than 1, rows that hold up to an error of rounding imply r'z <= 1 - margin up to the same error, so that
dropping the row changes nothing in floating point either. Where no certificate is found the row stays, which is
always right.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from clearmargin.core.value import BoolArray, FloatArray

__all__ = ["is_implied", "is_void", "needed_rows"]

# Room between a dropped row and the others, far above rounding and far below anything that matters.
_MARGIN = 1e-6
# Largest error of the combination, relative to the row.
_EXACT = 1e-11


def needed_rows(V: FloatArray) -> BoolArray:
    """Tell which rows of {z : V z <= 1} are needed; all others follow from them.

    Parameters
    ----------
    V : ndarray of shape (k, n)
        The rows.

    Returns
    -------
    ndarray of bool of shape (k,)
        False for rows that are certain to be redundant.

    Examples
    --------
    >>> needed_rows(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.4, 0.4]]))
    array([ True,  True,  True, False])
    """
    squared = (V**2).sum(axis=1)
    kept = ~_beyond_a_box(V, squared)
    # The first row that a ray from the origin meets is needed; each row is tried as a ray.
    met = np.zeros(len(V), dtype=np.bool_)
    met[np.argmax(V @ V[kept].T, axis=0) if len(V) else []] = True
    # Short rows are far away and most likely redundant.
    for k in np.argsort(squared, kind="stable"):
        if kept[k] and not met[k]:
            kept[k] = False
            kept[k] = not is_implied(V[kept], V[k])
    return kept


def _beyond_a_box(V: FloatArray, squared: FloatArray) -> BoolArray:
    """Rows that hold all over a box around the cell, where the rows nearest to the origin give such a box.

    If e_l = sum lambda_k v_k with lambda >= 0, then z_l <= sum lambda_k in the cell. Bounds on all coordinates
    bound every other row, many at a time; the multipliers of such a row again sum to less than 1.
    """
    n = V.shape[1]
    nearest = np.argsort(-squared, kind="stable")[: 4 * (n + 1)]
    far = np.ones(len(V), dtype=np.bool_)
    far[nearest] = False
    if far.sum() <= 2 * n:  # not worth the 2 n problems
        return np.zeros(len(V), dtype=np.bool_)
    upper, lower = (np.array([_reach(V[nearest], side * e) for e in np.eye(n)]) for side in (1, -1))
    with np.errstate(invalid="ignore"):  # zero times infinity, where a row needs no bound
        most = np.where(V > 0, V * upper, np.where(V < 0, -V * lower, 0.0)).sum(axis=1)
    return np.asarray(far & (most <= 1 - _MARGIN))


def _reach(V: FloatArray, direction: FloatArray) -> float:
    """A bound on direction'z wherever V z <= 1, infinite where none is found."""
    try:
        multipliers, error = nnls(V.T, direction)
    except RuntimeError:  # too many iterations
        return np.inf
    return float(multipliers.sum()) if error <= _EXACT else np.inf


def is_implied(V: FloatArray, row: FloatArray) -> bool:
    """Tell whether row'z <= 1 - margin is certain wherever V z <= 1.

    Parameters
    ----------
    V : ndarray of shape (k, n)
        The rows that hold.
    row : ndarray of shape (n,)
        The row in question.

    Returns
    -------
    bool
        True with a certificate; False where there is none or it was not found.

    Examples
    --------
    >>> V = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> is_implied(V, np.array([0.5, 0.4])), is_implied(V, np.array([0.5, 0.6]))
    (True, False)
    """
    size = float(np.abs(row).max(initial=0.0))
    if size == 0 or not len(V):
        return size == 0
    # Rows that point into the direction of the one in question nearly always suffice; more enter as they are missed.
    step = V.shape[1] + 1
    working = np.argsort(-(V @ row), kind="stable")[: 2 * step]
    while True:
        error, direction, limit = _combine(V[working], row, size)
        if error <= _EXACT:
            return True
        beyond = V @ direction - limit
        beyond[working] = -np.inf
        missed = np.argsort(-beyond, kind="stable")[:step]
        missed = missed[beyond[missed] > _EXACT]
        if not len(missed):
            return False
        working = np.append(working, missed)


def _combine(V: FloatArray, row: FloatArray, size: float) -> tuple[float, FloatArray, float]:
    """Look for multipliers; give the error of the best ones, and d and t with V d <= t, row'd > (1 - margin) t.

    What is left over by a nonnegative least-squares solution is at an obtuse angle to all columns: that is where d
    and t come from. The point d / t shows that the row does not follow.
    """
    # Columns of comparable size; the last equation bounds the sum, with a slack variable.
    lengths = np.abs(V).max(axis=1)
    system = np.zeros((V.shape[1] + 1, len(V) + 1))
    system[:-1, :-1] = (V / lengths[:, None]).T
    system[-1, :-1] = size / lengths
    system[-1, -1] = 1.0
    wanted = np.append(row / size, 1 - _MARGIN)
    try:
        multipliers, error = nnls(system, wanted)
    except RuntimeError:  # too many iterations: no certificate
        return np.inf, np.zeros_like(row), 0.0
    left = wanted - system @ multipliers
    return float(error), left[:-1], -size * float(left[-1])


def is_void(A: FloatArray, b: FloatArray) -> bool:
    """Tell whether it is certain that no z satisfies A z <= b.

    By Farkas' lemma there is none exactly when lambda >= 0 exist with A' lambda = 0 and b'lambda = -1.

    Parameters
    ----------
    A : ndarray of shape (k, n)
        Left-hand sides.
    b : ndarray of shape (k,)
        Right-hand sides.

    Returns
    -------
    bool
        True with a certificate; False where there is none or it was not found.

    Examples
    --------
    >>> A = np.array([[1.0], [-1.0]])
    >>> is_void(A, np.array([1.0, -2.0])), is_void(A, np.array([1.0, -1.0]))
    (True, False)
    """
    if not len(b):
        return False
    sizes = np.maximum(np.abs(A).max(axis=1), np.abs(b))
    system = np.vstack([A.T, b]) / sizes
    try:
        _, error = nnls(system, np.append(np.zeros(A.shape[1]), -1.0))
    except RuntimeError:  # too many iterations: no certificate
        return False
    return bool(error <= _EXACT)
