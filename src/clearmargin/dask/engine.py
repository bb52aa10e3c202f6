"""Run pure functions where the partitions are: on the threads of this process, or on the workers of a cluster.

There is no state on workers but values that can be computed again: a task that ends with its worker is run anew, and
so is what it needs. Answers come back in the order of the calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from clearmargin.exceptions import InvalidValueError

# A task costs the scheduler 2 to 3 ms; with four for each thread none waits long for the last one.
TASKS_PER_THREAD = 4
# How often a task is run again after an error, such as a file that could not be read.
_RETRIES = 3
# Settings of Dask that mean the current client, if there is one.
_ANY = (None, "dask.distributed", "distributed")


class Engine(Protocol):
    """Where functions are run."""

    @property
    def n_threads(self) -> int:
        """How many tasks run at the same time."""
        ...

    @property
    def memory(self) -> int:
        """How many bytes there are for tables."""
        ...

    def submit(self, f: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a function with each of the arguments, and return handles of the answers, which stay where they are."""
        ...

    def load(self, delayed: Sequence[Any]) -> list[Any]:
        """Compute delayed values of Dask, and return their handles."""
        ...

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Bring answers here."""
        ...


class Here:
    """The process of the caller, by one of Dask's own schedulers."""

    def __init__(self, scheduler: Any = None):
        self._scheduler = "threads" if scheduler is None else scheduler

    @property
    def n_threads(self) -> int:
        """How many tasks run at the same time."""
        import dask
        from dask.system import CPU_COUNT

        return int(dask.config.get("num_workers", None) or CPU_COUNT)

    @property
    def memory(self) -> int:
        """How many bytes are free."""
        import psutil

        return int(psutil.virtual_memory().available)

    def submit(self, f: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a function with each of the arguments; the handles are the answers."""
        import dask

        tasks = [dask.delayed(partial(f, *call), pure=False, traverse=False)() for call in calls]
        return list(dask.compute(*tasks, scheduler=self._scheduler))

    def load(self, delayed: Sequence[Any]) -> list[Any]:
        """Compute delayed values."""
        import dask

        return list(dask.compute(*delayed, scheduler=self._scheduler))

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Return the answers."""
        return list(handles)


class Cluster:
    """The workers of a cluster."""

    def __init__(self, client: Any):
        if not hasattr(client, "submit") or getattr(client, "asynchronous", False):
            raise InvalidValueError(
                f"client must be a dask.distributed.Client that is not asynchronous, not {client!r}"
            )
        self.client = client

    @property
    def n_threads(self) -> int:
        """How many tasks run at the same time."""
        return max(1, int(sum(self.client.nthreads().values())))

    @property
    def memory(self) -> int:
        """How many bytes the workers have together; what one without a limit has nobody knows, and it counts 4 GB."""
        workers = self.client.scheduler_info()["workers"].values()
        limits = [int(worker["memory_limit"] or 1 << 32) for worker in workers]
        # The scheduler need not list all of its workers, and they are alike.
        return sum(limits) * len(self.client.nthreads()) // max(1, len(limits))

    def submit(self, f: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a function with each of the arguments, which may be futures; the handles are futures."""
        return [self.client.submit(f, *call, pure=False, retries=_RETRIES) for call in calls]

    def load(self, delayed: Sequence[Any]) -> list[Any]:
        """Compute delayed values on the workers."""
        return list(self.client.compute(list(delayed), retries=_RETRIES))

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Bring answers here."""
        return list(self.client.gather(list(handles)))


def find_engine(client: Any = None) -> Engine:
    """Choose where to run: on the client given, else on the current one, else on the threads of this process."""
    if client is not None:
        return Cluster(client)
    import dask

    scheduler = dask.config.get("scheduler", None)
    distributed = sys.modules.get("distributed")
    if scheduler in _ANY and distributed is not None:
        try:
            return Cluster(distributed.default_client())
        except ValueError:  # there is none
            pass
    return Here(None if scheduler in _ANY else scheduler)
