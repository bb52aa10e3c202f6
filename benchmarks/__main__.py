"""Measure everything, write the page and say what became worse: `python -m benchmarks`, or `make bench`."""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import textwrap
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path

from benchmarks import baseline
from benchmarks.page import Ratio, Section, Table, link, processor, write_page
from benchmarks.quote import CHOICE, quote, quoted_block, quoted_choice
from benchmarks.speed.timing import one_thread

FOLDER = Path(__file__).resolve().parent
README = FOLDER.parent / "README.md"
DOCUMENTATION = FOLDER.parent / "docs" / "explanation" / "measured.md"
PAGE = "RESULTS.md"
# A full run is also kept here, where the next quick run leaves it.
FULL_PAGE = "RESULTS_FULL.md"
# What a section is measured by: full or quick, one section or some.
Measure = Callable[[bool], list[Section]]


def lazy(module: str, function: str = "section") -> Measure:
    """A measurement that is imported when it runs: a package that is not installed costs its own section only."""

    def run(full: bool) -> list[Section]:
        measure = getattr(import_module(module), function)
        found = measure(full) if inspect.signature(measure).parameters else measure()
        return [found] if isinstance(found, Section) else list(found)

    return run


# What to choose first, then what is proved, then speed.
SECTIONS: tuple[tuple[str, Measure], ...] = (
    ("quality", lazy("benchmarks.quality.section", "sections")),
    ("strangers", lazy("benchmarks.stranger_rules.section", "sections")),
    ("certificates", lazy("benchmarks.certificates")),
    ("lpsvm", lazy("benchmarks.speed.lpsvm")),
    ("partitions", lazy("benchmarks.speed.partitions")),
    ("extraction", lazy("benchmarks.speed.extraction", "fit_section")),
    ("coverage", lazy("benchmarks.speed.extraction", "coverage_section")),
    ("coverage-tables", lazy("benchmarks.speed.extraction", "small_tables_section")),
    ("covers", lazy("benchmarks.speed.covers")),
    ("advice", lazy("benchmarks.speed.advice", "kbsvm_section")),
    ("advice-slp", lazy("benchmarks.speed.advice", "slp_section")),
    ("advice-sqp", lazy("benchmarks.speed.advice_sqp")),
    ("advice-check", lazy("benchmarks.speed.checked_advice")),
    ("advice-forms", lazy("benchmarks.speed.advice", "forms_section")),
    ("rule-svm", lazy("benchmarks.speed.rule_svm")),
    ("pricing", lazy("benchmarks.speed.pricing", "sections")),
    ("leverage", lazy("benchmarks.speed.leverage")),
    ("crossings", lazy("benchmarks.speed.crossings")),
    ("command-line", lazy("benchmarks.speed.command_line")),
    ("large-files", lazy("benchmarks.speed.large_files")),
    ("growth", lazy("benchmarks.speed.growth")),
    ("rows", lazy("benchmarks.speed.estimators_by_rows")),
    ("dask", lazy("benchmarks.speed.dask_table")),
    ("memory", lazy("benchmarks.speed.memory")),
    ("workbench", lazy("benchmarks.speed.workbench")),
    ("start", lazy("benchmarks.speed.start")),
    ("foundation", lazy("benchmarks.speed.foundation")),
)


def measured(name: str, measure: Measure, full: bool) -> list[Section]:
    """Run a measurement; where a package is missing, a section that says so."""
    try:
        return measure(full)
    except ImportError as error:
        missing = error.name or str(error)
        # What is ours must be there.
        if missing.split(".")[0] in ("benchmarks", "clearmargin"):
            raise
        reason = f"not measured: `{missing}` is not installed ({error})."
        return [Section(f"Not measured: {name}", "", Table([]), reason.capitalize(), reason)]


def failed_section(name: str, error: Exception) -> Section:
    """What the page says of a measurement that went wrong."""
    # A finding is one line of a list, whatever the error prints.
    text = textwrap.shorten(str(error), 300) or "no text"
    reason = f"the measurement failed with {type(error).__name__}: {text.rstrip('.')}."
    return Section(f"Not measured: {name}", "", Table([]), reason[0].upper() + reason[1:], reason)


def measure_all(
    chosen: Iterable[tuple[str, Measure]], full: bool
) -> tuple[list[Section], dict[str, float], list[str]]:
    """All sections in order, saying which and what they took; the names of those that failed come last."""
    sections: list[Section] = []
    seconds: dict[str, float] = {}
    failed: list[str] = []
    for name, measure in chosen:
        print(f"measuring {name} ...", flush=True)
        start = time.perf_counter()
        # An hour of other measurements is not to be lost by one that fails.
        try:
            found = measured(name, measure, full)
            baseline.collect([*sections, *found])
        except Exception as error:
            traceback.print_exc()
            found = [failed_section(name, error)]
            failed.append(name)
        seconds[name] = time.perf_counter() - start
        for section in found:
            print(section.to_markdown(), flush=True)
        print(f"{name} took {seconds[name]:.1f} s\n", flush=True)
        sections += found
    return sections, seconds, failed


