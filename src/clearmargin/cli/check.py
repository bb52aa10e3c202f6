"""`clearmargin check` says whether a file of rules can be understood, and what is wrong with the rules."""

from __future__ import annotations

import argparse

from clearmargin.cli.console import Console, number_of
from clearmargin.cli.table import add_table_arguments
from clearmargin.exceptions import DataError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("file", help="rules, as .rules text or .json")
    add_table_arguments(parser, option=True)
    parser.add_argument("--target", metavar="COLUMN", help="the column of classes, with --data")
    parser.epilog = (
        "example: clearmargin check advice.rules\n"
        "         clearmargin check advice.rules --data patients.csv --target outcome\n\n"
        "The exit code is 2 where there are errors: rules that contradict each other or cannot apply."
    )


def run(arguments: argparse.Namespace) -> None:
    """Read the rules, print them as they were understood, and what is wrong with them."""
    from clearmargin.advice import check_advice
    from clearmargin.cli.export import load_rules

    console = Console.of(arguments)
    if arguments.target is not None and arguments.data is None:
        raise DataError("--target names a column of a table; name the table, too: --data FILE")
    rules = load_rules(arguments.file)
    X = y = None
    if arguments.data is not None:
        from clearmargin.cli.table import find_column, read_table

        table = read_table(arguments, console)
        X = table.frame
        if arguments.target is not None:
            find_column(arguments.target, table)
            X = X.dropna(subset=[arguments.target])
            y, X = X[arguments.target].to_numpy(), X.drop(columns=arguments.target)
    # By its file, a rule that does not fit the table is found with its place in the text.
    is_text = arguments.file.lower().endswith(".rules")
    report = check_advice(arguments.file if is_text else rules, X, y)
    classes = ", ".join(str(c) for c in rules.classes)
    head = f"{number_of(len(rules), 'rule')} over {number_of(len(rules.space), 'feature')} for the classes {classes}:"
    console.say(f"{head}\n\n{rules.describe()}\n")
    console.result(str(report), {"file": arguments.file, **report.to_dict()})
    if not report.ok:
        raise DataError(f"{arguments.file}: {number_of(len(report.errors), 'error')}, see above")
