"""How many rules come out of a large table, and what they cover: ``python -m benchmarks.one_page``.

20,000 rows of 20 columns, 5 of them informative, 5 % of the labels random. With ``--all`` every rule is kept, with the
minimum coverage that was the default before rules were kept to a page: 2 rows of a plane, 1 of other models.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from clearmargin import RuleExtractor, SupportVectorRules, SVMTreeClassifier
from clearmargin.exceptions import ClearmarginWarning

__all__ = ["main"]

EXTRACTORS: dict[str, Any] = {
    "`RuleExtractor()`": RuleExtractor(progress=False),
    '`RuleExtractor(criterion="coverage")`': RuleExtractor(criterion="coverage", progress=False),
    "`SupportVectorRules()`": SupportVectorRules(),
    "`SVMTreeClassifier()`": SVMTreeClassifier(),
}


def main(arguments: list[str] | None = None) -> None:
    """Print a line for each extractor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--all", action="store_true", help="keep every rule")
    chosen = parser.parse_args(arguments)
    X, y = make_classification(
        chosen.rows, 20, n_informative=5, n_redundant=0, flip_y=0.05, random_state=0
    )
    print("| extractor | rules | rows covered | processor time |\n|---|---|---|---|")
    for name, extractor in EXTRACTORS.items():
        if chosen.all:
            least = 2 if isinstance(extractor, RuleExtractor) else 1
            extractor.set_params(min_coverage=least, max_rules=None)
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClearmarginWarning)
            extractor.fit(X, y)
        covered = np.mean(extractor.which(X) >= 0)
        spent = time.process_time() - start
        print(
            f"| {name} | {len(extractor.rules_):,} | {100 * covered:.1f} % | {spent:.0f} s |",
            flush=True,
        )


if __name__ == "__main__":
    main()
