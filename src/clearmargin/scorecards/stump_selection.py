"""The k steps whose weighted sum comes closest to a decision function: logistic loss, exchanges over a Gram matrix.

A *stump* is h(x) = [x_j >= c]. With rows x_i of weight w_i and targets p_i in [0, 1] the program is::

    minimise    sum_i w_i (log(1 + exp(z_i)) - p_i z_i) + (ridge / 2) ||a||^2,   z_i = b + sum_{s in S} a_s h_s(x_i)
    variables   b, a and the set S of at most k stumps out of a list of candidate cuts for each column

Which S is best cannot be found fast for certain. For a given quadratic model of the loss, however, that is, for least
squares with weights v_i and responses t_i, all that matters about the rows is the Gram matrix of the candidates, and
that is a table of sums over rectangles of two columns' cuts: counts cumulated twice. On it a stump is added, or
exchanged for a better one, at a price that does not depend on the number of rows (orthogonal least squares, Chen,
Billings and Luo 1989, with exchanges until no single one helps).

The first quadratic model is the one at z = s f, with f the decision function to be imitated: v_i = w_i q_i (1 - q_i)
with q_i = 1 / (1 + exp(-s f_i)), and t_i = s f_i. It asks for the sum that is closest to f where f is close to zero.
The next ones are Newton's (iteratively reweighted least squares) at the best sum so far, which starts the exchanges.
After each, b and a are fitted to the true loss, and the best set by that loss is the answer.

Weighted sums of steps, where to cut, and points that are small whole numbers.

How points become whole numbers: `clearmargin.rule_base.point_rounding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from clearmargin.rule_base.point_rounding import whole_points
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["Stumps", "fit_weights", "round_points", "select_stumps"]


@dataclass(frozen=True, slots=True, eq=False)
class Stumps:
    """A weighted sum of steps: intercept + sum of weights[s] where x[column[s]] >= cut[s].

    Parameters
    ----------
    column : ndarray of int of shape (k,)
        The column of each step.
    cut : ndarray of shape (k,)
        Where each step is.
    weights : ndarray of shape (k,)
        How high each step is.
    intercept : float
        The sum below all cuts.

    Examples
    --------
    >>> steps = Stumps(np.array([0]), np.array([3.0]), np.array([2.0]), -1.0)
    >>> steps.score(np.array([[2.9], [3.0]]))
    array([-1.,  1.])
    """

    column: IntArray
    cut: FloatArray
    weights: FloatArray
    intercept: float

    def __len__(self) -> int:
        return len(self.column)

    def indicators(self, rows: FloatArray) -> FloatArray:
        """Give 1 where a row is on the upper side of a step, 0 elsewhere; one column for each step."""
        return (rows[:, self.column] >= self.cut).astype(np.float64)

    def score(self, rows: FloatArray) -> FloatArray:
        """Give the sum for each row."""
        return np.asarray(self.indicators(rows) @ self.weights + self.intercept)


def round_points(
    stumps: Stumps, rows: FloatArray, positive: BoolArray, weights: FloatArray, largest: int
) -> Stumps:
    """Make the heights of steps small whole numbers, at the least cost in agreement.

    Parameters
    ----------
    stumps : Stumps
        The steps.
    rows : ndarray of shape (m, n)
        Points.
    positive : ndarray of bool of shape (m,)
        Where the sum should be positive.
    weights : ndarray of shape (m,)
        What each point counts.
    largest : int
        Largest height, up or down.

    Returns
    -------
    Stumps
        Steps of whole heights without those that became zero. The intercept lies halfway between whole numbers, so
        that no sum is zero.

    Examples
    --------
    >>> steps = Stumps(np.array([0, 0]), np.array([1.0, 2.0]), np.array([0.52, 1.0]), -0.9)
    >>> rows = np.array([[0.0], [1.0], [2.0]])
    >>> rounded = round_points(steps, rows, np.array([False, False, True]), np.ones(3), 9)
    >>> rounded.weights, rounded.intercept
    (array([1., 1.]), -1.5)
    """
    height = np.abs(stumps.weights).max(initial=0.0)
    if height == 0.0:
        none = np.empty(0, dtype=np.intp)
        return Stumps(none, np.empty(0), np.empty(0), 0.5 if stumps.intercept > 0 else -0.5)
    points, threshold = whole_points(
        stumps.indicators(rows), stumps.weights, positive, weights, largest
    )
    kept = points != 0.0
    return Stumps(stumps.column[kept], stumps.cut[kept], points[kept], -threshold)


# The Gram matrix has the square of this many entries at most; beyond, the columns that matter most by themselves stay.
_MOST_CANDIDATES = 2000
# How steep the logistic curve is in units of the median |f|: a row at the median weighs 0.42 of one at zero.
_STEEPNESS = 2.0
# Newton's model of the loss is flat far from the boundary; the floor keeps its responses bounded.
_LEAST_CURVATURE = 1e-3
# A candidate with so small a part that the chosen ones do not explain is one of them but for rounding.
_DEPENDENT = 1e-2
_MOST_PASSES = 20
_MOST_STEPS = 30


class _Candidates:
    """All candidate stumps and, for each column, the place of each row among its cuts."""

    def __init__(self, rows: FloatArray, cuts: Sequence[FloatArray]):
        used = [j for j, feature_cuts in enumerate(cuts) if len(feature_cuts)]
        self.cuts = [cuts[j] for j in used]
        self.places = [np.searchsorted(cuts[j], rows[:, j], side="right") for j in used]
        self.sizes = np.array([len(feature_cuts) for feature_cuts in self.cuts], dtype=np.intp)
        self.column = np.repeat(np.array(used, dtype=np.intp), self.sizes)
        self.cut = np.concatenate(self.cuts) if used else np.empty(0)

    def sums(self, v: FloatArray) -> FloatArray:
        """Return the sum of v over the rows on the upper side of each candidate."""
        parts = [
            np.bincount(place, weights=v, minlength=size + 1)[::-1].cumsum()[::-1][1:]
            for place, size in zip(self.places, self.sizes, strict=True)
        ]
        return np.concatenate(parts)

    def gram(self, v: FloatArray) -> FloatArray:
        """Return the sum of v over the rows on the upper side of both, for each pair of candidates."""
        ends = np.concatenate([[0], np.cumsum(self.sizes)])
        gram = np.empty((ends[-1], ends[-1]))
        for a, (place, size) in enumerate(zip(self.places, self.sizes, strict=True)):
            block = slice(ends[a], ends[a + 1])
            for b in range(a, len(self.places)):
                other, width = slice(ends[b], ends[b + 1]), self.sizes[b] + 1
                cells = np.bincount(
                    place * width + self.places[b], weights=v, minlength=(size + 1) * width
                ).reshape(size + 1, width)
                above = cells[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1][1:, 1:]
                gram[block, other] = above
                gram[other, block] = above.T
        return gram


def select_stumps(
    rows: FloatArray,
    decision: FloatArray,
    weights: FloatArray,
    cuts: Sequence[FloatArray],
    max_stumps: int,
    *,
    ridge: float = 1.0,
    rounds: int = 2,
) -> Stumps:
    """Find at most so many stumps whose weighted sum has the sign of a decision function.

    Parameters
    ----------
    rows : ndarray of shape (m, n)
        Points.
    decision : ndarray of shape (m,)
        The decision function there; positive for the second class.
    weights : ndarray of shape (m,)
        What each point counts.
    cuts : sequence of n ndarrays
        Where each column may be cut, ascending; see `clearmargin.rule_base.cuts`.
    max_stumps : int
        Most stumps.
    ridge : float, default 1.0
        Price of the squared weights of stumps.
    rounds : int, default 2
        How often the choice is improved under Newton's model of the loss.

    Returns
    -------
    Stumps
        Column by column, cuts ascending.

    Examples
    --------
    >>> from clearmargin.rule_base.cuts import candidate_cuts
    >>> x = np.arange(10.0)[:, None]
    >>> steps = select_stumps(x, x[:, 0] - 6.5, np.ones(10), [candidate_cuts(x[:, 0], 20)], 1)
    >>> steps.cut
    array([7.])
    """
    target = (decision > 0).astype(np.float64)
    f = decision / (np.median(np.abs(decision)) or 1.0)
    q = expit(_STEEPNESS * f)
    candidates = _screened(rows, cuts, weights, target)
    v, t = weights * np.maximum(q * (1.0 - q), _LEAST_CURVATURE), _STEEPNESS * f
    chosen: list[int] = []
    best: tuple[float, list[int], FloatArray] | None = None
    for _ in range(rounds + 1):
        if len(candidates.cut):
            chosen = _exchange(*_normal_equations(candidates, v, t), ridge, max_stumps, chosen)
        h = (rows[:, candidates.column[chosen]] >= candidates.cut[chosen]).astype(np.float64)
        fitted, loss = fit_weights(h, target, weights, ridge)
        if best is None or loss < best[0]:
            best = loss, chosen, fitted
        z = h @ fitted[1:] + fitted[0]
        q = expit(z)
        curvature = np.maximum(q * (1.0 - q), _LEAST_CURVATURE)
        v, t = weights * curvature, z - (q - target) / curvature
    assert best is not None
    kept = np.array(best[1], dtype=np.intp)
    # Candidates are sorted by column and cut.
    order = np.argsort(kept)
    kept = kept[order]
    return Stumps(candidates.column[kept], candidates.cut[kept], best[2][1:][order], best[2][0])


def _screened(
    rows: FloatArray, cuts: Sequence[FloatArray], weights: FloatArray, target: FloatArray
) -> _Candidates:
    """Make the candidates; if they are too many, those of the columns that tell most about the target by themselves."""
    candidates = _Candidates(rows, cuts)
    if len(candidates.cut) <= _MOST_CANDIDATES:
        return candidates
    total = weights.sum()
    mean = (weights * target).sum() / total
    above = candidates.sums(weights)
    spread = above * (1.0 - above / total)
    gain = candidates.sums(weights * (target - mean)) ** 2 / np.maximum(spread, 1e-12 * total)
    merit = np.zeros(len(cuts))
    np.maximum.at(merit, candidates.column, gain)
    order = np.argsort(-merit, kind="stable")
    sizes = np.array([len(cuts[j]) for j in order])
    dropped = set(order[np.cumsum(sizes) > _MOST_CANDIDATES].tolist())
    return _Candidates(
        rows,
        [feature_cuts[:0] if j in dropped else feature_cuts for j, feature_cuts in enumerate(cuts)],
    )


def _normal_equations(
    candidates: _Candidates, v: FloatArray, t: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Build Gram matrix and right-hand side of least squares with an intercept, which is eliminated."""
    total = v.sum()
    gram = candidates.gram(v)
    above = np.diag(gram).copy()
    rhs = candidates.sums(v * (t - (v * t).sum() / total))
    return np.asarray(gram - np.outer(above, above) / total), rhs


