"""All options of all commands, once each: one name means one thing and has one default, wherever it is taken."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

# What `clearmargin.export` knows; listed here, since the help must not have to load it.
FORMATS = ("sql", "python", "json", "rules", "text", "markdown")
DIALECTS = ("ansi", "postgresql", "sqlite", "duckdb", "mysql")


def whole_number(text: str, lowest: int = 1) -> int:
    """Read a number of things from the command line."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if number < lowest:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from {lowest}")
    return number


def end_size(text: str) -> float | str:
    """Read the size of an end of a ranking from the command line: a number above zero, or a way to choose it."""
    if text in ("auto", "cv"):
        return text
    try:
        return positive_number(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, auto or cv") from None


def positive_number(text: str) -> float:
    """Read a number above zero from the command line."""
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not (number > 0 and math.isfinite(number)):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return number


def cost(text: str) -> float:
    """Read a number above zero, or inf for what must not happen, from the command line."""
    return math.inf if text.strip().lower() == "inf" else positive_number(text)


def share(text: str) -> float:
    """Read a number between 0 and 1 from the command line."""
    number = positive_number(text)
    if number >= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number between 0 and 1")
    return number


def port_number(text: str) -> int:
    """Read a port from the command line; 0 for a free one."""
    number = whole_number(text, lowest=0)
    if number > 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port: they end at 65535")
    return number


def number_of_folds(text: str) -> int:
    """Read a number of folds from the command line; 0 for none."""
    if text.lower() == "none":
        return 0
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a whole number nor 'none'") from None
    if number < 2:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 2, or 'none'")
    return number


def number_of_rules(text: str) -> int | str:
    """Read a maximum number of rules from the command line, or 'all'."""
    if text.lower() == "all":
        return "all"
    try:
        return whole_number(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, or 'all'") from None


def one_of(choices: Iterable[str]) -> Callable[[str], str]:
    """Make a reader of one of some words, which suggests the nearest one for any other."""
    known = list(choices)

    def read(text: str) -> str:
        if text not in known:
            from clearmargin.rules.space import nearest_name

            raise argparse.ArgumentTypeError(f"invalid choice: {text!r}{nearest_name(text, known)}")
        return text

    return read


@dataclass(frozen=True, slots=True)
class Option:
    """One option or argument."""

    flag: str
    help: str
    group: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


_A_TABLE = "a table: CSV (also .gz), Parquet or Feather, with column names; - for standard input"
_READING = "how to read the table"
_MODEL = "the model"
_RULES = "the rules"
_UNSEEN = "rows not seen in training"
_ADVICE = "the training with rules"
_RANKING = "the ranking"
_CHANGE = "the change"
_FORMAT = "the format"


def _flag(flag: str, text: str, group: str = "") -> Option:
    return Option(flag, text, group, {"action": "store_true"})


def _count(flag: str, text: str, group: str = "") -> Option:
    return Option(flag, text, group, {"type": whole_number, "metavar": "N"})


def _number(flag: str, text: str, group: str = "") -> Option:
    return Option(flag, text, group, {"type": positive_number, "metavar": "X"})


def _text(flag: str, text: str, metavar: str, group: str = "") -> Option:
    return Option(flag, text, group, {"metavar": metavar})


def _choice(
    flag: str, text: str, choices: Iterable[str], group: str = "", **more: object
) -> Option:
    known = list(choices)
    # The type speaks first, and better than argparse; the choices are for the help.
    return Option(flag, text, group, {"choices": known, "type": one_of(known), **more})


def _list(flag: str, text: str, metavar: str, group: str = "") -> Option:
    # `extend` and `append` would add to a default that all parsers share, were it not copied by argparse.
    return Option(flag, text, group, {"action": "append", "default": [], "metavar": metavar})


OPTIONS: Mapping[str, Option] = {
    # What a command is about.
    "DATA": _text("data", _A_TABLE, "DATA"),
    "RULES": _text("rules", "rules, or a model with rules, from a file", "RULES"),
    "OLD": _text("old", "the rules so far, or a model with rules, from a file", "OLD"),
    "NEW": Option("new", "the new ones", "", {"metavar": "NEW", "nargs": "?"}),
    "DATASET": Option(
        "dataset", "a data set of the package", "", {"metavar": "NAME", "nargs": "?"}
    ),
    "FILE": Option(
        "file",
        "a project (.clearmargin), or a table to make one of, or to go on with the one that was made of it",
        "",
        {"metavar": "FILE", "nargs": "?"},
    ),
    "data": _text("--data", _A_TABLE, "DATA"),
    "rules": _text("--rules", "rules decide; where none applies, nothing does", "FILE"),
    "target": _text("--target", "the column of classes", "COLUMN"),
    "positive": _text(
        "--positive",
        "the class of interest; of more than two classes, it against all others",
        "CLASS",
    ),
    "missing": _choice(
        "--missing",
        "rows with missing values: refuse (default, where only planes are made), leave out, or fill with medians and "
        "most frequent categories (default, where methods are compared; rules with points take them as they are)",
        ["error", "drop", "impute"],
    ),
    "row": _count("--row", "a row of the table; the first one below the column names is 1"),
    "where": _text(
        "--where",
        "rows with these values, in the rule language; columns that are left out count here, too",
        "PREMISE",
    ),
    "most": _count(
        "--most",
        "maximum number to print (default: 10 rules of a class, 3 cases, 20 properties)",
    ),
    # How to read the table.
    "separator": _text("--separator", "comma, semicolon, tab, bar or a letter", "MARK", _READING),
    "decimal": _choice(
        "--decimal", "the decimal mark: . or ,", [".", ","], _READING, metavar="MARK"
    ),
    "encoding": Option("--encoding", "how letters are written (default: utf-8)", _READING),
    "na": _list("--na", "a text that means: no value", "TEXT", _READING),
    "categories": _list(
        "--categories",
        "columns of numbers that are categories, with commas between",
        "COLUMNS",
        _READING,
    ),
    "drop": _list("--drop", "columns to leave out", "COLUMNS", _READING),
    # The model.
    "model": _text("--model", "take this model instead of training one", "FILE", _MODEL),
    "nu": _number("--nu", "cost of errors (default: by cross-validation)", _MODEL),
    "max_features": _count(
        "--max-features",
        "maximum number of features of the plane (default: 8); a category counts as one",
        _MODEL,
    ),
    "balanced": _flag("--balanced", "let all classes weigh the same in training", _MODEL),
    "save_model": _text(
        "--save-model", "write the model, with its rules, to a .json file", "FILE", _MODEL
    ),
    # The rules.
    "as_form": _choice(
        "--as",
        "proved rules of a sparse linear SVM (rules, default), rules with points, a scorecard, rules of a tree of "
        "SVMs, or the first of rules, scorecard and points within one standard error of the best (auto)",
        ["rules", "points", "scorecard", "tree", "auto"],
        _RULES,
        dest="as_form",
    ),
    "overlapping": _flag(
        "--overlapping", "let rules of a class overlap: fewer rules cover the same rows", _RULES
    ),
    "trust": _flag(
        "--trust", "read a model that joblib has written, which runs the code that is in it", _MODEL
    ),
    "max_rules": Option(
        "--max-rules",
        "maximum number of rules in all classes together, those that cover most first (default: 15), or all",
        _RULES,
        {"type": number_of_rules, "metavar": "N"},
    ),
    "max_conditions": _count("--max-conditions", "maximum number of features in a rule", _RULES),
    "distil": _count(
        "--distil",
        "extract from a plane distilled to so many features of the model, which says first how often the two agree",
        _RULES,
    ),
    # Rows not seen in training.
    "cv": Option(
        "--cv",
        "number of folds, in each of which everything is trained anew (default: 5; of rank: two random halves); "
        "'none' for no figure",
        _UNSEEN,
        {"type": number_of_folds, "metavar": "N"},
    ),
    "groups": _text(
        "--groups",
        "rows with the same value here (a patient, a customer) are never in both parts of a fold",
        "COLUMN",
        _UNSEEN,
    ),
    "time": _text(
        "--time",
        "train on earlier rows and test on later ones; numbers, or dates as 2024-03-31",
        "COLUMN",
        _UNSEEN,
    ),
    # Training with rules.
    "advice": _text("--advice", "an expert's rules, as a .rules or .json file", "FILE", _ADVICE),
    "refine": _choice(
        "--refine",
        "let the data correct the rules (default: keep them); a rule moves only where that makes it right on more "
        "of the rows that it covers, and the output says so",
        ["translate", "slp", "sqp"],
        _ADVICE,
    ),
    "refined": _text(
        "--refined",
        "write the rules as they are after training, as .rules or .json",
        "FILE",
        _ADVICE,
    ),
    "everywhere": _flag(
        "--everywhere",
        "rules have to hold everywhere in their premises, as published (default: on average over cases that could "
        "exist, as far as the rows bear the rules out)",
        _ADVICE,
    ),
    "lam": _number("--lam", "cost of a row on the wrong side (default: 1)", _ADVICE),
    "mu": Option(
        "--mu",
        "how many rows all rules together count as (default: 30); with --everywhere the cost of an error of a rule "
        "(default: 1), inf for rules that must hold",
        _ADVICE,
        {"type": cost, "metavar": "X"},
    ),
    "change_cost": _number(
        "--change-cost", "cost of changing a rule, relative to mu (default: 1)", _ADVICE
    ),
    # An explanation.
    "precision": Option(
        "--precision",
        "share of the rows under the conditions of a measured explanation that have to get the class (default: 0.95)",
        settings={"type": share, "default": 0.95, "metavar": "SHARE"},
    ),
    "guarantee": _choice(
        "--guarantee",
        "conditions that are proved, or measured on rows not used to find them; auto proves where at most 3 "
        "conditions, or --max-conditions, are enough (default)",
        ["auto", "proved", "measured"],
        default="auto",
    ),
    # A ranking.
    "top": Option(
        "--top",
        "size of the top: a share below 1, or a number of rows (default: 0.05); for both ends, auto takes the size "
        "with the most significant properties, cv the one whose properties hold up best in cross-validation",
        _RANKING,
        {"type": end_size, "default": 0.05, "metavar": "SHARE"},
    ),
    "bottom": Option(
        "--bottom",
        "size of the bottom: a share below 1, or a number of rows (default: 0.05)",
        _RANKING,
        {"type": end_size, "default": 0.05, "metavar": "SHARE"},
    ),
    "min_leverage": Option(
        "--min-leverage",
        "minimum leverage of a property, at most 0.25 (default: 0.08)",
        _RANKING,
        {"type": positive_number, "default": 0.08, "metavar": "X"},
    ),
    "max_size": Option(
        "--max-size",
        "maximum number of conditions of a property (default: 2)",
        _RANKING,
        {"type": whole_number, "default": 2, "metavar": "N"},
    ),
    # The cheapest change.
    "actionable": _list(
        "--actionable",
        "a feature that may change: NAME, NAME=increase, NAME=decrease, NAME=20..40, or NAME=yes|ex (categories)",
        "FEATURE",
        _CHANGE,
    ),
    "cost": _list(
        "--cost",
        "what one unit of a number costs, or one change of a category: NAME=2.5 (default: 1 for the range seen)",
        "FEATURE",
        _CHANGE,
    ),
    "goal": _text(
        "--goal",
        "the class to reach (default: the other one), or rank:N to leave the top N of the table",
        "CLASS",
        _CHANGE,
    ),
    "alternatives": Option(
        "--alternatives",
        "how many other ways to find, too (default: 0)",
        _CHANGE,
        {"type": partial(whole_number, lowest=0), "default": 0, "metavar": "N"},
    ),
    # A comparison.
    "confidence": Option(
        "--confidence",
        "confidence of intervals, and 1 minus the risk that any rule is said to have changed by chance (default: 0.95)",
        "",
        {"type": share, "default": 0.95, "metavar": "SHARE"},
    ),
    # Other formats.
    "to": _choice("--to", "the format to write", FORMATS, _FORMAT),
    "dialect": _choice("--dialect", "the database (sql; default: ansi)", DIALECTS, _FORMAT),
    "form": _choice(
        "--form",
        "what to write in SQL: a CASE expression for a query of yours (default), or a statement that creates a view",
        ["case", "view"],
        _FORMAT,
    ),
    "table": _text("--table", "the table under a view (sql)", "NAME", _FORMAT),
    "view": _text(
        "--view",
        "the view (sql; default: that of the table with _rules behind it)",
        "NAME",
        _FORMAT,
    ),
    "column": _text(
        "--column",
        "the column of a view that holds the class (sql; default: prediction)",
        "NAME",
        _FORMAT,
    ),
    "name": _text("--name", "the function (python; default: predict_row)", "NAME", _FORMAT),
    "default": _text("--default", "the class where no rule applies", "CLASS"),
    # The workbench.
    "folder": _text(
        "--folder", "where projects are (default: where FILE is, or the current folder)", "DIR"
    ),
    "author": _text("--author", "who keeps versions (default: your user name)", "NAME"),
    "no_browser": _flag("--no-browser", "print the address, and open no browser"),
    "stop_when_closed": _flag("--stop-when-closed", "end when the last tab was closed"),
    "verify": _text(
        "--verify",
        "say whether the history of a project is as it was written, and nothing else; this finds changes by others, "
        "but who knows how can write a history anew",
        "PROJECT",
    ),
    "port": Option(
        "--port",
        "the port to listen at (default: a free one)",
        "",
        {"type": port_number, "default": 0, "metavar": "N"},
    ),
    # Files.
    "report": _text("--report", "write a report on model and rules to an .html file, too", "FILE"),
    "no_report": _flag("--no-report", "write no report"),
    "out": _text("--out", "write the result to this file", "FILE"),
    "force": _flag("--force", "replace files that exist already"),
}

TABLE = ("separator", "decimal", "encoding", "na", "categories", "drop")
TASK = ("DATA", *TABLE, "target!", "positive")
# With a model, rows need no class.
QUESTION = ("DATA", *TABLE, "target", "positive")
PLANE = ("nu", "max_features", "balanced")
MODEL = ("model", *PLANE, "save_model")
SPLIT = ("cv", "groups", "time")
CASES = ("row|where", "most")
OUTPUT = ("out", "force")


def add_options(parser: argparse.ArgumentParser, *names: str, **more: str) -> None:
    """Add options by their names in `OPTIONS`."""
    groups: dict[str, argparse._ArgumentGroup] = {}
    for name in names:
        parts = name.rstrip("!").split("|")
        either: argparse._ActionsContainer = parser
        if len(parts) > 1:
            either = parser.add_mutually_exclusive_group(required=True)
        for part in parts:
            option = OPTIONS[part]
            place = either
            if option.group and len(parts) == 1:
                if option.group not in groups:
                    groups[option.group] = parser.add_argument_group(option.group)
                place = groups[option.group]
            text = f"{option.help}: {more[part]}" if part in more else option.help
            settings = dict(option.settings, help=text)
            if name.endswith("!"):
                settings["required"] = True
            place.add_argument(option.flag, **settings)
