"""The command line: rules over a million rows beside reading them, memory, and the time to start."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.page import Ratio, Section, Table
from clearmargin import LPSVC
from clearmargin.models import PlaneModel, save_model

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


class Outcome(NamedTuple):
    """The two runs over one file."""

    rows: int
    digits: str
    criterion: str
    theirs: Run
    ours: Run

    @property
    def ratio(self) -> float:
        """How many times as long as reading the file the command takes."""
        return self.ours.wall / self.theirs.wall

    def cells(self) -> list[str]:
        """A row of the table."""
        return [
            f"{self.rows:,}",
            self.digits,
            self.criterion,
            f"{self.theirs.wall:.2f}",
            f"{self.ours.wall:.1f}",
            f"**{self.ratio:.1f}**",
            f"{self.ours.cpu / self.theirs.cpu:.1f}",
            f"{self.ours.peak:.0f}",
        ]


def measure(folder: Path, rows: int, label: str, criteria: Sequence[str]) -> list[Outcome]:
    """The command with some criteria, on one file."""
    data, model = folder / "t.csv", folder / "m.json"
    write_model(model, write_table(data, rows, DIGITS[label]))
    words = ["rules", str(data), "--target", "y", "--model", str(model), "--criterion"]
    theirs = reading(data)
    found = []
    for criterion in criteria:
        ours = min((watch([*words, criterion]) for _ in range(3)), key=lambda run: run.wall)
        found.append(Outcome(rows, label, criterion, theirs, ours))
    return found


def _peaks(found: Sequence[Outcome]) -> str:
    """How the peak of memory grows with the rows, where several sizes tell."""
    least, most = min(o.rows for o in found), max(o.rows for o in found)
    if least == most:
        return "is not that of the table"
    before = {(o.digits, o.criterion): o.ours.peak for o in found if o.rows == least}
    grown = [o.ours.peak / before[o.digits, o.criterion] for o in found if o.rows == most]
    return f"grows by {min(grown):.1f} to {max(grown):.1f} times where the rows grow by {most / least:.0f} times"


def _smaller(found: Sequence[Outcome]) -> str:
    """What smaller tables take, since starting weighs more there."""
    least = min(o.rows for o in found)
    if least == max(o.rows for o in found):
        return ""
    worst = max(o.ratio for o in found if o.rows == least)
    return f"; one of {least:,} rows at most {worst:.1f} times"


def section(full: bool = False) -> Section:
    """The table over sizes, digits and criteria."""
    header = ["rows", "numbers with", "criterion", "pandas.read_csv s", "clearmargin rules s"]
    header += ["ratio", "ratio of CPU", "peak MB"]
    sizes = SIZES if full else SIZES[-1:]
    criteria = ("coverage", "volume") if full else ("coverage",)
    with tempfile.TemporaryDirectory() as name:
        found = [
            outcome
            for label in DIGITS
            for size in sizes
            for outcome in measure(Path(name), size, label, criteria)
        ]
    largest = [outcome for outcome in found if outcome.rows == max(sizes)]
    worst = max(outcome.ratio for outcome in largest)
    peak = max(outcome.ours.peak for outcome in found)
    return Section(
        "The command line",
        f"`clearmargin rules DATA --target y --model MODEL` on {N_FEATURES} columns of numbers and a class, beside "
        "`pandas.read_csv` of the same file in the same run; the command starts Python, imports, reads, extracts, "
        "counts and prints.",
        Table(header, [outcome.cells() for outcome in found]),
        "The table is read some rows at a time, and held where it takes at most 256 MB; rules are found on a sample "
        f"and counted on all rows. The peak of memory {_peaks(found)}. Starting Python and the search on the "
        "sample cost the same for any number of rows, and are most of the time of a small table.",
        finding=f"a table of {max(sizes):,} rows takes at most {worst:.1f} times what pandas takes to read it, in "
        f"{peak:.0f} MB{_smaller(found)}.",
        ratios={
            f"{o.rows:,} rows, {o.digits}, {o.criterion}: clearmargin / pandas.read_csv": Ratio(
                o.ratio, larger_is_better=False
            )
            for o in found
        },
    )


if __name__ == "__main__":
    print(section("--full" in sys.argv).to_markdown())
