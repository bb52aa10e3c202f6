"""Emptiness of polyhedra against elimination, against linear programming and on knife edges."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

from clearmargin.rules.polyhedron import is_infeasible

entries = st.sampled_from([-3.0, -1.0, -0.1, 0.0, 0.0, 0.1, 0.5, 1.0, 2.0, 1e-300, 1e300])
limits = st.sampled_from([-1.0, -0.1, 0.0, 0.0, 0.1, 1.0, 3.0, 5e-324])


def margin(A, b):
    """How far the rows can be kept away from by one point (negative: by how much they must be relaxed)."""
    norms = np.linalg.norm(A, axis=1)
    found = linprog(
        np.r_[np.zeros(A.shape[1]), -1.0],
        A_ub=np.c_[A, norms],
        b_ub=b,
        bounds=[(None, None)] * A.shape[1] + [(None, 1.0)],
    )
    assert found.status == 0
    return found.x[-1]


@given(data=st.data())
def test_small_systems_are_decided_as_by_elimination(data, has_solution):
    n, k = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 6))
    row = st.lists(entries, min_size=n, max_size=n)
    A = np.array(data.draw(st.lists(row, min_size=k, max_size=k)))
    b = np.array(data.draw(st.lists(limits, min_size=k, max_size=k)))
    strict = np.array(data.draw(st.lists(st.booleans(), min_size=k, max_size=k)))
    assert is_infeasible(A, b, strict) is not has_solution(A, b, strict)


@given(data=st.data())
def test_rows_through_one_point_are_decided_as_by_elimination(data, has_solution):
    """All rows are tight at one rational point, so that strictness alone decides."""
    n, k = data.draw(st.integers(1, 3)), data.draw(st.integers(2, 6))
    whole = st.integers(-3, 3).map(float)
    A = np.array(
        data.draw(st.lists(st.lists(whole, min_size=n, max_size=n), min_size=k, max_size=k))
    )
    point = np.array(data.draw(st.lists(whole, min_size=n, max_size=n))) / 8
    strict = np.array(data.draw(st.lists(st.booleans(), min_size=k, max_size=k)))
    assert is_infeasible(A, A @ point, strict) is not has_solution(A, A @ point, strict)


@given(st.integers(0, 2**32 - 1))
def test_larger_systems_are_decided_as_by_linear_programming(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    k = int(rng.integers(n + 1, 3 * n + 2))
    A = rng.normal(size=(k, n)).round(int(rng.integers(0, 4)))
    A[~A.any(axis=1)] = 1.0
    b = rng.normal(size=k) + rng.choice([-0.5, 0.0, 0.5])
    distance = margin(A, b)
    assume(abs(distance) > 1e-6)
    for strict in (np.zeros(k, dtype=bool), np.ones(k, dtype=bool)):
        assert is_infeasible(A, b, strict) is bool(distance < 0)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_a_farkas_combination_makes_a_system_infeasible_and_nothing_less(seed, strict_one):
    """Rows that add up to 0 x <= 0 hold with equality only: one strict row more and nothing is left."""
    rng = np.random.default_rng(seed)
    n, k = 4, 6
    A = rng.integers(-4, 5, size=(k - 1, n)).astype(float)
    A[~A.any(axis=1)] = 1.0
    A = np.vstack([A, -A.sum(axis=0)])
    assume(A[-1].any())
    point = rng.integers(-4, 5, size=n) / 16
    strict = np.zeros(k, dtype=bool)
    strict[rng.integers(k)] = strict_one
    assert is_infeasible(A, A @ point, strict) is strict_one


LINE = [[1.0, 0.0], [-1.0, 0.0]]
KNIFE_EDGES = {
    "equality": (LINE, [1, -1], [0, 0], False),
    "equality with a strict side": (LINE, [1, -1], [0, 1], True),
    "equality off by one subnormal": (LINE, [0, -5e-324], [0, 0], True),
    "two strict sides with room of one subnormal": (LINE, [5e-324, 0], [1, 1], False),
    "a third that no float is": ([[3.0], [-3.0]], [1, -1], [0, 0], False),
    "a third, strict": ([[3.0], [-3.0]], [1, -1], [1, 0], True),
    "0.1 + 0.2 is not 0.3": ([[0.1, 0.2], [-1, 0], [0, -1]], [0.3, -1, -1], [0, 0, 0], True),
    "strict triangle that is one point": (
        [[1, 1], [-1, 0], [0, -1]],
        [0, 0, 0],
        [1, 0, 0],
        True,
    ),
    "closed triangle that is one point": (
        [[1, 1], [-1, 0], [0, -1]],
        [0, 0, 0],
        [0, 0, 0],
        False,
    ),
    "open cone": ([[1, -1], [-1, -1]], [0, 0], [1, 1], False),
    "huge and tiny weights": ([[1e300, 1], [-1e300, -1]], [1e-300, -1e-300], [0, 0], False),
    "overflow when scaled": ([[1e-300], [-1e300]], [1e300, -1e300], [0, 0], False),
    "a hair apart": ([[1, 1e-16], [-1, -1e-16]], [1, np.nextafter(-1, -2)], [0, 0], True),
    "no row": (np.empty((0, 2)), [], [], False),
    "a row without a variable that holds": ([[0.0]], [0], [0], False),
    "a row without a variable that fails": ([[0.0]], [0], [1], True),
}


@pytest.mark.parametrize("name", KNIFE_EDGES)
def test_knife_edges(name, has_solution):
    A, b, strict, empty = KNIFE_EDGES[name]
    A, b, strict = np.array(A, float), np.array(b, float), np.array(strict, bool)
    assert is_infeasible(A, b, strict) is empty
    assert has_solution(A, b, strict) is not empty


def test_the_order_of_rows_and_columns_does_not_matter():
    A = np.array([[1, 1, 0], [-1, 0, 1], [0, -1, -1], [1, -2, 3], [0, 0, -1.0]])
    b = np.array([0, 0, 0, 1, 0.0])
    for strict in ([0, 0, 0, 0, 0], [1, 0, 0, 0, 0]):
        flags = np.array(strict, bool)
        answers = {
            is_infeasible(A[list(rows)][:, list(columns)], b[list(rows)], flags[list(rows)])
            for rows in itertools.permutations(range(5))
            for columns in itertools.permutations(range(3))
        }
        assert answers == {bool(strict[0])}


def degenerate():
    """Systems on which pivoting rules are known to cycle or to wander."""
    # Beale's example: x >= 0 in the four variables, three rows, and the objective at its optimum, -1/20.
    beale = np.array([[0.25, -60, -0.04, 9], [0.5, -90, -0.02, 3], [0, 0, 1, 0]])
    cost = np.array([[-0.75, 150, -0.02, 6]])
    A = np.vstack([beale, -np.eye(4), cost])
    # The decimals are floats: -1/20 itself may be out of reach by a rounding error, so leave room.
    yield "Beale", A, np.r_[0, 0, 1, np.zeros(4), -0.049], False
    yield "Beale beyond its optimum", A, np.r_[0, 0, 1, np.zeros(4), -0.051], True
    n = 8
    cube = np.vstack([np.tril(np.full((n, n), 2.0), -1) + np.eye(n), -np.eye(n)])
    cube[:n, :n] = [
        [2.0 ** (i - j + 1) if j < i else float(i == j) for j in range(n)] for i in range(n)
    ]
    top = np.r_[[5.0**i for i in range(1, n + 1)], np.zeros(n)]
    yield "Klee-Minty", cube, top, False
    goal = -np.array([[2.0 ** (n - 1 - j) for j in range(n)]])
    yield "Klee-Minty at its optimum", np.vstack([cube, goal]), np.r_[top, -(5.0**n)], False
    yield "Klee-Minty beyond it", np.vstack([cube, goal]), np.r_[top, -(5.0**n) - 1], True
    rows = np.vstack([np.eye(5), -np.eye(5)] * 6)
    yield "sixfold rows", rows, np.zeros(60), False
    ring = np.eye(12) - np.roll(np.eye(12), 1, axis=1)
    yield "x1 <= x2 <= ... <= x1", ring, np.zeros(12), False
    yield "x1 <= x2 <= ... <= x1 - 1", ring, np.r_[np.zeros(11), -1.0], True


@pytest.mark.parametrize(("name", "A", "b", "empty"), list(degenerate()))
def test_degenerate_systems_end_with_the_right_answer(name, A, b, empty):
    assert is_infeasible(A, b, np.zeros(len(b), bool)) is empty, name


@pytest.mark.parametrize("seed", range(3))
def test_forty_rows_in_twenty_dimensions_are_decided(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(40, 20))
    b = rng.normal(size=40) + (0.5 - seed / 2)
    assert is_infeasible(A, b, np.zeros(40, bool)) is bool(margin(A, b) < 0)


def test_the_boundary_is_found_to_the_last_bit():
    """x + y >= 1/3 + 1/5 (as floats) against x <= 1/3, y <= 1/5: feasible exactly up to the exact sum."""
    third, fifth = 1 / 3, 1 / 5
    exact = Fraction(third) + Fraction(fifth)
    nearest = float(exact)
    A = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    for goal in (np.nextafter(nearest, 0), nearest, np.nextafter(nearest, 1)):
        b = np.array([third, fifth, -goal])
        assert is_infeasible(A, b, np.zeros(3, bool)) is (Fraction(float(goal)) > exact)
