"""Models for commands: loaded from a file, or trained on a table; and the rules in them."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, writing
from clearmargin.cli.task import Task, read_task
from clearmargin.cli.unseen import Recipe, inner_folds
from clearmargin.exceptions import DataError

if TYPE_CHECKING:
    from clearmargin.extract import RuleExtractor
    from clearmargin.store import PlaneModel

__all__ = [
    "add_extraction_arguments",
    "add_model_arguments",
    "claim_model",
    "encoder",
    "extract",
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
_FOLDS = 10
# People can hold about so many conditions of a rule in their heads.
_MOST_FEATURES = 6


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
        help=f"most features of the plane (default: {_MOST_FEATURES}); rules need few",
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
        default="coverage",
        help="what makes a rule good (default: coverage)",
    )
    group.add_argument("--max-rules", type=whole_number, metavar="N", help="most rules a class")
    group.add_argument(
        "--max-conditions", type=whole_number, metavar="N", help="most features in a rule"
    )
    group.add_argument(
        "--min-coverage",
        type=whole_number,
        metavar="N",
        help="fewest rows of the table under a rule (default: one in a thousand, at least 2)",
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
        from clearmargin.store import load_model

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

    numbers = [name for name in task.X.columns if task.X[name].dtype.kind in "iuf"]
    others = [name for name in task.X.columns if name not in numbers]
    # A category that only other rows of the table have gets a column of zeros, and so no weight.
    levels: Any = "auto" if task.levels is None else [task.levels[name] for name in others]
    return ColumnTransformer(
        [
            ("numbers", StandardScaler() if scale else "passthrough", numbers),
            ("categories", OneHotEncoder(categories=levels, sparse_output=False), others),
        ],
        verbose_feature_names_out=False,
    )


def train(task: Task, arguments: argparse.Namespace, console: Console) -> tuple[PlaneModel, Recipe]:
    """Train a sparse plane, and judge it on rows that it was not trained on; also give how it is trained again."""
    pipeline = _fit(task, arguments, quiet=console.quiet)
    if _is_constant(pipeline):
        raise DataError(
            f"no plane tells the classes of {task.target!r} apart better than always saying the same; the other "
            "columns may have nothing to do with it. Other things to try: --balanced, a larger --nu"
        )
    recipe = Recipe.of_task(task, lambda part: _model(part, _fit(part, arguments, quiet=True)))
    unseen = recipe.unseen(console, progress=False if console.quiet else "auto")
    return _model(task, pipeline, {} if unseen is None else unseen.facts()), recipe


def _fit(task: Task, arguments: argparse.Namespace, *, quiet: bool) -> Any:
    """Train a pipeline, with its cost chosen by cross-validation where the user does not choose it."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline

    svm = _machine(task, arguments, quiet=quiet)
    last = OneVsRestClassifier(svm) if len(task.counts) > 2 else svm
    pipeline = make_pipeline(encoder(task, scale=True), last).fit(task.X, task.y)
    if arguments.max_features is None and _is_constant(pipeline):
        # Planes with few features are no better than none here; then with more.
        caps = {name: None for name in pipeline.get_params() if name.endswith("max_features")}
        pipeline.set_params(**caps).fit(task.X, task.y)
    return pipeline


def _model(task: Task, pipeline: Any, more: dict[str, Any] | None = None) -> PlaneModel:
    from clearmargin.store import PlaneModel

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
    from clearmargin.linear import LPSVC, LPSVCCV

    weight = "balanced" if arguments.balanced else None
    # Every fold needs a member of every class.
    folds = min(_FOLDS, *task.counts.values())
    if arguments.nu is not None or folds < 2:
        if arguments.max_features is not None:
            raise DataError("--max-features is a choice among values of nu; leave out --nu")
        return LPSVC(arguments.nu or 1.0, class_weight=weight)
    return LPSVCCV(
        cv=inner_folds(task, folds),
        rule="1se",
        max_features=arguments.max_features or _MOST_FEATURES,
        class_weight=weight,
        progress=False if quiet else "auto",
    )


def _is_constant(pipeline: Any) -> bool:
    parts = getattr(pipeline[-1], "estimators_", [pipeline[-1]])
    return not any(part.coef_.any() for part in parts)


def _chosen(svm: Any) -> dict[str, Any]:
    """The cost that was chosen for a plane of two classes. The score it was chosen by is no figure for other rows."""
    return {"nu": float(svm.nu_)} if hasattr(svm, "cv_results_") else {}


def extract(task: Task, model: PlaneModel, arguments: argparse.Namespace) -> RuleExtractor:
    """Extract the rules of a model from a table."""
    from clearmargin.extract import RuleExtractor

    bounds: Any = "data"
    if arguments.assume_ranges:
        bounds = {
            name: (float(task.X[name].min()), float(task.X[name].max()))
            for name, kinds in zip(model.space.names, model.space.categories, strict=True)
            if kinds is None
        }
    return RuleExtractor(
        model,
        criterion=arguments.criterion,
        max_rules=arguments.max_rules,
        max_conditions=arguments.max_conditions,
        min_coverage=arguments.min_coverage or max(2, len(task.X) // 1000),
        bounds=bounds,
        progress=False if arguments.quiet else "auto",
    ).fit(task.X, task.y)


def claim_model(arguments: argparse.Namespace) -> Path | None:
    """The file for the model, if it is to be saved."""
    return claim(arguments.save_model, arguments, [".json"])


def save(model: Any, path: Path | None, arguments: argparse.Namespace, console: Console) -> None:
    """Write a model, and say so."""
    if path is None:
        return
    from clearmargin.store import save_model

    with writing(path):
        save_model(model, path, overwrite=arguments.force)
    console.wrote(f"The model is in {path}.")
