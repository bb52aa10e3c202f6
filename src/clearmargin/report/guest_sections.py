"""The sections on the contrast of a ranking and on advice."""

from __future__ import annotations

from typing import Any

from clearmargin.language.words import counted, plain, ratio_text, share_text
from clearmargin.report.blocks import (
    Block,
    Bullets,
    Card,
    Cell,
    Code,
    Fold,
    Line,
    Mark,
    Para,
    Section,
    TableBlock,
)
from clearmargin.report.drawing import condition_bar, two_sided_bar
from clearmargin.report.rule_sections import range_ends

__all__ = ["advice_section", "contrast_section"]

Summary = dict[str, Any]

_STANDINGS = {
    "proved": Mark("✓ proved", "proved"),
    "uncontradicted": Mark("○ not contradicted, not proved", "observed"),
    "contradicted": Mark("✗ contradicted by cases", "wrong"),
}


def contrast_section(summary: Summary) -> Section | None:
    """What sets the ends of a ranking apart."""
    facts = summary["contrast"]
    if facts is None:
        return None
    text = (
        f"The top {facts['top']:,} and the bottom {facts['bottom']:,} of {counted(facts['rows'], 'case')} in the "
        f"ranking differ in {counted(facts['found'], 'property', 'properties')} by a leverage of at least "
        f"{facts['min_leverage']:.3g}; {facts['worth_showing']:,} of them are worth showing."
    )
    if facts["auc"] is not None:
        text += f" {_areas(facts)}"
    ties = facts["top_ties"] + facts["bottom_ties"]
    if ties:
        text += f" {counted(ties, 'more case has', 'more cases have')} the same score as the last one of an end."
    blocks: list[Block] = [Para.of(text), _properties(facts)]
    blocks.append(
        Bullets(
            (
                "Leverage: share of the cases at both ends that have the property and are at the top, less what chance "
                f"would give; from -{facts['largest_leverage']:.3g} to {facts['largest_leverage']:.3g}. In brackets a "
                "95 % interval.",
                "Holm: whether the ends of this ranking differ in it by more than chance, all possible properties "
                "counted. It says nothing about the classes.",
                "Confirmed: found on one half of the cases, and the classes of the other half agree.",
            )
        )
    )
    tables = tuple(_attribute_table(entry) for entry in facts["attributes"])
    if tables:
        blocks.append(Fold(f"Values at both ends of {counted(len(tables), 'attribute')}", tables))
    return Section("contrast", "What sets the ends of the ranking apart", tuple(blocks))


def _areas(facts: Summary) -> str:
    """The area under the ROC curve, on cases that the ranking was trained on and on others."""
    text = (
        f"Area under the ROC curve of the ranking, with {plain(facts['positive'])} on top: {facts['auc']:.3f} on the "
        "cases that it was trained on"
    )
    if facts["held_out_auc"] is None:
        return f"{text}."
    text += f"; trained on part of the cases, {facts['held_out_auc']:.3f} on the others"
    text += f" (mean of {facts['held_out_how']})."
    return f"{text} {facts['held_out_note']}." if facts["held_out_note"] else text


def _properties(facts: Summary) -> Block:
    if not facts["properties"]:
        return Para.of("No property is worth showing.")
    rows = []
    for entry in facts["properties"]:
        label = f"leverage {entry['leverage']:+.3f}, common at the {entry['side']}"
        rows.append(
            (
                Code(entry["property"]),
                entry["side"],
                f"{entry['top_count']:,} of {facts['top']:,}",
                f"{entry['bottom_count']:,} of {facts['bottom']:,}",
                f"{entry['leverage']:+.3f} [{entry['low']:+.3f}, {entry['high']:+.3f}]",
                two_sided_bar(entry["leverage"], facts["largest_leverage"], label),
                f"{entry['holm']:.2g}",
                ("yes" if entry["confirmed"] else "no") if facts["has_labels"] else "–",
            )
        )
    columns = ("property", "common at", "top", "bottom", "leverage", "drawn", "Holm", "confirmed")
    return TableBlock(
        "Properties, the largest leverage first", columns, tuple(rows), frozenset({2, 3, 6})
    )


def _attribute_table(entry: Summary) -> TableBlock:
    rows = tuple(
        (Code(value["property"]), ratio_text(value["top"] / 100), ratio_text(value["bottom"] / 100))
        for value in entry["values"]
    )
    columns = ("value", "of the top", "of the bottom")
    return TableBlock(plain(entry["attribute"]), columns, rows, frozenset({1, 2}))


def advice_section(summary: Summary) -> Section | None:
    """What became of advice."""
    facts = summary["advice"]
    if facts is None:
        return None
    title = "Advice before and after" if facts["kind"] == "outcome" else "Advice on these data"
    if not facts["rules"]:
        return Section("advice", title, (Para.of("There is no advice."),))
    if facts["kind"] == "outcome":
        classes = [entry["class"] for entry in (summary["rules"] or {"classes": []})["classes"]]
        styles = {label: k for k, label in enumerate(classes)}
        cards = tuple(
            _advice_card(rule, k, styles.get(rule["class"], 0))
            for k, rule in enumerate(facts["rules"])
        )
        return Section("advice", title, cards)
    rows = tuple(
        (
            plain(rule["name"]) if rule["name"] else f"rule {k + 1}",
            Code(f"{rule['premise']} => {plain(rule['class'])}"),
            f"{rule['covered']:,} of {rule['rows']:,}" if "rows" in rule else "–",
            share_text(rule.get("correct"), rule.get("covered", 0)),
        )
        for k, rule in enumerate(facts["rules"])
    )
    columns = ("advice", "rule", "covers", "right")
    blocks: list[Block] = [TableBlock("Each rule on the data", columns, rows, frozenset({2, 3}))]
    if facts["findings"]:
        found = tuple((f["severity"], f["message"]) for f in facts["findings"])
        blocks.append(TableBlock("Findings, the gravest first", ("severity", "finding"), found))
    return Section("advice", title, tuple(blocks))


def _advice_card(rule: Summary, k: int, style: int) -> Card:
    facts: list[tuple[str, Cell]] = []
    for when in ("before", "after"):
        stats = rule[f"stats_{when}"]
        if stats is not None and (when == "before" or rule["after"]):
            right = share_text(stats["correct"], stats["covered"])
            covers = f"{stats['covered']:,} of {stats['rows']:,} cases, right on {right}"
            if stats["agreed"] is not None:
                agreed = share_text(stats["agreed"], stats["covered"])
                covers += f"; the model agrees on {agreed}"
            facts.append((f"covers {when}", covers))
    facts.append(("rule before", Code(rule["before"])))
    if rule["after"]:
        facts.append(("rule after", Code(rule["after"])))
    if rule["within"]:
        facts.append(("within", Code(rule["within"])))
    lines = tuple(
        Line(
            f"{condition['when']}: {condition['text']}",
            condition_bar(condition, style),
            range_ends(condition),
        )
        for condition in rule["conditions"]
    )
    guarantee = rule["guarantee"]
    mark = _STANDINGS.get(rule["standing"], Mark("set aside"))
    return Card(
        title=f"{plain(rule['name'])}: {rule['verdict_text']}",
        anchor=f"advice-{k + 1}",
        marks=(mark,),
        lead=f"{guarantee[:1].upper()}{guarantee[1:]}.",
        lines=lines,
        facts=tuple(facts),
    )
