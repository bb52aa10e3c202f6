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

**Dual.** The dual is the form in which the program is solved. With a signed multiplier alpha_j = y_j a_j for each
point, and for each premise i a vector v^i (n) and a number beta_i::

    maximise    y'alpha + sum_i beta_i
    subject to  -1 <= X'alpha + sum_i z_i v^i <= 1
                sum_j alpha_j + sum_i z_i beta_i = 0
                D_i v^i <= beta_i d^i
                0 <= y_j alpha_j <= c_j,    -mu_i <= v^i <= mu_i,    0 <= beta_i <= mu_i

Where beta_i > 0, ``v^i / beta_i`` is a point of the premise: advice acts like
points of its class that the program itself places where they matter most.

There is one row for each feature and each row of a premise, and none for a point, whose bounds simplex methods handle
without rows: at 20,000 points, 10 features and 6 premises it takes about a twentieth of the printed program's time.

**One plane.** Tables of whole numbers have many optimal planes, and which of them a solver meets depends on the
processor and on the order of the rows. So ``|w_j|`` costs a little more than 1, each a little more than the one before,
and ``|b|`` a little more than nothing: the limits of those rows of the dual are wider by 1e-6 to 2e-6. That leaves one
plane, whose objective is at most 2e-6 of its 1-norm above the optimum, and its numbers are rounded to twelve digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from clearmargin.exceptions import InfeasibleError, UnboundedError
from clearmargin.lp_svm.program import signed_bounds
from clearmargin.rules.arithmetic import linear_scores
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.solvers import Linear, Program, Variables, solve


@dataclass(frozen=True)
class Premises:
    """The rows of all premises, one below the other; those that are numeric may be refined."""

    D: FloatArray
    d: FloatArray
    rule: IntArray
    sign: FloatArray
    cost: FloatArray
    numeric_rows: BoolArray

    @classmethod
    def stack(
        cls,
        rows: Sequence[tuple[FloatArray, FloatArray, BoolArray]],
        sign: FloatArray,
        cost: FloatArray,
        n_features: int,
    ) -> Premises:
        """Put premises one below the other, each given by its matrix, right-hand side and which rows are numeric."""
        return cls(
            D=np.concatenate([np.zeros((0, n_features)), *(D for D, _, _ in rows)]),
            d=np.concatenate([np.zeros(0), *(d for _, d, _ in rows)]),
            rule=np.repeat(np.arange(len(rows)), [len(d) for _, d, _ in rows]),
            sign=sign,
            cost=cost,
            numeric_rows=np.concatenate([np.zeros(0, dtype=np.bool_), *(own for *_, own in rows)]),
        )

    def __len__(self) -> int:
        return len(self.sign)

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

    @property
    def spread(self) -> sparse.csc_array[np.float64]:
        """The (r n) x k matrix that turns u into D_i'u^i for each premise i, one below the other."""
        k, n = self.D.shape
        at = self.rule[:, None] * n + np.arange(n)
        columns = np.broadcast_to(np.arange(k)[:, None], (k, n))
        entries = (self.D.ravel(), (at.ravel(), columns.ravel()))
        return sparse.csc_array(entries, shape=(len(self) * n, k))


@dataclass(frozen=True, slots=True)
class AdviceProblem:
    """What the program is about."""

    X: FloatArray
    y: FloatArray
    cost: FloatArray
    premises: Premises

    def objective(self, w: FloatArray, b: float, u: FloatArray) -> float:
        """Evaluate the program at a plane and multipliers, every error as small as they allow."""
        hinge = np.maximum(0.0, 1.0 - self.y * (linear_scores(self.X, w) + b))
        # A sum that does not depend on the order of the points.
        total = math.fsum(self.cost * hinge) + float(np.abs(w).sum())
        premises = self.premises
        eta = np.abs(premises.totals(u[:, None] * premises.D) + premises.sign[:, None] * w)
        zeta = np.maximum(0.0, 1.0 + premises.totals(premises.d * u) - premises.sign * b)
        # Hard advice has no price; what is left of its error is the solver's tolerance.
        soft = np.isfinite(premises.cost)
        return total + float(premises.cost[soft] @ (eta.sum(axis=1) + zeta)[soft])


