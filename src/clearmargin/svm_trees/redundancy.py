"""Which inequalities of a cell say nothing new.

The cell of a centre is {z : v_k'z <= 1 for all k} once its centre is the origin and each row is divided by its
right-hand side. A row r'z <= 1 follows from these, with room to spare, exactly when

    r = sum lambda_k v_k,   lambda >= 0,   sum lambda_k <= 1 - margin

(Farkas). A nonnegative least-squares problem looks for the multipliers. They are the certificate: because they sum
to less than 1, rows that hold up to an error of rounding imply r'z <= 1 - margin up to the same error, so that
dropping the row changes nothing in floating point either. Where no certificate is found the row stays, which is
always right.

What a solver says of its multipliers is not believed: their signs, what they leave over and the error of computing
that are looked at here. Where they are no least-squares solution (SciPy 1.15.0 gives such ones, with a residual that
is not theirs), the active-set method of Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23) is run
here.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["is_implied", "is_void", "needed_rows", "nonnegative_least_squares"]

# Room between a dropped row and the others, far above rounding and far below anything that matters.
_MARGIN = 1e-6
# Largest error of the combination, relative to the row.
_EXACT = 1e-11
_EPS = float(np.finfo(np.float64).eps)


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
    multipliers, _, error = nonnegative_least_squares(V.T, direction)
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
    _, left, error = nonnegative_least_squares(system, wanted)
    return error, left[:-1], -size * float(left[-1])


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
    _, _, error = nonnegative_least_squares(system, np.append(np.zeros(A.shape[1]), -1.0))
    return error <= _EXACT


def nonnegative_least_squares(A: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Minimise the length of b - A x over x >= 0, and say how good the answer is without asking the solver.

    Parameters
    ----------
    A : ndarray of shape (n, k)
        Columns of comparable size.
    b : ndarray of shape (n,)
        What is to be combined of them.

    Returns
    -------
    x : ndarray of shape (k,)
        Not negative.
    left : ndarray of shape (n,)
        b - A x.
    error : float
        A bound on the length of the true b - A x, rounding included.

    Examples
    --------
    >>> x, left, error = nonnegative_least_squares(np.eye(2), np.array([3.0, -4.0]))
    >>> x, left, round(error, 6)
    (array([3., 0.]), array([ 0., -4.]), 4.0)
    """
    try:
        x = np.maximum(nnls(A, b)[0], 0.0)
    except RuntimeError:  # too many iterations
        x = np.zeros(A.shape[1])
    left = b - (A * x).sum(axis=1)
    if not _is_least(A, b, x, left):
        x = _active_set(A, b)
        left = b - (A * x).sum(axis=1)
    rounding = (A.shape[1] + 2) * _EPS * ((np.abs(A) * x).sum(axis=1) + np.abs(b))
    return x, left, float(np.linalg.norm(np.abs(left) + rounding)) * (1 + 4 * _EPS)


def _is_least(A: FloatArray, b: FloatArray, x: FloatArray, left: FloatArray) -> bool:
    """The conditions of optimality: no column could still help, and those in use have given all they can."""
    gains = (A * left[:, None]).sum(axis=0)
    room = 1e-10 * (1.0 + float(np.abs(b).max(initial=0.0))) * np.abs(A).sum(axis=0)
    return bool((gains <= room).all() and (np.abs(gains) <= room)[x > 0].all())


def _active_set(A: FloatArray, b: FloatArray) -> FloatArray:
    """The method of Lawson and Hanson: let in the column that helps most, take out those that turn negative."""
    k = A.shape[1]
    x, used = np.zeros(k), np.zeros(k, dtype=np.bool_)
    tolerance = 1e-13 * np.abs(A).sum(axis=0) * (1.0 + float(np.abs(b).max(initial=0.0)))
    for _ in range(3 * k + 10):
        gains = np.where(used, -np.inf, (A * (b - (A * x).sum(axis=1))[:, None]).sum(axis=0))
        j = int(np.argmax(gains))
        if used.all() or gains[j] <= tolerance[j]:
            break
        used[j] = True
        while True:
            target = np.zeros(k)
            target[used] = np.linalg.lstsq(A[:, used], b, rcond=None)[0]
            shrinking = used & (target <= 0)
            if not shrinking.any():
                x = target
                break
            # As far towards the target as all stay positive; whoever stops the way goes out.
            way = x[shrinking] / (x[shrinking] - target[shrinking] + np.finfo(np.float64).tiny)
            x = np.maximum(x + float(way.min()) * (target - x), 0.0)
            out = shrinking & (x <= 1e-14 * (1.0 + np.abs(target)))
            out[np.flatnonzero(shrinking)[int(np.argmin(way))]] = True
            x[out], used[out] = 0.0, False
    return x
