"""The 1-norm support vector machine for many points or many features: sifting on the dual, over partitions of the rows.

Of the m columns (points) and n rows (features) of the dual in `lpsvm` few matter. A point well inside its class has
u_i = 0, a point well beyond the margin u_i = c_i, and only the points near the margin, the *window*, have to be
decided. A feature whose row is slack has w_j = 0. So a *master* program holds the points of the window and some
features; of all other points that are violated it has one linear term, n + 2 sums (`Far`)::

    maximise    y_W'alpha_W
    subject to  |X_WJ'alpha_W + far_J| <= lambda,    sum alpha_W + far_0 = 0,    0 <= y_i alpha_i <= c_i

After each solution all points are judged by the new plane, in one pass over the partitions, and all features by the new
multipliers, without any. What was misjudged enters the master, and nothing ever leaves it: re-centring the window
instead was seen to oscillate. The master's multipliers give a lower bound, the losses at its plane an upper one; when
nothing is misjudged the solution is optimal for the whole.

The first belief comes from a small sample, which is solved whole, then from samples some times larger each; they are
drawn by row number and nested. The margin of a point moves from one level to the next by about the sampling error of
the plane, and the window is as wide as that. Each master starts from the active points and features of the level
before. A window that is too narrow leaves the master without a solution; then it is widened.

A level ends with the exact optimum of its master (`lpsvm_exact`), and that is judged as well, so that the plane is the
one optimum of all rows: the same to the bit for every partitioning, order and engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clearmargin.exceptions import InfeasibleError
from clearmargin.lp_svm.checkpoint import Active, Checkpoint, Start, State
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
from clearmargin.lp_svm.lpsvm_blocks import (
    Census,
    ExactFar,
    Plane,
    Sides,
    View,
    census,
    class_costs,
    far_parts,
    misjudged,
    open_window,
    take_all,
)
from clearmargin.lp_svm.lpsvm_exact import Centred, certified, exact_lpsvm, middles
from clearmargin.lp_svm.lpsvm_polish import polish, sweep
from clearmargin.lp_svm.lpsvm_zero import (
    MOST_SAMPLE_STEPS,
    MOST_STEPS,
    Pull,
    Tilt,
    TiltSums,
    prove_zero,
    tilt_sums,
    zero_plane,
)
from clearmargin.rules.arithmetic import linear_scores, weighted_sums
from clearmargin.rules.value import BoolArray, IntArray
from clearmargin.solvers import Linear, Program, Session, Variables
from clearmargin.tables.partitions import ArrayBlocks, Block, Partitions

__all__ = [
    "FEW",
    "Level",
    "Master",
    "RowTable",
    "Sifting",
    "grow",
    "sift_lpsvm",
    "steepest_features",
]


Index = NDArray[np.intp]
T = TypeVar("T")

_EPS = float(np.finfo(np.float64).eps)
# The certificate divides by the largest violation of a row: it must be far below the gap asked for.
_SOLVER_TOL = 1e-9


class Master:
    """A program that grows: points (columns) and features (rows) enter, the basis stays.

    Parameters
    ----------
    data : LPSVMData
        The points, normalised, and the sums over violated ones that are not among them.
    features : ndarray of int
        Features to start with.
    start : LPSVMSolution, optional
        A solution with a basis in which the search starts.
    """

    def __init__(self, data: LPSVMData, features: Index, start: LPSVMSolution | None = None):
        self.data = data
        # In order, so that a block of all points and features is X itself.
        self._points = {"points0": np.arange(len(data))}
        self._features = {"features0": np.sort(features)}
        self._session = Session(
            self._first_program(), method="dual", tol=_SOLVER_TOL, presolve=False
        )
        if start is not None and start.basis is not None:
            self._start_from(start, start.basis)

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
        alpha = np.concatenate([answer.values[name] for name in self._points])
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
        if not len(index):
            return
        name = f"features{len(self._features)}"
        self._features[name] = index
        self._session.add_rows(self._rows(name))

    def set_penalty(self, penalty: float) -> None:
        """Go on with another penalty, from where the last solution was."""
        self.data = replace(self.data, penalty=penalty)
        self._refresh_limits()

    def _start_from(self, start: LPSVMSolution, basis: Basis) -> None:
        """Put the session where a solution is: its points on the margin are basic, the others at their bounds."""
        features = self._features["features0"]
        is_violated = start.u > 0.5 * self.data.cost
        rows = {"features0": np.flatnonzero(~np.isin(features, basis.features))}
        above = {"points0": is_violated == (self.data.y > 0), "features0": start.w[features] > 0.0}
        if self.data.fit_intercept:
            rows["balance"] = np.arange(0 if basis.with_intercept else 1)
            above["balance"] = np.zeros(1, dtype=np.bool_)
        self._session.start_from({"points0": basis.points}, rows, above)

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
        rows = X if len(points) == X.shape[0] else X[points[0] : points[-1] + 1]
        return rows.T if len(features) == X.shape[1] else rows[:, features].T

    def _limits(self, features: Index) -> tuple[FloatArray, FloatArray]:
        """Return what the points that are known by sums leave of the rows' range."""
        low, high = self.data.limits()
        if self.data.far is None:
            return low[features], high[features]
        taken = self.data.far.slope[features]
        return low[features] - taken, high[features] - taken

    def _balance(self) -> tuple[float, float]:
        missing = 0.0 if self.data.far is None else -self.data.far.balance
        return missing, missing

    def _refresh_limits(self) -> None:
        for name, features in self._features.items():
            self._session.set_limits(name, *self._limits(features))
        if self.data.fit_intercept:
            self._session.set_limits("balance", *self._balance())


