"""The 1-norm support vector machine for many points or many features: sifting on the dual, over partitions of the rows.

Of the m columns (points) and n rows (features) of the dual in `program` few matter. A point well inside its class has
u_i = 0, a point well beyond the margin u_i = c_i, and only the points near the margin, the *window*, have to be
decided. A feature whose row is slack has w_j = 0. So a *master* program holds the points of the window and some
features; of all other points that are violated it has one linear term, n + 2 sums (`Far`)::

    maximise    y_W'alpha_W
    subject to  |X_WJ'alpha_W + far_J| <= lambda,    sum alpha_W + far_0 = 0,    0 <= y_i alpha_i <= c_i

After each solution all features are compared with the new multipliers, and all points with the new plane, in one pass
over the partitions. Where the program was wrong about them they enter it, and nothing ever leaves it: re-centring the
window instead was seen to oscillate. When it was wrong about none the solution is optimal for the whole.

The first belief comes from a small sample, which is solved whole, then from samples some times larger each; they are
drawn by row number and nested. The margin of a point moves from one level to the next by about the sampling error of
the plane, and the window is as wide as that. A window that is too narrow leaves the master without a solution; then it
is widened.

What is asked of a partition are pure functions: an engine may call them twice, anywhere and in any order. Scores are
added up column by column, so that a row has the same score in every block. Rows and planes are *centred*: a shift is
taken off columns that are far from zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from clearmargin.exceptions import InfeasibleError, SolverError
from clearmargin.lp_svm.program import (
    CHUNK,
    Far,
    FloatArray,
    LPSVMData,
    LPSVMSolution,
    balanced,
    column_reach,
    middles,
    rounded_plane,
    signed_bounds,
    tie_prices,
)
from clearmargin.lp_svm.zero_plane import (
    LogisticMultipliers,
    MultiplierSums,
    multiplier_sums,
    prove_zero,
)
from clearmargin.rules.arithmetic import exact_score, linear_scores, weighted_sums
from clearmargin.rules.value import BoolArray, IntArray
from clearmargin.solvers import Linear, Program, Session, Variables
from clearmargin.tables.partitions import ArrayBlocks, Block, Partitions

_EPS = float(np.finfo(np.float64).eps)
# Limits are wider by prices of ties, of which the solver must see the differences.
_SOLVER_TOL = 1e-10
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
# More programs are not solved for one level; where that ends the search, the gap says what is missing.
_MOST_PROGRAMS = 1_000
# Where all weights are zero, margins do not tell how far they will move.
_WIDTH_OF_ZERO = 0.05
# Steps towards a proof of w = 0 on a sample, and on all rows, where the start is that of the sample.
_MOST_SAMPLE_STEPS, _MOST_STEPS = 40, 6


class Plane(NamedTuple):
    """Weights and intercept of a plane of the centred rows, and how far a score in floating point may be off."""

    w: FloatArray
    b: float
    band: float = 0.0


class Window(NamedTuple):
    """Rows so near the margin of a plane are held; below it they count as violated, above as satisfied."""

    plane: Plane | None = None
    width: float = np.inf


class Scaling(NamedTuple):
    """Factors of the costs of both classes, and what is taken off the columns."""

    factors: tuple[float, float] = (1.0, 1.0)
    shift: FloatArray | None = None

    def rows(self, block: Block) -> Block:
        """Return the rows that have a cost, centred."""
        used = block.cost > 0.0
        block = block if used.all() else block.take(used)
        if self.shift is not None:
            block = block._replace(X=block.X - self.shift)
        if self.factors == (1.0, 1.0):
            return block
        return block._replace(cost=block.cost * np.where(block.y > 0, *self.factors[::-1]))


class Summary(NamedTuple):
    """What one pass over all rows tells: counts and costs of the two classes, ranges of the columns and row numbers."""

    counts: IntArray
    cost: FloatArray
    largest: float
    low: FloatArray
    high: FloatArray
    first: int
    last: int
    is_sparse: bool

    @classmethod
    def together(cls, found: Iterable[Summary]) -> Summary:
        """Put the answers of partitions together."""
        answers = list(found)
        return cls(
            np.sum([a.counts for a in answers], axis=0),
            np.array([math.fsum(a.cost[k] for a in answers) for k in (0, 1)]),
            max(a.largest for a in answers),
            np.min([a.low for a in answers], axis=0),
            np.max([a.high for a in answers], axis=0),
            min(a.first for a in answers),
            max(a.last for a in answers),
            any(a.is_sparse for a in answers),
        )

    @classmethod
    def known(
        cls, counts: IntArray, costs: ArrayLike, low: FloatArray, high: FloatArray
    ) -> Summary:
        """Return what is known already of rows whose costs are those of their classes."""
        of_class = np.asarray(costs, dtype=np.float64)
        return cls(counts, counts * of_class, float(of_class.max()), low, high, 0, -1, False)


def summarise(block: Block) -> Summary:
    """Count the rows of a block, add up their costs, and find the ranges of the columns."""
    rows = Scaling().rows(block)
    classes = rows.y < 0, rows.y > 0
    n = block.X.shape[1]
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    is_sparse = not isinstance(block.X, np.ndarray)
    if len(rows.y) and is_sparse:
        low, high = np.zeros(n), column_reach(rows.X)
    elif len(rows.y):
        low, high = rows.X.min(axis=0).astype(np.float64), rows.X.max(axis=0).astype(np.float64)
    return Summary(
        np.array([np.count_nonzero(mine) for mine in classes]),
        np.array([rows.cost[mine].sum() for mine in classes]),
        float(rows.cost.max(initial=0.0)),
        low,
        high,
        int(block.rows[0]) if len(block.rows) else 0,
        int(block.rows[-1]) if len(block.rows) else -1,
        is_sparse,
    )


def _margins(rows: Block, *planes: Plane) -> list[FloatArray]:
    """Return ``y (x'w + b)`` of centred rows for each plane."""
    found = [np.empty(len(rows.y)) for _ in planes]
    for start in range(0, len(rows.y), CHUNK):
        some = slice(start, start + CHUNK)
        for margin, plane in zip(found, planes, strict=True):
            margin[some] = linear_scores(rows.X[some], plane.w, plane.b)
    return [margin * rows.y for margin in found]


def _far_sums(rows: Block) -> FloatArray:
    """Add up violated rows, as some floats for each number of `Far`, which `_as_far` adds up exactly."""
    signed, starts = rows.y * rows.cost, range(0, len(rows.y), CHUNK)
    found = [
        [*weighted_sums(rows.X[some], signed[some]), signed[some].sum(), rows.cost[some].sum()]
        for some in (slice(start, start + CHUNK) for start in starts)
    ]
    return np.array(found, dtype=np.float64).reshape(-1, rows.X.shape[1] + 2)


def _as_far(parts: FloatArray) -> Far:
    *slope, balance, cost = (math.fsum(column) for column in parts.T.tolist())
    return Far(np.array(slope), balance, cost)


def open_window(
    block: Block, entered: IntArray, scaling: Scaling, window: Window
) -> tuple[Block, FloatArray]:
    """Take the rows of a window out of a block, and add up the violated ones that are left."""
    rows = scaling.rows(block)
    if window.plane is None:
        return _as_doubles(rows), _far_sums(rows.take(slice(0)))
    (margin,) = _margins(rows, window.plane)
    inside = np.abs(margin - 1.0) <= window.width
    inside[_places(rows, entered)] = True
    violated = rows.take(np.flatnonzero(~inside & (margin < 1.0)))
    return _as_doubles(rows.take(np.flatnonzero(inside))), _far_sums(violated)


def rows_that_moved(
    block: Block, entered: IntArray, scaling: Scaling, window: Window, plane: Plane
) -> tuple[Block, BoolArray]:
    """Find the rows outside of a window that a new plane puts on the other side, or does not decide."""
    rows = scaling.rows(block)
    assert window.plane is not None
    before, margin = _margins(rows, window.plane, plane)
    was_violated = before < 1.0
    wrong = np.where(was_violated, margin >= 1.0 - plane.band, margin <= 1.0 + plane.band)
    wrong &= np.abs(before - 1.0) > window.width
    wrong[_places(rows, entered)] = False
    places = np.flatnonzero(wrong)
    return _as_doubles(rows.take(places)), was_violated[places]


def take_all(block: Block, scaling: Scaling) -> Block:
    """Take all rows of a block that have a cost."""
    return _as_doubles(scaling.rows(block))


def _places(block: Block, numbers: IntArray) -> IntArray:
    """Return the places of row numbers in a block; numbers that are not there are passed over."""
    if not len(block.rows):
        return np.zeros(0, dtype=np.intp)
    places = np.minimum(np.searchsorted(block.rows, numbers), len(block.rows) - 1)
    return np.asarray(places[block.rows[places] == numbers])


def _as_doubles(block: Block) -> Block:
    """Return rows with numbers of double precision; a sparse matrix stays one."""
    if sparse.issparse(block.X):
        return block
    return block._replace(X=np.asarray(block.X, dtype=np.float64))


def _stacked(blocks: Sequence[Block]) -> Block:
    """Put blocks one below the other."""
    if len(blocks) == 1:
        return blocks[0]
    points = [block.X for block in blocks]
    dense = isinstance(points[0], np.ndarray)
    X: Any = np.concatenate(points) if dense else sparse.vstack(points, format="csr")
    rest = (np.concatenate([block[k] for block in blocks]) for k in (1, 2, 3))
    return Block(X, *rest)


class Master:
    """A program that grows: points (columns) and features (rows) enter, the basis stays."""

    def __init__(self, data: LPSVMData, features: IntArray, unit: float):
        self.data, self._unit = data, unit
        self._prices = tie_prices(data.X.shape[1])
        # In order, so that a block of all points and features is X itself.
        self._points = {"points0": np.arange(len(data))}
        self._features = {"features0": np.sort(features)}
        blocks: list[Variables | Linear] = [self._columns("points0"), self._rows("features0")]
        if data.fit_intercept:
            blocks.append(Linear("balance", {"points0": 1.0}, *self._balance(1.0)))
        self._session = Session(Program(blocks), tol=_SOLVER_TOL, presolve=False)

    @property
    def features(self) -> IntArray:
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

    def violated_features(self, u: FloatArray) -> IntArray:
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

    def add_features(self, index: IntArray) -> None:
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

    def _block(self, points: IntArray, features: IntArray) -> Any:
        """Return the part of X' that belongs to some points and features."""
        X = self.data.X
        rows = X if len(points) == X.shape[0] else X[points[0] : points[-1] + 1]
        return rows.T if len(features) == X.shape[1] else rows[:, features].T

    def _limits(self, features: IntArray, ties: float) -> tuple[FloatArray, FloatArray]:
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


def _steepest(slope: FloatArray, features: IntArray, most: int) -> IntArray:
    """Return some features, the steepest first; of equal columns, whose slopes are equal to the bit, the first."""
    _, first = np.unique(slope[features], return_index=True)
    chosen = features[np.sort(first)]
    return chosen[np.argsort(-slope[chosen], kind="stable")[:most]]


@dataclass(frozen=True)
class Rows:
    """Rows in partitions, how they are scaled, their number, and the row numbers that a partition may have."""

    parts: Partitions[Block]
    scaling: Scaling
    spans: tuple[tuple[int, int], ...]
    n_rows: int

    def map(self, f: Callable[..., Any], numbers: IntArray, *common: Any) -> list[Any]:
        """Call a function on all partitions, each with those of the row numbers (in order) that may be there."""
        own = [
            (numbers[np.searchsorted(numbers, first) : np.searchsorted(numbers, last, "right")],)
            for first, last in self.spans
        ]
        return self.parts.map(f, own, (self.scaling, *common))


class WorkingSet:
    """The rows that a program holds, those of a window and those that entered, and the sums over the others."""

    def __init__(self, table: Rows, problem: LPSVMData, window: Window):
        self._table, self._problem, self._window = table, problem, window
        self._entered = np.zeros(0, dtype=np.intp)
        windows, far = zip(*table.map(open_window, self._entered, window), strict=True)
        self.held: Block = _stacked(windows)
        self._far = np.concatenate(far)

    @property
    def holds_all(self) -> bool:
        """Whether no row is known by sums only, or not at all."""
        return len(self.held.y) == self._table.n_rows

    def compare(self, plane: Plane) -> int:
        """Hold the rows that a plane puts on the other side, too; return their number."""
        if self.holds_all:
            return 0
        found = self._table.map(rows_that_moved, self._entered, self._window, plane)
        rows = _stacked([rows for rows, _ in found])
        was_violated = np.concatenate([side for _, side in found])
        new = ~np.isin(rows.rows, self.held.rows)
        rows, was_violated = rows.take(new), was_violated[new]
        if len(was_violated):
            left = rows.take(was_violated)
            self._far = np.concatenate([self._far, _far_sums(left._replace(cost=-left.cost))])
            self.held = _stacked([self.held, rows])
            self._entered = np.union1d(self._entered, rows.rows)
        return len(was_violated)

    @property
    def data(self) -> LPSVMData:
        """The rows that are held, and the sums over the others."""
        X, y, cost, _ = self.held
        far = None if self.holds_all else _as_far(self._far)
        return replace(self._problem, X=X, y=y, cost=cost, far=far)


class Sifting:
    """A table in partitions whose 1-norm SVM is solved for one penalty or several."""

    def __init__(
        self,
        parts: Partitions[Block],
        *,
        fit_intercept: bool = True,
        sign: IntArray | None = None,
        known: Summary | None = None,
    ):
        if known is None:
            answers = parts.map(summarise)
            spans = tuple((a.first, a.last) for a in answers)
        else:
            ends = np.cumsum(parts.lengths).tolist()
            spans = tuple((end - m, end - 1) for m, end in zip(parts.lengths, ends, strict=True))
        self.summary = Summary.together(answers) if known is None else known
        low, high = self.summary.low, self.summary.high
        n = len(low)
        empty = np.zeros((0, n)), np.zeros(0), np.zeros(0)
        self._problem = LPSVMData(*empty, fit_intercept=fit_intercept, sign=sign)
        shift = middles(low, high) if fit_intercept else None
        self._table = Rows(parts, Scaling(shift=shift), spans, int(self.summary.counts.sum()))
        away = np.zeros(n) if shift is None else shift
        self.reach = np.maximum(np.abs(low - away), np.abs(high - away))

    @cached_property
    def _samples(self) -> list[Rows]:
        """Samples of growing size, in each of which every class has the cost of all its rows."""
        m = self._table.n_rows
        sizes = []
        size = _FIRST_SAMPLE
        while size * (_SHARE if size <= _ALWAYS_HELD else _LARGE_SHARE) < m:
            sizes.append(size)
            size *= _GROWTH
        found: list[Rows] = []
        larger = self._table.parts
        for size in sizes[::-1]:
            # Smaller samples are parts of larger ones.
            larger = larger.sample(size / m)
            answers = larger.map(summarise)
            some = Summary.together(answers)
            if some.counts.min() < _LEAST_OF_CLASS:
                break
            factors = [float(a / b) for a, b in zip(self.summary.cost, some.cost, strict=True)]
            scaling = Scaling((factors[0], factors[1]), self._table.scaling.shift)
            spans = tuple((a.first, a.last) for a in answers)
            found.append(Rows(larger, scaling, spans, int(some.counts.sum())))
        return found[::-1]

    @cached_property
    def _first_rows(self) -> FloatArray:
        """The centred rows of the smallest sample."""
        sample = self._samples[0]
        rows: FloatArray = _stacked(sample.parts.map(take_all, None, (sample.scaling,))).X
        return rows

    def solve(self, penalty: float, *, features: IntArray | None = None) -> LPSVMSolution:
        """Solve for a penalty, starting with some features."""
        problem = replace(self._problem, penalty=penalty)
        unit = min(penalty, self.summary.largest)
        window, n_iter = Window(), 0

        def solve_rows(
            table: Rows, window: Window, enough: int
        ) -> tuple[Master, WorkingSet, FloatArray, float, FloatArray]:
            """Solve for the rows of a table, with a window that is wide enough for a solution."""
            nonlocal features, n_iter
            start, width = window.plane, window.width
            while True:
                rows = WorkingSet(table, problem, Window(start, width))
                # A window of half the points or more saves nothing.
                if start is not None and 2 * len(rows.held.y) >= table.n_rows:
                    rows = WorkingSet(table, problem, Window())
                # With all points in the window the multipliers 0 are feasible, so this ends.
                width *= 3.0
                if not len(rows.held.y):
                    continue
                data = rows.data
                master = Master(
                    data, steepest_features(data) if features is None else features, unit
                )
                if start is not None:
                    master.start_at(start)

                def find(w: FloatArray, b: float, rows: WorkingSet = rows) -> LPSVMData | None:
                    return rows.data if rows.compare(self._plane(w, b)) > enough else None

                try:
                    w, b, u, n = grow(master, None if rows.holds_all else find)
                except InfeasibleError:
                    if rows.holds_all:
                        raise
                    continue
                finally:
                    features = master.features
                n_iter += n
                return master, rows, w, b, u

        for sample in self._samples:
            *_, w, b, _ = solve_rows(sample, window, _FEW)
            window = Window(self._plane(w, b), self._width(w, sample.n_rows))
        # No feature may be worth its weight: so it is in the largest sample, or there is none.
        is_large = self._samples or self._table.n_rows >= 2 * _FIRST_SAMPLE
        moves = 0.0 if window.plane is None else float((np.abs(window.plane.w) * self.reach).sum())
        if is_large and moves <= _NO_WEIGHT and self._proves_zero(problem):
            return self._zero_plane(n_iter)
        if self._samples:
            # Their memory is free for the last level, which needs the smallest one only.
            assert self._first_rows.shape[0]
            del self._samples
        master, rows, w, b, u = solve_rows(self._table, window, 0)
        # The gap is that of the plane as it is stored.
        shift = self._table.scaling.shift
        w, b = rounded_plane(w, b, self.reach)
        stored = b if shift is None else exact_score(shift, -w, b)
        b = b if shift is None else exact_score(shift, w, stored)
        rows.compare(self._plane(w, b))
        data, u = rows.data, master.sharpest(u)
        late = slice(len(u), None)
        margin = data.y[late] * linear_scores(data.X[late], w, b)
        u = np.append(u, np.where(margin < 1.0, data.cost[late], 0.0))
        return replace(data.certify(w, b, u, self.reach, n_iter), b=stored)

    def _plane(self, w: FloatArray, b: float) -> Plane:
        """Return a plane of the centred rows, with what scores in floating point may be off by."""
        size = float((self.reach * np.abs(w)).sum()) + abs(b)
        return Plane(w, b, (np.count_nonzero(w) + 6) * _EPS * size)

    def _width(self, w: FloatArray, n_rows: int) -> float:
        """Return how far margins may move when a sample grows: twice the standard error of a plane of k weights."""
        k = np.count_nonzero(w) + 1
        if k == 1:
            return _WIDTH_OF_ZERO
        spread = float(np.std(linear_scores(self._first_rows, w)))
        return max(_NARROWEST, 2.0 * spread * float(np.sqrt(k / n_rows)))

    def _proves_zero(self, problem: LPSVMData) -> bool:
        """Search multipliers that prove w = 0, on the largest sample first."""
        # Sums of squares are those of dense rows, and one-sided limits are left to the program.
        n, samples = len(self.reach), self._samples[-1:]
        if n > _MOST_MOMENTS or problem.sign is not None or self.summary.is_sparse:
            return False
        # Equal shares of the costs for all rows of the heavier class come first.
        light, heavy = float(min(self.summary.cost)), float(max(self.summary.cost))
        negative, positive = self.summary.cost
        is_even = negative == positive or not problem.fit_intercept
        sign = 0.0 if is_even else (1.0 if positive > negative else -1.0)
        centre, scale = np.zeros(n), self.reach / 4.0
        if samples:
            centre, scale = self._first_rows.mean(axis=0), self._first_rows.std(axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        a = 0.0 if is_even else float(np.log(light / (heavy - light)))
        start = LogisticMultipliers(sign, a, np.zeros(n), centre, scale)
        for table in [*samples, self._table]:

            def ask(trial: LogisticMultipliers, table: Rows = table) -> MultiplierSums:
                answers = table.parts.map(multiplier_sums, None, (table.scaling, trial))
                return MultiplierSums.together(answers)

            is_last = table is self._table
            most = _MOST_STEPS if is_last and samples else _MOST_SAMPLE_STEPS
            start, is_proved = prove_zero(
                ask, start, problem.penalty, self.summary.cost, self._table.n_rows, self.reach, most
            )
            if is_last or not is_proved:
                return is_last and is_proved
        return False

    def _zero_plane(self, n_iter: int) -> LPSVMSolution:
        """Return the plane without weights, where it is proved; of several intercepts the one nearest to zero."""
        negative, positive = self.summary.cost.tolist()
        b, value = 0.0, negative + positive
        if self._problem.fit_intercept and negative != positive:
            b, value = (1.0, 2 * negative) if positive > negative else (-1.0, 2 * positive)
        w = np.zeros(len(self.reach))
        return LPSVMSolution(w, b, np.zeros(0), value, value, 4.0 * _EPS, n_iter)


def solve_lpsvm(data: LPSVMData, *, features: IntArray | None = None) -> LPSVMSolution:
    """Solve the 1-norm SVM of points in memory and certify the solution."""
    parts = ArrayBlocks(data.X, data.y, data.cost)
    sifting = Sifting(parts, fit_intercept=data.fit_intercept, sign=data.sign)
    return sifting.solve(data.penalty, features=features)


def steepest_features(data: LPSVMData) -> IntArray:
    """Return the features along which the losses fall fastest from w = 0, where the search starts."""
    u = balanced(data.cost, data.y) if data.fit_intercept else data.cost
    slope = data.steepness(data.slope(u))
    return np.sort(_steepest(slope, np.arange(len(slope)), _FIRST_FEATURES))


def grow(
    master: Master,
    find: Callable[[FloatArray, float], LPSVMData | None] | None = None,
) -> tuple[FloatArray, float, FloatArray, int]:
    """Solve a master and let in what it was wrong about; `find` returns the data with such points, if any."""
    for n_iter in range(1, _MOST_PROGRAMS + 1):  # noqa: B007 # returned
        w, b, u = master.solve()
        # Features are asked first: that takes no pass over the rows.
        features = master.violated_features(u)
        if len(features):
            master.add_features(features)
            continue
        data = None if find is None else find(w, b)
        if data is None:
            break
        master.add_points(data)
    return w, b, u, n_iter
