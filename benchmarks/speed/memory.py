"""The peak of memory of our calls, native memory included, beside the table that they are given.

Everything is imported by one process, which forks a child for each call. The child makes its table, runs the call on a
few rows, notes its peak so far and runs the call: what the peak grows by is what the call needs on top of imports and
data. A forked child starts with a peak of its own, which one that is started anew would take over from its parent.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.svm import SVC, LinearSVC

from benchmarks.page import Ratio, Section, Table
from benchmarks.speed.covers import as_queries, random_rules
from clearmargin.advice import AdviceSVC
from clearmargin.kernel_rules import SupportVectorRules
from clearmargin.lp_svm import LPSVC
from clearmargin.plane_rules import RuleExtractor
from clearmargin.rankings import RankContrast
from clearmargin.svm_trees import SVMTreeClassifier

Array = NDArray[np.float64]
FEATURES, RULES = 10, 100
# Rows from which the peak is a matter of the table.
LARGE = 20_000
# Megabytes that are added to both parts of a ratio before it is compared with the baseline.
DAMP = 8.0
# Of maximum resident set sizes: kilobytes on Linux, bytes on macOS.
UNIT = 2**20 if sys.platform == "darwin" else 2**10
ADVICE = "x0 >= 1 and x1 >= 0 => yes\nx2 <= -1 => no"


class Call(NamedTuple):
    """What is run on how many rows, quick and full."""

    quick: int
    full: int
    run: Callable[[Array, NDArray[Any]], object]

    def rows(self, full: bool) -> int:
        """The rows of a run."""
        return self.full if full else self.quick

    def megabytes(self, full: bool) -> float:
        """The size of the table."""
        return 8 * self.rows(full) * FEATURES / 2**20


def _extract(X: Array, y: NDArray[Any]) -> object:
    model = LPSVC(0.1).fit(X[:200], y[:200])
    return RuleExtractor(model, max_rules=RULES).fit(X, y)


def _covers(X: Array, y: NDArray[Any]) -> object:
    return random_rules().covers(X)


def _queries(X: Array, y: NDArray[Any]) -> object:
    """Rule by rule, as pandas does it; one column of truth values is kept for each rule, as `covers` gives."""
    rules = random_rules()
    frame = pd.DataFrame(X, columns=list(rules.space.names), copy=False)
    return [np.asarray(frame.eval(query)) for query in as_queries(rules)]


def _advice(X: Array, y: NDArray[Any]) -> object:
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(FEATURES)], copy=False)
    return AdviceSVC(ADVICE, lam=10.0 / len(X)).fit(frame, y)


CALLS = {
    "LPSVC.fit": Call(100_000, 1_000_000, lambda X, y: LPSVC(30.0 / len(X)).fit(X, y)),
    "LinearSVC.fit (liblinear)": Call(
        100_000,
        1_000_000,
        lambda X, y: LinearSVC(penalty="l1", dual=False, C=30.0 / len(X)).fit(X, y),
    ),
    "RuleExtractor.fit": Call(100_000, 1_000_000, _extract),
    "RuleSet.covers": Call(100_000, 300_000, _covers),
    "pandas.eval, rule by rule": Call(100_000, 300_000, _queries),
    "AdviceSVC.fit": Call(20_000, 100_000, _advice),
    "RankContrast.fit": Call(50_000, 500_000, lambda X, y: RankContrast(max_size=2).fit(X, y)),
    "SVMTreeClassifier.fit": Call(
        1_000, 5_000, lambda X, y: SVMTreeClassifier(random_state=0).fit(X, y)
    ),
    "SVC.fit (libsvm)": Call(1_000, 3_000, lambda X, y: SVC().fit(X, y)),
    "SVC.fit and SupportVectorRules.fit": Call(
        1_000, 3_000, lambda X, y: SupportVectorRules(SVC()).fit(X, y)
    ),
}
# What one of our calls is compared with.
PEERS = {
    "LPSVC.fit": "LinearSVC.fit (liblinear)",
    "RuleSet.covers": "pandas.eval, rule by rule",
    "SVC.fit and SupportVectorRules.fit": "SVC.fit (libsvm)",
}


def table(rows: int) -> tuple[Array, NDArray[Any]]:
    """Gaussian points and labels with noise, made without a larger table on the way."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, FEATURES))
    score = X[:, 0] + X[:, 1] - X[:, 2] + 0.5 * rng.normal(size=rows)
    return X, np.where(score > 0, "yes", "no")