@dataclass(frozen=True, slots=True)
class AdvicePlane:
    """A solution: a plane, the multipliers of the premises, and its value."""

    w: FloatArray
    b: float
    u: FloatArray
    objective: float


# Far above what a solver may leave (1e-9), far below what a table can tell; what it leaves of a number is rounded away.
_TIE_BREAK, _DIGITS = 1e-6, 12
# Columns that enter at a time.
_MANY = 300


def _tie_prices(n: int) -> FloatArray:
    """Give small prices of the weights and, last, of the intercept: rising, and equal for no two sets of them."""
    return np.asarray(_TIE_BREAK * (1.0 + np.sqrt((np.arange(n + 1) + 0.618) / (n + 0.618))))


def solve_advice(problem: AdviceProblem) -> AdvicePlane:
    """Solve the knowledge-based SVM; where no premise bounds the columns, those take part whose weight may pay."""
    n = problem.X.shape[1]
    prices = _tie_prices(n)
    if len(problem.premises) or n <= _MANY:
        return _solve(problem, prices)[0]
    used, pull = np.empty(0, dtype=np.intp), np.abs((problem.cost * problem.y) @ problem.X)
    while True:
        # A column without weight stays so if |x_j' alpha| <= 1 + its price: the dual of all columns holds then.
        best = np.argsort(-pull, kind="stable")[:_MANY]
        used = np.union1d(used, best[pull[best] > 0.0])
        none = Premises.stack([], np.zeros(0), np.zeros(0), len(used))
        part = replace(problem, X=problem.X[:, used], premises=none)
        plane, alpha = _solve(part, prices[np.r_[used, n]])
        pull = np.maximum(0.0, np.abs(alpha @ problem.X) - (1.0 + prices[:-1]) - 1e-7)
        pull[used] = 0.0
        if not pull.any():
            return replace(plane, w=np.bincount(used, plane.w, n).astype(np.float64))


def _solve(problem: AdviceProblem, prices: FloatArray) -> tuple[AdvicePlane, FloatArray]:
    """Solve the dual at the head of this file, as a minimisation; give the multipliers of the points, too."""
    m, n = problem.X.shape
    premises = problem.premises
    alpha = Variables("alpha", m, *signed_bounds(problem.y, problem.cost), cost=-problem.y)
    blocks: list[Variables | Linear] = [alpha]
    weights: dict[str, Any] = {"alpha": problem.X.T}
    balance: dict[str, Any] = {"alpha": 1.0}
    if len(premises):
        most = np.repeat(premises.cost, n)
        blocks += [
            Variables("v", most.size, -most, most),
            Variables("beta", len(premises), 0.0, premises.cost, cost=-1.0),
            Linear(
                "premises",
                {
                    "v": sparse.csc_array(premises.spread.T),
                    "beta": sparse.csc_array(-premises.members.multiply(premises.d[None, :]).T),
                },
                upper=0.0,
            ),
        ]
        weights["v"] = sparse.kron(premises.sign[None, :], sparse.eye_array(n), format="csc")
        balance["beta"] = premises.sign[None, :]
    widths = 1.0 + prices[:-1]
    blocks.append(Linear("weights", weights, -widths, widths))
    blocks.append(Linear("balance", balance, -prices[-1], prices[-1]))
    try:
        solution = solve(Program(blocks), tol=1e-9)
        duals = solution.duals
    except UnboundedError:
        # Zero is always feasible, so that the dual of a contradiction is unbounded.
        raise InfeasibleError("the advice that must hold contradicts itself", ()) from None
    w, b = _rounded(-duals["weights"], -float(duals["balance"][0]))
    u = np.maximum(0.0, -duals["premises"]) if len(premises) else np.zeros(0)
    return AdvicePlane(w, b, u, problem.objective(w, b, u)), solution.values["alpha"]


def _rounded(w: FloatArray, b: float) -> tuple[FloatArray, float]:
    """Round a plane to twelve digits of its largest number."""
    size = max(float(np.abs(w).max(initial=0.0)), abs(b))
    digits = _DIGITS - math.ceil(math.log10(size)) if size else 0
    return np.array([round(v, digits) + 0.0 for v in w.tolist()]), round(b, digits) + 0.0
