r"""A window of points: rows for those near the margin, one row for all the others together.

Each step of refinement minimises ``sum_j c_j h(m_j) + g(w, b, ...)`` with g convex, h(m) = max(0, 1 - m) and margins
m_j = y_j (x_j'w + b). Printed, every point has a row and a slack. Here a point has them only in the window K. Of the
others, L are guessed to be on the wrong side of their margin and the rest on the right side, as they were at some plane
before, and one number stands for the losses of them all::

    minimise    sum_K c_j xi_j + rest + g(w, b, ...)
    subject to  m_j + xi_j >= 1  for j in K,      rest >= sum_L c_j (1 - m_j),      xi >= 0,  rest >= 0

This is a relaxation: ``sum_L c_j (1 - m_j) <= sum_L c_j h(m_j) <= sum_(not K) c_j h(m_j)``, so that every point of the
printed program with rest := sum_(not K) c_j h(m_j) is a point of this one with the same value. Its optimum v is a lower
bound of the printed optimum v*. Its solution, every loss counted, is a point of the printed program with the value
v + gap, where ``gap = sum_(not K) c_j h(m_j) - rest``. Hence ``v <= v* <= v + gap``, and where the gap is zero the
solution is that of the printed program. The gap is zero when no point contradicts its guess: those of L have m_j <= 1
and the others m_j >= 1. The sets L of a few planes before have rows of their own, all true for the same reason. While
the gap is not zero, at least one point contradicts its guess. Those that do so nearest to the margin join the window,
all others are guessed anew, and the program is solved again. As the window grows each time this comes to an end, with
all points in the window if need be, whatever the first guess was. Nothing is unbounded on the way, because rest, unlike
the sum it stands for, is not negative.

Multipliers t of the rows of the rest, which add up to at most 1, give each point outside the multiplier t c_j summed
over the guesses with j in L, and zero if it is in none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from clearmargin.advice.advice_svm import AdviceProblem, FloatArray, IntArray
from clearmargin.exceptions import SolverError
from clearmargin.solvers import Linear, Program, Session, Solution, Variables
from clearmargin.solvers.program import Block

__all__ = ["PointWindow", "WindowedLP", "read_weights"]

# Where there are this many times more points than in the window, a share of them helps to guess.
_SAMPLED, _SHARE = 8, 4
# A window that has grown to this many times its size makes way for a new one.
_WIDEST = 3
# A gap that is this small a part of the objective is rounding.
_TOLERANCE = 1e-9


class PointWindow:
    """Which points have a row of their own, and the row of the others.

    Parameters
    ----------
    problem : AdviceProblem
        The points.
    w : ndarray of shape (n,)
        Weights of the plane by which sides are guessed.
    b : float
        Its intercept.
    size : int, optional
        How many points to begin with, and how many may join at a time; all points are in the window where they are
        not many more.
    guesses : int, default 4
        How many planes to remember guesses of.

    Attributes
    ----------
    size : int
        How many points it had to begin with.
    kept : ndarray of int
        The points of the window, in the order in which they joined.
    slope, level, total : ndarray of shape (guesses, n), (guesses,) and (guesses,)
        The rows of the others, ``slope'w + level b + rest >= total``.

    Examples
    --------
    >>> from clearmargin.advice.advice_svm import Boxes, Premises
    >>> X, y = np.arange(-3.0, 4.0)[:, None], np.array([-1.0, -1, -1, 1, 1, 1, 1])
    >>> none = Premises.stack([], [], [], n_features=1), Boxes.none(1)
    >>> window = PointWindow(AdviceProblem(X, y, np.ones(7), *none), np.ones(1), 0.5, size=2)
    >>> window.kept.tolist(), window.gap(np.ones(1), -2.0, rest=0.0)
    ([1, 2], 6.0)
    """

    def __init__(
        self,
        problem: AdviceProblem,
        w: FloatArray,
        b: float,
        size: int | None = None,
        guesses: int = 4,
    ):
        m, n = problem.X.shape
        self._problem = problem
        # About as many points lie on the margins of an optimal plane as it has weights; with the points a step may
        # bring there, this took the least time from 300 to 20,000 points.
        self.size = 4 * (n + 1 + int(np.sqrt(m))) if size is None else size
        self.kept: IntArray = np.arange(m)
        self._outside = np.zeros(m, dtype=np.bool_)
        self._is_low = np.tile(self._margins(w, b) < 1.0, (guesses, 1))
        if m > 2 * self.size:
            self.center(w, b)
        self._sum_up()

    @property
    def is_whole(self) -> bool:
        """Whether every point is in the window."""
        return len(self.kept) == len(self._problem.y)

    def part(self) -> AdviceProblem:
        """The problem with the points of the window alone."""
        return self.points(self.kept)

    def points(self, chosen: IntArray) -> AdviceProblem:
        """The problem with some of the points."""
        whole = self._problem
        return replace(whole, X=whole.X[chosen], y=whole.y[chosen], cost=whole.cost[chosen])

    def gap(self, w: FloatArray, b: float, rest: float) -> float:
        """What the losses of the points outside exceed the number that stands for them by."""
        short = 1.0 - self._margins(w, b)[self._outside]
        return float(self._problem.cost[self._outside] @ np.maximum(0.0, short)) - rest

    def contradicting(self, w: FloatArray, b: float, rest: float, objective: float) -> IntArray:
        """Find the points that contradict their guess at a solution, the nearest to its margin first.

        Parameters
        ----------
        w : ndarray of shape (n,)
            Weights of the solution.
        b : float
            Its intercept.
        rest : float
            What stands for the losses of the points outside.
        objective : float
            Value of the solution.

        Returns
        -------
        ndarray of int
            None where the solution is that of the printed program.
        """
        if self.is_whole or self.gap(w, b, rest) <= _TOLERANCE * (1.0 + abs(objective)):
            return np.zeros(0, dtype=np.intp)
        margin = self._margins(w, b)
        wrong = np.flatnonzero(self._outside & ((margin < 1.0) != self._is_low[0]))
        return np.asarray(wrong[np.argsort(np.abs(margin[wrong] - 1.0), kind="stable")])

    def nearest(self, w: FloatArray, b: float) -> IntArray:
        """Find the points outside among those nearest to the margin of a plane."""
        near = np.argsort(np.abs(self._margins(w, b) - 1.0), kind="stable")[: self.size]
        return np.asarray(near[self._outside[near]])

    def widen(self, joining: IntArray, w: FloatArray, b: float) -> None:
        """Take points in, and guess the sides of the others by a plane."""
        self.kept = np.concatenate([self.kept, joining])
        self._outside[joining] = False
        self._guess(w, b)

    def center(self, w: FloatArray, b: float) -> None:
        """Begin anew with the points nearest to the margin of a plane; earlier guesses stay."""
        self.kept = np.argsort(np.abs(self._margins(w, b) - 1.0), kind="stable")[: self.size]
        self._outside[:] = True
        self._outside[self.kept] = False
        self._guess(w, b)

    def _margins(self, w: FloatArray, b: float) -> FloatArray:
        return np.asarray(self._problem.y * (self._problem.X @ w + b))

    def _guess(self, w: FloatArray, b: float) -> None:
        self._is_low = np.roll(self._is_low, 1, axis=0)
        self._is_low[0] = self._margins(w, b) < 1.0
        self._sum_up()

    def _sum_up(self) -> None:
        cost = np.where(self._is_low & self._outside, self._problem.cost, 0.0)
        signed = cost * self._problem.y
        self.slope, self.level = signed @ self._problem.X, signed.sum(axis=1)
        self.total = cost.sum(axis=1)


class WindowedLP:
    """A linear program over a window of points inside HiGHS, changed and widened in place.

    Parameters
    ----------
    build : callable
        Makes the printed program out of a problem.
    problem : AdviceProblem
        All points.
    w : ndarray of shape (n,)
        Weights of the plane by which sides are guessed.
    b : float
        Its intercept.
    size : int, optional
        As in `PointWindow`.
    """

    def __init__(
        self,
        build: Callable[[AdviceProblem], Program],
        problem: AdviceProblem,
        w: FloatArray,
        b: float,
        size: int | None = None,
    ):
        self._problem, self._size = problem, size
        bare = build(replace(problem, X=problem.X[:0], y=problem.y[:0], cost=problem.cost[:0]))
        self._load(bare.blocks, w, b)
        self._sample: WindowedLP | None = None
        if len(problem.y) > _SAMPLED * self._window.size:
            self._sample = WindowedLP(build, thinned(problem), w, b, size)
        # Programs of different kinds that take turns end in quite different bases: each kind goes on from the last
        # basis of its own.
        self._bases: dict[Hashable, Any] = {}

    def _load(self, blocks: Iterable[Block], w: FloatArray, b: float) -> None:
        """Begin with a window around the margin of a plane; the blocks are those that know nothing of points."""
        self._window = window = PointWindow(self._problem, w, b, self._size)
        program = [*blocks, *_point_blocks(window.part(), "")] if window.kept.size else [*blocks]
        if not window.is_whole:
            rest = Variables("rest", 1, lower=0.0, cost=1.0)
            program += [
                rest,
                Linear(
                    "rest_loss",
                    {**self._rest(), "rest": np.ones((window.total.size, 1))},
                    window.total,
                ),
            ]
        self._session = Session(Program(program), method="dual")
        self._added = [block.name for block in program[len([*blocks]) :]]

    def _narrow(self, w: FloatArray, b: float) -> None:
        """Begin again around the margin of a plane, as the changes left everything but the points."""
        program = self._session.program
        self._session.close()
        self._load([block for block in program.blocks if block.name not in self._added], w, b)

    def update(self, **changes: Mapping[str, Any]) -> None:
        """Change bounds, limits and coefficients as `Session.update` does."""
        self._session.update(**changes)
        if self._sample is not None:
            self._sample.update(**changes)

    def solve(self, kind: Hashable = None) -> Solution:
        """Return an optimum of the printed program, the losses of points outside the window in one number.

        Parameters
        ----------
        kind : hashable
            Solves of one kind start where the last of them ended.

        Returns
        -------
        Solution
            It has the value of the printed program.
        """
        if kind in self._bases:
            self._session.use_basis(self._bases[kind])
        solution, window = self._solve_once(), self._window
        may_ask = self._sample is not None
        while not window.is_whole:
            w, b = read_weights(solution)
            rest = float(solution.values["rest"][0])
            joining = window.contradicting(w, b, rest, solution.objective)
            if not joining.size:
                break
            if may_ask and self._sample is not None and joining.size > window.size:
                # The plane went far: go where a sample of the points says that it goes in the end.
                may_ask = False
                w, b = read_weights(self._sample.solve(kind))
                joining = window.nearest(w, b)
            self._widen(joining[: window.size], w, b)
            solution = self._solve_once()
        self._bases[kind] = self._session.basis
        if len(window.kept) > _WIDEST * window.size and not window.is_whole:
            self._narrow(*read_weights(solution))
        return solution

    def close(self) -> None:
        """Free the memory of the solver."""
        self._session.close()
        if self._sample is not None:
            self._sample.close()

    def _solve_once(self) -> Solution:
        try:
            return self._session.solve(explain=False)
        except SolverError:
            # A basis that has become nearly singular; the same program from no basis at all.
            with Session(self._session.program, method="dual") as afresh:
                return afresh.solve(explain=False)

    def _widen(self, joining: IntArray, w: FloatArray, b: float) -> None:
        """Widen the window, in the solver too, and guess the sides of the points outside by a plane."""
        self._window.widen(joining, w, b)
        if joining.size:
            name = f" {len(self._added)}"
            xi, margins = _point_blocks(self._window.points(joining), name)
            self._added += [xi.name, margins.name]
            self._session.add_columns(xi, {})
            self._session.add_rows(margins)
        self._session.update(
            limits={"rest_loss": (self._window.total, np.inf)},
            coefficients={"rest_loss": self._rest()},
        )

    def _rest(self) -> dict[str, Any]:
        window = self._window
        return {"p": window.slope, "q": -window.slope, "b": window.level[:, None]}


def _point_blocks(problem: AdviceProblem, suffix: str) -> tuple[Variables, Linear]:
    """Slacks and rows of all points of a problem."""
    m, signed = len(problem.y), problem.X * problem.y[:, None]
    xi = Variables(f"xi{suffix}", m, lower=0.0, cost=problem.cost)
    terms: dict[str, Any] = {"p": signed, "q": -signed, "b": problem.y[:, None]}
    terms[xi.name] = sparse.eye_array(m, format="csc")
    return xi, Linear(f"margins{suffix}", terms, lower=1.0)


def read_weights(solution: Solution) -> tuple[FloatArray, float]:
    """Read w and b out of a solution."""
    values = solution.values
    return values["p"] - values["q"], float(values["b"][0])


def thinned(problem: AdviceProblem) -> AdviceProblem:
    """A random quarter of the points, at four times their costs."""
    m = len(problem.y)
    chosen = np.sort(np.random.default_rng(0).permutation(m)[: m // _SHARE])
    cost = problem.cost[chosen] * (m / max(1, chosen.size))
    return replace(problem, X=problem.X[chosen], y=problem.y[chosen], cost=cost)
