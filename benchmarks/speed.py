"""Speed beside a peer in the same run, and what every estimator costs as rows grow.

`python -m benchmarks.speed NAME LIMIT ROWSxCOLUMNS ...` fits one estimator in a process of its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import highspy
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import clearmargin
from benchmarks.page import Section, Table
from benchmarks.peers.environment import Absent
from benchmarks.peers.run import ask
from benchmarks.timing import race
from clearmargin import (
    LPSVC,
    AdviceSVC,
    Box,
    FeatureSpace,
    Rule,
    RuleExtractor,
    RuleSet,
    RuleSVC,
    ScoreRules,
    SupportVectorRules,
    SVMTreeClassifier,
    datasets,
    explain_many,
)
from clearmargin.exceptions import ClearmarginError
from clearmargin.rule_base.leverage_search import Contrast, Found, least_product, search_above

Array = NDArray[np.float64]


class Ratio(NamedTuple):
    """What was timed beside what, where; seconds, of which the peer may have none, and a remark."""

    what: str
    size: str
    ours: float
    peer: str
    theirs: float | None
    remark: str = ""

    def cells(self) -> list[str]:
        """A row of the table."""
        if self.theirs is None:
            return [self.what, self.size, _seconds(self.ours), self.peer, "-", "-", self.remark]
        ratio = f"**{self.theirs / self.ours:.2g}**"
        times = [_seconds(self.ours), self.peer, _seconds(self.theirs), ratio]
        return [self.what, self.size, *times, self.remark]


def _seconds(value: float) -> str:
    return f"{1e3 * value:.2g} ms" if value < 0.1 else f"{value:.2g} s"


# The 1-norm SVM beside HiGHS on the whole program, and liblinear's different problem


def clouds(m: int, n: int) -> tuple[Array, Array]:
    """Gaussian points, five informative features, labels with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, n))
    w = np.zeros(n)
    w[:5] = 1.5 * rng.normal(size=5)
    return X, np.where(X @ w + rng.normal(size=m) > 0.3, 1.0, -1.0)


def whole_dual(X: Array, y: Array, nu: float, method: str) -> float:
    """The dual with its n + 1 rows, all points at once, solved by HiGHS as it comes; the optimum."""
    m, n = X.shape
    rows = np.vstack([X.T * y, y[None]])
    limit = np.append(np.ones(n), 0.0)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = m, n + 1
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = -np.ones(m), np.zeros(m), np.full(m, nu)
    lp.row_lower_, lp.row_upper_ = -limit, limit
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = m, n + 1
    # Zeros are left out, as any modelling layer would.
    kept = rows.T != 0.0
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
    lp.a_matrix_.index_ = np.nonzero(kept)[1].astype(np.int32)
    lp.a_matrix_.value_ = rows.T[kept]
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("solver", method)
    solver.passModel(lp)
    solver.run()
    return -float(solver.getObjectiveValue())


def lpsvm(quick: bool) -> list[Ratio]:
    """The exact optimum with a certificate."""
    found = []
    sizes = [(1_000, 10), (100, 3_000)] if quick else [(10_000, 50), (100_000, 50), (100, 10_000)]
    for m, n in sizes:
        X, y = clouds(m, n)
        nu = 0.1 if n > m else 30.0 / m
        ours = LPSVC(nu)
        values: dict[str, float] = {}
        liblinear = LinearSVC(penalty="l1", dual=False, C=nu)
        runs: list[Callable[[], object]] = [lambda: ours.fit(X, y), lambda: liblinear.fit(X, y)]  # noqa: B023
        runs.append(lambda: values.update(simplex=whole_dual(X, y, nu, "simplex")))  # noqa: B023
        runs.append(lambda: values.update(ipm=whole_dual(X, y, nu, "ipm")))  # noqa: B023
        times = race(*runs, repeat=8, least=0.02, enough=4.0)
        for value in values.values():
            assert abs(value - ours.objective_) <= 1e-5 * value, (m, n, value, ours.objective_)
        better, size = min(times[2:]), f"{m:,} x {n:,}"
        told = f"same objective; gap {ours.gap_:.0e}"
        found.append(
            Ratio("LPSVC.fit", size, times[0], "HiGHS, the better of simplex and IPM", better, told)
        )
        told = "squared hinge, low accuracy, no certificate"
        found.append(Ratio("LPSVC.fit", size, times[0], "liblinear, penalty l1", times[1], told))
    return found


