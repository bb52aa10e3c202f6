"""`clearmargin train` trains a machine on a table and saves it."""

from __future__ import annotations

import argparse
from typing import Any

from clearmargin.cli.command_options import PLANE, SPLIT, TASK, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, save_model_file, writing
from clearmargin.exceptions import DataError

_ADVICE = ("advice", "refine", "everywhere", "lam", "mu", "change_cost", "refined")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    names = (*TASK, "missing", *PLANE, *_ADVICE, *SPLIT, "out!", "force")
    add_options(parser, *names, out="the model, as .json")
    parser.epilog = (
        "example: clearmargin train patients.csv --target outcome --out ill.json\n"
        "         clearmargin train patients.csv --target outcome --advice expert.rules --refine slp --out ill.json\n\n"
        "What is saved is a linear model in the units of the table; rules, explain, recourse, predict and compare take "
        "it\nas --model. With --advice an expert's rules have a part in it, and the output says what became of each;\n"
        "'clearmargin check expert.rules --data patients.csv --target outcome' reads them before."
    )


def run(arguments: argparse.Namespace) -> None:
    """Train, evaluate on rows not seen in training, save."""
    from clearmargin.cli.inputs import (
        advice_options,
        note_time,
        plane_options,
        read_task,
        show_progress,
    )
    from clearmargin.cli.listing import print_model
    from clearmargin.recipes.advised import AdviceOptions, advise, judge_advised
    from clearmargin.recipes.applied_rules import load_rules
    from clearmargin.recipes.large_tables import SAMPLE_ROWS
    from clearmargin.recipes.trained_models import (
        PlaneOptions,
        judge_on_unseen_rows,
        train_plane,
    )

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".json"])
    refined = claim(arguments.refined, arguments, [".rules", ".json"])
    with_advice = arguments.advice is not None
    if with_advice:
        load_rules(arguments.advice)  # what is wrong with it is said before the table is read
    elif refined is not None:
        raise DataError("--refined is for --advice; leave it out")
    task = read_task(arguments, console, sample=None if with_advice else SAMPLE_ROWS)
    progress = show_progress(console)
    plane, with_rules = plane_options(arguments, task, console), advice_options(arguments)
    if with_advice:
        _refuse(plane, PlaneOptions(), "training with --advice")
        advised = advise(task, arguments.advice, with_rules)
        note_time(advised.trained, console)
        advised = judge_advised(advised, progress=progress)
        trained, text, facts = advised.trained, str(advised.outcome), advised.to_dict()
    else:
        _refuse(with_rules, AdviceOptions(), "training without --advice")
        trained = train_plane(task, plane)
        note_time(trained, console)
        trained = judge_on_unseen_rows(trained, progress=progress)
        text, facts = "", trained.to_dict()
    console.note_all(trained.notes)
    console.say(task.summary)
    print_model(trained.model, trained.accuracy, console)
    console.say()
    save_model_file(trained.model, out, arguments, console)
    if refined is not None:
        with writing(refined):
            advised.refined.save(refined, overwrite=arguments.force)
        console.wrote(f"The rules as they are now are in {refined}.")
    console.result(text, {**facts, "file": str(out)})


def _refuse(given: Any, nothing: Any, what: str) -> None:
    """Raise for an option that a way of training has not, instead of passing it over."""
    for name in given.__dataclass_fields__:
        if getattr(given, name) != getattr(nothing, name):
            raise DataError(f"{what} has no such option; leave out --{name.replace('_', '-')}")
