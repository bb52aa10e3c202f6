"""Why a program has no optimum, in terms of its blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearmargin.exceptions import InfeasibleError, UnboundedError
from clearmargin.solvers.conflict import find_conflict
from clearmargin.solvers.ray import find_ray

if TYPE_CHECKING:
    from clearmargin.solvers.program import Program

__all__ = ["explain_failure"]


def explain_failure(
    program: Program, error: InfeasibleError | UnboundedError, time_limit: float | None
) -> InfeasibleError | UnboundedError:
    """Return the error with the names of the blocks at fault, or as it is when none were found."""
    if isinstance(error, UnboundedError):
        ray = find_ray(program, time_limit=time_limit)
        if ray is None:
            return error
        return UnboundedError(
            f"the objective can be improved without end along {ray}; "
            "bound it or check the signs of the costs"
        )
    conflict = find_conflict(program, time_limit=time_limit)
    if conflict is None:
        return error
    return InfeasibleError(str(conflict), conflict.blocks)
