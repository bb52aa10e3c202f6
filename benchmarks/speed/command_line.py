"""The command line: rules over a million rows beside reading them, memory, and the time to start."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.page import Section, Table, best_time
from clearmargin import LPSVC
from clearmargin.store import PlaneModel, save_model

N_FEATURES, N_USED = 10, 3
SIZES = (200_000, 1_000_000)
# Digits after the point: as measured, and as programs write floats.
DIGITS = {"4 digits": 4, "all digits": None}

# A process of its own, whose only child is the command: the peak of its children is the command's.
_WATCH = """
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run([sys.executable, "-m", "clearmargin", *sys.argv[1:]], check=True, capture_output=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
"""


class Run(NamedTuple):
    """Seconds by the clock, seconds of the processor, and the peak of memory in megabytes."""

    wall: float
    cpu: float
    peak: float


def write_table(path: Path, rows: int, digits: int | None, seed: int = 0) -> pd.DataFrame:
    """Ten features, three of which decide, and a class with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, N_FEATURES))
    X = X if digits is None else X.round(digits)
    score = X[:, :N_USED] @ np.array([1.0, -2.0, 0.5]) + 0.3 * rng.normal(size=rows)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(N_FEATURES)])
    frame["y"] = np.where(score > 0, "ill", "well")
    frame.to_csv(path, index=False)
    return frame


def write_model(path: Path, frame: pd.DataFrame) -> None:
    """A sparse plane, trained on the first rows; nu = 0.01 finds the three features that decide, with clear weights."""
    X, y = frame.drop(columns="y")[:2_000], frame["y"][:2_000]
    save_model(PlaneModel.from_estimator(LPSVC(nu=0.01).fit(X, y), X), path, overwrite=True)


def watch(words: list[str]) -> Run:
    """Run a command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _WATCH, *words], check=True, capture_output=True, text=True
    )
    return Run(*map(float, done.stdout.split()))


def reading(path: Path) -> Run:
    """What pandas takes for the same file, in this process."""
    times = []
    for _ in range(3):
        start, cpu = time.perf_counter(), time.process_time()
        pd.read_csv(path)
        times.append((time.perf_counter() - start, time.process_time() - cpu))
    wall, cpu = (min(column) for column in zip(*times, strict=True))
    return Run(wall, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def measure(folder: Path, rows: int, label: str, criterion: str) -> list[str]:
    """One row of the table."""
    data, model = folder / "t.csv", folder / "m.json"
    write_model(model, write_table(data, rows, DIGITS[label]))
    words = ["rules", str(data), "--target", "y", "--model", str(model), "--criterion", criterion]
    theirs = reading(data)
    ours = min((watch(words) for _ in range(2)), key=lambda run: run.wall)
    return [
        f"{rows:,}",
        label,
        criterion,
        f"{theirs.wall:.2f}",
        f"{ours.wall:.1f}",
        f"**{ours.wall / theirs.wall:.1f}**",
        f"{ours.cpu / theirs.cpu:.1f}",
        f"{ours.peak:.0f}",
    ]


def start_seconds() -> tuple[float, float]:
    """Seconds to print the help, and to start Python and do nothing."""

    def run(*words: str) -> float:
        return best_time(
            lambda: subprocess.run([sys.executable, *words], check=True, capture_output=True), 5
        )

    return run("-m", "clearmargin", "--help"), run("-c", "pass")


def section() -> Section:
    """The table over sizes, digits and criteria."""
    header = ["rows", "numbers with", "criterion", "pandas.read_csv s", "clearmargin rules s"]
    header += ["ratio", "ratio of CPU", "peak MB"]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for label in DIGITS:
            for criterion in ("coverage", "volume"):
                rows += [measure(Path(name), size, label, criterion) for size in SIZES]
    helped, bare = start_seconds()
    return Section(
        "The command line",
        f"`clearmargin rules DATA --target y --model MODEL` on {N_FEATURES} columns of numbers and a class, beside "
        "`pandas.read_csv` of the same file in the same run; the command starts Python, imports, reads, extracts, "
        "counts and prints.",
        Table(header, rows),
        "The table is read twice, in chunks; rules are found on a sample and counted on all rows, so that the peak of "
        "memory does not grow with the rows. Starting Python and the search on the sample cost the same for "
        f"any number of rows. `clearmargin --help` takes {1e3 * helped:.0f} ms, bare Python {1e3 * bare:.0f} ms.",
    )


if __name__ == "__main__":
    print(section().to_markdown())
