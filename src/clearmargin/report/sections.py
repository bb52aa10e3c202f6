"""From the summary to words: the sections of a report, in the order in which they are read, as blocks."""

from __future__ import annotations

from typing import Any

from clearmargin.language.prose import mostly_wrong
from clearmargin.language.words import (
    counted,
    error_text,
    listed,
    number_text,
    plain,
    rare_text,
    ratio_text,
    share_text,
)
from clearmargin.report.page_blocks import (
    Block,
    Bullets,
    Card,
    Cell,
    Code,
    Fold,
    Group,
    Line,
    Mark,
    Para,
    Section,
    TableBlock,
)
from clearmargin.report.pictures import (
    condition_bar,
    two_sided_bar,
    value_bar,
)
from clearmargin.report.points_sections import (
    experts_section,
    points_card,
    points_learned,
    points_section,
)

# As many as are read; the others are a click away.
_OPEN_RULES, _OPEN_FEATURES = 8, 12
_FOLD_SIZE = 50
# A page with more than this is too heavy to open; JSON has everything.
_DRAWN_RULES, _MOST_RULES, _MOST_FEATURES = 60, 200, 300


def proof_mark(proof: str | None) -> Mark:
    """Return the mark for what is known about a rule, in words."""
    if proof == "proved":
        return Mark("✓ proved", "proved")
    if proof == "stated":
        return Mark("– proved, says its file, not checked here")
    if proof == "distilled":
        return Mark("○ proved of the distilled plane, not of the model", "observed")
    return Mark("○ observed", "observed") if proof == "observed" else Mark("– not checked")


def rule_section(summary: Summary) -> Section | None:
    """Return the rules, class by class."""
    facts = summary["rules"]
    if facts is None:
        return None
    if summary.get("points") is not None:
        return points_section(summary)
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
    """Write the ends of the range of a condition or a value; nothing where it has none."""
    low, high = fact.get("range") or (None, None)
    return ("" if low is None else number_text(low), "" if high is None else number_text(high))


def feature_section(summary: Summary) -> Section | None:
    """Return the features, and how many rules speak of each."""
    if not summary["features"]:
        return None
    classes = [entry["class"] for entry in summary["rules"]["classes"]]
    columns = ("feature", "range", *(f"rules for {plain(label)}" for label in classes))
    any_missing = any(fact["missing"] for fact in summary["features"])
    if any_missing:
        columns = (*columns, "missing")
    rows: list[tuple[Cell, ...]] = []
    used = sum(1 for fact in summary["features"] if any(fact["rules"]))
    # A page of rules with points lists the features that these look at.
    listed_facts = summary["features"][: None if summary.get("points") is None else used]
    for fact in listed_facts:
        unit = f" {plain(fact['unit'])}" if fact["unit"] else ""
        row = (plain(fact["name"]), f"{_range(fact)}{unit}", *(f"{n:,}" for n in fact["rules"]))
        rows.append((*row, _missing_text(fact)) if any_missing else row)
    numbers = frozenset(range(2, len(columns)))
    head = Para.of(
        f"The rules speak of {used} of {counted(len(summary['features']), 'feature')}. "
        "A feature that no rule speaks of may take any value."
    )
    shown, rest = rows[:_OPEN_FEATURES], rows[_OPEN_FEATURES:_MOST_FEATURES]
    first = TableBlock("Features, the most used first", columns, tuple(shown), numbers)
    # Of rules with points the page is about the points.
    is_folded = summary.get("points") is not None
    blocks: list[Block] = [
        head,
        Fold("The features of the rules", (first,)) if is_folded else first,
    ]
    if rest:
        more = TableBlock("More features", columns, tuple(rest), numbers)
        blocks.append(Fold(counted(len(rest), "more feature"), (more,)))
    if len(rows) > _MOST_FEATURES:
        left = counted(len(rows) - _MOST_FEATURES, "more feature")
        blocks.append(Para.of(f"There are {left}, the least used; the summary has all of them."))
    return Section("features", "The features", tuple(blocks))