# Measured on 1,000 to 1,000,000 points: below a few thousand points a window saves less than it costs, and a few times
# the points per level balances the levels' work.
_FIRST_SAMPLE = 4_000
_GROWTH = 5
# A sample is at most this part of the rows; one of more rows than can be held everywhere a smaller part.
_SHARE, _LARGE_SHARE, _ALWAYS_HELD = 2, 10, 200_000
_FIRST_FEATURES = 20
# A sample only has to say which points are near the margin.
_SAMPLE_TOL = 1e-3
# Slopes closer to their limit than this are on it: what rounding leaves after a solve to 1e-9.
_SLACK = 1e-9
# A sample with fewer rows of a class than this says nothing of it.
_LEAST_OF_CLASS = 10
# When so few rows are misjudged, the optimum with them is found without rounding before the next pass.
FEW = 100
# A plane whose weights move no margin by more than this is constant, but for what a solver leaves.
_NO_WEIGHT = 1e-6
# More columns have too many second moments.
_MOST_MOMENTS = 300
# All samples are solved.
_ALL_LEVELS = 1_000
# A window is never narrower than what the solver leaves of margins.
_NARROWEST = 1e-7
# Where all weights are zero, margins do not tell how far they will move.
_WIDTH_OF_ZERO = 0.05


