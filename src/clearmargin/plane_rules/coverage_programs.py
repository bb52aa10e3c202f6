"""The box with the largest point coverage by mathematical programs: the published one, and an exact one.

**As published.** Fung, Sandilya and Rao (KDD 2005, eq. 17) approximate point coverage by slacks, in coordinates in
which the region is the unit cube, Y_ji = (z_ji - near_i) / (far_i - near_i), and a step along feature i costs w_i =
a_i (far_i - near_i) / s::

    minimise    sum y
    subject to  Y_ji - y <= x_i,    w'x = 1,    0 <= x <= 1,    y >= 0

The text leaves open to what a slack belongs. Three readings:

per feature
    y_i, as "2n variables" suggests: minimise sum_i (max_j Y_ji - x_i)_+. A fractional knapsack: the cheapest features
    are opened up to their outermost point first.
separable
    y_ji: minimise sum_ji (Y_ji - x_i)_+. Each feature cuts off a number of points in proportion to its cost.
per point
    y_j, the natural one: minimise sum_j max_i (Y_ji - x_i)_+. A linear program with a row for each point and feature,
    of which few matter; rows enter when they are violated.

Raw corners of these programs have faces at data values or at zero; all are polished (`coverage_corner`).

**Exactly**, for small problems. With P, b, s as in `coverage_corner`, one binary q_j for each distinct point, which
occurs t_j times::

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
from clearmargin.plane_rules.side import Corner, Region, Side
from clearmargin.plane_rules.volume_corner import deepest_corner
from clearmargin.rules.value import FloatArray
from clearmargin.solvers import Linear, Program, Session, Variables, solve

__all__ = ["exact_corner", "feature_corner", "point_corner", "separable_corner"]


# What a row may be violated by and still count as satisfied, in units of the cube.
_SLACK = 1e-9
_ROUNDS = 200


def feature_corner(side: Side, region: Region, Z: FloatArray) -> Corner:
    """Solve the reading with a slack for each feature: a knapsack.

    Parameters
    ----------
    side, region, Z
        The half-space, the region and the points in it.

    Returns
    -------
    Corner
        Covers at least one point.
    """
    P, slack, ends = prices(side, region, Z)
    join = P.max(axis=0)
    budget = np.zeros_like(join)
    for i in np.argsort(ends, kind="stable"):
        budget[i] = min(join[i], slack - budget.sum())
    return polished_corner(side, region, Z, _just_above(budget, slack))


def separable_corner(side: Side, region: Region, Z: FloatArray) -> Corner:
    """Solve the reading with a slack for each point and feature: quantiles.

    Parameters
    ----------
    side, region, Z
        The half-space, the region and the points in it.

    Returns
    -------
    Corner
        Covers at least one point.
    """
    P, slack, ends = prices(side, region, Z)
    descending = -np.sort(-P, axis=0)
    columns = np.arange(P.shape[1])
    # Feature i cuts off about mu * cost_i points; the smallest mu that the slack pays for. Costs are relative to the
    # largest, and those below 1e-12 of it count as that: halving would not reach them in a hundred steps.
    costs = ends / max(ends.max(), float(np.finfo(np.float64).tiny))
    low, high = 0.0, len(P) / max(costs.min(initial=1.0, where=costs > 0), 1e-12)
    budget = descending[-1]
    for _ in range(100):
        mu = (low + high) / 2.0
        cut = np.minimum(mu * costs, len(P) - 1.0).astype(np.intp)
        tried = descending[cut, columns]
        if tried.sum() < slack:
            budget, high = tried, mu
        else:
            low = mu
    return polished_corner(side, region, Z, _just_above(budget, slack))


def point_corner(side: Side, region: Region, Z: FloatArray) -> Corner:
    """Solve the reading with a slack for each point, by rows that enter when they are violated.

    Parameters
    ----------
    side, region, Z
        The half-space, the region and the points in it.

    Returns
    -------
    Corner
        Covers at least one point.
    """
    P, slack, ends = prices(side, region, Z)
    if slack <= 0:
        return deepest_corner(side, Z)
    if ends.sum() <= slack:
        return polished_corner(side, region, Z, ends + 1.0)
    open_features = np.flatnonzero(ends > 0)
    Y, times = np.unique(P[:, open_features] / ends[open_features], axis=0, return_counts=True)
    x = _solve_by_rows(Y, times.astype(np.float64), ends[open_features] / slack)
    budget = np.zeros_like(ends)
    budget[open_features] = x * ends[open_features]
    return polished_corner(side, region, Z, _just_above(budget, slack))


def _solve_by_rows(Y: FloatArray, times: FloatArray, w: FloatArray) -> FloatArray:
    p, k = Y.shape
    program = Program(
        [
            Variables("x", k, lower=0.0, upper=1.0),
            Variables("y", p, lower=0.0, cost=times),
            Linear("budget", {"x": w[None]}, 1.0, 1.0),
        ]
    )
    session = Session(program, method="dual", tol=1e-9, presolve=False)
    present = np.zeros((p, k), dtype=np.bool_)
    for round_ in range(_ROUNDS):
        answer = session.solve(explain=False)
        x, y = answer.values["x"], answer.values["y"]
        violated = (Y - x - y[:, None] > _SLACK) & ~present
        worst = np.argmax(np.where(violated, Y - x, -np.inf), axis=1)
        points = np.flatnonzero(violated.any(axis=1))
        if not len(points):
            break
        features = worst[points]
        present[points, features] = True
        session.add_rows(_rows(f"cover{round_}", points, features, Y))
    return np.asarray(x)


def _rows(
    name: str,
    points: np.ndarray[tuple[int], np.dtype[np.intp]],
    features: np.ndarray[tuple[int], np.dtype[np.intp]],
    Y: FloatArray,
) -> Linear:
    """Return the rows x_i + y_j >= Y_ji for some points, one feature each."""
    ones, rows = np.ones(len(points)), np.arange(len(points))
    x = sparse.csr_array((ones, (rows, features)), shape=(len(points), Y.shape[1]))
    y = sparse.csr_array((ones, (rows, points)), shape=(len(points), len(Y)))
    return Linear(name, {"x": x, "y": y}, lower=Y[points, features])


def _just_above(budget: FloatArray, slack: float) -> FloatArray:
    """Let points on a face count as covered: they are admitted by the polish, which leaves them a margin."""
    return budget + 1e-9 * slack


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
