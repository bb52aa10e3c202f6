"""The box with the largest point coverage by the published program.

Fung, Sandilya and Rao (KDD 2005, eq. 17) approximate point coverage by slacks, in coordinates in which the region is
the unit cube, Y_ji = (z_ji - near_i) / (far_i - near_i), and a step along feature i costs w_i = a_i (far_i - near_i) /
s, where s is the slack of its near corner::

    minimise    sum y
    subject to  Y_ji - y <= x_i,    w'x = 1,    0 <= x <= 1,    y >= 0

The text leaves open to what a slack belongs. Here it is a point, y_j: minimise sum_j max_i (Y_ji - x_i)_+, a linear
program with a row for each point and feature, of which few matter; rows enter when they are violated. Its raw corner
has faces at data values or at zero, and is polished (`coverage_corner`).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from clearmargin.plane_rules.coverage_corner import polished_corner, prices
from clearmargin.plane_rules.side import Corner, Region, Side
from clearmargin.plane_rules.volume_corner import deepest_corner
from clearmargin.rules.value import FloatArray
from clearmargin.solvers import Linear, Program, Session, Variables

# What a row may be violated by and still count as satisfied, in units of the cube.
_SLACK = 1e-9
_ROUNDS = 200


def point_corner(side: Side, region: Region, Z: FloatArray) -> Corner:
    """Solve the program of the paper, by rows that enter when they are violated."""
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
    session = Session(program, tol=1e-9, presolve=False)
    present = np.zeros((p, k), dtype=np.bool_)
    for round_ in range(_ROUNDS):
        answer = session.solve()
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
