r"""The exact optimum of a linear program, and among several multipliers of its rows the one that a fixed order names.

For a program with unknowns x, rows A and multipliers y of the rows::

    minimise    c'x
    subject to  row_lower - eps_r <= A x <= row_upper + eps_r,    lower <= x <= upper

The numbers are floats, taken for what they are: rationals. The eps_r are infinitesimals of different orders, or zero.
Widening the limits of row r by eps_r adds eps_r |y_r| to the dual objective, so that the multipliers of the
optimum are those that have the least |y_r| for the row of the largest eps, among these the least for the next row,
and so on: one answer, whatever the order of the unknowns, and whatever way led there.

The search is the dual simplex method, from any basis, near the optimum as a rule: for k rows at their limits and k
unknowns between their bounds the multipliers solve ``W'y = c_B`` and the unknowns ``W x_B = rest``, with the k x k
matrix W of these rows and unknowns. Every other unknown is at the bound that the sign of its price ``c_j - A_j'y``
names, or at either where that is zero. Where an unknown or a row is beyond a bound, it leaves to that bound, and what
first changes the sign of its price enters. Floats decide where a bound on their error allows it, rationals
elsewhere. After steps that changed nothing, the least index decides (Bland's rule), so that the search ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clearmargin.solvers.large_value import FloatArray
from clearmargin.solvers.rational import (
    Integers,
    Rationals,
    UndecidedError,
    WorkingMatrix,
    exact_dot,
    scaled_integers,
)

__all__ = ["ExactProgram", "ExactVertex", "exact_optimum"]

BoolArray = NDArray[np.bool_]
Index = NDArray[np.intp]

_EPS = float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)
# After so many steps in a row that moved nothing, the least index decides.
_STALLED = 30
_LOW, _HIGH = -1, 1
# Sums over all points are made anew when more than so many changed sides.
_FEW_CHANGES = 1_000
# Refined numbers are known to more bits than this by far.
_BLUR = Fraction(1, 2**80)

# How far y moves until a price changes its sign, whether it is that of a row, and its index.
_Change: TypeAlias = tuple[Fraction, bool, int]


@dataclass(frozen=True, eq=False)
class ExactProgram:
    """A linear program whose floats are taken for exact.

    Parameters
    ----------
    A : sparse array of shape (r, n), by columns
        The matrix.
    c, lower, upper : ndarray of shape (n,)
        Cost and bounds of the unknowns; bounds may be infinite.
    row_lower, row_upper : ndarray of shape (r,)
        Limits of the rows; they may be infinite.
    rank : ndarray of int of shape (r,)
        Which rows have infinitesimally wider limits: 0 the widest, and so on; -1 where they have not.
    near : sparse array of shape (r, n), by columns, optional
        What A - shift * (row `balance`) is but for rounding; by default A. Floats decide more where it is small.
    shift : ndarray of shape (r,), optional
        The multiple of the row `balance` that was taken off each row; 0 for `balance` itself, which is an equation with
        right-hand side 0.
    balance : int, default -1
        The row that was taken off.
    known_reach : ndarray of shape (r,), optional
        The largest magnitude in each row of `near`, where it is known.
    outside : callable, optional
        What each row adds up to over unknowns that are fixed and not in the program, as a Fraction.
    outside_near : ndarray of shape (r,), optional
        The same for the rows of `near`, rounded once.
    """

    A: sparse.csc_array[np.float64]
    c: FloatArray
    lower: FloatArray
    upper: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray
    rank: NDArray[np.intp]
    near: sparse.csc_array[np.float64] | None = None
    shift: FloatArray | None = None
    balance: int = -1
    known_reach: FloatArray | None = None
    outside: Callable[[int], Fraction] | None = None
    outside_near: FloatArray | None = None

    @property
    def approximate(self) -> sparse.csc_array[np.float64]:
        """The matrix that floats compute with."""
        return self.A if self.near is None else self.near

    @cached_property
    def reach(self) -> FloatArray:
        """The largest magnitude in each row of `approximate`."""
        if self.known_reach is not None:
            return self.known_reach
        largest = np.zeros(len(self.row_lower))
        if self.approximate.nnz:
            largest += abs(self.approximate).max(axis=1).toarray().ravel()
        return largest

    def block(self, rows: list[int], columns: list[int] | Index) -> FloatArray:
        """Take rows of columns, dense."""
        return np.asarray(self.A[:, list(columns)].toarray()[rows], dtype=np.float64)


class ExactVertex(NamedTuple):
    """An exact optimum.

    Parameters
    ----------
    columns : list of int
        Unknowns between their bounds.
    rows : list of int
        Rows at their limits.
    x : Rationals
        Values of `columns`.
    y : Rationals
        Multipliers of `rows`; those of all other rows are zero.
    at_upper : ndarray of bool of shape (n,)
        For all other unknowns, whether they are at their upper bound.
    n_steps : int
        Steps that were needed.
    """

    columns: list[int]
    rows: list[int]
    x: Rationals
    y: Rationals
    at_upper: BoolArray
    n_steps: int


class _Leaving(NamedTuple):
    """What is beyond a bound: an unknown (its place among the basic ones) or a row, and on which side."""

    is_row: bool
    place: int
    side: int


class _Whole(NamedTuple):
    """Numbers ``values * 2**exponent / denominator``, each known to within its error in the same unit."""

    values: Integers
    errors: Integers | None
    exponent: int
    denominator: int

    def signs(self) -> list[int]:
        """Return the sign of each number."""
        errors = self.values * 0 if self.errors is None else self.errors
        return [(v > e) - (v < -e) for v, e in zip(self.values, errors, strict=True)]


class _Combination:
    """The combination of rows with some multipliers: one number for each unknown."""

    def __init__(self, program: ExactProgram, rows: list[int], y: Rationals):
        self._program, self.rows, self.y = program, rows, y

    def floats(self) -> tuple[FloatArray, float]:
        """Return the numbers in floating point, and a bound on the error of each."""
        program, size = self._program, len(self._program.row_lower)
        values = np.zeros(size)
        values[self.rows] = self.y.to_floats()
        if program.shift is not None and len(self.rows):
            factors, exponent = scaled_integers(program.shift[self.rows])
            moved = Fraction(int(factors.dot(self.y.numerators)), self.y.denominator)
            moved *= Fraction(2) ** exponent
            if program.balance in self.rows:
                moved += self.y.fraction(self.rows.index(program.balance))
            values[program.balance] = float(moved)
        total = float(program.reach @ np.abs(values))
        # A sum of k products, of factors that are rounded themselves, is off by (k + 4) units of rounding at most.
        band = (len(self.rows) + 6) * _EPS * total + size * _TINY
        return np.asarray(program.approximate.T @ values), band

    def exact(self, columns: Index) -> _Whole:
        """Return the numbers of some unknowns, without rounding."""
        entries, exponent = scaled_integers(self._program.block(self.rows, columns))
        if not len(self.rows):
            return _Whole(np.array([0] * len(columns), dtype=object), None, 0, 1)
        sums = self.y.numerators.dot(entries)
        errors = np.abs(entries).sum(axis=0) * self.y.error if self.y.error else None
        return _Whole(sums, errors, exponent, self.y.denominator)


def exact_optimum(
    program: ExactProgram,
    columns: list[int],
    rows: list[int],
    at_upper: BoolArray,
    row_at_upper: BoolArray,
    *,
    most: int = 2_000,
) -> ExactVertex:
    """Find the exact optimum, from a basis that should be near it.

    Parameters
    ----------
    program : ExactProgram
        The program.
    columns : list of int
        Unknowns between their bounds at the start.
    rows : list of int
        Rows at their limits at the start, as many.
    at_upper : ndarray of bool of shape (n,)
        At which bound the other unknowns are where their price is zero.
    row_at_upper : ndarray of bool of shape (r,)
        At which limit rows are where their multiplier is zero.
    most : int, default 2000
        Most steps to take.

    Returns
    -------
    ExactVertex
        The optimum.

    Raises
    ------
    SingularError
        If the basis is none.
    UndecidedError
        If the way there is too long, or the program has no optimum.

    Examples
    --------
    The multipliers of two equal rows ``x >= 1``, of which the second is to have the least:

    >>> A = sparse.csc_array(np.ones((2, 1)))
    >>> limits = np.ones(2), np.full(2, np.inf)
    >>> program = ExactProgram(A, np.ones(1), np.zeros(1), np.ones(1) * 9, *limits, np.array([1, 0]))
    >>> vertex = exact_optimum(program, [0], [1], np.zeros(1, bool), np.zeros(2, bool))
    >>> vertex.rows, vertex.y.to_floats(), vertex.n_steps
    ([0], array([1.]), 1)
    """
    search = _Search(program, columns, rows, at_upper, row_at_upper)
    for n_steps in range(most):
        vertex = search.step()
        if vertex is not None:
            return vertex._replace(n_steps=n_steps)
    raise UndecidedError


class _Search:
    def __init__(
        self,
        program: ExactProgram,
        columns: list[int],
        rows: list[int],
        at_upper: BoolArray,
        row_at_upper: BoolArray,
    ):
        self._program = program
        self._columns, self._rows = list(columns), list(rows)
        self._at_upper, self._row_at_upper = at_upper.copy(), row_at_upper.copy()
        self._is_free = np.isinf(program.lower) & np.isinf(program.upper)
        self._values = _OuterValues(program)
        self._stalled = 0

    def step(self) -> ExactVertex | None:
        """Go to the next basis, or give the optimum if this is it."""
        program = self._program
        W = WorkingMatrix(program.block(self._rows, self._columns))
        y = W.solve_transposed([Fraction(c) for c in program.c[self._columns].tolist()])
        prices = _Prices(program, self._rows, y, self._columns)
        self._put(prices, y)
        x = W.solve(self._rest())
        checks = _Checks(program, self._columns, self._rows, self._row_at_upper, W, x, self._values)
        leaving = checks.leaving(by_index=self._stalled > _STALLED)
        if leaving is None:
            return ExactVertex(self._columns, self._rows, x, y, self._at_upper, 0)
        self._exchange(leaving, *self._entering(leaving, checks, prices, y))
        return None

    def _put(self, prices: _Prices, y: Rationals) -> None:
        """Put every unknown and row at the bound that its price names."""
        program, signs = self._program, prices.signs()
        self._at_upper = np.where(signs == 0, self._at_upper, signs < 0)
        bound = np.where(self._at_upper, program.upper, program.lower)
        # A free unknown outside of the basis is zero, as long as its price is.
        bound[self._is_free & (signs == 0)] = 0.0
        bound[self._columns] = 0.0
        for r, sign in zip(self._rows, y.signs().tolist(), strict=True):
            if sign:
                self._row_at_upper[r] = sign < 0
        if not (np.isfinite(bound).all() and np.isfinite(self._limits()).all()):
            raise UndecidedError
        self._values.update(bound)

    def _limits(self) -> FloatArray:
        program, rows = self._program, self._rows
        return np.where(self._row_at_upper[rows], program.row_upper[rows], program.row_lower[rows])

    def _rest(self) -> list[Fraction]:
        limits = self._limits().tolist()
        return [
            Fraction(limit) - self._values.activity(r)
            for r, limit in zip(self._rows, limits, strict=True)
        ]

    def _entering(
        self, leaving: _Leaving, checks: _Checks, prices: _Prices, y: Rationals
    ) -> tuple[bool, int, bool]:
        """Find what first changes the sign of its price: whether it is a row, which one, and whether nothing moved."""
        delta = checks.direction(leaving)
        rows = self._rows if not leaving.is_row else [*self._rows, leaving.place]
        changes = [
            change
            for i, r in enumerate(self._rows)
            if (change := self._row_change(r, y.fraction(i), i, delta)) is not None
        ]
        limit = min(changes)[0] if changes else None
        can_enter = self._program.lower < self._program.upper
        can_enter[self._columns] = False
        moving = _Combination(self._program, rows, delta)
        self._turn_free(moving)
        changes += prices.changes(moving, self._at_upper, can_enter, limit)
        if not changes:
            raise UndecidedError  # nothing stops the step: the program has no feasible point
        # Steps are known exactly, or to within a blur that nothing but a tie is as small as.
        blur = _BLUR if y.error or delta.error else Fraction(0)
        least = min(changes)[0] * (1 + blur) + blur
        ties = [c[1:] for c in changes if c[0] <= least]
        is_row, entering = min(ties)
        return is_row, entering, least <= 2 * blur

    def _turn_free(self, moving: _Combination) -> None:
        """Let free unknowns enter as soon as their price moves, to whichever side."""
        free = np.flatnonzero(self._is_free)
        if len(free):
            self._at_upper[free] = np.array(moving.exact(free).signs()) < 0

    def _row_change(self, r: int, price: Fraction, i: int, delta: Rationals) -> _Change | None:
        program, change = self._program, delta.numerators[i]
        if program.rank[r] < 0 and program.row_lower[r] == program.row_upper[r]:
            return None  # an equation has a multiplier of any sign
        if abs(change) <= delta.error:
            return None
        falls = change > 0 if self._row_at_upper[r] else change < 0
        return (abs(price / Fraction(change, delta.denominator)), True, r) if falls else None

    def _exchange(self, leaving: _Leaving, is_row: bool, entering: int, still: bool) -> None:
        self._stalled = self._stalled + 1 if still else 0
        if leaving.is_row:
            self._row_at_upper[leaving.place] = leaving.side == _HIGH
            self._rows.append(leaving.place)
        else:
            self._at_upper[self._columns.pop(leaving.place)] = leaving.side == _HIGH
        if is_row:
            self._rows.remove(entering)
        else:
            self._columns.append(entering)


class _Prices:
    """The prices ``c_j - A_j'y`` of the unknowns that are at a bound."""

    def __init__(self, program: ExactProgram, rows: list[int], y: Rationals, basic: list[int]):
        self._program = program
        self._rows = _Combination(program, rows, y)
        sums, band = self._rows.floats()
        self.floats = program.c - sums
        self.band = band + 2.0 * _EPS * float(np.abs(program.c).max(initial=0.0))
        self._basic = basic

    def exact(self, columns: Index) -> _Whole:
        """Compute the prices of unknowns, without rounding."""
        sums = self._rows.exact(columns)
        costs, exponent = scaled_integers(self._program.c[columns])
        least = min(exponent, sums.exponent)
        down = sums.exponent - least
        values = costs * (sums.denominator << (exponent - least)) - sums.values * (1 << down)
        errors = None if sums.errors is None else sums.errors * (1 << down)
        return _Whole(values, errors, least, sums.denominator)

    def signs(self) -> NDArray[np.int8]:
        """Return the sign of each price; 0 for unknowns between their bounds."""
        signs = np.sign(self.floats).astype(np.int8)
        near = np.abs(self.floats) <= self.band
        near[self._basic] = False
        doubtful = np.flatnonzero(near)
        if len(doubtful):
            signs[doubtful] = self.exact(doubtful).signs()
        signs[self._basic] = 0
        return signs

    def changes(
        self,
        moving: _Combination,
        at_upper: BoolArray,
        can_enter: BoolArray,
        limit: Fraction | None,
    ) -> list[_Change]:
        """Find unknowns of which one is the first whose price changes its sign when y moves."""
        speed, band = moving.floats()
        toward = np.where(at_upper, -speed, speed)
        size = np.abs(self.floats)
        sure = can_enter & (toward > 2.0 * band)
        least = np.inf if limit is None else float(limit) * (1.0 + 4.0 * _EPS)
        if sure.any():
            nearest = (size[sure] + self.band) / (toward[sure] - band)
            least = min(least, float(nearest.min()) * (1.0 + 4.0 * _EPS))
        can_be = can_enter & (toward >= -band)
        if np.isfinite(least):
            can_be &= (size - self.band) * (1.0 - 4.0 * _EPS) <= least * (toward + band)
        return self._exact_changes(np.flatnonzero(can_be), moving, at_upper)

    def _exact_changes(
        self, columns: Index, moving: _Combination, at_upper: BoolArray
    ) -> list[_Change]:
        if not len(columns):
            return []
        speeds = moving.exact(columns)
        toward = np.where(at_upper[columns], -1, 1) * np.array(speeds.signs())
        columns = columns[toward > 0]
        if not len(columns):
            return []
        prices = self.exact(columns)
        unit = Fraction(2) ** (prices.exponent - speeds.exponent)
        unit *= Fraction(speeds.denominator, prices.denominator)
        falling = speeds.values[toward > 0]
        return [
            (abs(Fraction(int(p), int(s))) * unit if p else Fraction(0), False, int(j))
            for p, s, j in zip(prices.values, falling, columns, strict=True)
        ]


