"""One step of the convex-concave procedure stated in CVXPY, the peer of `refine_sqp`."""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy
import numpy as np

from clearmargin.advice.advice_svm import AdviceProblem
from clearmargin.advice.refine_lp import Iterate, Movable

cp: Any = cvxpy  # has types for some of its names only


class Statement:
    """The cone program of `refine_sqp` in CVXPY but for its products; every entry of F is free."""

    def __init__(self, problem: AdviceProblem, movable: Movable):
        premises, n = problem.premises, problem.n_features
        r, k = len(premises), len(premises.d)
        self.numeric_rows = np.flatnonzero(premises.numeric_rows)
        self.w, self.b, self.u = cp.Variable((1, n)), cp.Variable(), cp.Variable((k, 1))
        self.F, self.f = (
            cp.Variable((self.numeric_rows.size, n)),
            cp.Variable((self.numeric_rows.size, 1)),
        )
        self.eta, self.zeta = cp.Variable((r, n)), cp.Variable((r, 1))
        xi = cp.Variable(len(problem.y), nonneg=True)
        self.constraints = [
            self.u >= 0,
            self.eta >= 0,
            self.zeta >= 0,
            cp.multiply(problem.y, problem.X @ self.w[0] + self.b) + xi >= 1,
            cp.sum(cp.multiply(premises.D[self.numeric_rows], self.F), axis=1) == 0,
        ]
        dear = movable.nu * premises.cost[premises.rule[self.numeric_rows]]
        self.objective = (
            cp.sum(cp.abs(self.w))
            + problem.cost @ xi
            + premises.cost @ (cp.sum(self.eta, axis=1) + self.zeta[:, 0])
            + dear @ (cp.sum(cp.abs(self.F), axis=1) + cp.abs(self.f[:, 0]))
        )

    def solve(self) -> float:
        """Solve by Clarabel."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a doubtful end is seen in the objective
            problem = cp.Problem(cp.Minimize(self.objective), self.constraints)
            return float(problem.solve(solver=cp.CLARABEL))


def by_matrices(problem: AdviceProblem, movable: Movable, at: Iterate) -> float:
    """State the products of all premises and features at once."""
    s, premises = Statement(problem, movable), problem.premises
    numeric, ones = s.numeric_rows, np.ones((1, problem.n_features))
    sums, z = premises.members.toarray(), premises.sign[:, None]
    pull = sums @ cp.multiply(premises.D, s.u @ ones) + z @ s.w
    v, V = s.u[numeric], s.u[numeric] @ ones
    u0 = at.u[numeric][:, None]
    for way in (1.0, -1.0):
        a = at.F[numeric] + way * u0
        products = cp.square(s.F - way * V) / 4 - cp.multiply(a / 2, s.F + way * V) + a * a / 4
        s.constraints.append(way * pull - s.eta + sums[:, numeric] @ products <= 0)
    a = at.f[numeric][:, None] + u0
    products = cp.square(s.f - v) / 4 - cp.multiply(a / 2, s.f + v) + a * a / 4
    price = sums @ cp.multiply(premises.d[:, None], s.u) + sums[:, numeric] @ products
    s.constraints.append(price - z * s.b + 1 - s.zeta <= 0)
    return s.solve()


def by_components(problem: AdviceProblem, movable: Movable, at: Iterate) -> float:
    """State one constraint for each premise, feature and side, as they are printed."""
    s, premises = Statement(problem, movable), problem.premises
    for i, z in enumerate(premises.sign):
        every = np.flatnonzero(premises.rule == i)
        mine = np.flatnonzero(premises.rule[s.numeric_rows] == i)
        rows = s.numeric_rows[mine]
        u, v = s.u[every, 0], s.u[rows, 0]
        for j in range(problem.n_features):
            for way in (1.0, -1.0):
                a, F = at.F[rows, j] + way * at.u[rows], s.F[mine, j]
                tangent = a @ (F + way * v) / 2 - a @ a / 4
                pull = way * (premises.D[every, j] @ u + z * s.w[0, j]) - s.eta[i, j]
                s.constraints.append(pull + cp.sum_squares(F - way * v) / 4 <= tangent)
        a, f = at.f[rows] + at.u[rows], s.f[mine, 0]
        price = premises.d[every] @ u - z * s.b + 1 - s.zeta[i, 0]
        tangent = a @ (f + v) / 2 - a @ a / 4
        s.constraints.append(price + cp.sum_squares(f - v) / 4 <= tangent)
    return s.solve()
