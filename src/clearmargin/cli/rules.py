"""`clearmargin rules` makes rules of a table, or extracts those of a model."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Any

from clearmargin.cli.command_options import OUTPUT, SPLIT, TASK, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, save_model_file, writing
from clearmargin.exceptions import DataError
from clearmargin.rules.file_writing import json_text, write_text_atomically

if TYPE_CHECKING:
    from clearmargin.evaluation.facts import RulesOfTable
    from clearmargin.recipes.task import Task

# Options of training, which a model that is given does not take.
_OF_TRAINING = ("as_form", "max_conditions", "balanced", "cv", "groups", "time")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    rules = ("as_form", "max_rules", "max_conditions", "overlapping", "balanced")
    model = ("model", "trust", "distil")
    files = ("report", "save_model", *OUTPUT)
    add_options(parser, *TASK, *rules, *model, *SPLIT, *files, out="the rules, as .rules or .json")
    parser.epilog = (
        "example: clearmargin rules patients.csv --target outcome --positive ill --report ill.html\n"
        "         clearmargin rules patients.csv --target outcome --as scorecard --out card.json\n"
        "         clearmargin rules patients.csv --target outcome --model my_svm.joblib --trust\n\n"
        "With --quiet the output is a file of rules: clearmargin rules ... --quiet > all.rules"
    )


def run(arguments: argparse.Namespace) -> None:
    """Make the rules, print them, and write the files that were asked for."""
    from clearmargin.evaluation.facts import rules_of_model, rules_of_table
    from clearmargin.evaluation.forms import FormOptions
    from clearmargin.report.plain_text import page_text
    from clearmargin.report.rule_page import rule_page, rule_text_sections

    console = Console.of(arguments)
    out = claim(arguments.out, arguments, [".rules", ".json"])
    model_file = claim(arguments.save_model, arguments, [".json"])
    report = claim(arguments.report, arguments, [".html", ".md"])
    options = FormOptions(
        max_rules=arguments.max_rules,
        max_conditions=arguments.max_conditions,
        max_features=arguments.distil,
        disjoint=not arguments.overlapping,
        balanced=arguments.balanced,
    )
    progress: Any = False if console.quiet else "auto"
    if arguments.model is None:
        if arguments.distil is not None or arguments.trust:
            raise DataError("--distil and --trust are for --model; leave them out")
        task = _read(arguments, console)
        source = getattr(arguments, "source", None)
        form = arguments.as_form or "rules"
        made = rules_of_table(task, form, options, source=source, progress=progress)
    else:
        task, model = _read_with_model(arguments, console)
        source = getattr(arguments, "source", None)
        made = rules_of_model(task, model, options, source=source, progress=progress)
    console.note_all(made.notes)
    console.say(page_text(rule_text_sections(made.facts), console.paint))
    text = _rules_text(made)
    if made.source is not None:
        save_model_file(made.source, model_file, arguments, console)
    elif model_file is not None:
        console.note(
            f"{model_file} is not written: every linear SVM tried on this table is constant"
        )
    if out is not None:
        written = json_text(made.facts["model"]["document"]) if out.suffix == ".json" else text
        with writing(out):
            write_text_atomically(out, written, overwrite=arguments.force)
        console.wrote(f"The rules are in {out}.")
        if out.suffix != ".json" and "lines" in made.facts["model"]:
            console.note(
                f"points decide by their sum, which the rule language has not: {out} is to be read and edited; to "
                "predict or to export, write a .json file (--out FILE.json)"
            )
    if report is not None:
        command = shlex.join(["clearmargin", *arguments.typed])
        with writing(report):
            page = rule_page(made.facts, command=command, text=text)
            page.save(report, overwrite=arguments.force)
        console.wrote(f"The report is in {report}: open it in a browser.")
    shown = text.rstrip("\n") if console.quiet and out is None else ""
    console.result(shown, made.facts)


def _rules_text(made: RulesOfTable) -> str:
    from clearmargin.recipes.found_points import points_as_rules
    from clearmargin.rules import RuleSet

    decides = made.decides
    return decides.to_text() if isinstance(decides, RuleSet) else points_as_rules(decides)


def _read(arguments: argparse.Namespace, console: Console, **more: Any) -> Task:
    """Read the table, or a sample of a large one; missing values are filled where a form needs it."""
    from clearmargin.cli.inputs import read_task
    from clearmargin.recipes.large_tables import PAGE_ROWS

    return read_task(arguments, console, sample=PAGE_ROWS, **{"missing": "either", **more})


def _read_with_model(arguments: argparse.Namespace, console: Console) -> tuple[Task, Any]:
    """Read the model and the table for it."""
    from clearmargin.models import load_model
    from clearmargin.recipes.trained_models import match_model, positive_class
    from clearmargin.recipes.weighted_rules import holds_points

    for name in _OF_TRAINING:
        if getattr(arguments, name) not in (None, False):
            flag = "--as" if name == "as_form" else f"--{name.replace('_', '-')}"
            raise DataError(f"--model is trained already; leave out {flag}")
    if not arguments.model.lower().endswith(".json"):
        return _read_with_pickle(arguments, console)
    model = load_model(arguments.model)
    if holds_points(arguments.model):
        task = _read(
            arguments,
            console,
            model=model.scorecard_,
            positive=positive_class(model),
            missing="keep",
            cv=None,
        )
    else:
        task = _read(arguments, console, model=model, positive=positive_class(model), cv=None)
    return match_model(model, task), model


def _read_with_pickle(arguments: argparse.Namespace, console: Console) -> tuple[Task, Any]:
    """Read a scikit-learn model that joblib has written, and the columns of the table that it was trained on."""
    from clearmargin.models import PlaneModel

    if not arguments.trust:
        raise DataError(
            f"{arguments.model}: to read a file that joblib has written is to run the code in it; if you trust it, add "
            "--trust"
        )
    import joblib

    try:
        fitted = joblib.load(arguments.model)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # whatever the code in the file does
        raise DataError(
            f"{arguments.model} cannot be read by joblib: {type(error).__name__}: {error}"
        ) from None
    if not hasattr(fitted, "predict"):
        raise DataError(
            f"{arguments.model} holds a {type(fitted).__name__}, not a fitted classifier"
        )
    names = getattr(fitted, "feature_names_in_", None)
    if names is None:
        raise DataError(
            f"{arguments.model}: the model does not know the names of its features; train it on a data frame"
        )
    task = _read(arguments, console, features=[str(name) for name in names], cv=None)
    rows = task.X if task.given is None else task.given
    return task, PlaneModel.from_estimator(fitted, rows, positive=task.positive)