def _watch(name: str, rows: int, answer: Connection) -> None:
    run = CALLS[name].run
    X, y = table(rows)
    run(X[:300], y[:300])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(X, y)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer.send((after - before) / UNIT)
    answer.close()


def peaks(full: bool) -> dict[str, float]:
    """Megabytes that each call needs, each in a forked child of this process."""
    context = multiprocessing.get_context("fork")
    found = {}
    for name, call in CALLS.items():
        receive, send = context.Pipe(duplex=False)
        child = context.Process(target=_watch, args=(name, call.rows(full), send))
        child.start()
        send.close()
        found[name] = float(receive.recv())
        child.join()
    return found


def _elsewhere(full: bool) -> dict[str, float]:
    """The same in a process that holds nothing but its imports."""
    words = [sys.executable, "-m", "benchmarks.speed.memory", "full" if full else "quick"]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=root)
    return {name: float(value) for name, value in json.loads(done.stdout).items()}


def _row(name: str, found: dict[str, float], full: bool) -> list[str]:
    rows, size = CALLS[name].rows(full), CALLS[name].megabytes(full)
    peer = PEERS.get(name)
    beside = f"**{found[name] / found[peer]:.2f}** ({peer})" if peer else "-"
    cells = f"{rows:,}", f"{size:.1f}", f"{found[name]:.1f}", f"{found[name] / size:.1f}"
    return [name, *cells, beside]


def _damped(peak: float, other: float) -> Ratio:
    """A ratio to follow: of a small peak a megabyte or two is the allocator's, which is not always the same."""
    return Ratio((peak + DAMP) / (other + DAMP), larger_is_better=False)


def section(full: bool = True) -> Section:
    """The table over calls."""
    # A peak that did not grow is less than a page; 0.1 MB stands for it, so that ratios are finite.
    found = {name: max(peak, 0.1) for name, peak in _elsewhere(full).items()}
    ours = [name for name in CALLS if name not in PEERS.values()]
    ratios = {f"{name} / table": _damped(found[name], CALLS[name].megabytes(full)) for name in ours}
    ratios |= {
        f"{name} / {peer}": _damped(found[name], found[peer]) for name, peer in PEERS.items()
    }
    share = {
        name: found[name] / CALLS[name].megabytes(full)
        for name in ours
        if CALLS[name].rows(full) >= LARGE
    }
    most, least = max(share, key=lambda n: share[n]), min(share, key=lambda n: share[n])
    finding = (
        f"on tables of {LARGE:,} rows and more, `{least}` needs {share[least]:.1f} and `{most}` {share[most]:.1f} "
        "times the table on top of it."
    )
    header = ["call", "rows", "table MB", "peak on top MB", "peak / table", "beside a peer"]
    return Section(
        "Peak of memory",
        f"How much memory does a call need on top of imports and its table of {FEATURES} columns? The growth of the "
        "largest resident set during the call, native memory included, in a process of its own that has already run "
        f"the call on a few rows. Rules applied: {len(random_rules())}.",
        Table(header, [_row(name, found, full) for name in CALLS]),
        f"{finding[0].upper()}{finding[1:]} Followed from run to run are ratios with {DAMP:.0f} MB added to both "
        "parts.",
        finding,
        ratios,
    )


def main(words: list[str]) -> None:
    """Print the peaks; for the process that forks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # only memory counts here
        print(json.dumps(peaks(words == ["full"])))


if __name__ == "__main__":
    main(sys.argv[1:])
