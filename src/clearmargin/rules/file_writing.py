"""Read files of text and of JSON, or say what is wrong with them; write files whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clearmargin.exceptions import (
    FileDamagedError,
    FileInTheWayError,
    FileNotWrittenError,
    InvalidValueError,
)

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
        if (
            "\\ud" in text.lower()
        ):  # half of a surrogate pair, which JSON can write and nothing else can
            json.dumps(data, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:  # also numbers too long and nests too deep
        raise FileDamagedError(f"{path} is not valid JSON: {error}; {_ADVICE}") from error
    return data


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice!r} stands twice in one object")
    return entry


def json_text(document: Any, indent: int | None = 1) -> str:
    r"""Write plain data as the text of a JSON file, in the form that all our files have."""
    return json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def write_text_atomically(
    path: str | os.PathLike[str], text: str, *, overwrite: bool = False
) -> Path:
    """Write a text file so that readers see the old content or the new one, never a part."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        before = text[max(0, error.start - 20) : error.start]
        raise InvalidValueError(
            f"{path} cannot be written: UTF-8 cannot hold what follows {before!r} ({error.reason}); correct that name "
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
    real = Path(os.path.realpath(target)) if target.is_symlink() else target
    if real.is_symlink():
        raise OSError(errno.ELOOP, "this link leads to itself", str(target))
    if not real.parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be written: there is no folder {real.parent}")
    before = real.stat() if real.exists() else None
    if before is not None and not stat.S_ISREG(before.st_mode):  # a pipe, say
        with writing_to(target):
            real.write_bytes(content)
        return target
    if before is not None and not os.access(real, os.W_OK):
        raise PermissionError(f"{target} cannot be written: the file is write-protected")
    beside = real.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with writing_to(target):
            # A new file gets the mode that the user's umask asks for, or that of the file it replaces.
            with beside.open("xb") as stream:
                if before is not None:
                    beside.chmod(stat.S_IMODE(before.st_mode))
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            _put_in_place(beside, real, overwrite=overwrite)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    # Make the rename itself durable, where the system can.
    with contextlib.suppress(OSError):
        descriptor = os.open(real.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
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


def _put_in_place(beside: Path, target: Path, *, overwrite: bool) -> None:
    if not overwrite:
        try:
            # Unlike a rename, a link fails if the target has appeared in the meantime.
            target.hardlink_to(beside)
        except FileExistsError:
            raise _in_the_way(target) from None
        except OSError:  # a file system without hard links
            pass
        else:
            beside.unlink()
            return
    beside.replace(target)


def _in_the_way(target: Path) -> FileInTheWayError:
    return FileInTheWayError(f"{target} exists already; pass overwrite=True to replace it")
