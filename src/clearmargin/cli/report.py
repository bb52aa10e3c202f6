"""`clearmargin report` writes what the rules of a table say as one HTML file."""

from __future__ import annotations

import argparse
import shlex
from functools import partial
from typing import TYPE_CHECKING, Any

from clearmargin.cli.command_options import EXTRACTION, MODEL, SPLIT, TASK, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, save_model_file, writing
from clearmargin.cli.page import chosen_method, prepare_page

if TYPE_CHECKING:
    from clearmargin.report import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    names = (*TASK, "missing", "method", *MODEL, *EXTRACTION, *SPLIT, "out!", "force")
    add_options(parser, *names, out=".html; it needs no other")
    parser.epilog = "example: clearmargin report patients.csv --target outcome --out report.html"


def run(arguments: argparse.Namespace) -> None:
    """Make the rules of a table and write a report on them: by the method that fits best, or from a plane."""
    from clearmargin.cli.points_model import report_by_points
    from clearmargin.recipes.weighted_rules import holds_points

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".html"])
    assert out is not None
    if holds_points(arguments.model):
        report_by_points(arguments, console, out)
        return
    model_file = claim(arguments.save_model, arguments, [".json"])
    command = shlex.join(["clearmargin", *arguments.typed])
    method = chosen_method(arguments)
    make = _of_plane if method == "plane" else partial(_of_page, method=method)
    made, model, facts = make(arguments, console, command=command)
    save_model_file(model, model_file, arguments, console)
    with writing(out):
        made.save(out, overwrite=arguments.force)
    console.wrote(f"The report is in {out}: open it in a browser.")
    console.result("", {**facts, "file": str(out)})


def _of_page(
    arguments: argparse.Namespace, console: Console, *, command: str, method: str
) -> tuple[Report, Any, dict[str, Any]]:
    from clearmargin.recipes.one_page import page_report

    page = prepare_page(arguments, console, method)
    for sentence in page.sentences:
        console.say(sentence)
    facts = {**page.to_dict(), "rules": len(page.rules)}
    return page_report(page, command=command), page.model, facts


def _of_plane(
    arguments: argparse.Namespace, console: Console, *, command: str
) -> tuple[Report, Any, dict[str, Any]]:
    from clearmargin.cli.inputs import extract_options, prepare, show_progress
    from clearmargin.cli.listing import print_model
    from clearmargin.recipes.found_rules import find_rules, make_report
    from clearmargin.recipes.large_tables import PAGE_ROWS

    trained = prepare(arguments, console, sample=PAGE_ROWS)
    console.say(trained.task.summary)
    print_model(trained.model, trained.accuracy, console, given=arguments.model is not None)
    options = extract_options(arguments)
    found = find_rules(trained, options, progress=show_progress(console))
    facts = {**trained.to_dict(), "rules": len(found.rules)}
    return make_report(trained, found, options, command=command), found.model, facts
