"""The exact simplex method, from a basis that is far from the optimum, against a solver in floating point."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from clearmargin.solvers.exact import ExactProgram, UndecidedError, exact_optimum

INF = np.inf


@st.composite
def programs(draw):
    """Small programs with bounded and free unknowns, and with rows of all kinds."""
    n, r = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    whole = lambda low, high, k: np.array(
        draw(st.lists(st.integers(low, high), min_size=k, max_size=k)), dtype=float
    )
    A, c = whole(-3, 3, r * n).reshape(r, n), whole(-3, 3, n)
    lower, upper = np.zeros(n), whole(1, 5, n)
    free = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    # A free unknown that costs something has no best value before the rows are looked at.
    lower[free], upper[free], c[free] = -INF, INF, 0.0
    low = whole(-4, 4, r)
    kinds = draw(st.lists(st.sampled_from("<>=r"), min_size=r, max_size=r))
    high = np.array(
        [v + {"=": 0, "r": 2}.get(kind, INF) for v, kind in zip(low, kinds, strict=True)]
    )
    swapped = np.array([kind == "<" for kind in kinds])
    low[swapped], high[swapped] = -INF, low[swapped]
    rank = np.where(low == high, -1, np.arange(r)) if draw(st.booleans()) else np.full(r, -1)
    return ExactProgram(sparse.csc_array(A), c, lower, upper, low, high, rank)


@given(programs())
@settings(max_examples=80)
def test_the_exact_optimum_is_that_of_a_solver_in_floating_point(program):
    n, r = len(program.c), len(program.row_lower)
    A = program.A.toarray()
    over, under = np.isfinite(program.row_upper), np.isfinite(program.row_lower)
    solved = linprog(
        program.c,
        np.vstack([A[over], -A[under]]),
        np.append(program.row_upper[over], -program.row_lower[under]),
        bounds=list(zip(program.lower, program.upper, strict=True)),
    )
    start = program, [], [], np.zeros(n, bool), np.zeros(r, bool)
    if solved.status != 0:
        with pytest.raises(UndecidedError):
            exact_optimum(*start)
        return
    found = exact_optimum(*start)
    bound = np.where(found.at_upper, program.upper, program.lower)
    x = [Fraction(float(v)) if np.isfinite(v) else Fraction(0) for v in bound]
    for i, j in enumerate(found.columns):
        x[j] = found.x.fraction(i)
    value = sum(Fraction(a) * b for a, b in zip(program.c.tolist(), x, strict=True))
    assert float(value) == pytest.approx(solved.fun, abs=1e-8)
    sums = [sum(Fraction(a) * b for a, b in zip(row, x, strict=True)) for row in A.tolist()]
    assert all(
        a <= s <= b for a, s, b in zip(program.row_lower, sums, program.row_upper, strict=True)
    )
    assert all(a <= s <= b for a, s, b in zip(program.lower, x, program.upper, strict=True))
    if found.n_steps:
        with pytest.raises(UndecidedError):
            exact_optimum(*start, most=found.n_steps)
