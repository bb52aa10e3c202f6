"""`clearmargin rules` extracts rules from a table."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from clearmargin.cli.command_options import EXTRACTION, MODEL, OUTPUT, SPLIT, TASK, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, save_model_file, writing
from clearmargin.cli.page import chosen_method, prepare_page, print_page
from clearmargin.exceptions import DataError
from clearmargin.recipes.weighted_rules import holds_points
from clearmargin.rules.file_writing import json_text, write_text_atomically

if TYPE_CHECKING:
    from clearmargin.models.planes import Planes
    from clearmargin.recipes.found_rules import FoundRules
    from clearmargin.recipes.large_tables import SampledTask

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
        f"{arguments.data} is large: the rules are those of a plane, counted on all rows; --method auto compares "
        "methods on a sample, and so does a report"
    )
    return True


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
    if page.weighted is not None and files.rules is not None and files.rules.suffix == ".rules":
        console.note(
            f"points decide by their sum, which the rule language has not: {files.rules} is to be read and edited; to "
            "predict or to export, write a .json file (--out FILE.json)"
        )
    console.result(page.rules_text() if _is_output(files, console) else "", page.to_dict())


def _run_plane(arguments: argparse.Namespace, console: Console, files: Files) -> None:
    """Train or load a model, extract its rules, print and save them."""
    from clearmargin.cli.listing import print_rules

    found = _extract_in_parts(arguments, console, files.page) or _extract(
        arguments, console, files.page
    )
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


def _extract_in_parts(
    arguments: argparse.Namespace, console: Console, page: Path | None
) -> FoundRules | None:
    """Extract from a large table, which is never held; None if it is not one."""
    from clearmargin.cli.inputs import extract_options, open_source, show_progress
    from clearmargin.cli.listing import print_model
    from clearmargin.recipes.large_tables import find_rules_in_parts, rows_for_rules

    if open_source(arguments, console) is None:
        return None
    if page is not None:
        raise DataError(
            f"--report: {arguments.data} is too large for a report on all rows, which needs them in memory; "
            "clearmargin report makes one of a sample of the rows, or leave it out"
        )
    model = _model_of_all_rows(arguments, console)
    task = _sampled_task(arguments, console, model, rows_for_rules(model))
    progress = show_progress(console)
    found = find_rules_in_parts(task, model, extract_options(arguments), progress=progress)
    console.say(task.summary)
    print_model(model, found.facts["accuracy"], console, given=arguments.model is not None)
    return found


def _model_of_all_rows(arguments: argparse.Namespace, console: Console) -> Planes:
    """Load the model, or train one on a large table."""
    from clearmargin.cli.inputs import (
        options_of_training,
        plane_options,
        read_sampled_task,
        show_progress,
    )
    from clearmargin.models.model_document import load_planes
    from clearmargin.recipes.large_tables import (
        judge_on_other_rows,
        train_on_all,
        train_on_sample,
    )

    if arguments.model is not None:
        for option in options_of_training(arguments):
            raise DataError(f"--model is trained already; leave out --{option.replace('_', '-')}")
        return load_planes(arguments.model)
    task, plane = read_sampled_task(arguments, console), plane_options(arguments)
    assert task is not None  # the table is large
    progress = show_progress(console)
    trained = train_on_sample(task, "lp-svm", plane=plane, progress=progress)
    trained = judge_on_other_rows(task, trained, progress=progress)
    trained = train_on_all(task, trained, "lp-svm", plane)
    console.note_all(trained.notes)
    return trained.model


def _sampled_task(
    arguments: argparse.Namespace, console: Console, model: Planes, n_rows: int
) -> SampledTask:
    """Draw the rows that rules are found on."""
    from clearmargin.cli.inputs import read_sampled_task
    from clearmargin.recipes.trained_models import match_model, positive_class

    positive = positive_class(model) if arguments.positive is None else arguments.positive
    task = read_sampled_task(
        arguments, console, model=model, n_rows=n_rows, positive=positive, cv=None, groups=None
    )
    assert task is not None  # the table is large
    matched: Any = match_model(model, task)
    return cast("SampledTask", matched)
