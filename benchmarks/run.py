"""Measure and write the pages: `python -m benchmarks`, parts of it with --only, or a quick form that writes nothing.

A full run takes some hours on 2 cores; the quick form takes each part a minute at most, on the tables in the package
and without peers that are not installed.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module

from benchmarks.page import FOLDER, Section, not_measured, write_page
from benchmarks.papers.inventory import inventory
from benchmarks.peers.environment import Absent, install_all, version_of
from benchmarks.timing import one_thread

# By name: the module that measures it, and the page that it is on.
PARTS = {
    "rules": ("benchmarks.rules_quality", "RESULTS.md"),
    "explanations": ("benchmarks.explanations", "RESULTS.md"),
    "honesty": ("benchmarks.honesty", "RESULTS.md"),
    "speed": ("benchmarks.speed", "RESULTS.md"),
    "fung": ("benchmarks.papers.fung", "PAPERS.md"),
    "trees": ("benchmarks.papers.svm_trees", "PAPERS.md"),
    "rankings": ("benchmarks.papers.rankings", "PAPERS.md"),
    "advice": ("benchmarks.papers.advice", "PAPERS.md"),
}
INTROS = {
    "RESULTS.md": (
        "Measured beside others",
        "Written by `python -m benchmarks` (`make bench`). Rules, cards and explanations are judged on held-out rows "
        "of public tables that had no part in tuning; `benchmarks/tables.py` has the rule by which they were chosen "
        "before anything was measured. A *peer* is another package, in an environment of its own; a *cut* is a rule of "
        "one condition with points, and a *card* (scorecard) adds such points up. ± is a standard error over tables.",
    ),
    "PAPERS.md": (
        "The papers, reproduced",
        "Written by `python -m benchmarks --only fung trees rankings advice` (`make reproduce`). Every table and "
        "figure of the four papers is listed, with the published numbers beside ours.",
    ),
}


def measured(name: str, quick: bool) -> tuple[list[Section], bool]:
    """The sections of a part, and whether it failed: an hour of others is not to be lost by one that fails."""
    try:
        measure: Callable[[bool], list[Section]] = import_module(PARTS[name][0]).sections
        return measure(quick), False
    except Exception as error:
        traceback.print_exc()
        return [not_measured(f"The part {name}", f"{type(error).__name__}: {error}")], True


def set_up() -> int:
    """Make the environments of all peers that are not there; 1 where one of them is absent."""
    absent = [answer for answer in install_all().values() if isinstance(answer, Absent)]
    for answer in absent:
        print(f"{answer.peer} {version_of(answer.peer)} is absent: {answer.reason}")
    return int(bool(absent))


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print and write; 1 where a part failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes; no page is written")
    told = f"some of: {', '.join(PARTS)}; a page is written if all its parts are measured"
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=told
    )
    parser.add_argument("--setup", action="store_true", help="make the environments of the peers")
    asked = parser.parse_args(words)
    if asked.setup:
        return set_up()
    one_thread()
    if not asked.quick and any(PARTS[name][1] == "RESULTS.md" for name in asked.only):
        set_up()
    pages: dict[str, dict[str, list[Section]]] = {}
    failed = False
    for name in asked.only:
        start = time.perf_counter()
        print(f"measuring {name} ...", flush=True)
        sections, went_wrong = measured(name, asked.quick)
        failed |= went_wrong
        pages.setdefault(PARTS[name][1], {})[name] = sections
        for section in sections:
            print(section.to_markdown(), f"\n{section.finding}\n", sep="", flush=True)
        print(f"{name} took {time.perf_counter() - start:.0f} s\n", flush=True)
    for page, found in pages.items():
        sections = [section for part in found.values() for section in part]
        if page == "PAPERS.md":
            sections.insert(0, inventory(sections))
            print(sections[0].to_markdown())
        whole = all(name in found for name, (_, own) in PARTS.items() if own == page)
        if whole and not asked.quick:
            write_page(sections, FOLDER / page, *INTROS[page])
            print(f"written: benchmarks/{page}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
