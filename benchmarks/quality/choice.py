"""What to choose: for some needs the method that did best, ours or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.page import Section, Table
from benchmarks.quality.folds import TEACHERS
from benchmarks.quality.measure import Panel, Row
from benchmarks.quality.single import EXPLAINED, SingleFigures

__all__ = ["Entry", "Proved", "choice_section", "entries", "proofs"]

HEADER = [
    "need",
    "machine",
    "choose",
    "measured",
    "best of the other side",
    "measured there",
    "difference",
]
MEASURES = ("fidelity", "accuracy", "auc", "size", "seconds")
# A tree of 16 leaves is the usual size of a surrogate; seven rules are what people are said to keep in mind.
MANY, FEW = 16, 7
# Points of fidelity that one may give for speed.
_GIVEN = 1.0
Singles = Mapping[tuple[str, str], Sequence[SingleFigures]]


@dataclass(frozen=True)
class Entry:
    """A method on all sets with one kind of machine: the mean over folds of each set, and what they are on average."""

    name: str
    is_ours: bool
    is_sum: bool
    by_set: Mapping[str, Sequence[float]]

    def mean(self, measure: str) -> float:
        """The mean over sets."""
        return float(np.mean(self.by_set[measure]))

    @property
    def fidelity(self) -> float:
        """Compute how often it predicts what the machine predicts."""
        return self.mean("fidelity")

    @property
    def auc(self) -> float:
        """How well it ranks; no number where it gives no score somewhere."""
        return self.mean("auc")

    @property
    def rules(self) -> float:
        """How many rules, with the default where a row needs it."""
        return self.mean("size")

    def in_words(self) -> str:
        """Its figures in words."""
        ranks = "" if np.isnan(self.auc) else f"AUC {100 * self.auc:.1f} %, "
        return (
            f"{100 * self.fidelity:.1f} % faithful, {100 * self.mean('accuracy'):.1f} % right, {ranks}"
            f"{self.rules:.1f} rules, {self.mean('seconds'):.3f} s"
        )


def _in_all(panels: Sequence[Panel]) -> list[list[Row]]:
    """The methods that answered on all panels, each with its rows."""
    found = []
    for row in panels[0].rows:
        rows = [own for panel in panels for own in panel.rows if own.name == row.name and own.known]
        if len(rows) == len(panels):
            found.append(rows)
    return found


def _common(panels: Sequence[Panel], methods: Sequence[Sequence[Row]]) -> list[list[int]]:
    """The folds of each panel that all these methods have."""
    return [
        [k for k in range(len(panel.machine)) if all(m[i].figures[k] is not None for m in methods)]
        for i, panel in enumerate(panels)
    ]


def entries(panels: Sequence[Panel]) -> list[Entry]:
    """All methods on the folds that all of them have, so that nobody gets easier ones."""
    methods = _in_all(panels)
    common = _common(panels, methods)
    if not methods or not all(common):
        return []

    def by_set(rows: Sequence[Row], measure: str) -> list[float]:
        kept = [[row.figures[k] for k in ks] for row, ks in zip(rows, common, strict=True)]
        return [float(np.mean([getattr(f, measure) for f in own if f])) for own in kept]

    return [
        Entry(
            rows[0].name,
            rows[0].is_ours,
            any(row.is_weighted for row in rows),
            {measure: by_set(rows, measure) for measure in MEASURES},
        )
        for rows in methods
    ]


@dataclass(frozen=True)
class Difference:
    """What is chosen less the best of the other side: the mean over sets, and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, best: Entry, rival: Entry, measure: str) -> Difference:
        """Set by set."""
        differences = np.subtract(best.by_set[measure], rival.by_set[measure])
        error = (
            float(differences.std(ddof=1) / np.sqrt(len(differences)))
            if len(differences) > 1
            else float("nan")
        )
        return cls(float(differences.mean()), error)

    @property
    def is_clear(self) -> bool:
        """Whether it is more than twice its error."""
        return self.mean > 2.0 * self.error

    def in_words(self) -> str:
        """In points."""
        error = "" if np.isnan(self.error) else f" ± {100 * self.error:.1f}"
        return f"{100 * self.mean:+.1f}{error} points"


@dataclass(frozen=True)
class Need:
    """What somebody wants: who comes into question, and who is best at it."""

    text: str
    fits: Callable[[Entry, Sequence[Entry]], bool]
    measure: str

    def worth(self, entry: Entry) -> float:
        """More is better."""
        return entry.mean(self.measure) * (-1.0 if self.measure == "seconds" else 1.0)

    def difference(self, best: Entry, rival: Entry) -> tuple[str, bool]:
        """How far the best is ahead in this, in words, and whether that is clear."""
        if self.measure == "seconds":
            # Seconds are of other sizes on each set, and not a matter of chance.
            return f"{rival.mean('seconds') / best.mean('seconds'):.1f} times as quick", True
        found = Difference.of(best, rival, self.measure)
        return found.in_words(), found.is_clear


