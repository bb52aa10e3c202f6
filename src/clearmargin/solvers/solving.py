"""Solve a program: the one door to all backends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearmargin.exceptions import InfeasibleError, UnboundedError
from clearmargin.solvers.backends import run
from clearmargin.solvers.conflict import explain_failure
from clearmargin.solvers.solver_options import Method, Options

if TYPE_CHECKING:
    from clearmargin.solvers.program import Program
    from clearmargin.solvers.solution import Solution

__all__ = ["solve"]


def solve(
    program: Program,
    *,
    backend: str = "auto",
    method: Method = "auto",
    tol: float | None = None,
    time_limit: float | None = None,
    presolve: bool = True,
    explain: bool = True,
) -> Solution:
    """Return an optimum of a program, or raise what stands in its way.

    Parameters
    ----------
    program : Program
        What to solve.
    backend : {"auto", "highs", "clarabel"}
        By default HiGHS for linear and integer programs, Clarabel for quadratic objectives and cones.
    method : {"auto", "simplex", "primal", "dual", "ipm"}
        Algorithm of HiGHS; Clarabel has its interior point method only.
    tol : float, optional
        Feasibility and optimality tolerance between 1e-10 and 1e-2; by default 1e-7 for HiGHS and 1e-8
        for Clarabel.
    time_limit : float, optional
        Seconds the solver may take; ten minutes by default.
    presolve : bool
        Whether to simplify the program first.
    explain : bool
        Whether to search for the blocks at fault when the program is infeasible or unbounded. It costs about
        one more solve per block, at most `time_limit` once more.

    Returns
    -------
    Solution
        The optimum. Call its `certify` to have it checked.

    Raises
    ------
    InfeasibleError, UnboundedError
        When there is no optimum; the message names the blocks at fault.
    TimeLimitError, NumericalError
        When time or iterations ran out, or the solver broke down.
    BackendError
        When the backend does not exist or cannot do what the program needs.

    Examples
    --------
    >>> from clearmargin.solvers import Linear, Program, Quadratic, Variables
    >>> blocks = [Variables("x", 2), Linear("sum", {"x": 1.0}, lower=2.0)]
    >>> solve(Program([*blocks, Quadratic("norm", "x", [1.0, 1.0])])).values["x"].round(6).tolist()
    [1.0, 1.0]
    """
    options = Options(method, tol, time_limit, presolve)
    try:
        return run(program, options, backend)
    except (InfeasibleError, UnboundedError) as error:
        if not explain:
            raise
        raise explain_failure(program, error, time_limit) from None
