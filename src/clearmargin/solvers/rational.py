"""Exact arithmetic on floats: sums, systems of equations, and rationals that are known to within a bound.

A finite float is a whole number times a power of two, so that sums, products and solutions of linear systems over
floats are rationals that Python's whole numbers can hold. Small systems are solved outright by elimination without
fractions. The numbers in it grow with the system; of a large one the solution is refined, digit by digit, to some sixty
digits, with a bound on what is left. `Rationals` holds either. What is zero within the bound counts as zero: two
numbers of a table that agree to sixty digits are equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from clearmargin.solvers.large_value import FloatArray

__all__ = [
    "Integers",
    "Rationals",
    "SingularError",
    "UndecidedError",
    "WorkingMatrix",
    "are_moderate",
    "column_parts",
    "exact_dot",
    "exact_sum",
    "scaled_integers",
]

Integers: TypeAlias = NDArray[Any]  # of Python's whole numbers

_EPS = float(np.finfo(np.float64).eps)
# Sums of halves of mantissas, below 2^27 each, are exact floats for up to 2^26 terms.
_HALF = 27
# Beyond these magnitudes a product of two floats, or its rounding error, may over- or underflow.
_LARGE, _SMALL = 2.0**480, 2.0**-480
# Between these magnitudes (or at zero) products and their rounding errors are floats, and sums of many do not overflow.
_MODERATE = 2.0**400
# Weights of up to so many values are taken out of a sum of products; more are multiplied one by one.
_FEW = 4
# Seconds that elimination takes for each unit of `_work`, measured; only its order of magnitude matters.
_UNIT = 9e-9
# Refinement is faster than elimination from here on, in seconds of elimination.
_QUICK = 0.01
# Where refinement gains no digits, elimination may take this long, in seconds.
_MOST = 10.0
# Bits after the point of a refined solution, and how many of the last are not relied on.
_BITS, _SPARE = 240, 30
# Each step gains the digits that the condition of the system leaves, at least a few bits.
_MOST_STEPS = 120


class SingularError(ArithmeticError):
    """The equations do not have exactly one solution."""


class UndecidedError(ArithmeticError):
    """An exact answer would take too long."""


def scaled_integers(values: FloatArray) -> tuple[Integers, int]:
    """Write finite floats as whole numbers times one power of two.

    Parameters
    ----------
    values : ndarray
        Finite floats of any shape.

    Returns
    -------
    integers : ndarray of object
        Whole numbers, of the same shape.
    exponent : int
        ``values == integers * 2**exponent``, exactly.

    Examples
    --------
    >>> scaled_integers(np.array([0.5, 3.0]))
    (array([1, 6], dtype=object), -1)
    """
    flat = np.asarray(values, dtype=np.float64).ravel()
    mantissa, exponent = np.frexp(flat)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    used = whole != 0
    if not used.any():
        return np.zeros(np.shape(values), dtype=object), 0
    lowest = whole & -whole
    zeros = np.frexp(lowest.astype(np.float64))[1] - 1
    places = exponent.astype(np.int64) - 53
    least = int((places + zeros)[used].min())
    shifts = np.where(used, places - least, 0)
    integers = np.empty(flat.size, dtype=object)
    integers[:] = [
        n << s if s >= 0 else n >> -s for n, s in zip(whole.tolist(), shifts.tolist(), strict=True)
    ]
    return integers.reshape(np.shape(values)), least


def exact_sum(values: FloatArray) -> Fraction:
    """Add up floats without rounding.

    Parameters
    ----------
    values : ndarray of shape (m,)
        Finite floats.

    Returns
    -------
    Fraction
        Their sum.

    Examples
    --------
    >>> exact_sum(np.array([1e30, 1.0, -1e30]))
    Fraction(1, 1)
    """
    if not len(values):
        return Fraction(0)
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    least = int(exponent.min())
    place = exponent - least
    high = np.bincount(place, weights=(whole >> _HALF).astype(np.float64))
    low = np.bincount(place, weights=(whole & ((1 << _HALF) - 1)).astype(np.float64))
    total = 0
    for k in np.flatnonzero((high != 0) | (low != 0)).tolist():
        total += ((int(high[k]) << _HALF) + int(low[k])) << k
    return _scaled(total, least - 53)


def exact_dot(values: FloatArray, weights: FloatArray) -> Fraction:
    """Add up products of floats without rounding.

    Parameters
    ----------
    values, weights : ndarray of shape (m,)
        Finite floats.

    Returns
    -------
    Fraction
        ``sum(values * weights)``, exactly.

    Examples
    --------
    >>> exact_dot(np.array([0.1, -0.1]), np.array([3.0, 3.0]))
    Fraction(0, 1)
    """
    used = (weights != 0) & (values != 0)
    values, weights = values[used], weights[used]
    different = np.unique(weights[: 2 * _FEW])
    if len(different) <= _FEW and np.isin(weights, different).all():
        parts = (exact_sum(values[weights == one]) * Fraction(float(one)) for one in different)
        return sum(parts, Fraction(0))
    sizes = np.abs(values), np.abs(weights)
    if any(float(s.max()) > _LARGE or float(s.min()) < _SMALL for s in sizes):
        pairs = zip(values.tolist(), weights.tolist(), strict=True)
        return sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))
    product, rest = _two_product(values, weights)
    return exact_sum(product) + exact_sum(rest)


def are_moderate(values: Any, weights: FloatArray) -> NDArray[np.bool_]:
    """Tell which rows `column_parts` can add up: no entry is so large or so small that products leave the floats.

    Parameters
    ----------
    values : ndarray or sparse matrix of shape (m, n)
        Finite floats.
    weights : ndarray of shape (m,)
        Finite floats.

    Returns
    -------
    ndarray of bool of shape (m,)
        For each row.

    Examples
    --------
    >>> are_moderate(np.array([[1.0], [1e-200], [0.0]]), np.ones(3))
    array([ True, False,  True])
    """
    if isinstance(values, np.ndarray):
        sizes = np.abs(values, dtype=np.float64)
        odd = ((sizes >= _MODERATE) | ((sizes <= 1.0 / _MODERATE) & (sizes > 0.0))).any(axis=1)
    else:
        rows = values.tocsr()
        sizes = np.abs(rows.data)
        odd = np.zeros(rows.shape[0], dtype=np.bool_)
        wrong = (sizes >= _MODERATE) | ((sizes <= 1.0 / _MODERATE) & (sizes > 0.0))
        odd[np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[wrong]] = True
    sizes = np.abs(weights)
    return ~(odd | (sizes >= _MODERATE) | ((sizes <= 1.0 / _MODERATE) & (sizes > 0.0)))


def column_parts(values: Any, weights: FloatArray) -> FloatArray:
    """Give a few floats for each column that add up, without rounding, to its sum of products with the weights.

    What is added up piece by piece, here and there, can so be put together without rounding: by `exact_sum` of all
    parts. Each part is a sum of the leading digits of all entries, to so few of them that none is lost (Rump, Ogita and
    Oishi, SIAM Journal on Scientific Computing 31, 2008); what is left of the entries is the next one's.

    Parameters
    ----------
    values : ndarray or sparse matrix of shape (m, n)
        Rows that are moderate (`are_moderate`).
    weights : ndarray of shape (m,)
        Weights of the rows.

    Returns
    -------
    ndarray of shape (k, n)
        Parts; their number depends on the entries.

    Examples
    --------
    >>> parts = column_parts(np.array([[1e30], [1.0], [-1e30]]), np.ones(3))
    >>> exact_sum(parts[:, 0])
    Fraction(1, 1)
    """
    n = values.shape[1]
    found: list[FloatArray] = []
    sizes = np.unique(np.abs(weights[: 2 * _FEW]))
    if len(sizes) <= _FEW and np.isin(np.abs(weights), sizes).all():
        for size in sizes[sizes > 0.0].tolist():
            chosen = np.flatnonzero(np.abs(weights) == size)
            some = values if len(chosen) == len(weights) else values[chosen]
            for part in _extracted(_signed(some, weights[chosen] < 0.0), n):
                found += _two_product(part, np.full(n, size))
    else:
        for entries in _products(values, weights):
            found += _extracted(entries, n)
    return np.array(found, dtype=np.float64).reshape(-1, n)


def _signed(values: Any, negative: NDArray[np.bool_]) -> Any:
    """Return rows as columns, those with a negative weight with the opposite sign; of a sparse matrix its entries."""
    sign = np.where(negative, -1.0, 1.0)
    if isinstance(values, np.ndarray):
        return np.ascontiguousarray(values.T, dtype=np.float64) * sign
    rows = values.tocsr()
    return rows.data * np.repeat(sign, np.diff(rows.indptr)), rows.indices


def _products(values: Any, weights: FloatArray) -> Iterator[Any]:
    """Return the products of rows with their weights as columns, and what their rounding lost."""
    if isinstance(values, np.ndarray):
        columns = np.ascontiguousarray(values.T, dtype=np.float64)
        yield from _two_product(columns, weights[None, :])
        return
    rows = values.tocsr()
    for part in _two_product(rows.data, np.repeat(weights, np.diff(rows.indptr))):
        yield part, rows.indices


def _extracted(entries: Any, n: int) -> list[FloatArray]:
    """Add up columns (the rows of an array, or entries with the number of their column) by leading digits."""
    found = []
    if isinstance(entries, tuple):
        rest, column = entries
        while rest.any():
            high = _leading(rest)
            found.append(np.bincount(column, weights=high, minlength=n).astype(np.float64))
            rest = rest - high
        return found
    rest = entries
    while rest.size and rest.any():
        total = np.zeros(n)
        for j, column in enumerate(rest):
            high = _leading(column)
            total[j] = high.sum()
            np.subtract(column, high, out=column)
        found.append(total)
        left = rest.any(axis=0)
        if 2 * np.count_nonzero(left) < len(left):
            rest = np.ascontiguousarray(rest[:, left])
    return found


def _leading(values: FloatArray) -> FloatArray:
    """Return the leading digits of floats, so few of them that sums of all are floats in any order."""
    largest = max(float(values.max()), -float(values.min()))
    if largest == 0.0:
        return np.zeros_like(values)
    # Twice the number of values is a factor for the sum and for the rounding of each.
    sigma = math.ldexp(1.0, math.frexp(largest)[1] + (len(values) + 2).bit_length() + 1)
    return np.asarray((values + sigma) - sigma)


def _two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rounded product and its rounding error, both floats (Dekker 1971)."""
    splitter = 2.0**27 + 1.0

    def split(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        c = splitter * x
        high = c - (c - x)
        return high, x - high

    product = a * b
    (a1, a2), (b1, b2) = split(a), split(b)
    return product, a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)


