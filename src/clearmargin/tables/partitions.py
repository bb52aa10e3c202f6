"""A table in partitions: some rows here, some there, and pure functions that are sent to them.

`Partitions` is all that an algorithm for tables larger than memory asks for. Its homes are arrays in memory
(`ArrayBlocks` below, which `fit(X, y)` uses inside), files (`scanned.py`), and the collections of an engine. An engine
moves parts; what is computed is the same everywhere. A row is known by its number in the whole table, and what is drawn
at random is drawn by a hash of that number (`row_keys`), so that samples depend neither on partitions nor on engines.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.row_order import mixed_words

__all__ = [
    "BLOCK_ROWS",
    "ArrayBlocks",
    "Block",
    "HeldParts",
    "MappedBlocks",
    "Partitions",
    "is_partitions",
    "join_blocks",
    "joined_blocks",
    "row_keys",
]

P = TypeVar("P")
P_co = TypeVar("P_co", covariant=True)
R = TypeVar("R")

# Rows of a block in memory: its temporary arrays stay small, and the cost of a call does not count.
BLOCK_ROWS = 1 << 16

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_LOW_BITS, _UNIT = np.uint64(11), 2.0**-53


class Block(NamedTuple):
    """Some rows as numbers, with what a classifier of two classes needs of them.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        The features: finite numbers. Column after column in memory, where the rows were read for the block; in an array
        of the user, as they lie there (a sparse matrix of the user stays sparse).
    y : ndarray of shape (m,)
        1.0 for rows of the second class, -1.0 for rows of the first.
    cost : ndarray of shape (m,)
        What a row weighs.
    rows : ndarray of int of shape (m,)
        The number of each row in the whole table, in ascending order.
    """

    X: Any
    y: FloatArray
    cost: FloatArray
    rows: IntArray

    def take(self, places: Any) -> Block:
        """Return some of the rows, by their places in the block or a mask."""
        return Block(self.X[places], self.y[places], self.cost[places], self.rows[places])


class Partitions(Protocol[P_co]):
    """The rows of a table in partitions, each of which is given to functions as one value, such as a `Block`.

    Attributes
    ----------
    names : tuple of str
        The columns.
    lengths : tuple of int
        The number of rows of each partition, in the order of the rows.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        ...

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of rows of each partition, in the order of the rows."""
        ...

    def map(
        self,
        f: Callable[..., R],
        own: Sequence[tuple[Any, ...]] | None = None,
        common: tuple[Any, ...] = (),
    ) -> list[R]:
        """Call a function on every partition.

        Parameters
        ----------
        f : callable
            ``f(part, *own[p], *common)``. It is pure, and has a name in a module: an engine may send it elsewhere, and
            call it twice, in any order. What it returns is small, or the rows that the caller asks for.
        own : sequence of tuple, optional
            Arguments of one partition each.
        common : tuple, default ()
            Arguments of all of them.

        Returns
        -------
        list
            The answers, in the order of the partitions.
        """
        ...

    def sample(self, share: float) -> Partitions[P_co]:
        """Return the rows whose key (`row_keys`) is below a share; those of a smaller share are among them."""
        ...


def row_keys(rows: IntArray) -> FloatArray:
    """Give each row a number between 0 and 1 that looks random, and depends on the number of the row alone.

    Parameters
    ----------
    rows : ndarray of int
        Numbers of rows in the whole table.

    Returns
    -------
    ndarray of float
        From 0 to below 1: SplitMix64 of the row number, over 2^64.

    Examples
    --------
    >>> row_keys(np.arange(3)).round(3)
    array([0.883, 0.567, 0.591])
    """
    words = mixed_words(np.asarray(rows).astype(np.uint64) + _GOLDEN)
    return np.asarray((words >> _LOW_BITS).astype(np.float64) * _UNIT)


class ArrayBlocks:
    """Rows in memory as partitions: slices of arrays, none of which is copied.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (m, n)
        The features.
    y : ndarray of shape (m,)
        Signs of the classes, 1.0 or -1.0.
    cost : ndarray of shape (m,), optional
        What the rows weigh, 1 by default.
    names : sequence of str, optional
        The columns; by default x0, x1, ...
    rows : ndarray of int of shape (m,), optional
        The numbers of the rows in the whole table, in ascending order, where these are only some of its rows.
    block_rows : int, default 65536
        Rows of a partition.

    Examples
    --------
    >>> parts = ArrayBlocks(np.arange(10.0).reshape(5, 2), np.array([1.0, -1, 1, -1, 1]), block_rows=2)
    >>> parts.lengths
    (2, 2, 1)
    >>> parts.map(lambda block, w: float((block.X @ w).sum()), common=(np.array([1.0, 0.0]),))
    [2.0, 10.0, 8.0]
    """

    def __init__(
        self,
        X: Any,
        y: FloatArray,
        cost: FloatArray | None = None,
        *,
        names: Sequence[str] | None = None,
        rows: IntArray | None = None,
        block_rows: int = BLOCK_ROWS,
    ):
        self.X, self.y = X, y
        self.cost = np.ones(len(y)) if cost is None else cost
        self.rows, self.block_rows = rows, block_rows
        self.names = tuple(f"x{j}" for j in range(X.shape[1])) if names is None else tuple(names)
        starts = range(0, len(y), block_rows)
        self.lengths = tuple(min(block_rows, len(y) - start) for start in starts)

    def map(
        self,
        f: Callable[..., R],
        own: Sequence[tuple[Any, ...]] | None = None,
        common: tuple[Any, ...] = (),
    ) -> list[R]:
        """Call a function on every block; see `Partitions`."""
        given = [()] * len(self.lengths) if own is None else own
        return [
            f(self._block(p), *arguments, *common)
            for p, arguments in zip(range(len(self.lengths)), given, strict=True)
        ]

    def sample(self, share: float) -> ArrayBlocks:
        """Return the rows whose key is below a share, as arrays of their own; see `Partitions`."""
        rows = np.arange(len(self.y)) if self.rows is None else self.rows
        chosen = np.flatnonzero(row_keys(rows) < share)
        return ArrayBlocks(
            self.X[chosen],
            self.y[chosen],
            self.cost[chosen],
            names=self.names,
            rows=rows[chosen],
            block_rows=self.block_rows,
        )

    def _block(self, p: int) -> Block:
        start = p * self.block_rows
        end = start + self.lengths[p]
        rows = np.arange(start, end) if self.rows is None else self.rows[start:end]
        return Block(self.X[start:end], self.y[start:end], self.cost[start:end], rows)


class MappedBlocks:
    """Partitions of something else, each turned into a `Block` where it is, whenever it is asked for.

    Parameters
    ----------
    parts : Partitions
        The rows.
    to_block : callable
        ``to_block(part, *arguments)`` gives the block of a partition.
    arguments : tuple
        Of `to_block`.
    names : sequence of str
        The columns of the blocks.
    """

    def __init__(
        self,
        parts: Partitions[Any],
        to_block: Callable[..., Block],
        arguments: tuple[Any, ...],
        names: Sequence[str],
    ):
        self._parts, self._to_block, self._arguments = parts, to_block, arguments
        self.names = tuple(names)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of rows of each partition."""
        return self._parts.lengths

    def map(
        self,
        f: Callable[..., R],
        own: Sequence[tuple[Any, ...]] | None = None,
        common: tuple[Any, ...] = (),
    ) -> list[R]:
        """Call a function on every block; see `Partitions`."""
        return mapped(self._parts, self._to_block, self._arguments, f, own, common)

    def sample(self, share: float) -> ArrayBlocks:
        """Return the rows whose key is below a share, brought here in one pass; see `Partitions`."""
        # Drawn as they are stored, which may take less room, and only these are converted.
        parts = self._parts.map(sampled, common=(share,))[::-1]
        m = sum(len(_rows(part)) for part in parts)
        X, columns = np.empty((m, len(self.names)), order="F"), np.empty((3, m))
        end = 0
        while parts:
            block = self._to_block(parts.pop(), *self._arguments)
            start, end = end, end + len(block.y)
            X[start:end], columns[:, start:end] = block.X, block[1:]
        y, cost, rows = columns[:, :end]
        return ArrayBlocks(X[:end], y, cost, names=self.names, rows=rows.astype(np.intp))


