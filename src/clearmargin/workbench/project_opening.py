"""Open project files, or say why that cannot be: files, permissions, connections, versions."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path

from clearmargin.exceptions import (
    ClearmarginError,
    FileDamagedError,
    FileInTheWayError,
    FileTooNewError,
    InvalidValueError,
)
from clearmargin.rules.file_writing import writing_to
from clearmargin.workbench.project_lock import ProjectInUseError, ProjectLock

# "clmw" as four bytes: how `file` and we tell a project from other databases.
_APPLICATION_ID = 0x636C6D77
# SQLite takes what is shorter for a new database, whatever is in it.
_SMALLEST_DATABASE = 512
_FORMAT = 1
_BUSY_SECONDS = 10.0
# What is left of the log after a large table was stored.
_LOG_BYTES = 1 << 24
# Primary result codes of SQLite that speak of the system, not of the file: busy, locked, readonly, ioerr, full,
# cantopen, protocol.
_SYSTEM_ERRORS = {5, 6, 8, 10, 13, 14, 15}
_NO_DATABASE = 26


def read_schema() -> str:
    """Return the statements of SQL that make the tables of a project."""
    return (resources.files("clearmargin.workbench") / "schema.sql").read_text(encoding="utf-8")


def followed(path: str | os.PathLike[str]) -> Path:
    """Return the file that a path leads to, through all links: its lock and its log are beside that one."""
    return Path(os.path.realpath(path))


def refuse_what_is_no_file(path: Path, *, writing: bool) -> None:
    """Raise for what SQLite would say in its own words, would make a new database of, or would wait for."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no project {path}") from None
    if stat.S_ISDIR(found.st_mode):
        raise FileDamagedError(f"{path} is not a project: it is a folder; name a file in it")
    if not stat.S_ISREG(found.st_mode):
        raise FileDamagedError(f"{path} is not a project: it is no regular file")
    if found.st_size == 0:
        raise FileDamagedError(
            f"{path} is not a project: it is empty; take another copy of the file, or remove it to make a new one"
        )
    if found.st_size < _SMALLEST_DATABASE:
        raise FileDamagedError(
            f"{path} is not a project: it is no SQLite file, for it has no more than {found.st_size} bytes; take "
            "another copy of the file"
        )
    if not os.access(path, os.R_OK):
        raise PermissionError(
            f"{path} may not be read by you; ask its owner, or change its permissions"
        )
    if writing and not os.access(path, os.W_OK):
        raise PermissionError(
            f"{path} is write-protected; change its permissions, or copy it to a folder of your own"
        )


def take_lock(path: Path, real: Path) -> ProjectLock:
    """Take the right to write to a project, or say why it cannot be had."""
    try:
        with writing_to(path):
            return ProjectLock.take(real)
    except ProjectInUseError:
        raise
    except PermissionError as error:
        raise PermissionError(
            f"{path} cannot be worked on: its folder is write-protected; copy it to a folder of your own"
        ) from error


