"""Solutions of programs, and HiGHS: one program, or a sequence of linear ones, each solved from the last basis."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from clearmargin.exceptions import (
    InfeasibleError,
    InvalidValueError,
    NumericalError,
    SolverError,
    TimeLimitError,
    UnboundedError,
)
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.solvers.program import (
    Linear,
    Program,
    Variables,
    end,
    find,
    stacked,
)

_Status, _Place = highspy.HighsModelStatus, highspy.HighsBasisStatus
_ERRORS: dict[Any, tuple[type[SolverError], str]] = {
    _Status.kInfeasible: (InfeasibleError, "no point satisfies all constraints"),
    _Status.kUnbounded: (UnboundedError, "the objective can be improved without end"),
    _Status.kTimeLimit: (TimeLimitError, "HiGHS ran out of time"),
    _Status.kIterationLimit: (TimeLimitError, "HiGHS ran out of iterations"),
    _Status.kSolutionLimit: (TimeLimitError, "HiGHS ran out of nodes"),
}
_BREAKDOWNS = {_Status.kUnknown, _Status.kSolveError, _Status.kPostsolveError}
# HiGHS accepts no tolerance below 1e-10, and an answer with more than 1e-2 of error is no answer.
_TOLERANCE, _SMALLEST_TOLERANCE, _LARGEST_TOLERANCE = 1e-7, 1e-10, 1e-2
# Relative residuals and gaps of an answer that is accepted.
_CERTIFIED = 1e-6
# No call waits for ever: a solver was seen to go round in circles on badly scaled data.
_SECONDS = 600.0


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """An optimal point of a program with its multipliers.

    The dual of a linear row is the derivative of the objective with respect to the active limit: positive at a lower,
    negative at an upper limit. The dual of a cone lies in the cone; moving the offset by `d` changes the objective by
    ``-dual @ d``.

    Parameters
    ----------
    program : Program
        What was solved.
    x : vector
        All unknowns, in the order of the variable blocks.
    y, z : vector or None
        Multipliers of all linear rows, and of all rows of cones; None for a program with integers.
    bound : float or None
        The bound the solver proved, for a program with integers.
    iterations : int
        Iterations of the solver.

    Examples
    --------
    >>> from clearmargin.solvers import Linear, Program, Variables, solve
    >>> x = Variables("x", 2, lower=0.0, cost=[-1.0, -2.0])
    >>> solution = solve(Program([x, Linear("budget", {"x": [1.0, 1.0]}, upper=4.0)]))
    >>> solution.values["x"].tolist(), solution.duals["budget"].tolist(), solution.objective
    ([0.0, 4.0], [-2.0], -8.0)
    """

    program: Program
    x: FloatArray
    y: FloatArray | None
    z: FloatArray | None
    bound: float | None = None
    iterations: int = 0

    @property
    def values(self) -> dict[str, FloatArray]:
        """The point, by variable block."""
        return {name: self.x[place] for name, place in self.program.columns.items()}

    @property
    def duals(self) -> dict[str, FloatArray]:
        """The multipliers, by block of rows or cones."""
        if self.y is None or self.z is None:
            raise InvalidValueError("a program with integer variables has no duals")
        rows = {name: self.y[place] for name, place in self.program.rows.items()}
        return rows | {name: self.z[place] for name, place in self.program.cone_rows.items()}

    @property
    def objective(self) -> float:
        """The objective at the point."""
        values, variables = self.values, self.program.variables
        costs = (float(block.cost @ values[name]) for name, block in variables.items())
        return sum(costs) + self.program.constant

    def certify(self, tol: float = _CERTIFIED) -> Self:
        """Return the solution itself if its relative residuals and its gap are small, and raise otherwise.

        A residual is divided by one plus the sizes of the numbers that were added up to get it, so that it is the
        relative change of the data that would make it vanish (Oettli and Prager 1964).

        Parameters
        ----------
        tol : float
            Largest relative residual to accept.

        Returns
        -------
        Solution
            This solution.

        Raises
        ------
        NumericalError
            Saying which residual is too large, where, and by how much.
        """
        program, data, x = self.program, self.program.compiled(), self.x
        whole = np.where(data.is_integer, np.abs(x - np.rint(x)), 0.0)
        outside = _outside(x, data.lower, data.upper) / (1 + np.abs(x))
        activity, size = np.asarray(data.A @ x), 1 + abs(data.A) @ np.abs(x)
        vector = np.asarray(data.offset + data.G @ x)
        cone_size = 1 + np.abs(data.offset) + abs(data.G) @ np.abs(x)
        found = [
            (program.columns, np.maximum(whole, outside)),
            (program.rows, _outside(activity, data.row_lower, data.row_upper) / size),
            (program.cone_rows, _outside_cones(vector, cone_size, data.sizes)),
        ]
        bound = -np.inf if self.bound is None else self.bound
        if self.y is not None and self.z is not None:
            # A multiplier that pushes against a side without a limit proves nothing.
            y, z, limits = self.y, self.z, (data.row_lower, data.row_upper)
            price = data.c - data.A.T @ y - data.G.T @ z
            scale = 1 + np.abs(data.c) + abs(data.A).T @ np.abs(y) + abs(data.G).T @ np.abs(z)
            largest = 1 + np.abs(y).max(initial=0.0)
            found += [
                (program.columns, _unsupported(price, data.lower, data.upper) / scale),
                (program.rows, _unsupported(y, *limits) / largest),
                (program.cone_rows, _outside_cones(z, 1 + np.abs(z), data.sizes)),
            ]
            bound = program.constant - float(z @ data.offset)
            bound += _supported(price, data.lower, data.upper) + _supported(y, *limits)
        for places, residual in found:
            if not (residual <= tol).all():
                worst = int(np.argmax(residual))
                name = next(n for n, at in places.items() if at.start <= worst < at.stop)
                raise NumericalError(
                    f"the answer of the solver is wrong: a relative residual of {name!r} is "
                    f"{residual[worst]:.2e}, tolerance {tol:.1e}"
                )
        gap = abs(self.objective - bound) / (1 + abs(self.objective))
        if not gap <= tol:
            raise NumericalError(
                f"the answer of the solver is wrong: the relative gap is {gap:.2e}, tolerance {tol:.1e}"
            )
        return self


def _outside(value: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(np.maximum(lower - value, value - upper), 0.0))


def _outside_cones(vector: FloatArray, scale: FloatArray, sizes: list[int]) -> FloatArray:
    """Return how far vectors are outside of their cones, relative to the largest of their scales."""
    found, ends = np.zeros(len(vector)), np.cumsum(sizes, dtype=np.intp)
    for size, stop in zip(sizes, ends.tolist(), strict=True):
        v = vector[stop - size : stop]
        gap = max(0.0, float(np.linalg.norm(v[1:])) - float(v[0]))
        found[stop - size : stop] = gap / scale[stop - size : stop].max()
    return found


def _unsupported(y: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the part of multipliers that pushes against a limit that is not there."""
    return np.where(np.isinf(lower), np.maximum(y, 0.0), 0.0) + np.where(
        np.isinf(upper), np.maximum(-y, 0.0), 0.0
    )


