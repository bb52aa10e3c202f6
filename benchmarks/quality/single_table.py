"""The table of single explanations: ours beside anchors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.page import Section, Table
from benchmarks.quality.folds import Fold
from benchmarks.quality.judge import mean_and_error
from benchmarks.quality.plan import Plan
from benchmarks.quality.single import Explained, SingleFigures, chosen_rows, measure, ours_single

__all__ = ["Case", "judge_all", "measure_ours", "pooled", "single_section", "start_single"]

PEER = "alibi anchors"

HEADER = [
    "data",
    "machine",
    "method",
    "rows explained",
    "seconds a row",
    "coverage %",
    "precision %",
]
HEADER += ["least precision %", "precision on held-out rows %", "proved %", "conditions"]


def _cells(figures: Sequence[SingleFigures], asked: int) -> list[str]:
    if not figures:
        return [f"0 of {asked}", *["-"] * 7]

    def in_words(measure: str, factor: float = 100.0, digits: int = 1) -> str:
        values = np.array([getattr(each, measure) for each in figures])
        values = values[~np.isnan(values)]
        # Rows are drawn one by one, so that their number counts and not that of folds.
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        shown = f"{factor * values.mean():.{digits}f}"
        return shown if np.isnan(error) else f"{shown} ± {factor * error:.{digits}f}"

    seconds = mean_and_error([each.seconds for each in figures])[0]
    least = min(each.precision for each in figures)
    return [
        f"{len(figures)} of {asked}",
        f"{seconds:.3f}",
        in_words("coverage"),
        in_words("precision", digits=2),
        f"{100 * least:.2f}",
        in_words("held_out"),
        f"{100 * np.mean([each.proved for each in figures]):.0f}",
        in_words("conditions", 1.0),
    ]


@dataclass(frozen=True, eq=False)
class Case:
    """Rows of a fold, and what becomes of ours on them."""

    fold: Fold
    rows: list[int]
    ours: Future[dict[str, list[SingleFigures]]]


def measure_ours(fold: Fold, rows: list[int], n_samples: int) -> dict[str, list[SingleFigures]]:
    """Explain rows and measure the explanations."""
    with threadpool_limits(1):
        return {
            name: [measure(fold, each, n_samples) for each in said]
            for name, said in ours_single(fold, rows).items()
        }


def start_single(fold: Fold, plan: Plan, pool: Executor) -> Case:
    """Have rows of a fold explained elsewhere."""
    rows = chosen_rows(fold, plan.n_explained)
    return Case(fold, rows, pool.submit(measure_ours, fold, rows, plan.n_samples))


def judge_all(
    cases: Sequence[Case], plan: Plan, peers: Sequence[list[Explained] | str]
) -> list[dict[str, list[SingleFigures]]]:
    """For each case the explanations of ours and, where there are any, of anchors."""
    found = []
    for case, peer in zip(cases, peers, strict=True):
        own = dict(case.ours.result())
        if not isinstance(peer, str):
            own[PEER] = [measure(case.fold, each, plan.n_samples) for each in peer]
        found.append(own)
    return found


def pooled(
    cases: Sequence[Case], judged: Sequence[dict[str, list[SingleFigures]]]
) -> dict[tuple[str, str], list[SingleFigures]]:
    """The explanations of each kind of machine and method, of all data sets together."""
    found: dict[tuple[str, str], list[SingleFigures]] = {}
    for case, own in zip(cases, judged, strict=True):
        for name, figures in own.items():
            found.setdefault((case.fold.teacher, name), []).extend(figures)
    return found


def single_section(
    cases: Sequence[Case],
    plan: Plan,
    peers: Sequence[list[Explained] | str],
    judged: Sequence[dict[str, list[SingleFigures]]],
) -> Section:
    """Explanations of the same held-out rows, ours and anchors."""
    table = Table(HEADER)
    flaws: dict[str, list[bool]] = {}
    for case, peer, found in zip(cases, peers, judged, strict=True):
        place = [case.fold.data, case.fold.teacher]
        for name, figures in found.items():
            table.rows.append([*place, name, *_cells(figures, len(case.rows))])
            flaws.setdefault(name, []).extend(each.precision < 1.0 for each in figures)
        if isinstance(peer, str):
            table.rows.append([*place, f"{PEER} (absent: {peer})", *["-"] * 8])
    question = (
        f"A box around each of {plan.n_explained} held-out rows in which the machine is said to give the same class. "
        "*Coverage* is the share of held-out rows in the box; *precision* the share of "
        f"{plan.n_samples:,} rows drawn evenly in the box, within the range of the training rows, on which the machine "
        "does. A condition is a feature of which the box leaves out a part of that range."
    )
    said = [
        f"{name}: the machine says otherwise somewhere in {np.mean(values):.0%} of {len(values)} boxes."
        for name, values in flaws.items()
    ]
    said.append(_where_anchors_lead(pooled(cases, judged)))
    return Section(
        "Single explanations beside anchors", question, table, " ".join(filter(None, said))
    )


_SIDES = (
    ("coverage", True, "cover more rows", 100.0, " %"),
    ("conditions", False, "need fewer conditions", 1.0, ""),
    ("seconds", False, "take less time", 1.0, " s"),
)


def _where_anchors_lead(found: Mapping[tuple[str, str], Sequence[SingleFigures]]) -> str:
    """What speaks for anchors: where they are better than the one of ours that covers most, and what they promise."""
    parts = []
    for teacher in dict.fromkeys(teacher for teacher, _ in found):
        anchors = found.get((teacher, PEER), ())
        ours = {n: f for (t, n), f in found.items() if t == teacher and n != PEER and f}
        if not anchors or not ours:
            continue
        # The one of ours that covers most, in all measures.
        widest = max(sorted(ours), key=lambda n: np.mean([each.coverage for each in ours[n]]))
        better = []
        for name, more, words, factor, unit in _SIDES:
            peer = float(np.mean([getattr(each, name) for each in anchors]))
            own = float(np.mean([getattr(each, name) for each in ours[widest]]))
            if peer > own if more else peer < own:
                better.append(f"{words} ({factor * peer:.2f} and {factor * own:.2f}{unit})")
        held = float(np.nanmean([each.held_out for each in anchors]))
        true = f"are true on {held:.1%} of the held-out rows that they cover"
        said = " and ".join([", ".join(better), true] if better else [true])
        parts.append(f"on {teacher} machines, beside our {widest.split(', ')[-1]}, they {said}")
    if not parts:
        return ""
    return (
        "Anchors promise precision on rows like those of the data, not on all of the box: "
        f"{'; '.join(parts)} (ours on all of them, by proof)."
    )
