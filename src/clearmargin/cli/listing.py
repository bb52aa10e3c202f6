"""Planes, rules and explanations on the screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clearmargin.cli.console import Console, number_of, table_lines
from clearmargin.cli.unseen import unseen_text

if TYPE_CHECKING:
    from clearmargin.cli.task import Task
    from clearmargin.models.planes import Planes
    from clearmargin.plane_rules.extraction import Trace
    from clearmargin.rules import RuleSet
    from clearmargin.rules.rule import Label

__all__ = [
    "explanation_dict",
    "features_used",
    "model_dict",
    "print_model",
    "print_rules",
    "rule_lines",
    "share_right",
]


def print_model(model: Planes, right: float, console: Console, *, given: bool = False) -> None:
    """Say how many features a model needs, and on which share of the rows it is right.

    Parameters
    ----------
    model : Planes
        The model.
    right : float
        The share of the rows on which it is right.
    console : Console
        Where to say it.
    given : bool, default False
        Whether the model comes from a file: what its file holds was measured on other rows than these.
    """
    console.say(
        f"The model uses {len(features_used(model))} of {number_of(len(model.space), 'feature')} "
        f"and is right on {100 * right:.1f} % of these rows."
    )
    facts = dict(model.facts or {})
    text = unseen_text(facts)
    if text and given:
        rows = number_of(int(facts["rows"]), "row") if "rows" in facts else "rows"
        text = f"Its file says, of the {rows} that it was trained on:\n{text}"
    if text:
        console.say(text)


def share_right(model: Planes, task: Task) -> float:
    """The share of rows on which a model is right."""
    return float((model.predict(task.X) == task.y).mean())


def features_used(model: Planes) -> list[str]:
    """The features that have a weight."""
    used = (model.coef_ != 0).any(axis=0).tolist()
    sources = model.encoding_.sources
    features = dict.fromkeys(source.feature for source, u in zip(sources, used, strict=True) if u)
    return [model.space.names[j] for j in features]


def model_dict(model: Planes, right: float) -> dict[str, Any]:
    """A model as plain data for JSON."""
    return {
        "classes": model.classes_.tolist(),
        "features_used": features_used(model),
        "accuracy": right,
        **(model.facts or {}),
    }


def print_rules(
    rules: RuleSet,
    traces: Mapping[Label, Trace],
    task: Task,
    console: Console,
    *,
    most: int,
    assumed: bool,
) -> None:
    """Print the first rules of each class, each with what it covers."""
    lines = rule_lines(rules)
    classes = sorted(traces, key=lambda label: label != task.positive)
    for label in classes:
        trace = traces[label]
        own = [k for k, rule in enumerate(rules) if rule.label == label]
        console.say()
        console.heading(
            f"{number_of(len(own), 'rule')} for {label}: {trace.covered} of {trace.members} rows of this class, "
            f"{100 * trace.coverage:.1f} % of the {trace.points} that the model gets right"
        )
        cells = [(str(k + 1), *_counted(rules, k), lines[k]) for k in own[:most]]
        if cells:
            head = ("", "rows", "right", "")
            console.say("\n".join(table_lines([head, *cells], right=[0, 1, 2])))
        if len(own) > most:
            console.say(f"  ... and {len(own) - most} more (--most, --out)")
    if not len(rules):
        console.say("\nNo rule covers as many rows as it must; see --min-coverage.")
        return
    text = "\nEach rule is proved: the model says the same wherever the rule applies"
    if assumed:
        console.say(f"{text}\nand the features are in the ranges of this table.")
    else:
        console.say(
            f"{text}.\nTo take the ranges of this table for granted and get shorter rules: --assume-ranges"
        )


def rule_lines(rules: RuleSet) -> list[str]:
    """The rules in the rule language, without declarations."""
    from clearmargin.language.printer import Phrases, format_label

    phrases = Phrases(rules.space)
    return [f"{phrases.premise(rule)} => {format_label(rule.label)}" for rule in rules]


def _counted(rules: RuleSet, k: int) -> tuple[str, str]:
    stats = rules[k].stats
    if stats is None:
        return "", ""
    if not stats.covered:
        return str(stats.covered), ""
    share = f"{100 * stats.accuracy:.0f}"
    # 299 of 300 are not all of them.
    return str(stats.covered), f"{'99' if share == '100' and stats.accuracy < 1 else share} %"


def explanation_dict(explanation: Any, row: int, true: Any) -> dict[str, Any]:
    """An explanation as plain data for JSON."""
    from clearmargin.rules import RuleSet

    alone = RuleSet([explanation.rule], explanation.space, [explanation.label])
    return {
        "row": row,
        "class": explanation.label,
        "true_class": true,
        "score": explanation.margin,
        "kind": explanation.kind,
        "rule": rule_lines(alone)[0],
        "proof": explanation.rule.proof,
        "confidence": explanation.confidence,
        "parts": dict(explanation.parts),
        "text": explanation.text,
    }
