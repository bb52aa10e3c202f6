"""The sections on rules and features."""

from __future__ import annotations

from typing import Any

from clearmargin.language.prose import mostly_wrong
from clearmargin.language.words import counted, listed, number_text, plain, share_text
from clearmargin.report.blocks import (
    Block,
    Card,
    Cell,
    Fold,
    Group,
    Line,
    Mark,
    Para,
    Section,
    TableBlock,
)
from clearmargin.report.drawing import condition_bar

__all__ = ["feature_section", "proof_mark", "range_ends", "rule_section"]

Summary = dict[str, Any]

# As many as are read; the others are a click away.
_OPEN_RULES, _OPEN_FEATURES = 8, 12
_FOLD_SIZE = 50
# A page with more than this is too heavy to open; JSON has everything.
_DRAWN_RULES, _MOST_RULES, _MOST_FEATURES = 60, 200, 300


def proof_mark(proof: str | None) -> Mark:
    """The mark for what is known about a rule, in words.

    Examples
    --------
    >>> proof_mark("proved").text
    '✓ proved'
    """
    if proof == "proved":
        return Mark("✓ proved", "proved")
    if proof == "stated":
        return Mark("– proved, says its file, not checked here")
    return Mark("○ observed", "observed") if proof == "observed" else Mark("– not checked")


def rule_section(summary: Summary) -> Section | None:
    """The rules, class by class.

    Parameters
    ----------
    summary : dict
        The summary.

    Returns
    -------
    Section or None
        None where there is nothing but a contrast.
    """
    facts = summary["rules"]
    if facts is None:
        return None
    if not facts["list"]:
        text = "There are no rules: no box on one side of the model holds enough cases. Lower min_coverage."
        return Section("rules", "The rules", (Para.of(text),))
    total = facts["total"]
    rows = tuple(
        (
            plain(entry["class"]),
            f"{entry['rules']:,}",
            "–" if entry["rows"] is None else f"{entry['rows']:,}",
            f"{entry['covered']:,}",
            "–" if not entry["rows"] else share_text(entry["covered"], entry["rows"]),
            f"{entry['reachable']:,}",
            share_text(entry["covered"], entry["reachable"]),
        )
        for entry in facts["classes"]
    )
    columns = ("class", "rules", "cases", "covered", "of all", "reachable", "of reachable")
    head: list[Block] = [
        TableBlock("Rules by class", columns, rows, frozenset(range(1, 7))),
        Para.of(
            f"All rules together cover {total['covered']:,} of {counted(total['rows'], 'case')} "
            f"({share_text(total['covered'], total['rows'])}). "
            + (
                f"{counted(facts['overlaps'], 'case')} are covered by more than one rule; the first one decides."
                if facts["overlaps"]
                else "No case is covered by more than one rule."
            )
        ),
    ]
    groups = [
        _group(entry["class"], k, [r for r in facts["list"] if r["class"] == entry["class"]])
        for k, entry in enumerate(facts["classes"])
    ]
    return Section("rules", "The rules", (*head, *(g for g in groups if g is not None)))


def _group(label: Any, style: int, rules: list[Summary]) -> Group | None:
    title = f"{plain(label)}: {counted(len(rules), 'rule')}"
    if not rules:
        return Group(title, (Para.of("No rule says this class."),))
    cards = [_card(rule, style, k < _DRAWN_RULES) for k, rule in enumerate(rules[:_MOST_RULES])]
    blocks: list[Block] = list(cards[:_OPEN_RULES])
    for start in range(_OPEN_RULES, len(cards), _FOLD_SIZE):
        part = cards[start : start + _FOLD_SIZE]
        rest = rules[start : start + len(part)]
        name = f"{counted(len(part), 'more rule')} (numbers {rest[0]['number']} to {rest[-1]['number']})"
        blocks.append(Fold(name, tuple(part)))
    if len(rules) > len(cards):
        more = counted(len(rules) - len(cards), "more rule")
        blocks.append(Para.of(f"There are {more}; the summary (to_dict, .json) has all of them."))
    return Group(title, tuple(blocks))


