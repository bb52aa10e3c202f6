"""`clearmargin tree` grows a tree of support vector machines, and prints it with its rules."""

from __future__ import annotations

import argparse

from clearmargin.cli.command_options import OUTPUT, SPLIT, TASK, add_options
from clearmargin.cli.console import Console, table_lines
from clearmargin.cli.outputs import claim, writing
from clearmargin.exceptions import InvalidValueError

_OPTIONS = ("order", "partition", "loss", "tol", "min_leaf", "max_layers")
_MOST = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    names = (*TASK, "missing", "balanced", *_OPTIONS, *SPLIT, "most", *OUTPUT)
    add_options(parser, *names, out="the rules, as .rules or .json")
    parser.epilog = (
        "example: clearmargin tree patients.csv --target outcome --min-leaf 3 --out tree.rules\n\n"
        "For classes of unequal size: --balanced lets all weigh the same; --loss minority finds\n"
        "more of the rarest at less cost to the others."
    )


def run(arguments: argparse.Namespace) -> None:
    """Grow the tree, print it and its rules."""
    from clearmargin.cli.inputs import read_task, show_progress
    from clearmargin.language.prose import percent, ratio_text
    from clearmargin.recipes.cards_and_trees import grow_tree
    from clearmargin.recipes.found_rules import rule_lines
    from clearmargin.recipes.phrases import number_of
    from clearmargin.recipes.unseen import unseen_text

    console = Console.of(arguments)
    if arguments.balanced and arguments.loss == "minority":
        raise InvalidValueError(
            "--balanced does not go with --loss minority: machines that favour the rare class would be judged by "
            "nothing else; leave one of them out"
        )
    out = claim(arguments.out, arguments, [".rules", ".json"])
    task = read_task(arguments, console)
    given = {name: getattr(arguments, name) for name in _OPTIONS}
    options = {name: value for name, value in given.items() if value is not None}
    if arguments.balanced:
        options["class_weight"] = "balanced"
    grown = grow_tree(task, progress=show_progress(console), **options)
    console.note_all(grown.notes)
    console.say(task.summary)
    leaves = "1 leaf" if grown.n_leaves == 1 else f"{grown.n_leaves} leaves"
    console.say(
        f"The tree has {leaves} and is right on {ratio_text(grown.accuracy)} of these rows."
    )
    text = unseen_text(grown.facts)
    if text:
        console.say(text)
    console.say(f"\n{grown.text}\n")
    most = arguments.most or _MOST
    lines, scores = rule_lines(grown.rules), grown.rules.score(*grown.rule_rows())
    head = number_of(len(grown.rules), "rule")
    console.heading(
        f"{head} that predict what the tree predicts on {ratio_text(grown.fidelity)} of these rows, and are right on "
        f"{ratio_text(grown.rules_accuracy)}:"
    )
    cells = [
        (
            str(k + 1),
            str(stats.covered),
            percent(stats.correct or 0, stats.covered) if stats.covered else "",
            lines[k],
        )
        for k, stats in enumerate(scores.rules[:most])
    ]
    console.say("\n".join(table_lines([("", "rows", "right", ""), *cells], right=[0, 1, 2])))
    if len(lines) > most:
        console.say(f"  ... and {len(lines) - most} more (--most, --out)")
    if out is not None:
        with writing(out):
            grown.rules.save(out, overwrite=arguments.force)
        console.wrote(f"The rules are in {out}.")
    quiet = grown.rules.to_text().rstrip("\n") if console.quiet and out is None else ""
    console.result(quiet, grown.to_dict())
