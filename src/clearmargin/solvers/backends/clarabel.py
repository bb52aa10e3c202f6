"""Clarabel, an interior point method for quadratic and second-order cone programs.

Clarabel minimises x'Px/2 + q'x subject to Kx + s = k, s in a product of cones, with multipliers v in the
dual cones such that Px + q + K'v = 0. Rows of K, in this order:

    zero cone          a x = b      rows and unknowns with equal limits      y = -v
    nonnegative cone   a x <= upper                                          y -= v
                      -a x <= -lower                                         y += v
    second-order cones -G x + s = offset                                     z = v
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import clarabel
import numpy as np
from scipy import sparse

from clearmargin.exceptions import (
    InfeasibleError,
    NumericalError,
    SolverError,
    TimeLimitError,
    UnboundedError,
)
from clearmargin.solvers.compiled import compile_cones, compile_program, compile_quadratics
from clearmargin.solvers.solution import Solution

if TYPE_CHECKING:
    from clearmargin.solvers.compiled import Compiled
    from clearmargin.solvers.large_value import FloatArray
    from clearmargin.solvers.program import Program
    from clearmargin.solvers.solver_options import Options

__all__ = ["solve"]

_Status = clarabel.SolverStatus

# Clarabel's own default, tighter than that of simplex codes: its error enters the duality gap directly.
_TOLERANCE = 1e-8
# What an answer must satisfy when Clarabel itself has doubts about it.
_DOUBTFUL_TOLERANCE = 1e-6

_ERRORS: dict[str, tuple[type[SolverError], str]] = {
    "PrimalInfeasible": (InfeasibleError, "no point satisfies all constraints"),
    "MaxIterations": (TimeLimitError, "Clarabel ran out of iterations"),
    "MaxTime": (TimeLimitError, "Clarabel ran out of time"),
}
_DOUBTFUL = {"AlmostSolved", "InsufficientProgress"}


def solve(program: Program, options: Options) -> Solution:
    """Return the optimum of a linear, quadratic or second-order cone program."""
    data = compile_program(program)
    rows = _Rows(data, *compile_cones(program))
    start = time.perf_counter()
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.triu(compile_quadratics(program), format="csc")),
        data.c,
        sparse.csc_matrix(rows.K),
        rows.k,
        rows.cones,
        make_settings(options),
    ).solve()
    seconds = time.perf_counter() - start
    status = str(found.status)
    if status == "DualInfeasible":
        # Proves that the objective is unbounded if there is a feasible point at all.
        solve(program.without_objective(), options)
        raise UnboundedError("the objective can be improved without end")
    if status != "Solved" and status not in _DOUBTFUL:
        error, message = _ERRORS.get(
            status, (NumericalError, f"Clarabel broke down ({status}); scale the data")
        )
        raise error(f"{message} after {seconds:.3g} s" if error is TimeLimitError else message)
    y, z = rows.multipliers(np.array(found.z))
    solution = Solution(
        program,
        np.array(found.x),
        y,
        z,
        iterations=found.iterations,
        seconds=seconds,
        backend="clarabel",
    )
    return solution.certify(_DOUBTFUL_TOLERANCE) if status in _DOUBTFUL else solution


class _Rows:
    """The constraints of a program as rows of Clarabel, and the way back for the multipliers."""

    def __init__(
        self, data: Compiled, G: sparse.csc_array[np.float64], offset: FloatArray, sizes: list[int]
    ):
        self._count = data.A.shape[0]
        lower = np.concatenate((data.row_lower, data.lower))
        upper = np.concatenate((data.row_upper, data.upper))
        is_fixed = lower == upper
        self._fixed = np.flatnonzero(is_fixed)
        self._upper = np.flatnonzero(~is_fixed & np.isfinite(upper))
        self._lower = np.flatnonzero(~is_fixed & np.isfinite(lower))
        all_rows = sparse.vstack((data.A, sparse.eye_array(data.c.size)), format="csr")
        parts = (
            all_rows[self._fixed],
            all_rows[self._upper],
            -all_rows[self._lower],
            -G,
        )
        self.K = sparse.vstack(parts, format="csc")
        self.k: FloatArray = np.concatenate(
            (lower[self._fixed], upper[self._upper], -lower[self._lower], offset)
        )
        self.cones = make_cones(self._fixed.size, self._upper.size + self._lower.size, sizes)

    def multipliers(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the multipliers of rows and of cones; those of bounds follow from them."""
        ends = np.cumsum((self._fixed.size, self._upper.size, self._lower.size))
        fixed, upper, lower, z = np.split(v, ends)
        y = np.zeros(self._count)
        for rows, part in ((self._fixed, -fixed), (self._upper, -upper), (self._lower, lower)):
            is_row = rows < self._count
            y[rows[is_row]] += part[is_row]
        return y, z


def make_cones(fixed: int, one_sided: int, sizes: list[int]) -> list[Any]:
    """Return the cones of Clarabel: equations, inequalities, second-order cones."""
    cones: list[Any] = []
    if fixed:
        cones.append(clarabel.ZeroConeT(fixed))
    if one_sided:
        cones.append(clarabel.NonnegativeConeT(one_sided))
    return cones + [clarabel.SecondOrderConeT(size) for size in sizes]


def make_settings(options: Options) -> Any:
    """Return the settings of Clarabel."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.presolve_enable = options.presolve
    tol = options.tol or _TOLERANCE
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = tol
    settings.time_limit = options.seconds
    return settings
