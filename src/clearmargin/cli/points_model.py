"""Commands that are given a file of rules with points as --model: what differs from a model of planes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from clearmargin.cli.console import Console
from clearmargin.exceptions import DataError, RuleSyntaxError
from clearmargin.language.prose import ratio_text
from clearmargin.recipes.phrases import number_of

if TYPE_CHECKING:
    from clearmargin.recipes.weighted_rules import LoadedPoints
    from clearmargin.rules.value import IntArray


def read_points(arguments: argparse.Namespace, console: Console) -> LoadedPoints:
    """Read the file of rules with points and the table of a command; missing values stay as they are."""
    from clearmargin.cli.inputs import options_of_training, read_task
    from clearmargin.models import load_model
    from clearmargin.recipes.trained_models import positive_class
    from clearmargin.recipes.weighted_rules import load_points_for_task

    for option in options_of_training(arguments):
        raise DataError(f"--model is trained already; leave out --{option.replace('_', '-')}")
    if getattr(arguments, "save_model", None) is not None:
        raise DataError("--model is saved already; leave out --save-model")
    model = load_model(arguments.model)
    task = read_task(
        arguments,
        console,
        model.scorecard_,
        positive=positive_class(model),
        missing="keep",
        cv=None,
    )
    return load_points_for_task(model, task)


def print_points(loaded: LoadedPoints, console: Console) -> None:
    """Say what the rules are, and on which share of the rows they are right."""
    console.say(loaded.task.summary)
    share = loaded.accuracy
    right = "" if share is None else f" and is right on {ratio_text(share)} of these rows"
    console.say(f"The model has {number_of(len(loaded.model.rules_), 'rule')} with points{right}.")


def choose_positions(
    loaded: LoadedPoints, arguments: argparse.Namespace, console: Console, most: int
) -> IntArray:
    """Choose the rows that are asked for; notes are said."""
    from clearmargin.recipes.found_rules import choose_rows

    try:
        positions, notes = choose_rows(
            loaded.task, row=arguments.row, where=arguments.where, most=arguments.most or most
        )
    except RuleSyntaxError as error:
        raise error.in_file("--where") from None
    console.note_all(notes)
    return positions


def explain_by_points(arguments: argparse.Namespace, console: Console, most: int) -> None:
    """Explain the cases asked for by the points of what holds."""
    from clearmargin.recipes.weighted_rules import explain_points_of_rows

    if arguments.guarantee != "auto":
        raise DataError(
            "--guarantee is for other models; rules with points are explained by what they add"
        )
    loaded = read_points(arguments, console)
    positions = choose_positions(loaded, arguments, console, most)
    print_points(loaded, console)
    told = explain_points_of_rows(loaded, positions)
    console.say()
    console.result("\n\n".join(told.texts()), told.to_dict())
