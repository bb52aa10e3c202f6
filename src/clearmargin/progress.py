"""Progress of long work: who is told of it, and how it is cancelled.

Work says `task` once and `advance` at each step. Nothing travels through parameters: the task that runs is kept in a
context variable, and so are its observers, the functions that `observe` was given. A bar on stderr is drawn by tqdm; of
bars within bars, such as that of an estimator in the folds of another one, only the outer one is.
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

from clearmargin.exceptions import CancelledError

Progress = bool | Literal["auto"]
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

# Seconds: work in steps, and work that flows, that is done sooner does not need a bar.
_PATIENCE, _SHARE_PATIENCE = 2.0, 1.0
# Seconds between drawings of a bar that is told of many small parts.
_PAUSE = 0.1
_STEPS = "{desc} [{bar:24}] {n:.0f}/{total:.0f}{postfix} "
_SHARES = "{desc} [{bar:24}] {percentage:.0f} %{postfix} "

# A terminal has one last line, whichever thread writes to it.
_last_line = threading.Lock()


@dataclass(frozen=True, slots=True)
class Step:
    """How far a task is."""

    title: str
    done: float
    total: float
    found: int = 0
    unit: str = ""
    within: Step | None = None

    def __str__(self) -> str:
        if not self.unit:
            return f"{self.title} {self.done:.0f}/{self.total:.0f}"
        return f"{self.title} {100 * self.done / self.total:.0f} %, {self.found} {self.unit} so far"


class Observer:
    """Somebody who is told of steps and may cancel the work, from any thread."""

    def __init__(self, callback: Callable[[Step], object] | None = None):
        self._callback = callback
        self._is_cancelled = threading.Event()

    def cancel(self) -> None:
        """Stop the work at its next step, with `CancelledError`."""
        self._is_cancelled.set()

    def check(self) -> None:
        """Raise `CancelledError` if the work is to stop."""
        if self._is_cancelled.is_set():
            raise CancelledError("the work was cancelled")

    def tell(self, step: Step) -> None:
        """Tell of a step."""
        if self._callback is not None:
            self._callback(step)
        self.check()


class _Task:
    """Work that is under way: what is done of it, and its bar where one is drawn."""

    def __init__(self, title: str, total: float, unit: str, around: _Task | None):
        self.title, self.total, self.unit, self.around = title, total, unit, around
        self.done, self.found = 0.0, 0
        self.bar: Any = None

    def step(self) -> Step:
        around = None if self.around is None else self.around.step()
        # Sums of many parts are whole up to rounding.
        done = self.total if self.done > self.total * (1 - 1e-9) else self.done
        return Step(self.title, done, self.total, self.found, self.unit, around)

    def draw(self) -> None:
        step = self.step()
        self.bar.n = step.done
        if step.unit:
            self.bar.postfix = f"{step.found} {step.unit} so far"
        elif step.done:
            left = self.bar.format_dict["elapsed"] / step.done * (step.total - step.done)
            self.bar.postfix = f"{left:.0f} s left"
        self.bar.update(0)


@dataclass(frozen=True, slots=True)
class _Part:
    """The share of a task that the work counts for that runs now."""

    task: _Task
    share: float = 1.0
    counts: bool = True


_running: ContextVar[_Part | None] = ContextVar("running", default=None)
_observers: ContextVar[tuple[Observer, ...]] = ContextVar("observers", default=())
_always_drawn: ContextVar[bool] = ContextVar("always_drawn", default=False)


@contextmanager
def observe(by: Callable[[Step], object] | Literal["bar"] | None = None) -> Iterator[Observer]:
    """Observe all work inside the block."""
    observer = Observer(None if by == "bar" else by)
    told = _observers.set((*_observers.get(), observer))
    drawn = _always_drawn.set(_always_drawn.get() or by == "bar")
    try:
        yield observer
    finally:
        _always_drawn.reset(drawn)
        _observers.reset(told)


@contextmanager
def task(title: str, total: float, unit: str = "", *, show: Progress = "auto") -> Iterator[None]:
    """Announce work, of which `advance` says how much is done."""
    around = _running.get()
    work = _Task(title, total, unit, None if around is None else around.task)
    token = _running.set(_Part(work))
    try:
        with _bar(work, show):
            yield
    finally:
        _running.reset(token)


@contextmanager
def part(share: float, *, counts: bool = True) -> Iterator[None]:
    """Let the work inside the block count for a share of what it would count for alone."""
    whole = _running.get()
    if whole is None:
        yield
        return
    token = _running.set(_Part(whole.task, whole.share * share, whole.counts and counts))
    try:
        yield
    finally:
        _running.reset(token)


def advance(done: float = 1.0, found: int = 0) -> None:
    """Say that a step of the running task is done; raise `CancelledError` if the work is to stop."""
    observers, running = _observers.get(), _running.get()
    if running is None:
        for observer in observers:
            observer.check()
        return
    running.task.done += running.share * done
    running.task.found += found if running.counts else 0
    if running.task.bar is not None:
        running.task.draw()
    if observers:
        step = running.task.step()
        for observer in observers:
            observer.tell(step)


def collect(results: Iterator[T], title: str, total: int, *, show: Progress = "auto") -> list[T]:
    """Take the results of workers as they come, a step of a task each; when cancelled, stop the workers."""
    taken: list[T] = []
    try:
        with task(title, total, show=show):
            for result in results:
                taken.append(result)
                advance()
    except BaseException:
        with warnings.catch_warnings():
            # joblib warns of results that nobody takes.
            warnings.simplefilter("ignore")
            if isinstance(results, Generator):
                results.close()
        raise
    return taken


def all_or_nothing(fit: F) -> F:
    """Decorate a `fit` so that one that does not end, for whatever reason, leaves the estimator as it was before."""

    @functools.wraps(fit)
    def fit_or_restore(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast("F", fit_or_restore)


@contextmanager
def _bar(work: _Task, show: Progress) -> Iterator[None]:
    """Draw a bar where somebody looks and no other one is drawn; end its line however the work ends."""
    always = show is True or (show == "auto" and _always_drawn.get())
    wanted = always or (show == "auto" and not _observers.get() and sys.stderr.isatty())
    if not wanted or not _last_line.acquire(blocking=False):
        yield
        return
    try:
        work.bar = _tqdm(work, 0.0 if always else _SHARE_PATIENCE if work.unit else _PATIENCE)
        try:
            yield
        finally:
            work.draw()
            work.bar.close()
    finally:
        _last_line.release()


def _tqdm(work: _Task, delay: float) -> Any:
    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[type-arg]
        # No thread that looks after bars: ours are closed however the work ends.
        monitor_interval = 0

    return Bar(
        desc=work.title,
        total=work.total,
        file=sys.stderr,
        ascii=".#",
        delay=delay,
        mininterval=_PAUSE,
        miniters=0,
        bar_format=_SHARES if work.unit else _STEPS,
    )
