"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from clearmargin.exceptions import FileInTheWayError

__all__ = ["write_bytes_atomically", "write_text_atomically"]


def write_text_atomically(
    path: str | os.PathLike[str], text: str, *, overwrite: bool = False
) -> Path:
    """Write a text file so that readers see the old content or the new one, never a part.

    An existing file is left alone unless `overwrite` is set.

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

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text_atomically(f"{folder}/a.txt", "12").read_text()
    '12'
    """
    return write_bytes_atomically(path, text.encode("utf-8"), overwrite=overwrite)


def write_bytes_atomically(
    path: str | os.PathLike[str], content: bytes, *, overwrite: bool = False
) -> Path:
    """Write a file of bytes so that readers see the old content or the new one, never a part.

    The content goes to a file beside the target, is flushed to the disk and renamed. An existing file is left
    alone unless `overwrite` is set.

    Parameters
    ----------
    path : path
        Where to write.
    content : bytes
        The content.
    overwrite : bool, default False
        Whether an existing file may be replaced.

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes_atomically(f"{folder}/a.bin", b"12").read_bytes()
    b'12'
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be written: there is no folder {target.parent}")
    if target.exists() and not overwrite:
        raise _in_the_way(target)
    # Opened for exclusive creation, a file gets the mode that the user's umask asks for.
    beside = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with beside.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        _put_in_place(beside, target, overwrite=overwrite)
    except BaseException:
        beside.unlink(missing_ok=True)
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


def _flush_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
