"""`clearmargin explain` says why cases get their class."""

from __future__ import annotations

import argparse
from textwrap import fill
from typing import TYPE_CHECKING, Any

from clearmargin.cli.command_options import (
    CASES,
    EXTRACTION,
    MODEL,
    OPTIONS,
    QUESTION,
    SPLIT,
    add_options,
)
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, save_model_file
from clearmargin.exceptions import DataError, RuleSyntaxError

if TYPE_CHECKING:
    from clearmargin.recipes.found_rules import ExplainedCases
    from clearmargin.recipes.trained_models import Trained
    from clearmargin.rules.value import IntArray

__all__ = ["add_arguments", "read_weights", "run"]

_MOST = 3
_LEAST_PRECISION = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    about = ("guarantee", "precision", "kind", "weights")
    add_options(parser, *QUESTION, "missing", *CASES, *about, *MODEL, *EXTRACTION, *SPLIT, "force")
    parser.epilog = (
        "example: clearmargin explain patients.csv --target outcome --row 7\n"
        '         clearmargin explain patients.csv --target outcome --where "patient = P-07" --guarantee proved\n'
        "         clearmargin explain new.csv --model ill.json --row 1"
    )


def run(arguments: argparse.Namespace) -> None:
    """Train or load a model and explain the cases asked for: by few conditions, or by its rules."""
    from clearmargin.cli.inputs import read_inputs, require_target, train
    from clearmargin.cli.listing import print_model
    from clearmargin.cli.points_model import explain_by_points
    from clearmargin.recipes.found_rules import choose_rows
    from clearmargin.recipes.phrases import row_heading
    from clearmargin.recipes.trained_models import load_for_task
    from clearmargin.recipes.weighted_rules import holds_points
    from clearmargin.rule_base.explanation import check_weights

    console = Console.of(arguments)
    require_target(arguments)
    if holds_points(arguments.model):
        explain_by_points(arguments, console, _MOST)
        return
    weights = check_weights(read_weights(arguments.weights))
    _check_options(arguments)
    model_file = claim(arguments.save_model, arguments, [".json"])
    task, model = read_inputs(arguments, console)
    most = arguments.most or _MOST
    try:
        positions, notes = choose_rows(task, row=arguments.row, where=arguments.where, most=most)
    except RuleSyntaxError as error:
        raise error.in_file("--where") from None
    console.note_all(notes)
    trained = train(task, arguments, console) if model is None else load_for_task(model, task)
    console.say(task.summary)
    print_model(trained.model, trained.accuracy, console, given=model is not None)
    told, explained = _explain(trained, positions, arguments, weights, console)
    texts = []
    for k, (row, true, explanation) in enumerate(
        zip(told.rows, told.labels, told.explanations, strict=True)
    ):
        bare = bool(told.coverage) and not told.coverage[k].is_covered
        why = f" {told.coverage[k].text}" if bare else ""
        heading = row_heading(row, explanation.label, true)
        texts.append(fill(f"{heading} {explanation.text}{why}", width=100))
    console.say()
    save_model_file(explained, model_file, arguments, console)
    console.result("\n\n".join(texts), told.to_dict())


def _explain(
    trained: Trained,
    positions: IntArray,
    arguments: argparse.Namespace,
    weights: dict[str, float],
    console: Console,
) -> tuple[ExplainedCases, Any]:
    """Explain rows by few conditions or, where a kind is asked for, by rules; also give what is explained."""
    from clearmargin.cli.inputs import extract_options, show_progress
    from clearmargin.recipes.found_rules import explain_cases, explain_rows, find_rules

    if arguments.kind is None:
        told = explain_cases(
            trained,
            positions,
            precision=arguments.precision,
            max_conditions=arguments.max_conditions,
            guarantee=arguments.guarantee,
        )
        return told, trained.model
    found = find_rules(trained, extract_options(arguments), progress=show_progress(console))
    kind = arguments.kind.replace("-", "_")
    return explain_rows(found, positions, kind, weights=weights), found.model


def _check_options(arguments: argparse.Namespace) -> None:
    """Raise if an option is given that says nothing with or without --kind, or a precision that makes no sense."""
    if arguments.precision < _LEAST_PRECISION:
        raise DataError(
            f"--precision {arguments.precision:g}: give a share from {_LEAST_PRECISION}, such as 0.95"
        )
    by_rules = arguments.kind is not None
    if by_rules and arguments.target is None:
        raise DataError(
            "--kind extracts rules, which are judged by classes; add --target, or leave out --kind"
        )
    of_others = (
        ("guarantee", "precision")
        if by_rules
        else ("weights", *(name for name in EXTRACTION if name != "max_conditions"))
    )
    for name in of_others:
        given, option = getattr(arguments, name), OPTIONS[name]
        if given and given != option.settings.get("default"):
            flag = option.flag
            raise DataError(
                f"{flag} is not for explanations by rules; leave out {flag} or --kind"
                if by_rules
                else f"{flag} is for explanations by rules; add --kind rule, or leave out {flag}"
            )


def read_weights(given: list[str]) -> dict[str, float]:
    """Read how much parts of the confidence count.

    Examples
    --------
    >>> read_weights(["purity=2", "volume=0"])
    {'purity': 2.0, 'volume': 0.0}
    """
    weights = {}
    for text in given:
        part, _, weight = text.partition("=")
        try:
            weights[part.strip()] = float(weight)
        except ValueError:
            raise DataError(
                f"--weights {text}: write the weight of a part behind it, such as purity=2"
            ) from None
    return weights
