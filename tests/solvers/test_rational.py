from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from clearmargin.solvers import rational
from clearmargin.solvers.rational import (
    Rationals,
    SingularError,
    UndecidedError,
    WorkingMatrix,
    are_moderate,
    column_parts,
    exact_dot,
    exact_sum,
    scaled_integers,
)

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
LISTS = st.lists(st.tuples(FLOATS, FLOATS), max_size=12)


def product(matrix: np.ndarray, x: list[Fraction]) -> list[Fraction]:
    return [
        sum((Fraction(a) * v for a, v in zip(row, x, strict=True)), Fraction(0))
        for row in matrix.tolist()
    ]


@given(LISTS)
def test_sums_of_floats_and_of_their_products_are_exact(pairs):
    a, b = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    assert exact_sum(a) == sum((Fraction(v) for v in a.tolist()), Fraction(0))
    expected = sum((Fraction(u) * Fraction(v) for u, v in pairs), Fraction(0))
    assert exact_dot(a, b) == expected
    few = np.where(np.arange(len(a)) % 2 == 0, 0.1, -3.0)
    assert exact_dot(a, few) == product(a[None, :], [Fraction(v) for v in few.tolist()])[0]


@given(LISTS)
def test_floats_are_whole_numbers_times_a_power_of_two(pairs):
    values = np.array(pairs).reshape(-1, 2)
    integers, exponent = scaled_integers(values)
    assert integers.shape == values.shape
    for n, v in zip(integers.flat, values.flat, strict=True):
        assert n * Fraction(2) ** exponent == Fraction(float(v))


@pytest.mark.parametrize("quick", [1e9, 0.0])
def test_systems_are_solved_by_elimination_and_by_refinement(quick, monkeypatch):
    monkeypatch.setattr(rational, "_QUICK", quick)
    rng = np.random.default_rng(0)
    for k in (1, 2, 5, 9):
        matrix = rng.normal(size=(k, k)) * 10.0 ** rng.integers(-6, 7, size=(k, 1))
        matrix = matrix * 10.0 ** rng.integers(-3, 4, size=k)
        right = [Fraction(v) for v in rng.normal(size=k).tolist()]
        W = WorkingMatrix(matrix)
        assert W.is_exact == (quick > 0)
        for x, A in ((W.solve(right), matrix), (W.solve_transposed(right), matrix.T)):
            values = [x.fraction(i) for i in range(k)]
            slack = Fraction(x.error, x.denominator)
            # What is left is at most the error of the unknowns times the entries of a row.
            for row, found, wanted in zip(A, product(A, values), right, strict=True):
                assert abs(found - wanted) <= slack * sum(Fraction(abs(a)) for a in row.tolist())
            assert slack <= Fraction(1, 2**90) * max(abs(v) for v in values)


def test_refined_numbers_are_rounded_as_the_exact_ones_are(monkeypatch):
    rng = np.random.default_rng(1)
    for k in (3, 8):
        matrix = rng.integers(-9, 10, size=(k, k)) + np.eye(k) * 40.0
        x = [Fraction(int(v), 8) for v in rng.integers(1, 9, size=k)]
        x[0] = Fraction(0)
        x[1] = 1 + Fraction(1, 2**53)  # half way between two floats, a tie that goes to 1
        right = product(matrix, x)
        monkeypatch.setattr(rational, "_QUICK", 0.0)
        refined = WorkingMatrix(matrix).solve(right)
        monkeypatch.setattr(rational, "_QUICK", 1e9)
        exact = WorkingMatrix(matrix).solve(right)
        assert refined.error
        assert not exact.error
        assert exact.to_floats()[:2].tolist() == [0.0, 1.0]
        np.testing.assert_array_equal(refined.to_floats(), exact.to_floats())
        np.testing.assert_array_equal(refined.signs(), exact.signs())


def test_a_singular_matrix_is_told_from_one_that_is_nearly_so():
    nearly = np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]])
    assert WorkingMatrix(nearly).solve([Fraction(1), Fraction(1)]).to_floats().tolist() == [
        1.0,
        0.0,
    ]
    with pytest.raises(SingularError):
        WorkingMatrix(np.ones((2, 2)))


@pytest.mark.parametrize("axis", [0, 1])
def test_a_row_or_column_of_zeros_makes_a_large_matrix_singular(axis, monkeypatch):
    monkeypatch.setattr(rational, "_QUICK", 0.0)
    matrix = np.eye(5)
    matrix[(slice(None), 2) if axis else 2] = 0.0
    with pytest.raises(SingularError):
        WorkingMatrix(matrix)


def test_what_would_take_too_long_is_not_begun(monkeypatch):
    monkeypatch.setattr(rational, "_QUICK", 0.0)
    monkeypatch.setattr(rational, "_MOST", 0.0)
    with pytest.raises(UndecidedError):
        WorkingMatrix(np.ones((3, 3)))  # singular, so that nothing can be refined


def test_values_within_their_error_of_zero_count_as_zero():
    values = Rationals(np.array([3, -2, 7], dtype=object), 10, 3)
    assert values.signs().tolist() == [0, 0, 1]
    assert values.to_floats()[:2].tolist() == [0.0, 0.0]


_NUMBERS = st.floats(-1e60, 1e60).filter(lambda x: x == 0.0 or abs(x) > 1e-60)


@given(
    st.lists(st.tuples(_NUMBERS, _NUMBERS, st.sampled_from([0.3, -0.3, 2.0])), max_size=30),
    st.booleans(),
    st.booleans(),
)
def test_parts_of_sums_of_columns_add_up_without_rounding(rows, is_sparse, few_weights):
    values = np.array([row[:2] for row in rows]).reshape(-1, 2)
    weights = np.array([row[2] for row in rows])
    if not few_weights:
        weights = weights * (1.0 + np.arange(len(rows)) / 7.0)
    assert are_moderate(values, weights).all()
    parts = column_parts(sparse.csr_array(values) if is_sparse else values, weights)
    for j in range(2):
        pairs = zip(values[:, j].tolist(), weights.tolist(), strict=True)
        assert exact_sum(parts[:, j]) == sum(Fraction(a) * Fraction(c) for a, c in pairs)


def test_rows_whose_products_leave_the_floats_are_told_apart():
    values = np.array([[1.0, 0.0], [1e-200, 1.0], [1.0, 1e200], [2.0, 2.0]])
    weights = np.array([1.0, 1.0, 1.0, 1e-300])
    expected = [True, False, False, False]
    assert are_moderate(values, weights).tolist() == expected
    assert are_moderate(sparse.csr_array(values), weights).tolist() == expected
