"""Tables 1 and 2 of Fung, Sandilya and Rao (KDD 2005): rules from hyperplanes, beside the published numbers."""

from __future__ import annotations

import csv
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MinMaxScaler

from benchmarks.page import Section, Table
from benchmarks.reproduce.fung_planes import PLANES
from clearmargin.lp_svm import LPSVC
from clearmargin.plane_rules import RuleExtractor

# problems, rules, coverage (%) and seconds of A- and A+, as printed
Printed = tuple[float, float, float, float]
PUBLISHED: dict[str, dict[str, tuple[Printed, Printed]]] = {
    "Lung CAD": {
        "volume": ((33, 18, 97.6, 0.14), (43, 20, 100.0, 0.17)),
        "coverage": ((5, 4, 98.4, 0.09), (10, 9, 94.1, 0.16)),
    },
    "Wisconsin breast cancer": {
        "volume": ((53, 28, 100.0, 0.23), (12, 9, 100.0, 0.11)),
        "coverage": ((10, 7, 98.1, 0.17), (3, 3, 99.8, 0.14)),
    },
    "Ionosphere": {
        "volume": ((46, 19, 100.0, 0.17), (29, 11, 100.0, 0.19)),
        "coverage": ((11, 7, 87.2, 0.17), (5, 2, 98.2, 0.09)),
    },
    "Cleveland heart": {
        "volume": ((102, 10, 79.3, 0.30), (68, 22, 98.4, 0.20)),
        "coverage": ((32, 7, 81.1, 0.33), (11, 11, 97.4, 0.19)),
    },
    "Federalist papers": {
        "volume": ((22, 4, 90.0, 0.17), (23, 6, 92.0, 0.19)),
        "coverage": ((2, 2, 100.0, 0.08), (13, 11, 96.2, 0.25)),
    },
}
WAYS: list[tuple[str, str, dict[str, Any]]] = [
    ("volume, to the letter", "volume", {"criterion": "volume", "tighten": False}),
    (
        "volume, to the letter, singletons too",
        "volume",
        {"criterion": "volume", "tighten": False, "min_coverage": 1},
    ),
    ("volume", "volume", {"criterion": "volume"}),
    ("coverage-lp", "coverage", {"criterion": "coverage-lp"}),
    ("coverage-lp-feature", "coverage", {"criterion": "coverage-lp-feature"}),
    ("coverage-lp-separable", "coverage", {"criterion": "coverage-lp-separable"}),
    ("coverage-exact", "coverage", {"criterion": "coverage-exact"}),
    ("coverage", "coverage", {"criterion": "coverage"}),
    ("coverage, overlapping", "coverage", {"criterion": "coverage", "disjoint": False}),
]
# The way of each table that is nearest to its letter.
NEAREST = (("Table 1", "volume, to the letter", "volume"), ("Table 2", "coverage-lp", "coverage"))
FEDERALIST = Path(__file__).parents[3] / "shared" / "data" / "federalist.csv"

Matched = tuple[str, NDArray[np.float64], NDArray[np.int_], LPSVC]


def matched_planes() -> list[Matched]:
    """The data sets with the planes whose counts agree with the paper's."""
    matched: list[Matched] = []
    for name, load, scaled, nu, positive, _ in PLANES:
        X, y = load(return_X_y=True, as_frame=False)
        matched.append(_train(name, np.asarray(X, dtype=np.float64), y == positive, scaled, nu))
    if FEDERALIST.exists():
        with FEDERALIST.open(encoding="utf-8") as stream:
            rows = list(csv.reader(stream))[1:]
        X = np.array([[float(cell) for cell in row[:-1]] for row in rows])
        is_hamilton = np.array([row[-1] == "Hamilton" for row in rows])
        matched.append(_train("Federalist papers", X, is_hamilton, scaled=True, nu=0.125))
    return matched


def _train(name: str, X: Any, positive: Any, scaled: bool, nu: float) -> Matched:
    points = MinMaxScaler().fit_transform(X) if scaled else X
    signs = np.where(positive, 1, -1)
    return name, points, signs, LPSVC(nu).fit(points, signs)


