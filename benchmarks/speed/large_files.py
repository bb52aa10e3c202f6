"""Tables larger than memory: `train` and `rules` on a CSV file beside reading it, and on a folder of Parquet files."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks.page import Ratio, Section, Table
from benchmarks.speed.command_line import Run, reading, watch, write_table

ROWS = 1_000_000
# Rows and columns of the folder; the first ten columns matter, and one label in twenty is flipped.
N_FILES, N_COLUMNS, N_MATTER, FLIPPED = 10, 20, 10, 0.05


class Command(NamedTuple):
    """A command on a table, beside what pandas takes to read it, if it does."""

    name: str
    table: str
    run: Run
    reading: Run | None = None

    @property
    def ratio(self) -> float | None:
        """How many times the processor time of reading the file the command takes."""
        return None if self.reading is None else self.run.cpu / self.reading.cpu

    def cells(self) -> list[str]:
        """A row of the table."""
        ratio = "" if self.ratio is None else f"**{self.ratio:.1f}**"
        return [self.name, self.table, f"{self.run.cpu:.1f}", ratio, f"{self.run.peak:.0f}"]


def write_folder(folder: Path, rows: int, n_files: int = N_FILES, seed: int = 1) -> None:
    """Correlated normal columns of single precision and a class, in files of equal length."""
    rng = np.random.default_rng(seed)
    mix = np.linalg.cholesky(0.3 * np.ones((N_COLUMNS, N_COLUMNS)) + 0.7 * np.eye(N_COLUMNS))
    w = np.concatenate([rng.normal(size=N_MATTER), np.zeros(N_COLUMNS - N_MATTER)])
    for k in range(n_files):
        X = (rng.normal(size=(rows // n_files, N_COLUMNS)) @ mix.T).astype(np.float32)
        is_ill = (X @ w > 0) ^ (rng.random(len(X)) < FLIPPED)
        columns = {f"x{j}": X[:, j] for j in range(N_COLUMNS)}
        table = pa.table({**columns, "y": np.where(is_ill, "ill", "well")})
        parquet.write_table(table, folder / f"part-{k}.parquet", row_group_size=250_000)


def commands(data: Path, table: str, read: Run | None = None) -> list[Command]:
    """Train on a table, extract the rules of the plane, and do both at once."""
    model = data.parent / f"{data.name}.json"
    words = [str(data), "--target", "y"]
    typed = {
        "train": ["train", *words, "--out", str(model), "--force"],
        "rules --model": ["rules", *words, "--model", str(model)],
        "rules": ["rules", *words],
    }
    # As for reading, the quicker of some runs: others at the machine make them slower, never faster.
    tries = 1 if read is None else 3
    return [
        Command(name, table, min((watch(line) for _ in range(tries)), key=lambda r: r.cpu), read)
        for name, line in typed.items()
    ]


def section(full: bool = False) -> Section:
    """Return the table of commands; the folder of ten million rows only where all is measured."""
    with tempfile.TemporaryDirectory() as name:
        data = Path(name, "t.csv")
        write_table(data, ROWS, None)
        found = commands(data, f"{ROWS:,} x 10, CSV", reading(data))
        folder = Path(name, "parts")
        folder.mkdir()
        rows = 10 * ROWS if full else ROWS // 2
        write_folder(folder, rows)
        found += commands(folder, f"{rows:,} x {N_COLUMNS}, {N_FILES} Parquet files")
    worst = max(each.ratio for each in found if each.ratio is not None)
    peak = max(each.run.peak for each in found)
    return Section(
        "Tables larger than memory",
        "`clearmargin train` and `rules` on files that are read in passes: a CSV file beside `pandas.read_csv` of it, "
        "and a folder of Parquet files in single precision. Processor time, with starting Python and imports.",
        Table(
            ["command", "table", "CPU s", "ratio to pandas.read_csv", "peak MB"],
            [each.cells() for each in found],
        ),
        "Costs and features are chosen on a sample; planes are trained and rules counted on all rows.",
        finding=f"a CSV file takes at most {worst:.1f} times the CPU of reading it, in {peak:.0f} MB at most.",
        ratios={
            f"{each.name}, {each.table}: CPU of clearmargin / pandas.read_csv": Ratio(
                each.ratio, larger_is_better=False
            )
            for each in found
            if each.ratio is not None
        },
    )


if __name__ == "__main__":
    print(section("--full" in sys.argv).to_markdown())
