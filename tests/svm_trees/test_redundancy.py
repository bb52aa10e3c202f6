from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, lsq_linear

from clearmargin.svm_trees import leaf_rules as redundancy
from clearmargin.svm_trees.leaf_rules import (
    is_implied,
    is_void,
    needed_rows,
    nonnegative_least_squares,
)


def largest(V, row):
    """max row'z over V z <= 1, by linear programming."""
    answer = linprog(-row, A_ub=V, b_ub=np.ones(len(V)), bounds=(None, None), method="highs")
    # The origin is feasible, so that a program without an answer has no bound, whatever it is called.
    return np.inf if answer.fun is None else -answer.fun


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


@pytest.mark.parametrize("answer", ["too good", "negative", "not found"])
def test_a_solver_that_is_wrong_about_its_answer_changes_nothing(monkeypatch, answer):
    def wrong(A, b):
        if answer == "not found":
            raise RuntimeError("Maximum number of iterations reached.")
        x = np.full(A.shape[1], 0.01 if answer == "too good" else -1.0)
        return x, 0.0  # the residual that it claims

    rows = [voronoi_rows(np.random.default_rng(s), 25, 3, lattice=s % 2 == 0) for s in range(6)]
    expected = [needed_rows(V).tolist() for V in rows]
    monkeypatch.setattr(redundancy, "nnls", wrong)
    assert [needed_rows(V).tolist() for V in rows] == expected
    A = np.array([[1.0], [-1.0]])
    assert is_void(A, np.array([1.0, -2.0]))
    assert not is_void(A, np.array([1.0, -1.0]))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 12))
def test_our_own_least_squares_is_that_of_another_solver_and_its_error_is_no_claim(seed, n, k):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(n, k)), rng.normal(size=n)
    x, left, error = nonnegative_least_squares(A, b)
    ours = redundancy._active_set(A, b)
    assert (ours >= 0).all()
    bounded = lsq_linear(A, b, (0.0, np.inf), method="bvls", tol=1e-14)
    length = np.linalg.norm(b - A @ bounded.x)
    assert np.linalg.norm(b - A @ ours) == pytest.approx(length, abs=1e-6)
    assert error == pytest.approx(length, abs=1e-6)
    assert error >= np.linalg.norm(left)
    assert (x >= 0).all()


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
