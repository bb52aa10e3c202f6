"""The data sets of the comparison, with their categories as 0/1 columns for everyone alike.

What to choose is said by tables that had no part in tuning (`JUDGED`): those of KEEL among the judging tables of
`benchmarks.public_tables`, by name. The data sets of the package, on which constants were chosen, can be asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.public_tables import judging_tables
from clearmargin.datasets import load_cleveland, load_ionosphere, load_pima, load_wbc

__all__ = ["JUDGED", "SETS", "DataSet", "LeftOut", "data_folder", "encoded", "load"]

Array = NDArray[Any]
JUDGED = (
    *("bands", "breast", "bupa", "mammographic", "monk-2", "new-thyroid1", "saheart"),
    *("tic-tac-toe", "vehicle2"),
)
# Australian: the nominal columns that the documentation of Statlog names; the other codes are 0/1 already.
_AUSTRALIAN = ("A4", "A5", "A6", "A12")
# Cleveland: codes without a natural order; the slope and the number of vessels have one.
_CLEVELAND = ("cp", "restecg", "thal")


@dataclass(frozen=True, eq=False)
class DataSet:
    """A table of numbers with two classes.

    `most_train` is the number of training rows that a fold keeps, drawn in the proportion of the classes; None keeps
    all of them. `most_test` is the same for held-out rows.
    """

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    names: tuple[str, ...]
    classes: tuple[str, str]
    n_encoded: int = 0
    most_train: int | None = None
    most_test: int | None = None


@dataclass(frozen=True)
class LeftOut:
    """A data set that is not at hand, and why."""

    name: str
    reason: str


def data_folder() -> Path:
    """Where files are looked for: CLEARMARGIN_DATA, else shared/data beside the project."""
    given = os.environ.get("CLEARMARGIN_DATA")
    return Path(given) if given else Path(__file__).resolve().parents[3] / "shared" / "data"


def encoded(frame: pd.DataFrame, categories: Sequence[str]) -> tuple[pd.DataFrame, int]:
    """The table with a 0/1 column for each category, all zeros where it is missing; and how many such columns."""
    if not categories:
        return frame.astype(np.float64), 0
    plain = frame.drop(columns=list(categories))
    codes = pd.get_dummies(frame[list(categories)].astype("object"), prefix_sep="=", dtype=float)
    return pd.concat([plain.astype(np.float64), codes], axis=1), codes.shape[1]


def _data_set(
    name: str,
    frame: pd.DataFrame,
    target: Any,
    categories: Sequence[str] = (),
    **limits: int | None,
) -> DataSet:
    classes, y = np.unique(np.asarray(target).astype(str), return_inverse=True)
    table, n_encoded = encoded(frame, categories)
    return DataSet(
        name,
        table.to_numpy(),
        y.astype(np.int64),
        tuple(map(str, table.columns)),
        (str(classes[0]), str(classes[1])),
        n_encoded,
        **limits,
    )


def _shipped(
    name: str, loader: Callable[..., Any], categories: Sequence[str] = ()
) -> Callable[[], DataSet]:
    def read() -> DataSet:
        frame, target = loader(return_X_y=True)
        return _data_set(name, frame, target, categories)

    return read


def _from_file(
    name: str,
    file: str,
    categories: Sequence[str] | None = (),
    **limits: int | None,
) -> Callable[[], DataSet | LeftOut]:
    def read() -> DataSet | LeftOut:
        path = data_folder() / file
        if not path.exists():
            where = (
                "in the folder that CLEARMARGIN_DATA names, nor in shared/data beside the project"
            )
            return LeftOut(name, f"{file} is not {where}")
        frame = pd.read_csv(path)
        target = frame.pop("target")
        texts = list(frame.select_dtypes(exclude="number").columns)
        return _data_set(name, frame, target, texts if categories is None else categories, **limits)

    return read


def _judged(name: str) -> Callable[[], DataSet]:
    """A table of KEEL on the judging list; one that is not there is no stranger."""

    def read() -> DataSet:
        listed = {table.name: table for table in judging_tables()}
        X, y = listed[f"keel {name}"].load()
        texts = list(X.select_dtypes(exclude="number").columns)
        return _data_set(name.capitalize(), X, y, texts)

    return read


def _cleveland(*, return_X_y: bool) -> Any:
    return load_cleveland("disease", return_X_y=return_X_y)


SETS: dict[str, Callable[[], DataSet | LeftOut]] = {
    **{name: _judged(name) for name in JUDGED},
    "wbc": _shipped("WBC", load_wbc),
    "pima": _shipped("Pima", load_pima),
    "ionosphere": _shipped("Ionosphere", load_ionosphere),
    "cleveland": _shipped("Cleveland", _cleveland, _CLEVELAND),
    "australian": _from_file("Australian", "australian_credit.csv", _AUSTRALIAN),
    # More rows make the kernel machine, and whoever asks it often, so slow that repetitions take hours.
    "spambase": _from_file("Spambase", "spambase.csv", most_train=1_000, most_test=1_000),
    "adult": _from_file("Adult", "adult.csv.gz", None, most_train=1_000, most_test=1_000),
}


def load(names: Sequence[str]) -> tuple[list[DataSet], list[LeftOut]]:
    """The sets that are at hand, and those that are not."""
    found = [SETS[name]() for name in names]
    return (
        [data for data in found if isinstance(data, DataSet)],
        [data for data in found if isinstance(data, LeftOut)],
    )
