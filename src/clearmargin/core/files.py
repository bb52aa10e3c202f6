"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from clearmargin.exceptions import FileInTheWayError

__all__ = ["write_text_atomically"]


def write_text_atomically(
    path: str | os.PathLike[str], text: str, *, overwrite: bool = False
) -> Path:
    """Write a text file so that readers see the old content or the new one, never a part.

    The text goes to a file beside the target, is flushed to the disk and renamed. An existing file is left
    alone unless `overwrite` is set.

    Parameters
    ----------
    path : path
        Where to write.
    text : str
        The content; written as UTF-8 with line feeds.
    overwrite : bool, default False
        Whether an existing file may be replaced.

    Returns
    -------
    Path
        The file written.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file in it")
    if target.exists() and not overwrite:
        raise _in_the_way(target)
    handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(beside).chmod(_usual_mode())
        _put_in_place(Path(beside), target, overwrite=overwrite)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(beside).unlink()
        raise
    _flush_folder(target.parent)
    return target


def _put_in_place(beside: Path, target: Path, *, overwrite: bool) -> None:
    if overwrite:
        beside.replace(target)
        return
    try:
        # Unlike a rename, a link fails if the target has appeared in the meantime.
        target.hardlink_to(beside)
    except FileExistsError:
        raise _in_the_way(target) from None
    except OSError:  # a file system without hard links
        beside.replace(target)
        return
    beside.unlink()


def _in_the_way(target: Path) -> FileInTheWayError:
    return FileInTheWayError(f"{target} exists already; pass overwrite=True to replace it")


def _usual_mode() -> int:
    """The mode a newly created file would have; temporary files are made private."""
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def _flush_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
