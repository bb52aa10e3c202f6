"""`clearmargin export` writes rules in other languages."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearmargin.cli.console import Console, number_of
from clearmargin.cli.outputs import add_force, claim, writing
from clearmargin.exceptions import DataError
from clearmargin.rules.space import nearest_name

if TYPE_CHECKING:
    from clearmargin.rules import RuleSet
    from clearmargin.rules.rule import Label

__all__ = ["add_arguments", "load_rules", "read_class", "run"]

# The options of the forms, by their names here and there.
_OPTIONS = {
    "dialect": "the database: ansi, postgresql, sqlite or duckdb (sql)",
    "form": "case, an expression; or view, a statement (sql)",
    "table": "the table under a view (sql)",
    "column": "the column of a view that holds the class (sql)",
    "name": "the name of the function (python)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("rules", metavar="RULES", help="rules, or a model with rules, from a file")
    parser.add_argument(
        "--to",
        required=True,
        metavar="FORM",
        help="sql, python, pmml, json, rules, text, markdown, latex or xlsx",
    )
    parser.add_argument("--out", metavar="FILE", help="the file to write (default: the screen)")
    for name, text in _OPTIONS.items():
        parser.add_argument(f"--{name}", help=text)
    parser.add_argument("--default", metavar="CLASS", help="the class where no rule applies")
    add_force(parser)
    parser.epilog = (
        "example: clearmargin export ill.rules --to sql --dialect postgresql --out ill.sql"
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the rules."""
    from clearmargin.export import export, to_xlsx
    from clearmargin.rules.files import write_text_atomically

    console = Console.of(arguments)
    is_sheet = arguments.to == "xlsx"
    out = claim(arguments.out, arguments, [".xlsx"] if is_sheet else [])
    rules = load_rules(arguments.rules)
    options: dict[str, Any] = {
        name: getattr(arguments, name) for name in _OPTIONS if getattr(arguments, name) is not None
    }
    if arguments.default is not None:
        options["default"] = read_class(arguments.default, rules)
    if not is_sheet:
        text = export(rules, to=arguments.to, **options)
        if out is not None:
            with writing(out):
                write_text_atomically(out, text, overwrite=arguments.force)
    elif out is None:
        raise DataError("a spreadsheet is a file; name it: --out rules.xlsx")
    elif options:
        raise DataError(f"the form xlsx has no option --{next(iter(options))}")
    else:
        with writing(out):
            to_xlsx(rules, out, overwrite=arguments.force)
        text = ""
    data = {"rules": len(rules), "to": arguments.to, "file": arguments.out}
    if out is None:
        console.result(text.rstrip("\n"), {**data, "text": text})
    else:
        console.result("", data)
        console.say(f"{number_of(len(rules), 'rule')} written to {out}.")


def load_rules(path: str) -> RuleSet:
    """Read rules from a file of rules, or from a model that has some."""
    from clearmargin.models.model_document import is_model_document
    from clearmargin.models.saving import load_model
    from clearmargin.rules import RuleSet
    from clearmargin.rules.files import read_json

    file = Path(path)
    if file.suffix.lower() == ".json" and is_model_document(read_json(file)):
        rules = load_model(path).rules
        if not rules:
            raise DataError(
                f"{path} is a model without rules; extract some: clearmargin rules --model {path}"
            )
        return rules
    rules = RuleSet.load(path)
    if not rules:
        raise DataError(f"{path} has no rules; a rule is a line such as: bmi >= 30 => ill")
    return rules


def read_class(text: str, rules: RuleSet) -> Label:
    """Find the class that the user names."""
    for label in rules.classes:
        if str(label) == text:
            return label
    hint = nearest_name(text, [str(label) for label in rules.classes])
    raise DataError(f"--default: {text!r} is no class of the rules{hint}")
