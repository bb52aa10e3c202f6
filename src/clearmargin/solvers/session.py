"""A sequence of related linear programs, each solved from where the last one ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from clearmargin.exceptions import (
    BackendError,
    InfeasibleError,
    NumericalError,
    SolverError,
    UnboundedError,
)
from clearmargin.solvers.backends.highs import Engine
from clearmargin.solvers.compiled import column_slices, compile_program, row_slices, stack_columns
from clearmargin.solvers.conflict import explain_failure
from clearmargin.solvers.solver_options import Method, Options

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from clearmargin.solvers.matrix import Matrix, MatrixLike
    from clearmargin.solvers.program import Linear, Program, Variables
    from clearmargin.solvers.solution import Solution

__all__ = ["Session"]

# Changing one coefficient in HiGHS takes about as long as handing over this many anew (2 to 5 us against
# 50 ns), so that larger changes are handed over with the whole matrix, once, before the next solve.
_ENTRIES_PER_CHANGE = 50
# Compiling a program takes about 1 ms, however small it is: as long as this many changes.
_CHANGES_PER_LOAD = 400


class Session:
    """A linear program inside HiGHS that can be changed and solved again from its last basis.

    Every change replaces `program` by the changed value and does the same to the model in HiGHS, which is
    never built again; what `solve` returns is what a fresh solve of `program` would. After new rows,
    limits or bounds the last basis is still dual feasible, so ``method="dual"`` goes on from it; after new columns
    or costs it is primal feasible, which suits ``method="primal"``, unless the columns have two finite
    bounds: then the dual method only flips their bounds and is much faster.

    Parameters
    ----------
    program : Program
        A linear program without integers.
    method : {"auto", "simplex", "primal", "dual", "ipm"}
        Which algorithm to use; `solve` can choose another.
    tol : float, optional
        Feasibility tolerance; 1e-7 by default.
    time_limit : float, optional
        Seconds that one solve may take; ten minutes by default.
    presolve : bool
        Whether to simplify the program before the first solve.

    Examples
    --------
    >>> from clearmargin.solvers import Linear, Program, Variables
    >>> x = Variables("x", 2, lower=0.0, cost=[-1.0, -2.0])
    >>> program = Program([x, Linear("budget", {"x": [1.0, 1.0]}, upper=4.0)])
    >>> with Session(program) as session:
    ...     before = session.solve().objective
    ...     session.add_columns(Variables("y", 1, lower=0.0, cost=-6.0), {"budget": 2.0})
    ...     before, session.solve(method="primal").values["y"].tolist()
    (-8.0, [2.0])
    """

    def __init__(
        self,
        program: Program,
        *,
        method: Method = "auto",
        tol: float | None = None,
        time_limit: float | None = None,
        presolve: bool = True,
    ):
        if program.needs:
            raise BackendError(
                f"a session solves linear programs only, and this one needs {min(program.needs)!r}; "
                "use solve"
            )
        self._options = Options(method, tol, time_limit, presolve)
        self._program = program
        self._engine: Engine | None = Engine(self._options)
        self._engine.load(compile_program(program))
        self._is_stale = False

    @property
    def program(self) -> Program:
        """The program as it is now."""
        return self._program

    @property
    def basis(self) -> Any:
        """Where the last solve ended, for `use_basis`; it means nothing outside of this session."""
        return self._open_engine().basis

    def basic(self) -> tuple[dict[str, NDArray[np.intp]], dict[str, NDArray[np.intp]]]:
        """Give the unknowns and the rows that are basic after the last solve, by block; empty if there was no basis."""
        found = self._open_engine().basic
        columns, rows = column_slices(self._program), row_slices(self._program.linear)
        return _by_block(columns, found[found >= 0]), _by_block(rows, -1 - found[found < 0])

    def use_basis(self, basis: Any) -> None:
        """Start the next solve from the basis of an earlier one.

        This pays where programs of two kinds take turns: each is nearer to its own last optimum than to that of the
        other. A basis from before rows or columns were added is ignored.
        """
        self._open_engine().use_basis(basis)

    def start_from(
        self,
        columns: Mapping[str, NDArray[np.intp]],
        rows: Mapping[str, NDArray[np.intp]],
        at_upper: Mapping[str, NDArray[np.bool_]],
    ) -> None:
        """Start the next solve from basic unknowns and rows.

        Parameters
        ----------
        columns, rows : mapping of str to ndarray of int
            Basic unknowns and rows, by block, as `basic` gives them; as many together as there are rows.
        at_upper : mapping of str to ndarray of bool
            For blocks of unknowns and of rows, which of those that are not basic are at their upper bound; the others
            are at the lower one.
        """
        places = column_slices(self._program), row_slices(self._program.linear)
        basic = [
            _marked(place, index) for place, index in zip(places, (columns, rows), strict=True)
        ]
        above = [np.concatenate([at_upper[name] for name in place]) for place in places]
        self._open_engine().start_from(basic, above)

    def solve(
        self,
        *,
        method: Method | None = None,
        explain: bool = True,
        max_iterations: int | None = None,
    ) -> Solution:
        """Return the optimum of the current program.

        Parameters
        ----------
        method : {"auto", "simplex", "primal", "dual", "ipm"}, optional
            Which algorithm to use this time.
        explain : bool
            Whether to search for the blocks at fault when the program is infeasible or unbounded.
        max_iterations : int, optional
            Simplex iterations that this solve may take: a limit that does not depend on how fast the machine is. With
            more to do it is a `TimeLimitError`.

        Returns
        -------
        Solution
            Its residuals are computed when asked for, not before.
        """
        engine = self._open_engine()
        engine.use_method(Options(method or self._options.method).method)
        if self._is_stale:
            engine.load(compile_program(self._program))
            self._is_stale = False
        try:
            return engine.solve(self._program, max_iterations)
        except (InfeasibleError, UnboundedError) as error:
            if not explain:
                raise
            raise explain_failure(self._program, error, self._options.time_limit) from None

    def set_cost(self, name: str, cost: ArrayLike) -> None:
        """Change the cost of the variables `name`."""
        program = self._program.with_cost(name, cost)
        self._open_engine().set_cost(column_slices(program)[name], program.variables[name].cost)
        self._program = program

    def set_bounds(
        self, name: str, lower: ArrayLike | None = None, upper: ArrayLike | None = None
    ) -> None:
        """Change the bounds of the variables `name`; None keeps a side.

        Equal bounds fix an unknown; bounds of zero take its column out of the program.
        """
        program = self._program.with_bounds(name, lower, upper)
        block = program.variables[name]
        self._open_engine().set_bounds(column_slices(program)[name], block.lower, block.upper)
        self._program = program

    def set_limits(
        self, name: str, lower: ArrayLike | None = None, upper: ArrayLike | None = None
    ) -> None:
        """Change the limits of the rows `name`; None keeps a side."""
        program = self._program.with_limits(name, lower, upper)
        block = program.linear[name]
        self._open_engine().set_limits(row_slices(program.linear)[name], block.lower, block.upper)
        self._program = program

    def set_coefficients(self, name: str, variable: str, matrix: MatrixLike) -> None:
        """Change the matrix of `variable` in the rows `name`."""
        program = self._program.with_coefficients(name, variable, matrix)
        self._change_entries(self._program, program, {name: {variable: matrix}})
        self._program = program

    def update(
        self,
        *,
        bounds: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
        limits: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
        coefficients: Mapping[str, Mapping[str, MatrixLike]] | None = None,
    ) -> None:
        """Make many changes at once, which takes less time than one after the other.

        Parameters
        ----------
        bounds : mapping of str to (lower, upper), optional
            New bounds of variables.
        limits : mapping of str to (lower, upper), optional
            New limits of rows.
        coefficients : mapping of str to mapping of str to matrix, optional
            For rows, the new matrices of some of their variables.
        """
        before = self._program
        program = before.with_changes(bounds or {}, limits or {}, coefficients or {})
        engine = self._open_engine()
        columns, rows = column_slices(program), row_slices(program.linear)
        self._change_entries(before, program, coefficients or {})
        for name in bounds or {}:
            block = program.variables[name]
            engine.set_bounds(columns[name], block.lower, block.upper)
        for name in limits or {}:
            limited = program.linear[name]
            engine.set_limits(rows[name], limited.lower, limited.upper)
        self._program = program

    def add_columns(self, variables: Variables, terms: Mapping[str, MatrixLike]) -> None:
        """Add a variable block with its matrices in rows that exist, keeping the basis."""
        if variables.integer:
            raise BackendError(f"a session has no integers, and {variables.name!r} is integer")
        program = self._program.with_columns(variables, terms)
        rows = row_slices(program.linear)
        everything = slice(0, variables.size)
        pieces = [
            (everything, place.start, program.linear[name].terms[variables.name])
            for name, place in rows.items()
            if name in terms
        ]
        shape = (_end(rows), variables.size)
        self._open_engine().add_columns(variables, stack_columns(pieces, shape))
        self._program = program

    def add_rows(self, rows: Linear) -> None:
        """Add a block of linear rows, keeping the basis."""
        program = self._program.with_rows(rows)
        if program.needs:
            raise BackendError(f"a session has no cones, and {rows.name!r} is one; use solve")
        block = program.linear[rows.name]
        columns = column_slices(program)
        pieces = [(columns[name], 0, matrix) for name, matrix in block.terms.items()]
        A = stack_columns(pieces, (block.rows, _end(columns)))
        self._open_engine().add_rows(block, sparse.csr_array(A))
        self._program = program

    def close(self) -> None:
        """Free the memory of the solver; the session cannot be used any more."""
        self._engine = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _change_entries(
        self, before: Program, after: Program, where: Mapping[str, Mapping[str, MatrixLike]]
    ) -> None:
        """Change single coefficients, or leave all of them to the next solve if they are too many."""
        engine = self._open_engine()
        columns, rows = column_slices(after), row_slices(after.linear)
        most = _CHANGES_PER_LOAD + engine.nonzeros // _ENTRIES_PER_CHANGE
        found: list[tuple[int, int, float]] = []
        for name, matrices in where.items():
            top = rows[name].start
            for variable in matrices:
                left = columns[variable].start
                terms = before.linear[name].terms, after.linear[name].terms
                changes = _changes(terms[0].get(variable), terms[1][variable], most - len(found))
                if self._is_stale or changes is None:
                    self._is_stale = True
                    return
                found += [(top + row, left + column, value) for row, column, value in changes]
        try:
            for row, column, value in found:
                engine.set_entry(row, column, value)
        except NumericalError:
            self._is_stale = True  # those before it are in HiGHS already, and have to go again
            raise

    def _open_engine(self) -> Engine:
        if self._engine is None:
            raise SolverError("the session is closed; open another with Session(session.program)")
        return self._engine


def _changes(
    before: Matrix | None, after: Matrix, most: int
) -> list[tuple[int, int, float]] | None:
    """Return the entries that differ, or None when changing just those is impossible or too slow."""
    if before is None or before.shares_memory(after):
        # An array changed by its owner is its own past: what differs cannot be told any more.
        return None
    old_counts, old_rows, old = before.stored()
    counts, rows, new = after.stored()
    if not (np.array_equal(counts, old_counts) and np.array_equal(rows, old_rows)):
        return None
    differs = np.flatnonzero(old != new)
    if differs.size > most:
        return None
    columns = np.searchsorted(np.cumsum(counts), differs, side="right")
    return list(zip(rows[differs].tolist(), columns.tolist(), new[differs].tolist(), strict=True))


def _by_block(
    places: Mapping[str, slice], positions: NDArray[np.int64]
) -> dict[str, NDArray[np.intp]]:
    return {
        name: np.sort(positions[(positions >= at.start) & (positions < at.stop)]) - at.start
        for name, at in places.items()
    }


def _marked(
    places: Mapping[str, slice], index: Mapping[str, NDArray[np.intp]]
) -> NDArray[np.bool_]:
    mask = np.zeros(_end(places), dtype=np.bool_)
    for name, place in places.items():
        mask[place.start + index[name]] = True
    return mask


def _end(places: Mapping[str, slice]) -> int:
    return max((place.stop for place in places.values()), default=0)