def _is_near_best(entry: Entry, everyone: Sequence[Entry]) -> bool:
    return entry.fidelity >= max(each.fidelity for each in everyone) - _GIVEN / 100


NEEDS = (
    Need(
        f"most faithful, at most {MANY} rules",
        lambda e, _: e.rules <= MANY,
        "fidelity",
    ),
    Need(
        f"most faithful, at most {FEW} rules",
        lambda e, _: e.rules <= FEW,
        "fidelity",
    ),
    Need(
        f"rules each of which stands alone, at most {MANY}",
        lambda e, _: e.rules <= MANY and not e.is_sum,
        "fidelity",
    ),
    Need("most faithful, however many rules", lambda _e, _: True, "fidelity"),
    Need("most often right, however many rules", lambda _e, _: True, "accuracy"),
    # Who gives no score, or not always, is not compared by it.
    Need("best at ranking cases (AUC)", lambda e, _: not np.isnan(e.auc), "auc"),
    Need(
        f"quickest, within {_GIVEN:.0f} point of the most faithful",
        _is_near_best,
        "seconds",
    ),
)


@dataclass(frozen=True)
class Proved:
    """A method with proofs on the sets where it was run, and how much of their held-out rows it covers."""

    name: str
    is_ours: bool
    sets: tuple[str, ...]
    proved: float
    least: float
    most: float
    rules: float
    conditions: float

    def share(self, panels: Sequence[Panel]) -> str:
        """How much it covers, on average and by set; the sets are named where they are not all."""
        named = f" of {' and '.join(self.sets)}" if len(self.sets) < len(panels) else ""
        several = f" ({self.least:.0%} to {self.most:.0%} by set)" if len(self.sets) > 1 else ""
        return f"{self.proved:.0%} of the rows{named}{several}"


def proofs(panels: Sequence[Panel]) -> list[Proved]:
    """All methods that proved something; first those that ran on most sets, of these the one that covers most."""
    found = []
    for name in dict.fromkeys(row.name for panel in panels for row in panel.rows):
        rows = {panel.data: row for panel in panels for row in panel.rows if row.name == name}
        known = {data: row for data, row in rows.items() if row.known}
        # Proofs take their time, so that such a method may have been run on few sets; on these all its folds count.
        proved = [np.mean([f.proved for f in row.known]) for row in known.values()]
        if sum(proved) == 0:
            continue
        rules, conditions = (
            float(np.mean([np.mean([getattr(f, m) for f in row.known]) for row in known.values()]))
            for m in ("size", "conditions")
        )
        shares = float(np.mean(proved)), float(min(proved)), float(max(proved))
        is_ours = next(iter(known.values())).is_ours
        found.append(Proved(name, is_ours, tuple(known), *shares, rules, conditions))
    return sorted(found, key=lambda each: (-len(each.sets), -each.proved))


def _proof_row(teacher: str, panels: Sequence[Panel]) -> list[str]:
    """The rules with the largest share of held-out rows under a proof."""
    need = ["rules that are never wrong about the machine", teacher]
    found = proofs(panels)
    if not found:
        return [*need, "-", "no method that was run has proofs", "-", "-", "-"]
    best = found[0]
    others = [each for each in found if each.is_ours != best.is_ours]
    text = (
        f"100 % faithful by proof where a rule fires: {best.share(panels)}, {best.rules:.1f} rules, "
        f"{best.conditions:.0f} conditions ({best.conditions / best.rules:.0f} a rule)"
    )
    if not others:
        return [*need, best.name, text, "-", "no peer that was run offers proofs", "-"]
    rival = others[0]
    return [*need, best.name, text, rival.name, rival.share(panels), "-"]


def _single_rows(singles: Singles) -> list[list[str]]:
    """Boxes around single cases: the widest of those with a proof, beside the others."""
    rows = []
    for teacher in TEACHERS:
        by_method = {
            name: each for (kind, name), each in singles.items() if kind == teacher and each
        }
        proved = {
            name for name, each in by_method.items() if all(figures.proved for figures in each)
        }
        others = sorted(set(by_method) - proved)
        if not proved:
            continue
        best = max(sorted(proved), key=lambda name: _mean(by_method[name], "coverage"))
        rest = (
            (others[0], _single_said(by_method[others[0]]))
            if others
            else ("-", "nobody else was measured")
        )
        need = (
            f"one case, by proof: a box in which the machine says the same ({', '.join(EXPLAINED)})"
        )
        rows.append([need, teacher, best, _single_said(by_method[best]), *rest, "-"])
    return rows


def _mean(figures: Sequence[SingleFigures], measure: str) -> float:
    return float(np.mean([getattr(each, measure) for each in figures]))


