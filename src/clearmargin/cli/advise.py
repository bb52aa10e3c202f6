"""`clearmargin advise` trains on a table and an expert's rules."""

from __future__ import annotations

import argparse

from clearmargin.cli.command_options import OUTPUT, SPLIT, TASK, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, save_model_file, writing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    advice = ("advice!", "refine", "everywhere", "lam", "mu", "change_cost")
    names = (*TASK, "missing", *advice, *SPLIT, "save_model", *OUTPUT)
    add_options(parser, *names, out="the rules as they are in the end, as .rules or .json")
    parser.epilog = (
        "example: clearmargin advise patients.csv --target outcome --advice expert.rules --refine sqp\n\n"
        "'clearmargin check expert.rules --data patients.csv --target outcome' looks at the rules before."
    )


def run(arguments: argparse.Namespace) -> None:
    """Train with the rules, and say what became of them."""
    from clearmargin.cli.inputs import advice_options, note_time, read_task, show_progress
    from clearmargin.cli.listing import print_model
    from clearmargin.recipes.advised import advise, judge_advised
    from clearmargin.recipes.applied_rules import load_rules

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".rules", ".json"])
    model_file = claim(arguments.save_model, arguments, [".json"])
    load_rules(arguments.advice)  # what is wrong with it is said before the table is read
    task = read_task(arguments, console)
    progress = show_progress(console)
    advised = advise(task, arguments.advice, advice_options(arguments))
    note_time(advised.trained, console)
    advised = judge_advised(advised, progress=progress)
    trained = advised.trained
    console.note_all(trained.notes)
    console.say(task.summary)
    print_model(trained.model, trained.accuracy, console)
    console.say()
    save_model_file(trained.model, model_file, arguments, console)
    if out is not None:
        with writing(out):
            advised.refined.save(out, overwrite=arguments.force)
        console.wrote(f"The rules as they are now are in {out}.")
    console.result(str(advised.outcome), advised.to_dict())
