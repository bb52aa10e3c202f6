"""Reading model files, without anything that trains models."""

from __future__ import annotations

import os
from pathlib import Path

from clearmargin.exceptions import FileDamagedError, FileTooNewError, InvalidValueError
from clearmargin.models.model_document import read_model
from clearmargin.models.planes import Planes
from clearmargin.rules.reading import read_json

__all__ = ["check_model_name", "load_planes", "read_json"]


def load_planes(path: str | os.PathLike[str]) -> Planes:
    """Read the planes of a model file, and no more than that.

    Parameters
    ----------
    path : path
        What `save_model` wrote.

    Returns
    -------
    Planes
        They predict; `load_model` makes an estimator of them.

    Examples
    --------
    >>> load_planes("model.txt")
    Traceback (most recent call last):
    clearmargin.exceptions.InvalidValueError: model.txt: the name of a model file ends in .json
    """
    data = read_json(check_model_name(path))
    try:
        return read_model(data)
    except (FileDamagedError, FileTooNewError) as error:
        raise type(error)(f"{path}: {error}") from error


def check_model_name(path: str | os.PathLike[str]) -> Path:
    """Insist on the ending of a model file."""
    target = Path(path)
    if target.suffix.lower() != ".json":
        raise InvalidValueError(f"{path}: the name of a model file ends in .json")
    return target
