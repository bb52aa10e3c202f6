"""Ask the rule learners of a peer, in its own environment, for the rules of some problems.

A problem is an .npz file with `X_train`, `y_train` (0 or 1: what the teacher says of the rows), `X_test`, `names` and
`seed`. Its rows are in the units of the user.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.environment import Absent, python_of
from benchmarks.peers.worker import work

__all__ = ["METHODS", "Absent", "Outcome", "run"]

METHODS: dict[str, tuple[str, ...]] = {
    "imodels": (
        "RuleFit",
        "SkopeRules",
        "BoostedRules",
        "BoostedRules, 5 stumps",
        "BoostedRules, 30 stumps",
        "FIGS",
        "FIGS, 6 splits",
        "GreedyRuleList",
    ),
    "wittgenstein": ("RIPPER",),
    "orange": ("CN2", "CN2 unordered"),
    "ruleopt": ("RUG", "RUG, 15 rules", "RUG, 30 rules"),
    "rulekit": ("RuleKit", "RuleKit, 7 rules a class", "RuleKit, 15 rules a class"),
    "fasterrisk": ("FasterRisk, 15 cuts", "FasterRisk, 30 cuts"),
    "interpret": ("EBM",),
}


@dataclass(frozen=True)
class Outcome:
    """What a peer learned from one problem.

    `predicted` are the classes of the rows of X_test, by the rules and the peer's own default; `score` is what it
    orders them by. `fires` says whether a rule fires on a row, `overlap` whether several do that contradict or add to
    each other, as `overlap_means` says. Of conditions, several bounds of a rule on the same side of the same feature
    count once. `weighted` says that rules are summed, with so many `linear_terms` beside them, instead of one deciding.
    `seconds` is the CPU time of fitting.
    """

    peer: str
    method: str
    version: str
    predicted: NDArray[np.int64]
    score: NDArray[np.float64] | None
    fires: NDArray[np.bool_] | None
    overlap: NDArray[np.bool_] | None
    overlap_means: str
    n_rules: int
    n_conditions: int
    weighted: bool
    linear_terms: int
    seconds: float
    note: str


def run(
    peer: str, method: str, problems: Sequence[Path], folder: Path, seconds: float
) -> list[Outcome | Absent]:
    """Let a peer learn from each problem, for so many CPU seconds each; its answers go to the folder.

    A peer that is not installed, fails on a problem or takes too long is absent from it, with the reason.
    """
    if method not in METHODS.get(peer, ()):
        known = "; ".join(f"{name}: {', '.join(has)}" for name, has in METHODS.items())
        raise ValueError(f"{peer!r} has no method {method!r}; there are {known}")
    python = python_of(peer)
    if isinstance(python, Absent):
        return [python] * len(problems)
    command = [str(python), "-m", f"benchmarks.peers.work.{peer}", method]
    place = folder / f"{peer}-{method.replace(' ', '-')}"
    answers = work(command, problems, place, seconds)
    return [Absent(peer, a) if isinstance(a, str) else _outcome(peer, a) for a in answers]


def _outcome(peer: str, path: Path) -> Outcome | Absent:
    answer: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if "error" in answer:
        return Absent(peer, answer["error"])
    arrays = {"predicted": np.int64, "score": np.float64, "fires": np.bool_, "overlap": np.bool_}
    for name, kind in arrays.items():
        if answer[name] is not None:
            answer[name] = np.asarray(answer[name], dtype=kind)
    return Outcome(peer=peer, **answer)