@contextlib.contextmanager
def new_file(target: Path, real: Path) -> Iterator[Path]:
    """Give a file for nobody else to read, and put it in place when it is done; what is there stays."""
    in_the_way = FileInTheWayError(
        f"{target} exists already; open it, or choose another name for the new project"
    )
    if os.path.lexists(target):
        raise in_the_way
    if not real.parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be made: there is no folder {real.parent}")
    beside = real.with_name(f".{secrets.token_hex(8)}.part")
    # Made before SQLite sees it, with the permissions that its companions (-journal, -wal, -shm) will take over.
    with writing_to(target):
        os.close(os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with writing_to(target):
            yield beside
            _flush(beside)
        try:
            # Unlike a rename, a link fails if the target has appeared in the meantime.
            real.hardlink_to(beside)
        except FileExistsError:
            raise in_the_way from None
        except OSError:  # a file system without hard links
            if os.path.lexists(real):
                raise in_the_way from None
            beside.rename(real)
    finally:
        for ending in ("", "-journal", "-wal", "-shm"):
            Path(f"{beside}{ending}").unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # Windows flushes no folders
        _flush(real.parent)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def in_words(path: Path) -> Iterator[None]:
    """Turn what SQLite says into errors that say what to do."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise InvalidValueError(
            f"nothing was written to {path}: {error}; what a row refers to must be there, and the history is only "
            "added to"
        ) from error
    except (
        sqlite3.InterfaceError,
        sqlite3.ProgrammingError,
        OverflowError,
        UnicodeEncodeError,
    ) as error:
        raise InvalidValueError(f"{path} cannot be asked for that: {error}") from error
    except sqlite3.DataError as error:
        raise InvalidValueError(f"nothing was written to {path}: {error}") from error
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _SYSTEM_ERRORS:
            raise ClearmarginError(
                f"{path} could not be read or written just now: {error}; look whether the disk is full, the folder can "
                "be written, and no other program has the file open"
            ) from error
        if code == _NO_DATABASE:
            raise FileDamagedError(
                f"{path} is not a project: it is no SQLite file, or its beginning is damaged; name a file that the "
                "workbench has made, or a table to make a project of"
            ) from error
        raise FileDamagedError(
            f"{path} is damaged: {error}; take another copy of the file"
        ) from error


def connect(path: Path, options: str = "mode=rw") -> sqlite3.Connection:
    """Connect to a file that exists; transactions begin and end where the code says so."""
    connection = sqlite3.connect(
        f"{path.as_uri()}?{options}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.row_factory = sqlite3.Row
    return connection


def connect_to_project(path: Path, real: Path, writing: bool) -> sqlite3.Connection:
    """Connect to a file that exists, and look into it for the first time."""
    with in_words(path):
        if writing:
            return _prepared(connect(real), writing=True)
        if os.access(real, os.W_OK) and os.access(real.parent, os.W_OK):
            # Readers need the files of the log; only who may write to them removes them again.
            return _prepared(connect(real), writing=False)
        try:
            return _prepared(connect(real, "mode=ro"), writing=False)
        except sqlite3.OperationalError:
            if Path(f"{real}-wal").exists():
                raise
            # Nobody has it open, and nobody can: a folder or a disk that cannot be written.
            return _prepared(connect(real, "mode=ro&immutable=1"), writing=False)


def _prepared(connection: sqlite3.Connection, *, writing: bool) -> sqlite3.Connection:
    try:
        # Nothing that a file of unknown origin defines is run on the way.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES:d}")
        if not writing:
            connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def check_kind(connection: sqlite3.Connection, path: Path) -> None:
    """Raise for what is no project, is too new, or lacks something."""
    with in_words(path):
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        found = _columns(connection)
    if application != _APPLICATION_ID:
        raise FileDamagedError(
            f"{path} is not a project: it is an SQLite file of another program; to work on a table in it, save that "
            "as CSV"
        )
    if version > _FORMAT:
        raise FileTooNewError(
            f"{path} was written by a later version of clearmargin (its format is {version}; this version knows up to "
            f"{_FORMAT}); install a later version to open it"
        )
    with contextlib.closing(sqlite3.connect(":memory:")) as expected:
        expected.executescript(read_schema())
        missing = sorted(_columns(expected) - found)
    if version < 1 or missing:
        said = "it lacks {}.{}".format(*missing[0]) if missing else f"its format is {version}"
        raise FileDamagedError(f"{path} is damaged: {said}; take another copy of the file")


def _columns(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Return table and name of each column."""
    query = "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'"
    return {(table, column) for table, column in connection.execute(query)}


def lay_out(connection: sqlite3.Connection, meta: Mapping[str, str]) -> None:
    """Make the tables of a new project."""
    connection.executescript(f"BEGIN IMMEDIATE;\n{read_schema()}")
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID:d}")
    connection.execute(f"PRAGMA user_version = {_FORMAT:d}")
    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    connection.execute("COMMIT")