def _scaled(number: int, exponent: int) -> Fraction:
    return Fraction(number << exponent) if exponent >= 0 else Fraction(number, 1 << -exponent)


@dataclass(frozen=True, slots=True)
class Rationals:
    """Rationals over one denominator, each known to within `error / denominator`.

    Parameters
    ----------
    numerators : ndarray of object
        Whole numbers.
    denominator : int
        A positive whole number.
    error : int
        0 where the values are exact.
    """

    numerators: Integers
    denominator: int
    error: int = 0

    def __len__(self) -> int:
        return len(self.numerators)

    def signs(self) -> NDArray[np.int8]:
        """Return the sign of each value."""
        return np.array(
            [(n > self.error) - (n < -self.error) for n in self.numerators], dtype=np.int8
        )

    def fraction(self, i: int) -> Fraction:
        """Return a value; the middle of its range where it is not exact."""
        return Fraction(self.numerators[i], self.denominator)

    def short_fraction(self, i: int) -> Fraction:
        """Give a value; where it is not exact, a short number near it, the same for all values that are equal to it."""
        number = self.numerators[i]
        if self.error:
            places = self.error.bit_length() + _SPARE
            number = (number + (1 << (places - 1))) >> places << places
        return Fraction(number, self.denominator)

    def to_floats(self) -> FloatArray:
        """Return the nearest floats; a value within its error of a tie between two floats counts as that tie."""
        return np.array([self._rounded(n) for n in self.numerators], dtype=np.float64)

    def _rounded(self, numerator: int) -> float:
        if not self.error:
            return numerator / self.denominator
        if abs(numerator) <= self.error:
            return 0.0
        low = (numerator - self.error) / self.denominator
        high = (numerator + self.error) / self.denominator
        return low if low == high else float((Fraction(low) + Fraction(high)) / 2)


