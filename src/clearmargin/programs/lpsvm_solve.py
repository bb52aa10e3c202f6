"""One door to the ways of solving the 1-norm support vector machine."""

from __future__ import annotations

import numpy as np

from clearmargin.exceptions import SolverError
from clearmargin.optim import solve
from clearmargin.programs.lpsvm import LPSVMData, LPSVMSolution, best_intercept, dual_program
from clearmargin.programs.lpsvm_polish import polish, sweep
from clearmargin.programs.lpsvm_sifting import sift_lpsvm

__all__ = ["SOLVERS", "solve_lpsvm"]

SOLVERS = ("auto", "sifting", "simplex", "ipm")


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
    if solver == "sifting":
        return sift_lpsvm(data, tol=tol, max_iter=max_iter)
    if solver != "auto":
        return _solve_whole(data, solver, tol)
    best: LPSVMSolution | None = None
    failure: SolverError | None = None
    for way in SOLVERS[1:]:
        try:
            solution = solve_lpsvm(data, solver=way, tol=tol, max_iter=max_iter)
        except SolverError as error:
            failure = error
            continue
        if best is None or solution.gap < best.gap:
            best = solution
        if best.gap <= tol:
            return best
    if best is None:
        assert failure is not None
        raise failure
    return best


def _solve_whole(data: LPSVMData, solver: str, tol: float) -> LPSVMSolution:
    normal, unit = data.normalised()
    answer = solve(dual_program(normal), method="ipm" if solver == "ipm" else "simplex", tol=1e-9)
    w = -answer.duals["features"]
    f = np.asarray(data.X @ w)
    b = best_intercept(f, data.y, data.cost) if data.fit_intercept else 0.0
    solution = sweep(data, data.certify(w, b, data.y * answer.values["alpha"] * unit, n_iter=1))
    return solution if solution.gap <= tol else polish(data, solution)
