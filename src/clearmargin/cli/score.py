"""`clearmargin score` makes a scorecard of a table: points to add up."""

from __future__ import annotations

import argparse
import csv
import io
from typing import TYPE_CHECKING

from clearmargin.cli.command_options import OUTPUT, SPLIT, TASK, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, writing
from clearmargin.exceptions import DataError

if TYPE_CHECKING:
    from clearmargin.points import Scorecard
    from clearmargin.recipes.cards_and_trees import Scored

_ENDINGS = (".txt", ".md", ".html", ".csv", ".json", ".sql", ".py")
# What `clearmargin.export` writes.
_LANGUAGES = {".sql": "sql", ".py": "python"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    card = ("model", "balanced", "max_cuts", "certify", "distil")
    out = "the card, as .txt, .md, .html, .csv, .json, .sql or .py"
    add_options(parser, *TASK, "missing", *card, *SPLIT, *OUTPUT, out=out)
    parser.epilog = (
        "example: clearmargin score patients.csv --target outcome --positive ill --max-cuts 5\n"
        "         clearmargin score patients.csv --target outcome --model ill.json --out card.md\n"
        "         clearmargin score patients.csv --target outcome --certify --max-cuts 30\n\n"
        "Without --model the card imitates a kernel machine that is trained on the table; with --certify it is that of "
        "a sparse plane."
    )


def run(arguments: argparse.Namespace) -> None:
    """Make the card, print or save it."""
    from clearmargin.cli.inputs import read_inputs, show_progress
    from clearmargin.export.formats import write_export
    from clearmargin.language.prose import ratio_text
    from clearmargin.recipes.cards_and_trees import score_table
    from clearmargin.recipes.unseen import unseen_text
    from clearmargin.rules.file_writing import write_text_atomically

    console = Console.of(arguments)
    if arguments.distil is not None and not arguments.certify:
        raise DataError("--distil is for cards with proof; add --certify")
    out = claim(arguments.out, arguments, _ENDINGS)
    task, model = read_inputs(arguments, console)
    scored = score_table(
        task,
        model,
        max_cuts=arguments.max_cuts,
        certify=arguments.certify,
        distil=arguments.distil,
        balanced=arguments.balanced,
        progress=show_progress(console),
    )
    console.note_all(scored.notes)
    console.say(task.summary)
    if scored.is_proved:
        _say_proof(scored, console)
    else:
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
            language = _LANGUAGES.get(out.suffix.lower())
            if language is None:
                written = _written(scored.card, out.suffix.lower())
                write_text_atomically(out, written, overwrite=arguments.force)
            else:
                write_export(scored.card, language, out, overwrite=arguments.force)
        console.wrote(f"The card is in {out}.")
    console.result("" if out and console.quiet else str(scored.card), scored.to_dict())


def _say_proof(scored: Scored, console: Console) -> None:
    """Say what is proved, and of what; first how faithful a distilled plane is."""
    from clearmargin.language.prose import ratio_text
    from clearmargin.language.words import counted

    facts = scored.facts
    if "distilled" in facts:
        distilled = facts["distilled"]
        share = distilled["fidelity"]
        where = "rows held out from it" if share is not None else "these rows"
        share = distilled["training_fidelity"] if share is None else share
        console.say(
            f"The card is that of a plane distilled to {counted(len(distilled['features']), 'feature')}, which agrees "
            f"with the machine ({scored.machine}) on {ratio_text(share)} of {where}."
        )
    unseen = facts.get("unseen_proved")
    more = "" if unseen is None else f", and of {ratio_text(unseen)} of rows not seen in training"
    console.say(
        f"The card proves the class of {ratio_text(facts['proved'])} of these rows{more}. Else its machine "
        f"({scored.machine}) decides; together they are right on {ratio_text(scored.accuracy)} of these rows."
    )


def _written(card: Scorecard, ending: str) -> str:
    """Return the card in the form that the ending of a file asks for."""
    from clearmargin.export import to_markdown

    if ending == ".md":
        return to_markdown(card) + "\n"
    if ending == ".html":
        return f'<!DOCTYPE html>\n<meta charset="utf-8">\n{card._repr_html_()}\n'
    if ending == ".csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([card.columns, *card.rows()])
        return text.getvalue()
    if ending == ".json":
        from clearmargin.rules.file_writing import json_text

        return json_text(card.to_dict())
    return card.to_text() + "\n"
