"""Models for commands: loaded from a file, or trained on a table; and the rules in them."""

from __future__ import annotations

import argparse
import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, writing
from clearmargin.cli.task import Task, read_task
from clearmargin.cli.unseen import Recipe, inner_folds
from clearmargin.exceptions import ClearmarginWarning, DataError

if TYPE_CHECKING:
    from clearmargin.models import PlaneModel
    from clearmargin.plane_rules import RuleExtractor

__all__ = [
    "add_extraction_arguments",
    "add_model_arguments",
    "claim_model",
    "encoder",
    "extract",
    "feature_groups",
    "options_of_training",
    "positive_number",
    "prepare",
    "read_inputs",
    "save",
    "train",
    "whole_number",
]

_OF_TRAINING = ("nu", "max_features", "balanced", "positive", "cv", "groups", "time")
CRITERIA = ("coverage", "volume", "coverage-lp", "coverage-exact")


def whole_number(text: str) -> int:
    """Read a number of things from the command line.

    Examples
    --------
    >>> whole_number("3")
    3
    """
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1")
    return number


def positive_number(text: str) -> float:
    """Read a number above zero from the command line.

    Examples
    --------
    >>> positive_number("0.5")
    0.5
    """
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not (number > 0 and math.isfinite(number)):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return number


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Take a model, or say how to train one."""
    group = parser.add_argument_group("the model")
    group.add_argument("--model", metavar="FILE", help="take this model instead of training one")
    group.add_argument(
        "--nu", type=positive_number, help="cost of errors (default: by cross-validation)"
    )
    group.add_argument(
        "--max-features",
        type=whole_number,
        metavar="N",
        help="maximum number of features of the plane (default: 8); a category counts as one",
    )
    group.add_argument(
        "--balanced", action="store_true", help="let all classes weigh the same in training"
    )
    group.add_argument(
        "--save-model", metavar="FILE", help="write the model, with its rules, to a .json file"
    )


def add_extraction_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which rules to extract."""
    group = parser.add_argument_group("the rules")
    group.add_argument(
        "--criterion",
        choices=CRITERIA,
        help="what makes a rule good (default: volume); coverage takes longer and gives fewer rules",
    )
    group.add_argument(
        "--max-rules", type=whole_number, metavar="N", help="maximum number of rules per class"
    )
    group.add_argument(
        "--max-conditions",
        type=whole_number,
        metavar="N",
        help="maximum number of features in a rule",
    )
    group.add_argument(
        "--min-coverage",
        type=whole_number,
        metavar="N",
        help="minimum number of rows under a rule (default: 2; one in a thousand if the table is too large to be held)",
    )
    group.add_argument(
        "--assume-ranges",
        action="store_true",
        help="take the ranges seen in the data for granted: shorter rules, proved within these ranges",
    )


def prepare(
    arguments: argparse.Namespace, console: Console
) -> tuple[Task, PlaneModel, Recipe | None]:
    """Read the table, and load the model or train one; then also how it is trained again on part of the rows."""
    task, model = read_inputs(arguments, console)
    return (task, model, None) if model is not None else (task, *train(task, arguments, console))


def options_of_training(arguments: argparse.Namespace) -> list[str]:
    """Options that were given and say how a model is trained and judged, which one that is given already was."""
    given = {name: getattr(arguments, name) for name in _OF_TRAINING}
    return [name for name, value in given.items() if value is not None and value is not False]


def read_inputs(arguments: argparse.Namespace, console: Console) -> tuple[Task, PlaneModel | None]:
    """Read the table, and the model if there is one."""
    if arguments.model is not None:
        for option in options_of_training(arguments):
            raise DataError(f"--model is trained already; leave out --{option.replace('_', '-')}")
        from clearmargin.models import load_model

        model = load_model(arguments.model)
        classes = [str(label) for label in model.classes_]
        if len(classes) == 2 and classes[0] == f"not {classes[1]}":
            arguments.positive = classes[1]
        return _task_for(model, read_task(arguments, console, model)), model
    return read_task(arguments, console), None


