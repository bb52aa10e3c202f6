"""Ours at no more rules than each peer: as a list of rules, and as a scorecard."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.page import Section, Table
from benchmarks.quality.budget import MOST_RULES
from benchmarks.quality.folds import N_FOLDS
from benchmarks.quality.judge import Figures
from benchmarks.quality.measure import Panel, Row
from benchmarks.quality.others import ANY_RULE
from benchmarks.quality.paired import LEVEL, paired, width
from benchmarks.quality.tables import cell, shown, values_of
from benchmarks.quality.tree_peer import TREES

__all__ = ["Duel", "Meeting", "ahead_section", "compare", "is_one_sided", "kind_of", "meetings"]

HEADER = ["data", "machine", "peer", "its rules", "its conditions", "its fidelity %"]
HEADER += ["list: rules", "list: fidelity %", "list: difference", "list: ahead"]
HEADER += ["card: rules", "card: fidelity %", "card: difference", "card: ahead"]
# Peers that are a tree where they are not a sum of trees.
_TREES = (*TREES, "imodels FIGS", "imodels FIGS, 6 splits")
# Who says one class of so many rows, where the machine does not, says next to nothing.
_ONE_SIDED, _TWO_SIDED = 0.97, 0.9


@dataclass(frozen=True)
class Duel:
    """Ours less the peer's fidelity, its standard error, and who is ahead."""

    gap: float
    error: float
    who: str


def compare(pairs: Sequence[tuple[Figures, Figures]]) -> Duel:
    """Compare fold by fold: a side is ahead where the interval of the t distribution leaves out zero."""
    found = paired([ours.fidelity - peer.fidelity for peer, ours in pairs])
    return Duel(found.mean, found.error, {1: "ours", 0: "even", -1: "peer"}[found.sign])


def kind_of(row: Row) -> str:
    """What a peer is: a sum, a tree or a list of rules."""
    if row.is_weighted:
        return "sum"
    return "tree" if row.name in _TREES else "list"


def is_one_sided(panel: Panel, row: Row) -> bool:
    """Whether a method says the same of nearly all rows, though the machine does not."""
    said = np.mean([each.one_class for each in row.known])
    machine = np.mean([each.one_class for each in panel.machine])
    return bool(said >= _ONE_SIDED and machine < _TWO_SIDED)


@dataclass(frozen=True)
class Meeting:
    """A peer on a data set and machine, beside our list of rules and our scorecard."""

    panel: Panel
    row: Row
    as_list: Duel
    as_card: Duel
    is_one_sided: bool

    @property
    def place(self) -> str:
        """Where it is, in words."""
        return f"{self.panel.data}, {self.panel.teacher}: {self.row.name}"


def meetings(panels: Sequence[Panel]) -> list[Meeting]:
    """All peers that answered, on all data sets and machines."""
    return [
        Meeting(panel, row, compare(row.pairs), compare(row.card_pairs), is_one_sided(panel, row))
        for panel in panels
        for row in panel.rows
        if not row.is_ours and row.pairs
    ]


def _side(pairs: Sequence[tuple[Figures, Figures]], duel: Duel) -> list[str]:
    ours = [own for _, own in pairs]
    gap = f"{100 * duel.gap:+.1f}"
    if not np.isnan(duel.error):
        gap += f" ± {100 * duel.error:.1f}"
    sizes = cell(values_of(ours, "size"))
    return [sizes, cell(values_of(ours, "fidelity"), 100.0), gap, duel.who]


def _cells(met: Meeting) -> list[str]:
    row, peer = met.row, [a for a, _ in met.row.pairs]
    cells = [met.panel.data, met.panel.teacher, shown(row), cell(values_of(peer, "size"))]
    cells += [cell(values_of(peer, "conditions")), cell(values_of(peer, "fidelity"), 100.0)]
    return [*cells, *_side(row.pairs, met.as_list), *_side(row.card_pairs, met.as_card)]


_QUESTION = (
    "For each peer, ours with no more rules than it has in the same fold, in two forms. *List*: rules of which one "
    "decides, with a default that counts as a rule on both sides; which of our surrogates and box rules, of what size "
    "and of which class, is chosen by fidelity on fresh rows: mixtures of neighbouring training rows, which the "
    "machine labels. *Card*: `ScoreRules` with `max_rules` the number of the peer's rules, where neither its default "
    "nor the linear terms of RuleFit give us another cut (both help the peer); a cut is a rule, and the card needs no "
    "default. Its threshold is not counted, nor is the intercept of any other sum. No size or setting is searched for "
    "the card. Both forms have what peers have no use for: the machine itself, which labels rows that they draw; the "
    "card also sees how far from its surface a row lies. "
    f"Neither form gets more than {MOST_RULES} rules, however many the peer has. *Difference* is ours less the peer's "
    f"fidelity, in points, paired by fold; a side is ahead where the two-sided {LEVEL:.0%} interval of the t "
    f"distribution for the number of folds (at most {N_FOLDS}, since repetitions share rows) leaves out zero, beyond "
    f"{width(3):.1f} standard errors with three folds and {width(5):.1f} with five. The standard error is the one that "
    "Nadeau and Bengio correct for the training rows that folds share."
)


