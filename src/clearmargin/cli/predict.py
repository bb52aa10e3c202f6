"""`clearmargin predict` gives each row of a table its class."""

from __future__ import annotations

import argparse
import csv
import io
from typing import TYPE_CHECKING, Any

from clearmargin.cli.console import Console, number_of
from clearmargin.cli.outputs import add_force, claim, writing
from clearmargin.cli.table import add_table_arguments
from clearmargin.exceptions import DataError

if TYPE_CHECKING:
    from clearmargin.cli.table import Table

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_table_arguments(parser)
    by = parser.add_mutually_exclusive_group(required=True)
    by.add_argument(
        "--rules", metavar="FILE", help="rules decide; where none applies, nothing does"
    )
    by.add_argument("--model", metavar="FILE", help="a model decides")
    parser.add_argument("--default", metavar="CLASS", help="the class where no rule applies")
    parser.add_argument(
        "--out", metavar="FILE", help="the .csv file to write (default: the screen)"
    )
    add_force(parser)
    parser.epilog = (
        "example: clearmargin predict new.csv --rules ill.rules --default well --out said.csv"
    )


def run(arguments: argparse.Namespace) -> None:
    """Predict, and write a line for each row."""
    from clearmargin.cli.table import read_table
    from clearmargin.rules.files import write_text_atomically

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".csv"])
    if arguments.model is not None and arguments.default is not None:
        raise DataError("--default is for rules; a model has an answer for every row")
    table = read_table(arguments, console)
    said = _by_model(table, arguments, console) if arguments.model else _by_rules(table, arguments)
    missing = sum(entry["class"] is None for entry in said)
    if missing:
        reason = (
            "a missing value or an unknown category that the model needs"
            if arguments.model
            else "no rule"
        )
        console.note(f"{number_of(missing, 'row')} with {reason}, and so without a class")
    text = _as_csv(said)
    if out is not None:
        with writing(out):
            write_text_atomically(out, text, overwrite=arguments.force)
    data = {"data": table.name, "rows": len(said), "predictions": said}
    console.result("" if out else text.rstrip("\n"), data)
    if out is not None:
        console.say(f"The classes of {number_of(len(said), 'row')} are in {out}.")


def _by_rules(table: Table, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    from clearmargin.cli.export import load_rules, read_class

    rules = load_rules(arguments.rules)
    default = None if arguments.default is None else read_class(arguments.default, rules)
    return [
        {
            "row": row,
            "class": default if k < 0 else rules[k].label,
            "rule": None if k < 0 else rules[k].name or k + 1,
        }
        for row, k in enumerate(rules.which(table.frame).tolist(), 1)
    ]


def _by_model(
    table: Table, arguments: argparse.Namespace, console: Console
) -> list[dict[str, Any]]:
    import numpy as np

    from clearmargin.models import load_model

    model = load_model(arguments.model)
    frame = table.frame
    codes = model.encoding_.read(frame)
    known = ~(model.lacks_value(codes) | model.lacks_category(codes)).any(axis=1)
    rows = np.flatnonzero(known)
    answers: list[Any] = [None] * len(frame)
    scores: list[Any] = [None] * len(frame)
    if len(rows):
        part = frame.iloc[rows]
        values = model.decision_function(part)
        best = (
            values if values.ndim == 1 else np.sort(values, axis=1)[:, -1] - np.sort(values)[:, -2]
        )
        for k, label, score in zip(rows, model.predict(part).tolist(), best.tolist(), strict=True):
            answers[k], scores[k] = label, score
    return [
        {"row": row, "class": label, "score": score}
        for row, (label, score) in enumerate(zip(answers, scores, strict=True), 1)
    ]


def _as_csv(said: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(said[0])
    writer.writerows(entry.values() for entry in said)
    return text.getvalue()
