"""The box that covers most points, exactly: an oracle for small problems.

With P, b, s as in `coverage_corner`, one binary q_j for each distinct point, which occurs t_j times::

    maximise    sum_j t_j q_j
    subject to  b_i >= P_ji q_j,    sum_i b_i <= s (1 - 1e-9),    0 <= b_i <= end_i,    q binary

The relaxation is weak (on Pima it promises 312 points where 193 can be covered), so the search is limited in time.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse

from clearmargin.exceptions import TimeLimitError, UncertifiedWarning
from clearmargin.plane_rules.coverage_corner import coverage_corner, polished_corner, prices
from clearmargin.plane_rules.side import Corner, FloatArray, Region, Side
from clearmargin.plane_rules.volume_corner import deepest_corner
from clearmargin.solvers import Linear, Program, Variables, solve

__all__ = ["exact_corner"]

_TIME_LIMIT = 20.0


def exact_corner(
    side: Side, region: Region, Z: FloatArray, *, time_limit: float = _TIME_LIMIT
) -> Corner:
    """Find the corner that covers most points.

    Parameters
    ----------
    side, region, Z
        The half-space, the region and the points in it.
    time_limit : float, default 20
        Seconds to search; when they are over, a warning says so and the corner of pair exchange is returned.

    Returns
    -------
    Corner
        Covers at least one point.
    """
    P, slack, ends = prices(side, region, Z)
    if slack <= 0:
        return deepest_corner(side, Z)
    if ends.sum() < slack:
        return coverage_corner(side, region, Z)
    # In units of the slack, so that tolerances of the solver are relative.
    distinct, times = np.unique(P / slack, axis=0, return_counts=True)
    p, k = distinct.shape
    rows, columns = np.nonzero(distinct > 0)
    order = np.arange(len(rows))
    needs = sparse.csr_array((-distinct[rows, columns], (order, rows)), shape=(len(rows), p))
    gives = sparse.csr_array((np.ones(len(rows)), (order, columns)), shape=(len(rows), k))
    program = Program(
        [
            Variables("b", k, lower=0.0, upper=np.maximum(ends / slack, 0.0)),
            Variables("q", p, lower=0.0, upper=1.0, cost=-times.astype(np.float64), integer=True),
            Linear("cover", {"b": gives, "q": needs}, lower=0.0),
            Linear("budget", {"b": 1.0}, upper=1.0 - 1e-9),
        ]
    )
    try:
        answer = solve(program, time_limit=time_limit)
    except TimeLimitError:
        warnings.warn(
            f"the exact search for the best box of {len(Z)} points stopped after {time_limit:g} s; "
            "the box of pair exchange is used instead",
            UncertifiedWarning,
            stacklevel=2,
        )
        return coverage_corner(side, region, Z)
    # The solver meets its rows to 1e-6 or so; the covered points are those it chose.
    chosen = distinct[answer.values["q"] > 0.5]
    budget = chosen.max(axis=0, initial=0.0) * slack + 1e-12 * slack
    return polished_corner(side, region, Z, budget)