# Rules of planes, and applying rules


def extraction(quick: bool) -> list[Ratio]:
    """Reading a plane beside one product with it, and coverage beside the program of the paper."""
    m = 30_000 if quick else 1_000_000
    X = np.random.default_rng(1).beta(2.0, 5.0, size=(m, 20))
    y = np.where(X[:, :10] @ np.random.default_rng(0).normal(size=10) > 0, "a", "b")
    svm = LPSVC(1.0).fit(X[:2_000], y[:2_000])
    w, extractor = svm.coef_.ravel(), RuleExtractor(svm)
    product, seconds = race(lambda: X @ w, lambda: extractor.fit(X, y), repeat=3, least=0.02)
    count = f"{len(extractor.rules_)} rules, found, proved and counted"
    found = [
        Ratio("RuleExtractor.fit", f"{m:,} x 20", seconds, "one product X @ w", product, count)
    ]
    for name in ("wbc", "pima"):
        X_, y_ = getattr(datasets, f"load_{name}")(return_X_y=True)
        plane = LPSVC(0.1).fit(X_, y_)
        ours, theirs = (RuleExtractor(plane, criterion=c) for c in ("coverage", "coverage-lp"))
        times = race(
            lambda: ours.fit(X_, y_),  # noqa: B023 - called at once
            lambda: theirs.fit(X_, y_),  # noqa: B023 - called at once
            repeat=2,
        )
        shares = [float(each.rules_.covers(X_).any(axis=1).mean()) for each in (ours, theirs)]
        told = f"covers {shares[0]:.0%} and {shares[1]:.0%} of the rows"
        peer = "the paper's program (coverage-lp)"
        found.append(Ratio("criterion='coverage'", name, times[0], peer, times[1], told))
    return found


N_RULES, N_FEATURES = 200, 10


def random_rules() -> RuleSet:
    """Boxes with bounds on about half of the features."""
    rng = np.random.default_rng(0)
    rules = []
    for _ in range(N_RULES):
        low, high = np.sort(rng.normal(scale=1.5, size=(2, N_FEATURES)), axis=0)
        free = rng.random(N_FEATURES) < 0.5
        free[rng.integers(N_FEATURES)] = False  # pandas takes no empty expression
        low, high = np.where(free, -np.inf, low), np.where(free, np.inf, high)
        rules.append(Rule(Box(low, high, upper_closed=False), "in"))
    return RuleSet(rules, FeatureSpace([f"x{j}" for j in range(N_FEATURES)]))


def by_masks(bounds: Sequence[Sequence[tuple[int, float, float]]], X: Array) -> NDArray[np.bool_]:
    """Which rules cover which rows, by comparisons on the columns that each rule names."""
    # Columns and answers each in one piece, as someone in a hurry would lay them out.
    columns = np.ascontiguousarray(X.T)
    covered = np.ones((len(bounds), len(X)), dtype=np.bool_)
    for k, rule in enumerate(bounds):
        for j, low, high in rule:
            covered[k] &= columns[j] >= low
            covered[k] &= columns[j] < high
    return covered.T


