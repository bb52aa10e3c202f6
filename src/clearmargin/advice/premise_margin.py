"""How well a premise is respected: its inner radius, and the worst margin of a plane over it.

Two small linear programs over the points x of a premise D x <= d::

    maximise  t            subject to  D_r x + t ||D_r|| <= d_r,  t <= 1     (inner radius; negative when empty)
    minimise  z (w'x + b)  subject to  D x <= d                              (worst margin)

A third one is the second over cases whose values in some columns are whole numbers, a mixed-integer linear program.
The second is the primal of the duality behind the knowledge-based SVM: its value is at least 1 exactly when the advice
is satisfied without error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import (
    InfeasibleError,
    NumericalError,
    TimeLimitError,
    UnboundedError,
)
from clearmargin.solvers import Linear, Program, Variables, solve

__all__ = ["inner_radius", "is_void", "worst_case", "worst_margin"]

FloatArray = NDArray[np.float64]

# Seconds for a worst case among whole numbers; a rule has few of them that matter.
_TIME_LIMIT = 10.0
# HiGHS satisfies rows to 1e-7; a premise that misses its rows by less is not called empty.
_TOUCHING = 1e-7


def inner_radius(D: FloatArray, d: FloatArray) -> tuple[float, FloatArray]:
    """Find the largest ball inside a premise, of radius at most 1.

    Parameters
    ----------
    D : ndarray of shape (k, n)
        Left-hand sides.
    d : ndarray of shape (k,)
        Right-hand sides.

    Returns
    -------
    radius : float
        Negative when the premise is empty (-inf where no ball can tell by how much), zero when it has no interior.
    center : ndarray of shape (n,)
        The centre of the ball.

    Examples
    --------
    >>> inner_radius(np.array([[1.0], [-1.0]]), np.array([3.0, -2.0]))    # 2 <= x <= 3
    (0.5, array([2.5]))
    """
    n = D.shape[1]
    if not len(d):
        return 1.0, np.zeros(n)
    norms = np.linalg.norm(D, axis=1)
    program = Program(
        [
            Variables("x", n),
            Variables("t", 1, upper=1.0, cost=-1.0),
            Linear("rows", {"x": D, "t": norms[:, None]}, upper=d),
        ]
    )
    try:
        values = solve(program, explain=False).values
    except InfeasibleError:  # a row without any variable that is false
        return -np.inf, np.zeros(n)
    return float(values["t"][0]), values["x"]


def is_void(D: FloatArray, d: FloatArray) -> bool:
    """Tell whether no point satisfies all rows (of unit norm), up to the solver's tolerance."""
    return inner_radius(D, d)[0] < -_TOUCHING


def worst_margin(
    D: FloatArray, d: FloatArray, w: FloatArray, b: float, sign: float
) -> tuple[float, FloatArray | None]:
    """Minimise z (w'x + b) over a premise.

    Parameters
    ----------
    D, d : ndarray
        Rows of the premise.
    w : ndarray of shape (n,)
        Weights.
    b : float
        Intercept.
    sign : float
        z, 1.0 or -1.0.

    Returns
    -------
    margin : float
        The minimum; -inf when there is none, inf when the premise is empty.
    x : ndarray of shape (n,) or None
        Where it is taken.

    Examples
    --------
    >>> margin, x = worst_margin(np.array([[-1.0]]), np.array([-3.0]), np.array([1.0]), -2.0, 1.0)   # x >= 3
    >>> margin, x.tolist()
    (1.0, [3.0])
    """
    if not len(d):
        return (sign * b, np.zeros(len(w))) if not w.any() else (-np.inf, None)
    program = Program([Variables("x", len(w), cost=sign * w), Linear("rows", {"x": D}, upper=d)])
    try:
        solution = solve(program, explain=False)
    except UnboundedError:
        return -np.inf, None
    except InfeasibleError:
        return np.inf, None
    return solution.objective + sign * b, solution.values["x"]


def worst_case(
    D: FloatArray, d: FloatArray, w: FloatArray, b: float, sign: float, whole: NDArray[np.bool_]
) -> tuple[float, FloatArray | None]:
    """Minimise z (w'x + b) over the cases of a premise that have whole numbers in some columns.

    Parameters
    ----------
    D, d : ndarray
        Rows of the premise.
    w : ndarray of shape (n,)
        Weights.
    b : float
        Intercept.
    sign : float
        z, 1.0 or -1.0.
    whole : ndarray of bool of shape (n,)
        Which columns have whole numbers.

    Returns
    -------
    margin : float
        The minimum; -inf when there is none, inf when no case is left.
    x : ndarray of shape (n,) or None
        Where it is taken, with exact whole numbers. None where the solver gives up within its time.

    Examples
    --------
    >>> rows = np.array([[-2.0, 0.0], [1.0, 1.0], [-1.0, -1.0]])     # 2 x1 >= 5 and x1 + x2 = 4
    >>> limits, whole = np.array([-5.0, 4.0, -4.0]), np.array([True, True])
    >>> margin, x = worst_case(rows, limits, np.array([1.0, 0.0]), 0.0, 1.0, whole)
    >>> margin, x.tolist()
    (3.0, [3.0, 1.0])
    """
    n, k = len(w), int(whole.sum())
    blocks: list[Variables | Linear] = []
    terms = {}
    if k:
        blocks.append(Variables("whole", k, cost=sign * w[whole], integer=True))
        terms["whole"] = D[:, whole]
    if k < n:
        blocks.append(Variables("real", n - k, cost=sign * w[~whole]))
        terms["real"] = D[:, ~whole]
    program = Program([*blocks, Linear("rows", terms, upper=d)])
    try:
        solution = solve(program, explain=False, time_limit=_TIME_LIMIT)
    except UnboundedError:
        return -np.inf, None
    except InfeasibleError:
        return np.inf, None
    except (TimeLimitError, NumericalError):
        return -np.inf, None
    x = np.empty(n)
    if k:
        x[whole] = np.rint(solution.values["whole"])
    if k < n:
        x[~whole] = solution.values["real"]
    return float(sign * (x @ w + b)), x
