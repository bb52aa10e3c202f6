"""Rule extraction: how its cost compares with one product X @ w, and with the linear program of the paper."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression

from benchmarks.page import Ratio, Section, Table
from benchmarks.speed.timing import race
from clearmargin.datasets import load_pima, load_wbc
from clearmargin.exceptions import ClearmarginWarning
from clearmargin.lp_svm import LPSVC
from clearmargin.plane_rules import RuleExtractor
from clearmargin.plane_rules.coverage_corner import coverage_corner, prices
from clearmargin.plane_rules.side import Side
from clearmargin.rules import Box, Hyperplane

Array = NDArray[np.float64]


def plane_over(X: Array, active: int, seed: int = 0) -> LogisticRegression:
    """A fitted linear classifier whose plane has so many features and halves the data."""
    rng = np.random.default_rng(seed)
    w = np.zeros(X.shape[1])
    w[:active] = rng.normal(size=active)
    b = -float(np.median(X[:1000] @ w))
    model = LogisticRegression().fit(X[:100], np.arange(100) % 2)
    model.coef_, model.intercept_ = w[None], np.array([b])
    return model


def measure_fit(m: int, n: int, active: int, max_rules: int) -> tuple[list[str], float, float]:
    """One row of the table of sizes, the seconds of the fit, and how many products X @ w it is worth."""
    X = np.random.default_rng(1).beta(2.0, 5.0, size=(m, n))
    model = plane_over(X, active)
    y = model.predict(X)
    w = model.coef_[0]
    extractor = RuleExtractor(model, max_rules=max_rules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a plane of ten features is more than advised
        product, seconds = race(lambda: X @ w, lambda: extractor.fit(X, y), repeat=4, least=0.02)
    rules = len(extractor.rules_)
    row = [
        f"{m:,} x {n}",
        str(active),
        str(rules),
        f"{seconds:.2f}",
        f"{1e3 * product:.1f} ms",
        f"**{seconds / product:.0f}**",
    ]
    return row, seconds, seconds / product


def without_rules(rows: Sequence[Sequence[str]]) -> str:
    """A sentence about rows of the table of sizes that have no rule, empty where all have some."""
    empty = [f"{table} ({weights} weights)" for table, weights, rules, *_ in rows if rules == "0"]
    if not empty:
        return ""
    return (
        f" No rule was found at {', '.join(empty)}: no box that was looked at covers the points that a rule needs, "
        "because boxes cover little of what lies below a "
        "plane with so many weights; the time is that of the search."
    )


def fit_section(full: bool = True) -> Section:
    """Extraction from many points and from many features."""
    sizes = [100_000, 300_000, 1_000_000] if full else [30_000, 100_000, 300_000]
    shapes = [*((m, 20, 10, 100) for m in sizes), (100_000, 50, 50, 50)]
    measured = [measure_fit(*shape) for shape in shapes]
    times = [seconds for _, seconds, _ in measured[:-1]]
    ratios = {
        f"fit / (X @ w) at {m:,} x {n}": Ratio(ratio, larger_is_better=False)
        for (m, n, _, _), (_, _, ratio) in zip(shapes, measured, strict=True)
    }
    growth = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    return Section(
        "Extracting rules from many points",
        "`RuleExtractor(model, max_rules=100).fit(X, y)` with a fitted model (`max_rules=50` in the last row), "
        "criterion volume, both classes: reading the plane, finding, simplifying and proving the rules, and counting "
        "what they cover.",
        Table(
            ["table", "weights", "rules", "seconds", "X @ w", "fit / (X @ w)"],
            [row for row, _, _ in measured],
        ),
        f"From {sizes[0]:,} to {sizes[-1]:,} rows the time grows like rows^{growth:.2f}."
        f"{without_rules([row for row, _, _ in measured])}",
        f"rules from {sizes[-1]:,} rows take {times[-1]:.2f} s, and the time grows like rows^{growth:.2f}.",
        ratios,
    )


def whole_program(Y: Array, w: Array) -> Array:
    """Solve eq. 17 with a slack for each point, all its rows at once, by the simplex method of HiGHS."""
    p, k = Y.shape
    rows = np.arange(p * k)
    # One row x_i + y_j >= Y_ji for each point and feature, then the budget.
    ones = np.ones(p * k)
    A = sparse.csc_array(
        (
            np.concatenate([ones, ones, w]),
            (
                np.concatenate([rows, rows, np.full(k, p * k)]),
                np.concatenate([rows % k, k + rows // k, np.arange(k)]),
            ),
        ),
        shape=(p * k + 1, k + p),
    )
    solve: Any = linprog  # its types know no sparse matrices
    result = solve(
        np.concatenate([np.zeros(k), np.ones(p)]),
        A_ub=-A[:-1],
        b_ub=-Y.ravel(),
        A_eq=A[-1:],
        b_eq=[1.0],
        bounds=[(0.0, 1.0)] * k + [(0.0, None)] * p,
        method="highs-ds",
    )
    corner: Array = result.x[:k]
    return corner


def coverage_section(full: bool = True) -> Section:
    """One problem of point coverage, beside the program of the paper."""
    rows: list[list[str]] = []
    ratios: dict[str, Ratio] = {}
    counts = []
    for m, k in [(1_000, 5), (3_000, 5), *([(10_000, 5)] if full else [])]:
        rng = np.random.default_rng(0)
        X = rng.beta(2.0, 5.0, size=(m, k))
        plane = Hyperplane(rng.uniform(0.5, 1.5, size=k), -float(0.3 * k))
        side = Side.of(plane.side(-1))
        region = side.region(Box(np.zeros(k), np.ones(k)))
        Z = side.orient(X[side.halfspace.contains(X)])
        P, slack, ends = prices(side, region, Z)
        covered = int(coverage_corner(side, region, Z).holds(Z).all(axis=1).sum())
        Y, w = P / ends, ends / slack
        ours, theirs = race(
            lambda: coverage_corner(side, region, Z),  # noqa: B023 - called at once
            lambda: whole_program(Y, w),  # noqa: B023 - called at once
            repeat=1 if m > 3_000 else 3,
        )
        x = whole_program(Y, w)
        count = int((x + 1e-9 >= Y).all(axis=1).sum())
        ratios[f"eq. 17 / ours at {len(Z):,} x {k}"] = Ratio(theirs / ours)
        counts.append((covered, count))
        rows.append(
            [
                f"{len(Z):,} x {k}",
                f"{ours:.3f}",
                f"{theirs:.2f}",
                f"**{theirs / ours:.0f}**",
                str(covered),
                str(count),
            ]
        )
    gains, gained = [r.value for r in ratios.values()], [a / b - 1 for a, b in counts]
    return Section(
        "One box for most points",
        "Pair exchange (`criterion='coverage'`, one corner) beside the linear program of the paper (eq. 17, a slack "
        "for each point) given whole to the simplex method of HiGHS.",
        Table(
            [
                "points",
                "pair exchange s",
                "eq. 17 s",
                "eq. 17 / ours",
                "covered by ours",
                "by eq. 17",
            ],
            rows,
        ),
        "The program of the paper minimises distances instead of counting points; "
        f"it covers fewer in {sum(a > b for a, b in counts)} of {len(counts)} rows.",
        f"pair exchange is {min(gains):.1f} to {max(gains):.1f} times as fast as the program of the paper and covers "
        f"{100 * min(gained):.0f} to {100 * max(gained):.0f} % more points.",
        ratios,
    )


def small_tables_section() -> Section:
    """Rules by coverage of small tables: what they take, how many they are and what they cover."""
    rows = []
    slowest = 0.0
    for name, load in (("WBC", load_wbc), ("Pima", load_pima)):
        X, y = load(return_X_y=True)
        for nu in (0.0025, 1.0):
            svm = LPSVC(nu).fit(X, y)
            extractor = RuleExtractor(svm, criterion="coverage", progress=False)
            with warnings.catch_warnings():
                # That boxes cover little of a plane of many weights is what the table shows.
                warnings.simplefilter("ignore", ClearmarginWarning)
                (seconds,) = race(lambda: extractor.fit(X, y), repeat=3)  # noqa: B023 - called at once
            slowest = max(slowest, seconds)
            covered = ", ".join(f"{share:.1%} of {c}" for c, share in extractor.coverage_.items())
            rows.append(
                [
                    name,
                    str(int(np.count_nonzero(svm.coef_))),
                    f"{seconds:.2f}",
                    str(len(extractor.rules_)),
                    covered,
                ]
            )
    return Section(
        "Rules by coverage of small tables",
        "What do rules that cover the most rows take on tables of some hundred rows? `RuleExtractor(svm, "
        "criterion='coverage')` with planes of few weights and of many; processor seconds.",
        Table(["table", "weights", "s", "rules", "covered"], rows),
        "Covered are the rows that the plane gets right.",
        f"rules by coverage of a table of some hundred rows take at most {slowest:.2f} s.",
    )
