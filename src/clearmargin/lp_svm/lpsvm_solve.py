"""One door to the ways of solving the 1-norm support vector machine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clearmargin.exceptions import SolverError
from clearmargin.lp_svm.lpsvm import (
    Basis,
    LPSVMData,
    LPSVMSolution,
    best_intercept,
    dual_program,
)
from clearmargin.lp_svm.lpsvm_exact import Centred, certified, exact_lpsvm
from clearmargin.lp_svm.lpsvm_polish import polish, sweep
from clearmargin.lp_svm.lpsvm_sifting import sift_lpsvm
from clearmargin.rules.arithmetic import linear_scores
from clearmargin.solvers import Session
from clearmargin.solvers.solver_options import Method

__all__ = ["SOLVERS", "solve_lpsvm"]

SOLVERS = ("auto", "sifting", "simplex", "ipm")
# Seconds for each other way, where the first did not close the gap.
_SECOND_TRY = 60.0
_METHODS: dict[str, Method] = {"simplex": "simplex", "ipm": "ipm"}


def solve_lpsvm(
    data: LPSVMData, *, solver: str = "auto", tol: float = 1e-6, max_iter: int = 1_000
) -> LPSVMSolution:
    """Solve the 1-norm SVM and certify the solution.

    Parameters
    ----------
    data : LPSVMData
        The points, their signs and costs.
    solver : {"auto", "sifting", "simplex", "ipm"}, default "auto"
        See `LPSVC`.
    tol : float, default 1e-6
        Relative gap to reach.
    max_iter : int, default 1000
        Most linear programs to solve in one level of sifting.

    Returns
    -------
    LPSVMSolution
        The solution with the smallest gap that was found.
    """
    centred = Centred.around(data)
    best: LPSVMSolution | None = None
    failure: SolverError | None = None
    for way in SOLVERS[1:] if solver == "auto" else (solver,):
        seconds = _SECOND_TRY if failure is not None or best is not None else None
        try:
            near = _solve_floats(centred.data, way, tol, max_iter, seconds)
        except SolverError as error:
            failure = error
            continue
        exact = exact_lpsvm(centred, near)
        if exact is not None:
            return exact
        w, b = centred.plane(near.w, near.b)
        solution = certified(centred, replace(near, w=w, b=b))
        if best is None or solution.gap < best.gap:
            best = solution
        if best.gap <= tol:
            return best
    if best is None:
        assert failure is not None
        raise failure
    return best


def _solve_floats(
    data: LPSVMData, solver: str, tol: float, max_iter: int, seconds: float | None
) -> LPSVMSolution:
    if solver == "sifting":
        return sift_lpsvm(data, tol=tol, max_iter=max_iter, settle=True)
    normal, unit = data.normalised()
    program = dual_program(normal)
    with Session(program, method=_METHODS[solver], tol=1e-9, time_limit=seconds) as session:
        answer = session.solve(explain=False)
        columns, rows = session.basic()
    w = data.with_signs(-answer.duals["features"])
    f = linear_scores(data.X, w)
    b = best_intercept(f, data.y, data.cost) if data.fit_intercept else 0.0
    solution = sweep(data, data.certify(w, b, data.y * answer.values["alpha"] * unit, n_iter=1))
    features = np.delete(np.arange(len(w)), rows["features"])
    with_intercept = data.fit_intercept and not len(rows["balance"])
    basis = Basis(columns["alpha"], features, with_intercept)
    if len(basis.points) == len(features) + int(with_intercept):
        solution = replace(solution, basis=basis)
    return solution if solution.gap <= tol else polish(data, solution)
