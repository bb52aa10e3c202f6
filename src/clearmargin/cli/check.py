"""`clearmargin check` says whether a file of rules can be understood, and what is wrong with the rules."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clearmargin.cli.command_options import TABLE, add_options
from clearmargin.cli.console import Console
from clearmargin.exceptions import DataError, RuleSyntaxError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_options(parser, "RULES", "data", *TABLE, "target")
    parser.epilog = (
        "example: clearmargin check advice.rules\n"
        "         clearmargin check advice.rules --data patients.csv --target outcome\n\n"
        "The exit code is 2 where there are errors: rules that contradict each other or cannot apply."
    )


def run(arguments: argparse.Namespace) -> None:
    """Read the rules, print them as they were understood, and what is wrong with them."""
    from clearmargin.recipes.advised import check_rules
    from clearmargin.recipes.applied_rules import load_rules
    from clearmargin.recipes.phrases import number_of

    console = Console.of(arguments)
    table = None
    with _all_mistakes(arguments, console):
        load_rules(arguments.rules)  # what is wrong with it is said before the table is read
    if arguments.data is not None:
        from clearmargin.cli.inputs import read_table

        table = read_table(arguments, console)
    with _all_mistakes(arguments, console, table):
        checked = check_rules(arguments.rules, table, arguments.target)
    rules, report = checked.rules, checked.report
    classes = ", ".join(str(c) for c in rules.classes)
    head = f"{number_of(len(rules), 'rule')} over {number_of(len(rules.space), 'feature')} for the classes {classes}:"
    console.say(f"{head}\n\n{rules.describe()}\n")
    console.result(str(report), checked.to_dict())
    if not report.ok:
        raise DataError(f"{arguments.rules}: {number_of(len(report.errors), 'error')}, see above")


@contextmanager
def _all_mistakes(
    arguments: argparse.Namespace, console: Console, table: Any = None
) -> Iterator[None]:
    """Print all mistakes of a text in which one was found, where there are several or a program asks."""
    try:
        yield
    except RuleSyntaxError:
        from clearmargin.recipes.advised import rule_mistakes
        from clearmargin.recipes.phrases import number_of

        mistakes = rule_mistakes(arguments.rules, table, arguments.target)
        if len(mistakes) < 2 and not console.as_json:
            raise
        data = {
            "file": arguments.rules,
            "ok": False,
            "mistakes": [
                {
                    "line": mistake.line,
                    "column": mistake.column,
                    "length": mistake.length,
                    "message": mistake.problem,
                    "fix": mistake.fix,
                }
                for mistake in mistakes
            ],
        }
        console.result("\n".join(map(str, mistakes)), data)
        raise DataError(
            f"{arguments.rules}: {number_of(len(mistakes), 'mistake')}, see above"
        ) from None
