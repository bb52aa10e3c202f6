"""`clearmargin rules` extracts rules from a table."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from clearmargin.cli.command_options import EXTRACTION, MODEL, OUTPUT, SPLIT, TASK, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, save_model_file, writing
from clearmargin.cli.page import chosen_method, prepare_page, print_page
from clearmargin.exceptions import DataError
from clearmargin.recipes.weighted_rules import holds_points
from clearmargin.rules.file_writing import json_text, write_text_atomically

if TYPE_CHECKING:
    from clearmargin.recipes.found_rules import FoundRules

__all__ = ["add_arguments", "run"]

_MOST = 10


class Files(NamedTuple):
    """The files that were asked for."""

    rules: Path | None
    model: Path | None
    page: Path | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_options(
        parser,
        *TASK,
        "missing",
        "method",
        *MODEL,
        *EXTRACTION,
        *SPLIT,
        "most",
        "report",
        *OUTPUT,
        out=".rules or .json",
    )
    parser.epilog = (
        "example: clearmargin rules patients.csv --target outcome --positive ill --out ill.rules\n"
        "         clearmargin rules patients.csv --target outcome --method plane --criterion coverage\n\n"
        "With --quiet the output is a file of rules: clearmargin rules ... --quiet > all.rules"
    )


def run(arguments: argparse.Namespace) -> None:
    """Make the rules of a table, print and save them: by the method that fits best, or from a plane."""
    console = Console.of(arguments)
    files = Files(
        claim(arguments.out, arguments, [".rules", ".json"]),
        claim(arguments.save_model, arguments, [".json"]),
        claim(arguments.report, arguments, [".html"]),
    )
    method = chosen_method(arguments)
    if holds_points(arguments.model):
        _run_points(arguments, console, files)
    elif method == "plane":
        _run_plane(arguments, console, files)
    else:
        _run_page(arguments, console, files, method)


def _run_points(arguments: argparse.Namespace, console: Console, files: Files) -> None:
    """Print rules with points that were saved, with how right they are on the rows of a table."""
    from clearmargin.cli.points_model import print_points, read_points
    from clearmargin.recipes.found_points import points_as_rules
    from clearmargin.recipes.weighted_rules import report_points

    loaded = read_points(arguments, console)
    print_points(loaded, console)
    weighted = loaded.model.weighted_rules_
    console.say(f"\n{weighted}")
    if files.page is not None:
        with writing(files.page):
            made = report_points(loaded, command=shlex.join(["clearmargin", *arguments.typed]))
            made.save(files.page, overwrite=arguments.force)
    text, document = points_as_rules(weighted), weighted.to_dict()
    _write(text, json_text(document), loaded.model, files, arguments, console)
    shown = text if _is_output(files, console) else ""
    console.result(shown, {**loaded.to_dict(), "weighted_rules": document})


def _run_page(arguments: argparse.Namespace, console: Console, files: Files, method: str) -> None:
    """Make one page of rules."""
    from clearmargin.recipes.one_page import page_report

    page = prepare_page(arguments, console, method)
    print_page(page, console)
    if files.page is not None:
        with writing(files.page):
            command = shlex.join(["clearmargin", *arguments.typed])
            page_report(page, command=command).save(files.page, overwrite=arguments.force)
    _write(page.rules_text(), page.to_json(), page.model, files, arguments, console)
    console.result(page.rules_text() if _is_output(files, console) else "", page.to_dict())


def _run_plane(arguments: argparse.Namespace, console: Console, files: Files) -> None:
    """Train or load a model, extract its rules, print and save them."""
    from clearmargin.cli.listing import print_rules

    found = _extract_in_blocks(arguments, console) or _extract(arguments, console, files.page)
    print_rules(
        found.rules,
        found.trace,
        found.task,
        console,
        most=arguments.most or _MOST,
        assumed=arguments.assume_ranges,
        hint=arguments.bounds != "class",
        distillation=found.distillation,
        budget=found.budget,
    )
    text = found.rules.to_text()
    _write(text, json_text(found.rules.to_dict()), found.model, files, arguments, console)
    console.result(text.rstrip("\n") if _is_output(files, console) else "", found.to_dict())


def _is_output(files: Files, console: Console) -> bool:
    """Tell whether the rules themselves are what the command prints."""
    return console.quiet and files.rules is None


def _write(
    text: str,
    document: str,
    model: Any,
    files: Files,
    arguments: argparse.Namespace,
    console: Console,
) -> None:
    """Write the files that were asked for, and say so below the result."""
    save_model_file(model, files.model, arguments, console)
    if files.rules is not None:
        with writing(files.rules):
            written = document if files.rules.suffix.lower() == ".json" else text
            write_text_atomically(files.rules, written, overwrite=arguments.force)
        console.wrote(f"The rules are in {files.rules}.")
    if files.page is not None:
        console.wrote(f"The report is in {files.page}: open it in a browser.")


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
