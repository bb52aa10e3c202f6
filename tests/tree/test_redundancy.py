from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from clearmargin.tree.redundancy import is_implied, is_void, needed_rows


def largest(V, row):
    """max row'z over V z <= 1, by linear programming."""
    answer = linprog(-row, A_ub=V, b_ub=np.ones(len(V)), bounds=(None, None), method="highs")
    return np.inf if answer.status == 3 else -answer.fun


def voronoi_rows(rng, k, n, *, lattice):
    others = rng.integers(-3, 4, (k, n)).astype(float) if lattice else rng.normal(size=(k, n))
    others = np.unique(others, axis=0)
    others = others[np.any(others != 0, axis=1)]
    return 2 * others / (others**2).sum(axis=1, keepdims=True)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 45), st.booleans())
def test_rows_are_dropped_exactly_when_a_linear_program_finds_room(seed, n, k, lattice):
    V = voronoi_rows(np.random.default_rng(seed), k, n, lattice=lattice)
    kept = needed_rows(V)
    for i in np.flatnonzero(~kept):
        assert largest(V[kept], V[i]) <= 1 - 0.9e-6
    for i in np.flatnonzero(kept):
        rest = kept.copy()
        rest[i] = False
        assert largest(V[rest], V[i]) > 1 - 2e-6


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.floats(0.01, 3.0))
def test_a_row_follows_when_it_holds_with_room_to_spare(seed, n, size):
    rng = np.random.default_rng(seed)
    V = voronoi_rows(rng, 15, n, lattice=False)
    row = size * rng.normal(size=n)
    most = largest(V, row)
    if abs(most - 1) > 1e-5:
        assert is_implied(V, row) == (most < 1)


def test_nothing_follows_from_nothing_but_the_trivial_row():
    none = np.empty((0, 2))
    assert not is_implied(none, np.array([0.0, 1e-9]))
    assert is_implied(none, np.zeros(2))
    assert needed_rows(none).tolist() == []


def test_a_row_that_only_touches_a_corner_stays():
    # (1, 1) touches the square |x|, |y| <= 1 at its corner: without it the corner's tie would be decided otherwise.
    V = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.5, 0.5]])
    assert needed_rows(V).all()
    assert needed_rows(V * [[1], [1], [1], [1], [0.99]]).tolist() == [True] * 4 + [False]


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 8))
def test_inequalities_are_void_when_a_linear_program_finds_no_point(seed, n, k):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(k, n)), rng.normal(-0.3, 1, k)
    # The largest t with A z + t <= b is negative exactly when there is no z.
    answer = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.column_stack([A, np.ones(k)]),
        b_ub=b,
        bounds=[(None, None)] * n + [(None, 1.0)],
    )
    if abs(answer.fun) > 1e-6:
        assert is_void(A, b) == (-answer.fun < 0)


def test_no_inequality_is_never_void():
    assert not is_void(np.empty((0, 2)), np.empty(0))