def _missing_text(fact: Summary) -> str:
    """Return how many values are missing, and what they count as."""
    count, value = f"{fact['missing']:,}", fact["fill"]
    if value is None or not fact["missing"]:
        return count
    return f"{count}, taken as {plain(value) if isinstance(value, str) else number_text(value)}"


def _range(fact: Summary) -> str:
    if fact["categories"] is not None:
        return listed([plain(category) for category in fact["categories"]])
    low, high = fact["range"]
    kind = " (whole numbers)" if fact["integer"] else ""
    return f"{number_text(low)} to {number_text(high)}{kind}"


_FIGURES = (
    ("model_accuracy", "accuracy of the model", "cases"),
    ("accuracy", "accuracy of the rules, with the fallback where none fires", "cases"),
    ("coverage", "cases that a rule covers", "cases"),
    ("precision", "right where a rule covers", "covered cases"),
    ("fidelity", "as the model where a rule covers (fidelity)", "covered cases"),
)
# Where points decide every case, there is no other model, and no case without a rule.
_POINT_FIGURES = (("model_accuracy", "right (accuracy)", "cases"),)
_KINDS = {
    "right": "A case that the model gets right",
    "wrong": "A case that the model gets wrong",
    "close": "A close case",
    "clear": "A clear case",
}
_REASONS = {
    "rule": "It falls under rule {rule}.",
    "sufficient": "No rule covers it; this is enough for its class.",
    "none": "No rule covers it.",
}


def validation_section(summary: Summary) -> Section | None:
    """Return how rules and model do on cases they have not seen."""
    facts = summary["validation"]
    if facts is None:
        return None
    title = "On cases not seen in training"
    if not facts["done"]:
        text = f"There is no cross-validation: {facts['why']}. The other figures are on the cases given."
        return Section("validation", title, (Para.of(text),))
    are_points = summary.get("points") is not None
    shown = _POINT_FIGURES if are_points else _FIGURES
    rows = [_figure_row(name, facts["figures"][key], among) for key, name, among in shown]
    area = _figure_row("area under the ROC curve (AUC)", facts["auc"], "")
    rows = [*_rare_rows(facts["unseen"], area), *rows]
    if "rare_class" not in facts["unseen"]:
        rows.append(area)
    rows = [row for row in rows if row[1] != "–"]
    common = facts["most_common_class"]
    name = f"always saying {plain(common['class'])}, for comparison"
    share = share_text(common["part"], common["whole"])
    rows.append((name, share, "–", f"{common['part']:,} of {common['whole']:,} cases"))
    scored = (
        "its points"
        if are_points
        else "the share of right training cases under the rule that covers it"
    )
    how = (
        f"Measured by cross-validation: {facts['folds']} {facts['how']}. In each fold the model and its rules were "
        "made without the cases they are tested on. The standard error holds for other cases and for models of other "
        f"cases; it is in percentage points for shares. A case scores by {scored}; the area under the ROC "
        "curve of these scores within folds (AUC) is 0.5 by chance."
    )
    if facts["note"]:
        how = (
            f"{how} {facts['note']}; the figures may be too high for cases that are new altogether."
        )
    columns = ("figure", "value", "standard error", "counts")
    table = TableBlock("Cross-validated figures", columns, tuple(rows), frozenset({1, 2}))
    return Section("validation", title, (Para.of(how), table, _confusion(summary, facts)))


def _figure_row(name: str, figure: Summary, among: str) -> tuple[Cell, ...]:
    """Return the line of a figure; a dash for its value where there is none."""
    value, error, part = figure["value"], figure["standard_error"], figure["part"]
    if value is None:
        return (name, "–", "–", "–")
    if part is None and "AUC" in name:
        return (name, f"{value:.3f}", f"±{error:.3f}", "pairs of cases within folds")
    text = ratio_text(value) if part is None else share_text(part, figure["whole"])
    counts = "mean over the classes" if part is None else f"{part:,} of {figure['whole']:,} {among}"
    return (name, text, f"±{100 * error:.1f}", counts)


