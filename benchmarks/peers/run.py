"""Ask a peer, in its own environment: a worker works through problems and is watched.

A problem is an .npz file with `X_train`, `y_train` (0 or 1), `X_test`, `names` and `seed`. Its rows are in the units of
the user. For alibi it has the machine itself as well (see `alibi.py`), and `rows`, those of X_test to explain; for
pysubgroup it is a table of truth values (see `pysubgroup.py`).

A worker is started with a folder for its answers and the problems; it says "ready" when it has loaded everything, then
"begin" and "end" around each problem, for which it leaves a file. One that takes too long over a problem is killed, and
another one does the rest.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.environment import Absent, python_of

ROOT = Path(__file__).resolve().parents[2]
LOAD_LIMIT = 300.0  # seconds on the clock until a worker must be ready; the first time it compiles
# A worker that waits instead of working is stopped by the clock: so many times the limit of its CPU time, and a bit.
PATIENCE, GRACE = 10.0, 10.0
TICK = 0.1
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Outcome:
    """What a peer learned from one problem.

    `predicted` are the classes of the rows of X_test, by the rules and the peer's own default; `score` is what it
    orders them by. Of conditions, several bounds of a rule on the same side of the same feature count once. `seconds`
    is the CPU time of fitting.
    """

    method: str
    version: str
    predicted: NDArray[np.int64]
    score: NDArray[np.float64] | None
    n_rules: int
    n_conditions: int
    seconds: float
    note: str


@dataclass(frozen=True)
class Anchor:
    """A box around a row: lower < x <= upper, infinite where it has no condition; `predicted` is the row's class."""

    row: int
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    predicted: int
    seconds: float


def learn(
    peer: str, method: str, problems: Sequence[Path], folder: Path, seconds: float
) -> list[Outcome | Absent]:
    """Let a peer learn from each problem, for so many CPU seconds each; its answers go to the folder."""
    answers = ask(peer, method, problems, folder, seconds)
    return [a if isinstance(a, Absent) else _outcome(a) for a in answers]


def _outcome(answer: dict[str, Any]) -> Outcome:
    score = None if answer["score"] is None else np.asarray(answer["score"], dtype=np.float64)
    return Outcome(**(answer | {"predicted": np.asarray(answer["predicted"]), "score": score}))


def explain(
    problems: Sequence[Path], folder: Path, seconds: float
) -> list[tuple[Anchor, ...] | Absent]:
    """Explain the rows of each problem by alibi's anchors; those that were found before time was up are kept."""
    answers = ask("alibi", "anchors", problems, folder, seconds)
    return [a if isinstance(a, Absent) else tuple(map(_anchor, a["anchors"])) for a in answers]


def _anchor(fields: dict[str, Any]) -> Anchor:
    lower = np.array([-np.inf if value is None else value for value in fields["lower"]])
    upper = np.array([np.inf if value is None else value for value in fields["upper"]])
    return Anchor(**(fields | {"lower": lower, "upper": upper}))


def ask(
    peer: str, method: str, problems: Sequence[Path], folder: Path, seconds: float
) -> list[dict[str, Any] | Absent]:
    """The answers of a peer; it is absent from a problem if it is not installed, fails or takes too long."""
    python = python_of(peer)
    if isinstance(python, Absent) or not problems:
        return [python] * len(problems) if isinstance(python, Absent) else []
    command = [str(python), "-m", f"benchmarks.peers.{peer}", method]
    place = folder.resolve() / f"{peer}-{method.replace(' ', '-')}"
    found: list[dict[str, Any] | Absent] = []
    for path, reason in work(command, [Path(p).resolve() for p in problems], place, seconds):
        answer = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
        if answer is None or "error" in answer:
            found.append(Absent(peer, reason or (answer or {}).get("error", "no answer")))
        else:
            found.append(answer)
    return found


def work(
    command: Sequence[str], paths: Sequence[Path], folder: Path, seconds: float
) -> list[tuple[Path, str]]:
    """Have a command work through problems; for each the file of the answer, and why it may not be there or whole."""
    folder.mkdir(parents=True, exist_ok=True)
    targets = [folder / f"{path.stem}.json" for path in paths]
    for target in targets:
        target.unlink(missing_ok=True)
    answers: list[tuple[Path, str]] = []
    while len(answers) < len(paths):
        done = len(answers)
        rest = [str(path) for path in paths[done:]]
        ended, reason, was_ready = _round([*command, str(folder), *rest], len(rest), seconds)
        answers += [(target, "") for target in targets[done : done + ended]]
        if len(answers) == len(paths):
            break
        if not was_ready:  # it will not be ready next time either
            return answers + [(target, reason) for target in targets[len(answers) :]]
        answers.append((targets[len(answers)], reason))
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
    said = [line.strip() for line in errors.read().decode(errors="replace").split("\n")]
    said = [line for line in said if line]
    if code > 0 and said:
        return said[-1]
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return f"ended with {code} before its problems did"
