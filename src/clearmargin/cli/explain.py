"""`clearmargin explain` says why cases get their class."""

from __future__ import annotations

import argparse
from textwrap import fill

from clearmargin.cli.command_options import CASES, EXTRACTION, MODEL, SPLIT, TASK, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, save_model_file
from clearmargin.exceptions import DataError, RuleSyntaxError

__all__ = ["add_arguments", "read_weights", "run"]

_MOST = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_options(
        parser, *TASK, "missing", *CASES, "kind", "weights", *MODEL, *EXTRACTION, *SPLIT, "force"
    )
    parser.epilog = (
        "example: clearmargin explain patients.csv --target outcome --row 7\n"
        '         clearmargin explain patients.csv --target outcome --where "patient = P-07"'
    )


def run(arguments: argparse.Namespace) -> None:
    """Train or load a model, extract its rules, explain the cases asked for."""
    from clearmargin.cli.inputs import extract_options, read_inputs, show_progress, train
    from clearmargin.cli.listing import print_model
    from clearmargin.recipes.found_rules import choose_rows, explain_rows, find_rules
    from clearmargin.recipes.trained_models import load_for_task
    from clearmargin.rule_base.explanation import check_weights

    console = Console.of(arguments)
    weights = check_weights(read_weights(arguments.weights))
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
    found = find_rules(trained, extract_options(arguments), progress=show_progress(console))
    kind = arguments.kind.replace("-", "_")
    told = explain_rows(found, positions, kind, weights=weights)
    texts = []
    cases = zip(told.rows, told.labels, told.explanations, told.coverage, strict=True)
    for row, true, explanation, coverage in cases:
        verdict = "right" if explanation.label == true else f"wrong: it is {true}"
        why = "" if coverage.is_covered else f" {coverage.text}"
        texts.append(fill(f"Row {row} ({verdict}). {explanation.text}{why}", width=100))
    console.say()
    save_model_file(found.model, model_file, arguments, console)
    console.result("\n\n".join(texts), told.to_dict())


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
