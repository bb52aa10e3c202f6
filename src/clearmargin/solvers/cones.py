"""Clarabel, an interior point method for programs with second-order cones.

Clarabel minimises q'x subject to Kx + s = k, s in a product of cones, with multipliers v in the dual cones such that
q + K'v = 0. Rows of K, in this order:

    zero cone          a x = b      rows and unknowns with equal limits      y = -v
    nonnegative cone   a x <= upper                                          y -= v
                      -a x <= -lower                                         y += v
    second-order cones -G x + s = offset                                     z = v
"""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse

from clearmargin.exceptions import (
    BackendError,
    InfeasibleError,
    NumericalError,
    SolverError,
    TimeLimitError,
    UnboundedError,
)
from clearmargin.solvers.highs import Solution
from clearmargin.solvers.program import Program

# Clarabel's own default, tighter than that of simplex codes: its error enters the duality gap directly.
_TOLERANCE, _SECONDS = 1e-8, 600.0
_ERRORS: dict[str, tuple[type[SolverError], str]] = {
    "PrimalInfeasible": (InfeasibleError, "no point satisfies all constraints"),
    "MaxIterations": (TimeLimitError, "Clarabel ran out of iterations"),
    "MaxTime": (TimeLimitError, "Clarabel ran out of time"),
}


def solve_cones(
    program: Program, *, time_limit: float | None = None, tol: float | None = None
) -> Solution:
    """Return the optimum of a linear or second-order cone program."""
    if program.is_integer:
        raise BackendError("no solver takes integers and cones together; drop one of them")
    data = program.compiled()
    n_rows = data.A.shape[0]
    lower = np.concatenate((data.row_lower, data.lower))
    upper = np.concatenate((data.row_upper, data.upper))
    is_fixed = lower == upper
    fixed = np.flatnonzero(is_fixed)
    above = np.flatnonzero(~is_fixed & np.isfinite(upper))
    below = np.flatnonzero(~is_fixed & np.isfinite(lower))
    rows = sparse.vstack((data.A, sparse.eye_array(data.c.size)), format="csr")
    K = sparse.vstack((rows[fixed], rows[above], -rows[below], -data.G), format="csc")
    k = np.concatenate((lower[fixed], upper[above], -lower[below], data.offset))
    cones = [clarabel.ZeroConeT(fixed.size)] if fixed.size else []
    n_limits = above.size + below.size
    cones += [clarabel.NonnegativeConeT(n_limits)] if n_limits else []
    cones += [clarabel.SecondOrderConeT(size) for size in data.sizes]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = tol or _TOLERANCE
    settings.time_limit = _SECONDS if time_limit is None else time_limit
    P = sparse.csc_matrix((data.c.size, data.c.size))
    found = clarabel.DefaultSolver(P, data.c, sparse.csc_matrix(K), k, cones, settings).solve()
    status = str(found.status)
    if status == "DualInfeasible":
        # Proves that the objective is unbounded if there is a feasible point at all.
        solve_cones(program.without_objective(), time_limit=time_limit, tol=tol)
        raise UnboundedError("the objective can be improved without end")
    # Where Clarabel itself has doubts its answer counts if it passes the check of `solve`.
    if status not in ("Solved", "AlmostSolved", "InsufficientProgress"):
        error, message = _ERRORS.get(
            status, (NumericalError, f"Clarabel broke down ({status}); scale the data")
        )
        raise error(message)
    x, v = np.array(found.x), np.array(found.z)
    if not (np.isfinite(x).all() and np.isfinite(v).all()):
        raise NumericalError(
            "the numbers that Clarabel returned are not all finite; scale the data"
        )
    ends = np.cumsum((fixed.size, above.size, below.size))
    *multipliers, z = np.split(v, ends)
    y = np.zeros(n_rows)
    for places, part, sign in zip((fixed, above, below), multipliers, (-1, -1, 1), strict=True):
        is_row = places < n_rows
        y[places[is_row]] += sign * part[is_row]
    return Solution(program, x, y, z, iterations=found.iterations)
