"""Refinement of advice as one linear program around a point, changed in place from step to step.

Premises are refined to ``(D_i - F_i) x <= d^i - f^i`` (eq. 2 of Kunapuli, Maclin and Shavlik)::

    minimise    ||w||_1 + sum_j c_j xi_j + sum_i mu_i (e'eta^i + zeta_i + nu_i (||F_i||_1 + ||f^i||_1))
    subject to  y_j (x_j'w + b) + xi_j >= 1
                -eta^i <= (D_i - F_i)'u^i + z_i w <= eta^i
                -(d^i - f^i)'u^i + z_i b + zeta_i >= 1
                <F_ir, D_ir> = 0                                    for each row r
                (D_ir - F_ir) a^i <= d^i_r - f^i_r                  for each row r, where premise i has an anchor

nu is relative to mu: a rule moves at all only where max(u^i) > nu_i, whatever mu is. In the paper there is one nu for
all rules. **The last two lines are not in the paper**; the published program is the rest, and
`AdviceSVC(published=True)` solves that. The first of them keeps the rotation of a row orthogonal to it
(`AdviceSVC(orthogonal=False)` leaves it out). A row multiplied by a factor is the same condition, but its change is
cheaper the smaller the factor; without that line F drifts towards the factor instead of turning the row. An anchor a^i
is a point that premise i has to keep, so that it cannot be refined away (`AdviceSVC(anchors=False)` has none).

The products F'u and f'u are linear when either factor is fixed, and linearised around (F^, f^, u^)::

    F'u  ~  F^'u + F'u^ - F^'u^

The linearisation is exact where F = F^ and where u = u^. So one model serves the estimation step of successive linear
programming (bounds fix F and f), its refinement step (bounds fix u), the translation of advice alone (no F at all) and
joint steps within a trust region (bounds keep all of them near). Only rows of the rule itself move, not those of the
domain around it.

**A window of points.** Only points near the margin have rows, and there is one row for all the others together. Each
step of refinement minimises ``sum_j c_j h(m_j) + g(w, b, ...)`` with g convex, h(m) = max(0, 1 - m) and margins m_j =
y_j (x_j'w + b). Printed, every point has a row and a slack. Here a point has them only in the window K. Of the others,
L are guessed to be on the wrong side of their margin and the rest on the right side, as they were at some plane before,
and one number stands for the losses of them all::

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
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clearmargin.advice.advice_svm import AdviceProblem, Premises, error_variables, plane_blocks
from clearmargin.exceptions import SolverError
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.solvers import Linear, Program, Session, Solution, Variables
from clearmargin.solvers.program import Block

__all__ = [
    "Iterate",
    "JointProgram",
    "Movable",
    "PointWindow",
    "WindowedLP",
    "limits_of_change",
    "read_weights",
]


@dataclass(frozen=True)
class Movable:
    """Which entries of F and f may differ from zero, and what their change costs.

    Parameters
    ----------
    premises : Premises
        The premises.
    nu : float or ndarray of shape (r,)
        Cost of a change of each premise, relative to the cost of its errors.
    pattern : ndarray of bool of shape (k, n)
        Which entries of F are free; a row of the domain has none.
    anchors : ndarray of shape (r, n), optional
        A point that each premise has to keep, NaN where it may lose all; by default NaN throughout.
    turn_only : bool, default True
        Whether the change of a row is orthogonal to it, so that it turns and does not change by a mere factor.
    """

    premises: Premises
    nu: float | FloatArray
    pattern: BoolArray
    anchors: FloatArray | None = None
    turn_only: bool = True
    row: IntArray = field(init=False)
    column: IntArray = field(init=False)
    shift: IntArray = field(init=False)
    number: IntArray = field(init=False)

    def __post_init__(self) -> None:
        free = self.pattern & self.premises.numeric_rows[:, None]
        row, column = np.nonzero(free)
        object.__setattr__(self, "row", row)
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "shift", np.flatnonzero(self.premises.numeric_rows))
        # For each entry of F its place among the free ones, -1 where it is not free.
        number = np.where(free, np.cumsum(free).reshape(free.shape) - 1, -1)
        object.__setattr__(self, "number", number)

    def price(self, F: FloatArray, f: FloatArray) -> float:
        """Return what a change costs in the objective."""
        cost = self._row_cost()
        return float(cost @ (np.abs(F).sum(axis=1) + np.abs(f)))

    def _row_cost(self) -> FloatArray:
        return np.asarray((self.nu * self.premises.cost)[self.premises.rule])

    def turn_cost(self) -> FloatArray:
        """Give the cost of each free entry of F."""
        return self._row_cost()[self.row]

    def shift_cost(self) -> FloatArray:
        """Give the cost of each free entry of f."""
        return self._row_cost()[self.shift]

    def read(self, values: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Read F and f out of a solution."""
        F, f = np.zeros_like(self.premises.D), np.zeros_like(self.premises.d)
        if self.row.size:
            F[self.row, self.column] = values["F_up"] - values["F_down"]
        if self.shift.size:
            f[self.shift] = values["f_up"] - values["f_down"]
        return F, f