@dataclass(frozen=True)
class RowTable:
    """Rows in partitions, and what is known of all of them.

    Parameters
    ----------
    parts : Partitions of Block
        The rows.
    view : View
        How to look at them.
    spans : tuple of (int, int)
        Numbers of the first and the last row of each partition.
    n_rows : int
        Number of the rows that weigh something.
    """

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
    """Rows of a table or of a sample of it: those that a master holds, and the sums over the others.

    Parameters
    ----------
    table : RowTable
        The rows.
    problem : LPSVMData
        Penalty, intercept and signs; its points play no role.
    reach : ndarray of shape (n,)
        The largest magnitude of each column of all centred rows.
    """

    def __init__(self, table: RowTable, problem: LPSVMData, reach: FloatArray):
        self.table, self._problem, self._reach = table, problem, reach
        self.sides = Sides(None, np.inf)
        self.held: Block
        self.far: ExactFar | None = None
        self.entered = np.zeros(0, dtype=np.intp)
        self.after_pass: Callable[[], None] = _do_nothing

    @property
    def holds_all(self) -> bool:
        """Whether no row is known by sums only, or not at all."""
        return len(self.held.y) == self.table.n_rows

    def open(self, sides: Sides, entered: IntArray | None = None) -> None:
        """Take the rows of a window, and the sums over the others."""
        self.sides = sides
        self.entered = np.zeros(0, dtype=np.intp) if entered is None else np.sort(entered)
        found = self.table.map(open_window, self.entered, sides)
        self.held = _stacked([one.window for one in found])
        self.far = ExactFar(np.concatenate([one.far for one in found]))
        if self.holds_all:
            self.far = None
        self.after_pass()

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
        self.far = self.far.plus(far_parts(left._replace(cost=-left.cost)))
        self.held = _stacked([self.held, rows])
        self.entered = np.union1d(self.entered, rows.rows)
        if self.holds_all:
            self.far = None
        self.after_pass()
        return was_violated

    @property
    def data(self) -> LPSVMData:
        """The rows that are held, as they are."""
        X, y, cost, _ = self.held
        return replace(self._problem, X=X, y=y, cost=cost)

    def centred(self) -> Centred:
        """Return the rows that are held, and the sums over the others, near zero."""
        return Centred.by(self.data, self.table.view.shift, self.far)

    def plane(self, w: FloatArray, b: float, error: float = 0.0) -> Plane:
        """Return a plane of the centred rows, with what scores in floating point may be off by."""
        size = float((self._reach * np.abs(w)).sum()) + abs(b)
        return Plane(w, b, (np.count_nonzero(w) + 6) * _EPS * size + error)

    def stored_plane(self, centred: Centred, w: FloatArray, b: float) -> Plane:
        """Return a plane of the rows as they are, whose numbers are rounded once, as one of the centred rows."""
        shift = centred.shift
        if shift is None:
            return self.plane(w, b)
        rounding = _EPS * (abs(b) + float((np.abs(shift) * np.abs(w)).sum()))
        return self.plane(w, centred.moved(w, b), 2.0 * rounding)


