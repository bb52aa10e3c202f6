"""The project file: one SQLite file that holds the table, its tasks, all versions of the rules, and what is going on.

`ProjectFile` reads and writes rows; `history.py` says what a version is, `chain.py` whether all is as it was written.
Every write is committed and on the disk before it returns. One process writes (`project_lock.py`), any number may
read. Nothing else in a process that has a project open may open the same file, not even to read a byte of it: on
closing, the system would drop the locks that SQLite holds. `save_copy` copies it safely.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import sqlite3
import threading
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from clearmargin import __version__
from clearmargin.exceptions import (
    FileDamagedError,
    InvalidValueError,
)
from clearmargin.workbench.chain import FIRST_HASH, chain_end, find_problems, row_hash, unpack
from clearmargin.workbench.project_lock import ProjectInUseError, ProjectLock
from clearmargin.workbench.project_opening import (
    check_kind,
    connect,
    connect_to_project,
    followed,
    in_words,
    lay_out,
    new_file,
    read_schema,
    refuse_what_is_no_file,
    take_lock,
)
from clearmargin.workbench.stored_values import as_finite, as_json, as_text, as_whole, now

__all__ = [
    "JOB_STATES",
    "Draft",
    "Event",
    "Note",
    "ProjectFile",
    "ProjectInUseError",
    "Source",
    "StoredJob",
    "StoredTask",
]

# In addresses, and so nothing else than this, whoever wrote the file.
_ID = re.compile(r"[0-9a-f]{16}")
_FIXED_META = {"id", "made_at", "made_by"}

JOB_STATES = ("waiting", "running", "done", "failed", "cancelled", "stopped")
_UNFINISHED = ("waiting", "running")
_JOB_FIELDS = {"state", "progress", "message", "started", "ended", "error"}

_APPEND = {
    "revision": (
        "INSERT INTO revision (id, parent, task, task_hash, text, settings, author, at, why, kind, restores, "
        "previous_hash, hash) VALUES (:id, :parent, :task, :task_hash, :text, :settings, :author, :at, :why, :kind, "
        ":restores, :previous_hash, :hash)"
    ),
    "event": (
        "INSERT INTO event (id, at, who, what, body, previous_hash, hash) "
        "VALUES (:id, :at, :who, :what, :body, :previous_hash, :hash)"
    ),
}
_LAST = {
    "revision": "SELECT id, hash FROM revision ORDER BY id DESC LIMIT 1",
    "event": "SELECT id, hash FROM event ORDER BY id DESC LIMIT 1",
}
_SOURCE_COLUMNS = "SELECT id, name, sha256, bytes, reading, rows, columns, at FROM source"


@dataclass(frozen=True, slots=True)
class Source:
    """A table as it was uploaded: what is known of it, without its bytes."""

    id: int
    name: str
    sha256: str
    size: int
    reading: dict[str, Any]
    rows: int
    columns: int
    at: str


@dataclass(frozen=True, slots=True)
class StoredTask:
    """What is asked of a table: target, kinds of columns, ranges, sealed rows."""

    id: int
    source: int
    body: dict[str, Any]
    at: str


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A piece of long work, and how far it is."""

    id: int
    kind: str
    input: dict[str, Any]
    state: str
    progress: float
    message: str
    started: str | None
    ended: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in the project."""

    id: int
    at: str
    who: str
    what: str
    body: dict[str, Any]
    hash: str


@dataclass(frozen=True, slots=True)
class Note:
    """What somebody noted about a case."""

    id: int
    revision: int
    row: int
    author: str
    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """What is being typed in a tab, and not kept yet."""

    tab: str
    base: int | None
    text: str
    at: str


class ProjectFile:
    r"""An open project. Made by `create` or `open`; threads may share it."""

    def __init__(
        self, path: Path, real: Path, connection: sqlite3.Connection, lock: ProjectLock | None
    ):
        self.path = path
        self._real = real
        self._connection: sqlite3.Connection | None = connection
        self._writer = lock
        self._lock = threading.RLock()
        self._stopped: list[StoredJob] = []
        self.id = self.meta("id") or ""
        if not _ID.fullmatch(self.id) or self.meta("name") is None:
            raise FileDamagedError(f"{path} is damaged: it does not say its id and its name")

    @classmethod
    def create(cls, path: str | os.PathLike[str], *, name: str, made_by: str) -> ProjectFile:
        """Make a new project, for the user alone to read (mode 0600), and open it for writing."""
        target, real = Path(path).absolute(), followed(path)
        meta = {
            "id": secrets.token_hex(8),
            "name": as_text(name, "the name of a project"),
            "made_at": now(),
            "made_by": as_text(made_by, "who makes a project"),
            "version": __version__,
            "chain:revision": chain_end(0, FIRST_HASH),
            "chain:event": chain_end(0, FIRST_HASH),
        }
        with (
            in_words(target),
            new_file(target, real) as beside,
            contextlib.closing(connect(beside)) as new,
        ):
            lay_out(new, meta)
        return cls.open(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, writing: bool = True) -> ProjectFile:
        """Open a project."""
        target, real = Path(path).absolute(), followed(path)
        refuse_what_is_no_file(target, writing=writing)
        with contextlib.ExitStack() as undo:
            lock = take_lock(target, real) if writing else None
            if lock is not None:
                undo.callback(lock.release)
            connection = undo.enter_context(
                contextlib.closing(connect_to_project(target, real, writing))
            )
            check_kind(connection, target)
            with in_words(target):
                if writing:
                    connection.execute("PRAGMA journal_mode = WAL")
                file = cls(target, real, connection, lock)
            if writing:
                file._stopped = file._stop_jobs()
            undo.pop_all()
            return file

    def close(self) -> None:
        """Close the file and let others write to it; a second time does nothing."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                with in_words(self.path):
                    connection.close()
            if self._writer is not None:
                self._writer.release()

    def __enter__(self) -> ProjectFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Rows: what all the rest is made of

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """Return the rows that a query finds."""
        with self._lock, in_words(self.path):
            return self._opened().execute(query, values).fetchall()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write several rows, or none of them; inside another transaction, be a part of it."""
        with self._lock, in_words(self.path):
            connection = self._opened()
            if self._writer is None:
                raise InvalidValueError(
                    f"{self.path} was opened for reading; nothing can be written to it"
                )
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # After some errors, such as a full disk, SQLite has done that already.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def append(self, table: str, fields: Mapping[str, Any]) -> int:
        """Add a row to a chain."""
        with self.transaction() as connection:
            last = connection.execute(_LAST[table]).fetchone()
            count, previous = (0, FIRST_HASH) if last is None else (last["id"], last["hash"])
            if self.meta(f"chain:{table}") != chain_end(count, previous):
                raise FileDamagedError(
                    f"{self.path} was changed by another program: its last {table} is not the one that was written "
                    "last, and nothing can be added. `clearmargin workbench --verify` says more; take a copy of the "
                    "file from before"
                )
            row = {**fields, "id": count + 1, "previous_hash": previous}
            row["hash"] = row_hash(table, row, previous)
            connection.execute(_APPEND[table], row)
            self._put_meta(f"chain:{table}", chain_end(count + 1, row["hash"]))
        return count + 1

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise InvalidValueError(f"{self.path} was closed")
        return self._connection

    def read_json(self, text: Any, what: str) -> dict[str, Any]:
        """Read an object of JSON that is stored in the file."""
        try:
            body = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise FileDamagedError(
                f"{self.path} is damaged: {what} cannot be read ({error})"
            ) from error
        if not isinstance(body, dict):
            raise FileDamagedError(
                f"{self.path} is damaged: {what} is no object of JSON, but {text!r}"
            )
        return body

    # The project itself

    @property
    def name(self) -> str:
        """What people call the project."""
        return self.meta("name") or ""

    def meta(self, key: str) -> str | None:
        """Return what is noted under a key ("name", "made_at", "made_by", "version" ...), or None."""
        found = self.rows("SELECT value FROM meta WHERE key = ?", key)
        return str(found[0]["value"]) if found else None

    def set_meta(self, key: str, value: str) -> None:
        """Note something under a key; what was there before is replaced."""
        if key in _FIXED_META or key.startswith("chain:"):
            raise InvalidValueError(f"{key!r} of a project is written once and cannot be changed")
        with self.transaction():
            self._put_meta(as_text(key, "a key"), as_text(value, f"the value of {key!r}"))

    def _put_meta(self, key: str, value: str) -> None:
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def save_copy(self, path: str | os.PathLike[str], *, name: str | None = None) -> Path:
        """Copy the project as it is now, while it is in use."""
        target, real = Path(path).absolute(), followed(path)
        with (
            in_words(target),
            new_file(target, real) as beside,
            contextlib.closing(connect(beside)) as copy,
        ):
            with self._lock:
                self._opened().backup(copy)
            # A single file, without the log of whoever writes to the first one.
            copy.execute("PRAGMA journal_mode = DELETE")
            if name is not None:
                new = {"id": secrets.token_hex(8), "name": as_text(name, "the name of a project")}
                copy.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", new.items())
        return target

    def verify(self) -> list[str]:
        """Compare all that can be compared: chains of hashes, sources and their SHA-256, SQLite's own check."""
        self._opened()
        with contextlib.closing(sqlite3.connect(":memory:")) as expected:
            expected.executescript(read_schema())
            # A connection of its own, and one moment of the file, so that others may write in the meantime.
            connection = connect_to_project(self.path, self._real, writing=False)
            with contextlib.closing(connection), in_words(self.path):
                connection.execute("BEGIN")
                return find_problems(connection, expected)

    # Tables and tasks

    def add_source(
        self, name: str, content: bytes, *, reading: dict[str, Any], rows: int, columns: int
    ) -> Source:
        """Store a table as it came."""
        # Level 1 takes an eighth of the time of the usual one, and 10 to 30 % more room.
        packed = zlib.compress(content, 1)
        row: dict[str, Any] = {
            "name": as_text(name, "the name of a source"),
            "sha256": hashlib.sha256(content).hexdigest(),
            "bytes": len(content),
            "reading": as_json(reading, "the way a source is read"),
            "rows": as_whole(rows, "the number of rows"),
            "columns": as_whole(columns, "the number of columns"),
            "at": now(),
            "content": packed,
            "packed": hashlib.sha256(packed).hexdigest(),
        }
        with self.transaction() as connection:
            row["id"] = self._next_id("SELECT COALESCE(MAX(id), 0) + 1 FROM source")
            row["hash"] = row_hash("source", row, FIRST_HASH)
            connection.execute(
                "INSERT INTO source (id, name, sha256, bytes, reading, rows, columns, at, hash, content) VALUES "
                "(:id, :name, :sha256, :bytes, :reading, :rows, :columns, :at, :hash, :content)",
                row,
            )
        return self._source(row)

    def source(self, id: int | None = None) -> Source | None:  # noqa: A002
        """Return what is known of a source, the newest one by default, or None if there is none."""
        found = (
            self.rows(f"{_SOURCE_COLUMNS} ORDER BY id DESC LIMIT 1")
            if id is None
            else self.rows(f"{_SOURCE_COLUMNS} WHERE id = ?", id)
        )
        return self._source(found[0]) if found else None

    def source_bytes(self, id: int) -> bytes:  # noqa: A002
        """Return the bytes of a source as they came, or say that they are other ones."""
        found = self.rows("SELECT content, bytes, sha256 FROM source WHERE id = ?", id)
        if not found:
            raise InvalidValueError(f"{self.path} has no source {id}")
        content, size, sha256 = found[0]
        try:
            unpacked = b"".join(unpack(content, size))
        except (FileDamagedError, TypeError) as error:
            raise FileDamagedError(f"{self.path} is damaged: source {id}: {error}") from error
        if hashlib.sha256(unpacked).hexdigest() != sha256:
            raise FileDamagedError(
                f"{self.path} is damaged: source {id} is not the table that was stored (its SHA-256 is another one)"
            )
        return unpacked

    def add_task(self, source: int, body: dict[str, Any]) -> StoredTask:
        """Store what is asked of a source."""
        text = as_json(body, "a task")
        with self.transaction() as connection:
            found = self.rows("SELECT hash FROM source WHERE id = ?", source)
            if not found:
                raise InvalidValueError(f"{self.path} has no source {source} to ask about")
            row: dict[str, Any] = {
                "source": as_whole(source, "a source"),
                "body": text,
                "at": now(),
            }
            row["id"] = self._next_id("SELECT COALESCE(MAX(id), 0) + 1 FROM task")
            row["hash"] = row_hash("task", row, found[0]["hash"])
            connection.execute(
                "INSERT INTO task (id, source, body, at, hash) VALUES (:id, :source, :body, :at, :hash)",
                row,
            )
        return self._task(row)

    def task(self, id: int | None = None) -> StoredTask | None:  # noqa: A002
        """Return a task, the newest one by default, or None if there is none."""
        found = (
            self.rows("SELECT * FROM task ORDER BY id DESC LIMIT 1")
            if id is None
            else self.rows("SELECT * FROM task WHERE id = ?", id)
        )
        return self._task(found[0]) if found else None

    def _next_id(self, query: str) -> int:
        return int(self.rows(query)[0][0])

    def _source(self, row: Mapping[str, Any] | sqlite3.Row) -> Source:
        reading = self.read_json(row["reading"], f"how source {row['id']} is read")
        return Source(
            row["id"],
            row["name"],
            row["sha256"],
            row["bytes"],
            reading,
            row["rows"],
            row["columns"],
            row["at"],
        )

    def _task(self, row: Mapping[str, Any] | sqlite3.Row) -> StoredTask:
        body = self.read_json(row["body"], f"task {row['id']}")
        return StoredTask(row["id"], row["source"], body, row["at"])

    # Results

    def put_result(self, revision: int, kind: str, body: dict[str, Any], seconds: float) -> None:
        """Store what was computed for a version; it replaces the result of the same kind."""
        row = (
            as_whole(revision, "a version"),
            as_text(kind, "the kind of a result"),
            as_json(body, f"the result {kind!r}"),
            as_finite(seconds, "the time of a result"),
            __version__,
        )
        with self.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO result (revision, kind, body, seconds, version) VALUES (?, ?, ?, ?, ?)",
                row,
            )

    def result(self, revision: int, kind: str) -> dict[str, Any] | None:
        """Return the result of a kind for a version, or None."""
        query = "SELECT body FROM result WHERE revision = ? AND kind = ?"
        found = self.rows(query, revision, kind)
        return self.read_json(found[0]["body"], f"the result {kind!r}") if found else None

    def results(self, revision: int) -> dict[str, dict[str, Any]]:
        """Return all results for a version, by their kinds."""
        found = self.rows(
            "SELECT kind, body FROM result WHERE revision = ? ORDER BY kind", revision
        )
        return {
            row["kind"]: self.read_json(row["body"], f"the result {row['kind']!r}") for row in found
        }

    # Drafts

    def put_draft(self, tab: str, base: int | None, text: str) -> Draft:
        """Store what is being typed in a tab; it replaces what was typed there before."""
        start = None if base is None else as_whole(base, "a version")
        draft = Draft(as_text(tab, "a tab"), start, as_text(text, "a draft"), now())
        with self.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO draft (tab, base, text, at) VALUES (:tab, :base, :text, :at)",
                asdict(draft),
            )
        return draft

    def draft(self, tab: str) -> Draft | None:
        """Return what was typed last in a tab and not dropped, or None."""
        found = self.rows("SELECT tab, base, text, at FROM draft WHERE tab = ?", tab)
        return Draft(*found[0]) if found else None

    def drafts(self) -> list[Draft]:
        """Return all drafts, the newest first."""
        query = "SELECT tab, base, text, at FROM draft ORDER BY at DESC, tab"
        return [Draft(*row) for row in self.rows(query)]

    def drop_draft(self, tab: str) -> None:
        """Forget the draft of a tab, if there is one."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM draft WHERE tab = ?", (tab,))

    # Jobs

    def add_job(self, kind: str, input: dict[str, Any]) -> StoredJob:  # noqa: A002
        """Note a piece of work that waits to be done."""
        row = (as_text(kind, "the kind of a job"), as_json(input, "the input of a job"))
        with self.transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO job (kind, input, state, progress, message) VALUES (?, ?, 'waiting', 0.0, '')",
                row,
            )
            return self._job_of(cursor.lastrowid or 0)

    def update_job(self, id: int, **changed: Any) -> StoredJob:  # noqa: A002
        """Note how a job is going."""
        unknown = sorted(changed.keys() - _JOB_FIELDS)
        if unknown:
            raise InvalidValueError(
                f"a job has no {unknown[0]!r} that could change; it has {', '.join(sorted(_JOB_FIELDS))}"
            )
        if "state" in changed and changed["state"] not in JOB_STATES:
            raise InvalidValueError(
                f"a job cannot be {changed['state']!r}; it is one of {', '.join(JOB_STATES)}"
            )
        for field in changed.keys() - {"state", "progress"}:
            if changed[field] is not None or field == "message":
                as_text(changed[field], f"the {field} of a job")
        if "progress" in changed:
            changed["progress"] = as_finite(changed["progress"], "the progress of a job")
        with self.transaction() as connection:
            job = _with_times(replace(self._job_of(id), **changed))
            connection.execute(
                "UPDATE job SET state = ?, progress = ?, message = ?, started = ?, ended = ?, error = ? WHERE id = ?",
                (job.state, job.progress, job.message, job.started, job.ended, job.error, job.id),
            )
        return job

    def job(self, id: int) -> StoredJob | None:  # noqa: A002
        """Return a job, or None."""
        found = self.rows("SELECT * FROM job WHERE id = ?", id)
        return self._job(found[0]) if found else None

    def jobs(self, limit: int = 50) -> list[StoredJob]:
        """Return the newest jobs, the newest first."""
        found = self.rows("SELECT * FROM job ORDER BY id DESC LIMIT ?", limit)
        return [self._job(row) for row in found]

    def stop_unfinished_jobs(self) -> list[StoredJob]:
        """Note that no job runs any more."""
        with self._lock:
            self._stopped = [*self._stopped, *self._stop_jobs()]
            return list(self._stopped)

    def _stop_jobs(self) -> list[StoredJob]:
        # Looked at first, so that opening a project writes nothing where nothing ran.
        query = "SELECT id FROM job WHERE state IN (?, ?) ORDER BY id"
        if not self.rows(query, *_UNFINISHED):
            return []
        with self.transaction():
            return [
                self.update_job(row["id"], state="stopped")
                for row in self.rows(query, *_UNFINISHED)
            ]

    def _job_of(self, id: int) -> StoredJob:  # noqa: A002
        job = self.job(id)
        if job is None:
            raise InvalidValueError(f"{self.path} has no job {id}")
        return job

    def _job(self, row: sqlite3.Row) -> StoredJob:
        given = self.read_json(row["input"], f"the input of job {row['id']}")
        return StoredJob(
            row["id"],
            row["kind"],
            given,
            row["state"],
            row["progress"],
            row["message"],
            row["started"],
            row["ended"],
            row["error"],
        )

    # Events and notes

    def add_event(self, who: str, what: str, body: dict[str, Any]) -> Event:
        """Note that something happened, at the end of the chain of events."""
        text = as_json(body, "an event")
        row = {
            "at": now(),
            "who": as_text(who, "who did it"),
            "what": as_text(what, "what happened"),
            "body": text,
        }
        with self.transaction():
            number = self.append("event", row)
            return self._event(self.rows("SELECT * FROM event WHERE id = ?", number)[0])

    def events(self, after: int = 0) -> list[Event]:
        """Return the events whose number is larger than `after`, oldest first."""
        found = self.rows("SELECT * FROM event WHERE id > ? ORDER BY id", after)
        return [self._event(row) for row in found]

    def _event(self, row: sqlite3.Row) -> Event:
        body = self.read_json(row["body"], f"event {row['id']}")
        return Event(row["id"], row["at"], row["who"], row["what"], body, row["hash"])

    def add_note(self, revision: int, row: int, author: str, text: str) -> Note:
        """Note something about a case."""
        note = Note(
            0,
            as_whole(revision, "a version"),
            as_whole(row, "a row"),
            as_text(author, "the author of a note"),
            now(),
            as_text(text, "a note"),
        )
        with self.transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO note (revision, row, author, at, text) VALUES (:revision, :row, :author, :at, :text)",
                asdict(note),
            )
        return replace(note, id=cursor.lastrowid or 0)

    def notes(self, row: int | None = None) -> list[Note]:
        """Return the notes about a case, or about all, oldest first."""
        columns = "SELECT id, revision, row, author, at, text FROM note"
        found = (
            self.rows(f"{columns} ORDER BY id")
            if row is None
            else self.rows(f"{columns} WHERE row = ? ORDER BY id", row)
        )
        return [Note(*each) for each in found]


def _with_times(job: StoredJob) -> StoredJob:
    started, ended = job.started, job.ended
    if job.state == "running":
        started = started or now()
    elif job.state not in _UNFINISHED:
        ended = ended or now()
    return replace(job, started=started, ended=ended)
