"""Files of bytes that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from clearmargin.exceptions import FileInTheWayError

__all__ = ["write_bytes_atomically"]


def write_bytes_atomically(target: Path, content: bytes, *, overwrite: bool = False) -> Path:
    """Write a file so that readers see the old content or the new one, never a part.

    Parameters
    ----------
    target : Path
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
    ...     write_bytes_atomically(Path(folder) / "a.bin", b"12").read_bytes()
    b'12'
    """
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be written: there is no folder {target.parent}")
    in_the_way = FileInTheWayError(f"{target} exists already; pass overwrite=True to replace it")
    if target.exists() and not overwrite:
        raise in_the_way
    beside = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with beside.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if overwrite or not _is_linked(beside, target):
            beside.replace(target)
    except FileExistsError:
        raise in_the_way from None
    finally:
        beside.unlink(missing_ok=True)
    return target


def _is_linked(beside: Path, target: Path) -> bool:
    """Give the file its second name; unlike a rename this fails if the name is taken in the meantime."""
    try:
        target.hardlink_to(beside)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        return False
    return True
