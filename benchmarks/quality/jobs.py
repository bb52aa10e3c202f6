"""Work that is done in other processes, and can be moved to one that has become free."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, wait
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Any, Generic, TypeVar

__all__ = ["Job", "shared"]

T = TypeVar("T")


class Job(Generic[T]):
    """Work that is done elsewhere, and may be moved as long as it has not begun."""

    def __init__(self, pool: Executor, work: Callable[..., T], *given: Any) -> None:
        self._work, self._given = work, given
        self._lock = Lock()
        self._future = pool.submit(work, *given)

    def move(self, pool: Executor) -> bool:
        """Have it done by another pool, and wait until it is; False where it has begun already."""
        with self._lock:
            if not self._future.cancel():
                return False
            self._future = moved = pool.submit(self._work, *self._given)
        wait([moved])
        return True

    def result(self) -> T:
        """What came out; waits for it, wherever it is done in the end."""
        while True:
            with self._lock:
                future = self._future
            try:
                return future.result()
            except CancelledError:
                # Moved while this waited.
                continue


@contextmanager
def shared(jobs: Sequence[Job[Any]], pool: Executor) -> Iterator[None]:
    """Let another pool take jobs as well, one after the other from the last one on, until both have met."""
    ended = Event()

    def take() -> None:
        for job in reversed(jobs):
            if ended.is_set():
                return
            job.move(pool)

    thread = Thread(target=take, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
