"""`clearmargin compare` says what differs between old and new rules, and what rules do on a new table."""

from __future__ import annotations

import argparse

from clearmargin.cli.command_options import TABLE, add_options
from clearmargin.cli.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_options(parser, "OLD", "NEW", "data", *TABLE, "target", "confidence")
    parser.epilog = (
        "example: clearmargin compare ill.rules newer.rules\n"
        "         clearmargin compare ill.json --data new.csv --target outcome\n\n"
        "With a table, each old rule is compared with its figures from before, which .json files keep: drift."
    )


def run(arguments: argparse.Namespace) -> None:
    """Compare rules with rules, and with a table."""
    from clearmargin.recipes.comparing import compare_files

    console = Console.of(arguments)
    table = None
    if arguments.data is not None:
        from clearmargin.cli.inputs import read_table

        table = read_table(arguments, console)
    compared = compare_files(
        arguments.old,
        arguments.new,
        table=table,
        target=arguments.target,
        confidence=arguments.confidence,
    )
    console.note_all(compared.notes)
    files = {"old": arguments.old, "new": arguments.new, "data": arguments.data}
    console.result(str(compared), {**files, **compared.to_dict()})
