"""Open projects for the tests of the workbench: small tables, and jobs that are done at once, in this process."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.workbench.server_client import Workbench, running_workbench

from clearmargin.exceptions import ClearmarginError
from clearmargin.tables.files import FileTable
from clearmargin.workbench import work
from clearmargin.workbench.bench import Bench, open_bench
from clearmargin.workbench.project_file import ProjectFile
from clearmargin.workbench.project_table import OpenTask, ProjectTable
from clearmargin.workbench.projects import create_project
from clearmargin.workbench.settings import MachineSettings, TaskSettings
from clearmargin.workbench.trained_machine import CrossValidated, train_machine

RULES = """old: age >= 60 => ill
red: colour = red and dose >= 0.5 => ill
young: age <= 35 => well
"""


def patients(m: int = 150, seed: int = 0, *, gaps: bool = False) -> dict[str, np.ndarray]:
    """Two numbers, of which one is whole, a feature of categories before them, and two classes."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue"], m).astype(object)
    age, dose = rng.integers(20, 80, m), rng.uniform(0, 1, m).round(2)
    score = (age - 50) / 20 + 1.5 * (colour == "red") + 2 * (dose - 0.5) + rng.normal(0, 0.4, m)
    ill = np.where(score > 0, "ill", "well").astype(object)
    if gaps:
        dose[rng.random(m) < 0.1] = np.nan
        colour[rng.random(m) < 0.1] = None
    return {"colour": colour, "age": age, "dose": dose, "state": ill}


def noise(m: int = 100, n: int = 4, seed: int = 0) -> dict[str, np.ndarray]:
    """Numbers that have nothing to do with the classes."""
    rng = np.random.default_rng(seed)
    columns = {f"x{j}": rng.normal(size=m).round(3) for j in range(n)}
    return {**columns, "y": rng.choice(["a", "b"], m).astype(object)}


def opened_task(
    columns: dict[str, np.ndarray], target: str, share: float = 0.0, seed: int = 1, **settings: Any
) -> OpenTask:
    """The task of a table."""
    table = ProjectTable(FileTable("t.csv", dict(columns)), share, seed)
    return table.task(TaskSettings(target, **settings))


def as_csv(columns: dict[str, np.ndarray], separator: str = ",") -> bytes:
    """A table as a file; what is missing is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    for values in zip(*(column.tolist() for column in columns.values()), strict=True):
        writer.writerow(["" if str(v) in ("None", "nan") else v for v in values])
    return text.getvalue().encode()


class JobsAtOnce:
    """Jobs that are done when they are started."""

    def __init__(self, file: Any, events: Any):
        self.file, self.events = file, events

    def start(self, kind: str, given: dict[str, Any], on_done: Any) -> Any:
        job = self.file.add_job(kind, given)
        try:
            on_done(job, work.run(kind, given))
        except ClearmarginError as error:
            return self.file.update_job(job.id, state="failed", error=str(error))
        return self.file.update_job(job.id, state="done")

    def cancel(self, number: int) -> Any:
        return self.file.job(number)

    def close(self) -> None:
        """There is nothing to end."""


@contextmanager
def open_project(
    folder: Path,
    content: bytes | dict[str, np.ndarray],
    *,
    share: float = 0.2,
    task: dict[str, Any] | None = None,
) -> Iterator[Bench]:
    """A project of a table, open, with jobs that are done at once."""
    path = made_project(folder, content, "table.csv", sealed_share=share)
    with reopened(path) as bench:
        if task is not None:
            bench.set_task(task)
        yield bench


@contextmanager
def reopened(path: Path) -> Iterator[Bench]:
    """A project that was made before."""
    bench = open_bench(path, "the expert")
    bench.jobs.close()
    bench.jobs = JobsAtOnce(bench.file, bench.events)
    try:
        yield bench
    finally:
        bench.close()


def keep_trained(bench: Bench, machine: str, text: str = RULES) -> None:
    """Keep a version whose machine is trained, but judged on its own rows: the true figures take long for some."""
    start, bench.jobs.start = bench.jobs.start, lambda *_: None
    settings = MachineSettings(machine)
    kept = bench.keep(
        text, why="quickly", base=bench.version().revision.id, settings=settings.to_dict()
    )
    bench.jobs.start = start
    opened = bench.opened()
    made = train_machine(opened, bench.version().rules, settings)
    codes = made.codes(opened)
    figures = CrossValidated(codes, int((codes == opened.codes).sum()))
    model = {"document": made.document, "outcome": list(made.outcome), "features": []}
    bench.file.put_result(kept.id, "validated", figures.to_dict(), 0.0)
    bench.file.put_result(kept.id, "model", model, 0.0)


@contextmanager
def served_at_once(folder: Path) -> Iterator[Workbench]:
    """The workbench over a folder, with jobs that are done before their request is answered."""
    seeds = itertools.count(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clearmargin.workbench.bench.Jobs", JobsAtOnce)
        # The same rows are sealed in each run.
        patch.setattr("clearmargin.workbench.projects.secrets.randbelow", lambda _: next(seeds))
        with running_workbench(folder) as running:
            yield running


def made_project(
    folder: Path, content: bytes | dict[str, np.ndarray], name: str, **more: Any
) -> Path:
    """The file of a project whose sealed rows are the same in each run."""
    table = content if isinstance(content, bytes) else as_csv(content)
    path = create_project(folder, name, table, author="the expert", **more)
    with ProjectFile.open(path) as file:
        file.set_meta("seed", "1")
    return path
