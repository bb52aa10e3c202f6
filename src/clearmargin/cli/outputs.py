"""Files that commands write: claimed before the work starts, written whole at its end."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from clearmargin.exceptions import DataError, FileInTheWayError
from clearmargin.rules.files import is_in_the_way

__all__ = ["add_force", "claim", "writing"]


def add_force(parser: argparse.ArgumentParser) -> None:
    """Let the user allow that files are replaced."""
    parser.add_argument("--force", action="store_true", help="replace files that exist already")


def claim(path: str | None, arguments: argparse.Namespace, suffixes: Sequence[str]) -> Path | None:
    """Make sure, before any work is done, that a file can be written in the end.

    Parameters
    ----------
    path : str or None
        The file, if one was asked for.
    arguments : Namespace
        With `force`.
    suffixes : sequence of str
        How its name may end; any if there are none.

    Returns
    -------
    Path or None
        The file.

    Examples
    --------
    >>> claim("rules.txt", argparse.Namespace(force=False), [".json", ".rules"])
    Traceback (most recent call last):
    clearmargin.exceptions.DataError: rules.txt: the name of this file must end in .json or .rules
    """
    if path is None:
        return None
    target = Path(path)
    if suffixes and target.suffix.lower() not in suffixes:
        raise DataError(f"{path}: the name of this file must end in {' or '.join(suffixes)}")
    if target.is_dir():
        raise DataError(f"{path} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise DataError(f"{path} cannot be written: there is no folder {target.parent}")
    if is_in_the_way(target) and not arguments.force:
        raise FileInTheWayError(f"{path} exists already; add --force to replace it")
    return target


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file in errors of the system, such as a full disk, which know only a part of it or nothing."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
