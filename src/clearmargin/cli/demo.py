"""`clearmargin demo` trains a sparse support vector machine on real data and prints it as text."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from clearmargin.cli.datasets import LOADERS, load

if TYPE_CHECKING:
    from clearmargin.core import RuleSet
    from clearmargin.linear import LPSVCCV

__all__ = ["add_arguments", "run"]

_BAR = 24


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument(
        "data", nargs="?", default="wbc", help=f"one of {', '.join(LOADERS)} (default: wbc)"
    )
    parser.epilog = "example: clearmargin demo cleveland"


def run(arguments: argparse.Namespace) -> None:
    """Train, and print what was learned."""
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
    _print_rules(_as_rules(svm, data), svm, X)


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


def _as_rules(svm: LPSVCCV, data: Any) -> RuleSet:
    """The two sides of the plane as rules: exact, and readable by people and programs."""
    from clearmargin.core import FeatureSpace, Polyhedron, Rule, RuleSet

    negative, positive = svm.classes_.tolist()
    w, b = svm.coef_, svm.intercept_
    rules = [
        Rule(Polyhedron(-w, b, strict=True), positive, origin="extracted", proof="proved"),
        Rule(Polyhedron(w, -b), negative, origin="extracted", proof="proved"),
    ]
    return RuleSet(rules, FeatureSpace(data.feature_names), [negative, positive])


def _print_rules(rules: RuleSet, svm: LPSVCCV, X: Any) -> None:
    from clearmargin.text import format_rules, parse_rules

    text = format_rules(rules)
    again = parse_rules(text)
    same = int((again.predict(X) == svm.predict(X)).sum())
    print(
        "The same as rules, exact to the last digit; edit them, keep them in git, read them back:\n"
    )
    print("\n".join(f"  {line}" for line in text.splitlines() if "=>" in line))
    print(f"\nRead back, they decide {same} of {len(X)} cases as the machine does.")
