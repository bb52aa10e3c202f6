"""A sequence of cone programs of one pattern, given as arrays and changed in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import clarabel
import numpy as np
from scipy import sparse

from clearmargin.exceptions import NumericalError
from clearmargin.solvers.backends.clarabel import make_cones, make_settings
from clearmargin.solvers.solver_options import Options

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearmargin.solvers.large_value import FloatArray

__all__ = ["ConePoint", "ConeSession", "Pattern"]

# Linear systems are solved to this precision at first, for which the tolerance of the answer leaves room.
_REFINEMENT = 1e-7
_ENDED_WELL = {"Solved", "AlmostSolved", "InsufficientProgress"}


@dataclass(frozen=True, slots=True)
class Pattern:
    """Where the numbers of a cone program are: ``minimise c'x`` with ``k - K x`` in a product of cones.

    Parameters
    ----------
    indptr, indices : ndarray of int
        Places of the entries of K, by columns.
    zero, nonnegative : int
        How many rows are equations, and how many after them are inequalities.
    sizes : list of int
        Sizes of the second-order cones of the rows that are left.
    """

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    zero: int
    nonnegative: int
    sizes: list[int]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of K."""
        return self.zero + self.nonnegative + sum(self.sizes), len(self.indptr) - 1


@dataclass(frozen=True, slots=True)
class ConePoint:
    """An optimum: unknowns, multipliers of the rows, and the value.

    Parameters
    ----------
    x, z : ndarray
        Unknowns and multipliers; ``c + K'z = 0``, and z is in the dual cones.
    objective : float
        Value of ``c'x``.
    is_sure : bool
        Whether the solver reached its tolerance.
    """

    x: FloatArray
    z: FloatArray
    objective: float
    is_sure: bool


class ConeSession:
    """A cone program inside Clarabel whose numbers can change while its pattern stays.

    It has none of the names, checks and certificates of a `Program`, which for small programs take more time than the
    solver does. It is meant for inner loops whose answers are checked elsewhere.

    Parameters
    ----------
    pattern : Pattern
        Where the numbers are.
    c : ndarray
        Cost of the unknowns.
    K : ndarray
        The entries at the places of the pattern.
    k : ndarray
        Right-hand sides.

    Examples
    --------
    The least x with ``x >= 3``, and then with ``2 x >= 8``:

    >>> at = np.array([0, 1], dtype=np.int32), np.array([0], dtype=np.int32)
    >>> one = np.ones(1)
    >>> session = ConeSession(Pattern(*at, 0, 1, []), one, -one, -3 * one)
    >>> before = session.solve().objective
    >>> session.update(-2 * one, -8 * one)
    >>> round(before, 6), round(session.solve().objective, 6)
    (3.0, 4.0)
    """

    def __init__(self, pattern: Pattern, c: FloatArray, K: FloatArray, k: FloatArray):
        self._pattern, self._c, self._K, self._k = pattern, c, K, k
        self._solver = self._make(_REFINEMENT)

    def _make(self, refinement: float | None) -> Any:
        pattern = self._pattern
        K = sparse.csc_matrix((self._K, pattern.indices, pattern.indptr), shape=pattern.shape)
        # Presolve would take rows out, after which nothing can be changed any more.
        settings = make_settings(Options(presolve=False))
        if refinement is not None:
            settings.iterative_refinement_reltol = refinement
            settings.iterative_refinement_abstol = refinement
        cones = make_cones(pattern.zero, pattern.nonnegative, pattern.sizes)
        P = sparse.csc_matrix((self._c.size, self._c.size))
        return clarabel.DefaultSolver(P, self._c, K, self._k, cones, settings)

    def update(self, K: FloatArray, k: FloatArray) -> None:
        """Change the entries of K and the right-hand sides."""
        self._K, self._k = K, k
        self._solver.update(A=K, b=k)

    def solve(self) -> ConePoint:
        """Return the optimum.

        Raises
        ------
        NumericalError
            If there is none, or Clarabel did not find it.
        """
        found = self._solver.solve()
        if str(found.status) != "Solved":
            # Once more with all the precision there is, and scaled for the numbers as they are now.
            found = self._make(None).solve()
        status = str(found.status)
        if status not in _ENDED_WELL:
            raise NumericalError(f"Clarabel broke down ({status}); scale the data")
        x, z = np.array(found.x), np.array(found.z)
        return ConePoint(x, z, float(found.obj_val), status == "Solved")
