"""Data sets in a training and a held-out part, for the benchmark of certificates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.quality.data import data_folder
from clearmargin.datasets import load_cleveland, load_ionosphere, load_pima, load_wbc

__all__ = ["FILES", "MOST_TRAINED", "PACKAGED", "Problem", "load_problems"]

PACKAGED: dict[str, Callable[..., Any]] = {
    "WBC": load_wbc,
    "Pima": load_pima,
    "Ionosphere": load_ionosphere,
    "Cleveland": load_cleveland,
}
FILES = {
    "Australian": "australian_credit.csv",
    "Spambase": "spambase.csv",
    "Adult": "adult.csv.gz",
}
# A training part larger than this is cut: support vectors, and with them time, grow with it.
MOST_TRAINED = 1000


@dataclass(frozen=True)
class Problem:
    """A data set in a training and a held-out part."""

    name: str
    X: pd.DataFrame
    y: pd.Series[Any]
    X_held: pd.DataFrame
    y_held: pd.Series[Any]

    @classmethod
    def split(cls, name: str, X: pd.DataFrame, y: pd.Series[Any]) -> Problem:
        """Hold 30 % of complete rows out; held-out rows have no category that training has not seen."""
        X, X_held, y, y_held = train_test_split(
            X, y, test_size=0.3, random_state=0, stratify=y.astype(str)
        )
        if len(X) > MOST_TRAINED:
            X, _, y, _ = train_test_split(X, y, train_size=MOST_TRAINED, random_state=0, stratify=y)
        known = np.ones(len(X_held), dtype=np.bool_)
        for column in _named(X):
            known &= X_held[column].isin(X[column].unique()).to_numpy()
        return cls(name, X, y, X_held[known], y_held[known])

    def scaler(self) -> Any:
        """Numbers to unit variance, names to 0/1 columns."""
        named = _named(self.X)
        if not named:
            return StandardScaler()
        numbers = [column for column in self.X.columns if column not in named]
        encoder = OneHotEncoder(sparse_output=False)
        return ColumnTransformer(
            [("numbers", StandardScaler(), numbers), ("names", encoder, named)]
        )


def _named(X: pd.DataFrame) -> list[str]:
    return [str(column) for column in X.columns if not pd.api.types.is_numeric_dtype(X[column])]


def load_problems(names: Sequence[str]) -> tuple[list[Problem], list[str]]:
    """The problems at hand, and the files of those that are not."""
    found, missing, folder = [], [], data_folder()
    for name in names:
        if name in PACKAGED:
            X, y = PACKAGED[name](return_X_y=True)
        elif (folder / FILES[name]).exists():
            X = pd.read_csv(folder / FILES[name])
            y = X.pop("target")
        else:
            missing.append(FILES[name])
            continue
        whole = X.notna().all(axis=1).to_numpy()
        labels = pd.Series(np.asarray(y)[whole])
        found.append(Problem.split(name, X[whole], labels))
    return found, missing
