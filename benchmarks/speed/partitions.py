"""The 1-norm SVM over partitions: processor time, passes, bytes and bits, in memory and out of Parquet files.

Data: correlated normal columns of which ten matter, 5 % of the labels flipped, costs that add up to 100 or 5,000; a
rare class; columns of very different scale. A file of ten million rows is written block by block and fitted by a child
of its own, whose peak of memory counts.
"""

from __future__ import annotations

import json
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet
from sklearn.linear_model import SGDClassifier

import clearmargin as cm
from benchmarks.page import Ratio, Section, Table
from benchmarks.speed.timing import race
from clearmargin.lp_svm import LPSVC
from clearmargin.lp_svm.lpsvm import LPSVMSolution
from clearmargin.lp_svm.lpsvm_solve import solve_partitions
from clearmargin.tables.partitions import ArrayBlocks, Block, Partitions

Array = NDArray[np.float64]
MATTER, FLIPPED = 10, 0.05
# Rows that are drawn and written at a time.
CHUNK = 500_000
# Sizes of blocks, in rows, over which planes are compared.
BLOCKS = (1_000_000, 333_333, 50_000, 37_123)
# A megabyte in the unit of maximum resident set sizes: kilobytes on Linux, bytes on macOS.
UNIT = 2**20 if sys.platform == "darwin" else 2**10


class Case(NamedTuple):
    """A table, and the sum of its costs."""

    name: str
    m: int
    n: int
    costs: float = 100.0
    kind: str = "plain"


QUICK = (
    Case("plain", 100_000, 20),
    Case("rare class, 0.5 %", 80_000, 20, kind="rare"),
    Case("scales 1e-4 to 1e4", 200_000, 20, kind="scales"),
)
FULL = (
    *QUICK,
    Case("plain", 1_000_000, 20),
    Case("plain", 1_000_000, 50),
    Case("plain", 1_000_000, 20, 5_000.0),
    Case("rare class, 0.5 %", 80_000, 20, 5_000.0, "rare"),
    Case("no relation, scales 1e-4 to 1e4", 200_000, 20, kind="no relation"),
    Case("binary columns", 200_000, 20, kind="binary"),
    Case("whole numbers", 200_000, 20, kind="whole"),
    Case("heavy tails", 200_000, 20, kind="cubed"),
)
# Rows and columns of the file, quick and full.
FILES = ((300_000, 20), (10_000_000, 20))


def chunks(m: int, n: int, seed: int = 0) -> Any:
    """Draw rows and signs, some at a time, so that a part of a table is drawn like the whole."""
    rng = np.random.default_rng(seed)
    mix = np.eye(n) + 0.6 * rng.normal(size=(n, n)) / np.sqrt(n)
    w = np.zeros(n)
    w[:MATTER] = rng.normal(size=MATTER)
    for start in range(0, m, CHUNK):
        X = rng.normal(size=(min(CHUNK, m - start), n)) @ mix
        y = np.where(X @ w > 0, 1.0, -1.0)
        y[rng.random(len(y)) < FLIPPED] *= -1.0
        yield X, y


def draw(case: Case) -> tuple[Array, Array]:
    """Draw the table of a case."""
    parts = list(chunks(case.m, case.n))
    X, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    rng = np.random.default_rng(1)
    if case.kind == "rare":
        score = X[:, :MATTER] @ rng.normal(size=MATTER)
        score += score.std() * rng.normal(size=case.m)
        y = np.where(score > np.quantile(score, 0.995), 1.0, -1.0)
    elif case.kind == "no relation":
        y = rng.choice([-1.0, 1.0], size=case.m)
    elif case.kind == "binary":
        X = (X > 0).astype(np.float64)
    elif case.kind == "whole":
        X = np.clip(np.rint(2.0 * X + 5.5), 1.0, 10.0)
    elif case.kind == "cubed":
        X = X**3
    if case.kind in ("scales", "no relation"):
        X *= np.logspace(-4, 4, case.n)
    return X, y


