"""A table in partitions: some rows here, some there, and pure functions that are sent to them.

`Partitions` is all that an algorithm for tables larger than memory asks for. Its homes are arrays in memory
(`ArrayBlocks` below, which `fit(X, y)` uses inside), files (`scanned.py`), and the collections of an engine. An engine
moves parts; what is computed is the same everywhere. A row is known by its number in the whole table, and what is drawn
at random is drawn by a hash of that number (`row_keys`), so that samples depend neither on partitions nor on engines.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.row_order import mixed_words

P = TypeVar("P")
P_co = TypeVar("P_co", covariant=True)
R = TypeVar("R")

# Rows of a block in memory: its temporary arrays stay small, and the cost of a call does not count.
BLOCK_ROWS = 1 << 16

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_LOW_BITS, _UNIT = np.uint64(11), 2.0**-53


class Block(NamedTuple):
    """Some rows as numbers, with what a classifier of two classes needs of them."""

    X: Any
    y: FloatArray
    cost: FloatArray
    rows: IntArray

    def take(self, places: Any) -> Block:
        """Return some of the rows, by their places in the block or a mask."""
        return Block(self.X[places], self.y[places], self.cost[places], self.rows[places])


class Parts(Protocol):
    """The rows of a table in partitions, each of which is given to functions as one value, such as a `TablePart`."""

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
        """Call a function on every partition."""
        ...


class Partitions(Parts, Protocol[P_co]):
    """Partitions, such as those of `Block`, of which a sample is drawn by the numbers of the rows."""

    def sample(self, share: float) -> Partitions[P_co]:
        """Return the rows whose key (`row_keys`) is below a share; those of a smaller share are among them."""
        ...


def row_keys(rows: IntArray) -> FloatArray:
    """Give each row a number between 0 and 1 that looks random, and depends on the number of the row alone."""
    words = mixed_words(np.asarray(rows).astype(np.uint64) + _GOLDEN)
    return np.asarray((words >> _LOW_BITS).astype(np.float64) * _UNIT)


class ArrayBlocks:
    """Rows in memory as partitions: slices of arrays, none of which is copied."""

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
    """Partitions of something else, each turned into a `Block` where it is, whenever it is asked for."""

    def __init__(
        self,
        parts: Parts,
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
    parts: Parts,
    change: Callable[..., Any],
    arguments: tuple[Any, ...],
    f: Callable[..., R],
    own: Sequence[tuple[Any, ...]] | None = None,
    common: tuple[Any, ...] = (),
) -> list[R]:
    """Call a function on what another one makes of every partition, where that is."""
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
    """Put blocks together, in memory, column after column."""
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
    names = ("names", "lengths", "map")
    return all(inspect.getattr_static(X, name, None) is not None for name in names)
