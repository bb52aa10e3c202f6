"""Project files and somebody who changes them: light to import, since processes that are killed begin with it."""

import contextlib
import sqlite3

from tests.seams import ProjectFile

TABLE = b"age,bmi,ill\n61,31,yes\n40,22,no\n55,28,yes\n"
TEXTS = ["age >= 60 => ill", "bmi < 25 => well", "old: age >= 55 => ill\n", "# é \U0001f5b3", ""]


def new_project(folder, name="biopsies"):
    """An open project with a source and a task, both of number 1."""
    file = ProjectFile.create(folder / f"{name}.clearmargin", name=name, made_by="the expert")
    source = file.add_source("table.csv", TABLE, reading={"separator": ","}, rows=3, columns=3)
    file.add_task(source.id, {"target": "ill", "sealed": [2]})
    return file


def add_version(file, text, why="so"):
    """Add a version and the event that tells of it, as the history does."""
    with file.transaction():
        parent = file.rows("SELECT MAX(id) FROM revision")[0][0]
        row = {"parent": parent, "task": 1, "text": text, "settings": "{}", "author": "the expert"}
        row |= {"task_hash": file.rows("SELECT hash FROM task WHERE id = 1")[0][0], "why": why}
        row |= {"at": "2030-01-01T00:00:00+00:00", "kind": "edit", "restores": None}
        number = file.append("revision", row)
        digest = file.rows("SELECT hash FROM revision WHERE id = ?", number)[0][0]
        file.add_event("the expert", "kept", {"revision": number, "hash": digest})
    return number, digest


def kept_project(folder, name="biopsies"):
    """The file of a closed project with five versions, and an event more."""
    with new_project(folder, name) as file:
        for k, text in enumerate(TEXTS):
            add_version(file, text, f"reason {k}")
        file.add_event("an auditor", "opened", {"sealed": True})
        return file.path


@contextlib.contextmanager
def changing(path):
    """A connection of somebody who knows SQLite, takes the triggers away and puts them back."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA synchronous = OFF")
        query = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        triggers = connection.execute(query).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        yield connection
        for _, text in triggers:
            connection.execute(text)


def problems_of(path):
    with ProjectFile.open(path, writing=False) as file:
        return file.verify()
