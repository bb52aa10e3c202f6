"""The 1-norm support vector machine for many points or many features: sifting on the dual, over partitions of the rows.

Of the m columns (points) and n rows (features) of the dual in `lpsvm` few matter. A point well inside its class has
u_i = 0, a point well beyond the margin u_i = c_i, and only the points near the margin, the *window*, have to be
decided. A feature whose row is slack has w_j = 0. So a *master* program holds the points of the window and some
features; of all other points that are violated it has one linear term, n + 2 sums (`Far`)::

    maximise    y_W'alpha_W
    subject to  |X_WJ'alpha_W + far_J| <= lambda,    sum alpha_W + far_0 = 0,    0 <= y_i alpha_i <= c_i

After each solution all features are judged by the new multipliers, and all points by the new plane, in one pass over
the partitions. What was misjudged enters the master, and nothing ever leaves it: re-centring the window instead was
seen to oscillate. When nothing is misjudged the solution is optimal for the whole.

The first belief comes from a small sample, which is solved whole, then from samples some times larger each; they are
drawn by row number and nested. The margin of a point moves from one level to the next by about the sampling error of
the plane, and the window is as wide as that. A window that is too narrow leaves the master without a solution; then it
is widened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clearmargin.exceptions import InfeasibleError, SolverError
from clearmargin.lp_svm.lpsvm import (
    FloatArray,
    LPSVMData,
    LPSVMSolution,
    balanced,
    middles,
    rounded_plane,
    signed_bounds,
    tie_prices,
)
from clearmargin.lp_svm.lpsvm_blocks import (
    Census,
    FarSums,
    Plane,
    Sides,
    View,
    census,
    class_costs,
    misjudged,
    open_window,
    take_all,
)
from clearmargin.lp_svm.lpsvm_zero import (
    MOST_SAMPLE_STEPS,
    MOST_STEPS,
    Tilt,
    TiltSums,
    prove_zero,
    tilt_sums,
    zero_plane,
)
from clearmargin.rules.arithmetic import exact_score, linear_scores
from clearmargin.rules.value import BoolArray, IntArray
from clearmargin.solvers import Linear, Program, Session, Variables
from clearmargin.tables.partitions import ArrayBlocks, Block, Partitions

Index = NDArray[np.intp]
T = TypeVar("T")

_EPS = float(np.finfo(np.float64).eps)
# Limits are wider by prices of ties, of which the solver must see the differences.
_SOLVER_TOL = 1e-10


class Master:
    """A program that grows: points (columns) and features (rows) enter, the basis stays."""

    def __init__(self, data: LPSVMData, features: Index, unit: float):
        self.data, self._unit = data, unit
        self._prices = tie_prices(data.X.shape[1])
        # In order, so that a block of all points and features is X itself.
        self._points = {"points0": np.arange(len(data))}
        self._features = {"features0": np.sort(features)}
        blocks: list[Variables | Linear] = [self._columns("points0"), self._rows("features0")]
        if data.fit_intercept:
            blocks.append(Linear("balance", {"points0": 1.0}, *self._balance(1.0)))
        self._session = Session(Program(blocks), method="dual", tol=_SOLVER_TOL, presolve=False)

    @property
    def features(self) -> Index:
        """All features in the master."""
        return np.concatenate(list(self._features.values()))

    def solve(self) -> tuple[FloatArray, float, FloatArray]:
        """Give weights and intercept (zero for features outside) and the multipliers of all points."""
        answer = self._session.solve()
        w = np.zeros(self.data.X.shape[1])
        for name, index in self._features.items():
            w[index] = -answer.duals[name]
        alpha = np.concatenate([answer.values[name] for name in self._points])
        b = -float(answer.duals["balance"][0]) if self.data.fit_intercept else 0.0
        if self.data.sign is not None:
            # What rounding has left with a sign that it may not have.
            w[self.data.sign * w < 0] = 0.0
        return w, b, self.data.y * alpha * self._unit

    def start_at(self, plane: Plane) -> None:
        """Start from a plane of a sample, if it is a vertex: as many points on the margin as it has numbers."""
        w, b, data, first = plane.w, plane.b, self.data, self._features["features0"]
        margin = data.y * linear_scores(data.X, w, b)
        points = np.flatnonzero(np.abs(margin - 1.0) <= _NARROWEST)
        if len(points) != np.count_nonzero(w) + (b != 0.0):
            return
        rows = {"features0": np.flatnonzero(w[first] == 0.0)}
        above = {"points0": (margin < 1.0) == (data.y > 0), "features0": w[first] > 0.0}
        if data.fit_intercept:
            rows["balance"] = np.arange(0 if b else 1)
            above["balance"] = np.zeros(1, dtype=np.bool_)
        self._session.start_from({"points0": points}, rows, above)

    def sharpest(self, u: FloatArray) -> FloatArray:
        """Return the multipliers without prices of ties, which prove more; those given if there are none."""
        self._refresh_limits(0.0)
        try:
            return self.solve()[2]
        except SolverError:
            return u

    def misjudged(self, u: FloatArray) -> Index:
        """Return features outside of the master that are beyond their limits: few, the steepest first."""
        if len(self.features) == len(self._prices) - 1:
            return np.zeros(0, dtype=np.intp)
        low, high = self.data.limits(self._prices[1:])
        sums = self.data.slope(u) - (0.0 if self.data.far is None else self.data.far.slope)
        excess = np.maximum(low - sums, sums - high) / self.data.penalty
        excess[self.features] = 0.0
        wrong = np.flatnonzero(excess > _SLACK)
        # Those that enter make most of the others superfluous.
        return _steepest(excess, wrong, max(_FIRST_FEATURES, len(self.features) // 4))

    def add_points(self, data: LPSVMData) -> None:
        """Go on with more points, which are the last ones of the data, and with other sums."""
        index = np.arange(len(self.data), len(data))
        self.data = data
        if len(index):
            name = f"points{len(self._points)}"
            self._points[name] = index
            terms = {row: self._block(index, features) for row, features in self._features.items()}
            if data.fit_intercept:
                terms["balance"] = np.ones((1, len(index)))
            self._session.add_columns(self._columns(name), terms)
        self._refresh_limits()

    def add_features(self, index: Index) -> None:
        """Let features in, as rows."""
        name = f"features{len(self._features)}"
        self._features[name] = index
        self._session.add_rows(self._rows(name))

    def set_penalty(self, penalty: float) -> None:
        """Go on with another penalty, from where the last solution was."""
        self.data = replace(self.data, penalty=penalty)
        self._refresh_limits()

    def _columns(self, name: str) -> Variables:
        index = self._points[name]
        y, cost = self.data.y[index], self.data.cost[index] / self._unit
        return Variables(name, len(index), *signed_bounds(y, cost), cost=-y)

    def _rows(self, name: str) -> Linear:
        features = self._features[name]
        terms = {block: self._block(points, features) for block, points in self._points.items()}
        return Linear(name, terms, *self._limits(features, 1.0))

    def _block(self, points: Index, features: Index) -> Any:
        """Return the part of X' that belongs to some points and features."""
        X = self.data.X
        rows = X if len(points) == X.shape[0] else X[points[0] : points[-1] + 1]
        return rows.T if len(features) == X.shape[1] else rows[:, features].T

    def _limits(self, features: Index, ties: float) -> tuple[FloatArray, FloatArray]:
        low, high = self.data.limits(ties * self._prices[1:])
        return low[features] / self._unit, high[features] / self._unit

    def _balance(self, ties: float) -> tuple[float, float]:
        missing = 0.0 if self.data.far is None else -self.data.far.balance
        width = ties * self.data.penalty * float(self._prices[0])
        return (missing - width) / self._unit, (missing + width) / self._unit

    def _refresh_limits(self, ties: float = 1.0) -> None:
        for name, features in self._features.items():
            self._session.set_limits(name, *self._limits(features, ties))
        if self.data.fit_intercept:
            self._session.set_limits("balance", *self._balance(ties))


