"""`clearmargin rank` says what sets the top of a ranking apart from its bottom."""

from __future__ import annotations

import argparse
from typing import Any

from clearmargin.cli.command_options import OUTPUT, SPLIT, TASK, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, writing

_MOST = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    ranking = ("top", "bottom", "min_leverage", "max_size", "most")
    forms = "all properties as a .csv table, or as rules in a .rules or .json file"
    add_options(parser, *TASK, *ranking, *SPLIT, *OUTPUT, out=forms)
    parser.epilog = "example: clearmargin rank feeders.csv --target failed --positive yes --top 0.1"


def run(arguments: argparse.Namespace) -> None:
    """Rank the rows, search for properties, print them."""
    from clearmargin.cli.inputs import read_task
    from clearmargin.recipes.large_tables import SAMPLE_ROWS
    from clearmargin.recipes.ranked import rank_rows
    from clearmargin.rules.file_writing import write_text_atomically

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".csv", ".rules", ".json"])
    task = read_task(arguments, console, sample=SAMPLE_ROWS)
    ranked = rank_rows(
        task,
        top=arguments.top,
        bottom=arguments.bottom,
        min_leverage=arguments.min_leverage,
        max_size=arguments.max_size,
        cv="halves" if arguments.cv is None else arguments.cv or None,
    )
    console.say(task.summary)
    _print_ranking(ranked.contrast, console)
    if out is not None:
        with writing(out):
            if out.suffix.lower() == ".csv":
                write_text_atomically(out, ranked.to_csv(), overwrite=arguments.force)
            else:
                ranked.contrast.rules_.save(out, overwrite=arguments.force)
        console.wrote(f"All {len(ranked.properties)} properties are in {out}.")
    console.result(ranked.contrast.describe(arguments.most or _MOST), ranked.to_dict())


def _print_ranking(contrast: Any, console: Console) -> None:
    """Say how well the ranking tells the classes apart, on rows it was trained on and on others."""
    first = contrast.classes_.tolist()[1]
    console.say(
        f"Ranked by a linear SVM, {first} at the top: area under the curve {contrast.auc_:.3f} on the rows that it was "
        "trained on."
    )
    if hasattr(contrast, "held_out_auc_"):
        folds = contrast.folds_
        console.say(
            f"Trained in the same way on part of the rows, {contrast.held_out_auc_:.3f} on the others "
            f"(mean of {len(folds)} {folds.how})."
        )
        if folds.note:
            console.say(f"{folds.note},\nwhich may make this figure too high.")
    console.say()