def _exchange(
    gram: FloatArray, rhs: FloatArray, ridge: float, most: int, chosen: list[int]
) -> list[int]:
    """Add stumps up to the number allowed, then exchange them one by one until no exchange helps."""
    chosen = list(chosen)
    while len(chosen) < most:
        gains = _gains(gram, rhs, ridge, chosen)
        best = int(np.argmax(gains))
        if gains[best] <= 0.0:
            break
        chosen.append(best)
    for _ in range(_MOST_PASSES):
        before = sorted(chosen)
        for _ in range(len(chosen)):
            old, rest = chosen[0], chosen[1:]
            gains = _gains(gram, rhs, ridge, rest)
            best = int(np.argmax(gains))
            # A gain that is rounding only must not make two sets alternate for ever.
            chosen = [*rest, best if gains[best] > gains[old] * (1.0 + 1e-9) else old]
        if sorted(chosen) == before:
            break
    return chosen


def _gains(gram: FloatArray, rhs: FloatArray, ridge: float, chosen: list[int]) -> FloatArray:
    """Compute by how much each stump would lower the squares if it joined the chosen ones, all weights refitted."""
    left, residual = np.diag(gram), rhs
    squares = left
    if chosen:
        cross = gram[:, chosen]
        block = gram[np.ix_(chosen, chosen)] + ridge * np.eye(len(chosen))
        solved = np.linalg.solve(block, np.column_stack([rhs[chosen], cross.T]))
        left = squares - (cross * solved[:, 1:].T).sum(axis=1)
        residual = rhs - cross @ solved[:, 0]
    is_new = left > _DEPENDENT * squares
    gains = np.where(is_new, residual**2 / np.where(is_new, left + ridge, 1.0), 0.0)
    gains[chosen] = 0.0
    return gains


