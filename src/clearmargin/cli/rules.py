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
from clearmargin.recipes.weighted_rules import holds_points
from clearmargin.rules.file_writing import json_text, write_text_atomically

if TYPE_CHECKING:
    from clearmargin.recipes.found_rules import FoundRules

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
    elif method == "plane" or (method == "auto" and _is_large(arguments, console, files)):
        _run_plane(arguments, console, files)
    else:
        _run_page(arguments, console, files, method)


def _is_large(arguments: argparse.Namespace, console: Console, files: Files) -> bool:
    """Tell whether the table is too large for methods to be compared, and say so; a report is on a sample anyway."""
    from clearmargin.cli.inputs import open_source

    if (
        arguments.method is not None
        or files.page is not None
        or open_source(arguments, console) is None
    ):
        return False
    console.note(
        f"{arguments.data} is large: the rules are those of a plane of a sample, counted on all rows; --method auto "
        "compares methods on a sample, and so does a report"
    )
    arguments.missing = arguments.missing or "impute"  # as where methods are compared
    return True


def _run_points(arguments: argparse.Namespace, console: Console, files: Files) -> None:
    """Print rules with points that were saved, with how right they are on the rows of a table."""
    from clearmargin.cli.points_model import print_points, read_points
    from clearmargin.recipes.found_points import points_as_rules
    from clearmargin.recipes.weighted_rules import report_points

    loaded = read_points(arguments, console)
    print_points(loaded, console)
    weighted = loaded.model.scorecard_
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
    if page.weighted is not None and files.rules is not None and files.rules.suffix == ".rules":
        console.note(
            f"points decide by their sum, which the rule language has not: {files.rules} is to be read and edited; to "
            "predict or to export, write a .json file (--out FILE.json)"
        )
    console.result(page.rules_text() if _is_output(files, console) else "", page.to_dict())


def _run_plane(arguments: argparse.Namespace, console: Console, files: Files) -> None:
    """Train or load a model, extract its rules, print and save them."""
    from clearmargin.cli.listing import print_rules

    found = _extract(arguments, console, files.page)
    print_rules(
        found.rules,
        found.trace,
        found.task,
        console,
        most=arguments.most or _MOST,
        assumed=arguments.assume_ranges,
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
    """Extract from a table, or from a sample and count on all rows of a large one, and report on it if asked to."""
    from clearmargin.cli.inputs import extract_options, open_source, prepare, show_progress
    from clearmargin.cli.listing import print_model
    from clearmargin.recipes.found_rules import find_rules, make_report
    from clearmargin.recipes.large_tables import SAMPLE_ROWS, count_on_all

    trained = prepare(arguments, console, sample=SAMPLE_ROWS)
    console.say(trained.task.summary)
    print_model(trained.model, trained.accuracy, console, given=arguments.model is not None)
    options = extract_options(arguments)
    found = find_rules(trained, options, progress=show_progress(console))
    if page is not None:
        command = shlex.join(["clearmargin", *arguments.typed])
        with writing(page):
            made = make_report(trained, found, options, command=command)
            made.save(page, overwrite=arguments.force)
    source = open_source(arguments, console)
    if source is not None:
        found = count_on_all(found, source)
        n_rows = source.survey().n_rows
        console.note(
            f"what each rule covers is counted on all {n_rows} rows; shares of classes are of those drawn"
        )
    return found
