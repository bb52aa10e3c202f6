"""How times are taken: processor seconds, the shortest of some runs, rivals in turns."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

__all__ = ["one_thread", "race"]

# Variables by which the libraries below numpy are told how many threads to use.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def one_thread() -> None:
    """Ask for one thread, here (before numpy is imported) and in every child: processor seconds then mean work."""
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    os.environ.setdefault("PYTHONHASHSEED", "0")


def race(
    *runs: Callable[[], object], repeat: int = 3, least: float = 0.0, enough: float = float("inf")
) -> list[float]:
    """The shortest processor time of each, taken in turns so that other load meets all of them alike.

    What takes less than `least` seconds is run several times in a row and the time divided, because clocks are coarse.
    No turn begins when all together have taken `enough` seconds, so that rivals have as many turns as each other; when
    the longest takes less than a second, there are two turns at least.
    """
    counts, times = [1] * len(runs), [float("inf")] * len(runs)
    spent = 0.0
    for turn in range(repeat):
        is_needed = turn == 0 or (turn == 1 and max(times) < 1.0)
        if spent >= enough and not is_needed:
            break
        for k, run in enumerate(runs):
            start = time.process_time()
            for _ in range(counts[k]):
                run()
            used = time.process_time() - start
            spent += used
            seconds = used / counts[k]
            # The first turn also warms up, and tells how often to repeat.
            if turn == 0 and seconds < least:
                counts[k] = int(least / max(seconds, 1e-6)) + 1
            times[k] = min(times[k], seconds)
    return times