class WorkingMatrix:
    """A square matrix of floats with which equations are solved exactly, or to within a certain bound.

    Parameters
    ----------
    matrix : ndarray of shape (k, k)
        Finite floats.

    Raises
    ------
    SingularError
        If the matrix is singular.
    UndecidedError
        If that cannot be told in reasonable time.

    Examples
    --------
    >>> matrix = WorkingMatrix(np.array([[2.0, 1.0], [0.0, 3.0]]))
    >>> x = matrix.solve([Fraction(1), Fraction(1)])
    >>> [x.fraction(i) for i in range(2)]
    [Fraction(1, 3), Fraction(1, 3)]
    """

    def __init__(self, matrix: FloatArray):
        self._size = len(matrix)
        rows = [scaled_integers(row) for row in matrix]
        self._exponents = [exponent for _, exponent in rows]
        self._integers = np.array([row for row, _ in rows], dtype=object).reshape(matrix.shape)
        self.is_exact = True
        seconds = self._work() * _UNIT
        if seconds > _QUICK and self._can_refine():
            self.is_exact = False
        elif seconds > _MOST:
            raise UndecidedError
        else:
            self._eliminate()

    def solve(self, right: list[Fraction]) -> Rationals:
        """Solve ``W x = right``."""
        scaled = [value * _scaled(1, -e) for value, e in zip(right, self._exponents, strict=True)]
        return self._apply(scaled, transposed=False)

    def solve_transposed(self, right: list[Fraction]) -> Rationals:
        """Solve ``W' y = right``."""
        found = self._apply(right, transposed=True)
        if not any(self._exponents):
            return found
        top = max(self._exponents)
        shifts = [top - e for e in self._exponents]
        numerators = np.array(
            [n << s for n, s in zip(found.numerators, shifts, strict=True)] or [], dtype=object
        )
        factor = _scaled(1, -top)
        return Rationals(
            numerators * factor.numerator,
            found.denominator * factor.denominator,
            (found.error << max(shifts, default=0)) * factor.numerator,
        )

    def _apply(self, right: list[Fraction], *, transposed: bool) -> Rationals:
        common = math.lcm(*(value.denominator for value in right))
        b = np.array([int(v * common) for v in right], dtype=object)
        if not self.is_exact:
            return self._refine(b, common, transposed)
        inverse = self._inverse.T if transposed else self._inverse
        return Rationals(inverse.dot(b) if len(b) else b, self._determinant * common)

    def _eliminate(self) -> None:
        """Invert by exchanges of integers: the tableau over the determinant of what was exchanged so far."""
        k = self._size
        T = self._integers.copy()
        row_of, column_of = np.full(k, -1), np.full(k, -1)
        determinant = 1
        for _ in range(k):
            r, c = _pivot(T, row_of, column_of)
            p, row, column = T[r, c], T[r].copy(), T[:, c].copy()
            T = (p * T - column[:, None] * row[None, :]) // determinant
            T[r], T[:, c] = -row, column
            T[r, c] = determinant
            determinant = p
            row_of[r], column_of[c] = c, r
        inverse = np.empty((k, k), dtype=object)
        if k:
            inverse[np.ix_(row_of, column_of)] = T
        sign = -1 if determinant < 0 else 1
        self._inverse, self._determinant = inverse * sign, determinant * sign

    def _work(self) -> float:
        """Estimate the products of digits that elimination takes: numbers grow to the length of the determinant."""
        k = self._size
        bits = max((int(abs(n)).bit_length() for n in self._integers.flat), default=0) + 4
        return float(k**3) * (1.0 + k * bits / 60.0) ** 2

    def _can_refine(self) -> bool:
        """Check whether an approximate inverse is good enough to gain digits by."""
        try:
            scaled, self._row_shift, self._column_shift = _equilibrated(self._integers)
            self._approximate: FloatArray = np.linalg.inv(scaled).astype(np.float64)
        except np.linalg.LinAlgError:
            return False
        slack = self._size * _EPS * np.abs(self._approximate) @ np.abs(scaled)
        left = np.abs(np.eye(self._size) - self._approximate @ scaled) + 2.0 * slack
        slack = self._size * _EPS * np.abs(scaled) @ np.abs(self._approximate)
        right = np.abs(np.eye(self._size) - scaled @ self._approximate) + 2.0 * slack
        self._loss = float(left.sum(axis=1).max()), float(right.sum(axis=0).max())
        return bool(max(self._loss) < 0.25)

    def _refine(self, b: Integers, common: int, transposed: bool) -> Rationals:
        """Gain digits by exact residuals until `_BITS` of them are right."""
        M, R = self._integers, self._approximate
        in_shift, out_shift = self._row_shift, self._column_shift
        loss = self._loss[1] if transposed else self._loss[0]
        if transposed:
            M, R, in_shift, out_shift = M.T, R.T, out_shift, in_shift
        size = max((int(abs(n)).bit_length() for n in b), default=0)
        # Unknowns are of the size of the right-hand side times their scale.
        bits = _BITS + size + int(max(out_shift.max(), 0)) + int(max(in_shift.max(), 0))
        target = b * (1 << bits)
        x = np.array([0] * len(b), dtype=object)
        best: tuple[int, Integers] | None = None
        for _ in range(_MOST_STEPS):
            step, top = _product(R, target - M.dot(x), in_shift)
            # |x - x*| <= 2^-shift |R r| / (1 - loss) in each scaled component; twice that covers the rounding.
            error = int(np.ceil(4.0 * float(np.abs(step).max(initial=0.0)) / (1.0 - loss))) + 1
            error = _shifted(error, top - int(out_shift.min())) + 1
            if best is not None and error >= best[0]:
                break
            best = error, x
            x = x + np.array(
                [_shifted_float(s, top - int(e)) for s, e in zip(step, out_shift, strict=True)],
                dtype=object,
            )
        assert best is not None
        return Rationals(best[1], common << bits, best[0] << _SPARE)


