"""`clearmargin rank` says what sets the top of a ranking apart from its bottom."""

from __future__ import annotations

import argparse
from typing import Any

from clearmargin.cli.console import Console
from clearmargin.cli.outputs import add_force, claim, writing
from clearmargin.cli.task import add_task_arguments
from clearmargin.cli.train import positive_number, whole_number
from clearmargin.cli.unseen import add_split_arguments

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_task_arguments(parser, missing=False)
    group = parser.add_argument_group("the ranking")
    for end in ("top", "bottom"):
        group.add_argument(
            f"--{end}",
            type=positive_number,
            default=0.05,
            metavar="SHARE",
            help=f"size of the {end}: a share below 1, or a number of rows (default: 0.05)",
        )
    group.add_argument(
        "--min-leverage",
        type=positive_number,
        default=0.08,
        metavar="X",
        help="least leverage of a property, at most 0.25 (default: 0.08)",
    )
    group.add_argument(
        "--max-size", type=whole_number, default=2, metavar="N", help="most conditions (default: 2)"
    )
    group.add_argument(
        "--most", type=whole_number, default=20, metavar="N", help="most to print (default: 20)"
    )
    add_split_arguments(parser)
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="write all properties as a .csv table, or as rules to a .rules or .json file",
    )
    add_force(parser)
    parser.epilog = "example: clearmargin rank feeders.csv --target failed --positive yes --top 0.1"


def run(arguments: argparse.Namespace) -> None:
    """Rank the rows, search for properties, print them."""
    from clearmargin.cli.task import read_task
    from clearmargin.rankings import RankContrast

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".csv", ".rules", ".json"])
    task = read_task(arguments, console)
    task.insist_on_two_classes("a ranking")
    columns = {}
    if task.splitting is not None:
        columns = {"groups": task.splitting.groups, "times": task.splitting.times}
    contrast = RankContrast(
        top=_size(arguments.top),
        bottom=_size(arguments.bottom),
        min_leverage=arguments.min_leverage,
        max_size=arguments.max_size,
        positive=task.positive,
        cv="halves" if arguments.cv is None else arguments.cv or None,
    ).fit(task.X, task.y, **columns)
    console.say(task.summary)
    _print_ranking(contrast, console)
    frame = contrast.properties_.drop(columns="items")
    if out is not None:
        with writing(out):
            if out.suffix.lower() == ".csv":
                from clearmargin.rules.files import write_text_atomically

                write_text_atomically(out, frame.to_csv(index=False), overwrite=arguments.force)
            else:
                contrast.rules_.save(out, overwrite=arguments.force)
    data: dict[str, Any] = {
        **task.to_dict(),
        "auc": contrast.auc_,
        "held_out_auc": getattr(contrast, "held_out_auc_", None),
        "top_rows": [int(task.X.index[k]) + 1 for k in contrast.top_index_],
        "bottom_rows": [int(task.X.index[k]) + 1 for k in contrast.bottom_index_],
        "properties": frame.to_dict(orient="records"),
    }
    if out is not None:
        console.wrote(f"All {len(frame)} properties are in {out}.")
    console.result(contrast.describe(arguments.most), data)


def _print_ranking(contrast: Any, console: Console) -> None:
    """Say how well the ranking tells the classes apart, on rows it was trained on and on others."""
    first = contrast.classes_.tolist()[1]
    console.say(
        f"Ranked by a linear SVM, {first} at the top: area under the curve {contrast.auc_:.3f} on the rows that it was "
        "trained on."
    )
    if hasattr(contrast, "held_out_auc_"):
        folds = contrast.folds_
        console.say(
            f"Trained in the same way on part of the rows, {contrast.held_out_auc_:.3f} on the others "
            f"(mean of {len(folds)} {folds.how})."
        )
        if folds.note:
            console.say(f"{folds.note},\nwhich may make this figure too high.")
    console.say()


def _size(given: float) -> float | int:
    """A share, or a number of rows."""
    return given if given < 1 else int(given)