def _rare_rows(unseen: Summary, area: tuple[Cell, ...]) -> list[tuple[Cell, ...]]:
    """Return the lines on a class that is rare, which tell more than how many cases are right."""
    if "rare_class" not in unseen:
        return []
    label = plain(unseen["rare_class"])
    return [
        _figure_row("balanced accuracy", unseen["balanced_accuracy"], ""),
        area,
        _figure_row(f"found of {label} (recall)", unseen["recall"], f"cases of {label}"),
        _figure_row(
            f"right of those named {label} (precision)", unseen["precision"], f"named {label}"
        ),
    ]


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


def case_section(summary: Summary) -> Section | None:
    """Show cases with their reasons."""
    classes = [] if summary["rules"] is None else [e["class"] for e in summary["rules"]["classes"]]
    cards = [
        _case_card(case, classes, k)
        if case.get("points") is None
        else points_card(case, _KINDS[case["kind"]], k)
        for k, case in enumerate(summary["cases"])
    ]
    return Section("cases", "Some cases", tuple(cards)) if cards else None


def _case_card(case: Summary, classes: list[Any], k: int) -> Card:
    called = f", called {plain(case['name'])}" if case["name"] else ""
    phrases = (
        "The model gives no answer"
        if case["says"] is None
        else f"The model says {plain(case['says'])}"
    )
    score = "" if case["score"] is None else f" (score {case['score']:+.3g})"
    truth = "" if case["true"] is None else f"; the table has {plain(case['true'])}"
    lead = f"{phrases}{score}{truth}. {_REASONS.get(case['reason'], '').format(rule=case['rule'])}"
    if case["sentence"]:
        lead = f"{lead} {case['sentence']}"
    if case["stands_in"]:
        lead = f"{lead} It is a rule of the distilled plane, which {case['stands_in']}."
    style = classes.index(case["says"]) if case["says"] in classes else 0
    lines = tuple(
        Line(f"{plain(fact['feature'])} = {_value(fact)}", value_bar(fact, style), range_ends(fact))
        for fact in case["values"]
    )
    marks = [Mark("✗ wrong", "wrong")] if case["kind"] == "wrong" else []
    # The proof is about what the model predicts, and not about the truth.
    if case["sentence"]:
        proof = proof_mark(case["proof"])
        marks.append(Mark(f"reason {proof.text}", proof.style))
    return Card(
        title=f"{_KINDS[case['kind']]}: row {case['row']}{called}",
        anchor=f"case-{k + 1}",
        marks=tuple(marks),
        lead=lead.strip(),
        lines=lines,
    )


def _value(fact: Summary) -> str:
    value = fact["value"]
    text = plain(value) if isinstance(value, str) else number_text(value)
    return f"{text} {plain(fact['unit'])}" if fact["unit"] else text


def uncovered_section(summary: Summary) -> Section | None:
    """Return what no rule speaks of."""
    facts = summary["uncovered"]
    if facts is None:
        return None
    title = "What the rules leave out"
    if not facts["rows"]:
        return Section("uncovered", title, (Para.of("Every case is covered by a rule."),))
    phrases = [
        f"No rule covers {counted(facts['rows'], 'case')} of {facts['of']:,} "
        f"({share_text(facts['rows'], facts['of'])})."
    ]
    if facts["missing"]:
        phrases.append(
            f"{counted(facts['missing'], 'of them has', 'of them have')} a missing value, which a rule may need."
        )
    if facts["model_right"] is not None:
        phrases.append(
            f"The model is right on {share_text(facts['model_right'], facts['rows'])} of them."
        )
    blocks: list[Block] = [Para.of(" ".join(phrases))]
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


_STANDINGS = {
    "proved": Mark("✓ proved", "proved"),
    "uncontradicted": Mark("○ predicted on all cases, not proved", "observed"),
    "contradicted": Mark("✗ predicted otherwise on cases", "wrong"),
}


