"""Every estimator on ever more rows: processor seconds at three sizes, and the exponent of their growth.

Each estimator is fitted in a process of its own, with a limit of processor seconds for each fit: a fit that does not
end within it is reported as such, and the sizes above are not tried. `python -m benchmarks.speed.estimators_by_rows
NAME ROWS ...` is that process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.svm import SVC

import clearmargin
from benchmarks.page import Ratio, Section, Table
from benchmarks.speed.growth import slopes
from clearmargin.exceptions import ClearmarginWarning

__all__ = ["ESTIMATORS", "Fits", "drawn", "measure", "section"]

# Rows of a quick and of a full run.
SIZES = {False: (500, 1_000, 2_000), True: (10_000, 30_000, 100_000)}
# Processor seconds after which a fit is given up.
LIMIT = {False: 20.0, True: 150.0}
# Cost of rows beyond which an estimator does not scale: more than rows^1 with some allowance.
AIM = 1.2
# An exponent between times below this says nothing: fixed costs and the clock are most of it.
LEAST_SECONDS = 0.2
MACHINE_ROWS = 3_000
ADVICE = "x0 >= 1 and x1 <= 0 => yes\nx0 <= -1 and x1 >= 0 => no"

# What is fitted, ready to be timed.
Run = Callable[[], Any]


def drawn(m: int, n: int = 20) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Draw normal columns, five of which decide, with 5 % of the labels changed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, n))
    is_yes = X[:, :5] @ [2.0, -1.5, 1.0, -0.8, 0.6] > 0
    is_yes ^= rng.random(m) < 0.05
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(n)]), np.where(is_yes, "yes", "no")


def _plain(name: str, **options: Any) -> Callable[[Any, Any], Run]:
    """Fit an estimator with these options."""
    return lambda X, y: lambda: getattr(clearmargin, name)(**options).fit(X, y)


def _of_plane(name: str, **options: Any) -> Callable[[Any, Any], Run]:
    """Fit an estimator that explains a plane, which is there."""

    def prepare(X: Any, y: Any) -> Run:
        svm = clearmargin.LPSVC().fit(X, y)
        return lambda: getattr(clearmargin, name)(svm, **options).fit(X, y)

    return prepare


def _of_machine(name: str) -> Callable[[Any, Any], Run]:
    """Fit an estimator that explains a kernel machine of some rows, which is there."""

    def prepare(X: Any, y: Any) -> Run:
        svm = SVC().fit(X[:MACHINE_ROWS], y[:MACHINE_ROWS])
        return lambda: getattr(clearmargin, name)(svm).fit(X, y)

    return prepare


def _tree_and_rules(X: Any, y: Any) -> Run:
    return lambda: clearmargin.SVMTreeClassifier().fit(X, y).rules_


def _features(X: Any, y: Any) -> Run:
    return lambda: clearmargin.RuleFeatures(ADVICE).fit(X, y).transform(X)


# Every public estimator; more than once where an option decides what it costs.
ESTIMATORS: dict[str, Callable[[Any, Any], Run]] = {
    "LPSVC": _plain("LPSVC"),
    "LPSVCCV": _plain("LPSVCCV", progress=False),
    "ProximalSVC": _plain("ProximalSVC"),
    "RuleExtractor": _of_plane("RuleExtractor", progress=False),
    'RuleExtractor(criterion="coverage")': _of_plane(
        "RuleExtractor", criterion="coverage", progress=False
    ),
    "AdviceSVC": _plain("AdviceSVC", advice=ADVICE),
    "AdviceSVCCV": _plain("AdviceSVCCV", advice=ADVICE, progress=False),
    "AdviceBlendSVC": _plain("AdviceBlendSVC", advice=ADVICE, progress=False),
    "RuleSVC": _plain("RuleSVC", progress=False),
    "ScoreRules": _plain("ScoreRules"),
    "ScoreRules(certify=True)": _plain("ScoreRules", certify=True),
    "SupportVectorRules": _of_machine("SupportVectorRules"),
    "SurrogateRules": _of_machine("SurrogateRules"),
    "SVMTreeClassifier": _plain("SVMTreeClassifier"),
    "SVMTreeClassifier and its rules_": _tree_and_rules,
    "ChunkedRuleSVC": _plain("ChunkedRuleSVC"),
    "RankContrast": _plain("RankContrast"),
    "RuleFeatures": _features,
}


@dataclass(frozen=True)
class Fits:
    """Processor seconds of an estimator at some sizes; fewer seconds than sizes where a fit did not end in time."""

    name: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    limit: float
    error: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether every fit ended."""
        return len(self.seconds) == len(self.sizes)

    @property
    def exponent(self) -> float | None:
        """Growth over all sizes that were measured; None where fits are too short or too few to tell."""
        if len(self.seconds) < 2 or self.seconds[-1] < LEAST_SECONDS:
            return None
        return slopes(self.sizes[: len(self.seconds)], self.seconds)[0]

    def row(self) -> list[str]:
        """Write the line of the table."""
        cells = [f"{s:.2f}" for s in self.seconds]
        if not self.is_complete:
            cells.append(self.error or f"more than {self.limit:.0f}")
            cells += ["not tried"] * (len(self.sizes) - len(cells))
        exponent = self.exponent
        return [f"`{self.name}`", *cells, "-" if exponent is None else f"**{exponent:.2f}**"]