def _do_nothing() -> None:
    """Do nothing after a pass."""


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
    """A table in partitions whose 1-norm SVM is solved for one penalty or several.

    Parameters
    ----------
    parts : Partitions of Block
        The rows, their signs and costs; rows without cost are passed over.
    fit_intercept : bool, default True
        Whether the plane has an intercept.
    sign : ndarray of int of shape (n,), optional
        Signs of monotone features, see `LPSVMData`.
    centre : bool, default True
        Whether columns far from zero are looked at from their middle.
    known : Census, optional
        What is known of all rows already, which saves a pass.
    checkpoint : Path, optional
        A file for the state of `solve` after each pass, from which it goes on.

    Examples
    --------
    >>> parts = ArrayBlocks(np.array([[0.0, 5.0], [2.0, 5.0]]), np.array([-1.0, 1.0]))
    >>> solution = Sifting(parts).solve(penalty=1.0)
    >>> solution.w, solution.b, solution.gap
    (array([1., 0.]), -1.0, 0.0)
    """

    def __init__(
        self,
        parts: Partitions[Block],
        *,
        fit_intercept: bool = True,
        sign: NDArray[np.intp] | None = None,
        centre: bool = True,
        known: Census | None = None,
        checkpoint: Path | None = None,
    ):
        self._checkpoint = checkpoint
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
        shift = middles(low, high) if fit_intercept and centre else None
        self.table = RowTable(parts, View(shift=shift), spans, int(self.census.counts.sum()))
        away = np.zeros(n) if shift is None else shift
        # Rounding of the difference is covered by the few units that the band of a score has to spare.
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
        rows: FloatArray = sample.view.centred(_stacked(blocks).X)
        return rows

    def sift(
        self,
        penalty: float,
        *,
        tol: float = 1e-6,
        max_iter: int = 1_000,
        features: Index | None = None,
    ) -> tuple[LPSVMSolution, Level]:
        """Solve for a penalty in floating point, until the gap is closed.

        Parameters
        ----------
        penalty : float
            Positive cost of the 1-norm of the weights.
        tol : float, default 1e-6
            Relative gap to reach.
        max_iter : int, default 1000
            Most linear programs to solve at one level.
        features : ndarray of int, optional
            Features that are likely to matter.

        Returns
        -------
        solution : LPSVMSolution
            A plane of the centred rows; its gap may be above `tol` where floating point allows no better.
        level : Level
            The rows that its multipliers belong to.
        """
        run = _Run(self, penalty, tol, max_iter, features)
        return run.on(self.table, run.through_samples(), run.close_gap)

    def solve(self, penalty: float, *, tol: float = 1e-6, max_iter: int = 1_000) -> LPSVMSolution:
        """Solve for a penalty, exactly where that does not take too long.

        Parameters
        ----------
        penalty, tol, max_iter
            As for `sift`.

        Returns
        -------
        LPSVMSolution
            The plane of the rows as they are, with its gap evaluated without rounding.
        """
        run = _Run(self, penalty, tol, max_iter, None)
        if self._checkpoint is not None:
            key = Checkpoint.key_of(run.problem, self.census)
            run.use(Checkpoint(self._checkpoint, key))
        start = run.through_samples()
        # With an open window that was asked before.
        is_new = run.opened is None
        if is_new and self._may_be_zero(start) and self.proves_zero(run.problem):
            solution = zero_plane(run.problem, self.census, run.n_iter)
        else:
            self.forget_samples()
            solution = run.on(self.table, start, run.finish)
        run.remove_checkpoint()
        return solution

    def forget_samples(self) -> None:
        """Free the memory of the samples, all but the smallest; they are drawn again if they are needed again."""
        if self.__dict__.get("samples"):
            assert self._first_rows.shape[0]
            del self.samples

    def _may_be_zero(self, start: Start | None) -> bool:
        """Tell whether no feature may be worth its weight: so it is in the largest sample, or there is none."""
        if start is None:
            return self.table.n_rows >= 2 * _FIRST_SAMPLE
        return self.is_nothing(start.plane.w)

    def is_nothing(self, w: FloatArray) -> bool:
        """Tell whether weights move no margin, but for what a solver leaves."""
        return bool((np.abs(w) * self.reach).sum() <= _NO_WEIGHT)

    def proves_zero(self, problem: LPSVMData, pull: Pull | None = None) -> bool:
        """Search multipliers that prove w = 0, on the largest sample first.

        Parameters
        ----------
        problem : LPSVMData
            Penalty, intercept and signs.
        pull : Pull, optional
            What other multipliers than those of points add.

        Returns
        -------
        bool
            Whether there is a proof.
        """
        samples = self.samples[-1:]
        # Sums of squares are those of dense rows, and one-sided limits are left to the program.
        if len(self.reach) > _MOST_MOMENTS or problem.sign is not None or self.census.is_sparse:
            return False
        tilt = self._first_tilt(problem, pull)
        for table in [*samples, self.table]:

            def ask(tilt: Tilt, table: RowTable = table) -> TiltSums:
                return TiltSums.together(table.parts.map(tilt_sums, None, (table.view, tilt)))

            is_last = table is self.table
            most = MOST_STEPS if is_last and samples else MOST_SAMPLE_STEPS
            tilt, is_proved = prove_zero(ask, tilt, problem, self.census, self.reach, most, pull)
            if is_last or not is_proved:
                return is_last and is_proved
        return False

    def _first_tilt(self, problem: LPSVMData, pull: Pull | None) -> Tilt:
        """Return equal shares of the costs for all rows of the heavier class."""
        costs = self.census.cost
        light, heavy = float(min(costs)), float(max(costs))
        is_even = costs[0] == costs[1] or not problem.fit_intercept
        sign = 0.0 if is_even else (1.0 if costs[1] > costs[0] else -1.0)
        if pull is not None:
            # The class that rules make the heavier one.
            is_even, sign = False, pull.heavy
            light, heavy = (float(c) for c in (costs if sign > 0 else costs[::-1]))
            light = min(max(light - sign * pull.balance, 1e-3 * heavy), 0.999 * heavy)
        n = len(self.reach)
        if self.samples:
            centre, scale = self._first_rows.mean(axis=0), self._first_rows.std(axis=0)
        else:
            centre, scale = np.zeros(n), self.reach / 4.0
        scale = np.where(scale > 0.0, scale, 1.0)
        a = 0.0 if is_even else float(np.log(light / (heavy - light)))
        return Tilt(sign, a, np.zeros(n), centre, scale)

    def level(self, table: RowTable, penalty: float = 1.0) -> Level:
        """Return a level of one of the samples or of all rows."""
        return Level(table, replace(self._problem, penalty=penalty), self.reach)

    def width(self, w: FloatArray, n_rows: int) -> float:
        """Return how far margins may move when a sample grows: twice the standard error of a plane of k weights."""
        k = np.count_nonzero(w) + 1
        if k == 1:
            return _WIDTH_OF_ZERO
        spread = float(np.std(linear_scores(self._first_rows, w)))
        return max(_NARROWEST, 2.0 * spread * float(np.sqrt(k / n_rows)))

    def whole(self, penalty: float) -> Centred:
        """Bring all rows to one place, for a penalty."""
        level = self.level(self.table, penalty)
        level.open(Sides(None, np.inf))
        return level.centred()


