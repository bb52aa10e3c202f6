"""Loaders of the data sets that come with clearmargin."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

import numpy as np

from clearmargin.datasets.bunch import Contents, Loaded
from clearmargin.datasets.info import CLEVELAND, IONOSPHERE, PIMA, WBC
from clearmargin.exceptions import InvalidValueError

if TYPE_CHECKING:
    from clearmargin.datasets.info import DatasetInfo


def load_wbc(*, return_X_y: bool = False, as_frame: bool = True) -> Loaded:
    """Load the Wisconsin breast cancer data (original): 683 tumours, nine scores from 1 to 10."""
    return _load(WBC, "class").deliver(return_X_y=return_X_y, as_frame=as_frame)


def load_ionosphere(*, return_X_y: bool = False, as_frame: bool = True) -> Loaded:
    """Load the ionosphere data: 351 radar returns, 17 complex numbers each."""
    return _load(IONOSPHERE, "class").deliver(return_X_y=return_X_y, as_frame=as_frame)


def load_cleveland(
    target: Literal["fung", "disease"] = "fung",
    *,
    return_X_y: bool = False,
    as_frame: bool = True,
) -> Loaded:
    """Load the Cleveland heart data: 297 patients, thirteen findings."""
    return _load(CLEVELAND, target).deliver(return_X_y=return_X_y, as_frame=as_frame)


def load_pima(*, return_X_y: bool = False, as_frame: bool = True) -> Loaded:
    """Load the Pima Indians diabetes data: 768 women, eight findings; zeros stand for missing."""
    return _load(PIMA, "class").deliver(return_X_y=return_X_y, as_frame=as_frame)


def _load(info: DatasetInfo, target: str) -> Contents:
    if target not in info.targets:
        allowed = " or ".join(repr(name) for name in info.targets)
        raise InvalidValueError(f"target = {target!r}; it must be {allowed}")
    class_of = info.targets[target]
    text = (files("clearmargin.datasets") / "data" / info.filename).read_text(encoding="utf-8")
    _, *rows = csv.reader(text.splitlines())
    return Contents(
        name=info.name,
        features=info.features,
        X=np.array([row[:-1] for row in rows], dtype=np.float64),
        y=np.array([class_of[row[-1]] for row in rows], dtype=object),
        target_names=tuple(sorted(set(class_of.values()))),
        citation=info.citation,
        licence=info.licence,
        filename=info.filename,
    )
