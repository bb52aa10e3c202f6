"""Whether `AdviceBlendSVC` is no worse than the rules alone or the data alone, and what bad advice does to it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from benchmarks.page import Section, Table, write_page
from benchmarks.reproduce.advice_cases import (
    CORRUPTIONS,
    advised,
    corrupted,
    error,
    mean_and_se,
    quiet,
    vote,
)
from clearmargin.advice import AdviceBlendSVC, AdviceSVCCV

__all__ = ["Cell", "Plan", "clean_sections", "collect", "corrupted_section", "main", "one_run"]

FloatArray = NDArray[np.float64]

PAGE = Path(__file__).parents[1] / "ADVICE_NO_WORSE.md"
AS_GIVEN = "as given"
# A normal deviate exceeds one standard deviation with this chance.
_BY_CHANCE = 0.159
_COLUMNS = ["rules alone", "plain SVM", "blend", "trust in rules"]
_SPREADS = ["SE", "paired SE"]
_WITHIN_1 = ["within SE", "within paired SE"]
_WITHIN_2 = ["within 2 SE", "within 2 paired SE"]


@dataclass(frozen=True)
class Plan:
    """What to run: data sets, sizes of the training part, and how often."""

    names: Sequence[str] = ("pima", "cleveland", "linear", "curved")
    sizes: Sequence[int] = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300)
    corrupted_sizes: Sequence[int] = (50, 100, 200)
    runs: int = 20
    n_jobs: int = 2
    # Number of the first run; other numbers are other draws.
    first: int = 0


QUICK = Plan(names=("pima",), sizes=(50,), corrupted_sizes=(50,), runs=2, n_jobs=1)


@dataclass
class Cell:
    """Test errors of all runs with one data set, kind of advice and size."""

    vote: list[float] = field(default_factory=list)
    svm: list[float] = field(default_factory=list)
    blend: list[float] = field(default_factory=list)
    trust: list[float] = field(default_factory=list)

    def add(self, other: Cell) -> None:
        """Add the runs of another cell."""
        for name in ("vote", "svm", "blend", "trust"):
            getattr(self, name).extend(getattr(other, name))

    def part(self, runs: slice) -> Cell:
        """The same with some of the runs."""
        return Cell(self.vote[runs], self.svm[runs], self.blend[runs], self.trust[runs])

    def better(self) -> list[float]:
        """The source, rules or data, that has the lower mean error."""
        return self.vote if np.mean(self.vote) <= np.mean(self.svm) else self.svm

    def excess(self, source: list[float]) -> tuple[float, float, float]:
        """How much worse the blend is: mean, standard error of its mean, standard error of the mean difference."""
        difference = np.subtract(self.blend, source)
        own, paired = mean_and_se(np.array(self.blend))[1], mean_and_se(difference)[1]
        return float(difference.mean()), own, paired

    def row(self, source: list[float], allowed: float) -> list[str]:
        """The cell as a part of a table; the blend may be worse by some standard errors."""
        worse, own, paired = self.excess(source)
        return [
            *(_percent(values) for values in (self.vote, self.svm, self.blend)),
            f"{np.mean(self.trust):.2f}",
            *(f"{worse:+.2f}", f"{own:.2f}", f"{paired:.2f}"),
            *("pass" if worse <= allowed * se else "**FAIL**" for se in (own, paired)),
        ]


Cells = dict[tuple[str, str, int], Cell]


def one_run(name: str, run: int, plan: Plan) -> Cells:
    """All errors of one draw of one data set."""
    data = advised(name)
    drawn = data.draw(run)
    cells: Cells = {}
    for size in (size for size in plan.sizes if size <= data.largest):
        X, y = drawn.X.iloc[:size], drawn.y[:size]
        kinds = [AS_GIVEN, *(CORRUPTIONS if size in plan.corrupted_sizes else ())]
        with quiet():
            # In the scale that the blend works in: what is compared is the use of advice, nothing else.
            plain = AdviceSVCCV(scale="standard", progress=False).fit(X, y)
            svm = error(plain.predict(drawn.X_test), drawn.y_test)
            for kind in kinds:
                rules = corrupted(data.rules, kind, data.reference)
                blend = AdviceBlendSVC(rules, progress=False).fit(X, y)
                cells[name, kind, size] = Cell(
                    vote=[error(vote(rules, drawn.X_test, y), drawn.y_test)],
                    svm=[svm],
                    blend=[error(blend.predict(drawn.X_test), drawn.y_test)],
                    trust=[blend.trust_["advice"]],
                )
    return cells


def collect(plan: Plan) -> Cells:
    """Run everything; the runs of a cell are in order."""
    numbers = range(plan.first, plan.first + plan.runs)
    jobs = [(name, run) for name in plan.names for run in numbers]
    parallel = Parallel(n_jobs=plan.n_jobs, return_as="generator")
    cells: Cells = {}
    for (name, run), found in zip(
        jobs, parallel(delayed(one_run)(*job, plan) for job in jobs), strict=True
    ):
        for key, cell in found.items():
            cells.setdefault(key, Cell()).add(cell)
        print(f"{name} run {run - plan.first + 1} of {plan.runs}", flush=True)
    return cells


def _percent(values: list[float]) -> str:
    mean, se = mean_and_se(np.array(values))
    return f"{mean:.1f} ± {se:.1f}"


def clean_sections(cells: Cells) -> list[Section]:
    """One table for each data set, advice as it is."""
    names = list(dict.fromkeys(name for name, kind, _ in cells if kind == AS_GIVEN))
    return [_clean_section(name, cells) for name in names]


def _clean_section(name: str, cells: Cells) -> Section:
    chosen = {
        size: cell for (n, kind, size), cell in cells.items() if n == name and kind == AS_GIVEN
    }
    rows = [[str(size), *cell.row(cell.better(), 1.0)] for size, cell in chosen.items()]
    excess = {size: cell.excess(cell.better()) for size, cell in chosen.items()}
    failed = [size for size, (worse, own, _) in excess.items() if worse > own]
    below = sum(worse < 0 for worse, _, _ in excess.values())
    runs = len(next(iter(chosen.values())).blend)
    average = float(np.mean([worse for worse, _, _ in excess.values()]))
    verdict = (
        f"{len(rows) - len(failed)} of {len(rows)} sizes pass; the blend is below both sources at {below}, and on "
        f"average over the sizes {average:+.2f} from the better one."
        + (f" It fails at {', '.join(map(str, failed))}." if failed else "")
    )
    return Section(
        f"{advised(name).name}, advice as given",
        f"Test error in percent, mean of {runs} runs ± its standard error.",
        Table(
            ["points", *_COLUMNS, "blend - better", *_SPREADS, *_WITHIN_1],
            rows,
        ),
        verdict,
    )


def corrupted_section(cells: Cells) -> Section:
    """Advice that was spoilt, against the plain SVM."""
    rows, failed = [], 0
    for (name, kind, size), cell in cells.items():
        if kind == AS_GIVEN:
            continue
        worse, own, paired = cell.excess(cell.svm)
        failed += worse > 2 * min(own, paired)
        rows.append([advised(name).name, kind, str(size), *cell.row(cell.svm, 2.0)])
    rows.sort(key=lambda row: [row[0], CORRUPTIONS.index(row[1]), int(row[2])])
    runs = len(next(iter(cells.values())).blend)
    return Section(
        "Corrupted advice",
        f"Test error in percent, mean of {runs} runs ± its standard error. *Half flipped*: the class of every second "
        "rule. *Bounds ± 1 sd*: all bounds on numbers moved by a standard deviation of their column. *Other "
        "variables*: each condition moved to another variable, at the same quantile.",
        Table(["data", "advice", "points", *_COLUMNS, "blend - SVM", *_SPREADS, *_WITHIN_2], rows),
        f"{len(rows) - failed} of {len(rows)} cells are at most two standard errors worse than the plain SVM, by "
        "either standard error.",
    )


def _failures(cells: Cells) -> list[str]:
    """The cells in which the claim does not hold, by either standard error."""
    failed = []
    for (name, kind, size), cell in cells.items():
        allowed, source = (1, cell.better()) if kind == AS_GIVEN else (2, cell.svm)
        worse, own, paired = cell.excess(source)
        if worse > allowed * min(own, paired):
            spread = f"standard error {own:.2f}, paired {paired:.2f}"
            failed.append(f"{advised(name).name}, {kind}, {size} points ({worse:+.2f}; {spread})")
    return failed


def _holding(claim: str, excess: list[tuple[float, float, float]], allowed: float) -> list[str]:
    worse, own, paired = np.array(excess).T
    held = [str(int((worse <= allowed * se).sum())) for se in (own, paired)]
    return [claim, str(len(worse)), *held, f"{worse.max():+.2f}"]


def summary(cells: Cells, plan: Plan) -> Section:
    """The claim, and how often it holds."""
    clean = [cell for (_, kind, _), cell in cells.items() if kind == AS_GIVEN]
    spoilt = [cell for (_, kind, _), cell in cells.items() if kind != AS_GIVEN]
    excess = [cell.excess(cell.better()) for cell in clean]
    first, second = slice(plan.runs // 2), slice(plan.runs // 2, None)
    halves = [[cell.part(half) for cell in clean] for half in (first, second)]
    rows = [
        _holding("as given, within 1 SE of the better source or below both", excess, 1.0),
        _holding("as given, below both sources", excess, 0.0),
        *(
            _holding(
                f"as given, {name} half of the runs alone, within 1 SE",
                [c.excess(c.better()) for c in half],
                1.0,
            )
            for name, half in zip(("first", "second"), halves, strict=True)
            if plan.runs >= 4
        ),
        *(
            [
                _holding(
                    "corrupted, at most 2 SE worse than the plain SVM",
                    [c.excess(c.svm) for c in spoilt],
                    2.0,
                )
            ]
            if spoilt
            else []
        ),
    ]
    failed = _failures(cells)
    chance = round(_BY_CHANCE * len(clean))
    return Section(
        "Summary",
        f"{plan.runs} runs of each cell, from number {plan.first} on. SE is the standard error of the blend's mean; "
        "paired, that of the mean "
        "difference. The last column is the worst difference of means, in points of error.",
        Table(["claim", "cells", "hold (SE)", "hold (paired SE)", "worst"], rows),
        f"Cells that fail by one standard error or the other: {'; '.join(failed) if failed else 'none'}. How much "
        "this depends on the draws is told by the halves: all sizes of a data set share their runs, each training "
        "part being the beginning of the next, so that its cells pass or fail together. For scale: a method that is "
        "exactly as good as the better source would miss by more than one standard error in about "
        f"{chance} of {len(clean)} cells by chance.",
    )


TITLE = "No worse than rules or data"
INTRO = (
    "The claim: with "
    "advice as given, `AdviceBlendSVC` is within one standard error of the better of *rules alone* and *plain "
    "SVM*, or below both; with corrupted advice, from 50 points on, it is never more than two standard errors "
    "worse than the plain SVM.\n\n"
    "*Rules alone*: the majority of the rules that cover a row; ties and rows without a rule go to the majority of "
    "the training labels. *Plain SVM*: 1-norm, standardised features, lam from nine values by stratified 5-fold "
    "cross-validation. *Blend*: `AdviceBlendSVC` as it comes. Pima has the six diabetes rules, Cleveland six "
    "clinical ones; the synthetic sets follow a plane with 10 % of wrong labels and a curved law with 5 %. "
    "Training parts of a run are the first points of one random order, of which the first ten have at least two of "
    "each class. Test parts have 412, 97, 2,000 and 2,000 rows.\n\n"
    "What this does not show: the constants of the blend were chosen on draws of these same four problems; no record "
    "shows that none of runs 0 to 19 was among them (runs from 5000 on were not). So "
    "the tables speak for these problems and not for all. Nor is corrupted advice tested below 50 points, where "
    "the expert is believed, right or wrong."
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the plan and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small plan, in seconds")
    parser.add_argument("--jobs", type=int, default=Plan.n_jobs)
    parser.add_argument("--page", type=Path, default=None, help="where to write; needed for a part")
    parser.add_argument("--names", nargs="+", default=Plan.names, help="data sets")
    parser.add_argument("--runs", type=int, default=Plan.runs)
    parser.add_argument("--first", type=int, default=Plan.first, help="number of the first run")
    parser.add_argument("--as-given", action="store_true", help="no corrupted advice")
    options = parser.parse_args(arguments)
    plan = QUICK if options.quick else _chosen(options)
    start = time.perf_counter()
    cells = collect(plan)
    sections = [summary(cells, plan), *clean_sections(cells)]
    if plan.corrupted_sizes:
        sections.append(corrupted_section(cells))
    minutes = (time.perf_counter() - start) / 60
    for section in sections:
        print(section.to_markdown())
    print(f"{minutes:.1f} minutes")
    page = options.page or (PAGE if plan == Plan(n_jobs=plan.n_jobs) else None)
    if page is not None:
        words = sys.argv[1:] if arguments is None else arguments
        command = " ".join(["python -m benchmarks.reproduce.advice_no_worse", *words])
        write_page(sections, page, TITLE, f"Written by `{command}`. {INTRO}")
        print(f"written: {page}")


def _chosen(options: argparse.Namespace) -> Plan:
    return Plan(
        names=tuple(options.names),
        corrupted_sizes=() if options.as_given else Plan.corrupted_sizes,
        runs=options.runs,
        n_jobs=options.jobs,
        first=options.first,
    )


if __name__ == "__main__":
    main()
