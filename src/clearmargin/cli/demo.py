"""`clearmargin demo` trains a sparse support vector machine on real data and says what it has learned."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from textwrap import fill
from typing import TYPE_CHECKING, Any

from clearmargin.cli.datasets import LOADERS, load

if TYPE_CHECKING:
    from clearmargin.core import RuleSet
    from clearmargin.extract import RuleExtractor
    from clearmargin.linear import LPSVCCV

__all__ = ["add_arguments", "run"]

_BAR = 24
# A reader of the demo wants to see what rules look like, not all of them.
_SHOWN = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument(
        "data", nargs="?", default="wbc", help=f"one of {', '.join(LOADERS)} (default: wbc)"
    )
    parser.epilog = "example: clearmargin demo cleveland"


def run(arguments: argparse.Namespace) -> None:
    """Train, extract rules, explain a case; print all of it."""
    from clearmargin.extract import RuleExtractor
    from clearmargin.linear import LPSVCCV

    data = load(arguments.data)
    X, y = data.data, data.target
    title = data.DESCR.splitlines()[0].lstrip("# ")
    counts = " and ".join(f"{int((y == c).sum())} {c}" for c in data.target_names)
    print(f"Data: {title}: {len(X)} cases, {X.shape[1]} features, {counts}.")
    start = time.perf_counter()
    svm = LPSVCCV(rule="1se", max_features=6).fit(X, y)
    seconds = time.perf_counter() - start
    print(
        f"Trained 1-norm support vector machines for 20 values of nu in ten folds: {seconds:.1f} s.\n"
    )
    _print_plane(svm, data)
    _print_quality(svm, X, y)
    start = time.perf_counter()
    # Declared, the ranges of the data need not be said in every rule.
    ranges = (X.min(axis=0), X.max(axis=0))
    extractor = RuleExtractor(svm, criterion="coverage", bounds=ranges).fit(X, y)
    rules = _named(extractor, data)
    _print_rules(extractor, rules, time.perf_counter() - start)
    _print_case(extractor, rules, X)


def _print_plane(svm: LPSVCCV, data: Any) -> None:
    import numpy as np

    weights = svm.coef_[0]
    reach = np.abs(weights) * np.ptp(data.data, axis=0)
    used = sorted(np.flatnonzero(weights), key=lambda j: -reach[j])
    width = max((len(data.feature_names[j]) for j in used), default=10)
    print(f"The plane needs {len(used)} of {len(weights)} features (nu = {svm.nu_:.4g}):\n")
    print(f"  {'feature':<{width}}  {'weight':>10}  over its range")
    for j in used:
        bar = "#" * max(1, round(_BAR * reach[j] / reach.max()))
        sign = "+" if weights[j] > 0 else "-"
        print(f"  {data.feature_names[j]:<{width}}  {weights[j]:>+10.4g}  {sign} {bar}")
    print(f"  {'(constant)':<{width}}  {svm.intercept_[0]:>+10.4g}\n")
    print(f"A case is {svm.classes_[1]} when the weighted sum is above 0, else {svm.classes_[0]}.")


def _print_quality(svm: LPSVCCV, X: Any, y: Any) -> None:
    results = svm.cv_results_
    place = list(results["nu"]).index(svm.nu_)
    mean, error = results["mean_test_score"][place], results["se_test_score"][place]
    print(
        f"Right in {100 * mean:.1f} % of the cases it had not seen (+- {100 * error:.1f}, ten folds),"
    )
    print(
        f"in {100 * svm.score(X, y):.1f} % of those it was trained on. No plane with this nu has an"
    )
    print(f"objective more than {100 * svm.gap_:.1g} % lower: that is proved, not believed.\n")


def _print_rules(extractor: RuleExtractor, rules: RuleSet, seconds: float) -> None:
    from clearmargin.core import RuleSet
    from clearmargin.text import parse_rules

    print(
        f"Rules extracted from the plane in {seconds:.1f} s, each proved to lie on its side of it"
    )
    print("wherever the features are in the ranges of the data:\n")
    for label, trace in extractor.trace_.items():
        own = [rule for rule in rules if rule.label == label]
        print(
            f"  {len(own)} rules for {label}, covering {100 * trace.coverage:.1f} % of its cases:"
        )
        shown = RuleSet(own[:_SHOWN], rules.space, rules.classes).to_text().splitlines()
        print("\n".join(f"    {line}" for line in shown if "=>" in line))
        if len(own) > _SHOWN:
            print(f"    ... and {len(own) - _SHOWN} more")
    same = "the same rules" if parse_rules(rules.to_text()) == rules else "OTHER RULES"
    print(f"\nAs text they can be edited and kept in git; read back, they are {same}.\n")


def _named(extractor: RuleExtractor, data: Any) -> RuleSet:
    """The rules with the names of the data set's features instead of x0, x1, ..."""
    from clearmargin.core import FeatureSpace, RuleSet

    old = extractor.space_
    units = [data.units.get(name) for name in data.feature_names]
    space = FeatureSpace(data.feature_names, old.lower, old.upper, old.integer, units=units)
    return RuleSet(extractor.rules_.rules, space, extractor.rules_.classes)


def _print_case(extractor: RuleExtractor, rules: RuleSet, X: Any) -> None:
    explanation = replace(extractor.explain(X[0]), space=rules.space)
    print("Why the first case got its class:\n")
    print(fill(str(explanation), width=100, initial_indent="  ", subsequent_indent="  "))
