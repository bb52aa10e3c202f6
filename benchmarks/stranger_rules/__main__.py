"""Measure on strangers' tables and write STRANGERS.md: `python -m benchmarks.stranger_rules`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.speed.timing import one_thread
from benchmarks.stranger_rules.learners import PEERS
from benchmarks.stranger_rules.records import Records, with_earlier
from benchmarks.stranger_rules.run import FULL, PARTS, QUICK, SIDES, measure
from benchmarks.stranger_rules.section import RESULTS, page_sections, write_results


def main(words: Sequence[str] | None = None) -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.stranger_rules", description=__doc__
    )
    parser.add_argument("--quick", action="store_true", help="the sample that make bench takes")
    parser.add_argument(
        "--tuning",
        action="store_true",
        help="try it on the tables for tuning; no page is written",
    )
    parser.add_argument("--folds", type=int, help="folds of each table for learners")
    parser.add_argument("--first-fold", type=int, help="begin with this one, counted from 0")
    parser.add_argument("--every", type=int, help="each so-manieth table of the list")
    parser.add_argument("--parts", nargs="+", choices=PARTS, help="measure some of it")
    parser.add_argument("--side", choices=SIDES, help="ours or peers only")
    parser.add_argument("--peers", nargs="+", choices=tuple(PEERS), help="some of the peers")
    parser.add_argument(
        "--save", type=Path, help="keep the records in this file, and write no page"
    )
    parser.add_argument("--add", type=Path, nargs="+", default=[], help="records kept before")
    parser.add_argument(
        "--page", action="store_true", help="write the page from what was measured last"
    )
    asked = parser.parse_args(words)
    if asked.page:
        write_results(Records.load(RESULTS))
        return
    one_thread()
    plan = replace(QUICK if asked.quick else FULL, tuning=asked.tuning)
    given = {name: getattr(asked, name) for name in ("folds", "first_fold", "every", "parts")}
    plan = replace(plan, **{name: value for name, value in given.items() if value is not None})
    if asked.side is not None:
        plan = replace(plan, sides=[asked.side])
    if asked.peers is not None:
        plan = replace(plan, peer_folds={name: plan.peer_folds[name] for name in asked.peers})
    added = [record for path in asked.add for record in Records.load(path)]
    records = with_earlier(measure(plan), added)
    if asked.save is not None:
        records.save(asked.save)
        return
    for section in page_sections(records):
        print(section.to_markdown(), flush=True)
    if not (asked.tuning or asked.quick):
        write_results(records)


if __name__ == "__main__":
    main()
