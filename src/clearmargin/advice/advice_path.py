"""The knowledge-based SVM for many pairs of costs, each solution starting from the one before.

In the dual (see `advice_dual`) the costs of points and of advice are nothing but bounds of the unknowns. A change of
costs keeps the last basis dual feasible, so that the dual simplex method goes on from it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clearmargin.advice.advice_dual import advice_dual, read_dual
from clearmargin.advice.advice_svm import AdvicePlane, AdviceProblem
from clearmargin.lp_svm.lpsvm import signed_bounds
from clearmargin.solvers import Session

__all__ = ["AdvicePath", "scaled_costs"]


class AdvicePath:
    """Solutions for one set of points and premises and many costs.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises with costs that are multiplied by `lam` and `mu`; at least one of either.

    Examples
    --------
    >>> from clearmargin.advice.advice_svm import Boxes, Premises
    >>> rows = [(np.array([[-1.0]]), np.array([-3.0]))]                         # x >= 3 => +1
    >>> premises = Premises.stack(rows, sign=[1.0], cost=[1.0])
    >>> points = np.array([[0.0], [1.0]]), np.array([-1.0, -1.0]), np.ones(2)
    >>> path = AdvicePath(AdviceProblem(*points, premises, Boxes.none(1)))
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
    """The problem with the costs of points and of advice multiplied by factors."""
    return replace(
        problem,
        cost=lam * problem.cost,
        premises=replace(problem.premises, cost=mu * problem.premises.cost),
        boxes=replace(problem.boxes, cost=mu * problem.boxes.cost),
    )
