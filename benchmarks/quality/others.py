"""The peers, each in an environment of its own, as answers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.peers.__main__ import version_of
from benchmarks.peers.anchors import Anchors as Found
from benchmarks.peers.anchors import run_anchors
from benchmarks.peers.environment import Absent
from benchmarks.peers.run import METHODS, Outcome, run
from benchmarks.quality.folds import Fold, machine_fields, write_problem
from benchmarks.quality.judge import Answer
from benchmarks.quality.plan import Plan
from benchmarks.quality.single import Explained

__all__ = [
    "ANY_RULE",
    "SURROGATES",
    "Anchors",
    "Peers",
    "anchor_explanations",
    "answer_from",
    "any_rule",
    "explained_from",
    "peer_answers",
    "peer_versions",
]

# All its rules are for the second class, for which it wants half of their weights: they seldom meet.
VOTING = "imodels SkopeRules"
ANY_RULE = f"{VOTING}, any rule fires"
# Those that learn a machine's rules here; the other peers learn the classes of strangers (`benchmarks.stranger_rules`).
SURROGATES = ("imodels", "wittgenstein", "orange", "ruleopt")
# For each method its answer to each problem, or why there is none.
# A place is a data set and the number of a fold.
Place = tuple[str, int]
Peers = Callable[[Sequence[Path], Sequence[Place], Path, Plan], dict[str, list[Answer | str]]]
Anchors = Callable[[Sequence[tuple[Fold, Sequence[int]]], Path, float], list[list[Explained] | str]]


def answer_from(outcome: Outcome | Absent) -> Answer | str:
    """What a peer learned, as an answer; the reason where it is absent."""
    if isinstance(outcome, Absent):
        return outcome.reason
    fires = outcome.fires
    return Answer(
        outcome.predicted,
        np.ones(len(outcome.predicted), dtype=np.bool_) if fires is None else fires,
        outcome.n_rules,
        outcome.n_conditions,
        outcome.seconds,
        score=outcome.score,
        overlap=None if outcome.overlap is None else float(np.mean(outcome.overlap)),
        is_weighted=outcome.weighted,
        linear_terms=outcome.linear_terms,
    )


def peer_answers(
    problems: Sequence[Path], places: Sequence[Place], folder: Path, plan: Plan
) -> dict[str, list[Answer | str]]:
    """Let all peers learn from all problems; slow ones from those of the first folds, as the plan says."""
    found: dict[str, list[Answer | str]] = {}
    for peer in SURROGATES:
        names = METHODS[peer]
        for method in names:
            answers: list[Answer | str] = [plan.skips(method, *place) or "" for place in places]
            chosen = [k for k, reason in enumerate(answers) if not reason]
            name = f"{peer} {method}"
            if chosen:
                print(f"asking {name} ...", flush=True)
                outcomes = run(peer, method, [problems[k] for k in chosen], folder, plan.seconds)
                for k, outcome in zip(chosen, outcomes, strict=True):
                    answers[k] = answer_from(outcome)
            found[name] = answers
            if name == VOTING:
                found[ANY_RULE] = [any_rule(answer) for answer in answers]
    return found


def peer_versions() -> list[str]:
    """The peers of the comparison with the versions they are pinned to, such as "imodels 3.0.4"."""
    # An environment is made anew whenever its requirements change, so it has what they pin.
    return [f"{peer} {version_of(peer)}" for peer in (*SURROGATES, "alibi")]


def any_rule(answer: Answer | str) -> Answer | str:
    """Rules for the second class that vote, taken as a list instead: that class wherever one of them fires."""
    if isinstance(answer, str):
        return answer
    predicted = np.asarray(answer.fires, dtype=np.int64)
    return replace(answer, predicted=predicted, overlap=0.0, is_weighted=False)


def anchor_explanations(
    cases: Sequence[tuple[Fold, Sequence[int]]], folder: Path, seconds: float
) -> list[list[Explained] | str]:
    """Explain rows of folds by anchors of alibi, for so many seconds of processor time each fold."""
    problems = []
    for fold, rows in cases:
        problems.append(folder / f"single-{fold.data}-{fold.teacher}.npz")
        write_problem(fold, problems[-1], rows=np.array(rows), **machine_fields(fold))
    return [explained_from(each) for each in run_anchors(problems, folder, seconds)]


def explained_from(found: Found | Absent) -> list[Explained] | str:
    """Anchors as closed boxes; the reason where they are absent."""
    if isinstance(found, Absent):
        return found.reason
    # An anchor is open below.
    return [
        Explained(
            a.row,
            np.where(np.isfinite(a.lower), np.nextafter(a.lower, np.inf), a.lower),
            a.upper,
            a.predicted,
            a.seconds,
        )
        for a in found.anchors
    ]
