"""Read files of text and of JSON, or say what is wrong with them; write files whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from clearmargin.exceptions import (
    FileDamagedError,
    FileInTheWayError,
    FileNotWrittenError,
    InvalidValueError,
)

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed
    fcntl = None  # type: ignore[assignment]

# How files begin that people take for text: compressed ones, archives (also .xlsx), pickles, pictures.
_MAGIC_NUMBERS = {
    b"\x1f\x8b": "is compressed (gzip); unpack it first",
    b"BZh": "is compressed (bzip2); unpack it first",
    b"\xfd7zXZ": "is compressed (xz); unpack it first",
    b"PK\x03\x04": "is a zip archive or a spreadsheet; unpack it, or save the table as text",
    b"\x80\x04": "is a Python pickle, which is never opened here; save the model with save_model",
    b"\x80\x05": "is a Python pickle, which is never opened here; save the model with save_model",
    b"\x89PNG": "is a picture",
    b"%PDF": "is a PDF",
}
_ADVICE = "take another copy of the file, or save it again"


def read_text(path: str | os.PathLike[str]) -> str:
    r"""Read a file of UTF-8 text; a byte-order mark, which some editors put at its start, is left out."""
    content = Path(path).read_bytes()
    for start, problem in _MAGIC_NUMBERS.items():
        if content.startswith(start):
            raise FileDamagedError(f"{path} is not UTF-8 text: it {problem}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileDamagedError(f"{path} is not UTF-8 text: {error}; {_ADVICE}") from error
    # As files opened for text do it.
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file, and say which one it is if that fails."""
    text = read_text(path)
    if not text.strip("\0 \n\t"):
        raise FileDamagedError(f"{path} is not valid JSON: it is empty; {_ADVICE}")
    try:
        data = json.loads(text, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:  # also numbers too long and nests too deep
        raise FileDamagedError(f"{path} is not valid JSON: {error}; {_ADVICE}") from error
    if "\\ud" in text or "\\uD" in text:
        _refuse_half_characters(path, data)
    return data


def _refuse_half_characters(path: str | os.PathLike[str], data: Any) -> None:
    """Raise if a text has half of a surrogate pair, which JSON can write and nothing else can."""
    try:
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start]).strip("'")
        raise FileDamagedError(
            f"{path} is not valid JSON: a text in it has {half}, one half of a surrogate pair without the other; "
            f"{_ADVICE}"
        ) from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for name, value in pairs:
        if name in entry:
            raise ValueError(f"the name {name!r} stands twice in one object")
        entry[name] = value
    return entry


def json_text(document: Any, indent: int | None = 1) -> str:
    r"""Write plain data as the text of a JSON file, in the form that all our files have."""
    return json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


_PART = re.compile(r"\.[0-9a-f]{16}\.part")
# A file that is being written is locked; the time covers the moment before it is.
_LEFTOVER_SECONDS = 60.0


def write_text_atomically(
    path: str | os.PathLike[str], text: str, *, overwrite: bool = False
) -> Path:
    """Write a text file so that readers see the old content or the new one, never a part."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = ascii(text[error.start]).strip("'")
        raise InvalidValueError(
            f"{path} cannot be written: the text holds half of a character ({half}, one of a surrogate "
            f"pair) after {text[max(0, error.start - 20) : error.start]!r}, which UTF-8 cannot hold; correct that name "
            "or value"
        ) from None
    return write_bytes_atomically(path, content, overwrite=overwrite)


def write_bytes_atomically(
    path: str | os.PathLike[str], content: bytes, *, overwrite: bool = False
) -> Path:
    """Write a file of bytes so that readers see the old content or the new one, never a part."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file in it")
    if is_in_the_way(target) and not overwrite:
        raise _in_the_way(target)
    real = _followed(target)
    if not real.parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be written: there is no folder {real.parent}")
    before = real.stat() if real.exists() else None
    if before is not None and not stat.S_ISREG(before.st_mode):
        with writing_to(target):
            real.write_bytes(content)
        return target
    if before is not None and not os.access(real, os.W_OK):
        raise PermissionError(f"{target} cannot be written: the file is write-protected")
    _remove_leftovers(real.parent)
    beside = real.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with writing_to(target), _exclusively(beside, before) as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        with writing_to(target):
            _put_in_place(beside, real, overwrite=overwrite)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    _flush_folder(real.parent)
    return target


# What people can do, where the words of the system do not say it.
_REASONS = {
    errno.EROFS: "the place is read-only; name another one",
    errno.ENOSPC: "the disk is full; make room, or name another place",
}


@contextlib.contextmanager
def writing_to(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say in words why the system does not write a file; its own errors name a part of it, or nothing."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # in words already
            raise
        reason = _REASONS.get(error.errno, str(error.strerror).lower())
        kind = PermissionError if isinstance(error, PermissionError) else FileNotWrittenError
        raise kind(f"{path} cannot be written: {reason}") from error


def is_in_the_way(target: Path) -> bool:
    """Tell whether writing would replace something: a file, or a link, also one that leads nowhere."""
    return os.path.lexists(target) and (target.is_file() or not target.exists())


def _followed(target: Path) -> Path:
    """Return the file that a path leads to, through all links."""
    real = Path(os.path.realpath(target)) if target.is_symlink() else target
    if real.is_symlink():
        raise OSError(errno.ELOOP, "this link leads to itself", str(target))
    return real


@contextlib.contextmanager
def _exclusively(path: Path, before: os.stat_result | None) -> Iterator[IO[bytes]]:
    """Open a new file, locked while it is open, with the permissions and the owner of what it will replace."""
    # Opened for exclusive creation, a new file gets the mode that the user's umask asks for.
    with path.open("xb") as stream:
        if before is not None:
            # First for nobody else, so that what was private stays so at every moment.
            path.chmod(0o600)
            if hasattr(os, "chown"):
                with contextlib.suppress(OSError):
                    os.chown(path, before.st_uid, before.st_gid)
            path.chmod(stat.S_IMODE(before.st_mode))
        if fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield stream


def _remove_leftovers(folder: Path) -> None:
    """Remove the files of writers that were interrupted so hard that they could not do it themselves."""
    try:
        parts = [path for path in folder.iterdir() if _PART.fullmatch(path.name)]
    except OSError:  # a folder that may be written and not read
        return
    for part in parts:
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > _LEFTOVER_SECONDS and not _is_locked(part):
                part.unlink()


def _is_locked(part: Path) -> bool:
    if fcntl is None:
        return False
    with part.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


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