@dataclass(frozen=True, slots=True)
class Iterate:
    """A point of the refinement: the plane, the multipliers and the change of each row.

    Parameters
    ----------
    w : ndarray of shape (n,)
        Weights.
    b : float
        Intercept.
    u : ndarray of shape (k,)
        Multipliers.
    F : ndarray of shape (k, n)
        Change of the left-hand sides.
    f : ndarray of shape (k,)
        Change of the right-hand sides.
    objective : float
        Value of the program, the cost of the change counted.
    """

    w: FloatArray
    b: float
    u: FloatArray
    F: FloatArray
    f: FloatArray
    objective: float

    @classmethod
    def at(
        cls,
        problem: AdviceProblem,
        movable: Movable,
        w: FloatArray,
        b: float,
        u: FloatArray,
        F: FloatArray,
        f: FloatArray,
    ) -> Iterate:
        """Evaluate a point, every error as small as it can be."""
        # As `errors` of the moved premises, without making them.
        premises = problem.premises
        pull = premises.totals(u[:, None] * (premises.D - F)) + premises.sign[:, None] * w
        short = 1.0 + premises.totals(u * (premises.d - f)) - premises.sign * b
        errors = float(premises.cost @ (np.abs(pull).sum(axis=1) + np.maximum(0.0, short)))
        boxes = float(problem.boxes.cost @ problem.boxes.errors(w, b))
        value = problem.data_loss(w, b) + errors + boxes + movable.price(F, f)
        return cls(w, b, u, F, f, value)

    def distance(self, other: Iterate) -> float:
        """Return how far the change of the rows moved between two points, in the 1-norm."""
        return float(np.abs(self.F - other.F).sum() + np.abs(self.f - other.f).sum())


