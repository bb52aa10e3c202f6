r"""Refinement of advice as one linear program around a point, changed in place from step to step.

Premises are refined to ``(D_i - F_i) x <= d^i - f^i`` (eq. 2 of Kunapuli, Maclin and Shavlik)::

    minimise    ||w||_1 + sum_j c_j xi_j + sum_i mu_i (e'eta^i + zeta_i + nu (||F_i||_1 + ||f^i||_1))
    subject to  y_j (x_j'w + b) + xi_j >= 1
                -eta^i <= (D_i - F_i)'u^i + z_i w <= eta^i
                -(d^i - f^i)'u^i + z_i b + zeta_i >= 1
                <F_ir, D_ir> = 0                                    for each row r
                (D_ir - F_ir) a^i <= d^i_r - f^i_r                  for each row r, where premise i has an anchor

nu is relative to mu: advice moves at all only where max(u) > nu, whatever mu is. **The last two lines are not in the
paper**; the published program is the rest, and `AdviceSVC(published=True)` solves that. The first of them keeps the
rotation of a row orthogonal to it. A row multiplied by a factor is the same condition, but its change is cheaper the
smaller the factor; without that line F drifts towards the factor instead of turning the row. An anchor a^i is a point
that premise i has to keep, so that it cannot be refined away.

The products F'u and f'u are linear when either factor is fixed, and linearised around (F^, f^, u^)::

    F'u  ~  F^'u + F'u^ - F^'u^

The linearisation is exact where F = F^ and where u = u^. So one model serves the estimation step of successive linear
programming (bounds fix F and f), its refinement step (bounds fix u), the translation of advice alone (no F at all) and
joint steps within a trust region (bounds keep all of them near). Only rows of the rule itself move, not those of the
domain around it. Only points near the margin have rows (see `refine_window`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clearmargin.advice.advice_svm import (
    AdviceProblem,
    BoolArray,
    FloatArray,
    IntArray,
    Premises,
    error_variables,
    plane_blocks,
)
from clearmargin.advice.refine_window import WindowedLP, read_weights
from clearmargin.solvers import Linear, Program, Variables

__all__ = ["Iterate", "JointProgram", "Movable", "limits_of_change"]


@dataclass(frozen=True)
class Movable:
    """Which entries of F and f may differ from zero, and what their change costs.

    Parameters
    ----------
    premises : Premises
        The premises.
    nu : float
        Cost of a change, relative to the cost of the premise's errors.
    pattern : ndarray of bool of shape (k, n)
        Which entries of F are free; a row of the domain has none.
    anchors : ndarray of shape (r, n), optional
        A point that each premise has to keep, NaN where it may lose all; by default NaN throughout.
    turn_only : bool, default True
        Whether the change of a row is orthogonal to it, so that it turns and does not change by a mere factor.
    """

    premises: Premises
    nu: float
    pattern: BoolArray
    anchors: FloatArray | None = None
    turn_only: bool = True
    row: IntArray = field(init=False)
    column: IntArray = field(init=False)
    shift: IntArray = field(init=False)
    number: IntArray = field(init=False)

    def __post_init__(self) -> None:
        free = self.pattern & self.premises.own[:, None]
        row, column = np.nonzero(free)
        object.__setattr__(self, "row", row)
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "shift", np.flatnonzero(self.premises.own))
        # For each entry of F its place among the free ones, -1 where it is not free.
        number = np.where(free, np.cumsum(free).reshape(free.shape) - 1, -1)
        object.__setattr__(self, "number", number)

    def price(self, F: FloatArray, f: FloatArray) -> float:
        """What a change costs in the objective."""
        cost = self._row_cost()
        return float(cost @ (np.abs(F).sum(axis=1) + np.abs(f)))

    def _row_cost(self) -> FloatArray:
        return np.asarray(self.nu * self.premises.cost[self.premises.rule])

    def turn_cost(self) -> FloatArray:
        """Cost of each free entry of F."""
        return self._row_cost()[self.row]

    def shift_cost(self) -> FloatArray:
        """Cost of each free entry of f."""
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
        """How far the change of the rows moved between two points, in the 1-norm."""
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
        """What linearises the program around a point and keeps it within the radii of it."""
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
    """Bounds of the positive and the negative part of something that stays near a value."""
    low, high = value - radius, value + radius
    return {
        f"{name}_up": (np.maximum(0.0, low), np.maximum(0.0, high)),
        f"{name}_down": (np.maximum(0.0, -high), np.maximum(0.0, -low)),
    }


def _pull_matrix(premises: Premises, D: FloatArray) -> sparse.csc_array[np.float64]:
    """What `Premises.spread` gives, with every entry stored, so that all steps have the same places."""
    k, n = D.shape
    rows = (premises.rule[:, None] * n + np.arange(n)).astype(np.int32).ravel()
    first = np.arange(0, k * n + 1, max(n, 1), dtype=np.int32)
    return sparse.csc_array((D.ravel(), rows, first), shape=(len(premises) * n, k))


def _prices(premises: Premises, d: FloatArray) -> sparse.csc_array[np.float64]:
    """The matrix that turns u into -d^i'u^i for each premise."""
    return _columns(-d, premises.rule, len(premises))


def _program(problem: AdviceProblem, movable: Movable) -> Program:
    """The linearisation around zero. Errors are split instead of bounded from both sides, which halves the rows."""
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
    """The matrix that turns the free entries of F into F_i'u for each premise, one below the other."""
    premises = movable.premises
    n = premises.D.shape[1]
    at = premises.rule[movable.row] * n + movable.column
    return _columns(u[movable.row], at, len(premises) * n)


def _shift_matrix(movable: Movable, u: FloatArray) -> sparse.csc_array[np.float64]:
    """The matrix that turns the free entries of f into f^i'u for each premise."""
    premises = movable.premises
    return _columns(u[movable.shift], premises.rule[movable.shift], len(premises))


def limits_of_change(movable: Movable) -> list[Linear]:
    """The rows that keep a change from being a mere factor, and from losing the anchors."""
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
    """A matrix with one entry in each column."""
    places = row.astype(np.int32), np.arange(row.size + 1, dtype=np.int32)
    return sparse.csc_array((value, *places), shape=(rows, row.size))
