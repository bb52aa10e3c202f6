"""The knowledge-based support vector machine: a 1-norm SVM that expert rules are constraints of.

Variables: weights w (n), intercept b, hinge losses xi (m); for each premise i with k_i rows: multipliers u^i (k_i),
errors eta^i (n) and zeta_i. Data: points X, signs y, costs c of the points' losses; for each premise rows
D_i x <= d^i, sign z_i and cost mu_i::

    minimise    ||w||_1 + sum_j c_j xi_j + sum_i mu_i (e'eta^i + zeta_i)
    subject to  y_j (x_j'w + b) + xi_j >= 1
                -eta^i <= D_i'u^i + z_i w <= eta^i
                -d^i'u^i + z_i b + zeta_i >= 1
                xi, u, eta, zeta >= 0

This is eq. (1) of Kunapuli, Maclin and Shavlik, after Fung, Mangasarian and Shavlik (2003), with b for their -b. By
duality of ``min z_i w'x`` over a premise that is not empty, eta^i = 0 and zeta_i = 0 say that
``z_i (w'x + b) >= 1`` holds all over the premise. With errors, ``z_i (w'x + b) >= 1 - zeta_i - eta^i'|x|`` holds there.
An infinite cost makes a premise hard: its errors are fixed at zero.

A premise that is a box with centre c and half-widths h inside ``|x_j| <= 1`` needs neither u nor eta: moving all of
eta^i into zeta_i costs nothing there, and the minimum over a box is closed-form, so that one row says the same::

    z_i (w'c + b) - |w|'h + zeta_i >= 1

with |w| written as p + q, where w = p - q.

**Dual.** The dual is the form in which the program is solved. With a signed multiplier alpha_j = y_j a_j for each
point, and for each premise i a vector v^i (n) and a number beta_i::

    maximise    y'alpha + sum_i beta_i
    subject to  -1 <= X'alpha + sum_i z_i v^i <= 1
                sum_j alpha_j + sum_i z_i beta_i = 0
                D_i v^i <= beta_i d^i
                0 <= y_j alpha_j <= c_j,    -mu_i <= v^i <= mu_i,    0 <= beta_i <= mu_i

Where beta_i > 0, ``v^i / beta_i`` is a point of the premise: advice acts like
points of its class that the program itself places where they matter most. A premise in compact form has one
number gamma_i <= mu_i instead, and its two corners farthest from the class, ``z_i c + h`` below and ``z_i c - h``
above, split the first line in two.

There is one row for each feature and each row of a premise, and none for a point, whose bounds simplex methods handle
without rows: at 20,000 points, 10 features and 6 premises it takes about a twentieth of the printed program's time.

**One plane.** The answer is the exact optimum of the dual, rounded once. As in `lpsvm_exact` the limits of the rows are
widened by infinitesimals, those of the last feature most, then those of the others, of the balance, and of the rows of
the premises in their order. Of several optimal solutions that leaves the one with the lexicographically smallest
(|w_n|, ..., |w_1|, |b|), and after these with the smallest multipliers of the premises; b is that of the scaled points.
It does not depend on the order of the points.

**Many points.** Advice is a few columns and rows more in the dual, and knows nothing of the points. So many points are
sifted as in `lpsvm_sifting`: the program has the points near the margin, and sums over those that are violated. A plane
without weights has a whole class on its margin, and is proved by sums instead (`lpsvm_zero`).

**Many costs.** In the dual the costs of points and of advice are nothing but bounds of the unknowns. A change of
costs keeps the last basis dual feasible, so that the dual simplex method goes on from it (`AdvicePath`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from clearmargin.advice.all_rows import exact_loss
from clearmargin.exceptions import InfeasibleError, UnboundedError
from clearmargin.lp_svm.lpsvm import Far, LPSVMData, signed_bounds
from clearmargin.lp_svm.lpsvm_blocks import ExactFar, Sides
from clearmargin.lp_svm.lpsvm_sifting import FEW, Level, Sifting
from clearmargin.lp_svm.lpsvm_solve import solve_lpsvm, solve_partitions
from clearmargin.lp_svm.lpsvm_zero import Pull
from clearmargin.rules.arithmetic import linear_scores
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.solvers import Linear, Program, Session, Solution, Variables
from clearmargin.solvers.compiled import column_slices, compile_program, row_slices
from clearmargin.solvers.exact import ExactProgram, ExactVertex, exact_optimum
from clearmargin.solvers.rational import SingularError, UndecidedError, exact_sum
from clearmargin.tables.partitions import ArrayBlocks, Block, Partitions

__all__ = [
    "AdvicePath",
    "AdvicePlane",
    "AdviceProblem",
    "BoxPremises",
    "ExactPlane",
    "Premises",
    "advice_dual",
    "advice_program",
    "data_plane",
    "exact_advice",
    "read_dual",
    "read_plane",
    "scaled_costs",
    "solve_advice",
]

# From so many points on a window saves more than it costs; they are looked at so many at a time.
_MANY, _BLOCK_ROWS = 8_000, 1 << 14


@dataclass(frozen=True)
class Premises:
    """The rows of all premises, one below the other.

    Parameters
    ----------
    D : ndarray of shape (k, n)
        Left-hand sides.
    d : ndarray of shape (k,)
        Right-hand sides.
    rule : ndarray of int of shape (k,)
        The premise to which each row belongs.
    sign : ndarray of shape (r,)
        For each premise, 1.0 for the positive class and -1.0 for the other.
    cost : ndarray of shape (r,)
        For each premise, the cost of its errors; infinite for advice that must hold.
    numeric_rows : ndarray of bool of shape (k,)
        Whether a row is a condition of the rule itself, which may be refined, or only the domain around it.

    Examples
    --------
    >>> S1 = Premises.stack([(-np.eye(2), np.zeros(2))], sign=[1.0], cost=[1.0])    # x >= 0 => +1
    >>> len(S1), S1.rule.tolist()
    (1, [0, 0])
    """

    D: FloatArray
    d: FloatArray
    rule: IntArray
    sign: FloatArray
    cost: FloatArray
    numeric_rows: BoolArray

    @classmethod
    def stack(
        cls,
        rows: Sequence[tuple[FloatArray, FloatArray]],
        sign: Sequence[float] | FloatArray,
        cost: Sequence[float] | FloatArray,
        numeric_rows: Sequence[BoolArray] | None = None,
        n_features: int = 0,
    ) -> Premises:
        """Put premises one below the other, each given by its matrix and right-hand side.

        Parameters
        ----------
        rows : sequence of (matrix, vector)
            D_i and d^i of each premise.
        sign, cost : sequence of float
            z_i and mu_i of each premise.
        numeric_rows : sequence of bool arrays, optional
            Which rows may be refined; by default all.
        n_features : int, default 0
            Number of columns, needed only where there are no premises.

        Returns
        -------
        Premises
            The stack.
        """
        counts = [len(d) for _, d in rows]
        n = rows[0][0].shape[1] if rows else n_features
        return cls(
            D=np.concatenate([np.zeros((0, n)), *(D for D, _ in rows)]),
            d=np.concatenate([np.zeros(0), *(d for _, d in rows)]),
            rule=np.repeat(np.arange(len(rows)), counts),
            sign=np.asarray(sign, dtype=np.float64),
            cost=np.asarray(cost, dtype=np.float64),
            numeric_rows=np.ones(sum(counts), dtype=np.bool_)
            if numeric_rows is None
            else np.concatenate([np.zeros(0, dtype=np.bool_), *numeric_rows]),
        )

    def __len__(self) -> int:
        return len(self.sign)

    def only(self, chosen: BoolArray) -> Premises:
        """Keep some of the premises."""
        rows = chosen[self.rule]
        number = np.cumsum(chosen) - 1
        return Premises(
            self.D[rows],
            self.d[rows],
            number[self.rule[rows]],
            self.sign[chosen],
            self.cost[chosen],
            self.numeric_rows[rows],
        )

    def moved(self, F: FloatArray, f: FloatArray) -> Premises:
        """Return the premises with D - F and d - f instead of D and d."""
        return replace(self, D=self.D - F, d=self.d - f)

    def totals(self, rows: FloatArray) -> FloatArray:
        """Add up what the rows of each premise have, a number or a vector for each row."""
        return np.asarray(self.members @ rows)

    @cached_property
    def members(self) -> sparse.csr_array[np.float64]:
        """The r x k matrix that adds up what belongs to each premise."""
        k = len(self.d)
        return sparse.csr_array((np.ones(k), (self.rule, np.arange(k))), shape=(len(self), k))

    def spread(self, D: FloatArray) -> sparse.csc_array[np.float64]:
        """Return the (r n) x k matrix that turns u into D_i'u^i for each premise i, one below the other."""
        k, n = D.shape
        at = self.rule[:, None] * n + np.arange(n)
        columns = np.broadcast_to(np.arange(k)[:, None], (k, n))
        entries = (D.ravel(), (at.ravel(), columns.ravel()))
        return sparse.csc_array(entries, shape=(len(self) * n, k))

    def errors(self, w: FloatArray, b: float, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least eta (r x n) and zeta (r) with which w, b and u satisfy the constraints."""
        pull = self.totals(u[:, None] * self.D) + self.sign[:, None] * w
        zeta = np.maximum(0.0, 1.0 + self.totals(self.d * u) - self.sign * b)
        return np.abs(pull), zeta


@dataclass(frozen=True, slots=True)
class BoxPremises:
    """Premises that are boxes inside ``|x_j| <= 1``.

    Parameters
    ----------
    center, half : ndarray of shape (r, n)
        Centres and half-widths.
    sign, cost : ndarray of shape (r,)
        As in `Premises`.
    """

    center: FloatArray
    half: FloatArray
    sign: FloatArray
    cost: FloatArray

    @classmethod
    def none(cls, n_features: int) -> BoxPremises:
        """Make an empty value, without any box."""
        empty = np.zeros((0, n_features))
        return cls(empty, empty, np.zeros(0), np.zeros(0))

    def __len__(self) -> int:
        return len(self.sign)

    def errors(self, w: FloatArray, b: float) -> FloatArray:
        """Return the least zeta of each box."""
        inner = linear_scores(self.center, w) + b
        worst = self.sign * inner - linear_scores(self.half, np.abs(w))
        return np.asarray(np.maximum(0.0, 1.0 - worst))


@dataclass(frozen=True, slots=True)
class AdviceProblem:
    """What the program is about.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        The points; there may be none.
    y : ndarray of shape (m,)
        Their signs, -1.0 or 1.0.
    cost : ndarray of shape (m,)
        Positive costs of their losses.
    premises : Premises
        Premises in general form.
    boxes : BoxPremises
        Premises in compact form.
    rows : Partitions of Block, optional
        All points, where `X` is only a sample of them.
    """

    X: FloatArray
    y: FloatArray
    cost: FloatArray
    premises: Premises
    boxes: BoxPremises
    rows: Partitions[Block] | None = None

    @property
    def n_features(self) -> int:
        """Number of weights."""
        return int(self.X.shape[1])

    def data_loss(self, w: FloatArray, b: float) -> float:
        """Sum the hinge losses of the points and the penalty of the weights."""
        if self.rows is not None:
            return exact_loss(self.rows, w, b) + float(np.abs(w).sum())
        hinge = np.maximum(0.0, 1.0 - self.y * (linear_scores(self.X, w) + b))
        # A sum that does not depend on the order of the points.
        return math.fsum(self.cost * hinge) + float(np.abs(w).sum())

    def objective(self, w: FloatArray, b: float, u: FloatArray) -> float:
        """Evaluate the program at a plane and multipliers, every error as small as they allow."""
        total = self.data_loss(w, b)
        eta, zeta = self.premises.errors(w, b, u)
        for cost, error in (
            (self.premises.cost, eta.sum(axis=1) + zeta),
            (self.boxes.cost, self.boxes.errors(w, b)),
        ):
            # Hard advice has no price; what is left of its error is the solver's tolerance.
            soft = np.isfinite(cost)
            total += float(cost[soft] @ error[soft])
        return total


class ExactPlane(NamedTuple):
    """Weights and intercept as rationals."""

    w: tuple[Fraction, ...]
    b: Fraction


@dataclass(frozen=True, slots=True)
class AdvicePlane:
    """A solution: a plane, the multipliers of the premises, and its value.

    Parameters
    ----------
    w : ndarray of shape (n,)
        Weights.
    b : float
        Intercept.
    u : ndarray of shape (k,)
        Multipliers of the rows of the general premises.
    objective : float
        Value of the program.
    exact : ExactPlane, optional
        The plane before it was rounded, where it is known.
    """

    w: FloatArray
    b: float
    u: FloatArray
    objective: float
    exact: ExactPlane | None = None


def plane_blocks(problem: AdviceProblem) -> list[Variables | Linear]:
    """Build the blocks of weights, intercept, points and boxes: what every program with advice has in common."""
    m, n = problem.X.shape
    signed = problem.X * problem.y[:, None]
    blocks: list[Variables | Linear] = [
        Variables("p", n, lower=0.0, cost=1.0),
        Variables("q", n, lower=0.0, cost=1.0),
        Variables("b", 1),
    ]
    if m:
        terms: dict[str, Any] = {"p": signed, "q": -signed, "b": problem.y[:, None]}
        blocks.append(Variables("xi", m, lower=0.0, cost=problem.cost))
        terms["xi"] = sparse.eye_array(m, format="csc")
        blocks.append(Linear("margins", terms, lower=1.0))
    if len(problem.boxes):
        boxes = problem.boxes
        z = boxes.sign[:, None]
        terms = {"p": z * boxes.center - boxes.half, "q": -z * boxes.center - boxes.half, "b": z}
        blocks.append(error_variables("box_zeta", boxes.cost))
        terms["box_zeta"] = sparse.eye_array(len(boxes), format="csc")
        blocks.append(Linear("boxes", terms, lower=1.0))
    return blocks


def error_variables(name: str, cost: FloatArray) -> Variables:
    """Make the errors at their costs; hard advice has none."""
    hard = np.isinf(cost)
    return Variables(
        name, len(cost), 0.0, np.where(hard, 0.0, np.inf), cost=np.where(hard, 0.0, cost)
    )


def premise_blocks(premises: Premises, D: FloatArray, d: FloatArray) -> list[Variables | Linear]:
    """Multipliers, errors and rows of general premises, with D and d in place of their own."""
    r, n, k = len(premises), D.shape[1], len(d)
    weights = sparse.kron(premises.sign[:, None], sparse.eye_array(n), format="csc")
    pull = premises.spread(D)
    eye = sparse.eye_array(r * n, format="csc")
    around: dict[str, Any] = {"p": weights, "q": -weights, "u": pull}
    price = -premises.members.multiply(d[None, :])
    return [
        Variables("u", k, lower=0.0),
        error_variables("eta", np.repeat(premises.cost, n)),
        error_variables("zeta", premises.cost),
        Linear("above", {**around, "eta": eye}, lower=0.0),
        Linear("below", {**around, "eta": -eye}, upper=0.0),
        Linear(
            "advice",
            {
                "u": sparse.csc_array(price),
                "b": premises.sign[:, None],
                "zeta": sparse.eye_array(r, format="csc"),
            },
            lower=1.0,
        ),
    ]


def advice_program(problem: AdviceProblem) -> Program:
    """Build the program at the head of this file.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises.

    Returns
    -------
    Program
        A linear program; `read_plane` reads its solution.

    Examples
    --------
    Advice alone, ``x >= 3 => +1`` and ``x <= 1 => -1``:

    >>> from clearmargin.solvers import solve
    >>> rows = [(np.array([[-1.0]]), np.array([-3.0])), (np.array([[1.0]]), np.array([1.0]))]
    >>> premises = Premises.stack(rows, sign=[1.0, -1.0], cost=[10.0, 10.0])
    >>> problem = AdviceProblem(np.zeros((0, 1)), np.zeros(0), np.zeros(0), premises, BoxPremises.none(1))
    >>> plane = read_plane(problem, solve(advice_program(problem)))
    >>> plane.w.round(9).tolist(), round(plane.b, 9)
    ([1.0], -2.0)
    """
    blocks = plane_blocks(problem)
    if len(problem.premises):
        blocks += premise_blocks(problem.premises, problem.premises.D, problem.premises.d)
    return Program(blocks)


def read_plane(problem: AdviceProblem, solution: Solution) -> AdvicePlane:
    """Read the plane and the multipliers out of a solution."""
    values = solution.values
    u = np.maximum(0.0, values["u"]) if "u" in values else np.zeros(0)
    w, b = values["p"] - values["q"], float(values["b"][0])
    return AdvicePlane(w, b, u, problem.objective(w, b, u))


def advice_dual(problem: AdviceProblem, far: Far | None = None) -> Program:
    """Build the dual at the head of this file, as a minimisation.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises.
    far : Far, optional
        Further points, which are violated.

    Returns
    -------
    Program
        A linear program; `read_dual` reads its solution.
    """
    m, n = problem.X.shape
    premises, boxes = problem.premises, problem.boxes
    taken, missing = (np.zeros(n), 0.0) if far is None else (far.slope, -far.balance)
    blocks: list[Variables | Linear] = []
    weights: dict[str, Any] = {}
    balance: dict[str, Any] = {}
    if m:
        blocks.append(
            Variables("alpha", m, *signed_bounds(problem.y, problem.cost), cost=-problem.y)
        )
        weights["alpha"], balance["alpha"] = problem.X.T, 1.0
    if len(premises):
        most = np.repeat(premises.cost, n)
        blocks += [
            Variables("v", most.size, -most, most),
            Variables("beta", len(premises), 0.0, premises.cost, cost=-1.0),
            Linear(
                "premises",
                {
                    "v": sparse.csc_array(premises.spread(premises.D).T),
                    "beta": sparse.csc_array(-premises.members.multiply(premises.d[None, :]).T),
                },
                upper=0.0,
            ),
        ]
        weights["v"] = sparse.kron(premises.sign[None, :], sparse.eye_array(n), format="csc")
        balance["beta"] = premises.sign[None, :]
    if len(boxes):
        corner = (boxes.sign[:, None] * boxes.center).T
        blocks += [
            Variables("gamma", len(boxes), 0.0, boxes.cost, cost=-1.0),
            Linear("above", {**weights, "gamma": corner - boxes.half.T}, upper=1.0 - taken),
            Linear("below", {**weights, "gamma": corner + boxes.half.T}, lower=-1.0 - taken),
        ]
        balance["gamma"] = boxes.sign[None, :]
    else:
        blocks.append(Linear("weights", weights, -1.0 - taken, 1.0 - taken))
    return Program([*blocks, Linear("balance", balance, missing, missing)])


def read_dual(problem: AdviceProblem, solution: Solution) -> AdvicePlane:
    """Read the plane and the multipliers of the premises out of a solution of the dual.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises.
    solution : Solution
        The solution of `advice_dual`.

    Returns
    -------
    AdvicePlane
        The plane, valued by the printed objective.
    """
    duals = solution.duals
    w = -(duals["above"] + duals["below"] if len(problem.boxes) else duals["weights"])
    b = -float(duals["balance"][0])
    u = np.maximum(0.0, -duals["premises"]) if len(problem.premises) else np.zeros(0)
    return AdvicePlane(w, b, u, problem.objective(w, b, u))


def solve_advice(problem: AdviceProblem) -> AdvicePlane:
    """Solve the knowledge-based SVM.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises; at least one of either.

    Returns
    -------
    AdvicePlane
        The exact optimum, rounded once, the same to the bit for any order of the points; where that would take too
        long, the solution of the solver.

    Raises
    ------
    InfeasibleError
        If hard advice contradicts itself.

    Examples
    --------
    >>> from clearmargin.advice.advice_svm import BoxPremises, Premises
    >>> rows = [(np.array([[-1.0]]), np.array([-3.0])), (np.array([[1.0]]), np.array([1.0]))]
    >>> premises = Premises.stack(rows, sign=[1.0, -1.0], cost=[10.0, 10.0])
    >>> problem = AdviceProblem(np.zeros((0, 1)), np.zeros(0), np.zeros(0), premises, BoxPremises.none(1))
    >>> plane = solve_advice(problem)
    >>> plane.w.round(9).tolist(), round(plane.b, 9), round(plane.objective, 9)
    ([1.0], -2.0, 1.0)
    """
    if problem.rows is not None or len(problem.y) >= _MANY:
        plane = _sift_advice(problem)
        return replace(plane, objective=problem.objective(plane.w, plane.b, plane.u))
    return _solve_held(problem, is_exact=True)


def _solve_held(
    problem: AdviceProblem,
    far: ExactFar | None = None,
    *,
    is_exact: bool,
    search: _Search | None = None,
) -> AdvicePlane:
    """Solve the dual of the points that are held, with the sums over others."""
    sums = None if far is None else far.rounded()
    with Session(advice_dual(problem, sums), method="dual", tol=1e-9) as session:
        if search is not None:
            search.begin(problem, session)
        try:
            solution = session.solve(explain=False)
        except UnboundedError:
            # Zero is always feasible, so that the dual of a contradiction is unbounded.
            raise _ContradictionError("the advice that must hold contradicts itself") from None
        exact = exact_advice(problem, session, solution, far) if is_exact else None
        found = exact or read_dual(problem, solution)
        if search is not None:
            search.note(problem, session, solution, found)
        return found


class _ContradictionError(InfeasibleError):
    """Advice that contradicts itself, whatever points are held."""


class _TooNarrowError(InfeasibleError):
    """A window in which the plane ran away from the points."""


class _Vertex(NamedTuple):
    """Where the dual was solved: basic points by their numbers, other basic unknowns and rows, and what is above."""

    points: IntArray
    columns: dict[str, IntArray]
    rows: dict[str, IntArray]
    at_upper: dict[str, BoolArray]
    w: FloatArray
    b: float


class _Search:
    """The way through samples and windows, each program from the vertex of the one before."""

    def __init__(self, problem: AdviceProblem, sifting: Sifting):
        self._problem, self._sifting = problem, sifting
        self._numbers = np.zeros(0, dtype=np.intp)
        self._vertex: _Vertex | None = None

    def solve(self) -> AdvicePlane:
        """Solve for all points."""
        found = self._through_samples()
        if isinstance(found, AdvicePlane):
            return found
        self._sifting.forget_samples()
        return self._on_level(self._sifting.level(self._sifting.table), found, is_last=True)

    def _through_samples(self) -> Sides | AdvicePlane:
        """Find the window for all points; or their plane, where none of its weights is worth anything."""
        sifting = self._sifting
        sides, is_asked = Sides(None, np.inf), False
        for sample in sifting.samples:
            level = sifting.level(sample)
            plane = self._on_level(level, sides, is_last=False)
            if not is_asked and sifting.is_nothing(plane.w):
                is_asked = True
                constant = _constant_plane(self._problem, sifting)
                if constant is not None:
                    return constant
            width = sifting.width(plane.w, sample.n_rows)
            sides = Sides(level.plane(plane.w, plane.b), width)
        return sides

    def _on_level(self, level: Level, sides: Sides, *, is_last: bool) -> AdvicePlane:
        """Solve a level, with a window that is wide enough for a solution."""
        vertex = self._vertex
        while True:
            level.open(sides)
            # A window of half the points or more saves nothing.
            if sides.plane is not None and 2 * len(level.held.y) >= level.table.n_rows:
                level.open(Sides(None, np.inf))
            try:
                return self._settle(level, is_last=is_last)
            except _ContradictionError:
                raise
            except InfeasibleError:
                sides, self._vertex = Sides(sides.plane, 3.0 * sides.width), vertex

    def _settle(self, level: Level, *, is_last: bool) -> AdvicePlane:
        """Let in what is misjudged; the last level ends with the exact optimum, of which nothing is."""
        is_near = level.holds_all
        while True:
            X, y, cost, self._numbers = level.held
            held = replace(self._problem, X=X, y=y, cost=cost, rows=None)
            plane = _solve_held(held, level.far, is_exact=is_last and is_near, search=self)
            n_wrong = len(level.judge(level.plane(plane.w, plane.b)))
            if is_near and not n_wrong:
                return plane
            if not is_last and n_wrong <= FEW:
                return plane
            if n_wrong > len(y):
                raise _TooNarrowError("more points are misjudged than are held")
            is_near = n_wrong <= FEW

    def begin(self, problem: AdviceProblem, session: Session) -> None:
        """Put a session where the last one ended; other points are at the bound that their margin tells."""
        vertex = self._vertex
        if vertex is None:
            return
        order = np.argsort(self._numbers)
        places = np.searchsorted(self._numbers, vertex.points, sorter=order)
        places = order[np.minimum(places, len(order) - 1)]
        if not len(order) or not np.array_equal(self._numbers[places], vertex.points):
            return
        margin = problem.y * (linear_scores(problem.X, vertex.w) + vertex.b)
        above = (margin < 1.0) == (problem.y > 0)
        columns = {**vertex.columns, "alpha": places}
        session.start_from(columns, vertex.rows, {**vertex.at_upper, "alpha": above})

    def note(
        self, problem: AdviceProblem, session: Session, solution: Solution, plane: AdvicePlane
    ) -> None:
        """Remember where a session ended."""
        columns, rows = session.basic()
        program = session.program
        at_upper = {
            name: _is_nearer_above(solution.values[name], each.lower, each.upper)
            for name, each in program.variables.items()
            if name != "alpha"
        }
        sides = {"weights": plane.w > 0.0, "above": True, "premises": True}
        n_rows = {
            name: place.stop - place.start for name, place in row_slices(program.linear).items()
        }
        at_upper |= {
            name: np.broadcast_to(np.asarray(sides.get(name, False)), (n,))
            for name, n in n_rows.items()
        }
        self._vertex = _Vertex(
            self._numbers[columns.pop("alpha")], columns, rows, at_upper, plane.w, plane.b
        )


def _sift_advice(problem: AdviceProblem) -> AdvicePlane:
    """Solve through samples of the points, and windows around the planes of the samples before."""
    rows = problem.rows
    if rows is None:
        rows = ArrayBlocks(problem.X, problem.y, problem.cost, block_rows=_BLOCK_ROWS)
    return _Search(problem, Sifting(rows, centre=False)).solve()


def _constant_plane(problem: AdviceProblem, sifting: Sifting) -> AdvicePlane | None:
    """Return the plane without weights where it can be proved to be the optimum, by sums over all points.

    A plane without weights costs what a point of cost mu_i in each premise would. Its proof needs multipliers as in
    `lpsvm_zero`, and for each box a number gamma_i: mu_i for the lighter class, at most mu_i for the heavier one.
    """
    boxes, premises = problem.boxes, problem.premises
    costs = np.append(boxes.cost, premises.cost)
    signs = np.append(boxes.sign, premises.sign)
    finite = np.isfinite(costs)
    points = sifting.census.cost
    sums = [points[k] + exact_sum(costs[finite & (signs == z)]) for k, z in enumerate((-1.0, 1.0))]
    heavy = 1.0 if sums[1] > sums[0] else -1.0
    is_light = signs != heavy
    # Equal classes leave the intercept open; advice that must hold, or that is no box, is left to the program.
    if sums[0] == sums[1] or is_light[len(boxes) :].any() or not finite[is_light].all():
        return None
    in_light = boxes.sign != heavy
    for share in (0.0, 1.0) if (~in_light).any() else (0.0,):
        gamma = np.where(
            in_light, boxes.cost, share * np.where(np.isfinite(boxes.cost), boxes.cost, 0.0)
        )
        signed = gamma * boxes.sign
        limits = 1.0 + linear_scores(boxes.half.T, gamma)
        pull = Pull(heavy, linear_scores(boxes.center.T, signed), float(signed.sum()), limits)
        if sifting.proves_zero(_no_points(problem.n_features), pull):
            w, u = np.zeros(problem.n_features), np.zeros(len(premises.d))
            exact = ExactPlane((Fraction(0),) * len(w), Fraction(heavy))
            return AdvicePlane(w, heavy, u, problem.objective(w, heavy, u), exact)
    return None


def _no_points(n: int) -> LPSVMData:
    return LPSVMData(np.zeros((0, n)), np.zeros(0), np.zeros(0))


def data_plane(problem: AdviceProblem) -> tuple[FloatArray, float]:
    """Find the plane of the points alone; a constant where they are of one class."""
    y = problem.y
    if problem.rows is not None:
        found = solve_partitions(problem.rows, 1.0)
        return found.w, found.b
    if not (y > 0).any() or not (y < 0).any():
        return np.zeros(problem.n_features), float(y[0]) if len(y) else 0.0
    solution = solve_lpsvm(LPSVMData(problem.X, y, problem.cost))
    return solution.w, solution.b


def exact_advice(
    problem: AdviceProblem, session: Session, near: Solution, far: ExactFar | None = None
) -> AdvicePlane | None:
    """Find the one plane, from where a solver in floating point ended.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises.
    session : Session
        The session that solved `advice_dual`.
    near : Solution
        What it found.
    far : ExactFar, optional
        The sums over further points, where the session has them.

    Returns
    -------
    AdvicePlane or None
        The plane, rounded once; None where that would take too long.
    """
    program = session.program
    # Sums that the limits have been reduced by are rounded there.
    data = compile_program(program if far is None else advice_dual(problem))
    columns, rows = session.basic()
    places, row_places = column_slices(program), row_slices(program.linear)
    basic = [places[name].start + int(i) for name, index in columns.items() for i in index]
    inactive = [row_places[name].start + int(i) for name, index in rows.items() for i in index]
    limits = np.delete(np.arange(len(data.row_lower)), inactive).tolist()
    if len(limits) != len(basic):
        return None
    x = np.concatenate([near.values[name] for name in places])
    exact = ExactProgram(
        data.A,
        data.c,
        data.lower,
        data.upper,
        data.row_lower,
        data.row_upper,
        _ranks(problem, row_places, len(data.row_lower)),
        outside=None if far is None else _Outside(problem, row_places, far),
        outside_near=None if far is None else _near_sums(problem, row_places, far),
    )
    sums = np.asarray(data.A @ x)
    if exact.outside_near is not None:
        sums = sums + exact.outside_near
    try:
        vertex = exact_optimum(
            exact,
            basic,
            limits,
            _is_nearer_above(x, data.lower, data.upper),
            _is_nearer_above(sums, data.row_lower, data.row_upper),
        )
    except (SingularError, UndecidedError):
        return None
    return _plane(problem, vertex, row_places)


class _Outside:
    """What each row adds up to over the points that are known by sums."""

    def __init__(self, problem: AdviceProblem, places: dict[str, slice], far: ExactFar):
        self._far, self._places = far, _sum_places(problem, places)

    def __call__(self, row: int) -> Fraction:
        """Return the sum of a row."""
        place = self._places.get(row)
        return Fraction(0) if place is None else self._far.exact(place)


def _sum_places(problem: AdviceProblem, places: dict[str, slice]) -> dict[int, int]:
    """Return for rows of weights and balance which of the n + 2 sums is theirs."""
    found = {places["balance"].start: problem.n_features}
    for name in ("weights", "above", "below"):
        found |= {r: j for j, r in enumerate(_range(places.get(name)))}
    return found


def _near_sums(problem: AdviceProblem, places: dict[str, slice], far: ExactFar) -> FloatArray:
    sums = far.rounded()
    known = np.append(sums.slope, sums.balance)
    near = np.zeros(max(place.stop for place in places.values()))
    for row, place in _sum_places(problem, places).items():
        near[row] = known[place]
    return near


def _is_nearer_above(
    value: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray(np.abs(high - value) < np.abs(value - low), dtype=np.bool_)


def _ranks(
    problem: AdviceProblem, places: dict[str, slice], size: int
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    n = problem.n_features
    rank = np.full(size, -1, dtype=np.intp)
    for name in ("weights", "above", "below"):
        if name in places:
            rank[places[name]] = np.arange(n)[::-1]
    rank[places["balance"]] = n
    if "premises" in places:
        rank[places["premises"]] = n + 1 + np.arange(len(problem.premises.d))
    return rank


def _plane(problem: AdviceProblem, vertex: ExactVertex, places: dict[str, slice]) -> AdvicePlane:
    """Read plane and multipliers out of the multipliers of the rows, as `read_dual` does."""
    n = problem.n_features
    values = {r: -vertex.y.short_fraction(i) for i, r in enumerate(vertex.rows)}
    rounded = dict(zip(vertex.rows, vertex.y.to_floats().tolist(), strict=True))
    w, u = [Fraction(0)] * n, np.zeros(len(problem.premises.d))
    for name in ("weights", "above", "below"):
        for j, r in enumerate(_range(places.get(name))):
            w[j] += values.get(r, Fraction(0))
    for k, r in enumerate(_range(places.get("premises"))):
        u[k] = max(0.0, 0.0 - rounded.get(r, 0.0))
    b = values.get(places["balance"].start, Fraction(0))
    weights, intercept = np.array([float(v) for v in w]), float(b)
    plane = AdvicePlane(weights, intercept, u, problem.objective(weights, intercept, u))
    return replace(plane, exact=ExactPlane(tuple(w), b))


def _range(place: slice | None) -> range:
    return range(0) if place is None else range(place.start, place.stop)


class AdvicePath:
    """Solutions for one set of points and premises and many costs.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises with costs that are multiplied by `lam` and `mu`; at least one of either.

    Examples
    --------
    >>> from clearmargin.advice.advice_svm import BoxPremises, Premises
    >>> rows = [(np.array([[-1.0]]), np.array([-3.0]))]                         # x >= 3 => +1
    >>> premises = Premises.stack(rows, sign=[1.0], cost=[1.0])
    >>> points = np.array([[0.0], [1.0]]), np.array([-1.0, -1.0]), np.ones(2)
    >>> path = AdvicePath(AdviceProblem(*points, premises, BoxPremises.none(1)))
    >>> [path.solve(lam=1.0, mu=mu).w.round(9).tolist() for mu in (0.1, 10.0)]
    [[0.0], [1.0]]
    """

    def __init__(self, problem: AdviceProblem):
        self._unit = problem
        self._session = Session(advice_dual(problem), method="dual", tol=1e-9)

    def solve(self, lam: float, mu: float) -> AdvicePlane:
        """Solve for one pair of factors of the costs."""
        problem = scaled_costs(self._unit, lam, mu)
        if len(problem.y):
            self._session.set_bounds("alpha", *signed_bounds(problem.y, problem.cost))
        if len(problem.premises):
            most = np.repeat(problem.premises.cost, problem.n_features)
            self._session.set_bounds("v", -most, most)
            self._session.set_bounds("beta", 0.0, problem.premises.cost)
        if len(problem.boxes):
            self._session.set_bounds("gamma", 0.0, problem.boxes.cost)
        return read_dual(problem, self._session.solve(explain=False))

    def close(self) -> None:
        """Free the memory of the solver."""
        self._session.close()


def scaled_costs(problem: AdviceProblem, lam: float, mu: float) -> AdviceProblem:
    """Return the problem with the costs of points and of advice multiplied by factors."""
    return replace(
        problem,
        cost=lam * problem.cost,
        premises=replace(problem.premises, cost=mu * problem.premises.cost),
        boxes=replace(problem.boxes, cost=mu * problem.boxes.cost),
    )
