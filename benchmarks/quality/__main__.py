"""Measure the quality of rules and write QUALITY.md."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from benchmarks.page import write_page
from benchmarks.quality.data import SETS
from benchmarks.quality.plan import plan_for
from benchmarks.quality.section import sections_of

PAGE = Path(__file__).resolve().parents[1] / "QUALITY.md"
INTRO = "Written by `python -m benchmarks.quality`, {} run."


def main() -> None:
    """Read the options, measure, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--full", action="store_true", help="all sets, two repetitions")
    parser.add_argument("--data", nargs="+", choices=tuple(SETS), help="these sets only")
    given = parser.parse_args()
    start = time.perf_counter()
    found = sections_of(plan_for(given.data, full=given.full))
    which = "the full" if given.full else "the quick"
    write_page(found, PAGE, "Rules beside those of peers", INTRO.format(which))
    print(f"written: {PAGE.name} in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
