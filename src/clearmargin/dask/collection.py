"""A Dask data frame or array as partitions: its rows stay with the engine, and functions are sent to them.

A partition of the collection is read by its own part of Dask's graph, inside one task, so that nothing but a group of
partitions and a function travels. Small partitions are grouped: a pass has at most four tasks for each worker thread.
Where the table fits into the memory of the engine its partitions are held there after they were read, and so are the
blocks that a classifier is trained on; otherwise they are read again in every pass, one partition at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from clearmargin.dask.engine import TASKS_PER_THREAD, Cluster, Engine, find_engine
from clearmargin.exceptions import DataError
from clearmargin.tables.part_survey import (
    TableParts,
    TableSurvey,
    join_facts,
    look_at,
    stored_columns,
    training_block,
)
from clearmargin.tables.partitions import (
    Block,
    MappedBlocks,
    Partitions,
    join_blocks,
    joined_blocks,
    sampled,
)
from clearmargin.tables.table import Table
from clearmargin.tables.table_part import TablePart

R = TypeVar("R")

# Shares of the engine's memory: the table is held if it takes at most the first, its blocks beside it if both take at
# most the second. The rest is for Dask and for what functions need.
_TABLE_SHARE, _BLOCKS_SHARE = 0.3, 0.5
# A sample of at most so many bytes is brought here; a larger one stays with the engine.
_HERE_BYTES = 1 << 27


def is_dask_array(X: object) -> bool:
    """Tell whether something is a Dask array."""
    return type(X).__module__.startswith("dask.array") and hasattr(X, "numblocks")


def is_collection(X: object) -> bool:
    """Tell whether something is a Dask data frame, series or array."""
    is_frame = type(X).__module__.startswith("dask.dataframe") and hasattr(X, "map_partitions")
    return is_frame or is_dask_array(X)


class DaskTable(TableParts):
    """A user's table in a Dask collection; see `TableParts`."""

    def __init__(self, X: Any, y: Any = None, weight: Any = None, client: Any = None):
        frame = _as_frame(X)
        self._engine: Engine = find_engine(client)
        self._names = tuple(str(key) for key in frame.columns)
        self.has_names = not is_dask_array(X) and all(isinstance(c, str) for c in frame.columns)
        self.target = None if y is None else self._free_name(getattr(y, "name", None), "y")
        self.weight = None if weight is None else self._free_name(None, "sample_weight")
        beside = {
            name: _as_column(given, X, called)
            for name, given, called in (
                (self.target, y, "y"),
                (self.weight, weight, "sample_weight"),
            )
            if name is not None
        }
        for called, column in zip(("y", "sample_weight"), beside.values(), strict=False):
            _check_partitions(frame, column, called)
        self._label_type = None if y is None else _label_type(y)
        parts = frame.map_partitions(
            _table_part,
            *beside.values(),
            beside=tuple(beside),
            has_names=self.has_names,
            meta=frame._meta,
            align_dataframes=False,
            enforce_metadata=False,
        )
        self._sources, self._are_futures = _find_sources(parts, self._engine)
        self._groups = _grouped(len(self._sources), TASKS_PER_THREAD * self._engine.n_threads)
        self._held: list[Any] | None = None
        self._is_tried, self._n_held = False, 0
        self._lengths: tuple[int, ...] | None = None

    def _free_name(self, name: Any, default: str) -> str:
        chosen = default if name is None else str(name)
        while chosen in self._names:
            chosen += "_"
        return chosen

    @property
    def names(self) -> tuple[str, ...]:
        """The features."""
        return self._names

    @property
    def name(self) -> str:
        """What the table is called in messages."""
        return "the Dask collection"

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of rows of each partition; they are counted in a pass, where no pass was made yet."""
        if self._lengths is None:
            self._lengths = tuple(self._run(_length, None, (), None))
        return self._lengths

    def map(
        self,
        f: Callable[..., R],
        own: Sequence[tuple[Any, ...]] | None = None,
        common: tuple[Any, ...] = (),
    ) -> list[R]:
        """Call a function on every partition; see `Partitions`."""
        return self._run(f, own, common, _starts(self.lengths))

    def survey(self) -> TableSurvey:
        """Look at every row, once for all who ask; the rows are counted in the same pass."""
        if self._survey is None:
            common = (self.names, self.target, self.weight)
            # Messages number rows within their partition, so that nobody needs to know yet where it starts.
            found = self._run(look_at, None, common, None)
            self._lengths = tuple(part.n_rows for part in found)
            if not sum(self._lengths):
                raise DataError("the table is empty: X has no rows, nothing can be learned from it")
            self._survey = replace(join_facts(found), label_type=self._label_type)
        return self._survey

    def blocks(
        self, classes: NDArray[Any], costs: Sequence[float] = (1.0, 1.0)
    ) -> Partitions[Block]:
        """Give the rows as blocks for a classifier of two classes; held by the engine where they fit."""
        arguments = self._block_arguments(classes, costs)
        size = sum(self.lengths) * (len(self.names) + 3) * 8
        is_held = self._held is not None or self._are_futures
        # What the user holds takes about as much as its blocks.
        if not is_held or size + (self._n_held or size) > _BLOCKS_SHARE * self._engine.memory:
            return _ReadBlocks(self, arguments)
        handles = self._submit(training_block, None, arguments, _starts(self.lengths), join=True)
        return HeldBlocks(self._engine, handles, self.names)

    def _run(
        self,
        f: Callable[..., R],
        own: Sequence[tuple[Any, ...]] | None,
        common: tuple[Any, ...],
        starts: Sequence[int] | None,
    ) -> list[R]:
        answers: list[R] = []
        for found in self._engine.gather(self._submit(f, own, common, starts)):
            if isinstance(
                found, DataError
            ):  # of the first partition that has one, whichever was first in time
                raise found
            answers.extend(found)
        return answers

    def _submit(
        self,
        f: Callable[..., Any],
        own: Sequence[tuple[Any, ...]] | None,
        common: tuple[Any, ...],
        starts: Sequence[int] | None,
        *,
        join: bool = False,
    ) -> list[Any]:
        """Send a function to all groups of partitions; the answers stay where they are."""
        calls = []
        for source, group in zip(self._group_sources(), self._groups, strict=True):
            places = [0] * len(group) if starts is None else [starts[k] for k in group]
            given = [()] * len(group) if own is None else [own[k] for k in group]
            calls.append((source, _Call(f, tuple(group), places, given, common, join)))
        return self._engine.submit(_on_group, calls)

    def _group_sources(self) -> list[Any]:
        """Give what the tasks of a pass start from: partitions that are held, or how to read them."""
        if self._are_futures:
            # The user holds the collection on the cluster; a table of its own beside it would be a second copy.
            found = self._engine.load(self._sources)
            return [[found[k] for k in group] for group in self._groups]
        sources = [[self._sources[k] for k in group] for group in self._groups]
        if not self._is_tried:
            self._is_tried = True
            (size,) = self._engine.gather(self._engine.submit(_n_bytes, [(self._sources[0],)]))
            self._n_held = size * len(self._sources)
            if self._n_held <= _TABLE_SHARE * self._engine.memory:
                self._held = self._engine.submit(_read_group, [(source,) for source in sources])
        return sources if self._held is None else self._held


class HeldBlocks:
    """Blocks that the engine holds; see `Partitions`."""

    def __init__(self, engine: Engine, handles: Sequence[Any], names: Sequence[str]):
        self._engine, self._handles, self.names = engine, list(handles), tuple(names)
        self.lengths: tuple[int, ...] = tuple(engine.gather(self._submit(_length, None, ())))

    def map(
        self,
        f: Callable[..., R],
        own: Sequence[tuple[Any, ...]] | None = None,
        common: tuple[Any, ...] = (),
    ) -> list[R]:
        """Call a function on every block; see `Partitions`."""
        return self._engine.gather(self._submit(f, own, common))

    def sample(self, share: float) -> Partitions[Block]:
        """Return the rows whose key is below a share: here if they are few, else where they are."""
        if _is_small(share, self):
            return joined_blocks(self.map(sampled, common=(share,)), self.names)
        return HeldBlocks(self._engine, self._submit(sampled, None, (share,)), self.names)

    def _submit(
        self,
        f: Callable[..., Any],
        own: Sequence[tuple[Any, ...]] | None,
        common: tuple[Any, ...],
    ) -> list[Any]:
        given = [()] * len(self._handles) if own is None else own
        return self._engine.submit(
            _on_block,
            [
                (handle, _Call(f, (), (), [arguments], common))
                for handle, arguments in zip(self._handles, given, strict=True)
            ],
        )


class _ReadBlocks(MappedBlocks):
    """Blocks that are made anew in every pass."""

    def __init__(self, table: DaskTable, arguments: tuple[Any, ...]):
        super().__init__(table, training_block, arguments, table.names)
        self._table = table

    def sample(self, share: float) -> Partitions[Block]:  # type: ignore[override]
        """Return the rows whose key is below a share: here if they are few, else held by the engine."""
        if _is_small(share, self):
            return super().sample(share)
        table = self._table
        common = (self._arguments, share)
        handles = table._submit(_sampled_training, None, common, _starts(table.lengths), join=True)
        return HeldBlocks(table._engine, handles, self.names)


def _is_small(share: float, blocks: Partitions[Any]) -> bool:
    rows = share * sum(blocks.lengths)
    return rows * (len(blocks.names) + 3) * 8 <= _HERE_BYTES


# Reading a collection.


def _as_frame(X: Any) -> Any:
    """Give a data frame of the collection, an array with columns x0, x1, ..."""
    if is_dask_array(X) and X.ndim == 2:
        import dask.dataframe as dd

        one_chunk = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        return dd.from_dask_array(one_chunk, columns=[f"x{j}" for j in range(X.shape[1])])
    if is_collection(X) and hasattr(X, "columns"):
        names = [str(key) for key in X.columns]
        for name in names:
            if names.count(name) > 1:
                raise DataError(f"two columns of the table are called {name!r}; rename one of them")
        return X
    shape = f" of {X.ndim} dimension(s)" if is_collection(X) else ""
    raise DataError(
        f"X must be a Dask data frame or a Dask array of two dimensions, not {type(X).__name__}{shape}; the estimators "
        "at the top of clearmargin take tables in memory"
    )


def _as_column(y: Any, X: Any, called: str) -> Any:
    """Give a series of labels or weights."""
    if is_dask_array(y) and y.ndim == 1:
        import dask.dataframe as dd

        known = is_dask_array(X) and not np.isnan([*X.chunks[0], *y.chunks[0]]).any()
        if known and y.shape[0] != X.shape[0]:
            raise DataError(
                f"X has {X.shape[0]} rows but {called} has {y.shape[0]} (inconsistent numbers of samples); each row "
                "needs one"
            )
        return dd.from_dask_array(y.rechunk((X.chunks[0],)) if known else y)
    if is_collection(y) and getattr(y, "ndim", 0) == 1:
        return y
    raise DataError(
        f"{called} must be a Dask series or a Dask array of one dimension, with a value for each row of X, not "
        f"{type(y).__name__}; take it from the same collection, ddf['y']"
    )


def _label_type(y: Any) -> Any:
    """Tell the type that classes have in memory."""
    return y.dtype if is_dask_array(y) else np.asarray(y._meta).dtype


def _check_partitions(frame: Any, column: Any, called: str) -> None:
    if column.npartitions != frame.npartitions:
        raise DataError(
            f"X has {frame.npartitions} partitions and {called} has {column.npartitions}; rows are paired partition by "
            "partition, so take both from one collection"
        )


def _table_part(
    frame: Any, *columns: Any, beside: tuple[str, ...], has_names: bool
) -> TablePart | DataError:
    """Make a partition of one of Dask's, with labels and weights; what is wrong is an answer, too."""
    try:
        stored = stored_columns(Table.read(frame))
        for name, column in zip(beside, columns, strict=True):
            if len(column) != len(frame):
                return DataError(
                    f"X has {len(frame)} rows and {name!r} has {len(column)}; each row needs one"
                )
            stored |= stored_columns(Table.read({name: column.to_numpy()}))
    except DataError as error:
        return error
    return TablePart(stored, np.arange(len(frame)), "", has_names=has_names)


