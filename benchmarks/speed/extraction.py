"""Rule extraction: how its cost compares with one product X @ w, and with the linear program of the paper."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression

from benchmarks.page import Section, Table, best_time
from clearmargin.core import Box, Hyperplane
from clearmargin.extract import RuleExtractor
from clearmargin.programs.coverage_corner import coverage_corner, prices
from clearmargin.programs.side import Side

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


def measure_fit(m: int, n: int, active: int, max_rules: int) -> tuple[list[str], float]:
    """One row of the table of sizes, and the seconds of the fit."""
    X = np.random.default_rng(1).beta(2.0, 5.0, size=(m, n))
    model = plane_over(X, active)
    y = model.predict(X)
    w = model.coef_[0]
    extractor = RuleExtractor(model, max_rules=max_rules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a plane of ten features is more than advised
        product = best_time(lambda: X @ w, 9)
        seconds = best_time(lambda: extractor.fit(X, y), 3)
    rules = len(extractor.rules_)
    row = [
        f"{m:,} x {n}",
        str(active),
        str(rules),
        f"{seconds:.2f}",
        f"{1e3 * product:.1f} ms",
        f"**{seconds / product:.0f}**",
    ]
    return row, seconds


def fit_section() -> Section:
    """Extraction from many points and from many features."""
    rows, times = [], []
    sizes = [100_000, 300_000, 1_000_000]
    for m in sizes:
        row, seconds = measure_fit(m, 20, 10, 100)
        rows.append(row)
        times.append(seconds)
    rows.append(measure_fit(100_000, 50, 50, 50)[0])
    growth = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    return Section(
        "Extracting rules from many points",
        "`RuleExtractor(model, max_rules=100).fit(X, y)` with a fitted model, criterion volume, both classes: reading "
        "the plane, finding, simplifying and proving the rules, and counting what they cover.",
        Table(
            ["table", "weights", "rules", "seconds", "X @ w", "fit / (X @ w)"],
            rows,
        ),
        f"From 100,000 to 1,000,000 rows the time grows like rows^{growth:.2f}.",
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


def coverage_section() -> Section:
    """One problem of point coverage, beside the program of the paper."""
    rows = []
    for m, k in [(1_000, 5), (10_000, 5)]:
        rng = np.random.default_rng(0)
        X = rng.beta(2.0, 5.0, size=(m, k))
        plane = Hyperplane(rng.uniform(0.5, 1.5, size=k), -float(0.3 * k))
        side = Side.of(plane.side(-1))
        region = side.region(Box(np.zeros(k), np.ones(k)))
        Z = side.orient(X[side.halfspace.contains(X)])
        P, slack, ends = prices(side, region, Z)
        ours = best_time(lambda: coverage_corner(side, region, Z), 3)  # noqa: B023
        covered = int(coverage_corner(side, region, Z).holds(Z).all(axis=1).sum())
        Y, w = P / ends, ends / slack
        start = time.perf_counter()
        x = whole_program(Y, w)
        theirs = time.perf_counter() - start
        count = int((x + 1e-9 >= Y).all(axis=1).sum())
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
        "The program of the paper minimises distances instead of counting points, and covers fewer.",
    )
