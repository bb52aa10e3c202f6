"""`clearmargin rules` extracts rules from a table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from clearmargin.cli.console import Console
from clearmargin.cli.outputs import add_force, claim, writing
from clearmargin.cli.task import add_task_arguments
from clearmargin.cli.train import add_extraction_arguments, add_model_arguments, whole_number

if TYPE_CHECKING:
    from clearmargin.cli.task import Task
    from clearmargin.extract import RuleExtractor

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_task_arguments(parser)
    add_model_arguments(parser)
    add_extraction_arguments(parser)
    parser.add_argument(
        "--most",
        type=whole_number,
        default=10,
        metavar="N",
        help="most rules of a class to show (default: 10)",
    )
    parser.add_argument("--out", metavar="FILE", help="write the rules to a .rules or .json file")
    add_force(parser)
    parser.epilog = (
        "example: clearmargin rules patients.csv --target outcome --positive ill --out ill.rules\n\n"
        "With --quiet the output is a file of rules: clearmargin rules ... --quiet > all.rules"
    )


def run(arguments: argparse.Namespace) -> None:
    """Train or load a model, extract its rules, print and save them."""
    from clearmargin.cli.listing import print_rules
    from clearmargin.cli.train import claim_model, save

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".rules", ".json"])
    model_file = claim_model(arguments)
    task, extractor, known = _extract_in_chunks(arguments, console) or _extract(arguments, console)
    rules = extractor.rules_
    print_rules(extractor, task, console, most=arguments.most, assumed=arguments.assume_ranges)
    save(extractor, model_file, arguments, console)
    if out is not None:
        with writing(out):
            rules.save(out, overwrite=arguments.force)
        console.wrote(f"The rules are in {out}.")
    text = rules.to_text().rstrip("\n") if console.quiet and out is None else ""
    console.result(
        text,
        {
            **task.to_dict(),
            "model": known,
            "coverage": [
                {"class": label, "coverage": share} for label, share in extractor.coverage_.items()
            ],
            "rules": rules.to_dict(),
        },
    )


def _extract(
    arguments: argparse.Namespace, console: Console
) -> tuple[Task, RuleExtractor, dict[str, Any]]:
    """Extract from a table that is held in memory; the model comes as plain data too."""
    from clearmargin.cli.listing import model_dict, print_model
    from clearmargin.cli.train import extract, prepare

    task, model = prepare(arguments, console)
    console.say(task.summary)
    print_model(model, task, console)
    return task, extract(task, model, arguments), model_dict(model, task)


def _extract_in_chunks(
    arguments: argparse.Namespace, console: Console
) -> tuple[Task, RuleExtractor, dict[str, Any]] | None:
    """Extract from a large table of plain numbers, which is never held; None if it is not one."""
    trained_here = ("nu", "max_features", "balanced", "positive")
    if arguments.model is None or any(getattr(arguments, option) for option in trained_here):
        return None
    from clearmargin.cli.large_rules import extract_large, print_large_model, read_large
    from clearmargin.cli.listing import features_used
    from clearmargin.store import load_model

    model = load_model(arguments.model)
    task = read_large(arguments, console, model)
    if task is None:
        return None
    console.say(task.summary)
    extractor, right = extract_large(task, model, arguments)
    print_large_model(model, right, console)
    known = {
        "classes": model.classes_.tolist(),
        "features_used": features_used(model),
        "accuracy": right,
        **(model.facts or {}),
    }
    return task, extractor, known