def covers(quick: bool) -> list[Ratio]:
    """Applying many rules to many rows, with the same answer cell by cell."""
    m = 10_000 if quick else 100_000
    rules = random_rules()
    X = np.random.default_rng(1).normal(size=(m, N_FEATURES))
    frame = pd.DataFrame(X, columns=list(rules.space.names))
    bounds = [
        [(int(j), float(box.lower[j]), float(box.upper[j])) for j in box.bounded]
        for box in (rule.region for rule in rules)
        if isinstance(box, Box)
    ]
    queries = [" and ".join(f"{a!r} <= x{j} < {b!r}" for j, a, b in rule) for rule in bounds]
    covered = rules.covers(X)
    by_query = np.stack([np.asarray(frame.eval(query)) for query in queries], axis=1)
    assert (covered == by_query).all()
    assert (covered == by_masks(bounds, X)).all()
    times = race(
        lambda: rules.covers(X),
        lambda: rules.covers(frame),
        lambda: [frame.eval(query) for query in queries],
        lambda: by_masks(bounds, X),
        repeat=2,
        least=0.1,
    )
    size = f"{N_RULES} rules, {m:,} rows"
    return [
        Ratio("RuleSet.covers(frame)", size, times[1], "DataFrame.eval, rule by rule", times[2]),
        Ratio("RuleSet.covers(array)", size, times[0], "a loop of numpy masks", times[3]),
    ]


# Advice, rules with points, kernels, trees


def printed_advice(X: Array, y: Array, rules: Sequence[tuple[Array, Array, float]]) -> float:
    """The optimum of the knowledge-based SVM as it is printed, with a row for each point; all costs are 1."""
    m, n = X.shape
    signed = X * y[:, None]
    # w = p - q, then b, errors of points; for each rule its multipliers u, eta and zeta.
    blocks = [[signed, -signed, y[:, None], np.eye(m)] + [None] * (3 * len(rules))]
    limits, cost = [np.ones(m)], [np.ones(2 * n), np.zeros(1), np.ones(m)]
    lower = [np.zeros(2 * n), np.full(1, -np.inf), np.zeros(m)]
    for k, (D, d, z) in enumerate(rules):
        before, after = [None] * (3 * k), [None] * (3 * (len(rules) - k - 1))
        for way in (1.0, -1.0):
            # -eta <= D'u + z w <= eta
            near = [-way * z * np.eye(n), way * z * np.eye(n), None, None]
            blocks.append([*near, *before, -way * D.T, np.eye(n), None, *after])
            limits.append(np.zeros(n))
        row = [None, None, np.full((1, 1), z), None]
        blocks.append([*row, *before, -d[None], None, np.ones((1, 1)), *after])
        limits.append(np.ones(1))
        cost += [np.zeros(len(d)), np.ones(n), np.ones(1)]
        lower.append(np.zeros(len(d) + n + 1))
    make: Any = sparse.block_array
    solve: Any = linprog  # its types know no sparse matrices
    bounds = np.stack([np.concatenate(lower), np.full(sum(map(len, cost)), np.inf)], axis=1)
    A = make([[None if b is None else sparse.csc_array(b) for b in row] for row in blocks])
    c, limit = np.concatenate(cost), np.concatenate(limits)
    return float(solve(c, -A.tocsc(), -limit, bounds=bounds, method="highs-ds").fun)


def advice(quick: bool) -> list[Ratio]:
    """Training with six rules beside the printed program."""
    m, n = (1_000, 10) if quick else (5_000, 10)
    X, y = clouds(m, n)
    X = 2.0 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1.0
    rng = np.random.default_rng(1)
    lines, rules = [], []
    for k in range(6):
        chosen, label = rng.permutation(n)[:3], ("yes", "no")[k % 2]
        least = np.round(rng.uniform(0.1, 0.4, size=3), 2)
        premise = " and ".join(f"x{j} >= {v}" for j, v in zip(chosen, least, strict=True))
        lines.append(f"{premise} => {label}")
        rules.append((-np.eye(n)[chosen], -least, 1.0 if label == "yes" else -1.0))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(n)])
    labels = np.where(y > 0, "yes", "no")
    model = AdviceSVC("\n".join(lines), where="everywhere", bounds=None)
    values: list[float] = []
    ours, theirs = race(
        lambda: model.fit(frame, labels),
        lambda: values.append(printed_advice(X, y, rules)),
        repeat=2,
    )
    assert abs(model.objective_ - values[0]) <= 1e-5 * values[0], (model.objective_, values[0])
    peer = "the printed program, by HiGHS"
    return [Ratio("AdviceSVC.fit, 6 rules", f"{m:,} x {n}", ours, peer, theirs, "same objective")]