def _pivot(T: Integers, row_of: NDArray[Any], column_of: NDArray[Any]) -> tuple[int, int]:
    """Return the place of the smallest number left to exchange, which keeps the others small."""
    rows, columns = np.flatnonzero(row_of < 0), np.flatnonzero(column_of < 0)
    c = int(columns[0])
    sizes = [(int(abs(T[r, c])), int(r)) for r in rows if T[r, c]]
    if not sizes:
        raise SingularError
    return min(sizes)[1], c


def _equilibrated(M: Integers) -> tuple[FloatArray, NDArray[np.int64], NDArray[np.int64]]:
    """Divide rows and columns by powers of two, so that the largest entry of each is about 1."""
    sizes = np.array([[int(abs(n)).bit_length() for n in row] for row in M], dtype=np.int64)
    rows = sizes.max(axis=1)
    columns = np.where(M != 0, sizes - rows[:, None], -(10**6)).max(axis=0)
    if (rows == 0).any() or (columns < -(10**5)).any():
        raise np.linalg.LinAlgError
    shift = rows[:, None] + columns[None, :]
    scaled = np.array(
        [
            [_quotient(int(n), int(s)) for n, s in zip(*pair, strict=True)]
            for pair in zip(M, shift, strict=True)
        ]
    )
    return scaled, rows, columns


def _quotient(number: int, shift: int) -> float:
    return number / (1 << shift) if shift >= 0 else float(number << -shift)


def _product(R: FloatArray, residual: Integers, shift: NDArray[np.int64]) -> tuple[FloatArray, int]:
    """Compute R times the scaled residual, as floats times one power of two."""
    sizes = [
        int(abs(r)).bit_length() - int(s) if r else -(10**9)
        for r, s in zip(residual, shift, strict=True)
    ]
    top = max(sizes, default=0)
    if top == -(10**9):
        return np.zeros(len(R)), 0
    scaled = np.array(
        [_quotient(int(r), top + int(s)) for r, s in zip(residual, shift, strict=True)]
    )
    return R @ scaled, top


def _shifted(number: int, shift: int) -> int:
    """Return the number times a power of two, rounded up."""
    return number << shift if shift >= 0 else -((-number) >> -shift)


def _shifted_float(number: float, shift: int) -> int:
    mantissa, exponent = np.frexp(number)
    whole, shift = int(mantissa * 2.0**53), shift + int(exponent) - 53
    return whole << shift if shift >= 0 else whole >> -shift
