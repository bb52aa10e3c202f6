"""A process of its own for each job: how it is started, what it says, how it is ended with all that it started.

Server and process speak JSON over one pipe. The server sends the order, ``{"kind", "input"}``; the process sends
``{"progress", "message"}`` as often as ten times a second, and last either ``{"answer"}`` or ``{"error"}``, with a
``place`` in the code if it is a bug. A process whose pipe ends, because the server was killed, ends too.

On Linux processes are forked from a server process that has imported the package already. Elsewhere forking is not
safe or does not exist (macOS, Windows): there one process more than needed is started, and waits.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing import connection as pipes
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearmargin.exceptions import CancelledError, ClearmarginError
from clearmargin.progress import Step, observe

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# What the process that others are forked from imports before the first job asks for it: the work, what it imports only
# when it is done, and the module that the script of the server imports, which each process runs.
PRELOADED = [
    "clearmargin.workbench.job_process",
    "clearmargin.workbench.work",
    "clearmargin.advice.svc",
    "clearmargin.plane_rules.extractor",
    "clearmargin.rankings.properties",
    "clearmargin.report.build",
    "clearmargin.cli.main",
    "jinja2",
    "pyarrow.csv",
]
# Seconds between two messages about progress.
_PAUSE = 0.1
# Seconds: how long a process may take to leave after its answer; how long one that was killed is waited for; how long
# what it started itself may take to clean up.
_LEAVING, _DYING, _CLEANING = 1.0, 5.0, 0.5
# Characters of an error: some errors of libraries quote whole tables.
_LONGEST_ERROR = 2000
# Live checks of the page go before jobs, where processors are few.
_NICENESS = 5

# multiprocessing keeps a list of all children, and asks each of them for its end whenever one is started. Two threads
# that read the end of the same child would get in each other's way.
_starting_and_ending = threading.Lock()


class JobProcess:
    """A process that waits for an order, carries it out and ends."""

    def __init__(self, method: str, function: str):
        context = multiprocessing.get_context(method)
        self._pipe, far_end = context.Pipe()
        try:
            self._process = context.Process(  # type: ignore[attr-defined]
                target=_serve, args=(far_end, function), name="clearmargin job"
            )
            with _starting_and_ending, _undisturbed():
                self._process.start()
        except BaseException:
            self._pipe.close()
            raise
        finally:
            far_end.close()
        self.pid: int = self._process.pid
        self._sentinel: int = self._process.sentinel
        self._lock = threading.Lock()
        self._has_ended = False

    def order(self, kind: str, given: dict[str, Any]) -> None:
        """Say what is to be done; a process that is dead is found out by `messages`."""
        with contextlib.suppress(OSError):
            self._pipe.send_bytes(_encode({"kind": kind, "input": given}))

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield what the process says, until it ends or is ended."""
        # A pipe that the process has handed on stays open when it dies, so its end is watched as well.
        while self._pipe in pipes.wait([self._pipe, self._sentinel]):
            try:
                yield json.loads(self._pipe.recv_bytes())
            except (EOFError, OSError):
                return

    def is_alive(self) -> bool:
        """Return whether it has not ended yet."""
        return not pipes.wait([self._sentinel], 0)

    def kill(self) -> None:
        """End the process and all that it started, at once; from any thread."""
        with self._lock:
            if not self._has_ended:
                # What the process started may have files to clean up, and is asked; the process itself is not.
                _signal_group(self.pid, signal.SIGTERM)
                self._process.kill()

    def end(self) -> int:
        """Wait for the process to leave, kill it if it does not, and free what we have of it; return its exit code."""
        if not pipes.wait([self._sentinel], _LEAVING):
            self.kill()
        code = -signal.SIGTERM
        # One that does not even die (a disk that does not answer) is left to the system.
        if pipes.wait([self._sentinel], _DYING):
            with self._lock, _starting_and_ending:
                self._has_ended = True
                self._process.join()
                code = self._process.exitcode
                self._process.close()
        self._pipe.close()
        return code

    def clean(self) -> None:
        """End what the process, which has ended, has left running: it may clean up, and is killed if it goes on."""
        until = time.monotonic() + _CLEANING
        is_there = _signal_group(self.pid, signal.SIGTERM)
        while is_there and time.monotonic() < until:
            time.sleep(0.01)
            is_there = _signal_group(self.pid, 0)
        if is_there and sys.platform != "win32":
            _signal_group(self.pid, signal.SIGKILL)


