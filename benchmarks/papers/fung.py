"""Fung, Sandilya and Rao (KDD 2005): planes, rules from hyperplanes (Tables 1 and 2), and the numbers of the text."""

from __future__ import annotations

import csv
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import MinMaxScaler

from benchmarks.page import Section, Table
from benchmarks.tables import FloatArray, IntArray, data_folder
from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_cleveland, load_ionosphere, load_wbc

# Not shipped: without the file the Federalist papers are left out.
FEDERALIST = data_folder() / "federalist.csv"


class Plane(NamedTuple):
    """A data set, the setting whose plane has the published counts, and these: features, correct of A-, and of A+.

    The paper names neither nu nor the scaling. Of 200 values of nu on each of three scales, `fits` settings give the
    published counts.
    """

    name: str
    load: Any
    scaler: Any
    nu: float
    positive: str
    printed: tuple[int, int, int]
    fits: int


def _load_federalist(*, return_X_y: bool, as_frame: bool) -> tuple[Any, Any]:
    assert return_X_y
    assert not as_frame
    with FEDERALIST.open(encoding="utf-8") as stream:
        rows = list(csv.reader(stream))[1:]
    X = np.array([[float(cell) for cell in row[:-1]] for row in rows])
    return X, np.array([row[-1] for row in rows])


WBC = "Wisconsin breast cancer"
PLANES = (
    Plane(WBC, load_wbc, None, 0.0025, "benign", (5, 214, 435), 3),
    Plane("Ionosphere", load_ionosphere, None, 0.0315, "good", (6, 70, 224), 1),
    Plane("Cleveland heart", load_cleveland, MinMaxScaler, 0.125, "num_le_1", (6, 53, 195), 3),
    Plane("Federalist papers", _load_federalist, MinMaxScaler, 0.125, "Hamilton", (6, 50, 52), 2),
)
# Problems, rules and coverage (%) of A- and A+, as printed, by volume (Table 1) and by coverage (Table 2). The data of
# Lung CAD are not at hand.
Printed = tuple[float, float, float]
PUBLISHED: dict[str, dict[str, tuple[Printed, Printed]]] = {
    WBC: {
        "volume": ((53, 28, 100.0), (12, 9, 100.0)),
        "coverage": ((10, 7, 98.1), (3, 3, 99.8)),
    },
    "Ionosphere": {
        "volume": ((46, 19, 100.0), (29, 11, 100.0)),
        "coverage": ((11, 7, 87.2), (5, 2, 98.2)),
    },
    "Cleveland heart": {
        "volume": ((102, 10, 79.3), (68, 22, 98.4)),
        "coverage": ((32, 7, 81.1), (11, 11, 97.4)),
    },
    "Federalist papers": {
        "volume": ((22, 4, 90.0), (23, 6, 92.0)),
        "coverage": ((2, 2, 100.0), (13, 11, 96.2)),
    },
}
RULE = "uniformity_of_cell_size <= 3 and bare_nuclei <= 1 and normal_nucleoli <= 7 => benign"
RULE_COVERS, TENFOLD = 383, 95.0

Trained = tuple[Plane, FloatArray, IntArray, LPSVC]


@cache
def trained() -> tuple[Trained, ...]:
    """The data sets at hand, classes as 1 and -1, with the planes whose counts agree with the paper's."""
    found = []
    for plane in PLANES:
        if plane.load is not _load_federalist or FEDERALIST.exists():
            X, y = plane.load(return_X_y=True, as_frame=False)
            points = np.asarray(X, dtype=np.float64)
            points = points if plane.scaler is None else plane.scaler().fit_transform(points)
            signs = np.where(y == plane.positive, 1, -1)
            found.append((plane, points, signs, LPSVC(plane.nu).fit(points, signs)))
    return tuple(found)


def planes_section() -> Section:
    """Our counts beside the published ones."""
    table = Table(
        ["data", "nu", "features / A- / A+ right", "published", "objective", "gap", "fit"]
    )
    agree = 0
    for plane, X, signs, svm in trained():
        right = svm.predict(X) == signs
        used = int(np.count_nonzero(svm.coef_))
        ours = used, int(right[signs < 0].sum()), int(right[signs > 0].sum())
        agree += ours == plane.printed
        cells = [" / ".join(map(str, counts)) for counts in (ours, plane.printed)]
        figures = [f"{svm.objective_:.5f}", f"{svm.gap_:.0e}", f"{plane.fits} of 600"]
        table.rows.append([plane.name, f"{plane.nu:g}", *cells, *figures])
    return Section(
        "Fung: planes behind the rule tables",
        "The paper names neither nu nor the scaling of the features (0 to 1 for the last two). These values of nu were "
        "searched so that the counts fit; they show that the tables are consistent with an exact 1-norm SVM, not that "
        "the authors used them. *Fit*: how many of 200 values of nu from 0.001 to 1 on three scales do.",
        table,
        finding=f"{agree} of {len(table.rows)} rows agree in all counts.",
    )