def _task_for(model: PlaneModel, task: Task) -> Task:
    """Insist that the model knows all classes of the table."""
    classes = model.classes_.tolist()
    for label in task.counts:
        if label not in classes:
            known = ", ".join(map(repr, classes))
            raise DataError(f"{task.target!r} has the class {label!r}; the model knows {known}")
    return replace(task, positive=classes[1] if len(classes) == 2 else None)


def encoder(task: Task, *, scale: bool) -> Any:
    """Make the step that turns a table into numbers: categories as 0/1 columns, numbers scaled or as they are."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers, others = _numbers(task), _categories(task)
    # A category that only other rows of the table have gets a column of zeros, and so no weight.
    categories = OneHotEncoder(categories=list(others.values()), sparse_output=False)
    return ColumnTransformer(
        [
            ("numbers", StandardScaler() if scale else "passthrough", numbers),
            ("categories", categories, list(others)),
        ],
        verbose_feature_names_out=False,
    )


def _numbers(task: Task) -> list[Any]:
    return [name for name in task.X.columns if task.X[name].dtype.kind in "iuf"]


def _categories(task: Task) -> dict[Any, list[Any]]:
    """The categories of each feature that is no number, in the order of their 0/1 columns."""
    import numpy as np

    numbers = set(_numbers(task))
    others = [name for name in task.X.columns if name not in numbers]
    if task.levels is not None:
        return {name: list(task.levels[name]) for name in others}
    return {name: np.unique(task.X[name].to_numpy(dtype=object)).tolist() for name in others}


def feature_groups(task: Task) -> list[str]:
    """Name the feature of each column that `encoder` gives.

    Parameters
    ----------
    task : Task
        The table.

    Returns
    -------
    list of str
        A number has one column, a category one for each of its values.
    """
    groups = [str(name) for name in _numbers(task)]
    for name, values in _categories(task).items():
        groups += [str(name)] * len(values)
    return groups


def train(task: Task, arguments: argparse.Namespace, console: Console) -> tuple[PlaneModel, Recipe]:
    """Train a sparse plane, and judge it on rows that it was not trained on; also give how it is trained again."""
    pipeline = _fit(task, arguments, quiet=console.quiet)
    _refuse_constant(pipeline, task, arguments)
    _note_doubts(pipeline, arguments, console)
    recipe = Recipe.of_task(task, lambda part: _model(part, _fit(part, arguments, quiet=True)))
    unseen = recipe.unseen(console, progress=False if console.quiet else "auto")
    return _model(task, pipeline, {} if unseen is None else unseen.facts()), recipe


def _fit(task: Task, arguments: argparse.Namespace, *, quiet: bool) -> Any:
    """Train a pipeline, with its cost chosen by cross-validation where the user does not choose it."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline

    svm = _machine(task, arguments, quiet=quiet)
    last = OneVsRestClassifier(svm) if len(task.counts) > 2 else svm
    pipeline = make_pipeline(encoder(task, scale=not hasattr(svm, "scale")), last)
    with warnings.catch_warnings():
        # What is known is said by `_note_doubts`, in the words of the command line.
        warnings.filterwarnings("ignore", "no plane", ClearmarginWarning)
        return pipeline.fit(task.X, task.y)


def _model(task: Task, pipeline: Any, more: dict[str, Any] | None = None) -> PlaneModel:
    from clearmargin.models import PlaneModel

    svm = getattr(pipeline[-1], "estimator", pipeline[-1])
    facts: dict[str, Any] = {
        "trained_by": type(svm).__name__,
        "target": task.target,
        "rows": len(task.X),
        **_chosen(pipeline[-1]),
        **(more or {}),
    }
    return PlaneModel.from_estimator(
        pipeline, task.X, positive=task.positive, fill=task.fill, facts=facts
    )