class _OuterValues:
    """The values of the unknowns at their bounds, and what rows add up to over them."""

    def __init__(self, program: ExactProgram):
        self._program = program
        self.bound = np.zeros(len(program.c))
        self._sums: dict[int, Fraction] = {}

    def update(self, bound: FloatArray) -> None:
        """Go on to other values; what changed in the sums so far is little as a rule."""
        changed = np.flatnonzero(bound != self.bound)
        if len(changed) > _FEW_CHANGES:
            self._sums = {}
        elif len(changed) and self._sums:
            rows = list(self._sums)
            block = self._program.block(rows, changed)
            for r, entries in zip(rows, block, strict=True):
                self._sums[r] += exact_dot(entries, bound[changed])
                self._sums[r] -= exact_dot(entries, self.bound[changed])
        if len(changed):
            self.__dict__.pop("_by_rows", None)
        self.bound = bound

    @cached_property
    def _by_rows(self) -> tuple[Index, Any]:
        used = np.flatnonzero(self.bound)
        return used, self._program.A[:, used].tocsr()

    def activity(self, row: int) -> Fraction:
        """Return the exact sum of a row over the unknowns at their bounds."""
        if row not in self._sums:
            used, part = self._by_rows
            place = slice(part.indptr[row], part.indptr[row + 1])
            values = self.bound[used[part.indices[place]]]
            self._sums[row] = exact_dot(part.data[place], values)
            if self._program.outside is not None:
                self._sums[row] += self._program.outside(row)
        return self._sums[row]