def _steepest(slope: FloatArray, features: Index, most: int) -> Index:
    """Return some features, the steepest first; of equal columns, whose slopes are equal to the bit, the first."""
    _, first = np.unique(slope[features], return_index=True)
    chosen = features[np.sort(first)]
    return chosen[np.argsort(-slope[chosen], kind="stable")[:most]]


# Measured on 1,000 to 1,000,000 points: below a few thousand points a window saves less than it costs, and a few times
# the points per level balances the levels' work.
_FIRST_SAMPLE = 4_000
_GROWTH = 5
# A sample is at most this part of the rows; one of more rows than can be held everywhere a smaller part.
_SHARE, _LARGE_SHARE, _ALWAYS_HELD = 2, 10, 200_000
_FIRST_FEATURES = 20
# Slopes closer to their limit than this are on it: what rounding leaves after a solve to 1e-9.
_SLACK = 1e-9
# A sample with fewer rows of a class than this says nothing of it.
_LEAST_OF_CLASS = 10
# When so few rows of a sample are misjudged, its plane is near enough for the next one.
_FEW = 100
# A plane whose weights move no margin by more than this is constant, but for what a solver leaves.
_NO_WEIGHT = 1e-6
# More columns have too many second moments.
_MOST_MOMENTS = 300
# A window is never narrower than what the solver leaves of margins.
_NARROWEST = 1e-7
# Where all weights are zero, margins do not tell how far they will move.
_WIDTH_OF_ZERO = 0.05


