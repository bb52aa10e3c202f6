"""Kunapuli, Maclin and Shavlik (2011): the toy example of the poster, and test errors on Pima beside their curves."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import stats
from sklearn.model_selection import StratifiedKFold

from benchmarks.page import Section, Table
from benchmarks.records import mean_and_error
from clearmargin import AdviceSVC, RuleSet, parse_rules
from clearmargin.datasets import load_pima

TOY_ADVICE = "S1: x1 >= 0 and x2 >= 0 => plus\nS2: x1 <= 0 and x2 <= 0 => minus"
METHODS = {None: "KBSVM", "translate": "RRSVM", "slp": "arkSVM-slp", "sqp": "arkSVM-sqp"}
# Diabetes Rules 1 to 6.
PIMA_ADVICE = """
R1: glucose <= 126 => tested_negative
R2: glucose >= 126 and glucose <= 140 and bmi <= 30 => tested_negative
R3: glucose >= 126 and glucose <= 140 and bmi >= 30 => tested_positive
R4: glucose >= 140 => tested_positive
R5: diabetes_pedigree <= 0.5 and age <= 31 => tested_negative
R6: diabetes_pedigree >= 0.5 and age >= 31 => tested_positive
"""
# Read off the vector graphics of Kunapuli, Maclin and Shavlik (NIPS 2011), to about 0.05: our name, theirs, error in
# percent at 10, 20, ..., 100 points.
PUBLISHED: dict[str, tuple[str, tuple[float, ...]]] = {
    "plain SVM": ("SVM", (39.2, 35.8, 32.0, 28.8, 27.5, 26.1, 25.2, 24.2, 24.6, 23.6)),
    "KBSVM": ("KBSVM", (36.2, 31.6, 29.3, 27.3, 25.7, 25.3, 23.9, 23.6, 23.5, 23.2)),
    "translate": ("RRSVM", (33.9, 30.6, 28.3, 27.3, 25.8, 25.7, 24.2, 23.9, 23.6, 23.0)),
    "slp": ("arkSVM-SLP", (26.8, 26.7, 26.1, 24.3, 23.9, 24.3, 23.0, 23.2, 23.2, 22.4)),
    "sqp": ("arkSVM-SQP", (26.6, 26.7, 25.0, 23.7, 23.8, 24.0, 23.0, 23.1, 23.0, 22.5)),
}
# The published curves are means of so many draws.
THEIR_DRAWS = 10
N_TEST, LEAST, SMALLEST = 412, 2, 10
PUBLISHED_WAY: dict[str, Any] = {"where": "everywhere", "bounds": None}
# More steps of refinement change the objective little and the time a lot.
MAX_ITER = 12
GRID, NUS = (0.01, 0.1, 1.0, 10.0, 100.0), (0.1, 1.0)
Errors = dict[tuple[str, int], list[float]]
Labels = NDArray[np.object_]


def toy_section() -> Section:
    """What becomes of the two rules about points on both sides of x1 + x2 = 2."""
    # The points of the poster are not published.
    X = pd.DataFrame(np.random.default_rng(0).uniform(-4, 6, (200, 2)), columns=["x1", "x2"])
    y = np.where(X["x1"] + X["x2"] > 2, "plus", "minus")
    table = Table(["method", "S1 after", "S2 after", "S1 is", "S2 is", "points right %"])
    cut = kept = 0
    for refine, name in METHODS.items():
        model = AdviceSVC(TOY_ADVICE, refine=refine, nu=0.1, tol=1e-3, **PUBLISHED_WAY).fit(X, y)
        texts = model.refined_.to_text().splitlines()
        after = [next((t for t in texts if t.startswith(f"{s}:")), "-") for s in ("S1", "S2")]
        first, second = model.outcome_.verdicts
        table.rows.append([name, *after, first, second, f"{100 * model.score(X, y):.1f}"])
        cut += refine is not None and first == "refined"
        kept += refine is not None and second == "unchanged"
    return Section(
        "Kunapuli: toy example of the poster",
        "The poster shows its refined rules as a picture and prints no numbers. S1 reaches across the line, S2 is on "
        "its side, far from it. All are the published programs (`where='everywhere', bounds=None`).",
        table,
        f"The poster also says that far advice is extended: {kept} of 3 leave S2 as it is, the others turn it a little "
        "on the way. Nothing in the objective pays for extending it.",
        f"{cut} of 3 refinements cut S1 back, as the poster says of advice across the margin.",
    )


@dataclass(frozen=True)
class Draw:
    """Points to train on, in random order, and points to test on."""

    X: pd.DataFrame
    y: Labels
    X_test: pd.DataFrame
    y_test: Labels


@cache
def pima() -> tuple[pd.DataFrame, Labels]:
    X, y = load_pima(return_X_y=True)
    return X, np.asarray(y, dtype=object)


def draw(run: int) -> Draw:
    """Hold 412 of 768 women out; the first ten of the others have two of each class or more."""
    X, y = pima()
    rng = np.random.default_rng([1, run])
    while True:
        order = rng.permutation(len(X))
        held, rest = order[:N_TEST], order[N_TEST:]
        _, counts = np.unique(y[rest][:SMALLEST], return_counts=True)
        if len(counts) == 2 and counts.min() >= LEAST:
            return Draw(X.iloc[rest], y[rest], X.iloc[held], y[held])


def vote(rules: RuleSet, X: pd.DataFrame, y_train: Labels) -> Labels:
    """The class with more votes among the rules that cover a row; where they tie, the majority of the training data."""
    signs = np.array([1.0 if rule.label == rules.classes[1] else -1.0 for rule in rules])
    votes = rules.covers(X) @ signs
    names, counts = np.unique(y_train, return_counts=True)
    said = np.full(len(X), names[np.argmax(counts)], dtype=object)
    said[votes < 0], said[votes > 0] = rules.classes
    return said


def error(said: Any, y: Labels) -> float:
    """Share of wrong answers, in percent."""
    return 100.0 * float(np.mean(np.asarray(said, dtype=object) != y))


def chosen(X: pd.DataFrame, y: Labels, costs: dict[str, Sequence[float]], **options: Any) -> Any:
    """Choose the costs by five folds of the training part, and fit.

    Of equal scores those win that give most weight to the advice and least to single points.
    """
    folds = min(5, int(np.unique(y, return_counts=True)[1].min()))
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y))
    best: dict[str, Any] = {}
    least = np.inf
    for values in product(*costs.values()):
        each: dict[str, Any] = dict(zip(costs, values, strict=True))
        wrong = 0.0
        for train, test in splits:
            model = AdviceSVC(**options, **each).fit(X.iloc[train], y[train])
            wrong += error(model.predict(X.iloc[test]), y[test]) * len(test)
        if wrong < least - 1e-9:
            best, least = each, wrong
    return AdviceSVC(**options, **best).fit(X, y)


def errors_at(run: int, size: int, slow: bool, grid: Sequence[float]) -> dict[str, float]:
    """Test errors of all methods after training on the first points of one draw."""
    drawn = draw(run)
    X, y = drawn.X.iloc[:size], drawn.y[:size]
    up, down = sorted(grid), sorted(grid, reverse=True)
    shared: dict[str, Any] = {"advice": PIMA_ADVICE, "max_iter": MAX_ITER, **PUBLISHED_WAY}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rules = parse_rules(PIMA_ADVICE)
        models: dict[str, Any] = {"plain SVM": chosen(X, y, {"lam": up})}
        models["by default"] = AdviceSVC(PIMA_ADVICE).fit(
            X, y
        )  # a mean over cases that could exist
        kbsvm = chosen(X, y, {"lam": up, "mu": down}, advice=PIMA_ADVICE, **PUBLISHED_WAY)
        models["KBSVM"] = kbsvm
        costs: dict[str, Any] = {"lam": [kbsvm.lam], "mu": [kbsvm.mu], "nu": sorted(NUS)[::-1]}
        for refine in ("translate", "slp", *(("sqp",) if slow else ())):
            models[refine] = chosen(X, y, costs, refine=refine, **shared)
        found = {name: error(m.predict(drawn.X_test), drawn.y_test) for name, m in models.items()}
        return found | {"rules alone": error(vote(rules, drawn.X_test, y), drawn.y_test)}


def collect(sizes: Sequence[int], slow: Sequence[int], runs: int, grid: Sequence[float]) -> Errors:
    """Errors of all draws and sizes."""
    jobs = [(run, size) for size in sizes for run in range(runs)]
    tasks = (delayed(errors_at)(run, size, size in slow, grid) for run, size in jobs)
    errors: Errors = {}
    for (_, size), found in zip(jobs, Parallel(n_jobs=2 if runs > 2 else 1)(tasks), strict=True):
        for name, value in found.items():
            errors.setdefault((name, size), []).append(value)
    return errors


def curves_section(errors: Errors) -> Section:
    """Mean test errors with intervals, and the published ones."""
    sizes = sorted({size for _, size in errors})
    methods = ["plain SVM", "rules alone", "by default", *list(PUBLISHED)[1:]]
    table = Table(["points", *methods])
    apart = points = 0
    gaps: dict[str, list[float]] = {}
    for size in sizes:
        row = [str(size)]
        for method in methods:
            values = errors.get((method, size))
            if values is None:
                row.append("-")
                continue
            mean, se = mean_and_error(values)
            half = float(stats.t.ppf(0.975, len(values) - 1)) * se
            row.append(f"{mean:.1f} ± {half:.1f}")
            if method in PUBLISHED:
                theirs = PUBLISHED[method][1][size // 10 - 1]
                row[-1] += f" ({theirs:.1f})"
                points += 1
                gaps.setdefault(method, []).append(mean - theirs)
                # If single draws spread in the paper as they do here.
                apart += abs(mean - theirs) > half * np.sqrt(1.0 + len(values) / THEIR_DRAWS)
        table.rows.append(row)
    runs = len(next(iter(errors.values())))
    told = "; ".join(f"{name} {np.mean(found):+.1f}" for name, found in gaps.items())
    return Section(
        "Kunapuli: test error on Pima",
        f"Percent, mean of {runs} draws ± half the width of its 95 % interval; in brackets the published value, read "
        "off the curves in the longer paper (NIPS 2011). 412 of 768 women are held out; training parts are the first "
        "of the others; costs are chosen by five folds of the training part alone (refinement at the lam and mu of "
        "KBSVM). KBSVM, *translate* (RRSVM), *slp* and *sqp* (the two arkSVM) are the programs as published; *by "
        "default* is `AdviceSVC` without options. *Rules alone* is the majority of the rules that cover a woman.",
        table,
        f"Ours minus published, averaged over sizes: {told}. The plain SVM, in which advice has no part, differs, too: "
        "draws, scales and grids are not published.",
        f"{points - apart} of {points} points of the curves are within the 95 % interval.",
    )


def sections(quick: bool) -> list[Section]:
    """The toy example and the curves."""
    with warnings.catch_warnings():
        # S1 contradicts the data on purpose.
        warnings.simplefilter("ignore")
        if quick:
            return [toy_section(), curves_section(collect((20,), (), 2, (0.1, 10.0)))]
        errors = collect((10, 20, 30, 50, 100), (10, 30, 100), 50, GRID)
        return [toy_section(), curves_section(errors)]