def machines(quick: bool) -> list[Ratio]:
    """Rules beside the machines and the ensembles that people train."""
    m = 500 if quick else 3_000
    X, y = make_classification(m, 20, n_informative=10, random_state=0)
    many, peer = (m, "SVC.fit") if quick else (10_000, "SVC.fit")
    X_, y_ = make_classification(many, 20, n_informative=10, random_state=0)
    svm = SVC().fit(X, y)
    base, rules, tree = race(
        lambda: SVC().fit(X, y),
        lambda: SupportVectorRules(svm).fit(X, y),
        lambda: SVMTreeClassifier().fit(X, y).rules_,
        repeat=2,
    )
    boosted, few = race(
        lambda: GradientBoostingClassifier().fit(X_, y_),
        lambda: RuleSVC(random_state=0).fit(X_, y_),
        repeat=1,
    )
    size = f"{m:,} x 20"
    return [
        Ratio("SupportVectorRules.fit of an RBF machine", size, rules, peer, base),
        Ratio("SVMTreeClassifier.fit and rules_", size, tree, peer, base),
        Ratio("RuleSVC.fit", f"{many:,} x 20", few, "GradientBoostingClassifier.fit", boosted),
    ]


def cases(quick: bool) -> list[Ratio]:
    """Explanations of many cases, and a card with proof; nobody else offers these."""
    m = 1_000 if quick else 10_000
    X, y = make_classification(m, 20, n_informative=10, random_state=0)
    plane = make_pipeline(StandardScaler(), LinearSVC(random_state=0)).fit(X, y)
    start = time.process_time()
    # Each is made when it is looked at.
    conditions = [one.rule.n_conditions for one in explain_many(plane, X, X, guarantee="proved")]
    seconds = time.process_time() - start
    told = f"{m / seconds:,.0f} a second, {np.mean(conditions):.1f} conditions"
    X, y = make_classification(1_000, 60, n_informative=30, random_state=0)
    dense = make_pipeline(StandardScaler(), LinearSVC(random_state=0, max_iter=20_000)).fit(X, y)
    cuts = 20 if quick else 100
    (card,) = race(lambda: ScoreRules(dense, max_rules=cuts, certify=True).fit(X, y), repeat=2)
    return [
        Ratio("explain_many, proved", f"{m:,} cases x 20", seconds, "-", None, told),
        Ratio(f"a card with proof, {cuts} cuts", "1,000 x 60", card, "-", None),
    ]


# Properties of the two ends of a ranking

LEAST_LEVERAGE, SLACK = 0.08, 1e-12
INFORMATIVE = 11  # attributes, as in the synthetic data of the paper


