"""How many cases get an explanation with a proof, what the proof costs, and whether it can be refuted."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from benchmarks.certificate_check import FloatArray, Scores, contradictions
from benchmarks.certificate_problems import (
    FILES,
    MOST_TRAINED,
    PACKAGED,
    Problem,
    load_problems,
)
from benchmarks.page import Section, Table
from clearmargin.exceptions import DataError
from clearmargin.kernel_rules import certify, grow_box
from clearmargin.lp_svm import LPSVCCV
from clearmargin.plane_rules import RuleExtractor
from clearmargin.rules import Box, FeatureSpace

__all__ = ["KERNELS", "Case", "Plan", "Row", "collect", "main", "section", "to_section"]

LINEAR = "linear, exact rule"
KERNELS: dict[str, dict[str, Any]] = {
    "rbf": {"kernel": "rbf"},
    "polynomial, degree 2": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "polynomial, degree 3": {"kernel": "poly", "degree": 3, "coef0": 1.0},
    "sigmoid": {"kernel": "sigmoid"},
}
HEADER = ["data", "kernel", "support vectors", "right %", "cases", "proved %"]
HEADER += ["refuted %", "width %", "held-out rows covered %", "nodes: median", "nodes: 90 %"]
HEADER += ["s a case: median", "s a case: 90 %", "points tried", "contradictions"]
HEADER += ["grow_box: s", "grow_box: covered %"]
# Nodes of one proof, and how often the share of the ranges is halved: the smallest box tried has 1/64 of them.
_BUDGET, _HALVINGS = 64, 6
_GROW_BUDGET, _GROW_FEATURES = 16, 20


@dataclass(frozen=True)
class Plan:
    """What to run: data sets, cases of each machine, cases that `grow_box` gets, and points tried in each box."""

    names: Sequence[str] = (*PACKAGED, *FILES)
    cases: int = 100
    grown: int = 3
    points: int = 10_000


QUICK = Plan(names=tuple(PACKAGED), cases=15, grown=0)


@dataclass
class Case:
    """What became of one case."""

    seconds: float
    nodes: int = 0
    box: Box | None = None
    refuted: bool = False
    covers: float = 0.0
    width: float = 0.0
    tried: int = 0
    contradictions: int = 0


@dataclass
class Row:
    """All cases of one machine."""

    data: str
    kernel: str
    vectors: int | None
    right: float
    cases: list[Case] = field(default_factory=list)
    grown: list[Case] = field(default_factory=list)

    @property
    def proved(self) -> list[Case]:
        """The cases that have a proved box."""
        return [case for case in self.cases if case.box is not None]

    def texts(self) -> list[str]:
        """The row of the table."""
        seconds = [case.seconds for case in self.cases]
        nodes = [case.nodes for case in self.cases]
        return [
            self.data,
            self.kernel,
            "-" if self.vectors is None else str(self.vectors),
            f"{100 * self.right:.1f}",
            str(len(self.cases)),
            f"{100 * len(self.proved) / len(self.cases):.0f}",
            f"{100 * sum(case.refuted for case in self.cases) / len(self.cases):.0f}",
            _mean([100 * case.width for case in self.proved]),
            _mean([100 * case.covers for case in self.proved]),
            *(_quantiles([], 0) if self.vectors is None else _quantiles(nodes, 0)),
            *_quantiles(seconds, 3),
            f"{sum(case.tried for case in self.cases):,}",
            str(sum(case.contradictions for case in self.cases)),
            f"{np.median([case.seconds for case in self.grown]):.2f}" if self.grown else "-",
            _mean([100 * case.covers for case in self.grown]) if self.grown else "-",
        ]


def _quantiles(values: Sequence[float], digits: int) -> list[str]:
    """Median and 90 %, or dashes where there is nothing to count."""
    if not values:
        return ["-", "-"]
    return [f"{np.quantile(values, q):.{digits}f}" for q in (0.5, 0.9)]


def _mean(shares: list[float]) -> str:
    return f"{np.mean(shares):.1f}" if shares else "-"


def explain_linear(problem: Problem, plan: Plan) -> Row:
    """Cases explained by the exact rules of a sparse linear machine."""
    model = make_pipeline(problem.scaler(), LPSVCCV(rule="1se", max_features=8))
    extractor = RuleExtractor(model, min_coverage=2, max_rules=None).fit(problem.X, problem.y)
    right = float(np.mean(extractor.estimator_.predict(problem.X_held) == problem.y_held))
    row = Row(problem.name, LINEAR, None, right)
    for i in range(min(plan.cases, len(problem.X_held))):
        start = time.process_time()
        explanation = extractor.explain(problem.X_held.iloc[[i]])
        case = Case(time.process_time() - start)
        region = explanation.rule.region
        if explanation.rule.proof == "proved" and isinstance(region, Box):
            case.box = region
            _judge(case, problem, extractor.estimator_, extractor.space_, explanation.label, plan)
        row.cases.append(case)
    return row


def explain_kernel(problem: Problem, kernel: str, plan: Plan) -> Row:
    """Cases explained by boxes that are proved."""
    model = make_pipeline(problem.scaler(), SVC(C=1.0, gamma="scale", **KERNELS[kernel]))
    model.fit(problem.X, problem.y)
    space = FeatureSpace.from_data(problem.X)
    said = model.predict(problem.X_held)
    right = float(np.mean(said == problem.y_held))
    row = Row(problem.name, kernel, int(model[-1].n_support_.sum()), right)
    points = space.read(problem.X_held)
    # `certify` cuts a box at the ends of its space, and a case may lie outside what training has seen.
    reach = FeatureSpace.from_data(pd.concat([problem.X, problem.X_held]))
    for i in range(min(plan.cases, len(points))):
        start = time.process_time()
        box, nodes, refuted = _largest_proved(model, points[i], said[i], space, reach)
        case = Case(time.process_time() - start, nodes, box, refuted)
        if box is not None:
            _judge(case, problem, model, space, said[i], plan)
        row.cases.append(case)
    for i in range(plan.grown if len(space) <= _GROW_FEATURES else 0):
        start = time.process_time()
        try:
            box = grow_box(model, problem.X_held.iloc[[i]], space=space, budget=_GROW_BUDGET)
        except DataError:
            box = None
        case = Case(time.process_time() - start, box=box)
        if box is not None:
            _judge(case, problem, model, space, said[i], plan)
        row.grown.append(case)
    return row


def _largest_proved(
    model: Any, point: FloatArray, label: Any, space: FeatureSpace, reach: FeatureSpace
) -> tuple[Box | None, int, bool]:
    """The largest proved box that reaches one share of the range of each number, by bisection; names stay.

    Also how many nodes were looked at, and whether even the smallest box was refuted.
    """
    named = np.array([kinds is not None for kinds in space.categories])
    sets = {int(j): [int(point[j])] for j in np.flatnonzero(named)}
    span = np.where(named, np.inf, space.upper - space.lower)
    best, nodes, refuted, small, large = None, 0, False, 0.0, 1.0
    for _ in range(_HALVINGS):
        share = (small + large) / 2.0
        low = np.maximum(point - share * span, np.minimum(point, space.lower))
        high = np.minimum(point + share * span, np.maximum(point, space.upper))
        box = Box(low, high, sets=sets)
        certificate = certify(model, box, label, space=reach, budget=_BUDGET)
        nodes += certificate.nodes
        refuted = best is None and certificate.status == "refuted"
        if certificate.is_proved:
            best, refuted, small = box, False, share
        else:
            large = share
    return best, nodes, refuted


def _judge(
    case: Case, problem: Problem, model: Any, space: FeatureSpace, label: Any, plan: Plan
) -> None:
    """Measure a proved box, and try to refute it."""
    assert case.box is not None
    case.covers = float(np.mean(case.box.contains(space.read(problem.X_held))))
    numbers = np.flatnonzero(np.isfinite(space.lower) & (space.upper > space.lower))
    low = np.maximum(case.box.lower, space.lower)[numbers]
    high = np.minimum(case.box.upper, space.upper)[numbers]
    span = (space.upper - space.lower)[numbers]
    case.width = float(np.mean(np.maximum(high - low, 0.0) / span))
    sign = 1 if label == model.classes_[1] else -1
    case.tried, case.contradictions = contradictions(
        Scores(model), case.box, space, sign, np.random.default_rng(0), plan.points
    )


def collect(plan: Plan) -> tuple[list[Row], list[str]]:
    """Explain all cases of all machines; the second list are the files of sets that are not there."""
    problems, missing = load_problems(plan.names)
    return [row for problem in problems for row in _rows(problem, plan)], missing


def _rows(problem: Problem, plan: Plan) -> Iterator[Row]:
    yield explain_linear(problem, plan)
    for kernel in KERNELS:
        yield explain_kernel(problem, kernel, plan)


def section(full: bool) -> Section:
    """Measure, and say what came out."""
    return to_section(*collect(Plan() if full else QUICK))


def _extent(rows: Sequence[Row]) -> str:
    """How much of the held-out rows the proved boxes of kernel machines cover; empty where there are none."""
    shares = [
        100 * float(np.mean([case.covers for case in row.proved]))
        for row in rows
        if row.vectors is not None and row.proved
    ]
    if not shares:
        return ""
    return (
        f"; a proved box of a kernel machine covers {min(shares):.1f} to {max(shares):.1f} % of the held-out rows on "
        f"average, {np.median(shares):.1f} % for the median machine, the case itself among them"
    )


def to_section(rows: list[Row], missing: list[str]) -> Section:
    """The table, with sentences about it."""
    cases = [case for row in rows for case in row.cases]
    kernel = [case for row in rows if row.vectors is not None for case in row.cases]
    boxes = [case for row in rows for case in (*row.cases, *row.grown) if case.box is not None]
    wrong = sum(case.contradictions for case in boxes)
    tried = sum(case.tried for case in boxes)
    proved = sum(case.box is not None for case in kernel)
    worst = min(rows, key=lambda row: len(row.proved) / len(row.cases))
    slowest = max(rows, key=lambda row: float(np.median([case.seconds for case in row.cases])))
    poorest = min(rows, key=lambda row: row.right)
    grown = sum(case.box is not None for row in rows for case in row.grown)
    by_growing = f" ({grown:,} of them by `grow_box`)" if grown else ""
    finding = (
        f"{100 * sum(case.box is not None for case in cases) / len(cases):.0f} % of {len(cases):,} held-out cases have "
        f"an explanation with a proof; {wrong} of {tried:,} points tried in {len(boxes):,} proved boxes"
        f"{by_growing} contradict it"
        f"{_extent(rows)}."
    )
    left = f" Left out, because the files are not there: {', '.join(missing)}." if missing else ""
    return Section(
        "Explanations with a proof",
        "For which share of held-out cases is there a box around the case in which the machine provably says the "
        "same, and what does the proof cost? Linear: the exact rule that covers the case, or one made on demand. "
        "Kernels: the largest box that `certify` proves and that reaches one share of the range of every number to "
        f"both sides, cut at the range, by {_HALVINGS} bisections of at most {_BUDGET} nodes each; a case whose box "
        f"of 1/{2**_HALVINGS} of the ranges is refuted (no such box exists) or open counts as not explained. *Width* "
        "is the mean extent of proved boxes as a share of the ranges, *covered* the mean share of held-out rows in "
        "them, the case itself among them; nodes and processor time are those of all bisections. Every proved box is "
        "attacked by random points, corners and descent, with the decision function written out anew. `grow_box` "
        f"moves single sides after that (at most {_GROW_BUDGET} nodes a step; a few cases, sets of at most "
        f"{_GROW_FEATURES} features). Machines (C=1, gamma='scale', numbers to unit variance) learn 70 % of the rows, "
        f"at most {MOST_TRAINED:,}.",
        Table(HEADER, [row.texts() for row in rows]),
        f"{finding} Of the cases of kernel machines {100 * proved / len(kernel):.0f} % are explained. Fewest proofs: "
        f"{worst.data}, {worst.kernel} ({len(worst.proved)} of {len(worst.cases)}). Slowest median: {slowest.data}, "
        f"{slowest.kernel}. A proof says what the machine does, not that it is right: the machine that is right least "
        f"often is {poorest.data}, {poorest.kernel} ({100 * poorest.right:.1f} %).{left}",
        finding=finding,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="all sets, 100 cases each")
    print(section(parser.parse_args(arguments).full).to_markdown())


if __name__ == "__main__":
    main()