def _supported(y: FloatArray, lower: FloatArray, upper: FloatArray) -> float:
    """Return what multipliers prove with the limits that are there."""
    limit = np.where(y > 0, lower, upper)
    return float(np.sum(y * np.where(np.isinf(limit), 0.0, limit)))


def solve(
    program: Program,
    *,
    tol: float | None = None,
    time_limit: float | None = None,
    max_nodes: int | None = None,
) -> Solution:
    """Return an optimum of a program whose residuals and gap are small, or raise what stands in its way.

    Parameters
    ----------
    program : Program
        What to solve.
    tol : float, optional
        Feasibility and optimality tolerance between 1e-10 and 1e-2; 1e-7 by default, for cones 1e-8.
    time_limit : float, optional
        Seconds of the processor that the solver may take; ten minutes by default.
    max_nodes : int, optional
        With integers, the most nodes of branch and bound: a limit that is the same on every machine.

    Returns
    -------
    Solution
        The optimum, checked by `certify`.

    Raises
    ------
    InfeasibleError, UnboundedError
        When there is no optimum.
    TimeLimitError, NumericalError
        When time, iterations or nodes ran out, or the solver broke down or gave a wrong answer.

    Examples
    --------
    >>> from clearmargin.solvers import Linear, Program, Variables
    >>> blocks = [Variables("x", 2, lower=0.0, cost=[1.0, 2.0]), Linear("sum", {"x": 1.0}, lower=2.0)]
    >>> solve(Program(blocks)).values["x"].tolist()
    [2.0, 0.0]
    """
    if program.cones:
        from clearmargin.solvers.cones import solve_cones

        solution = solve_cones(program, time_limit=time_limit, tol=tol)
    else:
        session = Session(program, tol=tol, time_limit=time_limit, max_nodes=max_nodes)
        solution = session.solve()
    return solution.certify(max(_CERTIFIED, 10.0 * (tol or 0.0)))


