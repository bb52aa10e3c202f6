"""`clearmargin export` writes rules in other formats."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from typing import Any

from clearmargin.cli.command_options import OUTPUT, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, writing
from clearmargin.exceptions import DataError

_OPTIONS = ("dialect", "form", "table", "view", "column", "name", "default")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    names = ("RULES", "to!", *_OPTIONS, *OUTPUT)
    add_options(parser, *names, out="any ending (default: the screen)")
    parser.epilog = (
        "example: clearmargin export ill.rules --to sql --dialect postgresql --out ill.sql"
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the rules."""
    from clearmargin.recipes.applied_rules import export_rules, weights_note
    from clearmargin.recipes.phrases import number_of
    from clearmargin.recipes.weighted_rules import load_rules_or_points
    from clearmargin.rules import RuleSet

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [])
    options = _options(arguments)
    rules = load_rules_or_points(arguments.rules)
    if isinstance(rules, RuleSet):
        console.note_all(weights_note(rules, arguments.rules))
    with nullcontext() if out is None else writing(out):
        exported = export_rules(rules, arguments.to, out=out, overwrite=arguments.force, **options)
    data = {**exported.to_dict(), "file": arguments.out}
    if out is None:
        console.result(exported.text.rstrip("\n"), data)
    else:
        data.pop("text")
        console.result("", data)
        console.say(f"{number_of(exported.n_rules, 'rule')} written to {out}.")


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options that were typed, all of which the format must have."""
    from clearmargin.export.formats import format_options

    given = {name: getattr(arguments, name) for name in _OPTIONS}
    given = {name: value for name, value in given.items() if value is not None}
    known = [name for name in _OPTIONS if name in format_options(arguments.to)]
    for name in given:
        if name not in known:
            # A format may have more options in Python; here only those count that can be typed.
            these = ", ".join(f"--{option}" for option in known)
            what = f"which takes {these}" if known else "which takes no option"
            raise DataError(f"--{name} is not for the format {arguments.to}, {what}")
    return given