# Algorithm 4.1 by volume as it is printed

MAX_DEPTH = 20
# The literal iteration may go round in circles; then its last point is clamped, which leaves it below the plane.
_ROUNDS = 50


@dataclass
class Letter:
    """What a run found: problems solved, and the number of points in each box that is not empty."""

    problems: int = 0
    sizes: list[int] = field(default_factory=list)


def corner(weights: FloatArray) -> FloatArray:
    """Eqs. 13-15: the y of the largest product with weights'y = 1 in the unit cube.

    Eqs. 14 and 15 are read literally: the set of clamped components is computed anew from the last point, where the
    package keeps a component that was clamped.
    """
    if weights.sum() <= 1.0:
        return np.ones_like(weights)
    safe = np.where(weights > 0, weights, 1e-300)
    clamped = weights == 0
    y = np.ones_like(weights)
    for _ in range(_ROUNDS):
        slope = (len(y) - clamped.sum()) / (1.0 - weights[clamped].sum())
        y = np.where(clamped, 1.0, 1.0 / (slope * safe))
        beyond = y > 1.0
        if not beyond.any():
            return y
        clamped = (weights == 0) | beyond
        if clamped.all() or weights[clamped].sum() >= 1.0:
            break
    return np.minimum(y, 1.0)


def by_the_book(svm: LPSVC, X: FloatArray, signs: IntArray, sign: int) -> Letter:
    """Extract the boxes of a class of a plane, positive for 1, within the ranges of its correct points.

    Features are cut in reversed order, and neighbouring boxes are not joined. Which of this the authors did is not
    said; points are floats, and nothing is proved.
    """
    coef, intercept = svm.coef_.ravel(), float(svm.intercept_.ravel()[0])
    used = np.flatnonzero(coef)
    outward = -sign * coef[used]
    a, g = np.abs(outward), sign * intercept
    Z = (X[:, used] * np.sign(outward))[(svm.predict(X) == sign) & (signs == sign)]
    found = Letter()

    def open_region(near: FloatArray, far: FloatArray, closed: Any, rows: Any, depth: int) -> None:
        """Find the box of a region, and open what is left around it."""
        if depth == MAX_DEPTH or not len(rows):
            return
        found.problems += 1
        # Above zero, since the region has points below the plane.
        y = corner(a * (far - near) / (g - a @ near))
        face = np.where(y >= 1.0, far, near + y * (far - near))
        ends = (y >= 1.0) & closed
        below = np.where(ends, Z[rows] <= face, Z[rows] < face)
        covered = below.all(axis=1)
        if covered.any():
            found.sizes.append(int(covered.sum()))
        rest, below = rows[~covered], below[~covered]
        far, closed = far.copy(), closed.copy()
        for k in reversed(range(len(a))):
            beyond = ~below[:, k]
            child = near.copy()
            child[k] = face[k]
            open_region(child, far.copy(), closed.copy(), rest[beyond], depth + 1)
            rest, below = rest[~beyond], below[~beyond]
            far[k], closed[k] = face[k], ends[k]

    everywhere = np.ones(len(used), dtype=np.bool_)
    open_region(Z.min(axis=0), Z.max(axis=0), everywhere, np.arange(len(Z)), 0)
    return found


# Tables 1 and 2


@dataclass(frozen=True)
class Setting:
    """One way to fill in what the paper leaves open, or one of ours; without a criterion the algorithm as printed."""

    name: str
    kind: str
    criterion: str = ""
    natural: bool = True
    singletons: bool = False


SETTINGS = (
    Setting("the letter", "volume", "volume"),
    Setting("the letter, singletons too", "volume", "volume", singletons=True),
    Setting("as printed, reversed order, class ranges, singletons too", "volume", singletons=True),
    Setting("our default", "volume", "volume", natural=False),
    Setting("the letter", "coverage", "coverage-lp"),
    Setting("our default", "coverage", "coverage", natural=False),
)


