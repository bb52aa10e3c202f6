"""The solvers behind this layer: one file and one row of the table per backend.

A backend is a module with a function ``solve(program, options) -> Solution`` that raises `InfeasibleError`,
`UnboundedError`, `TimeLimitError` or `NumericalError` for everything but an optimum. It compiles the program by
`compiled.py` and fills a `Solution`: multipliers with the signs that `residual.py` states, none of them but a `bound`
for integer programs; infeasible and unbounded are told apart by `program.without_objective()`; one thread.

**How to add one.** Write the file, add a row to `BACKENDS`; the tests in `tests/solvers` run over all rows. `solve`
takes it from then on. Programs that grow or change between solves do not: `Session` speaks to HiGHS and `ConeSession`
to Clarabel directly, for the bases that they keep.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol, cast

from clearmargin.exceptions import BackendError, MissingDependencyError
from clearmargin.solvers.large_value import suggest

if TYPE_CHECKING:
    from clearmargin.solvers.program import Program
    from clearmargin.solvers.solution import Solution
    from clearmargin.solvers.solver_options import Options

__all__ = ["BACKENDS", "Backend", "choose", "run"]


class Solver(Protocol):
    """What a backend's ``solve`` looks like."""

    def __call__(self, program: Program, options: Options) -> Solution:
        """Return the optimum of the program."""


@dataclass(frozen=True, slots=True)
class Backend:
    """One row of the table: a solver, the package it needs, what it can do beyond linear programs."""

    name: str
    package: str
    can: frozenset[str]
    methods: frozenset[str]

    @property
    def is_installed(self) -> bool:
        """Whether the package of the solver can be imported."""
        return find_spec(self.package) is not None

    def load(self) -> Solver:
        """Import the backend and return its ``solve``."""
        try:
            return cast("Solver", import_module(f"{__name__}.{self.name}").solve)
        except ModuleNotFoundError as error:
            if error.name != self.package:
                raise
            raise MissingDependencyError(
                f"the backend {self.name!r} needs {self.package}: pip install {self.package}"
            ) from error


# In the order of preference: the first that can do what a program needs is taken. HiGHS has a solver for
# quadratic programs, too; it is left out because it took a minute to a wrong answer on the quadratic program of
# a support vector machine (see ERGO-Code/HiGHS issues 2489 and 992).
BACKENDS: tuple[Backend, ...] = (
    Backend(
        "highs",
        package="highspy",
        can=frozenset({"integer"}),
        methods=frozenset({"auto", "simplex", "primal", "dual", "ipm"}),
    ),
    Backend(
        "clarabel",
        package="clarabel",
        can=frozenset({"quadratic", "cone"}),
        methods=frozenset({"auto", "ipm"}),
    ),
)

_NEED_NAMES = {
    "integer": "integer variables",
    "quadratic": "quadratic objectives",
    "cone": "second-order cones",
}


def run(program: Program, options: Options, backend: str = "auto") -> Solution:
    """Solve a program with the named backend, or the first that can."""
    return choose(program, options, backend).load()(program, options)


def choose(program: Program, options: Options, backend: str = "auto") -> Backend:
    """Return the backend to use, or say why there is none."""
    able = [row for row in BACKENDS if program.needs <= row.can]
    if backend == "auto":
        if not able:
            raise BackendError(
                f"no backend can do {_list_needs(program.needs)} together; solve a linear program with "
                "integers, or drop the integers"
            )
        chosen = able[0]
    else:
        chosen = _find(backend)
        missing = program.needs - chosen.can
        if missing:
            others = [repr(row.name) for row in able]
            advice = (
                f"use backend={' or '.join(others)}" if others else "no other backend can either"
            )
            raise BackendError(f"{backend!r} cannot do {_list_needs(missing)}; {advice}")
    if options.method not in chosen.methods:
        raise BackendError(
            f"{chosen.name!r} has no method {options.method!r}, only {', '.join(sorted(chosen.methods))}"
        )
    return chosen


def _find(name: str) -> Backend:
    for row in BACKENDS:
        if row.name == name:
            return row
    installed = [row.name for row in BACKENDS if row.is_installed]
    raise BackendError(
        f"unknown backend {name!r}{suggest(name, installed)} (installed: {', '.join(installed)})"
    )


def _list_needs(needs: frozenset[str]) -> str:
    return " and ".join(_NEED_NAMES[need] for need in sorted(needs))
