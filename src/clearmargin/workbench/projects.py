"""The projects of a folder: which there are, making one of a table, opening one when a page asks for it."""

from __future__ import annotations

import re
import secrets
import threading
from pathlib import Path
from typing import Any

from clearmargin.datasets.by_name import dataset_csv, load_dataset
from clearmargin.exceptions import ClearmarginError, DataError, FileInTheWayError
from clearmargin.tables.files import FileTable
from clearmargin.workbench.bench import Bench, open_bench
from clearmargin.workbench.history import History
from clearmargin.workbench.project_file import ProjectFile
from clearmargin.workbench.project_table import (
    NotThereError,
    ProjectTable,
    columns_not_read,
    read_source,
)

SUFFIX = ".clearmargin"
# What a file name may hold, whatever an upload is called.
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def create_project(
    folder: Path,
    name: str,
    content: bytes,
    *,
    author: str,
    sealed_share: float = 0.2,
    reading: dict[str, Any] | None = None,
) -> Path:
    """Make a project of a table."""
    aside = columns_not_read(content)
    if aside:
        reading = {**(reading or {}), "drop": [*(reading or {}).get("drop", ()), *aside]}
    table = read_source(content, name, reading)
    seed = _draw_seed(table, sealed_share)
    with _new_file(folder, name, author) as file:
        file.set_meta("seed", str(seed))
        file.set_meta("sealed_share", repr(float(sealed_share)))
        file.add_source(
            name, content, reading=reading or {}, rows=len(table), columns=len(table.columns)
        )
        return file.path


def _draw_seed(table: FileTable, sealed_share: float) -> int:
    """Draw which rows are sealed; of a table of very few rows not all of them."""
    while True:
        seed = secrets.randbelow(2**20)
        if len(ProjectTable(table, sealed_share, seed).open_rows):
            return seed


def _new_file(folder: Path, name: str, author: str) -> ProjectFile:
    while True:
        try:
            return ProjectFile.create(_free_path(folder, name), name=name, made_by=author)
        except FileInTheWayError:
            # Somebody has made one of the same name meanwhile.
            continue


def _free_path(folder: Path, name: str) -> Path:
    stem = _UNSAFE.sub("-", name.rsplit(".", 1)[0] if "." in name else name).strip(".-_")[:60]
    stem = stem or "project"
    for number in range(1, 10_000):
        path = folder / f"{stem}{'' if number == 1 else f'-{number}'}{SUFFIX}"
        if not path.exists():
            return path
    raise DataError(f"{folder} has too many projects called {stem}")


class Projects:
    """The projects of a folder."""

    def __init__(self, folder: Path, author: str):
        self.folder, self.author = folder, author
        self._benches: dict[str, Bench] = {}
        self._paths: dict[str, Path] = {}
        self._lock = threading.RLock()

    def listed(self) -> list[dict[str, Any]]:
        """List the projects for people, the one that was changed last first."""
        found = []
        for path in sorted(self.folder.glob(f"*{SUFFIX}"), key=_changed_at, reverse=True):
            try:
                found.append(self._facts(path))
            except (ClearmarginError, OSError) as error:
                found.append({"id": None, "file": path.name, "problem": str(error)})
        return found

    def _facts(self, path: Path) -> dict[str, Any]:
        with self._lock:
            open_now = [b for b in self._benches.values() if b.file.path == path]
        if open_now:
            return self._described(open_now[0].file)
        with ProjectFile.open(path, writing=False) as file:
            known = self._path_of(file.id)
            if known is not None and known != path and known.exists():
                raise DataError(
                    f"this is a copy of {known.name}, made behind the workbench's back; put one of them into another "
                    "folder. 'duplicate' makes a copy that is a project of its own"
                )
            self._paths[file.id] = path
            return self._described(file)

    def _path_of(self, project: str) -> Path | None:
        with self._lock:
            bench = self._benches.get(project)
        return self._paths.get(project) if bench is None else bench.file.path

    def _described(self, file: ProjectFile) -> dict[str, Any]:
        source, head = file.source(), History(file).head
        return {
            "id": file.id,
            "file": file.path.name,
            "name": file.name,
            "rows": None if source is None else source.rows,
            "columns": None if source is None else source.columns,
            "versions": 0 if head is None else head.id,
            "at": head.at if head is not None else file.meta("made_at"),
            "why": "" if head is None else head.why,
            "problem": None,
        }

    def bench(self, project: str) -> Bench:
        """Open a project, or give the one that is open."""
        with self._lock:
            if project in self._benches:
                return self._benches[project]
            path = self._paths.get(project)
            if path is None:
                self.listed()
                path = self._paths.get(project)
            if path is None:
                raise NotThereError("there is no such project in this folder")
            self._benches[project] = open_bench(path, self.author)
            return self._benches[project]

    def __contains__(self, project: object) -> bool:
        """Whether a project of this id was met."""
        with self._lock:
            return project in self._benches or project in self._paths

    def create(self, name: str, content: bytes, sealed_share: float) -> str:
        """Make a project of an upload; give its id."""
        path = create_project(
            self.folder, name, content, author=self.author, sealed_share=sealed_share
        )
        with ProjectFile.open(path, writing=False) as file:
            self._paths[file.id] = path
            return file.id

    def create_example(self, name: str, sealed_share: float) -> str:
        """Make a project of a data set inside the package."""
        content = dataset_csv(load_dataset(name)).encode("utf-8")
        return self.create(f"{name}.csv", content, sealed_share)

    def duplicate(self, project: str) -> str:
        """Make a copy of a project, with its whole history."""
        bench = self.bench(project)
        name = f"copy of {bench.file.name}"
        path = bench.file.save_copy(
            _free_path(self.folder, f"{bench.file.path.stem}-copy"), name=name
        )
        return self.find(path)

    def find(self, path: Path) -> str:
        """Give the id of a project by its file."""
        with ProjectFile.open(path, writing=False) as file:
            self._paths[file.id] = path
            return file.id

    def close(self) -> None:
        """Close all projects that are open."""
        with self._lock:
            for bench in self._benches.values():
                bench.close()
            self._benches.clear()


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
