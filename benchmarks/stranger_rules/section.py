"""The sections about strangers' tables, for the page of all measurements and for a page of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.page import Ratio, Section, Table, write_page
from benchmarks.peers.__main__ import version_of
from benchmarks.quote import (
    BEGIN_STRANGERS,
    QUOTED_STRANGERS,
    quote,
    quoted_stranger_choice,
    quoted_strangers,
)
from benchmarks.stranger_rules import askers, cases, learners, proofs
from benchmarks.stranger_rules.claims import ACCURACY, BALANCED, claims, claims_table, of_size
from benchmarks.stranger_rules.folds import N_FOLDS
from benchmarks.stranger_rules.records import EARLIER, Difference, Records
from benchmarks.stranger_rules.run import FAILED, FULL, QUICK, measure

__all__ = ["CHOICE", "PAGE", "RESULTS", "page_sections", "sections", "write_results"]

FOLDER = Path(__file__).resolve().parents[1]
RESULTS, PAGE = FOLDER / "strangers.json", FOLDER / "STRANGERS.md"
README = FOLDER.parent / "README.md"
DOCUMENTATION = FOLDER.parent / "docs" / "explanation" / "measured.md"
CHOICE = QUOTED_STRANGERS[0]
_OURS = tuple(learners.OURS)
_PEERS = ("ruleopt", "rulekit", "imodels", "fasterrisk", "interpret", "alibi")


def _percent(value: float) -> str:
    return "-" if np.isnan(value) else f"{100 * value:.1f}"


def _signs(found: Difference) -> str:
    return f"{found.in_points()} ({found.ahead} : {found.behind} of {found.tables})"


def _absent(records: Records) -> str:
    """Who gave no answer, how often and why."""
    found = {name: records.reasons(learners.TOPIC, name) for name in learners.PEERS}
    return "".join(
        f" {name} gave no answer on {len(reasons)} folds ({reasons[0]})."
        for name, reasons in found.items()
        if reasons
    )


def learner_section(records: Records) -> Section:
    """Who is right how often, at which size, and by how much `RuleSVC` differs from each."""
    topic, few, many = learners.TOPIC, _OURS[0], _OURS[1]
    names = records.methods(topic)
    header = ["method", "tables", "right %", "balanced %", "AUC %", "rules", "conditions"]
    header += ["s a fold", f"{few} less this", f"{many} less this"]
    table = Table(header)
    for name in names:
        sizes = [records.mean(topic, name, m) for m in ("rules", "conditions")]
        lead = [records.difference(topic, own, name, ACCURACY) for own in (few, many)]
        table.rows.append(
            [
                name,
                str(len(records.by_table(topic, name, ACCURACY))),
                *(_percent(records.mean(topic, name, m)) for m in (ACCURACY, BALANCED, "AUC")),
                *("-" if np.isnan(size) else f"{size:.1f}" for size in sizes),
                f"{records.mean(topic, name, 'seconds'):.2f}",
                *(
                    "-" if name == own else _signs(found)
                    for own, found in zip((few, many), lead, strict=True)
                ),
            ]
        )
    compared = sum(cell not in ("-", "") for row in table.rows for cell in row[-2:])
    beyond = sum(
        abs(found.mean) > 2 * found.error
        for own in (few, many)
        for name in names
        if name != own
        for found in [records.difference(topic, own, name, ACCURACY)]
    )
    verdict = (
        f"{compared} comparisons, of which {beyond} differ by more than twice their standard error over tables; by "
        f"chance alone about {0.05 * compared:.0f} would.{_absent(records)}"
    )
    question = (
        "Shares of held-out rows, means over tables of the means over folds. `RuleSVC` sees the table as it is, with "
        "categories and missing values; everybody else numbers: categories as 0/1 columns, missing values as the "
        "median or most frequent category of the training rows. Peers run as they come, but for the number of rules; a "
        "rule of `RuleSVC` has at most two conditions. *Plane and 15 rules* adds a linear term for each column, which "
        "are not counted as rules. Behind the mean difference in points stands its standard error over tables, in "
        "brackets on how many tables ours is ahead and behind; slow peers have fewer folds, and are compared on these."
    )
    title = "Learning rules on strangers' tables"
    best = records.nearest(topic, few, of_size(records, 15), ACCURACY)
    found = records.difference(topic, few, best, ACCURACY)
    boosted = records.difference(topic, many, "gradient boosting", ACCURACY)
    finding = (
        f"15 rules of `RuleSVC` are right on {records.mean(topic, few, ACCURACY):.1%} of held-out rows of "
        f"{len(records.tables(topic))} tables, {found.in_points()} points beside the nearest peer of that size "
        f"({best}); "
        f"30 rules {boosted.in_points()} beside gradient boosting."
    )
    ratios = {f"right, {name}": Ratio(records.mean(topic, name, ACCURACY)) for name in _OURS}
    return Section(title, question, table, verdict, finding, ratios)


_NEEDS = (
    ("at most 15 rules", 15),
    ("at most 30 rules", 30),
)


def choice_section(records: Records) -> Section:
    """For some needs the learner that is most often right, ours or not."""
    topic = learners.TOPIC
    table = Table(
        [
            "need",
            "choose",
            "right %",
            "best of the other side",
            "right % there",
            "difference",
            "tables",
        ]
    )
    peers = 0
    for text, most in _NEEDS:
        ours = [f"RuleSVC, {most} rules"]
        peers += _choose(records, table, f"{text}, most often right", ours, of_size(records, most))
    anything = [name for name in records.methods(topic) if "balanced" not in name]
    own = [name for name in anything if name in _OURS]
    others = [name for name in anything if name not in _OURS]
    peers += _choose(records, table, "most often right, in whatever form", own, others)
    fair = [name for name in records.methods(topic) if "balanced" in name]
    ours = [name for name in fair if name in _OURS]
    rest = [name for name in fair if name not in _OURS]
    peers += _choose(records, table, "both classes matter alike", ours, rest, BALANCED)
    question = (
        f"Computed on {len(records.tables(topic))} tables that had no part in tuning. *Difference* is that of the two, "
        "its mean over tables and the standard error of that: below twice the error, take whichever you like. The best "
        "of many is flattered a little by being chosen on the rows it is judged by."
    )
    verdict = f"A peer is the better choice for {peers} of {len(table.rows)} needs."
    first = table.rows[0]
    finding = f"{first[0]}: {first[1]} ({first[5]} points beside {first[3]}); {verdict[0].lower()}{verdict[1:]}"
    return Section(CHOICE, question, table, verdict, finding)


def _choose(
    records: Records,
    table: Table,
    need: str,
    ours: Sequence[str],
    others: Sequence[str],
    measure: str = ACCURACY,
) -> int:
    """Add a row for a need; 1 where a peer is chosen."""
    topic = learners.TOPIC
    # Of ours the one that is furthest ahead of its nearest rival.
    pairs = [(own, records.nearest(topic, own, others, measure)) for own in ours]
    own, rival = max(
        pairs, key=lambda pair: records.difference(topic, pair[0], pair[1], measure).mean
    )
    lead = records.difference(topic, own, rival, measure)
    first, second = (own, rival) if lead.mean >= 0 else (rival, own)
    right, right_there = records.means(topic, first, second, measure)
    table.rows.append(
        [
            need,
            first,
            _percent(right),
            second,
            _percent(right_there),
            records.difference(topic, first, second, measure).in_points(),
            str(lead.tables),
        ]
    )
    return int(first == rival)


def proof_section(records: Records) -> Section:
    """How many held-out rows a card decides with a proof, by the number of cuts, beside boxes."""
    topic = proofs.TOPIC
    header = ["table"] + [f"card, {n} cuts %" for n in proofs.CUTS]
    table = Table(header + [f"boxes, {n} rules %" for n in proofs.CUTS])
    names = [f"card, {n} cuts" for n in proofs.CUTS] + [f"boxes, {n} rules" for n in proofs.CUTS]
    for one in records.tables(topic):
        values = [records.by_table(topic, name, "proved").get(one, np.nan) for name in names]
        table.rows.append([one, *(_percent(value) for value in values)])
    means = [records.mean(topic, name, "proved") for name in names]
    table.rows.append(["mean", *(_percent(value) for value in means)])
    gain = records.difference(topic, names[3], names[-1], "proved")
    points, wrong = (
        sum(r.figures.get(name, 0.0) for r in records if r.topic == topic)
        for name in ("points", "contradictions")
    )
    verdict = (
        f"100 cuts prove {gain.in_points()} points more than 100 boxes, more on {gain.ahead} and less on {gain.behind} "
        f"of {gain.tables} tables. Of {points:,.0f} drawn points inside proved cells the machine contradicts "
        f"{wrong:,.0f}."
    )
    question = (
        "Share of held-out rows whose class is proved to be what a dense plane predicts (a linear SVM on all columns, "
        "with categories as 0/1 columns and imputed missing values), by a card with at least and at most points, or by "
        "boxes of `RuleExtractor`, those that cover most first, however few rows a box has (by default it needs more "
        "evidence). Points are drawn within the ranges of the training rows, evenly or by mixing values of "
        "different rows; a third of them in the cells of proved rows, at the ends of cells and a digit beside them."
    )
    finding = (
        f"a card of 100 cuts proves what a dense plane predicts on {means[3]:.0%} of held-out rows, where 100 boxes "
        f"prove {means[-1]:.0%}; {wrong:,.0f} of {points:,.0f} points inside proved cells contradict it."
    )
    ratios = {f"proved, {names[3]}": Ratio(means[3])}
    return Section("Cards with proof", question, table, verdict, finding, ratios)


def fidelity_section(records: Records) -> Section:
    """How faithful few rules are, where everybody may ask the machine about drawn rows."""
    topic = askers.TOPIC
    table = Table(["method", "machine", "faithful %", "right %", "s", "ScoreRules less this"])
    for name in records.methods(topic):
        method, _, kind = name.rpartition(" (")
        kind = kind.rstrip(")")
        lead = records.difference(topic, f"ScoreRules, 15 cuts ({kind})", name, "fidelity")
        shown = "-" if method.startswith("ScoreRules") else _signs(lead)
        table.rows.append(
            [
                method,
                kind,
                _percent(records.mean(topic, name, "fidelity")),
                _percent(records.mean(topic, name, ACCURACY)),
                f"{records.mean(topic, name, 'seconds'):.2f}",
                shown,
            ]
        )
    parts = []
    for kind in askers.MACHINES:
        ours = f"ScoreRules, 15 cuts ({kind})"
        askers_only = [
            name
            for name in records.methods(topic)
            if name.endswith(f"drawn rows ({kind})") and not name.startswith("RuleSVC")
        ]
        best = records.nearest(topic, ours, askers_only, "fidelity")
        lead = records.difference(topic, ours, best, "fidelity")
        parts.append(f"{lead.in_points()} points beside {best}")
    question = (
        f"*Drawn rows* are {askers.DRAWN:,} rows around the training rows, drawn as `ScoreRules` draws its own, with "
        "what the machine says of them: peers may ask the machine here as ours may. Faithful is the share of held-out "
        "rows on which a method says what the machine says."
    )
    verdict = f"A card of 15 cuts is {' and '.join(parts)}."
    title = "Imitating a machine that all may ask"
    return Section(title, question, table, verdict, f"a card of 15 cuts is {' and '.join(parts)}.")


def case_section(records: Records) -> Section:
    """Explanations of the same cases, ours and anchors, and those with a proof."""
    topic = cases.TOPIC
    table = Table(["method", "cases", "conditions", "coverage %", "precision %", "ms a case"])
    for name in records.methods(topic):
        count = sum(r.figures["cases"] for r in records if (r.topic, r.method) == (topic, name))
        table.rows.append(
            [
                name,
                f"{count:.0f}",
                f"{records.mean(topic, name, 'conditions'):.2f}",
                _percent(records.mean(topic, name, "coverage")),
                _percent(records.mean(topic, name, "precision")),
                f"{1000 * records.mean(topic, name, 'seconds'):.1f}",
            ]
        )
    parts = []
    for kind in askers.MACHINES:
        ours, anchors = (f"{one} ({kind})" for one in (cases.MEASURED, cases.ANCHORS))
        lead = {m: records.difference(topic, ours, anchors, m) for m in ("coverage", "precision")}
        fewer = records.difference(topic, ours, anchors, "conditions")
        parts.append(
            f"{kind}: {fewer.mean:+.2f} ± {fewer.error:.2f} conditions, coverage {lead['coverage'].in_points()} and "
            f"precision {lead['precision'].in_points()} points beside anchors"
        )
    question = (
        "Around each case conditions under which the machine is said to predict the same class; ours by an exact "
        "search for the fewest conditions of 95 % precision on training rows, anchors by alibi. *Coverage* is the "
        "share of other held-out rows under the conditions, *precision* the share of these, over all cases of a table, "
        "that the machine gives the same class; means over tables."
    )
    verdict = "; ".join(parts) + "."
    verdict = verdict[0].upper() + verdict[1:]
    return Section(
        "Explaining cases on strangers' tables", question, table, verdict, f"{'; '.join(parts)}."
    )


def verdict_section(records: Records) -> Section:
    """All that was wanted, and whether it was met."""
    found = claims(records)
    met = sum(claim.met is True for claim in found)
    missed = [claim.text for claim in found if claim.met is False]
    folds = sorted({r.fold for r in records if r.topic == learners.TOPIC})
    question = (
        f"Tables that had no part in tuning (`benchmarks/public_tables.py` has the rule by which they were chosen), "
        f"machines frozen, folds {', '.join(str(k + 1) for k in folds)} of {N_FOLDS}; ± is a standard error over "
        f"tables. Peers: {', '.join(f'{peer} {version_of(peer)}' for peer in _PEERS)}."
    )
    verdict = f"{met} of {len(found)} are met." + (
        f" Missed: {'; '.join(missed)}." if missed else ""
    )
    failed = [record.reason for record in records if record.topic == FAILED]
    if failed:
        verdict += f" {len(failed)} measurements failed: {'; '.join(failed)}."
    title = "What rules must show on strangers' tables"
    finding = f"{met} of {len(found)} aims are met."
    return Section(title, question, claims_table(found), verdict, finding)


def page_sections(records: Records) -> list[Section]:
    """Write all sections that there are records for."""
    topics = {record.topic for record in records}
    found = [verdict_section(records)]
    if learners.TOPIC in topics:
        found += [choice_section(records), learner_section(records)]
    for topic, make in (
        (proofs.TOPIC, proof_section),
        (askers.TOPIC, fidelity_section),
        (cases.TOPIC, case_section),
    ):
        if topic in topics:
            found.append(make(records))
    return found


def table_section(records: Records) -> Section:
    """How often learners are right on each table."""
    topic = learners.TOPIC
    names = records.methods(topic)
    table = Table(["table", *names])
    shown = {name: records.by_table(topic, name, ACCURACY) for name in names}
    for one in records.tables(topic):
        table.rows.append([one, *(_percent(shown[name].get(one, np.nan)) for name in names)])
    return Section("Each table", "Right on held-out rows, in percent.", table, "")


def write_results(records: Records) -> None:
    """Keep the records, and write the page of strangers from them."""
    records.save(RESULTS)
    intro = (
        "Written by `python -m benchmarks.stranger_rules` from `benchmarks/strangers.json`, which the same command "
        "measures: learners of few rules, cards with proof and explanations of single cases, on public tables that "
        "had no part in tuning."
    )
    intro += "".join(f" {record.reason}" for record in records if record.topic == EARLIER)
    found = page_sections(records)
    if learners.TOPIC in {record.topic for record in records}:
        found.append(table_section(records))
    write_page(found, PAGE, "Strangers' tables", intro)
    page = PAGE.read_text(encoding="utf-8")
    quote(quoted_strangers(page), README, BEGIN_STRANGERS)
    quote(quoted_stranger_choice(page), DOCUMENTATION, BEGIN_STRANGERS)


def sections(full: bool) -> list[Section]:
    """Measure: a sample, or everything, which is kept and written to a page of its own as well."""
    records = measure(FULL if full else QUICK)
    if full:
        write_results(records)
    return page_sections(records)
