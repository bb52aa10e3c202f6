"""`clearmargin explain` says why cases get their class."""

from __future__ import annotations

import argparse
from textwrap import fill
from typing import TYPE_CHECKING, Any

from clearmargin.cli.console import Console
from clearmargin.cli.outputs import add_force
from clearmargin.cli.task import Task, add_task_arguments
from clearmargin.cli.train import (
    add_extraction_arguments,
    add_model_arguments,
    whole_number,
)
from clearmargin.cli.unseen import add_split_arguments
from clearmargin.exceptions import DataError, RuleSyntaxError

if TYPE_CHECKING:
    from clearmargin.rules.value import IntArray

__all__ = ["add_arguments", "run"]

_KINDS = {"rule": "rule", "on-demand": "on_demand", "largest": "largest", "central": "central"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_task_arguments(parser)
    cases = parser.add_mutually_exclusive_group(required=True)
    cases.add_argument(
        "--row",
        type=whole_number,
        metavar="N",
        help="a row of the table; the first one below the column names is 1",
    )
    cases.add_argument(
        "--where",
        metavar="PREMISE",
        help="rows with these values, in the rule language; columns that are left out count here, too",
    )
    parser.add_argument(
        "--most",
        type=whole_number,
        default=3,
        metavar="N",
        help="most cases to explain (default: 3)",
    )
    parser.add_argument(
        "--kind",
        choices=list(_KINDS),
        default="rule",
        help="the rule that covers the case (default), a rule made for it, the largest box, or one around it",
    )
    add_model_arguments(parser)
    add_extraction_arguments(parser)
    add_split_arguments(parser)
    add_force(parser)
    parser.epilog = (
        "example: clearmargin explain patients.csv --target outcome --row 7\n"
        '         clearmargin explain patients.csv --target outcome --where "patient = P-07"'
    )


def run(arguments: argparse.Namespace) -> None:
    """Train or load a model, extract its rules, explain the cases asked for."""
    from clearmargin.cli.listing import explanation_dict, print_model, share_right
    from clearmargin.cli.train import claim_model, extract, read_inputs, save, train

    console = Console.of(arguments)
    model_file = claim_model(arguments)
    task, loaded = read_inputs(arguments, console)
    chosen = _choose(task, arguments, console)
    model = loaded or train(task, arguments, console)[0]
    console.say(task.summary)
    print_model(model, share_right(model, task), console, given=loaded is not None)
    extractor = extract(task, model, arguments)
    told = extractor.explain_many(task.X.iloc[chosen], _KINDS[arguments.kind])
    entries, texts = [], []
    for k, position in enumerate(chosen.tolist()):
        row, true = int(task.X.index[position]) + 1, task.y.tolist()[position]
        entries.append(explanation_dict(told[k], row, true))
        verdict = "right" if told[k].label == true else f"wrong: it is {true}"
        texts.append(fill(f"Row {row} ({verdict}). {told[k].text}", width=100))
    console.say()
    save(extractor, model_file, arguments, console)
    console.result("\n\n".join(texts), {**task.to_dict(), "explanations": entries})


def _choose(task: Task, arguments: argparse.Namespace, console: Console) -> IntArray:
    """Positions among the rows that are learned from."""
    import numpy as np

    if arguments.row is not None:
        return _row(task, arguments.row)
    met = np.flatnonzero(_where(task, arguments.where))
    usable = np.flatnonzero(np.isin(task.X.index.to_numpy(), met))
    if not len(usable):
        gone = f" but {len(met)} that were left out" if len(met) else ""
        raise DataError(f"--where: no row{gone} has {arguments.where}")
    if len(usable) > arguments.most:
        console.note(
            f"{len(usable)} rows have {arguments.where}; the first {arguments.most} are explained"
        )
    return usable[: arguments.most]


def _row(task: Task, row: int) -> IntArray:
    from clearmargin.cli.task import position_of

    total = len(task.table.frame)
    if row > total:
        raise DataError(f"--row {row}: {task.table.name} has {total} rows")
    found = position_of(task, row)
    if not len(found):
        raise DataError(
            f"--row {row}: this row lacks a value and was left out; try --missing impute"
        )
    return found


def _where(task: Task, premise: str) -> Any:
    """Which rows of the whole table have the values asked for."""
    # Names of rows, such as P-07, read as they are: in the rule language they would need quotes.
    name, mark, value = (part.strip() for part in premise.partition("="))
    if mark and name in task.table.frame.columns and task.table.frame[name].dtype.kind == "O":
        same = task.table.frame[name] == value
        if same.any():
            return same.to_numpy(dtype=bool)
    from clearmargin.cli.table import find_column
    from clearmargin.language import parse_rules
    from clearmargin.rules import FeatureSpace

    text = f"{premise} => chosen"
    try:
        names = [find_column(name, task.table) for name in parse_rules(text).space.names]
        frame = task.table.frame[names]
        rules = parse_rules(text, space=FeatureSpace.from_data(frame))
    except RuleSyntaxError as error:
        raise error.in_file("--where") from None
    return rules.covers(frame)[:, 0]
