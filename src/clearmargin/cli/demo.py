"""`clearmargin demo` trains a sparse support vector machine on real data and says what it has learned."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from clearmargin.cli.command_options import OUTPUT, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, writing
from clearmargin.exceptions import FileInTheWayError, MissingDependencyError

if TYPE_CHECKING:
    from clearmargin.plane_rules import RuleExtractor
    from clearmargin.recipes.demonstration import Demonstration

__all__ = ["add_arguments", "run"]

_BAR = 24
# A reader of the demo wants to see what rules look like, not all of them.
_SHOWN = 3
_PAGE = "report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    from clearmargin.cli.datasets import NAMES

    page = f"the report, as .html (default: {_PAGE})"
    names = f"{NAMES} (default: wbc)"
    add_options(parser, "DATASET", "no_report", "cv", *OUTPUT, DATASET=names, out=page)
    parser.epilog = "example: clearmargin demo cleveland --out heart.html"


def run(arguments: argparse.Namespace) -> None:
    """Train, extract rules, explain a case; print all of it, and write the report."""
    from clearmargin.cli.inputs import folds, show_progress
    from clearmargin.recipes.demonstration import dataset_facts, demonstrate, load_dataset

    console = Console.of(arguments)
    page = None if arguments.no_report else arguments.out or _PAGE
    try:
        out = claim(page, arguments, [".html"])
    except FileInTheWayError as error:
        raise FileInTheWayError(f"{error}, or --out to write another, or --no-report") from None
    name = arguments.dataset or "wbc"
    data = load_dataset(name)
    X, y = data.data, data.target
    counts = " and ".join(f"{int((y == c).sum())} {c}" for c in data.target_names)
    title = dataset_facts(name, data)["title"]
    console.say(f"Data: {title}: {len(X)} cases, {X.shape[1]} features, {counts}.")
    start = time.perf_counter()
    demo = demonstrate(name, data, folds(arguments), progress=show_progress(console))
    seconds = time.perf_counter() - start
    looks = ", then again over the features left" if len(demo.svm.features_) < X.shape[1] else ""
    console.say(
        f"Trained 1-norm support vector machines for 20 values of nu in ten folds{looks}: {seconds:.1f} s.\n"
    )
    _print_plane(demo, console)
    _print_quality(demo, console)
    start = time.perf_counter()
    extractor = demo.extract(show_progress(console))
    _print_rules(extractor, time.perf_counter() - start, console)
    sentence = extractor.explain(X[0]).text
    console.heading("Why the first case got its class:")
    console.say("\n" + fill(sentence, width=100, initial_indent="  ", subsequent_indent="  "))
    written = None if out is None else _write_report(demo, extractor, out, arguments, console)
    data_of_demo: dict[str, Any] = {
        "data": name,
        "rules": extractor.rules_.to_dict(),
        "explanation": sentence,
        "report": written,
    }
    console.result("", data_of_demo)


def _write_report(
    demo: Demonstration,
    extractor: RuleExtractor,
    out: Path,
    arguments: argparse.Namespace,
    console: Console,
) -> str | None:
    try:
        with writing(out):
            demo.report(extractor).save(out, overwrite=arguments.force)
    except MissingDependencyError as error:
        console.note(f"no report was written: {error}")
        return None
    console.say(f"\nThe whole story, with pictures, is in {out.resolve()}: open it in a browser.")
    return str(out)


def _print_plane(demo: Demonstration, console: Console) -> None:
    import numpy as np

    svm, names = demo.svm, demo.data.feature_names
    weights = svm.coef_[0]
    reach = np.abs(weights) * np.ptp(demo.data.data, axis=0)
    used = sorted(np.flatnonzero(weights), key=lambda j: -reach[j])
    width = max((len(names[j]) for j in used), default=10)
    console.say(f"The plane needs {len(used)} of {len(weights)} features (nu = {svm.nu_:.4g}):\n")
    console.say(f"  {'feature':<{width}}  {'weight':>10}  over its range")
    for j in used:
        bar = "#" * max(1, round(_BAR * reach[j] / reach.max()))
        sign = "+" if weights[j] > 0 else "-"
        console.say(f"  {names[j]:<{width}}  {weights[j]:>+10.4g}  {sign} {bar}")
    console.say(f"  {'(constant)':<{width}}  {svm.intercept_[0]:>+10.4g}\n")
    yes, no = svm.classes_[1], svm.classes_[0]
    console.say(f"A case is {yes} when the weighted sum is above 0, else {no}.")


def _print_quality(demo: Demonstration, console: Console) -> None:
    from clearmargin.cli.inputs import show_progress
    from clearmargin.language.prose import ratio_text
    from clearmargin.recipes.unseen import unseen_text

    svm, X, y = demo.svm, demo.data.data, demo.data.target
    unseen, notes = demo.retraining.judge(show_progress(console))
    console.note_all(notes)
    which = "over these features " if len(svm.features_) < X.shape[1] else ""
    console.say(f"Right in {ratio_text(svm.score(X, y))} of the cases it was trained on.")
    if unseen is not None:
        console.say(unseen_text(unseen.facts()))
    console.say(
        f"No plane {which}with this nu has an objective more than {100 * svm.gap_:.1g} % lower: that is\n"
        "proved, not believed.\n"
    )


def _print_rules(extractor: RuleExtractor, seconds: float, console: Console) -> None:
    from clearmargin.language import parse_rules
    from clearmargin.recipes.found_rules import rule_lines

    rules = extractor.rules_
    console.say(
        f"Rules extracted from the plane in {seconds:.1f} s, each proved to lie on its side of it\n"
        "wherever the features are in the ranges of the data:\n"
    )
    lines = rule_lines(rules)
    for label, trace in extractor.trace_.items():
        shown = [line for rule, line in zip(rules, lines, strict=True) if rule.label == label]
        console.heading(
            f"  {len(shown)} rules for {label}, covering {trace.covered} of its {trace.members} cases:"
        )
        for line in shown[:_SHOWN]:
            console.say(f"    {line}")
        if len(shown) > _SHOWN:
            console.say(f"    ... and {len(shown) - _SHOWN} more")
    same = "the same rules" if parse_rules(rules.to_text()) == rules else "OTHER RULES"
    console.say(f"\nAs text they can be edited and kept in git; read back, they are {same}.\n")
