"""`clearmargin demo` makes one page of rules for real data and says what was learned."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from textwrap import fill, indent
from typing import TYPE_CHECKING, Any

from clearmargin.cli.command_options import OUTPUT, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.outputs import claim, writing
from clearmargin.cli.page import print_page
from clearmargin.exceptions import FileInTheWayError, MissingDependencyError

if TYPE_CHECKING:
    from clearmargin.recipes.demonstration import Demonstration

_PAGE = "report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    from clearmargin.cli.datasets import NAMES

    page = f"the report, as .html (default: {_PAGE})"
    names = f"{NAMES} (default: wbc)"
    add_options(parser, "DATASET", "no_report", "cv", *OUTPUT, DATASET=names, out=page)
    parser.epilog = "example: clearmargin demo cleveland --out heart.html"


def run(arguments: argparse.Namespace) -> None:
    """Make one page of rules, explain a case; print both, and write the report."""
    from clearmargin.cli.inputs import folds, show_progress
    from clearmargin.recipes.demonstration import dataset_facts, demonstrate, load_dataset

    console = Console.of(arguments)
    page = None if arguments.no_report else arguments.out or _PAGE
    try:
        out = claim(page, arguments, [".html"])
    except FileInTheWayError as error:
        raise FileInTheWayError(f"{error}, or --out to write another, or --no-report") from None
    name = arguments.dataset or "wbc"
    data = load_dataset(name)
    X, y = data.data, data.target
    counts = " and ".join(f"{int((y == c).sum())} {c}" for c in data.target_names)
    title = dataset_facts(name, data)["title"]
    console.say(f"Data: {title}: {len(X)} cases, {X.shape[1]} features, {counts}.")
    start = time.perf_counter()
    demo = demonstrate(name, data, folds(arguments), progress=show_progress(console))
    console.note_all(demo.page.notes)
    console.say(
        f"Rules made in {time.perf_counter() - start:.1f} s, every method anew in every fold.\n"
    )
    print_page(demo.page, console)
    console.say()
    console.heading("Why the first case got its class:")
    console.say("\n" + indent(_filled(demo.explanation), "  "))
    written = None if out is None else _write_report(demo, out, arguments, console)
    facts: dict[str, Any] = {
        **demo.page.to_dict(),
        "data": name,
        "explanation": demo.explanation,
        "report": written,
    }
    console.result("", facts)


def _filled(text: str) -> str:
    """Break long lines."""
    return "\n".join(fill(line, width=100, subsequent_indent="  ") for line in text.splitlines())


def _write_report(
    demo: Demonstration, out: Path, arguments: argparse.Namespace, console: Console
) -> str | None:
    from clearmargin.recipes.one_page import page_report

    try:
        with writing(out):
            made = page_report(demo.page, command=f"clearmargin demo {demo.name}")
            made.save(out, overwrite=arguments.force)
    except MissingDependencyError as error:
        console.note(f"no report was written: {error}")
        return None
    console.say(f"\nThe whole story, with pictures, is in {out.resolve()}: open it in a browser.")
    return str(out)