class Session:
    """A program inside HiGHS that can be changed and solved again from its last basis.

    Every change replaces `program` by the changed value and does the same to the model in HiGHS; what `solve` returns
    is what a fresh solve of `program` would.

    Parameters
    ----------
    program, tol, time_limit, max_nodes
        As for `solve`. What a session gives is checked where its `certify` is called.
    presolve : bool
        Whether to simplify the program before the first solve.

    Examples
    --------
    >>> from clearmargin.solvers import Linear, Program, Variables
    >>> x = Variables("x", 2, lower=0.0, cost=[-1.0, -2.0])
    >>> program = Program([x, Linear("budget", {"x": [1.0, 1.0]}, upper=4.0)])
    >>> session = Session(program)
    >>> before = session.solve().objective
    >>> session.add_columns(Variables("y", 1, lower=0.0, cost=-6.0), {"budget": 2.0})
    >>> before, session.solve().values["y"].tolist()
    (-8.0, [2.0])
    """

    def __init__(
        self,
        program: Program,
        *,
        tol: float | None = None,
        time_limit: float | None = None,
        presolve: bool = True,
        max_nodes: int | None = None,
    ):
        tol = _TOLERANCE if tol is None else tol
        if not _SMALLEST_TOLERANCE <= tol <= _LARGEST_TOLERANCE:
            raise InvalidValueError(
                f"tol is {tol}; it must lie between {_SMALLEST_TOLERANCE} and {_LARGEST_TOLERANCE}"
            )
        self._seconds = _SECONDS if time_limit is None else time_limit
        if not self._seconds > 0:
            raise InvalidValueError(f"time_limit is {time_limit}; give seconds above 0, or inf")
        self._highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        options = {
            "output_flag": False,
            "threads": 1,
            # Entries below 1e-9 would be dropped by default; 1e-12 is the least HiGHS allows.
            "small_matrix_value": 1e-12,
            "primal_feasibility_tolerance": tol,
            "dual_feasibility_tolerance": tol,
            "mip_rel_gap": tol,
            "presolve": "choose" if presolve else "off",
        } | ({} if max_nodes is None else {"mip_max_nodes": max_nodes})
        for option, value in options.items():
            self._set(option, value)
        self.program, data = program, program.compiled()
        status = self._highs.passModel(
            data.A.shape[1], data.A.shape[0], data.A.nnz,
            int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMinimize), program.constant,
            data.c, data.lower, data.upper, data.row_lower, data.row_upper,
            data.A.indptr, data.A.indices, data.A.data, data.is_integer.astype(np.int32),
        )  # fmt: skip
        self._check(status, "the program")

    def start_from(
        self,
        columns: Mapping[str, NDArray[np.intp]],
        rows: Mapping[str, NDArray[np.intp]],
        at_upper: Mapping[str, BoolArray],
    ) -> None:
        """Start the next solve from basic unknowns and rows.

        Parameters
        ----------
        columns, rows : mapping of str to ndarray of int
            Basic unknowns and rows, by block; as many together as there are rows.
        at_upper : mapping of str to ndarray of bool
            For blocks of unknowns and of rows, which of those that are not basic are at their upper bound; the others
            are at the lower one.
        """
        basis = highspy.HighsBasis()
        kinds = np.array([_Place.kLower, _Place.kUpper, _Place.kBasic], dtype=object)
        statuses = []
        for places, index in ((self.program.columns, columns), (self.program.rows, rows)):
            kind = np.zeros(end(places), dtype=np.intp)
            for name, place in places.items():
                kind[place] = at_upper[name]
                kind[place.start + index[name]] = 2
            statuses.append(kinds[kind].tolist())
        basis.col_status, basis.row_status = statuses
        basis.valid = True
        # A basis that HiGHS cannot use is no loss: it starts afresh.
        self._highs.setBasis(basis)

    def set_limits(self, name: str, lower: ArrayLike, upper: ArrayLike) -> None:
        """Change the limits of the rows `name`."""
        new = Linear(name, find(self.program.linear, name, "rows").terms, lower, upper)
        blocks = [new if block.name == name else block for block in self.program.blocks]
        program = Program(blocks, self.program.constant)
        # Row by row, because only late versions of highspy have a call for many rows.
        limits = zip(new.lower.tolist(), new.upper.tolist(), strict=True)
        for row, (low, high) in enumerate(limits, program.rows[name].start):
            self._check(self._highs.changeRowBounds(row, low, high), "the limits")
        self.program = program

    def add_columns(self, variables: Variables, terms: Mapping[str, Any]) -> None:
        """Add a variable block with its matrices in rows that exist, keeping the basis."""
        changed = {
            name: Linear(name, {**old.terms, variables.name: matrix}, old.lower, old.upper)
            for name, matrix in terms.items()
            for old in [find(self.program.linear, name, "rows")]
        }
        blocks = [changed.get(block.name, block) for block in self.program.blocks]
        program = Program([*blocks, variables], self.program.constant)
        pieces = [
            (
                slice(0, variables.size),
                place.start,
                place.stop - place.start,
                rows.terms[variables.name],
            )
            for name, place in program.rows.items()
            for rows in [program.linear[name]]
            if name in terms
        ]
        A = stacked(pieces, (end(program.rows), variables.size))
        status = self._highs.addCols(
            variables.size, variables.cost, variables.lower, variables.upper,
            A.nnz, A.indptr[:-1], A.indices, A.data,
        )  # fmt: skip
        self._check(status, "the new columns")
        self.program = program

    def add_rows(self, rows: Linear) -> None:
        """Add a block of rows, keeping the basis."""
        program = Program([*self.program.blocks, rows], self.program.constant)
        pieces = [(program.columns[name], 0, rows.rows, M) for name, M in rows.terms.items()]
        A = sparse.csr_array(stacked(pieces, (rows.rows, end(program.columns))))
        status = self._highs.addRows(
            rows.rows, rows.lower, rows.upper, A.nnz, A.indptr[:-1], A.indices, A.data
        )
        self._check(status, "the new rows")
        self.program = program

    def solve(self) -> Solution:
        """Return the optimum of the current program."""
        self._set("solver", "choose")
        status = self._run()
        if status == _Status.kNotset:
            # Somebody else in this process started the thread pool of HiGHS with another size, which
            # HiGHS then insists on. Its size has no influence on a serial method.
            self._set("threads", 0)
            status = self._run()
        if status in _BREAKDOWNS:
            # A warm basis or presolve may be the cause: start afresh with the most dependable algorithm.
            self._highs.clearSolver()
            self._set("presolve", "off")
            self._set("solver", "simplex")
            status = self._run()
        if status == _Status.kUnboundedOrInfeasible:
            # Infeasible wins over unbounded.
            solve(self.program.without_objective(), time_limit=self._seconds)
            status = _Status.kUnbounded
        if status != _Status.kOptimal:
            name = self._highs.modelStatusToString(status)
            error, message = _ERRORS.get(
                status, (NumericalError, f"HiGHS broke down ({name}); scale the data")
            )
            late = f" after {self._highs.getRunTime():.3g} s" if error is TimeLimitError else ""
            raise error(message + late)
        point, info = self._highs.getSolution(), self._highs.getInfo()
        x, y = np.array(point.col_value), np.array(point.row_dual)
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise NumericalError(
                "the numbers that HiGHS returned are not all finite; scale the data"
            )
        iterations = max(0, info.simplex_iteration_count)
        if self.program.is_integer:
            return Solution(self.program, x, None, None, info.mip_dual_bound, iterations)
        return Solution(self.program, x, y, np.zeros(0), None, iterations)

    def _run(self) -> Any:
        # HiGHS reads the clock, and adds up the time of all runs of one object; the limit is of processor time.
        start, seconds = time.process_time(), self._seconds
        while True:
            self._set("time_limit", self._highs.getRunTime() + seconds)
            self._highs.run()
            status, seconds = self._highs.getModelStatus(), 2 * seconds
            if status != _Status.kTimeLimit or time.process_time() - start >= self._seconds:
                return status

    def _set(self, option: str, value: Any) -> None:
        self._check(self._highs.setOptionValue(option, value), f"the option {option}={value!r}")

    def _check(self, status: Any, what: str) -> None:
        if status == highspy.HighsStatus.kError:
            raise NumericalError(
                f"HiGHS refused {what}; it takes coefficients of up to 1e15, so scale the data"
            )
