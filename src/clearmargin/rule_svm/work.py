"""How much work a linear program over all rules may take: a limit that is counted, and one of time.

A limit of time makes what is certified depend on the processor and on what else runs on it. Work is counted: simplex
iterations and sets of features that were priced, each with what it costs on average. The unit is about a second of one
core; what is done within a number of units is the same everywhere.
"""

from __future__ import annotations

import math
import time

__all__ = ["Budget"]

# Seconds of an iteration for a row, for a rule, and for a rule and a rule with a weight, as measured over 300 to 20,000
# rows of 8 to 60 features with 16 to 256 bins: the iterations of a program took 0.9 to 1.1 times as long.
_ITERATION_ROW, _ITERATION_RULE, _ITERATION_ENTRY = 26e-9, 50e-9, 2.5e-9
# Seconds that a solve may take when hardly any are left.
_LEAST_SECONDS = 0.01


class Budget:
    """Work and time that are left.

    Parameters
    ----------
    max_work : float or None, default None
        Units of work; None for no limit.
    time_limit : float or None, default None
        Seconds from now; None for no limit.

    Examples
    --------
    >>> budget = Budget(max_work=1.0)
    >>> budget.spend(0.75)
    >>> budget.is_over, budget.iterations(rows=1_000, rules=100, used=20)
    (False, 6944)
    >>> budget.spend(0.25)
    >>> budget.is_over, budget.is_late
    (True, False)
    """

    __slots__ = ("_deadline", "_left")

    def __init__(self, max_work: float | None = None, time_limit: float | None = None):
        self._left = math.inf if max_work is None else float(max_work)
        self._deadline = math.inf if time_limit is None else time.perf_counter() + time_limit

    @property
    def left(self) -> float:
        """Units of work that are left."""
        return self._left

    def spend(self, work: float) -> None:
        """Take work that was done off what is left."""
        self._left -= work

    @property
    def is_late(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() > self._deadline

    @property
    def is_over(self) -> bool:
        """Whether work or time is up."""
        return self._left <= 0.0 or self.is_late

    @property
    def seconds(self) -> float | None:
        """Seconds that are left, as long as a solver needs to notice; None without a limit."""
        if math.isinf(self._deadline):
            return None
        return max(_LEAST_SECONDS, self._deadline - time.perf_counter())

    def iterations(self, rows: int, rules: int, used: int) -> int | None:
        """Tell how many simplex iterations are left in a program of so many rows and rules; None without a limit."""
        if math.isinf(self._left):
            return None
        return max(0, int(self._left / iteration_work(rows, rules, used)))


def iteration_work(rows: int, rules: int, used: int) -> float:
    """Give the work of a simplex iteration.

    Parameters
    ----------
    rows, rules : int
        Numbers of rows and of rules in the program.
    used : int
        How many rules have a weight: the size of the basis that is not trivial.

    Returns
    -------
    float
        Units of work.
    """
    return _ITERATION_ROW * rows + _ITERATION_RULE * rules + _ITERATION_ENTRY * rules * used