def introduction(sections: Sequence[Section], seconds: dict[str, float], sizes: str) -> str:
    """What was measured, on what, and how to read it."""
    longest = max(seconds, key=lambda name: seconds[name])
    ratios = sum(len(section.ratios) for section in sections)
    command, others = "make bench-full", "`make bench` measures less, in minutes"
    if sizes == "quick":
        command, others = "make bench", "`make bench-full` measures more, in about an hour"
        if (FOLDER / FULL_PAGE).exists():
            others += f"; its last run is kept in [{FULL_PAGE}]({FULL_PAGE})"
    named_first = any(section.title == CHOICE for section in sections)
    first = link(CHOICE) if named_first else "the list of findings"
    return (
        "Measured are rules and explanations that clearmargin draws from trained support vector machines, beside "
        "those of other packages, and the speed of its parts. Rules are judged on public data sets, on held-out "
        "rows. A *machine* is a trained SVM that rules are to explain; a *peer* is another package; *faithful* is the "
        "share of held-out rows on which rules say what the machine says; a *cut* is a rule of one condition with "
        f"points, and a *card* (scorecard) adds such points up. Look at {first} first.\n\n"
        f"Written by `{command}`, {sizes} sizes ({others}): {len(sections)} sections, {ratios} "
        f"ratios that are followed from run to run. Measured on {processor()}, {os.cpu_count()} cores, one thread, in "
        f"{sum(seconds.values()) / 60:.1f} minutes, of which *{longest}* took {seconds[longest] / 60:.1f}.\n\n"
        "Times are the shortest of some runs and mean little on another machine; where one process can do it, rivals "
        "run in turns, and ratios within a row mean more. Each line of the list says what was found; the section "
        "behind it has the table, and what was done to get it."
    )


def report(comparison: baseline.Comparison, failed: Sequence[str]) -> None:
    """Say regressions and failures loudly."""
    worse = comparison.regressions
    if not worse and not failed:
        return
    print("!" * 80)
    for name in worse:
        old, new = comparison.old[name], comparison.new[name].value
        print(
            f"! WORSE {comparison.factors[name]:.2f} times: {name} (baseline {old:.3g}, now {new:.3g})"
        )
    for name in failed:
        print(f"! FAILED, so not measured: {name}")
    print("!" * 80, flush=True)


def set_baseline(sizes: str, sections: Sequence[Section], *, all_measured: bool) -> None:
    """Keep today's ratios; those of sections that were not measured stay as they are."""
    ratios = dict(baseline.collect(sections))
    if not all_measured:
        for name, value in baseline.read(sizes).items():
            if not baseline.belongs(name, sections):
                ratios[name] = Ratio(value)
    baseline.write(sizes, ratios)
    print(f"baseline for {sizes} sizes: {len(ratios)} ratios")


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    names = [name for name, _ in SECTIONS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--full", action="store_true", help="large sizes, for an hour or so")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=names,
        metavar="NAME",
        help=f"print some of: {', '.join(names)}",
    )
    parser.add_argument(
        "--set-baseline", action="store_true", help="keep today's ratios as the baseline"
    )
    parser.add_argument("--strict", action="store_true", help="fail when a ratio became worse")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Measure, compare and write; 1 where a section failed, or a ratio became worse and that was asked for."""
    asked = arguments(words)
    one_thread()
    sizes = "full" if asked.full else "quick"
    chosen = [pair for pair in SECTIONS if not asked.only or pair[0] in asked.only]
    sections, seconds, failed = measure_all(chosen, asked.full)
    old, new = baseline.read(sizes), baseline.collect(sections)
    if asked.only:
        old = {name: value for name, value in old.items() if baseline.belongs(name, sections)}
    comparison = baseline.compare(old, new)
    command = f"python -m benchmarks{' --full' if asked.full else ''}"
    last = baseline.to_section(comparison, command)
    print(last.to_markdown(), flush=True)
    if not asked.only:
        sections.append(last)
        intro = introduction(sections, seconds, sizes)
        for name in [PAGE, *([FULL_PAGE] if asked.full else [])]:
            path = FOLDER / name
            write_page(sections, path, intro=intro)
            print(f"written: {path.relative_to(FOLDER.parent)}")
        page = (FOLDER / PAGE).read_text(encoding="utf-8")
        quote(quoted_block(page), README)
        quote(quoted_choice(page), DOCUMENTATION)
    if asked.set_baseline:
        set_baseline(sizes, sections, all_measured=not (asked.only or failed))
    report(comparison, failed)
    return 1 if failed or (asked.strict and comparison.regressions) else 0


if __name__ == "__main__":
    sys.exit(main())
