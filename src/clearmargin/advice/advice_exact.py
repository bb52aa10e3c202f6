"""The one plane of a knowledge-based support vector machine: the exact optimum of `advice_dual`, rounded once.

As in `lpsvm_exact` the limits of the rows are widened by infinitesimals, those of the last feature most, then those of
the others, of the balance, and of the rows of the premises in their order. Of several optimal solutions that leaves the
one with the lexicographically smallest (|w_n|, ..., |w_1|, |b|), and after these with the smallest multipliers of the
premises; b is that of the scaled points. It does not depend on the order of the points.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from clearmargin.advice.advice_svm import AdvicePlane, AdviceProblem, ExactPlane
from clearmargin.solvers import Session
from clearmargin.solvers.compiled import column_slices, compile_program, row_slices
from clearmargin.solvers.exact import ExactProgram, ExactVertex, exact_optimum
from clearmargin.solvers.rational import SingularError, UndecidedError
from clearmargin.solvers.solution import Solution

__all__ = ["exact_advice"]


def exact_advice(problem: AdviceProblem, session: Session, near: Solution) -> AdvicePlane | None:
    """Find the one plane, from where a solver in floating point ended.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises.
    session : Session
        The session that solved `advice_dual`.
    near : Solution
        What it found.

    Returns
    -------
    AdvicePlane or None
        The plane, rounded once; None where that would take too long.
    """
    program = session.program
    data = compile_program(program)
    columns, rows = session.basic()
    places, row_places = column_slices(program), row_slices(program.linear)
    basic = [places[name].start + int(i) for name, index in columns.items() for i in index]
    inactive = [row_places[name].start + int(i) for name, index in rows.items() for i in index]
    limits = np.delete(np.arange(len(data.row_lower)), inactive).tolist()
    if len(limits) != len(basic):
        return None
    x = np.concatenate([near.values[name] for name in places])
    exact = ExactProgram(
        data.A,
        data.c,
        data.lower,
        data.upper,
        data.row_lower,
        data.row_upper,
        _ranks(problem, row_places, len(data.row_lower)),
    )
    try:
        vertex = exact_optimum(
            exact,
            basic,
            limits,
            _is_nearer_above(x, data.lower, data.upper),
            _is_nearer_above(np.asarray(data.A @ x), data.row_lower, data.row_upper),
        )
    except (SingularError, UndecidedError):
        return None
    return _plane(problem, vertex, row_places)


def _is_nearer_above(
    value: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray(np.abs(high - value) < np.abs(value - low), dtype=np.bool_)


def _ranks(
    problem: AdviceProblem, places: dict[str, slice], size: int
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    n = problem.n_features
    rank = np.full(size, -1, dtype=np.intp)
    for name in ("weights", "above", "below"):
        if name in places:
            rank[places[name]] = np.arange(n)[::-1]
    rank[places["balance"]] = n
    if "premises" in places:
        rank[places["premises"]] = n + 1 + np.arange(len(problem.premises.d))
    return rank


def _plane(problem: AdviceProblem, vertex: ExactVertex, places: dict[str, slice]) -> AdvicePlane:
    """Read plane and multipliers out of the multipliers of the rows, as `read_dual` does."""
    n = problem.n_features
    values = {r: -vertex.y.short_fraction(i) for i, r in enumerate(vertex.rows)}
    rounded = dict(zip(vertex.rows, vertex.y.to_floats().tolist(), strict=True))
    w, u = [Fraction(0)] * n, np.zeros(len(problem.premises.d))
    for name in ("weights", "above", "below"):
        for j, r in enumerate(_range(places.get(name))):
            w[j] += values.get(r, Fraction(0))
    for k, r in enumerate(_range(places.get("premises"))):
        u[k] = max(0.0, 0.0 - rounded.get(r, 0.0))
    b = values.get(places["balance"].start, Fraction(0))
    weights, intercept = np.array([float(v) for v in w]), float(b)
    plane = AdvicePlane(weights, intercept, u, problem.objective(weights, intercept, u))
    return replace(plane, exact=ExactPlane(tuple(w), b))


def _range(place: slice | None) -> range:
    return range(0) if place is None else range(place.start, place.stop)
