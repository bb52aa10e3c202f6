"""One writing process a project: an advisory lock on a file beside it.

The lock is not on the project itself: a process that opens and closes a file loses all locks which SQLite holds on it
(so POSIX has it), and a database whose locks are lost can be destroyed.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from clearmargin.exceptions import ClearmarginError

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        # A byte far behind the end: what is locked cannot be read, and the number of the process should be.
        os.lseek(descriptor, 1 << 30, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class ProjectInUseError(ClearmarginError, BlockingIOError):
    """A project that another process, or another part of this one, has open for writing."""


class ProjectLock:
    """The right to write to a project, held until it is released or the process ends, however it ends."""

    def __init__(self, path: Path, descriptor: int):
        self._path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, project: Path) -> ProjectLock:
        """Take the lock of a project at once."""
        path = project.with_name(f"{project.name}-lock")
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _lock(descriptor)
                # Whoever had it before has perhaps removed the file after we had opened it.
                is_current = _is_same_file(descriptor, path)
            except (BlockingIOError, PermissionError) as error:
                owner = _process_in(descriptor)
                os.close(descriptor)
                raise ProjectInUseError(
                    f"{project} is open for writing already{owner}; close it there first, or use the page that is open"
                ) from error
            except OSError as error:
                os.close(descriptor)
                raise OSError(
                    error.errno,
                    "this folder has no locks; put the project on a local disk",
                    str(project),
                ) from error
            if is_current:
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"{os.getpid()}\n".encode("ascii"))
                return cls(path, descriptor)
            os.close(descriptor)

    def release(self) -> None:
        """Give the lock back; a second time does nothing."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        # While it is ours: nobody else can hold a lock on the file that is removed here. Windows removes no open file.
        with contextlib.suppress(OSError):
            self._path.unlink()
        os.close(descriptor)


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _process_in(descriptor: int) -> str:
    """Return the process that wrote its number into a lock, as a part of a sentence."""
    with contextlib.suppress(OSError, ValueError):
        return f" (process {int(os.read(descriptor, 32))})"
    return ""
