"""`clearmargin report` writes what the rules of a table say as one HTML file."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Any

from clearmargin.cli.console import Console
from clearmargin.cli.outputs import add_force, claim, writing
from clearmargin.cli.task import add_task_arguments
from clearmargin.cli.train import add_extraction_arguments, add_model_arguments
from clearmargin.cli.unseen import add_split_arguments

if TYPE_CHECKING:
    from clearmargin.cli.task import Task
    from clearmargin.cli.unseen import Recipe
    from clearmargin.report import Report

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_task_arguments(parser)
    add_model_arguments(parser)
    add_extraction_arguments(parser)
    add_split_arguments(parser)
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="the .html file to write; it needs no other"
    )
    add_force(parser)
    parser.epilog = "example: clearmargin report patients.csv --target outcome --out report.html"


def run(arguments: argparse.Namespace) -> None:
    """Train or load a model, extract its rules, write the report."""
    from clearmargin.cli.listing import model_dict, print_model, share_right
    from clearmargin.cli.train import claim_model, extract, prepare, save
    from clearmargin.report import report

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".html"])
    assert out is not None
    model_file = claim_model(arguments)
    task, model, recipe = prepare(arguments, console)
    console.say(task.summary)
    right = share_right(model, task)
    print_model(model, right, console, given=arguments.model is not None)
    extractor = extract(task, model, arguments)
    save(extractor, model_file, arguments, console)
    with writing(out):
        made = report(extractor, task.X, task.y, **_validation(task, recipe, arguments))
        made = _with_command(made, arguments)
        made.save(out, overwrite=arguments.force)
    console.wrote(f"The report is in {out}: open it in a browser.")
    data = {
        **task.to_dict(),
        "model": model_dict(model, right),
        "rules": len(extractor.rules_),
    }
    console.result("", {**data, "file": str(out)})


def _validation(task: Task, recipe: Recipe | None, arguments: argparse.Namespace) -> dict[str, Any]:
    """How the report judges the model on rows that it was not trained on."""
    from clearmargin.cli.train import extract

    if recipe is None:  # a model that was given; the report says that it cannot be trained again
        return {}
    if task.splitting is None:
        return {"cv": None}
    return {
        "cv": task.splitting.cv,
        "groups": task.splitting.groups,
        "times": task.splitting.times,
        "refit": recipe.refit(lambda rows, model: extract(task.part(rows), model, arguments)),
    }


def _with_command(made: Report, arguments: argparse.Namespace) -> Report:
    """Say which command makes the report again, instead of a call in Python with a model that is not at hand."""
    from clearmargin.report import Report

    summary = made.to_dict()
    summary["reproduce"]["call"] = shlex.join(["clearmargin", *arguments.typed])
    return Report(summary)
