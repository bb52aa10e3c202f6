"""How much is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.quality.budget import LEAVES
from benchmarks.quality.data import JUDGED
from benchmarks.quality.folds import N_FOLDS

__all__ = ["FULL", "QUICK", "Plan", "plan_for"]


@dataclass(frozen=True)
class Plan:
    """How much to run: which sets, how often, how long a peer may take a fold, and how many rows are explained.

    `first_folds` are methods, ours as well as those of peers, so slow that they get only so many folds of each set and
    machine; a key "method on set" counts before the method alone.
    """

    names: Sequence[str] = JUDGED[:4]
    repetitions: int = 1
    full: bool = False
    seconds: float = 20.0
    n_explained: int = 10
    n_samples: int = 20_000
    leaves: tuple[int, ...] = LEAVES
    first_folds: Mapping[str, int] = field(default_factory=dict)

    def most_folds(self, method: str, data: str) -> int | None:
        """How many folds of a set a method gets; None for all."""
        return self.first_folds.get(f"{method} on {data}", self.first_folds.get(method))

    def skips(self, method: str, data: str, number: int) -> str | None:
        """Why a method is not asked on a fold; None where it is."""
        most = self.most_folds(method, data)
        if most is None or number < most:
            return None
        if most:
            return f"only the first {most} folds were asked"
        return "too slow here" if self.full else "left to the full run"


SLOWEST = "RuleExtractor, overlapping, 16 rules"
QUICK = Plan(
    leaves=(4, 8, 12, 16, 24),
    n_explained=6,
    first_folds={
        "RuleFit": 3,
        "SkopeRules": 3,
        "CN2": 0,
        "CN2 unordered": 0,
        SLOWEST: 3,
        "SupportVectorRules, certified": 2,
    },
)
FULL = Plan(
    names=JUDGED,
    repetitions=1,
    full=True,
    seconds=60.0,
    n_explained=50,
    n_samples=100_000,
    first_folds={
        # One repetition is enough for what takes most of the time.
        "RuleFit": N_FOLDS,
        "SkopeRules": N_FOLDS,
        "RIPPER": N_FOLDS,
        "CN2": N_FOLDS,
        "CN2 unordered": N_FOLDS,
        "RuleExtractor, coverage": N_FOLDS,
        "RuleExtractor, overlapping": N_FOLDS,
        SLOWEST: N_FOLDS,
        "SupportVectorRules, certified": N_FOLDS,
    },
)


def plan_for(names: Sequence[str] | None, *, full: bool) -> Plan:
    """The quick or the full plan, on the sets that are named."""
    plan = FULL if full else QUICK
    return plan if names is None else Plan(**{**vars(plan), "names": tuple(names)})