class JobProcesses:
    """Processes for jobs: made when asked for, or one ahead where that takes long."""

    def __init__(self, function: str, method: str | None = None):
        self._function = function
        self._method = method or start_method()
        self._has_spare = self._method == "spawn"
        self._spare: JobProcess | None = None
        self._is_closed = False
        self._lock = threading.Lock()
        warm_up(self._method)
        self.prepare()

    def prepare(self) -> None:
        """Start a spare process, where processes take long to start."""
        with self._lock:
            if self._has_spare and self._spare is None and not self._is_closed:
                # Without a spare the next job starts later, and says what is wrong if it cannot.
                with contextlib.suppress(OSError):
                    self._spare = JobProcess(self._method, self._function)

    def take(self) -> JobProcess:
        """Return a process that waits for its order."""
        with self._lock:
            spare, self._spare = self._spare, None
        if spare is not None:
            if spare.is_alive():
                return spare
            spare.end()
        return JobProcess(self._method, self._function)

    def close(self) -> None:
        """End the spare process; no other is started."""
        with self._lock:
            self._is_closed = True
            spare, self._spare = self._spare, None
        if spare is not None:
            spare.kill()
            spare.end()


def start_method() -> str:
    """Return how processes are started on this system: "forkserver" where forking is safe, "spawn" elsewhere."""
    # The linear algebra of macOS keeps threads, which do not survive a fork.
    is_safe = sys.platform != "darwin" and "forkserver" in multiprocessing.get_all_start_methods()
    return "forkserver" if is_safe else "spawn"


def warm_up(method: str | None = None) -> None:
    """Start the process that others are forked from, so that the first job finds the package imported."""
    if sys.platform == "win32":
        return
    from multiprocessing import forkserver, resource_tracker

    # Before the others: starting it undoes the mask of signals that they are to begin with.
    with _starting_and_ending, _undisturbed():
        resource_tracker.ensure_running()
    if (method or start_method()) == "forkserver":
        multiprocessing.get_context("forkserver").set_forkserver_preload(PRELOADED)
        with _starting_and_ending, _undisturbed():
            forkserver.ensure_running()


def describe_death(code: int) -> str:
    """Say in words why a process ended without an answer."""
    rest = "Nothing of the project is lost; the job can be started again"
    if code >= 0:
        return f"the process of this job ended without an answer (exit code {code}). {rest}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    if name == "SIGKILL":
        return (
            "the process of this job was killed (SIGKILL), as the system does when memory runs out. "
            f"{rest}, with fewer rows or columns if memory was short"
        )
    if name in {"SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP"}:
        return (
            f"the process of this job crashed ({name}): this is a bug in clearmargin or in a library that it uses. "
            f"{rest}"
        )
    return f"the process of this job was ended from outside ({name}). {rest}"


def describe_error(error: BaseException) -> str:
    """Say in words why a job failed."""
    if isinstance(error, MemoryError):
        text = "the data do not fit into memory; try fewer rows or columns"
    elif isinstance(error, ClearmarginError | CancelledError):
        text = str(error)
    elif isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{error.filename}: "
        text = f"{where}{error.strerror.lower()}"
    else:
        text = f"internal error: this is a bug in clearmargin: {type(error).__name__}: {error}"
    return _printable(text if len(text) <= _LONGEST_ERROR else text[:_LONGEST_ERROR] + " ...")


