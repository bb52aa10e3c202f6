"""What was wanted beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.page import Table
from benchmarks.stranger_rules import cases, default_way, learners, program, proofs
from benchmarks.stranger_rules.records import Difference, Records

__all__ = ["Claim", "claims", "claims_table", "of_size"]

ACCURACY, BALANCED = "accuracy", "balanced accuracy"


@dataclass(frozen=True)
class Claim:
    """Something that was wanted; it is met, missed, or not measured (None)."""

    text: str
    wanted: str
    measured: str
    met: bool | None


def of_size(records: Records, most: int) -> list[str]:
    """Name the peers that were measured with at most so many rules, and trees and stumps of that size."""
    named = {f"tree, {most} leaves", f"boosted stumps, {most}"}
    named |= {name for name, (_, _, size) in learners.PEERS.items() if size == most}
    return [name for name in records.methods(learners.TOPIC) if name in named]


def _said(found: Difference) -> str:
    if not found.tables:
        return "not measured"
    signs = f"ahead on {found.ahead} and behind on {found.behind} of {found.tables} tables"
    return f"{found.in_points()} points, {signs}"


def _ahead(text: str, wanted: float, found: Difference) -> Claim:
    met = None if not found.tables else bool(100 * found.mean >= wanted)
    return Claim(text, f"at least {wanted:+.1f} points", _said(found), met)


def _card(records: Records) -> list[Claim]:
    topic, card, boxes = proofs.TOPIC, "card, 100 cuts", "boxes, 100 rules"
    share = records.mean(topic, card, "proved")
    if np.isnan(share):
        return []
    gain = records.difference(topic, card, boxes, "proved")
    rest = records.mean(topic, boxes, "proved")
    measured = f"{share:.0%} ({rest:.0%} by 100 boxes: {_said(gain)})"
    points, wrong = (
        sum(r.figures.get(name, 0.0) for r in records if r.topic == topic)
        for name in ("points", "contradictions")
    )
    wrong += sum(r.figures.get("wrong rows", 0.0) for r in records if r.topic == topic)
    found = [
        Claim("card of 100 cuts: held-out rows proved", "55 %", measured, share >= 0.55),
        Claim(
            "card: contradictions inside proved cells",
            "0 of 1,000,000 points",
            f"{wrong:,.0f} of {points:,.0f} points",
            wrong == 0 and points >= 1e6 if wrong or points >= 1e6 else None,
        ),
    ]
    seconds = records.mean(proofs.SPEED, card, "seconds")
    if not np.isnan(seconds):
        text = "card of 100 cuts at 1,000 x 60"
        found.append(Claim(text, "below 1 s", f"{seconds:.2f} s", seconds < 1.0))
    return found


def _program(records: Records) -> list[Claim]:
    found = []
    for rows, columns, most in program.SIZES:
        name = f"{rows:,} x {columns}"
        seconds, gap = (
            records.by_table(program.TOPIC, "RuleSVC, the whole program", m).get(name, np.nan)
            for m in ("seconds", "gap")
        )
        if np.isnan(seconds):
            continue
        text = f"program over all rules, 2 conditions, ten times the smallest C, {name}"
        wanted = f"gap at most 1e-6 in {most:.0f} s CPU"
        met = bool(seconds < most and gap <= 1e-6)
        found.append(Claim(text, wanted, f"gap {gap:.1e} in {seconds:.1f} s", met))
    return found


def _rules(records: Records) -> list[Claim]:
    topic, few, many = learners.TOPIC, "RuleSVC, 15 rules", "RuleSVC, 30 rules"
    if few not in records.methods(topic):
        return []

    def against(one: str, other: str, measure: str = ACCURACY) -> Difference:
        return records.difference(topic, one, other, measure)

    found = [
        _ahead(f"{few}, against a tree of 15 leaves", 2.0, against(few, "tree, 15 leaves")),
        _ahead(f"{few}, against 15 boosted stumps", 2.0, against(few, "boosted stumps, 15")),
    ]
    rivals = of_size(records, 15)
    leads = {name: against(few, name) for name in rivals}
    best = records.nearest(topic, few, rivals, ACCURACY)
    hindsight = records.difference_to_best(topic, few, rivals, ACCURACY)
    unclear = {name: lead for name, lead in leads.items() if not lead.mean > lead.error}
    told = "; ".join(f"not against {name} ({lead.in_points()})" for name, lead in unclear.items())
    found += [
        Claim(
            f"{few}, against each of {len(rivals)} peers of at most 15 rules",
            "ahead by more than the standard error",
            f"least against {best}: {_said(leads[best])}; against the best of each table in hindsight "
            f"{hindsight.in_points()}" + (f"; {told}" if told else ""),
            not unclear,
        ),
        _ahead(f"{many}, against gradient boosting", -1.0, against(many, "gradient boosting")),
        _ahead(f"{many}, against EBM", -1.0, against(many, "EBM")),
        _ahead(
            f"{learners.FREE}, against gradient boosting",
            -0.5,
            against(learners.FREE, "gradient boosting"),
        ),
        _ahead(
            f"{learners.BALANCED}, against balanced SVC in balanced accuracy",
            -1.0,
            against(learners.BALANCED, "SVC, balanced", BALANCED),
        ),
    ]
    return found


def _explanations(records: Records) -> list[Claim]:
    topic, found = cases.TOPIC, []
    for kind in ("linear", "RBF"):
        ours, anchors = f"{cases.MEASURED} ({kind})", f"{cases.ANCHORS} ({kind})"
        means = {
            m: records.means(topic, ours, anchors, m)
            for m in ("precision", "conditions", "coverage", "seconds")
        }
        (p, q), (c, d), (v, w), (s, t) = means.values()
        if np.isnan([p, c, v, s]).any():
            continue
        met = bool(p >= q and c <= d and v >= w and 10 * s <= t)
        measured = (
            f"precision {p:.1%} and {q:.1%}, {c:.1f} and {d:.1f} conditions, coverage {v:.1%} and {w:.1%}, "
            f"{1000 * s:.1f} and {1000 * t:.1f} ms ({t / s:.0f} times as fast)"
        )
        text = f"measured explanations of {kind} machines, against anchors"
        wanted = "precision, conditions and coverage no worse, 10 times as fast"
        found.append(Claim(text, wanted, measured, met))
    more = [r.figures["more than sorting"] for r in records if r.topic == cases.PROVED]
    if more:
        count = sum(r.figures["cases"] for r in records if r.topic == cases.PROVED)
        conditions, features = (
            records.mean(cases.PROVED, "explain, proved", m) for m in ("conditions", "features")
        )
        measured = (
            f"{sum(more):.0f} of {count:,.0f} cases; {conditions:.1f} of {features:.1f} features"
        )
        text = "proved explanations: more conditions than sorting needs"
        found.append(Claim(text, "never", measured, sum(more) == 0))
    speed = records.mean(cases.SPEED, "explain, proved", "cases a second")
    if not np.isnan(speed):
        text = "proved explanations of a plane"
        found.append(Claim(text, "10,000 a second", f"{speed:,.0f} a second", speed >= 1e4))
    return found


def _default_way(records: Records) -> list[Claim]:
    topic, ours = default_way.TOPIC, default_way.OURS
    found = [r.figures for r in records if (r.topic, r.method) == (topic, ours)]
    if not found:
        return []
    lines, seconds = (max(one[m] for one in found) for m in ("lines", "seconds"))
    answered = min(one["answered"] for one in found)
    named = (ours, default_way.DENSE, default_way.CURVED)
    own, dense, curved = (records.mean(topic, name, ACCURACY) for name in named)
    is_page = lines <= default_way.PAGE and answered == 1
    return [
        Claim(
            "the default way on a credit table of 1,000 x 20 with 13 categorical columns",
            "one page, a class for every row, within 1 point of the dense linear SVM, below 10 s CPU",
            f"at most {lines:.0f} lines, {answered:.0%} of rows with a class, right on {own:.1%} "
            f"(dense linear SVM {dense:.1%}, RBF {curved:.1%}), at most {seconds:.1f} s",
            bool(is_page and own >= dense - 0.01 and seconds < 10),
        )
    ]


def claims(records: Records) -> list[Claim]:
    """Hold what was measured against what was wanted.

    Parameters
    ----------
    records : Records
        All of a run.

    Returns
    -------
    list of Claim
        Those that were measured.
    """
    parts = (_card, _program, _rules, _explanations, _default_way)
    return [claim for part in parts for claim in part(records)]


def claims_table(found: Sequence[Claim]) -> Table:
    """Lay claims out, those that are missed in capitals."""
    words = {True: "met", False: "MISSED", None: "not measured"}
    return Table(
        ["what", "wanted", "measured", "verdict"],
        [[c.text, c.wanted, c.measured, words[c.met]] for c in found],
    )
