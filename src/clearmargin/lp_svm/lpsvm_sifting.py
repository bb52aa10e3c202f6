"""The 1-norm support vector machine for many points or many features: sifting on the dual.

Of the m columns (points) and n rows (features) of the dual in `lpsvm` few matter. A point well inside its class has
u_i = 0, a point well beyond the margin u_i = c_i, and only the points near the margin, the *window*, have to be
decided. A feature whose row is slack has w_j = 0. So a *master* program holds the points of the window and some
features, with all other multipliers fixed where they are believed to belong::

    maximise    y_W'alpha_W
    subject to  |X_WJ'alpha_W + X_FJ'alpha_F| <= lambda,    sum alpha_W + sum alpha_F = 0,    0 <= y_i alpha_i <= c_i

After each solution all points are judged by the new plane and all features by the new multipliers. What was misjudged
enters the master, and nothing ever leaves it: re-centring the window instead was seen to oscillate. When nothing is
misjudged the solution is optimal for the whole; the loop stops earlier, when the certified gap allows it.

The first belief comes from a small stratified sample, solved the same way, then from samples some times larger
each. The margin of a point moves from one level to the next by about the sampling error of the plane, and the
window is as wide as that. A window that is too narrow leaves the master without a solution; then it is widened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import InfeasibleError
from clearmargin.lp_svm.lpsvm import (
    Basis,
    FloatArray,
    LPSVMData,
    LPSVMSolution,
    balanced,
    best_intercept,
    objective,
    priced_bound,
    signed_bounds,
)
from clearmargin.lp_svm.lpsvm_polish import polish, sweep
from clearmargin.rules.arithmetic import linear_scores, weighted_sums
from clearmargin.solvers import Linear, Program, Session, Variables

__all__ = ["Master", "grow", "sift_lpsvm", "steepest_features"]


Index = NDArray[np.intp]

# The certificate divides by the largest violation of a row: it must be far below the gap asked for.
_SOLVER_TOL = 1e-9


class Master:
    """A program that grows: points (columns) and features (rows) enter, the basis stays.

    Parameters
    ----------
    data : LPSVMData
        The whole data, normalised.
    features : ndarray of int
        Features to start with.
    window : ndarray of int
        Points to start with.
    fixed : ndarray of shape (m,)
        The signed multipliers alpha of the points outside the window.
    """

    def __init__(self, data: LPSVMData, features: Index, window: Index, fixed: FloatArray):
        self.data = data
        self.fixed = fixed.copy()
        self.in_window = np.zeros(len(data), dtype=np.bool_)
        self.in_window[window] = True
        # In order, so that a block of all points and features is X itself.
        self._points = {"points0": np.sort(window)}
        self._features = {"features0": np.sort(features)}
        self._taken = weighted_sums(data.X, self.fixed)
        self._session = Session(
            self._first_program(), method="dual", tol=_SOLVER_TOL, presolve=False
        )

    @property
    def features(self) -> Index:
        """All features in the master."""
        return np.concatenate(list(self._features.values()))

    def solve(self) -> tuple[FloatArray, float, FloatArray]:
        """Give weights and intercept (zero for features outside) and the signed multipliers of all points."""
        answer = self._session.solve(explain=False)
        w = np.zeros(self.data.X.shape[1])
        for name, index in self._features.items():
            w[index] = -answer.duals[name]
        alpha = self.fixed.copy()
        for name, index in self._points.items():
            alpha[index] = answer.values[name]
        b = -float(answer.duals["balance"][0]) if self.data.fit_intercept else 0.0
        return self.data.with_signs(w), b, alpha

    def basis(self) -> Basis | None:
        """Return where the last solution was, if its number of points on the margin is that of its unknowns."""
        columns, rows = self._session.basic()
        points = [index[columns[name]] for name, index in self._points.items()]
        features = [np.delete(index, rows[name]) for name, index in self._features.items()]
        with_intercept = self.data.fit_intercept and not len(rows["balance"])
        basis = Basis(np.concatenate(points), np.concatenate(features), with_intercept)
        size = len(basis.features) + int(with_intercept)
        return basis if len(basis.points) == size else None

    def add_points(self, index: Index) -> None:
        """Let points into the window; their multipliers are no longer fixed."""
        if not len(index):
            return
        name = f"points{len(self._points)}"
        self.fixed[index] = 0.0
        self.in_window[index] = True
        self._points[name] = index
        terms = {row: self._block(index, features) for row, features in self._features.items()}
        if self.data.fit_intercept:
            terms["balance"] = np.ones((1, len(index)))
        self._session.add_columns(self._columns(name), terms)
        self._taken = weighted_sums(self.data.X, self.fixed)
        self._refresh_limits()

    def add_features(self, index: Index) -> None:
        """Let features in, as rows."""
        if not len(index):
            return
        name = f"features{len(self._features)}"
        self._features[name] = index
        self._session.add_rows(self._rows(name))

    def set_penalty(self, penalty: float) -> None:
        """Go on with another penalty, from where the last solution was."""
        self.data = replace(self.data, penalty=penalty)
        self._refresh_limits()

    def _first_program(self) -> Program:
        blocks: list[Variables | Linear] = [self._columns("points0"), self._rows("features0")]
        if self.data.fit_intercept:
            blocks.append(Linear("balance", {"points0": 1.0}, *self._balance()))
        return Program(blocks)

    def _columns(self, name: str) -> Variables:
        index = self._points[name]
        y, cost = self.data.y[index], self.data.cost[index]
        return Variables(name, len(index), *signed_bounds(y, cost), cost=-y)

    def _rows(self, name: str) -> Linear:
        features = self._features[name]
        terms = {block: self._block(points, features) for block, points in self._points.items()}
        return Linear(name, terms, *self._limits(features))

    def _block(self, points: Index, features: Index) -> Any:
        """Return the part of X' that belongs to some points and features."""
        X = self.data.X
        rows = X if len(points) == X.shape[0] else X[points]
        return rows.T if len(features) == X.shape[1] else rows[:, features].T

    def _limits(self, features: Index) -> tuple[FloatArray, FloatArray]:
        """Return what the fixed multipliers leave of the rows' range."""
        low, high = self.data.limits()
        taken = self._taken[features]
        return low[features] - taken, high[features] - taken

    def _balance(self) -> tuple[float, float]:
        missing = -float(self.fixed.sum())
        return missing, missing

    def _refresh_limits(self) -> None:
        for name, features in self._features.items():
            self._session.set_limits(name, *self._limits(features))
        if self.data.fit_intercept:
            self._session.set_limits("balance", *self._balance())