def extract(setting: Setting, X: FloatArray, signs: IntArray, svm: LPSVC) -> Iterator[Printed]:
    """Problems, rules and coverage of A- and of A+."""
    least = 1 if setting.singletons else 2
    if not setting.criterion:
        for sign in (-1, 1):
            made = by_the_book(svm, X, signs, sign)
            sizes = [size for size in made.sizes if size >= least]
            points = np.count_nonzero((svm.predict(X) == sign) & (signs == sign))
            yield made.problems, len(sizes), 100 * sum(sizes) / points
        return
    extractor = RuleExtractor(
        svm,
        criterion=setting.criterion,
        tighten=not setting.natural,
        min_coverage=least,
        max_rules=None,
    ).fit(X, signs)
    for sign in (-1, 1):
        trace = extractor.trace_[sign]
        yield trace.problems, trace.kept, 100 * trace.coverage


def tables_section() -> Section:
    """Our problems, rules and coverage beside the published ones."""
    table = Table(["data", "table", "way", "A- ours", "A- published", "A+ ours", "A+ published"])
    met: dict[Setting, int] = {}
    start = time.process_time()
    for plane, X, signs, svm in trained():
        for setting in SETTINGS:
            printed, cells = PUBLISHED[plane.name][setting.kind], []
            for ours, theirs in zip(extract(setting, X, signs, svm), printed, strict=True):
                cells += [f"{each[0]:g} / {each[1]:g} / {each[2]:.1f}" for each in (ours, theirs)]
                same = [ours[0] == theirs[0], ours[1] == theirs[1], abs(ours[2] - theirs[2]) < 0.1]
                met[setting] = met.get(setting, 0) + sum(same)
            number = "1" if setting.kind == "volume" else "2"
            table.rows.append([plane.name, number, setting.name, *cells])
    of = 6 * len(trained())
    told = "; ".join(f"{s.kind}, {s.name} {count}" for s, count in met.items())
    return Section(
        "Fung: rules from hyperplanes, Tables 1 and 2",
        "Cells: problems solved / rules / percent of the correctly classified points covered. *The letter* is natural "
        "order (eq. 18), ranges of all data, regions not shrunk to their points, rules of two points or more; the "
        "paper states neither ranges nor the order of features nor the vertex of a linear program. `coverage` counts "
        f"the problems of all its searches. The data of Lung CAD are not at hand. {time.process_time() - start:.0f} s.",
        table,
        f"Printed numbers met, of {of} in each of the two tables: {told}. All 96 combinations of what is left open "
        "were run before (commit d4650ae): the best single one met 7 and 6 of 24, and with the best for each class "
        "column 12 and 12 were met, where chance meets 6.9 and 5.7; no single setting fits all rows.",
        f"{met[SETTINGS[0]]} (Table 1) and {met[SETTINGS[4]]} (Table 2) of {of} printed numbers are met by the letter.",
    )


def text_section() -> Section:
    """What the text says, beside what we find."""
    X, y = load_wbc(return_X_y=True)
    svm = LPSVC(PLANES[0].nu).fit(X, y)
    # Ranges from 0 to 10, which were chosen after seeing the rule.
    made = RuleExtractor(
        svm, criterion="volume", bounds=(0, 10), tighten=False, min_coverage=2, max_rules=None
    ).fit(X, y)
    first = next(k for k, rule in enumerate(made.rules_) if rule.label == "benign")
    rule = made.rules_[first : first + 1]
    said = rule.to_text().splitlines()[-1]
    right: NDArray[np.bool_] = np.asarray((svm.predict(X) == y) & (y == "benign"))
    covers = int((right & rule.covers(X)[:, 0]).sum())
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    tenfold = 100 * float(np.mean(cross_val_score(LPSVC(PLANES[0].nu), X, y, cv=folds)))
    trained_ = 100 * float(np.mean(svm.predict(X) == y))
    rows = [
        ["6.1: a rule for benign masses", f"`{RULE}`", f"`{said}`"],
        ["6.1: benign points it covers", f"{RULE_COVERS} of 435", f"{covers} of {right.sum()}"],
        ["6.1: tenfold correctness", f"{TENFOLD:.1f} %", f"{tenfold:.1f} %"],
        ["the same on the training rows", "-", f"{trained_:.1f} %"],
    ]
    same = (said == RULE) + (covers == RULE_COVERS)
    return Section(
        "Fung: numbers of the text",
        "The published rule is given in our words. Ours is the first one by volume over the ranges 0 to 10, which were "
        "chosen after seeing it; of 100 settings 10 have it among their rules.",
        Table(["what the text says", "published", "ours"], rows),
        "The printed tenfold correctness equals what the printed points give on the training rows (95.0 %, and 82.5 % "
        "for Lung CAD), so that it is no estimate for new cases.",
        f"{same} of 2 numbers of the rule are the printed ones; ten folds give {tenfold:.1f} % for {TENFOLD:.1f} %.",
    )


def sections(quick: bool) -> list[Section]:
    """All that the paper prints; it takes seconds."""
    del quick
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [planes_section(), tables_section(), text_section()]
