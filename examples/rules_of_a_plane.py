"""What a sparse plane knows about biopsies, as a table of intervals.

python examples/rules_of_a_plane.py              prints
python examples/rules_of_a_plane.py rules.png    also draws
"""

# ruff: noqa: T201 - it prints what it finds

from __future__ import annotations

import sys

from clearmargin import LPSVCCV, RuleExtractor
from clearmargin.datasets import load_wbc
from clearmargin.plot import plot_rules


def main(path: str | None = None) -> None:
    """Train, extract, and draw a row for each rule."""
    X, y = load_wbc(return_X_y=True)
    svm = LPSVCCV(rule="1se", max_features=5).fit(X, y)  # keeps five of the nine features
    # Scores are from 1 to 10 by definition, so that rules need not say it.
    extractor = RuleExtractor(svm, criterion="coverage", max_rules=5, bounds=(1, 10)).fit(X, y)
    rules = extractor.rules_

    proved = sum(rule.proof == "proved" for rule in rules)
    covered = rules.covers(X).any(axis=1).mean()
    print(f"{len(rules)} rules, {proved} of them proved, cover {covered:.1%} of {len(X)} biopsies")
    print(next(line for line in rules.describe().splitlines() if "then malignant" in line))
    if path is not None:
        plot_rules(extractor).figure_.savefig(path, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:2])
