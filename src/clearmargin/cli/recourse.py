"""`clearmargin recourse` finds the cheapest change of a case that would change the model's answer."""

from __future__ import annotations

import argparse
import math
from typing import Any

from clearmargin.cli.command_options import CASES, MODEL, QUESTION, SPLIT, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, save_model_file
from clearmargin.exceptions import DataError, RuleSyntaxError

_MOST = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    change = ("actionable!", "cost", "goal", "alternatives")
    add_options(parser, *QUESTION, "missing", *CASES, *change, *MODEL, *SPLIT, "force")
    parser.epilog = (
        "example: clearmargin recourse patients.csv --target outcome --row 20 --actionable age --actionable bmi\n"
        "         clearmargin recourse patients.csv --model ill.json --row 20 --actionable "
        "age=decrease --actionable smoker=no|ex --cost age=0.1 --goal well\n\n"
        "It is about the model only: what such a change does in the world is not known from data."
    )


def run(arguments: argparse.Namespace) -> None:
    """Train or load a model, and find the cheapest change of each case asked for."""
    from clearmargin.cli.inputs import read_inputs, require_target, train
    from clearmargin.cli.listing import print_model
    from clearmargin.recipes.changes import find_changes
    from clearmargin.recipes.found_rules import choose_rows
    from clearmargin.recipes.trained_models import load_for_task
    from clearmargin.recipes.weighted_rules import holds_points

    console = Console.of(arguments)
    require_target(arguments)
    if holds_points(arguments.model):
        _change_by_points(arguments, console)
        return
    model_file = claim(arguments.save_model, arguments, [".json"])
    task, model = read_inputs(arguments, console)
    names = list(task.X.names)
    actionable = read_actionable(arguments.actionable, names)
    costs = read_costs(arguments.cost, names)
    goal, rank = read_goal(arguments.goal)
    try:
        most = arguments.most or _MOST
        positions, notes = choose_rows(task, row=arguments.row, where=arguments.where, most=most)
    except RuleSyntaxError as error:
        raise error.in_file("--where") from None
    console.note_all(notes)
    trained = train(task, arguments, console) if model is None else load_for_task(model, task)
    console.say(task.summary)
    print_model(trained.model, trained.accuracy, console, given=model is not None)
    found = find_changes(
        trained,
        positions,
        actionable,
        costs=costs,
        goal=goal,
        rank=rank,
        alternatives=arguments.alternatives,
    )
    console.say()
    save_model_file(trained.model, model_file, arguments, console)
    pairs = zip(found.rows, found.changes, strict=True)
    console.result("\n\n".join(f"Row {row}: {change}" for row, change in pairs), found.to_dict())


def _change_by_points(arguments: argparse.Namespace, console: Console) -> None:
    """Find the cheapest changes of cases of rules with points."""
    from clearmargin.cli.points_model import choose_positions, print_points, read_points
    from clearmargin.recipes.changes import find_changes

    loaded = read_points(arguments, console)
    names = list(loaded.task.X.names)
    goal, rank = read_goal(arguments.goal)
    positions = choose_positions(loaded, arguments, console, _MOST)
    print_points(loaded, console)
    found = find_changes(
        loaded,
        positions,
        read_actionable(arguments.actionable, names),
        costs=read_costs(arguments.cost, names),
        goal=goal,
        rank=rank,
        alternatives=arguments.alternatives,
    )
    console.say()
    pairs = zip(found.rows, found.changes, strict=True)
    console.result("\n\n".join(f"Row {row}: {change}" for row, change in pairs), found.to_dict())


def read_actionable(given: list[str], names: list[str]) -> dict[str, Any]:
    """Read which features may change, and how."""
    found: dict[str, Any] = {}
    for text in given:
        name, allowed = _pair(text, names)
        if allowed is None or allowed in ("any", "increase", "decrease"):
            found[name] = allowed or "any"
        elif ".." in allowed:
            low, _, high = allowed.partition("..")
            found[name] = (_number(low, "--actionable", text), _number(high, "--actionable", text))
        else:
            found[name] = [_value(part.strip()) for part in allowed.split("|")]
    return found


def read_costs(given: list[str], names: list[str]) -> dict[str, float]:
    """Read what changes cost."""
    costs = {}
    for text in given:
        name, cost = _pair(text, names)
        if cost is None:
            raise DataError(f"--cost {text}: write what it costs behind it, such as {text}=2.5")
        costs[name] = _number(cost, "--cost", text)
    return costs


def read_goal(text: str | None) -> tuple[str | None, int | None]:
    """Read a class, or the size of a top to be left."""
    if text is None or not text.startswith("rank:"):
        return text, None
    size = text.removeprefix("rank:")
    if not size.isdecimal() or not int(size):
        raise DataError(f"--goal {text}: write a whole number behind it, such as rank:10")
    return None, int(size)


def _pair(text: str, names: list[str]) -> tuple[str, str | None]:
    """Return a name and what stands behind its =, which a name may have, too."""
    if text in names or "=" not in text:
        return text, None
    name, _, rest = text.rpartition("=")
    return name.strip(), rest.strip()


def _number(text: str, option: str, whole: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if math.isnan(found):
        raise DataError(f"{option} {whole}: {text!r} is not a number")
    return found


def _value(text: str) -> Any:
    """Return a category, or a number where it can be read as one."""
    try:
        return float(text)
    except ValueError:
        return text
