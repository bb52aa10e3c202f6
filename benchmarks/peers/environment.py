"""One virtual environment for each peer, made on demand from pinned requirements.

The requirements list every package that a peer really imports, so that pip resolves nothing (`--no-deps`): that is
quick, always gives the same versions, and spares us the desktop of Orange and the language models of alibi.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PEERS", "Absent", "Installed", "install_all", "installed", "python_of"]

REQUIREMENTS = Path(__file__).resolve().parent / "requirements"
FOLDER = Path(__file__).resolve().parents[2] / ".venv-peers"
LIMIT = 300.0  # seconds for one environment
# Longest installation first, so that two at a time end together.
PEERS = (
    *("rulekit", "imodels", "orange", "fasterrisk", "pysubgroup", "mlxtend", "ruleopt"),
    *("interpret", "wittgenstein", "alibi", "dask_ml"),
)

_failed: dict[tuple[Path, str], Absent] = {}
_failed_lock = threading.Lock()


@dataclass(frozen=True)
class Absent:
    """A peer, or its answer to one problem, that there is not, and why."""

    peer: str
    reason: str


@dataclass(frozen=True)
class Installed:
    """An environment that is there, and how long it took to make it, now or when it was made."""

    peer: str
    python: Path
    seconds: float


def python_of(peer: str) -> Path | Absent:
    """The interpreter of a peer's environment, which is made if it is not there or its requirements have changed."""
    answer = installed(peer)
    return answer if isinstance(answer, Absent) else answer.python


def installed(peer: str) -> Installed | Absent:
    """The environment of a peer; an installation that failed is not tried again in the same run."""
    key = (FOLDER, peer)
    with _failed_lock:
        if key in _failed:
            return _failed[key]
    answer = _installed(peer)
    if isinstance(answer, Absent):
        with _failed_lock:
            _failed[key] = answer
    return answer


def install_all(jobs: int = 2, peers: Sequence[str] | None = None) -> dict[str, Installed | Absent]:
    """Make all environments, some at a time."""
    names = PEERS if peers is None else tuple(peers)
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        return dict(zip(names, pool.map(installed, names), strict=True))


def _installed(peer: str) -> Installed | Absent:
    requirements = REQUIREMENTS / f"{peer}.txt"
    if not requirements.is_file():
        return Absent(peer, f"no requirements for {peer!r}; there are those of {', '.join(PEERS)}")
    place = FOLDER / peer
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    marker, wanted = place / "installed.json", _digest(requirements)
    with _alone(FOLDER / f"{peer}.lock"):
        if marker.is_file() and python.is_file():
            made = json.loads(marker.read_text(encoding="utf-8"))
            if made["digest"] == wanted:
                return Installed(peer, python, float(made["seconds"]))
        start = time.perf_counter()
        reason = _make(place, python, requirements)
        if reason is not None:
            return Absent(peer, reason)
        seconds = time.perf_counter() - start
        part = marker.with_suffix(".part")
        part.write_text(json.dumps({"digest": wanted, "seconds": seconds}), encoding="utf-8")
        part.replace(marker)
        return Installed(peer, python, seconds)


def _digest(requirements: Path) -> str:
    """What an environment has been made from: the requirements and the Python."""
    text = f"{sys.version}\n{sys.base_prefix}\n{requirements.read_text(encoding='utf-8')}"
    return hashlib.sha256(text.encode()).hexdigest()


def _make(place: Path, python: Path, requirements: Path) -> str | None:
    """Make an environment anew; the reason if that fails.

    Our own pip installs into it: a pip of its own would take several seconds for each environment. Nothing is compiled
    ahead, because most of what is installed is never imported.
    """
    # Where a package has no wheel for this Python, a long build is no help; requirements may name exceptions.
    options = (
        "--quiet --no-deps --only-binary=:all: --no-compile --no-input --disable-pip-version-check"
    )
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", *options.split()]
    end = time.monotonic() + LIMIT
    for command in (
        [sys.executable, "-m", "venv", "--clear", "--without-pip", str(place)],
        [*pip, "-r", str(requirements)],
    ):
        reason = _call(command, end - time.monotonic())
        if reason is not None:
            return reason
    return None


def _call(command: list[str], seconds: float) -> str | None:
    """Run a command; the last line of its error, or that time was up, if it fails."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
        errors="replace",
    ) as process:
        try:
            output, _ = process.communicate(timeout=max(seconds, 0.0))
        except subprocess.TimeoutExpired:
            # A build that pip has begun ends with it.
            os.killpg(process.pid, signal.SIGKILL)
            return f"not installed within {LIMIT:g} s"
    if process.returncode == 0:
        return None
    # pip's warnings, of a package index that cannot be reached for instance, come last at times.
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if not line.startswith(("WARNING", "[notice]"))]
    last = (errors or lines or [f"{command[2]} ended with {process.returncode}"])[-1]
    return last.removeprefix("ERROR: ")


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Keep other threads and other processes from making the same environment at the same time."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