def fit_weights(
    h: FloatArray, target: FloatArray, weights: FloatArray, ridge: float
) -> tuple[FloatArray, float]:
    """Fit intercept and weights of given columns to the logistic loss, by Newton steps that are halved where too long.

    Parameters
    ----------
    h : ndarray of shape (m, k)
        The columns.
    target : ndarray of shape (m,)
        Between 0 and 1.
    weights : ndarray of shape (m,)
        What each row counts.
    ridge : float
        Price of the squared weights; the intercept is free.

    Returns
    -------
    fitted : ndarray of shape (k + 1,)
        The intercept, then the weights.
    loss : float
        The least value.

    Examples
    --------
    >>> fitted, _ = fit_weights(np.empty((4, 0)), np.array([0.0, 1.0, 1.0, 1.0]), np.ones(4), 1.0)
    >>> bool(abs(fitted[0] - np.log(3.0)) < 1e-5)
    True
    """
    A = np.column_stack([np.ones(len(h)), h])
    # With one class only, the intercept would go to infinity.
    price = np.concatenate([[1e-6 * weights.sum()], np.full(h.shape[1], ridge)])

    def loss_at(x: FloatArray) -> float:
        z = A @ x
        return float(weights @ (np.logaddexp(0.0, z) - target * z) + 0.5 * price @ x**2)

    x = np.zeros(A.shape[1])
    loss = loss_at(x)
    for _ in range(_MOST_STEPS):
        q = expit(A @ x)
        gradient = A.T @ (weights * (q - target)) + price * x
        hessian = (A * (weights * q * (1.0 - q))[:, None]).T @ A + np.diag(price)
        step = np.linalg.solve(hessian, gradient)
        slope, length = float(gradient @ step), 1.0
        while (tried := loss_at(x - length * step)) > loss - 1e-4 * length * slope:
            length /= 2.0
            if length < 1e-6:
                return x, loss
        x, fall, loss = x - length * step, loss - tried, tried
        if fall <= 1e-10 * max(1.0, loss):
            break
    return x, loss