class _Run:
    """One penalty: the way through the levels."""

    def __init__(
        self, sifting: Sifting, penalty: float, tol: float, max_iter: int, features: Index | None
    ):
        self._sifting, self._tol, self._max_iter = sifting, tol, max_iter
        self.problem = replace(sifting._problem, penalty=penalty)
        self._unit = min(penalty, sifting.census.largest)
        self._features = features
        self.n_iter = 0
        self._checkpoint: Checkpoint | None = None
        self._state: State | None = None

    @property
    def opened(self) -> State | None:
        """A state with an open window of all rows, from which to go on."""
        return None if self._state is None or self._state.width is None else self._state

    def use(self, checkpoint: Checkpoint) -> None:
        """Go on from a file, if there is one, and write the state there after each pass."""
        self._checkpoint = checkpoint
        self._state = checkpoint.load()
        if self._state is not None:
            self._features = self._state.features

    def remove_checkpoint(self) -> None:
        """Remove the file, when the search is over."""
        if self._checkpoint is not None:
            self._checkpoint.remove()

    def through_samples(self) -> Start | None:
        """Solve the samples, from the smallest to the largest."""
        start, n_levels = (
            (None, 0) if self._state is None else (self._state.start, self._state.n_levels)
        )
        if self.opened is not None:
            return start
        for k, sample in enumerate(self._sifting.samples):
            if k >= n_levels:
                start = self.on(sample, start, self._settle_sample)
                self._save(k + 1, start)
        return start

    def _save(self, n_levels: int, start: Start | None, level: Level | None = None) -> None:
        if self._checkpoint is None or self._features is None:
            return
        width = None if level is None or level.sides.plane is None else level.sides.width
        entered = np.zeros(0, dtype=np.intp) if level is None else level.entered
        self._checkpoint.save(State(n_levels, start, self._features, width, entered))

    def on(self, table: RowTable, start: Start | None, work: Callable[[Master, Level], T]) -> T:
        """Work on a level with a window around the plane of the level before, wide enough for a solution."""
        level = self._sifting.level(table, self.problem.penalty)
        sides, entered = Sides(None, np.inf), None
        if start is not None and self.opened is not None:
            sides, entered = Sides(start.plane, self.opened.width or 0.0), self.opened.entered
        elif start is not None:
            sides = Sides(start.plane, self._sifting.width(start.plane.w, start.n_rows))
        if table is self._sifting.table:
            level.after_pass = lambda: self._save(_ALL_LEVELS, start, level)
        while True:
            level.open(sides, entered)
            # A window of half the points or more saves nothing.
            if sides.plane is not None and 2 * len(level.held.y) >= table.n_rows:
                level.open(Sides(None, np.inf))
            # With all points in the window the multipliers 0 are feasible, so this ends.
            sides = Sides(sides.plane, 3.0 * sides.width)
            if not len(level.held.y):
                continue
            master = self._master(level, start)
            try:
                return work(master, level)
            except InfeasibleError:
                if level.holds_all:
                    raise
                self._features = master.features

    def close_gap(self, master: Master, level: Level) -> tuple[LPSVMSolution, Level]:
        """Solve a level in floating point."""
        solution = self._grow(master, level, self._tol)
        return replace(solution, n_iter=self.n_iter), level

    def finish(self, master: Master, level: Level) -> LPSVMSolution:
        """Find the optimum of all rows, without rounding."""
        solution = self._grow(master, level, self._tol, few=FEW)
        for _ in range(self._max_iter):
            centred = level.centred()
            exact = exact_lpsvm(centred, solution)
            if exact is None:
                break
            entered = level.judge(level.stored_plane(centred, exact.w, exact.b))
            if not len(entered):
                return replace(exact, n_iter=self.n_iter)
            master.add_points(self._near(level))
            solution = self._grow(master, level, self._tol, few=FEW, asked=len(entered) > FEW)
        return self._in_floats(master, level, solution)

    def _in_floats(self, master: Master, level: Level, near: LPSVMSolution) -> LPSVMSolution:
        """Close the gap in floating point, where exact steps take too long."""
        if not level.holds_all or len(master.data) < len(level.held.y):
            master.add_points(self._near(level))
            near = self._grow(master, level, self._tol)
        centred = level.centred()
        w, b = centred.plane(near.w, near.b)
        entered = level.judge(level.stored_plane(centred, w, b))
        u = _padded(near.u, level.held.cost, entered)
        return certified(level.centred(), replace(near, w=w, b=b, u=u, n_iter=self.n_iter))

    def _settle_sample(self, master: Master, level: Level) -> Start:
        """Solve a sample well enough for the next level, and tell it what was found."""
        solution = self._grow(master, level, _SAMPLE_TOL)
        self._features, basis = master.features, solution.basis
        plane = level.plane(solution.w, solution.b)
        if basis is None:
            return Start(plane, None, level.table.n_rows)
        active = Active(level.held.rows[basis.points], basis.features, basis.with_intercept)
        return Start(plane, active, level.table.n_rows)

    def _near(self, level: Level) -> LPSVMData:
        return level.centred().data.divided(self._unit)

    def _master(self, level: Level, start: Start | None) -> Master:
        data = self._near(level)
        if self._features is None:
            self._features = steepest_features(data)
        if start is None or start.active is None:
            return Master(data, self._features)
        places = np.flatnonzero(np.isin(level.held.rows, start.active.rows))
        if len(places) != len(start.active.rows):
            return Master(data, self._features)
        w, b = start.plane.w, start.plane.b
        margin = data.y * (linear_scores(data.X, w) + b)
        u = np.where(margin < 1.0, data.cost, 0.0)
        basis = Basis(places, start.active.features, start.active.with_intercept)
        return Master(data, self._features, LPSVMSolution(w, b, u, 1.0, 0.0, 0, basis))

    def _grow(
        self, master: Master, level: Level, tol: float, few: int = 0, *, asked: bool = True
    ) -> LPSVMSolution:
        """Solve a master, judging by passes over the level, and return the solution in the units of the data."""

        def judge(w: FloatArray, b: float) -> tuple[LPSVMData, BoolArray]:
            entered = level.judge(level.plane(w, b))
            return (self._near(level) if len(entered) else master.data), entered

        ask = judge if asked and not level.holds_all else None
        found = grow(master, tol, self._max_iter, ask, few)
        self.n_iter += found.n_iter
        unit = self._unit
        return replace(
            found, u=found.u * unit, objective=found.objective * unit, bound=found.bound * unit
        )