def mapped(
    parts: Partitions[Any],
    change: Callable[..., Any],
    arguments: tuple[Any, ...],
    f: Callable[..., R],
    own: Sequence[tuple[Any, ...]] | None = None,
    common: tuple[Any, ...] = (),
) -> list[R]:
    """Call a function on what another one makes of every partition, where that is.

    Parameters
    ----------
    parts : Partitions
        The rows.
    change : callable
        ``change(part, *arguments)`` is what `f` is given.
    arguments : tuple
        Of `change`.
    f, own, common
        As for `Partitions.map`.

    Returns
    -------
    list
        The answers, in the order of the partitions.
    """
    if own is None:
        return parts.map(_called_on, None, (change, arguments, f, common))
    return parts.map(_called_with_own, [(tuple(a),) for a in own], (change, arguments, f, common))


def _called_on(
    part: Any,
    change: Callable[..., Any],
    arguments: tuple[Any, ...],
    f: Callable[..., R],
    common: tuple[Any, ...],
) -> R:
    return f(change(part, *arguments), *common)


def _called_with_own(
    part: Any,
    own: tuple[Any, ...],
    change: Callable[..., Any],
    arguments: tuple[Any, ...],
    f: Callable[..., R],
    common: tuple[Any, ...],
) -> R:
    return f(change(part, *arguments), *own, *common)


