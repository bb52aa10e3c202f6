"""Sections on rules whose points are added up: the rules, what became of experts' rules, and cases by their points."""

from __future__ import annotations

from typing import Any

import numpy as np

from clearmargin.language.words import counted, listed, number_text, plain, share_text
from clearmargin.points import Scorecard
from clearmargin.report.page_blocks import Block, Card, Cell, Line, Mark, Para, Section, TableBlock
from clearmargin.report.pictures import two_sided_bar
from clearmargin.rules.value import BoolArray, IntArray

Summary = dict[str, Any]


def points_facts(
    weighted: Scorecard, model: Any, covers: BoolArray, true: IntArray | None
) -> Summary:
    """Gather what a scorecard says: what each line adds, and what became of an expert's rules."""
    number = {label: k for k, label in enumerate(weighted.classes)}
    lines = []
    for line in weighted.lines():
        held = None if line.rule is None else covers[:, line.rule]
        is_right = None if true is None or held is None else held & (true == number[line.label])
        lines.append(
            {
                "class": line.label,
                "score": line.output + 1,
                "points": line.points,
                "text": line.text,
                "rule": None if line.rule is None else line.rule + 1,
                "covered": None if held is None else int(held.sum()),
                "correct": None if is_right is None else int(is_right.sum()),
            }
        )
    experts = [
        {
            "rule": told.text,
            "verdict": told.verdict,
            "points": float(told.points),
            "covered": told.rule.stats and told.rule.stats.covered,
            "correct": told.rule.stats and told.rule.stats.correct,
        }
        for told in getattr(model, "outcome_", ())
    ]
    return {
        "decides": weighted.summary(),
        "classes": list(weighted.classes),
        "intercept": np.atleast_1d(weighted.intercept).tolist(),
        "threshold": weighted.threshold,
        "rows": len(covers),
        "lines": lines,
        "experts": experts,
    }


def points_section(summary: Summary) -> Section:
    """Return the rules with their points, most important first."""
    facts = summary["points"]
    classes = facts["classes"]
    blocks: list[Block] = [Para.of(f"{facts['decides']}. Every case gets a class.")]
    if not facts["lines"]:
        blocks.append(Para.of("No rule has points: every case gets the same class."))
    largest = max((abs(line["points"]) for line in facts["lines"] if line["rule"]), default=0.0)
    for k, start in enumerate(facts["intercept"]):
        lines = [line for line in facts["lines"] if line["score"] == k + 1]
        if lines:
            is_only = len(facts["intercept"]) == 1
            caption = (
                "Rules with points"
                if is_only
                else f"{plain(classes[k])}: starts at {number_text(start)}"
            )
            blocks.append(_points_table(caption, lines, largest, facts["rows"]))
    return Section("rules", "The rules", tuple(blocks))


def _points_table(caption: str, lines: list[Summary], largest: float, rows: int) -> TableBlock:
    has_labels = any(line["correct"] is not None for line in lines)
    titles = ["where", "points", "", "speaks for", f"holds for, of {rows:,}"]
    columns = tuple([*titles, "of that class"] if has_labels else titles)
    cells: list[tuple[Cell, ...]] = []
    for line in lines:
        sign = "" if line["points"] < 0 else "+"
        points = sign + number_text(line["points"], 3)
        row: tuple[Cell, ...] = (
            line["text"],
            points,
            two_sided_bar(line["points"], largest, points) if line["rule"] else None,
            plain(line["class"]),
            "–" if line["covered"] is None else f"{line['covered']:,}",
        )
        if has_labels:
            right = line["correct"]
            row = (*row, "–" if right is None else share_text(right, line["covered"]))
        cells.append(row)
    return TableBlock(caption, columns, tuple(cells), frozenset({1, 4, 5}))


def experts_section(summary: Summary) -> Section | None:
    """Return what became of experts' rules."""
    facts = (summary.get("points") or {}).get("experts")
    if not facts:
        return None
    rows = tuple(
        (
            entry["rule"],
            Mark("✓ kept", "proved") if entry["verdict"] == "kept" else Mark("– ignored"),
            number_text(entry["points"], 3),
            "–" if entry["covered"] is None else f"{entry['covered']:,}",
            "–" if entry["correct"] is None else share_text(entry["correct"], entry["covered"]),
        )
        for entry in facts
    )
    columns = ("rule", "outcome", "points", "holds for", "right")
    table = TableBlock("Experts' rules", columns, rows, frozenset({2, 3, 4}))
    text = "Each may only speak for its class; the data decided how much. Counts are on the training cases."
    return Section("experts", "The experts' rules", (Para.of(text), table))


def points_learned(summary: Summary) -> list[str]:
    """Say in plain sentences what rules with points learned, apart from what was measured on unseen cases."""
    facts = summary["points"]
    rules = [line for line in facts["lines"] if line["rule"] is not None]
    count = len({line["rule"] for line in rules})
    terms = len(facts["lines"]) - len(rules)
    beside = f" and {counted(terms, 'linear term')}" if terms else ""
    used = [plain(f["name"]) for f in summary["features"] if any(f["rules"])]
    looks = f" The rules look at {listed(used)}." if used else ""
    phrases = [
        f"{counted(count, 'rule')} with points{beside} decide every case: {facts['decides']}.{looks}"
    ]
    if rules:
        best = max(rules, key=lambda line: abs(line["points"]))
        phrases.append(
            f"The largest points, {number_text(best['points'], 3)}, are those of: {best['text']} (for "
            f"{plain(best['class'])}; it holds for {best['covered']:,} of {counted(facts['rows'], 'case')})."
        )
    kept = [entry for entry in facts["experts"] if entry["verdict"] == "kept"]
    if facts["experts"]:
        total = counted(len(facts["experts"]), "rule")
        phrases.append(f"Of {total} of experts, {len(kept)} have points; the others are ignored.")
    return phrases


def points_card(case: Summary, style: str, k: int) -> Card:
    """Return a case with what adds up to its score."""
    told = case["points"]
    lines = tuple(
        Line(f"{'' if part['points'] < 0 else '+'}{number_text(part['points'], 3)}: {part['text']}")
        for part in told["parts"]
    )
    flips = [
        (f"if {flip['text']}", f"it would be {plain(flip['label'])}") for flip in told["flips"][:3]
    ]
    called = f", called {plain(case['name'])}" if case["name"] else ""
    truth = "" if case["true"] is None else f"; the table has {plain(case['true'])}"
    decision = told["text"].splitlines()[0]
    return Card(
        title=f"{style}: row {case['row']}{called}",
        anchor=f"case-{k + 1}",
        marks=(Mark("✗ wrong", "wrong"),) if case["kind"] == "wrong" else (),
        lead=f"The rules predict {decision}{truth}.",
        lines=lines,
        facts=tuple(flips),
    )
