"""The rules of a table in words, tables and pictures: for the terminal, and as a page.

All of it is made of the facts that ``--json`` prints; nothing is computed here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from clearmargin.language.prose import plain
from clearmargin.language.words import counted, error_text, number_text, ratio_text
from clearmargin.report.facts import condition_facts
from clearmargin.report.page import Page
from clearmargin.report.page_blocks import (
    Block,
    Bullets,
    Chart,
    Code,
    Fold,
    Para,
    Picture,
    RuleRow,
    RuleTable,
    Section,
    TableBlock,
    Tiles,
)
from clearmargin.report.pictures import (
    STYLES,
    condition_bar,
    shares_with_errors,
    signed_bars,
    stacked_bars,
)
from clearmargin.rules import FeatureSpace, Rule, RuleSet

Facts = dict[str, Any]

TITLES = {
    "rules": "Rules",
    "points": "Rules with points",
    "scorecard": "Scorecard",
    "tree": "Rules of a tree of SVMs",
}
MODELS = {
    "rules": "rules with default class",
    "points": "rules with points",
    "scorecard": "scorecard",
    "tree": "rules with default class",
    "svm": "sparse linear SVM",
    "majority": "majority class",
}
FIGURES = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "auc": "AUC"}


def rule_page(facts: Facts, *, command: str | None = None, text: str = "") -> Page:
    """Make the page: the rules first, then how accurate they are, then what was done to the table."""
    data, model = facts["data"], facts["model"]
    first: list[Block] = [tiles for tiles in [_tiles(facts)] if tiles is not None]
    sections = [
        Section("rules", TITLES[model["form"]], (*first, *form_blocks(facts, drawn=True))),
        Section("accuracy", "How accurate they are", tuple(accuracy_blocks(facts, drawn=True))),
    ]
    notes = _notes(facts)
    if notes:
        sections.append(Section("table", "What was done to the table", (Bullets(notes),)))
    details: list[Block] = [Fold("Features and their values", (_features(data),))]
    if text:
        details.append(Fold("The rules as text, to be edited and read back", (Code(text),)))
    details.append(Fold("How these figures were computed", (Bullets(_methods(facts, command)),)))
    sections.append(Section("details", "Details", tuple(details)))
    title = f"{TITLES[model['form']]} for {plain(str(data['target']))}"
    return Page(title, data_line(data), tuple(sections), facts)


def rule_text_sections(facts: Facts) -> tuple[Section, ...]:
    """Give what the terminal shows."""
    blocks: list[Block] = [
        Para.of(data_line(facts["data"])),
        *form_blocks(facts, drawn=False),
        *accuracy_blocks(facts, drawn=False),
    ]
    return (Section("rules", "", tuple(blocks)),)


def data_line(data: Facts) -> str:
    """Say what the table is."""
    classes = ", ".join(
        f"{entry['rows']:,} {plain(entry['class'])} ({ratio_text(entry['share'])})"
        for entry in data["classes"]
    )
    size = f"{counted(data['rows'], 'row')}, {counted(len(data['features']), 'feature')}"
    sample = f", {data['rows_used']:,} of them used" if data["rows_used"] < data["rows"] else ""
    return f"{data['name']}: {size}{sample}; {plain(str(data['target']))}: {classes}."


def class_styles(data: Facts) -> dict[str, int]:
    """Give each class a colour."""
    return {str(entry["class"]): k % STYLES for k, entry in enumerate(data["classes"])}


def _figure(fact: Facts | None) -> str:
    if fact is None or fact["value"] is None:
        return "–"
    return error_text(ratio_text(fact["value"]), fact["standard_error"])


def short_condition(condition: Facts) -> str:
    """Write a condition without its feature: ``<= 6``, ``3 to 5``, ``in {red, green}``."""
    if condition["feature"] is None:
        return str(condition["text"])
    if "missing" in condition:
        return "is missing" if condition["missing"] else "is not missing"
    if "categories" in condition:
        names = [plain(condition["categories"][k]) for k in condition["allowed"]]
        return f"= {names[0]}" if len(names) == 1 else f"in {{{', '.join(names)}}}"
    return _interval(condition)


def _interval(condition: Facts) -> str:
    low, high = condition["low"], condition["high"]
    if low is not None and low == high:
        return f"= {number_text(low, 10)}"
    above = f"{'>=' if condition['low_closed'] else '>'} {number_text(low, 10)}"
    below = f"{'<=' if condition['high_closed'] else '<'} {number_text(high, 10)}"
    if low is None or high is None:
        return below if low is None else above
    if condition["low_closed"] and condition["high_closed"]:
        return f"{number_text(low, 10)} to {number_text(high, 10)}"
    return f"{above} and {below}"


def short_rule(rule: Rule, space: FeatureSpace) -> str:
    """Write a rule in one line."""
    ((*conditions,),) = condition_facts(RuleSet([rule], space), np.empty((0, len(space))))
    parts = [f"{plain(c['feature'] or '')} {short_condition(c)}".strip() for c in conditions]
    return f"{' and '.join(parts) or 'always'} => {plain(rule.label)}"


def rule_row(rule: Facts, style: int, counts: tuple[str, ...]) -> RuleRow:
    """Show a rule as a row of intervals."""
    conditions: dict[str, tuple[str, Picture | None]] = {
        plain(c["feature"] or "sum"): (short_condition(c), condition_bar(c, style))
        for c in rule["conditions"]
    }
    return RuleRow(str(rule["number"]), conditions, plain(rule["class"]), style, counts)


def feature_heads(data: Facts, names: list[str]) -> tuple[tuple[str, str, str], ...]:
    """Give the head of a column of intervals: the feature, and both ends of its range."""
    known = {feature["name"]: feature for feature in data["features"]}
    heads = []
    for name in names:
        ends = known.get(name, {}).get("range") or [None, None]
        low, high = ("" if end is None else number_text(end, 3) for end in ends)
        heads.append((plain(name), low, high))
    return tuple(heads)


def form_blocks(facts: Facts, *, drawn: bool) -> Iterator[Block]:
    """Show what decides."""
    data, model = facts["data"], facts["model"]
    styles = class_styles(data)
    if "rules" not in model:
        yield from _points_blocks(model, styles, drawn)
        return
    default = model["default"]
    if not model["rules"]:
        yield Para.of(
            f"There is no rule: the model predicts {plain(default['class'])} for all rows.",
            style="warning",
        )
        return
    number = counted(len(model["rules"]), "rule")
    used = f"{counted(len(model['features']), 'feature')} of {model['n_features']}"
    described = "SVM" if model["form"] == "rules" else "tree"
    if model["form"] == "rules":
        told = f"{number} of a sparse linear SVM ({used})."
        if all(rule["proved"] for rule in model["rules"]):
            told += " Each is proved: the SVM predicts its class wherever the rule applies."
    else:
        told = f"{number} of a tree of SVMs ({used}); the first that applies decides."
    if data["rare"] is not None:
        share = next(c["share"] for c in data["classes"] if c["class"] == data["rare"])
        told += (
            f" Classes are balanced in training, since {plain(data['rare'])} is rare: it has {ratio_text(share)} of "
            "the rows, which is what the share of correct rows of its rules is to be compared with."
        )
    yield Para.of(told)
    rows = [
        rule_row(
            rule,
            styles[str(rule["class"])],
            (
                f"{rule['rows']:,}",
                ratio_text(rule["right"] / rule["rows"]) if rule["rows"] else "–",
            ),
        )
        for rule in model["rules"]
    ]
    right = ratio_text(default["right"] / default["rows"]) if default["rows"] else "–"
    last = RuleRow(
        "",
        {},
        plain(default["class"]),
        styles[str(default["class"])],
        (f"{default['rows']:,}", right),
    )
    heads = feature_heads(data, model["features"])
    heads = heads or tuple((plain(name), "", "") for name in model["features"])
    yield RuleTable("The rules", heads, (*rows, last), ("rows", "correct"))
    yield Para.of(
        f"The rules cover {ratio_text(model['coverage'])} of the rows. With the default class they predict what the "
        f"{described} predicts on {ratio_text(model['fidelity'])} (fidelity)."
    )


def _points_blocks(model: Facts, styles: dict[str, int], drawn: bool) -> Iterator[Block]:
    """Show points as bars on a page, and as lines in a terminal."""
    lines, is_binary = model["lines"], len(model["classes"]) == 2
    yield Para.of(f"{model['decision']}.")
    columns = ("points", "where") if is_binary else ("points", "where", "class")
    rows = tuple(
        (f"{line['points']:+g}", line["text"], plain(line["class"]))[: len(columns)]
        for line in lines
    )
    if is_binary and drawn:
        bars = [
            (line["text"], line["points"], f"{line['points']:+g}", styles[str(line["class"])])
            for line in lines
        ]
        yield Chart("Points of what holds are added up", signed_bars(bars), style="plain")
    else:
        yield TableBlock("Points of what holds are added up", columns, rows, frozenset({0}))


def _tiles(facts: Facts) -> Tiles | None:
    """Choose the figures to see first: of a rare class what is found and how often that is right."""
    found = facts["evaluation"]
    if found is None:
        return None
    mine = found["models"][0]
    is_cross_validated = ", cross-validated" if found["how"].startswith("Cross") else ""
    constant = found["models"][-1]
    tiles = []
    for name in (
        ("balanced_accuracy", "auc") if facts["data"]["rare"] is not None else ("accuracy",)
    ):
        if mine[name]["value"] is None:
            continue
        beside = "50 % is chance"
        if name == "accuracy":
            beside = f"majority class {ratio_text(constant[name]['value'])}"
        error = 100 * mine[name]["standard_error"]
        tiles.append(
            (
                ratio_text(mine[name]["value"]),
                FIGURES[name] + is_cross_validated,
                f"standard error {error:.1f}; {beside}",
            )
        )
    model = facts["model"]
    if facts["data"]["rare"] is not None:
        rare = next(c for c in found["classes"] if c["class"] == facts["data"]["rare"])
        for name, what in (
            ("recall", f"of the rows of {plain(rare['class'])} are found"),
            ("precision", f"of the rows predicted {plain(rare['class'])} have it"),
        ):
            if rare[name]["value"] is not None:
                error = 100 * rare[name]["standard_error"]
                tiles.append(
                    (ratio_text(rare[name]["value"]), what, f"{name}, standard error {error:.1f}")
                )
    elif model.get("rules"):
        proved = "proved rules" if all(r["proved"] for r in model["rules"]) else "rules"
        features = f"on {counted(len(model['features']), 'feature')}"
        tiles.append((str(len(model["rules"])), proved, features))
        tiles.append(
            (ratio_text(model["coverage"]), "of the rows are covered by a rule", "all rows")
        )
        tiles.append(
            (ratio_text(model["fidelity"]), "are predicted as by the model", "fidelity, all rows")
        )
    return Tiles(tuple(tiles))


def accuracy_blocks(facts: Facts, *, drawn: bool) -> Iterator[Block]:
    """Say how accurate it is beside the SVM and the majority class, and for each class."""
    found, data, form = facts["evaluation"], facts["data"], facts["model"]["form"]
    if found is None:
        yield Para.of("No figure on rows not seen in training is known.", style="warning")
        return
    figure, titles = found["figure"], _titles(found)
    names = ("balanced_accuracy", "auc", "accuracy")
    order = names if figure == "balanced_accuracy" else ("accuracy", "balanced_accuracy", "auc")
    if not found["above_chance"]:
        yield Para.of(
            "Neither these rules nor the SVM nor another form rank rows better than chance by two standard errors of "
            f"the AUC: these columns may say nothing about {plain(str(data['target']))}.",
            style="warning",
        )
    if drawn:
        shown = [
            (each["model"], each)
            for each in (*found["models"][:1], *_others(facts), *found["models"][1:])
        ]
        rows = [
            (titles[name], each[figure]["value"], each[figure]["standard_error"])
            for name, each in shown
            if each[figure]["value"] is not None
        ]
        yield Chart(
            f"{FIGURES[figure].capitalize()}, with bars of two standard errors",
            shares_with_errors(rows),
        )
    table = [
        (
            f"{titles[each['model']]}"
            + (f" ({plain(found['majority_class'])})" if each["model"] == "majority" else ""),
            *(_percent(each[name]) for name in order),
        )
        for each in found["models"]
    ]
    yield TableBlock(
        f"{found['how']}; percent ± one standard error",
        ("", *(FIGURES[name] for name in order)),
        tuple(table),
        frozenset({1, 2, 3}),
    )
    if data["rare"] is not None and drawn:
        yield _found_chart(found["rarest"])
    yield TableBlock(
        f"Of each class, {MODELS[form]}",
        ("class", "recall", "precision"),
        tuple(
            (plain(entry["class"]), _percent(entry["recall"]), _percent(entry["precision"]))
            for entry in found["classes"]
        ),
        frozenset({1, 2}),
    )
    yield Para.of(_comparison(found))
    if facts["alternatives"]:
        yield Para.of(_alternatives(facts), style="quiet")


def _others(facts: Facts) -> list[Facts]:
    return [{**each, "model": each["form"]} for each in facts["alternatives"]]


def _percent(fact: Facts) -> str:
    if fact["value"] is None:
        return "–"
    # Rounded down, as all shares are: only all of them are 100 %.
    tenths = math.floor(1000 * fact["value"] + 1e-9) / 10
    error = fact["standard_error"]
    return f"{tenths:.1f} ± {100 * error:.1f}" if error else f"{tenths:.1f}"


def _found_chart(rarest: Facts) -> Chart:
    """Show how many rows of the rarest class are found, and how many of those predicted are right."""
    label, found = plain(rarest["class"]), rarest["found"]
    missed, false = rarest["missed"], rarest["false_alarms"]
    rows = [
        (
            f"{counted(found + missed, 'row')} of {label}",
            (found, f"{found:,} found"),
            (missed, f"{missed:,} missed"),
        ),
        (
            f"{counted(found + false, 'row')} predicted {label}",
            (found, f"{found:,} correct"),
            (false, f"{false:,} false alarms"),
        ),
    ]
    kept = [row for row in rows if row[1][0] + row[2][0]]
    text = (
        f"Of {counted(found + missed, 'row')} of {label}, {found:,} are found; of {counted(found + false, 'row')} "
        f"predicted {label}, {found:,} are correct."
    )
    return Chart("Found and missed rows", stacked_bars(kept), text, style="below")


def _titles(found: Facts) -> dict[str, str]:
    """Name the models that are compared."""
    return MODELS if found["how"].startswith("Cross") else {**MODELS, "svm": "the model"}


def _comparison(found: Facts) -> str:
    """Compare with the SVM and with the majority class, in points of the figure that counts."""
    sides = []
    for name, gap in found["beside"].items():
        title = {"majority": "the majority class"}.get(name, "the SVM")
        value, error = 100 * gap["value"], 100 * gap["standard_error"]
        where = "above" if value > 0 else "below"
        if abs(value) <= error:
            sides.append(f"level with {title} ({value:+.1f} points, standard error {error:.1f})")
        else:
            sides.append(f"{abs(value):.1f} points {where} {title} (standard error {error:.1f})")
    return f"{FIGURES[found['figure']].capitalize()}: {', '.join(sides)}."


def _alternatives(facts: Facts) -> str:
    """Say in one line what other forms would have."""
    figure = facts["evaluation"]["figure"]
    parts = [
        f"{TITLES[each['form']].lower()} {_figure(each[figure])} (--as {each['form']})"
        for each in facts["alternatives"]
    ]
    told = f"Other forms, {FIGURES[figure]}: {'; '.join(parts)}."
    if facts["chosen"] is not None:
        told = (
            "The first of rules, scorecard and rules with points within one standard error of the best; the figures "
            f"above are those of choosing and training. {told}"
        )
    rows = facts["alternatives"][0]["rows"]
    if rows < facts["evaluation"]["rows"]:
        told += f" Compared on {rows:,} rows."
    return told


def _notes(facts: Facts) -> tuple[str, ...]:
    found = facts["evaluation"]
    more = [] if found is None or found["duplicates"] is None else [f"{found['duplicates']}."]
    return (*facts["data"]["notes"], *more)


def _features(data: Facts) -> TableBlock:
    rows = []
    for feature in data["features"]:
        if "categories" in feature:
            names = [plain(name) for name in feature["categories"]]
            rows.append(
                (
                    plain(feature["name"]),
                    "categories",
                    ", ".join(names[:8]) + (" …" if len(names) > 8 else ""),
                )
            )
        else:
            low, high = (number_text(end, 6) for end in feature["range"])
            kind = "whole number" if feature["whole"] else "number"
            rows.append((plain(feature["name"]), kind, f"{low} to {high}"))
    return TableBlock("Features", ("feature", "type", "values"), tuple(rows))


def _methods(facts: Facts, command: str | None) -> tuple[str, ...]:
    """Say how figures were computed."""
    found, model = facts["evaluation"], facts["model"]
    lines = []
    if found is not None:
        lines += [
            f"{found['how']}, {found['rows']:,} rows tested. In a fold, features, costs, rules and default class are "
            "chosen from its training rows alone.",
            "Standard errors are computed over rows (for AUC by DeLong's method, for differences in pairs) or between "
            "folds, whichever is larger, and corrected because training parts share rows.",
        ]
    if "rules" in model:
        lines.append("Counts beside rules are on all rows of the table, training rows included.")
        if any(rule["proved"] for rule in model["rules"]):
            lines.append(
                "Proved: in exact arithmetic, the linear SVM predicts the class of the rule at every point that meets "
                "its conditions. It does not mean that the class is right."
            )
    if command is not None:
        lines.append(f"Made by: {command}")
    return tuple(lines)
