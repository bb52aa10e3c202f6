"""Is {x : A x <= b} empty? Decided exactly, in whole numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["is_infeasible"]

Row = list[int]


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
    used = A[:, np.any(A != 0, axis=0)]
    table = _Table([_whole(*row) for row in zip(used, b, strict, strict=True)], used.shape[1])
    table.eliminate_variables()
    return not table.reach_nonnegative()


def _whole(row: FloatArray, limit: float, strict: bool) -> Row:
    """Write s = limit - row.x in whole numbers: multiply by a power of two, which keeps the inequality.

    The entries are the coefficients of x, the constant and the multiple of epsilon (any negative one will do).
    """
    exact = [-Fraction(a) for a in row.tolist()] + [Fraction(float(limit))]
    scale = max(value.denominator for value in exact)
    return [int(value * scale) for value in exact] + [-int(strict)]


class _Table:
    """Dependent quantities as linear forms in the free ones: dependent_i = rows[i] . (free, 1, epsilon) / divisor.

    All entries are minors of the first table, so they stay whole numbers of modest size, and the division by
    the last pivot leaves no remainder (Edmonds 1967; Bareiss 1968).
    """

    def __init__(self, rows: list[Row], n_variables: int):
        self.rows = rows
        self.divisor = 1
        # Quantities are numbered: slacks from 0, variables from -1 downwards.
        self.dependent = list(range(len(rows)))
        self.free = [-1 - j for j in range(n_variables)]

    def eliminate_variables(self) -> None:
        """Solve for one variable after the other and drop its row: a variable may have any sign."""
        for column in range(len(self.free)):
            row = next((i for i, entries in enumerate(self.rows) if entries[column]), None)
            if row is not None:
                self._exchange(row, column)
                del self.rows[row], self.dependent[row]

    def reach_nonnegative(self) -> bool:
        """Exchange slacks until all dependent ones are >= 0 (True) or one of them cannot be (False)."""
        while True:
            negative = [(s, i) for i, s in enumerate(self.dependent) if self.rows[i][-2:] < [0, 0]]
            if not negative:
                return True
            row = min(negative)[1]
            raising = [(s, c) for c, s in enumerate(self.free) if self.rows[row][c] > 0]
            if not raising:
                return False
            self._exchange(row, min(raising)[1])

    def _exchange(self, row: int, column: int) -> None:
        """Make the free quantity of a column dependent, and the dependent quantity of a row free."""
        pivot_row = self.rows[row]
        pivot, sign = pivot_row[column], 1 if pivot_row[column] > 0 else -1
        for i, entries in enumerate(self.rows):
            if i != row:
                factor = sign * entries[column]
                entries[:] = [
                    (abs(pivot) * a - factor * p) // self.divisor
                    for a, p in zip(entries, pivot_row, strict=True)
                ]
                entries[column] = factor
        pivot_row[:] = [-sign * p for p in pivot_row]
        pivot_row[column] = sign * self.divisor
        self.divisor = abs(pivot)
        self.dependent[row], self.free[column] = self.free[column], self.dependent[row]