class Watched:
    """Partitions that count the passes over all rows and what comes back from all maps, samples included."""

    def __init__(self, blocks: Any, whole: Watched | None = None):
        self.blocks, self.names, self.lengths = blocks, blocks.names, blocks.lengths
        self.whole = whole or self
        self.n_passes, self.n_bytes = 0, 0

    def map(self, f: Callable[..., Any], own: Any = None, common: Any = ()) -> list[Any]:
        """Call a function on every block, and weigh the answers."""
        answers: list[Any] = self.blocks.map(f, own, common)
        self.whole.n_bytes += len(pickle.dumps(answers))
        self.n_passes += 1
        return answers

    def sample(self, share: float) -> Watched:
        """Return a sample that counts towards the same bytes."""
        return Watched(self.blocks.sample(share), self.whole)


def bits(solution: LPSVMSolution) -> bytes:
    """All bits of a plane and its objective."""
    return solution.w.tobytes() + np.array([solution.b, solution.objective]).tobytes()


def other_runs(X: Array, y: Array, penalty: float, expected: bytes) -> tuple[bool, int]:
    """Whether blocks of other sizes, shuffled and sorted rows give plane and objective to the bit; passes if sorted."""
    m = len(y)
    order = np.random.default_rng(2).permutation(m)
    sizes = [max(7, size * m // 1_000_000) for size in BLOCKS]
    runs: list[Partitions[Block]] = [ArrayBlocks(X, y, block_rows=size) for size in sizes]
    runs.append(ArrayBlocks(X[order], y[order], block_rows=sizes[2]))
    order = np.lexsort((X[:, 0], y))
    ordered = Watched(ArrayBlocks(X[order], y[order], block_rows=sizes[2]))
    planes = [bits(solve_partitions(parts, penalty)) for parts in (*runs, ordered)]
    return all(plane == expected for plane in planes), ordered.n_passes


def excess_of_sgd(X: Array, y: Array, nu: float, optimum: float) -> tuple[float, float]:
    """Processor seconds of ten epochs of SGD, and how far its objective is above the optimum."""
    model = SGDClassifier(penalty="l1", alpha=1.0 / (nu * len(y)), max_iter=10, tol=None)
    (seconds,) = race(lambda: model.fit(X, y), repeat=1)
    w = model.coef_[0]
    hinge = np.maximum(0.0, 1.0 - y * (X @ w + model.intercept_[0]))
    return seconds, (nu * hinge.sum() + np.abs(w).sum()) / optimum - 1.0


def measure(case: Case) -> tuple[list[str], dict[str, Ratio]]:
    """One row of the table."""
    X, y = draw(case)
    nu = case.costs / case.m
    (seconds,) = race(lambda: LPSVC(nu).fit(X, y), repeat=3, enough=4.0)
    model = LPSVC(nu).fit(X, y)
    watched = Watched(ArrayBlocks(X, y))
    found = solve_partitions(watched, 1.0 / nu)
    sgd, excess = excess_of_sgd(X, y, nu, model.objective_)
    same, sorted_passes = other_runs(X, y, 1.0 / nu, bits(found))
    name = f"{case.name}, {case.m:,} x {case.n}, costs {case.costs:g}"
    row = [
        name,
        f"{seconds:.2f}",
        f"{watched.n_passes} ({sorted_passes})",
        f"{watched.n_bytes / 2**20:.1f}",
        f"{model.gap_:.0e}",
        "yes" if same else "NO",
        str(int(np.count_nonzero(model.coef_))),
        f"{sgd:.2f}",
        f"{excess:.0e}",
    ]
    return row, {f"LPSVC / SGD, {name}": Ratio(seconds / sgd, larger_is_better=False)}


def write_file(path: Path, m: int, n: int) -> None:
    """Write a Parquet file of single precision, some rows at a time."""
    names = [*(f"x{j}" for j in range(n)), "y"]
    schema = pa.schema([(name, pa.float32()) for name in names[:-1]] + [("y", pa.int8())])
    with parquet.ParquetWriter(path, schema) as writer:
        for X, y in chunks(m, n):
            columns = [np.ascontiguousarray(column, dtype=np.float32) for column in X.T]
            table = pa.table([*columns, y.astype(np.int8)], names=names)
            writer.write_table(table, row_group_size=100_000)


def peak_megabytes() -> float:
    """The peak of memory of this process; where the system tells, without that of the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return float(lines["VmHWM"].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / UNIT


def fit_file(path: str) -> dict[str, Any]:
    """Fit a file in this process, and say what it took."""
    table = cm.scan(path, target="y")
    m = sum(table.lengths)
    start = time.process_time()
    model = LPSVC(100.0 / m).fit(cm.scan(path, target="y"))
    seconds = time.process_time() - start
    peak = peak_megabytes()
    plane = model.coef_.tobytes() + model.intercept_.tobytes()
    return {"seconds": seconds, "peak": peak, "gap": model.gap_, "plane": plane.hex()}


def measure_file(m: int, n: int) -> list[str]:
    """One row of the table, for rows that are read from a file in every pass."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_file(path, m, n)
        code = "import sys, json; from benchmarks.speed.partitions import fit_file; "
        code += "print(json.dumps(fit_file(sys.argv[1])))"
        run = [sys.executable, "-c", code, str(path)]
        answer = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
        same = "-"
        if m <= 1_000_000:
            parts = list(chunks(m, n))
            X = np.concatenate([X for X, _ in parts]).astype(np.float32).astype(np.float64)
            y = np.concatenate([y for _, y in parts])
            model = LPSVC(100.0 / m).fit(X, y)
            plane = model.coef_.tobytes() + model.intercept_.tobytes()
            same = "yes" if plane.hex() == answer["plane"] else "NO"
    name = f"float32 Parquet, {m:,} x {n}, costs 100, peak {answer['peak']:.0f} MB"
    return [name, f"{answer['seconds']:.2f}", "-", "-", f"{answer['gap']:.0e}", same, "-", "-", "-"]


def section(full: bool = True) -> Section:
    """The table over all cases."""
    header = [
        "case",
        "LPSVC s",
        "passes (rows sorted)",
        "MB up",
        "certified gap",
        "same bits",
        "weights",
        "SGD s",
        "SGD excess",
    ]
    measured = [measure(case) for case in (FULL if full else QUICK)]
    rows = [row for row, _ in measured]
    sizes: Sequence[tuple[int, int]] = FILES if full else FILES[:1]
    rows += [measure_file(*size) for size in sizes]
    ratios = {name: ratio for _, found in measured for name, ratio in found.items()}
    most = max(int(row[2].split()[0]) for row, _ in measured)
    differ = [row[0] for row in rows if row[5] == "NO"]
    equal = "all planes and objectives are equal to the bit"
    if differ:
        equal = "planes differ for " + "; ".join(differ)
    return Section(
        "A 1-norm SVM over partitions",
        "What does the exact plane cost where rows come in blocks? `LPSVC.fit` in memory runs on blocks, too; passes "
        "are those over all rows (the first look at them included), MB up what all answers of blocks add up to when "
        "they are pickled, those of samples included. *Same bits*: plane and objective for four sizes of blocks, "
        "shuffled rows and rows sorted by class and a column; for files, the plane of the same numbers in memory. "
        "`SGDClassifier` runs ten epochs, on the columns as they are; its excess is that of its objective over the "
        "optimum. Processor seconds, one thread.",
        Table(header, rows),
        "A file is read anew in every pass; its peak of memory is that of the whole process.",
        f"at most {most} passes over all rows, and {equal}.",
        ratios,
    )
