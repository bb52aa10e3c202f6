"""What a caller can ask of a backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from clearmargin.exceptions import InvalidValueError
from clearmargin.solvers.large_value import suggest

__all__ = ["Method", "Options"]

Method: TypeAlias = Literal["auto", "simplex", "primal", "dual", "ipm"]

# The tolerance at which backends stop and certificates pass. HiGHS accepts nothing below 1e-10, and an
# answer with more than 1e-2 of error is no answer.
DEFAULT_TOLERANCE = 1e-7
_SMALLEST_TOLERANCE, _LARGEST_TOLERANCE = 1e-10, 1e-2
# No call waits for ever: an interior point method was seen to go round in circles on badly scaled data.
DEFAULT_TIME_LIMIT = 600.0


@dataclass(frozen=True, slots=True)
class Options:
    """How to solve: method, tolerance, time limit (seconds) and whether to presolve."""

    method: Method = "auto"
    tol: float | None = None
    time_limit: float | None = None
    presolve: bool = True

    @property
    def seconds(self) -> float:
        """The time limit; ten minutes where none is given."""
        return DEFAULT_TIME_LIMIT if self.time_limit is None else self.time_limit

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            raise InvalidValueError(
                f"unknown method {self.method!r}{suggest(self.method, get_args(Method))}"
            )
        if self.tol is not None and not _SMALLEST_TOLERANCE <= self.tol <= _LARGEST_TOLERANCE:
            raise InvalidValueError(
                f"tol is {self.tol}; it must lie between {_SMALLEST_TOLERANCE} and {_LARGEST_TOLERANCE}"
            )
        if self.time_limit is not None and not self.time_limit > 0:
            raise InvalidValueError(
                f"time_limit is {self.time_limit}; it must be a positive number of seconds (inf for no "
                "limit), or None for ten minutes"
            )
