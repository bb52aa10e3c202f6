"""One virtual environment for each peer, made from pinned requirements.

The requirements list every package that a peer really imports, so that pip resolves nothing (`--no-deps`): that is
quick, always gives the same versions, and spares us the language models of alibi.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parent / "requirements"
FOLDER = Path(__file__).resolve().parents[2] / ".venv-peers"
LIMIT = 300.0  # seconds for one environment
# Longest installation first, so that two at a time end together.
PEERS = ("imodels", "fasterrisk", "pysubgroup", "ruleopt", "interpret", "wittgenstein", "alibi")
# Where a package has no wheel for this Python, a long build is no help; requirements may name exceptions.
PIP = "--quiet --no-deps --only-binary=:all: --no-compile --no-input --disable-pip-version-check"

_known: dict[str, Path | Absent] = {}


@dataclass(frozen=True)
class Absent:
    """A peer, or its answer to one problem, that there is not, and why."""

    peer: str
    reason: str


def python_of(peer: str) -> Path | Absent:
    """The interpreter of a peer's environment as it is; `install` makes it."""
    python = FOLDER / peer / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    made = FOLDER / peer / "made-from"
    if python.is_file() and made.is_file() and made.read_text("utf-8") == _digest(peer):
        return python
    return _known.get(peer, Absent(peer, "not installed; python -m benchmarks --setup does that"))


def install_all(jobs: int = 2) -> dict[str, Path | Absent]:
    """Make all environments that are not there or whose requirements have changed, some at a time."""
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        return dict(zip(PEERS, pool.map(install, PEERS), strict=True))


def install(peer: str) -> Path | Absent:
    """Make an environment; an installation that failed is not tried again in the same run."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{peer}.lock").open("w", encoding="utf-8") as lock:
        # Other processes do not make the same environment at the same time.
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = python_of(peer)
        if isinstance(found, Path) or peer in _known:
            return found
        reason = _make(peer)
        if reason is not None:
            _known[peer] = Absent(peer, reason)
        return python_of(peer)


def version_of(peer: str) -> str:
    """The version that the requirements pin; their first package is the peer itself."""
    text = (REQUIREMENTS / f"{peer}.txt").read_text(encoding="utf-8")
    found = re.search(r"^[^#\s=-][^\s=]*==(\S+)", text, re.MULTILINE)
    return found[1] if found else "-"


def _digest(peer: str) -> str:
    """What an environment has been made from: the requirements and the Python."""
    text = (REQUIREMENTS / f"{peer}.txt").read_text(encoding="utf-8")
    return hashlib.sha256(f"{sys.version}\n{sys.base_prefix}\n{text}".encode()).hexdigest()


def _make(peer: str) -> str | None:
    """Make an environment anew with our own pip; the reason if that fails."""
    place = FOLDER / peer
    venv = [sys.executable, "-m", "venv", "--clear", "--without-pip", str(place)]
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", *PIP.split()]
    for command in (venv, [*pip, "-r", str(REQUIREMENTS / f"{peer}.txt")]):
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            return f"not installed within {LIMIT:g} s"
        if done.returncode:
            # pip's warnings, of a package index that cannot be reached for instance, come last at times.
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            errors = [line for line in lines if not line.startswith(("WARNING", "[notice]"))]
            return (errors or lines or [f"ended with {done.returncode}"])[-1].removeprefix(
                "ERROR: "
            )
    (place / "made-from").write_text(_digest(peer), encoding="utf-8")
    return None
