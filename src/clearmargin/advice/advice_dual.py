r"""The dual of the knowledge-based SVM, which is the form in which it is solved.

With a signed multiplier alpha_j = y_j a_j for each point, and for each premise i a vector v^i (n) and a number beta_i::

    maximise    y'alpha + sum_i beta_i
    subject to  -1 <= X'alpha + sum_i z_i v^i <= 1
                sum_j alpha_j + sum_i z_i beta_i = 0
                D_i v^i <= beta_i d^i
                0 <= y_j alpha_j <= c_j,    -mu_i <= v^i <= mu_i,    0 <= beta_i <= mu_i

(program and letters as in `advice_svm`). Where beta_i > 0, ``v^i / beta_i`` is a point of the premise: advice acts like
points of its class that the program itself places where they matter most. A premise in compact form has one
number gamma_i <= mu_i instead, and its two corners farthest from the class, ``z_i c + h`` below and ``z_i c - h``
above, split the first line in two.

There is one row for each feature and each row of a premise, and none for a point, whose bounds simplex methods handle
without rows: at 20,000 points, 10 features and 6 premises it takes about a twentieth of the printed program's time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from clearmargin.advice.advice_exact import exact_advice
from clearmargin.advice.advice_svm import AdvicePlane, AdviceProblem, FloatArray
from clearmargin.exceptions import InfeasibleError, UnboundedError
from clearmargin.lp_svm.lpsvm import LPSVMData, signed_bounds
from clearmargin.lp_svm.lpsvm_solve import solve_lpsvm
from clearmargin.solvers import Linear, Program, Session, Solution, Variables

__all__ = ["advice_dual", "data_plane", "read_dual", "solve_advice"]


def advice_dual(problem: AdviceProblem) -> Program:
    """Build the dual at the head of this file, as a minimisation.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises.

    Returns
    -------
    Program
        A linear program; `read_dual` reads its solution.
    """
    m, n = problem.X.shape
    premises, boxes = problem.premises, problem.boxes
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
            Linear("above", {**weights, "gamma": corner - boxes.half.T}, upper=1.0),
            Linear("below", {**weights, "gamma": corner + boxes.half.T}, lower=-1.0),
        ]
        balance["gamma"] = boxes.sign[None, :]
    else:
        blocks.append(Linear("weights", weights, -1.0, 1.0))
    return Program([*blocks, Linear("balance", balance, 0.0, 0.0)])


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
    >>> from clearmargin.advice.advice_svm import Boxes, Premises
    >>> rows = [(np.array([[-1.0]]), np.array([-3.0])), (np.array([[1.0]]), np.array([1.0]))]
    >>> premises = Premises.stack(rows, sign=[1.0, -1.0], cost=[10.0, 10.0])
    >>> problem = AdviceProblem(np.zeros((0, 1)), np.zeros(0), np.zeros(0), premises, Boxes.none(1))
    >>> plane = solve_advice(problem)
    >>> plane.w.round(9).tolist(), round(plane.b, 9), round(plane.objective, 9)
    ([1.0], -2.0, 1.0)
    """
    with Session(advice_dual(problem), method="dual", tol=1e-9) as session:
        try:
            solution = session.solve(explain=False)
        except UnboundedError:
            # Zero is always feasible, so that the dual of a contradiction is unbounded.
            raise InfeasibleError("the advice that must hold contradicts itself") from None
        return exact_advice(problem, session, solution) or read_dual(problem, solution)


def data_plane(problem: AdviceProblem) -> tuple[FloatArray, float]:
    """Find the plane of the points alone; a constant where they are of one class."""
    y = problem.y
    if not (y > 0).any() or not (y < 0).any():
        return np.zeros(problem.n_features), float(y[0]) if len(y) else 0.0
    solution = solve_lpsvm(LPSVMData(problem.X, y, problem.cost))
    return solution.w, solution.b
