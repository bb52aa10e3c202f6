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

__all__ = ["load_cleveland", "load_ionosphere", "load_pima", "load_wbc"]


def load_wbc(*, return_X_y: bool = False, as_frame: bool = True) -> Loaded:
    """Load the Wisconsin breast cancer data (original): 683 tumours, nine scores from 1 to 10.

    Parameters
    ----------
    return_X_y : bool
        Return ``(X, y)`` instead of a Bunch.
    as_frame : bool
        X as a DataFrame and y as a Series (needs pandas), or both as arrays.

    Returns
    -------
    Bunch or (X, y)
        The Bunch has data, target, frame, feature_names, target_names, DESCR, filename, units,
        integer, citation and licence. Classes: benign (444), malignant (239).

    Examples
    --------
    >>> X, y = load_wbc(return_X_y=True)
    >>> X.shape, y.value_counts().to_dict()
    ((683, 9), {'benign': 444, 'malignant': 239})
    """
    return _load(WBC, "class").deliver(return_X_y=return_X_y, as_frame=as_frame)


def load_ionosphere(*, return_X_y: bool = False, as_frame: bool = True) -> Loaded:
    """Load the ionosphere data: 351 radar returns, 17 complex numbers each.

    Parameters
    ----------
    return_X_y : bool
        Return ``(X, y)`` instead of a Bunch.
    as_frame : bool
        X as a DataFrame and y as a Series (needs pandas), or both as arrays.

    Returns
    -------
    Bunch or (X, y)
        The Bunch has the same entries as that of `load_wbc`. Classes: bad (126), good (225).

    Examples
    --------
    >>> X, y = load_ionosphere(return_X_y=True, as_frame=False)
    >>> X.shape, int((y == "good").sum())
    ((351, 34), 225)
    """
    return _load(IONOSPHERE, "class").deliver(return_X_y=return_X_y, as_frame=as_frame)


def load_cleveland(
    target: Literal["fung", "disease"] = "fung",
    *,
    return_X_y: bool = False,
    as_frame: bool = True,
) -> Loaded:
    """Load the Cleveland heart data: 297 patients, thirteen findings.

    Parameters
    ----------
    target : {"fung", "disease"}
        Where to cut the grade of the disease, which goes from 0 to 4. ``"fung"``: num_le_1 (214)
        against num_ge_2 (83), as in the tables of Fung, Sandilya and Rao. ``"disease"``: no_disease
        (grade 0, 160) against disease (137), as nearly everywhere else.
    return_X_y : bool
        Return ``(X, y)`` instead of a Bunch.
    as_frame : bool
        X as a DataFrame and y as a Series (needs pandas), or both as arrays.

    Returns
    -------
    Bunch or (X, y)
        The Bunch has the same entries as that of `load_wbc`.

    Examples
    --------
    >>> load_cleveland("disease").target.value_counts().to_dict()
    {'no_disease': 160, 'disease': 137}
    >>> load_cleveland().units["trestbps"]
    'mm Hg'
    """
    return _load(CLEVELAND, target).deliver(return_X_y=return_X_y, as_frame=as_frame)


def load_pima(*, return_X_y: bool = False, as_frame: bool = True) -> Loaded:
    """Load the Pima Indians diabetes data: 768 women, eight findings; zeros stand for missing.

    Parameters
    ----------
    return_X_y : bool
        Return ``(X, y)`` instead of a Bunch.
    as_frame : bool
        X as a DataFrame and y as a Series (needs pandas), or both as arrays.

    Returns
    -------
    Bunch or (X, y)
        The Bunch has the same entries as that of `load_wbc`. Classes: tested_negative (500),
        tested_positive (268).

    Examples
    --------
    >>> pima = load_pima()
    >>> pima.data.shape, pima.units["glucose"]
    ((768, 8), 'mg/dl')
    >>> int((pima.data["insulin"] == 0).sum())
    374
    """
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