@dataclass(frozen=True, slots=True)
class _Source:
    """How to read one partition: its part of the graph of the collection."""

    graph: dict[Any, Any]
    key: Any

    def read(self) -> TablePart | DataError:
        """Read the partition, in this thread."""
        import dask

        try:
            found: TablePart | DataError = dask.get(self.graph, self.key)
        except (KeyError, AttributeError, TypeError, ValueError) as error:
            # Of a partition with other columns or types than the collection says.
            return DataError(f"{type(error).__name__}: {error}")
        return found


def _find_sources(parts: Any, engine: Engine) -> tuple[list[Any], bool]:
    """Find how to read each partition: by its graph, or by futures where the user holds the collection on a cluster."""
    import dask
    from dask.core import flatten
    from dask.optimization import cull

    # Of small Parquet files Dask would make fewer partitions, of X others than of y; we group them all together.
    with dask.config.set({"dataframe.parquet.minimum-partition-size": 0}):
        if isinstance(engine, Cluster):
            from distributed import futures_of

            if futures_of(parts):
                return parts.to_delayed(), True
        whole = parts.optimize()
    graph = dict(whole.__dask_graph__())
    keys = list(flatten(whole.__dask_keys__()))
    return [_Source(dict(cull(graph, [key])[0]), key) for key in keys], False


