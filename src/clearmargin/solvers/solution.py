"""An optimum of a program that can prove itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.exceptions import InvalidValueError, NumericalError
from clearmargin.solvers.compiled import column_slices, row_slices
from clearmargin.solvers.large_value import FloatArray, LargeValue, suggest
from clearmargin.solvers.residual import (
    Residual,
    Residuals,
    measure,
    measure_gap,
    objective_at,
    price,
    primal_residual,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearmargin.solvers.program import Program

__all__ = ["NamedArrays", "Solution"]


class NamedArrays(Mapping[str, FloatArray]):
    """Read-only vectors by the name of their block, cut out of one long vector when asked for.

    Examples
    --------
    >>> parts = NamedArrays(np.arange(3.0), {"x": slice(0, 2), "t": slice(2, 3)})
    >>> parts["x"].tolist(), list(parts)
    ([0.0, 1.0], ['x', 't'])
    """

    __slots__ = ("_places", "_vector")

    def __init__(self, vector: FloatArray, places: Mapping[str, slice]):
        self._vector = vector
        self._places = places

    def __getitem__(self, name: str) -> FloatArray:
        if name not in self._places:
            raise KeyError(f"no block {name!r}{suggest(name, self._places)}")
        return self._vector[self._places[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"NamedArrays({dict(self)})"


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Solution(LargeValue):
    """An optimal point of a program with its multipliers.

    There is no status: backends return a solution for an optimum only and raise otherwise. Residuals are
    computed from the program when first asked for, never taken from the solver.

    Signs follow the Lagrangian of `min`. The dual of a row is the derivative of the objective with respect
    to the active limit: positive at a lower, negative at an upper limit. The reduced cost of an unknown is
    the same for its bounds. The dual of a cone lies in the cone; moving the offset by `d` changes the
    objective by ``-dual @ d``.

    Parameters
    ----------
    program : Program
        What was solved.
    x : vector
        All unknowns, in the order of the variable blocks.
    y : vector or None
        Multipliers of all linear rows; None for a program with integers.
    z : vector or None
        Multipliers of all cone rows; None for a program with integers.
    bound : float or None
        The bound the solver proved, for a program with integers.
    iterations : int
        Iterations of the solver.
    seconds : float
        Time the solver took.
    backend : str
        Which backend solved it.

    Examples
    --------
    >>> from clearmargin.solvers import Linear, Program, Variables, solve
    >>> x = Variables("x", 2, lower=0.0, cost=[-1.0, -2.0])
    >>> solution = solve(Program([x, Linear("budget", {"x": [1.0, 1.0]}, upper=4.0)])).certify()
    >>> solution.values["x"].tolist(), solution.duals["budget"].tolist(), solution.objective
    ([0.0, 4.0], [-2.0], -8.0)
    """

    program: Program
    x: FloatArray
    y: FloatArray | None
    z: FloatArray | None
    bound: float | None
    iterations: int
    seconds: float
    backend: str
    _memory: dict[str, Any] = field(init=False)

    def __init__(
        self,
        program: Program,
        x: FloatArray,
        y: FloatArray | None,
        z: FloatArray | None,
        bound: float | None = None,
        iterations: int = 0,
        seconds: float = 0.0,
        backend: str = "",
    ):
        self._fill(
            program=program,
            x=_read_finite(x, "values"),
            y=None if y is None else _read_finite(y, "duals"),
            z=None if z is None else _read_finite(z, "duals of cones"),
            bound=bound,
            iterations=int(iterations),
            seconds=float(seconds),
            backend=backend,
            _memory={},
        )

    @property
    def values(self) -> Mapping[str, FloatArray]:
        """The point, by variable block."""
        return NamedArrays(self.x, column_slices(self.program))

    @property
    def duals(self) -> Mapping[str, FloatArray]:
        """The multipliers, by constraint block."""
        y, z = self._multipliers()
        rows = row_slices(self.program.linear)
        cones = {
            name: slice(place.start + y.size, place.stop + y.size)
            for name, place in row_slices(self.program.cones).items()
        }
        both = np.concatenate((y, z)) if z.size else y
        both.flags.writeable = False
        return NamedArrays(both, {**rows, **cones})

    @property
    def reduced_costs(self) -> Mapping[str, FloatArray]:
        """The multipliers of the bounds, by variable block, computed from the duals."""
        if "reduced" not in self._memory:
            reduced = price(self.program, self.x, *self._multipliers())
            reduced.flags.writeable = False
            self._memory["reduced"] = NamedArrays(reduced, column_slices(self.program))
        return self._memory["reduced"]  # type: ignore[no-any-return]

    @property
    def objective(self) -> float:
        """The objective at the point."""
        return objective_at(self.program, self.x)

    @property
    def dual_objective(self) -> float:
        """The bound on the objective that the duals prove (or, with integers, the solver reports)."""
        return self._measure()[1]

    @property
    def residuals(self) -> Residuals:
        """How far the solution is from an optimum."""
        return self._measure()[0]

    def certify(self, tol: float = 1e-6) -> Solution:
        """Return the solution itself when all relative residuals are small, and raise otherwise.

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
        residuals = self.residuals
        for kind in ("primal", "dual", "gap"):
            residual = getattr(residuals, kind)
            if residual is not None and not residual.relative <= tol:
                raise NumericalError(
                    f"the solution of {self.backend or 'the solver'} does not stand up: "
                    f"{_describe(kind, residual)}, tolerance {tol:.1e}"
                )
        return self

    def _multipliers(self) -> tuple[FloatArray, FloatArray]:
        if self.y is None or self.z is None:
            raise InvalidValueError(
                "a program with integer variables has no duals; fix the integers by their bounds "
                "in a program without integers and solve that"
            )
        return self.y, self.z

    def _measure(self) -> tuple[Residuals, float]:
        if "measured" not in self._memory:
            self._memory["measured"] = self._measure_now()
        return self._memory["measured"]  # type: ignore[no-any-return]

    def _measure_now(self) -> tuple[Residuals, float]:
        if self.bound is None:
            return measure(self.program, self.x, *self._multipliers())
        gap = measure_gap(self.objective, self.bound)
        return Residuals(primal_residual(self.program, self.x), None, gap), self.bound

    def __repr__(self) -> str:
        return (
            f"Solution(objective={self.objective:.6g}, backend={self.backend!r}, "
            f"iterations={self.iterations}, seconds={self.seconds:.3g})"
        )


def _read_finite(vector: FloatArray, what: str) -> FloatArray:
    array = np.asarray(vector, dtype=np.float64).view()
    if not np.isfinite(array).all():
        raise NumericalError(f"the {what} the solver returned are not all finite; scale the data")
    array.flags.writeable = False
    return array


def _describe(kind: str, residual: Residual) -> str:
    sizes = f"{residual.absolute:.2e} (relative {residual.relative:.2e})"
    if residual.block is None:
        return f"the duality gap is {sizes}"
    return f"the {kind} residual is {sizes}, largest at {residual.block!r}[{residual.index}]"