@dataclass(frozen=True)
class RowTable:
    """Rows in partitions, and what is known of all of them."""

    parts: Partitions[Block]
    view: View
    spans: tuple[tuple[int, int], ...]
    n_rows: int

    def map(self, f: Callable[..., Any], numbers: IntArray, *common: Any) -> list[Any]:
        """Call a function on all partitions, each with those of the row numbers (in order) that may be there."""
        own = [
            (numbers[np.searchsorted(numbers, first) : np.searchsorted(numbers, last, "right")],)
            for first, last in self.spans
        ]
        return self.parts.map(f, own, (self.view, *common))


class Level:
    """Rows of a table or of a sample of it: those that a master holds, and the sums over the others."""

    def __init__(self, table: RowTable, problem: LPSVMData, reach: FloatArray):
        self.table, self._problem, self._reach = table, problem, reach
        self.sides = Sides(None, np.inf)
        self.held: Block
        self.far: FarSums | None = None
        self.entered = np.zeros(0, dtype=np.intp)

    @property
    def holds_all(self) -> bool:
        """Whether no row is known by sums only, or not at all."""
        return len(self.held.y) == self.table.n_rows

    def open(self, sides: Sides) -> None:
        """Take the rows of a window, and the sums over the others."""
        self.sides = sides
        self.entered = np.zeros(0, dtype=np.intp)
        windows, far = zip(*self.table.map(open_window, self.entered, sides), strict=True)
        self.held = _stacked(windows)
        self.far = None if self.holds_all else FarSums.together(far)

    def judge(self, plane: Plane) -> BoolArray:
        """Hold the rows that a plane misjudges, too; tell which of them were believed to be violated."""
        if self.holds_all:
            return np.zeros(0, dtype=np.bool_)
        assert self.far is not None
        found = self.table.map(misjudged, self.entered, self.sides, plane)
        rows, was_violated = (
            _stacked([rows for rows, _ in found]),
            np.concatenate([side for _, side in found]),
        )
        new = ~np.isin(rows.rows, self.held.rows)
        rows, was_violated = rows.take(new), was_violated[new]
        if not len(was_violated):
            return was_violated
        left = rows.take(was_violated)
        self.far = FarSums.together([self.far, FarSums.of(left._replace(cost=-left.cost))])
        self.held = _stacked([self.held, rows])
        self.entered = np.union1d(self.entered, rows.rows)
        if self.holds_all:
            self.far = None
        return was_violated

    @property
    def data(self) -> LPSVMData:
        """The rows that are held, and the sums over the others."""
        X, y, cost, _ = self.held
        far = None if self.far is None else self.far.rounded()
        return replace(self._problem, X=X, y=y, cost=cost, far=far)

    def plane(self, w: FloatArray, b: float) -> Plane:
        """Return a plane of the centred rows, with what scores in floating point may be off by."""
        size = float((self._reach * np.abs(w)).sum()) + abs(b)
        return Plane(w, b, (np.count_nonzero(w) + 6) * _EPS * size)


def _stacked(blocks: Sequence[Block]) -> Block:
    """Put blocks one below the other."""
    if len(blocks) == 1:
        return blocks[0]
    points = [block.X for block in blocks]
    dense = isinstance(points[0], np.ndarray)
    X: Any = np.concatenate(points) if dense else sparse.vstack(points, format="csr")
    rest = (np.concatenate([block[k] for block in blocks]) for k in (1, 2, 3))
    return Block(X, *rest)