def measure(name: str, sizes: Sequence[int], limit: float) -> Fits:
    """Fit an estimator in a process of its own."""
    words = [sys.executable, "-m", "benchmarks.speed.estimators_by_rows", name, str(limit)]
    done = subprocess.run(
        [*words, *map(str, sizes)], capture_output=True, text=True, check=False, env=os.environ
    )
    seconds = tuple(float(line) for line in done.stdout.split())
    error = ""
    if done.returncode not in (0, -signal.SIGPROF):
        error = done.stderr.strip().splitlines()[-1][:80] if done.stderr.strip() else "failed"
    return Fits(name, tuple(sizes), seconds, limit, error)


def section(full: bool = True) -> Section:
    """All estimators at three sizes, with the exponents of their growth."""
    found = [measure(name, SIZES[full], LIMIT[full]) for name in ESTIMATORS]
    known = [(fits.exponent, fits.name) for fits in found if fits.exponent is not None]
    steep = sorted(((e, name) for e, name in known if e > AIM), reverse=True)
    ended = [fits for fits in found if fits.is_complete]
    slowest = max(ended, key=lambda fits: fits.seconds[-1])
    listed = ", ".join(f"`{name}` ({e:.2f})" for e, name in steep)
    lost = ", ".join(f"`{fits.name}`" for fits in found if not fits.is_complete)
    verdict = f"{len(known) - len(steep)} of {len(known)} exponents are at most {AIM}."
    verdict += f" Steeper: {listed}." if steep else ""
    verdict += f" Not ended within the limit at all sizes: {lost}." if lost else ""
    largest = SIZES[full][-1]
    ratios = {
        f"{fits.name}, cost of three times the rows": Ratio(3.0**fits.exponent, False)
        for fits in ended
        if fits.exponent is not None and fits.seconds[0] >= LEAST_SECONDS
    }
    return Section(
        "Every estimator by rows",
        "What does a fit cost as rows grow, with 20 columns (5 informative, 5 % of the labels changed), for every "
        "public estimator as it comes? Processor seconds of one fit, one thread, in a process of its own, given up "
        f"after {LIMIT[full]:.0f} s; the exponent e of rows^e by least squares of logarithms, where the largest fit "
        f"takes {LEAST_SECONDS} s or more. Extractors explain a plane of all rows, or a kernel machine of "
        f"{MACHINE_ROWS:,} rows, whose training is not counted; those that choose a model of their own train it.",
        Table(
            ["estimator", *(f"{m:,} rows" for m in SIZES[full]), "exponent"],
            [f.row() for f in found],
        ),
        f"{verdict} Some estimators work on a sample of very many rows and count on all of them; each says so in its "
        "documentation.",
        f"at {largest:,} rows x 20 the slowest of {len(found)} estimators is `{slowest.name}` "
        f"({slowest.seconds[-1]:.1f} s); {len(known) - len(steep)} of {len(known)} exponents are at most {AIM}.",
        ratios,
    )


def _fit_all(name: str, limit: float, sizes: Sequence[int]) -> None:
    """Fit at each size and print the processor seconds; a fit beyond the limit ends the process."""
    warnings.simplefilter("ignore", ClearmarginWarning)
    for m in sizes:
        run = ESTIMATORS[name](*drawn(m))
        signal.setitimer(signal.ITIMER_PROF, limit)
        start = time.process_time()
        run()
        seconds = time.process_time() - start
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        print(seconds, flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _fit_all(sys.argv[1], float(sys.argv[2]), [int(word) for word in sys.argv[3:]])
    else:
        print(section(full=False).to_markdown())
