"""`clearmargin demo` shows the four published systems on data inside the package."""

from __future__ import annotations

import argparse
import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.cli.command_options import OUTPUT, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, writing
from clearmargin.exceptions import FileInTheWayError
from clearmargin.language.words import counted, error_text, number_text, ratio_text

if TYPE_CHECKING:
    from clearmargin.report.page_blocks import Block, RuleTable
    from clearmargin.rules import RuleSet

_PAGE = "report.html"
# Diabetes rules 1 to 6 of Kunapuli, Maclin and Shavlik (NIPS 2011 workshop, and its poster).
DIABETES_RULES = """
R1: glucose <= 126 => tested_negative
R2: glucose >= 126 and glucose <= 140 and bmi <= 30 => tested_negative
R3: glucose >= 126 and glucose <= 140 and bmi >= 30 => tested_positive
R4: glucose >= 140 => tested_positive
R5: diabetes_pedigree <= 0.5 and age <= 31 => tested_negative
R6: diabetes_pedigree >= 0.5 and age >= 31 => tested_positive
"""
# Patients to learn from, and how often they are drawn.
_PATIENTS, _DRAWS = 40, 12
# In the terminal rules that cover fewer rows are left to the page.
_FEWEST_ROWS = 20

Part = tuple[str, "list[Block]", "list[Block]", dict[str, Any]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_options(parser, "no_report", *OUTPUT, out=f"the page, as .html (default: {_PAGE})")
    parser.epilog = "example: clearmargin demo --out demo.html"


def run(arguments: argparse.Namespace) -> None:
    """Show the four systems in the terminal, and write one page with a picture of each."""
    from clearmargin.report.page import Page
    from clearmargin.report.page_blocks import Section
    from clearmargin.report.plain_text import page_text

    console = Console.of(arguments)
    page = None if arguments.no_report else arguments.out or _PAGE
    try:
        out = claim(page, arguments, [".html"])
    except FileInTheWayError as error:
        raise FileInTheWayError(f"{error}, or --out to write another, or --no-report") from None
    start = time.perf_counter()
    sections, facts = [], {}
    systems = {
        "rules": wisconsin_rules,
        "tree": rare_class_tree,
        "ranking": pima_ranking,
        "advice": diabetes_advice,
    }
    for number, (name, show) in enumerate(systems.items(), start=1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            title, told, drawn, facts[name] = show()
        sections.append(Section(name, f"{number}. {title}", tuple(drawn)))
        console.say(page_text([Section(name, f"{number}. {title}", tuple(told))], console.paint))
        console.say()
    if out is not None:
        about = (
            "Rules out of support vector machines, and rules into them. Each part has its paper, its data, and a "
            "figure of how good it is."
        )
        with writing(out):
            made = Page("Four published systems on their data", about, tuple(sections), facts)
            made.save(out, overwrite=arguments.force)
        console.wrote(f"The same with pictures is in {out.resolve()}: open it in a browser.")
    console.say(f"{time.perf_counter() - start:.0f} s.")
    console.result("", {**facts, "report": None if out is None else str(out)})


def wisconsin_rules() -> Part:
    """Rules of a sparse SVM by point coverage (Fung, Sandilya and Rao, KDD 2005)."""
    from clearmargin.cases import explain
    from clearmargin.datasets import load_wbc
    from clearmargin.evaluation.facts import rules_of_table
    from clearmargin.recipes.task import make_task
    from clearmargin.report.page_blocks import Para, RuleTable
    from clearmargin.report.rule_page import form_blocks
    from clearmargin.tables.files import FileTable

    data = load_wbc(as_frame=False)
    columns = dict(zip(data.feature_names, np.asarray(data.data, dtype=np.float64).T, strict=True))
    target = np.asarray(data.target).astype(object)
    task = make_task(FileTable("Wisconsin", {**columns, "diagnosis": target}), "diagnosis")
    made = rules_of_table(task, compare=False)
    model, found = made.facts["model"], made.facts["evaluation"]
    rules, svm = (
        error_text(ratio_text(each["accuracy"]["value"]), each["accuracy"]["standard_error"])
        for each in found["models"][:2]
    )
    case = {name: task.X.values(name)[1] for name in task.X.names}
    why = explain(made.source.estimator_, case, task.X)
    values = ", ".join(f"{name} {number_text(case[name])}" for name in model["features"])
    what = (
        "Non-overlapping rules of a sparse linear SVM, each proved (Fung, Sandilya and Rao, KDD 2005). "
        f"{counted(len(model['rules']), 'rule')} on {len(model['features'])} of {model['n_features']} features cover "
        f"{ratio_text(model['coverage'])} of {len(task.y)} biopsies, and predict as the SVM does on "
        f"{ratio_text(model['fidelity'])}."
    )
    good = f"Cross-validated accuracy {rules}; the SVM itself {svm}."
    one = Para.of(f"One case, biopsy 2 ({values}): {why.text}")
    (table,) = [each for each in form_blocks(made.facts, drawn=True) if isinstance(each, RuleTable)]
    rows = zip(model["rules"], table.rows, strict=False)
    large = tuple(row for rule, row in rows if rule["rows"] >= _FEWEST_ROWS)
    first = RuleTable(table.caption, table.features, large, table.heads)
    more = Para.of(f"The rules that cover at least {_FEWEST_ROWS} biopsies:")
    told: list[Block] = [Para.of(what), more, first, Para.of(good), one]
    facts = {"rules": model["document"], "evaluation": found, "explanation": why.to_dict()}
    return "Rules out of a linear SVM", told, [Para.of(f"{what} {good}"), table, one], facts


def rare_class_tree() -> Part:
    """A tree of SVMs for a rare class (Pang and Kasabov, IJCNN 2008)."""
    from sklearn.metrics import recall_score
    from sklearn.svm import SVC

    from clearmargin.datasets import make_imbalanced
    from clearmargin.report.page_blocks import Chart, Para
    from clearmargin.report.pictures import boxes_over_rows, stacked_bars
    from clearmargin.rules import Box
    from clearmargin.svm_trees import SVMTreeClassifier

    X, y = make_imbalanced(random_state=0)
    X_new, y_new = make_imbalanced(2_024, random_state=1)
    labels, counts = np.unique(y, return_counts=True)
    rare, other = (str(labels[k]) for k in (counts.argmin(), counts.argmax()))
    tree = SVMTreeClassifier(loss="minority", random_state=0).fit(X, y)
    found = {
        name: [
            float(recall_score(y_new, model.predict(X_new), labels=[label], average="macro"))
            for label in (rare, other)
        ]
        for name, model in (
            ("the tree", tree),
            ("a plain SVM", SVC(kernel="linear", C=0.1).fit(X, y)),
        )
    }
    rules, styles = tree.rules_, {rare: 0, other: 1}
    table = _rule_table("Rules of the tree; the first that applies decides", rules, X, y, styles)
    what = (
        "A tree of SVMs for unequal classes, and interval rules of it (Pang and Kasabov, IJCNN 2008). "
        f"{len(y)} rows, {counts.min()} of them of the rare {rare}; {tree.n_leaves_} leaves, "
        f"{counted(len(rules), 'rule')}."
    )
    (a, b), (c, d) = found["the tree"], found["a plain SVM"]
    good = (
        f"Among {len(y_new):,} new rows the tree finds {ratio_text(a)} of the rare class ({ratio_text(b)} of the "
        f"other), a plain SVM {ratio_text(c)} ({ratio_text(d)})."
    )
    points = [
        (float(x0), float(x1), styles[str(label)])
        for (x0, x1), label in zip(np.asarray(X).tolist(), y, strict=True)
    ]
    boxes = []
    for rule in rules[::-1]:
        assert isinstance(rule.region, Box)
        sides = [rule.region.interval(j) for j in (0, 1)]
        ends = (sides[0].low, sides[1].low, sides[0].high, sides[1].high)
        boxes.append((ends, styles[str(rule.label)]))
    names = rules.space.names[0], rules.space.names[1]
    label = f"Training rows, those of {rare} larger, over the boxes of the rules"
    picture = Chart(
        label, (("", boxes_over_rows(points, boxes, names, label)),), style="plain single"
    )
    n = int((y_new == rare).sum())
    bars = stacked_bars(
        [
            (
                f"{rare} found by {name}",
                (round(n * each[0]), ratio_text(each[0])),
                (n - round(n * each[0]), "missed"),
            )
            for name, each in found.items()
        ]
    )
    recalls = Chart(f"Recall of {rare} on new rows", bars, style="below")
    facts = {"rules": rules.to_dict(), "recall": {name: each[0] for name, each in found.items()}}
    told: list[Block] = [Para.of(what), table, Para.of(good)]
    drawn: list[Block] = [Para.of(f"{what} {good}"), picture, recalls, table]
    return "A tree of SVMs for a rare class", told, drawn, facts


def pima_ranking() -> Part:
    """What sets the top of a ranking apart (Salleb-Aouissi, Huang and Waltz, EGC 2009)."""
    from clearmargin.datasets import load_pima
    from clearmargin.rankings import RankContrast
    from clearmargin.report.page_blocks import Chart, Para, TableBlock
    from clearmargin.report.pictures import two_shares

    X, y = load_pima(return_X_y=True, as_frame=False)
    names = load_pima(as_frame=False).feature_names
    contrast = RankContrast(max_size=1).fit(dict(zip(names, np.asarray(X).T, strict=True)), y)
    n = len(contrast.top_index_)
    found = [
        (
            str(each["property"]),
            each["top_count"] / n,
            each["bottom_count"] / n,
            bool(each["confirmed"]),
        )
        for each in _records(contrast.properties_)
    ]
    confirmed = sum(each[3] for each in found)
    what = (
        "What the top of an SVM ranking has in common that its bottom has not (Salleb-Aouissi, Huang and Waltz, EGC "
        f"2009). {len(y)} women ranked by risk of diabetes, {n} at each end; "
        f"{counted(len(found), 'property', 'properties')} by leverage, {confirmed} of them confirmed on labels that "
        "the ranking had not seen."
    )
    good = f"AUC of the ranking on held-out rows {contrast.held_out_auc_:.3f}."
    cells = tuple(
        (name, f"{100 * top:.0f} %", f"{100 * bottom:.0f} %", "yes" if sure else "no")
        for name, top, bottom, sure in found[:8]
    )
    columns = ("property", "top", "bottom", "confirmed")
    table = TableBlock("Share of the women at each end", columns, cells, frozenset({1, 2}))
    drawn = two_shares(
        [(f"{name}{' ✓' if sure else ''}", top, bottom) for name, top, bottom, sure in found[:8]],
        (f"top {n}", f"bottom {n}"),
    )
    picture = Chart(
        "Share of the women at each end who have a property; ✓ confirmed", drawn, style="plain"
    )
    facts = {"properties": [list(each) for each in found], "auc": float(contrast.held_out_auc_)}
    told: list[Block] = [Para.of(what), table, Para.of(good)]
    return "What sets the top of a ranking apart", told, [Para.of(f"{what} {good}"), picture], facts


def _records(properties: Any) -> list[dict[str, Any]]:
    """Read the properties as rows, with or without pandas."""
    columns = {
        name: list(properties[name])
        for name in ("property", "top_count", "bottom_count", "confirmed")
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def diabetes_advice() -> Part:
    """Expert rules into an SVM, refined and read back (Kunapuli, Maclin and Shavlik, 2011)."""
    from clearmargin.advice import AdviceSVC
    from clearmargin.datasets import load_pima
    from clearmargin.report.page_blocks import Chart, Para, TableBlock
    from clearmargin.report.pictures import shares_with_errors
    from clearmargin.report.rule_page import short_rule
    from clearmargin.tables.table import Table

    X, y = load_pima(return_X_y=True, as_frame=False)
    table = Table.of_columns(dict(zip(load_pima(as_frame=False).feature_names, X.T, strict=True)))
    generator = np.random.default_rng(0)
    models = {
        "rules and data": AdviceSVC(DIABETES_RULES),
        "rules and data, refined": AdviceSVC(DIABETES_RULES, refine="sqp"),
        "data alone": AdviceSVC(),
    }
    errors: dict[str, list[float]] = {name: [] for name in (*models, "rules alone")}
    told_rules: list[tuple[str, str, str, str]] = []
    moved = 0
    for _ in range(_DRAWS):
        rows = generator.permutation(len(y))
        few, rest = rows[:_PATIENTS], rows[_PATIENTS:]
        for name, model in models.items():
            model.fit(table.take(few).given, y[few])
            errors[name].append(float((model.predict(table.take(rest).given) != y[rest]).mean()))
        rules = models["rules and data"].advice_
        by_rules = rules.predict(table.take(rest), default="tested_negative")
        errors["rules alone"].append(float((by_rules != y[rest]).mean()))
        if not moved:
            # The first draw is shown in which a rule is changed.
            after = models["rules and data, refined"].refined_
            texts = [[short_rule(rule, each.space) for rule in each] for each in (rules, after)]
            told_rules = [
                (
                    rule.name or "",
                    text,
                    "as written" if text == changed else changed,
                    "proved" if rule.proof == "proved" else "not proved",
                )
                for rule, text, changed in zip(after, *texts, strict=True)
            ]
            moved = sum(each[2] != "as written" for each in told_rules)
    columns = ("rule", "as written", "after training", "by the model")
    shown = TableBlock("Six rules, before and after", columns, tuple(told_rules))
    figures = [
        (name, float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(_DRAWS)))
        for name, found in errors.items()
    ]
    what = (
        f"Six rules of experts and {_PATIENTS} patients train one SVM; rules that the data contradict are refined "
        f"(Kunapuli, Maclin and Shavlik, 2011). In the draw shown {moved} of 6 are changed."
    )
    listed = ", ".join(f"{name} {error_text(ratio_text(v), e)}" for name, v, e in figures)
    good = f"Error on the other {len(y) - _PATIENTS} patients, mean of {_DRAWS} draws: {listed}."
    picture = Chart(
        f"Error on the other {len(y) - _PATIENTS} patients, with bars of two standard errors over {_DRAWS} draws",
        shares_with_errors(figures),
        good,
    )
    facts = {"errors": {name: [v, e] for name, v, e in figures}, "rules": [*map(list, told_rules)]}
    told: list[Block] = [Para.of(what), shown, Para.of(good)]
    return "Expert rules into an SVM, and back", told, [Para.of(what), shown, picture], facts


def _rule_table(caption: str, rules: RuleSet, X: Any, y: Any, styles: dict[str, int]) -> RuleTable:
    """Show rules over two or more numbers as rows of intervals, with what they cover."""
    from clearmargin.report.facts import condition_facts
    from clearmargin.report.page_blocks import RuleTable
    from clearmargin.report.rule_page import rule_row

    points = rules.space.read(X)
    covers = rules.covers(X)
    rows = []
    for k, conditions in enumerate(condition_facts(rules, points)):
        inside, label = covers[:, k], rules[k].label
        right = float((np.asarray(y)[inside] == label).mean()) if inside.any() else 0.0
        fact = {"number": k + 1, "class": label, "conditions": conditions}
        counts = (f"{int(inside.sum()):,}", ratio_text(right))
        rows.append(rule_row(fact, styles[str(label)], counts))
    ends = [
        (number_text(points[:, j].min(), 3), number_text(points[:, j].max(), 3))
        for j in range(points.shape[1])
    ]
    heads = tuple(
        (name, low, high) for name, (low, high) in zip(rules.space.names, ends, strict=True)
    )
    return RuleTable(caption, heads, tuple(rows), ("rows", "correct"))
