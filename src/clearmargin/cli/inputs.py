"""What commands are given: tables, models and options, as recipes take them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from clearmargin.cli.console import Console
from clearmargin.exceptions import DataError

if TYPE_CHECKING:
    from clearmargin.models import PlaneModel
    from clearmargin.models.planes import Planes
    from clearmargin.progress import Progress
    from clearmargin.recipes.advised import AdviceOptions
    from clearmargin.recipes.task import Task
    from clearmargin.recipes.trained_models import PlaneOptions, Trained
    from clearmargin.tables.files import FileTable, ReadOptions
    from clearmargin.tables.scanned import ScannedTable

_OF_TRAINING = ("nu", "max_features", "balanced", "positive", "cv", "groups", "time")
# Seconds of work that a user is told of beforehand.
_LONG = 10.0


def options_of_training(arguments: argparse.Namespace) -> list[str]:
    """List the options given for training and judging a model, which one that is given already was."""
    given = {name: getattr(arguments, name, None) for name in _OF_TRAINING}
    return [name for name, value in given.items() if value is not None and value is not False]


def folds(arguments: argparse.Namespace) -> int | None:
    """Return how many folds the user wants for figures on unseen rows; None for no figure."""
    from clearmargin.recipes.unseen import FOLDS

    number: int = FOLDS if arguments.cv is None else arguments.cv
    return number or None


def show_progress(console: Console) -> Progress:
    """Check whether bars are shown: on a terminal, unless the user wants quiet."""
    return False if console.quiet else "auto"


def read_options(arguments: argparse.Namespace) -> ReadOptions:
    """Return how the user wants the table to be read."""
    from clearmargin.tables.files import ReadOptions

    return ReadOptions(
        arguments.separator,
        arguments.decimal,
        arguments.encoding,
        arguments.na,
        arguments.categories,
        arguments.drop,
        getattr(arguments, "time", None),
    )


def read_table(
    arguments: argparse.Namespace, console: Console, *, sample: int | None = None
) -> FileTable:
    """Read the table of a command, or of a large one about as many rows as a sample is to have; notes are said."""
    from clearmargin.tables.files import read_file

    source = None if sample is None else open_source(arguments, console)
    if source is None or sample is None:
        table = read_file(arguments.data, read_options(arguments))
    else:
        from clearmargin.recipes.large_tables import sample_file

        table = sample_file(source, sample)
    console.note_all(table.notes)
    return table


def open_source(arguments: argparse.Namespace, console: Console) -> ScannedTable | None:
    """Open the table of a command that is too large to be held, or in several files; None for any other."""
    from clearmargin.recipes.large_tables import open_large

    # What a pass tells of a table is kept with it, so that it is opened once a command.
    if "source" not in arguments:
        target = getattr(arguments, "target", None)
        arguments.source = open_large(arguments.data, target, read_options(arguments))
    source: ScannedTable | None = arguments.source
    if source is not None:
        source.progress = show_progress(console)
    return source


def read_task(
    arguments: argparse.Namespace,
    console: Console,
    model: PlaneModel | None = None,
    *,
    sample: int | None = None,
    **more: Any,
) -> Task:
    """Read the table of a command and make the task that its options describe; notes are said."""
    from clearmargin.recipes.task import make_task

    table = read_table(arguments, console, sample=sample)
    settings = task_options(arguments, table, model)
    task = make_task(table, arguments.target, **{**settings, **more})
    console.note_all(task.notes)
    if getattr(arguments, "source", None) is None:
        return task
    from clearmargin.recipes.large_tables import DrawnTask, SampledFile

    assert isinstance(table, SampledFile)  # what is read of a large table
    return DrawnTask.of(task, table.rows)


def task_options(
    arguments: argparse.Namespace, table: FileTable, model: Planes | None
) -> dict[str, Any]:
    """Return how a task is to be made of the table of a command."""
    from clearmargin.tables.files import names_in

    settings: dict[str, Any] = {
        "positive": arguments.positive,
        "missing": getattr(arguments, "missing", "keep") or "error",
        "categories": names_in(arguments.categories, table.columns),
        "model": model,
        "cv": None,
    }
    if hasattr(arguments, "cv"):
        settings |= {"cv": folds(arguments), "groups": arguments.groups, "time": arguments.time}
    return settings


def read_inputs(
    arguments: argparse.Namespace, console: Console, *, sample: int | None = None
) -> tuple[Task, PlaneModel | None]:
    """Read the table, or a sample of a large one, and the model if there is one."""
    if arguments.model is None:
        return read_task(arguments, console, sample=sample), None
    for option in options_of_training(arguments):
        raise DataError(f"--model is trained already; leave out --{option.replace('_', '-')}")
    from clearmargin.models import load_model
    from clearmargin.recipes.trained_models import match_model, positive_class
    from clearmargin.recipes.weighted_rules import holds_points

    if holds_points(arguments.model):
        raise DataError(
            f"{arguments.model} holds rules with points, which predict, explain, recourse, report and export take; "
            "this command needs a model of planes, such as train makes"
        )

    model = load_model(arguments.model)
    task = read_task(arguments, console, model, sample=sample, positive=positive_class(model))
    return match_model(model, task), model


def require_target(arguments: argparse.Namespace) -> None:
    """Raise if neither a model nor the column to learn from is named."""
    if arguments.target is None and arguments.model is None:
        raise DataError(
            "name the column of classes to learn from with --target, or a model with --model"
        )


def train(task: Task, arguments: argparse.Namespace, console: Console) -> Trained:
    """Train the default machine by the options of a command, and judge it; notes are said."""
    from clearmargin.recipes.trained_models import judge_on_unseen_rows, train_plane

    progress = show_progress(console)
    trained = train_plane(task, plane_options(arguments, task, console))
    note_time(trained, console)
    trained = judge_on_unseen_rows(trained, progress=progress)
    console.note_all(trained.notes)
    return trained


def plane_options(arguments: argparse.Namespace, task: Task, console: Console) -> PlaneOptions:
    """Return how the default machine is trained: balanced for a rare class, unless the user gives a cost."""
    from clearmargin.recipes.trained_models import PlaneOptions
    from clearmargin.tables.figures import rare_class

    balanced, machine = arguments.balanced, getattr(arguments, "machine", None)
    if not balanced and arguments.nu is None and machine in (None, "lp-svm"):
        rare = rare_class(task.y)
        if balanced := rare is not None:
            console.note(f"{rare} is rare: all classes weigh the same in training")
    nu, source = arguments.nu, getattr(arguments, "source", None)
    # The cost of a row of all: one of the sample stands for several.
    if nu is not None and source is not None:
        nu *= source.survey().n_rows / len(task.X)
    return PlaneOptions(nu, arguments.max_features, balanced, folds=None if source is None else 5)


def note_time(trained: Trained, console: Console) -> None:
    """Say beforehand that folds, which repeat the whole training, will take long."""
    if trained.seconds_of_folds >= _LONG:
        console.note(
            f"the model was trained in {trained.seconds:.0f} s; for figures on unseen rows all of it is trained again "
            f"in folds, which takes about {trained.seconds_of_folds:.0f} s more. --cv none leaves them out"
        )


def prepare(
    arguments: argparse.Namespace, console: Console, *, sample: int | None = None
) -> Trained:
    """Read the table, or a sample of a large one, and load the model or train one."""
    from clearmargin.recipes.trained_models import load_for_task

    task, model = read_inputs(arguments, console, sample=sample)
    return train(task, arguments, console) if model is None else load_for_task(model, task)


def advice_options(arguments: argparse.Namespace) -> AdviceOptions:
    """Return how the user wants a machine to be trained with rules."""
    from clearmargin.recipes.advised import AdviceOptions

    return AdviceOptions(
        refine=arguments.refine,
        everywhere=arguments.everywhere,
        lam=arguments.lam,
        mu=arguments.mu,
        change_cost=arguments.change_cost,
    )