def leverage(quick: bool) -> list[Ratio]:
    """All conjunctions above a leverage, beside pysubgroup, which maximises it under another name."""
    found = []
    shapes = [(1_000, 50, 2)] if quick else [(1_000, 50, 3), (100_000, 50, 3), (1_000, 500, 2)]
    for rows, properties, size in shapes:
        rng = np.random.default_rng(0)
        is_top = rng.permutation(rows) < rows // 2
        masks = np.empty((properties, rows), dtype=bool)
        for k in range(properties // 2):
            chance = np.where(is_top, 0.8, 0.2) if k < INFORMATIVE else 0.5
            masks[2 * k] = rng.random(rows) < chance
            masks[2 * k + 1] = ~masks[2 * k]
        attributes = np.arange(properties) // 2

        def search(
            masks: Any = masks, is_top: Any = is_top, attributes: Any = attributes, size: int = size
        ) -> Found:
            ends = np.flatnonzero(is_top), np.flatnonzero(~is_top)
            contrast = Contrast.of(masks, *ends, attributes)
            return search_above(contrast, least_product(LEAST_LEVERAGE, *map(len, ends)), size)

        answer = search()
        (ours,) = race(search, repeat=5, enough=1.0)
        said = f"{len(answer):,} properties, the same"
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "ends.npz"
            least = LEAST_LEVERAGE - SLACK
            np.savez(path, masks=masks, is_top=is_top, max_size=size, least=least)
            answers = [
                ask("pysubgroup", how, [path], Path(name), 30.0)[0] for how in ("DFS", "Apriori")
            ]
        times = [a["seconds"] for a in answers if not isinstance(a, Absent)]
        for a in answers:
            if isinstance(a, Absent):
                said = f"{len(answer):,} properties; {a.reason}"
            else:
                ours_found = {tuple(i for i in items if i >= 0) for items in answer.items.tolist()}
                assert {tuple(items) for items, _ in a["found"]} == ours_found
        what, peer = f"leverage search, size {size}", "pysubgroup, the better of two"
        theirs = min(times) if times else None
        found.append(Ratio(what, f"{rows:,} x {properties}", ours, peer, theirs, said))
    return found


# The command line

# A process of its own, whose only child is the command: the peak of its children is the command's.
_WATCH = """
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run([sys.executable, "-m", "clearmargin", *sys.argv[1:]], check=True, capture_output=True)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""


def command_line(quick: bool) -> list[Ratio]:
    """Training and rules on a file beside reading it, by the clock, with starting Python and imports."""
    rows = 20_000 if quick else 1_000_000
    X, y = clouds(rows, 10)
    found = []
    with tempfile.TemporaryDirectory() as name:
        data, model = Path(name, "t.csv"), Path(name, "m.json")
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(10)])
        frame.assign(y=np.where(y > 0, "ill", "well")).to_csv(data, index=False)
        start = time.perf_counter()
        pd.read_csv(data)
        reading = time.perf_counter() - start
        typed = {
            "train --nu 0.01": [
                "train",
                str(data),
                "--target",
                "y",
                "--nu",
                "0.01",
                "--out",
                str(model),
                "--force",
            ],
            "rules --model": ["rules", str(data), "--target", "y", "--model", str(model)],
        }
        for command, words in typed.items():
            line = [sys.executable, "-c", _WATCH, *words]
            done = subprocess.run(line, check=True, capture_output=True, text=True)
            clock, peak = map(float, done.stdout.split())
            told = f"{peak:.0f} MB at the peak"
            what = f"clearmargin {command}"
            found.append(Ratio(what, f"{rows:,} x 10", clock, "pandas.read_csv", reading, told))
    return found


RATIOS = (lpsvm, extraction, covers, advice, machines, cases, leverage, command_line)


def ratio_section(quick: bool) -> Section:
    """All ratios."""
    header = ["what", "size", "ours", "peer", "theirs", "theirs / ours", "remark"]
    table = Table(header)
    found: list[Ratio] = []
    for measure in RATIOS:
        try:
            found += measure(quick)
        except (ClearmarginError, RuntimeError, ValueError, AssertionError) as error:
            table.rows.append([measure.__name__, *["-"] * 5, f"failed: {error!r}"[:200]])
    table.rows += [ratio.cells() for ratio in found]
    known = sorted((r.theirs / r.ours, r.what, r.peer) for r in found if r.theirs)
    faster = sum(ratio > 1 for ratio, _, _ in known)
    most = [f"`{what}` beside {peer} ({ratio:.2g})" for ratio, what, peer in known[:-4:-1]]
    return Section(
        "Speed beside peers",
        "Processor seconds (of commands seconds by the clock), the shortest of some runs in turns; ratios within a row "
        "mean more than seconds. A ratio above 1 means that ours is faster.",
        table,
        finding=f"ours is faster in {faster} of {len(known)} rows, most of all {', '.join(most)}.",
    )


# Every estimator as rows grow

# Cost of rows beyond which an estimator does not scale: more than rows^1 with some allowance.
AIM = 1.2
# An exponent between times below this says nothing: fixed costs and the clock are most of it.
LEAST_SECONDS = 0.2
MACHINE_ROWS = 3_000
ADVICE = "x0 >= 1 and x1 <= 0 => yes\nx0 <= -1 and x1 >= 0 => no"
# What is fitted, ready to be timed.
Run = Callable[[], Any]


def drawn(m: int, n: int) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Draw normal columns, five of which decide, with 5 % of the labels changed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, n))
    is_yes = X[:, :5] @ [2.0, -1.5, 1.0, -0.8, 0.6] > 0
    is_yes ^= rng.random(m) < 0.05
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(n)]), np.where(is_yes, "yes", "no")


def _plain(name: str, **options: Any) -> Callable[[Any, Any], Run]:
    """Fit an estimator with these options."""
    return lambda X, y: lambda: getattr(clearmargin, name)(**options).fit(X, y)


def _of(machine: Any, name: str, **options: Any) -> Callable[[Any, Any], Run]:
    """Fit an estimator that explains a machine of some rows, which is there."""

    def prepare(X: Any, y: Any) -> Run:
        fitted = machine.fit(X[:MACHINE_ROWS], y[:MACHINE_ROWS])
        return lambda: getattr(clearmargin, name)(fitted, **options).fit(X, y)

    return prepare


def _explained(X: Any, y: Any) -> Run:
    model = RidgeClassifier().fit(X, y)
    return lambda: clearmargin.explain(model, X.iloc[0], X)


# Every public estimator; more than once where an option decides what it costs.
ESTIMATORS: dict[str, Callable[[Any, Any], Run]] = {
    "LPSVC": _plain("LPSVC"),
    "RuleExtractor": _of(LPSVC(), "RuleExtractor"),
    'RuleExtractor(criterion="coverage")': _of(LPSVC(), "RuleExtractor", criterion="coverage"),
    "RuleExtractor of a dense plane": _of(RidgeClassifier(), "RuleExtractor"),
    "AdviceSVC": _plain("AdviceSVC", advice=ADVICE),
    'AdviceSVC(refine="slp")': _plain("AdviceSVC", advice=ADVICE, refine="slp"),
    "RuleSVC": _plain("RuleSVC"),
    "ScoreRules": _of(LPSVC(), "ScoreRules"),
    "ScoreRules(certify=True)": _of(LPSVC(), "ScoreRules", certify=True),
    "SupportVectorRules": _of(SVC(), "SupportVectorRules"),
    "SVMTreeClassifier": _plain("SVMTreeClassifier"),
    "SVMTreeClassifier and its rules_": lambda X, y: lambda: SVMTreeClassifier().fit(X, y).rules_,
    "RankContrast": _plain("RankContrast"),
    "explain": _explained,
}


@dataclass(frozen=True)
class Fits:
    """Seconds and MB at the peak of an estimator by size; fewer than sizes where a fit did not end in time."""

    name: str
    found: tuple[tuple[float, float], ...]
    error: str

    def exponent(self, sizes: Sequence[tuple[int, int]]) -> float | None:
        """Growth over all numbers of rows of the same columns; None where fits are too short or too few to tell."""
        pairs = [(m, s) for (m, n), (s, _) in zip(sizes, self.found, strict=False) if n == sizes[0][1]]  # fmt: skip
        if len(pairs) < 2 or pairs[-1][1] < LEAST_SECONDS:
            return None
        x, t = np.log(np.array(pairs)).T
        return float(np.polyfit(x, t, 1)[0])

    def row(self, sizes: Sequence[tuple[int, int]]) -> list[str]:
        """Write the line of the table."""
        cells = [f"{s:.2f} ({mb:.0f})" for s, mb in self.found]
        if len(cells) < len(sizes):
            cells.append(self.error)
            cells += ["not tried"] * (len(sizes) - len(cells))
        exponent = self.exponent(sizes)
        return [f"`{self.name}`", *cells, "-" if exponent is None else f"**{exponent:.2f}**"]


def fits_of(name: str, sizes: Sequence[tuple[int, int]], limit: float) -> Fits:
    """Fit an estimator at all sizes in a process of its own."""
    words = [sys.executable, "-m", "benchmarks.speed", name, str(limit)]
    words += [f"{m}x{n}" for m, n in sizes]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ)
    found = tuple(tuple(json.loads(line)) for line in done.stdout.splitlines())
    error = f"more than {limit:.0f}"
    if done.returncode not in (0, -signal.SIGPROF):
        error = done.stderr.strip().splitlines()[-1][:80] if done.stderr.strip() else "failed"
    return Fits(name, found, error)


def growth_section(quick: bool) -> Section:
    """All estimators at some sizes, with the exponents of their growth."""
    sizes = [(300, 20), (1_000, 20)]
    if not quick:
        sizes = [(1_000, 20), (10_000, 20), (100_000, 20), (500, 20_000)]
    limit = 10.0 if quick else 150.0
    found = [fits_of(name, sizes, limit) for name in ESTIMATORS]
    known = [(e, fits.name) for fits in found for e in [fits.exponent(sizes)] if e is not None]
    steep = ", ".join(f"`{name}` ({e:.2f})" for e, name in sorted(known, reverse=True) if e > AIM)
    kept = sum(e <= AIM for e, _ in known)
    lost = ", ".join(f"`{fits.name}`" for fits in found if len(fits.found) < len(sizes))
    verdict = f"{kept} of {len(known)} exponents are at most {AIM}."
    verdict += f" Steeper: {steep}." if steep else ""
    verdict += f" Not ended at all sizes: {lost}." if lost else ""
    return Section(
        "Every estimator by rows",
        "Processor seconds of one fit as it comes, one thread, in a process of its own, given up after "
        f"{limit:.0f} s, and in brackets the growth of the resident set during the fit, in MB (a table of 100,000 x 20 "
        "has 15). Normal columns, 5 informative, 5 % of the labels changed. The exponent e of rows^e by least squares "
        f"of logarithms, where the largest fit takes {LEAST_SECONDS} s or more. Extractors explain a machine of at "
        f"most {MACHINE_ROWS:,} rows, whose training is not counted. Some estimators work on a sample of very many "
        "rows and count on all of them; each says so in its documentation.",
        Table(
            ["estimator", *(f"{m:,} x {n:,}" for m, n in sizes), "exponent"],
            [f.row(sizes) for f in found],
        ),
        verdict,
        verdict[0].lower() + verdict[1:],
    )


def _megabytes(field: str) -> float:
    """A size of this process, as Linux tells it; NaN elsewhere."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return float("nan")
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def fit_all(name: str, limit: float, sizes: Sequence[str]) -> None:
    """Fit at each size and print processor seconds and MB; a fit beyond the limit ends the process."""
    warnings.simplefilter("ignore")
    for size in sizes:
        m, n = map(int, size.split("x"))
        run = ESTIMATORS[name](*drawn(m, n))
        reset = Path("/proc/self/clear_refs")
        if reset.exists():
            reset.write_text("5", encoding="ascii")  # forgets the peak
        before = _megabytes("VmRSS")
        signal.setitimer(signal.ITIMER_PROF, limit)
        start = time.process_time()
        run()
        seconds = time.process_time() - start
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        print(json.dumps([seconds, _megabytes("VmHWM") - before]), flush=True)


def sections(quick: bool) -> list[Section]:
    """Measure and write."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [ratio_section(quick), growth_section(quick)]


if __name__ == "__main__":
    fit_all(sys.argv[1], float(sys.argv[2]), sys.argv[3:])