class _Near(NamedTuple):
    """What is at a bound or beyond it, as far as floating point can tell: its scaled and its exact excess."""

    excess: float
    exact: Fraction
    number: int
    rank: int
    leaving: _Leaving


class _Checks:
    """Whether unknowns and rows are within their bounds, infinitesimals included."""

    def __init__(
        self,
        program: ExactProgram,
        columns: list[int],
        rows: list[int],
        row_at_upper: BoolArray,
        W: WorkingMatrix,
        x: Rationals,
        values: _OuterValues,
    ):
        self._program, self._columns, self._rows = program, columns, rows
        self._row_at_upper, self._W, self._x, self._values = row_at_upper, W, x, values

    def leaving(self, *, by_index: bool) -> _Leaving | None:
        """Return what is beyond a bound: by the largest excess, or the one of the least index."""
        near = [*self._columns_near(), *self._rows_near()]
        beyond = [one for one in near if one.exact > 0 and one.excess > 0.0]
        if beyond and not by_index:
            return max(beyond, key=lambda one: one.excess).leaving
        # Infinitesimals cost a system of equations for each: they are asked only where nothing else decides.
        for one in sorted(near, key=lambda one: one.number):
            if self._is_beyond(one):
                return one.leaving
        return None

    def direction(self, leaving: _Leaving) -> Rationals:
        """Tell how multipliers of rows move when a price of the leaving one appears; a leaving row comes last."""
        inner = self._inner(leaving)
        factor = 1 if leaving.side == _HIGH else -1
        numerators = inner.numerators * factor
        if leaving.is_row:
            numerators = np.append(numerators, -factor * inner.denominator)
        return Rationals(numerators, inner.denominator, inner.error)

    def _inner(self, leaving: _Leaving) -> Rationals:
        """Return what the leaving one is over the working rows."""
        if leaving.is_row:
            entries = self._program.block([leaving.place], self._columns)[0]
            right = [Fraction(a) for a in entries.tolist()]
        else:
            right = [Fraction(int(i == leaving.place)) for i in range(len(self._columns))]
        return self._W.solve_transposed(right)

    def _columns_near(self) -> list[_Near]:
        program, found = self._program, []
        values = self._x.to_floats()
        for i, (j, value) in enumerate(zip(self._columns, values.tolist(), strict=True)):
            for side, limit in ((_LOW, program.lower[j]), (_HIGH, program.upper[j])):
                if np.isinf(limit):
                    continue
                excess = side * (value - limit)
                if excess < -4.0 * _EPS * max(abs(value), abs(limit)):
                    continue
                wide = program.upper[j] - program.lower[j]
                scale = wide if 0 < wide < np.inf else 1.0
                exact = self._column_excess(i, limit) * side
                leaving = _Leaving(False, i, side)
                found.append(_Near(max(0.0, excess) / scale, exact, j, -1, leaving))
        return found

    def _column_excess(self, i: int, limit: float) -> Fraction:
        difference = self._x.fraction(i) - Fraction(float(limit))
        if self._x.error and abs(difference) <= Fraction(self._x.error, self._x.denominator):
            return Fraction(0)
        return difference

    def _rows_near(self) -> list[_Near]:
        program, found = self._program, []
        activity, error = self._activities()
        others = np.ones(len(activity), dtype=np.bool_)
        others[self._rows] = False
        n = len(program.c)
        for side, limit in ((_LOW, program.row_lower), (_HIGH, program.row_upper)):
            finite = np.isfinite(limit)
            excess = side * (activity - np.where(finite, limit, 0.0))
            for r in np.flatnonzero(others & finite & (excess >= -error)).tolist():
                exact = self._row_excess(r, float(limit[r])) * side
                scale = abs(float(limit[r])) or 1.0
                leaving = _Leaving(True, r, side)
                rank = int(program.rank[r])
                found.append(_Near(max(0.0, float(exact)) / scale, exact, n + r, rank, leaving))
        return found

    def _row_excess(self, r: int, limit: float) -> Fraction:
        activity, error = self._activity(r)
        difference = activity - Fraction(limit)
        return difference if abs(difference) > error else Fraction(0)

    def _activities(self) -> tuple[FloatArray, FloatArray]:
        """Return what all rows add up to in floating point, and a bound on the error."""
        program = self._program
        values = self._values.bound.copy()
        values[self._columns] = self._x.to_floats()
        used = int(np.count_nonzero(values))
        size = program.reach * float(np.abs(values).sum())
        error = (used + 8) * _EPS * size + _TINY * (used + 1)
        if program.shift is not None and program.balance not in self._rows:
            # What was taken off the rows need not add up to zero: leave it to rationals.
            error = np.where(program.shift == 0.0, error, np.inf)
        sums = np.asarray(program.approximate @ values)
        if program.outside_near is None:
            return sums, error
        return sums + program.outside_near, error + 2.0 * _EPS * (
            np.abs(program.outside_near) + size
        )

    def _activity(self, r: int) -> tuple[Fraction, Fraction]:
        """Return what a row adds up to, and a bound on the error."""
        entries = self._program.block([r], self._columns)[0]
        whole, exponent = scaled_integers(entries)
        inner = int(whole.dot(self._x.numerators)) if len(self._columns) else 0
        error = int(np.abs(whole).sum()) * self._x.error if len(self._columns) else 0
        unit = Fraction(2) ** exponent / self._x.denominator
        return self._values.activity(r) + inner * unit, error * unit

    def _is_beyond(self, near: _Near) -> bool:
        """Check whether an excess is above zero, or zero and above it by an infinitesimal."""
        if near.exact:
            return near.exact > 0
        leaving, rank = near.leaving, near.rank
        inner = self._inner(leaving)
        orders: dict[int, int] = {}
        for r, number in zip(self._rows, inner.numerators, strict=True):
            order = int(self._program.rank[r])
            move = int(number) if self._row_at_upper[r] else -int(number)
            orders[order] = orders.get(order, 0) + move
        # Its own limit is wider, too.
        orders[rank] = orders.get(rank, 0) - leaving.side * inner.denominator
        for order in sorted(orders):
            if order >= 0 and abs(orders[order]) > inner.error:
                return orders[order] * leaving.side > 0
        return False
