"""Processes that work through problems for us, and are watched.

A worker is started with a folder for its answers and the problems; it says "ready" when it has loaded everything, then
"begin" and "end" around each problem, for which it leaves a file. One that takes too long over a problem is killed, and
another one does the rest.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["work"]

ROOT = Path(__file__).resolve().parents[2]
LOAD_LIMIT = 300.0  # seconds on the clock until a worker must be ready; the first time it compiles
# A worker that waits instead of working is stopped by the clock: so many times the limit of its CPU time, and a bit.
PATIENCE, GRACE = 10.0, 10.0
TICK = 0.1
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def work(
    command: Sequence[str],
    problems: Sequence[Path],
    folder: Path,
    seconds: float,
    *,
    gives_up: bool = False,
) -> list[Path | str]:
    """Have a command work through problems; for each the file with the answer, or why there is none.

    One that gives up is not asked for what comes after a problem that it did not solve, which stands for the rest.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    paths = [Path(problem).resolve() for problem in problems]
    targets = [folder / f"{path.stem}.json" for path in paths]
    if len(set(targets)) < len(targets):
        raise ValueError("problems must have different names, because their answers have them, too")
    for target in targets:
        target.unlink(missing_ok=True)
    answers: list[Path | str] = []
    while len(answers) < len(paths):
        done = len(answers)
        rest = [str(path) for path in paths[done:]]
        ended, reason, was_ready = _round([*command, str(folder), *rest], len(rest), seconds)
        answers += targets[done : done + ended]
        if len(answers) == len(paths):
            break
        if gives_up or not was_ready:  # it will not be ready next time either
            return answers + [reason] * (len(paths) - len(answers))
        answers.append(reason)
    return answers


def _round(command: Sequence[str], count: int, seconds: float) -> tuple[int, str, bool]:
    """Start a worker and watch it: how many problems it ended, why not more, and whether it was ready at all."""
    ended, is_ready = 0, False
    with tempfile.TemporaryFile() as errors, _started(command, errors) as process:
        watch = _Watch(process.pid, LOAD_LIMIT, None)
        for line in _lines(process):
            if line is None:
                said = watch.met()
                if said is not None:
                    return ended, said if is_ready else f"not ready: {said}", is_ready
            elif line == "ready":
                is_ready = True
                watch = _Watch(process.pid, LOAD_LIMIT, None)
            elif line == "begin":
                watch = _Watch(process.pid, seconds * PATIENCE + GRACE, seconds)
            elif line == "end":
                ended += 1
        code = process.wait()
        said = "" if ended == count else _last_words(errors, code)
    return ended, said, is_ready


class _Watch:
    """Limits on the time of a process from now on, by the clock and by its CPU."""

    def __init__(self, pid: int, clock: float, cpu: float | None) -> None:
        self.pid, self.clock, self.cpu = pid, clock, cpu
        self.start, self.used = time.monotonic(), _cpu_seconds(pid)

    def met(self) -> str | None:
        """The limit that was met, if one was."""
        now = _cpu_seconds(self.pid)
        is_told = now is not None and self.used is not None
        if self.cpu is not None and now is not None and now - (self.used or 0.0) > self.cpu:
            return f"stopped after {self.cpu:g} s"
        # Where nobody tells the CPU time, the clock has to do.
        limit = self.clock if self.cpu is None or is_told else self.cpu
        if time.monotonic() - self.start > limit:
            return f"stopped after {limit:g} s on the clock"
        return None


def _cpu_seconds(pid: int) -> float | None:
    """What a process has used so far, where the system says it as Linux does."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _started(command: Sequence[str], errors: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, which is gone at the end with all that it started."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    fixed = {"PYTHONHASHSEED": "0", "MPLBACKEND": "agg"} | dict.fromkeys(THREADS, "1")
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=kept | fixed,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _lines(process: subprocess.Popen[bytes]) -> Iterator[str | None]:
    """The lines that a process writes, and None every now and then when it writes none."""
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    buffer = b""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            if not selector.select(TICK):
                yield None
                continue
            chunk = os.read(descriptor, 65536)
            if not chunk:
                return
            *lines, buffer = (buffer + chunk).split(b"\n")
            yield from (line.decode() for line in lines)


def _last_words(errors: IO[bytes], code: int) -> str:
    """Why a process ended before its time: the end of what it wrote, or how it ended."""
    errors.seek(0)
    lines = errors.read().decode(errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    if code > 0 and said:
        return said[-1]
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return f"ended with {code} before its problems did"
