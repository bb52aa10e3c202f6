"""Work on the next parts of something while the last one is looked at."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

__all__ = ["read_ahead"]

T = TypeVar("T")
Part = TypeVar("Part")

# More threads would hold more parts in memory, and the one that looks at them could not keep up.
_MOST_WORKERS = 4


def read_ahead(read: Callable[[Part], T], parts: Iterator[Part]) -> Iterator[T]:
    """Apply a function to parts in threads, a few parts ahead, beginning now.

    Parameters
    ----------
    read : callable
        What takes time, most of it without holding the interpreter.
    parts : iterator
        What to apply it to.

    Returns
    -------
    iterator
        The results in order; what goes wrong is raised where the result would come.

    Examples
    --------
    >>> list(read_ahead(str.upper, iter("abcd")))
    ['A', 'B', 'C', 'D']
    """
    workers = min(_MOST_WORKERS, os.cpu_count() or 1)
    pool = ThreadPoolExecutor(workers)
    coming = deque(pool.submit(read, part) for part in islice(parts, workers))
    return _in_order(pool, coming, read, parts)


def _in_order(
    pool: ThreadPoolExecutor,
    coming: deque[Future[T]],
    read: Callable[[Part], T],
    parts: Iterator[Part],
) -> Iterator[T]:
    try:
        while coming:
            found = coming.popleft().result()
            coming.extend(pool.submit(read, part) for part in islice(parts, 1))
            yield found
    finally:
        pool.shutdown(cancel_futures=True)
