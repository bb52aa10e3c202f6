"""What the tests of the project file share: small projects, and how somebody else changes them."""

from __future__ import annotations

import contextlib
import sqlite3

from clearmargin.workbench.history import History
from clearmargin.workbench.project_file import ProjectFile

TABLE = b"age,bmi,ill\n61,31,yes\n40,22,no\n55,28,yes\n"
RULES = [
    "age >= 60 => ill",
    "age >= 55 => ill\nbmi < 25 => well",
    "old: age >= 55 and bmi >= 20 => ill\n",
    "# nothing but a remark, with an é and an \N{OLD PERSONAL COMPUTER}",
]


def new_project(folder, name="biopsies"):
    """An open project with a source and a task, both of number 1."""
    file = ProjectFile.create(folder / f"{name}.clearmargin", name=name, made_by="the expert")
    source = file.add_source("table.csv", TABLE, reading={"separator": ","}, rows=3, columns=3)
    file.add_task(source.id, {"target": "ill", "sealed": [2]})
    return file


def with_history(file, texts=RULES):
    """The versions of a project, one for each text, each with its reason."""
    history = History(file)
    for k, text in enumerate(texts):
        head = history.head
        history.keep(
            text,
            why=f"reason {k}",
            author="the expert",
            base=None if head is None else head.id,
            task=1,
            settings={"C": k},
        )
    return history


def kept_project(folder, name="biopsies"):
    """The file of a closed project with four versions, a restored one, and an event of its own."""
    with new_project(folder, name) as file:
        history = with_history(file)
        history.restore(1, why="better so", author="an auditor", base=4)
        file.add_event("an auditor", "opened", {"sealed": True})
        assert file.verify() == []
        return file.path


@contextlib.contextmanager
def without_triggers(path):
    """A connection of somebody who knows SQLite, takes the triggers away and puts them back."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        triggers = found.fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        yield connection
        for _, text in triggers:
            connection.execute(text)


def problems_of(path):
    with ProjectFile.open(path, writing=False) as file:
        return file.verify()
