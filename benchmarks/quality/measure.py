"""The run: all methods on the same folds of the same machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.quality.budget import MOST_RULES, ladder
from benchmarks.quality.cards import card_answers, card_size, measure_cards
from benchmarks.quality.folds import Fold, write_problem
from benchmarks.quality.jobs import Job
from benchmarks.quality.judge import Answer, Figures, judge
from benchmarks.quality.others import Peers
from benchmarks.quality.ours import METHODS, answers, machine_answer
from benchmarks.quality.plan import Plan
from benchmarks.quality.tree_peer import tree_answers
from clearmargin import RuleSet

__all__ = ["Panel", "Row", "ask_peers", "assemble", "measure_fold", "start", "start_cards"]

Cards = dict[int, Figures]


@dataclass
class Row:
    """One method on all folds; None where it has no answer, with the reason."""

    name: str
    is_ours: bool
    figures: list[Figures | None] = field(default_factory=list)
    # For a peer: ours with no more rules than it has in the fold.
    rivals: list[Figures | None] = field(default_factory=list)
    # The same, as a scorecard.
    cards: list[Figures | None] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    is_weighted: bool = False
    linear_terms: float = 0.0

    @property
    def known(self) -> list[Figures]:
        """The folds that have an answer."""
        return [each for each in self.figures if each is not None]

    @property
    def pairs(self) -> list[tuple[Figures, Figures]]:
        """The folds that have an answer of the peer, with our list of rules."""
        return _both(self.figures, self.rivals)

    @property
    def card_pairs(self) -> list[tuple[Figures, Figures]]:
        """The folds that have an answer of the peer, with our scorecard."""
        return _both(self.figures, self.cards)


def _both(
    peer: Sequence[Figures | None], ours: Sequence[Figures | None]
) -> list[tuple[Figures, Figures]]:
    pairs = zip(peer, ours, strict=True) if ours else ()
    return [(a, b) for a, b in pairs if a is not None and b is not None]


@dataclass
class Panel:
    """A data set and a kind of machine: the machine itself, all methods, and ours at each number of rules."""

    data: str
    teacher: str
    machine: list[Figures]
    rows: list[Row]
    rungs: list[dict[int, Figures]]


@dataclass(frozen=True)
class OfFold:
    """What is measured within this process on one fold."""

    machine: Figures
    ours: dict[str, Figures | str]
    trees: dict[str, Figures]
    rungs: dict[int, Figures]
    cards: Cards
    sums: frozenset[str]


def measure_fold(fold: Fold, plan: Plan) -> OfFold:
    """Measure our methods and the trees of scikit-learn on one fold."""
    # Processor time means something only where a method has one processor.
    with threadpool_limits(1):
        skips = {m.name: plan.skips(m.name, fold.data, fold.number) for m in METHODS}
        skipped = {name: reason for name, reason in skips.items() if reason}
        kept: dict[str, RuleSet] = {}
        said_by = {
            **card_answers(fold),
            **answers(fold, full=plan.full, skipped=skipped, kept=kept),
        }
        found: dict[str, Figures | str] = {
            name: judge(fold, said) if isinstance(said, Answer) else said
            for name, said in said_by.items()
        }
        sums = {n for n, said in said_by.items() if isinstance(said, Answer) and said.is_weighted}
        trees = {name: judge(fold, said) for name, said in tree_answers(fold).items()}
        cards = measure_cards(fold, [card_size(each.rules) for each in trees.values()])
        steps = ladder(fold, plan.leaves, known=kept)
        chosen = {k: steps.choose(k) for k in range(1, MOST_RULES + 1)}
        judged = {c: judge(fold, steps.answer(c)) for c in set(chosen.values())}
        rungs = {k: judged[choice] for k, choice in chosen.items()}
    machine = judge(fold, machine_answer(fold))
    return OfFold(machine, found, trees, rungs, cards, frozenset(sums))


def _rows(found: Sequence[OfFold]) -> list[Row]:
    """Our methods and the trees of scikit-learn as rows."""
    rows = []
    for name in found[0].ours:
        row = Row(name, is_ours=True, is_weighted=name in found[0].sums)
        for each in found:
            got = each.ours[name]
            row.figures.append(got if isinstance(got, Figures) else None)
            if isinstance(got, str):
                row.reasons.append(got)
        rows.append(row)
    trees = (
        Row(name, is_ours=False, figures=[each.trees[name] for each in found])
        for name in found[0].trees
    )
    return [*rows, *trees]


def _with_rivals(row: Row, found: Sequence[OfFold], cards: Sequence[Cards]) -> None:
    """Put ours beside a peer, fold by fold."""
    if row.is_ours:
        return
    for figures, each, own in zip(row.figures, found, cards, strict=True):
        if figures is None:
            row.rivals.append(None)
            row.cards.append(None)
            continue
        row.rivals.append(each.rungs[int(np.clip(np.floor(figures.size), 1, MOST_RULES))])
        size = card_size(figures.rules)
        row.cards.append(each.cards[size] if size in each.cards else own[size])


def _peer_row(name: str, fold: Sequence[Fold], said: Sequence[Answer | str]) -> Row:
    """The answers of a peer to the folds of a panel as a row."""
    row = Row(name, is_ours=False)
    for each, answer in zip(fold, said, strict=True):
        is_answer = isinstance(answer, Answer)
        row.figures.append(judge(each, answer) if isinstance(answer, Answer) else None)
        if not is_answer:
            row.reasons.append(str(answer))
    known = [answer for answer in said if isinstance(answer, Answer)]
    row.is_weighted = any(answer.is_weighted for answer in known)
    row.linear_terms = float(np.mean([answer.linear_terms for answer in known])) if known else 0.0
    return row


def _problem(fold: Fold, folder: Path) -> Path:
    path = folder / f"{fold.data}-{fold.teacher}-{fold.number}.npz"
    write_problem(fold, path)
    return path


def assemble(
    parts: Sequence[Sequence[Fold]],
    found: Sequence[Sequence[OfFold]],
    others: Mapping[str, Sequence[Answer | str]],
    cards: Sequence[Cards],
) -> list[Panel]:
    """Put what was measured here beside the answers of peers.

    Their answers, and our cards of as many cuts as they have rules, are in the order of all folds of all panels.
    """
    panels, first = [], 0
    for part, here in zip(parts, found, strict=True):
        place = slice(first, first + len(part))
        first += len(part)
        rows = [*_rows(here), *(_peer_row(n, part, said[place]) for n, said in others.items())]
        for row in rows:
            _with_rivals(row, here, cards[place])
        machine, rungs = [each.machine for each in here], [each.rungs for each in here]
        panels.append(Panel(part[0].data, part[0].teacher, machine, rows, rungs))
    return panels


def start(fold: Fold, plan: Plan, pool: Executor) -> Job[OfFold]:
    """Have a fold measured elsewhere."""
    return Job(pool, measure_fold, fold, plan)


def start_cards(
    parts: Sequence[Sequence[Fold]],
    others: Mapping[str, Sequence[Answer | str]],
    pool: Executor,
) -> list[Job[Cards]]:
    """Have cards made elsewhere, of as many cuts as the peers have rules in each fold."""
    found = []
    for k, fold in enumerate(fold for part in parts for fold in part):
        answered = [said[k] for said in others.values()]
        sizes = {card_size(each.rules) for each in answered if isinstance(each, Answer)}
        found.append(Job(pool, measure_cards, fold, sorted(sizes)))
    return found


def ask_peers(
    parts: Sequence[Sequence[Fold]], plan: Plan, folder: Path, peers: Peers
) -> dict[str, list[Answer | str]]:
    """Write all folds as problems and have the peers answer them."""
    problems = [_problem(fold, folder) for part in parts for fold in part]
    places = [(fold.data, fold.number) for part in parts for fold in part]
    return peers(problems, places, folder, plan)
