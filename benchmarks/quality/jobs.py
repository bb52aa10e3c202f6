"""Work that is done in other processes, and can be moved to one that has become free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, Generic, TypeVar

__all__ = ["Job", "share"]

T = TypeVar("T")


class Job(Generic[T]):
    """Work that is done elsewhere, and may be moved as long as it has not begun."""

    def __init__(self, pool: Executor, work: Callable[..., T], *given: Any) -> None:
        self._work, self._given = work, given
        self._future = pool.submit(work, *given)

    def move(self, pool: Executor) -> None:
        """Have it done by another pool, unless it has begun."""
        if self._future.cancel():
            self._future = pool.submit(self._work, *self._given)

    def result(self) -> T:
        """What came out; waits for it."""
        return self._future.result()


def share(jobs: Sequence[Job[Any]], pool: Executor) -> None:
    """Move every second job that has not begun, from the last one on."""
    for job in jobs[::-2]:
        job.move(pool)
