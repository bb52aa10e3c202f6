"""`clearmargin report` writes what the rules of a table say as one HTML file."""

from __future__ import annotations

import argparse
import shlex

from clearmargin.cli.command_options import EXTRACTION, MODEL, SPLIT, TASK, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, save_model_file, writing

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    names = (*TASK, "missing", *MODEL, *EXTRACTION, *SPLIT, "out!", "force")
    add_options(parser, *names, out=".html; it needs no other")
    parser.epilog = "example: clearmargin report patients.csv --target outcome --out report.html"


def run(arguments: argparse.Namespace) -> None:
    """Train or load a model, extract its rules, write the report."""
    from clearmargin.cli.inputs import extract_options, prepare, show_progress
    from clearmargin.cli.listing import print_model
    from clearmargin.cli.points_model import report_by_points
    from clearmargin.recipes.found_rules import find_rules, make_report
    from clearmargin.recipes.weighted_rules import holds_points

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".html"])
    assert out is not None
    if holds_points(arguments.model):
        report_by_points(arguments, console, out)
        return
    model_file = claim(arguments.save_model, arguments, [".json"])
    trained = prepare(arguments, console)
    console.say(trained.task.summary)
    print_model(trained.model, trained.accuracy, console, given=arguments.model is not None)
    options = extract_options(arguments)
    found = find_rules(trained, options, progress=show_progress(console))
    save_model_file(found.model, model_file, arguments, console)
    with writing(out):
        command = shlex.join(["clearmargin", *arguments.typed])
        made = make_report(trained, found, options, command=command)
        made.save(out, overwrite=arguments.force)
    console.wrote(f"The report is in {out}: open it in a browser.")
    console.result("", {**trained.to_dict(), "rules": len(found.rules), "file": str(out)})
