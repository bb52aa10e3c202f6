"""`clearmargin train` trains a machine on a table and saves it."""

from __future__ import annotations

import argparse

from clearmargin.cli.command_options import PLANE, SPLIT, TASK, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, save_model_file

_ADVICE = ("advice", "refine", "everywhere", "lam", "mu", "change_cost")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    names = (*TASK, "missing", "machine", *PLANE, *_ADVICE, *SPLIT, "out!", "force")
    add_options(parser, *names, out="the model, as .json")
    parser.epilog = (
        "example: clearmargin train patients.csv --target outcome --out ill.json\n"
        "         clearmargin train patients.csv --target outcome --machine advice --advice expert.rules "
        "--out advised.json\n\n"
        "What is saved is a plane in the units of the table; rules, explain, recourse, score, predict, report and "
        "compare\ntake it as --model. Trees and scorecards are made by 'clearmargin tree' and 'clearmargin score'."
    )


def run(arguments: argparse.Namespace) -> None:
    """Train, judge on unseen rows, save."""
    from clearmargin.cli.inputs import (
        advice_options,
        note_time,
        plane_options,
        read_task,
        show_progress,
    )
    from clearmargin.cli.listing import print_model
    from clearmargin.recipes.large_tables import SAMPLE_ROWS
    from clearmargin.recipes.machines import train
    from clearmargin.recipes.trained_models import judge_on_unseen_rows

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".json"])
    task = read_task(arguments, console, sample=SAMPLE_ROWS)
    progress = show_progress(console)
    machine, plane = arguments.machine or "lp-svm", plane_options(arguments, task, console)
    options = {"advice": arguments.advice, "advice_options": advice_options(arguments)}
    trained = train(task, machine, plane=plane, **options)
    note_time(trained, console)
    trained = judge_on_unseen_rows(trained, progress=progress)
    console.note_all(trained.notes)
    console.say(task.summary)
    print_model(trained.model, trained.accuracy, console)
    save_model_file(trained.model, out, arguments, console)
    console.result("", {**trained.to_dict(), "file": str(out)})
