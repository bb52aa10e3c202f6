"""`clearmargin export` writes rules in other languages."""

from __future__ import annotations

import argparse
from contextlib import nullcontext

from clearmargin.cli.console import Console
from clearmargin.cli.options import OUTPUT, add_options
from clearmargin.cli.outputs import claim, writing

__all__ = ["add_arguments", "run"]

_OPTIONS = ("dialect", "form", "table", "column", "name")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    names = ("RULES", "to!", *_OPTIONS, "default", *OUTPUT)
    add_options(parser, *names, out="any ending (default: the screen)")
    parser.epilog = (
        "example: clearmargin export ill.rules --to sql --dialect postgresql --out ill.sql"
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the rules."""
    from clearmargin.recipes.applied_rules import export_rules, load_rules
    from clearmargin.recipes.phrases import number_of

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".xlsx"] if arguments.to == "xlsx" else [])
    rules = load_rules(arguments.rules)
    options = {name: getattr(arguments, name) for name in _OPTIONS}
    with nullcontext() if out is None else writing(out):
        exported = export_rules(
            rules,
            arguments.to,
            default=arguments.default,
            out=out,
            overwrite=arguments.force,
            **{name: value for name, value in options.items() if value is not None},
        )
    data = {**exported.to_dict(), "file": arguments.out}
    if out is None:
        console.result(exported.text.rstrip("\n"), data)
    else:
        data.pop("text")
        console.result("", data)
        console.say(f"{number_of(len(rules), 'rule')} written to {out}.")
