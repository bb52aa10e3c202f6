"""The 1-norm SVM: LPSVC beside HiGHS on the whole program, and liblinear's different problem."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from benchmarks.page import Ratio, Section, Table
from benchmarks.speed.timing import race
from clearmargin.lp_svm import LPSVC

Array = NDArray[np.float64]

QUICK = [(1_000, 10), (1_000, 50), (10_000, 10), (10_000, 50), (100, 3_000)]
FULL = [
    (1_000, 10),
    (1_000, 50),
    (10_000, 10),
    (10_000, 50),
    (100_000, 10),
    (100_000, 50),
    (100, 3_000),
    (100, 10_000),
]
# Beyond this the printed form takes minutes.
LARGEST_PRINTED = 1_000


def clouds(m: int, n: int) -> tuple[Array, Array]:
    """Gaussian points, five informative features, labels with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, n))
    w = np.zeros(n)
    w[:5] = 1.5 * rng.normal(size=5)
    return X, np.where(X @ w + rng.normal(size=m) > 0.3, 1.0, -1.0)


def highs(
    A: Array, cost: Array, low: Array, high: Array, row_low: Array, row_high: Array, method: str
) -> float:
    """Solve min cost'x with dense rows by HiGHS as it comes; the optimum."""
    rows, columns = A.shape
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns, rows
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, low, high
    lp.row_lower_, lp.row_upper_ = row_low, row_high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = columns, rows
    # Zeros are left out, as any modelling layer would.
    kept = A.T != 0.0
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
    lp.a_matrix_.index_ = np.nonzero(kept)[1].astype(np.int32)
    lp.a_matrix_.value_ = A.T[kept]
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("solver", method)
    solver.passModel(lp)
    solver.run()
    return float(solver.getObjectiveValue())


def whole_dual(X: Array, y: Array, nu: float, method: str) -> float:
    """The dual with its n + 1 rows, all points at once."""
    m, n = X.shape
    rows = np.vstack([X.T * y, y[None]])
    limit = np.append(np.ones(n), 0.0)
    return -highs(rows, -np.ones(m), np.zeros(m), np.full(m, nu), -limit, limit, method)


def printed(X: Array, y: Array, nu: float) -> float:
    """The program as it is printed, in w = p - q, xi and b."""
    m, n = X.shape
    signed = X * y[:, None]
    rows = np.hstack([signed, -signed, np.eye(m), y[:, None]])
    cost = np.concatenate([np.ones(2 * n), np.full(m, nu), [0.0]])
    low = np.append(np.zeros(2 * n + m), -np.inf)
    return highs(
        rows, cost, low, np.full(len(low), np.inf), np.ones(m), np.full(m, np.inf), "simplex"
    )


def measure(m: int, n: int) -> tuple[list[str], float, float]:
    """One row of the table, how many times faster than HiGHS we are, and how many times slower than liblinear."""
    X, y = clouds(m, n)
    nu = 0.1 if n > m else 30.0 / m
    ours = LPSVC(nu)
    values: dict[str, float] = {}
    runs: dict[str, Callable[[], object]] = {"ours": lambda: ours.fit(X, y)}
    runs["simplex"] = lambda: values.update(simplex=whole_dual(X, y, nu, "simplex"))
    runs["ipm"] = lambda: values.update(ipm=whole_dual(X, y, nu, "ipm"))
    liblinear = LinearSVC(penalty="l1", dual=False, C=nu)
    runs["liblinear"] = lambda: liblinear.fit(X, y)
    if m <= LARGEST_PRINTED and n < m:
        runs["printed"] = lambda: values.update(printed=printed(X, y, nu))
    with warnings.catch_warnings():
        # liblinear may stop at its iteration limit; its time is what counts here.
        warnings.simplefilter("ignore")
        # As many runs for each, for the shortest of more runs is shorter.
        seconds = race(*runs.values(), repeat=8, least=0.02, enough=4.0)
    times = dict(zip(runs, seconds, strict=True))
    for method, value in values.items():
        assert abs(value - ours.objective_) <= 1e-5 * value, (m, n, method, value, ours.objective_)
    fast, theirs = times["ours"], times["liblinear"]
    better = min(times["simplex"], times["ipm"])
    cells = [
        f"{m:,} x {n:,}",
        f"{fast:.3f}",
        f"{times['simplex']:.3f}",
        f"{times['ipm']:.3f}",
        f"{times['printed']:.3f}" if "printed" in times else "-",
        f"{theirs:.3f}",
        f"**{better / fast:.1f}**",
        f"{fast / theirs:.1f}",
        f"{ours.objective_:.6f}",
        f"{ours.gap_:.0e}",
    ]
    return cells, better / fast, fast / theirs


def section(full: bool = True) -> Section:
    """The table over all sizes."""
    header = [
        "points x features",
        "LPSVC s",
        "HiGHS dual simplex s",
        "HiGHS IPM s",
        "printed LP s",
        "liblinear s",
        "better HiGHS / LPSVC",
        "LPSVC / liblinear",
        "objective",
        "certified gap",
    ]
    measured = {size: measure(*size) for size in (FULL if full else QUICK)}
    ratios = {}
    for (m, n), (_, faster, slower) in measured.items():
        ratios[f"better HiGHS / LPSVC at {m:,} x {n:,}"] = Ratio(faster)
        ratios[f"LPSVC / liblinear at {m:,} x {n:,}"] = Ratio(slower, larger_is_better=False)
    gains, costs = zip(*((gain, cost) for _, gain, cost in measured.values()), strict=True)
    return Section(
        "Training a 1-norm SVM",
        "How long does the exact optimum take? `LPSVC` beside HiGHS on the whole linear program, given in its faster "
        "dual form (n + 1 rows) with default settings, and for small data in the printed form; objectives of all "
        "agree to 1e-5. `LinearSVC(penalty='l1')` (liblinear) solves another problem, with the squared hinge loss. "
        "Seconds of processor time, the shortest of as many runs for each in a row.",
        Table(header, [cells for cells, _, _ in measured.values()]),
        "A ratio above 1 in *better HiGHS / LPSVC* means that `LPSVC` is faster. liblinear is the yardstick for what a "
        "solver with low accuracy and without a certificate costs.",
        f"`LPSVC` finds the certified optimum {min(gains):.1f} to {max(gains):.1f} times as fast as HiGHS, in "
        f"{min(costs):.1f} to {max(costs):.1f} times the time of liblinear.",
        ratios,
    )
