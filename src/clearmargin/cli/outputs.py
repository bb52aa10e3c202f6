"""Files that commands write: claimed before the work starts, written whole at its end."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clearmargin.cli.console import Console
from clearmargin.exceptions import DataError, FileInTheWayError
from clearmargin.rules.file_writing import is_in_the_way, writing_to


def claim(path: str | None, arguments: argparse.Namespace, suffixes: Sequence[str]) -> Path | None:
    """Make sure, before any work is done, that a file can be written in the end."""
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


# Whatever is written by others, such as figures and tables, is said in the same words.
writing = writing_to


def save_model_file(
    model: Any, path: Path | None, arguments: argparse.Namespace, console: Console
) -> None:
    """Write a model if its file was claimed, and say so below the result."""
    if path is None:
        return
    from clearmargin.models import save_model

    with writing(path):
        save_model(model, path, overwrite=arguments.force)
    console.wrote(f"The model is in {path}.")
