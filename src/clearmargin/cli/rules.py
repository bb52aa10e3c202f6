"""`clearmargin rules` extracts rules from a table."""

from __future__ import annotations

import argparse

from clearmargin.cli.console import Console
from clearmargin.cli.outputs import add_force, claim, writing
from clearmargin.cli.task import add_task_arguments
from clearmargin.cli.train import add_extraction_arguments, add_model_arguments, whole_number

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
    from clearmargin.cli.listing import model_dict, print_model, print_rules
    from clearmargin.cli.train import claim_model, extract, prepare, save

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".rules", ".json"])
    model_file = claim_model(arguments)
    task, model = prepare(arguments, console)
    console.say(task.summary)
    print_model(model, task, console)
    extractor = extract(task, model, arguments)
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
            "model": model_dict(model, task),
            "coverage": [
                {"class": label, "coverage": share} for label, share in extractor.coverage_.items()
            ],
            "rules": rules.to_dict(),
        },
    )
