"""A progress bar for work that turns out to be slow."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

__all__ = ["Progress", "progress_bar"]

Progress = bool | Literal["auto"]
Advance = Callable[[], None]

# Work that is done sooner does not need a bar.
_PATIENCE = 2.0


@contextmanager
def progress_bar(title: str, total: int, show: Progress = "auto") -> Iterator[Advance]:
    """Count steps on stderr, once the work has taken two seconds.

    Parameters
    ----------
    title : str
        What is being done.
    total : int
        Number of steps.
    show : bool or "auto", default "auto"
        "auto" shows the bar on a terminal only; True shows it anywhere, from the start; False never.

    Yields
    ------
    callable
        Call it after each step.

    Examples
    --------
    >>> with progress_bar("folds", 3, show=False) as advance:
    ...     advance()
    """
    if show is False or (show == "auto" and not sys.stderr.isatty()):
        yield lambda: None
        return
    bar = _Bar(title, total, patience=0.0 if show is True else _PATIENCE)
    try:
        yield bar.advance
    finally:
        bar.close()


class _Bar:
    """One line, rewritten at each step."""

    def __init__(self, title: str, total: int, patience: float):
        self._title, self._total, self._patience = title, total, patience
        self._start, self._done, self._drawn = time.monotonic(), 0, False

    def advance(self) -> None:
        self._done += 1
        elapsed = time.monotonic() - self._start
        if elapsed < self._patience:
            return
        self._drawn = True
        filled = 24 * self._done // self._total
        left = elapsed / self._done * (self._total - self._done)
        sys.stderr.write(
            f"\r{self._title} [{'#' * filled}{'.' * (24 - filled)}] {self._done}/{self._total}, {left:.0f} s left "
        )
        sys.stderr.flush()

    def close(self) -> None:
        if self._drawn:
            sys.stderr.write("\n")
