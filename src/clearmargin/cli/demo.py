"""`clearmargin demo` trains a sparse support vector machine on real data and says what it has learned."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from clearmargin.cli.console import Console
from clearmargin.cli.datasets import LOADERS, load
from clearmargin.cli.outputs import add_force, claim, writing
from clearmargin.cli.unseen import Recipe, Unseen, add_split_arguments, number_of_folds, unseen_text
from clearmargin.exceptions import FileInTheWayError, MissingDependencyError

if TYPE_CHECKING:
    from clearmargin.lp_svm import LPSVCCV
    from clearmargin.models import PlaneModel
    from clearmargin.plane_rules import RuleExtractor
    from clearmargin.progress import Progress
    from clearmargin.rules.value import IntArray

__all__ = ["add_arguments", "run"]

_BAR = 24
_MOST_FEATURES = 5
# A reader of the demo wants to see what rules look like, not all of them.
_SHOWN = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument(
        "data", nargs="?", default="wbc", help=f"one of {', '.join(LOADERS)} (default: wbc)"
    )
    parser.add_argument(
        "--out",
        default="report.html",
        metavar="FILE",
        help="where to write the report (default: report.html)",
    )
    parser.add_argument("--no-report", action="store_true", help="write no report")
    add_split_arguments(parser, columns=False)
    add_force(parser)
    parser.epilog = "example: clearmargin demo cleveland --out heart.html"


def run(arguments: argparse.Namespace) -> None:
    """Train, extract rules, explain a case; print all of it, and write the report."""
    from clearmargin.lp_svm import LPSVCCV

    console = Console.of(arguments)
    try:
        out = claim(None if arguments.no_report else arguments.out, arguments, [".html"])
    except FileInTheWayError as error:
        raise FileInTheWayError(f"{error}, or --out to write another, or --no-report") from None
    data = load(arguments.data)
    X, y = data.data, data.target
    title = data.DESCR.splitlines()[0].lstrip("# ")
    counts = " and ".join(f"{int((y == c).sum())} {c}" for c in data.target_names)
    console.say(f"Data: {title}: {len(X)} cases, {X.shape[1]} features, {counts}.")
    start = time.perf_counter()
    progress: Progress = False if console.quiet else "auto"
    svm = LPSVCCV(rule="1se", max_features=_MOST_FEATURES, progress=progress).fit(X, y)
    seconds = time.perf_counter() - start
    looks = ", then again over the features left" if len(svm.features_) < X.shape[1] else ""
    console.say(
        f"Trained 1-norm support vector machines for 20 values of nu in ten folds{looks}: {seconds:.1f} s.\n"
    )
    _print_plane(svm, data, console)
    recipe = _recipe(data, number_of_folds(arguments))
    _print_quality(svm, X, y, recipe.unseen(console, progress), console)
    start = time.perf_counter()
    extractor = _extract(_named(svm, data), data, X, y, progress)
    _print_rules(extractor, time.perf_counter() - start, console)
    sentence = extractor.explain(X[0]).text
    console.heading("Why the first case got its class:")
    console.say("\n" + fill(sentence, width=100, initial_indent="  ", subsequent_indent="  "))
    written = (
        None if out is None else _write_report(extractor, data, recipe, out, arguments, console)
    )
    console.result(
        "",
        {
            "data": arguments.data,
            "rules": extractor.rules_.to_dict(),
            "explanation": sentence,
            "report": written,
        },
    )


def _extract(model: PlaneModel, data: Any, X: Any, y: Any, progress: Progress) -> RuleExtractor:
    """Extract rules with the names and units of the data set, whose table is an array without names."""
    from clearmargin.plane_rules import RuleExtractor
    from clearmargin.rules import FeatureSpace

    units = [data.units.get(name) for name in data.feature_names]
    # Declared, the ranges of the data need not be said in every rule.
    ranges = FeatureSpace(data.feature_names, X.min(axis=0), X.max(axis=0), units=units)
    return RuleExtractor(model, criterion="coverage", bounds=ranges, progress=progress).fit(X, y)


def _named(svm: LPSVCCV, data: Any) -> PlaneModel:
    from clearmargin.models import PlaneModel
    from clearmargin.rules import FeatureSpace, RuleSet

    space = FeatureSpace(data.feature_names)
    return PlaneModel(RuleSet([], space, svm.classes_.tolist()), svm.coef_, svm.intercept_)


def _write_report(
    extractor: RuleExtractor,
    data: Any,
    recipe: Recipe,
    out: Path,
    arguments: argparse.Namespace,
    console: Console,
) -> str | None:
    from clearmargin.report import report

    X, y = data.data, data.target
    refit = recipe.refit(lambda rows, model: _extract(model, data, X[rows], y[rows], False))
    try:
        with writing(out):
            made = report(extractor, X, y, cv=number_of_folds(arguments) or None, refit=refit)
            made.save(out, overwrite=arguments.force)
    except MissingDependencyError as error:
        console.note(f"no report was written: {error}")
        return None
    console.say(f"\nThe whole story, with pictures, is in {out.resolve()}: open it in a browser.")
    return str(out)


def _print_plane(svm: LPSVCCV, data: Any, console: Console) -> None:
    import numpy as np

    weights = svm.coef_[0]
    reach = np.abs(weights) * np.ptp(data.data, axis=0)
    used = sorted(np.flatnonzero(weights), key=lambda j: -reach[j])
    width = max((len(data.feature_names[j]) for j in used), default=10)
    console.say(f"The plane needs {len(used)} of {len(weights)} features (nu = {svm.nu_:.4g}):\n")
    console.say(f"  {'feature':<{width}}  {'weight':>10}  over its range")
    for j in used:
        bar = "#" * max(1, round(_BAR * reach[j] / reach.max()))
        sign = "+" if weights[j] > 0 else "-"
        console.say(f"  {data.feature_names[j]:<{width}}  {weights[j]:>+10.4g}  {sign} {bar}")
    console.say(f"  {'(constant)':<{width}}  {svm.intercept_[0]:>+10.4g}\n")
    yes, no = svm.classes_[1], svm.classes_[0]
    console.say(f"A case is {yes} when the weighted sum is above 0, else {no}.")


def _recipe(data: Any, folds: int) -> Recipe:
    """How the plane is trained again on part of the cases: nu and features are chosen anew."""
    from clearmargin.lp_svm import LPSVCCV
    from clearmargin.tables.splitting import Splitting

    X, y = data.data, data.target

    def train(rows: IntArray) -> PlaneModel:
        svm = LPSVCCV(rule="1se", max_features=_MOST_FEATURES, progress=False).fit(X[rows], y[rows])
        return _named(svm, data)

    splitting = Splitting(folds) if folds else None
    return Recipe(X, y, splitting, train, lambda rows, _: X[rows])


def _print_quality(svm: LPSVCCV, X: Any, y: Any, unseen: Unseen | None, console: Console) -> None:
    which = "over these features " if len(svm.features_) < X.shape[1] else ""
    console.say(f"Right in {100 * svm.score(X, y):.1f} % of the cases it was trained on.")
    if unseen is not None:
        console.say(unseen_text(unseen.facts()))
    console.say(
        f"No plane {which}with this nu has an objective more than {100 * svm.gap_:.1g} % lower: that is\n"
        "proved, not believed.\n"
    )


def _print_rules(extractor: RuleExtractor, seconds: float, console: Console) -> None:
    from clearmargin.cli.listing import rule_lines
    from clearmargin.language import parse_rules

    rules = extractor.rules_
    console.say(
        f"Rules extracted from the plane in {seconds:.1f} s, each proved to lie on its side of it\n"
        "wherever the features are in the ranges of the data:\n"
    )
    lines = rule_lines(rules)
    for label, trace in extractor.trace_.items():
        own = [line for rule, line in zip(rules, lines, strict=True) if rule.label == label]
        console.heading(
            f"  {len(own)} rules for {label}, covering {trace.covered} of its {trace.members} cases:"
        )
        for line in own[:_SHOWN]:
            console.say(f"    {line}")
        if len(own) > _SHOWN:
            console.say(f"    ... and {len(own) - _SHOWN} more")
    same = "the same rules" if parse_rules(rules.to_text()) == rules else "OTHER RULES"
    console.say(f"\nAs text they can be edited and kept in git; read back, they are {same}.\n")