@dataclass(frozen=True)
class Cell:
    """What one way found for one class, and what is printed."""

    data: str
    way: str
    kind: str
    sign: int
    problems: int
    rules: int
    percent: float
    seconds: float

    @property
    def printed(self) -> Printed:
        """The published numbers."""
        return PUBLISHED[self.data][self.kind][0 if self.sign < 0 else 1]


@cache
def cells() -> tuple[Cell, ...]:
    """Extract rules in all ways from all planes."""
    found = []
    for name, X, signs, svm in matched_planes():
        for way, kind, parameters in WAYS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                extractor = RuleExtractor(svm, **parameters).fit(X, signs)
            for sign in (-1, 1):
                trace = extractor.trace_[sign]
                share = 100 * trace.coverage
                found.append(
                    Cell(name, way, kind, sign, trace.problems, trace.kept, share, trace.seconds)
                )
    return tuple(found)


def missing() -> str:
    """A sentence about data that are not at hand."""
    lost = "The data of Lung CAD are not at hand."
    if FEDERALIST.exists():
        return lost
    return f"{lost} The Federalist papers were not run: their data file is not here."


def section() -> Section:
    """Our problems, rules, coverage and seconds beside the published ones."""
    rows: list[list[str]] = []
    for negative, positive in zip(cells()[::2], cells()[1::2], strict=True):
        row = [negative.data, negative.way]
        for cell in (negative, positive):
            problems, rules, percent, seconds = cell.printed
            row.append(
                f"{cell.problems} / {cell.rules} / {cell.percent:.1f} ({cell.seconds:.2f} s)"
            )
            row.append(f"{problems:g} / {rules:g} / {percent:g} ({seconds:.2f} s)")
        rows.append(row)
    return Section(
        "Rules from hyperplanes: Tables 1 and 2",
        "Cells: problems solved / rules / percent of the correctly classified points covered (seconds, the paper's on "
        "a machine of 2005). Rules cover at least two points unless it says otherwise; `coverage` counts the problems "
        f"of all its searches. {missing()}",
        Table(["data", "way", "A- ours", "A- published", "A+ ours", "A+ published"], rows),
        f"{_totals()} The paper states neither its bounds nor its order of features nor which vertex of a linear "
        "program it took, so single cells differ.\n\n"
        + "\n".join(f"* {line}" for line in differences()),
    )


def _totals() -> str:
    """Rules and coverage over the data that come with the package."""
    ours: dict[str, list[Cell]] = {}
    for cell in cells():
        if cell.data != "Federalist papers":
            ours.setdefault(cell.way, []).append(cell)
    told = "; ".join(
        f"{way}: {sum(cell.rules for cell in own)} rules, mean coverage "
        f"{float(np.mean([cell.percent for cell in own])):.1f} %"
        for way, own in ours.items()
    )
    printed = [cell.printed for cell in ours["coverage"]]
    return (
        f"Over the six class columns of the first three data sets: {told}. The paper's coverage columns add up to "
        f"{sum(p[1] for p in printed):g} rules at a mean of {np.mean([p[2] for p in printed]):.1f} %."
    )


def differences() -> list[str]:
    """One sentence for each row of the two tables: how far the reading is that is nearest to the letter."""
    lines = []
    for table, way, kind in NEAREST:
        for name in dict.fromkeys(cell.data for cell in cells()):
            own = [cell for cell in cells() if (cell.data, cell.way) == (name, way)]
            told = "; ".join(
                f"{'A-' if cell.sign < 0 else 'A+'} {cell.problems - cell.printed[0]:+g} problems, "
                f"{cell.rules - cell.printed[1]:+g} rules, {cell.percent - cell.printed[2]:+.1f} points of coverage"
                for cell in own
            )
            near = [
                cell for cell in cells()
                if cell.data == name and cell.kind == kind and _agrees(cell)
            ]  # fmt: skip
            same = ", ".join(f"{'A-' if cell.sign < 0 else 'A+'} by {cell.way}" for cell in near)
            lines.append(
                f"{table}, {name}: *{way}* minus published: {told}. Rules and coverage as printed: "
                f"{same or 'in no way'}."
            )
    return lines


def _agrees(cell: Cell) -> bool:
    """Whether rules and coverage are as printed, the coverage to a tenth."""
    return cell.rules == cell.printed[1] and abs(cell.percent - cell.printed[2]) < 0.1