def contrast_section(summary: Summary) -> Section | None:
    """Return what sets the ends of a ranking apart."""
    facts = summary["contrast"]
    if facts is None:
        return None
    text = (
        f"The top {facts['top']:,} and the bottom {facts['bottom']:,} of {counted(facts['rows'], 'case')} in the "
        f"ranking differ in {counted(facts['found'], 'property', 'properties')} by a leverage of at least "
        f"{facts['min_leverage']:.3g}; {facts['worth_showing']:,} of them add something to the others."
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
    """Return the area under the ROC curve, on cases that the ranking was trained on and on others."""
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
        return Para.of("No property was found.")
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
    """Return what became of advice."""
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
        problem = (Para.of(facts["problem"]),) if facts["problem"] else ()
        return Section("advice", title, problem + cards)
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
    if facts["more"]:
        blocks.append(Para.of(f"{facts['more']:,} more pairs of rules are counted, not listed."))
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
    facts.append(("trust", f"{rule['trust']:.2g}"))
    facts += [("problem", problem) for problem in rule["problems"]]
    lines = tuple(
        Line(
            f"{condition['when']}: {condition['text']}",
            condition_bar(condition, style),
            range_ends(condition),
        )
        for condition in rule["conditions"]
    )
    guarantee = rule["guarantee"]
    mark = _STANDINGS.get(_standing(rule), Mark("set aside"))
    return Card(
        title=f"{plain(rule['name'])}: {rule['verdict_text']}",
        anchor=f"advice-{k + 1}",
        marks=(mark,),
        lead=f"{guarantee[:1].upper()}{guarantee[1:]}.",
        lines=lines,
        facts=tuple(facts),
    )


def _standing(rule: Summary) -> str:
    """Say how the predictions of the model agree with a rule."""
    if rule["verdict"] in ("rejected", "empty"):
        return "set aside"
    if rule["proved"]:
        return "proved"
    stats = rule["stats_after"]
    return "contradicted" if stats["agreed"] < stats["covered"] else "uncontradicted"


_STANDING_WORDS = {
    "proved": "proved",
    "uncontradicted": "the model predicts its class for all covered cases, but not provably everywhere",
    "contradicted": "the model predicts another class for covered cases",
}


def default_title(summary: Summary) -> str:
    """Return a title that says what the report is about."""
    if summary.get("card") is not None:
        names = [plain(label) for label in summary["card"]["classes"]]
        return f"A scorecard for {listed(names)}"
    if summary["rules"] is None:
        return "What sets the ends of a ranking apart"
    classes = [plain(entry["class"]) for entry in summary["rules"]["classes"]]
    return f"Rules for {listed(classes, most=4)}"


def about(summary: Summary) -> str:
    """Return the data and the model in one line."""
    data = summary["data"]
    text = f"{counted(data['rows'], 'case')}, {counted(data['features'], 'feature')}"
    if data["classes"]:
        parts = [f"{entry['rows']:,} {plain(entry['class'])}" for entry in data["classes"]]
        text += f" ({listed(parts)})"
    text += f". Model: {summary['model']['name']}."
    threshold = summary["model"].get("threshold")
    return text if threshold is None else f"{text} Operating threshold: {threshold}."


def learned(summary: Summary) -> list[str]:
    """Say in plain sentences what was learned and how far it can be trusted."""
    phrases: list[str] = []
    if summary.get("card") is not None:
        from clearmargin.report.card_report import card_learned

        phrases += card_learned(summary["card"])
    if summary["rules"] is not None:
        if summary["distillation"] is not None:
            # What the rules are worth for the model comes before what they say.
            phrases.append(f"The rules are those of {summary['distillation']['text']}.")
        if summary.get("points") is not None:
            phrases += [*points_learned(summary), *_unseen(summary)]
        else:
            phrases += [*_rules(summary), *_trust(summary)]
    if summary["contrast"] is not None:
        phrases.append(_contrast(summary["contrast"]))
    if summary["advice"] is not None:
        phrases.append(_advice(summary["advice"]))
    return phrases


def _rules(summary: Summary) -> list[str]:
    facts = summary["rules"]
    rules = facts["list"]
    if not rules:
        return ["No rules were found."]
    each = [f"{e['rules']:,} for {plain(e['class'])}" for e in facts["classes"]]
    used = [plain(f["name"]) for f in summary["features"] if any(f["rules"])]
    looks = "It looks" if len(rules) == 1 else "They look"
    phrases = [
        f"{counted(len(rules), 'rule')} ({listed(each)}) "
        f"{'says' if len(rules) == 1 else 'say'} what was learned. "
        + (
            f"{looks} at {len(used)} of {counted(len(summary['features']), 'feature')}: {listed(used)}."
            if used
            else f"{looks} at no feature at all."
        )
    ]
    best = max(rules, key=lambda rule: rule["covered"])
    right = (
        ""
        if best["correct"] is None
        else f", right on {share_text(best['correct'], best['covered'])}"
    )
    phrases.append(
        f"The rule that covers most is rule {best['number']}: {best['sentence']} It covers "
        f"{best['covered']:,} of {counted(best['rows'], 'case')}{right}."
    )
    phrases.append(_proof_text(rules))
    return phrases


def _proof_text(rules: list[Summary]) -> str:
    """Say what is proved of rules, and of what."""
    proved = sum(rule["proof"] == "proved" for rule in rules)
    if all(rule["proof"] == "distilled" for rule in rules):
        return "Every rule is proved of the distilled plane, and none of the model, which may decide otherwise."
    if proved == len(rules):
        return "Every rule is proved: the model gives its class to all cases that meet its conditions, seen or not."
    if proved:
        return (
            f"{proved:,} of {counted(len(rules), 'rule')} are proved; what the others say was observed on cases, or "
            "written by somebody."
        )
    return "No rule is proved: what they say was observed on cases, or written by somebody."


def _trust(summary: Summary) -> list[str]:
    total = summary["rules"]["total"]
    share = share_text(total["covered"], total["rows"])
    text = (
        f"The rules cover {total['covered']:,} of {counted(total['rows'], 'case')} given ({share})"
    )
    if total["correct"] is not None and total["covered"]:
        text += f" and are right on {share_text(total['correct'], total['covered'])} of them"
    if total["agreed"] is not None and total["covered"]:
        text += f"; there they say what the model says on {share_text(total['agreed'], total['covered'])}"
    phrases = [f"{text}."]
    budget = summary.get("budget")
    if budget is not None and (budget["more"] or not budget["is_complete"]):
        phrases.append(f"{budget['text']}.")
    phrases += _unseen(summary)
    bare = summary["uncovered"]["rows"]
    if bare:
        phrases.append(f"{counted(bare, 'case is', 'cases are')} covered by no rule.")
    return phrases


def _unseen(summary: Summary) -> list[str]:
    """Say how right the answers are on cases not seen in training."""
    phrases = []
    check = summary["validation"]
    if check["done"]:
        figure, common = check["figures"]["accuracy"], check["most_common_class"]
        right = error_text(share_text(figure["part"], figure["whole"]), figure["standard_error"])
        phrases += rare_sentences(check)
        phrases.append(
            f"On cases not seen in training, {right} of the answers are right, in cross-validation "
            f"({check['folds']} {check['how']}); always saying {plain(common['class'])} would be right on "
            f"{share_text(common['part'], common['whole'])}."
        )
        if check["note"]:
            phrases.append(f"{check['note']}, which may make this figure too high.")
    else:
        phrases.append(f"How it does on cases not seen in training is not known: {check['why']}.")
    return phrases


def rare_sentences(check: Summary) -> list[str]:
    """Say first how a rare class is told from the others, where one is rare."""
    if "rare_class" not in check["unseen"]:
        return []
    return [f"On cases not seen in training: {rare_text(check['unseen'], 'cases')}."]


def _contrast(facts: Summary) -> str:
    text = f"In the ranking, {counted(facts['worth_showing'], 'property sets', 'properties set')} top and bottom apart"
    confirmed = sum(entry["confirmed"] for entry in facts["properties"])
    return (
        f"{text}; {confirmed:,} of those shown are confirmed by classes held out."
        if facts["has_labels"]
        else f"{text}."
    )


def _advice(facts: Summary) -> str:
    rules = facts["rules"]
    if facts["kind"] == "check":
        errors = sum(finding["severity"] == "error" for finding in facts["findings"])
        state = counted(errors, "error") if errors else "no errors"
        return f"Of {counted(len(rules), 'piece', 'pieces')} of advice, the check found {state}."
    standings: dict[str, int] = {}
    for rule in rules:
        words = _STANDING_WORDS.get(_standing(rule), "set aside")
        standings[words] = standings.get(words, 0) + 1
    parts = [f"{count:,} {words}" for words, count in standings.items()]
    return f"Of {counted(len(rules), 'piece', 'pieces')} of advice: {'; '.join(parts) or 'none'}."


Summary = dict[str, Any]

_MEANING = (
    ("rule", "conditions that a case meets, and the class it then gets"),
    ("covers", "how many of the cases meet the conditions"),
    (
        "right (precision)",
        "of the cases that a rule covers, how many have its class; says nothing about other cases",
    ),
    (
        "as the model (fidelity)",
        "of the cases that a rule covers, for how many the model says the same class",
    ),
    (
        "proved",
        "the model gives this class to every case that meets the conditions, also to cases nobody has seen; it is a "
        "statement about the model, and does not say that the model is right",
    ),
    ("observed", "the model gave this class to the cases that were looked at; others may differ"),
    (
        "reachable",
        "cases of a class that the model gets right; rules of the model cannot be right on others",
    ),
    (
        "standard error",
        "how far the figure may be off for other cases and for models of other cases; twice as far is rare",
    ),
    (
        "cross-validation",
        "the model is trained again without a part of the cases and judged on that part; it judges the way of learning "
        "rather than this very model",
    ),
)


_POINT_MEANING = (
    ("rule", "conditions that may hold of a case; a condition on a missing value does not hold"),
    ("points", "what is added to the score of a case where the rule holds; the sum decides"),
    ("holds for", "how many of the cases meet the conditions"),
    (
        "of that class",
        "of the cases for which the rule holds, how many have the class that it speaks for",
    ),
    ("measured", "counted on cases that had no part in training"),
    *(entry for entry in _MEANING if entry[0] in ("standard error", "cross-validation")),
)


def make_sections(summary: Summary) -> tuple[Section, ...]:
    """Arrange a summary for reading."""
    made = [
        Section("learned", "In short", (Bullets(tuple(summary["learned"])),)),
        rule_section(summary),
        *_card_sections(summary),
        feature_section(summary),
        validation_section(summary),
        experts_section(summary),
        case_section(summary),
        uncovered_section(summary),
        contrast_section(summary),
        advice_section(summary),
        _origin_section(summary),
        _meaning_section(summary),
    ]
    return tuple(section for section in made if section is not None and section.blocks)


def _card_sections(summary: Summary) -> tuple[Section | None, ...]:
    """Return a scorecard, and cases by its lines."""
    if summary.get("card") is None:
        return ()
    from clearmargin.report.card_report import card_case_section, card_section

    return card_section(summary["card"]), card_case_section(summary["card"])


def _origin_section(summary: Summary) -> Section:
    origin = summary["reproduce"]
    digests = [("table", origin["data"]["table_sha256"])]
    if origin["data"]["classes_sha256"]:
        digests.append(("classes", origin["data"]["classes_sha256"]))
    blocks: list[Block] = [
        Para.of("The same model, data, versions and call give this report again, byte for byte."),
        Code(origin["call"]),
        TableBlock(
            "Data: SHA-256 of the canonical bytes",
            ("what", "SHA-256"),
            tuple((name, Code(digest)) for name, digest in digests),
        ),
        TableBlock("Versions", ("package", "version"), tuple(origin["versions"].items())),
    ]
    if origin["parameters"]:
        rows = tuple((name, Code(value)) for name, value in origin["parameters"].items())
        blocks.append(
            Fold(
                f"All {len(rows)} parameters of the model",
                (TableBlock("Parameters of the model", ("parameter", "value"), rows),),
            )
        )
    return Section("reproduce", "How to make this report again", tuple(blocks))


def _meaning_section(summary: Summary) -> Section | None:
    if summary["rules"] is None:
        return None
    words = _MEANING if summary.get("points") is None else _POINT_MEANING
    table = TableBlock("Words of this report", ("word", "meaning"), words)
    return Section("words", "What the words mean", (table,))
