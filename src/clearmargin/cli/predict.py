"""`clearmargin predict` gives each row of a table its class."""

from __future__ import annotations

import argparse
from functools import partial

from clearmargin.cli.command_options import OUTPUT, TABLE, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, writing
from clearmargin.exceptions import DataError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    names = ("DATA", *TABLE, "rules|model", "default", *OUTPUT)
    add_options(parser, *names, out=".csv (default: the screen)")
    parser.epilog = (
        "example: clearmargin predict new.csv --rules ill.rules --default well --out said.csv"
    )


def run(arguments: argparse.Namespace) -> None:
    """Predict, and write a line for each row."""
    from clearmargin.cli.inputs import read_options, read_table
    from clearmargin.models.model_document import load_planes
    from clearmargin.points.document import load_scorecard
    from clearmargin.recipes.applied_rules import (
        load_rules,
        predict_by_model,
        predict_by_rules,
        predict_in_blocks,
        weights_note,
    )
    from clearmargin.recipes.phrases import number_of
    from clearmargin.recipes.weighted_rules import holds_points, predict_by_points
    from clearmargin.rules.file_writing import write_text_atomically

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".csv"])
    if arguments.model is not None and arguments.default is not None:
        raise DataError("--default is for rules; a model has an answer for every row")
    given = arguments.model or arguments.rules
    if holds_points(given):
        if arguments.default is not None:
            raise DataError("--default is for rules; points have an answer for every row")
        predict = partial(predict_by_points, weighted=load_scorecard(given))
    elif arguments.model is not None:
        predict = partial(predict_by_model, model=load_planes(arguments.model))
    else:
        rules = load_rules(arguments.rules)
        console.note_all(weights_note(rules, arguments.rules))
        predict = partial(predict_by_rules, rules=rules, default=arguments.default)
    predicted = predict_in_blocks(arguments.data, read_options(arguments), predict)
    if predicted is None:
        predicted = predict(read_table(arguments, console))
    console.note_all(predicted.notes)
    text = "" if out is None and console.as_json else predicted.to_csv()
    if out is not None:
        with writing(out):
            write_text_atomically(out, text, overwrite=arguments.force)
    # A dict for each row is made only where it is asked for.
    data = predicted.to_dict() if console.as_json else {}
    console.result("" if out else text.rstrip("\n"), data)
    if out is not None:
        console.say(f"The classes of {number_of(len(predicted), 'row')} are in {out}.")
