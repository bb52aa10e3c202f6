"""What the miners of contrasts share: a table of truth values in, properties with their leverages and the time out."""

from __future__ import annotations

import importlib
import resource
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers.work.protocol import attend, write

Answer = list[tuple[tuple[int, ...], float]]
# Everybody has up to so many runs, as long as they have not taken so many CPU seconds together: one run
# may take twice as long as the next.
MOST_RUNS, RUN_SECONDS = 10, 1.0


class Table(NamedTuple):
    """Two ends of a ranking; a mask (row) says on which cases its property holds."""

    masks: Any
    is_top: Any
    max_size: int
    least: float  # the leverage to be reached, with the slack that floats need

    def frame(self) -> Any:
        """The table as pandas has it, without a copy."""
        pandas: Any = importlib.import_module("pandas")
        return pandas.DataFrame(self.masks.T, columns=[str(i) for i in range(len(self.masks))])


def read(path: Path) -> tuple[Table, int]:
    """A table, and how many bytes may be used for it."""
    with np.load(path) as file:
        table = Table(file["masks"], file["is_top"], int(file["max_size"]), float(file["least"]))
        return table, int(file["memory"])


def serve(peer: str, mine: Callable[[Table, str], Answer]) -> None:
    """Mine the tables of the command line with one algorithm; the shortest of some runs counts."""
    algorithm = sys.argv[1]

    def rehearse() -> None:
        masks = np.array([[True, True, False, False], [False, False, True, True]])
        mine(Table(masks, masks[0], 2, 0.1), algorithm)

    def answer(path: Path, target: Path) -> None:
        table, memory = read(path)
        resource.setrlimit(resource.RLIMIT_AS, (memory, resource.RLIM_INFINITY))
        begun = {"version": version(peer)}
        times: list[float] = []
        try:
            while not times or (len(times) < MOST_RUNS and sum(times) < RUN_SECONDS):
                turn = time.process_time()
                found = mine(table, algorithm)
                times.append(time.process_time() - turn)
        except MemoryError:
            write(target, begun | {"met": "memory"})
        else:
            write(target, begun | {"seconds": min(times), "found": found})

    attend(rehearse, answer)
