"""Measure a plan: ours in a second process, peers meanwhile in theirs; two processors are enough."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.public_tables import credit_table, judging_tables, tuning_tables
from benchmarks.quality.jobs import Job, shared
from benchmarks.stranger_rules import askers, cases, default_way, learners, program, proofs
from benchmarks.stranger_rules.folds import N_FOLDS, Part, parts_of
from benchmarks.stranger_rules.records import Record, Records
from benchmarks.strangers import Stranger
from clearmargin.exceptions import ClearmarginError

__all__ = ["FAILED", "FULL", "PARTS", "QUICK", "SIDES", "Plan", "measure"]

PARTS = ("rules", "proofs", "fidelity", "cases", "program", "default")
SIDES = ("ours", "peers")
FAILED = "failed"
Found = list[Record]
Work = tuple[Callable[..., Found], tuple[Any, ...]]
# An hour of other measurements is not to be lost by one that fails.
FAILURES = (
    ClearmarginError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Parameters
    ----------
    every : int
        Each table is taken, or each second, third, ... of the list.
    folds : int
        How many folds of each table learners get, the first of five.
    first_fold : int
        Where learners begin, so that more folds can be added to what was measured before.
    peer_folds : mapping
        How many of these a peer gets; slow ones get fewer, and count on these only.
    proof_folds : int
        Folds for cards and boxes with proof.
    points : int
        Rows drawn in each of these, to look for contradictions.
    fidelity_folds, case_folds : int
        Folds for what imitates a machine, and for explanations.
    n_cases : int
        Rows explained in each of these, and for each kind of machine.
    default_folds : int
        Folds of the credit table.
    seconds : float
        The longest that a peer may take over a fold.
    parts : sequence of str
        Which of `PARTS`.
    sides : sequence of str
        "ours", "peers" or both; what is left out can be measured at another time and added.
    tuning : bool
        On the tables for tuning instead, to try things out.
    """

    every: int = 1
    folds: int = N_FOLDS
    first_fold: int = field(default=0, kw_only=True)
    peer_folds: Mapping[str, int] = field(default_factory=dict)
    proof_folds: int = N_FOLDS
    points: int = 12_000
    fidelity_folds: int = 1
    case_folds: int = 1
    n_cases: int = 10
    default_folds: int = N_FOLDS
    seconds: float = 60.0
    parts: Sequence[str] = PARTS
    sides: Sequence[str] = SIDES
    tuning: bool = False


_QUICK_PEERS = {
    "ruleopt RUG, 15 rules": 1,
    "imodels FIGS, 12 splits": 1,
    "RuleKit, 7 rules a class": 1,
    "FasterRisk, 15 cuts": 1,
    "EBM": 1,
}
_ALL_PEERS = dict.fromkeys(learners.PEERS, N_FOLDS) | {
    "RuleKit, 7 rules a class": 2,
    "RuleKit, 15 rules a class": 2,
    "FasterRisk, 15 cuts": 1,
    "EBM": 1,
}
# Each eighth table and one fold: enough to see that nothing broke, not to judge. The program has a section of its own.
QUICK = Plan(
    8, 1, _QUICK_PEERS, 1, 20_000, 1, 1, 3, 1, 10.0, tuple(p for p in PARTS if p != "program")
)
FULL = Plan(peer_folds=_ALL_PEERS)


def tables_of(plan: Plan) -> list[Stranger]:
    """The tables of a plan: each so-manieth of its list."""
    listed = tuning_tables() if plan.tuning else judging_tables()
    return listed[:: plan.every]


def _jobs(plan: Plan, parts: Sequence[Part], folder: Path) -> list[Work]:
    """What is measured by ourselves, the longest first."""
    first = {
        name: [part for part in parts if part.number < count]
        for name, count in (
            ("proofs", plan.proof_folds),
            ("fidelity", plan.fidelity_folds),
            ("cases", plan.case_folds),
        )
    }
    found: list[Work] = []
    if "program" in plan.parts:
        found += [(program.measure_program, size[:2]) for size in program.SIZES]
    if "default" in plan.parts:
        listed = credit_table() if not plan.tuning else tuning_tables()[0]
        folds = parts_of(listed, range(plan.default_folds))
        found += [(default_way.take_default_way, (part, folder)) for part in folds]
    if "rules" in plan.parts:
        methods = (*learners.OURS, *learners.PLAIN)
        found += [
            (learners.learn, (part, methods))
            for part in parts
            if plan.first_fold <= part.number < plan.folds
        ]
    if "proofs" in plan.parts:
        found += [(proofs.card_seconds, ())]
        found += [(proofs.measure_proofs, (part, plan.points)) for part in first["proofs"]]
    if "fidelity" in plan.parts:
        found += [
            (askers.imitate, (part, kind)) for part in first["fidelity"] for kind in askers.MACHINES
        ]
    if "cases" in plan.parts:
        found += [(cases.proved_seconds, ())]
        found += [(cases.prove_cases, (part, 200)) for part in first["cases"]]
        found += [
            (_explain_part, (part, kind, plan.n_cases))
            for part in first["cases"]
            for kind in askers.MACHINES
        ]
    return found


def _explain_part(part: Part, kind: str, count: int) -> Found:
    return cases.explain_cases(cases.fold_of(part, kind), count)


def _ask(plan: Plan, parts: Sequence[Part], folder: Path) -> Found:
    """What peers say, each in its own environment."""
    found: Found = []
    if "cases" in plan.parts:
        folds = [
            cases.fold_of(part, kind)
            for part in parts
            if part.number < plan.case_folds
            for kind in askers.MACHINES
        ]
        found += cases.anchor_cases(folds, plan.n_cases, folder, plan.seconds)
    if "fidelity" in plan.parts:
        chosen = [part for part in parts if part.number < plan.fidelity_folds]
        found += askers.ask_for_fidelity(chosen, folder, plan.seconds)
    if "rules" in plan.parts:
        found += learners.ask_peers(parts, plan.peer_folds, folder, plan.seconds)
    return found


def measure(plan: Plan) -> Records:
    """Measure everything that a plan asks for.

    Parameters
    ----------
    plan : Plan
        How much.

    Returns
    -------
    Records
        All of it.
    """
    start = time.perf_counter()
    most = max(plan.folds, plan.proof_folds, plan.fidelity_folds, plan.case_folds)
    parts = [part for table in tables_of(plan) for part in parts_of(table, range(most))]
    context = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as name,
        ProcessPoolExecutor(1, mp_context=context) as pool,
    ):
        folder = Path(name)
        asked = _jobs(plan, parts, folder) if "ours" in plan.sides else []
        jobs = [Job(pool, work, *given) for work, given in asked]
        answered = _ask(plan, parts, folder) if "peers" in plan.sides else []
        print(f"peers have answered after {time.perf_counter() - start:.0f} s", flush=True)
        # The processor that the peers had is free now.
        with ProcessPoolExecutor(1, mp_context=context) as second, shared(jobs, second):
            ours = [record for k, job in enumerate(jobs) for record in _result(job, k, asked[k])]
    return Records([*ours, *answered])


def _result(job: Job[Found], number: int, asked: Work) -> Found:
    """What a job found; one that fails is said on the page, and the rest is not lost."""
    try:
        return job.result()
    except FAILURES as error:
        traceback.print_exc()
        work, given = asked
        part = given[0] if given and isinstance(given[0], Part) else None
        place = "alone" if part is None else f"{part.table}, fold {part.number + 1}"
        reason = f"{work.__name__}, {place}: {type(error).__name__}: {error}"
        return [Record(FAILED, place, number, work.__name__, reason=reason)]
