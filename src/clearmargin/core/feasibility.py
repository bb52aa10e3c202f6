"""Is {x : A x <= b} empty? Decided exactly, in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from clearmargin.core.value import BoolArray, FloatArray

__all__ = ["is_infeasible"]

Row = list[Fraction]


def is_infeasible(A: FloatArray, b: FloatArray, strict: BoolArray) -> bool:
    """Decide whether no x satisfies A x <= b, with < in the rows marked strict.

    The system is written with slacks, s = b - A x >= 0. A strict row gets the right-hand side b - epsilon
    with a symbolic, infinitely small epsilon > 0: each right-hand side is a pair (number, multiple of epsilon)
    and pairs compare like words in a dictionary. The free x are eliminated first; what remains are rows
    s_i = r_i + sum_j t_ij s_j over slacks alone. Then the least-index criss-cross method with a zero
    objective runs: take the first negative s_i, let the first s_j with t_ij > 0 replace it; if there is none, row i
    proves that the system has no solution (Farkas). The least index in both choices makes it finite (Terlaky 1985).

    Parameters
    ----------
    A : ndarray of shape (k, n)
        Left-hand sides.
    b : ndarray of shape (k,)
        Right-hand sides.
    strict : ndarray of bool of shape (k,)
        Which rows are strict.

    Returns
    -------
    bool
        True exactly when the system has no solution over the real numbers.

    Examples
    --------
    >>> A, b = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    >>> is_infeasible(A, b, np.array([False, False])), is_infeasible(A, b, np.array([True, False]))
    (False, True)
    """
    table = _eliminate(A, b, strict)
    return not _reach_nonnegative(table)


def _eliminate(
    A: FloatArray, b: FloatArray, strict: BoolArray
) -> dict[int, tuple[Row, dict[int, Fraction]]]:
    """Solve for as many slacks as possible in terms of the others, with all x gone.

    Returns, for each dependent slack i, its constant pair r_i and the coefficients t_ij of the free slacks.
    """
    used = np.flatnonzero(np.any(A != 0, axis=0))
    k, n = len(b), len(used)
    # Row i reads: sum_j A_ij x_j + s_i = b_i. Columns: x (n), s (k), constant (2).
    rows: list[Row] = []
    for i in range(k):
        slack = [Fraction(int(i == j)) for j in range(k)]
        constant = [Fraction(float(b[i])), Fraction(-int(strict[i]))]
        rows.append([Fraction(float(A[i, j])) for j in used] + slack + constant)
    free_rows = list(range(k))
    for j in range(n):
        pivot = next((i for i in free_rows if rows[i][j]), None)
        if pivot is None:
            continue
        free_rows.remove(pivot)  # this row now only defines x_j
        for i in free_rows:
            _subtract(rows[i], rows[pivot], j)
    return _solve_for_slacks(rows, free_rows, n, k)


def _subtract(row: Row, pivot: Row, column: int) -> None:
    factor = row[column] / pivot[column]
    if factor:
        for c, value in enumerate(pivot):
            if value:
                row[c] -= factor * value


def _solve_for_slacks(
    rows: list[Row], which: list[int], n: int, k: int
) -> dict[int, tuple[Row, dict[int, Fraction]]]:
    """Bring the rows sum_j c_j s_j = r to the form s_i = r_i + sum_j t_ij s_j by Gauss-Jordan."""
    basis: dict[int, int] = {}
    for i in which:
        column = next(c for c in range(n, n + k) if rows[i][c])
        scale = rows[i][column]
        rows[i] = [value / scale for value in rows[i]]
        for other in which:
            if other != i:
                _subtract(rows[other], rows[i], column)
        basis[column - n] = i
    return {
        s: (
            rows[i][-2:],
            {j: -rows[i][n + j] for j in range(k) if rows[i][n + j] and j not in basis},
        )
        for s, i in basis.items()
    }


def _reach_nonnegative(table: dict[int, tuple[Row, dict[int, Fraction]]]) -> bool:
    """Exchange slacks until all dependent ones are >= 0 (True) or one of them cannot be (False)."""
    while True:
        negative = min(
            (s for s, (r, _) in table.items() if r < [Fraction(0), Fraction(0)]), default=None
        )
        if negative is None:
            return True
        entering = min((j for j, t in table[negative][1].items() if t > 0), default=None)
        if entering is None:
            return False
        _exchange(table, negative, entering)


def _exchange(
    table: dict[int, tuple[Row, dict[int, Fraction]]], leaving: int, entering: int
) -> None:
    """Make `entering` dependent and `leaving` free."""
    constant, terms = table.pop(leaving)
    pivot = terms.pop(entering)
    # entering = (leaving - constant - other terms) / pivot
    new_constant = [-value / pivot for value in constant]
    new_terms = {j: -t / pivot for j, t in terms.items()}
    new_terms[leaving] = 1 / pivot
    for s, (r, row) in table.items():
        factor = row.pop(entering, None)
        if factor is None:
            continue
        for j, t in new_terms.items():
            row[j] = row.get(j, Fraction(0)) + factor * t
            if not row[j]:
                del row[j]
        table[s] = ([a + factor * c for a, c in zip(r, new_constant, strict=True)], row)
    table[entering] = (new_constant, new_terms)