def joined_blocks(blocks: list[Block], names: Sequence[str]) -> ArrayBlocks:
    """Put blocks together, in memory, column after column.

    Parameters
    ----------
    blocks : list of Block
        In the order of their rows. The list is emptied on the way, so that rows are not held twice.
    names : sequence of str
        The columns.

    Returns
    -------
    ArrayBlocks
        All rows, with their numbers in the whole table.
    """
    whole = join_blocks(blocks, len(names))
    return ArrayBlocks(whole.X, whole.y, whole.cost, names=names, rows=whole.rows)


def join_blocks(blocks: list[Block], n: int) -> Block:
    """Put blocks of n columns together to one, column after column in memory; the list is emptied."""
    if len(blocks) == 1:
        return blocks[0]
    X = np.empty((sum(len(block.y) for block in blocks), n), order="F")
    y, cost, rows = (
        np.concatenate([block[k] for block in blocks]) if blocks else np.empty(0) for k in (1, 2, 3)
    )
    end = len(X)
    for _ in range(len(blocks)):
        block = blocks.pop()
        X[end - len(block.y) : end] = block.X
        end -= len(block.y)
    return Block(X, y, cost, rows.astype(np.intp))


class HeldParts(Generic[P]):
    """Partitions that are held in memory, whatever they are.

    Parameters
    ----------
    parts : sequence
        The partitions, in the order of their rows; each has `rows`, the numbers of its rows, and `take`.
    names : sequence of str
        The columns.
    """

    def __init__(self, parts: Sequence[P], names: Sequence[str]):
        self.parts, self._names = tuple(parts), tuple(names)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self._names

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of rows of each partition."""
        return tuple(len(_rows(part)) for part in self.parts)

    def map(
        self,
        f: Callable[..., R],
        own: Sequence[tuple[Any, ...]] | None = None,
        common: tuple[Any, ...] = (),
    ) -> list[R]:
        """Call a function on every partition; see `Partitions`."""
        given = [()] * len(self.parts) if own is None else own
        return [
            f(part, *arguments, *common) for part, arguments in zip(self.parts, given, strict=True)
        ]

    def sample(self, share: float) -> HeldParts[P]:
        """Return the rows whose key is below a share; see `Partitions`."""
        return HeldParts([sampled(part, share) for part in self.parts], self.names)


def _rows(part: Any) -> IntArray:
    rows: IntArray = part.rows
    return rows


def sampled(part: P, share: float) -> P:
    """Return the rows of a partition whose key is below a share."""
    taken: P = part.take(row_keys(_rows(part)) < share)  # type: ignore[attr-defined]
    return taken


def is_partitions(X: object) -> bool:
    """Tell whether a table is given in partitions."""
    # Lengths are not evaluated: that may take a pass.
    names = ("names", "lengths", "map", "sample")
    return all(inspect.getattr_static(X, name, None) is not None for name in names)
