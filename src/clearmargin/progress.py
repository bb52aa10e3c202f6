"""Progress bars for work that turns out to be slow.

Of bars within bars, such as that of an estimator in the folds of another one, only the outer one is shown.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

__all__ = ["Progress", "Watch", "part", "progress_bar", "share_bar"]

Progress = bool | Literal["auto"]
Advance = Callable[[], None]
Watch = Callable[[float, int], None]

# Seconds: work in steps, and work that flows, that is done sooner does not need a bar.
_PATIENCE, _SHARE_PATIENCE = 2.0, 1.0
# Seconds between drawings of a bar that is told of many small parts.
_PAUSE = 0.1
_WIDTH = 24

_is_shown = False


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
    if not _is_wanted(show):
        yield lambda: None
        return
    bar = _Bar(title, total, patience=0.0 if show is True else _PATIENCE)
    with _alone(bar):
        yield bar.advance


@contextmanager
def share_bar(
    title: str, total: float, things: str, show: Progress = "auto"
) -> Iterator[Watch | None]:
    """Show on stderr which share of the work is done, once it has taken a second.

    Parameters
    ----------
    title : str
        What is being done.
    total : float
        The sum of all parts.
    things : str
        What is being found.
    show : bool or "auto", default "auto"
        "auto" shows the bar on a terminal only; True shows it anywhere, from the start; False never.

    Yields
    ------
    callable or None
        Call it with each part that is done and the number of things found in it; None where nobody looks.

    Examples
    --------
    >>> with share_bar("search", 1.0, "rules", show=False) as watch:
    ...     watch is None
    True
    """
    if not _is_wanted(show):
        yield None
        return
    bar = _ShareBar(title, total, things, patience=0.0 if show is True else _SHARE_PATIENCE)
    with _alone(bar):
        yield bar.advance


def part(watch: Watch | None, share: float, *, counts: bool = True) -> Watch | None:
    """Watch work that is a part of some larger work.

    Parameters
    ----------
    watch : callable or None
        What `share_bar` gave.
    share : float
        How much of the larger work it is.
    counts : bool, default True
        Whether what is found in it counts.

    Returns
    -------
    callable or None
        As `watch`, for the part alone.

    Examples
    --------
    >>> part(None, 0.5) is None
    True
    """
    if watch is None:
        return None
    return lambda done, found: watch(share * done, found if counts else 0)


def _is_wanted(show: Progress) -> bool:
    return show is not False and not _is_shown and (show is True or sys.stderr.isatty())


@contextmanager
def _alone(bar: _Bar | _ShareBar) -> Iterator[None]:
    """Keep other bars away, and end the line however the work ends."""
    global _is_shown  # noqa: PLW0603 - a terminal has one last line, whoever writes to it
    _is_shown = True
    try:
        yield
    finally:
        _is_shown = False
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
        filled = _WIDTH * self._done // self._total
        left = elapsed / self._done * (self._total - self._done)
        sys.stderr.write(
            f"\r{self._title} [{'#' * filled}{'.' * (_WIDTH - filled)}] {self._done}/{self._total}, {left:.0f} s left "
        )
        sys.stderr.flush()

    def close(self) -> None:
        if self._drawn:
            sys.stderr.write("\n")


class _ShareBar:
    """One line, rewritten now and then."""

    def __init__(self, title: str, total: float, things: str, patience: float):
        self._title, self._total, self._things = title, total, things
        self._next = time.monotonic() + patience
        self._done, self._found, self._drawn = 0.0, 0, False

    def advance(self, share: float, found: int) -> None:
        self._done += share
        self._found += found
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _PAUSE
        self._draw()

    def _draw(self) -> None:
        self._drawn = True
        # Sums of many parts are whole up to rounding.
        done = min(1.0, self._done / self._total + 1e-9)
        filled = int(_WIDTH * done)
        sys.stderr.write(
            f"\r{self._title} [{'#' * filled}{'.' * (_WIDTH - filled)}] {int(100 * done)} %, "
            f"{self._found} {self._things} so far "
        )
        sys.stderr.flush()

    def close(self) -> None:
        if self._drawn:
            self._draw()
            sys.stderr.write("\n")
