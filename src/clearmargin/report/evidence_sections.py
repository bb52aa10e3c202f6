"""The sections on how good model and rules are, on single cases, and on what is left out."""

from __future__ import annotations

from typing import Any

from clearmargin.language.words import counted, number_text, plain, ratio_text, share_text
from clearmargin.report.blocks import (
    Block,
    Card,
    Cell,
    Figure,
    Fold,
    Line,
    Mark,
    Para,
    Section,
    TableBlock,
)
from clearmargin.report.drawing import curve_chart, line_sample, value_bar
from clearmargin.report.rule_sections import proof_mark, range_ends

__all__ = [
    "case_section",
    "curve_section",
    "uncovered_section",
    "validation_section",
]

Summary = dict[str, Any]

_FIGURES = (
    ("model_accuracy", "accuracy of the model", "cases"),
    ("accuracy", "accuracy of the rules, with the fallback where none fires", "cases"),
    ("coverage", "cases that a rule covers", "cases"),
    ("precision", "right where a rule covers", "covered cases"),
    ("fidelity", "as the model where a rule covers (fidelity)", "covered cases"),
)
_KINDS = {
    "right": "A case that the model gets right",
    "wrong": "A case that the model gets wrong",
    "close": "A close case",
    "clear": "A clear case",
}
_REASONS = {
    "rule": "It falls under rule {rule}.",
    "on_demand": "No rule covers it; this one was made for it.",
    "none": "No rule covers it.",
}


def validation_section(summary: Summary) -> Section | None:
    """How rules and model do on cases they have not seen."""
    facts = summary["validation"]
    if facts is None:
        return None
    title = "On cases not seen in training"
    if not facts["done"]:
        text = f"There is no cross-validation: {facts['why']}. The other figures are on the cases given."
        return Section("validation", title, (Para.of(text),))
    rows: list[tuple[Cell, ...]] = []
    for key, name, among in _FIGURES:
        figure = facts["figures"][key]
        error = figure["standard_error"]
        rows.append(
            (
                name,
                share_text(figure["part"], figure["whole"]),
                "–" if error is None else f"±{100 * error:.1f}",
                f"{figure['part']:,} of {figure['whole']:,} {among}",
            )
        )
    common = facts["most_common_class"]
    name = f"always saying {plain(common['class'])}, for comparison"
    share = share_text(common["part"], common["whole"])
    rows.append((name, share, "–", f"{common['part']:,} of {common['whole']:,} cases"))
    how = (
        f"Cross-validation: {facts['folds']} {facts['how']}. In each fold the model was trained and its rules were "
        "extracted without the cases they are judged on. The standard error is that of the mean over the folds, in "
        "percentage points."
    )
    if facts["note"]:
        how = (
            f"{how} {facts['note']}; the figures may be too high for cases that are new altogether."
        )
    columns = ("figure", "value", "standard error", "counts")
    table = TableBlock("Cross-validated figures", columns, tuple(rows), frozenset({1, 2}))
    return Section("validation", title, (Para.of(how), table, _confusion(summary, facts)))


def _confusion(summary: Summary, facts: Summary) -> TableBlock:
    classes = [plain(entry["class"]) for entry in summary["rules"]["classes"]]
    silent = any(row[-1] for row in facts["confusion"])
    columns = ("class of the case", *(f"predicted {name}" for name in classes))
    columns = (*columns, "no answer") if silent else columns
    rows = tuple(
        (name, *(f"{n:,}" for n in (row if silent else row[:-1])))
        for name, row in zip(classes, facts["confusion"], strict=True)
    )
    caption = "Classes and predictions in cross-validation"
    return TableBlock(caption, columns, rows, frozenset(range(1, len(columns))))


def curve_section(summary: Summary) -> Section | None:
    """How much few rules say already."""
    curves = [curve for curve in summary["curves"] if curve["coverage"]]
    if not curves:
        return None
    blocks: list[Block] = [
        Para.of(
            "Rules are in the order in which they stand above. Where a line is flat, further rules add little."
        )
    ]
    blocks += _chart(curves, "coverage", "reachable cases covered", "Cases covered")
    filled = [curve for curve in curves if curve["volume"]]
    blocks += _chart(filled, "volume", "the class's part of space filled", "Space filled")
    for curve in filled:
        total = curve["volume_total"]
        if total is not None:
            low, high = (ratio_text(total[end]) for end in ("low", "high"))
            share = low if low == high else f"between {low} and {high}"
            blocks.append(
                Para.of(
                    f"Rules for {plain(curve['class'])} fill {share} of the part of space in which the model says "
                    "this class."
                )
            )
    return Section("curves", "How much few rules say already", tuple(blocks))


