"""Rules over two features, drawn as rectangles on the two sides of the plane.

python examples/regions_in_two_features.py                prints
python examples/regions_in_two_features.py regions.png    also draws
"""

# ruff: noqa: T201 - it prints what it finds

from __future__ import annotations

import sys

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_pima
from clearmargin.plot import plot_regions


def main(path: str | None = None) -> None:
    """Train on two features, extract, and draw rules, plane and cases."""
    women, test = load_pima(return_X_y=True)
    known = (women.glucose > 0) & (women.bmi > 0)  # a zero stands for a value that is missing
    X, y = women.loc[known, ["glucose", "bmi"]], test[known]
    # The machine sees scaled values; the rules come out in mg/dl and kg/m².
    svm = make_pipeline(StandardScaler(), LPSVC(nu=0.1)).fit(X, y)
    extractor = RuleExtractor(svm, criterion="coverage", max_rules=4).fit(X, y)

    share = " and ".join(f"{part:.0%} of {name}" for name, part in extractor.coverage_.items())
    print(f"{len(extractor.rules_)} rules cover {share}, of those that the machine gets right")
    same = (extractor.predict(X) == svm.predict(X)).all()
    print(f"rules and machine agree on all {len(X)} women: {same}")
    if path is not None:
        plot_regions(extractor, X, y).figure_.savefig(path, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:2])
