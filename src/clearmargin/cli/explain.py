"""`clearmargin explain` says why cases get their class."""

from __future__ import annotations

import argparse
from textwrap import fill

from clearmargin.cli.command_options import (
    CASES,
    MODEL,
    QUESTION,
    SPLIT,
    add_options,
)
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, save_model_file
from clearmargin.exceptions import DataError, RuleSyntaxError

_MOST = 3
_LEAST_PRECISION = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    about = ("guarantee", "precision", "max_conditions")
    add_options(parser, *QUESTION, "missing", *CASES, *about, *MODEL, *SPLIT, "force")
    parser.epilog = (
        "example: clearmargin explain patients.csv --target outcome --row 7\n"
        '         clearmargin explain patients.csv --target outcome --where "patient = P-07" --guarantee proved\n'
        "         clearmargin explain new.csv --model ill.json --row 1"
    )


def run(arguments: argparse.Namespace) -> None:
    """Train or load a model and explain the cases asked for by few conditions."""
    from clearmargin.cli.inputs import read_inputs, require_target, train
    from clearmargin.cli.listing import print_model
    from clearmargin.cli.points_model import explain_by_points
    from clearmargin.recipes.found_rules import choose_rows, explain_cases
    from clearmargin.recipes.phrases import row_heading
    from clearmargin.recipes.trained_models import load_for_task
    from clearmargin.recipes.weighted_rules import holds_points

    console = Console.of(arguments)
    require_target(arguments)
    if holds_points(arguments.model):
        explain_by_points(arguments, console, _MOST)
        return
    if arguments.precision < _LEAST_PRECISION:
        raise DataError(
            f"--precision {arguments.precision:g}: give a share from {_LEAST_PRECISION}, such as 0.95"
        )
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
    told = explain_cases(
        trained,
        positions,
        precision=arguments.precision,
        max_conditions=arguments.max_conditions,
        guarantee=arguments.guarantee,
    )
    texts = [
        fill(f"{row_heading(row, explanation.label, true)} {explanation.text}", width=100)
        for row, true, explanation in zip(told.rows, told.labels, told.explanations, strict=True)
    ]
    console.say()
    save_model_file(trained.model, model_file, arguments, console)
    console.result("\n\n".join(texts), told.to_dict())
