"""`clearmargin rules` extracts rules from a table."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from clearmargin.cli.command_options import EXTRACTION, MODEL, OUTPUT, SPLIT, TASK, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, save_model_file, writing
from clearmargin.exceptions import DataError

if TYPE_CHECKING:
    from clearmargin.recipes.found_rules import FoundRules

__all__ = ["add_arguments", "run"]

_MOST = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_options(
        parser,
        *TASK,
        "missing",
        *MODEL,
        *EXTRACTION,
        *SPLIT,
        "most",
        "report",
        *OUTPUT,
        out=".rules or .json",
    )
    parser.epilog = (
        "example: clearmargin rules patients.csv --target outcome --positive ill --out ill.rules\n\n"
        "With --quiet the output is a file of rules: clearmargin rules ... --quiet > all.rules"
    )


def run(arguments: argparse.Namespace) -> None:
    """Train or load a model, extract its rules, print and save them."""
    from clearmargin.cli.listing import print_rules

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".rules", ".json"])
    model_file = claim(arguments.save_model, arguments, [".json"])
    page = claim(arguments.report, arguments, [".html"])
    found = _extract_in_blocks(arguments, console) or _extract(arguments, console, page)
    print_rules(
        found.rules,
        found.trace,
        found.task,
        console,
        most=arguments.most or _MOST,
        assumed=arguments.assume_ranges,
        hint=arguments.bounds != "class",
        distillation=found.distillation,
    )
    save_model_file(found.model, model_file, arguments, console)
    if out is not None:
        with writing(out):
            found.rules.save(out, overwrite=arguments.force)
        console.wrote(f"The rules are in {out}.")
    if page is not None:
        console.wrote(f"The report is in {page}: open it in a browser.")
    text = found.rules.to_text().rstrip("\n") if console.quiet and out is None else ""
    console.result(text, found.to_dict())


def _extract(arguments: argparse.Namespace, console: Console, page: Path | None) -> FoundRules:
    """Extract from a table that is held in memory, and report on it if asked to."""
    from clearmargin.cli.inputs import extract_options, prepare, show_progress
    from clearmargin.cli.listing import print_model
    from clearmargin.recipes.found_rules import find_rules, make_report

    trained = prepare(arguments, console)
    console.say(trained.task.summary)
    print_model(trained.model, trained.accuracy, console, given=arguments.model is not None)
    options = extract_options(arguments)
    found = find_rules(trained, options, progress=show_progress(console))
    if page is not None:
        command = shlex.join(["clearmargin", *arguments.typed])
        with writing(page):
            made = make_report(trained, found, options, command=command)
            made.save(page, overwrite=arguments.force)
    return found


def _extract_in_blocks(arguments: argparse.Namespace, console: Console) -> FoundRules | None:
    """Extract from a large table of numbers, which is never held; None if it is not one."""
    from clearmargin.cli.inputs import (
        extract_options,
        options_of_training,
        read_options,
        show_progress,
    )

    if arguments.model is None or options_of_training(arguments):
        return None
    from clearmargin.cli.listing import print_model
    from clearmargin.models.model_document import load_planes
    from clearmargin.recipes.large_tables import find_rules_in_blocks, sample_task

    model = load_planes(arguments.model)
    task = sample_task(arguments.data, arguments.target, model, read_options(arguments))
    if task is None:
        return None
    if arguments.report is not None:
        raise DataError(
            f"--report: {arguments.data} is too large for a report, which needs all rows in memory; report on a "
            "part of the rows, or leave it out"
        )
    console.note_all(task.notes)
    console.say(task.summary)
    options = extract_options(arguments)
    found = find_rules_in_blocks(task, model, options, progress=show_progress(console))
    print_model(model, found.facts["accuracy"], console, given=True)
    return found