class Sifting:
    """A table in partitions whose 1-norm SVM is solved for one penalty or several."""

    def __init__(
        self,
        parts: Partitions[Block],
        *,
        fit_intercept: bool = True,
        sign: NDArray[np.intp] | None = None,
        known: Census | None = None,
    ):
        if known is None:
            answers = parts.map(census)
            spans = tuple((a.first, a.last) for a in answers)
        else:
            ends = np.cumsum(parts.lengths).tolist()
            spans = tuple((end - m, end - 1) for m, end in zip(parts.lengths, ends, strict=True))
        self.census = Census.together(answers) if known is None else known
        n = len(self.census.low)
        empty = np.zeros((0, n)), np.zeros(0), np.zeros(0)
        self._problem = LPSVMData(*empty, fit_intercept=fit_intercept, sign=sign)
        low, high = self.census.low, self.census.high
        shift = middles(low, high) if fit_intercept else None
        self.table = RowTable(parts, View(shift=shift), spans, int(self.census.counts.sum()))
        away = np.zeros(n) if shift is None else shift
        self.reach = np.maximum(np.abs(low - away), np.abs(high - away))

    @cached_property
    def samples(self) -> list[RowTable]:
        """Samples of growing size, in each of which every class has the cost of all its rows."""
        m = self.table.n_rows
        sizes = []
        size = _FIRST_SAMPLE
        while size * (_SHARE if size <= _ALWAYS_HELD else _LARGE_SHARE) < m:
            sizes.append(size)
            size *= _GROWTH
        found: list[RowTable] = []
        larger = self.table.parts
        for size in sizes[::-1]:
            # Smaller samples are parts of larger ones.
            larger = larger.sample(size / m)
            answers = larger.map(class_costs)
            some = Census.together(answers)
            if some.counts.min() < _LEAST_OF_CLASS:
                break
            factors = [float(a / b) for a, b in zip(self.census.cost, some.cost, strict=True)]
            view = View((factors[0], factors[1]), self.table.view.shift)
            spans = tuple((a.first, a.last) for a in answers)
            found.append(RowTable(larger, view, spans, int(some.counts.sum())))
        return found[::-1]

    @cached_property
    def _first_rows(self) -> FloatArray:
        """The centred rows of the smallest sample."""
        sample = self.samples[0]
        blocks = sample.parts.map(take_all, None, (sample.view,))
        rows: FloatArray = _stacked(blocks).X
        return rows

    def solve(
        self, penalty: float, *, max_iter: int = 1_000, features: Index | None = None
    ) -> LPSVMSolution:
        """Solve for a penalty, starting with some features."""
        run = _Run(self, penalty, max_iter, features)
        start: Sides | None = None
        for sample in self.samples:
            start = run.on(sample, start, run.settle)
        # No feature may be worth its weight: so it is in the largest sample, or there is none.
        plane = None if start is None else start.plane
        is_large = self.samples or self.table.n_rows >= 2 * _FIRST_SAMPLE
        moves = 0.0 if plane is None else float((np.abs(plane.w) * self.reach).sum())
        if is_large and moves <= _NO_WEIGHT and self.proves_zero(run.problem):
            return zero_plane(run.problem, self.census, run.n_iter)
        if self.samples:
            # Their memory is free for the last level, which needs the smallest one only.
            assert self._first_rows.shape[0]
            del self.samples
        return run.on(self.table, start, run.finish)

    def proves_zero(self, problem: LPSVMData) -> bool:
        """Search multipliers that prove w = 0, on the largest sample first."""
        samples = self.samples[-1:]
        # Sums of squares are those of dense rows, and one-sided limits are left to the program.
        if len(self.reach) > _MOST_MOMENTS or problem.sign is not None or self.census.is_sparse:
            return False
        tilt = self._first_tilt(problem)
        for table in [*samples, self.table]:

            def ask(tilt: Tilt, table: RowTable = table) -> TiltSums:
                return TiltSums.together(table.parts.map(tilt_sums, None, (table.view, tilt)))

            is_last = table is self.table
            most = MOST_STEPS if is_last and samples else MOST_SAMPLE_STEPS
            tilt, is_proved = prove_zero(ask, tilt, problem, self.census, self.reach, most)
            if is_last or not is_proved:
                return is_last and is_proved
        return False

    def _first_tilt(self, problem: LPSVMData) -> Tilt:
        """Return equal shares of the costs for all rows of the heavier class."""
        costs = self.census.cost
        light, heavy = float(min(costs)), float(max(costs))
        is_even = costs[0] == costs[1] or not problem.fit_intercept
        sign = 0.0 if is_even else (1.0 if costs[1] > costs[0] else -1.0)
        n = len(self.reach)
        if self.samples:
            centre, scale = self._first_rows.mean(axis=0), self._first_rows.std(axis=0)
        else:
            centre, scale = np.zeros(n), self.reach / 4.0
        scale = np.where(scale > 0.0, scale, 1.0)
        a = 0.0 if is_even else float(np.log(light / (heavy - light)))
        return Tilt(sign, a, np.zeros(n), centre, scale)

    def level(self, table: RowTable, penalty: float) -> Level:
        """Return a level of one of the samples or of all rows."""
        return Level(table, replace(self._problem, penalty=penalty), self.reach)

    def width(self, w: FloatArray, n_rows: int) -> float:
        """Return how far margins may move when a sample grows: twice the standard error of a plane of k weights."""
        k = np.count_nonzero(w) + 1
        if k == 1:
            return _WIDTH_OF_ZERO
        spread = float(np.std(linear_scores(self._first_rows, w)))
        return max(_NARROWEST, 2.0 * spread * float(np.sqrt(k / n_rows)))


