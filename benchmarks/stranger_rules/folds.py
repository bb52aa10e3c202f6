"""Folds of a stranger's table, as a table with categories and missing values and as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.strangers import Stranger

__all__ = ["N_FOLDS", "Part", "encoder_of", "parts_of"]

N_FOLDS, SEED = 5, 2026
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Part:
    """One fold of one table.

    Parameters
    ----------
    table : str
        Its name.
    number : int
        That of the fold.
    X_train, X_test : DataFrame
        The table as it is, with texts for categories and missing values.
    y_train, y_test : ndarray of int
        1 for the second class by name.
    classes : tuple of str
        Both classes.
    numbers_train, numbers_test : ndarray
        The same rows for whoever needs numbers: categories as 0/1 columns, missing values as the median or the most
        frequent category of the training rows.
    names : tuple of str
        Columns of the numbers.
    """

    table: str
    number: int
    X_train: pd.DataFrame
    y_train: IntArray
    X_test: pd.DataFrame
    y_test: IntArray
    classes: tuple[str, str]
    numbers_train: FloatArray
    numbers_test: FloatArray
    names: tuple[str, ...]

    @property
    def seed(self) -> int:
        """The seed of everything that is drawn in this fold."""
        return SEED + self.number


def encoder_of(X: pd.DataFrame, *, scale: bool) -> ColumnTransformer:
    """Make the first step of a pipeline that turns a table into numbers.

    Parameters
    ----------
    X : DataFrame
        All rows, which name all categories.
    scale : bool
        Whether numbers are standardised as well.

    Returns
    -------
    ColumnTransformer
        Not fitted.
    """
    numbers = [name for name in X.columns if X[name].dtype.kind in "iuf"]
    texts = [name for name in X.columns if name not in numbers]
    values = [sorted(X[name].dropna().unique()) for name in texts]
    steps: list[Any] = [SimpleImputer(strategy="median", keep_empty_features=True)]
    steps += [StandardScaler()] if scale else []
    hot = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(categories=values, sparse_output=False),
    )
    return ColumnTransformer(
        [("numbers", make_pipeline(*steps), numbers), ("texts", hot, texts)],
        verbose_feature_names_out=False,
    )


def parts_of(stranger: Stranger, numbers: Sequence[int]) -> list[Part]:
    """Cut a table into its folds and keep some of them.

    Parameters
    ----------
    stranger : Stranger
        The table.
    numbers : sequence of int
        Folds, counted from 0.

    Returns
    -------
    list of Part
        In this order.
    """
    X, labels = stranger.load()
    classes = np.unique(labels)
    y = (labels == classes[1]).astype(np.int64)
    splits = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=SEED).split(X, y))
    found = []
    for number in numbers:
        train, test = splits[number]
        X_train, X_test = X.iloc[train].reset_index(drop=True), X.iloc[test].reset_index(drop=True)
        encoder = encoder_of(X, scale=False).fit(X_train)
        found.append(
            Part(
                stranger.name,
                number,
                X_train,
                y[train],
                X_test,
                y[test],
                (str(classes[0]), str(classes[1])),
                np.asarray(encoder.transform(X_train), dtype=np.float64),
                np.asarray(encoder.transform(X_test), dtype=np.float64),
                tuple(str(name) for name in encoder.get_feature_names_out()),
            )
        )
    return found