Plane = tuple[FloatArray, float]

# Measured on 1,000 to 100,000 points: below a few thousand points a window saves less than it costs,
# and five times the points per level balances the levels' work.
_FIRST_SAMPLE = 4_000
_GROWTH = 5
_FIRST_FEATURES = 20
# A sample only has to say which points are near the margin.
_SAMPLE_TOL = 1e-3
# Margins and slopes closer to their limit than this are on it: what rounding leaves after a solve to 1e-9.
_SLACK = 1e-9
# Few misjudged points are left where the gap is reached; what is left after so many programs is for exact steps.
_SETTLING = 4
# A window is never narrower: margins are of order 1.
_NARROWEST = 0.05


def sift_lpsvm(
    data: LPSVMData,
    *,
    tol: float = 1e-6,
    max_iter: int = 1_000,
    features: Index | None = None,
    settle: bool = False,
) -> LPSVMSolution:
    """Solve the 1-norm SVM through masters of growing samples.

    Parameters
    ----------
    data : LPSVMData
        The points, their signs and costs.
    tol : float, default 1e-6
        Relative gap to reach.
    max_iter : int, default 1000
        Most linear programs to solve at one level.
    features : ndarray of int, optional
        Features that are likely to matter.
    settle : bool, default False
        Whether to go on at the last level, when the gap is reached, until no point is misjudged.

    Returns
    -------
    LPSVMSolution
        Certified; its gap may be above `tol` where floating point allows no better.

    Examples
    --------
    >>> X, y = np.array([[0.0, 5.0], [2.0, 5.0]]), np.array([-1.0, 1.0])
    >>> solution = sift_lpsvm(LPSVMData(X, y, cost=np.ones(2)))
    >>> solution.w, solution.b, solution.gap
    (array([1., 0.]), -1.0, 0.0)
    """
    normal, unit = data.normalised()
    features = steepest_features(normal) if features is None else features
    guess: Plane | None = None
    width = np.inf
    n_iter = 0
    for sample, is_whole in _levels(normal):
        level_tol = tol if is_whole else _SAMPLE_TOL
        extra = _SETTLING if settle and is_whole else 0
        solution, features = _sift(sample, guess, width, features, level_tol, max_iter, extra)
        guess = (solution.w, solution.b)
        width = _sampling_error(sample, solution)
        n_iter += solution.n_iter
    whole = data.certify(solution.w, solution.b, solution.u * unit, n_iter)
    return replace(whole, basis=solution.basis)


def _levels(data: LPSVMData) -> Iterator[tuple[LPSVMData, bool]]:
    """Draw samples of growing size; the last one is the whole."""
    sizes = []
    size = _FIRST_SAMPLE
    while size * 2 < len(data):
        sizes.append(size)
        size *= _GROWTH
    if sizes:
        order = _stratified_order(data.y)
        for size in sizes:
            yield _sample(data, np.sort(order[:size])), False
    yield data, True


def _stratified_order(y: FloatArray) -> Index:
    """Return a random order in which every beginning has both classes in proportion, and the first of each at once.

    The seed is fixed: samples only decide where the search starts, not where it ends.
    """
    rng = np.random.default_rng(0)
    place = np.empty(len(y))
    for sign in (-1.0, 1.0):
        members = np.flatnonzero(y == sign)
        place[members] = rng.permutation(len(members)) / len(members)
    return np.argsort(place, kind="stable")