def _single_said(figures: Sequence[SingleFigures]) -> str:
    proved = " by proof" if all(each.proved for each in figures) else ""
    held_out = [each.held_out for each in figures if not np.isnan(each.held_out)]
    rows = (
        f"and {np.mean(held_out):.1%} of held-out rows in it"
        if held_out
        else "with no held-out row in it"
    )
    count = "1 box" if len(figures) == 1 else f"{len(figures)} boxes"
    return (
        f"{count}; true on {_mean(figures, 'precision'):.1%} of the box{proved} {rows}; covers "
        f"{_mean(figures, 'coverage'):.1%} of rows by {_mean(figures, 'conditions'):.1f} conditions, "
        f"{_mean(figures, 'seconds'):.3f} s"
    )


_QUESTION = (
    "For five minutes: what did best, ours or not, as the mean over {} ({} and {} machines apart). Only methods that "
    "answered on all of them come into question, on the folds that all of these have; proofs count on the sets where "
    "there was time for them. Ours may ask the machine about rows that they draw; peers learn from what it says of the "
    "training rows, and *Imitating a machine that all may ask* has those that may ask as well. Peers run as they come; "
    "trees, BoostedRules and FIGS in other sizes as well. None of these sets had a part in tuning. *Difference* is "
    "that of the two in what is needed, its mean over sets and the standard error of that: below twice the error, take "
    "whichever you like. The sections "
    "of the page have each method on each set. The best of many is flattered a little by being chosen on the rows it "
    "is judged by. The default counts as a rule where a row needs it."
)


def choice_section(panels: Sequence[Panel], singles: Singles) -> Section:
    """For each need and kind of machine the best method, the best of the other side, and what they measured."""
    table = Table(HEADER)
    peers: list[str] = []
    unsure = 0
    firsts: dict[str, list[str]] = {}
    parts = {t: [p for p in panels if p.teacher == t] for t in TEACHERS}
    parts = {t: own for t, own in parts.items() if own}
    by_teacher = {t: entries(own) for t, own in parts.items()}
    table.rows += [_proof_row(t, own) for t, own in parts.items()]
    for need in NEEDS:
        for teacher, found in by_teacher.items():
            fits = [entry for entry in found if need.fits(entry, found)]
            if not fits:
                continue
            best = max(fits, key=need.worth)
            others = [entry for entry in fits if entry.is_ours != best.is_ours]
            rival = max(others, key=need.worth) if others else None
            cells, is_clear = ["-", "nobody fits", "-"], True
            if rival is not None:
                text, is_clear = need.difference(best, rival)
                cells = [rival.name, rival.in_words(), text]
            table.rows.append([need.text, teacher, best.name, best.in_words(), *cells])
            firsts.setdefault(best.name, []).append(f"{need.text} ({teacher})")
            if not best.is_ours:
                sure = "" if is_clear else ", within twice the error"
                peers.append(f"{need.text} ({teacher} machine): {best.name}{sure}")
            elif not is_clear:
                unsure += 1
    table.rows += _single_rows(singles)
    sets = ", ".join(dict.fromkeys(panel.data for panel in panels))
    verdict = "For none of these needs a peer is the better choice."
    if peers:
        verdict = f"A peer is the better choice for: {'; '.join(peers)}."
    elif not firsts:
        verdict = "Rules alone were not compared: there is no fold that all methods have."
    if unsure:
        verdict += f" Ours is ahead within twice the error only in {unsure}."
    verdict += f" {_compared(parts)}"
    return Section(
        "What to choose",
        _QUESTION.format(sets, *TEACHERS),
        table,
        verdict,
        finding=_finding(parts, firsts, len(peers)),
    )


def _compared(parts: Mapping[str, Sequence[Panel]]) -> str:
    """On how many folds methods were compared, and which were not because they lack a set."""
    folds = [len(own) for panels in parts.values() for own in _common(panels, _in_all(panels))]
    few, many = min(folds), max(folds)
    text = f"Compared on {few if few == many else f'{few} to {many}'} folds of each set"
    everyone = [row for panels in parts.values() for panel in panels for row in panel.rows]
    there = {rows[0].name for panels in parts.values() for rows in _in_all(panels)}
    absent = sorted({r.name for r in everyone if r.known and not r.is_ours} - there)
    return f"{text}; peers that lack a set, and are left out: {', '.join(absent) or 'none'}."


def _finding(
    parts: Mapping[str, Sequence[Panel]], firsts: Mapping[str, Sequence[str]], peers: int
) -> str:
    """The proofs, who is first most often, and how often a peer is."""
    total = sum(map(len, firsts.values()))
    found = []
    for teacher, panels in parts.items():
        for best in proofs(panels)[:1]:
            article = "an" if teacher == "RBF" else "a"
            share = f"on {best.share(panels)}"
            found.append(f"never wrong about {article} {teacher} machine, {share}: {best.name}")
    if firsts:
        name = max(firsts, key=lambda each: len(firsts[each]))
        found.append(
            f"by rules alone, first for {len(firsts[name])} of {total} needs and machines: {name}"
        )
    found.append(
        f"a peer is the better choice for {peers} of {total}"
        if total
        else "rules alone were not compared"
    )
    return "; ".join(found) + "."
