"""Reading the next part of a file while the last one is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

__all__ = ["read_ahead"]

T = TypeVar("T")


def read_ahead(parts: Iterator[T]) -> Iterator[T]:
    """Ask for each part of something in a thread, one part ahead, from now on.

    Parameters
    ----------
    parts : iterator
        What takes time to read.

    Returns
    -------
    iterator
        The same parts; what goes wrong in reading is raised where the part would come.

    Examples
    --------
    >>> "".join(read_ahead(iter("abcd")))
    'abcd'
    """
    pool = ThreadPoolExecutor(1)
    return _one_by_one(parts, pool, pool.submit(_next, parts))


def _next(parts: Iterator[T]) -> list[T]:
    return list(islice(parts, 1))


def _one_by_one(
    parts: Iterator[T], pool: ThreadPoolExecutor, coming: Future[list[T]]
) -> Iterator[T]:
    with pool:
        while found := coming.result():
            coming = pool.submit(_next, parts)
            yield found[0]
