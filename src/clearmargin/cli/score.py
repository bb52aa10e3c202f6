"""`clearmargin score` makes a scorecard of a table: points to add up."""

from __future__ import annotations

import argparse
import csv
import io
from typing import TYPE_CHECKING

from clearmargin.cli.command_options import OUTPUT, SPLIT, TASK, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, writing

if TYPE_CHECKING:
    from clearmargin.scorecards import Scorecard

__all__ = ["add_arguments", "run"]

_ENDINGS = (".txt", ".md", ".html", ".csv", ".json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    names = (*TASK, "missing", "model", "max_cuts", "max_points", *SPLIT, *OUTPUT)
    add_options(parser, *names, out="the card, as .txt, .md, .html, .csv or .json")
    parser.epilog = (
        "example: clearmargin score patients.csv --target outcome --positive ill --max-cuts 5\n"
        "         clearmargin score patients.csv --target outcome --model ill.json --out card.md\n\n"
        "Without --model the card imitates a kernel machine that is trained on the table."
    )


def run(arguments: argparse.Namespace) -> None:
    """Make the card, print or save it."""
    from clearmargin.cli.inputs import read_inputs, show_progress
    from clearmargin.language.prose import ratio_text
    from clearmargin.recipes.cards_and_trees import score_table
    from clearmargin.recipes.unseen import unseen_text
    from clearmargin.rules.file_writing import write_text_atomically

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, _ENDINGS)
    task, model = read_inputs(arguments, console)
    scored = score_table(
        task,
        model,
        max_cuts=arguments.max_cuts,
        max_points=arguments.max_points,
        progress=show_progress(console),
    )
    console.note_all(scored.notes)
    console.say(task.summary)
    console.say(
        f"The card is right on {ratio_text(scored.accuracy)} of these rows, and predicts what its machine "
        f"({scored.machine}) predicts on {ratio_text(scored.fidelity)}."
    )
    text = unseen_text(scored.facts)
    if text:
        console.say(text)
    console.say()
    if out is not None:
        with writing(out):
            written = _written(scored.card, out.suffix.lower())
            write_text_atomically(out, written, overwrite=arguments.force)
        console.wrote(f"The card is in {out}.")
    console.result("" if out and console.quiet else str(scored.card), scored.to_dict())


def _written(card: Scorecard, ending: str) -> str:
    """Return the card in the form that the ending of a file asks for."""
    from clearmargin.scorecards.scorecard import COLUMNS

    if ending == ".md":
        return card.to_markdown() + "\n"
    if ending == ".html":
        return f'<!DOCTYPE html>\n<meta charset="utf-8">\n{card._repr_html_()}\n'
    if ending == ".csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([COLUMNS, *card.lines()])
        return text.getvalue()
    if ending == ".json":
        from clearmargin.rules.file_writing import json_text

        return json_text(card.to_dict())
    return card.to_text() + "\n"