def _grouped(n: int, most: int) -> list[range]:
    """Put neighbouring partitions into at most so many groups of about the same size."""
    groups = min(n, most)
    ends = [n * (k + 1) // groups for k in range(groups)]
    return [range(start, end) for start, end in zip([0, *ends], ends, strict=False)]


def _starts(lengths: Sequence[int]) -> list[int]:
    return list(accumulate(lengths, initial=0))[:-1]


# What runs with the engine.


@dataclass(frozen=True, slots=True)
class _Call:
    """A function for a group of partitions, opaque to Dask, which would look into tuples for tasks."""

    f: Callable[..., Any]
    numbers: tuple[int, ...]
    starts: Sequence[int]
    own: Sequence[tuple[Any, ...]]
    common: tuple[Any, ...]
    # Whether the answers are blocks to be joined.
    join: bool = False


def _on_group(source: list[Any], call: _Call) -> Any:
    """Call a function on partitions, one after the other; return its answers, or what is wrong with one of them."""
    answers = []
    for item, number, start, own in zip(source, call.numbers, call.starts, call.own, strict=True):
        part = item.read() if isinstance(item, _Source) else item
        place = f"partition {number}"
        if isinstance(part, DataError):
            return DataError(f"{place} (counted from 0) of the collection cannot be read: {part}")
        placed = part._replace(rows=part.rows + start, place=place, first=start)
        try:
            answers.append(call.f(placed, *own, *call.common))
        except DataError as error:
            return error
    return join_blocks(answers, answers[0].X.shape[1]) if call.join else answers


def _on_block(block: Block, call: _Call) -> Any:
    return call.f(block, *call.own[0], *call.common)


def _read_group(sources: list[_Source]) -> list[TablePart | DataError]:
    return [source.read() for source in sources]


def _sampled_training(part: TablePart, arguments: tuple[Any, ...], share: float) -> Block:
    return sampled(training_block(part, *arguments), share)


def _n_bytes(source: _Source) -> int:
    part = source.read()
    return 0 if isinstance(part, DataError) else part.n_bytes


def _length(part: Any) -> int:
    return len(part.rows)