def _sample(data: LPSVMData, rows: Index) -> LPSVMData:
    """Take some of the points, each class with the cost of all its points."""
    y, cost = data.y[rows], data.cost[rows].copy()
    for sign in (-1.0, 1.0):
        cost[y == sign] *= data.cost[data.y == sign].sum() / cost[y == sign].sum()
    return replace(data, X=data.X[rows], y=y, cost=cost)


def steepest_features(data: LPSVMData) -> Index:
    """Return the features along which the losses fall fastest from w = 0, where the search starts."""
    u = balanced(data.cost, data.y) if data.fit_intercept else data.cost
    slope = data.steepness(weighted_sums(data.X, data.y * u))
    return np.sort(np.argsort(-slope, kind="stable")[:_FIRST_FEATURES])


def _sampling_error(data: LPSVMData, solution: LPSVMSolution) -> float:
    """Return how far margins may move when the sample grows: twice the standard error of a plane of k weights."""
    spread = float(np.std(linear_scores(data.X, solution.w)))
    k = np.count_nonzero(solution.w) + 1
    return max(_NARROWEST, 2.0 * spread * float(np.sqrt(k / len(data))))


def _sift(
    data: LPSVMData,
    guess: Plane | None,
    width: float,
    features: Index,
    tol: float,
    max_iter: int,
    extra: int,
) -> tuple[LPSVMSolution, Index]:
    """Solve one level from a guess of the plane; give back the features that were needed, too."""
    while True:
        window, fixed = _judge(data, guess, width)
        # With all points in the window the multipliers 0 are feasible, so this ends.
        width *= 3.0
        if not len(window):
            continue
        master = Master(data, features, window, fixed)
        try:
            return grow(master, tol, max_iter, extra), master.features
        except InfeasibleError:
            features = master.features


def _judge(data: LPSVMData, guess: Plane | None, width: float) -> tuple[Index, FloatArray]:
    """Return the window of points near the margin, and the multipliers of all others."""
    if guess is not None:
        w, b = guess
        margin = data.y * (linear_scores(data.X, w) + b)
        near = np.abs(margin - 1.0) <= width
        # A window of half the points or more saves nothing.
        if 2 * near.sum() < len(data):
            return np.flatnonzero(near), np.where(near | (margin > 1.0), 0.0, data.y * data.cost)
    return np.arange(len(data)), np.zeros(len(data))


def grow(master: Master, tol: float, max_iter: int, extra: int = 0) -> LPSVMSolution:
    """Solve a master and let in what it misjudged, until the certified gap is closed.

    Parameters
    ----------
    master : Master
        Where to start; it is changed.
    tol : float
        Relative gap to reach.
    max_iter : int
        Most linear programs to solve.
    extra : int, default 0
        Most linear programs to solve when the gap is reached and points are misjudged still.

    Returns
    -------
    LPSVMSolution
        The best certified solution met, for the master's whole data.
    """
    data = master.data
    best: LPSVMSolution | None = None
    for n_iter in range(1, max_iter + 1):
        w, b, alpha = master.solve()
        scores = linear_scores(data.X, w)
        # The master's own intercept prices the points; the best one is what the plane can have.
        b_best = best_intercept(scores, data.y, data.cost) if data.fit_intercept else 0.0
        value = objective(data, w, b_best, scores=scores)
        bound, slope = priced_bound(data, data.y * alpha)
        solution = LPSVMSolution(w, b_best, data.y * alpha, value, bound, n_iter, master.basis())
        if best is None or solution.gap < best.gap:
            best = solution
        if solution.gap <= tol:
            extra -= 1
        if extra < 0:
            break
        points = _misjudged_points(master, data.y * (scores + b))
        features = _misjudged_features(master, slope)
        if not len(points) and not len(features):
            if best.gap > tol:
                best = polish(data, best)  # the plane is right; sharper multipliers may prove it
            break
        master.add_points(points)
        master.add_features(features)
    assert best is not None
    return replace(sweep(data, best), n_iter=n_iter)


def _misjudged_points(master: Master, margin: FloatArray) -> Index:
    believed_violated = master.fixed != 0.0
    wrong = np.where(believed_violated, margin > 1.0 + _SLACK, margin < 1.0 - _SLACK)
    return np.flatnonzero(wrong & ~master.in_window)


def _misjudged_features(master: Master, slope: FloatArray) -> Index:
    slope = slope.copy()
    slope[master.features] = 0.0
    wrong = np.flatnonzero(slope > 1.0 + _SLACK)
    # Few at a time: those that enter make most of the others superfluous.
    most = max(_FIRST_FEATURES, len(master.features) // 4)
    return wrong[np.argsort(-slope[wrong], kind="stable")[:most]]