def find_place(error: BaseException) -> str:
    """Return what was raised and where, for the log: no value of any case is in it."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


def fraction(step: Step) -> float:
    """Return how much of all work is done: of the outermost task, and of its step that is under way."""
    done = _share(step)
    around = step.within
    while around is not None:
        # Work that flows has no steps that another task could be a part of.
        done = _share(around) + (0.0 if around.unit else min(done / max(around.total, 1.0), 1.0))
        around = around.within
    return min(max(done, 0.0), 1.0)


def _share(step: Step) -> float:
    return step.done / step.total if step.total > 0 else 0.0


# Starting and ending, seen from the server.


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Let processes that are started in the block begin with the interrupt key and the current folder switched off."""
    if sys.platform == "win32":
        yield
        return
    before = os.environ.get("PYTHONSAFEPATH")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _signal_group(pid: int, number: int) -> bool:
    """Send a signal to what a process leads; return whether there is anything."""
    if sys.platform == "win32":
        return False
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):  # on macOS, permission is what a dead group lacks
        return False
    return True


# What runs in the process.


def _serve(pipe: Connection, function: str) -> None:
    """Wait for the order, carry it out, send the outcome."""
    _leave_terminal()
    # A process that waits imports while nobody waits for it. An error is said when there is somebody to hear it.
    with contextlib.suppress(Exception):
        _find(function)
    try:
        order = json.loads(pipe.recv_bytes())
    except (EOFError, OSError):  # the server has gone, or needs no spare process any more
        return
    teller = _Teller(pipe)
    try:
        outcome = _encode({"answer": _carry_out(function, order, teller)})
    except BaseException as error:  # a job that calls sys.exit() is to say so, too
        is_ours = isinstance(error, ClearmarginError | CancelledError | MemoryError | OSError)
        place = {} if is_ours else {"place": find_place(error)}
        outcome = _encode({"error": describe_error(error), **place})
    teller.finish(outcome)


def _leave_terminal() -> None:
    """Get out of reach of the keys of the server's terminal, and lead a group that can be ended as one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.setsid()
        os.nice(_NICENESS)


def _find(function: str) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
    module, _, name = function.partition(":")
    found: Callable[[str, dict[str, Any]], dict[str, Any]]
    found = getattr(importlib.import_module(module), name)
    return found


def _carry_out(function: str, order: dict[str, Any], teller: _Teller) -> dict[str, Any]:
    with observe(teller.tell):
        answer = _find(function)(order["kind"], order["input"])
    if not isinstance(answer, dict):
        raise TypeError(f"a job answers with a dict, not with {type(answer).__name__}")
    return answer


class _Teller:
    """Sends steps over the pipe, not too often, and the last one of each burst; ends the process if nobody listens."""

    def __init__(self, pipe: Connection):
        self._pipe = pipe
        self._lock = threading.Lock()
        self._pending: Step | None = None
        self._sent_at = -_PAUSE
        self._is_finished = False
        threading.Thread(target=self._listen, name="pipe", daemon=True).start()

    def tell(self, step: Step) -> None:
        with self._lock:
            self._pending = step
            self._send_pending()

    def finish(self, outcome: bytes) -> None:
        with self._lock, contextlib.suppress(OSError):
            self._is_finished = True
            self._pipe.send_bytes(outcome)

    def _send_pending(self) -> None:
        now, step = time.monotonic(), self._pending
        if step is None or self._is_finished or now - self._sent_at < _PAUSE:
            return
        message = {"progress": fraction(step), "message": _printable(_in_words(step))}
        with contextlib.suppress(OSError):
            self._pipe.send_bytes(_encode(message))
        self._pending, self._sent_at = None, now

    def _listen(self) -> None:
        # The server says nothing after the order, so what comes is the end of the pipe.
        while not _is_readable(self._pipe):
            with self._lock:
                self._send_pending()
        if not self._is_finished:
            _signal_group(os.getpid(), signal.SIGTERM)
            os._exit(1)


def _in_words(step: Step) -> str:
    # Of nothing there is no share.
    said = str(step) if step.total > 0 else step.title
    return said if step.within is None else f"{_in_words(step.within)}: {said}"


def _is_readable(pipe: Connection) -> bool:
    try:
        return pipe.poll(_PAUSE)
    except OSError:  # on Windows, the end of a pipe is an error
        return True


def _printable(text: str) -> str:
    # Names of files may have halves of characters, which no database takes.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message, allow_nan=False).encode("ascii")