def _card(rule: Summary, style: int, is_drawn: bool) -> Card:
    name = f" ({plain(rule['name'])})" if rule["name"] else ""
    facts: list[tuple[str, Cell]] = [("covers", f"{rule['covered']:,} of {rule['rows']:,} cases")]
    if rule["correct"] is not None:
        right = share_text(rule["correct"], rule["covered"])
        if mostly_wrong(rule["correct"], rule["covered"]):
            # Whoever reads no further has to have read this.
            facts.insert(0, ("mostly wrong", f"right on only {right} of its cases"))
        else:
            facts.append(("right", right))
    if rule["agreed"] is not None:
        facts.append(("as the model", share_text(rule["agreed"], rule["covered"])))
    if rule["weight"] != 1:
        facts.append(("weight", number_text(rule["weight"])))
    if rule["origin"] != "extracted":
        facts.append(("origin", rule["origin"]))
    lines = tuple(
        Line(
            condition["text"],
            condition_bar(condition, style) if is_drawn else None,
            range_ends(condition),
        )
        for condition in rule["conditions"]
    )
    return Card(
        title=f"Rule {rule['number']}{name}: {plain(rule['class'])}",
        anchor=f"rule-{rule['number']}",
        marks=(proof_mark(rule["proof"]),),
        lead=None if lines else rule["sentence"],
        lines=lines,
        facts=tuple(facts),
        exact=f"{rule['premise']} => {plain(rule['class'])}",
    )


def range_ends(fact: Summary) -> tuple[str, str]:
    """Write the ends of the range of a condition or a value; nothing where it has none.

    Examples
    --------
    >>> range_ends({"range": [0.0, None]}), range_ends({})
    (('0', ''), ('', ''))
    """
    low, high = fact.get("range") or (None, None)
    return ("" if low is None else number_text(low), "" if high is None else number_text(high))


def feature_section(summary: Summary) -> Section | None:
    """The features, and how many rules speak of each.

    Parameters
    ----------
    summary : dict
        The summary.

    Returns
    -------
    Section or None
        None without rules.
    """
    if not summary["features"]:
        return None
    classes = [entry["class"] for entry in summary["rules"]["classes"]]
    columns = ("feature", "range", *(f"rules for {plain(label)}" for label in classes))
    with_gaps = any(fact["missing"] for fact in summary["features"])
    if with_gaps:
        columns = (*columns, "missing")
    rows: list[tuple[Cell, ...]] = []
    for fact in summary["features"]:
        unit = f" {plain(fact['unit'])}" if fact["unit"] else ""
        row = (plain(fact["name"]), f"{_range(fact)}{unit}", *(f"{n:,}" for n in fact["rules"]))
        rows.append((*row, _missing_text(fact)) if with_gaps else row)
    numbers = frozenset(range(2, len(columns)))
    used = sum(1 for fact in summary["features"] if any(fact["rules"]))
    head = Para.of(
        f"The rules speak of {used} of {counted(len(rows), 'feature')}. "
        "A feature that no rule speaks of may take any value."
    )
    shown, rest = rows[:_OPEN_FEATURES], rows[_OPEN_FEATURES:_MOST_FEATURES]
    blocks: list[Block] = [
        head,
        TableBlock("Features, the most used first", columns, tuple(shown), numbers),
    ]
    if rest:
        more = TableBlock("More features", columns, tuple(rest), numbers)
        blocks.append(Fold(counted(len(rest), "more feature"), (more,)))
    if len(rows) > _MOST_FEATURES:
        left = counted(len(rows) - _MOST_FEATURES, "more feature")
        blocks.append(Para.of(f"There are {left}, the least used; the summary has all of them."))
    return Section("features", "The features", tuple(blocks))


def _missing_text(fact: Summary) -> str:
    """How many values are missing, and what they count as."""
    count, value = f"{fact['missing']:,}", fact["fill"]
    if value is None or not fact["missing"]:
        return count
    return f"{count}, taken as {plain(value) if isinstance(value, str) else number_text(value)}"


def _range(fact: Summary) -> str:
    if fact["categories"] is not None:
        return listed([plain(kind) for kind in fact["categories"]])
    low, high = fact["range"]
    kind = " (whole numbers)" if fact["integer"] else ""
    return f"{number_text(low)} to {number_text(high)}{kind}"