class _Run:
    """One penalty: the way through the levels."""

    def __init__(self, sifting: Sifting, penalty: float, max_iter: int, features: Index | None):
        self._sifting, self._max_iter = sifting, max_iter
        self.problem = replace(sifting._problem, penalty=penalty)
        self._unit = min(penalty, sifting.census.largest)
        self._features = features
        self.n_iter = 0

    def on(self, table: RowTable, start: Sides | None, work: Callable[[Master, Level], T]) -> T:
        """Work on a level with a window around the plane of the level before, wide enough for a solution."""
        level = self._sifting.level(table, self.problem.penalty)
        sides = Sides(None, np.inf) if start is None else start
        while True:
            level.open(sides)
            # A window of half the points or more saves nothing.
            if sides.plane is not None and 2 * len(level.held.y) >= table.n_rows:
                level.open(Sides(None, np.inf))
            # With all points in the window the multipliers 0 are feasible, so this ends.
            sides = Sides(sides.plane, 3.0 * sides.width)
            if not len(level.held.y):
                continue
            data = level.data
            if self._features is None:
                self._features = steepest_features(data)
            master = Master(data, self._features, self._unit)
            if start is not None and start.plane is not None:
                master.start_at(start.plane)
            try:
                return work(master, level)
            except InfeasibleError:
                if level.holds_all:
                    raise
            finally:
                self._features = master.features

    def settle(self, master: Master, level: Level) -> Sides:
        """Solve a sample well enough for the next level, and return the window for that."""
        w, b, _ = self._grow(master, level, _FEW)
        return Sides(level.plane(w, b), self._sifting.width(w, level.table.n_rows))

    def finish(self, master: Master, level: Level) -> LPSVMSolution:
        """Find the optimum of all rows, and compute the gap of the plane as it is stored."""
        w, b, u = self._grow(master, level, 0)
        reach, shift = self._sifting.reach, self._sifting.table.view.shift
        w, b = rounded_plane(w, b, reach)
        stored = b if shift is None else exact_score(shift, -w, b)
        b = b if shift is None else exact_score(shift, w, stored)
        level.judge(level.plane(w, b))
        data, u = level.data, master.sharpest(u)
        late = slice(len(u), None)
        margin = data.y[late] * linear_scores(data.X[late], w, b)
        u = np.append(u, np.where(margin < 1.0, data.cost[late], 0.0))
        return replace(data.certify(w, b, u, reach, self.n_iter), b=stored)

    def _grow(
        self, master: Master, level: Level, enough: int
    ) -> tuple[FloatArray, float, FloatArray]:
        """Solve a master, judging by passes over the level."""

        def judge(w: FloatArray, b: float) -> LPSVMData | None:
            n_wrong = len(level.judge(level.plane(w, b)))
            return level.data if n_wrong > enough else None

        w, b, u, n_iter = grow(master, self._max_iter, None if level.holds_all else judge)
        self.n_iter += n_iter
        return w, b, u


def solve_lpsvm(
    data: LPSVMData, *, max_iter: int = 1_000, features: Index | None = None
) -> LPSVMSolution:
    """Solve the 1-norm SVM of points in memory and certify the solution."""
    parts = ArrayBlocks(data.X, data.y, data.cost)
    sifting = Sifting(parts, fit_intercept=data.fit_intercept, sign=data.sign)
    return sifting.solve(data.penalty, max_iter=max_iter, features=features)


def steepest_features(data: LPSVMData) -> Index:
    """Return the features along which the losses fall fastest from w = 0, where the search starts."""
    u = balanced(data.cost, data.y) if data.fit_intercept else data.cost
    slope = data.steepness(data.slope(u))
    return np.sort(_steepest(slope, np.arange(len(slope)), _FIRST_FEATURES))


def grow(
    master: Master,
    max_iter: int,
    judge: Callable[[FloatArray, float], LPSVMData | None] | None = None,
) -> tuple[FloatArray, float, FloatArray, int]:
    """Solve a master and let in what it misjudged; `judge` returns the data with points that are."""
    for n_iter in range(1, max_iter + 1):  # noqa: B007 # returned
        w, b, u = master.solve()
        # Features are asked first: that takes no pass over the rows.
        features = master.misjudged(u)
        if len(features):
            master.add_features(features)
            continue
        data = None if judge is None else judge(w, b)
        if data is None:
            break
        master.add_points(data)
    return w, b, u, n_iter