def _padded(u: FloatArray, cost: FloatArray, was_violated: BoolArray) -> FloatArray:
    """Return multipliers with those of rows that entered: where they were believed to be."""
    new = cost[len(cost) - len(was_violated) :]
    return np.append(u, np.where(was_violated, new, 0.0))


def sift_lpsvm(
    data: LPSVMData,
    *,
    tol: float = 1e-6,
    max_iter: int = 1_000,
    features: Index | None = None,
) -> LPSVMSolution:
    """Solve the 1-norm SVM of points in memory in floating point, through masters of growing samples.

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

    Returns
    -------
    LPSVMSolution
        Certified; its gap may be above `tol` where floating point allows no better. Its multipliers and basis are those
        of the points that the last master held.

    Examples
    --------
    >>> X, y = np.array([[0.0, 5.0], [2.0, 5.0]]), np.array([-1.0, 1.0])
    >>> solution = sift_lpsvm(LPSVMData(X, y, cost=np.ones(2)))
    >>> solution.w, solution.b, solution.gap
    (array([1., 0.]), -1.0, 0.0)
    """
    parts = ArrayBlocks(data.X, data.y, data.cost)
    sifting = Sifting(parts, fit_intercept=data.fit_intercept, sign=data.sign)
    near, level = sifting.sift(data.penalty, tol=tol, max_iter=max_iter, features=features)
    centred = level.centred()
    w, b = centred.plane(near.w, near.b)
    return replace(near, w=w, b=b)


