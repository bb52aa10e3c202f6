"""Recompute the published numbers: everything, or the page about the papers from what is there."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from benchmarks.reproduce import (
    advice_forms,
    advice_no_worse,
    advice_pima,
    certify_table,
    chunks,
    extractors,
    papers,
    svm_trees,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the pages of the long tables unless told otherwise, and PAPERS.md, which sums them up."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproduce", description=__doc__)
    parser.add_argument(
        "part",
        nargs="?",
        choices=["all", "papers"],
        default="all",
        help="all (an hour on 2 cores), or papers: PAPERS.md alone, with the long pages as they are",
    )
    if parser.parse_args(arguments).part == "all":
        # These take minutes each, and write pages of their own.
        for script in (
            certify_table,
            svm_trees,
            extractors,
            advice_pima,
            advice_no_worse,
            advice_forms,
            chunks,
        ):
            script.main([])
    papers.main()


if __name__ == "__main__":
    main()