def _machine(task: Task, arguments: argparse.Namespace, *, quiet: bool) -> Any:
    """Make the machine, not yet trained: that of `RuleExtractor` unless the user gives a cost."""
    from clearmargin.lp_svm import LPSVC
    from clearmargin.lp_svm.lpsvccv import FOLDS, default_machine

    weight = "balanced" if arguments.balanced else None
    # Every fold needs a member of every class.
    folds = min(FOLDS, *task.counts.values())
    if arguments.nu is not None or folds < 2:
        if arguments.max_features is not None and arguments.nu is not None:
            raise DataError("--max-features is a choice among values of nu; leave out --nu")
        if arguments.max_features is not None:
            rare = next(label for label, count in task.counts.items() if count < 2)
            raise DataError(
                f"--max-features chooses features by cross-validation, which needs two rows of each class; {rare!r} "
                "has one. Leave it out, or add rows"
            )
        return LPSVC(arguments.nu or 1.0, class_weight=weight)
    return default_machine(
        folds,
        max_features=arguments.max_features,
        cv=inner_folds(task, folds),
        feature_groups=feature_groups(task),
        class_weight=weight,
        # Accuracy would choose planes that neglect the class that the weights are for.
        scoring="balanced_accuracy" if arguments.balanced else None,
        progress=False if quiet else "auto",
    )


def _refuse_constant(pipeline: Any, task: Task, arguments: argparse.Namespace) -> None:
    """Raise if the plane predicts the same class everywhere, in words that fit what the user chose."""
    parts = getattr(pipeline[-1], "estimators_", [pipeline[-1]])
    if any(part.coef_.any() for part in parts):
        return
    if arguments.nu is not None:
        raise DataError(
            f"with --nu {arguments.nu:g} the plane is constant, it predicts the same class of {task.target!r} for all "
            "rows; try a larger --nu, or leave it out, so that cross-validation chooses it"
        )
    advice = "" if arguments.balanced else "; if one class is rare, try --balanced"
    better = [d for d in (getattr(part, "doubt_", None) for part in parts) if d and d.more_features]
    if better:
        most = max(doubt.more_features for doubt in better)
        raise DataError(
            f"all planes with at most {better[0].cap:.0f} features are constant, they predict the same class of "
            f"{task.target!r} for all rows; with more features there are better ones: try --max-features {most}{advice}"
        )
    raise DataError(
        f"all planes that were tried are constant: no linear combination of the features tells the classes of "
        f"{task.target!r} apart better than predicting the same class for all rows{advice}"
    )


def _note_doubts(pipeline: Any, arguments: argparse.Namespace, console: Console) -> None:
    """Say where no plane beats a constant one."""
    last = pipeline[-1]
    parts = getattr(last, "estimators_", [last])
    for k, part in enumerate(parts):
        doubt = getattr(part, "doubt_", None)
        if doubt is None:
            continue
        about = f"class {last.classes_[k]!s}: " if len(parts) > 1 else ""
        advice = "" if arguments.balanced else " If one class is rare, try --balanced."
        more = f"--max-features {doubt.more_features} or more"
        console.note(f"{about}{doubt.finding()}. {doubt.cause(more=more)}{advice}")


def _chosen(svm: Any) -> dict[str, Any]:
    """The cost that was chosen for a plane of two classes. The score it was chosen by is no figure for other rows."""
    return {"nu": float(svm.nu_)} if hasattr(svm, "cv_results_") else {}


def extract(task: Task, model: PlaneModel, arguments: argparse.Namespace) -> RuleExtractor:
    """Extract the rules of a model from a table."""
    from clearmargin.plane_rules import RuleExtractor

    bounds: Any = "data"
    if arguments.assume_ranges:
        bounds = {
            name: (float(task.X[name].min()), float(task.X[name].max()))
            for name, kinds in zip(model.space.names, model.space.categories, strict=True)
            if kinds is None
        }
    # What the user does not choose is as in Python.
    chosen = {
        name: getattr(arguments, name)
        for name in ("criterion", "max_rules", "max_conditions", "min_coverage")
        if getattr(arguments, name) is not None
    }
    progress: Any = False if arguments.quiet else "auto"
    return RuleExtractor(model, bounds=bounds, progress=progress, **chosen).fit(task.X, task.y)


def claim_model(arguments: argparse.Namespace) -> Path | None:
    """The file for the model, if it is to be saved."""
    return claim(arguments.save_model, arguments, [".json"])


def save(model: Any, path: Path | None, arguments: argparse.Namespace, console: Console) -> None:
    """Write a model, and say so."""
    if path is None:
        return
    from clearmargin.models import save_model

    with writing(path):
        save_model(model, path, overwrite=arguments.force)
    console.wrote(f"The model is in {path}.")