def _chart(curves: list[Summary], key: str, what: str, title: str) -> list[Block]:
    if not curves:
        return []
    # One point makes no curve; the table above has it.
    if max(len(curve[key]) for curve in curves) < 2:
        return []
    lines = [(str(curve["class"]), curve[key]) for curve in curves]
    legend = tuple((line_sample(k), plain(name)) for k, (name, _) in enumerate(lines))
    most = max(len(values) for _, values in lines)
    rows = tuple(
        (
            str(r + 1),
            *(_share(curve, key, r) for curve in curves),
        )
        for r in range(most)
    )
    columns = ("number of rules", *(plain(name) for name, _ in lines))
    table = TableBlock(f"Share of {what}", columns, rows, frozenset(range(1, len(columns))))
    caption = f"{title}: share of {what}, by number of rules"
    return [
        Figure(curve_chart(lines, what), caption, legend),
        Fold(f"The numbers: {title.lower()}", (table,)),
    ]


def _share(curve: Summary, key: str, r: int) -> str:
    if r >= len(curve[key]):
        return "–"
    if key == "coverage":
        return share_text(curve["covered"][r], curve["reachable"])
    return ratio_text(curve[key][r])


def case_section(summary: Summary) -> Section | None:
    """Some cases with their reasons."""
    classes = [] if summary["rules"] is None else [e["class"] for e in summary["rules"]["classes"]]
    cards = [_case_card(case, classes, k) for k, case in enumerate(summary["cases"])]
    return Section("cases", "Some cases", tuple(cards)) if cards else None


def _case_card(case: Summary, classes: list[Any], k: int) -> Card:
    called = f", called {plain(case['name'])}" if case["name"] else ""
    said = (
        "The model gives no answer"
        if case["says"] is None
        else f"The model says {plain(case['says'])}"
    )
    score = "" if case["score"] is None else f" (score {case['score']:+.3g})"
    truth = "" if case["true"] is None else f"; it is {plain(case['true'])}"
    lead = f"{said}{score}{truth}. {_REASONS.get(case['reason'], '').format(rule=case['rule'])}"
    if case["sentence"]:
        lead = f"{lead} {case['sentence']}"
    style = classes.index(case["says"]) if case["says"] in classes else 0
    lines = tuple(
        Line(f"{plain(fact['feature'])} = {_value(fact)}", value_bar(fact, style), range_ends(fact))
        for fact in case["values"]
    )
    facts: list[tuple[str, Cell]] = [
        (name, ratio_text(value)) for name, value in case["parts"].items() if value is not None
    ]
    marks = [Mark("✗ wrong", "wrong")] if case["kind"] == "wrong" else []
    # The proof is about what the model says, and not about the truth.
    if case["sentence"]:
        proof = proof_mark(case["proof"])
        marks.append(Mark(f"reason {proof.text}", proof.style))
    return Card(
        title=f"{_KINDS[case['kind']]}: row {case['row']}{called}",
        anchor=f"case-{k + 1}",
        marks=tuple(marks),
        lead=lead.strip(),
        lines=lines,
        facts=tuple(facts),
    )


def _value(fact: Summary) -> str:
    value = fact["value"]
    text = plain(value) if isinstance(value, str) else number_text(value)
    return f"{text} {plain(fact['unit'])}" if fact["unit"] else text


def uncovered_section(summary: Summary) -> Section | None:
    """What no rule speaks of."""
    facts = summary["uncovered"]
    if facts is None:
        return None
    title = "What the rules leave out"
    if not facts["rows"]:
        return Section("uncovered", title, (Para.of("Every case is covered by a rule."),))
    said = [
        f"No rule covers {counted(facts['rows'], 'case')} of {facts['of']:,} "
        f"({share_text(facts['rows'], facts['of'])})."
    ]
    if facts["missing"]:
        said.append(
            f"{counted(facts['missing'], 'of them has', 'of them have')} a missing value, which a rule may need."
        )
    if facts["model_right"] is not None:
        said.append(
            f"The model is right on {share_text(facts['model_right'], facts['rows'])} of them."
        )
    blocks: list[Block] = [Para.of(" ".join(said))]
    if facts["classes"]:
        rows = tuple(
            (plain(e["class"]), f"{e['rows']:,}", f"{e['of']:,}", share_text(e["rows"], e["of"]))
            for e in facts["classes"]
        )
        columns = ("class", "not covered", "of", "share")
        blocks.append(
            TableBlock("Cases not covered, by class", columns, rows, frozenset({1, 2, 3}))
        )
    if facts["typical"]:
        typical = tuple(
            (
                plain(e["feature"]),
                _value({"value": e["uncovered"], "unit": e["unit"]}),
                _value({"value": e["covered"], "unit": e["unit"]}),
            )
            for e in facts["typical"]
        )
        caption = "Typical values (medians, most common categories), the largest differences first"
        titles = ("feature", "not covered", "covered")
        blocks.append(TableBlock(caption, titles, typical, frozenset({1, 2})))
    names = [
        f"{e['row']} ({plain(e['name'])})" if e["name"] else str(e["row"]) for e in facts["first"]
    ]
    more = facts["rows"] - len(names)
    tail = f" and {more:,} more" if more else ""
    blocks.append(Para.of(f"Rows: {', '.join(names)}{tail}."))
    return Section("uncovered", title, tuple(blocks))