def _count(duels: Sequence[Duel]) -> str:
    """How often each side is ahead, in words."""
    who = [duel.who for duel in duels]
    above, below = (sum(sign * duel.gap > 1e-12 for duel in duels) for sign in (1, -1))
    return (
        f"ahead in {who.count('ours')}, even in {who.count('even')} and behind in {who.count('peer')} "
        f"of {len(who)} comparisons (by the mean alone ahead in {above} and behind in {below})"
    )


def _named(found: Iterable[tuple[Meeting, Duel]]) -> str:
    return "; ".join(f"{met.place} by {-100 * duel.gap:.1f} points" for met, duel in found)


def _places(met: Sequence[Meeting], form: str, *, nominal: bool) -> str:
    """Every place where a peer is ahead of a form of ours, and where it is in name only."""
    duels = [(each, each.as_card if form == "scorecard" else each.as_list) for each in met]
    lost = [(each, duel) for each, duel in duels if duel.who == "peer"]
    behind = [(each, duel) for each, duel in duels if duel.who == "even" and duel.gap < -1e-12]
    said = f"No peer is ahead of the {form} anywhere."
    if lost:
        said = f"A peer is ahead of the {form} in: {_named(lost)}."
    if behind and nominal:
        said += f" Nominally ahead of the {form}, within the error: {_named(behind)}."
    elif behind:
        said += f" Nominally ahead of the {form}, within the error, a peer is in {len(behind)}."
    return said


def _alike(met: Sequence[Meeting]) -> str:
    """Lists and trees against our list, sums against our scorecard."""
    parts = []
    for form, kinds in (("list", ("list", "tree")), ("scorecard", ("sum",))):
        own = [each for each in met if kind_of(each.row) in kinds]
        if not own:
            continue
        duels = [each.as_card if form == "scorecard" else each.as_list for each in own]
        peers = []
        for kind in kinds:
            names = sorted({each.row.name for each in own if kind_of(each.row) == kind})
            if names:
                peers.append(f"{kind}s ({'; '.join(names)})")
        parts.append(f"our {form} against {' and '.join(peers)} is {_count(duels)}")
    return f"Like with like: {'; '.join(parts)}."


def _one_sided(met: Sequence[Meeting]) -> str:
    said = []
    for name in dict.fromkeys(each.row.name for each in met if each.is_one_sided):
        own = [each for each in met if each.row.name == name and each.is_one_sided]
        share = np.mean([f.one_class for each in own for f in each.row.known])
        machine = np.mean([f.one_class for each in own for f in each.panel.machine])
        everywhere = sum(each.row.name == name for each in met)
        some = "" if len(own) == everywhere else f"in {len(own)} of its {everywhere} comparisons "
        said.append(
            f"{name} says {some}one and the same class of {share:.1%} of the held-out rows by its own `predict` (the "
            f"machine of {machine:.1%}), so that being ahead of it means little: these {len(own)} are in the table, "
            "and not counted here."
        )
    return " ".join(said)


def _any_rule(met: Sequence[Meeting]) -> str:
    own = [each for each in met if each.row.name == ANY_RULE]
    if not own:
        return ""
    return (
        f"{ANY_RULE}: our reading of its rules and not its answer, so that these {len(own)} comparisons are not "
        f"counted either; there the list is {_count([each.as_list for each in own])}, the scorecard is "
        f"{_count([each.as_card for each in own])}."
    )


def ahead_section(panels: Sequence[Panel]) -> Section:
    """Ours at no more rules than each peer, and sentences that name every place where a peer is ahead."""
    met = meetings(panels)
    table = Table(HEADER, [_cells(each) for each in met])
    counted = [each for each in met if not each.is_one_sided and each.row.name != ANY_RULE]
    first = (
        f"our list of rules is {_count([each.as_list for each in counted])}; "
        f"our scorecard is {_count([each.as_card for each in counted])}."
    )
    chance = "Comparisons share folds, and one answer of ours meets many peers: their number is no number of trials."
    parts = [first[0].upper() + first[1:], _alike(counted), _one_sided(met), _any_rule(met), chance]
    parts += [_places(counted, "scorecard", nominal=True), _places(counted, "list", nominal=False)]
    verdict = " ".join(part for part in parts if part)
    return Section("At no more rules than each peer", _QUESTION, table, verdict, finding=first)
