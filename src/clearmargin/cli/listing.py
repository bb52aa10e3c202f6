"""Print models and rules on the screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clearmargin.cli.console import Console, table_lines
from clearmargin.language.prose import percent, ratio_text
from clearmargin.recipes.found_rules import rule_lines
from clearmargin.recipes.phrases import number_of
from clearmargin.recipes.unseen import unseen_text

if TYPE_CHECKING:
    from clearmargin.models.planes import Planes
    from clearmargin.recipes.task import Task
    from clearmargin.rule_base.budget import RuleBudget
    from clearmargin.rule_base.distillation import Distillation
    from clearmargin.rules import RuleSet
    from clearmargin.rules.rule import Label


def print_model(
    model: Planes, accuracy: float | None, console: Console, *, given: bool = False
) -> None:
    """Say how many features a model needs, and on which share of the rows it is right."""
    right = "" if accuracy is None else f" and is right on {ratio_text(accuracy)} of these rows"
    features = number_of(len(model.space), "feature")
    console.say(f"The model uses {len(model.features_used)} of {features}{right}.")
    facts = dict(model.facts or {})
    text = unseen_text(facts)
    if text and given:
        rows = number_of(int(facts["rows"]), "row") if "rows" in facts else "rows"
        text = f"Its file says, of the {rows} that it was trained on:\n{text}"
    if text:
        console.say(text)


def print_rules(
    rules: RuleSet,
    traces: Mapping[Label, Any],
    task: Task,
    console: Console,
    *,
    most: int,
    assumed: bool,
    distillation: Distillation | None = None,
    budget: RuleBudget | None = None,
) -> None:
    """Print the first rules of each class, each with what it covers, and how to get shorter ones."""
    if distillation is not None:
        console.say(f"The rules are those of {distillation}.")
    lines = rule_lines(rules)
    classes = sorted(traces, key=lambda label: label != task.positive)
    for label in classes:
        trace = traces[label]
        places = [k for k, rule in enumerate(rules) if rule.label == label]
        share = percent(trace.covered, trace.points) if trace.points else "none"
        console.say()
        console.heading(
            f"{number_of(len(places), 'rule')} for {label}: {trace.covered} of {trace.members} rows of this class, "
            f"{share} of the {trace.points} that the model gets right"
        )
        cells = [(str(k + 1), *_counted(rules, k), lines[k]) for k in places[:most]]
        if cells:
            head = ("", "rows", "right", "")
            console.say("\n".join(table_lines([head, *cells], right=[0, 1, 2])))
        if len(places) > most:
            console.say(f"  ... and {len(places) - most} more (--most, --out)")
    if not len(rules):
        console.say("\nNo rule covers as many rows as it must; see --min-coverage.")
        return
    if budget is not None and not budget.is_all:
        more = str(budget).replace("max_rules=None", "--max-rules all")
        console.say(f"\n{more}.")
    text = "\nEach rule is proved: the model says the same wherever the rule applies"
    if distillation is not None:
        text = "\nEach rule is proved of the distilled plane, not of the model, wherever the rule applies"
    if assumed:
        console.say(f"{text}\nand the features are in the ranges of this table.")
        return
    advice = "\nTo take the ranges of this table for granted and get shorter rules: --assume-ranges"
    console.say(f"{text}.{advice}")


def _counted(rules: RuleSet, k: int) -> tuple[str, str]:
    stats = rules[k].stats
    # Rules that were found in a table cover some of its rows.
    assert stats is not None
    assert stats.correct is not None
    return str(stats.covered), percent(stats.correct, stats.covered)
