"""The planes of Fung, Sandilya and Rao (KDD 2005): features kept and points classified correctly."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from benchmarks.page import Section, Table
from benchmarks.reproduce.svm_tree_genes import data_folder
from clearmargin.datasets import load_cleveland, load_ionosphere, load_wbc
from clearmargin.lp_svm import LPSVC

__all__ = ["FEDERALIST", "PLANES", "TRIED", "Plane", "counts", "section", "tables"]

# Not shipped: without the file the Federalist papers are left out.
FEDERALIST = data_folder() / "federalist.csv"
# All values of nu that were tried, with each of three scales.
NUS = tuple(2.0 ** (k / 20) for k in range(-200, 0))
SCALES: dict[str, Any] = {"as they are": None, "0..1": MinMaxScaler, "standardised": StandardScaler}
TRIED = f"{len(NUS) * len(SCALES)} for each data set"

Counts = tuple[int, int, int]


class Plane(NamedTuple):
    """A data set, the setting whose plane has the published counts, and these: features, correct of A-, and of A+."""

    name: str
    load: Any
    scale: str
    nu: float
    positive: str
    printed: Counts


def _load_federalist(*, return_X_y: bool, as_frame: bool) -> tuple[Any, Any]:
    assert return_X_y
    assert not as_frame
    with FEDERALIST.open(encoding="utf-8") as stream:
        rows = list(csv.reader(stream))[1:]
    X = np.array([[float(cell) for cell in row[:-1]] for row in rows])
    return X, np.array([row[-1] for row in rows])


PLANES = (
    Plane("Wisconsin breast cancer", load_wbc, "as they are", 0.0025, "benign", (5, 214, 435)),
    Plane("Ionosphere", load_ionosphere, "as they are", 0.0315, "good", (6, 70, 224)),
    Plane("Cleveland heart", load_cleveland, "0..1", 0.125, "num_le_1", (6, 53, 195)),
    Plane("Federalist papers", _load_federalist, "0..1", 0.125, "Hamilton", (6, 50, 52)),
)


def tables() -> Iterator[tuple[Plane, NDArray[np.float64], NDArray[np.int_]]]:
    """The data sets that are at hand: points as they are, and classes as 1 and -1."""
    for plane in PLANES:
        if plane.load is not _load_federalist or FEDERALIST.exists():
            X, y = plane.load(return_X_y=True, as_frame=False)
            yield plane, np.asarray(X, dtype=np.float64), np.where(y == plane.positive, 1, -1)


def scaled(X: NDArray[np.float64], scale: str) -> NDArray[np.float64]:
    """Points in one of the scales."""
    scaler = SCALES[scale]
    return X if scaler is None else np.asarray(scaler().fit_transform(X))


def counts(svm: LPSVC, X: NDArray[np.float64], signs: NDArray[np.int_]) -> Counts:
    """Features with a weight, and points of A- and of A+ that are classified correctly."""
    right = svm.predict(X) == signs
    features = int(np.count_nonzero(svm.coef_))
    return features, int(right[signs < 0].sum()), int(right[signs > 0].sum())


@cache
def hits() -> dict[str, int]:
    """For each data set, how many of the settings give the published counts."""
    found = {}
    for plane, X, signs in tables():
        found[plane.name] = 0
        for scale in SCALES:
            points = scaled(X, scale)
            planes = (LPSVC(nu).fit(points, signs) for nu in NUS)
            found[plane.name] += sum(counts(svm, points, signs) == plane.printed for svm in planes)
    return found


def section() -> Section:
    """Our counts beside the published ones."""
    rows = []
    agree = 0
    for plane, X, signs in tables():
        points = scaled(X, plane.scale)
        svm = LPSVC(plane.nu).fit(points, signs)
        ours = counts(svm, points, signs)
        agree += ours == plane.printed
        rows.append(
            [
                plane.name,
                plane.scale,
                f"{plane.nu:g}",
                " / ".join(map(str, ours)),
                " / ".join(map(str, plane.printed)),
                f"{svm.objective_:.5f}",
                f"{svm.gap_:.0e}",
                f"{hits()[plane.name]} of {len(NUS) * len(SCALES)}",
            ]
        )
    return Section(
        "Planes behind the rule tables",
        "Fung, Sandilya and Rao name neither nu nor the scaling of the features. These values of nu were searched so "
        "that the counts fit; they show that the tables are consistent with an exact 1-norm SVM, not that the "
        f"authors used them. The last column says how many of {len(NUS)} values of nu, {NUS[0]:.3g} to {NUS[-1]:.3g} "
        f"in steps of 3.5 %, on each of {len(SCALES)} scales ({', '.join(SCALES)}) give the published counts.",
        Table(
            [
                "data",
                "features",
                "nu",
                "ours: features / A- / A+ correct",
                "published",
                "objective",
                "gap",
                "settings that fit",
            ],
            rows,
        ),
        f"{agree} of {len(rows)} rows agree in all counts. A+ is benign, good, num <= 1, and Hamilton.",
    )
