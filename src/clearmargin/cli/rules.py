"""`clearmargin rules` extracts rules from a table."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clearmargin.cli.console import Console
from clearmargin.cli.outputs import add_force, claim, writing
from clearmargin.cli.task import add_task_arguments
from clearmargin.cli.train import (
    add_extraction_arguments,
    add_model_arguments,
    options_of_training,
    whole_number,
)
from clearmargin.cli.unseen import add_split_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clearmargin.cli.task import Task
    from clearmargin.plane_rules.extraction import Trace
    from clearmargin.rules import RuleSet
    from clearmargin.rules.rule import Label

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_task_arguments(parser)
    add_model_arguments(parser)
    add_extraction_arguments(parser)
    add_split_arguments(parser)
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


@dataclass(frozen=True)
class Found:
    """What a command found.

    Parameters
    ----------
    task : Task
        The table.
    rules : RuleSet
        The rules.
    trace : dict from class to Trace
        What they cover.
    model : Planes or RuleExtractor
        The model with its rules, as it is saved.
    known : dict
        The model as plain data.
    """

    task: Task
    rules: RuleSet
    trace: Mapping[Label, Trace]
    model: Any
    known: dict[str, Any]


def run(arguments: argparse.Namespace) -> None:
    """Train or load a model, extract its rules, print and save them."""
    from clearmargin.cli.listing import print_rules
    from clearmargin.cli.train import claim_model, save

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".rules", ".json"])
    model_file = claim_model(arguments)
    found = _extract_in_chunks(arguments, console) or _extract(arguments, console)
    task, rules = found.task, found.rules
    most, assumed = arguments.most, arguments.assume_ranges
    print_rules(rules, found.trace, task, console, most=most, assumed=assumed)
    save(found.model, model_file, arguments, console)
    if out is not None:
        with writing(out):
            rules.save(out, overwrite=arguments.force)
        console.wrote(f"The rules are in {out}.")
    text = rules.to_text().rstrip("\n") if console.quiet and out is None else ""
    console.result(
        text,
        {
            **task.to_dict(),
            "model": found.known,
            "coverage": [
                {"class": label, "coverage": trace.coverage, "recall": trace.recall}
                for label, trace in found.trace.items()
            ],
            "rules": rules.to_dict(),
        },
    )


def _extract(arguments: argparse.Namespace, console: Console) -> Found:
    """Extract from a table that is held in memory."""
    from clearmargin.cli.listing import model_dict, print_model, share_right
    from clearmargin.cli.train import extract, prepare

    task, model, _ = prepare(arguments, console)
    console.say(task.summary)
    right = share_right(model, task)
    print_model(model, right, console, given=arguments.model is not None)
    extractor = extract(task, model, arguments)
    return Found(task, extractor.rules_, extractor.trace_, extractor, model_dict(model, right))


def _extract_in_chunks(arguments: argparse.Namespace, console: Console) -> Found | None:
    """Extract from a large table of plain numbers, which is never held; None if it is not one."""
    if arguments.model is None or options_of_training(arguments):
        return None
    from clearmargin.cli.large_rules import extract_large, read_large
    from clearmargin.cli.listing import model_dict, print_model
    from clearmargin.models.model_document import load_planes
    from clearmargin.plane_rules.extraction import DEFAULT_CRITERION

    model = load_planes(arguments.model)
    task = read_large(arguments, console, model)
    if task is None:
        return None
    console.say(task.summary)
    rules, trace, right = extract_large(task, model, arguments)
    print_model(model, right, console, given=True)
    kept = model.with_rules(rules, {"criterion": arguments.criterion or DEFAULT_CRITERION})
    return Found(task, rules, trace, kept, model_dict(model, right))
