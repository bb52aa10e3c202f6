"""One door to the ways of solving the 1-norm support vector machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import SolverError
from clearmargin.lp_svm.lpsvm import (
    Basis,
    LPSVMData,
    LPSVMSolution,
    best_intercept,
    dual_program,
)
from clearmargin.lp_svm.lpsvm_blocks import Census
from clearmargin.lp_svm.lpsvm_exact import certified, exact_lpsvm
from clearmargin.lp_svm.lpsvm_polish import polish, sweep
from clearmargin.lp_svm.lpsvm_sifting import Sifting
from clearmargin.rules.arithmetic import linear_scores
from clearmargin.solvers import Session
from clearmargin.solvers.solver_options import Method
from clearmargin.tables.partitions import ArrayBlocks, Block, Partitions

__all__ = ["SOLVERS", "solve_lpsvm", "solve_partitions"]

SOLVERS = ("auto", "sifting", "simplex", "ipm")
# Seconds for each other way, where the first did not close the gap.
_SECOND_TRY = 60.0
_METHODS: dict[str, Method] = {"simplex": "simplex", "ipm": "ipm"}


def solve_lpsvm(
    data: LPSVMData, *, solver: str = "auto", tol: float = 1e-6, max_iter: int = 1_000
) -> LPSVMSolution:
    """Solve the 1-norm SVM of points in memory and certify the solution.

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
    return solve_partitions(
        ArrayBlocks(data.X, data.y, data.cost),
        data.penalty,
        fit_intercept=data.fit_intercept,
        sign=data.sign,
        solver=solver,
        tol=tol,
        max_iter=max_iter,
    )


def solve_partitions(
    parts: Partitions[Block],
    penalty: float,
    *,
    fit_intercept: bool = True,
    sign: NDArray[np.intp] | None = None,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 1_000,
    known: Census | None = None,
    checkpoint: Path | None = None,
) -> LPSVMSolution:
    """Solve the 1-norm SVM of a table in partitions and certify the solution.

    Parameters
    ----------
    parts : Partitions of Block
        The points, their signs and costs; both classes occur.
    penalty : float
        Positive cost of the 1-norm of the weights.
    fit_intercept, sign
        As for `LPSVMData`.
    solver : {"auto", "sifting", "simplex", "ipm"}, default "auto"
        See `LPSVC`; all but "sifting" may bring all rows to one place.
    tol, max_iter
        As for `solve_lpsvm`.
    known : Census, optional
        What is known of all rows already, which saves a pass.
    checkpoint : Path, optional
        A file for the state of sifting after each pass, from which it goes on.

    Returns
    -------
    LPSVMSolution
        The solution with the smallest gap that was found.

    Examples
    --------
    >>> parts = ArrayBlocks(np.array([[0.0], [2.0], [3.0]]), np.array([-1.0, 1.0, 1.0]), block_rows=2)
    >>> solution = solve_partitions(parts, penalty=0.5)
    >>> solution.w.tolist(), solution.b
    ([1.0], -1.0)
    """
    sifting = Sifting(
        parts, fit_intercept=fit_intercept, sign=sign, known=known, checkpoint=checkpoint
    )
    best: LPSVMSolution | None = None
    failure: SolverError | None = None
    for way in SOLVERS[1:] if solver == "auto" else (solver,):
        seconds = _SECOND_TRY if failure is not None or best is not None else None
        try:
            solution = _solve(sifting, penalty, way, tol, max_iter, seconds)
        except SolverError as error:
            failure = error
            continue
        if solution.is_exact:
            return solution
        if best is None or solution.gap < best.gap:
            best = solution
        if best.gap <= tol:
            return best
    if best is None:
        assert failure is not None
        raise failure
    return best


def _solve(
    sifting: Sifting,
    penalty: float,
    solver: str,
    tol: float,
    max_iter: int,
    seconds: float | None,
) -> LPSVMSolution:
    if solver == "sifting":
        return sifting.solve(penalty, tol=tol, max_iter=max_iter)
    centred = sifting.whole(penalty)
    near = _solve_floats(centred.data, solver, tol, seconds)
    exact = exact_lpsvm(centred, near)
    if exact is not None:
        return exact
    w, b = centred.plane(near.w, near.b)
    return certified(centred, replace(near, w=w, b=b))


def _solve_floats(data: LPSVMData, solver: str, tol: float, seconds: float | None) -> LPSVMSolution:
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