class JointProgram:
    """The linearised refinement inside HiGHS; a step changes coefficients and bounds and goes on from the last basis.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises; all costs finite.
    movable : Movable
        What may change.
    """

    def __init__(self, problem: AdviceProblem, movable: Movable):
        self._problem = problem
        self._movable = movable
        self._model: WindowedLP | None = None
        premises = problem.premises
        self._F, self._f = np.zeros_like(premises.D), np.zeros_like(premises.d)
        self._u = np.zeros_like(premises.d)

    def step(
        self, at: Iterate, *, u_radius: float = np.inf, row_radius: float = np.inf
    ) -> tuple[Iterate, float]:
        """Minimise the linearisation around a point.

        Parameters
        ----------
        at : Iterate
            The point.
        u_radius, row_radius : float
            How far each multiplier, and each entry of F and f, may move; zero fixes them, which makes the
            linearisation exact.

        Returns
        -------
        iterate : Iterate
            The optimum of the linear program, valued by the true objective.
        predicted : float
            Its value in the linear program.
        """
        if self._model is None:
            self._model = WindowedLP(
                lambda part: _program(part, self._movable), self._problem, at.w, at.b
            )
        self._model.update(**self._changes(at, u_radius, row_radius))
        solution = self._model.solve(kind=(u_radius == 0, row_radius == 0))
        F, f = self._movable.read(solution.values)
        u = np.maximum(0.0, solution.values["u"])
        w, b = read_weights(solution)
        found = Iterate.at(self._problem, self._movable, w, b, u, F, f)
        return found, solution.objective

    def close(self) -> None:
        """Free the memory of the solver."""
        if self._model is not None:
            self._model.close()

    def _changes(self, at: Iterate, u_radius: float, row_radius: float) -> dict[str, Any]:
        """Return what linearises the program around a point and keeps it within the radii of it."""
        premises, move = self._problem.premises, self._movable
        pull: dict[str, Any] = {}
        price: dict[str, Any] = {}
        # Where rows are fixed the linearisation is exact whatever u^ is, and where multipliers are, whatever F^ and f^
        # are: then those stay, and half of the coefficients with them.
        if u_radius > 0 or row_radius == 0:
            self._F, self._f = at.F, at.f
            pull["u"] = _pull_matrix(premises, premises.D - at.F)
            price["u"] = _prices(premises, premises.d - at.f)
        if row_radius > 0:
            self._u = at.u
            if move.row.size:
                turn = _turn_matrix(move, at.u)
                pull |= {"F_up": -turn, "F_down": turn}
            if move.shift.size:
                shift = _shift_matrix(move, at.u)
                price |= {"f_up": shift, "f_down": -shift}
        # F^'u^ of each premise is what the linearisation counts twice.
        twice = -premises.totals(self._u[:, None] * self._F).ravel()
        beyond = 1.0 + premises.totals(self._f * self._u)
        bounds: dict[str, Any] = {"u": (np.maximum(0.0, at.u - u_radius), at.u + u_radius)}
        if move.row.size:
            bounds |= _split_bounds("F", at.F[move.row, move.column], row_radius)
        if move.shift.size:
            bounds |= _split_bounds("f", at.f[move.shift], row_radius)
        return {
            "bounds": bounds,
            "limits": {"residual": (twice, twice), "advice": (beyond, np.inf)},
            "coefficients": {"residual": pull, "advice": price},
        }


def _split_bounds(name: str, value: FloatArray, radius: float) -> dict[str, Any]:
    """Give bounds of the positive and the negative part of something that stays near a value."""
    low, high = value - radius, value + radius
    return {
        f"{name}_up": (np.maximum(0.0, low), np.maximum(0.0, high)),
        f"{name}_down": (np.maximum(0.0, -high), np.maximum(0.0, -low)),
    }


def _pull_matrix(premises: Premises, D: FloatArray) -> sparse.csc_array[np.float64]:
    """Return what `Premises.spread` gives, with every entry stored, so that all steps have the same places."""
    k, n = D.shape
    rows = (premises.rule[:, None] * n + np.arange(n)).astype(np.int32).ravel()
    first = np.arange(0, k * n + 1, max(n, 1), dtype=np.int32)
    return sparse.csc_array((D.ravel(), rows, first), shape=(len(premises) * n, k))


def _prices(premises: Premises, d: FloatArray) -> sparse.csc_array[np.float64]:
    """Return the matrix that turns u into -d^i'u^i for each premise."""
    return _columns(-d, premises.rule, len(premises))


def _program(problem: AdviceProblem, movable: Movable) -> Program:
    """Build the linearisation around zero; errors are split, not bounded from both sides, which halves the rows."""
    premises, n = problem.premises, problem.n_features
    r, no_u = len(premises), np.zeros(len(premises.d))
    weights = sparse.kron(premises.sign[:, None], sparse.eye_array(n), format="csc")
    eye = sparse.eye_array(r * n, format="csc")
    errors = np.repeat(premises.cost, n)
    residual: dict[str, Any] = {
        "p": weights,
        "q": -weights,
        "u": _pull_matrix(premises, premises.D),
        "eta_up": eye,
        "eta_down": -eye,
    }
    advice: dict[str, Any] = {
        "u": _prices(premises, premises.d),
        "b": premises.sign[:, None],
        "zeta": sparse.eye_array(r, format="csc"),
    }
    blocks = [
        *plane_blocks(problem),
        Variables("u", len(premises.d), lower=0.0),
        error_variables("eta_up", errors),
        error_variables("eta_down", errors),
        error_variables("zeta", premises.cost),
    ]
    if movable.row.size:
        cost, turn = movable.turn_cost(), _turn_matrix(movable, no_u)
        blocks += [Variables(name, cost.size, 0.0, cost=cost) for name in ("F_up", "F_down")]
        residual |= {"F_up": -turn, "F_down": turn}
    if movable.shift.size:
        cost, shift = movable.shift_cost(), _shift_matrix(movable, no_u)
        blocks += [Variables(name, cost.size, 0.0, cost=cost) for name in ("f_up", "f_down")]
        advice |= {"f_up": shift, "f_down": -shift}
    rows = [Linear("residual", residual, 0.0, 0.0), Linear("advice", advice, lower=1.0)]
    return Program([*blocks, *rows, *limits_of_change(movable)])