def steepest_features(data: LPSVMData) -> Index:
    """Return the features along which the losses fall fastest from w = 0, where the search starts."""
    u = balanced(data.cost, data.y) if data.fit_intercept else data.cost
    slope = data.steepness(weighted_sums(data.X, data.y * u))
    return np.sort(np.argsort(-slope, kind="stable")[:_FIRST_FEATURES])


# Holds the rows that a plane misjudges: the data with them, and which of them were believed to be violated.
Judge: TypeAlias = Callable[[FloatArray, float], tuple[LPSVMData, BoolArray]]


def grow(
    master: Master, tol: float, max_iter: int, judge: Judge | None = None, few: int = 0
) -> LPSVMSolution:
    """Solve a master and let in what it misjudged, until the certified gap is closed.

    Parameters
    ----------
    master : Master
        Where to start; it is changed.
    tol : float
        Relative gap to reach.
    max_iter : int
        Most linear programs to solve.
    judge : callable, optional
        Looks at the points that the master does not hold; by default there are none.
    few : int, default 0
        Where no more points than these are misjudged, let them in and judge no more; 0 for never.

    Returns
    -------
    LPSVMSolution
        The best certified solution met; with `few` the last one, which need not be judged.
    """
    best: LPSVMSolution | None = None
    for n_iter in range(1, max_iter + 1):
        w, b, alpha = master.solve()
        u = master.data.y * alpha
        bound, slope = priced_bound(master.data, u)
        features = _misjudged_features(master, slope)
        data, entered = master.data, np.zeros(0, dtype=np.bool_)
        if judge is not None:
            # Features are asked first: that takes no pass over the rows.
            if len(features) and n_iter < max_iter:
                master.add_features(features)
                continue
            data, entered = judge(w, b)
        solution = _valued(data, w, b, _padded(u, data.cost, entered), bound)
        solution = replace(solution, basis=master.basis())
        if best is None or solution.gap < best.gap or few:
            best = solution
        else:
            best = replace(best, u=_padded(best.u, data.cost, entered))
        if few and 0 < len(entered) <= few:
            # Whoever asked for few judges the optimum with them.
            judge = None
        elif solution.gap <= tol and not (few and len(entered)):
            break
        if not len(entered) and not len(features):
            if best.gap > tol:
                best = polish(data, best)  # the plane is right; sharper multipliers may prove it
            break
        if len(entered):
            master.add_points(data)
        master.add_features(features)
    assert best is not None
    return replace(sweep(data, best), n_iter=n_iter)


def _valued(data: LPSVMData, w: FloatArray, b: float, u: FloatArray, bound: float) -> LPSVMSolution:
    scores = linear_scores(data.X, w)
    # The master's own intercept prices the points; the best one is what the plane can have.
    if data.fit_intercept and data.far is None:
        b = best_intercept(scores, data.y, data.cost)
    return LPSVMSolution(w, b, u, objective(data, w, b, scores=scores), bound, 0)


def _misjudged_features(master: Master, slope: FloatArray) -> Index:
    slope = slope.copy()
    slope[master.features] = 0.0
    wrong = np.flatnonzero(slope > 1.0 + _SLACK)
    # Few at a time: those that enter make most of the others superfluous.
    most = max(_FIRST_FEATURES, len(master.features) // 4)
    return wrong[np.argsort(-slope[wrong], kind="stable")[:most]]
