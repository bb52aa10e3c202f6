"""`clearmargin check` says whether a file of rules can be understood."""

from __future__ import annotations

import argparse

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("file", help="rules, as .rules text or .json")
    parser.epilog = "example: clearmargin check advice.rules"


def run(arguments: argparse.Namespace) -> None:
    """Read the rules and print them as they were understood."""
    from clearmargin.core import RuleSet

    rules = RuleSet.load(arguments.file)
    classes = ", ".join(str(c) for c in rules.classes)
    print(f"{len(rules)} rules over {len(rules.space)} features for the classes {classes}:\n")
    print(rules.describe())
