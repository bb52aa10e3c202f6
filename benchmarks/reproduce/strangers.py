"""What sparseness costs on tables that had no part in tuning: the second set of figures of a page.

``python -m benchmarks.reproduce.strangers`` takes all tables of `benchmarks.strangers.JUDGING`, trains the machine that
`RuleExtractor` trains by default, the same without its rule and cap, and two machines of scikit-learn, on the same
folds, and writes what it finds between two marks of ``docs/explanation/which-method.md``. Every machine chooses its
constants inside the training rows of a fold; imputation and scaling are learned there, too.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.page import Table
from benchmarks.reproduce.which_method import PAGE, fill
from benchmarks.strangers import JUDGING, Stranger
from clearmargin.exceptions import ClearmarginWarning
from clearmargin.lp_svm import LPSVCCV
from clearmargin.lp_svm.lpsvccv import default_machine

__all__ = ["MACHINES", "difference", "main", "measure", "passage", "put"]

BEGIN = "<!-- measured by: python -m benchmarks.reproduce.strangers -->\n"
END = "<!-- end of what was measured on strangers -->\n"
FOLDS = 5
SCORES = {"accuracy": accuracy_score, "balanced accuracy": balanced_accuracy_score}
# The usual five decades around 1 of scikit-learn's own searches.
COSTS = [0.01, 0.1, 1.0, 10.0, 100.0]
DEFAULT = "default plane"

# By machine: percent for each score and fold, the number of features in each fold, and in how many folds there was a
# doubt whether it beats a constant prediction.
Measured = dict[str, dict[str, list[float]]]


def _encoded(X: pd.DataFrame, *, scale: bool) -> tuple[Any, list[str]]:
    """The first step of all machines, and the feature that each of its columns belongs to."""
    numbers = [name for name in X.columns if X[name].dtype.kind in "iuf"]
    others = [name for name in X.columns if name not in numbers]
    values = [sorted(X[name].dropna().unique()) for name in others]
    steps: list[Any] = [SimpleImputer(strategy="median", keep_empty_features=True)]
    steps += [StandardScaler()] if scale else []
    hot = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(categories=values, sparse_output=False),
    )
    encoder = ColumnTransformer(
        [("numbers", make_pipeline(*steps), numbers), ("texts", hot, others)]
    )
    groups = [*numbers, *(name for name, kinds in zip(others, values, strict=True) for _ in kinds)]
    return encoder, [str(name) for name in groups]


def _search(machine: Any) -> Any:
    return GridSearchCV(machine, {"C": COSTS}, cv=StratifiedKFold(5))


MACHINES: dict[str, Callable[[int, list[str]], Any]] = {
    DEFAULT: lambda smallest, groups: default_machine(smallest, feature_groups=groups),
    "plane without a cap": lambda smallest, groups: LPSVCCV(
        cv=min(10, smallest), scale=True, feature_groups=groups
    ),
    "`LinearSVC`": lambda smallest, groups: _search(LinearSVC(max_iter=20_000)),
    "logistic regression": lambda smallest, groups: _search(LogisticRegression(max_iter=5_000)),
}


def measure(stranger: Stranger) -> Measured:
    """Measure all machines on the held-out folds of one table.

    Parameters
    ----------
    stranger : Stranger
        The table.

    Returns
    -------
    dict
        By machine.
    """
    X, y = stranger.load()
    measured: Measured = {name: {} for name in MACHINES}
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        smallest = int(np.unique(y[train], return_counts=True)[1].min())
        for name, make in MACHINES.items():
            own = name in (DEFAULT, "plane without a cap")
            encoder, groups = _encoded(X, scale=not own)
            with warnings.catch_warnings():
                # What these say is counted below; some costs of LinearSVC take long to converge.
                warnings.simplefilter("ignore", ClearmarginWarning)
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = make_pipeline(encoder, make(smallest, groups)).fit(X.iloc[train], y[train])
            said = model.predict(X.iloc[test])
            found = measured[name]
            for score, of in SCORES.items():
                found.setdefault(score, []).append(100.0 * float(of(y[test], said)))
            plane = getattr(model[-1], "best_estimator_", model[-1])
            used = {group for group, w in zip(groups, plane.coef_[0], strict=True) if w}
            found.setdefault("features", []).append(float(len(used)))
            found.setdefault("doubts", []).append(float(getattr(plane, "doubt_", None) is not None))
    return measured


def difference(
    measured: dict[str, Measured], other: str, score: str, tables: Sequence[str] | None = None
) -> tuple[float, float, int]:
    """How much better the default machine is than another one, over the tables.

    Parameters
    ----------
    measured : dict
        By table and machine.
    other : str
        The other machine.
    score : str
        "accuracy" or "balanced accuracy".
    tables : sequence of str, optional
        The tables that count; all by default.

    Returns
    -------
    (float, float, int)
        Mean difference in percentage points, its standard error over tables, and their number.
    """
    ahead = np.array(
        [
            np.mean(measured[table][DEFAULT][score]) - np.mean(measured[table][other][score])
            for table in (measured if tables is None else tables)
        ]
    )
    return float(ahead.mean()), float(ahead.std(ddof=1) / np.sqrt(len(ahead))), len(ahead)


def _cell(found: dict[str, list[float]]) -> str:
    shown = [f"{np.mean(found[score]):.1f}" for score in SCORES]
    return f"{shown[0]} ({shown[1]})"


def passage(measured: dict[str, Measured]) -> str:
    """The table of all tables, and the differences over them."""
    traits = {stranger.name: f"{stranger.trait}; {stranger.source}" for stranger in JUDGING}
    rows = [
        [
            f"{table}: {traits[table]}",
            *(_cell(found) for found in by_machine.values()),
            f"{np.mean(by_machine[DEFAULT]['features']):.1f} of "
            f"{np.mean(by_machine['plane without a cap']['features']):.1f}",
        ]
        for table, by_machine in measured.items()
    ]
    head = ["table", *MACHINES, "features"]
    lines = []
    for other in [name for name in MACHINES if name != DEFAULT]:
        parts = []
        for score in SCORES:
            mean, error, count = difference(measured, other, score)
            parts.append(f"{mean:+.1f} ± {error:.1f} in {score}")
        lines.append(
            fill(f"- {DEFAULT} against {other}: {', '.join(parts)} ({count} tables)", "  ")
        )
    doubts = sum(int(sum(found[DEFAULT]["doubts"])) for found in measured.values())
    how = (
        f"Accuracy, and in brackets balanced accuracy, in percent: means over {FOLDS} held-out folds, "
        f"`StratifiedKFold({FOLDS}, shuffle=True, random_state=0)`, of at most 1,000 rows drawn in the proportion of "
        "the classes. The default plane is the machine of `RuleExtractor()`, with at most 8 features, a category "
        "counting as one; the plane without a cap is `LPSVCCV(scale=True)`. The two machines of scikit-learn choose "
        f"`C` among {len(COSTS)} values by 5 folds of the training rows, after a `StandardScaler`. The last column has "
        "the mean number of features of the default plane and of the one without a cap. In "
        f"{doubts} of {len(measured) * FOLDS} trainings no plane within the cap beat a constant prediction by more "
        "than one standard error, which a warning says. `python -m benchmarks.reproduce.strangers` measures all this "
        "and writes it here."
    )
    return (
        f"{Table(head, rows).to_markdown()}\n\n{fill(how)}\n\n"
        "Differences of the means, in percentage points, with standard errors over tables:\n\n"
        + "\n".join(lines)
        + "\n"
    )


def put(text: str, page: str) -> str:
    """Replace what stands between the marks of a page."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def _measure_and_say(stranger: Stranger) -> Measured:
    start = time.perf_counter()
    found = measure(stranger)
    print(f"{stranger.name}: {time.perf_counter() - start:.0f} s", flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="tables at the same time (default: 2)")
    parser.add_argument("--no-page", action="store_true", help="print only")
    chosen = parser.parse_args(arguments)
    jobs = (delayed(_measure_and_say)(stranger) for stranger in JUDGING)
    found = Parallel(n_jobs=chosen.jobs)(jobs)
    measured = {stranger.name: one for stranger, one in zip(JUDGING, found, strict=True)}
    text = passage(measured)
    print(text)
    if not chosen.no_page:
        page = PAGE.read_text(encoding="utf-8")
        if BEGIN not in page or END not in page:
            raise SystemExit(f"{PAGE} has no marks between which to write")
        PAGE.write_text(put(text, page), encoding="utf-8")


if __name__ == "__main__":
    main()
