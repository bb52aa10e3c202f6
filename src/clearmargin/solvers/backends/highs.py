"""HiGHS for linear programs and for linear programs with integers, called without a modelling layer."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np

from clearmargin.exceptions import (
    InfeasibleError,
    NumericalError,
    SolverError,
    TimeLimitError,
    UnboundedError,
)
from clearmargin.solvers.compiled import compile_program
from clearmargin.solvers.solution import Solution
from clearmargin.solvers.solver_options import DEFAULT_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy import sparse

    from clearmargin.solvers.compiled import Compiled
    from clearmargin.solvers.large_value import FloatArray
    from clearmargin.solvers.program import Linear, Program, Variables
    from clearmargin.solvers.solver_options import Options

__all__ = ["Engine", "solve"]

_Status, _Place = highspy.HighsModelStatus, highspy.HighsBasisStatus

# (solver, simplex_strategy) of HiGHS; strategy 1 is its serial dual simplex, 4 its primal simplex.
_METHODS = {
    "auto": ("choose", 1),
    "simplex": ("simplex", 1),
    "dual": ("simplex", 1),
    "primal": ("simplex", 4),
    "ipm": ("ipm", 1),
}

_ERRORS: dict[Any, tuple[type[SolverError], str]] = {
    _Status.kInfeasible: (InfeasibleError, "no point satisfies all constraints"),
    _Status.kUnbounded: (UnboundedError, "the objective can be improved without end"),
    _Status.kTimeLimit: (TimeLimitError, "HiGHS ran out of time"),
    _Status.kIterationLimit: (TimeLimitError, "HiGHS ran out of iterations"),
}
# Option large_matrix_value of HiGHS.
_LARGEST_COEFFICIENT = 1e15
# Iterations without a limit, in HiGHS.
_NO_LIMIT = 2**31 - 1
_BREAKDOWNS = {_Status.kUnknown, _Status.kSolveError, _Status.kPostsolveError}


def solve(program: Program, options: Options) -> Solution:
    """Return the optimum of a linear program, possibly with integers."""
    engine = Engine(options)
    engine.load(compile_program(program))
    return engine.solve(program)


class Engine:
    """One HiGHS object holding one linear program; nothing is shared with any other.

    Unknowns and rows are addressed by position. Changes keep the basis, so that the next `solve` starts
    from it.
    """

    def __init__(self, options: Options):
        self._options = options
        self._highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        tol = options.tol or DEFAULT_TOLERANCE
        self._set("output_flag", False)
        self._set("threads", 1)
        # Entries below 1e-9 would be dropped by default; 1e-12 is the least HiGHS allows.
        self._set("small_matrix_value", 1e-12)
        self._set("primal_feasibility_tolerance", tol)
        self._set("dual_feasibility_tolerance", tol)
        self._set("mip_rel_gap", tol)
        self._set("presolve", "choose" if options.presolve else "off")
        self.use_method(options.method)

    @property
    def nonzeros(self) -> int:
        """How many coefficients the program has."""
        return int(self._highs.getNumNz())

    def use_method(self, method: str) -> None:
        """Choose the algorithm of the solves to come."""
        self._method = method
        solver, strategy = _METHODS[method]
        self._set("solver", solver)
        self._set("simplex_strategy", strategy)

    def load(self, data: Compiled) -> None:
        """Take over a whole program; a basis of the same shape is kept."""
        place = self.basis
        rows, columns = data.A.shape
        status = self._highs.passModel(
            columns,
            rows,
            data.A.nnz,
            int(highspy.MatrixFormat.kColwise),
            int(highspy.ObjSense.kMinimize),
            data.constant,
            data.c,
            data.lower,
            data.upper,
            data.row_lower,
            data.row_upper,
            data.A.indptr,
            data.A.indices,
            data.A.data,
            data.is_integer.astype(np.int32),
        )
        self._check(status, "the program")
        self.use_basis(place)

    @property
    def basis(self) -> tuple[Any, tuple[int, int]]:
        """Where the last solve ended, and the shape of the program then."""
        # Asking HiGHS for the shape is quick; the length of the basis itself takes a Python object for each entry.
        return self._highs.getBasis(), (self._highs.getNumCol(), self._highs.getNumRow())

    @property
    def basic(self) -> NDArray[np.int64]:
        """The basic unknowns of the last solve by position, and the basic rows r as -1 - r; none without a basis."""
        status, basic = self._highs.getBasicVariables()
        if status != highspy.HighsStatus.kOk:
            return np.zeros(0, dtype=np.int64)
        return np.asarray(basic, dtype=np.int64)

    def use_basis(self, place: tuple[Any, tuple[int, int]]) -> None:
        """Start the next solve from a basis, if there was one and it is of the shape of the program."""
        basis, shape = place
        if basis.valid and shape == (self._highs.getNumCol(), self._highs.getNumRow()):
            self._highs.setBasis(basis)

    def start_from(
        self, basic: Sequence[NDArray[np.bool_]], at_upper: Sequence[NDArray[np.bool_]]
    ) -> None:
        """Start the next solve from a basis: which unknowns and rows are basic, which others at an upper bound."""
        basis = highspy.HighsBasis()
        kinds = np.array([_Place.kLower, _Place.kUpper, _Place.kBasic], dtype=object)
        statuses = [
            kinds[np.where(inside, 2, above.astype(np.intp))].tolist()
            for inside, above in zip(basic, at_upper, strict=True)
        ]
        basis.col_status, basis.row_status = statuses
        basis.valid = True
        # A basis that HiGHS cannot use is no loss: it starts afresh.
        self._highs.setBasis(basis)

    def set_cost(self, columns: slice, cost: FloatArray) -> None:
        """Change the cost of some unknowns."""
        index = _positions(columns)
        self._check(self._highs.changeColsCost(index.size, index, cost), "the costs")

    def set_bounds(self, columns: slice, lower: FloatArray, upper: FloatArray) -> None:
        """Change the bounds of some unknowns."""
        index = _positions(columns)
        self._check(self._highs.changeColsBounds(index.size, index, lower, upper), "the bounds")

    def set_limits(self, rows: slice, lower: FloatArray, upper: FloatArray) -> None:
        """Change the limits of some rows."""
        # Row by row, because only late versions of highspy have a call for many rows.
        index = _positions(rows)
        for row, low, high in zip(index.tolist(), lower.tolist(), upper.tolist(), strict=True):
            self._check(self._highs.changeRowBounds(row, low, high), "the limits")

    def set_entry(self, row: int, column: int, value: float) -> None:
        """Change one coefficient."""
        # Of a single coefficient HiGHS takes what it refuses as part of a program.
        is_large = abs(value) >= _LARGEST_COEFFICIENT
        status = (
            highspy.HighsStatus.kError if is_large else self._highs.changeCoeff(row, column, value)
        )
        self._check(status, "a coefficient")

    def add_columns(self, block: Variables, A: sparse.csc_array[np.float64]) -> None:
        """Append unknowns; `A` has the rows of the program."""
        status = self._highs.addCols(
            block.size,
            block.cost,
            block.lower,
            block.upper,
            A.nnz,
            A.indptr[:-1],
            A.indices,
            A.data,
        )
        self._check(status, "the new columns")

    def add_rows(self, block: Linear, A: sparse.csr_array[np.float64]) -> None:
        """Append rows; `A` has the columns of the program."""
        status = self._highs.addRows(
            block.rows, block.lower, block.upper, A.nnz, A.indptr[:-1], A.indices, A.data
        )
        self._check(status, "the new rows")

    def solve(self, program: Program, max_iterations: int | None = None) -> Solution:
        """Return the optimum; `program` is what the engine holds, and the limit is one of simplex iterations."""
        limit = _NO_LIMIT if max_iterations is None else min(max(0, max_iterations), _NO_LIMIT)
        self._set("simplex_iteration_limit", limit)
        if self._method != "ipm":
            return self._solve(program)
        # HiGHS 1.15 keeps the factors of its simplex solver across a run of its interior point solver and
        # then uses them with the basis of the latter: wrong answers and crashes. The two must not meet.
        self._highs.clearSolver()
        try:
            return self._solve(program)
        finally:
            basis = self._highs.getBasis()
            self._highs.clearSolver()
            if basis.valid:
                self._highs.setBasis(basis)

    def _solve(self, program: Program) -> Solution:
        start = time.perf_counter()
        status = self._run()
        if status == _Status.kUnboundedOrInfeasible:
            self._tell_apart(program)
        if status != _Status.kOptimal:
            self._fail(status)
        point, info = self._highs.getSolution(), self._highs.getInfo()
        is_mixed = "integer" in program.needs
        steps = (
            info.simplex_iteration_count,
            info.ipm_iteration_count,
            info.crossover_iteration_count,
        )
        return Solution(
            program,
            np.array(point.col_value),
            y=None if is_mixed else np.array(point.row_dual),
            z=None if is_mixed else np.zeros(0),
            bound=info.mip_dual_bound if is_mixed else None,
            iterations=sum(max(0, count) for count in steps),
            seconds=time.perf_counter() - start,
            backend="highs",
        )

    def _run(self) -> Any:
        status = self._run_once()
        if status == _Status.kNotset:
            # Somebody else in this process started the thread pool of HiGHS with another size, which
            # HiGHS then insists on. Its size has no influence on a serial method.
            self._set("threads", 0)
            status = self._run_once()
        if status in _BREAKDOWNS:
            # A warm basis, an interior point that would not cross over, or presolve may be the cause:
            # start afresh with the most dependable algorithm.
            self._highs.clearSolver()
            self._set("presolve", "off")
            self.use_method("simplex")
            status = self._run_once()
        return status

    def _run_once(self) -> Any:
        # HiGHS adds up the time of all runs of one object.
        self._set("time_limit", self._highs.getRunTime() + self._options.seconds)
        self._highs.run()
        return self._highs.getModelStatus()

    def _tell_apart(self, program: Program) -> None:
        """Raise the one of infeasible and unbounded that is the case."""
        solve(program.without_objective(), self._options)
        self._fail(_Status.kUnbounded)

    def _fail(self, status: Any) -> None:
        name = self._highs.modelStatusToString(status)
        error, message = _ERRORS.get(
            status,
            (NumericalError, f"HiGHS broke down ({name}); scale the data or try another method"),
        )
        if error is TimeLimitError:
            message += f" after {self._highs.getRunTime():.3g} s"
        raise error(message)

    def _set(self, option: str, value: Any) -> None:
        self._check(self._highs.setOptionValue(option, value), f"the option {option}={value!r}")

    def _check(self, status: Any, what: str) -> None:
        if status == highspy.HighsStatus.kError:
            raise NumericalError(
                f"HiGHS refused {what}; it takes coefficients of up to 1e15, so scale the data"
            )


def _positions(place: slice) -> NDArray[np.int32]:
    return np.arange(place.start, place.stop, dtype=np.int32)