def _turn_matrix(movable: Movable, u: FloatArray) -> sparse.csc_array[np.float64]:
    """Return the matrix that turns the free entries of F into F_i'u for each premise, one below the other."""
    premises = movable.premises
    n = premises.D.shape[1]
    at = premises.rule[movable.row] * n + movable.column
    return _columns(u[movable.row], at, len(premises) * n)


def _shift_matrix(movable: Movable, u: FloatArray) -> sparse.csc_array[np.float64]:
    """Return the matrix that turns the free entries of f into f^i'u for each premise."""
    premises = movable.premises
    return _columns(u[movable.shift], premises.rule[movable.shift], len(premises))


def limits_of_change(movable: Movable) -> list[Linear]:
    """Return the rows that keep a change from being a mere factor, and from losing the anchors."""
    limits = []
    if movable.row.size and movable.turn_only:
        rows, number = np.unique(movable.row, return_inverse=True)
        weight = movable.premises.D[movable.row, movable.column]
        inner = _columns(weight, number, rows.size)
        limits.append(Linear("turn_only", {"F_up": inner, "F_down": -inner}, 0.0, 0.0))
    if movable.anchors is not None and movable.shift.size:
        premises, shift = movable.premises, movable.shift
        anchor = movable.anchors[premises.rule[shift]]
        kept: BoolArray = np.all(np.isfinite(anchor), axis=1)
        room = premises.d[shift] - (premises.D[shift] * anchor).sum(axis=1)
        if not kept.any():
            return limits
        eye = sparse.eye_array(shift.size, format="csr")[kept]
        terms: dict[str, Any] = {"f_up": eye, "f_down": -eye}
        if movable.row.size:
            at = np.searchsorted(shift, movable.row)
            by = _columns(np.nan_to_num(anchor[at, movable.column]), at, shift.size).tocsr()[kept]
            terms |= {"F_up": -by, "F_down": by}
        # A point that was taken for inside within the tolerance counts as inside.
        limits.append(Linear("anchors", terms, upper=np.maximum(0.0, room[kept])))
    return limits


def _columns(value: FloatArray, row: NDArray[np.intp], rows: int) -> sparse.csc_array[np.float64]:
    """Return a matrix with one entry in each column."""
    places = row.astype(np.int32), np.arange(row.size + 1, dtype=np.int32)
    return sparse.csc_array((value, *places), shape=(rows, row.size))


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
    >>> from clearmargin.advice.advice_svm import BoxPremises, Premises
    >>> X, y = np.arange(-3.0, 4.0)[:, None], np.array([-1.0, -1, -1, 1, 1, 1, 1])
    >>> none = Premises.stack([], [], [], n_features=1), BoxPremises.none(1)
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
        """Return the problem with the points of the window alone."""
        return self.points(self.kept)

    def points(self, chosen: IntArray) -> AdviceProblem:
        """Return the problem with some of the points."""
        whole = self._problem
        return replace(whole, X=whole.X[chosen], y=whole.y[chosen], cost=whole.cost[chosen])

    def gap(self, w: FloatArray, b: float, rest: float) -> float:
        """Return what the losses of the points outside exceed the number that stands for them by."""
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
    """Build slacks and rows of all points of a problem."""
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
    """Return a random quarter of the points, at four times their costs."""
    m = len(problem.y)
    chosen = np.sort(np.random.default_rng(0).permutation(m)[: m // _SHARE])
    cost = problem.cost[chosen] * (m / max(1, chosen.size))
    return replace(problem, X=problem.X[chosen], y=problem.y[chosen], cost=cost)
